"""The solvers other than the default: derivatives, linear steps, options and characteristic faults."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from understudy.base.errors import MissingPackageError, OptionError
from understudy.base.quaternion import angle_between, exp, from_axis_angle, slerp
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.figure.bands import energy_above
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.descent import Descent, DescentStep, LinearizedProblem, conjugate_gradients
from understudy.solve.solvers.ik import Ik
from understudy.solve.solvers.ik_lowpass import IkLowpass
from understudy.solve.solvers.keyed import Keyed, slerp_vectors
from understudy.solve.solvers.least_squares import LeastSquares
from understudy.solve.solvers.lmult import Lmult
from understudy.solve.solvers.reference import Reference
from understudy.solve.solvers.sqp import Sqp

STEPPERS = [LeastSquares(accuracy=1e-12), Lmult(), Lmult(method="gradients", accuracy=1e-12), Sqp(softness=1e-5)]


def limb(num_frames: int = 31) -> Motion:
    """A ball joint as shoulder and a hinge as elbow, both swinging, on a root that moves forwards."""
    axes = np.zeros((3, 3, 3))
    axes[:2], axes[2, 0] = np.eye(3), (0.0, 0.0, 1.0)
    skeleton = Skeleton(
        names=("root", "shoulder", "elbow"),
        parents=[-1, 0, 1],
        offsets=np.array([[0.0, 1.0, 0.0], [0.0, 0.2, 0.0], [0.5, 0.0, 0.0]]),
        kinds=(JointKind.FREE, JointKind.BALL, JointKind.HINGE),
        axes=axes,
        ends=(Point(name="tip", joint="elbow", offset=np.array([0.4, 0.0, 0.0])),),
    )
    still = rest_motion(skeleton, fps=30.0, num_frames=num_frames)
    t, rotations = still.times[:, None], still.rotations.copy()
    rotations[:, 1] = exp(np.array([0.2, 0.3, 0.5]) * np.sin(2.0 * t + np.array([0.0, 0.5, 1.0])))
    rotations[:, 2] = from_axis_angle([0.0, 0.0, 1.0], 0.8 + 0.3 * np.sin(3.0 * t[:, 0]))
    root = still.root + np.array([0.4, 0.0, 0.0]) * t
    return Motion(skeleton=skeleton, fps=30.0, root=root, rotations=rotations)


def held(motion: Motion) -> Problem:
    """A place, plants and a floor: every type of residual row."""
    return Problem(
        actors=(Actor(motion=motion),),
        constraints=(
            Place(point=PointRef(point="tip"), target=np.array([0.7, 1.5, 0.1]), instants=(0.2,), weight=2.0),
            SamePlace(point=PointRef(point="tip"), start=0.4, end=0.8),
            SamePlace(point=PointRef(point="elbow"), start=0.6, end=1.0, height=1.3),
            Region(point=PointRef(point="elbow"), centre=np.array([0.0, 1.25, 0.0])),
        ),
    )


@pytest.mark.parametrize("size", [1e-6, 0.3, 1.5, 2.8])
@pytest.mark.parametrize("share", [0.0, 0.35, 1.0])
def test_slerp_of_vectors_and_its_derivatives(rng: np.random.Generator, size: float, share: float) -> None:
    a, b = rng.normal(size=(2, 5, 3))
    a, b = size * a / np.linalg.norm(a, axis=1)[:, None], 0.8 * size * b / np.linalg.norm(b, axis=1)[:, None]
    shares = np.full(5, share)
    value, by_a, by_b = slerp_vectors(a, b, shares)
    np.testing.assert_allclose(angle_between(exp(value), slerp(exp(a), exp(b), shares)), 0.0, atol=1e-7)
    for axis in range(3):
        h = 1e-6 * np.eye(3)[axis]
        numeric_a = (slerp_vectors(a + h, b, shares)[0] - slerp_vectors(a - h, b, shares)[0]) / 2e-6
        numeric_b = (slerp_vectors(a, b + h, shares)[0] - slerp_vectors(a, b - h, shares)[0]) / 2e-6
        np.testing.assert_allclose(by_a[..., axis], numeric_a, atol=1e-6)
        np.testing.assert_allclose(by_b[..., axis], numeric_b, atol=1e-6)


@pytest.mark.parametrize("solver", [Lmult(), Keyed(), Keyed(interpolation="cubic"), Keyed(keys=(0.3, 0.5))], ids=repr)
def test_residuals_by_keys_are_finite_differences(solver: Descent, rng: np.random.Generator) -> None:
    problem = held(limb())
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(31))
    curve = solver.curve(problem, sample)
    keys = 0.3 * rng.normal(size=(curve.num_keys, len(problem.metric)))
    way = rng.normal(size=keys.shape)
    linear = LinearizedProblem.of(sample.evaluate(curve.values(keys)), curve, keys, np.inf)

    def residuals(at: np.ndarray) -> np.ndarray:
        return linear.centre(linear.layout.values(sample.evaluate(curve.values(at))))

    numeric = (residuals(keys + 1e-6 * way) - residuals(keys - 1e-6 * way)) / 2e-6
    np.testing.assert_allclose(linear.jacobian_product(way.ravel()), numeric, atol=1e-7)
    forces = rng.normal(size=len(linear.values))
    assert linear.transpose_product(forces) @ way.ravel() == pytest.approx(
        forces @ linear.jacobian_product(way.ravel())
    )


def test_linked_rows_are_relative_to_their_mean_or_are_differences() -> None:
    problem = held(limb())
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(31))
    curve = Lmult().curve(problem, sample)
    keys = np.zeros((curve.num_keys, len(problem.metric)))
    linear = LinearizedProblem.of(sample.evaluate(curve.values(keys)), curve, keys, np.inf)
    tip = fk(problem.actors[0].motion).points(["tip"])[12:25, 0]
    rows = linear.layout.constraint == 1
    expected = tip - tip.mean(axis=0)
    np.testing.assert_allclose(linear.values[rows].reshape(-1, 3), expected, atol=1e-12)
    selection = linear.differences(rows)
    np.testing.assert_allclose((selection @ linear.values).reshape(-1, 3), np.diff(tip, axis=0), atol=1e-12)


def test_conjugate_gradients_solve(rng: np.random.Generator) -> None:
    square = rng.normal(size=(12, 12))
    system, right = square @ square.T + np.diag(10.0 ** rng.uniform(-1, 3, 12)), rng.normal(size=12)
    solution = conjugate_gradients(
        lambda x: system @ x, right, lambda x: x / np.diag(system), accuracy=1e-13, rounds=200
    )
    np.testing.assert_allclose(solution, np.linalg.solve(system, right), rtol=1e-8)
    again = conjugate_gradients(
        lambda x: system @ x, right, lambda x: x / np.diag(system), start=solution, accuracy=1e-6, rounds=0
    )
    np.testing.assert_array_equal(again, solution)
    assert np.all(conjugate_gradients(lambda x: x, np.zeros(3), lambda x: x, accuracy=1e-6, rounds=5) == 0.0)


def test_all_methods_give_the_same_step() -> None:
    """Normal equations, multipliers and the full system find the same smallest change."""
    problem = held(limb())
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(31))
    curve = Lmult().curve(problem, sample)
    keys = np.zeros((curve.num_keys, len(problem.metric)))
    linear = LinearizedProblem.of(sample.evaluate(curve.values(keys)), curve, keys, np.inf)
    active = ~linear.layout.one_sided | (linear.values > 0.0)
    assert (linear.layout.one_sided & active).any(), "the floor must be broken somewhere"
    cost = np.tile(problem.metric, curve.num_keys)
    step = DescentStep(linear=linear, active=active, residual=linear.values, cost=cost, softness=1e-5)
    rows = np.stack([linear.centre(column) for column in linear.matrix.toarray().T], axis=1)[active]
    weights = linear.weights[active] / 1e-5
    system = np.diag(cost) + rows.T @ (weights[:, None] * rows)
    expected = np.linalg.solve(system, -rows.T @ (weights * linear.values[active]))
    for solver in (*STEPPERS, Keyed()):
        result, forces = solver.linear_step(step)
        np.testing.assert_allclose(result, expected, atol=1e-6, err_msg=repr(solver))
        np.testing.assert_allclose(linear.transpose_product(forces), -cost * result, atol=1e-4, err_msg=repr(solver))
        assert np.all(forces[~active] == 0.0)


@pytest.mark.parametrize("solver", [LeastSquares(), Lmult(), Sqp()], ids=lambda s: s.name)
def test_keys_too_far_apart_do_not_diverge(solver: Descent) -> None:
    """A hold starts in the middle of a swing. Keys 8 frames apart cannot follow it, but the result stays bounded."""
    motion = limb(61)
    target = fk(motion).points(["tip"])[30, 0] + np.array([0.1, 0.1, -0.1])
    hold = Place(point=PointRef(point="tip"), target=target, start=1.0)
    solution = replace(solver, spacing=8.0 / 30.0).solve(Problem(actors=(Actor(motion=motion),), constraints=(hold,)))
    assert solution.outcomes[0].worst < 0.05
    assert angle_between(solution.motion.rotations, motion.rotations).max() < 1.5
    assert np.linalg.norm(solution.motion.root - motion.root, axis=1).max() < 1.0


def snapping() -> tuple[Motion, Problem]:
    motion = limb(61)
    target = fk(motion).points(["tip"])[40, 0] + np.array([-0.25, 0.2, 0.0])
    hold = Place(point=PointRef(point="tip"), target=target, start=1.2, end=1.4)
    return motion, Problem(actors=(Actor(motion=motion, root_moves=False),), constraints=(hold,))


def test_frame_by_frame_snaps() -> None:
    """[Gleicher98, figure 3]: met at every frame, with a jump where the constraint starts."""
    motion, problem = snapping()
    solution = Ik().solve(problem)
    assert solution.outcomes[0].worst < 1e-4
    np.testing.assert_array_equal(solution.motion.rotations[35], motion.rotations[35])
    jump = np.diff(fk(solution.motion).points(["tip"])[:, 0] - fk(motion).points(["tip"])[:, 0], axis=0)
    assert np.linalg.norm(jump[35]) > 0.1
    assert energy_above(solution.motion, [8.0])[0] > 5.0 * energy_above(Lmult().solve(problem).motion, [8.0])[0]


def test_smoothing_violates_the_constraint() -> None:
    """[Gleicher98, figure 4 C]: the snap is gone, but the hand no longer meets its constraint."""
    _, problem = snapping()
    sharp, smooth = Ik().solve(problem), IkLowpass().solve(problem)
    assert energy_above(smooth.motion, [8.0])[0] < 0.2 * energy_above(sharp.motion, [8.0])[0]
    assert smooth.outcomes[0].worst > 0.03
    assert smooth.unmet


def test_frame_by_frame_holds_a_plant_where_its_first_frame_is() -> None:
    motion = limb()
    plants = (
        SamePlace(point=PointRef(point="tip"), start=0.2, end=0.6),
        SamePlace(point=PointRef(point="elbow"), start=0.4, end=0.9),
    )
    solution = Ik().solve(Problem(actors=(Actor(motion=motion),), constraints=plants))
    assert not solution.unmet
    tips, elbows = (fk(solution.motion).points([p])[:, 0] for p in ("tip", "elbow"))
    np.testing.assert_allclose(tips[6:19], np.tile(fk(motion).points(["tip"])[6, 0], (13, 1)), atol=1e-4)
    # The second plant starts while the first holds: it stays where the solved frame is, not the original frame.
    np.testing.assert_allclose(elbows[12:28], np.tile(elbows[12], (16, 1)), atol=1e-4)
    assert np.linalg.norm(elbows[12] - fk(motion).points(["elbow"])[12, 0]) > 1e-3


def handhold() -> Problem:
    motion = limb(61)
    target = fk(motion).points(["tip"])[0, 0]
    return Problem(
        actors=(Actor(motion=motion, joints=("shoulder", "elbow"), root_moves=False),),
        constraints=(Place(point=PointRef(point="tip"), target=target, end=0.9),),
    )


def test_more_keys_hold_more_tightly() -> None:
    """[Vanderhyde03, results]: more keys hold the hand more closely."""
    worst = [Keyed(count=count).solve(handhold()).outcomes[0].mean for count in (2, 4, 6, 12)]
    assert worst == sorted(worst, reverse=True)
    assert worst[-1] < 0.2 * worst[0]


@pytest.mark.parametrize("interpolation", ["slerp", "cubic"])
def test_keyed_changes_only_the_chosen_joints(interpolation: str) -> None:
    problem = handhold()
    arm = replace(problem.actors[0], joints=("shoulder",))
    solution = Keyed(count=6, interpolation=interpolation).solve(replace(problem, actors=(arm,)))
    start = arm.motion
    np.testing.assert_array_equal(solution.motion.rotations[:, [0, 2]], start.rotations[:, [0, 2]])
    np.testing.assert_array_equal(solution.motion.root, start.root)
    assert angle_between(solution.motion.rotations[:, 1], start.rotations[:, 1]).max() > 0.01


def test_keyed_turns_at_constant_speed_between_keys_and_stays_beyond_them() -> None:
    problem = handhold()
    start = problem.actors[0].motion.rotations[:, 1]
    moved = Keyed(keys=(0.2, 0.8)).solve(problem).motion.rotations[:, 1]
    from_start = np.einsum("fi,fi->f", start, moved)
    change = 2.0 * np.arccos(np.clip(np.abs(from_start), 0.0, 1.0))
    np.testing.assert_allclose(change[:7], change[0], atol=1e-6)
    np.testing.assert_allclose(change[24:], change[-1], atol=1e-6)
    assert abs(change[0] - change[-1]) > 1e-3


def test_one_key_gives_a_constant_change() -> None:
    problem = handhold()
    start = problem.actors[0].motion
    solution = Keyed(count=1).solve(problem).motion
    turned = angle_between(start.rotations[:, 1], solution.rotations[:, 1])
    np.testing.assert_allclose(turned, turned[0], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lmult(softness=0.0), "Solver `lmult`: expected softness above zero, got 0.0"),
        (lambda: Lmult(method="magic"), "expected method `direct` or `gradients`, got `magic`"),
        (lambda: Sqp(iterations=0), "Solver `sqp`: expected at least one iteration, got 0"),
        (lambda: Ik(error=-1.0), "Solver `ik`: expected error above zero, got -1.0"),
        (lambda: Ik(iterations=0), "Solver `ik`: expected at least one iteration, got 0"),
        (lambda: IkLowpass(cutoff=0.0), "expected a cutoff above zero hertz, got 0.0"),
        (lambda: Keyed(keys=(0.5, 0.2)), r"expected key times that rise, got \[0.5, 0.2\]"),
        (lambda: Keyed(count=0), "expected at least one key, got 0"),
        (lambda: Keyed(interpolation="bezier"), "expected interpolation `slerp` or `cubic`, got `bezier`"),
        (lambda: Reference(inner="simplex"), "expected inner `lbfgs` or `slsqp`, got `simplex`"),
        (lambda: Reference(seconds=0.0), "Solver `reference`: expected seconds above zero, got 0.0"),
    ],
)
def test_invalid_options_are_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OptionError, match=message):
        make()


@pytest.mark.parametrize("solver", [LeastSquares(), Lmult(), Sqp(), Keyed(), Ik()], ids=lambda s: s.name)
def test_time_and_iterations_are_limits(solver: Descent) -> None:
    problem = held(limb())
    assert replace(solver, seconds=1e-9).solve(problem).steps <= 1
    assert 1 <= replace(solver, iterations=2).solve(problem).steps <= 2 * (1 if isinstance(solver, Descent) else 6)


def test_progress_is_reported() -> None:
    reports: list[tuple[str, float]] = []
    Lmult().solve(held(limb()), lambda text, share: reports.append((text, share)))
    assert reports
    assert all(text.startswith("lmult: step") and 0.0 <= share < 1.0 for text, share in reports)


def test_reference_without_nlopt_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nlopt", None)
    with pytest.raises(MissingPackageError, match="needs the package `nlopt`") as caught:
        Reference().solve(held(limb()))
    assert caught.value.hint == "pip install 'understudy-motion[reference]'"


def test_reference_with_another_minimiser_inside() -> None:
    pytest.importorskip("nlopt", reason="the package nlopt is not installed")
    problem = handhold()
    solution = Reference(inner="slsqp", seconds=5.0).solve(problem)
    assert solution.outcomes[0].worst < 5e-3
