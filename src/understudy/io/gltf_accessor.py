"""The numbers of a glTF file: accessors of any component type, normalised, interleaved or sparse.

Source: Khronos glTF 2.0 specification, sections 3.6.2 (accessors) and 3.6.2.3 (sparse accessors).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.geometry.quaternion import Array
from understudy.io.gltf_document import LARGEST, Document, Json

FLOAT, UNSIGNED_SHORT, UNSIGNED_INT = 5126, 5123, 5125
COMPONENTS: dict[int, np.dtype[Any]] = {
    5120: np.dtype("i1"), 5121: np.dtype("u1"), 5122: np.dtype("<i2"), 5123: np.dtype("<u2"), 5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}  # fmt: skip
SHAPES = {
    "SCALAR": (1, 1),
    "VEC2": (1, 2),
    "VEC3": (1, 3),
    "VEC4": (1, 4),
    "MAT2": (2, 2),
    "MAT3": (3, 3),
    "MAT4": (4, 4),
}
"""Columns and rows of each type."""

MOST_ZEROS = 1 << 20
"""Elements of an accessor that stores none of them: more would be memory asked for by a number in the header."""

ROOM, GROWTH = 1 << 28, 32
"""Bytes that all accessors together may take up: so many, and so many for each byte of the file's buffers."""

COMPRESSED = ("EXT_meshopt_compression", "KHR_meshopt_compression")


