"""A body as its skin: which vertices belong to which part, and how deep parts are inside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from understudy.base.quaternion import Array, cross
from understudy.constraints.apart import nearest
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import height, is_humanoid, rest_pose_kind
from understudy.figure.motion import rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import NUMBERS_AT_ONCE, Mesh, skinned

RADII = {
    "trunk": 0.065, "head": 0.050, "upper_leg": 0.040, "lower_leg": 0.028, "foot": 0.018,
    "upper_arm": 0.025, "lower_arm": 0.020, "hand": 0.015,
}  # fmt: skip
"""Radii of a human's parts as shares of its height: slim, so that clothes and soft flesh may touch."""

SLENDERNESS = 0.1
"""Radius of a bone of another body as a share of its length."""

SHORTEST = 0.03
"""Body heights below which a bone is no part of its own."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Capsules:
    """The bones of a body with their thickness."""

    ends: tuple[tuple[Point, Point], ...]
    radii: Array
    """(C,) metres."""
    parts: tuple[str, ...]
    """What each belongs to; capsules of one part, and of parts that are joined, are not compared."""
    joined: frozenset[tuple[str, str]]

    def depths(self, pose: Pose) -> dict[tuple[str, str], Array]:
        """(F,) metres for each two parts that ever meet: how deep they are in each other."""
        starts = pose.points([a for a, _ in self.ends])
        stops = pose.points([b for _, b in self.ends])
        centres = 0.5 * (starts + stops)
        reach = 0.5 * np.linalg.norm(stops - starts, axis=-1) + self.radii
        found: dict[tuple[str, str], Array] = {}
        for one in range(len(self.ends)):
            for other in range(one + 1, len(self.ends)):
                key = (min(self.parts[one], self.parts[other]), max(self.parts[one], self.parts[other]))
                if key[0] == key[1] or key in self.joined:
                    continue
                apart = np.linalg.norm(centres[:, one] - centres[:, other], axis=-1)
                close = np.flatnonzero(apart < reach[:, one] + reach[:, other])
                if not len(close):
                    continue
                a, b, c, d = (
                    each[close] for each in (starts[:, one], stops[:, one], starts[:, other], stops[:, other])
                )
                s, t = nearest(a, b, c, d)
                gap = np.linalg.norm(a + s[:, None] * (b - a) - c - t[:, None] * (d - c), axis=-1)
                depth = self.radii[one] + self.radii[other] - gap
                whole = found.setdefault(key, np.zeros(len(apart)))
                whole[close] = np.maximum(whole[close], depth)
        return {key: depth for key, depth in found.items() if depth.max() > 0.0}


@lru_cache(maxsize=64)
def capsules(skeleton: Skeleton) -> Capsules:
    """The capsules of a body: a human's by its parts, any other's by its bones."""
    human, tall = is_humanoid(skeleton), height(skeleton)
    parts = body_parts(skeleton)
    bones = [(int(p), Point(name=skeleton.names[j], joint=skeleton.names[j])) for j, p in enumerate(skeleton.parents)]
    bones = bones[1:] + [(skeleton.index[end.joint], end) for end in skeleton.ends]
    lengths = [*skeleton.lengths[1:], *(np.linalg.norm(end.offset) for end in skeleton.ends)]
    # What leads from a root on the ground to the hips is no part of the body.
    above = set(skeleton.chain(roles(skeleton)["hips"])[:-1]) if human else set()
    ends, radii, names = [], [], []
    for (joint, far), length in zip(bones, lengths, strict=True):
        if length > SHORTEST * tall and joint not in above:
            part = parts[joint].partition(" ")[2] or parts[joint]
            radii.append(RADII[part] * tall if human else SLENDERNESS * float(length))
            # A capsule is round beyond the ends of its line, so where the body ends its line must end before.
            inner = 1.0 - min(radii[-1] / float(length), 0.5)
            far = replace(far, offset=inner * far.offset)
            ends.append((Point(name=skeleton.names[joint], joint=skeleton.names[joint]), far))
            names.append(parts[joint])
    return Capsules(ends=tuple(ends), radii=np.array(radii), parts=tuple(names), joined=joined_parts(skeleton))


@lru_cache(maxsize=64)
def resting_depths(skeleton: Skeleton) -> dict[tuple[str, str], float]:
    """Metres that parts are in each other in a rest pose that stands: thickness that is only guessed too large."""
    if rest_pose_kind(skeleton) == "no pose":
        return {}
    found = capsules(skeleton).depths(fk(rest_motion(skeleton)))
    return {key: float(depth[0]) for key, depth in found.items()}


def body_parts(skeleton: Skeleton) -> tuple[str, ...]:
    """The part of a body that each joint belongs to: of a human's the nearest one above it; else it is one itself."""
    if not is_humanoid(skeleton):
        return skeleton.names
    found = roles(skeleton)
    starts = {
        found[f"{side}_{part}"]: f"{side} {part}"
        for side in ("left", "right")
        for part in RADII
        if f"{side}_{part}" in found
    }
    starts[found.get("neck", found.get("head", -1))] = "head"
    parts: list[str] = []
    for joint, parent in enumerate(skeleton.parents):
        parts.append(starts.get(joint, parts[parent] if parent >= 0 else "trunk"))
    return tuple(parts)


