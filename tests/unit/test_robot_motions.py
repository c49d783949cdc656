"""Motions of robots in the layouts of training code: what a reader of each finds, and what ours refuses."""

from __future__ import annotations

import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import from_axis_angle, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io import Clip, read, write
from understudy.io.robot.order import joints_in_order
from understudy.io.robot.pickles import load

BIPED = """<mujoco model="biped">
  <compiler angle="radian"/>
  <worldbody>
    <body name="pelvis" pos="0 0 0.9">
      <freejoint/><inertial pos="0 0 0.05" mass="4" diaginertia="1 1 1"/>
      <geom type="box" size=".1 .1 .1"/>
      {leg_left}{leg_right}
      <body name="torso" pos="0 0 0.1">
        <joint name="waist" axis="0 0 1" range="-1 1"/><inertial pos="0 0.02 0.2" mass="3" diaginertia="1 1 1"/>
        <geom type="box" size=".1 .1 .2" pos="0 0 .2"/>
        <body name="camera" pos="0.1 0 0.4"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""

LEG = """<body name="{side}_thigh" pos="0 {y} -0.1"><joint name="{side}_hip" axis="0 1 0" range="-2 2"/>
  <inertial pos="0 0 -0.2" mass="1" diaginertia="1 1 1"/><geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04"/>
  <body name="{side}_shin" pos="0 0 -0.4"><joint name="{side}_knee" axis="0 1 0" range="0 2.5"/>
    <inertial pos="0.01 0 -0.2" mass="1" diaginertia="1 1 1"/><geom type="box" pos=".03 0 -.38" size=".1 .04 .02"/>
  </body></body>"""

LAYOUTS = ("walk.pkl", "walk.lafan1.csv", "walk.npy", "walk.qpos.npz", "walk.wbt.npz", "walk.holosoma.npz", "walk.csv")


@pytest.fixture
def biped(tmp_path: Path) -> Clip:
    legs = {f"leg_{side}": LEG.format(side=side, y=y) for side, y in (("left", 0.1), ("right", -0.1))}
    (tmp_path / "biped.xml").write_text(BIPED.format(**legs))
    return read(tmp_path / "biped.xml")


def moving(clip: Clip, fps: float = 50.0, count: int = 21) -> Clip:
    """The robot with a motion in which every joint turns."""
    skeleton = clip.skeleton
    times = np.arange(count) / fps
    rotations = np.tile(skeleton.rest, (count, 1, 1))
    for number, name in enumerate(clip.layout.names):
        joint = skeleton.index[name]
        angles = 0.4 + 0.3 * np.sin(3.0 * times + number)
        rotations[:, joint] = multiply(skeleton.rest[joint], from_axis_angle(skeleton.axes[joint, 0], angles))
    root = skeleton.offsets[0] + np.stack([0.5 * times, 0.02 * np.sin(5.0 * times), 0.1 * times**2], axis=-1)
    rotations[:, 0] = multiply(from_axis_angle(np.array([0.0, 1.0, 0.0]), 0.7 * times), skeleton.rest[0])
    motion = Motion(skeleton=skeleton, fps=fps, root=root, rotations=rotations, name="walk")
    return Clip(skeleton=skeleton, motion=motion, format="mjcf", up="Z", layout=clip.layout)


def expected(count: int = 21, fps: float = 50.0) -> np.ndarray:
    """(F, 5) the joint values of that motion, in the file's order."""
    return np.stack([0.4 + 0.3 * np.sin(3.0 * np.arange(count) / fps + n) for n in range(5)], axis=-1)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_comes_back(name: str, biped: Clip, tmp_path: Path) -> None:
    clip = moving(biped)
    write(clip, tmp_path / name, fps=50.0)
    back = read(tmp_path / name, fps=50.0).motion
    assert back is not None
    assert back.fps == pytest.approx(50.0)
    np.testing.assert_allclose(fk(back).positions, fk(clip.motion).positions, atol=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["walk.pkl", "walk.qpos.npz", "walk.wbt.npz", "walk.holosoma.npz", "walk.csv", "walk.npz"]
)
def test_orders_are_stated_in_the_file(name: str, biped: Clip, tmp_path: Path) -> None:
    clip = moving(biped)
    write(clip, tmp_path / name, fps=50.0, joint_order="isaac", quaternion_order="xyzw")
    back = read(tmp_path / name).motion
    assert back is not None
    np.testing.assert_allclose(fk(back).positions, fk(clip.motion).positions, atol=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["walk.npy", "walk.lafan1.csv"])
