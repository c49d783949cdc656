"""Time warping of an eigenmotion: the same coordinations executed faster here and slower there [Analogies, sec. 7]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.contacts import Contact
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array


@dataclass(frozen=True, kw_only=True)
class Tempo:
    """When things that happen at some seconds of the source happen in the result."""

    source: tuple[float, ...]
    """Seconds of A's new motion, rising."""
    result: tuple[float, ...]
    """Seconds of the result, rising, as many."""

    def __post_init__(self) -> None:
        pairs = len(self.source) == len(self.result) >= 2
        if not pairs or not all(np.all(np.diff(side) > 0.0) for side in (self.source, self.result)):
            raise OptionError(
                "A tempo needs two moments or more, rising in both motions; "
                f"got {list(self.source)} s to be at {list(self.result)} s"
            )

    @staticmethod
    def factor(speed: float, duration: float) -> Tempo:
        """The whole motion faster (above 1) or slower."""
        if not (np.isfinite(speed) and speed > 0.0):
            raise OptionError(f"Expected a speed above zero, got {speed}")
        return Tempo(source=(0.0, duration), result=(0.0, duration / speed))

    def sources(self, times: Array) -> Array:
        """(N,) seconds of the source shown at seconds of the result; smooth, and at one speed beyond the moments."""
        return _curve(np.array(self.result), np.array(self.source), times)

    def times(self, fps: float) -> Array:
        """(F,) seconds of the frames of the result, from its first moment to its last."""
        first, last = self.result[0], self.result[-1]
        return first + np.arange(int(np.floor((last - first) * fps + 1e-6)) + 1) / fps

    def contacts(self, contacts: Sequence[Contact]) -> tuple[Contact, ...]:
        """Contacts of the source at the times they have in the result, counted from its first moment."""
        source, result = np.array(self.source), np.array(self.result)
        moved = []
        for contact in contacts:
            start, end = np.clip([contact.start, contact.end], source[0], source[-1])
            if start < end:
                at = _inverse(source, result, np.array([start, end])) - result[0]
                moved.append(replace(contact, start=float(at[0]), end=float(at[1])))
        return tuple(moved)


def _curve(at: Array, values: Array, times: Array) -> Array:
    """A monotone smooth curve through values, straight between two only."""
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(at, values)(np.clip(times, at[0], at[-1]))


def _inverse(source: Array, result: Array, wanted: Array) -> Array:
    """When in the result seconds of the source are shown."""
    fine = np.linspace(result[0], result[-1], 4001)
    return np.interp(wanted, _curve(result, source, fine), fine)


def read_course(course: Array, fps: float, times: Array) -> Array:
    """(N, ...) an eigenmotion, path or heading (F, ...) between its frames, at given seconds."""
    from scipy.interpolate import CubicSpline

    frames = np.clip(times * fps, 0.0, len(course) - 1.0)
    return (
        CubicSpline(np.arange(len(course)), course, axis=0)(frames)
        if len(course) > 1
        else np.repeat(course, len(times), 0)
    )
