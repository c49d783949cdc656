"""Human joint limits: normal ranges, widened to contain the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy.base.quaternion import between, conjugate, from_axis_angle, multiply, rotate, unrotate
from understudy.constraints import ConstraintInput
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.limits import human_limits, joint_limits, skeleton_limits
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.samples import character, motion


def bare(skeleton: Skeleton) -> Skeleton:
    """The same body with ball joints and no limits."""
    kinds = tuple(JointKind.FREE if j == 0 else JointKind.BALL for j in range(skeleton.num_joints))
    return replace(skeleton, kinds=kinds, axes=np.empty((0, 3, 3)), limits=np.empty((0, 3, 2)))


def on(skeleton: Skeleton, source: Motion) -> Motion:
    return replace(source, skeleton=skeleton)


def excess(limit: JointRange, turns: np.ndarray) -> np.ndarray:
    """(F, R) how far local rotations (F, 4) exceed the limits."""
    return limit.rows(
        ConstraintInput(times=np.zeros(len(turns)), points=np.empty((len(turns), 0, 3)), local_rotations=turns[:, None])
    ).values


def named(limits: list[JointRange], name: str) -> JointRange:
    return next(limit for limit in limits if limit.joint.point == name)


def turned(skeleton: Skeleton, joint: str, axis: np.ndarray, degrees: float) -> np.ndarray:
    """(1, 4) a joint's local rotation after a rotation about a world axis from the rest pose."""
    number = skeleton.joint(joint)
    world = skeleton.rest_world[1]
    above = world[skeleton.parents[number]]
    local = multiply(unrotated(above, axis, degrees), skeleton.rest[number])
    return local[None]


def unrotated(above: np.ndarray, axis: np.ndarray, degrees: float) -> np.ndarray:
    return from_axis_angle(unrotate(above, axis), np.radians(degrees))


X, Y, Z = np.eye(3)
STANDING = rest_motion(bare(character("adult")), num_frames=3)
NORMAL, _ = human_limits(STANDING)

ALLOWED = [
    ("LeftUpLeg", -X, 110), ("LeftUpLeg", X, 25), ("LeftUpLeg", Z, 40), ("LeftUpLeg", -Z, 25), ("RightUpLeg", -Z, 40),
    ("RightUpLeg", Z, 25), ("LeftUpLeg", Y, 40), ("LeftLeg", X, 120), ("RightLeg", X, 120),
    ("LeftArm", -Z, 85), ("LeftArm", Z, 80), ("RightArm", Z, 85), ("LeftArm", -Y, 120), ("RightArm", Y, 120),
    ("LeftForeArm", -Y, 140), ("RightForeArm", Y, 140), ("LeftFoot", -X, 15), ("LeftFoot", X, 45),
    ("LeftHand", Z, 70), ("Head", X, 30), ("Head", Y, 40), ("Spine", X, 35), ("Spine", X, -10),
]  # fmt: skip
FORBIDDEN = [
    ("LeftUpLeg", -X, 140), ("LeftUpLeg", X, 45), ("LeftUpLeg", Z, 60), ("LeftUpLeg", -Z, 45), ("RightUpLeg", -Z, 60),
    ("RightUpLeg", Z, 45), ("LeftUpLeg", Y, 60), ("LeftLeg", X, 150), ("LeftLeg", -X, 20), ("RightLeg", -X, 20),
    ("LeftLeg", Z, 30), ("LeftArm", Y, 100), ("RightArm", -Y, 100), ("LeftForeArm", Y, 20), ("RightForeArm", -Y, 20),
    ("LeftFoot", -X, 40), ("LeftFoot", X, 70), ("LeftHand", Z, 95), ("Head", X, 60), ("Head", Y, 90), ("Spine", X, 70),
]  # fmt: skip


@pytest.mark.parametrize(("joint", "axis", "degrees"), ALLOWED)
def test_normal_movements_are_allowed(joint: str, axis: np.ndarray, degrees: float) -> None:
    assert excess(named(NORMAL, joint), turned(STANDING.skeleton, joint, axis, degrees)).max() < 0.0


