"""The content of a file, with what is needed to write the same file back; and the description of a format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import MotionError, OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh

UNITS = {
    "m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "cmu": 0.0254 / 0.45,
}  # fmt: skip
"""Metres in a unit, by name; `cmu` is the unit of the CMU motion capture database."""

UP_AXES = ("X", "Y", "Z", "-X", "-Y", "-Z")

MAX_FPS = 10_000.0
"""The highest frame rate that a user may request."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
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
    meshes: tuple[Mesh, ...] = ()
    """The meshes that are bound to the skeleton's joints."""
    layout: Any = None
    """What the format's own writer needs to write the same file: channel orders, original angles, comments."""

    def __repr__(self) -> str:
        what = repr(self.skeleton if self.motion is None else self.motion)[1:-1]
        return f"<Clip ({self.format or 'made here'}) with {what}>"

    def _repr_html_(self) -> str:
        return escape(repr(self)) if self.motion is None else self.motion._repr_html_()

    def __post_init__(self) -> None:
        if self.motion is not None and self.motion.skeleton is not self.skeleton:
            raise MotionError("A clip's motion must be of the clip's skeleton")

    @staticmethod
    def of(thing: Clip | Motion | Skeleton) -> Clip:
        """A clip of a motion or skeleton; a clip is returned as it is."""
        if isinstance(thing, Motion):
            return Clip(skeleton=thing.skeleton, motion=thing)
        if isinstance(thing, Skeleton):
            return Clip(skeleton=thing)
        return thing


@dataclass(frozen=True, kw_only=True)
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
    """The name of the animation to read, for formats that hold several; None for the first."""


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """Options for writing a file."""

    unit: float | None = None
    """Metres in one unit; None for the clip's own."""
    up: str | None = None
    """The up axis; None for the clip's own."""
    path: str = ""
    """The file's name, which selects the variant of formats with several endings; empty for the first."""


@dataclass(frozen=True, kw_only=True)
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


def lazy_function(module: str, function: str) -> Callable[..., Any]:
    """A function whose module is imported at the first call, so that unused formats cost nothing."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), function)(*arguments)

    return call


def choose_clip_index(names: tuple[str, ...], wanted: str | None, name: str) -> int | None:
    """The index of the requested animation: the first if no name is given, None if the file has none.

    Args:
        names: The file's animations.
        wanted: The requested name.
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
