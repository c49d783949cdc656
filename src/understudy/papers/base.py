"""What a reproduced paper is: experiments that run in seconds and give tables, pictures, and what came out worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import OptionError

Cell = str | float | int | bool | None
SMALL = 1e-3
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
        return "0" if cell == 0.0 else f"{cell:.3g}" if abs(cell) >= SMALL else "<0.001"
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
