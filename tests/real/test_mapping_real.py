"""Maps between real skeletons: every humanoid file onto a CMU one and back, and animals with each other."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.correspondence.by_name import convention
from understudy.correspondence.detached import attach, change_parents, find_waist
from understudy.correspondence.pairs import Correspondence
from understudy.correspondence.suggest import split_body, suggest
from understudy.figure.skeleton import Point
from understudy.io import Clip

# What each family of rigs calls the main bones, by hand: the hips (what carries legs and spine), the first bone of the
# spine, the head, then upper arm, forearm, hand, thigh, shin, foot of the left; and how left is turned to right.
FAMILIES = {
    "cmu": "Hips LowerBack Head LeftArm LeftForeArm LeftHand LeftUpLeg LeftLeg LeftFoot",
    "acclaim": "root lowerback head lhumerus lradius lwrist lfemur ltibia lfoot",
    "cmu 3ds max": "Hips lowerback Head LeftShoulder LeftElbow LeftWrist LeftHip LeftKnee LeftAnkle",
    "poser": "hip abdomen head lShldr lForeArm lHand lThigh lShin lFoot",
    "human ik": "Hips Spine Head LeftArm LeftForeArm LeftHand LeftUpLeg LeftLeg LeftFoot",
    "collar": "Hips Chest Head LeftShoulder LeftElbow LeftWrist LeftHip LeftKnee LeftAnkle",
    "up and low": "Hips Chest Head LeftUpArm LeftLowArm LeftHand LeftUpLeg LeftLowLeg LeftFoot",
    "makehuman": "root spine05 head upperarm01.L lowerarm01.L wrist.L upperleg01.L lowerleg01.L foot.L",
    "makehuman older": "Root Spine1 Head UpArm_L LoArm_L Hand_L UpLeg_L LoLeg_L Foot_L",
    "cesium man": "Skeleton_torso_joint_1 Skeleton_torso_joint_2 Skeleton_neck_joint_2 Skeleton_arm_joint_L__4_ "
    "Skeleton_arm_joint_L__3_ Skeleton_arm_joint_L__2_ leg_joint_L_1 leg_joint_L_2 leg_joint_L_3",
    "rigged figure": "torso_joint_1 torso_joint_2 neck_joint_2 arm_joint_L_1 arm_joint_L_2 arm_joint_L_3 "
    "leg_joint_L_1 leg_joint_L_2 leg_joint_L_3",
    # What the robot calls its hips carries the back alone; three bones side by side are its hand.
    "robot expressive": "Body Hips Head UpperArm.L LowerArm.L Palm1.L UpperLeg.L LowerLeg.L -",
    "unreal": "pelvis spine_01 head upperarm_l lowerarm_l hand_l thigh_l calf_l foot_l",
    "quaternius": "Hips Abdomen Head UpperArm.L LowerArm.L Hand.L UpperLeg.L LowerLeg.L Foot.L",
    "maya": "Character1_Hips Character1_Spine Character1_Head Character1_LeftArm Character1_LeftForeArm "
    "Character1_LeftHand Character1_LeftUpLeg Character1_LeftLeg Character1_LeftFoot",
    "100style": "BVH:Hips BVH:Chest BVH:Head BVH:LeftShoulder BVH:LeftElbow BVH:LeftWrist BVH:LeftHip BVH:LeftKnee "
    "BVH:LeftAnkle",
    "g1": "pelvis waist_yaw_joint - left_shoulder_pitch_joint left_elbow_joint left_wrist_pitch_joint "
    "left_hip_pitch_joint left_knee_joint left_ankle_pitch_joint",
    "g1 with a head": "pelvis waist_yaw_joint head_joint left_shoulder_pitch_joint left_elbow_joint "
    "left_wrist_pitch_joint left_hip_pitch_joint left_knee_joint left_ankle_pitch_joint",
    "h1": "pelvis torso - left_shoulder_pitch left_elbow - left_hip_yaw left_knee left_ankle",
    # It has no hands, its chest carries its hips by one motor, and the axis that is called elbow yaw bends the elbow.
    "t1": "Waist Trunk AAHead_yaw Left_Shoulder_Pitch Left_Elbow_Yaw - Left_Hip_Pitch Left_Knee_Pitch Left_Ankle_Pitch",
    "op3": "body_link - head_pan l_sho_pitch l_el - l_hip_yaw l_knee l_ank_pitch",
    # The chest carries the hips by three motors, which are its spine.
    "dm humanoid": "abdomen_x abdomen_y head left_shoulder1 left_elbow left_hand left_hip_x left_knee left_ankle_y",
    "cmu robot": "root lowerbackrz headrz lhumerusrz lradiusrx lhandrz lfemurrz ltibiarx lfootrz",
}
PARTS = ("hips", "spine", "head", "upper arm", "forearm", "hand", "thigh", "shin", "foot")
SIDES = {
    "acclaim": ("l", "r"), "poser": ("l", "r"), "makehuman": (".L", ".R"), "makehuman older": ("_L", "_R"),
    "rigged figure": ("_L_", "_R_"), "robot expressive": (".L", ".R"), "unreal": ("_l", "_r"),
    "quaternius": (".L", ".R"), "g1": ("left", "right"), "g1 with a head": ("left", "right"), "h1": ("left", "right"),
    "dm humanoid": ("left", "right"), "cmu robot": ("l", "r"), "op3": ("l", "r"),
}  # fmt: skip
FILES = {
    "cmu_asfamc/*.asf": "acclaim",
    "cmu_bvh/*.bvh": "cmu",
    "humans/cmu_131_03_3dsmax.bvh": "cmu 3ds max",
    "humans/cmu_131_03_metres.bvh": "cmu 3ds max",
    "humans/animdraw_cmu_jumping_jacks.bvh": "cmu 3ds max",
    "humans/cmu_11_01_daz.bvh": "poser",
    "humans/animdraw_fair1_zombie.bvh": "human ik",
    "humans/rokoko_jesse_dance.bvh": "human ik",
    "humans/milad_all_position_channels.bvh": "human ik",
    "humans/pybvh_test1_mixed_orders.bvh": "human ik",
    "humans/xsens_like_pybvh_test2.bvh": "collar",
    "humans/makehuman_tpose.bvh": "makehuman",
    "humans/makehuman_walk1.bvh": "makehuman older",
    "bvh_conformance/univrm_hierarchy_cgspeed.bvh": "cmu",
    "bvh_conformance/univrm_hierarchy_louise.bvh": "collar",
    "bvh_conformance/univrm_hierarchy_mocap.bvh": "human ik",
    "bvh_conformance/univrm_hierarchy_mocapdatacom.bvh": "collar",
    "bvh_conformance/bvhio_example.bvh": "up and low",
    "bvh_conformance/bvhpython_test_mocapbank.bvh": "collar",
    "bvh_conformance/bvhtoolbox_walk01.bvh": "human ik",
}
# Characters with a skin, and robots: of other programs, some with bones missing.
CHARACTERS = {
    "gltf/CesiumMan.glb": "cesium man",
    "gltf/RiggedFigure.glb": "rigged figure",
    "gltf/RobotExpressive.glb": "robot expressive",
    "gltf/m2m_human_male.glb": "unreal",
    "gltf/m2m_rig_human.glb": "unreal",
    "gltf/quaternius_man_Casual.glb": "quaternius",
    "fbx_usd/maya_human_ik_7400_binary.fbx": "maya",
    "fbx_usd/maya_character_7500_ascii.fbx": "maya",
    "fbx_usd/maya_kenney_character_7700_binary.fbx": "human ik",
    "fbx_usd/100style_character.fbx": "100style",
    "fbx_usd/RiggedFigure.usdz": "rigged figure",
    "robots/unitree_g1.xml": "g1",
    "robots/unitree_g1_29dof.urdf": "g1 with a head",
    "robots/unitree_h1.xml": "h1",
    "robots/booster_t1.xml": "t1",
    "robots/robotis_op3.xml": "op3",
    "robots/dm_humanoid.xml": "dm humanoid",
    "robots/humanoid_CMU_V2020.xml": "cmu robot",
}
HUMANOIDS = FILES | CHARACTERS
# Names that no rule turns from left to right.
ODD = {
    "Skeleton_arm_joint_L__4_": "Skeleton_arm_joint_R", "Skeleton_arm_joint_L__3_": "Skeleton_arm_joint_R__2_",
    "Skeleton_arm_joint_L__2_": "Skeleton_arm_joint_R__3_",
    "leg_joint_L_1": "leg_joint_R_1", "leg_joint_L_2": "leg_joint_R_2", "leg_joint_L_3": "leg_joint_R_3",
}  # fmt: skip
CONVENTIONS = {
    "unreal": "Unreal", "quaternius": "Quaternius", "maya": "MotionBuilder", "g1": "Unitree robots",
    "g1 with a head": "Unitree robots", "h1": "Unitree robots",
    "cmu": "CMU", "acclaim": "CMU Acclaim", "cmu 3ds max": "CMU for 3ds Max", "poser": "Poser",
    "up and low": "Biovision", "makehuman": "MakeHuman", "makehuman older": "MakeHuman, older",
}  # fmt: skip


def main_bones(family: str) -> dict[str, str]:
    """The main bones of a family, 15 or those of them that it has."""
    middle, limbs = FAMILIES[family].split()[:3], FAMILIES[family].split()[3:]
    found = dict(zip(PARTS[:3], middle))
    for part, bone in zip(PARTS[3:], limbs):
        found |= {f"left {part}": bone, f"right {part}": ODD.get(bone) or turned(bone, family)}
    return {part: bone for part, bone in found.items() if bone != "-"}


def turned(bone: str, family: str) -> str:
    """The bone of the right that is like one of the left."""
    left, right = SIDES.get(family, ("Left", "Right"))
    if bone == "-" or len(left) > 2:
        return bone.replace(left, right)
    # Where a side's mark begins or ends a name the rest may hold the same letters.
    return right + bone[len(left) :] if bone.startswith(left) else bone.removesuffix(left) + right


def load(path: Path) -> Clip:
    """A file's clip, where the package that reads it is there."""
    needed = {".fbx": "ufbx", ".usdz": "pxr"}.get(path.suffix)
    if needed:
        pytest.importorskip(needed)
    clip = understudy.read(path)
    if not find_waist(clip.skeleton):
        return clip
    assert clip.motion is None
    return replace(clip, skeleton=attach(clip.skeleton))


