"""A worker process: its answers, its limits, and the reasons it gives for failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.batch import worker as batch_worker
from understudy.batch.location import Folder
from understudy.batch.model import TEMPORARY_FOLDER, Job, JobSpec, Limits
from understudy.batch.worker import WorkerError, WorkerProcess, memory_share, pack, resident_bytes, unpack
from understudy.constraints import kinds
from understudy.io import write
from understudy.recipe import read_recipe
from understudy.retarget.actor import ActorSpec
from understudy.retarget.spec import Recipe

RECIPE = Recipe(actors=(ActorSpec(source="", scale=0.8),))


@pytest.fixture
def spec(tmp_path: Path) -> JobSpec:
    (tmp_path / "in").mkdir()
    write(samples.motion("walk2d").motion.resampled(10.0)[:6], tmp_path / "in" / "walk.bvh")
    # A clip that takes long: the same frames again and again.
    head, frames = (tmp_path / "in" / "walk.bvh").read_text().split("MOTION")
    _, time_line, *rows = frames.strip().splitlines()
    repeated = "\n".join(rows * 30_000)
    (tmp_path / "in" / "hangs.bvh").write_text(f"{head}MOTION\nFrames: {30_000 * len(rows)}\n{time_line}\n{repeated}\n")
    return JobSpec(recipe=RECIPE, source=Folder(path=tmp_path / "in"), output=Folder(path=tmp_path / "out"))


WALK = Job(clip="walk.bvh", file="walk.bvh", output="walk.bvh")
HANGS = Job(clip="hangs.bvh", file="hangs.bvh", output="hangs.bvh")


@pytest.fixture
def worker(spec: JobSpec) -> Iterator[WorkerProcess]:
    process = WorkerProcess(spec, Limits())
    yield process
    process.close()


def pid_of(worker: WorkerProcess) -> int:
    assert worker._process is not None
    return worker._process.pid


def test_a_worker_does_many_clips_and_is_replaced_when_it_dies(worker: WorkerProcess, spec: JobSpec) -> None:
    first = worker.do(WALK)
    assert first.row is not None
    assert first.row["status"] == "done"
    before = pid_of(worker)
    assert 10e6 < resident_bytes(before) < 1e9
    previous = replace(WALK, previous_key=first.row["key"], previous_output="walk.bvh")
    again = worker.do(replace(previous, previous_digest="other"))
    assert again.row is not None, "a changed output file was taken for the earlier result"
    assert pid_of(worker) == before
    worker.limits = Limits(seconds=0.5)
    slow = worker.do(HANGS)
    assert slow.row is not None
    assert slow.row["reason"] == "took longer than 0.5 s and was stopped"
    worker.limits = Limits()
    assert worker.do(replace(previous, previous_digest=first.row["output_sha256"])).row is None
    assert pid_of(worker) != before
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_a_clip_whose_worker_always_dies_fails(spec: JobSpec, tmp_path: Path) -> None:
    worker = WorkerProcess(spec, Limits(seconds=60.0))
    finished = threading.Event()
    killed = []

    def kill() -> None:
        while not finished.wait(0.05):
            # A worker that has started the clip has a temporary folder for it.
            if len(list((tmp_path / "out" / TEMPORARY_FOLDER).glob("*"))) > len(killed):
                killed.append(pid_of(worker))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        answer = worker.do(HANGS)
    finally:
        finished.set()
        thread.join()
        worker.close()
    assert answer.row is not None
    assert answer.row["reason"] == "its worker was killed by SIGKILL, 3 times"
    assert len(killed) == 3


def test_a_stopped_worker_leaves_its_clip_undone(worker: WorkerProcess) -> None:
    began = time.monotonic()
    threading.Timer(0.2, worker.stop).start()
    answer = worker.do(HANGS)
    assert (answer.row, answer.stop) == (None, "the run was stopped")
    assert time.monotonic() - began < 60.0


def test_a_worker_that_cannot_start_is_reported(spec: JobSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_worker, "COMMAND", "raise SystemExit('no library here')")
    worker = WorkerProcess(spec, Limits())
    with pytest.raises(WorkerError, match="could not be started: its worker exited with status 1: no library here"):
        worker.do(WALK)
    worker.close()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux only")
def test_a_memory_limit_below_what_a_worker_itself_holds_is_explained(spec: JobSpec) -> None:
    worker = WorkerProcess(spec, Limits(bytes=10_000_000))
    with pytest.raises(WorkerError, match="could not be started: needs more than 10 MB of memory") as caught:
        worker.do(WALK)
    worker.close()
    assert caught.value.hint == "the limit includes what a worker holds before its first clip, about 100 MB"


def test_a_system_without_process_groups_has_workers_too(spec: JobSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, as far as Linux can show it: no process groups, no /proc, no system limits."""
    kill_group = os.killpg
    monkeypatch.delattr(os, "killpg")
    monkeypatch.setattr(batch_worker, "GROUP_OPTIONS", {})
    monkeypatch.setattr(batch_worker, "resident_bytes", resident_by_psutil)
    worker = WorkerProcess(spec, Limits(bytes=2_000_000_000))
    try:
        answer = worker.do(WALK)
        assert answer.row is not None
        assert answer.row["status"] == "done"
        before = pid_of(worker)
        worker.limits = Limits(bytes=1_000_000)
        too_large = worker.do(WALK)
        assert too_large.row is not None
        assert too_large.row["reason"] == "needs more than 1 MB of memory and was stopped"
        with pytest.raises(ProcessLookupError):
            os.kill(before, 0)
    finally:
        monkeypatch.setattr(os, "killpg", kill_group, raising=False)
        worker.close()


