"""Kinematics: from joint angles to local rotations and back, and on to world positions and orientations.

A joint with axes a, b, c has the local rotation `rest * turn(a) * turn(b) * turn(c)`. Joint limits and files use
these angles. A rotation that a hinge or universal joint cannot reach gives the angles of the nearest one that it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import SkeletonError, UnknownNameError
from understudy.base.quaternion import (
    Array,
    between,
    conjugate,
    cross,
    from_axis_angle,
    from_matrix,
    multiply,
    rotate,
    to_euler,
    to_euler_curve,
    twist_angle,
    unrotate,
)
from understudy.base.records import record
from understudy.figure.motion import Motion
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton

BLOCK_FRAMES = 700
"""Frames processed at a time, so that intermediate results stay in the processor's cache."""


@record
class Pose:
    """World positions and orientations of all joints, for all frames."""

    skeleton: Skeleton
    positions: Array
    """(F, J, 3) metres."""
    rotations: Array
    """(F, J, 4) rotations from each joint's frame to the world."""

    def __repr__(self) -> str:
        frames, joints = self.positions.shape[:2]
        return f"<Pose of {self.skeleton.name or 'unnamed'}: {frames} frames, {joints} joints>"

    def __getitem__(self, name: str) -> Array:
        """(F, 3) metres, world: position of a joint or end."""
        return self.points([name])[:, 0]

    def points(self, points: Sequence[Point | str]) -> Array:
        """(F, P, 3) world positions of points, or of joints or ends given by name."""
        joints, offsets = locate(self.skeleton, points)
        return self.positions[:, joints] + rotate(self.rotations[:, joints], offsets)

    def directions(self, joint: str, local: Array) -> Array:
        """(F, 3) world directions of a vector (3,) in a joint's frame."""
        return rotate(self.rotations[:, self.skeleton.joint(joint)], local)

    def ends(self) -> Array:
        """(F, E, 3) world positions of the skeleton's end points."""
        return self.points(self.skeleton.ends)


def locate(skeleton: Skeleton, points: Sequence[Point | str]) -> tuple[np.ndarray, Array]:
    """The joint numbers (P,) and local offsets (P, 3) of points."""
    resolved = [skeleton.point(point) if isinstance(point, str) else point for point in points]
    joints = np.array([skeleton.joint(point.joint) for point in resolved], dtype=np.intp)
    return joints, np.array([point.offset for point in resolved], float).reshape(-1, 3)


def fk(motion: Motion) -> Pose:
    """Forward kinematics of all frames of a motion."""
    positions, rotations = forward(motion.skeleton, motion.root, motion.rotations, motion.offsets)
    return Pose(skeleton=motion.skeleton, positions=positions, rotations=rotations)


def pose_of(motion: Motion, joints: Sequence[int]) -> Pose:
    """The pose of some joints of a motion and their ancestors only."""
    small, kept = _part(motion.skeleton, frozenset(joints))
    offsets = None if motion.offsets is None else motion.offsets[:, kept]
    positions, rotations = forward(small, motion.root, motion.rotations[:, kept], offsets)
    return Pose(skeleton=small, positions=positions, rotations=rotations)


def paths_of(motion: Motion, joints: Sequence[int]) -> Array:
    """(F, K, 3) metres, world: the places of some joints. Only their ancestors are computed, and nothing else kept."""
    small, kept = _part(motion.skeleton, frozenset(joints))
    index, names = small.index, motion.skeleton.names
    columns = [index[names[joint]] for joint in joints]
    local = np.ascontiguousarray(motion.rotations, float).view(complex)
    out = np.empty((motion.num_frames, len(columns), 3))
    for start in range(0, motion.num_frames, BLOCK_FRAMES):
        part = slice(start, start + BLOCK_FRAMES)
        turn = np.take(local[part], kept, axis=1).transpose(1, 2, 0).copy()
        _to_world(small, turn)
        place = np.empty((small.num_joints, 3, turn.shape[2]))
        place[0] = motion.root[part].T
        bones = small.offsets[1:, :, None]
        if motion.offsets is not None:
            bones = np.take(motion.offsets[part], kept[1:], axis=1).transpose(1, 2, 0)
        _rotate_bones(turn[small.parents[1:]], bones, place[1:])
        for joint, parent in enumerate(small.parents[1:].tolist(), start=1):
            place[joint] += place[parent]
        out[part] = place[columns].transpose(2, 0, 1)
    return out


