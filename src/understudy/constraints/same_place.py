"""A point stays in one place: a footplant whose position the solver chooses.

If a height is given, the point also keeps that height [Gleicher98, sec. 3.5, kind 4]. With a drift, the point moves by
a given path about its place: a foot that rolls or settles does so as the source's foot does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Residuals,
    Unit,
    interpolate,
    repeat_frames,
)

POINT_DERIVATIVES = np.eye(3)[:, None]
"""(3, 1, 3) derivatives of a point's coordinates by the point."""

NO_DRIFT = np.zeros(3)

ALL_AXES, HORIZONTAL_AXES = np.array([True, True, True]), np.array([True, False, True])


@record
class SamePlace(Constraint):
    """A point does not move over its frames, or moves by a drift only."""

    kind: ClassVar[str] = "same_place"
    unit: ClassVar[Unit] = Unit.METRE
    yields: ClassVar[bool] = True

    point: PointLike
    height: float | None = None
    """Metres: the height to keep. None: any height, as long as it stays the same."""
    drift: Array | None = None
    """(T, 3) metres, world: the path of the point about its place."""
    times: Array | None = None
    """(T,) seconds of the drift, which is interpolated linearly."""

    def __post_init__(self) -> None:
        if self.drift is not None:
            object.__setattr__(self, "drift", self._check_values(self.drift, (3,), "drift"))
            object.__setattr__(self, "times", self._check_track_times(self.times, len(self.drift)))

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.point)

    def rows(self, view: ConstraintInput) -> Residuals:
        return replace(self.measure(view), d_points=repeat_frames(POINT_DERIVATIVES, view))

    def constant(self) -> Array:
        return POINT_DERIVATIVES

    def measure(self, view: ConstraintInput) -> Residuals:
        places = view.points[:, 0] if self.drift is None else view.points[:, 0] - self._drift(view)
        if self.height is None:
            return Residuals(values=places, same_as_previous=ALL_AXES)
        return Residuals(values=places - self._level, same_as_previous=HORIZONTAL_AXES)

    def _drift(self, view: ConstraintInput) -> Array:
        if self.drift is None or self.times is None:
            return NO_DRIFT
        if len(view.times) == len(self.times) and view.times[0] == self.times[0] and view.times[-1] == self.times[-1]:
            return self.drift
        return interpolate(self.drift, self.times, view.times)

    @cached
    def _level(self) -> Array:
        return np.array([0.0, self.height or 0.0, 0.0])

    def pull(self, view: ConstraintInput) -> Array | None:
        if self.height is None:
            return None
        out = np.full((len(view.times), 3), np.nan)
        out[:, 1] = self.height - (view.points[:, 0] - self._drift(view))[:, 1]
        return out

    def goal(self, view: ConstraintInput) -> Array:
        drift = self._drift(view)
        place = (view.points[:, 0] - drift).mean(axis=0)
        if self.height is not None:
            place[1] = self.height
        return np.broadcast_to(place + drift, (len(view.times), 3))

    def chosen_axes(self) -> np.ndarray:
        return np.array([True, self.height is None, True])

    @classmethod
    def example(cls, rng: np.random.Generator) -> SamePlace:
        height = float(rng.normal()) if rng.random() < 0.5 else None
        if rng.random() < 0.5:
            return cls(point=PointRef(point="tip"), height=height)
        times = np.cumsum(rng.uniform(0.01, 0.1, 4))
        return cls(point=PointRef(point="tip"), height=height, drift=rng.normal(size=(4, 3)), times=times)


CONSTRAINT = SamePlace
