"""The linear step in the space of forces, against the same thing written out with whole matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from understudy.base.splines import Basis, Knots, every_frame
from understudy.solve.solvers.dual import Curves, Pattern, cholesky_factor, keys_of_forces, solve_factored

FRAMES, COORDINATES = 40, 7


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """Rows of derivatives at random times, some of them chains of residuals that only must not change."""

    pattern: Pattern
    jacobian: np.ndarray
    values: np.ndarray
    compliance: np.ndarray
    chain: np.ndarray
    """(A,) which chain each row is on; -1 for none."""

    @property
    def compared(self) -> np.ndarray:
        """(A, A) the matrix that makes residuals of rows."""
        rows = np.arange(len(self.values))
        out = np.eye(len(rows))
        linked = self.pattern.previous >= 0
        out[rows[linked], self.pattern.previous[linked]] -= 1.0
        out[~self.pattern.is_residual] = 0.0
        return out

    @property
    def by_keys(self) -> np.ndarray:
        """(A, keys of all coordinates) derivatives of the rows by the keys, group after group."""
        curves, parts = self.pattern.curves, []
        for basis, group in zip(curves.bases, curves.groups, strict=True):
            weights = dense(basis)[self.pattern.times]
            parts.append(np.einsum("ak,ad->akd", weights, self.jacobian[:, group]).reshape(len(weights), -1))
        return np.concatenate(parts, axis=1)

    @property
    def cost(self) -> np.ndarray:
        """(keys of all coordinates,) what each costs."""
        curves = self.pattern.curves
        return np.concatenate([np.tile(curves.cost[g], b.num_keys) for b, g in zip(curves.bases, curves.groups)])


def dense(basis: Basis) -> np.ndarray:
    out = np.zeros((len(basis.first), basis.num_keys))
    np.add.at(out, (np.arange(len(out))[:, None], basis.keys), basis.weights)
    return out


def whole(band: np.ndarray) -> np.ndarray:
    """The symmetric matrix of a band whose entry (i, o) is that of rows i and i + o."""
    count, width = band.shape
    out = np.zeros((count, count))
    for o in range(min(width, count)):
        rows = np.arange(count - o)
        out[rows, rows + o] = band[: count - o, o]
        out[rows + o, rows] = band[: count - o, o]
    return out


def compliance_band(pattern: Pattern, compliance: np.ndarray) -> np.ndarray:
    """The band that `add_compliance` adds."""
    return pattern.add_compliance(np.zeros((len(pattern.times), pattern.bandwidth)), compliance)


def curves(rng: np.random.Generator, spacings: tuple[float, ...], frames: int = FRAMES) -> Curves:
    """A group of coordinates for each spacing; 0 for a key at every frame."""
    times = np.arange(frames) / 30.0
    bases = [Knots.uniform(times[-1], s).basis(times) if s else every_frame(times) for s in spacings]
    order = rng.permutation(COORDINATES)
    groups = [np.sort(part) for part in np.array_split(order, len(spacings))]
    return Curves(bases=tuple(bases), groups=tuple(groups), cost=rng.uniform(0.2, 5.0, COORDINATES))


def case(
    rng: np.random.Generator, spacings: tuple[float, ...], *, chains: int, plain: int = 25, frames: int = FRAMES
) -> Case:
    rows: list[tuple[int, int, int]] = [(int(t), -1, n) for n, t in enumerate(rng.integers(0, frames, plain))]
    for number in range(chains):
        first = int(rng.integers(0, frames - 3))
        last = int(rng.integers(first + 1, min(first + 14, frames)))
        # Samples of a chain need not stand in neighbouring frames.
        held = np.unique(np.concatenate([[first, last], rng.integers(first, last + 1, 6)]))
        rows += [(int(t), number, -1) for t in held]
    rows.sort(key=lambda row: row[0])
    times, chain = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    previous, is_residual = np.full(len(rows), -1), np.ones(len(rows), bool)
    for number in range(chains):
        members = np.flatnonzero(chain == number)
        previous[members[1:]] = members[:-1]
        is_residual[members[0]] = False
    pattern = Pattern(times=times, previous=previous, is_residual=is_residual, curves=curves(rng, spacings, frames))
    return Case(
        pattern=pattern,
        jacobian=rng.normal(size=(len(rows), COORDINATES)),
        values=rng.normal(size=len(rows)),
        compliance=rng.uniform(0.01, 2.0, len(rows)),
        chain=chain,
    )


SPACINGS = {
    "one group": (0.13,),
    "two groups": (0.1, 0.4),
    "three groups, one of them of frames": (0.0, 0.13, 0.27),
    "frames": (0.0,),
}


@pytest.fixture(params=[(name, chains, seed) for name in SPACINGS for chains in (0, 1, 5) for seed in (0, 1)], ids=str)
def example(request: pytest.FixtureRequest) -> Case:
    name, chains, seed = request.param
    return case(np.random.default_rng(seed), SPACINGS[name], chains=chains)


def test_band_is_the_whole_matrix(example: Case) -> None:
    by_keys = example.compared @ example.by_keys
    expected = (by_keys / example.cost) @ by_keys.T
    band = example.pattern.band(example.jacobian)
    assert band.shape == (len(example.values), example.pattern.bandwidth)
    np.testing.assert_allclose(whole(band), expected, atol=1e-11)


def test_compliance_is_felt_as_the_residuals_are(example: Case) -> None:
    compared = example.compared
    expected = compared @ np.diag(example.compliance) @ compared.T
    idle = np.flatnonzero(~example.pattern.is_residual)
    expected[idle, idle] = 1.0
    band = compliance_band(example.pattern, example.compliance)
    assert band.shape == (len(example.values), example.pattern.bandwidth)
    np.testing.assert_allclose(whole(band), expected, atol=1e-13)


def test_residuals_and_row_forces_are_transposes(example: Case, rng: np.random.Generator) -> None:
    forces = rng.normal(size=len(example.values))
    np.testing.assert_allclose(example.pattern.residuals(example.values), example.compared @ example.values, atol=1e-14)
    np.testing.assert_allclose(example.pattern.row_forces(forces), example.compared.T @ forces, atol=1e-14)


def test_some_rows_are_taken_from_a_band_with_their_compliance(example: Case, rng: np.random.Generator) -> None:
    pattern = example.pattern
    band = pattern.band(example.jacobian)
    for share in (0.7, 0.1, 0.0, 1.0):
        rows = np.flatnonzero((rng.random(len(example.values)) < share) & pattern.is_residual)
        expected = whole(band) + whole(compliance_band(pattern, example.compliance))
        found = pattern.add_compliance(pattern.select(band, rows), example.compliance, rows)
        assert found.shape[1] <= max(band.shape[1], 1)
        np.testing.assert_allclose(whole(found), expected[np.ix_(rows, rows)], rtol=1e-14, atol=1e-14)


def test_forces_move_the_keys(example: Case, rng: np.random.Generator) -> None:
    forces = rng.normal(size=len(example.values))
    expected = -(example.compared @ example.by_keys).T @ forces / example.cost
    moved_keys = keys_of_forces(example.pattern, example.jacobian, forces)
    np.testing.assert_allclose(np.concatenate([part.ravel() for part in moved_keys]), expected, atol=1e-12)


def test_the_step_is_the_least_squares_step_with_the_places_of_plants_as_unknowns(example: Case) -> None:
    """A chain's rows are all soft against one unknown place; writing that unknown out gives the same keys.

    Minimises half the keys' cost and half each residual squared over its compliance, over keys and places.
    """
    pattern = example.pattern
    matrix = pattern.band(example.jacobian) + compliance_band(pattern, example.compliance)
    forces = solve_factored(cholesky_factor(matrix), pattern.residuals(example.values))
    moved_keys = np.concatenate([part.ravel() for part in keys_of_forces(pattern, example.jacobian, forces)])
    chains = int(example.chain.max()) + 1
    places = -(example.chain[:, None] == np.arange(chains)).astype(float)
    system = np.concatenate([example.by_keys, places], axis=1)
    stiff = 1.0 / example.compliance
    normal = (system.T * stiff) @ system + np.diag(np.concatenate([example.cost, np.zeros(chains)]))
    expected = np.linalg.solve(normal, -(system.T * stiff) @ example.values)
    np.testing.assert_allclose(moved_keys, expected[: len(moved_keys)], atol=1e-9)


def test_hard_residuals_are_met_exactly(rng: np.random.Generator) -> None:
    """With next to no compliance the linear problem is solved: places reached, plants still."""
    example = case(rng, (0.13,), chains=2, plain=4)
    pattern = example.pattern
    matrix = pattern.band(example.jacobian) + compliance_band(pattern, np.full(len(example.values), 1e-9))
    forces = solve_factored(cholesky_factor(matrix), pattern.residuals(example.values))
    keys = keys_of_forces(pattern, example.jacobian, forces)
    moved = example.values + np.einsum("ad,ad->a", example.jacobian, pattern.curves.values(keys)[pattern.times])
    np.testing.assert_allclose(moved[example.chain < 0], 0.0, atol=1e-6)
    for number in range(2):
        assert np.ptp(moved[example.chain == number]) < 1e-6
        assert np.ptp(example.values[example.chain == number]) > 0.1


@pytest.mark.parametrize("chains", [False, True])
def test_the_matrix_grows_with_the_length_of_the_motion_and_no_faster(chains: bool) -> None:
    """Twice the motion, twice the entries: the band is as wide for an hour as for a second."""
    entries = []
    for frames in (60, 120, 480):
        rng = np.random.default_rng(0)
        times = np.repeat(np.arange(frames), 3)
        place = np.arange(len(times))
        linked = chains & (times % 20 > 0)
        pattern = Pattern(
            times=times,
            previous=np.where(linked, place - 3, -1),
            is_residual=linked | (not chains),
            curves=curves(rng, (0.1, 0.2), frames),
        )
        entries.append(pattern.band(rng.normal(size=(len(times), COORDINATES))).size / frames)
    assert entries[1] == pytest.approx(entries[0], rel=0.05)
    assert entries[2] == pytest.approx(entries[1], rel=0.05)


def test_curves_of_groups_are_laid_into_one_vector(rng: np.random.Generator) -> None:
    both = curves(rng, (0.1, 0.5))
    keys = tuple(rng.normal(size=(b.num_keys, len(g))) for b, g in zip(both.bases, both.groups, strict=True))
    values = both.values(keys)
    for basis, group, part in zip(both.bases, both.groups, keys, strict=True):
        np.testing.assert_allclose(values[:, group], dense(basis) @ part, atol=1e-13)
    pushed = rng.normal(size=values.shape)
    dot = sum(float((a * b).sum()) for a, b in zip(both.gather(pushed), keys, strict=True))
    assert dot == pytest.approx(float((pushed * values).sum()))
    size = sum(float((part**2 * both.cost[g]).sum()) for part, g in zip(keys, both.groups, strict=True))
    assert both.change_cost(keys) == pytest.approx(size)
