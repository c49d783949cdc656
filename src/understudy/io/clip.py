"""Clips and their files: a file's content with what is needed to write it back, formats, reading and writing.

The ending of a name selects the format. No partial file is ever left.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path, PurePath
from pkgutil import iter_modules
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import (
    FileError,
    MotionError,
    OptionError,
    UnderstudyError,
    UnknownNameError,
    nearest_names,
    refuse_unknown_keywords,
)
from understudy.base.files import open_to_read, open_to_write
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.measures import height as body_height
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.figure.skin import Mesh

UNITS = {
    "m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "cmu": 0.0254 / 0.45,
}  # fmt: skip
"""Metres in a unit, by name; `cmu` is the unit of the CMU motion capture database."""

UP_AXES = ("X", "Y", "Z", "-X", "-Y", "-Z")

MAX_FPS = 10_000.0
"""The highest frame rate that a user may request."""

MIN_FILE_FPS = 0.4
"""The lowest frame rate of a file with several frames. Frame times in milliseconds make rates below it."""

_HALF = np.sqrt(0.5)

_WORLD_FROM_FILE = {
    "X": [_HALF, 0.0, 0.0, _HALF], "Y": [1.0, 0.0, 0.0, 0.0], "Z": [_HALF, -_HALF, 0.0, 0.0],
    "-X": [_HALF, 0.0, 0.0, -_HALF], "-Y": [0.0, 1.0, 0.0, 0.0], "-Z": [_HALF, _HALF, 0.0, 0.0],
}  # fmt: skip


def parse_unit(text: str) -> float:
    """Metres in a unit, which is a name ("cm") or a number of metres ("0.0254")."""
    if text.lower() in UNITS:
        return UNITS[text.lower()]
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and value > 0.0):
        raise OptionError(f"Expected a unit, one of {', '.join(UNITS)} or a number of metres; got `{text}`")
    return value


def parse_up(text: str) -> str:
    """The up axis (X, Y, Z, or -X, -Y, -Z where it points down) in upper case; raises for other texts."""
    if text.upper() not in UP_AXES:
        raise OptionError(f"Expected an up axis, one of {', '.join(UP_AXES)}; got `{text}`")
    return text.upper()


def name_unit(unit: float) -> str:
    """The name of a unit, or its number of metres if it has no name."""
    for name, metres in UNITS.items():
        if abs(metres - unit) < 1e-4 * metres:
            return name
    return f"{unit:g} m"


def world_from_file(up: str) -> Array:
    """(4,) rotation from a file's world, with that axis up, to the library's world with Y up."""
    return np.array(_WORLD_FROM_FILE[up])


def check_fps(fps: float) -> None:
    """Refuse an impossible frame rate: a rate that is far too high would fill the memory with frames."""
    if not (np.isfinite(fps) and fps > 0.0):
        raise OptionError(f"Expected frames per second above zero, got {fps:g}")
    if fps > MAX_FPS:
        raise OptionError(f"Expected at most {MAX_FPS:g} frames per second, got {fps:g}")


@record
class Clip:
    """A character, its motion if it has one, and the conventions of its file."""

    skeleton: Skeleton
    motion: Motion | None = None
    """None for a file without a motion."""
    format: str = ""
    """The format it was read from; empty for a clip that was not read from a file."""
    unit: float = 1.0
    """Metres in one unit of the file."""
    unit_reason: str = "made in metres"
    """How the unit was determined."""
    up: str = "Y"
    """The file's up axis: "X", "Y" or "Z", or "-X", "-Y" or "-Z" if that axis points down."""
    up_reason: str = "made with Y up"
    """How the up axis was determined."""
    notes: tuple[str, ...] = ()
    """Peculiarities of the file, a sentence each."""
    dropped: tuple[str, ...] = ()
    """What the reader left out, a sentence each."""
    clips: tuple[str, ...] = ()
    """The names of all animations in the file, for formats that hold several; the motion is one of them."""
    empty_clips: tuple[str, ...] = ()
    """Those animations of the file that move no joint of the character, such as an empty `Take 001`."""
    still_clips: tuple[str, ...] = ()
    """Those animations of the file that hold the character in one pose."""
    others: Callable[[], tuple[Motion, ...]] | None = None
    """Reads the animations of the file, to write them into one of another format; None where the user chose one."""
    more_motions: tuple[Motion, ...] = ()
    """Further motions of the skeleton for a writer of a format that holds several."""
    meshes: tuple[Mesh, ...] = ()
    """The meshes that are bound to the skeleton's joints."""
    extras: tuple[str, ...] = ()
    """What else of the character only its own file keeps, such as `spring bones`."""
    make_skin: Callable[[Skeleton], tuple[Mesh, ...]] | None = None
    """Makes the meshes of a character without any, such as a sample, when it is shown or written."""
    layout: Any = None
    """What the format's own writer needs to write the same file: channel orders, original angles, comments."""

    def __repr__(self) -> str:
        what = repr(self.skeleton if self.motion is None else self.motion)[1:-1]
        return f"<Clip ({self.format or 'made here'}) with {what}>"

    def _repr_html_(self) -> str:
        from html import escape

        return escape(repr(self)) if self.motion is None else self.motion._repr_html_()

    def __post_init__(self) -> None:
        if self.motion is not None and self.motion.skeleton is not self.skeleton:
            raise MotionError("A clip's motion must be of the clip's skeleton")

    def shown_meshes(self) -> tuple[Mesh, ...]:
        """The meshes to show or write: the character's, or those made for it."""
        if self.meshes or self.make_skin is None:
            return self.meshes
        return self.make_skin(self.skeleton)

    @staticmethod
    def of(thing: Clip | Motion | Skeleton) -> Clip:
        """A clip of a motion or skeleton; a clip is returned as it is."""
        if isinstance(thing, Motion):
            return Clip(skeleton=thing.skeleton, motion=thing)
        if isinstance(thing, Skeleton):
            return Clip(skeleton=thing)
        return thing