def joined_parts(skeleton: Skeleton) -> frozenset[tuple[str, str]]:
    """Parts that hang from each other, or, for other bodies, whose bones are at most two joints apart."""
    parts, human = body_parts(skeleton), is_humanoid(skeleton)
    found: set[tuple[str, str]] = set()
    for joint, parent in enumerate(skeleton.parents):
        above = [int(parent), *([] if human or parent < 0 else [int(skeleton.parents[parent])])]
        near = [p for p in above if p >= 0]
        siblings = [] if human or parent < 0 else list(skeleton.children[parent])
        found |= {(min(parts[joint], parts[p]), max(parts[joint], parts[p])) for p in (*near, *siblings)}
    return frozenset(found)


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


PROBES = 400
"""Places on the skin of a part, spread over it, that are looked at; all of them where it has fewer."""

SEAM = 0.03
"""Body heights from where the skins of two parts are sewn together within which they may fold into each other."""

CLOSE = 3
"""Bones between two parts of a body that is not human, along the tree, up to which their skins may meet."""

BEHIND = 0.5
"""Cosine, between the skin's normal and the way to a place, below which the place may be inside."""

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyPart:
    """The skin of a part of the body."""

    name: str
    triangles: np.ndarray
    """(T, 3) numbers of vertices."""
    corners: np.ndarray
    """(C,) the vertices of its triangles, each once."""
    probes: np.ndarray
    """(P, 3) numbers of vertices: a probe is in the middle of three, which may be one and the same."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Surface:
    """All skins of a body as one, taken apart."""

    meshes: tuple[Mesh, ...]
    parts: tuple[BodyPart, ...]
    facing: tuple[tuple[int, int, np.ndarray], ...]
    """Numbers of two parts whose skins may meet, and (P,) which probes of the first count."""
    resting: tuple[Array, ...]
    """For each of those (P,) metres that the probes are inside the second as the skin was made."""

    def depths(self, pose: Pose, frames: np.ndarray) -> dict[Pair, Array]:
        """(N,) metres at frames (N,) for each two parts that meet: how deep one is inside the other."""
        found: dict[Pair, Array] = {}
        step = max(NUMBERS_AT_ONCE // (3 * sum(mesh.num_vertices for mesh in self.meshes)), 1)
        for start in range(0, len(frames), step):
            some = frames[start : start + step]
            vertices = np.concatenate([skinned(mesh, pose, some) for mesh in self.meshes], axis=1)
            for row, places in enumerate(vertices, start):
                for pair, depth in self._deepest(_Skin(places)):
                    whole = found.setdefault(pair, np.zeros(len(frames)))
                    whole[row] = max(whole[row], depth)
        return found

    def _deepest(self, skin: _Skin) -> Iterator[tuple[Pair, float]]:
        """Metres that each two parts that meet are inside each other at a frame."""
        for (one, other, _), inside, resting in zip(
            self.facing, _insides(skin, self.parts, self.facing), self.resting, strict=True
        ):
            depth = 0.0 if inside is None else float(np.max(inside - resting, initial=0.0))
            if depth > 0.0:
                names = sorted((self.parts[one].name, self.parts[other].name))
                yield (names[0], names[1]), depth


class _Skin:
    """Vertices of all parts at one frame, with what is needed of each part worked out once."""

    def __init__(self, vertices: Array) -> None:
        self.vertices = vertices
        self._trees: dict[str, tuple[object, Array]] = {}

    def boxes(self, parts: Sequence[BodyPart]) -> tuple[Array, Array]:
        """(N, 3) the least and the greatest coordinates of each part."""
        own = [self.vertices[part.corners] for part in parts]
        return np.array([each.min(axis=0) for each in own]), np.array([each.max(axis=0) for each in own])

    def behind(self, part: BodyPart, places: Array) -> np.ndarray:
        """(P,) whether places may be inside a part, by the normal of its vertex that is nearest."""
        from scipy.spatial import cKDTree

        if part.name not in self._trees:
            a, b, c = (self.vertices[part.triangles[:, k]] for k in range(3))
            across = cross(b - a, c - a)
            normals = np.zeros_like(self.vertices)
            for corner in range(3):
                np.add.at(normals, part.triangles[:, corner], across)
            self._trees[part.name] = cKDTree(self.vertices[part.corners]), normals[part.corners]
        tree, normals = self._trees[part.name]
        assert isinstance(tree, cKDTree)
        distance, nearest = tree.query(places)
        way = places - self.vertices[part.corners[nearest]]
        along = np.einsum("pi,pi->p", way, normals[nearest])
        return np.asarray(along <= BEHIND * distance * np.linalg.norm(normals[nearest], axis=-1))


def _insides(
    skin: _Skin, parts: Sequence[BodyPart], facing: Sequence[tuple[int, int, np.ndarray]]
) -> list[Array | None]:
    """For each two parts (P,) metres that probes of the first are inside the second; None where they are apart."""
    low, high = skin.boxes(parts)
    meet = np.all((low[:, None] < high) & (high[:, None] > low), axis=-1)
    found: list[Array | None] = []
    for one, other, counts in facing:
        if not meet[one, other]:
            found.append(None)
            continue
        places = skin.vertices[parts[one].probes].mean(axis=1)
        near = np.flatnonzero(counts & np.all((places > low[other]) & (places < high[other]), axis=1))
        if len(near):
            near = near[skin.behind(parts[other], places[near])]
        inside = np.zeros(len(places))
        if len(near):
            inside[near] = depth_inside(places[near], skin.vertices[parts[other].triangles])
        found.append(inside)
    return found


@lru_cache(maxsize=16)
def surface(skeleton: Skeleton, meshes: tuple[Mesh, ...]) -> Surface:
    """The skin of a body taken apart by the joints that carry most of each vertex; parts are those of its capsules."""
    names = body_parts(skeleton)
    owners = np.concatenate(
        [mesh.joints[np.arange(mesh.num_vertices), np.argmax(mesh.weights, axis=1)] for mesh in meshes]
    )
    unique = list(dict.fromkeys(names))
    owner = np.array([unique.index(name) for name in names])[owners]
    starts = np.cumsum([0, *(mesh.num_vertices for mesh in meshes)])
    triangles = np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts)])
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    parts = tuple(
        _part(name, number, triangles, owner) for number, name in enumerate(unique) if np.any(owner == number)
    )
    parts = tuple(part for part in parts if len(part.triangles))
    seams = _seams(vertices, triangles, owner)
    joined = joined_parts(skeleton) | _close(skeleton, {part.name for part in parts})
    facing = []
    for one, first in enumerate(parts):
        for other, second in enumerate(parts):
            pair = min(first.name, second.name), max(first.name, second.name)
            if one != other and pair not in joined:
                sewn = seams.get((min(unique.index(n) for n in pair), max(unique.index(n) for n in pair)))
                facing.append((one, other, _away(vertices, first, sewn, SEAM * height(skeleton))))
    made = _Skin(vertices)
    resting = tuple(np.zeros(1) if each is None else each for each in _insides(made, parts, facing))
    return Surface(meshes=meshes, parts=parts, facing=tuple(facing), resting=resting)


def _close(skeleton: Skeleton, parts: set[str]) -> set[Pair]:
    """Parts with at most two others between them, where each bone is a part; bones without a skin count for none."""
    if is_humanoid(skeleton):
        return set()
    above: dict[str, list[str]] = {}
    for joint, name in enumerate(skeleton.names):
        chain = [skeleton.names[j] for j in reversed(skeleton.chain(joint)) if skeleton.names[j] in parts]
        above[name] = chain[: CLOSE + 1]
    found = set()
    for one in parts:
        for other in parts:
            shared = [above[one].index(name) + above[other].index(name) for name in above[one] if name in above[other]]
            if one < other and min(shared, default=CLOSE + 1) <= CLOSE:
                found.add((one, other))
    return found


def _part(name: str, number: int, triangles: np.ndarray, owner: np.ndarray) -> BodyPart:
    """A part's triangles, those with two corners or more of its own, and what is looked at of it."""
    own = triangles[np.sum(owner[triangles] == number, axis=1) >= 2]
    vertices = np.flatnonzero(owner == number)
    probes = np.concatenate([np.repeat(vertices[:, None], 3, axis=1), own])
    step = max(len(probes) / PROBES, 1.0)
    chosen = np.unique((np.arange(0, len(probes), step)).astype(np.intp))
    return BodyPart(name=name, triangles=own, corners=np.unique(own), probes=probes[chosen])


def _seams(vertices: Array, triangles: np.ndarray, owner: np.ndarray) -> dict[tuple[int, int], Array]:
    """(S, 3) metres for each two parts whose skins are sewn together: where, as the skin was made."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = edges[owner[edges[:, 0]] != owner[edges[:, 1]]]
    sewn = np.sort(owner[edges], axis=1)
    return {
        (int(pair[0]), int(pair[1])): vertices[np.unique(edges[np.all(sewn == pair, axis=1)])]
        for pair in np.unique(sewn, axis=0)
    }


def _away(vertices: Array, part: BodyPart, seam: Array | None, near: float) -> np.ndarray:
    """(P,) which probes of a part are farther than so many metres from a seam (S, 3)."""
    if seam is None:
        return np.ones(len(part.probes), bool)
    from scipy.spatial import cKDTree

    distance, _ = cKDTree(seam).query(vertices[part.probes].mean(axis=1))
    return np.asarray(distance > near)
