"""The Dask engine on a local cluster gives the same results as the inline engine, even if a worker is killed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from understudy.base.errors import OptionError
from understudy.batch import batch
from understudy.batch.engines import dask as batch_engines_dask

distributed = pytest.importorskip("distributed")

CLIPS = 16
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
Frames: 4
Frame Time: 0.033333
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for number in range(CLIPS):
        path = folder / f"part{number % 3}" / f"{number:02d}.bvh"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + "".join(f"{0.1 * k} 0 0 {k} 0 0 {10 * k + number} 0 0\n" for k in range(4)))
    (folder / "broken.bvh").write_text(HEAD + "1 2 3\n")
    return folder


def without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if not key.startswith("seconds")}


def results(output: Path) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """The rows without times, in order, and the files."""
    rows = [without_times(json.loads(line)) for line in (output / "rows.jsonl").read_text().splitlines()]
    return rows, {path.relative_to(output).as_posix(): path.read_bytes() for path in output.rglob("*.bvh")}


@pytest.fixture(scope="module")
def inline_output(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the inline engine."""
    output = tmp_path_factory.mktemp("inline") / "out"
    assert len(list(batch(library, output=output, scale=0.8, engine="inline"))) == CLIPS + 1
    return output


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Silence the loggers of Dask, which report the killed worker."""
    caplog.set_level(60, "distributed")


@pytest.mark.usefixtures("quiet")
def test_a_cluster_gives_the_same_results_though_a_worker_is_killed(
    library: Path, inline_output: Path, tmp_path: Path
) -> None:
    output, seen, killed = tmp_path / "out", [], []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None, local_directory=tmp_path / "dask"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())

        def kill_after_four(row: dict[str, Any]) -> None:
            seen.append(row["clip"])
            if len(seen) == 4:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        address = cluster.scheduler_address
        batch(library, output=output, scale=0.8, engine="dask", address=address, watch=kill_after_four)
        assert killed[0] not in client.run(os.getpid).values()
    assert len(seen) == len(set(seen)) == CLIPS + 1
    assert results(output) == results(inline_output)


@pytest.mark.usefixtures("quiet")
def test_a_missing_cluster_is_reported(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_engines_dask, "MAX_CONNECT_SECONDS", 1)
    with pytest.raises(OptionError, match=r"no Dask scheduler at `tcp://127\.0\.0\.1:9`"):
        list(batch(library, output=tmp_path / "out", scale=0.8, engine="dask", address="tcp://127.0.0.1:9"))
