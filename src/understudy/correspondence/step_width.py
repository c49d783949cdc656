"""The width of steps follows the width of the hips.

Legs that point as the source's end as far apart as the source's feet only if the hips are as wide, in lengths of legs.
On narrower hips the legs of a walker would cross.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import Array, between, conjugate, multiply
from understudy.base.records import record
from understudy.figure.kinematics import paths_of, pose_of
from understudy.figure.measures import chain_length, is_humanoid
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton

ROUNDING = 0.1
"""The part of the hips' width over which a change of the legs sets in: feet that pass each other keep a smooth path."""

MIN_HIP_SHARE, MAX_HIP_SHARE, MIN_HIP_CHANGE = 0.02, 0.6, 1e-3
"""Width of the hips, in legs, below which legs have no sides; above which it is no human's, as on a human of the
proportions of a can; and the share by which it has to differ."""


MIN_BONE_SHARE = 0.1
"""Length of a leg's bone, as a share of the longer one, below which it is none."""


@record
class Legs:
    """Two legs in motion, left and right."""

    hips: Array
    """(F, 2, 3) metres: where they begin."""
    feet: Array
    """(F, 2, 3) metres: where they end."""
    length: float
    """Metres: the mean of their lengths."""

    @property
    def width(self) -> float:
        """The distance between the hip joints, in legs."""
        return float(np.median(np.linalg.norm(self.hips[:, 0] - self.hips[:, 1], axis=-1))) / self.length

    @property
    def sideways(self) -> Array:
        """(F, 3) unit directions from the right hip to the left one."""
        across = self.hips[:, 0] - self.hips[:, 1]
        unit: Array = across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-12)
        return unit

    @property
    def step_width(self) -> Array:
        """(F,) how far the left foot is to the left of the right one, along the line of the hips, in legs."""
        between_feet = self.feet[:, 0] - self.feet[:, 1]
        width: Array = np.sum(between_feet * self.sideways, axis=-1) / self.length
        return width


def leg_swings(source: Legs, target: Legs) -> tuple[Array, Array] | None:
    """(F, 4) world rotations of the target's left and right leg that bring its feet as far apart as its hips ask for.

    Feet below the hips stay below the hips, and feet on one line stay on one line. Legs that are spread wider than the
    hips keep their directions. None if hips are as wide as the source's, too narrow to tell, or too wide for a human.
    """
    widths = source.width, target.width
    if min(widths) < MIN_HIP_SHARE or max(widths) > MAX_HIP_SHARE or np.ptp(widths) < MIN_HIP_CHANGE * max(widths):
        return None
    aside = 0.5 * target.length * step_width_change(source.step_width, source.width, target.width)
    legs = target.feet - target.hips
    left, right = (
        between(legs[:, side], legs[:, side] + sign * aside[:, None] * target.sideways)
        for side, sign in enumerate((1.0, -1.0))
    )
    return left, right


def with_own_step_width(source: Motion, start: Motion) -> Motion:
    """The motion of a human on another human body of the same structure, with legs that step as wide as its hips ask
    for. Hips and feet that are no balls stay as they are."""
    own, other = human_legs(source), human_legs(start)
    swings = None if own is None or other is None else leg_swings(own, other)
    if swings is None:
        return start
    skeleton, rotations = start.skeleton, start.rotations.copy()
    for hip, foot, swing in zip(leg_ends(skeleton, 0), leg_ends(skeleton, 1), swings, strict=True):
        if any(skeleton.kinds[joint] is not JointKind.BALL for joint in (hip, foot)) or skeleton.parents[hip] < 0:
            return start
        joints = [int(skeleton.parents[hip]), int(skeleton.parents[foot]), foot]
        pose = pose_of(start, joints)
        above, shin, end = (pose.rotations[:, pose.skeleton.index[skeleton.names[joint]]] for joint in joints)
        swing_above = multiply(conjugate(above), multiply(swing, above))
        rotations[:, hip] = multiply(swing_above, rotations[:, hip])
        rotations[:, foot] = multiply(conjugate(multiply(swing, shin)), end)
    return start.derived(rotations=rotations)


LEG_PARTS = ("upper_leg", "foot", "lower_leg")
"""Where a leg begins, ends and bends."""


def leg_ends(skeleton: Skeleton, end: int) -> list[int]:
    """The joints at which the left and the right leg begin (0), end (1) or bend (2), as far as names or shapes tell."""
    part, joint_of = LEG_PARTS[end], roles(skeleton)
    return [joint_of[f"{side}_{part}"] for side in ("left", "right") if f"{side}_{part}" in joint_of]


def has_human_legs(skeleton: Skeleton) -> bool:
    """Whether a body is a human whose legs have two bones each: one without a thigh steps as it can."""
    parts = [leg_ends(skeleton, end) for end in range(len(LEG_PARTS))]
    if any(len(joints) != 2 for joints in parts) or not is_humanoid(skeleton):
        return False
    bones = [
        chain_length(skeleton, top, bottom)
        for hip, foot, knee in zip(*parts, strict=True)
        for top, bottom in ((hip, knee), (knee, foot))
    ]
    return min(bones) > MIN_BONE_SHARE * max(bones)


def human_legs(motion: Motion) -> Legs | None:
    """The legs of a human in motion; None for other bodies."""
    skeleton = motion.skeleton
    if not has_human_legs(skeleton):
        return None
    hips, feet = leg_ends(skeleton, 0), leg_ends(skeleton, 1)
    places = paths_of(motion, [*hips, *feet])
    return Legs(hips=places[:, :2], feet=places[:, 2:], length=mean_leg_length(skeleton, hips, feet))


def mean_leg_length(skeleton: Skeleton, hips: Sequence[int], feet: Sequence[int]) -> float:
    """Metres: the mean length of the legs, along their bones."""
    return float(np.mean([chain_length(skeleton, hip, foot) for hip, foot in zip(hips, feet, strict=True)]))


def step_width_change(step_width: Array, source_hips: float, target_hips: float) -> Array:
    """(F,) legs: how much wider the target steps than with legs that point as the source's.

    With such legs a step is wider by as much as the hips are. Where the source's feet are between being on one line and
    being as far apart as the hips, the target's are at the same share of its own hips' width.

    Args:
        step_width: (F,) how far apart the source's feet are, in legs.
        source_hips: The width of the source's hips, in legs.
        target_hips: The width of the target's hips, in its legs.
    """
    share = step_width / source_hips
    change: Array = (source_hips - target_hips) * (_soft_ramp(1.0 - share) - _soft_ramp(-share))
    return change


def _soft_ramp(values: Array) -> Array:
    """Zero for values far below zero, the values themselves far above, and a smooth curve between."""
    ramp: Array = 0.5 * (values + np.sqrt(values**2 + ROUNDING**2))
    return ramp


def leg_joints(skeleton: Skeleton, foot: int, other: int) -> list[int]:
    """The joints of a leg above its foot, and what else they carry: those that the other leg does not hang from."""
    shared = skeleton.above[other]
    return [
        joint
        for joint in range(skeleton.num_joints)
        if not skeleton.above[joint, foot] and np.any(skeleton.above[joint] & skeleton.above[foot] & ~shared)
    ]
