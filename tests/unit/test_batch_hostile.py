"""What surrounds a batch does not stop it: odd names, links, damaged state, files that left, killed runs, shards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from understudy import samples
from understudy.base.errors import FileError, OptionError
from understudy.base.files import open_to_read, open_to_write
from understudy.batch import batch
from understudy.batch import location as batch_location
from understudy.batch import report as batch_report
from understudy.batch.acceptance import broken_rules, check_rules
from understudy.batch.finding import Listing, find_clips, is_in_shard
from understudy.batch.identity import companions
from understudy.batch.journal import Index, Journal
from understudy.batch.location import Folder, parse_location
from understudy.batch.manifest import check_manifest
from understudy.batch.merging import merge
from understudy.batch.report import Summary, write_page, write_table
from understudy.batch.run import Batch
from understudy.figure.motion import Motion
from understudy.io import write
from understudy.retarget.actor import ActorSpec
from understudy.retarget.spec import Recipe

Run = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk2d").motion.resampled(10.0)[:5]


@pytest.fixture
def source(tmp_path: Path, walk: Motion) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    write(walk, folder / "a.bvh")
    write(walk[1:], folder / "b.bvh")
    return folder


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Run:
    """Runs a batch of the clips in this process."""

    def run(output: str = "out", **options: Any) -> list[dict[str, Any]]:
        return list(batch(source, None, tmp_path / output, **{"engine": "inline", "scale": 0.8, **options}))

    return run


def rows_of(output: Path) -> dict[str, dict[str, Any]]:
    return {row["clip"]: row for row in map(json.loads, (output / "rows.jsonl").read_text().splitlines())}


def without_times(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        clip: {key: value for key, value in row.items() if not key.startswith("seconds")} for clip, row in rows.items()
    }


# Names, links, folders and pipes


def test_a_name_that_is_not_utf8_is_a_clip_like_others(source: Path, run: Run, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.bvh")
    shutil.copy(source / "a.bvh", source / name)
    for table in ("csv", "parquet"):
        if table == "parquet":
            pytest.importorskip("pyarrow")
        assert {row["clip"] for row in run(table=table)} == {"a.bvh", "b.bvh", name}
    assert (tmp_path / "out" / name).is_file()
    assert rows_of(tmp_path / "out")[name]["status"] == "done"
    assert "\\udcff" in (tmp_path / "out" / "table.csv").read_text("utf-8")
    # Nothing has changed, so nothing is done again.
    before = (tmp_path / "out" / name).stat().st_mtime_ns
    run()
    assert (tmp_path / "out" / name).stat().st_mtime_ns == before
    assert check_manifest(parse_location(tmp_path / "out")) == ([], 3)


def test_links_that_lead_nowhere_or_round_in_circles_stop_nothing(source: Path, run: Run) -> None:
    (source / "loop").symlink_to("loop")
    (source / "self").symlink_to(".")
    (source / "deep").mkdir()
    (source / "deep" / "up").symlink_to("..")
    for number in range(8):
        folder = source / f"f{number}"
        folder.mkdir()
        for other in range(8):
            (folder / f"to{other}").symlink_to(source / f"f{other}")
    listing = Listing()
    assert sorted(find_clips(Folder(path=source), listing=listing)) == ["a.bvh", "b.bvh"]
    # Folders that link to each other have factorially many paths; each link target is followed once.
    assert len(listing.names) < 200
    assert len(run()) == 2


def test_a_folder_that_cannot_be_listed_is_reported(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source / "locked").mkdir()
    scan = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(batch_location.os, "scandir", refuse)
    summary = Summary()
    recipe = Recipe(actors=(ActorSpec(source="x", scale=0.8),))
    run = Batch(recipe=recipe, source=Folder(path=source), output=Folder(path=tmp_path / "out"), engine="inline")
    assert len(list(run.run(summary))) == 2
    assert summary.skipped == [f"{source / 'locked'}: cannot be listed: Permission denied"]
    assert summary.data()["skipped"] == summary.skipped


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_devices_are_refused_at_once(source: Path, run: Run, tmp_path: Path) -> None:
    os.mkfifo(source / "pipe.bvh")
    (source / "device.bvh").symlink_to("/dev/zero")
    reasons = {row["clip"]: row["reason"] for row in run() if row["status"] == "failed"}
    assert reasons == {
        "device.bvh": "device.bvh: is a device, not a file",
        "pipe.bvh": "pipe.bvh: is a pipe, not a file",
    }
    with pytest.raises(FileError, match="is a pipe, not a file"):
        open_to_read(source / "pipe.bvh")
    with pytest.raises(FileError, match="nobody reads this pipe"), open_to_write(source / "pipe.bvh"):
        pass


def test_temporary_files_of_killed_runs_are_removed(run: Run, tmp_path: Path) -> None:
    run()
    output = tmp_path / "out"
    left = [output / ".table.csv.x1.part", output / ".rows.jsonl.x2.part", output / ".batch" / ".pictures.jsonl.x.part"]
    mine = output / ".notes.txt.part"
    for path in (*left, mine):
        path.write_text("half")
    run()
    assert [path.name for path in left if path.exists()] == []
    assert mine.exists()
    # A single file: what nobody has written to for an hour is removed by the next write to the same name.
    old, young = tmp_path / ".walk.bvh.a.part", tmp_path / ".walk.bvh.b.part"
    old.write_text("half")
    young.write_text("half")
    os.utime(old, (0, 0))
    with open_to_write(tmp_path / "walk.bvh") as stream:
        stream.write(b"whole")
    assert (old.exists(), young.exists()) == (False, True)


# What was done before


def test_an_included_file_that_changes_makes_results_anew(source: Path, tmp_path: Path, run: Run) -> None:
    for name in ("body.xml", "scene.xml"):
        shutil.copy(Path(__file__).parent.parent / "data" / "stickbot.xml", tmp_path / name)
    (tmp_path / "scene.xml").write_text('<mujoco model="scene"><include file="parts/body.xml"/></mujoco>')
    (tmp_path / "parts").mkdir()
    (tmp_path / "body.xml").rename(tmp_path / "parts" / "body.xml")
    location = Folder(path=tmp_path)
    assert companions(location, "scene.xml") == ["parts/body.xml"]

    def keys() -> list[str]:
        rows = batch(source, tmp_path / "scene.xml", tmp_path / "robots", engine="inline", format="csv")
        return [row.get("key", "") for row in rows]

    first = keys()
    assert all(first)
    assert keys() == first
    text = (tmp_path / "parts" / "body.xml").read_text()
    (tmp_path / "parts" / "body.xml").write_text(text.replace("</mujoco>", "<!-- another -->\n</mujoco>"))
    assert not set(keys()) & set(first)


def test_layers_of_layers_are_companions(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "hero.usda").write_text("#usda 1.0\n(subLayers = [@a/one.usda@, @../out.usda@])")
    (tmp_path / "a" / "one.usda").write_text("#usda 1.0\n(subLayers = [@./two.usda@, @../hero.usda@])")
    (tmp_path / "a" / "two.usda").write_text("#usda 1.0\n")
    assert companions(Folder(path=tmp_path), "hero.usda") == ["a/one.usda", "a/two.usda"]


def test_files_that_were_opened_for_a_clip_are_in_its_row(tmp_path: Path, source: Path, run: Run, walk: Motion) -> None:
    write(walk, source / "c.glb")
    data = (source / "c.glb").read_bytes()
    length = int.from_bytes(data[12:16], "little")
    tree, binary = json.loads(data[20 : 20 + length]), data[20 + length + 8 :]
    tree["buffers"][0]["uri"] = "c.bin"
    (source / "c.gltf").write_text(json.dumps(tree))
    (source / "c.bin").write_bytes(binary)
    (source / "c.glb").unlink()
    row = next(row for row in run() if row["clip"] == "c.gltf")
    assert [entry.partition(" ")[2] for entry in row["companions"]] == ["c.bin"]
    done = []
    (source / "c.bin").write_bytes(binary + b"\0")
    run(watch=lambda row: done.append(row["clip"]))
    assert done
    assert rows_of(tmp_path / "out")["c.gltf"]["companions"] != row["companions"]


def test_clips_that_left_the_source_leave_table_and_folder(source: Path, run: Run, tmp_path: Path) -> None:
    run()
    output = tmp_path / "out"
    (source / "b.bvh").unlink()
    run(pattern="a*")
    assert set(rows_of(output)) == {"a.bvh"}
    assert not (output / "b.bvh").exists()
    assert "b.bvh" not in (output / "table.csv").read_text()
    # A clip that a pattern leaves out is still in the source; a result that somebody changed is not removed.
    shutil.copy(source / "a.bvh", source / "c.bvh")
    run()
    run(pattern="c*")
    assert set(rows_of(output)) == {"a.bvh", "c.bvh"}
    (source / "c.bvh").unlink()
    (output / "c.bvh").write_text("edited")
    run()
    assert set(rows_of(output)) == {"a.bvh"}
    assert (output / "c.bvh").read_text() == "edited"


def test_results_of_another_source_stay(source: Path, run: Run, tmp_path: Path, walk: Motion) -> None:
    run()
    other = tmp_path / "other"
    other.mkdir()
    write(walk, other / "z.bvh")
    for _ in range(2):
        batch(other, None, tmp_path / "out", engine="inline", scale=0.8)
    assert set(rows_of(tmp_path / "out")) == {"a.bvh", "b.bvh", "z.bvh"}


@pytest.mark.parametrize(
    "line",
    [
        '{"clip": "a.bvh"}', '{"clip": ["a.bvh"], "status": "done"}', '{"clip": "a.bvh", "status": "odd"}', "[1, 2]",
        '{"clip": "a.bvh", "status": "done", "frames": "many"}', '{"clip": "gone.bvh", "status": "failed"}', "\xff",
    ],
)  # fmt: skip
def test_damaged_rows_are_made_again(run: Run, tmp_path: Path, line: str) -> None:
    run()
    whole = without_times(rows_of(tmp_path / "out"))
    with open(tmp_path / "out" / "rows.jsonl", "ab") as stream:
        stream.write(line.encode("latin-1") + b"\n")
    run()
    assert without_times(rows_of(tmp_path / "out")) == whole


# Shards, manifest, acceptance


def test_shards_make_what_one_run_makes(source: Path, run: Run, tmp_path: Path, walk: Motion) -> None:
    for number in range(2):
        write(walk[: 3 + number], source / f"n{number}.bvh")
    run("whole")
    shards = [{row["clip"] for row in run("parts", shard=(i, 3))} for i in (1, 2, 3)]
    assert sum(map(len, shards)) == len(set().union(*shards)) == 4
    output = parse_location(tmp_path / "parts")
    summary = Summary()
    merged = merge(output, summary=summary)
    assert (merged.shards, merged.missing, summary.counts["done"]) == (3, [], 4)
    assert without_times(rows_of(tmp_path / "parts")) == without_times(rows_of(tmp_path / "whole"))
    manifests = [(tmp_path / name / "manifest.sha256").read_bytes() for name in ("parts", "whole")]
    assert manifests[0] == manifests[1]
    # After a merge a shard has nothing to do, and a second merge changes nothing.
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("*.bvh")}
    run("parts", shard=(1, 3))
    merge(output, summary=Summary())
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("*.bvh")} == before
    assert without_times(rows_of(tmp_path / "parts")) == without_times(rows_of(tmp_path / "whole"))


def test_folders_of_other_machines_are_merged(source: Path, run: Run, tmp_path: Path) -> None:
    run("whole")
    names = {1: "one", 2: "two"}
    for number, name in names.items():
        run(name, shard=(number, 2))
    result = next(path for path in (tmp_path / "two").glob("*.bvh")) if is_in_shard("b.bvh", (2, 2)) else None
    merged = merge(parse_location(tmp_path / "one"), [parse_location(tmp_path / "two")], summary=Summary())
    assert merged.missing == ["shard 2/2 has no rows here"]
    assert without_times(rows_of(tmp_path / "one")) == without_times(rows_of(tmp_path / "whole"))
    assert {path.name for path in (tmp_path / "one").glob("*.bvh")} == {"a.bvh", "b.bvh"}
    if result is not None:
        result.write_text("changed")
        again = merge(parse_location(tmp_path / "one"), [parse_location(tmp_path / "two")], summary=Summary())
        assert "was changed after it was written" in again.missing[-1]
    with pytest.raises(FileError, match="holds no shards of a batch"):
        merge(parse_location(source), summary=Summary())


def test_a_shard_depends_on_the_name_alone() -> None:
    names = [f"{number}.bvh" for number in range(1000)]
    counts = [sum(is_in_shard(name, (i, 4)) for name in names) for i in range(1, 5)]
    assert sum(counts) == 1000
    assert min(counts) > 200
    with pytest.raises(OptionError, match="Expected a shard I/N with I from 1 to N, got 5/4"):
        Batch(
            recipe=Recipe(actors=(ActorSpec(source="x", scale=0.8),)),
            source=Folder(path=Path("a")),
            output=Folder(path=Path("b")),
            shard=(5, 4),
        )


def test_another_machine_can_check_the_results(run: Run, tmp_path: Path) -> None:
    run()
    copy = Path(shutil.copytree(tmp_path / "out", tmp_path / "copy"))
    assert check_manifest(parse_location(copy)) == ([], 2)
    if shutil.which("sha256sum"):
        check = subprocess.run(
            ["sha256sum", "--check", "--strict", "manifest.sha256"],
            cwd=copy,
            capture_output=True,
            text=True,
            check=True,
        )
        assert check.stdout == "a.bvh: OK\nb.bvh: OK\n"
    (copy / "a.bvh").write_text("other")
    (copy / "b.bvh").unlink()
    problems, _ = check_manifest(Folder(path=copy))
    assert problems == [f"{copy / 'a.bvh'}: was changed", f"{copy / 'b.bvh'}: is missing"]
    (copy / "manifest.sha256").write_text("0" * 64 + "  ../secret\n")
    assert check_manifest(Folder(path=copy))[0] == [f"{copy / '../secret'}: is not inside the folder"]
    (copy / "manifest.sha256").write_text("nonsense\n")
    with pytest.raises(FileError, match=r"manifest\.sha256:1: expected a SHA-256"):
        check_manifest(Folder(path=copy))


def test_provenance_is_in_every_row(run: Run, tmp_path: Path) -> None:
    (row, _) = run()
    for key in ("version_understudy", "version_numpy", "source_sha256", "recipe_sha256", "options_sha256", "key"):
        assert row[key]
    assert run("other", accept=["frames>1"])[0]["options_sha256"] != row["options_sha256"]
    target = tmp_path / "hero.bvh"
    write(samples.character("can"), target)
    source = tmp_path / "cans"
    source.mkdir()
    write(
        samples.motion("can_jump").motion[:5] if "can_jump" in samples.motions() else samples.character("can"),
        source / "x.bvh",
    )
    for other in batch(source, target, tmp_path / "cans_out", engine="inline"):
        assert len(other["target_sha256"]) == 64


def test_only_accepted_results_are_kept(run: Run, tmp_path: Path) -> None:
    rows = {row["clip"]: row for row in run(accept=["frames>=5", "verdict<=bad"])}
    assert (rows["a.bvh"]["status"], rows["b.bvh"]["status"]) == ("done", "failed")
    assert rows["b.bvh"]["reason"] == "not accepted: frames is 4, expected at least 5"
    assert (tmp_path / "out" / "failed" / "b.bvh").is_file()
    assert not (tmp_path / "out" / "b.bvh").exists()
    # Another rule is another result.
    assert {row["status"] for row in run(accept=["frames>=4"])} == {"done"}
    assert not (tmp_path / "out" / "failed" / "b.bvh").exists()


def test_rules_are_checked() -> None:
    check_rules(["foot_skate.added_drift<0.01", " verdict <= noticeable ", "pop.verdict=good", "unmet=0"])
    for rule, message in (
        ("foot_skat.added_drift<1", "there is no metric `foot_skat`; nearest: `foot_skate`"),
        ("foot_skate<1", "expected a figure of `foot_skate`"),
        ("pop.verdict<=fine", "expected a verdict"),
        ("pop.rate<x", "expected a finite number"),
        ("pop.rate", "Expected a rule such as"),
    ):
        with pytest.raises(OptionError, match=message):
            check_rules([rule])
    row = {"verdict": "bad", "pop.rate": 2.0, "pop.verdict": "not graded"}
    assert broken_rules(["verdict<=noticeable", "pop.rate<1", "pop.verdict=good", "floor.mean_float<1"], row) == [
        "not accepted: verdict is bad, expected at most noticeable",
        "not accepted: pop.rate is 2, expected below 1",
    ]


# Large reports


def make_rows(count: int) -> list[dict[str, Any]]:
    return [
        {"clip": f"{i:04d}.bvh", "status": "done", "reason": "", "verdict": "good", "frames": 1, "duration": 0.1,
         "output": f"{i:04d}.bvh", "pop.rate": 0.5 * i}
        for i in range(count)
    ]  # fmt: skip


def test_the_page_goes_on_on_further_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_report, "MAX_PAGE_CLIPS", 10)
    location, rows, summary = Folder(path=tmp_path), make_rows(25), Summary()
    for row in rows:
        summary.add(row)
    pictures = Index.of(Journal(location, "pictures.jsonl"))
    write_page(location, "index.html", summary, lambda: rows, pictures)
    pages = [tmp_path / "index.html", *sorted((tmp_path / ".batch" / "pages").iterdir())]
    texts = [page.read_text() for page in pages]
    assert [text.count('<tr class="done">') for text in texts] == [10, 10, 5]
    assert '<a href=".batch/pages/00002.html">next</a>' in texts[0]
    assert '<a href="../../index.html">first</a>' in texts[2]
    assert '<a href="../../0024.bvh">' in texts[2]
    write_page(location, "index.html", summary, lambda: rows[:5], pictures)
    assert not (tmp_path / ".batch" / "pages").exists()


def test_a_large_parquet_table_is_a_folder_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet  # type: ignore[import-untyped]

    monkeypatch.setattr(batch_report, "MAX_PARQUET_ROWS", 10)
    location, rows = Folder(path=tmp_path), make_rows(25)
    for count in (25, 12, 8, 25):
        write_table(location, "table.parquet", lambda count=count: rows[:count])  # type: ignore[misc]
        assert (tmp_path / "table.parquet").is_dir() == (count > 10)
        assert parquet.read_table(tmp_path / "table.parquet").column("pop.rate").to_pylist() == [
            0.5 * i for i in range(count)
        ]
