"""What must hold for any body and any motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.base.quaternion import angle_between, exp, multiply, normalize, rotate
from understudy.figure.kinematics import fk, forward, joint_angles
from understudy.figure.motion import Motion, frame_offsets, rest_motion
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton
from understudy.solve.coordinates import Bodies, Body, BodyPoints

SEEDS = st.integers(0, 2**31 - 1)
STEP = 1e-5


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_moving_the_root_moves_everything_rigidly(seed: int, make_skeleton: Callable, make_motion: Callable) -> None:
    rng = np.random.default_rng(seed)
    motion = make_motion(make_skeleton(rng), rng, morph=bool(seed % 2))
    turn, shift = normalize(rng.normal(size=4)), rng.normal(size=3)
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    before = fk(motion)
    positions, world = forward(motion.skeleton, rotate(turn, motion.root) + shift, rotations, motion.offsets)
    np.testing.assert_allclose(positions, rotate(turn, before.positions) + shift, atol=1e-12)
    assert angle_between(world, multiply(turn, before.rotations)).max() < 1e-7


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_bones_keep_their_lengths(seed: int, make_skeleton: Callable, make_motion: Callable) -> None:
    rng = np.random.default_rng(seed)
    motion = make_motion(make_skeleton(rng), rng, morph=True)
    positions, parents = fk(motion).positions, motion.skeleton.parents[1:]
    lengths = np.linalg.norm(positions[:, 1:] - positions[:, parents], axis=-1)
    np.testing.assert_allclose(lengths, np.linalg.norm(frame_offsets(motion)[:, 1:], axis=-1), atol=1e-12)


def test_forward_kinematics_equals_a_plain_loop_across_blocks(
    make_skeleton: Callable, make_motion: Callable, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.figure.kinematics.BLOCK_FRAMES", 4)
    motion = make_motion(make_skeleton(rng, 12), rng, 11)
    pose = fk(motion)
    for joint, parent in enumerate(motion.skeleton.parents):
        if parent >= 0:
            place = pose.positions[:, parent] + rotate(pose.rotations[:, parent], motion.skeleton.offsets[joint])
            turn = multiply(pose.rotations[:, parent], motion.rotations[:, joint])
            np.testing.assert_allclose(pose.positions[:, joint], place, atol=1e-13)
            np.testing.assert_allclose(pose.rotations[:, joint], turn, atol=1e-13)


def test_rest_pose_is_the_rest_motion(make_skeleton: Callable, rng: np.random.Generator) -> None:
    skeleton = make_skeleton(rng)
    pose = fk(rest_motion(skeleton))
    np.testing.assert_allclose(pose.positions[0], skeleton.rest_world[0], atol=1e-12)
    np.testing.assert_allclose(pose.ends()[0], skeleton.rest_ends, atol=1e-12)


def numeric(function: Callable[[np.ndarray], np.ndarray], d: np.ndarray) -> np.ndarray:
    """Central differences of a function (F, ...) of coordinates (F, D), as (F, ..., D)."""
    columns = []
    for k in range(d.shape[1]):
        step = np.zeros_like(d)
        step[:, k] = STEP
        columns.append((function(d + step) - function(d - step)) / (2 * STEP))
    return np.stack(columns, -1)


@pytest.mark.parametrize("morph", [False, True])
@pytest.mark.parametrize("root_moves", [False, True])
def test_jacobians_equal_finite_differences_for_every_joint_kind(
    morph: bool, root_moves: bool, make_skeleton: Callable, make_motion: Callable, rng: np.random.Generator
) -> None:
    skeleton = make_skeleton(rng, 9)
    assert set(skeleton.kinds) == set(JointKind)
    body = Body(motion=make_motion(skeleton, rng, 3, morph=morph), root_moves=root_moves)
    expected = 3 * root_moves + sum(NUM_AXES[kind] for kind in skeleton.kinds)
    assert body.num_coordinates == expected == len(body.names)
    joints, offsets = np.arange(9), rng.normal(size=(9, 3))
    for size in (0.0, 0.5):
        d = size * rng.normal(size=(3, body.num_coordinates))
        posture = body.displaced(d)
        places = posture.points(joints, offsets)
        jacobian = posture.point_jacobian(joints, places)
        np.testing.assert_allclose(jacobian, numeric(lambda x: body.displaced(x).points(joints, offsets), d), atol=1e-6)


def test_displaced_joints_stay_inside_their_kind(
    make_skeleton: Callable, make_motion: Callable, rng: np.random.Generator
) -> None:
    skeleton = make_skeleton(rng)
    body = Body(motion=make_motion(skeleton, rng, 4))
    d = 0.3 * rng.normal(size=(4, body.num_coordinates))
    before = joint_angles(skeleton, body.motion.rotations)
    after = joint_angles(skeleton, body.displaced(d).motion().rotations)
    for joint, kind in enumerate(skeleton.kinds):
        moved = d[:, 3:][:, body.joint_of == joint]
        if kind in (JointKind.HINGE, JointKind.UNIVERSAL):
            turned = (after - before)[:, joint, : NUM_AXES[kind]]
            np.testing.assert_allclose(np.sin(turned - moved), 0.0, atol=1e-9)
        if kind is JointKind.FIXED:
            assert moved.shape[1] == 0


def test_two_bodies_share_one_vector_of_coordinates(
    make_skeleton: Callable, make_motion: Callable, rng: np.random.Generator
) -> None:
    bodies = tuple(Body(motion=make_motion(make_skeleton(rng, n), rng, 2)) for n in (5, 7))
    both = Bodies(bodies=bodies)
    places = BodyPoints.of(bodies, [(0, "tip"), (1, "joint3"), (0, "joint2"), (1, "tip")])

    def at(d: np.ndarray) -> np.ndarray:
        return both.points(both.displaced(d), places)

    d = 0.4 * rng.normal(size=(2, both.num_coordinates))
    found = numeric(at, d)
    for body, posture in enumerate(both.displaced(d)):
        mine, others = np.flatnonzero(places.bodies == body), np.flatnonzero(places.bodies != body)
        expected = posture.point_jacobian(places.joints[mine], at(d)[:, mine])
        np.testing.assert_allclose(found[:, mine][..., both.columns(body)], expected, atol=1e-6)
        assert np.all(np.abs(found[:, others][..., both.columns(body)]) < 1e-9)


def smooth_motion(skeleton: Skeleton, fps: float, seconds: float) -> Motion:
    """Everything turns and moves at no more than 2 cycles a second."""
    t = np.arange(round(seconds * fps) + 1) / fps
    phase = np.arange(skeleton.num_joints)
    v = np.stack([0.8 * np.sin(2 * np.pi * (0.5 + 0.5 * i) * t[:, None] + phase + i) for i in range(3)], -1)
    root = np.stack([np.sin(2 * np.pi * t), 1 + 0.1 * np.cos(4 * np.pi * t), t], -1)
    return Motion(skeleton=skeleton, fps=fps, root=root, rotations=exp(v))


@pytest.mark.parametrize(("low", "tolerance"), [(60.0, 1e-4), (40.0, 1e-3)])
def test_resampling_down_and_up_keeps_slow_motion(
    low: float, tolerance: float, make_skeleton: Callable, rng: np.random.Generator
) -> None:
    motion = smooth_motion(make_skeleton(rng), 120.0, 3.0)
    again = motion.resampled(low).resampled(120.0)
    inside = slice(12, again.num_frames - 12)
    assert angle_between(again.rotations, motion.rotations)[inside].max() < tolerance
    assert np.abs(again.root - motion.root)[inside].max() < tolerance
    linear = motion.resampled(low, method="linear").resampled(120.0, method="linear")
    assert angle_between(linear.rotations, motion.rotations)[inside].max() > 3 * tolerance
