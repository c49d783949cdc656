"""Beside what one would pick instead: joint copy, IK frame by frame (ours, and mink), NLopt, SLSQP, pinocchio.

    python benchmarks/peers.py [--only bodies|robot|solvers|kinematics ...] [--json]

The same clip, the same target and the same measures for all: a captured walk (CMU 02_01) on a body with legs of 1.3
times the length and on a Unitree G1, where they are at hand; a sample walk and a small robot otherwise. One thread.
The other packages are at their usual settings, which the notes give; those that are not installed are skipped, and a
note says so. Ratios are what is asked for, not times.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from retarget_cases import Table, data_folder, load

PACKAGES = ("mink", "mujoco", "daqp", "pin", "nlopt", "scipy")
"""What is compared with, as it is installed."""
PIECES = ("bodies", "robot", "solvers", "kinematics")


def pieces(chosen: list[str]) -> list[Table]:
    """The tables of some pieces."""
    return [table for name in PIECES if name in chosen for table in import_module(f"peers_{name}").tables()]


def versions() -> str:
    """The packages that are compared with, in a line."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


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
        print("captures" if data_folder() else "samples: there are no captures", end="; ")
        print(f"{before} before, {load()} after; {versions()}\n")
        print("\n\n".join(table.text() for table in found))
    missed = [each for table in found for each in table.missed]
    print("\nnot reached:" if missed else "\nall wanted figures reached", *missed, sep="\n  ", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
