"""A glTF file in memory: its JSON, its buffers, the numbers of its accessors and its tree of nodes.

Source: Khronos glTF 2.0 specification, sections 3.5 (nodes), 3.6 (buffers and accessors) and 4.4 (GLB).
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from understudy.base.errors import FileError
from understudy.base.files import open_to_read
from understudy.base.quaternion import Array, normalize
from understudy.base.records import cached, record
from understudy.io.matrices import compose, decompose

MAGIC = b"glTF"

JSON_CHUNK, BINARY_CHUNK = 0x4E4F534A, 0x004E4942

MAX_NUMBER = 1e12
"""A larger number counts as damage: no body is that large, and squares must stay finite."""

Json = dict[str, Any]


@record
class Document:
    """A glTF file in memory. It is never changed."""

    name: str
    """The file as the user named it, for errors."""
    tree: Json
    """The JSON."""
    buffers: tuple[bytes, ...]
    """The bytes of each buffer, cut to the length that the JSON gives."""
    folder: str = ""
    """The folder of the file, in which external files are looked up."""

    def error(self, where: str, problem: str, hint: str = "") -> FileError:
        """An error about a place in the JSON, such as `nodes[3].scale`."""
        return FileError(self.name, None, f"{where}: {problem}" if where else problem, hint=hint)

    def list_of(self, key: str) -> list[Any]:
        """A top-level list of the JSON; empty if the key is missing."""
        value = self.tree.get(key, [])
        if not isinstance(value, list):
            raise self.error(key, f"expected a list, got {_shown(value)}")
        return value

    def item(self, key: str, number: Any, where: str) -> Json:
        """An object of a top-level list, by an index that stands at `where` in the JSON."""
        items = self.list_of(key)
        if not items:
            raise self.error(where, f"refers to number {_shown(number)} of {key}, but the file has none")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(items):
            raise self.error(where, f"expected a number from 0 to {len(items) - 1} of {key}, got {_shown(number)}")
        return self.object(items[number], f"{key}[{number}]")

    def object(self, value: Any, where: str) -> Json:
        """A value that must be a JSON object."""
        if not isinstance(value, dict):
            raise self.error(where, f"expected an object, got {_shown(value)}")
        return value

    def objects(self, value: Any, where: str) -> list[Json]:
        """A value that must be a list of JSON objects."""
        if not isinstance(value, list):
            raise self.error(where, f"expected a list, got {_shown(value)}")
        return [self.object(item, f"{where}[{i}]") for i, item in enumerate(value)]

    def indices(self, value: Any, count: int, where: str) -> list[int]:
        """A value that must be a list of distinct indices below a count."""
        if not isinstance(value, list):
            raise self.error(where, f"expected a list, got {_shown(value)}")
        for i, index in enumerate(value):
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
                raise self.error(f"{where}[{i}]", f"expected a number from 0 to {count - 1}, got {_shown(index)}")
        if len(set(value)) < len(value):
            repeated = next(index for i, index in enumerate(value) if index in value[:i])
            raise self.error(where, f"number {repeated} is listed twice")
        return value

    def whole(self, holder: Json, key: str, where: str, default: int | None = None) -> int:
        """A whole number of at least 0 in an object."""
        value = holder.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.error(f"{where}.{key}", f"expected a whole number of at least 0, got {_shown(value)}")
        return value

    def numbers(self, holder: Json, key: str, default: tuple[float, ...], where: str) -> Array:
        """(N,) finite numbers in an object, as many as the default has."""
        value = holder.get(key)
        if value is None:
            return np.array(default, float)
        fits = isinstance(value, list) and len(value) == len(default)
        if not fits or any(
            isinstance(v, bool) or not isinstance(v, int | float) or not abs(v) < MAX_NUMBER for v in value
        ):
            raise self.error(f"{where}.{key}", f"expected {len(default)} finite numbers, got {_shown(value)}")
        return np.array(value, float)

    def text(self, holder: Json, key: str) -> str:
        """A text in an object; empty if it is missing or no text."""
        value = holder.get(key, "")
        return value if isinstance(value, str) else ""


def parse(data: bytes, name: str) -> Document:
    """Parse a .gltf or .glb file. The first bytes tell which of the two it is."""
    binary: bytes | None = None
    text = data
    if data[:4] == MAGIC:
        text, binary = _chunks(data, name)
    elif not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        shown = "nothing" if not data else f"`{data[:12].decode('latin-1')!r}`"
        raise FileError(name, None, f"is no glTF: expected `glTF` or `{{` at its start, got {shown}")
    tree = _parse_json(text, name)
    folder = str(Path(name).parent)
    document = Document(name=name, tree=tree, buffers=(), folder=folder)
    _check_version(document)
    buffers = document.objects(document.list_of("buffers"), "buffers")
    loaded = tuple(_load_buffer(document, buffer, i, binary) for i, buffer in enumerate(buffers))
    return Document(name=name, tree=tree, buffers=loaded, folder=folder)


def _chunks(data: bytes, name: str) -> tuple[bytes, bytes | None]:
    """The JSON and the binary chunk of a GLB container."""
    if len(data) < 20:
        raise FileError(name, None, f"is cut off: a GLB has a header of 20 bytes, this file has {len(data)}")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise FileError(name, None, f"is GLB version {version}; only version 2 can be read")
    if length > len(data):
        raise FileError(name, None, f"is cut off: it says it has {length} bytes, and there are {len(data)}")
    chunks: dict[int, bytes] = {}
    start = 12
    while start + 8 <= length:
        size, kind = struct.unpack_from("<II", data, start)
        if start + 8 + size > length:
            raise FileError(
                name, None, f"the chunk at byte {start} says it has {size} bytes; {length - start - 8} left"
            )
        if not chunks and kind != JSON_CHUNK:
            raise FileError(name, None, f"expected a JSON chunk first, got one of kind {kind:#x}")
        # Chunks of other kinds belong to extensions. The specification requires readers to ignore them.
        chunks.setdefault(kind, data[start + 8 : start + 8 + size])
        start += 8 + size
    if JSON_CHUNK not in chunks:
        raise FileError(name, None, "has no JSON chunk")
    return chunks[JSON_CHUNK], chunks.get(BINARY_CHUNK)


def _parse_json(text: bytes, name: str) -> Json:
    def refuse_constant(word: str) -> float:
        raise ValueError(f"`{word}` is no number in JSON")

    try:
        tree = json.loads(text.decode("utf-8-sig"), parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise FileError(
            name, error.lineno, f"is no glTF: its JSON breaks off in column {error.colno}, {error.msg}"
        ) from None
    except UnicodeDecodeError:
        raise FileError(name, None, "is no glTF: its JSON is not UTF-8 text") from None
    except RecursionError:
        raise FileError(name, None, "its JSON is nested too deep to be a glTF file") from None
    except ValueError as error:
        raise FileError(name, None, f"its JSON cannot be read: {error}") from None
    if not isinstance(tree, dict):
        raise FileError(name, None, f"is no glTF: expected a JSON object, got {_shown(tree)}")
    return tree


def _check_version(document: Document) -> None:
    asset = document.tree.get("asset")
    if not isinstance(asset, dict) or not isinstance(asset.get("version"), str):
        raise document.error("asset.version", "is missing, so this is no glTF 2.0 file")
    needed = asset.get("minVersion", asset["version"])
    if not str(needed).startswith("2."):
        raise document.error("asset.version", f"is {_shown(needed)}; only glTF 2.0 can be read")


def _load_buffer(document: Document, buffer: Json, number: int, binary: bytes | None) -> bytes:
    where = f"buffers[{number}]"
    length = document.whole(buffer, "byteLength", where)
    uri = buffer.get("uri")
    if uri is None:
        if number != 0 or binary is None:
            raise document.error(where, "has no `uri`, and there is no binary chunk that it could mean")
        data = binary
    elif not isinstance(uri, str):
        raise document.error(f"{where}.uri", f"expected text, got {_shown(uri)}")
    elif uri.startswith("data:"):
        data = decode_data_uri(document, uri, f"{where}.uri")
    else:
        data = read_external(document, uri, length, f"{where}.uri")
    if len(data) < length:
        raise document.error(where, f"says it has {length} bytes, and there are {len(data)}")
    return data[:length]


def decode_data_uri(document: Document, uri: str, where: str) -> bytes:
    head, comma, text = uri.partition(",")
    if not comma or not head.endswith(";base64"):
        raise document.error(where, f"expected `data:...;base64,`, got `{head[:40]}`")
    try:
        return base64.b64decode(unquote(text), validate=True)
    except (binascii.Error, ValueError) as error:
        raise document.error(where, f"is no base64: {error}") from None


def read_external(document: Document, uri: str, length: int, where: str, at_most: int | None = None) -> bytes:
    """The first bytes of a file in the document's folder or below it. Other files are refused.

    Args:
        document: The file that refers to it.
        uri: The name of the other file, relative to the folder.
        length: Bytes that it must have.
        where: The place in the JSON, for errors.
        at_most: Bytes that are read; the length if not given.
    """
    parts = urlsplit(uri) if "\0" not in uri else None
    relative = unquote(uri)
    hint = "put the file beside this one and name it without a folder"
    if parts is None or parts.scheme or parts.netloc or "\0" in relative or "\\" in relative:
        raise document.error(where, f"`{uri[:80]}` is no file beside this one", hint)
    folder = Path(document.folder).resolve()
    path = (folder / relative).resolve()
    if not path.is_relative_to(folder) or Path(relative).is_absolute():
        raise document.error(where, f"`{uri[:80]}` lies outside the folder of this file", hint)
    try:
        if not path.is_file():
            raise document.error(where, f"there is no file `{uri[:80]}` beside this one")
        if path.stat().st_size < length:
            raise document.error(where, f"`{uri[:80]}` has {path.stat().st_size} bytes; expected {length}")
        with open_to_read(path) as stream:
            return stream.read(length if at_most is None else at_most)
    except (OSError, ValueError) as error:
        raise document.error(where, f"`{uri[:80]}` cannot be read: {error}") from None


def _shown(value: Any) -> str:
    """A JSON value for an error message, cut to 60 characters."""
    text = json.dumps(value, default=str)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


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

MAX_ZERO_ELEMENTS = 1 << 20
"""Elements of an accessor without stored data. A larger count would reserve memory that no data justifies."""

BASE_ACCESSOR_BYTES, ACCESSOR_BYTES_PER_FILE_BYTE = 1 << 28, 32
"""Memory limit of all accessors together: a base, plus a multiple of the size of the file's buffers."""

