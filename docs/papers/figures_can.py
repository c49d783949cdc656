"""Draws our counterpart of [Gleicher98, fig. 11], the soda can that walks, skips and runs, and writes its numbers.

    python docs/papers/figures_can.py [--print]

The can is drawn transparently around the human of its proportions that drives it. Numbers stand in the page between
`<!-- numbers: fig11 -->` and `<!-- /numbers -->`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from figures import DOTS, FOLDER, scene, shrink, worst, write_numbers

from understudy import samples
from understudy.driving import Driven, drive
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.picture import draw
from understudy.samples.can import HEIGHT, RADIUS
from understudy.skeleton import Point

GAITS = {"walk": slice(28, 61), "skip": slice(63, 105), "run": slice(40, 62)}
"""A stride or so of each."""


def outlined(motion: Motion) -> Motion:
    """The can with points all round its rims, so that its outline is a cylinder's."""
    around = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
    rims = [
        Point(
            name=f"rim {number}",
            joint="Can",
            offset=np.array([RADIUS * np.cos(angle), height, RADIUS * np.sin(angle)]),
        )
        for number, (height, angle) in enumerate((h, a) for h in (-0.5 * HEIGHT, 0.5 * HEIGHT) for a in around)
    ]
    return replace(motion, skeleton=replace(motion.skeleton, ends=tuple(rims)))


def said(name: str, found: Driven, seconds: float) -> str:
    """A gait's figures in a line."""
    pose = fk(found.motion)
    across = pose.directions("Can", np.array([1.0, 0.0, 0.0]))
    down = np.zeros(found.motion.num_frames, bool)
    for contact in found.contacts:
        down[contact.frames(found.motion.fps, found.motion.num_frames)] = True
    went, path = (np.linalg.norm(m.root[-1] - m.root[0]) for m in (found.motion, found.intermediate))
    tips = np.degrees(np.abs(np.arcsin(across[:, 1])).max())
    return (
        f"{name}: {found.solution.result}; planted points within {worst(found.solution, 'same_place'):.3f} mm, no end "
        f"deeper than {-1e3 * min(pose.ends()[..., 1].min(), 0.0):.1f} mm; tips by {tips:.0f} degrees; goes "
        f"{went / path:.2f} times as far as the human of its proportions; in the air for {100 * np.mean(~down):.0f}% "
        f"of the time; {seconds:.1f} s of work for {found.motion.duration:.0f} s of motion"
    )


def make_fig11(path: Path) -> list[str]:
    """Draw the figure and say its numbers."""
    lines, parts = [], []
    for name, frames in GAITS.items():
        given = scene(name)
        began = time.perf_counter()
        found = drive(given.motion, samples.character("can"), contacts=given.contacts)
        lines.append(said(name, found, time.perf_counter() - began))
        part = path.with_stem(f"{path.stem}_{name}")
        draw(
            [replace(found.intermediate, name="the human of its proportions"), outlined(found.motion)], part,
            style="filmstrip", views=("side", "front"), count=9, frames=frames, together=True,
            contacts=found.contacts, title=f"The can {name}s", dots_per_inch=DOTS,
        )  # fmt: skip
        parts.append(part)
    stack(parts, path)
    return lines


def stack(parts: list[Path], path: Path) -> None:
    """Put pictures below each other into one, in place of them."""
    from PIL import Image

    for part in parts:
        shrink(part)
    pictures = [Image.open(part).convert("RGB") for part in parts]
    whole = Image.new("RGB", (max(p.width for p in pictures), sum(p.height for p in pictures)), "white")
    top = 0
    for picture in pictures:
        whole.paste(picture, (0, top))
        top += picture.height
    whole.save(path)
    for part in parts:
        part.unlink()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--print", action="store_true", help="leave the pages as they are")
    chosen = options.parse_args()
    path = FOLDER / "pictures" / "fig11.png"
    lines = make_fig11(path)
    shrink(path)
    print(f"fig11: {path.stat().st_size / 1000:.0f} kB", *lines, sep="\n  ")
    if not chosen.print:
        write_numbers("fig11", lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
