"""`understudy batch`: retarget a whole motion library to one character."""

from __future__ import annotations

import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, make_recipe, retarget_options
from understudy.app.output import count_of, note, print_json, warn_style

if TYPE_CHECKING:
    from understudy.batch.report import Summary
    from understudy.batch.run import Batch, RunStep


TERMINAL_UPDATE_SECONDS = 0.2
"""Time between two progress lines on a terminal."""

LOG_UPDATE_SECONDS = 30.0
"""Time between two progress lines where stderr is no terminal."""

MAX_LINE_LENGTH = 100
"""Characters of a progress line on a terminal."""

MAX_WORST_CLIPS = 3
"""Clips that are printed for each metric."""

MAX_FAILURES = 20
"""Failed clips that are printed."""


class Shard(click.ParamType):
    """One of N parts, counted from 1, as `2/4`."""

    name = "I/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        number, slash, count = str(value).partition("/")
        if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            self.fail(f"expected a part as I/N, such as 1/4 for the first of four; got `{value}`", param, ctx)
        return int(number), int(count)


@click.command(
    short_help="Retarget a whole motion library to one character.",
    epilog="Example: understudy batch library hero.glb -o hero_library --workers 4 --timeout 60",
)
@click.argument("source")
@click.argument("target", required=False)
@click.option(
    "-o", "--output", required=True, metavar="FOLDER", help="Folder for the results, with SOURCE's sub-folders."
)
@click.option("--pattern", multiple=True, metavar="GLOB", help="Files to take, such as *.bvh or walks/*; repeatable.")
@click.option("--format", metavar="NAME", help="File format of the results: bvh, glb, npz, ... [TARGET's].")
@click.option("--workers", type=int, metavar="N", help="Clips processed at a time [one per core].")
@click.option(
    "--engine", default="local", show_default=True, metavar="NAME", help="What runs the clips: local, dask or inline."
)
@click.option("--address", default="", metavar="HOST:PORT", help="The engine's scheduler [this machine].")
@click.option("--timeout", type=float, metavar="SECONDS", help="Time limit of a clip; 0 for none [600].")
@click.option("--memory", type=float, metavar="MB", help="Memory limit of a worker; 0 for none [an even share].")
@click.option("--retry-failed", is_flag=True, help="Try failed clips again although nothing has changed.")
@click.option("--skin", is_flag=True, help="Measure limbs that pass through the body with TARGET's skin; slower.")
@click.option(
    "--accept", multiple=True, metavar="RULE", help="Keep only results with, e.g., verdict<=noticeable; repeatable."
)
@click.option(
    "--shard", type=Shard(), metavar="I/N", help="Only the I-th of N parts of the clips; `understudy merge` joins them."
)
@click.option("--table", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True)
@click.option("--recipe", metavar="FILE", help="A recipe, as `understudy recipe` writes one.")
@retarget_options
@json_option
def batch(source: str, output: str, as_json: bool, **options: Any) -> None:
    """Retarget every motion in the folder SOURCE and its sub-folders to TARGET, and report on each clip.

    Results go to the folder given with -o. As each clip finishes, a row (status, reason, figures of every metric) is
    added to rows.jsonl; at the end all rows are written to a table and to a page with pictures. A run that was
    interrupted continues when it is started again. Clips whose files, target and options are unchanged are skipped. A
    clip that is broken, too slow or too large fails without affecting the others. Folders may be anywhere that fsspec
    reaches, such as s3://bucket/clips. The exit code is 1 if a clip failed or a folder could not be read.
    """
    from understudy.batch.location import parse_location
    from understudy.batch.model import DEFAULT_TIMEOUT_SECONDS, FAILED
    from understudy.batch.report import Summary
    from understudy.batch.run import Batch

    timeout = DEFAULT_TIMEOUT_SECONDS if options["timeout"] is None else options["timeout"]
    batch_run = Batch(
        recipe=make_recipe({**options, "source": source, "clip": None}),
        source=parse_location(source),
        output=parse_location(output),
        patterns=options["pattern"],
        timeout=timeout or None,
        **{
            key: options[key]
            for key in (
                "format",
                "clip",
                "workers",
                "engine",
                "address",
                "memory",
                "retry_failed",
                "skin",
                "table",
                "shard",
                "accept",
            )
        },
    )
    summary = Summary()
    with Ticker() as ticker:
        for step in batch_run.run(summary):
            ticker.add(step)
    if as_json:
        print_json(
            {**summary.data(), "unchanged": ticker.unchanged, "seconds": ticker.seconds, **report_files(batch_run)}
        )
    else:
        click.echo("\n".join(summary_lines(summary, ticker, batch_run)))
        note(failure_lines(summary), "failed")
        note(summary.skipped, "not read")
        if summary.empty:
            listed = ", ".join(f"`{clip}`" for clip in summary.empty[:MAX_WORST_CLIPS])
            more = ", ..." if len(summary.empty) > MAX_WORST_CLIPS else ""
            what = "1 take that moves" if len(summary.empty) == 1 else f"{len(summary.empty)} takes that move"
            note([f"{what} nothing: left out ({listed}{more}); --clip NAME takes them"])
        if summary.gone:
            gone = ", ".join(summary.gone[:MAX_WORST_CLIPS])
            note([f"{count_of(len(summary.gone), 'clip')} left the source: their results were removed ({gone}, ...)"])
    if summary.counts[FAILED] or summary.skipped:
        click.get_current_context().exit(1)


