"""What the README, CONTRIBUTING and the pages of the documentation say is so: commands run, output is as shown."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from click.testing import CliRunner

import understudy
from understudy import fk, retarget, samples, write
from understudy.base.files import open_to_write
from understudy.io.clip import Clip, Format, WriteOptions
from understudy.metrics.base import Verdict
from understudy.metrics.comparison import Comparison

HOME = Path(__file__).resolve().parents[2]
README, CONTRIBUTING = HOME / "README.md", HOME / "CONTRIBUTING.md"
BUILDS = ("git clone", "pip install")
"""What commands that build an environment start with: they are not run here."""
MOST_BYTES = 3_000_000
"""What the pictures in the repository may take together."""


def load_fill() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fill", HOME / "docs" / "fill.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FILL = load_fill()
PAGES = FILL.pages()


def fences(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_pages_show_is_what_comes_out(page: Path) -> None:
    """Runs every command and Python block that has its output shown, and compares."""
    shown = FILL.steady(page.read_text(encoding="utf-8"))
    assert FILL.steady(FILL.filled(page)) == shown, "out of date: run `python docs/fill.py`"


def test_a_stale_block_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- fill: formats -->\n\nnothing\n\n<!-- /fill -->\n", encoding="utf-8")
    assert "| BVH | `.bvh` | yes | yes |" in FILL.filled(page)
    assert FILL.steady("off by 2e-05 mm in 31 ms") == FILL.steady("off by 0.3 mm in 7.5 ms")
    assert FILL.steady("31 frames") != FILL.steady("30 frames")


@pytest.mark.parametrize("page", [README, CONTRIBUTING], ids=lambda page: page.name)
def test_every_command_is_run_or_known(page: Path) -> None:
    """Commands of make are targets; those that build environments are known; there are no others outside blocks."""
    lines = [line.partition("#")[0].strip() for block in fences(page, "sh") for line in block.splitlines()]
    lines = [line for line in lines if line and not line.startswith(BUILDS)]
    assert lines
    for line in lines:
        assert line.startswith("make "), line
        if shutil.which("make"):
            dry = subprocess.run(
                ["make", "-n", *line.split()[1:]], cwd=HOME, capture_output=True, text=True, check=False
            )
            assert dry.returncode == 0, dry.stderr


def test_make_lists_its_targets() -> None:
    if not shutil.which("make"):
        pytest.skip("there is no make on this machine")
    listed = subprocess.run(["make", "help"], cwd=HOME, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "test", "check", "bench", "papers", "docs", "clean"):
        assert f"make {target}" in listed


def test_python_blocks_run_as_they_stand(tmp_path: Path) -> None:
    for page in PAGES:
        # Blocks of these pages read files that their own tests, or commands before them, make first.
        if page.name in ("examples.md", "robots.md", "npz.md", "batch.md"):
            continue
        for number, block in enumerate(fences(page, "python")):
            file = tmp_path / f"{page.stem}_{number}.py"
            file.write_text(block, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-W", "error", file.name], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{page.name}:\n{done.stderr}"


def project() -> dict[str, Any]:
    return tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_extras_are_those_of_the_readme_and_of_messages() -> None:
    extras = project()["optional-dependencies"]
    rows = re.findall(r"^\| (`[a-z0-9`, ]+`) \| (?!.*\byes\b).*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    (everything,) = extras["all"]
    assert shown == set(everything.partition("[")[2].rstrip("]").split(","))
    assert f"{project()['name']}[all]" in extras["dev"]
    sources = "".join(path.read_text(encoding="utf-8") for path in (HOME / "src").rglob("*.py"))
    named = set(re.findall(r'MissingPackageError\(\s*[\w"-]+, "(\w+)"', sources))
    assert {"picture", "studio", "dataframe"} <= named <= shown


def test_dependencies_have_upper_bounds_and_installing_names_the_distribution() -> None:
    extras = project()["optional-dependencies"]
    names = extras["all"][0].partition("[")[2].rstrip("]").split(",")
    for requirement in [*project()["dependencies"], *(row for name in names for row in extras[name])]:
        assert re.fullmatch(r"[\w-]+(>=[\d.]+,<\d+|==[\d.]+)", requirement), requirement
    texts = [*PAGES, *(HOME / "src").rglob("*.py"), *(HOME / "benchmarks").glob("*.py")]
    for path in texts:
        for line in re.findall(r"pip install[^\n]*", path.read_text(encoding="utf-8")):
            assert "pip install understudy[" not in line.replace("'", ""), f"{path.name}: {line}"
            assert not re.search(r"pip install '?understudy\b(?!-motion)", line), f"{path.name}: {line}"


def test_the_citation_is_of_this_version() -> None:
    lines = (HOME / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert "cff-version: 1.2.0" in lines
    assert f"version: {understudy.__version__}" in lines
    assert project()["version"] == understudy.__version__
    assert f"license: {project()['license']}" in lines


@pytest.fixture(scope="module")
def contributed() -> dict[str, Any]:
    """What the code of CONTRIBUTING defines."""
    defined: dict[str, Any] = {}
    for block in fences(CONTRIBUTING, "python"):
        exec(compile(block, "CONTRIBUTING.md", "exec"), defined)
    return defined


def test_the_format_of_contributing_works(
    contributed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = contributed["FORMAT"]
    assert isinstance(found, Format)
    writer = ModuleType("understudy.io.path.writer")
    vars(writer)["write"] = contributed["write"]
    monkeypatch.setitem(sys.modules, writer.__name__, writer)
    motion = samples.motion("walk", seconds=1.0).motion
    assert found.write is not None
    with open_to_write(tmp_path / "walk.path") as stream:
        assert found.write(Clip.of(motion), stream, WriteOptions(unit=0.01)) == (
            "a path has no joints: only the root is kept",
        )
    first = [float(word) for word in (tmp_path / "walk.path").read_text().splitlines()[0].split()]
    assert first == pytest.approx(100.0 * motion.root[0], abs=1e-5)


def test_the_flags_of_formats_in_contributing_are_all_there() -> None:
    known = {"name", "title", "suffixes", "read", "write"}
    flags = {field.name for field in dataclasses.fields(Format)} - known
    shown = re.findall(r"^\| `(\w+)` \|", CONTRIBUTING.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(shown) == flags


def test_the_command_of_contributing_works(contributed: dict[str, Any], tmp_path: Path) -> None:
    command = contributed["COMMAND"]
    assert isinstance(command, click.Command)
    write(samples.motion("walk", seconds=1.0).motion, tmp_path / "walk.bvh", unit="cm")
    assert CliRunner().invoke(command, [str(tmp_path / "walk.bvh")]).stdout == "1.00 s\n"


def test_the_constraint_of_contributing_works(contributed: dict[str, Any]) -> None:
    constraint = contributed["CONSTRAINT"](first="LeftHand", second="RightHand", start=1.0, end=2.0)
    result = retarget("sample:walk", "sample:child", constraints=[constraint])
    assert not result.unmet
    heights = fk(result.motion).points(["LeftHand", "RightHand"])[30:61, :, 1]
    assert heights[:, 0] == pytest.approx(heights[:, 1], abs=constraint.tolerance)


def test_the_metric_of_contributing_works(contributed: dict[str, Any]) -> None:
    motion = samples.motion("walk", seconds=1.0).motion
    measured = contributed["METRIC"].measure(Comparison(result=motion))
    assert measured.verdict is Verdict.GOOD
    assert 0.5 < measured["speed"] < 3.0
    assert measured.words.startswith("the root moves at up to ")
    assert contributed["METRIC"].measure(Comparison(result=motion[:1])).words == "not measured: one frame has no speed"


@pytest.mark.parametrize("page", [*PAGES, HOME / "CHANGELOG.md", HOME / "SECURITY.md"], ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"


def test_pages_name_no_place_of_one_machine() -> None:
    for page in [*PAGES, HOME / "CHANGELOG.md", HOME / "mkdocs.yml", HOME / "Makefile"]:
        found = re.search(r"(?<![\w.<>])/(?:home|tmp|root|work|Users)/\S*", page.read_text(encoding="utf-8"))
        assert found is None, f"{page.name}: {found.group() if found else ''}"


def test_the_picture_of_the_rooms_shows_the_imports_of_the_source() -> None:
    text = FILL.ROOMS_PICTURE.read_text(encoding="utf-8")
    assert text == FILL.rooms_picture(), "run `python docs/fill.py`"
    assert text.count("<text") == len(FILL.room_levels()) == 16
    for upper, lower in FILL.direct_imports():
        assert FILL.room_levels()[upper] > FILL.room_levels()[lower]


def test_every_sample_has_its_picture_and_all_are_small() -> None:
    pictures = HOME / "docs" / "pictures"
    names = {path.stem for path in (pictures / "samples").glob("*.png")}
    assert names == {*samples.characters(), *samples.motions()}, "run `python docs/gallery.py`"
    assert sum(path.stat().st_size for path in pictures.rglob("*.png")) < MOST_BYTES


def test_dialogs_are_drawn_as_they_are_listed() -> None:
    spec = importlib.util.spec_from_file_location("engine_pictures", HOME / "docs" / "engine_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    for name, way in pictures.WAYS.items():
        drawn = (HOME / "docs" / "pictures" / f"way_{name}.svg").read_text(encoding="utf-8")
        assert pictures.draw(way) == drawn, name
        assert f"pictures/way_{name}.svg" in (HOME / "docs" / f"{name}.md").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="do not fit into a row"):
        pictures.draw((("a dialog", (("a long name of a setting", "and a value that is as long"),)),))
