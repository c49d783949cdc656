"""What robots ask of a motion: parts that stay apart, joints within ranges and speeds, a level floor at zero."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy.base.errors import OptionError
from understudy.base.quaternion import from_axis_angle, multiply
from understudy.figure.contacts import Floor, on_level_floor
from understudy.figure.kinematics import fk, joint_angle_curves
from understudy.figure.motion import Motion, rest_motion
from understudy.io import Clip, read
from understudy.retarget.machine import (
    MAX_UNKNOWN_SPEED,
    capsules_of,
    colliding_pairs,
    collision_constraints,
    free_joints,
    limit_steps,
    within_limits,
)
from understudy.retarget.plan import Options
from understudy.samples import motion as sample

STICKBOT = """<mujoco model="stickbot"><compiler angle="radian"/><worldbody>
  <body name="pelvis" pos="0 0 0.92"><freejoint/><geom type="box" size=".06 .12 .05"/>{left}{right}
    <body name="torso" pos="0 0 0.1"><joint name="waist_yaw_joint" axis="0 0 1" range="-1 1"/>
      <geom type="capsule" fromto="0 0 .05 0 0 .35" size=".1"/>{left_arm}{right_arm}
      <body name="head" pos="0 0 0.5"><joint name="neck_joint" axis="0 0 1" range="-1 1"/>
        <geom type="sphere" size=".09"/></body></body></body></worldbody></mujoco>"""

LEG = """<body name="{s}_hip_pitch" pos="0 {y} -0.05"><joint name="{s}_hip_pitch_joint" axis="0 1 0" range="-2 2"/>
  <body name="{s}_hip_roll"><joint name="{s}_hip_roll_joint" axis="1 0 0" range="-1 1"/>
  <body name="{s}_thigh"><joint name="{s}_hip_yaw_joint" axis="0 0 1" range="-1 1"/>
    <geom type="capsule" fromto="0 0 -.05 0 0 -.35" size=".06"/>
  <body name="{s}_shin" pos="0 0 -0.4"><joint name="{s}_knee_joint" axis="0 1 0" range="-0.1 2.5"/>
    <geom type="capsule" fromto="0 0 -.05 0 0 -.33" size=".05"/>
  <body name="{s}_ankle_pitch" pos="0 0 -0.4"><joint name="{s}_ankle_pitch_joint" axis="0 1 0" range="-1 1"/>
  <body name="{s}_foot"><joint name="{s}_ankle_roll_joint" axis="1 0 0" range="-.5 .5"/>
    <geom type="box" pos=".04 0 -.05" size=".11 .04 .02"/></body></body></body></body></body></body>"""

ARM = """<body name="{s}_shoulder_pitch" pos="0 {y} 0.35">
  <joint name="{s}_shoulder_pitch_joint" axis="0 1 0" range="-3 3"/>
  <body name="{s}_shoulder_roll"><joint name="{s}_shoulder_roll_joint" axis="1 0 0" range="-2 2"/>
  <body name="{s}_upper_arm"><joint name="{s}_shoulder_yaw_joint" axis="0 0 1" range="-2 2"/>
    <geom type="capsule" fromto="0 0 -.03 0 0 -.25" size=".04"/>
  <body name="{s}_lower_arm" pos="0 0 -0.28"><joint name="{s}_elbow_joint" axis="0 1 0" range="-2.5 0.1"/>
    <geom type="capsule" fromto="0 0 -.03 0 0 -.3" size=".04"/></body></body></body></body>"""


@pytest.fixture(scope="module")
def stickbot(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    path = tmp_path_factory.mktemp("robot") / "stickbot.xml"
    parts = {s: LEG.format(s=s, y=y) for s, y in (("left", 0.1), ("right", -0.1))}
    arms = {f"{s}_arm": ARM.format(s=s, y=y) for s, y in (("left", 0.205), ("right", -0.205))}
    path.write_text(STICKBOT.format(**parts, **arms))
    return read(path)


def turned(clip: Clip, angles: dict[str, list[float]], fps: float = 30.0) -> Motion:
    """The robot's rest pose with some hinges turned, radians for each frame."""
    skeleton = clip.skeleton
    motion = rest_motion(skeleton, fps=fps, num_frames=len(next(iter(angles.values()))))
    rotations = motion.rotations.copy()
    for name, values in angles.items():
        joint = skeleton.index[name]
        turns = from_axis_angle(skeleton.axes[joint, 0], np.array(values))
        rotations[:, joint] = multiply(skeleton.rest[joint], turns)
    return replace(motion, rotations=rotations)


