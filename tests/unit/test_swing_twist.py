"""Swing and twist put together again, and their angles."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import (
    angle,
    angle_between,
    exp,
    from_axis_angle,
    multiply,
    normalize,
    rotate,
    split,
    swing_angle,
    twist_angle,
)


def test_parts_make_the_whole(rng: np.random.Generator) -> None:
    q = normalize(rng.normal(size=(50, 4)))
    axis = rng.normal(size=(50, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    swing, twist = split(q, axis)
    assert angle_between(multiply(swing, twist), q).max() < 1e-12
    np.testing.assert_allclose(np.einsum("ni,ni->n", swing[:, 1:], axis), 0.0, atol=1e-12)
    np.testing.assert_allclose(angle(swing), swing_angle(q, axis), atol=1e-9)
    turned = np.arccos(np.clip(np.einsum("ni,ni->n", rotate(q, axis), axis), -1, 1))
    np.testing.assert_allclose(swing_angle(q, axis), turned, atol=1e-6)


def test_known_twist() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    q = multiply(exp([0.4, -0.3, 0.0]), from_axis_angle(axis, 1.1))
    assert abs(twist_angle(q, axis) - 1.1) < 1e-12
    assert abs(twist_angle(-q, axis) - 1.1) < 1e-12
    assert abs(swing_angle(q, axis) - 0.5) < 1e-12


def test_half_turn_swing_has_no_twist() -> None:
    assert twist_angle([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0]) == 0.0
