"""Constraints of the solve that plants B's feet: heights of feet and hips as A's in legs, and given poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.analogy.conditions import PoseAt
from understudy.analogy.quality import (
    above_hip,
    crouch,
    floors_of_parts,
    least_leg_height,
    leg_joints,
    lift,
    lift_habit,
    lift_ratio,
    wanted_lift,
)
from understudy.analogy.stepping import FootPair, Stepping, foot_heights, hip_height
from understudy.base.quaternion import Array, conjugate, multiply
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.follow import Follow
from understudy.constraints.pose import FixedPose
from understudy.constraints.region import Region
from understudy.figure.contacts import Contact, held_frames
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.solve.solvers.base import Outcome, Solution

HEIGHT_TOLERANCE_LEGS = 0.03
"""How far feet and hips may be from the wanted height."""

HEIGHT_TOLERANCE_SHARE = 0.1
"""The same for feet that are lifted otherwise than they should be, as a share of how high they should be lifted."""

SEEN_LIFTS = (0.85, 1.2)
"""Lifts, relative to the wanted one, from which on a foot is lifted otherwise."""

MIN_TOLERANCE_METRES = 1e-3
"""Least of both tolerances."""

MIN_SHARE_OF_LIFT = 0.5
"""Least share of a foot's lift that is taken to be above its standing height."""

HIP_MARGIN_LEGS = 0.02
"""How far a foot may be above its hip."""

LEG_HEIGHT_SHARE = 0.8
"""Of the least height that a leg has in the example, the share below which it is kept from lying down."""

MAX_LOWEST = 3
"""Of the parts that one joint moves, so many of the lowest at each time are kept out of the floor."""

MAX_NEAR_FLOOR_LEGS = 0.1
"""A part of the body that is higher above the floor needs no constraint to stay there."""

WISHES = ("follow", "pose", "region")
"""Kinds of constraints in the solve that are no contacts."""

HEIGHT_WEIGHT = 0.01
"""Weight of heights where they cannot be met beside contacts and limits."""

MAX_BASE_DIFFERENCE_LEGS = 0.05
"""A foot whose lowest height is this much above that of the lowest foot does not stand."""

LOW_HIPS_LEGS = 0.5
"""Hips that hang lower are set above the floor, not above feet that are not planted yet: what those are in the floor is
much of the room that such a body has."""

MIN_CROUCH_LEGS = 0.02
"""A smaller difference in the height of the hips is not corrected."""


def correct_heights(
    stepping: Stepping,
    source: Motion,
    contacts: Sequence[Contact],
    *,
    examples: tuple[Motion | None, Motion | None],
    rises: dict[str, float],
    floor: float,
) -> tuple[Motion, list[Constraint]]:
    """B's motion at the right height above the floor, and constraints on the heights of its hips and feet.

    Args:
        stepping: B's motion and its contacts.
        source: A's motion in the same time.
        contacts: A's contacts.
        examples: The examples of A and B; without them nothing is corrected.
        rises: Standing height of B's points above the floor, metres, by name.
        floor: Height of the floor, metres.
    """
    motion = stepping.motion
    if examples[0] is None or examples[1] is None:
        return motion, []
    leg = leg_length(motion.skeleton)
    constraints: list[Constraint] = []
    lowered = crouch(motion, source, examples, stepping)
    if hang_low(stepping.pairs, examples[1]):
        lowered -= feet_off_floor(stepping, rises, floor) / leg
    if abs(lowered) > MIN_CROUCH_LEGS:
        root = motion.root.copy()
        root[:, 1] += lowered * leg
        motion = replace(motion, root=root)
        within = HEIGHT_TOLERANCE_LEGS * leg
        constraints.append(_follow_height(motion, motion.skeleton.names[0], root[:, 1], within))
    bases = standing_bases(source, [pair.source for pair in stepping.pairs], contacts)
    for pair in stepping.pairs:
        wanted = wanted_lift(pair, motion, source, examples[1])
        heights = np.maximum(foot_heights(source, pair.source) - bases[pair.source[0].name], 0.0)
        scale = wanted / max(float(np.percentile(heights, 98)), MIN_SHARE_OF_LIFT * lift(source, pair.source), 1e-6)
        heights *= scale * lift_habit(pair, (examples[0], examples[1]))
        within = HEIGHT_TOLERANCE_LEGS * leg
        if not SEEN_LIFTS[0] < lift_ratio(pair, motion, source, examples[1]) < SEEN_LIFTS[1]:
            within = max(min(within, HEIGHT_TOLERANCE_SHARE * wanted), MIN_TOLERANCE_METRES)
        constraints += _lift_foot(pair, heights, within, motion, stepping.contacts, rises, floor)
    return motion, constraints


def hang_low(pairs: Sequence[FootPair], example: Motion) -> bool:
    """Whether a body hangs low between long legs, as a spider does."""
    hips = [hip_height(example, pair.foot) for pair in pairs]
    return bool(hips) and float(np.mean(hips)) < LOW_HIPS_LEGS * leg_length(example.skeleton)


