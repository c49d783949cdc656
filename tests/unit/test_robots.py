"""Robots: URDF and MJCF files as skeletons, and their motions as trajectories of joint values."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import (
    Array,
    angle_between,
    exp,
    from_axis_angle,
    multiply,
    normalize,
    rotate,
    to_matrix,
    unrotate,
)
from understudy.figure.kinematics import fk, joint_rotations
from understudy.figure.motion import Motion
from understudy.figure.robot import CollisionShape
from understudy.figure.skeleton import JointKind
from understudy.io import Clip, formats, read, write
from understudy.io.clip import ReadOptions, world_from_file

WORLD = world_from_file("Z")

WALKER = """<?xml version="1.0"?>
<robot name="walker">
  <link name="base"><inertial><mass value="5"/></inertial></link>
  <link name="upper"/>
  <link name="lower"/>
  <link name="foot">
    <collision><origin xyz="0.05 0 -0.02"/><geometry><box size="0.2 0.08 0.04"/></geometry></collision>
  </link>
  <link name="camera"/>
  <link name="lid"><visual><geometry><mesh filename="lid.stl"/></geometry></visual></link>
  <link name="head">
    <inertial><origin xyz="0 0 0.3"/><mass value="1"/></inertial>
    <visual><geometry><mesh filename="head.stl"/></geometry></visual>
  </link>
  <joint name="hip" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0.1 -0.1" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 2 0"/><limit lower="-1.5" upper="0.75" effort="1" velocity="1"/>
  </joint>
  <joint name="knee" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="rail" type="prismatic">
    <parent link="lower"/><child link="foot"/><origin xyz="0 0 -0.4"/><limit lower="0" upper="0.1"/>
  </joint>
  <joint name="camera_joint" type="fixed"><parent link="base"/><child link="camera"/></joint>
  <joint name="neck_joint" type="fixed"><parent link="base"/><child link="head"/><origin xyz="0 0 0.05"/></joint>
  <joint name="lid_joint" type="revolute">
    <parent link="base"/><child link="lid"/><axis xyz="0 0 1"/><mimic joint="hip"/>
  </joint>
</robot>
"""

TESTER = """<mujoco model="tester">
  <compiler angle="degree" eulerseq="zYx"/>
  <default>
    <joint axis="0 1 0" range="-30 40"/>
    <default class="stiff">
      <joint range="-10 20" limited="true"/>
      <default class="looser"><joint limited="false" axis="1 0 0"/></default>
    </default>
  </default>
  <worldbody>
    <body name="table" pos="3 0 0"><geom type="box" size="1 1 .1"/></body>
    <body name="trunk" pos="0.1 0.2 1" euler="10 20 30" childclass="stiff">
      <freejoint name="base"/>
      <geom type="box" size=".1 .1 .2"/>
      <body name="thigh" pos="0 0.1 -0.2" axisangle="1 1 0 25">
        <joint name="swing" pos="0 0 0.05" class="main"/>
        <joint name="lean" pos="0.02 0 0" axis="1 0.5 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05"/>
        <frame pos="0 0 -0.1" euler="0 0 90">
          <joint name="turn" axis="0 0 1" class="looser" ref="15"/>
          <body name="shank" pos="0 0.05 -0.3" xyaxes="0 1 0.1 -1 0 0">
            <joint class="stiff" name="knee"/>
            <geom size=".03"/>
            <body name="foot" pos="0 0 -0.3" zaxis="0.1 0.2 1">
              <geom type="box" size=".1 .04 .02" pos=".05 0 -.02"/>
            </body>
          </body>
        </frame>
      </body>
      <body name="arm" pos="0 -0.2 0.1" quat="2 0 0 1">
        <joint name="ball" type="ball" limited="false" range="0 0" pos="0 0.01 0"/>
        <geom size=".03"/>
        <body name="slider" pos="0.1 0 0">
          <joint name="extend" type="slide" axis="1 0 0" range="0 1"/>
          <joint name="wrist" axis="0 0 2"/>
          <geom size=".03"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

