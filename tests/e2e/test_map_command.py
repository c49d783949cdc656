"""`understudy map` on the command line: the table, JSON, the map file, and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from understudy import samples
from understudy.app.cli import cli
from understudy.correspondence.map_file import read_map


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
    for name in ("walk", "dog_walk"):
        done("samples", name, "-o", folder / f"{name}.bvh", "--seconds", "1")
    return folder


def test_the_table_lists_all_pairs_and_unmatched_bones() -> None:
    result = done("map", "sample:walk", "sample:other")
    assert "source     sample:walk: 22 bones, names: MotionBuilder" in result.stdout
    assert "target     sample:other: 27 bones, names: Unreal" in result.stdout
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert rows["LeftArm"].split()[:3] == ["LeftArm", "upperarm_l", "0.95"]
    assert "LowerBack, Spine, Spine1" in result.stdout
    left = result.stdout.partition("unmatched bones of the target:")[2]
    assert left.split() == ["root,", "lowerarm_twist_01_l,", "lowerarm_twist_01_r"]
    assert "unmatched bones of the source: none" in result.stdout
    assert result.stderr == ""


def test_doubtful_pairs_are_reported() -> None:
    result = done("map", "sample:shark", "sample:adult")
    assert "below 0.6" in result.stderr
    assert "the lowest is TailFin -> LeftUpLeg, RightUpLeg (0.40)" in result.stderr
    assert "below 0.6" not in result.stdout


def test_json_is_all_there_is_on_stdout(tmp_path: Path) -> None:
    data = json.loads(done("map", "sample:walk", "sample:dog", "--json", "-o", tmp_path / "map.toml").stdout)
    assert data["source"] == {"file": "sample:walk", "bones": 22, "names": "MotionBuilder"}
    assert data["root"] == {"source": ["Hips"], "target": ["Hips"]}
    spine = next(pair for pair in data["pairs"] if "Spine" in pair["source"])
    assert spine["target"] == ["Spine", "Spine1", "Spine2", "Chest"]
    assert 0.0 < spine["confidence"] < 1.0
    assert spine["reason"]
    assert "Tail" in data["unmatched"]["target"]


def test_the_written_map_is_what_was_shown(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    shown = json.loads(done("map", "sample:walk", "sample:dog", "--json", "-o", path).stdout)
    read = read_map(path, samples.character("adult"), samples.character("dog"))
    assert [(list(p.source), list(p.target), p.confidence, p.reason) for p in read.pairs] == [
        (p["source"], p["target"], p["confidence"], p["reason"]) for p in shown["pairs"]
    ]
    assert f"{path}: 18 pairs" in done("map", "sample:walk", "sample:dog", "-o", path).stdout


def test_files_and_samples_mix(clips: Path) -> None:
    data = json.loads(done("map", clips / "walk.bvh", clips / "dog_walk.bvh", "--json").stdout)
    same = json.loads(done("map", "sample:walk", "sample:dog_walk", "--json").stdout)
    assert data["pairs"] == same["pairs"]
    data = json.loads(done("map", "sample:dance/follow", clips / "walk.bvh", "--json", "--target-unit", "cm").stdout)
    assert data["pairs"][0]["confidence"] == 1.0


def test_wrong_use(clips: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (["map", "sample:walk"], "TARGET"),
        (["map", "sample:wlak", "sample:dog"], "There is no sample `wlak`; nearest: `walk`"),
        (["map", "sample:walk", "sample:dog", "-o", tmp_path / "map.txt"], "written as .toml"),
        (["map", "sample:dance/nobody", "sample:dog"], "no actor `nobody`"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert message in result.stderr
    missing = run("map", clips / "none.bvh", "sample:dog")
    assert missing.exit_code == 1
    assert "there is no such file" in missing.stderr
    nowhere = run("map", "sample:walk", "sample:dog", "-o", tmp_path / "no" / "map.toml")
    assert nowhere.exit_code == 1
    assert "cannot be written" in nowhere.stderr


def test_bodies_with_nothing_in_common(tmp_path: Path) -> None:
    fork = tmp_path / "fork.bvh"
    joint = "JOINT {0}\n{{\nOFFSET {1}\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{{\nOFFSET 0 10 0\n}}\n}}\n"
    channels = "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
    fork.write_text(
        f"HIERARCHY\nROOT base\n{{\nOFFSET 0 0 0\n{channels}\n{joint.format('one', '0 40 0')}"
        f"{joint.format('two', '30 10 20')}}}\nMOTION\nFrames: 1\nFrame Time: 0.1\n{' '.join(['0'] * 12)}\n"
    )
    result = run("map", "sample:spider", fork, "--target-unit", "cm")
    assert result.exit_code == 1
    assert "Nothing but the root corresponds" in result.stderr
    assert "--map map.toml" in result.stderr


def test_help_ends_in_an_example() -> None:
    result = done("map", "--help")
    assert result.stdout.rstrip().rpartition("\n\n")[2].strip().startswith("Example: understudy map ")
    listed = done("--help").stdout.partition("Commands:")[2]
    assert "\n  map " in listed
    assert "..." not in next(line for line in listed.splitlines() if line.startswith("  map "))


def test_help_does_not_import_numpy() -> None:
    code = (
        "import sys\nfrom understudy.app.cli import cli\n"
        "try:\n    cli(['map', '--help'])\nexcept SystemExit:\n    pass\nassert 'numpy' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
