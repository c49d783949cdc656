"""Dynamic time warping: which rows of two tables coincide, in memory linear in their length."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array


def warp(
    a: Array, b: Array, *, band: int | None = None, free_end: bool = False, stray: float = 0.0
) -> tuple[np.ndarray, float]:
    """Dynamic time warping: the pairs of rows of a (N, C) and b (M, C) that coincide at the least mean difference.

    The path begins at both first rows and goes on by one and one, one and two, or two and one rows, so that neither
    runs more than twice as fast as the other. Memory is N times the band.

    Args:
        a: Rows of features.
        b: Rows of features.
        band: How many rows the path may stray from an even pace; half the longer one if not given.
        free_end: End at any row of b, not its last; an even pace is then one row for one.
        stray: What straying from an even pace by all of a adds to the squared difference; it grows with the square.

    Returns:
        The path (K, 2), rising, and the mean squared difference along it; no path and infinity if none leads there.
    """
    count, width = len(a), 2 * (band or max(len(a), len(b)) // 2 + 1) + 1
    pace = 1.0 if free_end or count < 2 else (len(b) - 1) / (count - 1)
    start = np.rint(np.arange(count) * pace).astype(int) - width // 2
    step = np.zeros((count, width), np.uint8)
    totals, costs = np.full((2, 2, width), np.inf)
    for i in range(count):
        cost = _row(a[i], b, start[i], width)
        if stray:
            cost = cost + stray * ((start[i] + np.arange(width) - pace * i) / count) ** 2
        if i == 0:
            now = np.where(np.arange(width) == -start[0], cost, np.inf)
        else:
            now, step[i] = _best(cost, totals, costs, start[i] - start[max(i - 2, 0) : i])
        totals, costs = np.stack([totals[1], now]), np.stack([costs[1], cost])
    rows = start[-1] + np.arange(width)
    shares = totals[1] / (0.5 * (count + np.clip(rows + 1, 1, None)))
    column = int(np.argmin(shares)) if free_end else len(b) - 1 - int(start[-1])
    if not (0 <= column < width and np.isfinite(shares[column])):
        return np.empty((0, 2), int), np.inf
    return _traced(step, start, column), float(shares[column])


def _best(cost: Array, totals: Array, costs: Array, shifts: np.ndarray) -> tuple[Array, np.ndarray]:
    """The least sums (width,) up to a row, and by which step: one and one (0), one and two (1), two and one (2).

    Args:
        cost: (width,) of the row itself.
        totals: (2, width) sums up to the rows two and one before.
        costs: (2, width) of these rows.
        shifts: How many places further on the band begins than at those rows that there are.
    """
    even = _moved(totals[1], shifts[-1] - 1) + cost
    second = _moved(totals[1], shifts[-1] - 2) + 0.75 * (cost + _moved(cost, -1))
    first = np.full(len(cost), np.inf)
    if len(shifts) > 1:
        first = _moved(totals[0], shifts[0] - 1) + 0.75 * (cost + _moved(costs[1], shifts[-1]))
    ways = np.stack([even, second, first])
    return np.min(ways, axis=0), np.argmin(ways, axis=0)


def _row(row: Array, b: Array, start: int, width: int) -> Array:
    """(width,) squared difference of a row from those of b from a start on; infinite outside b."""
    out = np.full(width, np.inf)
    low, high = max(start, 0), min(start + width, len(b))
    if low < high:
        out[low - start : high - start] = ((b[low:high] - row) ** 2).sum(axis=-1)
    return out


def _moved(values: Array, by: int) -> Array:
    """Values read `by` places further on; infinite outside."""
    out = np.full(len(values), np.inf)
    if by >= 0:
        out[: max(len(values) - by, 0)] = values[by:]
    else:
        out[-by:] = values[:by]
    return out


def _traced(step: np.ndarray, start: np.ndarray, column: int) -> np.ndarray:
    i, j = len(step) - 1, int(start[-1]) + column
    path = [(i, j)]
    while i > 0:
        back = int(step[i, j - start[i]])
        i, j = i - (2 if back == 2 else 1), j - (2 if back == 1 else 1)
        path.append((i, j))
    return np.array(path[::-1])
