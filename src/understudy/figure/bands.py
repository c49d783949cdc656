"""Motion as signals: which frequencies it moves at, filters, and how smooth it is.

The band-pass pyramid is that of Bruderlin and Williams, "Motion signal processing" (1995), which [Gleicher98, sec. 3.7]
picks the key spacing with: the same five-tap B-spline kernel with ever more zeros between its taps, every level the
difference of two neighbouring smoothings. All is counted in seconds and hertz: the same movement at another frame
rate has the same bands.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, conjugate, continuous, log, multiply, normalize
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion

KERNEL = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
"""Weights of the smoothing: those of a cubic B-spline."""

RATE = 30.0
"""Frames a second at which levels are counted: level n is made of changes over about 2**n frames."""

LEVELS = 6
"""Levels that count as movement: the slowest is of changes over about a second; slower is posture and travel."""

SPACINGS = {1: 2, 2: 4, 3: 8}
"""Frames at 30 Hz between keys for each level: as far apart as can follow it."""

SHARE = 0.1
"""Of the energy of all levels, what a level and the faster ones together must have to matter.

On captured motion it parts walks (levels 0 and 1 hold 5 to 7 percent: keys every 4 frames, as the paper finds best for
its walk) from runs and swing dances (11 to 15: every 2), and both from slow picking up, climbing a ladder and squatting
(levels 0 to 2 below 8: every 8). Counting the faster levels in keeps a sudden move in a slow clip from being lost."""

BLOCK = 2**16
"""Numbers worked on at a time, so that what is being computed stays in the processor's cache."""

STILL = 1e-12
"""Mean square, in radians and leg lengths, below which what is left of a motion is rounding."""

PERIODS = 3.0
"""Periods of its cutoff that a filter runs before the first frame and after the last, for its start to be forgotten."""


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
        return _shares(self.energy)


def _shares(energy: Array) -> Array:
    total = float(energy.sum())
    return energy / total if total > STILL else np.zeros_like(energy)


def pyramid(curves: Array, levels: int = LEVELS) -> Pyramid:
    """The band-pass pyramid of curves (F, C), with every level at all frames: no reduction, kernels spread instead."""
    if levels < 1:
        raise OptionError(f"Expected at least one level, got {levels}")
    found = list(_taken_apart(np.asarray(curves, float), levels))
    return Pyramid(levels=np.stack(found[:-1]), rest=found[-1])


def _taken_apart(curves: Array, levels: int) -> Iterator[Array]:
    """(F, C) the levels of a pyramid one after another, then the rest."""
    smooth = curves
    for level in range(levels):
        smoother = _smoothed(smooth, 2**level)
        yield smooth - smoother
        smooth = smoother
    yield smooth


def motion_curves(motion: Motion) -> Array:
    """(F, 3 + 3 J) a motion as curves: the root's path in leg lengths, and how each joint has turned, in radians."""
    return np.concatenate([motion.root / leg_length(motion.skeleton), rotation_curves(motion)], axis=1)


def rotation_curves(motion: Motion) -> Array:
    """(F, 3 J) each joint's turning as curves in radians: its small turns from frame to frame, added up.

    About one axis that is the joint's angle. Unlike an angle or rotation vector it never jumps, however far a joint
    turns, and its speed is always the joint's angular speed.
    """
    q = motion.rotations
    steps = log(multiply(conjugate(q[:-1]), q[1:]))
    curves = np.concatenate([np.zeros((1, *steps.shape[1:])), np.cumsum(steps, axis=0)])
    return (curves - curves.mean(axis=0)).reshape(len(q), -1)


def motion_pyramid(motion: Motion, levels: int = LEVELS) -> Pyramid:
    """The band-pass pyramid of a motion at 30 frames a second, whatever its own rate."""
    return pyramid(motion_curves(_slowed(motion)), levels)


