"""Writes BVH: the same channels for a clip that was read from BVH, and standard channels for other clips."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import BinaryIO

import numpy as np

from understudy.base.quaternion import IDENTITY, Array, conjugate, multiply, rotate, to_euler, to_euler_curve
from understudy.base.records import record
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.io.bvh.reader import (
    CHANNELS,
    MAX_OFFSET_ROUNDING_PER_BODY_SIZE,
    BvhColumns,
    BvhLayout,
    Hierarchy,
    Site,
    body_size,
    columns_of,
    decide_adds,
)
from understudy.io.clip import UNITS, Clip, WriteOptions, describe_lost_joints, world_from_file


@record
class FileMotion:
    """A skeleton and motion in the file's unit and axes, with all joint frames parallel in the rest pose."""

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


def to_file_axes(motion: Motion, unit: float, up: str) -> FileMotion:
    """Convert a motion to the unit and up axis of a BVH file. Its joints must be in depth-first order."""
    skeleton = motion.skeleton
    file_from_world = conjugate(world_from_file(up))
    frames = multiply(file_from_world, skeleton.rest_world[1])
    parent_frames = np.concatenate([file_from_world[None], frames[skeleton.parents[1:]]])
    ends = [(skeleton.index[end.joint], end.offset) for end in skeleton.ends]
    offsets = None
    if motion.offsets is not None:
        offsets = _rotate_exactly(parent_frames, motion.offsets) / unit
    return FileMotion(
        names=skeleton.names,
        parents=skeleton.parents,
        offsets=_rotate_exactly(parent_frames, skeleton.offsets) / unit,
        sites=tuple((joint, rotate(frames[joint], offset) / unit) for joint, offset in ends),
        root=_rotate_exactly(file_from_world, motion.root) / unit,
        rotations=_relative(parent_frames, motion.rotations, frames),
        frame_offsets=offsets,
    )


def _rotate_exactly(rotation: Array, vectors: Array) -> Array:
    """Rotated vectors; exactly unchanged if the rotation is the identity."""
    return np.where(_is_identity(rotation)[..., None], vectors, rotate(rotation, vectors))


def _relative(parent_frames: Array, rotations: Array, frames: Array) -> Array:
    """`parent_frame * rotation * frame^-1` of each joint; exactly unchanged if both frames are the identity."""
    rotated = np.flatnonzero(~(_is_identity(parent_frames) & _is_identity(frames)))
    if len(rotated) == 0:
        return rotations
    out = rotations.copy()
    out[:, rotated] = multiply(multiply(parent_frames[rotated], rotations[:, rotated]), conjugate(frames[rotated]))
    return out


def _is_identity(rotation: Array) -> np.ndarray:
    return np.max(np.abs(rotation[..., 1:] - IDENTITY[1:]), axis=-1) < 1e-12


def in_tree_order(motion: Motion) -> Motion:
    """The same motion with its joints in depth-first order, as in a BVH file."""
    skeleton = motion.skeleton
    order = _tree_order(skeleton)
    if order == list(range(skeleton.num_joints)):
        return motion
    new_index = np.empty(len(order), np.intp)
    new_index[order] = np.arange(len(order))
    parents = skeleton.parents[order]
    skeleton = replace(
        skeleton,
        names=tuple(skeleton.names[joint] for joint in order),
        parents=np.where(parents < 0, -1, new_index[parents]),
        offsets=skeleton.offsets[order],
        rest=skeleton.rest[order],
        kinds=tuple(skeleton.kinds[joint] for joint in order),
        axes=skeleton.axes[order],
        limits=skeleton.limits[order],
    )
    offsets = None if motion.offsets is None else motion.offsets[:, order]
    return replace(motion, skeleton=skeleton, rotations=motion.rotations[:, order], offsets=offsets)


def _tree_order(skeleton: Skeleton) -> list[int]:
    order, stack = [], [0]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack += reversed(skeleton.children[joint])
    return order


MAX_POSITION_STEP_METRES = 1e-8
"""The last decimal of positions is at most this, up to eight decimals."""

ANGLE_DECIMALS = 6

ROWS_PER_BLOCK = 512

MAX_INDENT = 40
"""Largest indentation. Without it, a chain of thousands of joints would be mostly white space."""

_UNSAFE = re.compile(r"[\s{}]+")


