"""Eigenmotion, charts of joint coordinates and headings: a motion taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.analogy.study import (
    JointChart,
    decompose,
    find_course,
    make_study,
    marker_paths,
    mean_pose,
    spread_markers,
    unwrap_rotations,
)
from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import angle_between, exp, from_axis_angle, multiply, rotate
from understudy.figure.measures import facing
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton

UP = np.array([0.0, 1.0, 0.0])


def test_all_components_give_the_motion_back(rng: np.random.Generator) -> None:
    data = rng.normal(size=(40, 12))
    whole = decompose(data, components=12)
    assert np.allclose(whole.rebuilt(), data, atol=1e-12)
    assert np.allclose(whole.vectors.T @ whole.vectors, np.eye(12), atol=1e-12)
    assert np.allclose(whole.course.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(np.mean(whole.course**2, axis=0), whole.variances, atol=1e-12)
    assert whole.kept == pytest.approx(1.0)
    assert np.all(np.diff(whole.variances) <= 0.0)


def test_components_follow_from_energy(rng: np.random.Generator) -> None:
    courses = rng.normal(size=(500, 3)) * [3.0, 2.0, 1.0]
    data = courses @ np.linalg.qr(rng.normal(size=(9, 9)))[0][:3]
    shares = np.cumsum(decompose(data, components=3).variances) / np.sum(decompose(data, components=3).variances)
    assert decompose(data, energy=float(shares[0]) - 1e-6).num_components == 1
    assert decompose(data, energy=float(shares[0]) + 1e-6).num_components == 2
    assert decompose(data, energy=1.0).kept == pytest.approx(1.0)
    assert decompose(data).num_components == 5


def test_signs_do_not_hang_on_chance(rng: np.random.Generator) -> None:
    data = rng.normal(size=(30, 6))
    once, again = decompose(data), decompose(data[::-1])
    assert np.allclose(once.vectors, again.vectors)
    assert np.allclose(once.course, again.course[::-1])


def test_components_turned_among_themselves_are_the_same_motion(rng: np.random.Generator) -> None:
    found = decompose(rng.normal(size=(30, 6)), components=3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert np.allclose(found.turned(turn).rebuilt(), found.rebuilt())


def test_what_cannot_be_taken_apart_is_refused() -> None:
    with pytest.raises(MotionError, match=r"Nothing moves in A's example: 20 frames of one pose[^\n]*\n\nhint: choose"):
        decompose(np.ones((20, 6)), what="A's example")
    with pytest.raises(MotionError, match=r"5 components cannot be had from B's example: it has 4 frames of 9 numbers"):
        decompose(np.arange(36.0).reshape(4, 9) ** 2, what="B's example")
    with pytest.raises(OptionError, match=r"components or energy, not both; got 2 and 0\.5"):
        decompose(np.eye(9), components=2, energy=0.5)
    with pytest.raises(OptionError, match=r"share of energy above 0 and up to 1, got 1\.5"):
        decompose(np.eye(9), energy=1.5)
    with pytest.raises(OptionError, match="at least one component, got 0"):
        decompose(np.eye(9), components=0)


def test_coordinates_and_back_for_every_kind_of_joint(
    rng: np.random.Generator, make_skeleton: Callable[..., Skeleton], make_motion: Callable[..., Motion]
) -> None:
    skeleton = make_skeleton(rng, 13)
    motion = make_motion(skeleton, rng, 30)
    chart = JointChart(skeleton=skeleton, base=mean_pose(motion))
    coordinates = chart.coordinates(motion.rotations)
    assert coordinates.shape == (30, chart.size)
    assert np.degrees(angle_between(chart.rotations(coordinates), motion.rotations)).max() < 1e-5
    assert np.allclose(chart.coordinates(chart.base[None]), 0.0, atol=1e-9)


def test_a_joint_may_turn_past_half_a_turn() -> None:
    angle = np.linspace(0.0, 7.0, 90)
    vectors = np.stack([angle, np.zeros(90), np.zeros(90)], -1)
    folded = np.stack([(angle + np.pi) % (2.0 * np.pi) - np.pi, np.zeros(90), np.zeros(90)], -1)
    assert np.abs(np.diff(folded, axis=0)).max() > 3.0
    assert np.allclose(unwrap_rotations(folded), vectors, atol=1e-9)
    assert np.degrees(angle_between(exp(unwrap_rotations(folded)), exp(vectors))).max() < 1e-6


def test_a_course_taken_off_and_put_on_again_is_the_same_motion() -> None:
    walk = samples.motion("walk", seconds=2.0).motion
    turned = replace(walk, root=rotate(from_axis_angle(UP, 0.7), walk.root), rotations=_turned(walk, 0.7))
    course = find_course(turned)
    assert np.degrees(course.heading.mean()) == pytest.approx(np.degrees(0.7), abs=1.0)
    assert np.allclose(course.on(course.off(turned)).rotations, turned.rotations, atol=1e-12)
    assert np.allclose(course.off(turned).root, 0.0)
    # Analysed, the two are one motion.
    markers = spread_markers(walk.skeleton)
    assert np.allclose(
        marker_paths(course.off(turned), markers), marker_paths(find_course(walk).off(walk), markers), atol=1e-9
    )


def _turned(motion: Motion, angle: float) -> np.ndarray:
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(from_axis_angle(UP, angle), rotations[:, 0])
    return rotations


def test_who_walks_backwards_is_not_turned_round() -> None:
    """Where a human faces is known; an animal needs its example."""
    for name, alone_forward in (("walk", True), ("dog_walk", False)):
        walk = samples.motion(name, seconds=3.0).motion
        back = replace(walk, root=walk.root * [1.0, 1.0, -1.0])
        alone, told = find_course(back).off(back), find_course(back, like=walk).off(back)
        assert (facing(alone).mean(axis=0)[2] > 0.9) == alone_forward
        assert facing(told).mean(axis=0)[2] > 0.9


def test_who_sways_to_and_fro_does_not_turn() -> None:
    """Before a jump the body goes back, then forth: its path turns, and the body does not."""
    walk = samples.motion("walk", fps=30.0, seconds=4.0).motion
    times = np.linspace(0.0, 4.0, walk.num_frames)
    circling = np.stack(
        [0.3 * np.cos(2.0 * times), np.zeros_like(times), 0.6 * times + 0.3 * np.sin(2.0 * times)], axis=-1
    )
    assert np.ptp(find_course(replace(walk, root=walk.root[0] + circling)).heading) < 0.2


def test_a_human_turns_as_the_hips_do() -> None:
    """Who walks round a corner and then turns on the spot: the heading follows the body, and not the path alone."""
    walk = samples.motion("walk", fps=30.0, seconds=4.0).motion
    path_turn = np.clip(np.linspace(0.0, 2.0, walk.num_frames), 0.0, 1.0)
    steps = rotate(from_axis_angle(UP, path_turn[:-1]), np.diff(walk.root, axis=0))
    root = walk.root[0] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    body_turn = np.linspace(0.0, 2.5, walk.num_frames)
    rotations = walk.rotations.copy()
    rotations[:, 0] = multiply(from_axis_angle(UP, body_turn), rotations[:, 0])
    heading = find_course(replace(walk, root=root, rotations=rotations)).heading
    assert np.abs(heading - body_turn).max() < 0.5


def test_who_spins_has_no_direction_to_face() -> None:
    """An example that spins on its way does not say how the body faces in the new motion."""
    walk = samples.motion("walk", fps=30.0, seconds=4.0).motion
    turns = np.linspace(0.0, 2.0 * np.pi, walk.num_frames)
    rotations = walk.rotations.copy()
    rotations[:, 0] = multiply(from_axis_angle(UP, turns), rotations[:, 0])
    spins = replace(walk, rotations=rotations)
    assert find_course(walk, like=spins).heading == pytest.approx(find_course(walk).heading, abs=0.1)


def test_a_curved_path_is_followed() -> None:
    walk = samples.motion("walk", seconds=4.0).motion
    turn = np.linspace(0.0, 1.5, walk.num_frames)
    steps = rotate(from_axis_angle(UP, turn[:-1]), np.diff(walk.root, axis=0))
    curved = replace(
        walk,
        root=walk.root[0] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)]),
        rotations=np.concatenate(
            [multiply(from_axis_angle(UP, turn), walk.rotations[:, 0])[:, None], walk.rotations[:, 1:]], axis=1
        ),
    )
    assert np.degrees(np.ptp(find_course(curved).heading)) > 60.0
    straight, bent = (make_study(m, spread_markers(m.skeleton), what="it") for m in (walk, curved))
    # Without its course the curved walk has the straight one's coordination, not a turn, for its first component.
    assert abs(float(straight.marker.vectors[:, 0] @ bent.marker.vectors[:, 0])) > 0.98


def test_slow_turning_this_way_and_that_is_not_a_coordination() -> None:
    walk = samples.motion("walk", seconds=8.0).motion
    look = 0.5 * np.sin(2.0 * np.pi * np.arange(walk.num_frames) / walk.num_frames)
    looking = replace(walk, rotations=_turned(walk, 0.0))
    rotations = walk.rotations.copy()
    rotations[:, 0] = multiply(from_axis_angle(UP, look), rotations[:, 0])
    looking = replace(walk, rotations=rotations)
    steady, drifting = (make_study(m, spread_markers(m.skeleton), what="it") for m in (walk, looking))
    assert abs(float(steady.marker.vectors[:, 0] @ drifting.marker.vectors[:, 0])) > 0.98