class Accessors:
    """Reads accessors, each once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._read: dict[int, np.ndarray] = {}
        self._left = ROOM + GROWTH * sum(len(each) for each in document.buffers)

    def numbers(self, number: Any, kind: str, where: str) -> Array:
        """(N, ...) finite floating point numbers of an accessor: scalars (N,), vectors (N, n), matrices (N, n, n).

        Args:
            number: Which accessor.
            kind: The type it must have, such as "VEC3".
            where: Who asks, for errors.
        """
        found = self._values(number, kind, where)
        if not np.all(np.abs(found) < LARGEST):
            place = int(np.argwhere(~(np.abs(found) < LARGEST))[0][0])
            raise self._document.error(f"accessors[{number}]", f"element {place} holds a number that is not finite")
        return found

    def any_numbers(self, number: Any, kind: str, where: str) -> Array:
        """The same, but the numbers may be infinite or none at all."""
        return self._values(number, kind, where)

    def whole(self, number: Any, kind: str, where: str) -> np.ndarray:
        """(N, ...) whole numbers of an accessor: joints, vertex numbers."""
        accessor = self._document.item("accessors", number, where)
        if accessor.get("componentType") == FLOAT:
            raise self._document.error(f"accessors[{number}]", f"{where} needs whole numbers, not floating point ones")
        return self._values(number, kind, where).astype(np.int64)

    def _values(self, number: Any, kind: str, where: str) -> Array:
        accessor = self._document.item("accessors", number, where)
        if accessor.get("type") != kind:
            raise self._document.error(f"{where}", f"needs an accessor of type {kind}, got {accessor.get('type')!r}")
        if number not in self._read:
            values = self._decode(accessor, f"accessors[{number}]")
            values.setflags(write=False)
            self._left -= values.nbytes
            if self._left < 0:
                raise self._document.error("accessors", "take up far more numbers than there are bytes in the file")
            self._read[number] = values
        return self._read[number]

    def _decode(self, accessor: Json, where: str) -> Array:
        document = self._document
        kind = _component(document, accessor, where)
        columns, rows = SHAPES[accessor["type"]]
        count = document.whole(accessor, "count", where)
        if "bufferView" in accessor:
            packed = _elements(document, accessor, count, columns, rows, kind, where)
        elif count > MOST_ZEROS:
            raise document.error(where, f"asks for {count} zeros; at most {MOST_ZEROS} are taken without data")
        else:
            packed = np.zeros((count, columns, rows), kind)
        if "sparse" in accessor:
            packed = _with_sparse(document, accessor, packed, where)
        values = packed.astype(float)
        if accessor.get("normalized") and kind.kind in "iu":
            values = np.maximum(values / float(np.iinfo(kind).max), -1.0)
        if columns > 1:
            return np.ascontiguousarray(values.transpose(0, 2, 1))
        return values[:, 0, 0] if rows == 1 else values[:, 0]


def _component(document: Document, holder: Json, where: str) -> np.dtype[Any]:
    kind = COMPONENTS.get(holder.get("componentType", 0)) if isinstance(holder.get("componentType"), int) else None
    if kind is None:
        raise document.error(
            f"{where}.componentType", f"expected one of {list(COMPONENTS)}, got {holder.get('componentType')!r}"
        )
    return kind


def _elements(
    document: Document, accessor: Json, count: int, columns: int, rows: int, kind: np.dtype[Any], where: str
) -> np.ndarray:
    """(N, columns, rows) the stored elements, any stride between them taken out."""
    data, stride = _view(document, accessor.get("bufferView"), where)
    # Each column of a matrix starts at a multiple of four bytes.
    column = rows * kind.itemsize if columns == 1 else -(-rows * kind.itemsize // 4) * 4
    size = column * columns
    start = document.whole(accessor, "byteOffset", where, 0)
    stride = stride or size
    if stride < size:
        raise document.error(where, f"elements of {size} bytes do not fit a stride of {stride}")
    if count and start + stride * (count - 1) + size > len(data):
        needed = start + stride * (count - 1) + size
        raise document.error(where, f"needs {needed} bytes of its buffer view, which has {len(data)}")
    if count == 0:
        return np.zeros((0, columns, rows), kind)
    return np.ndarray((count, columns, rows), kind, data, start, (stride, column, kind.itemsize))


def _view(document: Document, number: Any, where: str) -> tuple[memoryview, int]:
    """The bytes of a buffer view and the stride it gives, 0 if none."""
    view = document.item("bufferViews", number, f"{where}.bufferView")
    where = f"bufferViews[{number}]"
    if any(name in view.get("extensions", {}) for name in COMPRESSED if isinstance(view.get("extensions", {}), dict)):
        raise document.error(
            where, "is packed by meshopt, which cannot be read", "unpack it: `gltf-transform copy IN OUT`"
        )
    document.item("buffers", view.get("buffer"), f"{where}.buffer")
    data = document.buffers[view["buffer"]]
    start, length = document.whole(view, "byteOffset", where, 0), document.whole(view, "byteLength", where)
    if start + length > len(data):
        raise document.error(where, f"ends at byte {start + length} of buffer {view['buffer']}, which has {len(data)}")
    stride = document.whole(view, "byteStride", where, 0)
    return memoryview(data)[start : start + length], stride


def _with_sparse(document: Document, accessor: Json, packed: np.ndarray, where: str) -> np.ndarray:
    """The elements with those replaced that the sparse part lists."""
    where = f"{where}.sparse"
    sparse = document.object(accessor["sparse"], where)
    count = document.whole(sparse, "count", where)
    if count > len(packed):
        raise document.error(where, f"replaces {count} elements of {len(packed)}")
    places, values = (document.object(sparse.get(key), f"{where}.{key}") for key in ("indices", "values"))
    kind = _component(document, places, f"{where}.indices")
    if kind.kind != "u":
        raise document.error(f"{where}.indices.componentType", "expected unsigned whole numbers")
    at = _elements(document, places, count, 1, 1, kind, f"{where}.indices")[:, 0, 0].astype(np.int64)
    if count and (np.any(np.diff(at) <= 0) or at[-1] >= len(packed)):
        raise document.error(f"{where}.indices", f"expected rising numbers below {len(packed)}")
    out = np.array(packed)
    columns, rows = packed.shape[1:]
    out[at] = _elements(document, values, count, columns, rows, packed.dtype, f"{where}.values")
    return out