def test_orders_of_a_file_that_states_none_are_given(name: str, biped: Clip, tmp_path: Path) -> None:
    clip = moving(biped)
    write(clip, tmp_path / name, fps=50.0, joint_order="isaac")
    back = read(tmp_path / name, fps=50.0, joint_order="isaac").motion
    assert back is not None
    np.testing.assert_allclose(fk(back).positions, fk(clip.motion).positions, atol=1e-9)  # type: ignore[arg-type]


def test_gmr_readers_find_what_they_look_for(biped: Clip, tmp_path: Path) -> None:
    write(moving(biped), tmp_path / "walk.pkl")
    with open(tmp_path / "walk.pkl", "rb") as stream:
        data = pickle.load(stream)
    assert data["fps"] == 50
    assert isinstance(data["fps"], int)
    np.testing.assert_allclose(data["dof_pos"], expected(), atol=1e-9)
    # x, y, z, w: the robot turns left about the vertical.
    np.testing.assert_allclose(data["root_rot"][10], [0, 0, np.sin(0.07), np.cos(0.07)], atol=1e-9)
    assert data["root_pos"][0, 2] == pytest.approx(0.9)
    assert data["link_body_list"][:2] == ["pelvis", "left_thigh"]
    assert "camera" in data["link_body_list"]
    np.testing.assert_allclose(data["local_body_pos"][5, 1], [0, 0.1, -0.1], atol=1e-6)


def test_pickles_name_the_array_maker_that_every_numpy_has(biped: Clip, tmp_path: Path) -> None:
    write(moving(biped), tmp_path / "walk.pkl")
    names = {a for code, a, _ in pickletools.genops((tmp_path / "walk.pkl").read_bytes()) if code.name == "GLOBAL"}
    assert "numpy.core.multiarray _reconstruct" in names


def test_a_csv_without_names_is_numbers_alone(biped: Clip, tmp_path: Path) -> None:
    notes = write(moving(biped, fps=30.0), tmp_path / "walk.lafan1.csv")
    values = np.loadtxt(tmp_path / "walk.lafan1.csv", delimiter=",")
    assert values.shape == (21, 12)
    np.testing.assert_allclose(values[:, 7:], expected(fps=30.0), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(values[:, 3:7], axis=1), 1.0)
    assert values[0, 6] == pytest.approx(1.0), "the real part is last"
    assert any("30 frames per second" in note for note in notes)


def test_a_csv_without_names_has_30_frames_a_second(biped: Clip, tmp_path: Path) -> None:
    write(moving(biped, fps=60.0), tmp_path / "walk.lafan1.csv")
    assert len(np.loadtxt(tmp_path / "walk.lafan1.csv", delimiter=",")) == 11


def test_whole_body_tracking_reads_joints_in_isaacs_order(biped: Clip, tmp_path: Path) -> None:
    write(moving(biped), tmp_path / "walk.wbt.npz")
    with np.load(tmp_path / "walk.wbt.npz") as data:
        names = ["left_hip", "right_hip", "waist", "left_knee", "right_knee"]
        assert data["joint_names"].tolist() == names
        assert data["body_names"].tolist()[1:] == ["left_thigh", "right_thigh", "torso", "left_shin", "right_shin"]
        np.testing.assert_allclose(data["joint_pos"], expected()[:, [0, 2, 4, 1, 3]], atol=1e-9)
        np.testing.assert_allclose(data["joint_vel"], np.gradient(data["joint_pos"], 0.02, axis=0), atol=1e-9)
        assert data["fps"].shape == (1,)
        assert data["fps"][0] == 50
        assert data["body_quat_w"].shape == (21, 6, 4)
        np.testing.assert_allclose(data["body_quat_w"][10, 0], [np.cos(0.07), 0, 0, np.sin(0.07)], atol=1e-9)
        np.testing.assert_allclose(data["body_pos_w"][0, 1], [0.0, 0.1, 0.8], atol=1e-9)
        np.testing.assert_allclose(data["body_ang_vel_w"][10, 0], [0, 0, 0.7], atol=1e-6)
        assert data["contact"].dtype == bool
        assert data["contact"].shape == (21, len(data["contact_names"]))


