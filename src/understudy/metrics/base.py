"""What a metric is: figures with units, curves over time, and a verdict whose thresholds say where they come from."""

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


ADULT = 0.85
"""Metres: the leg length that thresholds in metres are meant for; on other bodies they grow with the legs."""

HOUSE = "house rule"
"""The source of thresholds that no study gives."""

CAPTURED = "house rule: captured motions themselves, measured without a source, stay below it"


class Verdict(StrEnum):
    """What a figure means to somebody who watches."""

    GOOD = "good"
    """Nobody will see it."""
    NOTICEABLE = "noticeable"
    """Seen by those who look for it."""
    BAD = "bad"
    """Seen by everybody."""
    UNGRADED = "not graded"
    """Measured without anything to compare with, or not measured."""


ORDER = (Verdict.UNGRADED, Verdict.GOOD, Verdict.NOTICEABLE, Verdict.BAD)
"""From the least to the most alarming."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The most alarming of verdicts."""
    return max(verdicts, key=ORDER.index, default=Verdict.UNGRADED)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number."""

    name: str
    value: float | None
    """None where there is nothing to compute it from."""
    unit: str
    about: str

    def __post_init__(self) -> None:
        known = self.value is not None and np.isfinite(self.value)
        object.__setattr__(self, "value", float(self.value) if known and self.value is not None else None)


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """A number at every frame of the result."""

    name: str
    values: Array
    """(F,) not a number where there is nothing to measure."""
    unit: str


@dataclass(frozen=True, kw_only=True)
class Grade:
    """From where on a figure is noticeable and bad, and who says so."""

    figure: str
    noticeable: float
    bad: float
    source: str = HOUSE
    metres: bool = False
    """Whether the thresholds are lengths or speeds on an adult body, to be scaled with the legs."""

    def verdict(self, value: float, size: float = 1.0) -> Verdict:
        """The verdict on a value of a body whose legs are `size` times an adult's.

        A figure that is bad when it is small has its bad threshold below the noticeable one.
        """
        scale = size if self.metres else 1.0
        sign = 1.0 if self.bad >= self.noticeable else -1.0
        if sign * value > sign * scale * self.bad:
            return Verdict.BAD
        return Verdict.NOTICEABLE if sign * value > sign * scale * self.noticeable else Verdict.GOOD


@dataclass(frozen=True, eq=False, kw_only=True)
class Measurement:
    """What a metric found, in numbers and in words."""

    metric: str
    title: str
    verdict: Verdict
    words: str
    """A sentence for somebody who does not know the metric."""
    figures: tuple[Figure, ...] = ()
    curves: tuple[Curve, ...] = ()
    grades: tuple[Grade, ...] = ()
    """The thresholds that the verdict is by."""
    size: float = 1.0
    """How many times an adult's the body's legs are, by which thresholds in metres were scaled."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What is no number: names of joints, times."""

    def __repr__(self) -> str:
        return f"<Measurement {self.metric}: {self.verdict}>"

    def __getitem__(self, name: str) -> float | None:
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        known = [figure.name for figure in self.figures]
        raise UnknownNameError(f"Metric `{self.metric}` has no figure `{name}`; {nearest_names(name, known)}")

    def data(self, *, curves: bool = False) -> dict[str, Any]:
        """Plain data for JSON, with the curves if asked for."""
        found: dict[str, Any] = {
            "title": self.title,
            "verdict": str(self.verdict),
            "words": self.words,
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
            found["curves"] = {
                c.name: {"unit": c.unit, "values": [float(v) if np.isfinite(v) else None for v in c.values]}
                for c in self.curves
            }
        return found


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A way to measure a motion. A class is abstract or final."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    """What it is called in tables."""
    grades: ClassVar[tuple[Grade, ...]] = ()

    @abstractmethod
    def measure(self, take: Comparison) -> Measurement:
        """Measure a motion, against its source where there is one."""

    def made(
        self,
        take: Comparison,
        words: str,
        figures: Iterable[Figure],
        curves: Iterable[Curve] = (),
        *,
        judged: Collection[str] | None = None,
        **facts: Any,
    ) -> Measurement:
        """A measurement with its verdict: the worst of the grades whose figures are there (and among those judged)."""
        size = take.leg / ADULT
        found = tuple(figures)
        values = {figure.name: figure.value for figure in found}
        used = [
            (grade, value)
            for grade in self.grades
            if (judged is None or grade.figure in judged) and (value := values.get(grade.figure)) is not None
        ]
        return Measurement(
            metric=self.name,
            title=self.title,
            verdict=worst(grade.verdict(value, size) for grade, value in used),
            words=words,
            figures=found,
            curves=tuple(curves),
            grades=tuple(grade for grade, _ in used),
            size=size,
            facts=facts,
        )

    def absent(self, why: str) -> Measurement:
        """A measurement of what cannot be measured, and why."""
        return Measurement(metric=self.name, title=self.title, verdict=Verdict.UNGRADED, words=f"not measured: {why}")


def millimetres(metres: float | None) -> str:
    """A length as words: millimetres below a decimetre."""
    if metres is None:
        return "-"
    return f"{metres:.2f} m" if abs(metres) >= 0.1 else f"{1000.0 * metres:.1f} mm"


def percent(share: float | None) -> str:
    """A share as words."""
    return "-" if share is None else f"{100.0 * share:.0f}%"
