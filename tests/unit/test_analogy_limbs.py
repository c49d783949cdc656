"""Limbs of analogies: which feet step together, what they should do, and how a viewer's measures fall."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.analogy.finish import (
    correct_heights,
    keep_above_floor,
    keep_below_hips,
    keep_legs_up,
    keep_poses,
    without_looser_floors,
)
from understudy.analogy.limbs import STRETCHED, limb_goals, on_limbs, pair_limbs
from understudy.analogy.make import analogy
from understudy.analogy.matching import MAX_SCALE, bound_scales, match
from understudy.analogy.preparation import Settings, find_jumps, flipping_ends
from understudy.analogy.quality import (
    Quality,
    faces_elsewhere,
    flattened,
    floors_of_parts,
    largest_jump,
    least_leg_height,
    lift,
    lift_ratio,
    steps_and_path,
    wanted_lift,
)
from understudy.analogy.stepping import (
    FootPair,
    Stepping,
    feet_of,
    limb_length,
    limb_top,
    same_on_both_sides,
    standing_heights,
)
from understudy.analogy.study import Study, make_study, spread_markers
from understudy.base.quaternion import between, conjugate, exp, from_axis_angle, log, multiply, unrotate
from understudy.constraints.base import PointRef
from understudy.constraints.region import Region
from understudy.correspondence.detached import change_parents, find_detached_feet
from understudy.figure.contacts import Contact, contact_points
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton


def sample(name: str) -> Motion:
    return samples.motion(name, fps=30.0, seconds=4.0).motion


def study(motion: Motion) -> Study:
    return make_study(motion, spread_markers(motion.skeleton), what="it")


@pytest.fixture(scope="module")
def walk() -> Study:
    return study(sample("walk"))


@pytest.fixture(scope="module")
def spider() -> Study:
    return study(sample("spider_walk"))


def test_feet_are_paired_by_swing_and_stance(walk: Study, spider: Study) -> None:
    """The spider's alternate legs go with the two legs of the human, and opposite legs never with one."""
    pairs = pair_limbs(walk, spider, contact_points(walk.motion), contact_points(spider.motion))
    partner = {pair.name: pair.source[0].name for pair in pairs}
    assert len(partner) == 8
    for number in range(1, 5):
        assert partner[f"LeftLeg{number}Tip"] != partner[f"RightLeg{number}Tip"]
    assert partner["LeftLeg1Tip"] == partner["LeftLeg3Tip"] == partner["RightLeg2Tip"] == partner["RightLeg4Tip"]


@pytest.mark.parametrize("late", [0, 17])
def test_left_stays_left_whenever_a_walk_begins(walk: Study, late: int) -> None:
    """A walk that begins with the other leg has the opposite course: its left foot still goes with the left one."""
    other = study(walk.motion[late:]).in_step_with(walk)
    swing = [
        each.part([0]).reshape(-1, 3)[[marker.joint == "LeftFoot" for marker in each.markers], 2].mean()
        for each in (walk, other)
    ]
    assert abs(swing[0]) > 0.02
    assert swing[0] * swing[1] > 0.0
    pairs = pair_limbs(walk, other, contact_points(walk.motion), contact_points(walk.motion))
    assert all(pair.name[:4] == pair.source[0].name[:4] for pair in pairs)


def test_of_two_humans_left_goes_with_left_out_of_step_too(walk: Study) -> None:
    """An example that begins with the other leg, and whose sign was not found, does not swap the legs."""
    other = study(walk.motion[17:])
    for flip in (1.0, -1.0):
        flipped = replace(other, marker=other.marker.turned(np.diag([flip] * other.marker.num_components)))
        pairs = pair_limbs(walk, flipped, contact_points(walk.motion), contact_points(walk.motion))
        assert all(pair.name[:4] == pair.source[0].name[:4] for pair in pairs)


def test_a_foot_is_asked_to_rise_as_its_partner_in_legs(walk: Study) -> None:
    dog, march = study(sample("dog_walk")), study(sample("march"))
    pairs = pair_limbs(walk, dog, contact_points(walk.motion), contact_points(dog.motion))
    legs = leg_length(dog.motion.skeleton) / leg_length(march.motion.skeleton)
    goals = {goal.point.name: goal for goal in limb_goals(walk, dog, march, pairs)}
    for pair in pairs:
        rise = float(np.ptp(goals[pair.name].path[:, 1]))
        assert 0.5 < rise / (legs * lift(march.motion, pair.source)) < 1.6
    assert on_limbs(dog.motion.skeleton, pairs).sum() > 12


