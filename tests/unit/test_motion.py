"""Motions: cut, resampled, joined, and refused when their numbers are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import angle_between, between, identity, rotate
from understudy.figure.kinematics import fk, with_bones_to_joints
from understudy.figure.motion import Motion, frame_offsets, join, rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.retarget.driver import retarget


@pytest.fixture
def motion(make_skeleton: Callable, make_motion: Callable, rng: np.random.Generator) -> Motion:
    return make_motion(make_skeleton(rng), rng, 13, morph=True)


def test_slices_keep_everything_in_step(motion: Motion) -> None:
    part = motion[3:9:2]
    assert part.num_frames == 3
    assert part.fps == 15.0
    np.testing.assert_array_equal(part.rotations, motion.rotations[3:9:2])
    np.testing.assert_array_equal(part.offsets, motion.offsets[3:9:2])
    assert motion[[4, 4]].num_frames == 2
    with pytest.raises(MotionError, match=r"No frame in \[20:30\]; the motion has 13"):
        motion[20:30]
    with pytest.raises(OptionError, match="step of at least 1"):
        motion[::-1]


def test_times_and_duration(motion: Motion) -> None:
    assert motion.duration == pytest.approx(0.4)
    assert motion.times[-1] == pytest.approx(0.4)


def test_resampling_to_a_divisor_takes_the_frames_themselves(motion: Motion) -> None:
    np.testing.assert_array_equal(motion.resampled(10.0).rotations, motion.rotations[::3])
    assert motion.resampled(30.0).num_frames == 13


@pytest.mark.parametrize("method", ["cubic", "linear"])
def test_resampling_up_passes_through_the_frames(motion: Motion, method: str) -> None:
    fine = motion.resampled(90.0, method=method)
    assert fine.num_frames == 37
    assert angle_between(fine.rotations[::3], motion.rotations).max() < 1e-7
    np.testing.assert_allclose(fine.offsets[::3], motion.offsets, atol=1e-12)


def test_resampling_short_and_odd(motion: Motion) -> None:
    assert motion[:1].resampled(60.0).num_frames == 1
    assert motion[:2].resampled(60.0).num_frames == 3
    assert motion.resampled(29.97).num_frames == 12
    with pytest.raises(OptionError, match="above zero, got 0"):
        motion.resampled(0.0)
    with pytest.raises(OptionError, match="`cubic` or `linear`, got `best`"):
        motion.resampled(60.0, method="best")


def test_joining_bodies_of_other_lengths_keeps_both(motion: Motion) -> None:
    small = rest_motion(motion.skeleton.scaled(0.5), fps=30.0, num_frames=2)
    both = join(motion, small)
    assert both.num_frames == 15
    np.testing.assert_allclose(frame_offsets(both)[-1], small.skeleton.offsets)
    plain = join(small, small)
    assert plain.offsets is None


def test_joining_what_does_not_fit(motion: Motion) -> None:
    other = rest_motion(Skeleton(names=("a",), parents=[-1], offsets=[[0, 0, 0]]))
    with pytest.raises(MotionError, match="one skeleton structure"):
        join(motion, other)
    with pytest.raises(MotionError, match=r"one rate; got 30 and 60(?s:.*)hint: resample"):
        join(motion, replace(motion, fps=60.0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fps": 0.0}, "above zero, got 0"),
        ({"fps": float("nan")}, "above zero, got nan"),
        ({"root": np.zeros((3, 3))}, r"root path: expected shape \(13, 3\), got \(3, 3\)"),
        ({"root": np.full((13, 3), np.inf)}, r"root path: expected finite numbers, got inf at \[0, 0\]"),
        ({"rotations": np.zeros((13, 9, 4))}, "unit quaternions; one is off"),
        ({"rotations": np.zeros((13, 2, 4))}, "expected shape"),
        ({"offsets": np.zeros((1, 9, 3))}, "Motion offsets"),
    ],
)
def test_what_does_not_fit_is_refused(motion: Motion, changes: dict[str, object], message: str) -> None:
    with pytest.raises(MotionError, match=message):
        replace(motion, **changes)


def test_a_motion_needs_frames(motion: Motion) -> None:
    with pytest.raises(MotionError, match="at least one frame"):
        replace(motion, root=np.zeros((0, 3)), rotations=np.zeros((0, 9, 4)), offsets=None)


def test_nearly_unit_rotations_are_made_unit(motion: Motion) -> None:
    loose = replace(motion, rotations=motion.rotations * (1 + 1e-5))
    np.testing.assert_allclose(np.linalg.norm(loose.rotations, axis=-1), 1.0, atol=1e-14)


def test_bones_point_to_joints_that_are_moved_against_them() -> None:
    """A foot is moved by up to 9 cm against its shin: all joints stay where they are, and the shin points there."""
    walk = samples.motion("walk").motion
    skeleton = walk.skeleton
    shin, foot = skeleton.joint("LeftLeg"), skeleton.joint("LeftFoot")
    offsets = frame_offsets(walk).copy()
    offsets[:, foot, 0] += 0.09 * np.sin(np.linspace(0.0, 12.0, walk.num_frames))
    moved = replace(walk, offsets=offsets)
    turned = with_bones_to_joints(moved)
    before, after = fk(moved), fk(turned)
    np.testing.assert_allclose(after.positions, before.positions, atol=1e-12)
    bone = rotate(after.rotations[:, shin], skeleton.offsets[foot])
    line = after.positions[:, foot] - after.positions[:, shin]
    assert float(angle_between(between(bone, line), identity(len(bone))).max()) < 1e-6
    others = [joint for joint in range(skeleton.num_joints) if joint != shin]
    np.testing.assert_allclose(after.rotations[:, others], before.rotations[:, others], atol=1e-12)
    feet = fk(retarget(moved, skeleton).motion).positions[:, foot] - before.positions[:, foot]
    assert np.linalg.norm(feet, axis=-1).max() < 0.03


def test_bones_that_only_change_their_length_keep_their_rotations() -> None:
    walk = samples.motion("walk").motion
    longer = replace(walk, offsets=frame_offsets(walk) * np.linspace(1.0, 1.3, walk.num_frames)[:, None, None])
    assert with_bones_to_joints(longer) is longer
    assert with_bones_to_joints(walk) is walk
