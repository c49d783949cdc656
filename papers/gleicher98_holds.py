"""[Gleicher98, sec. 3.6, step 5]: holds within reach are met by automatic keys, or a dense solve misses them too."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from papers.base import Cell, Findings, Fresh, Table, Tell, collected
from understudy.base.quaternion import Array
from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.figure.measures import chain_length
from understudy.figure.motion import Motion
from understudy.retarget.plan import Assignment, Options, plan

FPS = 30.0
"""Frames per second of the motions."""

PARTS: dict[str, tuple[str, slice]] = {
    "14_06": ("squat", slice(1000, 1330)),
    "13_30": ("squat", slice(1440, 1740)),
    "16_47": ("walk", slice(0, 300)),
    "69_13": ("turn", slice(0, 300)),
    "14_14": ("squat", slice(1000, 1360)),
    "22_14": ("squat", slice(200, 560)),
    "23_14": ("squat", slice(200, 560)),
    "05_20": ("dance", slice(0, 360)),
    "105_34": ("walk", slice(0, 300)),
    "37_01": ("walk", slice(0, 300)),
    "69_16": ("turn", slice(0, 360)),
    "69_17": ("turn", slice(0, 360)),
}
"""Clips on which nothing was developed; frames at 120 fps. The last eight were added when all others were met."""

COUNT, SEED = 5, 98
"""Holds of each clip, and the seed that draws them."""

MET_METRES = 1e-3
"""A hold that is missed by less is met."""


def draw_hold(motion: Motion, rng: np.random.Generator) -> tuple[str, Array, float, float]:
    """A hand, a place within 90 % of the arm's reach of the shoulder all along, and the seconds of a hold there."""
    side = str(rng.choice(["Left", "Right"]))
    shoulder, hand = (motion.skeleton.joint(f"{side}{part}") for part in ("Arm", "Hand"))
    reach, path = chain_length(motion.skeleton, shoulder, hand), fk(motion).positions[:, shoulder]
    while True:
        frames = int(rng.integers(8, motion.num_frames - 20)) + np.arange(int(rng.integers(4, 16)))
        direction = rng.normal(size=3)
        place = path[frames].mean(axis=0) + rng.uniform(0.4, 0.9) * reach * direction / np.linalg.norm(direction)
        distances = np.linalg.norm(path[frames] - place, axis=-1)
        if 0.25 * reach <= distances.min() and distances.max() <= 0.9 * reach:
            return f"{side}Hand", place, frames[0] / motion.fps, frames[-1] / motion.fps


def strayed(motion: Motion, hold: Place, spacing: float | None) -> float:
    """Metres by which a hold is missed, on the same body, with keys so many seconds apart."""
    options = Options(spacing=spacing, touch=False)
    solution = plan([Assignment(motion=motion, target=motion.skeleton)], constraints=[hold], options=options).solve()
    return next(o.worst for o in solution.outcomes if o.constraint.name == "hold")


def drawn_holds(name: str, motion: Motion, rng: np.random.Generator) -> list[tuple[Cell, ...]]:
    """Rows of random holds on a motion: how far each is missed, and by a dense solve if it is missed."""
    rows: list[tuple[Cell, ...]] = []
    for _ in range(COUNT):
        point, place, start, end = draw_hold(motion, rng)
        hold = Place(point=point, target=place, start=start, end=end, name="hold")
        away = strayed(motion, hold, None)
        # A key at every frame is the densest solve there is: what it meets, automatic keys must meet too.
        dense = strayed(motion, hold, 1.0 / motion.fps) if away > MET_METRES else None
        met = "met" if away <= MET_METRES else "missed" if (dense or 0.0) <= MET_METRES else "impossible"
        rows.append((name, point, f"{start:.2f}-{end:.2f}", 1e3 * away, None if dense is None else 1e3 * dense, met))
    return rows


def holds(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    """Random holds on squats, walks, turns and a dance."""
    rng = np.random.default_rng(SEED)
    rows = []
    for name, (kind, part) in PARTS.items():
        tell(f"holds during {name}")
        rows += drawn_holds(f"{name} ({kind})", collected(collection, name)[part].resampled(FPS), rng)
    head = ("clip", "hand", "seconds", "off (mm)", "off by a key at every frame (mm)", "hold")
    title = f"Section 3.6: {len(rows)} random holds within 90% of reach, seed {SEED}"
    return Findings(tables=(Table(title=title, head=head, rows=tuple(rows)),))


FRESH = (Fresh(name="holds", about="Random holds within reach", clips=tuple(PARTS), run=holds),)
