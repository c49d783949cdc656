"""Chains of hinges that turn together like one joint: a robot's hip of three motors against a human's ball.

The rotation that a chain is to have is shared out exactly: three axes, the second across both others, reach every
rotation as Euler angles do; two reach the nearest; limits are kept, at the least cost in orientation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.angles import SQUARE, joint_angle_curves
from understudy.geometry.quaternion import (
    Array,
    angle_between,
    conjugate,
    from_axis_angle,
    identity,
    multiply,
    rotate,
    unrotate,
)
from understudy.roles import stem
from understudy.skeleton import NUM_AXES, JointKind, Skeleton
from understudy.transfer.correspondence import Correspondence, is_chain

PARALLEL = 0.9
"""Cosine from which on two axes count as one line."""
MOST = 3
"""Axes that one rotation can be shared out over."""
SWEEPS = 200
SETTLED = 1e-7
"""Radians of change in a sweep below which angles are found."""

FLIPPED = np.radians(110.0)
"""How far from what is wanted the nearest that several hinges can do may be before the wish itself is doubted."""
BESIDE = 2
"""Frames on either side of a flip that are doubted with it."""

_KINDS = {1: JointKind.HINGE, 2: JointKind.UNIVERSAL, 3: JointKind.BALL}


def hinge_groups(correspondence: Correspondence) -> dict[int, tuple[int, ...]]:
    """The target's joints that turn together, by the first of each group, from the body outwards.

    Hinges that follow each other and are one pair's, or one part's by their names (`waist_yaw`, `waist_roll`), make a
    group, of three axes at most; any other is a group by itself, and so is one that turns about the same line as
    another: a leg of several knees bends at each. Joints that turn any way are in none.
    """
    target = correspondence.target
    chains = {
        target.index[bone]: pair if is_chain(target, pair.target) else bone
        for pair in correspondence.pairs
        for bone in pair.target
    }
    first: dict[int, int] = {}
    found: dict[int, tuple[int, ...]] = {}
    for joint in sorted(chains):
        axes, parent = NUM_AXES[target.kinds[joint]], int(target.parents[joint])
        if axes in (0, MOST):
            continue
        group = found.get(first.get(parent, -1), ())
        part = stem(target.names[joint])
        same = bool(group) and (
            all(chains[joint] == chains[j] for j in group) or all(part == stem(target.names[j]) for j in group)
        )
        crossing = not any(
            abs(float(a @ b)) > PARALLEL for j in group for a in _axes(target, j) for b in _axes(target, joint)
        )
        if not (same and crossing) or sum(NUM_AXES[target.kinds[j]] for j in group) + axes > MOST:
            group = ()
        first[joint] = group[0] if group else joint
        found[first[joint]] = (*group, joint)
    return found


def _axes(skeleton: Skeleton, joint: int) -> Array:
    """(A, 3) the axes of a joint in the world, in the rest pose."""
    return rotate(skeleton.rest_world[1][joint], skeleton.axes[joint, : NUM_AXES[skeleton.kinds[joint]]])


def turn_hinges(
    skeleton: Skeleton, joints: Sequence[int], wanted: Array, *, inside: float = 0.0, limited: bool = True
) -> Array:
    """Local rotations (F, N, 4) of joints in a row that together come nearest to rotations (F, 4), inside their limits.

    Args:
        skeleton: The body.
        joints: Hinges and universals, each hanging from the one before, with three axes at most in all.
        wanted: (F, 4) from the last one's frame to that which the first hangs from, continuous in time.
        inside: Radians by which to stay clear of the limits, so that there is room to either side; a tenth of a
            range at most.
        limited: Whether limits are kept.
    """
    base, axes, limits = _merged(skeleton, joints)
    if not limited:
        limits = np.tile([-np.inf, np.inf], (len(axes), 1))
    room = np.minimum(inside, 0.1 * (limits[:, 1] - limits[:, 0]))
    limits = limits + room[:, None] * np.array([1.0, -1.0])
    angles = _unlimited(base, axes, limits, wanted)
    if angles is None:
        angles = np.tile(np.clip(0.0, *limits.T), (len(wanted), 1))
        _improve(angles, base, axes, limits, wanted)
    angles = _turned_back(angles, limits)
    outside = np.any((angles < limits[:, 0]) | (angles > limits[:, 1]), axis=1)
    if outside.any():
        part = np.clip(angles[outside], *limits.T)
        _improve(part, base, axes, limits, wanted[outside])
        angles[outside] = part
    if len(axes) > 1:
        _bridge(angles, base, axes, wanted)
    out = np.empty((len(wanted), len(joints), 4))
    column = 0
    for place, joint in enumerate(joints):
        turned = np.broadcast_to(skeleton.rest[joint], (len(wanted), 4))
        for axis in range(NUM_AXES[skeleton.kinds[joint]]):
            turned = multiply(turned, from_axis_angle(skeleton.axes[joint, axis], angles[:, column]))
            column += 1
        out[:, place] = turned
    return out


def _merged(skeleton: Skeleton, joints: Sequence[int]) -> tuple[Array, Array, Array]:
    """The rest rotation (4,) of a chain, and its axes (N, 3), all in the last frame, and limits (N, 2)."""
    base = identity()
    axes: list[Array] = []
    limits: list[Array] = []
    for joint in reversed(joints):
        count = NUM_AXES[skeleton.kinds[joint]]
        axes = [unrotate(base, skeleton.axes[joint, k]) for k in range(count)] + axes
        limits = [skeleton.limits[joint, k] for k in range(count)] + limits
        base = multiply(skeleton.rest[joint], base)
    return base, np.array(axes), np.array(limits)


def _unlimited(base: Array, axes: Array, limits: Array, wanted: Array) -> Array | None:
    """Angles (F, N) without limits, continuous in time and begun near zero; None where axes are not square."""
    count = len(axes)
    if count == MOST and max(abs(float(axes[1] @ axes[0])), abs(float(axes[1] @ axes[2]))) > SQUARE:
        return None
    rows = np.zeros((1, MOST, 3))
    rows[0, :count] = axes
    chain = Skeleton(
        names=("chain",), parents=np.array([-1]), offsets=np.zeros((1, 3)), rest=base[None], axes=rows,
        kinds=(_KINDS[count],),
    )  # fmt: skip
    near = np.zeros((1, MOST))
    near[0, :count] = np.clip(0.0, *limits.T)
    return joint_angle_curves(chain, wanted[:, None], near)[:, 0, :count]


def _improve(angles: Array, base: Array, axes: Array, limits: Array, wanted: Array) -> None:
    """Bring angles (F, N), in place, to where they come nearest to rotations inside their limits.

    One axis after another is turned to its best angle, which is known exactly with the others held.
    """
    for _ in range(SWEEPS):
        before = angles.copy()
        for axis in range(len(axes)):
            inner, outer = np.broadcast_to(base, wanted.shape), identity(len(wanted))
            for k in range(axis):
                inner = multiply(inner, from_axis_angle(axes[k], angles[:, k]))
            for k in range(axis + 1, len(axes)):
                outer = multiply(outer, from_axis_angle(axes[k], angles[:, k]))
            left = multiply(conjugate(inner), multiply(wanted, conjugate(outer)))
            best = 2.0 * np.arctan2(left[:, 1:] @ axes[axis], left[:, 0])
            now = angles[:, axis]
            angles[:, axis] = np.clip(now + np.remainder(best - now + np.pi, 2.0 * np.pi) - np.pi, *limits[axis])
        if np.abs(angles - before).max() < SETTLED:
            return


def _bridge(angles: Array, base: Array, axes: Array, wanted: Array) -> None:
    """Replace, in place, angles (F, N) that come nowhere near what is wanted by what leads from before to after.

    No limb is turned half round against the next: where a capture says so, it is the capture that flips.
    """
    found = np.broadcast_to(base, wanted.shape)
    for axis, angle in zip(axes, angles.T, strict=True):
        found = multiply(found, from_axis_angle(axis, angle))
    far = angle_between(found, wanted) > FLIPPED
    # What is next to a flip was often read off between its two sides.
    far = np.convolve(far, np.ones(2 * BESIDE + 1), "same") > 0.0 if len(far) > 2 * BESIDE else far
    near = np.flatnonzero(~far)
    if 0 < len(near) < len(wanted):
        frames = np.arange(len(wanted))
        for column in angles.T:
            column[:] = np.interp(frames, near, column[near])


def _turned_back(angles: Array, limits: Array) -> Array:
    """Angles (F, N) less full turns, the same for all frames, so that they mostly lie nearest to their limits' middles.

    Frame by frame would tear curves apart that leave a wide range on one side.
    """
    bounded = np.all(np.isfinite(limits), axis=1)
    middle = np.where(bounded[:, None], limits, 0.0).mean(axis=1)
    turns = np.round((np.median(angles, axis=0) - middle) / (2.0 * np.pi))
    return angles - np.where(bounded, 2.0 * np.pi * turns, 0.0)
