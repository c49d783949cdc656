"""Lommers, "Evaluation of motion retargeting using spacetime constraints" (2013): its twelve configurations.

Each is solved twice: as the thesis asks it, ankles and wrists where the original's were; and as Understudy would ask
it, feet planted, body balanced and clear of itself. The first is compared by what is left of the constraints, the
second by everything that the thesis judged by eye.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import degrees
from pathlib import Path

from understudy.metrics.balance import WORDS
from understudy.papers.base import Capture, Cell, Experiment, Findings, Paper, Table, Tell
from understudy.papers.captured import cmu
from understudy.papers.lommers13_cases import CASES, Case, Reach, asked, missing_reach, solve_as_asked, solve_as_ours
from understudy.papers.lommers13_columns import Columns, measure
from understudy.papers.lommers13_material import WRISTS, captured
from understudy.picture import draw
from understudy.solvers.base import Solution

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """A configuration with all that was measured of it."""

    case: Case
    reach: Reach
    asked: Columns
    """Of the thesis's own constraints."""
    ours: Columns
    """Of the same goal as Understudy would state it."""
    solutions: tuple[Solution, Solution]


def run_case(case: Case) -> Row:
    """Solve and measure a configuration both ways."""
    found = solve_as_asked(case), solve_as_ours(case)
    hands = [name for name in case.points if name in WRISTS]
    return Row(
        case=case,
        reach=missing_reach(case),
        asked=measure(case, found[0], asked(case, case.points)),
        ours=measure(case, found[1], asked(case, hands)),
        solutions=found,
    )


def worse_than_the_thesis(row: Row) -> tuple[str, ...]:
    """Where the thesis did better than we, a sentence each: never, if all is well."""
    said, ours, where = row.case.said, row.ours, f"configuration {row.case.name}"
    found = []
    if row.asked.difference > said.difference:
        found.append(f"{where}: {row.asked.difference:.3g} m are left, {said.difference:.3g} in the thesis")
    if row.asked.seconds + ours.seconds > said.hours * HOUR:
        found.append(f"{where}: took {row.asked.seconds + ours.seconds:.0f} s, {said.hours} h in the thesis")
    if WORDS.index(ours.balance) > WORDS.index(said.balance):
        found.append(f"{where}: balance is `{ours.balance}`, `{said.balance}` in the thesis")
    if ours.flies and not said.flight:
        found.append(f"{where}: the feet fly {1e3 * ours.flight:.0f} mm high")
    for word in filter(None, ours.penetration.split(", ")):
        if word not in said.penetration:
            found.append(f"{where}: {word} penetration, which the thesis has not")
    for column in ("path", "acceleration"):
        if getattr(ours, column) and not getattr(said, column):
            found.append(f"{where}: the {column} of the {getattr(ours, column)} is not natural")
    if said.goal and not ours.reached:
        found.append(f"{where}: the goal is missed by {1e3 * ours.missed:.0f} mm")
    return tuple(found)


def explanation(row: Row) -> str:
    """What became of a configuration that the thesis could not solve, in a sentence."""
    reach, first, second = row.reach, *row.reach.points
    if row.asked.solved:
        if reach.missing > 0.0:
            return f"solved: {1e3 * reach.missing:.0f} mm of reach are missing, less than the tolerance"
        return f"solved: the body reaches {1e3 * -reach.missing:.0f} mm further than it has to"
    if reach.impossible:
        return (
            f"impossible: {first} and {second} are {reach.apart:.3f} m apart at {reach.time:.2f} s and the body "
            f"between them stretches to {reach.span:.3f} m: {reach.missing:.3f} m are missing in any pose"
        )
    return "not solved"


def tables(rows: tuple[Row, ...]) -> tuple[Table, ...]:
    """What is left of the constraints, what the result is like, and what the thesis could not solve."""
    unsolved = tuple(
        (row.case.name, row.case.said.difference, explanation(row)) for row in rows if not row.case.said.solved
    )
    return (
        Table(
            title="The thesis's constraints: what is left, and how long it takes",
            head=(
                "id", "scale", "motion", "constraints", "left, thesis (m)", "left, ours (m)", "worst, ours (mm)",
                "thesis (h)", "ours (s)", "reach to spare (m)", "balance", "flight (mm)", "sunk (mm)", "inside (mm)",
                "skate (mm/s)", "jerk", "limits (deg)",
            ),
            rows=tuple(_left_row(row) for row in rows),
        ),
        Table(
            title="The result, in the thesis's words and in figures; thesis / ours",
            head=(
                "id", "balance", "flight", "penetration", "path", "acceleration", "goal", "legs in legs (mm)",
                "skate (mm/s)", "jerk", "limits (deg)", "ours (s)",
            ),
            rows=tuple(_seen_row(row) for row in rows),
        ),
        Table(title="Unsolved in the thesis", head=("id", "left, thesis (m)", "ours"), rows=unsolved),
    )  # fmt: skip


def _scale(case: Case) -> str:
    return f"{case.scale:g}{'' if case.even else ' a level'}"


