"""NPZ archives: named arrays in a zip file, as numpy writes them.

numpy reads the arrays and never unpickles any. Before it does, the sizes in the zip directory are compared with a
limit, and the shape in each array's header with the bytes that follow. A false size therefore reserves no memory.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from understudy.base.errors import FileError, OptionError

MAX_TOTAL_BYTES = 2**30
"""Limit for all arrays of an archive together: about an hour of a hundred joints at 120 frames a second."""

MAX_ARRAYS = 1000

# Version 3 differs from version 2 only in the names of fields, and arrays with fields are refused.
_HEADER_READERS = {
    (1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0, (3, 0): npy.read_array_header_2_0,
}  # fmt: skip

_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, ValueError, struct.error)


@dataclass(eq=False, kw_only=True)
class Archive:
    """The arrays of an NPZ file. Each array is read when it is requested."""

    file: zipfile.ZipFile
    name: str

    @staticmethod
    def open(stream: BinaryIO, name: str) -> Archive:
        """Open an archive.

        Args:
            stream: The file's bytes.
            name: The file as the user named it, for errors.
        """
        try:
            file = zipfile.ZipFile(stream)
        except _ZIP_ERRORS as error:
            raise FileError(name, None, f"no NPZ archive: {error}") from None
        members = file.infolist()
        if len(members) > MAX_ARRAYS:
            raise FileError(name, None, f"holds {len(members)} arrays; at most {MAX_ARRAYS} are read")
        size = sum(member.file_size for member in members)
        if size > MAX_TOTAL_BYTES:
            raise FileError(name, None, f"unpacks to {size} bytes; at most {MAX_TOTAL_BYTES} are read")
        return Archive(file=file, name=name)

    @property
    def keys(self) -> list[str]:
        """The names of the arrays."""
        return [member.removesuffix(".npy") for member in self.file.namelist()]

    def wrong(self, problem: str, *, hint: str = "") -> FileError:
        """An error that names the file."""
        return FileError(self.name, None, problem, hint=hint)

    def array(self, key: str) -> np.ndarray:
        """One array of numbers, truth values or text."""
        member = f"{key}.npy"
        if member not in self.file.namelist():
            raise self.wrong(f"has no array `{key}`")
        try:
            data = io.BytesIO(self.file.read(member))
        except _ZIP_ERRORS as error:
            raise self.wrong(f"`{key}` cannot be unpacked: {error}") from None
        try:
            shape, _, dtype = _HEADER_READERS[npy.read_magic(data)](data)
        except Exception as error:  # numpy's parser raises many kinds of errors for a damaged header.
            raise self.wrong(f"`{key}` is no array: {error}") from None
        if dtype.kind not in "fiubSU":
            raise self.wrong(f"`{key}` holds `{dtype.str[:40]}`; expected plain numbers or text: nothing is unpickled")
        if any(length < 0 for length in shape):
            raise self.wrong(f"`{key}` is no array: its shape is `{str(shape)[:40]}`")
        num_bytes = len(data.getbuffer()) - data.tell()
        if prod(shape) * max(dtype.itemsize, 1) != num_bytes:
            raise self.wrong(f"`{key}` says it is {shape} of {dtype}, but has {num_bytes} bytes")
        data.seek(0)
        try:
            return npy.read_array(data, allow_pickle=False)
        except (ValueError, TypeError) as error:
            raise self.wrong(f"`{key}` is no array: {error}") from None

    def numbers(self, key: str) -> np.ndarray:
        """One array of numbers in double precision."""
        array = self.array(key)
        if array.dtype.kind not in "fiub":
            raise self.wrong(f"`{key}`: expected numbers, got {array.dtype}")
        return np.array(array, float)

    def number(self, key: str) -> float:
        """One number."""
        array = self.numbers(key)
        if array.size != 1:
            raise self.wrong(f"`{key}`: expected one number, got shape {array.shape}")
        return float(array.reshape(-1)[0])

    def texts(self, key: str) -> tuple[str, ...]:
        """A row of texts."""
        array = self.array(key)
        if array.ndim > 1 or (array.dtype.kind not in "US" and array.size):
            raise self.wrong(f"`{key}`: expected a row of texts, got {array.dtype} of shape {array.shape}")
        try:
            if array.dtype.kind == "S":
                array = np.char.decode(array, "utf-8")
            return tuple(str(text) for text in array.reshape(-1))
        except (UnicodeDecodeError, ValueError):
            raise self.wrong(f"`{key}`: the text cannot be read") from None

    def text(self, key: str) -> str:
        """One text."""
        texts = self.texts(key)
        if len(texts) != 1:
            raise self.wrong(f"`{key}`: expected one text, got {len(texts)}")
        return texts[0]


def save(arrays: dict[str, Any], stream: BinaryIO) -> None:
    """Write arrays as an NPZ archive; the same arrays give the same bytes."""
    converted: dict[str, Any] = {key: np.asarray(value) for key, value in arrays.items()}
    size = sum(array.nbytes for array in converted.values())
    if size > MAX_TOTAL_BYTES:
        raise OptionError(
            f"The motion takes {size} bytes, and NPZ files hold at most {MAX_TOTAL_BYTES}",
            hint="write fewer frames: --frames A:B or --fps",
        )
    np.savez_compressed(stream, **converted)


def row(texts: tuple[str, ...] | list[str]) -> np.ndarray:
    """Texts as an array, which may be empty."""
    return np.array(list(texts), dtype=np.str_) if texts else np.zeros(0, "U1")