@record(eq=True)
class ReadOptions:
    """Options for reading a file."""

    unit: float | None = None
    """Metres in one unit; None to guess."""
    up: str | None = None
    """The up axis, "X", "Y" or "Z"; None to guess."""
    lenient: bool = False
    """Read a damaged motion up to the damage, and report what was dropped."""
    skeleton: str | None = None
    """The skeleton's file, for formats with a separate one (AMC); None to look for it in the motion's folder."""
    clip: str | None = None
    """The name of the animation to read, for formats that hold several; None for the first that moves joints."""
    fps: float | None = None
    """Frames per second, for files of robots that do not state it."""
    joint_order: str | None = None
    """The order of a robot's joints, `mjcf`, `urdf`, `isaac` or a robot's file; None for the file's own."""
    quaternion_order: str | None = None
    """`wxyz` or `xyzw`, for files of robots; None for the file's or the usual one."""


@record(eq=True)
class WriteOptions:
    """Options for writing a file."""

    unit: float | None = None
    """Metres in one unit; None for the clip's own."""
    up: str | None = None
    """The up axis; None for the clip's own."""
    bake: bool = False
    """Whether every joint gets a key for its place and its rotation at every frame, also where nothing moves."""
    path: str = ""
    """The file's name, which selects the variant of formats with several endings; empty for the first."""
    fps: float | None = None
    """Frames per second of a robot's motion; None for the motion's, or 50 in files for training."""
    joint_order: str | None = None
    """The order of a robot's joints, `mjcf`, `urdf`, `isaac` or a robot's file; None for the format's usual one."""
    quaternion_order: str | None = None
    """`wxyz` or `xyzw`, for a robot's motion; None for the format's usual one."""


@record(eq=True)
class Format:
    """A file format. Every module or folder of `io` with a `FORMAT` or `FORMATS` is found automatically."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    """Lower case, with the dot."""
    read: Callable[[BinaryIO, str, ReadOptions], Clip] | None = None
    write: Callable[[Clip, BinaryIO, WriteOptions], tuple[str, ...]] | None = None
    """Returns what the format could not hold, a sentence each."""
    meshes: bool = False
    """Whether files of this format hold meshes."""
    motions: bool = False
    """Whether files of this format count as motions when a folder is searched for motions."""
    several: bool = False
    """Whether a file can hold several animations."""
    changing_bones: bool = False
    """Whether bones may change their length from frame to frame."""
    besides: tuple[str, ...] = ()
    """Endings of files that a file of this format may refer to."""
    family: str = ""
    """The format whose files these are too, so that a character of one is written into its own file as the other."""
    metres: bool = False
    """Whether files are in metres with Y up by definition."""


def describe_lost_joints(skeleton: Skeleton, title: str) -> list[str]:
    """Notes on the kinds and limits of joints, which files of a format cannot hold.

    Args:
        skeleton: The body to write.
        title: What holds neither, in the plural or singular: `BVH has`, `USD skeletons have`.
    """
    notes = []
    special = [kind for kind in skeleton.kinds[1:] if kind is not JointKind.BALL]
    if special:
        kinds = ", ".join(sorted(set(special)))
        notes.append(f"{title} no kinds of joints: {len(special)} of {kinds} kind turn freely")
    limited = int(np.count_nonzero(np.isfinite(skeleton.limits).any(axis=(1, 2))))
    if limited:
        notes.append(f"{title} no limits: those of {limited} joints are left out")
    return notes


def lazy_function(module: str, function: str) -> Callable[..., Any]:
    """A function whose module is imported at the first call, so that unused formats cost nothing."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), function)(*arguments)

    return call


