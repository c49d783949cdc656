"""Skins as the page receives them: one mesh a body, its surfaces with their materials, and their images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Material, Mesh, smooth_normals, strongest_joints

JOINTS_PER_VERTEX = 4
"""Joints per vertex sent to the page; the weights of the others are distributed over these."""

MAX_IMAGE_PIXELS = 1 << 26
"""A larger image is not shown: a browser would need gigabytes to unpack it."""

IMAGE_FIELDS = ("image", "normal_image", "roughness_image")
"""The images of a material, by the names of its fields."""

PLAIN = Material(name="plain", colour=(1.0, 1.0, 1.0, 1.0))
"""Stands for the material of a mesh without one; the page paints it in the body's colour."""

Message = tuple[dict[str, Any], dict[str, np.ndarray]]
"""A header and the arrays that go with it."""


def xyzw(rotations: Array) -> Array:
    """(..., 4) quaternions in the page's order x, y, z, w."""
    return np.roll(rotations, -1, axis=-1)


def has_skin(meshes: Sequence[Mesh], skeleton: Skeleton) -> bool:
    """Whether any mesh fits the skeleton and has triangles."""
    return any(mesh.num_joints == skeleton.num_joints and len(mesh.triangles) for mesh in meshes)


@record
class _Part:
    """A mesh with its vertices split where normals, texture coordinates or colours differ between triangles."""

    positions: Array
    normals: Array
    uvs: Array
    colours: Array
    joints: np.ndarray
    weights: Array
    faces: np.ndarray
    """(T, 3) numbers of the split vertices."""
    materials: tuple[Material, ...]
    material_numbers: np.ndarray
    """(T,) the material of each triangle."""


def skin_message(which: str, meshes: Sequence[Mesh], skeleton: Skeleton, bound: Skeleton) -> Message | None:
    """All meshes of a character as one, for a skeleton whose lengths may differ from the bound one."""
    skins = [mesh for mesh in meshes if mesh.num_joints == skeleton.num_joints and len(mesh.triangles)]
    if not skins:
        return None
    # The page has one set of bind matrices: meshes bound otherwise are first converted to those of the first.
    parts = [_split(mesh, skins[0]) for mesh in skins]
    starts = np.cumsum([0, *(len(part.positions) for part in parts)])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts[:-1], strict=True)])
    surfaces, faces = _surfaces(parts, faces)
    arrays: dict[str, np.ndarray] = {
        name: np.concatenate([getattr(part, name) for part in parts]).astype(kind)
        for name, kind in (
            ("positions", np.float32),
            ("normals", np.float32),
            ("colours", np.float32),
            ("joints", np.uint16),
            ("weights", np.float32),
        )
    }
    if any(table[field] for table in surfaces for field in IMAGE_FIELDS):
        arrays["uvs"] = np.concatenate([part.uvs for part in parts]).astype(np.float32)
    arrays["faces"] = faces.astype(np.uint32)
    arrays["bind"] = stretch_binds(skins[0].joint_from_mesh, skeleton, bound).transpose(0, 2, 1).astype(np.float32)
    return {"on": "mesh", "which": which, "surfaces": surfaces}, arrays


def _split(mesh: Mesh, first: Mesh) -> _Part:
    """A mesh with the bind transforms of the first, its vertices split where their looks differ."""
    look, triangles = mesh.look, mesh.triangles
    vertices = mesh.rebound(first)
    materials = look.materials if look is not None and look.materials else (PLAIN,)
    numbers = look.material_numbers if look is not None and look.materials else np.zeros(len(triangles), np.intp)
    corners = triangles.reshape(-1)
    normals = smooth_normals(vertices, triangles)[corners]
    if look is not None and look.normals is not None and vertices is mesh.vertices:
        normals = look.normals.reshape(-1, 3)
    uvs = np.zeros((len(corners), 2)) if look is None or look.uvs is None else look.uvs.reshape(-1, 2)
    colours = np.array([material.colour[:3] for material in materials])[np.repeat(numbers, 3)]
    joints, weights = strongest_joints(mesh, JOINTS_PER_VERTEX)
    keys = np.concatenate([corners[:, None], np.rint(normals * 1024), np.rint(uvs * 65536), np.rint(colours * 255)], 1)
    # Rows are compared by a hash of 64 bits: that is many times faster than to sort them column by column.
    _, chosen, faces = np.unique(_row_hashes(keys.astype(np.int64)), return_index=True, return_inverse=True)
    order = np.argsort(corners[chosen], kind="stable")
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    chosen = chosen[order]
    return _Part(
        positions=vertices[corners[chosen]],
        normals=normals[chosen],
        uvs=uvs[chosen],
        colours=colours[chosen],
        joints=joints[corners[chosen]],
        weights=weights[corners[chosen]],
        faces=place[faces.reshape(-1, 3)],
        materials=materials,
        material_numbers=numbers,
    )


