"""Motion analogies [Analogies, sec. 6]: the seven results, from one example pair or from marker pairs given by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from papers import analogies_cases as cases
from papers.analogies_captured import CAPTURES, HEAD, result_row, strips, too_slow
from papers.analogies_variety import FRESH
from papers.base import Experiment, Findings, Paper, Table, Tell
from understudy.show.markers import draw_markers


def child(folder: Path) -> Path:
    """An adult's march by a child, with and without poses."""
    march = cases.scene("march").motion
    return strips(
        folder,
        "child",
        {
            "adult marches": march,
            "child, no poses": cases.child_march_plain().motion,
            "child, poses at frames 44 and 80": cases.child_march().motion,
        },
        slice(34, 68),
    )


def dog(folder: Path) -> Path:
    """A dog marches, on four feet and on two."""
    return strips(
        folder,
        "dog",
        {
            "dog walks (example)": cases.scene("dog_walk").motion,
            "dog marches": cases.dog_march().motion,
            "dog marches, pose at frame 10": cases.dog_march_upright().motion,
        },
    )


def sneak(folder: Path) -> Path:
    """A dog sneaks."""
    rows = {"adult sneaks": cases.scene("sneak", 7.0).motion, "dog sneaks, crouch at frame 0": cases.dog_sneak().motion}
    return strips(folder, "sneak", rows, slice(0, 72))


def spider(folder: Path) -> Path:
    """A spider walks, by pairs given by hand, and marches by that example."""
    rows = {"spider walks, pairs by hand": cases.spider_walk().motion, "spider marches": cases.spider_march().motion}
    return strips(folder, "spider", rows)


def hand(folder: Path) -> Path:
    """A dog's walk by example, and by pairs given by hand."""
    return strips(
        folder,
        "hand",
        {
            "dog walks (its own)": cases.scene("dog_walk").motion,
            "by example": cases.dog_walk_by_example().motion,
            "by hand": cases.dog_walk_by_hand().motion,
        },
    )


def markers(folder: Path) -> Path:
    """The matched markers of a human and a dog."""
    result = cases.dog_march()
    assert result.a is not None
    assert result.b is not None
    path = folder / "analogies_markers.png"
    draw_markers(
        (result.a.motion, result.b.motion), (result.new.markers, result.markers), result.attempt.matches,
        path, dots_per_inch=90.0,
    )  # fmt: skip
    return path


FIGURES: dict[str, Callable[[Path], Path]] = {
    "child": child, "dog": dog, "sneak": sneak, "spider": spider, "hand": hand, "markers": markers,
}  # fmt: skip
"""Functions that draw a picture into a folder."""


def _run(folder: Path | None, tell: Tell) -> Findings:
    rows = []
    for name, make in cases.SEVEN.items():
        tell(name)
        rows.append(result_row(name, make()))
    title = "The seven results of section 6; the paper's solver took up to a minute each"
    table = Table(title=title, head=HEAD, rows=tuple(rows))
    pictures = () if folder is None else tuple(make(folder) for make in FIGURES.values())
    return Findings(tables=(table,), pictures=pictures, worse=too_slow(table))


PAPER = Paper(
    name="analogies",
    title="Motion analogies: automatic motion transfer to different morphologies",
    experiments=(Experiment(name="seven", about="The seven results of section 6", run=_run),),
    captures=CAPTURES,
    fresh=FRESH,
)
