"""`python -m papers` as a user meets it: tables, pictures, JSON, progress, exit codes and errors."""

from __future__ import annotations

import json
from pathlib import Path

import papers
import pytest
from click.testing import CliRunner, Result
from papers import Capture, Experiment, Findings, Fresh, Paper, Table, paper, vanderhyde03_study
from papers import papers as all_papers
from papers.__main__ import papers as command
from papers.__main__ import saved_results
from papers.base import figure

from understudy.base.errors import OptionError

NAMES = ("analogies", "gleicher98", "hsieh05", "lommers13", "vanderhyde03")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], prog_name="python -m papers")


def made_up(name: str, worse: tuple[str, ...] = ()) -> Paper:
    """A paper of one small table."""
    table = Table(title="A table", head=("case", "off (mm)"), rows=(("first", 0.25), ("second", None)))

    def work(folder, tell):
        tell("the only experiment")
        return Findings(tables=(table,), worse=worse)

    def capture(data, folder, tell):
        tell(f"{len((data / 'walk.bvh').read_text())} bytes")
        return Findings(tables=(Table(title="Captured", head=("case",), rows=(("walk",),)),))

    def fresh(collection, data, folder, tell):
        return Findings(tables=(Table(title="Fresh", head=("case",), rows=(("walk",),)),))

    return Paper(
        name=name,
        title=f"Title of {name}",
        experiments=(Experiment(name="one", about="one", run=work),),
        captures=(
            Capture(name="two", about="a captured walk", files=("walk.bvh",), run=capture),
            Capture(name="three", about="a captured dance", files=("walk.bvh", "dance.bvh"), run=capture),
        ),
        fresh=(
            Fresh(name="four", about="a fresh walk", clips=("07_05",), run=fresh),
            Fresh(name="five", about="a fresh run", clips=("09_05",), run=fresh),
        ),
    )


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study of Vanderhyde03 with one random placement of its keys in place of 20, and fewer frames."""
    monkeypatch.setattr(vanderhyde03_study, "DRAWS", 1)
    monkeypatch.setattr(vanderhyde03_study, "EVERY", 60)
    monkeypatch.setattr(vanderhyde03_study, "MORE_KEYS", (7, 8))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Paper]:
    """Two made-up papers in place of the real ones: one held up to, one not."""
    found = {"good": made_up("good"), "bad": made_up("bad", ("first: off by 0.25 mm, the paper's by 0.1",))}
    monkeypatch.setattr(papers, "papers", lambda: found)
    return found


def test_every_paper_is_found() -> None:
    assert tuple(all_papers()) == NAMES
    for name in NAMES:
        names = [experiment.name for experiment in paper(name).experiments]
        assert names
        assert len(set(names)) == len(names)


def test_a_paper_is_run_and_written(few_draws: None, tmp_path: Path) -> None:
    """Vanderhyde03: few keys hold worse and worse the fewer there are, ours within a millimetre; page and picture."""
    result = run("vanderhyde03", "-o", tmp_path / "deep" / "folder", "--json")
    assert result.exit_code == 0, result.stderr
    (data,) = json.loads(result.stdout)
    (table,) = data["experiments"][0]["tables"]
    off = {row["method"]: row["off on average (mm)"] for row in table["rows"]}
    assert off["4 keys"] > off["5 keys"] > off["6 keys"] > 10.0
    assert max(row["off at most (mm)"] for row in table["rows"] if row["method"] == "ours") < 1.0
    page, picture = (Path(file) for file in data["files"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    assert "| 4 keys |" in text
    assert f"![handhold]({picture.name})" in text
    assert data["worse"] == []
    assert {claim["paper"] for claim in data["claims"]} == {"vanderhyde03"}
    assert {claim["fresh captures"] for claim in data["claims"]} == {"not run"}
    assert "# Claims of the papers" in (page.parent / "claims.md").read_text(encoding="utf-8")
    assert "vanderhyde03: a handhold with 4, 5 and 6 keys" in result.stderr


def test_the_solvers_of_gleicher_are_compared() -> None:
    """Sec. 7.2 of Gleicher98: each solver is at least as near as the paper's, and ours is the nearest of all."""
    solvers = next(each for each in paper("gleicher98").experiments if each.name == "solvers")
    said: list[str] = []
    found = solvers.run(None, said.append)
    rows = {row[0]: dict(zip(found.tables[0].head, row, strict=True)) for row in found.tables[0].rows}
    assert list(rows) == ["sqp", "lmult", "least_squares", "spacetime"]
    assert found.worse == ()
    assert rows["least_squares"]["ours, worst (mm)"] < 6.35
    assert rows["spacetime"]["ours, worst (mm)"] == min(row["ours, worst (mm)"] for row in rows.values())
    assert said == [f"by {name}" for name in rows]


