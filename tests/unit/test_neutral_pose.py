"""Neutral poses: rest poses that stand, poses made from a motion with known answers; and hanging arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import (
    Array,
    angle_between,
    conjugate,
    cross,
    exp,
    from_axis_angle,
    identity,
    multiply,
    rotate,
)
from understudy.correspondence.alignment import with_limbs_hanging
from understudy.correspondence.neutral_pose import (
    DOWN,
    FORWARD,
    LEFT,
    UNKNOWN_BACK,
    find_neutral_pose,
    pose_skeleton,
    stands_at_rest,
    turn_feet_back,
)
from understudy.figure.kinematics import fk
from understudy.figure.measures import is_humanoid, rest_pose_kind
from understudy.figure.motion import Motion, join
from understudy.figure.skeleton import Skeleton


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
    neutral = find_neutral_pose(body)
    assert stands_at_rest(body)
    assert (neutral.origin, neutral.upright, neutral.level) == ("rest pose", True, True)
    np.testing.assert_allclose(neutral.local, body.rest, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["walk", "run", "march", "skip", "squat", "pick_up", "sneak", "ladder", "dance"])
def test_a_rest_pose_that_agrees_with_the_motion_is_used(name: str) -> None:
    """Sneaking and climbing never straighten the hips: there the rest pose is all that shows how they are held."""
    for motion in samples.motion(name).actors.values():
        np.testing.assert_array_equal(find_neutral_pose(motion.skeleton, motion).local, motion.skeleton.rest)


def test_bones_in_a_row_are_no_pose() -> None:
    body = laid_out(samples.character("adult"))
    assert rest_pose_kind(body) == "no pose"
    assert not stands_at_rest(body)
    neutral = find_neutral_pose(body)
    assert (neutral.origin, neutral.upright) == ("rest pose", False)
    np.testing.assert_array_equal(neutral.local, body.rest)


def test_a_given_pose_is_taken() -> None:
    walk = samples.motion("walk").motion
    neutral = find_neutral_pose(walk.skeleton, walk, given=walk.rotations[20])
    assert (neutral.origin, neutral.upright, neutral.level) == ("given", True, False)
    np.testing.assert_array_equal(neutral.local, walk.rotations[20])
    assert repr(neutral) == f"<NeutralPose of {walk.skeleton.num_joints} joints from the given>"


@pytest.mark.parametrize("name", ["walk", "run", "march", "skip"])
def test_without_a_rest_pose_the_motion_shows_the_pose_in_which_the_body_was_made(name: str) -> None:
    """Trunk within 3.2 degrees, limbs and feet, twist included, within 0.1, of the rest pose that is hidden."""
    motion = samples.motion(name).motion
    hidden = turned_rest(motion)
    neutral = find_neutral_pose(hidden.skeleton, hidden)
    assert (neutral.origin, neutral.upright, neutral.level) == ("motion", True, True)
    world = pose_skeleton(motion.skeleton, neutral.local).rotations[0]
    rest, joint = motion.skeleton.rest_world[1], motion.skeleton.joint
    for part in ("Hips", "LowerBack", "Spine1"):
        assert np.degrees(angle_between(world[joint(part)], rest[joint(part)])) < 3.2, part
    for part in ("UpLeg", "Leg", "Foot", "Arm", "ForeArm"):
        for side in ("Left", "Right"):
            bone = joint(f"{side}{part}")
            assert np.degrees(angle_between(world[bone], rest[bone])) < 0.3, f"{side}{part}"


def test_lying_and_crouching_do_not_matter() -> None:
    """Lying, crouching and standing up: trunk and legs are upright, and the body faces forwards."""
    squat = turned_rest(samples.motion("squat").motion)
    deep = int(np.argmin(squat.root[:, 1]))
    whole = join(join(lying(squat[:20]), squat[deep : deep + 20]), squat[-20:])
    pose = pose_skeleton(whole.skeleton, find_neutral_pose(whole.skeleton, whole).local)
    for first, last, goal in (
        ("Hips", "Neck", -DOWN),
        ("LeftUpLeg", "LeftFoot", DOWN),
        ("RightUpLeg", "LeftUpLeg", LEFT),
        ("RightArm", "LeftArm", LEFT),
        ("LeftArm", "LeftHand", LEFT),
    ):
        line = pose.points([last])[0, 0] - pose.points([first])[0, 0]
        assert np.degrees(np.arccos(line @ goal / np.linalg.norm(line))) < 4.0, (first, last)


def test_twist_is_that_of_the_axes_of_knees_and_elbows() -> None:
    """An upper arm that is twisted by 50 degrees in a T-pose is twisted back, and the difference is reported."""
    walk = samples.motion("walk").motion
    arm, forearm = (walk.skeleton.joint(name) for name in ("LeftArm", "LeftForeArm"))
    twist = from_axis_angle(LEFT, np.radians(50.0))
    rest = walk.skeleton.rest.copy()
    rest[arm] = multiply(rest[arm], twist)
    rotations = walk.rotations.copy()
    bends = from_axis_angle(cross(LEFT, FORWARD), np.linspace(0.0, 1.0, walk.num_frames))
    rotations[:, forearm] = bends
    motion = replace(walk, skeleton=replace(walk.skeleton, rest=rest), rotations=rotations)
    neutral = find_neutral_pose(motion.skeleton, motion)
    assert neutral.differences["left upper arm"] == pytest.approx(np.radians(50.0), abs=0.01)
    assert neutral.differences["right upper arm"] < 0.01
    world = pose_skeleton(motion.skeleton, neutral.local).rotations[0]
    np.testing.assert_allclose(rotate(world[arm], cross(LEFT, FORWARD)), cross(LEFT, FORWARD), atol=1e-6)
    (note,) = neutral.notes()
    assert note.startswith("the rest pose differs from the neutral pose that the motion shows: left upper arm by 50")
    assert note.endswith("degrees; the motion is followed")


@pytest.mark.parametrize("degrees", [-12.0, 12.0])
def test_knees_that_a_capture_shows_beyond_straight_bend_as_knees_do(degrees: float) -> None:
    """A man stands through a whole capture, with legs straight or a little beyond: his thighs are not turned by half a
    turn."""
    walk = samples.motion("walk").motion
    free = replace(walk.skeleton, kinds=(), axes=np.empty((0, 3, 3)), limits=np.empty((0, 3, 2)))
    walk, rotations = replace(walk, skeleton=free), walk.rotations.copy()
    sway = np.radians(degrees) * (1.0 + 0.8 * np.sin(np.linspace(0.0, 9.0, walk.num_frames)))
    for side in ("Left", "Right"):
        rotations[:, walk.skeleton.joint(f"{side}UpLeg")] = from_axis_angle(LEFT, -0.5 * sway)
        rotations[:, walk.skeleton.joint(f"{side}Leg")] = from_axis_angle(LEFT, sway)
    neutral = find_neutral_pose(walk.skeleton, replace(walk, rotations=rotations))
    legs = [part for part in neutral.differences if "leg" in part]
    assert len(legs) == 4
    assert max(neutral.differences[part] for part in legs) < np.radians(3.0)


def lifted_right_foot(radians: float) -> Motion:
    """A walk on a body without a rest pose, whose right foot always slopes down by more than its left one."""
    walk = turned_rest(samples.motion("walk").motion)
    foot, toe = (walk.skeleton.joint(name) for name in ("RightFoot", "RightToeBase"))
    lift = from_axis_angle(LEFT, radians)
    rotations = walk.rotations.copy()
    rotations[:, foot] = multiply(rotations[:, foot], lift)
    rotations[:, toe] = multiply(conjugate(lift), rotations[:, toe])
    return replace(walk, rotations=rotations)


def ankle_rises(motion: Motion) -> Array:
    """(2,) metres of the ankles above the toes in the neutral pose, left and right."""
    local = find_neutral_pose(motion.skeleton, motion).local
    names = ["LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase"]
    heights = pose_skeleton(motion.skeleton, local).points(names)[0, :, 1]
    rises: Array = heights[[0, 2]] - heights[[1, 3]]
    return rises


def test_a_foot_that_always_stands_on_its_toes_is_as_flat_as_the_other() -> None:
    rises = ankle_rises(lifted_right_foot(0.5))
    assert rises[1] == pytest.approx(rises[0], abs=1e-6)


def test_feet_that_stand_a_few_degrees_apart_are_both_flat() -> None:
    """The markers of captures put one foot steeper than the other; each is flat as it stands."""
    motion = lifted_right_foot(0.1)
    length = float(motion.skeleton.lengths[motion.skeleton.joint("RightToeBase")])
    slopes = np.arcsin(ankle_rises(motion) / length)
    assert slopes[1] - slopes[0] == pytest.approx(0.1, abs=0.005)


def test_a_body_that_is_not_human_gets_the_mean_of_its_motion() -> None:
    """A trotting dog of a human's joint names, with bones in a row at rest: it faces forwards, its trunk is level."""
    names = {"Thigh": "UpLeg", "Shin": "Leg", "Metatarsus": "Foot", "UpperArm": "Arm", "Forearm": "ForeArm"}
    trot = samples.motion("dog_trot").motion
    renamed = tuple(
        side + names.get(n.removeprefix(side), n.removeprefix(side))
        for n in trot.skeleton.names
        for side in [next((s for s in ("Left", "Right") if n.startswith(s)), "")]
    )
    row = laid_out(trot.skeleton).rest
    body = replace(trot.skeleton, names=renamed, rest=row, ends=())
    if stands_at_rest(body):
        body = replace(body, rest=lying(trot).rotations[0])
    neutral = find_neutral_pose(body, replace(trot, skeleton=body))
    assert not is_humanoid(body)
    assert (neutral.origin, neutral.level) == ("motion", False)
    pose = pose_skeleton(body, neutral.local)
    trunk = pose.points(["Neck"])[0, 0] - pose.points(["Hips"])[0, 0]
    assert trunk @ FORWARD > 0.9 * np.linalg.norm(trunk)


