"""How joints are turned, read off the local rotations of many joints at once: angles about axes, or swing and twist.

Multiplying quaternions by constants is linear: a joint's rest rotation and axes become one matrix. Frames stand last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from understudy.constraints.ranges import cone_edge, near
from understudy.geometry.quaternion import Array

GIMBAL = 1e-9
"""Sine of half an angle below which two turns about one line cannot be told apart."""
BLOCK = 1024
"""Frames worked on at a time, so that what is being computed stays in the processor's cache."""


def _in_pieces(work: Callable[[Array], Array], turns: Array) -> Array:
    """(L, A, N) what work makes of local rotations (L, 4, N)."""
    if turns.shape[2] <= BLOCK:
        return work(turns)
    starts = range(0, turns.shape[2], BLOCK)
    return np.concatenate([work(turns[..., start : start + BLOCK]) for start in starts], axis=2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading(ABC):
    """Joints of one sort, and the ranges that they are to keep."""

    seen: Array
    """(L, R, 4) what each joint's local rotation is multiplied by."""
    centre: Array
    """(L, A, 1) the angles that wrapped ones are read next to."""
    low: Array
    """(L, A, 1) radians: the least of each angle."""
    high: Array
    """(L, A, 1) radians: the greatest."""

    @abstractmethod
    def angles(self, turns: Array) -> Array:
        """(L, A or more, N) radians, of local rotations (L, 4, N); those with a range come last."""

    @abstractmethod
    def beyond(self, angles: Array) -> Array:
        """(L, R, N) how far such angles are outside their limits, one row for each limit that there could be."""

    def read(self, turns: Array) -> Array:
        """What `angles` gives, a piece at a time."""
        return _in_pieces(self.angles, turns)

    def outside(self, turns: Array) -> Array:
        """(L, R, N) how far local rotations (L, 4, N) are outside their limits."""
        return _in_pieces(lambda part: self.beyond(self.angles(part)), turns)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneAngle(Reading):
    """Joints that turn about one axis: sine and cosine of half the angle are seen."""

    def angles(self, turns: Array) -> Array:
        seen = self.seen @ turns
        return near(2.0 * np.arctan2(seen[:, :1], seen[:, 1:]), self.centre)

    def beyond(self, angles: Array) -> Array:
        return np.concatenate([self.low - angles, angles - self.high], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class ThreeAngles(OneAngle):
    """Joints that turn about three axes a, b, c, seen as turning about a, b and a again.

    What is seen are w and the parts along a, b and a x b. Angles repeat, and a ball has two triples of them: those that
    break the ranges least are taken.
    """

    lean: Array
    """(L, 1) radians: how far c leans from a about b."""

    def angles(self, turns: Array) -> Array:
        # Half the sums and differences of the first and the last turn stand apart in the quaternion.
        w, x, y, z = (self.seen @ turns).swapaxes(0, 1)
        outer, inner = np.hypot(y, z), np.hypot(w, x)
        first, last = self.centre[:, 0], self.centre[:, 2]
        total = np.where(inner > GIMBAL, 2.0 * np.arctan2(x, w), first + last)
        apart = np.where(outer > GIMBAL, 2.0 * np.arctan2(z, y), first - last)
        angles = np.empty((len(w), 3, w.shape[1]))
        angles[:, 0] = 0.5 * (total + apart)
        angles[:, 1] = 2.0 * np.arctan2(outer, inner) - self.lean
        angles[:, 2] = 0.5 * (total - apart)
        angles = near(angles, self.centre)
        broken = self._broken(angles)
        if not broken.any():
            return angles
        other = angles + np.pi
        other[:, 1] = -angles[:, 1] - 2.0 * self.lean
        other = near(other, self.centre)
        return np.where((self._broken(other) < broken)[:, None], other, angles)

    def _broken(self, angles: Array) -> Array:
        """(L, N) radians by which angles leave their ranges, summed."""
        return np.maximum(np.maximum(angles - self.high, self.low - angles), 0.0).sum(axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class SwingTwist(Reading):
    """Joints whose bone leans within a cone and turns about itself: two angles of swing, and the twist, are read.

    What is seen are x, y, z and w with the bone along z and its reference along x.
    """

    cone: Array
    """(L, 2, 2, 1) radians: how far the bone may lean each way, below zero and above."""

    def angles(self, turns: Array) -> Array:
        x, y, z, w = (self.seen @ turns).swapaxes(0, 1)
        across, along = np.hypot(x, y), np.hypot(z, w)
        angle, sine = 2.0 * np.arctan2(across, along), across * along
        # The bone is taken to (2 (xz + wy), 2 (yz - wx), cosine); turned all the way round it leans the first way.
        some = sine > 1e-12
        ratio = angle / np.where(some, sine, 1.0)
        out = np.empty((len(w), 3, w.shape[1]))
        out[:, 0] = np.where(some, (w * x - y * z) * ratio, angle)
        out[:, 1] = (x * z + w * y) * ratio
        out[:, 2] = near(2.0 * np.arctan2(z, w), self.centre[:, 0])
        return out

    def beyond(self, angles: Array) -> Array:
        out = np.empty_like(angles)
        out[:, 0] = cone_edge(angles[:, :2], self.cone)[-1]
        out[:, 1:2] = self.low - angles[:, 2:]
        out[:, 2:] = angles[:, 2:] - self.high
        return out
