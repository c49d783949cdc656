"""Motion analogies [Analogies]: the seven results of section 6 on samples, the self-check, and what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.analogy.attempt import AnalogyError
from understudy.analogy.conditions import MarkerAt, PoseAt
from understudy.analogy.make import analogy
from understudy.analogy.matching import MarkerPair
from understudy.analogy.preparation import Settings
from understudy.analogy.result import Analogy, lifts
from understudy.analogy.stepping import Tempo
from understudy.analogy.study import likeness, make_study, period, spread_markers
from understudy.base.errors import MotionError, OptionError, UnknownNameError
from understudy.base.quaternion import angle_between
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, mirror
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.solve.coordinates import Body

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def cases() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    try:
        return __import__("analogy_cases")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk", fps=30.0, seconds=4.0).motion


@pytest.fixture(scope="module")
def march() -> Motion:
    return samples.motion("march", fps=30.0, seconds=4.0).motion


def succeeds(result: Analogy, *, correlation: float, contact: float = 1e-3) -> None:
    """What every result must show: it moves as the source does, in its time, with feet that stand."""
    found = result.measures
    assert found["correlation"] > correlation
    assert found["period_result"] == pytest.approx(found["period_source"], rel=0.02)
    assert found["contacts"]["count"] > 8
    assert found["contacts"]["after"] < contact
    assert result.solution is not None
    assert not result.solution.unmet
    assert result.attempt.outcome.violation < 0.025
    # It faces where it goes and goes where the source goes.
    gone, ahead = result.motion.root[-1] - result.motion.root[0], facing(result.motion).mean(axis=0)
    assert gone[2] > 0.5
    assert ahead[2] > 0.9


def swing(motion: Motion, joint: str) -> float:
    """Degrees between the farthest poses of a joint."""
    turns = motion.rotations[:, motion.skeleton.joint(joint)]
    return float(np.degrees(angle_between(turns[:, None], turns[None]).max()))


# Section 6.


def test_child_march_with_two_poses(cases: ModuleType) -> None:
    plain, posed = cases.child_march_plain(), cases.child_march()
    for result in (plain, posed):
        succeeds(result, correlation=0.95)
    # More poses than one: the paper relaxes orthonormality, and so do we.
    assert plain.attempt.orthonormal
    assert plain.attempt.outcome.skew < 1e-12
    assert not posed.attempt.orthonormal
    assert posed.measures["pose_error"] < np.radians(0.01)
    assert np.degrees(max(plain._pose_error(pose) for pose in cases.child_poses())) > 15.0
    # The paper's fault without poses: the arms do not stretch.
    spans = []
    for result in (plain, posed):
        arms = fk(result.level).points(["LeftArm", "LeftFingertips", "RightArm", "RightFingertips"])
        lengths = np.linalg.norm(arms[:, [1, 3]] - arms[:, [0, 2]], axis=-1)
        spans.append(float(lengths[[pose.frame for pose in cases.child_poses()]].min()))
    assert spans[1] > 1.03 * spans[0]
    assert posed.measures["lift"] > 2.0 * posed.measures["lift_example"]


def test_dog_march(cases: ModuleType) -> None:
    result = cases.dog_march()
    succeeds(result, correlation=0.95)
    assert result.attempt.coverage > 0.9
    # March lifts the feet higher than walking, on the dog as on the human.
    assert result.measures["lift"] > 2.5 * result.measures["lift_example"]
    # Both feet of a side go with the human's foot of one side, as the markers of the example matched.
    partners = result.stepping.partners
    assert {partners["LeftHindPad"], partners["LeftForePad"]} != {partners["RightHindPad"], partners["RightForePad"]}
    assert partners["LeftHindPad"] != partners["RightHindPad"]


def test_dog_march_on_two_feet(cases: ModuleType) -> None:
    result, plain = cases.dog_march_upright(), cases.dog_march()
    succeeds(result, correlation=0.9)
    assert result.attempt.orthonormal
    assert result.attempt.outcome.skew < 1e-12
    assert result.measures["pose_error"] < np.radians(0.05)
    # On two feet all along: fore paws stay in the air, and only hind paws are planted.
    pose = fk(result.motion)
    fore = pose.points(["LeftForeToe", "RightForeToe"])[..., 1]
    assert fore.min() > 0.3
    assert all("Hind" in contact.point.name for contact in result.stepping.contacts)
    assert any("too high to stand" in sentence for sentence in result.notes)
    # Noticeably different from the march without the pose, yet a march.
    assert np.degrees(angle_between(result.level.rotations, plain.level.rotations)).mean() > 8.0
    assert result.measures["lift"] > 2.5 * result.measures["lift_example"]


def test_dog_sneak_with_a_crouch(cases: ModuleType) -> None:
    result = cases.dog_sneak()
    succeeds(result, correlation=0.95)
    # Exact in the solved motion, and to the tolerance of the solve that plants the feet.
    (pose,) = result.poses
    assert np.degrees(angle_between(result.level.rotations[pose.frame], pose.rotations)).max() < 0.01
    assert result.measures["pose_error"] < 1e-3
    walking = samples.motion("dog_walk", fps=30.0, seconds=4.0).motion
    # Lower over its feet than it walks, all the way, and as slow as the human sneaks.
    assert result.motion.root[:, 1].max() < walking.root[:, 1].min()
    assert result.measures["period_result"] > 2.0 * (period(walking.rotations[:, 1:], 30.0) or 0.0)


def test_sneaking_lowers_the_dog_without_any_pose(walk: Motion) -> None:
    """Beyond the paper: B's mean pose follows A's; to the letter of the paper it stays that of the walk."""
    new = samples.motion("sneak", fps=30.0, seconds=7.0)
    dog = samples.motion("dog_walk", fps=30.0, seconds=4.0).motion
    heights = []
    for weight in (0.0, 0.3):
        result = analogy(
            walk, dog, new.motion, contacts=new.contacts, settings=Settings(mean_weight=weight, clean=False)
        )
        heights.append(float(result.raw.root[:, 1].mean()))
    assert heights[0] == pytest.approx(float(dog.root[:, 1].mean()), abs=0.03)
    assert heights[1] < heights[0] - 0.04


def test_spider_walk_from_pairs_given_by_hand(cases: ModuleType) -> None:
    result = cases.spider_walk()
    succeeds(result, correlation=0.98)
    assert result.a is None
    assert result.b is None
    for side, legs in cases.SPIDER_SETS.items():
        assert all(result.stepping.partners[f"{leg}Tip"].startswith(side) for leg in legs)


def test_spider_march_lifts_legs_higher_than_its_walk(cases: ModuleType) -> None:
    walked, marched = cases.spider_walk(), cases.spider_march()
    succeeds(marched, correlation=0.85)
    high, low = (lifts(each.raw, each.points) for each in (marched, walked))
    assert np.all(high > low)
    assert high.mean() > 1.8 * low.mean()


def test_dog_walk_by_hand_is_worse_than_by_example(cases: ModuleType) -> None:
    """The paper's comparison: pairs that a person finds do what they are told, and the legs look rigid."""
    hand, example = cases.dog_walk_by_hand(), cases.dog_walk_by_example()
    own = samples.motion("dog_walk", fps=30.0, seconds=4.0).motion
    succeeds(hand, correlation=0.95)
    # The wrist of a dog folds under with every step; told by hand it hardly bends.
    wrists = [
        np.mean([swing(m, f"{side}Metacarpus") for side in ("Left", "Right")]) for m in (own, example.level, hand.level)
    ]
    assert wrists[2] < 0.15 * wrists[0]
    assert wrists[2] < 0.3 * wrists[1]
    # Feet slide more before they are planted, more has to be mended, and it is farther from how the dog walks.
    assert hand.measures["contacts"]["before"] > 1.4 * example.measures["contacts"]["before"]
    mended = [float(np.linalg.norm(r.raw.root - r.motion.root, axis=-1).mean()) for r in (example, hand)]
    # Planting also lifts feet as high as the source's, whoever told the pairs.
    assert mended[1] > 1.1 * mended[0]
    assert unlike(hand, own) > 1.15 * unlike(example, own)


