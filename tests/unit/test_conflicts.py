"""Which constraints fight each other, said so that a user knows what to change."""

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
    """Two seconds of a walk: enough to stand on."""
    return samples.motion("walk", seconds=2.0).motion


def at(point: str, frame: int = 30) -> np.ndarray:
    return fk(still()).points([point])[frame, 0]


def solve(*constraints: Constraint, root_moves: bool = True) -> Solution:
    actor = Actor(motion=still(), root_moves=root_moves)
    return Spacetime().solve(Problem(actors=(actor,), constraints=constraints))


def hand(name: str, shift: tuple[float, float, float], **options: object) -> Place:
    return Place(spot=PointRef(point="LeftHand"), target=at("LeftHand") + shift, instants=(1.0,), name=name, **options)  # type: ignore[arg-type]


def test_two_places_for_one_hand_name_each_other_and_nobody_else() -> None:
    other = Place(spot=PointRef(point="RightFoot"), target=at("RightFoot"), instants=(1.0,), name="bystander")
    found = solve(hand("here", (0.1, 0.0, 0.0)), hand("there", (-0.1, 0.0, 0.0)), other)
    assert sorted(found.conflicts) == [
        "`here` cannot hold at 1.00 s while `there` does.",
        "`there` cannot hold at 1.00 s while `here` does.",
    ]


def test_out_of_reach_with_nothing_in_the_way_is_the_bodys_own_size() -> None:
    found = solve(hand("moon", (0.0, 30.0, 0.0)), root_moves=False)
    assert found.conflicts == (
        "`moon` cannot be reached at 1.00 s: no other constraint is in the way, it is beyond the body's reach.",
    )


def test_what_holds_the_body_back_is_named() -> None:
    """Feet pinned, hand too high: the feet are named, and what holds at another time is not."""
    feet = tuple(
        Place(spot=PointRef(point=f"{side}Foot"), target=at(f"{side}Foot"), instants=(1.0,), name=f"{side} foot")
        for side in ("Left", "Right")
    )
    elsewhere = Place(spot=PointRef(point="RightHand"), target=at("RightHand", 3), instants=(0.1,), name="earlier")
    found = solve(hand("moon", (0.0, 3.0, 0.0)), *feet, elsewhere)
    assert [o.constraint.label for o in found.unmet] == ["moon"]
    assert len(found.conflicts) == 1
    assert found.conflicts[0].startswith("`moon` cannot hold at 1.00 s while `")
    assert "foot`" in found.conflicts[0]
    assert "earlier" not in found.conflicts[0]


def test_a_wall_in_the_way_is_named_and_one_far_off_is_not() -> None:
    """Pushed into a ceiling: the ceiling stops it; a floor two metres below has no say."""
    top = float(at("LeftHand")[1])
    ceiling = Region(
        spot=PointRef(point="LeftHand"), shape="half_space", centre=np.array([0.0, top + 0.05, 0.0]),
        normal=np.array([0.0, -1.0, 0.0]), name="ceiling", weight=1e3,
    )  # fmt: skip
    floor = Region(spot=PointRef(point="LeftHand"), centre=np.array([0.0, top - 2.0, 0.0]), name="floor")
    found = solve(hand("up", (0.0, 0.3, 0.0)), ceiling, floor)
    mine = next(c for c in found.conflicts if c.startswith("`up`"))
    assert mine == "`up` cannot hold at 1.00 s while `ceiling` does."


def test_only_the_broken_side_of_a_box_counts() -> None:
    """The hand is below a wide box, off its middle but within its width: what holds it sideways is not at fault."""
    middle = at("LeftHand") + np.array([1.0, 0.4, 0.0])
    box = Region(
        spot=PointRef(point="LeftHand"), shape="box", centre=middle, size=np.array([4.0, 0.2, 4.0]), name="box",
        instants=(1.0,),
    )  # fmt: skip
    lid, side = (hand(name, (0.0, 0.0, 0.0), axes=axis, weight=1e3) for name, axis in (("lid", "y"), ("side", "x")))
    found = solve(box, lid, side)
    assert [o.constraint.label for o in found.unmet] == ["box"]
    assert found.conflicts == ("`box` cannot hold at 1.00 s while `lid` does.",)


def test_a_plant_that_cannot_stay_names_what_drags_it() -> None:
    start, end = (
        Place(
            spot=PointRef(point="LeftFoot"), target=np.array([0.2, 0.1, z]), instants=(t,), name=f"at {t}", weight=1e4
        )
        for t, z in ((0.5, 0.0), (1.0, 0.5))
    )
    plant = SamePlace(spot=PointRef(point="LeftFoot"), start=0.5, end=1.0, name="plant")
    found = solve(start, end, plant)
    mine = next(c for c in found.conflicts if c.startswith("`plant`"))
    assert "`at 0.5`" in mine or "`at 1.0`" in mine


def test_several_that_resist_alike_are_listed() -> None:
    held = at("LeftHand")
    ropes = tuple(
        Distance(
            first="LeftHand", second=f"{side}Foot", name=f"{side} rope", instants=(1.0,),
            length=float(np.linalg.norm(held - at(f"{side}Foot"))), weight=100.0,
        )
        for side in ("Left", "Right")
    )  # fmt: skip
    feet = tuple(
        Place(spot=PointRef(point=f"{side}Foot"), target=at(f"{side}Foot"), instants=(1.0,), name=side, weight=100.0)
        for side in ("Left", "Right")
    )
    found = solve(hand("up", (0.0, 0.4, 0.0)), *ropes, *feet)
    mine = next(c for c in found.conflicts if c.startswith("`up`"))
    assert " and " in mine
    assert mine.endswith(" do.")
    assert "rope`" in mine


def test_what_is_met_is_in_no_sentence() -> None:
    assert solve(hand("near", (0.02, 0.0, 0.0))).conflicts == ()


@pytest.mark.parametrize("count", [MAX_CONFLICTS + 5])
def test_a_hopeless_case_does_not_become_a_book(count: int) -> None:
    """Many contradictions: as many sentences as anyone reads, and all of them counted in the result."""
    wild = [hand(f"w{i}", (0.3 * np.cos(i), 0.3 * np.sin(i), 0.0)) for i in range(count)]
    found = solve(*wild)
    assert len(found.unmet) >= MAX_CONFLICTS
    assert len(found.conflicts) == MAX_CONFLICTS
    assert found.result.startswith(f"{len(found.unmet)} of {count} constraints are not met")
