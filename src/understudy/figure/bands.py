"""Motion as signals: band-pass pyramid, low-pass filter, and measures of smoothness.

The band-pass pyramid is that of Bruderlin and Williams, "Motion signal processing" (1995); [Gleicher98, sec. 3.7] uses
it to choose the key spacing. Each smoothing uses the same five-tap B-spline kernel, with more zeros between taps; each
level is the difference of two neighbouring smoothings. Bands are in seconds and hertz, so they do not depend on the
frame rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, conjugate, continuous, log, multiply, normalize
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion

KERNEL = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
"""Weights of the smoothing kernel: a cubic B-spline."""

LEVEL_RATE_FPS = 30.0
"""Frame rate that levels are defined at: level n holds changes over about 2**n frames."""

NUM_LEVELS = 6
"""Levels that count as movement: the slowest holds changes over about a second; slower is posture and travel."""

KEY_SPACING_FRAMES = {2: 4, 3: 8}
"""Frames at 30 Hz between keys, by level: the widest spacing that can follow the level.

Keys every 2 frames, which would follow level 1, are left out: with them hips and head jump in runs and cartwheels.
Limbs have denser keys of their own."""

TRUNK_SPACING = 12 / 30
"""Seconds between the keys of root and trunk that suit any motion. A head far above the hips shows every change of
them: with 8 frames at 30 Hz and less, hips and head of a smooth walk jump off their paths. With 24, limbs have too much
to make up."""

MIN_ENERGY_SHARE = 0.1
"""Share of the energy of all levels that a level and all faster ones together must exceed to set the key spacing.

On captured motion this separates walks, runs and dances (keys every 4 frames, the best spacing for the walk of the
paper) from slow picking up, ladder climbing and squats (levels 0 to 2 below 8 percent: every 8). Including the faster
levels keeps a sudden move in a slow clip."""

BLOCK_NUMBERS = 2**16
"""Numbers processed at a time, so that intermediate results stay in the processor's cache."""

MAX_STILL_ENERGY = 1e-12
"""Mean square, in radians and leg lengths, below which movement is only rounding error."""

PADDING_PERIODS = 3.0
"""Padding before the first frame and after the last, in periods of the cutoff, so that filter transients decay."""


def band_levels(curves: Array, levels: int = NUM_LEVELS) -> Iterator[Array]:
    """Yield the levels (F, C) of the band-pass pyramid of curves (F, C), fastest first, then the rest.

    Every level has all frames: kernels widen instead. The levels and the rest sum to the curves.
    """
    smooth = curves
    for level in range(levels):
        smoother = _smoothed(smooth, 2**level)
        yield smooth - smoother
        smooth = smoother
    yield smooth


def motion_curves(motion: Motion) -> Array:
    """(F, 3 + 3 J) a motion as curves: the root's path in leg lengths, and the joints' rotation curves in radians."""
    return np.concatenate([motion.root / leg_length(motion.skeleton), rotation_curves(motion)], axis=1)


def rotation_curves(motion: Motion) -> Array:
    """(F, 3 J) each joint's rotation as curves in radians: the running sum of its rotation vectors between frames.

    For a hinge this is the joint's angle. Unlike an angle or rotation vector it never jumps, and its speed is always
    the joint's angular speed.
    """
    q = motion.rotations
    steps = log(multiply(conjugate(q[:-1]), q[1:]))
    curves = np.concatenate([np.zeros((1, *steps.shape[1:])), np.cumsum(steps, axis=0)])
    return (curves - curves.mean(axis=0)).reshape(len(q), -1)


def _slowed(motion: Motion) -> Motion:
    """A motion at about 30 frames a second: groups of frames are averaged, or the motion is interpolated.

    Averaging removes frequencies above the levels, which would otherwise alias to lower ones.
    """
    group = round(motion.fps / LEVEL_RATE_FPS)
    if (
        group >= 2
        and abs(motion.fps / group - LEVEL_RATE_FPS) < 0.1 * LEVEL_RATE_FPS
        and motion.num_frames >= 4 * group
    ):
        count = motion.num_frames // group
        # Added frame by frame, because numpy sums over a middle axis more slowly.
        frames = _on_one_side(motion.rotations[: count * group])
        turns = sum((frames[i::group] for i in range(1, group)), start=frames[::group])
        places = motion.root[: count * group].reshape(count, group, 3).mean(axis=1)
        return motion.derived(fps=motion.fps / group, root=places, rotations=normalize(turns), offsets=None)
    return motion if abs(motion.fps - LEVEL_RATE_FPS) < 1e-6 else motion.resampled(LEVEL_RATE_FPS)


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


