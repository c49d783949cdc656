"""Euler angles in all 12 orders, both ways, continuous in time.

An order such as "ZXY" names the axes in the order a file lists them: the rotation is Rz(a) Rx(b) Ry(c), each
about the axes already rotated (intrinsic), as in BVH channels and Acclaim files. All angles are in radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ")

MAX_LOCKED_SINE = 1e-7
"""Sine of the middle angle's distance from gimbal lock below which the outer angles cannot be separated."""


def check_order(order: str) -> str:
    """The order in capitals, or an error that lists all orders."""
    if order.upper() not in ORDERS:
        raise OptionError(f"Expected an Euler order, one of {', '.join(ORDERS)}; got `{order}`")
    return order.upper()


def from_euler(angles: ArrayLike, order: str) -> Array:
    """Quaternions (..., 4) of angles (..., 3), radians, listed in the sequence of the order."""
    half = 0.5 * np.asarray(angles, float)
    i, j, k = ("XYZ".index(axis) for axis in check_order(order))
    c, s = np.cos(half), np.sin(half)
    c1, c2, c3 = c[..., 0], c[..., 1], c[..., 2]
    s1, s2, s3 = s[..., 0], s[..., 1], s[..., 2]
    out = np.empty((*half.shape[:-1], 4))
    # The product of three rotations about coordinate axes, multiplied out: e is the sign of (i, j, the third axis).
    m = 3 - i - j
    e = 1.0 if (j - i) % 3 == 1 else -1.0
    if i == k:
        out[..., 0] = c2 * (c1 * c3 - s1 * s3)
        out[..., 1 + i] = c2 * (s1 * c3 + c1 * s3)
        out[..., 1 + j] = s2 * (c1 * c3 + s1 * s3)
        out[..., 1 + m] = e * s2 * (s1 * c3 - c1 * s3)
    else:
        out[..., 0] = c1 * c2 * c3 - e * s1 * s2 * s3
        out[..., 1 + i] = s1 * c2 * c3 + e * c1 * s2 * s3
        out[..., 1 + j] = c1 * s2 * c3 - e * s1 * c2 * s3
        out[..., 1 + k] = c1 * c2 * s3 + e * s1 * s2 * c3
    return out


def to_euler(q: ArrayLike, order: str, near: ArrayLike | None = None) -> Array:
    """Angles (..., 3) of quaternions (..., 4), radians.

    Args:
        q: Rotations.
        order: The axes as listed, e.g. "ZYX".
        near: Angles (broadcast to the result) to stay close to. A rotation has two triples of Euler angles, each
            up to full turns, and at gimbal lock a whole line of them: the one nearest to these is returned.
            Without it the middle angle is in [-90, 90] degrees ([0, 180] for orders that repeat an axis), and
            the last angle is zero at gimbal lock.
    """
    angles, locked, sign = _principal(np.asarray(q, float), check_order(order))
    if near is None:
        return angles
    near = np.broadcast_to(np.asarray(near, float), angles.shape)
    if locked.any():
        # Only a + sign * c is determined: move along that line to the last angle of `near`.
        shift = np.where(locked, near[..., 2] - angles[..., 2], 0.0)
        angles[..., 2] += shift
        angles[..., 0] -= sign * shift
    return _nearest(angles, near, repeats=order[0] == order[2])


def unwrap(angles: ArrayLike, order: str, near: ArrayLike | None = None) -> Array:
    """The same rotations as angles (F, ..., 3) that change as little as possible from frame to frame.

    Each rotation has two triples of angles, each up to full turns. Whether a frame switches to the other kind of triple
    than the frame before does not depend on the choice at that frame, so the choices are a running parity, computed for
    all frames at once.

    Args:
        angles: (F, ..., 3) radians, frames first.
        order: The axes as listed.
        near: Angles (..., 3) that the first frame stays close to.
    """
    angles = np.array(angles, float)
    repeats = order[0] == order[2]
    other = _other(angles, repeats)
    if near is not None:
        first = _nearest(angles[0], np.broadcast_to(np.asarray(near, float), angles[0].shape), repeats)
        swap_first = _apart(other[0], first) < _apart(angles[0], first)
    else:
        first = angles[0].copy()
        swap_first = np.zeros(angles.shape[1:-1], bool)
    swap = _apart(other[1:], angles[:-1]) < _apart(angles[1:], angles[:-1])
    swapped = (np.cumsum(np.concatenate([swap_first[None], swap]), axis=0) % 2).astype(bool)
    out = np.unwrap(np.where(swapped[..., None], other, angles), axis=0)
    out += first - out[0]
    return out


