"""Residuals of all constraints laid out in time, as a linear step wants them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.evaluation import Evaluation, Sample
from understudy.geometry.quaternion import Array
from understudy.records import remembered
from understudy.solvers.rows import stiffness

Term = tuple[np.ndarray, np.ndarray, Array]
"""Rows (B,), which (B,) of the coordinates of some points each takes, and what (B,) it is multiplied by."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """Which residuals take part, in order of time."""

    sample: Sample
    laid: Evaluation
    """What was laid out."""
    active: np.ndarray
    """(T,) which of all residuals take part."""
    entries: np.ndarray
    """(A,) the place of each row among all residuals."""
    times: np.ndarray
    """(A,) position among the sample's frames, rising."""
    before: np.ndarray
    """(A,) the row one of its frames earlier, for linked residuals; -1 for others."""
    counts: np.ndarray
    """(A,) False for the first of a chain of linked residuals, which is only compared with."""

    @staticmethod
    def of(evaluation: Evaluation, active: np.ndarray) -> Layout:
        """Lay out the residuals (T,) that take part."""
        register = evaluation.register
        chosen = np.flatnonzero(active)
        entries = chosen[np.argsort(register.time[chosen], kind="stable")]
        place = np.full(len(active) + 2, -1)
        place[entries] = np.arange(len(entries))
        before = register.before[entries]
        return Layout(
            sample=evaluation.sample, laid=evaluation, active=active, entries=entries, times=register.time[entries],
            before=place[before], counts=before != -2,
        )  # fmt: skip

    @remembered
    def constraint(self) -> np.ndarray:
        """(A,) which constraint each row is of."""
        return self.laid.register.constraint[self.entries]

    @remembered
    def at(self) -> np.ndarray:
        """(A,) at which of the constraint's own frames."""
        return self.laid.register.at[self.entries]

    @remembered
    def row(self) -> np.ndarray:
        """(A,) which of its residuals there."""
        return self.laid.register.row[self.entries]

    @remembered
    def taking_part(self) -> list[int]:
        """The constraints that take part."""
        return np.flatnonzero(np.bincount(self.constraint)).tolist()

    def values(self, evaluation: Evaluation) -> Array:
        """(A,) the rows' values."""
        return evaluation.values[self.entries]

    def jacobian(self, evaluation: Evaluation, out: Array | None = None) -> Array:
        """(A, D) derivatives of the rows by the coordinates at their own frame, put into `out` if that is given."""
        out = np.empty((len(self.times), evaluation.sample.ensemble.num_coordinates)) if out is None else out
        out[:] = 0.0
        constant = self._constant
        if constant.terms:
            for part, moves in evaluation.point_moves(constant.points):
                first, last = np.searchsorted(self.times, [part.start, part.stop])
                times = self.times[first:last] - part.start
                constant.add(out[first:last], moves.reshape(-1, out.shape[1]), times, first)
        for which in self.taking_part:
            if which not in constant.constraints:
                mine = np.flatnonzero(self.constraint == which)
                out[mine] = evaluation.jacobian(which, (self.at[mine], self.row[mine]))
        return out

    @remembered
    def _constant(self) -> Constant:
        return Constant.of(self)

    @remembered
    def compliance(self) -> Array:
        """(A,) how soft each row is against one of weight one."""
        return 1.0 / stiffness(self.sample, self.laid.rows)[self.constraint]

    @remembered
    def one_sided(self) -> np.ndarray:
        """(A,) True for rows that only must not be above zero."""
        return self.laid.register.one_sided[self.entries]

    def idle(self, active: np.ndarray) -> np.ndarray:
        """(A,) the one-sided rows that are not among the residuals (T,) chosen."""
        return self.one_sided & ~active[self.entries]

    def listed(self, rows: np.ndarray) -> np.ndarray:
        """(T,) some of the rows (A,), among all residuals."""
        out = np.zeros(len(self.active), bool)
        out[self.entries[rows]] = True
        return out


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
        register, sample = layout.laid.register, layout.sample
        found = {which: sample.targets[which].constraint.constant() for which in layout.taking_part}
        known = {which: by for which, by in found.items() if by is not None}
        used = [sample.targets[which].points for which in known]
        points = np.unique(np.concatenate(used)) if used else np.zeros(0, dtype=np.intp)
        points = points[np.argsort(sample.places.bodies[points], kind="stable")]
        place = np.zeros(len(sample.places.bodies), dtype=np.intp)
        place[points] = np.arange(len(points))
        # First for each residual that there is, then for all its rows at once.
        flat = [by.reshape(len(by), -1) for by in known.values()]
        widths = np.array([by.shape[1] for by in flat], dtype=np.intp)
        factors = np.zeros((len(register.starts), widths.max(initial=0)))
        coordinates = np.full(factors.shape, -1)
        firsts = np.searchsorted(register.constraint[register.starts], list(known))
        for width in sorted(set(widths.tolist())):
            alike = np.flatnonzero(widths == width).tolist()
            counts = [len(flat[number]) for number in alike]
            mine = np.repeat(firsts[alike] - np.cumsum(counts) + counts, counts) + np.arange(sum(counts))
            own = 3 * place[np.array([used[number] for number in alike])][:, :, None] + np.arange(3)
            factors[mine, :width] = np.concatenate([flat[number] for number in alike])
            coordinates[mine, :width] = np.repeat(own.reshape(-1, width), counts, axis=0)
        own, column = np.nonzero(factors)
        coordinates, factors = coordinates[own, column], factors[own, column]
        number = np.arange(len(own)) - np.searchsorted(own, own)
        residual = np.repeat(np.arange(len(register.sizes)), register.sizes)[layout.entries]
        terms = []
        for which in range(int(number.max(initial=-1)) + 1):
            place = np.full(len(register.sizes), -1)
            place[own[number == which]] = np.flatnonzero(number == which)
            term = place[residual]
            rows = np.flatnonzero(term >= 0)
            terms.append((rows, coordinates[term[rows]], factors[term[rows]]))
        return Constant(constraints=frozenset(known), points=points, terms=tuple(terms))

    def add(self, out: Array, moves: Array, times: np.ndarray, first: int) -> None:
        """Add to derivatives (n, D) of some rows, from the first on, at times (n,): `moves` (N P 3, D) is how the
        points move at all times."""
        for rows, coordinate, factor in self.terms:
            start, stop = np.searchsorted(rows, [first, first + len(out)])
            mine = rows[start:stop] - first
            found = np.take(moves, times[mine] * (3 * len(self.points)) + coordinate[start:stop], axis=0)
            out[mine] += found * factor[start:stop, None]
