"""`understudy evaluate`: measure the quality of any motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, reading_options, stdin_option
from understudy.app.output import input_file, note, paint_verdict, print_json

if TYPE_CHECKING:
    from understudy.figure.contacts import Contact
    from understudy.figure.motion import Motion
    from understudy.figure.robot import RobotLayout
    from understudy.figure.skin import Mesh
    from understudy.metrics.base import Report


MAX_EQUAL_SIZE_DIFFERENCE = 0.01
"""Difference of leg lengths, as a share, up to which two bodies are of one size."""


@click.command(
    short_help="Measure the quality of a motion.",
    epilog="Example: understudy evaluate child_walk.bvh --source sample:walk",
)
@click.argument("result")
@reading_options
@click.option("--source", metavar="FILE", help="The motion that RESULT was made from, of any character.")
@click.option("--source-unit", help="Unit of the source, as --unit.")
@click.option("--source-up", help="Up axis of the source.")
@click.option("--source-skeleton", metavar="FILE", help="The skeleton's file of the source (AMC).")
@click.option("--map", "map_file", metavar="FILE", help="Which bones correspond, as `understudy map` writes it.")
@click.option("--floor", type=float, metavar="METRES", help="Height of the floor [from the contacts].")
@click.option("--report", metavar="HTML", help="Also write a page: verdicts, plots, a filmstrip and a player.")
@click.option("--curves", is_flag=True, help="With --json: include the curves over time.")
@stdin_option("RESULT")
@json_option
def evaluate(
    result: str,
    source: str | None,
    map_file: str | None,
    floor: float | None,
    report: str | None,
    curves: bool,
    as_json: bool,
    stdin_kind: str | None,
    **reading: Any,
) -> None:
    """Measure the motion in RESULT, from any program, by itself or against the motion it was made from.

    Measures feet that slide, float or sink, joints beyond their limits, limbs that pass through the body, jitter and
    balance; and against the source similarity and kept contacts. Each metric gets a verdict: good, noticeable or bad.
    An unusable motion (frozen, mirrored, without its source's contacts) is reported as failed, and the exit code is 1.
    Limbs that pass through the body are measured with the skin if RESULT has one.
    """
    from understudy.correspondence.map_file import read_map
    from understudy.metrics.base import evaluate as measure

    if source is None and (map_file or any(reading[f"source_{key}"] for key in ("unit", "up", "skeleton"))):
        raise click.UsageError("--map and the options of the source need --source.")
    common = {"lenient": reading["lenient"]}
    file = click.get_current_context().with_resource(input_file(result, stdin_kind))
    result_reading = {key: reading[key] for key in ("unit", "up", "skeleton", "clip")}
    motion, contacts, meshes, robot = load(file, **result_reading, **common)
    source_motion: Motion | None = None
    source_meshes: tuple[Mesh, ...] = ()
    if source is not None:
        source_reading = {key: reading[f"source_{key}"] for key in ("unit", "up", "skeleton")}
        source_motion, contacts, source_meshes, _ = load(source, **source_reading, **common)
        unit = find_shared_unit(file, source, result_reading, source_reading, lenient=reading["lenient"])
        if unit is not None:
            note([f"{result}: read in the unit of {source}, whose joints it has (--unit gives another)"])
            motion, _, meshes, robot = load(file, **{**result_reading, "unit": unit}, **common)
    pairs = None
    if map_file is not None and source_motion is not None:
        pairs = read_map(map_file, source_motion.skeleton, motion.skeleton)
    evaluation = measure(
        motion, source_motion, pairs, contacts=contacts, floor=floor, meshes=meshes, source_meshes=source_meshes,
        robot=robot,
    )  # fmt: skip
    if report is not None:
        write_report(report, evaluation, (result, motion), (source, source_motion), contacts, (meshes, source_meshes))
    if as_json:
        print_json({"file": result, "source": source, **evaluation.data(curves=curves)})
    else:
        click.echo("\n".join(table(evaluation, result, source)))
    note(evaluation.notes)
    note(evaluation.failures, "failed")
    if not evaluation.usable:
        click.get_current_context().exit(1)


def load(name: str, **reading: Any) -> tuple[Motion, tuple[Contact, ...] | None, tuple[Mesh, ...], RobotLayout | None]:
    """The motion of a file or sample, the contacts of a sample, the skin of a file, and the robot of a robot's file."""
    from understudy.base.errors import MotionError
    from understudy.figure.robot import RobotLayout
    from understudy.io import read
    from understudy.io.guess import find_reference_frame
    from understudy.retarget.actor import SAMPLE, sample_scene

    if name.startswith(SAMPLE):
        scene, actor = sample_scene(name)
        return scene.actors[actor], tuple(c for c in scene.contacts if c.actor in ("", actor)), (), None
    clip = read(name, **reading)
    note((f"{name}: {sentence}" for sentence in clip.dropped), "left out")
    if clip.motion is None:
        raise MotionError(f"{name}: holds a character without motion; there is nothing to measure")
    if find_reference_frame(clip.motion) == 0:
        note([f"{name}: frame 0 only shows a reference pose and is not measured"])
        return clip.motion[1:], None, clip.meshes, None
    return clip.motion, None, clip.meshes, clip.layout if isinstance(clip.layout, RobotLayout) else None


def find_shared_unit(
    result: str, source: str, result_reading: dict[str, Any], source_reading: dict[str, Any], *, lenient: bool
) -> float | None:
    """Metres: the unit of the source, if the result's was guessed and the source's is likelier; else None.

    A format without a unit has that of the file it was made from. A body of another size makes the guess go wrong; a
    guess by which both bodies are of one size is right.
    """
    from understudy.figure.contacts import leg_ratio
    from understudy.io import read
    from understudy.retarget.actor import SAMPLE
    from understudy.retarget.driver import MAX_LIKELY_LEG_RATIO

    if result_reading["unit"] is not None or any(name.startswith(SAMPLE) for name in (result, source)):
        return None
    first, second = read(source, lenient=lenient, **source_reading), read(result, lenient=lenient, **result_reading)
    if first.format != "bvh" or second.format != "bvh" or first.skeleton.names != second.skeleton.names:
        return None
    ratio = leg_ratio(first.skeleton, second.skeleton)
    if abs(ratio - 1.0) < MAX_EQUAL_SIZE_DIFFERENCE or abs(first.unit - second.unit) < 1e-9:
        return None
    shared_ratio = ratio * first.unit / second.unit
    return first.unit if 1.0 / MAX_LIKELY_LEG_RATIO < shared_ratio < MAX_LIKELY_LEG_RATIO else None


def write_report(
    path: str,
    evaluation: Report,
    result: tuple[str, Motion],
    source: tuple[str | None, Motion | None],
    contacts: tuple[Contact, ...] | None,
    meshes: tuple[tuple[Mesh, ...], tuple[Mesh, ...]],
) -> None:
    """Write the page of an evaluation, with the skins of result and source.

    The contacts belong to the source if there is one, else to the result.
    """
    from understudy.show.page import write_page

    missing = write_page(
        path,
        result[1],
        source[1],
        evaluation.data(curves=True),
        labels=[name.replace("\\", "/").rpartition("/")[2] for name in (source[0] or "source", result[0])],
        contacts=contacts if source[1] is None else None,
        source_contacts=None if source[1] is None else contacts,
        meshes=meshes[0] or None,
        source_meshes=meshes[1] or None,
    )
    note(missing)


def table(report: Report, result: str, source: str | None) -> list[str]:
    """The verdict, and the measurements worst first: metric, verdict, explanation, hint."""
    against = "by itself" if source is None else f"against {source}"
    header = f"{result}: {report.frames} frames at {report.fps:g} a second, {against}"
    return [header, *report.lines(paint=paint_verdict)]


COMMAND = evaluate
