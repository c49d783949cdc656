"""Runs what the papers' pages show as tables, on samples and on captures, and writes them into the pages.

    python docs/papers/tables.py [--data FOLDER] [--only NAME ...] [--print]

A table stands between `<!-- numbers: PAPER.EXPERIMENT -->` and `<!-- /numbers -->`. Without a folder of captured
motion, tables of captures stay as they are, and so do those whose files are not in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from figures import FOLDER, shrink, write_block
from papers import Findings, papers

ON_SAMPLES = ("gleicher98.solvers", "gleicher98.solvers_dance", "vanderhyde03.handhold", "analogies.seven")
"""What is shown of the experiments on samples as tables; Lommers13 has a script of its own."""


def experiments(data: Path | None, only: list[str] | None) -> Iterator[tuple[str, Findings]]:
    """What is chosen, by the name of its block, with what came of it."""
    pictures = FOLDER / "pictures"
    for paper in papers().values():
        for experiment in paper.experiments:
            name = f"{paper.name}.{experiment.name}"
            if name in (only or ON_SAMPLES):
                yield name, experiment.run(pictures, print)
        for capture in paper.captures if data is not None else ():
            assert data is not None
            name, missing = f"{paper.name}.{capture.name}", capture.missing(data)
            if only and name not in only:
                continue
            if missing:
                print(f"{name}: skipped, there is no {', '.join(missing)}")
            else:
                yield name, capture.run(data, pictures, print)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, metavar="FOLDER", help="captured motion")
    options.add_argument("--only", nargs="+", metavar="NAME")
    options.add_argument("--print", action="store_true", help="leave the pages as they are")
    chosen = options.parse_args()
    for name, found in experiments(chosen.data, chosen.only):
        for picture in found.pictures:
            shrink(picture)
        for table in found.tables:
            print(table.text())
        if not chosen.print:
            write_block(name, "\n\n".join(f"{table.title}:\n\n{table.markdown()}" for table in found.tables))
        for sentence in found.worse:
            print(f"worse than the paper: {sentence}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
