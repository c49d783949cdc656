"""Batches from Python: rows, what a second run repeats, rejected results, and refused options."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import understudy
from understudy import samples
from understudy.app.cli import cli
from understudy.base.errors import FileError, MissingPackageError, OptionError, UnknownNameError
from understudy.batch import batch
from understudy.batch import clip_job as batch_clip_job
from understudy.batch.clip_job import PHASES
from understudy.batch.engines import engines
from understudy.batch.finding import make_jobs
from understudy.batch.model import StopError
from understudy.batch.run import BatchStoppedError
from understudy.figure.motion import Motion
from understudy.io import read, write
from understudy.retarget.actor import ActorSpec
from understudy.retarget.driver import Prepared, Retargeted
from understudy.retarget.spec import Recipe

Run = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two short walks in sub-folders, and a file that is no motion."""
    folder = tmp_path_factory.mktemp("clips")
    walk = samples.motion("walk").motion.resampled(30.0)
    for number, name in enumerate(("a/walk", "b/deep/walk")):
        (folder / name).parent.mkdir(parents=True)
        write(walk[number * 5 : number * 5 + 30], folder / f"{name}.bvh")
    (folder / "readme.txt").write_text("no motion")
    return folder


@pytest.fixture
def source(clips: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clips, tmp_path / "in"))


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Run:
    """Runs a batch of the clips in this process."""

    def run(target: str | None = "sample:child", **options: Any) -> list[dict[str, Any]]:
        return list(batch(source, target, tmp_path / "out", **{"engine": "inline", **options}))

    return run


