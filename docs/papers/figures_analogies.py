"""Draws our counterparts of the figures of [Analogies]: the seven results, and what matched what.

    python docs/papers/figures_analogies.py [--only child dog ...]

Everything is made from our own samples, by the cases of `benchmarks/analogy_cases.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

import analogy_cases as cases  # noqa: E402

from understudy.motion import Motion  # noqa: E402
from understudy.picture import draw  # noqa: E402
from understudy.picture.markers import draw_markers  # noqa: E402

PICTURES = HERE / "pictures"
STRIDE = slice(0, 34)
"""A stride of the march, in frames."""


def strips(name: str, rows: dict[str, Motion], frames: slice = STRIDE) -> None:
    """Filmstrips under each other, from the side."""
    draw(
        list(rows.values()), PICTURES / f"analogies_{name}.png", labels=list(rows), frames=frames, views="side",
        style="filmstrip", dots_per_inch=100.0,
    )  # fmt: skip


def child() -> None:
    march = cases.scene("march").motion
    strips(
        "child",
        {
            "adult marches": march,
            "child, no poses": cases.child_march_plain().motion,
            "child, poses at frames 44 and 80": cases.child_march().motion,
        },
        slice(34, 68),
    )


def dog() -> None:
    strips(
        "dog",
        {
            "dog walks (example)": cases.scene("dog_walk").motion,
            "dog marches": cases.dog_march().motion,
            "dog marches, pose at frame 10": cases.dog_march_upright().motion,
        },
    )


def sneak() -> None:
    rows = {"adult sneaks": cases.scene("sneak", 7.0).motion, "dog sneaks, crouch at frame 0": cases.dog_sneak().motion}
    strips("sneak", rows, slice(0, 72))


def spider() -> None:
    rows = {"spider walks, pairs by hand": cases.spider_walk().motion, "spider marches": cases.spider_march().motion}
    strips("spider", rows)


def hand() -> None:
    strips(
        "hand",
        {
            "dog walks (its own)": cases.scene("dog_walk").motion,
            "by example": cases.dog_walk_by_example().motion,
            "by hand": cases.dog_walk_by_hand().motion,
        },
    )


def markers() -> None:
    found = cases.dog_march()
    assert found.a is not None
    assert found.b is not None
    draw_markers(
        (found.a.motion, found.b.motion), (found.new.markers, found.markers), found.attempt.matches,
        PICTURES / "analogies_markers.png", dots_per_inch=90.0,
    )  # fmt: skip


FIGURES: dict[str, Callable[[], None]] = {
    "child": child, "dog": dog, "sneak": sneak, "spider": spider, "hand": hand, "markers": markers,
}  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES))
    for name in options.parse_args().only:
        FIGURES[name]()


if __name__ == "__main__":
    main()
