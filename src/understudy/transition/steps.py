"""Jumps: the largest steps of any joint from frame to frame, and how suddenly steps change."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from understudy.geometry.quaternion import Array, conjugate, log, multiply
from understudy.kinematics import fk
from understudy.motion import Motion


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The largest over all joints and frames. Lengths are leg lengths, so that bodies of different sizes compare."""

    turn: float
    """Radians a joint turns from one frame to the next."""
    turn_change: float
    """Radians by which that differs from the frame before."""
    move: float
    """Leg lengths a joint moves through the world from one frame to the next."""
    move_change: float
    """Leg lengths by which that differs from the frame before."""

    def over(self, other: Steps) -> float:
        """The largest of these as a multiple of another's: at most 1 if none is larger. No step is no multiple."""
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return max((mine / theirs if theirs > 0.0 else np.inf for mine, theirs in pairs if mine > 1e-9), default=0.0)


def worst_steps(motion: Motion, legs: Array | float) -> Steps:
    """The largest steps of any joint in a motion.

    Args:
        motion: At least three frames.
        legs: Metres, one number or (F,): the body's leg length at each frame.
    """
    size = np.broadcast_to(legs, (motion.num_frames,))[:, None, None]
    moves = np.diff(fk(motion).positions, axis=0)
    turns = log(multiply(conjugate(motion.rotations[:-1]), motion.rotations[1:]))
    return Steps(
        turn=_largest(turns),
        turn_change=_largest(np.diff(turns, axis=0)),
        move=_largest(moves / size[1:]),
        move_change=_largest(np.diff(moves, axis=0) / size[1:-1]),
    )


def larger(a: Steps, b: Steps) -> Steps:
    """The larger of each of two."""
    return Steps(**{key: max(value, getattr(b, key)) for key, value in asdict(a).items()})


def _largest(steps: Array) -> float:
    return float(np.linalg.norm(steps, axis=-1).max(initial=0.0))