@lru_cache(maxsize=64)
def _part(skeleton: Skeleton, joints: frozenset[int]) -> tuple[Skeleton, np.ndarray]:
    return skeleton.pruned(joints)


def forward(skeleton: Skeleton, root: Array, rotations: Array, offsets: Array | None = None) -> tuple[Array, Array]:
    """Forward kinematics on plain arrays.

    Args:
        skeleton: The character.
        root: (F, 3) metres, world.
        rotations: (F, J, 4) local rotations.
        offsets: (F, J, 3) metres, in place of the skeleton's.

    Returns:
        World positions (F, J, 3) and orientations (F, J, 4).
    """
    frames, joints = rotations.shape[:2]
    if joints != skeleton.num_joints:
        raise UnknownNameError(f"Expected rotations of {skeleton.num_joints} joints, got {joints}")
    positions, turned = np.empty((frames, joints, 3)), np.empty((frames, joints, 4))
    local, world = np.ascontiguousarray(rotations, float).view(complex), turned.view(complex)
    bones = skeleton.offsets[:, :, None] if offsets is None else offsets.transpose(1, 2, 0)
    for start in range(0, frames, BLOCK_FRAMES):
        part = slice(start, start + BLOCK_FRAMES)
        turn = local[part].transpose(1, 2, 0).copy()
        _to_world(skeleton, turn)
        world[part] = turn.transpose(2, 0, 1)
        place = np.empty((joints, 3, turn.shape[2]))
        place[0] = root[part].T
        _rotate_bones(turn[skeleton.parents[1:]], bones[1:] if offsets is None else bones[1:, :, part], place[1:])
        for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
            place[joint] += place[parent]
        positions[part] = place.transpose(2, 0, 1)
    return positions, turned


def _to_world(skeleton: Skeleton, turn: Array) -> None:
    """Convert local rotations (J, 2, F) to world rotations, in place, all joints of the same depth at once.

    Treating a quaternion as two complex numbers, w + xi and y + zi, takes a third of the numpy calls.
    """
    for joints, parents in skeleton.generations:
        parent, child = turn[parents], turn[joints]
        mirrored = child.conj()
        turn[joints, 0] = parent[:, 0] * child[:, 0] - parent[:, 1] * mirrored[:, 1]
        turn[joints, 1] = parent[:, 0] * child[:, 1] + parent[:, 1] * mirrored[:, 0]


def _rotate_bones(turn: Array, bones: Array, out: Array) -> None:
    """Rotate bones (J, 3, F or 1) by rotations (J, 2, F), two complex numbers each, into `out` (J, 3, F)."""
    bx, by, bz = bones.transpose(1, 0, 2)
    w, x, y, z = (np.ascontiguousarray(part) for pair in turn.transpose(1, 0, 2) for part in (pair.real, pair.imag))
    tx, ty, tz = y * bz - z * by, z * bx - x * bz, x * by - y * bx
    out[:, 0] = bx + 2.0 * (w * tx + y * tz - z * ty)
    out[:, 1] = by + 2.0 * (w * ty + z * tx - x * tz)
    out[:, 2] = bz + 2.0 * (w * tz + x * ty - y * tx)


MIN_ASTRAY_RADIANS = np.radians(1.0)
"""Angle between a bone and the line to the next joint beyond which the bone is turned there."""


def with_bones_to_joints(motion: Motion) -> Motion:
    """The same places of all joints, with bones that point to the next joint.

    Some captures and keyed motions move joints against their parents, a foot by centimetres: the rotation of the shin
    then says little of where the foot is. A bone that carries several limbs keeps its rotation.
    """
    if motion.offsets is None:
        return motion
    skeleton = motion.skeleton
    bones = [
        (joint, below) for joint in range(skeleton.num_joints) if (below := _next_joint(skeleton, joint)) is not None
    ]
    astray = np.zeros(skeleton.num_joints, bool)
    for joint, below in bones:
        bone, moved = skeleton.offsets[below], motion.offsets[:, below]
        angles = np.arctan2(np.linalg.norm(cross(moved, bone), axis=-1), moved @ bone)
        astray[joint] = joint > 0 and float(angles.max()) > MIN_ASTRAY_RADIANS
    if not astray.any():
        return motion
    pose, below_of = fk(motion), dict(bones)
    world, offsets = pose.rotations.copy(), motion.offsets.copy()
    for joint in np.flatnonzero(astray).tolist():
        line = pose.positions[:, below_of[joint]] - pose.positions[:, joint]
        shown = rotate(world[:, joint], skeleton.offsets[below_of[joint]])
        world[:, joint] = multiply(between(shown, line), world[:, joint])
    parents = skeleton.parents[1:]
    offsets[:, 1:] = unrotate(world[:, parents], pose.positions[:, 1:] - pose.positions[:, parents])
    rotations = motion.rotations.copy()
    rotations[:, 1:] = multiply(conjugate(world[:, parents]), world[:, 1:])
    return motion.derived(rotations=rotations, offsets=offsets)


