"""Lommers, "Evaluation of motion retargeting using spacetime constraints" (2013): tables 7.1 and 7.2, all rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from papers.lommers13 import (
    ANKLES,
    CASES,
    TOLERANCE,
    WRISTS,
    Row,
    asked,
    between_feet,
    explanation,
    limbs_apart,
    measure,
    missing_reach,
    run_case,
    sampled,
    span,
    tables,
    worse_than_the_thesis,
)

from understudy.base.quaternion import exp, multiply
from understudy.figure.bands import rms_jerk
from understudy.figure.kinematics import fk
from understudy.figure.mass import centre_of_mass
from understudy.figure.measures import leg_length
from understudy.metrics.base import Verdict

NAMES = [case.name for case in CASES]
UNSOLVED = ("01", "04", "06", "07", "12")
"""What the thesis could not solve in 24 hours."""


@cache
def row(name: str) -> Row:
    return run_case(next(case for case in CASES if case.name == name))


def test_the_configurations_are_those_of_table_7_1():
    """Uniform 0.5, 0.8, 1.1, 1.4, 1.8; incremental 0.7, 0.9, 1.1, 1.3; a walk; and three sets of constraints."""
    assert [f"{number:02d}" for number in range(1, 13)] == NAMES
    even = [case.scale for case in CASES if case.even and case.constraints == "original_position"]
    assert even == [0.5, 0.8, 1.1, 1.4, 1.8, 1.4]
    assert [case.scale for case in CASES if not case.even] == [0.7, 0.9, 1.1, 1.3]
    assert [case.name for case in CASES if case.motion == "walk"] == ["10"]
    assert [case.constraints for case in CASES[-2:]] == ["key_moment", "key_moment_interpolated"]
    assert tuple(case.name for case in CASES if not case.thesis.solved) == UNSOLVED


def test_the_reach_goes_low_and_comes_back_without_travel():
    """Sec. 7.1.1: a motion without global translation. Hands go down by more than half a metre and return; feet stand
    still to 1 mm, and the cut is as smooth as what it was cut from (jerk of its turning point below its own mean)."""
    material = sampled()
    motion, contacts = material.reach, material.reach_contacts
    hands, ankles = (fk(motion).points(names) for names in (WRISTS, ANKLES))
    lowest = round(material.grip * motion.fps)
    assert (hands[0] - hands[lowest])[:, 1].min() > 0.5
    np.testing.assert_allclose(hands[0], hands[-1], atol=1e-12)
    assert np.ptp(ankles, axis=0).max() < 1e-3
    assert {c.point.name for c in contacts} == {
        f"{s}{p}" for s in ("Left", "Right") for p in ("Heel", "ToeBase", "ToeTip")
    }
    assert rms_jerk(motion[lowest - 3 : lowest + 4]) < rms_jerk(motion)


def test_incremental_scaling_is_once_more_at_every_level():
    """Sec. 7.1.2: a forearm, at the seventh level, is scaled by the seventh power."""
    case = CASES[5]
    own, target = case.source().skeleton, case.target()
    for name, level in (("LeftLeg", 2), ("LeftFoot", 3), ("LeftHand", 7)):
        joint = own.joint(name)
        assert target.lengths[joint] == pytest.approx(0.7**level * own.lengths[joint])


@pytest.mark.parametrize("name", NAMES)
def test_no_row_is_worse_than_the_thesis(name, record_property):
    """Table 7.2, every column: what is left, hours, balance, flight, penetration, path, acceleration and goal."""
    found = row(name)
    record_property("seconds", round(found.asked.seconds + found.ours.seconds, 2))
    assert worse_than_the_thesis(found) == ()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "06"])
def test_what_can_be_solved_is_solved(name):
    """With the thesis's own constraints every point is within 0.5 mm of its place at every frame, thirty times as near
    as it asked; joints stay inside their limits (0.1 degree). So does our own statement of the goal, where planted feet
    slide by less than 5 mm/s, nothing is below the floor by more than 2 mm, and jerk is nowhere bad.
    """
    found = row(name)
    assert found.asked.solved
    assert found.asked.worst < 5e-4
    assert not found.solutions[0].unmet
    assert not found.solutions[1].unmet
    for columns in (found.asked, found.ours):
        assert columns.breach < np.radians(0.1)
    assert found.ours.reached
    assert found.ours.skate < 5e-3
    assert found.ours.sunk < 2e-3
    assert found.ours.flight < 2e-3
    assert found.ours.smoothness != Verdict.BAD


def test_six_is_impossible_and_the_proof_is_right():
    """06: two wrists half a metre apart, on a body that cannot span 20 cm. The proof is checked by trying: of 2000
    random poses none has its wrists further apart than the span, and the span is nearly reached by stretching."""
    case = CASES[5]
    reach = missing_reach(case)
    assert reach.impossible
    assert set(reach.points) == set(WRISTS)
    assert reach.missing > 0.3
    target, rng = case.target(), np.random.default_rng(1)
    source = case.source()[np.zeros(2000, int)]
    turned = multiply(source.rotations, exp(rng.uniform(-2.0, 2.0, (*source.rotations.shape[:2], 3))))
    hands = fk(replace(source, skeleton=target, rotations=turned)).points(WRISTS)
    apart = np.linalg.norm(hands[:, 0] - hands[:, 1], axis=-1)
    assert apart.max() <= reach.span + 1e-12
    assert apart.max() > 0.8 * reach.span
    assert not row("06").asked.solved
    assert "0.333 m are missing" in explanation(row("06"))


def test_what_misses_its_reach_still_keeps_the_rest():
    """06 in our own statement: feet, floor, balance and limits hold, and only the two hands are named as not met."""
    found = row("06").solutions[1]
    named = {ref.point for outcome in found.unmet for ref in outcome.constraint.point_refs()}
    assert named == set(WRISTS)


def test_the_span_of_a_straight_chain_is_its_length():
    skeleton = CASES[0].source().skeleton
    joints = [skeleton.joint(name) for name in ("LeftLeg", "LeftFoot")]
    assert span(skeleton, "LeftUpLeg", "LeftFoot") == pytest.approx(skeleton.lengths[joints].sum())
    assert span(skeleton, "LeftFoot", "LeftFoot") == 0.0


@pytest.mark.parametrize("name", UNSOLVED)
def test_every_row_unsolved_there_is_explained(name):
    said = explanation(row(name))
    assert said.startswith("impossible" if name == "06" else "solved")
    assert any(name == line[0] and said == line[2] for line in tables(tuple(row(n) for n in UNSOLVED))[2].rows)


def test_defects_of_known_size_are_measured():
    """The columns tell good from bad: a result lifted by 4 cm flies 4 cm, one sunk by 4 cm is 4 cm deep, and its
    points are off by as much; leaning back by 90 degrees, its centre of mass far behind its heels at every frame, it is
    out of balance at every frame that stands."""
    found = row("03")
    solution = found.solutions[1]
    wanted = asked(found.case, WRISTS)

    def shifted(by: tuple[float, float, float]):
        moved = replace(solution.motion, root=solution.motion.root + np.array(by))
        return measure(found.case, replace(solution, motions=(moved,)), wanted)

    up, down = shifted((0.0, 0.04, 0.0)), shifted((0.0, -0.04, 0.0))
    assert up.flight == pytest.approx(0.04, abs=1e-3)
    assert up.flies
    assert down.sunk == pytest.approx(0.04, abs=1e-3)
    assert "ground" in down.penetration
    assert up.worst == pytest.approx(0.04, abs=1e-3)
    assert up.missed == pytest.approx(0.04, abs=1e-3)
    assert not up.reached
    lean = solution.motion.rotations.copy()
    back = solution.motion.skeleton.joint("LowerBack")
    lean[:, back] = multiply(lean[:, back], exp(np.array([-np.radians(90.0), 0.0, 0.0])))
    leaning = replace(solution.motion, rotations=lean)
    behind = (fk(leaning).points(["LeftHeel"])[:, 0] - centre_of_mass(fk(leaning)))[:, 2]
    assert behind.min() > 0.05 * leg_length(leaning.skeleton)
    columns = measure(found.case, replace(solution, motions=(leaning,)), wanted)
    assert found.ours.balance == "yes"
    assert columns.balance == "no"
    assert columns.outside == 1.0
    # Two wrists, looked at every 0.13 s for 2 s, each 4 cm off along one axis.
    assert up.difference == pytest.approx(2 * 16 * (0.04 - TOLERANCE), rel=1e-2)


def test_worse_results_are_called_worse():
    """Each column can fail: a row with a defect in it is found to be worse than the thesis, in words."""
    found = row("10")
    flawed = {
        "balance": replace(found.ours, outside=0.01),
        "fly": replace(found.ours, flight=0.008),
        "ground": replace(found.ours, sunk=0.008),
        "hand": replace(found.ours, inside=0.015),
        "path": replace(found.ours, longer={"hips": 1.3, "head": 1.2}),
        "acceleration": replace(found.ours, faster={"hips": 1.2, "head": 1.3}),
        "goal": replace(found.ours, missed=0.1),
        "took": replace(found.ours, seconds=4000.0),
    }
    for word, columns in flawed.items():
        (sentence,) = worse_than_the_thesis(replace(found, ours=columns))
        assert word in sentence
    (sentence,) = worse_than_the_thesis(replace(found, asked=replace(found.asked, difference=0.1)))
    assert "0.1 m are left" in sentence


def test_thresholds_are_those_of_the_metrics_and_grow_with_the_legs():
    """What is noticeable to `understudy evaluate` is named here; on a body twice as large twice as much is allowed."""
    adult = replace(row("10").ours, size=1.0)
    for size in (1.0, 2.0):
        body = replace(adult, size=size)
        assert not replace(body, flight=0.0049 * size).flies
        assert replace(body, flight=0.0051 * size).flies
        assert replace(body, inside=0.0099 * size, sunk=0.0049 * size).penetration == ""
        assert replace(body, inside=0.0101 * size, sunk=0.0051 * size).penetration == "hand, ground"
    words = [replace(adult, outside=share).balance for share in (0.0, 0.04, 0.19, 0.21)]
    assert words == ["yes", "plausible", "unlikely", "no"]
    assert replace(adult, faster={"hips": 1.24, "head": 1.26, "hand": 2.5}).acceleration == "head, hand"


def test_what_is_not_good_is_as_the_page_says():
    """No arm is in another part, in any row. Only the legs of 05 and 09 are in each other, and no deeper than their
    shanks are thicker than what they are asked to keep apart; 09, whose arms are six times as long, has fast elbows."""
    for name in NAMES:
        ours = row(name).ours
        assert ours.penetration == "", name
        assert ours.legs < thicker_than_asked(name) + 2e-3, name
        assert ours.path == "", name
        assert ours.acceleration == ("elbow" if name == "09" else ""), name


def thicker_than_asked(name: str) -> float:
    """Metres by which parts of the legs are thicker than they are asked to be apart: 0 where feet stand wide enough."""
    case = next(case for case in CASES if case.name == name)
    pairs = zip(limbs_apart(case.target()), limbs_apart(case.target(), between_feet(case)), strict=True)
    return max(whole.radius - limited.radius for whole, limited in pairs)


def test_only_the_legs_of_05_and_09_are_thicker_than_asked():
    assert {name for name in NAMES if thicker_than_asked(name) > 0.0} == {"05", "09"}


def test_no_weight_is_chosen_for_these_rows():
    """All coordinates cost what they cost in a plain retarget."""
    for name in NAMES:
        (actor,) = row(name).solutions[1].problem.actors
        assert set(actor.stiffness) <= {"LeftToeBase", "RightToeBase"}, name


def test_legs_are_asked_apart_no_farther_than_they_stand():
    """The shanks of a body 1.8 times as large cannot be apart where its ankles are nearer: the original's distance is
    asked for there, and the whole thickness for thighs."""
    case = CASES[4]
    footing = between_feet(case)
    assert footing == pytest.approx(0.158, abs=1e-3)
    radii = {each.name: (each.radius, limited.radius) for each, limited in zip(
        limbs_apart(case.target()), limbs_apart(case.target(), footing), strict=True
    )}  # fmt: skip
    shanks = "left lower_leg clear of right lower_leg (LeftFoot, RightFoot)"
    assert radii[shanks][0] > footing > radii[shanks][1]
    thighs = [pair for name, pair in radii.items() if name.count("upper_leg") == 2]
    assert thighs
    assert all(whole == limited for whole, limited in thighs)
