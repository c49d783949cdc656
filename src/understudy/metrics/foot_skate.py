"""Foot skate: how far and how fast planted points slide over the floor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.kinematics import Pose
from understudy.figure.skeleton import Point
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import HORIZONTAL_AXES, Comparison, tracks

MAX_PLANT_SPEED_M_PER_S = 0.1
"""Speed on an adult body above which a planted point slides."""

SEEN = "Prazak, Hoyet and O'Sullivan 2011: sliding below 21 mm is seen in most conditions; half of it is taken as good"


@record
class Slides:
    """How points slide while they are planted."""

    speeds: tuple[Array, ...]
    """For each plant (n - 1,) metres a second from frame to frame."""
    drifts: Array
    """(N,) greatest metres of each plant from where it landed."""

    @property
    def all(self) -> Array:
        return np.concatenate(self.speeds) if self.speeds else np.zeros(0)


def measure_slides(
    pose: Pose, fps: float, plants: Sequence[tuple[Point, np.ndarray]], velocities: Sequence[Array | None] = ()
) -> Slides:
    """Measure how points of a body slide over the floor during their planted frames (n,).

    The floor moves at velocities (3,) metres a second, one for each plant; it is at rest where none is given.
    """
    paths = tracks(pose, (point for point, _ in plants))
    speeds, drifts = [], []
    for (point, frames), velocity in zip_longest(plants, velocities):
        path = paths[point.name][frames]
        path = (path if velocity is None else path - frames[:, None] / fps * velocity)[:, HORIZONTAL_AXES]
        speeds.append(np.linalg.norm(np.diff(path, axis=0), axis=-1) * fps)
        drifts.append(float(np.linalg.norm(path - path[0], axis=-1).max()))
    return Slides(speeds=tuple(speeds), drifts=np.array(drifts))


@record(eq=True)
class FootSkate(Metric):
    """Speed and drift of points planted in the source, or in the result without a source."""

    name: ClassVar[str] = "foot_skate"
    title: ClassVar[str] = "foot skate"
    remedy: ClassVar[str] = (
        "hold those feet: --plants free or fixed, or add the contact that is missing in a recipe (`understudy "
        "recipe` lists those that were found)"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_drift", noticeable=0.0105, bad=0.021, source=SEEN, metres=True),
        Grade(figure="mean_drift", noticeable=0.04, bad=0.08, source=CAPTURED, metres=True),
        Grade(figure="added_share", noticeable=0.05, bad=0.2),
        Grade(figure="sliding_share", noticeable=0.7, bad=0.9, source=CAPTURED),
    )

    def measure(self, case: Comparison) -> Measurement:
        plants = [plant for plant in case.plants if len(plant.frames) > 1]
        if not plants:
            return self.not_measured("nothing stands still long enough to be planted")
        floors = [None if (velocity := p.contact.velocity) is None else case.ratio * velocity for p in plants]
        slid = measure_slides(case.pose, case.result.fps, [(plant.point, plant.frames) for plant in plants], floors)
        limit = MAX_PLANT_SPEED_M_PER_S * case.size
        source = self._source_slides(case)
        share = float(np.mean(slid.all > limit))
        added_drift = added_share = None
        if source is not None:
            added_drift = float(np.max(slid.drifts - case.ratio * source.drifts, initial=0.0))
            added_share = max(share - float(np.mean(case.ratio * source.all > limit)), 0.0)
        figures = [
            Figure(name="mean_speed", value=slid.all.mean(), unit="m/s", about="mean sliding speed of planted points"),
            Figure(name="worst_speed", value=slid.all.max(), unit="m/s", about="greatest sliding speed"),
            Figure(name="sliding_share", value=share, unit="share", about=f"planted frames above {limit:.2g} m/s"),
            Figure(name="mean_drift", value=slid.drifts.mean(), unit="m", about="drift per plant, mean"),
            Figure(name="worst_drift", value=slid.drifts.max(), unit="m", about="drift per plant, greatest"),
            Figure(name="added_drift", value=added_drift, unit="m", about="worst drift beyond the source's own"),
            Figure(name="added_share", value=added_share, unit="share", about="sliding frames beyond the source's own"),
            Figure(name="plants", value=float(len(plants)), unit="count", about="plants looked at"),
        ]
        worst = int(np.argmax(slid.drifts))
        words = (
            f"planted points slide {millimetres(slid.drifts.mean())} on average and {millimetres(slid.drifts.max())} "
            f"at worst (`{plants[worst].point.name}` from {plants[worst].contact.start:.2f} s); {percent(share)} of "
            f"their frames are faster than {limit:.2g} m/s"
        )
        curve = np.full(case.result.num_frames, np.nan)
        for plant, speeds in zip(plants, slid.speeds, strict=True):
            curve[plant.frames[1:]] = np.fmax(curve[plant.frames[1:]], speeds)
        judged = ("mean_drift", "sliding_share") if source is None else ("added_drift", "added_share")
        place = {
            "point": plants[worst].point.name,
            "start": plants[worst].contact.start,
            "end": plants[worst].contact.end,
        }
        return self.measurement(
            case, words, figures, [Curve(name="sliding_speed", values=curve, unit="m/s")], judged=judged, worst=place
        )

    def _source_slides(self, case: Comparison) -> Slides | None:
        """How the source slides during the same plants."""
        if case.source_pose is None:
            return None
        skeleton = case.source_pose.skeleton
        plants = [plant for plant in case.plants if len(plant.frames) > 1]
        assert all(plant.contact.point.joint in skeleton.index for plant in plants)
        return measure_slides(
            case.source_pose,
            case.result.fps,
            [(plant.contact.point, plant.frames) for plant in plants],
            [plant.contact.velocity for plant in plants],
        )


METRIC = FootSkate()
