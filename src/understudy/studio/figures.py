"""Quality as the page shows it: every metric with its verdict, where its worst is, and its curves over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.contacts import Contact
from understudy.metrics import Curve, Measurement, evaluate
from understudy.motion import Motion
from understudy.skeleton import Skeleton
from understudy.solvers.base import Outcome
from understudy.studio.scene import shown_frames
from understudy.transfer.correspondence import Correspondence

LOW = ("margin",)
"""Curves whose worst is their least."""


def quality_table(
    which: str,
    motion: Motion,
    *,
    source: Motion | None = None,
    correspondence: Correspondence | None = None,
    contacts: Sequence[Contact] | None = None,
    outcomes: Sequence[Outcome] = (),
) -> dict[str, Any]:
    """A motion measured, against its source where there is one."""
    report = evaluate(motion, source, correspondence=correspondence, contacts=contacts, outcomes=outcomes)
    frames = shown_frames(motion)
    return {
        "which": which,
        "measurements": [_table(each, motion, frames) for each in report.measurements],
        "faults": list(report.failures),
    }


def _table(measurement: Measurement, motion: Motion, frames: np.ndarray) -> dict[str, Any]:
    time, joint = _where(measurement, motion)
    return {
        "metric": measurement.metric,
        "title": measurement.title,
        "verdict": str(measurement.verdict),
        "words": measurement.words,
        "figures": [
            {"name": each.name, "value": each.value, "unit": each.unit, "about": each.about}
            for each in measurement.figures
        ],
        "time": time,
        "joint": joint,
        "curves": [
            {"name": each.name, "unit": each.unit, "values": _values(each, frames)} for each in measurement.curves
        ],
    }


def _values(curve: Curve, frames: np.ndarray) -> list[float | None]:
    """A curve at the frames that are shown; the page draws one value for each."""
    return [float(v) if np.isfinite(v) else None for v in np.asarray(curve.values)[frames]]


def _where(measurement: Measurement, motion: Motion) -> tuple[float | None, str | None]:
    """The time and the joint of the worst, as far as the metric tells; else where its first curve is worst."""
    facts = {**measurement.facts, **(measurement.facts.get("worst") or {})}
    named = facts.get("joint") or facts.get("point") or next(iter(facts.get("parts") or ()), None)
    time = facts.get("time", facts.get("start"))
    if time is None and measurement.curves:
        values = np.asarray(measurement.curves[0].values, float)
        if np.isfinite(values).any():
            low = measurement.curves[0].name in LOW
            time = float((np.nanargmin(values) if low else np.nanargmax(np.abs(values))) / motion.fps)
    return None if time is None else float(time), _joint(motion.skeleton, named)


def _joint(skeleton: Skeleton, name: str | None) -> str | None:
    """The joint or end that a name means: itself, or the joint that a point of that name is on."""
    if name is None or name in skeleton.index or any(end.name == name for end in skeleton.ends):
        return name
    near = [joint for joint in skeleton.names if joint in name or name in joint]
    return max(near, key=len) if near else None
