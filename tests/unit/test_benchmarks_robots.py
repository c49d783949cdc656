"""The benchmark of robots: MuJoCo finds defects of known size, and the kinematics of the package take no part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.quaternion import from_axis_angle, multiply
from understudy.figure.motion import Motion, rest_motion
from understudy.io import read
from understudy.io.robot.trajectory import trajectory_of

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

HOME = Path(__file__).resolve().parents[2]
STICKBOT = HOME / "tests" / "data" / "stickbot.xml"


@pytest.fixture
def robots(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(HOME / "benchmarks"))
    return __import__("robots")


def standing() -> Motion:
    motion = rest_motion(read(STICKBOT).skeleton, fps=30.0, num_frames=8)
    soles = min(place[1] for place in motion.skeleton.rest_ends)
    return replace(motion, root=motion.root - np.array([0.0, soles, 0.0]))


def test_a_robot_at_rest_stands_flat_on_zero(robots) -> None:
    judge, motion = robots.Judge.of(STICKBOT), standing()
    figures = judge.measure(trajectory_of(motion, judge.robot.layout), motion)
    assert (figures.limbs, figures.feet) == pytest.approx((0.0, 0.0), abs=1e-5)
    assert (figures.floor, figures.floating, figures.sunk) == pytest.approx((0.0, 0.0, 0.0), abs=0.01)
    assert (figures.skate, figures.speed, figures.jerk) == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_defects_are_found_in_their_size(robots) -> None:
    judge, motion = robots.Judge.of(STICKBOT), standing()
    sunk = replace(motion, root=motion.root - np.array([0.0, 0.013, 0.0]))
    assert judge.measure(trajectory_of(sunk, judge.robot.layout), motion).sunk == pytest.approx(13.0, abs=0.01)
    rotations = motion.rotations.copy()
    joint = motion.skeleton.index["left_knee_joint"]
    rotations[4:, joint] = multiply(rotations[4:, joint], from_axis_angle(motion.skeleton.axes[joint, 0], 0.5))
    fast = judge.measure(trajectory_of(replace(motion, rotations=rotations), judge.robot.layout), motion)
    assert fast.speed == pytest.approx(15.0, abs=1e-6)
    assert fast.limbs > 1.0
