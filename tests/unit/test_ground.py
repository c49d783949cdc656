"""What keeps a body above the floor: points that stand, tips of feet, and all that comes down of one who kneels."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import multiply
from understudy.constraints.base import ConstraintInput, PointRef
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.correspondence.landing import Landing
from understudy.correspondence.pairs import ContactContext
from understudy.figure.contacts import FLOOR_DEPTH_METRES, Contact, Floor, contact_points, detect_contacts, step_heights
from understudy.figure.kinematics import fk, pose_of
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.metrics.base import evaluate
from understudy.retarget.driver import retarget
from understudy.retarget.ground import (
    COMPLIANT_STIFFNESS,
    _lowest_fingers,
    _plant_drops,
    _rigid_tips,
    compliant_joints,
    floor_constraints,
)
from understudy.retarget.plan import Assignment, Options, plan
from understudy.samples import Scene

FLAT = Floor(slope=np.zeros(2))
HALF = 0.5
TIPS = {"LeftToeTip", "RightToeTip"}


@cache
def scene(name: str) -> Scene:
    return samples.motion(name)


def stage(motion: Motion | None = None, **options: object) -> ContactContext:
    motion = motion or scene("walk").motion
    fields: dict[str, object] = {"floor": FLAT, **options}
    return ContactContext(source=motion, target=motion.skeleton.scaled(HALF), **fields)  # type: ignore[arg-type]


def contact(point: str, start: float, end: float, place: tuple[float, float, float]) -> Contact:
    found = scene("walk").motion.skeleton.point(point)
    return Contact(point=found, start=start, end=end, place=np.array(place))


def named(made: list, ending: str = " above the floor") -> dict[str, Region]:
    return {c.label.removesuffix(ending): c for c in made}


def lowered(motion: Motion, drop: float) -> Motion:
    """The motion with the foot's tips bent down by an angle, so that they are in the floor."""
    rotations = motion.rotations.copy()
    turn = np.array([np.cos(drop / 2), np.sin(drop / 2), 0.0, 0.0])
    for joint in ("LeftToeBase", "RightToeBase"):
        number = motion.skeleton.joint(joint)
        rotations[:, number] = multiply(rotations[:, number], turn)
    return replace(motion, rotations=rotations)


def test_feet_stay_above_the_floor_except_while_they_stand() -> None:
    contacts = [c for c in scene("walk").contacts if c.point.name not in TIPS]
    made = named(floor_constraints(stage(), contacts))
    assert set(made) == {c.point.name for c in contacts} | TIPS
    times = scene("walk").motion.times
    for name in set(made) - TIPS:
        region, mine = made[name], [c for c in contacts if c.point.name == name]
        assert set(region.pauses) == {(c.start, c.end) for c in mine}
        assert region.times is None
        assert region.centre[1] == pytest.approx(HALF * min(c.place[1] for c in mine) - FLOOR_DEPTH_METRES)
        held = region.frames(times)
        standing = [c.frames(30.0, len(times)) for c in mine]
        assert not set(held) & set(np.concatenate(standing).tolist())
        assert len(held) + len(np.unique(np.concatenate(standing))) == len(times)


def test_what_never_leaves_the_floor_needs_no_floor() -> None:
    always = contact("LeftHeel", 0.0, 100.0, (0.0, 0.0, 0.0))
    made = set(named(floor_constraints(stage(), [always])))
    assert "LeftHeel" not in made
    # What comes near the floor without a contact keeps off it.
    assert made == {"LeftToeTip", "RightToeTip", "RightToeBase", "RightHeel"}
    assert floor_constraints(stage(), [replace(always, on="ladder")]) == []


def test_the_floor_follows_a_tilt() -> None:
    tilted = Floor(height=0.1, slope=np.array([0.05, -0.02]))
    stands = contact("LeftHeel", 0.0, 1.0, (4.0, 0.1 + 0.05 * 4.0, 0.0))
    made = named(floor_constraints(stage(floor=tilted), [stands]))
    np.testing.assert_allclose(made["LeftHeel"].normal, tilted.normal)
    assert made["LeftHeel"].centre[1] == pytest.approx(0.1 - FLOOR_DEPTH_METRES)
    tip = made["LeftToeTip"]
    np.testing.assert_allclose(tip.normal, tilted.normal)
    places = fk(scene("walk").motion).points(["LeftToeTip"])[:, 0]
    allowed = np.minimum(HALF * (places[:, 1] - tilted.heights(places)), 0.0) - FLOOR_DEPTH_METRES
    np.testing.assert_allclose(tip.centre[:, 1], 0.1 + allowed, atol=1e-12)


