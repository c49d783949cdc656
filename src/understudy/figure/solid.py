"""Solids: the rigid pieces of a body as distance fields, by its skin, else by capsules.

Each joint that carries skin has a solid. Its field holds the distance to the skin on a coarse grid in the frame of the
joint, so that a distance and the shortest way out are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from understudy.base.quaternion import Array, rotate, unrotate
from understudy.base.records import record
from understudy.figure.kinematics import Pose
from understudy.figure.measures import height, rest_pose_kind
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh, binds_of_rest, rest_pose, skinned, smooth_normals
from understudy.figure.surface import body_parts, capsules, joined_parts

NUM_GRID_PLACES, MIN_SPACING_HEIGHTS = 1500, 0.008
"""About how many places of a solid's box have a value, and the least distance between them in body heights."""

MAX_PROBES, MIN_PROBE_GAP_HEIGHTS = 120, 0.008
"""Most places on the surface of a part that are looked up in the fields of others, and the least distance between
them in body heights."""

MIN_SOLID_DEPTH_HEIGHTS = 0.006
"""Body heights from the surface to the middle of a piece of skin below which it makes no solid."""

MIN_SHARED_WEIGHT = 0.25
"""Weight from which on skin belongs to a joint. Skin that two joints move belongs to both, so that no gap opens between
their solids where the body bends."""

MAX_SAMPLE_HEIGHTS = 0.012
"""Distance, in body heights, between the samples of a large triangle of skin."""

MIN_BEHIND_COSINE = 0.5
"""Cosine between the inward normal of the nearest skin and the direction to a place, from which on the place is inside.
Clothes are open: places beyond their seams are beside their nearest skin, not behind it."""

MAX_SHARED_DEPTH = 1.3
"""A place inside the body is inside the solid of a joint if the skin of that joint is at most so many times as far as
the nearest skin."""

MAX_SAMPLES_PER_EDGE = 8
"""Most samples along an edge of a triangle."""

NUM_BORDER_CELLS = 2
"""Cells of the grid around the surface."""

Pair = tuple[str, str]


@record
class Solid:
    """A rigid piece of a body."""

    part: str
    """The part of the body that it belongs to, as `left hand`."""
    joint: int
    """The joint that carries it."""
    axes: Array
    """(3, 3) the axes of the grid in the joint's frame, one a row. They are those of the mesh, so that the field does
    not depend on how a file turns its joints."""
    low: Array
    """(3,) metres, along the axes of the grid from the joint: its first corner."""
    spacing: float
    """Metres between places of the grid."""
    field: Array
    """(X, Y, Z, 4) metres to the surface, negative inside, and the unit direction away from it."""
    centre: Array
    """(3,) metres, the joint's frame: the middle of the grid."""
    reach: float
    """Metres from the middle of the grid to its corners."""

    def distances(self, places: Array) -> Array:
        """(N,) metres from places (N, 3) in the joint's frame to the surface; infinite beyond the grid."""
        from scipy.ndimage import map_coordinates

        cells = ((places @ self.axes.T - self.low) / self.spacing).T
        return np.asarray(map_coordinates(self.field[..., 0], cells, order=1, mode="constant", cval=np.inf))

    def directions(self, places: Array) -> Array:
        """(N, 3) directions away from the surface at places (N, 3) inside the grid, in the joint's frame."""
        from scipy.ndimage import map_coordinates

        cells = ((places @ self.axes.T - self.low) / self.spacing).T
        away = np.stack([map_coordinates(self.field[..., k], cells, order=1, mode="nearest") for k in (1, 2, 3)], -1)
        away = away @ self.axes
        return np.asarray(away / np.maximum(np.linalg.norm(away, axis=-1, keepdims=True), 1e-9))


@record
class SolidBody:
    """A body as solids, with places on its surface that are looked up in their fields."""

    solids: tuple[Solid, ...]
    probes: Mesh
    """The places, carried by the joints as the skin is."""
    probe_parts: np.ndarray
    """(P,) the part of each place."""

    def probe_places(self, pose: Pose, part: str, frames: np.ndarray | None = None) -> Array:
        """(F, P, 3) metres, world: the places on a part, at some frames of a pose, or at all."""
        return skinned(_some_vertices(self.probes, self.probe_parts == part), pose, frames)


