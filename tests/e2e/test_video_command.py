"""`video` on the command line: files and samples in, a film out, what it prints, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from understudy.app.cli import cli

SMALL = ("--size", "160x90")


def run(*arguments: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")


def done(*arguments: str | Path) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    done("samples", "walk", "-o", path, "--seconds", "1")
    return path


def test_a_file_and_a_sample_side_by_side(clip: Path, tmp_path: Path) -> None:
    output = tmp_path / "both.gif"
    result = done("video", clip, "sample:squat", "-o", output, *SMALL, "--fps", "10")
    assert result.stdout == f"{output}: 53 frames at 10 fps\n"
    assert result.stderr == ""
    with Image.open(output) as shown:
        assert (shown.n_frames, shown.size) == (53, (160, 90))


def test_an_mp4_as_json(clip: Path, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    output = tmp_path / "walk.mp4"
    data = json.loads(done("video", clip, "-o", output, *SMALL, "--speed", "0.5", "--json").stdout)
    assert data["file"] == str(output)
    assert (data["frames"], data["fps"], data["size"]) == (61, 30.0, [160, 90])
    assert data["seconds"] > 0.0
    assert output.read_bytes()[4:8] == b"ftyp"


def test_some_frames_and_the_front(clip: Path, tmp_path: Path) -> None:
    result = done("video", clip, "-o", tmp_path / "a.gif", *SMALL, "--frames", "10:21", "--view", "front")
    assert "7 frames at 20 fps" in result.stdout


def test_each_actor_of_a_sample_has_a_panel(tmp_path: Path) -> None:
    one, two = tmp_path / "one.gif", tmp_path / "two.gif"
    done("video", "sample:dance", "-o", one, *SMALL, "--fps", "2", "--labels", "Ginger,Fred")
    done("video", "sample:dance", "-o", two, *SMALL, "--fps", "2", "--no-contacts")
    assert one.read_bytes() != two.read_bytes()
    wrong = run("video", "sample:dance", "-o", one, "--labels", "Ginger")
    assert wrong.exit_code == 2
    assert "Expected 2 labels, one for each motion; got 1" in wrong.stderr


def test_wrong_use_is_refused(clip: Path, tmp_path: Path) -> None:
    wrong = run("video", clip, "-o", tmp_path / "a.avi")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "Videos are written as .mp4 or .gif" in wrong.stderr
    wrong = run("video", clip, "-o", tmp_path / "a.gif", "--size", "big")
    assert wrong.exit_code == 2
    assert "expected width and height in pixels, such as 960x540; got `big`" in wrong.stderr
    wrong = run("video", tmp_path / "none.bvh", "-o", tmp_path / "a.gif")
    assert wrong.exit_code == 1
    assert "there is no such file" in wrong.stderr
    wrong = run("video", clip, "-o", tmp_path / "none" / "a.gif", *SMALL)
    assert wrong.exit_code == 1
    assert "cannot be written" in wrong.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_ends_in_an_example() -> None:
    shown = done("video", "--help").stdout
    assert shown.rstrip().splitlines()[-1].strip().startswith("Example: understudy video")
