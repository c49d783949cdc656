"""Real robots: read without their meshes, and walking with their feet planted and their joints inside their limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.quaternion import Array, angle_between
from understudy.constraints.same_place import SamePlace
from understudy.figure.contacts import Floor, find_floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.io import Clip, read, write
from understudy.io.guess import find_reference_frame
from understudy.io.robot.trajectory import trajectory_of
from understudy.retarget.actor import match_actor
from understudy.retarget.driver import retarget
from understudy.retarget.plan import plan
from understudy.samples import motion as sample

ROBOTS = {
    "unitree_g1.xml": (29, 30),
    "unitree_h1.xml": (19, 20),
    "unitree_go2.xml": (12, 13),
    "unitree_g1_29dof.urdf": (29, 35),
    "dm_humanoid.xml": (21, 25),
    "humanoid_CMU_V2020.xml": (56, 59),
}
"""Hinges, as the files' authors count them, and joints, with the root and what is fixed but has a form."""


def robot(data: Path, name: str) -> Clip:
    return read(data / "robots" / name)


def ground(skeleton: Skeleton) -> Array:
    """(E, 3) the rest pose's places of the points on the soles, Y up."""
    return np.array([p for e, p in zip(skeleton.ends, skeleton.rest_ends, strict=True) if "sole" in e.name])


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_is_read(name: str, data: Path) -> None:
    clip = robot(data, name)
    hinges, joints = ROBOTS[name]
    assert clip.skeleton.kinds[0] is JointKind.FREE
    assert sum(kind is JointKind.HINGE for kind in clip.skeleton.kinds) == hinges == len(clip.layout.names)
    assert clip.skeleton.num_joints == joints
    assert clip.dropped == ()


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_stand_on_their_soles(name: str, data: Path) -> None:
    skeleton = robot(data, name).skeleton
    soles = ground(skeleton)
    assert len(soles) >= 4
    lowest = skeleton.rest_world[0][:, 1].min()
    assert soles[:, 1].min() <= lowest + 1e-9, "nothing of the body is below them"
    assert np.ptp(soles[:, 1]) < 0.03, "they are level"


def test_the_two_files_of_one_robot_agree(data: Path) -> None:
    one, other = robot(data, "unitree_g1.xml"), robot(data, "unitree_g1_29dof.urdf")
    assert one.layout.names == other.layout.names
    a, b = one.skeleton, other.skeleton
    mine, theirs = ([s.index[name] for name in one.layout.names] for s in (a, b))
    places = [s.rest_world[0][joints] - s.rest_world[0][0] for s, joints in ((a, mine), (b, theirs))]
    # The one rounds its quaternions to six digits, the other its angles to four.
    np.testing.assert_allclose(places[0], places[1], atol=2e-4)
    np.testing.assert_allclose(a.limits[mine, 0], b.limits[theirs, 0], atol=1e-4)
    np.testing.assert_allclose(a.axes[mine], b.axes[theirs])


def test_known_numbers_of_the_g1(data: Path) -> None:
    clip = robot(data, "unitree_g1.xml")
    skeleton = clip.skeleton
    assert (clip.unit, clip.up, clip.layout.robot) == (1.0, "Z", "g1_29dof_rev_1_0")
    np.testing.assert_allclose(skeleton.offsets[0], [0.0, 0.793, 0.0], atol=1e-12)
    knee = skeleton.index["left_knee_joint"]
    np.testing.assert_allclose(skeleton.limits[knee, 0], [-0.087267, 2.8798])
    np.testing.assert_allclose(skeleton.axes[knee, 0], [0, 1, 0])
    heel = next(end for end in skeleton.ends if end.name == "left_ankle_roll_link_sole_heel_outer")
    np.testing.assert_allclose(heel.offset, [-0.05, 0.025, -0.035], atol=1e-4)


def test_degrees_are_told_from_radians(data: Path) -> None:
    skeleton = robot(data, "dm_humanoid.xml").skeleton
    np.testing.assert_allclose(np.degrees(skeleton.limits[skeleton.index["left_hip_y"], 0]), [-120, 20])
    skeleton = robot(data, "humanoid_CMU_V2020.xml").skeleton
    np.testing.assert_allclose(skeleton.limits[skeleton.index["lfemurrx"], 0], [-2.79253, 0.349066])


def test_a_model_laid_out_lying_down_is_stood_up(data: Path) -> None:
    clip = robot(data, "humanoid_CMU_V2020.xml")
    assert clip.up == "Y"
    places = clip.skeleton.rest_world[0]
    assert places[clip.skeleton.index["headrz"], 1] > places[clip.skeleton.index["lfootrz"], 1] + 1.2


@pytest.mark.parametrize("name", [name for name in ROBOTS if "go2" not in name])
def test_names_tell_the_parts_of_humanoid_robots(name: str, data: Path) -> None:
    found = roles(robot(data, name).skeleton)
    for side in ("left", "right"):
        for part in ("upper_leg", "lower_leg", "foot", "upper_arm", "lower_arm"):
            assert f"{side}_{part}" in found


def capture(data: Path, name: str, fps: float = 30.0) -> Motion:
    moved = read(data / "cmu_bvh" / f"{name}.bvh").motion
    assert moved is not None
    if find_reference_frame(moved) == 0:
        moved = moved[1:]
    return moved.resampled(fps)