def test_a_limb_ends_where_others_leave(walk: Study) -> None:
    body = walk.motion.skeleton
    feet = feet_of(body, contact_points(walk.motion))
    assert [body.names[limb_top(body, foot[0])] for foot in feet] == ["LeftUpLeg", "RightUpLeg"]


def test_large_scales_are_left_out_or_bounded() -> None:
    """A shoulder that sways a little does not drive a leg."""
    assert bound_scales(np.array([0, 1]), np.array([1.0, 15.8]), 1.0).tolist() == [0]
    assert bound_scales(np.array([1]), np.array([1.0, 15.8]), 1.0).tolist() == [1]
    b, a = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 0.05], [0.0, 1.0, 0.0]])
    matches, _ = match(b, a, threshold=0.9)
    assert max(abs(m.scales).max() for m in matches) <= MAX_SCALE * 1.5


def test_lift_is_measured_in_legs_and_capped_by_the_limb() -> None:
    march, walk = sample("march"), sample("walk")
    foot = tuple(feet_of(march.skeleton, contact_points(march))[0])
    pair = FootPair(foot=foot, source=foot)
    assert lift_ratio(pair, march, march, walk) == 1.0
    assert lift_ratio(pair, walk, march, walk) < 0.8
    assert wanted_lift(pair, walk, march, walk) == pytest.approx(lift(march, foot))


GOOD = Quality(lifts={"foot": 1.0}, above_hips=-0.5, crouch=0.0, path=1.0, stance=0.95, limits=0.0)


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"lifts": {"foot": 3.0}}, "lifted 3.00 times"),
        ({"lifts": {"foot": 0.2}}, "lifted 0.20 times"),
        ({"above_hips": 0.2}, "above its hip"),
        ({"crouch": 0.3}, "lower than the source's"),
        ({"path": 2.5}, "times as long as its steps"),
        ({"jump": 0.2}, "jumps by 0.20 legs from one frame to the next"),
        ({"turned": 2.0}, "faces 115 degrees from where the source's faces"),
        ({"flattened": 0.6}, "60 % nearer to the ground than ever in the example"),
        ({"stance": 0.6}, "60 % of the time"),
        ({"limits": 0.5}, "beyond its limits"),
        ({"raised": 0.12}, "to the ground than the source's"),
        ({"paired": 0.5}, "50 % of the feet step with no foot"),
    ],
)
def test_what_a_viewer_refuses_scores_low(change: dict[str, object], phrase: str) -> None:
    assert GOOD.score == 1.0
    assert GOOD.faults() == []
    bad = replace(GOOD, **change)  # type: ignore[arg-type]
    assert bad.score < 0.5
    assert len(bad.faults()) == 1
    assert phrase in bad.faults()[0]


def test_a_march_lifts_a_sneak_lowers_in_legs() -> None:
    """The result is as high and as low as the source, each in its own legs, whatever markers alone would do."""
    dog = sample("dog_walk")
    for name in ("march", "sneak"):
        result = analogy(sample("walk"), dog, sample(name), settings=Settings(retries=True))
        assert all(0.6 < ratio < 1.6 for ratio in result.quality.lifts.values())
        assert abs(result.quality.crouch) < 0.1
        assert result.quality.above_hips < 0.0
        assert result.score > 0.5
        assert result.measures["contacts"]["after"] < 1e-3


def test_poses_are_constraints_of_the_planting(walk: Study) -> None:
    from understudy.analogy.conditions import PoseAt

    level = walk.course.off(walk.motion)
    pose = PoseAt(frame=10, rotations=level.rotations[10], joints=("LeftArm",))
    (constraint,) = keep_poses([pose], walk.motion, level)
    assert constraint.kind == "pose"
    assert constraint.instants == (10 / 30.0,)