def lazy_format(module: str, *, name: str, title: str, suffixes: tuple[str, ...], motions: bool = False) -> Format:
    """A format whose functions `read` and `write` are in one module, which is imported when one of them is called."""
    read, write = lazy_function(module, "read"), lazy_function(module, "write")
    return Format(name=name, title=title, suffixes=suffixes, read=read, write=write, motions=motions)


def choose_clip_index(names: tuple[str, ...], wanted: str | None, name: str, first: int = 0) -> int | None:
    """The index of the requested animation; None if the file has none.

    Args:
        names: The file's animations.
        wanted: The requested name; None for the first that moves joints.
        name: The file, for errors.
        first: The index of the first animation that moves joints.
    """
    if wanted is None:
        return first if names else None
    if wanted in names:
        return names.index(wanted)
    if not names:
        raise OptionError(f"{name}: holds no named animations, so there is no `{wanted}` to choose")
    raise UnknownNameError(
        f"{name}: holds no animation `{wanted}`; {nearest_names(wanted, names)}",
        hint=f"`understudy info {name}` lists them",
    )


MAX_LISTED_CLIPS = 4
"""Animations that a note lists by name."""


def describe_clip_choice(
    names: tuple[str, ...], chosen: int | None, empty: tuple[str, ...], wanted: str | None, name: str
) -> list[str]:
    """Notes on which of a file's animations is read, how to read another, and which are empty.

    Args:
        names: The file's animations.
        chosen: The index of the one that is read.
        empty: Those that move no joint.
        wanted: The requested name; None if none was requested.
        name: The file.
    """
    notes = []
    if chosen is not None and len(names) > 1 and wanted is None:
        which = "the first" if chosen == 0 else "the first that moves joints"
        others = [other for other in names if other != names[chosen] and other not in empty]
        listed = ", ".join(f"`{PurePath(name).name}#{other}`" for other in others[:MAX_LISTED_CLIPS])
        more = ", ..." if len(others) > MAX_LISTED_CLIPS else ""
        choice = f"; others: {listed}{more}" if others else ""
        notes.append(f"{len(names)} {_CHOICE} `{names[chosen]}`, {which}, is read{choice}")
    notes += [f"animation `{other}` {_EMPTY}" for other in empty]
    return notes


_CHOICE, _EMPTY = "animations;", "moves no joint of the character"


def notes_on_clips(clip: Clip) -> list[str]:
    """Those notes of a clip that say which of the file's animations is read and which are empty."""
    return [note for note in clip.notes if _CHOICE in note or note.endswith(_EMPTY)]


SHARED = ("clip", "child", "guess", "look", "matrices", "surface")
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


OTHER_ENDINGS = {
    ".dae": "Collada is not read or written: use FBX or glTF; Blender up to 4.5 converts it",
    ".blend": "export FBX or glTF from Blender",
    ".max": "export FBX from 3ds Max",
    ".ma": "export FBX from Maya", ".mb": "export FBX from Maya",
    ".trc": "markers are read from C3D",
    ".zip": "unpack it first", ".gz": "unpack it first",
}  # fmt: skip
"""What to do with files of other kinds, by their ending."""