VALUES = {"swing": 0.3, "lean": -0.2, "turn": 0.5, "knee": 0.25, "wrist": -0.4}
BALL = normalize(np.array([0.8, 0.2, -0.3, 0.1]))
BASE = (np.array([0.3, -0.4, 0.9]), normalize(np.array([0.5, -0.5, 0.1, 0.7])))
MUJOCO = {
    "swing": ([0.324764216, -0.530860994, 0.78317699], [-0.941824858, -0.238151012, -0.237170892]),
    "lean": ([0.341734713, -0.577768677, 0.762887301], [-0.21946768, -0.039095899, -0.974836113]),
    "turn": ([0.380997202, -0.670950995, 0.776135418], [0.880726937, 0.405814618, 0.244201879]),
    "knee": ([0.093506876, -0.75084494, 0.717260378], [-0.08764201, -0.367056874, 0.926060543]),
    "wrist": ([0.309035897, -0.206260513, 0.993253333], [0.194871795, 0.814358974, 0.546666667]),
}
"""Positions and axes of the joints of the model above in the pose above, computed by MuJoCo 3."""


def urdf(text: str) -> Clip:
    assert formats()["urdf"].read is not None
    return formats()["urdf"].read(io.BytesIO(text.encode()), "walker.urdf", ReadOptions())


def mjcf(text: str, options: ReadOptions | None = None, name: str = "model.xml") -> Clip:
    assert formats()["mjcf"].read is not None
    return formats()["mjcf"].read(io.BytesIO(text.encode()), name, options or ReadOptions())


def posed_tester(clip: Clip) -> Motion:
    """The pose for which MuJoCo computed the positions."""
    skeleton = clip.skeleton
    angles = np.zeros((skeleton.num_joints, 3))
    for name, value in VALUES.items():
        angles[skeleton.index[name], 0] = value - clip.layout.references.get(name, 0.0)
    rotations = joint_rotations(skeleton, angles)
    ball = skeleton.index["ball"]
    rotations[ball] = multiply(skeleton.rest[ball], BALL)
    rotations[0] = multiply(WORLD, BASE[1])
    return Motion(skeleton=skeleton, fps=50.0, root=rotate(WORLD, BASE[0])[None], rotations=rotations[None])


def test_joints_are_where_mujoco_puts_them() -> None:
    clip = mjcf(TESTER)
    pose = fk(posed_tester(clip))
    for name, (anchor, axis) in MUJOCO.items():
        joint = clip.skeleton.index[name]
        np.testing.assert_allclose(unrotate(WORLD, pose.positions[0, joint]), anchor, atol=2e-9)
        result = unrotate(WORLD, rotate(pose.rotations[0, joint], clip.skeleton.axes[joint, 0]))
        np.testing.assert_allclose(result, axis, atol=2e-9)


def test_limits_come_from_classes_and_are_counted_from_the_rest_pose() -> None:
    skeleton = mjcf(TESTER).skeleton
    limits = {name: np.degrees(skeleton.limits[skeleton.index[name], 0]) for name in VALUES}
    np.testing.assert_allclose(limits["swing"], [-30, 40])
    np.testing.assert_allclose(limits["lean"], [-10, 20])
    np.testing.assert_allclose(limits["knee"], [-10, 20])
    assert np.all(np.isinf(limits["turn"])), "its class says that it is not limited"
    moved = TESTER.replace('class="looser" ref="15"', 'class="stiff" ref="15"')
    turn = mjcf(moved).skeleton
    np.testing.assert_allclose(np.degrees(turn.limits[turn.index["turn"], 0]), [-25, 5])


def test_kinds_and_names() -> None:
    clip = mjcf(TESTER)
    kinds = dict(zip(clip.skeleton.names, clip.skeleton.kinds, strict=True))
    assert kinds == {
        "trunk": JointKind.FREE, "swing": JointKind.HINGE, "lean": JointKind.HINGE, "turn": JointKind.HINGE,
        "knee": JointKind.HINGE, "foot": JointKind.FIXED, "ball": JointKind.BALL, "wrist": JointKind.HINGE,
    }  # fmt: skip
    assert clip.layout.names == ("swing", "lean", "turn", "knee", "ball", "wrist")
    assert "Kept fixed, since a skeleton has no joints that slide: 1 joint (`extend`)." in clip.notes
    assert clip.dropped == ("1 more in the scene beside the robot, such as `table`.",)
    assert (clip.format, clip.unit, clip.up) == ("mjcf", 1.0, "Z")


