"""Measures of an analogy: does B move as A does, in its time, and how high does it lift its feet?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.eigenmotion.goal import Goal
from understudy.eigenmotion.stepping import feet_of
from understudy.geometry.quaternion import Array, angle_between, rotate
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.skeleton import Point


def correlation(goal: Goal, level: Motion, wanted: Array) -> float:
    """How alike the matched markers' movement and the wanted one are, from -1 to 1, weighted by how far they move.

    Args:
        goal: The matched markers.
        level: B's motion without its course.
        wanted: (F, P, 3) metres about the mean: what A's markers, scaled, ask for.
    """
    pose = fk(level)
    made = pose.positions[:, goal.joints] + rotate(pose.rotations[:, goal.joints], goal.offsets)
    made = made - made.mean(axis=0)
    wanted = wanted - wanted.mean(axis=0)
    sizes = [np.sqrt(np.einsum("fpc,fpc->p", each, each)) for each in (made, wanted)]
    product = np.einsum("fpc,fpc->p", made, wanted)
    safe = np.maximum(sizes[0] * sizes[1], 1e-12)
    return float(np.average(product / safe, weights=np.maximum(sizes[1], 1e-12)))


def lifts(motion: Motion, points: Sequence[Point]) -> Array:
    """(N,) metres: how high each foot is lifted over a motion, from where it stands to the top of its swing."""
    feet = feet_of(motion.skeleton, points)
    pose = fk(motion)
    heights = [pose.points(foot)[..., 1].mean(axis=1) for foot in feet]
    return np.array([np.percentile(h, 98) - np.percentile(h, 5) for h in heights])


def pose_error(level: Motion, frame: int, rotations: Array, joints: Sequence[int]) -> float:
    """Radians: the largest angle between a pose and that of a frame, over some joints."""
    return float(angle_between(level.rotations[frame, list(joints)], rotations[list(joints)]).max(initial=0.0))
