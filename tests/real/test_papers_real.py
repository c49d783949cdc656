"""The papers' experiments on captures, as `python -m papers --data` runs them: every claim of the written pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from papers import paper
from papers.__main__ import papers as command
from papers.base import Findings
from papers.lommers13 import MAX_MISSING_REACH_METRES


def found(data: Path, name: str, capture: str) -> Findings:
    one = next(each for each in paper(name).captures if each.name == capture)
    assert one.missing(data) == []
    return one.run(data, None, lambda _text: None)


def rows(findings: Findings) -> list[dict[str, Any]]:
    (table,) = findings.tables
    return [dict(zip(table.head, row, strict=True)) for row in table.rows]


def energies(row: dict[str, Any], head: str = "energy above 4/8/12 Hz") -> list[float]:
    return [float(word) for word in row[head].split(" / ")]


def test_walks(data: Path) -> None:
    """Gleicher98, fig. 3: ours alone meets the plants (1 mm) and adds no energy (2%)."""
    table = rows(found(data, "gleicher98", "walks"))
    assert {row["clip"] for row in table} == {"02_01", "16_15"}
    for row in table:
        met = row["plants off (mm)"] < 1.0
        calm = max(abs(each - 1.0) for each in energies(row)) < 0.02
        assert (met, calm) == {
            "copied": (False, True), "inverse kinematics": (True, False), "low-pass filtered": (False, calm),
            "ours": (True, True),
        }[row["method"]]  # fmt: skip


def test_ladder(data: Path) -> None:
    """Fig. 4 and sec. 7.2: holds within 1 mm and no energy added; holds that slide change the climber less."""
    table = {(row["holds"], row["method"]): row for row in rows(found(data, "gleicher98", "ladder_captured"))}
    fixed, slide = table["holds fixed", "ours"], table["holds slide", "ours"]
    for row in (fixed, slide):
        assert row["holds off (mm)"] < 1.0
        assert max(abs(each - 1.0) for each in energies(row)) < 0.05
    assert slide["changed by (deg)"] < fixed["changed by (deg)"]
    assert min(energies(table["holds fixed", "inverse kinematics"])) > 1.2
    assert table["holds fixed", "low-pass filtered"]["holds off (mm)"] > 40.0


def test_dance(data: Path) -> None:
    """Sec. 7.3: without holds she is out of them by centimetres, else by less than 1 mm."""
    table = {row["case"]: row for row in rows(found(data, "gleicher98", "dance_captured"))}
    assert table.pop("no holds")["out of holds (mm)"] > 30.0
    assert len(table) == 3
    assert max(row["out of holds (mm)"] for row in table.values()) < 1.0


def test_boxes(data: Path) -> None:
    table = rows(found(data, "gleicher98", "boxes"))
    assert len(table) == 4
    for row in table:
        assert row["hands off without (mm)"] > 100.0
        assert max(row["hands off (mm)"], row["width off (mm)"]) < 1.0


def test_solvers(data: Path) -> None:
    """Sec. 6: each solver is nearer than the paper's, and ours the nearest and quickest."""
    findings = found(data, "gleicher98", "solvers_captured")
    assert findings.worse == ()
    table = {row["solver"]: row for row in rows(findings)}
    ours = table.pop("spacetime")
    assert ours["ours, worst (mm)"] < min(row["ours, worst (mm)"] for row in table.values())
    assert ours["ours (s)"] < min(row["ours (s)"] for row in table.values())


def test_handhold(data: Path) -> None:
    """Vanderhyde03: more keys hold more tightly, none holds; ours does."""
    table = {row["method"]: row for row in rows(found(data, "vanderhyde03", "handhold_captured"))}
    means = [table[f"{count} keys"]["off on average (mm)"] for count in (4, 5, 6)]
    assert means == sorted(means, reverse=True)
    assert min(table[f"{count} keys"]["off at most (mm)"] for count in (4, 5, 6)) > 30.0
    assert table["ours"]["off at most (mm)"] < 1.0


def test_dog_and_man(data: Path) -> None:
    """Hsieh05, fig. 8 (a): plants hold (2 mm), and legs swing with the source's both ways."""
    findings = found(data, "hsieh05", "played")
    assert findings.worse == ()
    assert len(rows(findings)) == 4
    for row in rows(findings):
        assert row["plants off (mm)"] < 2.0
        assert row["legs in step (correlation)"] > 0.8


def test_men_become_a_dog(data: Path) -> None:
    for row in rows(found(data, "hsieh05", "turned")):
        assert row["contacts off (mm)"] < 2.0
        assert row["bones go back (mm)"] < 1e-6
        assert row["fastest step, of what is allowed"] <= 1.0


def test_analogies(data: Path) -> None:
    table = rows(found(data, "analogies", "captured"))
    assert len(table) == 5
    for row in table:
        assert row["correlation"] > 0.8
        assert row["period (s)"] == pytest.approx(row["source's period (s)"], rel=0.05)
        assert row["contacts after (mm)"] < 1.0


def test_configurations_of_lommers(data: Path) -> None:
    """The thesis's own constraints are met by all but the body of 0.7 a level, which does not reach in any pose."""
    table = {row["id"]: row for row in rows(found(data, "lommers13", "table_captured"))}
    assert list(table) == [f"{number:02d}" for number in range(1, 13)]
    assert {name for name, row in table.items() if row["left (m)"] > 0.0} == {"06"}
    assert {name for name, row in table.items() if row["reach to spare (m)"] < -MAX_MISSING_REACH_METRES} == {"06"}
    assert {name for name, row in table.items() if row["goal (mm)"] > 26.0} == {"06"}


def test_the_command_runs_them(data: Path, tmp_path: Path) -> None:
    arguments = ["vanderhyde03", "--data", str(data), "-o", str(tmp_path), "--json"]
    result = CliRunner().invoke(command, arguments, prog_name="understudy")
    assert result.exit_code == 0, result.stderr
    (report,) = json.loads(result.stdout)
    names = [each["name"] for each in report["experiments"]]
    assert names == ["handhold", "study", "handhold_captured", "study_captured"]
    assert {claim["paper"] for claim in report["claims"]} == {"vanderhyde03"}
    assert report["skipped"] == []
    assert (tmp_path / "handhold_captured.png").is_file()
    assert "13_29" in (tmp_path / "vanderhyde03.md").read_text(encoding="utf-8")
