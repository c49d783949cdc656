"""The contents of a recipe: actors, props, contacts, constraints, and options of the solve."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint
from understudy.figure.contacts import Contact
from understudy.io.clip import check_fps
from understudy.retarget.plan import Options

# Rooms above read, write and list solvers and their options by these functions; they do not import `solve`.
from understudy.solve.solvers import find_solver, has_keys, make_solver, solvers  # noqa: F401

AUTO, ALL = "auto", "all"

SPACINGS_FRAMES = (2, 4, 8)
"""Frames at 30 Hz between the keys of the variants of spacing `all`."""

KEY_RATE_HZ = 30.0
"""Frame rate of spacings that are given in frames."""

Spacing = float | str
"""Seconds between keys, or `auto`, or `all`."""

Scale = float | dict[str, float]
"""Length factor of all bones, or factors by names of body parts and joints."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the files are read."""

    unit: str | None = None
    """Unit of the sources: m, dm, cm, mm, inch, foot, cmu, or metres as a number. Guessed if not given."""
    up: str | None = None
    """Up axis of the sources: X, Y or Z. Guessed if not given."""
    height: float | None = None
    """Height of the sources' bodies, metres from sole to crown, instead of a unit."""
    skeleton: str | None = None
    """The file with the sources' skeleton, if the format stores it in a separate file (AMC)."""
    target_unit: str | None = None
    """Unit of the targets."""
    target_up: str | None = None
    """Up axis of the targets."""
    target_height: float | None = None
    """Height of the targets, instead of a unit."""
    target_skeleton: str | None = None
    """The file with the targets' skeleton."""
    lenient: bool = False
    """Read a damaged motion up to the damage."""
    keep_reference: bool = False
    """Keep a first frame that only shows a reference pose; it is removed otherwise."""
    frames: str | None = None
    """The frames of the sources to read, as A:B, counted from 0 in the file, without frame B."""
    fps: float | None = None
    """Frames a second of the solve and of the result; the source's if not given."""

    def __post_init__(self) -> None:
        if self.fps is not None:
            check_fps(self.fps)
        self.chosen()

    def chosen(self) -> slice | None:
        """The frames as a slice."""
        if self.frames is None:
            return None
        match = re.fullmatch(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*", self.frames)
        if not match:
            raise OptionError(f"Expected frames as A:B, such as 10:50, 10: or :50; got `{self.frames}`")
        start, stop = (int(text) if text else None for text in match.groups())
        return slice(start, stop)


FLOOR_ROOTS = ("follow", "stay")
"""What a root on the floor does."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ActorSpec:
    """A source and the target that performs its motion."""

    source: str
    """The file with the motion, relative to the recipe; or a sample as sample:NAME."""
    target: str | None = None
    """The file with the character that performs it, of any structure. Give a scale instead, or both."""
    scale: Scale | None = None
    """Size of the target, or of the source's character if there is no target: one factor (0.6) or factors of parts
    ({ legs = 1.3, head = 1.1 }; a joint's name scales the bone that ends at it)."""
    name: str = ""
    """What contacts and constraints call this actor; required for several actors."""
    moves: bool = True
    """False for an actor that keeps its motion while others react to it."""
    joints: tuple[str, ...] | None = None
    """The joints that the solver may turn; all if not given."""
    root_moves: bool = True
    """Whether the solver may shift the whole body."""
    morph: tuple[float, float] | None = None
    """The seconds at which the source's body begins to change into the target's and at which it has changed; the
    target's body throughout if not given."""
    map: str | None = None
    """The file with the corresponding bones, as written by `understudy map`; they are matched if not given."""
    align: str | None = None
    """How source and target are aligned: `direction` (bones point in the source's directions) or `stance` (each moves
    relative to its own neutral pose); chosen by the similarity of their poses if not given."""
    source_reference: int | None = None
    """The frame of the source's file that is its reference pose; made from its whole motion if not given."""
    target_reference: int | None = None
    """The frame of the target's file that is its reference pose."""
    floor_root: str = "follow"
    """What the target's root does if it lies on the floor, as in rigs for games: `follow` the body by place and
    heading, or `stay` where it is at rest. The pelvis plays the hips in both cases."""

    def __post_init__(self) -> None:
        if self.floor_root not in FLOOR_ROOTS:
            raise OptionError(f"Expected floor_root, one of {', '.join(FLOOR_ROOTS)}; got `{self.floor_root}`")
        if self.morph is not None and not self.morph[0] <= self.morph[1]:
            raise OptionError(f"A morph must end after it starts; got {self.morph[0]:g} to {self.morph[1]:g} s")


@dataclass(frozen=True, eq=False, kw_only=True)
class PropEntry:
    """A prop in the scene, made of boxes; constraints refer to its position or path by `prop = NAME`."""

    name: str
    """What contacts and constraints call it."""
    sizes: Array | None = None
    """(B, 3) metres: edge lengths of its boxes."""
    positions: Array | None = None
    """(B, 3) metres, world: centres of its boxes, if it does not move."""
    rotations: Array | None = None
    """(B, 4) rotations from each box's frame to the world; the identity if not given."""
    path: str | None = None
    """A file with its path, if it moves: CSV with columns time, x, y, z and optionally qw, qx, qy, qz (seconds,
    metres, Y up), the JSON written by `understudy samples`, or a sample as sample:NAME."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """All settings of a retarget."""

    actors: tuple[ActorSpec, ...]
    reading: Reading = field(default_factory=Reading)
    options: Options = field(default_factory=Options)
    """`options.spacing` is ignored; `spacing` below counts."""
    spacing: Spacing = AUTO
    solver: str = "spacetime"
    solver_options: dict[str, object] = field(default_factory=dict)
    """Fields of the solver that differ from the defaults."""
    contacts: tuple[Contact, ...] | None = None
    """The sources' contacts; None to detect them."""
    constraints: tuple[Constraint, ...] = ()
    props: tuple[PropEntry, ...] = ()
    folder: Path = Path()
    """The folder that file names are relative to."""


def parse_spacing(value: object) -> Spacing:
    """Seconds between keys from a number, `auto`, `all`, or frames at 30 Hz as in `4 frames` and `4f`."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text in (AUTO, ALL):
            return text
        match = re.fullmatch(r"([0-9.]+)\s*(f|frames?|s|seconds?)?", text)
        try:
            number = float(match[1]) if match else np.nan
        except ValueError:
            number = np.nan
        if match and (match[2] or "s").startswith("f"):
            number /= KEY_RATE_HZ
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    else:
        number = np.nan
    if not (np.isfinite(number) and number > 0.0):
        raise OptionError(
            f"Expected a key spacing: auto, all, seconds above zero, or frames at 30 Hz as in `4 frames`; got {value!r}"
        )
    return number
