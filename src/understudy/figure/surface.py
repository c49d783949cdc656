"""The surface of a body: its parts as capsules or skin, and how deep parts are inside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from understudy.base.quaternion import Array, cross
from understudy.base.records import cached, record
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import height, is_humanoid, rest_pose_kind
from understudy.figure.motion import rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import NUMBERS_AT_ONCE, Mesh, skinned

RADIUS_SHARES = {
    "trunk": 0.065, "head": 0.050, "upper_leg": 0.040, "lower_leg": 0.028, "foot": 0.018,
    "upper_arm": 0.025, "lower_arm": 0.020, "hand": 0.015,
}  # fmt: skip
"""Radii of a human's parts as shares of its height; slim, so that clothes and soft flesh may touch."""

SLENDERNESS = 0.1
"""Radius of a bone of another body, as a share of its length."""

MIN_BONE_HEIGHTS = 0.03
"""Length, in body heights, below which a bone gets no capsule."""


@record
class Capsules:
    """The bones of a body as capsules."""

    ends: tuple[tuple[Point, Point], ...]
    radii: Array
    """(C,) metres."""
    parts: tuple[str, ...]
    """The part of each capsule; capsules of one part, and of joined parts, are not compared."""
    joined: frozenset[tuple[str, str]]

    def depths(self, pose: Pose) -> dict[tuple[str, str], Array]:
        """(F,) metres of depth for each two parts that ever meet."""
        starts = pose.points([a for a, _ in self.ends])
        bones = pose.points([b for _, b in self.ends]) - starts
        # Coordinates first and frames last: what follows goes along the frames of two capsules.
        starts, bones = (np.ascontiguousarray(line.transpose(2, 1, 0)) for line in (starts, bones))
        reach = 0.5 * np.sqrt(_square(bones)) + self.radii[:, None]
        depths: dict[tuple[str, str], Array] = {}
        one, other, keys = self._compared
        step = max(CAPSULES_AT_ONCE // max(reach.shape[1], 1), 1)
        for first in range(0, len(keys), step):
            pairs = slice(first, first + step)
            close = _may_touch(starts + 0.5 * bones, reach, one[pairs], other[pairs])
            rows, frames = np.nonzero(close)
            a, b = one[pairs][rows], other[pairs][rows]
            gap = segment_gaps(starts[:, a, frames], bones[:, a, frames], starts[:, b, frames], bones[:, b, frames])
            pair_depths = np.zeros(close.shape)
            pair_depths[rows, frames] = self.radii[a] + self.radii[b] - gap
            for row in np.flatnonzero(pair_depths.max(axis=1, initial=0.0) > 0.0):
                depth = depths.setdefault(keys[first + row], np.zeros(reach.shape[1]))
                np.maximum(depth, pair_depths[row], out=depth)
        return depths

    @cached
    def _compared(self) -> tuple[np.ndarray, np.ndarray, list[tuple[str, str]]]:
        """(P,) and (P,) indices of the capsules that are compared, and the names of their parts."""
        one, other = np.triu_indices(len(self.ends), 1)
        names = [(min(self.parts[a], self.parts[b]), max(self.parts[a], self.parts[b])) for a, b in zip(one, other)]
        compared = [i for i, key in enumerate(names) if key[0] != key[1] and key not in self.joined]
        return one[compared], other[compared], [names[i] for i in compared]


CAPSULES_AT_ONCE = 1 << 17
"""Pairs of capsules, counted at every frame, in one batch: what is computed for them stays in the cache."""


def _may_touch(centres: Array, reach: Array, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(P, F) whether the spheres around two capsules meet; their centres (3, C, F) and radii (C, F), metres."""
    square = np.square(centres[0, one] - centres[0, other])
    for axis in (1, 2):
        square += np.square(centres[axis, one] - centres[axis, other])
    return np.asarray(square < np.square(reach[one] + reach[other]))


def _square(vectors: Array) -> Array:
    """(...) squared lengths of vectors (3, ...)."""
    return vectors[0] * vectors[0] + vectors[1] * vectors[1] + vectors[2] * vectors[2]


def segment_gaps(first: Array, along: Array, second: Array, other: Array) -> Array:
    """(N,) metres between segments that begin at (3, N) and lead along (3, N) [Ericson 2005, sec. 5.1.9]."""
    gap = first - second
    first_squared, second_squared = _square(along), _square(other)
    product, on_first, on_second = (
        np.einsum("in,in->n", *pair) for pair in ((along, other), (along, gap), (other, gap))
    )
    first_safe, second_safe = np.maximum(first_squared, 1e-24), np.maximum(second_squared, 1e-24)
    area = first_squared * second_squared - product * product
    # Where the segments are parallel any place on the first will do, so long as the second is then the nearest to it.
    parallel = area <= 1e-12 * first_squared * second_squared + 1e-300
    share = (product * on_second - second_squared * on_first) / np.where(parallel, 1.0, area)
    share = np.where(parallel, 0.0, share.clip(0.0, 1.0))
    other_share = ((product * share + on_second) / second_safe).clip(0.0, 1.0)
    share = ((product * other_share - on_first) / first_safe).clip(0.0, 1.0)
    return np.asarray(np.sqrt(_square(gap + share * along - other_share * other)))


@lru_cache(maxsize=64)
def capsules(skeleton: Skeleton, size: float | None = None) -> Capsules:
    """Make the capsules of a body: with a human's radii by its parts, else by the lengths of its bones.

    Args:
        skeleton: The body.
        size: Metres, its height; measured in its rest pose if not given.
    """
    human, body_height = is_humanoid(skeleton), height(skeleton) if size is None else size
    parts = body_parts(skeleton)
    bones = [(int(p), Point(name=skeleton.names[j], joint=skeleton.names[j])) for j, p in enumerate(skeleton.parents)]
    bones = bones[1:] + [(skeleton.index[end.joint], end) for end in skeleton.ends]
    lengths = [*skeleton.lengths[1:], *(np.linalg.norm(end.offset) for end in skeleton.ends)]
    # Joints from a root on the ground to the hips are not part of the body.
    above = set(skeleton.chain(roles(skeleton)["hips"])[:-1]) if human else set()
    ends, radii, names = [], [], []
    for (joint, far), length in zip(bones, lengths, strict=True):
        if length > MIN_BONE_HEIGHTS * body_height and joint not in above:
            part = parts[joint].partition(" ")[2] or parts[joint]
            radii.append(RADIUS_SHARES[part] * body_height if human else SLENDERNESS * float(length))
            # A capsule is round beyond the ends of its line, so its line ends before the body does.
            inner = 1.0 - min(radii[-1] / float(length), 0.5)
            far = replace(far, offset=inner * far.offset)
            ends.append((Point(name=skeleton.names[joint], joint=skeleton.names[joint]), far))
            names.append(parts[joint])
    return Capsules(ends=tuple(ends), radii=np.array(radii), parts=tuple(names), joined=joined_parts(skeleton))


@lru_cache(maxsize=64)
def resting_depths(skeleton: Skeleton) -> dict[tuple[str, str], float]:
    """Metres that parts are in each other in a standing rest pose: there the estimated radii are too large."""
    if rest_pose_kind(skeleton) == "no pose":
        return {}
    depths = capsules(skeleton).depths(fk(rest_motion(skeleton)))
    return {key: float(depth[0]) for key, depth in depths.items()}


def body_parts(skeleton: Skeleton) -> tuple[str, ...]:
    """The part of each joint: on a human the nearest part above it; on other bodies the joint itself."""
    if not is_humanoid(skeleton):
        return skeleton.names
    joints = roles(skeleton)
    starts = {
        joints[f"{side}_{part}"]: f"{side} {part}"
        for side in ("left", "right")
        for part in RADIUS_SHARES
        if f"{side}_{part}" in joints
    }
    starts[joints.get("neck", joints.get("head", -1))] = "head"
    parts: list[str] = []
    for joint, parent in enumerate(skeleton.parents):
        parts.append(starts.get(joint, parts[parent] if parent >= 0 else "trunk"))
    return tuple(parts)


def joined_parts(skeleton: Skeleton) -> frozenset[tuple[str, str]]:
    """Parts that hang from each other; on other bodies, parts whose bones are at most two joints apart."""
    parts, human = body_parts(skeleton), is_humanoid(skeleton)
    pairs: set[tuple[str, str]] = set()
    for joint, parent in enumerate(skeleton.parents):
        above = [int(parent), *([] if human or parent < 0 else [int(skeleton.parents[parent])])]
        near = [p for p in above if p >= 0]
        siblings = [] if human or parent < 0 else list(skeleton.children[parent])
        pairs |= {(min(parts[joint], parts[p]), max(parts[joint], parts[p])) for p in (*near, *siblings)}
    return frozenset(pairs)


MIN_INSIDE_WINDING = 0.5
"""Winding number above which a place is inside; a skin that is open where a part is attached counts as closed."""

EXACT_TRIANGLES = 32
"""Number of nearest triangles that are computed exactly."""

PAIRS_AT_ONCE = 1 << 20
"""Pairs of places and triangles in one batch."""


def depth_inside(places: Array, triangles: Array) -> Array:
    """(P,) metres from places (P, 3) inside a skin (T, 3, 3) to it; 0 for places outside.

    The skin need not be closed: places inside are found by the winding number, which a hole changes little except close
    to it.
    """
    depth = np.zeros(len(places))
    step = max(PAIRS_AT_ONCE // max(len(triangles), 1), 1)
    for start in range(0, len(places), step):
        chunk = places[start : start + step]
        view = SkinView.of(chunk, triangles)
        inside = view.winding() > MIN_INSIDE_WINDING
        depth[start : start + step][inside] = view.distances(inside)
    return depth


@record
class SkinView:
    """A skin relative to some places."""

    places: Array
    """(P, 3)"""
    triangles: Array
    """(T, 3, 3)"""
    areas: Array
    """(T, 3) normals with the areas of the triangles as lengths."""
    centres: Array
    """(T, 3)"""
    squared_distances: Array
    """(P, T) squared distances to the centres."""
    lower_bound: Array
    """(P, T) lower bound in metres of the distance to the triangles."""
    candidates: np.ndarray
    """(P, K) the triangles with the least lower bounds."""

    @staticmethod
    def of(places: Array, triangles: Array) -> SkinView:
        middle = places.mean(axis=0)
        places, triangles = places - middle, triangles - middle
        centres = triangles.mean(axis=1)
        areas = 0.5 * cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        reach = np.sqrt(np.square(triangles - centres[:, None]).sum(axis=-1).max(axis=1))
        square = np.square(places).sum(axis=1)[:, None] + np.square(centres).sum(axis=1) - 2.0 * places @ centres.T
        lower_bound = np.sqrt(np.maximum(square, 0.0)) - reach
        count = min(EXACT_TRIANGLES, len(triangles))
        candidates = np.argpartition(lower_bound, count - 1, axis=1)[:, :count]
        return SkinView(
            places=places,
            triangles=triangles,
            areas=areas,
            centres=centres,
            squared_distances=square,
            lower_bound=lower_bound,
            candidates=candidates,
        )

    def winding(self) -> Array:
        """(P,) winding numbers of the skin around the places: its solid angle in full spheres.

        The solid angle of near triangles is exact; other triangles count as dipoles at their centres [Barill and others
        2018].
        """
        projected = np.einsum("ti,ti->t", self.centres, self.areas) - self.places @ self.areas.T
        far_angles = projected / np.maximum(self.squared_distances, 1e-18) ** 1.5
        rows = np.arange(len(self.places))[:, None]
        exact = solid_angles(self.triangles[self.candidates] - self.places[:, None, None])
        return np.asarray(
            (far_angles.sum(axis=1) - far_angles[rows, self.candidates].sum(axis=1) + exact.sum(axis=1)) / (4 * np.pi)
        )

    def distances(self, chosen: np.ndarray) -> Array:
        """(N,) metres from the chosen places to the skin."""
        places, lower_bound = self.places[chosen], self.lower_bound[chosen]
        distances = _triangle_distances(places[:, None], self.triangles[self.candidates[chosen]]).min(
            axis=1, initial=np.inf
        )
        # If triangles beyond the candidates may be nearer, all of them are computed.
        for row in np.flatnonzero(np.sum(lower_bound < distances[:, None], axis=1) > self.candidates.shape[1]):
            nearer = lower_bound[row] < distances[row]
            distances[row] = min(distances[row], float(_triangle_distances(places[row], self.triangles[nearer]).min()))
        return distances


def solid_angles(triangles: Array) -> Array:
    """(...) solid angles of triangles (..., 3, 3) seen from the origin [Van Oosterom and Strackee 1983]."""
    a, b, c = (triangles[..., corner, :] for corner in range(3))
    sizes = np.linalg.norm(triangles, axis=-1)
    volume = np.einsum("...i,...i->...", a, cross(b, c))
    denominator = sizes.prod(axis=-1)
    for u, v, w in ((a, b, 2), (b, c, 0), (c, a, 1)):
        denominator = denominator + np.einsum("...i,...i->...", u, v) * sizes[..., w]
    return np.asarray(2.0 * np.arctan2(volume, denominator))


def _triangle_distances(places: Array, triangles: Array) -> Array:
    """(...) metres from places (..., 3) to triangles (..., 3, 3)."""
    a, b, c = (triangles[..., corner, :] for corner in range(3))
    normal = cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=-1)
    plane_distance = np.abs(np.einsum("...i,...i->...", places - a, normal)) / np.maximum(size, 1e-20)
    above_face = size > 1e-14
    closest_points = np.full(np.broadcast_shapes(places.shape[:-1], size.shape), np.inf)
    for first, second in ((a, b), (b, c), (c, a)):
        edge, offset = second - first, places - first
        above_face = above_face & (np.einsum("...i,...i->...", cross(edge, offset), normal) >= 0.0)
        along = np.einsum("...i,...i->...", offset, edge) / np.maximum(np.einsum("...i,...i->...", edge, edge), 1e-20)
        closest_points = np.minimum(
            closest_points, np.linalg.norm(offset - np.clip(along, 0.0, 1.0)[..., None] * edge, axis=-1)
        )
    return np.where(above_face, plane_distance, closest_points)


PROBES = 400
"""Most places on the skin of a part that are tested, spread over it."""

MAX_SEAM_HEIGHTS = 0.03
"""Distance from a seam, in body heights, within which the skins of two parts may fold into each other."""

MAX_CLOSE_BONES = 3
"""Distance along the tree, in bones, up to which skins of parts of a body that is not human may meet."""

MAX_BEHIND_COSINE = 0.5
"""Cosine between the normal of the skin and the direction to a place below which the place may be inside."""

Pair = tuple[str, str]


@record
class BodyPart:
    """The skin of a part of the body."""

    name: str
    triangles: np.ndarray
    """(T, 3) indices of vertices."""
    corners: np.ndarray
    """(C,) the vertices of its triangles, each once."""
    probes: np.ndarray
    """(P, 3) indices of vertices: a probe is the centre of three vertices, which may be the same."""


@record
class Surface:
    """The skin of a body, split into parts."""

    meshes: tuple[Mesh, ...]
    parts: tuple[BodyPart, ...]
    facing: tuple[tuple[int, int, np.ndarray], ...]
    """Indices of two parts whose skins may meet, and (P,) which probes of the first count."""
    resting: tuple[Array, ...]
    """For each of those (P,) metres that the probes are inside the second in the bind pose."""

    def depths(self, pose: Pose, frames: np.ndarray) -> dict[Pair, Array]:
        """(N,) metres of depth at frames (N,) for each two parts that meet."""
        depths: dict[Pair, Array] = {}
        step = max(NUMBERS_AT_ONCE // (3 * sum(mesh.num_vertices for mesh in self.meshes)), 1)
        for start in range(0, len(frames), step):
            chunk = frames[start : start + step]
            vertices = np.concatenate([skinned(mesh, pose, chunk) for mesh in self.meshes], axis=1)
            for row, places in enumerate(vertices, start):
                for pair, depth in self._deepest(_SkinFrame(places)):
                    pair_depth = depths.setdefault(pair, np.zeros(len(frames)))
                    pair_depth[row] = max(pair_depth[row], depth)
        return depths

    def _deepest(self, skin: _SkinFrame) -> Iterator[tuple[Pair, float]]:
        """Metres of depth at one frame for each two parts that meet."""
        for (one, other, _), inside, resting in zip(
            self.facing, _probe_depths(skin, self.parts, self.facing), self.resting, strict=True
        ):
            depth = 0.0 if inside is None else float(np.max(inside - resting, initial=0.0))
            if depth > 0.0:
                names = sorted((self.parts[one].name, self.parts[other].name))
                yield (names[0], names[1]), depth


class _SkinFrame:
    """Vertices of all parts at one frame, with a cached search tree for each part."""

    def __init__(self, vertices: Array) -> None:
        self.vertices = vertices
        self._trees: dict[str, tuple[object, Array]] = {}

    def boxes(self, parts: Sequence[BodyPart]) -> tuple[Array, Array]:
        """(N, 3) least and greatest coordinates of each part."""
        corners = [self.vertices[part.corners] for part in parts]
        return np.array([c.min(axis=0) for c in corners]), np.array([c.max(axis=0) for c in corners])

    def may_contain(self, part: BodyPart, places: Array) -> np.ndarray:
        """(P,) whether places may be inside a part, by the normal of its nearest vertex."""
        from scipy.spatial import cKDTree

        if part.name not in self._trees:
            a, b, c = (self.vertices[part.triangles[:, k]] for k in range(3))
            face_normals = cross(b - a, c - a)
            normals = np.zeros_like(self.vertices)
            for corner in range(3):
                np.add.at(normals, part.triangles[:, corner], face_normals)
            self._trees[part.name] = cKDTree(self.vertices[part.corners]), normals[part.corners]
        tree, normals = self._trees[part.name]
        assert isinstance(tree, cKDTree)
        distance, closest_points = tree.query(places)
        offsets = places - self.vertices[part.corners[closest_points]]
        along = np.einsum("pi,pi->p", offsets, normals[closest_points])
        return np.asarray(along <= MAX_BEHIND_COSINE * distance * np.linalg.norm(normals[closest_points], axis=-1))


def _probe_depths(
    skin: _SkinFrame, parts: Sequence[BodyPart], facing: Sequence[tuple[int, int, np.ndarray]]
) -> list[Array | None]:
    """For each two parts (P,) metres that probes of the first are inside the second; None if they are apart."""
    low, high = skin.boxes(parts)
    meet = np.all((low[:, None] < high) & (high[:, None] > low), axis=-1)
    depths: list[Array | None] = []
    for one, other, counts in facing:
        if not meet[one, other]:
            depths.append(None)
            continue
        places = skin.vertices[parts[one].probes].mean(axis=1)
        inner = np.flatnonzero(counts & np.all((places > low[other]) & (places < high[other]), axis=1))
        if len(inner):
            inner = inner[skin.may_contain(parts[other], places[inner])]
        inside = np.zeros(len(places))
        if len(inner):
            inside[inner] = depth_inside(places[inner], skin.vertices[parts[other].triangles])
        depths.append(inside)
    return depths


@lru_cache(maxsize=16)
def surface(skeleton: Skeleton, meshes: tuple[Mesh, ...]) -> Surface:
    """Split the skin of a body by the joint with the greatest weight at each vertex; parts are those of capsules."""
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
        _make_part(name, number, triangles, owner) for number, name in enumerate(unique) if np.any(owner == number)
    )
    parts = tuple(part for part in parts if len(part.triangles))
    seams = _seams(vertices, triangles, owner)
    joined = joined_parts(skeleton) | _close_parts(skeleton, {part.name for part in parts})
    facing = []
    for one, first in enumerate(parts):
        for other, second in enumerate(parts):
            pair = min(first.name, second.name), max(first.name, second.name)
            if one != other and pair not in joined:
                seam = seams.get((min(unique.index(n) for n in pair), max(unique.index(n) for n in pair)))
                facing.append((one, other, _away_from_seam(vertices, first, seam, MAX_SEAM_HEIGHTS * height(skeleton))))
    bind_frame = _SkinFrame(vertices)
    resting = tuple(np.zeros(1) if depth is None else depth for depth in _probe_depths(bind_frame, parts, facing))
    return Surface(meshes=meshes, parts=parts, facing=tuple(facing), resting=resting)


def _close_parts(skeleton: Skeleton, parts: set[str]) -> set[Pair]:
    """Parts with at most two others between them if each bone is a part; bones without a skin are not counted."""
    if is_humanoid(skeleton):
        return set()
    above: dict[str, list[str]] = {}
    for joint, name in enumerate(skeleton.names):
        chain = [skeleton.names[j] for j in reversed(skeleton.chain(joint)) if skeleton.names[j] in parts]
        above[name] = chain[: MAX_CLOSE_BONES + 1]
    pairs = set()
    for one in parts:
        for other in parts:
            distances = [
                above[one].index(name) + above[other].index(name) for name in above[one] if name in above[other]
            ]
            if one < other and min(distances, default=MAX_CLOSE_BONES + 1) <= MAX_CLOSE_BONES:
                pairs.add((one, other))
    return pairs


def _make_part(name: str, number: int, triangles: np.ndarray, owner: np.ndarray) -> BodyPart:
    """Make a part: the triangles with two or more of its vertices, and its probes."""
    part_triangles = triangles[np.sum(owner[triangles] == number, axis=1) >= 2]
    vertices = np.flatnonzero(owner == number)
    probes = np.concatenate([np.repeat(vertices[:, None], 3, axis=1), part_triangles])
    step = max(len(probes) / PROBES, 1.0)
    chosen = np.unique((np.arange(0, len(probes), step)).astype(np.intp))
    return BodyPart(name=name, triangles=part_triangles, corners=np.unique(part_triangles), probes=probes[chosen])


def _seams(vertices: Array, triangles: np.ndarray, owner: np.ndarray) -> dict[tuple[int, int], Array]:
    """(S, 3) metres, bind pose: the vertices along the seam of each two adjacent parts."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = edges[owner[edges[:, 0]] != owner[edges[:, 1]]]
    sewn = np.sort(owner[edges], axis=1)
    return {
        (int(pair[0]), int(pair[1])): vertices[np.unique(edges[np.all(sewn == pair, axis=1)])]
        for pair in np.unique(sewn, axis=0)
    }


def _away_from_seam(vertices: Array, part: BodyPart, seam: Array | None, near: float) -> np.ndarray:
    """(P,) which probes of a part are farther than `near` metres from a seam (S, 3)."""
    if seam is None:
        return np.ones(len(part.probes), bool)
    from scipy.spatial import cKDTree

    distance, _ = cKDTree(seam).query(vertices[part.probes].mean(axis=1))
    return np.asarray(distance > near)


def closest_points(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Parameters (N,) in [0, 1] of the closest points on the segments a-b and c-d, each end (N, 3).

    The closest points are inside both segments, or one of them is an end: the best of these five cases is taken.
    """
    first, second, gap = b - a, d - c, a - c
    first_squared, second_squared, product = _dot(first, first), _dot(second, second), _dot(first, second)
    on_first, on_second = _dot(first, gap), _dot(second, gap)
    area = first_squared * second_squared - product * product
    not_parallel = area > 1e-12 * first_squared * second_squared + 1e-300
    safe = np.where(not_parallel, area, 1.0)
    first_share = np.where(not_parallel, (product * on_second - second_squared * on_first) / safe, 0.0)
    second_share = np.where(not_parallel, (first_squared * on_second - product * on_first) / safe, 0.0)
    zero, one = np.zeros_like(first_squared), np.ones_like(first_squared)
    pairs = [
        (np.clip(first_share, 0.0, 1.0), np.clip(second_share, 0.0, 1.0)),
        (zero, _share(on_second, second_squared)),
        (one, _share(on_second + product, second_squared)),
        (_share(-on_first, first_squared), zero),
        (_share(product - on_first, first_squared), one),
    ]
    shares, others = np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])
    apart = gap + shares[..., None] * first - others[..., None] * second
    best = np.argmin(np.einsum("kni,kni->kn", apart, apart), axis=0)[None]
    return np.take_along_axis(shares, best, 0)[0], np.take_along_axis(others, best, 0)[0]


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("ni,ni->n", a, b)


def _share(projection: Array, squared: Array) -> Array:
    """The parameter of a projection onto a segment, clipped to [0, 1]; zero if the segment has no length."""
    has_length = squared > 1e-24
    return np.clip(np.where(has_length, projection / np.where(has_length, squared, 1.0), 0.0), 0.0, 1.0)
