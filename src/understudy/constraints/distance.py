"""Two points are a distance apart: the hands on a box of fixed size [Gleicher98, sec. 3.5, kind 6]."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.records import record
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Relation, Residuals, Unit

BOUNDS = ("equal", "at_least", "at_most")


@record
class Distance(Constraint):
    """Two points, of one actor or two, are a distance apart, at least or at most."""

    kind: ClassVar[str] = "distance"
    unit: ClassVar[Unit] = Unit.METRE

    first: PointLike
    second: PointLike
    length: float
    """Metres."""
    bound: str = "equal"
    """`equal` to the length, `at_least` or `at_most`."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        if self.bound not in BOUNDS:
            raise OptionError(f"{where}: expected a bound, one of {', '.join(BOUNDS)}; got `{self.bound}`")
        if not (np.isfinite(self.length) and self.length >= 0.0):
            raise OptionError(f"{where}: expected a distance of zero or more, got {self.length} m")
        if self.length == 0.0 and self.bound != "at_least":
            raise OptionError(f"{where}: a distance of zero has no direction", hint="use `attach` instead")

    @property
    def relation(self) -> Relation:
        return Relation.EQUAL if self.bound == "equal" else Relation.AT_MOST

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.first, self.second)

    def rows(self, view: ConstraintInput) -> Residuals:
        difference = view.points[:, 0] - view.points[:, 1]
        distance = np.linalg.norm(difference, axis=-1)
        # Points that coincide may separate in any direction; a fixed one lets a solver leave that position.
        away = np.where(distance[:, None] > 1e-9, difference / np.maximum(distance, 1e-9)[:, None], [0.0, 1.0, 0.0])
        sign = -1.0 if self.bound == "at_least" else 1.0
        d_points = sign * np.stack([away, -away], 1)[:, None]
        return Residuals(values=sign * (distance - self.length)[:, None], d_points=d_points)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Distance:
        second = PointRef(point="lower", actor="second") if rng.random() < 0.5 else PointRef(point="root")
        return cls(
            first=PointRef(point="tip"), second=second, length=rng.uniform(0.1, 2.0), bound=str(rng.choice(BOUNDS))
        )


CONSTRAINT = Distance
