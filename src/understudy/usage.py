"""How a motion uses the joints of its body: which it never turns, and which it only ever bends about one axis."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from understudy.geometry.quaternion import Array, conjugate, log, multiply
from understudy.motion import Motion
from understudy.roles import roles
from understudy.skeleton import JointKind, Skeleton

SEEN = 100
"""Frames of a motion that are looked at."""
STILL = 1e-6
"""Radians a joint turns in its motion below which it is part of the build, not a joint that moves the body."""
BENDING = ("lower_leg", "lower_arm")
"""The parts whose joints bend about one axis by nature."""
ONE_AXIS = 0.02
"""A joint whose turning about other axes stays below this share of its main one is used as a hinge."""


def still_joints(motion: Motion) -> set[int]:
    """Joints, the root apart, that do not turn in a motion while others do: they join parts of the build."""
    some = motion.rotations[:: max(motion.num_frames // SEEN, 1), 1:]
    same_way = np.copysign(1.0, np.einsum("fji,ji->fj", some, some[0]))[..., None]
    # The quaternions of a small turn apart are half its angle apart.
    # Frames first: numpy finds the greatest over two axes at once more slowly.
    turned = 2.0 * np.abs(same_way * some - some[0]).max(axis=0).max(axis=-1)
    still = {int(j) + 1 for j in np.flatnonzero(turned < STILL)}
    return still if len(still) < motion.skeleton.num_joints - 1 else set()


def as_used(motion: Motion, joints: set[int]) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and all above them, without limits, and which joints (N,) of the whole they are.

    Knees and elbows that the motion only ever turns about one axis are taken as hinges: files without joint kinds (BVH)
    hold them as balls; the motion itself tells that they are not.
    """
    whole = motion.skeleton
    found = roles(whole)
    bending = {found[f"{s}_{part}"] for s in ("left", "right") for part in BENDING if f"{s}_{part}" in found}
    needed = {above for joint in joints for above in whole.chain(joint)}
    hinges = {j: _only_axis(motion, j) for j in sorted(bending & needed) if whole.kinds[j] is JointKind.BALL}
    named = tuple((joint, *axis.tolist()) for joint, axis in hinges.items() if axis is not None)
    return _with_hinges(whole, frozenset(joints), named)


@lru_cache(maxsize=64)
def _with_hinges(
    whole: Skeleton, joints: frozenset[int], hinges: tuple[tuple[int, float, float, float], ...]
) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and all above them, without limits, some of them hinges (joint, axis); and which
    joints (N,) of the whole they are."""
    small, kept = whole.pruned(joints)
    kinds, axes = list(small.kinds), small.axes.copy()
    for joint, *axis in hinges:
        number = int(np.searchsorted(kept, joint))
        kinds[number] = JointKind.HINGE
        axes[number] = 0.0
        axes[number, 0] = axis
    return replace(small, kinds=tuple(kinds), axes=axes, limits=np.empty((0, 3, 2))), kept


def _only_axis(motion: Motion, joint: int) -> Array | None:
    """(3,) the axis that a joint only ever turns about; None if there is no such one."""
    some = motion.rotations[:: max(motion.num_frames // SEEN, 1), joint]
    turns = log(multiply(conjugate(some[:1]), some))
    # What the turns' singular values would say, of a matrix of three rows.
    squares, directions = np.linalg.eigh(turns.T @ turns)
    first = directions[:, 2]
    sizes = np.sqrt(np.maximum(squares[::-1], 0.0))
    if len(turns) < 2 or np.ptp(turns @ first) <= 0.1 or sizes[1] >= ONE_AXIS * sizes[0]:
        return None
    return np.asarray(first)
