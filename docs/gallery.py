"""Draws the pictures of the documentation: every sample character and motion, and the one at the head of the README.

    python docs/gallery.py [--only NAME ...] [--folder docs/pictures]

The pictures are kept in the repository, so they are small: a palette of colours, and no more dots than a page shows.
"""

from __future__ import annotations

import argparse
from io import BytesIO
from pathlib import Path

from PIL import Image

from understudy import samples
from understudy.io.files import open_to_write
from understudy.motion import Motion, rest_motion
from understudy.picture import draw
from understudy.samples import Scene

FOLDER = Path(__file__).resolve().parent / "pictures"
DOTS = 84.0
"""Dots an inch: a page of 12 inches becomes about 1000 dots wide."""
HERO_DOTS = 110.0
COLOURS = 96
"""Colours of the palette: enough for lines that fade and have soft edges."""


def hero(path: Path) -> None:
    """The picture at the head of the README: what the program is about, in one filmstrip."""
    scene = samples.motion("walk")
    draw(scene, path, style="filmstrip", views="side", count=9, frames=slice(15, 96), dots_per_inch=HERO_DOTS)
    shrink(path)


def character(name: str, path: Path) -> None:
    """A character in its rest pose, from three sides."""
    draw(rest_motion(samples.character(name)), path, labels=[name], style="overlay", dots_per_inch=DOTS)
    shrink(path)


def motion(name: str, path: Path) -> None:
    """A sample motion: a filmstrip from the side, and overlays from three."""
    scene: Scene | Motion = samples.motion(name)
    draw(scene, path, style="both", dots_per_inch=DOTS)
    shrink(path)


def shrink(path: Path) -> None:
    """Bring a PNG down to a palette of few colours, in place."""
    with Image.open(path) as picture:
        flat = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    buffer = BytesIO()
    flat.save(buffer, format="PNG", optimize=True)
    with open_to_write(path) as stream:
        stream.write(buffer.getvalue())


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", metavar="NAME", help="`hero`, or names of samples")
    options.add_argument("--folder", type=Path, default=FOLDER)
    chosen = options.parse_args()
    (chosen.folder / "samples").mkdir(parents=True, exist_ok=True)
    jobs = {"hero": (hero, "hero.png")}
    jobs |= {name: (lambda path, name=name: character(name, path), f"samples/{name}.png") for name in samples.characters()}
    jobs |= {name: (lambda path, name=name: motion(name, path), f"samples/{name}.png") for name in samples.motions()}
    unknown = set(chosen.only or ()) - set(jobs)
    if unknown:
        options.error(f"there is no {', '.join(sorted(unknown))}; known: {', '.join(jobs)}")
    for name in chosen.only or jobs:
        work, file = jobs[name]
        work(chosen.folder / file)
        print(f"{file}: {(chosen.folder / file).stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
