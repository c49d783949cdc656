"""`understudy transition`: one motion goes over into another, of the same body or of one built differently."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import degrees
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, reading_options
from understudy.app.output import Progress, check_output, count_of, note, print_json

if TYPE_CHECKING:
    from understudy.correspondence.pairs import Correspondence
    from understudy.figure.motion import Motion
    from understudy.retarget.actor import ActorData
    from understudy.transition import Transition


KEPT = 2e-3
"""Metres within which a contact counts as kept."""


@click.command(
    short_help="Let one motion go over into another, of any body.",
    epilog="Example: understudy transition sample:walk sample:dog_walk -o man_into_dog.bvh --seconds 1.2",
)
@click.argument("first")
@click.argument("second")
@click.option("-o", "--output", required=True, metavar="OUT", help="Where to write; BVH where the body changes.")
@click.option("--map", "map_file", metavar="FILE", help="Which bones correspond, FIRST's to SECOND's [suggested].")
@click.option("--leave", type=float, metavar="S", help="Second of FIRST at which the blend begins [best place].")
@click.option("--enter", type=float, metavar="S", help="Second of SECOND at which the blend begins [best place].")
@click.option("--seconds", type=float, metavar="S", help="How long the blend lasts [about a stride].")
@click.option("--fps", type=float, help="Frames per second of the result; FIRST's own if not given.")
@reading_options
@click.option("--second-unit", help="Unit of SECOND, as --unit.")
@click.option("--second-up", help="Up axis of SECOND.")
@click.option("--second-skeleton", metavar="FILE", help="The skeleton's file of SECOND (AMC).")
@click.option("--keep-reference", is_flag=True, help="Keep first frames that only show a reference pose.")
@json_option
def transition(**given: Any) -> None:
    """Let the motion FIRST go over into the motion SECOND as one clip, feet planted, and say how well it went.

    FIRST and SECOND are motion files, or samples as sample:NAME. Where the bodies are built differently the result has
    the bones of both, and those that one of them lacks grow or shrink over the blend. SECOND is turned about the
    vertical and shifted over the floor to follow FIRST.
    """
    from understudy.io import write
    from understudy.recipe.guards import transition_failures
    from understudy.transition import transition as go_over

    check_output(given["output"])
    with Progress() as progress:
        progress("reading", 0.0)
        first, second = _load(given["first"], given, ""), _load(given["second"], given, "second_")
        for option, loaded in (("leave", first), ("enter", second)):
            _check_moment(option, given[option], loaded)
        known, said = _map(given["map_file"], first.motion, second.motion)
        found = go_over(
            first.motion,
            second.motion,
            correspondence=known,
            leave=given["leave"],
            enter=given["enter"],
            seconds=given["seconds"],
            contacts=(first.contacts, second.contacts),
            watch=progress,
        )
        lost = write(_clip(first, found, given["output"]), given["output"])
    notes = [*first.notes, *second.notes, *said, *found.notes]
    data = {**measured(found, given), "faults": transition_failures(found, first.motion, second.motion)}
    note(notes)
    note(lost, "not kept")
    if given["as_json"]:
        print_json({**data, "notes": notes, "not_kept": list(lost)})
    else:
        click.echo("\n".join(summary(data)))
    note(advice(data), "warning")
    if data["faults"]:
        click.get_current_context().exit(1)


def _check_moment(option: str, moment: float | None, loaded: ActorData) -> None:
    """Refuse a second that a motion does not have."""
    last = loaded.motion.duration
    if moment is not None and not 0.0 <= moment <= last:
        raise click.UsageError(f"Expected --{option} from 0 to {last:.2f} s, where the motion ends; got {moment:g} s.")


def _load(name: str, given: dict[str, Any], prefix: str) -> ActorData:
    from understudy.retarget.actor import load
    from understudy.retarget.spec import ActorSpec, Reading

    reading = Reading(
        unit=given[f"{prefix}unit"],
        up=given[f"{prefix}up"],
        skeleton=given[f"{prefix}skeleton"],
        lenient=given["lenient"],
        keep_reference=given["keep_reference"],
        fps=given["fps"],
    )
    return load(ActorSpec(source=name), reading)


def _map(path: str | None, first: Motion, second: Motion) -> tuple[Correspondence | None, tuple[str, ...]]:
    """The map to go by, if one is given that says more than goes without saying, and what was left out of it.

    Pairs that were suggested and cannot become one bone are narrowed as they are without a file; those that a user
    wrote are left to be refused.
    """
    if path is None:
        return None, ()
    from understudy.correspondence.map_file import is_plain, read_map
    from understudy.correspondence.pairs import Pair
    from understudy.transition.meta_skeleton import mergeable

    whole = read_map(path, first.skeleton, second.skeleton)
    if is_plain(whole):
        return None, ()
    narrowed, said = mergeable(whole)
    wide = [pair for pair in whole.pairs if pair not in narrowed.pairs]
    return (whole, ()) if any(pair.reason == Pair.reason for pair in wide) else (narrowed, said)


def _clip(first: ActorData, found: Transition, output: str) -> Any:
    """The result in the conventions of the first file where its skeleton is that file's, else as made here."""
    from understudy.io import Clip
    from understudy.io.files import format_of

    if found.motion.offsets is not None and not format_of(output).changing_bones:
        raise click.UsageError(f"A body that changes is written as BVH, not as `{output}`.")
    if found.meta is not None:
        return Clip.of(found.motion)
    return replace(first.clip, skeleton=found.motion.skeleton, motion=found.motion, notes=(), dropped=())


