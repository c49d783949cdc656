"""Joint angles: conversion between local rotations and angles about a joint's axes.

A joint with axes a, b, c has the local rotation `rest * turn(a) * turn(b) * turn(c)`. Joint limits and files use
these angles. A rotation that a hinge or universal joint cannot reach gives the angles of the nearest one that it can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import (
    Array,
    conjugate,
    cross,
    from_axis_angle,
    from_matrix,
    multiply,
    to_euler,
    to_euler_curve,
    twist_angle,
)
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

MAX_SQUARE_COSINE = 1e-6
"""Greatest cosine of two axes that count as being at right angles."""


def joint_rotations(skeleton: Skeleton, angles: ArrayLike) -> Array:
    """Local rotations (..., J, 4) of joint angles (..., J, 3), radians.

    Angles of axes that a joint does not have are ignored.
    """
    used = np.array([[k < NUM_AXES[kind] for k in range(3)] for kind in skeleton.kinds])
    angles = np.where(used, np.asarray(angles, float), 0.0)
    out = np.broadcast_to(skeleton.rest, (*angles.shape[:-1], 4))
    for k in range(3):
        out = multiply(out, from_axis_angle(skeleton.axes[:, k], angles[..., k]))
    return out


def joint_angles(skeleton: Skeleton, rotations: ArrayLike, near: ArrayLike | None = None) -> Array:
    """Angles (..., J, 3) about each joint's axes of local rotations (..., J, 4), radians.

    Args:
        skeleton: The joints; the second axis of a ball or free joint must be at right angles to both others.
        rotations: Local rotations, as a motion holds them.
        near: Angles (broadcast to the result) to stay close to. Angles repeat after a full turn, and a ball has two
            triples of them (a whole line at gimbal lock): the nearest are returned. Without it all angles are in
            (-pi, pi], the second angle of a ball is within a quarter turn of where its outer axes are farthest apart,
            and its last angle is zero at gimbal lock.

    Returns:
        Zero for the axes that a joint does not have.
    """
    rotations = np.asarray(rotations, float)
    out = np.zeros((*rotations.shape[:-1], 3))
    near = None if near is None else np.broadcast_to(np.asarray(near, float), out.shape)
    _fill_hinges(skeleton, rotations, near, out)
    balls = _find_balls(skeleton)
    if len(balls.joints):
        wanted = None if near is None else balls.to_proper(near[..., balls.joints, :])
        angles = balls.from_proper(to_euler(balls.proper(skeleton, rotations), "XYX", wanted))
        out[..., balls.joints, :] = _wrap(angles) if near is None else angles
    return out


def joint_angle_curves(skeleton: Skeleton, rotations: ArrayLike, near: ArrayLike | None = None) -> Array:
    """Angles (F, J, 3) of rotations (F, J, 4) over time, without jumps from frame to frame.

    Args:
        skeleton: Whose joints.
        rotations: Local rotations, frames first.
        near: Angles (J, 3) that the first frame stays close to; the rest pose's if not given.
    """
    rotations = np.asarray(rotations, float)
    first = np.zeros((*rotations.shape[1:-1], 3)) if near is None else np.asarray(near, float)
    out = np.zeros((*rotations.shape[:-1], 3))
    _fill_hinges(skeleton, rotations, None, out)
    out = np.unwrap(out, axis=0)
    out += first + _wrap(out[0] - first) - out[0]
    out[:, ~_has_few_axes(skeleton)] = 0.0
    balls = _find_balls(skeleton)
    if len(balls.joints):
        wanted = balls.to_proper(first[balls.joints])
        out[:, balls.joints] = balls.from_proper(to_euler_curve(balls.proper(skeleton, rotations), "XYX", wanted))
    return out


@dataclass(frozen=True, eq=False, kw_only=True)
class _Balls:
    """The joints with three axes, each with the frame in which its angles are Euler angles.

    The second axis is at right angles to the others, so the third axis is the first one rotated by a lean about the
    second: `turn(a) turn(b) turn(c) turn_b(lean) = turn(a) turn_b(b + lean) turn_a(c)`. These are angles of the order
    XYX in the frame whose X is the first axis and whose Y is the second, or its opposite if the lean would be negative.
    The lean is a quarter turn for three axes at right angles and zero for an order that repeats an axis.
    """

    joints: np.ndarray
    """(B,) joint numbers."""
    frames: Array
    """(B, 4) rotations from that frame to the joint's rest frame."""
    lean: Array
    """(B,) radians, in [0, pi]."""
    sign: Array
    """(B,) -1 where Y is the opposite of the second axis, else 1."""

    def proper(self, skeleton: Skeleton, rotations: Array) -> Array:
        """(..., B, 4) the rotations whose XYX angles are the joint angles, with the lean added."""
        turned = multiply(conjugate(skeleton.rest[self.joints]), rotations[..., self.joints, :])
        seen = multiply(conjugate(self.frames), multiply(turned, self.frames))
        return multiply(seen, from_axis_angle(np.array([0.0, 1.0, 0.0]), self.lean))

    def to_proper(self, angles: Array) -> Array:
        """XYX angles (..., B, 3) of joint angles."""
        return np.stack([angles[..., 0], self.sign * angles[..., 1] + self.lean, angles[..., 2]], -1)

    def from_proper(self, angles: Array) -> Array:
        """Joint angles (..., B, 3) of XYX angles."""
        return np.stack([angles[..., 0], self.sign * (angles[..., 1] - self.lean), angles[..., 2]], -1)


