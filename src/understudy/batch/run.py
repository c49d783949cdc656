"""A batch from beginning to end: find clips, skip those whose results are up to date, process the rest, report."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from understudy.base.errors import OptionError, UnderstudyError
from understudy.base.files import remove_parts
from understudy.base.records import record
from understudy.batch.acceptance import check_rules
from understudy.batch.engines import Engine, find_engine
from understudy.batch.finding import (
    Listing,
    find_clips,
    is_in_shard,
    make_jobs,
    output_suffix,
    rejected_output,
    sort_jobs,
)
from understudy.batch.identity import file_digest
from understudy.batch.journal import Index, Journal, compact, read_entries, row_journal
from understudy.batch.location import Folder, Location
from understudy.batch.lock import Lock, check_unlocked
from understudy.batch.merging import (
    FINISHED_FILE,
    PICTURES_FILE,
    ROWS_FILE,
    find_shards,
    shard_folder,
    shard_journals,
)
from understudy.batch.model import (
    DONE,
    FAILED,
    STATE_FOLDER,
    TEMPORARY_FOLDER,
    Answer,
    Job,
    JobSpec,
    Limits,
    Row,
    StopError,
)
from understudy.batch.report import (
    PAGES_FOLDER,
    REPORT_FILES,
    TABLE_FORMATS,
    Summary,
    load_parquet,
    write_reports,
)
from understudy.batch.target import check_target, fetch_target
from understudy.batch.worker import memory_share
from understudy.io.clip import format_of
from understudy.retarget.spec import ALL, Recipe

SOURCES_FILE = f"{STATE_FOLDER}/sources"
"""The addresses of all source folders whose results are in the output folder, separated by null characters."""


class BatchStoppedError(UnderstudyError):
    """A batch cannot continue; finished results are kept."""


@record(eq=True)
class RunStep:
    """A finished clip, and how it counts in the progress."""

    row: Row
    fresh: bool
    """Whether it was processed in this run; False where an earlier result is still valid."""
    bytes: float
    """The size of the clip's file, from which the time left is estimated."""
    total: int
    """The number of all clips."""
    total_bytes: int
    """The size of all files."""


Steps = Generator[RunStep, None, None]


