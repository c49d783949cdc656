"""Splits a body into parts by the names of its bones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from itertools import pairwise

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.correspondence.pairs import descendants
from understudy.correspondence.parts import (
    BodyPlan,
    Limb,
    StandingPose,
    main_path,
    measure_reach,
    path,
    split_limb,
    standing_pose,
)
from understudy.figure.measures import UP, is_humanoid
from understudy.figure.motion import Motion
from understudy.figure.roles import (
    MAX_AXES,
    compound_joints,
    is_helper,
    label,
    leaf_helpers,
    limb_row,
    meet,
    roles,
    side,
    stem,
    words,
)
from understudy.figure.skeleton import JointKind, Skeleton

CONVENTION_PARTS = (
    "hips", "spine", "neck", "head", "left_shoulder", "left_upper_arm", "left_lower_arm", "left_hand",
    "left_upper_leg", "left_lower_leg", "left_foot", "left_toe",
)  # fmt: skip
"""The bones that identify a convention, in the order of its names; `spine` is the first spine bone."""

UNKNOWN = "own names"
"""Convention of a skeleton whose names follow none of CONVENTIONS."""

MIN_NAME_SHARE = 0.75
"""Share of a convention's names that a skeleton must have to follow it."""

_PREFIX = re.compile(r"^(?:.*[:|])?(?:(?:DEF|ORG)-|(?:Bip\d+|Character\d*|Robot|mixamorig\d*)[ _])?")


@record(eq=True)
class Convention:
    """The bone names of one program or data set."""

    name: str
    bones: tuple[str, ...]
    """Its names for CONVENTION_PARTS; empty where it has no such bone."""
    also: tuple[str, ...] = ()
    """Further names that distinguish it from other conventions."""
    tell: str = ""
    """A pattern that some full name must match, if other conventions share the names."""

    def fits(self, plain: set[str], names: tuple[str, ...]) -> float:
        """Share of its names that a skeleton has, plus a little for more names; 0 if the pattern does not match."""
        expected = {_plain_name(bone) for bone in (*self.bones, *self.also) if bone}
        if self.tell and not any(re.search(self.tell, name) for name in names):
            return 0.0
        return len(expected & plain) / len(expected) + 0.001 * len(expected) + (0.1 if self.tell else 0.0)


@lru_cache(maxsize=64)
def convention(skeleton: Skeleton) -> str:
    """The convention that a skeleton's names follow: "Mixamo", "Unreal", ...; "own names" for none of them."""
    plain = {_plain_name(name) for name in skeleton.names}
    scores = [(candidate.fits(plain, skeleton.names), -i) for i, candidate in enumerate(CONVENTIONS)]
    score, index = max(scores)
    return CONVENTIONS[-index].name if score >= MIN_NAME_SHARE else UNKNOWN


def _plain_name(name: str) -> str:
    """A name without namespace and character prefix, with `_` between words."""
    return re.sub(r"[ .\-]", "_", _PREFIX.sub("", name))


def _make(name: str, bones: str, also: str = "", tell: str = "") -> Convention:
    """Make a convention from names in the order of CONVENTION_PARTS, `-` for none; commas if names have blanks."""
    names = [part.strip() for part in bones.split(",")] if "," in bones else bones.split()
    if len(names) != len(CONVENTION_PARTS):
        raise ValueError(f"{name}: expected {len(CONVENTION_PARTS)} names, got {len(names)}")
    return Convention(name=name, bones=tuple("" if b == "-" else b for b in names), also=tuple(also.split()), tell=tell)


_HUMAN_IK = "LeftShoulder LeftArm LeftForeArm LeftHand LeftUpLeg LeftLeg LeftFoot"

_COLLAR = "LeftCollar LeftShoulder LeftElbow LeftWrist LeftHip LeftKnee LeftAnkle"

