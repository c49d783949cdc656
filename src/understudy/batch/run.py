"""A batch from beginning to end: clips found, what is done already recognised, the rest done, and all of it told."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from understudy.base.errors import OptionError, UnderstudyError
from understudy.batch.clip_job import (
    SCRAPS,
    check_target,
    fetch_target,
    find_clips,
    make_jobs,
    order_jobs,
    output_ending,
    rejected,
)
from understudy.batch.engines import Engine, find_engine
from understudy.batch.journal import Index, Journal, Lock, compact, entries
from understudy.batch.model import DONE, FAILED, STATE, Answer, Job, JobSpec, Limits, Row, StopError
from understudy.batch.places import Folder, Location
from understudy.batch.report import KINDS, Summary, load_parquet, write_page, write_table
from understudy.batch.worker import share_of_memory
from understudy.io.files import format_of
from understudy.retarget.spec import ALL, Recipe

ROWS, PICTURES, PAGE = "rows.jsonl", f"{STATE}/pictures.jsonl", "index.html"


class BatchStoppedError(UnderstudyError):
    """A batch cannot go on; what is done is kept."""


@dataclass(frozen=True, kw_only=True)
class RunStep:
    """A clip that is done with."""

    row: Row
    fresh: bool
    """False for one that was done before and is still right."""
    bytes: float
    """Of the clip's file, by which the time left is told."""
    total: int
    """How many clips there are."""
    whole: int
    """Bytes of all files."""


