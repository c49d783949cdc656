"""Transfer to bodies with a known answer: other joint frames, rest poses, numbers of bones, and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.errors import SkeletonError
from understudy.base.quaternion import (
    Array,
    angle,
    angle_between,
    conjugate,
    exp,
    from_axis_angle,
    identity,
    multiply,
    normalize,
    rotate,
    slerp,
    split,
    unrotate,
)
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.carry import _distribute, anchors, transfer_motion
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.contacts import Floor, scaled_places
from understudy.figure.kinematics import fk, joint_angles, joint_rotations
from understudy.figure.measures import facing, mirror
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Point, Skeleton

LEVEL = Floor(slope=np.zeros(2))
X, Y, Z = np.eye(3)


def mapped(source: Skeleton, target: Skeleton, *pairs: tuple[str, str], **details: float) -> Correspondence:
    """A map of bones by name, several separated by blanks; `bone=twist` twists a bone of the target."""
    made = []
    for a, b in pairs:
        twist = details.get(b.split()[0], 0.0)
        made.append(Pair(source=tuple(a.split()), target=tuple(b.split()), twist=twist))
    return Correspondence(source=source, target=target, pairs=tuple(made))


def namesakes(source: Skeleton, target: Skeleton) -> Correspondence:
    return mapped(source, target, *((name, name) for name in source.names))


def carried(motion: Motion, whole: Correspondence, **options: object) -> Motion:
    aligned = align(whole, **options)  # type: ignore[arg-type]
    return transfer_motion(motion, aligned, floor=LEVEL, ratio=1.0)


def reframed(motion: Motion, rng: np.random.Generator) -> Motion:
    """The same movement with random joint frames: all points of the body stay in place."""
    body = motion.skeleton
    turns = normalize(rng.normal(size=(body.num_joints, 4)))
    above = np.concatenate([identity(1), turns])[body.parents + 1]
    skeleton = replace(
        body,
        offsets=unrotate(above, body.offsets),
        rest=multiply(conjugate(above), multiply(body.rest, turns)),
        axes=unrotate(turns[:, None], body.axes),
        ends=tuple(replace(e, offset=unrotate(turns[body.index[e.joint]], e.offset)) for e in body.ends),
        name="reframed",
    )
    return replace(motion, skeleton=skeleton, rotations=multiply(conjugate(above), multiply(motion.rotations, turns)))


def rested(body: Skeleton, **turns: Array) -> Skeleton:
    """The same body with another rest pose: bones rotated in the world, with their descendants."""
    rest = body.rest.copy()
    for name, turn in turns.items():
        joint = body.joint(name)
        world = body.rest_world[1][joint]
        rest[joint] = multiply(rest[joint], multiply(conjugate(world), multiply(turn, world)))
    return replace(body, rest=rest)


def loosened(motion: Motion) -> Motion:
    """The same motion of a body with ball joints only, so that no rotation is reduced to a hinge."""
    body = replace(motion.skeleton, kinds=(), axes=np.empty((0, 3, 3)), limits=np.empty((0, 3, 2)))
    return replace(motion, skeleton=body)


def arms_down(body: Skeleton, degrees: float = 80.0) -> Skeleton:
    left, right = (from_axis_angle(Z, np.radians(sign * degrees)) for sign in (-1.0, 1.0))
    return rested(body, LeftArm=left, RightArm=right)


def built(*bones: tuple[str, str, tuple[float, float, float]], ends: dict[str, tuple[float, ...]]) -> Skeleton:
    """A small body of (name, parent, offset), with ends by joint."""
    names = [name for name, _, _ in bones]
    return Skeleton(
        names=tuple(names),
        parents=np.array([names.index(parent) if parent else -1 for _, parent, _ in bones]),
        offsets=np.array([offset for _, _, offset in bones], float),
        ends=tuple(Point(name=f"{joint}End", joint=joint, offset=np.array(at)) for joint, at in ends.items()),
    )


def column(count: int, height: float = 1.0) -> Skeleton:
    """Hips with a back of some bones, and two legs that show the sides."""
    back = [
        (f"Back{i}", f"Back{i - 1}" if i else "Hips", (0.0, height / count if i else 0.1, 0.0)) for i in range(count)
    ]
    return built(
        ("Hips", "", (0.0, 1.0, 0.0)),
        ("LeftThigh", "Hips", (0.1, 0.0, 0.0)),
        ("RightThigh", "Hips", (-0.1, 0.0, 0.0)),
        *back,
        ends={
            "LeftThigh": (0.0, -0.9, 0.0),
            "RightThigh": (0.0, -0.9, 0.0),
            f"Back{count - 1}": (0.0, height / count, 0.0),
        },
    )


def legs(*parts: str) -> Skeleton:
    """Hips, a back, and two legs of some bones each."""
    bones: list[tuple[str, str, tuple[float, float, float]]] = [
        ("Hips", "", (0.0, 1.0, 0.0)),
        ("Back", "Hips", (0.0, 0.2, 0.0)),
    ]
    ends: dict[str, tuple[float, ...]] = {"Back": (0.0, 0.4, 0.0)}
    for side, across in (("Left", 0.1), ("Right", -0.1)):
        for number, part in enumerate(parts):
            drop = -0.9 / len(parts)
            bones.append(
                (f"{side}{part}", f"{side}{parts[number - 1]}", (0.0, drop, 0.0))
                if number
                else (f"{side}{part}", "Hips", (across, 0.0, 0.0))
            )
        ends[f"{side}{parts[-1]}"] = (0.0, -0.9 / len(parts), 0.0)
    return built(*bones, ends=ends)


def turning(body: Skeleton, **turns: Array) -> Motion:
    """A body at rest except for some joints with rotations (F, 4)."""
    frames = len(next(iter(turns.values())))
    still = rest_motion(body, num_frames=frames)
    rotations = still.rotations.copy()
    for name, turn in turns.items():
        rotations[:, body.joint(name)] = turn
    return replace(still, rotations=rotations)


def swings(axis: Array, most: float, frames: int = 7) -> Array:
    return from_axis_angle(axis, np.linspace(0.0, most, frames))


def turned(motion: Motion, whole: Correspondence) -> dict[str, Array]:
    """(F, 4) world rotation away from the reference pose of each bone of a transferred motion."""
    reference = align(whole).target_world
    world = fk(motion).rotations
    return {name: multiply(world[:, j], conjugate(reference[j])) for j, name in enumerate(whole.target.names)}


@pytest.mark.parametrize("name", ["walk", "march", "ladder", "dog_walk", "spider_walk", "swim"])
@pytest.mark.parametrize("seed", [1, 2])
def test_joint_frames_do_not_matter(name: str, seed: int) -> None:
    """Every joint and end of a body with other joint frames is where the source's is, to 1e-9 m [Hsieh05, fig. 5]."""
    motion = samples.motion(name).motion[::5]
    other = reframed(motion, np.random.default_rng(seed))
    np.testing.assert_allclose(fk(other).positions, fk(motion).positions, atol=1e-12)
    result = carried(motion, namesakes(motion.skeleton, other.skeleton))
    np.testing.assert_allclose(fk(result).positions, fk(motion).positions, atol=1e-9)
    np.testing.assert_allclose(fk(result).ends(), fk(motion).ends(), atol=1e-9)
    assert angle_between(result.rotations, other.rotations).max() < 1e-7