CONVENTIONS = (
    _make("Mixamo", f"Hips Spine Neck Head {_HUMAN_IK} LeftToeBase", tell=r"mixamorig\d*[:_]"),
    _make("CMU", f"Hips LowerBack Neck Head {_HUMAN_IK} LeftToeBase", "LHipJoint Neck1 LThumb", r"^LHipJoint$"),
    _make("CMU for 3ds Max", f"Hips lowerback lowerneck Head {_COLLAR} LeftToe", "LHipJoint Chest2", r"^LHipJoint$"),
    _make(
        "CMU Acclaim",
        "root lowerback lowerneck head lclavicle lhumerus lradius lwrist lfemur ltibia lfoot ltoes",
        "upperback thorax upperneck",
    ),
    _make("Perception Neuron or Rokoko", f"Hips Spine Neck Head {_HUMAN_IK} -", "LeftInHandIndex", "InHand"),
    _make("LaFAN1", f"Hips Spine Neck Head {_HUMAN_IK} LeftToe", "Spine1 Spine2"),
    _make(
        "Rokoko",
        "Hips Spine1 Neck Head LeftShoulder LeftArm LeftForeArm LeftHand LeftThigh LeftShin LeftFoot LeftToe",
        "Spine2",
    ),
    _make("MotionBuilder", f"Hips Spine Neck Head {_HUMAN_IK} LeftToeBase"),
    _make("MotionBuilder", f"Hips Spine Neck Head {_HUMAN_IK} -", "Spine1"),
    _make("Xsens BVH", f"Hips Chest Neck Head {_COLLAR} LeftToe", "Chest2 Chest3 Chest4"),
    _make("Biovision", f"Hips Chest Neck Head {_COLLAR} -"),
    _make(
        "Biovision",
        "Hips Chest Neck Head LeftCollar LeftUpArm LeftLowArm LeftHand LeftUpLeg LeftLowLeg LeftFoot -",
    ),
    _make(
        "Xsens MVN",
        "Pelvis L5 Neck Head LeftShoulder LeftUpperArm LeftForeArm LeftHand LeftUpperLeg LeftLowerLeg LeftFoot LeftToe",
        "L3 T12 T8",
    ),
    _make(
        "Daz Genesis 3 and 8",
        "hip abdomenLower neckLower head lCollar lShldrBend lForearmBend lHand lThighBend lShin lFoot lToe",
        "pelvis lShldrTwist lThighTwist",
    ),
    _make(
        "Daz Genesis 9",
        "hip spine1 neck1 head l_shoulder l_upperarm l_forearm l_hand l_thigh l_shin l_foot l_toes",
        "pelvis",
    ),
    _make("Poser", "hip abdomen neck head lCollar lShldr lForeArm lHand lThigh lShin lFoot -", "chest"),
    _make(
        "VRoid",
        "J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_Neck J_Bip_C_Head J_Bip_L_Shoulder J_Bip_L_UpperArm J_Bip_L_LowerArm "
        "J_Bip_L_Hand J_Bip_L_UpperLeg J_Bip_L_LowerLeg J_Bip_L_Foot J_Bip_L_ToeBase",
    ),
    _make(
        "VRM",
        "hips spine neck head leftShoulder leftUpperArm leftLowerArm leftHand leftUpperLeg leftLowerLeg leftFoot "
        "leftToes",
    ),
    _make(
        "Unity",
        "Hips Spine Neck Head LeftShoulder LeftUpperArm LeftLowerArm LeftHand LeftUpperLeg LeftLowerLeg LeftFoot "
        "LeftToes",
    ),
    _make(
        "Unreal",
        "pelvis spine_01 neck_01 head clavicle_l upperarm_l lowerarm_l hand_l thigh_l calf_l foot_l ball_l",
    ),
    _make(
        "Rigify",
        "spine spine.001 spine.004 spine.006 shoulder.L upper_arm.L forearm.L hand.L thigh.L shin.L foot.L toe.L",
    ),
    _make(
        "SMPL",
        "pelvis spine1 neck head left_collar left_shoulder left_elbow left_wrist left_hip left_knee left_ankle "
        "left_foot",
    ),
    _make("SMPL", "Pelvis Spine1 Neck Head L_Collar L_Shoulder L_Elbow L_Wrist L_Hip L_Knee L_Ankle L_Foot"),
    _make(
        "3ds Max Biped",
        "Pelvis, Spine, Neck, Head, L Clavicle, L UpperArm, L Forearm, L Hand, L Thigh, L Calf, L Foot, L Toe0",
        tell=r"^Bip\d+",
    ),
    _make(
        "MakeHuman",
        "root spine05 neck01 head clavicle.L upperarm01.L lowerarm01.L wrist.L upperleg01.L lowerleg01.L foot.L "
        "toe1-1.L",
        "shoulder01.L",
    ),
    _make(
        "MakeHuman, older", "Hips Spine1 Neck Head Clavicle_L UpArm_L LoArm_L Hand_L UpLeg_L LoLeg_L Foot_L Toe_L"
    ),
    _make(
        "Advanced Skeleton",
        "Root_M Spine1_M Neck_M Head_M Scapula_L Shoulder_L Elbow_L Wrist_L Hip_L Knee_L Ankle_L Toes_L",
    ),
    _make(
        "Kinect",
        "SpineBase SpineMid Neck Head - ShoulderLeft ElbowLeft WristLeft HipLeft KneeLeft AnkleLeft FootLeft",
        "SpineShoulder",
    ),
    _make(
        "Kinect, first",
        "HipCenter Spine ShoulderCenter Head - ShoulderLeft ElbowLeft WristLeft HipLeft KneeLeft AnkleLeft FootLeft",
    ),
    _make(
        "Azure Kinect",
        "PELVIS SPINE_NAVEL NECK HEAD CLAVICLE_LEFT SHOULDER_LEFT ELBOW_LEFT WRIST_LEFT HIP_LEFT KNEE_LEFT ANKLE_LEFT "
        "FOOT_LEFT",
    ),
    _make(
        "Quaternius",
        "Hips Abdomen Neck Head Shoulder.L UpperArm.L LowerArm.L - UpperLeg.L LowerLeg.L Foot.L -",
        "Torso",
    ),
    _make(
        "ARKit",
        "hips_joint spine_1_joint neck_1_joint head_joint left_shoulder_1_joint left_arm_joint left_forearm_joint "
        "left_hand_joint left_upLeg_joint left_leg_joint left_foot_joint left_toes_joint",
    ),
    _make("OptiTrack Motive", "Hip Ab Neck Head LShoulder LUArm LFArm LHand LThigh LShin LFoot LToe"),
    _make("OpenPose", "MidHip - Neck Nose - LShoulder LElbow LWrist LHip LKnee LAnkle LBigToe"),
    _make("MikuMikuDance", "下半身 上半身 首 頭 左肩 左腕 左ひじ 左手首 左足 左ひざ 左足首 -"),
    _make(
        "Unitree robots",
        "pelvis torso_link - - - left_shoulder_pitch_link left_elbow_link - left_hip_pitch_link left_knee_link "
        "left_ankle_pitch_link -",
    ),
    _make(
        "Unitree robots",
        "pelvis waist_yaw_joint - - - left_shoulder_pitch_joint left_elbow_joint - left_hip_pitch_joint "
        "left_knee_joint left_ankle_pitch_joint -",
    ),
    _make(
        "Unitree robots",
        "pelvis torso - - - left_shoulder_pitch left_elbow - left_hip_pitch left_knee left_ankle -",
        "left_hip_yaw left_shoulder_roll",
    ),
)  # fmt: skip
"""All conventions; the more specific come before those that share their names."""

