"""The base of metrics: figures with units, curves over time, verdicts by thresholds with their sources, and reports.

`evaluate` measures a motion by all metrics and finds the reasons why it is unusable; its report is plain data.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from understudy.base.errors import (
    MissingPackageError,
    OptionError,
    UnknownNameError,
    nearest_names,
    refuse_unknown_keywords,
)
from understudy.base.plugins import scan
from understudy.base.quaternion import Array
from understudy.base.records import record

if TYPE_CHECKING:
    from pandas import DataFrame

    from understudy.correspondence.pairs import Correspondence
    from understudy.figure.contacts import Contact
    from understudy.figure.motion import Motion
    from understudy.figure.robot import RobotLayout
    from understudy.figure.skin import Mesh
    from understudy.metrics.comparison import Comparison
    from understudy.solve.solvers.base import Outcome

ADULT_LEG_METRES = 0.85
"""Leg length in metres of the body that thresholds are meant for; other bodies scale them by their legs."""

HOUSE_RULE = "house rule"
"""Source of thresholds that come from no study."""

CAPTURED = "house rule: captured motions themselves, measured without a source, stay below it"


class Verdict(StrEnum):
    """How visible a defect is to a viewer."""

    GOOD = "good"
    """Invisible."""
    NOTICEABLE = "noticeable"
    """Visible to those who look for it."""
    BAD = "bad"
    """Visible to everybody."""
    UNGRADED = "not graded"
    """Measured without a reference, or not measured."""


VERDICT_ORDER = (Verdict.UNGRADED, Verdict.GOOD, Verdict.NOTICEABLE, Verdict.BAD)
"""Verdicts from best to worst."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts."""
    return max(verdicts, key=VERDICT_ORDER.index, default=Verdict.UNGRADED)


@record(eq=True)
class Figure:
    """One number."""

    name: str
    value: float | None
    """None if it cannot be computed."""
    unit: str
    about: str

    def __post_init__(self) -> None:
        finite = self.value is not None and np.isfinite(self.value)
        object.__setattr__(self, "value", float(self.value) if finite and self.value is not None else None)

    def __str__(self) -> str:
        return f"{self.name} -" if self.value is None else f"{self.name} {self.value:.4g} {self.unit}".rstrip()


@record
class Curve:
    """A number at every frame of the result."""

    name: str
    values: Array
    """(F,) NaN where there is nothing to measure."""
    unit: str


@record(eq=True)
class Grade:
    """Thresholds from which a figure is noticeable and bad, and their source."""

    figure: str
    noticeable: float
    bad: float
    source: str = HOUSE_RULE
    metres: bool = False
    """Whether the thresholds are lengths or speeds on an adult body, scaled by leg length."""

    def verdict(self, value: float, size: float = 1.0) -> Verdict:
        """The verdict on a value for a body with `size` times an adult's leg length.

        If small values are bad, the bad threshold is below the noticeable one.
        """
        scale = size if self.metres else 1.0
        sign = 1.0 if self.bad >= self.noticeable else -1.0
        if sign * value > sign * scale * self.bad:
            return Verdict.BAD
        return Verdict.NOTICEABLE if sign * value > sign * scale * self.noticeable else Verdict.GOOD


@record
class Measurement:
    """The result of a metric, in numbers and in words."""

    metric: str
    title: str
    verdict: Verdict
    words: str
    """A sentence for readers who do not know the metric."""
    figures: tuple[Figure, ...] = ()
    curves: tuple[Curve, ...] = ()
    grades: tuple[Grade, ...] = ()
    """The thresholds behind the verdict."""
    size: float = 1.0
    """Ratio of the leg length to an adult's; thresholds in metres are scaled by it."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Further facts: names of joints, times."""
    remedy: str = ""
    """What to do about it if it is noticeable or bad."""

    @property
    def hint(self) -> str:
        """What to do about it; empty if there is nothing to do."""
        return self.remedy if self.verdict in (Verdict.NOTICEABLE, Verdict.BAD) else ""

    def __repr__(self) -> str:
        return f"<Measurement {self.metric}: {self.verdict}>"

    def __getitem__(self, name: str) -> float | None:
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        names = [figure.name for figure in self.figures]
        raise UnknownNameError(f"Metric `{self.metric}` has no figure `{name}`; {nearest_names(name, names)}")

    def data(self, *, curves: bool = False) -> dict[str, Any]:
        """Plain data for JSON, optionally with the curves."""
        data: dict[str, Any] = {
            "title": self.title,
            "verdict": str(self.verdict),
            "words": self.words,
            **({"hint": self.hint} if self.hint else {}),
            "figures": {f.name: {"value": f.value, "unit": f.unit, "about": f.about} for f in self.figures},
            "thresholds": {
                g.figure: {
                    "noticeable": g.noticeable * (self.size if g.metres else 1.0),
                    "bad": g.bad * (self.size if g.metres else 1.0),
                    "source": g.source,
                }
                for g in self.grades
            },
            **({"facts": self.facts} if self.facts else {}),
        }
        if curves:
            data["curves"] = {
                c.name: {"unit": c.unit, "values": [float(v) if np.isfinite(v) else None for v in c.values]}
                for c in self.curves
            }
        return data


