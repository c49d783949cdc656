"""Displacement curves: against an independent evaluation of B-splines, and what a solver relies on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from understudy.base.errors import OptionError
from understudy.base.splines import DEGREE, Basis, Knots, every_frame

UNEVEN = (0.0, 0.1, 0.15, 0.5, 0.8, 0.82, 1.3)
KNOTS = {
    "uniform": Knots.uniform(2.0, 0.3),
    "uneven": Knots(times=np.array(UNEVEN)),
    "one piece": Knots(times=np.array([0.0, 0.7])),
    "two pieces": Knots(times=np.array([0.0, 0.2, 0.7])),
}


@pytest.fixture(params=KNOTS)
def knots(request: pytest.FixtureRequest) -> Knots:
    return KNOTS[request.param]


def spread(knots: Knots, count: int = 83) -> np.ndarray:
    """Times all over the knots, both ends and every join among them."""
    return np.unique(np.concatenate([np.linspace(knots.times[0], knots.times[-1], count), knots.times]))


def dense(basis: Basis) -> np.ndarray:
    """(N, K) the whole matrix of weights."""
    out = np.zeros((len(basis.first), basis.num_keys))
    np.add.at(out, (np.arange(len(out))[:, None], basis.keys), basis.weights)
    return out


def padded(times: np.ndarray) -> np.ndarray:
    """Three more knots beyond either end, as far apart as those just inside, over and over where there are fewer."""
    steps = np.diff(times)
    head, tail = np.resize(steps, DEGREE), np.resize(steps[::-1], DEGREE)
    if len(steps) >= DEGREE:
        head, tail = steps[:DEGREE], steps[::-1][:DEGREE]
    return np.concatenate([times[0] - np.cumsum(head)[::-1], times, times[-1] + np.cumsum(tail)])


def test_values_equal_those_of_scipy(knots: Knots, rng: np.random.Generator) -> None:
    keys = rng.normal(size=(knots.num_keys, 3))
    at = spread(knots)
    expected = BSpline(padded(knots.times), keys, DEGREE)(at)
    np.testing.assert_allclose(knots.basis(at).values(keys), expected, atol=1e-12)


def test_weights_are_shares_of_one(knots: Knots) -> None:
    basis = knots.basis(spread(knots))
    np.testing.assert_allclose(basis.weights.sum(axis=1), 1.0, atol=1e-12)
    assert basis.weights.min() >= -1e-15
    assert basis.keys.max() == knots.num_keys - 1, "the last key must be felt"
    assert basis.keys.min() == 0


def test_a_key_is_felt_over_four_pieces_only() -> None:
    knots = KNOTS["uneven"]
    at, full = np.linspace(0.0, 1.3, 1000), padded(knots.times)
    felt = dense(knots.basis(at)) > 1e-12
    for key in range(knots.num_keys):
        inside = (at > full[key] + 1e-3) & (at < full[key + DEGREE + 1] - 1e-3)
        outside = (at < full[key]) | (at > full[key + DEGREE + 1])
        assert felt[inside, key].all()
        assert not felt[outside, key].any()


def test_gather_is_the_transpose_of_values(knots: Knots, rng: np.random.Generator) -> None:
    basis = knots.basis(spread(knots))
    keys, values = rng.normal(size=(basis.num_keys, 2)), rng.normal(size=(len(basis.first), 2))
    np.testing.assert_allclose(basis.gather(values), dense(basis).T @ values, atol=1e-12)
    assert np.sum(basis.values(keys) * values) == pytest.approx(np.sum(keys * basis.gather(values)))


def test_overlaps_are_the_products_of_weights(knots: Knots) -> None:
    basis = knots.basis(spread(knots))
    whole = dense(basis) @ dense(basis).T
    count = len(whole)
    for o in range(basis.reach + 1):
        np.testing.assert_allclose(basis.overlaps[o, : count - o], np.diagonal(whole, o), atol=1e-14)
        assert not basis.overlaps[o, count - o :].any()
    beyond = np.triu(whole, basis.reach + 1)
    assert not beyond.any(), "times further apart than the reach share no key"
    if basis.reach + 1 < count:
        shared = np.abs(basis.first[basis.reach :] - basis.first[: count - basis.reach]) < DEGREE + 1
        assert shared.any(), "the reach is no larger than it must be"


def test_uniform_spacing_is_at_most_what_was_asked() -> None:
    knots = Knots.uniform(1.0, 0.3)
    np.testing.assert_allclose(knots.times, [0.0, 0.25, 0.5, 0.75, 1.0])
    assert len(Knots.uniform(1.2, 0.3).times) == 5, "a spacing that fits exactly is kept, rounding or not"
    assert len(Knots.uniform(0.1, 5.0).times) == 2
    assert Knots.uniform(0.0, 0.1).times[-1] > 0.0, "one frame has a curve too"


def test_knots_are_denser_within_spans_only() -> None:
    knots = Knots.uniform(2.0, 0.4).denser([(0.5, 0.9), (1.9, 3.0)], 0.2)
    np.testing.assert_allclose(knots.times, [0.0, 0.4, 0.6, 0.8, 1.0, 1.2, 1.6, 1.8, 2.0])
    np.testing.assert_array_equal(
        Knots.uniform(2.0, 0.4).denser([(0.5, 0.9)], 0.4).times, Knots.uniform(2.0, 0.4).times
    )


def test_a_time_outside_is_the_nearest_end(knots: Knots, rng: np.random.Generator) -> None:
    keys = rng.normal(size=(knots.num_keys, 1))
    first, last = knots.times[0], knots.times[-1]
    outside, ends = knots.basis([first - 1.0, last + 1.0]), knots.basis([first, last])
    np.testing.assert_array_equal(outside.values(keys), ends.values(keys))


@pytest.mark.parametrize("hold", [0.0, 0.4, 0.5, 0.75])
def test_a_held_curve_is_zero_up_to_a_time_and_smooth_behind_it(hold: float, rng: np.random.Generator) -> None:
    knots = Knots.uniform(2.0, 0.25)
    keys = rng.normal(size=(knots.num_keys, 1))
    step = 1e-3
    at = np.arange(0.0, 2.0 + step / 2, step)
    values = knots.basis(at, hold).values(keys)[:, 0]
    assert not values[at <= hold].any()
    # A curve that joins zero with two continuous derivatives leaves it as the cube of the time since.
    after = np.flatnonzero(at > hold)[0] - 1
    assert np.abs(values[after : after + 3]).max() < 100.0 * (3 * step) ** 3 / 0.25**3
    free = knots.basis(at).values(keys)[:, 0]
    late = at > hold + 4 * 0.25
    np.testing.assert_array_equal(values[late], free[late])
    assert np.abs(values[late]).max() > 0.1
    assert np.abs(values - free).max() > 0.1


def test_a_key_for_every_frame_moves_that_frame_alone(rng: np.random.Generator) -> None:
    times = np.arange(7) / 30.0
    basis, keys = every_frame(times), rng.normal(size=(7, 2))
    np.testing.assert_array_equal(basis.values(keys), keys)
    np.testing.assert_array_equal(basis.gather(keys), keys)
    assert basis.reach == 0
    held = every_frame(times, hold=2 / 30.0).values(keys)
    assert not held[:3].any()
    np.testing.assert_array_equal(held[3:], keys[3:])


@pytest.mark.parametrize(
    "times", [[0.0], [], [0.0, 0.0], [0.0, 1.0, 0.5], [0.0, np.nan], [0.0, np.inf], [[0.0, 1.0], [2.0, 3.0]]]
)
def test_knots_that_do_not_rise_are_refused(times: list[float]) -> None:
    with pytest.raises(OptionError, match="at least two knot times, each later than the one before"):
        Knots(times=np.array(times))


@pytest.mark.parametrize("spacing", [0.0, -0.1, np.nan, np.inf])
def test_a_spacing_that_is_none_is_refused(spacing: float) -> None:
    with pytest.raises(OptionError, match=f"key spacing above zero seconds, got {spacing}"):
        Knots.uniform(1.0, spacing)


def test_knots_cannot_be_changed_from_outside() -> None:
    array = np.array([0.0, 1.0])
    knots = Knots(times=array)
    array[1] = 5.0
    assert knots.times[1] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        knots.times[0] = 1.0


def test_a_curve_at_some_of_its_times_is_the_curve_there(knots: Knots, rng: np.random.Generator) -> None:
    times, keys = spread(knots), rng.normal(size=(knots.num_keys, 2))
    some = np.array([0, 3, 4, 40, len(times) - 1])
    part, whole = knots.basis(times).at(some), knots.basis(times)
    np.testing.assert_array_equal(part.values(keys), whole.values(keys)[some])
    anew = knots.basis(times[some])
    np.testing.assert_array_equal(part.weights, anew.weights)
    np.testing.assert_array_equal(part.first, anew.first)


def test_a_basis_within_some_times_has_the_keys_of_these_times_only(knots: Knots, rng: np.random.Generator) -> None:
    basis = knots.basis(spread(knots))
    part = basis.within(20, 30)
    keys = rng.normal(size=(basis.num_keys, 2))
    used = keys[basis.first[20] :][: part.num_keys]
    assert len(used) == part.num_keys <= basis.num_keys
    assert np.allclose(part.values(used), basis.values(keys)[20:50])
