"""The sets of constraints of [Lommers13, sec. 7.1.2] hold on the motion that they are made from."""

from __future__ import annotations

import numpy as np
import pytest
from papers.lommers13_sets import key_moment, key_moment_interpolated, original_position

from understudy.base.errors import OptionError
from understudy.constraints.base import ConstraintInput, Relation
from understudy.constraints.follow import Follow
from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.samples import motion


def test_sets_hold_on_the_original_itself() -> None:
    walk = motion("walk", seconds=3.0).motion
    points = ("LeftFoot", "RightHand")
    for made in (
        original_position(walk, points),
        key_moment(walk, points, [1.0, 2.5]),
        key_moment_interpolated(walk, points, [1.0, 2.5]),
    ):
        for constraint in made:
            frames = constraint.frames(walk.times)
            places = fk(walk).points([s.point for s in constraint.point_refs()])[frames]
            rows = constraint.rows(
                ConstraintInput(times=walk.times[frames], points=places, local_rotations=np.empty((len(frames), 0, 4)))
            )
            values = np.maximum(rows.values, 0.0) if constraint.relation is Relation.AT_MOST else rows.values
            np.testing.assert_allclose(values, 0.0, atol=1e-9)


def test_distance_allowed_falls_to_zero_over_the_approach() -> None:
    walk = motion("walk", seconds=4.0).motion
    made = key_moment_interpolated(walk, ["LeftFoot"], [3.0], approach=2.0, distance=0.5)
    assert [type(c) for c in made] == [Place, Follow]
    follow = made[1]
    frames = follow.frames(walk.times)
    assert (walk.times[frames[0]], frames[-1]) == (pytest.approx(1.0), 89)
    away = fk(walk).points(["LeftFoot"])[frames] + [0.5, 0.0, 0.0]
    values = follow.rows(
        ConstraintInput(times=walk.times[frames], points=away, local_rotations=np.empty((len(frames), 0, 4)))
    ).values[:, 0]
    np.testing.assert_allclose(values, 0.5 - 0.25 * (3.0 - walk.times[frames]), atol=1e-9)


def test_moment_outside_the_motion() -> None:
    with pytest.raises(OptionError, match=r"Key moment 9 s is outside the motion, 0 to 1 s"):
        key_moment(motion("walk", seconds=1.0).motion, ["LeftFoot"], [9.0])


def test_an_approach_of_no_time_is_refused() -> None:
    with pytest.raises(OptionError, match="above zero"):
        key_moment_interpolated(motion("walk", seconds=1.0).motion, ["Head"], [1], approach=0)
