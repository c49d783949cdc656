"""Files of real robots as MuJoCo reads them: every joint and body is where we say it is, in every layout."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from understudy.base.quaternion import from_axis_angle, multiply, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io import Clip, read, write
from understudy.io.robot.trajectory import WORLD

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

ROBOTS = ("unitree_g1.xml", "unitree_h1.xml", "booster_t1.xml", "robotis_op3.xml", "unitree_go2.xml")

MAX_METRES, MAX_RADIANS = 1e-5, 1e-6


def model_of(path: Path) -> Any:
    """MuJoCo's model of a robot, without its meshes."""
    root = ElementTree.parse(path).getroot()
    for parent in list(root.iter()):
        for child in list(parent):
            drawn = child.tag == "geom" and (child.get("type") == "mesh" or child.get("mesh") is not None)
            if (
                drawn
                or child.tag in ("mesh", "sensor", "keyframe", "contact")
                or (child.tag == "geom" and child.get("type") == "mesh" and parent.tag == "default")
            ):
                parent.remove(child)
    for geom in root.iter("geom"):
        if geom.get("class") in ("visual", "collision") and geom.get("type") is None:
            geom.set("type", "sphere")
            geom.set("size", geom.get("size", "0.001"))
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def moving(path: Path) -> Clip:
    """A robot that moves every joint within its limits while it walks and turns."""
    clip = read(path)
    skeleton, fps, count = clip.skeleton, 50.0, 26
    times, rng = np.arange(count) / fps, np.random.default_rng(1)
    rotations = np.tile(skeleton.rest, (count, 1, 1))
    for name in clip.layout.names:
        joint = skeleton.index[name]
        low, high = np.clip(skeleton.limits[joint, 0], -1.0, 1.0)
        share = 0.5 + 0.4 * np.sin(4.0 * times + rng.uniform(0.0, 6.0))
        turns = from_axis_angle(skeleton.axes[joint, 0], low + (high - low) * share)
        rotations[:, joint] = multiply(skeleton.rest[joint], turns)
    rotations[:, 0] = multiply(from_axis_angle(np.array([0.0, 1.0, 0.0]), 1.3 * times), skeleton.rest[0])
    root = skeleton.offsets[0] + np.stack([0.8 * times, 0.05 * np.sin(6.0 * times), 0.3 * times], axis=-1)
    motion = Motion(skeleton=skeleton, fps=fps, root=root, rotations=rotations)
    return Clip(skeleton=skeleton, motion=motion, format=clip.format, up=clip.up, layout=clip.layout)


def qpos_of(path: Path, joints: list[str]) -> np.ndarray:
    """(F, 7 + N) the coordinates in a file, read as its training code does, with joints in the order asked for."""
    if path.suffix == ".pkl":
        with open(path, "rb") as stream:
            data = pickle.load(stream)
        order = [data["joint_names"].index(name) for name in joints]
        return np.hstack([data["root_pos"], data["root_rot"][:, [3, 0, 1, 2]], data["dof_pos"][:, order]])
    if path.name.endswith(".lafan1.csv"):
        values = np.loadtxt(path, delimiter=",")
        return np.hstack([values[:, :3], values[:, [6, 3, 4, 5]], values[:, 7:]])
    if path.suffix == ".npy":
        return np.load(path)
    with np.load(path) as data:
        if "qpos" in data:
            return data["qpos"]
        order = [data["joint_names"].tolist().index(name) for name in joints]
        if data["joint_pos"].shape[1] > len(joints):
            return np.hstack([data["joint_pos"][:, :7], data["joint_pos"][:, 7:][:, order]])
        return np.hstack([data["body_pos_w"][:, 0], data["body_quat_w"][:, 0], data["joint_pos"][:, order]])


@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_has_every_joint_where_we_have_it(name: str, data: Path, tmp_path: Path) -> None:
    path = data / "robots" / name
    clip, model = moving(path), model_of(path)
    state = mujoco.MjData(model)
    joints = [model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
    assert clip.motion is not None
    places = unrotate(WORLD, fk(clip.motion).positions)
    columns = [clip.skeleton.index[joint] for joint in joints]
    for file in ("walk.pkl", "walk.lafan1.csv", "walk.npy", "walk.qpos.npz", "walk.wbt.npz", "walk.holosoma.npz"):
        write(clip, tmp_path / file, fps=50.0)
        qpos = qpos_of(tmp_path / file, joints)
        assert qpos.shape == (26, model.nq)
        for frame in (0, 9, 25):
            state.qpos[:] = qpos[frame]
            mujoco.mj_kinematics(model, state)
            hinges = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
            assert np.abs(state.xanchor[hinges] - places[frame, columns]).max() < MAX_METRES, file
        limits = model.jnt_range[hinges]
        limited = model.jnt_limited[hinges].astype(bool)
        outside = np.maximum(limits[:, 0] - qpos[:, 7:], qpos[:, 7:] - limits[:, 1])[:, limited]
        assert outside.max(initial=0.0) < MAX_RADIANS


@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_has_every_body_where_training_files_have_it(name: str, data: Path, tmp_path: Path) -> None:
    path = data / "robots" / name
    clip, model = moving(path), model_of(path)
    state = mujoco.MjData(model)
    write(clip, tmp_path / "walk.holosoma.npz")
    with np.load(tmp_path / "walk.holosoma.npz") as file:
        arrays = dict(file)
    order = [model.body(str(body)).id for body in arrays["body_names"]]
    assert sorted(order) == list(range(model.nbody))
    for frame in (3, 12, 22):
        state.qpos[:], state.qvel[:] = arrays["joint_pos"][frame], arrays["joint_vel"][frame]
        mujoco.mj_forward(model, state)
        assert np.abs(state.xpos[order] - arrays["body_pos_w"][frame]).max() < MAX_METRES
        turned = 1.0 - np.abs(np.einsum("bi,bi->b", state.xquat[order], arrays["body_quat_w"][frame]))
        assert turned.max() < 1e-9
        velocity = np.zeros(6)
        for row, body in enumerate(order):
            mujoco.mj_objectVelocity(model, state, mujoco.mjtObj.mjOBJ_BODY, body, velocity, 0)
            np.testing.assert_allclose(arrays["body_ang_vel_w"][frame, row], velocity[:3], atol=2e-3)
            np.testing.assert_allclose(arrays["body_lin_vel_w"][frame, row], velocity[3:], atol=2e-3)


def test_isaacs_order_of_the_g1(data: Path) -> None:
    from understudy.io.robot.order import joints_in_order

    clip = read(data / "robots" / "unitree_g1.xml")
    order = joints_in_order(clip.layout, clip.skeleton, "isaac")
    assert order[:8] == (
        "left_hip_pitch_joint", "right_hip_pitch_joint", "waist_yaw_joint", "left_hip_roll_joint",
        "right_hip_roll_joint", "waist_roll_joint", "left_hip_yaw_joint", "right_hip_yaw_joint",
    )  # fmt: skip
    assert order[11:15] == (
        "left_shoulder_pitch_joint", "right_shoulder_pitch_joint", "left_ankle_pitch_joint", "right_ankle_pitch_joint",
    )  # fmt: skip
    other = read(data / "robots" / "unitree_g1_29dof.urdf")
    assert joints_in_order(other.layout, other.skeleton, "isaac") == order
