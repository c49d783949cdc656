"""Meshes with skin weights, and linear blend skinning."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from understudy.base.errors import OptionError, SkeletonError
from understudy.base.quaternion import Array, conjugate, rotate, to_matrix
from understudy.base.records import read_only, record, set_fields
from understudy.figure.kinematics import Pose, forward
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton

NUMBERS_AT_ONCE = 1 << 22
"""Vertex coordinates processed at a time, which bounds the memory needed besides the result."""


@record
class Material:
    """The look of a surface, physically based: one colour or an image, and how it reflects light."""

    name: str = ""
    colour: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    """Red, green, blue and opacity, linear, from 0 to 1."""
    image: bytes = b""
    """A PNG or JPEG file; empty for none."""
    image_name: str = ""
    """The name of the image's file."""
    metallic: float = 0.0
    """From 0 for paint, skin and cloth to 1 for bare metal."""
    roughness: float = 0.9
    """From 0 for a mirror to 1 for chalk."""
    emission: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Red, green and blue that the surface sends out by itself, linear, from 0 to 1; they scale the image of it."""
    emission_image: bytes = b""
    """A PNG or JPEG file of what the surface sends out; empty for none."""
    normal_image: bytes = b""
    """A PNG or JPEG file with normals in the frame of the texture coordinates; empty for none."""
    roughness_image: bytes = b""
    """A PNG or JPEG file whose green scales the roughness and whose blue scales `metallic`; empty for none."""
    occlusion_image: bytes = b""
    """A PNG or JPEG file whose red says how much light from around reaches the surface; empty for none."""
    cutoff: float = 0.0
    """Opacity below which nothing is drawn; 0 for surfaces without holes."""
    blended: bool = False
    """Whether what is behind shines through where the opacity, also that of the image, is below 1."""
    double_sided: bool = True
    """Whether the back of a triangle is seen, too."""

    @property
    def images(self) -> dict[str, bytes]:
        """The images that there are, by their field's name."""
        fields = ("image", "emission_image", "normal_image", "roughness_image", "occlusion_image")
        return {name: value for name in fields if (value := getattr(self, name))}


@record
class Look:
    """How a mesh looks: normals and texture coordinates at the corners of its triangles, and materials."""

    normals: Array | None = None
    """(T, 3, 3) unit normals at the corners, world, in the bind pose."""
    uvs: Array | None = None
    """(T, 3, 2) texture coordinates at the corners; the second grows upwards."""
    materials: tuple[Material, ...] = ()
    material_numbers: np.ndarray = field(default_factory=lambda: np.empty(0, np.intp))
    """(T,) the material of each triangle."""


@record
class BlendShape:
    """A shape that a mesh can take, such as a smile: how far each vertex moves from where it is in the bind pose."""

    name: str
    offsets: Array
    """(V, 3) metres, world, in the bind pose."""
    weight: float = 0.0
    """The share of the shape that the mesh has while nothing animates it."""