def feet_off_floor(stepping: Stepping, rises: dict[str, float], floor: float) -> float:
    """Metres by which feet that are to stand come down too little on average; less than 0 where they are too low.

    Once the feet are planted, hips are less high above them by as much.
    """
    stands = {contact.point.name for contact in stepping.contacts}
    off = [
        float(np.percentile(foot_heights(stepping.motion, pair.foot), 5))
        - floor
        - float(np.mean([rises.get(point.name, 0.0) for point in pair.foot]))
        if stands & {point.name for point in pair.foot}
        else 0.0
        for pair in stepping.pairs
    ]
    return float(np.mean(off)) if off else 0.0


def standing_bases(motion: Motion, feet: Sequence[Sequence[Point]], contacts: Sequence[Contact]) -> dict[str, float]:
    """Metres: the height at which each foot stands, by the name of its first point.

    A foot that is held up all the time, as on a hop on one leg, would stand as low as the other feet.
    """
    bases = {}
    for foot in feet:
        heights, names = foot_heights(motion, foot), {point.name for point in foot}
        stands = held_frames(motion, [c for c in contacts if c.point.name in names and c.on == "floor"])
        bases[foot[0].name] = float(np.median(heights[stands]) if stands.any() else np.percentile(heights, 5))
    lowest = min(bases.values(), default=0.0)
    highest = lowest + MAX_BASE_DIFFERENCE_LEGS * leg_length(motion.skeleton)
    return {name: base if base < highest else lowest for name, base in bases.items()}


def _lift_foot(
    pair: FootPair,
    heights: Array,
    within: float,
    motion: Motion,
    plants: Sequence[Contact],
    rises: dict[str, float],
    floor: float,
) -> list[Constraint]:
    """Constraints that lift the points of a foot to heights (F,) above where they stand, within metres of them."""
    # The foot keeps its attitude: only its mean height follows the partner's.
    made = fk(motion).points(pair.foot)[..., 1] - floor - np.array([rises.get(p.name, 0.0) for p in pair.foot])
    attitude = made - made.mean(axis=1, keepdims=True)
    constraints: list[Constraint] = []
    for rank, point in enumerate(pair.foot):
        path = floor + rises.get(point.name, 0.0) + np.maximum(heights + attitude[:, rank], 0.0)
        stands = tuple((c.start, c.end) for c in plants if c.point.name == point.name)
        follow = _follow_height(motion, point, path, within, stands)
        # A foot that stands all the time needs none.
        if len(follow.frames(np.arange(motion.num_frames) / motion.fps)):
            constraints.append(follow)
    return constraints


def keep_below_hips(
    motion: Motion, pairs: Sequence[FootPair], source: Motion, rises: dict[str, float], floor: float
) -> list[Region]:
    """Constraints that keep feet below their hips, as those of the source are, where they come above them.

    A body that lands between long legs may have its hips at the ground: where a foot stands is never too high.
    """
    regions: list[Region] = []
    leg, times = leg_length(motion.skeleton), np.arange(motion.num_frames) / motion.fps
    for pair in pairs:
        (above, hips), (source_above, _) = above_hip(motion, pair.foot), above_hip(source, pair.source)
        if source_above.max() > 0.0 or above.max() < HIP_MARGIN_LEGS * leg:
            continue
        for point in pair.foot:
            centre = np.zeros((motion.num_frames, 3))
            centre[:, 1] = np.maximum(hips, floor + rises.get(point.name, 0.0)) + HIP_MARGIN_LEGS * leg
            regions.append(
                Region(
                    point=PointRef(point=point),
                    shape="half_space",
                    centre=centre,
                    times=times,
                    normal=np.array([0.0, -1.0, 0.0]),
                    name=f"{point.name} not above the hip",
                )
            )
    return regions


def keep_legs_up(
    motion: Motion,
    pairs: Sequence[FootPair],
    source: Motion,
    examples: tuple[Motion | None, Motion | None],
    floor: float,
) -> list[Region]:
    """Constraints that keep legs from lying along the ground where they would lie lower than ever in B's example.

    The joint that is highest when the leg lies lowest in the example keeps most of the height that the leg always has.
    """
    a, b = examples
    if a is None or b is None:
        return []
    regions = []
    for pair in pairs:
        lowered = least_leg_height(source, pair.source) / max(least_leg_height(a, pair.source), 1e-6)
        kept = LEG_HEIGHT_SHARE * min(lowered, 1.0) * least_leg_height(b, pair.foot)
        if least_leg_height(motion, pair.foot) >= kept:
            continue
        joints = leg_joints(motion.skeleton, pair.foot)
        heights = fk(b).positions[:, joints, 1]
        lowest = int(np.argmin(heights.max(axis=1)))
        point = motion.skeleton.point(motion.skeleton.names[joints[int(np.argmax(heights[lowest]))]])
        centre = np.array([0.0, floor + kept * leg_length(motion.skeleton), 0.0])
        regions.append(
            Region(point=PointRef(point=point), centre=centre, weight=HEIGHT_WEIGHT, name=f"{point.name} not down")
        )
    return regions


