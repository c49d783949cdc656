"""One clip done from beginning to end: fetched, solved, measured, judged, written; whatever happens becomes a row."""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from understudy.batches.finding import rejected
from understudy.batches.identity import clip_key, companions, file_digest
from understudy.batches.model import DONE, FAILED, STATE, Answer, Job, Order, Row, StopError, versions
from understudy.batches.places import Folder
from understudy.batches.target import fetched_from, key_of, localized
from understudy.batches.thumbnail import thumbnail
from understudy.errors import FileError, UnderstudyError
from understudy.io import Clip, read, write
from understudy.metrics import Report, evaluate
from understudy.recipe import Prepared, prepare
from understudy.recipe.loading import clip_of
from understudy.recipe.quality import measure
from understudy.solvers.base import Solution

LOCK = f"{STATE}/lock"
"""The file that says which run writes into the output's folder."""
SCRAPS = f"{STATE}/scraps"
"""The folder of files that are not in their place yet."""
HOPELESS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EFBIG,
}  # fmt: skip
"""Errors in writing that the next clip would meet as well."""
PARTS = ("reading", "solving", "measuring", "writing", "drawing")
"""What seconds are spent on."""


@dataclass(eq=False, kw_only=True)
class Clock:
    """Seconds by what they are spent on."""

    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    began: float = field(default_factory=time.perf_counter)
    worked: float = field(default_factory=time.process_time)

    def columns(self) -> Row:
        """Seconds since the beginning, those of them that the processor worked, and by what they were spent on."""
        whole = {"seconds": time.perf_counter() - self.began, "seconds_cpu": time.process_time() - self.worked}
        whole |= {f"seconds_{part}": seconds for part, seconds in self.spent.items()}
        return {name: round(seconds, 6) for name, seconds in whole.items()}

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what is done inside for one part."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent[part] += time.perf_counter() - began


def perform(order: Order, job: Job, tell: Callable[[Row], None] = lambda _: None) -> Answer:
    """Do one clip. Nothing but a lack of memory and an output that cannot be written comes out as an error.

    Args:
        order: What is to be done with every clip.
        job: The clip.
        tell: Told what the clip is recognised by before it is worked on.
    """
    if job.looks:
        return Answer(animations=_animations(order, job))
    clock = Clock()
    row: Row = {"clip": job.clip, "status": FAILED, "reason": ""}
    with _scraps(order) as folder:
        picture, names = "", {str(folder): "", order.source.address(): ""}
        try:
            names |= fetched_from(order)
            with clock.on("reading"):
                path, identity = _fetched(order, job, folder)
            if identity["key"] == job.known and _still_there(order, job):
                return Answer()
            row |= identity
            tell(identity)
            picture = _retargeted(order, job, path, row, folder, clock)
        except UnderstudyError as error:
            row |= {"status": FAILED, "reason": _named(error.message, names)}
        except (MemoryError, StopError):
            raise
        except Exception as error:
            row |= {"status": FAILED, "reason": f"a fault of understudy itself: {_fault(error)}"}
    row |= versions()
    row |= clock.columns()
    row["notes"] = [_named(note, names) for note in row.get("notes", ())]
    return Answer(row=row, picture=picture)


