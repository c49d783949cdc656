"""Acclaim files of the CMU motion capture database, against the BVH files that others made of them.

The BVHs (cgspeed's conversion) have an added reference pose as frame 0, so AMC frame k, counted from 1, is BVH frame
k, counted from 0. They lost the length of the thorax and of the wrists: whatever hangs from these is shifted.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.quaternion import Array, angle_between, exp, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind
from understudy.io import Clip, read, write
from understudy.io.acclaim import amc
from understudy.io.clip import UNITS

FRAMES = {"02_01": 343, "11_01": 597, "131_03": 1102, "93_04": 506}

LOWER_BODY = {
    "Hips": "root", "LHipJoint": "lhipjoint", "RHipJoint": "rhipjoint", "LowerBack": "lowerback",
    "LeftUpLeg": "lfemur", "LeftLeg": "ltibia", "LeftFoot": "lfoot", "LeftToeBase": "ltoes",
    "RightUpLeg": "rfemur", "RightLeg": "rtibia", "RightFoot": "rfoot", "RightToeBase": "rtoes",
    "Spine": "upperback", "Spine1": "thorax",
}  # fmt: skip
"""BVH joints and the bones that start there."""

ABOVE_THORAX = {
    "Neck": "lowerneck", "Neck1": "upperneck", "Head": "head",
    "LeftShoulder": "lclavicle", "LeftArm": "lhumerus", "LeftForeArm": "lradius", "LeftHand": "lwrist",
    "RightShoulder": "rclavicle", "RightArm": "rhumerus", "RightForeArm": "rradius", "RightHand": "rwrist",
}  # fmt: skip

BEYOND_WRIST = {"LeftFingerBase": "lhand", "LThumb": "lthumb", "RightFingerBase": "rhand", "RThumb": "rthumb"}

FILE_UNITS = 1e-4
"""What the manifest promises; both files are rounded, the BVH to 4 decimals."""


@pytest.fixture(scope="module", params=sorted(FRAMES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def motion_of(clip: Clip) -> Motion:
    assert clip.motion is not None
    return clip.motion


def read_acclaim(data: Path, name: str, **options: object) -> Clip:
    return read(data / "cmu_asfamc" / f"{name}.amc", **options)  # type: ignore[arg-type]


def differences(data: Path, name: str, bones: dict[str, str], unit: float) -> Array:
    """(F, N, 3) Acclaim's places less BVH's, the same frames."""
    clip = read_acclaim(data, name, unit=unit)
    bvh = read(data / "cmu_bvh" / f"{name}.bvh", unit=unit, up="Y")
    ours, theirs = fk(motion_of(clip)), fk(motion_of(bvh))
    return ours.points(list(bones.values())) - theirs.points(list(bones))[1:]


def test_the_files_load_whole(data: Path, name: str) -> None:
    clip = read_acclaim(data, name)
    motion = motion_of(clip)
    assert (motion.num_frames, motion.fps) == (FRAMES[name], 120.0)
    assert clip.skeleton.num_joints == 31
    assert len(clip.skeleton.ends) == 7
    assert len(clip.layout.lines) == 29
    assert sum(len(bone.dof) for bone in clip.layout.bones) == 56
    assert clip.unit == pytest.approx(UNITS["cmu"])
    assert clip.notes == ("The file gives no frame rate; 120 frames per second are assumed.",)
    assert clip.dropped == ()


def test_both_ways_of_reading_agree(data: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = read_acclaim(data, name).layout
    monkeypatch.setattr(amc, "_read_uniform_frames", lambda *_: None)
    slow = read_acclaim(data, name).layout
    assert slow.lines == quick.lines
    assert np.array_equal(slow.values, quick.values)


def test_the_skeleton_file_comes_back(data: Path, name: str, tmp_path: Path) -> None:
    clip = read(data / "cmu_asfamc" / f"{name.split('_')[0]}.asf")
    assert write(clip, tmp_path / "again.asf") == ()
    again = read(tmp_path / "again.asf")
    assert (again.skeleton.names, again.skeleton.kinds) == (clip.skeleton.names, clip.skeleton.kinds)
    for what in ("parents", "offsets", "rest", "axes", "limits", "rest_ends"):
        assert np.array_equal(getattr(again.skeleton, what), getattr(clip.skeleton, what)), what


def test_the_skeleton_alone(data: Path, name: str) -> None:
    clip = read(data / "cmu_asfamc" / f"{name.split('_')[0]}.asf")
    assert clip.motion is None
    kinds = clip.skeleton.kinds
    counts = [kinds.count(kind) for kind in (JointKind.FREE, JointKind.BALL, JointKind.UNIVERSAL, JointKind.HINGE)]
    assert counts == [1, 10, 8, 10]
    knee = clip.skeleton.joint("ltibia")
    assert np.rad2deg(clip.skeleton.limits[knee, 0]) == pytest.approx([-10.0, 170.0])
    height = np.ptp(np.concatenate([clip.skeleton.rest_world[0], clip.skeleton.rest_ends])[:, 1])
    assert 1.3 < height < 1.8


def test_hips_legs_and_spine_are_where_the_bvh_has_them(data: Path, name: str) -> None:
    assert np.linalg.norm(differences(data, name, LOWER_BODY, 1.0), axis=-1).max() < FILE_UNITS
    unit = UNITS["cmu"]
    assert np.linalg.norm(differences(data, name, LOWER_BODY, unit), axis=-1).max() < FILE_UNITS * unit


def test_the_bvh_lost_the_thorax(data: Path, name: str) -> None:
    apart = differences(data, name, ABOVE_THORAX, 1.0)
    clip = read_acclaim(data, name, unit=1.0)
    places = fk(motion_of(clip)).points(["thorax", "lowerneck"])
    thorax = places[:, 1] - places[:, 0]
    assert np.linalg.norm(thorax, axis=-1).min() > 1.9
    assert np.linalg.norm(thorax, axis=-1).max() < 2.3
    # Everything above sits lower by that very bone, and by nothing else.
    assert np.linalg.norm(apart - thorax[:, None], axis=-1).max() < FILE_UNITS


def test_the_bvh_lost_the_wrists(data: Path, name: str) -> None:
    clip = read_acclaim(data, name, unit=1.0)
    apart = differences(data, name, BEYOND_WRIST, 1.0)
    pose = fk(motion_of(clip))
    bones = [["lwrist", "lhand"], ["lwrist", "lthumb"], ["rwrist", "rhand"], ["rwrist", "rthumb"]]
    wrists = np.stack([np.diff(pose.points(pair), axis=1)[:, 0] for pair in bones], axis=1)
    thorax = np.diff(pose.points(["thorax", "lowerneck"]), axis=1)
    assert np.linalg.norm(wrists, axis=-1).min() > 1.4
    assert np.linalg.norm(apart - wrists - thorax, axis=-1).max() < FILE_UNITS


def test_writing_back_is_exact(data: Path, name: str, tmp_path: Path) -> None:
    clip = read_acclaim(data, name)
    assert write(clip, tmp_path / "again.amc") == ()
    again = read(tmp_path / "again.amc", skeleton=data / "cmu_asfamc" / f"{name.split('_')[0]}.asf")
    assert np.array_equal(again.layout.values, clip.layout.values)
    assert np.array_equal(motion_of(again).rotations, motion_of(clip).rotations)
    assert np.array_equal(motion_of(again).root, motion_of(clip).root)


def test_an_edited_motion_keeps_the_files_own_branch(data: Path, name: str, tmp_path: Path) -> None:
    """Every joint nudged by a billionth: the angles are all counted anew and must be the file's, not 360 away."""
    clip = read_acclaim(data, name)
    motion = motion_of(clip)
    nudged = replace(motion, rotations=multiply(motion.rotations, exp(np.full(3, 1e-9))))
    told = write(replace(clip, motion=nudged), tmp_path / "nudged.amc")
    again = read(tmp_path / "nudged.amc", skeleton=data / "cmu_asfamc" / f"{name.split('_')[0]}.asf")
    assert told == ()
    apart = np.abs(again.layout.values - clip.layout.values)
    assert np.mean(apart[:, 3:] > 0.0) > 0.9
    assert apart.max() < 1e-4
    assert angle_between(motion_of(again).rotations, motion.rotations).max() < 1e-8


def test_without_the_files_numbers_the_same_motion_is_written(data: Path, name: str, tmp_path: Path) -> None:
    clip = read_acclaim(data, name)
    part = motion_of(clip)[7:]
    write(replace(clip, motion=part), tmp_path / "part.amc")
    again = read(tmp_path / "part.amc", skeleton=data / "cmu_asfamc" / f"{name.split('_')[0]}.asf")
    assert angle_between(motion_of(again).rotations, part.rotations).max() < 1e-8
    assert motion_of(again).root == pytest.approx(part.root, abs=1e-9)
    assert np.abs(np.diff(again.layout.values[:, 3:], axis=0)).max() < 180.0
