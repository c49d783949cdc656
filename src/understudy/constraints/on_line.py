"""A point slides along a line: a hand on a rail, a foot on a rung [Gleicher98, sec. 7, the ladder]."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, perpendicular_pair
from understudy.base.records import record
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Residuals, Unit


@record
class OnLine(Constraint):
    """A point is anywhere on the straight line between two positions.

    The first two residuals are its distances perpendicular to the line. The third is how far it is beyond an end, and
    exactly zero between the ends. Together they lead to the nearest point of the line, so all three are equalities.
    """

    kind: ClassVar[str] = "on_line"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointLike
    first: Array
    """(3,) metres, world: one end."""
    last: Array
    """(3,) metres, world: the other end."""
    endless: bool = False
    """Whether the point may slide beyond the ends."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        object.__setattr__(self, "first", self._check_vector(self.first, "first end"))
        object.__setattr__(self, "last", self._check_vector(self.last, "last end"))
        if np.linalg.norm(self.last - self.first) < 1e-9:
            raise OptionError(f"{where}: the ends of a line must differ", hint="use `place` for a single position")

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.point)

    def rows(self, view: ConstraintInput) -> Residuals:
        away = view.points[:, 0] - self.first
        length = float(np.linalg.norm(self.last - self.first))
        along = (self.last - self.first) / length
        pair = perpendicular_pair(along)
        values, d_points = away @ pair.T, np.broadcast_to(pair, (len(away), 2, 3))
        if not self.endless:
            travel = away @ along
            beyond = travel - np.clip(travel, 0.0, length)
            values = np.concatenate([values, beyond[:, None]], -1)
            d_points = np.concatenate([d_points, np.where(beyond[:, None] != 0.0, along, 0.0)[:, None]], 1)
        return Residuals(values=values, d_points=d_points[:, :, None])

    @classmethod
    def example(cls, rng: np.random.Generator) -> OnLine:
        return cls(
            point=PointRef(point="tip"),
            first=rng.normal(size=3),
            last=rng.normal(size=3),
            endless=bool(rng.random() < 0.3),
        )


CONSTRAINT = OnLine
