"""The main bones of every robot and animal of the real data, by hand, with their names and without."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

import understudy
from understudy.correspondence.detached import attach, change_parents
from understudy.correspondence.parts import BodyPlan
from understudy.correspondence.suggest import split_body, suggest_and_try
from understudy.figure.skeleton import Point
from understudy.io import Clip

G1_LEG = (
    "leg: left_hip_pitch_joint left_hip_roll_joint left_hip_yaw_joint / left_knee_joint / "
    "left_ankle_pitch_joint left_ankle_roll_joint"
)
G1_ARM = (
    "arm: left_shoulder_pitch_joint left_shoulder_roll_joint left_shoulder_yaw_joint / "
    "left_elbow_joint left_wrist_roll_joint / left_wrist_pitch_joint left_wrist_yaw_joint"
)
# Kind, root and trunk; then the left limbs from the back or bottom to the front or top: kind: upper / lower / end.
# `-` stands for a part that the body does not have; bones of one part are separated by blanks.
BODIES = {
    "robots/booster_t1.xml": (
        # The file begins at the chest; the body begins at the pelvis below its waist.
        "biped", "Waist", {"spine": "Trunk", "head": "AAHead_yaw Head_pitch"},
        "leg: Left_Hip_Pitch Left_Hip_Roll Left_Hip_Yaw / Left_Knee_Pitch / Left_Ankle_Pitch Left_Ankle_Roll",
        # In the T-pose of its file the axis called elbow pitch runs along the arm, and the one called yaw bends it.
        "arm: Left_Shoulder_Pitch Left_Shoulder_Roll Left_Elbow_Pitch / Left_Elbow_Yaw / -",
    ),
    "robots/robotis_op3.xml": (
        "biped", "body_link", {"head": "head_pan head_tilt"},
        "leg: l_hip_yaw l_hip_roll l_hip_pitch / l_knee / l_ank_pitch l_ank_roll",
        "arm: l_sho_pitch l_sho_roll / l_el / -",
    ),
    "robots/unitree_g1.xml": (
        "biped", "pelvis", {"spine": "waist_yaw_joint waist_roll_joint waist_pitch_joint"},
        G1_LEG,
        G1_ARM,
    ),
    "robots/unitree_g1_29dof.urdf": (
        "biped", "pelvis", {"spine": "waist_yaw_joint waist_roll_joint waist_pitch_joint", "head": "head_joint"},
        G1_LEG,
        G1_ARM,
    ),
    "robots/unitree_h1.xml": (
        "biped", "pelvis", {"spine": "torso"},
        "leg: left_hip_yaw left_hip_roll left_hip_pitch / left_knee / left_ankle",
        "arm: left_shoulder_pitch left_shoulder_roll left_shoulder_yaw / left_elbow / -",
    ),
    "robots/dm_humanoid.xml": (
        "biped", "abdomen_x", {"spine": "abdomen_y abdomen_z torso", "head": "head"},
        "leg: left_hip_x left_hip_z left_hip_y / left_knee / left_ankle_y left_ankle_x",
        "arm: left_shoulder1 left_shoulder2 / left_elbow / left_hand",
    ),
    "robots/humanoid_CMU_V2020.xml": (
        "biped", "root",
        {
            "spine": " ".join(f"{part}r{axis}" for part in ("lowerback", "upperback", "thorax") for axis in "zyx"),
            "neck": "lowerneckrz lowerneckry lowerneckrx upperneckrz upperneckry upperneckrx",
            "head": "headrz headry headrx",
        },
        "leg: lfemurrz lfemurry lfemurrx / ltibiarx / lfootrz lfootrx",
        # What is called the wrist twists the forearm, 18 cm of 27 cm along it.
        "arm: lhumerusrz lhumerusry lhumerusrx / lradiusrx lwristry / lhandrz lhandrx",
    ),
    "robots/unitree_go2.xml": (
        "quadruped", "base", {},
        "leg: RL_hip_joint RL_thigh_joint / RL_calf_joint / -",
        "leg: FL_hip_joint FL_thigh_joint / FL_calf_joint / -",
    ),
    "animals/m2m_fox_animated.glb": (
        "quadruped", "Hips",
        {
            "spine": "Spine_1 Spine_2 Spine_2.001", "neck": "Spine_3 Spine_4", "head": "Head",
            "tail": "Tail_Base Tail_Mid Tail_Mid.001 Tail_End Tail_Tip",
        },
        "leg: Back_Leg_Upper_L / Back_Leg_Lower_L Back_Leg_Ankle_L / Back_Leg_Foot_L",
        "leg: Front_Leg_Upper_L / Front_Leg_Lower_L / Front_Leg_Ankle_L",
    ),
    "animals/m2m_horse_animated.glb": (
        "quadruped", "hips",
        {
            "spine": "spine_1 spine_2 spine_3 spine_4", "neck": "spine_5 spine_6", "head": "head",
            "tail": "tail_1 tail_2 tail_3 tail_4",
        },
        "leg: back_leg_upper_l / back_leg_lower_l back_leg_ankle_l / back_leg_foot_l",
        "leg: front_humerus_l / front_leg_upper_l front_leg_lower_l / front_leg_ankle_l",
    ),
    "animals/quaternius_Husky.glb": (
        "quadruped", "Back",
        {
            "spine": "Torso Torso2 Torso3", "neck": "Neck1 Neck2 Neck3", "head": "Head",
            "tail": "Tail1 Tail2 Tail3 Tail4 Tail5 Tail6",
        },
        "leg: BackLeg.L / BackUpperLeg.L BackLowerLeg.L / IKBackLeg.L",
        "leg: FrontUpperLeg.L / FrontLowerLeg.L / IKFrontLeg.L",
    ),
    "animals/dog_walk_30fps.bvh": (
        "quadruped", "b_Hips",
        {
            "spine": "b_Spine b_Spine1 b_Spine2 b_Spine3", "neck": "b__Neck b__Neck1 b__Neck2", "head": "b_Head",
            "tail": " ".join(f"b_Tail00{i}" for i in range(1, 10)),
        },
        "leg: b_LeftLegUpper / b_LeftLeg b_LeftLeg1 / b_LeftAnkle",
        "leg: b_LeftArm / b_LeftForeArm / b_LeftHand",
    ),
    "animals/synthetic_quadruped_rig.bvh": (
        "quadruped", "Hips", {"spine": "Spine Chest", "neck": "Neck", "head": "Head", "tail": "Tail_1 Tail_2"},
        "leg: LB_Hip / LB_Knee / LB_Foot",
        "leg: LF_Hip / LF_Knee / LF_Foot",
    ),
    "gltf/Fox.glb": (
        "quadruped", "b_Hip_01",
        {
            "spine": "b_Spine01_02 b_Spine02_03", "neck": "b_Neck_04", "head": "b_Head_05",
            "tail": "b_Tail01_012 b_Tail02_013 b_Tail03_014",
        },
        "leg: b_LeftLeg01_015 / b_LeftLeg02_016 b_LeftFoot01_017 / b_LeftFoot02_018",
        "leg: b_LeftUpperArm_09 / b_LeftForeArm_010 / b_LeftHand_011",
    ),
    "animals/m2m_bird_animated.glb": (
        "bird", "hips",
        {
            "spine": "spine_0 spine_1", "neck": "spine_2 spine_3", "head": "head",
            "tail": "tail_1 tail_2 tail_3 tail_tip",
        },
        "leg: UpperLeg_L / LowerLeg_L AnkleLeg_L / Foot_L",
        "wing: wing_2_L / wing_3_L / wing_4_L",
    ),
    "animals/synthetic_bird_rig.bvh": (
        "bird", "Body", {"neck": "Neck", "head": "Head", "tail": "Tail"},
        "leg: LLeg_Hip / LLeg_Knee / LLeg_Foot",
        "wing: LWing_Base / LWing_Mid / LWing_Tip",
    ),
    "animals/m2m_spider_animated.glb": (
        "spider or insect", "hips",
        {"spine": "spine_1", "neck": "spine_2", "head": "head", "abdomen": "tail_1 tail_2 tail_3 tail_tip"},
        *(f"leg: leg_{c}_1_l / leg_{c}_2_l leg_{c}_3_l / leg_{c}_tip_l" for c in "dcba"),
    ),
    "animals/synthetic_spider_rig.bvh": (
        "spider or insect", "Body", {"head": "Head", "abdomen": "Abdomen"},
        *(f"leg: {m}_Hip / {m}_Knee / {m}_Foot" for m in ("LB", "LMB", "LMF", "LF")),
    ),
    "animals/quaternius_Wasp.glb": (
        "spider or insect", "Thorax", {"neck": "Neck", "head": "Head", "abdomen": "Abdomen Abdomen2 Abdomen3"},
        *(f"leg: {m}Leg1.L / {m}Leg2.L / {m}Leg3.L" for m in ("Bottom", "Mid", "Top")),
        "wing: Wing.L / - / -",
    ),
    "animals/quaternius_Fish1.glb": (
        "fish", "Root", {"spine": "Spine1 Spine2 Spine3", "head": "Face", "tail": "Tail"},
        "fin: Bone / - / -",
    ),
}  # fmt: skip
SAME_RIG = {
    "animals/dog_run_30fps.bvh": "animals/dog_walk_30fps.bvh",
    "animals/m2m_fox-dog.glb": "animals/m2m_fox_animated.glb",
    "animals/m2m_bird-eagle.glb": "animals/m2m_bird_animated.glb",
}


def load(path: Path) -> Clip:
    """A file's clip, feet that hang apart from the leg hung on it."""
    clip = understudy.read(path)
    hung = attach(clip.skeleton)
    return replace(clip, skeleton=hung, motion=None if clip.motion is None else change_parents(clip.motion, hung))


