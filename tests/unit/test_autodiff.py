"""Automatic derivatives against finite differences and the complex step, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from understudy.base.autodiff import Dual, derive
from understudy.base.errors import OptionError

M = np.random.default_rng(5).normal(size=(3, 3))
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda p: 2.0 * p[:, 0, 0] - p[:, 1, 1] / p[:, 2, 2] + 1.0 / p[:, 0, 1] - 3.0 + (-p[:, 0, 2]),
    "powers": lambda p: p[:, 0, 0] ** 3 + p[:, 1, 0] ** -2 + np.square(p[:, 2, 1]) + 2.0 ** p[:, 0, 1],
    "power of both": lambda p: (p[:, 0, 0] ** 2 + 1.0) ** p[:, 1, 0],
    "roots": lambda p: np.sqrt(1.0 + p[:, 0] ** 2),
    "exponentials": lambda p: np.exp(p[:, 0, 0]) + np.log(2.0 + p[:, 1, 0] ** 2) + np.log1p(p[:, 2, 0] ** 2),
    "other exponentials": lambda p: np.expm1(p[:, 0]) * np.exp2(p[:, 1]) + np.log10(3 + p[:, 1] ** 2),
    "logarithms": lambda p: np.log2(9 + p[:, 0] ** 2) * np.log(4 + p[:, 1] ** 2),
    "trigonometry": lambda p: np.sin(p[:, 0]) * np.cos(p[:, 1]) + np.tan(0.3 * p[:, 2]),
    "hyperbolic": lambda p: np.sinh(p[:, 0]) + np.cosh(p[:, 1]) * np.tanh(p[:, 2]) + np.arcsinh(p[:, 0]),
    "inverse": lambda p: np.arcsin(0.2 * np.tanh(p[:, 0])) + np.arccos(0.2 * np.sin(p[:, 1])) + np.arctan(p[:, 2]),
    "sums": lambda p: p.sum(axis=1) + np.sum(p, axis=-1) * p.mean(axis=(1, 2), keepdims=True)[:, 0],
    "einsum": lambda p: np.einsum("nki,nki->nk", p, p) + np.einsum("...i,...i->...", p[:, 1:2], p),
    "einsum matrix": lambda p: np.einsum("ij,nj->ni", M, p[:, 0]) + np.einsum("nij,nj->ni", p, p[:, 1]),
    "matmul": lambda p: (p @ p)[:, 0] + (p @ M)[:, 1] + p[:, 2] @ M + (M @ p)[:, 1],
    "dot": lambda p: np.dot(p[:, 0], M) + np.dot(p, M[0]),
    "stack": lambda p: np.stack([p[:, 0, 0] * p[:, 1, 1], p[:, 2, 2], np.ones(len(p))], axis=-1),
    "concatenate": lambda p: np.concatenate([p[:, 0] * 2.0, p[:, 1] * p[:, 2]], axis=1),
    "reshape": lambda p: (p.reshape(len(p), 9) * np.arange(9.0)) + np.reshape(p, (len(p), -1)) ** 2,
    "axes": lambda p: (np.swapaxes(p, 1, 2)[:, 0] * np.moveaxis(p, 1, 2)[:, 1]) + np.expand_dims(p[:, 0, 0], 1),
    "rows": lambda p: np.diff(p, axis=1)[:, 0] * np.cumsum(p, axis=1)[:, 2] + np.roll(p, 1, axis=2)[:, 0],
    "more rows": lambda p: np.flip(p, 1)[:, 0] * np.take(p, [1, 1], axis=1)[:, 0] + np.squeeze(p[:, 0:1], 1),
    "index": lambda p: p[:, [0, 2], 1] * p[..., 1:, 0] + p[:, :, None, 2][:, 1],
    "matrices": lambda p: np.linalg.det(p + 5.0 * np.eye(3)) * np.linalg.inv(p + 5.0 * np.eye(3))[:, 0, 1],
    "repeat": lambda p: np.repeat(p[:, 0], 2, axis=1) * np.broadcast_to(p[:, 1, :1], (len(p), 6)),
}  # fmt: skip
"""Functions that complex numbers go through too, so that the complex step is exact for them."""

KINKED: dict[str, Callable[[Any], Any]] = {
    "squares": lambda p: np.reciprocal(2.0 + p[:, 0] ** 2) + np.radians(p[:, 1]) + np.rad2deg(p[:, 2]),
    "norm": lambda p: np.linalg.norm(p, axis=-1) * np.linalg.norm(p[:, :, 0:2], axis=2, keepdims=True)[..., 0],
    "cross": lambda p: np.cross(p[:, 0], p[:, 1]) + np.cross(M[0], p[:, 2]) + np.cross(p[:, 2], p[:, 1]),
    "absolute": lambda p: np.abs(p[:, 0]) + abs(p[:, 1]) * np.fabs(p[:, 2]),
    "angle": lambda p: np.arctan2(p[:, 0], p[:, 1]) + np.hypot(p[:, 1], p[:, 2]) + np.hypot(2.0, p[:, 0]),
    "extremes": lambda p: np.maximum(p[:, 0], p[:, 1]) * np.minimum(p[:, 2], 0.1) + np.max(p, axis=1) - p.min(axis=2),
    "kept extremes": lambda p: np.max(p, axis=1, keepdims=True)[:, 0] * p.max(axis=1),
    "where": lambda p: np.where(p[:, 0] > p[:, 1], p[:, 2] ** 2, 0.5) + np.where(p[:, 0, :1] > 0, 1.0, p[:, 1]),
    "clip": lambda p: np.clip(p[:, 0], -0.3, 0.3) * p[:, 1],
    "remainder": lambda p: np.remainder(p[:, 0], 0.7) + np.fmod(p[:, 1], 0.3) + p[:, 2] // 0.2,
    "smooth maximum": lambda p: np.logaddexp(p[:, 0], p[:, 1]) + np.cbrt(p[:, 2]),
    "compare": lambda p: p[:, 0] * (p[:, 1] > 0.0) + p[:, 1] * (p[:, 0] <= p[:, 2]),
    "like": lambda p: p[:, 0] * np.ones_like(p[:, 0]) + np.zeros_like(p[:, 0]) + np.full_like(p[:, 1], 2.0) * p[:, 1],
}  # fmt: skip


def measured(function: Callable[[Any], Any], points: np.ndarray, step: complex) -> np.ndarray:
    """(N, R, P, 3) derivatives by central differences, or by the complex step."""
    frames, count = points.shape[:2]
    columns = []
    for k in range(3 * count):
        moved = step * np.eye(3 * count)[k].reshape(count, 3)
        if isinstance(step, complex):
            slope = np.imag(function(points + moved)) / abs(step)
        else:
            slope = (function(points + moved) - function(points - moved)) / (2.0 * step)
        columns.append(np.broadcast_to(slope.reshape(frames, -1), (frames, slope.size // frames)))
    return np.stack(columns, -1).reshape(frames, -1, count, 3)


@pytest.mark.parametrize("name", SMOOTH)
def test_complex_step(name: str, rng: np.random.Generator) -> None:
    points = rng.normal(size=(7, 3, 3))
    values, d_points = derive(SMOOTH[name], points)
    np.testing.assert_allclose(values, SMOOTH[name](points).reshape(7, -1), rtol=1e-13, atol=1e-13)
    expected = measured(SMOOTH[name], points, 1e-30j)
    np.testing.assert_allclose(d_points, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", [*SMOOTH, *KINKED])
def test_finite_difference(name: str, rng: np.random.Generator) -> None:
    function = (SMOOTH | KINKED)[name]
    points = rng.normal(size=(7, 3, 3))
    values, d_points = derive(function, points)
    np.testing.assert_allclose(values, function(points).reshape(7, -1), rtol=1e-13, atol=1e-13)
    expected = measured(function, points, 1e-6)
    np.testing.assert_allclose(d_points, expected, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(expected).max()))


def test_extra_arguments_and_single_rows(rng: np.random.Generator) -> None:
    points, times = rng.normal(size=(5, 2, 3)), np.arange(5.0)
    values, d_points = derive(lambda p, t: t * p[:, 0, 0] + t, points, times)
    np.testing.assert_allclose(values[:, 0], times * points[:, 0, 0] + times)
    np.testing.assert_allclose(d_points[:, 0, 0, 0], times)
    assert np.count_nonzero(d_points) == 4


def test_no_derivative_is_zero_and_not_nothing() -> None:
    still = np.zeros((2, 2, 3))
    for function in (
        lambda p: np.linalg.norm(p[:, 0] - p[:, 1], axis=-1),
        lambda p: np.sqrt(p[:, 0] ** 2),
        lambda p: np.hypot(p[:, 0], p[:, 1]),
        lambda p: np.arctan2(p[:, 0], p[:, 1]),
        lambda p: np.arccos(1.0 + 0.0 * p[:, 0]),
        lambda p: (p[:, 0] ** 2) ** 0.5,
    ):
        assert np.all(derive(function, still)[1] == 0.0)


def test_looks_like_an_array() -> None:
    dual = Dual(np.ones((4, 2)), np.zeros((6, 4, 2)))
    assert (dual.shape, dual.ndim, dual.size, len(dual)) == ((4, 2), 2, 8, 4)
    assert (np.shape(dual), np.ndim(dual), np.size(dual)) == ((4, 2), 2, 8)
    assert "Dual" in repr(dual)
    assert np.copy(dual).shape == (4, 2)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "unknown function": (lambda p: np.linalg.svd(p), "np.linalg.svd"),
    "unknown ufunc": (lambda p: np.gcd(p, 2), "np.gcd"),
    "plain array": (lambda p: np.asarray(p), "plain array"),
    "number": (lambda p: float(p), "plain number"),
    "if": (lambda p: bool(p[:, 0]), "`if` on points"),
    "loop": (lambda p: list(p), "a loop over frames"),
    "write": (lambda p: p.__setitem__(0, 1.0), "writing into points"),
    "sum of all": (lambda p: np.sum(p), "over all axes"),
    "sum of frames": (lambda p: p.sum(axis=0), r"np.sum over the frames \(axis 0\)"),
    "mean of frames": (lambda p: p.mean(axis=-3), "np.mean over the frames"),
    "max of frames": (lambda p: p.max(axis=0), "np.max over the frames"),
    "max of several": (lambda p: p.max(axis=(1, 2)), "several axes at once"),
    "one frame": (lambda p: p[0], "an index of frames"),
    "some frames": (lambda p: p[1:], "an index of frames"),
    "frames through dots": (lambda p: p[..., 0, 0, 0], "an index of frames"),
    "scattered index": (lambda p: p[:, :, None, [0, 1]][:, [0, 1], :, [0, 1]], "one axis at a time"),
    "reshape": (lambda p: p.reshape(-1), "which mixes frames"),
    "misaligned": (lambda p: p * p[:, 0], "frames do not line up"),
    "misaligned constant": (lambda p: p[:, 0] + np.ones((3, 3, 3)), "frames do not line up"),
    "where": (lambda p: np.where(p > 0, p[:, 0], p), "np.where of shapes"),
    "matmul": (lambda p: p[:, 0] @ p[:, 1], "a matrix product over the frames"),
    "matmul of mixed": (lambda p: p @ p[:, 0], "a matrix product over the frames"),
    "dot": (lambda p: np.dot(p[:, 0], p[:, 1]), "np.dot of these shapes"),
    "einsum implicit": (lambda p: np.einsum("nij", p), "without the result's letters"),
    "einsum over frames": (lambda p: np.einsum("nij->ij", p), "start with the frames"),
    "einsum of two": (lambda p: np.einsum("nij,mij->nij", p, p), "start with the frames"),
    "stack": (lambda p: np.stack([p, p]), "np.stack over the frames"),
    "concatenate": (lambda p: np.concatenate([p[:, 0], np.ones((1, 3))], axis=1), "use np.broadcast_to"),
    "cross": (lambda p: np.cross(p[:, 0, :2], p[:, 1, :2]), "three numbers on the last axis"),
    "cross of frames": (lambda p: np.cross(p, p, axis=0), "three numbers on the last axis"),
    "einsum of a deeper constant": (lambda p: np.einsum("...i,...i->...", p[:, 0], np.ones((3, 3, 3))), "line up"),
    "initial": (lambda p: np.sum(p, axis=1, initial=1.0), "np.sum with initial"),
    "norm": (lambda p: np.linalg.norm(p, ord=1, axis=-1), "another order than 2"),
    "out": (lambda p: np.add(p, 1.0, out=np.ones(3)), "np.add with out"),
    "reduce": (lambda p: np.add.reduce(p), "np.add with reduce"),
    "broadcast": (lambda p: np.broadcast_to(p, (2, *p.shape)), "frames do not line up"),
    "inverse": (lambda p: np.linalg.inv(p[:, 0]), "matrices per frame"),
    "constant": (lambda p: np.zeros(3), "must return what it computed"),
    "too deep": (lambda p: p, r"must return \(frames,\) or \(frames, rows\), got shape \(3, 3, 3\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_reason(name: str) -> None:
    function, expected = REFUSED[name]
    # As many frames as points and axes: what numpy would take without a word.
    with pytest.raises(OptionError, match=expected):
        derive(function, np.random.default_rng(1).normal(size=(3, 3, 3)))


def test_hint_says_what_to_use() -> None:
    with pytest.raises(OptionError, match=r"hint: write it with arithmetic, np.sum, np.linalg.norm"):
        derive(lambda p: np.linalg.svd(p), np.ones((2, 2, 3)))