def test_without_a_folder_nothing_is_drawn(
    library: dict[str, Paper], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("good")
    assert not list(tmp_path.iterdir())
    assert result.exit_code == 0
    assert "Title of good" in result.stdout
    assert "  first   0.25" in result.stdout
    assert "  second  -" in result.stdout


def test_no_name_means_every_paper(library: dict[str, Paper]) -> None:
    result = run("--json")
    assert [data["name"] for data in json.loads(result.stdout)] == ["good", "bad"]


def test_where_a_paper_did_better_the_command_fails(library: dict[str, Paper], tmp_path: Path) -> None:
    result = run("bad", "-o", tmp_path)
    assert result.exit_code == 1
    assert "worse than the paper: first: off by 0.25 mm, the paper's by 0.1" in result.stderr
    assert "- worse than the paper: first" in (tmp_path / "bad.md").read_text(encoding="utf-8")


def test_captures_are_run_where_there_are_files_and_named_where_not(library: dict[str, Paper], tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    (data / "walk.bvh").write_text("HIERARCHY")
    result = run("good", "--data", data, "-o", out, "--json")
    assert result.exit_code == 0
    (report,) = json.loads(result.stdout)
    assert [each["name"] for each in report["experiments"]] == ["one", "two"]
    assert report["skipped"] == [f"good: a captured dance: there is no dance.bvh in {data}"]
    assert "good: 9 bytes" in result.stderr
    assert f"skipped: good: a captured dance: there is no dance.bvh in {data}" in result.stderr
    assert "## Captured" in (out / "good.md").read_text(encoding="utf-8")


def test_without_data_captures_are_not_spoken_of(library: dict[str, Paper]) -> None:
    result = run("good")
    assert "Captured" not in result.stdout
    assert "skipped" not in result.stderr


def test_a_folder_of_captures_that_is_not_there_is_named(library: dict[str, Paper], tmp_path: Path) -> None:
    result = run("good", "--data", tmp_path / "nowhere")
    assert result.exit_code == 1
    assert "nowhere: there is no such folder" in result.stderr
    assert "hint: --data takes a folder of captured motion" in result.stderr


def test_fresh_captures_are_run_where_there_are_clips_and_named_where_not(
    library: dict[str, Paper], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "007").mkdir()
    (tmp_path / "007" / "07_05.bvh").touch()
    (report,) = json.loads(run("good", "--cmu", tmp_path, "--json").stdout)
    assert [each["name"] for each in report["experiments"]] == ["one", "four"]
    assert report["skipped"] == [f"good: a fresh run: there is no 09_05 in {tmp_path}"]
    monkeypatch.setenv("UNDERSTUDY_CMU", str(tmp_path / "nowhere"))
    result = run("good")
    assert result.exit_code == 1
    assert "hint: --cmu takes a folder of the CMU collection" in result.stderr


def test_an_empty_folder_of_captures_fails_nothing(few_draws: None, tmp_path: Path) -> None:
    result = run("vanderhyde03", "--data", tmp_path)
    assert result.exit_code == 0
    assert "there is no cmu_bvh/13_29.bvh" in result.stderr


def test_a_figure_with_constraints_that_are_not_met_is_worse() -> None:
    lines = ["small: all 3 constraints are met", "large: 2 of 3 constraints are not met; the worst is `hand`"]
    found = figure("fig99", "two sizes", lambda _path: lines).run(None, lambda _text: None)
    assert found.worse == (f"fig99: {lines[1]}",)
    assert found.tables[0].rows[0] == ("small", "all 3 constraints are met")


def test_an_unknown_paper_is_refused_with_the_nearest() -> None:
    result = run("lomers13")
    assert result.exit_code == 2
    assert "There is no paper `lomers13`; nearest: `lommers13`" in result.stderr


def test_a_folder_that_cannot_be_made_is_named(library: dict[str, Paper], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    result = run("good", "-o", tmp_path / "taken")
    assert result.exit_code == 1
    assert "the folder cannot be made" in result.stderr


def test_a_table_checks_its_rows_and_shows_its_cells() -> None:
    with pytest.raises(OptionError, match="Table `Off`: row 0 has 1 cells, expected 2 as in its head"):
        Table(title="Off", head=("a", "b"), rows=(("only",),))
    table = Table(title="On", head=("a", "b", "c", "d"), rows=((True, 1234.5, 2e-5, "x|y"),))
    assert table.markdown().splitlines()[2] == "| yes | 1.23e+03 | <0.001 | x\\|y |"


def test_help_ends_in_an_example() -> None:
    result = run("--help")
    assert "Example: python -m papers lommers13" in result.stdout


def test_experiments_run_one_by_one_join_one_page(library: dict[str, Paper], tmp_path: Path) -> None:
    """A single experiment replaces its own results in a folder, and keeps those of the others."""
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    (data / "walk.bvh").write_text("HIERARCHY")
    assert run("good.two", "--data", data, "-o", out).exit_code == 0
    assert list(json.loads((out / "good.json").read_text())) == ["two"]
    result = run("good.one", "-o", out, "--json")
    assert [each["name"] for each in json.loads(result.stdout)[0]["experiments"]] == ["one"]
    kept = saved_results(library["good"], out)
    assert list(kept) == ["one", "two"]
    assert kept["one"].tables[0].rows == (("first", 0.25), ("second", None))
    page = (out / "good.md").read_text(encoding="utf-8")
    assert "## A table" in page
    assert "## Captured" in page


def test_an_unknown_experiment_is_refused_with_the_nearest() -> None:
    result = run("lommers13.todai")
    assert result.exit_code == 2
    assert "`lommers13` has no experiment `todai`; nearest: `today`" in result.stderr


def test_pages_are_filled_from_results(library: dict[str, Paper], tmp_path: Path) -> None:
    """Blocks of what was run are replaced, the others stay; pictures that a page shows are cropped into its folder."""
    from docs.papers.pages import fill_pages

    out, pages = tmp_path / "out", tmp_path / "pages"
    pages.mkdir()
    assert run("good", "-o", out).exit_code == 0
    page = pages / "good.md"
    page.write_text(
        "<!-- numbers: good.one -->\nold\n<!-- /numbers -->\n"
        "<!-- numbers: good.one.1 -->\n<!-- /numbers -->\n<!-- numbers: good.two -->\nkept\n<!-- /numbers -->\n"
    )
    fill_pages(out, pages)
    whole, table, other = page.read_text().split("<!-- /numbers -->")[:3]
    assert "A table:\n\n| case | off (mm) |" in whole
    assert "old" not in whole
    assert "A table" not in table
    assert "| first | 0.25 |" in table
    assert "kept" in other
