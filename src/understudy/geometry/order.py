"""Medians and percentiles along the first axis, several times faster than numpy's on small arrays."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array

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
