"""`understudy batch` on the command line: options, output, exit codes and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from understudy.app.batch import Ticker, format_duration
from understudy.app.cli import cli
from understudy.batch import batch
from understudy.batch.run import RunStep
from understudy.io import read
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.plan import Options
from understudy.retarget.spec import Recipe


def run(*arguments: str | Path | float, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    run("samples", "walk", "-o", folder / "walk.bvh", "--seconds", 1)
    (folder / "sub").mkdir()
    run("samples", "march", "-o", folder / "sub" / "march.bvh", "--seconds", 1)
    return folder


def test_a_library_with_options_of_a_retarget(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--fps", 24, "--frames", "0:40", "--plants", "fixed", "--workers", 2, "--json")
    data = json.loads(run("batch", clips, "sample:child", "-o", out, *options).stdout)
    assert (data["clips"], data["done"], data["failed"], data["unchanged"]) == (2, 2, 0, 0)
    assert data["table"] == str(out / "table.csv")
    motion = read(out / "sub" / "march.bvh").motion
    assert motion is not None
    assert motion.fps == pytest.approx(24.0, rel=1e-4)
    again = json.loads(run("batch", clips, "sample:child", "-o", out, *options).stdout)
    assert again["unchanged"] == 2
    before = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    recipe = Recipe(
        actors=(ActorSpec(source=""),), reading=Reading(fps=24.0, frames="0:40"), options=Options(plants="fixed")
    )  # fmt: skip
    rows = batch(clips, "sample:child", out, recipe=recipe, engine="inline")
    assert sorted(rows, key=lambda row: str(row["clip"])) == before, (
        "Python and the command line give different results"
    )
    page = (out / "index.html").read_text()
    assert page.count("<tr class=") == 2
    assert page.count("<svg") >= 2


def test_a_recipe_and_its_scale(clips: Path, tmp_path: Path) -> None:
    run("recipe", clips / "walk.bvh", "sample:child", "-o", tmp_path / "recipe.toml")
    out = ("-o", tmp_path / "out", "--engine", "inline", "--pattern", "walk*")
    refused = run("batch", clips, "--recipe", tmp_path / "recipe.toml", *out, code=2)
    assert "error: The recipe lists the contacts of one clip, which do not apply to others" in refused.stderr
    assert 'hint: set contacts = "detect"' in refused.stderr
    text = (tmp_path / "recipe.toml").read_text()
    edited = text[: text.index("[[contact]]")].replace('contacts = "listed"', 'contacts = "detect"')
    (tmp_path / "recipe.toml").write_text(edited)
    output = run("batch", clips, "--recipe", tmp_path / "recipe.toml", *out).stdout
    assert output.startswith("1 clip: 1 done, 0 failed; ")


def test_failures_are_printed_and_the_exit_code_is_1(clips: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "broken.bvh").write_text("HIERARCHY\nROOT\n")
    result = run("batch", source, "sample:child", "-o", tmp_path / "out", "--engine", "inline", code=1)
    assert result.stdout.startswith("1 clip: 0 done, 1 failed; ")
    assert "failed: broken.bvh:2: " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("{clips}",), 2, "Expected a TARGET file"),
        (("{clips}", "sample:child", "--engine", "ray"), 2, "There is no engine `ray`"),
        (("{clips}", "sample:child", "--workers", "0"), 2, "Expected one worker or more, got 0"),
        (("{clips}", "sample:child", "--format", "docx"), 2, "Results cannot be written as `docx`"),
        (("{clips}", "sample:chid"), 2, "There is no sample `chid`"),
        (("{clips}", "gone.bvh"), 1, "gone.bvh: there is no such file"),
        (("{clips}", "sample:child", "--map", "gone.toml"), 1, "gone.toml: there is no such file"),
        (("{clips}/nowhere", "sample:child"), 1, "there is no such folder"),
        (("{clips}/walk.bvh", "sample:child"), 1, "is a file, not a folder"),
    ],
)
def test_wrong_use_is_refused(clips: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    words = [word.replace("{clips}", str(clips)) for word in arguments]
    assert message in run("batch", *words, "-o", tmp_path / "out", code=code).stderr


def test_the_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("understudy.app.batch.time.monotonic", lambda: now[0])
    ticker = Ticker()
    for number, (fresh, status) in enumerate([(False, "done"), (True, "done"), (True, "failed")]):
        step = RunStep(
            row={"clip": f"{number}.bvh", "status": status}, fresh=fresh, bytes=100.0, total=10, total_bytes=1000
        )  # fmt: skip
        ticker.add(step)
    now[0] += 4.0
    assert ticker.line(step).replace("\x1b[31m\x1b[1m", "").replace("\x1b[0m", "") == (
        "3 of 10, 0.5 clips/s, 14.0 s left, 1 failed, 2.bvh"
    )
    assert [format_duration(s) for s in (5.04, 75.0, 7260.0)] == ["5.0 s", "1 min 15 s", "2 h 1 min"]


def test_help_ends_in_an_example() -> None:
    text = run("batch", "--help").stdout
    assert " ".join(text.split()).endswith(
        "Example: understudy batch library hero.glb -o hero_library --workers 4 --timeout 60"
    )
