"""`understudy demo`: retarget a sample walk to a child and a giant, and report on the results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option
from understudy.app.output import note, print_json

if TYPE_CHECKING:
    from understudy.figure.motion import Motion
    from understudy.samples.scene import Scene


TARGETS = ("child", "giant")
"""The sample characters that the motion is retargeted to."""


@click.command(short_help="Show what the program does, on samples.", epilog="Example: understudy demo -o demo")
@click.option("-o", "--output", required=True, metavar="DIR", help="Output folder; created if it does not exist.")
@json_option
def demo(output: str, as_json: bool) -> None:
    """Retarget a sample walk to a child and a giant, write and draw all three motions, and report their quality."""
    from understudy import samples
    from understudy.base.errors import FileError

    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(output, None, f"the folder cannot be created: {error.strerror}") from None
    report = perform(samples.motion("walk"), folder)
    if as_json:
        print_json(report)
        return
    click.echo(
        f"{report['frames']} frames of {report['character']} at {report['fps']:g} fps; "
        f"{report['contacts']} contacts, worst {report['worst_contact_mm']:.1g} mm off after writing and reading; "
        f"joints within {report['worst_joint_mm']:.1g} mm"
    )
    for name, data in report["performed_by"].items():
        click.echo("\n".join(["", f"performed by {name}:", *data["summary"]]))
    click.echo("")
    for file in report["files"]:
        click.echo(file)


def perform(scene: Scene, folder: Path) -> dict[str, Any]:
    """Write a scene, its retargets and pictures into a folder; returns the report."""
    import numpy as np

    from understudy.app.scene_file import UNIT, write_scene
    from understudy.figure.kinematics import fk
    from understudy.io import read

    files, lost = write_scene(scene, folder / f"{scene.name}.bvh")
    clip = read(files[0], unit=UNIT, up="Y")
    assert clip.motion is not None
    difference = fk(clip.motion).positions - fk(scene.motion).positions
    performed, motions = {}, {}
    for target in TARGETS:
        file = folder / f"{scene.name}_{target}.bvh"
        performed[target], motions[target] = retarget_sample(scene, target, file)
        files.append(file)
    note(lost, "not kept")
    files += draw_pictures(scene, motions, folder)
    return {
        "character": scene.motion.skeleton.name,
        "frames": clip.motion.num_frames,
        "fps": scene.motion.fps,
        "contacts": len(scene.contacts),
        "worst_contact_mm": 1000.0 * worst_contact(scene, clip.motion),
        "worst_joint_mm": 1000.0 * float(np.linalg.norm(difference, axis=-1).max()),
        "performed_by": performed,
        "files": [str(file) for file in files],
    }


def retarget_sample(scene: Scene, target: str, path: Path) -> tuple[dict[str, Any], Motion]:
    """Retarget a sample motion to a sample character and write it; returns its quality, and the motion."""
    from understudy.app.output import Progress
    from understudy.app.retarget import write_results
    from understudy.retarget.driver import retarget

    with Progress() as progress:
        result = retarget(f"sample:{scene.name}", f"sample:{target}", watch=progress)
    write_results(result, path, {})
    note(result.quality["warnings"], f"warning: {target}")
    return {**result.quality, "summary": result.summary().splitlines()}, result.motion


def draw_pictures(scene: Scene, motions: dict[str, Motion], folder: Path) -> list[Path]:
    """Draw a scene, and its retargets beside it; returns the files, none if the drawing package is missing."""
    from understudy.base.errors import MissingPackageError
    from understudy.show.picture import draw

    paths = [folder / f"{scene.name}.png", folder / f"{scene.name}.svg", folder / f"{scene.name}_performed.png"]
    try:
        for picture in paths[:2]:
            draw(scene, picture, title=scene.about)
        labels = [scene.motion.skeleton.name, *motions]
        title = f"{scene.about}, performed by others"
        draw([scene.motion, *motions.values()], paths[2], labels=labels, views=("side",), title=title)
    except MissingPackageError as error:
        note([f"no pictures: {error.message}; {error.hint}"])
        return []
    return paths


def worst_contact(scene: Scene, motion: Motion) -> float:
    """The largest distance in metres of the first actor's planted points from their places."""
    import numpy as np

    from understudy.figure.kinematics import fk

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
