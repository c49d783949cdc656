"""The guard: finds results that are unusable, whatever the figures say, and gives the reasons.

It compares the source with the result by their joints at some of the frames. Plants and joint limits are judged as the
solver had them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from understudy.base.quaternion import Array, cross, rotate
from understudy.base.records import median, record
from understudy.constraints.base import Constraint
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.neutral_pose import HORIZONTAL
from understudy.correspondence.pairs import Correspondence, CorrespondenceError
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import Pose
from understudy.figure.measures import UP, is_humanoid, leg_length, partners
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, side
from understudy.figure.skeleton import Point
from understudy.metrics.base import ADULT_LEG_METRES, percent
from understudy.metrics.comparison import Comparison
from understudy.metrics.constraint import measure_breaches, ranges_of

MIN_SIDE_WIDTH_LEGS = 0.02
"""Distance between two sides above which the line between them shows left and right."""

MIN_STEADY_WIDTH_SHARE = 0.5
"""Share of their mean distance that two sides must always keep for that line to show left and right."""

MIN_SIDE_DIFFERENCE_LEGS = 0.05
"""Root mean square difference of the sides from which a body differs from its mirror image."""

MAX_OPPOSITE_CORRELATION = -0.5
"""Correlation below which the sides are exchanged."""

MIN_CLEAR_FRAMES_SHARE = 0.5
"""Share of frames in which the facing of a body must be clear."""

MIN_WRONG_WAY_DEGREES = 90.0
"""Angle from which a result faces or goes another way."""


@record
class SidePairs:
    """Left and right joints of the source and their partners on the result, parents first."""

    source: np.ndarray
    """(2, K)"""
    result: np.ndarray
    """(2, K)"""


@record
class CheckInput:
    """A body over the first frames of its motion."""

    motion: Motion
    places: Array
    """(F, J, 3) metres, world: its joints."""
    leg: float
    """Metres."""
    forward: Array
    """(F, 3) the facing, by lines between its sides."""
    clear: np.ndarray
    """(F,) whether `forward` is reliable."""

    @staticmethod
    def of(motion: Motion, places: Array, pairs: np.ndarray, weights: Array) -> CheckInput:
        """A body with places (F, J, 3), and with pairs of left and right joints (2, K), the lines between which have
        weights (K,) for its facing."""
        lines = weights > 0.0
        difference = places[:, pairs[0, lines]] - places[:, pairs[1, lines]]
        across = np.einsum("fki,k->fi", difference, weights[lines] / _mean_widths(places, pairs[:, lines]))
        forward = cross(across, UP)
        size = np.linalg.norm(forward, axis=-1)
        # Of a body that lies on its side, left is above right: its facing is unclear.
        clear = (size > 0.5 * np.linalg.norm(across, axis=-1)) & (size > 0.0)
        forward = forward / np.maximum(size, 1e-12)[:, None]
        return CheckInput(motion=motion, places=places, leg=leg_length(motion.skeleton), forward=forward, clear=clear)


def _mean_widths(places: Array, pairs: np.ndarray) -> Array:
    """(K,) metres: the mean distance between left and right joints (2, K)."""
    widths: Array = np.linalg.norm(places[:, pairs[0]] - places[:, pairs[1]], axis=-1).mean(axis=0)
    return widths


def facing_weights(bodies: Sequence[tuple[Motion, Array, np.ndarray]]) -> Array:
    """(K,) how much each line from right to left shows of the facing of some bodies: its width, in legs of the body on
    which it is narrower; zero for all but the topmost lines of those that keep their width on every body.

    Args:
        bodies: For each its motion, its places (F, J, 3) and its pairs of left and right joints (2, K). Pairs
            correspond.
    """
    weights = np.full(bodies[0][2].shape[1], np.inf)
    for motion, places, (left, right) in bodies:
        leg, mean_widths = leg_length(motion.skeleton), _mean_widths(places, np.stack([left, right]))
        narrowest = np.linalg.norm(places[:, left] - places[:, right], axis=-1).min(axis=0)
        # Limbs of a flat figure are apart only while they swing: that is not a line from right to left.
        keeps = narrowest > np.maximum(MIN_SIDE_WIDTH_LEGS * leg, MIN_STEADY_WIDTH_SHARE * mean_widths)
        weights = np.where(keeps, np.minimum(weights, mean_widths / leg), 0.0)
    for motion, _, (left, _) in bodies:
        joints = set(left[weights > 0.0].tolist())
        is_below = [bool(joints.intersection(motion.skeleton.chain(int(joint))[:-1])) for joint in left]
        weights = np.where(np.array(is_below, bool), 0.0, weights)
    return weights


def find_sides(source: Motion, result: Motion, correspondence: Correspondence | None) -> SidePairs:
    """Find the partners of the joints of both sides, by the correspondence or by equal names."""
    names, result_index = source.skeleton.names, result.skeleton.index
    target_name: dict[str, str] = dict(zip(names, names))
    if correspondence is not None:
        target_name = {pair.source[0]: pair.target[0] for pair in correspondence.pairs}
    source_joints, result_joints = [], []
    for joint, other in enumerate(partners(source.skeleton)):
        if side(names[joint]) == "right" or (side(names[joint]) != "left" and joint >= other):
            continue
        left, right = target_name.get(names[joint], ""), target_name.get(names[other], "")
        if joint == other or left not in result_index or right not in result_index or left == right:
            continue
        source_joints.append((joint, int(other)))
        result_joints.append((result_index[left], result_index[right]))
    columns = [np.array(joints, np.intp).reshape(-1, 2).T for joints in (source_joints, result_joints)]
    return SidePairs(source=columns[0], result=columns[1])


def describe_crossed_sides(correspondence: Correspondence) -> str:
    """Describe whether a map pairs left with right; empty if not."""
    same = across = 0
    for pair in correspondence.pairs:
        source_sides, target_sides = ({side(bone) for bone in bones} for bones in (pair.source, pair.target))
        if len(source_sides) == 1 and len(target_sides) == 1 and "" not in source_sides | target_sides:
            same, across = same + (source_sides == target_sides), across + (source_sides != target_sides)
    if across <= same:
        return ""
    return f"is mirrored: {across} of {across + same} bones that are on a side play those of the other side"


def describe_mirrored(source: CheckInput, result: CheckInput, sides: SidePairs, *, alike: bool) -> str:
    """Describe whether the left of a result does what the source's right does; empty if not.

    How far the left is ahead of and above the right changes sign in a mirror image. Movement that is equal on both
    sides shows nothing.

    Args:
        source: The source at the frames of the result.
        result: The result.
        sides: Which joints are on which side.
        alike: Whether poses are comparable; if not, only movement about the mean is compared.
    """
    clear = source.clear & result.clear
    if not sides.source.size or clear.mean() < MIN_CLEAR_FRAMES_SHARE:
        return ""
    differences = []
    for body, joints in ((source, sides.source), (result, sides.result)):
        difference = side_differences(body.places, joints, body.forward)[clear] / body.leg
        differences.append(difference if alike else difference - difference.mean(axis=0))
    correlated = opposite_correlation(*differences)
    # A leg that sticks out sideways swings differently from one that hangs, but rotates when its partner does.
    if correlated is None or correlation(_side_turns(source, sides.source), _side_turns(result, sides.result)) > 0.0:
        return ""
    return f"is mirrored: its left does what the source's right does (correlation of the sides {correlated:.2f})"


def side_differences(places: Array, pairs: np.ndarray, forward: Array) -> Array:
    """(F, K, 2) metres by which the first joints of pairs (2, K) are ahead of and above the second."""
    difference = places[:, pairs[0]] - places[:, pairs[1]]
    return np.stack([np.einsum("fki,fi->fk", difference, forward), difference[..., 1]], axis=-1)


def opposite_correlation(expected: Array, actual: Array) -> float | None:
    """The correlation of expected and actual side differences if it is opposite; else None."""
    if min(float(np.sqrt(np.mean(np.square(values)))) for values in (expected, actual)) < MIN_SIDE_DIFFERENCE_LEGS:
        return None
    correlated = correlation(expected, actual)
    return correlated if correlated < MAX_OPPOSITE_CORRELATION else None


def _side_turns(body: CheckInput, pairs: np.ndarray) -> Array:
    """(F - 1, K) radians per step by which left joints rotate more than right ones, less the mean over time."""
    speeds = joint_rotation_per_step(body.motion, pairs.ravel())[: len(body.places) - 1].reshape(-1, *pairs.shape)
    difference = speeds[:, 0] - speeds[:, 1]
    return difference - difference.mean(axis=0) if len(difference) else difference


def joint_rotation_per_step(motion: Motion, joints: np.ndarray | slice = slice(None)) -> Array:
    """(F - 1, J) radians that joints rotate from frame to frame, by the chord between quaternions."""
    q = motion.rotations[:, joints]
    squares = np.square(np.diff(q, axis=0)).sum(axis=-1)
    # A quaternion and its negative are the same rotation.
    return 2.0 * np.sqrt(np.maximum(np.minimum(squares, 4.0 - squares), 0.0))


def correlation(a: Array, b: Array) -> float:
    """Correlation of two arrays about zero; 0 if one of them is zero."""
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / size if size > 0.0 else 0.0


def describe_wrong_way(source: CheckInput, result: CheckInput) -> str:
    """Describe whether a result faces or goes another way than its source; empty if not."""
    if angle := wrong_way_degrees(source.forward, result.forward, source.clear & result.clear):
        return f"faces the other way: {angle:.0f} degrees from where the source faces"
    toes = _toes(source), _toes(result)
    if toes[0] is not None and toes[1] is not None:
        (first, clear), (second, other_clear) = toes[0], toes[1]
        if angle := wrong_way_degrees(first, second, clear & other_clear):
            return f"faces the other way: its feet point {angle:.0f} degrees from where the source's do"
    paths = [(body.places[-1, 0] - body.places[0, 0]) * HORIZONTAL / body.leg for body in (source, result)]
    if min(float(np.linalg.norm(path)) for path in paths) > 1.0 and (
        angle := wrong_way_degrees(paths[0], paths[1], np.array([True]))
    ):
        return f"goes the other way: {angle:.0f} degrees from where the source goes"
    return ""


def _toes(body: CheckInput) -> tuple[Array, np.ndarray] | None:
    """(F, 3) the direction of the feet, and (F,) whether it is clear; None if the body is not human."""
    # An animal's digits point anywhere outside its own stance.
    joints = roles(body.motion.skeleton) if is_humanoid(body.motion.skeleton) else {}
    feet = [(joints.get(f"{which}_foot"), joints.get(f"{which}_toe")) for which in ("left", "right")]
    vectors = [body.places[:, toe] - body.places[:, foot] for foot, toe in feet if foot is not None and toe is not None]
    if not vectors:
        return None
    vector = np.sum(vectors, axis=0)
    level = vector * HORIZONTAL
    size = np.linalg.norm(level, axis=-1)
    clear = (size > 0.5 * np.linalg.norm(vector, axis=-1)) & (size > MIN_SIDE_WIDTH_LEGS * body.leg)
    return level / np.maximum(size, 1e-12)[:, None], clear


def wrong_way_degrees(first: Array, second: Array, clear: np.ndarray) -> float:
    """Median degrees between directions if more than MIN_WRONG_WAY_DEGREES, else 0."""
    if clear.mean() < MIN_CLEAR_FRAMES_SHARE:
        return 0.0
    first, second = np.atleast_2d(first)[clear], np.atleast_2d(second)[clear]
    sizes = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    cosines = np.einsum("fi,fi->f", first, second) / np.maximum(sizes, 1e-12)
    angle = float(np.degrees(np.arccos(np.clip(median(cosines), -1.0, 1.0))))
    return angle if angle > MIN_WRONG_WAY_DEGREES else 0.0


SAMPLE_FPS = 15.0
"""Frame rate at which a result is checked, so that the check is cheap."""

MAX_FROZEN_SHARE = 1e-3
"""Share of the source's movement below which a result is frozen."""

