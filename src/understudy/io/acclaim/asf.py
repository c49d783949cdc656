"""Acclaim skeleton files (ASF): a character without motion. `text.py` explains what their numbers mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError, OptionError, nearest_names
from understudy.base.quaternion import Array, unrotate
from understudy.figure.skeleton import Skeleton
from understudy.io.acclaim.text import (
    INCH_METRES,
    LENGTH_CHANNEL,
    ROTATION_CHANNELS,
    TRANSLATION_CHANNELS,
    AcclaimLayout,
    Bone,
    Section,
    build_skeleton,
    read_lines,
    split_sections,
)
from understudy.io.clip import Clip, ReadOptions, WriteOptions, name_unit, world_from_file

MAX_RELATIVE_CHANGE = 1e-9
"""A number that differs less than this from the one that was read is written as it was read."""


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write the character of a clip that was read from an ASF file, or from an AMC file with one.

    Returns:
        What the file does not hold, a sentence each.
    """
    layout = _check(clip, options)
    unit = options.unit or clip.unit
    length = layout.length if np.isclose(unit, clip.unit, rtol=1e-9) else INCH_METRES / unit
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
        f"   position {_numbers(_keep_unchanged(position, layout.position))}",
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


def _check(clip: Clip, options: WriteOptions) -> AcclaimLayout:
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
        difference = np.abs(getattr(skeleton, what) - getattr(figure, what)).reshape(len(figure.names), -1).max(axis=1)
        if difference.max() > 1e-6:
            joint = figure.names[int(np.argmax(difference))]
            problem = {"rest": "rests another way", "axes": "turns about other axes"}[what]
            raise OptionError(f"Joint `{joint}` {problem} than in its ASF file, which cannot be written")
    return layout


def _vector(bone: Bone, skeleton: Skeleton, unit: float) -> Array:
    """(3,) vector from a bone's start to its end, file units: to the start of its children, or to its end point."""
    joint = skeleton.index[bone.name]
    offsets = [skeleton.offsets[child] for child in skeleton.children[joint]]
    if not offsets:
        offsets = [end.offset for end in skeleton.ends if end.joint == bone.name and end.name == f"{bone.name}_end"]
    if not offsets:
        return bone.vector
    if np.ptp(offsets, axis=0).max() > 1e-6 * unit:
        raise OptionError(f"All children of bone `{bone.name}` must start where it ends; these start in several places")
    return offsets[0] / unit


def _bone_lines(bone: Bone, skeleton: Skeleton, layout: AcclaimLayout, unit: float) -> Iterable[str]:
    joint = skeleton.index[bone.name]
    if layout.parents[bone.name] == "root" and np.abs(skeleton.offsets[joint]).max() > 1e-6 * unit:
        raise OptionError(f"Bone `{bone.name}` must start at the root, and it starts elsewhere")
    vector, length, direction = _vector(bone, skeleton, unit), bone.length, bone.direction
    if not np.allclose(vector, bone.vector, rtol=MAX_RELATIVE_CHANGE, atol=MAX_RELATIVE_CHANGE):
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
    """Limits in the file's order and unit; empty if no channel is limited."""
    pairs: list[tuple[float, ...]] = []
    for k, channel in enumerate(bone.dof):
        pair: tuple[float, ...] = bone.limits[k] if bone.limits else (-np.inf, np.inf)
        if channel in ROTATION_CHANNELS:
            now = limits[len(bone.rotation_channels) - 1 - bone.rotation_channels.index(channel)]
            pair = _keep_unchanged(np.rad2deg(now) if degrees else now, pair if pair[0] <= pair[1] else pair[::-1])
        pairs.append(pair)
    return pairs if np.any(np.isfinite(pairs)) else []


