"""Limits of joints: a skeleton's own, or a human's for bodies that bring none.

Human ranges are counted from standing upright with the arms hanging. Where a motion itself goes farther, its own range
counts: nobody's capture is called impossible.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from understudy.constraints.joint_range import JointRange
from understudy.correspondence.neutral_pose import Bending, stance
from understudy.figure.anatomy import HINGES
from understudy.figure.measures import chain_length, is_humanoid
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

MARGIN = np.radians(3.0)
"""How much farther than the motion itself a widened range reaches."""


def joint_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """The skeleton's own limits, or a human's if it is one and brings none; and what there is to say about them.

    Args:
        motion: The body with a motion that it can do.
        actor: Whose joints they are.
        only: The joints asked for, by name; all if not given.
        widen: Whether what the motion does is taken for possible, however far it goes.
    """
    own = skeleton_limits(motion.skeleton, actor=actor)
    if own:
        return [limit for limit in own if only is None or limit.joints()[0].point in only], []
    return human_limits(motion, actor=actor, only=only, widen=widen)


@lru_cache(maxsize=64)
def skeleton_limits(skeleton: Skeleton, *, actor: str = "") -> tuple[JointRange, ...]:
    """The ranges that a skeleton gives its joints; joints without a finite one are left out."""
    found = []
    for name, kind, limits in zip(skeleton.names, skeleton.kinds, skeleton.limits, strict=True):
        if np.any(np.isfinite(limits[: NUM_AXES[kind]])):
            found.append(JointRange.of(skeleton, name, actor=actor))
    return tuple(found)


def human_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """Normal human ranges for the joints of a body, wide enough for its own motion.

    Args:
        motion: The body with a motion that it can do.
        actor: Whose joints they are.
        only: The joints asked for, by name; all if not given.
        widen: Whether ranges are widened where the motion goes farther.

    Returns:
        The ranges, and a sentence for each that was widened or could not be given.
    """
    if not is_humanoid(motion.skeleton):
        return [], ["The body is not a human one: no joint limits are known for it."]
    neutral = stance(motion, actor)
    if neutral is None:
        return [], ["Which way the body faces cannot be told: no joint limits are given."]
    ranges: list[JointRange] = []
    said: list[str] = []
    for name, ball in neutral.balls.items():
        if only is not None and name not in only:
            continue
        if ball is None:
            said.append(f"`{name}` has no bone to measure by: its range is left open.")
        else:
            ranges.append(ball)
    found = roles(motion.skeleton)
    bent: list[Bending] = []
    for upper, lower, end in (("upper_leg", "lower_leg", "foot"), ("upper_arm", "lower_arm", "hand")):
        for side in ("left", "right"):
            joint, far = found[f"{side}_{lower}"], found.get(f"{side}_{end}", -1)
            wanted = only is None or motion.skeleton.names[joint] in only
            whole = chain_length(motion.skeleton, found[f"{side}_{upper}"], joint) > 1e-9
            if wanted and not whole:
                said.append(f"`{motion.skeleton.names[joint]}` has no bone to measure by: its range is left open.")
            elif wanted and motion.skeleton.kinds[joint] is not JointKind.FIXED:
                bent.append(Bending(joint, found[f"{side}_{upper}"], far, end == "foot", *np.radians(HINGES[lower])))
    ranges += neutral.hinges(bent, motion.rotations) if bent else []
    if not widen:
        return ranges, said
    turned = [motion.rotations[:, motion.skeleton.index[str(each.joints()[0].point)]] for each in ranges]
    widened = JointRange.widened_all(ranges, turned, MARGIN)
    for each, wider in zip(ranges, widened, strict=True):
        said += _compared(str(each.joints()[0].point), each, wider) if wider is not each else []
    return widened, said


def _compared(name: str, normal: JointRange, wider: JointRange) -> list[str]:
    """A sentence for each way in which a range had to be widened."""
    said = []
    for what, field in (("bending", "ranges"), ("turning", "twist"), ("leaning", "swing")):
        before, after = getattr(normal, field), getattr(wider, field)
        more = 0.0 if before is None else float(np.degrees(np.abs(after - before).max()))
        if more > 0.0:
            said.append(
                f"`{name}`: the normal range of {what} is widened by {more:.0f} degrees: the motion itself goes there."
            )
    return said
