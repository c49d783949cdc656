"""Shared parts of the papers: tables, experiments, sample scenes, measures and drawing."""

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

MIN_SHOWN = 1e-3
"""Smaller figures are shown as `<0.001`."""

UNMET = "are not met"
"""Part of `Solution.result` if constraints are not met."""

Tell = Callable[[str], None]
"""Called with the current step of an experiment."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with its title."""

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
        """A table of sentences of the form `case: result`."""
        parts = [line.partition(": ") for line in lines]
        rows = tuple((before, after) if after else ("", before) for before, _, after in parts)
        return Table(title=title, head=("case", "result"), rows=rows)

    def markdown(self) -> str:
        """The table as Markdown, without its title."""
        lines = [self.head, tuple("---" for _ in self.head), *(tuple(map(shown, row)) for row in self.rows)]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def text(self) -> str:
        """The table as text in columns, below its title."""
        lines = [self.head, *(tuple(map(shown, row)) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.title, *(f"  {row}".rstrip() for row in rows)])

    def data(self) -> dict[str, Any]:
        """The table for JSON."""
        return {"title": self.title, "rows": [dict(zip(self.head, row, strict=True)) for row in self.rows]}


def shown(cell: Cell) -> str:
    """A cell as text."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return "0" if cell == 0.0 else f"{cell:.3g}" if abs(cell) >= MIN_SHOWN else "<0.001"
    return str(cell)


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results of an experiment."""

    tables: tuple[Table, ...]
    pictures: tuple[Path, ...] = ()
    worse: tuple[str, ...] = ()
    """Where the paper did better, a sentence each."""

    def data(self) -> dict[str, Any]:
        """The findings for JSON, with pictures by their names."""
        return {
            "tables": [{"title": t.title, "head": t.head, "rows": t.rows} for t in self.tables],
            "pictures": [path.name for path in self.pictures],
            "worse": self.worse,
        }

    @staticmethod
    def from_data(data: dict[str, Any], folder: Path) -> Findings:
        """Findings as `data` gives them, with their pictures in a folder."""
        return Findings(
            tables=tuple(
                Table(title=t["title"], head=tuple(t["head"]), rows=tuple(map(tuple, t["rows"])))
                for t in data["tables"]
            ),
            pictures=tuple(folder / name for name in data["pictures"]),
            worse=tuple(data["worse"]),
        )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment, figure or table of a paper."""

    name: str
    about: str
    run: Callable[[Path | None, Tell], Findings]
    """Takes the folder for pictures, or None for no pictures, and a function to report progress to."""


@dataclass(frozen=True, kw_only=True)
class Capture:
    """An experiment of a paper on captured motion."""

    name: str
    about: str
    files: tuple[str, ...]
    """Files that it needs, relative to the folder of real data."""
    run: Callable[[Path, Path | None, Tell], Findings]
    """Takes the folder of real data, the folder for pictures or None, and a function to report progress to."""

    def missing(self, data: Path) -> list[str]:
        """The needed files that are not in a folder."""
        return [file for file in self.files if not (data / file).is_file()]


@dataclass(frozen=True, kw_only=True)
class Fresh:
    """An experiment of a paper on captures of the whole CMU collection on which nothing was developed."""

    name: str
    about: str
    clips: tuple[str, ...]
    """Clips that it needs, as in `14_06`."""
    run: Callable[[Path, Path | None, Path | None, Tell], Findings]
    """Takes the collection, the folder of real data or None, the folder for pictures or None, and a function to report
    progress to."""
    files: tuple[str, ...] = ()
    """Files that it needs besides, relative to the folder of real data."""

    def missing(self, collection: Path, data: Path | None) -> list[str]:
        """The needed clips and files that are not there."""
        clips = [name for name in self.clips if not collected_path(collection, name).is_file()]
        return [*clips, *(file for file in self.files if data is None or not (data / file).is_file())]


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A published study and its experiments."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    captures: tuple[Capture, ...] = ()
    """Experiments on captured motion; their files are not part of the program."""
    fresh: tuple[Fresh, ...] = ()
    """Experiments on captures on which nothing was developed."""


def figure(name: str, about: str, make: Callable[[Path | None], list[str]]) -> Experiment:
    """An experiment that returns sentences and draws one picture.

    Args:
        name: The name of the experiment and of its picture.
        about: What it shows.
        make: Takes the picture's path, or None to draw nothing; returns a sentence for each case.
    """

    def run(folder: Path | None, tell: Tell) -> Findings:
        tell(about)
        path = None if folder is None else folder / f"{name}.png"
        lines = make(path)
        table = Table.of_sentences(f"{name}: {about}", lines)
        # The paper shows that all these cases work, so an unmet constraint is a failure.
        worse = tuple(f"{name}: {line}" for line in lines if UNMET in line)
        return Findings(tables=(table,), pictures=() if path is None else (path,), worse=worse)

    return Experiment(name=name, about=about, run=run)


DOG = "animals/dog_walk_30fps.bvh"
"""A dog that stands, walks and runs."""


def cmu(name: str) -> str:
    """The path of a clip of the CMU database in the folder of real data."""
    return f"cmu_bvh/{name}.bvh"


@lru_cache(maxsize=64)
def clip(path: Path) -> Clip:
    """Read a file, once."""
    return read(path)


def moving(path: Path) -> Motion:
    """The motion of a file; an error if it has only a character."""
    motion = clip(path).motion
    if motion is None:
        raise FileError(str(path), None, "there is no motion in it")
    return motion


def capture(data: Path, name: str, *, rate: float | None = None) -> Motion:
    """A clip of the CMU database without the T-pose that the conversion added as first frame.

    Args:
        data: The folder of real data.
        name: The clip's name, as in `02_01`.
        rate: Frame rate; 120, the clip's own, if not given.
    """
    motion = moving(data / cmu(name))[1:]
    return motion if rate is None else motion.resampled(rate)


def collected_path(collection: Path, name: str) -> Path:
    """The path of a clip in a folder of the whole CMU collection: in a folder of its subject, or beside the others."""
    subject = collection / f"{int(name.split('_')[0]):03d}" / f"{name}.bvh"
    return subject if subject.is_file() else collection / f"{name}.bvh"


def collected(collection: Path, name: str, *, rate: float | None = None) -> Motion:
    """A clip of the whole CMU collection without its T-pose; at its own 120 frames per second if no rate is given."""
    motion = moving(collected_path(collection, name))[1:]
    return motion if rate is None else motion.resampled(rate)


DOTS = 84.0
"""Resolution of the pictures, dots per inch."""

SMALL = 0.6
"""The size of the smaller figures of [Gleicher98], as a share of the original's."""


