"""A point stays in one place, not said which, over its frames: a footplant that the solver may put where it likes.

With a height it also keeps that height [Gleicher98, sec. 3.5, kind 4].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Residuals,
    Unit,
    as_refs,
    everywhere,
)

EACH = np.eye(3)[:, None]
"""(3, 1, 3) derivatives of a point's three coordinates."""

ANYWHERE, AT_HEIGHT = np.array([True, True, True]), np.array([True, False, True])


@dataclass(frozen=True, eq=False, kw_only=True)
class SamePlace(Constraint):
    """A point does not move over its frames."""

    kind: ClassVar[str] = "same_place"
    unit: ClassVar[Unit] = Unit.METRE

    spot: PointLike
    height: float | None = None
    """Metres: the height to keep, if that is known; otherwise any, as long as it stays."""

    def point_refs(self) -> tuple[PointRef, ...]:
        return as_refs(self.spot)

    def rows(self, view: ConstraintInput) -> Residuals:
        return replace(self.measure(view), d_points=everywhere(EACH, view))

    def constant(self) -> Array:
        return EACH

    def measure(self, view: ConstraintInput) -> Residuals:
        if self.height is None:
            return Residuals(values=view.points[:, 0], same_as_previous=ANYWHERE)
        return Residuals(values=view.points[:, 0] - self._level, same_as_previous=AT_HEIGHT)

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
        return cls(spot=PointRef(point="tip"), height=float(rng.normal()) if rng.random() < 0.5 else None)


CONSTRAINT = SamePlace