@pytest.mark.parametrize("degrees", [-40.0, 45.0, 80.0])
@pytest.mark.parametrize("name", ["walk", "ladder", "pick_up"])
def test_rest_poses_do_not_matter(name: str, degrees: float) -> None:
    """Arms lowered or raised in the target's rest pose, joint frames at random: the same places, to 1e-9 m."""
    motion = samples.motion(name).motion[::6]
    body = arms_down(motion.skeleton, degrees)
    other = reframed(replace(motion, skeleton=body), np.random.default_rng(3)).skeleton
    assert np.linalg.norm(other.rest_world[0] - motion.skeleton.rest_world[0], axis=-1).max() > 0.3
    result = carried(motion, namesakes(motion.skeleton, other))
    np.testing.assert_allclose(fk(result).positions, fk(motion).positions, atol=1e-9)
    back = carried(result, namesakes(other, motion.skeleton))
    np.testing.assert_allclose(fk(back).positions, fk(motion).positions, atol=1e-9)


def test_there_and_back_is_where_it_was() -> None:
    """Rotations agree to 1e-7, even if the rest pose is twisted about its bones."""
    motion = loosened(samples.motion("walk").motion[::6])
    body = arms_down(motion.skeleton)
    body = rested(body, LeftForeArm=exp(0.7 * Y), RightLeg=exp(-0.4 * Y))
    other = reframed(replace(motion, skeleton=body), np.random.default_rng(4)).skeleton
    there = carried(motion, namesakes(motion.skeleton, other))
    back = carried(there, namesakes(other, motion.skeleton))
    assert angle_between(back.rotations, motion.rotations).max() < 1e-7
    np.testing.assert_allclose(back.root, motion.root, atol=1e-9)


