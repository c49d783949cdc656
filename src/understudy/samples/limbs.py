"""Closed-form placement of limbs: two-bone inverse kinematics, and frames from a bone and a hinge axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import MotionError
from understudy.base.quaternion import Array, conjugate, cross, from_matrix, multiply


def unit(v: ArrayLike) -> Array:
    """Vectors scaled to length one."""
    v = np.asarray(v, float)
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def bend(start: ArrayLike, goal: ArrayLike, upper: float, lower: float, pole: ArrayLike) -> tuple[Array, Array]:
    """Two-bone inverse kinematics: the middle joint (..., 3) of a limb that reaches for a goal, and its end.

    Args:
        start: (..., 3) metres, the hip or shoulder.
        goal: (..., 3) metres, where the ankle or wrist should be.
        upper: Length of the first bone, metres.
        lower: Length of the second bone.
        pole: (..., 3) direction towards which the middle joint points.

    Returns:
        The middle joint and the reached end: the goal, or the farthest point towards it.
    """
    start, goal = np.asarray(start, float), np.asarray(goal, float)
    reach = np.linalg.norm(goal - start, axis=-1, keepdims=True)
    along = (goal - start) / np.maximum(reach, 1e-9)
    distance = np.clip(reach, abs(upper - lower), upper + lower)
    pole = np.asarray(pole, float)
    side = unit(pole - along * np.einsum("...i,...i->...", pole, along)[..., None])
    foot = (distance**2 + upper**2 - lower**2) / (2.0 * np.maximum(distance, 1e-9))
    height = np.sqrt(np.maximum(upper**2 - foot**2, 0.0))
    return start + along * foot + side * height, start + along * distance


def frame(bone: ArrayLike, hinge: ArrayLike) -> Array:
    """Matrices (..., 3, 3) whose columns are the bone's direction, the hinge square to it, and their product."""
    first = unit(bone)
    hinge = np.asarray(hinge, float)
    second = unit(hinge - first * np.einsum("...i,...i->...", hinge, first)[..., None])
    return np.stack([first, second, cross(first, second)], -1)


def turned(local_bone: ArrayLike, local_hinge: ArrayLike, bone: ArrayLike, hinge: ArrayLike) -> Array:
    """World orientations (..., 4) that take a bone direction and hinge axis of a joint's frame to world directions."""
    return from_matrix(frame(bone, hinge) @ np.swapaxes(frame(local_bone, local_hinge), -1, -2))


def local(parent: ArrayLike, child: ArrayLike) -> Array:
    """The local rotation of a child from the world orientations of its parent and itself."""
    return multiply(conjugate(parent), child)


def folded(
    start: ArrayLike,
    goal: ArrayLike,
    upper: tuple[ArrayLike, ArrayLike],
    lower: float,
    pole: ArrayLike,
    what: str = "limb",
) -> tuple[Array, Array]:
    """Inverse kinematics of a limb whose middle joint is a hinge; it ends exactly at the goal.

    Args:
        start: (..., 3) metres, the hip or shoulder.
        goal: (..., 3) metres, where the ankle or wrist is; it must be within reach.
        upper: The first bone (3,) and the hinge's axis (3,), in the upper joint's frame; at angle zero the limb is
            straight and the axis is at right angles to it.
        lower: Length of the second bone, metres.
        pole: (..., 3) direction towards which the middle joint points.
        what: The name of the limb, for the error message.

    Returns:
        World orientations (..., 4) of the upper joint and angles (...) of the hinge, radians, at least zero.
    """
    bone, axis = np.asarray(upper[0], float), np.asarray(upper[1], float)
    first = float(np.linalg.norm(bone))
    start, goal, pole = np.asarray(start, float), np.asarray(goal, float), np.asarray(pole, float)
    reach = np.linalg.norm(goal - start, axis=-1)
    if reach.size and (reach.max() > first + lower or reach.min() < abs(first - lower) + 1e-6):
        raise MotionError(
            f"The {what} must reach {reach.min():.4f} to {reach.max():.4f} m; its bones allow "
            f"{abs(first - lower):.4f} to {first + lower:.4f} m"
        )
    middle, end = bend(start, goal, first, lower, pole)
    along = unit(goal - start)
    thigh, shin = middle - start, end - middle
    height = np.linalg.norm(cross(along, thigh), axis=-1)
    angle = np.arctan2(height * reach, np.einsum("...i,...i->...", thigh, shin))
    return turned(bone, axis, thigh, cross(pole, along)), angle