def test_training_files_have_50_frames_a_second(biped: Clip, tmp_path: Path) -> None:
    for layout in ("wbt", "holosoma"):
        write(moving(biped, fps=25.0), tmp_path / f"walk.{layout}.npz")
        with np.load(tmp_path / f"walk.{layout}.npz") as data:
            assert data["fps"][0] == 50
            assert len(data["joint_pos"]) == 41


def test_holosoma_reads_the_root_before_the_joints(biped: Clip, tmp_path: Path) -> None:
    write(moving(biped), tmp_path / "walk.holosoma.npz")
    with np.load(tmp_path / "walk.holosoma.npz") as data:
        assert data["joint_pos"].shape == (21, 7 + 5)
        assert data["joint_vel"].shape == (21, 6 + 5)
        assert data["joint_names"].tolist() == ["left_hip", "left_knee", "right_hip", "right_knee", "waist"]
        assert data["body_names"].tolist()[:2] == ["world", "pelvis"]
        np.testing.assert_allclose(data["body_pos_w"][:, 1], data["joint_pos"][:, :3], atol=1e-12)
        np.testing.assert_allclose(data["body_quat_w"][:, 1], data["joint_pos"][:, 3:7], atol=1e-12)
        np.testing.assert_allclose(data["body_quat_w"][:, 0], [[1.0, 0.0, 0.0, 0.0]] * 21)
        # A centre of mass above the root's origin moves with it.
        np.testing.assert_allclose(data["body_lin_vel_w"][10, 1], data["joint_vel"][10, :3], atol=1e-6)


def test_velocities_are_those_of_centres_of_mass(biped: Clip, tmp_path: Path) -> None:
    write(moving(biped, fps=500.0, count=41), tmp_path / "walk.wbt.npz", fps=500.0)
    with np.load(tmp_path / "walk.wbt.npz") as data:
        shin = data["body_names"].tolist().index("left_shin")
        from understudy.base.quaternion import rotate

        centres = data["body_pos_w"][:, shin] + rotate(data["body_quat_w"][:, shin], np.array([0.01, 0.0, -0.2]))
        numeric = np.gradient(centres, 1 / 500.0, axis=0)[1:-1]
        np.testing.assert_allclose(data["body_lin_vel_w"][1:-1, shin], numeric, atol=2e-4)


def test_orders_of_joints(biped: Clip, tmp_path: Path) -> None:
    names = ("left_hip", "left_knee", "right_hip", "right_knee", "waist")
    assert joints_in_order(biped.layout, biped.skeleton, "mjcf") == names
    with pytest.raises(OptionError, match="does not show the order of a URDF"):
        joints_in_order(biped.layout, biped.skeleton, "urdf")
    with pytest.raises(OptionError, match="one of mjcf, urdf, isaac or the file of a robot; got `issac`"):
        joints_in_order(biped.layout, biped.skeleton, "issac")
    links = "".join(f'<link name="l{i}"><inertial><mass value="1"/></inertial></link>' for i in range(6))
    joints = "".join(
        f'<joint name="{name}" type="continuous"><parent link="l0"/><child link="l{i + 1}"/></joint>'
        for i, name in enumerate(reversed(names))
    )
    (tmp_path / "other.urdf").write_text(f'<robot name="other">{links}{joints}</robot>')
    assert joints_in_order(biped.layout, biped.skeleton, str(tmp_path / "other.urdf")) == names[::-1]


def test_a_wrong_number_of_joints_is_refused(biped: Clip, tmp_path: Path) -> None:
    np.save(tmp_path / "walk.npy", np.tile([0, 0, 1, 1, 0, 0, 0, 0.1], (3, 1)))
    with pytest.raises(FileError, match="has 1 joint values in each frame; robot `biped` has 5 joints"):
        read(tmp_path / "walk.npy")


def test_an_unknown_quaternion_order_is_refused(biped: Clip, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="one of wxyz, xyzw; got `wzyx`"):
        write(moving(biped), tmp_path / "walk.pkl", quaternion_order="wzyx")
    with pytest.raises(OptionError, match="no place to state another order"):
        write(moving(biped), tmp_path / "walk.lafan1.csv", quaternion_order="wxyz")
    assert not (tmp_path / "walk.pkl").exists()


