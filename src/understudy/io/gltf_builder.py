"""Adding to a glTF file in memory: numbers as accessors, animations as channels, and the bytes of the whole."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any, BinaryIO

import numpy as np

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.io.gltf_accessor import COMPONENTS, FLOAT, SHAPES
from understudy.io.gltf_document import BINARY_CHUNK, JSON_CHUNK, MAGIC, Json
from understudy.io.gltf_tracks import Track

VERTICES, ELEMENTS = 34962, 34963
"""What a buffer view is for: vertex attributes, vertex numbers."""
LONGEST = 2**32 - 1
"""Bytes in a GLB file."""

_TYPES = {shape: kind for kind, shape in SHAPES.items()}


class Builder:
    """A glTF file that grows: what is added goes to the end of its first buffer, and nothing in it is moved."""

    def __init__(self, tree: Json, buffers: tuple[bytes, ...] = ()) -> None:
        self.tree = tree
        self._rest = buffers[1:]
        self._data = bytearray(buffers[0] if buffers else b"")

    def _list(self, key: str) -> list[Any]:
        found: list[Any] = self.tree.setdefault(key, [])
        return found

    def add(
        self, values: np.ndarray, *, component: int = FLOAT, target: int | None = None, bounds: bool = False
    ) -> int:
        """Store numbers (N,), (N, n) or matrices (N, 4, 4) and return the number of their accessor."""
        packed = values.swapaxes(1, 2) if values.ndim == 3 else values
        packed = np.ascontiguousarray(packed, COMPONENTS[component])
        shape = (4, 4) if values.ndim == 3 else (1, 1 if values.ndim == 1 else values.shape[1])
        self._data += bytes(-len(self._data) % 4)
        view: Json = {"buffer": 0, "byteOffset": len(self._data), "byteLength": packed.nbytes}
        if target is not None:
            view["target"] = target
        self._data += packed.tobytes()
        self._list("bufferViews").append(view)
        accessor: Json = {
            "bufferView": len(self.tree["bufferViews"]) - 1,
            "componentType": component,
            "count": len(values),
            "type": _TYPES[shape],
        }
        if bounds:
            flat = packed.reshape(len(packed), -1)
            accessor["min"], accessor["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        self._list("accessors").append(accessor)
        return len(self.tree["accessors"]) - 1

    def animation(self, name: str, times: Array, fps: float, tracks: list[Track]) -> Json:
        """An animation with a key on every frame of every channel."""
        clock = self.add(times, bounds=True)
        channels: list[Json] = []
        samplers: list[Json] = []
        for track in tracks:
            moves = {"translation": track.translations, "rotation": track.rotations[:, [1, 2, 3, 0]]}
            for path, values in moves.items():
                if values is None:
                    continue
                channels.append({"sampler": len(samplers), "target": {"node": track.node, "path": path}})
                samplers.append({"input": clock, "interpolation": "LINEAR", "output": self.add(values)})
        return {"name": name, "channels": channels, "samplers": samplers, "extras": {"fps": fps}}

    def write(self, stream: BinaryIO, *, text: bool) -> None:
        """Write the file, all buffers inside it: as text with base64, or as a binary container."""
        if self._data:
            self._data += bytes(-len(self._data) % 4)
            first: Json = self._list("buffers")[0] if self.tree.get("buffers") else {}
            first = {key: value for key, value in first.items() if key != "uri"} | {"byteLength": len(self._data)}
            self._list("buffers")[:1] = [first | {"uri": _data_uri(bytes(self._data))} if text else first]
        for number, data in enumerate(self._rest, start=1):
            buffer = self.tree["buffers"][number]
            if not str(buffer.get("uri", "")).startswith("data:"):
                self.tree["buffers"][number] = {**buffer, "uri": _data_uri(data)}
        if text:
            stream.write(json.dumps(self.tree, ensure_ascii=False, indent=1).encode())
            return
        head = json.dumps(self.tree, ensure_ascii=False, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 4)
        chunks = struct.pack("<II", len(head), JSON_CHUNK) + head
        if self._data:
            chunks += struct.pack("<II", len(self._data), BINARY_CHUNK)
        length = 12 + len(chunks) + len(self._data)
        if length > LONGEST:
            raise OptionError(f"The file would have {length} bytes, and GLB holds at most {LONGEST}")
        stream.write(MAGIC + struct.pack("<II", 2, length) + chunks)
        stream.write(self._data)


def _data_uri(data: bytes) -> str:
    return f"data:application/octet-stream;base64,{base64.b64encode(data).decode('ascii')}"
