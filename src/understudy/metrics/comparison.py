"""A result seen beside its source: poses, plants and floor that metrics share, each found once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.base.quaternion import Array, rotate
from understudy.base.records import cached
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.carry import carry
from understudy.correspondence.contact_context import ContactContext
from understudy.correspondence.landing import Landing, land, step_ratio
from understudy.correspondence.pairs import Correspondence
from understudy.correspondence.suggest import suggest
from understudy.figure.contacts import Contact, Detection, contact_points, detect_contacts
from understudy.figure.floor import Floor, find_floor, leg_ratio
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh
from understudy.metrics.base import ADULT
from understudy.solve.solvers.base import Outcome

SLIDING = Detection(speed=0.4, radius=0.08)
"""How plants are found where no source tells them: loosely, since feet that stood still would be no news."""

LOW = 0.015
"""Leg lengths above the lowest that a point goes at which it is still down, where no source tells."""

LENGTHS = 0.02
"""Share by which a result may be longer or shorter than its source without a word."""

SKEWED = np.cos(np.radians(10.0))
"""Cosine of the angle between bones of two rest poses from which on the same angles mean another pose."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PlantedPoint:
    """A point of the result while it should stand."""

    point: Point
    frames: np.ndarray
    """(n,) of the result."""
    contact: Contact
    """The contact that says so: the source's, or the result's own."""
    level: float | None
    """Metres above the floor at which the point should be; None for what does not stand on the floor."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """A motion to be measured, and what it is measured against."""

    result: Motion
    source: Motion | None = None
    given: Correspondence | None = None
    """Which bones correspond, where somebody says so."""
    contacts: tuple[Contact, ...] | None = None
    """The source's contacts, or the result's where there is no source; found if not given."""
    ground: float | None = None
    """Metres: the height of the floor, where it is known."""
    outcomes: tuple[Outcome, ...] = ()
    meshes: tuple[Mesh, ...] = ()
    """The result's skin, where it has one."""
    source_meshes: tuple[Mesh, ...] = ()

    @cached
    def leg(self) -> float:
        """Metres: the length of the result's legs."""
        return leg_length(self.result.skeleton)

    @property
    def size(self) -> float:
        """How many times an adult's the legs are."""
        return self.leg / ADULT

    @cached
    def pose(self) -> Pose:
        return fk(self.result)

    @cached
    def shown(self) -> Motion | None:
        """The source at the times of the result's frames; its last frame is held where it is shorter."""
        if self.source is None:
            return None
        same = abs(self.source.fps - self.result.fps) < 1e-6 * self.result.fps
        if same and self.source.num_frames == self.result.num_frames:
            return self.source
        return self.source.at(self.result.times, fps=self.result.fps)

    @property
    def as_long(self) -> bool:
        """Whether the result lasts as long as its source."""
        if self.source is None:
            return False
        apart = abs(self.result.duration - self.source.duration)
        return apart <= max(LENGTHS * self.source.duration, 2.0 / self.result.fps)

    @cached
    def shown_pose(self) -> Pose | None:
        return None if self.shown is None else fk(self.shown)

    @cached
    def ratio(self) -> float:
        """How much larger than the source the result's body is, by its legs or the height of its hips."""
        if self.source is None:
            return 1.0
        return leg_ratio(self.source.skeleton, self.result.skeleton) if self.alike else step_ratio(self.alignment)

    @cached
    def alike(self) -> bool:
        """Whether source and result are of one structure, with rest poses in which angles mean the same."""
        return self.source is not None and self.given is None and _alike(self.source.skeleton, self.result.skeleton)

    @cached
    def correspondence(self) -> Correspondence:
        assert self.source is not None
        source, target = self.source.skeleton, self.result.skeleton
        if self.given is not None:
            return Correspondence(source=source, target=target, pairs=self.given.pairs, points=self.given.points)
        return suggest(source, target, source_motion=self.source, target_motion=self.result)

    @cached
    def alignment(self) -> Alignment:
        """The reference poses of source and result, from which their movement is counted."""
        return align(self.correspondence, source_motion=self.source, target_motion=self.result)

    @cached
    def loose(self) -> bool:
        """Whether source and result stand in ways of their own, or share no more than one bone: paths of their joints
        and limbs cannot be compared in size."""
        if self.source is None or self.alike:
            return False
        return self.alignment.stance or len(self.correspondence.pairs) == 1

    @cached
    def found_contacts(self) -> tuple[Contact, ...]:
        """The contacts that stay in one place."""
        if self.contacts is not None:
            found: Sequence[Contact] = self.contacts
        elif self.source is not None:
            found = detect_contacts(self.source, contact_points(self.source))
        else:
            found = _low_contacts(self.result)
        return tuple(contact for contact in found if contact.place is not None)

    @cached
    def floor(self) -> Floor:
        """The ground that source and result stand on."""
        if self.ground is not None:
            return Floor(height=self.ground, slope=np.zeros(2))
        whose = self.result if self.source is None else self.source
        return find_floor(self.found_contacts, leg_length(whose.skeleton))

    @cached
    def landing(self) -> Landing | None:
        """Where on the result the source's contacts go; None where the two are of one structure."""
        if self.source is None or self.alike:
            return None
        carried = carry(self.source, self.alignment, floor=self.floor, ratio=self.ratio)
        return land(self.source, self.found_contacts, self.alignment, carried, self.floor)

    @cached
    def plants(self) -> tuple[PlantedPoint, ...]:
        """When which points of the result should stand, and how high."""
        if self.source is None:
            return self._own_plants()
        stage = ContactContext(source=self.source, target=self.result.skeleton, floor=self.floor, landing=self.landing)
        contacts = self.found_contacts if self.landing is None else self.landing.contacts
        made = []
        for contact in contacts:
            frames = contact.frames(self.result.fps, self.result.num_frames)
            level = stage.rise(contact) if contact.on == "floor" else None
            if len(frames):
                made.append(PlantedPoint(point=stage.point(contact.point), frames=frames, contact=contact, level=level))
        return tuple(made)

    def _own_plants(self) -> tuple[PlantedPoint, ...]:
        rises = [float(c.place[1] - self.floor.heights(c.place)) for c in self.found_contacts if c.place is not None]
        standing = {
            real: [
                rise
                for rise, c in zip(rises, self.found_contacts, strict=True)
                if c.on == "floor" and has_point(self.result.skeleton, c.point) is real
            ]
            for real in (True, False)
        }
        # Where the floor is known, the lowest plants are what stands on it; else each stands at its own height.
        shift = min(standing[True] or standing[False], default=0.0) if self.ground is not None else 0.0
        made = []
        for contact, rise in zip(self.found_contacts, rises, strict=True):
            frames = contact.frames(self.result.fps, self.result.num_frames)
            level = rise - shift if contact.on == "floor" else None
            if len(frames):
                made.append(PlantedPoint(point=contact.point, frames=frames, contact=contact, level=level))
        return tuple(made)

    @cached
    def aided(self) -> np.ndarray:
        """(F,) whether something besides the floor holds the body: a rail, a thing, somebody else."""
        held = np.zeros(self.result.num_frames, bool)
        for contact in self.contacts or ():
            if contact.on != "floor":
                held[contact.frames(self.result.fps, self.result.num_frames)] = True
        return held

    @cached
    def headings(self) -> tuple[Array, Array] | None:
        """(F,) radians about the vertical of the result and of the source; None without a source."""
        if self.shown is None:
            return None
        return heading(self.result), heading(self.shown)


