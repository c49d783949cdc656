"""Angles of turned joints and tilted directions, each with its exact derivative.

Derivatives are by a small turn w of a joint about its own axes, `q -> q exp(w)`, or by a unit direction.
"""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, from_axis_angle, rotate, skew, to_matrix

NEAR_LOCK = 1e-4
"""Sine from gimbal lock, or from the opposite direction, below which derivatives grow no further."""


def across(direction: Array) -> Array:
    """(..., 2, 3) two unit vectors at right angles to unit directions (..., 3) and to each other."""
    spare = np.where(np.abs(direction[..., :1]) < 0.6, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = cross(direction, spare)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, cross(direction, first)], -2)


def tilt(direction: Array, centre: Array, pair: Array) -> tuple[Array, Array]:
    """How far directions are tilted from a centre, as an angle towards each of two vectors across it.

    The length of the two together is the angle from the centre, up to pi: the opposite direction, where it is not
    said which way it is tilted, counts as tilted towards the first.

    Args:
        direction: (N, 3) unit directions.
        centre: (3,) or (N, 3) unit.
        pair: (2, 3) or (N, 2, 3) unit vectors across the centre and each other.

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
    rest = np.eye(2) - towards[:, :, None] * towards[:, None]
    ratio = np.where((sine < 1e-6) & (cosine > 0.0), 1.0, angle / np.maximum(sine, NEAR_LOCK * (cosine < 0.0) + 1e-12))
    by = towards[:, :, None] * away[:, None] + ratio[:, None, None] * np.einsum("nkl,nli->nki", rest, pair)
    return angle[:, None] * towards, by


def swing(turns: Array, axis: Array, reference: Array) -> tuple[Array, Array]:
    """The rotation vector of a joint's swing, its part about a bone axis taken out.

    Args:
        turns: (N, 4) rotations from where the joint is neither swung nor twisted.
        axis: (3,) unit bone axis, in the joint's own frame.
        reference: (3,) unit, across the axis: what the first angle turns about; the second is about axis x reference.

    Returns:
        (N, 2) radians and their derivatives (N, 2, 3) by a small turn.
    """
    second = cross(axis, reference)
    matrices = to_matrix(turns)
    angles, by_direction = tilt(matrices @ axis, axis, np.stack([-second, reference]))
    return angles, by_direction @ (-matrices @ skew(axis))


def twist_angles(turns: Array, axis: Array) -> Array:
    """(N,) radians: what `twist` gives, without derivatives."""
    return 2.0 * np.arctan2(turns[:, 1:] @ axis, turns[:, 0])


def twist(turns: Array, axis: Array) -> tuple[Array, Array]:
    """(N,) how far rotations (N, 4) are twisted about a unit axis, in (-2 pi, 2 pi], and derivatives (N, 3)."""
    angle, by = _arc(turns, np.array([0.0, *axis]), np.array([1.0, 0.0, 0.0, 0.0]))
    return 2.0 * angle, 2.0 * by


def two_angles(turns: Array, axes: Array) -> tuple[Array, Array]:
    """(N, 2) angles about two axes (2, 3), of the nearest rotation they can make, and derivatives (N, 2, 3).

    As `angles.joint_angles` finds them, from half sums and half differences.
    """
    first, second = axes
    normal, slant = cross(first, second), float(first @ second)
    less, by_less = _arc(turns, np.array([0.0, *(first - second)]), np.array([1.0 - slant, *normal]))
    more, by_more = _arc(turns, np.array([0.0, *(first + second)]), np.array([1.0 + slant, *-normal]))
    return np.stack([more + less, more - less], -1), np.stack([by_more + by_less, by_more - by_less], 1)


def by_three_angles(angles: Array, axes: Array) -> Array:
    """(N, 3, 3) derivatives of angles (N, 3) about three axes (3, 3), held finite at gimbal lock.

    A small turn is the sum of the angles' changes about the axes as they stand after the later turns; the rows of
    the inverse are vector products of those.
    """
    back_third = conjugate(from_axis_angle(axes[2], angles[:, 2]))
    back_second = conjugate(from_axis_angle(axes[1], angles[:, 1]))
    first = rotate(back_third, rotate(back_second, axes[0]))
    second = rotate(back_third, axes[1])
    third = np.broadcast_to(axes[2], first.shape)
    rows = np.stack([cross(second, third), cross(third, first), cross(first, second)], 1)
    volume = np.einsum("ni,ni->n", first, rows[:, 0])
    held = np.where(volume < 0.0, -1.0, 1.0) * np.maximum(np.abs(volume), NEAR_LOCK)
    return rows / held[:, None, None]


def _arc(turns: Array, upper: Array, lower: Array) -> tuple[Array, Array]:
    """atan2 of two linear functions of quaternions, and its derivative (N, 3) by a small turn."""
    high, low = turns @ upper, turns @ lower
    size = np.maximum(high**2 + low**2, NEAR_LOCK**2)
    d_rotations = (low[:, None] * upper - high[:, None] * lower) / size[:, None]
    w, v = turns[:, :1], turns[:, 1:]
    small = 0.5 * (d_rotations[:, 1:] * w - d_rotations[:, :1] * v + cross(d_rotations[:, 1:], v))
    return np.arctan2(high, low), small
