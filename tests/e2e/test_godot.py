"""Characters and clips imported and played by the engine Godot, where Debian's `godot3-server` is installed."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import fk, read, samples, write
from understudy.figure.motion import Motion
from understudy.io import Clip
from understudy.retarget.root_motion import make_loop, with_root_motion

SCRIPT = Path(__file__).with_name("godot_places.gd")
SERVERS = ("godot3-server", "godot-server", "godot-headless")
FRAMES = (0, 7, 30, 61)
PROJECT = 'config_version=4\n[application]\nconfig/name="test"\n'
SETTINGS = {
    "animation/fps=15": "animation/fps=30",
    "animation/optimizer/enabled=true": "animation/optimizer/enabled=false",
}
"""What is changed of the importer's settings: it samples at 15 frames a second by itself, and leaves out keys."""


@pytest.fixture(scope="module")
def server() -> str:
    found = next((path for name in SERVERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs the server of Godot 3: on Debian, `apt install godot3-server`")
    return found


def ask(server: str, folder: Path, motions: dict[str, Motion]) -> list[dict[str, Any]]:
    """What the engine plays of files that were written into a folder."""
    (folder / "project.godot").write_text(PROJECT)
    shutil.copy(SCRIPT, folder / "places.gd")
    jobs = [
        {"file": file, "clip": motion.name, "times": [frame / motion.fps for frame in FRAMES]}
        for file, motion in motions.items()
    ]
    (folder / "jobs.json").write_text(json.dumps(jobs))
    settings = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    run = functools.partial(subprocess.run, capture_output=True, timeout=300, env=settings, check=False)
    run([server, "--path", str(folder), "--editor", "--quit"])
    for chosen in folder.glob("*.gl*.import"):
        text = chosen.read_text()
        for old, new in SETTINGS.items():
            assert old in text
            text = text.replace(old, new)
        chosen.write_text(text)
    shutil.rmtree(folder / ".import")
    run([server, "--path", str(folder), "--editor", "--quit"])
    run([server, "--path", str(folder), "-s", "places.gd"])
    return list(json.loads((folder / "answer.json").read_text()))


def plain(name: str) -> str:
    """A name as the engine's importer leaves it: it separates words its own way."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def test_the_engine_plays_what_was_written(server: str, tmp_path: Path) -> None:
    walk = replace(samples.motion("walk").motion, name="walk")
    loop, _ = make_loop(walk)
    game, _, _ = with_root_motion(Clip.of(replace(loop, name="loop")), "Root")
    assert game.motion is not None
    motions = {"walk.glb": walk, "game.glb": game.motion, "text.gltf": walk}
    for file, motion in motions.items():
        write(game if file == "game.glb" else motion, tmp_path / file)
    # A motion that goes into the character's own file.
    character = read(tmp_path / "walk.glb")
    assert character.motion is not None
    back = replace(character.motion[np.arange(walk.num_frames)[::-1]], name="back")
    write(replace(character, motion=back), tmp_path / "own.glb")
    motions["own.glb"] = back
    answers = ask(server, tmp_path, motions)
    for (file, motion), answer in zip(motions.items(), answers, strict=True):
        bones = {plain(name): bone for bone, name in enumerate(answer["names"])}
        theirs = np.array(answer["places"])[:, [bones[plain(name)] for name in motion.skeleton.names]]
        assert np.abs(fk(motion).positions[list(FRAMES)] - theirs).max() < 1e-5, file
        assert answer["length"] == pytest.approx((motion.num_frames - 1) / motion.fps, abs=1e-5)
    # The bone that the engine takes the path from has a track of its own.
    assert any(track.lower().endswith(":root") for track in answers[1]["tracks"])
