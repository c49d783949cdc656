"""The report of a batch: the table, the worst clips, pictures, the page."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from understudy import samples
from understudy.batch import report as batch_report
from understudy.batch.journal import Index, Journal
from understudy.batch.location import Folder, Store
from understudy.batch.report import (
    MAX_WORST_CLIPS,
    Summary,
    columns_of,
    open_in_studio,
    rankings,
    write_page,
    write_table,
)
from understudy.figure.sketch import SIZE, thumbnail
from understudy.figure.stick import LEFT, MIDDLE, PALETTES, RIGHT


def row(clip: str, **more: Any) -> dict[str, Any]:
    columns = {"clip": clip, "status": "done", "reason": "", "output": clip, "verdict": "good", "frames": 10}
    return {**columns, "fps": 30.0, "duration": 0.3, "notes": ["one", "two"], "seconds": 1.5, **more}


ROWS = [
    row("a.bvh", **{"foot_skate.mean_speed": 0.25, "unmet": 2, "floor.depth": None}),
    {"clip": "b, c.bvh", "status": "failed", "reason": 'said "no"', "notes": [], "seconds": 2},
]


def test_columns_are_in_order() -> None:
    columns = columns_of(ROWS)
    names = list(columns)
    assert names[:4] == ["clip", "status", "reason", "output"]
    assert names[-2:] == ["notes", "seconds"]
    assert names.index("unmet") < names.index("floor.depth") < names.index("foot_skate.mean_speed")
    assert (columns["seconds"], columns["unmet"], columns["frames"]) == (float, int, int)


def test_a_table_as_csv(tmp_path: Path) -> None:
    write_table(Folder(path=tmp_path), "table.csv", lambda: ROWS)
    with open(tmp_path / "table.csv", newline="") as stream:
        first, second = csv.DictReader(stream)
    assert (first["foot_skate.mean_speed"], first["notes"], first["floor.depth"]) == ("0.25", "one; two", "")
    assert (second["clip"], second["reason"], second["frames"]) == ("b, c.bvh", 'said "no"', "")


def test_a_table_as_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(batch_report, "PARQUET_GROUP_ROWS", 1)
    write_table(Folder(path=tmp_path), "table.parquet", lambda: ROWS)
    rows = parquet.read_table(tmp_path / "table.parquet").to_pylist()
    assert rows[0]["foot_skate.mean_speed"] == 0.25
    assert rows[0]["floor.depth"] is None
    assert (rows[0]["unmet"], rows[1]["unmet"]) == (2, None)
    assert rows[1] | {"clip": "b, c.bvh", "seconds": 2.0, "frames": None, "notes": ""} == rows[1]


def test_a_table_in_a_store() -> None:
    fsspec = pytest.importorskip("fsspec")
    write_table(Store(url="memory://bucket"), "table.csv", lambda: ROWS)
    assert fsspec.filesystem("memory").cat("/bucket/table.csv").startswith(b"clip,status,reason,output")


def test_the_worst_clips_do_not_depend_on_the_order(rng: np.random.Generator) -> None:
    by_metric = {ranking.metric: ranking for ranking in rankings()}
    skate, timing = by_metric["foot_skate"], by_metric["contact_timing"]
    assert (skate.sign, timing.sign) == (1.0, -1.0)
    rows = [
        row(
            f"{number:02d}.bvh",
            **{
                "foot_skate.verdict": "good" if number == 49 else "bad",
                "contact_timing.verdict": "noticeable",
                skate.column: float(number // 2),
                timing.column: float(number),
            },
        )
        for number in range(50)
    ]
    rows.append({"clip": "x.bvh", "status": "failed", "reason": "broken"})
    results = []
    for _ in range(3):
        summary = Summary()
        for entry in rng.permutation(np.array(rows, object)):
            summary.add(entry)
        results.append(summary.data())
    assert results[0] == results[1] == results[2]
    assert (results[0]["clips"], results[0]["done"], results[0]["failed"]) == (51, 50, 1)
    assert results[0]["failures"] == [{"clip": "x.bvh", "reason": "broken"}]
    worst = results[0]["worst"][skate.column]
    assert len(worst) == MAX_WORST_CLIPS
    # 49 has the largest figure but the verdict good. Equal figures are sorted by name.
    assert [entry["clip"] for entry in worst[:3]] == ["48.bvh", "46.bvh", "47.bvh"]
    assert [entry["clip"] for entry in results[0]["worst"][timing.column][:2]] == ["00.bvh", "01.bvh"]


@pytest.mark.parametrize("name", ["walk", "dog_walk", "swim", "spider_walk", "ladder"])
def test_pictures_stay_inside_and_are_small(name: str) -> None:
    picture = thumbnail(samples.motion(name).motion)
    root = ElementTree.fromstring(picture)
    assert root.tag == "svg"
    strokes = [element for element in root.iter("path") if element.get("stroke-width")]
    assert len(root.findall("g")) == 5
    assert len(strokes) >= 10
    for element in strokes:
        numbers = np.array(re.findall(r"-?[\d.]+", str(element.get("d"))), float).reshape(-1, 2)
        assert np.all(numbers >= 0.0)
        assert np.all(numbers <= SIZE)
    assert len(picture) < 12_000


@pytest.mark.parametrize(("step", "near"), [(1, RIGHT), (-1, LEFT)])
def test_a_picture_shows_the_near_side_in_front(step: int, near: int) -> None:
    """The view is from the right of the path, so from the left of a body that walks backwards."""
    motion = samples.motion("walk").motion
    root = ElementTree.fromstring(thumbnail(motion[np.arange(motion.num_frames)[::step]]))
    colours = [PALETTES[0].of(side) for side in (-near, MIDDLE, near)]
    for pose in root.findall("g"):
        order = [colours.index(path.get("stroke")) for path in pose.findall("path")]
        assert order == sorted(order)
        assert set(order) == {0, 1, 2}


def test_a_picture_of_a_body_without_bones_and_of_one_frame() -> None:
    from understudy.figure.motion import rest_motion

    for character in ("can", "adult"):
        root = ElementTree.fromstring(thumbnail(rest_motion(samples.character(character))))
        assert len(root.findall("g")) == 1
        assert any(element.get("d") for element in root.iter("path"))


def test_the_page_lists_all_clips_and_escapes_their_names(tmp_path: Path) -> None:
    location = Folder(path=tmp_path)
    pictures = Journal(location, "pictures.jsonl")
    pictures.add({"clip": "a.bvh", "picture": "<svg>drawn</svg>"})
    pictures.close()
    evil = "<script>alert(1)</script>.bvh"
    rows = [
        row("a.bvh", **{"foot_skate.verdict": "bad"}),
        row(evil, output="failed/it's.bvh", status="failed", reason="<b>frozen"),
    ]
    summary = Summary()
    for entry in rows:
        summary.add(entry)
    write_page(location, "index.html", summary, lambda: rows, Index.of(pictures))
    text = (tmp_path / "index.html").read_text()
    assert "<svg>drawn</svg>" in text
    assert "<script>alert" not in text
    assert "&lt;b&gt;frozen" in text
    assert '<b class="done">1</b> done' in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert text.index("&lt;script&gt;alert") < text.index('href="a.bvh"'), "failed clips come first"
    link, command = open_in_studio(location, "failed/it's.bvh")
    assert link == "failed/it%27s.bvh"
    assert command == f"""understudy studio '{tmp_path}/failed/it'"'"'s.bvh'"""
    assert f'href="{link}"' in text
