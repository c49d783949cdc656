"""`understudy retarget`: retarget a motion to another character."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.game import (
    apply_game_options,
    check_game_options,
    game_options,
    new_file_option,
    write_path_beside,
    writing_options,
)
from understudy.app.options import (
    force_option,
    json_option,
    make_recipe,
    retarget_options,
    robot_options,
    stdin_option,
    stdout_option,
)
from understudy.app.output import (
    STANDARD_STREAM,
    Progress,
    check_output,
    fold_notes,
    foresee_losses,
    input_file,
    note,
    output_file,
    paint_conclusions,
    print_json,
    refuse_overwriting,
    refuse_stream_with,
)

if TYPE_CHECKING:
    from understudy.retarget.driver import Retargeted
    from understudy.retarget.spec import Recipe


@click.command(
    short_help="Retarget a motion to a character.",
    epilog="Example: understudy retarget sample:walk sample:child -o child_walk.bvh --plants free",
)
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option("-o", "--output", required=True, metavar="OUT", help="Output file; its suffix determines the format.")
@retarget_options
@robot_options
@click.option("--recipe", metavar="FILE", help="A recipe, as `understudy recipe` writes one.")
@click.option("--report", metavar="FILE", help="Also write the quality report, as JSON or text by the suffix.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any constraint is not met.")
@game_options
@stdin_option("SOURCE")
@stdout_option
@force_option
@json_option
def retarget(**arguments: Any) -> None:
    """Retarget the motion of SOURCE to TARGET with feet planted and joints within limits, and say how good it is.

    SOURCE is a motion file, TARGET a character or motion file of any structure; both may be a sample as sample:NAME.
    The correspondence of bones is found from names and shape (`understudy map` shows it, --map FILE sets it). Instead
    of TARGET, --scale scales SOURCE's character, all of it or by parts: legs, arms, trunk, head, feet, hands, or
    joints by name (the bone that leads to the joint). Several actors, props and constraints need a recipe.
    """
    inputs = (arguments["source"], arguments["target"], arguments["recipe"])
    output = arguments["output"]
    refuse_overwriting(output, inputs, force=arguments["force"])
    with ExitStack() as files:
        if arguments["source"] is not None:
            arguments["source"] = files.enter_context(input_file(arguments["source"], arguments["stdin_kind"]))
        arguments["output"] = files.enter_context(output_file(output, arguments["stdout_kind"]))
        check_game_options(arguments, arguments["output"])
        refuse_stream_with(output, as_json=arguments["as_json"], in_place=arguments["in_place"])
        perform(make_recipe(arguments), arguments, to_stdout=output == STANDARD_STREAM)


def perform(
    recipe: Recipe, arguments: dict[str, Any], remark: Callable[[Retargeted], list[str]] | None = None,
    *, to_stdout: bool = False,
) -> None:  # fmt: skip
    """Solve a recipe, write its results and print their quality.

    Args:
        recipe: What to solve.
        arguments: The options of the command.
        remark: Gives further warnings about a result.
        to_stdout: Whether the result goes to stdout; its quality is then printed on stderr.
    """
    from understudy.retarget.driver import prepare
    from understudy.retarget.quality import summary

    check_output(arguments["output"])
    check_output(arguments.get("report"), motion=False)
    variants, not_kept, game_notes = [], [], []
    with Progress() as progress:
        progress("reading", 0.0)
        prepared = prepare(recipe)
        for actor in prepared.actors:
            new_file = new_file_option(actor.clip, arguments)
            note(foresee_losses(actor.clip, arguments["output"], new_file, others=not arguments.get("preset")))
        spacings = prepared.spacings()
        for spacing in spacings:
            result = prepared.solve(spacing, progress)
            path = Path(arguments["output"])
            if len(spacings) > 1:
                path = path.with_name(f"{path.stem}_{round(30 * spacing)}f{path.suffix}")
            files, lost, more = write_results(result, path, {**arguments, "fps": recipe.reading.fps})
            game_notes += [sentence for sentence in more if sentence not in game_notes]
            not_kept += [sentence for sentence in lost if sentence not in not_kept]
            quality = dict(result.quality)
            if remark is not None:
                quality["warnings"] = [*quality["warnings"], *remark(result)]
            variants.append({"files": files, **quality})
    note(fold_notes(prepared.notes))
    note(game_notes)
    note(not_kept, "not kept")
    if to_stdout:
        variants = [{**data, "files": [STANDARD_STREAM]} for data in variants]
    text = "\n\n".join("\n".join([", ".join(data["files"]), *summary(data)]) for data in variants)
    if len(variants) > 1:
        text += "\n\n" + comparison_table(variants)
    report: dict[str, Any] = variants[0] if len(variants) == 1 else {"variants": variants}
    report = {**report, "notes": [*prepared.notes, *game_notes], "not_kept": not_kept}
    if arguments.get("report"):
        write_report(arguments["report"], report, [text, *(w for data in variants for w in data["warnings"])])
    if arguments["as_json"]:
        print_json(report)
    else:
        click.echo(paint_conclusions(text), err=to_stdout)
    note(dict.fromkeys(sentence for data in variants for sentence in data["warnings"]), "warning")
    if any(data["faults"] or (arguments.get("strict") and data["unmet"]) for data in variants):
        click.get_current_context().exit(1)


def write_results(result: Retargeted, path: Path, arguments: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Write the motion of every moving actor.

    Returns:
        The files, sentences on what they could not hold, and notes on what the options for engines did.
    """
    from understudy.io import write

    actors = result.prepared.actors
    moving = [i for i, actor in enumerate(actors) if actor.spec.moves]
    files: list[str] = []
    lost: list[str] = []
    notes: list[str] = []
    for i in moving:
        file = path.with_name(f"{path.stem}_{actors[i].spec.name}{path.suffix}") if len(moving) > 1 else path
        clip, floor_path, more = apply_game_options(result.clips[i], arguments)
        lost += write(clip, file, **writing_options(arguments))
        files.append(str(file))
        if floor_path is not None:
            files.append(write_path_beside(floor_path, file))
        notes += more
    return files, lost, notes


def write_report(path: str, data: dict[str, Any], lines: list[str]) -> None:
    """Write a report, as JSON or text by the suffix of the file."""
    import json

    from understudy.base.files import open_to_write

    text = "\n".join(lines)
    if Path(path).suffix.lower() == ".json":
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    with open_to_write(path) as stream:
        stream.write((text + "\n").encode())


def comparison_table(variants: list[dict[str, Any]]) -> str:
    """A table of the variants: verdict, unmet constraints, errors, jerk of the hips and pops."""
    from understudy.retarget.quality import metric_figure

    header = (
        f"{'keys':<8} {'verdict':<10} {'not met':>7} {'contacts':>10} {'floor':>9} {'limits':>9} {'jerk':>6} "
        f"{'pops':>5}  file"
    )
    lines = [header]
    for data in variants:
        figures = [metric_figure(data, "path_jerk", "hips"), metric_figure(data, "pop", "rate")]
        jerk, pops = ("-" if figure is None else f"{figure:.2f}" for figure in figures)
        lines.append(
            f"{round(30 * data['spacing']):d} frames {data['verdict']:<10} {len(data['unmet']):>7} "
            f"{1000 * data['contacts']['worst']:>7.3f} mm {1000 * data['floor']['worst']:>6.3f} mm "
            f"{degrees(data['limits']['worst']):>5.2f} deg {jerk:>6} {pops:>5}  {data['files'][0]}"
        )
    return "\n".join(lines)


COMMAND = retarget
