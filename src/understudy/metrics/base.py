"""The base of metrics: figures with units, curves over time, and a verdict by thresholds with their sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.quaternion import Array

if TYPE_CHECKING:
    from understudy.metrics.comparison import Comparison


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


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """A number at every frame of the result."""

    name: str
    values: Array
    """(F,) NaN where there is nothing to measure."""
    unit: str


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, eq=False, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
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
