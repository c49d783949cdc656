"""Parts of bodies do not pass through each other, the floor or fixed things.

A part is a capsule: all that is within a radius of the straight line between two points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, cross
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Relation,
    Residuals,
    Unit,
    as_refs,
    everywhere,
)

DOWN = np.array([[[0.0, -1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]])
"""(2, 2, 3) how the depths of a capsule's two ends below a floor change as the ends move."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Apart(Constraint):
    """A body's capsule keeps clear of another capsule, a fixed sphere or capsule, or the floor.

    Between lines that cross, the way out is across both. Parts that start deep inside each other are driven out on
    the side on which their lines already pass.
    """

    kind: ClassVar[str] = "apart"
    unit: ClassVar[Unit] = Unit.METRE

    part: tuple[PointLike, PointLike]
    """The ends of the capsule's line; the same point twice is a sphere."""
    radius: float
    """Metres."""
    other: tuple[PointLike, PointLike] | None = None
    """The ends of the other capsule, of the same actor or another."""
    fixed: Array | None = None
    """(2, 3) metres, world: the ends of a capsule that stays; (3,) for a sphere."""
    other_radius: float = 0.0
    """Metres: how thick the other capsule, or what is fixed, is."""
    floor: float | None = None
    """Metres: the height of the floor to stay above."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        if sum(given is not None for given in (self.other, self.fixed, self.floor)) != 1:
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
                raise OptionError(f"{where}: expected the finite ends (2, 3) of what is fixed, got {fixed.tolist()}")
            fixed.setflags(write=False)
            object.__setattr__(self, "fixed", fixed)

    @property
    def relation(self) -> Relation:
        return Relation.AT_MOST

    def point_refs(self) -> tuple[PointRef, ...]:
        return as_refs(*self.part, *(self.other or ()))

    def rows(self, view: ConstraintInput) -> Residuals:
        points = view.points
        if self.floor is not None:
            return Residuals(values=self.floor + self.radius - points[..., 1], d_points=everywhere(DOWN, view))
        ends = np.broadcast_to(self.fixed, (len(points), 2, 3)) if self.fixed is not None else points[:, 2:]
        share, other_share = nearest(points[:, 0], points[:, 1], ends[:, 0], ends[:, 1])
        weights = np.stack([1.0 - share, share, other_share - 1.0, -other_share], -1)
        every = np.concatenate([points[:, :2], ends], 1)
        apart = np.einsum("nk,nki->ni", weights, every)
        distance = np.linalg.norm(apart, axis=-1)
        away = np.where(distance[:, None] > 1e-9, apart / np.maximum(distance, 1e-9)[:, None], _way_out(every))
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


def nearest(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Shares (N,) along the lines a-b and c-d, each (N, 3), of the two places nearest to each other.

    They are inside both lines, or one of them is an end: the nearest of these five is the nearest of all.
    """
    first, second, gap = b - a, d - c, a - c
    along, across, both = _dot(first, first), _dot(second, second), _dot(first, second)
    on_first, on_second = _dot(first, gap), _dot(second, gap)
    area = along * across - both * both
    slanted = area > 1e-12 * along * across + 1e-300
    safe = np.where(slanted, area, 1.0)
    inner = np.where(slanted, (both * on_second - across * on_first) / safe, 0.0)
    other = np.where(slanted, (along * on_second - both * on_first) / safe, 0.0)
    zero, one = np.zeros_like(along), np.ones_like(along)
    pairs = [
        (np.clip(inner, 0.0, 1.0), np.clip(other, 0.0, 1.0)),
        (zero, _share(on_second, across)),
        (one, _share(on_second + both, across)),
        (_share(-on_first, along), zero),
        (_share(both - on_first, along), one),
    ]
    shares, others = np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])
    apart = gap + shares[..., None] * first - others[..., None] * second
    best = np.argmin(np.einsum("kni,kni->kn", apart, apart), axis=0)[None]
    return np.take_along_axis(shares, best, 0)[0], np.take_along_axis(others, best, 0)[0]


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("ni,ni->n", a, b)


def _share(along: Array, length: Array) -> Array:
    """A place's share of a line, held to its ends; zero on a line without length."""
    return np.clip(np.where(length > 1e-24, along / np.where(length > 1e-24, length, 1.0), 0.0), 0.0, 1.0)


def _way_out(ends: Array) -> Array:
    """(N, 3) a unit direction across two lines that cross, from the second's middle towards the first's."""
    normal = cross(ends[:, 1] - ends[:, 0], ends[:, 3] - ends[:, 2])
    between = ends[:, 0] + ends[:, 1] - ends[:, 2] - ends[:, 3]
    normal = np.where((_dot(normal, between) < 0.0)[:, None], -normal, normal)
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.where(size > 1e-12, normal / np.maximum(size, 1e-12), [0.0, 1.0, 0.0])


CONSTRAINT = Apart
