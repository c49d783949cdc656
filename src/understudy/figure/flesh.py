"""Skins made around a skeleton: smooth implicit surfaces of tubes, as meshes with normals, weights and materials.

A skin is a list of pieces, such as a shirt or an arm. A piece of one tube is a row of rings around its curve. A piece
of several tubes blends them where they meet: its surface is found on a grid by surface nets [Gibson 1998] and then
moved onto the exact surface.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Look, Material, Mesh, binds_of_rest

STEPS_PER_SPAN = 4
"""Cones between two points of a tube: more make it rounder."""

BLENDS_REACH = 5.0
"""Distance from a tube, in blend widths, beyond which it has no influence."""

MAX_JOINTS = 4
"""Joints that carry a vertex at most."""

NEWTON_STEPS = 2
"""Steps that move the vertices onto the surface."""

VARIANCE_PER_STEP = 0.3
"""Square of the distance, in grid spacings, over which one smoothing step spreads weights."""


@record
class Tube:
    """A round tube of changing radius along a curve, perhaps flattened."""

    points: Array
    """(N, 3) metres, world, in the rest pose."""
    radii: Array
    """(N,) metres."""
    joints: np.ndarray
    """(N - 1,) the joint that carries each part between two points."""
    squash: Array
    """(3, 3) maps places to a space in which the tube is round."""

    @staticmethod
    def through(
        points: ArrayLike,
        radii: ArrayLike,
        joints: int | Sequence[int],
        *,
        axes: Sequence[tuple[ArrayLike, float]] = (),
    ) -> Tube:
        """A smooth tube through points.

        Args:
            points: (N, 3) metres, world, in the rest pose; one point makes a ball.
            radii: (N,) metres at the points, or one for all.
            joints: The joint that carries the tube, or one for each part between two points.
            axes: Directions in which the tube is wider (a factor above 1) or flatter (below 1).
        """
        places = np.atleast_2d(np.asarray(points, float))
        places = np.repeat(places, 2, axis=0) if len(places) == 1 else places
        widths = np.broadcast_to(np.asarray(radii, float), len(places))
        parts = np.broadcast_to(np.asarray(joints), len(places) - 1)
        squash = np.eye(3)
        for axis, factor in axes:
            unit = np.asarray(axis, float) / np.linalg.norm(axis)
            squash = squash + (1.0 / factor - 1.0) * np.outer(unit, unit)
        curve = np.concatenate([places, widths[:, None]], axis=1)
        if len(places) > 2:
            curve, parts = _spline(curve), np.repeat(parts, STEPS_PER_SPAN)
        return Tube(points=curve[:, :3], radii=np.maximum(curve[:, 3], 1e-4), joints=parts, squash=squash)

    def bounds(self, reach: float) -> tuple[Array, Array]:
        """(3,) and (3,) corners of a box around the tube and its reach, metres."""
        # A squash is symmetric, so that its inverse maps the unit ball to an ellipsoid with these half widths.
        half = np.linalg.norm(np.linalg.inv(self.squash), axis=1)
        room = half * (self.radii.max() + reach)
        return self.points.min(axis=0) - room, self.points.max(axis=0) + room

    def distances(self, places: Array) -> tuple[Array, np.ndarray]:
        """(...) approximate distances from places (..., 3), negative inside, and (...) the nearest part of the tube."""
        seen, path = places @ self.squash, self.points @ self.squash
        nearest, part = np.full(places.shape[:-1], np.inf), np.zeros(places.shape[:-1], np.intp)
        for number, ((a, b), (r, s)) in enumerate(zip(pairwise(path), pairwise(self.radii), strict=True)):
            along = b - a
            share = np.clip((seen - a) @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
            offset = seen - a - share[..., None] * along
            distance = np.sqrt(np.einsum("...i,...i->...", offset, offset)) - (r + share * (s - r))
            part = np.where(distance < nearest, number, part)
            nearest = np.minimum(distance, nearest)
        return nearest, part


def _spline(values: Array) -> Array:
    """A Catmull-Rom curve through values (N, n), with `STEPS_PER_SPAN` parts between two of them."""
    padded = np.concatenate([2.0 * values[:1] - values[1:2], values, 2.0 * values[-1:] - values[-2:-1]])
    p, q, r, s = (padded[i : len(padded) - 3 + i, None] for i in range(4))
    t = (np.arange(STEPS_PER_SPAN) / STEPS_PER_SPAN)[None, :, None]
    spans = 0.5 * (
        2.0 * q + t * (r - p) + t**2 * (2.0 * p - 5.0 * q + 4.0 * r - s) + t**3 * (3.0 * q - p - 3.0 * r + s)
    )
    return np.concatenate([spans.reshape(-1, values.shape[1]), values[-1:]])


@record
class Piece:
    """A closed part of a skin, of one material."""

    material: Material
    tubes: Sequence[Tube]
    spacing: float
    """Metres between vertices."""
    blend: float = 0.0
    """Width in metres over which tubes flow into each other; a third of the spacing if zero."""
    softness: float = 0.0
    """Metres over which the weights of neighbouring joints blend."""
    floor: float | None = None
    """Height in metres of a plane at which the piece is cut off flat."""

    @property
    def width(self) -> float:
        return max(self.blend, self.spacing / 3.0)

    def field(self, places: Array) -> Array:
        """(N,) approximate distances from places (N, 3), negative inside."""
        return self._join([tube.distances(places)[0] for tube in self.tubes], places[..., 1])

    def _join(self, distances: Sequence[Array], heights: Array) -> Array:
        """The smooth minimum of the distances to all tubes, cut at the floor."""
        total = sum(np.exp(np.clip(-distance / self.width, -60.0, 60.0)) for distance in distances)
        out = -self.width * np.log(np.maximum(total, 1e-26))
        if self.floor is None:
            return np.asarray(out)
        edge = 0.25 * self.spacing
        return np.asarray(edge * np.logaddexp(out / edge, (self.floor - heights) / edge))

    def on_grid(self) -> tuple[Array, Array]:
        """The corner (3,) of a grid around the piece and the field (X, Y, Z) at its nodes."""
        reach = BLENDS_REACH * self.width + self.spacing
        boxes = [tube.bounds(reach) for tube in self.tubes]
        low = np.min([box[0] for box in boxes], axis=0)
        shape = np.ceil((np.max([box[1] for box in boxes], axis=0) - low) / self.spacing).astype(int) + 2
        total = np.zeros(shape)
        for tube, (first, last) in zip(self.tubes, boxes, strict=True):
            start = np.maximum(np.floor((first - low) / self.spacing).astype(int), 0)
            stop = np.minimum(np.ceil((last - low) / self.spacing).astype(int) + 1, shape)
            lines = [low[i] + self.spacing * np.arange(start[i], stop[i]) for i in range(3)]
            places = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
            inside = tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
            total[inside] += np.exp(np.clip(-tube.distances(places)[0] / self.width, -60.0, 60.0))
        field = -self.width * np.log(np.maximum(total, 1e-26))
        if self.floor is not None:
            below = self.floor - (low[1] + self.spacing * np.arange(shape[1]))
            field = np.maximum(field, below[None, :, None])
        return low, field

    def normals_and_field(self, places: Array) -> tuple[Array, Array]:
        """(N, 3) gradients of the field at places (N, 3) by central differences, and (N,) the field."""
        step = 0.05 * self.spacing
        moves = step * np.array([[1, -1, -1], [-1, -1, 1], [-1, 1, -1], [1, 1, 1]], float)
        values = self.field((places[:, None] + moves).reshape(-1, 3)).reshape(-1, 4)
        return values @ moves / (4.0 * step**2), values.mean(axis=1)

    def surface(self) -> tuple[Array, np.ndarray, Array]:
        """The vertices (V, 3), triangles (T, 3) and normals (V, 3) of the piece."""
        if len(self.tubes) == 1 and self.floor is None:
            vertices, triangles = rings(self.tubes[0], self.spacing)
            return vertices, triangles, _unit(self.normals_and_field(vertices)[0])
        low, field = self.on_grid()
        vertices, quads = surface_net(field)
        vertices = low + self.spacing * vertices
        for _ in range(NEWTON_STEPS):
            gradient, value = self.normals_and_field(vertices)
            step = gradient * (value / np.maximum(np.einsum("vi,vi->v", gradient, gradient), 0.1))[:, None]
            size = np.linalg.norm(step, axis=1, keepdims=True)
            vertices = vertices - step * np.minimum(1.0, 0.4 * self.spacing / np.maximum(size, 1e-12))
        normals = _unit(self.normals_and_field(vertices)[0])
        a, b, c, d = (vertices[quads[:, i]] for i in range(4))
        short = np.linalg.norm(c - a, axis=1) < np.linalg.norm(d - b, axis=1)
        split = np.where(short[:, None], quads[:, [0, 1, 2, 0, 2, 3]], quads[:, [0, 1, 3, 1, 2, 3]])
        return vertices, split.reshape(-1, 3), normals

    def weights(self, vertices: Array, triangles: np.ndarray, num_joints: int) -> Array:
        """(V, J) weights: the joint of the nearest part, spread over the surface."""
        from scipy.sparse import coo_array

        nearest = [tube.distances(vertices) for tube in self.tubes]
        tube = np.argmin([distance for distance, _ in nearest], axis=0)
        joint = np.choose(tube, [t.joints[part] for t, (_, part) in zip(self.tubes, nearest, strict=True)])
        out = np.zeros((len(vertices), num_joints))
        out[np.arange(len(vertices)), joint] = 1.0
        used = np.unique(joint)
        steps = round((self.softness / self.spacing) ** 2 / VARIANCE_PER_STEP)
        if len(used) < 2 or not steps:
            return out
        ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
        ends = np.concatenate([ends, ends[:, ::-1]])
        shape = (len(vertices), len(vertices))
        graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape).tocsr()
        degree = np.maximum(graph.sum(axis=1), 1.0)[:, None]
        spread = out[:, used]
        for _ in range(steps):
            spread = 0.5 * spread + 0.5 * (graph @ spread) / degree
        out[:, used] = spread
        return out


CAP_ANGLES = np.radians([30.0, 60.0])
"""Latitudes of the rings of a round end."""

MIN_CORNERS, MAX_CORNERS = 8, 40
"""Corners of a ring."""


def rings(tube: Tube, spacing: float) -> tuple[Array, np.ndarray]:
    """The vertices (V, 3) and triangles (T, 3) of a tube with round ends: rings of corners around its curve."""
    path, reach = tube.points @ tube.squash, np.linalg.norm(np.diff(tube.points, axis=0), axis=1)
    length = np.concatenate([[0.0], np.cumsum(np.maximum(reach, 1e-9))])
    at = np.linspace(0.0, length[-1], max(int(np.ceil(length[-1] / spacing)), 1) + 1)
    centres = np.stack([np.interp(at, length, path[:, axis]) for axis in range(3)], axis=1)
    radii = np.interp(at, length, tube.radii)
    along = np.gradient(centres, axis=0)
    along = _unit(np.where(np.linalg.norm(along, axis=1, keepdims=True) > 1e-9, along, [[0.0, 1.0, 0.0]]))
    first, last = radii[0], radii[-1]
    sine, cosine = np.sin(CAP_ANGLES), np.cos(CAP_ANGLES)
    before = centres[0] - first * sine[::-1, None] * along[0]
    after = centres[-1] + last * sine[:, None] * along[-1]
    centres = np.concatenate([before, centres, after])
    radii = np.concatenate([first * cosine[::-1], radii, last * cosine])
    along = np.concatenate([along[:1], along[:1], along, along[-1:], along[-1:]])
    corners = int(np.clip(np.ceil(2.0 * np.pi * radii.max() / spacing), MIN_CORNERS, MAX_CORNERS))
    angles = 2.0 * np.pi * np.arange(corners) / corners
    side = _carried_along(along)
    other = np.cross(along, side)
    around = np.cos(angles)[:, None] * side[:, None] + np.sin(angles)[:, None] * other[:, None]
    points = (centres[:, None] + radii[:, None, None] * around).reshape(-1, 3)
    poles = [centres[2] - first * along[0], centres[-3] + last * along[-1]]
    vertices = np.concatenate([points, poles]) @ np.linalg.inv(tube.squash)
    return vertices, _ring_triangles(len(centres), corners)


def _carried_along(along: Array) -> Array:
    """(N, 3) unit vectors across directions (N, 3), which twist as little as possible from one to the next."""
    start = np.eye(3)[int(np.argmin(np.abs(along[0])))]
    out = np.empty_like(along)
    for number, direction in enumerate(along):
        across = start - direction * (start @ direction)
        out[number] = start = across / np.linalg.norm(across)
    return out


def _ring_triangles(count: int, corners: int) -> np.ndarray:
    """(T, 3) triangles between rings and to both poles, which are the last two vertices."""
    here = np.arange(corners)
    beside = (here + 1) % corners
    start = corners * np.arange(count - 1)[:, None]
    a, b = start + here, start + beside
    c, d = a + corners, b + corners
    bands = np.concatenate([np.stack([a, b, d], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)])
    bottom = np.stack([np.full(corners, count * corners), beside, here], axis=1)
    end = (count - 1) * corners
    top = np.stack([np.full(corners, count * corners + 1), end + here, end + beside], axis=1)
    return np.concatenate([bands, bottom, top])


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


EDGES = np.array(
    [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)]
)  # fmt: skip
"""(12, 2) the edges of a cell, by corners numbered 4 x + 2 y + z."""

CORNERS = np.array([(i >> 2 & 1, i >> 1 & 1, i & 1) for i in range(8)])


def surface_net(field: Array) -> tuple[Array, np.ndarray]:
    """The surface between negative and other values of a field on a grid.

    Args:
        field: (X, Y, Z) values, positive at the border.

    Returns:
        The vertices (V, 3) in grid spacings, one in each cell that the surface passes, and the quads (Q, 4) between
        them, counterclockwise seen from the side of positive values.
    """
    inside = field < 0.0
    x, y, z = field.shape
    corners = [np.s_[i : x - 1 + i, j : y - 1 + j, k : z - 1 + k] for i, j, k in CORNERS.tolist()]
    count = sum(inside[corner].astype(np.int8) for corner in corners)
    cells = np.argwhere((count > 0) & (count < 8))
    values = np.stack([field[corner][tuple(cells.T)] for corner in corners], axis=1)
    start, stop = values[:, EDGES[:, 0]], values[:, EDGES[:, 1]]
    crossed = (start < 0.0) != (stop < 0.0)
    share = np.where(crossed, start / np.where(crossed, start - stop, 1.0), 0.0)[..., None]
    places = CORNERS[EDGES[:, 0]] + share * (CORNERS[EDGES[:, 1]] - CORNERS[EDGES[:, 0]])
    vertices = cells + (places * crossed[..., None]).sum(axis=1) / crossed.sum(axis=1, keepdims=True)
    number = np.full((x - 1, y - 1, z - 1), -1)
    number[tuple(cells.T)] = np.arange(len(cells))
    quads = []
    for axis in range(3):
        first = np.take(inside, range(field.shape[axis] - 1), axis=axis)
        second = np.take(inside, range(1, field.shape[axis]), axis=axis)
        at = np.argwhere(first != second)
        u, v = np.eye(3, dtype=int)[(axis + 1) % 3], np.eye(3, dtype=int)[(axis + 2) % 3]
        quad = np.stack([number[tuple((at - shift).T)] for shift in (u + v, v, 0 * u, u)], axis=1)
        outward = first[tuple(at.T)]
        quads.append(np.where(outward[:, None], quad, quad[:, ::-1]))
    return vertices, np.concatenate(quads)


def flesh(skeleton: Skeleton, pieces: Sequence[Piece], name: str = "skin") -> Mesh:
    """The mesh of a skin, bound in the skeleton's rest pose."""
    surfaces = [piece.surface() for piece in pieces]
    weights = [
        piece.weights(vertices, triangles, skeleton.num_joints)
        for piece, (vertices, triangles, _) in zip(pieces, surfaces, strict=True)
    ]
    starts = np.cumsum([0, *(len(vertices) for vertices, _, _ in surfaces)])
    triangles = np.concatenate([part[1] + start for part, start in zip(surfaces, starts[:-1], strict=True)])
    normals = np.concatenate([part[2] for part in surfaces])
    materials = tuple(dict.fromkeys(piece.material for piece in pieces))
    numbers = [
        np.full(len(part[1]), materials.index(piece.material)) for piece, part in zip(pieces, surfaces, strict=True)
    ]
    joints, strongest = _strongest(np.concatenate(weights))
    return Mesh(
        name=name,
        vertices=np.concatenate([part[0] for part in surfaces]),
        triangles=triangles,
        joints=joints,
        weights=strongest,
        joint_from_mesh=binds_of_rest(skeleton),
        look=Look(normals=normals[triangles], materials=materials, material_numbers=np.concatenate(numbers)),
    )


def _strongest(weights: Array) -> tuple[np.ndarray, Array]:
    """(V, K) the joints with the largest weights of each vertex, and those weights."""
    count = min(MAX_JOINTS, weights.shape[1])
    order = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(weights, order, axis=1)
