"""A result compared with its source: poses, paths, plants and floor that metrics share, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from understudy.base.quaternion import Array, rotate
from understudy.base.records import cached, median, record
from understudy.correspondence.pairs import ContactContext, Correspondence
from understudy.figure.contacts import (
    Contact,
    Detection,
    Floor,
    contact_points,
    detect_contacts,
    find_floor,
    held_frames,
    leg_ratio,
)
from understudy.figure.kinematics import Pose, fk, paths_of
from understudy.figure.measures import facing, is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.robot import RobotLayout
from understudy.figure.roles import roles, side
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh
from understudy.metrics.base import ADULT_LEG_METRES
from understudy.solve.solvers.base import Outcome

if TYPE_CHECKING:
    from understudy.correspondence.alignment import Alignment
    from understudy.correspondence.landing import Landing

Value = TypeVar("Value")

MAIN_PARTS = {
    "hips": ("hips",),
    "head": ("head",),
    "hand": ("left_hand", "right_hand"),
    "knee": ("left_lower_leg", "right_lower_leg"),
    "foot": ("left_foot", "right_foot"),
    "toe": ("left_toe", "right_toe"),
}
"""The roles of each main part of a body."""

OTHER_SIDE = {"left": "right", "right": "left"}

MAX_UNEVEN_SCALE = 0.02
"""Difference of the scales of two bones, as a share, above which two bodies have other proportions."""


@record(eq=True)
class MainJoints:
    """The main joints that two bodies share, in the same order."""

    names: tuple[str, ...]
    """(K,) names for a reader, such as `left hand`."""
    parts: tuple[str, ...]
    """(K,) keys of `MAIN_PARTS`."""
    result: tuple[tuple[int, ...], ...]
    """(K,) joints of the result, whose mean is the main joint."""
    source: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    """(K,) names of joints of the result."""
    roles: tuple[str, ...]
    """(K,) their roles in the result."""

    def taken(self, columns: Sequence[int]) -> MainJoints:
        """Some of the main joints."""
        return MainJoints(
            **{field.name: tuple(getattr(self, field.name)[column] for column in columns) for field in fields(self)}
        )

    def columns(self, *parts: str) -> list[int]:
        """The places of some parts among the main joints."""
        return [column for column, part in enumerate(self.parts) if part in parts]


@record
class Reference:
    """A motion to compare some frames of a result with."""

    path: Array
    """(G, K, 3) metres, world: its main joints at its own frames."""
    leg: float
    """Metres."""
    frames: np.ndarray
    """(F,) its frame for each frame of the result; -1 for none."""

    def differences(self, order: int) -> Array:
        """(F - order, K) leg lengths: size of its differences at the frames of the result; 0 where there is none."""
        sizes, half = difference_sizes(self.path, self.leg, order), order // 2
        frames = self.frames[half : half + len(self.frames) - order]
        nearest = np.clip(frames - half, 0, len(sizes) - 1)
        return np.where(frames[:, None] >= 0, sizes[nearest], 0.0)


@record
class MainPaths:
    """The paths of main joints over all frames."""

    joints: MainJoints
    result: Array
    """(F, K, 3) metres, world."""
    source: Array | None
    """(F, K, 3) metres, world, at the frames of the result."""
    carried: Array | None
    """(F, K, 3) metres, world: the source's motion on the result's body before anything was solved."""
    result_leg: Array | float
    """Metres: leg length of the result, or (F,) that of each frame."""
    source_leg: float
    fps: float
    references: tuple[Reference, ...] = ()
    """In place of one source: motions of which the roughest is compared with at each frame."""

    @property
    def has_source(self) -> bool:
        """Whether there is something to compare with."""
        return self.source is not None or bool(self.references)

    def differences(self, which: str, order: int) -> Array | None:
        """(F - order, K) leg lengths: size of the differences of some order from frame to frame; None if not known."""
        if which == "source" and self.references:
            return np.asarray(np.max([reference.differences(order) for reference in self.references], axis=0))
        path: Array | None = getattr(self, which)
        if path is None:
            return None
        return difference_sizes(path, self.source_leg if which == "source" else self.result_leg, order)


def difference_sizes(path: Array, leg: Array | float, order: int) -> Array:
    """(F - order, K) leg lengths: size of the differences of some order of a path (F, K, 3).

    Args:
        path: Metres, world.
        leg: Metres: the leg length, or (F,) that of each frame.
        order: 1 for steps, 2 for their changes, 3 for the changes of these.
    """
    change = np.diff(path.reshape(len(path), -1), n=order, axis=0).reshape(len(path) - order, -1, 3)
    size = np.sqrt(np.einsum("fkc,fkc->fk", change, change))
    if isinstance(leg, np.ndarray):
        half = order // 2
        return np.asarray(size / leg[half : half + len(size), None])
    return np.asarray(size / leg)


@lru_cache(maxsize=64)
def main_joints(skeleton: Skeleton) -> dict[str, tuple[int, ...]]:
    """The joints of each main role that a body has. The hips are the middle of both thighs, if it has two.

    Rigs put the joint of the hips anywhere in the pelvis, and the thighs where a human's are.
    """
    joint_of = roles(skeleton)
    found: dict[str, tuple[int, ...]] = {
        role: (joint_of[role],) for part_roles in MAIN_PARTS.values() for role in part_roles if role in joint_of
    }
    thighs = [joint_of[role] for role in ("left_upper_leg", "right_upper_leg") if role in joint_of]
    if len(thighs) == 2:
        found["hips"] = tuple(thighs)
    if "head" not in found and "neck" in joint_of:
        found["head"] = (joint_of["neck"],)
    return found


def match_main_joints(result: Skeleton, source: Skeleton | None, *, crossed: bool = False) -> MainJoints:
    """The main joints that a result and its source share.

    Args:
        result: The body of the result.
        source: The body of the source; None for none.
        crossed: Whether the left of the source plays the right of the result.
    """
    result_joints = main_joints(result)
    source_joints = result_joints if source is None else main_joints(source)
    rows = []
    for part, part_roles in MAIN_PARTS.items():
        for role in part_roles:
            which, _, rest = role.partition("_")
            partner = f"{OTHER_SIDE[which]}_{rest}" if crossed and which in OTHER_SIDE else role
            if role in result_joints and partner in source_joints:
                name = f"{which} {part}" if which in OTHER_SIDE else part
                label = result.names[roles(result).get(role, result_joints[role][0])]
                rows.append((name, part, result_joints[role], source_joints[partner], label, role))
    columns = zip(*rows, strict=True) if rows else ((),) * 6
    names, parts, of_result, of_source, labels, role_names = columns
    return MainJoints(names=names, parts=parts, result=of_result, source=of_source, labels=labels, roles=role_names)


def crosses_sides(correspondence: Correspondence | None) -> bool:
    """Whether a correspondence pairs more bones with the other side than with their own."""
    balance = 0
    for pair in correspondence.pairs if correspondence is not None else ():
        sides = side(pair.source[0]), side(pair.target[0])
        if all(sides):
            balance += 1 if sides[0] == sides[1] else -1
    return balance < 0


def main_path(motion: Motion, joints: Sequence[tuple[int, ...]]) -> Array:
    """(F, K, 3) metres, world: the mean of each group of joints. Only these and their ancestors are computed."""
    flat = [joint for group in joints for joint in group]
    if not flat:
        return np.empty((motion.num_frames, 0, 3))
    places = paths_of(motion, flat)
    sizes = [len(group) for group in joints]
    if max(sizes) == 1:
        return places
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    return np.asarray(np.add.reduceat(places, starts, axis=1) / np.array(sizes)[:, None])


def leg_lengths(motion: Motion) -> Array | float:
    """Metres: the leg length of a body, or (F,) that of each frame if its bones change."""
    length = leg_length(motion.skeleton)
    if motion.offsets is None:
        return length
    # Bones of a body that changes grow together: the legs change as the whole of all bones does.
    sizes = np.linalg.norm(motion.offsets[:, 1:], axis=-1).sum(axis=1)
    whole = float(motion.skeleton.lengths[1:].sum())
    return np.asarray(length * sizes / whole) if whole > 0.0 else length


def same_proportions(source: Skeleton, target: Skeleton) -> bool:
    """Whether a body is another with all bones longer or shorter by one factor."""
    if source.names != target.names:
        return False
    long = source.lengths > 1e-2 * source.lengths.max(initial=0.0)
    scales = target.lengths[long] / source.lengths[long]
    return bool(scales.size == 0 or scales.max() - scales.min() <= MAX_UNEVEN_SCALE * scales.max())


HORIZONTAL_AXES = [0, 2]

LOOSE_DETECTION = Detection(speed=0.4, radius=0.08)
"""Loose detection of plants without a source, so that sliding feet count as planted too."""

MAX_DOWN_LEGS = 0.015
"""Height, in leg lengths, within which a planted point is down, without a source."""

MAX_DURATION_DIFFERENCE_SHARE = 0.02
"""Share of the source's duration by which a result may be longer or shorter."""