def test_the_path_is_scaled_about_the_floor_at_the_hip_joints() -> None:
    motion = samples.motion("walk").motion[::6]
    small = motion.skeleton.scaled(0.5)
    whole = namesakes(motion.skeleton, small)
    floor = Floor(height=0.3, slope=np.zeros(2))
    result = transfer_motion(motion, align(whole), floor=floor, ratio=0.5)
    of, to = anchors(whole)
    assert [motion.skeleton.names[j] for j in of] == ["LeftUpLeg", "RightUpLeg"]
    wanted = scaled_places(fk(motion).positions[:, of].mean(1), 0.5, floor)
    np.testing.assert_allclose(fk(result).positions[:, to].mean(1), wanted, atol=1e-12)


def test_bodies_without_legs_go_by_their_roots() -> None:
    source, target = column(3), column(5)
    pairs = [("Hips", "Hips"), ("Back0 Back1 Back2", "Back0 Back1 Back2 Back3 Back4")]
    whole = mapped(source, target, *pairs)
    assert anchors(whole) == ([0], [0])


@pytest.mark.parametrize(("counts"), [(3, 5), (5, 3), (1, 4), (4, 1), (2, 7)])
def test_chains_of_different_length_share_the_turn_out(counts: tuple[int, int]) -> None:
    """A back bent evenly about one axis: the last bone ends as turned as the source's last, to 1e-9; those before it
    in even steps."""
    source, target = column(counts[0]), column(counts[1])
    every = [" ".join(f"Back{i}" for i in range(count)) for count in counts]
    bend = swings(X, 0.9) if counts[0] == 1 else swings(X, 0.9 / counts[0])
    motion = turning(source, **{f"Back{i}": bend for i in range(counts[0])})
    legs_too = [("LeftThigh", "LeftThigh"), ("RightThigh", "RightThigh")]
    whole = mapped(source, target, ("Hips", "Hips"), (every[0], every[1]), *legs_too)
    result = turned(carried(motion, whole), whole)
    steps = np.array([angle(result[f"Back{i}"]) for i in range(counts[1])])
    np.testing.assert_allclose(result[f"Back{counts[1] - 1}"], from_axis_angle(X, np.linspace(0, 0.9, 7)), atol=1e-9)
    assert (np.diff(steps[:, 1:], axis=0) > 0.0).all(), "each bone is turned further than the one before"
    np.testing.assert_allclose(steps[:, -1], 0.9 * np.arange(1, counts[1] + 1) / counts[1], atol=1e-9)


def test_a_turn_of_three_axes_ends_exactly_and_grows_along_the_chain(rng: np.random.Generator) -> None:
    source, target = column(3), column(5)
    motion = turning(source, **{f"Back{i}": exp(rng.normal(0.0, 0.25, (6, 3))) for i in range(3)})
    pairs = [("Hips", "Hips"), ("Back0 Back1 Back2", "Back0 Back1 Back2 Back3 Back4")]
    whole = mapped(source, target, *pairs)
    result = turned(carried(motion, whole), whole)
    world = fk(motion).rotations
    np.testing.assert_allclose(angle_between(result["Back4"], world[:, source.joint("Back2")]), 0.0, atol=1e-7)
    # Three fifths of the way along five bones is nine fifths of the way along three: between the second and the third.
    wanted = slerp(world[:, source.joint("Back0")], world[:, source.joint("Back1")], 0.8)
    assert angle_between(result["Back2"], wanted).max() < 1e-7


def test_a_limb_of_one_bone_onto_two_bends_at_the_first_and_shares_the_twist() -> None:
    source, target = legs("Thigh"), legs("Thigh", "ThighTwist")
    bend, twist = from_axis_angle(X, np.full(5, -0.8)), from_axis_angle(Y, np.linspace(0.0, 1.0, 5))
    motion = turning(source, LeftThigh=multiply(bend, twist))
    pairs = [("Hips", "Hips"), ("Back", "Back"), ("RightThigh", "RightThigh RightThighTwist")]
    whole = mapped(source, target, *pairs, ("LeftThigh", "LeftThigh LeftThighTwist"))
    made = carried(motion, whole)
    result = turned(made, whole)
    for bone, share in (("LeftThigh", 0.5), ("LeftThighTwist", 1.0)):
        swing, about = split(result[bone], Y)
        assert angle_between(swing, bend).max() < 1e-9, bone
        assert angle_between(about, slerp(identity(5), twist, np.full(5, share))).max() < 1e-9, bone
    second = made.rotations[:, target.joint("LeftThighTwist")]
    assert np.abs(rotate(second, Y) - Y).max() < 1e-9, "the second bone only twists: the limb stays straight"
    assert angle(result["RightThigh"]).max() < 1e-12


