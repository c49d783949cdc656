"""Options that commands share, and the recipe that the options of a retarget make."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from understudy.app.output import QUIET, VERBOSE, note

if TYPE_CHECKING:
    from understudy.retarget.spec import Recipe


Command = TypeVar("Command", bound=Callable[..., Any])


class FrameRange(click.ParamType):
    """A range of frames A:B as in Python: from 0, B excluded, either may be omitted, negative counts from the end."""

    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> slice:
        if isinstance(value, slice):
            return value
        match = re.fullmatch(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*", value)
        if not match:
            self.fail(f"expected frames as A:B, such as 10:50, 10: or :50; got `{value}`", param, ctx)
        first, last = (int(part) if part else None for part in match.groups())
        return slice(first, last)


def reading_options(command: Command) -> Command:
    """Options for reading files that do not state their conventions."""
    options = [
        click.option("--unit", help="Unit of the input: m, dm, cm, mm, inch, foot, cmu, or metres as a number."),
        click.option("--up", help="Up axis of the input: X, Y or Z."),
        click.option("--lenient", is_flag=True, help="Read a damaged motion up to the damage."),
        click.option(
            "--skeleton", metavar="FILE", help="The skeleton's file, for formats that store it separately (AMC)."
        ),
        click.option(
            "--clip",
            metavar="NAME",
            help="Which animation of a file with several [the first that moves joints]; also as FILE#NAME.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def name_clip(file: str, clip: str | None) -> str:
    """A file's name with the animation that `--clip` chose, as FILE#NAME; the name itself if none was chosen."""
    if clip is None:
        return file
    if file.startswith("sample:"):
        raise click.UsageError(f"--clip chooses an animation of a file; `{file}` is a sample.")
    return f"{file}#{clip}"


class FileName(click.ParamType):
    """The name of a file, or of a sample as sample:NAME, which shells complete."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Samples after `sample:`, else whatever files there are."""
        from understudy import samples

        if not incomplete.startswith(SAMPLE):
            return [CompletionItem(incomplete, type="file")]
        names = [SAMPLE + name for name in sorted({*samples.characters(), *samples.motions()})]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


SAMPLE = "sample:"

FILE_WORDS = ("FILE", "OUT", "IN", "B_NEW", "FOLDER", "DIR", "PICTURE", "VIDEO", "JSON", "HTML", "FILE_OR_DIR")
"""Words for files and folders in the help of options and arguments."""


def complete_files(command: click.Command) -> None:
    """Let shells complete the names of files, in every option and argument that takes one."""
    for param in command.params:
        word = (param.metavar or (param.name or "").upper()).strip("[].")
        takes_file = word in FILE_WORDS or (isinstance(param, click.Argument) and param.metavar is None)
        if takes_file and param.type is click.STRING:
            param.type = FileName()


def json_option(command: Command) -> Command:
    """The flags that make a command print JSON, no notes, or every note."""
    command = click.option(
        "-v", "--verbose", is_flag=True, expose_value=False, callback=_be_verbose,
        help="List every note, also those that are folded into one, and say how long it took.",
    )(command)  # fmt: skip
    command = click.option(
        "-q", "--quiet", is_flag=True, expose_value=False, callback=_be_quiet, help="Print no notes, only the result."
    )(command)
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on stdout.")(command)


