"""Writing BVH: the same file back where it was read from one, and plain channels for what was made here."""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

import numpy as np

from understudy.geometry.euler import to_euler, to_euler_curve
from understudy.geometry.quaternion import Array
from understudy.io.bvh_bake import Baked, bake, in_tree_order
from understudy.io.bvh_hierarchy import CHANNELS, Hierarchy, Site
from understudy.io.bvh_layout import SAME, Columns, Layout, body_size, columns_of, decide_adds
from understudy.io.bvh_text import frame_time_text, losses, safe_names, write_text
from understudy.io.clip import Clip, WriteOptions
from understudy.io.units import UNITS
from understudy.motion import Motion, rest_motion

POSITIONS, ANGLES = CHANNELS[:3], ("Zrotation", "Xrotation", "Yrotation")
"""The channels of what was made here: positions at the root, angles everywhere."""

SMALL_ANGLE = 1e-6
"""Radians; an angle that has no channel may be this large before the joint gets one."""

AT_ONCE = 1 << 18
"""Rotations turned into angles together, which bounds the memory it takes."""

Channels = tuple[tuple[str, ...], ...]


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a BVH file.

    A clip read from BVH keeps the file's unit, up axis, names, channels, frame time and way of counting angles.
    Anything else is written in centimetres with Y up, which is what most programs take a BVH for, with angles
    in the order Z, X, Y.

    Args:
        clip: What to write; without a motion, one frame of the rest pose is written.
        stream: Where to.
        options: Unit and up axis, if not these.

    Returns:
        What BVH could not hold, a sentence each.
    """
    ours = clip.format == "bvh"
    unit = options.unit or (clip.unit if ours else UNITS["cm"])
    up = options.up or (clip.up if ours else "Y")
    layout = clip.layout if isinstance(clip.layout, Layout) and clip.layout.fits(clip.skeleton) else None
    motion = in_tree_order(rest_motion(clip.skeleton) if clip.motion is None else clip.motion)
    body = bake(motion, unit, up)
    hint = _hint(layout, motion.num_frames) if (unit, up) == (clip.unit, clip.up) else None
    channels = layout.channels if layout else _default_channels(motion)
    angles = _angles(body, columns_of(channels), hint)
    adds = layout.adds if layout else np.zeros(len(channels), bool)
    channels, added = _enough_channels(body, channels, angles)
    names, renamed = (body.names, []) if layout else safe_names(body.names)
    hierarchy = _hierarchy(replace(body, names=names), channels, layout)
    same = layout is not None and channels == layout.channels
    values = _values(body, hierarchy, angles, adds, hint if same else None)
    hierarchy, values, moved = _unambiguous(body, hierarchy, angles, adds, values)
    write_text(
        stream,
        hierarchy,
        values,
        frame_time=frame_time_text(motion.fps, layout.frame_time if layout else ""),
        unit=unit,
        encoding=layout.encoding if layout else "utf-8",
    )
    return (*losses(clip, motion.skeleton), *added, *moved, *renamed)


def _hint(layout: Layout | None, frames: int) -> Array | None:
    """(F, C) the file's own numbers; those without the reference pose where the motion has one frame less."""
    if layout is None or layout.values is None:
        return None
    shorter = layout.reference_frame == 0 and len(layout.values) == frames + 1
    return layout.values[1:] if shorter else layout.values


def _default_channels(motion: Motion) -> Channels:
    below = ANGLES if motion.offsets is None else POSITIONS + ANGLES
    return (POSITIONS + ANGLES,) + (below,) * (motion.skeleton.num_joints - 1)