def in_words(plan: BodyPlan) -> tuple[object, ...]:
    names = plan.skeleton.names
    trunk = {part: " ".join(names[j] for j in row) for part, row in plan.trunk.items() if part != "jaw"}
    limbs = []
    for left, _ in plan.limbs:
        parts = (" ".join(names[j] for j in left.parts.get(part, ())) or "-" for part in ("upper", "lower", "end"))
        limbs.append(f"{left.kind}: {' / '.join(parts)}")
    return (plan.kind, names[plan.root], trunk, *limbs)


def test_every_robot_and_animal_is_in_the_table(data: Path) -> None:
    there = {f"{folder}/{path.name}" for folder in ("robots", "animals") for path in (data / folder).iterdir()}
    assert there <= set(BODIES) | set(SAME_RIG)


@pytest.mark.parametrize("name", [*BODIES, *SAME_RIG])
def test_main_bones(data: Path, name: str) -> None:
    clip = load(data / name)
    assert in_words(split_body(clip.skeleton, clip.motion)) == BODIES[SAME_RIG.get(name, name)]


def hashed(clip: Clip) -> tuple[Clip, dict[str, str]]:
    """A clip whose joints are called by hashes of their names, and the names of the hashes."""
    skeleton = clip.skeleton
    new = {name: "q" + hashlib.sha256(name.encode()).hexdigest()[:12] for name in skeleton.names}
    ends = tuple(Point(name=f"tip{i}", joint=new[e.joint], offset=e.offset) for i, e in enumerate(skeleton.ends))
    made = replace(skeleton, names=tuple(new.values()), ends=ends, name="")
    motion = None if clip.motion is None else replace(clip.motion, skeleton=made)
    return Clip(skeleton=made, motion=motion), {value: key for key, value in new.items()}


