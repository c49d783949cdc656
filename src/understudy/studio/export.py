"""Writing results: clips, recipes, pictures, videos and downloads."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.base.errors import OptionError, nearest_names
from understudy.base.toml import comment, entry, write_toml
from understudy.figure.motion import Motion, rest_motion
from understudy.io import formats, write
from understudy.io.clip import format_of
from understudy.recipe import recipe_from, write_recipe
from understudy.recipe.writing import relative_to_folder
from understudy.studio.document import Document
from understudy.studio.messages import RequestError
from understudy.studio.opening import stem
from understudy.studio.scene import SolveResult

RENDER_FORMATS = {"picture": ("png", "svg"), "video": ("mp4", "gif")}

MAX_DOWNLOADS = 16
"""Older downloads are deleted."""

MAP_COMMENT = "A map of understudy: pairs of source and target bones. See `understudy map --help`."


class Downloads:
    """Files that the page can download.

    Args:
        folder: Their folder; emptied at the start.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)

    def make(self, name: str, fill: Callable[[Path], Any]) -> tuple[str, Any]:
        """Make a file with `fill`; returns its address on the server and what `fill` returned."""
        place = self.folder / secrets.token_urlsafe(9)
        place.mkdir(parents=True)
        path = place / name
        try:
            returned = fill(path)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        older = sorted(self.folder.iterdir(), key=lambda folder: folder.stat().st_mtime_ns)[:-MAX_DOWNLOADS]
        for folder in older:
            shutil.rmtree(folder, ignore_errors=True)
        return f"download/{place.name}/{name}", returned

    def find(self, place: str, name: str) -> Path | None:
        """The path of a download; None if there is none."""
        path = self.folder / place / name
        fits = all(re.fullmatch(r"[\w.+()-]+", part) and part.strip(".") for part in (place, name))
        return path if fits and path.is_file() else None


class Outputs:
    """The files that this session wrote into open folders: only these are replaced without asking."""

    def __init__(self) -> None:
        self._written: dict[Path, tuple[int, int]] = {}

    def note(self, paths: Iterable[Path]) -> None:
        """Remember files as they were written."""
        self._written |= {path: mark for path in paths if (mark := _file_mark(path)) is not None}

    def foreign(self, paths: Iterable[Path]) -> Path | None:
        """The first file that exists and is not as this session wrote it; None if there is none."""
        return next((p for p in paths if (mark := _file_mark(p)) is not None and self._written.get(p) != mark), None)


def _file_mark(path: Path) -> tuple[int, int] | None:
    """The time of the last change and the size of a file; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def export(solve_result: SolveResult, which: str, path: Path) -> tuple[str, ...]:
    """Write a clip in the format of the suffix; returns what the file cannot hold."""
    if format_of(path).write is None:
        raise OptionError(f"`{path.name}`: this format can be read but not written")
    return write(solve_result.clip(which), path)


def download(
    solve_result: SolveResult, which: str, format_name: str, document: Document, downloads: Downloads
) -> dict[str, Any]:
    """Make a clip of a result for download."""
    writable = {file_format.name: file_format for file_format in formats().values() if file_format.write is not None}
    endings = {suffix[1:]: suffix for file_format in writable.values() for suffix in file_format.suffixes}
    endings |= {name: file_format.suffixes[0] for name, file_format in writable.items()}
    suffix = endings.get(format_name.removeprefix("."))
    if suffix is None:
        raise RequestError(f"There is no format `{format_name}`; {nearest_names(format_name, endings)}")
    name = f"{title(document, which)}{suffix}"
    url, lost = downloads.make(name, lambda path: export(solve_result, which, path))
    return {"url": url, "not_kept": list(lost)}


def title(document: Document, which: str = "result") -> str:
    """The file name of a result, from its source and target, without suffix."""
    mode = document["mode"]
    if mode == "retarget":
        actor = (document["recipe"]["actor"] or [{}])[0]
        names = [actor.get("source", ""), actor.get("target") or ""]
    else:
        table = document[mode]
        names = [table["first"], table["second"]] if mode == "transition" else [table["a_new"], table["b_example"]]
    words = [stem(str(name)) for name in names if name]
    words += [] if which == "result" else [which]
    return re.sub(r"[^\w+-]", "_", "_".join(words))[:80] or "result"


def render(
    solve_result: SolveResult,
    kind: str,
    suffix: str,
    bodies: list[tuple[str, str]],
    document: Document,
    downloads: Downloads,
    watch: Any,
) -> dict[str, Any]:
    """Make a picture or video of the displayed bodies for download.

    Args:
        solve_result: Gives the motions.
        kind: "picture" or "video".
        suffix: The format, as a suffix without the dot.
        bodies: Names and labels of the bodies.
        document: Gives the file its name.
        downloads: Receives the file.
        watch: Progress callback.
    """
    if kind not in RENDER_FORMATS or suffix not in RENDER_FORMATS[kind]:
        choices = "; ".join(f"{choice} as {' or '.join(endings)}" for choice, endings in RENDER_FORMATS.items())
        raise RequestError(f"Expected {choices}; got {kind} as {suffix}")
    motions = [_motion(solve_result, which) for which, _ in bodies]
    labels = [label for _, label in bodies]

    def fill(path: Path) -> None:
        if kind == "picture":
            from understudy.show.picture import draw

            watch("drawing", 0.0)
            draw(motions, path, labels=labels)
        else:
            from understudy.show.video import write_video

            write_video(motions, path, labels=labels, watch=watch)

    url, _ = downloads.make(f"{title(document)}.{suffix}", fill)
    return {"url": url}


def _motion(solve_result: SolveResult, which: str) -> Motion:
    clip = solve_result.clip(which)
    return clip.motion if clip.motion is not None else rest_motion(clip.skeleton)


def recipe_paths(document: Document, path: Path) -> list[Path]:
    """The files that `save` writes: the recipe, and its map if it has bone pairs."""
    if path.suffix.lower() != ".toml":
        raise OptionError(f"A recipe is written as .toml; got `{path.name}`")
    has_map = document["pairs"] is not None and bool(document["recipe"]["actor"])
    return [path, path.with_name(f"{path.stem}.map.toml")] if has_map else [path]


def save(document: Document, base: Path, path: Path) -> None:
    """Write the document's recipe, and its bone pairs as a map file next to it."""
    recipe_paths(document, path)
    recipe = relative_to_folder(recipe_from(document["recipe"], base), path.parent)
    if document["pairs"] is not None and recipe.actors:
        map_path = path.with_name(f"{path.stem}.map.toml")
        lines = [*comment(MAP_COMMENT)]
        for pair in document["pairs"]:
            lines += ["", "[[pair]]"]
            lines += [line for key, value in pair.items() if value is not None for line in entry(key, value)]
        write_toml(map_path, "\n".join(lines) + "\n")
        recipe = replace(recipe, actors=(replace(recipe.actors[0], map=map_path.name), *recipe.actors[1:]))
    write_recipe(recipe, path)
