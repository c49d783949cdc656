"""Reads and writes files of any format. The ending of the name selects the format; no partial file is ever left."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np

from understudy.base.errors import FileError, OptionError, refuse_unknown_keywords
from understudy.base.files import open_to_read, open_to_write
from understudy.figure.measures import height as body_height
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import Clip, Format, ReadOptions, WriteOptions, choose_clip_index, parse_unit, parse_up

SHARED = ("clip", "child", "files", "guess", "matrices")
"""Modules of this folder that hold no format."""


@cache
def formats() -> dict[str, Format]:
    """Every known format by name."""
    folder = import_module("understudy.io")
    names = sorted(entry.name for entry in iter_modules(folder.__path__) if entry.name not in SHARED)
    return {item.name: item for name in names for item in _formats_in(name)}


def _formats_in(name: str) -> tuple[Format, ...]:
    """The formats of one module or folder."""
    module = import_module(f"understudy.io.{name}")
    return (module.FORMAT,) if hasattr(module, "FORMAT") else tuple(module.FORMATS)


def format_of(path: str | Path) -> Format:
    """The format of a file by its ending. Raises an error that lists the known endings if there is none."""
    suffix = Path(path).suffix.lower()
    # A format whose folder has the name of the ending is found without loading the others.
    likely = (
        _formats_in(suffix[1:]) if (Path(__file__).parent / suffix[1:] / "__init__.py").is_file() and suffix else ()
    )
    for item in (*likely, *(() if any(suffix in item.suffixes for item in likely) else formats().values())):
        if suffix in item.suffixes:
            return item
    endings = ", ".join(suffix for item in formats().values() for suffix in item.suffixes)
    sample = "samples are written as files by `understudy samples NAME -o FILE`" if _is_sample(path) else ""
    ending = f"no format ends in `{suffix}`" if suffix else "the name has no ending to tell its format by"
    raise FileError(str(path), None, f"{ending}; known: {endings}", hint=sample)


def _is_sample(path: str | Path) -> bool:
    return str(path).startswith("sample:")


@refuse_unknown_keywords
def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    lenient: bool = False,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    height: float | None = None,
) -> Clip:
    """Read a character or motion file.

    Args:
        path: The file; its ending selects the format. The name of an animation may follow: `fox.glb#Walk`.
        unit: The file's unit, a name ("cm") or metres. If not given, the file's own is used, or one is guessed.
        up: The file's up axis ("Y", "Z"). If not given, the file's own is used, or one is guessed.
        lenient: Read a damaged motion up to the damage; `clip.dropped` says what was left out.
        skeleton: The skeleton's file, for formats with a separate one (AMC).
        clip: The name of the animation to read, if the file holds several; the first if not given.
        height: The body's height, metres from sole to crown, instead of a unit.
    """
    if height is not None:
        unit = _unit_for_height(height, unit, read(path, up=up, lenient=lenient, skeleton=skeleton, clip=clip))
    path, named = split_clip(path)
    clip = named if clip is None else clip
    options = ReadOptions(
        unit=None if unit is None else parse_unit(str(unit)),
        up=None if up is None else parse_up(up),
        lenient=lenient,
        skeleton=None if skeleton is None else str(skeleton),
        clip=clip,
    )
    chosen = format_of(path)
    if chosen.read is None:
        raise FileError(str(path), None, f"{chosen.title} files can be written, not read")
    with open_to_read(path) as stream:
        result = chosen.read(stream, str(path), options)
    choose_clip_index(result.clips, clip, str(path))
    return result


def _unit_for_height(metres: float, unit: str | float | None, clip: Clip) -> float:
    """Metres in the unit of a clip's file with which its body has a height in metres."""
    if unit is not None:
        raise OptionError("Expected a unit or a height, got both")
    if not (np.isfinite(metres) and metres > 0.0):
        raise OptionError(f"Expected a height in metres above zero, got {metres:g}")
    measured = body_height(clip.skeleton)
    if measured < 1e-6 * metres:
        raise OptionError("The body has no height that could be made another: all its joints are in one place")
    return clip.unit * metres / measured


@refuse_unknown_keywords
def write(
    thing: Clip | Motion | Skeleton,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
) -> tuple[str, ...]:
    """Write a clip, motion or skeleton to a file. An existing file is replaced only when the new one is complete.

    Args:
        thing: What to write. A clip that was read keeps its file's unit, axes, orders and names.
        path: The file; its ending selects the format.
        unit: The unit to write in, a name or metres; the clip's unit if not given.
        up: The up axis to write; the clip's up axis if not given.

    Returns:
        What the format could not hold, a sentence each.
    """
    options = WriteOptions(
        unit=None if unit is None else parse_unit(str(unit)),
        up=None if up is None else parse_up(up),
        path=str(path),
    )
    chosen = format_of(path)
    if chosen.write is None:
        raise OptionError(f"{chosen.title} files can be read, not written: `{path}`")
    clip = Clip.of(thing)
    with open_to_write(path) as stream:
        lost = chosen.write(clip, stream, options)
    return (*lost, *_not_held(clip, chosen))


def split_clip(path: str | Path) -> tuple[Path, str | None]:
    """Split `fox.glb#Walk` into the file and the name of an animation. Existing files with a `#` are not split."""
    text = str(path)
    if "#" in text and not Path(text).exists():
        for i in (i for i, letter in enumerate(text) if letter == "#"):
            if Path(text[:i]).is_file():
                return Path(text[:i]), text[i + 1 :]
    return Path(text), None


def _not_held(clip: Clip, chosen: Format) -> list[str]:
    """Notes on the meshes and animations of a clip that a file of another format cannot hold."""
    if chosen.name == clip.format:
        return []
    notes = []
    if clip.meshes and not chosen.meshes:
        count = len(clip.meshes)
        notes.append(f"{chosen.title} holds no meshes: {'one is' if count == 1 else f'{count} are'} left out")
    others = [name for name in clip.clips if clip.motion is None or name != clip.motion.name]
    if others and clip.motion is None:
        notes.append(f"no motion is written: the file's animations are left out, {len(others)} of them")
    elif others:
        notes.append(f"only one motion is written; the file's other animations are left out, {len(others)} of them")
    return notes