MIN_TURN_RADIANS = 1e-3
"""Rotation of all joints over the whole source below which only the path of its root is compared."""

MAX_STILL_MOVEMENT = 1e-6
"""Radians or metres below which there is no movement."""

MAX_SLOW_SHARE = 0.1
"""Share of its mean movement below which a source is still."""

MIN_DEFECT_SHARE = 0.5
"""Share of frames from which a defect concerns the whole result."""

MAX_DISTANCE_RATIO = 100.0
"""Ratio of the distances from the origin of result and source, in leg lengths, above which the result is lost."""

MIN_BROKEN_DEGREES = 45.0
"""Degrees beyond its range, and beyond the source's own excess, at which a joint is broken."""

MAX_PLANT_DISTANCE_METRES = 0.05
"""Metres on an adult body within which a planted point is in place."""

MIN_KEPT_CONTACT_SHARE = 0.25
"""Share of contacts, weighted by their frames, below which a result has lost its source's contacts."""


@record
class Stand:
    """A point of a result and the frames in which it should stay in place."""

    point: Point
    frames: np.ndarray
    """(n,) frames of the result."""
    height: Array | float | None
    """(n,) or one, metres, world: wanted height; None for any."""
    still: bool = True
    """Whether it must not move over the floor."""


def find_failures(
    result: Motion,
    source: Motion | None = None,
    correspondence: Correspondence | None = None,
    *,
    contacts: Sequence[Contact] | None = None,
    limits: Sequence[JointRange] | None = None,
    constraints: Iterable[Constraint] = (),
    actors: Sequence[str] = ("",),
    given: bool = False,
) -> tuple[str, ...]:
    """Find why a result is unusable: sentences without their subject; none for a sound result.

    Args:
        result: The result.
        source: Its source.
        correspondence: Which bones correspond; None for bodies with the same joints.
        contacts: The source's contacts that the result should keep; None for those of the constraints.
        limits: The ranges of its joints; None for those of the constraints.
        constraints: The constraints of the solve, without the user's own; they give plants and limits.
        actors: The names of the result in the constraints.
        given: Whether the user chose the correspondence; it may then cross left and right.
    """
    solved = list(constraints)
    if limits is None:
        limits = [limit for limit in solved if isinstance(limit, JointRange) and limit.joints()[0].actor in actors]
    if problem := describe_scatter(source, result):
        return (problem,)
    sampled = result[:: max(round(result.fps / SAMPLE_FPS), 1)]
    case = Comparison(
        result=sampled, source=source, user_map=correspondence, contacts=None if contacts is None else (*contacts,)
    )
    if problem := _describe_rest(case):
        return (problem,)
    stands = find_stands(solved, sampled, actors) if contacts is None else _stands_of_plants(case)
    return judge(case, stands, limits, made_by=None if given else correspondence)


