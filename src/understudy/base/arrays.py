"""Arrays: read-only checked copies, slices for even indices, and fast medians and percentiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array


def read_only(value: ArrayLike, shape: tuple[int, ...], what: str, *, finite: bool = True) -> Array:
    """A read-only array of a shape (-1: any length), or an error that names the array and its actual shape.

    A read-only array is returned as it is; any other is copied, so that the caller cannot change it.
    """
    array = np.asarray(value, float)
    if array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n < 0 else str(n) for n in shape)
        raise SkeletonError(f"{what}: expected shape ({wanted}), got {array.shape}")
    if finite and not np.all(np.isfinite(array)):
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        raise SkeletonError(f"{what}: expected finite numbers, got {array[tuple(place)]} at {place}")
    if array.flags.writeable:
        array = array.copy()
        array.setflags(write=False)
    return array


def evenly(numbers: np.ndarray) -> slice | np.ndarray:
    """Rising indices (N,) as a slice if they are evenly spaced, else unchanged."""
    gaps = np.diff(numbers)
    if len(numbers) == 0 or len(set(gaps.tolist())) > 1 or gaps.min(initial=1) < 1:
        return numbers
    step = int(gaps[0]) if len(gaps) else 1
    return slice(int(numbers[0]), int(numbers[-1]) + 1, step)


MAX_SORTED_VALUES = 64
"""Number of values up to which a full sort is faster than a partition."""


def median(values: Array) -> Array:
    """(...) the median of values (N, ...)."""
    half, odd = len(values) // 2, len(values) % 2
    if len(values) <= MAX_SORTED_VALUES:
        ordered = np.sort(values, axis=0)
    else:
        ordered = np.partition(values, half if odd else (half - 1, half), axis=0)
    return np.asarray(ordered[half] if odd else 0.5 * (ordered[half - 1] + ordered[half]))


def percentile(values: Array, percent: float) -> Array:
    """(...) a percentile of values (N, ...), linear between values."""
    place = 0.01 * percent * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    near = np.partition(values, (low, high), axis=0)
    return np.asarray(near[low] + (place - low) * (near[high] - near[low]))
