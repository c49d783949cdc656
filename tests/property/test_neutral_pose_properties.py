"""Neutral poses do not depend on what a file's conventions are: joint frames, rest pose, heading, size, frame rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy import samples
from understudy.base.quaternion import Array, from_axis_angle, multiply, rotate
from understudy.correspondence.neutral_pose import find_neutral_pose, pose_skeleton
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.retarget.driver import retarget

Reframe = Callable[[Motion, np.random.Generator], Motion]
SEEDS = st.integers(0, 2**32 - 1)
UP = np.array([0.0, 1.0, 0.0])
MOTIONS = ("walk", "run", "skip", "dance")
SHARED = [HealthCheck.function_scoped_fixture]


def places(motion: Motion) -> Array:
    """(J, 3) joints of the neutral pose about the root."""
    pose = pose_skeleton(motion.skeleton, find_neutral_pose(motion.skeleton, motion).local)
    return pose.positions[0] - pose.positions[0, 0]


def turned(motion: Motion, angle: float) -> Motion:
    """The motion turned about the vertical."""
    turn = from_axis_angle(UP, angle)
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root), rotations=rotations)


@settings(max_examples=20, deadline=None, suppress_health_check=SHARED)
@given(seed=SEEDS, name=st.sampled_from(MOTIONS))
def test_any_joint_frames_and_rest_pose_give_the_same_neutral_pose(seed: int, name: str, reframe: Reframe) -> None:
    """Two other sets of frames and rest poses: all joints within a micrometre."""
    rng = np.random.default_rng(seed)
    motion = samples.motion(name).motion
    one, other = reframe(motion, rng), reframe(motion, rng)
    np.testing.assert_allclose(fk(one).positions, fk(motion).positions, atol=1e-9)
    np.testing.assert_allclose(places(one), places(other), atol=1e-6)


@settings(max_examples=20, deadline=None, suppress_health_check=SHARED)
@given(seed=SEEDS, angle=st.floats(-np.pi, np.pi), size=st.floats(0.05, 20.0))
def test_heading_and_size_do_not_matter(seed: int, angle: float, size: float, reframe: Reframe) -> None:
    """The neutral pose faces forwards whichever way the motion goes, and scales with the body."""
    motion = reframe(samples.motion("walk").motion, np.random.default_rng(seed))
    np.testing.assert_allclose(places(turned(motion, angle)), places(motion), atol=1e-6)
    larger = replace(motion, skeleton=motion.skeleton.scaled(size), root=motion.root * size)
    np.testing.assert_allclose(places(larger), size * places(motion), atol=1e-6 * size)


@settings(max_examples=4, deadline=None, suppress_health_check=SHARED)
@given(seed=SEEDS, name=st.sampled_from(("walk", "march")))
def test_a_retarget_does_not_depend_on_joint_frames(seed: int, name: str, reframe: Reframe) -> None:
    """Onto a rig of other structure: every joint within 0.5 % of a leg, with frames and rest poses at random."""
    rng = np.random.default_rng(seed)
    motion = samples.motion(name).motion[:60]
    target = samples.character("other")
    one, other = (retarget(reframe(motion, rng), target).motion for _ in range(2))
    legs = 0.8
    assert float(np.abs(fk(one).positions - fk(other).positions).max()) < 0.005 * legs


@pytest.mark.parametrize("name", MOTIONS)
def test_what_a_motion_shows_is_within_three_degrees_of_the_pose_the_body_was_made_in(
    name: str, reframe: Reframe, rng: np.random.Generator
) -> None:
    """Lines between joints of trunk and limbs, against the rest pose that is hidden."""
    motion = samples.motion(name).motion
    rest = motion.skeleton.rest_world[0]
    shown = places(reframe(motion, rng))
    joint = motion.skeleton.joint
    for first, last in (
        ("Hips", "Neck"),
        ("LeftUpLeg", "LeftFoot"),
        ("RightArm", "RightHand"),
        ("RightArm", "LeftArm"),
    ):
        lines = [at[joint(last)] - at[joint(first)] for at in (rest, shown)]
        cosine = lines[0] @ lines[1] / np.prod([np.linalg.norm(line) for line in lines])
        assert np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))) < 3.2, (first, last)
