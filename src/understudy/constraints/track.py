"""Tracks: positions and rotations at given times, interpolated between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, normalize, slerp


def check_track_times(times: ArrayLike | None, count: int, where: str) -> Array:
    """(T,) rising seconds for T values; a single value needs no time."""
    if times is None and count == 1:
        out = np.zeros(1)
    elif times is None:
        raise OptionError(f"{where}: {count} values over time need their times, in out; got none")
    else:
        out = np.array(times, float)
    if out.shape != (count,) or not np.all(np.isfinite(out)) or np.any(np.diff(out) <= 0.0):
        raise OptionError(f"{where}: expected {count} finite, rising times; got {np.array2string(out, threshold=6)}")
    out.setflags(write=False)
    return out


def check_values(values: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """Finite numbers of shape (T, *shape); values of shape `shape` get a time axis of length 1."""
    out = np.array(values, float)
    if out.shape == shape:
        out = out[None]
    if out.ndim != len(shape) + 1 or out.shape[1:] != shape or len(out) == 0:
        expected = ", ".join(str(n) for n in shape)
        raise OptionError(f"{where}: expected shape (times, {expected}) or ({expected}), got {np.shape(values)}")
    if not np.all(np.isfinite(out)):
        index = np.argwhere(~np.isfinite(out))[0].tolist()
        raise OptionError(f"{where}: expected finite numbers, got {out[tuple(index)]} at {index}")
    out.setflags(write=False)
    return out


def check_rotations(rotations: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """Unit quaternions of shape (T, *shape, 4)."""
    out = check_values(rotations, (*shape, 4), where)
    worst = float(np.abs(np.sqrt(np.einsum("...i,...i->...", out, out)) - 1.0).max())
    if worst > 1e-3:
        raise OptionError(f"{where}: expected unit quaternions, one is off by {worst:.2g}")
    if worst > 1e-12:
        out = normalize(out)
        out.setflags(write=False)
    return out


def interpolate(values: Array, times: Array, at: Array) -> Array:
    """(N, ...) values (T, ...) interpolated linearly at other times (N,), constant outside the given ones."""
    if len(values) == 1:
        return np.broadcast_to(values, (len(at), *values.shape[1:]))
    first, share = _locate(times, at)
    share = share.reshape(-1, *(1,) * (values.ndim - 1))
    return (1.0 - share) * values[first] + share * values[first + 1]


def interpolate_rotations(rotations: Array, times: Array, at: Array) -> Array:
    """(N, ..., 4) rotations (T, ..., 4) at other times (N,), by slerp along the shortest way."""
    if len(rotations) == 1:
        return np.broadcast_to(rotations, (len(at), *rotations.shape[1:]))
    first, share = _locate(times, at)
    return slerp(rotations[first], rotations[first + 1], share.reshape(-1, *(1,) * (rotations.ndim - 2)))


def _locate(times: Array, at: Array) -> tuple[np.ndarray, Array]:
    """The interval (N,) of each time, and the share (N,) of the interval that has passed."""
    first = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    return first, np.clip((at - times[first]) / (times[first + 1] - times[first]), 0.0, 1.0)