def write_text(
    stream: BinaryIO, hierarchy: Hierarchy, values: Array, *, frame_time: str, unit: float, encoding: str
) -> None:
    """Write both sections of a BVH file.

    Args:
        stream: The file to write to.
        hierarchy: Joints in depth-first order.
        values: (F, C) degrees and the file's unit.
        frame_time: Seconds between frames, as text.
        unit: Metres in one unit; determines the number of decimals of positions.
        encoding: Encoding of the names; UTF-8 is used if it cannot hold them.
    """
    decimals = max(6, min(8, math.ceil(math.log10(unit / MAX_POSITION_STEP_METRES) - 1e-9)))
    text = "\n".join(["HIERARCHY", *_joint_lines(hierarchy, decimals + 2), "MOTION"])
    text += f"\nFrames: {len(values)}\nFrame Time: {frame_time}\n"
    try:
        stream.write(text.encode(encoding))
    except UnicodeEncodeError:
        stream.write(text.encode("utf-8"))
    decimals_per_column = [
        decimals if name.endswith("position") else ANGLE_DECIMALS for names in hierarchy.channels for name in names
    ]
    row = " ".join(f"%.{count}f" for count in decimals_per_column) + "\n"
    # Half a unit of the last decimal. Smaller numbers become zero, so that "-0.000" is never written.
    tiny = 0.5 * 10.0 ** -np.array(decimals_per_column, float)
    for start in range(0, len(values), ROWS_PER_BLOCK):
        part = values[start : start + ROWS_PER_BLOCK]
        part = np.where(np.abs(part) <= tiny, 0.0, part)
        stream.write("".join([row % tuple(numbers) for numbers in part.tolist()]).encode("ascii"))


def _joint_lines(hierarchy: Hierarchy, decimals: int) -> list[str]:
    """The lines of all joints, written without recursion."""
    sites: dict[int, list[str]] = {}
    depth = [0] * len(hierarchy.names)
    for joint, parent in enumerate(hierarchy.parents[1:], start=1):
        depth[joint] = depth[parent] + 1
    for site in hierarchy.sites:
        tab = _indent(depth[site.joint] + 1)
        offset = _vector(site.offset, decimals)
        sites.setdefault(site.joint, []).extend(
            [f"{tab}End {site.label}", f"{tab}{{", f"{tab}\tOFFSET {offset}", f"{tab}}}"]
        )
    lines: list[str] = []
    level = 0
    for joint, name in enumerate(hierarchy.names):
        while level > depth[joint]:
            level -= 1
            lines.append(_indent(level) + "}")
        tab = _indent(level)
        names = hierarchy.channels[joint]
        lines += [
            f"{tab}{'JOINT' if joint else 'ROOT'} {name}",
            f"{tab}{{",
            f"{tab}\tOFFSET {_vector(hierarchy.offsets[joint], decimals)}",
            " ".join([f"{tab}\tCHANNELS {len(names)}", *names]),
            *sites.get(joint, []),
        ]
        level += 1
    while level > 0:
        level -= 1
        lines.append(_indent(level) + "}")
    return lines


def _indent(level: int) -> str:
    return "\t" * min(level, MAX_INDENT)


def _vector(values: tuple[float, ...], decimals: int) -> str:
    return " ".join(_decimal(value, decimals) for value in values)


def _decimal(value: float, decimals: int) -> str:
    """A number without an exponent and without trailing zeros after the first decimal."""
    text = f"{value:.{decimals}f}".rstrip("0")
    text = text + "0" if text.endswith(".") else text
    return "0.0" if text == "-0.0" else text


def frame_time_text(fps: float, stored: str) -> str:
    """Seconds between frames: the text that was read if the rate is unchanged, else all digits."""
    if stored and abs(fps * float(stored) - 1.0) < 1e-12:
        return stored
    text = repr(1.0 / fps)
    return text if "e" not in text else f"{1.0 / fps:.20f}".rstrip("0")


