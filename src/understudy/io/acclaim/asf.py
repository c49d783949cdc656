"""Acclaim skeleton files (ASF): a character without motion. `acclaim` says what their numbers mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError, OptionError, nearest_names
from understudy.base.quaternion import Array, unrotate
from understudy.figure.skeleton import Skeleton
from understudy.io.acclaim.text import (
    INCH,
    MOVES,
    STRETCH,
    TURNS,
    AcclaimLayout,
    Bone,
    Section,
    build_skeleton,
    read_lines,
    split_sections,
)
from understudy.io.clip import Clip, ReadOptions, WriteOptions
from understudy.io.units import unit_name, world_from_file

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


NOT_NEEDED = ("version", "documentation", "namespace")

ROOT_WORDS = ("order", "axis", "position", "orientation")

KEPT_WORDS = ("id", "bodymass", "cofmass")

BONE_WORDS = ("id", "name", "direction", "length", "axis", "dof", "limits", "bodymass", "cofmass", "end")

LIKELY_SIZE = (0.2, 5.0)
"""Metres; the unit is doubted when the body is smaller or larger."""


@dataclass
class _Found:
    """What has been read of a file so far."""

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
    found = _Found()
    # The hierarchy names the bones, so it is read when they are known, wherever it stands.
    for section in sorted(sections.values(), key=lambda section: section.keyword == "hierarchy"):
        _read_section(section, found, options)
    layout = AcclaimLayout(
        bones=tuple(found.bones.values()),
        parents=_from_root_down(found, name),
        degrees=found.degrees,
        length=found.length,
        mass=found.mass,
        documentation=_remarks(sections.get("documentation")),
        **found.root,
    )
    unit, unit_reason = _unit(found, options)
    up = options.up or "Y"
    skeleton = build_skeleton(layout, found.name, unit, up)
    found.notes += _doubts(skeleton, unit)
    return Clip(
        skeleton=skeleton,
        format="asf",
        unit=unit,
        unit_reason=unit_reason,
        up=up,
        up_reason="given" if options.up else "Acclaim files have Y up by convention",
        notes=tuple(found.notes),
        dropped=tuple(found.dropped),
        layout=layout,
    )


def _remarks(section: Section | None) -> tuple[str, ...]:
    if section is None:
        return ()
    return tuple(line for line in (section.first_line, *section.lines) if line)


def _unit(found: _Found, options: ReadOptions) -> tuple[float, str]:
    """Metres in one unit of the file, and how it is known."""
    if options.unit is not None:
        return options.unit, "given"
    if found.length is None:
        return INCH, "inches, as the file gives no unit of length"
    return INCH / found.length, f"the file's `length {found.length:g}`: 1/{found.length:g} inch"


def _doubts(skeleton: Skeleton, unit: float) -> list[str]:
    size = float(np.max(np.ptp(np.concatenate([skeleton.rest_world[0], skeleton.rest_ends]), axis=0)))
    if LIKELY_SIZE[0] <= size <= LIKELY_SIZE[1]:
        return []
    return [f"The body measures {size:.3g} m when a unit is {unit_name(unit)}: perhaps another unit is meant."]


def _read_section(section: Section, found: _Found, options: ReadOptions) -> None:
    if section.keyword == "name":
        found.name = section.first_line
    elif section.keyword == "units":
        _read_units(section, found)
    elif section.keyword == "root":
        _read_root(section, found)
    elif section.keyword == "bonedata":
        while section.peek() is not None:
            _read_bone(section, found, options)
    elif section.keyword == "hierarchy":
        _read_hierarchy(section, found)
    elif section.keyword not in NOT_NEEDED:
        found.notes.append(f"Section `:{section.keyword}` was not read.")


def _read_units(section: Section, found: _Found) -> None:
    while section.peek() is not None:
        key = section.take("a unit").lower()
        if key == "length":
            found.length = section.number("the unit of length")
            if not 1e-9 < found.length < 1e9:
                section.fail(f"expected a unit of length above zero; found {found.length:g}")
        elif key == "angle":
            word = section.take("`deg` or `rad`").lower()
            if word[:3] not in ("deg", "rad"):
                section.fail(f"expected angles in `deg` or `rad`; found `{word}`")
            found.degrees = word[:3] == "deg"
        elif key == "mass":
            found.mass = section.number("the unit of mass")
        else:
            section.fail(f"expected a unit, one of mass, length, angle; found `{key}`")


def _read_root(section: Section, found: _Found) -> None:
    while section.peek() is not None:
        key = section.take("a property of the root").lower()
        if key == "order":
            found.root["order"] = section.channels((*MOVES, *TURNS), ROOT_WORDS, "the root")
        elif key == "axis":
            found.root["root_axis"] = section.axis_order("the order of the root's orientation")
        elif key in ("position", "orientation"):
            value = found.root[key] = section.three(f"the root's {key}")
            if any(value):
                found.notes.append(f"The root has a preset {key}: {value[0]:g} {value[1]:g} {value[2]:g}.")
        else:
            section.fail(f"expected a property of the root, one of {', '.join(ROOT_WORDS)}; found `{key}`")
    if not found.root.get("order"):
        section.fail("the root gives no `order` of its channels")


def _read_bone(section: Section, found: _Found, options: ReadOptions) -> None:
    opening = section.take("`begin`")
    if opening.lower() != "begin":
        section.fail(f"expected `begin` of a bone; found `{opening}`")
    start = section.line
    given, lines = _read_properties(section)
    for wanted in ("name", "direction", "length"):
        if wanted not in given:
            section.fail(f"this bone has no `{wanted}`", line=start)
    name = given["name"]
    if name == "root" or name in found.bones:
        section.fail(f"a second bone is called `{name}`", line=lines["name"])
    flat = given.pop("limits", ())
    bone = Bone(
        limits=tuple(zip(flat[::2], flat[1::2], strict=False)),
        extras=tuple((key, value) for key, value in given.items() if key in KEPT_WORDS),
        **{key: value for key, value in given.items() if key not in KEPT_WORDS},
    )
    if flat and len(flat) != 2 * len(bone.dof):
        problem = f"bone `{name}` has {len(bone.dof)} freedoms, so {2 * len(bone.dof)} limits; found {len(flat)}"
        section.fail(problem, line=lines["limits"])
    _check_freedoms(section, bone, lines, found, options)
    found.bones[name] = _with_unit_direction(section, bone, lines, found)
    found.bone_lines[name] = start


def _read_properties(section: Section) -> tuple[dict[str, Any], dict[str, int]]:
    """What stands between a bone's `begin` and `end`, and in which lines."""
    given: dict[str, Any] = {}
    lines: dict[str, int] = {}
    start = section.line
    while (word := section.take("`end` of a bone")).lower() != "end":
        key = word.lower()
        if key in lines:
            section.fail(f"a second `{key}` of one bone, which began in line {start}")
        lines[key] = section.line
        if key == "name":
            given[key] = section.take("the bone's name")
        elif key == "direction":
            given[key] = section.three("the bone's direction")
        elif key == "length":
            given[key] = section.number("the bone's length")
        elif key in KEPT_WORDS:
            given[key] = section.take(f"the bone's {key}")
        elif key == "axis":
            given[key] = section.three("the bone's axis angles")
            given["order"] = section.axis_order("the order of the bone's axis angles")
        elif key == "dof":
            given[key] = section.channels((*TURNS, *MOVES, STRETCH), BONE_WORDS, "a bone")
        elif key == "limits":
            given[key] = section.limits()
        else:
            section.fail(f"expected a property of a bone, one of {', '.join(BONE_WORDS)}; found `{word}`")
    return given, lines


