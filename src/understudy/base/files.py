"""Safe opening of files: readable errors, and writing that never leaves half a file."""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

from understudy.base.errors import FileError

OPENED: ContextVar[list[str] | None] = ContextVar("opened", default=None)
"""The files that were opened for reading in the surrounding `record_opened`; None outside of one."""

MAX_PIPE_WAIT_SECONDS = 2.0
"""How long a pipe may be without a reader before writing to it is refused."""

STALE_PART_SECONDS = 3600.0
"""A temporary file that was last written longer ago belongs to a process that was killed."""


@contextmanager
def record_opened() -> Iterator[list[str]]:
    """Collect the absolute paths of all files that readers open inside the context, in the order of first use."""
    paths: list[str] = []
    token = OPENED.set(paths)
    try:
        yield paths
    finally:
        OPENED.reset(token)


def note_opened(path: str | Path) -> None:
    """Report a file that a reader opens by other means than `open_to_read`, such as a library."""
    paths, absolute = OPENED.get(), os.path.abspath(path)
    if paths is not None and absolute not in paths:
        paths.append(absolute)


def open_to_read(path: str | Path) -> BinaryIO:
    """Open a file for reading, or raise a readable error. Pipes and devices are refused: they may block for ever."""
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise FileError(str(path), None, f"is {_kind(mode)}, not a file", hint="copy what it holds into a file")
        stream = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise FileError(str(path), None, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(str(path), None, "is a folder, not a file") from None
    except OSError as error:
        raise FileError(str(path), None, f"cannot be opened: {error.strerror}") from None
    except ValueError as error:
        # A name with a null character.
        raise FileError(repr(str(path)), None, f"is no file name: {error}") from None
    note_opened(path)
    return stream


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))
    return next((word for test, word in kinds if test(mode)), "a socket")


@contextmanager
def open_to_write(path: str | Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file beside the path; move it into place on success, remove it on failure.

    A symbolic link stays a link: its target is replaced. A device or pipe is written to directly. Temporary files of
    the same path that a killed process left are removed.

    Args:
        path: The file.
        mode: Its permissions; None for those of the file that it replaces, or of a new file.
    """
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not (path.is_file() or path.is_dir()):
        with _open_special(path) as special:
            yield special
        return
    remove_parts(path.parent, path.name, older_than=STALE_PART_SECONDS)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise FileError(str(path), None, f"cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(path) if mode is None else mode)
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise FileError(str(path), None, f"cannot be written: {error.strerror}") from None
    except BaseException:
        _remove(temporary)
        raise


def remove_parts(folder: Path, name: str = "", *, older_than: float = 0.0) -> None:
    """Remove the temporary files that killed processes left in a folder.

    Args:
        folder: The folder; it need not exist.
        name: Only those that were to become this file; empty for all.
        older_than: Only those that nobody has written to for so many seconds.
    """
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(".part") and entry.name.startswith(f".{name}." if name else "."):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime >= older_than:
                        os.unlink(entry.path)


@contextmanager
def _open_special(path: Path) -> Iterator[BinaryIO]:
    """Open a device or pipe for writing. A pipe that nobody reads is refused."""
    try:
        with open(path, "wb", opener=_open_pipe if path.is_fifo() else None) as stream:
            yield stream
    except OSError as error:
        raise FileError(str(path), None, f"cannot be written: {error.strerror}") from None


def _open_pipe(path: str, _: int) -> int:
    """The descriptor of a pipe that is opened for writing; raises an error where nobody opens it for reading."""
    deadline = time.monotonic() + MAX_PIPE_WAIT_SECONDS
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise OSError(error.errno, "nobody reads this pipe") from None
            time.sleep(0.01)
            continue
        os.set_blocking(handle, True)
        return handle


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


LOCKED_BYTE = 1 << 30
"""The byte of a file that is locked on Windows, where locked bytes cannot be read: far beyond the content."""


def can_lock() -> bool:
    """Whether this system has file locks that end with the process."""
    return importlib.util.find_spec("fcntl") is not None or importlib.util.find_spec("msvcrt") is not None


def lock_handle(handle: int) -> None:
    """Lock an open file for this process until it is closed; raises an OSError if another process holds the lock."""
    try:
        fcntl: Any = importlib.import_module("fcntl")
    except ImportError:
        msvcrt: Any = importlib.import_module("msvcrt")
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