@record
class Batch:
    """A motion library to be retargeted to one character."""

    recipe: Recipe
    """With one actor, whose source is replaced by each clip."""
    source: Location
    output: Location
    patterns: tuple[str, ...] = ()
    """Which files are taken; empty for all motion files."""
    format: str | None = None
    """Of the results; None for that of the target."""
    clip: str | None = None
    """The only animation to take of files that hold several; None for all that move joints."""
    workers: int | None = None
    """How many clips are processed at a time; None for one per core."""
    engine: str = "local"
    address: str = ""
    """Of the engine's scheduler; empty for this machine."""
    timeout: float | None = None
    """Seconds that a clip may take; None for no limit."""
    memory: float | None = None
    """Megabytes that a worker may hold, imports included; None for an even share of this machine, 0 for no limit."""
    retry_failed: bool = False
    """Whether failed clips are tried again although nothing has changed."""
    skin: bool = False
    """Whether limbs that pass through the body are measured with the target's skin, which takes longer."""
    table: str = "csv"
    """`csv` or `parquet`."""
    shard: tuple[int, int] | None = None
    """I and N to process the I-th of N parts of the clips, counted from 1; `merge` joins the parts. None for all."""
    accept: tuple[str, ...] = ()
    """Rules that results must meet, such as `foot_skate.added_drift<0.01`."""

    def __post_init__(self) -> None:
        _check_recipe(self.recipe)
        check_rules(self.accept)
        if self.shard is not None and not 1 <= self.shard[0] <= self.shard[1]:
            raise OptionError(f"Expected a shard I/N with I from 1 to N, got {self.shard[0]}/{self.shard[1]}")
        for location in (self.source, self.output):
            if find_engine(self.engine).processes and not location.shared:
                raise OptionError(
                    f"`{location.text()}` is in the memory of this process; engine `{self.engine}` uses others",
                    hint="choose the engine `inline`, or a folder that all processes can access",
                )
        if self.workers is not None and self.workers < 1:
            raise OptionError(f"Expected one worker or more, got {self.workers}")
        for name, value in (("timeout", self.timeout), ("memory", self.memory)):
            if value is not None and not 0.0 <= value < float("inf"):
                raise OptionError(f"Expected a {name} of 0 or more, got {value:g}")
        if self.table not in TABLE_FORMATS:
            raise OptionError(f"Expected a table as {' or '.join(TABLE_FORMATS)}, got `{self.table}`")
        if self.table == "parquet":
            load_parquet()
        self._suffix()

    def run(self, summary: Summary | None = None) -> Steps:
        """Process the clips that have no valid result yet, and yield every clip as it is finished.

        To stop early, close the generator.

        Args:
            summary: Filled at the end, from the rows of these clips.
        """
        summary, listing = Summary() if summary is None else summary, Listing()
        files = find_clips(self.source, self.patterns, self.output, listing)
        summary.skipped += listing.skipped
        if self.shard is not None:
            check_unlocked(self.output, STATE_FOLDER)
        with Lock(self.output, self._state) as lock:
            if self.shard is None:
                for shard in find_shards(self.output):
                    check_unlocked(self.output, shard)
            self._remove_temporary_files()
            rows, pictures = self._journals()
            clips: set[str] = set()
            try:
                with closing(self._process(files, lock.run_id, rows, pictures, summary)) as steps:
                    for step in steps:
                        clips.add(step.row["clip"])
                        yield step
                if self.shard is None:
                    self._remove_clips_that_left(listing, rows, pictures, summary)
                self._finish(clips, rows, pictures, summary)
            except StopError as error:
                raise BatchStoppedError(
                    str(error), hint="finished results are kept: run it again to continue"
                ) from None
            finally:
                _close(rows, pictures)
                self._remove_temporary_files()

    def _process(self, files: dict[str, int], run_id: str, rows: Journal, pictures: Journal, summary: Summary) -> Steps:
        # Shards go on from the rows that earlier ones had merged.
        index, engine = Index.of(row_journal(self.output, ROWS_FILE), rows), self._make_engine(run_id)
        animations, left_out = _list_animations(engine, files, self.clip)
        summary.empty += left_out
        jobs = make_jobs(animations, self._suffix(), self.clip)
        if self.shard is not None:
            # All files take part in the names of results, so that no two shards give two results the same name.
            files = {file: size for file, size in files.items() if is_in_shard(file, self.shard)}
            jobs = [job for job in jobs if job.file in files]
        jobs = sort_jobs((self._with_previous_result(job, index) for job in jobs), files)
        counts, total_bytes = Counter(job.file for job in jobs), sum(files.values())
        with closing(engine.run(jobs)) as answers:
            for job, answer in answers:
                row = self._record(job, answer, index, rows, pictures)
                size = files[job.file] / counts[job.file]
                yield RunStep(
                    row=row, fresh=answer.row is not None, bytes=size, total=len(jobs), total_bytes=total_bytes
                )

    def _remove_temporary_files(self) -> None:
        """Remove the files that killed workers and killed runs left behind."""
        if isinstance(self.output, Folder):
            state = self.output.path / self._state
            shutil.rmtree(state / PurePosixPath(TEMPORARY_FOLDER).name, ignore_errors=True)
            remove_parts(state)
            if self.shard is None:
                for name in REPORT_FILES:
                    remove_parts(self.output.path, name)
                remove_parts(self.output.path / PAGES_FOLDER)

    @property
    def _state(self) -> str:
        return STATE_FOLDER if self.shard is None else shard_folder(self.shard)

    def _journals(self) -> tuple[Journal, Journal]:
        """The rows and the pictures."""
        if self.shard is None:
            return row_journal(self.output, ROWS_FILE), Journal(self.output, PICTURES_FILE)
        return shard_journals(self.output, self._state)

    def _suffix(self) -> str | None:
        return output_suffix(self.format, self.recipe.actors[0].target)

    def _make_engine(self, run_id: str) -> Engine:
        with TemporaryDirectory() as folder:
            check_target(self.recipe, fetch_target(self.recipe, Path(folder)))
        spec = JobSpec(
            recipe=self.recipe,
            source=self.source,
            output=self.output,
            suffix=self._suffix(),
            state=self._state,
            run_id=run_id,
            accept=self.accept,
            skin=self.skin,
        )
        workers = self.workers or num_cores()
        limits = self._limits(workers)
        return find_engine(self.engine)(spec=spec, limits=limits, workers=workers, address=self.address)

    def _with_previous_result(self, job: Job, index: Index) -> Job:
        """The job with the result of an earlier run, if there is one."""
        if job.clip not in index:
            return job
        row = index[job.clip]
        return replace(
            job,
            previous_key=row.get("key", "") if row["status"] == DONE or not self.retry_failed else "",
            previous_output=row.get("output", ""),
            previous_digest=row.get("output_sha256", ""),
            previous_companions=tuple(row.get("companions", ())),
        )

    def _limits(self, workers: int) -> Limits:
        size = None if self.address else memory_share(workers)
        if self.memory is not None:
            size = int(self.memory * 1e6) or None
        return Limits(seconds=self.timeout or None, bytes=size)

    def _record(self, job: Job, answer: Answer, index: Index, rows: Journal, pictures: Journal) -> Row:
        """The row of a job, added to the journal if it is new."""
        if answer.stop:
            raise StopError(answer.stop)
        if answer.row is None:
            return index[job.clip]
        # A file of an earlier result, or of a worker that was killed after writing, must not be taken for this result.
        obsolete = {job.previous_output}
        if answer.row["status"] == FAILED:
            obsolete |= {job.output, rejected_output(job.output)}
        for name in obsolete - {"", answer.row.get("output", "")}:
            self.output.remove(name)
        pictures.add({"clip": job.clip, "picture": answer.picture})
        rows.add(answer.row)
        return answer.row

    def _remove_clips_that_left(self, listing: Listing, rows: Journal, pictures: Journal, summary: Summary) -> None:
        """Remove the rows and results of clips whose files are not in the source folder any more.

        This is left undone where a part of the folder could not be listed, and where results of another source folder
        are in the same output folder.
        """
        sources = (self.output.read_bytes(SOURCES_FILE) or b"").decode("utf-8", "surrogateescape").split("\0")
        address, index = self.source.address(), Index.of(rows)
        known = {source for source in sources if source}
        if address not in known:
            text = "\0".join(sorted({*known, address}))
            self.output.write_bytes(SOURCES_FILE, text.encode("utf-8", "surrogateescape"))
        if listing.skipped or known != {address}:
            return
        gone = {clip for clip in index if not _is_listed(clip, listing.names)}
        for clip in sorted(gone):
            row = index[clip]
            if row.get("output"):
                self._remove_result(row)
            summary.gone.append(clip)
        if gone:
            for journal in (rows, pictures):
                compact(journal, gone)

    def _remove_result(self, row: Row) -> None:
        """Remove the file of a result, unless somebody has changed it."""
        if isinstance(self.output, Folder):
            path = self.output.path / row["output"]
            if path.is_file() and file_digest(path) != row.get("output_sha256"):
                return
        self.output.remove(row["output"])

    def _finish(self, clips: set[str], rows: Journal, pictures: Journal, summary: Summary) -> None:
        """Compact the journals, and write the reports; shards leave them to `merge`."""
        for journal in (rows, pictures):
            compact(journal)
        for row in read_entries(rows):
            if row["clip"] in clips:
                summary.add(row)
        if self.shard is None:
            write_reports(self.output, self.table, summary, rows, pictures)
        else:
            self.output.write_bytes(f"{self._state}/{FINISHED_FILE}", b"")


