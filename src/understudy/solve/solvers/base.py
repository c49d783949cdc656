"""The base class of solvers, solvers by name, their solutions, and explanations of constraints that are not met."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field, fields
from functools import cache
from typing import Any, ClassVar

import numpy as np

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import find_module, scan
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import Constraint, Relation
from understudy.figure.motion import Motion
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames
from understudy.solve.problem import Problem

PACKAGE = "understudy.solve.solvers"
"""The package whose modules are solvers."""

KEY_SPACING_SECONDS = 4.0 / 30.0
"""The default key spacing of solvers on splines: 4 frames at 30 Hz."""

MAX_STEP = 0.7
"""Metres or radians: the largest change of a coordinate in a step; linear steps of rotations are inexact beyond it."""

ACTIVE_MARGIN = 0.1
"""Metres or radians: a step includes the one-sided residuals above minus this margin."""

CHECK_RATE_HZ = 30.0
"""Frames per second at which all constraints are measured after a band-limited level."""

MIN_RESISTANCE_SHARE = 0.2
"""A constraint is named if its resistance is at least this share of the strongest."""

MAX_CONFLICTS, MAX_NAMES_PER_CONFLICT = 20, 3
"""The largest number of unmet constraints that are explained, and of constraints that one explanation names."""


def find_conflicts(evaluation: Evaluation, unmet: list[tuple[int, int]]) -> tuple[str, ...]:
    """A sentence for each unmet constraint that says what prevents it from holding.

    At its worst frame, the gradient that would reduce its error is expressed by the gradients of the other constraints
    at that frame. Those with the largest multipliers are named. If there are none, the target may be out of reach.

    Args:
        evaluation: All constraints at every frame of the solution.
        unmet: Pairs of a constraint and the index of its worst frame among its frames.
    """
    return tuple(_explain(evaluation, number, at) for number, at in unmet[:MAX_CONFLICTS])


def _explain(evaluation: Evaluation, number: int, at: int) -> str:
    """The sentence for one unmet constraint."""
    sample = evaluation.sample
    label = sample.targets[number].constraint.label
    frame = int(sample.frame_indices[number][at])
    when = f"at {sample.times[frame]:.2f} s"
    jacobian, errors = _linearise(evaluation, number, at)
    if sample.targets[number].constraint.relation is Relation.AT_MOST:
        errors = np.maximum(errors, 0.0)
    gradient = jacobian.T @ errors
    step = np.linalg.lstsq(jacobian, -errors, rcond=1e-6)[0]
    others: list[tuple[int, Array]] = []
    for other in range(len(sample.targets)):
        matches = np.flatnonzero(sample.frame_indices[other] == frame)
        if other != number and len(matches):
            rows, values = _linearise(evaluation, other, int(matches[0]))
            is_equality = sample.targets[other].constraint.relation is Relation.EQUAL
            # A one-sided residual is in the way if the step would make it positive.
            rows = rows if is_equality else rows[values + rows @ step > 0.0]
            if len(rows):
                others.append((other, rows))
    if not others or np.linalg.norm(gradient) < 1e-12:
        return f"`{label}` is not met {when}, but no other constraint is in the way: it may be out of reach."
    stacked = np.concatenate([rows for _, rows in others])
    multipliers = np.abs(np.linalg.lstsq(stacked.T, gradient, rcond=1e-6)[0] * np.linalg.norm(stacked, axis=1))
    ends = np.cumsum([len(rows) for _, rows in others])[:-1]
    strength = np.array([part.max() for part in np.split(multipliers, ends)])
    order = np.argsort(-strength)[:MAX_NAMES_PER_CONFLICT]
    strong = [i for i in order if strength[i] >= MIN_RESISTANCE_SHARE * strength.max()]
    names = [sample.targets[others[i][0]].constraint.label for i in strong]
    return f"`{label}` cannot hold {when} while {_join_names(names)} {'does' if len(names) == 1 else 'do'}."


def _linearise(evaluation: Evaluation, number: int, at: int) -> tuple[Array, Array]:
    """Derivatives (R, D) of a constraint's residuals at one of its frames, and its errors (R,)."""
    rows = evaluation.rows[number]
    count = rows.values.shape[1]
    entries = (np.full(count, at), np.arange(count))
    values = rows.values[at].copy()
    if rows.same_as_previous is not None:
        values[rows.same_as_previous] -= rows.values[:, rows.same_as_previous].mean(axis=0)
    return evaluation.jacobian(number, entries), values


