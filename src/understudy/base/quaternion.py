"""Rotations: unit quaternions, scalar first (w, x, y, z), with any batch axes before; Euler angles; swing and twist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.base.errors import OptionError

Array = NDArray[np.float64]

IDENTITY: Array = np.array([1.0, 0.0, 0.0, 0.0])

IDENTITY.setflags(write=False)

MIN_ANGLE_RADIANS = 1e-4
"""Below this angle, in radians, Taylor series replace quotients that would lose digits."""


def identity(*shape: int) -> Array:
    """Identity rotations, (*shape, 4)."""
    return np.tile(IDENTITY, (*shape, 1))


def normalize(q: ArrayLike) -> Array:
    """Quaternions scaled to unit length; zero quaternions become the identity."""
    q = np.asarray(q, float)
    size = np.sqrt(np.einsum("...i,...i->...", q, q))[..., None]
    return np.where(size > 1e-12, q / np.where(size > 1e-12, size, 1.0), IDENTITY)


def conjugate(q: ArrayLike) -> Array:
    """The inverse rotation."""
    out = np.array(q, float)
    out[..., 1:] *= -1.0
    return out


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """The rotation b followed by a, as matrices multiply."""
    a, b = _contiguous(a), _contiguous(b)
    return _by_blocks(_multiply, a, b, np.empty(np.broadcast(a, b).shape))


def _multiply(a: Array, b: Array, out: Array) -> None:
    # Treating a quaternion as two complex numbers, w + xi and y + zi, takes a third of the numpy calls.
    c, d, both = a.view(complex), b.view(complex), out.view(complex)
    mirrored = d.conj()
    np.subtract(c[..., 0] * d[..., 0], c[..., 1] * mirrored[..., 1], out=both[..., 0])
    np.add(c[..., 0] * d[..., 1], c[..., 1] * mirrored[..., 0], out=both[..., 1])


BLOCK_VECTORS = 2**13
"""The number of rotations or vectors that are computed at a time, so that what comes between stays in the cache."""


def _by_blocks(compute: Callable[[Array, Array, Array], None], a: Array, b: Array, out: Array) -> Array:
    """`out` (..., n) with what a function of two broadcast arrays writes into it, block by block of the first axis:
    large intermediate results take up to three times as long."""
    if out.size <= 2 * out.shape[-1] * BLOCK_VECTORS:
        compute(a, b, out)
        return out
    step = max(BLOCK_VECTORS * out.shape[-1] * len(out) // out.size, 1)
    is_split = [array.ndim == out.ndim and len(array) > 1 for array in (a, b)]
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        compute(a[part] if is_split[0] else a, b[part] if is_split[1] else b, out[part])
    return out


def _contiguous(q: ArrayLike) -> Array:
    """Quaternions whose four components are contiguous in memory."""
    q = np.asarray(q, float)
    return q if q.strides[-1] == q.itemsize else np.ascontiguousarray(q)


def cross(a: ArrayLike, b: ArrayLike) -> Array:
    """The vector product over the last axis; several times faster than `numpy.cross` on many small vectors."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return _by_blocks(_cross, a, b, np.empty(np.broadcast(a, b).shape))


def _cross(a: Array, b: Array, out: Array) -> None:
    ax, ay, az, bx, by, bz = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    np.subtract(ay * bz, az * by, out=out[..., 0])
    np.subtract(az * bx, ax * bz, out=out[..., 1])
    np.subtract(ax * by, ay * bx, out=out[..., 2])


def perpendicular_pair(direction: Array) -> Array:
    """(..., 2, 3) two unit vectors perpendicular to unit directions (..., 3) and to each other."""
    helper = np.where(np.abs(direction[..., :1]) < 0.6, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = cross(direction, helper)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, cross(direction, first)], -2)


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Rotate vectors (..., 3) by rotations (..., 4)."""
    q, v = np.asarray(q, float), np.asarray(v, float)
    return _by_blocks(_rotate, q, v, np.empty(np.broadcast(q[..., 1:], v).shape))


def unrotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Rotate vectors by the inverse rotations."""
    q, v = np.asarray(q, float), np.asarray(v, float)
    return _by_blocks(_unrotate, q, v, np.empty(np.broadcast(q[..., 1:], v).shape))


