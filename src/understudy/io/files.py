"""Any file in, any file out: the format by the name's ending, writing that never leaves half a file."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from understudy.base.errors import FileError, OptionError, refuse_unknown_keywords
from understudy.base.files import open_to_read, open_to_write
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import Clip, Format, ReadOptions, WriteOptions, choose_clip
from understudy.io.units import parse_unit, parse_up

SHARED = ("clip", "child", "files", "guess", "matrices", "units")
"""Modules of this folder that hold no format."""


@cache
def formats() -> dict[str, Format]:
    """Every known format by name."""
    folder = import_module("understudy.io")
    names = sorted(entry.name for entry in iter_modules(folder.__path__) if entry.name not in SHARED)
    return {known.name: known for name in names for known in _formats_in(name)}


def _formats_in(name: str) -> tuple[Format, ...]:
    """The formats of one module or folder."""
    module = import_module(f"understudy.io.{name}")
    return (module.FORMAT,) if hasattr(module, "FORMAT") else tuple(module.FORMATS)


def format_of(path: str | Path) -> Format:
    """The format of a file by its ending, or an error that lists the known ones."""
    suffix = Path(path).suffix.lower()
    # A format that is called as files of it end is found without loading the others.
    likely = (
        _formats_in(suffix[1:]) if (Path(__file__).parent / suffix[1:] / "__init__.py").is_file() and suffix else ()
    )
    for known in (*likely, *(() if any(suffix in each.suffixes for each in likely) else formats().values())):
        if suffix in known.suffixes:
            return known
    endings = ", ".join(s for known in formats().values() for s in known.suffixes)
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
) -> Clip:
    """Read a character or motion file.

    Args:
        path: The file; its ending tells the format. An animation may be named behind it: `fox.glb#Walk`.
        unit: The file's unit, a name ("cm") or metres; guessed if not given and the file does not say.
        up: The file's up axis ("Y", "Z"); guessed likewise.
        lenient: Read a damaged motion up to the damage; `clip.dropped` says what was left out.
        skeleton: The skeleton's file, for formats that keep it apart (AMC).
        clip: The animation to read by name, where a file holds several; the first if not given.
    """
    path, named = split_clip(path)
    clip = named if clip is None else clip
    options = ReadOptions(
        unit=None if unit is None else parse_unit(str(unit)),
        up=None if up is None else parse_up(up),
        lenient=lenient,
        skeleton=None if skeleton is None else str(skeleton),
        clip=clip,
    )
    found = format_of(path)
    if found.read is None:
        raise FileError(str(path), None, f"{found.title} files can be written, not read")
    with open_to_read(path) as stream:
        result = found.read(stream, str(path), options)
    choose_clip(result.clips, clip, str(path))
    return result


@refuse_unknown_keywords
def write(
    thing: Clip | Motion | Skeleton,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
) -> tuple[str, ...]:
    """Write a clip, motion or skeleton to a file; the old file stays until the new one is whole.

    Args:
        thing: What to write. A clip that was read keeps its file's unit, axes, orders and names.
        path: Where to; the ending tells the format.
        unit: The unit to write in, a name or metres; the clip's own if not given.
        up: The up axis to write; the clip's own if not given.

    Returns:
        What the format could not hold, a sentence each.
    """
    options = WriteOptions(
        unit=None if unit is None else parse_unit(str(unit)),
        up=None if up is None else parse_up(up),
        path=str(path),
    )
    found = format_of(path)
    if found.write is None:
        raise OptionError(f"{found.title} files can be read, not written: `{path}`")
    clip = Clip.of(thing)
    with open_to_write(path) as stream:
        lost = found.write(clip, stream, options)
    return (*lost, *_not_held(clip, found))


def split_clip(path: str | Path) -> tuple[Path, str | None]:
    """A file and the animation named behind it, as in `fox.glb#Walk`; a file that has such a name is just itself."""
    text = str(path)
    if "#" in text and not Path(text).exists():
        for place in (i for i, letter in enumerate(text) if letter == "#"):
            if Path(text[:place]).is_file():
                return Path(text[:place]), text[place + 1 :]
    return Path(text), None


def _not_held(clip: Clip, found: Format) -> list[str]:
    """What a file of another format had besides the motion that is written, a sentence each."""
    if found.name == clip.format:
        return []
    said = []
    if clip.meshes and not found.meshes:
        count = len(clip.meshes)
        said.append(f"{found.title} holds no meshes: {'one is' if count == 1 else f'{count} are'} left out")
    others = [name for name in clip.clips if clip.motion is None or name != clip.motion.name]
    if others and clip.motion is None:
        said.append(f"no motion is written: the file's animations are left out, {len(others)} of them")
    elif others:
        said.append(f"only one motion is written; the file's other animations are left out, {len(others)} of them")
    return said
