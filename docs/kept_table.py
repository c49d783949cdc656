"""Prints, as Markdown, what of a character is kept in each format, and where its joints are when the file is read.

    python docs/kept_table.py [--data FOLDER]

Every character file of the folder gets a made-up motion and is written as FBX, glTF, USD and BVH. The files are read
again by this library, and FBX, glTF and USD by Blender too where UNDERSTUDY_BLENDER names a Python that has it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import UnderstudyError
from understudy.base.quaternion import exp, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip, read, write

HOME = Path(__file__).resolve().parents[1]
FOLDERS = ("fbx_usd", "gltf", "animals")
CHARACTERS = (".fbx", ".glb", ".gltf", ".usdz", ".usda", ".vrm")
LEFT_OUT = ("usd_lbs.baked.usda",)
"""Files without a skeleton."""
FORMATS = {"FBX": ".fbx", "glTF": ".glb", "USD": ".usdz", "BVH": ".bvh"}
IMPORTERS = {"FBX": "fbx_new", "glTF": "gltf", "USD": "usd"}
NAME, FRAMES, FPS = "made_here", 13, 24.0


@dataclass(eq=False, kw_only=True)
class Row:
    """A character in a format."""

    file: str
    format: str
    kept: str = ""
    error: float = float("nan")
    """Metres between a joint as written and as read by this library, at most."""
    blender: float = float("nan")
    """The same for Blender."""


def swing(skeleton: Skeleton) -> Motion:
    """A motion in which every joint turns and the root travels."""
    rng = np.random.default_rng(1)
    phase = np.linspace(0, 4, FRAMES)[:, None, None]
    turns = 0.3 * np.sin(phase + rng.uniform(0, 6, (1, skeleton.num_joints, 3)))
    rest = np.broadcast_to(skeleton.rest, (FRAMES, skeleton.num_joints, 4))
    root = skeleton.offsets[0] + np.linspace(0, 1, FRAMES)[:, None] * np.array([0.2, 0.0, 1.0])
    return Motion(skeleton=skeleton, fps=FPS, root=root, rotations=multiply(rest, exp(turns)), name=NAME)


def kept(before: Clip, after: Clip) -> str:
    """What of a character is not in the file that was written, in words; `all` if everything is."""
    parts = []
    looks = [mesh.look for mesh in before.meshes if mesh.look is not None]
    new = [mesh.look for mesh in after.meshes if mesh.look is not None]
    if before.meshes:
        parts.append("mesh" if len(after.meshes) >= len(before.meshes) else "-mesh")
    for word, has in (
        ("normals", lambda look: look.normals is not None),
        ("UVs", lambda look: look.uvs is not None),
        ("materials", lambda look: bool(look.materials)),
        ("images", lambda look: any(material.image for material in look.materials)),
    ):
        if any(has(look) for look in looks):
            parts.append(word if sum(map(has, new)) >= sum(map(has, looks)) else f"-{word}")
    others = [name for name in before.clips if name != NAME]
    if others:
        parts.append("other clips" if set(others) <= set(after.clips) else "-other clips")
    parts.append("names" if set(before.skeleton.names) <= set(after.skeleton.names) else "-names")
    lost = [part[1:] for part in parts if part.startswith("-")]
    return f"not {', '.join(lost)}" if lost else "all"


def distance(motion: Motion, back: Clip) -> float:
    """Metres between the joints of a motion and those of a clip, at most."""
    if back.motion is None or back.motion.num_frames != motion.num_frames:
        return float("inf")
    joints = [back.skeleton.joint(name) for name in motion.skeleton.names]
    return float(np.linalg.norm(fk(back.motion).positions[:, joints] - fk(motion).positions, axis=-1).max())


def blender_check() -> Any:
    spec = importlib.util.spec_from_file_location("blender_check", HOME / "benchmarks" / "blender_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["blender_check"] = module
    spec.loader.exec_module(module)
    return module


def rows_of(data: Path, folder: Path) -> list[Row]:
    """Write and read everything."""
    rows: list[Row] = []
    jobs: list[tuple[Row, Motion, dict[str, Any]]] = []
    check = blender_check()
    files = [path for name in FOLDERS for path in sorted((data / name).iterdir()) if path.suffix in CHARACTERS]
    for file in (path for path in files if path.name not in LEFT_OUT):
        clip = read(file)
        motion = swing(clip.skeleton)
        for title, suffix in FORMATS.items():
            row = Row(file=file.name, format=title)
            rows.append(row)
            out = folder / f"{file.stem}{suffix}"
            try:
                write(replace(clip, motion=motion), out)
                back = read(out, clip=None if suffix == ".bvh" else NAME, unit="cm" if suffix == ".bvh" else None)
            except UnderstudyError as error:
                row.kept = error.message
                continue
            row.kept, row.error = kept(clip, back), distance(motion, back)
            if title in IMPORTERS:
                first = check.FIRST_FRAME[IMPORTERS[title]]
                job = {
                    "file": str(out), "importer": IMPORTERS[title], "clip": "", "fps": int(FPS), "unit": 1.0, "up": "Y",
                    "frames": [first + frame for frame in range(FRAMES)],
                }  # fmt: skip
                # Blender takes a glTF file in metres, whatever size that makes.
                unit = clip.unit if (title, clip.format) == ("glTF", "gltf") else 1.0
                jobs.append((row, motion, job | {"metres": unit} | ({"clip": NAME} if title != "USD" else {})))
    python = check.blender()
    for (row, motion, job), answer in zip(
        jobs, check._ask(python, [job for *_, job in jobs], folder)["jobs"] if python else []
    ):
        places = answer.get("places", {})
        names = [name for name in motion.skeleton.names if name in places]
        if len(names) > 0.5 * motion.skeleton.num_joints:
            theirs = job["metres"] * np.array([places[name] for name in names]).transpose(1, 0, 2)
            ours = fk(motion).positions[:, [motion.skeleton.joint(name) for name in names]]
            row.blender = float(np.linalg.norm(ours - theirs, axis=-1).max())
    return rows


def millimetres(metres: float) -> str:
    return "-" if not np.isfinite(metres) else f"{1000 * metres:.4f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("UNDERSTUDY_DATA", "data")))
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(parser.parse_args().data, Path(folder))
    print(f"| character | {' | '.join(FORMATS)} |\n| --- |{' --- |' * len(FORMATS)}")
    for start in range(0, len(rows), len(FORMATS)):
        part = rows[start : start + len(FORMATS)]
        cells = [f"{row.kept}; {millimetres(row.error)} / {millimetres(row.blender)}" for row in part]
        print(f"| {part[0].file} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
