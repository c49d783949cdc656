"""The vector between two points keeps a direction [Gleicher98, sec. 3.5, kind 7].

Two points of one joint make this a constraint on the joint's orientation: a palm that faces up, a head held level.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, perpendicular_pair
from understudy.base.records import record
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Residuals,
    Unit,
    interpolate,
    tilt,
)


@record
class Direction(Constraint):
    """The vector from one point to another points along a world direction, or keeps an angle to it.

    The residuals are angles. Pointing the opposite way is a violation of half a turn.
    """

    kind: ClassVar[str] = "direction"
    unit: ClassVar[Unit] = Unit.RADIAN

    tail: PointLike
    head: PointLike
    direction: Array
    """(3,) world, or (T, 3) if it changes over time."""
    times: Array | None = None
    """(T,) seconds of directions that change: interpolated between these times, constant outside them."""
    angle: float | None = None
    """Radians: the angle to keep to the direction; a quarter turn from straight up keeps a foot level. None keeps the
    direction itself."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        directions = self._check_values(self.direction, (3,), "direction")
        sizes = np.linalg.norm(directions, axis=-1, keepdims=True)
        if np.any(sizes < 1e-12):
            raise OptionError(f"{where}: a direction must not be zero")
        directions = directions / sizes
        if np.any(np.einsum("ti,ti->t", directions[1:], directions[:-1]) < -0.9):
            raise OptionError(f"{where}: neighbouring directions are nearly opposite; add a direction between them")
        directions.setflags(write=False)
        object.__setattr__(self, "direction", directions)
        if self.times is not None or len(directions) > 1:
            object.__setattr__(self, "times", self._check_track_times(self.times, len(directions)))
        if self.angle is not None and not 0.0 < self.angle < np.pi:
            raise OptionError(
                f"{where}: expected an angle between zero and half a turn, got {self.angle}",
                hint="leave `angle` out to point along the direction itself",
            )

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.tail, self.head)

    def rows(self, view: ConstraintInput) -> Residuals:
        vector = view.points[:, 1] - view.points[:, 0]
        length = np.linalg.norm(vector, axis=-1)
        # Points that coincide have no direction: they count as pointing up, with a finite derivative.
        unit = np.where(length[:, None] > 1e-9, vector / np.maximum(length, 1e-9)[:, None], [0.0, 1.0, 0.0])
        goal = interpolate(self.direction, np.zeros(1) if self.times is None else self.times, view.times)
        goal = goal / np.linalg.norm(goal, axis=-1, keepdims=True)
        values, d_unit = tilt(unit, goal, perpendicular_pair(goal))
        if self.angle is not None:
            angle = np.linalg.norm(values, axis=-1)
            unit_values = np.where(angle[:, None] > 1e-12, values / np.maximum(angle, 1e-12)[:, None], [1.0, 0.0])
            d_unit = np.einsum("nk,nki->ni", unit_values, d_unit)[:, None]
            values = (angle - self.angle)[:, None]
        d_vector = d_unit - np.einsum("nri,ni->nr", d_unit, unit)[..., None] * unit[:, None]
        d_vector = d_vector / np.maximum(length, 1e-6)[:, None, None]
        return Residuals(values=values, d_points=np.stack([-d_vector, d_vector], 2))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Direction:
        tail = PointRef(point="root", actor="second") if rng.random() < 0.3 else PointRef(point="lower")
        angle = rng.uniform(0.2, 2.5) if rng.random() < 0.5 else None
        if rng.random() < 0.5:
            return cls(tail=tail, head=PointRef(point="tip"), direction=rng.normal(size=3), angle=angle)
        directions = np.array([1.0, 0.5, 0.2]) + 0.3 * rng.normal(size=(3, 3))
        times = np.cumsum(rng.uniform(0.01, 0.1, 3))
        return cls(tail=tail, head=PointRef(point="tip"), direction=directions, times=times, angle=angle)


CONSTRAINT = Direction
