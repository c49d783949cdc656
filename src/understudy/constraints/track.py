"""Places and turns given at times, and read between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, normalize, slerp


def check_clock(times: ArrayLike | None, count: int, where: str) -> Array:
    """(T,) rising seconds of T given things; one thing needs no time."""
    if times is None and count == 1:
        clock = np.zeros(1)
    elif times is None:
        raise OptionError(f"{where}: {count} values over time need their times, in seconds; got none")
    else:
        clock = np.array(times, float)
    if clock.shape != (count,) or not np.all(np.isfinite(clock)) or np.any(np.diff(clock) <= 0.0):
        raise OptionError(f"{where}: expected {count} finite, rising times; got {np.array2string(clock, threshold=6)}")
    clock.setflags(write=False)
    return clock


def check_values(values: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """Finite numbers of shape (T, *shape); one set of them without a time axis becomes T = 1."""
    out = np.array(values, float)
    if out.shape == shape:
        out = out[None]
    if out.ndim != len(shape) + 1 or out.shape[1:] != shape or len(out) == 0:
        wanted = ", ".join(str(n) for n in shape)
        raise OptionError(f"{where}: expected shape (times, {wanted}) or ({wanted}), got {np.shape(values)}")
    if not np.all(np.isfinite(out)):
        place = np.argwhere(~np.isfinite(out))[0].tolist()
        raise OptionError(f"{where}: expected finite numbers, got {out[tuple(place)]} at {place}")
    out.setflags(write=False)
    return out


def check_turns(turns: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """Unit quaternions of shape (T, *shape, 4)."""
    out = check_values(turns, (*shape, 4), where)
    worst = float(np.abs(np.sqrt(np.einsum("...i,...i->...", out, out)) - 1.0).max())
    if worst > 1e-3:
        raise OptionError(f"{where}: expected unit quaternions, one is off by {worst:.2g}")
    if worst > 1e-12:
        out = normalize(out)
        out.setflags(write=False)
    return out


def read(values: Array, clock: Array, when: Array) -> Array:
    """(N, ...) values (T, ...) at other times (N,): straight between the given ones, held before and after them."""
    if len(values) == 1:
        return np.broadcast_to(values, (len(when), *values.shape[1:]))
    first, share = _between(clock, when)
    share = share.reshape(-1, *(1,) * (values.ndim - 1))
    return (1.0 - share) * values[first] + share * values[first + 1]


def read_turns(turns: Array, clock: Array, when: Array) -> Array:
    """(N, ..., 4) rotations (T, ..., 4) at other times (N,), the shortest way between the given ones."""
    if len(turns) == 1:
        return np.broadcast_to(turns, (len(when), *turns.shape[1:]))
    first, share = _between(clock, when)
    return slerp(turns[first], turns[first + 1], share.reshape(-1, *(1,) * (turns.ndim - 2)))


def _between(clock: Array, when: Array) -> tuple[np.ndarray, Array]:
    first = np.clip(np.searchsorted(clock, when, side="right") - 1, 0, len(clock) - 2)
    return first, np.clip((when - clock[first]) / (clock[first + 1] - clock[first]), 0.0, 1.0)
