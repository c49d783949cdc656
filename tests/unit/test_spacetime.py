"""Options and parts of the default solver: levels, hold, slower joints, broken constraints, the working set."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError, UnknownNameError
from understudy.base.quaternion import angle_between, conjugate, from_axis_angle, log, multiply
from understudy.base.splines import Knots
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.figure.kinematics import fk
from understudy.figure.limbs import limb_joints
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.newton import MAX_STEP_LEGS, sampled_frames, worst_violation
from understudy.solve.solvers.spacetime import (
    Level,
    Spacetime,
    levels,
    newly_violated,
    reduced_weights,
    select_working_set,
    stiffened,
)

SPACING = 4 / 30


@cache
def walk() -> Motion:
    return samples.motion("walk", seconds=3.0).motion


def reach(rise: float = 0.2, start: float = 1.2, end: float = 1.6, **options: object) -> Place:
    """The left hand higher than it is half way through."""
    frame = round(0.5 * (start + end) * walk().fps)
    target = fk(walk()).points(["LeftHand"])[frame, 0] + [0.0, rise, 0.1]
    return Place(point=PointRef(point="LeftHand"), target=target, start=start, end=end, **options)  # type: ignore[arg-type]


def problem(*constraints: Constraint) -> Problem:
    return Problem(actors=(Actor(motion=walk()),), constraints=constraints)


def change(motion: Motion) -> np.ndarray:
    """(F, J, 3) how each joint was turned, as a rotation vector in its own frame."""
    return log(multiply(conjugate(walk().rotations), motion.rotations))


def test_a_motion_held_up_to_a_time_stays_exactly_and_is_left_smoothly() -> None:
    hold = 1.0
    found = Spacetime(hold=hold).solve(problem(reach(start=1.7, end=2.0)))
    kept = walk().times <= hold + 1e-9
    np.testing.assert_array_equal(found.motion.rotations[kept], walk().rotations[kept])
    np.testing.assert_array_equal(found.motion.root[kept], walk().root[kept])
    assert not found.unmet
    free = Spacetime().solve(problem(reach(start=1.7, end=2.0)))
    steps = [np.abs(np.diff(change(each.motion), n=2, axis=0)).max() for each in (found, free)]
    assert steps[0] < 3.0 * steps[1], "no kink where the hold ends"


def test_without_a_last_level_the_change_is_on_the_spline() -> None:
    """One band-limited level: the change of a hinge is a combination of keys at its spacing, and of no fewer."""
    one = Level(spacing=SPACING, rate=30.0, stiffness=1e5, steps=8)
    elbow = walk().skeleton.joint("LeftForeArm")
    axis = walk().skeleton.axes[elbow, 0]
    curve = change(Spacetime(levels=(one,)).solve(problem(reach())).motion)[:, elbow] @ axis
    assert np.abs(curve).max() > 0.05
    for spacing, fits in ((SPACING, True), (4 * SPACING, False)):
        basis = Knots.uniform(walk().duration, spacing).basis(walk().times)
        matrix = basis.values(np.eye(basis.num_keys))
        left = curve - matrix @ np.linalg.lstsq(matrix, curve, rcond=None)[0]
        assert (np.abs(left).max() < 1e-8) == fits


def test_slower_joints_change_on_keys_of_their_own() -> None:
    one = Level(spacing=SPACING, rate=30.0, stiffness=1e5, steps=8)
    plain, slow = (
        change(Spacetime(levels=(one,), slower=slower).solve(problem(reach())).motion)
        for slower in (None, {"LeftForeArm": 4.0})
    )
    elbow = walk().skeleton.joint("LeftForeArm")
    axis = walk().skeleton.axes[elbow, 0]
    basis = Knots.uniform(walk().duration, 4.0 * SPACING).basis(walk().times)
    matrix = basis.values(np.eye(basis.num_keys))
    for turned, fits in ((slow, True), (plain, False)):
        curve = turned[:, elbow] @ axis
        left = curve - matrix @ np.linalg.lstsq(matrix, curve, rcond=None)[0]
        assert (np.abs(left).max() < 1e-8) == fits
    assert np.abs(slow[:, elbow]).max() > 0.01


def test_slower_takes_joints_and_factors() -> None:
    with pytest.raises(UnknownNameError, match=r"`slower` names joint `LeftFoearm`, .*nearest: `LeftForeArm`"):
        Spacetime(slower={"LeftFoearm": 2.0}).solve(problem(reach()))
    for factor in (0.0, -1.0, np.nan):
        with pytest.raises(OptionError, match=f"`slower` takes factors above zero; got {factor} for `LeftForeArm`"):
            Spacetime(slower={"LeftForeArm": factor}).solve(problem(reach()))


def test_slower_takes_any_joint_of_the_body() -> None:
    """A joint that happens to be out of what constraints feel is no mistake."""
    found = Spacetime(slower={"RightFoot": 2.0}).solve(problem(reach()))
    assert not found.unmet


def test_knots_of_the_users_own_carry_the_change() -> None:
    """Uneven joins in place of even spacing: dense around the reach, none after it."""
    times = (0.0, 0.8, 1.0, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 3.0)
    one = Level(spacing=SPACING, rate=30.0, stiffness=1e5, steps=8)
    found = Spacetime(levels=(one,), knots=times).solve(problem(reach()))
    elbow = walk().skeleton.joint("LeftForeArm")
    curve = change(found.motion)[:, elbow] @ walk().skeleton.axes[elbow, 0]
    basis = Knots(times=np.array(times)).basis(walk().times)
    matrix = basis.values(np.eye(basis.num_keys))
    assert np.abs(curve).max() > 0.05
    assert np.abs(curve - matrix @ np.linalg.lstsq(matrix, curve, rcond=None)[0]).max() < 1e-8


def test_a_budget_ends_the_tries_and_what_was_found_is_given() -> None:
    """What cannot be met is tried again and again; a budget of one step or no time ends that, with a motion."""
    hopeless = (replace(reach(rise=3.0), name="sky"), reach(rise=-0.3), reach(rise=0.5))
    full = Spacetime().solve(problem(*hopeless))
    for short in (Spacetime(iterations=1), Spacetime(seconds=0.0)):
        found = short.solve(problem(*hopeless))
        assert found.steps < full.steps
        assert np.isfinite(found.motion.rotations).all()
        assert found.unmet


def test_watch_hears_of_every_level_and_how_far_it_is() -> None:
    heard: list[tuple[str, float]] = []
    Spacetime().solve(problem(reach()), watch=lambda text, share: heard.append((text, share)))
    texts = [text for text, _ in heard]
    assert texts[0] == "keys every 133 ms"
    assert "keys at every frame" in texts
    shares = [share for _, share in heard]
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert shares[: len(levels())] == sorted(shares[: len(levels())])


def test_levels_go_from_the_spacing_to_every_frame() -> None:
    passes = levels(0.2, fps=60.0)
    assert [level.spacing for level in passes] == [0.2, 2 / 30, 0.0]
    assert [level.limbs for level in passes] == [False, True, True], "the last levels move limbs only"
    assert passes[0].rate == pytest.approx(5.0)
    assert passes[-1].rate == 60.0
    assert passes[0].stiffness < passes[1].stiffness < passes[2].stiffness
    assert levels(0.001, fps=30.0)[0].rate == 30.0, "there is nothing to look at between frames"


def test_what_follows_an_unfinished_level_looks_closer_then_is_stiffer_then_denser() -> None:
    level = Level(spacing=0.2, rate=5.0, stiffness=10.0, steps=3)
    closer, stiffer, denser = stiffened(level)
    assert closer.rate > level.rate
    assert (closer.stiffness, stiffer.stiffness, denser.stiffness) == (10.0, 100.0, 1000.0)
    assert (closer.spacing, stiffer.spacing, denser.spacing) == (0.2, 0.2, 0.1)


def test_what_holds_keeps_its_weight_and_the_worst_gives_way_most() -> None:
    eased = reduced_weights(np.array([0.0, 0.7, 2.0, 10.0]))
    assert eased[0] == eased[1] == 1.0
    assert 1.0 > eased[2] > eased[3] > 0.0
    alone = reduced_weights(np.array([15.0, 30.0]))
    assert alone[0] == 1.0, "where none holds the least broken counts in full"
    assert alone[1] < 1.0


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_a_step_turns_and_moves_by_so_much_at_most(size: float) -> None:
    """A place a hundred legs away: one step moves the root by no more than 0.7 of a leg, and turns no joint further."""
    motion = replace(walk(), skeleton=walk().skeleton.scaled(size), root=size * walk().root)
    leg = leg_length(motion.skeleton)
    far = Place(point=PointRef(point="LeftHand"), target=np.array([0.0, 100.0 * leg, 0.0]), start=1.2, end=1.6)
    one = Level(spacing=SPACING, rate=30.0, stiffness=1e5, steps=1)
    found = Spacetime(levels=(one,), iterations=1).solve(Problem(actors=(Actor(motion=motion),), constraints=(far,)))
    assert found.steps >= 1
    moved = np.abs(found.motion.root - motion.root).max() / (leg * found.steps)
    turned = angle_between(found.motion.rotations, motion.rotations).max() / found.steps
    assert 0.1 * MAX_STEP_LEGS < moved <= MAX_STEP_LEGS + 1e-9
    assert turned <= np.sqrt(3.0) * MAX_STEP_LEGS + 1e-9


def test_the_ends_of_constraints_are_looked_at_whatever_the_rate() -> None:
    frames = sampled_frames(problem(reach(start=1.1, end=1.53)), 3.0)
    assert {0, 10, 20, 33, 45, 90} <= set(frames.tolist())
    assert np.all(np.diff(frames) > 0)
    instants = Place(point=PointRef(point="LeftHand"), target=np.zeros(3), instants=(0.5, 1.3))
    assert {15, 39} <= set(sampled_frames(problem(instants), 1.0).tolist())
    assert not {15, 39} & set(sampled_frames(problem(instants), 1.0, constraints=()).tolist())


def test_one_sided_constraints_are_left_out_until_they_are_near() -> None:
    def above(height: float) -> Region:
        return Region(point=PointRef(point="LeftHand"), centre=np.array([0.0, height, 0.0]))

    lowest = float(fk(walk()).points(["LeftHand"])[:, 0, 1].min())
    given = problem(reach(), above(lowest - 0.5), above(lowest + 0.05), above(lowest - 0.01))
    assert select_working_set(given, given.bodies, 0.02) == (0, 2, 3)
    whole = ProblemAtFrames(problem=given, bodies=given.bodies, frames=np.arange(len(given.times)))
    worst = worst_violation(whole.measure())
    assert newly_violated(given, (0,), worst, 1e-4) == (2,)
    assert newly_violated(given, (0, 2, 3), worst, 1e-4) == ()


def test_one_sided_constraints_that_turn_out_to_be_broken_are_added() -> None:
    """Free at first, run into on the way: the hand goes down to its place, the elbow may not."""
    low = reach(rise=-0.25)
    plain = Spacetime().solve(problem(low))
    elbow = fk(plain.motion).points(["LeftForeArm"])[:, 0, 1].min()
    start = fk(walk()).points(["LeftForeArm"])[:, 0, 1].min()
    height = elbow + 0.1 * (start - elbow)
    assert height - elbow > 5e-3, "the elbow must go down for this to mean anything"
    wall = Region(point=PointRef(point="LeftForeArm"), centre=np.array([0.0, height, 0.0]))
    given = problem(low, wall)
    assert select_working_set(given, given.bodies, 0.02) in ((0,), (0, 1))
    found = Spacetime().solve(given)
    assert not found.unmet
    assert fk(found.motion).points(["LeftForeArm"])[:, 0, 1].min() > height - 1e-3


def record_levels(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Level, tuple[int, ...]]]:
    """The levels of the whole body that are solved from now on, and the constraints that each evaluates."""
    solved: list[tuple[Level, tuple[int, ...]]] = []
    solve = Spacetime._solve_level

    def recorded(
        self: Spacetime, given: Problem, at: Any, working_set: tuple[int, ...], level: Level, *more: Any, **known: Any
    ) -> Any:
        if not level.limbs:
            solved.append((level, working_set))
        return solve(self, given, at, working_set, level, *more, **known)

    monkeypatch.setattr(Spacetime, "_solve_level", recorded)
    return solved


def test_remedies_of_the_whole_body_keep_soft_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A knee and an ankle that shall be 1 cm farther apart than they are make every remedy run, and each still knows
    what is only wished for."""
    knee, ankle, hand = fk(walk()).points(["LeftLeg", "LeftFoot", "RightHand"])[40]
    apart = 0.01 * (ankle - knee) / np.linalg.norm(ankle - knee)
    places = {"LeftLeg": knee, "LeftFoot": ankle + apart}
    held = [Place(point=PointRef(point=name), target=at, start=1.3, end=1.4) for name, at in places.items()]
    wish = Place(point=PointRef(point="RightHand"), target=hand, start=1.2, end=1.6, soft=True)
    solved = record_levels(monkeypatch)
    assert Spacetime().solve(problem(*held, wish)).unmet
    assert len({level for level, _ in solved}) > 2, "remedies must be tried for this to mean anything"
    assert all(2 in working_set for _, working_set in solved)


