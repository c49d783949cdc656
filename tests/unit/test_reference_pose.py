"""Reference poses: a standing rest pose, else a standing frame; and hanging arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, angle_between, exp, identity, multiply
from understudy.correspondence.alignment import pose_skeleton, with_limbs_hanging
from understudy.correspondence.neutral_pose import find_neutral_pose, stands_at_rest
from understudy.figure.kinematics import fk
from understudy.figure.measures import rest_pose_kind
from understudy.figure.motion import Motion, join
from understudy.figure.skeleton import Skeleton

DOWN = np.array([0.0, -1.0, 0.0])


def laid_out(body: Skeleton) -> Skeleton:
    """The same body with bones in a row at zero rotations, as capture suits write it."""
    offsets = np.zeros_like(body.offsets)
    offsets[:, 0] = body.lengths
    return replace(body, offsets=offsets, rest=identity(body.num_joints), ends=())


def lying(motion: Motion, degrees: float = 90.0) -> Motion:
    """A motion tilted over as a whole, about the origin."""
    turn = exp(np.array([np.radians(degrees), 0.0, 0.0]))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, rotations=rotations)


def turned_rest(motion: Motion) -> Motion:
    """The same movement of a body whose rest pose is lying down."""
    return replace(motion, skeleton=replace(motion.skeleton, rest=lying(motion).rotations[0]))


def arms(skeleton: Skeleton, local: Array) -> Array:
    """(2, 3) unit directions from shoulder to hand."""
    pose = pose_skeleton(skeleton, local)
    lines = [pose.points([f"{s}Hand"])[0, 0] - pose.points([f"{s}Arm"])[0, 0] for s in ("Left", "Right")]
    return np.array([line / np.linalg.norm(line) for line in lines])


@pytest.mark.parametrize("name", ["adult", "child", "other", "dog", "spider", "shark", "can", "figure2d"])
def test_samples_stand_in_their_rest_poses(name: str) -> None:
    body = samples.character(name)
    assert stands_at_rest(body)
    np.testing.assert_array_equal(reference_pose(body), body.rest)


def test_a_rest_pose_that_stands_is_taken_whatever_the_motion() -> None:
    motion = samples.motion("squat").motion
    np.testing.assert_array_equal(reference_pose(motion.skeleton, motion), motion.skeleton.rest)


def test_bones_in_a_row_are_no_pose() -> None:
    body = laid_out(samples.character("adult"))
    assert rest_pose_kind(body) == "no pose"
    assert not stands_at_rest(body)
    np.testing.assert_array_equal(reference_pose(body), body.rest)


def test_without_a_rest_pose_the_frame_that_stands_is_found() -> None:
    """Among frames of lying, crouching and walking, one with both feet down and straight legs is chosen."""
    squat = turned_rest(samples.motion("squat").motion)
    assert not stands_at_rest(squat.skeleton)
    deep = int(np.argmin(squat.root[:, 1]))
    # First lying, then the lowest point of the squat, then its end, which stands.
    parts = [lying(squat[deep : deep + 20]), squat[deep : deep + 20], squat[-20:]]
    whole = join(join(parts[0], parts[1]), parts[2])
    pose = reference_pose(whole.skeleton, whole)
    apart = angle_between(pose, whole.rotations).max(axis=1)
    assert int(np.argmin(apart)) >= 40, "one of the last frames, in which it stands"
    assert apart.min() < 1e-9


def test_one_who_crouches_is_taken_upright_with_its_feet_low() -> None:
    """Of a walk to a box and a crouch before it, a frame of the walk is chosen."""
    whole = turned_rest(samples.motion("pick_up").motion)
    found = reference_pose(whole.skeleton, whole)
    at = int(np.argmin(angle_between(found, whole.rotations).max(axis=1)))
    assert whole.root[at, 1] > np.percentile(whole.root[:, 1], 50.0)
    pose = pose_skeleton(whole.skeleton, found)
    trunk = pose.points(["Neck"])[0, 0] - pose.points(["Hips"])[0, 0]
    assert trunk[1] > np.cos(np.radians(10.0)) * np.linalg.norm(trunk)


def test_one_frame_is_its_own_reference() -> None:
    walk = turned_rest(samples.motion("walk").motion)[40:41]
    np.testing.assert_array_equal(reference_pose(walk.skeleton, walk), walk.rotations[0])


def test_posed_is_the_pose_at_the_place_of_rest() -> None:
    walk = samples.motion("walk").motion[30:31]
    pose = pose_skeleton(walk.skeleton, walk.rotations[0])
    moved = fk(walk).positions - walk.root[:, None] + walk.skeleton.offsets[0]
    np.testing.assert_allclose(pose.positions, moved, atol=1e-12)


@pytest.mark.parametrize("name", ["adult", "child", "giant"])
def test_arms_hang_straight_down(name: str) -> None:
    body = samples.character(name)
    assert np.abs(arms(body, body.rest)[:, 1]).max() < 0.7, "they do not hang in the rest pose"
    hung = with_limbs_hanging(body, body.rest)
    np.testing.assert_allclose(arms(body, hung), [DOWN, DOWN], atol=1e-9)
    kept = [j for j, n in enumerate(body.names) if n not in ("LeftArm", "RightArm", "LeftUpLeg", "RightUpLeg")]
    np.testing.assert_array_equal(hung[kept], body.rest[kept])


def test_legs_are_brought_under_the_hips() -> None:
    """A straddled rest pose is corrected: seen from the front, the ankles are below the hip joints."""
    body = samples.character("adult")
    rest = body.rest.copy()
    for name, turn in (("LeftUpLeg", 0.35), ("RightUpLeg", -0.35)):
        joint = body.joint(name)
        rest[joint] = multiply(exp(np.array([0.0, 0.0, turn])), rest[joint])
    apart = np.ptp(pose_skeleton(body, rest).points(["LeftFoot", "RightFoot"])[0, :, 0])
    pose = pose_skeleton(body, with_limbs_hanging(body, rest))
    hips, feet = (pose.points([f"{s}{part}" for s in ("Left", "Right")])[0] for part in ("UpLeg", "Foot"))
    np.testing.assert_allclose(feet[:, 0], hips[:, 0], atol=1e-9)
    assert apart > np.ptp(feet[:, 0]) + 0.4
    assert np.allclose(feet[0, 1:], feet[1, 1:], atol=1e-9)
    assert angle_between(pose.rotations[0, body.joint("LeftFoot")], body.rest_world[1][body.joint("LeftFoot")]) < 0.06


def test_arms_that_hang_stay_and_the_pose_given_is_not_changed() -> None:
    body = samples.character("adult")
    before = body.rest.copy()
    hung = with_limbs_hanging(body, body.rest)
    again = with_limbs_hanging(body, hung)
    assert angle_between(again, hung).max() < 1e-7
    np.testing.assert_array_equal(body.rest, before)


@pytest.mark.parametrize("name", ["dog", "spider", "shark", "can"])
def test_who_is_not_human_keeps_its_pose(name: str) -> None:
    body = samples.character(name)
    assert with_limbs_hanging(body, body.rest) is body.rest