@lru_cache(maxsize=16)
def solid_body(skeleton: Skeleton, meshes: tuple[Mesh, ...] = ()) -> SolidBody:
    """The solids of a body, by its skin if it has one, else by capsules."""
    has_skin = sum(len(mesh.triangles) for mesh in meshes) > 0
    pieces, probes = (_from_skin if has_skin else _from_capsules)(skeleton, meshes)
    parts, gap = body_parts(skeleton), MIN_PROBE_GAP_HEIGHTS * height(skeleton)
    owners = probes.joints[np.arange(probes.num_vertices), np.argmax(probes.weights, axis=1)]
    probe_parts = np.array([parts[joint] for joint in owners])
    chosen: list[int] = []
    for part in dict.fromkeys(probe_parts):
        numbers = np.flatnonzero(probe_parts == part)
        chosen += numbers[_spread(probes.vertices[numbers], gap)].tolist()
    return SolidBody(solids=pieces, probes=_some_vertices(probes, chosen), probe_parts=probe_parts[chosen])


def _some_vertices(mesh: Mesh, chosen: Sequence[int] | np.ndarray) -> Mesh:
    """Some vertices of a mesh, without triangles."""
    return Mesh(vertices=mesh.vertices[chosen], joints=mesh.joints[chosen], weights=mesh.weights[chosen],
                joint_from_mesh=mesh.joint_from_mesh)  # fmt: skip


def nearest_solids(
    pieces: Sequence[Solid],
    pose: Pose,
    frames: np.ndarray,
    places: Array,
    most: float = np.inf,
    allowed: Sequence[Array] | None = None,
) -> tuple[np.ndarray, Array, Array]:
    """The solids that places are nearest to.

    Args:
        pieces: The solids.
        pose: The pose of the body.
        frames: (N,) the frame of each place, rising.
        places: (N, 3) metres, world.
        most: Metres from a surface beyond which places are left out.
        allowed: For each solid (F,) metres that places may be inside it, which count as outside; none if not given.

    Returns:
        (N,) the number of the solid that each is nearest to, or deepest in, -1 far from all; (N,) metres to its
        surface, negative inside; and (N, 3) the direction, world, away from it.
    """
    number = np.full(len(frames), -1)
    distance = np.full(len(frames), np.inf)
    if not len(frames):
        return number, distance, np.zeros(places.shape)
    starts = np.flatnonzero(np.diff(frames, prepend=-1))
    low, high = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts)
    counts, locals_ = np.diff(starts, append=len(frames)), np.zeros(places.shape)
    for index, piece in enumerate(pieces):
        position, rotation = pose.positions[:, piece.joint], pose.rotations[:, piece.joint]
        centre = (position + rotate(rotation, piece.centre))[frames[starts]]
        close = np.all((low < centre + piece.reach) & (high > centre - piece.reach), axis=-1)
        if not close.any():
            continue
        rows = np.flatnonzero(np.repeat(close, counts))
        offset = places[rows] - np.repeat(centre[close], counts[close], axis=0)
        rows = rows[np.einsum("ni,ni->n", offset, offset) < piece.reach**2]
        if not len(rows):
            continue
        local = unrotate(rotation[frames[rows]], places[rows] - position[frames[rows]])
        metres = piece.distances(local)
        if allowed is not None:
            metres += allowed[index][frames[rows]]
        nearer = (metres < distance[rows]) & (metres < most)
        rows = rows[nearer]
        number[rows], distance[rows], locals_[rows] = index, metres[nearer], local[nearer]
    away = np.zeros(places.shape)
    for index in np.unique(number[number >= 0]):
        rows = np.flatnonzero(number == index)
        away[rows] = rotate(pose.rotations[frames[rows], pieces[index].joint], pieces[index].directions(locals_[rows]))
    return number, distance, away


@lru_cache(maxsize=16)
def resting_overlaps(skeleton: Skeleton, meshes: tuple[Mesh, ...] = ()) -> dict[Pair, float]:
    """Metres that parts are in each other in a standing rest pose, for each two parts that are."""
    if rest_pose_kind(skeleton) == "no pose":
        return {}
    body, pose, joined = solid_body(skeleton, meshes), rest_pose(skeleton), joined_parts(skeleton)
    overlaps: dict[Pair, float] = {}
    for part in dict.fromkeys(body.probe_parts):
        others = [piece for piece in body.solids if piece.part != part]
        places = body.probe_places(pose, part)[0]
        number, distance, _ = nearest_solids(others, pose, np.zeros(len(places), np.intp), places)
        for probe in np.flatnonzero(distance < 0.0):
            other = others[number[probe]].part
            pair = min(part, other), max(part, other)
            if pair not in joined:
                overlaps[pair] = max(overlaps.get(pair, 0.0), -float(distance[probe]))
    return overlaps


