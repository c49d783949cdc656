"""The skip: exact contacts on every build and at every rate, a step and a hop on each foot in turn, sound joints."""

from __future__ import annotations

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import angle_between
from understudy.figure.kinematics import fk, joint_angles
from understudy.samples import Scene
from understudy.samples.skip import PERIOD_SECONDS, skip

BODIES = ("adult", "child", "giant", "stretched")


def slips(sample: Scene) -> float:
    """Metres: how far any contact is from where it should be, at its worst frame."""
    pose, motion = fk(sample.motion), sample.motion
    worst = 0.0
    for contact in sample.contacts:
        assert contact.place is not None
        path = pose.points([contact.point])[contact.frames(motion.fps, motion.num_frames), 0]
        worst = max(worst, float(np.abs(path - contact.place).max(initial=0.0)))
    return worst


def standing(sample: Scene) -> np.ndarray:
    """(F, 2) which of the left and right foot touch the floor."""
    out = np.zeros((sample.motion.num_frames, 2), bool)
    for contact in sample.contacts:
        frames = contact.frames(sample.motion.fps, sample.motion.num_frames)
        out[frames, int(contact.point.name.startswith("Right"))] = True
    return out


@pytest.mark.parametrize("fps", [10.0, 30.0, 59.94, 120.0])
def test_planted_points_do_not_move_and_nothing_sinks(fps):
    sample = samples.motion("skip", fps=fps)
    pose = fk(sample.motion)
    assert len(sample.contacts) > 20
    assert slips(sample) < 1e-9
    assert min(pose.positions[..., 1].min(), pose.ends()[..., 1].min()) > -1e-6


@pytest.mark.parametrize("body", BODIES)
def test_other_builds_skip_as_well(body):
    sample = skip(samples.character(body), 60.0, 9.0)
    pose, limits = fk(sample.motion), sample.motion.skeleton.limits
    assert slips(sample) < 1e-9
    assert min(pose.positions[..., 1].min(), pose.ends()[..., 1].min()) > -1e-6
    bounded = np.isfinite(limits).all(-1)
    middle = np.where(bounded, np.where(bounded[..., None], limits, 0.0).mean(-1), 0.0)
    angles = joint_angles(sample.motion.skeleton, sample.motion.rotations, middle)
    over = np.maximum(angles - limits[..., 1], limits[..., 0] - angles)
    assert np.where(bounded, over, -np.inf).max() < 1e-9


def test_each_foot_steps_then_hops_in_turn():
    """Left step, flight, left landing, right step while the left is still down, flight, right landing, and so on."""
    down = standing(samples.motion("skip", fps=120.0, seconds=8 * PERIOD_SECONDS))
    letters = {(True, False): "L", (False, True): "R", (True, True): "B", (False, False): "-"}
    words = [letters[bool(left), bool(right)] for left, right in down]
    spoken = "".join(word for number, word in enumerate(words) if number == 0 or words[number - 1] != word)
    assert "L-LBR-RBL-LBR-RB" in spoken
    assert 0.22 < np.mean(~down.any(axis=1)) < 0.32
    assert np.mean(down.all(axis=1)) < 0.12


def test_the_body_is_highest_in_flight():
    sample = samples.motion("skip", fps=120.0)
    height, flying = fk(sample.motion).positions[:, 0, 1], ~standing(sample).any(axis=1)
    assert flying[np.argmax(height)]
    assert height[flying].mean() > height[~flying].mean() + 0.03


def test_movement_has_no_jumps_and_does_not_depend_on_rate_or_length():
    fast, slow = samples.motion("skip", fps=120.0).motion, samples.motion("skip", fps=30.0).motion
    pose = fk(fast)
    assert np.linalg.norm(np.diff(pose.positions, n=2, axis=0) * 120.0**2, axis=-1).max() < 120.0
    assert np.degrees(angle_between(fast.rotations[1:], fast.rotations[:-1])).max() < 10.0
    assert np.abs(fast[::4].root - slow.root).max() < 1e-12
    assert angle_between(fast[::4].rotations, slow.rotations).max() < 1e-7
    short = samples.motion("skip", fps=30.0, seconds=1.0).motion
    assert np.abs(slow.root[:31] - short.root).max() < 1e-12
