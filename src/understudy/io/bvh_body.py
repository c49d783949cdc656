"""From the two sections of a BVH file to a skeleton and a motion, first as the file has them, then in metres, Y up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.errors import MotionError
from understudy.geometry.quaternion import Array, multiply, rotate
from understudy.io.bvh_hierarchy import LARGEST, Hierarchy
from understudy.io.bvh_layout import Columns, offsets_of, root_of, rotations_of
from understudy.io.bvh_motion import Block
from understudy.io.units import world_from_file
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton


def skeleton_of(hierarchy: Hierarchy, orders: tuple[str, ...], title: str) -> Skeleton:
    """The skeleton in the file's own unit and axes; an End Site becomes an end named `<joint>_end`."""
    taken = set(hierarchy.names)
    numbers: dict[int, int] = {}
    ends = []
    for site in hierarchy.sites:
        joint = hierarchy.names[site.joint]
        number = numbers.get(site.joint, 0) + 1
        while (name := f"{joint}_end{number if number > 1 else ''}") in taken:
            number += 1
        numbers[site.joint] = number
        taken.add(name)
        ends.append(Point(name=name, joint=joint, offset=np.array(site.offset)))
    return Skeleton(
        names=hierarchy.names,
        parents=np.array(hierarchy.parents),
        offsets=np.array(hierarchy.offsets),
        axes=np.eye(3)[[["XYZ".index(axis) for axis in order] for order in orders]],
        ends=tuple(ends),
        name=title,
    )


def motion_of(skeleton: Skeleton, hierarchy: Hierarchy, block: Block, columns: Columns, adds: np.ndarray) -> Motion:
    """The motion in the file's own unit and axes."""
    places = block.values[:, columns.positions[columns.positions >= 0]]
    if np.max(np.abs(places), initial=0.0) > LARGEST:
        frame = int(np.argmax(np.abs(places).max(axis=1)))
        raise MotionError(f"a position in frame {frame} is {np.abs(places).max():.3g}")
    moved = offsets_of(block.values, hierarchy, columns, adds)
    return Motion(
        skeleton=skeleton,
        fps=1.0 / float(block.frame_time),
        root=_frozen(root_of(block.values, hierarchy, columns, adds)),
        rotations=_frozen(rotations_of(block.values, columns)),
        offsets=None if moved is None else _frozen(moved),
        name=skeleton.name,
    )


def in_metres(skeleton: Skeleton, motion: Motion | None, unit: float, up: str) -> tuple[Skeleton, Motion | None]:
    """The same in metres with Y up: the root is turned, all else hangs from it as before."""
    turn = world_from_file(up)
    offsets = skeleton.offsets * unit
    rest = skeleton.rest.copy()
    if up != "Y":
        offsets[0] = rotate(turn, offsets[0])
        rest[0] = turn
    ends = tuple(replace(end, offset=end.offset * unit) for end in skeleton.ends)
    skeleton = replace(skeleton, offsets=offsets, rest=rest, ends=ends)
    if motion is None:
        return skeleton, None
    root, rotations = motion.root * unit, motion.rotations
    if up != "Y":
        root = rotate(turn, root)
        rotations = np.array(rotations)
        rotations[:, 0] = multiply(turn, rotations[:, 0])
    moved = None if motion.offsets is None else _frozen(motion.offsets * unit)
    motion = replace(motion, skeleton=skeleton, root=_frozen(root), rotations=_frozen(rotations), offsets=moved)
    return skeleton, motion


def _frozen(array: Array) -> Array:
    """The array, made read-only, so that a motion takes it without a copy."""
    array.setflags(write=False)
    return array
