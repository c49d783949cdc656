"""Routines loaded by themselves are scipy's own."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from understudy.solve import lapack


def test_they_are_those_of_scipy() -> None:
    from scipy.linalg.blas import dsbmv
    from scipy.linalg.lapack import dpbtrf, dpbtrs

    rng = np.random.default_rng(1)
    band = rng.normal(size=(3, 40))
    band[0] = 9.0
    factor, wrong = lapack.dpbtrf(band, lower=True)
    assert wrong == 0
    np.testing.assert_array_equal(factor, dpbtrf(band, lower=True)[0])
    right = rng.normal(size=40)
    solved = lapack.dpbtrs(factor, right, lower=True)[0]
    np.testing.assert_array_equal(solved, dpbtrs(factor, right, lower=True)[0])
    np.testing.assert_array_equal(lapack.dsbmv(2, 1.0, band, right, lower=1), dsbmv(2, 1.0, band, right, lower=1))
    np.testing.assert_allclose(lapack.dsbmv(2, 1.0, band, solved, lower=1), right, atol=1e-10)


def test_the_rest_of_scipy_linalg_is_not_loaded_and_still_can_be() -> None:
    code = (
        "import sys; from understudy.solve import lapack; assert 'scipy.linalg' not in sys.modules; "
        "import scipy.linalg; assert scipy.linalg.lapack.dpbtrf is not None; "
        "import numpy; scipy.linalg.cholesky(numpy.eye(3))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
