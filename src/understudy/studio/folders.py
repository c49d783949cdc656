"""The folders that are open: what may be read and written, how files are called, and what lies in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from understudy.base.errors import FileError, UnderstudyError, nearest_names
from understudy.io import formats
from understudy.io.files import split_clip
from understudy.retarget.actor import SAMPLE
from understudy.studio.document import CLIPS, Document
from understudy.studio.messages import Place, RequestError

MOST = 2000
"""Entries of a folder that are listed."""

KINDS = {".toml": "recipe", ".asf": "character", ".urdf": "character", ".xml": "character"}
"""What files of an ending are, where they hold no motion."""


class Folders:
    """The open folders.

    Args:
        opened: Folders whose files may be read and written.
        uploads: Where files from the page land; open too, but not listed.
        base: What files are named from; the first of the open folders if it is none in any of them.
    """

    def __init__(self, opened: tuple[Path, ...], uploads: Path, base: str = "") -> None:
        self.opened = tuple(dict.fromkeys(_folder(path) for path in opened))
        self.uploads = uploads.resolve()
        self.base = self.opened[0]
        if base and Path(base).is_dir() and self._is_open(base):
            self.base = Path(base).resolve()

    @property
    def listed(self) -> tuple[Path, ...]:
        """The open folders, what files are named from first."""
        return tuple(dict.fromkeys((self.base, *self.opened)))

    def inside(self, name: str) -> Path:
        """Where a file or folder is, links followed; refused outside the open folders."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise RequestError(f"Expected the name of a file; got {name!r}")
        path = Path(os.path.realpath(self.base / name))
        if not any(path.is_relative_to(folder) for folder in (*self.opened, self.uploads)):
            raise UnderstudyError(
                f"{name}: is outside the folders that the studio has open",
                hint="start it with `--folder DIR` to open another one",
            )
        return path

    def source(self, name: str) -> Path | None:
        """A file that is to be read, without the animation that may be named behind it; None for a sample."""
        if isinstance(name, str) and name.startswith(SAMPLE):
            return None
        path = self.inside(name)
        if not path.exists():
            path = self.inside(str(split_clip(self.base / name)[0]))
        return path

    def called(self, path: Path) -> str:
        """A file as documents name it: from the base where it is below that, else in full."""
        if path.is_relative_to(self.base):
            return path.relative_to(self.base).as_posix()
        return str(path)

    def named(self, name: str) -> str:
        """A name as documents have it, of a file that is there; samples and animations stay named."""
        path = self.source(name)
        if path is None:
            return name
        if not path.is_file():
            known = [each.name for each in path.parent.glob("*")] if path.parent.is_dir() else []
            raise FileError(name, None, f"there is no such file; {nearest_names(path.name, known)}")
        _, animation = split_clip(self.base / name)
        return self.called(path) + ("" if animation is None else f"#{animation}")

    def to_write(self, name: str) -> Path:
        """Where a file is to be written, which must be in a folder that is there."""
        path = self.inside(name)
        if path.is_dir():
            raise FileError(name, None, "is a folder, not a file")
        if not path.parent.is_dir():
            raise FileError(name, None, f"there is no folder `{path.parent}` to write it into")
        return path

    def check(self, document: Document) -> None:
        """Refuse a document that names files outside the open folders."""
        for place, name in file_names(document):
            try:
                self.source(name)
            except UnderstudyError as error:
                raise RequestError(error.message, place, hint=error.hint) from None

    def listing(self, name: str) -> dict[str, Any]:
        """What a folder holds; the open folders themselves for an empty name."""
        if not name:
            return {"folder": "", "folders": [str(path) for path in self.listed], "files": [], "samples": samples()}
        folder = self.inside(name)
        if not folder.is_dir():
            raise FileError(name, None, "is no folder")
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name.casefold())
        except OSError as error:
            raise FileError(name, None, f"cannot be listed: {error.strerror}") from None
        shown = [entry for entry in entries if not entry.name.startswith(".") and self._is_open(entry.path)][:MOST]
        return {
            "folder": str(folder),
            "folders": [entry.path for entry in shown if entry.is_dir()],
            "files": [_file(entry) for entry in shown if entry.is_file()],
            "samples": samples(),
        }

    def _is_open(self, path: str) -> bool:
        try:
            return self.inside(path).exists()
        except (UnderstudyError, OSError):
            return False


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise FileError(str(path), None, "is no folder that could be opened")
    return path.resolve()


def _file(entry: os.DirEntry[str]) -> dict[str, Any]:
    suffix = Path(entry.name).suffix.lower()
    motions = [s for found in formats().values() for s in found.suffixes if found.read]
    kind = KINDS.get(suffix, "motion" if suffix in motions else "other")
    return {"name": entry.name, "size": entry.stat().st_size, "kind": kind}


def samples() -> list[dict[str, Any]]:
    """The samples with what they are."""
    from understudy import samples as shelf

    found: list[dict[str, Any]] = []
    for motion in (True, False):
        known = shelf.motions() if motion else shelf.characters()
        found += [{"name": name, "about": sample.about, "motion": motion} for name, sample in known.items()]
    return found


def file_names(document: Document) -> Iterator[tuple[Place, str]]:
    """Every file or sample that a document names, and where."""
    recipe = document["recipe"]
    places = [
        *(("actor", i, key) for i in range(len(recipe["actor"])) for key in ("source", "target", "map")),
        *(("reading", key) for key in ("skeleton", "target_skeleton")),
        *(("prop", i, "path") for i in range(len(recipe["prop"]))),
    ]
    found = [("recipe", *place) for place in places] + [(mode, clip) for mode, clips in CLIPS.items() for clip in clips]
    for place in found:
        value: Any = document
        for step in place:
            value = value.get(step) if isinstance(value, dict) else value[step]
        if value:
            yield place, value
