"""No input ends in a traceback: odd recipes, foreign exceptions, signals, and functions that nobody agreed to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from understudy import samples
from understudy.app import cli as app_cli
from understudy.app.cli import cli
from understudy.base import consent
from understudy.io import write

HEAD = 'source = "walk.bvh"\nscale = 0.8\n'
FUNCTION = '[[constraint]]\nkind = "function"\nfunction = "{}"\npoints = ["LeftFoot"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    write(samples.motion("walk2d").motion.resampled(15.0)[:8], tmp_path / "walk.bvh")
    return tmp_path


def retarget(folder: Path, recipe: str, *before: str, **options: Any) -> Any:
    (folder / "r.toml").write_text(recipe)
    return CliRunner().invoke(cli, [*before, "retarget", "--recipe", "r.toml", "-o", "out.bvh"], **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[options]\nspacing = 1e-9\n", "Expected a key spacing: auto, all, seconds from 0.001"),
        ("[options]\nstiffness = { LeftToe = -1.0 }\n", "expected a number from 1e-06 to 1e+06, got -1"),
        ("[detection]\nradius = -1.0\n", "r.toml:4: detection, radius: expected a number from 1e-06 to 1000, got -1"),
        ("[detection]\nwindow = 1e300\n", "detection, window: expected a number from 0 to 10, got 1e+300"),
        ("[solver]\nlevels = [{ spacing = 0.1, rate = 0.0, stiffness = 1e3, steps = 2 }]\n", "levels, rate: expected"),
        ("[solver]\nlevels = [{ spacing = 0.1, rate = 9.0, stiffness = -1.0, steps = 2 }]\n", "stiffness: expected"),
        ("[solver]\nlevels = [{ spacing = 1e-9, rate = 9.0, stiffness = 1.0, steps = 2 }]\n", "expected 0 or at least"),
        ("[solver]\nmargin = 1e300\n", "solver, margin: expected a number from 0 to 1, got 1e+300"),
        (f"[reading]\nheight = {'9' * 300_000}\n", "not valid TOML: Exceeds the limit"),
        (f"[reading]\nheight = {'9' * 4000}\n", "expected a number, got one with 4000 digits"),
        (f"x = {'[' * 50_000}{']' * 50_000}\n", "r.toml:3: not valid TOML: nested more than 100 deep"),
        (f"{'a.' * 50_000}b = 1\n", "r.toml:3: not valid TOML: nested more than 100 deep"),
        ("x = " + "[\n" * 5000 + "]\n" * 5000, "not valid TOML: it is nested too deeply"),
        (FUNCTION.format("os:system"), "`os:system` is a function of Python itself"),
        (FUNCTION.format("sys:exit"), "`sys:exit` is a function of Python itself"),
        (FUNCTION.format("no_such.module:f"), "module `no_such.module` cannot be loaded: there is no such module"),
    ],
)  # fmt: skip
def test_absurd_recipes_are_refused_with_a_sentence(folder: Path, text: str, message: str) -> None:
    result = retarget(folder, HEAD + text)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_quotes_in_a_table_of_numbers_are_refused(folder: Path) -> None:
    (folder / "path.csv").write_text('time,x,y,z\n"' + "1" * 200_000)
    prop = '[[prop]]\nname = "box"\npath = "path.csv"\nsizes = [[1, 1, 1]]\n'
    result = retarget(folder, HEAD + prop)
    assert "path.csv: is no CSV: field larger than field limit" in result.stderr
    (folder / "robot.csv").write_text('"' + "x" * 200_000 + "\n1\n")
    result = CliRunner().invoke(cli, ["info", "robot.csv"])
    assert "robot.csv:1: the names of the columns are no CSV" in result.stderr


# Functions


def test_a_function_runs_only_with_consent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "mine.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\ndef level(points):\n    return points[:, 0, 1] - 0.1\n"
    )
    recipe = HEAD + FUNCTION.format("mine:level")
    refused = retarget(folder, recipe)
    assert refused.exit_code == 1
    assert f"would run the function `mine:level` of {folder / 'mine.py'}" in refused.stderr
    assert "understudy --trust" in refused.stderr
    assert not (folder / "ran").exists()
    assert retarget(folder, recipe, "--trust").exit_code == 0
    assert (folder / "ran").exists()
    (folder / "ran").unlink()
    assert retarget(folder, recipe).exit_code == 1, "trust in all functions is not remembered"

    # On a terminal the question shows what would be run, and is asked once.
    monkeypatch.setattr(app_cli, "ask_on_terminal", asked := Asked(answers=[False, True]))
    assert retarget(folder, recipe).exit_code == 1
    assert not (folder / "ran").exists()
    assert retarget(folder, recipe).exit_code == 0
    assert retarget(folder, recipe).exit_code == 0
    assert asked.texts == ["def level(points):\n    return points[:, 0, 1] - 0.1"] * 2
    (folder / "mine.py").write_text("def level(points):\n    return points[:, 0, 2]\n")
    asked.answers.append(False)
    assert retarget(folder, recipe).exit_code == 1, "another content needs another consent"


class Asked:
    """Answers the question for consent."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers, self.texts = answers, []

    def __call__(self, source: consent.FunctionSource) -> bool:
        self.texts.append(source.text)
        return self.answers.pop(0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import sys\n    sys.exit(3)", "its function failed: SystemExit: 3"),
        ("raise GeneratorExit", "its function failed: GeneratorExit"),
        ("return len(points.nothing)", "its function failed: AttributeError"),
        ("return 1.0", "must return what it computed"),
    ],
)
def test_what_a_function_raises_becomes_a_sentence(folder: Path, body: str, message: str) -> None:
    (folder / "mine.py").write_text(f"def level(points):\n    {body}\n")
    result = retarget(folder, HEAD + FUNCTION.format("mine:level"), "--trust")
    assert result.exit_code == 2
    assert message in result.stderr
    (folder / "mine.py").write_text("raise SystemExit(4)\n")
    result = retarget(folder, HEAD + FUNCTION.format("mine:level"), "--trust")
    assert "module `mine` cannot be loaded: SystemExit: 4" in result.stderr


