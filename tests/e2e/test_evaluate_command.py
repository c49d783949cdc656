"""`evaluate` on the command line: the table, JSON, exit codes, files of other programs, and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from understudy import mirror, read, samples, write
from understudy.app.cli import cli
from understudy.figure.motion import rest_motion


def run(*arguments: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")


def done(*arguments: str | Path) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    done("samples", "walk", "-o", folder / "walk.bvh")
    walk = read(folder / "walk.bvh").motion
    assert walk is not None
    write(replace(walk, root=walk.root - np.array([0.0, 0.02, 0.0])), folder / "sunk.bvh")
    drift = walk.times[:, None] * np.array([0.1, 0.0, 0.0])
    write(replace(walk, root=walk.root + drift), folder / "slides.bvh")
    write(mirror(walk), folder / "mirrored.bvh")
    write(rest_motion(walk.skeleton, num_frames=walk.num_frames), folder / "frozen.bvh")
    return folder


def row(text: str, title: str) -> str:
    """The line of a metric in the table and those that continue it, as one."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"  {title}  "))
    rest = []
    for line in lines[first + 1 :]:
        if not line.startswith("    "):
            break
        rest.append(line.strip())
    return " ".join([" ".join(lines[first].split()), *rest])


def test_a_clean_file_is_good_in_every_row(clips: Path) -> None:
    result = done("evaluate", clips / "walk.bvh", "--source", "sample:walk")
    assert result.stdout.startswith(f"{clips / 'walk.bvh'}: 151 frames at 30 a second, against sample:walk\n")
    assert result.stdout.splitlines()[1] == "verdict: good"
    assert "hint:" not in result.stdout
    for title in ("contacts kept", "floor", "foot skate", "joint limits", "similarity", "smoothness"):
        assert row(result.stdout, title).startswith(f"{title} good")
    assert "not measured: no constraints are given" in row(result.stdout, "goal reached")
    assert all(len(line) <= 100 for line in result.stdout.splitlines()[1:])
    assert result.stderr == ""


def test_defects_are_in_their_rows(clips: Path) -> None:
    sunk = done("evaluate", clips / "sunk.bvh", "--source", clips / "walk.bvh")
    assert row(sunk.stdout, "floor").startswith("floor bad the body sinks 2")
    assert sunk.stdout.splitlines()[1].startswith("verdict: bad (")
    assert "hint: a floor at another height" in " ".join(sunk.stdout.split())
    slides = done("evaluate", clips / "slides.bvh", "--source", clips / "walk.bvh")
    assert row(slides.stdout, "foot skate").startswith("foot skate bad")
    alone = done("evaluate", clips / "sunk.bvh", "--floor", "0")
    assert "bad the body sinks 2" in row(alone.stdout, "floor")


def test_unusable_motions_exit_with_one(clips: Path) -> None:
    for name, message in (
        ("frozen", "the result stands still while the source moves"),
        ("mirrored", "the result is mirrored: its left does what the source's right does"),
    ):
        result = run("evaluate", clips / f"{name}.bvh", "--source", clips / "walk.bvh")
        assert result.exit_code == 1
        assert f"failed: {message}" in result.stderr
        assert "failed: unusable" in result.stdout
    alone = run("evaluate", clips / "frozen.bvh", "--json")
    assert alone.exit_code == 1
    assert json.loads(alone.stdout)["failures"] == ["the result stands still: nothing in it moves"]


def test_nan_exits_with_one(clips: Path, tmp_path: Path) -> None:
    text = (clips / "walk.bvh").read_text().splitlines()
    first = next(i for i, line in enumerate(text) if line.startswith("Frame Time")) + 5
    text[first] = " ".join(["nan", *text[first].split()[1:]])
    bad = tmp_path / "nan.bvh"
    bad.write_text("\n".join(text) + "\n")
    result = run("evaluate", bad)
    assert result.exit_code == 1
    assert result.stderr.startswith("error:")
    assert "nan" in result.stderr


