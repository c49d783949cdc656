"""The body's centre of mass stays over what it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Relation,
    Residuals,
    Unit,
    as_refs,
)
from understudy.figure.mass import masses
from understudy.figure.skeleton import Point, Skeleton

FLAT = [0, 2]
"""The two level axes."""

NO_EDGE = -1.0
"""Metres: what the row of a point inside the support reads, where no edge of it begins."""

COMPASS = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], -1)
"""Eight level directions, which bound a support that is a line or a single point."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Balance(Constraint):
    """The centre of mass, seen from above, is inside the support.

    The support is the space between the outermost of some places: fixed ones, or points of the body where they
    are at each frame. It is a static balance: right for slow motion, too strict for a run or a jump.
    """

    kind: ClassVar[str] = "balance"
    unit: ClassVar[Unit] = Unit.METRE

    masses: tuple[PointLike, ...]
    """The points that the mass is taken to be at."""
    shares: Array
    """(S,) share of the mass at each; they sum to one."""
    support: Array | None = None
    """(K, 2) metres, world x and z: places on the ground that the support is between, at least three."""
    feet: tuple[PointLike, ...] = ()
    """Points of the body that the support is between, in place of fixed places."""
    margin: float = 0.0
    """Metres that the centre stays inside the support's edge; below zero it may be that far outside."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        object.__setattr__(self, "masses", tuple(self.masses))
        object.__setattr__(self, "feet", tuple(self.feet))
        shares = np.array(self.shares, float)
        if shares.shape != (len(self.masses),) or not np.all(np.isfinite(shares)) or np.any(shares < 0.0):
            raise OptionError(f"{where}: expected {len(self.masses)} shares of mass of zero or more")
        if abs(shares.sum() - 1.0) > 1e-6:
            raise OptionError(f"{where}: shares of mass must sum to one, got {shares.sum():g}")
        shares.setflags(write=False)
        object.__setattr__(self, "shares", shares)
        if not np.isfinite(self.margin):
            raise OptionError(f"{where}: expected a margin in metres, got {self.margin}")
        if (self.support is None) == (not self.feet):
            raise OptionError(f"{where}: expected either a support on the ground or points of the feet")
        if self.support is not None:
            object.__setattr__(self, "support", _outline(self.support, where))

    @staticmethod
    def of(
        skeleton: Skeleton,
        support: ArrayLike | None = None,
        *,
        feet: Sequence[Point | str] = (),
        actor: str = "",
        **options: Any,
    ) -> Balance:
        """Balance of a body with its mass spread as `mass.masses` says, over places or points of its feet."""
        spread = masses(skeleton)
        return Balance(
            masses=tuple(PointRef(point=point, actor=actor) for point in spread.points),
            shares=spread.shares,
            support=support,  # type: ignore[arg-type]
            feet=tuple(PointRef(point=point, actor=actor) for point in feet),
            **options,
        )

    @property
    def relation(self) -> Relation:
        return Relation.AT_MOST

    @property
    def label(self) -> str:
        return self.name or self.kind

    def point_refs(self) -> tuple[PointRef, ...]:
        return as_refs(*self.masses, *self.feet)

    def rows(self, view: ConstraintInput) -> Residuals:
        flat = view.points[..., FLAT]
        weighed = len(self.masses)
        centre = np.einsum("s,nsi->ni", self.shares, flat[:, :weighed])
        if self.support is not None:
            following = np.roll(self.support, -1, axis=0)
            normals = _outward(following - self.support)
            values = np.einsum("nki,ki->nk", centre[:, None] - self.support, normals) + self.margin
            outward = np.broadcast_to(normals, (*values.shape, 2))
            by_feet = np.zeros((*values.shape, 0, 2))
        else:
            edges = _edge_rows(centre, flat[:, weighed:])
            compass = _compass_rows(centre, flat[:, weighed:])
            values, outward, by_feet = (np.concatenate(pair, 1) for pair in zip(edges, compass, strict=True))
            values = values + self.margin
        d_points = np.zeros((*values.shape, len(self.point_refs()), 3))
        d_points[..., :weighed, FLAT] = self.shares[:, None] * outward[:, :, None]
        d_points[..., weighed:, FLAT] = by_feet
        return Residuals(values=values, d_points=d_points)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Balance:
        names = ("root", "upper", "lower", "tip")
        shares = rng.uniform(0.1, 1.0, 4)
        given: dict[str, Any] = {"support": rng.normal(size=(6, 2))}
        if rng.random() < 0.5:
            given = {"feet": tuple(PointRef(point=name, actor="second") for name in names[: int(rng.integers(1, 5))])}
        return cls(
            masses=tuple(PointRef(point=name) for name in names),
            shares=shares / shares.sum(),
            margin=rng.uniform(-0.1, 0.1),
            **given,
        )


def _outward(edges: Array) -> Array:
    """Unit normals (..., 2) to the right of edges (..., 2), which is outside where the inside is to the left."""
    size = np.maximum(np.linalg.norm(edges, axis=-1, keepdims=True), 1e-12)
    return np.stack([edges[..., 1], -edges[..., 0]], -1) / size


def _outline(places: ArrayLike, where: str) -> Array:
    """The corners (C, 2) of the convex outline of places (K, 2), the inside to the left."""
    given = np.array(places, float)
    if given.ndim != 2 or given.shape[1] != 2 or len(given) < 3 or not np.all(np.isfinite(given)):
        raise OptionError(f"{where}: expected at least three finite places (x, z) of a support, got {given.tolist()}")
    ordered = sorted(set(map(tuple, given.tolist())))
    halves = []
    for run in (ordered, ordered[::-1]):
        chain: list[tuple[float, float]] = []
        for place in run:
            while len(chain) > 1 and _left(chain[-2], chain[-1], place) <= 1e-12:
                chain.pop()
            chain.append(place)
        halves.append(chain[:-1])
    outline = np.array(halves[0] + halves[1])
    if len(outline) < 3:
        raise OptionError(f"{where}: the places of a support must not lie on one line", hint="give `feet` instead")
    outline.setflags(write=False)
    return outline


def _left(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _edge_rows(centre: Array, feet: Array) -> tuple[Array, Array, Array]:
    """For each foot point (N, K, 2) from which an edge of the outline begins: how far the centre is beyond that edge.

    Returns:
        (N, K) values, (N, K, 2) derivatives by the centre, (N, K, K, 2) derivatives by the points.
    """
    count, points = feet.shape[:2]
    edges = feet[:, None] - feet[:, :, None]
    lengths = np.linalg.norm(edges, axis=-1)
    turned = edges[:, :, :, None, 0] * edges[:, :, None, :, 1] - edges[:, :, :, None, 1] * edges[:, :, None, :, 0]
    outer = np.all(turned >= -1e-12, axis=-1) & (lengths > 1e-9)
    # Of several points in line with an edge, the farthest is its end.
    end = np.argmax(np.where(outer, lengths, -1.0), axis=-1)
    begins = outer.any(-1)
    frame, start = np.arange(count)[:, None], np.arange(points)
    edge, length = edges[frame, start, end], np.maximum(lengths[frame, start, end], 1e-9)
    normal = np.where(begins[..., None], _outward(edge), 0.0)
    arm = centre[:, None] - feet
    values = np.where(begins, np.einsum("nki,nki->nk", arm, normal), NO_EDGE)
    # The edge turns with its ends: the nearer the centre is to an end, the more that end carries the edge there.
    share = np.einsum("nki,nki->nk", arm, edge) / length**2
    by_feet = np.zeros((count, points, points, 2))
    by_feet[frame, start, start] -= (1.0 - share)[..., None] * normal
    by_feet[frame, start, end] -= share[..., None] * normal
    return values, normal, by_feet


def _compass_rows(centre: Array, feet: Array) -> tuple[Array, Array, Array]:
    """For each of eight directions: how far the centre is beyond the outermost foot point (N, K, 2) that way."""
    reach = np.einsum("di,nki->ndk", COMPASS, feet)
    outermost = np.argmax(reach, axis=-1)
    values = centre @ COMPASS.T - np.take_along_axis(reach, outermost[..., None], -1)[..., 0]
    by_feet = np.zeros((*reach.shape, 2))
    np.put_along_axis(by_feet, outermost[..., None, None], -COMPASS[None, :, None], axis=2)
    outward = np.broadcast_to(COMPASS, (*values.shape, 2))
    return values, outward, by_feet


CONSTRAINT = Balance