def comparison_failures(case: Comparison) -> tuple[str, ...]:
    """Find why a result of any program is unusable, by its source; uncertain limits are left out."""
    if problem := describe_scatter(case.source, case.result) or _describe_rest(case):
        return (problem,)
    ranges, sure = case.once(ranges_of)
    return judge(case, _stands_of_plants(case), ranges if sure else ()) if case.source is not None else ()


def judge(
    case: Comparison, stands: Sequence[Stand], limits: Sequence[JointRange], *, made_by: Correspondence | None = None
) -> tuple[str, ...]:
    """Find why a moving result is unusable, given its stands, its limits and the map that made it."""
    mirrored, wrong_way = case.once(compare_sides)
    problems = [
        describe_crossed_sides(made_by) if made_by is not None else "",
        mirrored,
        wrong_way,
        describe_limit_breach(case, limits),
    ]
    if not mirrored:
        # In a mirror image the wrong feet stand: that would report the same defect twice.
        problems.append(describe_lost_contacts(case.pose, stands))
    return tuple(sentence for sentence in problems if sentence)


def _describe_rest(case: Comparison) -> str:
    """Describe whether a result does not move though it should; empty if it does."""
    if case.source is None:
        if case.result.num_frames < 2:
            return "is a single frame"
        steps = sum(float(measure(case.result).sum()) for measure in (rotation_per_step, travel_per_step))
        return "stands still: nothing in it moves" if steps < MAX_STILL_MOVEMENT else ""
    assert case.resampled is not None
    joints = None
    if case.user_map is not None:
        joints = [case.source.skeleton.joint(bone) for pair in case.user_map.pairs for bone in pair.source]
    return "stands still while the source moves" if is_frozen(case.resampled, case.result, joints) else ""


