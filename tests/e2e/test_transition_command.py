"""`understudy transition` on the command line: files, figures, exit codes and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from understudy import samples
from understudy.app.cli import cli
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io import read, write
from understudy.transition import transition


def run(*arguments: str | Path | float) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")


def done(*arguments: str | Path | float) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def motion_of(path: Path) -> Motion:
    motion = read(path, unit="cm", up="Y").motion
    assert motion is not None
    return motion


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("transition") / "man_into_dog.bvh"
    return out, done("transition", "sample:walk", "sample:dog_walk", "-o", out, "--seconds", 1.2)


def test_the_match_and_the_quality_are_printed(written: tuple[Path, Result]) -> None:
    lines = written[1].stdout.splitlines()
    assert lines[0].startswith(str(written[0]))
    assert lines[1].startswith("verdict: ")
    assert any(line.startswith("  path jerk") for line in lines)
    body = next(i for i, line in enumerate(lines) if line.startswith("  body "))
    assert "of both bodies" in lines[body]
    assert "monotonically" in lines[body]
    assert "stance of LeftUpLeg" in lines[body + 1]
    assert lines[body + 2].startswith("  blend")
    assert "kept over the blend, worst 0.0" in lines[body + 4]
    assert "of the largest in the motions" in lines[body + 5]


def test_the_file_holds_the_body_as_it_changes(written: tuple[Path, Result]) -> None:
    """Every joint that is read back is where the library has it, within the digits of BVH."""
    walk, dog = samples.motion("walk"), samples.motion("dog_walk")
    expected = transition(walk.motion, dog.motion, seconds=1.2, contacts=(walk.contacts, dog.contacts))
    back = motion_of(written[0])
    assert back.num_frames == expected.motion.num_frames
    assert back.offsets is not None
    numbers = [back.skeleton.index[name] for name in expected.motion.skeleton.names]
    gap = np.abs(fk(back).positions[:, numbers] - fk(expected.motion).positions)
    assert gap.max() < 1e-4


def test_json_holds_everything(tmp_path: Path) -> None:
    result = done("transition", "sample:dog_walk", "sample:walk", "-o", tmp_path / "out.bvh", "--json", "--leave", 2.0)
    data = json.loads(result.stdout)
    assert data["match"]["leave"] == pytest.approx(2.0)
    assert data["blend"]["start"] == pytest.approx(2.0)
    assert data["contacts"]["worst"] < 2e-3
    assert data["contacts"]["unmet"] == []
    assert data["body"]["relapse"] < 1e-9
    assert data["body"]["shared"] > 10
    assert data["worst_step"] == pytest.approx(
        max(step["blend"] / step["motions"] for step in data["steps"].values()), rel=1e-6
    )
    first, second = np.array(data["match"]["frames"]).T
    assert np.all(np.diff(first) > 0.0)
    assert np.all(np.diff(second) > 0.0)


def test_one_body_keeps_the_conventions_of_its_file(tmp_path: Path) -> None:
    for name in ("walk", "run"):
        write(samples.motion(name).motion, tmp_path / f"{name}.bvh")
    result = done(
        "transition", tmp_path / "walk.bvh", tmp_path / "run.bvh", "-o", tmp_path / "both.bvh", "--enter", 0.5
    )
    assert "one body; 0 bones change length" in result.stdout
    both, walk = motion_of(tmp_path / "both.bvh"), motion_of(tmp_path / "walk.bvh")
    assert both.offsets is None
    assert both.skeleton.names == walk.skeleton.names
    assert np.abs(both.root[:20] - walk.root[:20]).max() < 1e-6


def test_a_map_is_taken_from_a_file(tmp_path: Path) -> None:
    mapping = pytest.importorskip("understudy.correspondence.map_file")
    walk, dog = samples.motion("walk").motion.skeleton, samples.motion("dog_walk").motion.skeleton
    pairs = tuple(Pair(source=(a,), target=(b,)) for a, b in (("Hips", "Hips"), ("Spine1", "Chest"), ("Head", "Head")))
    mapping.write_map(Correspondence(source=walk, target=dog, pairs=pairs), tmp_path / "map.toml")
    out = tmp_path / "out.bvh"
    result = done(
        "transition", "sample:walk", "sample:dog_walk", "-o", out, "--map", tmp_path / "map.toml", "--json"
    )  # fmt: skip
    assert json.loads(result.stdout)["body"]["shared"] == 3


def test_a_quick_blend_gets_a_warning(tmp_path: Path) -> None:
    result = done("transition", "sample:walk", "sample:dog_walk", "-o", tmp_path / "out.bvh", "--seconds", 0.2)
    assert "a longer --seconds may help" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("sample:walk", "sample:run", "--seconds", "-1"), 2, "Expected a blend of more than zero"),
        (("sample:walk", "sample:run", "--leave", "99"), 2, "Expected --leave from 0 to 5.00 s"),
        (("sample:walk", "sample:rum"), 2, "There is no sample motion `rum`"),
        (("sample:walk", "nothing.bvh"), 1, "there is no such file"),
        (("sample:adult", "sample:walk"), 1, "is a character without motion"),
    ],
)
def test_wrong_use_is_refused(tmp_path: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    result = run("transition", *arguments, "-o", tmp_path / "out.bvh")
    assert result.exit_code == code, result.stderr
    assert words in result.stderr
    assert not (tmp_path / "out.bvh").exists()


def test_a_folder_that_is_not_there_is_refused_before_the_work(tmp_path: Path) -> None:
    result = run("transition", "sample:walk", "sample:run", "-o", tmp_path / "none" / "out.bvh")
    assert result.exit_code == 1
    assert "there is no folder" in result.stderr


def test_a_body_that_changes_is_written_as_bvh(tmp_path: Path) -> None:
    result = run("transition", "sample:walk", "sample:dog_walk", "-o", tmp_path / "out.amc")
    assert result.exit_code == 2
    assert "written as BVH" in result.stderr


def test_help_ends_in_an_example() -> None:
    assert "understudy transition sample:walk sample:dog_walk" in done("transition", "--help").stdout
