"""What a recipe holds: who plays whom, what stands around, what is kept, and how it is solved."""

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
"""Frames at 30 Hz between keys in the variants that `all` makes."""

KEY_RATE_HZ = 30.0
"""Frames a second that spacings in frames are counted at."""

Spacing = float | str
"""Seconds between keys, or `auto`, or `all`."""

Scale = float | dict[str, float]
"""How much longer all bones are, or those of parts of the body and of joints, by name."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the files are read."""

    unit: str | None = None
    """Unit of the sources: m, dm, cm, mm, inch, foot, cmu, or metres as a number. Guessed if not given."""
    up: str | None = None
    """Up axis of the sources: X, Y or Z. Guessed if not given."""
    skeleton: str | None = None
    """The file with the sources' skeleton, where the format keeps it apart (AMC)."""
    target_unit: str | None = None
    """Unit of the targets."""
    target_up: str | None = None
    """Up axis of the targets."""
    target_skeleton: str | None = None
    """The file with the targets' skeleton."""
    lenient: bool = False
    """Read a damaged motion up to the damage."""
    keep_reference: bool = False
    """Keep a first frame that only shows a reference pose; it is left out if not."""
    frames: str | None = None
    """Only these frames of the sources, as A:B, counted from 0 as the file does, B not included."""
    fps: float | None = None
    """Frames a second to work at and write; the source's own if not given."""

    def __post_init__(self) -> None:
        if self.fps is not None:
            check_fps(self.fps)
        self.chosen()

    def chosen(self) -> slice | None:
        """The frames as a slice."""
        if self.frames is None:
            return None
        found = re.fullmatch(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*", self.frames)
        if not found:
            raise OptionError(f"Expected frames as A:B, such as 10:50, 10: or :50; got `{self.frames}`")
        first, last = (int(part) if part else None for part in found.groups())
        return slice(first, last)


@dataclass(frozen=True, eq=False, kw_only=True)
class ActorSpec:
    """Who plays whom."""

    source: str
    """The file with the motion, from here; or a sample as sample:NAME."""
    target: str | None = None
    """The file with the character that is to do it, of any structure. Or a scale, below."""
    scale: Scale | None = None
    """In place of a target: the source's own character, larger or smaller, all of it (0.6) or parts by name
    ({ legs = 1.3, head = 1.1 }; a joint's name means the bone that leads to it). With a target: that one's scale."""
    name: str = ""
    """What contacts and constraints call this actor; needed where there are several."""
    moves: bool = True
    """False for one who keeps the motion as it is and is only reacted to."""
    joints: tuple[str, ...] | None = None
    """The joints that may turn; all if not given."""
    root_moves: bool = True
    """Whether the body as a whole may be shifted."""
    morph: tuple[float, float] | None = None
    """From which to which second the source's body turns into the target's; it is the target's all along if not
    given."""
    map: str | None = None
    """The file that says which bones correspond, as `understudy map` writes it; found by themselves if not given."""
    align: str | None = None
    """How the two are aligned: `direction` (bones point as the source's do) or `stance` (each moves from how it
    stands by itself); by how alike they stand if not given."""
    source_reference: int | None = None
    """The frame of the source's file that is its reference pose; its rest pose, or a frame that stands, if not
    given."""
    target_reference: int | None = None
    """The frame of the target's file that is its reference pose."""

    def __post_init__(self) -> None:
        if self.morph is not None and not self.morph[0] <= self.morph[1]:
            raise OptionError(f"A morph must end after it starts; got {self.morph[0]:g} to {self.morph[1]:g} s")


@dataclass(frozen=True, eq=False, kw_only=True)
class PropEntry:
    """A thing in the scene, as boxes; constraints take its place or path by `prop = NAME`."""

    name: str
    """What contacts and constraints call it."""
    sizes: Array | None = None
    """(B, 3) metres: full edge lengths of its boxes."""
    positions: Array | None = None
    """(B, 3) metres, world: the middles of its boxes, where it stays."""
    rotations: Array | None = None
    """(B, 4) from each box's frame to the world; not turned if not given."""
    path: str | None = None
    """A file with its path, where it moves: CSV with columns time, x, y, z and perhaps qw, qx, qy, qz (seconds,
    metres, Y up), the JSON that `understudy samples` writes, or a sample as sample:NAME."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """Everything that can be chosen about a retarget."""

    actors: tuple[ActorSpec, ...]
    reading: Reading = field(default_factory=Reading)
    options: Options = field(default_factory=Options)
    """Its own spacing is not used: `spacing` below is."""
    spacing: Spacing = AUTO
    solver: str = "spacetime"
    solver_options: dict[str, object] = field(default_factory=dict)
    """Fields of the solver that are not as by default."""
    contacts: tuple[Contact, ...] | None = None
    """The sources' contacts; None to find them."""
    constraints: tuple[Constraint, ...] = ()
    props: tuple[PropEntry, ...] = ()
    folder: Path = Path()
    """What the files are named from."""


def parse_spacing(value: object) -> Spacing:
    """Seconds between keys from a number, `auto`, `all`, or frames at 30 Hz as in `4 frames` and `4f`."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text in (AUTO, ALL):
            return text
        found = re.fullmatch(r"([0-9.]+)\s*(f|frames?|s|seconds?)?", text)
        try:
            number = float(found[1]) if found else np.nan
        except ValueError:
            number = np.nan
        if found and (found[2] or "s").startswith("f"):
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
