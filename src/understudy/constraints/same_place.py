"""A point stays in one place, not said which, over its frames: a footplant that the solver may put where it likes.

With a height it also keeps that height [Gleicher98, sec. 3.5, kind 4].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.constraints.base import Constraint, Rows, Spot, View
from understudy.geometry.quaternion import Array


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
        values = view.points[:, 0].copy()
        linked = np.ones(3, bool)
        if self.height is not None:
            values[:, 1] -= self.height
            linked[1] = False
        by_points = np.broadcast_to(np.eye(3)[:, None], (len(values), 3, 1, 3))
        return Rows(values=values, by_points=by_points, linked=linked)

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
