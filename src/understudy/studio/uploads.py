"""Files from the page: by plain names, of known kinds, no larger than allowed, and kept only when they are whole."""

from __future__ import annotations

import asyncio
import filecmp
import os
import re
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from understudy.errors import FileError
from understudy.io import formats

LARGEST = 256 << 20
"""Bytes of a file at most."""
BESIDES = (".toml", ".json", ".csv", ".bin")
"""Endings of files that go with motions and characters: recipes and maps, contacts, paths of props, buffers."""


class TooLargeError(FileError):
    """A file that is larger than what is taken."""


def upload_name(name: str) -> str:
    """The name that a file is kept by: without folders, of plain letters, with an ending that the studio knows."""
    plain = re.sub(r"[^\w .()+-]", "_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    suffix = Path(plain).suffix.lower()
    known = dict.fromkeys([*(s for found in formats().values() for s in found.suffixes if found.read), *BESIDES])
    if suffix not in known:
        raise FileError(plain or "?", None, f"the studio takes no such files; known: {', '.join(known)}")
    return Path(plain).stem[:100] + suffix


async def receive(chunks: AsyncIterator[bytes], name: str, folder: Path, largest: int) -> Path:
    """Take a file in; one of the same name and other content gets a number, the same file is the same file.

    Args:
        chunks: What it holds.
        name: As `upload_name` gives it.
        folder: Where it goes.
        largest: Bytes at most.
    """
    size = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > largest:
                        problem = f"is larger than the {largest / (1 << 20):g} MB that the studio takes"
                        raise TooLargeError(name, None, problem, hint="put it into an open folder instead")
                    stream.write(chunk)
            return await asyncio.to_thread(_settle, Path(part), folder / name)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(name, None, f"cannot be kept: {error.strerror}") from None


def _settle(part: Path, path: Path) -> Path:
    number, found = 2, path
    while found.exists():
        if filecmp.cmp(part, found, shallow=False):
            return found
        found, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    os.replace(part, found)
    return found
