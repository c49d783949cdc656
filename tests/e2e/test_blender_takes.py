"""FBX files as Mixamo and its like write them, made through Blender (UNDERSTUDY_BLENDER): the right take is read."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

from understudy import fk, read, samples, write
from understudy.app.cli import cli
from understudy.figure.motion import Motion
from understudy.io import Clip
from understudy.retarget.root_motion import with_root_motion

SCRIPT = Path(__file__).with_name("blender_takes.py")
FRAMES = 40


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk").motion[:FRAMES]


@pytest.fixture(scope="module")
def folder(walk: Motion, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that Blender makes."""
    pytest.importorskip("ufbx")
    python = os.environ.get("UNDERSTUDY_BLENDER", "")
    if not Path(python).is_file():
        pytest.skip("UNDERSTUDY_BLENDER names no Python with the package `bpy`")
    made = tmp_path_factory.mktemp("takes")
    write(walk, made / "walk.glb")
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [python, str(SCRIPT), str(made / "walk.glb"), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=settings, check=False)
    assert done.returncode == 0, done.stderr
    return made


def load_benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPT.parents[2] / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def distance(path: Path | str, walk: Motion, prefix: str = "", scale: float = 1.0) -> float:
    """Metres between the joints of a file and of the walk, at most."""
    clip = read(path)
    assert clip.motion is not None
    assert clip.motion.num_frames == walk.num_frames
    joints = [clip.skeleton.joint(prefix + name) for name in walk.skeleton.names]
    return float(np.abs(fk(clip.motion).positions[:, joints] - scale * fk(walk).positions).max())


def test_an_empty_take_before_the_motion_is_passed_over(folder: Path, walk: Motion) -> None:
    file = folder / "mixamo.fbx"
    clip = read(file)
    assert [name.rpartition("|")[2] for name in clip.clips] == ["Take 001", "Walking"]
    assert clip.motion is not None
    assert clip.motion.name.endswith("Walking")
    assert any("the first that moves joints, is read" in note for note in clip.notes)
    assert distance(file, walk, "mixamorig:") < 1e-4
    # The command names the take, and the result carries plain names if they are asked for.
    out = folder / "plain.glb"
    done = CliRunner().invoke(cli, ["convert", str(file), str(out), "--strip-prefix", "mixamorig:"])
    assert done.exit_code == 0, done.output
    assert distance(out, walk) < 1e-4


def test_of_several_takes_each_can_be_chosen(folder: Path, walk: Motion) -> None:
    file = folder / "several.fbx"
    clip = read(file)
    assert clip.motion is not None
    assert clip.motion.name.endswith("B walk")
    hint = next(note for note in clip.notes if note.startswith("3 animations"))
    assert "several.fbx#Armature|C walk again" in hint
    for take in ("B walk", "C walk again"):
        assert distance(f"{file}#Armature|{take}", walk) < 1e-4
    still = read(f"{file}#Armature|A still")
    assert still.motion is None or np.ptp(fk(still.motion).positions, axis=0).max() < 1e-4
    done = CliRunner().invoke(cli, ["info", str(file), "--clip", "Armature|B"])
    assert done.exit_code != 0
    assert "Armature|B walk" in done.output


def test_takes_of_other_skeletons_are_named(folder: Path, walk: Motion) -> None:
    file = folder / "others.fbx"
    clip = read(file)
    assert any("A lamp` moves no joint of the character" in note for note in clip.notes)
    assert distance(file, walk) < 1e-4


def test_bones_without_a_skin_and_a_scaled_armature_are_read(folder: Path, walk: Motion) -> None:
    clip = read(folder / "scaled.fbx")
    assert clip.skeleton.num_joints == walk.skeleton.num_joints
    assert len(clip.skeleton.ends) > 0
    assert distance(folder / "scaled.fbx", walk, scale=2.0) < 2e-4


ODD = ("turned", "mirrored", "carried", "late", "film_rate", "odd_names", "odd_axes")


@pytest.mark.parametrize("name", ODD)
def test_odd_exports_are_read_as_blender_shows_them_and_written_back(folder: Path, walk: Motion, name: str) -> None:
    clip = read(folder / f"{name}.fbx")
    places = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert clip.motion is not None
    assert set(places) == set(clip.skeleton.names)
    expected = np.stack([places[joint] for joint in clip.skeleton.names], axis=1)
    assert np.abs(fk(clip.motion).positions - expected).max() < 1e-5
    file, motion = write_back(folder, name)
    back = read(file, clip="back")
    assert back.motion is not None
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 1e-5


def write_back(folder: Path, name: str) -> tuple[Path, Motion]:
    """The walk backwards, as another take of the same file."""
    clip = read(folder / f"{name}.fbx")
    assert clip.motion is not None
    frames = np.arange(clip.motion.num_frames)[::-1]
    motion = replace(clip.motion[frames], name="back")
    write(replace(clip, motion=motion), folder / f"{name}_back.fbx")
    return folder / f"{name}_back.fbx", motion


def test_takes_written_back_and_game_roots_are_read_by_blender(folder: Path, walk: Motion) -> None:
    check = load_benchmark("blender_check")
    jobs = []
    files = [write_back(folder, name) for name in ODD]
    for up in ("Y", "Z"):
        game, _, _ = with_root_motion(Clip.of(replace(walk, name="back")))
        write(game, folder / f"game{up}.fbx", up=up)
        assert game.motion is not None
        files.append((folder / f"game{up}.fbx", game.motion))
    for file, motion in files:
        first = check.FIRST_FRAME["fbx_new"]
        frames = [first + frame for frame in range(motion.num_frames)]
        jobs.append({"file": str(file), "importer": "fbx_new", "clip": "back", "fps": 30, "unit": 1.0, "up": "Y",
                     "frames": frames})  # fmt: skip
    answers = check._ask(os.environ["UNDERSTUDY_BLENDER"], jobs, folder)["jobs"]
    for (file, motion), answer in zip(files, answers, strict=True):
        theirs = np.stack([answer["places"][joint] for joint in motion.skeleton.names], axis=1)
        assert np.abs(fk(motion).positions - theirs).max() < 5e-5, file.name