def _rotate(q: Array, v: Array, out: Array) -> None:
    """Rotate vectors (..., 3) by rotations (..., 4) into `out`."""
    _rotate_by(q[..., 0], q, v, out)


def _unrotate(q: Array, v: Array, out: Array) -> None:
    """Rotate vectors (..., 3) by the inverses of rotations (..., 4) into `out`."""
    _rotate_by(-q[..., 0], q, v, out)


def _rotate_by(w: Array, q: Array, v: Array, out: Array) -> None:
    """Rotate vectors (..., 3) by the rotations with scalar parts w and the vector parts of q (..., 4) into `out`."""
    x, y, z, a, b, c = q[..., 1], q[..., 2], q[..., 3], v[..., 0], v[..., 1], v[..., 2]
    tx, ty, tz = (2.0 * part for part in (y * c - z * b, z * a - x * c, x * b - y * a))
    np.add(y * tz - z * ty + w * tx, a, out=out[..., 0])
    np.add(z * tx - x * tz + w * ty, b, out=out[..., 1])
    np.add(x * ty - y * tx + w * tz, c, out=out[..., 2])


def _sinc_half(angle: Array) -> Array:
    """sin(angle / 2) / angle, exact at zero."""
    safe = np.where(angle < MIN_ANGLE_RADIANS, 1.0, angle)
    return np.where(angle < MIN_ANGLE_RADIANS, 0.5 - angle**2 / 48.0, np.sin(0.5 * safe) / safe)


def exp(v: ArrayLike) -> Array:
    """The rotation of a rotation vector (..., 3)."""
    v = np.asarray(v, float)
    angle = np.sqrt(np.einsum("...i,...i->...", v, v))
    out = np.empty((*v.shape[:-1], 4))
    out[..., 0] = np.cos(0.5 * angle)
    out[..., 1:] = v * _sinc_half(angle)[..., None]
    return out


def log(q: ArrayLike) -> Array:
    """The shortest rotation vector (..., 3) of a rotation; its length is at most pi."""
    q = np.asarray(q, float)
    w, u = q[..., 0], q[..., 1:]
    sine = np.sqrt(np.einsum("...i,...i->...", u, u))
    sign = np.where(w < 0.0, -1.0, 1.0)
    safe = np.where(sine < 1e-9, 1.0, sine)
    scale = np.where(sine < 1e-9, 2.0, 2.0 * np.arctan2(sine, np.abs(w)) / safe)
    return u * (sign * scale)[..., None]


def angle(q: ArrayLike) -> Array:
    """The angle of rotation in [0, pi]."""
    q = np.asarray(q, float)
    return 2.0 * np.arctan2(np.sqrt(np.einsum("...i,...i->...", q[..., 1:], q[..., 1:])), np.abs(q[..., 0]))


