"""What a robot looks like: the meshes of its file if they are at hand, else its shapes, else capsules of its bones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from understudy.base.errors import UnderstudyError
from understudy.base.quaternion import Array, between, rotate
from understudy.figure.measures import height
from understudy.figure.robot import CollisionShape
from understudy.figure.roles import side
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Look, Material, Mesh, binds_of_rest, smooth_normals

MATERIALS = (
    Material(name="shell", colour=(0.62, 0.65, 0.69, 1.0), roughness=0.55),
    Material(name="left shell", colour=(0.22, 0.46, 0.66, 1.0), roughness=0.55),
    Material(name="right shell", colour=(0.80, 0.36, 0.18, 1.0), roughness=0.55),
)
"""Of the middle and of both sides: left is blue and right is orange, as on the samples."""

MIN_SHOWN_PER_HEIGHT = 0.012
"""A shape that is smaller, in body heights, does not stand for its link."""

MIN_RADIUS_PER_HEIGHT, MAX_RADIUS_PER_HEIGHT, RADIUS_PER_LENGTH = 0.016, 0.034, 0.28
"""Bounds of the radius of the capsule of a bone, in body heights, and the radius per length in between."""

MIN_BRANCH_PER_LENGTH = 0.5
"""Distance between two ends of a link, per length of the longest, from which the link is one body around them all."""

CORNERS = 16
"""Corners of a round shape."""

MAX_TRIANGLES = 60_000
"""Meshes of a robot that have more together are made coarser: a page could not play them."""

MAX_READ_TRIANGLES = 3_000_000
"""Meshes of a robot beyond this number are left out."""

MIN_CELL_PER_HEIGHT, MAX_CELL_PER_HEIGHT, CELL_FACTOR = 5e-4, 0.1, 1.35
"""In body heights, the sides of the cubes whose vertices become one where meshes are made coarser: they grow by the
factor from the first to the second until few enough triangles are left."""

MIN_TRIANGLES = 64
"""A solid with no more is never made coarser."""

SURFACE_SUFFIXES = (".stl", ".obj")

Solid = tuple[Array, np.ndarray]
"""Vertices (V, 3) and triangles (T, 3)."""


def robot_meshes(
    skeleton: Skeleton, shapes: Sequence[Sequence[CollisionShape]], folder: Path, unit: float = 1.0
) -> tuple[Mesh, ...]:
    """The meshes of a robot, rigid links on its joints.

    Args:
        skeleton: The robot.
        shapes: (J,) the shapes that move with each joint, in its frame.
        folder: The folder of the robot's file, where the files of its meshes are.
        unit: Metres in one unit of the shapes.
    """
    places, turns = skeleton.rest_world
    tall = max(float(height(skeleton)), 1e-6)
    # Visual meshes first: where a link has them, its other shapes are only for collisions.
    budget = MAX_READ_TRIANGLES
    solids: list[Solid] = []
    carriers_of_solids: list[int] = []
    for joint in range(skeleton.num_joints):
        link = _link(shapes[joint] if joint < len(shapes) else (), folder, tall / unit, budget)
        link = [(unit * points, faces) for points, faces in link] or _bones(skeleton, joint, tall)
        budget -= sum(len(faces) for _, faces in link)
        solids += link
        carriers_of_solids += [joint] * len(link)
    vertices: list[Array] = []
    triangles: list[np.ndarray] = []
    joints: list[np.ndarray] = []
    materials: list[np.ndarray] = []
    start = 0
    for joint, (points, faces) in zip(carriers_of_solids, _few_triangles(solids, tall), strict=True):
        vertices.append(places[joint] + rotate(turns[joint], points))
        triangles.append(faces + start)
        start += len(points)
        joints.append(np.full(len(points), joint))
        materials.append(np.full(len(faces), ("", "left", "right").index(side(skeleton.names[joint]))))
    if not vertices:
        return ()
    corners, faces, carriers = np.concatenate(vertices), np.concatenate(triangles), np.concatenate(joints)
    look = Look(
        normals=smooth_normals(corners, faces)[faces],
        materials=MATERIALS,
        material_numbers=np.concatenate(materials),
    )
    return (
        Mesh(
            name="robot", vertices=corners, triangles=faces, joints=carriers[:, None],
            weights=np.ones((len(corners), 1)), joint_from_mesh=binds_of_rest(skeleton), look=look,
        ),
    )  # fmt: skip


def _few_triangles(solids: list[Solid], tall: float) -> list[Solid]:
    """Solids with at most `MAX_TRIANGLES` triangles together: all are made equally coarse, and none is left out."""
    cell = MIN_CELL_PER_HEIGHT * tall
    while sum(len(faces) for _, faces in solids) > MAX_TRIANGLES and cell < MAX_CELL_PER_HEIGHT * tall:
        solids = [_coarser(solid, cell) for solid in solids]
        cell *= CELL_FACTOR
    return solids


def _coarser(solid: Solid, cell: float) -> Solid:
    """A solid whose vertices that are in one cube of a side in metres, and face one way, become one in their middle.

    A solid that is hardly larger than a cube stays as it is.
    """
    vertices, triangles = solid
    if len(triangles) <= MIN_TRIANGLES:
        return solid
    cubes = np.floor((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    strides = np.cumprod([1, *(cubes.max(axis=0)[:2] + 1)])
    # The two sides of a thin shell face different ways and stay apart.
    normals = smooth_normals(vertices, triangles)
    axis = np.abs(normals).argmax(axis=1)
    facing = 2 * axis + (np.take_along_axis(normals, axis[:, None], axis=1)[:, 0] < 0.0)
    _, group, counts = np.unique(6 * (cubes @ strides) + facing, return_inverse=True, return_counts=True)
    middles = np.stack([np.bincount(group, vertices[:, axis]) / counts for axis in range(3)], axis=1)
    faces = group[triangles]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    count = len(middles)
    _, first = np.unique(np.sort(faces, axis=1) @ np.array([count * count, count, 1]), return_index=True)
    return (middles, faces[np.sort(first)]) if len(first) else solid


def _link(shapes: Sequence[CollisionShape], folder: Path, tall: float, budget: int) -> list[Solid]:
    """What of a link is seen, in its joint's frame: its meshes, or else its solids that are large enough."""
    seen = [shape for shape in shapes if shape.kind == "mesh" and not shape.collides] or [
        shape for shape in shapes if shape.kind == "mesh"
    ]
    meshes = [_placed(shape, solid) for shape in seen if (solid := _read(shape, folder, budget)) is not None]
    if meshes:
        return meshes
    large = [s for s in shapes if s.is_solid and float(s.size.max()) > MIN_SHOWN_PER_HEIGHT * tall]
    visible = [shape for shape in large if not shape.collides] or large
    return [_placed(shape, _solid(shape)) for shape in visible]


