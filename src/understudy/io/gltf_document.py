"""A glTF file as it stands: its JSON, its buffers, and checked ways to ask for what is in them.

Source: Khronos glTF 2.0 specification, sections 3.6 (buffers), 4.4 (GLB container) and 5 (properties).
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from understudy.errors import FileError
from understudy.geometry.quaternion import Array

MAGIC = b"glTF"
JSON_CHUNK, BINARY_CHUNK = 0x4E4F534A, 0x004E4942
LARGEST = 1e12
"""Numbers beyond this are taken for damage: no body is so large, and their squares must stay finite."""

Json = dict[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Document:
    """A glTF file in memory. Nothing of it is ever changed."""

    name: str
    """The file as the user named it, for errors."""
    tree: Json
    """The JSON."""
    buffers: tuple[bytes, ...]
    """The bytes of each buffer, as long as it says."""
    folder: str = ""
    """Where the file lies, which external files are beside."""

    def error(self, where: str, problem: str, hint: str = "") -> FileError:
        """An error about a place in the JSON, such as `nodes[3].scale`."""
        return FileError(self.name, None, f"{where}: {problem}" if where else problem, hint=hint)

    def list_of(self, key: str) -> list[Any]:
        """A top-level list of the JSON; empty if it is not there."""
        found = self.tree.get(key, [])
        if not isinstance(found, list):
            raise self.error(key, f"expected a list, got {_shown(found)}")
        return found

    def item(self, key: str, number: Any, where: str) -> Json:
        """An object of a top-level list, by a number that another place gives."""
        everything = self.list_of(key)
        if not everything:
            raise self.error(where, f"names number {_shown(number)} of {key}, of which there are none")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(everything):
            raise self.error(where, f"expected a number from 0 to {len(everything) - 1} of {key}, got {_shown(number)}")
        return self.object(everything[number], f"{key}[{number}]")

    def object(self, value: Any, where: str) -> Json:
        """A value that must be a JSON object."""
        if not isinstance(value, dict):
            raise self.error(where, f"expected an object, got {_shown(value)}")
        return value

    def objects(self, value: Any, where: str) -> list[Json]:
        """A value that must be a list of JSON objects."""
        if not isinstance(value, list):
            raise self.error(where, f"expected a list, got {_shown(value)}")
        return [self.object(each, f"{where}[{i}]") for i, each in enumerate(value)]

    def indices(self, value: Any, count: int, where: str) -> list[int]:
        """A value that must be a list of different numbers below a count."""
        if not isinstance(value, list):
            raise self.error(where, f"expected a list, got {_shown(value)}")
        for i, each in enumerate(value):
            if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each < count:
                raise self.error(f"{where}[{i}]", f"expected a number from 0 to {count - 1}, got {_shown(each)}")
        if len(set(value)) < len(value):
            twice = next(each for i, each in enumerate(value) if each in value[:i])
            raise self.error(where, f"number {twice} is listed twice")
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
        good = isinstance(value, list) and len(value) == len(default)
        if not good or any(
            isinstance(v, bool) or not isinstance(v, int | float) or not abs(v) < LARGEST for v in value
        ):
            raise self.error(f"{where}.{key}", f"expected {len(default)} finite numbers, got {_shown(value)}")
        return np.array(value, float)

    def text(self, holder: Json, key: str) -> str:
        """A name in an object; empty where there is none."""
        value = holder.get(key, "")
        return value if isinstance(value, str) else ""


def parse(data: bytes, name: str) -> Document:
    """Take a .gltf or .glb file apart, whichever it is by its first bytes."""
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
    loaded = tuple(_load_buffer(document, each, i, binary) for i, each in enumerate(buffers))
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
    found: dict[int, bytes] = {}
    place = 12
    while place + 8 <= length:
        size, kind = struct.unpack_from("<II", data, place)
        if place + 8 + size > length:
            raise FileError(
                name, None, f"the chunk at byte {place} says it has {size} bytes; {length - place - 8} left"
            )
        if not found and kind != JSON_CHUNK:
            raise FileError(name, None, f"expected a JSON chunk first, got one of kind {kind:#x}")
        # Chunks of other kinds belong to extensions and are passed over, as the specification asks.
        found.setdefault(kind, data[place + 8 : place + 8 + size])
        place += 8 + size
    if JSON_CHUNK not in found:
        raise FileError(name, None, "has no JSON chunk")
    return found[JSON_CHUNK], found.get(BINARY_CHUNK)


def _parse_json(text: bytes, name: str) -> Json:
    def no_number(word: str) -> float:
        raise ValueError(f"`{word}` is no number in JSON")

    try:
        tree = json.loads(text.decode("utf-8-sig"), parse_constant=no_number)
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
        data = _data_uri(document, uri, f"{where}.uri")
    else:
        data = _beside(document, uri, length, f"{where}.uri")
    if len(data) < length:
        raise document.error(where, f"says it has {length} bytes, and there are {len(data)}")
    return data[:length]


def _data_uri(document: Document, uri: str, where: str) -> bytes:
    head, comma, text = uri.partition(",")
    if not comma or not head.endswith(";base64"):
        raise document.error(where, f"expected `data:...;base64,`, got `{head[:40]}`")
    try:
        return base64.b64decode(unquote(text), validate=True)
    except (binascii.Error, ValueError) as error:
        raise document.error(where, f"is no base64: {error}") from None


def _beside(document: Document, uri: str, length: int, where: str) -> bytes:
    """The bytes of a file that lies with the document, in its folder or below."""
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
        with open(path, "rb") as stream:
            return stream.read(length)
    except (OSError, ValueError) as error:
        raise document.error(where, f"`{uri[:80]}` cannot be read: {error}") from None


def _shown(value: Any) -> str:
    """A JSON value for an error message, cut short."""
    text = json.dumps(value, default=str)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
