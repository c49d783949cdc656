"""[Analogies] on captures: CMU walks, a march and a sneak, and a real dog's walk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from papers.base import DOG, Capture, Cell, Findings, Table, Tell, capture, cmu, moving
from understudy import samples
from understudy.analogy.make import analogy
from understudy.analogy.preparation import Settings
from understudy.analogy.result import Analogy
from understudy.figure.motion import Motion
from understudy.show.picture import draw

MAX_SECONDS = 60.0
"""Longest time of the paper's solver for a result, seconds."""

STRIDE = slice(0, 34)
"""A stride of the march, in frames."""

HEAD = (
    "result", "correlation", "source's period (s)", "period (s)", "lift of the feet (cm)", "pose (deg)",
    "contacts before (mm)", "contacts after (mm)", "score", "seconds",
)  # fmt: skip


def result_row(name: str, result: Analogy) -> tuple[Cell, ...]:
    """The table row of a result."""
    measured = result.measures
    return (
        name, float(measured["correlation"]), float(measured["period_source"]), float(measured["period_result"]),
        100.0 * float(measured["lift"]), float(np.degrees(measured["pose_error"])),
        1e3 * float(measured["contacts"]["before"]), 1e3 * float(measured["contacts"]["after"]), float(result.score),
        result.seconds,
    )  # fmt: skip


def too_slow(table: Table) -> tuple[str, ...]:
    """Results that took longer than the paper's did."""
    return tuple(f"{row[0]}: took {row[-1]:.0f} s" for row in table.rows if float(row[-1] or 0.0) > MAX_SECONDS)


def strips(folder: Path, name: str, rows: dict[str, Motion], frames: slice = STRIDE) -> Path:
    """Draw filmstrips one below the other, from the side; return the picture's path."""
    path = folder / f"analogies_{name}.png"
    draw(
        list(rows.values()), path, labels=list(rows), frames=frames, views="side",
        style="filmstrip", dots_per_inch=100.0,
    )  # fmt: skip
    return path


TAILS = ("b_Tail001", "Dog_LeftTail001")
"""The rig's two tails: their wagging is not part of the walk."""

ANKLES = ("LeftFoot", "RightFoot")
"""In 138_01 the ankles flip by up to 167 degrees from one frame to the next: a fault of the capture."""

WALKING_FRAMES = slice(30, 120)
"""Frames of the dog's clip in which it walks: it stands in the first second and runs after four."""

LENGTH = 3.9
"""Length of the samples that are examples, seconds."""


def human(data: Path, name: str, first: int = 0) -> Motion:
    """A clip at 30 fps, from a frame on (counted at the original 120 fps)."""
    return capture(data, name)[first:].resampled(30.0)


def dog(data: Path) -> Motion:
    """The captured dog while it walks."""
    return moving(data / DOG)[WALKING_FRAMES]


def dog_march(data: Path) -> Analogy:
    return analogy(
        human(data, "02_01"), dog(data), human(data, "138_01", 139), settings=Settings(without=(*TAILS, *ANKLES))
    )


def dog_sneak(data: Path) -> Analogy:
    """The sneak turns by sixty degrees on its way."""
    return analogy(human(data, "02_01"), dog(data), human(data, "120_08", 99), settings=Settings(without=TAILS))


def sample_march(name: str) -> Callable[[Path], Analogy]:
    """A captured human's march by a sample body, whose walk is the example."""

    def make(data: Path) -> Analogy:
        example = samples.motion(name, fps=30.0, seconds=LENGTH).motion
        new = human(data, "138_01", 139)
        return analogy(human(data, "16_15"), example, new, settings=Settings(without=ANKLES))

    return make


def human_march(data: Path) -> Analogy:
    """Three people of one skeleton and different builds: two walk, the third marches for one of them."""
    a, b, new = human(data, "02_01"), human(data, "16_15")[:86], human(data, "138_01", 139)
    return analogy(a, b, new, settings=Settings(without=ANKLES))


CASES: dict[str, Callable[[Path], Analogy]] = {
    "captured dog march": dog_march,
    "captured dog sneak": dog_sneak,
    "sample dog march": sample_march("dog_walk"),
    "sample spider march": sample_march("spider_walk"),
    "one man's march by another": human_march,
}
"""By name. Examples and new motions are captures, except for the bodies called samples."""


def _run(data: Path, folder: Path | None, tell: Tell) -> Findings:
    rows, pictures = [], []
    for name, make in CASES.items():
        tell(name)
        result = make(data)
        rows.append(result_row(name, result))
        if folder is not None:
            shown = {"human": result.new.motion, name: result.motion}
            pictures.append(strips(folder, name.replace(" ", "_").replace("'s", ""), shown, slice(30, 90)))
    title = "On captures: a dog, CMU walks, a march and a sneak"
    table = Table(title=title, head=HEAD, rows=tuple(rows))
    return Findings(tables=(table,), pictures=tuple(pictures), worse=too_slow(table))


CAPTURES = (
    Capture(
        name="captured",
        about="Analogies of captures",
        files=(DOG, *map(cmu, ("02_01", "16_15", "138_01", "120_08"))),
        run=_run,
    ),
)
"""The experiments on captured motion."""
