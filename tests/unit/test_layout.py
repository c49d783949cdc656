"""Residuals side by side: the quick ways to values, derivatives, penalties and steps are the plain ones' equals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import normalize
from understudy.base.splines import Knots, every_frame
from understudy.constraints import kinds
from understudy.constraints.attach import Attach
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Relation
from understudy.constraints.direction import Direction
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.limits import joint_limits
from understudy.figure.motion import Motion
from understudy.solve.evaluation import FRAMES_PER_BLOCK, Evaluation, ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.dual import Curves
from understudy.solve.solvers.newton import (
    ResidualLayout,
    StepPattern,
    active_rows,
    constraint_weights,
    penalty,
    within_tolerance,
    worst_violation,
)


@cache
def walk() -> Motion:
    return samples.motion("walk", fps=120.0, seconds=3.0).motion


def constraints() -> tuple[Constraint, ...]:
    """Kinds whose derivatives never change and kinds whose do, on one actor, on the other, and on both."""
    tilted = np.array([0.1, 1.0, -0.05])
    return (
        SamePlace(point=PointRef(point="LeftToeBase"), height=0.02, start=0.5, end=1.2),
        SamePlace(point=PointRef(point="RightToeBase", actor="b"), start=0.4, end=0.9),
        Place(point=PointRef(point="LeftHand"), target=np.array([0.3, 1.2, 0.5]), axes="xz", start=1.0, end=2.0),
        Region(
            point=PointRef(point="RightToeBase"), shape="half_space", centre=np.array([0.0, 0.3, 0.0]), normal=tilted
        ),
        Attach(point=PointRef(point="RightHand"), to=PointRef(point="LeftHand", actor="b"), start=0.2, end=2.5),
        Direction(tail=PointRef(point="Hips"), head=PointRef(point="Head"), direction=np.array([0.0, 1.0, 0.2])),
        Place(point=PointRef(point="Head", actor="b"), target=np.zeros(3), instants=(0.5, 2.0)),
        *joint_limits(walk(), actor="a", only={"LeftLeg", "LeftUpLeg"})[0],
    )


@cache
def sample() -> ProblemAtFrames:
    actors = (Actor(motion=walk(), name="a"), Actor(motion=walk(), name="b"))
    problem = Problem(actors=actors, constraints=constraints())
    return ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))


def displaced(size: float) -> Evaluation:
    rng = np.random.default_rng(3)
    return sample().measure(size * rng.normal(size=(len(sample().frames), sample().bodies_at_frames.num_coordinates)))


@pytest.mark.parametrize("size", [0.0, 0.3])
def test_rows_of_all_constraints_have_the_derivatives_of_each(size: float) -> None:
    assert len(sample().frames) > FRAMES_PER_BLOCK, "more than one piece, for this to mean anything"
    evaluation = displaced(size)
    layout = ResidualLayout.from_evaluation(evaluation, active_rows(evaluation, np.inf))
    found = layout.jacobian(evaluation)
    for which in range(len(sample().targets)):
        mine = np.flatnonzero(layout.constraint == which)
        assert len(mine)
        each = evaluation.jacobian(which, (layout.at[mine], layout.row[mine]))
        np.testing.assert_allclose(found[mine], each, atol=1e-12)
        assert np.abs(each).max() > 0.1


def test_residuals_of_many_constraints_measured_again_are_those_of_each() -> None:
    """Sums of point coordinates come from how far the points moved, the others from their own measurement."""
    displaced(0.0).values.sum()
    assert len(sample().point_sums.terms) == 3, "a tilted floor reads all three coordinates of its point"
    assert 0 < len(sample().point_sums.others) < len(sample().targets)
    evaluation = displaced(0.3)
    plain = np.concatenate([rows.values.T.ravel() for rows in evaluation.rows])
    np.testing.assert_allclose(evaluation.values, plain, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_measuring_gives_the_values_of_the_rows(kind: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng([seed, *kind.encode()])
        constraint = kinds()[kind].example(rng)
        points = rng.normal(size=(9, len(constraint.point_refs()), 3))
        turns = normalize(rng.normal(size=(9, len(constraint.joints()), 4)))
        view = ConstraintInput(times=np.linspace(0.0, 1.0, 9), points=points, local_rotations=turns)
        rows, measured = constraint.rows(view), constraint.measure(view)
        np.testing.assert_allclose(measured.values, rows.values, atol=1e-12)
        assert (measured.same_as_previous is None) == (rows.same_as_previous is None)
        if rows.same_as_previous is not None:
            np.testing.assert_array_equal(measured.same_as_previous, rows.same_as_previous)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_derivatives_that_are_said_to_be_constant_are(kind: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng([seed, *kind.encode()])
        constraint = kinds()[kind].example(rng)
        points = rng.normal(size=(9, len(constraint.point_refs()), 3))
        turns = normalize(rng.normal(size=(9, len(constraint.joints()), 4)))
        rows, constant = (
            constraint.rows(ConstraintInput(times=np.linspace(0.0, 1.0, 9), points=points, local_rotations=turns)),
            constraint.constant(),
        )
        if constant is not None:
            assert rows.d_rotations is None
            assert rows.d_points is not None
            np.testing.assert_array_equal(rows.d_points, np.broadcast_to(constant, rows.d_points.shape))


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_measuring_many_gives_what_measuring_each_gives(kind: str) -> None:
    rng = np.random.default_rng([7, *kind.encode()])
    many = [kinds()[kind].example(rng) for _ in range(24)]
    views = []
    for number, each in enumerate(many):
        count = 9 if number % 3 else 4
        points = rng.normal(size=(count, len(each.point_refs()), 3))
        turns = normalize(rng.normal(size=(count, len(each.joints()), 4)))
        views.append(ConstraintInput(times=np.linspace(0.0, 1.0, count), points=points, local_rotations=turns))
    for each, view, rows in zip(many, views, kinds()[kind].measure_all(many, views), strict=True):
        np.testing.assert_allclose(rows.values, each.rows(view).values, atol=1e-12)


@pytest.mark.parametrize("size", [0.0, 0.3])
def test_many_constraints_at_once_are_off_by_as_much_as_each(size: float) -> None:
    evaluation = displaced(size)
    each = evaluation.violation
    np.testing.assert_allclose(worst_violation(evaluation), [off.max() for off in each], atol=1e-12)
    heavy = constraint_weights(evaluation.sample, evaluation.rows)
    expected = 0.5 * sum(float(h * (off**2).sum()) for h, off in zip(heavy, each, strict=True))
    assert penalty(evaluation) == pytest.approx(expected, rel=1e-12)
    worst = {Relation.EQUAL: 0.0, Relation.AT_MOST: 0.0}
    for off, target in zip(each, evaluation.sample.targets, strict=True):
        asked = target.constraint
        worst[asked.relation] = max(worst[asked.relation], off.max(initial=0.0) / asked.tolerance)
    equal, at_most = worst.values()
    assert equal > 0.0
    assert within_tolerance(evaluation, 1.001 * equal, 1.001 * at_most)
    assert not within_tolerance(evaluation, 0.999 * equal, np.inf)
    assert at_most == 0.0 or not within_tolerance(evaluation, np.inf, 0.999 * at_most)


def test_a_constraint_holds_where_it_says_and_not_in_its_pauses() -> None:
    times = walk().times
    held = Region(
        point=PointRef(point="Hips"),
        centre=np.zeros(3),
        start=0.2,
        end=2.75,
        pauses=((0.0, 0.3), (1.0, 1.5), (1.4, 2.0)),
    ).frames(times)
    inside = (times >= 0.2 - 1e-6) & (times <= 2.75 + 1e-6)
    for begin, end in ((0.0, 0.3), (1.0, 1.5), (1.4, 2.0)):
        inside &= (times < begin - 1e-6) | (times > end + 1e-6)
    np.testing.assert_array_equal(held, np.flatnonzero(inside))
    at_instants = Region(
        point=PointRef(point="Hips"), centre=np.zeros(3), instants=(0.5, 1.2, 2.5), pauses=((1.0, 1.5),)
    )
    np.testing.assert_array_equal(times[at_instants.frames(times)], [0.5, 2.5])


@pytest.mark.parametrize("keys", ["frames", "wide"])
def test_what_would_be_pulled_is_left_out_and_the_rest_is_in_balance(keys: str) -> None:
    """Forces on one-sided residuals only push, and with those on the others they solve the step's equations."""
    evaluation = displaced(0.05)
    times = sample().times
    basis = every_frame(times) if keys == "frames" else Knots.uniform(times[-1], 0.2).basis(times)
    metric = sample().problem.metric
    curves = Curves(bases=(basis,), groups=(np.arange(len(metric)),), cost=metric)
    active = active_rows(evaluation, 0.5)
    plan = StepPattern.of(evaluation, active, curves, 1e3 * constraint_weights(sample(), evaluation.rows))
    linear = plan.linearize(evaluation, np.zeros((len(times), len(metric))), active)
    forces, _ = linear.step((np.zeros((basis.num_keys, len(metric))),), 0.0)
    layout, pattern = plan.layout, plan.pattern
    assert np.any(linear.values[layout.one_sided] < 0.0), "some must be near enough to be pulled at first"
    assert np.all(forces[layout.one_sided] >= 0.0)
    out = linear.factored[-1].excluded
    assert np.all(layout.one_sided[out])
    assert out.any()
    band = pattern.add_compliance(pattern.band(linear.jacobian), plan.compliance)
    product = np.zeros(len(forces))
    for gap in range(band.shape[1]):
        count = len(forces) - gap
        product[:count] += band[:count, gap] * forces[gap:]
        if gap:
            product[gap:] += band[:count, gap] * forces[:count]
    left = ~out & layout.is_residual
    np.testing.assert_allclose(product[left], linear.values[left], atol=1e-7 * np.abs(linear.values).max())
