"""Landing points: the target's points for the source's contacts, and the ratio of step sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from understudy.base.quaternion import Array, cross, rotate, unrotate
from understudy.base.records import median, record
from understudy.correspondence.alignment import Alignment, PairTree
from understudy.correspondence.carry import anchors
from understudy.correspondence.neutral_pose import pose_skeleton, stands_at_rest
from understudy.correspondence.pairs import Correspondence, is_ancestor
from understudy.figure.contacts import Contact, Floor, contact_points, leg_ratio
from understudy.figure.kinematics import Pose, pose_of
from understudy.figure.measures import UP, Sole, facing, feet, find_sole, is_humanoid, leg_length, partners
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles, words
from understudy.figure.skeleton import Point, Skeleton

MAX_BESIDE_SHARE = 0.1
"""Share of a sole's length within which points lie side by side."""

MIN_OFF_GROUND_LEGS = 0.05
"""Height above the end of its limb from which a point does not stand on the ground."""

MIN_BESIDE_LEGS = 0.01
"""Distance from the middle of the body from which a foot is on one side."""

MAX_NEAR_FLOOR_SHARE = 0.3
"""Share of the hips' height below which a point may stand on the floor."""


@record
class Soles:
    """The points on which one of two aligned bodies stands, limb by limb."""

    pose: Pose
    forward: Array
    """(3,) facing in the reference pose."""
    limbs: dict[int, list[Point]]
    """Points by the index of their limb; -1 for limbs without a partner."""
    tree: PairTree
    alignment: Alignment
    side: str
    """`source` or `target`."""
    standing_points: list[Point]
    """The points on which the reference pose stands."""
    is_level: bool = False
    """Whether the reference pose shows the body's own stance: feet that stand are as they are in it."""

    @staticmethod
    def of(alignment: Alignment, which: str, motion: Motion | None = None) -> Soles:
        skeleton: Skeleton = getattr(alignment.correspondence, which)
        local: Array = getattr(alignment, which)
        still = replace(rest_motion(skeleton), rotations=local[None])
        soles = Soles(
            pose=pose_skeleton(skeleton, local),
            forward=facing(still)[0],
            limbs={},
            tree=alignment.tree,
            alignment=alignment,
            side=which,
            standing_points=[],
            # A body with its own stance stands on the same points there; the transferred motion may keep a paw lifted.
            # A human stands flat in its neutral pose; the motion of another may hardly show how its feet stand.
            is_level=alignment.stance
            or (alignment.tree.are_human and all(pose.level for pose in alignment.neutral) and not soles_of(skeleton)),
        )
        reference = still if motion is None or (soles.is_level and which == "target") else motion
        animal = which == "target" and not is_humanoid(skeleton)
        points = contact_points(reference)
        for point in soles.ground_alike(points) if animal else points:
            limb = soles.limbs.setdefault(soles.limb_of(point), [])
            if point.name not in {other.name for other in limb}:
                limb.append(point)
        soles.standing_points.extend(soles.grounded_points([p for p in contact_points(still) if soles.limb_of(p) >= 0]))
        return soles

    def grounded_points(self, points: list[Point]) -> list[Point]:
        """The points that are near the lowest one in the reference pose."""
        if not points:
            return []
        heights = self.pose.points(points)[0, :, 1]
        hips = anchors(self.tree.correspondence)[0 if self.side == "source" else 1]
        above = max(float(self.pose.positions[0, hips, 1].mean() - heights.min()), 0.0)
        return [
            point
            for point, height in zip(points, heights, strict=True)
            if height <= heights.min() + MAX_NEAR_FLOOR_SHARE * above
        ]

    def lowest_beyond(self, point: Point) -> Point:
        """The lowest, in the reference pose, of a point and all points beyond it on its limb."""
        skeleton = self.pose.skeleton
        below = skeleton.below(skeleton.index[point.joint])
        beyond = [skeleton.point(skeleton.names[j]) for j in np.flatnonzero(below)]
        beyond += [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
        return min([point, *beyond], key=lambda p: float(self.pose.points([p])[0, 0, 1]))

    def ground_point(self, point: Point) -> Point:
        """The point, or if it is off the ground (as an animal's foot joint may be) the point that it stands on."""
        lower = self.lowest_beyond(point)
        heights = self.pose.points([point, lower])[0, :, 1]
        return lower if heights[0] - heights[1] > MIN_OFF_GROUND_LEGS * leg_length(self.pose.skeleton) else point

    def ground_alike(self, points: Sequence[Point]) -> list[Point]:
        """Replace points by grounded ones only if the other side's are too: a paw that hangs lower alone is lifted."""
        lower = [self.ground_point(point) for point in points]
        skeleton = self.pose.skeleton
        twins = {name: skeleton.names[j] for name, j in zip(skeleton.names, partners(skeleton), strict=True)}
        standing = {twins[point.joint] for point, low in zip(points, lower, strict=True) if low is point}
        paired = {name for name, twin in twins.items() if name != twin}
        return [point if point.joint in standing & paired else low for point, low in zip(points, lower, strict=True)]

    def limb_of(self, point: Point) -> int:
        """The index of the limb of a point; -1 for a limb without a partner."""
        skeleton = self.pose.skeleton
        for joint in reversed(skeleton.chain(skeleton.index[point.joint])):
            pair = self.tree.correspondence.pair_of(self.side, skeleton.names[joint])
            if pair is not None:
                return self.tree.limb_of.get(pair, -1)
        return -1

    def side_of(self, point: Point) -> str:
        """The side of the body that a point is on in the reference pose: "left", "right", or "" in the middle."""
        hips = anchors(self.tree.correspondence)[0 if self.side == "source" else 1]
        away = self.pose.points([point])[0, 0] - self.pose.positions[0, hips].mean(axis=0)
        offset = float(away @ cross(UP, self.forward)) / leg_length(self.pose.skeleton)
        return "" if abs(offset) < MIN_BESIDE_LEGS else "left" if offset > 0.0 else "right"

    def sole_position(self, point: Point) -> float:
        """Position of a point along its sole: 0 at the back, 1 at the front."""
        positions = self.pose.points([*self.limbs.get(self.limb_of(point), ()), point])[0] @ self.forward
        spread = float(np.ptp(positions))
        return 0.5 if spread < 1e-6 else float((positions[-1] - positions.min()) / spread)

    def points_like(self, limb: int, along: float) -> list[Point]:
        """The points of a limb nearest to a position along its sole; several if they lie side by side."""
        points = self.limbs.get(limb, []) if limb >= 0 else []
        if not points:
            return []
        nearest = self.sole_position(min(points, key=lambda point: abs(self.sole_position(point) - along)))
        return [point for point in points if abs(self.sole_position(point) - nearest) < MAX_BESIDE_SHARE]

    def sole_heights(self, points: list[Point]) -> Array | None:
        """(P,) metres above the floor of points of one flat sole while it is level.

        None unless all points are parts of a sole, as a robot's are.
        """
        skeleton = self.pose.skeleton
        for sole in soles_of(skeleton):
            if all(point.name in sole.heights for point in points):
                heights = np.array([sole.heights[point.name] for point in points])
                return heights - heights.min()
        # A file may name the points of a sole that has toes.
        positions = pose_skeleton(skeleton, skeleton.rest).points(points)[0]
        named = all("sole" in words(point.name) for point in points)
        level = float(np.ptp(positions[:, 1])) < 0.1 * leg_length(skeleton)
        return positions[:, 1] - positions[:, 1].min() if named and level and stands_at_rest(skeleton) else None

    def hidden_tips(self, excluded: set[str]) -> tuple[tuple[Point, float], ...]:
        """The tips of a human's feet that are not excluded, and metres below the soles in the reference pose.

        Animals are left out: joints below their paws are often not part of the body.
        """
        if not self.standing_points or not excluded or not is_humanoid(self.pose.skeleton):
            return ()
        floor = float(self.pose.points(self.standing_points)[0, :, 1].mean())
        tips: dict[int, Point] = {}
        for point in sorted(feet(self.pose.skeleton), key=lambda p: float(self.pose.points([p])[0, 0] @ self.forward)):
            tips[self.limb_of(point)] = point
        missing = [point for limb, point in tips.items() if limb >= 0 and point.name not in excluded]
        heights = self.pose.points(missing)[0, :, 1] - floor
        return tuple((point, min(float(height), 0.0)) for point, height in zip(missing, heights, strict=True))

    def near_floor(self, point: Point) -> bool:
        """Whether a point is so low in the reference pose that it may stand on the floor."""
        if not self.standing_points:
            return True
        floor = float(self.pose.points(self.standing_points)[0, :, 1].mean())
        return bool(self.pose.points([point])[0, 0, 1] - floor < MAX_NEAR_FLOOR_SHARE * self.height())

    def height(self) -> float:
        """Metres from the points that the body stands on up to its hip joints."""
        hips = anchors(self.tree.correspondence)[0 if self.side == "source" else 1]
        if not self.standing_points:
            return 0.0
        return float(self.pose.positions[0, hips, 1].mean() - self.pose.points(self.standing_points)[0, :, 1].mean())


def soles_of(skeleton: Skeleton) -> list[Sole]:
    """The flat soles of a body's feet, such as a robot's."""
    feet_joints = (roles(skeleton).get(f"{side}_foot") for side in ("left", "right"))
    found = [find_sole(skeleton, joint) for joint in feet_joints if joint is not None]
    return [sole for sole in found if sole is not None]


@record
class Landing:
    """The source's contacts transferred to the target."""

    contacts: tuple[Contact, ...]
    """The source's contacts; contacts of one target point that overlap in time are joined. A source point with several
    target points appears once for each, under different names."""
    points: dict[str, Point]
    """The target's point for each contact point, by name."""
    ratio: float
    """Ratio of the target's steps to the source's."""
    rises: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By the same names, usual metres above the floor of the source's point and of the target's; NaN for the source's
    if the target stands on a flat sole."""
    soles: tuple[tuple[Point, float], ...] = ()
    """Unless both are human: further points of the target's feet that must stay above the floor, and metres that they
    may be below the points on which it stands."""
    is_level: bool = False
    """Whether the feet of the target are tilted as they are carried over: both bodies are humans, whose feet are known
    to be flat in their neutral poses."""
    notes: tuple[str, ...] = ()


def find_landing(
    motion: Motion, contacts: Sequence[Contact], alignment: Alignment, carried: Motion, floor: Floor
) -> Landing:
    """Find the target's points for the contacts of a motion, given the motion transferred to the target.

    Contact points go to those of the partner limb, heel to heel and toe to toe, unless the map names them. If a
    two-legged source moves a four-legged target, the fore feet land with the opposite hind feet, as in a trot.
    """
    correspondence = alignment.correspondence
    source = Soles.of(alignment, "source", motion)
    target = Soles.of(alignment, "target", carried)
    mapped: dict[str, list[Point]] = {}
    for pair in correspondence.points:
        mapped.setdefault(pair.source, []).append(correspondence.target.point(pair.target))
    table: dict[str, list[Point]] = {}
    for contact in contacts:
        point = contact.point
        if point.name in table:
            continue
        table[point.name] = mapped.get(point.name, []) or target.points_like(
            source.limb_of(point), source.sole_position(point)
        )
        if not table[point.name]:
            table[point.name] = partner_points(point, alignment)
            if contact.on == "floor":
                table[point.name] = [p for p in map(target.lowest_beyond, table[point.name]) if target.near_floor(p)]
    if not mapped and not is_humanoid(correspondence.target):
        _land_remaining_feet(table, target)
    _merge_same_points(table)
    unplanted = sorted(name for name, points in table.items() if not points)
    names = ", ".join(f"`{name}`" for name in unplanted)
    notes = [f"The target has no point on the floor for {names}: not planted."] if unplanted else []
    joints = {c.point.name: c.point.joint for c in contacts if c.point.name not in mapped}
    notes += _remove_shared(table, joints, correspondence)
    landed, points_by_name = _expand_contacts(contacts, table)
    both_human = is_humanoid(correspondence.source) and is_humanoid(correspondence.target)
    return Landing(
        contacts=landed,
        points=points_by_name,
        ratio=step_ratio(alignment),
        rises=_usual_rises(landed, points_by_name, target, (motion, carried), floor),
        soles=() if both_human else target.hidden_tips({point.name for point in points_by_name.values()}),
        is_level=target.is_level and not alignment.stance,
        notes=tuple(notes),
    )


def _merge_same_points(table: dict[str, list[Point]]) -> None:
    """Merge landing points at one place of one bone: with different heights they could not both stand."""
    unique: dict[tuple[str, bytes], Point] = {}
    for name, points in table.items():
        merged = [unique.setdefault((point.joint, np.round(point.offset, 6).tobytes()), point) for point in points]
        table[name] = list({point.name: point for point in merged}.values())


def partner_points(point: Point, alignment: Alignment) -> list[Point]:
    """The point of the partner bone for a source point; for a bone without a partner, the end of the limb."""
    correspondence = alignment.correspondence
    source = correspondence.source
    joint = source.index[point.joint]
    paired = [j for j in reversed(source.chain(joint)) if correspondence.pair_of("source", source.names[j])]
    if not paired:
        return []
    pair = correspondence.pair_of("source", source.names[paired[0]])
    assert pair is not None
    bone = pair.target[-1]
    target = correspondence.target.index[bone]
    ends = [end for end in correspondence.target.ends if end.joint == bone]
    if paired[0] != joint:
        inner = source.names[paired[0]]
        branches = any(is_ancestor(source, inner, other) for p in correspondence.pairs for other in p.source)
        # If other pairs hang from the bone too, a limb that the target lacks does not land at the bone's end.
        return [] if branches else ends[:1]
    lever = rotate(alignment.frames[target], rotate(alignment.source_world[joint], point.offset))
    offset = leg_ratio(correspondence.source, correspondence.target) * unrotate(alignment.target_world[target], lever)
    return [Point(name=f"{bone} for {point.name}", joint=bone, offset=offset)]


def _land_remaining_feet(table: dict[str, list[Point]], soles: Soles) -> None:
    """Give feet without contacts those of other feet, so that neighbours alternate as in a trot.

    Feet of one side are counted from front to back: every second one lands with the source's foot of the same side,
    the others with its foot of the other side.
    """
    landed = {point.name: name for name, points in table.items() for point in points}
    rows: dict[str, list[list[Point]]] = {"left": [], "right": []}
    for points in soles.limbs.values():
        # A dog that stands upright stands on its hind feet only.
        which = soles.side_of(points[0])
        if which in rows and all(soles.near_floor(point) for point in points):
            rows[which].append(points)
    for row in rows.values():
        row.sort(key=lambda points: -float(soles.pose.points(points[:1])[0, 0] @ soles.forward))
    reached = {
        which: next((i for i, points in enumerate(row) if any(p.name in landed for p in points)), None)
        for which, row in rows.items()
    }
    for which, row in rows.items():
        for number, points in enumerate(row):
            first = reached[which]
            if first is None or any(p.name in landed for p in points):
                continue
            in_phase = (number - first) % 2 == 0
            partner_side = which if in_phase else {"left": "right", "right": "left"}[which]
            partner = reached[partner_side]
            if partner is not None:
                # All points land at once, with the ball of the other foot: only feet of the source roll.
                front = max((p for p in rows[partner_side][partner] if p.name in landed), key=soles.sole_position)
                table[landed[front.name]].extend(points)


def _remove_shared(table: dict[str, list[Point]], joints: dict[str, str], correspondence: Correspondence) -> list[str]:
    """Remove landing points that several source limbs share: in turn they would keep the target planted for good."""
    users: dict[str, list[str]] = {}
    for name, bone in joints.items():
        for landing in table[name]:
            users.setdefault(landing.name, []).append(bone)
    chains = {bone: set(correspondence.source.chain(correspondence.source.index[bone])) for bone in joints.values()}
    shared = [
        landing
        for landing, bones in users.items()
        if not all(chains[a] <= chains[b] or chains[b] <= chains[a] for a, b in combinations(bones, 2))
    ]
    for name in joints:
        table[name] = [point for point in table[name] if point.name not in shared]
    return [f"Several limbs of the source would stand on `{landing}`: not planted." for landing in shared]


def _expand_contacts(
    contacts: Sequence[Contact], table: dict[str, list[Point]]
) -> tuple[tuple[Contact, ...], dict[str, Point]]:
    """Contacts with one landing point each; those of one point that overlap in time are joined."""
    expanded: list[Contact] = []
    points: dict[str, Point] = {}
    first: dict[tuple[str, str], str] = {}
    for contact in contacts:
        for landing in table[contact.point.name]:
            name = first.setdefault((landing.name, contact.actor), contact.point.name)
            if points.get(name, landing) is not landing:
                # A source point with several target points is named after both.
                name = first[landing.name, contact.actor] = f"{contact.point.name}>{landing.name}"
            points[name] = landing
            expanded.append(replace(contact, point=replace(contact.point, name=name)))
    return _join_contacts(expanded), points


def _usual_rises(
    contacts: Sequence[Contact], targets: dict[str, Point], soles: Soles, motions: tuple[Motion, Motion], floor: Floor
) -> dict[str, tuple[float, float]]:
    """Usual metres above the floor of the source's and the target's points while they stand.

    A foot of the target stands as high as the source's, scaled. The heights of its points relative to each other come
    from its stance or, if bones point alike, from both motions while all points of the foot are down.
    """
    ratio = step_ratio(soles.alignment)
    standing = [c for c in contacts if c.on == "floor" and c.place is not None]
    feet_of: dict[int, dict[str, Point]] = {}
    for contact in standing:
        limb = feet_of.setdefault(soles.limb_of(targets[contact.point.name]), {})
        limb[contact.point.name] = contact.point
    used = [contact.point for contact in standing], [targets[contact.point.name] for contact in standing]
    poses = [
        pose_of(motion, [motion.skeleton.index[point.joint] for point in points])
        for motion, points in zip(motions, used, strict=True)
    ]
    frames = motions[0].num_frames
    rises: dict[str, tuple[float, float]] = {}
    for points in feet_of.values():
        levels = soles.sole_heights([targets[name] for name in points])
        if levels is not None:
            rises |= {name: (np.nan, float(rise)) for name, rise in zip(points, levels, strict=True)}
            continue
        all_down = np.ones(frames, bool)
        source_rises = np.zeros(len(points))
        for row, name in enumerate(points):
            down = np.zeros(frames, bool)
            point_contacts = [c for c in standing if c.point.name == name and c.place is not None]
            for contact in point_contacts:
                down[contact.frames(motions[0].fps, frames)] = True
            all_down &= down
            rise = [float(c.place[1] - floor.heights(c.place)) for c in point_contacts if c.place is not None]
            source_rises[row] = median(np.array(rise))
        target_points = [targets[name] for name in points]
        paths = [
            pose.points(p)[all_down] for pose, p in zip(poses, (list(points.values()), target_points), strict=True)
        ]
        if soles.alignment.stance:
            target_rises = ratio * source_rises.mean() + _height_profile(soles.pose.points(target_points), floor)
        elif soles.is_level and all_down.any():
            # The floor of some captures drifts, and a heel may be found too high: only frames in which all points are
            # down show how both feet stand. The legs of the target bring its foot to where it is carried.
            source_rises, target_rises = (median(path[..., 1] - floor.heights(path)) for path in paths)
        elif all_down.any():
            target_rises = ratio * source_rises + _height_profile(paths[1], floor)
            target_rises -= ratio * _height_profile(paths[0], floor)
        else:
            target_rises = ratio * source_rises
        rises |= {name: (float(a), float(b)) for name, a, b in zip(points, source_rises, target_rises, strict=True)}
    return rises


def _height_profile(path: Array, floor: Floor) -> Array:
    """(P,) usual metres of points (F, P, 3) above the lowest of them."""
    heights = median(path[..., 1] - floor.heights(path))
    return heights - heights.min()


def _join_contacts(contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    joined: list[Contact] = []
    for contact in sorted(contacts, key=lambda c: (c.actor, c.point.name, c.on, c.start)):
        last = joined[-1] if joined else None
        same = last is not None and (last.actor, last.point.name, last.on) == (
            contact.actor,
            contact.point.name,
            contact.on,
        )
        if same and last is not None and contact.start <= last.end:
            joined[-1] = replace(last, end=max(last.end, contact.end))
        else:
            joined.append(contact)
    return tuple(sorted(joined, key=lambda c: c.start))


@lru_cache(maxsize=8)
def step_ratio(alignment: Alignment) -> float:
    """Ratio of the target's steps to the source's: by the heights of the hips if both stand, else by the legs."""
    ratio = leg_ratio(alignment.correspondence.source, alignment.correspondence.target)
    a, b = (Soles.of(alignment, side).height() for side in ("source", "target"))
    return b / a if a > 0.0 and b > 0.0 and 0.5 < b / a / ratio < 2.0 else ratio