def test_two_bones_of_a_limb_onto_one_are_the_last_of_them() -> None:
    source, target = legs("Thigh", "ThighTwist"), legs("Thigh")
    bend, twist = from_axis_angle(X, np.full(4, 0.6)), from_axis_angle(Y, np.linspace(0.0, 0.8, 4))
    motion = turning(source, LeftThigh=bend, LeftThighTwist=twist)
    pairs = [("Hips", "Hips"), ("Back", "Back"), ("RightThigh RightThighTwist", "RightThigh")]
    whole = mapped(source, target, *pairs, ("LeftThigh LeftThighTwist", "LeftThigh"))
    result = turned(carried(motion, whole), whole)
    assert angle_between(result["LeftThigh"], multiply(bend, twist)).max() < 1e-9


def fish() -> Skeleton:
    """A fish that hangs down as legs do, so that only movement differs."""
    return built(
        ("Body", "", (0.0, 1.0, 0.0)),
        ("Front", "Body", (0.0, 0.2, 0.0)),
        ("TailFin", "Body", (0.0, -0.1, 0.0)),
        ends={"Front": (0.0, 0.3, 0.0), "TailFin": (0.0, -0.6, 0.0)},
    )


def test_two_legs_onto_a_fin_are_its_mean() -> None:
    source, target = legs("Thigh"), fish()
    whole = mapped(source, target, ("Hips", "Body"), ("Back", "Front"), ("LeftThigh RightThigh", "TailFin"))
    same = turning(source, LeftThigh=swings(X, 0.7), RightThigh=swings(X, 0.7))
    assert angle_between(turned(carried(same, whole), whole)["TailFin"], swings(X, 0.7)).max() < 1e-9
    apart = turning(source, LeftThigh=swings(X, 0.9), RightThigh=swings(X, -0.3))
    assert angle_between(turned(carried(apart, whole), whole)["TailFin"], swings(X, 0.3)).max() < 1e-9


def test_a_fin_onto_two_legs_moves_both() -> None:
    source, target = fish(), legs("Thigh")
    whole = mapped(source, target, ("Body", "Hips"), ("Front", "Back"), ("TailFin", "LeftThigh RightThigh"))
    result = turned(carried(turning(source, TailFin=swings(Z, 0.7)), whole), whole)
    for side in ("Left", "Right"):
        assert angle_between(result[f"{side}Thigh"], swings(Z, 0.7)).max() < 1e-9


def test_bones_without_a_partner_stay_as_they_are() -> None:
    motion = samples.motion("walk").motion[::10]
    body = motion.skeleton
    names = [name for name in body.names if "Arm" not in name and "Hand" not in name]
    whole = mapped(body, reframed(motion, np.random.default_rng(5)).skeleton, *((n, n) for n in names))
    result = carried(motion, whole)
    for name in set(body.names) - set(names):
        joint = body.joint(name)
        still = angle_between(result.rotations[:, joint], whole.target.rest[joint])
        assert still.max() < 1e-9, name
    head = body.joint("Head")
    np.testing.assert_allclose(fk(result).positions[:, head], fk(motion).positions[:, head], atol=1e-9)


@pytest.mark.parametrize("degrees", [-90.0, 30.0, 180.0])
def test_a_given_twist_turns_the_bone_about_itself_by_that_much(degrees: float) -> None:
    """The user corrects the twist of a hand [Hsieh05, sec. 3.2]: the direction of the bone stays."""
    motion = loosened(samples.motion("march").motion[::10])
    body = motion.skeleton
    names = [(name, name) for name in body.names]
    plain = carried(motion, mapped(body, body, *names))
    other = carried(motion, mapped(body, body, *names, LeftForeArm=np.radians(degrees)))
    elbow, hand = body.joint("LeftForeArm"), body.joint("LeftHand")
    np.testing.assert_allclose(fk(other).positions, fk(plain).positions, atol=1e-9)
    along = fk(plain).positions[:, hand] - fk(plain).positions[:, elbow]
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    wanted = multiply(from_axis_angle(along, np.radians(degrees)), fk(plain).rotations[:, elbow])
    assert angle_between(fk(other).rotations[:, elbow], wanted).max() < 1e-7
    others = [j for j in range(body.num_joints) if j not in (elbow, hand)]
    assert angle_between(fk(other).rotations[:, others], fk(plain).rotations[:, others]).max() < 1e-9
    tips = [fk(each).points(["LeftPalm", "LeftFingertips"]) for each in (other, plain)]
    np.testing.assert_allclose(tips[0].mean(1), tips[1].mean(1), atol=1e-9, err_msg="the hand points as before")
    turn = angle_between(fk(other).rotations[:, hand], fk(plain).rotations[:, hand])
    np.testing.assert_allclose(turn, np.radians(abs(degrees)), rtol=0.05, err_msg="and is turned with the arm")