def _row_hashes(rows: np.ndarray) -> np.ndarray:
    """(N,) hashes of rows (N, K) of whole numbers."""
    factors: np.ndarray = np.random.default_rng(1).integers(1 << 62, size=(rows.shape[1],), dtype=np.uint64)
    hashes = np.zeros(len(rows), np.uint64)
    for column in range(rows.shape[1]):
        hashes = (hashes ^ rows[:, column].astype(np.uint64)) * (factors[column] | np.uint64(1))
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _surfaces(parts: Sequence[_Part], faces: np.ndarray) -> tuple[list[dict[str, Any]], np.ndarray]:
    """The surfaces of a skin as the page receives them, and the faces sorted by them.

    Colours are on the vertices, so that materials that differ only in colour are one surface: each surface is drawn by
    itself, and without a graphics card that costs.
    """
    tables: list[dict[str, Any]] = []
    numbers = []
    for part in parts:
        surface_of_material = np.zeros(len(part.materials), np.intp)
        for index, material in enumerate(part.materials):
            table = surface_table(material)
            if table not in tables:
                tables.append(table)
            surface_of_material[index] = tables.index(table)
        numbers.append(surface_of_material[part.material_numbers])
    surface_of_face = np.concatenate(numbers)
    order = np.argsort(surface_of_face, kind="stable")
    counts = np.bincount(surface_of_face, minlength=len(tables)) * 3
    starts = np.cumsum(counts) - counts
    ranges = zip(tables, starts.tolist(), counts.tolist(), strict=True)
    return [{**table, "start": start, "count": count} for table, start, count in ranges if count], faces[order]


def surface_table(material: Material) -> dict[str, Any]:
    """A material without its colour as the page receives it; images are addresses."""
    images = {field: _address(getattr(material, field)) for field in IMAGE_FIELDS}
    return {
        **images,
        "plain": material is PLAIN,
        "opacity": material.colour[3],
        "metallic": material.metallic,
        "roughness": material.roughness,
        # The page shows no image of what shines, and without it the whole surface would.
        "emission": [0.0, 0.0, 0.0] if material.emission_image else list(material.emission),
        "cutoff": material.cutoff,
        "double_sided": material.double_sided,
    }


def _address(image: bytes) -> str | None:
    """Where the page finds an image; None if there is none, or one that is too large to be shown."""
    width, height = image_size(image)
    return f"image/{_digest(image)}" if 0 < width * height <= MAX_IMAGE_PIXELS else None


def _digest(image: bytes) -> str:
    return sha256(image).hexdigest()[:32]


def find_image(meshes: Sequence[Mesh], digest: str) -> bytes | None:
    """The image of the meshes' materials that has this digest; None if there is none."""
    return next((image for image in _images(meshes) if _digest(image) == digest), None)


def _images(meshes: Sequence[Mesh]) -> Iterator[bytes]:
    for mesh in meshes:
        for material in mesh.look.materials if mesh.look is not None else ():
            yield from (image for field in IMAGE_FIELDS if (image := getattr(material, field)))


def image_type(image: bytes) -> str:
    """The media type of an image that a reader of characters accepted."""
    return "image/png" if image.startswith(b"\x89PNG") else "image/jpeg"


def image_size(image: bytes) -> tuple[int, int]:
    """Width and height, pixels, that a PNG or JPEG file states; 0 and 0 if it states none."""
    if image.startswith(b"\x89PNG"):
        return int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")
    at = 2
    while image.startswith(b"\xff\xd8") and at + 9 < len(image) and image[at] == 0xFF:
        kind = image[at + 1]
        # Frame headers are C0 to CF, apart from three that hold tables.
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(image[at + 7 : at + 9], "big"), int.from_bytes(image[at + 5 : at + 7], "big")
        at += 1 if kind == 0xFF else 2 + int.from_bytes(image[at + 2 : at + 4], "big")
    return 0, 0


def stretch_binds(binds: Array, skeleton: Skeleton, bound: Skeleton) -> Array:
    """(J, 4, 4) bind matrices that scale a skin with the bone lengths."""
    ratios = np.ones(skeleton.num_joints)
    for joint, children in enumerate(skeleton.children):
        bones = list(children) or [joint]
        length = float(bound.lengths[bones].sum())
        if length > 1e-9:
            ratios[joint] = float(skeleton.lengths[bones].sum()) / length
    stretched = binds.copy()
    stretched[:, :3] *= ratios[:, None, None]
    return stretched
