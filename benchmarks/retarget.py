"""Retargeting: speed against real time, growth with length, and the solvers side by side.

    python benchmarks/retarget.py [--only speed|growth|solvers ...] [--json]

On captured motions of the CMU collection where they are at hand (02_01, a walk of 3 s, and 13_29, squats of 38 s), and
on samples always; all at 120 Hz, on one core. Times are the least of several in one run: other work on the machine
changes them, and changes ratios less. What was asked for and not reached is said at the end.
"""

from __future__ import annotations

import argparse
import json
import sys

from retarget_cases import Table, data_folder, load

PIECES = ("speed", "growth", "solvers")


def pieces(chosen: list[str]) -> list[Table]:
    """The tables of some pieces, printed as they come."""
    import retarget_growth
    import retarget_solvers
    import retarget_speed

    found: list[Table] = []
    for name, module in zip(PIECES, (retarget_speed, retarget_growth, retarget_solvers), strict=True):
        found += module.tables() if name in chosen else []
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=PIECES, default=list(PIECES))
    options.add_argument("--json", action="store_true", help="print the tables as JSON")
    chosen = options.parse_args()
    before = load()
    found = pieces(chosen.only)
    if chosen.json:
        print(json.dumps([{"title": t.title, "columns": t.columns, "rows": t.rows} for t in found], indent=2))
    else:
        print("captures and samples" if data_folder() else "samples alone: there are no captures", end="; ")
        print(f"{before} before, {load()} after\n")
        print("\n\n".join(table.text() for table in found))
    missed = [each for table in found for each in table.missed]
    print("\nnot reached:" if missed else "\nall wanted figures reached", *missed, sep="\n  ", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
