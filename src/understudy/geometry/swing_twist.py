"""A rotation split into a twist about an axis and a swing of that axis.

`q = swing * twist`: first the twist about the axis, then the swing, whose own axis is across it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.geometry.quaternion import Array, conjugate, multiply


def twist_angle(q: ArrayLike, axis: ArrayLike) -> Array:
    """The angle of twist about a unit axis (..., 3), in (-pi, pi]; zero where a half-turn swing leaves it open."""
    q = np.asarray(q, float)
    along = np.einsum("...i,...i->...", q[..., 1:], np.asarray(axis, float))
    w = q[..., 0]
    open_ = np.hypot(along, w) < 1e-9
    angle = 2.0 * np.arctan2(along, w)
    angle = angle - 2.0 * np.pi * np.ceil(angle / (2.0 * np.pi) - 0.5)
    return np.where(open_, 0.0, angle)


def split(q: ArrayLike, axis: ArrayLike) -> tuple[Array, Array]:
    """Swing and twist (each (..., 4)) of rotations about a unit axis (..., 3) of the joint's own frame."""
    q, axis = np.asarray(q, float), np.asarray(axis, float)
    half = 0.5 * twist_angle(q, axis)
    twist = np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * axis], -1)
    return multiply(q, conjugate(twist)), twist


def swing_angle(q: ArrayLike, axis: ArrayLike) -> Array:
    """The angle by which the axis itself is turned away, in [0, pi]."""
    q = np.asarray(q, float)
    along = np.einsum("...i,...i->...", q[..., 1:], np.asarray(axis, float))
    kept = np.hypot(along, q[..., 0])
    turned = np.sqrt(np.maximum(np.einsum("...i,...i->...", q, q) - kept**2, 0.0))
    return 2.0 * np.arctan2(turned, kept)
