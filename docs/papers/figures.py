"""Draws our counterparts of the figures of [Gleicher98], and writes their numbers into the page.

    python docs/papers/figures.py [--only fig02 fig07 ...] [--print]

Everything is made from our own samples, by `papers`. Numbers stand between `<!-- numbers: NAME -->` and
`<!-- /numbers -->`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from papers.base import DOTS, scene, worst
from papers.gleicher98_figures import fig01, fig02, fig03, fig04, fig06, fig07, fig08, fig09, fig10, ladder
from PIL import Image, ImageChops

from understudy.base.files import open_to_write

__all__ = ["DOTS", "FOLDER", "scene", "shrink", "worst", "write_block", "write_numbers"]

FOLDER = Path(__file__).resolve().parent
COLOURS, MARGIN = 64, 16

FIGURES: dict[str, Callable[[Path | None], list[str]]] = {
    work.__name__: work for work in (fig01, fig02, fig03, fig04, fig06, fig07, fig08, ladder, fig09, fig10)
}


def shrink(path: Path) -> None:
    """Cut the white off the edges of a PNG and bring it down to few colours, in place."""
    with Image.open(path) as picture:
        plain = picture.convert("RGB")
    drawn = ImageChops.difference(plain, Image.new("RGB", plain.size, "white")).getbbox()
    left, top, right, bottom = drawn or (0, 0, *plain.size)
    right, bottom = min(right + MARGIN, plain.width), min(bottom + MARGIN, plain.height)
    plain = plain.crop((max(left - MARGIN, 0), max(top - MARGIN, 0), right, bottom))
    buffer = BytesIO()
    flat = plain.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    flat.save(buffer, format="PNG", optimize=True)
    with open_to_write(path) as stream:
        stream.write(buffer.getvalue())


def write_block(name: str, text: str) -> None:
    """Put text between its markers, in whichever pages have them; an error if none has."""
    block = re.compile(rf"(<!-- numbers: {re.escape(name)} -->\n).*?(<!-- /numbers -->)", re.DOTALL)
    pages = [page for page in sorted(FOLDER.glob("*.md")) if block.search(page.read_text(encoding="utf-8"))]
    if not pages:
        raise SystemExit(f"no page has markers for `{name}`")
    for page in pages:
        old = page.read_text(encoding="utf-8")
        page.write_text(block.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", old), encoding="utf-8")


def write_numbers(name: str, lines: list[str]) -> None:
    """Put a figure's numbers between its markers."""
    write_block(name, "\n".join(f"- {line}" for line in lines))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", metavar="NAME", choices=sorted(FIGURES))
    options.add_argument("--print", action="store_true", help="leave the pages as they are")
    chosen = options.parse_args()
    (FOLDER / "pictures").mkdir(exist_ok=True)
    for name in chosen.only or FIGURES:
        path = FOLDER / "pictures" / f"{name}.png"
        lines = FIGURES[name](path)
        shrink(path)
        print(f"{name}: {path.stat().st_size / 1000:.0f} kB", *lines, sep="\n  ")
        if not chosen.print:
            write_numbers(name, lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
