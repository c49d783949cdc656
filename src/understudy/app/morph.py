"""`understudy morph`: a motion by a body that turns into another while it moves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import click

from understudy.app.options import json_option, make_recipe, retarget_options
from understudy.app.retarget import perform


class Moment(click.ParamType):
    """A frame as a whole number, or seconds as in `1.5s`."""

    name = "FRAME|SECONDSs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, str]:
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"\s*(\d+|\d*\.\d+|\d+\.)\s*(s?)\s*", value)
        if not found or (not found[2] and not found[1].isdigit()):
            self.fail(f"expected a frame such as 30, or seconds such as 1.5s; got `{value}`", param, ctx)
        return float(found[1]), found[2]


@click.command(
    short_help="Turn a body into another while it moves.",
    epilog="Example: understudy morph sample:walk sample:giant -o growing.bvh --from 1s --to 4s",
)
@click.argument("source")
@click.argument("target", required=False)
@click.option("-o", "--output", required=True, metavar="OUT", help="Where to write: BVH, with position channels.")
@click.option("--from", "first", type=Moment(), help="When the change begins: a frame, or seconds as 1.5s [start].")
@click.option("--to", "last", type=Moment(), help="When the change is complete [end].")
@retarget_options
@click.option("--report", metavar="FILE", help="Write the quality report too, as JSON or text by the ending.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any constraint is not met.")
@json_option
def morph(**given: Any) -> None:
    """Perform the motion of SOURCE by a body that turns from SOURCE's into TARGET's, bones growing as it moves.

    TARGET is a character or motion file with the same joints, or a --scale of SOURCE. Frames and seconds count from
    the first frame that is kept.
    """
    from understudy.io.files import format_of
    from understudy.retarget.actor import load

    if not format_of(given["output"]).changing_bones:
        raise click.UsageError(f"A body that changes is written as BVH, not as `{given['output']}`.")
    recipe = make_recipe(given)
    motion = load(recipe.actors[0], recipe.reading, recipe.folder).motion
    first = _seconds(given["first"], motion.fps, 0.0)
    last = _seconds(given["last"], motion.fps, motion.duration)
    if first > motion.duration:
        raise click.UsageError(f"The change begins at {first:g} s, and the motion ends at {motion.duration:g} s.")
    if first > last:
        raise click.UsageError(f"The change must end after it begins; got {first:g} to {last:g} s.")
    actor = replace(recipe.actors[0], morph=(first, last))
    perform(replace(recipe, actors=(actor,)), given)


def _seconds(moment: tuple[float, str] | None, fps: float, otherwise: float) -> float:
    if moment is None:
        return otherwise
    number, unit = moment
    return number if unit else number / fps


COMMAND = morph
