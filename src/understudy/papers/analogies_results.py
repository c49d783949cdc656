"""Results of [Analogies] as rows of a table and as filmstrips."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy.analogies import Analogy
from understudy.motion import Motion
from understudy.papers.base import Cell, Table
from understudy.picture import draw

MINUTE = 60.0
"""Seconds that the paper's solver needed at most for a result."""
STRIDE = slice(0, 34)
"""A stride of the march, in frames."""
HEAD = (
    "result", "correlation", "source's period (s)", "period (s)", "lift of the feet (cm)", "pose (deg)",
    "contacts before (mm)", "contacts after (mm)", "score", "seconds",
)  # fmt: skip


def result_row(name: str, found: Analogy) -> tuple[Cell, ...]:
    """A result's figures."""
    measured = found.measures
    return (
        name, float(measured["correlation"]), float(measured["period_source"]), float(measured["period_result"]),
        100.0 * float(measured["lift"]), float(np.degrees(measured["pose_error"])),
        1e3 * float(measured["contacts"]["before"]), 1e3 * float(measured["contacts"]["after"]), float(found.score),
        found.seconds,
    )  # fmt: skip


def too_slow(table: Table) -> tuple[str, ...]:
    """Results that took longer than the paper's did."""
    return tuple(f"{row[0]}: took {row[-1]:.0f} s" for row in table.rows if float(row[-1] or 0.0) > MINUTE)


def strips(folder: Path, name: str, rows: dict[str, Motion], frames: slice = STRIDE) -> Path:
    """Filmstrips under each other, from the side; returns the picture."""
    path = folder / f"analogies_{name}.png"
    draw(
        list(rows.values()), path, labels=list(rows), frames=frames, views="side",
        style="filmstrip", dots_per_inch=100.0,
    )  # fmt: skip
    return path
