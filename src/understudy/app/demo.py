"""`understudy demo`: a sample walk performed by a child and a giant, with what came of it."""

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
"""The sample characters that perform the demo's motion."""


@click.command(short_help="A round through the program, on samples.", epilog="Example: understudy demo -o demo")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder to write into; made if it is not there.")
@json_option
def demo(output: str, as_json: bool) -> None:
    """Make a sample walk, let a child and a giant perform it, write and draw all three, and say how well it went."""
    from understudy import samples
    from understudy.base.errors import FileError

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
    for name, data in report["performed_by"].items():
        click.echo("\n".join(["", f"performed by {name}:", *data["summary"]]))
    click.echo("")
    for file in report["files"]:
        click.echo(file)


def perform(scene: Scene, folder: Path) -> dict[str, Any]:
    """Write a scene, the same performed by others, and pictures into a folder; measure what came through."""
    import numpy as np

    from understudy.app.scene_file import UNIT, write_scene
    from understudy.figure.kinematics import fk
    from understudy.io import read

    files, lost = write_scene(scene, folder / f"{scene.name}.bvh")
    clip = read(files[0], unit=UNIT, up="Y")
    assert clip.motion is not None
    apart = fk(clip.motion).positions - fk(scene.motion).positions
    performed, motions = {}, {}
    for target in TARGETS:
        file = folder / f"{scene.name}_{target}.bvh"
        performed[target], motions[target] = retargeted(scene, target, file)
        files.append(file)
    note(lost, "not kept")
    files += pictures(scene, motions, folder)
    return {
        "character": scene.motion.skeleton.name,
        "frames": clip.motion.num_frames,
        "fps": scene.motion.fps,
        "contacts": len(scene.contacts),
        "worst_contact_mm": 1000.0 * worst_contact(scene, clip.motion),
        "worst_joint_mm": 1000.0 * float(np.linalg.norm(apart, axis=-1).max()),
        "performed_by": performed,
        "files": [str(file) for file in files],
    }


def retargeted(scene: Scene, target: str, path: Path) -> tuple[dict[str, Any], Motion]:
    """Let a sample character perform a sample motion and write it; returns how good it is, and the motion."""
    from understudy.app.output import Progress
    from understudy.app.retarget import write_results
    from understudy.retarget.driver import retarget

    with Progress() as progress:
        result = retarget(f"sample:{scene.name}", f"sample:{target}", watch=progress)
    write_results(result, path)
    note(result.quality["warnings"], f"warning: {target}")
    return {**result.quality, "summary": result.summary().splitlines()}, result.motion


def pictures(scene: Scene, motions: dict[str, Motion], folder: Path) -> list[Path]:
    """Draw a scene, and it beside those who performed it; returns the files, none where nothing can be drawn."""
    from understudy.base.errors import MissingPackageError
    from understudy.show.picture import draw

    drawn = [folder / f"{scene.name}.png", folder / f"{scene.name}.svg", folder / f"{scene.name}_performed.png"]
    try:
        for picture in drawn[:2]:
            draw(scene, picture, title=scene.about)
        labels = [scene.motion.skeleton.name, *motions]
        title = f"{scene.about}, performed by others"
        draw([scene.motion, *motions.values()], drawn[2], labels=labels, views=("side",), title=title)
    except MissingPackageError as error:
        note([f"no pictures: {error.message}; {error.hint}"])
        return []
    return drawn


def worst_contact(scene: Scene, motion: Motion) -> float:
    """Metres that the first actor's planted points are from their places, at worst, when it moves as given."""
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
