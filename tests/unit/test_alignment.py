"""Alignment: bones point alike or bodies keep their stance; how that is chosen, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.base.quaternion import (
    Array,
    angle,
    angle_between,
    conjugate,
    exp,
    from_axis_angle,
    multiply,
    normalize,
    rotate,
)
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.neutral_pose import pose_skeleton
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair
from understudy.figure.kinematics import Pose
from understudy.figure.measures import facing
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton

Y, Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
SIDES = ("Left", "Right")
LIMBS = (
    ("Thigh", "UpLeg"), ("Shin", "Leg"), ("Metatarsus", "Foot"), ("HindPaw", "ToeBase"),
    ("UpperArm", "Arm"), ("Forearm", "ForeArm"), ("Metacarpus ForePaw", "Hand"),
)  # fmt: skip
TRUNK = (
    ("Hips", "Hips"),
    ("Spine Spine1 Spine2 Chest", "LowerBack Spine Spine1"),
    ("Neck Neck1", "Neck"),
    ("Head", "Head"),
)


def pair(a: str, b: str, **details: object) -> Pair:
    return Pair(source=tuple(a.split()), target=tuple(b.split()), **details)  # type: ignore[arg-type]


def dog_and_adult(**details: dict[str, object]) -> Correspondence:
    """The dog and the adult; details of a pair by its first bone of the adult."""
    named = [*TRUNK]
    for side in SIDES:
        named += [(" ".join(side + word for word in a.split()), side + b) for a, b in LIMBS]
    pairs = [pair(a, b, **details.get(b.split()[0], {})) for a, b in named]
    return Correspondence(source=samples.character("dog"), target=samples.character("adult"), pairs=tuple(pairs))


def adult_and_other(source: Skeleton | None = None, **details: dict[str, object]) -> Correspondence:
    """The adult and another rig: other names and joint frames, A-pose, five spine bones, a node above the hips."""
    named = [
        ("Hips", "pelvis"),
        ("LowerBack Spine Spine1", "spine_01 spine_02 spine_03 spine_04 spine_05"),
        ("Neck", "neck_01"),
        ("Head", "head"),
    ]
    for side, end in zip(SIDES, "lr"):
        parts = [
            ("UpLeg", "thigh"), ("Leg", "calf"), ("Foot", "foot"), ("ToeBase", "ball"),
            ("Shoulder", "clavicle"), ("Arm", "upperarm"), ("ForeArm", "lowerarm"), ("Hand", "hand"),
        ]  # fmt: skip
        named += [(f"{side}{a}", f"{b}_{end}") for a, b in parts]
    pairs = [pair(a, b, **details.get(b.split()[0], {})) for a, b in named]
    body = source or samples.character("adult")
    return Correspondence(source=body, target=samples.character("other"), pairs=tuple(pairs))


def poses(aligned: Alignment) -> tuple[Pose, Pose]:
    whole = aligned.correspondence
    return pose_skeleton(whole.source, aligned.source), pose_skeleton(whole.target, aligned.target)


def line(pose: Pose, first: str, last: str) -> Array:
    """(3,) unit direction between two joints of a pose."""
    ends = pose.points([first, last])[0]
    return (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])


def degrees(a: Array, b: Array) -> float:
    return float(np.degrees(np.arccos(np.clip(a @ b, -1.0, 1.0))))


@pytest.mark.parametrize("mode", [None, "direction"])
def test_bones_of_humans_point_alike(mode: str | None) -> None:
    """A T-pose and an A-pose: bones of arms and legs within 1e-5 degrees; collar bones keep their own directions."""
    aligned = align(adult_and_other(), mode=mode)
    assert not aligned.stance
    one, other = poses(aligned)
    for side, end in zip(SIDES, "lr"):
        for (a, b), (c, d) in (
            (("UpLeg", "Leg"), ("thigh", "calf")),
            (("Leg", "Foot"), ("calf", "foot")),
            (("Arm", "ForeArm"), ("upperarm", "lowerarm")),
            (("ForeArm", "Hand"), ("lowerarm", "hand")),
        ):
            apart = degrees(line(one, side + a, side + b), line(other, f"{c}_{end}", f"{d}_{end}"))
            assert apart < 1e-5, f"{side}{a}: {apart}"
        body = aligned.correspondence.target
        at_rest = Pose(skeleton=body, positions=body.rest_world[0][None], rotations=body.rest_world[1][None])
        collar = f"clavicle_{end}", f"upperarm_{end}"
        assert degrees(line(other, *collar), line(at_rest, *collar)) < 1e-5
    assert angle(aligned.frames).max() < 1e-12, "movement is seen as it is"


def test_what_is_aligned_differed_before() -> None:
    whole = adult_and_other()
    one, other = pose_skeleton(whole.source, whole.source.rest), pose_skeleton(whole.target, whole.target.rest)
    assert degrees(line(one, "LeftArm", "LeftForeArm"), line(other, "upperarm_l", "lowerarm_l")) > 20.0


def test_the_source_is_left_in_its_own_pose() -> None:
    whole = adult_and_other()
    np.testing.assert_array_equal(align(whole, mode="direction").source, whole.source.rest)


def test_feet_and_heads_stay_level() -> None:
    """The sole of the target, flat in its rest pose, is flat in the aligned one; its head is upright."""
    aligned = align(adult_and_other())
    rest, pose = pose_skeleton(aligned.correspondence.target, aligned.correspondence.target.rest), poses(aligned)[1]
    for end in "lr":
        soles = [p.points([f"heel_{end}", f"toe_tip_{end}"])[0, :, 1] for p in (rest, pose)]
        assert np.ptp(soles[1]) == pytest.approx(np.ptp(soles[0]), abs=1e-9)
    np.testing.assert_allclose(line(pose, "head", "head_top"), line(rest, "head", "head_top"), atol=1e-9)


def test_twist_is_the_least_there_is() -> None:
    """Alignment rotates the bones of an arm without twist about their lengths."""
    body = samples.character("adult")
    rest = body.rest.copy()
    for side, sign in (("Left", -1.0), ("Right", 1.0)):
        joint = body.joint(f"{side}Arm")
        rest[joint] = multiply(rest[joint], from_axis_angle(Z, sign * 0.9))
    whole = Correspondence(
        source=body, target=replace(body, rest=rest), pairs=tuple(pair(name, name) for name in body.names)
    )
    aligned = align(whole)
    assert angle_between(aligned.target, body.rest).max() < 1e-7


@pytest.mark.parametrize("turn", [0.5, -2.0, np.pi])
def test_the_target_is_turned_to_face_as_the_source(turn: float) -> None:
    body = samples.character("adult")
    rest = body.rest.copy()
    rest[0] = multiply(from_axis_angle(Y, turn), rest[0])
    aligned = align(adult_and_other(replace(body, rest=rest)))
    whole = aligned.correspondence
    ways = [
        facing(replace(rest_motion(skeleton), rotations=local[None]))[0]
        for skeleton, local in ((whole.source, aligned.source), (whole.target, aligned.target))
    ]
    assert degrees(ways[0], ways[1]) < 1e-5


@pytest.mark.parametrize("back", [False, True])
def test_a_human_and_a_dog_keep_their_stances(back: bool) -> None:
    whole = dog_and_adult().reversed() if back else dog_and_adult()
    aligned = align(whole)
    assert aligned.stance
    dog, adult = poses(aligned)[::-1] if back else poses(aligned)
    assert degrees(line(adult, "Hips", "Neck"), Y) < 10.0, "the human stands"
    assert degrees(line(dog, "Hips", "Neck"), Y) > 60.0, "the dog does not"
    for side in SIDES:
        assert degrees(line(adult, f"{side}Arm", f"{side}Hand"), -Y) < 1e-5, "arms hang as fore legs do"
    rest = pose_skeleton(whole.target, whole.target.rest)
    legs = [j for j, n in enumerate(whole.target.names) if any(p in n for p in ("Leg", "Foot", "Thigh", "Shin"))]
    np.testing.assert_allclose(poses(aligned)[1].positions[0, legs], rest.positions[0, legs], atol=1e-9)


def test_in_stance_movement_is_seen_through_the_limbs() -> None:
    """The frames rotate the directions of the dog's limbs to the adult's: trunk to trunk, fore leg to arm."""
    aligned = align(dog_and_adult())
    dog, adult = poses(aligned)
    target = aligned.correspondence.target
    trunk = rotate(aligned.frames[target.joint("Spine")], line(dog, "Spine", "Neck"))
    assert degrees(trunk, line(adult, "LowerBack", "Neck")) < 15.0
    assert degrees(line(dog, "Spine", "Neck"), line(adult, "LowerBack", "Neck")) > 60.0
    for joint in ("LeftUpLeg", "LeftLeg"):
        assert angle(aligned.frames[target.joint(joint)]) < np.radians(40.0), "hind legs hang as legs do"


def test_a_dog_can_be_made_to_point_as_a_human_does() -> None:
    """`direction` between bodies that stand differently: the dog's trunk rises as the human's [Hsieh05, fig. 5]."""
    aligned = align(dog_and_adult().reversed(), mode="direction")
    assert not aligned.stance
    adult, dog = poses(aligned)
    trunks = []
    for pose, *names in ((adult, "LowerBack", "Neck", "LeftArm", "RightArm"),
                         (dog, "Spine", "Neck", "LeftUpperArm", "RightUpperArm")):  # fmt: skip
        places = pose.points(names)[0]
        trunks.append((places[1:].mean(0) - places[0]) / np.linalg.norm(places[1:].mean(0) - places[0]))
    assert degrees(trunks[0], trunks[1]) < 1e-5, "from the hips to the middle of what the trunk carries"
    for side in SIDES:
        assert degrees(line(adult, f"{side}UpLeg", f"{side}Leg"), line(dog, f"{side}Thigh", f"{side}Shin")) < 1e-5
        assert (
            degrees(line(adult, f"{side}Arm", f"{side}ForeArm"), line(dog, f"{side}UpperArm", f"{side}Forearm")) < 1e-5
        )


def test_humans_can_be_made_to_keep_their_stances() -> None:
    aligned = align(adult_and_other(), mode="stance")
    assert aligned.stance
    one, other = poses(aligned)
    for side, end in zip(SIDES, "lr"):
        assert degrees(line(one, f"{side}Arm", f"{side}Hand"), -Y) < 1e-5
        assert degrees(line(other, f"upperarm_{end}", f"hand_{end}"), -Y) < 1e-5


def test_a_pair_may_choose_for_itself() -> None:
    """One arm points as its partner while all else keeps its stance, and vice versa."""
    chosen = align(dog_and_adult(LeftArm={"align": "direction"}))
    plain = align(dog_and_adult())
    assert chosen.stance
    dog, adult = poses(chosen)
    assert degrees(line(dog, "LeftUpperArm", "LeftForearm"), line(adult, "LeftArm", "LeftForeArm")) < 1e-5
    assert degrees(line(dog, "RightUpperArm", "RightForearm"), line(adult, "RightArm", "RightForeArm")) > 10.0
    target = chosen.correspondence.target
    assert angle(chosen.frames[target.joint("LeftArm")]) < 1e-12
    others = [j for j, n in enumerate(target.names) if n != "LeftArm"]
    np.testing.assert_array_equal(chosen.frames[others], plain.frames[others])

    held = align(adult_and_other(upperarm_l={"align": "stance"}))
    assert not held.stance
    one, other = poses(held)
    rest = pose_skeleton(held.correspondence.target, held.correspondence.target.rest)
    np.testing.assert_allclose(
        line(other, "upperarm_l", "lowerarm_l"), line(rest, "upperarm_l", "lowerarm_l"), atol=1e-9
    )
    assert degrees(line(one, "RightArm", "RightForeArm"), line(other, "upperarm_r", "lowerarm_r")) < 1e-5


def test_given_poses_are_the_reference() -> None:
    """Bones of the target point as they do in the given pose of the source."""
    walk = samples.motion("march").motion
    whole = adult_and_other(walk.skeleton)
    aligned = align(whole, source_pose=walk.rotations[20])
    np.testing.assert_array_equal(aligned.source, walk.rotations[20])
    one, other = poses(aligned)
    for side, end in zip(SIDES, "lr"):
        assert degrees(line(one, f"{side}UpLeg", f"{side}Leg"), line(other, f"thigh_{end}", f"calf_{end}")) < 1e-5
        assert degrees(line(one, f"{side}ForeArm", f"{side}Hand"), line(other, f"lowerarm_{end}", f"hand_{end}")) < 1e-5


def test_where_zero_is_no_pose_the_motion_tells_how_it_stands() -> None:
    """A source with a random rest pose is aligned by the pose that its motion shows."""
    walk = samples.motion("walk").motion
    rng = np.random.default_rng(11)
    heaped = replace(walk.skeleton, rest=normalize(rng.normal(size=(walk.skeleton.num_joints, 4))))
    moving: Motion = replace(walk, skeleton=heaped)
    aligned = align(adult_and_other(heaped), source_motion=moving)
    assert [neutral.origin for neutral in aligned.neutral] == ["motion", "rest pose"]
    one, other = poses(aligned)
    assert degrees(line(one, "Hips", "Neck"), line(other, "pelvis", "neck_01")) < 3.0


def test_a_turn_poses_a_bone_and_what_hangs_from_it() -> None:
    """A turn is about the own axes of the target's bone, and leaves the joints below it as they are."""
    vector = np.array([0.2, -0.5, 0.3])
    plain, other = (align(adult_and_other(upperarm_l={"turn": tuple(s * vector)})) for s in (0.0, 1.0))
    index = plain.correspondence.target.index
    turned = multiply(conjugate(plain.target), other.target)
    assert np.allclose(turned[index["upperarm_l"]], exp(vector), atol=1e-12)
    others = [joint for name, joint in index.items() if name != "upperarm_l"]
    assert angle(turned[others]).max() < 1e-7
    assert np.array_equal(plain.source, other.source)
    with pytest.raises(CorrespondenceError, match="a turn of three finite angles"):
        pair("Hips", "Hips", turn=(0.0, np.nan, 0.0))


