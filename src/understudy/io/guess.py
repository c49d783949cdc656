"""Guesses what a file does not say: its up axis, its unit, and which frames do not belong to the movement.

The functions work on a skeleton and motion in the file's unit and axes. They use the poses of the motion, because a
rest pose may be meaningless (all bones along one axis, or lying down). Where no floor shows in a motion, as in
swimming, a rest pose that stands is believed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, angle_between, multiply, rotate
from understudy.base.records import distinct, median, record
from understudy.figure.kinematics import Pose, forward
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import is_humanoid
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles, side
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import UNITS, UP_AXES, name_unit, world_from_file

NUM_SAMPLED_FRAMES = 64
"""How many frames of a motion are examined."""

HUMAN_HEIGHT_METRES = 1.7
"""Likely length along the bones from the foot to the top of the head, for a body that has both."""

CREATURE_SIZE_METRES = 0.9
"""Likely longest side of any other body."""

MIN_BODY_JOINTS = 10
"""A skeleton with fewer joints is not judged as a body."""

MIN_BODY_SIZE_METRES, MAX_BODY_SIZE_METRES = 0.02, 25.0
"""Limits of the longest side of a body between which a format's default unit is believed."""

MIN_STANDING_ENDS = 3
"""Fewer end points at one height do not show that a body stands there."""

MIN_FLOOR_FRAMES = 10
"""Fewer frames do not show where the floor is."""

_UNIT_PENALTIES = {"m": 0.0, "cm": 0.0, "mm": 0.2, "inch": 0.1, "dm": 0.25, "foot": 0.5}
"""Penalty for units that are rarely used, comparable to the logarithm of a size ratio."""

_UP_PRIORS = np.array([-0.2, 0.2, 0.0, -0.5, -0.3, -0.4])
"""Initial scores of the up axes: nearly all files have Y up, many have Z, hardly any X; few axes point down."""

MIN_SITTING_COSINE = 0.85
"""Median cosine between the trunk and the axis of a standing rest pose from which who moves his legs elsewhere sits."""

MIN_TALL_RATIO = 1.5
"""The extent of a body along one axis, against that along the next, from which on it shows that the body is tall."""

MAX_FLOOR_SWAY = 0.03
"""Standard deviation of the lowest point, in body sizes, below which it shows a floor."""

MAX_STANDING_SPEED = 0.05
"""Speed of a foot that stands, in body sizes a second."""

MIN_GROUNDED_SHARE = 0.3
"""Share of the frames with a foot that stands above which it shows a floor."""

MAX_RISE_SIZES = 1.0
"""How far a body usually goes up and down, in its own sizes."""

MIN_UPRIGHT_COSINE = 0.9
"""Cosine between the legs, the line to the head and an axis above which a rest pose stands along that axis."""

