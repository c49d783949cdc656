"""Retargets a matrix of pairs, or clips of a collection, and writes their quality into docs/quality.md.

    python benchmarks/quality.py [--judge FOLDER] [--matrix FILE] [--only TEXT]
    python benchmarks/quality.py --collection FOLDER --targets A B [--count 300] [--seed N] [-o FOLDER]

The pairs of the matrix are measured by the package's own metrics and by the judge, a program outside of the repository:
a folder with `judge.py` and `matrix.tsv`, named by --judge or UNDERSTUDY_JUDGE, or `judge` beside the folder of data,
which UNDERSTUDY_DATA names. With --collection, clips are drawn at random from all BVH files of a folder and cut to
their first seconds; the judge is used if it is at hand. Pictures of the worst ten go into the output folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from quality_judge import Judge, data_folder, find_judge
from quality_page import COLLECTION, MATRIX, NUM_WORST, section, with_section
from quality_pairs import Pair, Row, draw_pairs, measure_pairs, read_matrix
from quality_pictures import draw_pair

from understudy.base.errors import OptionError, UnderstudyError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "quality.md"

MAX_SECONDS = 20.0
"""Clips of a collection are cut to this length."""

LIMIT_SECONDS = 300.0
"""A pair that takes longer is given up."""

ROW_KEYS = ("failure", "verdict", "verdicts", "report", "own", "judged", "carried", "not_judged", "seconds")


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--judge", metavar="FOLDER", help="folder with judge.py [UNDERSTUDY_JUDGE]")
    options.add_argument("--matrix", type=Path, metavar="FILE", help="pairs to run [matrix.tsv of the judge]")
    options.add_argument("--only", default="", metavar="TEXT", help="only pairs with this in their names")
    options.add_argument("--collection", type=Path, metavar="FOLDER", help="draw clips of this folder instead")
    options.add_argument("--targets", nargs="+", metavar="TARGET", help="files, samples, or scales such as legs=1.3")
    options.add_argument("--count", type=int, default=300, help="clips to draw [300]")
    options.add_argument("--seed", type=int, default=0, help="which clips are drawn [0]")
    options.add_argument("--max-seconds", type=float, default=MAX_SECONDS, help="cut clips to this length [20]")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="[one for each core]")
    options.add_argument("--resume", action="store_true", help="keep the rows of an unfinished run of the same code")
    options.add_argument("--page", type=Path, default=PAGE, help="the page to write [docs/quality.md]")
    options.add_argument("-o", "--output", type=Path, default=Path("out/quality"), help="rows, pictures [out/quality]")
    return options


def measure_all(pairs: Sequence[Pair], judge: Judge | None, given: argparse.Namespace, file: Path) -> list[Row]:
    """The rows of all pairs, with a line printed for each; each is written to the file as soon as it is measured."""
    bounds = {} if judge is None else judge.bounds
    known = read_rows(file, pairs) if given.resume else {}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(to_line(row) for row in known.values()), encoding="utf-8")
    left = [pair for pair in pairs if pair not in known]
    for row in measure_pairs(left, judge, processes=given.processes, limit=LIMIT_SECONDS):
        known[row.pair] = row
        with file.open("a", encoding="utf-8") as stream:
            stream.write(to_line(row))
        beyond = ", ".join(f"{name} {(row.judged or {})[name]:.3g}" for name in row.beyond(bounds))
        words = f"no result: {row.failure}" if row.failure else f"{row.verdict}; {beyond or row.not_judged or 'clean'}"
        print(f"{len(known)}/{len(pairs)} {row.pair.name}: {words}", flush=True)
    return [known[pair] for pair in pairs]


def to_line(row: Row) -> str:
    """A row as a line of JSON."""
    return json.dumps({"pair": str(row.pair), **{key: getattr(row, key) for key in ROW_KEYS}}) + "\n"


def read_rows(file: Path, pairs: Sequence[Pair]) -> dict[Pair, Row]:
    """The rows of a file that are of some pairs."""
    by_text = {str(pair): pair for pair in pairs}
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    kept = [data for data in found if data["pair"] in by_text]
    return {by_text[data["pair"]]: Row(**{**data, "pair": by_text[data["pair"]]}) for data in kept}


def run_matrix(given: argparse.Namespace, judge: Judge | None) -> None:
    """Measure the matrix and write its section."""
    data, matrix = data_folder(), given.matrix or (judge and judge.matrix)
    if data is None:
        raise OptionError("There is no folder of captures", hint="UNDERSTUDY_DATA names one")
    if matrix is None or not matrix.is_file():
        raise OptionError("There is no matrix of pairs", hint="UNDERSTUDY_JUDGE names the judge's folder, or --matrix")
    pairs = [pair for pair in read_matrix(matrix, data) if given.only in pair.name]
    bounds = {} if judge is None else judge.bounds
    done = measure_all(pairs, judge, given, given.output / "matrix.jsonl")
    if given.only:
        print("a part of the matrix: the page is left as it is")
        return
    intro = f"The {len(done)} pairs of the judge's matrix: captures onto bodies of the same and of other structures."
    given.page.write_text(with_section(given.page, MATRIX, section(done, bounds, intro)), encoding="utf-8")


def run_collection(given: argparse.Namespace, judge: Judge | None) -> None:
    """Measure clips of a collection, write the section, and draw the worst."""
    if not given.targets:
        raise OptionError("A collection needs bodies", hint="--targets names files, samples or scales")
    pairs = draw_pairs(given.collection, given.targets, given.count, given.seed, given.max_seconds)
    bounds = {} if judge is None else judge.bounds
    done = measure_all(pairs, judge, given, given.output / "collection.jsonl")
    targets = " and ".join(f"`{pair.body}`" for pair in pairs[: len(given.targets)])
    intro = (
        f"{len(pairs) // len(given.targets)} clips drawn at random (seed {given.seed}) from the collection "
        f"`{given.collection.resolve().name}`, cut to their first {given.max_seconds:g} s, each onto {targets}. Limbs "
        "inside the body are measured without the skin."
    )
    text = section(done, bounds, intro, worst_only=True)
    given.page.write_text(with_section(given.page, COLLECTION, text), encoding="utf-8")
    worst = sorted((row for row in done if not row.failure), key=lambda row: -row.excess(bounds))[:NUM_WORST]
    for number, row in enumerate(worst, 1):
        print(*draw_pair(row.pair, given.output, number), sep="\n", flush=True)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when the page is written, whatever the figures are."""
    given = parser().parse_args(arguments)
    try:
        judge = find_judge(given.judge)
        (run_matrix if given.collection is None else run_collection)(given, judge)
    except UnderstudyError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(run())