@pytest.mark.parametrize(("point", "carrier"), [("LeftHeel", "LeftFoot"), ("LeftToeBase", "LeftFoot")])
def test_the_joint_that_moves_a_planted_point_goes_down_with_it(point: str, carrier: str) -> None:
    """An ankle may go below the source's by what the plant holds the heel lower than the source has it at the time."""
    motion = scene("walk").motion
    heights = fk(motion).points([point])[:, 0, 1]
    plant = contact(point, 0.5, 1.0, (0.0, 0.03, 0.0))
    ((joint, frames, drop),) = _plant_drops(stage(), [plant], {0: HALF * 0.03})
    assert joint == carrier
    np.testing.assert_array_equal(frames, plant.frames(motion.fps, motion.num_frames))
    np.testing.assert_allclose(drop, HALF * np.maximum(heights[frames] - 0.03, 0.0), atol=1e-12)
    assert drop.max() > 0.01


@pytest.mark.parametrize("known", [False, True])
def test_tips_of_feet_go_as_deep_as_the_source_s_and_no_deeper(known: bool) -> None:
    motion = lowered(scene("walk").motion, 0.4)
    contacts = detect_contacts(motion, contact_points(motion))
    feet = [motion.skeleton.joint(name) for name in ("LeftToeBase", "RightToeBase")]
    here = stage(motion, feet=pose_of(motion, feet) if known else None)
    made = named(floor_constraints(here, contacts))
    lowest = min(here.rise(c) for c in contacts)
    for name in TIPS:
        heights = fk(motion).points([name])[:, 0, 1]
        assert heights.min() < -0.01
        np.testing.assert_allclose(
            made[name].centre[:, 1], np.minimum(HALF * heights, lowest) - FLOOR_DEPTH_METRES, atol=1e-12
        )
        # The body that only is smaller is right at the edge of what is allowed while it is in the floor.
        view = ConstraintInput(
            times=motion.times, points=HALF * fk(motion).points([name]), local_rotations=np.zeros((len(heights), 0, 4))
        )
        off = made[name].measure(view).values[:, 0]
        assert off.max() == pytest.approx(-FLOOR_DEPTH_METRES)
        assert off.min() < -0.02


def test_tips_of_feet_that_change_go_as_deep_as_the_source_s_grown_as_much() -> None:
    motion = lowered(scene("walk").motion, 0.4)
    contacts = detect_contacts(motion, contact_points(motion))
    share = np.linspace(0.0, 1.0, motion.num_frames) ** 2
    made = named(floor_constraints(stage(motion, share=share), contacts))
    lowest = min(stage(motion, share=share).rise(c) for c in contacts)
    for name in TIPS:
        heights = (1.0 + share * (HALF - 1.0)) * fk(motion).points([name])[:, 0, 1]
        np.testing.assert_allclose(
            made[name].centre[:, 1], np.minimum(heights, lowest) - FLOOR_DEPTH_METRES, atol=1e-12
        )


def test_toes_of_a_body_that_grows_come_no_deeper_into_the_floor_than_the_source_s() -> None:
    factor = 1.4
    motion = lowered(scene("walk").motion, 0.4)
    share = np.linspace(0.0, 1.0, motion.num_frames)
    part = Assignment(motion=motion, target=motion.skeleton.scaled(factor), share=share)
    own = (1.0 + share * (factor - 1.0))[:, None] * fk(motion).points(sorted(TIPS))[..., 1]

    def added(floor: bool) -> float:
        found = plan([part], options=Options(floor=floor)).solve()
        assert not found.unmet
        return float((np.minimum(own, 0.0) - fk(found.motion).points(sorted(TIPS))[..., 1]).max())

    assert added(floor=True) < FLOOR_DEPTH_METRES + 1e-3
    assert added(floor=False) > 5e-3


