"""Guesses what a file does not say: its up axis, its unit, and which frames do not belong to the movement.

The functions work on a skeleton and motion in the file's unit and axes. They use the poses of the motion, because a
rest pose may be meaningless (all bones along one axis, or lying down).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from understudy.base.quaternion import Array, angle_between
from understudy.figure.kinematics import Pose, forward
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import UNITS, UP_AXES, name_unit

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

_UP_PRIORS = np.array([-0.2, 0.2, 0.0])
"""Initial scores of X, Y and Z: nearly all files have Y up, many have Z, hardly any X."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

_FOOT_WORDS = frozenset({"foot", "feet", "ankle", "toe", "toes", "paw", "hoof"})

_HEAD_WORDS = frozenset({"head"})

_CMU_JOINTS = frozenset({"lhipjoint", "rhipjoint"})


@dataclass(frozen=True, kw_only=True)
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
        if up is None:
            axis, reason = _guess_up(body, positions, ends, motion is not None)
            result = replace(result, up=axis, up_reason=reason)
        if unit is None:
            metres, reason = _guess_unit(body, np.concatenate([positions, ends], axis=1))
            result = replace(result, unit=metres, unit_reason=reason)
    return result


@dataclass(frozen=True, eq=False, kw_only=True)
class _Body:
    """The parts of a skeleton that show its up direction, found by joint names and the tree."""

    skeleton: Skeleton
    feet: tuple[tuple[int, int], ...]
    """The first joint and the foot joint of each leg."""
    head: int | None
    reach: Array
    """(J,) length along the bones from the root to the farthest end point of each joint."""

    @staticmethod
    def of(skeleton: Skeleton) -> _Body:
        words = [_words(name) for name in skeleton.names]
        tops = _chain_tops(skeleton)
        feet: dict[int, int] = {}
        for joint in range(skeleton.num_joints):
            # If a leg has an ankle, a foot and a toe, the first of them ends the leg: toes point forward.
            if words[joint] & _FOOT_WORDS and tops[joint] != joint:
                feet.setdefault(tops[joint], joint)
        heads = [joint for joint in range(skeleton.num_joints) if words[joint] & _HEAD_WORDS]
        return _Body(
            skeleton=skeleton,
            feet=tuple(feet.items()),
            head=heads[0] if heads else None,
            reach=_reach(skeleton),
        )

    @property
    def height(self) -> float:
        """Length along the bones from the foot to the top of the head; 0 if either is missing."""
        if self.head is None or not self.feet:
            return 0.0
        head = self.reach[self.skeleton.below(self.head)].max()
        foot = max(self.reach[foot] for _, foot in self.feet)
        return float(head + foot)


def _words(name: str) -> set[str]:
    """The words of a joint's name in lower case, without the namespace before a colon."""
    return {word.casefold() for word in _WORD.findall(name.rsplit(":", 1)[-1])}


def _chain_tops(skeleton: Skeleton) -> list[int]:
    """The first joint of each joint's chain. A chain starts below a joint where the tree branches."""
    tops = list(range(skeleton.num_joints))
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        if parent > 0 and len(skeleton.children[parent]) == 1:
            tops[joint] = tops[parent]
    return tops


def _reach(skeleton: Skeleton) -> Array:
    reach = np.zeros(skeleton.num_joints)
    lengths = skeleton.lengths
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        reach[joint] = reach[parent] + lengths[joint]
    farthest = reach.copy()
    for end in skeleton.ends:
        joint = skeleton.index[end.joint]
        farthest[joint] = max(farthest[joint], reach[joint] + float(np.linalg.norm(end.offset)))
    return farthest


def _sample_positions(skeleton: Skeleton, motion: Motion | None) -> tuple[Array, Array]:
    """World positions of joints (S, J, 3) and end points (S, E, 3) at frames spread over the motion."""
    posed = rest_motion(skeleton) if motion is None else motion
    frames = np.unique(np.linspace(0, posed.num_frames - 1, NUM_SAMPLED_FRAMES).astype(int))
    offsets = None if posed.offsets is None else posed.offsets[frames]
    positions, rotations = forward(skeleton, posed.root[frames], posed.rotations[frames], offsets)
    return positions, Pose(skeleton=skeleton, positions=positions, rotations=rotations).ends()


