"""What a solve that misses something takes in its place: by what is met, by what moves, and by the root's jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.spacetime import Attempt, Spacetime

FOOT = PointRef(point="LeftFoot")


def problem_of(*, yields: bool = True) -> Problem:
    """A walk with one constraint on a foot, which yields or does not."""
    place = SamePlace(point=FOOT) if yields else Place(point=FOOT, target=np.zeros(3))
    return Problem(actors=(Actor(motion=samples.motion("walk").motion[:60]),), constraints=(place,))


def attempt(problem: Problem, missed: float, *, moved: float = 0.0, jump: float = 0.0) -> Attempt:
    """An attempt that misses the constraint by so many metres, whose body is moved, and whose root jumps once."""
    body = problem.bodies[0]
    root = body.motion.root.copy()
    root[:, 0] += moved
    root[30, 1] += jump
    bodies = (body.with_motion(replace(body.motion, root=root)),)
    evaluation = ProblemAtFrames(problem=problem, bodies=bodies, frames=np.arange(60)).measure()
    excess = max(missed / problem.constraints[0].tolerance - 1.0, 0.0)
    unmet = frozenset([0] if excess > 0.0 else [])
    return Attempt(bodies=bodies, evaluation=evaluation, worst=np.array([missed]), unmet=unmet, excess=excess)


@pytest.mark.parametrize(
    ("missed", "moved", "is_better"),
    [
        (0.003, 0.01, True),
        (0.003, 0.25, False),
        (0.0, 0.25, True),
        (0.0041, 0.0, False),
    ],
)
def test_what_meets_more_is_taken_unless_it_moves_far_for_little(missed: float, moved: float, is_better: bool) -> None:
    problem = problem_of()
    best = attempt(problem, 0.004)
    assert Spacetime._is_better(problem, attempt(problem, missed, moved=moved), best) is is_better


def test_a_body_moves_as_far_as_it_must_for_what_does_not_yield() -> None:
    problem = problem_of(yields=False)
    assert Spacetime._is_better(problem, attempt(problem, 0.003, moved=0.25), attempt(problem, 0.004))


@pytest.mark.parametrize(("missed", "is_worth"), [(0.004, False), (0.05, True)])
def test_the_root_does_not_jump_for_what_nobody_sees(missed: float, is_worth: bool) -> None:
    problem = problem_of()
    result = attempt(problem, 0.0, jump=0.05)
    assert Spacetime._is_better(problem, result, attempt(problem, missed))
    assert Spacetime._is_worth(problem, result, attempt(problem, missed)) is is_worth
