"""Opening files, samples and recipes as part of a document; they are read first."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.base.errors import UnderstudyError
from understudy.recipe import read_recipe
from understudy.recipe.writing import relative_to_folder
from understudy.retarget.actor import SAMPLE, sample_scene
from understudy.studio.document import CLIPS, Document, check, empty_document, recipe_tables
from understudy.studio.folders import Folders
from understudy.studio.messages import RequestError
from understudy.studio.workshop import DocumentSolver

ROLES = ("source", "target", "actor", "recipe", *(clip for clips in CLIPS.values() for clip in clips))
"""The roles in which a file can be opened."""

FILE_KEYS = {
    "source": (("source_reference", "map", "align"), ("unit", "up", "skeleton", "frames")),
    "target": (
        ("target_reference", "map", "align", "scale"),
        ("target_unit", "target_up", "target_height", "target_skeleton"),
    ),
}
"""Keys of the actor and of the reading table that belong to the old file and are removed."""


def open_file(document: Document, name: str, role: str, folders: Folders, document_solver: DocumentSolver) -> Document:
    """The document with a file or sample opened in a role; raises if it cannot be read.

    Args:
        document: The current document.
        name: A file in an open folder, or a sample as sample:NAME.
        role: One of `ROLES`.
        folders: The open folders.
        document_solver: Reads the files and detects contacts.
    """
    if role not in ROLES:
        raise RequestError(f"A file is opened as one of {', '.join(ROLES)}; got `{role}`")
    name = folders.document_name(name)
    if role == "recipe":
        return _with_recipe(document, name, folders, document_solver)
    if role == "actor":
        return _with_actor(document, name, folders, document_solver)
    if role in FILE_KEYS:
        return _with_file(document, name, role, folders, document_solver)
    mode = next(mode for mode, clips in CLIPS.items() if role in clips)
    part = {**document[mode], role: name}
    if mode == "transition":
        part |= {"leave": None, "enter": None, "seconds": None}
    else:
        part["poses"] = []
    new = {**document, "mode": mode, mode: part}
    document_solver.view(new, folders.base)
    return new


def _with_file(document: Document, name: str, role: str, folders: Folders, document_solver: DocumentSolver) -> Document:
    recipe = document["recipe"]
    actor, *others = recipe["actor"] or [{"source": ""}]
    actor_keys, reading_keys = FILE_KEYS[role]
    actor = {key: value for key, value in actor.items() if key not in actor_keys} | {role: name}
    reading = {key: value for key, value in recipe["reading"].items() if key not in reading_keys}
    new = {
        **document, "mode": "retarget", "pairs": None,
        "recipe": {**recipe, "actor": [actor, *others], "reading": reading},
    }  # fmt: skip
    if role == "source":
        return with_contacts(_with_all_actors(new), folders, document_solver)
    document_solver.view(new, folders.base)
    return new


def _with_all_actors(document: Document) -> Document:
    """If a sample with several actors is the only source, add all its actors."""
    recipe = document["recipe"]
    source = recipe["actor"][0]["source"]
    if len(recipe["actor"]) > 1 or not source.startswith(SAMPLE) or "/" in source:
        return document
    names = tuple(sample_scene(source)[0].actors)
    if len(names) == 1:
        return document
    actors = [{**recipe["actor"][0], "source": f"{source}/{names[0]}", "name": names[0]}]
    actors += [{"source": f"{source}/{name}", "name": name} for name in names[1:]]
    return {**document, "recipe": {**recipe, "actor": actors}}


def _with_actor(document: Document, name: str, folders: Folders, document_solver: DocumentSolver) -> Document:
    """Add an actor; all actors get names, and the contacts of the others are kept."""
    recipe = document["recipe"]
    if not recipe["actor"]:
        return _with_file(document, name, "source", folders, document_solver)
    actors = [dict(actor) for actor in [*recipe["actor"], {"source": name}]]
    for actor in actors:
        taken = [other.get("name") for other in actors]
        actor["name"] = actor.get("name") or _unused_name(stem(actor.get("source", "")), taken)
    first, last = actors[0]["name"], actors[-1]["name"]
    new = {**document, "mode": "retarget", "recipe": {**recipe, "actor": actors}}
    detected = with_contacts(new, folders, document_solver)
    new_contacts = [
        contact for contact in detected["recipe"]["contact"] if last in (contact.get("actor"), contact.get("on"))
    ]
    kept = [{**contact, "actor": contact.get("actor") or first} for contact in recipe["contact"]]
    return {**detected, "recipe": {**detected["recipe"], "contact": [*kept, *new_contacts]}}


def with_contacts(document: Document, folders: Folders, document_solver: DocumentSolver) -> Document:
    """The document with its contacts detected again."""
    recipe = document["recipe"]
    if not recipe["actor"]:
        raise RequestError("There is no motion yet to detect contacts in", hint="open a source")
    options = {**recipe["options"], "contacts": "detect"}
    new: Document = document_solver.filled(
        {**document, "recipe": {**recipe, "options": options, "contact": []}}, folders.base
    )  # fmt: skip
    return new


def _with_recipe(document: Document, name: str, folders: Folders, document_solver: DocumentSolver) -> Document:
    """Replace the recipe by a recipe file; transition and analogy are kept."""
    path = folders.source_path(name)
    if path is None:
        raise RequestError(f"`{name}` is a sample, not a recipe")
    recipe = read_recipe(path)
    pairs, reduced = None, recipe
    if recipe.actors and recipe.actors[0].map is not None and not recipe.actors[0].map.startswith(SAMPLE):
        pairs = _pairs(folders.resolve(str(path.parent / recipe.actors[0].map)))
        if pairs is not None:
            reduced = replace(recipe, actors=(replace(recipe.actors[0], map=None), *recipe.actors[1:]))
    new = {
        **document, "mode": "retarget", "pairs": pairs,
        "recipe": recipe_tables(relative_to_folder(reduced, folders.base)),
    }  # fmt: skip
    check(new)
    folders.check(new)
    if recipe.contacts is None and recipe.actors:
        return with_contacts(new, folders, document_solver)
    document_solver.view(new, folders.base)
    return new


def _pairs(path: Path) -> list[dict[str, Any]] | None:
    """The bone pairs of a map file; None if the file has more than pairs and stays a file."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnderstudyError(f"{path}: the map cannot be read: {error}") from None
    return table.get("pair") if set(table) == {"pair"} else None


def stem(name: str) -> str:
    """The name of a file or sample without folders and suffix."""
    plain = name.removeprefix(SAMPLE).replace("\\", "/").rpartition("/")[2].partition("#")[0]
    return Path(plain).stem or "actor"


def _unused_name(name: str, taken: list[Any]) -> str:
    suffix, candidate = 2, name
    while candidate in taken:
        candidate, suffix = f"{name}{suffix}", suffix + 1
    return candidate


def first_document(
    document: Document, files: tuple[str, ...], folders: Folders, document_solver: DocumentSolver
) -> Document:
    """Open the files of the command line: a recipe, or a source and optionally a target.

    Args:
        document: The document of the session.
        files: One or two names.
        folders: The open folders.
        document_solver: Reads them.
    """
    if len(files) == 1 and Path(files[0]).suffix.lower() == ".toml":
        return open_file(document, files[0], "recipe", folders, document_solver)
    for name, role in zip(files, ("source", "target")):
        document = open_file(document if role == "target" else empty_document(), name, role, folders, document_solver)
    return document