def test_limits_can_need_to_be_asked_for() -> None:
    plain = TESTER.replace('eulerseq="zYx"', 'eulerseq="zYx" autolimits="false"')
    skeleton = mjcf(plain).skeleton
    assert np.all(np.isinf(skeleton.limits[skeleton.index["swing"]])), "no class says `limited`"
    assert np.isfinite(skeleton.limits[skeleton.index["lean"], 0]).all()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('euler="0.3 0.4 0.5"', [[0, 0, 1, 0.3], [0, 1, 0, 0.4], [1, 0, 0, 0.5]]),
        ('axisangle="0 0 2 0.7"', [[0, 0, 1, 0.7]]),
        ('xyaxes="0 1 0 -2 0.5 0"', [[0, 0, 1, np.pi / 2]]),
        ('zaxis="1 0 0"', [[0, 1, 0, np.pi / 2]]),
        ('quat="0 0 0 3"', [[0, 0, 1, np.pi]]),
    ],
)
def test_orientations(given: str, expected: list[list[float]]) -> None:
    model = (
        '<mujoco><compiler angle="radian" eulerseq="zyx"/><worldbody><body name="a"><freejoint/>'
        f'<body name="b" {given}><joint name="j"/></body></body></worldbody></mujoco>'
    )
    turn = np.array([1.0, 0.0, 0.0, 0.0])
    for *axis, angle in expected:
        turn = multiply(turn, from_axis_angle(np.array(axis), angle))
    skeleton = mjcf(model).skeleton
    assert angle_between(skeleton.rest[1], turn) < 1e-9


def test_a_body_that_stands_along_y_is_stood_up() -> None:
    model = """<mujoco><worldbody><body name="root">
      <body name="lfemur" pos="0.1 -0.1 0"><joint name="lfemurrx"/>
        <body name="ltibia" pos="0 -0.4 0"><joint name="ltibiarx"/>
          <body name="lfoot" pos="0 -0.4 0"><joint name="lfootrx"/><geom size=".03" pos="0 0 .1"/></body></body></body>
    </body></worldbody></mujoco>"""
    clip = mjcf(model)
    assert clip.up == "Y"
    assert clip.up_reason.startswith("Y is up: its legs hang down along -Y")
    assert clip.notes == ("`root` is fixed to the world in the file; it is read as free to move.",)
    np.testing.assert_allclose(clip.skeleton.rest_world[0][3], [0.1, -0.9, 0.0], atol=1e-12)
    assert mjcf(model, ReadOptions(up="Z")).skeleton.rest_world[0][3][2] == pytest.approx(0.9)


KEYED = """<mujoco><compiler angle="radian"/><worldbody><body name="base" pos="0 0 0.5"><freejoint/>
  <body name="FL_thigh" pos="0.2 0.1 0"><joint name="thigh" axis="0 1 0" range="-1 3"/>
    <body name="FL_calf" pos="0 0 -0.2"><joint name="calf" axis="0 1 0" range="-2.7 -0.8"/>
      <geom size="0.02" pos="0 0 -0.2"/></body></body>
</body></worldbody>
<keyframe><key name="odd" qpos="1 2"/><key name="home" qpos="0 0 0.3 1 0 0 0 0.9 -1.8"/></keyframe></mujoco>"""


def test_a_robot_laid_out_beyond_its_limits_rests_in_its_keyframe() -> None:
    clip = mjcf(KEYED)
    skeleton = clip.skeleton
    assert clip.layout.references == {"thigh": 0.9, "calf": -1.8}
    assert skeleton.offsets[0][1] == pytest.approx(0.3)
    np.testing.assert_allclose(skeleton.limits[2, 0], [-0.9, 1.0])
    assert any("breaks the limits of 1 joint (`calf`)" in note for note in clip.notes)
    foot = unrotate(WORLD, skeleton.rest_ends[0])
    # Knee behind, foot forward again: two links of 0.2 m at 0.9 radians either way, less the ball's radius.
    np.testing.assert_allclose(foot[[0, 2]], [0.2, 0.3 - 0.4 * np.cos(0.9) - 0.02], atol=1e-9)
    without = mjcf(KEYED.replace("keyframe", "nothing"))
    assert without.layout.references == {}
    assert any("breaks the limits" in note for note in without.notes)


