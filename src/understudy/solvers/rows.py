"""Residuals of all constraints laid out in time, as a linear step wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.constraints.base import Relation, Rows
from understudy.evaluation import Evaluation, Sample
from understudy.geometry.quaternion import Array
from understudy.problem import Problem

Active = tuple[np.ndarray, ...]
"""For each constraint (n, R): which of its residuals take part."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """Which residuals take part, in order of time."""

    sample: Sample
    active: Active
    times: np.ndarray
    """(A,) position among the sample's frames."""
    constraint: np.ndarray
    """(A,) which constraint."""
    at: np.ndarray
    """(A,) which of the constraint's own frames."""
    row: np.ndarray
    """(A,) which of its residuals there."""
    before: np.ndarray
    """(A,) the row one of its frames earlier, for linked residuals; -1 for others."""
    counts: np.ndarray
    """(A,) False for the first of a chain of linked residuals, which is only compared with."""
    heavy: Array
    """(C,) how heavily each constraint's squared residuals count."""

    @staticmethod
    def of(evaluation: Evaluation, active: Active) -> Layout:
        """Lay out the residuals that take part."""
        parts, before, total = [], [], 0
        for which, (rows, mask, held) in enumerate(zip(evaluation.rows, active, evaluation.sample.holds, strict=True)):
            at, row = np.nonzero(mask)
            linked = np.zeros(rows.values.shape[1], bool) if rows.linked is None else rows.linked
            number = np.full((rows.values.shape[0] + 1, rows.values.shape[1]), -2)
            number[at + 1, row] = total + np.arange(len(at))
            parts.append(np.stack([held[at], np.full(len(at), which), at, row, linked[row]]))
            before.append(np.where(linked[row], number[at, row], -1))
            total += len(at)
        if not parts:
            none = np.zeros(0, dtype=np.intp)
            return Layout(
                sample=evaluation.sample, active=active, times=none, constraint=none, at=none, row=none, before=none,
                counts=none.astype(bool), heavy=np.zeros(0),
            )  # fmt: skip
        flat, previous = np.concatenate(parts, axis=1), np.concatenate(before)
        order = np.argsort(flat[0], kind="stable")
        place = np.empty(total + 2, dtype=np.intp)
        place[order] = np.arange(total)
        place[-1], place[-2] = -1, -1
        counts = previous[order] != -2
        times, constraint, at, row, _ = flat[:, order]
        return Layout(
            sample=evaluation.sample, active=active, times=times, constraint=constraint, at=at, row=row,
            before=place[previous[order]], counts=counts, heavy=stiffness(evaluation.sample, evaluation.rows),
        )  # fmt: skip

    @cached_property
    def _members(self) -> list[tuple[int, np.ndarray]]:
        return [(int(c), np.flatnonzero(self.constraint == c)) for c in np.unique(self.constraint)]

    def values(self, evaluation: Evaluation) -> Array:
        """(A,) the rows' values."""
        out = np.empty(len(self.times))
        for which, mine in self._members:
            out[mine] = evaluation.rows[which].values[self.at[mine], self.row[mine]]
        return out

    def jacobian(self, evaluation: Evaluation) -> Array:
        """(A, D) derivatives of the rows by the coordinates at their own frame."""
        out = np.empty((len(self.times), evaluation.sample.ensemble.num_coordinates))
        for which, mine in self._members:
            out[mine] = evaluation.jacobian(which, (self.at[mine], self.row[mine]))
        return out

    @cached_property
    def compliance(self) -> Array:
        """(A,) how soft each row is against one of weight one."""
        return 1.0 / self.heavy[self.constraint]

    @cached_property
    def one_sided(self) -> np.ndarray:
        """(A,) True for rows that only must not be above zero."""
        kinds = [t.constraint.relation is Relation.AT_MOST for t in self.sample.targets]
        return np.array(kinds, bool)[self.constraint]

    def chosen(self, masks: Active) -> np.ndarray:
        """(A,) the rows that masks of each constraint's residuals choose."""
        out = np.zeros(len(self.times), bool)
        for which, mine in self._members:
            out[mine] = masks[which][self.at[mine], self.row[mine]]
        return out

    def masks(self, rows: np.ndarray) -> Active:
        """Some of the rows (A,), as masks of each constraint's residuals."""
        out = tuple(np.zeros(mask.shape, bool) for mask in self.active)
        for which, mine in self._members:
            chosen = mine[rows[mine]]
            out[which][self.at[chosen], self.row[chosen]] = True
        return out