def to_euler_curve(q: ArrayLike, order: str, near: ArrayLike | None = None) -> Array:
    """Angles (F, ..., 3) of rotations (F, ..., 4) over time, continuous through gimbal lock too.

    Args:
        q: (F, ..., 4) rotations, frames first.
        order: The axes as listed.
        near: Angles (..., 3) that the first frame stays close to.
    """
    angles, locked, sign = _principal(np.asarray(q, float), check_order(order))
    if locked.any():
        # Where the outer angles cannot be separated, the last one is held from the nearest earlier frame.
        frames = np.arange(len(angles)).reshape((-1,) + (1,) * (locked.ndim - 1))
        held = np.maximum.accumulate(np.where(locked, -1, frames), axis=0)
        first = np.argmin(locked, axis=0)[None]
        held = np.where(held < 0, first, held)
        last = np.take_along_axis(angles[..., 2], held, axis=0)
        shift = np.where(locked, last - angles[..., 2], 0.0)
        angles[..., 2] += shift
        angles[..., 0] -= sign * shift
    return unwrap(angles, order, near)


def _principal(q: Array, order: str) -> tuple[Array, np.ndarray, Array]:
    """Principal angles, a mask of gimbal lock, and the sign s for which only a + s * c is determined there.

    Half sums and half differences of the outer angles are arguments of quaternion components, so no matrix is
    built and both are accurate next to gimbal lock.
    """
    i, j, k = ("XYZ".index(axis) for axis in order)
    m = 3 - i - j
    e = 1.0 if (j - i) % 3 == 1 else -1.0
    w, x, y, z = q[..., 0], q[..., 1 + i], q[..., 1 + j], e * q[..., 1 + m]
    repeats = i == k
    if not repeats:
        # Sums give the half sum of the outer angles and differences their half difference, as in a repeating order.
        w, x, y, z = w + y, x + z, w - y, x - z
    total, difference = np.arctan2(x, w), np.arctan2(z, y)
    low, high = np.hypot(w, x), np.hypot(y, z)
    middle = 2.0 * np.arctan2(high, low)
    scale = MAX_LOCKED_SINE * np.hypot(low, high)
    no_sum, no_difference = low < scale, high < scale
    locked = no_sum | no_difference
    first = np.where(locked, np.where(no_sum, 2.0 * difference, 2.0 * total), total + difference)
    last = np.where(locked, 0.0, total - difference)
    sign = np.where(no_sum, -1.0, 1.0)
    if not repeats:
        middle = 0.5 * np.pi - middle
        last = e * last
        sign = sign * e
    out = np.stack([first, middle, last], -1)
    out[..., [0, 2]] = _wrap(out[..., [0, 2]])
    return out, locked, sign


def _wrap(angle: Array) -> Array:
    """Angles brought into (-pi, pi]."""
    return angle - 2.0 * np.pi * np.ceil(angle / (2.0 * np.pi) - 0.5)


def _other(angles: Array, repeats: bool) -> Array:
    """The second triple of the same rotation."""
    out = angles + np.pi
    out[..., 1] = -angles[..., 1] if repeats else np.pi - angles[..., 1]
    return out


def _apart(a: Array, b: Array) -> Array:
    """The distance of two triples, full turns not counted."""
    return np.abs(_wrap(a - b)).sum(-1)


def _nearest(angles: Array, near: Array, repeats: bool) -> Array:
    """The triples of the same rotations that are nearest to the angles `near`."""
    other = _other(angles, repeats)
    take = _apart(other, near) < _apart(angles, near)
    angles = np.where(take[..., None], other, angles)
    return near + _wrap(angles - near)