def unlike(result: Analogy, own: Motion) -> float:
    """Degrees, on average, between the joints of a cycle of a result and one of B's own, at the best shift."""
    cycles = []
    for motion, length in ((result.level, result.measures["period_result"]), (own, 0.88)):
        cycles.append(motion.at(np.linspace(0.0, length, 40, endpoint=False), fps=30.0).rotations[:, 1:])
    return min(float(np.degrees(angle_between(np.roll(cycles[0], k, axis=0), cycles[1])).mean()) for k in range(40))


def test_unit_vectors_without_an_example_flail(cases: ModuleType) -> None:
    """Why pairs without an example are solved without orthonormality: unit vectors must move something as much as A
    moves, and nothing says what."""
    free, unit = cases.spider_walk(), cases.by_hand("spider", cases.spider_pairs(), orthonormal=True, retries=False)
    assert unit.attempt.outcome.skew < 1e-9
    assert unit.attempt.strangeness > 3.0 * free.attempt.strangeness
    assert unit.score < 0.6 < free.score


def test_work_does_not_grow_with_frames(walk: Motion, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver never sees more frames than stand for all, however many there are."""
    seen: list[int] = []
    whole = Body.displaced
    monkeypatch.setattr(Body, "displaced", lambda self, d: (seen.append(len(d)), whole(self, d))[1])
    dog = samples.motion("dog_walk", fps=30.0, seconds=4.0).motion
    for fps in (30.0, 240.0):
        seen.clear()
        new = samples.motion("march", fps=fps, seconds=8.0).motion
        result = analogy(walk, dog, new, settings=Settings(clean=False))
        solving = [count for count in seen if count not in (1, new.num_frames)]
        assert max(solving) <= 72
        assert seen.count(new.num_frames) <= 2
        assert result.motion.num_frames == new.num_frames


# Sections 1 and 4.


def test_eigenmotion_of_different_bodies_is_alike() -> None:
    """The observation that the paper is built on: the first course of a walk is much the same on any legs."""
    courses = {}
    for name in ("walk", "dog_walk", "spider_walk"):
        motion = samples.motion(name, fps=60.0, seconds=4.0).motion
        courses[name] = make_study(motion, spread_markers(motion.skeleton), what=name).marker.course[:, 0]
    for name in ("dog_walk", "spider_walk"):
        assert likeness(courses["walk"], courses[name], (60.0, 60.0)) > 0.95


def test_limbs_are_matched_by_how_they_move(walk: Motion, march: Motion) -> None:
    """No name is used: the spider's two sets of alternate legs go with the two legs of the human."""
    spider = samples.motion("spider_walk", fps=30.0, seconds=4.0).motion
    result = analogy(walk, spider, march, settings=Settings(clean=False))
    sides: dict[str, set[str]] = {}
    for row in result.matched():
        if row["b"].endswith("Tip"):
            sides[row["b"]] = {name[:4] for name in row["a"] if name.startswith(("Left", "Righ"))}
    first = {sides[f"{leg}Tip"].copy().pop() for leg in ("LeftLeg1", "RightLeg2", "LeftLeg3", "RightLeg4")}
    second = {sides[f"{leg}Tip"].copy().pop() for leg in ("RightLeg1", "LeftLeg2", "RightLeg3", "LeftLeg4")}
    assert all(len(each) == 1 for each in sides.values())
    assert len(first) == len(second) == 1
    assert first != second


def test_paper_scales_are_of_unit_vectors(walk: Motion, march: Motion, cases: ModuleType) -> None:
    """Equation 2 to the letter scales by unit vectors, which do not know that a child's steps are shorter."""
    child = cases.child_walk()
    found = {}
    for unit in (True, False):
        result = analogy(walk, child, march, settings=Settings(unit_scales=unit, clean=False, retries=False))
        rows = [row for row in result.matched() if row["b"] == "LeftToeTip"]
        found[unit] = rows[0]["scales"][rows[0]["a"].index("LeftToeTip")]
    reach = [
        float(np.ptp(make_study(m, spread_markers(m.skeleton), what="it").course.off(m).root)) for m in (walk, child)
    ]
    assert reach == [0.0, 0.0]
    true = _excursion(child) / _excursion(walk)
    assert found[False] == pytest.approx(true, rel=0.1)
    assert abs(found[True] - true) > 0.2


def _excursion(motion: Motion) -> float:
    """Metres that the left toe swings to and fro under the hips."""
    pose = fk(motion)
    path = pose.points(["LeftToeTip"])[:, 0, 2] - motion.root[:, 2]
    return float(np.std(path))


# The self-check.

STRICT = Settings(together=True, threshold=0.999, density=20.0, pull=1e-4, mean_weight=1.0, retries=False, clean=False)
"""Every eigenvector as one movement, partners that move exactly alike, and no pull to the walk's own coordinations."""


def renamed(body: Skeleton, scale: dict[str, float]) -> Skeleton:
    """The same body under names that say nothing, its bones scaled by what their own names say."""
    factor = np.array([next((f for part, f in scale.items() if part in name), 0.7) for name in body.names])
    names = tuple(f"bone{i}" for i in range(body.num_joints))
    ends = tuple(
        replace(
            end, name=f"end{i}", joint=names[body.index[end.joint]], offset=end.offset * factor[body.index[end.joint]]
        )
        for i, end in enumerate(body.ends)
    )
    return replace(body, names=names, ends=ends, offsets=body.offsets * factor[:, None], name="stranger")


def error(result: Analogy, wanted: Motion) -> tuple[float, float]:
    """Degrees, on average, between all joints, and between the roots, of a result and the source's new motion."""
    off = np.degrees(angle_between(result.level.rotations, result.new.course.off(wanted).rotations))
    return float(off.mean()), float(off[:, 0].mean())


OTHERS = {"Leg": 0.8, "Foot": 0.8, "Toe": 0.8, "Arm": 0.63, "Hand": 0.63}


@pytest.mark.parametrize("stranger", [False, True], ids=["itself", "other names and lengths"])
def test_a_body_learns_its_own_new_motion(walk: Motion, march: Motion, stranger: bool) -> None:
    example = replace(walk, skeleton=renamed(walk.skeleton, OTHERS)) if stranger else walk
    curve = {}
    for count in (1, 3, 5, 8, 12):
        result = analogy(walk, example, march, settings=replace(STRICT, components=count, eigenvectors=count))
        curve[count], root = error(result, march)
    assert curve[12] < 5.0
    assert curve[12] < 0.5 * curve[3]
    assert curve[1] > curve[3] > curve[5] > curve[8]
    assert root < 4.0
    # On the way it faces as the source does.
    seen = facing(replace(march, rotations=result.raw.rotations))
    assert np.degrees(np.arccos(np.clip(np.sum(seen * facing(march), axis=-1), -1.0, 1.0))).mean() < 5.0


def test_what_limits_the_self_check(walk: Motion, march: Motion) -> None:
    """Averaging over partners that move only nearly alike costs more than truncation; so does a mean pose that may not
    follow."""
    full = replace(STRICT, components=12, eigenvectors=12)
    best, _ = error(analogy(walk, walk, march, settings=full), march)
    averaged, _ = error(analogy(walk, walk, march, settings=replace(full, threshold=0.95)), march)
    blind, _ = error(analogy(walk, walk, march, settings=replace(full, mean_weight=0.0)), march)
    one, _ = error(analogy(walk, walk, march, settings=replace(full, eigenvectors=1)), march)
    assert averaged > 1.5 * best
    assert blind > best + 0.5
    assert one > 2.0 * best
    new = make_study(march, spread_markers(march.skeleton), what="march", like=walk, components=12)
    cut = angle_between(new.chart.rotations(new.joint.rebuilt()), new.course.off(march).rotations)
    assert np.degrees(cut).mean() < 0.1


def test_a_mirrored_body_is_not_taken_for_itself(walk: Motion, march: Motion) -> None:
    """Guard of the measure: the mirrored march is far from the march."""
    result = analogy(walk, walk, march, settings=replace(STRICT, components=8, eigenvectors=8))
    straight, _ = error(result, march)
    off = np.degrees(angle_between(result.level.rotations, result.new.course.off(mirror(march)).rotations)).mean()
    assert off > 2.0 * straight


# Options.


def test_places_of_points_are_reached(walk: Motion, march: Motion, cases: ModuleType) -> None:
    plain = cases.dog_march()
    at = fk(plain.level).points(["Nose"])[20, 0] + [0.0, 0.08, 0.0]
    result = march_dog(walk, march, places=(MarkerAt(frame=20, point="Nose", place=at),))
    assert result.measures["place_error"] < 1e-3
    assert result.measures["correlation"] > 0.9


def march_dog(walk: Motion, march: Motion, **options: Any) -> Analogy:
    return analogy(walk, samples.motion("dog_walk", fps=30.0, seconds=4.0).motion, march, **options)


def test_a_given_mean_pose_is_kept(walk: Motion, march: Motion, cases: ModuleType) -> None:
    result = march_dog(walk, march, mean_pose=cases.crouch(), settings=Settings(clean=False))
    assert result.attempt.strangeness < np.radians(6.0)
    assert result.raw.root[:, 1].mean() < cases.dog_march().raw.root[:, 1].mean() - 0.04


def test_time_warping_of_the_eigenmotion(walk: Motion, march: Motion) -> None:
    slow = march_dog(walk, march, tempo=Tempo.factor(0.5, march.duration))
    plain = march_dog(walk, march)
    assert slow.motion.num_frames == 2 * march.num_frames - 1
    assert slow.measures["period_result"] == pytest.approx(2.0 * plain.measures["period_result"], rel=0.02)
    assert slow.measures["period_result"] == pytest.approx(slow.measures["period_source"], rel=0.02)
    assert np.degrees(angle_between(slow.level.rotations[::2], plain.level.rotations)).max() < 0.1
    assert slow.measures["contacts"]["after"] < 1e-3
    assert len(slow.stepping.contacts) == len(plain.stepping.contacts)


def test_travel_by_feet_slides_less_than_by_legs(walk: Motion, march: Motion) -> None:
    by = {how: march_dog(walk, march, settings=Settings(travel=how, clean=False)) for how in ("feet", "legs", 0.3)}
    assert by[0.3].stepping.ratio == 0.3
    gone = {how: float(r.raw.root[-1, 2] - r.raw.root[0, 2]) for how, r in by.items()}
    assert gone[0.3] == pytest.approx(0.3 * float(march.root[-1, 2] - march.root[0, 2]))
    strays = {how: r.measures["contacts"]["before"] for how, r in by.items()}
    assert strays["feet"] < strays["legs"]


def test_low_scores_are_tried_again_and_warned_of(walk: Motion, march: Motion) -> None:
    dog = samples.motion("dog_walk", fps=30.0, seconds=4.0).motion
    swim = samples.motion("swim", fps=30.0, seconds=4.0).motion
    good = analogy(walk, dog, march, settings=Settings(clean=False))
    assert len(good.attempts) == 1
    assert good.warnings == ()
    poor = analogy(walk, swim, march, settings=Settings(clean=False))
    assert len(poor.attempts) > 2
    assert len({(a.threshold, a.components) for a in poor.attempts}) > 2
    assert poor.score < 0.5
    assert poor.score == pytest.approx(poor.attempt.score * poor.quality.score)
    assert any("share little" in s or "score is low" in s or "performed differently" in s for s in poor.warnings)
    once = analogy(walk, swim, march, settings=Settings(clean=False, retries=False))
    assert len(once.attempts) == 1


def test_the_function_is_there_by_its_name(walk: Motion, march: Motion) -> None:
    """Also after its package of the same name has been imported."""
    result = understudy.analogy(walk, walk, march, settings=Settings(clean=False))  # type: ignore[operator]
    assert isinstance(result, Analogy)


# What is refused.


def test_bad_input_is_refused_with_what_to_try(walk: Motion, march: Motion, cases: ModuleType) -> None:
    dog = samples.motion("dog_walk", fps=30.0, seconds=4.0).motion
    with pytest.raises(
        AnalogyError, match=r"different length: A's lasts 4\.00 s \(121 frames\), B's 2\.00 s \(61 frames\)"
    ) as caught:
        analogy(walk, dog[:61], march)
    assert "--any-length" in caught.value.hint
    assert analogy(walk, dog[:61], march, settings=Settings(any_length=True, clean=False)).score > 0.5
    still = dog[np.zeros(121, dtype=int)]
    with pytest.raises(MotionError, match=r"Nothing moves in B's example: 121 frames of one pose"):
        analogy(walk, still, march)
    with pytest.raises(MotionError, match=r"5 components cannot be had from A's new motion: it has 4 frames"):
        analogy(walk, dog, march[:4])
    with pytest.raises(
        AnalogyError, match=r"No marker of `dog` moves as any of `adult` does: the best match score is"
    ) as caught:
        analogy(walk, dog, march, settings=Settings(threshold=1.0, retries=False))
    assert "lower the threshold" in caught.value.hint
    with pytest.raises(OptionError, match="B has no example motion, so its markers cannot be matched"):
        analogy(walk, None, march, target=dog.skeleton)
    with pytest.raises(OptionError, match="an example motion of B, or B as a target with marker pairs; got neither"):
        analogy(walk, None, march)
    with pytest.raises(OptionError, match="A has no example motion to compare B's with"):
        analogy(None, dog, march)
    with pytest.raises(OptionError, match=r"must be by one body; their joints differ in \['"):
        analogy(dog, walk, march)
    pair = MarkerPair(b="LeftForeTow", a=("LeftToeTip",))
    with pytest.raises(UnknownNameError, match=r"Marker `LeftForeTow` is neither a marker nor a joint.*`LeftForeToe`"):
        analogy(None, None, march, target=dog.skeleton, pairs=(pair,))
    with pytest.raises(MotionError, match="set at frame 500, but the new motion has frames 0 to 120"):
        march_dog(walk, march, poses=(PoseAt(frame=500, rotations=cases.crouch()),))
    with pytest.raises(UnknownNameError, match="Joint `Tial` is on neither body; nearest: `Tail`"):
        march_dog(walk, march, settings=Settings(without=("Tial",)))
    with pytest.raises(OptionError, match="Expected 1 to 5 eigenvectors, as there are components; got 6"):
        march_dog(walk, march, settings=Settings(eigenvectors=6))


def test_a_pose_on_two_feet_may_hold_the_others_up(cases: ModuleType) -> None:
    """Feet that a given pose holds up are no fault: the dog that marches on two feet does not score as a broken one."""
    result = cases.dog_march_upright()
    assert result.quality.raised == 0.0
    assert result.score > 0.2
