"""The vector between two points keeps a direction [Gleicher98, sec. 3.5, kind 7].

Two points of one joint make this a constraint on the joint's orientation: a palm that faces up, a head held level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Residuals, Unit, as_refs
from understudy.constraints.tilt import across, tilt
from understudy.constraints.track import check_clock, check_values, read


@dataclass(frozen=True, eq=False, kw_only=True)
class Direction(Constraint):
    """The vector from one point to another points along a world direction, or keeps an angle to it.

    The rows are angles. Pointing the opposite way is half a turn off, not satisfied.
    """

    kind: ClassVar[str] = "direction"
    unit: ClassVar[Unit] = Unit.RADIAN

    tail: PointLike
    head: PointLike
    direction: Array
    """(3,) world, or (T, 3) for one that changes."""
    times: Array | None = None
    """(T,) seconds of directions that change; between them they are blended, outside them held."""
    angle: float | None = None
    """Radians, if only the angle to the direction is kept: a quarter turn from straight up is a foot that stays level.
    None: the direction itself."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        found = check_values(self.direction, (3,), f"{where}: direction")
        sizes = np.linalg.norm(found, axis=-1, keepdims=True)
        if np.any(sizes < 1e-12):
            raise OptionError(f"{where}: a direction must not be zero")
        found = found / sizes
        if np.any(np.einsum("ti,ti->t", found[1:], found[:-1]) < -0.9):
            raise OptionError(f"{where}: neighbouring directions are nearly opposite; say which way it turns between")
        found.setflags(write=False)
        object.__setattr__(self, "direction", found)
        if self.times is not None or len(found) > 1:
            object.__setattr__(self, "times", check_clock(self.times, len(found), where))
        if self.angle is not None and not 0.0 < self.angle < np.pi:
            raise OptionError(
                f"{where}: expected an angle between zero and half a turn, got {self.angle}",
                hint="leave `angle` out to point along the direction itself",
            )

    def point_refs(self) -> tuple[PointRef, ...]:
        return as_refs(self.tail, self.head)

    def rows(self, view: ConstraintInput) -> Residuals:
        vector = view.points[:, 1] - view.points[:, 0]
        length = np.linalg.norm(vector, axis=-1)
        # Points that meet point nowhere: counted as pointing up, with a derivative that stays finite.
        unit = np.where(length[:, None] > 1e-9, vector / np.maximum(length, 1e-9)[:, None], [0.0, 1.0, 0.0])
        goal = read(self.direction, np.zeros(1) if self.times is None else self.times, view.times)
        goal = goal / np.linalg.norm(goal, axis=-1, keepdims=True)
        values, by_unit = tilt(unit, goal, across(goal))
        if self.angle is not None:
            whole = np.linalg.norm(values, axis=-1)
            share = np.where(whole[:, None] > 1e-12, values / np.maximum(whole, 1e-12)[:, None], [1.0, 0.0])
            by_unit = np.einsum("nk,nki->ni", share, by_unit)[:, None]
            values = (whole - self.angle)[:, None]
        by_vector = by_unit - np.einsum("nri,ni->nr", by_unit, unit)[..., None] * unit[:, None]
        by_vector = by_vector / np.maximum(length, 1e-6)[:, None, None]
        return Residuals(values=values, d_points=np.stack([-by_vector, by_vector], 2))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Direction:
        tail = PointRef(point="root", actor="second") if rng.random() < 0.3 else PointRef(point="lower")
        angle = rng.uniform(0.2, 2.5) if rng.random() < 0.5 else None
        if rng.random() < 0.5:
            return cls(tail=tail, head=PointRef(point="tip"), direction=rng.normal(size=3), angle=angle)
        turning = np.array([1.0, 0.5, 0.2]) + 0.3 * rng.normal(size=(3, 3))
        times = np.cumsum(rng.uniform(0.01, 0.1, 3))
        return cls(tail=tail, head=PointRef(point="tip"), direction=turning, times=times, angle=angle)


CONSTRAINT = Direction
