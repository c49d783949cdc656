"""Robots and learning formats on the command line: `retarget`, `convert` and `info` on a robot of our own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from understudy.app.cli import cli
from understudy.figure.kinematics import fk
from understudy.io import read

STICKBOT = Path(__file__).parents[1] / "data" / "stickbot.xml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")


def done(*arguments: str | Path) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A walk of the robot, as a trajectory beside its file."""
    folder = tmp_path_factory.mktemp("robot")
    (folder / "stickbot.xml").write_bytes(STICKBOT.read_bytes())
    path = folder / "walk.npz"
    result = done("retarget", "sample:walk", folder / "stickbot.xml", "-o", path, "--fps", "30", "--json")
    report = json.loads(result.stdout)
    assert report["unmet"] == []
    assert report["limits"]["worst"] < np.radians(0.1)
    assert report["contacts"]["worst"] < 0.002
    assert report["floor"]["worst"] < 0.002
    return path


def test_a_walk_becomes_arrays_that_pipelines_take(walk: Path) -> None:
    with np.load(walk, allow_pickle=False) as trajectory:
        frames = len(trajectory["root_position"])
        assert float(trajectory["fps"]) == 30.0
        assert trajectory["root_quaternion"].shape == (frames, 4)
        assert trajectory["joint_values"].shape == (frames, 23)
        assert str(trajectory["quaternion_order"]) == "wxyz"
        names = trajectory["joint_names"].tolist()
        height, turn, values = (
            trajectory["root_position"][:, 2],
            trajectory["root_quaternion"],
            trajectory["joint_values"],
        )
    assert names[:2] == ["left_hip_yaw_joint", "left_hip_roll_joint"]
    assert 0.6 < height.min() < height.max() < 0.85, "it walks upright, Z up"
    # The sample walks along our Z, which is -Y of the robot's world; a robot faces along its own X.
    forward = np.stack(
        [
            1 - 2 * (turn[:, 2] ** 2 + turn[:, 3] ** 2),
            2 * (turn[:, 1] * turn[:, 2] + turn[:, 0] * turn[:, 3]),
        ],
        axis=-1,
    )
    assert forward[:, 1].max() < -0.9
    assert np.ptp(values[:, names.index("left_knee_joint")]) > np.radians(25.0)


def test_every_joint_stays_inside_its_range(walk: Path) -> None:
    robot = read(walk.with_name("stickbot.xml"))
    with np.load(walk) as trajectory:
        for name, values in zip(trajectory["joint_names"].tolist(), trajectory["joint_values"].T, strict=True):
            low, high = robot.skeleton.limits[robot.skeleton.index[name], 0]
            assert low - np.radians(0.1) < values.min(), name
            assert values.max() < high + np.radians(0.1), name


def test_nothing_leaps_and_nothing_sinks(walk: Path) -> None:
    clip = read(walk)
    assert clip.motion is not None
    with np.load(walk) as trajectory:
        assert np.degrees(np.abs(np.diff(trajectory["joint_values"], axis=0)).max()) < 20.0
    soles = [end for end in clip.skeleton.ends if "sole" in end.name]
    assert len(soles) == 8
    heights = fk(clip.motion).points(soles)[..., 1]
    assert heights.min() > -0.002
    assert np.all(heights.min(axis=1) < 0.05), "a walk never leaves the floor"


def test_npz_and_csv_hold_the_same(walk: Path, tmp_path: Path) -> None:
    robot = walk.with_name("stickbot.xml")
    done("convert", walk, tmp_path / "walk.csv")
    back = read(tmp_path / "walk.csv", skeleton=robot).motion
    expected = read(walk).motion
    assert back is not None
    assert expected is not None
    np.testing.assert_allclose(fk(back).positions, fk(expected).positions, atol=1e-12)


def test_info_shows_robots_and_trajectories(walk: Path) -> None:
    data = json.loads(done("info", walk.with_name("stickbot.xml"), "--json").stdout)
    assert (data["format"], data["frames"], len(data["joints"])) == ("mjcf", 0, 24)
    assert data["unit"]["metres"] == 1.0
    shown = done("info", walk)
    assert "30 fps" in shown.stdout
    assert "left_hip_yaw_joint" in shown.stdout


def test_a_trajectory_becomes_a_bvh(walk: Path, tmp_path: Path) -> None:
    result = done("convert", walk, tmp_path / "walk.bvh")
    assert "BVH has no limits" in result.stderr
    motion, expected = read(tmp_path / "walk.bvh").motion, read(walk).motion
    assert motion is not None
    assert expected is not None
    joints = [motion.skeleton.index[name] for name in expected.skeleton.names]
    np.testing.assert_allclose(fk(motion).positions[:, joints], fk(expected).positions, atol=1e-5)


def test_a_trajectory_without_its_robot_says_how_to_name_it(walk: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.npz"
    alone.write_bytes(walk.read_bytes())
    result = run("info", alone)
    assert result.exit_code == 1
    assert "the robot that it moves was not found beside it" in result.stderr
    assert "hint: name the robot: --skeleton robot.xml" in result.stderr
    done("info", alone, "--skeleton", walk.with_name("stickbot.xml"))


@pytest.mark.parametrize("page", ["robots.md", "npz.md"])
def test_the_code_of_the_pages_runs(page: str, walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done("samples", "walk", "-o", "walk.bvh")
    done("convert", walk, "walk.csv")
    for file in (walk, walk.with_name("stickbot.xml")):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})


def test_a_human_motion_cannot_be_a_trajectory(tmp_path: Path) -> None:
    done("samples", "walk", "-o", tmp_path / "walk.bvh")
    result = run("convert", tmp_path / "walk.bvh", tmp_path / "walk.csv")
    assert result.exit_code == 2
    assert "this is no robot" in result.stderr
    assert not (tmp_path / "walk.csv").exists()


def test_a_motion_goes_to_npz_and_back(tmp_path: Path) -> None:
    done("samples", "walk", "-o", tmp_path / "walk.bvh")
    done("convert", tmp_path / "walk.bvh", tmp_path / "walk.npz")
    done("convert", tmp_path / "walk.npz", tmp_path / "again.bvh")
    motion, expected = read(tmp_path / "again.bvh").motion, read(tmp_path / "walk.bvh").motion
    assert motion is not None
    assert expected is not None
    np.testing.assert_allclose(fk(motion).positions, fk(expected).positions, atol=1e-5)
