"""Writing BVH: the same file back where it was read from one, and plain channels for what was made here."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from understudy.base.euler import to_euler, to_euler_curve
from understudy.base.quaternion import IDENTITY, Array, conjugate, multiply, rotate
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.io.bvh.reader import (
    CHANNELS,
    SAME,
    BvhColumns,
    BvhLayout,
    Hierarchy,
    Site,
    body_size,
    columns_of,
    decide_adds,
)
from understudy.io.clip import Clip, WriteOptions
from understudy.io.units import UNITS, world_from_file


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


FINEST = 1e-8
"""Metres: positions are written at least this finely, up to eight decimals."""

ANGLE_DECIMALS = 6

ROWS_AT_ONCE = 512

DEEPEST_INDENT = 40
"""Lines are set in no further than this, or a chain of thousands of joints would be mostly white space."""

_UNSAFE = re.compile(r"[\s{}]+")


def write_text(
    stream: BinaryIO, hierarchy: Hierarchy, values: Array, *, frame_time: str, unit: float, encoding: str
) -> None:
    """Write both sections of a BVH file.

    Args:
        stream: Where to.
        hierarchy: Joints in tree order.
        values: (F, C) degrees and the file's unit.
        frame_time: Seconds between frames, as text.
        unit: Metres in one unit: decides how many decimals positions get.
        encoding: Of the names; UTF-8 is taken where it cannot hold them.
    """
    decimals = max(6, min(8, math.ceil(math.log10(unit / FINEST) - 1e-9)))
    text = "\n".join(["HIERARCHY", *_joint_lines(hierarchy, decimals + 2), "MOTION"])
    text += f"\nFrames: {len(values)}\nFrame Time: {frame_time}\n"
    try:
        stream.write(text.encode(encoding))
    except UnicodeEncodeError:
        stream.write(text.encode("utf-8"))
    places = [
        decimals if name.endswith("position") else ANGLE_DECIMALS for names in hierarchy.channels for name in names
    ]
    row = " ".join(f"%.{count}f" for count in places) + "\n"
    # Half a unit of the last decimal, so that what rounds to zero is written without a sign.
    tiny = 0.5 * 10.0 ** -np.array(places, float)
    for start in range(0, len(values), ROWS_AT_ONCE):
        part = values[start : start + ROWS_AT_ONCE]
        part = np.where(np.abs(part) <= tiny, 0.0, part)
        stream.write("".join([row % tuple(numbers) for numbers in part.tolist()]).encode("ascii"))


def _joint_lines(hierarchy: Hierarchy, decimals: int) -> list[str]:
    """The lines of all joints; a stack of closing braces takes the place of recursion."""
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
    return "\t" * min(level, DEEPEST_INDENT)


def _vector(values: tuple[float, ...], decimals: int) -> str:
    return " ".join(_decimal(value, decimals) for value in values)


def _decimal(value: float, decimals: int) -> str:
    """A number without an exponent, and without more zeros at the end than one."""
    text = f"{value:.{decimals}f}".rstrip("0")
    text = text + "0" if text.endswith(".") else text
    return "0.0" if text == "-0.0" else text


def frame_time_text(fps: float, kept: str) -> str:
    """Seconds between frames: the file's own words if they still say the same rate, else every digit there is."""
    if kept and abs(fps * float(kept) - 1.0) < 1e-12:
        return kept
    text = repr(1.0 / fps)
    return text if "e" not in text else f"{1.0 / fps:.20f}".rstrip("0")


def safe_names(names: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Names without white space and braces, all different, and a sentence if any had to change."""
    known, taken = set(names), set[str]()
    out = []
    for name in names:
        base = safe = _UNSAFE.sub("_", name.strip()) or "joint"
        number = 1
        while safe in taken or (safe != name and safe in known):
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
    """What of a clip BVH cannot hold, a sentence each.

    Args:
        clip: What is being written.
        written: Its skeleton, in the order its joints are written.
    """
    skeleton = clip.skeleton
    said = []
    special = [kind for kind in skeleton.kinds[1:] if kind is not JointKind.BALL]
    if special:
        said.append(f"BVH has no kinds of joints: {len(special)} of {', '.join(sorted(set(special)))} kind turn freely")
    limited = int(np.count_nonzero(np.isfinite(skeleton.limits).any(axis=(1, 2))))
    if limited:
        said.append(f"BVH has no limits: those of {limited} joints are left out")
    if written.names != skeleton.names:
        said.append("BVH lists joints in tree order: read back, they come in another order")
    renamed = [end.name for end in skeleton.ends if not end.name.startswith(f"{end.joint}_end")]
    if renamed:
        said.append(f"BVH has no names for end points: those of {len(renamed)}, such as `{renamed[0]}`, are left out")
    if clip.motion is None:
        said.append("there is no motion: one frame of the rest pose is written")
    return said


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
    layout = clip.layout if isinstance(clip.layout, BvhLayout) and clip.layout.fits(clip.skeleton) else None
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


def _hint(layout: BvhLayout | None, frames: int) -> Array | None:
    """(F, C) the file's own numbers; those without the reference pose where the motion has one frame less."""
    if layout is None or layout.values is None:
        return None
    shorter = layout.reference_frame == 0 and len(layout.values) == frames + 1
    return layout.values[1:] if shorter else layout.values


def _default_channels(motion: Motion) -> Channels:
    below = ANGLES if motion.offsets is None else POSITIONS + ANGLES
    return (POSITIONS + ANGLES,) + (below,) * (motion.skeleton.num_joints - 1)


def _angles(body: Baked, columns: BvhColumns, hint: Array | None) -> Array:
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


def _hierarchy(body: Baked, channels: Channels, layout: BvhLayout | None) -> Hierarchy:
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