def level_shares(motion: Motion) -> Array:
    """(L,) the share of a motion's energy in each level of its pyramid, fastest first; zeros if nothing moves."""
    curves, energy = motion_curves(_slowed(motion)), np.zeros(NUM_LEVELS)
    some = max(BLOCK_NUMBERS // len(curves), 1)
    for start in range(0, curves.shape[1], some):
        # One level at a time: all levels at once would need many times the memory of the motion.
        levels = itertools.islice(band_levels(curves[:, start : start + some]), NUM_LEVELS)
        energy += [np.vdot(level, level) / len(curves) for level in levels]
    total = float(energy.sum())
    return energy / total if total > MAX_STILL_ENERGY else np.zeros_like(energy)


def choose_spacing(motion: Motion, *, follow: bool = False) -> float:
    """Seconds between keys that suit a motion: 4 or 8 frames at 30 Hz [Gleicher98, sec. 3.7].

    To `follow` a motion by a body without limbs, whose keys have to do it all, 2 frames suit a fast motion too.

    The fastest level of the pyramid at which the cumulative energy exceeds `MIN_ENERGY_SHARE` sets the spacing.
    """
    shares = np.cumsum(level_shares(motion))
    fastest = next((level for level, share in enumerate(shares) if share > MIN_ENERGY_SHARE), NUM_LEVELS)
    frames = {1: 2, **KEY_SPACING_FRAMES} if follow else KEY_SPACING_FRAMES
    # Levels faster than the densest keys can follow use those too, and slower levels use the widest.
    return frames[int(np.clip(fastest, min(frames), max(frames)))] / LEVEL_RATE_FPS


def low_pass(curves: Array, fps: float, cutoff: float) -> Array:
    """Curves (F, C) without frequencies above a cutoff in hertz, and without delay.

    A second-order Butterworth filter runs forwards and backwards. Its cutoff is raised so that both passes together
    halve the power at the given cutoff (Winter 1990). A cutoff too high for the frame rate changes nothing.
    """
    if not (np.isfinite(cutoff) and cutoff > 0.0):
        raise OptionError(f"Expected a cutoff above zero hertz, got {cutoff}")
    curves = np.asarray(curves, float)
    corrected = cutoff / (np.sqrt(2.0) - 1.0) ** 0.25
    if len(curves) < 2 or corrected >= 0.5 * fps:
        return curves.copy()
    from scipy.signal import butter, sosfiltfilt

    reach = int(np.ceil(PADDING_PERIODS * fps / cutoff))
    extended = _extended(curves, reach)
    smooth = sosfiltfilt(butter(2, corrected, fs=fps, output="sos"), extended, axis=0, padlen=0)
    return smooth[reach : reach + len(curves)]


def energy_above(motion: Motion, hertz: float | Sequence[float]) -> Array:
    """Mean square in rad^2, summed over the joints, of the part of the rotations above given frequencies.

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
    # Both ends are brought to zero: otherwise the step from the last frame to the first contains all frequencies.
    share = np.linspace(0.0, 1.0, len(curves))[:, None]
    level = curves - (1.0 - share) * curves[:1] - share * curves[-1:]
    mirrored = np.concatenate([level, -level[-2:0:-1]])
    spectrum = np.fft.rfft(mirrored, axis=0)
    power = (spectrum.real**2 + spectrum.imag**2) / len(mirrored) ** 2
    power[1:] *= 2.0
    if len(mirrored) % 2 == 0:
        power[-1] *= 0.5
    at = np.fft.rfftfreq(len(mirrored), 1.0 / motion.fps)
    return np.array([power[at > limit].sum() for limit in limits])


def rms_jerk(motion: Motion) -> float:
    """Radians per second cubed: root mean square of the third derivative of all joint rotations.

    It uses rotations, not positions, so that bodies of different sizes can be compared.
    """
    if motion.num_frames < 4:
        return 0.0
    third = np.diff(rotation_curves(motion), n=3, axis=0) * motion.fps**3
    return float(np.sqrt(np.mean(third**2) * 3.0))


def _smoothed(curves: Array, gap: int) -> Array:
    """Curves (F, C) smoothed by the kernel, with its taps `gap` frames apart."""
    extended, count = _extended(curves, 2 * gap), len(curves)
    # The kernel is symmetric.
    out = KERNEL[2] * curves
    for tap in (0, 1):
        out += KERNEL[tap] * (extended[tap * gap : tap * gap + count] + extended[(4 - tap) * gap :][:count])
    return out


def _extended(curves: Array, reach: int) -> Array:
    """(F + 2 reach, C) curves extended past both ends by point reflection at the end points, repeated as needed.

    Point reflection keeps a straight line straight: steady travel has no frequency.
    """
    count = len(curves)
    if count == 1:
        return np.repeat(curves, 2 * reach + 1, axis=0)
    once = min(reach, count - 1)
    before = 2.0 * curves[:1] - curves[once:0:-1]
    after = 2.0 * curves[-1:] - curves[-2 : -2 - once : -1]
    whole = np.concatenate([before, curves, after])
    # Where one reflection is too short, the extended curve is reflected again at its new ends.
    return whole if once == reach else _extended(whole, reach - once)