def _placed(shape: CollisionShape, solid: Solid) -> Solid:
    vertices, triangles = solid
    return shape.position + rotate(shape.rotation, vertices), triangles


def _read(shape: CollisionShape, folder: Path, budget: int) -> Solid | None:
    """The mesh of a shape's file; None if it is not at hand, cannot be read or is too large."""
    from understudy.io.surface import read_surface

    path = _find(shape.file, folder)
    if path is None:
        return None
    try:
        surface = read_surface(path)
    except UnderstudyError:
        return None
    return (surface.vertices * shape.scale, surface.triangles) if len(surface.triangles) <= budget else None


def _find(name: str, folder: Path) -> Path | None:
    """The file of a mesh: as the robot's file names it, or in the usual folders beside it; None if it is not there."""
    plain = PurePosixPath(name.partition("://")[2] or name)
    if plain.suffix.lower() not in SURFACE_SUFFIXES or ".." in plain.parts[1:] or plain.is_absolute():
        return None
    # Packages of ROS put the robot's file and its meshes into neighbouring folders.
    after_package = PurePosixPath(*plain.parts[1:]) if "://" in name and len(plain.parts) > 1 else plain
    names = (plain, after_package, PurePosixPath("meshes", plain.name), PurePosixPath("assets", plain.name), plain.name)
    candidates = [base / each for base in (folder, folder.parent) for each in names]
    return next((path for path in candidates if path.is_file()), None)


