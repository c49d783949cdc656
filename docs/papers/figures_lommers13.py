"""Runs the twelve configurations of [Lommers13], draws them, and writes their tables into the page.

    python docs/papers/figures_lommers13.py [--print]

Tables stand in the page between `<!-- numbers: NAME -->` and `<!-- /numbers -->`.
"""

from __future__ import annotations

import argparse

from figures import FOLDER, shrink, write_block
from papers import paper

NAMES = ("left", "result", "unsolved")
"""What the tables are called in the page, in the order in which the paper gives them."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--print", action="store_true", help="leave the page as it is")
    chosen = options.parse_args()
    folder = FOLDER / "pictures"
    folder.mkdir(exist_ok=True)
    experiment = paper("lommers13").experiments[0]
    found = experiment.run(folder, print)
    for picture in found.pictures:
        shrink(picture)
    for name, table in zip(NAMES, found.tables, strict=True):
        print(table.text())
        if not chosen.print:
            write_block(name, table.markdown())
    for sentence in found.worse:
        print(f"worse than the thesis: {sentence}")
    return 1 if found.worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
