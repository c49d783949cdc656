"""Runs the twelve configurations of [Lommers13], draws them, and writes their tables into the page.

    python docs/papers/figures_lommers13.py [--print]

Tables stand in the page between `<!-- numbers: NAME -->` and `<!-- /numbers -->`.
"""

from __future__ import annotations

import argparse
import re

from figures import FOLDER, shrink

from understudy.papers import Table, paper

PAGE = FOLDER / "lommers13.md"
NAMES = ("left", "result", "unsolved")
"""What the tables are called in the page, in the order in which the paper gives them."""


def write_table(name: str, table: Table) -> None:
    """Put a table between its markers; an error if the page has none."""
    block = re.compile(rf"(<!-- numbers: {name} -->\n).*?(<!-- /numbers -->)", re.DOTALL)
    text = PAGE.read_text(encoding="utf-8")
    if not block.search(text):
        raise SystemExit(f"{PAGE.name}: no markers for `{name}`")
    PAGE.write_text(block.sub(lambda found: f"{found[1]}\n{table.markdown()}\n\n{found[2]}", text), encoding="utf-8")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--print", action="store_true", help="leave the page as it is")
    chosen = options.parse_args()
    folder = FOLDER / "pictures"
    folder.mkdir(exist_ok=True)
    (experiment,) = paper("lommers13").experiments
    found = experiment.run(folder, print)
    for picture in found.pictures:
        shrink(picture)
    for name, table in zip(NAMES, found.tables, strict=True):
        print(table.text())
        if not chosen.print:
            write_table(name, table)
    for sentence in found.worse:
        print(f"worse than the thesis: {sentence}")
    return 1 if found.worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
