"""A body taken apart by the names of its bones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise

import numpy as np

from understudy.base.quaternion import Array
from understudy.correspondence.pairs import hanging
from understudy.correspondence.parts import BodyPlan, Limb, grouped, is_helper, main_path, path, reaches
from understudy.correspondence.sides import MirrorPose
from understudy.figure.measures import UP, is_humanoid
from understudy.figure.naming import side, words
from understudy.figure.roles import label, meet, roles
from understudy.figure.skeleton import JointKind, Skeleton

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

FINGERS = ("thumb", "index", "middle", "ring", "pinky")

SPOKEN = {
    "thumb": "thumb", "pollex": "thumb", "index": "index", "pointer": "index", "middle": "middle", "mid": "middle",
    "ring": "ring", "pinky": "pinky", "pinkie": "pinky", "little": "pinky", "first": "thumb", "second": "index",
    "third": "middle", "fourth": "ring", "fifth": "pinky",
}  # fmt: skip
"""Words that name a finger."""

IN_HAND = {"metacarpal", "carpal", "palm", "in", "inhand", "cup", "mc"}
"""Words of the bones between wrist and knuckles."""

JOINTS = 3
"""Joints of a finger; more are its tip."""


def digits(skeleton: Skeleton, hand: int) -> dict[str, tuple[int, ...]]:
    """The fingers below a hand by their names; a bone in the palm is `index metacarpal`."""
    below = [j for j in range(hand + 1, skeleton.num_joints) if hanging(skeleton)[hand, j]]
    spoken = {j: words(skeleton.names[j]) for j in below if not is_helper(skeleton.names[j])}
    first = _first_number(spoken.values())
    found: dict[str, list[int]] = {}
    for joint, said in spoken.items():
        finger = _finger(said, first)
        if not finger:
            continue
        inside = bool(set(said) & IN_HAND) and not (finger == "thumb" and "metacarpal" in said)
        row = found.setdefault(f"{finger} metacarpal" if inside else finger, [])
        if not row or hanging(skeleton)[row[-1], joint]:
            row.append(joint)
    if set(found) == {"mitten"}:
        return {"mitten": tuple(found["mitten"][:JOINTS])}
    return {name: tuple(row[:JOINTS]) for name, row in found.items() if name != "mitten"} | (
        {"mitten": tuple(found["mitten"][:1])} if "mitten" in found and "index" not in found else {}
    )


def _first_number(names: Iterable[tuple[str, ...]]) -> int:
    """The thumb's number where fingers are numbered: 0 as in `Finger0`, else 1."""
    numbers = {number for said in names if (number := _number(said)) is not None}
    return 0 if 0 in numbers else 1


def _number(said: tuple[str, ...]) -> int | None:
    for word, following in pairwise(said):
        # `Finger01` is the second joint of finger 0: the first figure counts.
        if word in ("finger", "digit") and following.isdigit():
            return int(following[0])
    return None


def _finger(said: tuple[str, ...], first: int) -> str:
    """Which finger a name means; "mitten" for all of them in one, "" for none."""
    if "toe" in said or "foot" in said:
        return ""
    for word in said:
        if word in SPOKEN and (word in FINGERS or word in ("mid", "little", "pinkie", "pointer", "pollex")):
            return SPOKEN[word]
    number = _number(said)
    if number is not None:
        return FINGERS[number - first] if 0 <= number - first < len(FINGERS) else ""
    for word in said:
        if word in SPOKEN:
            return SPOKEN[word]
    return "mitten" if {"finger", "fingers"} & set(said) else ""


NEEDED = tuple(f"{s}_{p}" for s in ("left", "right") for p in ("upper_leg", "lower_leg", "upper_arm", "lower_arm"))
"""The parts that names must tell for a body to be taken apart by them alone."""

JAWS = {"jaw", "chin", "mandible"}


def by_names(skeleton: Skeleton, how: MirrorPose) -> BodyPlan | None:
    """The body's parts where names tell arms and legs; None where they do not.

    Args:
        skeleton: The body.
        how: How it stands.
    """
    found = roles(skeleton)
    if any(part not in found for part in NEEDED):
        return None
    ends = [found[part] for part in NEEDED] + [found[part] for part in ("neck", "head") if part in found]
    root = _root(skeleton, found, ends)
    if root in ends:
        return None
    trunk = trunk_by_names(skeleton, root, found)
    human = is_humanoid(skeleton)
    four = not human and ("tail" in trunk or _is_level(how.places, root, trunk))
    pairs = []
    for kind in ("leg", "arm"):
        left, right = (_limb(skeleton, found, which, kind, how, four) for which in ("left", "right"))
        pairs.append((left, right))
    return BodyPlan(
        skeleton=skeleton, kind="quadruped" if four else "biped", root=root, trunk=trunk, limbs=tuple(pairs),
        named=True, named_trunk=frozenset(trunk),
    )  # fmt: skip


def _root(skeleton: Skeleton, found: dict[str, int], ends: Iterable[int]) -> int:
    """The hips, or what carries legs and spine where the hips carry the legs alone."""
    together = reduce(lambda a, b: meet(skeleton, a, b), ends)
    hips = found.get("hips", together)
    return hips if hanging(skeleton)[hips, together] else together


