"""Batches as real processes with faults injected: in the end every good clip has exactly the undisturbed result."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from understudy.figure.motion import rest_motion
from understudy.io import write
from understudy.samples import character

COMMAND = "from understudy.app.cli import main; main()"
HEAD = """HIERARCHY
ROOT base
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT arm
  {
    OFFSET 0 50 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 50 0
    }
  }
}
MOTION
"""
GOOD = 48
REPORT_FILES = {"rows.jsonl", "table.csv", "index.html", "manifest.sha256"}


def bvh(turn: int, frames: int = 4) -> str:
    """A small motion, different for each number."""
    lines = "".join(f"{0.1 * k} 0 0 {k} 0 0 {10 * k + turn} 0 0\n" for k in range(frames))
    return f"{HEAD}Frames: {frames}\nFrame Time: 0.033333\n{lines}"


def make_library(folder: Path, count: int = GOOD) -> Path:
    for number in range(count):
        path = folder / f"part{number % 3}" / f"{number:04d}.bvh"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(bvh(number))
    return folder


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def _kill_processes() -> Iterator[None]:
    """Kill the processes that a failed test left running."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.communicate()


def start(source: Path, output: Path, *options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMMAND, "batch", source, "--scale", 0.8, "-o", output, "--workers", 2, *options]
    STARTED.append(
        subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            # A shell starts background jobs with SIGINT ignored, which child processes inherit.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    )
    return STARTED[-1]


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == code, stdout + stderr
    return stdout + stderr


def run(source: Path, output: Path, *options: object, code: int = 0) -> str:
    return finish(start(source, output, *options), code)


def rows_of(output: Path) -> dict[str, dict[str, object]]:
    """The rows by clip; no clip may have two."""
    rows = [json.loads(line) for line in (output / "rows.jsonl").read_text().splitlines()]
    assert len({row["clip"] for row in rows}) == len(rows)
    return {row["clip"]: row for row in rows}


def without_times(rows: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Rows without the times, which differ from run to run."""
    return {
        clip: {key: value for key, value in row.items() if not key.startswith("seconds")} for clip, row in rows.items()
    }


def files_of(output: Path) -> dict[str, bytes]:
    """All result files of an output folder."""
    files = {}
    for path in output.rglob("*"):
        name = path.relative_to(output).as_posix()
        if path.is_file() and name not in REPORT_FILES and not name.startswith(".batch/"):
            files[name] = path.read_bytes()
    return files


def lines_of(output: Path) -> int:
    path = output / "rows.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(reached: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 60.0) -> bool:
    """Wait for a condition; false if the process ended before."""
    deadline = time.monotonic() + seconds
    while not reached():
        if process.poll() is not None:
            return False
        assert time.monotonic() < deadline, "the condition was not reached in time"
        time.sleep(0.005)
    return True


def children(process: int) -> list[int]:
    """The child processes of a process."""
    pids: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        pids += [int(word) for word in task.read_text().split()]
    return pids


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_library(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def undisturbed(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("undisturbed") / "out"
    text = run(library, output)
    assert f"{GOOD} clips: {GOOD} done, 0 failed" in text
    return output


def check_same(output: Path, undisturbed: Path) -> None:
    """Check that the output has exactly the files and rows of an undisturbed run."""
    assert files_of(output) == files_of(undisturbed)
    assert without_times(rows_of(output)) == without_times(rows_of(undisturbed))
    assert not (output / ".batch" / "scraps").exists()


def test_results_keep_the_sub_folders_of_their_sources(library: Path, undisturbed: Path) -> None:
    assert set(files_of(undisturbed)) == {path.relative_to(library).as_posix() for path in library.rglob("*.bvh")}
    rows = rows_of(undisturbed)
    assert all(row["status"] == "done" and row["reason"] == "" for row in rows.values())


def test_one_worker_gives_the_results_of_two(library: Path, undisturbed: Path, tmp_path: Path) -> None:
    run(library, tmp_path / "out", "--workers", 1)
    check_same(tmp_path / "out", undisturbed)


def test_a_killed_worker_is_replaced(library: Path, undisturbed: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    process = start(library, output)
    assert wait_for(lambda: lines_of(output) >= 3, process)
    for worker in children(process.pid):
        os.kill(worker, signal.SIGKILL)
    finish(process)
    check_same(output, undisturbed)


def test_a_run_stopped_once_and_killed_five_times_continues(library: Path, undisturbed: Path, tmp_path: Path) -> None:
    output, rng = tmp_path / "out", random.Random(5)
    kept: dict[str, dict[str, object]] = {}
    for number in range(6):
        more = lines_of(output) + rng.randint(1, 3)
        process = start(library, output)
        assert wait_for(lambda more=more: lines_of(output) >= more, process), "the run finished before it was killed"  # type: ignore[misc]
        time.sleep(rng.uniform(0.0, 0.05))
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL if number else signal.SIGINT)
        process.communicate()
        assert process.returncode == (-signal.SIGKILL if number else 130)
        assert wait_for_end(workers), "a worker outlived its run"
        for line in (output / "rows.jsonl").read_bytes().split(b"\n")[:-1]:
            if line:
                row = json.loads(line)
                assert kept.setdefault(row["clip"], row) == row, "a finished clip was processed again"
    assert 5 <= len(kept) < GOOD
    run(library, output)
    check_same(output, undisturbed)
    after = rows_of(output)
    assert {clip: after[clip] for clip in kept} == kept


def wait_for_end(processes: list[int], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 160 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(folder)]
    try:
        mount = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here")
    if mount.returncode:
        pytest.skip(f"only an administrator can make a small disk: {mount.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_stops_the_run_and_damages_no_file(library: Path, undisturbed: Path, small_disk: Path) -> None:
    output = small_disk / "out"
    text = run(library, output, code=1)
    assert "No space left on device" in text
    assert "hint: finished results are kept: run it again to continue" in text
    good = files_of(undisturbed)
    written = files_of(output)
    assert 0 < len(written) < GOOD
    assert all(good[name] == data for name, data in written.items()), "half a file was left"
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    run(library, output)
    check_same(output, undisturbed)


def test_broken_hanging_and_huge_clips_fail_without_affecting_others(
    library: Path, undisturbed: Path, tmp_path: Path
) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    shutil.copytree(library, source)
    (source / "cut_off.bvh").write_text(bvh(1)[:-40])
    (source / "empty.bvh").write_bytes(b"")
    (source / "folder.bvh").mkdir()
    (source / "gone.bvh").symlink_to(source / "nowhere.bvh")
    os.mkfifo(source / "pipe.bvh")
    (source / "hangs.bvh").write_text(bvh(1, 600_000))
    # A file of 280 kB that needs hundreds of megabytes.
    write(rest_motion(character("can"), fps=120.0, num_frames=2_000_000), source / "huge.npz")
    text = run(source, output, "--timeout", 8, "--memory", 220, code=1)
    assert "7 failed" in text
    rows = rows_of(output)
    reasons = {clip: str(row["reason"]) for clip, row in rows.items() if row["status"] == "failed"}
    assert set(reasons) == {
        "cut_off.bvh", "empty.bvh", "folder.bvh", "gone.bvh", "hangs.bvh", "huge.npz", "pipe.bvh",
    }  # fmt: skip
    assert reasons["cut_off.bvh"].startswith("cut_off.bvh:")
    assert reasons["empty.bvh"].startswith("empty.bvh")
    assert reasons["folder.bvh"] == "folder.bvh: is a folder, not a file"
    assert reasons["gone.bvh"] == "gone.bvh: there is no such file"
    assert reasons["hangs.bvh"] in ("took longer than 8 s and was stopped", reasons["huge.npz"])
    assert reasons["pipe.bvh"] == "pipe.bvh: is a pipe, not a file"
    assert reasons["huge.npz"] == "needs more than 220 MB of memory and was stopped"
    assert files_of(output) == files_of(undisturbed)
    good = without_times(rows_of(undisturbed))
    assert {clip: row for clip, row in without_times(rows).items() if clip in good} == good


def test_two_runs_do_not_share_a_folder(library: Path, undisturbed: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    shutil.copytree(library, source)
    # The first run is busy with this one for long.
    (source / "hangs.bvh").write_text(bvh(1, 600_000))
    first = start(source, output)
    assert wait_for(lambda: lines_of(output) > 0, first)
    text = run(source, output, "--scale", 0.5, code=1)
    assert f"another run, process {first.pid} of " in text
    assert "hint: let it finish, or name another folder with -o" in text
    first.kill()
    first.communicate()
    (source / "hangs.bvh").unlink()
    run(source, output)
    check_same(output, undisturbed)


def memory_of(process: int) -> int:
    """Resident memory of a process in kilobytes."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")), 0)


def test_memory_stays_flat(tmp_path: Path) -> None:
    count, output = 300, tmp_path / "out"
    process = start(make_library(tmp_path / "in", count), output)
    seen: list[tuple[int, int, int]] = []
    while process.poll() is None:
        done = lines_of(output)
        workers = max((memory_of(child) for child in children(process.pid)), default=0)
        seen.append((done, memory_of(process.pid), workers))
        time.sleep(0.05)
    finish(process)
    warm = [entry for entry in seen if 100 <= entry[0] < count]
    half = len(warm) // 2
    assert half >= 3
    for column, max_growth in ((1, 1500), (2, 3000)):
        before, after = (max(entry[column] for entry in part) for part in (warm[:half], warm[half:]))
        assert after - before < max_growth, f"from {before} to {after} kB over {count - 100} clips"