def test_of_one_who_stands_only_the_feet_are_kept_off_the_floor() -> None:
    motion = scene("walk").motion
    contacts = detect_contacts(motion, contact_points(motion))
    assert set(named(floor_constraints(stage(), contacts))) == {c.point.name for c in contacts} | TIPS


@pytest.mark.parametrize("tilt", [False, True])
def test_of_one_who_kneels_or_bows_all_that_comes_down_is_kept_off_the_floor(tilt: bool) -> None:
    """Hands that the source holds well above the floor come into it on a body whose legs are short."""
    motion = scene("walk").motion
    contacts = detect_contacts(motion, contact_points(motion))
    if tilt:
        turn = np.array([np.cos(0.6), np.sin(0.6), 0.0, 0.0])
        motion = replace(motion, rotations=np.concatenate([multiply(turn, motion.rotations[:, :1]),
                                                           motion.rotations[:, 1:]], axis=1))  # fmt: skip
    else:
        motion = replace(motion, root=motion.root - [0.0, 0.5, 0.0])
    made = named(floor_constraints(stage(motion), contacts))
    heights = fk(motion).positions[..., 1].min(axis=0)
    for name, height in zip(motion.skeleton.names, heights, strict=True):
        if height < 0.0:
            assert name in made
        if height > 0.3:
            assert name not in made


def test_toes_bent_into_the_floor_sink_no_deeper_on_another_body() -> None:
    """Measured by the metric of the floor, which knows nothing of the constraints."""
    motion = lowered(scene("walk").motion, 0.4)
    target = motion.skeleton.scaled(np.where(["Leg" in n or "Foot" in n for n in motion.skeleton.names], 1.3, 1.0))
    found = retarget(motion, target)
    assert not found.unmet
    measured = evaluate(found.motion, source=motion)["floor"]
    assert measured["added_depth"] < 2e-3
    free = retarget(motion, target, options=Options(floor=False))
    assert evaluate(free.motion, source=motion)["floor"]["added_depth"] > measured["added_depth"]


def test_an_end_that_goes_with_what_stands_is_where_that_puts_it() -> None:
    """A tip cannot be asked for besides a plant of the same bone, nor besides one of a foot whose toes never turn."""
    on_toes = replace(contact("LeftToeBase", 0.0, 1.0, (0.0, 0.02, 0.0)))
    assert "LeftToeTip" in named(floor_constraints(stage(), [on_toes]))
    pad = replace(on_toes, point=replace(on_toes.point, name="LeftPad", offset=np.array([0.0, -0.02, 0.03])))
    assert "LeftToeTip" not in named(floor_constraints(stage(), [pad]))
    motion = scene("walk").motion
    rotations = motion.rotations.copy()
    rotations[:, motion.skeleton.joint("LeftToeBase")] = rotations[0, motion.skeleton.joint("LeftToeBase")]
    assert "LeftToeTip" not in named(floor_constraints(stage(replace(motion, rotations=rotations)), [on_toes]))


def test_toes_give_way_to_the_floor_unless_something_else_is_asked_of_them() -> None:
    motion = scene("walk").motion
    drawn = plan([Assignment(motion=motion, target=motion.skeleton.scaled(HALF))])
    assert drawn.problem().actors[0].stiffness == {
        "LeftToeBase": COMPLIANT_STIFFNESS,
        "RightToeBase": COMPLIANT_STIFFNESS,
    }
    touch = Place(point=PointRef(point="LeftToeTip"), target=np.array([0.1, 0.3, 0.5]), instants=(1.0,))
    assert set(compliant_joints([*drawn.constraints, touch], motion)) == {"RightToeBase"}
    turned = JointRange(joint=PointRef(point="RightToeBase"), axes=np.eye(3)[:1], ranges=np.array([[-1.0, 1.0]]))
    assert set(compliant_joints([*drawn.constraints, turned], motion)) == {"LeftToeBase", "RightToeBase"}
    assert compliant_joints(drawn.constraints, motion, actor="other") == compliant_joints(drawn.constraints, motion)
    own = plan([Assignment(motion=motion, target=motion.skeleton)], options=Options(stiffness={"LeftToeBase": 3.0}))
    assert own.problem().actors[0].stiffness == {"LeftToeBase": 3.0, "RightToeBase": COMPLIANT_STIFFNESS}


