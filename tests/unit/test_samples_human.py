"""The human samples: exact contacts, sound joints, and movement that does not depend on rate or length."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import angle_between, conjugate, from_axis_angle, multiply, rotate, to_matrix
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import Pose, fk, joint_angles
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.metrics.base import evaluate
from understudy.samples import Scene
from understudy.samples.dance import dance
from understudy.samples.gait import march, run, sneak, walk
from understudy.samples.human_body import Measures, between, through
from understudy.samples.ladder import ladder
from understudy.samples.limbs import folded
from understudy.samples.pick_up import pick_up
from understudy.samples.squat import squat

MAKERS = {m.__name__: m for m in (walk, run, march, sneak, squat, pick_up, ladder, dance)}
BODIES = ("adult", "child", "giant", "stretched")
FAST = {"run": 250.0, "march": 140.0, "ladder": 60.0, "squat": 20.0}
"""The greatest acceleration of a joint, m/s2, where it is not that of a walk."""

every_motion = pytest.mark.parametrize("name", MAKERS)


@cache
def scene(name: str, fps: float = 60.0, seconds: float | None = None) -> Scene:
    return samples.motion(name, fps=fps, seconds=seconds)


@cache
def poses(name: str, fps: float = 60.0, seconds: float | None = None) -> dict[str, Pose]:
    return {actor: fk(motion) for actor, motion in scene(name, fps, seconds).actors.items()}


def actor_of(sample: Scene, contact: Contact) -> str:
    return contact.actor or next(iter(sample.actors))


def slips(sample: Scene) -> list[float]:
    """How far each contact is from where it should be, at its worst frame."""
    world = {actor: fk(motion) for actor, motion in sample.actors.items()}
    worst = []
    for contact in sample.contacts:
        motion = sample.actors[actor_of(sample, contact)]
        frames = contact.frames(motion.fps, motion.num_frames)
        place = world[actor_of(sample, contact)].points([contact.point])[frames, 0]
        if contact.place is not None:
            worst.append(float(np.max(np.abs(place - contact.place), initial=0.0)))
        elif contact.other is not None:
            other = world[contact.on].points([contact.other])[frames, 0]
            worst.append(float(np.max(np.abs(place - other), initial=0.0)))
    return worst


def lowest(sample: Scene) -> float:
    pose = [fk(motion) for motion in sample.actors.values()]
    return min(float(min(p.positions[..., 1].min(), p.ends()[..., 1].min())) for p in pose)


def breaches(motion: Motion) -> dict[str, float]:
    """Degrees by which joints pass their limits."""
    limits = motion.skeleton.limits
    bounded = np.isfinite(limits).all(-1)
    near = np.where(bounded, np.where(bounded[..., None], limits, 0.0).mean(-1), 0.0)
    angles = joint_angles(motion.skeleton, motion.rotations, near)
    over = np.maximum(angles - limits[..., 1], limits[..., 0] - angles)
    over = np.where(bounded, over, -np.inf).max(axis=(0, 2))
    return {n: float(np.degrees(o)) for n, o in zip(motion.skeleton.names, over) if o > 1e-9}


@every_motion
@pytest.mark.parametrize("fps", [24.0, 30.0, 60.0, 120.0])
def test_planted_points_do_not_move(name: str, fps: float) -> None:
    distances = slips(scene(name, fps))
    assert len(distances) >= 6
    assert max(distances) < 1e-9


@every_motion
@pytest.mark.parametrize("fps", [24.0, 120.0])
def test_nothing_is_below_the_floor(name: str, fps: float) -> None:
    assert lowest(scene(name, fps)) > -1e-6


@every_motion
def test_hinges_turn_about_their_axis_only_and_the_right_way(name: str) -> None:
    for motion in scene(name).actors.values():
        body = motion.skeleton
        for joint in (j for j, kind in enumerate(body.kinds) if kind is JointKind.HINGE):
            turn = multiply(conjugate(body.rest[joint]), motion.rotations[:, joint])
            axis = body.axes[joint, 0]
            along = turn[:, 1:] @ axis
            assert np.abs(turn[:, 1:] - along[:, None] * axis).max() < 1e-12
            if "Toe" not in body.names[joint]:
                assert np.min(along * np.sign(turn[:, 0])) >= -1e-12


@every_motion
def test_joints_stay_inside_their_limits(name: str) -> None:
    for motion in scene(name).actors.values():
        assert breaches(motion) == {}


@every_motion
def test_rates_agree_at_common_times(name: str) -> None:
    slow, fast = scene(name, 30.0), scene(name, 120.0)
    for actor, motion in slow.actors.items():
        other = fast.actors[actor][::4]
        assert other.num_frames == motion.num_frames
        assert np.abs(other.root - motion.root).max() < 1e-12
        assert angle_between(other.rotations, motion.rotations).max() < 1e-7
    assert [(c.point.name, c.start, c.end) for c in slow.contacts] == [
        (c.point.name, c.start, c.end) for c in fast.contacts
    ]


@every_motion
def test_the_same_call_gives_the_same_numbers(name: str) -> None:
    first, second = (samples.motion(name, fps=30.0, seconds=3.0) for _ in range(2))
    for actor, motion in first.actors.items():
        assert np.array_equal(motion.rotations, second.actors[actor].rotations)
        assert np.array_equal(motion.root, second.actors[actor].root)


@every_motion
def test_a_longer_motion_begins_as_a_shorter_one(name: str) -> None:
    short, long = scene(name, 30.0, 1.0), scene(name, 30.0, 20.0)
    assert short.motion.num_frames == 31
    assert long.motion.num_frames == 601
    for actor, motion in short.actors.items():
        other = long.actors[actor]
        assert np.abs(other.root[:31] - motion.root).max() < 1e-12
        assert angle_between(other.rotations[:31], motion.rotations).max() < 1e-7
    for sample in (short, long):
        assert max(slips(sample)) < 1e-9
        assert lowest(sample) > -1e-6
        assert all(0.0 <= c.start <= c.end <= sample.motion.duration + 1e-9 for c in sample.contacts)
    for motion in long.actors.values():
        assert breaches(motion) == {}


@every_motion
def test_movement_has_no_jumps(name: str) -> None:
    for actor, pose in poses(name, 120.0).items():
        speed = np.diff(pose.positions, axis=0) * 120.0
        change = np.linalg.norm(np.diff(speed, axis=0) * 120.0, axis=-1)
        assert change.max() < FAST.get(name, 80.0), actor
        rotations = scene(name, 120.0).actors[actor].rotations
        assert np.degrees(angle_between(rotations[1:], rotations[:-1])).max() < 10.0
        assert np.einsum("fji,fji->fj", rotations[1:], rotations[:-1]).min() > 0.0


@every_motion
@pytest.mark.parametrize("fps", [10.0, 59.94])
def test_odd_rates_are_exact_too(name: str, fps: float) -> None:
    sample = scene(name, fps, 3.3)
    assert sample.motion.num_frames == int(3.3 * fps + 1e-6) + 1
    assert max(slips(sample)) < 1e-9


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["walk", "run", "march", "sneak", "squat", "pick_up"])
def test_other_builds_move_as_well(name: str, body: str) -> None:
    sample = MAKERS[name](samples.character(body), 60.0, 9.0)
    assert max(slips(sample)) < 1e-9
    assert lowest(sample) > -1e-6
    assert breaches(sample.motion) == {}


@pytest.mark.parametrize("body", ["child", "giant"])
@pytest.mark.parametrize("name", ["ladder", "dance"])
def test_other_builds_reach_for_things(name: str, body: str) -> None:
    sample = MAKERS[name](samples.character(body), 30.0, 9.0)
    assert max(slips(sample)) < 1e-9
    assert lowest(sample) > -1e-6
    for motion in sample.actors.values():
        assert breaches(motion) == {}


def test_even_the_stretched_one_climbs() -> None:
    sample = ladder(samples.character("stretched"), 30.0, 9.0)
    assert max(slips(sample)) < 1e-9
    assert lowest(sample) > -1e-6


def test_a_reach_that_is_too_far_is_an_error() -> None:
    with pytest.raises(MotionError, match=r"follow's right arm must reach .* its bones allow 0\.0139 to 0\.2743 m"):
        dance(samples.character("stretched"), 30.0, 8.0)


@every_motion
@pytest.mark.parametrize(("fps", "seconds"), [(0.0, 1.0), (30.0, -1.0), (np.nan, 1.0), (30.0, np.inf)])
def test_unusable_rates_and_lengths_are_refused(name: str, fps: float, seconds: float) -> None:
    with pytest.raises(OptionError, match="Expected frames per second above zero"):
        samples.motion(name, fps=fps, seconds=seconds)


def test_a_walk_has_human_figures() -> None:
    motion, pose = scene("walk", 120.0).motion, poses("walk", 120.0)["adult"]
    heels = [c for c in scene("walk", 120.0).contacts if c.point.name.endswith("Heel")]
    places = [c.place for c in heels if c.place is not None]
    assert np.diff([p[2] for p in places]) == pytest.approx(0.7, abs=0.02)
    touches = [c.start for c in heels if c.start > 0.0]
    assert 1.0 / np.mean(np.diff(touches)) == pytest.approx(1.8, abs=0.01)
    angles = np.degrees(joint_angles(motion.skeleton, motion.rotations))
    knee, hip, arm = (angles[:, motion.skeleton.joint(n), 0] for n in ("LeftLeg", "LeftUpLeg", "LeftArm"))
    assert 55.0 < knee.max() < 70.0
    assert -45.0 < hip.min() < -25.0
    assert 8.0 < hip.max() < 25.0
    assert 35.0 < np.ptp(arm) < 60.0
    assert 0.02 < np.ptp(pose.positions[:, 0, 1]) < 0.045
    # The arm is forward when the leg of its side is back.
    hand, foot = (pose.points([p])[:, 0, 2] - pose.positions[:, 0, 2] for p in ("LeftPalm", "LeftFoot"))
    assert np.corrcoef(hand, foot)[0, 1] < -0.7


def test_each_foot_of_a_walk_stands_for_sixty_percent_of_a_stride() -> None:
    contacts = [c for c in scene("walk").contacts if c.point.joint.startswith("Left")]
    heel = [c for c in contacts if c.point.name == "LeftHeel"][1:3]
    toe = next(c for c in contacts if c.point.name == "LeftToeTip" and c.start > heel[0].start)
    assert (toe.end - heel[0].start) / (heel[1].start - heel[0].start) == pytest.approx(0.6, abs=1e-9)


def support(name: str) -> np.ndarray:
    """(F,) how many feet are in contact at each frame."""
    sample = scene(name, 120.0)
    sides = {side: np.zeros(sample.motion.num_frames, bool) for side in ("Left", "Right")}
    for contact in sample.contacts:
        side = "Left" if contact.point.name.startswith("Left") else "Right"
        sides[side][contact.frames(120.0, sample.motion.num_frames)] = True
    return sides["Left"].astype(int) + sides["Right"]


def test_only_a_run_flies() -> None:
    assert 0.2 < np.mean(support("run") == 0) < 0.45
    assert np.max(support("run")) == 1
    for name in ("walk", "march", "sneak"):
        assert np.min(support(name)) == 1
        assert np.max(support(name)) == 2


def test_the_weight_is_over_the_standing_foot() -> None:
    pose, one = poses("walk", 120.0)["adult"], support("walk") == 1
    left, right = (pose.points([side])[:, 0, 1] for side in ("LeftToeBase", "RightToeBase"))
    stands_left = one & (left < right)
    assert pose.positions[stands_left, 0, 0].mean() > 0.01
    assert pose.positions[one & (right < left), 0, 0].mean() < -0.01


def test_gaits_are_what_they_are_called() -> None:
    world = {name: poses(name)["adult"] for name in ("walk", "march", "sneak", "run")}
    index = samples.character("adult").index

    def height(name: str, joint: str) -> np.ndarray:
        return world[name].positions[:, index[joint], 1]

    thigh = {n: height(n, "LeftLeg").max() - height(n, "LeftUpLeg").mean() for n in world}
    assert thigh["march"] > -0.12
    assert thigh["walk"] < -0.3
    assert height("sneak", "Hips").mean() < 0.87 * height("walk", "Hips").mean()
    assert height("sneak", "LeftHand").min() > height("sneak", "Hips").max()
    assert not [c for c in scene("sneak").contacts if "Heel" in c.point.name]
    for name, low, high in (("march", 0.0, 15.0), ("run", 70.0, 120.0)):
        motion = scene(name).motion
        bend = np.degrees(joint_angles(motion.skeleton, motion.rotations)[:, index["LeftForeArm"], 0])
        assert low < bend.min()
        assert bend.max() < high


def test_a_squat_goes_down_with_all_feet_planted_and_arms_forward() -> None:
    sample, pose = scene("squat"), poses("squat")["adult"]
    assert len(sample.contacts) == 6
    assert all((c.start, c.end) == (0.0, 5.2) for c in sample.contacts)
    deepest = int(np.argmin(pose.positions[:, 0, 1]))
    hip, knee, shoulder, hand = (
        pose.positions[deepest, sample.motion.skeleton.joint(n)]
        for n in ("LeftUpLeg", "LeftLeg", "LeftArm", "LeftHand")
    )
    assert hip[1] == pytest.approx(knee[1], abs=0.1)
    assert hand[2] - shoulder[2] > 0.45
    assert np.ptp(pose.positions[:, 0, 1]) > 0.4


def test_the_box_is_gripped_the_same_way_as_long_as_it_is_held() -> None:
    sample, pose = scene("pick_up"), poses("pick_up")["adult"]
    (box,) = sample.props
    grips = [c for c in sample.contacts if c.on == "box"]
    assert {c.point.name for c in grips} == {"LeftPalm", "RightPalm"}
    frames = grips[0].frames(60.0, sample.motion.num_frames)
    palms = pose.points(["LeftPalm", "RightPalm"])[frames]
    in_box = palms - box.positions[frames]
    assert np.abs(in_box - in_box[0]).max() < 1e-12
    assert np.abs(np.linalg.norm(palms[:, 0] - palms[:, 1], axis=-1) - box.sizes[0, 0]).max() < 1e-12
    assert np.abs(in_box[0, :, 0]) == pytest.approx(0.5 * box.sizes[0, 0])
    assert np.all(np.abs(in_box[0, :, 1:]) < 0.5 * box.sizes[0, 1:])


def test_the_box_stands_still_until_it_is_held_and_is_carried_away() -> None:
    sample = scene("pick_up")
    (box,) = sample.props
    first = next(c.start for c in sample.contacts if c.on == "box")
    before = box.positions[: int(first * 60.0) + 1, 0]
    assert np.ptp(before, axis=0).max() == 0.0
    assert np.min(box.positions[:, 0, 1] - 0.5 * box.sizes[0, 1]) >= 0.0
    assert box.positions[-1, 0, 1] > 0.9
    assert box.positions[-1, 0, 2] - box.positions[0, 0, 2] > 1.5
    assert box.positions.shape == (sample.motion.num_frames, 1, 3)


def test_a_pick_up_that_is_cut_short_never_touches_the_box() -> None:
    assert not [c for c in scene("pick_up", 30.0, 1.0).contacts if c.on == "box"]


def test_ladder_holds_are_on_rungs() -> None:
    sample = scene("ladder")
    (prop,) = sample.props
    rungs = prop.positions[:-2]
    half = 0.5 * prop.sizes[0]
    for contact in (c for c in sample.contacts if c.on == "ladder"):
        assert contact.place is not None
        away = np.abs(contact.place - rungs)
        assert np.min(np.max(away - half, axis=-1)) < 1e-9
        assert 0.0 < contact.place[1] < np.max(prop.positions[:-2, 1])
    assert {c.point.name for c in sample.contacts if c.on == "ladder"} == {
        "LeftPalm", "RightPalm", "LeftToeBase", "RightToeBase",
    }  # fmt: skip


@pytest.mark.parametrize("seconds", [6.0, 20.0])
def test_a_ladder_is_climbed_with_three_holds_or_two_at_least(seconds: float) -> None:
    sample = scene("ladder", 30.0, seconds)
    held = {}
    for contact in sample.contacts:
        held.setdefault(contact.point.joint[:8], np.zeros(sample.motion.num_frames, bool))[
            contact.frames(30.0, sample.motion.num_frames)
        ] = True
    assert np.min(np.sum(list(held.values()), axis=0)) >= 2
    climbed = sample.motion.root[-1, 1] - sample.motion.root[0, 1]
    assert climbed > 0.25 * (seconds - 2.0)


def test_dancing_hands_are_together_while_they_hold() -> None:
    sample, world = scene("dance"), poses("dance")
    lead, follow = (world[a].points([p])[:, 0] for a, p in (("lead", "LeftPalm"), ("follow", "RightPalm")))
    assert np.abs(lead - follow).max() < 1e-9
    holds = [c for c in sample.contacts if c.on == "follow"]
    assert [(c.point.name, c.other.name) for c in holds if c.other is not None] == [
        ("LeftPalm", "RightPalm"), ("RightPalm", "LeftPalm"), ("RightPalm", "LeftPalm"),
    ]  # fmt: skip
    free = np.linalg.norm(
        world["lead"].points(["RightPalm"])[:, 0] - world["follow"].points(["LeftPalm"])[:, 0], axis=-1
    )
    assert free.max() > 0.3


def test_the_follower_turns_once_under_the_raised_hands() -> None:
    sample, world = scene("dance"), poses("dance")
    forward = world["follow"].directions("Hips", np.array([0.0, 0.0, 1.0]))
    yaw = np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))
    assert yaw[-1] - yaw[0] == pytest.approx(-2.0 * np.pi, abs=1e-9)
    assert np.ptp(np.unwrap(np.arctan2(*world["lead"].directions("Hips", np.array([0.0, 0.0, 1.0])).T[[0, 2]]))) < 0.1
    back = int(np.argmin(np.abs(yaw - yaw[0] + np.pi)))
    hand, head = (world["follow"].points([p])[back, 0] for p in ("RightPalm", "HeadTop"))
    assert hand[1] > head[1] + 0.05
    assert np.linalg.norm((hand - head)[[0, 2]]) < 0.15
    assert sample.actors["follow"].skeleton.rest_ends[0, 1] < sample.actors["lead"].skeleton.rest_ends[0, 1]


@pytest.mark.parametrize("actor", ["lead", "follow"])
def test_dancers_legs_pass_beside_each_other(actor: str) -> None:
    """In the turn too, where a foot that stands while the body turns on must not end up across the other."""
    measured = evaluate(scene("dance").actors[actor], only=["self_penetration"])["self_penetration"]
    assert measured["worst_depth"] < 0.005, measured.words


def test_dancers_face_each_other_and_keep_apart() -> None:
    world = poses("dance")
    apart = np.linalg.norm((world["lead"].positions[:, 0] - world["follow"].positions[:, 0])[:, [0, 2]], axis=-1)
    assert apart.min() > 0.5
    assert apart.max() < 1.1
    assert world["lead"].directions("Head", np.array([0.0, 0.0, 1.0]))[0, 2] > 0.9
    assert world["follow"].directions("Head", np.array([0.0, 0.0, 1.0]))[0, 2] < -0.9


@pytest.mark.parametrize("body", BODIES)
def test_humans_stand_on_the_floor_in_a_t_pose(body: str) -> None:
    skeleton = samples.character(body)
    assert skeleton.names == samples.character("adult").names
    assert np.array_equal(skeleton.parents, samples.character("adult").parents)
    assert np.array_equal(skeleton.rest, samples.character("adult").rest)
    pose = fk(rest_motion(skeleton))
    sole = ["LeftHeel", "LeftToeBase", "LeftToeTip", "RightHeel", "RightToeBase", "RightToeTip"]
    assert np.abs(pose.points(sole)[0, :, 1]).max() < 1e-12
    heel, ankle, ball, tip = pose.points(["LeftHeel", "LeftFoot", "LeftToeBase", "LeftToeTip"])[0]
    assert heel[2] < ankle[2] < ball[2] < tip[2]
    assert ankle[1] > 0.04
    arm = pose.points(["LeftArm", "LeftForeArm", "LeftHand", "LeftFingertips"])[0]
    assert np.ptp(arm[:, 1:]) < arm[0, 1] + 1e-9
    assert np.all(np.diff(arm[:, 0]) > 0.0)


@pytest.mark.parametrize(("body", "height"), [("adult", 1.75), ("child", 1.06), ("giant", 2.83), ("other", 1.82)])
def test_heights(body: str, height: float) -> None:
    assert samples.character(body).rest_ends[:, 1].max() == pytest.approx(height, abs=1e-9)


def test_builds_differ_as_they_should() -> None:
    share = {}
    for body in BODIES:
        skeleton = samples.character(body)
        share[body] = Measures.of(skeleton).leg / skeleton.rest_ends[:, 1].max()
    assert share["stretched"] < share["child"] < share["adult"] < share["giant"]


@pytest.mark.parametrize("body", BODIES)
def test_humans_are_symmetric(body: str) -> None:
    skeleton = samples.character(body)
    for name, joint in skeleton.index.items():
        if name.startswith("Left"):
            other = skeleton.joint("Right" + name.removeprefix("Left"))
            assert skeleton.offsets[other] == pytest.approx(skeleton.offsets[joint] * [-1.0, 1.0, 1.0])
            if skeleton.kinds[joint] is JointKind.BALL:
                mirrored = np.where(
                    skeleton.axes[joint, :, :1] != 0.0, skeleton.limits[joint], -skeleton.limits[joint][:, ::-1]
                )
                assert skeleton.limits[other] == pytest.approx(mirrored)


def bent(skeleton: Skeleton, joint: str, degrees: float, point: str) -> np.ndarray:
    """Where a point goes when one joint is turned about its first axis."""
    motion = rest_motion(skeleton)
    rotations = np.array(motion.rotations)
    number = skeleton.joint(joint)
    turn = from_axis_angle(skeleton.axes[number, 0], np.radians(degrees))
    rotations[0, number] = multiply(skeleton.rest[number], turn)
    moved = fk(Motion(skeleton=skeleton, fps=30.0, root=motion.root, rotations=rotations))
    return moved.points([point])[0, 0] - fk(motion).points([point])[0, 0]


@pytest.mark.parametrize(
    ("body", "knee", "ankle", "elbow", "wrist"),
    [
        ("adult", "LeftLeg", "LeftFoot", "LeftForeArm", "LeftHand"),
        ("adult", "RightLeg", "RightFoot", "RightForeArm", "RightHand"),
        ("other", "calf_l", "foot_l", "lowerarm_l", "hand_l"),
        ("other", "calf_r", "foot_r", "lowerarm_r", "hand_r"),
    ],
)
def test_knees_bend_back_and_elbows_forward(body: str, knee: str, ankle: str, elbow: str, wrist: str) -> None:
    skeleton = samples.character(body)
    back, forward = bent(skeleton, knee, 60.0, ankle), bent(skeleton, elbow, 60.0, wrist)
    assert back[2] < -0.3
    assert abs(back[0]) < 1e-9
    assert forward[2] > 0.15


def test_the_game_rig_has_frames_along_its_bones() -> None:
    skeleton = samples.character("other")
    assert skeleton.names[:3] == ("root", "pelvis", "spine_01")
    assert skeleton.parents[1] == 0
    assert sum(name.startswith("spine") for name in skeleton.names) == 5
    for side, sign in (("l", 1.0), ("r", -1.0)):
        for joint, child in (("thigh", "calf"), ("calf", "foot"), ("upperarm", "lowerarm"), ("lowerarm", "hand")):
            offset = skeleton.offsets[skeleton.joint(f"{child}_{side}")]
            assert offset == pytest.approx([sign * np.linalg.norm(offset), 0.0, 0.0], abs=1e-9), joint
    places, turns = skeleton.rest_world
    assert np.all(np.linalg.det(to_matrix(turns)) > 0.0)
    shoulder, hand = (places[skeleton.joint(n)] for n in ("upperarm_l", "hand_l"))
    drop = np.degrees(np.arctan2(shoulder[1] - hand[1], hand[0] - shoulder[0]))
    assert drop == pytest.approx(45.0, abs=1.0)
    soles = [f"{name}_{side}" for name in ("heel", "ball", "toe_tip") for side in "lr"]
    assert np.abs(fk(rest_motion(skeleton)).points(soles)[0, :, 1]).max() < 1e-12


def test_the_game_rig_rests_inside_its_limits() -> None:
    assert breaches(rest_motion(samples.character("other"))) == {}


def test_a_folded_limb_ends_at_its_goal() -> None:
    rng = np.random.default_rng(3)
    start, way = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    goal = start + way / np.linalg.norm(way, axis=-1, keepdims=True) * rng.uniform(0.15, 0.849, (50, 1))
    bone, axis = np.array([0.0, -0.45, 0.0]), np.array([1.0, 0.0, 0.0])
    upper, angle = folded(start, goal, (bone, axis), 0.4, rng.normal(size=(50, 3)))
    lower = multiply(upper, from_axis_angle(axis, angle))
    end = start + rotate(upper, bone) + rotate(lower, np.array([0.0, -0.4, 0.0]))
    assert np.abs(end - goal).max() < 1e-12
    assert angle.min() >= 0.0


def test_curves_pass_their_knots_with_their_speeds() -> None:
    knots, values, rates = np.array([0.0, 1.0, 1.5]), np.array([0.0, 2.0, 1.0]), np.array([0.5, 0.0, -3.0])
    assert through(knots, knots, values, rates) == pytest.approx(values)
    step = 1e-5
    for knot, rate in zip(knots[1:2], rates[1:2]):
        before, after = through([knot - step, knot + step], knots, values, rates)
        assert (after - before) / (2.0 * step) == pytest.approx(rate, abs=1e-6)
    calm = through(np.linspace(-1.0, 4.0, 501), [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 0.0])
    assert calm.max() <= 1.0 + 1e-12
    assert calm.min() >= -1e-12
    path = between(np.array([0.0, 1.0]), 2.0, ([1.0], [2.0], [3.0]), ([4.0], [5.0], [6.0]))
    assert path == pytest.approx(np.array([[1.0], [4.0]]))