def _guess_up(body: _Body, positions: Array, ends: Array, posed: bool) -> tuple[str, str]:
    """The up axis and the reasons: from legs and head, or from ends that stand on a floor if no foot is named."""
    source = "the rest pose" if not posed else f"{len(positions)} frames" if len(positions) > 1 else "the one frame"
    scores, reasons = np.zeros(3), []
    if body.feet:
        tops, feet = (np.array(side) for side in zip(*body.feet, strict=True))
        legs = positions[:, tops] - positions[:, feet]
        rise = legs.mean(axis=(0, 1)) / max(np.linalg.norm(legs, axis=-1).mean(), 1e-300)
        scores += rise
        reasons.append(f"legs hang down along {_axis(rise)}")
        if body.head is not None:
            above = positions[:, body.head] - positions[:, feet].mean(axis=1)
            rise = above.mean(axis=0) / max(np.linalg.norm(above, axis=-1).mean(), 1e-300)
            scores += 0.5 * rise
            reasons.append(f"the head is above the feet along {_axis(rise)}")
    size = max(float(np.ptp(positions[0], axis=0).max()), 1e-300)
    if not body.feet:
        enough = ends.shape[1] >= MIN_STANDING_ENDS and body.skeleton.num_joints >= MIN_BODY_JOINTS
        standing = _standing_score(positions, ends, size) if enough else np.zeros(3)
        scores += 0.5 * standing
        if standing.max() > 0.2:
            reasons.append(f"no joint is named as a foot, but ends stand on one level along {_axis(standing)}")
        else:
            reasons.append("no joint is named as a foot, and most files have Y up")
    if len(positions) >= MIN_FLOOR_FRAMES and body.skeleton.num_joints >= MIN_BODY_JOINTS:
        sway = positions.min(axis=1).std(axis=0) / size
        scores += 0.3 * (1.0 - np.minimum(10.0 * sway, 1.0))
        reasons.append(f"the lowest point is steadiest along {UP_AXES[int(np.argmin(sway))]}")
    scores = np.nan_to_num(scores, posinf=0.0, neginf=0.0) + _UP_PRIORS
    up = UP_AXES[int(np.argmax(scores))]
    return up, f"{up} is up: {', '.join(reasons)} (from {source})"


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
    size = float(np.median(sides.max(axis=1)))
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
    name = min(_UNIT_PENALTIES, key=lambda unit: abs(np.log(size * UNITS[unit] / likely)) + _UNIT_PENALTIES[unit])
    return UNITS[name], f"{name}: the body measures {size:.3g} {what}, which makes {size * UNITS[name]:.3g} m"


def find_reference_frame(motion: Motion) -> int | None:
    """The index of a frame that shows a reference pose and does not belong to the movement, or None.

    CMU's BVH files begin with one: most joints are in the rest pose, and the pose changes far more from it to the next
    frame than between any other frames.
    """
    if motion.num_frames < 4 or motion.skeleton.num_joints < 2:
        return None
    early = motion.rotations[: 4 * NUM_SAMPLED_FRAMES]
    steps = angle_between(early[:-1], early[1:]).mean(axis=1)
    at_rest = float(np.median(angle_between(early[0], motion.skeleton.rest)[1:])) < np.radians(1.0)
    leaps = steps[0] > np.radians(3.0) and steps[0] > 1.2 * steps[1:].max()
    return 0 if leaps and at_rest else None


def count_still_tail(motion: Motion) -> int:
    """The number of frames at the end that are copies of the frame before them."""
    same = np.all(motion.root == motion.root[-1], axis=1)
    changed = np.flatnonzero(~same)
    first = int(changed[-1]) + 1 if len(changed) else 0
    poses = motion.rotations[first:].reshape(motion.num_frames - first, -1)
    changed = np.flatnonzero(np.any(poses != poses[-1], axis=1))
    return len(poses) - 1 - (int(changed[-1]) + 1 if len(changed) else 0)
