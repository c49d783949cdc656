"""A factored matrix of the forces, from which residuals can be left out without factoring it again.

What leaving one out changes fades with the distance in time, so that it is found near by, however long the motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import as_strided

from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.base.splines import Basis
from understudy.solve.lapack import dpbtrf, dpbtrs, dsbmv

BLOCK = 2**15
"""Numbers worked on at a time, so that what is being computed stays in the processor's cache."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves:
    """The unknowns: for each group of coordinates a spline of its own, all at the same times."""

    bases: tuple[Basis, ...]
    groups: tuple[np.ndarray, ...]
    """The coordinates (d,) of each group."""
    cost: Array
    """(D,) of a unit of each coordinate's keys."""

    def at(self, times: np.ndarray) -> Curves:
        """The curves at some of their times (n,), which rise."""
        if len(times) == len(self.bases[0].first):
            return self
        return Curves(bases=tuple(basis.at(times) for basis in self.bases), groups=self.groups, cost=self.cost)

    def values(self, keys: tuple[Array, ...]) -> Array:
        """(N, D) coordinates at each time of keys, one array (K, d) for each group."""
        if len(self.groups) == 1:
            return self.bases[0].values(keys[0])
        out = np.zeros((len(self.bases[0].first), len(self.cost)))
        for basis, group, part in zip(self.bases, self.groups, keys, strict=True):
            out[:, group] = basis.values(part)
        return out

    def gather(self, values: Array) -> tuple[Array, ...]:
        """What values (N, D) add to the keys of each group."""
        if len(self.groups) == 1:
            return (self.bases[0].gather(values),)
        return tuple(b.gather(values[:, g]) for b, g in zip(self.bases, self.groups, strict=True))

    def size(self, keys: tuple[Array, ...]) -> float:
        """The cost of keys: the objective, without its half [Gleicher98, eq. 3]."""
        return sum(float((part**2 @ self.cost[g]).sum()) for part, g in zip(keys, self.groups, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Space:
    """Arrays that are used again from step to step: large ones are dear to get from the system each time."""

    kept: dict[str, Array] = field(default_factory=dict)

    def array(self, name: str, *shape: int) -> Array:
        """The array of that name and shape, with whatever is in it; what it was before is gone."""
        if name not in self.kept or self.kept[name].shape != shape:
            self.kept[name] = np.empty(shape)
        return self.kept[name]


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
    space: Space = field(default_factory=Space)

    @cached
    def _reach(self) -> int:
        return max(basis.reach for basis in self.curves.bases)

    @cached
    def _sharing(self) -> np.ndarray:
        """(A,) how many rows from each on, itself included, are near enough in time to share a key with it."""
        last = np.searchsorted(self.times, self.times + self._reach, side="right")
        return last - np.arange(len(self.times))

    @cached
    def _own_width(self) -> int:
        """Rows this far apart and further share no key."""
        return int(np.max(self._sharing))

    @cached
    def width(self) -> int:
        """Residuals this far apart and further do not feel each other."""
        if not self._linked.any():
            return self._own_width
        start = self.times[np.where(self.before >= 0, self.before, np.arange(len(self.times)))]
        # A residual feels an earlier one if it starts no later than the other's time plus the reach.
        first = np.minimum.accumulate(start[::-1])[::-1]
        last = np.searchsorted(first, self.times + self._reach, side="right")
        return int(np.max(last - np.arange(len(self.times))))

    @cached
    def _linked(self) -> np.ndarray:
        return self.before >= 0

    @cached
    def _overlaps(self) -> tuple[Array, ...]:
        """For each group (A, width): the spline's overlap between each row's time and that of the row o further."""
        count, own = len(self.times), self._own_width
        if self._reach == 0:
            # With a key of its own at each time, only rows of the same time share one.
            same = np.arange(own) < self._sharing[:, None]
            return tuple(same * basis.overlaps[0, self.times, None] for basis in self.curves.bases)
        found = tuple(np.empty((count, own)) for _ in self.curves.bases)
        later = np.append(self.times, np.full(own, self.times[-1] + self._reach + 1))
        for part in self._parts(own):
            here = self.times[part, None]
            gap = _windows(later, part, own) - here
            for basis, out in zip(self.curves.bases, found, strict=True):
                place = np.minimum(gap, basis.reach) * len(basis.first) + here
                out[part] = np.take(basis.overlaps.ravel(), place, mode="clip") * (gap <= basis.reach)
        return found

    def _parts(self, width: int) -> Iterator[slice]:
        """Pieces of the rows, such that so many numbers for each of them stay in the processor's cache."""
        size = max(BLOCK // width, 1)
        for start in range(0, len(self.times), size):
            yield slice(start, min(start + size, len(self.times)))

    def band(self, jacobian: Array) -> Array:
        """(A, width) band of J M^-1 J', for rows of derivatives (A, D): entry (i, o) is that of rows i and i + o.

        It is used again for the next.
        """
        own = self._own_width
        out = self.space.array("own band", len(self.times), own)
        out[:] = 0.0
        size = own * min(max(BLOCK // (own * jacobian.shape[1]), 1), -(-len(out) // own))
        for overlap, group in zip(self._overlaps, self.curves.groups, strict=True):
            scaled, every = np.empty((size + own, len(group))), len(group) == jacobian.shape[1]
            for start in range(0, len(out), size):
                rows = jacobian[start : start + size + own]
                rows, part = rows if every else rows[:, group], out[start : start + size]
                np.multiply(rows, self.curves.cost[group] ** -0.5, out=scaled[: len(rows)])
                scaled[len(rows) :] = 0.0
                part += _near_products(scaled, own)[: len(part)] * overlap[start : start + size]
        return self._compared(out)

    def compliance_band(self, compliance: Array) -> Array:
        """(A, width) the compliance (A,) of each row, as the residuals feel it.

        A chain of rows that must all equal an unknown value, each softly, becomes differences of neighbours
        whose softness is shared: eliminating the unknown is exact. Rows that ask for nothing are made trivial.
        """
        return self.soften(np.zeros((len(self.times), self.width)), compliance)

    def soften(self, band: Array, compliance: Array) -> Array:
        """A band (A, width) with `compliance_band` added to it; `band` is used up."""
        here = np.flatnonzero(self._linked)
        before = self.before[here]
        band[:, 0] += np.where(self.counts, compliance, 1.0)
        band[here, 0] += compliance[before]
        shared = self.counts[before]
        band[before[shared], (here - before)[shared]] -= compliance[before[shared]]
        return band

    def _compared(self, own: Array) -> Array:
        """The band of a symmetric matrix of rows as the residuals feel it, zero where a row asks for nothing."""
        if not self._linked.any():
            return own
        width, count = self.width, len(own)
        # Past either end of the rows nothing is felt, and far before the first is what rows without one compare with.
        before = np.where(self._linked, self.before, -count - width)
        later = np.append(before, np.full(width, before[0]))
        earliest = np.minimum.accumulate(np.where(self._linked, self.before, np.arange(count))[::-1])[::-1]
        out = self.space.array("band", count, width)
        out[:, : own.shape[1]] = own
        out[:, own.shape[1] :] = 0.0
        for part in self._parts(width):
            first = earliest[part.start]
            full = _both_sides(own, first, part.stop)
            here = np.arange(part.start, part.stop)[:, None]
            other_before = _windows(later, part, width)
            out[part] -= _entries(full, first, here, other_before)
            linked = part.start + np.flatnonzero(self._linked[part])
            mine = before[linked, None]
            both = _entries(full, first, mine, other_before[linked - part.start])
            both -= _entries(full, first, mine, linked[:, None] + np.arange(width))
            out[linked] += both
        return self.left_out(out, ~self.counts)

    def left_out(self, band: Array, rows: np.ndarray) -> Array:
        """A band with the entries of some rows (A,) set to zero; `band` is used up."""
        if rows.any():
            band[rows] = 0.0
            at, width = np.flatnonzero(rows), band.shape[1]
            place = at[:, None] * width - np.arange(1, width) * (width - 1)
            # Before the first row there is nothing: what is zero already stands for it.
            place[place < 0] = at[0] * width
            band.put(place, 0.0)
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
        # No two rows are compared with the same one.
        out[self.before[self._linked]] -= out[self._linked]
        return out


def _windows(values: np.ndarray, part: slice, width: int) -> np.ndarray:
    """(n, width) for each of some of a row of values, it and those that follow."""
    return as_strided(values[part.start :], (part.stop - part.start, width), 2 * values.strides, writeable=False)


def _both_sides(band: Array, first: int, last: int) -> Array:
    """(n, 2 width + 1) some rows of a symmetric band (A, width) with its other half: entry (i, width + o) is that of
    rows i and i + o for o of either sign, and zero in the first and last columns."""
    width = band.shape[1]
    out = np.zeros((last - first, 2 * width + 1))
    out[:, width : 2 * width] = band[first:last]
    above = band[max(first - width, 0) : last]
    padded = np.concatenate([np.zeros((width - (first - max(first - width, 0)), width)), above])
    line, item = padded.strides
    back = as_strided(padded[width:], (last - first, width), (line, item - line), writeable=False)
    out[:, width:0:-1] = back
    return out


def _entries(full: Array, first: int, a: np.ndarray, b: np.ndarray) -> Array:
    """The entries of rows a and b of a symmetric matrix, as `_both_sides` lays it out from the first row on; zero far
    from its diagonal."""
    width = full.shape[1] // 2
    place = np.minimum(b - a, width)
    np.maximum(place, -width, out=place)
    place += (a - first) * full.shape[1] + width
    return np.take(full, place, mode="clip")


def _near_products(rows: Array, width: int) -> Array:
    """(n, width) entry (i, o) is the product of rows i and i + o, for a number of rows (n + width, D)."""
    blocks = len(rows) // width - 1
    line, item = rows.strides
    # Every block against itself and the next: two neighbouring blocks are one longer piece of the same rows.
    pairs = as_strided(rows, (blocks, 2 * width, rows.shape[1]), (width * line, line, item), writeable=False)
    product = pairs[:, :width] @ np.swapaxes(pairs, 1, 2)
    # Entry (i, i + o) of every block, seen in place as (block, i, o).
    block, line, item = product.strides
    near = as_strided(product, (blocks, width, width), (block, line + item, item), writeable=False)
    return near.reshape(blocks * width, width)


def factor(band: Array) -> Array:
    """The Cholesky factor of a band (A, width), for `solve_factored`; `band` is used up."""
    factored, wrong = dpbtrf(band.T, lower=True, overwrite_ab=True)
    if wrong:
        raise np.linalg.LinAlgError(f"The matrix of the forces is not positive definite at row {abs(wrong)}")
    return np.asarray(factored)


def solve_factored(factored: Array, residuals: Array) -> Array:
    """(A,) forces f with `band f = residuals`, for a band that has been factored."""
    return np.asarray(dpbtrs(factored, residuals, lower=True)[0])


def keys_of_forces(pattern: Pattern, jacobian: Array, forces: Array) -> tuple[Array, ...]:
    """The change of the keys that forces (M,) on the residuals bring about: -M^-1 J' f."""
    spread = pattern.spread(forces)
    pushed = np.zeros((len(pattern.curves.bases[0].first), jacobian.shape[1]))
    starts = np.append(np.flatnonzero(np.diff(pattern.times, prepend=-1)), len(spread))
    size = max(BLOCK // jacobian.shape[1] // max(int(np.diff(starts).max()), 1), 1)
    for at in range(0, len(starts) - 1, size):
        some = starts[at : at + size + 1]
        rows = slice(some[0], some[-1])
        summed = np.add.reduceat(spread[rows, None] * jacobian[rows], some[:-1] - some[0], axis=0)
        pushed[pattern.times[some[:-1]]] = summed
    pushed /= -pattern.curves.cost
    return pattern.curves.gather(pushed)


NEAR, WIDER = 512, 2
"""Residuals on either side of one within which it is tried first to find what it brings about, and how many times as
far the next try goes where it does not fade there."""

LAYING, ANSWERING = 100.0, 20.0
"""What it takes to lay out a row of the matrix for factoring, and to answer for one residual at one row: as much as
factoring so many entries of it."""


@dataclass(eq=False, kw_only=True)
class Factored:
    """The matrix of the forces, factored, for some damping and with some residuals left out."""

    damping: float
    out: np.ndarray
    """(A,) all residuals that are left out."""
    matrix: Array
    """(width, A) the factor."""
    faded: float
    """Share of what a residual brings about at its own place, below which it is no longer felt."""
    answers: dict[int, tuple[slice, Array]] = field(default_factory=dict)
    """For each of those left out that the matrix still has, where and how a unit of residual there is felt."""
    met: tuple[Array, Array] | None = None
    """The last residuals (A,), and the forces (A,) that meet them with all that the matrix has."""

    @staticmethod
    def of(pattern: Pattern, band: Array, compliance: Array, damping: float, out: np.ndarray) -> Factored:
        """Factor a band (A, width) with the compliance (A,) of its residuals, some of which are left out.

        One at a time: the next takes the place of the one before.
        """
        space = pattern.space.array("factor", *band.shape)
        matrix = pattern.soften(np.divide(band, 1.0 + damping, out=space), compliance)
        if out.any():
            matrix = pattern.left_out(matrix, out)
            matrix[out, 0] = 1.0
        # The stiffer the residuals are, the farther what is felt of each has to be followed.
        return Factored(damping=damping, out=out, matrix=factor(matrix), faded=float(compliance.min(initial=1.0)))

    def leave_out(self, out: np.ndarray) -> bool:
        """Leave out residuals (A,), if that takes no more time than factoring again."""
        if np.any(self.out & ~out):
            return False
        fresh = np.flatnonzero(out & ~self.out).tolist()
        for number, place in enumerate(fresh):
            near, answer = self._felt(place)
            # The first tells what the others will take.
            if number == 0 and ANSWERING * len(fresh) * len(answer) > (len(self.matrix) + LAYING) * len(out):
                return False
            self.answers[place] = near, answer
        self.out = out
        return True

    def _felt(self, place: int) -> tuple[slice, Array]:
        """Where and how a unit of residual at a place is felt."""
        reach, count = NEAR, self.matrix.shape[1]
        while True:
            near = slice(max(place - reach, 0), min(place + reach + 1, count))
            single = np.zeros(near.stop - near.start)
            single[place - near.start] = 1.0
            found = solve_factored(self.matrix[:, near], single)
            least = self.faded * abs(found[place - near.start])
            edge = len(self.matrix)
            before = near.start > 0 and np.abs(found[:edge]).max() > least
            if not before and not (near.stop < count and np.abs(found[-edge:]).max() > least):
                return near, found
            reach *= WIDER

    def forces(self, residuals: Array) -> Array:
        """Forces (A,) that meet residuals (A,) but for those that are left out."""
        if self.met is None or self.met[0] is not residuals:
            self.met = residuals, solve_factored(self.matrix, np.where(self.out, 0.0, residuals))
        forces = self.met[1].copy()
        for some in self._apart():
            # Such residuals are put where these are left out that nothing is left to be forced there.
            places = np.array(some)
            felt = np.zeros((len(some), len(some)))
            for column, place in enumerate(some):
                near, answer = self.answers[place]
                here = (places >= near.start) & (places < near.stop)
                felt[here, column] = answer[places[here] - near.start]
            for place, put in zip(some, np.linalg.solve(felt, forces[places]).tolist(), strict=True):
                near, answer = self.answers[place]
                forces[near] -= put * answer
            forces[places] = 0.0
        return forces

    def _apart(self) -> list[list[int]]:
        """The residuals left out later in groups that feel nothing of each other."""
        groups: list[list[int]] = []
        end = -1
        for place in sorted(self.answers):
            near = self.answers[place][0]
            if near.start >= end:
                groups.append([])
            groups[-1].append(place)
            end = max(end, near.stop)
        return groups


def product(band: Array, forces: Array) -> Array:
    """(A,) a symmetric matrix, of which the band (A, width) is given, times forces (A,)."""
    return np.asarray(dsbmv(band.shape[1] - 1, 1.0, band.T, forces, lower=1))
