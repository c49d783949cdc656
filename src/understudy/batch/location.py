"""Locations of files: a folder of this machine, or a folder in any store that fsspec reaches."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import field
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from understudy.base.errors import FileError, MissingPackageError, OptionError
from understudy.base.files import open_to_write
from understudy.base.records import cached, record

PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(?:://|::)")

LOCAL_PROTOCOLS = ("file", "local")

ATOMIC_PROTOCOLS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "memory", "r2")
"""Protocols that write a file whole or not at all. For others the file is uploaded under another name and renamed."""


class Location(ABC):
    """A folder; its files are named relative to it, with slashes."""

    shared = True
    """Whether other processes can access it."""

    @abstractmethod
    def files(self, skipped: list[str] | None = None) -> Iterator[tuple[str, int]]:
        """Every file in it and its sub-folders with its size in bytes. Local sub-folders are listed with size 0.

        Args:
            skipped: Gets a sentence on each sub-folder that cannot be listed.
        """

    @abstractmethod
    def fetch(self, name: str, folder: Path) -> Path:
        """A local path of a file; a remote file is copied into the given folder."""

    @abstractmethod
    def put(self, path: Path, name: str) -> None:
        """Move a local file to this location, whole or not at all."""

    @abstractmethod
    def read_bytes(self, name: str) -> bytes | None:
        """The content of a file; None where there is no such file."""

    @abstractmethod
    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The sorted names of the files and folders in a sub-folder; none where there is no such sub-folder."""

    @abstractmethod
    def size(self, name: str) -> int | None:
        """The size of a file in bytes; None where there is no such file."""

    @abstractmethod
    def text(self, name: str = "") -> str:
        """The location, or a file in it, as the user named it."""

    @abstractmethod
    def address(self, name: str = "") -> str:
        """The location, or a file in it, as an absolute path or URL."""


