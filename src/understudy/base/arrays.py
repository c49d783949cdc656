"""Medians and percentiles along the first axis, several times faster than numpy's on small arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array


def read_only(value: ArrayLike, shape: tuple[int, ...], what: str, *, finite: bool = True) -> Array:
    """A read-only array of that shape (-1: any), or an error that says what it is and what was found.

    An array that is read-only already is taken as it is; any other is copied, so that nobody can change it.
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
    """Rising numbers (N,) as a slice if they are evenly apart, as they are if not."""
    gaps = np.diff(numbers)
    if len(numbers) == 0 or len(set(gaps.tolist())) > 1 or gaps.min(initial=1) < 1:
        return numbers
    step = int(gaps[0]) if len(gaps) else 1
    return slice(int(numbers[0]), int(numbers[-1]) + 1, step)


FEW = 64
"""Values up to which sorting them all is faster than finding the middle ones."""


def median(values: Array) -> Array:
    """(...) the median of values (N, ...)."""
    half, odd = len(values) // 2, len(values) % 2
    if len(values) <= FEW:
        ordered = np.sort(values, axis=0)
    else:
        ordered = np.partition(values, half if odd else (half - 1, half), axis=0)
    return np.asarray(ordered[half] if odd else 0.5 * (ordered[half - 1] + ordered[half]))


def percentile(values: Array, percent: float) -> Array:
    """(...) what so many percent of values (N, ...) are below."""
    place = 0.01 * percent * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    near = np.partition(values, (low, high), axis=0)
    return np.asarray(near[low] + (place - low) * (near[high] - near[low]))
