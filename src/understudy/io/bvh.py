"""BVH, the Biovision hierarchy: joints with offsets and channels, then one row of numbers a frame.

A BVH file says neither its unit nor which way is up: both are guessed from the body (`guess.py`) unless given. Angles
are kept as the file has them beside the rotations, so that what is written back is the same file.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import BinaryIO

import numpy as np

from understudy.errors import FileError, MotionError, SkeletonError
from understudy.geometry.quaternion import Array, multiply, rotate
from understudy.io.bvh_hierarchy import Hierarchy, parse_hierarchy
from understudy.io.bvh_layout import Layout, columns_of, decide_adds, offsets_of, root_of, rotations_of
from understudy.io.bvh_motion import Block, parse_motion
from understudy.io.bvh_write import write
from understudy.io.clip import Clip, Format, ReadOptions
from understudy.io.guess import guess, reference_frame, still_tail
from understudy.io.units import unit_name, world_from_file
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton

_MOTION = re.compile(rb"(?im)(?:^|\})[ \t]*(MOTION)(?![^\s:])")


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a BVH file.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
        options: Unit and up axis, if known, and whether to read a damaged motion up to the damage.
    """
    hierarchy, block, encoding = _parse(stream.read(), name, lenient=options.lenient)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return _clip(hierarchy, block, encoding, options)
    except (SkeletonError, MotionError) as error:
        raise FileError(name, None, f"the numbers make no body: {error.message}") from None


def _parse(data: bytes, name: str, *, lenient: bool) -> tuple[Hierarchy, Block | None, str]:
    """The two sections of the file, and the encoding of its names."""
    if not data or data.isspace():
        raise FileError(name, 1, "the file is empty; expected `HIERARCHY`")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(name, 1, "the text is UTF-16", hint="save it as UTF-8")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise FileError(name, line, "found a zero byte: this is a binary file, not a BVH")
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found = _MOTION.search(data)
    header = data if found is None else data[: found.start(1)]
    text, encoding = _decoded(header.removeprefix(b"\xef\xbb\xbf"))
    hierarchy = parse_hierarchy(text + ("" if found is None else "MOTION"), name)
    if found is None:
        return hierarchy, None, encoding
    line = header.count(b"\n") + 1
    motion = data[found.end(1) :]
    del data
    return hierarchy, parse_motion(motion, line, hierarchy.width, name, lenient=lenient), encoding


def _decoded(data: bytes) -> tuple[str, str]:
    try:
        return data.decode("utf-8").replace("\r\n", "\n"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1").replace("\r\n", "\n"), "latin-1"


def _clip(hierarchy: Hierarchy, block: Block | None, encoding: str, options: ReadOptions) -> Clip:
    columns = columns_of(hierarchy.channels)
    skeleton = _skeleton(hierarchy, columns.orders)
    motion, reference, adds = None, None, np.zeros(len(hierarchy.names), bool)
    notes: list[str] = []
    if block is not None:
        block.values.setflags(write=False)
        adds, notes = decide_adds(hierarchy, columns, block.values)
        moved = offsets_of(block.values, hierarchy, columns, adds)
        motion = Motion(
            skeleton=skeleton,
            fps=1.0 / float(block.frame_time),
            root=_frozen(root_of(block.values, hierarchy, columns, adds)),
            rotations=_frozen(rotations_of(block.values, columns)),
            offsets=None if moved is None else _frozen(moved),
        )
        reference = reference_frame(motion)
        notes += _oddities(motion, reference)
    guessed = guess(skeleton, motion) if options.unit is None or options.up is None else None
    unit, up = options.unit or 0.0, options.up or ""
    unit_reason, up_reason = f"{unit_name(unit) if unit else ''}: given", f"{up} is up: given"
    if guessed is not None and options.unit is None:
        unit, unit_reason = guessed.unit, guessed.unit_reason
    if guessed is not None and options.up is None:
        up, up_reason = guessed.up, guessed.up_reason
    layout = Layout(
        names=hierarchy.names,
        parents=hierarchy.parents,
        channels=hierarchy.channels,
        site_labels=tuple(site.label for site in hierarchy.sites),
        adds=adds,
        frame_time=block.frame_time if block else "",
        values=block.values if block else None,
        encoding=encoding,
        reference_frame=reference,
    )
    skeleton, motion = _in_metres(skeleton, motion, unit, up)
    return Clip(
        skeleton=skeleton,
        motion=motion,
        format="bvh",
        unit=unit,
        unit_reason=unit_reason,
        up=up,
        up_reason=up_reason,
        notes=tuple(notes),
        dropped=block.dropped if block else (),
        layout=layout,
    )


def _skeleton(hierarchy: Hierarchy, orders: tuple[str, ...]) -> Skeleton:
    """The skeleton in the file's own unit and axes."""
    taken = set(hierarchy.names)
    ends = []
    for site in hierarchy.sites:
        base = f"{hierarchy.names[site.joint]}_end"
        title, number = base, 1
        while title in taken:
            number += 1
            title = f"{base}{number}"
        taken.add(title)
        ends.append(Point(name=title, joint=hierarchy.names[site.joint], offset=np.array(site.offset)))
    return Skeleton(
        names=hierarchy.names,
        parents=np.array(hierarchy.parents),
        offsets=np.array(hierarchy.offsets),
        axes=np.array([np.eye(3)[["XYZ".index(axis) for axis in order]] for order in orders]),
        ends=tuple(ends),
    )


def _in_metres(skeleton: Skeleton, motion: Motion | None, unit: float, up: str) -> tuple[Skeleton, Motion | None]:
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


def _oddities(motion: Motion, reference: int | None) -> list[str]:
    notes = []
    if motion.offsets is not None:
        moving = int(np.count_nonzero(np.any(motion.offsets != motion.skeleton.offsets, axis=(0, 2))[1:]))
        notes.append(f"{moving} joints below the root have position channels that say something else than OFFSET")
    if reference is not None:
        notes.append(
            f"frame {reference} is a reference pose, not part of the movement: the pose leaps from it to the next"
        )
    copies = still_tail(motion)
    if copies >= 5:
        notes.append(f"the last {copies} frames are copies of frame {motion.num_frames - 1 - copies}")
    return notes


def _frozen(array: Array) -> Array:
    """The array, made read-only, so that a motion takes it without a copy."""
    array.setflags(write=False)
    return array


FORMAT = Format(name="bvh", title="BVH", suffixes=(".bvh",), read=read, write=write)
