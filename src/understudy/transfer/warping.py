"""Dynamic time warping: which rows of two tables coincide, in memory linear in their length."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array


def warp(a: Array, b: Array, *, band: int | None = None, free_end: bool = False) -> tuple[np.ndarray, float]:
    """Dynamic time warping: the pairs of rows of a (N, C) and b (M, C) that coincide at the least mean difference.

    The path begins at both first rows and goes on by one and one, one and two, or two and one rows, so that neither
    runs more than twice as fast as the other. Memory is N times the band.

    Args:
        a: Rows of features.
        b: Rows of features.
        band: How many rows the path may stray from an even pace; half the longer one if not given.
        free_end: End at any row of b, not its last.

    Returns:
        The path (K, 2), rising, and the mean squared difference along it; no path and infinity if none leads there.
    """
    count, width = len(a), 2 * (band or max(len(a), len(b)) // 2 + 1) + 1
    pace = 1.0 if free_end or count < 2 else (len(b) - 1) / (count - 1)
    start = np.rint(np.arange(count) * pace).astype(int) - width // 2
    total = np.full((2, width), np.inf)
    step = np.zeros((count, width), np.uint8)
    costs = np.full((2, width), np.inf)
    for i in range(count):
        cost = _row(a[i], b, start[i], width)
        if i == 0:
            now = np.full(width, np.inf)
            now[-start[0]] = cost[-start[0]]
        else:
            even = _moved(total[1], start[i] - 1 - start[i - 1]) + cost
            second = _moved(total[1], start[i] - 2 - start[i - 1]) + 0.75 * (cost + _moved(cost, -1))
            first = np.full(width, np.inf)
            if i > 1:
                first = _moved(total[0], start[i] - 1 - start[i - 2]) + 0.75 * (
                    cost + _moved(costs[1], start[i] - start[i - 1])
                )
            ways = np.stack([even, second, first])
            step[i] = np.argmin(ways, axis=0)
            now = np.min(ways, axis=0)
        total, costs = np.stack([total[1], now]), np.stack([costs[1], cost])
    if free_end:
        rows = start[-1] + np.arange(width)
        shares = total[1] / (0.5 * (count + np.clip(rows + 1, 1, None)))
        column = int(np.argmin(shares))
        return _traced(step, start, column), float(shares[column])
    column = len(b) - 1 - int(start[-1])
    if not (0 <= column < width and np.isfinite(total[1, column])):
        return np.empty((0, 2), int), np.inf
    return _traced(step, start, column), float(total[1, column] / (0.5 * (count + len(b))))


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