COMPRESSION_EXTENSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")


class Accessors:
    """Decodes accessors and keeps the result, so that each is decoded once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._decoded: dict[int, np.ndarray] = {}
        file_bytes = sum(len(buffer) for buffer in document.buffers)
        self._bytes_left = BASE_ACCESSOR_BYTES + ACCESSOR_BYTES_PER_FILE_BYTE * file_bytes

    def numbers(self, number: Any, kind: str, where: str) -> Array:
        """(N, ...) finite floating point numbers of an accessor: scalars (N,), vectors (N, n), matrices (N, n, n).

        Args:
            number: Index of the accessor.
            kind: The type it must have, such as "VEC3".
            where: The place in the JSON that refers to it, for errors.
        """
        values = self._values(number, kind, where)
        if not np.all(np.abs(values) < MAX_NUMBER):
            element = int(np.argwhere(~(np.abs(values) < MAX_NUMBER))[0][0])
            raise self._document.error(f"accessors[{number}]", f"element {element} holds a number that is not finite")
        return values

    def any_numbers(self, number: Any, kind: str, where: str) -> Array:
        """Like `numbers`, but the values may be infinite or NaN."""
        return self._values(number, kind, where)

    def whole(self, number: Any, kind: str, where: str) -> np.ndarray:
        """(N, ...) whole numbers of an accessor, such as joint and vertex indices."""
        accessor = self._document.item("accessors", number, where)
        if accessor.get("componentType") == FLOAT:
            raise self._document.error(f"accessors[{number}]", f"{where} needs whole numbers, not floating point ones")
        return self._values(number, kind, where).astype(np.int64)

    def _values(self, number: Any, kind: str, where: str) -> Array:
        accessor = self._document.item("accessors", number, where)
        if accessor.get("type") != kind:
            raise self._document.error(where, f"needs an accessor of type {kind}, got {accessor.get('type')!r}")
        if number not in self._decoded:
            values = self._decode(accessor, f"accessors[{number}]")
            values.setflags(write=False)
            self._bytes_left -= values.nbytes
            if self._bytes_left < 0:
                raise self._document.error("accessors", "take up far more numbers than there are bytes in the file")
            self._decoded[number] = values
        return self._decoded[number]

    def _decode(self, accessor: Json, where: str) -> Array:
        document = self._document
        kind = _component(document, accessor, where)
        columns, rows = SHAPES[accessor["type"]]
        count = document.whole(accessor, "count", where)
        if "bufferView" in accessor:
            packed = _elements(document, accessor, count, columns, rows, kind, where)
        elif count > MAX_ZERO_ELEMENTS:
            raise document.error(where, f"asks for {count} zeros; at most {MAX_ZERO_ELEMENTS} are taken without data")
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
    """(N, columns, rows) a view of the stored elements, without the gaps between them."""
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
    """The bytes of a buffer view and its stride; 0 if it has none."""
    view = document.item("bufferViews", number, f"{where}.bufferView")
    where = f"bufferViews[{number}]"
    extensions = view.get("extensions", {})
    if isinstance(extensions, dict) and any(name in extensions for name in COMPRESSION_EXTENSIONS):
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
    """A copy of the elements with the replacements of the accessor's sparse part."""
    where = f"{where}.sparse"
    sparse = document.object(accessor["sparse"], where)
    count = document.whole(sparse, "count", where)
    if count > len(packed):
        raise document.error(where, f"replaces {count} elements of {len(packed)}")
    indices, values = (document.object(sparse.get(key), f"{where}.{key}") for key in ("indices", "values"))
    kind = _component(document, indices, f"{where}.indices")
    if kind.kind != "u":
        raise document.error(f"{where}.indices.componentType", "expected unsigned whole numbers")
    at = _elements(document, indices, count, 1, 1, kind, f"{where}.indices")[:, 0, 0].astype(np.int64)
    if count and (np.any(np.diff(at) <= 0) or at[-1] >= len(packed)):
        raise document.error(f"{where}.indices", f"expected rising numbers below {len(packed)}")
    out = np.array(packed)
    columns, rows = packed.shape[1:]
    out[at] = _elements(document, values, count, columns, rows, packed.dtype, f"{where}.values")
    return out