def _from_skin(skeleton: Skeleton, meshes: tuple[Mesh, ...]) -> tuple[tuple[Solid, ...], Mesh]:
    """A solid for each joint that carries skin, and the vertices of the skin."""
    from scipy.spatial import cKDTree

    skin = _joined(meshes)
    parts, size = body_parts(skeleton), height(skeleton)
    places, normals, vertex = _samples(skin, MAX_SAMPLE_HEIGHTS * size)
    everything = cKDTree(places)
    made = []
    for joint in np.unique(skin.joints[skin.weights >= MIN_SHARED_WEIGHT]):
        carried = np.any((skin.joints == joint) & (skin.weights >= MIN_SHARED_WEIGHT), axis=1)[vertex]
        bind = skin.joint_from_mesh[joint]
        bind_inverse = np.linalg.inv(bind)
        tree = cKDTree(places[carried])

        def distance(grid: Array, tree: Any = tree, bind_inverse: Array = bind_inverse) -> Array:
            world = grid @ bind_inverse[:3, :3].T + bind_inverse[:3, 3]
            metres = tree.query(world)[0]
            depth, nearest = everything.query(world)
            behind = -np.einsum("gi,gi->g", world - places[nearest], normals[nearest]) > MIN_BEHIND_COSINE * depth
            return np.where(behind & (metres <= MAX_SHARED_DEPTH * depth + 1e-9), -metres, metres)

        local = places[carried] @ bind[:3, :3].T + bind[:3, 3]
        axes = np.linalg.svd(bind_inverse[:3, :3])
        made.append(_make_solid(parts[joint], int(joint), local, distance, size, np.asarray(axes[0] @ axes[2])))
    # Tips of fingers are too thin to be entered.
    return tuple(piece for piece in made if -piece.field[..., 0].min() > MIN_SOLID_DEPTH_HEIGHTS * size), skin


def _joined(meshes: tuple[Mesh, ...]) -> Mesh:
    """Several meshes as one, without vertices that no triangle has, bound as the first is."""
    meshes = tuple(mesh for mesh in meshes if len(mesh.triangles))
    width = max(mesh.joints.shape[1] for mesh in meshes)
    vertices, joints, weights, triangles, count = [], [], [], [], 0
    for mesh in meshes:
        used, numbers = np.unique(mesh.triangles, return_inverse=True)
        short = width - mesh.joints.shape[1]
        vertices.append(mesh.rebound(meshes[0])[used])
        joints.append(np.pad(mesh.joints[used], ((0, 0), (0, short))))
        weights.append(np.pad(mesh.weights[used], ((0, 0), (0, short))))
        triangles.append(numbers.reshape(-1, 3) + count)
        count += len(used)
    return Mesh(vertices=np.concatenate(vertices), triangles=np.concatenate(triangles), joints=np.concatenate(joints),
                weights=np.concatenate(weights), joint_from_mesh=meshes[0].joint_from_mesh)  # fmt: skip


def _samples(mesh: Mesh, spacing: float) -> tuple[Array, Array, np.ndarray]:
    """Places (N, 3) on a mesh in its bind pose, at most about `spacing` metres apart, their normals (N, 3), and the
    vertices (N,) that they are nearest to."""
    corners = mesh.vertices[mesh.triangles]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
    counts = np.clip(np.ceil(edges / spacing), 1, MAX_SAMPLES_PER_EDGE).astype(int)
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    faces /= np.maximum(np.linalg.norm(faces, axis=1, keepdims=True), 1e-12)
    places, normals = [mesh.vertices], [smooth_normals(mesh.vertices, mesh.triangles)]
    nearest = [np.arange(mesh.num_vertices)]
    for count in np.unique(counts):
        chosen = counts == count
        steps = [(i, j, count - i - j) for i in range(count + 1) for j in range(count + 1 - i)]
        inner = np.array([step for step in steps if max(step) < count], float).reshape(-1, 3) / count
        if len(inner):
            places.append(np.einsum("sk,tki->tsi", inner, corners[chosen]).reshape(-1, 3))
            normals.append(np.repeat(faces[chosen], len(inner), axis=0))
            nearest.append(mesh.triangles[chosen][:, np.argmax(inner, axis=1)].ravel())
    has_normal = np.linalg.norm(np.concatenate(normals), axis=1) > 0.5
    return tuple(np.concatenate(arrays)[has_normal] for arrays in (places, normals, nearest))


