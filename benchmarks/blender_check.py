"""The same files read by Blender and by this library: how far apart every joint is, at frames over the whole clip.

Needs a Python with Blender as a package (`pip install bpy`, in an environment of its own), named by the variable
UNDERSTUDY_BLENDER, and the real data. Files that the library wrote itself are among them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io import Clip, read, write

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("UNDERSTUDY_DATA", HERE.parents[1] / "shared" / "data"))
SAMPLES = 9
"""Frames that are compared, from the first to the last."""
FIRST_FRAME = {"bvh": 1, "gltf": 0, "usd": 0, "fbx": 1, "fbx_new": 1}
"""Where each of Blender's importers puts the time 0."""
WALK = "cmu_bvh/02_01.bvh"


EXPORTS: dict[str, dict[str, Any]] = {
    "Y up": {"add_leaf_bones": True},
    "Z up": {"axis_forward": "Y", "axis_up": "Z"},
    "X up": {"axis_forward": "Y", "axis_up": "X"},
    "-Z up": {"axis_forward": "-Y", "axis_up": "-Z"},
    "unit in the scale": {"apply_scale_options": "FBX_SCALE_UNITS"},
    "all in the scale": {"apply_scale_options": "FBX_SCALE_ALL"},
    "axes in the bones": {"bake_space_transform": True},
}
"""Ways to export FBX from Blender, in words and as it takes them."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file to read twice."""

    file: str
    """In the folder of real data; or what the walk is written as first."""
    importer: str
    clip: str = ""
    written: bool = False
    """Whether the library writes it first."""
    until: int | None = None
    """The last frame to look at, for importers that leave out the end of a clip where nothing moves."""
    keys_only: bool = False
    """Whether only the first and the last frame are looked at: between keys that are far apart Blender turns joints
    by normalised quaternions, which is not the way that glTF and USD demand."""


CASES = (
    Case(file=WALK, importer="bvh"),
    Case(file="humans/pybvh_test1_mixed_orders.bvh", importer="bvh"),
    Case(file="gltf/CesiumMan.glb", importer="gltf"),
    Case(file="gltf/RiggedFigure.glb", importer="gltf", keys_only=True),
    Case(file="walk.glb", importer="gltf", written=True),
    Case(file="fbx_usd/RiggedFigure.usdz", importer="usd", keys_only=True),
    Case(file="walk.usda", importer="usd", written=True),
    Case(file="walk.usdc", importer="usd", written=True),
    Case(file="walk.usdz", importer="usd", written=True),
    Case(file="walk.fbx", importer="fbx", written=True),
    Case(file="walk.fbx", importer="fbx_new", written=True),
    Case(file="fbx_usd/maya_kenney_character_7700_binary.fbx", importer="fbx", until=16),
    Case(file="fbx_usd/maya_kenney_character_7700_binary.fbx", importer="fbx_new", until=16),
    Case(file="fbx_usd/blender_279_sausage_7400_binary.fbx", importer="fbx", clip="Skeleton|Spin"),
    Case(file="fbx_usd/blender_279_sausage_7400_binary.fbx", importer="fbx", clip="Skeleton|Wiggle"),
    Case(file="fbx_usd/maya_human_ik_7400_binary.fbx", importer="fbx"),
    Case(file="fbx_usd/100style_character.fbx", importer="fbx_new"),
    Case(file="fbx_usd/maya_character_7500_ascii.fbx", importer="fbx_new"),
)


@dataclass(frozen=True, kw_only=True)
class Found:
    """How far apart the two readings of a file are."""

    case: Case
    joints: int
    """Joints that both have."""
    missing: int
    """Joints of ours that Blender does not have."""
    frames: int
    worst: float
    """Metres between the two places of a joint, at most."""
    problem: str = ""


def blender() -> str | None:
    """The Python that has Blender, if one is named."""
    named = os.environ.get("UNDERSTUDY_BLENDER")
    return named if named and Path(named).is_file() else None


def compare(python: str, cases: tuple[Case, ...] = CASES) -> tuple[str, list[Found]]:
    """Read every case twice; returns Blender's version and what was found."""
    with tempfile.TemporaryDirectory() as folder:
        clips, jobs = [], []
        for case in cases:
            path = Path(folder) / case.file if case.written else DATA / case.file
            if case.written:
                write(read(DATA / WALK), path)
            clip = read(path, clip=case.clip or None)
            clips.append(clip)
            jobs.append(_job(case, clip, path))
        told = _ask(python, jobs, Path(folder))
    return told["version"], [_compared(*each) for each in zip(cases, clips, jobs, told["jobs"])]


