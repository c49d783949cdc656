"""Every example runs by itself, without a window, and leaves the files it speaks of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9]*.py"))
"""Those that explain something at length and draw a picture."""
SCRIPTS = sorted(FOLDER.glob("[a-z]*.py"))
"""Those of some ten lines, for one task each."""
FILES = {
    "folder": ["clips", "on_child"],
    "joint_places": ["joint_places.npy"],
    "live_socket": [],
    "live_stream": [],
    "own_constraint": [],
    "own_correspondence": ["dog.bvh"],
    "retarget": ["child_walk.bvh", "walk.bvh"],
}
"""What each script leaves in the current folder."""
PRINTED = {
    "folder": "walk.bvh done walk.bvh",
    "joint_places": "(151, 22, 3) frames, joints, x y z",
    "live_socket": "181 frames came, 181 frames were given out",
    "live_stream": "361 frames given out",
    "own_constraint": "constraints are met\n",
    "own_correspondence": "14 pairs of bones correspond",
    "retarget": "constraints are met",
}
"""What each script says that went well."""


def run(path: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a folder, without a window."""
    settings = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | {"MPLBACKEND": ""}
    return subprocess.run(
        [sys.executable, "-W", "error", str(path), *arguments],
        cwd=folder, env=settings, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs(path: Path, tmp_path: Path) -> None:
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert PRINTED[path.stem] in done.stdout
    assert " not met" not in done.stdout
    assert sorted(entry.name for entry in tmp_path.iterdir()) == FILES[path.stem]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_short_and_use_public_names_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith(('"""', "import", "from"))]
    assert len(lines) <= 12, f"{path.name} has {len(lines)} lines besides imports"
    assert "import understudy as u\n" in text
    assert "from understudy" not in text
    assert f"<!-- fill: example {path.name} -->" in (FOLDER.parent / "docs" / "examples.md").read_text(encoding="utf-8")


def test_every_example_is_one_of_both() -> None:
    assert sorted(FOLDER.glob("*.py")) == sorted([*EXAMPLES, *SCRIPTS])
    assert {path.stem for path in SCRIPTS} == FILES.keys() == PRINTED.keys()


def test_examples_are_numbered_and_short() -> None:
    numbers = [path.name[:3] for path in EXAMPLES]
    assert numbers == [f"{number:02d}_" for number in range(1, len(EXAMPLES) + 1)]
    for path in EXAMPLES:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert 30 <= len(lines) <= 80, f"{path.name} has {len(lines)} lines"
        assert lines[0].startswith('"""')


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "made" / "here"
    done = run(path, tmp_path, str(out))
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