def describe_scatter(source: Motion | None, result: Motion) -> str:
    """Describe whether a result has non-finite numbers or is far away; empty if not."""
    arrays = [result.root, result.rotations, *([] if result.offsets is None else [result.offsets])]
    if not all(np.all(np.isfinite(array)) for array in arrays):
        return "holds numbers that are not finite"
    if source is None:
        return ""
    distances = [float(np.abs(motion.root).max()) / leg_length(motion.skeleton) for motion in (source, result)]
    if distances[1] > MAX_DISTANCE_RATIO * (1.0 + distances[0]):
        return f"is thrown {distances[1]:.3g} leg lengths away; the source stays within {distances[0]:.3g}"
    return ""


def is_frozen(source: Motion, result: Motion, joints: Sequence[int] | None = None) -> bool:
    """Whether a result stands still during most of its source's movement.

    Args:
        source: The source at the frames of the result.
        result: The result.
        joints: Joints of the source that have a partner; all if not given.
    """
    count = max(min(source.num_frames, result.num_frames) - 1, 0)
    steps = rotation_per_step(source, joints)[:count], rotation_per_step(result)[:count]
    if steps[0].sum() < MIN_TURN_RADIANS:
        steps = travel_per_step(source)[:count], travel_per_step(result)[:count]
    if not steps[0].size:
        return False
    moving = steps[0] > max(MAX_SLOW_SHARE * float(steps[0].mean()), MAX_STILL_MOVEMENT)
    still = steps[1][moving] < MAX_FROZEN_SHARE * steps[0][moving]
    return bool(moving.any()) and float(np.mean(still)) > MIN_DEFECT_SHARE