@pytest.mark.parametrize(("joint", "axis", "degrees"), FORBIDDEN)
def test_impossible_movements_are_forbidden(joint: str, axis: np.ndarray, degrees: float) -> None:
    assert excess(named(NORMAL, joint), turned(STANDING.skeleton, joint, axis, degrees)).max() > np.radians(3.0)


def test_the_same_for_a_rig_with_other_names_frames_and_rest_pose() -> None:
    body = bare(character("other"))
    limits, _ = human_limits(rest_motion(body, num_frames=3))
    for joint, axis, degrees in (("thigh_l", -X, 110), ("thigh_r", -Z, 40), ("calf_r", X, 120)):
        assert excess(named(limits, joint), turned(body, joint, axis, degrees)).max() < 0.0
    for joint, axis, degrees in (("thigh_l", X, 45), ("thigh_r", Z, 45), ("calf_r", -X, 20), ("calf_l", X, 150)):
        assert excess(named(limits, joint), turned(body, joint, axis, degrees)).max() > np.radians(3.0)


@pytest.mark.parametrize("name", ["walk", "run", "squat", "ladder", "pick_up", "dance", "sneak"])
def test_a_motion_keeps_to_its_own_limits(name: str) -> None:
    for source in motion(name).actors.values():
        moving = on(bare(source.skeleton), source)
        limits, notes = human_limits(moving, actor="someone")
        assert len(limits) >= 18
        for limit in limits:
            assert limit.joint.actor == "someone"
            turns = moving.rotations[:, moving.skeleton.joint(str(limit.joint.point))]
            assert excess(limit, turns).max() < 0.0, f"{limit.label}: {notes}"


def test_every_widening_is_reported() -> None:
    body = STANDING.skeleton
    turns = np.repeat(STANDING.rotations[:1], 20, 0)
    knee = body.joint("LeftLeg")
    turns[:, knee] = from_axis_angle(X, np.radians(np.linspace(0, 150, 20)))
    limits, notes = human_limits(replace(STANDING, root=np.zeros((20, 3)), rotations=turns))
    assert notes == ["`LeftLeg`: the normal range of turning is widened by 18 degrees: the motion itself goes there."]
    np.testing.assert_allclose(np.degrees(named(limits, "LeftLeg").twist), [-10.0, 153.0], atol=0.5)
    np.testing.assert_allclose(named(limits, "LeftLeg").axis, X, atol=1e-9)


@pytest.mark.parametrize("start", [0.0, 40.0])
def test_bending_side_follows_from_the_motion_in_any_joint_frame(start: float) -> None:
    """The joint frames are askew and the motion stays bent; the limits still find the straight pose."""
    walk = motion("squat", seconds=2.6).motion
    body = bare(walk.skeleton)
    askew = from_axis_angle(np.array([0.48, 0.6, 0.64]), 2.0)
    knee = body.joint("RightLeg")
    turns = np.tile(body.rest, (len(walk), 1, 1))
    bend = np.radians(np.linspace(start, start + 60.0, len(turns)))
    turns[:, knee] = multiply(from_axis_angle(X, bend), askew)
    offsets = body.offsets.copy()
    for child in body.children[knee]:
        offsets[child] = unrotate(askew, offsets[child])
        turns[:, child] = multiply(conjugate(askew), turns[:, child])
    rest = body.rest.copy()
    rest[knee] = askew
    moving = Motion(skeleton=replace(body, offsets=offsets, rest=rest), fps=30.0, root=walk.root, rotations=turns)
    limit = named(human_limits(moving)[0], "RightLeg")
    for degrees, fits in ((0.0, True), (-5.0, True), (-15.0, False), (130.0, True), (140.0, False)):
        local = multiply(from_axis_angle(X, np.radians(degrees)), askew)[None]
        assert (excess(limit, local).max() < 0.0) == fits, degrees