def onto(found: Correspondence, bone: str) -> str:
    """The bone that leads the pair which a bone of the source leads."""
    pair = found.pair_of("source", bone)
    assert pair is not None, f"{bone} is in no pair"
    assert pair.source[0] == bone
    return pair.target[0]


def files(data: Path, pattern: str) -> list[Path]:
    found = sorted(data.glob(pattern))
    assert found, f"no file fits {pattern}"
    return found


def test_every_humanoid_file_is_in_the_table(data: Path) -> None:
    listed = {path for pattern in FILES for path in files(data, pattern)}
    there = {path for pattern in ("cmu_bvh/*.bvh", "cmu_asfamc/*.asf", "humans/*.bvh") for path in data.glob(pattern)}
    assert there <= listed


def test_every_character_file_is_in_the_tables(data: Path) -> None:
    there = {
        path.relative_to(data).as_posix()
        for folder in ("gltf", "fbx_usd", "robots")
        for path in (data / folder).iterdir()
    }
    others = {
        "gltf/Fox.glb", "gltf/SimpleSkin.gltf", "robots/unitree_go2.xml", "fbx_usd/blender_279_sausage_7400_binary.fbx",
        "fbx_usd/usd_lbs.baked.usda", "fbx_usd/usd_lbs.usda", "fbx_usd/usd_skinnedArm.usda",
    }  # fmt: skip
    assert there == set(CHARACTERS) | others


