"""`understudy convert`: convert a file to another format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from understudy.app.game import (
    apply_game_options,
    check_game_options,
    game_options,
    moves_differently,
    new_file_option,
    write_path_beside,
    writing_options,
)
from understudy.app.options import (
    FrameRange,
    force_option,
    json_option,
    reading_options,
    robot_options,
    stdin_option,
    stdout_option,
)
from understudy.app.output import (
    STANDARD_STREAM,
    count_of,
    foresee_losses,
    input_file,
    note,
    output_file,
    print_json,
    refuse_overwriting,
    refuse_stream_with,
)

if TYPE_CHECKING:
    from understudy.io.clip import Clip


@click.command(
    short_help="Convert a file to another format.",
    epilog="Example: understudy convert 02_01.bvh walk.bvh --drop-reference --fps 30 --to-unit cm",
)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@reading_options
@click.option("--fps", type=float, help="Frames per second of the output; the motion keeps its speed.")
@click.option("--frames", type=FrameRange(), help="Only these frames of the input, counted from 0, B excluded.")
@click.option(
    "--keep-reference/--drop-reference",
    default=None,
    help="Whether to keep a first frame that only shows a reference pose [keep, and drop with options for engines].",
)
@click.option("--to-unit", help="Unit of the output [the input's].")
@click.option("--to-up", help="Up axis of the output [the input's].")
@robot_options
@game_options
@stdin_option("IN")
@stdout_option
@force_option
@json_option
def convert(source: str, target: str, as_json: bool, **arguments: Any) -> None:
    """Read IN and write it as OUT, in the format of OUT's suffix; `-` is stdin or stdout.

    A file that is written in its own format keeps its unit, axes, Euler orders and names.
    """
    refuse_overwriting(target, [source], force=arguments["force"])
    refuse_stream_with(target, as_json=as_json, in_place=arguments["in_place"])
    with input_file(source, arguments["stdin_kind"]) as file, output_file(target, arguments["stdout_kind"]) as out:
        data, notes = convert_file(file, out, arguments)
    note(notes)
    note(data["left_out"], "left out")
    note(data["not_kept"], "not kept")
    if as_json:
        size = {key: data[key] for key in ("frames", "fps")}
        left = {"notes": [*notes, *data["left_out"]], "not_kept": data["not_kept"]}
        print_json({"file": target, **size, **left})
    elif target != STANDARD_STREAM:
        click.echo(f"{target}: {count_of(data['frames'], 'frame')}, {count_of(data['joints'], 'joint')}")


def convert_file(source: str, target: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Convert a file; returns what it holds and what is lost, and notes."""
    from understudy.io import read, write

    check_game_options(arguments, target)
    original = read(source, **{key: arguments[key] for key in ("unit", "up", "lenient", "skeleton", "clip")})
    others = not arguments["preset"]
    note(foresee_losses(original, target, new_file_option(original, arguments), others=others))
    chosen = {key: arguments[key] for key in ("frames", "fps", "keep_reference")}
    changed, notes = select_frames(original, **chosen, for_engine=moves_differently(arguments))
    changed, path, more = apply_game_options(changed, arguments)
    lost = write(changed, target, **writing_options(arguments))
    if path is not None:
        write_path_beside(path, target)
    motion = changed.motion
    data = {
        "frames": 0 if motion is None else motion.num_frames, "fps": None if motion is None else motion.fps,
        "joints": changed.skeleton.num_joints, "left_out": list(original.dropped), "not_kept": list(lost),
    }  # fmt: skip
    # What is done with a reference pose is said below.
    file_notes = [sentence for sentence in original.notes if "is a reference pose" not in sentence]
    return data, [*file_notes, *notes, *more]


def select_frames(
    clip: Clip, *, frames: slice | None, fps: float | None, keep_reference: bool | None, for_engine: bool
) -> tuple[Clip, list[str]]:
    """A clip with some of its frames, at another rate; and notes on what was changed.

    Args:
        clip: The clip.
        frames: Which of its frames; None for all.
        fps: The rate; None for its own.
        keep_reference: Whether a first frame that only shows a reference pose stays; None to keep it unless the clip is
            made into one for an engine, which would show a leap.
        for_engine: Whether it is.
    """
    import numpy as np

    from understudy.base.errors import MotionError, OptionError
    from understudy.io.clip import check_fps
    from understudy.io.guess import find_reference_frame

    motion = clip.motion
    if motion is None:
        if frames is None and fps is None:
            return clip, []
        raise OptionError("The file holds a character without motion: there are no frames to choose or resample")
    notes = []
    frame_numbers = np.arange(motion.num_frames)[frames or slice(None)]
    drop = for_engine if keep_reference is None else not keep_reference
    reference = find_reference_frame(motion)
    if reference is not None and reference in frame_numbers:
        if drop:
            frame_numbers = frame_numbers[frame_numbers != reference]
            notes.append(f"frame {reference} shows a reference pose and was dropped (--keep-reference keeps it)")
        elif keep_reference is None:
            notes.append(f"frame {reference} only shows a reference pose (--drop-reference leaves it out)")
    elif drop and keep_reference is not None:
        notes.append("no frame looks like a reference pose; none was dropped")
    if len(frame_numbers) == 0:
        raise MotionError(f"No frame is left to write; the motion has {motion.num_frames}")
    if len(frame_numbers) < motion.num_frames:
        motion = motion[frame_numbers]
    if fps is not None:
        check_fps(fps)
        motion = motion.resampled(fps)
    if motion is clip.motion:
        return clip, notes
    return replace(clip, motion=motion), notes


COMMAND = convert