def _angles(body: Baked, columns: Columns, hint: Array | None) -> Array:
    """(F, J, 3) radians in each joint's order of turning, in the branch of the file's own numbers if there are any."""
    out = np.empty((*body.rotations.shape[:2], 3))
    frames = len(out)
    for order, members in columns.groups().items():
        step = max(AT_ONCE // frames, 1)
        for start in range(0, len(members), step):
            joints = members[start : start + step]
            rotations = body.rotations[:, joints]
            near = None if hint is None else _hinted(hint, columns.rotations[joints])
            if near is not None and len(near) == frames:
                out[:, joints] = to_euler(rotations, order, near=near)
            else:
                out[:, joints] = to_euler_curve(rotations, order, near=None if near is None else near[0])
    return out


def _hinted(values: Array, columns: np.ndarray) -> Array:
    """(F, n, 3) the file's own angles of some joints, radians; zero where there is no channel."""
    angles = np.radians(values[:, columns])
    angles[:, columns < 0] = 0.0
    return angles


def _enough_channels(body: Baked, channels: Channels, angles: Array) -> tuple[Channels, list[str]]:
    """The channels, with those added that the motion needs and the file's layout lacks."""
    columns = columns_of(channels)
    lacks_angle = (columns.rotations < 0) & (np.abs(angles).max(axis=0) > SMALL_ANGLE)
    lacks_place = columns.positions < 0
    nearly = max(SAME * float(np.abs(body.offsets).max()), 1e-9 * float(np.abs(body.root).max()), 1e-9)
    lacks_place[0] &= np.abs(body.root - body.offsets[0]).max(axis=0) > nearly
    if body.frame_offsets is None:
        lacks_place[1:] = False
    else:
        lacks_place[1:] &= np.abs(body.frame_offsets - body.offsets).max(axis=0)[1:] > nearly
    grown = list(channels)
    for joint in np.flatnonzero(lacks_angle.any(axis=1) | lacks_place.any(axis=1)).tolist():
        places = [name for name in channels[joint] if name.endswith("position")]
        turns = [name for name in channels[joint] if name.endswith("rotation")]
        if lacks_place[joint].any():
            places = list(POSITIONS)
        if lacks_angle[joint].any():
            turns = [f"{axis}rotation" for axis in columns.orders[joint]]
        grown[joint] = (*places, *turns)
    count = sum(new != old for new, old in zip(grown, channels, strict=True))
    said = [f"{count} joints move in ways their channels did not allow and were given more channels"] if count else []
    return tuple(grown), said


def _hierarchy(body: Baked, channels: Channels, layout: Layout | None) -> Hierarchy:
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


def _values(body: Baked, hierarchy: Hierarchy, angles: Array, adds: np.ndarray, hint: Array | None) -> Array:
    """(F, C) the numbers of the motion section, degrees and the file's unit."""
    columns = columns_of(hierarchy.channels)
    out = np.empty((len(body.root), hierarchy.width))
    joints, turns = np.nonzero(columns.rotations >= 0)
    out[:, columns.rotations[joints, turns]] = np.degrees(angles[:, joints, turns])
    nearly = SAME * body_size(hierarchy)
    for joint, axis in np.argwhere(columns.positions >= 0).tolist():
        column = columns.positions[joint, axis]
        base = body.offsets[joint, axis] if adds[joint] else 0.0
        if joint == 0:
            out[:, column] = body.root[:, axis] - base
        elif body.frame_offsets is not None:
            out[:, column] = body.frame_offsets[:, joint, axis] - base
        else:
            out[:, column] = body.offsets[joint, axis] - base
        if hint is not None and len(hint) == len(out) and np.max(np.abs(out[:, column] - hint[:, column])) <= nearly:
            out[:, column] = hint[:, column]
    return out


def _unambiguous(
    body: Baked, hierarchy: Hierarchy, angles: Array, adds: np.ndarray, values: Array
) -> tuple[Hierarchy, Array, list[str]]:
    """The same, changed where a reader would take channels to add to OFFSET that do not, or the other way round."""
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
    said = (
        f"OFFSET of {len(wrong)} joints whose position channels stay at zero is written as zero, or they would be added"
    )
    return replace(hierarchy, offsets=tuple(offsets)), values, [said]
