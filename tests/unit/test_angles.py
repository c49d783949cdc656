"""Joint angles: every kind of joint, axes of both handednesses, gimbal lock, and rotations out of reach."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import angle_between, exp, from_axis_angle, from_euler, multiply, normalize, to_matrix
from understudy.figure.kinematics import joint_angle_curves, joint_angles, joint_rotations
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

TURN = 2.0 * np.pi


def make_chain(kinds: list[JointKind], axes: np.ndarray, rest: np.ndarray | None = None) -> Skeleton:
    """A free root with default axes, then a chain of joints."""
    count = len(kinds) + 1
    all_axes = np.zeros((count, 3, 3))
    all_axes[0] = np.eye(3)
    for joint, kind in enumerate(kinds, start=1):
        all_axes[joint, : NUM_AXES[kind]] = axes[joint - 1, : NUM_AXES[kind]]
    return Skeleton(
        names=tuple(f"joint{i}" for i in range(count)),
        parents=np.arange(-1, count - 1),
        offsets=np.ones((count, 3)),
        rest=np.empty((0, 4)) if rest is None else rest,
        kinds=(JointKind.FREE, *kinds),
        axes=all_axes,
    )


def random_frames(rng: np.random.Generator, count: int, handed: int) -> np.ndarray:
    frames = to_matrix(normalize(rng.normal(size=(count, 4))))
    frames[:, 2] *= handed
    return frames


def mixed(rng: np.random.Generator, handed: int) -> Skeleton:
    kinds = [JointKind.BALL, JointKind.UNIVERSAL, JointKind.HINGE, JointKind.FIXED] * 3
    rest = normalize(rng.normal(size=(len(kinds) + 1, 4)))
    return make_chain(kinds, random_frames(rng, len(kinds), handed), rest)


def random_angles(rng: np.random.Generator, skeleton: Skeleton, count: int) -> np.ndarray:
    """Angles inside the principal range, zero about the axes that joints do not have."""
    angles = rng.uniform(-3.1, 3.1, (count, skeleton.num_joints, 3))
    for joint, kind in enumerate(skeleton.kinds):
        angles[:, joint, NUM_AXES[kind] :] = 0.0
        if NUM_AXES[kind] == 3:
            angles[:, joint, 1] *= 0.49
    return angles


@pytest.mark.parametrize("handed", [1, -1])
def test_angles_come_back_from_rotations(rng: np.random.Generator, handed: int) -> None:
    skeleton = mixed(rng, handed)
    angles = random_angles(rng, skeleton, 200)
    assert joint_angles(skeleton, joint_rotations(skeleton, angles)) == pytest.approx(angles, abs=1e-11)


@pytest.mark.parametrize("handed", [1, -1])
def test_angles_stay_near_those_given(rng: np.random.Generator, handed: int) -> None:
    skeleton = mixed(rng, handed)
    used = np.any(skeleton.axes != 0.0, axis=-1)
    angles = rng.uniform(-12.0, 12.0, (200, skeleton.num_joints, 3)) * used
    near = angles + rng.uniform(-0.1, 0.1, angles.shape)
    assert joint_angles(skeleton, joint_rotations(skeleton, angles), near) == pytest.approx(angles, abs=1e-9)


def test_angles_multiply_in_the_order_of_the_axes() -> None:
    skeleton = make_chain([JointKind.BALL], np.eye(3)[None, [2, 1, 0]])
    angles = np.array([0.3, -0.4, 0.5])
    turned = joint_rotations(skeleton, np.stack([np.zeros(3), angles]))
    assert angle_between(turned[1], from_euler(angles, "ZYX")) < 1e-12


@pytest.mark.parametrize("order", ["XYZ", "ZYX", "YXZ", "ZXZ", "YXY"])
def test_a_ball_counts_as_euler_angles_do(rng: np.random.Generator, order: str) -> None:
    skeleton = make_chain([JointKind.BALL], np.eye(3)[None, ["XYZ".index(axis) for axis in order]])
    rotations = normalize(rng.normal(size=(50, 2, 4)))
    angles = joint_angles(skeleton, rotations)[:, 1]
    assert angle_between(from_euler(angles, order), rotations[:, 1]).max() < 1e-9
    low, high = (0.0, np.pi) if order[0] == order[2] else (-0.5 * np.pi, 0.5 * np.pi)
    assert low - 1e-9 <= angles[:, 1].min()
    assert angles[:, 1].max() <= high + 1e-9
    assert np.abs(angles).max() <= np.pi


@pytest.mark.parametrize("lean", [0.3, 1.0, 2.0, -0.7])
def test_a_ball_whose_outer_axes_are_neither_square_nor_equal(rng: np.random.Generator, lean: float) -> None:
    first, second, _ = random_frames(rng, 1, 1)[0]
    third = np.cos(lean) * first - np.sin(lean) * np.cross(first, second)
    skeleton = make_chain([JointKind.BALL], np.array([[first, second, third]]))
    rotations = normalize(rng.normal(size=(50, 2, 4)))
    angles = joint_angles(skeleton, rotations)
    assert angle_between(joint_rotations(skeleton, angles), rotations).max() < 1e-9


@pytest.mark.parametrize("handed", [1, -1])
@pytest.mark.parametrize("side", [1, -1])
def test_gimbal_lock(rng: np.random.Generator, handed: int, side: int) -> None:
    skeleton = make_chain([JointKind.BALL], random_frames(rng, 1, handed))
    angles = np.array([[[0.0, 0.0, 0.0], [0.4, side * 0.5 * np.pi, -1.1]]])
    rotations = joint_rotations(skeleton, angles)
    alone = joint_angles(skeleton, rotations)
    assert alone[0, 1, 2] == pytest.approx(0.0, abs=1e-9)
    assert angle_between(joint_rotations(skeleton, alone), rotations).max() < 1e-7
    near = joint_angles(skeleton, rotations, angles)
    assert near == pytest.approx(angles, abs=1e-7)


def test_a_universal_joint_is_exact_for_axes_that_are_not_square(rng: np.random.Generator) -> None:
    first, second = np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.8, 0.0])
    skeleton = make_chain([JointKind.UNIVERSAL], np.array([[first, second]]))
    angles = random_angles(rng, skeleton, 300)
    assert joint_angles(skeleton, joint_rotations(skeleton, angles)) == pytest.approx(angles, abs=1e-11)


@pytest.mark.parametrize("kind", [JointKind.HINGE, JointKind.UNIVERSAL])
def test_a_rotation_out_of_reach_gives_the_nearest_in_reach(rng: np.random.Generator, kind: JointKind) -> None:
    skeleton = make_chain([kind], random_frames(rng, 1, 1))
    rotations = normalize(rng.normal(size=(20, 2, 4)))
    angles = joint_angles(skeleton, rotations)
    best = angle_between(joint_rotations(skeleton, angles), rotations)[:, 1]
    for _ in range(200):
        other = angles + rng.normal(size=angles.shape) * rng.choice([0.01, 0.3, 3.0])
        assert np.all(angle_between(joint_rotations(skeleton, other), rotations)[:, 1] >= best - 1e-9)


def test_angles_of_axes_a_joint_does_not_have_are_not_used(rng: np.random.Generator) -> None:
    skeleton = mixed(rng, 1)
    angles = random_angles(rng, skeleton, 3)
    used = np.any(skeleton.axes != 0.0, axis=-1)
    changed = np.where(used, angles, 9.0)
    assert np.array_equal(joint_rotations(skeleton, changed), joint_rotations(skeleton, angles))
    assert not joint_angles(skeleton, joint_rotations(skeleton, angles), near=np.full(3, 9.0))[:, ~used].any()


def test_the_rest_pose_has_no_angles(rng: np.random.Generator) -> None:
    skeleton = mixed(rng, -1)
    assert joint_angles(skeleton, skeleton.rest) == pytest.approx(np.zeros((13, 3)), abs=1e-7)


@pytest.mark.parametrize("handed", [1, -1])
def test_curves_go_on_over_full_turns(rng: np.random.Generator, handed: int) -> None:
    skeleton = mixed(rng, handed)
    used = np.any(skeleton.axes != 0.0, axis=-1)
    angles = np.cumsum(rng.normal(size=(400, skeleton.num_joints, 3)) * 0.08, axis=0) * used
    rotations = joint_rotations(skeleton, angles)
    curves = joint_angle_curves(skeleton, rotations)
    assert curves == pytest.approx(angles, abs=1e-6)
    assert np.abs(angles).max() > np.pi
    shifted = joint_angle_curves(skeleton, rotations, near=angles[0] + TURN * used)
    assert shifted == pytest.approx(angles + TURN * used, abs=1e-6)


def test_slanted_axes_of_a_ball_are_refused() -> None:
    slanted = np.array([[[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]])
    skeleton = make_chain([JointKind.BALL], slanted)
    with pytest.raises(SkeletonError, match="Joint `joint1`: its angles cannot be counted unless its second axis"):
        joint_angles(skeleton, skeleton.rest)


def test_rest_turns_before_the_axes(rng: np.random.Generator) -> None:
    rest = normalize(rng.normal(size=(2, 4)))
    axis = np.array([0.0, 0.6, 0.8])
    skeleton = make_chain([JointKind.HINGE], np.array([[axis]]), rest)
    turned = joint_rotations(skeleton, np.array([[0.0, 0.0, 0.0], [0.7, 0.0, 0.0]]))
    assert angle_between(turned[1], multiply(rest[1], from_axis_angle(axis, 0.7))) < 1e-12
    swung = multiply(turned[1], exp(0.2 * np.cross(axis, [1.0, 0.0, 0.0])))
    assert joint_angles(skeleton, np.stack([rest[0], swung]))[1, 0] == pytest.approx(0.7, abs=1e-9)
