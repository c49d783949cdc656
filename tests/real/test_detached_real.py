"""Real rigs whose feet hang from the ground: a robot and a husky walk with their feet on their legs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.quaternion import angle_between
from understudy.correspondence.detached import attach, change_parents, find_detached_feet
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io import Clip
from understudy.retarget.driver import retarget

RIGS = {
    "gltf/RobotExpressive.glb": {"Foot.L": "LowerLeg.L", "Foot.R": "LowerLeg.R"},
    "animals/quaternius_Husky.glb": {
        "IKFrontLeg.L": "FrontLowerLeg.L", "IKFrontLeg.R": "FrontLowerLeg.R",
        "IKBackLeg.L": "BackLowerLeg.L", "IKBackLeg.R": "BackLowerLeg.R",
    },
}  # fmt: skip


def walk(data: Path, name: str) -> Motion:
    """Two seconds of a walk for a human or a dog."""
    if name.startswith("animals"):
        return samples.motion("dog_walk").motion[:60]
    motion = understudy.read(data / "cmu_bvh" / "02_01.bvh").motion
    assert motion is not None
    return motion[1::4][:60]


def gaps(motion: Motion, feet: dict[str, str]) -> np.ndarray:
    """(F, N) metres from where each foot begins to where its leg ends."""
    skeleton, pose = motion.skeleton, fk(motion)
    ends = [next(end for end in skeleton.ends if end.joint == bone) for bone in feet.values()]
    return np.linalg.norm(pose.positions[:, [skeleton.index[foot] for foot in feet]] - pose.points(ends), axis=-1)


@pytest.mark.parametrize("name", RIGS)
def test_feet_apart_are_found_and_no_others(data: Path, name: str) -> None:
    assert find_detached_feet(understudy.read(data / name).skeleton) == RIGS[name]


def test_no_other_file_has_any(data: Path) -> None:
    for folder in ("gltf", "animals", "humans", "robots"):
        for path in sorted((data / folder).iterdir()):
            if path.relative_to(data).as_posix() not in RIGS:
                assert find_detached_feet(understudy.read(path).skeleton) == {}, path.name


@pytest.mark.parametrize("name", RIGS)
def test_the_rigs_own_clips_survive(data: Path, name: str) -> None:
    clip = understudy.read(data / name)
    assert clip.motion is not None
    back = change_parents(change_parents(clip.motion, attach(clip.skeleton)), clip.skeleton)
    np.testing.assert_allclose(fk(back).positions, fk(clip.motion).positions, atol=1e-9)
    assert angle_between(fk(back).rotations, fk(clip.motion).rotations).max() < 1e-6


@pytest.mark.parametrize("name", RIGS)
def test_feet_stay_on_the_legs(data: Path, name: str, tmp_path: Path) -> None:
    """In the library, and in a file written and read again; without it the feet stay behind."""
    clip, source = understudy.read(data / name), walk(data, name)
    assert clip.motion is not None
    hung = attach(clip.skeleton)
    found = retarget(source, hung, target_motion=change_parents(clip.motion, hung))
    assert not found.unmet, found.result
    motion = change_parents(found.motion, clip.skeleton)
    rest = max(np.ptp(clip.skeleton.rest_world[0], axis=0))
    assert gaps(motion, RIGS[name]).max() < 0.002 * rest
    understudy.write(Clip.of(motion), tmp_path / "walk.glb")
    again = understudy.read(tmp_path / "walk.glb").motion
    assert again is not None
    assert gaps(again, RIGS[name]).max() < 0.002 * rest
    plain = retarget(source, clip.skeleton, target_motion=clip.motion)
    assert not plain.unmet, plain.result
    assert plain.motion.skeleton.names == clip.skeleton.names
    assert np.array_equal(plain.motion.skeleton.parents, clip.skeleton.parents)
    assert gaps(plain.motion, RIGS[name]).max() < 0.002 * rest
    left = replace(plain.motion, offsets=None)
    assert gaps(left, RIGS[name]).max() > 0.05 * rest


def test_a_rig_with_feet_apart_moves_another_with_its_feet(data: Path) -> None:
    """The husky's paws play the fox's, it stands as it stands at rest, and the fox stays as narrow as it is."""
    fox = understudy.read(data / "animals/m2m_fox-dog.glb").skeleton
    found = retarget(data / "animals/quaternius_Husky.glb", data / "animals/m2m_fox-dog.glb")
    alignment = found.prepared.plan.assignments[0].alignment if found.prepared.plan is not None else None
    assert alignment is not None
    pairs = {pair.source[0]: pair.target[0] for pair in alignment.correspondence.pairs}
    assert pairs["IKBackLeg.L"] == "Back_Leg_Foot_L"
    assert pairs["IKFrontLeg.R"] == "Front_Leg_Ankle_R"
    assert alignment.neutral[0].origin == "rest pose"
    pose, rest = fk(found.motion), fk(Motion(skeleton=fox, fps=1.0, root=np.zeros((1, 3)), rotations=fox.rest[None]))
    for part in ("Back_Leg_Upper", "Front_Leg_Upper"):
        widths = [np.linalg.norm(p[f"{part}_L"] - p[f"{part}_R"], axis=1) for p in (pose, rest)]
        assert widths[0].max() < 1.3 * widths[1][0], part
    feet = [joint for joint, name in enumerate(fox.names) if "_Foot_" in name]
    assert pose.positions[:, feet, 1].min() > -0.02