@record
class GltfNodes:
    """The nodes of a file as parallel arrays, with their transforms when no animation plays."""

    names: tuple[str, ...]
    """As the file has them; empty where a node has none."""
    parents: np.ndarray
    """(N,) index of each node's parent; -1 for a root."""
    order: tuple[int, ...]
    """All nodes in depth-first order, parents before children."""
    translations: Array
    """(N, 3)"""
    rotations: Array
    """(N, 4) scalar first."""
    scales: Array
    """(N, 3)"""
    locals: Array
    """(N, 4, 4) parent from node; the file's own matrix where a node has one."""
    has_matrix: np.ndarray
    """(N,) whether the file gives the node's transform as a matrix."""

    @property
    def count(self) -> int:
        return len(self.names)

    @cached
    def worlds(self) -> Array:
        """(N, 4, 4) world from node, in the file's unit and axes."""
        out = np.empty((self.count, 4, 4))
        for node in self.order:
            parent = self.parents[node]
            out[node] = self.locals[node] if parent < 0 else out[parent] @ self.locals[node]
        return out

    @cached
    def children(self) -> tuple[tuple[int, ...], ...]:
        children: list[list[int]] = [[] for _ in range(self.count)]
        for node in self.order:
            if self.parents[node] >= 0:
                children[self.parents[node]].append(node)
        return tuple(tuple(nodes) for nodes in children)

    @cached
    def depths(self) -> np.ndarray:
        """(N,) number of ancestors of each node."""
        out = np.zeros(self.count, np.intp)
        for node in self.order:
            out[node] = out[self.parents[node]] + 1 if self.parents[node] >= 0 else 0
        return out

    def with_ancestors(self, members: Iterable[int]) -> set[int]:
        """Some nodes and all their ancestors."""
        result: set[int] = set()
        for node in members:
            while node >= 0 and node not in result:
                result.add(int(node))
                node = int(self.parents[node])
        return result


