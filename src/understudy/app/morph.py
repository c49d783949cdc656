"""`understudy morph`: a motion of a body that changes into another while it moves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import click

from understudy.app.options import json_option, make_recipe, retarget_options, verbose_option
from understudy.app.retarget import perform


class Moment(click.ParamType):
    """A frame as a whole number, or seconds as in `1.5s`."""

    name = "FRAME|SECONDSs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, str]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"\s*(\d+|\d*\.\d+|\d+\.)\s*(s?)\s*", value)
        if not match or (not match[2] and not match[1].isdigit()):
            self.fail(f"expected a frame such as 30, or seconds such as 1.5s; got `{value}`", param, ctx)
        return float(match[1]), match[2]


@click.command(
    short_help="Change a body into another while it moves.",
    epilog="Example: understudy morph sample:walk sample:giant -o growing.bvh --from 1s --to 4s",
)
@click.argument("source")
@click.argument("target", required=False)
@click.option("-o", "--output", required=True, metavar="OUT", help="Where to write: BVH, with position channels.")
@click.option("--from", "first", type=Moment(), help="When the change begins: a frame, or seconds as 1.5s [start].")
@click.option("--to", "last", type=Moment(), help="When the change is complete [end].")
@retarget_options
@click.option("--report", metavar="FILE", help="Also write the quality report, as JSON or text by the suffix.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any constraint is not met.")
@verbose_option
@json_option
def morph(**arguments: Any) -> None:
    """Retarget the motion of SOURCE to a body that changes from SOURCE's to TARGET's while it moves.

    TARGET is a character or motion file with the same joints, or a --scale of SOURCE. Frames and seconds count from
    the first kept frame.
    """
    from understudy.io.clip import format_of
    from understudy.retarget.actor import load

    if not format_of(arguments["output"]).changing_bones:
        raise click.UsageError(f"A body that changes is written as BVH, not as `{arguments['output']}`.")
    recipe = make_recipe(arguments)
    motion = load(recipe.actors[0], recipe.reading, recipe.folder).motion
    first = _seconds(arguments["first"], motion.fps, 0.0)
    last = _seconds(arguments["last"], motion.fps, motion.duration)
    if first > motion.duration:
        raise click.UsageError(f"The change begins at {first:g} s, and the motion ends at {motion.duration:g} s.")
    if first > last:
        raise click.UsageError(f"The change must end after it begins; got {first:g} to {last:g} s.")
    actor = replace(recipe.actors[0], morph=(first, last))
    perform(replace(recipe, actors=(actor,)), arguments)


def _seconds(moment: tuple[float, str] | None, fps: float, default: float) -> float:
    if moment is None:
        return default
    number, unit = moment
    return number if unit else number / fps


COMMAND = morph