def test_joints_of_the_first_body_make_it_free() -> None:
    model = """<mujoco><worldbody><body name="hopper">
      <joint name="rootx" type="slide"/><joint name="rooty"/>
      <body name="leg"><joint name="knee"/></body></body></worldbody></mujoco>"""
    clip = mjcf(model)
    assert clip.skeleton.names == ("hopper", "knee")
    assert clip.notes == ("`hopper` is read as free to move, in place of 2 joints (`rootx`, `rooty`).",)


def test_unnamed_joints_and_bodies_get_names() -> None:
    model = """<mujoco><worldbody><body><freejoint/>
      <body name="arm"><joint/><joint axis="1 0 0"/><body name="hand"><joint/></body></body>
      </body></worldbody></mujoco>"""
    assert mjcf(model).skeleton.names == ("body0", "arm_1", "arm_2", "hand")


def test_included_files_are_read_from_the_folder_only(tmp_path: Path) -> None:
    arm = '<mujoco><body name="arm"><joint name="elbow"/></body></mujoco>'
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / "arm.xml").write_text(arm)
    (tmp_path / "outside.xml").write_text(arm.replace("elbow", "stolen"))
    path = tmp_path / "robot" / "main.xml"
    path.write_text(
        '<mujoco><include file="gone.xml"/><worldbody><body name="base"><freejoint/>'
        '<include file="arm.xml"/><include file="../outside.xml"/></body></worldbody></mujoco>'
    )
    clip = read(path)
    assert clip.skeleton.names == ("base", "elbow")
    assert clip.notes == (
        "The included file `gone.xml` is not there; what it holds is left out.",
        "The included file `../outside.xml` lies outside the robot's folder and is not read.",
    )
    (tmp_path / "robot" / "arm.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    with pytest.raises(FileError, match=r"arm.xml:1: `arm.xml` is included again and again"):
        read(path)


def test_urdf_joints() -> None:
    clip = urdf(WALKER)
    skeleton = clip.skeleton
    assert skeleton.names == ("base", "hip", "knee", "rail", "neck_joint", "lid_joint")
    assert [str(kind) for kind in skeleton.kinds] == ["free", "hinge", "hinge", "fixed", "fixed", "hinge"]
    np.testing.assert_allclose(skeleton.axes[1, 0], [0, 1, 0])
    np.testing.assert_allclose(skeleton.limits[1, 0], [-1.5, 0.75])
    assert np.all(np.isinf(skeleton.limits[[2, 5]]))
    # Roll, pitch and yaw are about the parent's fixed axes, in that order.
    roll, pitch, yaw = (to_matrix(from_axis_angle(np.eye(3)[k], a)) for k, a in enumerate((0.1, 0.2, 0.3)))
    np.testing.assert_allclose(to_matrix(skeleton.rest[1]), yaw @ pitch @ roll, atol=1e-12)
    assert clip.notes == (
        "Joint `lid_joint` mimics another in the file; here it turns by itself.",
        "Joint `lid_joint` gives no limits: it turns without.",
        "Left out, since they only mark places: 1 link (`camera`).",
        "Kept fixed, since a skeleton has no joints that slide: 1 joint (`rail`).",
    )


def test_a_head_without_a_joint_is_where_its_mass_is() -> None:
    skeleton = urdf(WALKER).skeleton
    np.testing.assert_allclose(skeleton.offsets[skeleton.index["neck_joint"]], [0.0, 0.0, 0.35])


def test_a_box_gives_a_foot_its_corners() -> None:
    level = WALKER.replace(' rpy="0.1 0.2 0.3"', "")
    skeleton = urdf(level).skeleton
    # The foot does not lean sideways of itself, so it stands on the line along its middle.
    assert [end.name for end in skeleton.ends if end.joint == "rail"] == ["foot_sole_heel", "foot_sole_toe"]
    places = unrotate(WORLD, skeleton.rest_ends)[:2]
    np.testing.assert_allclose(places, [[-0.05, 0.1, -0.94], [0.15, 0.1, -0.94]], atol=1e-12)
    leaning = level.replace('<joint name="rail" type="prismatic">', '<joint name="roll" type="continuous">').replace(
        '<origin xyz="0 0 -0.4"/><limit lower="0" upper="0.1"/>', '<origin xyz="0 0 -0.4"/><axis xyz="1 0 0"/>'
    )
    skeleton = urdf(leaning).skeleton
    names = [end.name for end in skeleton.ends if end.joint == "roll"]
    assert names == [f"foot_sole_{part}_{side}" for part in ("heel", "toe") for side in ("inner", "outer")]
    across = {name: float(place[2]) for name, place in zip(names, skeleton.rest_ends, strict=False)}
    assert across["foot_sole_heel_inner"] == pytest.approx(-0.06)
    assert across["foot_sole_heel_outer"] == pytest.approx(-0.14)


@pytest.mark.parametrize(
    ("kind", "size", "direction", "expected"),
    [
        ("sphere", [0.1, 0, 0], [0, 0, -1], [[0, 0, -0.1]]),
        ("capsule", [0.1, 0.3, 0], [1, 0, 0], [[0.1, 0, -0.3], [0.1, 0, 0.3]]),
        ("cylinder", [0.1, 0.3, 0], [0, 2, 0], [[0, 0.1, -0.3], [0, 0.1, 0.3]]),
        ("ellipsoid", [0.1, 0.2, 0.3], [0, 0, 1], [[0, 0, 0.3]]),
        ("mark", [0, 0, 0], [0, 0, 1], [[0, 0, 0]]),
    ],
)
def test_what_touches_first(kind: str, size: list[float], direction: list[float], expected: list[list[float]]) -> None:
    shape = CollisionShape(
        kind=kind, position=np.zeros(3), rotation=np.array([1.0, 0, 0, 0]), size=np.array(size, float)
    )
    np.testing.assert_allclose(shape.extreme_points(np.array(direction, float)), expected, atol=1e-12)


def test_an_upright_cylinder_stands_on_its_rim() -> None:
    shape = CollisionShape(
        kind="cylinder", position=np.ones(3), rotation=np.array([1.0, 0, 0, 0]), size=np.array([0.1, 0.3, 0.0])
    )
    result = shape.extreme_points(np.array([0.0, 0.0, -1.0]))
    assert result.shape == (4, 3)
    np.testing.assert_allclose(result[:, 2], 0.7)
    np.testing.assert_allclose(np.linalg.norm(result[:, :2] - 1.0, axis=1), 0.1)


def test_a_first_link_called_world_stands_for_the_world() -> None:
    text = WALKER.replace(
        "</robot>",
        '<link name="world"/><joint name="stand" type="fixed"><parent link="world"/><child link="base"/>'
        '<origin xyz="0 0 1"/></joint></robot>',
    )
    clip = urdf(text)
    assert clip.skeleton.names[0] == "base"
    np.testing.assert_allclose(clip.skeleton.offsets[0], [0.0, 1.0, 0.0], atol=1e-12)
    assert clip.notes[0] == "`base` is fixed to the world in the file; it is read as free to move."
    floating = urdf(text.replace('"stand" type="fixed"', '"stand" type="floating"'))
    assert floating.skeleton.names[0] == "base"
    assert not any("fixed to the world" in note for note in floating.notes)


def test_a_urdf_may_end_in_xml() -> None:
    assert mjcf(WALKER).format == "urdf"


HOSTILE = '<!DOCTYPE robot [<!ENTITY a "{}">]>\n<robot name="&a;"><link name="x"/></robot>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot><link name='a'/>", "walker.urdf:1: no XML: no element found"),
        ("<model/>", "walker.urdf:1: expected `<robot>`, got `<model>`: this is no URDF"),
        ("<robot/>", "walker.urdf:1: the robot has no links"),
        (WALKER.replace('name="upper"', 'name="base"'), "walker.urdf:4: the link `base` is there already, in line 3"),
        (WALKER.replace('type="prismatic"', 'type="rubber"'), "joint `rail` is of type `rubber`; expected one of"),
        (WALKER.replace('child link="lower"', 'child link="calf"'), "walker.urdf:21: joint `knee`: there is no link"),
        (WALKER.replace('child link="lower"', 'child link="upper"'), "link `upper` hangs from two joints"),
        (WALKER.replace('child link="upper"', 'child link="base"'), "link `base` is its own ancestor"),
        (WALKER.replace("0 0.1 -0.1", "0 0.1"), "`xyz` of `<origin>`: expected 3 numbers, got 2"),
        (WALKER.replace("0 0.1 -0.1", "0 a 1"), "`xyz` of `<origin>`: expected numbers, got `a`"),
        (WALKER.replace("0 0.1 -0.1", "0 nan 1"), "expected numbers up to 1e+09"),
        (WALKER.replace('"0 2 0"', '"0 0 0"'), "`xyz` of `<axis>`: expected a direction, got a vector of length zero"),
        (WALKER.replace('upper="0.75"', 'upper="-2"'), "joint `hip`: limits run from -1.5 down to -2"),
        (WALKER.replace("</robot>", '<link name="alone"/></robot>'), "several links hang from nothing: base, alone"),
        (WALKER.replace("<robot", "<robot xmlns:xacro='x'").replace("</robot>", "<xacro:leg/></robot>"), "is a macro"),
        (HOSTILE.format("boom"), "walker.urdf:1: declares the entity `a`; entities are not read"),
        ("<robot>" + "<link>" * 300, "more than 200 elements stand inside each other"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_urdf_is_said_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        urdf(text)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('angle="degree"', 'angle="grad"', "model.xml:2: `angle` is `grad`; expected `degree` or `radian`"),
        ('eulerseq="zYx"', 'eulerseq="zw"', "`eulerseq` is `zw`; expected three letters of x, y, z"),
        ('angle="degree"', 'coordinate="global"', "coordinates are global"),
        ('class="main"', 'class="soft"', "there is no default class `soft`; known: main, stiff, looser"),
        ('name="lean"', 'name="swing"', "the joint `swing` is there already, in line 16"),
        ('name="slider"', 'name="arm"', "the body `arm` is there already, in line 30"),
        ('name="extend" type="slide"', 'name="extend" type="screw"', "joint `extend` is of type `screw`"),
        ('name="extend" type="slide"', 'name="extend" type="free"', "`slider` moves freely, but only a body that"),
        ('euler="10 20 30"', 'euler="10 20 30" quat="1 0 0 0"', "`<body>` is rotated twice, by `quat` and `euler`"),
        ('quat="2 0 0 1"', 'quat="0 0 0 0"', "`quat`: expected a quaternion, got one of length zero"),
        ('axisangle="1 1 0 25"', 'axisangle="0 0 0 25"', "`axisangle`: expected an axis, got one of length zero"),
        ('xyaxes="0 1 0.1 -1 0 0"', 'xyaxes="0 1 0 0 2 0"', "`xyaxes`: expected two directions that differ"),
        ('range="-10 20"', 'range="20 -10"', "its range runs from 0.349066 down to -0.174533 radians"),
        ('type="capsule"', 'type="donut"', "`<geom>` is of type `donut`, which is not known"),
        ("<worldbody>", "<asset>", "no XML: mismatched tag"),
    ],
)
def test_what_is_wrong_in_an_mjcf_is_said_with_its_line(old: str, new: str, message: str) -> None:
    assert old in TESTER
    with pytest.raises(FileError) as caught:
        mjcf(TESTER.replace(old, new, 1))
    assert message in caught.value.message
    assert caught.value.line is not None


