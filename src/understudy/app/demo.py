"""`understudy demo`: a page that shows copied rotations beside retargets of a sample walk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option
from understudy.app.output import print_json

if TYPE_CHECKING:
    from understudy.figure.motion import Motion
    from understudy.figure.skeleton import Skeleton
    from understudy.samples.scene import Scene
    from understudy.show.demo import DemoBody


TARGETS = {
    "giant": "of 2.8 m, with long legs",
    "child": "of 1.06 m, with short legs",
    "stretched": "with a long body on very short legs",
}
"""The sample characters that the motion is retargeted to."""

FILM_FPS = 12.5
"""Frames a second of a film as GIF, which keeps the file small."""

ABOUT = (
    "An adult's walk, performed by three other bodies. On the left every joint is turned as the adult's, and the path "
    "of the hips is scaled to the height of the body's hips, as engines do it. On the right Understudy has solved the "
    "whole motion."
)


@click.command(short_help="Show what the program does, in a page.", epilog="Example: understudy demo -o demo")
@click.option(
    "-o",
    "--output",
    default="understudy-demo",
    show_default=True,
    metavar="DIR",
    help="Output folder; created if it does not exist.",
)
@click.option("--film", metavar="FILE", help="Also write a film of the first body: .gif or .mp4.")
@click.option("--no-open", is_flag=True, help="Do not open the page.")
@json_option
def demo(output: str, film: str | None, no_open: bool, as_json: bool) -> None:
    """Make a page of three skinned bodies that perform a sample walk, and open it where there is a display.

    The page is one file, DIR/demo.html, that needs no server: copied rotations beside Understudy, feet that slide
    marked red, a slider through time. The motions are written beside it, with skins. No window is needed.
    """
    from understudy import samples
    from understudy.base.errors import FileError

    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(output, None, f"the folder cannot be created: {error.strerror}") from None
    report = perform(samples.motion("walk"), folder, film)
    opens = not no_open and has_display()
    if as_json:
        print_json(report)
    else:
        click.echo("An adult's walk, performed by three other bodies:")
        for name, data in report["performed_by"].items():
            copied, solved = (100.0 * data[way]["slid"] for way in ("copied", "retargeted"))
            click.echo(
                f"  {name + ':':<10} feet slide {copied:4.1f} cm with copied rotations, {solved:.1f} cm with Understudy"
            )
        click.echo("\n".join(["Written:", *(f"  {file}" for file in report["files"])]))
        click.echo(f"{'The page opens now' if opens else 'Open the page in a browser'}: {report['page']}")
    if opens:
        from understudy.app.studio import open_browser

        open_browser(Path(report["page"]).absolute().as_uri(), wait=True)


def has_display() -> bool:
    """Whether a browser with a window can be opened: never in a pipe or a remote shell without a display."""
    import os
    import sys

    if not sys.stdout.isatty():
        return False
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def perform(scene: Scene, folder: Path, film: str | None = None) -> dict[str, Any]:
    """Write a scene, its retargets and the page into a folder; returns the report."""
    import numpy as np

    from understudy.app.scene_file import UNIT, write_scene
    from understudy.figure.kinematics import fk
    from understudy.io import read
    from understudy.show.demo import defects, write_demo

    files, _ = write_scene(scene, folder / f"{scene.name}.bvh")
    clip = read(files[0], unit=UNIT, up="Y")
    assert clip.motion is not None
    difference = fk(clip.motion).positions - fk(scene.motion).positions
    bodies, performed = [], {}
    for target in TARGETS:
        file = folder / f"{scene.name}_{target}.glb"
        body, quality = retarget_sample(scene, target, file)
        bodies.append(body)
        measured = {way: defects(getattr(body, way), body.contacts) for way in ("copied", "retargeted")}
        performed[target] = {**quality, **measured}
        files.append(file)
    page = folder / "demo.html"
    write_demo(page, bodies, title="Understudy: one walk, other bodies", about=ABOUT)
    if film is not None:
        write_film(bodies[0], film)
        files.append(Path(film))
    return {
        "character": scene.motion.skeleton.name,
        "frames": clip.motion.num_frames,
        "fps": scene.motion.fps,
        "contacts": len(scene.contacts),
        "worst_contact_mm": 1000.0 * worst_contact(scene, clip.motion),
        "worst_joint_mm": 1000.0 * float(np.linalg.norm(difference, axis=-1).max()),
        "performed_by": performed,
        "page": str(page),
        "files": [str(file) for file in (*files, page)],
    }


def retarget_sample(scene: Scene, target: str, path: Path) -> tuple[DemoBody, dict[str, Any]]:
    """Retarget a sample motion to a sample character and write it; returns both ways, and the quality."""
    from understudy.app.output import Progress
    from understudy.app.retarget import write_results
    from understudy.retarget.driver import retarget
    from understudy.show.demo import DemoBody

    with Progress() as progress:
        result = retarget(f"sample:{scene.name}", f"sample:{target}", watch=progress)
    write_results(result, path, {})
    body = DemoBody(
        name=target,
        about=TARGETS[target],
        copied=copy_rotations(scene.motion, result.motion.skeleton),
        retargeted=result.motion,
        contacts=tuple(contact for contact in scene.contacts if contact.on == "floor"),
    )
    return body, result.quality


def copy_rotations(motion: Motion, skeleton: Skeleton) -> Motion:
    """A motion on another body with the same joints: rotations as they are, the root's path scaled to its hips."""
    from dataclasses import replace

    ratio = float(skeleton.offsets[0, 1] / motion.skeleton.offsets[0, 1])
    return replace(motion, skeleton=skeleton, root=ratio * motion.root)


def write_film(body: DemoBody, path: str) -> None:
    """Write a film of a body: copied rotations beside the retarget."""
    from understudy.app.output import Progress
    from understudy.show.demo import feet_that_slide
    from understudy.show.video import write_video

    motions = [body.copied, body.retargeted]
    feet = [feet_that_slide(motion, body.contacts) for motion in motions]
    with Progress() as progress:
        write_video(
            motions, path, labels=[f"{body.name}: rotations copied", f"{body.name}: Understudy"], contacts=[(), ()],
            size=(640, 360), fps=FILM_FPS if path.lower().endswith(".gif") else None, skin=True, sliding=feet,
            watch=progress,
        )  # fmt: skip


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
