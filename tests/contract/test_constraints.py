"""The contract of every kind of constraint: exact derivatives, finite residuals, a unit, repeatable examples."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from understudy.base.quaternion import normalize
from understudy.constraints import Constraint, ConstraintInput, PointRef, Relation, kinds
from understudy.constraints.base import Unit
from understudy.constraints.direction import Direction
from understudy.constraints.function import Function
from understudy.figure.kinematics import fk, joint_rotations
from understudy.figure.motion import Motion
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.ik import Ik

SEEDS = range(24)
STEP = 1e-5


def make_actor(rng: np.random.Generator, name: str) -> Actor:
    """An actor with four joints of random kinds, axes, bones and motion, and an end point."""
    lower_kinds = rng.choice([JointKind.BALL, JointKind.BALL, JointKind.UNIVERSAL, JointKind.HINGE], 3)
    joint_kinds = (JointKind.FREE, *(JointKind(str(kind)) for kind in lower_kinds))
    axes = np.zeros((4, 3, 3))
    for joint, kind in enumerate(joint_kinds):
        axes[joint, : NUM_AXES[kind]] = np.linalg.qr(rng.normal(size=(3, 3)))[0][: NUM_AXES[kind]]
    skeleton = Skeleton(
        names=("root", "upper", "lower", "tip"),
        parents=np.array([-1, 0, 1, 2]),
        offsets=rng.normal(size=(4, 3)),
        rest=normalize(rng.normal(size=(4, 4))),
        kinds=joint_kinds,
        axes=axes,
        ends=(Point(name="end", joint="tip", offset=rng.normal(size=3)),),
    )
    rotations = joint_rotations(skeleton, rng.uniform(-1.0, 1.0, (6, 4, 3)))
    return Actor(
        motion=Motion(skeleton=skeleton, fps=30.0, root=rng.normal(size=(6, 3)), rotations=rotations), name=name
    )


def make_sample(kind: str, seed: int) -> ProblemAtFrames:
    rng = np.random.default_rng([seed, *kind.encode()])
    actors = (make_actor(rng, "first"), make_actor(rng, "second"))
    problem = Problem(actors=actors, constraints=(kinds()[kind].example(rng),))
    return ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(6))


def every_jacobian(sample: ProblemAtFrames, d: np.ndarray) -> np.ndarray:
    """(N, R, D) derivatives of all residuals."""
    evaluation = sample.evaluate(d)
    shape = evaluation.rows[0].values.shape
    at, row = (index.ravel() for index in np.indices(shape))
    return evaluation.jacobian(0, (at, row)).reshape(*shape, -1)


@pytest.mark.parametrize("size", [0.0, 0.4])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", sorted(kinds()))
def test_derivative_is_the_finite_difference(kind: str, seed: int, size: float) -> None:
    sample = make_sample(kind, seed)
    count = sample.bodies_at_frames.num_coordinates
    d = size * np.random.default_rng(seed).normal(size=(6, count))
    exact = every_jacobian(sample, d)
    measured = np.empty_like(exact)
    for c in range(count):
        step = STEP * np.eye(count)[c]

        # Richardson extrapolation of two steps removes most of the truncation error.
        def slope(h: float, step: np.ndarray = step) -> np.ndarray:
            ahead = sample.evaluate(d + h * step).rows[0].values
            behind = sample.evaluate(d - h * step).rows[0].values
            return (ahead - behind) / (2.0 * h * STEP)

        measured[..., c] = (4.0 * slope(5.0) - slope(10.0)) / 3.0
    scale = 1.0 + np.abs(exact).max(axis=-1, keepdims=True)
    assert np.all(np.isfinite(exact))
    np.testing.assert_allclose(exact / scale, measured / scale, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", sorted(kinds()))
def test_residuals_measured_again_are_those_of_a_fresh_measurement(kind: str, seed: int) -> None:
    sample = make_sample(kind, seed)
    d = 0.4 * np.random.default_rng(seed).normal(size=(6, sample.bodies_at_frames.num_coordinates))
    before = sample.measure().values.copy()
    again, fresh = sample.measure(d), make_sample(kind, seed).measure(d)
    np.testing.assert_allclose(again.values, fresh.values, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(fresh.values, np.concatenate([row.values.T.ravel() for row in fresh.rows]))
    np.testing.assert_array_equal(sample.measure().values, before)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_rows_fit_and_are_finite(kind: str) -> None:
    for seed in SEEDS:
        sample = make_sample(kind, seed)
        constraint = sample.problem.constraints[0]
        assert constraint.kind == kind
        assert constraint.relation in tuple(Relation)
        rows = sample.evaluate(np.zeros((6, sample.bodies_at_frames.num_coordinates))).rows[0]
        count = rows.values.shape[1]
        assert rows.values.shape == (6, count)
        assert np.all(np.isfinite(rows.values))
        assert (rows.d_points is None) == (not constraint.point_refs())
        assert (rows.d_rotations is None) == (not constraint.joints())
        if rows.d_points is not None:
            assert rows.d_points.shape == (6, count, len(constraint.point_refs()), 3)
        if rows.d_rotations is not None:
            assert rows.d_rotations.shape == (6, count, len(constraint.joints()), 3)
        assert constraint.label


def make_input(constraint: Constraint, rng: np.random.Generator, frames: int = 5) -> ConstraintInput:
    return ConstraintInput(
        times=np.linspace(0.0, 0.3, frames),
        points=rng.normal(size=(frames, len(constraint.point_refs()), 3)),
        local_rotations=normalize(rng.normal(size=(frames, len(constraint.joints()), 4))),
    )


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_examples_repeat_and_can_be_copied_by_their_fields(kind: str) -> None:
    any_different = False
    for seed in SEEDS:
        examples = [kinds()[kind].example(np.random.default_rng(seed)) for _ in range(2)]
        copy = type(examples[0])(**{field.name: getattr(examples[0], field.name) for field in fields(examples[0])})
        view = make_input(examples[0], np.random.default_rng(seed))
        values = [constraint.rows(view).values for constraint in (*examples, copy)]
        np.testing.assert_array_equal(values[0], values[1])
        np.testing.assert_allclose(values[0], values[2], atol=1e-12)
        other = kinds()[kind].example(np.random.default_rng(seed + 1000))
        any_different |= [s.point for s in other.point_refs()] != [
            s.point for s in examples[0].point_refs()
        ] or not np.array_equal(other.rows(make_input(other, np.random.default_rng(seed))).values, values[0])
    assert any_different, "every seed makes the same example"


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_frames_do_not_mix(kind: str) -> None:
    for seed in SEEDS:
        constraint = kinds()[kind].example(np.random.default_rng(seed))
        view = make_input(constraint, np.random.default_rng(seed))
        part = ConstraintInput(
            times=view.times[2:4], points=view.points[2:4], local_rotations=view.local_rotations[2:4]
        )
        np.testing.assert_allclose(constraint.rows(part).values, constraint.rows(view).values[2:4], atol=1e-12)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_no_frames_give_no_rows(kind: str) -> None:
    for seed in SEEDS:
        constraint = kinds()[kind].example(np.random.default_rng(seed))
        rows = constraint.rows(make_input(constraint, np.random.default_rng(seed), frames=0))
        some = constraint.rows(make_input(constraint, np.random.default_rng(seed), frames=1))
        assert rows.values.shape == (0, some.values.shape[1])


ANGULAR = sorted(kind for kind, cls in kinds().items() if cls.unit is Unit.RADIAN)
METRIC = sorted(kind for kind, cls in kinds().items() if cls.unit is Unit.METRE)


def largest_change(constraint: Constraint, seed: int) -> float:
    """The largest change of any residual when all points are scaled about the world's origin."""
    view = make_input(constraint, np.random.default_rng(seed))
    before, after = (constraint.rows(replace(view, points=scale * view.points)).values for scale in (1.0, 2.5))
    return float(np.abs(after - before).max())


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_kind_has_one_unit(kind: str) -> None:
    """For a `function` the user chooses the unit (field `angles`); its examples use the default, metres."""
    assert kinds()[kind].unit in tuple(Unit)
    for seed in SEEDS:
        constraint = kinds()[kind].example(np.random.default_rng(seed))
        assert constraint.angular == (constraint.unit is Unit.RADIAN)