@record
class Mesh:
    """A surface whose vertices follow the joints of a skeleton by weights.

    A vertex is at the weighted mean of `world_from_joint @ joint_from_mesh @ vertex` over its joints.
    """

    name: str = ""
    vertices: Array
    """(V, 3) metres, world, in the bind pose."""
    triangles: np.ndarray = field(default_factory=lambda: np.empty((0, 3), np.intp))
    """(T, 3) vertex numbers, counterclockwise seen from outside."""
    joints: np.ndarray
    """(V, K) numbers of the skeleton's joints that carry each vertex."""
    weights: Array
    """(V, K) weights of those joints, normalized to sum to one."""
    joint_from_mesh: Array
    """(J, 4, 4) bind transforms: they take vertices, metres, to each joint's frame."""
    look: Look | None = None
    """How it looks; None if that is not known."""
    shapes: tuple[BlendShape, ...] = ()
    """Shapes that are kept for other programs; `skinned` does not apply them."""

    def __post_init__(self) -> None:
        what = f"Mesh `{self.name}`"
        vertices = read_only(self.vertices, (-1, 3), f"{what} vertices")
        binds = read_only(self.joint_from_mesh, (-1, 4, 4), f"{what} bind transforms")
        weights = read_only(self.weights, (len(vertices), -1), f"{what} weights")
        joints = _numbers(self.joints, weights.shape, len(binds), f"{what} joint numbers")
        triangles = np.asarray(self.triangles)
        triangles = _numbers(triangles, (len(triangles), 3), len(vertices), f"{what} triangles")
        if self.look is not None:
            for corners in (self.look.normals, self.look.uvs):
                if corners is not None and corners.shape[:2] != (len(triangles), 3):
                    raise SkeletonError(
                        f"{what}: expected normals and texture coordinates for {len(triangles)} triangles"
                    )
        for shape in self.shapes:
            if shape.offsets.shape != vertices.shape:
                raise SkeletonError(f"{what}: expected blend shape `{shape.name}` to move {len(vertices)} vertices")
        total = weights.sum(axis=1, keepdims=True)
        if np.any(weights < 0.0) or np.any(total <= 0.0):
            vertex = int(np.flatnonzero(np.any(weights < 0.0, axis=1) | (total[:, 0] <= 0.0))[0])
            raise SkeletonError(
                f"{what}: expected weights of at least 0 that do not sum to 0; vertex {vertex} has "
                f"{weights[vertex].tolist()}"
            )
        weights = weights / total
        weights.setflags(write=False)
        set_fields(self, vertices=vertices, triangles=triangles, joints=joints, weights=weights, joint_from_mesh=binds)

    @property
    def num_vertices(self) -> int:
        return len(self.vertices)

    @property
    def num_joints(self) -> int:
        """Number of joints of the skeleton that the mesh is for."""
        return len(self.joint_from_mesh)

    def rebound(self, other: Mesh) -> Array:
        """(V, 3) the vertices, metres, as they are with the bind transforms of another mesh."""
        if other.joint_from_mesh is self.joint_from_mesh:
            return self.vertices
        change = np.linalg.inv(other.joint_from_mesh) @ self.joint_from_mesh
        points = np.concatenate([self.vertices, np.ones((self.num_vertices, 1))], axis=1)
        moved = np.einsum("vkab,vb->vka", change[self.joints], points)
        return np.asarray(np.einsum("vk,vka->va", self.weights, moved)[:, :3])


def strongest_joints(mesh: Mesh, count: int) -> tuple[np.ndarray, Array]:
    """(V, count) the joints with the largest weights of each vertex, and these weights, which sum to one."""
    order = np.argsort(-mesh.weights, axis=1, kind="stable")[:, :count]
    joints, weights = np.take_along_axis(mesh.joints, order, 1), np.take_along_axis(mesh.weights, order, 1)
    short = max(count - joints.shape[1], 0)
    joints, weights = np.pad(joints, ((0, 0), (0, short))), np.pad(weights, ((0, 0), (0, short)))
    return joints, weights / weights.sum(axis=1, keepdims=True)


def binds_of_rest(skeleton: Skeleton) -> Array:
    """(J, 4, 4) the bind transforms of a mesh bound in the skeleton's rest pose, metres."""
    positions, rotations = skeleton.rest_world
    inverse = conjugate(rotations)
    out = np.zeros((skeleton.num_joints, 4, 4))
    out[:, :3, :3] = to_matrix(inverse)
    out[:, :3, 3] = -rotate(inverse, positions)
    out[:, 3, 3] = 1.0
    return out


def rest_pose(skeleton: Skeleton) -> Pose:
    """The rest pose as a pose of one frame."""
    positions, rotations = skeleton.rest_world
    return Pose(skeleton=skeleton, positions=positions[None], rotations=rotations[None])


