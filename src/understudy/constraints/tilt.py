"""Angles of joint rotations and of tilted directions, with exact derivatives.

Derivatives are by a small rotation w in the joint's own frame, `q -> q exp(w)`, or by a unit direction.
"""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, from_axis_angle, rotate, skew, to_matrix

MIN_SINE = 1e-4
"""Derivatives are bounded where this sine, of the angle to gimbal lock or to the opposite direction, is smaller."""


def perpendicular_pair(direction: Array) -> Array:
    """(..., 2, 3) two unit vectors perpendicular to unit directions (..., 3) and to each other."""
    helper = np.where(np.abs(direction[..., :1]) < 0.6, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = cross(direction, helper)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, cross(direction, first)], -2)


def tilt(direction: Array, centre: Array, pair: Array) -> tuple[Array, Array]:
    """The tilt of directions from a centre, as an angle towards each of two vectors perpendicular to it.

    The norm of the two angles is the angle from the centre, up to pi. The opposite direction has no unique tilt and
    counts as tilted towards the first vector.

    Args:
        direction: (N, 3) unit directions.
        centre: (3,) or (N, 3) unit.
        pair: (2, 3) or (N, 2, 3) unit vectors perpendicular to the centre and to each other.

    Returns:
        (N, 2) radians and their derivatives (N, 2, 3) by the directions.
    """
    pair, centre = np.broadcast_to(pair, (len(direction), 2, 3)), np.broadcast_to(centre, direction.shape)
    parts = np.einsum("nki,ni->nk", pair, direction)
    sine = np.sqrt(np.einsum("nk,nk->n", parts, parts))
    cosine = np.einsum("ni,ni->n", centre, direction)
    angle = np.arctan2(sine, cosine)
    towards = np.where(sine[:, None] > 1e-12, parts / np.maximum(sine, 1e-12)[:, None], [1.0, 0.0])
    away = cosine[:, None] * np.einsum("nk,nki->ni", towards, pair) - sine[:, None] * centre
    across = np.eye(2) - towards[:, :, None] * towards[:, None]
    ratio = np.where((sine < 1e-6) & (cosine > 0.0), 1.0, angle / np.maximum(sine, MIN_SINE * (cosine < 0.0) + 1e-12))
    derivatives = towards[:, :, None] * away[:, None] + ratio[:, None, None] * np.einsum("nkl,nli->nki", across, pair)
    return angle[:, None] * towards, derivatives


def swing(rotations: Array, axis: Array, reference: Array) -> tuple[Array, Array]:
    """The rotation vector of a joint's swing: its rotation without the twist about the bone axis.

    Args:
        rotations: (N, 4) rotations relative to zero swing and twist.
        axis: (3,) unit bone axis, in the joint's own frame.
        reference: (3,) unit, perpendicular to the axis: the first angle is about it, the second about axis x reference.

    Returns:
        (N, 2) radians and their derivatives (N, 2, 3) by a small rotation.
    """
    second = cross(axis, reference)
    matrices = to_matrix(rotations)
    angles, by_direction = tilt(matrices @ axis, axis, np.stack([-second, reference]))
    return angles, by_direction @ (-matrices @ skew(axis))


def twist_angles(rotations: Array, axis: Array) -> Array:
    """(N,) radians: the angles of `twist`, without derivatives."""
    return 2.0 * np.arctan2(rotations[:, 1:] @ axis, rotations[:, 0])


def twist(rotations: Array, axis: Array) -> tuple[Array, Array]:
    """(N,) radians, in (-2 pi, 2 pi]: the twist of rotations (N, 4) about a unit axis, and derivatives (N, 3)."""
    angle, by = _arctangent(rotations, np.array([0.0, *axis]), np.array([1.0, 0.0, 0.0, 0.0]))
    return 2.0 * angle, 2.0 * by


def two_angles(rotations: Array, axes: Array) -> tuple[Array, Array]:
    """(N, 2) angles about two axes (2, 3) of the nearest rotation about both, and derivatives (N, 2, 3).

    The method is that of `angles.joint_angles`: from half sums and half differences of the angles.
    """
    first, second = axes
    normal, slant = cross(first, second), float(first @ second)
    less, by_less = _arctangent(rotations, np.array([0.0, *(first - second)]), np.array([1.0 - slant, *normal]))
    more, by_more = _arctangent(rotations, np.array([0.0, *(first + second)]), np.array([1.0 + slant, *-normal]))
    return np.stack([more + less, more - less], -1), np.stack([by_more + by_less, by_more - by_less], 1)


def d_three_angles(angles: Array, axes: Array) -> Array:
    """(N, 3, 3) derivatives of angles (N, 3) about three axes (3, 3), bounded at gimbal lock.

    A small rotation is the sum of the angles' changes, each about its axis as seen after the later rotations. The
    rows of the inverse are cross products of these axes.
    """
    back_third = conjugate(from_axis_angle(axes[2], angles[:, 2]))
    back_second = conjugate(from_axis_angle(axes[1], angles[:, 1]))
    first = rotate(back_third, rotate(back_second, axes[0]))
    second = rotate(back_third, axes[1])
    third = np.broadcast_to(axes[2], first.shape)
    rows = np.stack([cross(second, third), cross(third, first), cross(first, second)], 1)
    volume = np.einsum("ni,ni->n", first, rows[:, 0])
    bounded = np.where(volume < 0.0, -1.0, 1.0) * np.maximum(np.abs(volume), MIN_SINE)
    return rows / bounded[:, None, None]


def _arctangent(rotations: Array, numerator: Array, denominator: Array) -> tuple[Array, Array]:
    """atan2 of two linear functions of quaternions, and its derivative (N, 3) by a small rotation."""
    high, low = rotations @ numerator, rotations @ denominator
    size = np.maximum(high**2 + low**2, MIN_SINE**2)
    d_quaternion = (low[:, None] * numerator - high[:, None] * denominator) / size[:, None]
    w, v = rotations[:, :1], rotations[:, 1:]
    d_rotation = 0.5 * (d_quaternion[:, 1:] * w - d_quaternion[:, :1] * v + cross(d_quaternion[:, 1:], v))
    return np.arctan2(high, low), d_rotation
