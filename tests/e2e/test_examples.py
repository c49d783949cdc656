"""Every example runs by itself, without a window, and leaves the files it speaks of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def test_examples_are_numbered_and_short() -> None:
    numbers = [path.name[:3] for path in EXAMPLES]
    assert numbers == [f"{number:02d}_" for number in range(1, len(EXAMPLES) + 1)]
    for path in EXAMPLES:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert 30 <= len(lines) <= 80, f"{path.name} has {len(lines)} lines"
        assert lines[0].startswith('"""')


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    settings = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | {"MPLBACKEND": ""}
    out = tmp_path / "made" / "here"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), str(out)],
        cwd=tmp_path, env=settings, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) >= 5
    assert len(re.findall(r"\b\w+\.png\b", done.stdout)) == 1, "every example draws one picture and says so"
    for name in re.findall(r"\b\w+\.(?:png|bvh)\b", done.stdout):
        assert (out / name).stat().st_size > 0
    assert [entry.name for entry in tmp_path.iterdir()] in ([], ["made"]), "an example writes only where it is told to"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_shows_every_example_and_its_picture(path: Path) -> None:
    docs = FOLDER.parent / "docs"
    page = (docs / "examples.md").read_text(encoding="utf-8")
    assert f"<!-- fill: example {path.name} -->" in page
    assert f"](pictures/examples/{path.stem}.png)" in page
    assert (docs / "pictures" / "examples" / f"{path.stem}.png").read_bytes().startswith(b"\x89PNG")