def test_tips_of_another_human_s_feet_stay_with_the_foot() -> None:
    """They are no lower below the ball of the foot, where that should be, than the motion as carried over has them."""
    motion = scene("walk").motion
    found = retarget(motion, samples.character("other"))
    assert not found.unmet
    ends = [end.name for end in found.motion.skeleton.ends if f"{end.name} above the floor" in
            {o.constraint.label for o in found.outcomes}]  # fmt: skip
    assert ends
    heights = fk(found.motion).points(ends)[..., 1]
    assert heights.min() > -2e-3


def lowest_hand(motion: Motion) -> float:
    """Metres above the world's zero of the lowest joint or end of both hands."""
    skeleton = motion.skeleton
    below = skeleton.below(roles(skeleton)["left_hand"]) | skeleton.below(roles(skeleton)["right_hand"])
    points = [skeleton.names[j] for j in np.flatnonzero(below)]
    points += [end.name for end in skeleton.ends if below[skeleton.index[end.joint]]]
    return float(fk(motion).points(points)[..., 1].min())


def test_hands_of_another_body_that_reach_the_floor_stop_there() -> None:
    """The source's hands stay above the floor; those of a body with other joints and longer arms would sink."""
    motion = scene("pick_up").motion
    contacts = [contact for contact in scene("pick_up").contacts if contact.on == "floor"]
    other = samples.character("other")
    arms = [role for role in roles(other) if "arm" in role]
    factors = np.ones(other.num_joints)
    for role in arms:
        factors[roles(other)[role]] = 1.6
    target = other.scaled(factors)
    assert lowest_hand(motion) > 0.02
    sunk = retarget(motion, target, contacts=contacts, options=Options(floor=False))
    assert lowest_hand(sunk.motion) < -0.03
    found = retarget(motion, target, contacts=contacts)
    assert not found.unmet
    assert lowest_hand(found.motion) > -3e-3


def test_a_foot_that_rests_for_a_moment_shows_no_floor_to_a_swimmer() -> None:
    motion = scene("walk").motion
    level = float(motion.root[:, 1].mean())
    rests = contact("LeftHeel", 0.5, 0.6, (0.0, level, 0.0))
    assert floor_constraints(stage(), [rests]) == []
    stands = replace(rests, end=motion.duration)
    assert floor_constraints(stage(), [stands])


def test_one_low_footplant_does_not_lower_the_floor() -> None:
    """Of the plants of a point the usual one counts, and a plant on a step does not raise the floor."""
    heights = (0.0, 0.002, -0.01, 0.001, 0.4)
    plants = [contact("LeftHeel", 0.1 * i, 0.1 * i + 0.05, (0.0, height, 0.0)) for i, height in enumerate(heights)]
    motion = scene("walk").motion
    tip = named(floor_constraints(stage(motion), plants))["RightToeTip"]
    level = HALF * 0.0005 - FLOOR_DEPTH_METRES
    assert np.max(tip.centre[:, 1]) == pytest.approx(level, abs=6e-4)


def test_a_footplant_in_a_pit_does_not_lower_the_floor() -> None:
    """Nor does it if it is the only plant of its point that is near the lowest one."""
    heights = {"LeftHeel": (0.03, 0.031, -0.03), "RightHeel": (0.01, 0.011, 0.01)}
    plants = [
        contact(name, 0.2 * i, 0.2 * i + 0.05, (0.0, height, 0.0))
        for name, values in heights.items()
        for i, height in enumerate(values)
    ]
    tip = named(floor_constraints(stage(), plants))["RightToeTip"]
    assert np.max(tip.centre[:, 1]) == pytest.approx(HALF * 0.01 - FLOOR_DEPTH_METRES, abs=6e-4)


