"""What every solver is and gives back, so that they can be compared on the same problem."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint, Relation
from understudy.figure.motion import Motion
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames
from understudy.solve.problem import Problem

NAMED = 3
"""How many constraints a sentence names."""

SHARE = 0.2
"""Share of the strongest resistance from which on a constraint is named."""

MOST = 20
"""How many broken constraints are looked into."""


def find_conflicts(evaluation: Evaluation, unmet: list[tuple[int, int]]) -> tuple[str, ...]:
    """A sentence for each broken constraint: what keeps it from holding.

    Around the frame where it is worst, the change that would mend it is split into what the constraints that hold
    there forbid and what is left. Those that forbid most of it are named; where nothing does, the body cannot reach.

    Args:
        evaluation: All constraints at every frame of the motion found.
        unmet: (constraint, position of its worst frame among its own frames) each.
    """
    return tuple(_sentence(evaluation, which, at) for which, at in unmet[:MOST])


def _sentence(evaluation: Evaluation, which: int, at: int) -> str:
    sample = evaluation.sample
    label = sample.targets[which].constraint.label
    frame = int(sample.holds[which][at])
    when = f"at {sample.times[frame]:.2f} s"
    mine, off = _rows(evaluation, which, at)
    if sample.targets[which].constraint.relation is Relation.AT_MOST:
        off = np.maximum(off, 0.0)
    wish = mine.T @ off
    step = np.linalg.lstsq(mine, -off, rcond=1e-6)[0]
    others: list[tuple[int, Array]] = []
    for other in range(len(sample.targets)):
        place = np.flatnonzero(sample.holds[other] == frame)
        if other != which and len(place):
            rows, values = _rows(evaluation, other, int(place[0]))
            holding = sample.targets[other].constraint.relation is Relation.EQUAL
            # What may be below zero is in the way if mending the broken one would bring it above.
            rows = rows if holding else rows[values + rows @ step > 0.0]
            if len(rows):
                others.append((other, rows))
    if not others or np.linalg.norm(wish) < 1e-12:
        return f"`{label}` cannot be reached {when}: nothing is in its way but the body's own size."
    stacked = np.concatenate([rows for _, rows in others])
    resistance = np.abs(np.linalg.lstsq(stacked.T, wish, rcond=1e-6)[0] * np.linalg.norm(stacked, axis=1))
    ends = np.cumsum([len(rows) for _, rows in others])[:-1]
    strength = np.array([part.max() for part in np.split(resistance, ends)])
    order = np.argsort(-strength)[:NAMED]
    named = [sample.targets[others[i][0]].constraint.label for i in order if strength[i] >= SHARE * strength.max()]
    return f"`{label}` cannot hold {when} while {_list(named)} {'does' if len(named) == 1 else 'do'}."


def _rows(evaluation: Evaluation, which: int, at: int) -> tuple[Array, Array]:
    """Derivatives (R, D) of a constraint's residuals at one of its frames, and how far (R,) each is off."""
    rows = evaluation.rows[which]
    count = rows.values.shape[1]
    entries = (np.full(count, at), np.arange(count))
    values = rows.values[at].copy()
    if rows.same_as_previous is not None:
        values[rows.same_as_previous] -= rows.values[:, rows.same_as_previous].mean(axis=0)
    return evaluation.jacobian(which, entries), values


