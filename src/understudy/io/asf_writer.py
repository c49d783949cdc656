"""Writing Acclaim skeleton files: a character that was read from one, perhaps with other lengths and limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

import numpy as np

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array, unrotate
from understudy.io.acclaim import INCH, TURNS, AcclaimLayout, Bone, build_skeleton
from understudy.io.clip import Clip, WriteOptions
from understudy.io.units import world_from_file
from understudy.skeleton import Skeleton

SAME = 1e-9
"""Share of its size up to which a number is still the one that was read, and is written as it was."""


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write the character of a clip that was read from an ASF file, or from an AMC file with one.

    Returns:
        What the file does not hold, a sentence each.
    """
    layout = _checked(clip, options)
    unit = options.unit or clip.unit
    length = layout.length if np.isclose(unit, clip.unit, rtol=1e-9) else INCH / unit
    skeleton = clip.skeleton
    position = unrotate(world_from_file(clip.up), skeleton.offsets[0]) / unit
    lines = [":version 1.10", f":name {skeleton.name or 'unnamed'}", ":units"]
    lines += [f"  mass {layout.mass!r}"] * (layout.mass is not None)
    lines += [f"  length {length!r}"] * (length is not None)
    lines += [f"  angle {'deg' if layout.degrees else 'rad'}"]
    lines += [":documentation", *(f"   {text}" for text in layout.documentation)] * bool(layout.documentation)
    lines += [
        ":root",
        f"   order {' '.join(layout.order).upper()}",
        f"   axis {layout.root_axis}",
        f"   position {_numbers(_kept(position, layout.position))}",
        f"   orientation {_numbers(layout.orientation)}",
        ":bonedata",
    ]
    for bone in layout.bones:
        lines += _bone_lines(bone, skeleton, layout, unit)
    lines += [":hierarchy", "  begin"]
    for parent in dict.fromkeys(layout.parents.values()):
        children = (bone for bone, other in layout.parents.items() if other == parent)
        lines.append(f"    {parent} {' '.join(children)}")
    stream.write(("\n".join([*lines, "  end"]) + "\n").encode())
    return tuple(_losses(clip))


def _checked(clip: Clip, options: WriteOptions) -> AcclaimLayout:
    layout, skeleton = clip.layout, clip.skeleton
    if not isinstance(layout, AcclaimLayout):
        source = clip.format or "no file"
        raise OptionError(
            f"Only a character read from an ASF file can be written as ASF; this one is from {source}",
            hint="write BVH",
        )
    if options.up is not None and options.up != clip.up:
        raise OptionError(f"An ASF file keeps its up axis, {clip.up}; cannot write {options.up}")
    figure = build_skeleton(layout, "", clip.unit, clip.up)
    if skeleton.names != figure.names or not np.array_equal(skeleton.parents, figure.parents):
        raise OptionError("The character's joints are no longer those of its ASF file")
    for what in ("rest", "axes"):
        apart = np.abs(getattr(skeleton, what) - getattr(figure, what)).reshape(len(figure.names), -1).max(axis=1)
        if apart.max() > 1e-6:
            joint = figure.names[int(np.argmax(apart))]
            problem = {"rest": "rests another way", "axes": "turns about other axes"}[what]
            raise OptionError(f"Joint `{joint}` {problem} than in its ASF file, which cannot be written")
    return layout


def _vector(bone: Bone, skeleton: Skeleton, unit: float) -> Array:
    """(3,) from a bone's start to its end, file units: where its children start, or its end point."""
    joint = skeleton.index[bone.name]
    found = [skeleton.offsets[child] for child in skeleton.children[joint]]
    if not found:
        found = [end.offset for end in skeleton.ends if end.joint == bone.name and end.name == f"{bone.name}_end"]
    if not found:
        return bone.vector
    if np.ptp(found, axis=0).max() > 1e-6 * unit:
        raise OptionError(f"All children of bone `{bone.name}` must start where it ends; these start in several places")
    return found[0] / unit


def _bone_lines(bone: Bone, skeleton: Skeleton, layout: AcclaimLayout, unit: float) -> Iterable[str]:
    joint = skeleton.index[bone.name]
    if layout.parents[bone.name] == "root" and np.abs(skeleton.offsets[joint]).max() > 1e-6 * unit:
        raise OptionError(f"Bone `{bone.name}` must start at the root, and it starts elsewhere")
    vector, length, direction = _vector(bone, skeleton, unit), bone.length, bone.direction
    if not np.allclose(vector, bone.vector, rtol=SAME, atol=SAME):
        length = float(np.linalg.norm(vector))
        x, y, z = (vector / length).tolist() if length > 0.0 else direction
        direction = (x, y, z)
    extras = dict(bone.extras)
    yield "  begin"
    if "id" in extras:
        yield f"     id {extras.pop('id')}"
    yield f"     name {bone.name}"
    yield f"     direction {_numbers(direction)}"
    yield f"     length {length!r}"
    yield f"     axis {_numbers(bone.axis)} {bone.order}"
    yield from (f"     {key} {value}" for key, value in extras.items())
    if bone.dof:
        yield f"    dof {' '.join(bone.dof)}"
        limits = _limits(bone, skeleton.limits[joint], layout.degrees)
        yield from (f"    {'limits' if k == 0 else '      '} ({_numbers(pair)})" for k, pair in enumerate(limits))
    yield "  end"


def _limits(bone: Bone, limits: Array, degrees: bool) -> list[tuple[float, ...]]:
    """Limits in the file's order and unit; none where nothing is limited."""
    found: list[tuple[float, ...]] = []
    for k, channel in enumerate(bone.dof):
        pair: tuple[float, ...] = bone.limits[k] if bone.limits else (-np.inf, np.inf)
        if channel in TURNS:
            now = limits[len(bone.turns) - 1 - bone.turns.index(channel)]
            pair = _kept(np.rad2deg(now) if degrees else now, pair if pair[0] <= pair[1] else pair[::-1])
        found.append(pair)
    return found if np.any(np.isfinite(found)) else []


def _kept(now: Array, before: tuple[float, ...]) -> tuple[float, ...]:
    """Numbers as they were read, where they have not changed."""
    return tuple(
        old if np.isclose(new, old, rtol=SAME, atol=SAME) else new
        for new, old in zip(now.tolist(), before, strict=True)
    )


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _losses(clip: Clip) -> list[str]:
    told = []
    if clip.motion is not None:
        told.append("An ASF file holds no motion; that goes into an AMC file.")
    written = {f"{bone.name}_end" for bone in clip.layout.bones}
    odd = [end.name for end in clip.skeleton.ends if end.name not in written]
    if odd:
        told.append(f"End points that are no bone's end were left out: {', '.join(odd)}.")
    return told