def test_a_toe_whose_tip_is_a_joint_gives_way_to_the_floor() -> None:
    """glTF has no ends: the tip of a toe is a joint of its own there, and the joint before it turns it."""
    source = scene("walk").motion.skeleton
    toe, tip = source.joint("LeftToeBase"), source.point("LeftToeTip")
    longer = Skeleton(
        names=(*source.names, "LeftToeLeaf"), parents=np.array([*source.parents, toe]),
        offsets=np.concatenate([source.offsets, tip.offset[None]]),
        ends=tuple(end for end in source.ends if end.name != "LeftToeTip"),
    )  # fmt: skip
    motion = scene("walk").motion
    still = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (motion.num_frames, 1, 4))
    moving = Motion(skeleton=longer, root=motion.root, rotations=np.concatenate([motion.rotations, still], axis=1),
                    fps=motion.fps)  # fmt: skip
    floor = Region(point=PointRef(point=Point(name="LeftToeLeaf", joint="LeftToeLeaf")), centre=np.zeros(3))
    assert set(compliant_joints([floor], moving)) == {"LeftToeBase"}


def climbing() -> tuple[Motion, tuple[Contact, ...]]:
    """A walk up a stair: the feet of the walk, each higher than the one before."""
    walk = scene("walk")
    contacts = sorted((c for c in walk.contacts if c.on == "floor"), key=lambda c: c.start)
    leg = leg_length(walk.motion.skeleton)
    contacts = [replace(c, place=c.place + np.array([0.0, 0.2 * leg * round(2.0 * c.start), 0.0])) for c in contacts]
    return walk.motion, tuple(contacts)


def test_steps_grow_with_the_legs_and_feet_with_the_feet() -> None:
    motion, contacts = climbing()
    skeleton = motion.skeleton
    target = skeleton.scaled([2.0 if name.endswith(("Leg", "Foot")) else 1.0 for name in skeleton.names])
    context = ContactContext(source=motion, target=target, floor=FLAT, contacts=contacts)
    highest = max(contacts, key=lambda c: c.place[1])
    step = step_heights(skeleton, contacts, FLAT)[contacts.index(highest)]
    assert step > 0.3 * leg_length(skeleton)
    grown = context.rise(highest) - context.bone_ratio(highest.point) * (highest.place[1] - step)
    assert grown == pytest.approx(context.ratio * step, rel=1e-6)


def test_the_flat_soles_of_a_robot_stand_on_steps() -> None:
    motion, contacts = climbing()
    highest = max(contacts, key=lambda c: c.place[1])
    landing = Landing(contacts=contacts, points={}, ratio=0.5, rises={c.point.name: (np.nan, 0.01) for c in contacts})
    context = ContactContext(source=motion, target=motion.skeleton, floor=FLAT, landing=landing, contacts=contacts)
    step = step_heights(motion.skeleton, contacts, FLAT)[contacts.index(highest)]
    assert context.rise(highest) == pytest.approx(0.01 + 0.5 * step)
    assert context.rise(contacts[0]) == pytest.approx(0.01)


def test_every_fingertip_is_kept_off_the_floor_when_it_is_one_of_the_lowest() -> None:
    adult = samples.character("adult")
    skeleton = Skeleton(
        names=(*adult.names, "LeftHandIndex1"),
        parents=[*adult.parents, roles(adult)["left_hand"]],
        offsets=np.concatenate([adult.offsets, [[0.1, 0.0, 0.0]]]),
    )
    points = [Point(name=f"finger{i}", joint="LeftHandIndex1") for i in range(5)]
    heights = np.array([[0.0, 0.01, 0.02, 0.03, 0.04], [0.04, 0.03, 0.02, 0.01, 0.0]])
    near = _lowest_fingers(skeleton, points, heights, np.ones((2, 5), bool))
    assert near.tolist() == [[True, True, True, False, False], [False, False, True, True, True]]


