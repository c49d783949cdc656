"""Steps of the spacetime solver: what they foretell is what linear residuals give, what is left out is out."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.splines import Knots
from understudy.constraints.base import Constraint, PointRef, Relation
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.solve.evaluation import Evaluation, ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.dual import Curves
from understudy.solve.solvers.newton import (
    GaussNewton,
    Keys,
    LinearizedStep,
    StepPattern,
    active_rows,
    constraint_weights,
    penalty,
)

STIFF = 1e3


@cache
def walk() -> Motion:
    return samples.motion("walk", fps=60.0, seconds=2.0).motion


def constraints() -> tuple[Constraint, ...]:
    return (
        Place(point=PointRef(point="LeftHand"), target=np.array([0.3, 1.0, 0.5]), start=0.5, end=1.5),
        Place(point=PointRef(point="Head"), target=np.array([0.0, 1.4, 1.0]), axes="xy", instants=(0.4, 1.1)),
        Region(point=PointRef(point="RightHand"), centre=np.array([0.0, 0.8, 0.0])),
        Region(point=PointRef(point="LeftForeArm"), centre=np.array([0.0, 1.1, 0.0])),
    )


def made(*given: Constraint) -> tuple[ProblemAtFrames, Curves, LinearizedStep, Evaluation]:
    """Some constraints on a walk, linearised where it starts."""
    problem = Problem(actors=(Actor(motion=walk()),), constraints=given)
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(0, len(problem.times), 2))
    basis = Knots.uniform(problem.times[-1], 0.2).basis(sample.times)
    curves = Curves(bases=(basis,), groups=(np.arange(len(problem.metric)),), cost=problem.metric)
    now = sample.measure()
    active = active_rows(now, 0.05)
    plan = StepPattern.of(now, active, curves, STIFF * constraint_weights(sample, now.rows))
    none = np.zeros((len(sample.frames), len(problem.metric)))
    return sample, curves, plan.linearize(now, none, active), now


def empty(curves: Curves) -> Keys:
    return (np.zeros((curves.bases[0].num_keys, len(curves.cost))),)


def test_what_a_step_comes_to_is_foretold_for_linear_residuals() -> None:
    sample, curves, linear, now = made(*constraints())
    forces, keys = linear.step(empty(curves), 0.0)
    layout = linear.step_pattern.layout
    assert linear.factored[-1].excluded.any(), "some must be left out for this to mean anything"
    left = linear.values + np.einsum("ad,ad->a", linear.jacobian, curves.values(keys)[layout.times])
    counted = ~linear.factored[-1].excluded
    heavy = STIFF * constraint_weights(sample, now.rows)[layout.constraint]
    expected = 0.5 * float(heavy[counted] @ left[counted] ** 2) + 0.5 * curves.change_cost(keys)
    assert linear.merit(forces) == pytest.approx(expected, rel=1e-9)


def test_a_level_ends_once_the_next_step_would_bring_little() -> None:
    places, shift = fk(walk()).points(["LeftHand", "RightHand"]), np.array([0.1, 0.15, -0.05])
    near = [
        Place(point=PointRef(point="LeftHand"), target=places[30, 0] + shift, instants=(0.5,)),
        Place(point=PointRef(point="RightHand"), target=places[80, 1] - shift, instants=(80 / 60,)),
    ]
    sample, curves, _, _ = made(*near)

    def taken(gain: float) -> tuple[int, float]:
        weights = np.ones(len(sample.targets))
        level = GaussNewton(sample=sample, curves=curves, stiffness=STIFF, weights=weights, margin=1e-4, gain=gain)
        keys, reached, steps = level.run(20)
        return steps, level.merit(reached, keys)

    (soon, early), (late, best) = taken(0.15), taken(1e-6)
    assert soon < late
    assert best <= early < best / (1.0 - 0.15)


def test_a_level_goes_on_after_a_small_gain_while_much_is_left() -> None:
    """The arm has far to turn, so steps are limited: the fourth gained little, and the hand was left 0.2 m off."""
    hand = fk(walk()).points(["RightHand"])[60, 0]
    target = hand + np.array([-0.3, 0.0, 0.4])
    sample, curves, _, _ = made(Place(point=PointRef(point="RightHand"), target=target, start=0.6, end=1.4))
    level = GaussNewton(sample=sample, curves=curves, stiffness=STIFF, weights=np.ones(1), margin=1e-4, gain=0.15)
    assert level.run(12)[1].largest_violation < 0.03


@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_few_more_left_out_of_a_factored_matrix_are_left_out_exactly(count: int) -> None:
    stays = SamePlace(point=PointRef(point="LeftToeBase"), height=0.02, start=0.2, end=0.9)
    _, _, linear, _ = made(stays, *constraints())
    before = linear.inactive | (linear.step_pattern.layout.one_sided & (np.arange(len(linear.values)) % 3 == 0))
    linear._solve(linear.values, 0.0, before)
    known = linear.factored[-1]
    spare = np.flatnonzero(~before & linear.step_pattern.layout.is_residual)
    out = before.copy()
    out[spare[:: len(spare) // count][:count]] = True
    assert known.exclude(out)
    np.testing.assert_array_equal(known.excluded, out)
    found = known.forces(linear.values)
    assert not known.exclude(before), "what was taken out does not come back"
    linear.factored.clear()
    again, *_ = linear._solve(linear.values, 0.0, out)
    np.testing.assert_allclose(found, again, rtol=1e-6, atol=1e-9 * np.abs(found).max())
    assert np.all(found[out] == 0.0)


def test_what_a_step_would_come_to_violate_takes_part_in_it() -> None:
    """The answer of the linear problem: nothing one-sided is pulled, and nothing that is left out is violated."""
    places = fk(walk()).points(["LeftHand", "LeftForeArm"])
    asked = (
        Place(point=PointRef(point="LeftHand"), target=places[60, 0] - [0.0, 0.2, 0.0], instants=(1.0,)),
        Region(point=PointRef(point="LeftForeArm"), centre=places[:, 1].min(axis=0) - [0.0, 0.01, 0.0]),
    )
    sample, curves, _, now = made(*asked)
    plan = StepPattern.of(now, active_rows(now, 0.05), curves, STIFF * constraint_weights(sample, now.rows))
    none = np.zeros((len(sample.frames), len(curves.cost)))
    linear = plan.linearize(now, none, active_rows(now, 1e-4))
    one_sided, margin = plan.layout.one_sided, 1e-4
    assert linear.inactive.any()

    def after(keys: Keys) -> np.ndarray:
        return linear.values + np.einsum("ad,ad->a", linear.jacobian, curves.values(keys)[plan.layout.times])

    blind, _ = (after(linear.step(empty(curves), 0.0)[1]), linear.factored.clear())
    assert blind[one_sided].max() > 0.01
    forces, keys = linear.step(empty(curves), 0.0, margin)
    left, out = after(keys), linear.factored[-1].excluded
    assert not out[one_sided].all()
    assert forces[one_sided].min() >= 0.0
    assert np.all(forces[out] == 0.0)
    assert left[out & one_sided].max() <= margin
    heavy = STIFF * constraint_weights(sample, now.rows)[plan.layout.constraint]
    np.testing.assert_allclose(left[~out], (forces / heavy)[~out], rtol=1e-6, atol=1e-9)


def test_completing_an_evaluation_gives_what_measuring_all_gives() -> None:
    problem = Problem(actors=(Actor(motion=walk()),), constraints=constraints())
    frames = np.arange(len(problem.times))
    some = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames, constraint_indices=(1, 3))
    rng = np.random.default_rng(5)
    at = 0.1 * rng.normal(size=(len(frames), len(problem.metric)))
    whole = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames).measure(at)
    found = some.measure(at).completed()
    assert found.sample.constraint_indices is None
    np.testing.assert_allclose(found.values, whole.values, atol=1e-12)
    np.testing.assert_allclose(found.flat_violation, whole.flat_violation, atol=1e-12)
    relations = [target.constraint.relation for target in found.sample.targets]
    assert relations == [Relation.EQUAL, Relation.EQUAL, Relation.AT_MOST, Relation.AT_MOST]


def test_a_constraint_is_evaluated_at_shared_frames_and_at_its_own_ends() -> None:
    """Not where another one begins or ends. Near an end a shared frame counts less."""
    first = Place(point=PointRef(point="LeftHand"), target=np.zeros(3), start=0.5, end=1.5)
    second = Place(point=PointRef(point="Head"), target=np.zeros(3), start=0.95, end=1.25)
    problem = Problem(actors=(Actor(motion=walk()),), constraints=(first, second))
    shared = np.arange(0, walk().num_frames, 20)
    sample = ProblemAtFrames(
        problem=problem,
        bodies=problem.bodies,
        frames=np.unique(np.concatenate([shared, [30, 57, 75, 90]])),
        shared_frames=shared,
    )
    assert sample.frames[sample.frame_indices[0]].tolist() == [30, 40, 60, 80, 90]
    assert sample.frames[sample.frame_indices[1]].tolist() == [57, 60, 75]
    assert sample.frame_weights is not None
    np.testing.assert_allclose(sample.frame_weights[0], [1.0, 0.5, 1.0, 0.5, 1.0])
    np.testing.assert_allclose(sample.frame_weights[1], [1.0, 3 / 20, 1.0])
    weights = sample.measure().weights
    np.testing.assert_allclose(weights, [*(3 * [1.0, 0.5, 1.0, 0.5, 1.0]), *(3 * [1.0, 3 / 20, 1.0])])


def test_the_merit_of_a_free_place_is_that_of_its_weighted_mean() -> None:
    plant = SamePlace(point=PointRef(point="LeftHand"), start=0.5, end=1.5)
    problem = Problem(actors=(Actor(motion=walk()),), constraints=(plant,))
    shared = np.arange(0, walk().num_frames, 25)
    frames = np.unique(np.concatenate([shared, [30, 90]]))
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames, shared_frames=shared)
    evaluation = sample.measure()
    values, weights = evaluation.rows[0].values, evaluation.weights[: len(sample.frame_indices[0])]
    least = sum(float(weights @ (column - weights @ column / weights.sum()) ** 2) for column in np.asarray(values).T)
    assert penalty(evaluation, np.array([2.0])) == pytest.approx(least)