def format_of(path: str | Path, *, written: bool = False) -> Format:
    """The format of a file by its ending. Raises an error that lists the endings if there is none.

    Args:
        path: The file.
        written: Whether the file will be written: the error lists what can be.
    """
    suffix = Path(path).suffix.lower()
    # A format whose folder has the name of the ending is found without loading the others.
    likely = (
        _formats_in(suffix[1:]) if (Path(__file__).parent / suffix[1:] / "__init__.py").is_file() and suffix else ()
    )
    for item in (*likely, *(() if any(suffix in item.suffixes for item in likely) else formats().values())):
        if suffix in item.suffixes:
            return item
    listed = [item for item in formats().values() if (item.write if written else item.read) is not None]
    endings = ", ".join(suffix for item in listed for suffix in item.suffixes)
    sample = "samples are written as files by `understudy samples NAME -o FILE`" if _is_sample(path) else ""
    if str(path) == "-":
        sample = "`convert`, `retarget`, `info` and `evaluate` read and write streams"
    ending = f"no format ends in `{suffix}`" if suffix else "the name has no ending to tell its format by"
    can = "can be written" if written else "can be read"
    raise FileError(str(path), None, f"{ending}; {can}: {endings}", hint=sample or OTHER_ENDINGS.get(suffix, ""))


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
    fps: float | None = None,
    joint_order: str | None = None,
    quaternion_order: str | None = None,
) -> Clip:
    """Read a character or motion file.

    Args:
        path: The file; its ending selects the format. The name of an animation may follow: `fox.glb#Walk`.
        unit: The file's unit, a name ("cm") or metres. If not given, the file's own is used, or one is guessed.
        up: The file's up axis ("Y", "Z"). If not given, the file's own is used, or one is guessed.
        lenient: Read a damaged motion up to the damage; `clip.dropped` says what was left out.
        skeleton: The skeleton's file, for formats with a separate one (AMC).
        clip: The name of the animation to read, if the file holds several; the first that moves joints if not given.
        height: The body's height, metres from sole to crown, instead of a unit.
        fps: Frames per second of a robot's motion in a file that does not state it.
        joint_order: The order of a robot's joints in its motion: `mjcf`, `urdf`, `isaac` or the file of a robot. If not
            given, the file's own, or the usual one of its format.
        quaternion_order: `wxyz` or `xyzw`, for a robot's motion. If not given, the file's own, or the usual one.
    """
    if fps is not None:
        check_fps(fps)
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
        fps=fps,
        joint_order=joint_order,
        quaternion_order=quaternion_order,
    )
    chosen = format_of(path)
    if chosen.read is None:
        raise FileError(str(path), None, f"{chosen.title} files can be written, not read")
    with open_to_read(path) as stream:
        result = chosen.read(stream, str(path), options)
    choose_clip_index(result.clips, clip, str(path))
    if result.motion is not None and result.motion.num_frames > 1:
        _refuse_wrong_time_unit(result.motion.fps, str(path))
    if clip is None and chosen.several and chosen.meshes and result.clips:
        result = replace(result, others=partial(_read_all, str(path), result, lenient))
    return result


def _read_all(path: str, first: Clip, lenient: bool) -> tuple[Motion, ...]:
    """All animations of a file that hold or move the character; those that cannot be read are left out."""
    motions = []
    for name in first.clips:
        if first.motion is not None and name == first.motion.name:
            motions.append(first.motion)
        elif name not in first.empty_clips:
            with suppress(UnderstudyError):
                other = read(path, unit=first.unit, up=first.up, lenient=lenient, clip=name).motion
                motions += [] if other is None else [other]
    return tuple(motions)