def test_a_twitch_between_the_frames_of_a_level_makes_nothing_stiffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A toe turns beyond its limit for a frame. Where a level does not look, more stiffness does not turn it back."""
    walking, toe, frame = walk(), walk().skeleton.joint("LeftToeBase"), 39
    usual = log(multiply(conjugate(walking.skeleton.rest[toe]), walking.rotations[:, toe]))[:, 0]
    rotations, axis = walking.rotations.copy(), np.array([1.0, 0.0, 0.0])
    rotations[frame, toe] = multiply(walking.skeleton.rest[toe], from_axis_angle(axis, usual.max() + 0.15))
    limit = JointRange(
        joint=PointRef(point="LeftToeBase"), rest=walking.skeleton.rest[toe], axes=axis[None],
        ranges=np.array([[-np.inf, usual.max() + 0.05]]),
    )  # fmt: skip
    given = Problem(actors=(Actor(motion=replace(walking, rotations=rotations)),), constraints=(reach(), limit))
    solved = record_levels(monkeypatch)
    assert not Spacetime().solve(given).unmet
    assert max(level.rate for level, _ in solved) == 2.0 * levels(SPACING)[0].rate, (
        "the twitch must be looked at closer"
    )
    assert max(level.stiffness for level, _ in solved) == levels(SPACING)[0].stiffness


def test_the_change_is_where_the_constraint_is() -> None:
    """Keys of the whole body are local: two thirds of a second away root and trunk do not move. Smooth limbs fade: they
    have a hundredth of the largest change there, and as far again a ten-thousandth."""
    found = Spacetime().solve(problem(reach(start=1.4, end=1.6)))
    largest = np.abs(change(found.motion)).max()
    assert largest > 0.02
    turned = angle_between(found.motion.rotations, walk().rotations)
    away, limbs = np.abs(walk().times - 1.5) - 0.1, limb_joints(walk().skeleton)
    assert turned[away > 5 * SPACING][:, ~limbs].max() < 1e-9
    assert turned[away > 5 * SPACING].max() < 0.01 * largest
    assert turned[away > 10 * SPACING].max() < 1e-4 * largest


def test_a_stiffer_joint_turns_less() -> None:
    joint = walk().skeleton.joint("LeftArm")
    turned = []
    for stiffness in (None, {"LeftArm": 100.0}):
        actor = Actor(motion=walk(), stiffness=stiffness, root_moves=False)
        found = Spacetime().solve(Problem(actors=(actor,), constraints=(reach(),)))
        assert not found.unmet
        turned.append(np.abs(change(found.motion)[:, joint]).max())
    assert turned[1] < 0.25 * turned[0]


def test_solving_again_from_the_answer_changes_nothing() -> None:
    first = Spacetime().solve(problem(reach()))
    again = Spacetime().solve(Problem(actors=(Actor(motion=first.motion),), constraints=(reach(),)))
    assert angle_between(again.motion.rotations, first.motion.rotations).max() < 1e-3


@pytest.mark.parametrize("off", [0.0, 5e-5, 5e-4])
def test_what_is_met_with_room_to_spare_is_left_as_it_is(off: float) -> None:
    """Nothing is solved for a hand that is where it is to be, to a tenth of what it may be off."""
    motion = walk()
    place = fk(motion).points(["LeftHand"])[30, 0]
    asked = Place(
        point=PointRef(point="LeftHand"), target=place + np.array([0.0, off, 0.0]), instants=(1.0,), tolerance=1e-3
    )
    floor = Region(point=PointRef(point="Hips"), centre=np.zeros(3))
    found = Spacetime().solve(Problem(actors=(Actor(motion=motion),), constraints=(asked, floor)))
    assert not found.unmet
    assert (found.steps == 0) == (off <= 1e-4)
    if found.steps == 0:
        np.testing.assert_array_equal(found.motion.rotations, motion.rotations)
        assert found.outcomes[0].worst == pytest.approx(off, abs=1e-12)


def test_a_higher_rate_gives_the_same_movement() -> None:
    """Keys are in seconds: the same clip at 30 and at 120 frames a second ends up in the same place."""
    fast = samples.motion("walk", seconds=3.0, fps=120.0).motion
    slow, quick = (
        Spacetime().solve(Problem(actors=(Actor(motion=m),), constraints=(reach(),))).motion for m in (walk(), fast)
    )
    apart = np.linalg.norm(fk(slow).positions - fk(quick[::4]).positions, axis=-1)
    assert apart.max() < 5e-3


def test_outcomes_say_where_and_how_much() -> None:
    solution = Spacetime().solve(problem(replace(reach(rise=9.0), name="sky"), reach(rise=0.1, start=2.0, end=2.2)))
    sky = next(o for o in solution.outcomes if o.constraint.label == "sky")
    off = np.abs(fk(solution.motion).points(["LeftHand"])[:, 0] - sky.constraint.target)[36:49]  # type: ignore[attr-defined]
    assert sky.worst == pytest.approx(off.max(), abs=1e-9)
    assert sky.mean == pytest.approx(off.max(axis=1).mean(), abs=1e-9)
    assert off[round(sky.time * 30.0) - 36].max() == pytest.approx(off.max(), abs=1e-9)
    assert not sky.met
    assert [o.constraint.label for o in solution.unmet] == ["sky"]
    assert solution.result.startswith("1 of 2 constraints are not met; the worst is `sky`, off by ")
    lines = solution.report().splitlines()
    assert lines[0] == solution.result
    assert lines[1] == f"  place: 2, worst {sky.worst:.2g} m at {sky.time:.2f} s in `sky`"
    assert lines[2].strip() == solution.conflicts[0]