def test_toes_that_the_source_lacks_bend_where_the_foot_tilts() -> None:
    """A foot of one bone tilts on its tip; the toes beyond the ball of another body's foot stay above the floor."""
    motion = scene("walk").motion
    source = motion.skeleton
    toes = [source.joint(f"{side}ToeBase") for side in ("Left", "Right")]
    kept = [joint for joint in range(source.num_joints) if joint not in toes]
    tips = tuple(
        Point(name=f"{side}FootTip", joint=f"{side}Foot", offset=source.offsets[source.joint(f"{side}ToeBase")])
        for side in ("Left", "Right")
    )
    ends = [end for end in source.ends if end.joint in source.names and source.joint(end.joint) in kept]
    bare = Skeleton(
        names=tuple(source.names[j] for j in kept),
        parents=np.array([-1, *(kept.index(source.parents[j]) for j in kept[1:])]),
        offsets=source.offsets[kept], rest=source.rest[kept], ends=(*ends, *tips),
    )  # fmt: skip
    walker = Motion(skeleton=bare, root=motion.root, rotations=motion.rotations[:, kept], fps=motion.fps)
    other = samples.character("other")
    found = retarget(walker, other)
    pose = fk(found.motion)
    feet = [f for role, f in roles(other).items() if role in ("left_toe", "right_toe")]
    below = np.any([other.below(joint) for joint in feet], axis=0)
    ends_of_toes = [end.name for end in other.ends if below[other.index[end.joint]]]
    assert ends_of_toes
    floor = np.percentile(pose.positions[:, feet, 1], 5)
    assert pose.points(ends_of_toes)[..., 1].min() > floor - 0.02 * leg_length(other)


def test_toes_that_never_turn_in_the_source_bend_where_the_foot_tilts() -> None:
    """The toes of some files are stiff: longer toes of another body follow them, but not into the floor."""
    motion, other = scene("walk").motion, samples.character("other")
    toes = [motion.skeleton.joint(f"{side}ToeBase") for side in ("Left", "Right")]
    rotations = motion.rotations.copy()
    rotations[:, toes] = rotations[0, toes]
    ends = tuple(replace(e, offset=0.2 * e.offset) if "ToeTip" in e.name else e for e in motion.skeleton.ends)
    found = retarget(motion.derived(rotations=rotations, skeleton=replace(motion.skeleton, ends=ends)), other)
    tips = [end.name for end in other.ends if roles(other).get("left_toe") in other.chain(other.index[end.joint])]
    tips += [end.name for end in other.ends if roles(other).get("right_toe") in other.chain(other.index[end.joint])]
    assert tips
    assert fk(found.motion).points(tips)[..., 1].min() > -0.01 * leg_length(other)


def with_toes_of_two_bones(motion: Motion) -> Motion:
    """The same body with toes of two bones, the second of which never turns."""
    skeleton, names = motion.skeleton, ["LeftToeTwo", "RightToeTwo"]
    parents = [skeleton.joint("LeftToeBase"), skeleton.joint("RightToeBase")]
    ends = [
        replace(end, joint=f"{end.name.removesuffix('ToeTip')}ToeTwo", offset=HALF * end.offset)
        if end.name in TIPS
        else end
        for end in skeleton.ends
    ]
    halves = [
        HALF * next(end.offset for end in skeleton.ends if end.name == tip) for tip in ("LeftToeTip", "RightToeTip")
    ]
    still = np.tile([1.0, 0.0, 0.0, 0.0], (motion.num_frames, 2, 1))
    longer = Skeleton(
        names=(*skeleton.names, *names), parents=np.append(skeleton.parents, parents),
        offsets=np.concatenate([skeleton.offsets, halves]),
        rest=np.concatenate([skeleton.rest, still[0]]), ends=tuple(ends),
    )  # fmt: skip
    return Motion(
        skeleton=longer, fps=motion.fps, root=motion.root, rotations=np.concatenate([motion.rotations, still], axis=1)
    )


def test_the_last_bone_of_a_toe_is_kept_off_the_floor_with_the_first() -> None:
    """A bone that never turns moves with the toe that carries it: no plant says where its tip is."""
    motion = with_toes_of_two_bones(samples.motion("walk").motion)
    balls = [motion.skeleton.point(name) for name in ("LeftToeBase", "RightToeBase")]
    assert not TIPS & {tip.name for tip in _rigid_tips(motion, balls, set())}
    toes = [motion.skeleton.joint(name) for name in ("LeftToeBase", "RightToeBase")]
    rotations = motion.rotations.copy()
    rotations[:, toes] = rotations[:1, toes]
    stiff = replace(motion, rotations=rotations)
    assert {tip.name for tip in _rigid_tips(stiff, balls, set())} >= TIPS
