"""Safe opening of files: readable errors, and writing that never leaves half a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from understudy.base.errors import FileError


def open_to_read(path: str | Path) -> BinaryIO:
    """Open a file for reading, or raise a readable error."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise FileError(str(path), None, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(str(path), None, "is a folder, not a file") from None
    except OSError as error:
        raise FileError(str(path), None, f"cannot be opened: {error.strerror}") from None


@contextmanager
def open_to_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside the path; move it into place on success, remove it on failure.

    A symbolic link stays a link: its target is replaced. A device or pipe is written to directly.
    """
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not (path.is_file() or path.is_dir()):
        with _open_special(path) as special:
            yield special
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise FileError(str(path), None, f"cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise FileError(str(path), None, f"cannot be written: {error.strerror}") from None
    except BaseException:
        _remove(temporary)
        raise


@contextmanager
def _open_special(path: Path) -> Iterator[BinaryIO]:
    """Open a device or pipe for writing."""
    try:
        with open(path, "wb") as stream:
            yield stream
    except OSError as error:
        raise FileError(str(path), None, f"cannot be written: {error.strerror}") from None


def _mode(path: Path) -> int:
    """The permissions of the file being replaced, or those a new file would get."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
