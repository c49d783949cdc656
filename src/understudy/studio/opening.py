"""Documents made by opening things: files, samples and recipes, each looked into before it is taken."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.base.errors import UnderstudyError
from understudy.recipe import read_recipe
from understudy.recipe.writing import named_from
from understudy.retarget.actor import SAMPLE, sample_scene
from understudy.studio.document import CLIPS, Document, check, fresh, tables_of
from understudy.studio.folders import Folders
from understudy.studio.messages import RequestError
from understudy.studio.workshop import Workshop

ROLES = ("source", "target", "actor", "recipe", *(clip for clips in CLIPS.values() for clip in clips))
"""What a file can be opened as."""

OF_FILE = {
    "source": (("source_reference", "map", "align"), ("unit", "up", "skeleton", "frames")),
    "target": (("target_reference", "map", "align", "scale"), ("target_unit", "target_up", "target_skeleton")),
}
"""Keys of an actor and of the reading that another file makes meaningless."""


def opened(document: Document, name: str, role: str, folders: Folders, workshop: Workshop) -> Document:
    """The document with a file or sample in a role; what cannot be read is refused.

    Args:
        document: What is opened so far.
        name: A file in an open folder, or a sample as sample:NAME.
        role: One of `ROLES`.
        folders: The open folders.
        workshop: Finds contacts, and reads what is opened.
    """
    if role not in ROLES:
        raise RequestError(f"A file is opened as one of {', '.join(ROLES)}; got `{role}`")
    name = folders.named(name)
    if role == "recipe":
        return _with_recipe(document, name, folders, workshop)
    if role == "actor":
        return _with_actor(document, name, folders, workshop)
    if role in OF_FILE:
        return _with_file(document, name, role, folders, workshop)
    mode = next(mode for mode, clips in CLIPS.items() if role in clips)
    part = {**document[mode], role: name}
    if mode == "transition":
        part |= {"leave": None, "enter": None, "seconds": None}
    else:
        part["poses"] = []
    new = {**document, "mode": mode, mode: part}
    workshop.view(new, folders.base)
    return new


def _with_file(document: Document, name: str, role: str, folders: Folders, workshop: Workshop) -> Document:
    recipe = document["recipe"]
    actor, *others = recipe["actor"] or [{"source": ""}]
    dropped, unread = OF_FILE[role]
    actor = {key: value for key, value in actor.items() if key not in dropped} | {role: name}
    reading = {key: value for key, value in recipe["reading"].items() if key not in unread}
    new = {
        **document, "mode": "retarget", "pairs": None,
        "recipe": {**recipe, "actor": [actor, *others], "reading": reading},
    }  # fmt: skip
    if role == "source":
        return detected(_with_partners(new), folders, workshop)
    workshop.view(new, folders.base)
    return new


def _with_partners(document: Document) -> Document:
    """A sample of several actors, opened as the only source, brings them all."""
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


def _with_actor(document: Document, name: str, folders: Folders, workshop: Workshop) -> Document:
    """A further actor; all get names, and what was said of the others' contacts stays."""
    recipe = document["recipe"]
    if not recipe["actor"]:
        return _with_file(document, name, "source", folders, workshop)
    actors: list[dict[str, Any]] = []
    for actor in [*recipe["actor"], {"source": name}]:
        taken = [other["name"] for other in actors]
        actors.append({**actor, "name": actor.get("name") or _unused(stem(actor.get("source", "")), taken)})
    first, last = actors[0]["name"], actors[-1]["name"]
    new = {**document, "mode": "retarget", "recipe": {**recipe, "actor": actors}}
    found = detected(new, folders, workshop)
    mine = [contact for contact in found["recipe"]["contact"] if last in (contact.get("actor"), contact.get("on"))]
    kept = [{**contact, "actor": contact.get("actor") or first} for contact in recipe["contact"]]
    return {**found, "recipe": {**found["recipe"], "contact": [*kept, *mine]}}


def detected(document: Document, folders: Folders, workshop: Workshop) -> Document:
    """The document with its contacts found anew."""
    recipe = document["recipe"]
    if not recipe["actor"]:
        raise RequestError("There is no motion yet in which contacts could be found", hint="open a source")
    options = {**recipe["options"], "contacts": "detect"}
    new: Document = workshop.filled(
        {**document, "recipe": {**recipe, "options": options, "contact": []}}, folders.base
    )  # fmt: skip
    return new


def _with_recipe(document: Document, name: str, folders: Folders, workshop: Workshop) -> Document:
    """A recipe file as the document; what is said of transitions and analogies stays."""
    path = folders.source(name)
    if path is None:
        raise RequestError(f"`{name}` is a sample, not a recipe")
    recipe = read_recipe(path)
    pairs, kept = None, recipe
    if recipe.actors and recipe.actors[0].map is not None and not recipe.actors[0].map.startswith(SAMPLE):
        pairs = _pairs(folders.inside(str(path.parent / recipe.actors[0].map)))
        if pairs is not None:
            kept = replace(recipe, actors=(replace(recipe.actors[0], map=None), *recipe.actors[1:]))
    new = {
        **document, "mode": "retarget", "pairs": pairs,
        "recipe": tables_of(named_from(kept, folders.base)),
    }  # fmt: skip
    check(new)
    folders.check(new)
    if recipe.contacts is None and recipe.actors:
        return detected(new, folders, workshop)
    workshop.view(new, folders.base)
    return new


def _pairs(path: Path) -> list[dict[str, Any]] | None:
    """The bone pairs of a map file; None for one that says more than pairs, which stays a file."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnderstudyError(f"{path}: the map cannot be read: {error}") from None
    return table.get("pair") if set(table) == {"pair"} else None


def stem(name: str) -> str:
    """What a file or sample is called, without folders and ending."""
    plain = name.removeprefix(SAMPLE).replace("\\", "/").rpartition("/")[2].partition("#")[0]
    return Path(plain).stem or "actor"


def _unused(name: str, taken: list[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name}{number}", number + 1
    return found


def first_document(document: Document, files: tuple[str, ...], folders: Folders, workshop: Workshop) -> Document:
    """What the command line asks to be opened: a recipe, or a source and perhaps a target.

    Args:
        document: What the session holds.
        files: One or two names.
        folders: The open folders.
        workshop: Reads them.
    """
    if len(files) == 1 and Path(files[0]).suffix.lower() == ".toml":
        return opened(document, files[0], "recipe", folders, workshop)
    for name, role in zip(files, ("source", "target")):
        document = opened(document if role == "target" else fresh(), name, role, folders, workshop)
    return document
