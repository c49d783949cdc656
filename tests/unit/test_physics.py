"""Physics of robots: known forces are found, defects count, and a simulated robot follows what it can."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.figure.motion import Motion, rest_motion
from understudy.io import Clip, read
from understudy.metrics.base import Verdict, evaluate
from understudy.metrics.physics import NO_ROBOT

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

from understudy.metrics.dynamics import GRAVITY, Machine, build_model, coordinates

STICKBOT = Path(__file__).resolve().parents[1] / "data" / "stickbot.xml"
ONLY = ("physics", "tracking")


def robot() -> Clip:
    return read(STICKBOT)


def standing(frames: int = 30, fps: float = 30.0) -> Motion:
    motion = rest_motion(robot().skeleton, fps=fps, num_frames=frames)
    soles = min(place[1] for place in motion.skeleton.rest_ends)
    return replace(motion, root=motion.root - np.array([0.0, soles, 0.0]))


def machine() -> Machine:
    clip = robot()
    return Machine.of(build_model(clip.skeleton, clip.layout))


def test_a_standing_robot_is_carried_by_the_floor() -> None:
    body, motion = machine(), standing()
    forces = body.measure(coordinates(motion), motion.fps)
    assert forces.floor == pytest.approx(0.0, abs=1e-6)
    assert forces.root_acceleration.max() < 1e-9
    assert forces.slip.max() == pytest.approx(0.0, abs=1e-9)
    assert forces.missing.max() < 0.01
    assert body.weight == pytest.approx(GRAVITY * float(body.model.body_subtreemass[0]))


def test_the_centre_of_pressure_of_a_still_body_is_below_its_centre_of_mass() -> None:
    import mujoco

    body, motion = machine(), standing()
    path = coordinates(motion)
    state = mujoco.MjData(body.model)
    state.qpos[:] = path[0]
    mujoco.mj_forward(body.model, state)
    forces = body.measure(path, motion.fps)
    assert forces.pressure[0] == pytest.approx(state.subtree_com[0, :2], abs=1e-6)


def test_a_body_pushed_forward_needs_pressure_behind_its_centre() -> None:
    body, motion = machine(), standing(frames=60)
    root = motion.root.copy()
    # Half a metre per second squared along x.
    root[:, 0] += 0.25 * motion.times**2
    moving = body.measure(coordinates(replace(motion, root=root)), motion.fps)
    height = 0.5 / GRAVITY
    still = body.measure(coordinates(motion), motion.fps)
    behind = root[30, 0] - motion.root[30, 0] + still.pressure[30, 0] - moving.pressure[30, 0]
    assert 0.3 * height < behind < 1.5 * height
    assert moving.root_acceleration[30] == pytest.approx(0.5, abs=1e-3)


def test_a_free_fall_takes_no_force() -> None:
    body, motion = machine(), standing(frames=60)
    root = motion.root.copy()
    root[:, 1] += 5.0 - 0.5 * GRAVITY * motion.times**2
    forces = body.measure(coordinates(replace(motion, root=root)), motion.fps)
    assert forces.root_acceleration[30] == pytest.approx(GRAVITY, rel=1e-3)


def test_the_same_joints_are_where_the_skeleton_has_them() -> None:
    import mujoco

    from understudy.base.quaternion import unrotate
    from understudy.figure.kinematics import fk
    from understudy.metrics.dynamics import Z_UP

    body, motion = machine(), standing(frames=3)
    state = mujoco.MjData(body.model)
    state.qpos[:] = coordinates(motion)[1]
    mujoco.mj_kinematics(body.model, state)
    places = unrotate(Z_UP, fk(motion).positions[1])
    for number, name in enumerate(motion.skeleton.names):
        assert state.xpos[body.model.body(name).id] == pytest.approx(places[number], abs=1e-9)


def test_a_standing_robot_passes_and_a_fast_joint_does_not() -> None:
    clip, motion = robot(), standing()
    report = evaluate(motion, robot=clip.layout, only=ONLY)
    assert report["physics"]["speed_ratio"] == pytest.approx(0.0, abs=1e-9)
    assert report["physics"]["slip"] == pytest.approx(0.0, abs=1e-9)
    assert report["tracking"]["helped_share"] == pytest.approx(1.0)
    from understudy.base.quaternion import from_axis_angle, multiply

    rotations = motion.rotations.copy()
    joint = motion.skeleton.index["left_knee_joint"]
    rotations[15:, joint] = multiply(rotations[15:, joint], from_axis_angle(motion.skeleton.axes[joint, 0], 2.5))
    fast = evaluate(replace(motion, rotations=rotations), robot=clip.layout, only=ONLY)
    assert fast["physics"].verdict is Verdict.BAD
    assert fast["physics"]["speed_ratio"] > 1.2


def test_what_is_no_robot_says_so() -> None:
    report = evaluate(standing(), only=ONLY)
    assert all(report[name].verdict is Verdict.UNGRADED for name in ONLY)
    assert NO_ROBOT in report["physics"].words


def test_without_mujoco_the_line_to_install_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.metrics.physics.has_mujoco", lambda: False)
    report = evaluate(standing(), robot=robot().layout, only=["physics"])
    assert "pip install 'understudy-motion[physics]'" in report["physics"].words


def test_curves_show_the_joint_under_most_strain_with_its_limits() -> None:
    measured = evaluate(standing(), robot=robot().layout, only=["physics"])["physics"]
    names = {curve.name for curve in measured.curves}
    assert {"pressure_inside", "torque_ratio", "speed_ratio"} <= names
    strained = measured.facts["most_strained"]
    assert {f"{strained}_{part}" for part in ("angle", "lowest", "highest", "torque")} <= names


def test_the_page_defines_every_figure() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    report = evaluate(standing(), robot=robot().layout, only=ONLY)
    for name in ONLY:
        for figure in report[name].figures:
            assert f"`{figure.name}`" in text, f"{name} {figure.name}"


def test_a_body_that_is_no_robot_has_neither_metric_nor_mention_of_it() -> None:
    report = evaluate(standing())
    assert not set(ONLY) & {measurement.metric for measurement in report.measurements}
    assert not set(ONLY) & set(report.skipped)