def _left_row(row: Row) -> tuple[Cell, ...]:
    case, found = row.case, row.asked
    return (
        case.name, _scale(case), case.motion, case.constraints,
        case.said.difference, found.difference, 1e3 * found.worst, case.said.hours, found.seconds, -row.reach.missing,
        found.balance, *(round(1e3 * max(deep, 0.0)) for deep in (found.flight, found.sunk, found.inside)),
        1e3 * found.skate, found.jerk, degrees(found.breach),
    )  # fmt: skip


def _seen_row(row: Row) -> tuple[Cell, ...]:
    said, ours = row.case.said, row.ours

    def both(theirs: str, mine: str, empty: str, figure: str) -> str:
        return f"{theirs or empty} / {mine or empty} ({figure})"

    flight = both(
        "yes" if said.flight else "no", "yes" if ours.flies else "no", "no", f"{1e3 * max(ours.flight, 0):.0f} mm"
    )
    deep = f"{1e3 * max(ours.inside, ours.sunk):.0f} mm"
    reached = both("yes" if said.goal else "no", "yes" if ours.reached else "no", "no", f"{1e3 * ours.missed:.2f} mm")
    return (
        row.case.name, both(said.balance, ours.balance, "", f"{100 * ours.outside:.0f}%"), flight,
        both(said.penetration, ours.penetration, "none", deep),
        both(said.path, ours.path, "natural", f"{max(ours.longer.values()):.2f}"),
        both(said.acceleration, ours.acceleration, "natural", f"{max(ours.faster.values()):.2f}"), reached,
        round(1e3 * ours.legs), 1e3 * ours.skate, f"{ours.smoothness} ({ours.jerk:.2f})", degrees(ours.breach),
        ours.seconds,
    )  # fmt: skip


def picture(row: Row, path: Path) -> None:
    """Draw the original, the thesis's constraints solved, and ours."""
    motions = [row.case.source(), *(found.motion for found in row.solutions)]
    kinds = {outcome.constraint.kind for outcome in row.solutions[1].outcomes}
    kept = [
        "planted",
        *(word for kind, word in (("balance", "balanced"), ("apart", "clear of itself")) if kind in kinds),
    ]
    labels = ["original", "the thesis's constraints", f"ours: {', '.join(kept)}"]
    count, frames = (7, None) if row.case.motion == "reach_low" else (9, slice(30, 90))
    size = f"{row.case.scale:g} {'evenly' if row.case.even else 'at every level'}"
    title = f"{row.case.name}: {row.case.motion}, scaled by {size}, {row.case.constraints}"
    draw(
        motions, path, labels=labels, style="filmstrip", views="side", count=count, frames=frames, title=title,
        dots_per_inch=70.0,
    )  # fmt: skip


def _run(folder: Path | None, tell: Tell) -> Findings:
    rows, pictures = [], []
    for case in CASES:
        tell(f"configuration {case.name}")
        rows.append(run_case(case))
        if folder is not None:
            pictures.append(folder / f"lommers13_{case.name}.png")
            picture(rows[-1], pictures[-1])
    worse = tuple(sentence for row in rows for sentence in worse_than_the_thesis(row))
    return Findings(tables=tables(tuple(rows)), pictures=tuple(pictures), worse=worse)


def captured_table(rows: tuple[Row, ...]) -> Table:
    """What came of the configurations on captures: as the thesis asks, and as we do.

    The thesis's words are of another reach, so that only our own stand here.
    """
    head = (
        "id", "scale", "motion", "constraints", "left (m)", "worst (mm)", "balance", "flight (mm)", "penetration",
        "path", "acceleration", "goal (mm)", "legs in legs (mm)", "skate (mm/s)", "jerk", "not met", "seconds",
    )  # fmt: skip
    found = []
    for row in rows:
        case, ours = row.case, row.ours
        found.append((
            case.name, _scale(case), case.source().name, case.constraints, row.asked.difference, 1e3 * row.asked.worst,
            f"{ours.balance} ({100 * ours.outside:.0f}%)", round(1e3 * max(ours.flight, 0.0)),
            f"{ours.penetration or 'none'} ({1e3 * max(ours.inside, ours.sunk):.0f} mm)",
            f"{ours.path or 'natural'} ({max(ours.longer.values()):.2f})",
            f"{ours.acceleration or 'natural'} ({max(ours.faster.values()):.2f})", 1e3 * ours.missed,
            round(1e3 * ours.legs), 1e3 * ours.skate, f"{ours.smoothness} ({ours.jerk:.2f})",
            len(row.solutions[1].unmet), row.asked.seconds + ours.seconds,
        ))  # fmt: skip
    title = "On captures: left and worst of the thesis's constraints, then our own result"
    return Table(title=title, head=head, rows=tuple(found))


def _run_captured(data: Path, folder: Path | None, tell: Tell) -> Findings:
    rows = []
    for case in CASES:
        tell(f"configuration {case.name} on captures")
        rows.append(run_case(replace(case, material=partial(captured, data))))
    return Findings(tables=(captured_table(tuple(rows)),))


PAPER = Paper(
    name="lommers13",
    title="Lommers: Evaluation of motion retargeting using spacetime constraints (2013)",
    experiments=(Experiment(name="table", about="Tables 7.1 and 7.2: twelve configurations", run=_run),),
    captures=(
        Capture(
            name="table_captured",
            about="The twelve configurations on a captured reach and walk",
            files=(cmu("115_06"), cmu("02_01")),
            run=_run_captured,
        ),
    ),
)
