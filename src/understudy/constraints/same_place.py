"""A point stays in one place: a footplant whose position the solver chooses.

If a height is given, the point also keeps that height [Gleicher98, sec. 3.5, kind 4].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Residuals, Unit, repeat_frames

POINT_DERIVATIVES = np.eye(3)[:, None]
"""(3, 1, 3) derivatives of a point's coordinates by the point."""

ALL_AXES, HORIZONTAL_AXES = np.array([True, True, True]), np.array([True, False, True])


@dataclass(frozen=True, eq=False, kw_only=True)
class SamePlace(Constraint):
    """A point does not move over its frames."""

    kind: ClassVar[str] = "same_place"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointLike
    height: float | None = None
    """Metres: the height to keep. None: any height, as long as it stays the same."""

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.point)

    def rows(self, view: ConstraintInput) -> Residuals:
        return replace(self.measure(view), d_points=repeat_frames(POINT_DERIVATIVES, view))

    def constant(self) -> Array:
        return POINT_DERIVATIVES

    def measure(self, view: ConstraintInput) -> Residuals:
        if self.height is None:
            return Residuals(values=view.points[:, 0], same_as_previous=ALL_AXES)
        return Residuals(values=view.points[:, 0] - self._level, same_as_previous=HORIZONTAL_AXES)

    @cached
    def _level(self) -> Array:
        return np.array([0.0, self.height or 0.0, 0.0])

    def pull(self, view: ConstraintInput) -> Array | None:
        if self.height is None:
            return None
        out = np.full((len(view.times), 3), np.nan)
        out[:, 1] = self.height - view.points[:, 0, 1]
        return out

    @classmethod
    def example(cls, rng: np.random.Generator) -> SamePlace:
        return cls(point=PointRef(point="tip"), height=float(rng.normal()) if rng.random() < 0.5 else None)


CONSTRAINT = SamePlace