def _solid(shape: CollisionShape) -> Solid:
    """A solid around its own origin; the length of a capsule or cylinder is along its z axis."""
    radius, half = float(shape.size[0]), float(shape.size[1])
    if shape.kind == "box":
        return _box(shape.size)
    if shape.kind == "cylinder":
        return _lathe([(0.0, -half), (radius, -half), (radius, -half), (radius, half), (radius, half), (0.0, half)])
    if shape.kind == "ellipsoid":
        vertices, triangles = _capsule(1.0, 0.0)
        return vertices * shape.size, triangles
    return _capsule(radius, half if shape.kind == "capsule" else 0.0)


def _box(half: Array) -> Solid:
    """A box with corners of its own on each side, so that its edges are sharp."""
    vertices: list[Array] = []
    triangles: list[list[int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            face = np.zeros((4, 3))
            face[:, axis] = sign * half[axis]
            face[:, u] = np.array([-1.0, 1.0, 1.0, -1.0]) * half[u]
            face[:, v] = np.array([-1.0, -1.0, 1.0, 1.0]) * half[v] * sign
            start = 4 * len(vertices)
            triangles += [[start, start + 1, start + 2], [start, start + 2, start + 3]]
            vertices.append(face)
    return np.concatenate(vertices), np.array(triangles)


def _capsule(radius: float, half: float) -> Solid:
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, CORNERS // 2 + 2)
    lower, upper = angles[angles <= 1e-9], angles[angles >= -1e-9]
    rings = [(radius * np.cos(a), radius * np.sin(a) - half) for a in lower]
    rings += [(radius * np.cos(a), radius * np.sin(a) + half) for a in upper]
    return _lathe(rings)


def _lathe(rings: Sequence[tuple[float, float]]) -> Solid:
    """Rings of a radius at a height, around the z axis; a ring that stands twice is a hard edge."""
    turn = 2.0 * np.pi * np.arange(CORNERS) / CORNERS
    around = np.stack([np.cos(turn), np.sin(turn), np.zeros(CORNERS)], axis=1)
    vertices = np.concatenate([radius * around + [0.0, 0.0, z] for radius, z in rings])
    here, beside = np.arange(CORNERS), (np.arange(CORNERS) + 1) % CORNERS
    start = CORNERS * np.arange(len(rings) - 1)[:, None]
    a, b, c, d = start + here, start + beside, start + CORNERS + here, start + CORNERS + beside
    return vertices, np.concatenate([np.stack([a, b, d], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)])


def _bones(skeleton: Skeleton, joint: int, tall: float) -> list[Solid]:
    """A capsule from a joint to each of its children and ends, in its frame; one body if they branch off."""
    ends = [end.offset for end in skeleton.ends if skeleton.index[end.joint] == joint]
    tips = [*(skeleton.offsets[child] for child in skeleton.children[joint]), *ends]
    solids = []
    apart = max((float(np.linalg.norm(one - other)) for one in tips for other in tips), default=0.0)
    if len(tips) > 1 and apart > MIN_BRANCH_PER_LENGTH * max(float(np.linalg.norm(tip)) for tip in tips):
        around = np.array([np.zeros(3), *tips])
        low, high = around.min(axis=0), around.max(axis=0)
        vertices, triangles = _capsule(1.0, 0.0)
        half = 0.5 * (high - low) + MAX_RADIUS_PER_HEIGHT * tall
        return [(0.5 * (low + high) + half * vertices, triangles)]
    for tip in tips:
        length = float(np.linalg.norm(tip))
        if length < 1e-3 * tall:
            continue
        radius = float(np.clip(RADIUS_PER_LENGTH * length, MIN_RADIUS_PER_HEIGHT * tall, MAX_RADIUS_PER_HEIGHT * tall))
        vertices, triangles = _capsule(radius, 0.5 * length)
        solids.append((0.5 * tip + rotate(between(np.array([0.0, 0.0, 1.0]), tip), vertices), triangles))
    return solids