def _join_names(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


ProgressCallback = Callable[[str, float], None]
"""A progress callback: called with a message and the share of the work that is done."""


@record
class Outcome:
    """The violation of one constraint in a solution."""

    constraint: Constraint
    worst: float
    """Metres or radians: the largest violation at any frame."""
    time: float
    """Seconds: the time of the largest violation."""
    mean: float
    """Metres or radians: the mean violation over its frames."""

    def __repr__(self) -> str:
        worst = f"worst {self.worst:.3g} {self.constraint.unit}"
        return f"<Outcome {self.constraint.label}: {worst} at {self.time:.2f} s>"

    @property
    def met(self) -> bool:
        return self.worst <= self.constraint.tolerance


@record
class Solution:
    """The best motion found, and the violation of each constraint. Unmet constraints are a result, not an error."""

    problem: Problem
    motions: tuple[Motion, ...]
    """One for each actor."""
    outcomes: tuple[Outcome, ...]
    """One for each constraint that is not soft, over all frames of the motion."""
    solver: str
    steps: int
    """Linear steps taken."""
    seconds: float
    conflicts: tuple[str, ...] = field(default=())
    """A sentence for each unmet constraint that names the constraints it conflicts with."""
    keys: str = ""
    """A sentence on the denser keys that were tried around constraints; empty if even keys meet all."""

    def __repr__(self) -> str:
        return f"<Solution by {self.solver}: {self.result}>"

    @property
    def motion(self) -> Motion:
        """The motion of the first actor."""
        return self.motions[0]

    @property
    def unmet(self) -> tuple[Outcome, ...]:
        """The constraints that are not met, sorted by violation divided by tolerance, worst first."""
        unmet = [outcome for outcome in self.outcomes if not outcome.met]
        return tuple(sorted(unmet, key=lambda o: -o.worst / o.constraint.tolerance))

    @property
    def result(self) -> str:
        """The result in a sentence."""
        total, unmet = len(self.outcomes), self.unmet
        if not unmet:
            return f"all {total} constraints are met" if total else "there was nothing to meet"
        worst, constraint = unmet[0], unmet[0].constraint
        return (
            f"{len(unmet)} of {total} constraints are not met; the worst is `{constraint.label}`, "
            f"off by {worst.worst:.3g} {constraint.unit} at {worst.time:.2f} s (allowed {constraint.tolerance:.3g})"
        )

    def report(self) -> str:
        """The result, the worst constraint of each kind, the conflicts and the denser keys, one per line."""
        lines = [self.result]
        for kind in dict.fromkeys(outcome.constraint.kind for outcome in self.outcomes):
            outcomes = [outcome for outcome in self.outcomes if outcome.constraint.kind == kind]
            worst = max(outcomes, key=lambda o: o.worst / o.constraint.tolerance)
            where = f"at {worst.time:.2f} s in `{worst.constraint.label}`"
            lines.append(f"  {kind}: {len(outcomes)}, worst {worst.worst:.2g} {worst.constraint.unit} {where}")
        return "\n".join([*lines, *(f"  {remark}" for remark in (*self.conflicts, self.keys) if remark)])


@record(eq=True)
class Solver(ABC):
    """A method to solve problems. Every subclass is abstract or final; options are fields."""

    name: ClassVar[str] = ""
    """The name in recipes and on the command line."""

    @abstractmethod
    def move(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int]:
        """The bodies of the problem with the solved motion, and the number of steps."""

    def solve(self, problem: Problem, watch: ProgressCallback | None = None) -> Solution:
        """Solve a problem without its soft constraints and return the best motion found."""
        start = time.perf_counter()
        problem = problem.without_soft()
        bodies, steps = self.move(problem, watch or (lambda _text, _share: None))
        return make_solution(problem, bodies, solver=self.name, steps=steps, seconds=time.perf_counter() - start)


@cache
def solvers() -> dict[str, type[Solver]]:
    """Every solver by its name in recipes."""
    return {solver.name: solver for _, solver in scan(PACKAGE, "SOLVER")}


@cache
def find_solver(name: str) -> type[Solver]:
    """A solver by name, or an error that names the nearest ones."""
    # The file of a solver has its name, so that the other files need not be loaded.
    solver: type[Solver] | None = getattr(find_module(PACKAGE, name), "SOLVER", None)
    if solver is not None and solver.name == name:
        return solver
    if name not in solvers():
        raise UnknownNameError(
            f"There is no solver `{name}`; {nearest_names(name, solvers())}", hint=f"known: {', '.join(solvers())}"
        )
    return solvers()[name]


def make_solver(name: str, options: dict[str, object], spacing: float) -> Solver:
    """A solver with its options; the key spacing in seconds is used if the solver has evenly spaced keys."""
    values: dict[str, Any] = dict(options)
    if has_keys(name):
        values.setdefault("spacing", spacing)
    return find_solver(name)(**values)


@cache
def has_keys(name: str) -> bool:
    """Whether a solver's unknowns are evenly spaced keys."""
    return any(field.name == "spacing" and field.init for field in fields(find_solver(name)))


def make_solution(
    problem: Problem,
    bodies: tuple[Body, ...],
    *,
    solver: str,
    steps: int,
    seconds: float,
    evaluation: Evaluation | None = None,
    keys: str = "",
) -> Solution:
    """The solution for solved bodies; every constraint is measured at every frame unless an evaluation is given.
    `keys` says which denser keys were tried."""
    if evaluation is None:
        evaluation = ProblemAtFrames(problem=problem, bodies=bodies, frames=np.arange(len(problem.times))).measure()
    outcomes, unmet = [], []
    constraints = zip(problem.targets, problem.constraint_frames, evaluation.violation, strict=True)
    for number, (target, frames, violation) in enumerate(constraints):
        if target.constraint.soft:
            continue
        by_frame = violation[:, 0] if violation.shape[1] == 1 else violation.max(axis=1, initial=0.0)
        worst = int(by_frame.argmax())
        outcomes.append(
            Outcome(
                constraint=target.constraint,
                worst=float(by_frame[worst]),
                time=float(problem.times[frames[worst]]),
                mean=float(by_frame.sum()) / len(by_frame),
            )
        )
        if not outcomes[-1].met:
            unmet.append((-outcomes[-1].worst / target.constraint.tolerance, number, worst))
    return Solution(
        problem=problem,
        motions=problem.restored(bodies),
        outcomes=tuple(outcomes),
        solver=solver,
        steps=steps,
        seconds=seconds,
        conflicts=find_conflicts(evaluation, [(number, worst) for _, number, worst in sorted(unmet)]),
        keys=keys,
    )
