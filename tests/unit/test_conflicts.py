"""Explanations of unmet constraints: which constraints conflict with each other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import MAX_CONFLICTS, Solution
from understudy.solve.solvers.spacetime import Spacetime


@cache
def still() -> Motion:
    """Two seconds of a walk."""
    return samples.motion("walk", seconds=2.0).motion


def at(point: str, frame: int = 30) -> np.ndarray:
    return fk(still()).points([point])[frame, 0]


def solve(*constraints: Constraint, root_moves: bool = True) -> Solution:
    actor = Actor(motion=still(), root_moves=root_moves)
    return Spacetime().solve(Problem(actors=(actor,), constraints=constraints))


def hand(name: str, shift: tuple[float, float, float], **options: object) -> Place:
    return Place(point=PointRef(point="LeftHand"), target=at("LeftHand") + shift, instants=(1.0,), name=name, **options)  # type: ignore[arg-type]


def test_two_places_for_one_hand_name_only_each_other() -> None:
    other = Place(point=PointRef(point="RightFoot"), target=at("RightFoot"), instants=(1.0,), name="bystander")
    solution = solve(hand("here", (0.1, 0.0, 0.0)), hand("there", (-0.1, 0.0, 0.0)), other)
    assert sorted(solution.conflicts) == [
        "`here` cannot hold at 1.00 s while `there` does.",
        "`there` cannot hold at 1.00 s while `here` does.",
    ]


def test_a_target_out_of_reach_without_other_constraints_is_reported_as_such() -> None:
    solution = solve(hand("moon", (0.0, 30.0, 0.0)), root_moves=False)
    assert solution.conflicts == (
        "`moon` is not met at 1.00 s, but no other constraint is in the way: it may be out of reach.",
    )


def test_constraints_that_hold_the_body_back_are_named() -> None:
    """The feet are fixed and the hand is too high: the feet are named, a constraint at another time is not."""
    feet = tuple(
        Place(point=PointRef(point=f"{side}Foot"), target=at(f"{side}Foot"), instants=(1.0,), name=f"{side} foot")
        for side in ("Left", "Right")
    )
    elsewhere = Place(point=PointRef(point="RightHand"), target=at("RightHand", 3), instants=(0.1,), name="earlier")
    solution = solve(hand("moon", (0.0, 3.0, 0.0)), *feet, elsewhere)
    assert [o.constraint.label for o in solution.unmet] == ["moon"]
    assert len(solution.conflicts) == 1
    assert solution.conflicts[0].startswith("`moon` cannot hold at 1.00 s while `")
    assert "foot`" in solution.conflicts[0]
    assert "earlier" not in solution.conflicts[0]


def test_a_near_wall_is_named_and_a_distant_one_is_not() -> None:
    """A hand is pushed into a ceiling: the ceiling is named, a floor two metres below is not."""
    top = float(at("LeftHand")[1])
    ceiling = Region(
        point=PointRef(point="LeftHand"), shape="half_space", centre=np.array([0.0, top + 0.05, 0.0]),
        normal=np.array([0.0, -1.0, 0.0]), name="ceiling", weight=1e3,
    )  # fmt: skip
    floor = Region(point=PointRef(point="LeftHand"), centre=np.array([0.0, top - 2.0, 0.0]), name="floor")
    solution = solve(hand("up", (0.0, 0.3, 0.0)), ceiling, floor)
    sentence = next(c for c in solution.conflicts if c.startswith("`up`"))
    assert sentence == "`up` cannot hold at 1.00 s while `ceiling` does."


def test_only_the_violated_side_of_a_box_counts() -> None:
    """The hand is below a wide box but within its width: constraints along its width are not named."""
    middle = at("LeftHand") + np.array([1.0, 0.4, 0.0])
    box = Region(
        point=PointRef(point="LeftHand"), shape="box", centre=middle, size=np.array([4.0, 0.2, 4.0]), name="box",
        instants=(1.0,),
    )  # fmt: skip
    lid, side = (hand(name, (0.0, 0.0, 0.0), axes=axis, weight=1e3) for name, axis in (("lid", "y"), ("side", "x")))
    solution = solve(box, lid, side)
    assert [o.constraint.label for o in solution.unmet] == ["box"]
    assert solution.conflicts == ("`box` cannot hold at 1.00 s while `lid` does.",)


def test_an_unmet_plant_names_the_constraint_that_drags_it() -> None:
    start, end = (
        Place(
            point=PointRef(point="LeftFoot"), target=np.array([0.2, 0.1, z]), instants=(t,), name=f"at {t}", weight=1e4
        )
        for t, z in ((0.5, 0.0), (1.0, 0.5))
    )
    plant = SamePlace(point=PointRef(point="LeftFoot"), start=0.5, end=1.0, name="plant")
    solution = solve(start, end, plant)
    sentence = next(c for c in solution.conflicts if c.startswith("`plant`"))
    assert "`at 0.5`" in sentence or "`at 1.0`" in sentence


def test_several_equally_strong_constraints_are_listed() -> None:
    held = at("LeftHand")
    ropes = tuple(
        Distance(
            first="LeftHand", second=f"{side}Foot", name=f"{side} rope", instants=(1.0,),
            length=float(np.linalg.norm(held - at(f"{side}Foot"))), weight=100.0,
        )
        for side in ("Left", "Right")
    )  # fmt: skip
    feet = tuple(
        Place(point=PointRef(point=f"{side}Foot"), target=at(f"{side}Foot"), instants=(1.0,), name=side, weight=100.0)
        for side in ("Left", "Right")
    )
    solution = solve(hand("up", (0.0, 0.4, 0.0)), *ropes, *feet)
    sentence = next(c for c in solution.conflicts if c.startswith("`up`"))
    assert " and " in sentence
    assert sentence.endswith(" do.")
    assert "rope`" in sentence


def test_met_constraints_are_not_mentioned() -> None:
    assert solve(hand("near", (0.02, 0.0, 0.0))).conflicts == ()


@pytest.mark.parametrize("count", [MAX_CONFLICTS + 5])
def test_the_number_of_sentences_is_limited(count: int) -> None:
    """Many contradictions: a limited number of sentences, but the result counts all of them."""
    wild = [hand(f"w{i}", (0.3 * np.cos(i), 0.3 * np.sin(i), 0.0)) for i in range(count)]
    solution = solve(*wild)
    assert len(solution.unmet) >= MAX_CONFLICTS
    assert len(solution.conflicts) == MAX_CONFLICTS
    assert solution.result.startswith(f"{len(solution.unmet)} of {count} constraints are not met")
