"""Transitions: clocks, paths, poses and bones of a blend, what stands over it, and all that stays as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, angle_between, from_axis_angle, identity, multiply, rotate, slerp
from understudy.constraints.base import ConstraintInput, PointRef
from understudy.constraints.place import Place
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.recipe.guards import transition_failures
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.spacetime import Spacetime
from understudy.transition import Transition, transition
from understudy.transition.blending import (
    Steps,
    blend_clocks,
    blend_offsets,
    blend_rotations,
    ease,
    larger,
    worst_steps,
)
from understudy.transition.make import BLEND_TRIES, NUM_OTHER_TIMES, _tries
from understudy.transition.meta_skeleton import find_shared_skeleton, mergeable, one_body
from understudy.transition.plants import Still
from understudy.transition.timing import FrameMatch

UP = np.array([0.0, 1.0, 0.0])


def placed(motion: Motion, found: Transition) -> Motion:
    """A motion turned and shifted as a transition says that it places its second."""
    turn = from_axis_angle(UP, np.array(found.turn))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root) + found.shift, rotations=rotations)


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk").motion


@pytest.fixture(scope="module")
def into_run(walk: Motion) -> Transition:
    return transition(walk, samples.motion("run").motion)


def test_the_ends_are_the_motions_themselves(walk: Motion, into_run: Transition) -> None:
    run = samples.motion("run").motion
    motion = into_run.motion
    before, after = slice(0, into_run.start + 1), slice(into_run.end, None)
    assert np.array_equal(motion.root[before], walk.root[before])
    assert np.array_equal(motion.rotations[before], walk.rotations[before])
    rest = placed(run, into_run)[into_run.entry :]
    assert motion.num_frames == into_run.end + rest.num_frames
    assert np.abs(motion.root[after] - rest.root).max() < 1e-9
    assert angle_between(motion.rotations[after], rest.rotations).max() < 1e-7


def test_one_body_stays_itself(walk: Motion, into_run: Transition) -> None:
    assert into_run.meta is None
    assert into_run.motion.skeleton is walk.skeleton
    assert into_run.motion.offsets is None
    assert into_run.relapse == 0.0


def test_what_stands_keeps_its_place(into_run: Transition) -> None:
    """Measured on the result itself, not by the solver: within two millimetres, wherever a plant says so."""
    assert len(into_run.plants) >= 3
    pose = fk(into_run.motion)
    for plant in into_run.plants:
        path = pose.points([plant.point])[plant.first : plant.last + 1, 0]
        where = {True: path[0], False: path[-1]}[not plant.at_end]
        assert np.abs((path - where)[:, [0, 2]]).max() < 2e-3, plant.name
    assert into_run.contact_error < 2e-3


def test_what_stands_at_either_end_of_the_blend_stays_where_it_stands(into_run: Transition) -> None:
    pose = fk(into_run.motion)
    straddling = [plant for plant in into_run.plants if plant.at_start or plant.at_end]
    assert straddling
    for plant in straddling:
        path = pose.points([plant.point])[:, 0]
        there = path[into_run.start if plant.at_start else into_run.end]
        assert np.abs((path[plant.first : plant.last + 1] - there)[:, [0, 2]]).max() < 2e-3


@pytest.mark.parametrize(
    ("first", "second"),
    [("run", "walk"), ("march", "walk"), ("walk", "walk"), ("sneak", "run"), ("squat", "squat"), ("swim", "swim")],
)
def test_the_blend_is_as_smooth_as_what_it_joins(first: str, second: str) -> None:
    """No joint turns or moves further in a frame, or changes its step more, than somewhere in the motions themselves.

    By a thousandth it may: the motions are read between their frames, and what is largest there is at none of them.
    """
    found = transition(samples.motion(first).motion, samples.motion(second).motion)
    assert found.steps.over(found.allowed) < 1.001
    assert found.contact_error < 2e-3


def test_the_body_goes_on_the_way_it_faces(walk: Motion) -> None:
    """A second motion that faces elsewhere, far away, is brought to where the first leads."""
    turn = from_axis_angle(UP, np.array(2.0))
    rotations = walk.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    elsewhere = replace(walk, root=rotate(turn, walk.root) + np.array([30.0, 0.0, -7.0]), rotations=rotations)
    found = transition(walk, elsewhere)
    assert found.turn == pytest.approx(-2.0, abs=0.15)
    heights = np.abs(found.motion.root[:, 0])
    assert heights.max() < 0.25  # straight on, as a walk along z is
    assert found.shift[1] == 0.0
    assert np.all(np.diff(found.motion.root[:, 2]) > 0.0)


def test_frames_that_correspond_coincide_and_clocks_ease() -> None:
    first = np.linspace(2.0, 3.0, 31)
    match = FrameMatch(first=first, second=5.0 + 0.8 * (first - 2.0), cost=0.0, names=())
    way = blend_clocks(match, 30.0, 30, 400)
    assert way.first[0] == 2.0
    assert way.second[-1] * 30.0 == pytest.approx(way.entry)
    assert np.diff(way.first)[0] * 30.0 == pytest.approx(1.0, abs=1e-3)
    assert np.diff(way.second)[-1] * 30.0 == pytest.approx(1.0, abs=1e-3)
    shift = way.second[-1] - (5.0 + 0.8 * (way.first[-1] - 2.0))
    assert abs(shift) <= 0.5 / 30.0 + 1e-9  # the last is a frame of the second motion
    assert np.allclose(way.second, 5.0 + shift + 0.8 * (way.first - 2.0), atol=1e-6)
    assert np.diff(way.share).min() >= 0.0
    assert way.share[[0, -1]].tolist() == [0.0, 1.0]


def test_the_blend_never_goes_past_the_second_motions_end() -> None:
    match = FrameMatch(first=np.array([0.0, 1.0]), second=np.array([0.0, 1.0]), cost=0.0, names=())
    assert blend_clocks(match, 30.0, 30, 28).entry == 28


def test_easing_has_no_speed_or_acceleration_at_its_ends() -> None:
    t = np.array([0.0, 1e-4, 2e-4, 0.5, 1.0 - 2e-4, 1.0 - 1e-4, 1.0])
    values = ease(t)
    assert values[[0, 3, 6]].tolist() == pytest.approx([0.0, 0.5, 1.0])
    assert np.abs(np.diff(values)[[0, 1, -2, -1]]).max() < 1e-10
    assert np.all(np.diff(ease(np.linspace(0.0, 1.0, 1000))) > 0.0)


def test_rotations_go_round_the_same_way_at_all_frames() -> None:
    """Two joints that are a half turn apart, a little less and then a little more: the shortest way changes sides."""
    angles = np.pi + 0.02 * np.linspace(-1.0, 1.0, 21)
    a = np.broadcast_to(identity(1), (21, 1, 4))
    b = from_axis_angle(np.array([1.0, 0.0, 0.0]), angles)[:, None]
    share = np.full(21, 0.5)
    jumps = angle_between(blend_rotations(a, b, share)[1:], blend_rotations(a, b, share)[:-1]).max()
    assert jumps < 0.01
    short = slerp(a, b, share[:, None])
    assert angle_between(short[1:], short[:-1]).max() > 3.0


def test_rotations_that_are_near_are_slerped(rng: np.random.Generator) -> None:
    a = from_axis_angle(np.array([0.0, 0.0, 1.0]), rng.uniform(-1.0, 1.0, (9, 4)))
    b = from_axis_angle(np.array([0.6, 0.8, 0.0]), rng.uniform(-1.0, 1.0, (9, 4)))
    share = np.linspace(0.0, 1.0, 9)
    assert angle_between(blend_rotations(a, b, share), slerp(a, b, share[:, None])).max() < 1e-7


def test_every_bone_length_goes_one_way(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 1, 12, 3))
    b[0, 0], a[0, 1], a[0, 2], b[0, 2] = -a[0, 0], 0.0, 0.0, 0.0  # opposite; growing from nothing; nothing at all
    share = ease(np.linspace(0.0, 1.0, 50))
    bones = blend_offsets(np.repeat(a, 50, 0), np.repeat(b, 50, 0), share)
    assert np.allclose(bones[0], a[0], atol=1e-12)
    assert np.allclose(bones[-1], b[0], atol=1e-12)
    lengths = np.linalg.norm(bones, axis=-1)
    way = np.sign(lengths[-1] - lengths[0])
    assert (way * np.diff(lengths, axis=0)).min() > -1e-12
    grown = bones[1:, 1] / lengths[1:, 1, None]
    assert np.allclose(grown, b[0, 1] / np.linalg.norm(b[0, 1]), atol=1e-9)
    assert np.all(bones[:, 2] == 0.0)


def test_given_places_and_lengths_are_taken(walk: Motion) -> None:
    found = transition(walk, walk, leave=1.5, enter=0.6, seconds=1.0)
    assert found.start == 45
    assert found.end == 75
    assert found.match.leave == pytest.approx(1.5)
    assert found.match.enter == pytest.approx(0.6)
    assert 18 + 15 <= found.entry <= 18 + 60  # a second later, at half to twice its own pace


def test_a_motion_into_itself_in_step_changes_nothing(walk: Motion) -> None:
    """Left and entered at the same moment, the blend is the motion."""
    found = transition(walk, walk, leave=1.5, enter=1.5, seconds=1.0)
    assert found.entry == found.end
    gap = np.abs(fk(found.motion).positions - fk(walk).positions[: found.motion.num_frames])
    assert gap.max() < 5e-3


def test_the_second_comes_at_the_rate_of_the_first(walk: Motion) -> None:
    fast = samples.motion("run", fps=120.0).motion
    found = transition(walk, fast)
    assert found.motion.fps == 30.0
    assert any("resampled from 120 to 30 frames a second" in note for note in found.notes)
    rest = placed(fast.resampled(30.0), found)[found.entry :]
    assert np.abs(found.motion.root[found.end :] - rest.root).max() < 1e-9


def test_feet_that_stand_all_through_do_not_move() -> None:
    squat = samples.motion("squat").motion
    found = transition(squat, squat)
    for limb in ("LeftUpLeg", "RightUpLeg"):
        mine = [plant for plant in found.plants if plant.limb == limb]
        assert any(plant.at_start for plant in mine)
        assert any(plant.at_end for plant in mine)
    feet = fk(found.motion).points(["LeftHeel", "RightHeel", "LeftToeBase", "RightToeBase"])
    assert np.abs(feet - feet[found.start])[found.start : found.end + 1].max() < 2e-3
    assert found.notes == ()


def test_feet_that_cannot_stay_are_moved_and_said_to_be() -> None:
    """The second stands with its feet further apart: no shift of it suits both, and both have to slide."""
    stand = samples.motion("squat").motion[[0] * 60]
    wide = stand.rotations.copy()
    for joint, sign in (("LeftUpLeg", 1.0), ("RightUpLeg", -1.0)):
        number = stand.skeleton.index[joint]
        wide[:, number] = multiply(from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(0.1 * sign)), wide[:, number])
    spread = replace(stand, rotations=wide)
    lifted = (fk(spread).points(["LeftHeel"]) - fk(stand).points(["LeftHeel"]))[:, 0] * [0.0, 1.0, 0.0]
    found = transition(stand, replace(spread, root=spread.root - lifted), seconds=1.0)
    said = [note for note in found.notes if "stands all through the blend but slides by" in note]
    assert len(said) == 4  # heel and ball of both
    assert found.contact_error < 2e-3


def test_without_contacts_nothing_is_solved(walk: Motion) -> None:
    found = transition(walk, samples.motion("run").motion, contacts=((), ()))
    assert found.plants == ()
    assert found.solution is None
    assert found.contact_error == 0.0
    assert any("matched by posture, speed and turning alone" in note for note in found.notes)
    shark = samples.motion("swim").motion
    swum = transition(shark, shark)
    assert swum.solution is None
    assert swum.steps.over(swum.allowed) < 1.05


def test_bodies_of_one_build_and_other_lengths_share_all_their_bones(walk: Motion) -> None:
    child = replace(walk, skeleton=walk.skeleton.scaled(0.6), root=0.6 * walk.root)
    assert not one_body(walk.skeleton, child.skeleton)
    found = transition(walk, child)
    assert found.meta is not None
    assert found.meta.num_shared == walk.skeleton.num_joints
    assert found.relapse < 1e-9
    lengths = found.lengths[:, 1:]
    assert np.all(lengths[-1] <= lengths[0] + 1e-12)
    assert found.contact_error < 2e-3
    tip = found.meta.point("target", child.skeleton.point("LeftToeTip"))
    ends = fk(found.motion[found.end :]).points([tip])
    wanted = fk(placed(child, found)[found.entry :]).points(["LeftToeTip"])
    assert np.abs(ends - wanted).max() < 1e-9


def test_a_watch_is_told(walk: Motion) -> None:
    told: list[float] = []
    transition(walk, walk, watch=lambda _text, share: told.append(share))
    assert told == sorted(told)
    assert told[0] == 0.0
    assert len(told) >= 3


def test_steps_are_measured_in_leg_lengths() -> None:
    body = Skeleton(names=("root", "arm"), parents=np.array([-1, 0]), offsets=np.array([[0.0, 0, 0], [0.0, 2.0, 0.0]]))
    still = rest_motion(body, num_frames=5)
    root = still.root.copy()
    root[3:, 0] += 0.4
    turned = still.rotations.copy()
    turned[2, 1] = from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(0.1))
    found = worst_steps(replace(still, root=root, rotations=turned), 0.8)
    assert found.move == pytest.approx(0.5)
    assert found.move_change == pytest.approx(0.5)
    assert found.turn == pytest.approx(0.1)
    assert found.turn_change == pytest.approx(0.2)
    none = worst_steps(still, 0.8)
    assert found.over(larger(found, none)) == 1.0
    assert found.over(replace(found, move=0.25)) == pytest.approx(2.0)
    assert found.over(none) == np.inf
    assert none.over(found) == 0.0
    assert none == Steps(turn=0.0, turn_change=0.0, move=0.0, move_change=0.0)


def test_the_solver_leaves_both_ends_as_they_are(walk: Motion) -> None:
    """Asked for much in the middle, it changes nothing before one time and after another, and leaves them smoothly."""
    window = walk[:61]
    place = fk(window).points(["LeftHand"])[30, 0] + [0.1, 0.2, 0.0]
    asked = Place(point=PointRef(point="LeftHand"), target=place, start=0.9, end=1.1)
    problem = Problem(actors=(Actor(motion=window),), constraints=(asked,))
    found = Spacetime(spacing=0.1, hold=0.5, until=1.5).solve(problem)
    assert found.outcomes[0].worst < 1e-3
    turned = angle_between(found.motion.rotations, window.rotations).max(axis=1)
    moved = np.abs(found.motion.root - window.root).max(axis=1)
    for change in (turned, moved):
        assert change[:16].max() < 1e-12
        assert change[45:].max() < 1e-12
        assert change[30] > 0.01
        assert change[[16, 44]].max() < 0.05 * change.max()


def test_still_is_met_by_a_point_that_only_rises() -> None:
    at = np.array([[[0.3, 0.0, 1.0]], [[0.3, 0.5, 1.0]], [[0.4, 0.5, 1.0]]])
    rows = Still(point=PointRef(point="tip")).rows(
        ConstraintInput(times=np.arange(3.0), points=at, local_rotations=np.empty((3, 0, 4)))
    )
    assert rows.same_as_previous is not None
    assert rows.same_as_previous.tolist() == [True, True]
    assert np.diff(rows.values, axis=0).tolist() == [[0.0, 0.0], [pytest.approx(0.1), 0.0]]
    assert rows.d_points is not None
    assert rows.d_points[0, :, 0].tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_a_suggested_map_loses_what_cannot_be_one_bone(rng: np.random.Generator) -> None:
    names = ("hips", "LeftLeg", "RightLeg", "toe_a", "toe_b")
    offsets = np.array([[0.0, 1, 0], [0.1, -0.1, 0], [-0.1, -0.1, 0], [0.0, -0.5, 0.1], [0.02, -0.5, 0.1]])
    source = Skeleton(names=names, parents=np.array([-1, 0, 0, 1, 1]), offsets=offsets)
    target = Skeleton(names=("body", "fin", "tip"), parents=np.array([-1, 0, 1]), offsets=rng.normal(size=(3, 3)))
    pairs = (
        Pair(source=("hips",), target=("body",)),
        Pair(source=("LeftLeg", "RightLeg"), target=("fin",)),
        Pair(source=("toe_a", "toe_b"), target=("tip",)),
    )
    found, notes = mergeable(Correspondence(source=source, target=target, pairs=pairs))
    assert [(pair.source, pair.target) for pair in found.pairs] == [(("hips",), ("body",)), (("toe_a",), ("tip",))]
    assert "[`LeftLeg`, `RightLeg`] -> `fin`: left and right bones cannot be merged and are kept apart" in notes
    assert any("`toe_a`" in note and "only the first is shared" in note for note in notes)


def test_what_cannot_be_is_refused(walk: Motion) -> None:
    with pytest.raises(MotionError, match="needs motions of 4 frames or more; got 3 and 151"):
        transition(walk[:3], walk)
    dog = samples.motion("dog_walk").motion
    pairs = (Pair(source=("Hips",), target=("Hips",)),)
    other = Correspondence(source=dog.skeleton, target=walk.skeleton, pairs=pairs)
    with pytest.raises(OptionError, match=r"The map is from `dog`, 32 joints, to `adult`, 22;.*from `adult`") as caught:
        find_shared_skeleton(walk, dog, other, None)
    assert "reversed()" in caught.value.hint
    with pytest.raises(OptionError, match="Expected `leave` from 0 to"):
        transition(walk, walk, leave=-0.5, seconds=1.0)
    with pytest.raises(OptionError, match="Expected a blend of more than zero"):
        transition(walk, walk, seconds=-1.0)


def bent(motion: Motion, size: float) -> Array:
    """Rotations of a motion with a joint shaken."""
    turned = motion.rotations.copy()
    turned[::2, 3] = multiply(turned[::2, 3], from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(size)))
    return turned


def test_a_jump_would_be_seen(walk: Motion) -> None:
    """The measure of smoothness is one: a joint shaken by a tenth of a radian at every other frame doubles it."""
    calm = worst_steps(walk, 0.85)
    shaken = worst_steps(replace(walk, rotations=bent(walk, 0.2)), 0.85)
    assert shaken.over(calm) > 1.5


def test_nothing_sinks_and_nothing_hurries_while_a_man_becomes_a_spider() -> None:
    """Feet sank by 39 cm, and walk to squat stepped 1.7 times as far as either."""
    walk, spider, squat = (samples.motion(n, fps=30.0, seconds=4.0).motion for n in ("walk", "spider_walk", "squat"))
    changed = transition(walk, spider)
    body = changed.motion.skeleton
    heights = fk(changed.motion[changed.start : changed.end + 1]).points([*body.names, *body.ends])[..., 1]
    assert heights.min() > -3e-3
    over = changed.steps.over(changed.allowed)
    assert over < 1.1 or any("limbs of one body have to go far" in note for note in changed.notes)
    down = transition(walk, squat)
    assert down.steps.over(down.allowed) < 1.1
    assert transition_failures(down, walk, squat) == []


def test_a_part_that_is_its_source_is_not_called_no_use(walk: Motion) -> None:
    """Even where the judge of retargets would object to the source itself: a motion that hardly moves."""
    still = walk[np.zeros(60, dtype=int)]
    result = transition(walk, still)
    assert not any(
        sentence.startswith(("the first part", "the last part"))
        for sentence in transition_failures(result, walk, still)
    )


def test_other_times_are_tried_where_none_is_given() -> None:
    """After every length at the best time, longer blends from times all over the first motion, none at its ends."""
    walk = samples.motion("walk", fps=30.0, seconds=4.0).motion
    match = FrameMatch(first=np.linspace(1.0, 2.0, 5), second=np.linspace(0.0, 1.0, 5), cost=0.0, names=())
    last = (walk.num_frames - 1) / walk.fps
    tries = list(_tries(match, walk, seconds=None, leave=None))
    assert [leave for *_, leave in tries[: len(BLEND_TRIES)]] == [None] * len(BLEND_TRIES)
    others = tries[len(BLEND_TRIES) :]
    assert len(others) == 2 * NUM_OTHER_TIMES
    assert all(length is not None and leave is not None and 0.0 < leave < last - length for length, _, leave in others)
    assert {leave for *_, leave in _tries(match, walk, seconds=None, leave=0.5)} == {0.5}
    assert list(_tries(match, walk, seconds=1.0, leave=None)) == [(None, 0.2, None), (None, 0.05, None)]
