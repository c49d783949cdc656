"""`understudy transition`: blend one motion into another, of the same body or of a different one."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import degrees
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import force_option, json_option, name_clip, reading_options
from understudy.app.output import (
    Progress,
    check_output,
    count_of,
    fold_notes,
    note,
    paint_verdict,
    print_json,
    refuse_overwriting,
)

if TYPE_CHECKING:
    from understudy.correspondence.pairs import Correspondence
    from understudy.figure.motion import Motion
    from understudy.retarget.actor import ActorData
    from understudy.transition import Transition


MAX_CONTACT_ERROR_METRES = 2e-3
"""Error above which a contact is reported."""

MAX_STEP_RATIO = 1.05
"""Largest step of a joint during the blend, relative to the motions themselves, above which it is reported."""


@click.command(
    short_help="Blend one motion into another, of any body.",
    epilog="Example: understudy transition sample:walk sample:dog_walk -o man_into_dog.bvh --seconds 1.2",
)
@click.argument("first")
@click.argument("second")
@click.option("-o", "--output", required=True, metavar="OUT", help="Output file; BVH if the body changes.")
@click.option("--map", "map_file", metavar="FILE", help="Correspondence of FIRST's bones to SECOND's [suggested].")
@click.option("--leave", type=float, metavar="S", help="Time in FIRST at which the blend begins [best match].")
@click.option("--enter", type=float, metavar="S", help="Time in SECOND at which the blend begins [best match].")
@click.option("--seconds", type=float, metavar="S", help="Length of the blend [about a stride].")
@click.option("--fps", type=float, help="Frames per second of the result [FIRST's].")
@reading_options
@click.option("--second-unit", help="Unit of SECOND, as --unit.")
@click.option("--second-up", help="Up axis of SECOND.")
@click.option("--second-skeleton", metavar="FILE", help="The skeleton's file of SECOND (AMC).")
@click.option("--second-clip", metavar="NAME", help="Which animation of SECOND, as --clip.")
@click.option("--keep-reference", is_flag=True, help="Keep first frames that only show a reference pose.")
@force_option
@json_option
def transition(**arguments: Any) -> None:
    """Blend the motion FIRST into the motion SECOND as one clip with feet planted, and say how good it is.

    FIRST and SECOND are motion files, or samples as sample:NAME. If the bodies differ, the result has the bones of
    both; bones that one body lacks grow or shrink during the blend. SECOND is rotated about the vertical and moved
    over the floor to follow FIRST.
    """
    from understudy.io import write
    from understudy.recipe.guards import transition_failures, transition_report
    from understudy.transition import transition as make_transition

    check_output(arguments["output"])
    refuse_overwriting(arguments["output"], (arguments["first"], arguments["second"]), force=arguments["force"])
    with Progress() as progress:
        progress("reading", 0.0)
        first, second = _load(arguments["first"], arguments, ""), _load(arguments["second"], arguments, "second_")
        for option, loaded in (("leave", first), ("enter", second)):
            _check_moment(option, arguments[option], loaded)
        correspondence, map_notes = _read_map(arguments["map_file"], first.motion, second.motion)
        result = make_transition(
            first.motion,
            second.motion,
            correspondence=correspondence,
            leave=arguments["leave"],
            enter=arguments["enter"],
            seconds=arguments["seconds"],
            contacts=(first.contacts, second.contacts),
            watch=progress,
        )
        lost = write(_clip(first, result, arguments["output"]), arguments["output"])
    notes = [*first.notes, *second.notes, *map_notes, *result.notes]
    faults = transition_failures(result, first.motion, second.motion)
    report = transition_report(result, first.motion, second.motion, faults)
    data = {
        **describe(result, arguments), "faults": faults, "verdict": str(report.verdict), "evaluation": report.data()
    }  # fmt: skip
    note(fold_notes(notes))
    note(lost, "not kept")
    if arguments["as_json"]:
        print_json({**data, "notes": notes, "not_kept": list(lost)})
    else:
        header, *rest = summary(data)
        click.echo("\n".join([header, *report.lines(paint=paint_verdict), *(f"  {line}" for line in rest)]))
    note(advice(data), "warning")
    if data["faults"]:
        click.get_current_context().exit(1)


def _check_moment(option: str, moment: float | None, loaded: ActorData) -> None:
    """Refuse a time outside the motion."""
    last = loaded.motion.duration
    if moment is not None and not 0.0 <= moment <= last:
        raise click.UsageError(f"Expected --{option} from 0 to {last:.2f} s, where the motion ends; got {moment:g} s.")


def _load(name: str, arguments: dict[str, Any], prefix: str) -> ActorData:
    from understudy.retarget.actor import ActorSpec, Reading, load

    reading = Reading(
        unit=arguments[f"{prefix}unit"],
        up=arguments[f"{prefix}up"],
        skeleton=arguments[f"{prefix}skeleton"],
        lenient=arguments["lenient"],
        keep_reference=arguments["keep_reference"],
        fps=arguments["fps"],
    )
    return load(ActorSpec(source=name_clip(name, arguments[f"{prefix}clip"])), reading)


def _read_map(path: str | None, first: Motion, second: Motion) -> tuple[Correspondence | None, tuple[str, ...]]:
    """The correspondence of a map file, or None if it only repeats the default; and notes on what was dropped.

    Suggested pairs that cannot be merged into one bone are narrowed, as they are without a file. Pairs that the user
    wrote are kept, so that they are refused later.
    """
    if path is None:
        return None, ()
    from understudy.correspondence.map_file import pairs_only_namesakes, read_map
    from understudy.correspondence.pairs import Pair
    from understudy.transition.meta_skeleton import mergeable

    correspondence = read_map(path, first.skeleton, second.skeleton)
    if pairs_only_namesakes(correspondence):
        return None, ()
    narrowed, notes = mergeable(correspondence)
    changed = [pair for pair in correspondence.pairs if pair not in narrowed.pairs]
    return (correspondence, ()) if any(pair.reason == Pair.reason for pair in changed) else (narrowed, notes)


def _clip(first: ActorData, result: Transition, output: str) -> Any:
    """The result as a clip: in the conventions of the first file if it has that file's skeleton, else in our own."""
    from understudy.io import Clip
    from understudy.io.clip import format_of

    if result.motion.offsets is not None and not format_of(output).changing_bones:
        raise click.UsageError(f"A body that changes is written as BVH, not as `{output}`.")
    if result.meta is not None:
        return Clip.of(result.motion)
    return replace(first.clip, skeleton=result.motion.skeleton, motion=result.motion, notes=(), dropped=())


