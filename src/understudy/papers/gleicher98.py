"""Gleicher, "Retargetting motion to new characters" (1998): its figures, and its solvers compared on the ladder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy import samples
from understudy.papers.base import Experiment, Findings, Paper, Table, Tell, figure
from understudy.papers.gleicher98_can import GAITS, fig11
from understudy.papers.gleicher98_scenes import CLIMBER, fig01, fig04, fig09, fig10, ladder
from understudy.papers.gleicher98_walks import fig02, fig03, fig06, fig07, fig08
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
SAID: dict[str, tuple[float | None, float | None]] = {
    "sqp": (None, None),
    "lmult": (4.0, 0.5 * INCH),
    "least_squares": (7.0, 0.25 * INCH),
    "spacetime": (None, None),
}
"""By solver, the paper's seconds and worst error (mm) on its ladder with keys every fourth frame [Gleicher98, 7.2]."""


def ladder_problem() -> Problem:
    """Three seconds of the ladder by a figure 85% as large, hands and feet where the original's held."""
    given = samples.motion("ladder", seconds=3.0)
    part = Part(motion=given.motion, target=given.motion.skeleton.scaled(CLIMBER))
    return plan([part], contacts=given.contacts).problem()


def compare_solvers(tell: Tell) -> dict[str, Solution]:
    """The ladder by each of the paper's three solvers and ours, keys every fourth frame."""
    problem = ladder_problem()
    solvers: tuple[Solver, ...] = (Sqp(), Lmult(), LeastSquares(), Spacetime())
    found = {}
    for solver in solvers:
        tell(f"the ladder by {solver.name}")
        found[solver.name] = solver.solve(problem)
    return found


def solver_table(found: dict[str, Solution]) -> Table:
    """Time and worst error of each solver, beside the paper's."""
    first = found["sqp"].motion
    rows = []
    for name, solution in found.items():
        seconds, off = SAID[name]
        limits = max(o.worst for o in solution.outcomes if o.constraint.kind == "joint_range")
        rows.append(
            (name, seconds, solution.seconds, solution.steps, off, worst(solution, "place", "same_place"),
             float(np.degrees(limits)), changed(solution.motion, first))
        )  # fmt: skip
    head = ("solver", "paper (s)", "ours (s)", "steps", "paper, worst (mm)", "ours, worst (mm)", "limits (deg)",
            "from sqp (deg)")  # fmt: skip
    return Table(title="Sections 6 and 7.2: the solvers on the ladder", head=head, rows=tuple(rows))


def worse_than_the_paper(found: dict[str, Solution]) -> tuple[str, ...]:
    """Where the paper's own solver was nearer, a sentence each; its times are those of another machine."""
    return tuple(
        f"{name}: off by {worst(found[name], 'place', 'same_place'):.3g} mm, the paper's by {off:.3g}"
        for name, (_, off) in SAID.items()
        if off is not None and worst(found[name], "place", "same_place") > off
    )


def _run_solvers(folder: Path | None, tell: Tell) -> Findings:
    found = compare_solvers(tell)
    return Findings(tables=(solver_table(found),), worse=worse_than_the_paper(found))


PAPER = Paper(
    name="gleicher98",
    title="Gleicher: Retargetting motion to new characters (1998)",
    experiments=(
        figure("fig01", "differently sized figures pick up a box", fig01),
        figure("fig02", "what copying gives", fig02),
        figure("fig03", "frame by frame against the whole motion", fig03),
        figure("fig04", "a handhold on the ladder", fig04),
        figure("fig06", "a walker who shrinks to 60%", fig06),
        figure("fig07", "traces of the feet from above", fig07),
        figure("fig08", "short legs in long footsteps", fig08),
        figure("ladder", "holds that are fixed, and holds that slide", ladder),
        figure("fig09", "a dance for two", fig09),
        figure("fig10", "she shrinks during her spin", fig10),
        *(figure(f"fig11_{gait}", f"a soda can, {gait}", fig11(gait)) for gait in GAITS),
        Experiment(name="solvers", about="The solvers on the ladder", run=_run_solvers),
    ),
)
