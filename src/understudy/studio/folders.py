"""The open folders: which files may be read and written, how documents name them, and folder listings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from understudy.base.errors import FileError, UnderstudyError, nearest_names
from understudy.io import formats
from understudy.io.clip import split_clip
from understudy.io.surface import surface_suffixes
from understudy.retarget.actor import SAMPLE
from understudy.studio.document import CLIPS, Document
from understudy.studio.messages import DocumentPath, RequestError

MAX_LISTED_ENTRIES = 2000
"""Further entries of a folder are not listed."""

KIND_OF_SUFFIX = {
    ".toml": "recipe", ".asf": "character", ".urdf": "character", ".xml": "character", ".obj": "mesh", ".stl": "mesh",
}  # fmt: skip
"""Kinds of files without motion, by suffix."""


class Folders:
    """The open folders.

    Args:
        opened: Folders whose files may be read and written.
        uploads: Folder for uploaded files; open too, but not listed.
        base: The folder that file names are relative to; the first open folder if it is not inside one.
    """

    def __init__(self, opened: tuple[Path, ...], uploads: Path, base: str = "") -> None:
        self.opened = tuple(dict.fromkeys(_check_folder(path) for path in opened))
        self.uploads = uploads.resolve()
        self.base = self.opened[0]
        if base and Path(base).is_dir() and self._is_open(base):
            self.base = Path(base).resolve()

    @property
    def listed(self) -> tuple[Path, ...]:
        """The open folders, the base first."""
        return tuple(dict.fromkeys((self.base, *self.opened)))

    def resolve(self, name: str) -> Path:
        """The resolved path of a file or folder; refused outside the open folders."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise RequestError(f"Expected a file name; got {name!r:.60}")
        try:
            os.fsencode(name)
            path = Path(os.path.realpath(self.base / name))
            path.exists()
        except UnicodeEncodeError:
            raise RequestError(f"Expected a file name; got {name!r:.60}, which holds half a character") from None
        except OSError as error:
            raise RequestError(f"{name[:60]}: is no file name here: {error.strerror}") from None
        if not any(path.is_relative_to(folder) for folder in (*self.opened, self.uploads)):
            raise UnderstudyError(
                f"{name}: is outside the folders that the studio has open",
                hint="start it with `--folder DIR` to open another one",
            )
        return path

    def source_path(self, name: str) -> Path | None:
        """The path of a file to read, without an animation name after `#`; None for a sample."""
        if isinstance(name, str) and name.startswith(SAMPLE):
            return None
        path = self.resolve(name)
        if not path.exists():
            path = self.resolve(str(split_clip(self.base / name)[0]))
        return path

    def name_of(self, path: Path) -> str:
        """The name of a file in documents: relative if it is below the base, else absolute."""
        if path.is_relative_to(self.base):
            return path.relative_to(self.base).as_posix()
        return str(path)

    def document_name(self, name: str) -> str:
        """The name in documents of an existing file, with its animation; samples keep their name."""
        path = self.source_path(name)
        if path is None:
            return name
        if not path.is_file():
            names = [entry.name for entry in path.parent.glob("*")] if path.parent.is_dir() else []
            raise FileError(name, None, f"there is no such file; {nearest_names(path.name, names)}")
        _, animation = split_clip(self.base / name)
        return self.name_of(path) + ("" if animation is None else f"#{animation}")

    def output_path(self, name: str) -> Path:
        """The path of a file to write; its folder must exist."""
        path = self.resolve(name)
        if path.is_dir():
            raise FileError(name, None, "is a folder, not a file")
        if not path.parent.is_dir():
            raise FileError(name, None, f"there is no folder `{path.parent}` to write it into")
        return path

    def check(self, document: Document) -> None:
        """Refuse a document that names files outside the open folders."""
        for path, name in file_names(document):
            try:
                self.source_path(name)
            except UnderstudyError as error:
                raise RequestError(error.message, path, hint=error.hint) from None

    def list_folder(self, name: str) -> dict[str, Any]:
        """The entries of a folder; for an empty name the open folders."""
        if not name:
            folders = [str(path) for path in self.listed]
            return {"folder": "", "folders": folders, "files": [], "samples": list_samples()}
        folder = self.resolve(name)
        if not folder.is_dir():
            raise FileError(name, None, "is not a folder")
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name.casefold())
        except OSError as error:
            raise FileError(name, None, f"cannot be listed: {error.strerror}") from None
        shown = [entry for entry in entries if not entry.name.startswith(".") and self._is_open(entry.path)]
        shown = shown[:MAX_LISTED_ENTRIES]
        return {
            "folder": str(folder),
            "folders": [entry.path for entry in shown if entry.is_dir()],
            "files": [_file_table(entry) for entry in shown if entry.is_file()],
            "samples": list_samples(),
        }

    def _is_open(self, path: str) -> bool:
        try:
            return self.resolve(path).exists()
        except (UnderstudyError, OSError):
            return False


def _check_folder(path: Path) -> Path:
    if not path.is_dir():
        raise FileError(str(path), None, "is not a folder, so it cannot be opened")
    return path.resolve()


def _file_table(entry: os.DirEntry[str]) -> dict[str, Any]:
    suffix = Path(entry.name).suffix.lower()
    motions = [s for file_format in formats().values() for s in file_format.suffixes if file_format.read]
    kind = KIND_OF_SUFFIX.get(suffix, "motion" if suffix in motions else "other")
    return {"name": entry.name, "size": entry.stat().st_size, "kind": kind, "mesh": suffix in surface_suffixes()}


def list_samples() -> list[dict[str, Any]]:
    """All samples with their descriptions."""
    from understudy import samples as sample_library

    tables: list[dict[str, Any]] = []
    for motion in (True, False):
        named = sample_library.motions() if motion else sample_library.characters()
        tables += [{"name": name, "about": sample.about, "motion": motion} for name, sample in named.items()]
    return tables


def file_names(document: Document) -> Iterator[tuple[DocumentPath, str]]:
    """Every file or sample that a document names, with its path in the document."""
    recipe = document["recipe"]
    recipe_paths = [
        *(("actor", i, key) for i in range(len(recipe["actor"])) for key in ("source", "target", "map")),
        *(("reading", key) for key in ("skeleton", "target_skeleton")),
        *(("prop", i, key) for i in range(len(recipe["prop"])) for key in ("path", "mesh")),
    ]
    clip_paths = [(mode, clip) for mode, clips in CLIPS.items() for clip in clips]
    for path in [*(("recipe", *path) for path in recipe_paths), *clip_paths]:
        value: Any = document
        for step in path:
            value = value.get(step) if isinstance(value, dict) else value[step]
        if value:
            yield path, value
