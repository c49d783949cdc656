"""What a file holds, and what is needed to write the same file back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO

from understudy.base.errors import MotionError, OptionError, UnknownNameError, nearest_names
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh


@dataclass(frozen=True, eq=False, kw_only=True)
class Clip:
    """A character and perhaps its motion, with the file's own conventions beside them."""

    skeleton: Skeleton
    motion: Motion | None = None
    """None for a file that holds a character only."""
    format: str = ""
    """The format it was read from; empty for what was made here."""
    unit: float = 1.0
    """Metres in one unit of the file."""
    unit_reason: str = "made in metres"
    """How the unit was found."""
    up: str = "Y"
    """The file's up axis: "X", "Y" or "Z"."""
    up_reason: str = "made with Y up"
    """How the up axis was found."""
    notes: tuple[str, ...] = ()
    """What is odd about the file, a sentence each."""
    dropped: tuple[str, ...] = ()
    """What was left out in reading, a sentence each."""
    clips: tuple[str, ...] = ()
    """The names of all animations in the file, for formats that hold several; the motion is one of them."""
    meshes: tuple[Mesh, ...] = ()
    """The surfaces that the skeleton's joints carry."""
    layout: Any = None
    """What the format's own writer keeps: channel orders, original angles, comments."""

    def __repr__(self) -> str:
        what = repr(self.skeleton if self.motion is None else self.motion)[1:-1]
        return f"<Clip ({self.format or 'made here'}) with {what}>"

    def _repr_html_(self) -> str:
        return repr(self) if self.motion is None else self.motion._repr_html_()

    def __post_init__(self) -> None:
        if self.motion is not None and self.motion.skeleton is not self.skeleton:
            raise MotionError("A clip's motion must be of the clip's skeleton")

    @staticmethod
    def of(thing: Clip | Motion | Skeleton) -> Clip:
        """A clip of something made in the library."""
        if isinstance(thing, Motion):
            return Clip(skeleton=thing.skeleton, motion=thing)
        if isinstance(thing, Skeleton):
            return Clip(skeleton=thing)
        return thing


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a file where it does not say itself."""

    unit: float | None = None
    """Metres in one unit; None to guess."""
    up: str | None = None
    """The up axis, "X", "Y" or "Z"; None to guess."""
    lenient: bool = False
    """Read a damaged motion up to the damage, and say what was dropped."""
    skeleton: str | None = None
    """The file with the skeleton, for formats that keep it apart (AMC); None to look beside the motion."""
    clip: str | None = None
    """The animation to read by name, for formats that hold several; None for the first."""


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """How to write a file."""

    unit: float | None = None
    """Metres in one unit; None for the clip's own."""
    up: str | None = None
    """The up axis; None for the clip's own."""
    path: str = ""
    """The file being written, for formats with several endings; empty for the first of them."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A kind of file. A module or folder of `io` with a `FORMAT`, or with several in `FORMATS`, is found by itself."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    """Lower case, with the dot."""
    read: Callable[[BinaryIO, str, ReadOptions], Clip] | None = None
    write: Callable[[Clip, BinaryIO, WriteOptions], tuple[str, ...]] | None = None
    """Returns what the format could not hold, a sentence each."""
    meshes: bool = False
    """Whether files of this kind hold meshes."""
    motions: bool = False
    """Whether a file of this kind is taken for a motion where a folder is searched for motions."""
    several: bool = False
    """Whether a file of this kind can hold several animations."""
    changing_bones: bool = False
    """Whether bones may change their length from frame to frame."""
    besides: tuple[str, ...] = ()
    """Endings of files that a file of this kind may refer to."""


def loaded_on_use(module: str, function: str) -> Callable[..., Any]:
    """A function of a module that is imported when the function is first called: unused formats cost nothing."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), function)(*arguments)

    return call


def choose_clip(names: tuple[str, ...], wanted: str | None, name: str) -> int | None:
    """The number of the animation that is asked for: the first if none is named, None where there are none.

    Args:
        names: The file's animations.
        wanted: The name asked for.
        name: The file, for errors.
    """
    if wanted is None:
        return 0 if names else None
    if wanted in names:
        return names.index(wanted)
    if not names:
        raise OptionError(f"{name}: holds no named animations, so there is no `{wanted}` to choose")
    raise UnknownNameError(
        f"{name}: holds no animation `{wanted}`; {nearest_names(wanted, names)}",
        hint=f"`understudy info {name}` lists them",
    )
