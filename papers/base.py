"""What the papers' figures share: sample scenes, the measures of their captions, and drawing where it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy import samples
from understudy.base.errors import FileError, MissingPackageError, OptionError
from understudy.base.files import open_to_write
from understudy.base.quaternion import angle_between
from understudy.figure.bands import energy_above
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io import Clip, read
from understudy.samples import Prop, Scene
from understudy.show.picture import draw
from understudy.solve.solvers.base import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Cell = str | float | int | bool | None

SMALLEST_SHOWN = 1e-3
"""Figures of lesser size are not shown in full."""

UNMET = "are not met"
"""What `Solution.result` says where something is not."""

Tell = Callable[[str], None]
"""Told, as an experiment goes, what it is doing."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Figures with their heading."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.head):
                raise OptionError(
                    f"Table `{self.title}`: row {number} has {len(row)} cells, expected {len(self.head)} as in its head"
                )

    @staticmethod
    def of_sentences(title: str, lines: Sequence[str]) -> Table:
        """A table of sentences of the form `case: what came of it`."""
        parts = [line.partition(": ") for line in lines]
        rows = tuple((before, after) if after else ("", before) for before, _, after in parts)
        return Table(title=title, head=("case", "result"), rows=rows)

    def markdown(self) -> str:
        """The table as Markdown, without its title."""
        lines = [self.head, tuple("---" for _ in self.head), *(tuple(map(shown, row)) for row in self.rows)]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def text(self) -> str:
        """The table in columns, under its title."""
        lines = [self.head, *(tuple(map(shown, row)) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.title, *(f"  {row}".rstrip() for row in rows)])

    def data(self) -> dict[str, Any]:
        """The table for JSON."""
        return {"title": self.title, "rows": [dict(zip(self.head, row, strict=True)) for row in self.rows]}


def shown(cell: Cell) -> str:
    """A cell in words."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        # Below a thousandth the figure says no more than that it is next to nothing.
        return "0" if cell == 0.0 else f"{cell:.3g}" if abs(cell) >= SMALLEST_SHOWN else "<0.001"
    return str(cell)


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What came of an experiment."""

    tables: tuple[Table, ...]
    pictures: tuple[Path, ...] = ()
    worse: tuple[str, ...] = ()
    """Where the paper did better, a sentence each."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment, figure or table of a paper."""

    name: str
    about: str
    run: Callable[[Path | None, Tell], Findings]
    """Takes the folder for pictures, or None for none, and is told to report how far it is."""


@dataclass(frozen=True, kw_only=True)
class Capture:
    """An experiment of a paper on captured motion."""

    name: str
    about: str
    files: tuple[str, ...]
    """What it needs, by paths in the folder of real data."""
    run: Callable[[Path, Path | None, Tell], Findings]
    """Takes the folder of real data, that for pictures or None for none, and is told to report how far it is."""

    def missing(self, data: Path) -> list[str]:
        """The files that it needs and that are not in a folder."""
        return [file for file in self.files if not (data / file).is_file()]


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A published study and its experiments."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    captures: tuple[Capture, ...] = ()
    """Those on captured motion, for which files are needed that do not come with the program."""


def figure(name: str, about: str, make: Callable[[Path | None], list[str]]) -> Experiment:
    """An experiment that gives sentences and one picture.

    Args:
        name: What its picture is called.
        about: What it shows.
        make: Takes the picture's path, or None to draw nothing; gives a sentence for each case.
    """

    def run(folder: Path | None, tell: Tell) -> Findings:
        tell(about)
        path = None if folder is None else folder / f"{name}.png"
        lines = make(path)
        table = Table.of_sentences(f"{name}: {about}", lines)
        # What the paper shows to work has failed here where a solution says that something is not met.
        worse = tuple(f"{name}: {line}" for line in lines if UNMET in line)
        return Findings(tables=(table,), pictures=() if path is None else (path,), worse=worse)

    return Experiment(name=name, about=about, run=run)


DOG = "animals/dog_walk_30fps.bvh"
"""A dog that stands, walks and runs."""


def cmu(name: str) -> str:
    """Where a clip of the CMU database is in a folder of real data."""
    return f"cmu_bvh/{name}.bvh"


@lru_cache(maxsize=64)
def clip(path: Path) -> Clip:
    """A file, read once."""
    return read(path)


def moving(path: Path) -> Motion:
    """The motion of a file; an error where it holds a character only."""
    motion = clip(path).motion
    if motion is None:
        raise FileError(str(path), None, "there is no motion in it")
    return motion


def capture(data: Path, name: str, *, rate: float | None = None) -> Motion:
    """A clip of the CMU database without the T-pose that the conversion put before it.

    Args:
        data: The folder of real data.
        name: The clip's name, as in `02_01`.
        rate: Frames a second; its own, 120, if not given.
    """
    motion = moving(data / cmu(name))[1:]
    return motion if rate is None else motion.resampled(rate)


DOTS = 84.0
"""Dots an inch of the pictures."""

SMALL = 0.6
"""The size of the smaller figures of [Gleicher98], as a share of the original's."""


@cache
def scene(name: str) -> Scene:
    """A sample scene."""
    return samples.motion(name)


def spectrum(motion: Motion, source: Motion) -> str:
    """Energy of the rotations above 4, 8 and 12 Hz, as ratios to the source's, in words."""
    bands = (4.0, 8.0, 12.0)
    return " / ".join(f"{x:.2f}" for x in energy_above(motion, bands) / energy_above(source, bands))


def worst(found: Solution, *kinds: str) -> float:
    """Millimetres."""
    return 1e3 * max(o.worst for o in found.outcomes if o.constraint.kind in kinds)


def changed(motion: Motion, source: Motion) -> float:
    """Degrees, root mean square over all joints and frames."""
    return float(np.degrees(np.sqrt((angle_between(motion.rotations, source.rotations) ** 2).mean())))


def in_scene(given: Scene, motion: Motion, name: str, *, marks: bool = True) -> Scene:
    """Another motion among the same things, with the planted places marked if they are the same ones."""
    return replace(given, name=name, actors={name: motion}, contacts=given.contacts if marks else ())


def carried(motion: Motion) -> tuple[Prop, ...]:
    """The box where it stood until it is picked up, then between the hands that carry it."""
    given = scene("pick_up")
    grip = next(c for c in given.contacts if c.on == "box").frames(motion.fps, motion.num_frames)
    box, middle = given.props[0], fk(motion).points(["LeftPalm", "RightPalm"]).mean(axis=1)
    positions = box.positions.copy()
    positions[grip] = (middle - middle[grip[0]])[grip, None] + box.positions[grip[0]]
    return (replace(box, positions=positions),)


def drawn(things: Motion | Scene | Sequence[Motion | Scene], path: Path | None, **options: Any) -> None:
    """Draw motions or scenes as `understudy.show.picture.draw` does; nothing where there is no path."""
    if path is not None:
        draw(things, path, **options)


def plot(height: float) -> Figure:
    """An empty figure for curves, of a height in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError("matplotlib", "picture", "Drawing pictures") from None
    return Figure(figsize=(12.0, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG; the old file stays until the new one is whole."""
    with open_to_write(path) as stream:
        figure.savefig(stream, format="png", dpi=DOTS, metadata={"Software": None})
