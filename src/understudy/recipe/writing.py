"""Write recipes as TOML in which every option is listed and explained."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import Field, replace
from pathlib import Path
from typing import Any

from understudy.base.fields import default_of, names_of, notes_of, required, settable
from understudy.base.toml import changed, comment, entry, example_entry, value_text, write_toml
from understudy.constraints import Constraint, kinds
from understudy.figure.contacts import Contact, Detection
from understudy.retarget.actor import SAMPLE, ActorSpec, Reading
from understudy.retarget.plan import Options
from understudy.retarget.spec import PropEntry, Recipe, find_solver, make_solver, solvers

HEADER = (
    "A recipe of understudy: who performs whose motion, and how. Run it with `understudy retarget --recipe FILE -o "
    "OUT`. Lengths are in metres, times in seconds from the first kept frame, angles in radians; Y is up. File names "
    "are relative to this folder. A line such as `#key = value` is an unused key: remove the # to use it."
)

EXAMPLE_VALUES = {
    "str": '"..."', "float": "1.0", "int": "1", "bool": "true", "Array": "[0.0, 0.0, 0.0]", "Scale": "0.6",
    "PointLike": '{ point = "..." }', "tuple[PointLike, ...]": '[{ point = "..." }]',
    "tuple[PointLike, PointLike]": '[{ point = "..." }, { point = "..." }]', "tuple[str, ...]": '["..."]',
    "tuple[float, ...]": "[0.0]", "tuple[float, float]": "[0.0, 1.0]", "dict[str, float]": "{ NAME = 2.0 }",
    "Callable[..., Any]": '"module:function"',
    "tuple[Level, ...]": "[{ spacing = 0.1, rate = 30.0, stiffness = 1e3, steps = 2 }]",
}  # fmt: skip
"""Example values by field type, for fields without a value or default."""


def write_recipe(recipe: Recipe, path: str | Path) -> None:
    """Write a recipe; an old file is replaced when the new one is complete."""
    write_toml(path, recipe_text(recipe))


def recipe_text(recipe: Recipe) -> str:
    """A recipe as commented TOML; reading it gives the same recipe."""
    lines = comment(HEADER)
    for actor in recipe.actors:
        lines += ["", "[[actor]]", *_field_lines(ActorSpec, actor)]
    lines += ["", "[reading]", *comment(_summary(Reading)), *_field_lines(Reading, recipe.reading)]
    lines += ["", "[options]", *_options(recipe)]
    lines += ["", "[detection]", *comment(_summary(Detection)), *_field_lines(Detection, recipe.options.detection)]
    lines += ["", "[solver]", *_solver(recipe)]
    lines += _props(recipe.props)
    lines += _contacts(recipe.contacts)
    lines += ["", *comment("CONSTRAINTS: what must hold besides the contacts; any number of entries.")]
    for constraint in recipe.constraints:
        lines += ["", *constraint_lines(constraint)]
    lines += ["", *comment("Every kind of constraint with its keys, for copying:")]
    for kind in kinds().values():
        lines += ["#", *_example(kind)]
    return "\n".join(lines) + "\n"


def relative_to_folder(recipe: Recipe, folder: Path) -> Recipe:
    """The same recipe with file names relative to another folder."""

    def rename(name: str | None) -> str | None:
        return None if name is None else name_from(folder, name, recipe.folder)

    actors = tuple(
        replace(
            actor,
            source=name_from(folder, actor.source, recipe.folder),
            target=rename(actor.target),
            map=rename(actor.map),
        )
        for actor in recipe.actors
    )
    reading = replace(
        recipe.reading, skeleton=rename(recipe.reading.skeleton), target_skeleton=rename(recipe.reading.target_skeleton)
    )
    props = tuple(replace(prop, path=rename(prop.path), mesh=rename(prop.mesh)) for prop in recipe.props)
    return replace(recipe, actors=actors, reading=reading, props=props, folder=folder)


def name_from(folder: Path, name: str, old_folder: Path = Path()) -> str:
    """The name of a file relative to a folder; the name of a sample stays as it is.

    Args:
        folder: What the new name is relative to.
        name: The file's name now.
        old_folder: What the name is relative to now.
    """
    if not name or name.startswith(SAMPLE):
        return name
    try:
        return os.path.relpath(old_folder / name, folder).replace(os.sep, "/")
    except ValueError:
        # There is no relative path to another drive.
        return str((old_folder / name).absolute())


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")


def _field_lines(kind: type, instance: Any, excluded: Iterable[str] = ()) -> list[str]:
    """Every field of a dataclass with its value and meaning; fields without a value are commented out."""
    lines, notes = [], notes_of(kind)
    for field in settable(kind):
        if field.name not in excluded:
            lines += _key_lines(field, getattr(instance, field.name), notes.get(field.name, ""))
    return lines


def _key_lines(field: Field[Any], value: Any, note: str) -> list[str]:
    if value is None:
        return example_entry(field.name, example_value(field), note)
    if not value and isinstance(value, dict):
        return [*comment(note), f"{field.name} = {{}}"]
    return entry(field.name, value, note)


def example_value(field: Field[Any]) -> str:
    """The default of a field, or an example of its type."""
    type_name = str(field.type).removesuffix(" | None")
    if not required(field) and default_of(field) is not None:
        return value_text(default_of(field))
    return EXAMPLE_VALUES.get(type_name, '"..."')


def _options(recipe: Recipe) -> list[str]:
    lines = _field_lines(Options, recipe.options, excluded=("detection", "spacing"))
    note = (
        "Spacing of keys, which bounds how fast changes may be: `auto` (from the motion's frequencies), seconds, "
        'frames at 30 Hz as in "4 frames", or `all` for the three variants of 2, 4 and 8 frames.'
    )
    lines += entry("spacing", recipe.spacing, note)
    note = (
        "`listed`: only the [[contact]] entries below; `detect`: found with [detection], without [[contact]] entries."
    )
    return lines + entry("contacts", "detect" if recipe.contacts is None else "listed", note)


def _solver(recipe: Recipe) -> list[str]:
    kind = find_solver(recipe.solver)
    lines = entry("name", recipe.solver, f"One of {', '.join(solvers())}.")
    solver = make_solver(recipe.solver, recipe.solver_options, 0.1)
    lines += _field_lines(kind, solver, excluded=("spacing",))
    for name, other in solvers().items():
        fields = [field for field in settable(other) if field.name != "spacing"]
        if name != recipe.solver and fields:
            keys = ", ".join(f"{field.name} = {example_value(field)}" for field in fields)
            lines += comment(f"Solver {name} has: {keys}")
    return lines


def _props(props: tuple[PropEntry, ...]) -> list[str]:
    lines = ["", *comment("PROPS: objects in the scene, named by contacts (on = NAME) and constraints (prop = NAME).")]
    for prop in props:
        lines += ["", "[[prop]]", *(line for key, value in changed(prop).items() for line in entry(key, value))]
    if not props:
        lines += ["#[[prop]]"]
        for field in settable(PropEntry):
            lines += example_entry(field.name, example_value(field), notes_of(PropEntry).get(field.name, ""))
    return lines


def _contacts(contacts: tuple[Contact, ...] | None) -> list[str]:
    explanation = (
        "CONTACTS: what touches what, and when. Change, remove or add entries. `point` names the point at `offset` "
        "metres from `joint`, in the joint's frame. From `start` to `end` it stays at `place`; without a place it "
        "moves with what it is `on`. `velocity`, in metres a second, is that of a floor that moves. `on` is floor, "
        "hold, a prop, or an actor, whose point is then `other`."
    )
    lines = ["", *comment(explanation)]
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
        if contact.velocity is not None:
            lines += entry("velocity", contact.velocity)
        lines += entry("on", contact.on)
        if contact.other is not None:
            other = {"point": contact.other.name, "joint": contact.other.joint, "offset": contact.other.offset}
            lines += entry("other", other)
        lines += entry("confidence", float(contact.confidence))
    return lines


def constraint_lines(constraint: Constraint) -> list[str]:
    """A constraint as an entry of a recipe, with the keys that differ from their defaults."""
    lines = ["[[constraint]]", *entry("kind", constraint.kind)]
    for key, value in changed(constraint).items():
        lines += entry(key, value)
    return lines


def _example(kind: type[Constraint]) -> list[str]:
    """A kind of constraint with all its keys, commented out."""
    lines = [*comment(f"{kind.kind}: {_summary(kind)}"), "#[[constraint]]", f'#kind = "{kind.kind}"']
    shared = names_of(Constraint)
    notes = notes_of(kind)
    for field in sorted(settable(kind), key=lambda field: field.name in shared):
        need = "needed" if required(field) else ""
        note = "; ".join(part for part in (need, notes.get(field.name, "")) if part)
        lines += example_entry(field.name, example_value(field), note)
    return lines
