"""One clip from beginning to end: fetched, retargeted, measured, judged and written; every outcome becomes a row."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from understudy.base.errors import FileError, UnderstudyError
from understudy.base.files import record_opened
from understudy.batch.acceptance import broken_rules
from understudy.batch.finding import rejected_output
from understudy.batch.identity import companions, file_digest, make_clip_key
from understudy.batch.location import Folder
from understudy.batch.lock import check_lock
from understudy.batch.model import DONE, FAILED, TEMPORARY_FOLDER, Answer, Job, JobSpec, Row, StopError, versions
from understudy.batch.target import fetched_folders, local_recipe, provenance, shared_files, spec_key
from understudy.figure.sketch import thumbnail
from understudy.io import Clip, read, write
from understudy.metrics.base import Report
from understudy.retarget.driver import Prepared, prepare

FATAL_WRITE_ERRORS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EFBIG,
}  # fmt: skip
"""Errors in writing that every later clip would meet too."""

PHASES = ("reading", "solving", "measuring", "writing", "drawing")
"""The phases of a job that are timed."""


@dataclass(eq=False, kw_only=True)
class Stopwatch:
    """Measures the seconds of each phase."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    start: float = field(default_factory=time.perf_counter)
    cpu_start: float = field(default_factory=time.process_time)

    def columns(self) -> Row:
        """Elapsed seconds, processor seconds, and seconds by phase."""
        columns = {"seconds": time.perf_counter() - self.start, "seconds_cpu": time.process_time() - self.cpu_start}
        columns |= {f"seconds_{phase}": seconds for phase, seconds in self.seconds.items()}
        return {name: round(seconds, 6) for name, seconds in columns.items()}

    @contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Add the time of the context to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] += time.perf_counter() - start


def perform(spec: JobSpec, job: Job, announce: Callable[[Row], None] = lambda _: None) -> Answer:
    """Process one clip. Only `MemoryError` and `StopError` (the output cannot be written) are raised.

    Args:
        spec: What all clips share.
        job: The clip.
        announce: Called with the digests of the clip before it is retargeted.
    """
    if job.list_animations:
        animations, left_out = _list_animations(spec, job)
        return Answer(animations=animations, left_out=left_out)
    stopwatch = Stopwatch()
    row: Row = {"clip": job.clip, "status": FAILED, "reason": ""}
    with _temporary_folder(spec) as folder:
        picture, display_names = "", {str(folder): "", spec.source.address(): ""}
        try:
            display_names |= fetched_folders(spec)
            with stopwatch.measure("reading"):
                path, identity = _fetch(spec, job, folder)
            if identity["key"] == job.previous_key and _is_intact(spec, job) and _same_companions(path, job):
                return Answer()
            row |= identity
            announce(identity)
            picture = _retarget(spec, job, path, row, folder, stopwatch)
        except UnderstudyError as error:
            row |= {"status": FAILED, "reason": _shorten_paths(error.message, display_names)}
        except (MemoryError, StopError):
            raise
        except Exception as error:
            row |= {"status": FAILED, "reason": f"a bug in understudy: {_describe_bug(error)}"}
    row |= versions()
    row |= stopwatch.columns()
    row["notes"] = [_shorten_paths(note, display_names) for note in row.get("notes", ())]
    return Answer(row=row, picture=picture)


