"""The pieces of the quality matrix: figures of planted defects, pairs, cut files, failures as rows, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.figure.measures import leg_length
from understudy.io import write
from understudy.io.clip import Clip

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"

JUDGE = """
BOUNDS = dict(jerk_hips=1.1, pops=0)


def judge(source, result):
    if "odd" in source:
        raise SystemExit(f"{source}: no joint found for hips")
    return dict(jerk_hips=1.5 if "result" in result else 1.0, pops=0.0, drift_share=0.0)
"""


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmarks' folder by name."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def module(name: str) -> ModuleType:
        return __import__(name)

    return module


@pytest.fixture
def walk():
    return samples.motion("walk", fps=120.0, seconds=2.0).motion


@pytest.fixture
def judge(load, tmp_path: Path):
    """A judge that finds a fault with every result and none with carried motions."""
    folder = tmp_path / "judge"
    folder.mkdir()
    (folder / "judge.py").write_text(JUDGE, encoding="utf-8")
    return load("quality_judge").find_judge(str(folder))


def moved(motion, shift):
    """The motion with its root shifted by (F, 3) leg lengths."""
    return replace(motion, root=motion.root + leg_length(motion.skeleton) * shift)


def figures(load, source, result):
    module = load("quality_figures")
    return module.compare_paths(module.BodyPaths.of(source), module.BodyPaths.of(result))


def test_a_motion_against_itself_and_a_similar_body_has_nothing_beyond(load, walk):
    smaller = replace(walk, skeleton=walk.skeleton.scaled(0.6), root=0.6 * walk.root)
    for result in (walk, smaller):
        assert figures(load, walk, result) == pytest.approx({"hips_jerk": 1.0, "pops": 0.0, "drift_share": 0.0})


def test_planted_defects_are_found(load, walk):
    shift = np.zeros_like(walk.root)
    shift[100:, 1] = 0.006
    popped = figures(load, walk, moved(walk, shift))
    # One step shows in the two frames beside it.
    assert popped["pops"] == pytest.approx(2 / len(walk) * walk.fps * 10)
    assert popped["hips_jerk"] > 1.1
    slide = np.linspace(0.0, 0.5, len(walk))[:, None] * [1.0, 0.0, 0.0]
    slid = figures(load, walk, moved(walk, slide))
    assert slid["drift_share"] == 1.0
    assert slid["hips_jerk"] == pytest.approx(1.0)
    assert slid["pops"] == 0.0


def test_a_slow_step_is_no_row_of_rests(load):
    rests = load("quality_figures").rests
    path = np.zeros((240, 3))
    path[:, 0] = np.interp(np.arange(240), [60, 180], [0.0, 0.3])
    assert [last - first > 50 for first, last in rests(path, 120.0)] == [True, True]


def test_matrix_is_read(load, tmp_path):
    pairs = load("quality_pairs")
    (tmp_path / "matrix.tsv").write_text(
        "# source\ttarget\na/w.bvh\t-\t--scale legs=1.3\na/w.bvh\tb/man.glb\na/w.bvh\tsample:child\n", encoding="utf-8"
    )
    read = pairs.read_matrix(tmp_path / "matrix.tsv", tmp_path)
    assert [pair.name for pair in read] == ["w to x legs=1.3", "w to man", "w to sample:child"]
    assert read[1].target == str(tmp_path / "b/man.glb")
    assert read[2].target == "sample:child"


def test_clips_are_drawn_by_seed_and_cut(load, walk, tmp_path):
    pairs = load("quality_pairs")
    for name in ("a/1.bvh", "a/2.BVH", "b/3.bvh", "b/4.bvh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(Clip.of(walk), tmp_path / "clip.bvh")
        (tmp_path / "clip.bvh").rename(tmp_path / name)
    drawn = [pairs.draw_pairs(tmp_path, ["0.6", "sample:child"], 3, seed, 0.5) for seed in (1, 1, *range(10))]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 6
    assert drawn[0][0].options == ("--scale", "0.6")
    assert len({tuple(pair.source for pair in drawing) for drawing in drawn}) > 3
    assert pairs.draw_pairs(tmp_path, ["0.6", "sample:child"], 1, 1, 0.5) == drawn[0][:2]
    with pairs.source_file(drawn[0][0]) as file:
        assert file.name == drawn[0][0].source.name
        assert pairs.prepare_pair(drawn[0][0], file).actors[0].motion.num_frames == 60
    assert not file.exists()
    assert pairs.cut_bvh(drawn[0][0].source.read_text(encoding="utf-8"), 100.0) is None
    with pytest.raises(OptionError, match="no BVH files"):
        pairs.draw_pairs(tmp_path / "a" / "none", ["0.6"], 3, 0, 1.0)


def test_rows_and_the_page(load, judge, walk, tmp_path):
    pairs, page = load("quality_pairs"), load("quality_page")
    for name in ("walk", "odd"):
        write(Clip.of(walk), tmp_path / f"{name}.bvh")
    chosen = [
        pairs.Pair(source=tmp_path / name, target="-", options=("--scale", "0.6"))
        for name in ("walk.bvh", "odd.bvh", "none.bvh")
    ]
    rows = list(pairs.measure_pairs(chosen, judge, processes=1, limit=60.0))
    assert rows[0].judged["jerk_hips"] == 1.5
    assert rows[0].carried["jerk_hips"] == 1.0
    assert rows[0].beyond(judge.bounds) == ["jerk_hips"]
    assert rows[0].own.keys() == load("quality_figures").OWN_BOUNDS.keys()
    assert rows[1].not_judged == "odd.bvh: no joint found for hips"
    assert "none.bvh" in rows[2].failure
    assert str(tmp_path) not in rows[2].failure
    text = page.section(rows, judge.bounds, "Three pairs.")
    assert "3 pairs, 1 without a result. By the judge, 0 of 1 have nothing beyond its bound;" in text
    assert "| jerk_hips | 1.1 | 1 | 1.5 | 1.5 | 0 | 1 | 1 | walk to x 0.6 |" in text
    assert "| odd to x 0.6 |" in text
    assert "| none to x 0.6 | " in text
    file = tmp_path / "quality.md"
    file.write_text(page.with_section(file, page.COLLECTION, "Clips."), encoding="utf-8")
    both = page.with_section(file, page.MATRIX, text)
    assert both.index("## Matrix") < both.index("## Collection\n\nClips.")


def test_an_abrupt_end_is_a_row(load, judge, monkeypatch):
    import os

    pairs = load("quality_pairs")
    monkeypatch.setattr(pairs, "prepare_pair", lambda *_: os._exit(3))
    pair = pairs.Pair(source=Path("walk.bvh"), target="-")
    rows = list(pairs.measure_pairs([pair, pair], judge, processes=2))
    assert [row.failure for row in rows] == ["its process ended abruptly"] * 2


def test_time_is_limited(load):
    import time

    pairs = load("quality_pairs")
    with pytest.raises(TimeoutError, match="more than 0 s"), pairs.time_limit(0.05):
        time.sleep(5.0)


def test_pictures(load, walk, tmp_path):
    pairs, pictures = load("quality_pairs"), load("quality_pictures")
    write(Clip.of(walk), tmp_path / "walk.bvh")
    files = pictures.draw_pair(
        pairs.Pair(source=tmp_path / "walk.bvh", target="-", options=("--scale", "0.6")), tmp_path, 1
    )
    assert [file.name for file in files] == ["01_walk_to_x_0.6_hips.svg", "01_walk_to_x_0.6.png"]
    assert all(file.stat().st_size > 1000 for file in files)


def test_what_is_missing_is_said(load, monkeypatch, tmp_path, capsys):
    quality = load("quality")
    monkeypatch.delenv("UNDERSTUDY_JUDGE", raising=False)
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    assert quality.run(["--page", str(tmp_path / "page.md")]) == 2
    assert "There is no matrix of pairs" in capsys.readouterr().err
    assert quality.run(["--judge", str(tmp_path)]) == 2
    assert "There is no judge.py" in capsys.readouterr().err
    assert quality.run(["--collection", str(tmp_path)]) == 2
    assert "A collection needs bodies" in capsys.readouterr().err


def test_an_unfinished_run_is_resumed(load, judge, walk, tmp_path, monkeypatch, capsys):
    quality = load("quality")
    for name in ("a", "b"):
        write(Clip.of(walk), tmp_path / f"{name}.bvh")
    command = ["--collection", str(tmp_path), "--targets", "0.6", "--judge", str(judge.folder), "--processes", "1"]
    command += ["--page", str(tmp_path / "page.md"), "-o", str(tmp_path / "out")]
    monkeypatch.setattr(quality, "draw_pair", lambda *_: [])
    assert quality.run([*command, "--count", "1"]) == 0
    capsys.readouterr()
    assert quality.run([*command, "--count", "2", "--resume"]) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("2/2 ")]) == 1
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "2 clips drawn at random (seed 0)" in page
    assert "By the judge, 0 of 2 have nothing beyond its bound; of the carried motions, 2 of 2." in page


def test_disagreement_is_by_subject(load):
    pairs, page = load("quality_pairs"), load("quality_page")
    bounds = {"jerk_hips": 1.1, "drift_share": 0.02}
    row = pairs.Row(
        pair=pairs.Pair(source=Path("walk.bvh"), target="-"),
        verdicts={"smoothness": "good", "foot_skate": "bad"},
        own={"hips_jerk": 1.0, "pops": 0.0, "drift_share": 0.0, "plant_error_mm": 0.1},
        judged={"jerk_hips": 1.5, "drift_share": 0.5},
    )
    assert page.disagreements(replace(row, verdict="bad"), bounds) == [["smooth", "good", "jerk_hips 1.5"]]
    assert page.disagreements(replace(row, verdict="good"), bounds)[0] == ["verdict", "good", "jerk_hips, drift_share"]
    clean = replace(row, verdict="bad", judged={"jerk_hips": 1.0, "drift_share": 0.0})
    assert page.disagreements(clean, bounds) == [["verdict", "bad", "nothing"], ["feet", "foot_skate bad", "nothing"]]
    assert row.excess(bounds) == pytest.approx(0.4 / 1.1 + 10.0)
