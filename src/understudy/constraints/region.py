"""A point stays in a region: above the floor, inside or outside a half-space, box or sphere, which may move."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import cached, record
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

UP = np.array([0.0, 1.0, 0.0])

BOX_DERIVATIVES = np.concatenate([np.eye(3), -np.eye(3)])[:, None]
"""(6, 1, 3) derivatives, by the point, of how far it is beyond each side of a box."""

SHAPES = ("above", "half_space", "box", "sphere", "outside_sphere")


@record
class Region(Constraint):
    """A point stays in a region [Gleicher98, sec. 3.5, kind 3]."""

    kind: ClassVar[str] = "region"
    unit: ClassVar[Unit] = Unit.METRE
    yields: ClassVar[bool] = True

    point: PointLike
    shape: str = "above"
    """`above` a height (y of `centre`), in a `half_space` on the side of its `normal`, in a `box` or `sphere`, or
    `outside_sphere`."""
    centre: Array
    """(3,) metres, world: a point of the floor or plane, or the centre of the box or sphere; (T, 3) if it moves."""
    times: Array | None = None
    """(T,) seconds of a moving centre."""
    normal: Array | None = None
    """(3,) the normal of a half-space, towards the allowed side."""
    size: Array | None = None
    """(3,) metres: the edge lengths of a box; the first number is the radius of a sphere."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        if self.shape not in SHAPES:
            raise OptionError(f"{where}: expected a shape, one of {', '.join(SHAPES)}; got `{self.shape}`")
        if self.times is None and np.ndim(self.centre) < 2:
            object.__setattr__(self, "centre", self._check_vector(self.centre, "centre"))
        else:
            centres = self._check_values(self.centre, (3,), "centre")
            object.__setattr__(self, "centre", centres)
            object.__setattr__(self, "times", self._check_track_times(self.times, len(centres)))
        if self.shape == "half_space":
            normal = self._check_vector(self.normal, "normal")
            size = math.sqrt(normal @ normal)
            if size < 1e-12:
                raise OptionError(f"{where}: a half-space's normal must have a direction")
            object.__setattr__(self, "normal", normal / size)
        if self.shape in ("box", "sphere", "outside_sphere"):
            edges = self._check_vector(self.size, "size")
            if np.any(edges <= 0.0):
                raise OptionError(f"{where}: expected a size above zero, got {edges.tolist()}")
            object.__setattr__(self, "size", edges)

    @property
    def relation(self) -> Relation:
        return Relation.AT_MOST

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.point)

    def rows(self, view: ConstraintInput) -> Residuals:
        d_points = self.constant()
        if d_points is not None:
            return replace(self.measure(view), d_points=repeat_frames(d_points, view))
        away = view.points[:, 0] - self._centre(view)
        assert self.size is not None
        sign = 1.0 if self.shape == "sphere" else -1.0
        distance = np.maximum(np.linalg.norm(away, axis=-1, keepdims=True), 1e-12)
        return Residuals(values=sign * (distance - self.size[0]), d_points=sign * (away / distance)[:, None, None])

    def measure(self, view: ConstraintInput) -> Residuals:
        if self.shape in ("above", "half_space"):
            level = self._level if self.times is None else np.interp(view.times, self.times, self._level)[:, None]
            return Residuals(values=level - view.points[:, 0] @ self._up[:, None])
        if self.shape != "box":
            return self.rows(view)
        assert self.size is not None
        away, half = view.points[:, 0] - self._centre(view), 0.5 * self.size
        return Residuals(values=np.concatenate([away - half, -away - half], -1))

    def constant(self) -> Array | None:
        if self.shape in ("above", "half_space"):
            return -self._up[None, None]
        return BOX_DERIVATIVES if self.shape == "box" else None

    def _centre(self, view: ConstraintInput) -> Array:
        """(3,) or (N, 3) metres: the centre at the frames of the input."""
        return self.centre if self.times is None else interpolate(self.centre, self.times, view.times)

    @cached
    def _level(self) -> Array:
        """Metres, one number or (T,): the boundary of a floor or half-space along its normal."""
        return np.asarray(self.centre @ self._up)

    @cached
    def _up(self) -> Array:
        """(3,) the normal of a floor or half-space, towards the allowed side."""
        return UP if self.normal is None or self.shape == "above" else self.normal

    @classmethod
    def example(cls, rng: np.random.Generator) -> Region:
        moving = rng.random() < 0.5
        return cls(
            point=PointRef(point="tip"),
            shape=str(rng.choice(SHAPES)),
            centre=rng.normal(size=(4, 3) if moving else 3),
            times=np.cumsum(rng.uniform(0.01, 0.1, 4)) if moving else None,
            normal=rng.normal(size=3),
            size=rng.uniform(0.2, 1.0, 3),
        )


CONSTRAINT = Region
