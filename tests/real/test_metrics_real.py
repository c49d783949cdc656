"""Metrics on captured motion: no capture is called bad against itself, and a retarget beats a copy of its angles."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from understudy import read, samples
from understudy.metrics import Report, Verdict, evaluate
from understudy.motion import Motion
from understudy.pipeline import naive, retarget
from understudy.solvers.ik import Ik

CLIPS = ("02_01", "09_01", "13_11", "16_15", "49_06", "69_70", "120_08")


@cache
def load(folder: Path, name: str) -> Motion:
    """A clip without the T-pose that the conversion put before it, eight seconds at most."""
    motion = read(folder / "cmu_bvh" / f"{name}.bvh").motion
    assert motion is not None
    return motion[1:961]


@cache
def compared(folder: Path, name: str, size: float) -> tuple[Report, Report]:
    """A retarget to a body of another size and a copy of the angles, evaluated."""
    source = load(folder, name)
    target = source.skeleton.scaled(size)
    made = retarget(source, target)
    return evaluate(made.motion, source, outcomes=made.outcomes), evaluate(naive(source, target), source)


@pytest.mark.parametrize("clip", CLIPS)
def test_a_capture_against_itself(data: Path, clip: str) -> None:
    report = evaluate(load(data, clip), load(data, clip))
    assert report.usable
    assert report.verdict is Verdict.GOOD
    assert report["contact_timing"]["recall"] == report["contact_timing"]["precision"] == 1.0


@pytest.mark.parametrize("clip", CLIPS)
def test_a_capture_by_itself_is_not_called_bad(data: Path, clip: str) -> None:
    report = evaluate(load(data, clip))
    assert report.usable
    assert report.verdict is not Verdict.BAD, [m.words for m in report.measurements if m.verdict is Verdict.BAD]


@pytest.mark.parametrize("size", [0.7, 1.3])
@pytest.mark.parametrize("clip", CLIPS)
def test_ours_against_a_copy(data: Path, clip: str, size: float) -> None:
    ours, copied = compared(data, clip, size)
    assert ours.usable
    assert not copied.usable
    assert ours["goal"].verdict is Verdict.GOOD
    for figure in ("mean_speed", "mean_drift", "worst_drift", "sliding_share"):
        assert ours["foot_skate"][figure] < 0.1 * copied["foot_skate"][figure], figure
    off = [max(r["floor"]["mean_float"], r["floor"]["worst_depth"]) for r in (ours, copied)]
    assert off[0] < 0.2 * off[1]
    assert ours["contact_timing"]["kept_2cm"] == 1.0
    assert ours["contact_timing"]["recall"] > copied["contact_timing"]["recall"]
    assert ours["similarity"].verdict is Verdict.GOOD


def test_per_frame_solving_shows_its_faults(data: Path) -> None:
    """[Gleicher98, fig. 3]: what each frame is solved for alone is met, and shakes."""
    source = load(data, "02_01")
    target = source.skeleton.scaled(np.where([("Leg" in n) or ("Foot" in n) for n in source.skeleton.names], 0.8, 1.0))
    whole, single = (evaluate(retarget(source, target, solver=s).motion, source) for s in (None, Ik()))
    assert whole["smoothness"]["jerk_rms_ratio"] < 1.25 < 2.0 < single["smoothness"]["jerk_rms_ratio"]
    assert whole["smoothness"]["jerk_max_ratio"] < single["smoothness"]["jerk_max_ratio"]
    assert whole["smoothness"]["shake"] < 0.5 * single["smoothness"]["shake"]
    assert single["smoothness"].verdict is Verdict.BAD


def test_a_walk_on_another_structure(data: Path) -> None:
    source = load(data, "02_01")
    report = evaluate(retarget(source, samples.character("other")).motion, source)
    assert report.usable
    assert report["foot_skate"]["worst_drift"] < 2e-3
    assert report["similarity"].verdict is Verdict.GOOD
