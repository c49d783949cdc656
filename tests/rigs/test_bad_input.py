"""Bodies that no human motion fits: the answer says what was understood, and what a user can do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.rigs.bank import Rig
from tests.variants import adult, hash_names, walk

import understudy
from understudy.base.errors import UnderstudyError
from understudy.correspondence.pairs import CorrespondenceError
from understudy.figure.motion import rest_motion
from understudy.figure.skeleton import Point, Skeleton


def made(name: str, joints: Sequence[str], parents: Sequence[int], places: Sequence[Sequence[float]]) -> Skeleton:
    """A skeleton of joints at places in the world, metres."""
    at = np.array(places, float)
    offsets = at.copy()
    offsets[1:] -= at[list(parents)[1:]]
    return Skeleton(name=name, names=tuple(joints), parents=np.array(parents), offsets=offsets)


def snake() -> Skeleton:
    places = [(0.0, 0.05, -0.1 * i) for i in range(20)]
    return made("snake", [f"vertebra{i}" for i in range(20)], range(-1, 19), places)


def table() -> Skeleton:
    corners = [(x, 0.7, z) for x in (0.5, -0.5) for z in (0.3, -0.3)]
    board = made("table", ["board", "a", "b", "c", "d"], [-1, 0, 0, 0, 0], [(0.0, 0.7, 0.0), *corners])
    ends = tuple(Point(name=f"{leg}_end", joint=leg, offset=np.array([0.0, -0.7, 0.0])) for leg in "abcd")
    return Skeleton(name="table", names=board.names, parents=board.parents, offsets=board.offsets, ends=ends)


def two_joints() -> Skeleton:
    return made("stick", ["one", "two"], [-1, 0], [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


def one_point() -> Skeleton:
    human = adult().skeleton
    return made("point", human.names, human.parents.tolist(), [(0.0, 1.0, 0.0)] * human.num_joints)


BODIES: dict[str, Callable[[], Skeleton]] = {
    "snake": snake, "table": table, "two joints": two_joints, "one point": one_point,
}  # fmt: skip
CASES = [(name, side) for name in BODIES for side in ("source", "target")]


def answer(name: str, side: str) -> str:
    """The error with its hint, or the notes of the result."""
    body = BODIES[name]()
    try:
        if side == "source":
            result = understudy.retarget(rest_motion(body, fps=10.0, num_frames=11), adult())
        else:
            result = understudy.retarget(walk(), body)
    except UnderstudyError as error:
        return f"refused: {error}"
    return "\n".join(result.notes)


@pytest.mark.parametrize(("name", "side"), CASES)
def test_answer_says_what_was_understood_and_what_to_do(name: str, side: str) -> None:
    words = answer(name, side)
    assert re.search(r"\b(bones?|limbs?|joints?|legs?)\b", words), words
    assert re.search(r"hint:|--map|understudy map|understudy info", words), words
    if name == "one point":
        assert words.startswith("refused"), words
    else:
        assert re.search(rf"understood as .*`{BODIES[name]().name}` of \d+ bones", words), words


def test_sides_that_nothing_tells_are_refused() -> None:
    # Straight limbs without feet look the same from the front and from behind.
    rig = Rig(
        name="doll",
        rows="""
        Hips=~hips, Spine=~hips@0,.25,0, Neck=~hips@0,.5,0, Head=~hips@0,.6,0, Top=~hips@0,.8,0
        Spine > LeftArm=~thigh@.1,.5,0, LeftElbow=~thigh@.37,.5,0, LeftHand=~thigh@.6,.5,0
        Hips > LeftLeg=thigh, LeftKnee=~thigh@0,-.4,0, LeftFoot=~thigh@0,-.8,0
        """,
    )
    with pytest.raises(CorrespondenceError, match="left"):
        understudy.retarget(walk(), hash_names(rig.clip()).clip)
