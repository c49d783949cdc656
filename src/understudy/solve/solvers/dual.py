"""The matrix of the forces as a band, and its Cholesky factor.

Residuals can be excluded from a factored matrix without a new factorisation. The effect of excluding one fades with
the distance in time, so that the cost does not grow with the length of the motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.base.splines import Basis
from understudy.solve.lapack import dpbtrf, dpbtrs, dsbmv
from understudy.solve.steadiness import roughness_costs

BLOCK_FLOATS = 2**15
"""The number of floats in a block of work, so that intermediate results stay in the processor's cache."""


MIN_PRODUCT_ROWS = 32
"""The least number of rows that are multiplied at once by those that follow, unless the band is narrower."""

HELD_KEY_COST = 1e9
"""The cost of a key that moves nothing, in units of the cost of any other."""


@record
class Curves:
    """The unknowns: one spline for each group of coordinates, all evaluated at the same times."""

    bases: tuple[Basis, ...]
    groups: tuple[np.ndarray, ...]
    """The coordinates (d,) of each group."""
    cost: Array
    """(D,) the cost of a unit of each coordinate's keys."""
    roughness: float = 0.0
    """The cost of a unit of the second difference of neighbouring keys, in units of `cost`. Above zero, no residual may
    be linked."""

    def at(self, times: np.ndarray) -> Curves:
        """The curves at some of their times, given by rising indices (n,)."""
        if len(times) == len(self.bases[0].first):
            return self
        bases = {id(basis): basis.at(times) for basis in self.bases}
        return replace(self, bases=tuple(bases[id(basis)] for basis in self.bases))

    def values(self, keys: tuple[Array, ...]) -> Array:
        """(N, D) the coordinates at each time, from keys (K, d) for each group."""
        if len(self.groups) == 1:
            return self.bases[0].values(keys[0])
        out = np.zeros((len(self.bases[0].first), len(self.cost)))
        for basis, group, group_keys in zip(self.bases, self.groups, keys, strict=True):
            out[:, group] = basis.values(group_keys)
        return out

    def gather(self, values: Array) -> tuple[Array, ...]:
        """Keys (K, d) for each group, from values (N, D): the transpose of `values`."""
        if len(self.groups) == 1:
            return (self.bases[0].gather(values),)
        return tuple(basis.gather(values[:, group]) for basis, group in zip(self.bases, self.groups, strict=True))

    def change_cost(self, keys: tuple[Array, ...]) -> float:
        """The cost of keys: twice the objective [Gleicher98, eq. 3], and the roughness."""
        total = sum(float((part**2 @ self.cost[group]).sum()) for part, group in zip(keys, self.groups, strict=True))
        if self.roughness:
            for part, group in zip(keys, self.groups, strict=True):
                total += self.roughness * float((np.diff(part, 2, axis=0) ** 2 @ self.cost[group]).sum())
        return total

    def smooth(self, keys: tuple[Array, ...]) -> tuple[Array, ...]:
        """Keys (K, d) of each group with the least cost for forces that would make these without roughness."""
        if not self.roughness:
            return keys
        return tuple(
            solve_factored(self.cost_factor(basis), part) if part.any() else part
            for basis, part in zip(self.bases, keys, strict=True)
        )

    def key_costs(self, basis: Basis) -> Array:
        """(K, 1 or 3) the band of the matrix of the costs of keys: entry (k, o) couples keys k and k + o."""
        return self._key_costs[id(basis)]

    @cached
    def _key_costs(self) -> dict[int, Array]:
        """The costs of the keys of each distinct basis."""
        return {id(basis): self._find_key_costs(basis) for basis in {id(b): b for b in self.bases}.values()}

    def _find_key_costs(self, basis: Basis) -> Array:
        count = basis.num_keys
        if not self.roughness:
            return np.ones((count, 1))
        # A key that moves nothing stays zero, so that the change sets in smoothly beside it.
        is_moving = basis.gather(np.ones((len(basis.first), 1)))[:, 0] > 0.0
        return roughness_costs(np.where(is_moving, 1.0, HELD_KEY_COST), self.roughness)

    def cost_factor(self, basis: Basis) -> Array:
        """The Cholesky factor of the costs of the keys of a basis."""
        return self._cost_factors[id(basis)]

    @cached
    def _cost_factors(self) -> dict[int, Array]:
        """The Cholesky factor of the costs of the keys of each distinct basis."""
        return {key: cholesky_factor(costs.copy()) for key, costs in self._key_costs.items()}

    def overlaps_between(self, basis: Basis, times: np.ndarray) -> Array:
        """(n, n) the change of a coordinate of unit cost at some of the times (n,) under a unit force at each other."""
        keys = np.zeros((basis.num_keys, len(times)))
        for a in range(basis.weights.shape[1]):
            keys[basis.first[times] + a, np.arange(len(times))] = basis.weights[times, a]
        return basis.at(times).values(solve_factored(self.cost_factor(basis), keys))


