"""What pipelines need of the command line: streams, quiet, one kind of error, nothing overwritten unasked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from understudy import samples
from understudy.app.cli import cli
from understudy.io import formats, read, write

RUN = [sys.executable, "-c", "from understudy.app.cli import main; main()"]


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.bvh"
    write(samples.motion("walk").motion[:20], path)
    return path


def test_files_go_through_stdin_and_stdout(walk: Path, tmp_path: Path) -> None:
    command = [*RUN, "convert", "-", "-", "--from", "bvh", "--to", "glb"]
    done = subprocess.run(command, input=walk.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "out.glb").write_bytes(done.stdout)
    motion = read(tmp_path / "out.glb").motion
    assert motion is not None
    assert motion.num_frames == 20


def test_a_stream_needs_a_format(walk: Path) -> None:
    result = CliRunner().invoke(cli, ["convert", str(walk), "-"])
    assert result.exit_code == 2
    assert result.output.startswith("error: `-` has no ending to tell its format by: add --to FORMAT")


def test_quiet_leaves_notes_out_and_keeps_the_result(walk: Path, tmp_path: Path) -> None:
    arguments = ["convert", str(walk), str(tmp_path / "out.bvh"), "--drop-reference"]
    loud = CliRunner().invoke(cli, arguments)
    quiet = CliRunner().invoke(cli, [*arguments, "--quiet"])
    assert "note: no frame looks like a reference pose" in loud.output
    assert quiet.output == f"{tmp_path / 'out.bvh'}: 20 frames, 22 joints\n"


def test_all_errors_begin_alike(walk: Path, tmp_path: Path) -> None:
    for arguments in (
        ["convert", str(walk)],
        ["convert", str(walk), str(tmp_path / "x.xyz")],
        ["convert", str(tmp_path / "none.bvh"), str(tmp_path / "x.glb")],
        ["info", "--nonsense", str(walk)],
        ["retarget", str(walk), "-o", str(tmp_path / "x.bvh")],
        ["wrong"],
    ):
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code in (1, 2), arguments
        assert result.output.startswith("error: "), result.output


def test_what_can_be_written_is_listed(walk: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["retarget", str(walk), "--scale", "0.9", "-o", str(tmp_path / "x.urdf")])
    assert result.exit_code == 2
    assert "files of this kind can be read, not written; written are" in result.output
    assert ".fbx" in result.output


def test_an_input_is_not_overwritten_unasked(walk: Path) -> None:
    before = walk.read_bytes()
    result = CliRunner().invoke(cli, ["convert", str(walk), str(walk), "--fps", "15"])
    assert result.exit_code == 2
    assert "is also an input, and would be overwritten" in result.output
    assert walk.read_bytes() == before
    assert CliRunner().invoke(cli, ["convert", str(walk), str(walk), "--fps", "15", "--force"]).exit_code == 0
    assert walk.read_bytes() != before


def test_a_recipe_is_not_overwritten_unasked(walk: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "walk.toml"
    recipe.write_text("# edited")
    arguments = ["recipe", str(walk), "--scale", "0.9", "-o", str(recipe)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert "what was edited in it would be lost" in result.output
    assert recipe.read_text() == "# edited"
    assert CliRunner().invoke(cli, [*arguments, "--force"]).exit_code == 0


def test_formats_are_listed() -> None:
    text = CliRunner().invoke(cli, ["formats"]).output
    rows = json.loads(CliRunner().invoke(cli, ["formats", "--json"]).output)
    assert {row["name"] for row in rows} == set(formats())
    for item in formats().values():
        assert item.title in text
