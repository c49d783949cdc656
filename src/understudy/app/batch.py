"""`understudy batch`: a whole motion library performed by another character."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, make_recipe, retarget_options
from understudy.app.output import count_of, note, print_json, warn_style

if TYPE_CHECKING:
    from understudy.batch.report import Summary
    from understudy.batch.run import Batch, RunStep


EVERY = 0.2
"""Seconds between two lines on a terminal."""

RARELY = 30.0
"""Seconds between two lines where stderr is no terminal."""

NAMED = 3
"""Clips that are named for each metric."""

LISTED = 20
"""Failed clips that are named."""


@click.command(
    short_help="Put a whole motion library onto one body.",
    epilog="Example: understudy batch library hero.glb -o hero_library --workers 4 --timeout 60",
)
@click.argument("source")
@click.argument("target", required=False)
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where results go, in sub-folders as SOURCE's.")
@click.option("--pattern", multiple=True, metavar="GLOB", help="Files to take, as *.bvh or walks/*; may be repeated.")
@click.option("--format", metavar="NAME", help="What results are written as: bvh, glb, npz, ... [as TARGET].")
@click.option("--workers", type=int, metavar="N", help="Clips at a time [one for each core].")
@click.option("--engine", default="local", show_default=True, metavar="NAME", help="Who works: local, dask, inline.")
@click.option("--address", default="", metavar="HOST:PORT", help="The engine's scheduler [one on this machine].")
@click.option("--timeout", type=float, metavar="SECONDS", help="What a clip may take; 0 for no limit [600].")
@click.option("--memory", type=float, metavar="MB", help="What a worker may hold; 0 for no limit [an even share].")
@click.option("--retry-failed", is_flag=True, help="Try clips again that failed, though nothing has changed.")
@click.option("--skin", is_flag=True, help="Measure limbs through the body by TARGET's skin, which takes longer.")
@click.option("--table", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True)
@click.option("--recipe", metavar="FILE", help="A recipe, as `understudy recipe` writes one.")
@retarget_options
@json_option
def batch(source: str, output: str, as_json: bool, **given: Any) -> None:
    """Make TARGET perform every motion found in the folder SOURCE and below, each by itself, and say how each went.

    Results go into the folder given with -o. A row for every clip (status, reason, figures of every metric) is written
    to rows.jsonl as it is done, and in the end to a table and a page with pictures. A run that was stopped, by
    whatever, goes on where it was when it is started again; clips that are done, and whose files, target and options
    are still the same, are left as they are. A clip that is broken, endless or too large fails alone. Folders may be
    anywhere that fsspec reaches, as s3://bucket/clips. Exits with 1 if a clip failed.
    """
    from understudy.batch.model import FAILED, TIMEOUT
    from understudy.batch.places import place_of
    from understudy.batch.report import Summary
    from understudy.batch.run import Batch

    timeout = TIMEOUT if given["timeout"] is None else given["timeout"]
    whole = Batch(
        recipe=make_recipe({**given, "source": source}),
        source=place_of(source),
        output=place_of(output),
        patterns=given["pattern"],
        timeout=timeout or None,
        **{
            key: given[key]
            for key in ("format", "workers", "engine", "address", "memory", "retry_failed", "skin", "table")
        },
    )
    summary = Summary()
    with Ticker() as ticker:
        for step in whole.run(summary):
            ticker.add(step)
    if as_json:
        print_json({**summary.data(), "unchanged": ticker.unchanged, "seconds": ticker.seconds, **files(whole)})
    else:
        click.echo("\n".join(told(summary, ticker, whole)))
        note(failures(summary), "failed")
    if summary.counts[FAILED]:
        click.get_current_context().exit(1)


def failures(summary: Summary) -> list[str]:
    """The first clips that failed, and why; most reasons begin with the clip's name already."""
    said = [reason if reason.startswith(clip) else f"{clip}: {reason}" for clip, reason in summary.failures[:LISTED]]
    more = summary.counts["failed"] - len(said)
    return [*said, *([f"and {count_of(more, 'clip')} more, as the table tells"] if more > 0 else [])]


def files(whole: Batch) -> dict[str, str]:
    """The files about a batch as a whole."""
    return {
        "rows": whole.output.text("rows.jsonl"),
        "table": whole.output.text(f"table.{whole.table}"),
        "page": whole.output.text("index.html"),
    }


def told(summary: Summary, ticker: Ticker, whole: Batch) -> list[str]:
    """What came of it, a line each."""
    from understudy.batch.model import DONE, FAILED

    counts = [f"{count_of(ticker.count, 'clip')}: {summary.counts[DONE]} done", f"{summary.counts[FAILED]} failed"]
    if ticker.unchanged:
        counts.append(f"{ticker.unchanged} of them as they were")
    lines = [f"{', '.join(counts)}; {clock(ticker.seconds)} for {clock(summary.duration)} of motion"]
    verdicts = ", ".join(f"{n} {name}" for name, n in summary.verdict_counts())
    if verdicts:
        lines.append(f"verdicts: {verdicts}")
    for ranking, clips in summary.worst():
        named = ", ".join(f"{clip} ({value:.3g})" for clip, value in clips[:NAMED])
        lines.append(f"  {ranking.title + ', worst':<32} {named}")
    return [*lines, *(f"{name:<6} {path}" for name, path in files(whole).items())]


class Ticker:
    """One line on stderr that says how far a batch is: rate, time left, failures so far."""

    def __init__(self) -> None:
        self.count = self.unchanged = self.failed = 0
        self._seen = self._skipped = 0.0
        self._terminal = sys.stderr.isatty()
        self._began = self._told = time.monotonic()
        self._drawn = 0

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return round(time.monotonic() - self._began, 3)

    def __enter__(self) -> Ticker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            click.echo("\r" + " " * self._drawn + "\r", err=True, nl=False)

    def add(self, step: RunStep) -> None:
        """Count a clip, and say so if it is time."""
        self.count += 1
        self._seen += step.bytes
        if not step.fresh:
            self.unchanged += 1
            self._skipped += step.bytes
        if step.row["status"] == "failed":
            self.failed += 1
        now = time.monotonic()
        if now - self._told < (EVERY if self._terminal else RARELY):
            return
        self._told = now
        line = self.line(step)
        if self._terminal:
            click.echo("\r" + line[:100].ljust(self._drawn), err=True, nl=False)
            self._drawn = max(len(line[:100]), self._drawn)
        else:
            click.echo(line, err=True)

    def line(self, step: RunStep) -> str:
        """How far it is after a clip: what is done, how fast, how long it will take."""
        seconds = max(self.seconds, 1e-3)
        done, left = self._seen - self._skipped, step.whole - self._seen
        rate = (self.count - self.unchanged) / seconds
        parts = [f"{self.count} of {step.total}", f"{rate:.1f} clips/s"]
        if done > 0:
            parts.append(f"{clock(seconds * left / done)} left")
        if self.failed:
            parts.append(warn_style(f"{self.failed} failed", "red") if not self._terminal else f"{self.failed} failed")
        return ", ".join([*parts, step.row["clip"]])


def clock(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


COMMAND = batch
