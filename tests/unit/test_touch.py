"""Hands that are near the body keep their distance to its surface on a body of another shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import between, conjugate, multiply, rotate
from understudy.figure.kinematics import fk
from understudy.figure.measures import reach
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Options
from understudy.retarget.touch import keep_touches


def wrist(motion: Motion, side: str) -> np.ndarray:
    return fk(motion).positions[:, roles(motion.skeleton)[f"{side}_hand"]]


def with_hands_together() -> Motion:
    """A sample stands still, both arms turned so that the wrists are 6 cm apart before the chest."""
    return with_wrists(dict.fromkeys(("left", "right"), "chest"), np.array([0.03, 0.0, 0.3]))


def with_wrists(near: dict[str, str], offset: np.ndarray) -> Motion:
    """A sample stands still, its wrists at an offset from the joint of a role; X is mirrored for the right hand."""
    motion = samples.motion("squat").motion[:40]
    free = replace(motion.skeleton, kinds=(), axes=np.empty((0, 3, 3)), limits=np.empty((0, 3, 2)))
    motion = replace(motion, skeleton=free)
    joint_of = roles(motion.skeleton)
    rotations = motion.rotations.copy()
    for side, role in near.items():
        for _ in range(60):
            pose = fk(replace(motion, rotations=rotations))
            goal = pose.positions[:, joint_of[role]] + offset * [1.0 if side == "left" else -1.0, 1.0, 1.0]
            for part in ("lower_arm", "upper_arm"):
                pose = fk(replace(motion, rotations=rotations))
                joint = joint_of[f"{side}_{part}"]
                hand, centre = pose.positions[:, joint_of[f"{side}_hand"]], pose.positions[:, joint]
                turn = between(hand - centre, goal - centre)
                parent = pose.rotations[:, motion.skeleton.parents[joint]]
                rotations[:, joint] = multiply(conjugate(parent), multiply(turn, pose.rotations[:, joint]))
    return replace(motion, rotations=rotations)


def with_longer(skeleton: Skeleton, part: str, factor: float) -> Skeleton:
    factors = np.array([factor if part in name else 1.0 for name in skeleton.names])
    return skeleton.scaled(factors)


def test_hands_that_meet_meet_on_a_body_with_wider_shoulders() -> None:
    motion = with_hands_together()
    gap = np.linalg.norm(wrist(motion, "left") - wrist(motion, "right"), axis=-1)
    np.testing.assert_allclose(gap, 0.06, atol=5e-3)
    joint_of = roles(motion.skeleton)
    factors = np.ones(motion.skeleton.num_joints)
    for side in ("left", "right"):
        factors[joint_of[f"{side}_upper_arm"]] = 1.6
    wide = motion.skeleton.scaled(factors)
    apart = {
        touch: retarget(motion, wide, options=Options(touch=touch)).motion for touch in (False, True)
    }  # fmt: skip
    gaps = {touch: np.linalg.norm(wrist(m, "left") - wrist(m, "right"), axis=-1) for touch, m in apart.items()}
    assert gaps[False].min() > 0.15
    assert gaps[True].max() < 0.08


def test_hands_that_are_only_near_each_other_move_less_the_farther_they_are_apart() -> None:
    """Shoulders 10 cm wider each: wrists that touch stay together, wrists 20 cm apart may be some centimetres off."""
    moved = {}
    for half in (0.03, 0.1):
        motion = with_wrists(dict.fromkeys(("left", "right"), "chest"), np.array([half, 0.1, 0.35]))
        factors = np.ones(motion.skeleton.num_joints)
        for side in ("left", "right"):
            factors[roles(motion.skeleton)[f"{side}_upper_arm"]] = 1.5
        wide = motion.derived(skeleton=motion.skeleton.scaled(factors))
        kept = keep_touches(motion, wide)
        moved[half] = float(np.linalg.norm(wrist(kept, "left") - wrist(wide, "left"), axis=-1).max())
        before = float(np.linalg.norm(wrist(wide, "left") - wrist(wide, "right"), axis=-1).max()) - 2.0 * half
        assert before > 0.1, "the shoulders must part the hands"
    assert moved[0.1] < 0.85 * moved[0.03]


def test_a_hand_beside_the_hip_is_beside_the_hip_of_a_body_with_a_longer_trunk() -> None:
    sides = ("left", "right")
    motion = with_wrists({side: f"{side}_upper_leg" for side in sides}, np.array([0.12, 0.08, 0.1]))
    joint_of = roles(motion.skeleton)
    factors = np.ones(motion.skeleton.num_joints)
    trunk = motion.skeleton.chain(joint_of["left_upper_arm"])[1:-1]
    factors[[j for j in trunk if "left" not in motion.skeleton.names[j].lower()]] = 1.6
    long = motion.skeleton.scaled(factors)
    arm, gaps = reach(motion.skeleton), {}
    results = [retarget(motion, long, options=Options(touch=touch)).motion for touch in (False, True)]
    for name, body in zip(("source", "off", "on"), (motion, *results), strict=True):
        hips = fk(body).positions[:, joint_of["left_upper_leg"]]
        gaps[name] = np.linalg.norm(wrist(body, "left") - hips, axis=-1) / arm
    assert gaps["source"].max() < 0.35
    assert np.abs(gaps["off"] - gaps["source"]).min() > 0.2
    assert np.abs(gaps["on"] - gaps["source"]).max() < 0.15


def test_a_hip_out_of_reach_does_not_stretch_the_arm() -> None:
    """Arms swing past the hips, which on this body are three arm lengths below the shoulders."""
    results = [
        retarget("sample:walk", "sample:stretched", options=Options(touch=touch)).motion for touch in (True, False)
    ]
    for side in ("left", "right"):
        np.testing.assert_allclose(*(wrist(motion, side) for motion in results), atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 0.6, 1.4])
def test_a_body_of_the_same_shape_touches_as_it_is(scale: float) -> None:
    motion = with_hands_together()
    start = replace(motion, skeleton=motion.skeleton.scaled(scale), root=scale * motion.root)
    assert keep_touches(motion, start) is start


def test_arms_that_are_far_from_everything_are_left_as_they_are() -> None:
    motion = samples.motion("walk").motion
    joint_of = roles(motion.skeleton)
    rotations = motion.rotations.copy()
    for side in ("left", "right"):
        for part in ("upper_arm", "lower_arm", "hand"):
            rotations[:, joint_of[f"{side}_{part}"]] = motion.skeleton.rest[joint_of[f"{side}_{part}"]]
    spread = replace(motion, rotations=rotations)
    assert wrist(spread, "left")[:, 0].min() > 0.5 * reach(motion.skeleton)
    wide = replace(spread, skeleton=with_longer(motion.skeleton, "Leg", 1.3))
    assert keep_touches(spread, wide) is wide


def test_a_moved_hand_keeps_its_rotation_and_the_trunk_its_place() -> None:
    motion = with_hands_together()
    joint_of = roles(motion.skeleton)
    factors = np.ones(motion.skeleton.num_joints)
    factors[joint_of["left_upper_arm"]] = factors[joint_of["right_upper_arm"]] = 1.6
    start = replace(motion, skeleton=motion.skeleton.scaled(factors))
    moved = keep_touches(motion, start)
    assert moved is not start
    before, after = fk(start), fk(moved)
    for side in ("left", "right"):
        hand = joint_of[f"{side}_hand"]
        axes = np.eye(3)[:, None]
        turned = rotate(after.rotations[:, hand], axes) - rotate(before.rotations[:, hand], axes)
        assert np.abs(turned).max() < 1e-9
    arms = [j for role, j in joint_of.items() if "arm" in role or "hand" in role]
    below = np.any([motion.skeleton.below(j) for j in arms], axis=0)
    assert np.abs(after.positions - before.positions)[:, ~below].max() < 1e-12


def test_an_elbow_that_is_a_hinge_turns_about_its_axis_only() -> None:
    squat = samples.motion("squat").motion
    skeleton = squat.skeleton
    joint_of = roles(skeleton)
    factors = np.ones(skeleton.num_joints)
    factors[[joint_of["left_upper_leg"], joint_of["right_upper_leg"]]] = 3.0
    start = replace(squat, skeleton=skeleton.scaled(factors))
    moved = keep_touches(squat, start)
    assert moved is not start
    for side in ("left", "right"):
        elbow = joint_of[f"{side}_lower_arm"]
        assert skeleton.kinds[elbow] is JointKind.HINGE
        turned = multiply(conjugate(skeleton.rest[elbow]), moved.rotations[:, elbow])
        across = turned[:, 1:] - (turned[:, 1:] @ skeleton.axes[elbow][0])[:, None] * skeleton.axes[elbow][0]
        assert np.abs(across).max() < 1e-6


def test_arms_of_motors_are_left_to_the_solver() -> None:
    motion = with_hands_together()
    skeleton = with_longer(motion.skeleton, "Arm", 1.5)
    shoulder = roles(skeleton)["left_upper_arm"]
    kinds = tuple(JointKind.HINGE if j == shoulder else kind for j, kind in enumerate(skeleton.kinds))
    axes = np.array(skeleton.axes)
    axes[shoulder] = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    limits = np.full((skeleton.num_joints, 3, 2), [-np.inf, np.inf])
    hinged = replace(motion, skeleton=replace(skeleton, kinds=kinds, axes=axes, limits=limits))
    assert keep_touches(motion, hinged) is hinged
