"""`understudy video`: film motions as stick figures."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import FrameRange, json_option, reading_options
from understudy.app.output import count_of, print_json

if TYPE_CHECKING:
    from understudy.figure.contacts import Contact
    from understudy.figure.motion import Motion
    from understudy.samples.scene import Scene


class FrameSize(click.ParamType):
    """Width and height in pixels, such as 960x540."""

    name = "WxH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"\s*(\d{1,6})\s*[xX]\s*(\d{1,6})\s*", value)
        if not match:
            self.fail(f"expected width and height in pixels, such as 960x540; got `{value}`", param, ctx)
        return int(match[1]), int(match[2])


@click.command(
    short_help="Film motions as stick figures.",
    epilog="Example: understudy video walk.bvh hero_walk.bvh -o walk.mp4 --speed 0.5",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="VIDEO", help="Where to write: .mp4 or .gif.")
@reading_options
@click.option("--frames", type=FrameRange(), help="Only these frames of each file, counted from 0, B excluded.")
@click.option("--labels", metavar="A,B", help="Names over the panels, separated by commas [file names].")
@click.option("--size", type=FrameSize(), default="960x540", show_default=True, help="Width and height in pixels.")
@click.option("--fps", type=float, help="Frames a second of the video [the first file's, up to 30; a GIF 20].")
@click.option("--speed", type=float, default=1.0, show_default=True, help="0.5 is half as fast as the motion.")
@click.option("--view", type=click.Choice(["side", "front"]), default="side", show_default=True)
@click.option("--skin", is_flag=True, help="Draw sample characters with their skins.")
@click.option("--no-contacts", is_flag=True, help="Do not mark contacts of feet and hands.")
@click.option("--keep-reference", is_flag=True, help="Also show a first frame that only shows a reference pose.")
@json_option
def video(
    files: tuple[str, ...],
    output: str,
    unit: str | None,
    up: str | None,
    lenient: bool,
    skeleton: str | None,
    clip: str | None,
    frames: slice | None,
    labels: str | None,
    size: tuple[int, int],
    fps: float | None,
    speed: float,
    view: str,
    skin: bool,
    no_contacts: bool,
    keep_reference: bool,
    as_json: bool,
) -> None:
    """Film motions as stick figures, side by side, with a camera that follows them.

    FILE is a motion file, or a sample as sample:NAME. No window is needed.
    """
    from understudy.app.output import Progress
    from understudy.app.picture import SAMPLE, load
    from understudy.show.video import write_video

    reading = {"unit": unit, "up": up, "lenient": lenient, "skeleton": skeleton, "clip": clip}
    motions, names, contacts = [], [], []
    for file in files:
        # Frame numbers given by the user count from the file's first frame, so that no frame may be dropped before.
        loaded = load(file, reading, keep_reference or frames is not None)
        name = file.removeprefix(SAMPLE).replace("\\", "/").rpartition("/")[2]
        for actor, motion, actor_contacts in _actors(loaded):
            motions.append(motion if frames is None else motion[frames])
            names.append(f"{name}: {actor}" if actor else name)
            contacts.append(() if no_contacts else actor_contacts if frames is None else None)
    start = time.monotonic()
    with Progress() as progress:
        result = write_video(
            motions,
            output,
            labels=labels.split(",") if labels is not None else names,
            contacts=contacts,
            fps=fps,
            size=size,
            view=view,
            speed=speed,
            skin=skin,
            watch=progress,
        )
    seconds = time.monotonic() - start
    if as_json:
        print_json(
            {"file": output, "frames": result.num_frames, "fps": result.fps, "size": list(size), "seconds": seconds}
        )
    else:
        click.echo(f"{output}: {count_of(result.num_frames, 'frame')} at {result.fps:.4g} fps")


def _actors(loaded: Motion | Scene) -> list[tuple[str, Motion, tuple[Contact, ...] | None]]:
    """The motion of each actor, its name if there are several, and its contacts if they are known."""
    from understudy.figure.motion import Motion

    if isinstance(loaded, Motion):
        return [("", loaded, None)]
    several = len(loaded.actors) > 1
    return [
        (actor if several else "", motion, tuple(c for c in loaded.contacts if c.actor in ("", actor)))
        for actor, motion in loaded.actors.items()
    ]


COMMAND = video