def read_nodes(document: Document) -> GltfNodes:
    """The nodes of a file. Raises unless they form trees: at most one parent each and no cycles."""
    nodes = document.objects(document.list_of("nodes"), "nodes")
    count = len(nodes)
    parents = np.full(count, -1, np.intp)
    children: list[list[int]] = []
    for i, node in enumerate(nodes):
        below = document.indices(node.get("children", []), count, f"nodes[{i}].children")
        children.append(below)
        for child in below:
            if parents[child] >= 0:
                raise document.error(f"nodes[{i}].children", f"node {child} is also a child of node {parents[child]}")
            parents[child] = i
    order, stack = [], [i for i in reversed(range(count)) if parents[i] < 0]
    while stack:
        node_number = stack.pop()
        order.append(node_number)
        stack += reversed(children[node_number])
    if len(order) < count:
        left = min(set(range(count)) - set(order))
        raise document.error(f"nodes[{left}]", "is its own ancestor; the nodes must be a tree")
    translations, rotations, scales, locals_ = _transforms(document, nodes)
    return GltfNodes(
        names=tuple(document.text(node, "name") for node in nodes),
        parents=parents,
        order=tuple(order),
        translations=translations,
        rotations=rotations,
        scales=scales,
        locals=locals_,
        has_matrix=np.array(["matrix" in node for node in nodes], bool),
    )


def _transforms(document: Document, nodes: list[Json]) -> tuple[Array, Array, Array, Array]:
    """Translations (N, 3), rotations (N, 4), scales (N, 3) and matrices (N, 4, 4) of nodes."""
    count = len(nodes)
    translations, rotations, scales, locals_ = np.zeros((count, 3)), np.zeros((count, 4)), np.ones((count, 3)), []
    for i, node in enumerate(nodes):
        where = f"nodes[{i}]"
        if "matrix" in node:
            matrix = document.numbers(node, "matrix", tuple(np.eye(4).ravel()), where).reshape(4, 4).T
            translations[i], rotations[i], scales[i] = decompose(matrix)
            locals_.append(matrix)
            continue
        translations[i] = document.numbers(node, "translation", (0.0, 0.0, 0.0), where)
        rotation = document.numbers(node, "rotation", (0.0, 0.0, 0.0, 1.0), where)
        rotations[i] = normalize(rotation[[3, 0, 1, 2]])
        scales[i] = document.numbers(node, "scale", (1.0, 1.0, 1.0), where)
        locals_.append(compose(translations[i], rotations[i], scales[i]))
    return translations, rotations, scales, np.array(locals_).reshape(count, 4, 4)
