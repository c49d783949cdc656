"""`understudy picture`: draw motions as stick figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from understudy.app.options import FrameRange, json_option, reading_options
from understudy.app.output import note, print_json

if TYPE_CHECKING:
    from understudy.figure.motion import Motion
    from understudy.samples.scene import Scene


SAMPLE = "sample:"
"""The prefix of sample names in place of a file."""


@click.command(
    short_help="Draw motions as stick figures.",
    epilog="Example: understudy picture sample:walk walk.bvh -o walk.svg --views side,top --count 6",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="PICTURE", help="Where to write: .png or .svg.")
@reading_options
@click.option("--frames", type=FrameRange(), help="Only these frames of each file, counted from 0, B excluded.")
@click.option("--count", type=click.IntRange(1, 200), default=8, show_default=True, help="How many poses.")
@click.option("--views", default="side,front,top", show_default=True, help="Views to draw, with commas.")
@click.option(
    "--style",
    type=click.Choice(["filmstrip", "overlay", "both"]),
    default="both",
    show_default=True,
    help="filmstrip: poses side by side; overlay: poses in place; both: filmstrip of the first view, overlay of all.",
)
@click.option("--title", default="", help="A line over everything.")
@click.option("--together", is_flag=True, help="All characters in one picture, instead of one row each.")
@click.option("--contacts", metavar="JSON", help="Contacts to mark, as `samples` writes them.")
@click.option("--keep-reference", is_flag=True, help="Also draw a first frame that only shows a reference pose.")
@json_option
def picture(
    files: tuple[str, ...],
    output: str,
    unit: str | None,
    up: str | None,
    lenient: bool,
    skeleton: str | None,
    clip: str | None,
    frames: slice | None,
    count: int,
    views: str,
    style: str,
    title: str,
    together: bool,
    contacts: str | None,
    keep_reference: bool,
    as_json: bool,
) -> None:
    """Draw motions as stick figures: filmstrip and overlay, from the side, the front and above.

    FILE is a motion or character file, or a sample as sample:NAME. No window is needed.
    """
    from understudy.app.scene_file import read_contacts
    from understudy.show.picture import draw

    reading = {"unit": unit, "up": up, "lenient": lenient, "skeleton": skeleton, "clip": clip}
    # Frame numbers given by the user count from the file's first frame, so that no frame may be dropped before.
    motions = [load(file, reading, keep_reference or frames is not None) for file in files]
    labels = [file.removeprefix(SAMPLE).replace("\\", "/").rpartition("/")[2] for file in files]
    draw(
        motions,
        output,
        labels=labels,
        frames=frames,
        count=count,
        views=views,
        style=style,
        title=title,
        together=together,
        contacts=read_contacts(contacts) if contacts else (),
    )
    if as_json:
        print_json({"file": output, "motions": labels})
    else:
        click.echo(output)


def load(file: str, reading: dict[str, str | bool | None], keep_reference: bool) -> Motion | Scene:
    """The motion of a file, its rest pose if it has none, or a sample."""
    from understudy import samples
    from understudy.figure.motion import rest_motion
    from understudy.io import read
    from understudy.io.guess import find_reference_frame

    if file.startswith(SAMPLE):
        name = file.removeprefix(SAMPLE)
        if name in samples.characters():
            return rest_motion(samples.character(name))
        return samples.motion(name)
    clip = read(file, **reading)  # type: ignore[arg-type]
    note((f"{file}: {sentence}" for sentence in clip.dropped), "left out")
    if clip.motion is None:
        return rest_motion(clip.skeleton)
    if not keep_reference and find_reference_frame(clip.motion) == 0:
        note([f"{file}: frame 0 only shows a reference pose and is not drawn (--keep-reference draws it)"])
        return clip.motion[1:]
    return clip.motion


COMMAND = picture
