"""Storage of a batch: locations, finding of clips, digests, journals and locks."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from understudy import samples
from understudy.base.errors import FileError, MissingPackageError, OptionError
from understudy.batch import journal as batch_journal
from understudy.batch import lock as batch_lock
from understudy.batch.finding import find_clips, make_jobs, matches, output_suffix
from understudy.batch.identity import companions, file_digest, make_spec_key
from understudy.batch.journal import Index, Journal, compact, read_entries
from understudy.batch.location import Folder, Location, Store, parse_location, split_file
from understudy.batch.lock import LOCK_FILE, Lock, LockedError
from understudy.io import write
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.spec import Recipe


@pytest.fixture(params=["folder", "store"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A location of either kind."""
    if request.param == "folder":
        return Folder(path=tmp_path)
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    return Store(url="memory://bucket")


def test_a_location_holds_files(location: Location, tmp_path: Path) -> None:
    assert location.read_bytes("a/b.txt") is None
    assert location.size("a/b.txt") is None
    assert location.names("a") == []
    location.write_bytes("a/b.txt", b"one")
    (tmp_path / "aside").write_bytes(b"three")
    location.put(tmp_path / "aside", "a/c/d.txt")
    assert not (tmp_path / "aside").exists()
    assert location.read_bytes("a/b.txt") == b"one"
    assert location.names("a") == ["b.txt", "c"]
    assert (location.size("a/c/d.txt"), location.size("a")) == (5, None)
    assert [entry for entry in location.files() if entry[1]] == [("a/b.txt", 3), ("a/c/d.txt", 5)]
    (tmp_path / "in").mkdir()
    assert location.fetch("a/b.txt", tmp_path / "in").read_bytes() == b"one"
    location.remove("a/b.txt")
    location.remove("a/b.txt")
    assert location.read_bytes("a/b.txt") is None


def test_locations_are_parsed(tmp_path: Path) -> None:
    assert parse_location(tmp_path) == parse_location(f"file://{tmp_path}") == Folder(path=tmp_path)
    assert parse_location("s3://bucket/clips/") == Store(url="s3://bucket/clips")
    assert split_file("s3://bucket/a/hero.glb") == (Store(url="s3://bucket/a"), "hero.glb")
    with pytest.raises(OptionError, match="names no file"):
        split_file("s3://hero.glb")


def test_an_unknown_protocol_is_refused() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(OptionError, match="`nonsense://a/b`: Protocol not known: nonsense"):
        next(parse_location("nonsense://a/b").files())


def test_a_store_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackageError, match="Files at `s3://` needs the package `fsspec`") as caught:
        Store(url="s3://bucket").read_bytes("a")
    assert caught.value.hint == "pip install 'understudy-motion[remote]'"


def test_a_store_can_be_pickled() -> None:
    pytest.importorskip("fsspec")
    store = Store(url="memory://sent")
    store.write_bytes("a", b"x")
    assert pickle.loads(pickle.dumps(store)) == store


def test_folders_are_listed_once_and_hidden_ones_skipped(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.bvh").write_text("")
    (tmp_path / "a" / "walk.BVH").write_text("..")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "a" / "gone.bvh").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.bvh").mkdir()
    (tmp_path / "folder.bvh" / "in.bvh").write_text("")
    assert find_clips(Folder(path=tmp_path)) == {
        "a/gone.bvh": 0,
        "a/walk.BVH": 2,
        "folder.bvh": 0,
        "folder.bvh/in.bvh": 0,
    }


@pytest.mark.parametrize(
    ("name", "pattern", "taken"),
    [
        ("a/walk.bvh", "*.bvh", True),
        ("a/walk.bvh", "walk*", True),
        ("a/walk.bvh", "a/*", True),
        ("a/b/walk.bvh", "a/**/*.bvh", True),
        ("a/walk.bvh", "a/**/*.bvh", True),
        ("b/walk.bvh", "a/*", False),
        ("a/walk.glb", "*.bvh", False),
    ],
)
def test_patterns_match_files(name: str, pattern: str, taken: bool) -> None:
    assert matches(name, pattern) is taken


def test_suffixes_of_results() -> None:
    assert output_suffix(None, "hero.glb") == ".glb"
    assert output_suffix(None, "hero.glb#Walk") == ".glb"
    assert output_suffix(None, "hero.fbx") == ".fbx"
    assert output_suffix(None, "robot.urdf") == ".bvh"
    assert output_suffix(None, "sample:child") == ".bvh"
    assert output_suffix(None, None) is None
    assert output_suffix("gltf", None) == output_suffix("glb", None) == ".glb"
    assert output_suffix(".npz", "hero.glb") == ".npz"


def test_no_two_results_share_a_file() -> None:
    files: dict[str, list[str]] = {"a.bvh": [], "a.amc": ["only"], "A.fbx": [], "b.bvh": [], "failed/b.bvh": []}
    files["c.glb"] = ["x y", "x/y", "z"]
    names = {job.clip: job.output for job in make_jobs(files, ".bvh")}
    assert names["a.bvh"] == "a.bvh.bvh"
    assert names["a.amc"] == "a.amc.bvh"
    assert names["A.fbx"] == "A.fbx.bvh"
    assert (names["b.bvh"], names["failed/b.bvh"]) == ("b.bvh", "_failed/b.bvh")
    assert names["c.glb#z"] == "c_z.bvh"
    assert len({name.casefold() for name in names.values()}) == len(names) == 8
    kept = {job.clip: job.output for job in make_jobs({"a.bvh": [], "b.fbx": []}, None)}
    assert kept == {"a.bvh": "a.bvh", "b.fbx": "b.fbx"}