def test_a_frame_can_be_the_reference_pose() -> None:
    """With reference poses from the same moment, a motion is unchanged whatever the rest poses."""
    motion = loosened(samples.motion("march").motion[::5])
    rng = np.random.default_rng(6)
    odd = replace(motion.skeleton, rest=normalize(rng.normal(size=(motion.skeleton.num_joints, 4))))
    other = reframed(replace(motion, skeleton=odd), rng)
    whole = namesakes(motion.skeleton, other.skeleton)
    result = carried(motion, whole, source_pose=motion.rotations[4], target_pose=other.rotations[4])
    np.testing.assert_allclose(fk(result).positions, fk(motion).positions, atol=1e-9)


def nested(motion: Motion) -> Motion:
    """The same movement with a node at the origin above the hips, as in game rigs."""
    body = motion.skeleton
    skeleton = replace(
        body,
        names=("Node", *body.names),
        parents=np.array([-1, 0, *(body.parents[1:] + 1)]),
        offsets=np.concatenate([np.zeros((1, 3)), body.offsets]),
        rest=np.concatenate([identity(1), body.rest]),
        kinds=(JointKind.FREE, JointKind.BALL, *body.kinds[1:]),
        axes=np.concatenate([np.eye(3)[None], body.axes]),
        limits=np.concatenate([np.tile([-np.inf, np.inf], (1, 3, 1)), body.limits]),
    )
    offsets = np.tile(skeleton.offsets, (motion.num_frames, 1, 1))
    offsets[:, 1] = motion.root
    still = np.concatenate([identity(motion.num_frames, 1), motion.rotations], axis=1)
    return replace(motion, skeleton=skeleton, root=np.zeros_like(motion.root), rotations=still, offsets=offsets)


def test_a_node_above_the_hips_changes_nothing() -> None:
    """On the target it moves along without rotation; on the source the hips move relative to it."""
    motion = samples.motion("walk").motion[::5]
    rig = nested(motion)
    np.testing.assert_allclose(fk(rig).positions[:, 1:], fk(motion).positions, atol=1e-12)
    names = [(name, name) for name in motion.skeleton.names]
    onto = carried(motion, mapped(motion.skeleton, rig.skeleton, *names))
    np.testing.assert_allclose(fk(onto).positions[:, 1:], fk(motion).positions, atol=1e-9)
    assert angle(onto.rotations[:, 0]).max() < 1e-9
    back = carried(rig, mapped(rig.skeleton, motion.skeleton, *names))
    np.testing.assert_allclose(fk(back).positions, fk(motion).positions, atol=1e-9)


@pytest.mark.parametrize("up", ["X", "Z"])
def test_a_file_with_another_up_axis_moves_the_same(up: str, tmp_path: Path) -> None:
    motion = samples.motion("walk").motion[::5]
    understudy.write(motion, tmp_path / "other.bvh", up=up)
    clip = understudy.read(tmp_path / "other.bvh", up=up)
    assert clip.up == up
    assert clip.motion is not None
    np.testing.assert_allclose(fk(clip.motion).positions, fk(motion).positions, atol=1e-4)
    for one, other in ((motion, clip.motion), (clip.motion, motion)):
        result = carried(one, namesakes(one.skeleton, other.skeleton))
        np.testing.assert_allclose(fk(result).positions, fk(one).positions, atol=1e-4)


@pytest.mark.parametrize("degrees", [35.0, 90.0, 180.0, -120.0])
def test_a_target_that_rests_facing_elsewhere_faces_and_goes_as_the_source(degrees: float) -> None:
    motion = samples.motion("walk").motion[::5]
    body = rested(motion.skeleton, Hips=from_axis_angle(Y, np.radians(degrees)))
    assert facing(rest_motion(body))[0] @ facing(rest_motion(motion.skeleton))[0] == pytest.approx(
        np.cos(np.radians(degrees)), abs=1e-6
    )
    result = carried(motion, namesakes(motion.skeleton, body))
    np.testing.assert_allclose(fk(result).positions, fk(motion).positions, atol=1e-9)
    np.testing.assert_allclose(facing(result), facing(motion), atol=1e-9)


