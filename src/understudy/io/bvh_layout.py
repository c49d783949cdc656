"""What a BVH file's channels mean, and what is kept of a file so that it can be written back the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.euler import from_euler
from understudy.geometry.quaternion import Array, identity
from understudy.io.bvh_hierarchy import Hierarchy
from understudy.skeleton import Skeleton

FRAMES_AT_ONCE = 256
"""Frames converted together, so that what is being computed stays in the processor's cache."""

SAME = 2e-5
"""Share of the body's size below which a position channel says the same as OFFSET, or nothing: files round them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """A BVH file's own way of putting things."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    channels: tuple[tuple[str, ...], ...]
    """Each joint's channels, in the file's order."""
    site_labels: tuple[str, ...] = ()
    """What stands after `End`, for each End Site."""
    adds: np.ndarray
    """(J,) True where position channels are added to OFFSET; elsewhere they stand in its place."""
    frame_time: str = ""
    """Seconds between frames, as the file writes them."""
    values: Array | None = None
    """(F, C) every number of the motion, in the file's unit, axes and degrees."""
    encoding: str = "utf-8"
    reference_frame: int | None = None
    """A frame that shows a reference pose and is no part of the movement."""

    def fits(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton has the names and tree of the file."""
        return self.names == skeleton.names and np.array_equal(self.parents, skeleton.parents)


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """Where in a row of numbers each joint's position and rotation stand."""

    positions: np.ndarray
    """(J, 3) column of each joint's x, y, z; -1 where there is none."""
    rotations: np.ndarray
    """(J, 3) columns of each joint's angles in the order of turning; -1 past the last."""
    orders: tuple[str, ...]
    """(J,) each joint's Euler order; axes without a channel come last, and their angles are zero."""

    def groups(self) -> dict[str, np.ndarray]:
        """Joint numbers by Euler order."""
        found: dict[str, list[int]] = {}
        for joint, order in enumerate(self.orders):
            found.setdefault(order, []).append(joint)
        return {order: np.array(joints) for order, joints in found.items()}


def columns_of(channels: tuple[tuple[str, ...], ...]) -> Columns:
    """The columns of joints with these channels."""
    count = len(channels)
    positions, rotations = np.full((count, 3), -1), np.full((count, 3), -1)
    orders = []
    column = 0
    for joint, names in enumerate(channels):
        turned = ""
        for name in names:
            if name.endswith("position"):
                positions[joint, "XYZ".index(name[0])] = column
            else:
                rotations[joint, len(turned)] = column
                turned += name[0]
            column += 1
        orders.append(turned + "".join(axis for axis in "ZXY" if axis not in turned))
    return Columns(positions=positions, rotations=rotations, orders=tuple(orders))


def rotations_of(values: Array, columns: Columns) -> Array:
    """(F, J, 4) local rotations of rows of numbers (F, C), all joints of one Euler order together."""
    frames, joints = len(values), len(columns.orders)
    out = np.empty((frames, joints, 4))
    for order, members in columns.groups().items():
        used = columns.rotations[members]
        moving = used[:, 0] >= 0
        if not moving.all():
            out[:, members[~moving]] = identity()
            members, used = members[moving], used[moving]
        if len(members) == 0:
            continue
        missing = used < 0
        every = len(members) == joints
        for start in range(0, frames, FRAMES_AT_ONCE):
            part = slice(start, start + FRAMES_AT_ONCE)
            angles = np.radians(values[part].take(used.ravel(), axis=1)).reshape(-1, len(members), 3)
            if missing.any():
                angles[:, missing] = 0.0
            if every:
                out[part] = from_euler(angles, order)
            else:
                out[part, members] = from_euler(angles, order)
    return out


def decide_adds(hierarchy: Hierarchy, columns: Columns, values: Array) -> tuple[np.ndarray, list[str]]:
    """Which joints' position channels add to OFFSET, and a sentence on each such decision.

    Channels stand in the place of OFFSET in nearly every file. They are added where the file would otherwise
    collapse: a root that stays at zero below an OFFSET that is not, or a body most of whose position channels
    stay at zero while its OFFSETs do not.
    """
    adds = np.zeros(len(hierarchy.names), bool)
    notes = []
    offsets = np.array(hierarchy.offsets)
    placed = np.flatnonzero((columns.positions >= 0).any(axis=1) & (offsets != 0.0).any(axis=1))
    nearly = SAME * body_size(hierarchy)
    zero = [joint for joint in placed.tolist() if np.abs(values[:, _used(columns, joint)]).max() <= nearly]
    if 0 in zero:
        adds[0] = True
        notes.append("the root's position channels stay at zero and are added to its OFFSET")
    below, still = placed[placed > 0], [joint for joint in zero if joint > 0]
    if 2 * len(still) > len(below):
        adds[1:] = (columns.positions[1:] >= 0).any(axis=1)
        notes.append(
            f"the position channels of {len(still)} of {len(below)} joints below the root stay at zero and are "
            "added to OFFSET"
        )
    return adds, notes


def _used(columns: Columns, joint: int) -> np.ndarray:
    cols = columns.positions[joint]
    return cols[cols >= 0]


def root_of(values: Array, hierarchy: Hierarchy, columns: Columns, adds: np.ndarray) -> Array:
    """(F, 3) where the root is, in the file's unit and axes."""
    return _places(values, np.array(hierarchy.offsets[0]), columns.positions[0], bool(adds[0]))


def offsets_of(values: Array, hierarchy: Hierarchy, columns: Columns, adds: np.ndarray) -> Array | None:
    """(F, J, 3) the offsets of each frame in the file's unit, or None if they are the skeleton's all the time."""
    offsets = np.array(hierarchy.offsets)
    nearly = SAME * body_size(hierarchy)
    moving = {}
    for joint in np.flatnonzero((columns.positions >= 0).any(axis=1)).tolist():
        if joint == 0:
            continue
        places = _places(values, offsets[joint], columns.positions[joint], bool(adds[joint]))
        if np.max(np.abs(places - offsets[joint]), initial=0.0) > nearly:
            moving[joint] = places
    if not moving:
        return None
    out = np.tile(offsets, (len(values), 1, 1))
    for joint, places in moving.items():
        out[:, joint] = places
    return out


def body_size(hierarchy: Hierarchy) -> float:
    """The longest way from the root to a joint or end, along the bones, in the file's unit."""
    reach = np.zeros(len(hierarchy.names))
    lengths = np.linalg.norm(np.array(hierarchy.offsets), axis=1)
    for joint, parent in enumerate(hierarchy.parents[1:], start=1):
        reach[joint] = reach[parent] + lengths[joint]
    ends = [reach[site.joint] + float(np.linalg.norm(site.offset)) for site in hierarchy.sites]
    return float(max(reach.max(), max(ends, default=0.0)))


def _places(values: Array, offset: Array, columns: np.ndarray, add: bool) -> Array:
    out = np.tile(offset, (len(values), 1))
    for axis, column in enumerate(columns.tolist()):
        if column >= 0:
            out[:, axis] = values[:, column] + (offset[axis] if add else 0.0)
    return out
