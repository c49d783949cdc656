"""The script for Slurm that the docs show, run as Slurm runs the tasks of a job array."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from understudy import samples
from understudy.io import write

SCRIPT = Path(__file__).parent.parent.parent / "docs" / "slurm_batch.sh"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_job_array_does_all_shards_and_merges_them(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "understudy"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from understudy.app.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    (tmp_path / "library").mkdir()
    walk = samples.motion("walk2d").motion.resampled(10.0)
    for number in range(4):
        write(walk[number : number + 4], tmp_path / "library" / f"{number}.bvh")
    settings = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    for task in ("1", "2"):
        array = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_CPUS_PER_TASK": "1"}
        subprocess.run(
            ["bash", str(SCRIPT), "library", "library/0.bvh", "results"],
            cwd=tmp_path, env={**settings, **array}, check=True, capture_output=True,
        )  # fmt: skip
    subprocess.run(
        ["bash", str(SCRIPT), "merge", "results"], cwd=tmp_path, env=settings, check=True, capture_output=True
    )
    table = parquet.read_table(tmp_path / "results" / "table.parquet")
    assert table.column("clip").to_pylist() == ["0.bvh", "1.bvh", "2.bvh", "3.bvh"]
    assert set(table.column("status").to_pylist()) == {"done"}
