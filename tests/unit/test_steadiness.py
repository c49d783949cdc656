"""The fast part of paths, steady heads, and the shaking that a root shares with standing feet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, angle_between, from_axis_angle, multiply
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.constraints.pose import FixedPose
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles
from understudy.solve.problem import Actor, Problem
from understudy.solve.steadiness import (
    _shares_of_excess,
    fast_part,
    frames_from,
    free_spine,
    head_path,
    shared_shaking,
    steadied,
    steady_head,
    with_steady_heads,
)

FPS = 120.0


def walk() -> Motion:
    return samples.motion("walk", seconds=3.0).motion


def bends(path: Array) -> float:
    """The root mean square of the second differences of a path."""
    return float(np.sqrt(np.mean(np.sum(np.diff(path, 2, axis=0) ** 2, axis=-1))))


def shaking(count: int, seed: int, size: float = 5e-4) -> Array:
    return np.random.default_rng(seed).normal(size=count) * size


def test_fast_part_of_a_line_is_zero_and_of_alternation_all_of_it() -> None:
    line = np.linspace(0.0, 3.0, 60)
    alternation = 0.01 * (-1.0) ** np.arange(60)
    np.testing.assert_allclose(fast_part(line, FPS, 0.05), 0.0, atol=1e-9)
    inner = slice(20, -20)
    np.testing.assert_allclose(fast_part(line + alternation, FPS, 0.05)[inner], alternation[inner], atol=1e-4)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fast_part_of_few_values_is_no_larger_than_they_are(count: int) -> None:
    values = np.arange(1.0, count + 1.0)
    assert np.all(np.abs(fast_part(values, FPS, 0.05)) <= values)


def test_root_shares_the_part_that_follows_the_foot() -> None:
    foot, smooth = shaking(600, 1), 0.02 * np.sin(np.arange(600) / 40.0)
    shared = shared_shaking(smooth + 0.7 * foot, foot[None], FPS)
    assert np.sqrt(np.mean((shared - 0.7 * foot) ** 2)) < 0.15 * np.std(foot)


def test_root_that_does_not_follow_the_foot_never_gets_rougher() -> None:
    for seed in range(5):
        foot, height = shaking(600, seed), shaking(600, seed + 100, 2e-4)
        shared = shared_shaking(height, foot[None], FPS)
        assert np.std(np.diff(height - shared, 2)) <= np.std(np.diff(height, 2))


def shaken_stand() -> tuple[Motion, Array]:
    """A body that stands while its root shakes, and the shaking (F,) metres."""
    motion = rest_motion(walk().skeleton, fps=FPS, num_frames=240)
    shake, root = shaking(motion.num_frames, 3), motion.root.copy()
    root[:, 1] += shake
    return replace(motion, root=root), shake


def test_a_standing_body_loses_its_shaking_only_between_the_times() -> None:
    motion, shake = shaken_stand()
    point = motion.skeleton.names[roles(motion.skeleton)["left_foot"]]
    stands = SamePlace(point=PointRef(point=point), start=0.0, end=motion.duration, slack=1e-3)
    problem = Problem(actors=(Actor(motion=motion),), constraints=(stands,))
    # The foot moves with the root, so that all of the shaking is shared.
    smoother = steadied(problem).actors[0].motion.root[:, 1]
    assert np.std(np.diff(smoother, 2)) < 0.5 * np.std(np.diff(motion.root[:, 1], 2))
    late = steadied(problem, hold=0.5, until=1.0).actors[0].motion.root[:, 1]
    outside = (motion.times <= 0.5) | (motion.times >= 1.0)
    np.testing.assert_array_equal(late[outside], motion.root[outside, 1])
    assert np.abs(late - motion.root[:, 1]).max() > 0.2 * np.abs(shake).max()


def test_a_point_without_slack_does_not_steady_the_root() -> None:
    motion, _ = shaken_stand()
    stands = SamePlace(point=PointRef(point="LeftFoot"), start=0.0, end=1.0)
    problem = Problem(actors=(Actor(motion=motion),), constraints=(stands,))
    assert steadied(problem) is problem


def with_jump(motion: Motion, frame: int, radians: float) -> Motion:
    """A motion whose lowest spine joint is turned at one frame."""
    joint, rotations = free_spine(motion.skeleton)[0], motion.rotations.copy()
    rotations[frame, joint] = multiply(from_axis_angle([1.0, 0.0, 0.0], radians), rotations[frame, joint])
    return replace(motion, rotations=rotations)


def test_a_head_that_jumps_is_steadied_and_arms_keep_their_rotation() -> None:
    motion = walk()
    path = head_path(motion)
    assert path is not None
    jumping = with_jump(motion, 40, 0.05)
    steady = steady_head(jumping, path, 0.9)
    excess = [bends(head_path(m) - path) for m in (jumping, steady)]  # type: ignore[operator]
    assert excess[1] < 0.35 * excess[0]
    arm = roles(motion.skeleton)["left_upper_arm"]
    assert float(angle_between(fk(steady).rotations[:, arm], fk(jumping).rotations[:, arm]).max()) < 1e-6
    np.testing.assert_array_equal(steady.root, jumping.root)
    legs = roles(motion.skeleton)["left_foot"]
    np.testing.assert_allclose(fk(steady).positions[:, legs], fk(jumping).positions[:, legs], atol=1e-12)


def test_a_head_that_jumps_along_its_spine_is_steadied() -> None:
    """A spine that is bent by some degrees can lower the head, although it has to turn for that. Of a root that is 3 mm
    too high for a frame, four fifths of the jump were once left."""
    motion = walk()
    rotations, spine = motion.rotations.copy(), free_spine(motion.skeleton)
    for joint in spine:
        rotations[:, joint] = multiply(rotations[:, joint], from_axis_angle([1.0, 0.0, 0.0], 0.15))
    motion = replace(motion, rotations=rotations)
    path, root = head_path(motion), motion.root.copy()
    assert path is not None
    root[40, 1] += 0.003
    jumping = replace(motion, root=root)
    steady = steady_head(jumping, path, 0.9)
    excess = [bends(head_path(m) - path) for m in (jumping, steady)]  # type: ignore[operator]
    assert excess[1] < 0.5 * excess[0]
    assert np.degrees(angle_between(steady.rotations[:, spine], jumping.rotations[:, spine])).max() < 5.0


def test_a_given_pose_of_the_spine_is_kept() -> None:
    """A dog that sneaks missed the pose of its spine that a user had given for its first frame."""
    motion = walk()
    names = [motion.skeleton.names[joint] for joint in free_spine(motion.skeleton)]
    held = FixedPose(
        posed=tuple(names), rotations=motion.rotations[40, free_spine(motion.skeleton)], instants=(40 / motion.fps,)
    )
    for constraints, kept in (((), False), ((held,), True)):
        anywhere = Place(point=PointRef(point="Head"), target=np.zeros(3), instants=(2.0,))
        problem = Problem(actors=(Actor(motion=motion),), constraints=(anywhere, *constraints))
        jumping = tuple(body.with_motion(with_jump(body.motion, 40, 0.05)) for body in problem.bodies)
        (steady,) = with_steady_heads(problem, jumping, -np.inf, np.inf)
        change = np.abs(steady.motion.rotations - jumping[0].motion.rotations).max(axis=(1, 2))
        assert bool(change[40] < 1e-12) is kept
        assert change[37:44].max() > 1e-4


def test_frames_from_the_nearest_of_some_frames() -> None:
    np.testing.assert_array_equal(frames_from(np.array([2, 3, 7]), 10), [2, 1, 0, 0, 1, 2, 1, 0, 1, 2])


def test_the_replaced_share_sets_in_and_ends_smoothly() -> None:
    """A head that is faster than its path, then slower for half a second. The share once fell within three frames, and
    the head jumped there."""
    times = np.arange(240) / FPS
    path = np.zeros((240, 3))
    path[:, 2] = 0.004 * np.sin(2.0 * np.pi * 5.0 * times)
    size = np.where(np.abs(times - 1.0) < 0.25, 0.3, 1.3)[:, None]
    shares = _shares_of_excess(size * path, path, FPS)
    assert shares.max() > 0.9
    assert shares.min() < 0.1
    assert np.abs(np.diff(shares)).max() < 0.1


def test_a_head_that_is_no_faster_stays_as_it_is() -> None:
    motion = walk()
    path = head_path(motion)
    assert path is not None
    assert steady_head(motion, path, 0.9) is motion
    frozen = np.zeros(motion.num_frames)
    jumping = with_jump(motion, 40, 0.05)
    assert steady_head(jumping, path, 0.9, onset=frozen) is jumping