def _keep_unchanged(now: Array, before: tuple[float, ...]) -> tuple[float, ...]:
    """The numbers, replaced by those that were read if they have not changed."""
    return tuple(
        old if np.isclose(new, old, rtol=MAX_RELATIVE_CHANGE, atol=MAX_RELATIVE_CHANGE) else new
        for new, old in zip(now.tolist(), before, strict=True)
    )


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _losses(clip: Clip) -> list[str]:
    notes = []
    if clip.motion is not None:
        notes.append("An ASF file holds no motion; that goes into an AMC file.")
    written = {f"{bone.name}_end" for bone in clip.layout.bones}
    unknown = [end.name for end in clip.skeleton.ends if end.name not in written]
    if unknown:
        notes.append(f"End points that are no bone's end were left out: {', '.join(unknown)}.")
    return notes


IGNORED_SECTIONS = ("version", "documentation", "namespace")

ROOT_WORDS = ("order", "axis", "position", "orientation")

KEPT_WORDS = ("id", "bodymass", "cofmass")

BONE_WORDS = ("id", "name", "direction", "length", "axis", "dof", "limits", "bodymass", "cofmass", "end")

LIKELY_SIZE_METRES = (0.2, 5.0)
"""A note questions the unit if the body is smaller or larger."""


@dataclass
class _Contents:
    """The contents of a file while it is being read."""

    name: str = ""
    length: float | None = None
    """The multiplier of `:units`."""
    mass: float | None = None
    degrees: bool = True
    root: dict[str, Any] = field(default_factory=dict)
    bones: dict[str, Bone] = field(default_factory=dict)
    bone_lines: dict[str, int] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a skeleton."""
    sections = split_sections(read_lines(stream), name)
    for wanted in ("root", "bonedata", "hierarchy"):
        if wanted not in sections:
            raise FileError(name, None, f"has no section `:{wanted}`; expected an Acclaim skeleton (ASF) file")
    contents = _Contents()
    # The hierarchy refers to bones, so it is read after them, wherever it stands in the file.
    for section in sorted(sections.values(), key=lambda section: section.keyword == "hierarchy"):
        _read_section(section, contents, options)
    layout = AcclaimLayout(
        bones=tuple(contents.bones.values()),
        parents=_order_bones(contents, name),
        degrees=contents.degrees,
        length=contents.length,
        mass=contents.mass,
        documentation=_documentation(sections.get("documentation")),
        **contents.root,
    )
    unit, unit_reason = _unit(contents, options)
    up = options.up or "Y"
    skeleton = build_skeleton(layout, contents.name, unit, up)
    contents.notes += _size_notes(skeleton, unit)
    return Clip(
        skeleton=skeleton,
        format="asf",
        unit=unit,
        unit_reason=unit_reason,
        up=up,
        up_reason="given" if options.up else "Acclaim files have Y up by convention",
        notes=tuple(contents.notes),
        dropped=tuple(contents.dropped),
        layout=layout,
    )


def _documentation(section: Section | None) -> tuple[str, ...]:
    if section is None:
        return ()
    return tuple(line for line in (section.first_line, *section.lines) if line)


def _unit(contents: _Contents, options: ReadOptions) -> tuple[float, str]:
    """The file's unit in metres, and the reason."""
    if options.unit is not None:
        return options.unit, "given"
    if contents.length is None:
        return INCH_METRES, "inches, as the file gives no unit of length"
    return INCH_METRES / contents.length, f"the file's `length {contents.length:g}`: 1/{contents.length:g} inch"


def _size_notes(skeleton: Skeleton, unit: float) -> list[str]:
    size = float(np.max(np.ptp(np.concatenate([skeleton.rest_world[0], skeleton.rest_ends]), axis=0)))
    if LIKELY_SIZE_METRES[0] <= size <= LIKELY_SIZE_METRES[1]:
        return []
    return [f"The body measures {size:.3g} m when a unit is {name_unit(unit)}: perhaps another unit is meant."]