# Errors that nobody foresaw


@click.command()
def broken() -> None:
    raise ZeroDivisionError("a\nfault")


def test_an_unforeseen_error_is_a_sentence_with_a_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(app_cli.Commands, "get_command", lambda self, ctx, name: broken)
    result = CliRunner().invoke(cli, ["broken"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: This is a fault of understudy, not of yours: ZeroDivisionError: a fault (")
    (report,) = folder.glob("understudy-*.txt")
    assert str(report) in result.stderr
    assert "ZeroDivisionError" in report.read_text()
    assert "Traceback" in report.read_text()
    debugged = CliRunner().invoke(cli, ["--debug", "broken"])
    assert isinstance(debugged.exception, ZeroDivisionError)


def test_names_that_are_not_utf8_are_printed_with_escapes(folder: Path) -> None:
    name = os.fsdecode(b"\xff.bvh")
    (folder / "walk.bvh").rename(folder / name)
    command = [sys.executable, "-c", "from understudy.app.cli import main; main()", "info", name]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONUTF8": "1"}, check=True)
    assert "\\udcff.bvh" in result.stdout + result.stderr


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_stops_a_batch_as_ctrl_c_does(folder: Path, name: str, code: int) -> None:
    number = getattr(signal, name, None)
    if number is None or sys.platform == "win32":
        pytest.skip("the system has no such signal")
    head, _, frames = (folder / "walk.bvh").read_text().partition("MOTION\n")
    rows = frames.splitlines()[2:] * 20_000
    (folder / "in").mkdir()
    text = "\n".join(rows)
    (folder / "in" / "long.bvh").write_text(f"{head}MOTION\nFrames: {len(rows)}\nFrame Time: 0.1\n{text}\n")
    command = [sys.executable, "-c", "from understudy.app.cli import main; main()"]
    process = subprocess.Popen(
        [*command, "batch", "in", "--scale", "0.8", "-o", "out", "--workers", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 60.0
    while not list((folder / "out" / ".batch" / "scraps").glob("*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert errors == "stopped\n"
    assert not list((folder / "out" / ".batch" / "scraps").glob("*"))
