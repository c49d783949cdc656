"""Legs of another body step as wide as its hips ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.quaternion import from_axis_angle
from understudy.correspondence.step_width import Legs, leg_joints, step_width_change
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton

HIPS, FEET = ("LeftUpLeg", "RightUpLeg"), ("LeftFoot", "RightFoot")
NUM_FRAMES = 90


def wide(factor: float) -> Skeleton:
    """The adult with hips wider by a factor."""
    adult = samples.character("adult")
    offsets = adult.offsets.copy()
    offsets[[adult.index[name] for name in HIPS], 0] *= factor
    return replace(adult, offsets=offsets)


def legs_of(motion: Motion) -> Legs:
    places = fk(motion).positions
    hips, feet = (places[:, [motion.skeleton.index[name] for name in names]] for names in (HIPS, FEET))
    return Legs(hips=hips, feet=feet, length=float(np.linalg.norm(hips[0, 0] - feet[0, 0])))


def standing(skeleton: Skeleton, share: float) -> Motion:
    """A body that stands and looks around, its feet as far apart as a share of the width of its hips."""
    motion = rest_motion(skeleton, num_frames=NUM_FRAMES, fps=30.0)
    legs = legs_of(motion)
    angle = np.arcsin(0.5 * (share - 1.0) * legs.width)
    rotations = motion.rotations.copy()
    for name, sign in zip(HIPS, (1.0, -1.0), strict=True):
        rotations[:, skeleton.index[name]] = from_axis_angle([0.0, 0.0, 1.0], sign * angle)
    for name, sign in zip(FEET, (-1.0, 1.0), strict=True):
        rotations[:, skeleton.index[name]] = from_axis_angle([0.0, 0.0, 1.0], sign * angle)
    look = 0.3 * np.sin(np.linspace(0.0, 6.0, NUM_FRAMES))
    rotations[:, skeleton.index["Head"]] = from_axis_angle(np.tile([0.0, 1.0, 0.0], (NUM_FRAMES, 1)), look)
    return motion.derived(rotations=rotations)


def test_the_width_of_a_step_is_measured_along_the_hips() -> None:
    legs = legs_of(standing(wide(2.0), 0.25))
    np.testing.assert_allclose(legs.step_width, 0.25 * legs.width, atol=1e-6)


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.5, 1.0, 3.0])
def test_steps_keep_their_share_of_the_hips(share: float) -> None:
    """A step between nothing and the width of the hips keeps its share; others keep their distance to these."""
    plain = share * 0.4 - (0.4 - 0.2)
    got = plain + float(step_width_change(np.array([share * 0.4]), 0.4, 0.2)[0])
    wanted = share * 0.2 if 0.0 <= share <= 1.0 else share * 0.4 if share < 0.0 else plain
    assert got == pytest.approx(wanted, abs=0.011)


def test_bodies_with_the_same_hips_step_as_the_source() -> None:
    np.testing.assert_array_equal(step_width_change(np.linspace(-1.0, 1.0, 9), 0.3, 0.3), 0.0)


def test_wider_steps_never_become_narrower_ones() -> None:
    widths = np.linspace(-1.0, 1.0, 401)
    for source, target in ((0.5, 0.15), (0.15, 0.5)):
        assert np.all(np.diff(widths + step_width_change(widths, source, target)) > 0.0)


@pytest.mark.parametrize("factor", [2.5, 1.6, 0.7])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_legs_of_a_body_with_other_hips_do_not_cross(tmp_path: Path, factor: float, share: float) -> None:
    """The legs of a body with wide hips point inwards. With the same directions, those of one with narrow hips crossed:
    its left foot stood 0.09 legs to the right of the right one."""
    file = tmp_path / "wide.bvh"
    understudy.write(standing(wide(factor), share), file)
    result = legs_of(understudy.retarget(file, "sample:adult").motion)
    assert np.median(result.step_width) == pytest.approx(share * result.width, abs=0.02)


def test_a_leg_is_what_the_other_leg_does_not_hang_from() -> None:
    adult = samples.character("adult")
    left, right = (adult.index[name] for name in FEET)
    assert [adult.names[joint] for joint in leg_joints(adult, left, right)] == ["LeftUpLeg", "LeftLeg"]