def _list(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


Watch = Callable[[str, float], None]
"""Told, as a solver goes, what it is doing and what share of the work is done."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """How well one constraint is met."""

    constraint: Constraint
    worst: float
    """Metres or radians: the largest violation at any frame."""
    time: float
    """Seconds: where that is."""
    mean: float
    """The mean violation over its frames."""

    def __repr__(self) -> str:
        unit = "rad" if self.constraint.angular else "m"
        return f"<Outcome {self.constraint.label}: worst {self.worst:.3g} {unit} at {self.time:.2f} s>"

    @property
    def met(self) -> bool:
        return self.worst <= self.constraint.tolerance


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The best motion found, and how well it meets each constraint. Not meeting them is a result, not an error."""

    problem: Problem
    motions: tuple[Motion, ...]
    """One for each actor."""
    outcomes: tuple[Outcome, ...]
    """One for each constraint, at every frame of the motion."""
    solver: str
    steps: int
    """Linear steps taken."""
    seconds: float
    conflicts: tuple[str, ...] = field(default=())
    """For constraints that are not met: which of them fight each other, a sentence each."""

    def __repr__(self) -> str:
        return f"<Solution by {self.solver}: {self.result}>"

    @property
    def motion(self) -> Motion:
        """The motion of the first actor."""
        return self.motions[0]

    @property
    def unmet(self) -> tuple[Outcome, ...]:
        """The constraints that are not met, worst first by how many tolerances they are off."""
        missed = [outcome for outcome in self.outcomes if not outcome.met]
        return tuple(sorted(missed, key=lambda o: -o.worst / o.constraint.tolerance))

    @property
    def result(self) -> str:
        """What came of it, in a sentence."""
        total, missed = len(self.outcomes), self.unmet
        if not missed:
            return f"all {total} constraints are met" if total else "there was nothing to meet"
        worst = missed[0]
        unit = "rad" if worst.constraint.angular else "m"
        return (
            f"{len(missed)} of {total} constraints are not met; the worst is `{worst.constraint.label}`, "
            f"off by {worst.worst:.3g} {unit} at {worst.time:.2f} s (allowed {worst.constraint.tolerance:.3g})"
        )

    def report(self) -> str:
        """The worst constraint of each kind, a line each, and what is not met."""
        lines = [self.result]
        for kind in dict.fromkeys(outcome.constraint.kind for outcome in self.outcomes):
            mine = [outcome for outcome in self.outcomes if outcome.constraint.kind == kind]
            worst = max(mine, key=lambda o: o.worst / o.constraint.tolerance)
            lines.append(
                f"  {kind}: {len(mine)}, worst {worst.worst:.2g} at {worst.time:.2f} s in `{worst.constraint.label}`"
            )
        return "\n".join([*lines, *(f"  {conflict}" for conflict in self.conflicts)])


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """A way to solve a problem. A class is abstract or final; options are fields."""

    name: ClassVar[str] = ""
    """Its name in recipes and on the command line."""

    @abstractmethod
    def move(self, problem: Problem, watch: Watch) -> tuple[tuple[Body, ...], int]:
        """The bodies of the problem moved as well as this solver can, and the steps taken."""

    def solve(self, problem: Problem, watch: Watch | None = None) -> Solution:
        """Solve a problem; always returns the best motion found."""
        began = time.perf_counter()
        bodies, steps = self.move(problem, watch or (lambda _text, _share: None))
        return solution(problem, bodies, solver=self.name, steps=steps, seconds=time.perf_counter() - began)


def solution(
    problem: Problem,
    bodies: tuple[Body, ...],
    *,
    solver: str,
    steps: int,
    seconds: float,
    evaluation: Evaluation | None = None,
) -> Solution:
    """The solution that moved bodies are, with every constraint measured at every frame, if that is not known yet."""
    if evaluation is None:
        evaluation = ProblemAtFrames(problem=problem, bodies=bodies, frames=np.arange(len(problem.times))).measure()
    outcomes, missed = [], []
    everything = zip(problem.targets, problem.held, evaluation.violation, strict=True)
    for number, (target, held, off) in enumerate(everything):
        by_frame = off.max(axis=1) if off.shape[1] > 1 else off[:, 0] if off.shape[1] else np.zeros(len(held))
        worst = int(by_frame.argmax())
        outcomes.append(
            Outcome(
                constraint=target.constraint,
                worst=float(by_frame[worst]),
                time=float(problem.times[held[worst]]),
                mean=float(by_frame.sum()) / len(by_frame),
            )
        )
        if not outcomes[-1].met:
            missed.append((-outcomes[-1].worst / target.constraint.tolerance, number, worst))
    return Solution(
        problem=problem,
        motions=problem.restored(bodies),
        outcomes=tuple(outcomes),
        solver=solver,
        steps=steps,
        seconds=seconds,
        conflicts=find_conflicts(evaluation, [(number, worst) for _, number, worst in sorted(missed)]),
    )