@pytest.mark.parametrize("pattern", HUMANOIDS)
def test_main_bones_onto_cmu_and_back(data: Path, pattern: str) -> None:
    cmu = load(data / "cmu_bvh" / "02_01.bvh")
    mine, its = main_bones(HUMANOIDS[pattern]), main_bones("cmu")
    its = {part: bone for part, bone in its.items() if part in mine}
    assert len(mine) >= 12
    for path in files(data, pattern):
        clip = load(path)
        there = suggest(clip.skeleton, cmu.skeleton, source_motion=clip.motion, target_motion=cmu.motion)
        back = suggest(cmu.skeleton, clip.skeleton, source_motion=cmu.motion, target_motion=clip.motion)
        assert {part: onto(there, bone) for part, bone in mine.items()} == its, path.name
        assert {part: onto(back, bone) for part, bone in its.items()} == mine, path.name
        assert all(pair.confidence > 0.6 for pair in there.pairs), path.name


@pytest.mark.parametrize("pattern", HUMANOIDS)
def test_conventions_of_real_files(data: Path, pattern: str) -> None:
    family = HUMANOIDS[pattern]
    if family in CONVENTIONS:
        assert {convention(load(path).skeleton) for path in files(data, pattern)} == {CONVENTIONS[family]}


def nameless(clip: Clip) -> tuple[Clip, dict[str, str]]:
    """A clip whose joints have names that say nothing, and their former names."""
    skeleton = clip.skeleton
    order = np.random.default_rng(1).permutation(skeleton.num_joints)
    new = {name: f"joint{order[i]}" for i, name in enumerate(skeleton.names)}
    ends = tuple(Point(name=f"tip{i}", joint=new[e.joint], offset=e.offset) for i, e in enumerate(skeleton.ends))
    made = replace(skeleton, names=tuple(new.values()), ends=ends, name="")
    motion = None if clip.motion is None else replace(clip.motion, skeleton=made)
    return Clip(skeleton=made, motion=motion), {b: a for a, b in new.items()}


