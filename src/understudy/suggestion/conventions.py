"""Naming conventions: what the programs and data sets of the field call the bones of a human."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from understudy.skeleton import Skeleton

PARTS = (
    "hips", "spine", "neck", "head", "left_shoulder", "left_upper_arm", "left_lower_arm", "left_hand",
    "left_upper_leg", "left_lower_leg", "left_foot", "left_toe",
)  # fmt: skip
"""The bones that a convention is told by, in the order of its names; the spine is its first bone."""
UNKNOWN = "own names"
"""What a skeleton's names are called that follow no convention known here."""
ENOUGH = 0.75
"""Share of a convention's names that a skeleton must have."""

_PREFIX = re.compile(r"^(?:.*[:|])?(?:(?:DEF|ORG)-|(?:Bip\d+|Character\d*|Robot|mixamorig\d*)[ _])?")


@dataclass(frozen=True, kw_only=True)
class Convention:
    """How one program or data set calls bones."""

    name: str
    bones: tuple[str, ...]
    """What it calls the PARTS; empty where it has no such bone."""
    also: tuple[str, ...] = ()
    """Names besides that tell it from others."""
    tell: str = ""
    """A pattern that some full name must show, where the names alone are others' too."""

    def fits(self, plain: set[str], names: tuple[str, ...]) -> float:
        """Share of its names that a skeleton has, 0 without what tells it; more names tell a little more."""
        wanted = {_plain(bone) for bone in (*self.bones, *self.also) if bone}
        if self.tell and not any(re.search(self.tell, name) for name in names):
            return 0.0
        return len(wanted & plain) / len(wanted) + 0.001 * len(wanted) + (0.1 if self.tell else 0.0)


@lru_cache(maxsize=64)
def convention(skeleton: Skeleton) -> str:
    """The convention that a skeleton's names follow: "Mixamo", "Unreal", ...; "own names" if none is known."""
    plain = {_plain(name) for name in skeleton.names}
    scores = [(found.fits(plain, skeleton.names), -i) for i, found in enumerate(CONVENTIONS)]
    score, place = max(scores)
    return CONVENTIONS[-place].name if score >= ENOUGH else UNKNOWN


def _plain(name: str) -> str:
    """A name without namespace, the character's own prefix and the choice of mark between words."""
    return re.sub(r"[ .\-]", "_", _PREFIX.sub("", name))


def _made(name: str, bones: str, also: str = "", tell: str = "") -> Convention:
    """A convention from its bones in the order of PARTS, `-` for none; with commas where names have blanks."""
    split = [part.strip() for part in bones.split(",")] if "," in bones else bones.split()
    if len(split) != len(PARTS):
        raise ValueError(f"{name}: expected {len(PARTS)} names, got {len(split)}")
    return Convention(name=name, bones=tuple("" if b == "-" else b for b in split), also=tuple(also.split()), tell=tell)


_HUMAN_IK = "LeftShoulder LeftArm LeftForeArm LeftHand LeftUpLeg LeftLeg LeftFoot"
_COLLAR = "LeftCollar LeftShoulder LeftElbow LeftWrist LeftHip LeftKnee LeftAnkle"

