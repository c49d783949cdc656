"""Metrics of the quality of a motion: one file each; every module with a `METRIC` is registered by itself."""

from __future__ import annotations

from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, Verdict
from understudy.metrics.report import Report, evaluate, metrics

__all__ = ["Curve", "Figure", "Grade", "Measurement", "Metric", "Report", "Verdict", "evaluate", "metrics"]
