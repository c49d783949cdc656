"""Medians and percentiles are numpy's, on few values and on many."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.base.records import MAX_SORTED_VALUES, median, percentile


@pytest.mark.parametrize("count", [1, 2, 3, 10, MAX_SORTED_VALUES, MAX_SORTED_VALUES + 1, 1000, 1001])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_they_are_numpys(count: int, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(count).normal(size=(count, *shape))
    before = values.copy()
    np.testing.assert_allclose(median(values), np.median(values, axis=0), rtol=1e-14)
    for percent in (0.0, 5.0, 50.0, 95.0, 100.0):
        np.testing.assert_allclose(percentile(values, percent), np.percentile(values, percent, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(values, before, err_msg="the input is unchanged")