def test_one_frame_is_straightened() -> None:
    walk = turned_rest(samples.motion("walk").motion)[40:41]
    pose = pose_skeleton(walk.skeleton, find_neutral_pose(walk.skeleton, walk).local)
    np.testing.assert_allclose(arms(walk.skeleton, pose.skeleton.rest).shape, (2, 3))
    trunk = pose.points(["Neck"])[0, 0] - pose.points(["Hips"])[0, 0]
    assert trunk[1] > np.cos(np.radians(3.0)) * np.linalg.norm(trunk)


def test_who_is_bent_all_the_time_is_said_to_have_a_guessed_back() -> None:
    """Deep in a squat: only a rest pose that stands, or frames of standing, show how the back is held."""
    squat = samples.motion("squat").motion
    deep = int(np.argmin(squat.root[:, 1]))
    bent = squat[deep - 3 : deep + 4]
    hidden = turned_rest(bent)
    assert find_neutral_pose(hidden.skeleton, hidden).notes() == [UNKNOWN_BACK]
    assert find_neutral_pose(bent.skeleton, bent).notes() == []
    whole = turned_rest(squat)
    assert find_neutral_pose(whole.skeleton, whole).notes() == []


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


def with_foot_over(motion: Motion, side: str, frames: slice) -> Motion:
    """A motion in which a foot is turned over about its own bone for some frames."""
    body, rotations = motion.skeleton, motion.rotations.copy()
    foot, toe = body.joint(f"{side}Foot"), body.joint(f"{side}ToeBase")
    bone = body.offsets[toe] / np.linalg.norm(body.offsets[toe])
    rotations[frames, foot] = multiply(rotations[frames, foot], np.concatenate([[0.0], bone]))
    return replace(motion, rotations=rotations)