MAX_UNSURE_MARGIN = 0.3
"""Difference of the scores of two candidates below which the second one is mentioned."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

_FOOT_WORDS = frozenset({"foot", "feet", "ankle", "toe", "toes", "paw", "hoof"})

_HEAD_WORDS = frozenset({"head"})

_CMU_JOINTS = frozenset({"lhipjoint", "rhipjoint"})


@record(eq=True)
class Guess:
    """The guessed unit and up axis of a file, with the reasons."""

    unit: float
    """Metres in one unit."""
    unit_reason: str
    up: str
    up_reason: str


def guess(
    skeleton: Skeleton, motion: Motion | None = None, *, unit: float | None = None, up: str | None = None
) -> Guess:
    """Guess a file's unit and up axis from the body it holds.

    Args:
        skeleton: The character in the file's unit and axes.
        motion: Its motion in the same unit and axes; the rest pose is examined if there is none.
        unit: Metres in one unit, if known. It is not guessed then.
        up: The up axis, if known. It is not guessed then.
    """
    result = Guess(
        unit=unit or UNITS["m"],
        unit_reason=f"{name_unit(unit or UNITS['m'])}: given",
        up=up or "Y",
        up_reason=f"{up} is up: given",
    )
    if unit is not None and up is not None:
        return result
    with np.errstate(all="ignore"):
        positions, ends = _sample_positions(skeleton, motion)
        body = _Body.of(skeleton)
        is_nameless = not body.feet and skeleton.num_joints >= MIN_BODY_JOINTS
        if up is None:
            if is_nameless and (motion is None or motion.num_frames < MIN_FLOOR_FRAMES):
                body = _body_by_shape(body, motion, _axis(-_hanging(skeleton, motion)))
            axis, reason = _guess_up(body, positions, ends, motion)
            result = replace(result, up=axis, up_reason=reason)
        if unit is None:
            if is_nameless:
                body = _body_by_shape(body, motion, result.up)
            metres, reason = _guess_unit(body, np.concatenate([positions, ends], axis=1))
            result = replace(result, unit=metres, unit_reason=reason)
    return result


@record
class _Body:
    """The parts of a skeleton that show its up direction, found by joint names and the tree."""

    skeleton: Skeleton
    feet: tuple[tuple[int, int], ...]
    """The first joint and the foot joint of each leg."""
    head: int | None
    path: Array
    """(J,) length along the bones from the root to each joint."""
    reach: Array
    """(J,) length along the bones from the root to the farthest end point of each joint."""

    @staticmethod
    def of(skeleton: Skeleton) -> _Body:
        words = [_words(name) for name in skeleton.names]
        heads = [joint for joint in range(skeleton.num_joints) if words[joint] & _HEAD_WORDS]
        is_foot = [bool(word & _FOOT_WORDS) for word in words]
        if not any(is_foot) and is_humanoid(skeleton):
            # Names in other languages, and of programs that call a foot otherwise.
            named = roles(skeleton)
            is_foot = [joint in (named.get("left_foot"), named.get("right_foot")) for joint in range(len(words))]
            heads = heads or [named["head"]] if "head" in named else heads
        path = _path_lengths(skeleton)
        return _Body(
            skeleton=skeleton,
            feet=_legs(skeleton, is_foot, heads),
            head=heads[0] if heads else None,
            path=path,
            reach=_reach(skeleton, path),
        )

    @property
    def height(self) -> float:
        """Length along the bones from a foot to the top of the head; 0 if either is missing.

        The path goes through the joint where leg and spine meet, so that a root on the floor adds nothing to it.
        """
        if self.head is None or not self.feet:
            return 0.0
        spine = self.skeleton.chain(self.head)
        top = float(self.reach[self.skeleton.below(self.head)].max())
        heights = []
        for _, foot in self.feet:
            meeting = max(set(spine) & set(self.skeleton.chain(foot)))
            heights.append(top + float(self.reach[foot]) - 2.0 * float(self.path[meeting]))
        return max(heights)


def _hanging(skeleton: Skeleton, motion: Motion | None) -> Array:
    """(3,) where the limbs of a body hang to in its rest pose, or in the first frame of a motion."""
    from understudy.correspondence.parts import StandingPose, hanging_direction

    main = main_bones(skeleton)
    places = (
        main.skeleton.rest_world[0] if motion is None else _pose(main.of_motion(motion), np.zeros(1, int)).positions[0]
    )
    return hanging_direction(main.skeleton, StandingPose(positions=places, tips=places))


def _body_by_shape(body: _Body, motion: Motion | None, up: str) -> _Body:
    """A body with the legs and the head that its shape shows if it is a human's, given which way is up."""
    # Files whose joints have names do not load these modules.
    from understudy.correspondence.by_shape import find_plan, roles_of_plan

    turn = world_from_file(up)
    skeleton, rest, offsets = body.skeleton, body.skeleton.rest.copy(), body.skeleton.offsets.copy()
    rest[0], offsets[0] = multiply(turn, rest[0]), rotate(turn, offsets[0])
    upright = replace(skeleton, rest=rest, offsets=offsets)
    if motion is not None:
        rotations = motion.rotations.copy()
        rotations[:, 0] = multiply(turn, rotations[:, 0])
        motion = replace(motion, skeleton=upright, root=rotate(turn, motion.root), rotations=rotations)
    main = main_bones(upright)
    plan = find_plan(main.skeleton, None if motion is None else main.of_motion(motion))
    joints = {role: main.members[joint][0] for role, joint in roles_of_plan(plan).items()}
    if plan.kind != "biped" or not {"head", "left_foot", "right_foot"} <= joints.keys():
        return body
    legs = tuple((joints[f"{side}_upper_leg"], joints[f"{side}_foot"]) for side in ("left", "right"))
    return replace(body, feet=legs, head=joints["head"])


