"""Smoothness: acceleration, jerk, jumps and fast shaking, against the source's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.bands import energy_above
from understudy.figure.measures import leg_length
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres
from understudy.metrics.comparison import Comparison

HERTZ = (4.0, 8.0, 12.0)

SHAKING = 1
"""Which of them counts as shaking: 8 Hz, above nearly all that a body does by itself."""

CALM = 2.0
"""Legs per second cubed of jerk below which a motion is smooth, however many times its source's that may be."""

SEEN = "house rule: 0.2 degrees of added shaking is where it begins to show"


@dataclass(frozen=True, eq=False, kw_only=True)
class Derivatives:
    """How joints accelerate, in leg lengths."""

    acceleration: Array
    """(F - 2, J) legs / s^2."""
    jerk: Array
    """(F - 3, J) legs / s^3."""
    jumps: Array
    """(F - 2, J) legs: how far each joint is from the middle of where it was and where it will be."""

    @staticmethod
    def of(positions: Array, fps: float, leg: float) -> Derivatives:
        second = np.linalg.norm(np.diff(positions, n=2, axis=0), axis=-1) / leg
        third = np.linalg.norm(np.diff(positions, n=3, axis=0), axis=-1) / leg
        return Derivatives(acceleration=second * fps**2, jerk=third * fps**3, jumps=0.5 * second)


def summary(values: Array) -> dict[str, float]:
    """Root mean square, 95th percentile and maximum."""
    return {
        "rms": float(np.sqrt(np.mean(values**2))),
        "p95": float(np.percentile(values, 95)),
        "max": float(values.max()),
    }


@dataclass(frozen=True, kw_only=True)
class Smoothness(Metric):
    """Derivatives of the joints' places in metres, their ratios to the source's, and spectral excess of the turning."""

    name: ClassVar[str] = "smoothness"
    title: ClassVar[str] = "smoothness"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="jerk_rms_ratio", noticeable=1.25, bad=2.0),
        Grade(figure="added_jump", noticeable=0.01, bad=0.03, metres=True),
        Grade(figure="shake", noticeable=0.2, bad=1.0, source=SEEN),
    )

    def measure(self, take: Comparison) -> Measurement:
        if take.result.num_frames < 4:
            return self.absent("fewer than four frames")
        mine, theirs = _joints(take)
        fps, leg = take.result.fps, take.leg
        found = Derivatives.of(take.pose.positions[:, mine], fps, leg)
        own = None
        if take.shown is not None and take.shown_pose is not None:
            own = Derivatives.of(take.shown_pose.positions[:, theirs], fps, leg_length(take.shown.skeleton))
        figures = self._derivatives(found, own, leg)
        jump, frame = float(found.jumps.max()), int(np.argmax(found.jumps.max(axis=1))) + 1
        more = None if own is None else float(np.max(found.jumps - own.jumps, initial=0.0))
        figures += [
            Figure(name="worst_jump", value=leg * jump, unit="m", about="farthest from the middle of its neighbours"),
            Figure(name="added_jump", value=None if more is None else leg * more, unit="m",
                   about="farthest beyond the source's own"),
        ]  # fmt: skip
        figures += self._spectrum(take)
        values = {figure.name: figure.value for figure in figures}
        words = f"the worst jump of one frame is {millimetres(leg * jump)} at {frame / fps:.2f} s"
        if own is not None and values["jerk_rms_ratio"] is not None:
            words = (
                f"jerk {values['jerk_rms_ratio']:.2f} and acceleration {values['acceleration_rms_ratio']:.2f} times "
                f"the source's; {values['shake']:.2f} degrees of shaking above 8 Hz are added; " + words
            )
        calm = own is not None and summary(found.jerk)["rms"] < CALM
        judged = ("added_jump", "shake", *(() if calm else ("jerk_rms_ratio",)))
        if own is None or take.loose:
            judged = ("shake",)
        curves = [
            Curve(name="acceleration", values=leg * np.pad(found.acceleration.max(axis=1), 1, "edge"), unit="m/s^2"),
            Curve(name="jump", values=leg * np.pad(found.jumps.max(axis=1), 1, "edge"), unit="m"),
        ]
        return self.made(take, words, figures, curves, judged=judged, time=frame / fps)

    @staticmethod
    def _derivatives(found: Derivatives, own: Derivatives | None, leg: float) -> list[Figure]:
        figures = []
        for name, unit in (("acceleration", "m/s^2"), ("jerk", "m/s^3")):
            before = None if own is None else summary(getattr(own, name))
            for key, value in summary(getattr(found, name)).items():
                about = f"{name} of the joints, {key}"
                figures.append(Figure(name=f"{name}_{key}", value=leg * value, unit=unit, about=about))
                if before is not None:
                    ratio = value / before[key] if before[key] > 1e-6 else None
                    about += ", in leg lengths, times the source's"
                    figures.append(Figure(name=f"{name}_{key}_ratio", value=ratio, unit="ratio", about=about))
        return figures

    @staticmethod
    def _spectrum(take: Comparison) -> list[Figure]:
        """Energy of the joints' turning that is faster than some frequencies, against the source's."""
        after = energy_above(take.result, HERTZ)
        before = None if take.shown is None else energy_above(take.shown, HERTZ)
        figures = [
            Figure(name=f"fast_{hertz:g}hz", value=np.degrees(np.sqrt(energy)), unit="degrees",
                   about=f"root mean square turning faster than {hertz:g} Hz, all joints together")
            for hertz, energy in zip(HERTZ, after, strict=True)
        ]  # fmt: skip
        if before is None:
            return figures
        for hertz, new, old in zip(HERTZ, after, before, strict=True):
            ratio = new / old if old > 1e-12 else None
            about = f"energy of the turning above {hertz:g} Hz, times the source's"
            figures.append(Figure(name=f"energy_{hertz:g}hz_ratio", value=ratio, unit="ratio", about=about))
        added = np.degrees(np.sqrt(max(after[SHAKING] - before[SHAKING], 0.0)))
        about = "root mean square turning above 8 Hz that the source has not, all joints together"
        return [*figures, Figure(name="shake", value=added, unit="degrees", about=about)]


def _joints(take: Comparison) -> tuple[list[int], list[int]]:
    """Joints of the result and, where there is a source, their partners."""
    if take.source is None or take.alike:
        both = list(range(take.result.skeleton.num_joints))
        return both, both
    whole = take.correspondence
    return (
        [whole.target.index[pair.target[0]] for pair in whole.pairs],
        [whole.source.index[pair.source[0]] for pair in whole.pairs],
    )


METRIC = Smoothness()