def _find_balls(skeleton: Skeleton) -> _Balls:
    joints = np.array([j for j, kind in enumerate(skeleton.kinds) if NUM_AXES[kind] == 3], dtype=np.intp)
    first, second, third = skeleton.axes[joints].transpose(1, 0, 2)
    across = cross(first, second)
    for other in (first, third):
        slanted = np.flatnonzero(np.abs(np.einsum("ji,ji->j", other, second)) > MAX_SQUARE_COSINE)
        if len(slanted):
            name = skeleton.names[joints[slanted[0]]]
            raise SkeletonError(
                f"Joint `{name}`: its angles cannot be counted unless its second axis is at right angles to both others"
            )
    lean = np.arctan2(-np.einsum("ji,ji->j", third, across), np.einsum("ji,ji->j", third, first))
    sign = np.where(lean < 0.0, -1.0, 1.0)
    frames = np.stack([first, sign[:, None] * second, sign[:, None] * across], -1)
    return _Balls(joints=joints, frames=from_matrix(frames), lean=np.abs(lean), sign=sign)


def _fill_hinges(skeleton: Skeleton, rotations: Array, near: Array | None, out: Array) -> None:
    """Fill in the angles of the joints with one and two axes."""
    hinges = [j for j, kind in enumerate(skeleton.kinds) if kind is JointKind.HINGE]
    if hinges:
        turned = multiply(conjugate(skeleton.rest[hinges]), rotations[..., hinges, :])
        out[..., hinges, 0] = twist_angle(turned, skeleton.axes[hinges, 0])
    universals = [j for j, kind in enumerate(skeleton.kinds) if kind is JointKind.UNIVERSAL]
    if universals:
        turned = multiply(conjugate(skeleton.rest[universals]), rotations[..., universals, :])
        out[..., universals, :2] = _universal_angles(turned, skeleton.axes[universals])
    if near is not None:
        joints = hinges + universals
        kept = near[..., joints, :]
        out[..., joints, :] = np.where(_has_few_axes(skeleton)[joints], kept + _wrap(out[..., joints, :] - kept), 0.0)


def _universal_angles(q: Array, axes: Array) -> Array:
    """Angles (..., 2) about two axes whose successive rotations come nearest to a rotation.

    The cosine of half the remaining angle is a sum of two sinusoids, one in the half sum and one in the half difference
    of the angles, so each is maximised on its own. The result is exact for axes that are not parallel.
    """
    first, second = axes[:, 0], axes[:, 1]
    w, v = q[..., 0], q[..., 1:]
    along_first = np.einsum("...i,...i->...", v, first)
    along_second = np.einsum("...i,...i->...", v, second)
    both = np.einsum("...i,...i->...", v, cross(first, second)) - w * np.einsum("ji,ji->j", first, second)
    half_difference = np.arctan2(along_first - along_second, w + both)
    half_sum = np.arctan2(along_first + along_second, w - both)
    return _wrap(np.stack([half_sum + half_difference, half_sum - half_difference], -1))


MIN_SWING = 1e-12
"""Sine of the angle between an axis and a direction below which rotation about the axis does not move the direction."""

MIN_BRANCH_RADIANS = 1e-4
"""Half the angle between the two solutions below which they are kept apart, so that the first angle is defined."""


def pointing_angles(first: Array, second: Array, vector: Array, goal: Array) -> Array:
    """Angles (F, 2, 2) about two successive axes that point a direction at a goal: two solutions for each goal.

    Args:
        first: (3,) unit axis of the outer rotation.
        second: (3,) unit axis of the inner rotation.
        vector: (3,) unit direction at angle zero.
        goal: (F, 3) unit directions.

    Returns:
        For each goal two pairs of angles, radians: `turn(first) turn(second) vector = goal`. The second angle of one
        solution is as far above the angle at which the direction is nearest to the first axis as that of the other is
        below it. Where no angles reach the goal, those that come nearest to its angle with the first axis.
    """
    along = float(vector @ second)
    flat, aside = vector - along * second, cross(second, vector)
    # The share of the direction along the first axis is a sinusoid of the second angle.
    cosine, sine, level = float(first @ flat), float(first @ aside), along * float(first @ second)
    size = max(float(np.hypot(cosine, sine)), MIN_SWING)
    half = np.arccos(np.clip((goal @ first - level) / size, -1.0, 1.0))
    middle = float(np.arctan2(sine, cosine))
    x = aside - (aside @ first) * first
    x = x / max(float(np.linalg.norm(x)), MIN_SWING)
    y = cross(first, x)
    out = np.empty((len(goal), 2, 2))
    for branch, sign in enumerate((1.0, -1.0)):
        out[:, branch, 1] = middle + sign * half
        angle = middle + sign * np.maximum(half, MIN_BRANCH_RADIANS)[:, None]
        reached = along * second + np.cos(angle) * flat + np.sin(angle) * aside
        out[:, branch, 0] = np.arctan2(goal @ y, goal @ x) - np.arctan2(reached @ y, reached @ x)
    return out


def _has_few_axes(skeleton: Skeleton) -> np.ndarray:
    """(J, 3) True for the axes of joints with one or two axes."""
    counts = np.array([NUM_AXES[kind] for kind in skeleton.kinds])
    return (np.arange(3) < counts[:, None]) & (counts < 3)[:, None]


def _wrap(angle: Array) -> Array:
    """Angles brought into (-pi, pi]."""
    return angle - 2.0 * np.pi * np.ceil(angle / (2.0 * np.pi) - 0.5)