def rotation_per_step(motion: Motion, joints: Sequence[int] | None = None) -> Array:
    """(F - 1,) radians that joints rotate from frame to frame, in total."""
    return joint_rotation_per_step(motion, slice(None) if joints is None else np.array(joints, np.intp)).sum(axis=-1)


def travel_per_step(motion: Motion) -> Array:
    """(F - 1,) metres that the root moves from frame to frame."""
    return np.linalg.norm(np.diff(motion.root, axis=0), axis=-1)


def compare_sides(case: Comparison) -> tuple[str, str]:
    """Describe whether a result is mirrored, and whether it faces another way; empty if not."""
    # A user's map that crosses left and right is intended.
    if (
        case.source is None
        or case.resampled is None
        or (case.user_map is not None and describe_crossed_sides(case.user_map))
    ):
        return "", ""
    half_frame = 0.5 / case.result.fps
    count = int(np.sum(case.result.times <= case.source.duration + half_frame))
    sides = _find_comparison_sides(case)
    assert case.source_pose is not None
    shown = case.source_pose.positions[:count], case.pose.positions[:count]
    weights = facing_weights([(case.resampled, shown[0], sides.source), (case.result, shown[1], sides.result)])
    source = CheckInput.of(case.resampled, shown[0], sides.source, weights)
    result = CheckInput.of(case.result, shown[1], sides.result, weights)
    # With another duration, steps half a cycle later would look mirrored.
    mirrored = describe_mirrored(source, result, sides, alike=case.same_structure) if case.same_duration else ""
    return mirrored, describe_wrong_way(source, result)


def _find_comparison_sides(case: Comparison) -> SidePairs:
    assert case.source is not None
    correspondence = case.user_map
    if correspondence is None and case.source.skeleton.names != case.result.skeleton.names:
        try:
            correspondence = case.correspondence
        except CorrespondenceError:
            correspondence = None
    return find_sides(case.source, case.result, correspondence)


def describe_limit_breach(case: Comparison, limits: Sequence[JointRange]) -> str:
    """Describe a joint that is far outside its range most of the time, though the source's is not; empty if none."""
    step = max(round(case.result.fps / SAMPLE_FPS), 1)
    excesses = np.degrees(measure_breaches(limits, case.result[::step]))
    for limit, excess in zip(limits, excesses.T, strict=True):
        if np.mean(excess > MIN_BROKEN_DEGREES) <= MIN_DEFECT_SHARE:
            continue
        if case.same_structure and case.resampled is not None:
            # A capture often exceeds the limits of its own file; the result may do the same.
            excess = excess - np.degrees(measure_breaches([limit], case.resampled[::step])[:, 0])
        if np.mean(excess > MIN_BROKEN_DEGREES) > MIN_DEFECT_SHARE:
            usual = float(median(excess))
            joint = limit.joints()[0].point
            return f"is off its joint limits: `{joint}` is {usual:.0f} degrees beyond its range most of the time"
    return ""


