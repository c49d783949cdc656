"""Draws the pictures of the documentation: every sample, what every example draws, and the head of the README.

    python docs/gallery.py [--only NAME ...] [--folder docs/pictures]

The pictures are kept in the repository, so they are small: a palette of colours, and no more dots than a page shows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageChops

from understudy import samples
from understudy.base.files import open_to_write
from understudy.figure.contacts import detect_contacts
from understudy.figure.motion import rest_motion
from understudy.retarget.driver import retarget
from understudy.samples import Scene
from understudy.show.picture import draw
from understudy.transition import transition

FOLDER = Path(__file__).resolve().parent / "pictures"
EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("[0-9]*.py"))
DOTS = 84.0
"""Dots an inch: a page of 12 inches becomes about 1000 dots wide."""
HERO_DOTS = 110.0
WIDE = 1000
"""Dots that a picture of an example is wide at most."""
COLOURS = 96
"""Colours of the palette: enough for lines that fade and have soft edges."""
MARGIN = 16
"""Dots of white left around what is drawn."""


def draw_hero(path: Path) -> None:
    """The picture at the head of the README: an adult walks, and a child performs the same walk."""
    adult = samples.motion("walk")
    child = retarget(adult.motion, samples.character("child"), contacts=adult.contacts).motion
    scenes = [adult, Scene(name="child", actors={"child": child}, contacts=detect_contacts(child))]
    labels = ["An adult walks", "A child performs the walk"]
    draw(
        scenes, path, labels=labels, style="filmstrip", views="side", count=9, frames=slice(15, 96),
        dots_per_inch=HERO_DOTS,
    )  # fmt: skip


def draw_march(path: Path) -> None:
    """A human marches, and a dog performs the march on its four legs."""
    march = samples.motion("march")
    dog = retarget(march.motion, samples.character("dog"), contacts=march.contacts).motion
    labels = ["A human marches", "A dog performs the march"]
    draw(
        [march.motion, dog], path, labels=labels, style="filmstrip", views="side", count=9, frames=slice(15, 96),
        dots_per_inch=DOTS,
    )  # fmt: skip


def draw_transition(path: Path) -> None:
    """A human that walks turns into a dog that walks."""
    into = transition(samples.motion("walk").motion, samples.motion("dog_walk").motion)
    draw(
        into.motion, path, labels=["From one body into another"], style="filmstrip", views="side", count=10,
        frames=slice(into.start - 12, into.end + 12), dots_per_inch=HERO_DOTS,
    )  # fmt: skip


def draw_character(name: str, path: Path) -> None:
    """A character in its rest pose, from three sides."""
    draw(rest_motion(samples.character(name)), path, labels=[name], style="overlay", dots_per_inch=DOTS)


def draw_motion(name: str, path: Path) -> None:
    """A sample motion: a filmstrip from the side, and overlays from three."""
    draw(samples.motion(name), path, style="both", dots_per_inch=DOTS)


def draw_example(example: Path, path: Path) -> None:
    """What an example of the folder `examples` draws when it is run."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-W", "error", str(example), folder], check=True, stdout=subprocess.DEVNULL, cwd=folder
        )
        pictures = sorted(Path(folder).glob("*.png"))
        if len(pictures) != 1:
            raise SystemExit(f"{example.name}: expected one picture, found {len(pictures)}")
        with Image.open(pictures[0]) as picture:
            plain = picture.convert("RGB")
        plain.thumbnail((WIDE, plain.height), Image.Resampling.LANCZOS)
        plain.save(path)


def shrink(path: Path) -> None:
    """Cut the white off the edges of a PNG and bring it down to a palette of few colours, in place."""
    with Image.open(path) as picture:
        plain = picture.convert("RGB")
    left, top, right, bottom = ImageChops.difference(plain, Image.new("RGB", plain.size, "white")).getbbox()
    plain = plain.crop((max(left - MARGIN, 0), max(top - MARGIN, 0), right + MARGIN, bottom + MARGIN))
    buffer = BytesIO()
    flat = plain.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    flat.save(buffer, format="PNG", optimize=True)
    with open_to_write(path) as stream:
        stream.write(buffer.getvalue())


def jobs() -> dict[str, tuple[Callable[[Path], None], str]]:
    """Everything there is to draw, by name: how, and into which file."""
    found: dict[str, tuple[Callable[[Path], None], str]] = {
        "hero": (draw_hero, "hero.png"),
        "march_dog": (draw_march, "march_dog.png"),
        "transition": (draw_transition, "transition.png"),
    }
    for example in EXAMPLES:
        found[example.stem] = (partial(draw_example, example), f"examples/{example.stem}.png")
    for name in samples.characters():
        found[name] = (partial(draw_character, name), f"samples/{name}.png")
    for name in samples.motions():
        found[name] = (partial(draw_motion, name), f"samples/{name}.png")
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", metavar="NAME", help="`hero`, or names of samples or examples")
    options.add_argument("--folder", type=Path, default=FOLDER)
    chosen = options.parse_args()
    for part in ("samples", "examples"):
        (chosen.folder / part).mkdir(parents=True, exist_ok=True)
    known = jobs()
    unknown = sorted(set(chosen.only or ()) - set(known))
    if unknown:
        options.error(f"there is no {', '.join(unknown)}; known: {', '.join(known)}")
    for name in chosen.only or known:
        work, file = known[name]
        path = chosen.folder / file
        work(path)
        shrink(path)
        print(f"{file}: {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
