"""Shins that the solve brings into each other are kept apart, and others are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import from_axis_angle, multiply
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Options
from understudy.retarget.quality import metric_figure
from understudy.retarget.shins import MAX_DEPTH_LEGS, shin_constraints, shin_distances


def test_a_walkers_shins_do_not_go_into_each_other_on_a_giant() -> None:
    """They were 8 cm in each other: the solve set the feet down by up to 4 cm each nearer to each other."""
    walk = retarget("sample:walk", "sample:giant")
    assert walk.prepared.plan is not None
    start = shin_distances(walk.prepared.plan.starts[0])
    assert start.min() > 0.16
    assert shin_distances(walk.motion).min() > 0.15
    assert not walk.unmet
    assert [o for o in walk.outcomes if o.constraint.kind == "apart"]
    assert "shins apart" in walk.summary()
    assert metric_figure(walk.quality, "pop", "frames") == 0
    penetration = {m.title: m for m in walk.evaluate().measurements}["self-penetration"]
    assert "lower leg and" not in penetration.words


def test_shins_that_pass_as_those_of_the_start_are_left_alone() -> None:
    walk = retarget("sample:walk", "sample:child")
    assert not [o for o in walk.outcomes if o.constraint.kind == "apart"]


def test_without_clearance_shins_are_not_kept_apart() -> None:
    walk = retarget("sample:walk", "sample:giant", options=Options(clearance=False))
    assert not [o for o in walk.outcomes if o.constraint.kind == "apart"]


def test_shins_are_kept_as_far_apart_as_the_start_where_they_are_deepest() -> None:
    """The legs of a walk that are turned inwards for some frames cross; the constraint holds around these frames."""
    plan = retarget("sample:walk", "sample:child").prepared.plan
    assert plan is not None
    start = plan.starts[0]
    hip, rotations = start.skeleton.index["LeftUpLeg"], start.rotations.copy()
    turn = from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(-0.2))
    rotations[60:70, hip] = multiply(turn, rotations[60:70, hip])
    motion = replace(start, rotations=rotations)
    least = shin_distances(start)
    assert (least - shin_distances(motion))[60:70].max() > MAX_DEPTH_LEGS
    constraints = shin_constraints(plan, [motion])
    assert constraints
    for constraint in constraints:
        frames = constraint.frames(start.times)
        assert set(frames) & set(range(60, 70))
        assert constraint.radius <= least[frames].min() + 1e-12