def test_shapes_are_capsules_of_their_bodies(stickbot: Clip) -> None:
    capsules = capsules_of(stickbot.layout)
    bodies = [stickbot.layout.bodies[capsule.body].name for capsule in capsules]
    assert {"pelvis", "torso", "left_thigh", "left_foot", "head"} <= set(bodies)
    thigh = capsules[bodies.index("left_thigh")]
    assert thigh.radius == pytest.approx(0.06)
    np.testing.assert_allclose(np.sort([end.offset[2] for end in thigh.ends]), [-0.35, -0.05])
    # A foot twice as wide as high is two capsules side by side, inside the box.
    feet = [capsule for capsule, body in zip(capsules, bodies, strict=True) if body == "left_foot"]
    assert len(feet) == 2
    places = np.array([end.offset for capsule in feet for end in capsule.ends])
    assert np.abs(places[:, 1]).max() + 0.02 == pytest.approx(0.04)
    assert places[:, 0].max() + 0.02 == pytest.approx(0.15)


def test_adjacent_bodies_may_touch(stickbot: Clip) -> None:
    capsules = capsules_of(stickbot.layout)
    names = [stickbot.layout.bodies[capsule.body].name for capsule in capsules]
    pairs = {frozenset((names[i], names[j])) for i, j in colliding_pairs(stickbot.layout, stickbot.skeleton, capsules)}
    assert frozenset(("left_lower_arm", "left_thigh")) in pairs
    assert frozenset(("left_foot", "right_foot")) in pairs
    assert frozenset(("left_thigh", "left_shin")) not in pairs, "adjacent"
    assert frozenset(("left_foot", "left_shin")) not in pairs, "adjacent by an ankle of two motors"
    assert frozenset(("pelvis", "torso")) not in pairs, "one trunk"


def test_only_parts_that_come_near_are_kept_apart(stickbot: Clip) -> None:
    spread = turned(stickbot, {"left_shoulder_roll_joint": [1.4] * 40, "right_shoulder_roll_joint": [-1.4] * 40})
    assert not collision_constraints(spread, stickbot.layout, margin=0.0)
    values = [1.4] * 40 + [-0.2] * 4 + [1.4] * 40
    lowered = turned(stickbot, {"left_shoulder_roll_joint": values, "right_shoulder_roll_joint": [-1.4] * 84})
    constraints = collision_constraints(lowered, stickbot.layout, margin=0.01)
    assert constraints
    assert all("left" in constraint.name for constraint in constraints)
    assert all(0.5 < constraint.start < 43 / 30 < constraint.end < 2.3 for constraint in constraints)


def nearest(clip: Clip, motion: Motion) -> float:
    """Metres between the surfaces of any forearm and any thigh, at the least."""
    capsules = {clip.layout.bodies[c.body].name: c for c in capsules_of(clip.layout)}
    gaps = []
    for side in ("left", "right"):
        arm, leg = capsules[f"{side}_lower_arm"], capsules[f"{side}_thigh"]
        ends = fk(motion).points([*arm.ends, *leg.ends])
        first, second = np.linspace(ends[:, 0], ends[:, 1], 30), np.linspace(ends[:, 2], ends[:, 3], 30)
        gaps.append(np.linalg.norm(first[:, None] - second[None], axis=-1).min() - arm.radius - leg.radius)
    return float(min(gaps))


def test_a_robot_keeps_its_arms_off_its_legs(stickbot: Clip) -> None:
    walk = sample("walk").motion.resampled(30.0)[:36]
    loose = understudy.retarget(walk, stickbot, options=Options(collisions=False))
    wide = understudy.retarget(walk, stickbot, options=Options(margin=nearest(stickbot, loose.motion) + 0.03))
    assert nearest(stickbot, wide.motion) > nearest(stickbot, loose.motion) + 0.025
    # Only the arms give way.
    legs = [j for j, name in enumerate(stickbot.skeleton.names) if "hip" in name or "knee" in name or "ankle" in name]
    np.testing.assert_array_equal(wide.motion.rotations[:, legs], loose.motion.rotations[:, legs])
    np.testing.assert_array_equal(wide.motion.root, loose.motion.root)


