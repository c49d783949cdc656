"""Real FBX files: joint counts, the library's own skinning, and walks onto their characters."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy import fk, read, retarget, write
from understudy.base.quaternion import exp, multiply
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import skinned
from understudy.io.fbx import document

pytest.importorskip("ufbx")

FILES = {
    "maya_human_ik_7400_binary.fbx": (62, 0, 0),
    "maya_kenney_character_7700_binary.fbx": (46, 13, 1),
    "blender_279_sausage_7400_binary.fbx": (3, 1, 1),
    "maya_character_7500_ascii.fbx": (62, 0, 0),
    "100style_character.fbx": (23, 5, 0),
}
"""Joints, ends and meshes."""

COUNT = """
import os, sys
import ufbx
scene = ufbx.load_file(sys.argv[1])
print(len(scene.bones), flush=True)
os._exit(0)
"""
"""Bones as the library counts them; joints may have one more, a root that is none."""

SKIN = """
import ctypes, gc, os, sys
import numpy as np
import ufbx
gc.disable()
def keep(thing):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing
scene = keep(ufbx.load_file(sys.argv[1]))
stack = keep(keep(scene.anim_stacks)[int(sys.argv[2])])
anim, out = keep(stack.anim), []
for frame in range(int(sys.argv[3])):
    posed = keep(ufbx.evaluate_scene(scene, anim, stack.time_begin + frame / 24.0, evaluate_skinning=True))
    mesh = keep(keep(posed.meshes)[0])
    assert not mesh.skinned_is_local
    out.append([(v.x, v.y, v.z) for v in keep(keep(mesh.skinned_position).values)])
