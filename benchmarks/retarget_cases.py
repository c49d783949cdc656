"""What the benchmarks of retargeting measure: motions, bodies, clocks, and tables to print."""

from __future__ import annotations

import os

# Before numpy is loaded: small matrices are solved no faster by more threads, and one core is what is measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy import samples
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import read
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.retarget.scale import parse_scale, scale_skeleton
from understudy.solve.solvers.base import Solution

FPS = 120.0
"""The rate of all motions: that of the captures."""
BODIES = {"60 %": "0.6", "legs x 1.3": "legs=1.3"}
"""Who is to perform them, as the command line would have it."""
CAPTURES = ("02_01", "13_29")
"""Clips of the CMU collection: a walk of 3 s and squats of 38 s."""
SAMPLES = {"sample walk": ("walk", None), "sample squat": ("squat", 38.0), "sample dance": ("dance", None)}
"""Made motions and their length in seconds, their own where none is given."""
LEAST_REPEATS, REPEAT_SECONDS = 3, 1.0
"""How often work is timed: at least so often, and as often as fits into that time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """A motion and who is to perform it."""

    name: str
    motion: Motion
    target: Skeleton

    def anew(self) -> Case:
        """The same, with nothing found out about the motion yet."""
        return replace(self, motion=replace(self.motion))

    def plan(self, plants: str = "free") -> Plan:
        """The retarget, laid out and not yet solved."""
        return plan([Assignment(motion=self.motion, target=self.target)], options=Options(plants=plants))


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """What was found, as rows to print, and what of it was asked for and not reached."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    missed: tuple[str, ...] = field(default=())

    def text(self) -> str:
        """Columns under their names: the first to the left, the rest to the right."""
        cells = [self.columns, *(tuple(shown(value) for value in row) for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = []
        for first, *rest in cells:
            right = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
            lines.append("  ".join(["", first.ljust(widths[0]), *right]).rstrip())
        return "\n".join([self.title, *lines, *(f"  {note}" for note in self.notes)])


def shown(value: object) -> str:
    """A cell: numbers with three digits that count, at least."""
    if isinstance(value, float):
        if not np.isfinite(value):
            return "-"
        return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1g}"
    return str(value)


def data_folder() -> Path | None:
    """Where captured motions are, if they are there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("UNDERSTUDY_DATA", beside)) / "cmu_bvh"
    return folder if all((folder / f"{name}.bvh").is_file() for name in CAPTURES) else None


def captures() -> dict[str, Motion]:
    """The captured motions by name, without the T-pose that their conversion put before them; none where not there."""
    folder = data_folder()
    if folder is None:
        return {}
    clips = {name: read(folder / f"{name}.bvh").motion for name in CAPTURES}
    return {name: motion[1:] for name, motion in clips.items() if motion is not None}


def made(name: str, seconds: float | None = None) -> Motion:
    """A sample motion at the captures' rate."""
    return samples.motion(name, fps=FPS, seconds=seconds).motion


def motions() -> dict[str, Motion]:
    """The captures, and samples that everybody has."""
    return captures() | {name: made(sample, seconds) for name, (sample, seconds) in SAMPLES.items()}


def case(name: str, motion: Motion, body: str) -> Case:
    """A motion on one of the bodies."""
    return Case(
        name=f"{name}, {body}", motion=motion, target=scale_skeleton(motion.skeleton, parse_scale(BODIES[body]))
    )


def best(work: Callable[[], tuple[float, ...]], repeats: int = LEAST_REPEATS) -> tuple[float, ...]:
    """The least of several times, seconds, for each of the times that the work itself takes."""
    began, found = time.perf_counter(), [work()]
    while len(found) < repeats or time.perf_counter() - began < REPEAT_SECONDS:
        found.append(work())
    return tuple(min(each) for each in zip(*found, strict=True))


def clock(work: Callable[[], object]) -> float:
    """Seconds that work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def worst(solution: Solution, kinds: Sequence[str] = ()) -> float:
    """The largest violation at any frame of some kinds of constraint, of all if none is named."""
    return max((o.worst for o in solution.outcomes if not kinds or o.constraint.kind in kinds), default=0.0)


def load() -> str:
    """How busy the machine is, as a sentence."""
    if not hasattr(os, "getloadavg"):
        return "load unknown"
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
