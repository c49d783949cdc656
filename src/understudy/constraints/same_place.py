"""A point stays in one place, not said which, over its frames: a footplant that the solver may put where it likes.

With a height it also keeps that height [Gleicher98, sec. 3.5, kind 4].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import remembered
from understudy.constraints.base import Constraint, Rows, Spot, View, everywhere

EACH = np.eye(3)[:, None]
"""(3, 1, 3) derivatives of a point's three coordinates."""

ANYWHERE, AT_HEIGHT = np.array([True, True, True]), np.array([True, False, True])


@dataclass(frozen=True, eq=False, kw_only=True)
class SamePlace(Constraint):
    """A point does not move over its frames."""

    kind: ClassVar[str] = "same_place"

    spot: Spot
    height: float | None = None
    """Metres: the height to keep, if that is known; otherwise any, as long as it stays."""

    def spots(self) -> tuple[Spot, ...]:
        return (self.spot,)

    def rows(self, view: View) -> Rows:
        return replace(self.measure(view), by_points=everywhere(EACH, view))

    def constant(self) -> Array:
        return EACH

    def measure(self, view: View) -> Rows:
        if self.height is None:
            return Rows(values=view.points[:, 0], linked=ANYWHERE)
        return Rows(values=view.points[:, 0] - self._level, linked=AT_HEIGHT)

    @remembered
    def _level(self) -> Array:
        return np.array([0.0, self.height or 0.0, 0.0])

    def pull(self, view: View) -> Array | None:
        if self.height is None:
            return None
        out = np.full((len(view.times), 3), np.nan)
        out[:, 1] = self.height - view.points[:, 0, 1]
        return out

    @classmethod
    def example(cls, rng: np.random.Generator) -> SamePlace:
        return cls(spot=Spot(point="tip"), height=float(rng.normal()) if rng.random() < 0.5 else None)


CONSTRAINT = SamePlace
