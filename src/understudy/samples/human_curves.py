"""Smooth curves of time through given values: closed form, so that any rate samples the same movement."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array


def frame_times(fps: float, seconds: float) -> Array:
    """(F,) the times of the frames of so many seconds, both ends included."""
    if not (np.isfinite(fps) and fps > 0.0 and np.isfinite(seconds) and seconds >= 0.0):
        raise OptionError(
            f"Expected frames per second above zero and seconds of at least zero; got {fps} frames per second "
            f"and {seconds} s"
        )
    return np.arange(int(np.floor(seconds * fps + 1e-6)) + 1) / fps


def ease(share: ArrayLike) -> Array:
    """From 0 to 1 with speed and acceleration zero at both ends; held outside of 0 to 1."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    return s**3 * (10.0 + s * (-15.0 + 6.0 * s))


def share_of(times: Array, start: float, end: float) -> Array:
    """From 0 before a start to 1 after an end, smoothly."""
    return ease((times - start) / (end - start))


def hump(share: ArrayLike, peak: float = 0.5) -> Array:
    """From 0 up to 1 at a peak and back to 0, with speed and acceleration zero at both ends."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    rise, fall = (3.0, 3.0 * (1.0 - peak) / peak) if peak <= 0.5 else (3.0 * peak / (1.0 - peak), 3.0)
    top = peak**rise * (1.0 - peak) ** fall
    return s**rise * (1.0 - s) ** fall / top


def between(share: ArrayLike, span: float, start: tuple[ArrayLike, ...], end: tuple[ArrayLike, ...]) -> Array:
    """A fifth-degree path (N, ...) between two states, each (value, speed, acceleration).

    Args:
        share: (N,) how much of the way's time has passed, 0 to 1.
        span: The way's time, seconds.
        start: State at share 0, values of any one shape.
        end: State at share 1.
    """
    s = np.asarray(share, float)
    (p, v, a), (q, w, b) = ([np.asarray(part, float) for part in state] for state in (start, end))
    s = s.reshape(s.shape + (1,) * p.ndim)
    v, a, w, b = v * span, a * span**2, w * span, b * span**2
    gap, gap_v, gap_a = q - p - v - 0.5 * a, w - v - a, b - a
    third = 10.0 * gap - 4.0 * gap_v + 0.5 * gap_a
    fourth = -15.0 * gap + 7.0 * gap_v - gap_a
    fifth = 6.0 * gap - 3.0 * gap_v + 0.5 * gap_a
    return p + s * (v + s * (0.5 * a + s * (third + s * (fourth + s * fifth))))


def through(times: ArrayLike, knots: ArrayLike, values: ArrayLike, rates: ArrayLike | None = None) -> Array:
    """A curve (N, ...) through values at knots, twice continuously differentiable, held before and after.

    Args:
        times: (N,) seconds.
        knots: (K,) seconds, rising.
        values: (K, ...) what is passed at the knots.
        rates: (K, ...) speeds there; if not given, such that nothing overshoots: zero at tops and holds.
    """
    t, knots, values = np.asarray(times, float), np.asarray(knots, float), np.asarray(values, float)
    rates = _calm_rates(knots, values) if rates is None else np.asarray(rates, float)
    t = np.clip(t, knots[0], knots[-1])
    k = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 2)
    span = knots[k + 1] - knots[k]
    s = ((t - knots[k]) / span).reshape((-1,) + (1,) * (values.ndim - 1))
    span = span.reshape(s.shape)
    v, w = rates[k] * span, rates[k + 1] * span
    gap, gap_v = values[k + 1] - values[k] - v, w - v
    return values[k] + s * (
        v + s * s * ((10.0 * gap - 4.0 * gap_v) + s * ((-15.0 * gap + 7.0 * gap_v) + s * (6.0 * gap - 3.0 * gap_v)))
    )


def _calm_rates(knots: Array, values: Array) -> Array:
    """Speeds at the knots: the harmonic mean of the slopes on both sides, zero where their signs differ."""
    step = np.diff(knots).reshape((-1,) + (1,) * (values.ndim - 1))
    slopes = np.diff(values, axis=0) / step
    rates = np.zeros_like(values)
    before, after = slopes[:-1], slopes[1:]
    w1, w2 = 2.0 * step[1:] + step[:-1], step[1:] + 2.0 * step[:-1]
    same = before * after > 0.0
    safe_before, safe_after = np.where(same, before, 1.0), np.where(same, after, 1.0)
    rates[1:-1] = np.where(same, (w1 + w2) / (w1 / safe_before + w2 / safe_after), 0.0)
    return rates
