"""Displacement curves: cubic B-splines in time, whose key spacing is the frequency limit of what they can change.

A curve's value at a time depends on four neighbouring keys only [Gleicher98, sec. 3.7; Lommers13, ch. 6].
There are keys beyond both ends of the motion too, so that its ends are as free as its middle.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import cached, record

DEGREE = 3


@record
class Basis:
    """A spline evaluated at given times: each value is a weighted sum of four keys."""

    first: np.ndarray
    """(N,) the first of the four keys of each time; it rises with the times."""
    weights: Array
    """(N, 4) the weights of the four keys."""
    num_keys: int

    @cached
    def keys(self) -> np.ndarray:
        """(N, 4) the keys of each time."""
        return self.first[:, None] + np.arange(self.weights.shape[1])

    def at(self, times: np.ndarray) -> Basis:
        """The basis at some of the times, by their rising indices (n,)."""
        return Basis(first=self.first[times], weights=self.weights[times], num_keys=self.num_keys)

    def within(self, first: int, count: int) -> Basis:
        """The basis at `count` times from the index `first` on, with the keys that act at them only."""
        part = self.at(np.arange(first, first + count))
        begin, width = int(part.first[0]), part.weights.shape[1]
        return Basis(first=part.first - begin, weights=part.weights, num_keys=int(part.first[-1]) - begin + width)

    @cached
    def _key_per_time(self) -> bool:
        """Whether every time has its own key."""
        return self.weights.shape[1] == 1 and self.num_keys == len(self.first)

    def values(self, keys: Array) -> Array:
        """(N, D) values of the curve with keys (K, D)."""
        if self._key_per_time:
            return self.weights * keys
        out = self.weights[:, :1] * keys[self.first]
        for a in range(1, self.weights.shape[1]):
            out += self.weights[:, a, None] * keys[self.first + a]
        return out

    def gather(self, values: Array) -> Array:
        """(K, D) weighted sums of values (N, D) for each key: the transpose of `values`."""
        if self._key_per_time:
            return self.weights * values
        starts = np.flatnonzero(np.diff(self.first, prepend=-1))
        out = np.zeros((self.num_keys, values.shape[1]))
        for a in range(self.weights.shape[1]):
            out[self.first[starts] + a] += np.add.reduceat(self.weights[:, a, None] * values, starts, axis=0)
        return out

    @cached
    def reach(self) -> int:
        """The greatest difference of the indices of two times that share a key."""
        after = np.searchsorted(self.first, self.first + self.weights.shape[1])
        return int(np.max(after - np.arange(len(self.first))) - 1)

    @cached
    def overlaps(self) -> Array:
        """(reach + 1, N) sum over keys of the weights of time n times those of time n + o; 0 past the end."""
        count, width = len(self.first), self.weights.shape[1]
        later = np.arange(count) + np.arange(self.reach + 1)[:, None]
        there = np.minimum(later, count - 1)
        gap = np.where(later < count, self.first[there] - self.first, width)
        # The `a`-th key of the later time is the `a + gap`-th key of the earlier one, if that has so many.
        padded = np.concatenate([self.weights, np.zeros((count, 1))], axis=1).ravel()
        row = (width + 1) * np.arange(count)
        return sum(self.weights[there, a] * padded[row + np.minimum(a + gap, width)] for a in range(width))


def every_frame(times: Array, hold: float = -np.inf, until: float = np.inf) -> Basis:
    """A separate key for each time (N,); the curve is zero up to the time `hold` and from `until` on."""
    weights = ((times > hold + 1e-9) & (times < until - 1e-9)).astype(float)[:, None]
    return Basis(first=np.arange(len(times)), weights=weights, num_keys=len(times))


@record
class Knots:
    """The times at which the pieces of a curve join."""

    times: Array
    """(n + 1,) seconds, rising: the knots of n cubic pieces, from the motion's start to its end."""

    def __post_init__(self) -> None:
        times = np.array(self.times, float)
        if times.ndim != 1 or len(times) < 2 or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0.0):
            raise OptionError("Expected at least two knot times, each later than the one before")
        times.setflags(write=False)
        object.__setattr__(self, "times", times)

    @staticmethod
    def uniform(duration: float, spacing: float) -> Knots:
        """Evenly spaced knots at most `spacing` seconds apart over a motion of that duration."""
        if not (np.isfinite(spacing) and spacing > 0.0):
            raise OptionError(f"Expected a key spacing above zero seconds, got {spacing}")
        pieces = max(int(np.ceil(duration / spacing - 1e-9)), 1)
        return Knots(times=np.linspace(0.0, max(duration, 1e-6), pieces + 1))

    def denser(self, spans: Sequence[tuple[float, float]], spacing: float) -> Knots:
        """Knots with every piece that a span overlaps cut into equal parts of at most `spacing` seconds.

        Args:
            spans: First and last seconds of each.
            spacing: Seconds.
        """
        parts = []
        for start, end in itertools.pairwise(self.times.tolist()):
            overlaps = any(start < last and end > first for first, last in spans)
            count = max(int(np.ceil((end - start) / spacing - 1e-9)), 1) if overlaps else 1
            parts.append(np.linspace(start, end, count, endpoint=False))
        return Knots(times=np.concatenate([*parts, self.times[-1:]]))

    @property
    def num_keys(self) -> int:
        return len(self.times) - 1 + DEGREE

    @cached
    def _full(self) -> Array:
        """The knots, with three more beyond each end, mirrored from inside."""
        steps = np.diff(self.times)
        head = np.resize(steps, DEGREE) if len(steps) < DEGREE else steps[:DEGREE]
        tail = np.resize(steps[::-1], DEGREE) if len(steps) < DEGREE else steps[::-1][:DEGREE]
        before = self.times[0] - np.cumsum(head)[::-1]
        return np.concatenate([before, self.times, self.times[-1] + np.cumsum(tail)])

    def basis(self, times: ArrayLike, hold: float = -np.inf, until: float = np.inf) -> Basis:
        """The basis at times (N,), seconds; a time outside the knots is moved to the nearest end.

        Args:
            times: (N,) seconds.
            hold: Up to this time the curve is zero: keys that act before it get zero weight.
            until: From this time on the curve is zero: keys that act after it get zero weight.

        The weights come from the recursion of de Boor, run for all times at once [Lommers13, eq. 6.2 and 6.3].
        """
        at = np.minimum(np.maximum(np.asarray(times, float), self.times[0]), self.times[-1])
        piece = np.minimum(np.searchsorted(self.times, at, side="right") - 1, len(self.times) - 2)
        t, at_knot = self._full, piece + DEGREE
        weights = np.zeros((len(at), DEGREE + 1))
        weights[:, 0] = 1.0
        for degree in range(1, DEGREE + 1):
            carried = np.zeros(len(at))
            for a in range(degree):
                right, left = t[at_knot + a + 1], t[at_knot + a + 1 - degree]
                part = weights[:, a] / (right - left)
                weights[:, a] = carried + (right - at) * part
                carried = (at - left) * part
            weights[:, degree] = carried
        if np.isfinite(hold):
            held = int(np.searchsorted(t, hold - 1e-9))
            weights[piece[:, None] + np.arange(DEGREE + 1) < held] = 0.0
        if np.isfinite(until):
            held = int(np.searchsorted(t, until + 1e-9, side="right")) - DEGREE - 1
            weights[piece[:, None] + np.arange(DEGREE + 1) >= held] = 0.0
        return Basis(first=piece, weights=weights, num_keys=self.num_keys)