# MakeHuman's rig of split bones is not among them: without names nothing tells half a thigh from a thigh.
@pytest.mark.parametrize("pattern", [pattern for pattern in FILES if "makehuman_tpose" not in pattern])
def test_humans_whose_names_say_nothing(data: Path, pattern: str) -> None:
    cmu = load(data / "cmu_bvh" / "02_01.bvh")
    mine, its = main_bones(FILES[pattern]), main_bones("cmu")
    for path in files(data, pattern):
        clip, old = nameless(load(path))
        found = suggest(clip.skeleton, cmu.skeleton, source_motion=clip.motion, target_motion=cmu.motion)
        new = {name: joint for joint, name in old.items()}
        assert {part: onto(found, new[bone]) for part, bone in mine.items()} == its, path.name


@pytest.mark.parametrize("target", [path for path in CHARACTERS if path.startswith("robots")])
def test_a_source_without_names_moves_the_same_parts_of_a_robot(data: Path, target: str) -> None:
    """A toe does not become an ankle, nor a finger a wrist, because two limbs have equally many joints."""
    source, robot = load(data / "cmu_bvh" / "02_01.bvh"), load(data / target)
    hidden, old = nameless(source)
    named, found = (suggest(clip.skeleton, robot.skeleton, source_motion=clip.motion) for clip in (source, hidden))
    parts = set(main_bones("cmu").values()) | {"LeftToeBase", "RightToeBase"}
    wanted = {pair.source[0]: pair.target for pair in named.pairs if pair.source[0] in parts}
    assert {old[p.source[0]]: p.target for p in found.pairs if old[p.source[0]] in parts} == wanted


UNITY = {
    "Shoulder": ("arm", "girdle"), "UpperArm": ("arm", "upper"), "LowerArm": ("arm", "lower"), "Hand": ("arm", "end"),
    "UpperLeg": ("leg", "upper"), "LowerLeg": ("leg", "lower"), "Foot": ("leg", "end"), "Toes": ("leg", "tip"),
}  # fmt: skip


def in_unity_words(path: Path) -> dict[str, str | None]:
    """A body's parts by Unity's names; the bones of the spine are Spine, Chest and UpperChest in their order."""
    skeleton = load(path).skeleton
    plan = split_body(skeleton)
    spine = [skeleton.names[j] for j in plan.trunk.get("spine", ())]
    found: dict[str, str | None] = {"Hips": skeleton.names[plan.root]}
    found |= {name: spine[i] if i < len(spine) else None for i, name in enumerate(("Spine", "Chest", "UpperChest"))}
    for part in ("neck", "head"):
        row = plan.trunk.get(part, ())
        found[part.capitalize()] = skeleton.names[row[0]] if row else None
    for pair in plan.limbs:
        for limb in pair:
            for name, (kind, part) in UNITY.items():
                if limb.kind == kind:
                    row = limb.parts.get(part, ())
                    found[f"{limb.side.capitalize()}{name}"] = skeleton.names[row[0]] if row else None
    return found


@pytest.mark.parametrize("rig", ["louise", "cgspeed", "mocap", "mocapdatacom"])
def test_expected_mapping(data: Path, rig: str) -> None:
    """Every entry that a peer's tests assert, those that must stay empty too."""
    folder = data / "bvh_conformance"
    expected = json.loads((folder / "expected_mapping.json").read_text())["files"]
    found = in_unity_words(folder / f"univrm_hierarchy_{rig}.bvh")
    wanted = expected[f"univrm_hierarchy_{rig}.bvh"]
    assert len(wanted) >= 19
    assert {name: found[name] for name in wanted} == wanted


def said(found: Correspondence) -> dict[str, str]:
    return {" ".join(pair.source): " ".join(pair.target) for pair in found.pairs}


def both(pairs: dict[str, str]) -> dict[str, str]:
    """Pairs of the left and the middle, with those of the right besides."""
    turned = {}
    for one, other in pairs.items():
        for mark in ("Left", "LF_", "LB_", "LMF_", "LMB_", "LWing", "LLeg"):
            swap = "Right" if mark == "Left" else "R" + mark[1:]
            one, other = one.replace(mark, swap), other.replace(mark, swap)
        one, other = (
            re.sub(r"([._])([Ll])\b", lambda m: m[1] + ("R" if m[2] == "L" else "r"), bones) for bones in (one, other)
        )
        turned[one] = other
    return pairs | turned