def _slowed(motion: Motion) -> Motion:
    """A motion at about 30 frames a second: frames of a faster one averaged, a slower one read between its frames.

    Averaging takes out what is faster than the levels can hold, which would otherwise come back as slower.
    """
    group = round(motion.fps / RATE)
    if group >= 2 and abs(motion.fps / group - RATE) < 0.1 * RATE and motion.num_frames >= 4 * group:
        count = motion.num_frames // group
        # Added frame by frame: numpy sums over an axis in the middle more slowly.
        frames = _on_one_side(motion.rotations[: count * group])
        turns = sum((frames[i::group] for i in range(1, group)), start=frames[::group])
        places = motion.root[: count * group].reshape(count, group, 3).mean(axis=1)
        return motion.derived(fps=motion.fps / group, root=places, rotations=normalize(turns), offsets=None)
    return motion if abs(motion.fps - RATE) < 1e-6 else motion.resampled(RATE)


def _on_one_side(rotations: Array) -> Array:
    """Rotations (F, J, 4) with signs such that neighbouring frames are on one hemisphere; only joints that need it are
    touched."""
    flip = np.einsum("fji,fji->fj", rotations[1:], rotations[:-1]) < 0.0
    joints = np.flatnonzero(flip.any(axis=0))
    if len(joints) == 0:
        return rotations
    out = rotations.copy()
    out[:, joints] = continuous(rotations[:, joints])
    return out


def choose_spacing(motion: Motion) -> float:
    """Seconds between keys that suit a motion: 2, 4 or 8 frames at 30 Hz [Gleicher98, sec. 3.7].

    The spacing goes with the fastest level of the pyramid at which more than `SHARE` of the energy of all levels is
    reached.
    """
    curves, energy = motion_curves(_slowed(motion)), np.zeros(LEVELS)
    some = max(BLOCK // len(curves), 1)
    for start in range(0, curves.shape[1], some):
        # Level by level: all of them at once would be many times the motion.
        levels = itertools.islice(_taken_apart(curves[:, start : start + some], LEVELS), LEVELS)
        energy += [np.vdot(level, level) / len(curves) for level in levels]
    shares = np.cumsum(_shares(energy))
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

    reach = int(np.ceil(PERIODS * fps / cutoff))
    extended = _extended(curves, reach)
    smooth = sosfiltfilt(butter(2, corrected, fs=fps, output="sos"), extended, axis=0, padlen=0)
    return smooth[reach : reach + len(curves)]


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
    """Radians per second cubed: root mean square of the third derivative of all joints' turning.

    Of turning, not of places, so that bodies of different sizes can be compared.
    """
    if motion.num_frames < 4:
        return 0.0
    third = np.diff(rotation_curves(motion), n=3, axis=0) * motion.fps**3
    return float(np.sqrt(np.mean(third**2) * 3.0))


def _smoothed(curves: Array, gap: int) -> Array:
    """Curves (F, C) smoothed by the kernel with taps that many frames apart."""
    extended, count = _extended(curves, 2 * gap), len(curves)
    # The kernel is the same from either end.
    out = KERNEL[2] * curves
    for tap in (0, 1):
        out += KERNEL[tap] * (extended[tap * gap : tap * gap + count] + extended[(4 - tap) * gap :][:count])
    return out


def _extended(curves: Array, reach: int) -> Array:
    """(F + 2 reach, C) curves that go on past both ends, turned about the end points as often as it takes.

    Turning keeps a straight line straight: steady travel has no frequency.
    """
    count = len(curves)
    if count == 1:
        return np.repeat(curves, 2 * reach + 1, axis=0)
    once = min(reach, count - 1)
    before = 2.0 * curves[:1] - curves[once:0:-1]
    after = 2.0 * curves[-1:] - curves[-2 : -2 - once : -1]
    whole = np.concatenate([before, curves, after])
    # Turned as a whole it goes on where one turn was not enough, each time about what are the ends by then.
    return whole if once == reach else _extended(whole, reach - once)