def _be_verbose(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[VERBOSE] = value
    if value:
        start = time.monotonic()
        ctx.call_on_close(lambda: note([f"took {time.monotonic() - start:.1f} s"]))


def _be_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[QUIET] = value


def force_option(command: Command) -> Command:
    """The flag that allows a command to overwrite what it was given."""
    return click.option("--force", is_flag=True, help="Write also over an input file or a recipe.")(command)


def stdin_option(word: str) -> Callable[[Command], Command]:
    """The format of stdin, for a command that takes `-` as a file.

    Args:
        word: The argument that may be `-`.
    """
    return click.option("--from", "stdin_kind", metavar="FORMAT", help=f"Format of stdin, if {word} is `-`.")


def stdout_option(command: Command) -> Command:
    """The format of stdout, for a command that takes `-` as OUT."""
    return click.option("--to", "stdout_kind", metavar="FORMAT", help="Format of stdout, if OUT is `-`.")(command)


def retarget_options(command: Command) -> Command:
    """Options of a retarget; all are None or empty by default."""
    options = [
        click.option("--scale", metavar="SCALE", help="Scale instead of TARGET: 0.6, legs=1.3, arms=0.8,legs=1.2,..."),
        click.option("--plants", type=click.Choice(["free", "fixed", "none"]), help="How footplants are kept [free]."),
        click.option(
            "--touch", type=click.Choice(["on", "off"]), help="Keep hands as near to the body as they are [on]."
        ),
        click.option("--clearance", type=click.Choice(["on", "off"]), help="Keep limbs out of the body [on]."),
        click.option("--spacing", metavar="KEYS", help="Spacing of keys: auto, seconds, frames at 30 Hz (4f), or all."),
        click.option("--solver", metavar="NAME", help="The solver [spacetime]."),
        click.option("--keep", multiple=True, metavar="JOINT", help="Joints that keep their rotations; repeatable."),
        click.option(
            "--map", "map_file", metavar="FILE", help="Which bones correspond, as `understudy map` writes it."
        ),
        click.option(
            "--align",
            type=click.Choice(["direction", "stance"]),
            help="Match bone directions, or movement relative to each neutral pose [by how similar these are].",
        ),
        click.option(
            "--floor-root",
            type=click.Choice(["follow", "stay"]),
            help="What a root on the floor below TARGET's hips does: follow by place and heading, or stay [follow].",
        ),
        click.option(
            "--floor",
            "level",
            type=click.Choice(["zero", "keep"]),
            help="Floor of the result: level and at zero, or as the source's [zero for robots, else keep].",
        ),
        click.option("--source-reference", type=int, metavar="FRAME", help="Frame of SOURCE with its reference pose."),
        click.option("--target-reference", type=int, metavar="FRAME", help="Frame of TARGET with its reference pose."),
        click.option("--height", type=float, metavar="METRES", help="Height of SOURCE's body, instead of --unit."),
        click.option("--target-unit", help="Unit of TARGET, as --unit."),
        click.option("--target-height", type=float, metavar="METRES", help="Height of TARGET, instead of its unit."),
        click.option("--target-up", help="Up axis of TARGET."),
        click.option("--target-skeleton", metavar="FILE", help="The skeleton's file of TARGET (AMC)."),
        click.option("--frames", metavar="A:B", help="Only these frames of SOURCE, counted from 0, B excluded."),
        click.option("--fps", type=float, help="Frames per second of the result [SOURCE's]."),
        click.option(
            "--keep-reference/--drop-reference",
            default=None,
            help="Whether to keep a first frame that only shows a reference pose [drop].",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return reading_options(command)


def robot_options(command: Command) -> Command:
    """Options of the files that hold a robot's motion."""
    options = [
        click.option(
            "--joint-order", metavar="ORDER", help="A robot's joints in OUT: mjcf, urdf, isaac, or a robot's file."
        ),
        click.option("--quaternion-order", metavar="ORDER", help="A robot's quaternions in OUT: wxyz or xyzw."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def make_recipe(arguments: dict[str, Any]) -> Recipe:
    """The recipe of a command line: from the recipe file if one is given, changed by the other options."""
    from understudy.retarget.actor import ActorSpec
    from understudy.retarget.scale import parse_scale
    from understudy.retarget.spec import Recipe

    source, target = arguments.get("source"), arguments.get("target")
    source = name_clip(source, arguments.get("clip")) if source else source
    scale = None if arguments.get("scale") is None else parse_scale(arguments["scale"])
    if arguments.get("recipe"):
        from understudy.recipe import read_recipe

        recipe = read_recipe(arguments["recipe"])
        if source or target or scale is not None:
            recipe = _with_files(recipe, source, target, scale)
    else:
        if not source:
            raise click.UsageError("Expected SOURCE and TARGET, SOURCE and --scale, or --recipe FILE.")
        if not target and scale is None:
            raise click.UsageError("Expected a TARGET file, or --scale such as 0.6 or legs=1.3.")
        recipe = Recipe(actors=(ActorSpec(source=source, target=target, scale=scale),))
    return _with_options(_with_matching(recipe, arguments), arguments)


def _with_matching(recipe: Recipe, arguments: dict[str, Any]) -> Recipe:
    """The recipe with the options that control how source and target correspond."""
    changes = {
        key: arguments[key]
        for key in ("align", "floor_root", "source_reference", "target_reference")
        if arguments.get(key) is not None
    }
    if arguments.get("map_file") is not None:
        changes["map"] = _absolute_name(arguments["map_file"])
    if not changes:
        return recipe
    if len(recipe.actors) != 1:
        raise click.UsageError("The recipe has several actors: set map and align for each of them there.")
    return replace(recipe, actors=(replace(recipe.actors[0], **changes),))


def _with_files(recipe: Recipe, source: str | None, target: str | None, scale: Any) -> Recipe:
    """The recipe of one actor with other files, named relative to the working directory."""
    if len(recipe.actors) != 1:
        raise click.UsageError("The recipe has several actors: SOURCE, TARGET and --scale cannot replace them.")
    changes: dict[str, Any] = {}
    if source:
        changes["source"] = _absolute_name(source)
    if target:
        changes.update(target=_absolute_name(target), scale=None)
    if scale is not None:
        changes["scale"] = scale
    return replace(recipe, actors=(replace(recipe.actors[0], **changes),))


def _absolute_name(name: str) -> str:
    return name if name.startswith("sample:") else str(Path(name).absolute())


def _with_options(recipe: Recipe, arguments: dict[str, Any]) -> Recipe:
    from understudy.retarget.spec import find_solver, parse_spacing

    names = (
        "unit", "up", "height", "skeleton", "target_unit", "target_up", "target_height", "target_skeleton", "frames",
        "fps", "keep_reference",
    )  # fmt: skip
    reading = {name: arguments[name] for name in names if arguments.get(name) is not None}
    for key in ("skeleton", "target_skeleton"):
        if key in reading:
            reading[key] = _absolute_name(reading[key])
    if arguments.get("lenient"):
        reading["lenient"] = True
    options: dict[str, Any] = {}
    if arguments.get("plants") is not None:
        options["plants"] = arguments["plants"]
    for name in ("touch", "clearance"):
        if arguments.get(name) is not None:
            options[name] = arguments[name] == "on"
    if arguments.get("level") is not None:
        options["level"] = arguments["level"]
    if arguments.get("keep"):
        options["keep"] = tuple(name for text in arguments["keep"] for name in text.split(",") if name)
    changes: dict[str, Any] = {}
    if arguments.get("spacing") is not None:
        changes["spacing"] = parse_spacing(arguments["spacing"])
    if arguments.get("solver") is not None and arguments["solver"] != recipe.solver:
        changes.update(solver=find_solver(arguments["solver"]).name, solver_options={})
    return replace(
        recipe, reading=replace(recipe.reading, **reading), options=replace(recipe.options, **options), **changes
    )
