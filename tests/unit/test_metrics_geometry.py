"""Geometry of metrics: depths of capsules, and points inside a support."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import between, conjugate, multiply, normalize, rotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.surface import SLENDERNESS, capsules, closest_points, resting_depths, segment_gaps
from understudy.metrics.balance import inside
from understudy.metrics.base import Verdict, evaluate


def fork(gap: float) -> Skeleton:
    """Two long bars, a gap apart, on arms of three bones each."""
    names = ("base", "a1", "a2", "a3", "b1", "b2", "b3")
    half = 0.5 * gap
    offsets = [[0, 1, 0], [1, 0, 0], [0, 1, 0], [half - 1, 0, 0], [-1, 0, 0], [0, 1, 0], [1 - half, 0, 0]]
    ends = (Point(name="a_end", joint="a3", offset=[0, 0, 1]), Point(name="b_end", joint="b3", offset=[0, 0, 1]))
    return Skeleton(names=names, parents=[-1, 0, 1, 2, 0, 4, 5], offsets=np.array(offsets, float), ends=ends)


@pytest.mark.parametrize(("gap", "depth"), [(0.15, 0.05), (0.05, 0.15), (0.5, 0.0)])
def test_bars_in_each_other(gap: float, depth: float) -> None:
    skeleton = fork(gap)
    measured = capsules(skeleton).depths(fk(rest_motion(skeleton)))
    assert 2.0 * SLENDERNESS - gap == pytest.approx(depth) or depth == 0.0
    if depth:
        assert measured["a3", "b3"] == pytest.approx([depth])
    else:
        assert ("a3", "b3") not in measured


def test_depth_of_bars_that_come_together() -> None:
    skeleton = fork(0.4)
    frames = 21
    offsets = np.tile(skeleton.offsets, (frames, 1, 1))
    way = np.linspace(0.0, 0.15, frames)
    offsets[:, 3, 0] -= way
    offsets[:, 6, 0] += way
    motion = Motion(
        skeleton=skeleton, fps=30.0, root=np.tile(skeleton.offsets[0], (frames, 1)),
        rotations=np.tile(skeleton.rest, (frames, 1, 1)), offsets=offsets,
    )  # fmt: skip
    report = evaluate(motion)["self_penetration"]
    wanted = np.maximum(0.2 - (0.4 - 2.0 * way), 0.0)
    assert report["worst_depth"] == pytest.approx(0.1)
    assert report.curves[0].values == pytest.approx(wanted, abs=1e-9)
    assert report.facts["parts"] == ["a3", "b3"]
    assert "a3 and b3 are 0.10 m in each other at 0.67 s" in report.words


def test_a_forearm_through_the_chest() -> None:
    clean = samples.motion("squat").motion
    skeleton = clean.skeleton
    pose = fk(clean)
    arm, hand = skeleton.joint("LeftArm"), skeleton.joint("LeftHand")
    rotations = clean.rotations.copy()
    # The straight arm points from the shoulder through the middle of the chest.
    rotations[:, skeleton.joint("LeftForeArm")] = skeleton.rest[skeleton.joint("LeftForeArm")]
    straight = fk(replace(clean, rotations=rotations))
    shoulder = straight.positions[:, arm]
    aim = pose.positions[:, skeleton.joint("Spine1")] - shoulder
    turn = between(straight.positions[:, hand] - shoulder, aim)
    parent = straight.rotations[:, skeleton.parents[arm]]
    rotations[:, arm] = multiply(conjugate(parent), multiply(turn, straight.rotations[:, arm]))
    bad = replace(clean, rotations=rotations)
    assert rotate(turn, straight.positions[:, hand] - shoulder) == pytest.approx(
        fk(bad).positions[:, hand] - shoulder, abs=1e-9
    )
    report = evaluate(bad, clean)["self_penetration"]
    assert report.verdict is Verdict.BAD
    assert "trunk" in report.words
    thick = (0.065 + 0.020) * 1.75
    assert 0.5 * thick < report["worst_depth"] <= thick + 1e-6


def test_parts_of_a_human_that_hang_together_do_not_count() -> None:
    for name in ("adult", "child", "other"):
        skeleton = samples.character(name)
        assert resting_depths(skeleton) == {}
        measured = capsules(skeleton)
        assert ("left lower_leg", "left upper_leg") in measured.joined
        assert ("left upper_leg", "right upper_leg") not in measured.joined
        assert {"trunk", "head", "left hand", "right foot"} <= set(measured.parts)


def test_a_head_is_no_taller_than_its_crown() -> None:
    skeleton = samples.character("adult")
    measured = capsules(skeleton)
    crown = float(np.max(skeleton.rest_ends[:, 1]))
    pose = fk(rest_motion(skeleton))
    tops = [pose.points([far])[0, 0, 1] + r for (_, far), r, part in zip(measured.ends, measured.radii, measured.parts)
            if part == "head"]  # fmt: skip
    assert max(tops) == pytest.approx(crown, abs=1e-9)


def test_a_root_on_the_ground_is_no_part_of_the_body() -> None:
    skeleton = samples.character("other")
    assert skeleton.names[0] == "root"
    assert all(ends[0].joint != "root" for ends in capsules(skeleton).ends)


SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


@pytest.mark.parametrize(
    ("place", "margin"),
    [((1.0, 1.0), 1.0), ((0.25, 1.0), 0.25), ((1.0, -0.5), -0.5), ((3.0, 3.0), -np.sqrt(2.0)), ((2.0, 1.0), 0.0)],
)
def test_inside_a_square(place: tuple[float, float], margin: float) -> None:
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        measured = inside(np.array([place]), SQUARE[None, order])
        assert measured == pytest.approx([margin])
    with_middle = np.concatenate([SQUARE, [[1.0, 1.0], [1.0, 0.0]]])
    assert inside(np.array([place]), with_middle[None]) == pytest.approx([margin])


def test_lines_and_points_have_no_inside() -> None:
    line = np.array([[[0.0, 0.0], [1.0, 0.0]]])
    assert inside(np.array([[0.5, 0.3]]), line) == pytest.approx([-0.3])
    assert inside(np.array([[2.0, 0.0]]), line) == pytest.approx([-1.0])
    assert inside(np.array([[0.3, 0.4]]), np.zeros((1, 1, 2))) == pytest.approx([-0.5])
    assert inside(np.array([[0.3, 0.4]]), np.zeros((1, 3, 2))) == pytest.approx([-0.5])


def test_inside_agrees_with_a_search(rng: np.random.Generator) -> None:
    feet = rng.normal(size=(40, 6, 2))
    centre = rng.normal(size=(40, 2))
    measured = inside(centre, feet)
    edges = (feet[:, None] - feet[:, :, None]).reshape(40, -1, 2)
    ways = np.concatenate([np.stack([edges[..., 1], -edges[..., 0]], -1), centre[:, None] - feet], axis=1)
    size = np.linalg.norm(ways, axis=-1, keepdims=True)
    ways = np.where(size > 0.0, ways / np.maximum(size, 1e-12), [1.0, 0.0])
    # The distance to a convex set is the maximum over all directions of the distance beyond its support function. The
    # maximum is across an edge or away from a corner.
    beyond = np.einsum("nwi,ni->nw", ways, centre) - np.einsum("nwi,nki->nwk", ways, feet).max(axis=-1)
    assert measured == pytest.approx(-beyond.max(axis=1), abs=1e-9)


def test_gaps_of_segments_are_those_between_their_closest_points() -> None:
    rng = np.random.default_rng(5)
    a, b, c, d = rng.normal(size=(4, 400, 3))
    d[:100] = c[:100] + rng.normal(size=(100, 1)) * (b - a)[:100]
    b[100:120], d[110:130] = a[100:120], c[110:130]
    s, t = closest_points(a, b, c, d)
    wanted = np.linalg.norm(a + s[:, None] * (b - a) - c - t[:, None] * (d - c), axis=-1)
    assert segment_gaps(a.T, (b - a).T, c.T, (d - c).T) == pytest.approx(wanted, abs=1e-12)


def test_depths_of_many_frames_are_those_of_single_frames() -> None:
    motion = samples.motion("dance").motion[:50]
    turns = normalize(np.random.default_rng(6).normal(size=motion.rotations.shape))
    motion = replace(motion, rotations=turns)
    parts, pose = capsules(motion.skeleton), fk(motion)
    measured = parts.depths(pose)
    assert measured
    for frame in (0, 20, 49):
        alone = parts.depths(fk(motion[frame : frame + 1]))
        here = {pair: depth[frame] for pair, depth in measured.items() if depth[frame] > 0.0}
        assert {pair: depth[0] for pair, depth in alone.items()} == pytest.approx(here, abs=1e-12)
