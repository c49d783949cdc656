"""Headings: which way a body goes, taken off a motion before it is analysed and put back after [Analogies, sec. 4]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.body import facing, leg_length
from understudy.eigenmotion.rhythm import period
from understudy.geometry.quaternion import Array, conjugate, from_axis_angle, log, multiply
from understudy.motion import Motion

UP = np.array([0.0, 1.0, 0.0])
STRIDE = 0.5
"""Seconds of the filter that takes the swing of single steps off the direction of a path."""
SLOW = 0.1
"""Leg lengths a second below which a body goes nowhere."""
SLOWER = 0.6
"""Cycles, the width of the filter that tells slow turning from what is part of every cycle."""
STEADY = np.radians(10.0)
"""Slow turning of a body against its path below which there is none: steps that do not come out even leave some."""
STRAIGHT = np.radians(30.0)
"""Turn of a path below which it counts as straight: its swings are part of the movement."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Course:
    """Where a body goes and which way it is headed: all of a motion that is not coordination."""

    root: Array
    """(F, 3) metres, world."""
    heading: Array
    """(F,) radians about the vertical from +Z to the heading, positive towards +X, without jumps."""

    def off(self, motion: Motion) -> Motion:
        """A motion with this course taken off: its root stays at the origin and is headed along +Z."""
        rotations = motion.rotations.copy()
        rotations[:, 0] = multiply(from_axis_angle(UP, -self.heading), rotations[:, 0])
        return replace(motion, root=np.zeros_like(motion.root), rotations=rotations)

    def on(self, motion: Motion) -> Motion:
        """A motion along +Z at the origin put on this course."""
        rotations = motion.rotations.copy()
        rotations[:, 0] = multiply(from_axis_angle(UP, self.heading), rotations[:, 0])
        return replace(motion, root=self.root, rotations=rotations)


def find_course(motion: Motion, *, like: Motion | None = None) -> Course:
    """The course of a motion: the direction of its path, or where the body faces if it goes nowhere.

    Args:
        motion: What a body does.
        like: An example by the same body. The new motion is then headed so that the body faces as in it: somebody who
            walks backwards is not turned round.
    """
    heading = _going(motion)
    if like is not None:
        heading = heading + _turned(motion, heading) - _turned(like, _going(like))
    return Course(root=motion.root, heading=heading + _drift(motion, heading))


def _facing(motion: Motion) -> Array:
    """(F,) radians: where a body faces, without jumps."""
    forward = facing(motion)
    return np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))


def _turned(motion: Motion, heading: Array) -> float:
    """Radians: how far a body faces away from a heading, on average."""
    away = _facing(motion) - heading
    return float(np.arctan2(np.sin(away).mean(), np.cos(away).mean()))


def _drift(motion: Motion, heading: Array) -> Array:
    """(F,) radians: how a body slowly turns this way and that against its heading, about zero.

    What is slower than the movement repeats itself is not part of it: an animal that looks about while it walks would
    have that for its first coordination.
    """
    from scipy.ndimage import gaussian_filter1d

    if motion.num_frames < 8:
        return np.zeros(motion.num_frames)
    turns = log(multiply(conjugate(motion.rotations[:-1, 1:]), motion.rotations[1:, 1:]))
    cycle = period(turns.reshape(len(turns), -1), motion.fps)
    if cycle is None or cycle * motion.fps * 2.0 > motion.num_frames:
        return np.zeros(motion.num_frames)
    away = _facing(motion) - heading
    slow = gaussian_filter1d(away, SLOWER * cycle * motion.fps, mode="reflect")
    return slow - slow.mean() if np.ptp(slow) > STEADY else np.zeros(motion.num_frames)


def _going(motion: Motion) -> Array:
    """(F,) radians: the direction of a motion's path, one and the same for a straight one."""
    from scipy.ndimage import gaussian_filter1d

    slow = SLOW * leg_length(motion.skeleton)
    across = motion.root[-1] - motion.root[0]
    path = gaussian_filter1d(motion.root[:, [0, 2]], STRIDE * motion.fps, axis=0, mode="nearest")
    velocity = np.gradient(path, axis=0) * motion.fps if len(path) > 1 else np.zeros((1, 2))
    moving = np.linalg.norm(velocity, axis=-1) > slow
    if moving.mean() < 0.5:
        mean = np.array([np.sin(_facing(motion)).mean(), np.cos(_facing(motion)).mean()])
        return np.full(motion.num_frames, np.arctan2(mean[0], mean[1]))
    angles = np.unwrap(np.arctan2(velocity[moving, 0], velocity[moving, 1]))
    heading = np.interp(np.arange(motion.num_frames), np.flatnonzero(moving), angles)
    if np.ptp(heading) < STRAIGHT:
        return np.full(motion.num_frames, np.arctan2(across[0], across[2]))
    return gaussian_filter1d(heading, STRIDE * motion.fps, mode="nearest")
