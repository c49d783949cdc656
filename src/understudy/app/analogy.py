"""`understudy analogy`: from how A walks, how B walks and how A marches, find how B marches."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import force_option, json_option, name_clip
from understudy.app.output import (
    Progress,
    check_output,
    fold_notes,
    note,
    paint_verdict,
    print_json,
    refuse_overwriting,
)

if TYPE_CHECKING:
    from understudy.analogy.result import Analogy
    from understudy.base.quaternion import Array
    from understudy.figure.motion import Motion
    from understudy.figure.skeleton import Skeleton
    from understudy.io.clip import Clip
    from understudy.retarget.actor import ActorData


SETTINGS = (
    "components", "energy", "eigenvectors", "together", "threshold", "count", "density", "without", "orthonormal",
    "mean_weight", "any_length", "retries", "clean", "limits",
)  # fmt: skip
"""Options that have the name of a field of `Settings`."""

NO_EXAMPLE = "-"
"""The argument for a missing example."""


class PoseFile(click.ParamType):
    """A pose at a frame: FRAME=FILE, or FRAME=FILE@N for frame N of the file; joints may follow in brackets."""

    name = "FRAME=FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\d+)=(.+?)(?:@(\d+))?(?:\[([^\]]+)\])?", value.strip())
        if not match:
            self.fail(f"expected FRAME=FILE, FRAME=FILE@N or FRAME=FILE[JOINT,JOINT]; got `{value}`", param, ctx)
        joints = None if match[4] is None else tuple(name.strip() for name in match[4].split(",") if name.strip())
        return int(match[1]), match[2], int(match[3] or 0), joints


class TempoChoice(click.ParamType):
    """Another timing: a speed such as 1.5, or times SOURCE:RESULT in seconds, separated by commas."""

    name = "SPEED|MOMENTS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            if ":" not in value:
                return float(value)
            moments = [tuple(float(part) for part in moment.split(":")) for moment in value.split(",")]
        except ValueError:
            moments = []
        if not moments or any(len(moment) != 2 for moment in moments):
            self.fail(f"expected a speed such as 1.5, or seconds as 0:0,1:1.5,4:5; got `{value}`", param, ctx)
        return moments


@click.command(
    short_help="Transfer a motion to a body by one pair of examples.",
    epilog="Example: understudy analogy sample:walk sample:dog_walk sample:march -o dog_march.bvh",
)
@click.argument("a_example")
@click.argument("b_example")
@click.argument("a_new")
@click.option("-o", "--output", required=True, metavar="B_NEW", help="Output file; its suffix determines the format.")
@click.option("--pose", "poses", type=PoseFile(), multiple=True, help="A pose of B at a frame; repeatable.")
@click.option("--mean-pose", metavar="FILE[@N]", help="B's initial mean pose [that of its example].")
@click.option(
    "--markers", metavar="FILE", help="Markers and pairs of markers, TOML or JSON; without pairs they are matched."
)
@click.option("--components", type=click.IntRange(1), help="Number of components of each motion [5].")
@click.option(
    "--energy", type=click.FloatRange(0.0, 1.0, min_open=True), help="Or the share of A_NEW that they must explain."
)
@click.option("--eigenvectors", type=click.IntRange(1), default=1, show_default=True, help="Number used for matching.")
@click.option("--together", is_flag=True, help="Match by all of them together, not one by one.")
@click.option(
    "--threshold", type=click.FloatRange(0.0, 1.0, min_open=True), help="Lowest accepted match score [0.9-0.8]."
)
@click.option("--count", type=click.IntRange(1), help="Number of markers on each body.")
@click.option(
    "--density", type=click.FloatRange(0.0, min_open=True), help="Or number of markers per leg length of bone [7]."
)
@click.option("--without", multiple=True, metavar="JOINT", help="Parts without markers, such as tails; repeatable.")
@click.option("--orthonormal/--relaxed", default=None, help="Whether basis vectors must be orthonormal [automatic].")
@click.option(
    "--mean-weight", type=click.FloatRange(0.0), help="How far B's mean pose follows A's [0.3]; 0 for not at all."
)
@click.option("--tempo", type=TempoChoice(), help="Another timing of A_NEW: a speed, or times as 0:0,1:1.5,4:5.")
@click.option("--travel", metavar="HOW", default="feet", show_default=True, help="feet, legs, or metres per metre.")
@click.option("--any-length", is_flag=True, help="Accept examples of different length.")
@click.option("--retries/--no-retries", default=True, help="Try other settings if the score is low [yes].")
@click.option("--clean/--no-clean", default=True, help="Plant the feet [yes].")
@click.option("--limits/--no-limits", default=True, help="Keep joints within limits [yes].")
@click.option("--clip", metavar="NAME", help="Which animation of A_NEW, if it holds several [first]; or FILE#NAME.")
@click.option("--a-clip", metavar="NAME", help="Which animation of A_EXAMPLE.")
@click.option("--b-clip", metavar="NAME", help="Which animation of B_EXAMPLE.")
@click.option("--a-frames", metavar="A:B", help="Only these frames of A_EXAMPLE.")
@click.option("--b-frames", metavar="A:B", help="Only these frames of B_EXAMPLE.")
@click.option("--new-frames", metavar="A:B", help="Only these frames of A_NEW.")
@click.option("--fps", type=float, help="Frames per second of the result [A_NEW's].")
@click.option("--unit", help="Unit of A's files, if they do not state it.")
@click.option("--b-unit", help="Unit of B's files.")
@click.option("--picture", metavar="FILE", help="Draw both bodies with matched markers in the same colour.")
@click.option("--report", metavar="FILE", help="Also write the report, as JSON or text by the suffix.")
@force_option
@json_option
def analogy(**arguments: Any) -> None:
    """Transfer A_NEW to B by analogy: A_EXAMPLE and B_EXAMPLE show the same behaviour of A and of B.

    Files are motions of any format, or samples as sample:NAME. Parts of A and B are matched by how they move in the
    examples. Without an example of B, B_EXAMPLE is a character, A_EXAMPLE is `-`, and --markers names the pairs. The
    file of a pose has B's joints; the pose is its frame N, or its first frame.
    """
    from understudy.io import write
    from understudy.recipe.guards import analogy_failures, analogy_report

    for file in (arguments["output"], arguments["report"], arguments["picture"]):
        check_output(file, motion=file == arguments["output"])
    inputs = [arguments[name] for name in ("a_example", "b_example", "a_new")]
    refuse_overwriting(arguments["output"], inputs, force=arguments["force"])
    if arguments["picture"] and Path(arguments["picture"]).suffix.lower() not in (".png", ".svg"):
        raise click.UsageError(f"Pictures are written as .png or .svg; got `{arguments['picture']}`.")
    if arguments["components"] is not None and arguments["energy"] is not None:
        raise click.UsageError("Expected --components or --energy, not both.")
    with Progress() as progress:
        progress("reading", 0.0)
        result, clip, notes = _perform(arguments, progress)
    not_kept = write(
        replace(clip, skeleton=result.motion.skeleton, motion=result.motion, notes=(), dropped=()), arguments["output"]
    )
    if arguments["picture"]:
        _draw(result, arguments["picture"])
    remedy = "no use; other examples, --without or marker pairs may do"
    failures = analogy_failures(result)
    faults = [f"{fault}: {remedy}" for fault in failures]
    report = analogy_report(result, failures)
    data = {
        "file": arguments["output"],
        **result.data(),
        "faults": faults,
        "verdict": str(report.verdict),
        "evaluation": report.data(),
        "notes": [*notes, *result.notes],
        "not_kept": list(not_kept),
    }
    if arguments["report"]:
        from understudy.app.retarget import write_report

        write_report(
            arguments["report"], data, [arguments["output"], *report.lines(), result.report(), *result.warnings]
        )
    note(fold_notes([*notes, *result.notes]))
    note(not_kept, "not kept")
    if arguments["as_json"]:
        print_json(data)
    else:
        click.echo("\n".join([arguments["output"], *report.lines(paint=paint_verdict), result.report()]))
    note([*faults, *result.warnings], "warning")
    if faults:
        click.get_current_context().exit(1)


def _perform(arguments: dict[str, Any], progress: Progress) -> tuple[Analogy, Clip, list[str]]:
    """Read the files and make the analogy; returns it, the clip whose conventions the output takes, and notes."""
    from understudy.analogy.conditions import PoseAt
    from understudy.analogy.make import analogy
    from understudy.analogy.matching import MarkerFile, read_markers
    from understudy.analogy.preparation import Settings
    from understudy.retarget.actor import ActorSpec, Reading, load

    markers = MarkerFile() if arguments["markers"] is None else read_markers(arguments["markers"])
    reading = Reading(
        frames=arguments["new_frames"], fps=arguments["fps"], unit=arguments["unit"], target_unit=arguments["b_unit"]
    )
    b_example = name_clip(arguments["b_example"], arguments["b_clip"])
    new = load(ActorSpec(source=name_clip(arguments["a_new"], arguments["clip"]), target=b_example), reading)
    a = b = None
    if arguments["a_example"] != NO_EXAMPLE:
        a_example = name_clip(arguments["a_example"], arguments["a_clip"])
        a = load(ActorSpec(source=a_example), Reading(frames=arguments["a_frames"], unit=arguments["unit"]))
    if new.target_motion is not None and new.target_motion.num_frames > 1:
        b = load(ActorSpec(source=b_example), Reading(frames=arguments["b_frames"], unit=arguments["b_unit"]))
    body = new.target if b is None else b.motion.skeleton
    poses = [
        PoseAt(frame=frame, rotations=_read_pose(file, number, body, arguments["b_unit"]), joints=joints)
        for frame, file, number, joints in arguments["poses"]
    ]
    mean_pose = None
    if arguments["mean_pose"]:
        file, number = _split_frame(arguments["mean_pose"])
        mean_pose = _read_pose(file, number, body, arguments["b_unit"])
    settings = {name: arguments[name] for name in SETTINGS if arguments[name] is not None}
    result = analogy(
        None if a is None else a.motion,
        None if b is None else b.motion,
        new.motion,
        target=body,
        pairs=markers.pairs,
        mean_pose=mean_pose,
        poses=poses,
        markers=(markers.a, markers.b),
        contacts=new.contacts,
        tempo=_tempo(arguments["tempo"], new.motion),
        settings=Settings(**settings, travel=_travel(arguments["travel"])),
        watch=progress,
    )
    return result, new.clip, _reading_notes(new, a, b)


def _split_frame(text: str) -> tuple[str, int]:
    """The file and frame number of FILE@N; frame 0 if there is no number."""
    file, separator, number = text.rpartition("@")
    if not separator or Path(text).exists():
        return text, 0
    if not number.isdigit():
        raise click.UsageError(f"Expected --mean-pose as FILE or FILE@N with the number of a frame; got `{text}`.")
    return file, int(number)


def _read_pose(file: str, number: int, body: Skeleton, unit: str | None) -> Array:
    """(J, 4) local rotations at a frame of a file with B's joints, or of a sample."""
    from understudy.base.errors import MotionError, SkeletonError
    from understudy.retarget.actor import ActorSpec, Reading, load

    motion = load(ActorSpec(source=file), Reading(unit=unit, keep_reference=True)).motion
    if motion.skeleton.names != body.names:
        different = sorted(set(motion.skeleton.names) ^ set(body.names))[:3]
        raise SkeletonError(f"{file}: a pose must have B's joints; these differ in {different or 'their order'}")
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


def _reading_notes(*actors: ActorData | None) -> list[str]:
    """The notes from reading the files, without duplicates."""
    return list(dict.fromkeys(note for actor in actors if actor is not None for note in actor.notes))


def _draw(result: Analogy, path: str) -> None:
    from understudy.show.markers import draw_markers

    a = result.new.motion if result.a is None else result.a.motion
    b = result.level if result.b is None else result.b.motion
    draw_markers((a, b), (result.new.markers, result.markers), result.attempt.matches, path)


COMMAND = analogy
