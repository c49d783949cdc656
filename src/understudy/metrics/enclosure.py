"""What a skin encloses: whether places are inside it, and how deep, though it may be open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array, cross

ENCLOSED = 0.5
"""Winding number above which a place is inside: a skin that is cut open where a part hangs counts as closed there."""
NEAREST = 32
"""Triangles that are looked at exactly, of those that may be nearest."""
AT_ONCE = 1 << 20
"""Pairs of places and triangles worked on together."""


def depth_inside(places: Array, triangles: Array) -> Array:
    """(P,) metres from places (P, 3) inside a skin (T, 3, 3) to it; 0 for those outside.

    The skin need not be closed: what it encloses is told by how often it winds around a place, which a hole changes
    little but for places next to it.
    """
    depth = np.zeros(len(places))
    step = max(AT_ONCE // max(len(triangles), 1), 1)
    for start in range(0, len(places), step):
        some = places[start : start + step]
        sight = Sight.of(some, triangles)
        inner = sight.winding() > ENCLOSED
        depth[start : start + step][inner] = sight.distances(inner)
    return depth


@dataclass(frozen=True, eq=False, kw_only=True)
class Sight:
    """A skin as it is seen from places."""

    places: Array
    """(P, 3)"""
    triangles: Array
    """(T, 3, 3)"""
    areas: Array
    """(T, 3) normals as long as the triangles are large."""
    centres: Array
    """(T, 3)"""
    square: Array
    """(P, T) distances to the centres, squared."""
    least: Array
    """(P, T) metres: no closer than this is the triangle."""
    close: np.ndarray
    """(P, K) the triangles that may be nearest."""

    @staticmethod
    def of(places: Array, triangles: Array) -> Sight:
        middle = places.mean(axis=0)
        places, triangles = places - middle, triangles - middle
        centres = triangles.mean(axis=1)
        areas = 0.5 * cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        reach = np.sqrt(np.square(triangles - centres[:, None]).sum(axis=-1).max(axis=1))
        square = np.square(places).sum(axis=1)[:, None] + np.square(centres).sum(axis=1) - 2.0 * places @ centres.T
        least = np.sqrt(np.maximum(square, 0.0)) - reach
        count = min(NEAREST, len(triangles))
        close = np.argpartition(least, count - 1, axis=1)[:, :count]
        return Sight(
            places=places, triangles=triangles, areas=areas, centres=centres, square=square, least=least, close=close
        )

    def winding(self) -> Array:
        """(P,) how often the skin winds around the places: its solid angle in full spheres.

        The solid angle of what is close is exact, that of any other triangle as if all of it were in its middle
        [Barill and others 2018].
        """
        towards = np.einsum("ti,ti->t", self.centres, self.areas) - self.places @ self.areas.T
        angles = towards / np.maximum(self.square, 1e-18) ** 1.5
        rows = np.arange(len(self.places))[:, None]
        exact = solid_angles(self.triangles[self.close] - self.places[:, None, None])
        return np.asarray((angles.sum(axis=1) - angles[rows, self.close].sum(axis=1) + exact.sum(axis=1)) / (4 * np.pi))

    def distances(self, chosen: np.ndarray) -> Array:
        """(N,) metres from the chosen of the places to the skin."""
        places, least = self.places[chosen], self.least[chosen]
        found = _to_triangles(places[:, None], self.triangles[self.close[chosen]]).min(axis=1, initial=np.inf)
        # Where more triangles than these may be nearer than the nearest found, all that may be are asked.
        for row in np.flatnonzero(np.sum(least < found[:, None], axis=1) > self.close.shape[1]):
            nearer = least[row] < found[row]
            found[row] = min(found[row], float(_to_triangles(places[row], self.triangles[nearer]).min()))
        return found


def solid_angles(triangles: Array) -> Array:
    """(...) the solid angles of triangles (..., 3, 3) seen from the origin: Van Oosterom and Strackee 1983."""
    a, b, c = (triangles[..., corner, :] for corner in range(3))
    sizes = np.linalg.norm(triangles, axis=-1)
    volume = np.einsum("...i,...i->...", a, cross(b, c))
    flat = sizes.prod(axis=-1)
    for u, v, w in ((a, b, 2), (b, c, 0), (c, a, 1)):
        flat = flat + np.einsum("...i,...i->...", u, v) * sizes[..., w]
    return np.asarray(2.0 * np.arctan2(volume, flat))


def _to_triangles(places: Array, triangles: Array) -> Array:
    """(...) metres from places (..., 3) to triangles (..., 3, 3)."""
    a, b, c = (triangles[..., corner, :] for corner in range(3))
    normal = cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=-1)
    height_over = np.abs(np.einsum("...i,...i->...", places - a, normal)) / np.maximum(size, 1e-20)
    over = size > 1e-14
    nearest = np.full(np.broadcast_shapes(places.shape[:-1], size.shape), np.inf)
    for first, second in ((a, b), (b, c), (c, a)):
        edge, way = second - first, places - first
        over = over & (np.einsum("...i,...i->...", cross(edge, way), normal) >= 0.0)
        along = np.einsum("...i,...i->...", way, edge) / np.maximum(np.einsum("...i,...i->...", edge, edge), 1e-20)
        nearest = np.minimum(nearest, np.linalg.norm(way - np.clip(along, 0.0, 1.0)[..., None] * edge, axis=-1))
    return np.where(over, height_over, nearest)
