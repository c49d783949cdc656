"""NPZ archives, numpy's: arrays by name in a zip file, read without ever running what is in them.

Nothing is unpickled. Every array's declared size is compared with the bytes that are there before any memory is taken,
and an archive that would unpack to more than stated is refused.
"""

from __future__ import annotations

import ast
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError, OptionError

LARGEST = 2**30
"""Bytes that all arrays together may have: an hour of a hundred joints at 120 frames a second."""

MOST_ARRAYS = 1000

LONGEST_HEADER = 10_000

_PLAIN = re.compile(r"[<>|=]?[fiubSU]\d{1,9}")

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, struct.error)


@dataclass(eq=False, kw_only=True)
class Archive:
    """The arrays of an NPZ file, read when they are asked for."""

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
            found = zipfile.ZipFile(stream)
        except (*_BROKEN, ValueError) as error:
            raise FileError(name, None, f"no NPZ archive: {error}") from None
        members = found.infolist()
        if len(members) > MOST_ARRAYS:
            raise FileError(name, None, f"holds {len(members)} arrays; at most {MOST_ARRAYS} are read")
        size = sum(member.file_size for member in members)
        if size > LARGEST:
            raise FileError(name, None, f"unpacks to {size} bytes; at most {LARGEST} are read")
        return Archive(file=found, name=name)

    @property
    def keys(self) -> list[str]:
        """The names of the arrays."""
        return [member.removesuffix(".npy") for member in self.file.namelist()]

    def wrong(self, problem: str, *, hint: str = "") -> FileError:
        """An error that names the file."""
        return FileError(self.name, None, problem, hint=hint)

    def array(self, key: str) -> np.ndarray:
        """One array, of numbers, truth values or text."""
        member = f"{key}.npy"
        if member not in self.file.namelist():
            raise self.wrong(f"has no array `{key}`")
        try:
            with self.file.open(member) as stream:
                data = stream.read()
        except (*_BROKEN, ValueError) as error:
            raise self.wrong(f"`{key}` cannot be unpacked: {error}") from None
        return self._array(key, data)

    def _array(self, key: str, data: bytes) -> np.ndarray:
        header, start = self._header(key, data)
        kind, by_columns, shape = (header.get(part) for part in ("descr", "fortran_order", "shape"))
        if not isinstance(kind, str) or not _PLAIN.fullmatch(kind):
            raise self.wrong(f"`{key}` holds `{str(kind)[:40]}`; expected plain numbers or text: nothing is unpickled")
        if not isinstance(shape, tuple) or not all(type(length) is int and length >= 0 for length in shape):
            raise self.wrong(f"`{key}` is no array: its shape is `{str(shape)[:40]}`")
        try:
            dtype = np.dtype(kind)
        except TypeError:
            raise self.wrong(f"`{key}` is no array: there is no kind of number `{kind}`") from None
        left = len(data) - start
        if prod(shape) * dtype.itemsize != left:
            raise self.wrong(f"`{key}` says it is {shape} of {dtype}, but has {left} bytes")
        if left == 0:
            return np.zeros(shape if prod(shape) == 0 else (0,), dtype)
        return np.frombuffer(data, dtype=dtype, offset=start).reshape(shape, order="F" if by_columns else "C")

    def _header(self, key: str, data: bytes) -> tuple[dict[str, Any], int]:
        """What an array says of itself, and where its numbers start."""
        width = {b"\1": 2, b"\2": 4, b"\3": 4}.get(data[6:7], 0)
        if not data.startswith(b"\x93NUMPY") or not width or len(data) < 8 + width:
            raise self.wrong(f"`{key}` is no array: it does not begin like one")
        size = int.from_bytes(data[8 : 8 + width], "little")
        start = 8 + width + size
        try:
            if size > LONGEST_HEADER or start > len(data):
                raise ValueError(f"its header has {size} bytes")
            found = ast.literal_eval(data[8 + width : start].decode("utf-8" if width == 4 else "latin-1").strip())
            if not isinstance(found, dict):
                raise ValueError("its header is no table")
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
            raise self.wrong(f"`{key}` is no array: {error}") from None
        return found, start

    def numbers(self, key: str) -> np.ndarray:
        """One array of numbers, double precision."""
        found = self.array(key)
        if found.dtype.kind not in "fiub":
            raise self.wrong(f"`{key}`: expected numbers, got {found.dtype}")
        return np.array(found, float)

    def number(self, key: str) -> float:
        """One number."""
        found = self.numbers(key)
        if found.size != 1:
            raise self.wrong(f"`{key}`: expected one number, got shape {found.shape}")
        return float(found.reshape(-1)[0])

    def texts(self, key: str) -> tuple[str, ...]:
        """A row of texts."""
        found = self.array(key)
        if found.ndim > 1 or (found.dtype.kind not in "US" and found.size):
            raise self.wrong(f"`{key}`: expected a row of texts, got {found.dtype} of shape {found.shape}")
        try:
            if found.dtype.kind == "S":
                found = np.char.decode(found, "utf-8")
            return tuple(str(text) for text in found.reshape(-1))
        except (UnicodeDecodeError, ValueError):
            raise self.wrong(f"`{key}`: the text cannot be read") from None

    def text(self, key: str) -> str:
        """One text."""
        found = self.texts(key)
        if len(found) != 1:
            raise self.wrong(f"`{key}`: expected one text, got {len(found)}")
        return found[0]


def save(arrays: dict[str, Any], stream: BinaryIO) -> None:
    """Write arrays as an NPZ archive; the same arrays give the same bytes."""
    whole: dict[str, Any] = {key: np.asarray(value) for key, value in arrays.items()}
    size = sum(value.nbytes for value in whole.values())
    if size > LARGEST:
        raise OptionError(
            f"The motion takes {size} bytes, and NPZ files hold at most {LARGEST}",
            hint="write fewer frames: --frames A:B or --fps",
        )
    np.savez_compressed(stream, **whole)


def row(texts: tuple[str, ...] | list[str]) -> np.ndarray:
    """Texts as an array, also if there are none."""
    return np.array(list(texts), dtype=np.str_) if texts else np.zeros(0, "U1")
