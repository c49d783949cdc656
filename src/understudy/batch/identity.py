"""Digests by which an earlier result is recognised: of files, of a job spec, and of a clip."""

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
from understudy.base.errors import FileError
from understudy.base.files import open_to_read
from understudy.batch.location import Folder, Location
from understudy.recipe import recipe_text
from understudy.retarget.actor import SAMPLE
from understudy.retarget.spec import Recipe

BLOCK_BYTES = 1 << 20
"""Bytes of a file that are read at a time."""

MAX_TEXT_BYTES = 64 << 20
"""Bytes of a text file that are searched for the names of other files."""

COMPANION_SUFFIXES = {
    ".amc": (".asf",),
    ".csv": (".urdf", ".xml", ".mjcf"),
    ".npz": (".urdf", ".xml", ".mjcf"),
}
"""Suffixes of the files that a reader may take from the motion's folder, by the motion's suffix."""

USD_ASSET = re.compile(rb"@([^@\n]+)@")
"""How a USD text refers to another file."""


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    try:
        with open_to_read(path) as stream:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise FileError(str(path), None, f"cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def text_digest(*parts: str) -> str:
    """The SHA-256 of several texts; moving characters from one text to the next changes it."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def companions(location: Location, name: str, path: Path) -> list[str]:
    """The other files that the reader of a motion opens, by name in the location.

    Args:
        location: Where the motion is.
        name: Its name there.
        path: A copy of the motion on this machine.
    """
    folder = name.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in COMPANION_SUFFIXES:
        wanted = COMPANION_SUFFIXES[suffix]
        return [prefix + other for other in location.names(folder) if PurePosixPath(other).suffix.lower() in wanted]
    references: Iterable[str] = ()
    if suffix == ".gltf":
        references = _gltf_references(path)
    elif suffix in (".usda", ".usd"):
        references = _usd_references(path)
    paths = (PurePosixPath(reference) for reference in references)
    inside = sorted({str(other) for other in paths if not other.is_absolute() and ".." not in other.parts})
    return [prefix + other for other in inside if location.size(prefix + other) is not None]


def _gltf_references(path: Path) -> list[str]:
    """The buffer files that a glTF text names. A broken text names none: its reader reports what is wrong."""
    try:
        table = json.loads(_read_start(path))
        uris = [entry["uri"] for entry in table.get("buffers", []) if "uri" in entry]
    except (ValueError, TypeError, AttributeError):
        return []
    return [unquote(uri) for uri in uris if isinstance(uri, str) and not uri.startswith("data:")]


def _usd_references(path: Path) -> list[str]:
    """The layers that a USD text names."""
    data = _read_start(path)
    if not data.startswith(b"#usda"):
        return []
    return [asset.decode("utf-8", "replace").removeprefix("./") for asset in USD_ASSET.findall(data)]


def _read_start(path: Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(MAX_TEXT_BYTES)


def make_spec_key(recipe: Recipe, target: Path | None, suffix: str | None, *, skin: bool = False) -> str:
    """The digest of everything that affects results besides the clips.

    These are the recipe, the target, the map, the skeleton files, the output format and the package version.

    Args:
        recipe: With one actor.
        target: The target's file; None for a sample, or where the source's character is scaled.
        suffix: Of the results.
        skin: Whether results are measured with the target's skin.
    """
    actor = recipe.actors[0]
    files = [target]
    for name in (actor.map, recipe.reading.skeleton, recipe.reading.target_skeleton):
        files.append(None if name is None else recipe.folder / name)
    digests = ["" if path is None else file_digest(path) for path in files]
    if target is not None:
        location = Folder(path=target.parent)
        digests += [file_digest(target.parent / name) for name in companions(location, target.name, target)]
    digests += [file_digest(path) for path in _function_files(recipe)]
    return text_digest(_text_without_paths(recipe), *digests, suffix or "", str(skin), understudy.__version__)


def _function_files(recipe: Recipe) -> list[str]:
    """The files of the user's functions in the constraints."""
    values = [getattr(constraint, field.name) for constraint in recipe.constraints for field in fields(constraint)]
    paths = [inspect.getsourcefile(value) for value in values if inspect.isfunction(value)]
    return [path for path in paths if path and Path(path).is_file()]


def _text_without_paths(recipe: Recipe) -> str:
    """The recipe as text without file names: the key depends on what the files hold, not on where they are."""
    actor = recipe.actors[0]
    target = actor.target if actor.target is None or actor.target.startswith(SAMPLE) else "file"
    actor = replace(actor, source="", target=target, map=None if actor.map is None else "file")
    reading = replace(
        recipe.reading,
        skeleton=None if recipe.reading.skeleton is None else "file",
        target_skeleton=None if recipe.reading.target_skeleton is None else "file",
    )
    return recipe_text(replace(recipe, actors=(actor,), reading=reading))


def make_clip_key(spec_key: str, output: str, digests: Iterable[str]) -> str:
    """The digest by which a clip's result is recognised.

    Args:
        spec_key: From `make_spec_key`.
        output: The name of the result.
        digests: Of the clip's files.
    """
    return text_digest(spec_key, output, *digests)