@pytest.mark.parametrize("side", ["Left", "Right"])
@pytest.mark.parametrize("frames", [slice(None), slice(20, None), slice(10, 35), slice(0, 3)])
def test_feet_that_are_turned_over_are_turned_back(side: str, frames: slice) -> None:
    walk = samples.motion("walk").actors["adult"]
    mended, notes = turn_feet_back(with_foot_over(walk, side, frames))
    assert float(angle_between(mended.rotations, walk.rotations).max()) < 1e-6
    seconds = len(range(*frames.indices(walk.num_frames))) / walk.fps
    assert notes == [f"`{side}Foot` is turned over about its own bone for {seconds:.2f} s: it is turned back"]


def test_a_foot_that_rolls_over_slowly_is_turned_back() -> None:
    """A captured foot may roll over while it is in line with the shin: its sole ends up above it."""
    walk = samples.motion("walk").actors["adult"]
    foot, toe = walk.skeleton.joint("LeftFoot"), walk.skeleton.joint("LeftToeBase")
    bone = walk.skeleton.offsets[toe] / np.linalg.norm(walk.skeleton.offsets[toe])
    rolled, rotations = np.clip(np.linspace(-1.0, 2.0, walk.num_frames), 0.0, 1.0) * np.pi, walk.rotations.copy()
    rotations[:, foot] = multiply(rotations[:, foot], from_axis_angle(bone, rolled))
    mended, notes = turn_feet_back(replace(walk, rotations=rotations))
    apart = angle_between(mended.rotations, walk.rotations).max(axis=1)
    assert apart[(rolled == 0.0) | (rolled == np.pi)].max() < 1e-6
    assert apart.max() < np.radians(75.0)
    assert len(notes) == 1


@pytest.mark.parametrize("name", ["walk", "run", "squat", "skip"])
def test_feet_that_are_as_they_should_be_are_left_alone(name: str) -> None:
    motion = samples.motion(name).actors["adult"]
    mended, notes = turn_feet_back(motion)
    assert mended is motion
    assert notes == []


def test_a_foot_that_jumps_in_other_ways_is_left_alone() -> None:
    """A foot that turns over and about the vertical at once was not only turned about its bone."""
    walk = samples.motion("walk").actors["adult"]
    over = with_foot_over(walk, "Left", slice(20, None))
    rotations, foot = over.rotations.copy(), walk.skeleton.joint("LeftFoot")
    rotations[20:, foot] = multiply(from_axis_angle([0.0, 1.0, 0.0], 1.5), rotations[20:, foot])
    jumping = replace(over, rotations=rotations)
    assert turn_feet_back(jumping) == (jumping, [])


@pytest.mark.parametrize("degrees", [0.0, 25.0, 62.0])
def test_a_short_steep_foot_of_a_standing_rest_pose_is_flat(degrees: float) -> None:
    """Toes just ahead of ankles at the usual height: the bone is steep, and the foot stands all the same."""
    walk = samples.motion("walk").actors["adult"]
    body, offsets = walk.skeleton, walk.skeleton.offsets.copy()
    for side in ("Left", "Right"):
        toe = body.joint(f"{side}ToeBase")
        length = 0.06
        slope = np.radians(degrees)
        offsets[toe] = [0.0, -length * np.sin(slope), length * np.cos(slope)]
    steep = replace(walk, skeleton=replace(body, offsets=offsets))
    neutral = find_neutral_pose(steep.skeleton, steep)
    for side in ("left foot", "right foot"):
        assert np.degrees(neutral.differences.get(side, 0.0)) < 5.0
