"""Motion as signals: which frequencies it moves at, filters, and how smooth it is.

The band-pass pyramid is that of Bruderlin and Williams, "Motion signal processing" (1995), which [Gleicher98, sec. 3.7]
picks the key spacing with: the same five-tap B-spline kernel with ever more zeros between its taps, every level the
difference of two neighbouring smoothings. All is counted in seconds and hertz: the same movement at another frame
rate has the same bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.body import leg_length
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array, conjugate, continuous, log, mean, multiply
from understudy.kinematics import fk
from understudy.motion import Motion

KERNEL = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
"""Weights of the smoothing: those of a cubic B-spline."""

RATE = 30.0
"""Frames a second at which levels are counted: level n is made of changes over about 2**n frames."""

LEVELS = 6
"""Levels that count as movement: the slowest is of changes over about a second; slower is posture and travel."""

SPACINGS = {1: 2, 2: 4, 3: 8}
"""Frames at 30 Hz between keys for each level: as far apart as can follow it."""

SHARE = 0.05
"""Of the energy of all levels, what a level must have to matter.

A twentieth of the energy is a bit over a fifth of the amplitude. On captured motion it parts walks (level 1 holds 4 to
4.9 percent: keys every 4 frames, as the paper finds best for its walk) from runs and swing dances (6.5 to 10.7: every
2), and both from picking up, climbing a ladder and squatting (level 2 below 5 percent: every 8)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Pyramid:
    """Curves taken apart by frequency; the levels and the rest add up to the curves."""

    levels: Array
    """(L, F, C) fastest first."""
    rest: Array
    """(F, C) what is slower than all levels."""

    @property
    def energy(self) -> Array:
        """(L,) mean square of each level, summed over the curves."""
        return np.einsum("lfc,lfc->l", self.levels, self.levels) / self.levels.shape[1]

    @property
    def shares(self) -> Array:
        """(L,) each level's share of the energy of all; zeros if nothing moves."""
        energy = self.energy
        return energy / energy.sum() if energy.sum() > 0.0 else energy


def pyramid(curves: Array, levels: int = LEVELS) -> Pyramid:
    """The band-pass pyramid of curves (F, C), with every level at all frames: no reduction, kernels spread instead."""
    if levels < 1:
        raise OptionError(f"Expected at least one level, got {levels}")
    smooth, found = np.asarray(curves, float), []
    for level in range(levels):
        smoother = _smoothed(smooth, 2**level)
        found.append(smooth - smoother)
        smooth = smoother
    return Pyramid(levels=np.stack(found), rest=smooth)


def motion_curves(motion: Motion) -> Array:
    """(F, 3 + 3 J) a motion as curves: the root's path in leg lengths, and each joint's turn from its mean, radians."""
    return np.concatenate([motion.root / leg_length(motion.skeleton), rotation_curves(motion)], axis=1)


def rotation_curves(motion: Motion) -> Array:
    """(F, 3 J) each joint's rotation vector from its mean rotation, without jumps."""
    q = continuous(motion.rotations)
    turn = multiply(conjugate(mean(q)), q)
    vectors = log(turn)
    # A joint that turns past half a turn from its mean would jump by a full turn about its axis: follow it instead.
    angle = np.linalg.norm(vectors, axis=-1)
    axis = vectors / np.maximum(angle, 1e-12)[..., None]
    for frame in range(1, len(vectors)):
        turns = np.rint(np.einsum("ji,ji->j", vectors[frame - 1] - vectors[frame], axis[frame]) / (2.0 * np.pi))
        vectors[frame] += 2.0 * np.pi * turns[:, None] * axis[frame]
    return vectors.reshape(len(vectors), -1)


def motion_pyramid(motion: Motion, levels: int = LEVELS) -> Pyramid:
    """The band-pass pyramid of a motion at 30 frames a second, whatever its own rate."""
    if abs(motion.fps - RATE) < 1e-6:
        return pyramid(motion_curves(motion), levels)
    curves, count = motion_curves(motion), int(np.floor(motion.duration * RATE + 1e-6)) + 1
    # What is faster than the levels can hold must go before frames are left out, or it would come back as slower.
    curves = low_pass(curves, motion.fps, 0.5 * RATE)
    times = np.arange(count) / RATE
    if motion.num_frames < 4:
        return pyramid(np.stack([np.interp(times, motion.times, c) for c in curves.T], axis=1), levels)
    from scipy.interpolate import CubicSpline

    return pyramid(CubicSpline(motion.times, curves)(times), levels)


