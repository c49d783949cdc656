"""How meshes look, from the arrays of a child process: normals, texture coordinates, colours and images."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.skin import BlendShape, Look, Material
from understudy.io.child import Arrays

MAX_IMAGE_BYTES = 1 << 26

IMAGE_STARTS = (b"\x89PNG\r\n", b"\xff\xd8\xff")
"""The first bytes of images that are read: PNG and JPEG."""


def read_look(
    number: int,
    entries: list[dict[str, Any]],
    arrays: Arrays,
    corners: np.ndarray,
    faces: np.ndarray,
    world: Array,
    folder: Path,
) -> Look | None:
    """How a mesh looks.

    Args:
        number: The number of the mesh in the child's arrays.
        entries: The child's descriptions of its materials.
        arrays: The child's arrays.
        corners: (T, 3) the corners of the triangles.
        faces: (T,) the face of each triangle.
        world: (4, 4) our world from the mesh in the bind pose.
        folder: The file's folder, in which images are looked up.
    """
    key = f"mesh{number}"
    values = {}
    for name in ("normal", "uv"):
        numbers, places = arrays.get(f"{key}_{name}s"), arrays.get(f"{key}_{name}_corners")
        if numbers is None or places is None or not len(numbers) or not len(corners) or corners.max() >= len(places):
            continue
        if places.min() >= 0 and places.max() < len(numbers) and np.all(np.isfinite(numbers)):
            values[name] = numbers[places[corners]]
    normals = values.get("normal")
    if normals is not None:
        turned = normals @ np.linalg.inv(world[:3, :3])
        length = np.linalg.norm(turned, axis=-1, keepdims=True)
        normals = np.where(length > 0.0, turned / np.where(length > 0.0, length, 1.0), [0.0, 1.0, 0.0])
    materials = tuple(_material(entry, arrays, folder) for entry in entries)
    of_faces = arrays[f"{key}_face_materials"]
    numbers = np.zeros(len(faces), np.intp)
    if len(of_faces) and len(faces) and faces.max() < len(of_faces) and materials:
        numbers = np.clip(of_faces[faces], 0, len(materials) - 1).astype(np.intp)
    if normals is None and "uv" not in values and not materials:
        return None
    return Look(normals=normals, uvs=values.get("uv"), materials=materials, material_numbers=numbers)


def read_shapes(
    key: str, entries: list[dict[str, Any]], arrays: Arrays, count: int, world: Array
) -> tuple[BlendShape, ...]:
    """The blend shapes of a mesh.

    Args:
        key: The mesh in the child's arrays.
        entries: The child's descriptions of the shapes.
        arrays: The child's arrays.
        count: Number of vertices of the mesh.
        world: (4, 4) our world from the mesh in the bind pose.
    """
    out = []
    for i, entry in enumerate(entries):
        offsets, vertices = arrays[f"{key}_shape{i}_offsets"], arrays[f"{key}_shape{i}_vertices"]
        length = min(len(offsets), len(vertices))
        offsets, vertices = offsets[:length], vertices[:length]
        good = (vertices >= 0) & (vertices < count) & np.all(np.isfinite(offsets), axis=1)
        moved = np.zeros((count, 3))
        moved[vertices[good]] = offsets[good] @ world[:3, :3].T
        weight = entry["weight"] if np.isfinite(entry["weight"]) else 0.0
        out.append(BlendShape(name=entry["name"] or f"shape{i}", offsets=moved, weight=weight))
    return tuple(out)


def _material(entry: dict[str, Any], arrays: Arrays, folder: Path) -> Material:
    """A material as a child describes it.

    The entry has a `name`, `images` by the field of `Material`, each with the name of its file and the array that holds
    it (empty if none does), and by their fields' names what else the file says: `colour` of three numbers, `opacity`,
    `metallic`, `roughness`, `emission`, `cutoff`, `blended`, `double_sided`.
    """
    images = {field: _image(arrays, folder, **where) for field, where in entry["images"].items()}
    name = entry["images"].get("image", {}).get("name", "").replace("\\", "/")
    # An image takes the place of the colour.
    colour = (1.0, 1.0, 1.0) if images.get("image") else entry.get("colour") or (0.8, 0.8, 0.8)
    red, green, blue, opacity = (_share(part, 1.0) for part in (*colour, entry.get("opacity", 1.0)))
    plain = Material()
    shining = [_share(part, 0.0) for part in entry.get("emission", plain.emission)]
    if entry["images"].get("emission_image") and not images["emission_image"]:
        # Without its image the whole surface would shine.
        shining = [0.0, 0.0, 0.0]
    return Material(
        name=entry["name"],
        colour=(red, green, blue, opacity),
        image_name=PurePath(name).name,
        metallic=_share(entry.get("metallic"), plain.metallic),
        roughness=_share(entry.get("roughness"), plain.roughness),
        emission=(shining[0], shining[1], shining[2]),
        cutoff=_share(entry.get("cutoff"), plain.cutoff),
        blended=bool(entry.get("blended", plain.blended)),
        double_sided=bool(entry.get("double_sided", plain.double_sided)),
        **images,
    )


def _share(value: Any, default: float) -> float:
    """A number from 0 to 1; the default where it is none."""
    return float(np.clip(value, 0.0, 1.0)) if value is not None and np.isfinite(value) else default


def _image(arrays: Arrays, folder: Path, *, name: str, embedded: str) -> bytes:
    """An image that is in the character's file or in its folder; empty if it is in neither, or of another kind."""
    image = arrays[embedded].tobytes() if embedded else read_image(name.replace("\\", "/"), folder)
    return image if image.startswith(IMAGE_STARTS) else b""


def read_image(name: str, folder: Path) -> bytes:
    """The bytes of an image in a file's folder, where its path or its last part leads; empty if there is none."""
    for candidate in (name, PurePath(name).name):
        path = (folder / candidate).resolve() if candidate and "\0" not in candidate else None
        try:
            if path is not None and path.is_relative_to(folder.resolve()) and path.is_file():
                return path.read_bytes() if path.stat().st_size <= MAX_IMAGE_BYTES else b""
        except OSError:
            continue
    return b""