def test_a_twist_turns_the_reference_pose() -> None:
    plain, other = (align(adult_and_other(lowerarm_l={"twist": twist})) for twist in (0.0, 0.8))
    joint = plain.correspondence.target.joint("lowerarm_l")
    turn = multiply(other.target_world[joint], conjugate(plain.target_world[joint]))
    along = line(poses(plain)[1], "lowerarm_l", "hand_l")
    assert angle_between(turn, exp(0.8 * along)) < 1e-7
    above = plain.correspondence.target.joint("upperarm_l")
    assert angle_between(other.target_world[above], plain.target_world[above]) < 1e-12


def test_modes_there_are_not_are_refused() -> None:
    with pytest.raises(OptionError, match="Expected an alignment, one of direction, stance; got `sideways`"):
        align(dog_and_adult(), mode="sideways")
    with pytest.raises(CorrespondenceError, match="expected alignment, one of direction, stance; got `twist`"):
        pair("Hips", "Hips", align="twist")


def test_halves_of_a_pelvis_show_no_pose() -> None:
    """Bones from the hips to wide hip joints point as their own body has them: pointed as the other's, hips turned."""

    def with_hip_joints(name: str, drop: float) -> Skeleton:
        adult = samples.character("adult")
        names, parents, offsets = list(adult.names), adult.parents.tolist(), list(adult.offsets)
        for side in SIDES:
            thigh = names.index(f"{side}UpLeg")
            names.insert(thigh, f"{side}HipJoint")
            parents = [parent + (parent >= thigh) for parent in parents]
            parents.insert(thigh, parents[thigh])
            parents[thigh + 1] = thigh
            offsets.insert(thigh, np.array([0.0, drop, 0.05]))
            offsets[thigh + 1] = offsets[thigh + 1] - offsets[thigh]
        return Skeleton(
            names=tuple(names), parents=np.array(parents), offsets=np.array(offsets), ends=adult.ends, name=name
        )

    one, other = with_hip_joints("one", -0.01), with_hip_joints("other", -0.15)
    pairs = tuple(pair(name, name) for name in one.names)
    plain = tuple(item for item in pairs if "HipJoint" not in item.source[0])
    found, wanted = (
        poses(align(Correspondence(source=one, target=other, pairs=chosen)))[1] for chosen in (pairs, plain)
    )
    assert np.abs(found.positions - wanted.positions).max() < 1e-9
    assert np.degrees(angle_between(found.rotations, wanted.rotations)).max() < 1e-6