@record(eq=True)
class Metric(ABC):
    """A way to measure a motion. A class is abstract or final."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    """Its name in tables."""
    grades: ClassVar[tuple[Grade, ...]] = ()
    remedy: ClassVar[str] = ""
    """What to do about a result that is noticeable or bad."""
    quick: ClassVar[bool] = False
    """Whether it is measured after every solve: it costs a small share of that."""
    for_robots: ClassVar[bool] = False
    """Whether it is measured of robots alone."""
    by_skin: ClassVar[bool] = False
    """Whether it looks at the skin, if there is one."""

    @abstractmethod
    def measure(self, case: Comparison) -> Measurement:
        """Measure a motion, against its source if there is one."""

    def measurement(
        self,
        case: Comparison,
        words: str,
        figures: Iterable[Figure],
        curves: Iterable[Curve] = (),
        *,
        judged: Collection[str] | None = None,
        **facts: Any,
    ) -> Measurement:
        """A measurement with its verdict: the worst of the grades of its (judged) figures."""
        size = case.leg / ADULT_LEG_METRES
        all_figures = tuple(figures)
        values = {figure.name: figure.value for figure in all_figures}
        graded = [
            (grade, value)
            for grade in self.grades
            if (judged is None or grade.figure in judged) and (value := values.get(grade.figure)) is not None
        ]
        return Measurement(
            metric=self.name,
            title=self.title,
            verdict=worst(grade.verdict(value, size) for grade, value in graded),
            words=words,
            figures=all_figures,
            curves=tuple(curves),
            grades=tuple(grade for grade, _ in graded),
            size=size,
            facts=facts,
            remedy=self.remedy,
        )

    def not_measured(self, why: str) -> Measurement:
        """An ungraded measurement with the reason why there is none."""
        return Measurement(metric=self.name, title=self.title, verdict=Verdict.UNGRADED, words=f"not measured: {why}")


def millimetres(metres: float | None) -> str:
    """A length as text: millimetres below a decimetre."""
    if metres is None:
        return "-"
    return f"{metres:.2f} m" if abs(metres) >= 0.1 else f"{1000.0 * metres:.1f} mm"


def percent(share: float | None) -> str:
    """A share as text."""
    return "-" if share is None else f"{100.0 * share:.0f}%"


@cache
def metrics() -> dict[str, Metric]:
    """Every metric by name."""
    single = [metric for _, metric in scan("understudy.metrics", "METRIC")]
    several = [metric for _, group in scan("understudy.metrics", "METRICS") for metric in group]
    return {metric.name: metric for metric in sorted([*single, *several], key=lambda metric: metric.name)}


def metrics_for(case: Comparison) -> list[Metric]:
    """The metrics that have something to measure: those of robots need one."""
    return [metric for metric in metrics().values() if not metric.for_robots or case.robot is not None]


def quick_metrics() -> list[str]:
    """The names of the metrics that are measured after every solve."""
    return [name for name, metric in metrics().items() if metric.quick]


@record
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
        from html import escape

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
    robot: RobotLayout | None = None,
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
        robot: The robot whose motion the result is (`Clip.layout`), for its physics.
        carried: The source's motion on the result's body before anything was solved, to be shown beside the result.
        only: Names of the wanted metrics; all if not given.
    """
    if floor is not None and not np.isfinite(floor):
        raise OptionError(f"Expected the floor's height in metres, got {floor}")
    if correspondence is not None and source is None:
        raise OptionError("A map of bones needs a source to compare with")
    # These modules need the classes above.
    from understudy.metrics.comparison import Comparison

    chosen = None if only is None else [_metric(name).name for name in only]
    contact_list = None if contacts is None else tuple(contacts)
    case = Comparison(
        result=result, source=source, user_map=correspondence, contacts=contact_list, floor_height=floor,
        outcomes=tuple(outcomes), meshes=tuple(meshes), source_meshes=tuple(source_meshes), robot=robot,
        carried=carried,
    )  # fmt: skip
    return evaluate_comparison(case, only=chosen)


def evaluate_comparison(case: Comparison, *, only: Sequence[str] | None = None) -> Report:
    """Measure a motion by the wanted metrics, or by all; what this comparison has measured before is not repeated."""
    from understudy.metrics.guard import comparison_failures

    chosen = metrics_for(case) if only is None else [metrics()[name] for name in only]
    failures = tuple(f"the result {sentence}" for sentence in case.once(comparison_failures))
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
        measurements=tuple(case.once(metric.measure) for metric in chosen),
        failures=tuple(failures),
        notes=tuple(notes),
        frames=case.result.num_frames,
        fps=case.result.fps,
        compared=case.source is not None,
        skipped=tuple(metric.title for metric in metrics_for(case) if metric not in chosen),
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