def dog_onto_adult() -> tuple[Motion, Alignment]:
    motion = samples.motion("dog_walk", seconds=2.0).motion
    pairs = [("Hips", "Hips"), ("Spine Spine1 Spine2 Chest", "LowerBack Spine Spine1"), ("Neck Neck1", "Neck")]
    for side in ("Left", "Right"):
        ends = [
            ("Thigh", "UpLeg"),
            ("Shin", "Leg"),
            ("Metatarsus", "Foot"),
            ("UpperArm", "Arm"),
            ("Forearm", "ForeArm"),
        ]
        pairs += [(side + a, side + b) for a, b in ends]
    whole = mapped(motion.skeleton, samples.character("adult"), *pairs)
    return motion, align(whole)


@pytest.mark.parametrize("heading", [0.0, 1.0])
def test_in_stance_a_turn_about_a_limb_stays_one_about_the_limb(heading: float) -> None:
    """A dog that rolls its level trunk about its length makes the adult turn its upright one about its own.

    So it does whichever way the two face.
    """
    _, aligned = dog_onto_adult()
    dog, adult = aligned.correspondence.source, aligned.correspondence.target
    assert aligned.stance
    chest, neck = dog.joint("Spine"), dog.joint("Neck")
    pose = dog.rest_world
    along = pose[0][neck] - pose[0][chest]
    roll = from_axis_angle(along / np.linalg.norm(along), np.linspace(0.0, 0.5, 6))
    motion = rest_motion(dog, num_frames=6)
    rotations = motion.rotations.copy()
    above = pose[1][dog.parents[chest]]
    rotations[:, chest] = multiply(conjugate(above), multiply(roll, pose[1][chest]))
    rotations[:, 0] = multiply(from_axis_angle(Y, np.full(6, heading)), rotations[:, 0])
    result = transfer_motion(replace(motion, rotations=rotations), aligned, floor=LEVEL, ratio=1.0)
    top = adult.joint("Spine1")
    turn = multiply(fk(result).rotations[:, top], conjugate(fk(result).rotations[0, top]))
    wanted = from_axis_angle(Y, np.linspace(0.0, 0.5, 6))
    assert angle_between(turn, wanted).max() < 0.15, "about the vertical, as far as the trunks are straight"
    across = from_axis_angle(rotate(from_axis_angle(Y, heading), Z), np.linspace(0.0, 0.5, 6))
    assert angle_between(turn, across)[-1] > 0.5, "and not about the way it faces, as the dog's"


def test_joints_of_few_axes_get_only_what_they_can_do() -> None:
    """Knees and elbows stay hinges and a fixed joint fixed, whatever the source does there."""
    motion, aligned = dog_onto_adult()
    result = transfer_motion(motion, aligned, floor=LEVEL, ratio=1.5)
    body = result.skeleton
    hinges = [body.joint(f"{side}{part}") for side in ("Left", "Right") for part in ("Leg", "ForeArm")]
    assert all(body.kinds[j] is JointKind.HINGE for j in hinges)
    again = joint_rotations(body, joint_angles(body, result.rotations))
    assert angle_between(again[:, hinges], result.rotations[:, hinges]).max() < 1e-7
    moved = angle_between(result.rotations[:, hinges], result.rotations[:1, hinges]).max(axis=0)
    assert moved.min() > 0.3, "they do bend"
    stiff = replace(
        body,
        kinds=tuple(JointKind.FIXED if name == "LeftForeArm" else k for name, k in zip(body.names, body.kinds)),
        axes=np.where((np.array(body.names) == "LeftForeArm")[:, None, None], 0.0, body.axes),
    )
    held = transfer_motion(motion, align(replace(aligned.correspondence, target=stiff)), floor=LEVEL, ratio=1.5)
    joint = body.joint("LeftForeArm")
    assert angle_between(held.rotations[:, joint], body.rest[joint]).max() < 1e-12


def test_the_sign_of_a_quaternion_means_nothing() -> None:
    motion, aligned = dog_onto_adult()
    signs = np.random.default_rng(7).choice([-1.0, 1.0], (*motion.rotations.shape[:2], 1))
    plain = transfer_motion(motion, aligned, floor=LEVEL, ratio=1.5)
    other = transfer_motion(replace(motion, rotations=signs * motion.rotations), aligned, floor=LEVEL, ratio=1.5)
    assert angle_between(plain.rotations, other.rotations).max() < 1e-7
    np.testing.assert_allclose(fk(plain).positions, fk(other).positions, atol=1e-9)


