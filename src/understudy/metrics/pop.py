"""Pops: frames in which a main joint leaves its path at once, though the source's does not around then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres
from understudy.metrics.comparison import Comparison

CARRIERS = ("hips", "head")
"""Parts whose pops count: nothing touches them, so a step of their path comes from the solve."""

MAX_OWN_SHARE = 1.25
"""Second difference, times the source's largest nearby, up to which a joint follows the source."""

MIN_POP_LEGS = 0.0015
"""Second difference in leg lengths beyond that from which it is a pop: 1.3 mm on an adult body."""

NEIGHBOURHOOD_SECONDS = 0.025
"""Time before and after a frame in which the source may do the same."""

SPAN_SECONDS = 10.0
"""Pops are counted for each such time; a shorter motion counts as one."""

POP_SOURCE = "house rule: a path that leaves its way for one frame is seen from a few millimetres on"


@dataclass(frozen=True, kw_only=True)
class Pop(Metric):
    """Second differences of world paths in leg lengths, beyond the source's largest within 0.025 s."""

    name: ClassVar[str] = "pop"
    title: ClassVar[str] = "pops"
    quick: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "look at the contacts that begin or end at that time (`understudy recipe` lists them): a wrong or too early "
        "one tears the body to its place; --plants none tells whether contacts cause it"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="rate", noticeable=0.0, bad=3.0, source=POP_SOURCE),
        Grade(figure="worst", noticeable=0.85 * MIN_POP_LEGS, bad=0.005, source=POP_SOURCE, metres=True),
        Grade(figure="limb_worst", noticeable=0.01, bad=0.03, source=POP_SOURCE, metres=True),
    )

    def measure(self, case: Comparison) -> Measurement:
        if case.result.num_frames < 5:
            return self.not_measured("fewer than five frames")
        paths = case.main_paths
        if not paths.has_source:
            return self.not_measured("there is no source to compare with")
        if not paths.joints.columns(*CARRIERS):
            return self.not_measured("the bodies share no hips or head that names tell")
        reach = max(round(NEIGHBOURHOOD_SECONDS * paths.fps), 1)
        result, source, carried = (paths.differences(which, 2) for which in ("result", "source", "carried"))
        assert result is not None
        assert source is not None
        allowed = MAX_OWN_SHARE * largest_nearby(source, reach)
        excess = result - allowed
        trunk = excess[:, paths.joints.columns(*CARRIERS)]
        limbs = excess[:, paths.joints.columns("hand", "knee", "foot")]
        popped = trunk.max(axis=1) > MIN_POP_LEGS
        count = count_events(popped, reach)
        rate = count / max(case.result.duration / SPAN_SECONDS, 1.0)
        worst = max(float(trunk.max()), 0.0)
        figures = [
            Figure(name="rate", value=rate, unit="in 10 s", about="pops of hips or head for each ten seconds"),
            Figure(name="frames", value=float(np.count_nonzero(popped)), unit="count", about="frames of these pops"),
            Figure(name="worst", value=case.leg * worst, unit="m",
                   about="largest change of the step of hips or head, beyond the source's own around then"),
            Figure(name="limb_worst", value=case.leg * max(float(limbs.max(initial=0.0)), 0.0), unit="m",
                   about="the same of hands, knees and feet"),
        ]  # fmt: skip
        frame, column = np.unravel_index(int(np.argmax(trunk)), trunk.shape)
        which = paths.joints.columns(*CARRIERS)[int(column)]
        time = (int(frame) + 1) / paths.fps
        words = "neither hips nor head jump off their path"
        if count:
            times = "once" if count == 1 else f"{count} times"
            words = (
                f"hips or head jump off their path {times} ({rate:.3g} in 10 s), the {paths.joints.names[which]} most: "
                f"{millimetres(case.leg * worst)} at {time:.2f} s"
            )
        if carried is not None:
            carried_excess = (carried - allowed)[:, paths.joints.columns(*CARRIERS)].max(axis=1)
            before = count_events(carried_excess > MIN_POP_LEGS, reach)
            figures.append(
                Figure(name="carried", value=float(before), unit="count", about="pops before anything was solved")
            )
            words += f" (before the solve {before or 'never'}{' times' if before > 1 else ''})" if count else ""
        values = np.pad(case.leg * np.maximum(trunk.max(axis=1), 0.0), 1)
        curve = Curve(name="pop", values=values, unit="m")
        judged = None if case.comparable_paths else ()
        return self.measurement(
            case, words, figures, [curve], judged=judged, joint=paths.joints.labels[which], time=time
        )


def largest_nearby(values: Array, reach: int) -> Array:
    """(F, K) the largest of values (F, K) within `reach` frames before and after each."""
    span, width = 1, 2 * reach + 1
    largest = np.pad(values, ((reach, reach), (0, 0)), "edge")
    # Windows double until two of them cover the whole.
    while 2 * span <= width:
        largest = np.maximum(largest[:-span], largest[span:])
        span *= 2
    rest = width - span
    return np.asarray(np.maximum(largest[: len(largest) - rest], largest[rest:]) if rest else largest)


def count_events(mask: np.ndarray, reach: int) -> int:
    """The number of times that a mask (F,) is True; times that are less than `reach` frames apart are one."""
    frames = np.flatnonzero(mask)
    return int(len(frames) > 0) + int(np.count_nonzero(np.diff(frames) > reach + 1))


METRIC = Pop()
