"""The solvers of [Gleicher98, sec. 6 and 7.2] and ours on one problem: time, what is left, and how alike they end."""

from __future__ import annotations

import numpy as np

from understudy import samples
from understudy.papers.base import Findings, Table, Tell
from understudy.papers.gleicher98_scenes import CLIMBER, PARTNER, dance_plan
from understudy.papers.scenes import changed, worst
from understudy.pipeline import Part, plan
from understudy.problem import Problem
from understudy.solvers.base import Solution, Solver
from understudy.solvers.least_squares import LeastSquares
from understudy.solvers.lmult import Lmult
from understudy.solvers.spacetime import Spacetime
from understudy.solvers.sqp import Sqp

INCH = 25.4
"""Millimetres."""
Said = dict[str, tuple[float | None, float | None]]
"""By solver, a paper's seconds and worst error (mm); None where it gives none."""
LADDER: Said = {"lmult": (4.0, 0.5 * INCH), "least_squares": (7.0, 0.25 * INCH)}
"""On its ladder with keys every fourth frame; LMULT's error was above this [Gleicher98, sec. 7.2]."""
DANCE: Said = {"lmult": (60.0, 0.125 * INCH), "least_squares": (14.0, None)}
"""On its dance with both adapted; LMULT took slightly longer than this [Gleicher98, sec. 7.3]."""
HELD = ("place", "same_place", "attach")
"""Constraints whose errors are lengths that the paper tells."""


def ladder_problem() -> Problem:
    """Three seconds of the ladder by a figure 85% as large, hands and feet where the original's held."""
    given = samples.motion("ladder", seconds=3.0)
    part = Part(motion=given.motion, target=given.motion.skeleton.scaled(CLIMBER))
    return plan([part], contacts=given.contacts).problem()


def dance_problem() -> Problem:
    """The first two seconds of the dance by a follower 85% as large, both adapted."""
    return dance_plan(samples.motion("dance", seconds=2.0), both=True, size=PARTNER).problem()


def compare_solvers(problem: Problem, tell: Tell) -> dict[str, Solution]:
    """A problem by each of the paper's three solvers and ours, keys every fourth frame."""
    solvers: tuple[Solver, ...] = (Sqp(), Lmult(), LeastSquares(), Spacetime())
    found = {}
    for solver in solvers:
        tell(f"by {solver.name}")
        found[solver.name] = solver.solve(problem)
    return found


def solver_table(found: dict[str, Solution], said: Said, title: str) -> Table:
    """Time and worst error of each solver, beside the paper's."""
    first = found["sqp"]
    rows = []
    for name, solution in found.items():
        seconds, off = said.get(name, (None, None))
        limits, floor = (
            max((o.worst for o in solution.outcomes if o.constraint.kind == kind), default=0.0)
            for kind in ("joint_range", "region")
        )
        apart = max(changed(a, b) for a, b in zip(solution.motions, first.motions, strict=True))
        rows.append(
            (name, seconds, solution.seconds, solution.steps, off, worst(solution, *HELD), 1e3 * floor,
             float(np.degrees(limits)), apart)
        )  # fmt: skip
    head = ("solver", "paper (s)", "ours (s)", "steps", "paper, worst (mm)", "ours, worst (mm)", "floor (mm)",
            "limits (deg)", "from sqp (deg)")  # fmt: skip
    return Table(title=title, head=head, rows=tuple(rows))


def worse_than_the_paper(found: dict[str, Solution], said: Said) -> tuple[str, ...]:
    """Where the paper's own solver was nearer, a sentence each; its times are those of another machine."""
    return tuple(
        f"{name}: off by {worst(found[name], *HELD):.3g} mm, the paper's by {off:.3g}"
        for name, (_, off) in said.items()
        if off is not None and worst(found[name], *HELD) > off
    )


def run_solvers(problem: Problem, said: Said, title: str, tell: Tell) -> Findings:
    """Compare the solvers on a problem, beside what the paper says of its own."""
    found = compare_solvers(problem, tell)
    return Findings(tables=(solver_table(found, said, title),), worse=worse_than_the_paper(found, said))
