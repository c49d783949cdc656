"""Corresponding frames: found again where the answer is known, and honest where there is little to tell by."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.contacts import detect_contacts
from understudy.figure.motion import Motion
from understudy.transition.timing import Features, compare, find_match, limb_name, limb_of, standing_points, warp


def itself(motion: Motion) -> Correspondence:
    body = motion.skeleton
    pairs = tuple(Pair(source=(name,), target=(name,)) for name in body.names)
    return Correspondence(source=body, target=body, pairs=pairs)


def human_to_dog(human: Motion, dog: Motion) -> Correspondence:
    pairs = [("Hips", "Hips"), ("Spine", "Spine1"), ("Spine1", "Chest"), ("Head", "Head")]
    for side in ("Left", "Right"):
        limbs = (("UpLeg", "Thigh"), ("Leg", "Shin"), ("Foot", "Metatarsus"), ("Arm", "UpperArm"), ("Hand", "ForePaw"))
        pairs += [(side + a, side + b) for a, b in limbs]
    made = tuple(Pair(source=(a,), target=(b,)) for a, b in pairs)
    return Correspondence(source=human.skeleton, target=dog.skeleton, pairs=made)


def features(first: Array, second: Array, fps: float = 30.0) -> Features:
    """Bare features, one column each."""
    values = first[:, None], second[:, None]
    return Features(values=values, names=("value",), fps=(fps, fps), strides=(np.nan, np.nan))


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk", seconds=6.0).motion


def slowest_warp(a: Array, b: Array) -> float:
    """The least mean difference of any path, by trying every way step by step."""
    count, other = len(a), len(b)
    best = np.full((count, other), np.inf)
    cost = ((a[:, None] - b[None]) ** 2).sum(-1)
    best[0, 0] = cost[0, 0]
    for i in range(1, count):
        for j in range(1, other):
            ways = [best[i - 1, j - 1] + cost[i, j]]
            if j > 1:
                ways.append(best[i - 1, j - 2] + 0.75 * (cost[i, j] + cost[i, j - 1]))
            if i > 1:
                ways.append(best[i - 2, j - 1] + 0.75 * (cost[i, j] + cost[i - 1, j]))
            best[i, j] = min(ways)
    return float(best[-1, -1] / (0.5 * (count + other)))


@pytest.mark.parametrize("seed", range(5))
def test_the_warp_is_the_best_of_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(14, 3)), rng.normal(size=(int(rng.integers(10, 20)), 3))
    path, cost = warp(a, b, band=30)
    assert cost == pytest.approx(slowest_warp(a, b), rel=1e-12)
    assert path[0].tolist() == [0, 0]
    assert path[-1].tolist() == [13, len(b) - 1]
    steps = {tuple(step) for step in np.diff(path, axis=0).tolist()}
    assert steps <= {(1, 1), (1, 2), (2, 1)}


def test_the_warp_finds_a_known_one() -> None:
    clock = np.linspace(0.0, 1.0, 90)
    bent = clock + 0.08 * np.sin(2.0 * np.pi * clock)
    tune = lambda t: np.stack([np.sin(9.0 * t), np.cos(14.0 * t), t], -1)  # noqa: E731
    path, cost = warp(tune(bent), tune(clock))
    found = np.interp(np.arange(90), path[:, 0], path[:, 1]) / 89.0
    assert np.abs(found - bent).max() < 1.5 / 89.0
    assert cost < 0.05 * ((tune(bent) - tune(clock)) ** 2).sum(-1).mean()


def test_what_is_more_than_twice_as_fast_has_no_path() -> None:
    path, cost = warp(np.zeros((10, 1)), np.zeros((30, 1)), band=40)
    assert len(path) == 0
    assert cost == np.inf


def test_a_narrow_band_keeps_the_path_near_an_even_pace() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    path, narrow = warp(a, b, band=3)
    assert np.abs(path[:, 1] - path[:, 0]).max() <= 3
    assert narrow >= warp(a, b, band=59)[1]


def test_a_motion_is_found_in_its_own_shifted_self(walk: Motion) -> None:
    """The second begins 0.7 s into the first: leaving at 2 s must enter at 1.3 s, a whole number of strides apart."""
    later = walk[21:]
    found = find_match(compare(itself(walk), (walk, later)), leave=2.0, seconds=1.0)
    stride = compare(itself(walk), (walk, later)).strides[0]
    apart = (2.0 - 0.7 - found.enter + 0.5 * stride) % stride - 0.5 * stride
    assert abs(apart) < 1.5 / 30.0
    assert found.cost < 0.02


def test_a_motion_is_found_in_its_own_time_warped_self(walk: Motion) -> None:
    """The second runs ahead and falls behind by up to a sixth of a second: the path follows."""
    clock = np.arange(walk.num_frames) / walk.fps
    bend = clock + 0.16 * np.sin(2.0 * np.pi * clock / 3.0)
    warped = walk.at(np.clip(bend, 0.0, walk.duration), fps=walk.fps)
    found = find_match(compare(itself(walk), (walk, warped)), leave=1.5, enter=1.5, seconds=2.5)
    meant = np.interp(found.first, bend, clock)
    # The ends, a sixth of a second each, are left out: the path may begin only where it is told to, and where it ends
    # nothing that follows tells.
    assert np.abs(found.second - meant)[5:-5].max() < 0.07
    assert np.abs(found.second - found.first).max() > 0.1


def test_one_that_walks_slower_is_followed_at_its_own_pace(walk: Motion) -> None:
    slow = walk.at(np.arange(0.0, walk.duration, 0.8 / 30.0), fps=30.0)
    seen = compare(itself(walk), (walk, slow))
    assert seen.strides[1] / seen.strides[0] == pytest.approx(1.25, rel=0.05)
    found = find_match(seen, leave=1.0, seconds=2.0)
    assert np.ptp(found.second) / np.ptp(found.first) == pytest.approx(1.25, rel=0.08)


def test_places_are_the_best_of_all() -> None:
    """A pattern that occurs once in each of two long curves is where the first is left and the second entered."""
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=300), rng.normal(size=240)
    pattern = 3.0 * rng.normal(size=46)
    first[200:246], second[60:106] = pattern, pattern
    found = find_match(features(first, second), seconds=1.5)
    assert found.leave == pytest.approx(200 / 30.0, abs=1.01 / 15.0)
    assert found.enter == pytest.approx(60 / 30.0, abs=1.01 / 15.0)
    assert found.leave - found.enter == pytest.approx(140 / 30.0, abs=1e-9)


def test_much_of_both_is_kept_where_all_is_alike() -> None:
    found = find_match(features(np.zeros(300), np.zeros(300)), seconds=1.0)
    assert found.leave == pytest.approx(299 / 30.0 - 1.0, abs=0.1)
    assert found.enter == pytest.approx(0.0, abs=1e-9)


def test_memory_is_linear_in_the_length() -> None:
    """Ten minutes against ten minutes: all pairs of frames would take a gigabyte and a half."""
    rng = np.random.default_rng(2)
    long = features(rng.normal(size=18000), rng.normal(size=18000))
    tracemalloc.start()
    find_match(long, seconds=1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_without_contacts_course_and_turning_tell(walk: Motion) -> None:
    seen = compare(itself(walk), (walk, walk), ((), ()))
    assert seen.names == ("speed", "turning", "height")
    assert np.isnan(seen.strides).all()
    still = replace(walk, root=np.tile(walk.root[:1], (walk.num_frames, 1)), rotations=walk.rotations[[0] * len(walk)])
    half = replace(
        walk,
        root=np.concatenate([still.root[:90], still.root[0] + walk.root[90:] - walk.root[90]]),
        rotations=np.concatenate([still.rotations[:90], walk.rotations[90:]]),
    )
    found = find_match(compare(itself(walk), (half, still), ((), ())), seconds=1.0, enter=0.0)
    assert found.leave < 2.5  # it stands until the third second
    assert found.first[-1] - found.first[0] == pytest.approx(1.0)


def test_limbs_that_only_one_body_stands_on_do_not_count(walk: Motion) -> None:
    dog = samples.motion("dog_walk").motion
    whole = human_to_dog(walk, dog)
    seen = compare(whole, (walk, dog))
    assert sorted(name for name in seen.names if "stance" in name) == [
        "stance of LeftUpLeg",
        "stance of RightUpLeg",
    ]
    fore = limb_of(whole, "target", "LeftForearm")
    assert fore is not None
    assert fore.source == ("LeftArm",)
    assert limb_of(whole, "source", "Hips") is None
    assert limb_name(whole, "target", "Tail3") == "Tail"


def test_strides_of_a_human_and_a_dog_are_brought_into_step(walk: Motion) -> None:
    """Whenever the frames that correspond are at the middle of the blend, the same legs stand."""
    dog = samples.motion("dog_walk").motion
    whole = human_to_dog(walk, dog)
    found = find_match(compare(whole, (walk, dog)), seconds=1.0)
    agree = 0
    for left, hind in (("LeftUpLeg", "LeftHind"), ("RightUpLeg", "RightHind")):
        stands = [
            any(c.start <= time <= c.end for c in contacts)
            for contacts, times in (
                (
                    [c for c in detect_contacts(walk) if c.point.name.startswith(left.removesuffix("UpLeg"))],
                    found.first,
                ),
                ([c for c in detect_contacts(dog) if c.point.name.startswith(hind)], found.second),
            )
            for time in times
        ]
        half = len(found.first)
        agree += sum(a == b for a, b in zip(stands[:half], stands[half:], strict=True))
    assert agree / (2 * len(found.first)) > 0.85


def test_a_crawling_human_stands_on_its_hands_too(walk: Motion) -> None:
    assert {point.joint for point in standing_points(walk)} == {"LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase"}
    low = replace(walk, root=walk.root * [1.0, 0.0, 1.0] + [0.0, 0.3, 0.0])
    turn = np.tile([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0], (walk.num_frames, 1))
    rotations = walk.rotations.copy()
    rotations[:, 0] = turn
    lying = replace(low, rotations=rotations)
    assert any("Hand" in point.joint for point in standing_points(lying))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"seconds": 0.0}, r"Expected a blend of more than zero and at most 10\.97 s.*got 0 s"),
        ({"seconds": 40.0}, r"at most 10\.97 s, for which both motions have room; got 40 s"),
        ({"seconds": 1.0, "leave": 9.5}, r"at most 0\.47 s"),
        ({"seconds": 1.0, "enter": -1.0}, r"Expected `enter` from 0 to 9\.97 s.*got -1 s"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, float], words: str) -> None:
    same = features(np.zeros(330), np.zeros(330))
    short = features(np.zeros(300), np.zeros(330))
    with pytest.raises(OptionError, match=words):
        find_match(short if "leave" in asked else same, **asked)
