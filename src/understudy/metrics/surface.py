"""A body as its skin: which vertices belong to which part, and how deep parts are inside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from understudy.body import height, is_humanoid
from understudy.geometry.quaternion import Array, cross
from understudy.kinematics import Pose
from understudy.metrics.capsules import body_parts, joined_parts
from understudy.metrics.enclosure import depth_inside
from understudy.skeleton import Skeleton
from understudy.skin import NUMBERS_AT_ONCE, Mesh, skinned

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
class Part:
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
    parts: tuple[Part, ...]
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

    def boxes(self, parts: Sequence[Part]) -> tuple[Array, Array]:
        """(N, 3) the least and the greatest coordinates of each part."""
        own = [self.vertices[part.corners] for part in parts]
        return np.array([each.min(axis=0) for each in own]), np.array([each.max(axis=0) for each in own])

    def behind(self, part: Part, places: Array) -> np.ndarray:
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


def _insides(skin: _Skin, parts: Sequence[Part], facing: Sequence[tuple[int, int, np.ndarray]]) -> list[Array | None]:
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


def _part(name: str, number: int, triangles: np.ndarray, owner: np.ndarray) -> Part:
    """A part's triangles, those with two corners or more of its own, and what is looked at of it."""
    own = triangles[np.sum(owner[triangles] == number, axis=1) >= 2]
    vertices = np.flatnonzero(owner == number)
    probes = np.concatenate([np.repeat(vertices[:, None], 3, axis=1), own])
    step = max(len(probes) / PROBES, 1.0)
    chosen = np.unique((np.arange(0, len(probes), step)).astype(np.intp))
    return Part(name=name, triangles=own, corners=np.unique(own), probes=probes[chosen])


def _seams(vertices: Array, triangles: np.ndarray, owner: np.ndarray) -> dict[tuple[int, int], Array]:
    """(S, 3) metres for each two parts whose skins are sewn together: where, as the skin was made."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = edges[owner[edges[:, 0]] != owner[edges[:, 1]]]
    sewn = np.sort(owner[edges], axis=1)
    return {
        (int(pair[0]), int(pair[1])): vertices[np.unique(edges[np.all(sewn == pair, axis=1)])]
        for pair in np.unique(sewn, axis=0)
    }


def _away(vertices: Array, part: Part, seam: Array | None, near: float) -> np.ndarray:
    """(P,) which probes of a part are farther than so many metres from a seam (S, 3)."""
    if seam is None:
        return np.ones(len(part.probes), bool)
    from scipy.spatial import cKDTree

    distance, _ = cKDTree(seam).query(vertices[part.probes].mean(axis=1))
    return np.asarray(distance > near)
