"""Measures for the papers' claims: sliding feet, snaps, and speeds of a motion's parts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from understudy.base.quaternion import Array, angle_between
from understudy.figure.bands import energy_above, rotation_curves
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.spacetime import Level, Spacetime

BANDS = (4.0, 8.0, 12.0)
"""Hertz above which energy is compared."""


class Measure:
    """Numbers about motions. Lengths are metres, angles radians, spectra are ratios to a source's."""

    @staticmethod
    def slide(motion: Motion, contacts: Iterable[Contact]) -> float:
        """Largest horizontal distance of a planted point from its first position."""
        paths = _planted(motion, contacts)
        return max(float(np.linalg.norm((path - path[0])[:, [0, 2]], axis=-1).max()) for path in paths)

    @staticmethod
    def height(motion: Motion, contacts: Iterable[Contact]) -> tuple[float, float]:
        """Least and greatest height of points that should stand on the floor."""
        every = np.concatenate(_planted(motion, contacts))[:, 1]
        return float(every.min()), float(every.max())

    @staticmethod
    def spectrum(motion: Motion, source: Motion) -> Array:
        """Energy of the rotations above 4, 8 and 12 Hz, as ratios to the source's."""
        return energy_above(motion, BANDS) / energy_above(source, BANDS)

    @staticmethod
    def jerk(motion: Motion, source: Motion) -> float:
        """RMS third derivative of the rotations, as a ratio to the source's."""
        third = [np.diff(rotation_curves(each), n=3, axis=0) for each in (motion, source)]
        return float(np.sqrt((third[0] ** 2).mean() / (third[1] ** 2).mean()))

    @staticmethod
    def snap(motion: Motion, times: Iterable[float]) -> float:
        """Largest change of a joint's velocity within a frame of given times, m/s."""
        second = np.linalg.norm(np.diff(fk(motion).positions, n=2, axis=0), axis=-1).max(axis=1) * motion.fps
        frames = np.array([round(t * motion.fps) for t in times])
        near = np.clip(frames[:, None] - 1 + np.arange(-1, 2), 0, len(second) - 1)
        return float(second[near].max())

    @staticmethod
    def changed(motion: Motion, source: Motion) -> float:
        """RMS angle between the joints' rotations of two motions."""
        return float(np.sqrt((angle_between(motion.rotations, source.rotations) ** 2).mean()))

    @staticmethod
    def worst(solution: Solution, *kinds: str) -> float:
        """The largest violation of any constraint of some kinds."""
        return max(o.worst for o in solution.outcomes if o.constraint.kind in kinds)

    @staticmethod
    def banded(frames: float) -> Spacetime:
        """A solver with a single key spacing, in frames at 30 Hz, as in the paper."""
        return Spacetime(levels=(Level(spacing=frames / 30.0, rate=30.0, stiffness=1e5, steps=8),))


def _planted(motion: Motion, contacts: Iterable[Contact]) -> list[Array]:
    pose = fk(motion)
    paths = []
    for contact in contacts:
        path = pose.points([contact.point.name])[contact.frames(motion.fps, motion.num_frames), 0]
        if contact.on == "floor" and len(path):
            paths.append(path)
    return paths


@pytest.fixture(scope="session")
def measure() -> type[Measure]:
    return Measure
