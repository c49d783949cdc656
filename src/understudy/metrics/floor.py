"""The floor: how deep a body sinks into it, and how far above it feet float that should stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.floor import Floor
from understudy.figure.kinematics import Pose
from understudy.figure.skeleton import Point
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison, has_point, tracks

SUNK = 0.005
"""Metres on an adult body beyond which a point below the floor counts."""

FIVE = "house rule: 5 mm below the floor count, as is usual in motion imitation; 2 cm is a sole's thickness"


def heights(pose: Pose, points: Sequence[Point], floor: Floor) -> Array:
    """(F, P) metres: how high points are above the floor."""
    places = pose.points(points)
    return places[..., 1] - floor.heights(places)


@dataclass(frozen=True, kw_only=True)
class FloorContact(Metric):
    """Depth below where points stand, at every frame; height above it while they should stand."""

    name: ClassVar[str] = "floor"
    title: ClassVar[str] = "floor"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_depth", noticeable=SUNK, bad=0.02, source=FIVE, metres=True),
        Grade(figure="mean_float", noticeable=SUNK, bad=0.02, source=FIVE, metres=True),
    )

    def measure(self, take: Comparison) -> Measurement:
        standing = [plant for plant in take.plants if plant.level is not None]
        if not standing:
            return self.absent("nothing stands on a floor")
        points, levels, partners = self._watched(take)
        if not points:
            return self.absent("the feet have no joints or ends that stand on a floor")
        depth = np.maximum(levels - heights(take.pose, points, take.floor), 0.0)
        added = np.maximum(depth - self._source_depth(take, points, levels, partners), 0.0)
        paths = tracks(take.pose, (plant.point for plant in standing))
        floats = [
            np.maximum(self._above(take, paths[p.point.name][p.frames]) - (p.level or 0.0), 0.0) for p in standing
        ]
        deepest, sunk = depth.max(axis=1), added.max(axis=1)
        limit = SUNK * take.size
        whole = np.concatenate(floats)
        figures = [
            Figure(name="worst_depth", value=deepest.max(), unit="m", about="deepest below the floor"),
            Figure(name="added_depth", value=sunk.max(), unit="m", about="deepest beyond the source's own depth"),
            Figure(name="sunk_share", value=np.mean(deepest > limit), unit="share",
                   about=f"frames with a point deeper than {millimetres(limit)}"),
            Figure(name="mean_float", value=whole.mean(), unit="m", about="height of planted points above the floor"),
            Figure(name="worst_float", value=whole.max(), unit="m", about="greatest height of a planted point"),
            Figure(name="floating_share", value=float(np.mean(whole > limit)), unit="share",
                   about=f"planted frames higher than {millimetres(limit)}"),
        ]  # fmt: skip
        curve = np.full(take.result.num_frames, np.nan)
        for plant, high in zip(standing, floats, strict=True):
            curve[plant.frames] = np.fmax(curve[plant.frames], high)
        frame, point = np.unravel_index(int(np.argmax(added)), added.shape)
        words = (
            f"the body sinks {millimetres(deepest.max())} at worst, {percent(float(np.mean(deepest > limit)))} of the "
            f"frames beyond {millimetres(limit)}; planted points float {millimetres(whole.mean())} on average, "
            f"{millimetres(whole.max())} at worst"
        )
        known = take.source is not None or take.ground is not None
        if not known:
            words += " (against the level its own feet stand at: no source or floor is given)"
        curves = [Curve(name="depth", values=deepest, unit="m"), Curve(name="float", values=curve, unit="m")]
        worst = {"point": points[int(point)].name, "time": float(frame / take.result.fps)}
        return self.made(take, words, figures, curves, judged=None if known else (), worst=worst)

    @staticmethod
    def _above(take: Comparison, places: Array) -> Array:
        """(n,) metres: how high places (n, 3) are above the floor."""
        return places[:, 1] - take.floor.heights(places)

    def _watched(self, take: Comparison) -> tuple[list[Point], Array, list[Point | None]]:
        """Points that must not sink, how high above the floor each may be at least, and the source's of each."""
        lowest: dict[str, tuple[Point, float, Point | None]] = {}
        for plant in take.plants:
            if plant.level is not None and (take.source is not None or has_point(take.result.skeleton, plant.point)):
                before = lowest.get(plant.point.name, (plant.point, np.inf, None))[1]
                partner = plant.contact.point if take.source is not None else None
                lowest[plant.point.name] = (plant.point, min(before, plant.level), partner)
        if take.landing is not None:
            for point, depth in take.landing.soles:
                lowest.setdefault(point.name, (point, depth, None))
        elif take.alike:
            # The rest of the body must not sink either; where the source's own does, that much is allowed.
            base = min(level for _, level, _ in lowest.values())
            assert take.source is not None
            for name in [*take.result.skeleton.names, *(end.name for end in take.result.skeleton.ends)]:
                if name not in lowest and name in _names(take):
                    lowest[name] = (take.result.skeleton.point(name), base, take.source.skeleton.point(name))
        rows = list(lowest.values())
        return [row[0] for row in rows], np.array([row[1] for row in rows]), [row[2] for row in rows]

    def _source_depth(
        self, take: Comparison, points: list[Point], levels: Array, partners: list[Point | None]
    ) -> Array:
        """(F, P) metres on the result's body that the source's partners of points are in the floor themselves."""
        depth = np.zeros((take.result.num_frames, len(points)))
        known = [i for i, partner in enumerate(partners) if partner is not None]
        if take.shown_pose is not None and known:
            own_levels = np.array([self._source_level(take, i, points, levels) for i in known])
            own = heights(take.shown_pose, [p for p in partners if p is not None], take.floor)
            depth[:, known] = take.ratio * np.maximum(own_levels - own, 0.0)
        return depth

    @staticmethod
    def _source_level(take: Comparison, row: int, points: list[Point], levels: Array) -> float:
        """How high above the floor the source's partner of a point stands at its lowest."""
        own = [
            float(plant.contact.place[1] - take.floor.heights(plant.contact.place))
            for plant in take.plants
            if plant.point.name == points[row].name and plant.level is not None and plant.contact.place is not None
        ]
        return min(own, default=float(levels[row]) / take.ratio)


def _names(take: Comparison) -> set[str]:
    assert take.source is not None
    skeleton = take.source.skeleton
    return {*skeleton.names, *(end.name for end in skeleton.ends)}


METRIC = FloorContact()