Steps = Generator[RunStep, None, None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """A whole motion library to be put onto one body."""

    recipe: Recipe
    """With one actor; every clip in turn is its source."""
    source: Location
    output: Location
    patterns: tuple[str, ...] = ()
    """Which files are taken; all motion files if none is given."""
    format: str | None = None
    """Of the results; the target's own if not given."""
    workers: int | None = None
    """How many clips at a time; one for each core if not given."""
    engine: str = "local"
    address: str = ""
    """Where the engine's workers are."""
    timeout: float | None = None
    """Seconds a clip may take; None for as long as it likes."""
    memory: float | None = None
    """Megabytes a worker may hold; an even share of this machine's if not given, 0 for no limit."""
    retry_failed: bool = False
    """Whether clips that failed are tried again though nothing has changed."""
    skin: bool = False
    """Whether limbs that go through the body are told by the target's skin, which takes longer."""
    table: str = "csv"
    """`csv` or `parquet`."""

    def __post_init__(self) -> None:
        _check_recipe(self.recipe)
        kind = find_engine(self.engine)
        for place in (self.source, self.output):
            if kind.processes and not place.shared:
                raise OptionError(
                    f"`{place.text()}` is in the memory of this process, and engine `{self.engine}` works in others",
                    hint="choose the engine `inline`, or a place that all can see",
                )
        if self.workers is not None and self.workers < 1:
            raise OptionError(f"Expected one worker or more, got {self.workers}")
        for name, value in (("timeout", self.timeout), ("memory", self.memory)):
            if value is not None and not 0.0 <= value < float("inf"):
                raise OptionError(f"Expected a {name} of 0 or more, got {value:g}")
        if self.table not in KINDS:
            raise OptionError(f"Expected a table as {' or '.join(KINDS)}, got `{self.table}`")
        if self.table == "parquet":
            load_parquet()
        output_ending(self.format, self.recipe.actors[0].target)

    def run(self, summary: Summary | None = None) -> Steps:
        """Do what is not done yet; rows come as they are known. To stop early, close the generator.

        Args:
            summary: Filled in the end, from the rows of these clips.
        """
        summary = Summary() if summary is None else summary
        files = find_clips(self.source, self.patterns, self.output)
        with Lock(self.output) as lock:
            self._clear()
            rows, pictures = Journal(self.output, ROWS), Journal(self.output, PICTURES)
            clips: set[str] = set()
            try:
                with closing(self._done(files, lock.run, rows, pictures)) as steps:
                    for step in steps:
                        clips.add(step.row["clip"])
                        yield step
                self._finish(clips, rows, pictures, summary)
            except StopError as error:
                raise BatchStoppedError(str(error), hint="what is done is kept: run it again to go on") from None
            finally:
                _let_go(rows, pictures)
                self._clear()

    def _done(self, files: dict[str, int], run: str, rows: Journal, pictures: Journal) -> Steps:
        index, engine = Index.of(rows), self._engine(run)
        jobs = make_jobs(_animations(engine, files), self._ending())
        jobs = order_jobs((self._resumed(job, index) for job in jobs), files)
        counts, whole = Counter(job.file for job in jobs), sum(files.values())
        with closing(engine.run(jobs)) as answers:
            for job, answer in answers:
                row = self._recorded(job, answer, index, rows, pictures)
                share = files[job.file] / counts[job.file]
                yield RunStep(row=row, fresh=answer.row is not None, bytes=share, total=len(jobs), whole=whole)

    def _clear(self) -> None:
        """Remove what workers that were killed left behind."""
        if isinstance(self.output, Folder):
            shutil.rmtree(self.output.path / SCRAPS, ignore_errors=True)

    def _ending(self) -> str | None:
        return output_ending(self.format, self.recipe.actors[0].target)

    def _engine(self, run: str) -> Engine:
        with TemporaryDirectory() as folder:
            check_target(self.recipe, fetch_target(self.recipe, Path(folder)))
        order = JobSpec(
            recipe=self.recipe,
            source=self.source,
            output=self.output,
            ending=self._ending(),
            run=run,
            skin=self.skin,
        )
        workers = self.workers or cores()
        return find_engine(self.engine)(
            order=order, limits=self._limits(workers), workers=workers, address=self.address
        )  # fmt: skip

    def _resumed(self, job: Job, index: Index) -> Job:
        """The job with what is known of it from before."""
        if job.clip not in index:
            return job
        row = index[job.clip]
        known = row.get("key", "") if row["status"] == DONE or not self.retry_failed else ""
        return replace(job, known=known, written=row.get("output", ""), digest=row.get("output_sha256", ""))

    def _limits(self, workers: int) -> Limits:
        size = None if self.address else share_of_memory(workers)
        if self.memory is not None:
            size = int(self.memory * 1e6) or None
        return Limits(seconds=self.timeout or None, bytes=size)

    def _recorded(self, job: Job, answer: Answer, index: Index, rows: Journal, pictures: Journal) -> Row:
        """The row of a job, written down if it is new."""
        if answer.stop:
            raise StopError(answer.stop)
        if answer.row is None:
            return index[job.clip]
        # A file of an earlier result, or of a worker that was stopped at the last moment, must not pass for this one's.
        made = {job.output, rejected(job.output)} if answer.row["status"] == FAILED else set()
        for old in (made | {job.written}) - {"", answer.row.get("output", "")}:
            self.output.remove(old)
        pictures.add({"clip": job.clip, "picture": answer.picture})
        rows.add(answer.row)
        return answer.row

    def _finish(self, clips: set[str], rows: Journal, pictures: Journal, summary: Summary) -> None:
        """Bring the rows in order, and write table and page."""
        for journal in (rows, pictures):
            compact(journal)
        for row in entries(rows):
            if row["clip"] in clips:
                summary.add(row)
        write_table(self.output, f"table.{self.table}", lambda: entries(rows))
        write_page(self.output, PAGE, summary, lambda: entries(rows), Index.of(pictures))


def _animations(engine: Engine, files: dict[str, int]) -> dict[str, list[str]]:
    """The files with the animations that each holds; formats that hold one are not looked into."""
    found: dict[str, list[str]] = {file: [] for file in files}
    looks = [Job(clip=file, file=file, looks=True) for file in files if format_of(file).several]
    if looks:
        with closing(engine.run(looks)) as answers:
            for job, answer in answers:
                if answer.stop:
                    raise StopError(answer.stop)
                found[job.file] = answer.animations
    return found


def _let_go(*journals: Journal) -> None:
    for journal in journals:
        try:
            journal.close()
        except OSError:
            # The disk is full, or the store gone, which was said already: what is not there will be done again.
            continue


def _check_recipe(recipe: Recipe) -> None:
    """Refuse recipes that are about one clip and not about any."""
    if len(recipe.actors) != 1:
        raise OptionError(
            f"A batch needs a recipe with one actor, whose source every clip stands in for; got {len(recipe.actors)}"
        )
    if recipe.contacts is not None:
        raise OptionError(
            "The recipe lists the contacts of one clip, which are not those of others",
            hint='set contacts = "detect" in its [options], and take the [[contact]] entries out',
        )
    if recipe.spacing == ALL:
        raise OptionError("Spacing `all` makes three variants of a clip; a batch makes one", hint="say auto, or a time")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
