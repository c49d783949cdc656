"""World paths: planted defects of known size are told in size and place, and clean motions are good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from understudy import mirror, retarget, samples
from understudy.analogy.make import analogy
from understudy.base.quaternion import Array, from_axis_angle, multiply, rotate
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.kinematics import fk, paths_of
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.metrics.base import ADULT_LEG_METRES, Measurement, Report, Verdict, evaluate, quick_metrics
from understudy.metrics.comparison import (
    Comparison,
    Reference,
    crosses_sides,
    leg_lengths,
    match_main_joints,
    same_proportions,
)
from understudy.metrics.world_path import StandFrames, count_events, find_stands, largest_nearby
from understudy.recipe.guards import analogy_report, transition_report
from understudy.retarget.driver import naive
from understudy.transition import transition

PATHS = ("path_jerk", "pop", "standing")
FRAME = 130


@cache
def walk(fps: float = 60.0) -> Motion:
    return samples.motion("walk", fps=fps).motion


@cache
def squat() -> Motion:
    return samples.motion("squat", fps=60.0).motion


def measured(result: Motion, source: Motion, metric: str) -> Measurement:
    return evaluate(result, source, only=[metric])[metric]


def value(measurement: Measurement, figure: str) -> float:
    found = measurement[figure]
    assert found is not None
    return found


def spiked(motion: Motion, metres: float, frame: int = FRAME) -> Motion:
    """A motion whose whole body is elsewhere in one frame."""
    root = motion.root.copy()
    root[frame] += [metres, 0.0, 0.0]
    return replace(motion, root=root)


def stepped(motion: Motion, metres: float, frame: int = FRAME) -> Motion:
    """A motion whose whole body is elsewhere from a frame on."""
    root = motion.root.copy()
    root[frame:] += [0.0, 0.0, metres]
    return replace(motion, root=root)


def shaken(motion: Motion, joint: str, degrees: float) -> Motion:
    """A motion with noise on one joint."""
    angles = np.random.default_rng(3).normal(0.0, np.radians(degrees), motion.num_frames)
    rotations = motion.rotations.copy()
    index = motion.skeleton.joint(joint)
    rotations[:, index] = multiply(rotations[:, index], from_axis_angle(np.array([1.0, 0.0, 0.0]), angles))
    return replace(motion, rotations=rotations)


class TestClean:
    @pytest.mark.parametrize("name", ["walk", "run", "squat", "march", "dog_walk", "spider_walk", "swim"])
    def test_a_sample_against_itself(self, name: str) -> None:
        motion = samples.motion(name).motion
        for metric in PATHS:
            assert measured(motion, motion, metric).verdict in (Verdict.GOOD, Verdict.UNGRADED)

    @pytest.mark.parametrize("size", [0.3, 0.6, 1.4])
    def test_a_body_of_another_size_has_the_same_ratios(self, size: float) -> None:
        source = walk()
        scaled = replace(source, skeleton=source.skeleton.scaled(size), root=size * source.root)
        jerk = measured(scaled, source, "path_jerk")
        for part in ("hips", "head", "hand", "knee", "foot"):
            assert value(jerk, part) == pytest.approx(1.0, abs=1e-6)
        assert value(measured(scaled, source, "pop"), "worst") == pytest.approx(0.0, abs=1e-9)
        assert value(measured(scaled, source, "standing"), "added_drift") == pytest.approx(0.0, abs=1e-9)

    def test_another_frame_rate_is_no_defect(self) -> None:
        assert measured(walk(30.0), walk(60.0), "pop").verdict is Verdict.GOOD
        assert measured(walk(30.0), walk(60.0), "standing").verdict is Verdict.GOOD

    @pytest.mark.parametrize("metric", PATHS)
    def test_turned_and_moved_as_a_whole(self, metric: str) -> None:
        source = walk()
        turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), 1.1)
        rotations = source.rotations.copy()
        rotations[:, 0] = multiply(turn, rotations[:, 0])
        moved = replace(source, root=rotate(turn, source.root) + np.array([3.0, 0.0, -2.0]), rotations=rotations)
        figures = [measured(motion, source, metric).figures for motion in (source, moved)]
        for before, after in zip(*figures, strict=True):
            assert before.value == pytest.approx(after.value, abs=1e-6)


class TestPop:
    def test_a_jump_of_five_millimetres_in_one_frame_of_the_hips(self) -> None:
        source = walk()
        pop = measured(spiked(source, 0.005), source, "pop")
        # There and back, a step changes by twice the jump, less what the source allows.
        assert value(pop, "worst") == pytest.approx(0.010, abs=0.0025)
        assert value(pop, "worst") <= 0.010
        assert value(pop, "rate") == 1.0
        assert value(pop, "frames") == 3.0
        assert pop.verdict is Verdict.BAD
        assert pop.facts["time"] == pytest.approx(FRAME / source.fps)
        assert f"at {FRAME / source.fps:.2f} s" in pop.words
        assert pop.hint

    def test_a_body_that_is_moved_by_five_millimetres_from_a_frame_on(self) -> None:
        source = walk()
        pop = measured(stepped(source, 0.005), source, "pop")
        assert value(pop, "worst") == pytest.approx(0.005, abs=0.0025)
        assert value(pop, "rate") == 1.0
        assert pop.verdict is not Verdict.GOOD

    def test_half_a_millimetre_is_none(self) -> None:
        pop = measured(spiked(walk(), 0.0005), walk(), "pop")
        assert value(pop, "rate") == 0.0
        assert pop.verdict is Verdict.GOOD
        assert pop.words == "neither hips nor head jump off their path"

    def test_pops_are_counted_for_each_ten_seconds(self) -> None:
        source = walk()
        bad = source
        for frame in (60, 130, 200):
            bad = spiked(bad, 0.01, frame)
        assert value(measured(bad, source, "pop"), "rate") == 3.0
        assert "3 times" in measured(bad, source, "pop").words

    def test_a_jump_that_the_source_has_too_is_none(self) -> None:
        source = spiked(walk(), 0.02)
        assert measured(source, source, "pop").verdict is Verdict.GOOD
        assert measured(spiked(walk(), 0.02, FRAME + 1), source, "pop").verdict is Verdict.GOOD
        assert measured(spiked(walk(), 0.02, FRAME + 8), source, "pop").verdict is Verdict.BAD

    def test_a_limb_that_jumps_far(self) -> None:
        source = walk()
        rotations = source.rotations.copy()
        index = source.skeleton.joint("LeftArm")
        rotations[FRAME, index] = multiply(rotations[FRAME, index], from_axis_angle(np.array([0.0, 0.0, 1.0]), 0.2))
        pop = measured(replace(source, rotations=rotations), source, "pop")
        assert value(pop, "rate") == 0.0
        assert value(pop, "limb_worst") > 0.03
        assert pop.verdict is Verdict.BAD

    def test_events_near_each_other_are_one(self) -> None:
        mask = np.zeros(40, bool)
        assert count_events(mask, 2) == 0
        mask[[5, 6, 9, 20]] = True
        assert count_events(mask, 2) == 2
        assert count_events(mask, 1) == 3

    @pytest.mark.parametrize("reach", [1, 2, 3, 4, 7])
    def test_the_largest_nearby(self, reach: int) -> None:
        values = np.random.default_rng(reach).random((50, 2))
        expected = [values[max(f - reach, 0) : f + reach + 1].max(axis=0) for f in range(50)]
        np.testing.assert_array_equal(largest_nearby(values, reach), expected)


class TestPathJerk:
    def test_noise_on_a_knee_is_seen_at_the_foot_below_and_nowhere_else(self) -> None:
        source = walk()
        jerk = measured(shaken(source, "LeftLeg", 1.0), source, "path_jerk")
        assert value(jerk, "foot") > 2.0
        assert value(jerk, "hips") == pytest.approx(1.0, abs=1e-9)
        assert value(jerk, "knee") == pytest.approx(1.0, abs=1e-9)
        assert jerk.verdict is Verdict.BAD
        assert jerk.facts["joint"].startswith("Left")

    def test_noise_on_a_thigh_is_seen_at_the_knee(self) -> None:
        source = walk()
        jerk = measured(shaken(source, "RightUpLeg", 1.0), source, "path_jerk")
        assert value(jerk, "knee") > 2.0
        assert value(jerk, "hand") == pytest.approx(1.0, abs=1e-9)

    @pytest.mark.parametrize("metres", [0.001, 0.002])
    def test_noise_of_known_size_on_the_hips(self, metres: float) -> None:
        source = walk()
        noise = np.random.default_rng(1).normal(0.0, metres, source.root.shape)
        jerk = measured(replace(source, root=source.root + noise), source, "path_jerk")
        # The third difference of white noise has 1 + 9 + 9 + 1 times its variance.
        pose = fk(source).positions[:, [source.skeleton.joint("LeftUpLeg"), source.skeleton.joint("RightUpLeg")]]
        own = float(np.mean(np.sum(np.diff(pose.mean(axis=1), n=3, axis=0) ** 2, axis=-1)))
        expected = np.sqrt((3 * 20.0 * metres**2 + own) / own)
        assert value(jerk, "hips") == pytest.approx(expected, rel=0.06)

    def test_a_still_source_does_not_make_every_movement_a_jerk(self) -> None:
        source = walk()
        still = replace(
            source, root=source.root[:1].repeat(len(source), 0), rotations=source.rotations[:1].repeat(len(source), 0)
        )
        barely = replace(still, root=still.root + 1e-9 * np.sin(still.times)[:, None])
        assert measured(barely, still, "path_jerk").verdict is Verdict.GOOD

    def test_without_a_source_or_with_few_frames_it_is_not_measured(self) -> None:
        for metric in PATHS:
            assert "no source" in evaluate(walk(), only=[metric])[metric].words
        for metric in ("path_jerk", "pop"):
            assert "fewer than five frames" in measured(walk()[:4], walk()[:4], metric).words

    def test_another_tempo_is_not_graded(self) -> None:
        source = walk()
        slow = replace(source, fps=source.fps / 2)
        assert measured(slow, source, "path_jerk").verdict is Verdict.UNGRADED


class TestStanding:
    def test_a_slide_of_two_centimetres_of_a_standing_foot(self) -> None:
        source = squat()
        share = np.clip((source.times - 0.5) / (source.duration - 1.0), 0.0, 1.0)
        slid = replace(source, root=source.root + share[:, None] * np.array([0.02, 0.0, 0.0]))
        standing = measured(slid, source, "standing")
        assert value(standing, "worst_drift") == pytest.approx(0.02, abs=1e-3)
        assert value(standing, "added_drift") == pytest.approx(0.02, abs=1.5e-3)
        assert standing.verdict is Verdict.BAD
        assert "feet move in" in standing.words

    def test_a_late_slide_is_as_long_as_an_even_one(self) -> None:
        path = np.zeros((100, 1, 3))
        path[95:, 0, :2] = 0.02 / np.sqrt(2.0)
        assert StandFrames.of([(0, 0, 100)]).extents(path)[0] == pytest.approx(0.02)

    def test_a_lift_of_two_centimetres_counts_too(self) -> None:
        source = squat()
        lifted = replace(source, root=source.root + np.array([0.0, 0.02, 0.0]) * (source.times > 1.0)[:, None])
        assert value(measured(lifted, source, "standing"), "added_drift") == pytest.approx(0.02, abs=1.5e-3)

    def test_two_millimetres_are_not_seen(self) -> None:
        source = squat()
        slid = replace(source, root=source.root + source.times[:, None] / source.duration * np.array([0.002, 0.0, 0.0]))
        assert measured(slid, source, "standing").verdict is Verdict.GOOD

    def test_a_foot_that_creeps_gives_several_stands(self) -> None:
        path = np.zeros((300, 1, 3))
        path[:, 0, 0] = np.linspace(0.0, 0.1, 300)
        stands = find_stands(path, 60.0)
        assert len(stands) >= 5
        assert max(StandFrames.of(stands).extents(path)) <= 0.02 + 1e-9
        assert all(a[2] <= b[1] for a, b in pairwise(stands))

    def test_a_foot_that_swings_stands_nowhere(self) -> None:
        path = np.zeros((300, 1, 3))
        path[:, 0, 0] = np.linspace(0.0, 5.0, 300)
        assert find_stands(path, 60.0) == []


class TestMainPaths:
    def test_the_places_are_those_of_forward_kinematics(self) -> None:
        motion = walk()
        joints = [motion.skeleton.joint(name) for name in ("Head", "LeftHand", "RightToeBase")]
        np.testing.assert_allclose(paths_of(motion, joints), fk(motion).positions[:, joints], atol=1e-12)

    def test_those_of_a_body_that_changes(self) -> None:
        motion = walk()
        sizes = np.linspace(1.0, 1.5, len(motion))[:, None, None]
        grown = replace(motion, offsets=sizes * motion.skeleton.offsets)
        joints = [motion.skeleton.joint(name) for name in ("Head", "LeftFoot")]
        np.testing.assert_allclose(paths_of(grown, joints), fk(grown).positions[:, joints], atol=1e-12)
        legs = leg_lengths(grown)
        assert isinstance(legs, np.ndarray)
        np.testing.assert_allclose(legs, sizes[:, 0, 0] * leg_length(motion.skeleton))

    def test_the_hips_are_the_middle_of_the_thighs(self) -> None:
        motion = walk()
        paths = Comparison(result=motion, source=motion).main_paths
        thighs = fk(motion).positions[:, [motion.skeleton.joint("LeftUpLeg"), motion.skeleton.joint("RightUpLeg")]]
        np.testing.assert_allclose(paths.result[:, 0], thighs.mean(axis=1), atol=1e-12)
        assert paths.joints.names[:2] == ("hips", "head")

    def test_a_map_that_crosses_the_sides_compares_left_with_right(self) -> None:
        skeleton = walk().skeleton
        swap = {"Left": "Right", "Righ": "Left"}
        pairs = tuple(
            Pair(
                source=(name,),
                target=(
                    (swap[name[:4]] + name.removeprefix("Left").removeprefix("Right"),) if name[:4] in swap else (name,)
                ),
            )
            for name in skeleton.names
        )
        crossed = Correspondence(source=skeleton, target=skeleton, pairs=pairs)
        assert crosses_sides(crossed)
        assert not crosses_sides(None)
        joints = match_main_joints(skeleton, skeleton, crossed=True)
        left = joints.names.index("left hand")
        assert skeleton.names[joints.result[left][0]] == "LeftHand"
        assert skeleton.names[joints.source[left][0]] == "RightHand"
        mirrored = evaluate(mirror(walk()), walk(), crossed, only=["path_jerk"])["path_jerk"]
        assert value(mirrored, "foot") == pytest.approx(1.0, abs=0.02)

    def test_other_proportions_show_the_carried_motion_beside(self) -> None:
        source, child = walk(), samples.character("child")
        carried = naive(source, child)
        assert not same_proportions(source.skeleton, child)
        assert same_proportions(source.skeleton, source.skeleton.scaled(0.5))
        report = evaluate(carried, source, carried=carried, only=PATHS)
        assert report["path_jerk"]["carried_hips"] == report["path_jerk"]["hips"]
        assert report["standing"]["carried_drift"] == report["standing"]["added_drift"]
        assert report["pop"]["carried"] == 0.0
        assert "before the solve" in report["path_jerk"].words

    def test_the_rougher_of_two_references_counts_where_it_says_something(self) -> None:
        path = np.zeros((6, 1, 3))
        path[3, 0, 0] = 1.0
        frames = np.array([-1, -1, 0, 1, 2, 3, 4, 5])
        sizes = Reference(path=path, leg=2.0, frames=frames).differences(2)
        assert sizes.shape == (6, 1)
        np.testing.assert_allclose(sizes[:, 0], [0.0, 0.0, 0.0, 0.5, 1.0, 0.5], atol=0.5)
        assert sizes[:1].sum() == 0.0


DEFECTS: dict[str, Callable[[Motion], Motion]] = {
    "spike": lambda motion: spiked(motion, 0.005),
    "noise": lambda motion: shaken(motion, "LeftUpLeg", 1.0),
    "slide": lambda motion: replace(
        motion, root=motion.root + 0.05 * motion.times[:, None] * np.array([1.0, 0.0, 0.0])
    ),
}


class TestVerdict:
    @pytest.mark.parametrize("defect", DEFECTS)
    def test_a_defect_is_the_headline_with_a_hint(self, defect: str) -> None:
        source = walk()
        report = evaluate(DEFECTS[defect](source), source)
        assert report.verdict is Verdict.BAD
        lines = report.lines()
        assert lines[0].startswith("verdict: bad (")
        assert " bad " in lines[1]
        verdicts = [m.verdict for m in report.ranked if m.figures]
        assert verdicts == sorted(verdicts, key=[Verdict.BAD, Verdict.NOTICEABLE, Verdict.GOOD, Verdict.UNGRADED].index)
        bad = [m for m in report.measurements if m.verdict is Verdict.BAD]
        assert all(m.hint in " ".join(" ".join(lines).split()) for m in bad)
        assert set(report.data()["hints"]) >= {f"{m.title}: {m.hint}" for m in bad}

    def test_a_good_result_has_no_hints(self) -> None:
        report = evaluate(walk(), walk())
        assert report.conclusion == "verdict: good"
        assert report.hints == ()
        assert not any("hint:" in line for line in report.lines())

    def test_a_retarget_tells_the_figures_of_evaluate(self) -> None:
        result = retarget(walk(), samples.character("child"))
        whole = result.evaluate()
        (quick,) = result.reports
        for name in quick_metrics():
            assert quick[name].words == whole[name].words
            assert [f.value for f in quick[name].figures] == [f.value for f in whole[name].figures]
        assert set(quick.skipped) == {m.title for m in whole.measurements if m.metric not in quick_metrics()}
        assert result.verdict is quick.verdict
        assert result.quality["verdict"] == str(result.verdict)
        assert result.quality["evaluations"][0]["metrics"].keys() == set(quick_metrics())
        assert result.summary().splitlines()[0] == quick.conclusion
        assert result.report().startswith(result.summary())
        assert "not measured: balance" in result.summary()

    def test_met_constraints_are_no_headline(self) -> None:
        result = retarget(walk(), samples.character("child"))
        assert not result.unmet
        lines = result.summary().splitlines()
        assert "constraints are met" not in lines[0]
        assert sum("constraints are met" in line for line in lines) == 1

    def test_a_result_that_pops_is_bad_however_well_constraints_are_met(self) -> None:
        result = retarget(walk(), samples.character("child"))
        popped = replace(result.solution.motion, root=spiked(result.solution.motion, 0.02).root)
        changed = replace(result, solution=replace(result.solution, motions=(popped,)))
        assert not changed.unmet
        assert changed.verdict is Verdict.BAD
        assert changed.summary().startswith("verdict: bad (")
        assert "bad" in repr(changed)

    def test_a_failed_result_says_so_first(self) -> None:
        still = replace(walk(), rotations=walk().rotations[:1].repeat(len(walk()), 0))
        report: Report = evaluate(still, walk())
        assert report.lines()[0].startswith("failed: unusable")


def test_thresholds_are_those_of_an_adult() -> None:
    """A defect of one size in leg lengths has one verdict on bodies of all sizes."""
    source = walk()
    verdicts = set()
    for size in (0.4, 1.0, 2.0):
        scaled = replace(source, skeleton=source.skeleton.scaled(size), root=size * source.root)
        leg: Array | float = leg_length(scaled.skeleton)
        verdicts.add(measured(spiked(scaled, 0.003 * float(leg) / ADULT_LEG_METRES), source, "pop").verdict)
    assert len(verdicts) == 1


class TestTransition:
    def test_a_transition_is_compared_with_both_its_motions(self) -> None:
        first, second = samples.motion("walk").motion, samples.motion("run").motion
        made = transition(first, second)
        report = transition_report(made, first, second)
        assert {m.metric for m in report.measurements} == {"goal", "path_jerk", "pop"}
        assert 0.8 < value(report["path_jerk"], "hips") < 1.2
        popped = replace(made, motion=spiked(made.motion, 0.05, (made.start + made.end) // 2))
        bad = transition_report(popped, first, second)
        assert value(bad["pop"], "worst") > 0.07
        assert bad["pop"].facts["time"] == pytest.approx((made.start + made.end) // 2 / first.fps)
        assert "--seconds" in bad["pop"].hint

    def test_a_failed_one_says_so(self) -> None:
        first, second = samples.motion("walk").motion, samples.motion("run").motion
        report = transition_report(transition(first, second), first, second, ["the blend stands still"])
        assert report.conclusion.startswith("failed")

    def test_another_body_is_compared_in_its_own_legs(self) -> None:
        first, second = samples.motion("walk").motion, samples.motion("dog_walk").motion
        report = transition_report(transition(first, second), first, second)
        assert report["pop"].figures
        assert value(report["path_jerk"], "hips") < 5.0


def test_an_analogy_is_compared_with_itself_before_its_feet_were_planted() -> None:
    walk_scene, dog, march = (samples.motion(name) for name in ("walk", "dog_walk", "march"))
    made = analogy(walk_scene.motion, dog.motion, march.motion)
    unplanted = replace(made, motion=made.raw)
    assert analogy_report(unplanted)["path_jerk"]["hips"] == pytest.approx(1.0)
    report = analogy_report(replace(made, motion=spiked(made.raw, 0.05, 40)))
    assert report["pop"].verdict is Verdict.BAD
    assert "--no-clean" in report["pop"].hint