class Harm:
    """What a hostile pickle asks for."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('it ran')",))


def test_a_pickle_never_runs_anything(biped: Clip, tmp_path: Path) -> None:
    for protocol in range(6):
        (tmp_path / "walk.pkl").write_bytes(pickle.dumps({"fps": 30, "root_pos": Harm()}, protocol))
        with pytest.raises(
            FileError, match=r"walk.pkl: is no pickle of plain .* asks for `(__builtin__|builtins)\.exec`"
        ):
            read(tmp_path / "walk.pkl")


@pytest.mark.parametrize("protocol", range(6))
def test_plain_data_and_arrays_are_read_from_every_protocol(protocol: int) -> None:
    data = {
        "numbers": np.arange(6.0).reshape(2, 3), "whole": np.arange(4, dtype=">i4"), "one": np.float64(2.5),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "texts": ["a", "b"], "none": None, "yes": True,
        "pair": (1, 2**40), "nested": {"x": [1.5]},
    }  # fmt: skip
    back = load(pickle.dumps(data, protocol), "made.pkl")
    assert list(back) == list(data)
    for key in ("numbers", "whole", "columns"):
        np.testing.assert_array_equal(back[key], data[key])
    assert {k: v for k, v in back.items() if k not in ("numbers", "whole", "columns")} == {
        k: v for k, v in data.items() if k not in ("numbers", "whole", "columns")
    }


def bombs() -> dict[str, bytes]:
    """Pickles that would take all memory, never end, or make what is no data."""
    inner = b"(lp0\n" + b"".join(b"(" + b"g%d\n" % i * 10 + b"lp%d\n" % (i + 1) for i in range(30)) + b"."
    many = np.zeros(3)
    return {
        "shared": inner.replace(b"(lp0\n", b"(I1\nlp0\n", 1),
        "itself": b"(lp0\ng0\na.",
        "objects": pickle.dumps({"a": np.array([{}], object)}),
        "cut": pickle.dumps({"a": many})[:-20],
        "shape": pickle.dumps({"a": many}).replace(b"K\x03\x85", b"K\x05\x85"),
        "class": pickle.dumps(Path("x")),
        "memory": b"\x80\x02]r\xff\xff\xff\x7f.",
    }


@pytest.mark.parametrize("name", ["itself", "objects", "cut", "shape", "class"])
def test_damaged_and_hostile_pickles_are_refused(name: str) -> None:
    with pytest.raises(FileError, match=r"made\.pkl: is no pickle of plain numbers"):
        load(bombs()[name], "made.pkl")


@pytest.mark.parametrize("name", ["shared", "memory"])
def test_pickles_that_promise_much_take_no_memory(name: str) -> None:
    assert isinstance(load(bombs()[name], "made.pkl"), list)


def test_a_pickle_of_something_else_is_described(biped: Clip, tmp_path: Path) -> None:
    (tmp_path / "walk.pkl").write_bytes(pickle.dumps({"poses": [1], "trans": [2]}))
    with pytest.raises(
        FileError, match="expected a dictionary with fps, root_pos, root_rot, dof_pos; it holds `poses`"
    ):
        read(tmp_path / "walk.pkl")
    (tmp_path / "walk.pkl").write_bytes(
        pickle.dumps({"fps": 0, "root_pos": [[0, 0, 0]], "root_rot": [[0, 0, 0, 1]], "dof_pos": [[0] * 5]})
    )
    with pytest.raises(FileError, match="`fps` is 0; expected a rate above zero"):
        read(tmp_path / "walk.pkl")


def test_torques_and_speeds_are_read(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(
        """<robot name="arm"><link name="base"><inertial><mass value="1"/></inertial></link>
        <link name="a"/><link name="b"/>
        <joint name="one" type="continuous"><parent link="base"/><child link="a"/>
          <limit effort="12" velocity="3.5"/></joint>
        <joint name="two" type="continuous"><parent link="a"/><child link="b"/><limit effort="0" velocity="0"/></joint>
        </robot>"""
    )
    layout = read(tmp_path / "arm.urdf").layout
    assert layout.max_velocities == {"one": 3.5}
    assert layout.max_torques == {"one": 12.0}
    (tmp_path / "arm.xml").write_text(
        """<mujoco><worldbody><body name="base"><freejoint/><geom size=".1"/>
        <body name="a"><joint name="one" actuatorfrcrange="-7 7"/><geom size=".1"/>
        <body name="b"><joint name="two"/><geom size=".1"/></body></body></body></worldbody>
        <actuator><motor joint="two" gear="10" ctrlrange="-0.4 0.4"/></actuator></mujoco>"""
    )
    assert read(tmp_path / "arm.xml").layout.max_torques == {"one": 7.0, "two": 4.0}