@cache
def scene(name: str) -> Scene:
    """A sample scene."""
    return samples.motion(name)


def spectrum(motion: Motion, source: Motion) -> str:
    """Energy of the rotations above 4, 8 and 12 Hz relative to the source's, as text."""
    bands = (4.0, 8.0, 12.0)
    return " / ".join(f"{x:.2f}" for x in energy_above(motion, bands) / energy_above(source, bands))


def worst(solution: Solution, *kinds: str) -> float:
    """The largest error of constraints of some kinds, millimetres."""
    return 1e3 * max(o.worst for o in solution.outcomes if o.constraint.kind in kinds)


def changed(motion: Motion, source: Motion) -> float:
    """Root mean square difference of joint rotations over all joints and frames, degrees."""
    return float(np.degrees(np.sqrt((angle_between(motion.rotations, source.rotations) ** 2).mean())))


def in_scene(given: Scene, motion: Motion, name: str, *, marks: bool = True) -> Scene:
    """A scene with another motion; contacts are marked if `marks`."""
    return replace(given, name=name, actors={name: motion}, contacts=given.contacts if marks else ())


def carried(motion: Motion) -> tuple[Prop, ...]:
    """The box: on the floor until it is picked up, then between the hands that carry it."""
    pick_up = scene("pick_up")
    grip = next(c for c in pick_up.contacts if c.on == "box").frames(motion.fps, motion.num_frames)
    box, middle = pick_up.props[0], fk(motion).points(["LeftPalm", "RightPalm"]).mean(axis=1)
    positions = box.positions.copy()
    positions[grip] = (middle - middle[grip[0]])[grip, None] + box.positions[grip[0]]
    return (replace(box, positions=positions),)


def drawn(things: Motion | Scene | Sequence[Motion | Scene], path: Path | None, **options: Any) -> None:
    """Draw motions or scenes by `understudy.show.picture.draw`; nothing without a path."""
    if path is not None:
        draw(things, path, **options)


def plot(height: float) -> Figure:
    """An empty figure for curves; its height is in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError("matplotlib", "picture", "Drawing pictures") from None
    return Figure(figsize=(12.0, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG. An existing file is replaced only when the new one is complete."""
    with open_to_write(path) as stream:
        figure.savefig(stream, format="png", dpi=DOTS, metadata={"Software": None})
