"""Feature driving: known answers, the intermediate body, which contacts a rigid body keeps, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError, UnknownNameError
from understudy.base.quaternion import angle_between, exp, from_axis_angle, multiply, rotate
from understudy.correspondence.pairs import CorrespondenceError, PointPair
from understudy.figure.contacts import Contact, Floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import hip_centre
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.retarget.feature_driving import (
    Driven,
    clearances,
    drive,
    find_flights,
    find_proportions,
    fit_rest_pose,
    intermediate_body,
    lowest_heights,
)
from understudy.retarget.features import (
    Feature,
    choose_features,
    find_supports,
    middle_point,
    named_features,
    tip_rigid_body,
    top_point,
)
from understudy.retarget.plan import Options
from understudy.samples import Scene

LEVEL = Floor(slope=np.zeros(2))
OWN = tuple(PointPair(source=name, target=name) for name in ("LeftFoot", "RightFoot", "Centre", "FrontTop"))
UP = np.array([0.0, 1.0, 0.0])


@cache
def scene(name: str) -> Scene:
    return samples.motion(name)


@cache
def walking_can() -> Driven:
    given = scene("walk")
    return drive(given.motion, samples.character("can"), contacts=given.contacts)


def tumbling(num_frames: int = 121, fps: float = 30.0) -> Motion:
    """A can that turns and drifts smoothly through the air, no faster than 1 Hz."""
    can = samples.character("can")
    t = np.arange(num_frames) / fps
    wave = 2.0 * np.pi * t[:, None]
    turns = np.array([0.5, 0.9, 0.4]) * np.sin(wave * [0.45, 0.2, 0.6] + [0.0, 1.0, 2.0])
    root = np.array([0.4, 1.5, 0.0]) + np.array([0.3, 0.2, 0.1]) * np.sin(wave * [0.3, 0.7, 0.5]) + 0.8 * t[:, None]
    return Motion(skeleton=can, fps=fps, root=root, rotations=exp(turns)[:, None])


def cloud(motion: Motion, points: tuple[str, ...], noise: float, rng: np.random.Generator) -> Motion:
    """A body of joints that fly on their own along the paths of some points of a motion, with noise on them."""
    paths = fk(motion).points(points)
    paths = paths + noise * rng.normal(size=paths.shape)
    root = paths.mean(axis=1)
    rest = fk(rest_motion(motion.skeleton)).points(points)[0]
    skeleton = Skeleton(
        names=("middle", *points),
        parents=np.array([-1] + [0] * len(points)),
        offsets=np.concatenate([rest.mean(axis=0, keepdims=True), rest - rest.mean(axis=0)]),
    )
    offsets = np.concatenate([np.zeros((len(paths), 1, 3)), paths - root[:, None]], axis=1)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(paths), len(points) + 1, 1))
    return Motion(skeleton=skeleton, fps=motion.fps, root=root, rotations=rotations, offsets=offsets)


def snake(step: tuple[float, float, float], count: int = 5, limit: float = np.inf) -> Skeleton:
    """A chain of balls that goes on by a step a joint."""
    limits = np.tile([-limit, limit], (count, 3, 1))
    limits[0] = [-np.inf, np.inf]
    return Skeleton(
        name="snake",
        names=tuple(f"bone{i}" for i in range(count)),
        parents=np.arange(count) - 1,
        offsets=np.array([(0.0, 0.0, 0.0)] + [step] * (count - 1)),
        limits=limits,
        ends=(Point(name="nose", joint=f"bone{count - 1}", offset=np.array(step)),),
    )


def crate() -> Skeleton:
    """A rigid box whose corners say neither left nor right."""
    corners = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.3, 0.3) for z in (-0.15, 0.15)]
    ends = tuple(Point(name=f"corner{i}", joint="crate", offset=np.array(c)) for i, c in enumerate(corners))
    return Skeleton(
        name="crate", names=("crate",), parents=np.array([-1]), offsets=np.array([[0.0, 0.3, 0.0]]), ends=ends
    )


def apart(first: Motion, second: Motion) -> float:
    """Metres: the farthest that an end of a body is in one motion from where it is in another."""
    return float(np.linalg.norm(fk(first).ends() - fk(second).ends(), axis=-1).max())


# Known answers


@pytest.mark.parametrize(("frames", "within"), [(4, 1e-3), (2, 2e-4)])
def test_a_rigid_body_driven_by_its_own_points_returns_its_motion(frames, within):
    """As exactly as keys so many frames apart can hold it."""
    motion = tumbling()
    found = drive(motion, motion.skeleton, OWN, contacts=(), options=Options(spacing=frames / 30.0))
    assert apart(found.motion, motion) < within
    assert np.ptp(motion.root, axis=0).max() > 1.0
    assert found.intermediate is motion
    assert found.distances().max() < within


def test_a_rigid_fit_of_each_frame_is_exact_on_points_of_a_rigid_motion():
    motion = tumbling()
    features = named_features(motion.skeleton, motion.skeleton, OWN)
    found = fit_rest_pose(motion, features, motion.skeleton, cutoff=1e6)
    assert apart(found, motion) < 1e-5


def test_a_rigid_fit_never_mirrors():
    """Points in a plane fit a mirrored body as well as a turned one."""
    motion = tumbling()
    flat = named_features(motion.skeleton, motion.skeleton, OWN[:3])
    found = fit_rest_pose(motion, flat, motion.skeleton, cutoff=1e6)
    assert apart(found, motion) < 1e-5


@pytest.mark.parametrize("count", [1, 2])
def test_turns_that_points_leave_open_face_as_the_source_does(count):
    """One point says nothing of a turn, two say nothing of the turn about their line."""
    given = scene("walk").motion
    turned = replace(
        given,
        root=rotate(from_axis_angle(UP, 1.0), given.root),
        rotations=np.concatenate(
            [multiply(from_axis_angle(UP, 1.0), given.rotations[:, :1]), given.rotations[:, 1:]], axis=1
        ),
    )
    pairs = [PointPair(source="Hips", target="Centre"), PointPair(source="Head", target="Top")][:count]
    features = named_features(turned.skeleton, samples.character("can"), pairs)
    ahead = fk(fit_rest_pose(turned, features, samples.character("can"), cutoff=3.0)).directions(
        "Can", np.array([0, 0, 1.0])
    )
    yaw = np.arctan2(ahead[:, 0], ahead[:, 2])
    assert np.abs(yaw - 1.0).max() < np.radians(12.0)
    assert yaw.mean() == pytest.approx(1.0, abs=np.radians(2.0))


def test_noisy_points_of_a_rigid_motion_give_the_least_squares_motion(rng):
    """The squared distances are no larger than those of the true motion, no small band-limited change makes them
    smaller, and the band limit brings the motion nearer to the truth than fits frame by frame."""
    true, points = tumbling(), ("LeftFoot", "RightFoot", "Centre", "FrontTop", "BackTop")
    noisy = cloud(true, points, 0.02, rng)
    pairs = [PointPair(source=name, target=name) for name in points]
    found = drive(noisy, true.skeleton, pairs, contacts=())
    goals = fk(noisy).points(points)

    def squares(motion: Motion) -> float:
        return float(np.square(fk(motion).points(points) - goals).sum())

    least = squares(found.motion)
    assert least < squares(true)
    t = true.times / true.duration
    for number in range(12):
        shape = np.cos(np.pi * rng.integers(0, 8) * t + rng.uniform(0.0, 6.0))
        shift, turn = (rng.normal(size=3) if number % 2 == k else np.zeros(3) for k in range(2))
        for size in (-2e-3, 2e-3):
            moved = replace(
                found.motion,
                root=found.motion.root + size * shape[:, None] * shift,
                rotations=multiply(found.motion.rotations, exp(size * shape[:, None] * turn)[:, None]),
            )
            assert squares(moved) > least
    alone = fit_rest_pose(noisy, found.features, true.skeleton, cutoff=1e6)

    def off(motion: Motion) -> float:
        return float(np.sqrt(np.square(fk(motion).ends() - fk(true).ends()).sum(-1).mean()))

    assert off(found.motion) < 0.75 * off(alone)


# Features


def test_feet_and_hips_are_found_on_a_human_and_a_can():
    found = choose_features(scene("walk").motion, samples.character("can"))
    assert [feature.label for feature in found] == [
        "LeftHeel + LeftToeBase -> LeftFoot",
        "RightHeel + RightToeBase -> RightFoot",
        "Hips_centre -> Centre",
    ]
    centre = hip_centre(samples.character("adult"))
    assert centre.offset == pytest.approx([0.0, -0.05, 0.0])


def test_a_crate_without_names_stands_on_the_middles_of_its_lower_edges():
    left, right, centre = choose_features(scene("walk").motion, crate())
    assert left.target.offset == pytest.approx([0.2, -0.3, 0.0])
    assert right.target.offset == pytest.approx([-0.2, -0.3, 0.0])
    assert centre.target.offset == pytest.approx(np.zeros(3))


def test_an_upright_chain_stands_on_one_point_and_its_top_follows_the_head():
    body = snake((0.0, 0.2, 0.0))
    bottom, centre, top = choose_features(scene("walk").motion, body)
    assert [point.name for point in bottom.source] == ["LeftHeel", "LeftToeBase", "RightHeel", "RightToeBase"]
    assert bottom.target.joint == "bone0"
    assert (centre.target.joint, centre.target.offset[1]) == ("bone2", pytest.approx(0.1))
    assert (top.source[0].name, top.target.name) == ("HeadTop", "nose")


def test_the_feet_nearest_to_the_hips_drive_a_two_footed_body():
    left, right, _ = choose_features(samples.motion("dog_walk").motion, samples.character("can"))
    assert left.source[0].name.startswith("LeftHind")
    assert right.source[0].name.startswith("RightHind")


def test_the_middle_and_the_top_of_a_body_are_found_by_name_or_place():
    assert middle_point(samples.character("can")).name == "Centre"
    assert middle_point(samples.character("adult")).name == "Hips_centre"
    assert middle_point(crate()).joint == "crate"
    assert top_point(crate()).offset == pytest.approx([0.0, 0.3, 0.0])


# The intermediate body


@pytest.mark.parametrize("name", ["walk", "run", "walk2d", "dance"])
@pytest.mark.parametrize("size", [0.25, 1.0, 1.5])
def test_the_intermediate_body_has_the_targets_proportions(name, size):
    """On straight legs its hip centre is as high as the can's middle, its crown as high as the can's top, and its soles
    are as far apart, in the median over the source's motion, as the can's feet."""
    given, can = scene(name), samples.character("can").scaled(size)
    can = replace(can, offsets=size * can.offsets)
    features = choose_features(given.motion, can)
    mine = [c for c in given.contacts if c.on == "floor" and not c.actor]
    body = intermediate_body(given.motion.skeleton, find_proportions(given.motion, features, mine, can))
    places = dict(zip(body.names, body.rest_world[0], strict=True))
    assert places[body.names[0]][1] > 0.0
    centre = fk(rest_motion(body)).points([hip_centre(body)])[0, 0, 1]
    sole = min(float(body.rest_world[0][:, 1].min()), float(body.rest_ends[:, 1].min()))
    assert centre - sole == pytest.approx(0.45 * size, rel=0.02)
    assert body.rest_ends[:, 1].max() - centre == pytest.approx(0.45 * size, rel=0.06)
    naive = replace(given.motion, skeleton=body, offsets=None)
    found = choose_features(naive, can)
    pose = fk(naive)
    apart = (found[0].path(pose) - found[1].path(pose))[:, 0]
    if name != "dance":
        assert np.median(np.abs(apart)) == pytest.approx(0.487 * size, rel=0.03)


def test_a_source_of_the_targets_proportions_is_taken_as_it_is():
    given = scene("walk")
    features = choose_features(given.motion, given.motion.skeleton)
    how = find_proportions(given.motion, features, given.contacts, given.motion.skeleton)
    assert how.leg == pytest.approx(1.0, abs=1e-3)
    assert intermediate_body(given.motion.skeleton, replace(how, widening=0.0, trunk=1.0)) is given.motion.skeleton


def test_a_narrow_target_brings_the_legs_together_and_no_further():
    given = scene("squat")
    pin = replace(samples.character("can"), ends=tuple(_pinched(end) for end in samples.character("can").ends))
    how = find_proportions(given.motion, choose_features(given.motion, pin), given.contacts, pin)
    body = intermediate_body(given.motion.skeleton, how)
    hips = [body.rest_world[0][body.joint(f"{side}UpLeg")] for side in ("Left", "Right")]
    assert how.widening < 0.0
    assert hips[0] == pytest.approx(hips[1], abs=1e-9)


def _pinched(end: Point) -> Point:
    return replace(end, offset=end.offset * [0.02, 1.0, 1.0])


# What stands


def columns(*rows: str) -> np.ndarray:
    """A mask (F, P) drawn as one row of letters a point: x is down."""
    return np.array([[letter == "x" for letter in row] for row in rows]).T


@pytest.mark.parametrize(
    ("down", "still", "kept", "tipped"),
    [
        # A walker's double support: one instant of both, in its middle.
        (("xxxxxx....", "...xxxxxxx"), "..........", ("xxxxx.....", "....xxxxxx"), 1),
        # The same, but standing still: both stay.
        (("xxxxxx....", "...xxxxxxx"), "...xxx....", ("xxxxxx....", "...xxxxxxx"), 0),
        # Still for a while: both until it is over.
        (("xxxxxxx...", "..xxxxxxxx"), ".xxx......", ("xxxx......", "..xxxxxxxx"), 0),
        # Standing on both from beginning to end, moving or not.
        (("xxxxxxxxxx", "xxxxxxxxxx"), "..........", ("xxxxxxxxxx", "xxxxxxxxxx"), 0),
        # Landing and taking off with both.
        (("..xxxxxx..", "..xxxxxx.."), "..........", ("..xxxxxx..", "..xxxxxx.."), 0),
        # One that only taps while the other stands: it does not tip over to it.
        (("xxxxxxxxxx", "...xxx...."), "..........", ("xxxxxxxxxx", ".........."), 1),
        # A motion that begins with both down, and one that ends so.
        (("xxx.......", "xxxxxxxxxx"), "..........", ("xx........", ".xxxxxxxxx"), 1),
        (("xxxxxxxxxx", ".......xxx"), "..........", ("xxxxxxxxx.", "........xx"), 1),
        # A hop and a run need nothing.
        (("xxx...xxx.", ".........."), "..........", ("xxx...xxx.", ".........."), 0),
        (("xxx.......", "....xxx..."), "..........", ("xxx.......", "....xxx..."), 0),
    ],
)
def test_a_rigid_body_tips_over_from_one_point_to_the_other(down, still, kept, tipped):
    found, count = tip_rigid_body(columns(*down), columns(still)[:, 0])
    assert np.array_equal(found, columns(*kept))
    assert count == tipped


def test_contacts_go_to_the_point_of_their_limb_and_others_are_named():
    given, can = scene("pick_up"), samples.character("can")
    features = choose_features(given.motion, can)
    kept, notes = find_supports(features, given.motion, given.contacts, can, given.motion.root)
    assert {contact.point.name for contact in kept} == {"LeftFoot", "RightFoot"}
    assert notes[0].startswith("2 contacts of `LeftPalm`, `RightPalm` are not kept")
    assert "tips over from one point to the other" in notes[1]


def test_points_of_a_body_with_a_joint_between_them_may_both_stand():
    """Two stilts on a swivel: no need to tip."""
    stilts = Skeleton(
        names=("bar", "left", "right"),
        parents=np.array([-1, 0, 0]),
        offsets=np.array([[0.0, 0.5, 0.0], [0.2, 0.0, 0.0], [-0.2, 0.0, 0.0]]),
        ends=(
            Point(name="LeftTip", joint="left", offset=np.array([0.0, -0.5, 0.0])),
            Point(name="RightTip", joint="right", offset=np.array([0.0, -0.5, 0.0])),
        ),
    )
    given = scene("walk")
    features = choose_features(given.motion, stilts)
    kept, notes = find_supports(features, given.motion, given.contacts, stilts, given.motion.root)
    both = np.zeros((given.motion.num_frames, 2), bool)
    for contact in kept:
        both[contact.frames(30.0, len(both)), int(contact.point.name == "RightTip")] = True
    assert np.mean(both.all(axis=1)) == pytest.approx(0.2, abs=0.05)
    assert not notes
    fixed = replace(stilts, kinds=(JointKind.FREE, JointKind.FIXED, JointKind.FIXED), axes=np.empty((0, 3, 3)))
    assert "tips over" in find_supports(features, given.motion, given.contacts, fixed, given.motion.root)[1][0]


# The ground


def test_flights_are_spans_without_contact_between_contacts():
    point = Point(name="Hips", joint="Hips")
    spans = ((0.2, 0.5), (0.8, 1.0), (0.9, 1.2))
    contacts = [Contact(point=point, start=a, end=b, place=np.zeros(3)) for a, b in spans]
    motion = scene("walk").motion[:61]
    assert find_flights(contacts, motion) == [(16, 23)]
    assert find_flights([replace(contacts[0], on="box")], motion) == []


def test_a_body_without_legs_rises_as_the_middle_it_follows():
    given = rest_motion(samples.character("adult"), num_frames=21)
    centre = np.zeros((21, 3))
    centre[:, 1] = 0.9 + 0.01 * np.arange(21) + 0.5 * np.maximum(1.0 - ((np.arange(21) - 10.0) / 5.0) ** 2, 0.0)
    height = clearances(given, centre, [(6, 14)], LEVEL)
    assert height[10] == pytest.approx(0.5)
    assert height[[0, 5, 15, 20]] == pytest.approx(0.0, abs=1e-9)
    higher = replace(given, root=given.root + 0.7 * UP)
    assert clearances(higher, centre, [(6, 14)], LEVEL)[10] == pytest.approx(0.7)


def test_a_can_lifted_by_a_flight_is_as_high_as_the_body_it_follows():
    given = scene("skip")
    found = drive(given.motion, samples.character("can"), contacts=given.contacts)
    wanted, got = lowest_heights(found.intermediate, LEVEL), lowest_heights(found.motion, LEVEL)
    for first, last in find_flights(given.contacts, given.motion):
        middle = (first + last) // 2
        assert wanted[middle] > 0.02
        assert got[middle] > wanted[middle] - 2e-3


# Whole


def test_a_chain_follows_hips_and_head_in_place_of_standing():
    """Its three points come within centimetres of what they follow: it has the freedoms to."""
    given = scene("walk")
    found = drive(given.motion, snake((0.0, 0.2, 0.0)), contacts=given.contacts)
    assert not found.contacts
    assert any("are not kept" in note for note in found.notes)
    assert np.sqrt(np.square(found.distances()).mean(axis=0)).max() < 0.04
    assert lowest_heights(found.motion, LEVEL).min() > -2e-3
    gone = found.motion.root[-1] - found.motion.root[0]
    assert gone[2] == pytest.approx((found.intermediate.root[-1] - found.intermediate.root[0])[2], rel=0.02)


def test_limits_of_a_targets_joints_are_kept():
    given = scene("squat")
    stiff, loose = (
        drive(given.motion, snake((0.0, 0.2, 0.0), limit=limit), contacts=given.contacts) for limit in (0.05, np.inf)
    )
    turned = [
        float(angle_between(found.motion.rotations[:, 1:], np.array([1.0, 0.0, 0.0, 0.0])).max())
        for found in (stiff, loose)
    ]
    assert turned[1] > 0.15
    assert turned[0] < np.sqrt(3.0) * 0.05 + 2e-3


def test_given_points_alone_decide_what_is_followed():
    pairs = [PointPair(source="Hips", target="bone0"), PointPair(source="HeadTop", target="nose")]
    found = drive(scene("walk").motion, snake((0.0, 0.0, 0.2)), pairs, contacts=scene("walk").contacts)
    assert [feature.label for feature in found.features] == ["Hips -> bone0", "HeadTop -> nose"]
    assert found.distances().max() < 0.02
    assert fk(found.motion).positions[:, 0, 1].min() > 0.3


def test_without_plants_and_floor_only_the_points_count():
    given, can = scene("walk"), samples.character("can")
    free = drive(given.motion, can, contacts=given.contacts, options=Options(plants="none", floor=False))
    assert not free.contacts
    assert not free.solution.outcomes
    held = walking_can()
    assert np.square(free.distances()).sum() < np.square(held.distances()).sum()
    assert lowest_heights(free.motion, LEVEL).min() < -0.01


def test_contacts_are_found_where_none_are_given():
    found = drive(scene("walk").motion, samples.character("can"))
    assert len(found.contacts) == len(walking_can().contacts)
    assert not found.solution.unmet


def test_a_joint_that_is_to_be_kept_is_not_turned():
    given = scene("walk")
    found = drive(given.motion, snake((0.0, 0.2, 0.0)), contacts=given.contacts, options=Options(keep=("bone3",)))
    turned = angle_between(found.motion.rotations, np.array([1.0, 0.0, 0.0, 0.0])).max(axis=0)
    assert turned[3] == pytest.approx(0.0, abs=1e-6)
    assert turned[2] > 1e-3


def test_the_motion_does_not_depend_on_where_in_the_world_it_is():
    given, turn = scene("run"), from_axis_angle(UP, 2.0)
    shift = np.array([3.0, 0.0, -7.0])
    moved = replace(
        given.motion,
        root=rotate(turn, given.motion.root) + shift,
        rotations=np.concatenate(
            [multiply(turn, given.motion.rotations[:, :1]), given.motion.rotations[:, 1:]], axis=1
        ),
    )
    contacts = [replace(c, place=rotate(turn, c.place) + shift) for c in given.contacts if c.place is not None]
    can = samples.character("can")
    here = drive(given.motion, can, contacts=given.contacts).motion
    there = drive(moved, can, contacts=contacts).motion
    # The intermediate body's path is scaled about the world's origin, which shifts all of it alike.
    back = rotate(np.array([1.0, -1.0, -1.0, -1.0]) * turn, fk(there).ends())
    gap = back - fk(here).ends()
    assert np.linalg.norm(gap - gap[0, 0], axis=-1).max() < 0.01


def test_the_work_is_told_as_it_goes():
    told: list[float] = []
    given = scene("walk")
    drive(given.motion, samples.character("can"), contacts=given.contacts, watch=lambda _, share: told.append(share))
    assert told == sorted(told)
    assert told[0] < 0.4
    assert 0.7 <= told[-1] <= 1.0


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_clip_of_a_few_frames_is_followed_too(count):
    given = scene("walk").motion[10 : 10 + count]
    found = drive(given, samples.character("can"))
    assert found.motion.num_frames == count
    assert found.distances().max() < 0.2


# What is refused


def test_a_flat_body_without_sides_needs_points():
    with pytest.raises(
        CorrespondenceError, match=r"Nothing on the target `snake` can be told .* it has `nose`, `bone0`"
    ):
        drive(scene("walk").motion, snake((0.0, 0.0, 0.2)))
    with pytest.raises(CorrespondenceError, match=r"hint: give the points that correspond: points=\[PointPair"):
        drive(scene("walk").motion, snake((0.0, 0.0, 0.2)))


def test_a_source_without_feet_needs_points():
    body = snake((0.0, 0.2, 0.0))
    with pytest.raises(CorrespondenceError, match="tell a left and a right foot of the source `snake`"):
        drive(rest_motion(body, num_frames=10), samples.character("can"), contacts=())


def test_pairs_that_cannot_be_are_refused():
    motion, can = scene("walk").motion, samples.character("can")
    with pytest.raises(CorrespondenceError, match="the list of point pairs is empty"):
        drive(motion, can, [])
    with pytest.raises(UnknownNameError, match=r"Points `Hip` -> `Centre`, source: Point `Hip` is neither .* `Hips`"):
        drive(motion, can, [PointPair(source="Hip", target="Centre")])
    with pytest.raises(UnknownNameError, match=r"`Hips` -> `Center`, target: .* `Centre`"):
        drive(motion, can, [PointPair(source="Hips", target="Center")])
    twice = [PointPair(source="Hips", target="Centre"), PointPair(source="Head", target="Centre")]
    with pytest.raises(CorrespondenceError, match="`Centre` of the target is to follow both `Hips` and `Head`"):
        drive(motion, can, twice)


def test_the_originals_footsteps_are_refused():
    with pytest.raises(OptionError, match="Expected plants `free` or `none` for feature driving, got `fixed`"):
        drive(scene("walk").motion, samples.character("can"), options=Options(plants="fixed"))


def test_contacts_of_several_actors_are_refused():
    given = scene("dance")
    with pytest.raises(OptionError, match="Expected the contacts of one source; these are of `follow`, `lead`"):
        drive(given.motion, samples.character("can"), contacts=given.contacts)
    mine = [contact for contact in given.contacts if contact.actor == "lead"]
    assert drive(given.actors["lead"], samples.character("can"), contacts=mine).contacts


def test_a_feature_of_several_points_follows_their_middle():
    motion = scene("walk").motion
    both = Feature(
        source=tuple(motion.skeleton.point(name) for name in ("LeftToeTip", "RightToeTip")),
        target=samples.character("can").point("Centre"),
    )
    pose = fk(motion)
    assert both.path(pose) == pytest.approx(pose.points(["LeftToeTip", "RightToeTip"]).mean(axis=1))
