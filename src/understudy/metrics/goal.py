"""Goal reached: how well the constraints of a solve are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.metrics.base import Figure, Grade, Measurement, Metric, millimetres
from understudy.metrics.comparison import Comparison

REACHED_SOURCE = "Lommers13 sec. 7.1: constraints count as met within 1.5 cm"


@dataclass(frozen=True, kw_only=True)
class GoalMetric(Metric):
    """Residuals of the constraints: metres for places, degrees for angles."""

    name: ClassVar[str] = "goal"
    title: ClassVar[str] = "goal reached"
    quick: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "what is missed is out of reach or against others: --plants free lets the target step where it can, and a "
        "recipe can shorten or remove a constraint"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="worst_distance", noticeable=0.005, bad=0.015, source=REACHED_SOURCE, metres=True),
        Grade(figure="worst_angle", noticeable=2.0, bad=10.0),
    )

    def measure(self, case: Comparison) -> Measurement:
        if not case.outcomes:
            return self.not_measured("no constraints are given")
        places = [outcome for outcome in case.outcomes if not outcome.constraint.angular]
        angles = [outcome for outcome in case.outcomes if outcome.constraint.angular]
        missed = [outcome for outcome in case.outcomes if not outcome.met]
        distance = max((outcome.worst for outcome in places), default=None)
        angle = max((float(np.degrees(outcome.worst)) for outcome in angles), default=None)
        figures = [
            Figure(name="constraints", value=float(len(case.outcomes)), unit="count", about="what was asked for"),
            Figure(name="missed", value=float(len(missed)), unit="count", about="constraints beyond their tolerance"),
            Figure(name="worst_distance", value=distance, unit="m", about="farthest from a place or path"),
            Figure(name="mean_distance", value=float(np.mean([o.mean for o in places])) if places else None, unit="m",
                   about="mean over the constraints and their frames"),
            Figure(name="worst_angle", value=angle, unit="degrees", about="farthest from an angle or range"),
        ]  # fmt: skip
        words = f"all {len(case.outcomes)} constraints are met"
        facts: dict[str, Any] = {}
        if missed:
            worst = max(missed, key=lambda outcome: outcome.worst / outcome.constraint.tolerance)
            size = f"{np.degrees(worst.worst):.1f} degrees" if worst.constraint.angular else millimetres(worst.worst)
            words = (
                f"{len(missed)} of {len(case.outcomes)} constraints are missed; `{worst.constraint.label}` is off by "
                f"{size} at {worst.time:.2f} s"
            )
            facts = {"constraint": worst.constraint.label, "time": worst.time}
        return self.measurement(case, words, figures, **facts)


METRIC = GoalMetric()