def describe_lost_contacts(pose: Pose, stands: Sequence[Stand]) -> str:
    """Describe whether a result has lost most of its source's contacts; empty if not.

    A contact is kept if its point is near its place and at its height for half of its frames or more.
    """
    nonempty = [stand for stand in stands if len(stand.frames)]
    held = [stand for stand in nonempty if stand.still] or nonempty
    if not held:
        return ""
    counts = np.array([len(stand.frames) for stand in held])
    starts = np.cumsum(counts) - counts
    frames = np.concatenate([stand.frames for stand in held])
    joints = np.repeat([pose.skeleton.joint(stand.point.joint) for stand in held], counts)
    offsets = np.repeat([stand.point.offset for stand in held], counts, axis=0)
    paths = pose.positions[frames, joints] + rotate(pose.rotations[frames, joints], offsets)
    place = np.add.reduceat(paths, starts) / counts[:, None]
    distances = paths - np.repeat(place, counts, axis=0)
    distances[np.repeat([not stand.still for stand in held], counts)] = 0.0
    distances[:, 1] = paths[:, 1] - np.concatenate(
        [_heights(stand, counts[i], place[i, 1]) for i, stand in enumerate(held)]
    )
    near = MAX_PLANT_DISTANCE_METRES * leg_length(pose.skeleton) / ADULT_LEG_METRES
    in_place = (np.hypot(distances[:, 0], distances[:, 2]) <= near) & (np.abs(distances[:, 1]) <= near)
    kept = np.add.reduceat(in_place.astype(float), starts) >= MIN_DEFECT_SHARE * counts
    share = float(counts[kept].sum() / counts.sum())
    if share >= MIN_KEPT_CONTACT_SHARE:
        return ""
    return f"is without its source's contacts: {percent(1.0 - share)} of what should stand does not stay there"


def _heights(stand: Stand, count: int, default: float) -> Array:
    """(n,) metres, world: the wanted height of a point, or the default if any height is allowed."""
    return np.full(count, default if stand.height is None else stand.height)


def find_stands(constraints: Iterable[Constraint], result: Motion, actors: Sequence[str] = ("",)) -> list[Stand]:
    """Find the points that constraints keep in one place, or at one height, over some time.

    Only staying in place is checked here; the report of the solve says whether a given place is reached.
    """
    stands = []
    for constraint in constraints:
        if not isinstance(constraint, SamePlace | Place) or constraint.instants or constraint.soft:
            continue
        point, actor = constraint.point_refs()[0].point, constraint.point_refs()[0].actor
        if actor not in actors:
            continue
        axes = constraint.axes if isinstance(constraint, Place) else "xyz"
        still = {"x", "z"} <= set(axes)
        height = (
            constraint.height if isinstance(constraint, SamePlace) else None if still else float(constraint.target[1])
        )
        if still or "y" in axes:
            point = result.skeleton.point(point) if isinstance(point, str) else point
            stands.append(Stand(point=point, frames=constraint.frames(result.times), height=height, still=still))
    return stands


def _path(pose: Pose, point: Point, frames: np.ndarray) -> Array:
    """(n, 3) metres, world: positions of a point at some frames."""
    joint = pose.skeleton.joint(point.joint)
    return pose.positions[frames, joint] + rotate(pose.rotations[frames, joint], point.offset)


def _stands_of_plants(case: Comparison) -> list[Stand]:
    """The stands of a result that follow from the contacts of its source."""
    stands = []
    for plant in case.plants:
        height = None
        if plant.level is not None:
            height = plant.level + case.floor.heights(_path(case.pose, plant.point, plant.frames))
        stands.append(Stand(point=plant.point, frames=plant.frames, height=height))
    return stands
