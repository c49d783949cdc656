"""Draws our counterpart of [Gleicher98, fig. 11], the soda can that walks, skips and runs, and writes its numbers.

    python docs/papers/figures_can.py [--print]

The can is drawn transparently around the human of its proportions that drives it. Numbers stand in the page between
`<!-- numbers: fig11 -->` and `<!-- /numbers -->`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from figures import FOLDER, shrink, write_numbers
from papers.gleicher98_figures import GAITS, fig11


def make_fig11(path: Path) -> list[str]:
    """Draw the figure and say its numbers."""
    parts = {gait: path.with_stem(f"{path.stem}_{gait}") for gait in GAITS}
    lines = [line for gait, part in parts.items() for line in fig11(gait)(part)]
    stack(list(parts.values()), path)
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
