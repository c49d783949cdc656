"""Priorities and weights of any size: bounded, in their order, for every solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.constraints.base import MAX_WEIGHT_DECADES, relative_weights
from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.figure.measures import feet, leg_length
from understudy.figure.motion import Motion
from understudy.retarget.driver import retarget

PLACE = Place(point="LeftHand", target=np.array([0.3, 1.0, 0.5]), start=0.3, end=0.6)


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk").motion.resampled(30.0)[:30]


def test_weights_keep_their_order_within_bounds() -> None:
    usual = [replace(PLACE, priority=p, weight=w) for p, w in ((0, 1.0), (1, 2.0), (-2, 0.5), (5, 1.0))]
    assert relative_weights(usual) == [1.0, 20.0, 0.5 * 10.0**-2, 1e5]
    wild = [replace(PLACE, priority=p, weight=w) for p, w in ((0, 1.0), (10, 1.0), (15, 1.0), (400, 1.0), (0, 1e300))]
    weights = relative_weights(wild)
    assert weights[0] == 1.0
    assert weights[0] < weights[1] < weights[2] < weights[4] < weights[3]
    assert max(weights) == pytest.approx(10.0**MAX_WEIGHT_DECADES)
    assert np.all(np.isfinite(relative_weights([replace(PLACE, priority=10**30), replace(PLACE, weight=1e-300)])))


@pytest.mark.parametrize("priority", [10, 15, 400])
def test_a_high_priority_is_met_and_leaves_the_others_solvable(walk: Motion, priority: int) -> None:
    result = retarget(walk, "sample:child", constraints=[replace(PLACE, priority=priority)])
    five = retarget(walk, "sample:child", constraints=[replace(PLACE, priority=5)])
    assert len(result.solution.unmet) <= len(five.solution.unmet)


@pytest.mark.parametrize("solver", ["ik", "ik_lowpass"])
def test_frame_by_frame_solvers_take_a_place(walk: Motion, solver: str) -> None:
    result = retarget(walk[:20], "sample:child", constraints=[PLACE], solver=solver)
    assert np.all(np.isfinite(result.motion.root))


def test_tolerances_are_relative_to_a_tiny_body(walk: Motion) -> None:
    small, tiny = (understudy.retarget(walk, scale=scale) for scale in (0.01, 1e-6))
    assert tiny.solution.unmet == ()
    leg = leg_length(tiny.motion.skeleton)
    assert max(o.constraint.tolerance for o in tiny.solution.outcomes if not o.constraint.angular) <= 0.011 * leg
    lowest = float(fk(tiny.motion).points(feet(tiny.motion.skeleton))[..., 1].min())
    assert lowest > -0.01 * leg
    assert tiny.verdict == small.verdict