def _read_section(section: Section, contents: _Contents, options: ReadOptions) -> None:
    if section.keyword == "name":
        contents.name = section.first_line
    elif section.keyword == "units":
        _read_units(section, contents)
    elif section.keyword == "root":
        _read_root(section, contents)
    elif section.keyword == "bonedata":
        while section.peek() is not None:
            _read_bone(section, contents, options)
    elif section.keyword == "hierarchy":
        _read_hierarchy(section, contents)
    elif section.keyword not in IGNORED_SECTIONS:
        contents.notes.append(f"Section `:{section.keyword}` was not read.")


def _read_units(section: Section, contents: _Contents) -> None:
    while section.peek() is not None:
        key = section.take("a unit").lower()
        if key == "length":
            contents.length = section.number("the unit of length")
            if not 1e-9 < contents.length < 1e9:
                section.fail(f"expected a unit of length above zero; found {contents.length:g}")
        elif key == "angle":
            word = section.take("`deg` or `rad`").lower()
            if word[:3] not in ("deg", "rad"):
                section.fail(f"expected angles in `deg` or `rad`; found `{word}`")
            contents.degrees = word[:3] == "deg"
        elif key == "mass":
            contents.mass = section.number("the unit of mass")
        else:
            section.fail(f"expected a unit, one of mass, length, angle; found `{key}`")


def _read_root(section: Section, contents: _Contents) -> None:
    while section.peek() is not None:
        key = section.take("a property of the root").lower()
        if key == "order":
            channels = (*TRANSLATION_CHANNELS, *ROTATION_CHANNELS)
            contents.root["order"] = section.channels(channels, ROOT_WORDS, "the root")
        elif key == "axis":
            contents.root["root_axis"] = section.axis_order("the order of the root's orientation")
        elif key in ("position", "orientation"):
            value = contents.root[key] = section.three(f"the root's {key}")
            if any(value):
                contents.notes.append(f"The root has a preset {key}: {value[0]:g} {value[1]:g} {value[2]:g}.")
        else:
            section.fail(f"expected a property of the root, one of {', '.join(ROOT_WORDS)}; found `{key}`")
    if not contents.root.get("order"):
        section.fail("the root gives no `order` of its channels")


def _read_bone(section: Section, contents: _Contents, options: ReadOptions) -> None:
    opening = section.take("`begin`")
    if opening.lower() != "begin":
        section.fail(f"expected `begin` of a bone; found `{opening}`")
    start = section.line
    properties, lines = _read_properties(section)
    for wanted in ("name", "direction", "length"):
        if wanted not in properties:
            section.fail(f"this bone has no `{wanted}`", line=start)
    name = properties["name"]
    if name == "root" or name in contents.bones:
        section.fail(f"a second bone is called `{name}`", line=lines["name"])
    flat = properties.pop("limits", ())
    bone = Bone(
        limits=tuple(zip(flat[::2], flat[1::2], strict=False)),
        extras=tuple((key, value) for key, value in properties.items() if key in KEPT_WORDS),
        **{key: value for key, value in properties.items() if key not in KEPT_WORDS},
    )
    if flat and len(flat) != 2 * len(bone.dof):
        problem = f"bone `{name}` has {len(bone.dof)} freedoms, so {2 * len(bone.dof)} limits; found {len(flat)}"
        section.fail(problem, line=lines["limits"])
    _check_freedoms(section, bone, lines, contents, options)
    contents.bones[name] = _with_unit_direction(section, bone, lines, contents)
    contents.bone_lines[name] = start


def _read_properties(section: Section) -> tuple[dict[str, Any], dict[str, int]]:
    """The properties between a bone's `begin` and `end`, and their lines."""
    properties: dict[str, Any] = {}
    lines: dict[str, int] = {}
    start = section.line
    while (word := section.take("`end` of a bone")).lower() != "end":
        key = word.lower()
        if key in lines:
            section.fail(f"a second `{key}` of one bone, which began in line {start}")
        lines[key] = section.line
        if key == "name":
            properties[key] = section.take("the bone's name")
        elif key == "direction":
            properties[key] = section.three("the bone's direction")
        elif key == "length":
            properties[key] = section.number("the bone's length")
        elif key in KEPT_WORDS:
            properties[key] = section.take(f"the bone's {key}")
        elif key == "axis":
            properties[key] = section.three("the bone's axis angles")
            properties["order"] = section.axis_order("the order of the bone's axis angles")
        elif key == "dof":
            channels = (*ROTATION_CHANNELS, *TRANSLATION_CHANNELS, LENGTH_CHANNEL)
            properties[key] = section.channels(channels, BONE_WORDS, "a bone")
        elif key == "limits":
            properties[key] = section.limits()
        else:
            section.fail(f"expected a property of a bone, one of {', '.join(BONE_WORDS)}; found `{word}`")
    return properties, lines


