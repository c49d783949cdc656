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
from numpy.lib.stride_tricks import as_strided
from scipy.linalg import cho_solve_banded, cholesky_banded

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
    def _reach(self) -> int:
        return max(basis.reach for basis in self.curves.bases)

    @cached_property
    def _own_width(self) -> int:
        """Rows this far apart and further share no key."""
        last = np.searchsorted(self.times, self.times + self._reach, side="right")
        return int(np.max(last - np.arange(len(self.times))))

    @cached_property
    def width(self) -> int:
        """Residuals this far apart and further do not feel each other."""
        if not self._linked.any():
            return self._own_width
        start = self.times[np.where(self.before >= 0, self.before, np.arange(len(self.times)))]
        # A residual feels an earlier one if it starts no later than the other's time plus the reach.
        first = np.minimum.accumulate(start[::-1])[::-1]
        last = np.searchsorted(first, self.times + self._reach, side="right")
        return int(np.max(last - np.arange(len(self.times))))

    @cached_property
    def _linked(self) -> np.ndarray:
        return self.before >= 0

    @cached_property
    def _overlaps(self) -> tuple[Array, ...]:
        """For each group (A, width): the spline's overlap between each row's time and that of the row o further."""
        other = np.arange(len(self.times))[:, None] + np.arange(self._own_width)
        real = other < len(self.times)
        gap = self.times[np.minimum(other, len(self.times) - 1)] - self.times[:, None]
        found = []
        for basis in self.curves.bases:
            place = np.minimum(gap, basis.reach) * len(basis.first) + self.times[:, None]
            found.append(np.take(basis.overlaps.ravel(), place, mode="clip") * (real & (gap <= basis.reach)))
        return tuple(found)

    @cached_property
    def _lookup(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where in a band of rows the three terms that comparing adds to each entry lie; past the end for none."""
        count, width = len(self.times), self.width
        row = np.arange(count)[:, None]
        other = row + np.arange(width)
        inside = other < count
        before = self.before[:, None]
        other_before = self.before[np.minimum(other, count - 1)]
        linked, other_linked = inside & (before >= 0), inside & (other_before >= 0)
        return (
            self._place(before, other, linked),
            self._place(row, other_before, other_linked),
            self._place(before, other_before, linked & other_linked),
        )

    def _place(self, a: np.ndarray, b: np.ndarray, real: np.ndarray) -> np.ndarray:
        gap = np.abs(a - b)
        real = real & (gap < self._own_width)
        return np.where(real, np.minimum(a, b) * self._own_width + gap, self._own_width * len(self.times))

    def band(self, jacobian: Array) -> Array:
        """(A, width) band of J M^-1 J', for rows of derivatives (A, D): entry (i, o) is that of rows i and i + o."""
        own, rows = self._own_width, len(self.times)
        blocks = -(-rows // own)
        out = np.zeros((rows, own))
        for overlap, group in zip(self._overlaps, self.curves.groups, strict=True):
            scaled = np.zeros(((blocks + 1) * own, len(group)))
            scaled[:rows] = jacobian[:, group] / np.sqrt(self.curves.cost[group])
            # Every block against itself and the next: two neighbouring blocks are one longer piece of the same rows.
            line, item = scaled.strides
            pairs = as_strided(scaled, (blocks, 2 * own, len(group)), (own * line, line, item), writeable=False)
            product = pairs[:, :own] @ np.swapaxes(pairs, 1, 2)
            # Entry (i, i + o) of every block, seen in place as (block, i, o).
            block, line, item = product.strides
            near = as_strided(product, (blocks, own, own), (block, line + item, item), writeable=False)
            out += near.reshape(blocks * own, own)[:rows] * overlap
        return self._compared(out)

    def compliance_band(self, compliance: Array) -> Array:
        """(A, width) the compliance (A,) of each row, as the residuals feel it.

        A chain of rows that must all equal an unknown value, each softly, becomes differences of neighbours
        whose softness is shared: eliminating the unknown is exact. Rows that ask for nothing are made trivial.
        """
        own = np.zeros((len(self.times), self._own_width))
        own[:, 0] = compliance
        out = self._compared(own)
        out[~self.counts, 0] = 1.0
        return out

    def _compared(self, own: Array) -> Array:
        """The band of a symmetric matrix of rows as the residuals feel it, zero where a row asks for nothing."""
        if not self._linked.any():
            return own
        flat = np.append(own.ravel(), 0.0)
        left, right, both = self._lookup
        out = np.take(flat, both, mode="clip")
        out -= np.take(flat, left, mode="clip")
        out -= np.take(flat, right, mode="clip")
        out[:, : own.shape[1]] += own
        return self.left_out(out, ~self.counts)

    def left_out(self, band: Array, rows: np.ndarray) -> Array:
        """A band with the entries of some rows (A,) set to zero; `band` is used up."""
        if rows.any():
            band[rows] = 0.0
            at = np.flatnonzero(rows)[:, None]
            back = np.arange(1, band.shape[1])
            row, gap = np.broadcast_arrays(at - back, back)
            real = row >= 0
            band[row[real], gap[real]] = 0.0
        return band

    def compare(self, values: Array) -> Array:
        """(A, ...) residuals of rows (A, ...): values, less the value before where they are compared."""
        out = values.copy()
        out[self._linked] -= values[self.before[self._linked]]
        out[~self.counts] = 0.0
        return out

    def spread(self, forces: Array) -> Array:
        """(A,) forces on rows from forces (A,) on residuals: the transpose of `compare`."""
        out = np.where(self.counts, forces, 0.0)
        np.subtract.at(out, self.before[self._linked], out[self._linked].copy())
        return out


def solve_forces(band: Array, residuals: Array) -> Array:
    """(A,) forces f with `band f = residuals`, for a band (A, width); `band` is used up."""
    factor = cholesky_banded(band.T, lower=True, overwrite_ab=True, check_finite=False)
    return cho_solve_banded((factor, True), residuals, check_finite=False)


def keys_of_forces(pattern: Pattern, jacobian: Array, forces: Array) -> tuple[Array, ...]:
    """The change of the keys that forces (M,) on the residuals bring about: -M^-1 J' f."""
    spread = pattern.spread(forces)
    pushed = np.zeros((len(pattern.curves.bases[0].first), jacobian.shape[1]))
    starts = np.flatnonzero(np.r_[True, np.diff(pattern.times) > 0])
    pushed[pattern.times[starts]] = np.add.reduceat(spread[:, None] * jacobian, starts, axis=0)
    return pattern.curves.gather(-pushed / pattern.curves.cost)
