"""Foot skate: how far and how fast points that should stand still slide over the floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.kinematics import Pose
from understudy.figure.skeleton import Point
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison, tracks

FLAT = [0, 2]

SLIDES = 0.1
"""Metres a second on an adult body above which a planted point slides."""

SEEN = "Prazak, Hoyet and O'Sullivan 2011: sliding below 21 mm is seen in most conditions; half of it is taken as good"


@dataclass(frozen=True, eq=False, kw_only=True)
class Slides:
    """How points slide while they are planted."""

    speeds: tuple[Array, ...]
    """For each plant (n - 1,) metres a second from frame to frame."""
    drifts: Array
    """(N,) metres: how far from where it landed each plant gets."""

    @property
    def all(self) -> Array:
        return np.concatenate(self.speeds) if self.speeds else np.zeros(0)


def slides(pose: Pose, fps: float, plants: Sequence[tuple[Point, np.ndarray]]) -> Slides:
    """How points of a body slide over the ground during the frames (n,) in which each should stand."""
    paths = tracks(pose, (point for point, _ in plants))
    speeds, drifts = [], []
    for point, frames in plants:
        path = paths[point.name][frames][:, FLAT]
        speeds.append(np.linalg.norm(np.diff(path, axis=0), axis=-1) * fps)
        drifts.append(float(np.linalg.norm(path - path[0], axis=-1).max()))
    return Slides(speeds=tuple(speeds), drifts=np.array(drifts))


@dataclass(frozen=True, kw_only=True)
class FootSkate(Metric):
    """Speed and drift of planted points over the source's stance, or over plants found in the result itself."""

    name: ClassVar[str] = "foot_skate"
    title: ClassVar[str] = "foot skate"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_drift", noticeable=0.0105, bad=0.021, source=SEEN, metres=True),
        Grade(figure="mean_drift", noticeable=0.04, bad=0.08, source=CAPTURED, metres=True),
        Grade(figure="added_share", noticeable=0.05, bad=0.2),
        Grade(figure="sliding_share", noticeable=0.7, bad=0.9, source=CAPTURED),
    )

    def measure(self, take: Comparison) -> Measurement:
        plants = [plant for plant in take.plants if len(plant.frames) > 1]
        if not plants:
            return self.absent("nothing stands still long enough to be planted")
        found = slides(take.pose, take.result.fps, [(plant.point, plant.frames) for plant in plants])
        limit = SLIDES * take.size
        own = self._source(take)
        share = float(np.mean(found.all > limit))
        added_drift = added_share = None
        if own is not None:
            added_drift = float(np.max(found.drifts - take.ratio * own.drifts, initial=0.0))
            added_share = max(share - float(np.mean(take.ratio * own.all > limit)), 0.0)
        figures = [
            Figure(name="mean_speed", value=found.all.mean(), unit="m/s", about="mean sliding speed of planted points"),
            Figure(name="worst_speed", value=found.all.max(), unit="m/s", about="greatest sliding speed"),
            Figure(name="sliding_share", value=share, unit="share", about=f"planted frames above {limit:.2g} m/s"),
            Figure(name="mean_drift", value=found.drifts.mean(), unit="m", about="drift per plant, mean"),
            Figure(name="worst_drift", value=found.drifts.max(), unit="m", about="drift per plant, greatest"),
            Figure(name="added_drift", value=added_drift, unit="m", about="worst drift beyond the source's own"),
            Figure(name="added_share", value=added_share, unit="share", about="sliding frames beyond the source's own"),
            Figure(name="plants", value=float(len(plants)), unit="count", about="plants looked at"),
        ]
        worst = int(np.argmax(found.drifts))
        words = (
            f"planted points slide {millimetres(found.drifts.mean())} on average and {millimetres(found.drifts.max())} "
            f"at worst (`{plants[worst].point.name}` from {plants[worst].contact.start:.2f} s); {percent(share)} of "
            f"their frames are faster than {limit:.2g} m/s"
        )
        curve = np.full(take.result.num_frames, np.nan)
        for plant, speeds in zip(plants, found.speeds, strict=True):
            curve[plant.frames[1:]] = np.fmax(curve[plant.frames[1:]], speeds)
        judged = ("mean_drift", "sliding_share") if own is None else ("added_drift", "added_share")
        at = {"point": plants[worst].point.name, "start": plants[worst].contact.start, "end": plants[worst].contact.end}
        return self.made(
            take, words, figures, [Curve(name="sliding_speed", values=curve, unit="m/s")], judged=judged, worst=at
        )

    def _source(self, take: Comparison) -> Slides | None:
        """How the source itself slides during the same plants."""
        if take.shown_pose is None:
            return None
        joints = take.shown_pose.skeleton
        plants = [plant for plant in take.plants if len(plant.frames) > 1]
        assert all(plant.contact.point.joint in joints.index for plant in plants)
        return slides(take.shown_pose, take.result.fps, [(plant.contact.point, plant.frames) for plant in plants])


METRIC = FootSkate()
