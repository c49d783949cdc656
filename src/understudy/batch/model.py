"""What a batch is made of: the order that is the same for all clips, one job a clip, limits, and answers."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import understudy

if TYPE_CHECKING:
    from understudy.batch.places import Location
    from understudy.retarget.spec import Recipe


DONE, FAILED = "done", "failed"
"""Every status that a row may have."""

STATE = ".batch"
"""The folder, inside the output's, of what a run keeps for itself."""

REJECTED = "failed"
"""The folder, inside the output's, of motions that were made but are no use."""

ATTEMPTS = 3
"""How often a clip is tried whose worker dies for a reason that may not be the clip's."""

TIMEOUT = 600.0
"""Seconds that a clip may take if nothing is said."""

Row = dict[str, Any]
"""What is known about one clip: plain data, the columns of the table."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JobSpec:
    """What is to be done with every clip, and where."""

    recipe: Recipe
    """With one actor, whose source each clip stands in for."""
    source: Location
    output: Location
    ending: str | None = None
    """Of the results; None for that of each source."""
    run: str = ""
    """The name of the run, as its lock has it; a worker of another run publishes nothing."""
    version: str = understudy.__version__
    skin: bool = False
    """Whether limbs that go through the body are told by the target's skin, where it has one."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One clip to be done."""

    clip: str
    """What the clip is called: its file, and behind a `#` the animation where the file holds several."""
    file: str
    """The file, from the source's folder, with slashes."""
    animation: str = ""
    """Which of the file's animations; empty for the only one."""
    looks: bool = False
    """Whether nothing is to be done but to tell which animations the file holds."""
    output: str = ""
    """The file to write, from the output's folder, with slashes."""
    known: str = ""
    """The key of the result that is there already; empty where there is none."""
    written: str = ""
    """The file of that result, from the output's folder; empty where nothing was written."""
    digest: str = ""
    """The digest of that file."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one clip may take."""

    seconds: float | None = TIMEOUT
    """None for as long as it likes."""
    bytes: int | None = None
    """Memory of the worker that does it; None for as much as there is."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of a job."""

    row: Row | None = None
    """None where the result that was there is still the right one."""
    picture: str = ""
    stop: str = ""
    """Why no clip can be done any more, such as a full disk; then there is no row."""
    animations: list[str] = field(default_factory=list)
    """What the file holds, where that was asked for."""


class StopError(Exception):
    """The output cannot be written, whatever the clip."""


@cache
def versions() -> Row:
    """What a result depends on besides its inputs, as columns."""
    packages = {f"version_{name}": version(name) for name in ("numpy", "scipy")}
    return {"version_understudy": understudy.__version__, "version_python": platform.python_version(), **packages}


def failed_row(job: Job, reason: str, **known: Any) -> Row:
    """The row of a clip that came to nothing.

    Args:
        job: The clip's.
        reason: Why.
        known: What was found out before.
    """
    plain = " ".join(reason.split())
    return {"clip": job.clip, "status": FAILED, "reason": plain, **known, **versions(), "notes": []}