def with_feet_apart(motion: Motion) -> Motion:
    """The same movement by a rig whose feet hang from the hips, where the legs end, for inverse kinematics."""
    body = motion.skeleton
    parents, ends = body.parents.copy(), list(body.ends)
    for side in ("Left", "Right"):
        foot, shin = body.joint(f"{side}Foot"), body.joint(f"{side}Leg")
        parents[foot] = 0
        ends.append(Point(name=f"{side}Leg_end", joint=body.names[shin], offset=body.offsets[foot]))
    offsets, rest = body.offsets.copy(), body.rest.copy()
    places, turns = body.rest_world
    for side in ("Left", "Right"):
        foot = body.joint(f"{side}Foot")
        offsets[foot] = unrotate(turns[0], places[foot] - places[0])
        rest[foot] = multiply(conjugate(turns[0]), turns[foot])
    apart = replace(body, parents=parents, offsets=offsets, rest=rest, ends=tuple(ends), name="apart")
    return change_parents(motion, apart)


def test_feet_that_hang_apart_from_the_legs_march_with_them() -> None:
    walk = sample("walk")
    example = with_feet_apart(walk)
    assert set(find_detached_feet(example.skeleton)) == {"LeftFoot", "RightFoot"}
    result = analogy(walk, example, sample("march"))
    assert result.motion.skeleton is example.skeleton
    pose = fk(result.motion)
    for side in ("Left", "Right"):
        gap = pose.points([f"{side}Leg_end"])[:, 0] - pose.points([f"{side}Foot"])[:, 0]
        assert np.linalg.norm(gap, axis=-1).max() < 1e-6
    # Both are one movement, and contacts hold on the rig's own tree.
    assert np.abs(fk(result.planted).points(["LeftToeBase"]) - pose.points(["LeftToeBase"])).max() < 1e-6
    assert result.measures["lift"] > 2.0 * result.measures["lift_example"]
    assert result.score > 0.6


def test_parts_that_would_be_in_the_floor_are_kept_above_it(walk: Study) -> None:
    motion, feet = walk.motion, feet_of(walk.motion.skeleton, contact_points(walk.motion))
    pairs = [FootPair(foot=tuple(foot), source=tuple(foot)) for foot in feet]
    parts = {point.name: height for point, height in floors_of_parts(motion, pairs).items()}
    assert {"Hips", "Head", "LeftHand", "LeftToeTip", "RightToeTip"} <= set(parts)
    assert all(-0.02 < height <= 0.0 for height in parts.values())
    assert not {"LeftToeBase", "RightToeBase"} & set(parts)
    assert keep_above_floor(motion, pairs, None, 0.0) == []
    sunk = replace(motion, root=motion.root - [0.0, leg_length(motion.skeleton), 0.0])
    kept = {constraint.label for constraint in keep_above_floor(sunk, pairs, motion, 0.0)}
    assert "Hips not in the floor" in kept
    assert "Head not in the floor" not in kept


def test_of_parts_that_one_joint_moves_the_lowest_are_kept_out_of_the_floor() -> None:
    """Four tips on one joint: the highest of them all along needs no constraint of its own."""
    tips = (Point(name=f"tip{i}", joint="Hips", offset=np.array([0.1 * i, 0.001 * i, 0.0])) for i in range(1, 6))
    offsets = np.array([[0.0, 0.0, 0.0], [0.0, -0.2, 0.0]])
    body = Skeleton(names=("Hips", "Leg"), parents=(-1, 0), offsets=offsets, name="table", ends=tuple(tips))
    motion = rest_motion(body)[np.zeros(5, int)]
    example = replace(motion, root=motion.root + np.array([0.0, 1.0, 0.0]))
    foot = (body.point("Leg"),)
    kept = keep_above_floor(motion, [FootPair(foot=foot, source=foot)], example, 0.0)
    assert {constraint.label for constraint in kept} == {
        f"{name} not in the floor" for name in ("Hips", "tip1", "tip2", "tip3")
    }


def test_a_floor_that_is_stricter_takes_the_place_of_the_plans(walk: Study) -> None:
    """Each point that is kept out of the floor has one floor, and those that it is not about stay."""
    strict = [Region(point=PointRef(point="Hips"), centre=np.zeros(3), name="Hips not in the floor")]
    planned = [
        Region(point=PointRef(point=name), centre=np.zeros(3), name=f"{name} above the floor")
        for name in ("Hips", "Head")
    ]
    assert without_looser_floors([*planned, *strict], strict) == (planned[1], *strict)