def test_arms_and_head_are_free(stickbot: Clip) -> None:
    names = free_joints(stickbot.skeleton)
    assert {"left_elbow_joint", "right_shoulder_roll_joint", "neck_joint"} <= set(names)
    assert not any("hip" in name or "knee" in name or "ankle" in name or "waist" in name for name in names)


def test_steps_are_limited_as_little_as_possible() -> None:
    values = np.array([0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0])
    limited = limit_steps(values, 1.0)
    assert np.abs(np.diff(limited)).max() <= 1.0 + 1e-12
    assert np.abs(limited - values).max() == pytest.approx(1.0), "half of what the step is too large by"
    slow = 0.3 * np.sin(np.arange(20.0))
    np.testing.assert_array_equal(limit_steps(slow, 1.0), slow)
    np.testing.assert_array_equal(limit_steps(values, 1.0)[[0, -1]], [0.0, 3.0])


def test_no_joint_is_faster_than_its_motor_or_beyond_its_range(stickbot: Clip) -> None:
    fast = turned(stickbot, {"left_elbow_joint": [-2.4] * 9 + [0.0] * 9, "right_knee_joint": [-0.4] * 18})
    layout = replace(stickbot.layout, max_velocities={"left_elbow_joint": 12.0})
    limited = within_limits(fast, layout)
    angles = joint_angle_curves(stickbot.skeleton, limited.rotations)[..., 0]
    elbow, knee = (angles[:, stickbot.skeleton.index[name]] for name in ("left_elbow_joint", "right_knee_joint"))
    assert np.abs(np.diff(elbow)).max() * 30.0 <= 12.0 + 1e-9
    assert elbow[0] == pytest.approx(-2.4)
    np.testing.assert_allclose(knee, -0.1)
    unknown = within_limits(fast, stickbot.layout)
    angles = joint_angle_curves(stickbot.skeleton, unknown.rotations)[..., 0]
    assert (
        np.abs(np.diff(angles[:, stickbot.skeleton.index["left_elbow_joint"]])).max() * 30.0 <= MAX_UNKNOWN_SPEED + 1e-9
    )


def test_a_motion_within_its_limits_is_left_alone(stickbot: Clip) -> None:
    slow = turned(stickbot, {"left_elbow_joint": [-0.1 * i for i in range(10)]})
    assert within_limits(slow, stickbot.layout) is slow


def test_a_tilted_floor_becomes_level_and_zero(stickbot: Clip) -> None:
    motion = turned(stickbot, {"left_elbow_joint": [0.0] * 3})
    floor = Floor(height=0.3, slope=np.array([0.04, -0.02]))
    shifted = replace(motion, root=motion.root + np.array([2.0, 0.5, 1.0]))
    result = on_level_floor(shifted, floor)
    ends = list(stickbot.skeleton.ends)
    before, after = fk(shifted).points(ends), fk(result).points(ends)
    above = (before[..., 1] - floor.heights(before)) * floor.normal[1]
    np.testing.assert_allclose(after[..., 1], above, atol=1e-12)


def test_robots_stand_at_zero_unless_told_to_keep_the_floor(stickbot: Clip, tmp_path: Path) -> None:
    source = sample("walk").motion.resampled(30.0)[:36]
    raised = replace(source, root=source.root + np.array([0.0, 0.7, 0.0]))
    soles = [end for end in stickbot.skeleton.ends if "sole" in end.name]
    assert len(soles) == 8
    lowest = {}
    for level in ("auto", "keep"):
        result = understudy.retarget(raised, stickbot, options=Options(level=level, collisions=False))
        lowest[level] = float(np.percentile(fk(result.motion).points(soles)[..., 1].min(axis=1), 20))
        assert result.clip.motion is not None
        np.testing.assert_allclose(result.clip.motion.root, result.motion.root)
        assert result.clip.layout.floor == {"auto": "level, z = 0", "keep": ""}[level]
        result.write(tmp_path / "walk.csv")
        assert ("# floor: level, z = 0" in (tmp_path / "walk.csv").read_text()) == (level == "auto")
    assert abs(lowest["auto"]) < 0.002
    assert lowest["keep"] == pytest.approx(0.7, abs=0.002)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(OptionError, match="Expected level, one of auto, zero, keep; got `sea`"):
        Options(level="sea")
    with pytest.raises(OptionError, match="Expected a margin of zero or more metres, got -1"):
        Options(margin=-1.0)
