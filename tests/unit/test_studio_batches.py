"""Batches of the studio: a folder of motions performed as the document says, each clip with its verdict."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import understudy
from understudy import samples
from understudy.base.errors import OptionError
from understudy.studio.batches import BatchRunner, batch_document, row_table
from understudy.studio.document import empty_document
from understudy.studio.messages import RequestError


def document(*actors: dict[str, Any], **tables: Any) -> dict[str, Any]:
    empty = empty_document()
    return {**empty, "recipe": {**empty["recipe"], "actor": list(actors), **tables}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    clips = tmp_path / "clips"
    (clips / "more").mkdir(parents=True)
    understudy.write(samples.motion("walk", seconds=0.5).motion, clips / "walk.bvh")
    understudy.write(samples.motion("squat", seconds=0.5).motion, clips / "more" / "squat.bvh")
    (clips / "broken.bvh").write_text("HIERARCHY\nROOT")
    return clips


async def run(runner: BatchRunner, wanted: dict[str, Any], base: Path, source: Path, output: Path | None) -> None:
    runner.start(wanted, base, source, output)
    while runner.running:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.05)


def test_every_motion_of_a_folder_gets_a_verdict(folder: Path, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    runner = BatchRunner(tmp_path / "state", events.append)
    wanted = document(
        {"source": str(folder / "walk.bvh"), "scale": {"legs": 1.2}},
        constraint=[{"kind": "place", "point": "LeftHand", "target": [0.0, 1.0, 0.0], "start": 0.0, "end": 0.1}],
    )
    asyncio.run(run(runner, wanted, tmp_path, folder, tmp_path / "out"))
    last = events[-1]["batch"]
    assert (last["running"], last["total"], last["error"]) == (False, 3, None)
    verdicts = {row["clip"]: row["verdict"] for row in last["rows"]}
    assert set(verdicts) == {"walk.bvh", "more/squat.bvh", "broken.bvh"}
    assert verdicts["broken.bvh"] == "failed"
    assert {verdicts["walk.bvh"], verdicts["more/squat.bvh"]} <= {"good", "noticeable", "bad"}
    assert next(row["words"] for row in last["rows"] if row["verdict"] == "failed")
    assert (tmp_path / "out" / "more" / "squat.bvh").is_file()
    with pytest.raises(OptionError, match="no batch has written"):
        asyncio.run(run(runner, wanted, tmp_path, folder, folder))


def test_a_batch_keeps_what_holds_for_every_clip() -> None:
    place = {"kind": "place", "point": "LeftHand", "target": [0.0, 0.0, 0.0]}
    options, reading = {"contacts": "listed", "plants": "fixed"}, {"frames": "3:9", "up": "Z"}
    kept = batch_document(document({"source": "a.bvh"}, constraint=[place], options=options, reading=reading))["recipe"]
    assert kept["constraint"] == []
    assert kept["options"] == {"plants": "fixed"}
    assert kept["reading"] == {"up": "Z"}
    with pytest.raises(RequestError, match="one character"):
        batch_document(document())


def test_a_row_says_what_makes_its_verdict() -> None:
    row = {"clip": "a.bvh", "status": "done", "verdict": "bad", "pop.verdict": "bad", "standing.verdict": "good"}
    assert row_table(row)["words"] == "pops"
    assert row_table({**row, "verdict": "good"})["words"] == ""