FINGERS = ("thumb", "index", "middle", "ring", "pinky")

FINGER_BY_WORD = {
    "thumb": "thumb", "pollex": "thumb", "index": "index", "pointer": "index", "middle": "middle", "mid": "middle",
    "ring": "ring", "pinky": "pinky", "pinkie": "pinky", "little": "pinky", "first": "thumb", "second": "index",
    "third": "middle", "fourth": "ring", "fifth": "pinky",
}  # fmt: skip
"""Words that name a finger."""

PALM_WORDS = {"metacarpal", "carpal", "palm", "in", "inhand", "cup", "mc"}
"""Words for bones between wrist and knuckles."""

MAX_FINGER_JOINTS = 3
"""Joints of a finger; further ones are its tip."""


def find_digits(skeleton: Skeleton, hand: int) -> dict[str, tuple[int, ...]]:
    """Find the fingers below a hand by name; a bone of the palm is `index metacarpal`."""
    below = [j for j in range(hand + 1, skeleton.num_joints) if descendants(skeleton)[hand, j]]
    words_by_joint = {j: words(skeleton.names[j]) for j in below if not is_helper(skeleton.names[j])}
    first = _thumb_number(words_by_joint.values())
    fingers: dict[str, list[int]] = {}
    for joint, name_words in words_by_joint.items():
        finger = _finger_name(name_words, first)
        if not finger:
            continue
        inside = bool(set(name_words) & PALM_WORDS) and not (finger == "thumb" and "metacarpal" in name_words)
        row = fingers.setdefault(f"{finger} metacarpal" if inside else finger, [])
        if not row or descendants(skeleton)[row[-1], joint]:
            row.append(joint)
    if set(fingers) == {"mitten"}:
        return {"mitten": tuple(fingers["mitten"][:MAX_FINGER_JOINTS])}
    return {name: tuple(row[:MAX_FINGER_JOINTS]) for name, row in fingers.items() if name != "mitten"} | (
        {"mitten": tuple(fingers["mitten"][:1])} if "mitten" in fingers and "index" not in fingers else {}
    )