@pytest.mark.parametrize("degrees", [0.0, 90.0, 300.0])
def test_steps_of_a_body_that_turns_are_as_long_as_its_way(degrees: float) -> None:
    """A foot far beside a body that turns goes farther than the body, or hardly; that makes no path too short."""
    motion = rest_motion(sample("spider_walk").skeleton)[np.zeros(61, int)]
    turns = np.radians(degrees) * np.linspace(0.0, 1.0, 61)
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(from_axis_angle(np.array([0.0, 1.0, 0.0]), turns), rotations[:, 0])
    root = motion.root + np.linspace(0.0, 2.0, 61)[:, None] * [0.0, 0.0, 1.0]
    turning = replace(motion, root=root, rotations=rotations)
    (point,) = (p for p in contact_points(sample("spider_walk")) if p.name == "LeftLeg1Tip")
    plants = [Contact(point=point, start=t, end=t, on="floor", place=np.zeros(3)) for t in (0.0, 0.5, 1.2, 2.0)]
    steps, path = steps_and_path(turning, fk(turning), point, plants)
    assert path == pytest.approx(2.0)
    assert steps == pytest.approx(path)


def test_a_foot_stays_below_its_hip_unless_the_source_lifts_it_above(walk: Study) -> None:
    motion, feet = walk.motion, feet_of(walk.motion.skeleton, contact_points(walk.motion))
    pairs = [FootPair(foot=tuple(foot), source=tuple(foot)) for foot in feet]
    assert keep_below_hips(motion, pairs, motion, {}, 0.0) == []
    rotations = motion.rotations.copy()
    thigh = motion.skeleton.joint("LeftUpLeg")
    rotations[20:30, thigh] = multiply(
        from_axis_angle(np.array([1.0, 0.0, 0.0]), -np.radians(120.0)), rotations[20:30, thigh]
    )
    kicks = replace(motion, rotations=rotations)
    assert {c.label.split()[0][:4] for c in keep_below_hips(kicks, pairs, motion, {}, 0.0)} == {"Left"}
    assert keep_below_hips(kicks, pairs, kicks, {}, 0.0) == []


def test_a_body_that_hangs_low_rises_and_falls_by_its_own_height(walk: Study, spider: Study) -> None:
    """A man who bends his knees by a third of his legs would put a spider's belly into the floor."""
    squat = samples.motion("squat", fps=30.0).motion
    result = analogy(walk.motion, spider.motion, squat, settings=Settings(any_length=True))
    fall, source_fall = (float(np.ptp(each.root[:, 1])) for each in (result.raw, squat))
    legs = leg_length(spider.motion.skeleton) / leg_length(squat.skeleton)
    assert fall < 0.7 * legs * source_fall
    assert result.quality.sunk < 0.02


def test_joints_at_the_ends_of_limbs_that_flip_are_left_out(walk: Study) -> None:
    rotations = walk.motion.rotations.copy()
    for name in ("LeftFoot", "LeftUpLeg"):
        joint = walk.motion.skeleton.joint(name)
        rotations[::2, joint] = multiply(rotations[::2, joint], from_axis_angle(np.array([0.0, 0.0, 1.0]), np.pi))
    flips = replace(walk.motion, rotations=rotations)
    assert set(find_jumps(flips)) == {"LeftFoot", "LeftUpLeg"}
    assert flipping_ends(flips) == ("LeftFoot",)


@pytest.mark.parametrize("fps", [30.0, 120.0])
def test_a_body_that_lands_does_not_jump_and_one_that_is_elsewhere_does(fps: float) -> None:
    """Some captures begin with a pose that has nothing to do with what follows."""
    squat = samples.motion("squat", fps=fps).motion
    assert largest_jump(squat) == 0.0
    root = squat.root.copy()
    root[:10, 1] -= 0.5
    assert 0.3 < largest_jump(replace(squat, root=root)) < 0.6


def test_the_path_is_compared_with_the_sources() -> None:
    """Who goes half as far as the steps, as the source does, slides no more than the source."""
    assert replace(GOOD, path=0.5).score < 0.7
    assert replace(GOOD, path=0.5, source_path=0.5).score == 1.0
    assert replace(GOOD, path=2.5, source_path=0.5).score < 0.5


