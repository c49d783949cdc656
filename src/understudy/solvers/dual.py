"""The linear step of a whole-motion solve, in the space of the constraints' forces.

The least change x of the keys, under a diagonal cost M, that brings residuals h + J x near zero is `x = -M^-1 J' f`,
where the forces f solve `(J M^-1 J' + C) f = h` and C is the compliance of each residual: zero would mean exactly
met, and a small number makes infeasible or repeated constraints harmless. A residual at time t feels four keys, so
this matrix is banded in time, whatever the number of coordinates: an entry is the product of the spline's overlap
between two times (of each group of coordinates with its own spacing) and of two rows of derivatives by coordinates.

Residuals that only have to equal their value one frame before (a footplant anywhere) are differences of two rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky_banded, cho_solve_banded

from understudy.geometry.quaternion import Array
from understudy.splines import Basis


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves:
    """The unknowns: for each group of coordinates a spline of its own, all at the same times."""

    bases: tuple[Basis, ...]
    groups: tuple[np.ndarray, ...]
    """The coordinates (d,) of each group."""
    cost: Array
    """(D,) of a unit of each coordinate's keys."""

    def values(self, keys: tuple[Array, ...]) -> Array:
        """(N, D) coordinates at each time of keys, one array (K, d) for each group."""
        out = np.zeros((len(self.bases[0].first), len(self.cost)))
        for basis, group, part in zip(self.bases, self.groups, keys, strict=True):
            out[:, group] = basis.values(part)
        return out

    def gather(self, values: Array) -> tuple[Array, ...]:
        """What values (N, D) add to the keys of each group."""
        return tuple(b.gather(values[:, g]) for b, g in zip(self.bases, self.groups, strict=True))

    def size(self, keys: tuple[Array, ...]) -> float:
        """The cost of keys: the objective, without its half [Gleicher98, eq. 3]."""
        return sum(float((part**2 @ self.cost[g]).sum()) for part, g in zip(keys, self.groups, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Pattern:
    """Which residuals there are and when: all of the matrix that does not change from step to step."""

    times: np.ndarray
    """(A,) position in time of each row of derivatives, rising."""
    before: np.ndarray
    """(A,) the row whose value a row's is compared with; -1 for none."""
    counts: np.ndarray
    """(A,) False for rows that are only compared with, and ask for nothing themselves."""
    curves: Curves

    @cached_property
    def rows(self) -> np.ndarray:
        """(M,) the rows that ask for something: the residuals."""
        return np.flatnonzero(self.counts)

    @cached_property
    def _block(self) -> int:
        """Rows further apart than this share no key."""
        reach = max(basis.reach for basis in self.curves.bases)
        last = np.searchsorted(self.times, self.times + reach, side="right") - 1
        return int(np.max(last - np.arange(len(self.times)))) + 1

    @cached_property
    def _overlaps(self) -> tuple[Array, ...]:
        """For each group (B, C, 2C): overlaps of each row in a block with the rows of its block and the next."""
        size = self._block
        blocks = -(-len(self.times) // size)
        row = np.arange(blocks * size).reshape(blocks, size, 1)
        other = (np.arange(blocks) * size)[:, None, None] + np.arange(2 * size)
        top = len(self.times) - 1
        gap = self.times[np.minimum(other, top)] - self.times[np.minimum(row, top)]
        early = np.minimum(self.times[np.minimum(other, top)], self.times[np.minimum(row, top)])
        real = (row <= top) & (other <= top)
        found = []
        for basis in self.curves.bases:
            near = real & (np.abs(gap) <= basis.reach)
            found.append(np.where(near, basis.overlaps[np.minimum(np.abs(gap), basis.reach), early], 0.0))
        return tuple(found)

    @cached_property
    def half_width(self) -> int:
        """How far from the diagonal two residuals can feel each other."""
        low = np.where(self.before >= 0, self.before, np.arange(len(self.times)))[self.rows]
        reach = max(basis.reach for basis in self.curves.bases)
        # A residual feels another if it starts no later than the other's time plus the reach.
        first = np.minimum.accumulate(self.times[low][::-1])[::-1]
        last = np.searchsorted(first, self.times[self.rows] + reach, side="right") - 1
        return max(int(np.max(last - np.arange(len(self.rows)))), 0)

    @cached_property
    def _lookup(self) -> tuple[np.ndarray, ...]:
        """Where in the blocks the terms of each entry of the band lie, with one past the end for terms of zero."""
        count, width = len(self.rows), self.half_width
        first = np.arange(count)[None] + np.zeros((width + 1, 1), dtype=np.intp)
        second = first + np.arange(width + 1)[:, None]
        inside = second < count
        a, b = self.rows[first], self.rows[np.minimum(second, count - 1)]
        pa, pb = self.before[a], self.before[b]
        return (
            self._place(a, b, inside),
            self._place(pa, b, inside & (pa >= 0)),
            self._place(a, pb, inside & (pb >= 0)),
            self._place(pa, pb, inside & (pa >= 0) & (pb >= 0)),
        )

    def _place(self, a: np.ndarray, b: np.ndarray, real: np.ndarray) -> np.ndarray:
        size = self._block
        low, high = np.minimum(a, b), np.maximum(a, b)
        block = low // size
        column = high - block * size
        real = real & (column < 2 * size)
        nowhere = -(-len(self.times) // size) * size * 2 * size
        return np.where(real, (low * 2 * size + column), nowhere)

    def band(self, jacobian: Array) -> Array:
        """(half_width + 1, M) lower band of J M^-1 J', for rows of derivatives (A, D)."""
        size, rows = self._block, len(self.times)
        blocks = -(-rows // size)
        product = np.zeros((blocks, size, 2 * size))
        for overlap, group in zip(self._overlaps, self.curves.groups, strict=True):
            scaled = np.zeros(((blocks + 1) * size, len(group)))
            scaled[:rows] = jacobian[:, group] / np.sqrt(self.curves.cost[group])
            parts = scaled.reshape(blocks + 1, size, len(group))
            both = np.concatenate([parts[:-1], parts[1:]], axis=1)
            product += (parts[:-1] @ np.swapaxes(both, 1, 2)) * overlap
        return self._banded(product)

    def compliance_band(self, compliance: Array) -> Array:
        """(half_width + 1, M) the compliance (A,) of each row, as the residuals feel it.

        A chain of rows that must all equal an unknown value, each softly, becomes differences of neighbours
        whose softness is shared: eliminating the unknown is exact.
        """
        size = self._block
        blocks = -(-len(self.times) // size)
        product = np.zeros((blocks, size, 2 * size))
        row = np.arange(len(self.times))
        product[row // size, row % size, row % size] = compliance
        return self._banded(product)

    def _banded(self, product: Array) -> Array:
        """The band of a symmetric matrix of rows, given in blocks, as the residuals feel it."""
        flat = np.append(product.ravel(), 0.0)
        here, left, right, both = self._lookup
        if np.all(self.before < 0):
            return flat[here]
        return flat[here] - flat[left] - flat[right] + flat[both]

    def compare(self, values: Array) -> Array:
        """(M, ...) residuals of rows (A, ...): values, less the value before where they are compared."""
        out = values[self.rows].copy()
        linked = self.before[self.rows] >= 0
        out[linked] -= values[self.before[self.rows[linked]]]
        return out

    def spread(self, forces: Array) -> Array:
        """(A,) forces on rows from forces (M,) on residuals: the transpose of `compare`."""
        out = np.zeros(len(self.times))
        out[self.rows] = forces
        linked = self.before[self.rows] >= 0
        np.subtract.at(out, self.before[self.rows[linked]], forces[linked])
        return out


def solve_forces(band: Array, residuals: Array) -> Array:
    """(M,) forces f with `band f = residuals`; `band` is used up."""
    factor = cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)
    return cho_solve_banded((factor, True), residuals, check_finite=False)


def keys_of_forces(pattern: Pattern, jacobian: Array, forces: Array) -> tuple[Array, ...]:
    """The change of the keys that forces (M,) on the residuals bring about: -M^-1 J' f."""
    spread = pattern.spread(forces)
    pushed = np.zeros((len(pattern.curves.bases[0].first), jacobian.shape[1]))
    starts = np.flatnonzero(np.r_[True, np.diff(pattern.times) > 0])
    pushed[pattern.times[starts]] = np.add.reduceat(spread[:, None] * jacobian, starts, axis=0)
    return pattern.curves.gather(-pushed / pattern.curves.cost)