def choose_spacing(motion: Motion) -> float:
    """Seconds between keys that suit a motion: 2, 4 or 8 frames at 30 Hz [Gleicher98, sec. 3.7].

    The spacing goes with the fastest level of the pyramid that holds more than `SHARE` of the energy of all levels.
    """
    shares = motion_pyramid(motion).shares
    fastest = next((level for level, share in enumerate(shares) if share > SHARE), LEVELS)
    # What is faster than the densest keys can follow speaks for them too, and what is slower for the widest.
    return SPACINGS[int(np.clip(fastest, min(SPACINGS), max(SPACINGS)))] / RATE


def low_pass(curves: Array, fps: float, cutoff: float) -> Array:
    """Curves (F, C) without what is faster than a cutoff in hertz, and without delay.

    A Butterworth filter of second order run forwards and backwards, its own cutoff raised so that both passes
    together halve the power at the one asked for (Winter 1990). A cutoff that the rate cannot hold changes nothing.
    """
    if not (np.isfinite(cutoff) and cutoff > 0.0):
        raise OptionError(f"Expected a cutoff above zero hertz, got {cutoff}")
    curves = np.asarray(curves, float)
    corrected = cutoff / (np.sqrt(2.0) - 1.0) ** 0.25
    if len(curves) < 2 or corrected >= 0.5 * fps:
        return curves.copy()
    from scipy.signal import butter, sosfiltfilt

    pad = min(int(np.ceil(2.0 * fps / cutoff)), len(curves) - 1)
    return sosfiltfilt(butter(2, corrected, fs=fps, output="sos"), curves, axis=0, padlen=pad)


def energy_above(motion: Motion, hertz: float | Sequence[float]) -> Array:
    """Mean square in rad^2, summed over the joints, of the part of the rotations that is faster than given frequencies.

    Args:
        motion: At any rate.
        hertz: One frequency or several.

    Returns:
        A number for each frequency.
    """
    limits = np.atleast_1d(np.asarray(hertz, float))
    curves = rotation_curves(motion)
    if len(curves) < 3:
        return np.zeros(len(limits))
    # The ends are made to meet at zero: otherwise the step from the last frame to the first has every frequency.
    share = np.linspace(0.0, 1.0, len(curves))[:, None]
    level = curves - (1.0 - share) * curves[:1] - share * curves[-1:]
    mirrored = np.concatenate([level, -level[-2:0:-1]])
    power = np.abs(np.fft.rfft(mirrored, axis=0)) ** 2 / len(mirrored) ** 2
    power[1:] *= 2.0
    if len(mirrored) % 2 == 0:
        power[-1] *= 0.5
    at = np.fft.rfftfreq(len(mirrored), 1.0 / motion.fps)
    return np.array([power[at > limit].sum() for limit in limits])


def rms_jerk(motion: Motion) -> float:
    """Metres per second cubed: root mean square of the third derivative of all joints' places in the world."""
    if motion.num_frames < 4:
        return 0.0
    third = np.diff(fk(motion).positions, n=3, axis=0) * motion.fps**3
    return float(np.sqrt(np.einsum("fji,fji->", third, third) / (third.shape[0] * third.shape[1])))


def _smoothed(curves: Array, gap: int) -> Array:
    """Curves (F, C) smoothed by the kernel with taps that many frames apart; past the ends they go on, mirrored."""
    count, reach = len(curves), 2 * gap
    at = np.arange(-reach, count + reach)
    if count == 1:
        return curves.copy()
    # Point reflection at both ends keeps a straight line straight: steady travel is in no level.
    period = 2 * (count - 1)
    wraps, place = at // period, at % period
    back = place >= count
    inside = np.where(back, period - place, place)
    first, last = curves[:1], curves[-1:]
    extended = np.where(back[:, None], 2.0 * last - curves[inside], curves[inside])
    extended = extended + 2.0 * wraps[:, None] * (last - first)
    out = np.zeros_like(curves)
    for tap, weight in enumerate(KERNEL):
        out += weight * extended[tap * gap : tap * gap + count]
    return out