def _check_freedoms(section: Section, bone: Bone, lines: dict[str, int], found: _Found, options: ReadOptions) -> None:
    extra = [channel for channel in bone.dof if channel not in TURNS]
    if extra and not options.lenient:
        section.fail(
            f"bone `{bone.name}` moves by `{extra[0]}`; of bones other than the root only turning (rx, ry, rz) is read",
            line=lines["dof"],
            hint="reading leniently keeps the turning and leaves the rest out",
        )
    if extra:
        found.dropped.append(f"Channels {', '.join(extra)} of bone `{bone.name}` were left out: they do not turn it.")
    if any(low > high for low, high in bone.limits):
        found.notes.append(f"Limits of bone `{bone.name}` stand the wrong way round and were turned about.")


def _with_unit_direction(section: Section, bone: Bone, lines: dict[str, int], found: _Found) -> Bone:
    """The bone with a direction of length one, as the format wants it."""
    size = float(np.linalg.norm(bone.direction))
    if bone.length < 0.0:
        section.fail(f"bone `{bone.name}` has a length below zero: {bone.length:g}", line=lines["length"])
    if bone.length > 0.0 and size < 1e-9:
        section.fail(f"bone `{bone.name}` is {bone.length:g} long and has no direction", line=lines["direction"])
    # Files round to six digits: what is that near to length one is left as it is.
    if bone.length == 0.0 or abs(size - 1.0) < 1e-3:
        return bone
    found.notes.append(f"The direction of bone `{bone.name}` has length {size:g}; it was brought to 1.")
    x, y, z = bone.direction
    return replace(bone, direction=(x / size, y / size, z / size))


def _read_hierarchy(section: Section, found: _Found) -> None:
    opening = section.take("`begin`")
    if opening.lower() != "begin":
        section.fail(f"expected `begin` of the hierarchy; found `{opening}`")
    known = ["root", *found.bones]
    while (parent := section.take("`end` of the hierarchy")).lower() != "end":
        children = section.rest_of_line()
        for name in (parent, *children):
            if name not in known:
                section.fail(f"the hierarchy names bone `{name}`, which has no data; {nearest_names(name, known)}")
        for child in children:
            if child == "root":
                section.fail(f"the root cannot hang from `{parent}`")
            if child in found.parents:
                section.fail(f"bone `{child}` hangs from both `{found.parents[child]}` and `{parent}`")
            found.parents[child] = parent
    if (left := section.peek()) is not None:
        section.take("nothing")
        section.fail(f"expected nothing after the hierarchy's `end`; found `{left}`")


def _from_root_down(found: _Found, file: str) -> dict[str, str]:
    """Every bone's parent, each bone after its parent and a limb at a time."""
    children: dict[str, list[str]] = {}
    for child, parent in found.parents.items():
        children.setdefault(parent, []).append(child)
    ordered: dict[str, str] = {}
    waiting = children.get("root", [])[::-1]
    while waiting:
        bone = waiting.pop()
        ordered[bone] = found.parents[bone]
        waiting += children.get(bone, [])[::-1]
    for bone, line in found.bone_lines.items():
        if bone not in ordered:
            raise FileError(file, line, f"bone `{bone}` does not hang from the root in the hierarchy")
    return ordered
