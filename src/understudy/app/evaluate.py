"""`understudy evaluate`: how good a motion is, whoever made it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import clip_option, json_option, reading_options
from understudy.app.output import note, print_json, warn_style

if TYPE_CHECKING:
    from understudy.figure.contacts import Contact
    from understudy.figure.motion import Motion
    from understudy.figure.skin import Mesh
    from understudy.metrics import Report


COLOURS = {"good": "green", "noticeable": "yellow", "bad": "red"}

WIDTH = 100
"""Columns that the table fits into."""


@click.command(
    short_help="Measure how good a motion is.",
    epilog="Example: understudy evaluate child_walk.bvh --source sample:walk",
)
@click.argument("result")
@reading_options
@clip_option
@click.option("--source", metavar="FILE", help="The motion that RESULT was made from, of any character.")
@click.option("--source-unit", help="Unit of the source, as --unit.")
@click.option("--source-up", help="Up axis of the source.")
@click.option("--source-skeleton", metavar="FILE", help="The skeleton's file of the source (AMC).")
@click.option("--map", "map_file", metavar="FILE", help="Which bones correspond, as `understudy map` writes it.")
@click.option(
    "--floor", type=float, metavar="METRES", help="Height of the floor; found from the contacts if not given."
)
@click.option("--report", metavar="HTML", help="Write a page too: verdicts, plots, a filmstrip and a player.")
@click.option("--curves", is_flag=True, help="With --json: the curves over time too.")
@json_option
def evaluate(
    result: str,
    source: str | None,
    map_file: str | None,
    floor: float | None,
    report: str | None,
    curves: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Measure the motion in RESULT, a file of any program, by itself or against the motion it was made from.

    Feet that slide, float or sink, joints out of their range, limbs through the body, shaking, balance; and against
    the source: likeness and contacts kept. Each with a verdict: good, noticeable or bad. A motion that is of no use
    (frozen, mirrored, without its source's contacts) is called failed, and the exit code is 1. Limbs through the body
    are told by its skin where RESULT has one.
    """
    from understudy.correspondence.map_file import read_map
    from understudy.metrics import evaluate as measure

    if source is None and (map_file or any(reading[f"source_{key}"] for key in ("unit", "up", "skeleton"))):
        raise click.UsageError("--map and the options of the source need --source.")
    common = {"lenient": reading["lenient"]}
    own = {key: reading[key] for key in ("unit", "up", "skeleton", "clip")}
    motion, contacts, meshes = load(result, **own, **common)
    before: Motion | None = None
    source_meshes: tuple[Mesh, ...] = ()
    if source is not None:
        theirs = {key: reading[f"source_{key}"] for key in ("unit", "up", "skeleton")}
        before, contacts, source_meshes = load(source, **theirs, **common)
    whole = None
    if map_file is not None and before is not None:
        whole = read_map(map_file, before.skeleton, motion.skeleton)
    found = measure(motion, before, whole, contacts=contacts, floor=floor, meshes=meshes, source_meshes=source_meshes)
    if report is not None:
        write_report(report, found, (result, motion), (source, before), contacts)
    if as_json:
        print_json({"file": result, "source": source, **found.data(curves=curves)})
    else:
        click.echo("\n".join(table(found, result, source)))
    note(found.notes)
    note(found.failures, "failed")
    if not found.usable:
        click.get_current_context().exit(1)


def load(name: str, **reading: Any) -> tuple[Motion, tuple[Contact, ...] | None, tuple[Mesh, ...]]:
    """A motion by the name of its file or sample, the contacts that a sample brings, and the skin that a file holds."""
    from understudy.base.errors import MotionError
    from understudy.io import read
    from understudy.io.guess import reference_frame
    from understudy.retarget.actor import SAMPLE, sample_scene

    if name.startswith(SAMPLE):
        scene, actor = sample_scene(name)
        return scene.actors[actor], tuple(c for c in scene.contacts if c.actor in ("", actor)), ()
    clip = read(name, **reading)
    note((f"{name}: {sentence}" for sentence in clip.dropped), "left out")
    if clip.motion is None:
        raise MotionError(f"{name}: holds a character without motion; there is nothing to measure")
    if reference_frame(clip.motion) == 0:
        note([f"{name}: frame 0 only shows a reference pose and is not measured"])
        return clip.motion[1:], None, clip.meshes
    return clip.motion, None, clip.meshes


def write_report(
    path: str,
    found: Report,
    result: tuple[str, Motion],
    source: tuple[str | None, Motion | None],
    contacts: tuple[Contact, ...] | None,
) -> None:
    """Write the page on an evaluation; known contacts are the source's where there is one."""
    from understudy.show.page import write_page

    missing = write_page(
        path,
        result[1],
        source[1],
        found.data(curves=True),
        labels=[name.replace("\\", "/").rpartition("/")[2] for name in (source[0] or "source", result[0])],
        contacts=contacts if source[1] is None else None,
        source_contacts=None if source[1] is None else contacts,
    )
    note(missing)


def table(report: Report, result: str, source: str | None) -> list[str]:
    """The verdicts in a table: metric, verdict, and what it means in words."""
    against = "by itself" if source is None else f"against {source}"
    lines = [f"{result}: {report.frames} frames at {report.fps:g} a second, {against}", ""]
    wide = max(len(m.title) for m in report.measurements)
    for each in sorted(report.measurements, key=lambda m: not m.figures):
        cells = textwrap.wrap(each.words, WIDTH - wide - 14)
        verdict = f"{each.verdict:<10}"
        coloured = warn_style(verdict, COLOURS[each.verdict]) if each.verdict in COLOURS else verdict
        lines.append(f"{each.title:<{wide}}  {coloured}  {cells[0]}")
        lines += [" " * (wide + 14) + cell for cell in cells[1:]]
    if not report.usable:
        said = "failed: of no use, whatever the other figures say"
    else:
        said = f"verdict: {report.verdict}"
    return [*lines, "", said]


COMMAND = evaluate
