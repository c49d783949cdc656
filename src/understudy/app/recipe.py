"""`understudy recipe`: write a recipe, a file with all options of a retarget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import force_option, json_option, make_recipe, retarget_options
from understudy.app.output import count_of, note, print_json

if TYPE_CHECKING:
    from understudy.retarget.actor import ActorData
    from understudy.retarget.spec import PropEntry, Recipe


@click.command(
    short_help="Write a recipe for editing.",
    epilog="Example: understudy recipe sample:walk sample:child -o walk.toml && "
    "understudy retarget --recipe walk.toml -o child_walk.bvh",
)
@click.argument("source")
@click.argument("target", required=False)
@click.option("-o", "--output", required=True, metavar="FILE", help="Output file: .toml.")
@click.option(
    "--also",
    multiple=True,
    nargs=3,
    metavar="NAME SOURCE TARGET",
    help="A further actor; TARGET may be a scale, or `same` for an actor that keeps its motion.",
)
@click.option("--name", default="", help="Name of the first actor; needed if there are others.")
@click.option(
    "--contacts", metavar="JSON", help="Contacts and props instead of detected ones, as `samples` writes them."
)
@retarget_options
@force_option
@json_option
def recipe(**arguments: Any) -> None:
    """Write a recipe that retargets SOURCE to TARGET, with every option explained and every detected contact.

    Unchanged, `understudy retarget --recipe FILE -o OUT` gives the result of `understudy retarget SOURCE TARGET`.
    Instead of TARGET, --scale scales SOURCE's character.
    """
    from understudy.base.errors import OptionError
    from understudy.recipe import write_recipe
    from understudy.recipe.writing import relative_to_folder
    from understudy.retarget.driver import prepare

    if Path(arguments["output"]).suffix.lower() != ".toml":
        raise click.UsageError(f"A recipe is written as .toml; got `{arguments['output']}`.")
    if Path(arguments["output"]).exists() and not arguments["force"]:
        raise OptionError(
            f"`{arguments['output']}` exists, and what was edited in it would be lost",
            hint="--force writes it anew, or name another file with -o",
        )
    draft = gather(arguments)
    prepared = prepare(draft)
    contacts = prepared.contacts
    props = draft.props or sample_props(prepared.actors)
    complete = replace(draft, contacts=contacts, props=props)
    write_recipe(relative_to_folder(complete, Path(arguments["output"]).parent), arguments["output"])
    note(prepared.notes)
    if arguments["as_json"]:
        counts = {"actors": len(draft.actors), "contacts": len(contacts), "props": len(props)}
        print_json({"file": arguments["output"], **counts})
    else:
        entries = ((draft.actors, "actor"), (contacts, "contact"), (props, "prop"))
        counts_text = ", ".join(count_of(len(items), noun) for items, noun in entries)
        click.echo(f"{arguments['output']}: {counts_text}")


def gather(arguments: dict[str, Any]) -> Recipe:
    """The recipe of the command line, with all actors."""
    recipe = make_recipe(arguments)
    first = replace(recipe.actors[0], name=arguments["name"])
    recipe = replace(recipe, actors=(first, *(_make_actor(*words) for words in arguments["also"])))
    if len(recipe.actors) > 1 and not arguments["name"]:
        raise click.UsageError("Several actors need names: name the first one with --name.")
    if arguments["contacts"]:
        from understudy.app.scene_file import read_contacts
        from understudy.retarget.actor import load, shift_contacts

        names = [actor.name for actor in recipe.actors]
        contacts = [
            c for c in read_contacts(arguments["contacts"]) if c.actor in names or not c.actor or len(names) == 1
        ]
        if len(names) == 1:
            contacts = [replace(contact, actor=names[0]) for contact in contacts if contact.other is None]
        first_actor = load(recipe.actors[0], recipe.reading, recipe.folder)
        shifted_contacts = shift_contacts(tuple(contacts), first_actor.start, first_actor.motion.duration)
        recipe = replace(recipe, contacts=shifted_contacts, props=file_props(arguments["contacts"]))
    return recipe


def _make_actor(name: str, source: str, target: str) -> Any:
    from understudy.base.errors import OptionError
    from understudy.retarget.actor import ActorSpec
    from understudy.retarget.scale import parse_scale

    if target == "same":
        return ActorSpec(name=name, source=source, scale=1.0, moves=False)
    try:
        return ActorSpec(name=name, source=source, scale=parse_scale(target))
    except OptionError:
        return ActorSpec(name=name, source=source, target=target)


def file_props(path: str) -> tuple[PropEntry, ...]:
    """The props of a file that `samples` wrote; the entry of a moving prop refers to the file."""
    import json

    import numpy as np

    from understudy.base.errors import FileError
    from understudy.base.files import open_to_read
    from understudy.retarget.spec import PropEntry

    with open_to_read(path) as stream:
        props = json.load(stream).get("props", [])
    entries = []
    try:
        for prop in props:
            sizes, positions, rotations = (np.array(prop[key], float) for key in ("sizes", "positions", "rotations"))
            fixed: dict[str, Any] = {"positions": positions, "rotations": rotations}
            where = {"path": path} if positions.ndim == 3 else fixed
            entries.append(PropEntry(name=prop["name"], sizes=sizes, **where))
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(path, None, f"holds no props in the form that `samples` writes: {error}") from None
    return tuple(entries)


def sample_props(actors: tuple[ActorData, ...]) -> tuple[PropEntry, ...]:
    """The props of the samples among the actors."""
    from understudy.retarget.spec import PropEntry

    entries = {}
    for actor in actors:
        for prop in actor.props:
            fixed: dict[str, Any] = {"positions": prop.positions, "rotations": prop.rotations}
            where = fixed if prop.positions.ndim == 2 else {"path": actor.spec.source}
            entries[prop.name] = PropEntry(name=prop.name, sizes=prop.sizes, **where)
    return tuple(entries.values())


COMMAND = recipe