def animal(data: Path, name: str) -> Clip:
    """A sample, or a file, feet that hang apart from the leg hung on it."""
    if name in samples.characters():
        return Clip.of(samples.character(name))
    clip = load(data / name if "/" in name else data / "animals" / (name if "." in name else f"{name}.bvh"))
    hung = attach(clip.skeleton)
    motion = None if clip.motion is None else change_parents(clip.motion, hung)
    return replace(clip, skeleton=hung, motion=motion)


def mapped(one: Clip, other: Clip) -> Correspondence:
    return suggest(one.skeleton, other.skeleton, source_motion=one.motion, target_motion=other.motion)


TAIL = " ".join(f"b_Tail00{i}" for i in range(1, 10))


def test_sample_dog_to_real_dog(data: Path) -> None:
    found = mapped(animal(data, "dog"), animal(data, "dog_walk_30fps"))
    assert said(found) == both({
        "Hips": "b_Hips", "Spine": "b_Spine", "Spine1": "b_Spine1", "Spine2": "b_Spine2", "Chest": "b_Spine3",
        "Neck Neck1": "b__Neck b__Neck1 b__Neck2", "Head": "b_Head", "Jaw": "Dog_Jaw",
        "Tail Tail1 Tail2 Tail3 Tail4": TAIL,
        "LeftThigh": "b_LeftLegUpper", "LeftShin": "b_LeftLeg", "LeftMetatarsus": "b_LeftLeg1",
        "LeftHindPaw": "b_LeftAnkle", "LeftScapula": "b_LeftClav", "LeftUpperArm": "b_LeftArm",
        "LeftForearm": "b_LeftForeArm", "LeftMetacarpus": "b_LeftHand", "LeftForePaw": "b__LeftFinger",
    }) | {"RightForePaw": "b_RightFinger"}  # fmt: skip


def test_sample_dog_to_quadruped_rig(data: Path) -> None:
    found = mapped(animal(data, "dog"), animal(data, "synthetic_quadruped_rig"))
    assert said(found) == both({
        "Hips": "Hips", "Spine Spine1 Spine2 Chest": "Spine Chest", "Neck Neck1": "Neck", "Head": "Head", "Jaw": "Jaw",
        "Tail Tail1 Tail2 Tail3 Tail4": "Tail_1 Tail_2", "LeftThigh": "LB_Hip", "LeftShin LeftMetatarsus": "LB_Knee",
        "LeftHindPaw": "LB_Foot", "LeftUpperArm": "LF_Hip", "LeftForearm LeftMetacarpus": "LF_Knee",
        "LeftForePaw": "LF_Foot",
    })  # fmt: skip


def test_real_dog_to_quadruped_rig(data: Path) -> None:
    found = mapped(animal(data, "dog_walk_30fps"), animal(data, "synthetic_quadruped_rig"))
    assert said(found) == both({
        "b_Hips": "Hips", "b_Spine b_Spine1 b_Spine2 b_Spine3": "Spine Chest", "b__Neck b__Neck1 b__Neck2": "Neck",
        "b_Head": "Head", "Dog_Jaw": "Jaw", TAIL: "Tail_1 Tail_2", "b_LeftLegUpper": "LB_Hip",
        "b_LeftLeg b_LeftLeg1": "LB_Knee", "b_LeftAnkle": "LB_Foot", "b_LeftArm": "LF_Hip", "b_LeftForeArm": "LF_Knee",
        "b_LeftHand": "LF_Foot",
    })  # fmt: skip


@pytest.mark.parametrize("name", ["dog_walk_30fps", "dog_run_30fps"])
def test_real_dog_whose_names_say_nothing(data: Path, name: str) -> None:
    """The rest pose is no pose: only the motion tells what is a leg, what is ahead and what is left."""
    clip, old = nameless(animal(data, name))
    found = suggest(samples.character("dog"), clip.skeleton, target_motion=clip.motion)
    mine = {" ".join(p.source): " ".join(old[bone] for bone in p.target) for p in found.pairs}
    expected = both({
        "Hips": "b_Hips", "Spine": "b_Spine", "Spine1": "b_Spine1", "Spine2": "b_Spine2", "Chest": "b_Spine3",
        "Neck Neck1": "b__Neck b__Neck1 b__Neck2", "Head": "b_Head", "Tail Tail1 Tail2 Tail3 Tail4": TAIL,
        "LeftThigh": "b_LeftLegUpper", "LeftShin": "b_LeftLeg", "LeftMetatarsus": "b_LeftLeg1",
        "LeftHindPaw": "b_LeftAnkle", "LeftScapula": "b_LeftClav", "LeftUpperArm": "b_LeftArm",
    })  # fmt: skip
    assert {bones: mine.get(bones) for bones in expected} == expected


