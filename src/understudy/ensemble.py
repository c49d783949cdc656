"""Several bodies as one, and points on them: what a problem of several characters is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.coordinates import Body, Posture
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.kinematics import locate
from understudy.skeleton import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class Ensemble:
    """Several bodies as one: their coordinates stand one body after another."""

    bodies: tuple[Body, ...]

    def __post_init__(self) -> None:
        if len({body.motion.num_frames for body in self.bodies}) > 1 or len({b.motion.fps for b in self.bodies}) > 1:
            raise OptionError("Bodies that are moved together must have the same frames and rate")

    @property
    def num_coordinates(self) -> int:
        return sum(body.num_coordinates for body in self.bodies)

    def columns(self, which: int) -> slice:
        """Where a body's coordinates stand."""
        start = sum(body.num_coordinates for body in self.bodies[:which])
        return slice(start, start + self.bodies[which].num_coordinates)

    def displaced(self, d: Array) -> tuple[Posture, ...]:
        """Every body displaced by its part of coordinates d (F, D)."""
        return tuple(body.displaced(d[:, self.columns(i)]) for i, body in enumerate(self.bodies))

    def points(self, postures: Sequence[Posture], places: Places) -> Array:
        """(F, P, 3) world positions of points of any of the bodies."""
        if len(postures) == 1:
            return postures[0].points(places.joints, places.offsets)
        out = np.empty((len(postures[0].root), len(places.bodies), 3))
        for i, posture in enumerate(postures):
            mine = places.bodies == i
            out[:, mine] = posture.points(places.joints[mine], places.offsets[mine])
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Points of several bodies as arrays, found once and evaluated often."""

    bodies: np.ndarray
    """(P,) which body each point is on."""
    joints: np.ndarray
    """(P,) the joint it moves with."""
    offsets: Array
    """(P, 3) metres, in that joint's frame."""

    @staticmethod
    def of(ensemble: Ensemble, points: Iterable[tuple[int, Point | str]]) -> Places:
        """Places of points given as (body, point or name)."""
        pairs = list(points)
        found = [locate(ensemble.bodies[body].skeleton, [point]) for body, point in pairs]
        return Places(
            bodies=np.array([body for body, _ in pairs], dtype=np.intp),
            joints=np.array([joints[0] for joints, _ in found], dtype=np.intp),
            offsets=np.array([offsets[0] for _, offsets in found]).reshape(-1, 3),
        )
