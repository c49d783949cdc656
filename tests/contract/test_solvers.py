"""Every solver on a bank of small problems with known answers.

Solvers are registered automatically. A solver not listed in `EXPECTED` must meet the expectations of the default one.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

from understudy.base.plugins import scan
from understudy.base.splines import Knots
from understudy.constraints.base import PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import fk, joint_rotations
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Solution, Solver


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """The expected behaviour of a solver."""

    options: dict[str, object]
    tolerance: float = 1e-3
    """Metres: the largest violation allowed of a constraint over an interval."""
    smooths: bool = False
    """Whether it smooths its solution, which then violates the constraints."""
    spacing: float | None = None
    """Seconds between the keys of its spline; None if its change is not a spline."""
    shares: bool = True
    """Whether it distributes the error of contradictory constraints by weight, as least squares do."""


SPLINE = 4.0 / 30.0
CLOSE: dict[str, object] = {"softness": 1e-5}
"""These motions are free of noise, so constraints may be met closely."""
EXPECTED = {
    "ik": Expectation(options={}, tolerance=1e-4),
    "ik_lowpass": Expectation(options={}, smooths=True),
    "keyed": Expectation(options={"count": 21, **CLOSE}, tolerance=6e-3),
    "least_squares": Expectation(options=CLOSE, spacing=SPLINE),
    "lmult": Expectation(options=CLOSE, spacing=SPLINE),
    "reference": Expectation(options={"seconds": 5.0, "error": 1e-5}, tolerance=2e-3, spacing=SPLINE),
    "sqp": Expectation(options={}, spacing=SPLINE),
}
SOLVERS = {cls.name: cls for _, cls in scan("understudy.solve.solvers", "SOLVER")}
LENGTHS = (1.0, 0.8)


def cases() -> list[object]:
    missing = importlib.util.find_spec("nlopt") is None
    skip = pytest.mark.skipif(missing, reason="the package nlopt is not installed")
    return [pytest.param(name, marks=[skip] if name == "reference" else []) for name in SOLVERS]


@pytest.fixture(params=cases())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def expected(name: str) -> Expectation:
    return EXPECTED.get(name, Expectation(options={}, shares=False))


@pytest.fixture
def solver(name: str, expected: Expectation) -> Solver:
    return SOLVERS[name](**expected.options)


def arm(lengths: tuple[float, ...] = LENGTHS) -> Skeleton:
    """A chain of bones along x with hinges about z, on a fixed root."""
    names = ("root", *("upper", "lower", "hand")[: len(lengths)])
    axes = np.zeros((len(names), 3, 3))
    axes[0], axes[1:, 0] = np.eye(3), (0.0, 0.0, 1.0)
    offsets = np.zeros((len(names), 3))
    offsets[2:, 0] = lengths[:-1]
    return Skeleton(
        names=names,
        parents=[-1, *range(len(names) - 1)],
        offsets=offsets,
        kinds=(JointKind.FREE, *[JointKind.HINGE] * len(lengths)),
        axes=axes,
        ends=(Point(name="tip", joint=names[-1], offset=np.array([lengths[-1], 0.0, 0.0])),),
    )


def swing(angles: np.ndarray, *, skeleton: Skeleton | None = None, fps: float = 30.0) -> Motion:
    """The arm with given hinge angles (F, n)."""
    skeleton = skeleton or arm()
    full = np.zeros((len(angles), skeleton.num_joints, 3))
    full[:, 1:, 0] = angles
    rotations = joint_rotations(skeleton, full)
    return Motion(skeleton=skeleton, fps=fps, root=np.zeros((len(angles), 3)), rotations=rotations)


def waving(num_frames: int = 61) -> Motion:
    t = np.arange(num_frames)[:, None] / 30.0
    return swing(np.array([0.3, 0.9]) + np.array([0.2, 0.3]) * np.sin(2.0 * np.pi * 0.5 * t + np.array([0.0, 1.0])))


def hinge_angles(motion: Motion) -> np.ndarray:
    """(F, n) the angles about z."""
    return 2.0 * np.arctan2(motion.rotations[:, 1:, 3], motion.rotations[:, 1:, 0])


def actor(motion: Motion, *, name: str = "") -> Actor:
    return Actor(motion=motion, name=name, joints=motion.skeleton.names[1:], root_moves=False)


def tip(solution: Solution, which: int = 0) -> np.ndarray:
    return fk(solution.motions[which]).points(["tip"])[:, 0]


def assert_finite(solution: Solution) -> None:
    for motion in solution.motions:
        assert np.all(np.isfinite(motion.rotations))
        assert np.all(np.isfinite(motion.root))


def test_every_solver_has_a_docstring_and_its_name(name: str) -> None:
    assert SOLVERS[name].__doc__
    assert SOLVERS[name].name == name


def test_reach_at_an_instant(solver: Solver, expected: Expectation) -> None:
    """The elbow's angle follows from the law of cosines; the shoulder's from the direction."""
    motion, frame, target = waving(), 30, np.array([0.9, 1.1, 0.0])
    problem = Problem(
        actors=(actor(motion),),
        constraints=(Place(point=PointRef(point="tip"), target=target, axes="xy", instants=(1.0,)),),
    )
    solution = solver.solve(problem)
    assert_finite(solution)
    a, b = LENGTHS
    elbow = np.arccos((target @ target - a * a - b * b) / (2.0 * a * b))
    shoulder = np.arctan2(target[1], target[0]) - np.arctan2(b * np.sin(elbow), a + b * np.cos(elbow))
    answer, change = np.array([shoulder, elbow]), hinge_angles(solution.motion) - hinge_angles(motion)
    if expected.smooths:
        assert solution.unmet
        assert 0.0 < np.abs(change[frame]).max() < np.abs(answer - hinge_angles(motion)[frame]).max()
        return
    np.testing.assert_allclose(hinge_angles(solution.motion)[frame], answer, atol=2e-4)
    np.testing.assert_allclose(tip(solution)[frame], target, atol=1e-4)
    if expected.spacing is not None:
        # On a spline the smallest keys with one value at one time are proportional to their weights there.
        basis = Knots.uniform(motion.duration, expected.spacing).basis(motion.times)
        keys = np.zeros(basis.num_keys)
        keys[basis.keys[frame]] = basis.weights[frame] / (basis.weights[frame] ** 2).sum()
        shape = basis.values(keys[:, None])
        np.testing.assert_allclose(change, shape * (answer - hinge_angles(motion)[frame]), atol=1e-3)


def test_least_change_of_one_frame(solver: Solver) -> None:
    """Three hinges can reach a point in the plane in many ways; the cheapest is expected."""
    skeleton = arm((0.7, 0.6, 0.5))
    motion, target = swing(np.array([[0.2, 0.5, 0.4]]), skeleton=skeleton), np.array([0.6, 1.2, 0.0])
    problem = Problem(
        actors=(actor(motion),),
        constraints=(Place(point=PointRef(point="tip"), target=target, axes="xy", tolerance=1e-4),),
    )
    cost, start = problem.metric, hinge_angles(motion)[0]

    def reached(change: np.ndarray) -> np.ndarray:
        turned = np.cumsum(start + change)
        lengths = np.array([0.7, 0.6, 0.5])
        return np.array([lengths @ np.cos(turned), lengths @ np.sin(turned)]) - target[:2]

    best = minimize(
        lambda d: 0.5 * cost @ d**2,
        np.full(3, 0.1),
        constraints={"type": "eq", "fun": reached},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert best.success
    solution = solver.solve(problem)
    assert not solution.unmet
    change = hinge_angles(solution.motion)[0] - start
    assert 0.5 * cost @ change**2 <= 1.01 * best.fun
    np.testing.assert_allclose(change, best.x, atol=0.03)


def test_held_at_a_place(solver: Solver, expected: Expectation) -> None:
    motion, target = waving(), np.array([0.8, 1.0, 0.0])
    hold = Place(
        point=PointRef(point="tip"), target=target, axes="xy", start=0.6, end=1.4, tolerance=expected.tolerance
    )
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=(hold,)))
    assert_finite(solution)
    off = np.linalg.norm(tip(solution)[18:43] - target, axis=1)
    assert solution.outcomes[0].worst == pytest.approx(np.abs(tip(solution)[18:43] - target).max(), abs=1e-9)
    if expected.smooths:
        assert off.max() > 0.02, "a smoothed answer cannot follow the start of the hold"
        assert solution.unmet
        return
    assert off.max() < 2.0 * expected.tolerance
    assert not solution.unmet
    assert "all 1 constraints are met" in solution.result


def test_free_plant_stays_in_one_place(solver: Solver, expected: Expectation) -> None:
    motion = waving()
    plant = SamePlace(point=PointRef(point="tip"), start=0.6, end=1.4, tolerance=expected.tolerance)
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=(plant,)))
    held, before = tip(solution)[18:43], fk(motion).points(["tip"])[18:43, 0]
    spread = np.abs(held - held.mean(axis=0)).max()
    assert np.abs(before - before.mean(axis=0)).max() > 0.05, "the point must move in the original motion"
    if expected.smooths:
        assert spread > 1e-3
        return
    assert spread <= expected.tolerance
    assert not solution.unmet
    # Any position is allowed, but no solver has a reason to leave the original path.
    assert np.linalg.norm(held.mean(axis=0) - before.mean(axis=0)) < 1.5 * np.ptp(before, axis=0).max()


def test_above_a_floor(solver: Solver, expected: Expectation) -> None:
    motion = waving()
    height = float(np.quantile(fk(motion).points(["tip"])[:, 0, 1], 0.3))
    floor = Region(point=PointRef(point="tip"), centre=np.array([0.0, height, 0.0]), tolerance=2.0 * expected.tolerance)
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=(floor,)))
    assert_finite(solution)
    start, end = fk(motion).points(["tip"])[:, 0, 1], tip(solution)[:, 1]
    assert start.min() < height - 0.02
    assert end.min() > start.min() + 0.5 * (height - start.min())
    if expected.smooths:
        return
    assert end.min() >= height - 2.0 * expected.tolerance
    # Frames below the floor are lifted no further than needed, and frames above are not pulled down.
    assert end[start < height].min() < height + 0.02
    assert end.max() > start.max() - 0.05


def test_two_actors_at_a_distance(solver: Solver, expected: Expectation) -> None:
    first, second = waving(), waving()
    apart = Motion(
        skeleton=second.skeleton,
        fps=30.0,
        root=second.root + np.array([2.5, 0.0, 0.0]),
        rotations=second.rotations[::-1],
    )
    bar = Distance(
        first=PointRef(point="tip", actor="left"),
        second=PointRef(point="tip", actor="right"),
        length=1.9,
        start=0.5,
        end=1.5,
        tolerance=expected.tolerance,
    )
    problem = Problem(actors=(actor(first, name="left"), actor(apart, name="right")), constraints=(bar,))
    solution = solver.solve(problem)
    length = np.linalg.norm(tip(solution, 0) - tip(solution, 1), axis=1)[15:46]
    if expected.smooths:
        assert np.abs(length - 1.9).max() > 1e-3
        return
    assert np.abs(length - 1.9).max() <= expected.tolerance
    for motion, start in zip(solution.motions, (first, apart), strict=True):
        assert np.abs(hinge_angles(motion) - hinge_angles(start)).max() > 0.01, "both actors should move"


def test_unreachable(solver: Solver, expected: Expectation) -> None:
    """The arm points straight at a target that it cannot reach, and nothing diverges."""
    motion, target = waving(), np.array([1.5, 2.0, 0.0])
    far = Place(point=PointRef(point="tip"), target=target, axes="xy", start=0.8, end=1.2, name="too far")
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=(far,)))
    assert_finite(solution)
    assert [o.constraint.label for o in solution.unmet] == ["too far"]
    assert "too far" in solution.result
    off = np.linalg.norm(tip(solution) - target, axis=1)
    assert off.min() >= 2.5 - 1.8 - 1e-9
    assert np.abs(hinge_angles(solution.motion) - hinge_angles(motion)).max() < 2.5
    if not expected.smooths:
        np.testing.assert_allclose(off[24:37], 2.5 - 1.8, atol=0.02)


def test_contradictory(solver: Solver, expected: Expectation) -> None:
    """Two places at once: either the point goes half way and both are unmet, or one is met and the other is not."""
    motion, a, b = waving(), np.array([0.7, 1.0, 0.0]), np.array([0.9, 1.1, 0.0])
    both = tuple(
        Place(point=PointRef(point="tip"), target=t, axes="xy", instants=(1.0,), name=n)
        for t, n in ((a, "one"), (b, "two"))
    )
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=both))
    assert_finite(solution)
    unmet = {o.constraint.label for o in solution.unmet}
    if len(unmet) == 1:
        assert solution.solver == "spacetime"
        assert all(name in solution.conflicts[0] for name in ("`one`", "`two`", "cannot hold at 1.00 s"))
        kept = b if unmet == {"one"} else a
        np.testing.assert_allclose(tip(solution)[30], kept, atol=1e-3)
    else:
        assert unmet == {"one", "two"}
        if not expected.smooths:
            np.testing.assert_allclose(tip(solution)[30], 0.5 * (a + b), atol=1e-3)


def test_heavier_constraint_wins(solver: Solver, expected: Expectation) -> None:
    """Least squares distribute the error by weight; other solvers may leave all of it to the lighter constraint."""
    motion, a, b = waving(), np.array([0.7, 1.0, 0.0]), np.array([0.9, 1.1, 0.0])
    light = Place(point=PointRef(point="tip"), target=a, axes="xy", instants=(1.0,), name="light")
    heavy = Place(point=PointRef(point="tip"), target=b, axes="xy", instants=(1.0,), name="heavy", weight=3.0)
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=(light, heavy)))
    if expected.smooths:
        return
    place = tip(solution)[30]
    share = (place - a) @ (b - a) / ((b - a) @ (b - a))
    np.testing.assert_allclose(place, (1.0 - share) * a + share * b, atol=1e-3)
    assert 0.75 - 1e-3 <= share <= 1.0 + 1e-3
    if expected.shares:
        assert share == pytest.approx(0.75, abs=1e-3)


def test_satisfied_already(solver: Solver) -> None:
    motion = waving()
    place = fk(motion).points(["tip"])[30, 0]
    constraints = (
        Place(point=PointRef(point="tip"), target=place, axes="xy", instants=(1.0,)),
        Region(point=PointRef(point="tip"), centre=np.array([0.0, -3.0, 0.0])),
    )
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=constraints))
    np.testing.assert_array_equal(solution.motion.rotations, motion.rotations)
    np.testing.assert_array_equal(solution.motion.root, motion.root)
    assert not solution.unmet


def test_no_constraints(solver: Solver) -> None:
    motion = waving()
    solution = solver.solve(Problem(actors=(actor(motion),), constraints=()))
    np.testing.assert_array_equal(solution.motion.rotations, motion.rotations)
    assert solution.result == "there was nothing to meet"
    assert solution.steps == 0


def test_nothing_may_move(solver: Solver) -> None:
    motion = waving()
    still = Actor(motion=motion, moves=False)
    solution = solver.solve(
        Problem(actors=(still,), constraints=(Place(point=PointRef(point="tip"), target=np.array([0.0, 1.0, 0.0])),))
    )
    np.testing.assert_array_equal(solution.motion.rotations, motion.rotations)
    assert len(solution.unmet) == 1
