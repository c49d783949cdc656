"""Digests by which an earlier result is recognised: of files, of a job spec, and of a clip."""

from __future__ import annotations

import hashlib
import inspect
import json
import posixpath
import re
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import understudy
from understudy.base.errors import FileError
from understudy.base.files import open_to_read
from understudy.batch.location import Location
from understudy.recipe import recipe_text
from understudy.retarget.actor import SAMPLE, read_target
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

MAX_COMPANIONS = 1000
"""Files that one file may refer to, directly and through others."""

USD_ASSET = re.compile(rb"@([^@\n]+)@")
"""How a USD text refers to another file."""

XML_INCLUDE = re.compile(rb"""<include\s[^>]*?file\s*=\s*["']([^"'<>]+)["']""")
"""How a robot's XML includes another file."""


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


def companions(location: Location, name: str) -> list[str]:
    """The other files that the reader of a motion or character opens, by name in the location.

    Files that those refer to are included. Layers of binary USD files are not known until the file is read.

    Args:
        location: Where the file is.
        name: Its name there.
    """
    folder = name.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    suffixes = COMPANION_SUFFIXES.get(PurePosixPath(name).suffix.lower(), ())
    beside = [other for other in location.names(folder) if PurePosixPath(other).suffix.lower() in suffixes]
    waiting, known = [name, *(prefix + other for other in beside)], {name}
    while waiting and len(known) < MAX_COMPANIONS:
        file = waiting.pop(0)
        known.add(file)
        for reference in _references(location, file, prefix):
            if reference not in known and reference not in waiting and location.size(reference) is not None:
                waiting.append(reference)
    return sorted(known - {name})


def _references(location: Location, file: str, prefix: str) -> list[str]:
    """The files in a location that a file refers to, by name in the location.

    Args:
        location: Where the files are.
        file: The name of the file that refers to others.
        prefix: The folder, with a slash, that all of them must be in. Robot files name others relative to it.
    """
    suffix = PurePosixPath(file).suffix.lower()
    if suffix not in REFERENCES or (location.size(file) or 0) > MAX_TEXT_BYTES:
        return []
    folder = prefix if suffix in ROBOT_SUFFIXES else file[: file.rfind("/") + 1]
    names = []
    for reference in REFERENCES[suffix](location.read_bytes(file) or b""):
        path = posixpath.normpath(folder + reference)
        if not PurePosixPath(reference).is_absolute() and path.startswith(prefix) and not path.startswith(".."):
            names.append(path)
    return names


def _gltf_references(data: bytes) -> list[str]:
    """The buffer files that a glTF text names. A broken text names none: its reader reports what is wrong."""
    try:
        uris = [entry["uri"] for entry in json.loads(data).get("buffers", []) if "uri" in entry]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []
    return [unquote(uri) for uri in uris if isinstance(uri, str) and not uri.startswith("data:") and "\0" not in uri]


def _usd_references(data: bytes) -> list[str]:
    """The layers that a USD text names."""
    return [_decode(asset) for asset in USD_ASSET.findall(data)] if data.startswith(b"#usda") else []


def _robot_references(data: bytes) -> list[str]:
    """The files that a robot's XML includes."""
    return [_decode(file) for file in XML_INCLUDE.findall(data)]


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "replace").replace("\0", "")


ROBOT_SUFFIXES = (".xml", ".mjcf", ".urdf")

REFERENCES = {
    ".gltf": _gltf_references,
    ".usda": _usd_references,
    ".usd": _usd_references,
    **dict.fromkeys(ROBOT_SUFFIXES, _robot_references),
}
"""By suffix: finds the names of other files in a file's content."""


def make_spec_key(recipe: Recipe, target: Path | None, suffix: str | None, *, skin: bool = False) -> str:
    """The digest of everything that affects results besides the clips.

    These are the recipe, every file that is opened for the target, the files that the recipe names, the output format
    and the package version.

    Args:
        recipe: With one actor.
        target: The target's file, as the recipe names it; None for a sample, or where the source's character is scaled.
        suffix: Of the results.
        skin: Whether results are measured with the target's skin.
    """
    actor = recipe.actors[0]
    digests = ["" if path is None else file_digest(path) for path in recipe_files(recipe)]
    if target is not None:
        assert actor.target is not None
        digests += [file_digest(path) for path in read_target(actor.target, recipe.reading, recipe.folder)[1]]
    digests += [file_digest(path) for path in _function_files(recipe)]
    return text_digest(_text_without_paths(recipe), *digests, suffix or "", str(skin), understudy.__version__)


def recipe_files(recipe: Recipe) -> list[Path | None]:
    """The files that a recipe names besides source and target: map, skeletons, paths of props; None for none."""
    names = [recipe.actors[0].map, recipe.reading.skeleton, recipe.reading.target_skeleton]
    names += [prop.path for prop in recipe.props]
    return [None if name is None or name.startswith(SAMPLE) else recipe.folder / name for name in names]


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
