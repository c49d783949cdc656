"""glTF on the command line: files in and out, animations by name, motions onto characters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from understudy import samples
from understudy.app.cli import cli
from understudy.figure.kinematics import fk
from understudy.io import read, write


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")


@pytest.fixture(scope="module")
def hero(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A character file with two animations, Walk and Stroll."""
    folder = tmp_path_factory.mktemp("gltf")
    walk = samples.motion("walk").motion
    write(replace(walk[:15], name="Walk"), folder / "hero.glb")
    clip = read(folder / "hero.glb")
    assert clip.motion is not None
    write(replace(clip, motion=replace(clip.motion[::2], name="Stroll")), folder / "hero.glb")
    return folder / "hero.glb"


def test_info_lists_animations_and_meshes(hero: Path) -> None:
    result = run("info", hero)
    assert result.exit_code == 0, result.stderr
    assert "clips      Stroll (shown here), Walk" in result.stdout
    assert "meshes     bones (" in result.stdout
    data = json.loads(run("info", hero, "--json", "--clip", "Walk").stdout)
    assert (data["clips"], data["clip"], data["frames"]) == (["Stroll", "Walk"], "Walk", 15)
    assert data["meshes"][0]["name"] == "bones"
    assert data["unit"] == {"metres": 1.0, "reason": "m: by definition of glTF"}


def test_an_animation_that_is_not_there_is_refused(hero: Path, tmp_path: Path) -> None:
    result = run("convert", hero, tmp_path / "out.bvh", "--clip", "Wlak")
    assert result.exit_code == 2
    assert "holds no animation `Wlak`; nearest: `Walk`" in result.stderr
    assert "hint: `understudy info" in result.stderr
    result = run("convert", "--clip", "Walk", tmp_path / "none.bvh", tmp_path / "out.bvh")
    assert result.exit_code == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", ["--clip", "#"])
def test_convert_takes_the_animation_that_is_named(how: str, hero: Path, tmp_path: Path) -> None:
    named = (f"{hero}#Walk",) if how == "#" else (hero, "--clip", "Walk")
    result = run("convert", *named[:1], tmp_path / "walk.bvh", *named[1:], "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["frames"] == 15
    assert "BVH holds no meshes: one is left out" in data["not_kept"]
    assert "only one motion is written; the file's other animations are left out, 1 of them" in data["not_kept"]
    walk = samples.motion("walk").motion
    clip = read(tmp_path / "walk.bvh", unit="cm")
    assert clip.motion is not None
    joints = [clip.skeleton.joint(name) for name in walk.skeleton.names]
    assert np.abs(fk(clip.motion).positions[:, joints] - fk(walk).positions[:15]).max() < 1e-5


def test_a_motion_is_retargeted_into_the_characters_own_file(hero: Path, tmp_path: Path) -> None:
    out = tmp_path / "hero_step.glb"
    result = run("retarget", "sample:walk", hero, "-o", out, "--frames", ":45", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["not_kept"] == []
    assert report["unmet"] == []
    clip = read(out)
    assert clip.clips == ("walk", "Stroll", "Walk")
    assert clip.motion is not None
    assert clip.motion.num_frames == 45
    assert clip.meshes[0].num_vertices == read(hero).meshes[0].num_vertices
    for name in ("Stroll", "Walk"):
        kept, was = read(out, clip=name).motion, read(hero, clip=name).motion
        assert kept is not None
        assert was is not None
        assert np.array_equal(kept.rotations, was.rotations)


def test_an_animation_of_a_character_is_a_source_too(hero: Path, tmp_path: Path) -> None:
    out = tmp_path / "child.glb"
    result = run("retarget", f"{hero}#Walk", "sample:child", "-o", out, "--json")
    assert result.exit_code == 0, result.stderr
    clip = read(out)
    assert clip.motion is not None
    assert clip.motion.num_frames == 15
    assert len(clip.clips) == 1
    assert clip.meshes[0].name == "skin"
    result = run("retarget", f"{hero}#Run", "sample:child", "-o", out)
    assert result.exit_code == 2
    assert "holds no animation `Run`" in result.stderr
