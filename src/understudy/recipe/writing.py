"""Recipes written as TOML with every option shown and explained, ready to be edited."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import Field, replace
from pathlib import Path
from typing import Any

from understudy.base.fields import default_of, names_of, notes_of, required, settable
from understudy.base.files import open_to_write
from understudy.base.toml import changed, comment, entry, example_entry, value_text
from understudy.constraints import Constraint, kinds
from understudy.figure.contacts import Contact, Detection
from understudy.retarget.actor import SAMPLE
from understudy.retarget.plan import Options
from understudy.retarget.spec import ActorSpec, PropEntry, Reading, Recipe
from understudy.solve.solvers import find_solver, make_solver, solvers

HEAD = (
    "A recipe of understudy: who performs whose motion, and how. Run it with `understudy retarget --recipe FILE -o "
    "OUT`. Lengths are metres, times are seconds from the first frame kept, angles radians, Y is up. Files are named "
    "from this one's folder. A line such as `#key = value` is a key that is not given: take the # away to give it."
)

SHOWN = {
    "str": '"..."', "float": "1.0", "int": "1", "bool": "true", "Array": "[0.0, 0.0, 0.0]", "Spot": '{ point = "..." }',
    "tuple[Spot, ...]": '[{ point = "..." }]', "tuple[Spot, Spot]": '[{ point = "..." }, { point = "..." }]',
    "tuple[str, ...]": '["..."]', "tuple[float, ...]": "[0.0]", "dict[str, float]": "{ NAME = 2.0 }",
    "tuple[float, float]": "[0.0, 1.0]", "Scale": "0.6", "Callable[..., Any]": '"module:function"',
    "tuple[Level, ...]": "[{ spacing = 0.1, rate = 30.0, stiffness = 1e3, steps = 2 }]",
}  # fmt: skip
"""What a value of a type looks like, where there is none to show."""


def write_recipe(recipe: Recipe, path: str | Path) -> None:
    """Write a recipe; the old file stays until the new one is whole."""
    with open_to_write(path) as stream:
        stream.write(recipe_text(recipe).encode())


def recipe_text(recipe: Recipe) -> str:
    """A recipe as commented TOML; read back it is the same recipe."""
    lines = comment(HEAD)
    for actor in recipe.actors:
        lines += ["", "[[actor]]", *_fields(ActorSpec, actor)]
    lines += ["", "[reading]", *comment(_about(Reading)), *_fields(Reading, recipe.reading)]
    lines += ["", "[options]", *_options(recipe)]
    lines += ["", "[detection]", *comment(_about(Detection)), *_fields(Detection, recipe.options.detection)]
    lines += ["", "[solver]", *_solver(recipe)]
    lines += _props(recipe.props)
    lines += _contacts(recipe.contacts)
    lines += ["", *comment("CONSTRAINTS: what must hold besides the contacts, any number of entries.")]
    for constraint in recipe.constraints:
        lines += ["", *constraint_lines(constraint)]
    lines += ["", *comment("Every kind of constraint with its keys, to be copied:")]
    for kind in kinds().values():
        lines += ["#", *_example(kind)]
    return "\n".join(lines) + "\n"


def named_from(recipe: Recipe, folder: Path) -> Recipe:
    """The same recipe with its files named from another folder."""

    def named(name: str | None) -> str | None:
        return None if name is None else name_from(folder, name, recipe.folder)

    actors = tuple(
        replace(
            cast, source=name_from(folder, cast.source, recipe.folder), target=named(cast.target), map=named(cast.map)
        )
        for cast in recipe.actors
    )
    reading = replace(
        recipe.reading, skeleton=named(recipe.reading.skeleton), target_skeleton=named(recipe.reading.target_skeleton)
    )
    props = tuple(replace(prop, path=named(prop.path)) for prop in recipe.props)
    return replace(recipe, actors=actors, reading=reading, props=props, folder=folder)


def name_from(folder: Path, name: str, before: Path = Path()) -> str:
    """A file as it is named from a folder; samples as they are.

    Args:
        folder: Where it is to be named from.
        name: The file as it is named now.
        before: Where it is named from now.
    """
    if not name or name.startswith(SAMPLE):
        return name
    try:
        return os.path.relpath(before / name, folder).replace(os.sep, "/")
    except ValueError:
        # Another drive cannot be named from here.
        return str((before / name).absolute())


def _about(kind: type) -> str:
    return (kind.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")


def _fields(kind: type, thing: Any, leave: Iterable[str] = ()) -> list[str]:
    """Every field of a dataclass with its value and what it means; those without a value as remarks."""
    lines, notes = [], notes_of(kind)
    for each in settable(kind):
        if each.name in leave:
            continue
        value, note = getattr(thing, each.name), notes.get(each.name, "")
        lines += _key(each, value, note)
    return lines


def _key(each: Field[Any], value: Any, note: str) -> list[str]:
    if value is None:
        return example_entry(each.name, shown(each), note)
    if not value and isinstance(value, dict):
        return [*comment(note), f"{each.name} = {{}}"]
    return entry(each.name, value, note)


def shown(each: Field[Any]) -> str:
    """What a value of a field could look like."""
    kind = str(each.type).removesuffix(" | None")
    if not required(each) and default_of(each) is not None:
        return value_text(default_of(each))
    return SHOWN.get(kind, '"..."')


def _options(recipe: Recipe) -> list[str]:
    lines = _fields(Options, recipe.options, leave=("detection", "spacing"))
    note = (
        "How far apart keys are, which bounds how fast changes may be: `auto` (by the motion's own frequencies), "
        "seconds, "
        'frames at 30 Hz as in "4 frames", or `all` for the three variants of 2, 4 and 8 frames.'
    )
    lines += entry("spacing", recipe.spacing, note)
    note = "`listed`: those below and no others; `detect`: found anew by [detection], without any [[contact]] below."
    return lines + entry("contacts", "detect" if recipe.contacts is None else "listed", note)


def _solver(recipe: Recipe) -> list[str]:
    kind = find_solver(recipe.solver)
    lines = entry("name", recipe.solver, f"One of {', '.join(solvers())}.")
    made = make_solver(recipe.solver, recipe.solver_options, 0.1)
    lines += _fields(kind, made, leave=("spacing",))
    for name, other in solvers().items():
        mine = [each for each in settable(other) if each.name != "spacing"]
        if name != recipe.solver and mine:
            keys = ", ".join(f"{each.name} = {shown(each)}" for each in mine)
            lines += comment(f"Solver {name} has: {keys}")
    return lines


def _props(props: tuple[PropEntry, ...]) -> list[str]:
    lines = ["", *comment("PROPS: things around, named by contacts (on = NAME) and constraints (prop = NAME).")]
    for prop in props:
        lines += ["", "[[prop]]", *(line for key, value in changed(prop).items() for line in entry(key, value))]
    if not props:
        lines += ["#[[prop]]"]
        for each in settable(PropEntry):
            lines += example_entry(each.name, shown(each), notes_of(PropEntry).get(each.name, ""))
    return lines


def _contacts(contacts: tuple[Contact, ...] | None) -> list[str]:
    about = (
        "CONTACTS: what touches what, when. Change, remove or add entries. `point` is a name for the place `offset` "
        "metres from `joint` in its own frame; it stays at `place` (without one, what it is `on` carries it along) "
        "from `start` to `end`. `on` is floor, hold, a prop or an actor, whose point is then `other`."
    )
    lines = ["", *comment(about)]
    if contacts is None:
        return [*lines, "#[[contact]]", '#point = "LeftHeel"', "#start = 0.5", "#end = 1.2"]
    for contact in contacts:
        lines += ["", "[[contact]]"]
        if contact.actor:
            lines += entry("actor", contact.actor)
        lines += entry("point", contact.point.name) + entry("joint", contact.point.joint)
        lines += entry("offset", contact.point.offset) + entry("start", float(contact.start))
        lines += entry("end", float(contact.end))
        if contact.place is not None:
            lines += entry("place", contact.place)
        lines += entry("on", contact.on)
        if contact.other is not None:
            other = {"point": contact.other.name, "joint": contact.other.joint, "offset": contact.other.offset}
            lines += entry("other", other)
        lines += entry("confidence", float(contact.confidence))
    return lines


def constraint_lines(constraint: Constraint) -> list[str]:
    """A constraint as an entry of a recipe: what is not as by default."""
    lines = ["[[constraint]]", *entry("kind", constraint.kind)]
    for key, value in changed(constraint).items():
        lines += entry(key, value)
    return lines


def _example(kind: type[Constraint]) -> list[str]:
    """A kind of constraint with its keys, as a remark."""
    lines = [*comment(f"{kind.kind}: {_about(kind)}"), "#[[constraint]]", f'#kind = "{kind.kind}"']
    shared = names_of(Constraint)
    own = [each for each in settable(kind) if each.name not in shared]
    notes = notes_of(kind)
    for each in (*own, *(each for each in settable(kind) if each.name in shared)):
        need = "needed" if required(each) else ""
        note = "; ".join(part for part in (need, notes.get(each.name, "")) if part)
        lines += example_entry(each.name, shown(each), note)
    return lines
