"""Draws our counterparts of the figures of [Hsieh05] and writes their numbers into the page.

    python docs/papers/figures_hsieh05.py [--print]

Numbers stand in the page between `<!-- numbers: NAME -->` and `<!-- /numbers -->`.
"""

from __future__ import annotations

import argparse

from figures import FOLDER, shrink, write_numbers
from papers.hsieh05 import FIGURES


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--print", action="store_true", help="leave the pages as they are")
    chosen = options.parse_args()
    for name, make in FIGURES.items():
        path = FOLDER / "pictures" / f"{name}.png"
        lines = make(path)
        shrink(path)
        print(f"{name}: {path.stat().st_size / 1000:.0f} kB", *lines, sep="\n  ")
        if not chosen.print:
            write_numbers(name, lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
