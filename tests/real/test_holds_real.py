"""Holds within reach are met with automatic keys, or a dense solve misses them too [Gleicher98, sec. 3.6]."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from papers.base import capture

from understudy.base.quaternion import Array
from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.figure.measures import chain_length
from understudy.figure.motion import Motion
from understudy.retarget.plan import Assignment, Options, plan

PARTS = {"13_29": slice(3900, 4200), "02_01": slice(0, 300), "69_70": slice(0, 300), "60_10": slice(0, 300)}
"""Squats, a walk, a walk up to an object, and a dance with turns; frames at 120 fps."""


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


@pytest.mark.parametrize("name", PARTS)
def test_holds_within_reach_are_met(data: Path, name: str) -> None:
    motion = capture(data, name)[PARTS[name]].resampled(30.0)
    rng = np.random.default_rng(int(name.replace("_", "")))
    for _ in range(5):
        point, place, start, end = draw_hold(motion, rng)
        hold = Place(point=point, target=place, start=start, end=end, name="hold")
        away = strayed(motion, hold, None)
        # A key at every frame is the densest solve there is: what it meets, automatic keys must meet too.
        assert away < 1e-3 or strayed(motion, hold, 1.0 / 30.0) > 1e-3