MIN_SAME_REST_COSINE = np.cos(np.radians(10.0))
"""Cosine between bones of two rest poses below which the same joint angles mean another pose."""


@record
class PlantedPoint:
    """A point of the result and the frames in which it should stand."""

    point: Point
    frames: np.ndarray
    """(n,) frames of the result."""
    contact: Contact
    """The contact of the source, or of the result if there is no source."""
    level: float | None
    """Metres above the floor at which the point should be; None if it does not stand on the floor."""


@record
class Comparison:
    """A motion to measure and the source to measure it against."""

    result: Motion
    source: Motion | None = None
    user_map: Correspondence | None = None
    """The correspondence that the user gives; suggested if None."""
    contacts: tuple[Contact, ...] | None = None
    """The source's contacts, or the result's without a source; detected if None."""
    floor_height: float | None = None
    """Metres; found from the contacts if None."""
    outcomes: tuple[Outcome, ...] = ()
    meshes: tuple[Mesh, ...] = ()
    """The result's skin, if it has one."""
    source_meshes: tuple[Mesh, ...] = ()
    robot: RobotLayout | None = None
    """The robot whose motion the result is, if it is one."""
    carried: Motion | None = None
    """The source's motion on the result's body before anything was solved, if known."""
    known_alignment: Alignment | None = None
    """The alignment that made the result, if known; made from the correspondence if None."""
    known_context: ContactContext | None = None
    """What the solve that made the result found for these contacts: floor, landing and carried motion."""
    known_paths: MainPaths | None = None
    """The paths of the main joints, if they are compared with more than one source."""

    def once(self, find: Callable[[Comparison], Value]) -> Value:
        """What a function finds for this comparison; it is called only once."""
        if find not in self._results:
            self._results[find] = find(self)
        result: Value = self._results[find]
        return result

    @cached
    def _results(self) -> dict[Any, Any]:
        """Cache of `once`."""
        return {}

    def with_skin(self, meshes: tuple[Mesh, ...]) -> Comparison:
        """The same comparison with the result's skin; all that does not depend on the skin is shared."""
        if not meshes or meshes == self.meshes:
            return self
        changed = replace(self, meshes=meshes)
        given = {field.name for field in fields(self)}
        changed.__dict__.update({name: value for name, value in self.__dict__.items() if name not in given})
        by_skin = [find for find in self._results if getattr(getattr(find, "__self__", None), "by_skin", False)]
        changed.__dict__["_results"] = {f: result for f, result in self._results.items() if f not in by_skin}
        return changed

    @cached
    def leg(self) -> float:
        """Length of the result's legs in metres."""
        return leg_length(self.result.skeleton)

    @property
    def size(self) -> float:
        """Ratio of the leg length to an adult's."""
        return self.leg / ADULT_LEG_METRES

    @cached
    def pose(self) -> Pose:
        return fk(self.result)

    @cached
    def resampled(self) -> Motion | None:
        """The source at the times of the result's frames; its last frame is held if it is shorter."""
        if self.source is None:
            return None
        same_fps = abs(self.source.fps - self.result.fps) < 1e-6 * self.result.fps
        if same_fps and self.source.num_frames == self.result.num_frames:
            return self.source
        return self.source.at(self.result.times, fps=self.result.fps)

    @property
    def same_duration(self) -> bool:
        """Whether the result lasts as long as its source."""
        if self.source is None:
            return False
        difference = abs(self.result.duration - self.source.duration)
        return difference <= max(MAX_DURATION_DIFFERENCE_SHARE * self.source.duration, 2.0 / self.result.fps)

    @cached
    def source_pose(self) -> Pose | None:
        return None if self.resampled is None else fk(self.resampled)

    @cached
    def ratio(self) -> float:
        """Size ratio of result to source, by their legs or the heights of their hips."""
        if self.source is None:
            return 1.0
        if self.same_structure:
            return leg_ratio(self.source.skeleton, self.result.skeleton)
        if self.known_context is not None and self.known_context.landing is not None:
            return self.known_context.landing.ratio
        from understudy.correspondence.landing import step_ratio

        return step_ratio(self.alignment)

    @cached
    def same_structure(self) -> bool:
        """Whether source and result have the same joints and equivalent rest poses."""
        source, target = self.source, self.result.skeleton
        return source is not None and self.user_map is None and _same_rest_structure(source.skeleton, target)

    @cached
    def correspondence(self) -> Correspondence:
        assert self.source is not None
        source, target = self.source.skeleton, self.result.skeleton
        if self.user_map is not None:
            return Correspondence(source=source, target=target, pairs=self.user_map.pairs, points=self.user_map.points)
        from understudy.correspondence.suggest import suggest

        return suggest(source, target, source_motion=self.source, target_motion=self.result)

    @cached
    def alignment(self) -> Alignment:
        """The reference poses of source and result."""
        if self.known_alignment is not None:
            return self.known_alignment
        from understudy.correspondence.alignment import align

        return align(self.correspondence, source_motion=self.source, target_motion=self.result)

    @cached
    def loosely_matched(self) -> bool:
        """Whether source and result keep their own stances or share only one bone, so that paths are not comparable."""
        if self.source is None or self.same_structure:
            return False
        return self.alignment.stance or len(self.correspondence.pairs) == 1

    @cached
    def main_paths(self) -> MainPaths:
        """The world paths of the main joints of result, source and carried motion."""
        if self.known_paths is not None:
            return self.known_paths
        source = self.resampled
        joints = match_main_joints(
            self.result.skeleton,
            None if source is None else source.skeleton,
            crossed=crosses_sides(self.user_map),
        )
        carried = self.carried
        if carried is not None and (
            source is None
            or carried.num_frames != self.result.num_frames
            or same_proportions(source.skeleton, self.result.skeleton)
        ):
            # The source itself, scaled, is the carried motion.
            carried = None
        return MainPaths(
            joints=joints,
            result=main_path(self.result, joints.result),
            source=None if source is None else main_path(source, joints.source),
            carried=None if carried is None else main_path(carried, joints.result),
            result_leg=leg_lengths(self.result),
            source_leg=1.0 if source is None else leg_length(source.skeleton),
            fps=self.result.fps,
        )

    @cached
    def comparable_paths(self) -> bool:
        """Whether main joints of the result should move as the source's: bodies of one kind, and as long."""
        if self.known_paths is not None:
            return True
        if self.source is None or not self.same_duration:
            return False
        source, target = self.source.skeleton, self.result.skeleton
        if source.names == target.names or (is_humanoid(source) and is_humanoid(target)):
            return True
        return not self.loosely_matched

    @cached
    def fixed_contacts(self) -> tuple[Contact, ...]:
        """The contacts with a fixed place."""
        if self.contacts is not None:
            contacts: Sequence[Contact] = self.contacts
        elif self.source is not None:
            contacts = detect_contacts(self.source, contact_points(self.source))
        else:
            contacts = _detect_low_contacts(self.result)
        return tuple(contact for contact in contacts if contact.place is not None)

    @cached
    def floor(self) -> Floor:
        """The floor that source and result stand on."""
        if self.floor_height is not None:
            return Floor(height=self.floor_height, slope=np.zeros(2))
        if self.known_context is not None:
            return self.known_context.floor
        motion = self.result if self.source is None else self.source
        return find_floor(self.fixed_contacts, leg_length(motion.skeleton))

    @cached
    def landing(self) -> Landing | None:
        """The result's points for the source's contacts; None for the same structure."""
        if self.source is None or self.same_structure:
            return None
        if self.known_context is not None and self.known_context.landing is not None:
            return self.known_context.landing
        from understudy.correspondence.landing import find_landing

        return find_landing(self.source, self.fixed_contacts, self.alignment, self.transferred, self.floor)

    @cached
    def transferred(self) -> Motion:
        """The source's motion on the result's body by the alignment alone; only for another structure."""
        assert self.source is not None
        if self.known_context is not None and self.known_context.transferred is not None:
            return self.known_context.transferred
        from understudy.correspondence.carry import transfer_motion

        return transfer_motion(self.source, self.alignment, floor=self.floor, ratio=self.ratio)

    @cached
    def plants(self) -> tuple[PlantedPoint, ...]:
        """The points of the result that should stand, with frames and heights."""
        if self.source is None:
            return self._plants_without_source()
        target = self.result.skeleton
        contacts = tuple(self.fixed_contacts if self.landing is None else self.landing.contacts)
        context = ContactContext(
            source=self.source, target=target, floor=self.floor, landing=self.landing, contacts=contacts
        )
        plants = []
        for contact in contacts:
            frames = contact.frames(self.result.fps, self.result.num_frames)
            level = context.rise(contact) if contact.on == "floor" else None
            if len(frames) and contact.place is not None:
                point = context.point(contact.point)
                plants.append(PlantedPoint(point=point, frames=frames, contact=contact, level=level))
        return tuple(plants)

    def _plants_without_source(self) -> tuple[PlantedPoint, ...]:
        rises = [float(c.place[1] - self.floor.heights(c.place)) for c in self.fixed_contacts if c.place is not None]
        rises_by_kind = {
            has_joint: [
                rise
                for rise, c in zip(rises, self.fixed_contacts, strict=True)
                if c.on == "floor" and has_point(self.result.skeleton, c.point) is has_joint
            ]
            for has_joint in (True, False)
        }
        # With a given floor the lowest plants stand on it; else each plant stands at its own height.
        shift = min(rises_by_kind[True] or rises_by_kind[False], default=0.0) if self.floor_height is not None else 0.0
        plants = []
        for contact, rise in zip(self.fixed_contacts, rises, strict=True):
            frames = contact.frames(self.result.fps, self.result.num_frames)
            level = rise - shift if contact.on == "floor" else None
            if len(frames):
                plants.append(PlantedPoint(point=contact.point, frames=frames, contact=contact, level=level))
        return tuple(plants)

    @cached
    def held_elsewhere(self) -> np.ndarray:
        """(F,) whether something besides the floor supports the body: a rail, an object, another actor."""
        return held_frames(self.result, [contact for contact in self.contacts or () if contact.on != "floor"])

    @cached
    def headings(self) -> tuple[Array, Array] | None:
        """(F,) headings in radians of the result and of the source; None without a source."""
        if self.resampled is None:
            return None
        return heading(self.result), heading(self.resampled)


