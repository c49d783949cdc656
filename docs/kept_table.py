"""Prints, as Markdown, what of a character is kept in each format, and where its joints are when the file is read.

    python docs/kept_table.py [--data FOLDER]

Every character file of the folder, and a VRM model of each version as the tests make them, gets a made-up motion and is
written as FBX, glTF, USD, BVH and VRM: a VRM model into its own file, any other human as a VRM animation. The files are
read again by this library (FBX by ufbx), and FBX, glTF, USD and BVH by Blender too where UNDERSTUDY_BLENDER names a
Python that has it. `tests/real/test_kept_real.py` checks that docs/formats.md holds this table.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import UnderstudyError
from understudy.base.quaternion import exp, from_axis_angle, multiply, rotate
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip, read, write

HOME = Path(__file__).resolve().parents[1]
FOLDERS = ("fbx_usd", "gltf", "animals", "humans", "bvh_conformance", "robots")
CHARACTERS = (".fbx", ".glb", ".gltf", ".usdz", ".usda", ".vrm", ".xml", ".urdf")
LEFT_OUT = ("usd_lbs.baked.usda",)
"""Files without a skeleton."""
FORMATS = {"FBX": ".fbx", "glTF": ".glb", "USD": ".usdz", "BVH": ".bvh", "VRM": ".vrm"}
IMPORTERS = {"FBX": "fbx_new", "glTF": "gltf", "USD": "usd", "BVH": "bvh"}
HUMAN = {
    "hips",
    "head",
    "left_upper_leg",
    "right_upper_leg",
    "left_upper_arm",
    "right_upper_arm",
    "left_hand",
    "right_hand",
}
"""Roles that a body needs to be written as a VRM animation here."""
ANIMALS = ("Fox.glb",)
"""Bodies with the parts of a human that are none."""
IMAGES = {
    "image": "images", "normal_image": "images of normals", "emission_image": "images of emission",
    "roughness_image": "images of roughness", "occlusion_image": "images of occlusion",
}  # fmt: skip
"""By the field of a material: what it is called in the table."""
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
    ):
        if any(has(look) for look in looks):
            parts.append(word if sum(map(has, new)) >= sum(map(has, looks)) else f"-{word}")
    for field, word in IMAGES.items():
        images = [{getattr(part, field) for look in each for part in look.materials} - {b""} for each in (looks, new)]
        if images[0]:
            parts.append(word if images[0] <= images[1] else f"-{word}")
    shaped = [sum(len(mesh.shapes) for mesh in clip.meshes) for clip in (before, after)]
    if shaped[0]:
        parts.append("blend shapes" if shaped[1] >= shaped[0] else "-blend shapes")
    others = [name for name in before.clips if name != NAME and name not in before.empty_clips]
    if others:
        parts.append("other clips" if set(others) <= set(after.clips) else "-other clips")
    # A VRM animation has the main bones alone, whatever the character.
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


def characters(data: Path, folder: Path) -> list[Path]:
    """Every character: those of the data, and VRM models, which are made."""
    files = [path for name in FOLDERS for path in sorted((data / name).iterdir())]
    found = [path for path in files if path.suffix in CHARACTERS or (path.suffix == ".bvh" and is_character(path))]
    sys.path.insert(0, str(HOME))
    models = import_module("tests.vrm_models")
    made = [folder / f"vrm_{version}.vrm" for version in (0, 1)]
    for version, path in enumerate(made):
        path.write_bytes(models.model(version, anonymous=False, backwards=version == 0))
    return [path for path in (*found, *made) if path.name not in LEFT_OUT]


def is_character(file: Path) -> bool:
    """Whether a BVH file holds a body and no motion."""
    try:
        clip = read(file)
    except UnderstudyError:
        return False
    return clip.skeleton.num_joints > 1 and (clip.motion is None or clip.motion.num_frames == 1)


def write_and_read(clip: Clip, motion: Motion, out: Path, row: Row) -> Path | None:
    """Write a motion and read it again; returns the file, or None if the format is none for this character."""
    suffix = out.suffix
    if suffix == ".vrm" and clip.format != "vrm":
        if row.file in ANIMALS or not set(roles(clip.skeleton)) >= HUMAN:
            return None
        out, suffix = out.with_suffix(".vrma"), ".vrma"
    try:
        write(replace(clip, motion=motion), out, unit="cm" if suffix == ".bvh" else None)
        back = read(out, clip=None if suffix == ".bvh" else NAME, unit="cm" if suffix == ".bvh" else None)
    except UnderstudyError as error:
        row.kept = error.message
        return None
    if suffix == ".vrma":
        row.kept, row.error = "motion of the main bones", main_bone_turn(motion, back)
    else:
        row.kept, row.error = kept(clip, back), distance(motion, back)
    return out


def main_bone_turn(motion: Motion, back: Clip) -> float:
    """Metres that the hips of an animation are off, at most. Other joints of the animation hang from them."""
    assert back.motion is not None
    ours, theirs = (fk(each).positions[:, roles(each.skeleton)["hips"]] for each in (motion, back.motion))
    forward = facing(rest_motion(motion.skeleton))[0]
    turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), -np.arctan2(forward[0], forward[2]))
    return float(np.linalg.norm(rotate(turn, ours) - theirs, axis=-1).max())


def rows_of(data: Path, folder: Path) -> list[Row]:
    """Write and read everything."""
    rows: list[Row] = []
    jobs: list[tuple[Row, Motion, dict[str, Any]]] = []
    check = blender_check()
    for file in characters(data, folder):
        clip = read(file)
        motion = swing(clip.skeleton)
        for title, suffix in FORMATS.items():
            row = Row(file=file.name, format=title)
            rows.append(row)
            out = write_and_read(clip, motion, folder / f"{file.stem}_out{suffix}", row)
            if out is not None and title in IMPORTERS:
                first = check.FIRST_FRAME[IMPORTERS[title]]
                job = {
                    "file": str(out), "importer": IMPORTERS[title], "clip": "", "fps": int(FPS), "unit": 0.01,
                    "up": "Y" if title != "BVH" else read(out, unit="cm").up,
                    "frames": [first + frame for frame in range(FRAMES)],
                }  # fmt: skip
                # Blender takes a glTF file in metres, whatever size that makes.
                unit = clip.unit if (title, clip.format) in (("glTF", "gltf"), ("glTF", "vrm")) else 1.0
                named = {"clip": NAME} if title in ("FBX", "glTF") else {}
                jobs.append((row, motion, job | {"metres": unit} | named))
    python = check.blender()
    for (row, motion, job), answer in zip(
        jobs, check._ask(python, [job for *_, job in jobs], folder)["jobs"] if python else []
    ):
        # USD has letters, digits and underscores in names.
        places = {plain(name): value for name, value in answer.get("places", {}).items()}
        joints = [joint for joint, name in enumerate(motion.skeleton.names) if plain(name) in places]
        if len(joints) > 0.5 * motion.skeleton.num_joints:
            names = [plain(motion.skeleton.names[joint]) for joint in joints]
            theirs = job["metres"] * np.array([places[name] for name in names]).transpose(1, 0, 2)
            row.blender = float(np.linalg.norm(fk(motion).positions[:, joints] - theirs, axis=-1).max())
    return rows


def plain(name: str) -> str:
    """A name without what some formats have no letters for."""
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def millimetres(metres: float) -> str:
    return "-" if not np.isfinite(metres) else f"{1000 * metres:.4f}"


def table(rows: list[Row]) -> str:
    """The table, as Markdown."""
    lines = [f"| character | {' | '.join(FORMATS)} |", f"| --- |{' --- |' * len(FORMATS)}"]
    for start in range(0, len(rows), len(FORMATS)):
        part = rows[start : start + len(FORMATS)]
        cells = [
            f"{row.kept}; {millimetres(row.error)} / {millimetres(row.blender)}" if row.kept else "-" for row in part
        ]
        lines.append(f"| {part[0].file} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("UNDERSTUDY_DATA", "data")))
    with tempfile.TemporaryDirectory() as folder:
        print(table(rows_of(parser.parse_args().data, Path(folder))))


if __name__ == "__main__":
    main()
