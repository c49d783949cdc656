"""What a solve that misses something takes in its place: by what is met, by what moves, and by the root's jumps."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import fk
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.spacetime import (
    NUM_LIMB_REMEDIES,
    Attempt,
    Level,
    Spacetime,
    levels,
    remedies_of,
    unmet_spans,
)

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
    result = attempt(problem, 0.0, jump=0.03)
    assert Spacetime._is_better(problem, result, attempt(problem, missed))
    assert Spacetime._is_worth(problem, result, attempt(problem, missed)) is is_worth


def test_keys_are_denser_around_what_is_missed_only() -> None:
    """Misses near each other share a span, others have spans of their own."""
    problem = problem_of()
    foot = problem.bodies[0].motion
    held = replace(problem.constraints[0], start=0.5, end=1.5)
    problem = Problem(actors=problem.actors, constraints=(held,))
    frames = problem.constraint_frames[0]
    evaluation = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(60)).measure()
    missed = evaluation.violation[0].max(axis=1) > held.tolerance
    assert missed.any()
    best = Attempt(bodies=problem.bodies, evaluation=evaluation, unmet=frozenset([0]))
    spans = unmet_spans(problem, best, 0.1)
    times = foot.times[frames[missed]]
    assert spans[0][0] == pytest.approx(times[0] - 0.1)
    assert spans[-1][1] == pytest.approx(times[-1] + 0.1)
    assert all(any(first < time < last for first, last in spans) for time in times.tolist())
    assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))


def test_a_stiffer_last_level_follows_each_solve_of_the_whole_body() -> None:
    """Short plants at 30 Hz were met by it in a tenth of a millimetre, and missed without it."""
    passes = levels(fps=30.0)
    remedies = remedies_of(passes)
    assert [level.limbs for (level, *_) in remedies[:NUM_LIMB_REMEDIES]] == [True, True]
    whole = remedies[NUM_LIMB_REMEDIES:]
    assert [level.limbs for (level, *_) in whole] == [False, True, False, True]
    for (last,) in whole[1::2]:
        assert last.spacing == 0.0
        assert last.stiffness > passes[-1].stiffness
    assert remedies_of(passes[1:]) == []


def test_the_keys_of_a_level_are_said_in_words() -> None:
    wide = Level(spacing=0.2, rate=5.0, stiffness=10.0, steps=3)
    assert wide.keys == "every 200 ms"
    assert replace(wide, spacing=0.0).keys == "at every frame"
    denser = replace(wide, dense_spacing=0.1, dense_spans=((-0.1, 0.5), (1.0, 1.4)))
    assert denser.keys == "every 200 ms, and every 100 ms from 0.00 to 0.50 s and 1.00 to 1.40 s"


def test_what_denser_keys_do_not_meet_either_is_said() -> None:
    """A hand is to be in two places: denser keys around that time are tried, and the solution says so."""
    motion = samples.motion("walk", seconds=2.0).motion
    hand = fk(motion).points(["LeftHand"])[30, 0]
    apart = [
        Place(point=PointRef(point="LeftHand"), target=hand + np.array([x, 0.0, 0.0]), instants=(1.0,), name=name)
        for name, x in (("here", 0.1), ("there", -0.1))
    ]
    problem = Problem(actors=(Actor(motion=motion),), constraints=tuple(apart))
    solution = Spacetime().solve(problem)
    assert len(solution.conflicts) == 2
    assert solution.keys == (
        "Denser keys of the whole body were tried and meet no more: every 133 ms, and every 67 ms from 0.73 to 1.27 s."
    )
    assert solution.report().splitlines()[-1].strip() == solution.keys
    assert Spacetime().solve(Problem(actors=problem.actors, constraints=(apart[0],))).keys == ""
