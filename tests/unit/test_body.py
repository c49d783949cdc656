"""Roles, measures, masses and mirror images of bodies, on our own samples and on hand-made skeletons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import SkeletonError
from understudy.base.quaternion import angle_between, conjugate, from_axis_angle, multiply, normalize, rotate, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.mass import centre_of_mass, masses
from understudy.figure.measures import (
    bone_start,
    chain_length,
    extent,
    facing,
    feet,
    find_sole,
    hands,
    height,
    is_humanoid,
    leg_length,
    mirror,
    partners,
    rest_pose_kind,
    sole_points,
)
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import mirrored, roles, side, words
from understudy.figure.skeleton import JointKind, Point, Skeleton


@pytest.mark.parametrize(
    ("name", "expected", "on"),
    [
        ("mixamorig:LeftUpLeg", ("left", "up", "leg"), "left"),
        ("lfemur", ("l", "femur"), "left"),
        ("RThumb", ("r", "thumb"), "right"),
        ("LHipJoint", ("l", "hip", "joint"), "left"),
        ("lCollar", ("l", "collar"), "left"),
        ("thigh_l", ("thigh", "l"), "left"),
        ("Bip01 R Calf", ("bip", "01", "r", "calf"), "right"),
        ("upperarm.R", ("upperarm", "r"), "right"),
        ("LF_Hip", ("lf", "hip"), "left"),
        ("LowerBack", ("lower", "back"), ""),
        ("root", ("root",), ""),
        ("LoArm_L", ("lo", "arm", "l"), "left"),
    ],
)
def test_names_are_read(name: str, expected: tuple[str, ...], on: str) -> None:
    assert words(name) == expected
    assert side(name) == on


def test_mirrored_names() -> None:
    assert mirrored("LeftUpLeg") == words("RightUpLeg")
    assert mirrored("thigh_r") == words("thigh_l")


def humanoid(arms: str, shoulder: str) -> Skeleton:
    """A stick man in a T-pose with names of two common habits."""
    side_names = (shoulder, arms, "ForeArm", "Hand") if arms == "Arm" else ("Collar", shoulder, "Elbow", "Wrist")
    names, parents, offsets = (
        ["Hips", "Spine", "Neck", "Head"],
        [-1, 0, 1, 2],
        [[0, 1, 0], [0, 0.2, 0], [0, 0.3, 0], [0, 0.1, 0]],
    )
    for which, sign in (("Left", 1.0), ("Right", -1.0)):
        legs = ("UpLeg", "Leg", "Foot", "ToeBase")
        for i, (part, offset) in enumerate(zip(legs, [[0.1, 0, 0], [0, -0.45, 0], [0, -0.45, 0], [0, -0.1, 0.15]])):
            parents.append(0 if i == 0 else len(names) - 1)
            names.append(which + part)
            offsets.append([sign * offset[0], offset[1], offset[2]])
        for i, (part, length) in enumerate(zip(side_names, [0.05, 0.12, 0.28, 0.25])):
            parents.append(1 if i == 0 else len(names) - 1)
            names.append(which + part)
            offsets.append([sign * length, 0.25 if i == 0 else 0.0, 0.0])
    return Skeleton(names=tuple(names), parents=parents, offsets=offsets)


@pytest.mark.parametrize(
    ("arms", "shoulder", "collar"), [("Arm", "Shoulder", "LeftShoulder"), ("", "Shoulder", "LeftCollar")]
)
def test_the_tree_settles_what_a_shoulder_is(arms: str, shoulder: str, collar: str) -> None:
    skeleton = humanoid(arms, shoulder)
    joint_names = {role: skeleton.names[j] for role, j in roles(skeleton).items()}
    assert joint_names["left_shoulder"] == collar
    assert joint_names["left_upper_arm"] == ("LeftArm" if arms else "LeftShoulder")
    assert joint_names["hips"] == "Hips"
    assert joint_names["chest"] == "Spine"
    assert is_humanoid(skeleton)
    assert rest_pose_kind(skeleton) == "T-pose"


def test_measures_of_a_known_body() -> None:
    skeleton = humanoid("Arm", "Shoulder")
    assert leg_length(skeleton) == pytest.approx(0.9)
    assert height(skeleton) == pytest.approx(1.6)
    np.testing.assert_allclose(extent(skeleton), [1.4, 1.6, 0.15])
    assert chain_length(skeleton, 0, skeleton.joint("Head")) == pytest.approx(0.6)
    assert [p.name for p in hands(skeleton)] == ["LeftHand", "RightHand"]
    assert {p.joint for p in feet(skeleton)} == {"LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase"}


@pytest.mark.parametrize(
    ("axes", "first"), [("yxz", "roll"), ("xzy", "roll"), ("zxy", "roll"), ("yyx", "roll"), ("xyy", "pitch")]
)
def test_a_robots_thigh_begins_at_the_last_motor_that_swings_it(axes: str, first: str) -> None:
    """Motors in a row out of the pelvis, by their axes; a last one that only twists the thigh does not begin it."""
    motors = ("pitch", "roll", "yaw")
    names = ("pelvis", *motors, "knee", "ankle")
    offsets = [[0.0, 1.0, 0.0], [0.1, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, -0.1, 0.0], [0.0, -0.4, 0.0], [0.0, -0.4, 0.0]]
    rows = [np.eye(3)["xyz".index(axis)] for axis in (*axes, "x", "x")]
    skeleton = Skeleton(
        names=names, parents=np.arange(-1, 5), offsets=np.array(offsets),
        kinds=(JointKind.FREE, *([JointKind.HINGE] * 5)),
        axes=np.array([np.eye(3), *(np.array([row, [0.0] * 3, [0.0] * 3]) for row in rows)]),
    )  # fmt: skip
    assert skeleton.names[bone_start(skeleton, 1, 4)] == ("yaw" if axes[2] != "y" else first)


def test_height_of_a_rest_pose_that_does_not_stand() -> None:
    skeleton = humanoid("Arm", "Shoulder")
    straight = np.zeros_like(skeleton.offsets)
    straight[:, 0] = skeleton.lengths
    lying = replace(skeleton, offsets=straight)
    assert rest_pose_kind(lying) == "no pose"
    assert height(lying) == pytest.approx(0.9 + 0.6)


@pytest.mark.parametrize(("degrees", "kind"), [(0, "T-pose"), (-45, "A-pose"), (-85, "arms down"), (60, "other pose")])
def test_rest_poses_are_told_apart(degrees: float, kind: str) -> None:
    skeleton = humanoid("Arm", "Shoulder")
    rest = skeleton.rest.copy()
    for which, sign in (("Left", 1.0), ("Right", -1.0)):
        rest[skeleton.joint(which + "Arm")] = from_axis_angle([0, 0, 1], sign * np.radians(degrees))
    assert rest_pose_kind(replace(skeleton, rest=rest)) == kind


def test_facing_follows_a_turn() -> None:
    motion = rest_motion(humanoid("Arm", "Shoulder"))
    np.testing.assert_allclose(facing(motion)[0], [0, 0, 1], atol=1e-12)
    turn = from_axis_angle([0, 1, 0], 0.7)
    turned = replace(
        motion, rotations=np.concatenate([multiply(turn, motion.rotations[:, :1]), motion.rotations[:, 1:]], 1)
    )
    np.testing.assert_allclose(facing(turned)[0], rotate(turn, [0, 0, 1.0]), atol=1e-12)


@pytest.mark.parametrize("name", ["adult", "child", "giant", "stretched", "other"])
def test_human_samples_are_human(name: str) -> None:
    skeleton = samples.character(name)
    assert is_humanoid(skeleton)
    assert 0.3 < leg_length(skeleton) / height(skeleton) < 0.75 or name == "stretched"


@pytest.mark.parametrize("name", ["dog", "spider", "shark", "can", "figure2d"])
def test_other_samples_are_measured_too(name: str) -> None:
    skeleton = samples.character(name)
    assert not is_humanoid(skeleton) or name == "figure2d"
    assert leg_length(skeleton) > 0.01
    assert masses(skeleton).shares.sum() == pytest.approx(1.0)


def test_human_mass_is_where_anatomy_says() -> None:
    skeleton = samples.character("adult")
    spread = masses(skeleton)
    by_joint: dict[str, float] = {}
    for point, share in zip(spread.points, spread.shares):
        by_joint[point.joint] = by_joint.get(point.joint, 0.0) + share
    assert by_joint["LeftUpLeg"] == pytest.approx(0.100, abs=1e-9)
    assert by_joint["LeftLeg"] == pytest.approx(0.0465, abs=1e-9)
    assert spread.shares.sum() == pytest.approx(1.0)
    pose = fk(rest_motion(skeleton))
    centre = centre_of_mass(pose)[0]
    assert abs(centre[0]) < 1e-9
    assert 0.5 < centre[1] / height(skeleton) < 0.62


def test_mass_of_a_plain_rod_is_in_its_middle() -> None:
    rod = Skeleton(names=("a", "b"), parents=[-1, 0], offsets=[[0, 0, 0], [0, 2, 0]])
    np.testing.assert_allclose(centre_of_mass(fk(rest_motion(rod)))[0], [0, 1, 0])
    point = Skeleton(names=("a",), parents=[-1], offsets=[[1, 2, 3]])
    np.testing.assert_allclose(centre_of_mass(fk(rest_motion(point)))[0], [1, 2, 3])


def test_thicker_parts_weigh_more() -> None:
    spread = masses(samples.character("dog"))
    trunk = sum(s for p, s in zip(spread.points, spread.shares) if "Leg" not in p.joint and "Paw" not in p.joint)
    assert trunk > 0.4


@pytest.mark.parametrize("name", ["walk", "dog_walk", "spider_walk", "swim"])
def test_mirror_images(name: str) -> None:
    motion = samples.motion(name, fps=30, seconds=1.0).motion
    image = mirror(motion)
    again = mirror(image)
    assert angle_between(again.rotations, motion.rotations).max() < 1e-12
    np.testing.assert_allclose(again.root, motion.root, atol=1e-15)
    pair = partners(motion.skeleton)
    expected = fk(motion).positions[:, pair] * [-1, 1, 1]
    np.testing.assert_allclose(fk(image).positions, expected, atol=1e-9)


def test_mirror_of_a_rig_with_frames_along_its_bones() -> None:
    skeleton = samples.character("other")
    rng = np.random.default_rng(3)
    turns = normalize(
        np.concatenate([np.ones((6, skeleton.num_joints, 1)), 0.2 * rng.normal(size=(6, skeleton.num_joints, 3))], -1)
    )
    motion = Motion(skeleton=skeleton, fps=30, root=rng.normal(size=(6, 3)), rotations=multiply(skeleton.rest, turns))
    image = mirror(motion)
    expected = fk(motion).positions[:, partners(skeleton)] * [-1, 1, 1]
    np.testing.assert_allclose(fk(image).positions, expected, atol=1e-9)


def test_mirror_of_changing_bones() -> None:
    motion = samples.motion("walk", fps=30, seconds=0.5).motion
    size = np.linspace(1, 2, motion.num_frames)[:, None, None]
    grown = replace(motion, offsets=motion.skeleton.offsets * size)
    again = mirror(mirror(grown))
    np.testing.assert_allclose(again.offsets, grown.offsets, atol=1e-12)
    expected = fk(grown).positions[:, partners(motion.skeleton)] * [-1, 1, 1]
    np.testing.assert_allclose(fk(mirror(grown)).positions, expected, atol=1e-9)


def test_partners_by_place_where_names_say_nothing() -> None:
    skeleton = samples.character("adult")
    nameless = replace(skeleton, names=tuple(f"n{i}" for i in range(skeleton.num_joints)), ends=())
    np.testing.assert_array_equal(partners(nameless), partners(skeleton))


def test_a_body_without_sides_has_no_mirror_image() -> None:
    chain = Skeleton(names=("a", "b", "c"), parents=[-1, 0, 1], offsets=[[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    with pytest.raises(SkeletonError, match="No joint has a partner"):
        mirror(rest_motion(chain))


SOLE = np.array([[0.03, -0.04, 0.12], [-0.03, -0.04, 0.12], [0.03, -0.04, -0.05], [-0.03, -0.04, -0.05]])
"""(4, 3) metres from the ankle: the corners of a sole that points along Z."""


def with_soles(corners: np.ndarray, tilt: np.ndarray, *, stands: bool = True) -> Skeleton:
    """The adult with corners (N, 3) of soles instead of toes, in frames that are turned (4,) from level ones."""
    adult = samples.character("adult")
    toes = np.any([adult.below(adult.index[f"{which}ToeBase"]) for which in ("Left", "Right")], axis=0)
    body, _ = adult.pruned(np.flatnonzero(~toes))
    rest, ends = body.rest.copy(), [end for end in body.ends if not end.joint.endswith("Foot")]
    for name in (name for name in body.names if name.endswith("Foot")):
        joint = body.index[name]
        above = body.rest_world[1][body.parents[joint]]
        rest[joint] = multiply(conjugate(above), tilt)
        ends += [Point(name=f"{name}{n}", joint=name, offset=unrotate(tilt, at)) for n, at in enumerate(corners)]
    if not stands:
        rest[body.index["LeftUpLeg"]] = rest[body.index["RightUpLeg"]] = from_axis_angle([1.0, 0.0, 0.0], -2.0)
    return replace(body, rest=rest, ends=tuple(ends))


@pytest.mark.parametrize("stands", [True, False])
@pytest.mark.parametrize("corners", [SOLE, SOLE[[0, 2]] * [0.0, 1.0, 1.0]], ids=["four corners", "heel and toe"])
def test_a_sole_shows_up_and_forward_in_any_pose(corners: np.ndarray, stands: bool) -> None:
    tilt = normalize(np.array([0.7, 0.3, -0.5, 0.2]))
    body = with_soles(corners, tilt, stands=stands)
    for which in ("Left", "Right"):
        sole = find_sole(body, body.index[f"{which}Foot"])
        assert sole is not None
        assert sole.along is not None
        assert len(sole.points) == len(corners)
        np.testing.assert_allclose(rotate(tilt, sole.up), [0.0, 1.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(np.abs(rotate(tilt, sole.along)), [0.0, 0.0, 1.0], atol=1e-9)
        np.testing.assert_allclose(list(sole.heights.values()), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    "corners",
    [SOLE + np.array([0.0, 0.0, 0.2]), SOLE * [1.0, -1.0, 1.0], SOLE * [[1.0, 0.5, 1.0], *np.ones((3, 3))]],
    ids=["all ahead", "above", "crooked"],
)  # fmt: skip
def test_ends_that_are_no_sole(corners: np.ndarray) -> None:
    body = with_soles(corners, np.array([1.0, 0.0, 0.0, 0.0]))
    assert find_sole(body, body.index["LeftFoot"]) is None
    assert sole_points(body, body.index["LeftFoot"]) == []


def test_a_sole_that_does_not_lie_level_where_the_body_stands_is_none() -> None:
    body = with_soles(SOLE, np.array([1.0, 0.0, 0.0, 0.0]))
    foot = body.index["LeftFoot"]
    rest = body.rest.copy()
    rest[foot] = multiply(rest[foot], from_axis_angle([1.0, 0.0, 0.0], 0.3))
    assert find_sole(body, foot) is not None
    assert find_sole(replace(body, rest=rest), foot) is None
