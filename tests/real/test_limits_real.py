"""Joint limits on captured people: every clip keeps to the limits that are made for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy import io
from understudy.constraints import ConstraintInput
from understudy.correspondence.limits import human_limits

CLIPS = ("cmu_bvh/02_01.bvh", "cmu_bvh/49_06.bvh", "cmu_bvh/13_29.bvh", "humans/rokoko_jesse_dance.bvh",
         "humans/cmu_11_01_daz.bvh", "humans/makehuman_walk1.bvh")  # fmt: skip


@pytest.mark.parametrize("clip", CLIPS)
def test_a_capture_keeps_to_its_own_limits(data: Path, clip: str) -> None:
    motion = io.read(data / clip).motion
    limits, said = human_limits(motion)
    assert len(limits) >= 16
    for limit in limits:
        turns = motion.rotations[:, [motion.skeleton.joint(str(limit.joint.point))]]
        rows = limit.rows(
            ConstraintInput(times=motion.times, points=np.empty((len(motion), 0, 3)), local_rotations=turns)
        )
        assert rows.values.max() < 0.0, f"{limit.label}: {said}"
    knees = [limit for limit in limits if "Leg" in limit.label and limit.twist is not None and "Up" not in limit.label]
    for knee in knees:
        # A straight leg to a bent one: 145 degrees, wherever the rest pose is, unless the motion bends farther.
        assert np.ptp(np.degrees(knee.twist)) > 144.0


def test_a_walk_is_normal(data: Path) -> None:
    """Hips, knees, shoulders, elbows and back of a normal walk need no widening."""
    _, said = human_limits(io.read(data / "cmu_bvh" / "02_01.bvh").motion)
    assert not [sentence for sentence in said if any(part in sentence for part in ("Leg`", "Arm`", "Spine", "Back"))]
