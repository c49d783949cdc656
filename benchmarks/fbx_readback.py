"""FBX files written here and read again by ufbx, by Blender and by Autodesk's library: how far off every joint is.

    UNDERSTUDY_BLENDER=that/bin/python UNDERSTUDY_DATA=folder python benchmarks/fbx_readback.py

Characters of every format and captures are written as FBX: into the character's own file where that is FBX, as a new
file otherwise. A character that does not move gets a made-up motion. The skins of the first ten characters that have
one are compared vertex by vertex: as we deform them, as ufbx does, as Blender does and as Autodesk's library does, on
which the importers of Unreal and Unity rest. Its converter FBX2glTF comes with `npm install fbx2gltf`, in the
repository or a folder that NODE_PATH names; for it the files are written at 30 frames a second, which it samples.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import blender_check
import numpy as np
from scipy.spatial import cKDTree

from understudy.base.quaternion import exp, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import skinned
from understudy.io import Clip, read, write

CHARACTERS = (
    "fbx_usd/100style_character.fbx", "fbx_usd/blender_279_sausage_7400_binary.fbx",
    "fbx_usd/maya_character_7500_ascii.fbx", "fbx_usd/maya_human_ik_7400_binary.fbx",
    "fbx_usd/maya_kenney_character_7700_binary.fbx", "fbx_usd/RiggedFigure.usdz", "fbx_usd/usd_lbs.usda",
    "gltf/CesiumMan.glb", "gltf/Fox.glb", "gltf/RobotExpressive.glb", "gltf/m2m_human_male.glb",
    "gltf/m2m_rig_human.glb", "gltf/quaternius_man_Casual.glb", "animals/m2m_bird_animated.glb",
    "animals/m2m_fox_animated.glb", "animals/m2m_horse_animated.glb", "animals/m2m_spider_animated.glb",
    "animals/quaternius_Fish1.glb", "animals/quaternius_Husky.glb", "animals/quaternius_Wasp.glb",
)  # fmt: skip
CAPTURES = (
    "cmu_bvh/02_01.bvh", "cmu_bvh/09_01.bvh", "cmu_bvh/13_39.bvh", "cmu_bvh/49_06.bvh", "cmu_bvh/88_01.bvh",
    "cmu_more/49_04.bvh", "cmu_more/90_08.bvh", "humans/rokoko_jesse_dance.bvh", "humans/makehuman_walk1.bvh",
    "humans/pybvh_test1_mixed_orders.bvh", "humans/xsens_like_pybvh_test2.bvh", "animals/dog_run_30fps.bvh",
)  # fmt: skip
SKINS = 10
MAX_FRAMES = 90
"""The longest part of a clip that is written."""
MIN_MOVE_METRES = 1e-3
"""A character whose motion moves no joint by more gets a made-up one."""

UFBX_SKIN = """
import ctypes, gc, os, sys
import numpy as np
import ufbx
gc.disable()
def keep(thing):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing
scene = keep(ufbx.load_file(sys.argv[1]))
stack = keep(keep(scene.anim_stacks)[0])
anim, out = keep(stack.anim), {}
for frame in range(int(sys.argv[2])):
    time = stack.time_begin + frame / float(sys.argv[3])
    posed = keep(ufbx.evaluate_scene(scene, anim, time, evaluate_skinning=True))
    for i, mesh in enumerate(keep(posed.meshes)):
        if len(keep(keep(mesh).skin_deformers)):
            points = [(v.x, v.y, v.z) for v in keep(keep(mesh.skinned_position).values)]
            out.setdefault(str(i), []).append(points)