def test_companion_files_of_a_motion_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("02.asf", "03.ASF", "02_01.amc", "other.bvh", "sub/layer.usda", "data.bin"):
        (tmp_path / name).write_text("x")
    (tmp_path / "scene.gltf").write_text(json.dumps({"buffers": [{"uri": "data.bin"}, {"uri": "../out.bin"}, {}]}))
    (tmp_path / "scene.usda").write_text("#usda 1.0\n( subLayers = [ @./sub/layer.usda@, @gone.usda@ ] )")
    location = Folder(path=tmp_path)

    def companions_of(name: str) -> list[str]:
        return companions(location, name)

    assert companions_of("02_01.amc") == ["02.asf", "03.ASF"]
    assert companions_of("scene.gltf") == ["data.bin"]
    assert companions_of("scene.usda") == ["sub/layer.usda"]
    assert companions_of("other.bvh") == []


def test_the_key_depends_on_everything_that_affects_a_result(tmp_path: Path) -> None:
    target, moved = tmp_path / "hero.bvh", tmp_path / "moved.bvh"
    write(samples.character("child"), target)
    shutil.copy(target, moved)
    (tmp_path / "map.toml").write_text('[[pair]]\nsource = "a"\ntarget = "b"\n')
    recipe = Recipe(actors=(ActorSpec(source="x", target=str(target)),))
    base = make_spec_key(recipe, target, ".bvh")
    assert make_spec_key(replace(recipe, actors=(ActorSpec(source="y", target=str(moved)),)), moved, ".bvh") == base
    mapped = replace(recipe, actors=(replace(recipe.actors[0], map=str(tmp_path / "map.toml")),))
    others = [
        make_spec_key(recipe, target, ".glb"),
        make_spec_key(replace(recipe, solver="ik"), target, ".bvh"),
        make_spec_key(replace(recipe, reading=Reading(fps=30.0)), target, ".bvh"),
        make_spec_key(mapped, target, ".bvh"),
    ]
    (tmp_path / "map.toml").write_text('[[pair]]\nsource = "a"\ntarget = "c"\n')
    others.append(make_spec_key(mapped, target, ".bvh"))
    write(samples.character("giant"), target)
    others.append(make_spec_key(recipe, target, ".bvh"))
    assert len({base, *others}) == 7


def test_digests_of_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder, not a file"):
        file_digest(tmp_path)
    with pytest.raises(FileError, match="there is no such file"):
        file_digest(tmp_path / "gone")


def test_the_last_entry_of_a_clip_counts(location: Location) -> None:
    journal = Journal(location, "rows.jsonl")
    for number in range(1200):
        journal.add({"clip": f"{number % 600:03d}", "number": number})
    journal.close()
    again = Journal(location, "rows.jsonl")
    again.add({"clip": "000", "number": -1})
    again.close()
    index = Index.of(Journal(location, "rows.jsonl"))
    assert (index["000"]["number"], index["001"]["number"]) == (-1, 601)
    assert "600" not in index
    compact(again)
    assert again.parts() == ["rows.jsonl"]
    compacted = list(read_entries(again))
    assert [entry["clip"] for entry in compacted] == [f"{number:03d}" for number in range(600)]
    assert [entry["number"] for entry in compacted[:3]] == [-1, 601, 602]


def test_half_a_line_does_not_spoil_the_next_entry(tmp_path: Path) -> None:
    location = Folder(path=tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(b'{"clip": "a", "n": 1}\n{"clip": "b", "n')
    journal = Journal(location, "rows.jsonl")
    journal.add({"clip": "c", "n": 3})
    journal.close()
    index = Index.of(journal)
    assert sorted(index) == ["a", "c"]
    compact(journal)
    assert [entry["clip"] for entry in read_entries(journal)] == ["a", "c"]


def test_rows_of_a_store_are_written_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    monkeypatch.setattr(batch_journal, "FLUSH_SECONDS", 0.0)
    location = Store(url="memory://bucket")
    journal = Journal(location, "rows.jsonl")
    journal.add({"clip": "a"})
    assert list(Index.of(Journal(location, "rows.jsonl"))) == ["a"]


def test_one_run_at_a_time_holds_the_lock(tmp_path: Path) -> None:
    location = Folder(path=tmp_path)
    with Lock(location) as lock:
        assert json.loads((tmp_path / LOCK_FILE).read_text())["run"] == lock.run_id
        with pytest.raises(LockedError, match=f"another run, process {os.getpid()} of"), Lock(location):
            pass
    with Lock(location):
        pass


def test_a_store_lock_is_taken_over_from_a_dead_run(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    monkeypatch.setattr(batch_lock, "HEARTBEAT_SECONDS", 0.1)
    location: Any = Store(url="memory://bucket")
    location.write_bytes(LOCK_FILE, json.dumps({"run": "dead", "host": "there", "process": 7, "beats": 3}).encode())
    began = time.monotonic()
    with Lock(location) as lock:
        # The lock is watched for several heartbeats before it is taken over.
        assert time.monotonic() - began > 0.3
        with pytest.raises(LockedError, match=f"process {os.getpid()} of"), Lock(location):
            pass
        assert json.loads(location.read_bytes(LOCK_FILE))["run"] == lock.run_id
    assert location.read_bytes(LOCK_FILE) is None


def test_only_one_of_several_runs_gets_a_store_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    monkeypatch.setattr(batch_lock, "HEARTBEAT_SECONDS", 0.4)
    location, run_ids, barrier = Store(url="memory://bucket"), [], threading.Barrier(4)

    def acquire() -> None:
        barrier.wait()
        try:
            with Lock(location) as lock:
                run_ids.append(lock.run_id)
                time.sleep(0.8)
        except LockedError:
            pass

    threads = [threading.Thread(target=acquire) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(run_ids) == 1