def test_json_is_all_there_is_on_stdout(clips: Path) -> None:
    data = json.loads(done("evaluate", clips / "sunk.bvh", "--source", clips / "walk.bvh", "--json").stdout)
    assert data["file"] == str(clips / "sunk.bvh")
    assert data["usable"] is True
    assert data["verdict"] == data["metrics"]["floor"]["verdict"] == "bad"
    assert data["metrics"]["floor"]["figures"]["added_depth"]["value"] == pytest.approx(0.02, abs=5e-4)
    assert "curves" not in data["metrics"]["floor"]
    more = json.loads(done("evaluate", clips / "sunk.bvh", "--json", "--curves").stdout)
    assert len(more["metrics"]["foot_skate"]["curves"]["sliding_speed"]["values"]) == 151


def test_another_structure_with_a_map(clips: Path, tmp_path: Path) -> None:
    done("retarget", "sample:walk", "sample:other", "-o", tmp_path / "other.bvh")
    done("map", "sample:walk", tmp_path / "other.bvh", "-o", tmp_path / "map.toml")
    by_map = done("evaluate", tmp_path / "other.bvh", "--source", "sample:walk", "--map", tmp_path / "map.toml")
    suggested = done("evaluate", tmp_path / "other.bvh", "--source", clips / "walk.bvh")
    for result in (by_map, suggested):
        for title in ("contacts kept", "floor", "foot skate", "similarity"):
            assert row(result.stdout, title).startswith(f"{title} good"), row(result.stdout, title)


def test_wrong_use(clips: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (["evaluate"], "RESULT"),
        (["evaluate", clips / "walk.bvh", "--map", "map.toml"], "need --source"),
        (["evaluate", clips / "walk.bvh", "--source-unit", "cm"], "need --source"),
        (["evaluate", "sample:wlak"], "There is no sample motion `wlak`; nearest: `walk`"),
        (["evaluate", clips / "walk.bvh", "--floor", "nan"], "floor's height in metres"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, (arguments, result.stderr)
        assert message in result.stderr
    missing = run("evaluate", clips / "none.bvh")
    assert missing.exit_code == 1
    assert "there is no such file" in missing.stderr
    write(samples.character("adult"), tmp_path / "adult.glb")
    still = run("evaluate", tmp_path / "adult.glb")
    assert still.exit_code == 1
    assert "a character without motion" in still.stderr


def test_help_ends_in_an_example() -> None:
    result = done("evaluate", "--help")
    assert result.stdout.rstrip().rpartition("\n\n")[2].strip().startswith("Example: understudy evaluate ")


def test_help_does_not_import_numpy() -> None:
    code = (
        "import sys\nfrom understudy.app.cli import cli\n"
        "try:\n    cli(['evaluate', '--help'])\nexcept SystemExit:\n    pass\nassert 'numpy' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_scaled_file_without_a_unit_is_read_in_its_source_s(clips: Path, tmp_path: Path) -> None:
    """The unit of a child's file would be guessed as another one, by which it is an adult that floats."""
    walk = samples.motion("walk").motion
    write(walk, tmp_path / "walk.bvh", unit="cm")
    done("retarget", tmp_path / "walk.bvh", "--scale", 0.28, "-o", tmp_path / "small.bvh", "--unit", "cm")
    result = done("evaluate", tmp_path / "small.bvh", "--source", tmp_path / "walk.bvh", "--json")
    assert "read in the unit of" in result.stderr
    assert json.loads(result.stdout)["metrics"]["floor"]["verdict"] == "good"
    given = done("evaluate", tmp_path / "small.bvh", "--source", tmp_path / "walk.bvh", "--unit", "cm", "--json")
    assert "read in the unit of" not in given.stderr
    assert json.loads(given.stdout)["metrics"] == json.loads(result.stdout)["metrics"]
    same = done("evaluate", clips / "walk.bvh", "--source", tmp_path / "walk.bvh")
    assert "read in the unit of" not in same.stderr