def test_limits_of_the_skeleton_take_precedence() -> None:
    body = character("adult")
    from_skeleton = skeleton_limits(body)
    assert {str(limit.joint.point) for limit in from_skeleton} >= {"LeftLeg", "RightArm"}
    assert "Hips" not in {limit.joint.point for limit in from_skeleton}
    limits, notes = joint_limits(motion("walk", seconds=1.0).motion, actor="a")
    assert (len(limits), notes) == (len(from_skeleton), [])
    assert limits[0].joint.actor == "a"
    assert skeleton_limits(STANDING.skeleton) == ()
    assert len(joint_limits(STANDING)[0]) == len(NORMAL)


def test_bodies_that_are_not_human_get_no_limits() -> None:
    limits, notes = human_limits(motion("spider_walk", seconds=0.5).motion)
    assert limits == []
    assert notes == ["The body is not a human one: no joint limits are known for it."]


def test_a_joint_without_a_bone_is_reported() -> None:
    body = STANDING.skeleton
    ends = tuple(end for end in body.ends if end.joint != "LeftHand")
    limits, notes = human_limits(replace(STANDING, skeleton=replace(body, ends=ends)))
    assert notes == ["`LeftHand` has no bone to measure by: its range is left open."]
    assert "LeftHand" not in {limit.joint.point for limit in limits}


def test_body_without_a_standing_rest_pose_takes_its_limits_from_the_motion() -> None:
    """All offsets are along X, as some systems write them; only the motion shows how the body stands."""
    walk = motion("walk", seconds=2.0).motion
    body = bare(walk.skeleton)
    count = body.num_joints
    # Rotate each joint's frame so that its child lies along the joint's X axis.
    frames = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    for joint in range(1, count):
        if len(body.children[joint]) == 1:
            frames[joint] = between(X, body.offsets[body.children[joint][0]])
    back = frames * [1.0, -1.0, -1.0, -1.0]
    above = back[np.maximum(body.parents, 0)]
    above[0] = [1.0, 0.0, 0.0, 0.0]
    turns = multiply(multiply(above, walk.rotations), frames)
    offsets = rotate(above, body.offsets)
    ends = tuple(replace(e, offset=rotate(back[body.joint(e.joint)], e.offset)) for e in body.ends)
    strange = Motion(skeleton=replace(body, offsets=offsets, ends=ends), fps=walk.fps, root=walk.root, rotations=turns)
    np.testing.assert_allclose(fk(strange).positions, fk(walk).positions, atol=1e-9)
    limits, notes = human_limits(strange)
    assert len(limits) == len(NORMAL)
    assert not [sentence for sentence in notes if "Leg`" in sentence], notes
    knee = strange.skeleton.joint("LeftLeg")
    straight = multiply(multiply(above[knee], from_axis_angle(X, np.radians(np.array([5.0, -25.0])))), frames[knee])
    beyond = excess(named(limits, "LeftLeg"), straight).max(-1)
    assert beyond[0] < 0.0 < beyond[1]


@pytest.mark.parametrize(("degrees", "is_open"), [(60.0, False), (160.0, True)])
def test_a_range_that_a_motion_leaves_by_far_is_left_open(degrees: float, is_open: bool) -> None:
    """To bring a thigh back by a quarter turn and more, the whole body would turn about it."""
    walk = motion("walk", seconds=1.0).motion
    thigh = walk.skeleton.joint("LeftUpLeg")
    rotations = walk.rotations.copy()
    turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(degrees))
    rotations[10:20, thigh] = multiply(rotations[10:20, thigh], turn)
    assert skeleton_limits(walk.skeleton)
    ranges, notes = joint_limits(replace(walk, rotations=rotations))
    assert ("LeftUpLeg" not in {str(limit.joints()[0].point) for limit in ranges}) is is_open
    assert [note.partition(":")[0] for note in notes] == ["`LeftUpLeg`"] * is_open
    everything, _ = joint_limits(replace(walk, rotations=rotations), widen=False)
    assert len(everything) == len(skeleton_limits(walk.skeleton))
