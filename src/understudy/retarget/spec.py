"""The contents of a recipe: actors, props, contacts, constraints, and options of the solve."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import Constraint
from understudy.figure.contacts import Contact
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.plan import Options

# Rooms above read, write and list solvers and their options by these functions; they do not import `solve`.
from understudy.solve.solvers import find_solver, has_keys, make_solver, solvers  # noqa: F401

AUTO, ALL = "auto", "all"

SPACINGS_FRAMES = (2, 4, 8)
"""Frames at 30 Hz between the keys of the variants of spacing `all`."""

KEY_RATE_HZ = 30.0
"""Frame rate of spacings that are given in frames."""

MIN_SPACING_SECONDS, MAX_SPACING_SECONDS = 1e-3, 1e4
"""Denser keys than frames can be would fill the memory; wider ones than a motion lasts are as good as one."""

Spacing = float | str
"""Seconds between keys, or `auto`, or `all`."""


PROP_SHAPES = ("box", "cylinder")


@record
class PropEntry:
    """A prop in the scene, made of boxes or the like; constraints refer to its position or path by `prop = NAME`."""

    name: str
    """What contacts and constraints call it."""
    shape: str = "box"
    """What fills its boxes: `box`, or `cylinder`, which stands along Y."""
    mesh: str | None = None
    """A file whose mesh fills its boxes instead: OBJ, STL, or a format of characters."""
    sizes: Array | None = None
    """(B, 3) metres: edge lengths of its boxes."""
    positions: Array | None = None
    """(B, 3) metres, world: centres of its boxes, if it does not move."""
    rotations: Array | None = None
    """(B, 4) rotations from each box's frame to the world; the identity if not given."""
    path: str | None = None
    """A file with its path, if it moves: CSV with columns time, x, y, z and optionally qw, qx, qy, qz (seconds,
    metres, Y up), the JSON written by `understudy samples`, or a sample as sample:NAME."""
    carried_by: str = ""
    """The joint or end of the first target that a prop without a path goes along with where it is shown; it stays if
    empty."""
    carried: tuple[float, float] | None = None
    """Seconds: when it is picked up and put down; always carried if not given."""

    def __post_init__(self) -> None:
        if self.shape not in PROP_SHAPES:
            raise OptionError(
                f"Prop `{self.name}`: expected a shape, one of {', '.join(PROP_SHAPES)}; got `{self.shape}`"
            )
        if self.carried is not None and not self.carried[0] <= self.carried[1]:
            raise OptionError(f"Prop `{self.name}`: it must be put down after it is picked up; got {self.carried} s")
        if self.carried_by and self.path is not None:
            raise OptionError(f"Prop `{self.name}`: a prop that moves along a path is not carried besides")


@record
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
    if not MIN_SPACING_SECONDS <= number <= MAX_SPACING_SECONDS:
        raise OptionError(
            f"Expected a key spacing: auto, all, seconds from {MIN_SPACING_SECONDS:g} to {MAX_SPACING_SECONDS:g}, or "
            f"frames at 30 Hz as in `4 frames`; got {value!r}"
        )
    return number
