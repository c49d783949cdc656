"""Vanderhyde, "Retargeting motion capture data using spacetime constraints" (2003): a handhold during a squat."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from papers.vanderhyde03_study import FRAMES, HOLD_RADIUS_METRES, KEY_FRAMES, WEIGHTS, HalfSquat, solve_keys

from understudy import samples
from understudy.base.quaternion import Array
from understudy.constraints.base import ConstraintInput, PointRef
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.correspondence.limits import human_limits
from understudy.figure.bands import choose_spacing
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.retarget.plan import Assignment, plan
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Outcome, Solution, Solver
from understudy.solve.solvers.keyed import Keyed
from understudy.solve.solvers.spacetime import Spacetime

ARM = ("LeftArm", "LeftForeArm", "LeftHand")
"""The free joints of the study: shoulder, elbow and wrist."""
HAND = "LeftPalm"


@cache
def squat() -> Motion:
    """One squat of our own: standing, down and up again."""
    return samples.motion("squat").motion[:79]


def railing() -> Array:
    """(3,) a place to hold on to: beside the body, half-way between where the shoulder is high and low."""
    shoulder = fk(squat()).points([ARM[0]])[:, 0]
    reach = squat().skeleton.lengths[[squat().skeleton.joint(name) for name in ARM[1:]]].sum()
    reach += np.linalg.norm(squat().skeleton.point(HAND).offset)
    return 0.5 * (shoulder.max(0) + shoulder.min(0)) + reach * np.array([0.6, 0.0, 0.2])


def handhold() -> Place:
    return Place(point=PointRef(point=HAND), target=railing(), name="handhold")


@cache
def limits() -> tuple[JointRange, ...]:
    """Normal human ranges of the arm: swing and twist for the shoulder."""
    return tuple(each for each in human_limits(squat())[0] if each.joints()[0].point in ARM)


def solve(solver: Solver, *, limited: bool = True) -> Solution:
    """Only the arm may move, as in the study."""
    actor = Actor(motion=squat(), joints=ARM, root_moves=False)
    return solver.solve(Problem(actors=(actor,), constraints=(handhold(), *(limits() if limited else ()))))


def held(found: Solution) -> Outcome:
    return next(o for o in found.outcomes if o.constraint.name == "handhold")


@cache
def ours() -> Solution:
    return solve(Spacetime(spacing=choose_spacing(squat())))


def test_the_hand_has_to_reach_down_and_then_up():
    """The setting: standing, the character reaches down to the hold, squatting up to it; it is always in reach."""
    shoulder = fk(squat()).points([ARM[0]])[:, 0]
    assert (railing() - shoulder)[:, 1].min() < -0.1
    assert (railing() - shoulder)[:, 1].max() > 0.1
    assert np.linalg.norm(railing() - shoulder, axis=-1).max() < 0.55


def test_more_keys_hold_more_tightly_and_none_of_them_holds():
    """Results: with four, five and six keys the constraint is held more tightly with more keys (mean error falls each
    time), and with none of them over the whole range: it is off by over 1 cm somewhere. Nothing explodes: every motion
    is finite and the joints that may not move are untouched.
    """
    found = [solve(Keyed(count=count), limited=False) for count in (4, 5, 6)]
    means = [held(each).mean for each in found]
    assert means[0] > means[1] > means[2]
    for each in found:
        assert held(each).worst > 0.01
        assert np.all(np.isfinite(each.motion.rotations))
        others = [i for i, name in enumerate(squat().skeleton.names) if name not in ARM]
        np.testing.assert_allclose(each.motion.rotations[:, others], squat().rotations[:, others], atol=1e-12)


@pytest.mark.parametrize("interpolation", ["slerp", "cubic"])
def test_quaternions_between_keys(interpolation):
    """Approach: spherical linear interpolation between keys; cubic, "a simple next step", is here too. With keys the
    displacement between two of them is smooth: no joint turns by more than 20 degrees from a frame to the next."""
    found = solve(Keyed(count=6, interpolation=interpolation), limited=False)
    q = found.motion.rotations
    turned = 2.0 * np.arccos(np.clip(np.abs(np.einsum("fji,fji->fj", q[1:], q[:-1])), 0.0, 1.0))
    assert np.degrees(turned.max()) < 20.0
    assert held(found).mean < 0.05


def test_ours_holds_over_the_whole_range():
    """What the study could not find: the hand stays within 1 mm of the hold at every frame, measured in the world, by
    the arm alone and inside its limits (0.1 degree)."""
    found = ours()
    off = np.linalg.norm(fk(found.motion).points([HAND])[:, 0] - railing(), axis=-1)
    assert off.max() < 1e-3
    assert max(o.worst for o in found.outcomes if o.constraint.kind == "joint_range") < np.radians(0.1)
    np.testing.assert_array_equal(found.motion.root, squat().root)


def test_the_shoulder_is_limited_as_one_thing():
    """ "We could not figure out a way to do this through quaternions": the shoulder has a limit of swing and twist.

    Made a tenth as wide as a human's it cannot reach the hold any more: the limit is kept (within 2 degrees, where
    without it the shoulder leaves it by more than 15) and the hold is named as not met.
    """
    shoulder = next(each for each in limits() if each.joints()[0].point == ARM[0])
    assert shoulder.swing is not None
    assert shoulder.twist is not None
    turns = squat().rotations[:, squat().skeleton.joint(ARM[0])]
    tight = JointRange(
        joint=shoulder.joint, rest=shoulder.rest, axis=shoulder.axis, reference=shoulder.reference,
        swing=0.1 * shoulder.swing, priority=2,
    ).widened(turns)  # fmt: skip
    actor = Actor(motion=squat(), joints=ARM, root_moves=False)
    solver = Spacetime(spacing=choose_spacing(squat()))
    found = solver.solve(Problem(actors=(actor,), constraints=(handhold(), tight)))
    broken = next(o for o in found.outcomes if o.constraint.kind == "joint_range")
    free = solve(solver, limited=False).motion.rotations[:, squat().skeleton.joint(ARM[0])]
    assert broken.worst < np.radians(2.0)
    assert held(found) in found.unmet
    assert _outside(tight, free) > np.radians(15.0)


def _outside(limit: JointRange, turns: Array) -> float:
    """How far rotations (F, 4) are outside a limit, radians."""
    view = ConstraintInput(
        times=np.arange(len(turns), dtype=float), points=np.empty((len(turns), 0, 3)), local_rotations=turns[:, None]
    )
    return float(limit.rows(view).values.max())


def test_the_whole_body_may_help():
    """Results: "clearly the character should lean", which needs the feet kept: with all joints free, feet planted and
    limits of every joint, all constraints are met within 1 mm and the shoulder has less to do than alone."""
    contacts = samples.motion("squat").contacts
    short = [c for c in contacts if c.start < squat().duration]
    found = plan(
        [Assignment(motion=squat(), target=squat().skeleton)], constraints=[handhold()], contacts=short
    ).solve()
    assert not found.unmet
    joint = squat().skeleton.joint(ARM[0])
    turned = []
    for each in (found, ours()):
        q, before = each.motion.rotations[:, joint], squat().rotations[:, joint]
        turned.append(float(np.arccos(np.clip(np.abs(np.einsum("fi,fi->f", q, before)), 0.0, 1.0)).mean()))
    assert turned[0] < turned[1]


def half_squat() -> HalfSquat:
    """The study's half squat, in its 139 frames."""
    return HalfSquat.of("sample", samples.motion("squat").motion[:79], (0.6, 0.0, 0.2))


