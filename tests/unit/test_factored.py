"""Residuals left out of a factored matrix: near by, exactly, in whatever order, and not at any price."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solveh_banded

from understudy.base.splines import Knots
from understudy.solve.solvers.dual import (
    INITIAL_RADIUS_ROWS,
    Curves,
    FactoredMatrix,
    Pattern,
    band_product,
    cholesky_factor,
)

ROWS, WIDTH = 12_000, 9


def long_band(rng: np.random.Generator, compliance: float) -> np.ndarray:
    """(ROWS, WIDTH) the band of J J' plus a compliance, for rows of J that overlap: a motion of a minute or two."""
    jacobian = rng.normal(size=(ROWS, WIDTH))
    band = np.zeros((ROWS, WIDTH))
    for gap in range(WIDTH):
        # Row i has its numbers in columns i to i + WIDTH - 1.
        band[: ROWS - gap, gap] = np.einsum("nk,nk->n", jacobian[: ROWS - gap, gap:], jacobian[gap:, : WIDTH - gap])
    band[:, 0] += compliance
    return band


def factored(band: np.ndarray, min_response: float) -> FactoredMatrix:
    """A band of all rows, factored."""
    return FactoredMatrix(
        damping=0.0,
        excluded=np.zeros(ROWS, bool),
        factor=cholesky_factor(band.copy()),
        min_response=min_response,
        rows=np.arange(ROWS),
        bandwidth=WIDTH,
    )


def without(band: np.ndarray, residuals: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Forces by solving all anew with some residuals left out."""
    matrix = band.copy()
    matrix[out] = 0.0
    for gap in range(1, WIDTH):
        matrix[: ROWS - gap][out[gap:], gap] = 0.0
    matrix[out, 0] = 1.0
    return np.asarray(solveh_banded(matrix.T, np.where(out, 0.0, residuals), lower=True))


@pytest.mark.parametrize("compliance", [1e-1, 1e-3])
def test_what_is_left_out_near_by_is_left_out_as_if_all_were_solved_anew(compliance: float) -> None:
    rng = np.random.default_rng(3)
    band, residuals, none = long_band(rng, compliance), rng.normal(size=ROWS), np.zeros(ROWS, bool)
    known = factored(band, 1e-9)
    np.testing.assert_allclose(known.forces(residuals), without(band, residuals, none), rtol=1e-6, atol=1e-9)
    out = none
    # Alone, next to each other, far apart, at both ends, and again near what is out already.
    for more in ([6000], [6003, 6004, 9000], [0, 1, ROWS - 1], [5990, 8999, 40]):
        out = out.copy()
        out[more] = True
        assert known.exclude(out)
        found, expected = known.forces(residuals), without(band, residuals, out)
        assert np.all(found[out] == 0.0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    lengths = [len(answer) for _, answer in known.responses.values()]
    assert max(lengths) < ROWS / 2, "a long motion must not be gone through for one residual"
    other = rng.normal(size=ROWS)
    np.testing.assert_allclose(known.forces(other), without(band, other, out), rtol=0, atol=1e-5)


def test_what_is_felt_far_away_is_followed_that_far() -> None:
    # A chain whose neighbours are almost rigidly bound: a push is felt along most of it.
    band = np.zeros((ROWS, WIDTH))
    band[:, 0], band[:-1, 1] = 2.0 + 1e-6, -1.0
    residuals, out = np.ones(ROWS), np.zeros(ROWS, bool)
    known = factored(band, 1e-6)
    out = out.copy()
    out[5000] = True
    assert known.exclude(out)
    near, answer = known.responses[5000]
    assert near.start <= 5000 - 2 * INITIAL_RADIUS_ROWS
    assert len(answer) == near.stop - near.start
    found, expected = known.forces(residuals), without(band, residuals, out)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_many_are_not_left_out_one_by_one() -> None:
    rng = np.random.default_rng(4)
    known = factored(long_band(rng, 0.1), 1e-6)
    out = np.arange(ROWS) % 2 == 0
    assert not known.exclude(out)
    assert not known.responses
    assert not known.excluded.any()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95, 1.0])
def test_forces_of_few_kept_residuals_are_those_of_the_whole_matrix(share: float) -> None:
    """Residuals of a body that lies on the floor: most are excluded when the matrix is made, and some after it."""
    rng = np.random.default_rng(6)
    basis = Knots.uniform(4.0, 0.2).basis(np.linspace(0.0, 4.0, 121))
    curves = Curves(bases=(basis,), groups=(np.arange(6),), cost=rng.uniform(0.5, 2.0, 6))
    at = np.sort(rng.integers(0, 121, 200))
    pattern = Pattern(times=at, previous=np.full(200, -1), is_residual=np.ones(200, bool), curves=curves)
    jacobian, compliance, residuals = rng.normal(size=(200, 6)), rng.uniform(1e-3, 1e-2, 200), rng.normal(size=200)
    excluded = rng.random(200) < share
    more = excluded.copy()
    more[np.flatnonzero(~excluded)[:3]] = True
    band = pattern.band(jacobian).copy()
    whole = np.diag(compliance)
    for gap, column in enumerate(band.T):
        rows = np.flatnonzero(np.arange(200) + gap < 200)
        whole[rows, rows + gap] += column[rows] / 1.5
        whole[rows + gap, rows] += column[rows] / 1.5 * (gap > 0)
    matrix = FactoredMatrix.of(pattern, band, compliance, 0.5, excluded)
    for out in (excluded, more):
        if matrix.exclude(out):
            wanted = np.zeros(200)
            wanted[~out] = np.linalg.solve(whole[np.ix_(~out, ~out)], residuals[~out])
            np.testing.assert_allclose(
                matrix.forces(residuals), wanted, rtol=0.0, atol=1e-6 * np.abs(wanted).max() + 1e-12
            )


def test_a_band_times_forces_is_the_whole_matrix_times_them() -> None:
    rng = np.random.default_rng(5)
    band, forces = long_band(rng, 0.1)[:40], rng.normal(size=40)
    whole = np.zeros((40, 40))
    for gap in range(WIDTH):
        whole[np.arange(40 - gap), np.arange(gap, 40)] = band[: 40 - gap, gap]
    whole = np.triu(whole) + np.triu(whole, 1).T
    np.testing.assert_allclose(band_product(band, forces), whole @ forces, rtol=1e-12, atol=1e-12)
