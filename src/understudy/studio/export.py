"""What leaves the studio: results and recipes as files, pictures and videos, downloads."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.base.errors import OptionError, nearest_names
from understudy.base.files import open_to_write
from understudy.base.toml import comment, entry
from understudy.figure.motion import Motion, rest_motion
from understudy.io import formats, write
from understudy.io.files import format_of
from understudy.recipe import recipe_from, write_recipe
from understudy.recipe.writing import named_from
from understudy.studio.document import Document
from understudy.studio.messages import RequestError
from understudy.studio.opening import stem
from understudy.studio.scene import Work

PICTURES = {"picture": ("png", "svg"), "video": ("mp4", "gif")}

KEPT = 16
"""Downloads that are kept; older ones are removed."""

MAP_HEAD = "A map of understudy: which bones of the source play which of the target. See `understudy map --help`."


class Downloads:
    """Files made to be fetched once or a few times by the page.

    Args:
        folder: Where they are; emptied at the start.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)

    def make(self, name: str, fill: Callable[[Path], Any]) -> tuple[str, Any]:
        """A file by a name, filled by a function; returns where the page finds it and what the function returned."""
        place = self.folder / secrets.token_urlsafe(9)
        place.mkdir(parents=True)
        path = place / name
        try:
            said = fill(path)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        older = sorted(self.folder.iterdir(), key=lambda each: each.stat().st_mtime_ns)[:-KEPT]
        for each in older:
            shutil.rmtree(each, ignore_errors=True)
        return f"download/{place.name}/{name}", said

    def find(self, place: str, name: str) -> Path | None:
        """A file that was made."""
        path = self.folder / place / name
        fits = all(re.fullmatch(r"[\w.+()-]+", part) and part.strip(".") for part in (place, name))
        return path if fits and path.is_file() else None


def export(work: Work, which: str, path: Path) -> tuple[str, ...]:
    """Write a result in the format that the ending tells; returns what the file could not hold."""
    if format_of(path).write is None:
        raise OptionError(f"`{path.name}`: files of this kind can be read, not written")
    return write(work.clip(which), path)


def download(work: Work, which: str, wanted: str, document: Document, downloads: Downloads) -> dict[str, Any]:
    """A result as a file for the page to fetch."""
    writable = {found.name: found for found in formats().values() if found.write is not None}
    endings = {suffix[1:]: suffix for found in writable.values() for suffix in found.suffixes}
    endings |= {name: found.suffixes[0] for name, found in writable.items()}
    suffix = endings.get(wanted.removeprefix("."))
    if suffix is None:
        raise RequestError(f"No format is called `{wanted}`; {nearest_names(wanted, endings)}")
    name = f"{title(document, which)}{suffix}"
    url, lost = downloads.make(name, lambda path: export(work, which, path))
    return {"url": url, "not_kept": list(lost)}


def title(document: Document, which: str = "result") -> str:
    """What a result is called: by its source and target."""
    mode = document["mode"]
    if mode == "retarget":
        actor = (document["recipe"]["actor"] or [{}])[0]
        named = [actor.get("source", ""), actor.get("target") or ""]
    else:
        part = document[mode]
        named = [part["first"], part["second"]] if mode == "transition" else [part["a_new"], part["b_example"]]
    words = [stem(str(name)) for name in named if name]
    words += [] if which == "result" else [which]
    return re.sub(r"[^\w+-]", "_", "_".join(words))[:80] or "result"


def render(
    work: Work,
    kind: str,
    wanted: str,
    shown: list[tuple[str, str]],
    document: Document,
    downloads: Downloads,
    watch: Any,
) -> dict[str, Any]:
    """A picture or video of the bodies on the stage.

    Args:
        work: What was solved.
        kind: "picture" or "video".
        wanted: The format by its ending without the dot.
        shown: The bodies with their labels.
        document: Gives the file its name.
        downloads: Where it goes.
        watch: Told how far it is.
    """
    if kind not in PICTURES or wanted not in PICTURES[kind]:
        known = "; ".join(f"{each} as {' or '.join(endings)}" for each, endings in PICTURES.items())
        raise RequestError(f"Expected {known}; got {kind} as {wanted}")
    motions = [_motion(work, which) for which, _ in shown]
    labels = [label for _, label in shown]

    def fill(path: Path) -> None:
        if kind == "picture":
            from understudy.show.picture import draw

            watch("drawing", 0.0)
            draw(motions, path, labels=labels)
        else:
            from understudy.show.video import write_video

            write_video(motions, path, labels=labels, watch=watch)

    url, _ = downloads.make(f"{title(document)}.{wanted}", fill)
    return {"url": url}


def _motion(work: Work, which: str) -> Motion:
    clip = work.clip(which)
    return clip.motion if clip.motion is not None else rest_motion(clip.skeleton)


def save(document: Document, base: Path, path: Path) -> None:
    """Write the document's recipe, and its bone pairs as a map file beside it."""
    if path.suffix.lower() != ".toml":
        raise OptionError(f"A recipe is written as .toml; got `{path.name}`")
    recipe = named_from(recipe_from(document["recipe"], base), path.parent)
    if document["pairs"] is not None and recipe.actors:
        beside = path.with_name(f"{path.stem}.map.toml")
        lines = [*comment(MAP_HEAD)]
        for pair in document["pairs"]:
            lines += ["", "[[pair]]"]
            lines += [line for key, value in pair.items() if value is not None for line in entry(key, value)]
        with open_to_write(beside) as stream:
            stream.write(("\n".join(lines) + "\n").encode())
        recipe = replace(recipe, actors=(replace(recipe.actors[0], map=beside.name), *recipe.actors[1:]))
    write_recipe(recipe, path)
