"""Every solver on random bodies with random, often impossible, demands: what comes out is a motion, and no worse."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from understudy.base.plugins import scan
from understudy.constraints import kinds
from understudy.constraints.base import PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import joint_rotations
from understudy.figure.motion import Motion
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Solution, Solver
from understudy.solve.solvers.newton import penalty

FOUND = {cls.name: cls for _, cls in scan("understudy.solve.solvers", "SOLVER")}
OPTIONS = {"reference": {"seconds": 0.5}}
"""The general solver takes all the time it is given on what cannot be met."""


@pytest.fixture(params=sorted(FOUND))
def solver(request: pytest.FixtureRequest) -> Solver:
    if request.param == "reference" and importlib.util.find_spec("nlopt") is None:
        pytest.skip("the package nlopt is not installed")
    return FOUND[request.param](**OPTIONS.get(request.param, {}))


def assert_finite(solution: Solution) -> None:
    for motion in solution.motions:
        assert np.all(np.isfinite(motion.rotations))
        assert np.all(np.isfinite(motion.root))


@pytest.mark.parametrize("seed", range(4))
def test_never_a_number_that_is_none(solver: Solver, seed: int, make_skeleton, make_motion) -> None:  # type: ignore[no-untyped-def]
    """Random bodies with random, often impossible, demands: whatever comes out is a motion."""
    rng = np.random.default_rng(seed)
    skeleton = make_skeleton(rng)
    motion = make_motion(skeleton, rng, num_frames=int(rng.integers(2, 14)), morph=seed % 2 == 1)
    joints = [str(rng.choice(skeleton.names[1:])) for _ in range(4)]
    constraints = (
        Place(point=PointRef(point="tip"), target=10.0 ** rng.uniform(-1, 1.5) * rng.normal(size=3)),
        Place(point=PointRef(point=joints[0]), target=rng.normal(size=3), instants=(0.0,), weight=1e3),
        SamePlace(point=PointRef(point=joints[1]), height=float(rng.normal())),
        SamePlace(point=PointRef(point="tip"), end=0.5 * motion.duration),
        Region(
            point=PointRef(point=joints[2]), shape="outside_sphere", centre=rng.normal(size=3), size=np.full(3, 2.0)
        ),
        Distance(first=PointRef(point="tip"), second=PointRef(point=joints[3]), length=0.5, bound="at_most"),
    )
    found = solver.solve(Problem(actors=(Actor(motion=motion),), constraints=constraints))
    assert_finite(found)
    assert np.abs(found.motion.root - motion.root).max() < 1e3
    assert all(np.isfinite(o.worst) for o in found.outcomes)


def random_actor(rng: np.random.Generator, name: str) -> Actor:
    """Four joints with a random motion, for the examples of every kind of constraint."""
    kinds_of_joint = (JointKind.FREE, JointKind.BALL, JointKind.HINGE, JointKind.BALL)
    axes = np.zeros((4, 3, 3))
    for joint, kind in enumerate(kinds_of_joint):
        axes[joint, : NUM_AXES[kind]] = np.linalg.qr(rng.normal(size=(3, 3)))[0][: NUM_AXES[kind]]
    skeleton = Skeleton(
        names=("root", "upper", "lower", "tip"),
        parents=[-1, 0, 1, 2],
        offsets=rng.normal(size=(4, 3)),
        kinds=kinds_of_joint,
        axes=axes,
        ends=(Point(name="end", joint="tip", offset=rng.normal(size=3)),),
    )
    rotations = joint_rotations(skeleton, rng.uniform(-1.0, 1.0, (6, 4, 3)))
    return Actor(
        motion=Motion(skeleton=skeleton, fps=30.0, root=rng.normal(size=(6, 3)), rotations=rotations), name=name
    )


def broken(problem: Problem, motions: tuple[Motion, ...]) -> float:
    """Half the sum of all squared violations of motions in place of the problem's own."""
    actors = tuple(replace(a, motion=m) for a, m in zip(problem.actors, motions, strict=True))
    moved = replace(problem, actors=actors)
    frames = np.arange(len(moved.times))
    sample = ProblemAtFrames(problem=moved, bodies=moved.bodies, frames=frames)
    return penalty(sample.evaluate(np.zeros((len(frames), sample.bodies_at_frames.num_coordinates))))


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_kind_of_constraint_is_brought_nearer(solver: Solver, kind: str) -> None:
    """Never worse than the start, except for the one that smooths its answer afterwards."""
    for seed in range(3):
        rng = np.random.default_rng([seed, *kind.encode()])
        demand = replace(kinds()[kind].example(rng), start=0.04, end=0.15, instants=())
        problem = Problem(actors=(random_actor(rng, "first"), random_actor(rng, "second")), constraints=(demand,))
        found = solver.solve(problem)
        assert_finite(found)
        before, after = broken(problem, tuple(a.motion for a in problem.actors)), broken(problem, found.motions)
        if solver.name != "ik_lowpass":
            assert after <= before + 1e-9
            assert after < before or before < 1e-4
