"""How a motion uses the joints of its body: which it only ever bends about one axis."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from understudy.geometry.quaternion import Array, conjugate, log, multiply
from understudy.motion import SEEN, Motion
from understudy.roles import roles
from understudy.skeleton import JointKind, Skeleton

BENDING = ("lower_leg", "lower_arm")
"""The parts whose joints bend about one axis by nature."""
ONE_AXIS = 0.02
"""A joint whose turning about other axes stays below this share of its main one is used as a hinge."""
BENT = 0.1
"""Radians that such a joint turns by at least."""


def as_used(motion: Motion, joints: set[int]) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and all above them, without limits, and which joints (N,) of the whole they are.

    Knees and elbows that the motion only ever turns about one axis are taken as hinges: files without joint kinds (BVH)
    hold them as balls; the motion itself tells that they are not.
    """
    whole = motion.skeleton
    found = roles(whole)
    bending = {found[f"{s}_{part}"] for s in ("left", "right") for part in BENDING if f"{s}_{part}" in found}
    needed = {above for joint in joints for above in whole.chain(joint)}
    balls = [j for j in sorted(bending & needed) if whole.kinds[j] is JointKind.BALL]
    named = tuple((j, *axis.tolist()) for j, axis in zip(balls, _only_axes(motion, balls)) if axis is not None)
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


def _only_axes(motion: Motion, joints: list[int]) -> list[Array | None]:
    """(3,) the axis that each of some joints only ever turns about; None if there is no such one."""
    some = motion.rotations[:: max(motion.num_frames // SEEN, 1), joints].swapaxes(0, 1)
    turns = log(multiply(conjugate(some[:, :1]), some))
    # What the turns' singular values would say, of a matrix of three rows.
    squares, directions = np.linalg.eigh(turns.swapaxes(1, 2) @ turns)
    first = directions[:, :, 2]
    about = np.einsum("jfi,ji->jf", turns, first)
    single = squares[:, 1] < ONE_AXIS**2 * squares[:, 2]
    single &= about.max(axis=1) - about.min(axis=1) > BENT
    return [axis if alone else None for axis, alone in zip(first, single, strict=True)]
