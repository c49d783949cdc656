"""A motion goes into the USD file that the character came from: names, materials, layers and other clips stay."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.quaternion import exp, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import read, write

Sdf = pytest.importorskip("pxr.Sdf")
Usd = pytest.importorskip("pxr.Usd")

ARM = """#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Z"
    timeCodesPerSecond = 24
    subLayers = [@./parts/look.usda@]
)
def SkelRoot "Hero" (
    kind = "component"
    customData = {
        string studio = "ours"
    }
) {
    double3 xformOp:scale = (2, 2, 2)
    uniform token[] xformOpOrder = ["xformOp:scale"]
    def Skeleton "Bones" {
        uniform token[] joints = ["Shoulder", "Shoulder/Elbow", "Shoulder/Elbow/Hand"]
        uniform matrix4d[] bindTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,70,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(15,0,70,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(27,0,70,1)) ]
        uniform matrix4d[] restTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,70,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(15,0,0,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(12,0,0,1)) ]
        rel skel:animationSource = </Hero/Bend>
    }
    def SkelAnimation "Bend" {
        uniform token[] joints = ["Shoulder/Elbow"]
        float3[] translations = [(15, 0, 0)]
        quatf[] rotations.timeSamples = { 0: [(1, 0, 0, 0)], 24: [(0.70710678, 0, 0, 0.70710678)] }
        half3[] scales = [(1, 1, 1)]
    }
}
"""
LOOK = '#usda 1.0\nover "Hero" {\n    def Material "Skin" {\n        float inputs:shine = 0.25\n    }\n}\n'


def save(folder: Path) -> Path:
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "look.usda").write_text(LOOK)
    (folder / "arm.usda").write_text(ARM)
    return folder / "arm.usda"


def swing(skeleton: Skeleton, fps: float = 30.0) -> Motion:
    rng = np.random.default_rng(3)
    phase = np.linspace(0, 3, 11)[:, None, None]
    turns = 0.5 * np.sin(phase + rng.uniform(0, 6, (1, skeleton.num_joints, 3)))
    root = skeleton.offsets[0] + np.linspace(0, 1, 11)[:, None] * np.array([0.1, 0.0, 0.5])
    return Motion(skeleton=skeleton, fps=fps, root=root, rotations=multiply(skeleton.rest, exp(turns)), name="swing it")


@pytest.mark.parametrize(("fps", "name"), [(30.0, "out/b.usda"), (12.0, "in/c.usdc"), (24.0, "in/arm.usda")])
def test_a_motion_goes_into_the_characters_own_file(tmp_path: Path, fps: float, name: str) -> None:
    clip = read(save(tmp_path / "in"))
    motion = swing(clip.skeleton, fps)
    (tmp_path / "out").mkdir()
    notes = write(replace(clip, motion=motion), tmp_path / name)
    elsewhere = name.startswith("out")
    assert notes == (("it refers to 1 files of the character's folder, which must stay there",) if elsewhere else ())
    stage = Usd.Stage.Open(str(tmp_path / name))
    hero = stage.GetPrimAtPath("/Hero")
    assert (hero.GetCustomDataByKey("studio"), hero.GetMetadata("kind")) == ("ours", "component")
    # The layer beside the file is still used, from another folder too.
    assert stage.GetPrimAtPath("/Hero/Skin").GetAttribute("inputs:shine").Get() == 0.25
    if elsewhere:
        # Files outside the folder of a file are not read here.
        return
    back, old = read(tmp_path / name), read(tmp_path / name, clip="Bend")
    assert back.clips == ("swing it", "Bend")
    assert back.motion is not None
    assert (back.motion.fps, back.motion.num_frames) == (fps, 11)
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 1e-6
    assert old.motion is not None
    assert clip.motion is not None
    assert np.abs(fk(old.motion).positions - fk(clip.motion).positions).max() < 1e-9


def test_a_motion_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    path = save(tmp_path / "in")
    for factor in (1.0, 2.0):
        clip = read(path)
        motion = swing(clip.skeleton)
        write(replace(clip, motion=replace(motion, root=factor * motion.root)), path)
    back = read(path)
    assert back.clips == ("swing it", "Bend")
    assert back.motion is not None
    assert np.allclose(back.motion.root, 2.0 * motion.root, atol=1e-6)


def test_all_files_of_a_package_stay(tmp_path: Path) -> None:
    (tmp_path / "arm.usda").write_text(ARM.replace("    subLayers = [@./parts/look.usda@]\n", ""))
    (tmp_path / "skin.png").write_bytes(b"\x89PNG\r\n" + bytes(100))
    package = Sdf.ZipFileWriter.CreateNew(str(tmp_path / "arm.usdz"))
    for name in ("arm.usda", "skin.png"):
        package.AddFile(str(tmp_path / name), name if name == "arm.usda" else f"textures/{name}")
    package.Save()
    clip = read(tmp_path / "arm.usdz")
    motion = swing(clip.skeleton)
    assert write(replace(clip, motion=motion), tmp_path / "new.usdz") == ()
    with zipfile.ZipFile(tmp_path / "new.usdz") as archive:
        assert archive.namelist() == ["arm.usda", "textures/skin.png"]
        assert archive.read("textures/skin.png") == (tmp_path / "skin.png").read_bytes()
    back = read(tmp_path / "new.usdz")
    assert back.clips == ("swing it", "Bend")
    assert back.motion is not None
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 1e-6


def test_what_cannot_be_changed_is_written_anew_with_the_reason(tmp_path: Path) -> None:
    moving = ARM.replace(
        "double3 xformOp:scale = (2, 2, 2)", "double3 xformOp:scale.timeSamples = {0: (2,2,2), 9: (1,1,1)}"
    )
    (tmp_path / "arm.usda").write_text(moving.replace("    subLayers = [@./parts/look.usda@]\n", ""))
    clip = read(tmp_path / "arm.usda")
    notes = write(replace(clip, motion=swing(clip.skeleton)), tmp_path / "new.usda")
    assert notes[0] == (
        "the character's own file could not be changed (its skeleton is carried by an animation); a new file is written"
    )
    clip = read(save(tmp_path / "in"))
    notes = write(replace(clip, motion=swing(clip.skeleton)), tmp_path / "new.usdz")
    assert "(it refers to other files (./parts/look.usda), and a package has all in it)" in notes[0]
    clip = read(tmp_path / "new.usdz")
    notes = write(replace(clip, motion=swing(clip.skeleton)), tmp_path / "plain.usda")
    assert "(it is a package and plain.usda is none)" in notes[0]


def test_a_file_without_others_is_packed_with_all_that_it_holds(tmp_path: Path) -> None:
    (tmp_path / "arm.usda").write_text(ARM.replace("    subLayers = [@./parts/look.usda@]\n", ""))
    clip = read(tmp_path / "arm.usda")
    motion = replace(swing(clip.skeleton), name="Swing")
    assert write(replace(clip, motion=motion), tmp_path / "new.usdz") == ()
    back = read(tmp_path / "new.usdz")
    assert back.motion is not None
    assert set(back.clips) == {"Swing", *clip.clips}
    assert len(clip.clips) > 0
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 1e-6
    assert [mesh.name for mesh in back.meshes] == [mesh.name for mesh in clip.meshes]