def _refuse_wrong_time_unit(fps: float, name: str) -> None:
    """Refuse a motion whose frames are so far apart or so close together that its times are in another unit."""
    if MIN_FILE_FPS <= fps <= MAX_FPS:
        return
    guesses = [("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9), ("minutes", 1 / 60)]
    likely = next(((unit, fps * factor) for unit, factor in guesses if 10.0 <= fps * factor <= 1000.0), None)
    hint = "write the time of a frame in seconds into the file"
    if likely is not None:
        hint = f"counted in {likely[0]} that makes {likely[1]:.4g} frames a second: {hint}, {1.0 / likely[1]:.6g}"
    seconds = 1.0 / fps if fps > 0.0 else float("inf")
    raise FileError(
        name, None, f"a frame lasts {seconds:.4g} s; expected {1 / MAX_FPS:g} to {1 / MIN_FILE_FPS:g} s", hint=hint
    )


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
    bake: bool = False,
    fps: float | None = None,
    joint_order: str | None = None,
    quaternion_order: str | None = None,
    others: bool = True,
) -> tuple[str, ...]:
    """Write a clip, motion or skeleton to a file. An existing file is replaced only when the new one is complete.

    Args:
        thing: What to write. A clip that was read keeps its file's unit, axes, orders and names.
        path: The file; its ending selects the format.
        unit: The unit to write in, a name or metres; the clip's unit if not given.
        up: The up axis to write; the clip's up axis if not given.
        bake: Whether every joint gets a key for its place and its rotation at every frame, also where nothing moves.
        fps: Frames per second of a robot's motion; the motion's if not given, or 50 in files for training.
        joint_order: The order of a robot's joints: `mjcf`, `urdf`, `isaac` or the file of a robot; the format's usual
            one if not given.
        quaternion_order: `wxyz` or `xyzw`, for a robot's motion; the format's usual one if not given.
        others: Whether the other animations of the character's file are written too, where the format holds several.
            A file of the character's own format keeps them anyway.

    Returns:
        What the format could not hold, a sentence each.
    """
    options = WriteOptions(
        unit=None if unit is None else parse_unit(str(unit)),
        up=None if up is None else parse_up(up),
        path=str(path),
        bake=bake,
        fps=fps,
        joint_order=joint_order,
        quaternion_order=quaternion_order,
    )
    if fps is not None:
        check_fps(fps)
    chosen = format_of(path, written=True)
    if chosen.write is None:
        written = ", ".join(suffix for item in formats().values() if item.write for suffix in item.suffixes)
        raise OptionError(f"{chosen.title} files can be read, not written: `{path}`", hint=f"written are {written}")
    clip = Clip.of(thing)
    if chosen.meshes and clip.make_skin is not None:
        clip = replace(clip, meshes=clip.shown_meshes())
    if others and clip.motion is not None and takes_others(clip, chosen):
        clip = replace(clip, more_motions=_other_motions(clip))
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


def in_own_file(clip: Clip, chosen: Format) -> bool:
    """Whether a clip is written into the file that it was read from, so that whatever else is in the file stays."""
    own = formats().get(clip.format)
    if own is None or (own.family or own.name) != (chosen.family or chosen.name):
        return False
    fits: Callable[[Skeleton], bool] | None = getattr(clip.layout, "fits", None)
    return clip.layout is not None and (fits is None or fits(clip.skeleton))


def takes_others(clip: Clip, chosen: Format) -> bool:
    """Whether a new file of a format gets the other animations of the file that a clip was read from."""
    return clip.others is not None and chosen.several and chosen.meshes and not in_own_file(clip, chosen)


def _other_motions(clip: Clip) -> tuple[Motion, ...]:
    """The other animations of the file that a clip was read from, where they are for its body as it is."""
    assert clip.others is not None
    body = clip.skeleton

    def fits(other: Skeleton) -> bool:
        same = other.names == body.names and np.array_equal(other.parents, body.parents)
        return same and np.allclose(other.offsets, body.offsets, atol=1e-9) and np.allclose(other.rest, body.rest)

    name = None if clip.motion is None else clip.motion.name
    return tuple(
        replace(motion, skeleton=body) for motion in clip.others() if motion.name != name and fits(motion.skeleton)
    )


def _not_held(clip: Clip, chosen: Format) -> list[str]:
    """Notes on what a file of a clip will not hold: meshes, other animations, and what only its own file keeps."""
    if in_own_file(clip, chosen):
        return []
    notes = []
    if clip.meshes and not chosen.meshes:
        count = len(clip.meshes)
        notes.append(f"{chosen.title} holds no meshes: {'one is' if count == 1 else f'{count} are'} left out")
    written = {motion.name for motion in (clip.motion, *clip.more_motions) if motion is not None}
    others = [name for name in clip.clips if name not in (*written, *clip.empty_clips)]
    if others and clip.motion is None:
        notes.append(f"no motion is written: the file's animations are left out, {len(others)} of them")
    elif others and clip.more_motions:
        notes.append(f"{len(others)} of the file's animations are left out: {', '.join(others)[:200]}")
    elif others:
        notes.append(f"only one motion is written; the file's other animations are left out, {len(others)} of them")
    if clip.extras and chosen.meshes:
        notes.append(f"only the character's own file keeps its {', '.join(clip.extras)}")
    return notes
