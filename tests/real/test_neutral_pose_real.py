"""Neutral poses of real captures: a result in the world does not depend on what a file's conventions are.

The same movement is read from a file, and given with any other joint frames and rest pose and without the T-pose frame.
Where a face or a palm looks shows in the T-pose alone, so the turns of heads and hands are not compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from understudy import retarget
from understudy.base.quaternion import Array, from_axis_angle, multiply, rotate
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.neutral_pose import find_neutral_pose
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, words
from understudy.io import Clip, read, write
from understudy.io.clip import name_unit
from understudy.retarget.actor import match_actor

Reframe = Callable[[Motion, np.random.Generator], Motion]
CLIPS = ("cmu_bvh/02_01.bvh", "cmu_bvh/16_15.bvh", "cmu_bvh/131_03.bvh")
TARGETS = ("gltf/m2m_human_male.glb", "sample:child", "robots/unitree_g1.xml")
FRAMES = 240


@cache
def clip(path: Path) -> Clip:
    return read(path)


def capture(path: Path) -> Motion:
    """The frames of a capture without its T-pose."""
    motion = clip(path).motion
    assert motion is not None
    return motion[1 : FRAMES + 1]


def compared(motion: Motion) -> list[int]:
    """Joints whose places are compared: from the hips outwards, but nothing that a turn of a head or hand moves."""
    body, joints = motion.skeleton, roles(motion.skeleton)
    moved = np.zeros(body.num_joints, bool)
    moved[body.chain(joints["left_upper_leg"])[:-2]] = True
    for role in ("head", "left_hand", "right_hand"):
        if role in joints:
            moved |= body.below(joints[role])
            moved[joints[role]] = False
    return [j for j in range(body.num_joints) if not moved[j] and "wrist" not in words(body.names[j])]


def assert_alike(one: Motion, other: Motion, turn: Array | None = None) -> None:
    """Places within 0.5 % of a leg and bones within a degree, at every frame."""
    assert one.num_frames == other.num_frames
    joints, body = compared(one), one.skeleton
    places = [fk(motion).positions for motion in (one, other)]
    if turn is not None:
        places[0] = rotate(turn, places[0])
    leg = leg_length(body)
    assert float(np.linalg.norm(places[0] - places[1], axis=-1)[:, joints].max()) < 0.005 * leg
    for joint in joints:
        parent = int(body.parents[joint])
        if parent in joints and body.lengths[joint] > 0.05 * leg:
            a, b = (at[:, joint] - at[:, parent] for at in places)
            cosines = np.sum(a * b, axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
            assert np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max() < 1.0, body.names[joint]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", CLIPS)
def test_joint_frames_and_rest_pose_do_not_matter(
    source: str, target: str, data: Path, reframe: Reframe, rng: np.random.Generator
) -> None:
    onto = target if target.startswith("sample:") else str(data / target)
    motion = capture(data / source)
    assert_alike(retarget(motion, onto).motion, retarget(reframe(motion, rng), onto).motion)


@pytest.mark.parametrize("target", ["cmu_bvh/131_03.bvh", "humans/cmu_11_01_daz.bvh"])
def test_joint_frames_and_rest_pose_of_a_target_do_not_matter(
    target: str, data: Path, reframe: Reframe, rng: np.random.Generator
) -> None:
    """The target shows its neutral pose in its own motion; compared before contacts are solved for."""
    motion, own = capture(data / "humans/milad_all_position_channels.bvh"), capture(data / target)
    level = Floor(slope=np.zeros(2))
    plain, framed = (
        transfer_motion(motion, alignment, floor=level, ratio=1.0)
        for body in (own, reframe(own, rng))
        if (alignment := match_actor(motion, body.skeleton, target_motion=body).alignment) is not None
    )
    assert_alike(plain, framed)


@pytest.mark.parametrize("target", TARGETS[:2])
def test_the_heading_of_a_source_does_not_matter(target: str, data: Path) -> None:
    """A walk that is turned about the vertical gives the turned result."""
    onto = target if target.startswith("sample:") else str(data / target)
    motion = capture(data / CLIPS[0])
    turn = from_axis_angle([0.0, 1.0, 0.0], 1.3)
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    other = motion.derived(root=rotate(turn, motion.root), rotations=rotations)
    assert_alike(retarget(motion, onto).motion, retarget(other, onto).motion, turn)


@pytest.mark.parametrize("up", ["X", "Y", "Z", "-X", "-Y", "-Z"])
@pytest.mark.parametrize("unit", ["m", "cm", "mm", "inch"])
def test_up_and_unit_of_a_capture_are_found(up: str, unit: str, data: Path, tmp_path: Path) -> None:
    source = clip(data / "humans/rokoko_jesse_dance.bvh")
    assert source.motion is not None
    path = tmp_path / "other.bvh"
    write(source.motion[::10], path, unit=unit, up=up)
    found = read(path)
    assert (found.up, name_unit(found.unit)) == (up, unit)


def test_a_swimmer_is_read_as_its_rest_pose_stands(data: Path) -> None:
    swim = clip(data / "cmu_more/126_08.bvh")
    assert swim.up == "Y"
    assert "the rest pose stands along Y, the motion shows no floor" in swim.up_reason


def test_a_capture_without_a_rest_pose_faces_forwards(data: Path) -> None:
    """Hips and shoulders of a dance in a suit, whose zero pose is a row of bones, are across its neutral pose."""
    dance = clip(data / "humans/rokoko_jesse_dance.bvh")
    neutral = find_neutral_pose(dance.skeleton, dance.motion)
    assert (neutral.origin, neutral.level) == ("motion", True)
    still = Motion(skeleton=dance.skeleton, fps=30.0, root=np.zeros((1, 3)), rotations=neutral.local[None])
    for part in ("UpLeg", "Arm"):
        left, right = (fk(still)[f"{side}{part}"][0] for side in ("Left", "Right"))
        across = (left - right) / np.linalg.norm(left - right)
        assert across[0] > np.cos(np.radians(2.0)), part