np.savez(sys.argv[4], **{key: np.array(value) for key, value in out.items()})
os._exit(0)
"""
"""Saves the vertices of the first animation as ufbx deforms them."""


@dataclass(eq=False, kw_only=True)
class Row:
    """How far off a file is when it is read again, in metres, at most."""

    file: str
    joints: int
    frames: int
    ufbx: float = float("nan")
    blender: float = float("nan")
    skin_ufbx: float = float("nan")
    skin_blender: float = float("nan")
    autodesk: float = float("nan")
    skin_autodesk: float = float("nan")


@dataclass(eq=False, kw_only=True)
class Written:
    """A file that was written."""

    row: Row
    path: Path
    clip: Clip
    motion: Motion
    skin: bool


def swing(skeleton: Skeleton) -> Motion:
    """A made-up motion in which every joint turns and the root travels."""
    rng = np.random.default_rng(1)
    phase = np.linspace(0, 4, 24)[:, None, None]
    turns = 0.3 * np.sin(phase + rng.uniform(0, 6, (1, skeleton.num_joints, 3)))
    rest = np.broadcast_to(skeleton.rest, (24, skeleton.num_joints, 4))
    root = skeleton.offsets[0] + np.linspace(0, 1, 24)[:, None] * np.array([0.2, 0.0, 1.0])
    return Motion(skeleton=skeleton, fps=24.0, root=root, rotations=multiply(rest, exp(turns)))


def write_all(folder: Path) -> list[Written]:
    """Write every character and capture as FBX, and read it with ufbx."""
    out, skins = [], 0
    for number, file in enumerate((*CHARACTERS, *CAPTURES)):
        clip = read(blender_check.DATA / file)
        motion = swing(clip.skeleton)
        if clip.motion is not None and np.ptp(fk(clip.motion[:MAX_FRAMES]).positions, axis=0).max() > MIN_MOVE_METRES:
            motion = clip.motion[:MAX_FRAMES]
        # Blender counts frames at whole rates only.
        motion = replace(motion, fps=float(round(motion.fps)), name="made_here")
        path = folder / f"{number:02d}.fbx"
        write(replace(clip, motion=motion), path)
        back = read(path)
        row = Row(file=Path(file).name, joints=motion.skeleton.num_joints, frames=motion.num_frames)
        row.ufbx = blender_check._off(back, motion)
        skin = skins < SKINS and any(len(mesh.triangles) for mesh in clip.meshes)
        skins += skin
        out.append(Written(row=row, path=path, clip=clip, motion=motion, skin=skin))
        if skin:
            row.skin_ufbx = _skin_by_ufbx(out[-1], back.unit)
    return out


def _skin_by_ufbx(written: Written, unit: float) -> float:
    saved = written.path.with_suffix(".ufbx.npz")
    numbers = [str(written.motion.num_frames), str(written.motion.fps)]
    subprocess.run(
        [sys.executable, "-c", UFBX_SKIN, str(written.path), *numbers, str(saved)], check=True, capture_output=True
    )
    theirs = {key: unit * values for key, values in np.load(saved).items()}
    return _apart(written, theirs)


def _apart(written: Written, theirs: dict[str, np.ndarray]) -> float:
    """Metres between the vertices of our meshes and of others that have as many vertices, at most."""
    worst, left = 0.0, dict(theirs)
    for mesh in written.clip.meshes:
        ours = skinned(mesh, written.motion)
        same = [name for name, values in left.items() if values.shape == ours.shape]
        if not same:
            return float("inf")
        distances = {name: float(np.linalg.norm(left[name] - ours, axis=-1).max()) for name in same}
        name = min(distances, key=distances.__getitem__)
        left.pop(name)
        worst = max(worst, distances[name])
    return worst


def ask_blender(python: str, cases: list[Written], folder: Path) -> None:
    """Fill in what Blender reads."""
    first = blender_check.FIRST_FRAME["fbx_new"]
    jobs: list[dict[str, Any]] = [
        {
            "file": str(case.path), "importer": "fbx_new", "clip": "made_here", "fps": int(case.motion.fps),
            "unit": 1.0, "up": "Y", "frames": [first + frame for frame in range(case.motion.num_frames)],
        } | ({"skins": str(case.path.with_suffix(".npz"))} if case.skin else {})
        for case in cases
    ]  # fmt: skip
    for case, answer in zip(cases, blender_check._ask(python, jobs, folder)["jobs"]):
        places = answer.get("places", {})
        names = [name for name in case.motion.skeleton.names if name in places]
        if len(names) < 0.5 * case.motion.skeleton.num_joints:
            continue
        theirs = np.array([places[name] for name in names]).transpose(1, 0, 2)
        ours = fk(case.motion).positions[:, [case.motion.skeleton.joint(name) for name in names]]
        case.row.blender = float(np.linalg.norm(ours - theirs, axis=-1).max())
        if case.skin:
            case.row.skin_blender = _apart(case, dict(np.load(case.path.with_suffix(".npz"))))


def find_converter() -> Path | None:
    """FBX2glTF for Linux, which holds Autodesk's library; None if it is not installed."""
    here = Path(__file__).resolve().parents[1] / "node_modules"
    for folder in (here, *(Path(each) for each in os.environ.get("NODE_PATH", "").split(os.pathsep) if each)):
        file = folder / "fbx2gltf" / "bin" / "Linux" / "FBX2glTF"
        if sys.platform == "linux" and file.is_file():
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
            return file
    return None