def failure_lines(summary: Summary) -> list[str]:
    """The first clips that failed, and why. Most reasons begin with the clip's name already."""
    failures = summary.failures[:MAX_FAILURES]
    lines = [reason if reason.startswith(clip) else f"{clip}: {reason}" for clip, reason in failures]
    more = summary.counts["failed"] - len(lines)
    return [*lines, *([f"and {count_of(more, 'clip')} more, listed in the table"] if more > 0 else [])]


def report_files(batch_run: Batch) -> dict[str, str]:
    """The files with the report of a batch; a shard has none before it is merged."""
    if batch_run.shard is not None:
        return {}
    return {
        "rows": batch_run.output.text("rows.jsonl"),
        "table": batch_run.output.text(f"table.{batch_run.table}"),
        "page": batch_run.output.text("index.html"),
        "digests": batch_run.output.text("manifest.sha256"),
    }


def summary_lines(summary: Summary, ticker: Ticker, batch_run: Batch) -> list[str]:
    """The summary as text: counts, verdicts, worst clips, files."""
    from understudy.batch.model import DONE, FAILED

    counts = [f"{count_of(ticker.count, 'clip')}: {summary.counts[DONE]} done", f"{summary.counts[FAILED]} failed"]
    if ticker.unchanged:
        counts.append(f"{ticker.unchanged} of them unchanged")
    lines = [
        f"{', '.join(counts)}; {format_duration(ticker.seconds)} for {format_duration(summary.duration)} of motion"
    ]
    verdicts = ", ".join(f"{count} {name}" for name, count in summary.verdict_counts())
    if verdicts:
        lines.append(f"verdicts: {verdicts}")
    for ranking, clips in summary.worst():
        worst = ", ".join(f"{clip} ({value:.3g})" for clip, value in clips[:MAX_WORST_CLIPS])
        bad, noticeable = summary.defects(ranking)
        found = ", ".join(f"{count} {word}" for count, word in ((bad, "bad"), (noticeable, "noticeable")) if count)
        lines.append(f"  {ranking.title:<16}  {found}; worst by {ranking.figure.replace('_', ' ')}: {worst}")
        lines += textwrap.wrap(f"hint: {ranking.remedy}", 100, initial_indent=20 * " ", subsequent_indent=20 * " ")
    return [*lines, *(f"{name:<7} {path}" for name, path in report_files(batch_run).items())]


class Ticker:
    """The progress line on stderr: count, rate, time left, failures so far."""

    def __init__(self) -> None:
        self.count = self.unchanged = self.failed = 0
        self._finished_bytes = self._skipped_bytes = 0.0
        self._terminal = sys.stderr.isatty()
        self._start = self._last_update = time.monotonic()
        self._line_length = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return round(time.monotonic() - self._start, 3)

    def __enter__(self) -> Ticker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._line_length:
            click.echo("\r" + " " * self._line_length + "\r", err=True, nl=False)

    def add(self, step: RunStep) -> None:
        """Count a clip, and print the progress line if it is due."""
        self.count += 1
        self._finished_bytes += step.bytes
        if not step.fresh:
            self.unchanged += 1
            self._skipped_bytes += step.bytes
        if step.row["status"] == "failed":
            self.failed += 1
        now = time.monotonic()
        if now - self._last_update < (TERMINAL_UPDATE_SECONDS if self._terminal else LOG_UPDATE_SECONDS):
            return
        self._last_update = now
        line = self.line(step)
        if self._terminal:
            line = line[:MAX_LINE_LENGTH]
            click.echo("\r" + line.ljust(self._line_length), err=True, nl=False)
            self._line_length = max(len(line), self._line_length)
        else:
            click.echo(line, err=True)

    def line(self, step: RunStep) -> str:
        """The progress after a clip."""
        seconds = max(self.seconds, 1e-3)
        processed = self._finished_bytes - self._skipped_bytes
        remaining = step.total_bytes - self._finished_bytes
        rate = (self.count - self.unchanged) / seconds
        parts = [f"{self.count} of {step.total}", f"{rate:.1f} clips/s"]
        if processed > 0:
            parts.append(f"{format_duration(seconds * remaining / processed)} left")
        if self.failed:
            parts.append(warn_style(f"{self.failed} failed", "red") if not self._terminal else f"{self.failed} failed")
        return ", ".join([*parts, step.row["clip"]])


def format_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


COMMAND = batch