def test_mutated_files_end_in_an_error_or_a_robot() -> None:
    rng = np.random.default_rng(5)
    words = ("-1", "nan", "1e400", '"', "<body>", "</body>", "joint", "free", "&amp;", "\0", "quat", "0 0 0", "type=")
    ended = {"robot": 0, "error": 0}
    for text, parse in ((WALKER, urdf), (TESTER, mjcf), (KEYED, mjcf)):
        for _ in range(250):
            changed = text
            for _ in range(rng.integers(1, 4)):
                at = int(rng.integers(len(changed)))
                to = at + int(rng.integers(0, 12))
                changed = changed[:at] + str(rng.choice(words)) + changed[to:]
            try:
                clip = parse(changed)
                assert np.all(np.isfinite(clip.skeleton.rest_world[0]))
                ended["robot"] += 1
            except FileError:
                ended["error"] += 1
    assert min(ended.values()) > 20, "both must have been tried"


def limbed(frames: int = 12) -> Clip:
    """The tester with a motion inside its limits."""
    clip = mjcf(TESTER, name="tester.xml")
    skeleton = clip.skeleton
    rng = np.random.default_rng(3)
    low, high = np.clip(skeleton.limits[:, 0], -2.0, 2.0).T
    angles = np.zeros((frames, skeleton.num_joints, 3))
    angles[..., 0] = low + (high - low) * rng.random((frames, skeleton.num_joints))
    rotations = joint_rotations(skeleton, angles)
    for joint in (0, skeleton.index["ball"]):
        rotations[:, joint] = exp(rng.normal(size=(frames, 3)))
    motion = Motion(skeleton=skeleton, fps=50.0, root=rng.normal(size=(frames, 3)), rotations=rotations)
    return replace(clip, motion=motion)