def test_legs_are_not_stretched_farther_than_the_examples_show(walk: Study, spider: Study) -> None:
    """A's legs swing half as far again as in its example: the spider's steps stay within its legs, by one share."""
    pairs = pair_limbs(walk, spider, contact_points(walk.motion), contact_points(spider.motion))
    rotations = walk.motion.rotations.copy()
    for name in ("LeftUpLeg", "RightUpLeg"):
        joint = walk.motion.skeleton.joint(name)
        rotations[:, joint] = exp(1.5 * log(rotations[:, joint]))
    far = study(replace(walk.motion, rotations=rotations))
    goals = {goal.point.name: goal for goal in limb_goals(walk, spider, far, pairs)}
    same = {goal.point.name: goal for goal in limb_goals(walk, spider, walk, pairs)}
    level = spider.course.off(spider.motion)
    shares = []
    for pair in pairs:
        point = pair.foot[-1]
        top = fk(level).positions[:, limb_top(level.skeleton, point)].mean(axis=0)
        length = limb_length(level.skeleton, point)
        own = np.linalg.norm(fk(level).points([point])[:, 0] - top, axis=1).max() / length
        asked = np.linalg.norm(goals[point.name].mean + goals[point.name].path - top, axis=1) / length
        assert np.percentile(asked, 98) < max(own, STRETCHED) + 0.05
        shares.append(np.std(goals[point.name].path[:, 2]) / np.std(same[point.name].path[:, 2]))
    # What stands goes back as fast as the body goes on.
    assert np.ptp(shares) < 0.05 * np.mean(shares)
    assert max(shares) < 1.0


def test_a_low_body_is_set_above_the_floor_and_not_above_feet_in_it(walk: Study, spider: Study) -> None:
    """A draft whose feet are in the floor has its hips too low: planted, the feet come up and the hips would not."""
    for motion, raised in ((spider.motion, 0.1), (walk.motion, 0.0)):
        leg, points = leg_length(motion.skeleton), contact_points(motion)
        pairs = tuple(FootPair(foot=tuple(foot), source=tuple(foot)) for foot in feet_of(motion.skeleton, points))
        plants = tuple(Contact(point=p, start=0.0, end=0.5, on="floor", place=np.zeros(3)) for p in points)
        deep = replace(motion, root=motion.root - [0.0, 0.1 * leg, 0.0])
        for contacts, wanted in ((plants, raised), ((), 0.0)):
            stepping = Stepping(motion=deep, contacts=contacts, ratio=1.0, pairs=pairs)
            corrected, _ = correct_heights(
                stepping, motion, plants, examples=(motion, motion), rises=standing_heights(motion, points), floor=0.0
            )
            assert (corrected.root - deep.root)[:, 1] / leg == pytest.approx(wanted, abs=0.02)


def test_where_a_foot_stands_is_never_too_high(spider: Study) -> None:
    """A spider that lands may have its hips in the floor for a moment; its feet are not asked to follow."""
    motion, feet = spider.motion, feet_of(spider.motion.skeleton, contact_points(spider.motion))
    source = sample("walk")
    partner = tuple(feet_of(source.skeleton, contact_points(source))[0])
    pairs = [FootPair(foot=tuple(foot), source=partner) for foot in feet]
    # From frame 20 on the legs are folded up, so that every foot is above its hip.
    turned, first = motion.rotations.copy(), np.arange(motion.num_frames) < 20
    turned[~first, 0] = multiply(from_axis_angle(np.array([0.0, 0.0, 1.0]), np.pi), turned[~first, 0])
    root = motion.root - first[:, None] * [0.0, 0.4 * leg_length(motion.skeleton), 0.0]
    regions = keep_below_hips(
        replace(motion, root=root, rotations=turned), pairs, source, {pair.name: 0.05 for pair in pairs}, 0.0
    )
    assert len(regions) == len(feet)
    assert all(region.centre[:, 1].min() > 0.05 for region in regions)


