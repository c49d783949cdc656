"""Euler angles in all 12 orders, at gimbal lock and over time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from understudy.base.errors import OptionError
from understudy.base.quaternion import ORDERS, angle_between, from_euler, to_euler, to_euler_curve, unwrap

LOCKS = {order: (0.0, np.pi) if order[0] == order[2] else (0.5 * np.pi, -0.5 * np.pi) for order in ORDERS}


@pytest.mark.parametrize("order", ORDERS)
def test_agrees_with_scipy(order: str, rng: np.random.Generator) -> None:
    angles = rng.uniform(-7, 7, (200, 3))
    theirs = Rotation.from_euler(order, angles)
    assert angle_between(from_euler(angles, order), theirs.as_quat(scalar_first=True)).max() < 1e-12
    np.testing.assert_allclose(to_euler(from_euler(angles, order), order), theirs.as_euler(order), atol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-9, 1e-6])
def test_round_trip_at_gimbal_lock(order: str, which: int, off: float, rng: np.random.Generator) -> None:
    angles = rng.uniform(-3, 3, (100, 3))
    angles[:, 1] = LOCKS[order][which] + off
    q = from_euler(angles, order)
    assert angle_between(from_euler(to_euler(q, order), order), q).max() < 3e-7
    assert angle_between(from_euler(to_euler_curve(q, order), order), q).max() < 3e-7


@pytest.mark.parametrize("order", ORDERS)
def test_nearest_angles_are_the_given_ones(order: str, rng: np.random.Generator) -> None:
    angles = rng.uniform(-9, 9, (300, 3))
    angles[:20, 1] = LOCKS[order][0]
    np.testing.assert_allclose(to_euler(from_euler(angles, order), order, near=angles), angles, atol=1e-7)


@pytest.mark.parametrize("order", ORDERS)
def test_curves_do_not_jump(order: str) -> None:
    t = np.linspace(0, 4, 400)[:, None]
    angles = np.concatenate([2.5 * t, 1.2 * np.sin(3 * t) + (0.8 if order[0] == order[2] else 0.3), -4 * t + 1], -1)
    curve = to_euler_curve(from_euler(angles, order), order)
    assert np.abs(np.diff(curve, axis=0)).max() < 0.2
    np.testing.assert_allclose(curve - curve[0], angles - angles[0], atol=1e-9)


def test_curve_stays_near_its_seed_and_passes_through_lock() -> None:
    t = np.linspace(-0.5, 0.5, 101)
    angles = np.stack([0.3 + 0 * t, 0.5 * np.pi + t, -0.4 + 0 * t], -1)
    curve = to_euler_curve(from_euler(angles, "ZXY"), "ZXY", near=angles[0])
    np.testing.assert_allclose(curve, angles, atol=1e-9)


def test_unwrap_keeps_many_joints_apart(rng: np.random.Generator) -> None:
    t = np.linspace(0, 6, 200)[:, None, None]
    angles = t * rng.uniform(-2, 2, (1, 4, 3)) * [1, 0.05, 1]
    jumpy = to_euler(from_euler(angles, "ZYX"), "ZYX")
    np.testing.assert_allclose(unwrap(jumpy, "ZYX", near=angles[0]), angles, atol=1e-9)


def test_unknown_order_lists_the_orders() -> None:
    with pytest.raises(OptionError, match=r"one of XYZ, XZY.*got `XXY`"):
        from_euler([0, 0, 0], "XXY")
