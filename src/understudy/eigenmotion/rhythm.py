"""Rhythm: after how long a movement repeats itself, and how alike two movements are performed."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array


def period(path: Array, fps: float) -> float | None:
    """Seconds after which a movement (F, ...) repeats itself; None where it does not."""
    signal = path.reshape(len(path), -1)
    at = np.linspace(-1.0, 1.0, len(signal))[:, None]
    signal = signal - signal.mean(axis=0)
    signal = signal - at * (np.sum(at * signal, axis=0) / np.sum(at**2))
    count = len(signal)
    if count < 8 or float(np.abs(signal).max()) < 1e-6:
        return None
    likeness = np.zeros(3 * count // 4)
    for lag in range(len(likeness)):
        a, b = signal[: count - lag], signal[lag:]
        likeness[lag] = float(np.sum(a * b)) / max(float(np.sqrt(np.sum(a * a) * np.sum(b * b))), 1e-12)
    low = np.flatnonzero(likeness < 0.3)
    if not len(low):
        return None
    inner = np.arange(max(int(low[0]), 1), len(likeness) - 1)
    peaks = [i for i in inner if likeness[i] >= likeness[i - 1] and likeness[i] > likeness[i + 1]]
    good = [i for i in peaks if likeness[i] > 0.9 * max(likeness[j] for j in peaks)]
    if not good or likeness[good[0]] < 0.3:
        return None
    peak = good[0]
    before, here, after = likeness[peak - 1 : peak + 2]
    bend = before - 2.0 * here + after
    return float((peak + (0.5 * (before - after) / bend if bend < 0.0 else 0.0)) / fps)


def likeness(a: Array, b: Array, fps: tuple[float, float]) -> float:
    """How alike the first courses (F,) of two examples are, one cycle of each, at the best shift; from 0 to 1.

    Courses that do not repeat are compared whole.
    """
    whole = []
    for course, rate in zip((a, b), fps, strict=True):
        cycle = period(course, rate)
        length = len(course) if cycle is None else max(min(round(cycle * rate), len(course)), 2)
        one = np.interp(np.linspace(0.0, length - 1.0, 128, endpoint=False), np.arange(len(course)), course)
        one = one - one.mean()
        whole.append(one / max(float(np.linalg.norm(one)), 1e-12))
    shifts = np.fft.irfft(np.fft.rfft(whole[0]) * np.conj(np.fft.rfft(whole[1])), 128)
    return float(np.abs(shifts).max())
