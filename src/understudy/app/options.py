"""Options of the commands that retarget, and the recipe that they make."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from understudy.retarget.spec import Recipe


Command = TypeVar("Command", bound=Callable[..., Any])


class FrameRange(click.ParamType):
    """Frames A:B as Python counts them: from 0, B not included, either may be left out, negative from the end."""

    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> slice:
        if isinstance(value, slice):
            return value
        found = re.fullmatch(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*", value)
        if not found:
            self.fail(f"expected frames as A:B, such as 10:50, 10: or :50; got `{value}`", param, ctx)
        first, last = (int(part) if part else None for part in found.groups())
        return slice(first, last)


def reading_options(command: Command) -> Command:
    """Options that say how to read a file where it does not say itself."""
    options = [
        click.option("--unit", help="Unit of the input: m, dm, cm, mm, inch, foot, cmu, or metres as a number."),
        click.option("--up", help="Up axis of the input: X, Y or Z."),
        click.option("--lenient", is_flag=True, help="Read a damaged motion up to the damage."),
        click.option("--skeleton", metavar="FILE", help="The skeleton's file, where the format keeps it apart (AMC)."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def clip_option(command: Command) -> Command:
    """The option that names one of a file's animations."""
    return click.option(
        "--clip", metavar="NAME", help="Which animation, where the file holds several [the first]; also as FILE#NAME."
    )(command)


def json_option(command: Command) -> Command:
    """The flag that makes a command print JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, and nothing else there.")(
        command
    )


def retarget_options(command: Command) -> Command:
    """Options that say how a motion is retargeted; all are None or empty where not given."""
    options = [
        click.option("--scale", metavar="SCALE", help="Scale in place of TARGET: 0.6, legs=1.3, arms=0.8,legs=1.2,..."),
        click.option("--plants", type=click.Choice(["free", "fixed", "none"]), help="How footplants are kept [free]."),
        click.option("--spacing", metavar="KEYS", help="Between keys: auto, seconds, frames at 30 Hz (4f), or all."),
        click.option("--solver", metavar="NAME", help="How to solve [spacetime]."),
        click.option("--keep", multiple=True, metavar="JOINT", help="Joints that stay as they are; may be repeated."),
        click.option(
            "--map", "map_file", metavar="FILE", help="Which bones correspond, as `understudy map` writes it."
        ),
        click.option(
            "--align",
            type=click.Choice(["direction", "stance"]),
            help="Bones point as the source's do, or each body moves from how it stands [by how alike they stand].",
        ),
        click.option(
            "--source-reference", type=int, metavar="FRAME", help="Frame of SOURCE that is its reference pose."
        ),
        click.option(
            "--target-reference", type=int, metavar="FRAME", help="Frame of TARGET that is its reference pose."
        ),
        click.option("--target-unit", help="Unit of TARGET, as --unit."),
        click.option("--target-up", help="Up axis of TARGET."),
        click.option("--target-skeleton", metavar="FILE", help="The skeleton's file of TARGET (AMC)."),
        click.option("--frames", metavar="A:B", help="Only these frames of SOURCE, counted from 0, B not included."),
        click.option("--fps", type=float, help="Frames per second of the result; SOURCE's own if not given."),
        click.option(
            "--keep-reference/--drop-reference",
            default=None,
            help="Whether a first frame that only shows a reference pose stays [drop].",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return reading_options(command)


def make_recipe(given: dict[str, Any]) -> Recipe:
    """The recipe that arguments and options make: a file's, if one is named, with what is given besides put over it."""
    from understudy.retarget.actor import parse_scale
    from understudy.retarget.spec import ActorSpec, Recipe

    source, target = given.get("source"), given.get("target")
    scale = None if given.get("scale") is None else parse_scale(given["scale"])
    if given.get("recipe"):
        from understudy.recipe import read_recipe

        recipe = read_recipe(given["recipe"])
        if source or target or scale is not None:
            recipe = _recast(recipe, source, target, scale)
    else:
        if not source:
            raise click.UsageError("Say whose motion: SOURCE and TARGET, SOURCE and --scale, or --recipe FILE.")
        if not target and scale is None:
            raise click.UsageError("Say who is to perform it: a TARGET file, or --scale such as 0.6 or legs=1.3.")
        recipe = Recipe(actors=(ActorSpec(source=source, target=target, scale=scale),))
    return _with_options(_with_casting(recipe, given), given)


def _with_casting(recipe: Recipe, given: dict[str, Any]) -> Recipe:
    """The recipe with what is said about how source and target correspond."""
    changes = {
        key: given[key] for key in ("align", "source_reference", "target_reference") if given.get(key) is not None
    }
    if given.get("map_file") is not None:
        changes["map"] = _here(given["map_file"])
    if not changes:
        return recipe
    if len(recipe.actors) != 1:
        raise click.UsageError("The recipe has several actors: say in it how each corresponds (map, align).")
    return replace(recipe, actors=(replace(recipe.actors[0], **changes),))


def _recast(recipe: Recipe, source: str | None, target: str | None, scale: Any) -> Recipe:
    """The recipe of one actor with other files, named from where the user is."""
    if len(recipe.actors) != 1:
        raise click.UsageError("The recipe has several actors: SOURCE, TARGET and --scale cannot stand in for them.")
    changes: dict[str, Any] = {}
    if source:
        changes["source"] = _here(source)
    if target:
        changes.update(target=_here(target), scale=None)
    if scale is not None:
        changes["scale"] = scale
    return replace(recipe, actors=(replace(recipe.actors[0], **changes),))


def _here(name: str) -> str:
    return name if name.startswith("sample:") else str(Path(name).absolute())


def _with_options(recipe: Recipe, given: dict[str, Any]) -> Recipe:
    from understudy.retarget.spec import parse_spacing
    from understudy.solve.solvers import find_solver

    names = (
        "unit", "up", "skeleton", "target_unit", "target_up", "target_skeleton", "frames", "fps", "keep_reference",
    )  # fmt: skip
    reading = {name: given[name] for name in names if given.get(name) is not None}
    for key in ("skeleton", "target_skeleton"):
        if key in reading:
            reading[key] = _here(reading[key])
    if given.get("lenient"):
        reading["lenient"] = True
    options: dict[str, Any] = {}
    if given.get("plants") is not None:
        options["plants"] = given["plants"]
    if given.get("keep"):
        options["keep"] = tuple(name for text in given["keep"] for name in text.split(",") if name)
    changes: dict[str, Any] = {}
    if given.get("spacing") is not None:
        changes["spacing"] = parse_spacing(given["spacing"])
    if given.get("solver") is not None and given["solver"] != recipe.solver:
        changes.update(solver=find_solver(given["solver"]).name, solver_options={})
    return replace(
        recipe, reading=replace(recipe.reading, **reading), options=replace(recipe.options, **options), **changes
    )