def smooth_normals(vertices: Array, triangles: np.ndarray) -> Array:
    """(V, 3) unit normals of vertices (V, 3), weighted by the areas of the triangles (T, 3) around them."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    faces = np.cross(b - a, c - a)
    corners = triangles.T.ravel()
    sums = [np.bincount(corners, np.tile(faces[:, axis], 3), len(vertices)) for axis in range(3)]
    normals = np.stack(sums, axis=1)
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)


def skinned(mesh: Mesh, posed: Pose | Motion | Skeleton, frames: slice | np.ndarray | None = None) -> Array:
    """Linear blend skinning: the vertices of a mesh at all frames.

    Args:
        mesh: The surface.
        posed: A motion, a computed pose, or a skeleton for its rest pose.
        frames: A slice or indices of frames; all frames if not given.

    Returns:
        (F, V, 3) metres, world.
    """
    positions, rotations = _chosen(posed, slice(None) if frames is None else frames)
    if positions.shape[1] != mesh.num_joints:
        raise OptionError(
            f"Mesh `{mesh.name}` is for a skeleton of {mesh.num_joints} joints; this one has {positions.shape[1]}"
        )
    if mesh.num_vertices == 0:
        return np.empty((len(positions), 0, 3))
    spread, used = _spread(mesh)
    out = np.empty((len(positions), mesh.num_vertices, 3))
    step = max(NUMBERS_AT_ONCE // (3 * mesh.num_vertices), 1)
    binds = mesh.joint_from_mesh[used]
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        turn = to_matrix(rotations[part][:, used])
        moved = np.einsum("fjab,jbc->jcfa", turn, binds[:, :3])
        moved[:, 3] += positions[part][:, used].transpose(1, 0, 2)
        flat = spread @ moved.reshape(4 * len(used), -1)
        out[part] = flat.reshape(mesh.num_vertices, -1, 3).transpose(1, 0, 2)
    return out


def _spread(mesh: Mesh) -> tuple[Array, np.ndarray]:
    """A sparse matrix (V, 4 U) of the weighted vertices by joint, and the U joints that have weight."""
    from scipy.sparse import csr_array

    vertices, slots = np.nonzero(mesh.weights)
    used, place = np.unique(mesh.joints[vertices, slots], return_inverse=True)
    points = np.concatenate([mesh.vertices, np.ones((mesh.num_vertices, 1))], axis=1)
    values = mesh.weights[vertices, slots, None] * points[vertices]
    rows = np.repeat(vertices, 4)
    columns = (4 * place[:, None] + np.arange(4)).ravel()
    shape = (mesh.num_vertices, 4 * len(used))
    return csr_array((values.ravel(), (rows, columns)), shape=shape), used  # type: ignore[return-value]


def _chosen(posed: Pose | Motion | Skeleton, frames: slice | np.ndarray) -> tuple[Array, Array]:
    """World positions (F, J, 3) and orientations (F, J, 4) of the chosen frames."""
    if isinstance(posed, Skeleton):
        posed = rest_pose(posed)
    if isinstance(posed, Pose):
        return posed.positions[frames], posed.rotations[frames]
    offsets = None if posed.offsets is None else posed.offsets[frames]
    return forward(posed.skeleton, posed.root[frames], posed.rotations[frames], offsets)


def _numbers(value: np.ndarray, shape: tuple[int, ...], count: int, what: str) -> np.ndarray:
    """A read-only array of integers from 0 to below a count, or an error."""
    array = np.asarray(value)
    if array.shape != shape:
        raise SkeletonError(f"{what}: expected shape {shape}, got {array.shape}")
    array = array.astype(np.intp)
    if array.size and (array.min() < 0 or array.max() >= count):
        wrong = int(array.min() if array.min() < 0 else array.max())
        raise SkeletonError(f"{what}: expected numbers from 0 to {count - 1}, got {wrong}")
    array.setflags(write=False)
    return array