def exported(python: str) -> dict[str, float]:
    """How far off the walk is, in metres, when Blender has made FBX of it, by the settings it was exported with."""
    motion = read(DATA / WALK).motion
    assert motion is not None
    # Blender counts frames at whole rates only.
    motion = replace(motion, fps=120.0)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "walk.glb"
        write(motion, source)
        paths = {title: str(Path(folder) / f"walk{i}.fbx") for i, title in enumerate(EXPORTS)}
        exports = {paths[title]: settings for title, settings in EXPORTS.items()}
        job = {"file": str(source), "fps": 120, "last": motion.num_frames - 1, "exports": exports}
        _ask(python, [job], Path(folder))
        return {title: _off(read(path), motion) for title, path in paths.items()}


def _off(clip: Clip, motion: Motion) -> float:
    if clip.motion is None or clip.motion.num_frames != motion.num_frames:
        return float("inf")
    mine = [clip.skeleton.joint(name) for name in motion.skeleton.names]
    apart = np.linalg.norm(fk(clip.motion).positions[:, mine] - fk(motion).positions, axis=-1)
    return float(apart.max())


def _ask(python: str, jobs: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Let Blender work through jobs."""
    asked, answered = folder / "jobs.json", folder / "answer.json"
    asked.write_text(json.dumps(jobs), encoding="utf-8")
    command = [python, str(HERE / "blender_inside.py"), str(asked), str(answered)]
    # What is on our path is for our Python, not for Blender's.
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run(command, check=True, capture_output=True, timeout=600, env=settings)
    return json.loads(answered.read_text(encoding="utf-8"))


def _job(case: Case, clip: Clip, path: Path) -> dict[str, Any]:
    """What Blender is to do; a frame of ours is given as one of its own, perhaps between two."""
    fps = round(clip.motion.fps) if clip.motion else 24
    mine = _frames(case, clip)
    scale = fps / clip.motion.fps if clip.motion else 1.0
    first = FIRST_FRAME[case.importer] + fps * getattr(clip.layout, "start", 0.0)
    # BVH is imported frame by frame, and USD by time codes, whatever the rate; the others by seconds.
    scale = 1.0 if case.importer in ("bvh", "usd") else scale
    return {
        "file": str(path), "importer": case.importer, "fps": fps, "unit": clip.unit, "up": clip.up, "clip": case.clip,
        "mine": mine, "frames": [first + frame * scale for frame in mine],
    }  # fmt: skip


def _frames(case: Case, clip: Clip) -> list[int]:
    last = clip.motion.num_frames - 1 if clip.motion else 0
    last = last if case.until is None else min(case.until, last)
    return sorted({round(frame) for frame in np.linspace(0, last, 2 if case.keys_only else SAMPLES)})


def _compared(case: Case, clip: Clip, job: dict[str, Any], told: dict[str, Any]) -> Found:
    if "error" in told:
        return Found(case=case, joints=0, missing=0, frames=0, worst=float("nan"), problem=told["error"])
    names = [name for name in clip.skeleton.names if name in told["places"]]
    theirs = np.array([told["places"][name] for name in names]).transpose(1, 0, 2)
    ours = fk(clip.motion).positions[job["mine"]] if clip.motion else clip.skeleton.rest_world[0][None]
    apart = np.linalg.norm(ours[:, [clip.skeleton.joint(name) for name in names]] - theirs, axis=-1)
    return Found(
        case=case,
        joints=len(names),
        missing=clip.skeleton.num_joints - len(names),
        frames=len(job["frames"]),
        worst=float(apart.max()),
    )


def main() -> None:
    """Print a table of what was found."""
    python = blender()
    if python is None or not DATA.is_dir():
        print("Not run: UNDERSTUDY_BLENDER names no Python with `bpy`, or there is no real data.")
        return
    version, found = compare(python)
    print(f"Blender {version}. Joints that only one side has (a root above the bones, ends) are not compared.\n")
    print("| file | importer | joints | frames | furthest apart |\n|---|---|---|---|---|")
    for each in found:
        file = f"{Path(each.case.file).name}{' (written here)' if each.case.written else ''}"
        file += f", `{each.case.clip}`".replace("|", "\\|") if each.case.clip else ""
        worst = each.problem or f"{1000.0 * each.worst:.4f} mm"
        print(f"| {file} | {each.case.importer} | {each.joints} | {each.frames} | {worst} |")
    print("\nThe walk, made into FBX by Blender from our glTF, and read back here:\n")
    print("| exported with | furthest apart |\n|---|---|")
    for title, off in exported(python).items():
        print(f"| {title} | {1000.0 * off:.4f} mm |")


if __name__ == "__main__":
    sys.exit(main())