def test_results_keep_the_sub_folders_of_their_sources(run: Run, tmp_path: Path) -> None:
    rows = sorted(run(), key=lambda row: row["clip"])
    assert [row["clip"] for row in rows] == ["a/walk.bvh", "b/deep/walk.bvh"]
    for row in rows:
        assert (row["status"], row["reason"], row["output"]) == ("done", "", row["clip"])
        motion = read(tmp_path / "out" / row["output"]).motion
        assert motion is not None
        assert motion.skeleton.names == samples.character("child").names
        assert (motion.num_frames, row["frames"]) == (30, 30)
        assert row["foot_skate.verdict"] == "good"
        assert row["version_understudy"]
        phases = sum(row[f"seconds_{phase}"] for phase in PHASES)
        assert 0.0 < phases <= row["seconds"]
    with open(tmp_path / "out" / "table.csv", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [line["clip"] for line in table] == ["a/walk.bvh", "b/deep/walk.bvh"]
    assert float(table[0]["contact_timing.kept_5cm"]) == rows[0]["contact_timing.kept_5cm"]
    lines = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows


def test_a_second_run_repeats_nothing(run: Run, tmp_path: Path) -> None:
    before = run()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.bvh")}
    assert run() == before
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.bvh")} == times


def seconds(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row["clip"]: row["seconds"] for row in rows}


def test_changed_clips_are_processed_again(run: Run, source: Path, tmp_path: Path) -> None:
    before = seconds(run())
    (source / "a" / "walk.bvh").write_bytes((source / "b" / "deep" / "walk.bvh").read_bytes())
    changed = seconds(run())
    assert changed["a/walk.bvh"] != before["a/walk.bvh"]
    assert changed["b/deep/walk.bvh"] == before["b/deep/walk.bvh"]
    giant = seconds(run("sample:giant"))
    assert not set(giant.values()) & set(changed.values())
    (tmp_path / "out" / "a" / "walk.bvh").write_bytes(b"edited")
    (tmp_path / "out" / "b" / "deep" / "walk.bvh").unlink()
    assert not set(seconds(run("sample:giant")).values()) & set(giant.values())
    assert read(tmp_path / "out" / "a" / "walk.bvh").motion is not None


def test_a_result_in_another_format_replaces_the_old_one(run: Run, tmp_path: Path) -> None:
    run()
    run(format="npz")
    assert sorted(path.name for path in (tmp_path / "out").rglob("walk.*")) == ["walk.npz", "walk.npz"]


def test_failed_clips_are_tried_again_only_if_asked(run: Run, source: Path) -> None:
    (source / "broken.bvh").write_text("HIERARCHY\n")
    first = {row["clip"]: row for row in run()}["broken.bvh"]
    assert first["status"] == "failed"
    assert first["reason"].startswith("broken.bvh")
    assert "output" not in first
    assert {row["clip"]: row for row in run()}["broken.bvh"] == first
    assert seconds(run(retry_failed=True))["broken.bvh"] != first["seconds"]


def frozen(prepared: Prepared, result: Retargeted) -> Retargeted:
    """A result that does not move."""
    still = result.solution.motions[0]
    motion: Motion = replace(
        still,
        root=np.repeat(still.root[:1], still.num_frames, axis=0),
        rotations=np.repeat(still.rotations[:1], still.num_frames, axis=0),
    )
    return replace(result, solution=replace(result.solution, motions=(motion,)))


def test_an_unusable_result_goes_to_the_folder_of_failed_ones(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    solve = Prepared.solve
    monkeypatch.setattr(Prepared, "solve", lambda self, *given: frozen(self, solve(self, *given)))
    for row in run(scale=0.9):
        assert row["status"] == "failed"
        assert "still" in row["reason"]
        assert row["output"] == f"failed/{row['clip']}"
        assert (tmp_path / "out" / row["output"]).is_file()
        # The result of an earlier run with other options must not be taken for this one.
        assert not (tmp_path / "out" / row["clip"]).exists()
    monkeypatch.undo()
    assert {row["status"] for row in run()} == {"done"}
    assert not list((tmp_path / "out" / "failed").rglob("*.bvh"))


def test_a_bug_fails_only_its_clip(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = Prepared.solve

    def broken(self: Prepared, *given: Any) -> Retargeted:
        if "deep" in self.actors[0].spec.source:
            raise ZeroDivisionError("nothing to divide by")
        return solve(self, *given)

    monkeypatch.setattr(Prepared, "solve", broken)
    rows = {row["clip"]: row for row in run()}
    assert rows["a/walk.bvh"]["status"] == "done"
    reason = rows["b/deep/walk.bvh"]["reason"]
    assert reason.startswith("a bug in understudy: ZeroDivisionError: nothing to divide by (")


def test_an_unwritable_output_stops_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise StopError("out: cannot be written: No space left on device")

    monkeypatch.setattr(batch_clip_job, "_write_result", full)
    with pytest.raises(BatchStoppedError, match="No space left on device") as caught:
        run()
    assert caught.value.hint == "finished results are kept: run it again to continue"


def test_stopping_early_keeps_finished_results(source: Path, tmp_path: Path, run: Run) -> None:
    first: list[Any] = []

    def stop(row: Any) -> None:
        first.append(row)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        batch(source, "sample:child", tmp_path / "out", engine="inline", watch=stop)
    assert len(first) == 1
    assert seconds(run())[first[0]["clip"]] == first[0]["seconds"]


def test_every_animation_of_a_file_is_a_clip(source: Path, tmp_path: Path) -> None:
    shutil.rmtree(source)
    source.mkdir()
    write_animations(source / "hero.glb", {"Walk": 20, "Run / fast": 10})
    result = batch(source, scale=0.9, output=tmp_path / "out", engine="inline", format="bvh")
    rows = {row["clip"]: row for row in result}
    assert {clip: row["frames"] for clip, row in rows.items()} == {"hero.glb#Walk": 20, "hero.glb#Run / fast": 10}
    assert {row["output"] for row in rows.values()} == {"hero_Walk.bvh", "hero_Run_fast.bvh"}


def test_animations_that_move_nothing_are_passed_over(source: Path, tmp_path: Path) -> None:
    shutil.rmtree(source)
    source.mkdir()
    path = source / "hero.gltf"
    write_animations(path, {"Walk": 20, "Run": 10})
    tree = json.loads(path.read_text())
    tree["animations"].insert(0, {"name": "Take 001", "channels": [], "samplers": []})
    path.write_text(json.dumps(tree))
    rows = list(batch(source, scale=0.9, output=tmp_path / "out", engine="inline", format="bvh"))
    assert {row["clip"] for row in rows} == {"hero.gltf#Walk", "hero.gltf#Run"}
    assert any("animation `Take 001` moves no joint" in note for note in rows[0]["notes"])


def test_a_pose_beside_animations_that_move_is_left_out_with_a_word(source: Path, tmp_path: Path) -> None:
    shutil.rmtree(source)
    source.mkdir()
    write_animations(source / "hero.glb", {"Walk": 20, "Run": 10})
    clip = read(source / "hero.glb")
    assert clip.motion is not None
    write(replace(clip, motion=replace(clip.motion[[0, 0, 0]], name="Take 001")), source / "hero.glb")
    clip = read(source / "hero.glb")
    assert clip.still_clips == ("Take 001",)
    command = ["batch", str(source), "--scale", "0.9", "--engine", "inline", "--format", "bvh"]
    done = CliRunner().invoke(cli, [*command, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "2 clips: 2 done" in done.output
    assert "note: 1 take that moves nothing: left out (`hero.glb#Take 001`)" in done.output
    done = CliRunner().invoke(cli, [*command, "-o", str(tmp_path / "pose"), "--clip", "Take 001"])
    assert "1 clip: 1 done" in done.output
    # A pose that is all that a file holds is worked on.
    assert clip.motion is not None
    write(replace(clip.motion[[0, 0, 0]], name="Pose"), source / "pose.glb")
    done = CliRunner().invoke(cli, [*command, "--pattern", "pose.glb", "-o", str(tmp_path / "alone")])
    assert "1 clip: 1 done" in done.output


def test_one_animation_of_each_file_can_be_chosen() -> None:
    jobs = make_jobs({"a.glb": ["Walk", "Run"], "b.glb": ["Run"], "c.glb": ["Walk"], "d.bvh": []}, ".bvh", "Walk")
    assert [job.clip for job in jobs] == ["a.glb#Walk", "c.glb", "d.bvh"]


def write_animations(path: Path, lengths: dict[str, int]) -> None:
    """Write a file with several animations."""
    walk = samples.motion("walk").motion
    for name, length in reversed(lengths.items()):
        moved = replace(walk[:length], name=name)
        if path.exists():
            clip = read(path)
            write(replace(clip, motion=replace(moved, skeleton=clip.skeleton)), path)
        else:
            write(moved, path)


def test_a_folder_in_memory_works_in_this_process(source: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.put(f"{source}/", "/lib/in/", recursive=True)
    rows = list(batch("memory://lib/in", "sample:child", "memory://lib/out", engine="inline"))
    assert {row["clip"]: row["status"] for row in rows} == {"a/walk.bvh": "done", "b/deep/walk.bvh": "done"}
    assert all(store.exists(f"/lib/out/{row['output']}") for row in rows)
    assert store.exists("/lib/out/table.csv")
    assert store.exists("/lib/out/index.html")
    assert list(batch("memory://lib/in", "sample:child", "memory://lib/out", engine="inline")) == rows
    with pytest.raises(OptionError, match=r"`memory://lib/in` is in the memory of this process"):
        batch("memory://lib/in", "sample:child", "memory://lib/out")


def test_the_skin_option_measures_with_the_target_s_skin(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from understudy.metrics import base as metrics
    from understudy.metrics.comparison import Comparison

    write(samples.character("child"), tmp_path / "child.glb")
    num_meshes = []

    def recorded(case: Comparison) -> Any:
        num_meshes.append(len(case.meshes))
        return evaluate(case)

    evaluate = metrics.evaluate_comparison
    monkeypatch.setattr(metrics, "evaluate_comparison", recorded)
    target = str(tmp_path / "child.glb")
    assert {row["output"] for row in run(target)} == {"a/walk.glb", "b/deep/walk.glb"}
    assert num_meshes == [0, 0]
    run(target, skin=True)
    assert num_meshes == [0, 0, 1, 1]
    run(target, skin=True)
    assert len(num_meshes) == 4


def test_engines_are_found_by_name() -> None:
    assert {name: kind.processes for name, kind in engines().items()} == {"dask": True, "inline": False, "local": True}


def test_a_missing_package_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackageError, match="The engine `dask` needs the package `distributed`") as caught:
        run(engine="dask")
    assert caught.value.hint == "pip install 'understudy-motion[dask]'"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match="Writing tables as Parquet needs the package `pyarrow`"):
        run(table="parquet")


def test_it_is_a_name_of_the_package() -> None:
    assert understudy.batch is batch


def recipe_with(**changes: Any) -> Recipe:
    return replace(Recipe(actors=(ActorSpec(source="a.bvh", target="sample:child"),)), **changes)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"target": None}, OptionError, "A batch needs a target, a scale, or a recipe"),
        ({"engine": "loca"}, UnknownNameError, "There is no engine `loca`; nearest: `local`"),
        ({"workers": 0}, OptionError, "Expected one worker or more, got 0"),
        ({"timeout": -1.0}, OptionError, "Expected a timeout of 0 or more, got -1"),
        ({"memory": float("nan")}, OptionError, "Expected a memory of 0 or more, got nan"),
        ({"table": "xls"}, OptionError, "Expected a table as csv or parquet, got `xls`"),
        ({"format": "urdf"}, OptionError, "Results cannot be written as `urdf`; known: "),
        ({"pattern": "*.xyz"}, FileError, "holds no motion file that matches *.xyz"),
        ({"recipe": recipe_with(spacing="all")}, OptionError, "Spacing `all` makes three variants of a clip"),
        ({"recipe": recipe_with(contacts=())}, OptionError, "The recipe lists the contacts of one clip"),
        (
            {"recipe": recipe_with(actors=recipe_with().actors * 2)},
            OptionError,
            "A batch needs a recipe with one actor",
        ),
    ],
)
def test_wrong_options_are_refused(run: Run, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        run(**options)
    assert message in str(caught.value)


def test_wrong_folders_are_refused(source: Path) -> None:
    with pytest.raises(OptionError, match="Source and output are the same folder"):
        list(batch(source, "sample:child", source, engine="inline"))
    with pytest.raises(OptionError, match="A batch needs a folder for its results"):
        batch(source, "sample:child")
    with pytest.raises(FileError, match="there is no such folder"):
        list(batch(source / "nowhere", "sample:child", source / "out", engine="inline"))


def test_an_output_inside_the_source_is_no_source(source: Path) -> None:
    for _ in range(2):
        rows = list(batch(source, "sample:child", source / "out", engine="inline"))
        assert sorted(row["clip"] for row in rows) == ["a/walk.bvh", "b/deep/walk.bvh"]