np.save(sys.argv[4], np.array(out))
os._exit(0)
"""
"""Vertices as the library skins them, at 24 frames a second."""


@pytest.mark.parametrize("name", FILES)
def test_every_file_loads(data: Path, name: str) -> None:
    path = data / "fbx_usd" / name
    clip = read(path)
    assert (clip.skeleton.num_joints, len(clip.skeleton.ends), len(clip.meshes)) == FILES[name]
    done = subprocess.run([sys.executable, "-c", COUNT, str(path)], capture_output=True, check=True, text=True)
    roots = clip.skeleton.num_joints + len(clip.skeleton.ends) - int(done.stdout)
    assert roots == (1 if "kenney" in name else 0)
    assert clip.up == "Y"
    assert clip.unit == pytest.approx(1.0 if "ik" in name or "sausage" in name else 0.01)


@pytest.mark.parametrize("name", [name for name in FILES if "maya_human" in name or "ascii" in name or "100" in name])
def test_people_are_as_tall_as_people(data: Path, name: str) -> None:
    skeleton = read(data / "fbx_usd" / name).skeleton
    heights = np.concatenate([skeleton.rest_world[0], skeleton.rest_ends])[:, 1]
    assert 1.5 < np.ptp(heights) < 1.8


@pytest.mark.parametrize(
    ("name", "clip"),
    [
        ("maya_kenney_character_7700_binary.fbx", "Take 001"),
        ("blender_279_sausage_7400_binary.fbx", "Skeleton|Base"),
        ("blender_279_sausage_7400_binary.fbx", "Skeleton|Spin"),
        ("blender_279_sausage_7400_binary.fbx", "Skeleton|Wiggle"),
    ],
)
def test_skinning_is_that_of_the_library(data: Path, name: str, clip: str, tmp_path: Path) -> None:
    path = data / "fbx_usd" / name
    found = read(path, clip=clip)
    assert found.motion is not None
    assert found.motion.name == clip
    frames, number = found.motion.num_frames, found.clips.index(clip)
    command = [sys.executable, "-c", SKIN, str(path), str(number), str(frames), str(tmp_path / "skin.npy")]
    subprocess.run(command, capture_output=True, check=True)
    wanted = np.load(tmp_path / "skin.npy") * found.unit
    mine = skinned(found.meshes[0], found.motion)
    assert mine.shape == wanted.shape
    assert np.abs(mine - wanted).max() < 2e-5
    if clip != "Skeleton|Base":
        assert np.ptp(mine, axis=0).max() > 0.1


def test_a_character_of_maya_is_the_same_in_text_and_binary(data: Path) -> None:
    text = read(data / "fbx_usd" / "maya_character_7500_ascii.fbx").skeleton
    binary = read(data / "fbx_usd" / "maya_human_ik_7400_binary.fbx").skeleton
    assert text.names == binary.names
    assert np.abs(text.rest_world[0] - binary.rest_world[0]).max() < 1e-4


TARGETS = {
    "maya_human_ik_7400_binary.fbx": ("Character1_LeftToeBase", "Character1_RightToeBase"),
    "maya_kenney_character_7700_binary.fbx": ("LeftToes", "RightToes"),
    "100style_character.fbx": ("BVH:LeftToe", "BVH:RightToe"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_walk_onto_a_character_walks(data: Path, name: str) -> None:
    source, target = read(data / "cmu_bvh" / "02_01.bvh"), read(data / "fbx_usd" / name)
    assert source.motion is not None
    walk = source.motion[1:]
    result = retarget(walk, target.skeleton)
    before, after = fk(walk), fk(result.motion)
    feet = [target.skeleton.joint(toe) for toe in TARGETS[name]]
    theirs = [source.skeleton.joint(toe) for toe in ("LeftToeBase", "RightToeBase")]
    # The feet take turns as they do in the source, and go the way its feet go.
    ahead = [np.diff(pose.positions[:, toes, 2], axis=1)[:, 0] for pose, toes in ((before, theirs), (after, feet))]
    assert np.corrcoef(*ahead)[0, 1] > 0.97
    heights = after.positions[:, feet, 1]
    rest = target.skeleton.rest_world[0][feet, 1].min()
    assert abs(float(heights.min(axis=1).min()) - rest) < 0.05


def swing(skeleton: Skeleton) -> Motion:
    """A motion in which every joint turns about every axis and the root travels."""
    rng = np.random.default_rng(4)
    phase = np.linspace(0, 4, 9)[:, None, None]
    turns = 0.4 * np.sin(phase + rng.uniform(0, 6, (1, skeleton.num_joints, 3)))
    rest = np.broadcast_to(skeleton.rest, (9, skeleton.num_joints, 4))
    root = skeleton.offsets[0] + np.linspace(0, 1, 9)[:, None] * np.array([0.1, 0.0, 0.8])
    return Motion(skeleton=skeleton, fps=24.0, root=root, rotations=multiply(rest, exp(turns)), name="swing")


@pytest.mark.parametrize("name", FILES)
def test_a_motion_goes_into_every_file_and_all_else_is_kept(data: Path, name: str, tmp_path: Path) -> None:
    clip = read(data / "fbx_usd" / name)
    motion = swing(clip.skeleton)
    notes = write(replace(clip, motion=motion), tmp_path / name)
    assert not any("a new file is written" in note for note in notes)
    back = read(tmp_path / name)
    assert back.motion is not None
    assert back.motion.num_frames == motion.num_frames
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 5e-5
    assert back.clips == ("swing", *clip.clips)
    assert [mesh.num_vertices for mesh in back.meshes] == [mesh.num_vertices for mesh in clip.meshes]
    for mesh, other in zip(clip.meshes, back.meshes):
        assert np.abs(skinned(mesh, motion) - skinned(other, back.motion)).max() < 1e-4
    before, after = (document.parse((folder / name).read_bytes()) for folder in (data / "fbx_usd", tmp_path))
    kept = {part.name: part for part in after.root.children}["Objects"].children
    numbers = {item.value(0) for item in kept}
    objects = before.top("Objects")
    assert objects is not None
    lost = {item.name for item in objects.children if item.value(0) not in numbers}
    # Constant curves of scales that joints inherit from now on.
    assert lost <= ({"AnimationCurveNode"} if "human_ik" in name else set())
