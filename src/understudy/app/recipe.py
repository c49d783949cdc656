"""`understudy recipe`: everything that can be chosen about a retarget, written down to be edited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, make_recipe, retarget_options
from understudy.app.output import count_of, note, print_json

if TYPE_CHECKING:
    from understudy.retarget.actor import ActorData
    from understudy.retarget.spec import PropEntry, Recipe


@click.command(
    short_help="Write a recipe to be edited.",
    epilog="Example: understudy recipe sample:walk sample:child -o walk.toml && "
    "understudy retarget --recipe walk.toml -o child_walk.bvh",
)
@click.argument("source")
@click.argument("target", required=False)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write the recipe: .toml.")
@click.option(
    "--also",
    multiple=True,
    nargs=3,
    metavar="NAME SOURCE TARGET",
    help="A further actor; TARGET may be a scale, or `same` for one who keeps the motion.",
)
@click.option("--name", default="", help="What the first actor is called; needed beside others.")
@click.option("--contacts", metavar="JSON", help="Contacts and props in place of found ones, as `samples` writes them.")
@retarget_options
@json_option
def recipe(**given: Any) -> None:
    """Write a recipe for TARGET to perform the motion of SOURCE: every option, explained, and every contact found.

    Run unchanged, by `understudy retarget --recipe FILE -o OUT`, it gives what `understudy retarget SOURCE TARGET`
    gives. In place of TARGET, --scale takes SOURCE's own character larger or smaller.
    """
    from understudy.recipe import write_recipe
    from understudy.recipe.writing import named_from
    from understudy.retarget.driver import prepare

    if Path(given["output"]).suffix.lower() != ".toml":
        raise click.UsageError(f"A recipe is written as .toml; got `{given['output']}`.")
    whole = gather(given)
    prepared = prepare(whole)
    contacts = prepared.contacts
    props = whole.props or sample_props(prepared.actors)
    named = named_from(replace(whole, contacts=contacts, props=props), Path(given["output"]).parent)
    write_recipe(named, given["output"])
    note(prepared.notes)
    if given["as_json"]:
        counts = {"actors": len(whole.actors), "contacts": len(contacts), "props": len(props)}
        print_json({"file": given["output"], **counts})
    else:
        counted = ((whole.actors, "actor"), (contacts, "contact"), (props, "prop"))
        said = ", ".join(count_of(len(things), noun) for things, noun in counted)
        click.echo(f"{given['output']}: {said}")


def gather(given: dict[str, Any]) -> Recipe:
    """The recipe that the command line asks for, with all its actors."""
    whole = make_recipe(given)
    first = replace(whole.actors[0], name=given["name"])
    whole = replace(whole, actors=(first, *(_further(*each) for each in given["also"])))
    if len(whole.actors) > 1 and not given["name"]:
        raise click.UsageError("Several actors need names: give the first one's with --name.")
    if given["contacts"]:
        from understudy.app.scene_file import read_contacts
        from understudy.retarget.actor import load, shifted

        names = [actor.name for actor in whole.actors]
        found = [c for c in read_contacts(given["contacts"]) if c.actor in names or not c.actor or len(names) == 1]
        if len(names) == 1:
            found = [replace(contact, actor=names[0]) for contact in found if contact.other is None]
        props = file_props(given["contacts"])
        first_one = load(whole.actors[0], whole.reading, whole.folder)
        kept = shifted(tuple(found), first_one.start, first_one.motion.duration)
        whole = replace(whole, contacts=kept, props=props)
    return whole


def _further(name: str, source: str, target: str) -> Any:
    from understudy.base.errors import OptionError
    from understudy.retarget.actor import parse_scale
    from understudy.retarget.spec import ActorSpec

    if target == "same":
        return ActorSpec(name=name, source=source, scale=1.0, moves=False)
    try:
        return ActorSpec(name=name, source=source, scale=parse_scale(target))
    except OptionError:
        return ActorSpec(name=name, source=source, target=target)


def file_props(path: str) -> tuple[PropEntry, ...]:
    """The props of a file that `samples` wrote; one that moves keeps its path there."""
    import json

    import numpy as np

    from understudy.base.errors import FileError
    from understudy.base.files import open_to_read
    from understudy.retarget.spec import PropEntry

    with open_to_read(path) as stream:
        listed = json.load(stream).get("props", [])
    found = []
    try:
        for prop in listed:
            sizes, positions, turns = (np.array(prop[key], float) for key in ("sizes", "positions", "rotations"))
            placed: dict[str, Any] = {"positions": positions, "rotations": turns}
            where = {"path": path} if positions.ndim == 3 else placed
            found.append(PropEntry(name=prop["name"], sizes=sizes, **where))
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(path, None, f"holds no props as `samples` writes them: {error}") from None
    return tuple(found)


def sample_props(cast: tuple[ActorData, ...]) -> tuple[PropEntry, ...]:
    """The props that samples bring."""
    from understudy.retarget.spec import PropEntry

    found = {}
    for each in cast:
        for prop in each.props:
            still = prop.positions.ndim == 2
            placed: dict[str, Any] = {"positions": prop.positions, "rotations": prop.rotations}
            where = placed if still else {"path": each.spec.source}
            found[prop.name] = PropEntry(name=prop.name, sizes=prop.sizes, **where)
    return tuple(found.values())


COMMAND = recipe
