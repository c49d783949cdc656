"""The text of a BVH file: braces and indents, numbers with just enough digits, names that every reader takes."""

from __future__ import annotations

import math
import re
from typing import BinaryIO

import numpy as np

from understudy.geometry.quaternion import Array
from understudy.io.bvh_hierarchy import Hierarchy
from understudy.io.clip import Clip
from understudy.skeleton import JointKind, Skeleton

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
