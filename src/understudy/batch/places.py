"""Where files are: a folder of this machine, or one in any store that fsspec reaches."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from understudy.base.errors import FileError, MissingPackageError, OptionError
from understudy.base.files import open_to_write
from understudy.base.records import cached

PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(?:://|::)")

LOCAL = ("file", "local")

WHOLE = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "memory", "r2")
"""Protocols whose files appear whole or not at all; in others a file is moved into place."""


class Location(ABC):
    """A folder with files that are named from it, with slashes."""

    shared = True
    """Whether other processes see it."""

    @abstractmethod
    def files(self) -> Iterator[tuple[str, int]]:
        """Every file in it and below, with its size; folders come too, as size 0."""

    @abstractmethod
    def fetch(self, name: str, folder: Path) -> Path:
        """A path of this machine with a file's content; it is put into the folder given where it has none."""

    @abstractmethod
    def put(self, path: Path, name: str) -> None:
        """Move a file of this machine here, whole or not at all."""

    @abstractmethod
    def read_bytes(self, name: str) -> bytes | None:
        """A file's content; None where there is none."""

    @abstractmethod
    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of what is in one of its folders, sorted; none where there is no such folder."""

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Bytes of a file; None where there is none."""

    @abstractmethod
    def text(self, name: str = "") -> str:
        """A file of it, or itself, as the user named it."""

    @abstractmethod
    def address(self, name: str = "") -> str:
        """A file of it, or itself, as it is found from anywhere."""


@dataclass(frozen=True, kw_only=True)
class Folder(Location):
    """A folder of this machine."""

    path: Path
    """Absolute."""
    named: str = field(default="", compare=False)
    """What the user calls it; its path if not given."""

    def files(self) -> Iterator[tuple[str, int]]:
        if not self.path.is_dir():
            problem = "is a file, not a folder" if self.path.exists() else "there is no such folder"
            raise FileError(self.text(), None, problem)
        yield from self._below(self.path, "", ())

    def _below(self, folder: Path, lead: str, above: tuple[Path, ...]) -> Iterator[tuple[str, int]]:
        real = folder.resolve()
        if real in above:
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise FileError(str(folder), None, f"cannot be looked into: {error.strerror}") from None
        for entry in entries:
            name = lead + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                # A folder called walk.bvh is no motion: it is handed out all the same, so that somebody says so.
                yield name, 0
                yield from self._below(Path(entry.path), name + "/", (*above, real))
            else:
                yield name, entry.stat().st_size if os.path.exists(entry.path) else 0

    def fetch(self, name: str, folder: Path) -> Path:
        return self.path / name

    def put(self, path: Path, name: str) -> None:
        goal = self.path / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, goal)

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
        except (FileNotFoundError, NotADirectoryError):
            return []

    def size(self, name: str) -> int | None:
        path = self.path / name
        return path.stat().st_size if path.is_file() else None

    def text(self, name: str = "") -> str:
        return str(Path(self.named) / name) if self.named else self.address(name)

    def address(self, name: str = "") -> str:
        return str(self.path / name)


@dataclass(frozen=True, kw_only=True)
class Store(Location):
    """A folder in a store that fsspec reaches, such as `s3://bucket/clips`."""

    url: str

    @property
    def protocol(self) -> str:
        return protocol_of(self.url)

    @property
    def shared(self) -> bool:  # type: ignore[override]
        return self.protocol != "memory"

    @cached
    def _opened(self) -> tuple[Any, str]:
        try:
            fsspec = import_module("fsspec")
        except ImportError:
            raise MissingPackageError("fsspec", "remote", f"Files at `{self.protocol}://`") from None
        try:
            system, path = fsspec.core.url_to_fs(self.url)
        except ImportError as error:
            raise OptionError(
                f"`{self.url}`: {error}", hint=f"the package for {self.protocol} is to be installed"
            ) from None
        except ValueError as error:
            raise OptionError(f"`{self.url}`: {error}") from None
        # What is listed once would else be remembered, and files of other runs never seen.
        system.use_listings_cache = False
        return system, str(path).rstrip("/")

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url}

    def _at(self, name: str) -> str:
        return f"{self._opened[1]}/{name}"

    def files(self) -> Iterator[tuple[str, int]]:
        system, root = self._opened
        system.invalidate_cache()
        if not system.isdir(root):
            raise FileError(self.url, None, "there is no such folder")
        for path, about in sorted(system.find(root, detail=True).items()):
            name = str(path)[len(root) :].lstrip("/")
            if not any(part.startswith(".") for part in name.split("/")):
                yield name, int(about.get("size") or 0)

    def fetch(self, name: str, folder: Path) -> Path:
        path = folder / PurePosixPath(name).name
        try:
            self._opened[0].get_file(self._at(name), str(path))
        except FileNotFoundError:
            raise FileError(self.text(name), None, "there is no such file") from None
        except OSError as error:
            raise FileError(self.text(name), None, f"cannot be fetched: {error}") from None
        return path

    def put(self, path: Path, name: str) -> None:
        system = self._opened[0]
        goal = self._at(name)
        system.makedirs(goal.rpartition("/")[0], exist_ok=True)
        if self.protocol in WHOLE:
            system.put_file(str(path), goal)
        else:
            aside = f"{goal.rpartition('/')[0]}/.{PurePosixPath(name).name}.part"
            system.put_file(str(path), aside)
            system.mv(aside, goal)
        path.unlink()

    def read_bytes(self, name: str) -> bytes | None:
        system = self._opened[0]
        try:
            found: bytes = system.cat_file(self._at(name))
        except (FileNotFoundError, IsADirectoryError):
            return None
        return found

    def write_bytes(self, name: str, data: bytes) -> None:
        system = self._opened[0]
        system.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)
        system.pipe_file(self._at(name), data)

    def remove(self, name: str) -> None:
        try:
            self._opened[0].rm_file(self._at(name))
        except FileNotFoundError:
            return

    def names(self, folder: str) -> list[str]:
        system = self._opened[0]
        system.invalidate_cache()
        try:
            found = system.ls(self._at(folder).rstrip("/"), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted({str(path).rstrip("/").rpartition("/")[2] for path in found})

    def size(self, name: str) -> int | None:
        system = self._opened[0]
        system.invalidate_cache()
        try:
            found = system.info(self._at(name))
        except FileNotFoundError:
            return None
        return int(found["size"]) if found.get("type") == "file" else None

    def text(self, name: str = "") -> str:
        return self.address(name)

    def address(self, name: str = "") -> str:
        return f"{self.url.rstrip('/')}/{name}" if name else self.url


def protocol_of(text: str) -> str:
    """The protocol that a path begins with; empty for a path of this machine."""
    found = PROTOCOL.match(text)
    return found[1].lower() if found else ""


def place_of(text: str | Path) -> Location:
    """The folder that a text names: a path, or one with a protocol such as `s3://bucket/clips`."""
    protocol = protocol_of(str(text))
    if protocol in LOCAL and "://" in str(text):
        return Folder(path=Path(str(text).partition("://")[2]).absolute())
    if protocol:
        return Store(url=str(text).rstrip("/"))
    return Folder(path=Path(text).absolute(), named=str(text))


def split(text: str) -> tuple[Location, str]:
    """The folder of a file with a protocol, and the file's name in it."""
    folder, _, name = text.rstrip("/").rpartition("/")
    if not name or folder.endswith(":/"):
        raise OptionError(f"`{text}` names no file; expected one such as s3://bucket/hero.glb")
    return place_of(folder), name