@contextmanager
def _temporary_folder(spec: JobSpec) -> Iterator[Path]:
    """A folder for this clip alone, on the disk of a local output folder so that files can be moved there."""
    parent = None
    if isinstance(spec.output, Folder):
        parent = spec.output.path / spec.state / PurePosixPath(TEMPORARY_FOLDER).name
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent))
    except OSError as error:
        raise StopError(f"{spec.output.text()}: cannot be written: {error.strerror}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _list_animations(spec: JobSpec, job: Job) -> tuple[list[str], list[str]]:
    """The file's animations that are worked on, and those that are not, such as an empty take before the motion.

    A pose that is held is left out where another animation of the file moves. An unreadable file has none; its job will
    report the error later.
    """
    reading = spec.recipe.reading
    with _temporary_folder(spec) as folder:
        try:
            path = spec.source.fetch(job.file, folder)
            for name in companions(spec.source, job.file):
                _fetch_companion(spec, name, job.file, folder)
            clip = read(path, unit=reading.unit, up=reading.up, lenient=reading.lenient)
        except UnderstudyError:
            return [], []
    moving = [name for name in clip.clips if name not in (*clip.empty_clips, *clip.still_clips)]
    taken = moving or list(clip.still_clips)
    return taken, [name for name in clip.clips if name not in taken]


def _fetch(spec: JobSpec, job: Job, folder: Path) -> tuple[Path, Row]:
    """The clip's file on this machine, and the digests that identify the clip and its result."""
    path = spec.source.fetch(job.file, folder)
    digest = file_digest(path)
    names = companions(spec.source, job.file)
    companion_digests = [file_digest(_fetch_companion(spec, name, job.file, folder)) for name in names]
    key = make_clip_key(spec_key(spec), job.output, [digest, *companion_digests])
    return path, {"source_sha256": digest, **provenance(spec), "key": key}


def _fetch_companion(spec: JobSpec, name: str, file: str, folder: Path) -> Path:
    """Fetch a file that a clip refers to, to the same path relative to the clip."""
    subfolder = folder / PurePosixPath(name).relative_to(PurePosixPath(file).parent).parent
    subfolder.mkdir(parents=True, exist_ok=True)
    return spec.source.fetch(name, subfolder)


def _same_companions(path: Path, job: Job) -> bool:
    """Whether the other files that were opened for an earlier result are as they were."""
    for entry in job.previous_companions:
        digest, _, name = entry.partition(" ")
        try:
            if file_digest(path.parent / name) != digest:
                return False
        except FileError:
            return False
    return True


def _companion_digests(spec: JobSpec, path: Path, opened: list[str]) -> list[str]:
    """The files besides the clip's that were opened for it alone, as `DIGEST NAME`, relative to its folder."""
    others = set(opened) - shared_files(spec) - {str(path.absolute())}
    names = sorted(os.path.relpath(other, path.parent.absolute()).replace(os.sep, "/") for other in others)
    return [f"{file_digest(path.parent / name)} {name}" for name in names]


def _is_intact(spec: JobSpec, job: Job) -> bool:
    """Whether the file of an earlier result is as it was written; true where that result has no file."""
    if not job.previous_output:
        return True
    if isinstance(spec.output, Folder):
        path = spec.output.path / job.previous_output
        return path.is_file() and file_digest(path) == job.previous_digest
    return spec.output.size(job.previous_output) is not None


def _retarget(spec: JobSpec, job: Job, path: Path, row: Row, folder: Path, stopwatch: Stopwatch) -> str:
    """Retarget one clip and fill its row; returns a picture of the result."""
    with stopwatch.measure("reading"):
        recipe = local_recipe(spec)
        source = f"{path}#{job.animation}" if job.animation else str(path)
        with record_opened() as opened:
            prepared = prepare(replace(recipe, actors=(replace(recipe.actors[0], source=source),)))
        row["companions"] = _companion_digests(spec, path, opened)
    row["notes"] = prepared.notes
    with stopwatch.measure("solving"):
        result = prepared.solve()
    with stopwatch.measure("measuring"):
        row |= measurement_columns(prepared, result.quality, result.evaluate(skin=spec.skin))
        faults = [*result.quality["faults"], *broken_rules(spec.accept, row)]
    with stopwatch.measure("writing"):
        output = rejected_output(job.output) if faults else job.output
        row |= _write_result(spec, result.clip, output, folder)
    row |= {"status": FAILED if faults else DONE, "reason": "; ".join(faults)}
    with stopwatch.measure("drawing"):
        return thumbnail(result.solution.motion)


def measurement_columns(prepared: Prepared, quality: dict[str, Any], report: Report) -> Row:
    """The measurements as columns: METRIC.FIGURE for every figure, and METRIC.verdict."""
    motion = prepared.actors[0].motion
    row: Row = {
        "frames": quality["frames"],
        "fps": quality["fps"],
        "duration": round(motion.duration, 9),
        "joints": prepared.actors[0].target.num_joints,
        "verdict": str(report.verdict),
        "solver": quality["solver"],
        "spacing": quality["spacing"],
        "steps": quality["steps"],
        "constraints": quality["constraints"],
        "unmet": len(quality["unmet"]),
    }
    for measurement in report.measurements:
        row[f"{measurement.metric}.verdict"] = str(measurement.verdict)
        row |= {f"{measurement.metric}.{figure.name}": figure.value for figure in measurement.figures}
    return row


def _write_result(spec: JobSpec, clip: Clip, output: str, folder: Path) -> Row:
    """Write a result to the temporary folder, then move it to the output folder if this run still holds the lock."""
    try:
        (folder / "out").mkdir()
        path = folder / "out" / PurePosixPath(output).name
        lost = write(clip, path, others=False)
        digest, size = file_digest(path), path.stat().st_size
        check_lock(spec)
        spec.output.put(path, output)
    except (OSError, FileError) as error:
        _stop_if_fatal(error, spec)
        raise
    return {"output": output, "output_sha256": digest, "bytes": size, "not_kept": list(lost)}


def _stop_if_fatal(error: OSError | FileError, spec: JobSpec) -> None:
    cause = error if isinstance(error, OSError) else error.__context__
    if isinstance(cause, OSError) and cause.errno in FATAL_WRITE_ERRORS:
        raise StopError(f"{spec.output.text()}: cannot be written: {cause.strerror}") from None


def _shorten_paths(text: str, display_names: dict[str, str]) -> str:
    """A message on one line, in which folders of this machine are replaced by the names that the user knows."""
    for folder, display_name in display_names.items():
        text = text.replace(folder.rstrip("/") + "/", display_name)
    return " ".join(text.split())


def _describe_bug(error: Exception) -> str:
    """An unexpected error, with the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    line = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{line}"
