"""Joint limits: those of the skeleton, or human ranges for human bodies without limits.

Human ranges are relative to standing upright with the arms hanging. They are widened where the motion itself goes
farther, so that no capture is rejected.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from understudy.constraints.joint_range import JointRange
from understudy.correspondence.normal_ranges import BendingJoint, NormalRanges
from understudy.figure.anatomy import HINGES
from understudy.figure.measures import chain_length, is_humanoid
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

WIDENED_MARGIN_RADIANS = np.radians(3.0)
"""Margin of a widened range beyond the motion."""

WIDENED = "the motion itself goes there"
"""Part of the note on every widened range, by which notes on them can be told from others."""


def joint_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """The skeleton's limits, or human ranges for a human body without limits (`human_limits`); and notes about them."""
    ranges = skeleton_limits(motion.skeleton, actor=actor)
    if ranges:
        return [limit for limit in ranges if only is None or limit.joints()[0].point in only], []
    return human_limits(motion, actor=actor, only=only, widen=widen)


@lru_cache(maxsize=64)
def skeleton_limits(skeleton: Skeleton, *, actor: str = "") -> tuple[JointRange, ...]:
    """The ranges in a skeleton; joints without a finite range are left out."""
    ranges = []
    for name, kind, limits in zip(skeleton.names, skeleton.kinds, skeleton.limits, strict=True):
        if np.any(np.isfinite(limits[: NUM_AXES[kind]])):
            ranges.append(JointRange.of(skeleton, name, actor=actor))
    return tuple(ranges)


def human_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """Normal human ranges for the joints of a body, widened to its motion.

    Args:
        motion: A motion of the body.
        actor: The name of the actor.
        only: Names of the wanted joints; all if not given.
        widen: Whether ranges are widened where the motion goes farther.

    Returns:
        The ranges, and a note for each that was widened or is missing.
    """
    if not is_humanoid(motion.skeleton):
        return [], ["The body is not a human one: no joint limits are known for it."]
    normal_ranges = NormalRanges.find(motion, actor)
    if normal_ranges is None:
        return [], ["The facing of the body is unclear: no joint limits are given."]
    ranges: list[JointRange] = []
    notes: list[str] = []
    for name, ball in normal_ranges.ball_ranges.items():
        if only is not None and name not in only:
            continue
        if ball is None:
            notes.append(f"`{name}` has no bone to measure by: its range is left open.")
        else:
            ranges.append(ball)
    joints = roles(motion.skeleton)
    bending: list[BendingJoint] = []
    for upper, lower, end in (("upper_leg", "lower_leg", "foot"), ("upper_arm", "lower_arm", "hand")):
        for side in ("left", "right"):
            joint, far = joints[f"{side}_{lower}"], joints.get(f"{side}_{end}", -1)
            included = only is None or motion.skeleton.names[joint] in only
            has_bone = chain_length(motion.skeleton, joints[f"{side}_{upper}"], joint) > 1e-9
            if included and not has_bone:
                notes.append(f"`{motion.skeleton.names[joint]}` has no bone to measure by: its range is left open.")
            elif included and motion.skeleton.kinds[joint] is not JointKind.FIXED:
                bending.append(
                    BendingJoint(joint, joints[f"{side}_{upper}"], far, end == "foot", *np.radians(HINGES[lower]))
                )
    ranges += normal_ranges.hinge_ranges(bending, motion.rotations) if bending else []
    if not widen:
        return ranges, notes
    rotations = [motion.rotations[:, motion.skeleton.index[str(normal.joints()[0].point)]] for normal in ranges]
    widened = JointRange.widened_all(ranges, rotations, WIDENED_MARGIN_RADIANS)
    for normal, wider in zip(ranges, widened, strict=True):
        notes += _widening_notes(str(normal.joints()[0].point), normal, wider) if wider is not normal else []
    return widened, notes


def _widening_notes(name: str, normal: JointRange, wider: JointRange) -> list[str]:
    """A note for each way in which a range was widened."""
    notes = []
    for what, field in (("bending", "ranges"), ("turning", "twist"), ("leaning", "swing")):
        before, after = getattr(normal, field), getattr(wider, field)
        more = 0.0 if before is None else float(np.degrees(np.abs(after - before).max()))
        if more > 0.0:
            notes.append(f"`{name}`: the normal range of {what} is widened by {more:.0f} degrees: {WIDENED}.")
    return notes
