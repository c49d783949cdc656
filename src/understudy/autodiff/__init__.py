"""Exact derivatives of plain numpy functions of points [Lommers13, sec. 5.5].

A `Dual` stands in for an array: it goes through ordinary numpy code and carries, beside each number, its derivatives by
all coordinates of the points of the same frame (forward mode). The first axis is always the frames, which never mix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.autodiff import functions as functions
from understudy.autodiff.dual import Dual
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array

__all__ = ["Dual", "derive"]


def derive(function: Callable[..., Any], points: Array, *extra: Any) -> tuple[Array, Array]:
    """A function's values (N, R) at points (N, P, 3) and its derivatives (N, R, P, 3).

    Args:
        function: Takes points (N, P, 3) and the extra arguments, returns (N,) or (N, R); each frame's result depends
            on that frame's points alone.
        points: Where.
        extra: Passed on as they are.
    """
    frames, count = points.shape[:2]
    inputs = 3 * count
    slopes = np.broadcast_to(np.eye(inputs).reshape(inputs, 1, count, 3), (inputs, frames, count, 3))
    result = function(Dual(points, slopes), *extra)
    if not isinstance(result, Dual):
        raise OptionError(
            f"A function of points must return what it computed from them, got {type(result).__name__}",
            hint="its result does not depend on the points, or it was made into a plain array on the way",
        )
    if result.ndim not in (1, 2):
        raise OptionError(f"A function of points must return (frames,) or (frames, rows), got shape {result.shape}")
    rows = 1 if result.ndim == 1 else result.shape[1]
    slope = result.slope.reshape(inputs, frames, rows)
    return result.value.reshape(frames, rows), np.moveaxis(slope, 0, 2).reshape(frames, rows, count, 3)
