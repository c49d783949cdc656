"""Quaternions against scipy's rotations and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from understudy.base import quaternion as Q


def scipy_of(q: np.ndarray) -> Rotation:
    return Rotation.from_quat(np.array(q), scalar_first=True)


@pytest.fixture
def q(rng: np.random.Generator) -> np.ndarray:
    return Q.normalize(rng.normal(size=(7, 5, 4)))


def test_product_rotation_and_matrix_agree_with_scipy(q: np.ndarray, rng: np.random.Generator) -> None:
    a, b, v = q[..., :], Q.normalize(rng.normal(size=(7, 5, 4))), rng.normal(size=(7, 5, 3))
    flat = (-1, 4)
    together = scipy_of(a.reshape(flat)) * scipy_of(b.reshape(flat))
    assert Q.angle_between(Q.multiply(a, b).reshape(flat), together.as_quat(scalar_first=True)).max() < 1e-12
    turned = scipy_of(a.reshape(flat)).apply(v.reshape(-1, 3))
    np.testing.assert_allclose(Q.rotate(a, v).reshape(-1, 3), turned, atol=1e-12)
    np.testing.assert_allclose(Q.unrotate(a, Q.rotate(a, v)), v, atol=1e-12)
    np.testing.assert_allclose(Q.to_matrix(a).reshape(-1, 3, 3), scipy_of(a.reshape(flat)).as_matrix(), atol=1e-12)


def test_batch_axes_broadcast(rng: np.random.Generator) -> None:
    one, many = Q.normalize(rng.normal(size=4)), Q.normalize(rng.normal(size=(6, 2, 4)))
    assert Q.multiply(one, many).shape == (6, 2, 4)
    np.testing.assert_allclose(Q.multiply(one, many)[3, 1], Q.multiply(one, many[3, 1]))
    assert Q.rotate(many, np.array([1.0, 0.0, 0.0])).shape == (6, 2, 3)


def test_from_matrix_near_every_axis(rng: np.random.Generator) -> None:
    half_turns = np.eye(4) + 1e-9 * rng.normal(size=(4, 4))
    q = Q.normalize(np.concatenate([half_turns, rng.normal(size=(50, 4))]))
    assert Q.angle_between(Q.from_matrix(Q.to_matrix(q)), q).max() < 1e-7


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-7, 9e-5, 1.1e-4, 1e-2, 1.0, 3.0, np.pi])
def test_exp_and_log_are_inverse_at_every_size(size: float, rng: np.random.Generator) -> None:
    v = rng.normal(size=(20, 3))
    v *= size / np.linalg.norm(v, axis=-1, keepdims=True)
    np.testing.assert_allclose(Q.exp(v)[:, 0], Rotation.from_rotvec(v).as_quat(scalar_first=True)[:, 0], atol=1e-15)
    back = Q.log(Q.exp(v))
    same = np.minimum(np.abs(back - v).max(-1), np.abs(back + v).max(-1) if size == np.pi else np.inf)
    assert same.max() < 1e-12 * max(size, 1e-3)


def test_log_takes_the_short_way(rng: np.random.Generator) -> None:
    q = Q.exp(np.array([0.3, -0.2, 0.1]))
    np.testing.assert_allclose(Q.log(-q), Q.log(q), atol=1e-15)


@pytest.mark.parametrize("size", [1e-6, 5e-5, 2e-4, 0.1, 1.0, 2.5])
def test_right_jacobian_is_the_derivative_of_exp(size: float, rng: np.random.Generator) -> None:
    v = rng.normal(size=3)
    v *= size / np.linalg.norm(v)
    step = 1e-6
    numeric = np.stack(
        [
            (Q.log(Q.multiply(Q.conjugate(Q.exp(v)), Q.exp(v + step * e)))
             - Q.log(Q.multiply(Q.conjugate(Q.exp(v)), Q.exp(v - step * e)))) / (2 * step)
            for e in np.eye(3)
        ],
        -1,
    )  # fmt: skip
    np.testing.assert_allclose(Q.right_jacobian(v), numeric, atol=1e-8)
    np.testing.assert_allclose(Q.right_jacobian(v) @ Q.right_jacobian_inverse(v), np.eye(3), atol=1e-10)


def test_slerp_agrees_with_scipy(q: np.ndarray) -> None:
    a, b, t = q[0, 0], q[1, 0], np.linspace(0, 1, 9)
    theirs = Slerp([0, 1], scipy_of(np.stack([a, b])))(t).as_quat(scalar_first=True)
    assert Q.angle_between(Q.slerp(a, b, t), theirs).max() < 1e-12


def test_between_turns_one_direction_into_the_other(rng: np.random.Generator) -> None:
    u, v = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    v[:3] = -u[:3]
    v[3:6] = 2.0 * u[3:6]
    turned = Q.rotate(Q.between(u, v), u / np.linalg.norm(u, axis=-1, keepdims=True))
    np.testing.assert_allclose(turned, v / np.linalg.norm(v, axis=-1, keepdims=True), atol=1e-7)
    np.testing.assert_array_equal(Q.between(np.zeros(3), u[0]), Q.IDENTITY)


def test_continuous_keeps_rotations_and_removes_flips(rng: np.random.Generator) -> None:
    smooth = Q.exp(np.linspace(0, 5, 40)[:, None, None] * rng.normal(size=(1, 3, 3)))
    flipped = smooth * rng.choice([-1.0, 1.0], size=(40, 3, 1))
    fixed = Q.continuous(flipped)
    assert np.einsum("fji,fji->fj", fixed[1:], fixed[:-1]).min() > 0
    assert Q.angle_between(fixed, smooth).max() < 1e-12


def test_mean_ignores_signs_and_finds_the_middle() -> None:
    q = Q.exp(np.array([[0.2, 0, 0], [-0.2, 0, 0], [0, 0, 0]]))
    q[1] *= -1
    assert Q.angle_between(Q.mean(q), Q.IDENTITY) < 1e-12


def test_normalize_makes_zero_the_identity() -> None:
    np.testing.assert_array_equal(Q.normalize(np.zeros(4)), Q.IDENTITY)