def _words(name: str) -> set[str]:
    """The words of a joint's name in lower case, without the namespace before a colon."""
    return {word.casefold() for word in _WORD.findall(name.rsplit(":", 1)[-1])}


def _legs(skeleton: Skeleton, is_foot: Sequence[bool], heads: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The first joint and the foot joint of each leg: a leg begins where neither head nor another foot hangs.

    Twist bones, helpers and fingers of a leg do not matter.
    """
    # If a leg has an ankle, a foot and a toe, the first of them ends the leg: toes point forward.
    feet = [j for j in np.flatnonzero(is_foot).tolist() if not any(is_foot[i] for i in skeleton.chain(j)[:-1])]
    sides = {foot: side(skeleton.names[foot]) or foot for foot in feet}
    legs: dict[int, int] = {}
    for foot in feet:
        others = {joint for joint in feet if sides[joint] != sides[foot]} | set(heads)
        away = {joint for other in others for joint in skeleton.chain(other)}
        top = next((joint for joint in skeleton.chain(foot)[1:] if joint not in away), foot)
        if top != foot:
            legs.setdefault(top, foot)
    return tuple(legs.items())


def _path_lengths(skeleton: Skeleton) -> Array:
    path, lengths = np.zeros(skeleton.num_joints), skeleton.lengths
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        path[joint] = path[parent] + lengths[joint]
    return path


def _reach(skeleton: Skeleton, path: Array) -> Array:
    farthest = path.copy()
    for end in skeleton.ends:
        joint = skeleton.index[end.joint]
        farthest[joint] = max(farthest[joint], path[joint] + float(np.linalg.norm(end.offset)))
    return farthest


def _sample_positions(skeleton: Skeleton, motion: Motion | None) -> tuple[Array, Array]:
    """World positions of joints (S, J, 3) and end points (S, E, 3) at frames spread over the motion."""
    posed = rest_motion(skeleton) if motion is None else motion
    frames = distinct(np.linspace(0, posed.num_frames - 1, NUM_SAMPLED_FRAMES).astype(int))
    pose = _pose(posed, frames)
    return pose.positions, pose.ends()


def _pose(motion: Motion, frames: np.ndarray) -> Pose:
    offsets = None if motion.offsets is None else motion.offsets[frames]
    positions, rotations = forward(motion.skeleton, motion.root[frames], motion.rotations[frames], offsets)
    return Pose(skeleton=motion.skeleton, positions=positions, rotations=rotations)


def _guess_up(body: _Body, positions: Array, ends: Array, motion: Motion | None) -> tuple[str, str]:
    """The up axis and the reasons: from legs and head, or from ends that stand on a floor if no foot is named."""
    count = len(positions)
    source = "the rest pose" if motion is None else f"{count} frames" if count > 1 else "the one frame"
    size = max(float(np.ptp(positions[0], axis=0).max()), 1e-300)
    rise, support, reasons = np.zeros(3), np.zeros(3), list[str]()
    if body.feet:
        rise, reasons = _rise(body, positions)
        standing = _rest_rise(body) if motion is not None else None
        if motion is not None and standing is not None and _axis(standing) != _axis(rise):
            sits = _trunk_stands(body, positions, standing)
            evidence = 0.0 if sits else _floor_evidence(body, positions, motion, (rise, standing), size)
            rise = evidence * rise + 1.5 * (1.0 - evidence) * standing
            reasons.append(f"the rest pose stands along {_axis(standing)}")
            if sits:
                reasons.append("the trunk stays upright along it, as of who sits")
            elif evidence < 1.0:
                reasons.append("the motion shows no floor")
    else:
        enough = ends.shape[1] >= MIN_STANDING_ENDS and body.skeleton.num_joints >= MIN_BODY_JOINTS
        standing = _standing_score(positions, ends, size) if enough else np.zeros(3)
        rise = 0.5 * standing
        if np.abs(standing).max() > 0.2:
            reasons.append(f"no joint is named as a foot, but ends stand on one level along {_axis(standing)}")
        else:
            reasons.append("no joint is named as a foot, and most files have Y up")
        if motion is not None and enough and motion.num_frames >= MIN_FLOOR_FRAMES:
            stood = _standing_evidence(motion, size)
            rise, support = rise + stood[:3] - stood[3:], stood[:3] + stood[3:]
            reasons.append(f"it stands or steps along {UP_AXES[int(np.argmax(stood))]}")
    travel = np.ptp(positions[:, 0], axis=0) / size
    far = np.clip(travel - MAX_RISE_SIZES, 0.0, 2.0) * (body.skeleton.num_joints >= MIN_BODY_JOINTS)
    if far.any():
        reasons.append(f"it travels along {UP_AXES[int(np.argmax(far))]}")
    scores = np.concatenate([support + rise - far, support - rise - far])
    if count >= MIN_FLOOR_FRAMES and body.skeleton.num_joints >= MIN_BODY_JOINTS:
        sway = np.concatenate([positions.min(axis=1).std(axis=0), positions.max(axis=1).std(axis=0)]) / size
        scores += 0.3 * (1.0 - np.minimum(10.0 * sway, 1.0))
        reasons.append(f"the lowest point is steadiest along {UP_AXES[int(np.argmin(sway))]}")
    scores = np.nan_to_num(scores, posinf=0.0, neginf=0.0) + _UP_PRIORS
    best, second = np.argsort(-scores, kind="stable")[:2]
    is_sure = not (body.feet or support.any()) or scores[best] - scores[second] > MAX_UNSURE_MARGIN
    unsure = "" if is_sure else f"; it may also be {UP_AXES[second]}"
    return UP_AXES[best], f"{UP_AXES[best]} is up: {', '.join(reasons)} (from {source}){unsure}"


def _rise(body: _Body, positions: Array) -> tuple[Array, list[str]]:
    """(3,) the mean direction from the feet to hips and head in poses (S, J, 3), and reasons."""
    tops, feet = (np.array(side) for side in zip(*body.feet, strict=True))
    legs = positions[:, tops] - positions[:, feet]
    rise = legs.mean(axis=(0, 1)) / max(np.linalg.norm(legs, axis=-1).mean(), 1e-300)
    reasons = [f"legs hang down along {_axis(rise)}"]
    if body.head is not None:
        above = positions[:, body.head] - positions[:, feet].mean(axis=1)
        head_rise = above.mean(axis=0) / max(np.linalg.norm(above, axis=-1).mean(), 1e-300)
        rise = rise + 0.5 * head_rise
        reasons.append(f"the head is above the feet along {_axis(head_rise)}")
    return rise, reasons


def _rest_rise(body: _Body) -> Array | None:
    """(3,) the axis along which a body with feet and a head stands in its rest pose, or None."""
    if body.head is None:
        return None
    positions = _sample_positions(body.skeleton, None)[0][0]
    tops, feet = (np.array(side) for side in zip(*body.feet, strict=True))
    # The legs together: those of a body with wide hips, whose joints lie in the middle, point to the sides.
    middle = positions[tops].mean(axis=0)
    lines = [middle - positions[feet].mean(axis=0), positions[body.head] - middle]
    directions = np.array([line / max(np.linalg.norm(line), 1e-300) for line in lines])
    axis = int(np.argmax(np.abs(directions.sum(axis=0))))
    along = np.zeros(3)
    along[axis] = np.sign(directions[0, axis])
    return along if float((directions @ along).min()) > MIN_UPRIGHT_COSINE else None


def _trunk_stands(body: _Body, positions: Array, direction: Array) -> bool:
    """Whether the trunk stays along a direction (3,) all through poses (S, J, 3); legs may point anywhere."""
    tops = [top for top, _ in body.feet]
    trunk = positions[:, body.head] - positions[:, tops].mean(axis=1)
    cosines = (trunk @ direction) / np.maximum(np.linalg.norm(trunk, axis=-1), 1e-300)
    return float(np.median(cosines)) > MIN_SITTING_COSINE


def _floor_evidence(body: _Body, positions: Array, motion: Motion, rises: tuple[Array, Array], size: float) -> float:
    """How clearly a motion shows a floor below the first of two directions, and not below the second, 0 to 1: by a
    steady lowest point or a foot that stands. The feet of who lies are slow, too.

    A few frames show neither; there, the body counts as far as it stays upright.
    """
    rise = rises[0]
    if motion.num_frames < MIN_FLOOR_FRAMES:
        upright = float(np.linalg.norm(rise)) / (1.0 if body.head is None else 1.5)
        return min(max(2.0 * upright - 1.0, 0.0), 1.0)
    sways = []
    for direction in rises:
        up = UP_AXES.index(_axis(direction))
        lowest = positions[:, :, up].min(axis=1) if up < 3 else positions[:, :, up - 3].max(axis=1)
        sways.append(float(lowest.std()))
    if sways[0] < MAX_FLOOR_SWAY * size:
        return 1.0
    if sways[0] > sways[1]:
        return 0.0
    frames = distinct(np.linspace(0, motion.num_frames - 2, NUM_SAMPLED_FRAMES).astype(int))
    feet = [foot for _, foot in body.feet]
    here, there = (_pose(motion, frames + step).positions[:, feet] for step in (0, 1))
    speeds = np.linalg.norm(there - here, axis=-1).min(axis=1) * motion.fps
    return min(float(np.mean(speeds < MAX_STANDING_SPEED * size)) / MIN_GROUNDED_SHARE, 1.0)


def _standing_evidence(motion: Motion, size: float) -> Array:
    """(6,) for each up axis, how clearly a body of any kind stands: tall, and on a point that does not move."""
    frames = distinct(np.linspace(0, motion.num_frames - 2, NUM_SAMPLED_FRAMES).astype(int))
    poses = (_pose(motion, frames), _pose(motion, frames + 1))
    here, there = (np.concatenate([pose.positions, pose.ends()], axis=1) for pose in poses)
    speeds = np.linalg.norm(there - here, axis=-1) * motion.fps
    tall = np.ptp(here, axis=1).mean(axis=0) / size
    if np.max(tall) < MIN_TALL_RATIO * np.sort(tall)[1]:
        # A body on many legs is as long or as wide as it is tall.
        tall = np.zeros(3)
    lowest = [np.argmin(sign * here, axis=1) for sign in (1.0, -1.0)]
    slow = np.array([speeds[np.arange(len(frames))[:, None], joints] for joints in lowest])
    still = np.mean(slow < MAX_STANDING_SPEED * size, axis=1)
    # Feet move less than the head, even of who stands still.
    mean = slow.mean(axis=1)
    calmer = mean[::-1] / np.maximum(mean.sum(axis=0), 1e-300)
    return np.concatenate(still + calmer + tall)


def _standing_score(positions: Array, ends: Array, size: float) -> Array:
    """(3,) for each axis, the share of end points at the body's lowest level minus the share at its highest."""
    points = np.concatenate([positions, ends], axis=1)
    lowest = ends - points.min(axis=1, keepdims=True) < 0.02 * size
    highest = points.max(axis=1, keepdims=True) - ends < 0.02 * size
    return lowest.mean(axis=(0, 1)) - highest.mean(axis=(0, 1))


def _axis(direction: Array) -> str:
    axis = int(np.argmax(np.abs(np.nan_to_num(direction))))
    return f"{'-' if direction[axis] < 0.0 else ''}{UP_AXES[axis]}"


def _guess_unit(body: _Body, positions: Array) -> tuple[float, str]:
    """The unit that gives the body a likely size, and the reason."""
    sides = np.ptp(positions, axis=1)
    size = float(median(sides.max(axis=1)))
    if not np.isfinite(size) or size <= 0.0:
        return UNITS["cm"], "cm: the body has no size to judge by, and most files are in centimetres"
    if body.skeleton.num_joints < MIN_BODY_JOINTS:
        name = "m" if size < 5.0 else "cm"
        return UNITS[name], f"{name}: {body.skeleton.num_joints} joints of size {size:.3g} are too few to judge by"
    height = body.height
    if height > 0.0 and np.isfinite(height):
        if 18.0 < height < 40.0 and {name.casefold() for name in body.skeleton.names} >= _CMU_JOINTS:
            unit = UNITS["cmu"]
            return unit, (
                f"cmu: joints are named as in the CMU database and the body measures {height:.3g} from foot to head "
                f"along its bones, {height * unit:.3g} m in that database's unit"
            )
        size, likely, what = height, HUMAN_HEIGHT_METRES, "from foot to head along its bones"
    else:
        likely, what = CREATURE_SIZE_METRES, "along its longest side"
    costs = {unit: abs(np.log(size * UNITS[unit] / likely)) + cost for unit, cost in _UNIT_PENALTIES.items()}
    name, other = sorted(costs, key=lambda unit: costs[unit])[:2]
    reason = f"{name}: the body measures {size:.3g} {what}, which makes {size * UNITS[name]:.3g} m"
    if costs[other] - costs[name] < MAX_UNSURE_MARGIN:
        reason += f"; it may also be {other}, which makes {size * UNITS[other]:.3g} m"
    return UNITS[name], reason


REFERENCE_LEAP_RATIO, NUM_FRAMES_AFTER_LEAP = 8.0, 5
"""Ratio of the step from a reference pose to the steps between that many frames after it at which it is a leap."""


def find_reference_frame(motion: Motion) -> int | None:
    """The index of a frame that shows a reference pose and does not belong to the movement, or None.

    CMU's BVH files begin with one: most joints are in the rest pose, and the pose changes far more from it to the next
    frame than between the frames after it. A leap later on, as of a somersault or a fault of the capture, does not
    matter.
    """
    if motion.num_frames < 4 or motion.skeleton.num_joints < 2:
        return None
    early = motion.rotations[: 4 * NUM_SAMPLED_FRAMES]
    steps = angle_between(early[:-1], early[1:]).mean(axis=1)
    at_rest = float(median(angle_between(early[0], motion.skeleton.rest)[1:])) < np.radians(1.0)
    later = min(1.2 * steps[1:].max(), REFERENCE_LEAP_RATIO * steps[1 : 1 + NUM_FRAMES_AFTER_LEAP].max())
    leaps = steps[0] > np.radians(3.0) and steps[0] > later
    return 0 if leaps and at_rest else None


def count_still_tail(motion: Motion) -> int:
    """The number of frames at the end that are copies of the frame before them."""
    same = np.all(motion.root == motion.root[-1], axis=1)
    changed = np.flatnonzero(~same)
    first = int(changed[-1]) + 1 if len(changed) else 0
    poses = motion.rotations[first:].reshape(motion.num_frames - first, -1)
    changed = np.flatnonzero(np.any(poses != poses[-1], axis=1))
    return len(poses) - 1 - (int(changed[-1]) + 1 if len(changed) else 0)
