"""Frequencies of motion: pyramid, key spacing, filters, energy and jerk."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.base.errors import OptionError
from understudy.base.quaternion import from_axis_angle
from understudy.figure.bands import (
    KERNEL,
    band_levels,
    choose_spacing,
    energy_above,
    level_shares,
    low_pass,
    rms_jerk,
    rotation_curves,
)
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton


def pendulum(hertz: float, *, fps: float = 30.0, seconds: float = 8.0, size: float = 0.4) -> Motion:
    """One bone that swings about z."""
    skeleton = Skeleton(
        names=("root", "bone"),
        parents=[-1, 0],
        offsets=np.array([[0.0, 1.0, 0.0], [0.0, 0.1, 0.0]]),
        ends=(Point(name="tip", joint="bone", offset=np.array([0.0, 0.5, 0.0])),),
    )
    still = rest_motion(skeleton, fps=fps, num_frames=round(seconds * fps) + 1)
    rotations = still.rotations.copy()
    rotations[:, 1] = from_axis_angle([0.0, 0.0, 1.0], size * np.sin(2.0 * np.pi * hertz * still.times))
    return Motion(skeleton=skeleton, fps=fps, root=still.root, rotations=rotations)


def test_levels_and_rest_add_up(rng: np.random.Generator) -> None:
    curves = rng.normal(size=(50, 3))
    np.testing.assert_allclose(sum(band_levels(curves, 4)), curves, atol=1e-12)


def test_first_level_takes_away_the_kernel() -> None:
    impulse = np.zeros((41, 1))
    impulse[20] = 1.0
    expected = impulse[:, 0].copy()
    expected[18:23] -= KERNEL
    np.testing.assert_allclose(next(band_levels(impulse))[:, 0], expected, atol=1e-15)


def test_spread_kernel_has_gaps() -> None:
    impulse = np.zeros((81, 1))
    impulse[40] = 1.0
    smooth = np.convolve(impulse[:, 0], KERNEL, "same")
    spread = np.zeros(9)
    spread[::2] = KERNEL
    expected = smooth - np.convolve(smooth, spread, "same")
    np.testing.assert_allclose(list(band_levels(impulse))[1][:, 0], expected, atol=1e-15)


@pytest.mark.parametrize(("hertz", "level"), [(10.0, 0), (5.0, 1), (2.5, 2), (1.25, 3)])
def test_a_swing_is_in_the_level_of_its_frequency(hertz: float, level: int) -> None:
    assert int(np.argmax(level_shares(pendulum(hertz)))) == level


@pytest.mark.parametrize("frames", [2, 3, 60])
def test_steady_travel_is_in_no_level(frames: int) -> None:
    line = np.linspace(0.0, 7.0, frames)[:, None]
    *levels, rest = band_levels(line)
    np.testing.assert_allclose(levels, 0.0, atol=1e-12)
    np.testing.assert_allclose(rest, line, atol=1e-12)


def test_one_frame_has_no_energy() -> None:
    assert np.all(level_shares(pendulum(1.0)[:1]) == 0.0)
    assert choose_spacing(pendulum(1.0)[:1]) == pytest.approx(8.0 / 30.0)


@pytest.mark.parametrize("fps", [30.0, 120.0])
def test_standing_still_wants_the_widest_spacing(fps: float) -> None:
    """Rounding has every frequency, and must not be taken for movement."""
    assert np.all(level_shares(pendulum(0.0, fps=fps)) == 0.0)
    assert choose_spacing(pendulum(0.0, fps=fps)) == pytest.approx(8.0 / 30.0)


@pytest.mark.parametrize("fps", [30.0, 60.0, 100.0, 120.0])
@pytest.mark.parametrize(("hertz", "frames"), [(8.0, 4), (3.0, 4), (1.0, 4), (0.4, 8), (0.1, 8)])
def test_spacing_follows_the_fastest_movement_at_any_rate(hertz: float, frames: int, fps: float) -> None:
    assert choose_spacing(pendulum(hertz, fps=fps)) == pytest.approx(frames / 30.0)


def test_shares_hardly_depend_on_the_rate() -> None:
    """Averaging four frames into one moves 1.5 percent of the energy of a 2.5 Hz swing between levels."""
    np.testing.assert_allclose(level_shares(pendulum(2.5)), level_shares(pendulum(2.5, fps=120.0)), atol=0.02)


def test_a_little_fast_movement_does_not_matter() -> None:
    """Energy goes with the square: a twentieth of the amplitude is far below the share that counts."""
    slow, fast = pendulum(0.4), pendulum(6.0, size=0.02)
    rotations = slow.rotations.copy()
    angle = 2.0 * np.arctan2(slow.rotations[:, 1, 3], slow.rotations[:, 1, 0])
    angle += 2.0 * np.arctan2(fast.rotations[:, 1, 3], fast.rotations[:, 1, 0])
    rotations[:, 1] = from_axis_angle([0.0, 0.0, 1.0], angle)
    both = Motion(skeleton=slow.skeleton, fps=30.0, root=slow.root, rotations=rotations)
    assert choose_spacing(both) == pytest.approx(8.0 / 30.0)


def test_low_pass_halves_the_power_at_its_cutoff_without_delay() -> None:
    t = np.arange(1201) / 120.0
    wave = np.sin(2.0 * np.pi * 4.0 * t)[:, None]
    middle = slice(300, 900)
    result = low_pass(wave, 120.0, 4.0)[middle]
    np.testing.assert_allclose(result, wave[middle] / np.sqrt(2.0), atol=0.01)


def test_low_pass_keeps_slow_and_stops_fast() -> None:
    t = np.arange(1201) / 120.0
    slow, fast = np.sin(2.0 * np.pi * 0.5 * t)[:, None], np.sin(2.0 * np.pi * 20.0 * t)[:, None]
    result = low_pass(slow + fast, 120.0, 4.0)[200:1000]
    np.testing.assert_allclose(result, slow[200:1000], atol=0.01)


@pytest.mark.parametrize("frames", [1, 2, 3, 7, 200])
def test_low_pass_keeps_a_line(frames: int) -> None:
    line = np.linspace(1.0, 3.0, frames)[:, None] * np.array([1.0, -2.0])
    np.testing.assert_allclose(low_pass(line, 30.0, 3.0), line, atol=1e-6)


def test_low_pass_with_a_cutoff_beyond_the_rate_changes_nothing(rng: np.random.Generator) -> None:
    curves = rng.normal(size=(40, 2))
    np.testing.assert_array_equal(low_pass(curves, 30.0, 15.0), curves)


@pytest.mark.parametrize("cutoff", [0.0, -1.0, np.nan, np.inf])
def test_low_pass_refuses_a_cutoff_that_is_none(cutoff: float) -> None:
    with pytest.raises(OptionError, match="cutoff above zero hertz"):
        low_pass(np.zeros((5, 1)), 30.0, cutoff)


@pytest.mark.parametrize("fps", [60.0, 120.0])
def test_energy_above_is_that_of_a_swing(fps: float) -> None:
    """A swing of size a has a mean square of a^2 / 2."""
    result = energy_above(pendulum(5.0, fps=fps), [3.0, 4.5, 5.5, 12.0])
    np.testing.assert_allclose(result[:2], 0.5 * 0.4**2, rtol=0.01)
    np.testing.assert_allclose(result[2:], 0.0, atol=1e-3)
    assert energy_above(pendulum(5.0, fps=fps), 4.5).shape == (1,)


def test_energy_above_of_a_turn_that_goes_on_is_none() -> None:
    """A joint that turns on and on has no fast part, though its angle passes full turns."""
    still = pendulum(0.0)
    rotations = still.rotations.copy()
    rotations[:, 1] = from_axis_angle([0.0, 0.0, 1.0], 5.0 * still.times)
    spin = Motion(skeleton=still.skeleton, fps=still.fps, root=still.root, rotations=rotations)
    np.testing.assert_allclose(np.diff(rotation_curves(spin)[:, 5]), 5.0 / 30.0, atol=1e-9)
    np.testing.assert_allclose(energy_above(spin, [1.0]), 0.0, atol=1e-12)


def test_energy_above_of_too_few_frames_is_none() -> None:
    np.testing.assert_array_equal(energy_above(pendulum(3.0)[:2], [1.0, 2.0]), 0.0)


def test_jerk_of_a_pendulum() -> None:
    """The third derivative of a sin(w t) has a root mean square of a w^3 / sqrt(2); one of two joints swings."""
    w = 2.0 * np.pi
    assert rms_jerk(pendulum(1.0, fps=120.0, size=0.3)) == pytest.approx(0.3 * w**3 / 2.0, rel=0.01)
    assert rms_jerk(pendulum(0.0)) == pytest.approx(0.0, abs=1e-9)
    assert rms_jerk(pendulum(1.0)[:3]) == 0.0