@contextmanager
def _scraps(order: Order) -> Iterator[Path]:
    """A folder for this clip alone, on the output's own disk where that is here, so that files can be moved."""
    parent = None
    if isinstance(order.output, Folder):
        parent = order.output.path / SCRAPS
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent))
    except OSError as error:
        raise StopError(f"{order.output.text()}: cannot be written: {error.strerror}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _animations(order: Order, job: Job) -> list[str]:
    """The names of a file's animations; none for a file that cannot be read, of which its own job will say why."""
    reading = order.recipe.reading
    with _scraps(order) as folder:
        try:
            path = order.source.fetch(job.file, folder)
            for name in companions(order.source, job.file, path):
                _beside(order, name, job.file, folder)
            return list(read(path, unit=reading.unit, up=reading.up, lenient=reading.lenient).clips)
        except UnderstudyError:
            return []


def _fetched(order: Order, job: Job, folder: Path) -> tuple[Path, Row]:
    """The clip's file on this machine, and what it and its result are recognised by."""
    path = order.source.fetch(job.file, folder)
    own = file_digest(path)
    beside = companions(order.source, job.file, path)
    digests = [file_digest(_beside(order, name, job.file, folder)) for name in beside]
    return path, {"source_sha256": own, "key": clip_key(key_of(order), job.output, [own, *digests])}


def _beside(order: Order, name: str, file: str, folder: Path) -> Path:
    """A file that belongs to a clip, as far from it here as it is there."""
    lead = PurePosixPath(file).parent
    inner = folder / PurePosixPath(name).relative_to(lead).parent
    inner.mkdir(parents=True, exist_ok=True)
    return order.source.fetch(name, inner)


def _still_there(order: Order, job: Job) -> bool:
    """Whether the file of an earlier result is there as it was written; true for one that wrote none."""
    if not job.written:
        return True
    if isinstance(order.output, Folder):
        path = order.output.path / job.written
        return path.is_file() and file_digest(path) == job.digest
    return order.output.size(job.written) is not None


def _retargeted(order: Order, job: Job, path: Path, row: Row, folder: Path, clock: Clock) -> str:
    """Retarget one clip; fills the row, and returns a picture of the result."""
    with clock.on("reading"):
        recipe = localized(order)
        source = f"{path}#{job.animation}" if job.animation else str(path)
        prepared = prepare(replace(recipe, actors=(replace(recipe.actors[0], source=source),)))
    row["notes"] = prepared.notes
    with clock.on("solving"):
        spacing = prepared.spacings()[0]
        solution = prepared.solve(spacing)
    with clock.on("measuring"):
        measured = measure(prepared, solution, spacing)
        report = _report(prepared, solution, skin=order.skin)
        faults = measured["faults"]
        row |= figures(prepared, measured, report)
    with clock.on("writing"):
        output = rejected(job.output) if faults else job.output
        row |= _written(order, clip_of(prepared.cast[0], solution.motion), output, folder)
    row |= {"status": FAILED if faults else DONE, "reason": "; ".join(faults)}
    with clock.on("drawing"):
        return thumbnail(solution.motion)


def _report(prepared: Prepared, solution: Solution, *, skin: bool) -> Report:
    """Every metric of a result against its source."""
    part = None if prepared.plan is None else prepared.plan.parts[0]
    correspondence = None if part is None or part.alignment is None else part.alignment.correspondence
    return evaluate(
        solution.motion,
        prepared.cast[0].motion,
        correspondence,
        contacts=prepared.contacts,
        outcomes=solution.outcomes,
        meshes=prepared.cast[0].clip.meshes if skin else (),
    )


def figures(prepared: Prepared, measured: dict[str, Any], report: Report) -> Row:
    """What was measured, flat: one entry a figure, as METRIC.FIGURE, and a verdict each."""
    motion = prepared.cast[0].motion
    row: Row = {
        "frames": measured["frames"],
        "fps": measured["fps"],
        "duration": round(motion.duration, 9),
        "joints": prepared.cast[0].target.num_joints,
        "verdict": str(report.verdict),
        "solver": measured["solver"],
        "spacing": measured["spacing"],
        "steps": measured["steps"],
        "constraints": measured["constraints"],
        "unmet": len(measured["unmet"]),
    }
    for each in report.measurements:
        row[f"{each.metric}.verdict"] = str(each.verdict)
        row |= {f"{each.metric}.{figure.name}": figure.value for figure in each.figures}
    return row


def _written(order: Order, clip: Clip, output: str, folder: Path) -> Row:
    """Write a result aside, then move it into its place, if this run still has the folder."""
    inner = folder / "out"
    try:
        inner.mkdir()
        path = inner / PurePosixPath(output).name
        lost = write(clip, path)
        digest, size = file_digest(path), path.stat().st_size
        check_run(order)
        order.output.put(path, output)
    except (OSError, FileError) as error:
        _stop_if_hopeless(error, order)
        raise
    return {"output": output, "output_sha256": digest, "bytes": size, "not_kept": list(lost)}


def _stop_if_hopeless(error: OSError | FileError, order: Order) -> None:
    cause = error if isinstance(error, OSError) else error.__context__
    if isinstance(cause, OSError) and cause.errno in HOPELESS:
        raise StopError(f"{order.output.text()}: cannot be written: {cause.strerror}") from None


def check_run(order: Order) -> None:
    """Refuse to publish for a run that has lost the folder to another."""
    if not order.run:
        return
    held = order.output.read_bytes(LOCK)
    try:
        owner = json.loads(held or b"{}").get("run")
    except ValueError:
        owner = None
    if owner != order.run:
        raise StopError(f"{order.output.text()}: another run has taken this folder over")


def _named(text: str, names: dict[str, str]) -> str:
    """A sentence in which files are called as the table calls them, not by where they are on this machine."""
    for folder, short in names.items():
        text = text.replace(folder.rstrip("/") + "/", short)
    return " ".join(text.split())


def _fault(error: Exception) -> str:
    """An unexpected error, with the line it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
