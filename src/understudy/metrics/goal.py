"""Goal reached: how well what was asked for is met, where a solver tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.metrics.base import Figure, Grade, Measurement, Metric, millimetres
from understudy.metrics.comparison import Comparison

REACHED = "Lommers13 sec. 7.1: constraints count as met within 1.5 cm"


@dataclass(frozen=True, kw_only=True)
class GoalMetric(Metric):
    """The constraints' own residuals: metres for places, degrees for angles."""

    name: ClassVar[str] = "goal"
    title: ClassVar[str] = "goal reached"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="worst_distance", noticeable=0.005, bad=0.015, source=REACHED, metres=True),
        Grade(figure="worst_angle", noticeable=2.0, bad=10.0),
    )

    def measure(self, take: Comparison) -> Measurement:
        if not take.outcomes:
            return self.absent("no constraints are given")
        places = [each for each in take.outcomes if not each.constraint.angular]
        angles = [each for each in take.outcomes if each.constraint.angular]
        missed = [each for each in take.outcomes if not each.met]
        far = max((each.worst for each in places), default=None)
        wide = max((float(np.degrees(each.worst)) for each in angles), default=None)
        figures = [
            Figure(name="constraints", value=float(len(take.outcomes)), unit="count", about="what was asked for"),
            Figure(name="missed", value=float(len(missed)), unit="count", about="constraints beyond their tolerance"),
            Figure(name="worst_distance", value=far, unit="m", about="farthest from a place or path"),
            Figure(name="mean_distance", value=float(np.mean([o.mean for o in places])) if places else None, unit="m",
                   about="mean over the constraints and their frames"),
            Figure(name="worst_angle", value=wide, unit="degrees", about="farthest from an angle or range"),
        ]  # fmt: skip
        words = f"all {len(take.outcomes)} constraints are met"
        facts: dict[str, Any] = {}
        if missed:
            worst = max(missed, key=lambda each: each.worst / each.constraint.tolerance)
            size = f"{np.degrees(worst.worst):.1f} degrees" if worst.constraint.angular else millimetres(worst.worst)
            words = (
                f"{len(missed)} of {len(take.outcomes)} constraints are missed; `{worst.constraint.label}` is off by "
                f"{size} at {worst.time:.2f} s"
            )
            facts = {"constraint": worst.constraint.label, "time": worst.time}
        return self.made(take, words, figures, **facts)


METRIC = GoalMetric()
