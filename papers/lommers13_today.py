"""[Lommers13] rows that came out worst on captures, asked in two ways: as the thesis does, and restated.

The thesis's places and constraints are used as they are in the first way. The second is our restatement, without
weights of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from papers.base import Capture, Cell, Experiment, Findings, Fresh, Paper, Table, Tell, cmu, collected
from papers.lommers13 import CAPTURES as TABLES
from papers.lommers13 import (
    CASES,
    EXPERIMENTS,
    Case,
    Columns,
    Material,
    Row,
    captured,
    run_case,
    sampled,
)
from understudy.figure.contacts import Contact, detect_contacts
from understudy.solve.solvers.base import Solution

ROWS = ("04", "05", "06", "09", "12")
"""The rows that came out worst on captures."""

FRESH_REACHES = {"115_08": (4, 34, 48), "111_17": (22, 52, 66)}
"""Reaches on which nothing was developed: first frame, frame of the grasp and end, at 30 frames per second."""


def fresh_material(collection: Path, name: str) -> Material:
    """A reach on which nothing was developed; the walk is not used."""
    first, grasp, last = FRESH_REACHES[name]
    reach = replace(collected(collection, name, rate=30.0)[first:last], name=name)
    floor: tuple[Contact, ...] = tuple(c for c in detect_contacts(reach) if c.on == "floor")
    grip = (grasp - first) / 30.0
    return Material(reach=reach, reach_contacts=floor, grip=grip, walk=reach, walk_contacts=floor)


WAYS: dict[str, str] = {
    "thesis": "the thesis's places and constraints as they are",
    "ours": "our restatement",
}


def both_ways(row: Row) -> dict[str, tuple[Columns, Solution]]:
    """A row asked in both ways, and what is seen of each."""
    return dict(zip(WAYS, zip((row.asked, row.ours), row.solutions, strict=True), strict=True))


HEAD = (
    "motion", "id", "way", "left (m)", "goal (mm)", "balance", "sunk (mm)", "arm inside (mm)", "legs inside (mm)",
    "skate (mm/s)", "path", "acceleration", "jerk", "not met", "seconds", "reach to spare (m)",
)  # fmt: skip


def rows_of(case: Case) -> list[tuple[Cell, ...]]:
    """The table rows of a configuration."""
    rows = []
    solved = run_case(case)
    for way, (seen, solution) in both_ways(solved).items():
        rows.append((
            case.source().name, case.name, way, seen.difference, 1e3 * seen.missed,
            f"{seen.balance} ({100 * seen.outside:.0f}%)", round(1e3 * max(seen.sunk, 0.0)),
            round(1e3 * max(seen.inside, 0.0)), round(1e3 * max(seen.legs, 0.0)), 1e3 * seen.skate,
            f"{max(seen.longer.values()):.2f}", f"{max(seen.faster.values()):.2f}", f"{seen.jerk:.2f}",
            len(solution.unmet), solution.seconds, -solved.reach.missing,
        ))  # fmt: skip
    return rows


def table(materials: Sequence[Callable[[], Material]], title: str, tell: Tell) -> Findings:
    """The table of the chosen rows on some materials."""
    rows = []
    for material in materials:
        for case in CASES:
            if case.name in ROWS:
                tell(f"configuration {case.name} in two ways")
                rows += rows_of(replace(case, material=material))
    return Findings(tables=(Table(title=title, head=HEAD, rows=tuple(rows)),))


TITLE = "Rows 04, 05, 06, 09 and 12 in two ways"


def run_samples(folder: Path | None, tell: Tell) -> Findings:
    """The rows on the sample."""
    return table([sampled], TITLE, tell)


def _run_captured(data: Path, folder: Path | None, tell: Tell) -> Findings:
    return table([partial(captured, data)], f"{TITLE}: CMU 115_06", tell)


def _run_fresh(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    materials = [cache(partial(fresh_material, collection, name)) for name in FRESH_REACHES]
    return table(materials, f"{TITLE}: CMU {' and '.join(FRESH_REACHES)}", tell)


CAPTURES = (
    Capture(
        name="today_captured",
        about="The worst rows in two ways, on a captured reach",
        files=(cmu("115_06"), cmu("02_01")),
        run=_run_captured,
    ),
)

FRESH = (
    Fresh(
        name="today_fresh",
        about="The worst rows in two ways, on reaches on which nothing was developed",
        clips=tuple(FRESH_REACHES),
        run=_run_fresh,
    ),
)

PAPER = Paper(
    name="lommers13",
    title="Lommers: Evaluation of motion retargeting using spacetime constraints (2013)",
    experiments=(*EXPERIMENTS, Experiment(name="today", about="The worst rows in two ways", run=run_samples)),
    captures=(*TABLES, *CAPTURES),
    fresh=FRESH,
)
