"""BVH, the Biovision hierarchy: joints with offsets and channels, then one row of numbers a frame.

A BVH file says neither its unit nor which way is up: both are guessed from the body (`guess.py`) unless given. Angles
are kept as the file has them beside the rotations, so that what is written back is the same file.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import BinaryIO

import numpy as np

from understudy.errors import FileError, MotionError, SkeletonError
from understudy.io.bvh_body import in_metres, motion_of, skeleton_of
from understudy.io.bvh_hierarchy import Hierarchy, parse_hierarchy
from understudy.io.bvh_layout import Layout, columns_of, decide_adds
from understudy.io.bvh_motion import Block, parse_motion
from understudy.io.bvh_write import write
from understudy.io.clip import Clip, Format, ReadOptions
from understudy.io.guess import guess, reference_frame, still_tail
from understudy.motion import Motion

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
            return _clip(hierarchy, block, encoding, PurePath(name).stem, options)
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


def _clip(hierarchy: Hierarchy, block: Block | None, encoding: str, title: str, options: ReadOptions) -> Clip:
    columns = columns_of(hierarchy.channels)
    skeleton = skeleton_of(hierarchy, columns.orders, title)
    motion, reference, adds = None, None, np.zeros(len(hierarchy.names), bool)
    notes: list[str] = []
    if block is not None:
        adds, notes = decide_adds(hierarchy, columns, block.values)
        motion = motion_of(skeleton, hierarchy, block, columns, adds)
        reference = reference_frame(motion)
        notes += _oddities(motion, reference)
    found = guess(skeleton, motion, unit=options.unit, up=options.up)
    skeleton, motion = in_metres(skeleton, motion, found.unit, found.up)
    return Clip(
        skeleton=skeleton,
        motion=motion,
        format="bvh",
        unit=found.unit,
        unit_reason=found.unit_reason,
        up=found.up,
        up_reason=found.up_reason,
        notes=tuple(notes),
        dropped=block.dropped if block else (),
        layout=Layout(
            names=hierarchy.names,
            parents=hierarchy.parents,
            channels=hierarchy.channels,
            site_labels=tuple(site.label for site in hierarchy.sites),
            adds=adds,
            frame_time=block.frame_time if block else "",
            values=block.values if block else None,
            encoding=encoding,
            reference_frame=reference,
        ),
    )


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


FORMAT = Format(name="bvh", title="BVH", suffixes=(".bvh",), read=read, write=write)