def test_human_to_real_dog(data: Path) -> None:
    found = mapped(load(data / "cmu_bvh" / "02_01.bvh"), animal(data, "dog_walk_30fps"))
    assert said(found) == both({
        "Hips": "b_Hips", "LowerBack Spine Spine1": "b_Spine b_Spine1 b_Spine2 b_Spine3",
        "Neck Neck1": "b__Neck b__Neck1 b__Neck2", "Head": "b_Head", "LeftShoulder": "b_LeftClav",
        "LeftArm": "b_LeftArm", "LeftForeArm": "b_LeftForeArm", "LeftHand": "b_LeftHand",
        "LeftUpLeg": "b_LeftLegUpper", "LeftLeg": "b_LeftLeg b_LeftLeg1", "LeftFoot": "b_LeftAnkle",
        "LeftToeBase": "b_LeftToe b_LeftToe002",
    })  # fmt: skip
    assert set(TAIL.split()) <= set(found.unmatched("target"))


def test_human_to_bird(data: Path) -> None:
    found = mapped(load(data / "cmu_bvh" / "02_01.bvh"), animal(data, "synthetic_bird_rig"))
    assert said(found) == both({
        "Hips": "Body", "Neck Neck1": "Neck", "Head": "Head", "LeftArm": "LWing_Base", "LeftForeArm": "LWing_Mid",
        "LeftHand": "LWing_Tip", "LeftUpLeg": "LLeg_Hip", "LeftLeg": "LLeg_Knee", "LeftFoot": "LLeg_Foot",
    })  # fmt: skip
    arm, leg = found.pair_of("source", "LeftArm"), found.pair_of("source", "LeftUpLeg")
    assert arm is not None
    assert leg is not None
    assert arm.confidence < leg.confidence


def test_spider_to_spider(data: Path) -> None:
    found = mapped(Clip.of(samples.character("spider")), animal(data, "synthetic_spider_rig"))
    expected = {"Cephalothorax": "Body", "Abdomen": "Abdomen"}
    for number, mark in enumerate(("LF", "LMF", "LMB", "LB"), start=1):
        for bone, other in (("Femur", "Hip"), ("Tibia", "Knee"), ("Tarsus", "Foot")):
            expected[f"LeftLeg{number}{bone}"] = f"{mark}_{other}"
            expected[f"RightLeg{number}{bone}"] = f"R{mark[1:]}_{other}"
    assert said(found) == expected


