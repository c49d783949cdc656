"""A motion as BVH can hold it: joints in tree order, no rest rotations, the file's unit and axes.

At zero angles all joint frames of a BVH are parallel to the file's axes. With A the rest orientation of each joint
seen in those axes, a bone is `A[parent] * offset` and a local rotation `A[parent] * rotation * A[joint]^-1`: zero
angles show the rest pose, and every world position is the same as before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.geometry.quaternion import IDENTITY, Array, conjugate, multiply, rotate
from understudy.io.units import world_from_file
from understudy.motion import Motion
from understudy.skeleton import Skeleton


@dataclass(frozen=True, eq=False, kw_only=True)
class Baked:
    """A body and its movement, in the file's unit and axes."""

    names: tuple[str, ...]
    parents: np.ndarray
    offsets: Array
    """(J, 3)"""
    sites: tuple[tuple[int, Array], ...]
    """The joint and offset (3,) of every end point."""
    root: Array
    """(F, 3)"""
    rotations: Array
    """(F, J, 4)"""
    frame_offsets: Array | None
    """(F, J, 3)"""


def bake(motion: Motion, unit: float, up: str) -> Baked:
    """Turn a motion into what a BVH file in that unit, with that axis up, holds. Its joints must be in tree order."""
    skeleton = motion.skeleton
    file_from_world = conjugate(world_from_file(up))
    frames = multiply(file_from_world, skeleton.rest_world[1])
    above = np.concatenate([file_from_world[None], frames[skeleton.parents[1:]]])
    ends = [(skeleton.index[end.joint], end.offset) for end in skeleton.ends]
    offsets = None
    if motion.offsets is not None:
        offsets = _turned(above, motion.offsets) / unit
    return Baked(
        names=skeleton.names,
        parents=skeleton.parents,
        offsets=_turned(above, skeleton.offsets) / unit,
        sites=tuple((joint, rotate(frames[joint], offset) / unit) for joint, offset in ends),
        root=_turned(file_from_world, motion.root) / unit,
        rotations=_relative(above, motion.rotations, frames),
        frame_offsets=offsets,
    )


def _turned(turn: Array, vectors: Array) -> Array:
    """Vectors turned; exactly themselves where there is nothing to turn."""
    return np.where(_is_identity(turn)[..., None], vectors, rotate(turn, vectors))


def _relative(above: Array, rotations: Array, frames: Array) -> Array:
    """`above * rotation * frame^-1` for each joint, joints with nothing to turn left exactly as they are."""
    turned = np.flatnonzero(~(_is_identity(above) & _is_identity(frames)))
    if len(turned) == 0:
        return rotations
    out = rotations.copy()
    out[:, turned] = multiply(multiply(above[turned], rotations[:, turned]), conjugate(frames[turned]))
    return out


def _is_identity(turn: Array) -> np.ndarray:
    return np.max(np.abs(turn[..., 1:] - IDENTITY[1:]), axis=-1) < 1e-12


def in_tree_order(motion: Motion) -> Motion:
    """The same motion with each joint right before all that hangs from it, as a BVH text lists them."""
    skeleton = motion.skeleton
    order = _tree_order(skeleton)
    if order == list(range(skeleton.num_joints)):
        return motion
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    parents = skeleton.parents[order]
    skeleton = replace(
        skeleton,
        names=tuple(skeleton.names[joint] for joint in order),
        parents=np.where(parents < 0, -1, place[parents]),
        offsets=skeleton.offsets[order],
        rest=skeleton.rest[order],
        kinds=tuple(skeleton.kinds[joint] for joint in order),
        axes=skeleton.axes[order],
        limits=skeleton.limits[order],
    )
    offsets = None if motion.offsets is None else motion.offsets[:, order]
    return replace(motion, skeleton=skeleton, rotations=motion.rotations[:, order], offsets=offsets)


def _tree_order(skeleton: Skeleton) -> list[int]:
    order, waiting = [], [0]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting += reversed(skeleton.children[joint])
    return order
