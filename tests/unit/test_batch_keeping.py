"""What a batch keeps: places of files, digests, journals that may be cut off, locks that end with their owner."""

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
from understudy.batch.clip_job import companions, file_digest, find_clips, fits, make_jobs, order_key, output_ending
from understudy.batch.journal import LOCK, Index, Journal, Lock, LockedError, compact, entries
from understudy.batch.places import Folder, Location, Store, place_of, split
from understudy.io import write
from understudy.retarget.spec import ActorSpec, Reading, Recipe


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A place of either kind."""
    if request.param == "folder":
        return Folder(path=tmp_path)
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    return Store(url="memory://shelf")


def test_a_place_holds_files(place: Location, tmp_path: Path) -> None:
    assert place.read_bytes("a/b.txt") is None
    assert place.size("a/b.txt") is None
    assert place.names("a") == []
    place.write_bytes("a/b.txt", b"one")
    (tmp_path / "aside").write_bytes(b"three")
    place.put(tmp_path / "aside", "a/c/d.txt")
    assert not (tmp_path / "aside").exists()
    assert place.read_bytes("a/b.txt") == b"one"
    assert place.names("a") == ["b.txt", "c"]
    assert (place.size("a/c/d.txt"), place.size("a")) == (5, None)
    assert [entry for entry in place.files() if entry[1]] == [("a/b.txt", 3), ("a/c/d.txt", 5)]
    (tmp_path / "in").mkdir()
    assert place.fetch("a/b.txt", tmp_path / "in").read_bytes() == b"one"
    place.remove("a/b.txt")
    place.remove("a/b.txt")
    assert place.read_bytes("a/b.txt") is None


def test_places_are_told_by_their_names(tmp_path: Path) -> None:
    assert place_of(tmp_path) == place_of(f"file://{tmp_path}") == Folder(path=tmp_path)
    assert place_of("s3://bucket/clips/") == Store(url="s3://bucket/clips")
    assert split("s3://bucket/a/hero.glb") == (Store(url="s3://bucket/a"), "hero.glb")
    with pytest.raises(OptionError, match="names no file"):
        split("s3://hero.glb")


def test_a_store_that_nobody_knows_is_told() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(OptionError, match="`nonsense://a/b`: Protocol not known: nonsense"):
        next(place_of("nonsense://a/b").files())


def test_a_store_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackageError, match="Files at `s3://` needs the package `fsspec`") as caught:
        Store(url="s3://bucket").read_bytes("a")
    assert caught.value.hint == "pip install 'understudy-motion[remote]'"


def test_a_store_can_be_sent_to_others() -> None:
    pytest.importorskip("fsspec")
    store = Store(url="memory://sent")
    store.write_bytes("a", b"x")
    assert pickle.loads(pickle.dumps(store)) == store


def test_folders_are_walked_once_and_hidden_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.bvh").write_text("")
    (tmp_path / "a" / "walk.BVH").write_text("..")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "a" / "gone.bvh").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.bvh").mkdir()
    (tmp_path / "folder.bvh" / "in.bvh").write_text("")
    found = find_clips(Folder(path=tmp_path))
    assert found == {"a/gone.bvh": 0, "a/walk.BVH": 2, "folder.bvh": 0, "folder.bvh/in.bvh": 0}


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
def test_patterns_take_files(name: str, pattern: str, taken: bool) -> None:
    assert fits(name, pattern) is taken


def test_endings_of_results() -> None:
    assert output_ending(None, "hero.glb") == ".glb"
    assert output_ending(None, "hero.glb#Walk") == ".glb"
    assert output_ending(None, "hero.fbx") == ".bvh"
    assert output_ending(None, "sample:child") == ".bvh"
    assert output_ending(None, None) is None
    assert output_ending("gltf", None) == output_ending("glb", None) == ".glb"
    assert output_ending(".npz", "hero.glb") == ".npz"


def test_no_two_results_are_one_file() -> None:
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
    assert kept == {"a.bvh": "a.bvh", "b.fbx": "b.bvh"}


def test_files_that_belong_to_a_motion_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("02.asf", "03.ASF", "02_01.amc", "other.bvh", "sub/layer.usda", "data.bin"):
        (tmp_path / name).write_text("x")
    (tmp_path / "scene.gltf").write_text(json.dumps({"buffers": [{"uri": "data.bin"}, {"uri": "../out.bin"}, {}]}))
    (tmp_path / "scene.usda").write_text("#usda 1.0\n( subLayers = [ @./sub/layer.usda@, @gone.usda@ ] )")
    place = Folder(path=tmp_path)

    def beside(name: str) -> list[str]:
        return companions(place, name, tmp_path / name)

    assert beside("02_01.amc") == ["02.asf", "03.ASF"]
    assert beside("scene.gltf") == ["data.bin"]
    assert beside("scene.usda") == ["sub/layer.usda"]
    assert beside("other.bvh") == []


def test_the_key_tells_everything_that_makes_a_result(tmp_path: Path) -> None:
    target, moved = tmp_path / "hero.bvh", tmp_path / "moved.bvh"
    write(samples.character("child"), target)
    shutil.copy(target, moved)
    (tmp_path / "map.toml").write_text('[[pair]]\nsource = "a"\ntarget = "b"\n')
    recipe = Recipe(actors=(ActorSpec(source="x", target=str(target)),))
    base = order_key(recipe, target, ".bvh")
    assert order_key(replace(recipe, actors=(ActorSpec(source="y", target=str(moved)),)), moved, ".bvh") == base
    mapped = replace(recipe, actors=(replace(recipe.actors[0], map=str(tmp_path / "map.toml")),))
    others = [
        order_key(recipe, target, ".glb"),
        order_key(replace(recipe, solver="ik"), target, ".bvh"),
        order_key(replace(recipe, reading=Reading(fps=30.0)), target, ".bvh"),
        order_key(mapped, target, ".bvh"),
    ]
    (tmp_path / "map.toml").write_text('[[pair]]\nsource = "a"\ntarget = "c"\n')
    others.append(order_key(mapped, target, ".bvh"))
    write(samples.character("giant"), target)
    others.append(order_key(recipe, target, ".bvh"))
    assert len({base, *others}) == 7


def test_digests_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder, not a file"):
        file_digest(tmp_path)
    with pytest.raises(FileError, match="there is no such file"):
        file_digest(tmp_path / "gone")


def test_the_last_entry_of_a_clip_counts(place: Location) -> None:
    journal = Journal(place, "rows.jsonl")
    for number in range(1200):
        journal.add({"clip": f"{number % 600:03d}", "number": number})
    journal.close()
    again = Journal(place, "rows.jsonl")
    again.add({"clip": "000", "number": -1})
    again.close()
    index = Index.of(Journal(place, "rows.jsonl"))
    assert (index["000"]["number"], index["001"]["number"]) == (-1, 601)
    assert "600" not in index
    compact(again)
    assert again.parts() == ["rows.jsonl"]
    found = list(entries(again))
    assert [entry["clip"] for entry in found] == [f"{number:03d}" for number in range(600)]
    assert [entry["number"] for entry in found[:3]] == [-1, 601, 602]


def test_half_a_line_swallows_nothing(tmp_path: Path) -> None:
    place = Folder(path=tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(b'{"clip": "a", "n": 1}\n{"clip": "b", "n')
    journal = Journal(place, "rows.jsonl")
    journal.add({"clip": "c", "n": 3})
    journal.close()
    index = Index.of(journal)
    assert sorted(index) == ["a", "c"]
    compact(journal)
    assert [entry["clip"] for entry in entries(journal)] == ["a", "c"]


def test_rows_of_a_store_are_there_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    monkeypatch.setattr(batch_journal, "EVERY", 0.0)
    place = Store(url="memory://shelf")
    journal = Journal(place, "rows.jsonl")
    journal.add({"clip": "a"})
    assert list(Index.of(Journal(place, "rows.jsonl"))) == ["a"]


def test_a_lock_is_one_run_s(tmp_path: Path) -> None:
    place = Folder(path=tmp_path)
    with Lock(place) as lock:
        assert json.loads((tmp_path / LOCK).read_text())["run"] == lock.run
        with pytest.raises(LockedError, match=f"another run, process {os.getpid()} of"), Lock(place):
            pass
    with Lock(place):
        pass


def test_a_lock_of_a_store_is_taken_over_from_the_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    monkeypatch.setattr(batch_journal, "BEAT", 0.1)
    place: Any = Store(url="memory://shelf")
    place.write_bytes(LOCK, json.dumps({"run": "dead", "host": "there", "process": 7, "beats": 3}).encode())
    began = time.monotonic()
    with Lock(place) as lock:
        # It was watched for a while before it was called dead.
        assert time.monotonic() - began > 0.3
        with pytest.raises(LockedError, match=f"process {os.getpid()} of"), Lock(place):
            pass
        assert json.loads(place.read_bytes(LOCK))["run"] == lock.run
    assert place.read_bytes(LOCK) is None


def test_of_two_that_want_a_lock_at_once_one_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    monkeypatch.setattr(batch_journal, "BEAT", 0.4)
    place, got, start = Store(url="memory://shelf"), [], threading.Barrier(4)

    def want() -> None:
        start.wait()
        try:
            with Lock(place) as lock:
                got.append(lock.run)
                time.sleep(0.8)
        except LockedError:
            pass

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
