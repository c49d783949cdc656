"""The body's centre of mass stays above its support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Relation, Residuals, Unit
from understudy.figure.mass import masses
from understudy.figure.skeleton import Point, Skeleton

HORIZONTAL_AXES = [0, 2]
"""The two horizontal axes, x and z."""

NO_EDGE_METRES = -1.0
"""Metres: the residual in the row of a foot point at which no edge of the support starts."""

COMPASS_DIRECTIONS = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], -1)
"""(8, 2) horizontal directions. They bound a support that is a line or a single point."""


@record
class Balance(Constraint):
    """The centre of mass, seen from above, is inside the support.

    The support is the convex hull of fixed positions, or of points of the body at each frame. The balance is static:
    right for slow motion, too strict for a run or a jump.
    """

    kind: ClassVar[str] = "balance"
    unit: ClassVar[Unit] = Unit.METRE

    masses: tuple[PointLike, ...]
    """The points at which the mass is concentrated."""
    shares: Array
    """(S,) the share of the mass at each point; the shares sum to one."""
    support: Array | None = None
    """(K, 2) metres, world x and z: at least three positions whose convex hull is the support."""
    feet: tuple[PointLike, ...] = ()
    """Points of the body whose convex hull is the support, instead of fixed positions."""
    margin: float = 0.0
    """Metres: how far inside the edge of the support the centre stays; a negative margin allows it outside."""

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
            object.__setattr__(self, "support", _convex_hull(self.support, where))

    @staticmethod
    def of(
        skeleton: Skeleton,
        support: ArrayLike | None = None,
        *,
        feet: Sequence[Point | str] = (),
        actor: str = "",
        **options: Any,
    ) -> Balance:
        """The balance of a body, with the mass distribution of `mass.masses`, above positions or points of its feet."""
        distribution = masses(skeleton)
        return Balance(
            masses=tuple(PointRef(point=point, actor=actor) for point in distribution.points),
            shares=distribution.shares,
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
        return self.refs(*self.masses, *self.feet)

    def rows(self, view: ConstraintInput) -> Residuals:
        horizontal = view.points[..., HORIZONTAL_AXES]
        num_masses = len(self.masses)
        centre = np.einsum("s,nsi->ni", self.shares, horizontal[:, :num_masses])
        if self.support is not None:
            next_corner = np.roll(self.support, -1, axis=0)
            normals = _outward_normals(next_corner - self.support)
            values = np.einsum("nki,ki->nk", centre[:, None] - self.support, normals) + self.margin
            outward = np.broadcast_to(normals, (*values.shape, 2))
            by_feet = np.zeros((*values.shape, 0, 2))
        else:
            edges = _edge_rows(centre, horizontal[:, num_masses:])
            compass = _compass_rows(centre, horizontal[:, num_masses:])
            values, outward, by_feet = (np.concatenate(pair, 1) for pair in zip(edges, compass, strict=True))
            values = values + self.margin
        d_points = np.zeros((*values.shape, len(self.point_refs()), 3))
        d_points[..., :num_masses, HORIZONTAL_AXES] = self.shares[:, None] * outward[:, :, None]
        d_points[..., num_masses:, HORIZONTAL_AXES] = by_feet
        return Residuals(values=values, d_points=d_points)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Balance:
        names = ("root", "upper", "lower", "tip")
        shares = rng.uniform(0.1, 1.0, 4)
        support: dict[str, Any] = {"support": rng.normal(size=(6, 2))}
        if rng.random() < 0.5:
            support = {"feet": tuple(PointRef(point=name, actor="second") for name in names[: int(rng.integers(1, 5))])}
        return cls(
            masses=tuple(PointRef(point=name) for name in names),
            shares=shares / shares.sum(),
            margin=rng.uniform(-0.1, 0.1),
            **support,
        )


def _outward_normals(edges: Array) -> Array:
    """Outward unit normals (..., 2) of edges (..., 2) of a polygon whose inside is on the left."""
    size = np.maximum(np.linalg.norm(edges, axis=-1, keepdims=True), 1e-12)
    return np.stack([edges[..., 1], -edges[..., 0]], -1) / size


def _convex_hull(positions: ArrayLike, where: str) -> Array:
    """The corners (C, 2) of the convex hull of positions (K, 2), with the inside on the left."""
    points = np.array(positions, float)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3 or not np.all(np.isfinite(points)):
        raise OptionError(f"{where}: expected at least three finite positions (x, z), got {points.tolist()}")
    ordered = sorted(set(map(tuple, points.tolist())))
    halves = []
    for run in (ordered, ordered[::-1]):
        chain: list[tuple[float, float]] = []
        for point in run:
            while len(chain) > 1 and _turn_left(chain[-2], chain[-1], point) <= 1e-12:
                chain.pop()
            chain.append(point)
        halves.append(chain[:-1])
    outline = np.array(halves[0] + halves[1])
    if len(outline) < 3:
        raise OptionError(f"{where}: the positions of a support must not lie on one line", hint="give `feet` instead")
    outline.setflags(write=False)
    return outline


def _turn_left(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> float:
    """Positive if the path a-b-c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _edge_rows(centre: Array, feet: Array) -> tuple[Array, Array, Array]:
    """For each foot point (N, K, 2) at which an edge of the hull starts: how far the centre is beyond that edge.

    Returns:
        (N, K) values, (N, K, 2) derivatives by the centre, (N, K, K, 2) derivatives by the points.
    """
    count, points = feet.shape[:2]
    edges = feet[:, None] - feet[:, :, None]
    lengths = np.linalg.norm(edges, axis=-1)
    cross_products = (
        edges[:, :, :, None, 0] * edges[:, :, None, :, 1] - edges[:, :, :, None, 1] * edges[:, :, None, :, 0]
    )
    outer = np.all(cross_products >= -1e-12, axis=-1) & (lengths > 1e-9)
    # If several points lie on one edge, the farthest of them is its end.
    end = np.argmax(np.where(outer, lengths, -1.0), axis=-1)
    starts_edge = outer.any(-1)
    frame, start = np.arange(count)[:, None], np.arange(points)
    edge, length = edges[frame, start, end], np.maximum(lengths[frame, start, end], 1e-9)
    normal = np.where(starts_edge[..., None], _outward_normals(edge), 0.0)
    arm = centre[:, None] - feet
    values = np.where(starts_edge, np.einsum("nki,nki->nk", arm, normal), NO_EDGE_METRES)
    # The edge moves with its ends: the nearer the centre is to an end, the more that end moves the edge there.
    share = np.einsum("nki,nki->nk", arm, edge) / length**2
    by_feet = np.zeros((count, points, points, 2))
    by_feet[frame, start, start] -= (1.0 - share)[..., None] * normal
    by_feet[frame, start, end] -= share[..., None] * normal
    return values, normal, by_feet


def _compass_rows(centre: Array, feet: Array) -> tuple[Array, Array, Array]:
    """For each of eight directions: how far the centre is beyond the outermost foot point (N, K, 2)."""
    reach = np.einsum("di,nki->ndk", COMPASS_DIRECTIONS, feet)
    outermost = np.argmax(reach, axis=-1)
    values = centre @ COMPASS_DIRECTIONS.T - np.take_along_axis(reach, outermost[..., None], -1)[..., 0]
    by_feet = np.zeros((*reach.shape, 2))
    np.put_along_axis(by_feet, outermost[..., None, None], -COMPASS_DIRECTIONS[None, :, None], axis=2)
    outward = np.broadcast_to(COMPASS_DIRECTIONS, (*values.shape, 2))
    return values, outward, by_feet


CONSTRAINT = Balance
