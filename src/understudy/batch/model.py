"""The data of a batch: the spec that all clips share, one job a clip, limits, and answers."""

from __future__ import annotations

import platform
from dataclasses import field
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import understudy
from understudy.base.records import record

if TYPE_CHECKING:
    from understudy.batch.location import Location
    from understudy.retarget.spec import Recipe


DONE, FAILED = "done", "failed"
"""The two values of a row's status."""

STATE_FOLDER = ".batch"
"""The folder, inside the output folder, of files that only the batch itself needs."""

SHARDS_FOLDER = f"{STATE_FOLDER}/shards"
"""The folder of the state of each shard, until the shards are merged."""

TEMPORARY_FOLDER = f"{STATE_FOLDER}/scraps"
"""The folder of results that are still being written; in the state folder of a shard it has the same name."""

REJECTED_FOLDER = "failed"
"""The folder, inside the output folder, of results that are unusable."""

MAX_ATTEMPTS = 3
"""How often a clip is tried when its worker dies for a reason that may lie outside the clip."""

DEFAULT_TIMEOUT_SECONDS = 600.0
"""Time that a clip may take where the user sets no limit."""

Row = dict[str, Any]
"""The columns of the table for one clip, as plain data."""


@record
class JobSpec:
    """What all jobs of a batch share: what to do with each clip, and where."""

    recipe: Recipe
    """With one actor, whose source is replaced by each clip."""
    source: Location
    output: Location
    suffix: str | None = None
    """Of the result files; None for that of each source."""
    state: str = STATE_FOLDER
    """The folder of this run's lock and temporary files, inside the output folder; a shard has its own."""
    run_id: str = ""
    """The run's name in the lock file. Workers of a run that lost the lock write nothing."""
    version: str = understudy.__version__
    accept: tuple[str, ...] = ()
    """Rules on figures and verdicts, such as `foot_skate.added_drift<0.01`; a result that breaks one is rejected."""
    skin: bool = False
    """Whether limbs that pass through the body are measured with the target's skin, where it has one."""


@record(eq=True)
class Job:
    """One clip to process."""

    clip: str
    """The clip's name: its file, followed by `#` and the animation where the file holds several."""
    file: str
    """The file, relative to the source folder, with slashes."""
    animation: str = ""
    """Which of the file's animations; empty for the only one."""
    list_animations: bool = False
    """Whether the job only lists the animations of the file."""
    output: str = ""
    """The file to write, relative to the output folder, with slashes."""
    previous_key: str = ""
    """The key of an earlier result; empty where there is none."""
    previous_output: str = ""
    """The file of that result, relative to the output folder; empty where none was written."""
    previous_digest: str = ""
    """The SHA-256 of that file."""
    previous_companions: tuple[str, ...] = ()
    """The other files that were opened for that result, as `DIGEST NAME`, relative to the clip's folder."""


@record(eq=True)
class Limits:
    """What one clip may use."""

    seconds: float | None = DEFAULT_TIMEOUT_SECONDS
    """None for no limit."""
    bytes: int | None = None
    """Resident memory of the whole worker process, its imports included; None for no limit."""


@record(eq=True)
class Answer:
    """The outcome of a job."""

    row: Row | None = None
    """None where the earlier result is still valid."""
    picture: str = ""
    stop: str = ""
    """Why no further clip can be processed, such as a full disk; there is no row then."""
    animations: list[str] = field(default_factory=list)
    """The animations of the file, for a job that lists them."""
    left_out: list[str] = field(default_factory=list)
    """Those of its animations that move nothing while others do, for such a job."""


class StopError(Exception):
    """The output cannot be written, whatever the clip."""


@cache
def versions() -> Row:
    """The versions that a result depends on, as columns."""
    packages = {f"version_{name}": version(name) for name in ("numpy", "scipy")}
    return {"version_understudy": understudy.__version__, "version_python": platform.python_version(), **packages}


def failed_row(job: Job, reason: str, **columns: Any) -> Row:
    """The row of a clip that failed.

    Args:
        job: The clip's job.
        reason: Why it failed.
        columns: Further columns that are known.
    """
    one_line = " ".join(reason.split())
    return {"clip": job.clip, "status": FAILED, "reason": one_line, **columns, **versions(), "notes": []}
