"""The table of all claims: each is checked on an experiment that there is, and says what its figures show."""

from __future__ import annotations

from pathlib import Path

import pytest
from papers import papers
from papers.base import Findings, Fresh, Table, collected_path
from papers.claims import CLAIMS, HEAD, claims_table, path_as_steps, solved
from papers.vanderhyde03_study import HEAD as STUDY_HEAD


def test_every_claim_is_checked_on_an_experiment_that_there_is() -> None:
    names = {
        f"{paper.name}.{each.name}"
        for paper in papers().values()
        for each in (*paper.experiments, *paper.captures, *paper.fresh)
    }
    assert {claim.paper for claim in CLAIMS} == set(papers())
    for claim in CLAIMS:
        checks = [check for check in (claim.samples, claim.developed, claim.fresh) if check is not None]
        assert checks
        assert {check.experiment for check in checks} <= names


def study(means: tuple[float, float, float]) -> Findings:
    """A study whose keys hold so tightly on average, millimetres; ours holds within 0.01 mm."""
    rows = [
        ("squat", f"study{word}, {count} keys", "", True, 50.0, mean, 1.0, 1.0, 1.0, 100.0 + count, 0.1)
        for word in ("", ", equal weights")
        for count, mean in zip((4, 5, 6, 24), (*means, 1.0), strict=True)
    ]
    rows.append(("squat", "ours", "-", None, 0.01, 0.01, 0.0, 0.0, 0.0, 90.0, 0.1))
    empty = Table(title="drawn", head=("a",), rows=())
    head = ("squat", "frames that the study's solver misses alone")
    verdict = Table(title="claim", head=head, rows=(("squat", "none"),))
    return Findings(tables=(Table(title="study", head=STUDY_HEAD, rows=tuple(rows)), empty, verdict))


@pytest.mark.parametrize(("means", "word"), [((30.0, 20.0, 10.0), "yes"), ((30.0, 40.0, 10.0), "no")])
def test_a_claim_is_shown_or_refuted_by_figures(means: tuple[float, float, float], word: str) -> None:
    table = claims_table({"vanderhyde03.study": study(means)})
    assert table.head == HEAD
    rows = {row[2]: row for row in table.rows}
    assert all(row[0] == "vanderhyde03" for row in table.rows)
    tight = rows["More keys hold more tightly (4, 5, 6 keys)"]
    assert tight[3] == f"{word}: off on average {means[0]:.0f}, {means[1]:.0f}, {means[2]:.0f} mm"
    assert tight[4:] == ("not run", "not run")
    assert rows["In a range of frames no hold is found"][3] == "no: none"


def test_a_row_that_no_pose_reaches_counts_as_impossible() -> None:
    """What is left is a fault of the solve where the body reaches, within the thesis's tolerance at both ends."""
    met = {"id": "01", "left (m)": 0.0, "reach to spare (m)": -0.01}
    impossible = {"id": "06", "left (m)": 4.8, "reach to spare (m)": -0.333}
    missed = {"id": "07", "left (m)": 0.2, "reach to spare (m)": -0.05}
    words = "1 of 2 solved; 06 is impossible: 0.33 m of reach are missing in any pose"
    assert solved([met, impossible]) == (True, words)
    assert solved([met, missed]) == (False, "1 of 2 solved; not 07")
    both = [{**met, "motion": "reach", "way": way, "left (m)": left} for way, left in (("thesis", 0.0), ("ours", 9.0))]
    assert solved(both) == (True, "1 of 1 solved")


def test_a_fresh_experiment_names_the_clips_that_it_misses(tmp_path: Path) -> None:
    def run(collection, data, folder, tell):
        raise AssertionError

    (tmp_path / "014").mkdir()
    (tmp_path / "014" / "14_06.bvh").touch()
    (tmp_path / "07_05.bvh").touch()
    fresh = Fresh(name="one", about="one", clips=("14_06", "07_05", "16_47"), files=("dog.bvh",), run=run)
    assert fresh.missing(tmp_path, None) == ["16_47", "dog.bvh"]
    assert fresh.missing(tmp_path, tmp_path) == ["16_47", "dog.bvh"]
    assert collected_path(tmp_path, "14_06") == tmp_path / "014" / "14_06.bvh"
    assert collected_path(tmp_path, "07_05") == tmp_path / "07_05.bvh"


@pytest.mark.parametrize(
    ("path", "source", "holds"),
    [(1.0, None, True), (0.5, 0.5, True), (0.5, 1.0, False), (0.5, None, False), (None, None, True)],
)
def test_a_path_may_be_as_short_as_the_sources(path: float | None, source: float | None, holds: bool) -> None:
    rows = [{"path / steps": 0.9, "the same of A": 1.0}, {"path / steps": path, "the same of A": source}]
    assert path_as_steps(rows)[0] is holds
