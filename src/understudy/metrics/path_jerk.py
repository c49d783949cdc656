"""Path jerk: how much more the paths of the main joints jerk in the world than the source's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric
from understudy.metrics.comparison import Comparison

PARTS = ("hips", "head", "hand", "knee", "foot")
"""The parts that are graded, the carrier of all others first."""

MIN_JERK_LEGS_PER_S3 = 2.0
"""Root mean square jerk of a source below which it counts as this much: less is invisible."""

CARRIER_SOURCE = "house rule: the hips carry all else, and their path is the source's but for its size"

LIMB_SOURCE = "house rule: a quarter more than the source's is what other proportions add"


@dataclass(frozen=True, kw_only=True)
class PathJerk(Metric):
    """Root mean square third difference of world paths in leg lengths, as ratios to the source's."""

    name: ClassVar[str] = "path_jerk"
    title: ClassVar[str] = "path jerk"
    quick: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "wider keys smooth a jerk that is everywhere (--spacing 8f); one that comes with every step comes from "
        "contacts: shorten or remove wrong ones in a recipe (`understudy recipe` lists them)"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="hips", noticeable=1.1, bad=1.5, source=CARRIER_SOURCE),
        *(Grade(figure=part, noticeable=1.25, bad=2.0, source=LIMB_SOURCE) for part in PARTS[1:]),
    )

    def measure(self, case: Comparison) -> Measurement:
        if case.result.num_frames < 5:
            return self.not_measured("fewer than five frames")
        paths = case.main_paths
        if not paths.has_source:
            return self.not_measured("there is no source to compare with")
        if not paths.joints.names:
            return self.not_measured("the bodies share no hips, head, hands, knees or feet that names tell")
        result, source, carried = (paths.differences(which, 3) for which in ("result", "source", "carried"))
        assert result is not None
        assert source is not None
        scale = paths.fps**3
        floor = MIN_JERK_LEGS_PER_S3 / scale
        source_jerk = np.maximum(_rms(source), floor)
        ratios = _rms(result) / source_jerk
        carried_ratios = None if carried is None else _rms(carried) / source_jerk
        figures, told, told_carried = [], [], []
        for part in PARTS:
            columns = paths.joints.columns(part)
            if not columns:
                continue
            worst = columns[int(np.argmax(ratios[columns]))]
            about = f"root mean square jerk of the path of {_the(part)} in leg lengths, times the source's"
            figures.append(Figure(name=part, value=ratios[worst], unit="ratio", about=about))
            told.append(f"{part} {ratios[worst]:.2f}")
            if carried_ratios is not None:
                value = carried_ratios[columns].max()
                about = f"the same of {_the(part)} before anything was solved"
                figures.append(Figure(name=f"carried_{part}", value=value, unit="ratio", about=about))
                told_carried.append(f"{value:.2f}")
        excess = (result - source).max(axis=1)
        frame = int(np.argmax(excess)) + 2
        joint = paths.joints.labels[int(np.argmax(ratios))]
        before = f" (before the solve {', '.join(told_carried)})" if told_carried else ""
        words = (
            f"jerk of the paths in the world, times the source's: {', '.join(told)}{before}; most beyond the source's "
            f"at {frame / paths.fps:.2f} s"
        )
        values = np.pad(scale * case.leg * excess, (1, 2), "edge")
        curve = Curve(name="added_jerk", values=values, unit="m/s^3")
        return self.measurement(
            case,
            words,
            figures,
            [curve],
            judged=None if case.comparable_paths else (),
            joint=joint,
            time=frame / paths.fps,
        )


def _rms(differences: Array) -> Array:
    """(K,) root mean square over the frames of (F, K)."""
    return np.asarray(np.sqrt(np.mean(np.square(differences), axis=0)))


def _the(part: str) -> str:
    return f"the {part}" if part in ("hips", "head") else f"the worse {part}"


METRIC = PathJerk()
