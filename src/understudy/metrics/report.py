"""Evaluates a motion: all metrics, the reasons why it is unusable, and the report as plain data."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.base.errors import (
    MissingPackageError,
    OptionError,
    UnknownNameError,
    nearest_names,
    refuse_unknown_keywords,
)
from understudy.base.plugins import scan
from understudy.correspondence.pairs import Correspondence
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.skin import Mesh
from understudy.metrics.base import VERDICT_ORDER, Measurement, Metric, Verdict, worst
from understudy.metrics.comparison import Comparison
from understudy.metrics.guard import comparison_failures
from understudy.solve.solvers.base import Outcome

if TYPE_CHECKING:
    from pandas import DataFrame


@cache
def metrics() -> dict[str, Metric]:
    """Every metric by name."""
    return {metric.name: metric for _, metric in scan("understudy.metrics", "METRIC")}


def quick_metrics() -> list[str]:
    """The names of the metrics that are measured after every solve."""
    return [name for name, metric in metrics().items() if metric.quick]


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """What all metrics say about a motion."""

    measurements: tuple[Measurement, ...]
    failures: tuple[str, ...]
    """Sentences why it is unusable; empty for a usable result."""
    notes: tuple[str, ...]
    frames: int
    fps: float
    compared: bool
    """Whether there is a source."""
    skipped: tuple[str, ...] = ()
    """Titles of the metrics that were not asked for."""

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{m.metric} {m.verdict}" for m in self.measurements)
        return f"<Report {self.verdict}: {verdicts}>"

    def to_dataframe(self) -> DataFrame:
        """A row for each figure: metric, figure, value, unit and the metric's verdict. Needs pandas."""
        try:
            from pandas import DataFrame
        except ImportError:
            raise MissingPackageError("pandas", "dataframe", "Tables as data frames") from None
        rows = [
            (m.metric, figure.name, figure.value, figure.unit, str(m.verdict))
            for m in self.measurements
            for figure in m.figures
        ]
        return DataFrame(rows, columns=["metric", "figure", "value", "unit", "verdict"])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(m.metric)}</td><td>{m.verdict}</td>"
            f"<td>{escape(', '.join(map(str, m.figures[:2])))}</td></tr>"
            for m in self.measurements
        )
        return f"<table><caption>{self.verdict}</caption>{rows}</table>"

    def __getitem__(self, metric: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.metric == metric:
                return measurement
        raise UnknownNameError(f"There is no metric `{metric}`; {nearest_names(metric, metrics())}")

    @property
    def usable(self) -> bool:
        return not self.failures

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all; a failed result is bad."""
        return worst(m.verdict for m in self.measurements) if self.usable else Verdict.BAD

    @property
    def ranked(self) -> tuple[Measurement, ...]:
        """The measurements, worst first, and those without figures last."""
        return tuple(sorted(self.measurements, key=lambda m: (not m.figures, -VERDICT_ORDER.index(m.verdict))))

    @property
    def conclusion(self) -> str:
        """The verdict and what makes it, in a line."""
        if not self.usable:
            return "failed: unusable, whatever the other figures say"
        titles = [m.title for m in self.ranked if m.verdict is self.verdict]
        causes = f" ({', '.join(titles)})" if self.verdict in (Verdict.NOTICEABLE, Verdict.BAD) else ""
        return f"verdict: {self.verdict}{causes}"

    @property
    def hints(self) -> tuple[str, ...]:
        """What to do about all that is noticeable or bad, worst first."""
        return tuple(f"{m.title}: {m.hint}" for m in self.ranked if m.hint)

    def lines(self, *, width: int = 100, paint: Callable[[str, Verdict], str] | None = None) -> list[str]:
        """The verdict, then each measurement in words, worst first, with what to do about it.

        Args:
            width: Characters of a line.
            paint: Colours a text by a verdict.
        """
        paint = paint or (lambda text, _: text)
        title_width = max((len(m.title) for m in self.measurements), default=0)
        indent = " " * (title_width + 16)
        lines = [paint(self.conclusion, self.verdict)]
        for measurement in self.ranked:
            cells = textwrap.wrap(measurement.words, width - len(indent))
            verdict = paint(f"{measurement.verdict:<10}", measurement.verdict)
            lines.append(f"  {measurement.title:<{title_width}}  {verdict}  {cells[0]}")
            lines += [indent + cell for cell in cells[1:]]
            if measurement.hint:
                hint = textwrap.wrap(f"hint: {measurement.hint}", width - len(indent))
                lines += [indent + cell for cell in hint]
        if self.skipped:
            words = f"not measured: {', '.join(self.skipped)} (`understudy evaluate` measures all)"
            lines += textwrap.wrap(words, width, initial_indent="  ", subsequent_indent="    ")
        return lines

    def data(self, *, curves: bool = False) -> dict[str, Any]:
        """Plain data for JSON, optionally with the curves over time."""
        return {
            "usable": self.usable,
            "verdict": str(self.verdict),
            "conclusion": self.conclusion,
            "hints": list(self.hints),
            "skipped": list(self.skipped),
            "failures": list(self.failures),
            "notes": list(self.notes),
            "frames": self.frames,
            "fps": self.fps,
            "compared": self.compared,
            "metrics": {m.metric: m.data(curves=curves) for m in self.measurements},
        }


@refuse_unknown_keywords
def evaluate(
    result: Motion,
    source: Motion | None = None,
    correspondence: Correspondence | None = None,
    *,
    contacts: Sequence[Contact] | None = None,
    floor: float | None = None,
    outcomes: Sequence[Outcome] = (),
    meshes: Sequence[Mesh] = (),
    source_meshes: Sequence[Mesh] = (),
    carried: Motion | None = None,
    only: Sequence[str] | None = None,
) -> Report:
    """Measure a motion, made by any program, by itself or against the one it was made from.

    Args:
        result: The motion.
        source: The motion it was made from, on a body of any structure and at any frame rate.
        correspondence: Which bones of source and result correspond; suggested if not given.
        contacts: The source's contacts, or the result's without a source; detected if not given.
        floor: Metres: the height of the floor; found from the contacts if not given.
        outcomes: How well a solver's constraints are met (`Solution.outcomes`).
        meshes: The result's skin (`Clip.meshes`) for self-penetration; capsules if there is none.
        source_meshes: The source's skin.
        carried: The source's motion on the result's body before anything was solved, to be shown beside the result.
        only: Names of the wanted metrics; all if not given.
    """
    if floor is not None and not np.isfinite(floor):
        raise OptionError(f"Expected the floor's height in metres, got {floor}")
    if correspondence is not None and source is None:
        raise OptionError("A map of bones needs a source to compare with")
    chosen = [_metric(name) for name in (metrics() if only is None else only)]
    contact_list = None if contacts is None else tuple(contacts)
    case = Comparison(
        result=result, source=source, user_map=correspondence, contacts=contact_list, floor_height=floor,
        outcomes=tuple(outcomes), meshes=tuple(meshes), source_meshes=tuple(source_meshes), carried=carried,
    )  # fmt: skip
    failures = tuple(f"the result {sentence}" for sentence in comparison_failures(case))
    return make_report(case, chosen, failures, _notes(case))


def evaluate_quickly(
    case: Comparison, failures: Sequence[str], *, only: Sequence[str] | None = None, remedy: str | None = None
) -> Report:
    """Measure a motion by the quick metrics alone, which cost a small share of a solve.

    Args:
        case: The motion and its source, with all that a solve knows of them.
        failures: Sentences why it is unusable, which `find_failures` finds.
        only: Names of the wanted metrics; all quick ones if not given.
        remedy: What to do about defects; what the metrics say if not given.
    """
    chosen = [metrics()[name] for name in quick_metrics() if only is None or name in only]
    report = make_report(case, chosen, failures)
    if remedy is None:
        return report
    return replace(report, measurements=tuple(replace(m, remedy=remedy) for m in report.measurements))


def make_report(
    case: Comparison, chosen: Sequence[Metric], failures: Sequence[str], notes: Sequence[str] = ()
) -> Report:
    """The report of some metrics; the others are listed as skipped."""
    return Report(
        measurements=tuple(metric.measure(case) for metric in chosen),
        failures=tuple(failures),
        notes=tuple(notes),
        frames=case.result.num_frames,
        fps=case.result.fps,
        compared=case.source is not None,
        skipped=tuple(metric.title for metric in metrics().values() if metric not in chosen),
    )


def _metric(name: str) -> Metric:
    if name not in metrics():
        raise UnknownNameError(f"There is no metric `{name}`; {nearest_names(name, metrics())}")
    return metrics()[name]


def _notes(case: Comparison) -> tuple[str, ...]:
    notes: list[str] = []
    if case.source is None:
        return ()
    if not case.same_duration:
        notes.append(
            f"the result lasts {case.result.duration:.2f} s and its source {case.source.duration:.2f} s: what is "
            "compared frame by frame is compared from the beginning"
        )
    if case.landing is not None:
        notes += case.landing.notes
    return tuple(notes)