def same_motion(result: Motion | None, expected: Motion | None, tolerance: float = 1e-12) -> None:
    assert result is not None
    assert expected is not None
    assert result.fps == expected.fps
    assert angle_between(result.rotations, expected.rotations).max() < tolerance
    np.testing.assert_allclose(result.root, expected.root, atol=tolerance)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_trajectory_comes_back_with_its_robot(suffix: str, tmp_path: Path) -> None:
    clip = limbed()
    path = tmp_path / f"moves{suffix}"
    lost = write(clip, path)
    assert lost == ("Values of the sliding joints `extend`.",)
    (tmp_path / "tester.xml").write_text(TESTER)
    back = read(path)
    assert (back.format, back.up) == (suffix[1:], "Z")
    same_motion(back.motion, clip.motion)


def test_the_arrays_of_a_trajectory_say_what_they_are(tmp_path: Path) -> None:
    clip = limbed()
    assert clip.motion is not None
    motion = posed_tester(clip)
    write(replace(clip, motion=motion), tmp_path / "pose.npz")
    with np.load(tmp_path / "pose.npz", allow_pickle=False) as result:
        assert str(result["quaternion_order"]) == "wxyz"
        assert str(result["units"]) == "metres, radians; Z up"
        assert float(result["fps"]) == 50.0
        np.testing.assert_allclose(result["root_position"], BASE[0][None], atol=1e-12)
        np.testing.assert_allclose(result["root_quaternion"], BASE[1][None], atol=1e-12)
        names = result["joint_names"].tolist()
        assert names == ["swing", "lean", "turn", "knee", "ball.w", "ball.x", "ball.y", "ball.z", "wrist"]
        values = dict(zip(names, result["joint_values"][0].tolist(), strict=True))
    for name, value in VALUES.items():
        assert values[name] == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose([values[f"ball.{part}"] for part in "wxyz"], BALL, atol=1e-12)