CONVENTIONS = (
    _made("Mixamo", f"Hips Spine Neck Head {_HUMAN_IK} LeftToeBase", tell=r"mixamorig\d*[:_]"),
    _made("CMU", f"Hips LowerBack Neck Head {_HUMAN_IK} LeftToeBase", "LHipJoint Neck1 LThumb", r"^LHipJoint$"),
    _made("CMU for 3ds Max", f"Hips lowerback lowerneck Head {_COLLAR} LeftToe", "LHipJoint Chest2", r"^LHipJoint$"),
    _made(
        "CMU Acclaim",
        "root lowerback lowerneck head lclavicle lhumerus lradius lwrist lfemur ltibia lfoot ltoes",
        "upperback thorax upperneck",
    ),
    _made("Perception Neuron or Rokoko", f"Hips Spine Neck Head {_HUMAN_IK} -", "LeftInHandIndex", "InHand"),
    _made("LaFAN1", f"Hips Spine Neck Head {_HUMAN_IK} LeftToe", "Spine1 Spine2"),
    _made(
        "Rokoko",
        "Hips Spine1 Neck Head LeftShoulder LeftArm LeftForeArm LeftHand LeftThigh LeftShin LeftFoot LeftToe",
        "Spine2",
    ),
    _made("MotionBuilder", f"Hips Spine Neck Head {_HUMAN_IK} LeftToeBase"),
    _made("MotionBuilder", f"Hips Spine Neck Head {_HUMAN_IK} -", "Spine1"),
    _made("Xsens BVH", f"Hips Chest Neck Head {_COLLAR} LeftToe", "Chest2 Chest3 Chest4"),
    _made("Biovision", f"Hips Chest Neck Head {_COLLAR} -"),
    _made(
        "Biovision",
        "Hips Chest Neck Head LeftCollar LeftUpArm LeftLowArm LeftHand LeftUpLeg LeftLowLeg LeftFoot -",
    ),
    _made(
        "Xsens MVN",
        "Pelvis L5 Neck Head LeftShoulder LeftUpperArm LeftForeArm LeftHand LeftUpperLeg LeftLowerLeg LeftFoot LeftToe",
        "L3 T12 T8",
    ),
    _made(
        "Daz Genesis 3 and 8",
        "hip abdomenLower neckLower head lCollar lShldrBend lForearmBend lHand lThighBend lShin lFoot lToe",
        "pelvis lShldrTwist lThighTwist",
    ),
    _made(
        "Daz Genesis 9",
        "hip spine1 neck1 head l_shoulder l_upperarm l_forearm l_hand l_thigh l_shin l_foot l_toes",
        "pelvis",
    ),
    _made("Poser", "hip abdomen neck head lCollar lShldr lForeArm lHand lThigh lShin lFoot -", "chest"),
    _made(
        "VRoid",
        "J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_Neck J_Bip_C_Head J_Bip_L_Shoulder J_Bip_L_UpperArm J_Bip_L_LowerArm "
        "J_Bip_L_Hand J_Bip_L_UpperLeg J_Bip_L_LowerLeg J_Bip_L_Foot J_Bip_L_ToeBase",
    ),
    _made(
        "VRM",
        "hips spine neck head leftShoulder leftUpperArm leftLowerArm leftHand leftUpperLeg leftLowerLeg leftFoot "
        "leftToes",
    ),
    _made(
        "Unity",
        "Hips Spine Neck Head LeftShoulder LeftUpperArm LeftLowerArm LeftHand LeftUpperLeg LeftLowerLeg LeftFoot "
        "LeftToes",
    ),
    _made(
        "Unreal",
        "pelvis spine_01 neck_01 head clavicle_l upperarm_l lowerarm_l hand_l thigh_l calf_l foot_l ball_l",
    ),
    _made(
        "Rigify",
        "spine spine.001 spine.004 spine.006 shoulder.L upper_arm.L forearm.L hand.L thigh.L shin.L foot.L toe.L",
    ),
    _made(
        "SMPL",
        "pelvis spine1 neck head left_collar left_shoulder left_elbow left_wrist left_hip left_knee left_ankle "
        "left_foot",
    ),
    _made("SMPL", "Pelvis Spine1 Neck Head L_Collar L_Shoulder L_Elbow L_Wrist L_Hip L_Knee L_Ankle L_Foot"),
    _made(
        "3ds Max Biped",
        "Pelvis, Spine, Neck, Head, L Clavicle, L UpperArm, L Forearm, L Hand, L Thigh, L Calf, L Foot, L Toe0",
        tell=r"^Bip\d+",
    ),
    _made(
        "MakeHuman",
        "root spine05 neck01 head clavicle.L upperarm01.L lowerarm01.L wrist.L upperleg01.L lowerleg01.L foot.L "
        "toe1-1.L",
        "shoulder01.L",
    ),
    _made(
        "MakeHuman, older", "Hips Spine1 Neck Head Clavicle_L UpArm_L LoArm_L Hand_L UpLeg_L LoLeg_L Foot_L Toe_L"
    ),
    _made(
        "Advanced Skeleton",
        "Root_M Spine1_M Neck_M Head_M Scapula_L Shoulder_L Elbow_L Wrist_L Hip_L Knee_L Ankle_L Toes_L",
    ),
    _made(
        "Kinect",
        "SpineBase SpineMid Neck Head - ShoulderLeft ElbowLeft WristLeft HipLeft KneeLeft AnkleLeft FootLeft",
        "SpineShoulder",
    ),
    _made(
        "Kinect, first",
        "HipCenter Spine ShoulderCenter Head - ShoulderLeft ElbowLeft WristLeft HipLeft KneeLeft AnkleLeft FootLeft",
    ),
    _made(
        "Azure Kinect",
        "PELVIS SPINE_NAVEL NECK HEAD CLAVICLE_LEFT SHOULDER_LEFT ELBOW_LEFT WRIST_LEFT HIP_LEFT KNEE_LEFT ANKLE_LEFT "
        "FOOT_LEFT",
    ),
    _made(
        "Quaternius",
        "Hips Abdomen Neck Head Shoulder.L UpperArm.L LowerArm.L - UpperLeg.L LowerLeg.L Foot.L -",
        "Torso",
    ),
    _made(
        "ARKit",
        "hips_joint spine_1_joint neck_1_joint head_joint left_shoulder_1_joint left_arm_joint left_forearm_joint "
        "left_hand_joint left_upLeg_joint left_leg_joint left_foot_joint left_toes_joint",
    ),
    _made("OptiTrack Motive", "Hip Ab Neck Head LShoulder LUArm LFArm LHand LThigh LShin LFoot LToe"),
    _made("OpenPose", "MidHip - Neck Nose - LShoulder LElbow LWrist LHip LKnee LAnkle LBigToe"),
    _made("MikuMikuDance", "下半身 上半身 首 頭 左肩 左腕 左ひじ 左手首 左足 左ひざ 左足首 -"),
    _made(
        "Unitree robots",
        "pelvis torso_link - - - left_shoulder_pitch_link left_elbow_link - left_hip_pitch_link left_knee_link "
        "left_ankle_pitch_link -",
    ),
    _made(
        "Unitree robots",
        "pelvis waist_yaw_joint - - - left_shoulder_pitch_joint left_elbow_joint - left_hip_pitch_joint "
        "left_knee_joint left_ankle_pitch_joint -",
    ),
    _made(
        "Unitree robots",
        "pelvis torso - - - left_shoulder_pitch left_elbow - left_hip_pitch left_knee left_ankle -",
        "left_hip_yaw left_shoulder_roll",
    ),
)  # fmt: skip
"""The conventions known, those told by more before those that share their names."""
