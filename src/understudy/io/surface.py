"""Surfaces of things: the triangles of an OBJ or STL file, or of any format that holds meshes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from understudy.base.errors import FileError, UnderstudyError
from understudy.base.files import open_to_read
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.io.clip import formats, read

MAX_TRIANGLES = 2_000_000
"""A file with more triangles is refused: no page can draw it."""

MAX_FILE_BYTES = 256 << 20

STL_HEADER_BYTES, STL_TRIANGLE_BYTES = 84, 50


@record
class Surface:
    """Triangles in space, without joints."""

    vertices: Array
    """(V, 3) in the file's unit, Y up as in the file."""
    triangles: np.ndarray
    """(T, 3) vertex numbers, counterclockwise seen from outside."""

    @property
    def bounds(self) -> tuple[Array, Array]:
        """(3,) and (3,) the lowest and highest coordinates."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)


def surface_suffixes() -> tuple[str, ...]:
    """The suffixes of files that `read_surface` reads."""
    return (".obj", ".stl", *(suffix for each in formats().values() if each.meshes for suffix in each.suffixes))


def read_surface(path: str | Path) -> Surface:
    """Read the triangles of a file.

    Args:
        path: An OBJ or STL file, whose numbers are taken as metres, or a character file with meshes in its rest pose.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in surface_suffixes():
        raise FileError(str(path), None, "is no file of a mesh", hint=f"expected {', '.join(surface_suffixes())}")
    if suffix not in (".obj", ".stl"):
        return _of_character(path)
    with open_to_read(path) as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise FileError(str(path), None, f"is larger than {MAX_FILE_BYTES >> 20} MB")
    vertices, triangles = _parse_obj(content, path) if suffix == ".obj" else _parse_stl(content, path)
    return _checked(vertices, triangles, path)


def _checked(vertices: Array, triangles: np.ndarray, path: Path) -> Surface:
    if len(triangles) == 0:
        raise FileError(str(path), None, "holds no triangles")
    if len(triangles) > MAX_TRIANGLES:
        raise FileError(str(path), None, f"holds {len(triangles)} triangles; at most {MAX_TRIANGLES} are shown")
    if not np.all(np.isfinite(vertices)) or float(np.abs(vertices).max()) > 1e9:
        raise FileError(str(path), None, "holds a vertex without a place: its numbers are not finite, or too large")
    return Surface(vertices=vertices, triangles=triangles)


def _of_character(path: Path) -> Surface:
    try:
        meshes = read(path).shown_meshes()
    except UnderstudyError as error:
        raise FileError(str(path), None, f"no mesh can be read from it: {error.message}", hint=error.hint) from None
    starts = np.cumsum([0, *(mesh.num_vertices for mesh in meshes)])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts[:-1], strict=True)]
    vertices = np.concatenate([mesh.vertices for mesh in meshes]) if meshes else np.zeros((0, 3))
    return _checked(vertices, np.concatenate(triangles) if triangles else np.zeros((0, 3), np.intp), path)


def _parse_obj(content: bytes, path: Path) -> tuple[Array, np.ndarray]:
    """Vertices and faces of an OBJ file; a face of more than three corners is cut into a fan."""
    vertices: list[list[float]] = []
    triangles: list[list[int]] = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        word, *rest = line.split("#")[0].split() or [""]
        if word not in ("v", "f"):
            continue
        try:
            if word == "v":
                x, y, z = map(float, rest[:3])
                vertices.append([x, y, z])
                continue
            corners = [int(corner.partition("/")[0]) for corner in rest]
            corners = [corner - 1 if corner > 0 else corner + len(vertices) for corner in corners]
        except ValueError:
            raise FileError(str(path), number, f"expected numbers after `{word}`, got `{line.strip()[:60]}`") from None
        if len(corners) < 3 or not all(0 <= corner < len(vertices) for corner in corners):
            raise FileError(str(path), number, f"expected a face of known vertices, got `{line.strip()[:60]}`")
        triangles += [[corners[0], second, third] for second, third in pairwise(corners[1:])]
    return np.array(vertices).reshape(-1, 3), np.array(triangles, np.intp).reshape(-1, 3)


def _parse_stl(content: bytes, path: Path) -> tuple[Array, np.ndarray]:
    """Corners of an STL file, binary or text; equal corners become one vertex."""
    count = int.from_bytes(content[80:84], "little") if len(content) >= STL_HEADER_BYTES else -1
    if count >= 0 and len(content) == STL_HEADER_BYTES + count * STL_TRIANGLE_BYTES:
        rows = np.frombuffer(content, np.uint8, offset=STL_HEADER_BYTES).reshape(count, STL_TRIANGLE_BYTES)
        # Twelve numbers: the normal, then three corners; two bytes follow.
        corners = rows[:, 12:48].copy().view("<f4").reshape(-1, 3).astype(float)
    elif content.lstrip()[:5].lower() == b"solid":
        corners = _text_corners(content, path)
    else:
        raise FileError(str(path), None, "is neither a binary STL of the length that it states nor one as text")
    vertices, numbers = np.unique(corners, axis=0, return_inverse=True)
    return vertices, numbers.reshape(-1, 3)


def _text_corners(content: bytes, path: Path) -> Array:
    corners = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        word, *rest = line.split() or [""]
        if word != "vertex":
            continue
        try:
            x, y, z = map(float, rest)
        except ValueError:
            raise FileError(str(path), number, f"expected three numbers, got `{line.strip()[:60]}`") from None
        corners.append([x, y, z])
    if len(corners) % 3:
        raise FileError(str(path), None, f"holds {len(corners)} corners, which is no whole number of triangles")
    return np.array(corners).reshape(-1, 3)
