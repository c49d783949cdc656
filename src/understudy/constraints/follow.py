"""A point follows the path of another point or a fixed path [Gleicher98, sec. 3.5, kind 5]."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Relation,
    Residuals,
    Unit,
    interpolate,
    repeat_frames,
)


@record
class Follow(Constraint):
    """A point coincides with another point or a path at all times, or stays within a distance of it."""

    kind: ClassVar[str] = "follow"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointLike
    target: PointLike | None = None
    """The point followed, of the same actor or another."""
    path: Array | None = None
    """(T, 3) metres, world: the path followed, if not that of a point."""
    times: Array | None = None
    """(T,) seconds of the path and of the allowed distances: interpolated linearly, constant outside."""
    offset: Array = field(default_factory=lambda: np.zeros(3))
    """(3,) metres, world: the offset of the point from what it follows."""
    axes: str = "xyz"
    """The axes that are constrained."""
    within: Array | None = None
    """Metres, one number or (T,): the largest distance allowed. None: the point must be exactly there."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        if (self.target is None) == (self.path is None):
            raise OptionError(f"{where}: expected either a target point or a path to follow")
        if not self.axes or set(self.axes) - set("xyz"):
            raise OptionError(f"{where}: expected axes out of `xyz`, got `{self.axes}`")
        lengths = []
        if self.path is not None:
            path = self._check_values(self.path, (3,), "path")
            object.__setattr__(self, "path", path)
            lengths.append(len(path))
        if self.within is not None:
            within = self._check_values(self.within, (), "distance allowed")
            if np.any(within < 0.0):
                raise OptionError(f"{where}: expected a distance allowed of zero or more, got {within.min():g} m")
            object.__setattr__(self, "within", within)
            lengths.append(len(within))
        if self.times is not None or max(lengths, default=1) > 1:
            count = max(lengths, default=1)
            if any(n not in (1, count) for n in lengths):
                raise OptionError(f"{where}: a path of {lengths[0]} points cannot have {lengths[1]} distances")
            object.__setattr__(self, "times", self._check_track_times(self.times, count))
        object.__setattr__(self, "offset", self._check_vector(self.offset, "offset"))

    @property
    def relation(self) -> Relation:
        return Relation.EQUAL if self.within is None else Relation.AT_MOST

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.point) if self.target is None else self.refs(self.point, self.target)

    def rows(self, view: ConstraintInput) -> Residuals:
        axes = ["xyz".index(axis) for axis in self.axes]
        times = np.zeros(1) if self.times is None else self.times
        goal = view.points[:, -1] if self.path is None else interpolate(self.path, times, view.times)
        away = (view.points[:, 0] - goal - self.offset)[:, axes]
        d_points = self.constant()
        if d_points is not None:
            return Residuals(values=away, d_points=repeat_frames(d_points, view))
        assert self.within is not None
        distance = np.linalg.norm(away, axis=-1)
        unit = np.zeros((len(away), 3))
        unit[:, axes] = away / np.maximum(distance, 1e-12)[:, None]
        values = distance - interpolate(self.within, times, view.times)
        return Residuals(values=values[:, None], d_points=(unit[:, None] * self._signs)[:, None])

    def constant(self) -> Array | None:
        axes = ["xyz".index(axis) for axis in self.axes]
        return np.eye(3)[axes][:, None] * self._signs if self.within is None else None

    def goal(self, view: ConstraintInput) -> Array | None:
        if self.path is None or self.within is not None:
            return None
        times = np.zeros(1) if self.times is None else self.times
        free_axes = np.array([0.0 if axis in self.axes else np.nan for axis in "xyz"])
        return interpolate(self.path, times, view.times) + self.offset + free_axes

    @property
    def _signs(self) -> Array:
        """(P, 1) the sign of each point in the difference."""
        return np.array([[1.0]] if self.target is None else [[1.0], [-1.0]])

    @classmethod
    def example(cls, rng: np.random.Generator) -> Follow:
        axes = str(rng.choice(["xyz", "xz"]))
        times = np.cumsum(rng.uniform(0.01, 0.1, 4))
        within = (None, rng.uniform(0.0, 0.5, ()), rng.uniform(0.0, 0.5, 4))[rng.integers(3)]
        ref, offset = PointRef(point="tip"), rng.normal(size=3)
        if rng.random() < 0.5:
            target = PointRef(point="lower", actor="second")
            clock = times if within is not None and within.ndim else None
            return cls(point=ref, target=target, times=clock, offset=offset, within=within)
        return cls(point=ref, path=rng.normal(size=(4, 3)), times=times, offset=offset, axes=axes, within=within)


CONSTRAINT = Follow
