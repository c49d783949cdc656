"""A body written in any other way that means the same gives the same map and the same motion: samples on rigs."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.conventions import RIGS
from tests.variants import TRANSFORMS, Experiment, performed, solved, walk, without_ball_limits

from understudy import samples
from understudy.io import Clip

RIG_NAMES = ("Mixamo", "Unreal 4", "SMPL")

SIDES = ("source", "target")


@cache
def rig(name: str, full: bool = False) -> Experiment:
    """A rig of the bank that walks."""
    body = Clip(skeleton=RIGS[name].clip().skeleton)
    clip = without_ball_limits(performed(body, walk()))
    return Experiment(clip, solved) if full else Experiment(clip)


@cache
def dog() -> Experiment:
    return Experiment(without_ball_limits(performed(Clip(skeleton=samples.character("dog")), walk())))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(RIG_NAMES), transform=st.sampled_from(list(TRANSFORMS)), side=st.sampled_from(SIDES),
    seed=st.integers(0, 2**31 - 1),
)  # fmt: skip
def test_a_human_written_in_another_way(name: str, transform: str, side: str, seed: int) -> None:
    rig(name).run(transform, side, seed).check()


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    transform=st.sampled_from([name for name in TRANSFORMS if name != "zero pose changed"]),
    side=st.sampled_from(SIDES), seed=st.integers(0, 2**31 - 1),
)  # fmt: skip
def test_a_dog_written_in_another_way(transform: str, side: str, seed: int) -> None:
    """An animal's rest pose is its stance: a changed zero pose is another stance, and is left out."""
    dog().run(transform, side, seed).check()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("transform", ["frames turned", "names hashed", "helpers added", "floor root added"])
def test_the_solve_adds_no_difference(transform: str, side: str) -> None:
    rig("Mixamo", full=True).run(transform, side).check()