def measured(found: Transition, given: dict[str, Any]) -> dict[str, Any]:
    """What there is to say about a transition, as data."""
    fps, lengths = found.motion.fps, found.lengths[:, 1:]
    steps, allowed = asdict(found.steps), asdict(found.allowed)
    return {
        "file": given["output"],
        "frames": found.motion.num_frames,
        "fps": fps,
        "body": {
            "joints": found.motion.skeleton.num_joints,
            "shared": None if found.meta is None else found.meta.num_shared,
            "bones_that_change": int((abs(lengths[-1] - lengths[0]) > 1e-6).sum()),
            "relapse": found.relapse,
        },
        "blend": {"start": found.start / fps, "end": found.end / fps, "frames": [found.start, found.end]},
        "match": {
            "leave": found.match.leave,
            "enter": found.match.enter,
            "by": list(dict.fromkeys(found.match.names)),
            "difference": found.match.cost,
            "frames": [[float(a), float(b)] for a, b in zip(found.match.first, found.match.second, strict=True)],
        },
        "second": {"turned": degrees(found.turn), "shifted": found.shift.tolist()},
        "contacts": {
            "kept": [plant.name for plant in found.plants],
            "worst": found.contact_error,
            "unmet": [] if found.solution is None else [o.constraint.label for o in found.solution.unmet],
        },
        "steps": {key: {"blend": steps[key], "motions": allowed[key]} for key in steps},
        "worst_step": found.steps.over(found.allowed),
    }


def summary(data: dict[str, Any]) -> list[str]:
    """The same in a few lines."""
    body, blend, match, second, contacts = (data[key] for key in ("body", "blend", "match", "second", "contacts"))
    bones = "one body"
    if body["shared"] is not None:
        bones = f"{count_of(body['joints'], 'joint')} of both bodies, {body['shared']} of them shared"
    bones += f"; {count_of(body['bones_that_change'], 'bone')} change length"
    if body["bones_that_change"]:
        back = body["relapse"]
        bones += ", each only one way" if back < 1e-9 else f", going back by up to {1000 * back:.2f} mm"
    x, _, z = second["shifted"]
    return [
        f"{data['file']}: {count_of(data['frames'], 'frame')} at {data['fps']:g} fps",
        f"body      {bones}",
        f"matched   {match['leave']:.2f} s of the first with {match['enter']:.2f} s of the second, by "
        + ", ".join(match["by"]),
        f"blend     {blend['start']:.2f} to {blend['end']:.2f} s, frames {blend['frames'][0]} to {blend['frames'][1]}",
        f"second    turned by {second['turned']:.1f} degrees, shifted by {x:.2f} m in x and {z:.2f} m in z",
        f"contacts  {len(contacts['kept'])} kept over the blend, worst {1000 * contacts['worst']:.3f} mm",
        f"steps     worst is {data['worst_step']:.2f} of the motions' own worst",
    ]


def advice(data: dict[str, Any]) -> list[str]:
    """What is not as it should be, and what to do about it."""
    said = [f"{sentence}: no use; another --leave, --enter or --map may give one" for sentence in data["faults"]]
    if data["contacts"]["worst"] > KEPT:
        worst = 1000 * data["contacts"]["worst"]
        said.append(
            f"a contact is off by {worst:.1f} mm; another --leave or --enter, or a longer --seconds, may suit it"
        )
    if data["worst_step"] > 1.05:
        said.append(
            f"over the blend a joint steps {data['worst_step']:.2f} times as far as in the motions themselves; give it "
            "a longer --seconds"
        )
    return said


COMMAND = transition
