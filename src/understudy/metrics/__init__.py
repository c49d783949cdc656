"""How good a motion is, measured: one file each; a module with a `METRIC` is found by itself."""

from __future__ import annotations

from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, Verdict
from understudy.metrics.report import Report, evaluate, metrics

__all__ = ["Curve", "Figure", "Grade", "Measurement", "Metric", "Report", "Verdict", "evaluate", "metrics"]
