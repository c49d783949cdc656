"""Forward kinematics: from local rotations to world positions and orientations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from understudy.base.errors import UnknownNameError
from understudy.base.quaternion import Array, rotate
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton

BLOCK_FRAMES = 700
"""Frames processed at a time, so that intermediate results stay in the processor's cache."""


@dataclass(frozen=True, eq=False, kw_only=True)
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