def _thumb_number(names: Iterable[tuple[str, ...]]) -> int:
    """The number of the thumb where fingers are numbered: 0 as in `Finger0`, else 1."""
    numbers = {number for name_words in names if (number := _finger_number(name_words)) is not None}
    return 0 if 0 in numbers else 1


def _finger_number(name_words: tuple[str, ...]) -> int | None:
    for word, following in pairwise(name_words):
        # `Finger01` is the second joint of finger 0: the first digit is the finger.
        if word in ("finger", "digit") and following.isdigit():
            return int(following[0])
    return None


def _finger_name(name_words: tuple[str, ...], first: int) -> str:
    """The finger that a name means; "mitten" for all of them in one, "" for none."""
    if "toe" in name_words or "foot" in name_words:
        return ""
    for word in name_words:
        if word in FINGER_BY_WORD and (word in FINGERS or word in ("mid", "little", "pinkie", "pointer", "pollex")):
            return FINGER_BY_WORD[word]
    number = _finger_number(name_words)
    if number is not None:
        return FINGERS[number - first] if 0 <= number - first < len(FINGERS) else ""
    for word in name_words:
        if word in FINGER_BY_WORD:
            return FINGER_BY_WORD[word]
    return "mitten" if {"finger", "fingers"} & set(name_words) else ""


MOTOR_KINDS = (JointKind.HINGE, JointKind.UNIVERSAL)

REQUIRED_PARTS = tuple(
    f"{s}_{p}" for s in ("left", "right") for p in ("upper_leg", "lower_leg", "upper_arm", "lower_arm")
)
"""The parts that names must identify to split a body by names alone."""

MIN_UPRIGHT_COSINE = 0.8
"""Cosine between the trunk of an upright body and the vertical."""

JAW_WORDS = {"jaw", "chin", "mandible"}


def plan_by_names(skeleton: Skeleton, pose: StandingPose) -> BodyPlan | None:
    """Find the parts of a body whose names or file identify arms and legs; None if they do not."""
    joints = roles(skeleton)
    if (skeleton.role_joints and not skeleton.roles_given) or any(part not in joints for part in REQUIRED_PARTS):
        return None
    ends = [joints[part] for part in REQUIRED_PARTS] + [joints[part] for part in ("neck", "head") if part in joints]
    root = _find_root(skeleton, joints, ends)
    if root in ends:
        return None
    trunk = trunk_by_names(skeleton, root, joints)
    human = is_humanoid(skeleton)
    four_legged = not human and ("tail" in trunk or _is_level(pose.positions, root, trunk))
    four_legged = four_legged and not _stands_on_two_legs(pose, joints, root, trunk)
    pairs = []
    for kind in ("leg", "arm"):
        left, right = (_make_limb(skeleton, joints, which, kind, pose, four_legged) for which in ("left", "right"))
        pairs.append((left, right))
    return BodyPlan(
        skeleton=skeleton, pose=pose, kind="quadruped" if four_legged else "biped", root=root, trunk=trunk,
        limbs=tuple(pairs), named=True, named_trunk=frozenset(trunk),
    )  # fmt: skip


@lru_cache(maxsize=32)
def names_tell_parts(skeleton: Skeleton, motion: Motion | None = None) -> bool:
    """Whether the names of a body identify its arms and legs; a motion shows how it stands."""
    return plan_by_names(skeleton, standing_pose(skeleton, motion)) is not None