def _next_joint(skeleton: Skeleton, joint: int) -> int | None:
    """The joint to which a bone leads, if any: its only child, or the only one that carries something."""
    long = [child for child in skeleton.children[joint] if skeleton.lengths[child] > 0.0]
    if len(long) > 1:
        ends = {end.joint for end in skeleton.ends}
        long = [child for child in long if skeleton.children[child] or skeleton.names[child] in ends]
    return long[0] if len(long) == 1 else None


def move_points(
    rotations: Array,
    positions: Array,
    axes: Array,
    turning: np.ndarray,
    joints: np.ndarray,
    offsets: Array,
    carries: np.ndarray,
    out: Array,
) -> None:
    """Derivatives of world points by joint rotations.

    Frames are the last axis during the computation, so that rows are long; pass few frames at a time to stay in the
    processor's cache.

    Args:
        rotations: (F, J, 4) joint frames to the world.
        positions: (F, J, 3) metres, world.
        axes: (F, R, 3) rotation axes, in the joints' frames.
        turning: (R,) the joint that rotates about each axis.
        joints: (P,) the joint that each point moves with.
        offsets: (P, 3) metres, in that joint's frame.
        carries: (P, R) whether rotation about an axis moves a point.
        out: (F, P, 3, R) metres per radian, filled in where `carries` is true.
    """
    turn, origin, local = (array.transpose(1, 2, 0).copy() for array in (rotations, positions, axes))
    places = origin[joints] + _rotate(turn[joints], offsets[:, :, None])
    point, about = np.nonzero(carries)
    world = _rotate(turn[turning], local)
    moved = _cross(world[about], places[point] - origin[turning[about]])
    out[:, point, :, about] = moved.transpose(0, 2, 1)


def _cross(a: Array, b: Array) -> Array:
    """The vector product over the last axis but one, of vectors (..., 3, F) with frames last."""
    out = np.empty(np.broadcast(a, b).shape)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(a[..., j, :], b[..., k, :], out=out[..., i, :])
        out[..., i, :] -= a[..., k, :] * b[..., j, :]
    return out


def _rotate(turn: Array, vectors: Array) -> Array:
    """Rotate vectors (..., 3, F) by rotations (..., 4, F), with frames last."""
    scalar, vector = turn[..., :1, :], turn[..., 1:, :]
    twice = 2.0 * _cross(vector, vectors)
    out = _cross(vector, twice)
    out += scalar * twice
    out += vectors
    return out


MAX_SQUARE_COSINE = 1e-6
"""Greatest cosine of two axes that count as being at right angles."""


def joint_rotations(skeleton: Skeleton, angles: ArrayLike) -> Array:
    """Local rotations (..., J, 4) of joint angles (..., J, 3), radians.

    Angles of axes that a joint does not have are ignored.
    """
    used = np.array([[k < NUM_AXES[kind] for k in range(3)] for kind in skeleton.kinds])
    angles = np.where(used, np.asarray(angles, float), 0.0)
    out = np.broadcast_to(skeleton.rest, (*angles.shape[:-1], 4))
    for k in range(3):
        out = multiply(out, from_axis_angle(skeleton.axes[:, k], angles[..., k]))
    return out


def joint_angles(skeleton: Skeleton, rotations: ArrayLike, near: ArrayLike | None = None) -> Array:
    """Angles (..., J, 3) about each joint's axes of local rotations (..., J, 4), radians.

    Args:
        skeleton: The joints; the second axis of a ball or free joint must be at right angles to both others.
        rotations: Local rotations, as a motion holds them.
        near: Angles (broadcast to the result) to stay close to. Angles repeat after a full turn, and a ball has two
            triples of them (a whole line at gimbal lock): the nearest are returned. Without it all angles are in
            (-pi, pi], the second angle of a ball is within a quarter turn of where its outer axes are farthest apart,
            and its last angle is zero at gimbal lock.

    Returns:
        Zero for the axes that a joint does not have.
    """
    rotations = np.asarray(rotations, float)
    out = np.zeros((*rotations.shape[:-1], 3))
    near = None if near is None else np.broadcast_to(np.asarray(near, float), out.shape)
    _fill_hinges(skeleton, rotations, near, out)
    balls = _find_balls(skeleton)
    if len(balls.joints):
        wanted = None if near is None else balls.to_proper(near[..., balls.joints, :])
        angles = balls.from_proper(to_euler(balls.proper(skeleton, rotations), "XYX", wanted))
        out[..., balls.joints, :] = _wrap(angles) if near is None else angles
    return out


