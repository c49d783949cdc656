"""One worker process held within limits: what it answers, and what is said of it when it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.batch import worker as batch_worker
from understudy.batch.clip_job import SCRAPS
from understudy.batch.model import Job, JobSpec, Limits
from understudy.batch.places import Folder
from understudy.batch.worker import WorkerError, WorkerProcess, packed, resident, unpacked
from understudy.constraints import kinds
from understudy.io import write
from understudy.recipe import read_recipe
from understudy.retarget.spec import ActorSpec, Recipe

RECIPE = Recipe(actors=(ActorSpec(source="", scale=0.8),))


@pytest.fixture
def order(tmp_path: Path) -> JobSpec:
    (tmp_path / "in").mkdir()
    write(samples.motion("walk2d").motion.resampled(10.0)[:6], tmp_path / "in" / "walk.bvh")
    os.mkfifo(tmp_path / "in" / "hangs.bvh")
    return JobSpec(recipe=RECIPE, source=Folder(path=tmp_path / "in"), output=Folder(path=tmp_path / "out"))


WALK = Job(clip="walk.bvh", file="walk.bvh", output="walk.bvh")
HANGS = Job(clip="hangs.bvh", file="hangs.bvh", output="hangs.bvh")


@pytest.fixture
def hand(order: JobSpec) -> Iterator[WorkerProcess]:
    found = WorkerProcess(order, Limits())
    yield found
    found.close()


def worker_of(hand: WorkerProcess) -> int:
    assert hand._process is not None
    return hand._process.pid


def test_a_worker_does_many_clips_and_is_replaced_when_it_dies(hand: WorkerProcess, order: JobSpec) -> None:
    first = hand.do(WALK)
    assert first.row is not None
    assert first.row["status"] == "done"
    before = worker_of(hand)
    assert 10e6 < resident(before) < 1e9
    again = hand.do(Job(**{**WALK.__dict__, "known": first.row["key"], "written": "walk.bvh", "digest": "other"}))
    assert again.row is not None, "the file was not what it had been"
    assert worker_of(hand) == before
    hand.limits = Limits(seconds=0.5)
    slow = hand.do(HANGS)
    assert slow.row is not None
    assert slow.row["reason"] == "took longer than 0.5 s, and was given up"
    hand.limits = Limits()
    same = Job(**{**WALK.__dict__, "known": first.row["key"], "written": "walk.bvh"})
    same = Job(**{**same.__dict__, "digest": first.row["output_sha256"]})
    assert hand.do(same).row is None
    assert worker_of(hand) != before
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_a_clip_whose_worker_always_dies_is_given_up(order: JobSpec, tmp_path: Path) -> None:
    hand = WorkerProcess(order, Limits(seconds=60.0))
    gone = threading.Event()
    killed = []

    def kill() -> None:
        while not gone.wait(0.05):
            # A worker that has begun with the clip has a folder of scraps for it.
            if len(list((tmp_path / "out" / SCRAPS).glob("*"))) > len(killed):
                killed.append(worker_of(hand))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        answer = hand.do(HANGS)
    finally:
        gone.set()
        thread.join()
        hand.close()
    assert answer.row is not None
    assert answer.row["reason"] == "its worker was ended by SIGKILL, 3 times"
    assert len(killed) == 3


def test_stopping_leaves_the_clip_undone(hand: WorkerProcess) -> None:
    began = time.monotonic()
    threading.Timer(0.2, hand.stop).start()
    answer = hand.do(HANGS)
    assert (answer.row, answer.stop) == (None, "the run was stopped")
    assert time.monotonic() - began < 60.0


def test_a_worker_that_cannot_start_is_told(order: JobSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_worker, "COMMAND", "raise SystemExit('no library here')")
    hand = WorkerProcess(order, Limits())
    with pytest.raises(WorkerError, match="could not be started: its worker ended with status 1: no library here"):
        hand.do(WALK)
    hand.close()


def test_a_system_without_process_groups_is_told(order: JobSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with pytest.raises(WorkerError, match="Worker processes need Linux or macOS") as caught:
        WorkerProcess(order, Limits())
    assert caught.value.hint == "choose the engine `inline`"


def test_a_worker_ends_with_its_input(order: JobSpec) -> None:
    command = "from understudy.batch.worker import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(packed(order, Limits()))
    process.stdin.write(b'{"clip": "hangs.bvh", "file": "hangs.bvh", "output": "x.bvh"}\n')
    process.stdin.flush()
    assert process.stdout.readline() == b'{"ready": true}\n'
    process.stdin.close()
    assert process.wait(20.0) == 0
    process.stdout.close()


def test_functions_of_a_recipe_go_along(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def above(points):\n    return points[..., 0, 1]\n")
    (tmp_path / "recipe.toml").write_text(
        'source = "a.bvh"\nscale = 0.8\n[[constraint]]\nkind = "function"\n'
        'function = "mine:above"\npoints = [{ point = "LeftToe" }]\n'
    )
    assert "function" in kinds()
    recipe = read_recipe(tmp_path / "recipe.toml")
    order = JobSpec(recipe=recipe, source=Folder(path=tmp_path), output=Folder(path=tmp_path))
    found = unpacked(packed(order, Limits(seconds=1.0)))
    assert found[1].seconds == 1.0
    function = found[0].recipe.constraints[0].function  # type: ignore[attr-defined]
    assert function.__qualname__ == "above"
    inside = JobSpec(recipe=RECIPE, source=order.source, output=order.output)
    object.__setattr__(inside, "ending", lambda points: points)
    with pytest.raises(OptionError, match="is in no file that a worker could load"):
        packed(inside, Limits())
