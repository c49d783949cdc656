"""Residuals of many constraints as flat arrays, so that operations on all of them are single array operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.constraints.base import Constraint, Relation, Residuals
from understudy.solve.problem import Target


@record
class ResidualIndex:
    """All residuals of some constraints as one flat array, ordered by constraint, by residual row, and by frame."""

    counts: np.ndarray
    """(C,) the number of residual rows of each constraint."""
    bounds: np.ndarray
    """(C + 1,) where the entries of each constraint begin and end."""
    constraint: np.ndarray
    """(T,) the index of the constraint."""
    time: np.ndarray
    """(T,) the index of the frame."""
    at: np.ndarray
    """(T,) the index of each entry among the frames of its row."""
    one_sided: np.ndarray
    """(T,) whether the residual must be at most zero."""
    previous: np.ndarray
    """(T,) the entry that a linked residual must equal; -1 if it is not linked, -2 if it is the first of a chain."""
    starts: np.ndarray
    """(S,) the first entry of each residual row."""
    sizes: np.ndarray
    """(S,) the number of entries of each row."""
    same_as_previous: np.ndarray
    """(S,) whether the row must equal its value at the previous frame."""

    @cached
    def line(self) -> np.ndarray:
        """(T,) the residual row of each entry, counted over all constraints."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached
    def row(self) -> np.ndarray:
        """(T,) the residual row of each entry within its constraint."""
        constraint = self.constraint[self.starts]
        return np.repeat(np.arange(len(constraint)) - np.searchsorted(constraint, constraint), self.sizes)

    def entries(self, number: int) -> slice:
        """The entries of a constraint."""
        return slice(int(self.bounds[number]), int(self.bounds[number + 1]))

    @staticmethod
    def of(
        constraints: Sequence[Constraint], rows: Sequence[Residuals], times: np.ndarray, bounds: np.ndarray
    ) -> ResidualIndex:
        """The index of the residuals of constraints, at frame indices (h,) of one constraint after the other, those of
        each between two bounds (C + 1,)."""
        counts = np.array([residuals.values.shape[1] for residuals in rows], dtype=np.intp)
        lengths = np.diff(bounds)
        lines = np.where(lengths > 0, counts, 0)
        is_linked: list[bool] = []
        for residuals, count in zip(rows, lines.tolist(), strict=True):
            linked = residuals.same_as_previous
            is_linked += [False] * count if linked is None else linked.tolist()[:count]
        is_one_sided = np.array([constraint.relation is Relation.AT_MOST for constraint in constraints], dtype=bool)
        constraint_of_row = np.repeat(np.arange(len(lines)), lines)
        sizes, linked_rows = lengths[constraint_of_row], np.array(is_linked, dtype=bool)
        starts = sizes.cumsum() - sizes
        constraint = np.repeat(constraint_of_row, sizes)
        at = np.arange(len(constraint)) - np.repeat(starts, sizes)
        previous = np.where(np.repeat(linked_rows, sizes), np.arange(-1, len(constraint) - 1), -1)
        previous[starts[linked_rows]] = -2
        return ResidualIndex(
            counts=counts,
            bounds=np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lines * lengths)]),
            constraint=constraint,
            time=times[bounds[constraint] + at],
            at=at,
            one_sided=is_one_sided[constraint],
            previous=previous,
            starts=starts,
            sizes=sizes,
            same_as_previous=linked_rows,
        )


Term = tuple[np.ndarray, np.ndarray, Array]
"""Rows (B,), rising, the index (B,) of the point coordinate that each row takes, and its factor (B,)."""


@record
class PointSums:
    """The residuals whose derivatives by points are constant: weighted sums of point coordinates, and what does not
    depend on the points.

    Most constraints have only such. Their values and derivatives are computed for all of them at once.
    """

    index: ResidualIndex
    num_points: int
    others: frozenset[int]
    """The constraints whose residuals are not such sums."""
    terms: tuple[Term, ...]
    """The first terms of the sums, then the second, and so on, over the residual rows (S,)."""

    @staticmethod
    def of(targets: Sequence[Target], index: ResidualIndex, num_points: int) -> PointSums:
        """The sums among the residuals of constraints on the points of a problem."""
        derivatives = [target.constraint.constant() for target in targets]
        others = frozenset(number for number, by_points in enumerate(derivatives) if by_points is None)
        first_rows = np.searchsorted(index.constraint[index.starts], np.arange(len(targets))).tolist()
        lines, coordinates, factors = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)], [np.zeros(0)]
        known: dict[bytes, tuple[np.ndarray, np.ndarray, Array]] = {}
        for number, (target, by_points) in enumerate(zip(targets, derivatives, strict=True)):
            if by_points is None or index.bounds[number] == index.bounds[number + 1]:
                continue
            key = by_points.tobytes() + bytes(by_points.shape)
            if key not in known:
                line, column = np.nonzero(by_points.reshape(len(by_points), -1))
                known[key] = line, column, by_points.reshape(len(by_points), -1)[line, column]
            line, column, factor = known[key]
            lines.append(first_rows[number] + line)
            coordinates.append(3 * target.points[column // 3] + column % 3)
            factors.append(factor)
        rows, flat, by = np.concatenate(lines), np.concatenate(coordinates), np.concatenate(factors)
        term = np.arange(len(rows)) - np.searchsorted(rows, rows)
        picked = (term == number for number in range(int(term.max(initial=-1)) + 1))
        terms = tuple((rows[some], flat[some], by[some]) for some in picked)
        return PointSums(index=index, num_points=num_points, others=others, terms=terms)

    def terms_of(self, lines: np.ndarray) -> tuple[Term, ...]:
        """The terms of sums that are listed as rows (A,), each the residual row of that number."""
        out = []
        for rows, coordinate, factor in self.terms:
            place = np.full(len(self.index.sizes), -1)
            place[rows] = np.arange(len(rows))
            selected = place[lines]
            found = np.flatnonzero(selected >= 0)
            out.append((found, coordinate[selected[found]], factor[selected[found]]))
        return tuple(out)

    @cached
    def _entry_terms(self) -> tuple[Term, ...]:
        """The terms of all entries, with the index of the point coordinate at its frame."""
        width, time = 3 * self.num_points, self.index.time
        return tuple((rows, time[rows] * width + at, by) for rows, at, by in self.terms_of(self.index.line))

    def values(self, before: Array, change: Array) -> Array:
        """(T,) the residuals after a change (N, P, 3) of the points, from those (T,) before it. Residuals that are not
        such sums stay as they are."""
        out, flat = before.copy(), np.ascontiguousarray(change).reshape(-1)
        for entries, coordinate, factor in self._entry_terms:
            # Nearly always all of them: then no index is needed.
            whole = slice(None) if len(entries) == len(out) else entries
            out[whole] += np.take(flat, coordinate) * factor
        return out