DOG_SPINE, DOG_TAIL = "Spine Spine1 Spine2 Chest", "Tail Tail1 Tail2 Tail3 Tail4"
FOX_TAIL, HORSE_TAIL = "Tail_Base Tail_Mid Tail_Mid.001 Tail_End Tail_Tip", "tail_1 tail_2 tail_3 tail_4"
# Pairs of the middle and the left, by hand, of four-legged bodies: legs, spine, neck, head and tail.
QUADRUPEDS = {
    ("dog", "m2m_fox_animated.glb"): {
        "Hips": "Hips", DOG_SPINE: "Spine_1 Spine_2 Spine_2.001", "Neck": "Spine_3", "Neck1": "Spine_4", "Head": "Head",
        "Jaw": "Chin Chin_Tip", **dict(zip(DOG_TAIL.split(), FOX_TAIL.split())),
        "LeftThigh": "Back_Leg_Upper_L", "LeftShin": "Back_Leg_Lower_L",
        "LeftMetatarsus": "Back_Leg_Ankle_L", "LeftHindPaw": "Back_Leg_Foot_L", "LeftScapula": "Front_Leg_Shoulder_L",
        "LeftUpperArm": "Front_Leg_Upper_L", "LeftForearm LeftMetacarpus": "Front_Leg_Lower_L",
        "LeftForePaw": "Front_Leg_Ankle_L",
    },
    ("dog", "m2m_horse_animated.glb"): {
        "Hips": "hips", "Spine": "spine_1", "Spine1": "spine_2", "Spine2": "spine_3", "Chest": "spine_4",
        "Neck": "spine_5", "Neck1": "spine_6", "Head": "head", DOG_TAIL: HORSE_TAIL, "LeftThigh": "back_leg_upper_l",
        "LeftShin": "back_leg_lower_l", "LeftMetatarsus": "back_leg_ankle_l", "LeftHindPaw": "back_leg_foot_l",
        "LeftScapula": "front_scapula_l", "LeftUpperArm": "front_humerus_l", "LeftForearm": "front_leg_upper_l",
        "LeftMetacarpus": "front_leg_lower_l", "LeftForePaw": "front_leg_ankle_l",
    },
    ("m2m_fox_animated.glb", "m2m_horse_animated.glb"): {
        "Hips": "hips", "Spine_1 Spine_2 Spine_2.001": "spine_1 spine_2 spine_3 spine_4", "Spine_3": "spine_5",
        "Spine_4": "spine_6", "Head": "head", "Nose": "nose", FOX_TAIL: HORSE_TAIL,
        "Back_Leg_Pelvis_L": "back_leg_pelvis_l", "Back_Leg_Upper_L": "back_leg_upper_l",
        "Back_Leg_Lower_L": "back_leg_lower_l", "Back_Leg_Ankle_L": "back_leg_ankle_l",
        "Back_Leg_Foot_L": "back_leg_foot_l", "Back_Leg_Foot_1_L Back_Leg_Tip_L": "back_leg_toe_l",
        "Front_Leg_Shoulder_L": "front_scapula_l", "Front_Leg_Upper_L": "front_humerus_l",
        "Front_Leg_Lower_L": "front_leg_upper_l front_leg_lower_l", "Front_Leg_Ankle_L": "front_leg_ankle_l",
        "Front_Leg_Foot_L Front_Leg_Tip_L": "front_leg_foot_l",
    },
    ("dog", "quaternius_Husky.glb"): {
        "Hips": "Back", DOG_SPINE: "Torso Torso2 Torso3", "Neck Neck1": "Neck1 Neck2 Neck3", "Head": "Head",
        DOG_TAIL: "Tail1 Tail2 Tail3 Tail4 Tail5 Tail6", "LeftThigh": "BackLeg.L", "LeftShin": "BackUpperLeg.L",
        "LeftMetatarsus": "BackLowerLeg.L", "LeftHindPaw": "IKBackLeg.L", "LeftScapula": "FrontShoulder.L",
        "LeftUpperArm": "FrontUpperLeg.L", "LeftForearm": "FrontLowerLeg.L", "LeftMetacarpus": "IKFrontLeg.L",
        "LeftForePaw": "FF.L",
    },
}  # fmt: skip


@pytest.mark.parametrize("pair", QUADRUPEDS, ids=" to ".join)
def test_quadrupeds_there_and_back(data: Path, pair: tuple[str, str]) -> None:
    one, other = (animal(data, name) for name in pair)
    expected = both(QUADRUPEDS[pair])
    assert said(mapped(one, other)) == expected
    assert said(mapped(other, one)) == {b: a for a, b in expected.items()}


def test_toes_side_by_side_do_not_play_toes_in_a_row(data: Path) -> None:
    found = said(mapped(animal(data, "dog_walk_30fps"), animal(data, "m2m_fox_animated.glb")))
    assert found["b_LeftToe b_LeftToe002"] == "Back_Leg_Foot_1_L Back_Leg_Tip_L"
    assert found["b_RightToe b_RightToe002"] == "Back_Leg_Foot_1_R Back_Leg_Tip_R"


def test_dog_to_the_fox_of_few_bones(data: Path) -> None:
    """Its names are numbered in the file's order; what is called a foot stands off the ground."""
    found = said(mapped(animal(data, "dog"), animal(data, "gltf/Fox.glb")))
    expected = {
        "Hips": "b_Hip", DOG_SPINE: "b_Spine01 b_Spine02", "Neck Neck1": "b_Neck", "Head": "b_Head",
        DOG_TAIL: "b_Tail01 b_Tail02 b_Tail03", "LeftThigh": "b_LeftLeg01", "LeftShin": "b_LeftLeg02",
        "LeftMetatarsus": "b_LeftFoot01", "LeftHindPaw": "b_LeftFoot02", "LeftUpperArm": "b_LeftUpperArm",
        "LeftForearm LeftMetacarpus": "b_LeftForeArm", "LeftForePaw": "b_LeftHand",
    }  # fmt: skip
    assert {one: re.sub(r"_\d+\b", "", other) for one, other in found.items()} == both(expected)


def test_variants_of_one_rig_map_bone_to_bone(data: Path) -> None:
    for one, other in (("m2m_fox_animated.glb", "m2m_fox-dog.glb"), ("m2m_bird_animated.glb", "m2m_bird-eagle.glb")):
        found = mapped(animal(data, one), animal(data, other))
        assert len(found.pairs) >= 47
        assert all(pair.source == pair.target for pair in found.pairs)