def joint_angle_curves(skeleton: Skeleton, rotations: ArrayLike, near: ArrayLike | None = None) -> Array:
    """Angles (F, J, 3) of rotations (F, J, 4) over time, without jumps from frame to frame.

    Args:
        skeleton: Whose joints.
        rotations: Local rotations, frames first.
        near: Angles (J, 3) that the first frame stays close to; the rest pose's if not given.
    """
    rotations = np.asarray(rotations, float)
    first = np.zeros((*rotations.shape[1:-1], 3)) if near is None else np.asarray(near, float)
    out = np.zeros((*rotations.shape[:-1], 3))
    _fill_hinges(skeleton, rotations, None, out)
    out = np.unwrap(out, axis=0)
    out += first + _wrap(out[0] - first) - out[0]
    out[:, ~_has_few_axes(skeleton)] = 0.0
    balls = _find_balls(skeleton)
    if len(balls.joints):
        wanted = balls.to_proper(first[balls.joints])
        out[:, balls.joints] = balls.from_proper(to_euler_curve(balls.proper(skeleton, rotations), "XYX", wanted))
    return out


@record
class _Balls:
    """The joints with three axes, each with the frame in which its angles are Euler angles.

    The second axis is at right angles to the others, so the third axis is the first one rotated by a lean about the
    second: `turn(a) turn(b) turn(c) turn_b(lean) = turn(a) turn_b(b + lean) turn_a(c)`. These are angles of the order
    XYX in the frame whose X is the first axis and whose Y is the second, or its opposite if the lean would be negative.
    The lean is a quarter turn for three axes at right angles and zero for an order that repeats an axis.
    """

    joints: np.ndarray
    """(B,) joint numbers."""
    frames: Array
    """(B, 4) rotations from that frame to the joint's rest frame."""
    lean: Array
    """(B,) radians, in [0, pi]."""
    sign: Array
    """(B,) -1 where Y is the opposite of the second axis, else 1."""

    def proper(self, skeleton: Skeleton, rotations: Array) -> Array:
        """(..., B, 4) the rotations whose XYX angles are the joint angles, with the lean added."""
        turned = multiply(conjugate(skeleton.rest[self.joints]), rotations[..., self.joints, :])
        seen = multiply(conjugate(self.frames), multiply(turned, self.frames))
        return multiply(seen, from_axis_angle(np.array([0.0, 1.0, 0.0]), self.lean))

    def to_proper(self, angles: Array) -> Array:
        """XYX angles (..., B, 3) of joint angles."""
        return np.stack([angles[..., 0], self.sign * angles[..., 1] + self.lean, angles[..., 2]], -1)

    def from_proper(self, angles: Array) -> Array:
        """Joint angles (..., B, 3) of XYX angles."""
        return np.stack([angles[..., 0], self.sign * (angles[..., 1] - self.lean), angles[..., 2]], -1)


def _find_balls(skeleton: Skeleton) -> _Balls:
    joints = np.array([j for j, kind in enumerate(skeleton.kinds) if NUM_AXES[kind] == 3], dtype=np.intp)
    first, second, third = skeleton.axes[joints].transpose(1, 0, 2)
    across = cross(first, second)
    for other in (first, third):
        slanted = np.flatnonzero(np.abs(np.einsum("ji,ji->j", other, second)) > MAX_SQUARE_COSINE)
        if len(slanted):
            name = skeleton.names[joints[slanted[0]]]
            raise SkeletonError(
                f"Joint `{name}`: its angles cannot be counted unless its second axis is at right angles to both others"
            )
    lean = np.arctan2(-np.einsum("ji,ji->j", third, across), np.einsum("ji,ji->j", third, first))
    sign = np.where(lean < 0.0, -1.0, 1.0)
    frames = np.stack([first, sign[:, None] * second, sign[:, None] * across], -1)
    return _Balls(joints=joints, frames=from_matrix(frames), lean=np.abs(lean), sign=sign)


