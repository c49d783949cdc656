"""Bodies sink where their straight legs do not reach what they stand on."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.solve.solvers.reach import MIN_BEND_SHARE, SINK_SECONDS, missing_height, smooth_envelope


def leg(angle: float, bend: float = 0.0, num_frames: int = 1) -> np.ndarray:
    """(F, 3, 3) hip, knee and ankle of a leg of two bones of 0.4 m, from the vertical by an angle, its knee bent."""
    knee = 0.4 * np.array([0.0, -np.cos(angle - bend / 2), np.sin(angle - bend / 2)])
    ankle = knee + 0.4 * np.array([0.0, -np.cos(angle + bend / 2), np.sin(angle + bend / 2)])
    places = np.array([np.zeros(3), knee, ankle])
    places[:, 1] += 1.0
    return np.tile(places, (num_frames, 1, 1))


@pytest.mark.parametrize("angle", [0.0, 0.2, -0.5])
def test_a_straight_leg_lacks_what_it_cannot_reach(angle: float) -> None:
    """The ankle should be 1 cm lower: the hip has to come down until the leg, almost straight, reaches there."""
    places = leg(angle)
    missing = missing_height(places, np.array([[0.0, -0.01, 0.0]]))
    goal = places[0, 2] - [0.0, 0.01, 0.0]
    length = np.linalg.norm(places[0, 0] - [0.0, missing[0], 0.0] - goal)
    assert length == pytest.approx((1.0 - MIN_BEND_SHARE) * 0.8, abs=1e-12)
    assert missing[0] > 0.009


def test_a_bent_leg_lacks_nothing() -> None:
    assert missing_height(leg(0.1, bend=0.6), np.array([[0.0, -0.01, 0.0]])) == 0.0


def test_a_leg_far_from_vertical_and_one_much_too_short_are_left_alone() -> None:
    assert missing_height(leg(1.3), np.array([[0.0, -0.01, 0.0]])) == 0.0
    assert missing_height(leg(0.0), np.array([[0.0, -0.2, 0.0]])) == 0.0


def test_the_envelope_is_nowhere_below_and_has_no_corner() -> None:
    values = np.zeros(600)
    values[300:310] = 0.01
    envelope = smooth_envelope(values, 120.0, SINK_SECONDS)
    assert np.all(envelope >= values - 1e-15)
    assert envelope.max() == pytest.approx(0.01)
    # Twice the time before and after: nothing is left far away.
    assert envelope[: 300 - int(120 * SINK_SECONDS) - 1].max() == 0.0
    acceleration = np.abs(np.diff(envelope, 2)).max() * 120.0**2
    assert acceleration < 0.01 * (2.0 * np.pi / SINK_SECONDS) ** 2
