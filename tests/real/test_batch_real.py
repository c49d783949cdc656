"""Batches of captured and authored motions: as `retarget` makes them, with every file that is none told apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from understudy.app.cli import cli
from understudy.batch import batch

pytestmark = pytest.mark.xdist_group("batch_real")
CLIPS = ("cmu_bvh/02_03.bvh", "cmu_bvh/09_01.bvh", "cmu_asfamc/02.asf", "cmu_asfamc/02_01.amc", "gltf/Fox.glb")


@pytest.fixture(scope="module")
def library(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for name in CLIPS:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(data / name, folder / name)
    shutil.copytree(data / "bvh_conformance", folder / "odd")
    return folder


@pytest.fixture(scope="module")
def output(library: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made") / "out"
    rows = list(batch(library, data / "gltf" / "m2m_rig_human.glb", made, workers=2, timeout=120.0, format="bvh"))
    assert len(rows) == len({row["clip"] for row in rows})
    return made


def rows_of(output: Path) -> dict[str, dict[str, object]]:
    import json

    found = [json.loads(line) for line in (output / "rows.jsonl").read_text().splitlines()]
    return {str(row["clip"]): row for row in found}


def test_captured_clips_are_done(output: Path) -> None:
    rows = rows_of(output)
    for clip in ("cmu_bvh/02_03.bvh", "cmu_bvh/09_01.bvh", "cmu_asfamc/02_01.amc"):
        row = rows[clip]
        assert (row["status"], row["reason"]) == ("done", "")
        kept = row["contact_timing.kept_5cm"]
        assert isinstance(kept, float)
        assert kept > 0.9


def test_every_animation_of_the_fox_has_a_row(output: Path) -> None:
    assert {f"gltf/Fox.glb#{name}" for name in ("Survey", "Walk", "Run")} <= set(rows_of(output))


def test_files_that_are_no_motion_say_why(output: Path) -> None:
    rows = rows_of(output)
    broken = {clip: row for clip, row in rows.items() if "invalid" in clip or "empty" in clip}
    assert len(broken) == 8
    for clip, row in broken.items():
        assert row["status"] == "failed"
        assert str(row["reason"]).startswith(f"{clip}:")
        assert not (output / clip).exists()
    assert "without motion" in str(rows["odd/univrm_hierarchy_mocap.bvh"]["reason"])


def test_results_are_those_of_retarget(library: Path, data: Path, output: Path, tmp_path: Path) -> None:
    for name in ("cmu_bvh/09_01.bvh", "cmu_asfamc/02_01.amc"):
        words = ["retarget", library / name, data / "gltf" / "m2m_rig_human.glb", "-o", tmp_path / "one.bvh"]
        done = CliRunner().invoke(cli, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        assert (tmp_path / "one.bvh").read_bytes() == (output / name).with_suffix(".bvh").read_bytes()
