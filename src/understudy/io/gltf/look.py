"""How the meshes of a glTF file look: normals, texture coordinates, colours and images."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np

from understudy.base.errors import FileError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.skin import Look, Material
from understudy.io.gltf.document import Accessors, Document, Json, decode_data_uri, read_external

MAX_IMAGE_BYTES = 1 << 26

IMAGE_STARTS = (b"\x89PNG\r\n", b"\xff\xd8\xff")
"""The first bytes of images that are read: PNG and JPEG."""


@record
class Piece:
    """Triangles of one primitive."""

    primitive: Json
    corners: np.ndarray
    """(T, 3) vertices of the primitive."""


def read_look(document: Document, accessors: Accessors, pieces: list[Piece], linear: Array) -> Look | None:
    """How a mesh looks; None if the file does not say, or says it in a way that cannot be read.

    Args:
        document: The file.
        accessors: Its numbers.
        pieces: The triangles of the mesh.
        linear: (3, 3) our world from the mesh in the bind pose.
    """
    try:
        normals = _corner_values(accessors, pieces, "NORMAL", "VEC3")
        uvs = _corner_values(accessors, pieces, "TEXCOORD_0", "VEC2")
        materials, numbers = _materials(document, pieces)
    except FileError:
        return None
    if normals is not None:
        turned = normals @ np.linalg.inv(linear)
        length = np.linalg.norm(turned, axis=-1, keepdims=True)
        normals = np.where(length > 0.0, turned / np.where(length > 0.0, length, 1.0), [0.0, 1.0, 0.0])
    if uvs is not None:
        uvs = np.stack([uvs[..., 0], 1.0 - uvs[..., 1]], axis=-1)
    if normals is None and uvs is None and not materials:
        return None
    return Look(normals=normals, uvs=uvs, materials=materials, material_numbers=numbers)


def _corner_values(accessors: Accessors, pieces: list[Piece], name: str, kind: str) -> Array | None:
    """(T, 3, n) the values of an attribute at the corners; None unless all primitives have it."""
    values = []
    for piece in pieces:
        attributes = piece.primitive["attributes"]
        if name not in attributes:
            return None
        numbers = accessors.numbers(attributes[name], kind, name)
        if len(piece.corners) and piece.corners.max() >= len(numbers):
            return None
        values.append(numbers[piece.corners])
    return np.concatenate(values) if values else None


def _materials(document: Document, pieces: list[Piece]) -> tuple[tuple[Material, ...], np.ndarray]:
    """The materials of a mesh, and (T,) the number of each triangle's."""
    used: dict[int, int] = {}
    numbers = []
    for piece in pieces:
        number = piece.primitive.get("material", -1)
        number = number if isinstance(number, int) and not isinstance(number, bool) else -1
        numbers.append(np.full(len(piece.corners), used.setdefault(number, len(used)), np.intp))
    if set(used) <= {-1}:
        return (), np.zeros(sum(len(part) for part in numbers), np.intp)
    materials = tuple(Material(name="none") if number < 0 else _material(document, number) for number in used)
    return materials, np.concatenate(numbers)


def _material(document: Document, number: int) -> Material:
    entry = document.item("materials", number, "material")
    surface = document.object(entry.get("pbrMetallicRoughness", {}), "pbrMetallicRoughness")
    colour = document.numbers(surface, "baseColorFactor", (1.0, 1.0, 1.0, 1.0), "pbrMetallicRoughness")
    emission = document.numbers(entry, "emissiveFactor", (0.0, 0.0, 0.0), "materials")
    red, green, blue, opacity = (float(np.clip(part, 0.0, 1.0)) for part in colour)
    image, name = _texture(document, surface, "baseColorTexture")
    shining = _texture(document, entry, "emissiveTexture")[0]
    mode = entry.get("alphaMode", "OPAQUE")
    return Material(
        name=document.text(entry, "name"),
        colour=(red, green, blue, opacity),
        image=image,
        image_name=name,
        metallic=_share(surface, "metallicFactor", 1.0),
        roughness=_share(surface, "roughnessFactor", 1.0),
        # An emission that an image limits is left out with it: the whole surface would shine.
        emission=(0.0, 0.0, 0.0)
        if "emissiveTexture" in entry and not shining
        else tuple(np.clip(emission, 0.0, 1.0).tolist()),
        emission_image=shining,
        occlusion_image=_texture(document, entry, "occlusionTexture")[0],
        normal_image=_texture(document, entry, "normalTexture")[0],
        roughness_image=_texture(document, surface, "metallicRoughnessTexture")[0],
        cutoff=_share(entry, "alphaCutoff", 0.5) if mode == "MASK" else 0.0,
        blended=mode == "BLEND",
        double_sided=entry.get("doubleSided", False) is True,
    )


def _share(table: Json, name: str, default: float) -> float:
    """A number from 0 to 1 of a table; the default where it is not one."""
    value = table.get(name, default)
    known = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
    return float(np.clip(value, 0.0, 1.0)) if known else default


def _texture(document: Document, table: Json, name: str) -> tuple[bytes, str]:
    """The image that a table names, and a name for its file; empty if it names none."""
    texture = table.get(name)
    return _image(document, texture.get("index")) if isinstance(texture, dict) else (b"", "")


def _image(document: Document, number: object) -> tuple[bytes, str]:
    """The bytes of a texture's image and a name for its file; empty if it is of another kind or far too large."""
    texture = document.item("textures", number, "baseColorTexture.index")
    image = document.item("images", texture.get("source"), "textures.source")
    uri, data = document.text(image, "uri"), b""
    if "bufferView" in image:
        view = document.item("bufferViews", image["bufferView"], "images.bufferView")
        start, length = document.whole(view, "byteOffset", "bufferViews", 0), document.whole(view, "byteLength", "")
        buffer = document.buffers[view["buffer"]] if view.get("buffer") in range(len(document.buffers)) else b""
        data = buffer[start : start + length]
    elif uri.startswith("data:"):
        data, uri = decode_data_uri(document, uri, "images.uri"), ""
    elif uri:
        data = read_external(document, uri, 0, "images.uri", MAX_IMAGE_BYTES)
    if not data.startswith(IMAGE_STARTS) or len(data) > MAX_IMAGE_BYTES:
        return b"", ""
    ending = ".png" if data.startswith(IMAGE_STARTS[0]) else ".jpg"
    name = PurePosixPath(uri).stem or document.text(image, "name") or f"image{number}"
    stem = name[: -len(PurePosixPath(name).suffix)] if name.lower().endswith((".png", ".jpg", ".jpeg")) else name
    return data, f"{stem}{ending}"
