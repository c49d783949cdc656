"""Residuals of all constraints laid out in time, as a linear step wants them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.constraints.base import Relation
from understudy.evaluation import Evaluation, Sample
from understudy.geometry.quaternion import Array
from understudy.solvers.rows import NEVER, Active, stiffness

Term = tuple[np.ndarray, np.ndarray, Array]
"""Rows (B,), which (B,) of the coordinates of some points each takes, and what (B,) it is multiplied by."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """Which residuals take part, in order of time."""

    sample: Sample
    laid: Evaluation
    """What was laid out."""
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
                sample=evaluation.sample, laid=evaluation, active=active, times=none, constraint=none, at=none,
                row=none, before=none, counts=none.astype(bool), heavy=np.zeros(0),
            )  # fmt: skip
        flat, previous = np.concatenate(parts, axis=1), np.concatenate(before)
        order = np.argsort(flat[0], kind="stable")
        place = np.empty(total + 2, dtype=np.intp)
        place[order] = np.arange(total)
        place[-1], place[-2] = -1, -1
        counts = previous[order] != -2
        times, constraint, at, row, _ = flat[:, order]
        return Layout(
            sample=evaluation.sample, laid=evaluation, active=active, times=times, constraint=constraint, at=at,
            row=row, before=place[previous[order]], counts=counts, heavy=stiffness(evaluation.sample, evaluation.rows),
        )  # fmt: skip

    @cached_property
    def members(self) -> list[tuple[int, np.ndarray]]:
        """The constraints that take part, each with its rows (n,)."""
        order = np.argsort(self.constraint, kind="stable")
        which, starts = np.unique(self.constraint[order], return_index=True)
        return list(zip(which.tolist(), np.split(order, starts[1:]), strict=False))

    def values(self, evaluation: Evaluation) -> Array:
        """(A,) the rows' values."""
        out = np.empty(len(self.times))
        for which, mine in self.members:
            out[mine] = evaluation.rows[which].values[self.at[mine], self.row[mine]]
        return out

    def jacobian(self, evaluation: Evaluation) -> Array:
        """(A, D) derivatives of the rows by the coordinates at their own frame."""
        out = np.zeros((len(self.times), evaluation.sample.ensemble.num_coordinates))
        constant = self._constant
        if constant.terms:
            for part, moves in evaluation.point_moves(constant.points):
                first, last = np.searchsorted(self.times, [part.start, part.stop])
                times = self.times[first:last] - part.start
                constant.add(out[first:last], moves.reshape(-1, out.shape[1]), times, first)
        for which, mine in self.members:
            if which not in constant.constraints:
                out[mine] = evaluation.jacobian(which, (self.at[mine], self.row[mine]))
        return out

    @cached_property
    def _constant(self) -> Constant:
        return Constant.of(self)

    @cached_property
    def compliance(self) -> Array:
        """(A,) how soft each row is against one of weight one."""
        return 1.0 / self.heavy[self.constraint]

    @cached_property
    def one_sided(self) -> np.ndarray:
        """(A,) True for rows that only must not be above zero."""
        return np.isin(self.constraint, self.one_sided_constraints)

    @cached_property
    def one_sided_constraints(self) -> list[int]:
        """The constraints whose rows only must not be above zero."""
        relations = [target.constraint.relation for target in self.sample.targets]
        return [which for which, relation in enumerate(relations) if relation is Relation.AT_MOST]

    @cached_property
    def _one_sided_members(self) -> list[tuple[int, np.ndarray]]:
        return [(which, mine) for which, mine in self.members if self.one_sided[mine[0]]]

    def idle(self, masks: Active) -> np.ndarray:
        """(A,) the one-sided rows that masks of each constraint's residuals do not choose."""
        out = np.zeros(len(self.times), bool)
        for which, mine in self._one_sided_members:
            out[mine] = ~masks[which][self.at[mine], self.row[mine]]
        return out

    def masks(self, rows: np.ndarray) -> Active:
        """Some of the one-sided rows (A,), as masks of each constraint's residuals."""
        out = [np.broadcast_to(NEVER, mask.shape) for mask in self.active]
        for which, mine in self._one_sided_members:
            chosen = mine[rows[mine]]
            out[which] = np.zeros(self.active[which].shape, bool)
            out[which][self.at[chosen], self.row[chosen]] = True
        return tuple(out)


@dataclass(frozen=True, eq=False, kw_only=True)
class Constant:
    """The rows of constraints whose derivatives by points never change: sums of points' coordinates times numbers.

    They are put together for all such constraints at once, which most are.
    """

    constraints: frozenset[int]
    points: np.ndarray
    """(P,) the points that take part."""
    terms: tuple[Term, ...]
    """The first term of the rows' sums, the second and so on: the rows (B,) that have one, in order, which (B,) of the
    three coordinates of all points it is, and its factor (B,)."""

    @staticmethod
    def of(layout: Layout) -> Constant:
        """Those among the rows of a layout."""
        found: dict[int, Array] = {}
        for which, _ in layout.members:
            by, by_turns = layout.laid.derivatives(which, slice(0, 2))
            if by is not None and by_turns is None and by.strides[0] == 0:
                found[which] = by[0].reshape(by.shape[1], -1)
        members = [(which, mine) for which, mine in layout.members if which in found]
        used = [layout.sample.targets[which].points for which, _ in members]
        points = np.unique(np.concatenate(used)) if used else np.zeros(0, dtype=np.intp)
        points = points[np.argsort(layout.sample.places.bodies[points], kind="stable")]
        place = np.zeros(len(layout.sample.places.bodies), dtype=np.intp)
        place[points] = np.arange(len(points))
        terms: list[tuple[np.ndarray, Array]] = []
        for (which, mine), own in zip(members, used, strict=True):
            numbers, row = found[which], layout.row[mine]
            coordinate = (3 * place[own][:, None] + np.arange(3)).ravel()
            order = np.argsort(numbers == 0.0, axis=1, kind="stable")
            for term in range(int(np.count_nonzero(numbers, axis=1).max())):
                if term == len(terms):
                    terms.append((np.full(len(layout.times), -1), np.zeros(len(layout.times))))
                chosen = order[:, term]
                terms[term][0][mine] = coordinate[chosen][row]
                terms[term][1][mine] = numbers[np.arange(len(numbers)), chosen][row]
        having = [np.flatnonzero(coordinate >= 0) for coordinate, _ in terms]
        in_order = tuple((rows, each[rows], factor[rows]) for rows, (each, factor) in zip(having, terms, strict=True))
        return Constant(constraints=frozenset(found), points=points, terms=in_order)

    def add(self, out: Array, moves: Array, times: np.ndarray, first: int) -> None:
        """Add to derivatives (n, D) of some rows, from the first on, at times (n,): `moves` (N P 3, D) is how the
        points move at all times."""
        for rows, coordinate, factor in self.terms:
            start, stop = np.searchsorted(rows, [first, first + len(out)])
            mine = rows[start:stop] - first
            found = np.take(moves, times[mine] * (3 * len(self.points)) + coordinate[start:stop], axis=0)
            out[mine] += found * factor[start:stop, None]
