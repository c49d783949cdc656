"""The frame rate of keys that have none: the rate on whose frames all keys lie, if there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array
from understudy.io.gltf_sampling import SLACK

RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 75.0, 90.0, 96.0, 100.0, 120.0, 144.0, 150.0, 200.0, 240.0)
"""Rates that animations are made at, the lowest first."""
SLOWEST, FASTEST = 12.0, 1000.0
"""Evenly spaced keys give the rate if it is between these; fewer keys a second are drawn finer."""
DEFAULT = 60.0
"""The rate for keys that lie on no frames at all."""
SAME = 1e-6
"""Relative difference below which a measured rate is the usual one next to it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Timing:
    """The frames of an animation."""

    start: float
    """Seconds of the first key, which is the first frame."""
    fps: float
    num_frames: int
    exact: bool
    """Whether every key lies on a frame."""

    @property
    def times(self) -> Array:
        """(F,) seconds on the file's clock."""
        return self.start + np.arange(self.num_frames) / self.fps


def find_timing(times: list[Array], wanted: float | None = None) -> Timing:
    """The frames that an animation's keys call for.

    Args:
        times: The key times of each curve.
        wanted: The rate that the file itself gives, taken if keys lie on its frames.
    """
    keys = np.unique(np.concatenate(times))
    start, end = float(keys[0]), float(keys[-1])
    # Keys of different curves may differ by rounding.
    keys = keys[np.concatenate([[True], np.diff(keys) > SLACK])]
    even = (len(keys) - 1) / (end - start) if len(keys) > 1 else 0.0
    rate, exact = DEFAULT, False
    for candidate in (wanted, even if SLOWEST <= even <= FASTEST else None, *RATES):
        if candidate is not None and _on_frames(keys, candidate):
            rate, exact = candidate, True
            break
    else:
        # Two lone keys seconds apart lie on frames of their own rate, multiplied until it is usual.
        if 0.0 < even < SLOWEST and _on_frames(keys, even):
            rate, exact = even * float(np.ceil(RATES[0] / even)), True
    if wanted is None or rate != wanted:
        rate = next((usual for usual in RATES if abs(usual / rate - 1.0) < SAME), rate)
    frames = int(np.ceil((end - start) * rate - SLACK * rate)) + 1
    return Timing(start=start, fps=rate, num_frames=max(frames, 1), exact=exact)


def _on_frames(keys: Array, rate: float) -> bool:
    """Whether every key lies on a frame of that rate, counted from the first key."""
    frames = (keys - keys[0]) * rate
    slack = np.maximum(SLACK, 4e-7 * keys) * rate
    return bool(np.all(np.abs(frames - np.rint(frames)) <= np.minimum(slack, 0.2)))


def spoken(timing: Timing) -> str:
    """Why the frames are what they are, in a sentence."""
    why = "every key lies on a frame" if timing.exact else "the keys lie on no common frames, and are sampled anew"
    begin = f", from {timing.start:.4g} s on" if timing.start > 0.0 else ""
    return f"glTF has no frame rate; {timing.fps:.6g} fps was chosen: {why}{begin}"
