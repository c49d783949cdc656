"""Holds within reach are met with automatic keys, or a dense solve misses them too [Gleicher98, sec. 3.6]."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from papers.base import capture
from papers.gleicher98_holds import draw_hold, strayed

from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.retarget.plan import Assignment, Options, plan

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


def test_a_place_of_the_head_gets_denser_keys_around_it(data: Path) -> None:
    """Even keys leave the head of a squat 2.5 mm off its place; keys twice as dense around that time meet it, as a
    solve that has them everywhere does, and the solution says where they are."""
    motion = capture(data, "13_29")[PARTS["13_29"]].resampled(30.0)
    head = fk(motion).positions[46:51, motion.skeleton.joint("Head")].mean(axis=0)
    hold = Place(point="Head", target=head + np.array([-0.057, -0.011, 0.018]), start=46 / 30, end=51 / 30, name="hold")
    planned = [
        plan([Assignment(motion=motion, target=motion.skeleton)], constraints=[hold], options=options)
        for options in (Options(touch=False), Options(touch=False, spacing=4 / 30))
    ]
    uneven, dense = (each.solve() for each in planned)
    assert not uneven.unmet
    assert not dense.unmet
    words = r"Keys of the whole body are every 267 ms, and every 133 ms from (\S+) to (\S+) s, "
    found = re.fullmatch(words + r"where even keys leave constraints unmet\.", uneven.keys)
    assert found is not None
    assert float(found[1]) < hold.start
    assert hold.end < float(found[2])
    assert uneven.report().splitlines()[-1].strip() == uneven.keys
