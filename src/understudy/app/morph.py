"""`understudy morph`: a motion of a body that changes into another while it moves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import force_option, json_option, make_recipe, retarget_options
from understudy.app.output import refuse_overwriting
from understudy.app.retarget import perform

if TYPE_CHECKING:
    from understudy.base.quaternion import Array
    from understudy.figure.contacts import Contact
    from understudy.retarget.driver import Retargeted


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
@force_option
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
    refuse_overwriting(arguments["output"], (arguments["source"], arguments["target"]), force=arguments["force"])
    recipe = make_recipe(arguments)
    motion = load(recipe.actors[0], recipe.reading, recipe.folder).motion
    first = _seconds(arguments["first"], motion.fps, 0.0)
    last = _seconds(arguments["last"], motion.fps, motion.duration)
    if first > motion.duration:
        raise click.UsageError(f"The change begins at {first:g} s, and the motion ends at {motion.duration:g} s.")
    if first > last:
        raise click.UsageError(f"The change must end after it begins; got {first:g} to {last:g} s.")
    actor = replace(recipe.actors[0], morph=(first, last))
    perform(replace(recipe, actors=(actor,)), arguments, remark=slide_remarks)


MAX_SLIDE_METRES = 1e-3
"""A contact that moves farther over the floor while it should stand is reported."""

MAX_SLIDE_REMARKS = 4
"""Most contacts that are named, the farthest first."""


def slide_remarks(result: Retargeted) -> list[str]:
    """How far points slide that should stand on the floor, and why, a sentence each.

    The solve holds one point of a foot that changes size: two points of it cannot both stay where they are. Points are
    followed on the body as it is at each frame: a heel comes nearer to its ankle as the body shrinks.
    """
    slides = [slide for contact in result.contacts if contact.on == "floor" and (slide := _slide(result, contact))]
    slides.sort(key=lambda slide: -slide[0])
    remarks = [
        f"{contact.point.name} slides by {100 * metres:.1f} cm while it stands, {contact.start:.2f} to "
        f"{contact.end:.2f} s: {_reason(result, contact)}"
        for metres, contact in slides[:MAX_SLIDE_REMARKS]
    ]
    if len(slides) > MAX_SLIDE_REMARKS:
        remarks.append(f"{len(slides) - MAX_SLIDE_REMARKS} more contacts slide, by less")
    return remarks


def _slide(result: Retargeted, contact: Contact) -> tuple[float, Contact] | None:
    """Metres that a point slides over the floor during its contact, if it does."""
    import numpy as np

    from understudy.figure.kinematics import fk

    motion = result.motion
    frames = contact.frames(motion.fps, motion.num_frames)
    if len(frames) < 2 or contact.velocity is not None:
        return None
    part = motion[frames]
    pose, joint = fk(part), motion.skeleton.joint(contact.point.joint)
    path = pose.positions[:, joint] + _rotated(pose.rotations[:, joint], _offsets(result, contact, frames))
    metres = float(np.linalg.norm((path - path[:1])[:, [0, 2]], axis=-1).max())
    return (metres, contact) if metres > MAX_SLIDE_METRES else None


def _rotated(rotations: Array, offsets: Array) -> Array:
    from understudy.base.quaternion import rotate

    return rotate(rotations, offsets)


def _offsets(result: Retargeted, contact: Contact, frames: Array) -> Array:
    """(N, 3) metres: the place of a contact point in its joint's frame, which changes size with the body."""
    from understudy.figure.contacts import leg_ratio

    plan = result.prepared.plan
    assert plan is not None
    assignment = plan.assignments[0]
    source, target = assignment.motion.skeleton, assignment.target
    ends = {end.name: end.offset for end in target.ends}
    final = ends.get(contact.point.name, leg_ratio(source, target) * contact.point.offset)
    if assignment.share is None:
        return final[None].repeat(len(frames), axis=0)
    share = assignment.share[frames][:, None]
    return (1.0 - share) * contact.point.offset + share * final


def _reason(result: Retargeted, contact: Contact) -> str:
    """Why a contact slides."""
    from understudy.figure.roles import side

    limb = side(contact.point.joint)
    others = [
        c.point.name
        for c in result.contacts
        if c.point.name != contact.point.name
        and side(c.point.joint) == limb
        and c.start <= contact.end
        and contact.start <= c.end
    ]
    if others:
        return f"of the points of a foot that changes size only {others[0]} is held"
    return "the body changes size while it stands"


def _seconds(moment: tuple[float, str] | None, fps: float, default: float) -> float:
    if moment is None:
        return default
    number, unit = moment
    return number if unit else number / fps


COMMAND = morph