def _check_freedoms(
    section: Section, bone: Bone, lines: dict[str, int], contents: _Contents, options: ReadOptions
) -> None:
    extra = [channel for channel in bone.dof if channel not in ROTATION_CHANNELS]
    if extra and not options.lenient:
        section.fail(
            f"bone `{bone.name}` moves by `{extra[0]}`; of bones other than the root only turning (rx, ry, rz) is read",
            line=lines["dof"],
            hint="lenient reading keeps the rotations and leaves the rest out",
        )
    if extra:
        names = ", ".join(extra)
        contents.dropped.append(f"Channels {names} of bone `{bone.name}` were left out: they do not turn it.")
    if any(low > high for low, high in bone.limits):
        contents.notes.append(f"Limits of bone `{bone.name}` are in the wrong order and were swapped.")


def _with_unit_direction(section: Section, bone: Bone, lines: dict[str, int], contents: _Contents) -> Bone:
    """The bone with a direction of length one, as the format requires."""
    size = float(np.linalg.norm(bone.direction))
    if bone.length < 0.0:
        section.fail(f"bone `{bone.name}` has a length below zero: {bone.length:g}", line=lines["length"])
    if bone.length > 0.0 and size < 1e-9:
        section.fail(f"bone `{bone.name}` is {bone.length:g} long and has no direction", line=lines["direction"])
    # Files round to six digits: what is that near to length one is left as it is.
    if bone.length == 0.0 or abs(size - 1.0) < 1e-3:
        return bone
    contents.notes.append(f"The direction of bone `{bone.name}` has length {size:g}; it was brought to 1.")
    x, y, z = bone.direction
    return replace(bone, direction=(x / size, y / size, z / size))


def _read_hierarchy(section: Section, contents: _Contents) -> None:
    opening = section.take("`begin`")
    if opening.lower() != "begin":
        section.fail(f"expected `begin` of the hierarchy; found `{opening}`")
    bones = ["root", *contents.bones]
    while (parent := section.take("`end` of the hierarchy")).lower() != "end":
        children = section.rest_of_line()
        for name in (parent, *children):
            if name not in bones:
                section.fail(f"the hierarchy names bone `{name}`, which has no data; {nearest_names(name, bones)}")
        for child in children:
            if child == "root":
                section.fail(f"the root cannot hang from `{parent}`")
            if child in contents.parents:
                section.fail(f"bone `{child}` hangs from both `{contents.parents[child]}` and `{parent}`")
            contents.parents[child] = parent
    if (left := section.peek()) is not None:
        section.take("nothing")
        section.fail(f"expected nothing after the hierarchy's `end`; found `{left}`")


def _order_bones(contents: _Contents, file: str) -> dict[str, str]:
    """The parent of every bone, in depth-first order from the root."""
    children: dict[str, list[str]] = {}
    for child, parent in contents.parents.items():
        children.setdefault(parent, []).append(child)
    ordered: dict[str, str] = {}
    stack = children.get("root", [])[::-1]
    while stack:
        bone = stack.pop()
        ordered[bone] = contents.parents[bone]
        stack += children.get(bone, [])[::-1]
    for bone, line in contents.bone_lines.items():
        if bone not in ordered:
            raise FileError(file, line, f"bone `{bone}` does not hang from the root in the hierarchy")
    return ordered
