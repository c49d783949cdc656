"""`understudy analogy`: A walks, B walks; A marches; how does B march?"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option
from understudy.app.output import Progress, check_output, note, print_json

if TYPE_CHECKING:
    from understudy.analogy.result import Analogy
    from understudy.base.quaternion import Array
    from understudy.figure.motion import Motion
    from understudy.figure.skeleton import Skeleton
    from understudy.io.clip import Clip
    from understudy.retarget.actor import ActorData


CHOICES = (
    "components", "energy", "eigenvectors", "together", "threshold", "count", "density", "without", "orthonormal",
    "mean_weight", "any_length", "retries", "clean", "limits",
)  # fmt: skip
"""Options that are settings of the analogy by the same name."""

NOTHING = "-"
"""What stands for an example that there is none of."""


class PoseFile(click.ParamType):
    """A pose to be had at a frame: FRAME=FILE, FRAME=FILE@N for frame N of the file; joints may follow in brackets."""

    name = "FRAME=FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"(\d+)=(.+?)(?:@(\d+))?(?:\[([^\]]+)\])?", value.strip())
        if not found:
            self.fail(f"expected FRAME=FILE, FRAME=FILE@N or FRAME=FILE[JOINT,JOINT]; got `{value}`", param, ctx)
        joints = None if found[4] is None else tuple(name.strip() for name in found[4].split(",") if name.strip())
        return int(found[1]), found[2], int(found[3] or 0), joints


class TempoChoice(click.ParamType):
    """Another timing: a speed such as 1.5, or moments SOURCE:RESULT in seconds with commas."""

    name = "SPEED|MOMENTS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            if ":" not in value:
                return float(value)
            moments = [tuple(float(part) for part in each.split(":")) for each in value.split(",")]
        except ValueError:
            moments = []
        if not moments or any(len(each) != 2 for each in moments):
            self.fail(f"expected a speed such as 1.5, or seconds as 0:0,1:1.5,4:5; got `{value}`", param, ctx)
        return moments


@click.command(
    short_help="Let a body learn a new motion from one pair of examples.",
    epilog="Example: understudy analogy sample:walk sample:dog_walk sample:march -o dog_march.bvh",
)
@click.argument("a_example")
@click.argument("b_example")
@click.argument("a_new")
@click.option("-o", "--output", required=True, metavar="B_NEW", help="Where to write; the ending tells the format.")
@click.option("--pose", "poses", type=PoseFile(), multiple=True, help="A pose of B at a frame; may be repeated.")
@click.option("--mean-pose", metavar="FILE[@N]", help="Start B's mean pose from this one, not from its example's.")
@click.option("--markers", metavar="FILE", help="Markers and pairs of markers, TOML or JSON; without pairs they match.")
@click.option("--components", type=click.IntRange(1), help="How many components of each motion to use [5].")
@click.option("--energy", type=click.FloatRange(0.0, 1.0, min_open=True), help="Or what share of A_NEW they must hold.")
@click.option("--eigenvectors", type=click.IntRange(1), default=1, show_default=True, help="How many to match by.")
@click.option("--together", is_flag=True, help="Match by all of them as one movement, not by each.")
@click.option("--threshold", type=click.FloatRange(0.0, 1.0, min_open=True), help="Match score that counts [0.9-0.8].")
@click.option("--count", type=click.IntRange(1), help="How many markers to spread over each body.")
@click.option("--density", type=click.FloatRange(0.0, min_open=True), help="Or how many on a leg's length of bone [7].")
@click.option("--without", multiple=True, metavar="JOINT", help="Parts without markers, such as tails; repeatable.")
@click.option("--orthonormal/--relaxed", default=None, help="Whether basis vectors must be orthonormal [by the case].")
@click.option("--mean-weight", type=click.FloatRange(0.0), help="How B's mean pose follows A's [0.3]; 0: not.")
@click.option("--tempo", type=TempoChoice(), help="Another timing of A_NEW: a speed, or moments as 0:0,1:1.5,4:5.")
@click.option("--travel", metavar="HOW", default="feet", show_default=True, help="feet, legs, or metres per metre.")
@click.option("--any-length", is_flag=True, help="Accept examples of different length.")
@click.option("--retries/--no-retries", default=True, help="Try other settings where the score is low [yes].")
@click.option("--clean/--no-clean", default=True, help="Plant the feet [yes].")
@click.option("--limits/--no-limits", default=True, help="Keep joints inside their limits [yes].")
@click.option("--a-frames", metavar="A:B", help="Only these frames of A_EXAMPLE.")
@click.option("--b-frames", metavar="A:B", help="Only these frames of B_EXAMPLE.")
@click.option("--new-frames", metavar="A:B", help="Only these frames of A_NEW.")
@click.option("--fps", type=float, help="Frames per second of the result; A_NEW's own if not given.")
@click.option("--unit", help="Unit of A's files, where they do not say.")
@click.option("--b-unit", help="Unit of B's files.")
@click.option("--picture", metavar="FILE", help="Draw both bodies with matched markers in the same colour.")
@click.option("--report", metavar="FILE", help="Write the report too, as JSON or text by the ending.")
@json_option
def analogy(**given: Any) -> None:
    """Make B do A_NEW, by analogy: A_EXAMPLE and B_EXAMPLE show the same behaviour by A and by B.

    Files are motions of any format, or samples as sample:NAME. Which parts of B move with which of A is found from how
    they move in the examples. Without an example of B, B_EXAMPLE is a character, A_EXAMPLE is `-`, and --markers names
    pairs. A pose is a file of B's own: its frame N, or its first.
    """
    from understudy.io import write
    from understudy.recipe.guards import analogy_failures

    for file in (given["output"], given["report"], given["picture"]):
        check_output(file, motion=file == given["output"])
    if given["picture"] and Path(given["picture"]).suffix.lower() not in (".png", ".svg"):
        raise click.UsageError(f"Pictures are written as .png or .svg; got `{given['picture']}`.")
    if given["components"] is not None and given["energy"] is not None:
        raise click.UsageError("Say --components or --energy, not both.")
    with Progress() as progress:
        progress("reading", 0.0)
        result, clip, notes = _perform(given, progress)
    said = write(
        replace(clip, skeleton=result.motion.skeleton, motion=result.motion, notes=(), dropped=()), given["output"]
    )
    if given["picture"]:
        _draw(result, given["picture"])
    remedy = "no use; other examples, --without or marker pairs may do"
    faults = [f"{fault}: {remedy}" for fault in analogy_failures(result)]
    data = {
        "file": given["output"],
        **result.data(),
        "faults": faults,
        "notes": [*notes, *result.notes],
        "not_kept": list(said),
    }
    if given["report"]:
        from understudy.app.retarget import write_report

        write_report(given["report"], data, [given["output"], result.report(), *result.warnings])
    note([*notes, *result.notes])
    note(said, "not kept")
    if given["as_json"]:
        print_json(data)
    else:
        click.echo(f"{given['output']}\n{result.report()}")
    note([*faults, *result.warnings], "warning")
    if faults:
        click.get_current_context().exit(1)


def _perform(given: dict[str, Any], progress: Progress) -> tuple[Analogy, Clip, list[str]]:
    """Read everything, make the analogy; returns it, the file that it is written like, and what there is to say."""
    from understudy.analogy.conditions import PoseAt
    from understudy.analogy.make import analogy
    from understudy.analogy.matching import MarkerFile, read_markers
    from understudy.analogy.preparation import Settings
    from understudy.retarget.actor import load
    from understudy.retarget.spec import ActorSpec, Reading

    marks = MarkerFile() if given["markers"] is None else read_markers(given["markers"])
    reading = Reading(frames=given["new_frames"], fps=given["fps"], unit=given["unit"], target_unit=given["b_unit"])
    new = load(ActorSpec(source=given["a_new"], target=given["b_example"]), reading)
    a = b = None
    if given["a_example"] != NOTHING:
        a = load(ActorSpec(source=given["a_example"]), Reading(frames=given["a_frames"], unit=given["unit"]))
    if new.target_motion is not None and new.target_motion.num_frames > 1:
        b = load(ActorSpec(source=given["b_example"]), Reading(frames=given["b_frames"], unit=given["b_unit"]))
    body = new.target if b is None else b.motion.skeleton
    poses = [
        PoseAt(frame=frame, rotations=_pose(file, number, body, given["b_unit"]), joints=joints)
        for frame, file, number, joints in given["poses"]
    ]
    mean = None
    if given["mean_pose"]:
        file, number = _frame_of(given["mean_pose"])
        mean = _pose(file, number, body, given["b_unit"])
    chosen = {name: given[name] for name in CHOICES if given[name] is not None}
    result = analogy(
        None if a is None else a.motion,
        None if b is None else b.motion,
        new.motion,
        target=body,
        pairs=marks.pairs,
        mean_pose=mean,
        poses=poses,
        markers=(marks.a, marks.b),
        contacts=new.contacts,
        tempo=_tempo(given["tempo"], new.motion),
        settings=Settings(**chosen, travel=_travel(given["travel"])),
        watch=progress,
    )
    return result, new.clip, _said(new, a, b)


def _frame_of(text: str) -> tuple[str, int]:
    """A file and the number of a frame of it, as FILE@N; the first if none is named."""
    file, at, number = text.rpartition("@")
    if not at or Path(text).exists():
        return text, 0
    if not number.isdigit():
        raise click.UsageError(f"Expected --mean-pose as FILE or FILE@N with the number of a frame; got `{text}`.")
    return file, int(number)


def _pose(file: str, number: int, body: Skeleton, unit: str | None) -> Array:
    """(J, 4) local rotations of a frame of a file of B's, or of a sample."""
    from understudy.base.errors import MotionError, SkeletonError
    from understudy.retarget.actor import load
    from understudy.retarget.spec import ActorSpec, Reading

    motion = load(ActorSpec(source=file), Reading(unit=unit, keep_reference=True)).motion
    if motion.skeleton.names != body.names:
        only = sorted(set(motion.skeleton.names) ^ set(body.names))[:3]
        raise SkeletonError(f"{file}: a pose must be of B's own joints; these differ in {only or 'their order'}")
    if number >= motion.num_frames:
        raise MotionError(f"{file}: there is no frame {number}; it has {motion.num_frames}, counted from 0")
    return motion.rotations[number]


def _tempo(value: Any, motion: Motion) -> Any:
    from understudy.analogy.stepping import Tempo

    if value is None:
        return None
    if isinstance(value, float):
        return Tempo.factor(value, motion.duration)
    return Tempo(source=tuple(a for a, _ in value), result=tuple(b for _, b in value))


def _travel(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _said(*loaded: ActorData | None) -> list[str]:
    """What reading the files had to say, each sentence once."""
    return list(dict.fromkeys(sentence for each in loaded if each is not None for sentence in each.notes))


def _draw(result: Analogy, path: str) -> None:
    from understudy.show.markers import draw_markers

    a = result.new.motion if result.a is None else result.a.motion
    b = result.level if result.b is None else result.b.motion
    draw_markers((a, b), (result.new.markers, result.markers), result.attempt.matches, path)


COMMAND = analogy