def keep_above_floor(motion: Motion, pairs: Sequence[FootPair], example: Motion | None, floor: float) -> list[Region]:
    """Constraints that keep above the floor the parts of B that are above it in its example and come near it.

    Toes go no deeper than in the example.
    """
    if example is None or not pairs:
        return []
    floors = floors_of_parts(example, pairs)
    parts, lowest = list(floors), np.array(list(floors.values()))
    heights = fk(motion).points(parts)[..., 1] - floor - lowest
    near = heights.min(axis=0) < MAX_NEAR_FLOOR_LEGS * leg_length(motion.skeleton)
    near &= _ever_lowest(motion.skeleton, parts, heights)
    return [
        Region(
            point=PointRef(point=parts[i]),
            centre=np.array([0.0, floor + lowest[i], 0.0]),
            name=f"{parts[i].name} not in the floor",
        )
        for i in np.flatnonzero(near).tolist()
    ]


def _ever_lowest(skeleton: Skeleton, points: Sequence[Point], heights: Array) -> np.ndarray:
    """(P,) whether points, with heights (F, P), are at some time among the lowest of those that one joint moves.

    Points that one joint moves are rigid with each other: the lowest keep all out of the floor. The many joints of a
    body that hangs low would make a solve of minutes.
    """
    joints = [skeleton.joint(point.joint) for point in points]
    movers = np.array(
        [j if point.offset.any() else skeleton.parents[j] for j, point in zip(joints, points, strict=True)]
    )
    lowest = np.zeros(len(points), bool)
    for mover in set(movers.tolist()):
        rigid = np.flatnonzero(movers == mover)
        ranks = np.argsort(np.argsort(heights[:, rigid], axis=1, kind="stable"), axis=1, kind="stable")
        lowest[rigid] = (ranks < MAX_LOWEST).any(axis=0)
    return lowest


def without_looser_floors(planned: Sequence[Constraint], strict: Sequence[Region]) -> tuple[Constraint, ...]:
    """The constraints of a plan without its own floors, named after them, of points that are kept out of the floor."""
    names = {f"{_name(ref)} above the floor" for region in strict for ref in region.point_refs()}
    return tuple(constraint for constraint in planned if constraint.name not in names)


def _follow_height(
    motion: Motion, point: Point | str, heights: Array, within: float, pauses: tuple[tuple[float, float], ...] = ()
) -> Follow:
    """A constraint that keeps a point within metres of heights (F,), except in pauses."""
    path = np.zeros((motion.num_frames, 3))
    path[:, 1] = heights
    return Follow(
        point=PointRef(point=point),
        path=path,
        times=np.arange(motion.num_frames) / motion.fps,
        axes="y",
        within=np.array(within),
        pauses=pauses,
        weight=HEIGHT_WEIGHT,
    )


def keep_poses(poses: Sequence[PoseAt], motion: Motion, level: Motion) -> list[Constraint]:
    """Constraints that keep given poses at their frames.

    Args:
        poses: The poses, with heading +Z.
        motion: B's motion on its path.
        level: The same without its path.
    """
    constraints: list[Constraint] = []
    names = motion.skeleton.names
    for pose in poses:
        rotations = pose.rotations.copy()
        # The heading at that frame: what turns the level root to the root on its path.
        heading = multiply(motion.rotations[pose.frame, 0], conjugate(level.rotations[pose.frame, 0]))
        rotations[0] = multiply(heading, rotations[0])
        chosen = names if pose.joints is None else pose.joints
        constraints.append(
            FixedPose(
                posed=tuple(PointRef(point=name) for name in chosen),
                rotations=rotations[[motion.skeleton.joint(name) for name in chosen]],
                instants=(pose.frame / motion.fps,),
                priority=1,
            )
        )
    return constraints


MAX_STRAY_METRES = 1e-3
"""A contact that strays farther is not held."""


def _contacts(solution: Solution) -> list[Outcome]:
    """The outcomes of constraints from contacts: what is asked of points, and is neither a height nor a pose."""
    return [o for o in solution.outcomes if not o.constraint.angular and o.constraint.kind not in WISHES]


def worst_contact(solution: Solution) -> float:
    """The farthest that a planted point strays, metres."""
    return max((outcome.worst for outcome in _contacts(solution)), default=0.0)


def unmet_feet(solution: Solution, stepping: Stepping) -> list[FootPair]:
    """The feet with contacts that stray too far while a height is asked of them."""
    strays = {
        _name(ref)
        for outcome in _contacts(solution)
        if outcome.worst > MAX_STRAY_METRES
        for ref in outcome.constraint.point_refs()
    }
    return [pair for pair in stepping.pairs if strays & {point.name for point in pair.foot}]


def without_feet(heights: Sequence[Constraint], feet: Sequence[FootPair], skeleton: Skeleton) -> list[Constraint]:
    """Constraints on heights, without those on points of some feet and on joints of their legs."""
    names = {point.name for pair in feet for point in pair.foot}
    names |= {skeleton.names[joint] for pair in feet for joint in leg_joints(skeleton, pair.foot)}
    return [height for height in heights if not names & {_name(ref) for ref in height.point_refs()}]


def _name(ref: PointRef) -> str:
    return ref.point if isinstance(ref.point, str) else ref.point.name