def _from_capsules(skeleton: Skeleton, _: tuple[Mesh, ...]) -> tuple[tuple[Solid, ...], Mesh]:
    """A solid for each capsule of a body, and places on them."""
    shapes, size, made = capsules(skeleton), height(skeleton), []
    positions, rotations = skeleton.rest_world
    surfaces, owners = [], []
    for part, (near, far), radius in zip(shapes.parts, shapes.ends, shapes.radii.tolist(), strict=True):
        joint, far_joint = skeleton.joint(near.joint), skeleton.joint(far.joint)
        world = positions[far_joint] + rotate(rotations[far_joint], far.offset)
        end = unrotate(rotations[joint], world - positions[joint])
        length = max(float(np.linalg.norm(end)), 1e-9)
        along = end / length

        def distance(grid: Array, along: Array = along, length: float = length, radius: float = radius) -> Array:
            share = np.clip(grid @ along, 0.0, length)
            metres: Array = np.linalg.norm(grid - share[:, None] * along, axis=-1) - radius
            return metres

        across = np.linalg.svd(along[None])[2][1:]
        angles = 2.0 * np.pi * np.arange(8) / 8
        ring = radius * (np.cos(angles)[:, None] * across[0] + np.sin(angles)[:, None] * across[1])
        places = np.concatenate([share * end + ring for share in np.linspace(0.0, 1.0, 7)])
        places = np.concatenate([places, [-radius * along, end + radius * along]])
        made.append(_make_solid(part, joint, places, distance, size, rotate(rotations[joint], np.eye(3)).T))
        surfaces.append(positions[joint] + rotate(rotations[joint], places))
        owners += [joint] * len(places)
    joints = np.array(owners)[:, None]
    binds = binds_of_rest(skeleton)
    probes = Mesh(
        vertices=np.concatenate(surfaces), joints=joints, weights=np.ones(joints.shape), joint_from_mesh=binds
    )
    return tuple(made), probes


def _make_solid(
    part: str, joint: int, surface: Array, distance: Callable[[Array], Array], size: float, axes: Array
) -> Solid:
    """A solid from places (N, 3) on its surface and the function of the distance to it, both in the joint's frame, the
    height of the body, and the axes (3, 3) of the grid."""
    surface = surface @ axes.T
    low, high = surface.min(axis=0), surface.max(axis=0)
    sides = np.maximum(high - low, MIN_SPACING_HEIGHTS * size)
    spacing = max(float((sides.prod() / NUM_GRID_PLACES) ** (1.0 / 3.0)), MIN_SPACING_HEIGHTS * size)
    low = low - NUM_BORDER_CELLS * spacing
    counts = np.ceil((high - low) / spacing - 1e-6).astype(int) + NUM_BORDER_CELLS + 1
    lines = [low[k] + spacing * np.arange(counts[k]) for k in range(3)]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    values = distance(grid.reshape(-1, 3) @ axes).reshape(counts)
    direction = np.stack(list(np.gradient(values, spacing)), axis=-1)
    field = np.concatenate([values[..., None], direction], axis=-1)
    half = 0.5 * spacing * (counts - 1)
    reach, centre = float(np.linalg.norm(half)), (low + half) @ axes
    return Solid(
        part=part, joint=joint, axes=axes, low=low, spacing=spacing, field=field, centre=centre, reach=reach
    )  # fmt: skip


def _spread(places: Array, gap: float) -> list[int]:
    """The indices of some places (N, 3), each the farthest from those before it, at least `gap` metres from them."""
    chosen = [int(np.argmax(np.linalg.norm(places - places.mean(axis=0), axis=-1)))]
    distances = np.linalg.norm(places - places[chosen[0]], axis=-1)
    while len(chosen) < MAX_PROBES:
        farthest = int(np.argmax(distances))
        if distances[farthest] < gap:
            break
        chosen.append(farthest)
        distances = np.minimum(distances, np.linalg.norm(places - places[farthest], axis=-1))
    return chosen