def resident_by_psutil(process: int) -> int:
    """Resident memory as on systems without /proc."""
    psutil = pytest.importorskip("psutil")
    return int(psutil.Process(process).memory_info().rss)


def test_memory_is_measured_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    opened = open

    def no_proc(path: object, *options: object, **named: object) -> object:
        if str(path).startswith("/proc/"):
            raise FileNotFoundError(path)
        return opened(path, *options, **named)  # type: ignore[call-overload]

    by_proc = resident_bytes(os.getpid())
    monkeypatch.setattr(batch_worker, "open", no_proc, raising=False)
    monkeypatch.setattr(os, "sysconf_names", {})
    assert resident_bytes(os.getpid()) == pytest.approx(by_proc, rel=0.2)
    assert memory_share(2) == pytest.approx(0.45 * resident_total(), rel=0.01)
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert resident_bytes(os.getpid()) == 0
    assert memory_share(2) is None


def resident_total() -> int:
    import psutil  # type: ignore[import-untyped]

    return int(psutil.virtual_memory().total)


@pytest.mark.parametrize("times", [1, 3])
def test_a_worker_killed_while_it_starts_does_not_end_the_run(
    spec: JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The first starts end by a signal, as when the system is short of memory."""
    monkeypatch.setattr(batch_worker, "START_PAUSE_SECONDS", 0.0)
    counted = (
        "import os, pathlib, signal\n"
        f"path = pathlib.Path({str(tmp_path / 'starts')!r})\n"
        "count = len(path.read_text()) if path.exists() else 0\n"
        "path.write_text('x' * (count + 1))\n"
        f"if count < {times}: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{batch_worker.COMMAND}"
    )
    monkeypatch.setattr(batch_worker, "COMMAND", counted)
    worker = WorkerProcess(spec, Limits())
    try:
        answer = worker.do(WALK)
        assert answer.row is not None
        if times < 3:
            assert answer.row["status"] == "done"
        else:
            assert answer.row["reason"] == "its worker was killed by SIGKILL while it started, 3 times"
            later = worker.do(WALK)
            assert later.row is not None
            assert later.row["status"] == "done"
    finally:
        worker.close()


def test_a_worker_exits_when_its_input_ends(spec: JobSpec) -> None:
    command = "from understudy.batch.worker import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(pack(spec, Limits()))
    process.stdin.write(b'{"clip": "hangs.bvh", "file": "hangs.bvh", "output": "x.bvh"}\n')
    process.stdin.flush()
    assert process.stdout.readline() == b'{"ready": true}\n'
    process.stdin.close()
    assert process.wait(20.0) == 0
    process.stdout.close()


def test_functions_of_a_recipe_are_sent_to_workers(tmp_path: Path) -> None:
    (tmp_path / "custom.py").write_text("def above(points):\n    return points[..., 0, 1]\n")
    (tmp_path / "recipe.toml").write_text(
        'source = "a.bvh"\nscale = 0.8\n[[constraint]]\nkind = "function"\n'
        'function = "custom:above"\npoints = [{ point = "LeftToe" }]\n'
    )
    assert "function" in kinds()
    recipe = read_recipe(tmp_path / "recipe.toml", trust=True)
    spec = JobSpec(recipe=recipe, source=Folder(path=tmp_path), output=Folder(path=tmp_path))
    unpacked_spec, limits = unpack(pack(spec, Limits(seconds=1.0)))
    assert limits.seconds == 1.0
    function = unpacked_spec.recipe.constraints[0].function  # type: ignore[attr-defined]
    assert function.__qualname__ == "above"
    nested = JobSpec(recipe=RECIPE, source=spec.source, output=spec.output)
    object.__setattr__(nested, "suffix", lambda points: points)
    with pytest.raises(OptionError, match="is in no file that a worker could load"):
        pack(nested, Limits())