@record
class Workspace:
    """Arrays that are reused from step to step, because large allocations are slow."""

    arrays: dict[str, Array] = field(default_factory=dict)

    def array(self, name: str, *shape: int) -> Array:
        """The array of a name and shape, uninitialised. It overwrites the previous array of that name."""
        if name not in self.arrays or self.arrays[name].shape != shape:
            self.arrays[name] = np.empty(shape)
        return self.arrays[name]


@record
class Pattern:
    """The sparsity pattern of the matrix of the forces. It stays the same from step to step.

    A row is a value with derivatives. The residual of a linked row is its difference from the previous row of its
    chain; the residual of any other row is its value.
    """

    times: np.ndarray
    """(A,) the index in time of each row, rising."""
    previous: np.ndarray
    """(A,) the previous row of the chain of each linked row; -1 for other rows."""
    is_residual: np.ndarray
    """(A,) False for the first row of a chain, which has no residual."""
    curves: Curves
    workspace: Workspace = field(default_factory=Workspace)

    @cached
    def _reach(self) -> int:
        """The largest distance in time at which two rows share a key."""
        return max(basis.reach for basis in self.curves.bases)

    @cached
    def _num_sharing(self) -> np.ndarray:
        """(A,) the number of rows, from each row on, that are near enough in time to share a key with it."""
        last = np.searchsorted(self.times, self.times + self._reach, side="right")
        return last - np.arange(len(self.times))

    @cached
    def _row_bandwidth(self) -> int:
        """Two rows with at least this distance between their indices share no key."""
        return int(np.max(self._num_sharing))

    @cached
    def bandwidth(self) -> int:
        """Two residuals with at least this distance between their indices share no key."""
        if not self._linked.any():
            return self._row_bandwidth
        start = self.times[np.where(self.previous >= 0, self.previous, np.arange(len(self.times)))]
        # A residual shares keys with an earlier one if it starts no later than the earlier time plus the reach.
        first = np.minimum.accumulate(start[::-1])[::-1]
        last = np.searchsorted(first, self.times + self._reach, side="right")
        return int(np.max(last - np.arange(len(self.times))))

    @cached
    def _linked(self) -> np.ndarray:
        return self.previous >= 0

    @cached
    def prefers_keys(self) -> bool:
        """Whether the normal equations of the keys are cheaper than the matrix of the forces."""
        bases = self.curves.bases
        if self.curves.roughness:
            return True
        if not len(self.times) or self._linked.any() or any(basis.weights.shape[1] == 1 for basis in bases):
            return False
        widths = [basis.weights.shape[1] * len(group) for basis, group in zip(bases, self.curves.groups, strict=True)]
        by_keys = sum(basis.num_keys * width**3 for basis, width in zip(bases, widths, strict=True))
        return by_keys < len(self.times) * self.bandwidth**2

    @cached
    def _overlaps(self) -> tuple[Array, ...]:
        """For each group (A, width): the overlap of the spline between the times of rows i and i + o."""
        width = self._row_bandwidth
        if self._reach == 0:
            # With one key per time, only rows of the same time share a key.
            same_time = np.arange(width) < self._num_sharing[:, None]
            return tuple(same_time * basis.overlaps[0, self.times, None] for basis in self.curves.bases)
        # The rows of one time have the same overlaps, each from its own place on.
        starts = np.flatnonzero(np.diff(self.times, prepend=-1))
        run_of_row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(self.times))))
        place = np.arange(len(self.times)) - starts[run_of_row]
        length = width + int(place.max(initial=0))
        padded_times = np.append(self.times, np.full(length, self.times[-1] + self._reach + 1))
        out = []
        for basis in self.curves.bases:
            times = self.times[starts, None]
            gap = sliding_window_view(padded_times, length)[starts] - times
            index = np.minimum(gap, basis.reach) * len(basis.first) + times
            by_run = np.take(basis.overlaps.ravel(), index, mode="clip") * (gap <= basis.reach)
            out.append(sliding_window_view(by_run.ravel(), width)[run_of_row * length + place])
        return tuple(out)

    def _blocks(self, width: int) -> Iterator[slice]:
        """Blocks of rows, such that `width` floats for each row of a block stay in the processor's cache."""
        size = max(BLOCK_FLOATS // width, 1)
        for start in range(0, len(self.times), size):
            yield slice(start, min(start + size, len(self.times)))

    def band(self, jacobian: Array) -> Array:
        """(A, bandwidth) the band of J M^-1 J' for rows of derivatives (A, D); entry (i, o) couples i and i + o.

        The next call overwrites it.
        """
        width, lag = self._row_bandwidth, self._max_lag
        # Room for the entries before the diagonal and beyond the band that differences of rows need.
        wide = self.workspace.array("row band", len(self.times), width if not lag else self.bandwidth + 2 * lag)
        wide[:, :lag] = 0.0
        wide[:, lag + width :] = 0.0
        out = wide[:, lag : lag + width]
        size = max(width // 4, min(width, MIN_PRODUCT_ROWS))
        count = size * min(max(BLOCK_FLOATS // (size * jacobian.shape[1]), 1), -(-len(out) // size))
        for number, (overlap, group) in enumerate(zip(self._overlaps, self.curves.groups, strict=True)):
            scaled, is_whole = np.empty((count + width, len(group))), len(group) == jacobian.shape[1]
            factor = self.curves.cost[group] ** -0.5
            for start in range(0, len(out), count):
                rows = jacobian[start : start + count + width]
                rows, block = rows if is_whole else rows[:, group], out[start : start + count]
                np.multiply(rows, factor, out=scaled[: len(rows)])
                scaled[len(rows) :] = 0.0
                products = _band_products(scaled, width, size)[: len(block)]
                if number == 0:
                    np.multiply(products, overlap[start : start + count], out=block)
                else:
                    products *= overlap[start : start + count]
                    block += products
        return self._residual_band(wide) if lag else wide

    def add_compliance(self, band: Array, compliance: Array, rows: np.ndarray | None = None) -> Array:
        """Add the compliance (A,) of each row to a band (A, bandwidth) over the residuals, in place.

        All rows of a chain must equal one unknown value, each with its compliance. Eliminating the unknown leaves
        differences of neighbours that share compliance; this is exact. Rows without a residual get a unit diagonal.

        Args:
            band: The band of all rows, or of some rows only.
            compliance: The compliance of each row.
            rows: (R,) those rows, rising; None for all.
        """
        diagonal = np.where(self.is_residual, compliance, 1.0)
        linked = np.flatnonzero(self._linked)
        previous = self.previous[linked]
        diagonal[linked] += compliance[previous]
        is_shared, place = self.is_residual[previous], np.arange(len(self.times))
        if rows is not None:
            place[:] = -1
            place[rows] = np.arange(len(rows))
            is_shared &= (place[linked] >= 0) & (place[previous] >= 0)
            diagonal = diagonal[rows]
        band[:, 0] += diagonal
        previous, linked = previous[is_shared], linked[is_shared]
        band[place[previous], place[linked] - place[previous]] -= compliance[previous]
        return band

    def select(self, band: Array, rows: np.ndarray) -> Array:
        """(R, width) the band of some rows (R,), rising, of a band (A, bandwidth), as narrow as it can be.

        The next call overwrites it.
        """
        size, bandwidth = len(rows), band.shape[1]
        width = int(np.max(np.searchsorted(rows, rows + bandwidth) - np.arange(size), initial=1))
        out = self.workspace.array("factor", band.size).reshape(-1)[: size * width].reshape(size, width)
        padded = np.append(rows, np.full(width, len(band) + bandwidth))
        entries = band.ravel()
        for start in range(0, size, max(BLOCK_FLOATS // width, 1)):
            block = slice(start, min(start + max(BLOCK_FLOATS // width, 1), size))
            gap = _windows(padded, block, width) - rows[block, None]
            is_near = gap < bandwidth
            np.minimum(gap, bandwidth - 1, out=gap)
            gap += rows[block, None] * bandwidth
            np.take(entries, gap, out=out[block], mode="clip")
            out[block] *= is_near
        return out

    @cached
    def _max_lag(self) -> int:
        """The largest distance of a linked row from the previous row of its chain."""
        linked = np.flatnonzero(self._linked)
        return int(np.max(linked - self.previous[linked], initial=0))

    def _residual_band(self, row_band: Array) -> Array:
        """The band of a symmetric matrix over residuals, from its band over rows; zero at rows without a residual.

        Entry (i, lag + o) of the band over rows couples rows i and i + o. Its first `lag` columns, which are filled
        here, and its last columns are zero.
        """
        width, lag, stride = self.bandwidth, self._max_lag, row_band.shape[1]
        for offset in range(1, lag + 1):
            row_band[offset:, lag - offset] = row_band[:-offset, lag + offset]
        # The differences of rows are taken first, then those of columns.
        runs = sliding_window_view(row_band.ravel(), lag + width)
        lags = np.where(self._linked, np.arange(len(row_band)) - self.previous, 0)
        padded_lags = np.append(lags, np.zeros(width, int))
        is_linked = np.append(self._linked, np.zeros(width)).astype(float)
        is_kept = np.append(self.is_residual, np.zeros(width)).astype(float)
        out = self.workspace.array("band", len(row_band), width)
        for block in self._blocks(width):
            by_row = row_band[block, : lag + width].copy()
            linked = np.flatnonzero(self._linked[block])
            rows = block.start + linked
            by_row[linked] -= runs[self.previous[rows] * stride + lags[rows]]
            index = np.arange(lag, lag + width) - _windows(padded_lags, block, width)
            index += np.arange(len(by_row))[:, None] * by_row.shape[1]
            before = np.take(by_row, index)
            before *= _windows(is_linked, block, width)
            np.subtract(by_row[:, lag:], before, out=out[block])
            out[block] *= _windows(is_kept, block, width)
        out[~self.is_residual] = 0.0
        return out

    def residuals(self, values: Array) -> Array:
        """(A, ...) the residuals of rows with values (A, ...); zero for rows without a residual."""
        out = values.copy()
        out[self._linked] -= values[self.previous[self._linked]]
        out[~self.is_residual] = 0.0
        return out

    def row_forces(self, forces: Array) -> Array:
        """(A,) forces on rows, from forces (A,) on residuals: the transpose of `residuals`."""
        out = np.where(self.is_residual, forces, 0.0)
        # Every row is the previous row of at most one other row.
        out[self.previous[self._linked]] -= out[self._linked]
        return out


def _windows(values: np.ndarray, block: slice, width: int) -> np.ndarray:
    """(n, width) each value of a block, followed by the next `width - 1` values."""
    return as_strided(values[block.start :], (block.stop - block.start, width), 2 * values.strides, writeable=False)


def _band_products(rows: Array, width: int, size: int) -> Array:
    """(n, width) entry (i, o) is the dot product of rows i and i + o, for rows (n + width, D); n is a multiple of the
    size of the blocks that are multiplied at once."""
    blocks = (len(rows) - width) // size
    row_stride, stride = rows.strides
    # Each block is multiplied by itself and the next `width` rows.
    shape = (blocks, size + width, rows.shape[1])
    following = as_strided(rows, shape, (size * row_stride, row_stride, stride), writeable=False)
    products = following[:, :size] @ np.swapaxes(following, 1, 2)
    # Entry (i, i + o) of each block is viewed as (block, i, o) without a copy.
    block_stride, row_stride, stride = products.strides
    strides = (block_stride, row_stride + stride, stride)
    return as_strided(products, (blocks, size, width), strides).reshape(blocks * size, width)


def cholesky_factor(band: Array) -> Array:
    """The Cholesky factor of a band (A, width), for `solve_factored`; `band` is overwritten."""
    factor, info = dpbtrf(band.T, lower=True, overwrite_ab=True)
    if info:
        raise np.linalg.LinAlgError(f"The matrix of the forces is not positive definite at row {abs(info)}")
    return np.asarray(factor)


def solve_factored(factor: Array, residuals: Array) -> Array:
    """(A,) forces f with `band f = residuals`, from the Cholesky factor of the band."""
    return np.asarray(dpbtrs(factor, residuals, lower=True)[0])


def keys_of_forces(pattern: Pattern, jacobian: Array, forces: Array) -> tuple[Array, ...]:
    """The change of the keys under forces (A,) on the residuals: -M^-1 J' f."""
    row_forces = pattern.row_forces(forces)
    gradient = np.zeros((len(pattern.curves.bases[0].first), jacobian.shape[1]))
    starts = np.append(np.flatnonzero(np.diff(pattern.times, prepend=-1)), len(row_forces))
    size = max(BLOCK_FLOATS // jacobian.shape[1] // max(int(np.diff(starts).max()), 1), 1)
    for first in range(0, len(starts) - 1, size):
        bounds = starts[first : first + size + 1]
        rows = slice(bounds[0], bounds[-1])
        sums = np.add.reduceat(row_forces[rows, None] * jacobian[rows], bounds[:-1] - bounds[0], axis=0)
        gradient[pattern.times[bounds[:-1]]] = sums
    gradient /= -pattern.curves.cost
    return pattern.curves.smooth(pattern.curves.gather(gradient))


INITIAL_RADIUS_ROWS, RADIUS_GROWTH = 512, 2
"""The response to a residual is first computed this many rows to either side of it. If it has not faded there, the
radius grows by the factor."""

ROW_SETUP_ENTRIES, RESPONSE_ROW_ENTRIES = 100.0, 20.0
"""The cost of preparing a row of the matrix for factorisation, and of one response at one row, in units of the cost of
factoring one entry."""


KEY_RESPONSE_ENTRIES = 20.0
"""The cost of the response of one key to a force, in units of the cost of factoring one entry."""


@dataclass(eq=False, kw_only=True)
class FactoredMatrix:
    """The Cholesky factor of the matrix of the forces, for one damping and with some residuals excluded."""

    damping: float
    excluded: np.ndarray
    """(A,) the residuals that are excluded."""
    factor: Array
    """(width, R) the Cholesky factor."""
    min_response: float
    """The response to a residual counts as zero below this share of the response at its own row."""
    rows: np.ndarray
    """(R,) the residuals of the rows of the factor: those that were not excluded when it was made."""
    bandwidth: int
    """Two residuals with at least this distance between their indices share no key."""
    responses: dict[int, tuple[slice, Array]] = field(default_factory=dict)
    """For each row of the factor whose residual was excluded later: the forces on a range of rows from a unit residual
    there."""
    last_solve: tuple[Array, Array] | None = None
    """The last residuals (A,), and the forces (R,) from the factor, without the later exclusions."""

    @staticmethod
    def of(pattern: Pattern, band: Array, compliance: Array, damping: float, excluded: np.ndarray) -> FactoredMatrix:
        """Factor a band (A, width) with the compliance (A,) of its rows and some residuals (A,) excluded.

        The next call overwrites the factor.
        """
        rows = np.flatnonzero(pattern.is_residual & ~excluded)
        matrix = pattern.select(band, rows)
        if damping:
            matrix /= 1.0 + damping
        pattern.add_compliance(matrix, compliance, rows)
        # The stiffer the residuals are, the more slowly a response fades.
        min_response = float(compliance.min(initial=1.0))
        factor = cholesky_factor(matrix) if len(rows) else matrix.T
        return FactoredMatrix(
            damping=damping,
            excluded=excluded,
            factor=factor,
            min_response=min_response,
            rows=rows,
            bandwidth=band.shape[1],
        )

    def exclude(self, excluded: np.ndarray) -> bool:
        """Exclude residuals (A,) if that is cheaper than a new factorisation; whether it was done."""
        if np.any(self.excluded & ~excluded):
            return False
        added = np.flatnonzero((excluded & ~self.excluded)[self.rows]).tolist()
        factorisation_cost = (self.bandwidth + ROW_SETUP_ENTRIES) * len(excluded)
        for number, row in enumerate(added):
            span, response = self._response(row)
            length = self.rows[span.stop - 1] - self.rows[span.start] + 1
            # The first response predicts the cost of all.
            if number == 0 and RESPONSE_ROW_ENTRIES * len(added) * length > factorisation_cost:
                return False
            self.responses[row] = span, response
        self.excluded = excluded
        return True

    def _response(self, row: int) -> tuple[slice, Array]:
        """A range of rows of the factor, and the forces on them from a unit residual at a row."""
        rows, width, radius = self.rows, self.bandwidth, INITIAL_RADIUS_ROWS
        # A radius within the width of the band would always be too small.
        while radius < width:
            radius *= RADIUS_GROWTH
        while True:
            first, last = max(rows[row] - radius, 0), min(rows[row] + radius + 1, len(self.excluded))
            start, after_start, before_stop, stop = np.searchsorted(
                rows, [first, first + width, last - width, last]
            ).tolist()
            unit = np.zeros(stop - start)
            unit[row - start] = 1.0
            response = solve_factored(self.factor[:, start:stop], unit)
            size = np.abs(response)
            limit = self.min_response * size[row - start]
            exceeds_start = first > 0 and size[: after_start - start].max(initial=0.0) > limit
            exceeds_stop = last < len(self.excluded) and size[before_stop - start :].max(initial=0.0) > limit
            if not exceeds_start and not exceeds_stop:
                return slice(start, stop), response
            radius *= RADIUS_GROWTH

    def forces(self, residuals: Array) -> Array:
        """(A,) the forces that satisfy residuals (A,); zero for excluded ones."""
        if self.last_solve is None or self.last_solve[0] is not residuals:
            wanted = np.where(self.excluded, 0.0, residuals)[self.rows]
            self.last_solve = residuals, solve_factored(self.factor, wanted) if len(wanted) else wanted
        forces = self.last_solve[1].copy()
        for group in self._independent_groups():
            # The residuals of excluded rows are changed such that the forces on these rows become zero.
            members = np.array(group)
            coupling = np.zeros((len(group), len(group)))
            for column, row in enumerate(group):
                span, response = self.responses[row]
                inside = (members >= span.start) & (members < span.stop)
                coupling[inside, column] = response[members[inside] - span.start]
            for row, change in zip(group, np.linalg.solve(coupling, forces[members]).tolist(), strict=True):
                span, response = self.responses[row]
                forces[span] -= change * response
            forces[members] = 0.0
        out = np.zeros(len(residuals))
        out[self.rows] = forces
        return out

    def _independent_groups(self) -> list[list[int]]:
        """The residuals excluded after the factorisation, in groups whose responses do not overlap."""
        groups: list[list[int]] = []
        end = -1
        for row in sorted(self.responses):
            span = self.responses[row][0]
            if span.start >= end:
                groups.append([])
            groups[-1].append(row)
            end = max(end, span.stop)
        return groups


@dataclass(eq=False, kw_only=True)
class FactoredGroup:
    """The forces on the residuals of one group of coordinates.

    They come from the normal equations of its keys, a band as wide as three keys or four. Where few residuals are
    active, such as those of fingers that touch the floor for an instant, they come from the matrix of the forces, which
    is dense and small. A change of the active residuals renews the factor only near them.
    """

    curves: Curves
    basis: Basis
    rows: np.ndarray
    """(n,) the residuals that depend on the coordinates."""
    times: np.ndarray
    """(n,) the index in time of each of them."""
    depends: np.ndarray
    """(n, g) whether each of them depends on each coordinate of the group."""
    jacobian: Array
    """(n, d) their derivatives by the coordinates that active residuals depend on."""
    used: np.ndarray
    """(g,) these coordinates."""
    stiffness: Array
    """(n,) the weight of each residual; zero for excluded ones."""
    cost: Array
    """(d,) the cost of a unit of each coordinate's keys."""
    key_factor: Array | None = None
    """(width, K d) the Cholesky factor of the normal equations, key by key; None until it is needed."""

    @staticmethod
    def of(
        pattern: Pattern, number: int, rows: np.ndarray, jacobian: Array, stiffness: Array, damping: float
    ) -> FactoredGroup:
        """The group of a number, for some rows (n,) of derivatives (A, D) with weights (A,)."""
        curves, group = pattern.curves, pattern.curves.groups[number]
        columns = jacobian[rows] if len(group) == jacobian.shape[1] else jacobian[np.ix_(rows, group)]
        depends = columns != 0.0
        # Coordinates that move no constrained point, such as those of toes below a planted ball, stay as they are.
        used = depends[stiffness[rows] > 0.0].any(axis=0)
        return FactoredGroup(
            curves=curves,
            basis=curves.bases[number],
            rows=rows,
            times=pattern.times[rows],
            depends=depends,
            jacobian=columns[:, used],
            used=used,
            stiffness=stiffness[rows],
            cost=(1.0 + damping) * curves.cost[group[used]],
        )

    def update(self, stiffness: Array) -> bool:
        """Take other weights (n,) of the residuals; whether the same coordinates still do."""
        changed = np.flatnonzero(stiffness != self.stiffness)
        if len(changed) == 0:
            return True
        if self.prefers_forces or np.any(self.depends[changed[stiffness[changed] > 0.0]][:, ~self.used]):
            return False
        self.stiffness = stiffness
        windows = self._windows_around(changed)
        if sum(last - first + RENEWAL_KEYS for first, last in windows) > self.basis.num_keys:
            self.key_factor = None
            return True
        for first, last in windows:
            self._renew(first, last)
        return True

    def solve(self, residuals: Array) -> tuple[Array, Array, Array]:
        """The forces (n,) that satisfy residuals (n,), the change (K, g) of the keys that they make, and that of the
        residuals (n,)."""
        if self.prefers_forces:
            active, forces = self.stiffness > 0.0, np.zeros(len(residuals))
            forces[active] = solve_factored(self._force_factor, residuals[active])
            keys = self.basis.gather(self._gradient(forces)) / -self.cost
            if self.curves.roughness:
                keys = solve_factored(self.curves.cost_factor(self.basis), keys)
            change = self._change(keys)
        else:
            if self.key_factor is None:
                self.key_factor = cholesky_factor(self._normal_equations(0, self.basis.num_keys))
            pushes = self.basis.gather(self._gradient(self.stiffness * residuals))
            keys = solve_factored(self.key_factor, -pushes.ravel()).reshape(self.basis.num_keys, -1)
            change = self._change(keys)
            forces = self.stiffness * (residuals + change)
        all_keys = np.zeros((len(keys), len(self.used)))
        all_keys[:, self.used] = keys
        return forces, all_keys, change

    @cached
    def prefers_forces(self) -> bool:
        """Whether the matrix of the forces is cheaper than the normal equations of the keys."""
        count, num_rows, size = self.basis.num_keys, np.count_nonzero(self.stiffness), self.jacobian.shape[1]
        by_keys = count * size * (self._width * size) ** 2
        by_forces = num_rows**2 * (num_rows / 3.0 + size) + KEY_RESPONSE_ENTRIES * count * num_rows
        return by_forces < by_keys

    @property
    def _width(self) -> int:
        """The number of neighbouring keys that depend on each other."""
        return max(self.basis.weights.shape[1], self.curves.key_costs(self.basis).shape[1])

    @cached
    def _force_factor(self) -> Array:
        """(m, m) the Cholesky factor of the matrix of the forces on the active residuals (m,)."""
        active = self.stiffness > 0.0
        at, index = np.unique(self.times[active], return_inverse=True)
        jacobian = self.jacobian[active]
        matrix = (jacobian / self.cost) @ jacobian.T
        matrix *= self.curves.overlaps_between(self.basis, at)[np.ix_(index, index)]
        matrix[np.diag_indices_from(matrix)] += 1.0 / self.stiffness[active]
        band = np.zeros_like(matrix)
        for offset in range(len(matrix)):
            band[: len(matrix) - offset, offset] = np.diagonal(matrix, offset)
        return cholesky_factor(band)

    def _normal_equations(self, first: int, last: int) -> Array:
        """((last - first) d, width) the band of the normal equations at some of the keys."""
        basis, extra = self.basis, self.basis.weights.shape[1] - 1
        # Residuals at these times depend on keys up to `extra` before and after the wanted ones.
        start, stop = np.searchsorted(basis.first, [first - extra, last])
        part = Basis(
            first=basis.first[start:stop] - (first - extra),
            weights=basis.weights[start:stop],
            num_keys=last - first + 2 * extra,
        )
        rows = slice(*np.searchsorted(self.times, [start, stop]))
        active = np.flatnonzero(self.stiffness[rows]) + rows.start
        weighted = np.sqrt(self.stiffness[active])[:, None] * self.jacobian[active]
        size = self.jacobian.shape[1]
        band = _normal_band(part, self.times[active] - start, weighted, self._width)
        band = band[extra * size : (extra + last - first) * size]
        key_costs = self.cost[:, None] * self.curves.key_costs(basis)[first:last, None]
        # Entry (k, c, o d) couples a coordinate with itself at the key k + o.
        reach = key_costs.shape[2]
        band.reshape(last - first, size, -1)[:, :, : (reach - 1) * size + 1 : size] += key_costs
        return band

    def _windows_around(self, changed: np.ndarray) -> list[tuple[int, int]]:
        """The ranges of keys that some residuals depend on, joined where they are near each other."""
        first = self.basis.first[self.times[changed]]
        last = first + self.basis.weights.shape[1]
        gaps = np.flatnonzero(first[1:] - last[:-1] > MIN_WINDOW_GAP_KEYS)
        return list(zip(first[[0, *(gaps + 1)]].tolist(), last[[*gaps, -1]].tolist(), strict=True))

    def _renew(self, first: int, last: int) -> None:
        """Renew the factor for changes of the normal equations at some keys: up to where it is what it was."""
        assert self.key_factor is not None
        count, size, factor = self.basis.num_keys, self.jacobian.shape[1], self.key_factor.T
        width, reach = factor.shape[1], FADE_KEYS
        first = max(first - self._width, 0)
        while True:
            stop = min(last + reach, count)
            window = self._normal_equations(first, min(stop + self._width, count))
            _subtract_earlier(window, factor[max(first * size - width + 1, 0) : first * size])
            new = cholesky_factor(window).T[: (stop - first) * size]
            old, end = factor[first * size : stop * size], -self._width * size
            if stop == count or np.abs(new[end:] - old[end:]).max() <= FADED_SHARE * np.abs(new[end:]).max():
                old[:] = new
                return
            reach *= 2

    def _gradient(self, forces: Array) -> Array:
        """(N, d) by which forces (n,) push the coordinates at each time."""
        gradient = np.zeros((len(self.basis.first), self.jacobian.shape[1]))
        starts = np.flatnonzero(np.diff(self.times, prepend=-1))
        gradient[self.times[starts]] = np.add.reduceat(forces[:, None] * self.jacobian, starts, axis=0)
        return gradient

    def _change(self, keys: Array) -> Array:
        """(n,) the change of the residuals that a change (K, d) of the keys makes."""
        return np.einsum("ad,ad->a", self.jacobian, self.basis.values(keys)[self.times])


MIN_WINDOW_GAP_KEYS, FADE_KEYS, FADED_SHARE = 24, 40, 1e-8
"""Changes of the normal equations with fewer keys between them renew the factor together; the number of keys after a
change up to which the factor is renewed at first; and the relative difference from which on it counts as the same."""

RENEWAL_KEYS = 300
"""What the renewal of a window costs besides its keys, in keys."""


def _subtract_earlier(window: Array, earlier: Array) -> None:
    """Subtract from a band (n, width) what the columns (m, width) of a factor just before it have eliminated."""
    count, width = earlier.shape
    size = min(width - 1, len(window))
    if count == 0 or size == 0:
        return
    # Entry (i, k) of the factor: row i of the window, column k of the earlier ones.
    offset = np.arange(size)[:, None] + count - np.arange(count)
    rows = np.where(
        offset < width, np.take(earlier.ravel(), np.arange(count) * width + np.minimum(offset, width - 1)), 0.0
    )
    products = rows @ rows.T
    for i in range(size):
        window[i, : size - i] -= products[i, i:]


@dataclass(eq=False, kw_only=True)
class FactoredKeys:
    """The Cholesky factors of the normal equations of the keys, for one damping and with some residuals excluded.

    They give the same forces as `FactoredMatrix`, and are cheaper where many residuals share few keys. Every residual
    must depend on the coordinates of one group only. Coordinates that only excluded residuals depend on take no part:
    the fingers of a hand that does not touch the floor cost nothing.
    """

    curves: Curves
    damping: float
    excluded: np.ndarray
    """(A,) the residuals that are excluded."""
    stiffness: Array
    """(A,) the weight of each residual; zero for excluded ones."""
    dependent: list[np.ndarray]
    """For each group of coordinates, the residuals (n,) that depend on it."""
    groups: dict[int, FactoredGroup]
    """By the number of a group; those without active residuals are left out."""

    @staticmethod
    def of(
        pattern: Pattern,
        jacobian: Array,
        compliance: Array,
        damping: float,
        excluded: np.ndarray,
        previous: FactoredKeys | None = None,
    ) -> FactoredKeys:
        """Factor the normal equations for rows of derivatives (A, D) with compliance (A,), some of them excluded.

        `previous` was made with the same derivatives. Its factors are taken over and renewed where residuals changed.
        """
        stiffness = np.where(excluded, 0.0, 1.0 / compliance)
        if previous is None:
            dependent = [np.flatnonzero(jacobian[:, group].any(axis=1)) for group in pattern.curves.groups]
        else:
            dependent = previous.dependent
        groups: dict[int, FactoredGroup] = {}
        for number, rows in enumerate(dependent):
            if excluded[rows].all():
                continue
            known = previous.groups.get(number) if previous is not None and previous.damping == damping else None
            if known is None or not known.update(stiffness[rows]):
                known = FactoredGroup.of(pattern, number, rows, jacobian, stiffness, damping)
            groups[number] = known
        return FactoredKeys(
            curves=pattern.curves, damping=damping, excluded=excluded, stiffness=stiffness, dependent=dependent,
            groups=groups,
        )  # fmt: skip

    def forces(self, residuals: Array) -> Array:
        """(A,) the forces that satisfy residuals (A,); zero for excluded ones."""
        return self.solve(residuals)[0]

    def solve(self, residuals: Array) -> tuple[Array, tuple[Array, ...], Array]:
        """The forces (A,) that satisfy residuals (A,), zero for excluded ones; the change of the keys (K, g) of each
        group that they make, and that of the residuals (A,)."""
        forces, change, keys = self.stiffness * residuals, np.zeros(len(residuals)), list[Array]()
        for number, (basis, members) in enumerate(zip(self.curves.bases, self.curves.groups, strict=True)):
            if number in self.groups:
                rows = self.groups[number].rows
                forces[rows], moved, change[rows] = self.groups[number].solve(residuals[rows])
                keys.append(moved)
            else:
                keys.append(np.zeros((basis.num_keys, len(members))))
        return forces, tuple(keys), change


def _normal_band(basis: Basis, times: np.ndarray, rows: Array, width: int) -> Array:
    """(K d, width d) the band of R' R over keys, key by key, for rows (A, d) at times (A,)."""
    num_weights, size = basis.weights.shape[1], rows.shape[1]
    at, index = np.unique(times, return_inverse=True)
    padded = _padded(rows, index, len(at))
    squares = padded.swapaxes(1, 2) @ padded
    band = np.zeros((basis.num_keys, size, width * size))
    if num_weights == 1:
        squares *= basis.weights[at, :, None] ** 2
        for c in range(size):
            band[basis.first[at], c, : size - c] = squares[:, c, c:]
        return band.reshape(-1, width * size)
    pairs = [(a, b) for a in range(num_weights) for b in range(a, num_weights)]
    weights = np.stack([basis.weights[at, a] * basis.weights[at, b] for a, b in pairs], axis=1)
    # All times between two knots share their keys.
    first, piece = np.unique(basis.first[at], return_inverse=True)
    flat = squares.reshape(len(at), -1)
    sums = _padded(weights, piece, len(first)).swapaxes(1, 2) @ _padded(flat, piece, len(first))
    # Entry (k, c, o, r) couples coordinate c of key k with coordinate r of key k + o.
    blocks = np.zeros((basis.num_keys, size, num_weights, size))
    for number, (a, b) in enumerate(pairs):
        blocks[first + a, :, b - a] += sums[:, number].reshape(-1, size, size)
    columns = blocks.reshape(basis.num_keys, size, num_weights * size)
    for c in range(size):
        band[:, c, : num_weights * size - c] = columns[:, c, c:]
    return band.reshape(-1, width * size)


def _padded(values: Array, group: np.ndarray, count: int) -> Array:
    """(count, n, d) values (A, d) by their group (A,), which rises, with zeros where a group has fewer than n."""
    sizes = np.bincount(group, minlength=count)
    starts = np.cumsum(sizes) - sizes
    out = np.zeros((count, int(sizes.max(initial=0)), values.shape[1]))
    out[group, np.arange(len(values)) - starts[group]] = values
    return out


def band_product(band: Array, forces: Array) -> Array:
    """(A,) the product of a symmetric band (A, width) and forces (A,)."""
    return np.asarray(dsbmv(band.shape[1] - 1, 1.0, band.T, forces, lower=1))