def test_sample_spider_to_the_spider_of_a_game(data: Path) -> None:
    """The bone that carries all legs of a side is none of theirs."""
    found = mapped(animal(data, "spider"), animal(data, "m2m_spider_animated.glb"))
    expected = {"Cephalothorax": "hips", "Abdomen": "tail_1 tail_2 tail_3 tail_tip"}
    for number, letter in enumerate("abcd", start=1):
        for side, mark in (("Left", "l"), ("Right", "r")):
            leg, its = f"{side}Leg{number}", f"leg_{letter}"
            expected |= {
                f"{leg}Coxa": f"legs_anchor_{number}_{mark}", f"{leg}Femur": f"{its}_1_{mark}",
                f"{leg}Tibia": f"{its}_2_{mark} {its}_3_{mark}", f"{leg}Tarsus": f"{its}_tip_{mark}",
            }  # fmt: skip
    assert said(found) == expected


def test_wasp_to_spider(data: Path) -> None:
    """Three pairs of legs onto four: hind, second and fore; wings onto nothing; the abdomen, hung from the neck."""
    found = mapped(animal(data, "quaternius_Wasp.glb"), animal(data, "spider"))
    expected = {"Thorax": "Cephalothorax", "Abdomen Abdomen2 Abdomen3": "Abdomen"}
    for name, number in (("BottomLeg", 4), ("MidLeg", 2), ("TopLeg", 1)):
        for side, mark in (("Left", "L"), ("Right", "R")):
            for i, bone in enumerate(("Femur", "Tibia", "Tarsus"), start=1):
                expected[f"{name}{i}.{mark}"] = f"{side}Leg{number}{bone}"
    assert said(found) == expected


def test_birds(data: Path) -> None:
    """Birds walk on their toes: what is called the ankle belongs to the shin."""
    found = mapped(animal(data, "synthetic_bird_rig"), animal(data, "m2m_bird_animated.glb"))
    assert said(found) == both({
        "Body": "hips", "Neck": "spine_2 spine_3", "Head": "head", "Tail": "tail_1 tail_2 tail_3 tail_tip",
        "LLeg_Hip": "UpperLeg_L", "LLeg_Knee": "LowerLeg_L AnkleLeg_L", "LLeg_Foot": "Foot_L",
        "LWing_Base": "wing_2_L", "LWing_Mid": "wing_3_L", "LWing_Tip": "wing_4_L",
    })  # fmt: skip


def test_fishes(data: Path) -> None:
    found = mapped(animal(data, "shark"), animal(data, "quaternius_Fish1.glb"))
    assert said(found) == {
        "Body": "Root", "Spine1 Spine2 Spine3 Spine4": "Spine1 Spine2 Spine3", "Head": "Face", "Tail TailFin": "Tail",
        "LeftPectoralFin": "Bone", "RightPectoralFin": "Bone.001",
    }  # fmt: skip


@pytest.mark.parametrize("side", ["L", "R"])
def test_robot_with_feet_apart_gets_them_hung_on(data: Path, side: str) -> None:
    found = mapped(load(data / "cmu_bvh" / "02_01.bvh"), animal(data, "gltf/RobotExpressive.glb"))
    which = {"L": "Left", "R": "Right"}[side]
    assert said(found)[f"{which}Foot"] == f"Foot.{side}"
    assert said(found)[f"{which}Hand"] == f"Palm1.{side} Palm2.{side} Palm3.{side}"


def test_every_real_body_onto_every_sample(data: Path) -> None:
    """Whatever is asked, the answer is a map with a root."""
    bodies = [load(files(data, pattern)[0]) for pattern in FILES]
    bodies += [load(path) for path in sorted((data / "animals").glob("*.bvh"))]
    for clip in bodies:
        for name in samples.characters():
            found = suggest(clip.skeleton, samples.character(name), source_motion=clip.motion)
            assert found.root is not None
            assert all(pair.reason for pair in found.pairs)


def test_the_table_in_the_documentation_is_what_comes_out(data: Path) -> None:
    pytest.importorskip("ufbx")
    pytest.importorskip("pxr")
    home = Path(__file__).resolve().parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("mapping_table", home / "mapping_table.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (home / "mapping.md").read_text(encoding="utf-8")
    assert script.filled(page, data) == page, "out of date: run `python docs/mapping_table.py`"
    assert page.count("### ") > 8
    stale = page.replace("`lfemur` | `LeftUpLeg`", "`lfemur` | `LeftLeg`")
    assert script.filled(stale, data) == page