ROWS = 3.0
"""Residuals of a constraint on a point's place, against which others are counted."""


def stiffness(sample: Sample, rows: Sequence[Rows] = ()) -> Array:
    """(C,) how heavily each constraint's squared residuals count [Lommers13, sec. 4.2].

    The artist's weight and priority; radians by the length of a leg, so that they weigh as the metres they move a
    foot; and the number of residuals, so that asking in more numbers is not asking for more. What a joint's turning
    matters is part of the problem's metric.
    """
    found = []
    for number, target in enumerate(sample.targets):
        constraint = target.constraint
        unit = sample.problem.leg if constraint.angular else 1.0
        count = rows[number].values.shape[1] if len(rows) else ROWS
        found.append(constraint.weight * 10.0**constraint.priority * unit**2 * ROWS / max(count, 1))
    return np.array(found)


def active_rows(evaluation: Evaluation, margin: float, previous: Active | None = None) -> Active:
    """Which residuals take part: all that must be zero; of the others those above -margin or held before."""
    found = []
    for which, (target, rows) in enumerate(zip(evaluation.sample.targets, evaluation.rows, strict=True)):
        if target.constraint.relation is Relation.EQUAL:
            found.append(np.ones(rows.values.shape, bool))
        else:
            near = rows.values > -margin
            found.append(near if previous is None else near | previous[which])
    return tuple(found)


def violation(evaluation: Evaluation) -> tuple[Array, ...]:
    """For each constraint (n, R): how far each residual is from being satisfied, never negative.

    Linked residuals are measured from their own mean: the value that the solver leaves open.
    """
    found = []
    for target, rows in zip(evaluation.sample.targets, evaluation.rows, strict=True):
        values = rows.values
        if rows.linked is not None and rows.linked.any():
            values = values.copy()
            values[:, rows.linked] -= values[:, rows.linked].mean(axis=0)
        found.append(np.maximum(values, 0.0) if target.constraint.relation is Relation.AT_MOST else np.abs(values))
    return tuple(found)


def within_tolerance(evaluation: Evaluation, share: float) -> bool:
    """Whether every constraint is met within a share of its tolerance."""
    pairs = zip(evaluation.sample.targets, violation(evaluation), strict=True)
    return all(off.max(initial=0.0) <= share * target.constraint.tolerance for target, off in pairs)


def penalty(evaluation: Evaluation, heavy: Array | None = None) -> float:
    """Half the sum of all squared violations, each as heavy (C,) as its constraint, by its own weight if not given."""
    heavy = stiffness(evaluation.sample, evaluation.rows) if heavy is None else heavy
    return 0.5 * sum(float(h * (v**2).sum()) for h, v in zip(heavy, violation(evaluation), strict=True))


def sampled_frames(problem: Problem, rate: float, watched: Iterable[int] | None = None) -> np.ndarray:
    """The frames to look at: at that rate, and the first and last of every constraint watched (all if not given)."""
    times = problem.times
    step = max(round(problem.actors[0].motion.fps / rate), 1)
    wanted = [np.arange(0, len(times), step), np.array([len(times) - 1])]
    for number in range(len(problem.constraints)) if watched is None else watched:
        held = problem.held[number]
        wanted.append(held if problem.constraints[number].instants else held[[0, -1]])
    return np.unique(np.concatenate(wanted)).astype(np.intp)
