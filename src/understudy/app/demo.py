"""`understudy demo`: a round through what the program does, on a sample."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option
from understudy.app.output import note, print_json

if TYPE_CHECKING:
    from understudy.motion import Motion
    from understudy.samples.scene import Scene


@click.command(short_help="A round through the program, on a sample.", epilog="Example: understudy demo -o demo")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder to write into; made if it is not there.")
@json_option
def demo(output: str, as_json: bool) -> None:
    """Make a sample walk, write it, read it back, draw it, and say how well it held."""
    from understudy import samples
    from understudy.errors import FileError

    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(output, None, f"the folder cannot be made: {error.strerror}") from None
    report = perform(samples.motion("walk"), folder)
    if as_json:
        print_json(report)
        return
    click.echo(
        f"{report['frames']} frames of {report['character']} at {report['fps']:g} fps; "
        f"{report['contacts']} contacts, worst {report['worst_contact_mm']:.1g} mm off after writing and reading; "
        f"joints within {report['worst_joint_mm']:.1g} mm"
    )
    for file in report["files"]:
        click.echo(file)


def perform(scene: Scene, folder: Path) -> dict[str, Any]:
    """Write a scene and pictures of it into a folder, read it back and measure what came through."""
    import numpy as np

    from understudy.app.scene_file import UNIT, write_scene
    from understudy.errors import MissingPackageError
    from understudy.io import read
    from understudy.kinematics import fk
    from understudy.picture import draw

    files, lost = write_scene(scene, folder / f"{scene.name}.bvh")
    note(lost, "not kept")
    clip = read(files[0], unit=UNIT, up="Y")
    assert clip.motion is not None
    apart = fk(clip.motion).positions - fk(scene.motion).positions
    try:
        for picture in (folder / f"{scene.name}.png", folder / f"{scene.name}.svg"):
            draw(scene, picture, title=scene.about)
            files.append(picture)
    except MissingPackageError as error:
        note([f"no pictures: {error.message}; {error.hint}"])
    return {
        "character": scene.motion.skeleton.name,
        "frames": clip.motion.num_frames,
        "fps": scene.motion.fps,
        "contacts": len(scene.contacts),
        "worst_contact_mm": 1000.0 * worst_contact(scene, clip.motion),
        "worst_joint_mm": 1000.0 * float(np.linalg.norm(apart, axis=-1).max()),
        "files": [str(file) for file in files],
    }


def worst_contact(scene: Scene, motion: Motion) -> float:
    """Metres that the first actor's planted points are from their places, at worst, when it moves as given."""
    import numpy as np

    from understudy.kinematics import fk

    first, pose, worst = next(iter(scene.actors)), fk(motion), 0.0
    for contact in scene.contacts:
        if contact.place is None or contact.actor not in ("", first):
            continue
        frames = contact.frames(scene.motion.fps, motion.num_frames)
        if len(frames):
            places = pose.points([contact.point])[frames, 0]
            worst = max(worst, float(np.linalg.norm(places - contact.place, axis=-1).max()))
    return worst


COMMAND = demo
