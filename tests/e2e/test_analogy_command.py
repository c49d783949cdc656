"""`understudy analogy` on the command line: files, reports, poses, pairs, exit codes and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from understudy import samples
from understudy.app.cli import cli
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.io import read, write


def run(*arguments: str | Path | float) -> Result:
    return CliRunner().invoke(cli, ["analogy", *(str(argument) for argument in arguments)], prog_name="understudy")


def done(*arguments: str | Path | float) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of each sample as files, and a crouching dog."""
    folder = tmp_path_factory.mktemp("clips")
    for name in ("walk", "march", "dog_walk"):
        write(samples.motion(name, fps=30.0, seconds=4.0).motion, folder / f"{name}.bvh")
    write(rest_motion(samples.character("spider")), folder / "spider.bvh")
    return folder


def motion_of(path: Path) -> Motion:
    motion = read(path).motion
    assert motion is not None
    return motion


def test_samples_in_motion_out(tmp_path: Path) -> None:
    out, picture = tmp_path / "dog_march.bvh", tmp_path / "matched.png"
    result = done("sample:walk", "sample:dog_walk", "sample:march", "-o", out, "--any-length", "--picture", picture)
    assert "markers matched (threshold 0.9)" in result.stdout
    assert "LeftHindPad steps with" in result.stdout
    assert "after cleaning 0.0" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    motion = motion_of(out)
    assert motion.num_frames == samples.motion("march").motion.num_frames
    assert set(motion.skeleton.names) == set(samples.character("dog").names)
    assert motion.root[-1, 2] - motion.root[0, 2] > 1.0
    paws = fk(motion).points(["LeftHindPaw", "RightForePaw"])[..., 1]
    assert paws.max() - paws.min() > 0.12