def safe_names(names: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Unique names without white space and braces, and a note if any had to change."""
    wanted, taken = set(names), set[str]()
    out = []
    for name in names:
        base = safe = _UNSAFE.sub("_", name.strip()) or "joint"
        number = 1
        while safe in taken or (safe != name and safe in wanted):
            number += 1
            safe = f"{base}_{number}"
        taken.add(safe)
        out.append(safe)
    changed = [f"`{old}` as `{new}`" for old, new in zip(names, out, strict=True) if old != new]
    if not changed:
        return tuple(out), []
    shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
    return tuple(out), [f"BVH names have no spaces or braces: wrote {shown}"]


def losses(clip: Clip, written: Skeleton) -> list[str]:
    """Notes on what BVH cannot hold of a clip.

    Args:
        clip: The clip to write.
        written: Its skeleton, with the joints in the order of the file.
    """
    skeleton = clip.skeleton
    notes = describe_lost_joints(skeleton, "BVH has")
    if written.names != skeleton.names:
        notes.append("BVH lists joints in tree order: read back, they come in another order")
    renamed = [end.name for end in skeleton.ends if not end.name.startswith(f"{end.joint}_end")]
    if renamed:
        notes.append(f"BVH has no names for end points: those of {len(renamed)}, such as `{renamed[0]}`, are left out")
    if clip.motion is None:
        notes.append("there is no motion: one frame of the rest pose is written")
    return notes


POSITION_CHANNELS, ROTATION_CHANNELS = CHANNELS[:3], ("Zrotation", "Xrotation", "Yrotation")
"""The channels of clips that were not read from BVH: positions at the root, angles everywhere."""

MAX_LOST_ANGLE_RADIANS = 1e-6
"""A joint gets more channels if an angle without a channel is larger than this."""

ROTATIONS_PER_BLOCK = 1 << 18
"""Rotations converted to angles together. This bounds the memory."""

MAX_UNCHANGED = 1e-4
"""Up to which difference a number, in degrees or the file's unit, is the one that was read."""

Channels = tuple[tuple[str, ...], ...]


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a BVH file.

    A clip read from BVH keeps the file's unit, up axis, names, channels, frame time and branch of Euler angles. Any
    other clip is written in centimetres with Y up, as most programs expect, with angles in the order Z, X, Y.

    Args:
        clip: What to write; without a motion, one frame of the rest pose is written.
        stream: The file to write to.
        options: Unit and up axis, if they are to be others.

    Returns:
        What BVH could not hold, a sentence each.
    """
    from_bvh = clip.format == "bvh"
    unit = options.unit or (clip.unit if from_bvh else UNITS["cm"])
    up = options.up or (clip.up if from_bvh else "Y")
    layout = clip.layout if isinstance(clip.layout, BvhLayout) and clip.layout.fits(clip.skeleton) else None
    motion = in_tree_order(rest_motion(clip.skeleton) if clip.motion is None else clip.motion)
    body = to_file_axes(motion, unit, up)
    original = _original_values(layout, motion.num_frames) if (unit, up) == (clip.unit, clip.up) else None
    channels = layout.channels if layout else _default_channels(motion)
    angles = _angles(body, columns_of(channels), original)
    adds = layout.adds if layout else np.zeros(len(channels), bool)
    channels, added = _add_missing_channels(body, channels, angles)
    names, renamed = (body.names, []) if layout else safe_names(body.names)
    hierarchy = _hierarchy(replace(body, names=names), channels, layout)
    same = layout is not None and channels == layout.channels
    values = _values(body, hierarchy, angles, adds, original if same else None)
    if adds.any() and not _same_numbers(values, original):
        # A changed motion is written so that it is the same for programs that never add, as Blender.
        adds = np.zeros_like(adds)
        values = _values(body, hierarchy, angles, adds, None)
    hierarchy, values, moved = _make_unambiguous(body, hierarchy, angles, adds, values)
    write_text(
        stream,
        hierarchy,
        values,
        frame_time=frame_time_text(motion.fps, layout.frame_time if layout else ""),
        unit=unit,
        encoding=layout.encoding if layout else "utf-8",
    )
    return (*losses(clip, motion.skeleton), *added, *moved, *renamed)


def _original_values(layout: BvhLayout | None, frames: int) -> Array | None:
    """(F, C) the numbers that were read; without the reference pose if the motion has one frame less."""
    if layout is None or layout.values is None:
        return None
    shorter = layout.reference_frame == 0 and len(layout.values) == frames + 1
    return layout.values[1:] if shorter else layout.values


def _default_channels(motion: Motion) -> Channels:
    below = ROTATION_CHANNELS if motion.offsets is None else POSITION_CHANNELS + ROTATION_CHANNELS
    return (POSITION_CHANNELS + ROTATION_CHANNELS,) + (below,) * (motion.skeleton.num_joints - 1)


def _angles(body: FileMotion, columns: BvhColumns, original: Array | None) -> Array:
    """(F, J, 3) Euler angles in radians, in each joint's order and in the branch of the original angles, if any."""
    out = np.empty((*body.rotations.shape[:2], 3))
    frames = len(out)
    for order, members in columns.groups().items():
        step = max(ROTATIONS_PER_BLOCK // frames, 1)
        for start in range(0, len(members), step):
            joints = members[start : start + step]
            rotations = body.rotations[:, joints]
            near = None if original is None else _original_angles(original, columns.rotations[joints])
            if near is not None and len(near) == frames:
                out[:, joints] = to_euler(rotations, order, near=near)
            else:
                out[:, joints] = to_euler_curve(rotations, order, near=None if near is None else near[0])
    return out


def _original_angles(values: Array, columns: np.ndarray) -> Array:
    """(F, n, 3) the angles that were read for some joints, radians; zero if there is no channel."""
    angles = np.radians(values[:, columns])
    angles[:, columns < 0] = 0.0
    return angles


def _add_missing_channels(body: FileMotion, channels: Channels, angles: Array) -> tuple[Channels, list[str]]:
    """Add the channels that the motion needs and the layout lacks. Returns all channels and a note."""
    columns = columns_of(channels)
    lacks_angle = (columns.rotations < 0) & (np.abs(angles).max(axis=0) > MAX_LOST_ANGLE_RADIANS)
    lacks_position = columns.positions < 0
    rounding = MAX_OFFSET_ROUNDING_PER_BODY_SIZE * float(np.abs(body.offsets).max())
    tolerance = max(rounding, 1e-9 * float(np.abs(body.root).max()), 1e-9)
    lacks_position[0] &= np.abs(body.root - body.offsets[0]).max(axis=0) > tolerance
    if body.frame_offsets is None:
        lacks_position[1:] = False
    else:
        lacks_position[1:] &= np.abs(body.frame_offsets - body.offsets).max(axis=0)[1:] > tolerance
    extended = list(channels)
    for joint in np.flatnonzero(lacks_angle.any(axis=1) | lacks_position.any(axis=1)).tolist():
        positions = [name for name in channels[joint] if name.endswith("position")]
        rotations = [name for name in channels[joint] if name.endswith("rotation")]
        if lacks_position[joint].any():
            positions = list(POSITION_CHANNELS)
        if lacks_angle[joint].any():
            rotations = [f"{axis}rotation" for axis in columns.orders[joint]]
        extended[joint] = (*positions, *rotations)
    count = sum(new != old for new, old in zip(extended, channels, strict=True))
    notes = [f"{count} joints move in ways their channels did not allow and were given more channels"] if count else []
    return tuple(extended), notes


def _hierarchy(body: FileMotion, channels: Channels, layout: BvhLayout | None) -> Hierarchy:
    labels = layout.site_labels if layout and len(layout.site_labels) == len(body.sites) else ()
    sites = tuple(
        Site(joint=joint, offset=tuple(offset.tolist()), label=labels[i] if labels else "Site")
        for i, (joint, offset) in enumerate(body.sites)
    )
    return Hierarchy(
        names=body.names,
        parents=tuple(body.parents.tolist()),
        offsets=tuple(map(tuple, body.offsets.tolist())),
        channels=channels,
        sites=sites,
    )


def _same_numbers(values: Array, original: Array | None) -> bool:
    """Whether the numbers of the motion section are those that were read."""
    if original is None or original.shape != values.shape:
        return False
    return np.allclose(values, original, rtol=1e-6, atol=MAX_UNCHANGED)


def _values(body: FileMotion, hierarchy: Hierarchy, angles: Array, adds: np.ndarray, original: Array | None) -> Array:
    """(F, C) the numbers of the motion section, in degrees and the file's unit."""
    columns = columns_of(hierarchy.channels)
    out = np.empty((len(body.root), hierarchy.width))
    joints, axes = np.nonzero(columns.rotations >= 0)
    out[:, columns.rotations[joints, axes]] = np.degrees(angles[:, joints, axes])
    tolerance = MAX_OFFSET_ROUNDING_PER_BODY_SIZE * body_size(hierarchy)
    for joint, axis in np.argwhere(columns.positions >= 0).tolist():
        column = columns.positions[joint, axis]
        base = body.offsets[joint, axis] if adds[joint] else 0.0
        if joint == 0:
            out[:, column] = body.root[:, axis] - base
        elif body.frame_offsets is not None:
            out[:, column] = body.frame_offsets[:, joint, axis] - base
        else:
            out[:, column] = body.offsets[joint, axis] - base
        if original is None or len(original) != len(out):
            continue
        if np.max(np.abs(out[:, column] - original[:, column])) <= tolerance:
            out[:, column] = original[:, column]
    return out


def _make_unambiguous(
    body: FileMotion, hierarchy: Hierarchy, angles: Array, adds: np.ndarray, values: Array
) -> tuple[Hierarchy, Array, list[str]]:
    """Change OFFSETs or values so that a reader decides correctly whether position channels are added to OFFSET."""
    columns = columns_of(hierarchy.channels)
    read_as, _ = decide_adds(hierarchy, columns, values)
    if adds.any() and not np.array_equal(read_as, adds):
        adds = np.zeros_like(adds)
        values = _values(body, hierarchy, angles, adds, None)
        read_as, _ = decide_adds(hierarchy, columns, values)
    wrong = np.flatnonzero(read_as & ~adds)
    if len(wrong) == 0:
        return hierarchy, values, []
    offsets = list(hierarchy.offsets)
    for joint in wrong.tolist():
        offsets[joint] = (0.0, 0.0, 0.0)
    note = (
        f"OFFSET of {len(wrong)} joints whose position channels stay at zero is written as zero, or they would be added"
    )
    return replace(hierarchy, offsets=tuple(offsets)), values, [note]