@record(eq=True)
class Folder(Location):
    """A folder of this machine."""

    path: Path
    """Absolute."""
    display_name: str = field(default="", compare=False)
    """The folder as the user named it; empty for its path."""

    def files(self, skipped: list[str] | None = None) -> Iterator[tuple[str, int]]:
        if not self.path.is_dir():
            problem = "is a file, not a folder" if self.path.exists() else "there is no such folder"
            raise FileError(self.text(), None, problem)
        try:
            os.scandir(self.path).close()
        except OSError as error:
            raise FileError(self.text(), None, f"cannot be listed: {error.strerror}") from None
        skipped = [] if skipped is None else skipped
        linked: set[str] = set()
        # A stack, because folders may be nested deeper than functions.
        stack: list[tuple[str, str, tuple[str, ...]]] = [(str(self.path), "", (os.path.realpath(self.path),))]
        while stack:
            folder, prefix, parents = stack.pop()
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                skipped.append(f"{self.text(prefix)}: cannot be listed: {error.strerror}")
                continue
            folders = []
            for entry in listed:
                name = prefix + entry.name
                if entry.name.startswith("."):
                    continue
                if not _is_folder(entry):
                    yield name, _size(entry)
                    continue
                # A folder called walk.bvh is listed too, so that its job reports that it is not a motion.
                yield name, 0
                real = os.path.realpath(entry.path)
                if real in parents:
                    continue
                if entry.is_symlink():
                    if real in linked:
                        skipped.append(f"{self.text(name)}: another link leads to the same folder, which is read once")
                        continue
                    linked.add(real)
                folders.append((entry.path, name + "/", (*parents, real)))
            stack += reversed(folders)

    def fetch(self, name: str, folder: Path) -> Path:
        return self.path / name

    def put(self, path: Path, name: str) -> None:
        destination = self.path / name
        destination.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, destination)

    def read_bytes(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write_bytes(self, name: str, data: bytes) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        with open_to_write(self.path / name) as stream:
            stream.write(data)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self.path / folder))
        except OSError:
            return []

    def size(self, name: str) -> int | None:
        path = self.path / name
        try:
            return path.stat().st_size if path.is_file() else None
        except OSError:
            return None

    def text(self, name: str = "") -> str:
        return str(Path(self.display_name) / name) if self.display_name else self.address(name)

    def address(self, name: str = "") -> str:
        return str(self.path / name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder or leads to one; a link that leads nowhere or to itself does not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return 0


@record(eq=True)
class Store(Location):
    """A folder that fsspec reaches, such as `s3://bucket/clips`."""

    url: str

    @property
    def protocol(self) -> str:
        return protocol_of(self.url)

    @property
    def shared(self) -> bool:  # type: ignore[override]
        return self.protocol != "memory"

    @cached
    def _opened(self) -> tuple[Any, str]:
        """The fsspec file system, and the path of the folder in it."""
        try:
            fsspec = import_module("fsspec")
        except ImportError:
            raise MissingPackageError("fsspec", "remote", f"Files at `{self.protocol}://`") from None
        try:
            system, path = fsspec.core.url_to_fs(self.url)
        except ImportError as error:
            raise OptionError(
                f"`{self.url}`: {error}", hint=f"install the fsspec package for {self.protocol}"
            ) from None
        except ValueError as error:
            raise OptionError(f"`{self.url}`: {error}") from None
        # A cached listing would hide the files that other runs write later.
        system.use_listings_cache = False
        return system, str(path).rstrip("/")

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url}

    def _path_of(self, name: str) -> str:
        return f"{self._opened[1]}/{name}"

    def files(self, skipped: list[str] | None = None) -> Iterator[tuple[str, int]]:
        system, root = self._opened
        system.invalidate_cache()
        if not system.isdir(root):
            raise FileError(self.url, None, "there is no such folder")
        for path, info in sorted(system.find(root, detail=True).items()):
            name = str(path)[len(root) :].lstrip("/")
            if not any(part.startswith(".") for part in name.split("/")):
                yield name, int(info.get("size") or 0)

    def fetch(self, name: str, folder: Path) -> Path:
        path = folder / PurePosixPath(name).name
        try:
            self._opened[0].get_file(self._path_of(name), str(path))
        except FileNotFoundError:
            raise FileError(self.text(name), None, "there is no such file") from None
        except OSError as error:
            raise FileError(self.text(name), None, f"cannot be fetched: {error}") from None
        return path

    def put(self, path: Path, name: str) -> None:
        system = self._opened[0]
        destination = self._path_of(name)
        folder = destination.rpartition("/")[0]
        system.makedirs(folder, exist_ok=True)
        if self.protocol in ATOMIC_PROTOCOLS:
            system.put_file(str(path), destination)
        else:
            part = f"{folder}/.{PurePosixPath(name).name}.part"
            system.put_file(str(path), part)
            system.mv(part, destination)
        path.unlink()

    def read_bytes(self, name: str) -> bytes | None:
        system = self._opened[0]
        try:
            data: bytes = system.cat_file(self._path_of(name))
        except (FileNotFoundError, IsADirectoryError):
            return None
        return data

    def write_bytes(self, name: str, data: bytes) -> None:
        system = self._opened[0]
        system.makedirs(self._path_of(name).rpartition("/")[0], exist_ok=True)
        system.pipe_file(self._path_of(name), data)

    def remove(self, name: str) -> None:
        try:
            self._opened[0].rm_file(self._path_of(name))
        except FileNotFoundError:
            return

    def names(self, folder: str) -> list[str]:
        system = self._opened[0]
        system.invalidate_cache()
        try:
            paths = system.ls(self._path_of(folder).rstrip("/"), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted({str(path).rstrip("/").rpartition("/")[2] for path in paths})

    def size(self, name: str) -> int | None:
        system = self._opened[0]
        system.invalidate_cache()
        try:
            info = system.info(self._path_of(name))
        except FileNotFoundError:
            return None
        return int(info["size"]) if info.get("type") == "file" else None

    def text(self, name: str = "") -> str:
        return self.address(name)

    def address(self, name: str = "") -> str:
        return f"{self.url.rstrip('/')}/{name}" if name else self.url


def protocol_of(text: str) -> str:
    """The protocol that a path begins with, such as `s3`; empty for a local path."""
    match = PROTOCOL.match(text)
    return match[1].lower() if match else ""


def parse_location(text: str | Path) -> Location:
    """The location that a text names: a path, or a URL such as `s3://bucket/clips`."""
    protocol = protocol_of(str(text))
    if protocol in LOCAL_PROTOCOLS and "://" in str(text):
        return Folder(path=Path(str(text).partition("://")[2]).absolute())
    if protocol:
        return Store(url=str(text).rstrip("/"))
    return Folder(path=Path(text).absolute(), display_name=str(text))


def split_file(url: str) -> tuple[Location, str]:
    """The location of a remote file, and the file's name in it."""
    folder, _, name = url.rstrip("/").rpartition("/")
    if not name or folder.endswith(":/"):
        raise OptionError(f"`{url}` names no file; expected one such as s3://bucket/hero.glb")
    return parse_location(folder), name
