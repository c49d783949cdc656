"""Runs what the papers' pages show as tables, on samples and on captures, and writes them into the pages.

    python docs/papers/tables.py [--data FOLDER] [--cmu FOLDER] [--only NAME ...] [--print]

A table stands between `<!-- numbers: PAPER.EXPERIMENT -->` and `<!-- /numbers -->`. Without a folder of captured
motion, tables of captures stay as they are, and so do those whose files are not in it. The same is true of the whole
CMU collection (`--cmu`). The table of all claims is written by a run of everything: `--only` leaves it out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from figures import FOLDER, shrink, write_block
from papers import Findings, papers
from papers.claims import claims_table

ON_SAMPLES = (
    "gleicher98.solvers", "gleicher98.solvers_dance", "vanderhyde03.handhold", "vanderhyde03.study", "analogies.seven",
    "lommers13.today",
)  # fmt: skip
"""What is shown of the experiments on samples as tables; twelve rows of Lommers13 have a script of their own."""


def experiments(data: Path | None, collection: Path | None, only: list[str] | None) -> Iterator[tuple[str, Findings]]:
    """What is chosen, by the name of its block, with what came of it."""
    everything = only is None and data is not None and collection is not None
    pictures = FOLDER / "pictures"
    for paper in papers().values():
        for experiment in paper.experiments:
            name = f"{paper.name}.{experiment.name}"
            if everything or name in (only or ON_SAMPLES):
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
        for fresh in paper.fresh if collection is not None else ():
            assert collection is not None
            name, missing = f"{paper.name}.{fresh.name}", fresh.missing(collection, data)
            if only and name not in only:
                continue
            if missing:
                print(f"{name}: skipped, there is no {', '.join(missing[:4])}")
            else:
                yield name, fresh.run(collection, data, pictures, print)


def has_block(name: str) -> bool:
    """Whether a page shows an experiment as a table; figures have a script of their own."""
    marker = f"<!-- numbers: {name} -->"
    return any(marker in page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md"))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, metavar="FOLDER", help="captured motion")
    options.add_argument("--cmu", type=Path, metavar="FOLDER", help="the whole CMU collection")
    options.add_argument("--only", nargs="+", metavar="NAME")
    options.add_argument("--print", action="store_true", help="leave the pages as they are")
    chosen = options.parse_args()
    results: dict[str, Findings] = {}
    for name, found in experiments(chosen.data, chosen.cmu, chosen.only):
        results[name] = found
        for picture in found.pictures:
            shrink(picture)
        for table in found.tables:
            print(table.text())
        if not chosen.print and has_block(name):
            write_block(name, "\n\n".join(f"{table.title}:\n\n{table.markdown()}" for table in found.tables))
        for sentence in found.worse:
            print(f"worse than the paper: {sentence}")
    if not chosen.only and chosen.data is not None and chosen.cmu is not None:
        table = claims_table(results)
        print(table.text())
        if not chosen.print:
            write_block("claims", table.markdown())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
