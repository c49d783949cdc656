"""What a result is recognised by: digests of everything that it is made from."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import understudy
from understudy.batches.places import Folder, Place
from understudy.errors import FileError
from understudy.recipe import Recipe, recipe_text

BLOCK = 1 << 20
BESIDE = {
    ".amc": (".asf",),
    ".csv": (".urdf", ".xml", ".mjcf"),
    ".npz": (".urdf", ".xml", ".mjcf"),
}
"""Endings of the files that a reader may take from the motion's folder, by the motion's ending."""
ASSET = re.compile(rb"@([^@\n]+)@")
LARGEST = 64 << 20
"""Bytes of a text file up to which it is searched for the files that it names."""


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(BLOCK):
                found.update(block)
    except FileNotFoundError:
        raise FileError(str(path), None, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(str(path), None, "is a folder, not a file") from None
    except OSError as error:
        raise FileError(str(path), None, f"cannot be read: {error.strerror}") from None
    return found.hexdigest()


def text_digest(*parts: str) -> str:
    """The SHA-256 of texts, each apart from the next."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def companions(place: Place, name: str, path: Path) -> list[str]:
    """The files beside a motion that its reader looks at, by name from the place.

    Args:
        place: Where the motion is.
        name: Its name there.
        path: Its content on this machine.
    """
    folder = name.rpartition("/")[0]
    lead = f"{folder}/" if folder else ""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in BESIDE:
        return [lead + each for each in place.names(folder) if PurePosixPath(each).suffix.lower() in BESIDE[suffix]]
    named: Iterable[str] = ()
    if suffix == ".gltf":
        named = _gltf_files(path)
    elif suffix in (".usda", ".usd"):
        named = _usd_files(path)
    inside = (PurePosixPath(each) for each in named)
    kept = sorted({str(each) for each in inside if not each.is_absolute() and ".." not in each.parts})
    return [lead + each for each in kept if place.size(lead + each) is not None]


def _gltf_files(path: Path) -> list[str]:
    """The buffers that a glTF text names; a broken one names none, and its reader says what is wrong."""
    try:
        table = json.loads(_text(path))
        uris = [entry["uri"] for entry in table.get("buffers", []) if "uri" in entry]
    except (ValueError, TypeError, AttributeError):
        return []
    return [unquote(uri) for uri in uris if isinstance(uri, str) and not uri.startswith("data:")]


def _usd_files(path: Path) -> list[str]:
    """The layers that a USD text names."""
    data = _text(path)
    if not data.startswith(b"#usda"):
        return []
    return [found.decode("utf-8", "replace").removeprefix("./") for found in ASSET.findall(data)]


def _text(path: Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(LARGEST)


def order_key(recipe: Recipe, target: Path | None, ending: str | None, *, skin: bool = False) -> str:
    """The digest of all that makes results besides the clips: recipe, target, map, skeletons, format and version.

    Args:
        recipe: With one actor.
        target: The target's file; None for a sample, or where the source's own character is scaled.
        ending: Of the results.
        skin: Whether results are measured by the target's skin.
    """
    actor = recipe.actors[0]
    files = [target]
    for name in (actor.map, recipe.reading.skeleton, recipe.reading.target_skeleton):
        files.append(None if name is None else recipe.folder / name)
    digests = ["" if path is None else file_digest(path) for path in files]
    if target is not None:
        place = Folder(path=target.parent)
        digests += [file_digest(target.parent / each) for each in companions(place, target.name, target)]
    digests += [file_digest(path) for path in _function_files(recipe)]
    return text_digest(_without_names(recipe), *digests, ending or "", str(skin), understudy.__version__)


def _function_files(recipe: Recipe) -> list[str]:
    """The files of the user's own functions among the constraints."""
    values = [getattr(each, name.name) for each in recipe.constraints for name in fields(each)]
    found = [inspect.getsourcefile(value) for value in values if inspect.isfunction(value)]
    return [path for path in found if path and Path(path).is_file()]


def _without_names(recipe: Recipe) -> str:
    """The recipe as text, without the names of files: what is in them counts, not where they are."""
    actor = recipe.actors[0]
    target = actor.target if actor.target is None or actor.target.startswith("sample:") else "file"
    plain = replace(actor, source="", target=target, map=None if actor.map is None else "file")
    reading = replace(
        recipe.reading,
        skeleton=None if recipe.reading.skeleton is None else "file",
        target_skeleton=None if recipe.reading.target_skeleton is None else "file",
    )
    return recipe_text(replace(recipe, actors=(plain,), reading=reading))


def clip_key(order: str, output: str, digests: Iterable[str]) -> str:
    """What a clip's result is recognised by.

    Args:
        order: The key of the order.
        output: The name of the result.
        digests: Of the clip's files.
    """
    return text_digest(order, output, *digests)
