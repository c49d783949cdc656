"""Draws our counterparts of the figures of [Analogies]: the seven results, and what matched what.

    python docs/papers/figures_analogies.py [--only child dog ...]

Everything is made from our own samples, by `understudy.papers.analogies`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from understudy.papers.analogies import FIGURES

PICTURES = Path(__file__).resolve().parent / "pictures"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES))
    for name in options.parse_args().only:
        FIGURES[name](PICTURES)


if __name__ == "__main__":
    main()