def over_limits(clip: Clip, moved: Motion) -> float:
    """Degrees by which the worst joint value of any frame lies outside its range."""
    path = trajectory_of(moved, clip.layout)
    ranges = np.array([clip.skeleton.limits[clip.skeleton.index[name], 0] for name in path.joint_names])
    ranges += np.array([clip.layout.references.get(name, 0.0) for name in path.joint_names])[:, None]
    over = np.maximum(ranges[:, 0] - path.joint_values, path.joint_values - ranges[:, 1])
    return float(np.degrees(over.max()))


def below_floor(clip: Clip, moved: Motion, floor: Floor) -> float:
    """Metres that the lowest point of a sole is ever below the floor."""
    soles = [end for end in clip.skeleton.ends if "sole" in end.name]
    places = fk(moved).points(soles)
    return float(np.max(floor.heights(places) - places[..., 1]))


def largest_steps(moved: Motion) -> float:
    """Degrees that any joint or the root turns from one frame to the next at most."""
    return float(np.degrees(angle_between(moved.rotations[1:], moved.rotations[:-1]).max()))


CLIPS = [
    ("02_01", "unitree_g1.xml"), ("02_01", "unitree_g1_29dof.urdf"), ("02_01", "unitree_h1.xml"),
    ("02_01", "humanoid_CMU_V2020.xml"), ("120_08", "unitree_g1.xml"), ("138_01", "unitree_g1.xml"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "target"), CLIPS)
def test_a_human_motion_on_a_robot(name: str, target: str, data: Path) -> None:
    source, clip = capture(data, name), robot(data, target)
    moved = retarget(source, clip.skeleton).motions[0]
    assert over_limits(clip, moved) < 0.1
    planted(clip, source, moved)
    # A joint of the source itself turns by at most this much; nothing may flip on the way.
    assert largest_steps(moved) < 26.0


def planted(clip: Clip, source: Motion, moved: Motion) -> None:
    """While the source stands on a foot, the robot's stays within 2 mm, and no sole goes into the floor."""
    whole = plan([match_actor(source, clip.skeleton)])
    floor = find_floor(whole.contacts, leg_length(source.skeleton))
    assert below_floor(clip, moved, floor) < 0.002
    pose = fk(moved)
    plants = [c for c in whole.constraints if isinstance(c, SamePlace) and not c.soft]
    assert len(plants) >= 10
    for plant in plants:
        path = pose.points([plant.point_refs()[0].point])[plant.frames(source.times), 0]
        assert np.linalg.norm(path - path.mean(axis=0), axis=-1).max() < 0.002, plant


def test_a_flat_sole_stands_flat(data: Path) -> None:
    source, clip = capture(data, "02_01"), robot(data, "unitree_g1.xml")
    moved = retarget(source, clip.skeleton).motions[0]
    soles = [end for end in clip.skeleton.ends if "left_ankle_roll_link_sole" in end.name]
    places = fk(moved).points(soles)
    # While the foot is still, all four corners are at one height: the floor's, which slopes a little in this capture.
    speed = np.linalg.norm(np.gradient(places, 1.0 / moved.fps, axis=0), axis=-1).max(axis=1)
    still = speed < 0.01
    assert still.sum() > 20
    assert np.ptp(places[still][..., 1], axis=1).max() < 0.006


def test_a_dog_walks_as_a_robot(data: Path) -> None:
    source, clip = sample("dog_walk").motion.resampled(30.0), robot(data, "unitree_go2.xml")
    moved = retarget(source, clip.skeleton, align="stance").motions[0]
    assert over_limits(clip, moved) < 0.1
    assert below_floor(clip, moved, Floor(slope=np.zeros(2))) < 0.002
    assert largest_steps(moved) < 26.0
    travel = moved.root[-1] - moved.root[0]
    assert np.hypot(travel[0], travel[2]) > 1.0


def test_the_trajectory_of_a_walk_comes_back(data: Path, tmp_path: Path) -> None:
    source, clip = capture(data, "02_01"), robot(data, "unitree_h1.xml")
    moved = retarget(source, clip.skeleton).motions[0]
    for suffix in (".npz", ".csv"):
        write(replace(clip, skeleton=moved.skeleton, motion=moved), tmp_path / f"walk{suffix}")
        back = read(tmp_path / f"walk{suffix}", skeleton=data / "robots" / "unitree_h1.xml").motion
        assert back is not None
        np.testing.assert_allclose(fk(back).positions, fk(moved).positions, atol=1e-9)


def test_a_robot_climbs_the_ladder_that_the_source_climbs(data: Path) -> None:
    motion = read(data / "cmu_bvh" / "13_33.bvh").motion
    assert motion is not None
    result = retarget(motion[1:600:4], robot(data, "unitree_g1.xml"))
    rises = []
    for body in (motion[1:600:4], result.motion):
        height = fk(body).positions[:, roles(body.skeleton)["left_upper_leg"], 1] / leg_length(body.skeleton)
        rises.append(float(np.ptp(height)))
    assert rises[0] > 0.3
    assert rises[1] == pytest.approx(rises[0], rel=0.15)