def _fill_hinges(skeleton: Skeleton, rotations: Array, near: Array | None, out: Array) -> None:
    """Fill in the angles of the joints with one and two axes."""
    hinges = [j for j, kind in enumerate(skeleton.kinds) if kind is JointKind.HINGE]
    if hinges:
        turned = multiply(conjugate(skeleton.rest[hinges]), rotations[..., hinges, :])
        out[..., hinges, 0] = twist_angle(turned, skeleton.axes[hinges, 0])
    universals = [j for j, kind in enumerate(skeleton.kinds) if kind is JointKind.UNIVERSAL]
    if universals:
        turned = multiply(conjugate(skeleton.rest[universals]), rotations[..., universals, :])
        out[..., universals, :2] = _universal_angles(turned, skeleton.axes[universals])
    if near is not None:
        joints = hinges + universals
        kept = near[..., joints, :]
        out[..., joints, :] = np.where(_has_few_axes(skeleton)[joints], kept + _wrap(out[..., joints, :] - kept), 0.0)


def _universal_angles(q: Array, axes: Array) -> Array:
    """Angles (..., 2) about two axes whose successive rotations come nearest to a rotation.

    The cosine of half the remaining angle is a sum of two sinusoids, one in the half sum and one in the half difference
    of the angles, so each is maximised on its own. The result is exact for axes that are not parallel.
    """
    first, second = axes[:, 0], axes[:, 1]
    w, v = q[..., 0], q[..., 1:]
    along_first = np.einsum("...i,...i->...", v, first)
    along_second = np.einsum("...i,...i->...", v, second)
    both = np.einsum("...i,...i->...", v, cross(first, second)) - w * np.einsum("ji,ji->j", first, second)
    half_difference = np.arctan2(along_first - along_second, w + both)
    half_sum = np.arctan2(along_first + along_second, w - both)
    return _wrap(np.stack([half_sum + half_difference, half_sum - half_difference], -1))


MIN_SWING = 1e-12
"""Sine of the angle between an axis and a direction below which rotation about the axis does not move the direction."""

MIN_BRANCH_RADIANS = 1e-4
"""Half the angle between the two solutions below which they are kept apart, so that the first angle is defined."""


def pointing_angles(first: Array, second: Array, vector: Array, goal: Array) -> Array:
    """Angles (F, 2, 2) about two successive axes that point a direction at a goal: two solutions for each goal.

    Args:
        first: (3,) unit axis of the outer rotation.
        second: (3,) unit axis of the inner rotation.
        vector: (3,) unit direction at angle zero.
        goal: (F, 3) unit directions.

    Returns:
        For each goal two pairs of angles, radians: `turn(first) turn(second) vector = goal`. The second angle of one
        solution is as far above the angle at which the direction is nearest to the first axis as that of the other is
        below it. Where no angles reach the goal, those that come nearest to its angle with the first axis.
    """
    along = float(vector @ second)
    flat, aside = vector - along * second, cross(second, vector)
    # The share of the direction along the first axis is a sinusoid of the second angle.
    cosine, sine, level = float(first @ flat), float(first @ aside), along * float(first @ second)
    size = max(float(np.hypot(cosine, sine)), MIN_SWING)
    half = np.arccos(np.clip((goal @ first - level) / size, -1.0, 1.0))
    middle = float(np.arctan2(sine, cosine))
    x = aside - (aside @ first) * first
    x = x / max(float(np.linalg.norm(x)), MIN_SWING)
    y = cross(first, x)
    out = np.empty((len(goal), 2, 2))
    for branch, sign in enumerate((1.0, -1.0)):
        out[:, branch, 1] = middle + sign * half
        angle = middle + sign * np.maximum(half, MIN_BRANCH_RADIANS)[:, None]
        reached = along * second + np.cos(angle) * flat + np.sin(angle) * aside
        out[:, branch, 0] = np.arctan2(goal @ y, goal @ x) - np.arctan2(reached @ y, reached @ x)
    return out


def _has_few_axes(skeleton: Skeleton) -> np.ndarray:
    """(J, 3) True for the axes of joints with one or two axes."""
    counts = np.array([NUM_AXES[kind] for kind in skeleton.kinds])
    return (np.arange(3) < counts[:, None]) & (counts < 3)[:, None]


def _wrap(angle: Array) -> Array:
    """Angles brought into (-pi, pi]."""
    return angle - 2.0 * np.pi * np.ceil(angle / (2.0 * np.pi) - 0.5)