def test_values_lie_in_ranges_beyond_a_half_turn(tmp_path: Path) -> None:
    model = KEYED.replace("-1 3", "2 5").replace("keyframe", "nothing")
    clip = mjcf(model, name="keyed.xml")
    skeleton = clip.skeleton
    expected = np.array([2.1, 3.0, 4.0, 4.9])
    angles = np.zeros((4, skeleton.num_joints, 3))
    angles[:, skeleton.index["thigh"], 0] = expected
    motion = Motion(skeleton=skeleton, fps=10.0, root=np.zeros((4, 3)), rotations=joint_rotations(skeleton, angles))
    write(replace(clip, motion=motion), tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as result:
        np.testing.assert_allclose(result["joint_values"][:, 0], expected, atol=1e-12)


def plain(clip: Clip, path: Path, **changed: object) -> Path:
    """A trajectory as another program would write it."""
    write(clip, path)
    with np.load(path) as result:
        arrays = {key: result[key] for key in result.files if key != "understudy_trajectory"}
    np.savez(path, **{**arrays, **changed})  # type: ignore[arg-type]
    return path


def test_trajectories_of_other_programs(tmp_path: Path) -> None:
    clip = limbed()
    robot = tmp_path / "tester.xml"
    robot.write_text(TESTER)
    with np.load(plain(clip, tmp_path / "a.npz")) as result:
        turned = np.roll(result["root_quaternion"], -1, axis=1)
    path = plain(clip, tmp_path / "b.npz", root_quaternion=turned, quaternion_order="xyzw", robot_file="")
    same_motion(read(path, skeleton=robot).motion, clip.motion)
    names, values = np.array(["knee"]), np.full((12, 1), 0.1)
    part = read(plain(clip, tmp_path / "c.npz", joint_names=names, joint_values=values))
    assert any(note.startswith("5 joints have no values (`swing`") for note in part.notes)
    assert part.motion is not None
    swing = part.skeleton.index["swing"]
    assert angle_between(part.motion.rotations[:, swing], part.skeleton.rest[swing]).max() < 1e-12


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"joint_names": np.array(["a", "b"])}, "`joint_values`: expected shape (12, 2), got (12, 9)"),
        ({"root_quaternion": np.zeros((12, 4))}, "`root_quaternion`: expected length 1, got 0"),
        ({"root_position": np.full((12, 3), np.nan)}, "`root_position`: expected finite numbers"),
        ({"root_position": np.zeros(3)}, "expected the root as rows of numbers"),
        ({"fps": 0.0}, "`fps` is 0; expected a rate above zero"),
        ({"quaternion_order": "zyxw"}, "`quaternion_order` is `zyxw`; expected wxyz or xyzw"),
        ({"joint_names": np.array(["kne"]), "joint_values": np.zeros((12, 1))}, "joint `kne` is not in robot `tester`"),
        ({"joint_names": np.array(["knee"] * 9)}, "a joint is named twice"),
        ({"joint_names": np.arange(9)}, "`joint_names`: expected a row of texts"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_trajectory_is_said(changed: dict[str, object], message: str, tmp_path: Path) -> None:
    (tmp_path / "tester.xml").write_text(TESTER)
    path = plain(limbed(), tmp_path / "t.npz", **changed)
    with pytest.raises(FileError) as caught:
        read(path)
    assert message in caught.value.message


def test_a_trajectory_needs_its_robot(tmp_path: Path) -> None:
    write(limbed(), tmp_path / "t.csv")
    with pytest.raises(FileError, match="the robot that it moves was not found beside it") as caught:
        read(tmp_path / "t.csv")
    assert caught.value.hint == "name the robot: --skeleton robot.xml"
    write(limbed(), tmp_path / "no_robot.npz")
    other = tmp_path / "other.bvh"
    write(mjcf(TESTER).skeleton, other)
    with pytest.raises(FileError, match=r"is no robot; expected a file that ends in .urdf, .xml, .mjcf"):
        read(tmp_path / "t.csv", skeleton=other)


def edited(text: str, path: Path) -> Path:
    path.write_text(text)
    path.with_name("tester.xml").write_text(TESTER)
    return path


def test_a_csv_may_come_without_remarks(tmp_path: Path) -> None:
    clip = limbed()
    write(clip, tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[1] == "# fps: 50.0"
    assert lines[3].startswith("# quaternion_order: wxyz")
    assert lines[6].startswith("time,root_x,root_y,root_z,root_qw,root_qx,root_qy,root_qz,swing,")
    bare = edited("\n".join(lines[6:]), tmp_path / "bare.csv")
    back = read(bare)
    assert back.motion is not None
    assert back.motion.fps == pytest.approx(50.0, rel=1e-12)
    cut = [line.partition(",")[2] for line in lines[6:]]
    with pytest.raises(FileError, match="does not say its frame rate"):
        read(edited("\n".join(cut), tmp_path / "cut.csv"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",root_qw,", ",qw,", "t.csv:7: no column is named `root_qw`"),
        (",lean,", ",swing,", "t.csv:7: two columns are named `swing`"),
        ("# fps: 50.0", "# fps: fast", "`fps` is `fast`; expected a number"),
        ("# fps: 50.0", "# fps: -2", "the frame rate is -2; expected one above zero"),
        ("\n0.02,", "\n0.02,1,", "t.csv:9: expected 17 numbers, one for each column; got 18"),
        ("\n0.02,", "\nsoon,", "t.csv:9: expected a number, got `soon`"),
    ],
)
def test_what_is_wrong_in_a_csv_is_said_with_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    write(limbed(), tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_text()
    assert old in text
    with pytest.raises(FileError) as caught:
        read(edited(text.replace(old, new, 1), tmp_path / "t.csv"))
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"), [("", "no row of column names"), ("# fps: 3\n", "no row of column names")]
)
def test_an_empty_csv_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=message):
        read(edited(text, tmp_path / "t.csv"))


def test_a_csv_takes_robots_only(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="this is no robot"):
        write(replace(limbed(), layout=None), tmp_path / "t.csv")
    with pytest.raises(OptionError, match="this is no motion"):
        write(mjcf(TESTER), tmp_path / "t.csv")


def test_a_unit_can_be_given() -> None:
    metres: Array = mjcf(TESTER).skeleton.offsets
    np.testing.assert_allclose(mjcf(TESTER, ReadOptions(unit=0.01)).skeleton.offsets, 0.01 * metres)