def test_json_is_the_only_output_on_stdout(clips: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    result = done(
        clips / "walk.bvh", clips / "dog_walk.bvh", clips / "march.bvh", "-o", tmp_path / "out.bvh", "--json",
        "--components", 4, "--report", report,
    )  # fmt: skip
    data = json.loads(result.stdout)
    assert data["components"] == 4
    assert data["file"].endswith("out.bvh")
    assert 0.6 < data["score"] <= 1.0
    assert data["measures"]["correlation"] > 0.9
    assert data["measures"]["contacts"]["after"] < 1e-3
    assert {"b", "a", "scores", "scales", "eigenvector"} == set(data["matches"][0])
    assert data["attempts"][0]["score"] == data["score"]
    assert "markers matched" in report.read_text()


def test_a_pose_at_a_frame_is_reached(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bvh"
    dog = motion_of(clips / "dog_walk.bvh")
    low = dog[17:18]
    write(low, tmp_path / "pose.bvh")
    for pose, frame in ((f"12={tmp_path / 'pose.bvh'}", 12), (f"30={clips / 'dog_walk.bvh'}@17", 30)):
        result = done(
            clips / "walk.bvh", clips / "dog_walk.bvh", clips / "march.bvh", "-o", out, "--pose", pose, "--no-clean",
            "--json",
        )  # fmt: skip
        assert json.loads(result.stdout)["measures"]["pose_error"] < np.radians(0.1)
        motion = motion_of(out)
        joints = [motion.skeleton.index[name] for name in ("LeftShin", "RightForearm", "Neck")]
        assert np.allclose(
            np.abs(np.sum(motion.rotations[frame, joints] * dog.rotations[17, joints], -1)), 1.0, atol=1e-5
        )


def test_pairs_replace_an_example(clips: Path, tmp_path: Path) -> None:
    sets = {
        "Left": ("LeftLeg1", "RightLeg2", "LeftLeg3", "RightLeg4"),
        "Right": ("RightLeg1", "LeftLeg2", "RightLeg3", "LeftLeg4"),
    }
    rows = [
        f'[[pair]]\nb = "{leg}Tarsus"\na = ["{side}Foot", "{side}ToeBase"]\nscale = 0.5\n'
        for side, legs in sets.items()
        for leg in legs
    ]
    markers = tmp_path / "pairs.toml"
    markers.write_text("\n".join(rows))
    for body in ("sample:spider", clips / "spider.bvh"):
        result = done("-", body, clips / "walk.bvh", "-o", tmp_path / "out.bvh", "--markers", markers, "--json")
        data = json.loads(result.stdout)
        assert data["threshold"] is None
        assert data["measures"]["correlation"] > 0.95
        assert not data["orthonormal"]
        assert len(data["feet"]) == 8


def test_timing_can_be_changed(clips: Path, tmp_path: Path) -> None:
    files = clips / "walk.bvh", clips / "dog_walk.bvh", clips / "march.bvh", "-o", tmp_path / "out.bvh", "--no-clean"
    done(*files, "--tempo", "2")
    assert motion_of(tmp_path / "out.bvh").num_frames == 61
    done(*files, "--tempo", "0:0,2:3,4:6")
    assert motion_of(tmp_path / "out.bvh").num_frames == 181
    assert "expected a speed such as 1.5" in run(*files, "--tempo", "fast").stderr


@pytest.mark.parametrize(
    ("arguments", "code", "messages"),
    [
        (("walk.bvh", "dog_walk.bvh", "march.bvh", "--b-frames", "0:60"), 1, ("different length", "--any-length")),
        (
            ("walk.bvh", "dog_walk.bvh", "march.bvh", "--new-frames", "0:4"),
            1,
            ("5 components cannot be had", "fewer components"),
        ),
        (
            ("walk.bvh", "dog_walk.bvh", "march.bvh", "--threshold", "1", "--no-retries"),
            1,
            ("No marker", "lower the threshold"),
        ),
        (("walk.bvh", "spider.bvh", "march.bvh"), 2, ("B has no example motion", "--markers FILE")),
        (("walk.bvh", "dog_walk.bvh", "march.bvh", "--pose", "3"), 2, ("expected FRAME=FILE",)),
        (("walk.bvh", "dog_walk.bvh", "march.bvh", "--pose", "3=walk.bvh"), 1, ("a pose must have B's joints",)),
        (("walk.bvh", "dog_walk.bvh", "march.bvh", "--pose", "3=dog_walk.bvh@500"), 1, ("there is no frame 500",)),
        (("walk.bvh", "dog_walk.bvh", "march.bvh", "--components", "3", "--energy", "0.9"), 2, ("not both",)),
        (("dog_walk.bvh", "walk.bvh", "march.bvh"), 2, ("must be by one body",)),
        (("none.bvh", "dog_walk.bvh", "march.bvh"), 1, ("there is no such file",)),
        (("walk.bvh", "dog_walk.bvh", "march.bvh", "--travel", "far"), 2, ("Expected travel",)),
    ],
)
def test_wrong_use_is_refused(
    clips: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    messages: tuple[str, ...],
) -> None:
    monkeypatch.chdir(clips)
    result = run(*arguments, "-o", tmp_path / "out.bvh")
    assert result.exit_code == code, result.output
    for message in messages:
        assert message in result.stderr
    assert not (tmp_path / "out.bvh").exists()


def test_help_ends_in_an_example() -> None:
    text = CliRunner().invoke(cli, ["analogy", "--help"]).stdout
    assert "Example: understudy analogy sample:walk sample:dog_walk sample:march" in text


def test_what_the_page_shows_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "analogies.md").read_text()
    monkeypatch.chdir(tmp_path)
    command, code = re.search(r"```sh\n(.*?)```", page, re.DOTALL), re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert command is not None
    assert code is not None
    done(*command[1].split()[2:])
    assert (tmp_path / "matched.png").exists()
    first = (tmp_path / "dog_march.bvh").stat().st_size
    (tmp_path / "dog_march.bvh").unlink()
    exec(compile(code[1], "analogies.md", "exec"), {})
    assert (tmp_path / "dog_march.bvh").stat().st_size > 0.5 * first
