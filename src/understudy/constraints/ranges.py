"""Ranges of angles and cones of swing: how far outside them something is, and how to widen them."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array

STILL = 1e-9
"""Radians below which a swing has no direction."""


def middle(ranges: Array) -> Array:
    """(A,) the angles that wrapped ones are read next to: the middle of a range, inside one that is open."""
    low, high = ranges[:, 0], ranges[:, 1]
    low_open, high_open = np.isinf(low), np.isinf(high)
    if not (low_open.any() or high_open.any()):
        return 0.5 * (low + high)
    low = np.where(low_open, np.where(high_open, 0.0, high - 3.0), low)
    return 0.5 * (low + np.where(high_open, np.where(low_open, 0.0, low + 3.0), high))


def near(angles: Array, centre: Array) -> Array:
    """Angles without whole turns, next to the middle of their range."""
    return centre + np.remainder(angles - centre + np.pi, 2.0 * np.pi) - np.pi


def outside(angles: Array, by: Array, ranges: Array) -> tuple[Array, Array]:
    """Rows for every finite limit: how far angles (N, A), with derivatives (N, A, 3), are outside."""
    low, high = np.flatnonzero(np.isfinite(ranges[:, 0])), np.flatnonzero(np.isfinite(ranges[:, 1]))
    return how_far_outside(angles, ranges), np.concatenate([-by[:, low], by[:, high]], 1)


def how_far_outside(angles: Array, ranges: Array) -> Array:
    """For every finite limit, how far angles (N, A) are outside."""
    if np.all(np.isfinite(ranges)):
        return np.concatenate([ranges[:, 0] - angles, angles - ranges[:, 1]], -1)
    low, high = np.flatnonzero(np.isfinite(ranges[:, 0])), np.flatnonzero(np.isfinite(ranges[:, 1]))
    return np.concatenate([ranges[low, 0] - angles[:, low], angles[:, high] - ranges[high, 1]], -1)


def beyond_cone(angles: Array, by: Array, cone: Array) -> tuple[Array, Array]:
    """One row: how far a swing (N, 2) leans beyond the cone, measured straight away from its middle.

    Well inside the cone next to its middle the row says how far away the nearest side is.
    """
    half, size, share, values = cone_edge(angles.T, cone[..., None])
    by_size = angles / np.where(size < STILL, 1.0, size)[:, None]
    by_share = angles / half.T**2 / share[:, None]
    gradient = by_size * (1.0 - 1.0 / share)[:, None] + (size / share**2)[:, None] * by_share
    return values[:, None], np.einsum("nk,nki->ni", gradient, by)[:, None]


def cone_edge(leans: Array, cone: Array) -> tuple[Array, Array, Array, Array]:
    """The half-angles (..., 2, N) of cones (..., 2, 2, 1) towards swings (..., 2, N), each swing's size (..., N), its
    share (..., N) of the way to the cone's edge (1 for none), and how far (..., N) it leans beyond."""
    half = np.where(leans < 0.0, -cone[..., 0, :], cone[..., 1, :])
    parts = leans / half
    size = np.hypot(leans[..., 0, :], leans[..., 1, :])
    share = np.hypot(parts[..., 0, :], parts[..., 1, :])
    still = size < STILL
    if still.any():
        share = np.where(still, 1.0, share)
        return half, size, share, size - np.where(still, np.abs(cone).min(axis=(-3, -2)), size / share)
    return half, size, share, size - size / share


def reaching(ranges: Array, angles: Array, margin: float) -> Array:
    """Ranges (A, 2) widened, where angles (F, A) leave them, to a margin beyond those."""
    low, high = angles.min(0), angles.max(0)
    below = np.where(low < ranges[:, 0], low - margin, ranges[:, 0])
    return np.stack([below, np.where(high > ranges[:, 1], high + margin, ranges[:, 1])], -1)


def reaching_cone(cone: Array, leans: Array, margin: float) -> Array:
    """A cone (2, 2) widened so that swings (F, 2) keep to it: on the side they leave by, then as a whole if need be."""
    half = np.where(leans < 0.0, -cone[:, 0], cone[:, 1])
    parts = np.abs(leans) / half
    shares = np.linalg.norm(parts, axis=-1)
    if shares.max() <= 1.0:
        return cone
    out = cone.copy()
    for way in (0, 1):
        for side in (0, 1):
            mine = (shares > 1.0) & (np.argmax(parts, -1) == way) & ((leans[:, way] >= 0.0) == bool(side))
            out[way, side] *= shares[mine].max(initial=1.0)
    half = np.where(leans < 0.0, -out[:, 0], out[:, 1])
    out *= max(1.0, float(np.linalg.norm(leans / half, axis=-1).max()))
    return np.where(out != cone, out + margin * np.array([-1.0, 1.0]), out)
