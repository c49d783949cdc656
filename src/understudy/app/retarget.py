"""`understudy retarget`: a motion performed by another character."""

from __future__ import annotations

from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, make_recipe, retarget_options
from understudy.app.output import Progress, check_output, note, print_json

if TYPE_CHECKING:
    from understudy.retarget.driver import Retargeted
    from understudy.retarget.spec import Recipe


@click.command(
    short_help="Make a character perform a motion.",
    epilog="Example: understudy retarget sample:walk sample:child -o child_walk.bvh --plants free",
)
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option("-o", "--output", required=True, metavar="OUT", help="Where to write; the ending tells the format.")
@retarget_options
@click.option("--recipe", metavar="FILE", help="A recipe, as `understudy recipe` writes one.")
@click.option("--report", metavar="FILE", help="Write the quality report too, as JSON or text by the ending.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any constraint is not met.")
@json_option
def retarget(**given: Any) -> None:
    """Make TARGET perform the motion of SOURCE, feet planted and limbs in their limits, and say how well it went.

    SOURCE is a motion file, TARGET a character or motion file of any structure; or a sample as sample:NAME. Which bones
    correspond is found by names and by shape (`understudy map` shows it, --map FILE sets it). In place of TARGET,
    --scale takes SOURCE's own character larger or smaller, all of it or by parts: legs, arms, trunk, head, feet, hands,
    or joints by name (the bone that leads to the joint). Several actors, props and constraints are given in a recipe.
    """
    perform(make_recipe(given), given)


def perform(recipe: Recipe, given: dict[str, Any]) -> None:
    """Solve a recipe, write its results and print how good they are."""
    from understudy.retarget.driver import prepare
    from understudy.retarget.quality import summary

    check_output(given["output"])
    check_output(given.get("report"), motion=False)
    variants, said = [], []
    with Progress() as progress:
        progress("reading", 0.0)
        prepared = prepare(recipe)
        spacings = prepared.spacings()
        for spacing in spacings:
            result = prepared.solve(spacing, progress)
            path = Path(given["output"])
            if len(spacings) > 1:
                path = path.with_name(f"{path.stem}_{round(30 * spacing)}f{path.suffix}")
            files, lost = write_results(result, path)
            said += [sentence for sentence in lost if sentence not in said]
            variants.append({"files": files, **result.quality})
    note(prepared.notes)
    note(said, "not kept")
    text = "\n\n".join("\n".join([", ".join(data["files"]), *summary(data)]) for data in variants)
    if len(variants) > 1:
        text += "\n\n" + compared(variants)
    whole: dict[str, Any] = variants[0] if len(variants) == 1 else {"variants": variants}
    whole = {**whole, "notes": list(prepared.notes), "not_kept": said}
    if given.get("report"):
        write_report(given["report"], whole, [text, *(w for data in variants for w in data["warnings"])])
    if given["as_json"]:
        print_json(whole)
    else:
        click.echo(text)
    note(dict.fromkeys(sentence for data in variants for sentence in data["warnings"]), "warning")
    if any(data["faults"] or (given.get("strict") and data["unmet"]) for data in variants):
        click.get_current_context().exit(1)


def write_results(result: Retargeted, path: Path) -> tuple[list[str], list[str]]:
    """Write the motion of every actor that moves; returns the files and what they could not hold."""
    from understudy.io import write

    actors = result.prepared.actors
    moving = [i for i, each in enumerate(actors) if each.spec.moves]
    files: list[str] = []
    lost: list[str] = []
    for i in moving:
        file = path.with_name(f"{path.stem}_{actors[i].spec.name}{path.suffix}") if len(moving) > 1 else path
        lost += write(result.clips[i], file)
        files.append(str(file))
    return files, lost


def write_report(path: str, data: dict[str, Any], lines: list[str]) -> None:
    """Write a report, as JSON or as text by the name's ending."""
    import json

    from understudy.base.files import open_to_write

    text = "\n".join(lines)
    if Path(path).suffix.lower() == ".json":
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    with open_to_write(path) as stream:
        stream.write((text + "\n").encode())


def compared(variants: list[dict[str, Any]]) -> str:
    """A table of variants side by side: what they keep and how they move."""
    head = f"{'keys':<8} {'not met':>7} {'contacts':>10} {'floor':>9} {'limits':>9} {'jerk':>6} {'> 4 Hz':>7}  file"
    lines = [head]
    for data in variants:
        smooth: dict[str, Any] = {"jerk": None, "energy": {"4": None}}
        smooth.update(*data["smoothness"][:1])
        ratios = ["-" if r is None else f"{r:.2f}" for r in (smooth["jerk"], smooth["energy"]["4"])]
        lines.append(
            f"{round(30 * data['spacing']):d} frames {len(data['unmet']):>7} "
            f"{1000 * data['contacts']['worst']:>7.3f} mm {1000 * data['floor']['worst']:>6.3f} mm "
            f"{degrees(data['limits']['worst']):>5.2f} deg {ratios[0]:>6} {ratios[1]:>7}  {data['files'][0]}"
        )
    return "\n".join(lines)


COMMAND = retarget