@pytest.mark.parametrize("name", [name for name in BODIES if name.startswith("robots/")])
def test_axes_and_places_tell_the_limbs_of_robots(data: Path, name: str) -> None:
    """Without names, the motors of every limb are still told apart by their axes and places."""
    clip, old = hashed(load(data / name))
    plan = split_body(clip.skeleton, clip.motion)
    kind, root, _, *limbs = in_words(plan)
    expected_kind, expected_root, _, *expected = BODIES[name]
    assert kind == expected_kind
    assert old[str(root)] == expected_root
    found = [" ".join(old.get(word, word) for word in str(limb).split()) for limb in limbs]
    assert found == expected


HUMANS = ("gltf/m2m_human_male.glb", "gltf/CesiumMan.glb", "gltf/quaternius_man_Casual.glb")


@pytest.mark.parametrize("name", HUMANS)
def test_characters_whose_names_are_hashes(data: Path, name: str) -> None:
    clip = load(data / name)
    plain = in_words(split_body(clip.skeleton, clip.motion))
    other, old = hashed(clip)
    kind, root, trunk, *limbs = in_words(split_body(other.skeleton, other.motion))
    assert isinstance(trunk, dict)
    back = {part: " ".join(old[bone] for bone in row.split()) for part, row in trunk.items()}
    found = [" ".join(old.get(word, word) for word in str(limb).split()) for limb in limbs]
    assert (kind, old[str(root)], back, *found) == plain


@pytest.mark.parametrize("name", [name for name in BODIES if BODIES[name][0] == "biped"])
def test_maps_of_robots_pass_the_trial(data: Path, name: str) -> None:
    source, target = load(data / "cmu_bvh" / "02_01.bvh"), load(data / name)
    _, failures = suggest_and_try(
        source.skeleton, target.skeleton, source_motion=source.motion, target_motion=target.motion
    )
    assert not any(failure.stops or "swings" in failure.sentence for failure in failures)
