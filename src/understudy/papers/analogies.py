"""Motion analogies [Analogies, sec. 6]: the seven results, from one example pair or from marker pairs given by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from understudy.motion import Motion
from understudy.papers import analogies_cases as cases
from understudy.papers.base import Cell, Experiment, Findings, Paper, Table, Tell
from understudy.picture import draw
from understudy.picture.markers import draw_markers

MINUTE = 60.0
"""Seconds that the paper's solver needed at most for a result."""
STRIDE = slice(0, 34)
"""A stride of the march, in frames."""


def strips(folder: Path, name: str, rows: dict[str, Motion], frames: slice = STRIDE) -> Path:
    """Filmstrips under each other, from the side; returns the picture."""
    path = folder / f"analogies_{name}.png"
    draw(
        list(rows.values()), path, labels=list(rows), frames=frames, views="side",
        style="filmstrip", dots_per_inch=100.0,
    )  # fmt: skip
    return path


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
    """What of a human matched what of a dog."""
    found = cases.dog_march()
    assert found.a is not None
    assert found.b is not None
    path = folder / "analogies_markers.png"
    draw_markers(
        (found.a.motion, found.b.motion), (found.new.markers, found.markers), found.attempt.matches,
        path, dots_per_inch=90.0,
    )  # fmt: skip
    return path


FIGURES: dict[str, Callable[[Path], Path]] = {
    "child": child, "dog": dog, "sneak": sneak, "spider": spider, "hand": hand, "markers": markers,
}  # fmt: skip
"""What draws each picture into a folder."""


def _result_row(name: str) -> tuple[Cell, ...]:
    found = cases.SEVEN[name]()
    measured = found.measures
    return (
        name, float(measured["correlation"]), float(measured["period_source"]), float(measured["period_result"]),
        100.0 * float(measured["lift"]), float(np.degrees(measured["pose_error"])),
        1e3 * float(measured["contacts"]["before"]), 1e3 * float(measured["contacts"]["after"]), float(found.score),
        found.seconds,
    )  # fmt: skip


def _run(folder: Path | None, tell: Tell) -> Findings:
    rows = []
    for name in cases.SEVEN:
        tell(name)
        rows.append(_result_row(name))
    head = (
        "result", "correlation", "source's period (s)", "period (s)", "lift of the feet (cm)", "pose (deg)",
        "contacts before (mm)", "contacts after (mm)", "score", "seconds",
    )  # fmt: skip
    title = "The seven results of section 6; the paper's solver took up to a minute each"
    worse = tuple(f"{row[0]}: took {row[-1]:.0f} s" for row in rows if float(row[-1] or 0.0) > MINUTE)
    pictures = () if folder is None else tuple(make(folder) for make in FIGURES.values())
    return Findings(tables=(Table(title=title, head=head, rows=tuple(rows)),), pictures=pictures, worse=worse)


PAPER = Paper(
    name="analogies",
    title="Motion analogies: automatic motion transfer to different morphologies",
    experiments=(Experiment(name="seven", about="The seven results of section 6", run=_run),),
)
