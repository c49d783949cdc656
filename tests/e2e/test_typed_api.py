"""The public names as a type checker, a notebook and somebody who mistypes meet them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import understudy as u
from understudy.base.errors import UnknownNameError

CODE = Path(__file__).parent.parent / "data" / "user_code.py"


def test_user_code_passes_mypy_in_strict_mode(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--show-error-codes"]
    command += ["--config-file", "/dev/null", "--cache-dir", str(tmp_path / "cache"), str(CODE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines: dict[int, str] = {}
    for line in done.stdout.splitlines():
        found = re.match(r".*user_code\.py:(\d+): (.*)", line)
        if found:
            lines[int(found[1])] = lines.get(int(found[1]), "") + found[2]
    for number, text in enumerate(CODE.read_text().splitlines(), 1):
        wanted = re.search(r"# ([RE]): (.*)$", text)
        said = lines.pop(number, "")
        if wanted is None:
            assert not said, f"line {number}: {said}"
        else:
            assert wanted[2] in said, f"line {number}: expected {wanted[2]}, got {said or done.stdout + done.stderr}"
            assert ("error:" in said) == (wanted[1] == "E"), f"line {number}: {said}"
    assert not lines


def test_listed_names_are_there_and_loaded_when_used() -> None:
    assert sorted(u.__all__) == sorted(u._EXPORTS)
    for name in u.__all__:
        assert getattr(u, name) is not None
    code = "import sys, understudy; assert 'numpy' not in sys.modules, 'importing understudy loads numpy'"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["retarget", "transition", "analogy", "batch"])
def test_a_room_does_not_hide_the_function_of_its_name(name: str) -> None:
    module = u._EXPORTS[name]
    code = f"import {module}, understudy as u; assert callable(u.{name}), u.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_keyword_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="`retarget` takes no `contact`; nearest: `contacts`"):
        u.retarget("sample:walk", "sample:child", contact=())  # type: ignore[call-arg]
    with pytest.raises(UnknownNameError, match="`read` takes no `units`; nearest: `unit`"):
        u.read("walk.bvh", units="cm")  # type: ignore[call-arg]


def test_signatures_name_every_keyword() -> None:
    functions = [getattr(u, name) for name in u.__all__ if inspect.isfunction(getattr(u, name))]
    assert len(functions) > 10
    for function in functions:
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, function


def test_everything_public_prints_one_line() -> None:
    result = u.retarget("sample:walk", "sample:child")
    scene = u.samples.motion("walk")
    things = [
        result, result.solution, result.problem, result.prepared, result.prepared.plan, result.clip, result.motion,
        result.outcomes[0], result.outcomes[0].constraint, result.contacts[0], result.motion.skeleton, scene,
        result.motion.skeleton.ends[0], u.fk(result.motion), u.evaluate(result.motion, scene.motion),
    ]  # fmt: skip
    for thing in things:
        text = repr(thing)
        assert "\n" not in text, type(thing)
        assert len(text) < 400, (type(thing), len(text))
    assert repr(scene.motion) == "<Motion walk: 151 frames at 30 fps, 22 joints>"


def test_notebooks_get_pictures() -> None:
    motion = u.samples.motion("walk").motion
    html = motion._repr_html_()
    assert html.startswith("<figure")
    assert "<svg" in html
    assert "151 frames" in html
    report = u.evaluate(motion)
    assert "<table>" in report._repr_html_()


def test_a_report_becomes_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = u.evaluate(u.samples.motion("walk").motion).to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["metric", "figure", "value", "unit", "verdict"]
    assert len(frame) > 5


def test_a_pose_is_asked_by_name() -> None:
    motion = u.samples.motion("walk").motion
    pose = u.fk(motion)
    assert pose["Head"].shape == (motion.num_frames, 3)
    with pytest.raises(UnknownNameError, match="nearest: `Head`"):
        pose["Haed"]