def test_neighbouring_frames_are_of_one_sign() -> None:
    motion, aligned = dog_onto_adult()
    signs = np.random.default_rng(8).choice([-1.0, 1.0], (*motion.rotations.shape[:2], 1))
    result = transfer_motion(
        replace(motion, rotations=signs * motion.rotations), aligned, floor=LEVEL, ratio=1.5
    ).rotations
    assert np.einsum("fji,fji->fj", result[1:], result[:-1]).min() > 0.9


def test_the_mirror_image_of_a_motion_becomes_the_mirror_image() -> None:
    motion, aligned = dog_onto_adult()
    plain = transfer_motion(motion, aligned, floor=LEVEL, ratio=1.5)
    other = transfer_motion(mirror(motion), aligned, floor=LEVEL, ratio=1.5)
    np.testing.assert_allclose(fk(mirror(plain)).positions, fk(other).positions, atol=1e-6)


def test_a_motion_of_somebody_else_is_refused() -> None:
    _, aligned = dog_onto_adult()
    with pytest.raises(SkeletonError, match="The motion is not of the character that the map was made for"):
        transfer_motion(samples.motion("walk").motion, aligned, floor=LEVEL, ratio=1.0)


def test_one_frame_is_a_motion_too() -> None:
    motion, aligned = dog_onto_adult()
    result = transfer_motion(motion[:1], aligned, floor=LEVEL, ratio=1.5)
    assert result.num_frames == 1
    assert np.isfinite(result.root).all()


def with_leg(body: Skeleton, side: str, factor: float) -> Skeleton:
    """A body with one leg longer or shorter."""
    offsets = body.offsets.copy()
    for bone in ("Leg", "Foot"):
        offsets[body.joint(f"{side}{bone}")] *= factor
    return replace(body, offsets=offsets)


def with_hips(body: Skeleton, factor: float) -> Skeleton:
    """A body with wider or narrower hips."""
    offsets = body.offsets.copy()
    for side in ("Left", "Right"):
        offsets[body.joint(f"{side}UpLeg")] *= [factor, 1.0, 1.0]
    return replace(body, offsets=offsets)


def leg_lines(motion: Motion) -> dict[str, Array]:
    """(F, 3) unit directions of thighs and shins."""
    pose = fk(motion)
    lines = {}
    for side in ("Left", "Right"):
        for start, end in (("UpLeg", "Leg"), ("Leg", "Foot")):
            line = pose.points([f"{side}{end}"])[:, 0] - pose.points([f"{side}{start}"])[:, 0]
            lines[side + start] = line / np.linalg.norm(line, axis=1, keepdims=True)
    return lines


def ankle_difference(motion: Motion) -> Array:
    """(F,) metres by which the left ankle is higher than the right one."""
    heights = fk(motion).points(["LeftFoot", "RightFoot"])[..., 1]
    return heights[:, 0] - heights[:, 1]


def tilted(motion: Motion, degrees: float) -> Motion:
    """A motion whose pelvis tilts to the side while legs and trunk keep their directions."""
    body, pose = motion.skeleton, fk(motion)
    rotations, hips = motion.rotations.copy(), motion.skeleton.joint("Hips")
    assert hips == 0
    turn = from_axis_angle([0.0, 0.0, 1.0], np.radians(degrees))
    rotations[:, hips] = multiply(turn, rotations[:, hips])
    for child in body.children[hips]:
        rotations[:, child] = multiply(conjugate(rotations[:, hips]), pose.rotations[:, child])
    return replace(motion, rotations=rotations)


@pytest.mark.parametrize("factor", [0.96, 1.04])
@pytest.mark.parametrize("side", ["Left", "Right"])
def test_legs_of_different_lengths_stand_on_legs_of_one_length(side: str, factor: float) -> None:
    """A capture with unequal legs tilts its pelvis; on equal legs the feet are as high, and the legs point alike."""
    walk = loosened(samples.motion("walk").actors["adult"])
    source = replace(walk, skeleton=with_leg(walk.skeleton, side, factor))
    result = carried(source, namesakes(source.skeleton, walk.skeleton))
    for name, line in leg_lines(result).items():
        cosines = np.sum(line * leg_lines(source)[name], axis=1)
        assert np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max() < 0.5
    differences = ankle_difference(result) - ankle_difference(source)
    stretch = np.abs(ankle_difference(source) - ankle_difference(walk)).max()
    assert np.abs(differences).max() < 0.35 * stretch