def describe(result: Transition, arguments: dict[str, Any]) -> dict[str, Any]:
    """A transition as plain data."""
    fps, lengths = result.motion.fps, result.lengths[:, 1:]
    steps, allowed = asdict(result.steps), asdict(result.allowed)
    return {
        "file": arguments["output"],
        "frames": result.motion.num_frames,
        "fps": fps,
        "body": {
            "joints": result.motion.skeleton.num_joints,
            "shared": None if result.meta is None else result.meta.num_shared,
            "bones_that_change": int((abs(lengths[-1] - lengths[0]) > 1e-6).sum()),
            "relapse": result.relapse,
        },
        "blend": {"start": result.start / fps, "end": result.end / fps, "frames": [result.start, result.end]},
        "match": {
            "leave": result.match.leave,
            "enter": result.match.enter,
            "by": list(dict.fromkeys(result.match.names)),
            "difference": result.match.cost,
            "frames": [[float(a), float(b)] for a, b in zip(result.match.first, result.match.second, strict=True)],
        },
        "second": {"turned": degrees(result.turn), "shifted": result.shift.tolist()},
        "contacts": {
            "kept": [plant.name for plant in result.plants],
            "worst": result.contact_error,
            "unmet": [] if result.solution is None else [o.constraint.label for o in result.solution.unmet],
        },
        "steps": {key: {"blend": steps[key], "motions": allowed[key]} for key in steps},
        "worst_step": result.steps.over(result.allowed),
    }


def summary(data: dict[str, Any]) -> list[str]:
    """The description of a transition as text."""
    body, blend, match, second, contacts = (data[key] for key in ("body", "blend", "match", "second", "contacts"))
    bones = "one body"
    if body["shared"] is not None:
        bones = f"{count_of(body['joints'], 'joint')} of both bodies, {body['shared']} of them shared"
    bones += f"; {count_of(body['bones_that_change'], 'bone')} change length"
    if body["bones_that_change"]:
        relapse = body["relapse"]
        bones += ", monotonically" if relapse < 1e-9 else f", going back by up to {1000 * relapse:.2f} mm"
    x, _, z = second["shifted"]
    return [
        f"{data['file']}: {count_of(data['frames'], 'frame')} at {data['fps']:g} fps",
        f"body      {bones}",
        f"matched   {match['leave']:.2f} s of the first with {match['enter']:.2f} s of the second, by "
        + ", ".join(match["by"]),
        f"blend     {blend['start']:.2f} to {blend['end']:.2f} s, frames {blend['frames'][0]} to {blend['frames'][1]}",
        f"second    rotated by {second['turned']:.1f} degrees, moved by {x:.2f} m in x and {z:.2f} m in z",
        f"contacts  {len(contacts['kept'])} kept over the blend, worst {1000 * contacts['worst']:.3f} mm",
        f"steps     largest is {data['worst_step']:.2f} of the largest in the motions",
    ]


def advice(data: dict[str, Any]) -> list[str]:
    """Warnings, and what the user can do about them."""
    warnings = [f"{sentence}: no use; another --leave, --enter or --map may give one" for sentence in data["faults"]]
    if data["contacts"]["worst"] > MAX_CONTACT_ERROR_METRES:
        worst = 1000 * data["contacts"]["worst"]
        warnings.append(
            f"a contact is off by {worst:.1f} mm; another --leave or --enter, or a longer --seconds, may help"
        )
    if data["worst_step"] > MAX_STEP_RATIO:
        warnings.append(
            f"during the blend a joint moves {data['worst_step']:.2f} times as far per frame as in the motions; "
            "a longer --seconds may help"
        )
    return warnings


COMMAND = transition