def _is_listed(clip: str, names: set[str]) -> bool:
    """Whether the file of a clip is among the names. The name of an animation follows the file's after a `#`."""
    parts = clip.split("#")
    return any("#".join(parts[: i + 1]) in names for i in range(len(parts)))


def _list_animations(engine: Engine, files: dict[str, int], only: str | None) -> tuple[dict[str, list[str]], list[str]]:
    """The animations of each file that are worked on, and the clips that are left out because they move nothing.

    Files of formats that hold only one are not opened and get an empty list. The one that the user names is worked on.
    """
    animations: dict[str, list[str]] = {file: [] for file in files}
    left_out: list[str] = []
    jobs = [Job(clip=file, file=file, list_animations=True) for file in files if format_of(file).several]
    if jobs:
        with closing(engine.run(jobs)) as answers:
            for job, answer in answers:
                if answer.stop:
                    raise StopError(answer.stop)
                named = [name for name in answer.left_out if name == only]
                animations[job.file] = [*answer.animations, *named]
                if only is None:
                    left_out += [f"{job.file}#{name}" for name in answer.left_out]
    return animations, sorted(left_out)


def _close(*journals: Journal) -> None:
    for journal in journals:
        try:
            journal.close()
        except OSError:
            # A full disk or a lost store is reported already. The next run repeats the clips whose rows are missing.
            continue


def _check_recipe(recipe: Recipe) -> None:
    """Refuse recipes that apply to one clip only."""
    if len(recipe.actors) != 1:
        raise OptionError(
            f"A batch needs a recipe with one actor, whose source is replaced by each clip; got {len(recipe.actors)}"
        )
    if recipe.contacts is not None:
        raise OptionError(
            "The recipe lists the contacts of one clip, which do not apply to others",
            hint='set contacts = "detect" in its [options], and remove the [[contact]] entries',
        )
    if recipe.spacing == ALL:
        raise OptionError(
            "Spacing `all` makes three variants of a clip; a batch makes one", hint="choose auto, or a time"
        )


def num_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
