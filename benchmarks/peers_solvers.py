"""General solvers on the same small spacetime problem: NLopt's augmented Lagrangian and scipy's SLSQP."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from peers_bodies import BODY, walk
from peers_measures import Missing, Yardstick, packages
from retarget_cases import Case, Table, case, worst
from scipy.linalg import qr
from scipy.optimize import minimize

from understudy.base.quaternion import Array, conjugate, log, multiply
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import ProgressCallback, Solution, Solver
from understudy.solve.solvers.descent import SplineCurve
from understudy.solve.solvers.newton import sampled_frames
from understudy.solve.solvers.reference import MAX_KEY, Reference, _NloptProblem
from understudy.solve.solvers.spacetime import Spacetime

RATE = 30.0
"""Frames a second of the small problem, and of keys."""
FRAMES = (15, 30)
"""How long it is: half a second, and one."""
LIMIT = 20.0
"""Seconds that each general solver may take."""
TOLERANCE = 1e-3
"""Metres or radians that a constraint may be off by and count as met."""
AHEAD = 5.0
"""How many times as long as ours a general solver must take, where it meets everything."""
OURS = "spacetime (ours)"


class _TimeIsUpError(Exception):
    """Ends a search from inside, which scipy has no other way to do."""


@dataclass(frozen=True, kw_only=True)
class Slsqp(Solver):
    """Sequential quadratic programming by scipy, dense, with exact derivatives."""

    name: ClassVar[str] = "scipy SLSQP"

    spacing: float = 1.0 / RATE
    """Seconds between keys."""
    rate: float = RATE
    """Frames a second at which constraints are looked at."""
    settled: float = 1e-6
    """Change of the objective at which the search ends."""
    iterations: int = 1000
    """Quadratic programs at most."""
    seconds: float = LIMIT
    """Wall time at most."""

    def move(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int]:
        sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=sampled_frames(problem, self.rate))
        curve = SplineCurve.of(problem, sample.times, self.spacing)
        search = _NloptProblem(sample=sample, curve=curve, softness=1e-5, watch=watch, limit=self.iterations)
        try:
            self._search(search)
        except _TimeIsUpError:
            watch(f"{self.name}: stopped after {self.seconds:g} s", 1.0)
        best = search.best.reshape(curve.num_keys, -1)
        return displace_bodies(problem.bodies, sample, curve.everywhere(best)), search.evaluations

    def _search(self, search: _NloptProblem) -> None:
        end = time.perf_counter() + self.seconds

        def cost(x: Array) -> tuple[float, Array]:
            if time.perf_counter() > end:
                raise _TimeIsUpError
            gradient = np.zeros(search.size)
            return search.objective(x, gradient), gradient

        equal, at_most = search.counts
        constraints: Any = [*_rows(search, "eq", equal), *_rows(search, "ineq", at_most)]
        minimize(
            cost, np.zeros(search.size), jac=True, method="SLSQP", bounds=[(-MAX_KEY, MAX_KEY)] * search.size,
            constraints=constraints, options={"maxiter": self.iterations, "ftol": self.settled},
        )  # fmt: skip


def _rows(search: _NloptProblem, kind: str, count: int) -> list[dict[str, Any]]:
    """Constraints as scipy asks for them: equal to zero, or not below it.

    It gives up where equalities say the same twice, as two points of one stiff foot do: those that follow from others
    are left out.
    """
    if not count:
        return []
    fill, sign = (search.equal, 1.0) if kind == "eq" else (search.at_most, -1.0)

    def values(x: Array) -> Array:
        out = np.zeros(count)
        fill(out, x, np.zeros(0))
        return sign * out[kept]

    def slopes(x: Array) -> Array:
        out = np.zeros((count, search.size))
        fill(np.zeros(count), x, out)
        return sign * out[kept]

    kept = np.arange(count)
    if kind == "eq":
        kept = _independent(slopes(np.zeros(search.size)))
    return [{"type": kind, "fun": values, "jac": slopes}]


def _independent(rows: Array) -> np.ndarray:
    """(m,) a largest set of rows (n, D) of which none follows from the others."""
    triangle, order = qr(rows.T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    return np.sort(order[: int((sizes > 1e-9 * sizes[0]).sum())])


def small(one: Case, frames: int) -> Case:
    """The beginning of a case, at few frames a second."""
    name, slow = one.name.partition(",")[0], one.motion.resampled(RATE)
    return case(name, slow[:frames], BODY)


def solvers(limit: float) -> tuple[dict[str, Solver], list[str]]:
    """The solvers with keys and residuals at every frame, and what there is to say of those left out."""
    every: dict[str, Any] = {"spacing": 1.0 / RATE, "rate": RATE, "seconds": limit}
    found: dict[str, Solver] = {OURS: Spacetime()}
    loaded, notes = packages(("nlopt",)), []
    if isinstance(loaded, Missing):
        notes.append(f"NLopt: skipped; {loaded.note}")
    else:
        found["NLopt AUGLAG, L-BFGS"] = Reference(inner="lbfgs", iterations=10**6, **every)
    return found | {"scipy SLSQP": Slsqp(**every)}, notes


def change(solution: Solution) -> float:
    """The size of what a solution changed, half of d M d, mean over the frames: what all solvers make small."""
    problem = solution.problem
    before, after = problem.actors[0].motion, solution.motion
    body = problem.bodies[0]
    kept = [before.skeleton.index[name] for name in body.skeleton.names]
    turned = log(multiply(conjugate(before.rotations[:, kept]), after.rotations[:, kept]))
    heavy = np.zeros(len(kept))
    np.maximum.at(heavy, body.joint_of, problem.metric[body.num_shifts :])
    moved = (after.root - before.root) ** 2 @ problem.metric[: body.num_shifts]
    return float(0.5 * np.mean(moved + (turned**2).sum(axis=2) @ heavy))


def compare(one: Case, lengths: Sequence[int] = FRAMES, limit: float = LIMIT) -> Table:
    """Every solver on the same problem of growing length."""
    rows, missed = [], []
    chosen, notes = solvers(limit)
    for frames in lengths:
        part, ours = small(one, frames), np.inf
        yardstick = Yardstick.of(part.plan("fixed"))
        for name, solver in chosen.items():
            problem = part.plan("fixed").problem()
            found = min((solver.solve(problem) for _ in range(3 if name == OURS else 1)), key=lambda s: s.seconds)
            ours = found.seconds if name == OURS else ours
            ratio, off, figures = found.seconds / ours, worst(found), yardstick.measure(found.motion)
            rows.append((
                f"{frames} frames, {name}", (frames + 2) * len(problem.metric),
                f"{found.seconds:.3g}{' *' if found.seconds >= limit else ''}", ratio, found.steps, 1e3 * off,
                change(found), f"{figures.fast:+.0f}", figures.jerk,
            ))  # fmt: skip
            missed += _missed(name, frames, ratio, off)
    return Table(
        title=f"General solvers on the same problem: the beginning of {one.name}, fixed plants, {RATE:g} Hz",
        columns=(
            "problem, solver", "unknowns", "time s", "x ours", "evaluations", "worst mm or mrad", "change", ">8 Hz %",
            "jerk x",
        ),
        rows=tuple(rows),
        notes=(
            f"Keys and residuals at every frame, exact derivatives; each may take {limit:g} s, * stopped then with the",
            "best found. worst: of any constraint at any frame. change: of coordinates, weighed as the objective does;",
            "ours puts what it can into slow keys first, which changes more and shakes less. SLSQP gets equalities of",
            "which none follows from others (it gives up otherwise) and ends at ftol 1e-6; NLopt ends at relative",
            "changes of 1e-6, with 0.1 mm as the constraints' tolerance.",
            *notes,
        ),
        missed=tuple(missed),
    )  # fmt: skip


def _missed(name: str, frames: int, ratio: float, off: float) -> list[str]:
    if name == OURS:
        return [f"ours is off by {1e3 * off:.2g} mm on {frames} frames"] if off > TOLERANCE else []
    if off <= TOLERANCE and ratio < AHEAD:
        return [f"{name} takes {ratio:.1f} times as long as ours on {frames} frames, {AHEAD:g} asked for"]
    return []


def tables() -> list[Table]:
    return [compare(walk())]