def test_a_leg_that_lies_along_the_ground_is_seen_and_kept_up(spider: Study) -> None:
    """A leg that comes down to the ground lowers the score; one that crouches as the source's does is no fault."""
    motion, source = spider.motion, sample("walk")
    partner = tuple(feet_of(source.skeleton, contact_points(source))[0])
    (foot,) = (f for f in feet_of(motion.skeleton, contact_points(motion)) if f[0].name == "LeftLeg1Tip")
    pair = FootPair(foot=tuple(foot), source=partner)
    flat = _with_a_leg_laid_down(motion, foot)
    assert least_leg_height(flat, foot) < 0.65 * least_leg_height(motion, foot)
    (region,) = keep_legs_up(flat, [pair], source, (source, motion), 0.0)
    assert region.label == "LeftLeg1Tibia not down"
    assert keep_legs_up(motion, [pair], source, (source, motion), 0.0) == []
    assert keep_legs_up(flat, [pair], source, (source, None), 0.0) == []
    assert flattened(motion, [pair], source, (source, motion)) == 0.0
    assert flattened(flat, [pair], source, (source, motion)) > 0.35
    assert flattened(flat, [pair], source, (source, None)) == 0.0
    assert replace(GOOD, flattened=0.2).score == 1.0


def _with_a_leg_laid_down(motion: Motion, foot: Sequence[Point]) -> Motion:
    """A motion in which the bones of a leg point along the ground, at the height of the foot, for ten frames."""
    skeleton, rotations = motion.skeleton, motion.rotations.copy()
    chain = [skeleton.joint(f"LeftLeg1{part}") for part in ("Coxa", "Femur", "Tibia", "Tarsus")]
    for joint, below in itertools.pairwise(chain):
        pose = fk(replace(motion, rotations=rotations))
        bone = (pose.positions[:, below] - pose.positions[:, joint])[40:50]
        out = bone * [1.0, 0.0, 1.0]
        down = out / np.linalg.norm(out, axis=1, keepdims=True)
        down[:, 1] = -0.35 if joint == chain[0] else -0.1
        turn = between(bone, down)
        parent = pose.rotations[40:50, skeleton.parents[joint]]
        rotations[40:50, joint] = multiply(conjugate(parent), multiply(turn, multiply(parent, rotations[40:50, joint])))
    return replace(motion, rotations=rotations)


def test_a_foot_that_stands_on_a_bump_in_the_example_is_as_high_as_the_other(walk: Study) -> None:
    """The lower side of two shows how thick soles are; a body that walks over a bump has no thicker sole there."""
    points = contact_points(walk.motion)
    level = standing_heights(walk.motion, points)
    bumpy = {name: height + (0.03 if name.startswith("Left") else 0.0) for name, height in level.items()}
    same = same_on_both_sides(walk.motion.skeleton, points, bumpy)
    for name in bumpy:
        across = name.replace("Left", "Right") if "Left" in name else name.replace("Right", "Left")
        assert same[name] == same[across] == min(bumpy[name], bumpy[across])


def test_toes_go_no_deeper_into_the_floor_than_in_the_example(walk: Study) -> None:
    """A toe tip is no part that stands, nor one that is above the floor all through the example."""
    motion, feet = walk.motion, feet_of(walk.motion.skeleton, contact_points(walk.motion))
    pairs = [FootPair(foot=tuple(foot), source=tuple(foot)) for foot in feet]
    rotations, toe = motion.rotations.copy(), motion.skeleton.joint("LeftToeBase")
    rotations[:, toe] = multiply(rotations[:, toe], from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians(50.0)))
    (region,) = (
        region
        for region in keep_above_floor(replace(motion, rotations=rotations), pairs, motion, 0.0)
        if region.label == "LeftToeTip not in the floor"
    )
    assert -0.02 < region.centre[1] <= 0.0


def test_a_body_that_faces_elsewhere_is_seen(walk: Study) -> None:
    """Half a turn is seen, a hip that swings is not."""
    motion, rotations = walk.motion, walk.motion.rotations.copy()
    assert faces_elsewhere(motion, motion) < 1e-6
    rotations[40:80, 0] = multiply(from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(120.0)), rotations[40:80, 0])
    assert faces_elsewhere(replace(motion, rotations=rotations), motion) == pytest.approx(np.radians(120.0), abs=0.1)
