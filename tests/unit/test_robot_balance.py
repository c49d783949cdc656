"""Balance of robots: the zero moment point comes back over the feet, and the feet stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.quaternion import from_axis_angle
from understudy.figure.contacts import Contact, Floor
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.io import read
from understudy.retarget.balance import balance, legs_of, solve_legs, zero_moment_points

STICKBOT = Path(__file__).resolve().parents[1] / "data" / "stickbot.xml"
LEVEL = Floor(slope=np.zeros(2))


def crouching(frames: int = 60) -> Motion:
    """The robot with bent knees and its soles on the floor."""
    motion = rest_motion(read(STICKBOT).skeleton, fps=30.0, num_frames=frames)
    skeleton, rotations = motion.skeleton, motion.rotations.copy()
    for side in ("left", "right"):
        for name, angle in (("hip_pitch", -0.35), ("knee", 0.7), ("ankle_pitch", -0.35)):
            joint = skeleton.index[f"{side}_{name}_joint"]
            rotations[:, joint] = from_axis_angle(skeleton.axes[joint, 0], angle)
    bent = replace(motion, rotations=rotations)
    low = fk(bent).points([end for end in skeleton.ends if "sole" in end.name])[..., 1].min()
    return replace(bent, root=bent.root - np.array([0.0, low, 0.0]))


def soles(motion: Motion) -> np.ndarray:
    return fk(motion).points([end for end in motion.skeleton.ends if "sole" in end.name])


def outside(motion: Motion) -> np.ndarray:
    """(F,) metres that the zero moment point is beyond the box around the soles, forward or backward."""
    moments, _, _ = zero_moment_points(fk(motion), read(STICKBOT).layout, motion.fps)
    places = soles(motion)[..., [0, 2]]
    return np.maximum(moments - places.max(axis=1), places.min(axis=1) - moments).max(axis=-1)


def test_the_robot_has_two_legs() -> None:
    legs = legs_of(read(STICKBOT).skeleton)
    assert len(legs) == 2
    assert all(len(leg.soles) >= 2 for leg in legs)


def test_a_point_mass_at_rest_has_its_moment_point_below_it() -> None:
    motion = crouching()
    moments, height, load = zero_moment_points(fk(motion), read(STICKBOT).layout, motion.fps)
    assert np.ptp(moments, axis=0) == pytest.approx([0.0, 0.0], abs=1e-9)
    assert load == pytest.approx(1.0)
    assert (height > 0.0).all()


def test_a_body_out_of_balance_is_shifted_over_its_feet() -> None:
    robot, motion = read(STICKBOT), crouching()
    ahead = soles(motion)[0, :, 0].max() - zero_moment_points(fk(motion), robot.layout, 30.0)[0][0, 0]
    leaning = motion.root.copy()
    # The feet are left behind by a body that is moved with all its parts.
    leaning[:, 0] += ahead + 0.07
    tipped, _ = solve_legs(replace(motion, root=leaning), motion, legs_of(motion.skeleton))
    assert outside(tipped).max() > 0.02
    result = balance(tipped, robot.layout, LEVEL, [])
    assert outside(result)[5:-5].max() < 0.005
    assert np.abs(soles(result) - soles(tipped)).max() < 0.0025


def test_a_body_in_balance_stays() -> None:
    robot, motion = read(STICKBOT), crouching()
    assert outside(motion).max() < 0.0
    result = balance(motion, robot.layout, LEVEL, [])
    assert np.abs(result.root - motion.root).max() < 0.01


def test_what_a_hand_holds_is_not_shifted() -> None:
    robot, motion = read(STICKBOT), crouching()
    leaning = motion.root.copy()
    leaning[:, 0] += 0.1
    held = Contact(point=motion.skeleton.ends[0], start=0.0, end=motion.duration, on="hold", place=np.zeros(3))
    moved = replace(motion, root=leaning)
    result = balance(moved, robot.layout, LEVEL, [held])
    assert np.abs(result.root - moved.root).max() < 0.005


def test_a_motion_too_short_for_accelerations_stays() -> None:
    robot, motion = read(STICKBOT), crouching(frames=3)
    assert balance(motion, robot.layout, LEVEL, []) is motion
