"""Smoothness: acceleration, jerk, jumps and fast shaking, against the source's."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.bands import energy_above
from understudy.figure.measures import leg_length
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres
from understudy.metrics.comparison import Comparison

BANDS_HZ = (4.0, 8.0, 12.0)

SHAKING_BAND = 1
"""Index of the band that counts as shaking: 8 Hz is above nearly all natural movement."""

MAX_CALM_JERK_LEGS_PER_S3 = 2.0
"""Root mean square jerk below which a motion is smooth, whatever its ratio to the source's."""

SHAKING_SOURCE = "house rule: 0.2 degrees of added shaking is where it begins to show"


@record
class Derivatives:
    """Derivatives of joint positions, in leg lengths."""

    acceleration: Array
    """(F - 2, J) legs / s^2."""
    jerk: Array
    """(F - 3, J) legs / s^3."""
    jumps: Array
    """(F - 2, J) legs: distance of each joint from the midpoint of its previous and next positions."""

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


@record(eq=True)
class Smoothness(Metric):
    """Derivatives of joint positions, their ratios to the source's, and added energy of fast rotation."""

    name: ClassVar[str] = "smoothness"
    title: ClassVar[str] = "smoothness"
    remedy: ClassVar[str] = "wider keys smooth it (--spacing 8f), or short contacts pull at it (see them in a recipe)"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="jerk_rms_ratio", noticeable=1.25, bad=2.0),
        Grade(figure="added_jump", noticeable=0.01, bad=0.03, metres=True),
        Grade(figure="shake", noticeable=0.2, bad=1.0, source=SHAKING_SOURCE),
    )

    def measure(self, case: Comparison) -> Measurement:
        if case.result.num_frames < 4:
            return self.not_measured("fewer than four frames")
        joints, source_joints = _paired_joints(case)
        fps, leg = case.result.fps, case.leg
        derivatives = Derivatives.of(case.pose.positions[:, joints], fps, leg)
        source_derivatives = None
        if case.resampled is not None and case.source_pose is not None:
            source_derivatives = Derivatives.of(
                case.source_pose.positions[:, source_joints], fps, leg_length(case.resampled.skeleton)
            )
        figures = self._derivative_figures(derivatives, source_derivatives, leg)
        jump, frame = float(derivatives.jumps.max()), int(np.argmax(derivatives.jumps.max(axis=1))) + 1
        added = (
            None
            if source_derivatives is None
            else float(np.max(derivatives.jumps - source_derivatives.jumps, initial=0.0))
        )
        figures += [
            Figure(name="worst_jump", value=leg * jump, unit="m", about="farthest from the middle of its neighbours"),
            Figure(name="added_jump", value=None if added is None else leg * added, unit="m",
                   about="farthest beyond the source's own"),
        ]  # fmt: skip
        figures += self._spectrum_figures(case)
        values = {figure.name: figure.value for figure in figures}
        words = f"the worst jump of one frame is {millimetres(leg * jump)} at {frame / fps:.2f} s"
        if source_derivatives is not None and values["jerk_rms_ratio"] is not None:
            words = (
                f"jerk {values['jerk_rms_ratio']:.2f} and acceleration {values['acceleration_rms_ratio']:.2f} times "
                f"the source's; {values['shake']:.2f} degrees of shaking above 8 Hz are added; " + words
            )
        calm = source_derivatives is not None and summary(derivatives.jerk)["rms"] < MAX_CALM_JERK_LEGS_PER_S3
        judged = ("added_jump", "shake", *(() if calm else ("jerk_rms_ratio",)))
        if source_derivatives is None or case.loosely_matched:
            judged = ("shake",)
        curves = [
            Curve(
                name="acceleration", values=leg * np.pad(derivatives.acceleration.max(axis=1), 1, "edge"), unit="m/s^2"
            ),
            Curve(name="jump", values=leg * np.pad(derivatives.jumps.max(axis=1), 1, "edge"), unit="m"),
        ]
        return self.measurement(case, words, figures, curves, judged=judged, time=frame / fps)

    @staticmethod
    def _derivative_figures(
        derivatives: Derivatives, source_derivatives: Derivatives | None, leg: float
    ) -> list[Figure]:
        figures = []
        for name, unit in (("acceleration", "m/s^2"), ("jerk", "m/s^3")):
            source = None if source_derivatives is None else summary(getattr(source_derivatives, name))
            for key, value in summary(getattr(derivatives, name)).items():
                about = f"{name} of the joints, {key}"
                figures.append(Figure(name=f"{name}_{key}", value=leg * value, unit=unit, about=about))
                if source is not None:
                    ratio = value / source[key] if source[key] > 1e-6 else None
                    about += ", in leg lengths, times the source's"
                    figures.append(Figure(name=f"{name}_{key}_ratio", value=ratio, unit="ratio", about=about))
        return figures

    @staticmethod
    def _spectrum_figures(case: Comparison) -> list[Figure]:
        """Energy of joint rotation above some frequencies, against the source's."""
        result_energy = energy_above(case.result, BANDS_HZ)
        source_energy = None if case.resampled is None else energy_above(case.resampled, BANDS_HZ)
        figures = [
            Figure(name=f"fast_{hertz:g}hz", value=np.degrees(np.sqrt(energy)), unit="degrees",
                   about=f"root mean square turning faster than {hertz:g} Hz, all joints together")
            for hertz, energy in zip(BANDS_HZ, result_energy, strict=True)
        ]  # fmt: skip
        if source_energy is None:
            return figures
        for hertz, result, source in zip(BANDS_HZ, result_energy, source_energy, strict=True):
            ratio = result / source if source > 1e-12 else None
            about = f"energy of the turning above {hertz:g} Hz, times the source's"
            figures.append(Figure(name=f"energy_{hertz:g}hz_ratio", value=ratio, unit="ratio", about=about))
        added = np.degrees(np.sqrt(max(result_energy[SHAKING_BAND] - source_energy[SHAKING_BAND], 0.0)))
        about = "root mean square turning above 8 Hz that the source has not, all joints together"
        return [*figures, Figure(name="shake", value=added, unit="degrees", about=about)]


def _paired_joints(case: Comparison) -> tuple[list[int], list[int]]:
    """Joints of the result and their partners on the source."""
    if case.source is None or case.same_structure:
        joints = list(range(case.result.skeleton.num_joints))
        return joints, joints
    correspondence = case.correspondence
    return (
        [correspondence.target.index[pair.target[0]] for pair in correspondence.pairs],
        [correspondence.source.index[pair.source[0]] for pair in correspondence.pairs],
    )


METRIC = Smoothness()
