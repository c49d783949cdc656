"""The floor: how deep a body sinks into it, and how far planted feet float above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import Pose
from understudy.figure.skeleton import Point
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison, has_point, tracks

MAX_DEPTH_METRES = 0.005
"""Depth below the floor, in metres on an adult body, from which a point counts as sunk."""

DEPTH_SOURCE = "house rule: 5 mm below the floor count, as is usual in motion imitation; 2 cm is a sole's thickness"


def heights(pose: Pose, points: Sequence[Point], floor: Floor) -> Array:
    """(F, P) metres of points above the floor."""
    places = pose.points(points)
    return places[..., 1] - floor.heights(places)


@record(eq=True)
class FloorContact(Metric):
    """Depth of points below their standing height at every frame; height above it while they are planted."""

    name: ClassVar[str] = "floor"
    title: ClassVar[str] = "floor"
    remedy: ClassVar[str] = (
        "a floor at another height than the contacts tell may be meant (--floor here, floor = false in a recipe); "
        "closer keys keep feet nearer to it (--spacing 2f)"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_depth", noticeable=MAX_DEPTH_METRES, bad=0.02, source=DEPTH_SOURCE, metres=True),
        Grade(figure="mean_float", noticeable=MAX_DEPTH_METRES, bad=0.02, source=DEPTH_SOURCE, metres=True),
    )

    def measure(self, case: Comparison) -> Measurement:
        standing = [plant for plant in case.plants if plant.level is not None]
        if not standing:
            return self.not_measured("nothing stands on a floor")
        points, levels, partners = self._watched(case)
        if not points:
            return self.not_measured("the feet have no joints or ends that stand on a floor")
        depth = np.maximum(levels - heights(case.pose, points, case.floor), 0.0)
        added = np.maximum(depth - self._source_depth(case, points, levels, partners), 0.0)
        paths = tracks(case.pose, (plant.point for plant in standing))
        floats = [
            np.maximum(self._above(case, paths[p.point.name][p.frames]) - (p.level or 0.0), 0.0) for p in standing
        ]
        deepest, sunk = depth.max(axis=1), added.max(axis=1)
        limit = MAX_DEPTH_METRES * case.size
        lifts = np.concatenate(floats)
        figures = [
            Figure(name="worst_depth", value=deepest.max(), unit="m", about="deepest below the floor"),
            Figure(name="added_depth", value=sunk.max(), unit="m", about="deepest beyond the source's own depth"),
            Figure(name="sunk_share", value=np.mean(deepest > limit), unit="share",
                   about=f"frames with a point deeper than {millimetres(limit)}"),
            Figure(name="mean_float", value=lifts.mean(), unit="m", about="height of planted points above the floor"),
            Figure(name="worst_float", value=lifts.max(), unit="m", about="greatest height of a planted point"),
            Figure(name="floating_share", value=float(np.mean(lifts > limit)), unit="share",
                   about=f"planted frames higher than {millimetres(limit)}"),
        ]  # fmt: skip
        float_curve = np.full(case.result.num_frames, np.nan)
        for plant, lift in zip(standing, floats, strict=True):
            float_curve[plant.frames] = np.fmax(float_curve[plant.frames], lift)
        frame, point = np.unravel_index(int(np.argmax(added)), added.shape)
        words = (
            f"the body sinks {millimetres(deepest.max())} at worst, {percent(float(np.mean(deepest > limit)))} of the "
            f"frames beyond {millimetres(limit)}; planted points float {millimetres(lifts.mean())} on average, "
            f"{millimetres(lifts.max())} at worst"
        )
        has_reference = case.source is not None or case.floor_height is not None
        if not has_reference:
            words += " (against the level its own feet stand at: no source or floor is given)"
        curves = [Curve(name="depth", values=deepest, unit="m"), Curve(name="float", values=float_curve, unit="m")]
        worst = {"point": points[int(point)].name, "time": float(frame / case.result.fps)}
        return self.measurement(case, words, figures, curves, judged=None if has_reference else (), worst=worst)

    @staticmethod
    def _above(case: Comparison, places: Array) -> Array:
        """(n,) metres of places (n, 3) above the floor."""
        return places[:, 1] - case.floor.heights(places)

    def _watched(self, case: Comparison) -> tuple[list[Point], Array, list[Point | None]]:
        """Points that must not sink, their lowest allowed heights, and their partners on the source."""
        watched: dict[str, tuple[Point, float, Point | None]] = {}
        for plant in case.plants:
            if plant.level is not None and (case.source is not None or has_point(case.result.skeleton, plant.point)):
                level = watched.get(plant.point.name, (plant.point, np.inf, None))[1]
                partner = plant.contact.point if case.source is not None else None
                watched[plant.point.name] = (plant.point, min(level, plant.level), partner)
        if case.landing is not None:
            for point, depth in case.landing.soles:
                watched.setdefault(point.name, (point, depth, None))
        elif case.same_structure:
            # The rest of the body must not sink either, except as far as the source's does.
            base = min(level for _, level, _ in watched.values())
            assert case.source is not None
            for name in [*case.result.skeleton.names, *(end.name for end in case.result.skeleton.ends)]:
                if name not in watched and name in _source_names(case):
                    watched[name] = (case.result.skeleton.point(name), base, case.source.skeleton.point(name))
        rows = list(watched.values())
        return [row[0] for row in rows], np.array([row[1] for row in rows]), [row[2] for row in rows]

    def _source_depth(
        self, case: Comparison, points: list[Point], levels: Array, partners: list[Point | None]
    ) -> Array:
        """(F, P) metres, scaled to the result, that the source's partners of points are in the floor."""
        depth = np.zeros((case.result.num_frames, len(points)))
        columns = [i for i, partner in enumerate(partners) if partner is not None]
        if case.source_pose is not None and columns:
            source_levels = np.array([self._source_level(case, i, points, levels) for i in columns])
            source_heights = heights(case.source_pose, [p for p in partners if p is not None], case.floor)
            depth[:, columns] = case.ratio * np.maximum(source_levels - source_heights, 0.0)
        return depth

    @staticmethod
    def _source_level(case: Comparison, row: int, points: list[Point], levels: Array) -> float:
        """Lowest standing height above the floor of the source's partner of a point."""
        source_heights = [
            float(plant.contact.place[1] - case.floor.heights(plant.contact.place))
            for plant in case.plants
            if plant.point.name == points[row].name and plant.level is not None and plant.contact.place is not None
        ]
        return min(source_heights, default=float(levels[row]) / case.ratio)


def _source_names(case: Comparison) -> set[str]:
    assert case.source is not None
    skeleton = case.source.skeleton
    return {*skeleton.names, *(end.name for end in skeleton.ends)}


METRIC = FloorContact()
