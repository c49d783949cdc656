"""Holds within reach are met with automatic keys, or a dense solve misses them too [Gleicher98, sec. 3.6]."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from papers.base import capture
from papers.gleicher98_holds import draw_hold, strayed

from understudy.constraints.place import Place

PARTS = {"13_29": slice(3900, 4200), "02_01": slice(0, 300), "69_70": slice(0, 300), "60_10": slice(0, 300)}
"""Squats, a walk, a walk up to an object, and a dance with turns; frames at 120 fps."""


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
