"""Suggested maps: by name, by shape where names say nothing, and between bodies of different kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import from_axis_angle, multiply, rotate
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair
from understudy.correspondence.suggest import split_body, suggest
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton

ADULT, OTHER, DOG, SPIDER, SHARK, CAN, FLAT = (
    samples.character(name) for name in ("adult", "other", "dog", "spider", "shark", "can", "figure2d")
)


def as_names(mapping: Correspondence) -> dict[str, str]:
    """A map as text: source bones -> target bones."""
    return {" ".join(pair.source): " ".join(pair.target) for pair in mapping.pairs}


def both(pairs: dict[str, str]) -> dict[str, str]:
    """Pairs of the left side and the middle, plus those of the right side."""
    swapped = {
        a.replace("Left", "Right").replace("_l", "_r"): b.replace("Left", "Right").replace("_l", "_r")
        for a, b in pairs.items()
    }
    return pairs | swapped


def build(joints: dict[str, tuple[str, float, float, float]], name: str = "") -> Skeleton:
    """A skeleton from names, parents and positions in metres; `l_` bones get a partner `r_`."""
    whole: dict[str, tuple[str, np.ndarray]] = {}
    for joint, (parent, x, y, z) in joints.items():
        whole[joint] = (parent, np.array([x, y, z]))
        if joint.startswith("l_"):
            other = parent.replace("l_", "r_", 1) if parent.startswith("l_") else parent
            whole[joint.replace("l_", "r_", 1)] = (other, np.array([-x, y, z]))
    names = list(whole)
    parents = [names.index(parent) if parent else -1 for parent, _ in whole.values()]
    offsets = np.array([at - (whole[parent][1] if parent else 0.0) for parent, at in whole.values()])
    return Skeleton(names=tuple(names), parents=np.array(parents), offsets=offsets, name=name)


def nonsense(skeleton: Skeleton, turn: float = 0.0, seed: int = 4) -> tuple[Skeleton, dict[str, str]]:
    """The same body with meaningless names, rotated about the vertical; and its former names."""
    order = np.random.default_rng(seed).permutation(skeleton.num_joints)
    new = {name: f"Bone.{order[i]:03d}" for i, name in enumerate(skeleton.names)}
    ends = tuple(Point(name=f"tip{i}", joint=new[e.joint], offset=e.offset) for i, e in enumerate(skeleton.ends))
    rotation = from_axis_angle(np.array([0.0, 1.0, 0.0]), turn)
    rest, offsets = skeleton.rest.copy(), skeleton.offsets.copy()
    rest[0], offsets[0] = multiply(rotation, rest[0]), rotate(rotation, offsets[0])
    made = replace(skeleton, names=tuple(new.values()), ends=ends, rest=rest, offsets=offsets, name="")
    return made, {b: a for a, b in new.items()}


def renamed(mapping: Correspondence, old: dict[str, str]) -> dict[str, str]:
    """A map onto a body with meaningless names, in its former names."""
    return {" ".join(p.source): " ".join(old[bone] for bone in p.target) for p in mapping.pairs}


def test_the_same_skeleton_is_mapped_bone_by_bone() -> None:
    mapping = suggest(SPIDER, SPIDER.scaled(2.0))
    assert mapping.pairs == tuple(
        Pair(source=(n,), target=(n,), reason="the same bone of the same skeleton") for n in SPIDER.names
    )


def test_humans_by_name() -> None:
    mapping = suggest(ADULT, OTHER)
    assert as_names(mapping) == both({
        "Hips": "pelvis", "LowerBack Spine Spine1": "spine_01 spine_02 spine_03 spine_04 spine_05",
        "Neck": "neck_01", "Head": "head", "LeftShoulder": "clavicle_l", "LeftArm": "upperarm_l",
        "LeftForeArm": "lowerarm_l", "LeftHand": "hand_l", "LeftUpLeg": "thigh_l", "LeftLeg": "calf_l",
        "LeftFoot": "foot_l", "LeftToeBase": "ball_l",
    })  # fmt: skip
    assert mapping.root is mapping.pairs[0]
    assert mapping.unmatched("source") == ()
    assert mapping.unmatched("target") == ("root", "lowerarm_twist_01_l", "lowerarm_twist_01_r")
    arm = mapping.pair_of("source", "LeftArm")
    assert arm is not None
    assert arm.reason == "both are the left upper arm by name (MotionBuilder: LeftArm; Unreal: upperarm_l)"
    assert arm.confidence == 0.95
    spine = mapping.pair_of("source", "Spine")
    assert spine is not None
    assert spine.reason == "both are the spine by name, 3 bones against 5"
    assert spine.confidence < 0.95


def test_the_other_way_round_is_the_same_map() -> None:
    for one, other in ((ADULT, OTHER), (ADULT, DOG), (SPIDER, DOG), (SHARK, ADULT)):
        there, back = suggest(one, other), suggest(other, one)
        assert {(p.source, p.target, p.confidence) for p in there.pairs} == {
            (p.target, p.source, p.confidence) for p in back.pairs
        }


def test_a_body_without_spine_neck_hands() -> None:
    assert as_names(suggest(FLAT, ADULT)) == both({
        "Hips": "Hips", "Head": "Head", "LeftArm": "LeftArm", "LeftForearm": "LeftForeArm", "LeftThigh": "LeftUpLeg",
        "LeftShin": "LeftLeg", "LeftFoot": "LeftFoot",
    })  # fmt: skip


@pytest.mark.parametrize("turn", [0.0, 0.7, 2.0, -2.5])
@pytest.mark.parametrize("name", ["adult", "child", "giant", "stretched"])
def test_a_human_with_names_that_say_nothing(name: str, turn: float) -> None:
    other, old = nonsense(samples.character(name), turn)
    mapping = suggest(ADULT, other)
    assert renamed(mapping, old) == {bone: bone for bone in ADULT.names}
    assert all(0.6 <= pair.confidence <= 0.85 for pair in mapping.pairs)
    assert "by name and place" in mapping.pairs[0].reason


def test_two_humans_without_names() -> None:
    one, first = nonsense(ADULT, seed=1)
    other, second = nonsense(OTHER, 1.0, seed=2)
    mapping = suggest(one, other)
    names = {" ".join(first[b] for b in p.source): " ".join(second[b] for b in p.target) for p in mapping.pairs}
    assert names == both({
        "Hips": "pelvis", "LowerBack Spine Spine1": "spine_01 spine_02 spine_03 spine_04 spine_05",
        "Neck": "neck_01", "Head": "head", "LeftShoulder": "clavicle_l", "LeftArm": "upperarm_l",
        "LeftForeArm": "lowerarm_l", "LeftHand": "hand_l", "LeftUpLeg": "thigh_l", "LeftLeg": "calf_l",
        "LeftFoot": "foot_l", "LeftToeBase": "ball_l",
    })  # fmt: skip
    assert all("by place in the body" in pair.reason for pair in mapping.pairs)


@pytest.mark.parametrize("turn", [0.0, 2.0])
@pytest.mark.parametrize("name", ["dog", "spider"])
def test_animals_with_names_that_say_nothing(name: str, turn: float) -> None:
    """All bones are paired except those that shape cannot identify: a jaw, the palps."""
    animal = samples.character(name)
    other, old = nonsense(animal, turn)
    mapping = renamed(suggest(animal, other), old)
    assert mapping == {bone: bone for bone in mapping}
    assert set(animal.names) - set(mapping) <= {
        "Jaw", "LeftPalp", "LeftPalpTip", "RightPalp", "RightPalpTip"
    }  # fmt: skip


HUMAN_TO_DOG = both({
    "Hips": "Hips", "LowerBack Spine Spine1": "Spine Spine1 Spine2 Chest", "Neck": "Neck Neck1", "Head": "Head",
    "LeftShoulder": "LeftScapula", "LeftArm": "LeftUpperArm", "LeftForeArm": "LeftForearm LeftMetacarpus",
    "LeftHand": "LeftForePaw", "LeftUpLeg": "LeftThigh", "LeftLeg": "LeftShin LeftMetatarsus",
    "LeftFoot": "LeftHindPaw",
})  # fmt: skip


def test_human_to_dog() -> None:
    mapping = suggest(ADULT, DOG)
    assert as_names(mapping) == HUMAN_TO_DOG
    assert {"Tail", "Jaw"} <= set(mapping.unmatched("target"))
    fore, spine = mapping.pair_of("source", "LeftArm"), mapping.pair_of("source", "Spine")
    assert fore is not None
    assert spine is not None
    assert fore.reason == "left upper arm and left upper foreleg correspond by name and place"
    assert fore.confidence < spine.confidence < 0.8


def test_human_to_dog_without_names() -> None:
    other, old = nonsense(DOG, 1.0)
    assert renamed(suggest(ADULT, other), old) == HUMAN_TO_DOG


def test_spider_to_dog_by_front_and_hind_legs() -> None:
    mapping = as_names(suggest(SPIDER, DOG))
    assert mapping["Cephalothorax"] == "Hips"
    for which in ("Left", "Right"):
        assert mapping[f"{which}Leg1Femur"] == f"{which}UpperArm"
        assert mapping[f"{which}Leg1Tarsus"] == f"{which}ForePaw"
        assert mapping[f"{which}Leg4Femur"] == f"{which}Thigh"
        assert mapping[f"{which}Leg4Tarsus"] == f"{which}HindPaw"
    assert not any("Leg2" in bone or "Leg3" in bone or "Palp" in bone for bone in mapping)


def test_shark_to_human_with_both_legs_for_the_tail_fin() -> None:
    mapping = suggest(SHARK, ADULT)
    assert as_names(mapping) == {
        "Body": "Hips", "Spine1 Spine2 Spine3 Spine4 Tail": "LowerBack Spine Spine1", "Head": "Head",
        "LeftPectoralFin": "LeftArm", "RightPectoralFin": "RightArm", "TailFin": "LeftUpLeg RightUpLeg",
    }  # fmt: skip
    legs = mapping.pair_of("source", "TailFin")
    assert legs is not None
    assert legs.confidence == 0.4


def test_shark_to_dog_keeps_tails_together() -> None:
    mapping = as_names(suggest(SHARK, DOG))
    assert mapping["Tail TailFin"] == "Tail Tail1 Tail2 Tail3 Tail4"
    assert mapping["Head"] == "Head"
    assert mapping["Jaw"] == "Jaw"
    assert not any("Thigh" in bones for bones in mapping.values())


BIRD = build({
    "trunk": ("", 0.0, 0.3, 0.0), "c1": ("trunk", 0.0, 0.36, 0.08), "c2": ("c1", 0.0, 0.46, 0.13),
    "t1": ("trunk", 0.0, 0.28, -0.12), "t2": ("t1", 0.0, 0.27, -0.2), "l_a": ("trunk", 0.06, 0.33, 0.02),
    "l_b": ("l_a", 0.25, 0.35, 0.0), "l_c": ("l_b", 0.42, 0.33, -0.03), "l_d": ("l_c", 0.6, 0.3, -0.1),
    "l_e": ("trunk", 0.05, 0.24, -0.02), "l_f": ("l_e", 0.05, 0.13, 0.03), "l_g": ("l_f", 0.05, 0.02, 0.0),
    "l_h": ("l_g", 0.05, 0.0, 0.05),
})  # fmt: skip


def test_human_to_bird_by_shape() -> None:
    assert split_body(BIRD).kind == "bird"
    mapping = as_names(suggest(ADULT, BIRD))
    assert mapping["Hips"] == "trunk"
    assert (mapping["Neck"], mapping["Head"]) == ("c1", "c2")
    assert (mapping["LeftArm"], mapping["RightForeArm"]) == ("l_a", "r_b")
    assert (mapping["LeftUpLeg"], mapping["RightLeg"], mapping["LeftFoot"]) == ("l_e", "r_f", "l_g")
    assert not any("t1" in bones for bones in mapping.values())


FOX = build({
    "Hips": ("", 0.0, 0.5, -0.3), "Spine_1": ("Hips", 0.0, 0.52, -0.1), "Spine_2": ("Spine_1", 0.0, 0.52, 0.1),
    "Spine_3": ("Spine_2", 0.0, 0.58, 0.25), "Spine_4": ("Spine_3", 0.0, 0.65, 0.33),
    "Head": ("Spine_4", 0.0, 0.7, 0.4),
    "Head.tip": ("Head", 0.0, 0.68, 0.6), "l_Ear": ("Head", 0.04, 0.76, 0.4), "Chin": ("Head", 0.0, 0.66, 0.45),
    "Tail_Base": ("Hips", 0.0, 0.5, -0.35), "Tail_Mid": ("Tail_Base", 0.0, 0.45, -0.5),
    "l_Front_Leg_Shoulder": ("Spine_2", 0.05, 0.5, 0.15), "l_Front_Leg_Upper": ("l_Front_Leg_Shoulder", 0.07, 0.4, 0.2),
    "l_Front_Leg_Lower": ("l_Front_Leg_Upper", 0.07, 0.25, 0.12),
    "l_Front_Leg_Ankle": ("l_Front_Leg_Lower", 0.07, 0.07, 0.15),
    "l_Front_Leg_Foot": ("l_Front_Leg_Ankle", 0.07, 0.02, 0.17), "l_Back_Leg_Pelvis": ("Hips", 0.04, 0.48, -0.3),
    "l_Back_Leg_Upper": ("l_Back_Leg_Pelvis", 0.07, 0.45, -0.32),
    "l_Back_Leg_Lower": ("l_Back_Leg_Upper", 0.07, 0.3, -0.22),
    "l_Back_Leg_Ankle": ("l_Back_Leg_Lower", 0.07, 0.17, -0.36),
    "l_Back_Leg_Foot": ("l_Back_Leg_Ankle", 0.07, 0.04, -0.32),
    "l_Back_Leg_Foot_1": ("l_Back_Leg_Foot", 0.07, 0.01, -0.27), "l_Pole_Target": ("Hips", 0.07, 0.3, 2.0),
})  # fmt: skip


def test_an_animal_whose_legs_are_all_called_legs() -> None:
    mapping = as_names(suggest(DOG, FOX))
    assert mapping["Hips"] == "Hips"
    assert mapping["Neck"] == "Spine_3"
    assert mapping["Neck1"] == "Spine_4"
    assert mapping["Head"] == "Head"
    assert mapping["Tail Tail1 Tail2 Tail3 Tail4"] == "Tail_Base Tail_Mid"
    assert mapping["LeftThigh"] == "l_Back_Leg_Upper"
    assert mapping["RightShin"] == "r_Back_Leg_Lower"
    assert mapping["LeftMetatarsus"] == "l_Back_Leg_Ankle"
    assert mapping["LeftHindPaw"] == "l_Back_Leg_Foot"
    assert mapping["RightScapula"] == "r_Front_Leg_Shoulder"
    assert mapping["LeftUpperArm"] == "l_Front_Leg_Upper"
    assert not any("Pole" in bones or "Ear" in bones for bones in mapping.values())


def test_a_fish_whose_head_carries_its_fins() -> None:
    fish = build({
        "Root": ("", 0.0, 0.0, 0.0), "Spine1": ("Root", 0.0, 0.05, 0.6), "Spine2": ("Spine1", 0.0, 0.06, 0.0),
        "Spine3": ("Spine2", 0.0, 0.1, -0.7), "Tail": ("Spine3", 0.0, 0.15, -1.4), "Face": ("Root", 0.0, 0.05, 0.8),
        "l_b": ("Face", 0.2, 0.1, 0.4),
    })  # fmt: skip
    assert split_body(fish).kind == "fish"
    mapping = as_names(suggest(fish, ADULT))
    assert (mapping["Spine1"], mapping["Spine3"]) == ("LowerBack", "Spine1")
    assert mapping["Face"] == "Head"
    assert mapping["Tail"] == "LeftUpLeg RightUpLeg"


def test_kinds_of_bodies() -> None:
    kinds = {one: split_body(samples.character(one)).kind for one in ("adult", "dog", "spider", "shark")}
    assert kinds == {"adult": "biped", "dog": "quadruped", "spider": "spider or insect", "shark": "fish"}
    for name, kind in kinds.items():
        assert split_body(nonsense(samples.character(name), 1.0)[0]).kind == kind


def test_limbs_that_share_a_root_on_each_side() -> None:
    """Eight legs that hang from one bone a side are eight legs, not two hands."""
    joints = {"mid": ("", 0.0, 0.3, 0.0), "front": ("mid", 0.0, 0.3, 0.15), "back": ("mid", 0.0, 0.32, -0.3)}
    joints["l_anchor"] = ("mid", 0.03, 0.3, 0.0)
    for i, z in enumerate((0.4, 0.15, -0.15, -0.4)):
        joints |= {
            f"l_{i}a": ("l_anchor", 0.08, 0.3, 0.2 * z), f"l_{i}b": (f"l_{i}a", 0.3, 0.45, 0.7 * z),
            f"l_{i}c": (f"l_{i}b", 0.5, 0.0, z),
        }  # fmt: skip
    legs = split_body(build(joints)).limbs
    assert len(legs) == 4
    mapping = as_names(suggest(SPIDER, build(joints)))
    assert mapping["LeftLeg1Femur"] == "l_0a"
    assert mapping["RightLeg4Femur"] == "r_3a"


def test_wings_beside_legs_match_wings_alone() -> None:
    joints = {"body": ("", 0.0, 0.3, 0.0), "head": ("body", 0.0, 0.33, 0.15), "l_wing": ("body", 0.05, 0.4, 0.0),
              "l_wing2": ("l_wing", 0.5, 0.45, -0.05)}  # fmt: skip
    for i, z in enumerate((0.1, 0.0, -0.1)):
        joints |= {f"l_leg{i}a": ("body", 0.05, 0.28, z), f"l_leg{i}b": (f"l_leg{i}a", 0.2, 0.35, 2.0 * z),
                   f"l_leg{i}c": (f"l_leg{i}b", 0.3, 0.0, 2.5 * z)}  # fmt: skip
    wasp = build(joints)
    mapping = as_names(suggest(DOG, wasp))
    assert mapping["LeftUpperArm"] == "l_leg0a"
    assert mapping["LeftThigh"] == "l_leg2a"
    assert not any("wing" in bones for bones in mapping.values())
    assert as_names(suggest(BIRD, wasp))["l_a"] == "l_wing"


FINGERS = {
    "hips": ("", 0.0, 1.0, 0.0), "spine": ("hips", 0.0, 1.1, 0.0), "neck": ("spine", 0.0, 1.5, 0.0),
    "head": ("neck", 0.0, 1.6, 0.0), "l_thigh": ("hips", 0.1, 1.0, 0.0), "l_shin": ("l_thigh", 0.1, 0.5, 0.0),
    "l_foot": ("l_shin", 0.1, 0.1, 0.0), "l_upperarm": ("spine", 0.2, 1.4, 0.0),
    "l_forearm": ("l_upperarm", 0.5, 1.4, 0.0), "l_hand": ("l_forearm", 0.75, 1.4, 0.0),
}  # fmt: skip


QUADRUPED = {
    "hips": ("", 0.0, 1.0, -0.5), "spine": ("hips", 0.0, 1.0, 0.0), "chest": ("spine", 0.0, 1.0, 0.4),
    "neck": ("chest", 0.0, 1.2, 0.6), "head": ("neck", 0.0, 1.4, 0.8), "jaw": ("head", 0.0, 1.3, 0.9),
    "tail_1": ("hips", 0.0, 1.0, -0.7), "tail_2": ("tail_1", 0.0, 1.0, -1.0),
    "l_back_leg_upper": ("hips", 0.1, 0.9, -0.5), "l_back_leg_lower": ("l_back_leg_upper", 0.1, 0.55, -0.4),
    "l_back_leg_ankle": ("l_back_leg_lower", 0.1, 0.3, -0.6), "l_back_leg_foot": ("l_back_leg_ankle", 0.1, 0.05, -0.6),
    "l_back_leg_toe": ("l_back_leg_foot", 0.1, 0.0, -0.5),
}  # fmt: skip
CANINE = QUADRUPED | {
    "l_front_leg_upper": ("chest", 0.1, 0.8, 0.45), "l_front_leg_lower": ("l_front_leg_upper", 0.1, 0.45, 0.35),
    "l_front_leg_ankle": ("l_front_leg_lower", 0.1, 0.12, 0.35),
    "l_front_leg_foot": ("l_front_leg_ankle", 0.1, 0.03, 0.4),
    "l_front_leg_toe": ("l_front_leg_foot", 0.1, 0.0, 0.48),
}  # fmt: skip
EQUINE = QUADRUPED | {
    "l_front_humerus": ("chest", 0.1, 0.85, 0.6), "l_front_leg_upper": ("l_front_humerus", 0.1, 0.7, 0.45),
    "l_front_leg_lower": ("l_front_leg_upper", 0.1, 0.4, 0.42),
    "l_front_leg_ankle": ("l_front_leg_lower", 0.1, 0.17, 0.4),
    "l_front_leg_foot": ("l_front_leg_ankle", 0.1, 0.05, 0.42),
}  # fmt: skip


def test_below_a_humerus_the_upper_leg_is_a_forearm() -> None:
    plan = split_body(build(EQUINE))
    fore = plan.limbs[-1][0]
    names = {part: [plan.skeleton.names[j] for j in joints] for part, joints in fore.parts.items()}
    assert names == {
        "upper": ["l_front_humerus"], "lower": ["l_front_leg_upper", "l_front_leg_lower"],
        "end": ["l_front_leg_ankle"], "tip": ["l_front_leg_foot"],
    }  # fmt: skip


def test_legs_of_as_many_bones_match_in_order_only_where_they_bend_alike() -> None:
    """A fox's paw is not a horse's cannon bone, although both are the third of five."""
    mapping = as_names(suggest(build(CANINE, "fox"), build(EQUINE, "horse")))
    assert mapping["l_front_leg_upper"] == "l_front_humerus"
    assert mapping["l_front_leg_lower"] == "l_front_leg_upper l_front_leg_lower"
    assert mapping["l_front_leg_ankle"] == "l_front_leg_ankle"
    assert mapping["r_back_leg_ankle"] == "r_back_leg_ankle"


def test_a_bone_that_carries_several_legs_is_none_of_theirs() -> None:
    joints = {"body": ("", 0.0, 0.3, 0.0), "head": ("body", 0.0, 0.3, 0.3), "l_side": ("body", 0.05, 0.3, 0.0)}
    for number, z in enumerate((0.3, 0.1, -0.1, -0.3)):
        joints[f"l_hip{number}"] = ("l_side", 0.1, 0.3, z / 2)
        joints[f"l_knee{number}"] = (f"l_hip{number}", 0.4, 0.5, z)
        joints[f"l_toe{number}"] = (f"l_knee{number}", 0.7, 0.0, 1.5 * z)
    skeleton = build(joints, "crab")
    plan = split_body(skeleton)
    assert [skeleton.names[pair[0].bones[0]] for pair in plan.limbs] == ["l_hip3", "l_hip2", "l_hip1", "l_hip0"]
    assert skeleton.index["l_side"] not in {
        j for pair in plan.limbs for limb in pair for row in limb.parts.values() for j in row
    }
    assert "l_side" in suggest(skeleton, SPIDER).unmatched("source")


def test_a_hand_of_palms_side_by_side() -> None:
    names = {"LeftHand": "LeftPalm1", "RightHand": "RightPalm1"}
    whole = replace(ADULT, names=tuple(names.get(name, name) for name in ADULT.names), ends=())
    more, parents, offsets = list(whole.names), list(whole.parents), list(whole.offsets)
    for which in ("Left", "Right"):
        for number in (2, 3):
            more.append(f"{which}Palm{number}")
            parents.append(whole.index[f"{which}ForeArm"])
            offsets.append(whole.offsets[whole.index[f"{which}Palm1"]])
    skeleton = Skeleton(names=tuple(more), parents=np.array(parents), offsets=np.array(offsets), name="palms")
    mapping = as_names(suggest(ADULT, skeleton))
    assert mapping["LeftHand"] == "LeftPalm1 LeftPalm2 LeftPalm3"
    assert mapping["RightHand"] == "RightPalm1 RightPalm2 RightPalm3"
    assert mapping["LeftForeArm"] == "LeftForeArm"


def with_fingers(rows: dict[str, list[str]]) -> Skeleton:
    joints = dict(FINGERS)
    for z, (first, names) in enumerate(rows.items()):
        above = "l_hand"
        for i, name in enumerate([first, *names]):
            joints[f"l_{name}"] = (above, 0.8 + 0.03 * i, 1.4, 0.02 * z)
            above = f"l_{name}"
    return build(joints)


def test_fingers_by_name_whatever_they_are_numbered_from() -> None:
    biped = with_fingers({"Finger0": ["Finger01", "Finger02"], "Finger1": ["Finger11", "Finger12"],
                          "Finger4": ["Finger41", "Finger42"]})  # fmt: skip
    words = with_fingers({"thumb1": ["thumb2", "thumb3", "thumb4"], "pinky1": ["pinky2"],
                          "index_metacarpal": ["index1", "index2", "index3"]})  # fmt: skip
    human = with_fingers({"finger1-1": ["finger1-2", "finger1-3"], "finger2-1": ["finger2-2", "finger2-3"],
                          "finger5-1": ["finger5-2", "finger5-3"]})  # fmt: skip
    mapping = as_names(suggest(biped, words))
    assert mapping["l_Finger0"] == "l_thumb1"
    assert mapping["r_Finger02"] == "r_thumb3"
    assert mapping["l_Finger1"] == "l_index1"
    assert mapping["l_Finger12"] == "l_index3"
    assert mapping["l_Finger4 l_Finger41 l_Finger42"] == "l_pinky1 l_pinky2"
    assert not any("thumb4" in bones or "metacarpal" in bones for bones in mapping.values())
    mapping = as_names(suggest(human, biped))
    assert mapping["l_finger1-1"] == "l_Finger0"
    assert mapping["r_finger5-3"] == "r_Finger42"


def test_split_bones_in_a_row_become_chains() -> None:
    joints = dict(FINGERS)
    joints |= {"l_thightwist": ("l_thigh", 0.1, 0.75, 0.0), "l_shin": ("l_thightwist", 0.1, 0.5, 0.0),
               "l_upperarm2": ("l_upperarm", 0.35, 1.4, 0.0), "l_forearm": ("l_upperarm2", 0.5, 1.4, 0.0)}  # fmt: skip
    order = ["hips", "spine", "neck", "head", "l_thigh", "l_thightwist", "l_shin", "l_foot", "l_upperarm",
             "l_upperarm2", "l_forearm", "l_hand"]  # fmt: skip
    mapping = as_names(suggest(ADULT, build({name: joints[name] for name in order})))
    assert mapping["LeftUpLeg"] == "l_thigh l_thightwist"
    assert mapping["RightArm"] == "r_upperarm r_upperarm2"
    assert mapping["LeftForeArm"] == "l_forearm"


def test_bones_of_one_name_left_over_follow_their_parents() -> None:
    joints = dict(FINGERS) | {"cap": ("head", 0.0, 1.8, 0.0), "cap_feather": ("cap", 0.0, 1.9, 0.0)}
    one, other = build(joints), build({**joints, "belt": ("hips", 0.0, 1.0, 0.1)})
    mapping = suggest(one, other)
    feather = mapping.pair_of("source", "cap_feather")
    assert feather is not None
    assert feather.target == ("cap_feather",)
    assert feather.reason == "both are called cap_feather and hang from bones that correspond"
    elsewhere = build({**FINGERS, "cap": ("hips", 0.0, 0.9, 0.1)})
    assert suggest(one, elsewhere).pair_of("source", "cap") is None


def test_sides_that_nothing_tells_are_said_to_be_guessed() -> None:
    """Two legs and a post: nothing shows the front."""
    joints = {"a": ("", 0.0, 0.5, 0.0), "b": ("a", 0.0, 0.8, 0.0), "c": ("b", 0.0, 1.0, 0.0)}
    for side, x in (("p", 0.1), ("q", -0.1)):
        joints |= {f"{side}1": ("a", x, 0.5, 0.0), f"{side}2": (f"{side}1", 2.0 * x, 0.25, 0.0),
                   f"{side}3": (f"{side}2", 2.0 * x, 0.0, 0.0)}  # fmt: skip
    mapping = suggest(ADULT, build(joints))
    leg = mapping.pair_of("source", "LeftUpLeg")
    assert leg is not None
    assert "which side is left is a guess" in leg.reason
    assert leg.confidence < 0.6


def test_a_body_of_one_bone_has_its_root() -> None:
    mapping = suggest(ADULT, CAN)
    assert as_names(mapping) == {"Hips": "Can"}


def test_nothing_in_common_says_what_is_missing_and_what_to_do() -> None:
    fork = build({"base": ("", 0.0, 0.0, 0.0), "one": ("base", 0.0, 0.4, 0.0), "two": ("base", 0.3, 0.1, 0.2)}, "fork")
    with pytest.raises(CorrespondenceError) as caught:
        suggest(SPIDER, fork)
    assert "Nothing but the root corresponds" in caught.value.message
    assert "the target is other `fork` of 3 bones" in caught.value.message
    assert "without spine" in caught.value.message
    assert "understudy map SOURCE TARGET -o map.toml" in caught.value.hint
    assert "--map map.toml" in caught.value.hint


def test_every_pair_of_samples_gives_a_valid_map_or_a_reason() -> None:
    for one in samples.characters():
        for other in samples.characters():
            mapping = suggest(samples.character(one), samples.character(other))
            assert mapping.root is not None
            assert all(pair.reason for pair in mapping.pairs)


WORDS = [
    "left", "right", "l", "arm", "leg", "hip", "hips", "spine", "neck", "head", "tail", "upper", "lower", "foot",
    "hand", "finger", "thumb", "1", "2", "wing", "ik", "twist",
]  # fmt: skip


def test_whatever_the_names_and_the_tree_the_answer_is_a_map_or_a_reason(
    make_skeleton: Callable[..., Skeleton], make_motion: Callable[..., Motion], rng: np.random.Generator
) -> None:
    """Random trees with random words as names: nothing breaks, and only a lack of parts is refused."""
    maps, refused = 0, set()
    for number in range(150):
        body = make_skeleton(rng, int(rng.integers(1, 30)))
        motion = make_motion(body, rng) if number % 2 else None
        if number % 3:
            names = ["_".join(rng.choice(WORDS, size=rng.integers(1, 4))) + f"_{i}" for i in range(body.num_joints)]
            new = dict(zip(body.names, names))
            ends = tuple(replace(end, joint=new[end.joint]) for end in body.ends)
            body = replace(body, names=tuple(names), ends=ends)
            motion = None
        try:
            mapping = suggest(body, DOG, source_motion=motion)
        except CorrespondenceError as error:
            refused.add(error.message.partition(":")[0])
        else:
            maps += 1
            assert mapping.root is not None
    assert maps > 50
    assert refused == {"Nothing but the root corresponds"}


def test_names_that_contradict_the_tree_do_not_break_the_map() -> None:
    """A neck that hangs from the tail on one body only: one of the two pairs is left out."""
    one = build({"hips": ("", 0.0, 0.5, 0.0), "tail": ("hips", 0.0, 0.5, -0.2), "neck": ("tail", 0.0, 0.7, 0.3),
                 "head": ("neck", 0.0, 0.8, 0.4)})  # fmt: skip
    other = build({"hips": ("", 0.0, 0.5, 0.0), "neck": ("hips", 0.0, 0.7, 0.3), "tail": ("neck", 0.0, 0.5, -0.2),
                   "head": ("tail", 0.0, 0.8, 0.4)})  # fmt: skip
    mapping = as_names(suggest(one, other))
    assert mapping["hips"] == "hips"
    assert mapping["head"] == "head"
    assert len({"neck", "tail"} & set(mapping)) <= 1