def tracks(pose: Pose, points: Iterable[Point]) -> dict[str, Array]:
    """(F, 3) metres, world: where points are, by name; each is followed once, however often it is named."""
    unique = list({point.name: point for point in points}.values())
    places = pose.points(unique)
    return {point.name: places[:, column] for column, point in enumerate(unique)}


def has_point(skeleton: Skeleton, point: Point) -> bool:
    """Whether a point is a joint or end of a skeleton, and not one that was guessed."""
    return point.name in skeleton.index or any(end.name == point.name for end in skeleton.ends)


def heading(motion: Motion) -> Array:
    """(F,) radians: how far a body is turned about the vertical, from facing +Z towards +X."""
    forward = facing(motion)
    return np.arctan2(forward[:, 0], forward[:, 2])


def _alike(source: Skeleton, target: Skeleton) -> bool:
    if source.names != target.names or not np.array_equal(source.parents, target.parents):
        return False
    inner, outer = (rotate(s.rest[s.parents[1:]], s.offsets[1:]) for s in (source, target))
    sizes = np.linalg.norm(inner, axis=-1) * np.linalg.norm(outer, axis=-1)
    long = sizes > 1e-2 * sizes.max(initial=0.0)
    return bool(np.all(np.einsum("ji,ji->j", inner, outer)[long] >= SKEWED * sizes[long]))


def _low_contacts(motion: Motion) -> tuple[Contact, ...]:
    """Plants of a motion without a source: points that move little, sliding allowed, while they are down."""
    points = contact_points(motion)
    if motion.num_frames < 2 or not points:
        return ()
    paths = fk(motion).points(points)
    low = LOW * leg_length(motion.skeleton)
    made: list[Contact] = []
    for contact in detect_contacts(motion, points, SLIDING):
        path = paths[:, points.index(contact.point)]
        frames = contact.frames(motion.fps, motion.num_frames)
        assert contact.place is not None
        down = frames[np.abs(path[frames, 1] - np.percentile(path[frames, 1], 25)) < low]
        runs = np.split(down, np.flatnonzero(np.diff(down) > 1) + 1)
        longest = max(runs, key=len)
        if (len(longest) - 1) / motion.fps >= SLIDING.shortest:
            place = np.median(path[longest], axis=0)
            made.append(replace(contact, start=longest[0] / motion.fps, end=longest[-1] / motion.fps, place=place))
    return tuple(made)