def trunk_by_names(skeleton: Skeleton, root: int, found: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Spine, neck, head, jaw and tail as far as names tell them."""
    trunk: dict[str, tuple[int, ...]] = {}
    chest, head, neck = found.get("chest", root), found.get("head"), found.get("neck")
    if hanging(skeleton)[root, chest] and chest != root:
        trunk["spine"] = tuple(path(skeleton, root, chest)[1:])
    top = head if head is not None else neck
    if top is not None and hanging(skeleton)[root, top] and top != root:
        above = [j for j in path(skeleton, root, top)[1:] if j not in trunk.get("spine", ())]
        if head is None:
            trunk["neck"] = tuple(above)
        else:
            # Where arms do not tell where the chest ends, the neck's name does.
            start = above.index(neck) if neck in above else 0 if "spine" in trunk else len(above) - 1
            if "spine" not in trunk and above[:start]:
                trunk["spine"] = tuple(above[:start])
            trunk |= {"neck": tuple(above[start:-1])} if above[start:-1] else {}
            trunk["head"] = (head, *_more_hinges(skeleton, head))
    for part, said in (("jaw", JAWS), ("tail", {"tail"})):
        row = named_row(skeleton, root, said)
        if row:
            trunk[part] = row
    return trunk


def named_row(skeleton: Skeleton, root: int, said: set[str]) -> tuple[int, ...]:
    """The middle bones of a name that follow each other."""
    below = hanging(skeleton)[root]
    row: list[int] = []
    for joint, name in enumerate(skeleton.names):
        fits = below[joint] and joint != root and not side(name) and not is_helper(name) and said & set(words(name))
        if fits and (not row or skeleton.parents[joint] == row[-1]):
            row.append(joint)
    return tuple(row)


def _limb(skeleton: Skeleton, found: dict[str, int], which: str, kind: str, how: MirrorPose, four: bool) -> Limb:
    upper, lower = found[f"{which}_upper_{kind}"], found[f"{which}_lower_{kind}"]
    end = found.get(f"{which}_{'hand' if kind == 'arm' else 'foot'}")
    known = {"upper": upper, "lower": lower} | ({} if end is None else {"end": end})
    row = path(skeleton, upper, lower if end is None else end)
    palms = _palms(skeleton, lower) if end is None and kind == "arm" else ()
    # Bones beyond those that names tell: the paws of an animal, or nothing that matters on a human.
    row += main_path(skeleton, row[-1], reaches(skeleton), least=1)[1:] if four or end is None else []
    stands = kind == "leg" or four
    if four and sum(label(skeleton.names[joint]) == "foot" for joint in row) > 1:
        # A paw and what is called a foot above it: which of them stands on the ground is seen, not told.
        known.pop("end")
    parts = grouped(row, how.places, how.heights, known, stands=stands)
    if palms:
        parts["end"] = palms
    if kind == "leg" and "end" in known:
        parts |= _toes(skeleton, known["end"], found.get(f"{which}_toe"))
    elif not four:
        parts.pop("tip", None)
    if end is not None and "end" in parts:
        parts["end"] = (*parts["end"], *_more_hinges(skeleton, parts["end"][-1]))
    girdle = _girdle(skeleton, which, kind, upper)
    if girdle:
        parts["girdle"] = girdle
    fingers = {} if stands else digits(skeleton, lower if palms else parts.get("end", (lower,))[0])
    return Limb(
        side=which,
        kind="leg" if four else kind,
        parts=parts,
        digits=fingers,
        stands=stands,
        named=end is not None or not four,
    )


def _palms(skeleton: Skeleton, lower: int) -> tuple[int, ...]:
    """Bones of the palm that hang side by side from a forearm without a hand of its own."""
    found = [j for j in skeleton.children[lower] if label(skeleton.names[j]) == "palm"]
    return tuple(sorted(found, key=lambda j: words(skeleton.names[j])))


def _more_hinges(skeleton: Skeleton, joint: int) -> list[int]:
    """The hinges that follow one as the same part of the body: those of a robot's ankle, wrist or head."""
    row, part = [joint], label(skeleton.names[joint])
    while skeleton.kinds[row[-1]] is JointKind.HINGE:
        below = [
            j for j in skeleton.children[row[-1]]
            if label(skeleton.names[j]) == part and skeleton.kinds[j] is JointKind.HINGE
        ]  # fmt: skip
        if len(below) != 1:
            break
        row.append(below[0])
    return row[1:]


def _girdle(skeleton: Skeleton, which: str, kind: str, upper: int) -> tuple[int, ...]:
    """The bones between trunk and limb: collar bones, or hip joints of their own."""
    above: list[int] = []
    joint = int(skeleton.parents[upper])
    while joint > 0 and side(skeleton.names[joint]) == which:
        above.insert(0, joint)
        joint = int(skeleton.parents[joint])
    if kind == "leg":
        return tuple(above)
    said = [j for j in above if label(skeleton.names[j]) in ("shoulder", "collar_or_arm")]
    return tuple(said or [j for j in above if not is_helper(skeleton.names[j])])


def _toes(skeleton: Skeleton, foot: int, toe: int | None) -> dict[str, tuple[int, ...]]:
    """The first joints of the toes: one that stands for all, or several side by side."""
    if toe is None:
        return {}
    said = [j for j in np.flatnonzero(hanging(skeleton)[foot]).tolist() if label(skeleton.names[j]) == "toe"]
    tops = [j for j in said if not any(hanging(skeleton)[k, j] and k != j for k in said)]
    return {"tip": tuple(tops) if toe in tops else (toe,)}


def _is_level(places: Array, root: int, trunk: dict[str, tuple[int, ...]]) -> bool:
    top = trunk.get("neck", trunk.get("head", trunk.get("spine", (root,))))[0]
    along = places[top] - places[root]
    return abs(float(along @ UP)) < 0.6 * float(np.linalg.norm(along))
