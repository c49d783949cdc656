"""The starting point: floor, scaled path, morphing, and the translation signal."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import SkeletonError
from understudy.base.quaternion import from_axis_angle, multiply, rotate
from understudy.correspondence.pairs import check_structure, morph_motion, start_motion
from understudy.figure.contacts import (
    Contact,
    Floor,
    contact_points,
    detect_contacts,
    find_floor,
    leg_ratio,
    scaled_places,
)
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.solve.evaluation import translation_signal

FLAT = Floor(slope=np.zeros(2))


@cache
def walk() -> Motion:
    return samples.motion("walk").motion


def standing(places: np.ndarray, on: str = "floor") -> list[Contact]:
    foot = Point(name="foot", joint="Hips")
    return [Contact(point=foot, start=0.0, end=1.0, place=place, on=on) for place in places]


def turned(motion: Motion, axis: list[float], degrees: float) -> Motion:
    turn = from_axis_angle(np.array(axis), np.array(np.radians(degrees)))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root), rotations=rotations)


def found_floor(motion: Motion) -> Floor:
    return find_floor(detect_contacts(motion, contact_points(motion)), leg_length(motion.skeleton))


def test_a_level_floor_is_found_where_feet_stand() -> None:
    lifted = replace(walk(), root=walk().root + np.array([0.0, 0.8, 0.0]))
    lowest = fk(walk()).points(["LeftToeBase", "RightToeBase", "LeftHeel", "RightHeel"])[..., 1].min()
    for motion, height in ((walk(), 0.0), (lifted, 0.8)):
        floor = found_floor(motion)
        assert np.linalg.norm(floor.slope) < 0.02
        assert floor.heights(motion.root).mean() == pytest.approx(height + lowest, abs=0.03)


def test_a_tilted_floor_is_found_as_far_as_the_walk_tells() -> None:
    """A captured floor off by two degrees along the way: slope within a third of a degree, feet 5 mm from it."""
    along = walk().root[-1] - walk().root[0]
    axis = np.cross(np.array([0.0, 1.0, 0.0]), along / np.linalg.norm(along))
    tilted = turned(walk(), axis.tolist(), 2.0)
    floor, level = found_floor(tilted), found_floor(walk())
    rise = -np.tan(np.radians(2.0)) * (along / np.linalg.norm(along))[[0, 2]]
    np.testing.assert_allclose(floor.slope - level.slope, rise, atol=np.radians(0.35))
    contacts = detect_contacts(tilted, contact_points(tilted))
    off = np.array([c.place[1] - floor.heights(c.place) for c in contacts])
    flat = np.array([c.place[1] for c in contacts])
    assert np.std(off) < 0.5 * np.std(flat)


def test_a_plane_through_places_all_around_is_found_exactly(rng: np.random.Generator) -> None:
    places = rng.uniform(-3.0, 3.0, (30, 3))
    places[:, 1] = 0.4 + 0.03 * places[:, 0] - 0.02 * places[:, 2]
    floor = find_floor(standing(places), 1.0)
    np.testing.assert_allclose(floor.slope, [0.03, -0.02], atol=1e-9)
    np.testing.assert_allclose(floor.heights(places), places[:, 1], atol=1e-9)
    np.testing.assert_allclose(floor.normal @ [1.0, floor.slope[0], 0.0], 0.0, atol=1e-12)
    np.testing.assert_allclose(floor.normal @ [0.0, floor.slope[1], 1.0], 0.0, atol=1e-12)
    assert np.linalg.norm(floor.normal) == pytest.approx(1.0)
    assert floor.normal[1] > 0.0


def test_a_tilt_is_not_believed_on_little_evidence(rng: np.random.Generator) -> None:
    near = rng.uniform(-0.3, 0.3, (20, 3))
    near[:, 1] = 0.1 * near[:, 0]
    assert not find_floor(standing(near), 1.0).slope.any(), "places within a leg of each other"
    noisy = rng.uniform(-3.0, 3.0, (20, 3))
    noisy[:, 1] = 0.02 * rng.normal(size=20)
    assert not find_floor(standing(noisy), 1.0).slope.any(), "no plane explains noise"
    steep = rng.uniform(-3.0, 3.0, (20, 3))
    for tilt, believed in ((0.05, True), (0.3, False)):
        steep[:, 1] = tilt * steep[:, 0]
        assert find_floor(standing(steep), 5.0).slope.any() == believed, "no captured floor is steeper than a tenth"


def test_a_straight_path_says_nothing_about_the_tilt_across_it() -> None:
    x = np.linspace(0.0, 5.0, 10)
    across = np.tile([0.05, -0.05], 5)
    places = np.stack([x, 0.02 * x + 0.01 * np.sign(across), across], axis=1)
    floor = find_floor(standing(places), 1.0)
    assert floor.slope[0] == pytest.approx(0.02, abs=0.003)
    assert abs(floor.slope[1]) < 0.01


def test_what_stands_on_something_else_is_not_the_floor() -> None:
    low, high = np.zeros((5, 3)), np.tile([0.0, 0.9, 0.0], (4, 1))
    assert find_floor(standing(np.concatenate([low, high])), 1.0).height == 0.0
    assert find_floor([*standing(low), *standing(high - 5.0, on="ladder")], 1.0).height == 0.0
    assert find_floor([], 1.0).height == 0.0


def test_what_stands_below_it_is_not_below_the_floor() -> None:
    """Rungs, or feet that a capture has too high, outnumber what stands on the ground: the lowest tell."""
    heights = np.repeat([0.02, 0.1, 0.15], [4, 7, 5])
    places = np.stack([np.zeros(16), heights, np.zeros(16)], axis=1)
    assert find_floor(standing(places), 1.0).height == pytest.approx(0.02)
    places[:, 1] = np.repeat([0.05, 0.1, 0.11], [1, 10, 5])
    assert find_floor(standing(places), 1.0).height == pytest.approx(0.1), "one that sinks does not"
    assert found_floor(samples.motion("ladder").motion).height == pytest.approx(0.0, abs=1e-3), "not half a leg up"


def test_the_path_is_scaled_by_the_legs_about_the_floor() -> None:
    target = walk().skeleton.scaled(0.5)
    floor = Floor(height=0.3, slope=np.zeros(2))
    found = start_motion(walk(), target, floor)
    np.testing.assert_allclose(found.root[:, [0, 2]], 0.5 * walk().root[:, [0, 2]])
    np.testing.assert_allclose(found.root[:, 1] - 0.3, 0.5 * (walk().root[:, 1] - 0.3))
    np.testing.assert_array_equal(found.rotations, walk().rotations)
    assert found.skeleton is target


def test_only_the_legs_count_for_the_path() -> None:
    body = walk().skeleton
    arms = body.scaled([2.0 if "Arm" in name or "Hand" in name else 1.0 for name in body.names])
    legs = body.scaled([1.3 if "Leg" in name or "Foot" in name else 1.0 for name in body.names])
    assert leg_ratio(body, arms) == pytest.approx(1.0)
    assert leg_ratio(body, legs) == pytest.approx(1.3)
    np.testing.assert_array_equal(start_motion(walk(), arms, FLAT).root, walk().root)


def test_points_of_an_evenly_scaled_body_are_where_scaling_puts_them() -> None:
    floor = Floor(height=-0.2, slope=np.zeros(2))
    found = start_motion(walk(), walk().skeleton.scaled(1.7), floor)
    names = ["LeftToeTip", "RightHeel", "HeadTop"]
    expected = scaled_places(fk(walk()).points(names), 1.7, floor)
    np.testing.assert_allclose(fk(found).points(names), expected, atol=1e-12)


def test_offsets_of_a_source_that_changes_size_grow_with_the_targets_bones(rng: np.random.Generator) -> None:
    body = walk().skeleton
    swelling = rng.uniform(0.9, 1.1, (walk().num_frames, 1, 1))
    morphing = replace(walk(), offsets=body.offsets * swelling)
    found = start_motion(morphing, body.scaled(0.5), FLAT)
    np.testing.assert_allclose(found.offsets[:, 1:], 0.5 * morphing.offsets[:, 1:], atol=1e-12)


def test_a_morph_of_one_size_is_plain_scaling() -> None:
    """With a constant share the integrated steps are the scaled path, on bones in between."""
    target = walk().skeleton.scaled(0.6)
    for share, ratio in ((0.0, 1.0), (0.5, 0.8), (1.0, 0.6)):
        found = morph_motion(walk(), target, np.full(walk().num_frames, share), FLAT)
        np.testing.assert_allclose(found.root, ratio * walk().root, atol=1e-12)
        np.testing.assert_allclose(found.offsets[7, 1:], ratio * walk().skeleton.offsets[1:], atol=1e-12)


def test_a_morph_scales_each_step_by_the_size_of_the_moment() -> None:
    motion = walk()
    share = np.linspace(0.0, 1.0, motion.num_frames)
    found = morph_motion(motion, motion.skeleton.scaled(0.5), share, FLAT)
    before, after = (np.linalg.norm(np.diff(m.root[:, [0, 2]], axis=0), axis=1) for m in (motion, found))
    ratio = 1.0 - 0.5 * share
    np.testing.assert_allclose(after, before * 0.5 * (ratio[1:] + ratio[:-1]), atol=1e-12)
    np.testing.assert_allclose(found.root[:, 1], ratio * motion.root[:, 1])
    np.testing.assert_allclose(found.root[0], motion.root[0])


def test_a_target_built_differently_is_refused() -> None:
    body = walk().skeleton
    renamed = replace(body, names=("Pelvis", *body.names[1:]), ends=())
    with pytest.raises(SkeletonError, match=r"lacks \['Hips'\], has \['Pelvis'\] besides"):
        start_motion(walk(), renamed, FLAT)
    parents = body.parents.copy()
    parents[-1] = 0
    with pytest.raises(SkeletonError, match="lacks nothing, has nothing besides, or its joints hang together"):
        check_structure(body, replace(body, parents=parents))
    with pytest.raises(SkeletonError, match="built differently"):
        morph_motion(walk(), renamed, np.zeros(walk().num_frames), FLAT)
    check_structure(body, body.scaled(3.0))


def test_the_translation_signal_is_what_is_asked_everywhere_alike() -> None:
    wanted = np.tile([0.3, np.nan, -0.1], (50, 1))
    wanted[10:40] = np.nan
    signal = translation_signal(wanted, 30.0)
    np.testing.assert_allclose(signal, np.tile([0.3, 0.0, -0.1], (50, 1)), atol=1e-12)


def test_the_translation_signal_goes_smoothly_from_one_demand_to_the_next() -> None:
    wanted = np.full((121, 3), np.nan)
    wanted[:30, 0], wanted[90:, 0] = 0.0, 1.0
    signal = translation_signal(wanted, 30.0)[:, 0]
    assert np.all(np.diff(signal) >= -1e-12)
    assert signal[60] == pytest.approx(0.5, abs=0.01)
    assert signal[0] == pytest.approx(0.0, abs=1e-6)
    assert signal[-1] == pytest.approx(1.0, abs=1e-6)
    sharp = translation_signal(wanted, 30.0, smoothing_seconds=0.01)[:, 0]
    assert np.abs(np.diff(signal, n=2)).max() < 0.2 * np.abs(np.diff(sharp, n=2)).max()


def test_no_demand_is_no_translation() -> None:
    assert not translation_signal(np.full((9, 3), np.nan), 30.0).any()


def test_skeletons_of_one_structure_need_not_be_one_object() -> None:
    body = walk().skeleton
    copied = Skeleton(names=body.names, parents=body.parents, offsets=2.0 * body.offsets)
    assert start_motion(walk(), copied, FLAT).root[0, 1] == pytest.approx(2.0 * walk().root[0, 1])


def test_what_is_asked_for_beyond_all_distance_shifts_the_whole_motion() -> None:
    wanted = np.full((50, 3), np.nan)
    wanted[20, 0] = 1e8
    everywhere = translation_signal(wanted, 30.0, fade_seconds=50 / 30.0)
    np.testing.assert_array_equal(translation_signal(wanted, 30.0, fade_seconds=1e300), everywhere)
    np.testing.assert_allclose(everywhere[:, 0], 1e8)