@pytest.mark.parametrize("factor", [0.7, 1.5])
@pytest.mark.parametrize("degrees", [-8.0, 8.0])
def test_a_pelvis_tilts_as_far_as_its_legs_ask_for(factor: float, degrees: float) -> None:
    """On hips of another width the same tilt would lift one foot: the heights of the hips follow the legs."""
    walk = tilted(loosened(samples.motion("walk").actors["adult"]), degrees)
    wide = with_hips(walk.skeleton, factor)
    result = carried(walk, namesakes(walk.skeleton, wide))
    differences = ankle_difference(result) - ankle_difference(walk)
    carried_over = abs(factor - 1.0) * np.sin(np.radians(8.0)) * 0.18
    assert np.abs(differences).max() < 0.35 * carried_over


def test_a_handstand_and_a_lying_body_keep_the_tilt_of_the_pelvis() -> None:
    """Nobody stands on legs that are raised."""
    walk = tilted(loosened(samples.motion("walk").actors["adult"]), 8.0)
    rotations = walk.rotations.copy()
    rotations[:, 0] = multiply(from_axis_angle([1.0, 0.0, 0.0], np.pi / 2), rotations[:, 0])
    lying = replace(walk, rotations=rotations)
    wide = with_hips(walk.skeleton, 1.5)
    result = carried(lying, namesakes(walk.skeleton, wide))
    turned_by = angle_between(fk(result).rotations[:, 0], fk(lying).rotations[:, 0])
    assert float(np.ptp(turned_by)) < 1e-3


def shifted(body: Skeleton, **shifts: tuple[float, float, float]) -> Skeleton:
    """A body with some joints elsewhere, metres; what hangs from them stays where it was."""
    offsets = body.offsets.copy()
    for name, shift in shifts.items():
        joint = body.joint(name)
        offsets[joint] += shift
        for child in body.children[joint]:
            offsets[child] -= shift
    return replace(body, offsets=offsets)


@pytest.mark.parametrize("curve", [-0.05, 0.05])
def test_a_trunk_is_upright_however_the_spine_of_the_source_is_curved(curve: float) -> None:
    stand = rest_motion(loosened(samples.motion("walk").actors["adult"]).skeleton, num_frames=3)
    curved = shifted(stand.skeleton, Spine=(0.0, 0.0, curve))
    source = rest_motion(curved, num_frames=3)
    result = carried(source, namesakes(curved, stand.skeleton))
    trunks = [fk(m).points(["Neck"])[0, 0] - fk(m).points(["Hips"])[0, 0] for m in (result, stand)]
    assert np.linalg.norm(trunks[0] - trunks[1]) < 0.01 * np.linalg.norm(trunks[1])


@pytest.mark.parametrize("ahead", [-0.06, 0.06])
def test_shoulders_stay_where_the_body_has_them(ahead: float) -> None:
    """A collar bone that begins farther ahead in the chest does not carry the shoulder there."""
    stand = rest_motion(loosened(samples.motion("walk").actors["adult"]).skeleton, num_frames=3)
    target = shifted(stand.skeleton, LeftShoulder=(0.0, 0.0, ahead), RightShoulder=(0.0, 0.0, ahead))
    result = carried(stand, namesakes(stand.skeleton, target))
    names = ["LeftArm", "RightArm"]
    shoulders = [fk(m).points(names)[0] - fk(m).points(["Neck"])[0] for m in (result, stand)]
    assert np.abs(shoulders[0] - shoulders[1]).max() < 0.005


def test_halves_of_a_bone_do_not_flip_where_its_twist_passes_half_a_turn() -> None:
    """A captured thigh may be twisted by half a turn: the halves of the target's thigh share that, always alike."""
    angles = np.radians(np.linspace(150.0, 210.0, 61))
    axis = np.array([0.0, -1.0, 0.0])
    twisted = from_axis_angle(axis, (angles + np.pi) % (2.0 * np.pi) - np.pi)
    upper, lower = _distribute(identity(61), [twisted], 2, axis)
    for half in (upper, lower):
        steps = np.abs(np.einsum("fi,fi->f", half[1:], half[:-1]))
        assert np.degrees(2.0 * np.arccos(np.minimum(steps, 1.0))).max() < 1.1
    assert np.allclose(np.abs(np.einsum("fi,fi->f", lower, twisted)), 1.0)