def convert(converter: Path, file: Path) -> Path:
    """The glTF file that Autodesk's library and its converter make of an FBX file."""
    out = file.with_suffix(".sdk.glb")
    command = [str(converter), "--binary", "--anim-framerate", "bake30", "--input", str(file), "--output", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return out


def ask_autodesk(converter: Path, case: Written) -> None:
    """Fill in what Autodesk's library reads."""
    motion = replace(case.motion, fps=30.0)
    path = case.path.with_name(f"{case.path.stem}_30.fbx")
    write(replace(case.clip, motion=motion), path)
    back = read(convert(converter, path), clip="made_here", unit="m")
    assert back.motion is not None
    images = [
        sum(len(material.images) for mesh in clip.meshes if mesh.look for material in mesh.look.materials)
        for clip in (case.clip, back)
    ]
    if images[0] > images[1]:
        raise ValueError(f"{case.row.file}: Autodesk's library has found {images[1]} of {images[0]} images")
    names = [name for name in motion.skeleton.names if name in back.skeleton.index]
    if back.motion.num_frames != motion.num_frames or len(names) < 0.5 * motion.skeleton.num_joints:
        case.row.autodesk = float("inf")
        return
    theirs = fk(back.motion).positions[:, [back.skeleton.joint(name) for name in names]]
    ours = fk(motion).positions[:, [motion.skeleton.joint(name) for name in names]]
    case.row.autodesk = float(np.linalg.norm(ours - theirs, axis=-1).max())
    if case.skin:
        case.row.skin_autodesk = _nearest(case, back)


def _nearest(case: Written, back: Clip) -> float:
    """Metres between the vertices of meshes that were split and ordered anew and ours, at most, at five frames."""
    assert back.motion is not None
    frames = np.linspace(0, case.motion.num_frames - 1, 5).astype(int)
    theirs, ours = (
        [skinned(mesh, motion[frames]).transpose(1, 0, 2).reshape(mesh.num_vertices, -1) for mesh in clip.meshes]
        for clip, motion in ((back, back.motion), (case.clip, case.motion))
    )
    if not theirs:
        return float("inf")
    tree, other = cKDTree(np.concatenate(ours)), cKDTree(np.concatenate(theirs))
    used = np.concatenate([part[np.unique(mesh.triangles)] for part, mesh in zip(ours, case.clip.meshes)])
    return float(max(tree.query(np.concatenate(theirs))[0].max(), other.query(used)[0].max()))


def compare(python: str | None, converter: Path | None = None) -> list[Row]:
    """Write everything, and read it again; the figures of a program are missing where it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        cases = write_all(Path(folder))
        if python is not None:
            ask_blender(python, cases, Path(folder))
        for case in cases if converter is not None else ():
            ask_autodesk(converter, case)
    return [case.row for case in cases]


def main() -> None:
    """Print the table."""
    print("| file | joints | frames | joints: ufbx | Blender | Autodesk | skin: ufbx | Blender | Autodesk |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in compare(blender_check.blender(), find_converter()):
        figures = (row.ufbx, row.blender, row.autodesk, row.skin_ufbx, row.skin_blender, row.skin_autodesk)
        cells = " | ".join(f"{1000.0 * value:.4f}" if np.isfinite(value) else "-" for value in figures)
        print(f"| {row.file} | {row.joints} | {row.frames} | {cells} |")


if __name__ == "__main__":
    main()