def angle_between(a: ArrayLike, b: ArrayLike) -> Array:
    """The angle of the rotation that takes a to b, in [0, pi]."""
    return angle(multiply(conjugate(a), b))


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Rotations by angles (...) about unit axes (..., 3)."""
    half = 0.5 * np.asarray(angle, float)
    axis = np.asarray(axis, float)
    out = np.empty((*np.broadcast(axis[..., 0], half).shape, 4))
    out[..., 0] = np.cos(half)
    out[..., 1:] = axis * np.sin(half)[..., None]
    return out


def from_matrix(m: ArrayLike) -> Array:
    """Quaternions of rotation matrices (..., 3, 3), taken from the largest of the four components."""
    m = np.asarray(m, float)
    diagonal = np.einsum("...ii->...i", m)
    trace = diagonal.sum(-1)
    size = np.stack([1.0 + trace, *(1.0 + 2.0 * diagonal[..., i] - trace for i in range(3))], -1)
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 1, 0] + m[..., 0, 1], m[..., 2, 0] + m[..., 0, 2], m[..., 2, 1] + m[..., 1, 2]
    rows = np.stack(
        [
            np.stack([size[..., 0], a, b, c], -1),
            np.stack([a, size[..., 1], d, e], -1),
            np.stack([b, d, size[..., 2], f], -1),
            np.stack([c, e, f, size[..., 3]], -1),
        ],
        -2,
    )
    best = np.argmax(size, -1)[..., None, None]
    return normalize(np.take_along_axis(rows, best, -2)[..., 0, :])


def to_matrix(q: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3)."""
    q = np.asarray(q, float)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    out = np.empty((*q.shape[:-1], 3, 3))
    out[..., 0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[..., 0, 1] = 2.0 * (x * y - w * z)
    out[..., 0, 2] = 2.0 * (x * z + w * y)
    out[..., 1, 0] = 2.0 * (x * y + w * z)
    out[..., 1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[..., 1, 2] = 2.0 * (y * z - w * x)
    out[..., 2, 0] = 2.0 * (x * z - w * y)
    out[..., 2, 1] = 2.0 * (y * z + w * x)
    out[..., 2, 2] = 1.0 - 2.0 * (x * x + y * y)
    return out


def between(u: ArrayLike, v: ArrayLike) -> Array:
    """The smallest rotation that takes direction u to direction v.

    For opposite directions, which have no unique smallest rotation, it is a half turn about a fixed axis at right
    angles to u. For a zero vector it is the identity.
    """
    u, v = np.broadcast_arrays(np.asarray(u, float), np.asarray(v, float))
    norm = np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1)
    dot = np.einsum("...i,...i->...", u, v)
    out = np.concatenate([(norm + dot)[..., None], cross(u, v)], -1)
    opposite = (norm > 0.0) & (norm + dot < 1e-12 * norm)
    if np.any(opposite):
        across = cross(u, np.where((np.abs(u[..., :1]) < np.abs(u[..., 1:2])), [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
        out[opposite] = np.concatenate([np.zeros((*u.shape[:-1], 1)), across], -1)[opposite]
    return normalize(out)


def continuous(q: ArrayLike, axis: int = 0) -> Array:
    """The same rotations with signs chosen so that neighbours along an axis (frames) are on one hemisphere."""
    q = np.moveaxis(np.array(q, float), axis, 0)
    flip = np.einsum("...i,...i->...", q[1:], q[:-1]) < 0.0
    sign = np.where(np.cumsum(flip, axis=0) % 2 == 1, -1.0, 1.0)
    q[1:] *= sign[..., None]
    return np.moveaxis(q, 0, axis)


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Spherical linear interpolation from a (t = 0) to b (t = 1) along the shortest path."""
    a = np.asarray(a, float)
    return multiply(a, exp(np.asarray(t, float)[..., None] * log(multiply(conjugate(a), b))))


def mean(q: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """The average rotation over the first axis: the principal axis of the quaternions' outer products."""
    q = np.asarray(q, float)
    w = np.ones(len(q)) if weights is None else np.asarray(weights, float)
    spread = np.einsum("f,f...i,f...j->...ij", w, q, q)
    top = np.linalg.eigh(spread)[1][..., -1]
    return top * np.where(top[..., :1] < 0.0, -1.0, 1.0)


def skew(v: ArrayLike) -> Array:
    """The matrices (..., 3, 3) with `skew(v) @ u == cross(v, u)`."""
    v = np.asarray(v, float)
    out = np.zeros((*v.shape[:-1], 3, 3))
    out[..., 0, 1], out[..., 0, 2] = -v[..., 2], v[..., 1]
    out[..., 1, 0], out[..., 1, 2] = v[..., 2], -v[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -v[..., 1], v[..., 0]
    return out


def _jacobian(v: ArrayLike, first: Any, second: Any) -> Array:
    """I + first(angle) skew(v) + second(angle) skew(v)^2, with skew(v)^2 = v v' - |v|^2 I."""
    v = np.asarray(v, float)
    square = np.einsum("...i,...i->...", v, v)
    size = np.sqrt(square)
    safe = np.where(size < MIN_ANGLE_RADIANS, 1.0, size)
    a, b = first(size, safe)[..., None], second(size, safe)
    out = (b[..., None] * v)[..., :, None] * v[..., None, :]
    x, y, z = np.moveaxis(a * v, -1, 0)
    diagonal = 1.0 - b * square
    for i in range(3):
        out[..., i, i] += diagonal
    out[..., 0, 1] -= z
    out[..., 0, 2] += y
    out[..., 1, 0] += z
    out[..., 1, 2] -= x
    out[..., 2, 0] -= y
    out[..., 2, 1] += x
    return out


def right_jacobian(v: ArrayLike) -> Array:
    """J (..., 3, 3) with `exp(v + dv) = exp(v) exp(J dv)` to first order: small rotations in the joint's frame."""
    return _jacobian(
        v,
        lambda a, s: -np.where(a < MIN_ANGLE_RADIANS, 0.5 - a**2 / 24.0, (1.0 - np.cos(s)) / s**2),
        lambda a, s: np.where(a < MIN_ANGLE_RADIANS, 1.0 / 6.0 - a**2 / 120.0, (s - np.sin(s)) / s**3),
    )


def right_jacobian_inverse(v: ArrayLike) -> Array:
    """K (..., 3, 3) with `log(exp(v) exp(e)) = v + K e` to first order: the derivative of the logarithm."""
    return _jacobian(
        v,
        lambda a, s: np.full(a.shape, 0.5),
        lambda a, s: np.where(
            a < MIN_ANGLE_RADIANS, 1.0 / 12.0 + a**2 / 720.0, 1.0 / s**2 - (1.0 + np.cos(s)) / (2.0 * s * np.sin(s))
        ),
    )


def twist_angle(q: ArrayLike, axis: ArrayLike) -> Array:
    """The angle of twist about a unit axis (..., 3), in (-pi, pi]; zero where a half-turn swing leaves it undefined."""
    q = np.asarray(q, float)
    along = np.einsum("...i,...i->...", q[..., 1:], np.asarray(axis, float))
    w = q[..., 0]
    undefined = np.hypot(along, w) < 1e-9
    angle = 2.0 * np.arctan2(along, w)
    angle = angle - 2.0 * np.pi * np.ceil(angle / (2.0 * np.pi) - 0.5)
    return np.where(undefined, 0.0, angle)


def split(q: ArrayLike, axis: ArrayLike) -> tuple[Array, Array]:
    """Swing and twist (both (..., 4)) of rotations about a unit axis (..., 3) of the joint's frame.

    `q = swing * twist`: first the twist about the axis, then the swing about an axis at right angles to it.
    """
    q, axis = np.asarray(q, float), np.asarray(axis, float)
    half = 0.5 * twist_angle(q, axis)
    twist = np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * axis], -1)
    return multiply(q, conjugate(twist)), twist


def swing_angle(q: ArrayLike, axis: ArrayLike) -> Array:
    """The angle between the axis before and after the rotation, in [0, pi]."""
    q = np.asarray(q, float)
    along = np.einsum("...i,...i->...", q[..., 1:], np.asarray(axis, float))
    kept = np.hypot(along, q[..., 0])
    turned = np.sqrt(np.maximum(np.einsum("...i,...i->...", q, q) - kept**2, 0.0))
    return 2.0 * np.arctan2(turned, kept)


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
