"""A point is at a fixed position [Gleicher98, sec. 3.5, kind 2]."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Residuals, Unit, repeat_frames


@record
class Place(Constraint):
    """A point is at a position in the world, along all axes or some."""

    kind: ClassVar[str] = "place"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointLike
    target: Array
    """(3,) metres, world."""
    axes: str = "xyz"
    """The axes that are constrained: "xz" leaves the height free."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", self._check_vector(self.target, "target"))
        if not self.axes or set(self.axes) - set("xyz"):
            raise OptionError(f"Constraint `{self.label}`: expected axes out of `xyz`, got `{self.axes}`")

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.point)

    def rows(self, view: ConstraintInput) -> Residuals:
        return replace(self.measure(view), d_points=repeat_frames(self.constant(), view))

    def measure(self, view: ConstraintInput) -> Residuals:
        away = view.points[:, 0] - self.target
        return Residuals(values=away if self.axes == "xyz" else away[:, self._axis_indices])

    def constant(self) -> Array:
        return np.eye(3)[self._axis_indices][:, None]

    @property
    def _axis_indices(self) -> list[int]:
        return ["xyz".index(axis) for axis in self.axes]

    def pull(self, view: ConstraintInput) -> Array:
        free_axes = np.array([0.0 if axis in self.axes else np.nan for axis in "xyz"])
        return self.target - view.points[:, 0] + free_axes

    def goal(self, view: ConstraintInput) -> Array:
        return view.points[:, 0] + self.pull(view)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Place:
        return cls(point=PointRef(point="tip"), target=rng.normal(size=3), axes=str(rng.choice(["xyz", "xz", "y"])))


CONSTRAINT = Place
