"""Footfalls by formula: where and when each foot stands, and smooth ways between, the same at every frame rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from understudy.contacts import Contact
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.skeleton import Point


def frame_times(fps: float, seconds: float) -> Array:
    """(F,) seconds of the frames of a motion of that length, both ends included."""
    if not (np.isfinite(fps) and fps > 0.0):
        raise OptionError(f"Expected frames per second above zero, got {fps}")
    if not (np.isfinite(seconds) and seconds >= 0.0):
        raise OptionError(f"Expected a length of zero or more seconds, got {seconds}")
    return np.arange(int(np.floor(seconds * fps + 1e-6)) + 1) / fps


def smooth(share: ArrayLike) -> Array:
    """A step from 0 to 1 over shares 0 to 1 whose speed and acceleration are zero at both ends."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0))


def arch(share: ArrayLike) -> Array:
    """A rise from 0 to 1 and back over shares 0 to 1 whose speed and acceleration are zero at both ends."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    return 64.0 * (s * (1.0 - s)) ** 3


def cycle_curve(keys: Mapping[float, float], phase: Array) -> Array:
    """A periodic curve with continuous acceleration through values at phases in [0, 1)."""
    from scipy.interpolate import CubicSpline

    at = np.array(sorted(keys))
    values = np.array([keys[phase] for phase in at])
    spline = CubicSpline(np.append(at, at[0] + 1.0), np.append(values, values[0]), bc_type="periodic")
    return spline(at[0] + (phase - at[0]) % 1.0)


def ramps(phase: Array, *parts: tuple[float, float, float]) -> Array:
    """A periodic sum of smooth steps, exactly zero where none has begun or all are done.

    Args:
        phase: (F,) shares of the cycle, in [0, 1).
        parts: (start, end, rise) of each step; a step may end after 1. The rises add up to zero.
    """
    total = np.zeros(phase.shape)
    for start, end, rise in parts:
        # The second term is the same step begun a cycle ago, which may still be under way.
        total += rise * (smooth((phase - start) / (end - start)) + smooth((phase + 1.0 - start) / (end - start)))
    return total


@dataclass(frozen=True, kw_only=True)
class Gait:
    """A steady way of going along +Z."""

    cycle: float
    """Seconds from one footfall to the next of the same foot."""
    stride: float
    """Metres covered in a cycle."""
    duty: float
    """Share of the cycle that a foot stands."""

    @property
    def speed(self) -> float:
        """Metres per second."""
        return self.stride / self.cycle

    def phase(self, part: float) -> float:
        """The share of a foot's cycle at a part of it: 0 to 1 is standing, 1 to 2 is swinging."""
        return self.duty * part if part < 1.0 else self.duty + (part - 1.0) * (1.0 - self.duty)

    def keys(self, values: Mapping[float, float]) -> dict[float, float]:
        """Values keyed by parts (0 to 1 standing, 1 to 2 swinging), keyed by shares of the cycle."""
        return {self.phase(part): value for part, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class Foot:
    """When and where one foot stands in a gait."""

    gait: Gait
    offset: float
    """When it falls, as a share of the cycle."""
    x: float
    """Metres, to the side."""
    z: float
    """Metres ahead of the moving body's middle where it passes at half its stand."""
    lift: float
    """Metres, how high it is swung."""

    def count(self, times: Array) -> tuple[Array, Array]:
        """Which step it is at (F,) and the share of that step that has gone, in [0, 1)."""
        cycles = times / self.gait.cycle - self.offset
        step = np.floor(cycles)
        return step, cycles - step

    def place(self, step: ArrayLike) -> Array:
        """(..., 3) metres, world: where the foot stands at a step."""
        step = np.asarray(step, float)
        middle = self.offset * self.gait.stride + 0.5 * self.gait.duty * self.gait.stride
        z = self.z + middle + step * self.gait.stride
        return np.stack([np.full(step.shape, self.x), np.zeros(step.shape), z], -1)

    def swing(self, phase: Array) -> Array:
        """(F,) the share of the swing that has gone: 0 while standing."""
        return np.clip((phase - self.gait.duty) / (1.0 - self.gait.duty), 0.0, 1.0)

    def path(self, times: Array) -> Array:
        """(F, 3) metres, world: the point that stands, lifts, swings and stands again."""
        step, phase = self.count(times)
        swing = self.swing(phase)
        out = self.place(step)
        out[:, 2] += self.gait.stride * smooth(swing)
        out[:, 1] += self.lift * arch(swing)
        return out

    def contacts(self, point: Point, offset: ArrayLike, times: Array, first: float, last: float) -> list[Contact]:
        """The stands of a point of the foot within the motion.

        Args:
            point: The point that stands.
            offset: (3,) metres from the foot's place to where the point stands.
            times: (F,) seconds of the frames.
            first: When in the step it comes down, as a share of the cycle.
            last: When it leaves.
        """
        found = []
        begin, end = float(times[0]), float(times[-1])
        for step in range(int(np.floor(begin / self.gait.cycle - self.offset)) - 1, int(end / self.gait.cycle) + 2):
            start, stop = (self.gait.cycle * (step + self.offset + share) for share in (first, last))
            start, stop = max(start, begin), min(stop, end)
            if start <= stop:
                place = self.place(step) + np.asarray(offset, float)
                found.append(Contact(point=point, start=start, end=stop, place=place))
        return found