def _find_root(skeleton: Skeleton, joints: dict[str, int], ends: Iterable[int]) -> int:
    """The hips, or the joint that carries legs and spine if the hips carry only the legs."""
    together = reduce(lambda a, b: meet(skeleton, a, b), ends)
    hips = joints.get("hips", together)
    return hips if descendants(skeleton)[hips, together] else together


def trunk_by_names(skeleton: Skeleton, root: int, joints: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Find spine, neck, head, jaw and tail as far as names identify them."""
    trunk: dict[str, tuple[int, ...]] = {}
    chest, head, neck = joints.get("chest", root), joints.get("head"), joints.get("neck")
    # `RootPart1` on `Root` is a part of the hips.
    same = [j for j in skeleton.children[root] if stem(skeleton.names[j]) == stem(skeleton.names[root])]
    of_hips = {j for j in same if "part" in words(skeleton.names[j])}
    if descendants(skeleton)[root, chest] and chest != root:
        trunk["spine"] = tuple(j for j in path(skeleton, root, chest)[1:] if j not in of_hips)
    top = head if head is not None else neck
    if top is not None and descendants(skeleton)[root, top] and top != root:
        above = [j for j in path(skeleton, root, top)[1:] if j not in of_hips and j not in trunk.get("spine", ())]
        if head is None:
            trunk["neck"] = tuple(above)
        elif above:
            # If no arms mark the end of the chest, the name of the neck does.
            arms = [joints[f"{s}_upper_arm"] for s in ("left", "right") if f"{s}_upper_arm" in joints]
            has_chest = "spine" in trunk or (len(arms) == 2 and meet(skeleton, *arms) == root)
            start = above.index(neck) if neck in above else 0 if has_chest else len(above) - 1
            if not has_chest and above[:start]:
                trunk["spine"] = tuple(above[:start])
            trunk |= split_neck(skeleton, above[0 if has_chest else start :], head)
    for part, part_words in (("jaw", JAW_WORDS), ("tail", {"tail"})):
        row = named_row(skeleton, root, part_words)
        if row:
            trunk[part] = row
    return trunk


def named_row(skeleton: Skeleton, root: int, part_words: set[str]) -> tuple[int, ...]:
    """Find the chain of middle bones whose names have one of some words."""
    below = descendants(skeleton)[root]
    row: list[int] = []
    for joint, name in enumerate(skeleton.names):
        is_bone = joint not in leaf_helpers(skeleton) and bool(skeleton.children[joint] or not is_helper(name))
        fits = below[joint] and joint != root and not side(name) and is_bone and part_words & set(words(name))
        if fits and (not row or skeleton.parents[joint] == row[-1]):
            row.append(joint)
    return tuple(row)


def _make_limb(
    skeleton: Skeleton, joints: dict[str, int], which: str, kind: str, pose: StandingPose, four_legged: bool
) -> Limb:
    upper, lower = joints[f"{which}_upper_{kind}"], joints[f"{which}_lower_{kind}"]
    end = joints.get(f"{which}_{'hand' if kind == 'arm' else 'foot'}")
    named = {"upper": upper, "lower": lower} | ({} if end is None else {"end": end})
    deepest = lower if end is None else end
    motors = any(skeleton.kinds[j] in MOTOR_KINDS for j in path(skeleton, upper, deepest))
    row = limb_row(skeleton, upper, deepest) if motors else path(skeleton, upper, deepest)
    palms = _find_palms(skeleton, lower) if end is None and kind == "arm" else ()
    # Bones beyond the named ones: the paws of an animal; nothing relevant on a human.
    beyond = four_legged or (end is None and not motors)
    row += main_path(skeleton, row[-1], measure_reach(skeleton), least=1)[1:] if beyond else []
    stands = kind == "leg" or four_legged
    if four_legged and sum(label(skeleton.names[j]) == "foot" for j in row) > 1:
        # With a paw and a foot above it, the shape shows which of them is on the ground.
        named.pop("end")
    parts = split_limb(skeleton, row, pose, named, stands=stands, heights=pose.heights)
    if palms:
        parts["end"] = palms
    if kind == "leg" and "end" in named:
        parts |= _find_toes(skeleton, named["end"], joints.get(f"{which}_toe"))
    elif not four_legged:
        parts.pop("tip", None)
    parts.pop("girdle", None)
    girdle = tuple(j for j in _find_girdle(skeleton, which, kind, upper) if j not in parts["upper"])
    if girdle:
        parts["girdle"] = girdle
    fingers = {} if stands else find_digits(skeleton, lower if palms else parts.get("end", (lower,))[0])
    return Limb(
        side=which,
        kind="leg" if four_legged else kind,
        parts=parts,
        digits=fingers,
        stands=stands,
        named=end is not None or not four_legged,
    )


def _find_palms(skeleton: Skeleton, lower: int) -> tuple[int, ...]:
    """Find the palm bones that hang side by side from a forearm without a hand bone."""
    palms = [j for j in skeleton.children[lower] if label(skeleton.names[j]) == "palm"]
    return tuple(sorted(palms, key=lambda j: words(skeleton.names[j])))


def split_neck(skeleton: Skeleton, row: Sequence[int], head: int) -> dict[str, tuple[int, ...]]:
    """Split the bones above the chest into neck and head; motors that form one joint with the head belong to it.

    Args:
        skeleton: The body.
        row: The joints from above the chest to the head.
        head: The joint of the row that the head begins with, or one of its motors.
    """
    row = list(row)
    while skeleton.kinds[row[-1]] in MOTOR_KINDS and len(skeleton.children[row[-1]]) == 1:
        child = skeleton.children[row[-1]][0]
        if JAW_WORDS & set(words(skeleton.names[child])):
            break
        row.append(child)
    if all(skeleton.kinds[joint] in MOTOR_KINDS for joint in row) and len(row) <= MAX_AXES:
        # A neck of few motors is one joint, however far apart they are.
        return {"head": tuple(row)}
    compounds = compound_joints(skeleton, row)
    # A head that cannot move belongs to the last joint that can.
    number = next((i for i, compound in enumerate(compounds) if head in compound.joints), len(compounds) - 1)
    neck = tuple(j for compound in compounds[:number] for j in compound.joints)
    return ({"neck": neck} if neck else {}) | {"head": compounds[number].joints}


def _find_girdle(skeleton: Skeleton, which: str, kind: str, upper: int) -> tuple[int, ...]:
    """Find the bones between trunk and limb: collar bones or separate hip joints."""
    above: list[int] = []
    joint = int(skeleton.parents[upper])
    while joint > 0 and side(skeleton.names[joint]) == which:
        above.insert(0, joint)
        joint = int(skeleton.parents[joint])
    if kind == "leg":
        return tuple(above)
    collars = [j for j in above if label(skeleton.names[j]) in ("shoulder", "collar_or_arm")]
    return tuple(collars or [j for j in above if not is_helper(skeleton.names[j])])


def _find_toes(skeleton: Skeleton, foot: int, toe: int | None) -> dict[str, tuple[int, ...]]:
    """Find the first joints of the toes: one for all of them, or several side by side."""
    if toe is None:
        return {}
    toes = [j for j in np.flatnonzero(descendants(skeleton)[foot]).tolist() if label(skeleton.names[j]) == "toe"]
    tops = [j for j in toes if not any(descendants(skeleton)[k, j] and k != j for k in toes)]
    return {"tip": tuple(tops) if toe in tops else (toe,)}


def _stands_on_two_legs(
    pose: StandingPose, joints: dict[str, int], root: int, trunk: dict[str, tuple[int, ...]]
) -> bool:
    """Whether a body, with or without a tail, stands upright on its feet with its forearms far above the ground."""
    top = trunk.get("neck", trunk.get("head", trunk.get("spine", (root,))))[0]
    along = pose.positions[top] - pose.positions[root]
    feet = [joints.get(f"{which}_foot", joints[f"{which}_lower_leg"]) for which in ("left", "right")]
    arms = [joints[f"{which}_lower_arm"] for which in ("left", "right")]
    upright = float(along @ UP) > MIN_UPRIGHT_COSINE * float(np.linalg.norm(along))
    raised = pose.heights[arms].min() > pose.heights[feet].max() + 0.3 * pose.heights[root]
    return bool(upright and raised and pose.heights[feet].max() < 0.3 * pose.heights[root])


def _is_level(positions: Array, root: int, trunk: dict[str, tuple[int, ...]]) -> bool:
    top = trunk.get("neck", trunk.get("head", trunk.get("spine", (root,))))[0]
    along = positions[top] - positions[root]
    return abs(float(along @ UP)) < 0.6 * float(np.linalg.norm(along))