@pytest.mark.parametrize("kind", ANGULAR)
def test_residuals_in_radians_do_not_change_with_scale(kind: str) -> None:
    for seed in SEEDS:
        constraint = kinds()[kind].example(np.random.default_rng(seed))
        assert constraint.point_refs() or constraint.joints()
        assert largest_change(constraint, seed) < 1e-9


@pytest.mark.parametrize("kind", METRIC)
def test_residuals_in_metres_change_with_scale(kind: str) -> None:
    """One example that changes is enough: a residual may be clipped or happen to stay the same at some points.

    The library cannot check the unit of a user's `function`. Its examples are in metres, so the test applies to them.
    """
    examples = [kinds()[kind].example(np.random.default_rng(seed)) for seed in SEEDS]
    assert all(constraint.point_refs() for constraint in examples)
    assert max(largest_change(constraint, seed) for seed, constraint in enumerate(examples)) > 0.1


def angle_at_middle(points: Any) -> Any:
    one, two = points[:, 0] - points[:, 1], points[:, 2] - points[:, 1]
    return np.arctan2(np.linalg.norm(np.cross(one, two), axis=-1), np.einsum("ni,ni->n", one, two)) - 1.0


def test_function_takes_its_unit_from_the_user() -> None:
    knee = Function(function=angle_at_middle, points=("upper", "lower", "tip"), angles=True)
    assert (knee.unit, replace(knee, angles=False).unit) == (Unit.RADIAN, Unit.METRE)
    assert knee.angular
    assert not replace(knee, angles=False).angular
    assert max(largest_change(knee, seed) for seed in SEEDS) < 1e-9


def test_kind_without_a_unit_is_refused() -> None:
    with pytest.raises(TypeError, match=r"`height` must say the unit .* Unit\.METRE or Unit\.RADIAN"):
        type("Height", (Constraint,), {"kind": "height"})


def test_unmet_direction_is_reported_in_radians() -> None:
    still = replace(make_actor(np.random.default_rng(0), "first"), moves=False)
    tail, head = (fk(still.motion).points([name])[0, 0] for name in ("lower", "tip"))
    opposite = Direction(
        tail=PointRef(point="lower"), head=PointRef(point="tip"), direction=tail - head, instants=(0.0,)
    )
    solution = Ik().solve(Problem(actors=(still,), constraints=(opposite,)))
    assert solution.outcomes[0].worst == pytest.approx(np.pi)
    assert "the worst is `direction lower tip`, off by 3.14 rad at 0.00 s" in solution.result