def tracks(pose: Pose, points: Iterable[Point]) -> dict[str, Array]:
    """(F, 3) metres, world: paths of points by name; repeated points are computed once."""
    unique = list({point.name: point for point in points}.values())
    places = pose.points(unique)
    return {point.name: places[:, column] for column, point in enumerate(unique)}


def has_point(skeleton: Skeleton, point: Point) -> bool:
    """Whether a point is a joint or end of a skeleton, not an estimated point."""
    return point.name in skeleton.index or any(end.name == point.name for end in skeleton.ends)


def heading(motion: Motion) -> Array:
    """(F,) heading in radians about the vertical, from +Z towards +X."""
    forward = facing(motion)
    return np.arctan2(forward[:, 0], forward[:, 2])


def _same_rest_structure(source: Skeleton, target: Skeleton) -> bool:
    if source.names != target.names or not np.array_equal(source.parents, target.parents):
        return False
    inner, outer = (rotate(s.rest[s.parents[1:]], s.offsets[1:]) for s in (source, target))
    sizes = np.linalg.norm(inner, axis=-1) * np.linalg.norm(outer, axis=-1)
    long = sizes > 1e-2 * sizes.max(initial=0.0)
    return bool(np.all(np.einsum("ji,ji->j", inner, outer)[long] >= MIN_SAME_REST_COSINE * sizes[long]))


def _detect_low_contacts(motion: Motion) -> tuple[Contact, ...]:
    """Detect plants of a motion without a source: points that are down and move little."""
    points = contact_points(motion)
    if motion.num_frames < 2 or not points:
        return ()
    paths = fk(motion).points(points)
    low = MAX_DOWN_LEGS * leg_length(motion.skeleton)
    contacts: list[Contact] = []
    for contact in detect_contacts(motion, points, LOOSE_DETECTION):
        path = paths[:, points.index(contact.point)]
        frames = contact.frames(motion.fps, motion.num_frames)
        assert contact.place is not None
        down = frames[np.abs(path[frames, 1] - np.percentile(path[frames, 1], 25)) < low]
        runs = np.split(down, np.flatnonzero(np.diff(down) > 1) + 1)
        longest = max(runs, key=len)
        if (len(longest) - 1) / motion.fps >= LOOSE_DETECTION.shortest:
            place = median(path[longest])
            contacts.append(replace(contact, start=longest[0] / motion.fps, end=longest[-1] / motion.fps, place=place))
    return tuple(contacts)
