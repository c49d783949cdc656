"""Body parts do not pass through each other, the floor or fixed obstacles.

A part is a capsule: everything within a radius of the line segment between two points.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, cross
from understudy.base.records import record
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Relation,
    Residuals,
    Unit,
    repeat_frames,
)
from understudy.figure.surface import closest_points

DOWN = np.array([[[0.0, -1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]])
"""(2, 2, 3) derivatives of the depths of a capsule's two ends below a floor, by the two ends."""


@record
class Apart(Constraint):
    """A body's capsule keeps clear of another capsule, a fixed sphere or capsule, or the floor.

    Where the two line segments cross, the capsules separate at right angles to both. Capsules that start deep inside
    each other separate towards the side on which their segments already pass.
    """

    kind: ClassVar[str] = "apart"
    unit: ClassVar[Unit] = Unit.METRE

    part: tuple[PointLike, PointLike]
    """The ends of the capsule's segment; the same point twice makes a sphere."""
    radius: float
    """Metres."""
    other: tuple[PointLike, PointLike] | None = None
    """The ends of the other capsule, of the same actor or another."""
    fixed: Array | None = None
    """(2, 3) metres, world: the ends of a fixed capsule; (3,) the centre of a fixed sphere."""
    other_radius: float = 0.0
    """Metres: the radius of the other or fixed capsule."""
    floor: float | None = None
    """Metres: the height of the floor to stay above."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        if sum(obstacle is not None for obstacle in (self.other, self.fixed, self.floor)) != 1:
            raise OptionError(f"{where}: expected one thing to keep clear of: other, fixed or floor")
        for ends in (self.part, self.other):
            if ends is not None and len(ends) != 2:
                raise OptionError(f"{where}: expected the two ends of a capsule, got {len(ends)} points")
        for size in (self.radius, self.other_radius):
            if not (np.isfinite(size) and size >= 0.0):
                raise OptionError(f"{where}: expected a radius of zero or more, got {size} m")
        if self.floor is not None and not np.isfinite(self.floor):
            raise OptionError(f"{where}: expected the floor's height in metres, got {self.floor}")
        if self.fixed is not None:
            fixed = np.array(self.fixed, float)
            fixed = np.stack([fixed, fixed]) if fixed.shape == (3,) else fixed
            if fixed.shape != (2, 3) or not np.all(np.isfinite(fixed)):
                raise OptionError(f"{where}: expected the finite ends (2, 3) of a fixed capsule, got {fixed.tolist()}")
            fixed.setflags(write=False)
            object.__setattr__(self, "fixed", fixed)

    @property
    def relation(self) -> Relation:
        return Relation.AT_MOST

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(*self.part, *(self.other or ()))

    def rows(self, view: ConstraintInput) -> Residuals:
        points = view.points
        if self.floor is not None:
            return Residuals(values=self.floor + self.radius - points[..., 1], d_points=repeat_frames(DOWN, view))
        ends = np.broadcast_to(self.fixed, (len(points), 2, 3)) if self.fixed is not None else points[:, 2:]
        share, other_share = closest_points(points[:, 0], points[:, 1], ends[:, 0], ends[:, 1])
        weights = np.stack([1.0 - share, share, other_share - 1.0, -other_share], -1)
        all_ends = np.concatenate([points[:, :2], ends], 1)
        gap = np.einsum("nk,nki->ni", weights, all_ends)
        distance = np.linalg.norm(gap, axis=-1)
        away = np.where(distance[:, None] > 1e-9, gap / np.maximum(distance, 1e-9)[:, None], _common_normal(all_ends))
        values = self.radius + self.other_radius - distance
        d_points = -weights[:, : points.shape[1], None] * away[:, None]
        return Residuals(values=values[:, None], d_points=d_points[:, None])

    def constant(self) -> Array | None:
        return None if self.floor is None else DOWN

    @classmethod
    def example(cls, rng: np.random.Generator) -> Apart:
        part = (PointRef(point="lower"), PointRef(point="tip"))
        which, radii = int(rng.integers(4)), rng.uniform(0.05, 0.5, 2)
        if which == 0:
            return cls(part=part, radius=radii[0], floor=rng.normal())
        if which == 1:
            fixed = rng.normal(size=(2, 3) if rng.random() < 0.5 else 3)
            return cls(part=part, radius=radii[0], fixed=fixed, other_radius=radii[1])
        actor = "second" if which == 2 else ""
        other = (PointRef(point="root", actor=actor), PointRef(point="upper", actor=actor))
        return cls(part=part, radius=radii[0], other=other, other_radius=radii[1])


def _common_normal(ends: Array) -> Array:
    """(N, 3) unit normal of two crossing segments, pointing from the middle of the second to that of the first."""
    normal = cross(ends[:, 1] - ends[:, 0], ends[:, 3] - ends[:, 2])
    between = ends[:, 0] + ends[:, 1] - ends[:, 2] - ends[:, 3]
    normal = np.where((np.einsum("ni,ni->n", normal, between) < 0.0)[:, None], -normal, normal)
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.where(size > 1e-12, normal / np.maximum(size, 1e-12), [0.0, 1.0, 0.0])


CONSTRAINT = Apart
