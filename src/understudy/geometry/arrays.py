"""Arrays that nobody can change, checked as they come in, and parts of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.errors import SkeletonError
from understudy.geometry.quaternion import Array


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
