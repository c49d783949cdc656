"""Posture of trunk and arms in analogies between humans, and bodies that sink into the floor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy.analogy.make import analogy
from understudy.analogy.posture import have_posture, posture_changes, posture_deviations, with_posture
from understudy.analogy.quality import Quality
from understudy.analogy.study import find_course
from understudy.base.quaternion import conjugate, exp, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.samples import character, motion

LEAN = np.radians(30.0)


def turned(level: Motion, part: str, rotation: np.ndarray) -> Motion:
    """A motion in which a part, and all that hangs from it, is turned about an axis of the world at every frame."""
    joint = roles(level.skeleton)[part]
    parent = fk(level).rotations[:, level.skeleton.parents[joint]]
    rotations = level.rotations.copy()
    rotations[:, joint] = multiply(multiply(conjugate(parent), multiply(rotation, parent)), rotations[:, joint])
    return replace(level, rotations=rotations)


def level(given: Motion) -> Motion:
    return find_course(given).off(given)


@pytest.fixture(scope="module")
def walks() -> tuple[Motion, Motion]:
    """A man's walk, and the same on a body half as large."""
    walk = motion("walk", seconds=3.0).motion
    child = walk.skeleton.scaled(0.5)
    return level(walk), level(replace(walk, skeleton=child, root=0.5 * walk.root))


def test_a_stoop_and_raised_arms_are_carried_over(walks: tuple[Motion, Motion]) -> None:
    """A man who leans by 30 degrees and lifts an arm by 60: another does so, too, and his legs stay as they were."""
    walk, small = walks
    new = turned(
        turned(walk, "spine", exp(np.array([LEAN, 0.0, 0.0]))), "left_upper_arm", exp(np.array([-2 * LEAN, 0.0, 0.0]))
    )
    changes = posture_changes(walk, new)
    carried = with_posture(small, small, changes)
    before = posture_deviations((walk, small), (new, small))
    after = posture_deviations((walk, small), (new, carried))
    # The line from hips to neck begins below the joint that leans.
    assert np.radians(24.0) < before[0] < LEAN
    assert max(before) > np.radians(25.0)
    assert max(after) < np.radians(3.0)
    feet = ["LeftFoot", "RightFoot"]
    np.testing.assert_allclose(fk(carried).points(feet), fk(small).points(feet), atol=1e-12)


def test_a_posture_that_does_not_change_is_left_alone(walks: tuple[Motion, Motion]) -> None:
    walk, small = walks
    carried = with_posture(small, small, posture_changes(walk, walk))
    np.testing.assert_allclose(fk(carried).positions, fk(small).positions, atol=1e-9)


def test_a_stooping_walk_of_one_human_stoops_on_another() -> None:
    """The whole way: the trunk leans as the source's, which scores well; on a dog nothing is carried over."""
    walk = motion("walk", seconds=3.0).motion
    child = replace(walk, skeleton=walk.skeleton.scaled(0.6), root=0.6 * walk.root)
    stoops = turned(walk, "spine", exp(np.array([LEAN, 0.0, 0.0])))
    result = analogy(walk, child, stoops)
    ends = [roles(child.skeleton)[part] for part in ("hips", "neck")]
    lines = [np.diff(fk(each).positions[:, ends], axis=1)[:, 0].mean(axis=0) for each in (child, result.motion)]
    leans = [np.arctan2(line[2], line[1]) for line in lines]
    assert leans[1] - leans[0] == pytest.approx(LEAN, abs=np.radians(6.0))
    assert result.quality.posture < np.radians(15.0)
    assert not have_posture(walk.skeleton, character("dog"))


def test_elbows_that_are_hinges_stay_hinges() -> None:
    """Where the posture of forearms is carried over, elbows of the result turn about their own axis only."""
    walk, march = (motion(name, seconds=3.0).motion for name in ("walk", "march"))
    child = character("child")
    child_walk = replace(walk, skeleton=child, root=walk.root * child.offsets[0, 1] / walk.skeleton.offsets[0, 1])
    result = analogy(walk, child_walk, march)
    for side in ("Left", "Right"):
        joint = child.joint(f"{side}ForeArm")
        assert np.ptp(result.motion.rotations[:, joint, 2]) > 0.01
        np.testing.assert_allclose(result.motion.rotations[:, joint][:, [1, 3]], 0.0, atol=1e-6)


def test_what_is_held_otherwise_or_sinks_scores_low() -> None:
    good = Quality(lifts={}, above_hips=-1.0, crouch=0.0, path=1.0, stance=1.0, limits=0.0)
    stiff, deep = replace(good, posture=np.radians(60.0)), replace(good, sunk=0.08)
    for bad, words in ((stiff, "held 60 degrees otherwise"), (deep, "0.08 legs in the floor")):
        assert bad.score < 0.5 * good.score
        assert any(words in fault for fault in bad.faults())