def test_the_study_itself_with_its_keys_and_weights():
    """Results, with the study's own keys and weights: the hand is at its hold at the keys, and nowhere throughout.

    Six keys hold more tightly than four on average. Five do not: all of theirs are before the trouble, and there they
    hold the most tightly.
    """
    given = half_squat()
    assert given.motion.num_frames == FRAMES
    offs = {}
    for count, frames in KEY_FRAMES.items():
        result = solve_keys(given, frames, WEIGHTS)
        assert result.met
        offs[count] = given.off(result.motion)
        assert offs[count][np.array(frames) - 1].max() < 1.1 * HOLD_RADIUS_METRES
        assert offs[count].max() > 0.02
    assert offs[6].mean() < offs[4].mean() < offs[5].mean()
    assert offs[5][:57].mean() < min(offs[4][:57].mean(), offs[6][:57].mean())


def test_the_arm_of_the_study_is_the_arm_of_the_body():
    """The study's own forward kinematics with no displacement is where the palm is."""
    given = half_squat()
    frames = np.array([0, 70, 138])
    still = np.tile([1.0, 0.0, 0.0, 0.0], (3, 1))
    places = given.arm.palm(frames, still, np.zeros((3, 2)))
    np.testing.assert_allclose(places, fk(given.motion).points([given.palm])[frames, 0], atol=1e-9)
