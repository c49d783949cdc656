"""Roles: which joint is which part of the body, from names and the tree; and which joints together form one.

**Helper bones** are joints that are no bones of the body, by their names: twist bones, controls, ends of other bones.

**Compound joints** are hinges and universal joints that together form one joint of the body. Robots build a hip,
shoulder, ankle or wrist of several motors in a row, a little apart and in any order. Their axes and positions show
which of them belong together, whatever their names: a hinge about the length of its limb twists the bone that it is in,
wherever along the bone it sits; hinges close together about different axes are one joint; a hinge parallel to the one
before it, or far from it, is the next joint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np

from understudy.base.quaternion import rotate
from understudy.base.records import record
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

SIDES = {
    "left": "left", "right": "right", "l": "left", "r": "right", "lft": "left", "rgt": "right",
    "lt": "left", "rt": "right",
    "lf": "left", "rf": "right", "lb": "left", "rb": "right", "lm": "left", "rm": "right",
    "lmf": "left", "rmf": "right", "lmb": "left", "rmb": "right", "lh": "left", "rh": "right",
    "fl": "left", "fr": "right", "rl": "left", "rr": "right", "hl": "left", "hr": "right",
}  # fmt: skip
"""Words that name a side; those of two or three letters also name front, middle, back or hind."""

MIRRORED = {
    "left": "right", "l": "r", "lft": "rgt", "lt": "rt",
    "lf": "rf", "lb": "rb", "lm": "rm", "lmf": "rmf", "lmb": "rmb", "lh": "rh",
    "fl": "fr", "rl": "rr", "hl": "hr",
}  # fmt: skip

MIRRORED |= {right: left for left, right in MIRRORED.items()}

GLUED = (
    "hipjoint|femur|tibia|foot|toes?|toebase|clavicle|humerus|radius|ulna|wrist|hand|fingers?|thumb|collar|shoulder|shldr"
    "|elbow|forearm|upperarm|lowerarm|arm|thigh|shin|calf|knee|ankle|leg|hip|buttock|eye|wing|index|mid|middle|ring|pinky"
)
"""Words that follow the letter of a side without a separator, as in `lfemur`."""

JAPANESE = {
    "左": "left", "右": "right", "上半身": "spine", "下半身": "pelvis", "頭": "head", "足首": "ankle", "手首": "wrist",
    "首": "neck", "肩": "collar", "腕": "upperarm", "ひじ": "elbow", "足": "thigh", "ひざ": "knee", "つま先": "toe",
    "親指": "thumb", "人指": "index", "中指": "middle", "薬指": "ring", "小指": "pinky", "捩": "twist", "捩れ": "twist",
    "センター": "center", "グルーブ": "groove", "全ての親": "root", "腰": "waist", "目": "eye", "ｉｋ": "ik",
    "先": "end", "補助": "helper", "キャンセル": "helper", "ダミー": "helper",
}  # fmt: skip
"""Words of MikuMikuDance rigs, whose names have no separators."""

_GLUED = re.compile(rf"^([lr])((?:{GLUED})[0-9]*)$")

_CAPITALS = re.compile(rf"^([lr])({GLUED}|u|lo|up)$")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")

_JAPANESE = re.compile("|".join(sorted(JAPANESE, key=len, reverse=True)))

_MACHINE = re.compile(r"(?i)(?<=\w)_(?:joint|link)$")

_AXIS = re.compile(rf"(?i)^([lr]?(?:{GLUED}|lowerback|upperback|thorax|lowerneck|upperneck|head))(r[xyz])$")

_VERTEBRA = re.compile(r"^j?(?:[LTCS]\d{1,2})+(?:Head)?$")


@cache
def words(name: str) -> tuple[str, ...]:
    """The words of a joint name in lower case: `mixamorig:LeftUpLeg` -> left, up, leg."""
    # Robot files end names in `_joint` or `_link`, and the joints of one link in their axes: `lfemurrz`.
    bare = _MACHINE.sub("", name.rpartition(":")[2].rpartition("|")[2])
    bare = _AXIS.sub(r"\1_\2", bare)
    if _VERTEBRA.match(bare):
        # `L5` is the fifth lumbar vertebra, not a joint on the left.
        return ("vertebra", bare.lower())
    parts: list[str] = []
    for word in _WORD.findall(bare):
        lower = word.lower()
        if not lower.isascii():
            parts.extend(_japanese(lower))
            continue
        # The letter of a side before a word in capitals is split off: `LHAND`, but not `LEG`.
        capitals = _CAPITALS.match(lower) if word.isupper() and lower not in SIDES else None
        glued = capitals or (_GLUED.match(lower) if not parts else None)
        parts.extend(glued.groups() if glued else [lower])
    return tuple(parts)


def _japanese(text: str) -> list[str]:
    """The words of a Japanese name; unknown text stays unchanged."""
    parts: list[str] = []
    end = 0
    for match in _JAPANESE.finditer(text):
        parts += [text[end : match.start()]] if match.start() > end else []
        parts.append(JAPANESE[match[0]])
        end = match.end()
    return parts + ([text[end:]] if end < len(text) else [])


MOTORS = {"hip", "shoulder", "elbow", "knee", "ankle", "waist", "torso", "neck", "head"}
"""Parts with separate pitch, roll and yaw motors in robots; the wrist is absent, as its roll turns the forearm."""


@cache
def is_motor(name: str) -> bool:
    """Whether a name is that of a robot's motor, as in `left_hip_roll_joint`, not of a rig's roll bone."""
    return any(part in MOTORS and axis in ("pitch", "roll", "yaw") for part, axis in pairwise(words(name)))


@cache
def side(name: str) -> str:
    """The side that a name is on: "left", "right" or "" for neither."""
    for word in words(name):
        if word in SIDES:
            return SIDES[word]
    return ""


def mirrored(name: str) -> tuple[str, ...]:
    """The words of the name of the joint on the other side."""
    swapped, done = [], False
    for word in words(name):
        if not done and word in MIRRORED:
            swapped.append(MIRRORED[word])
            done = True
        else:
            swapped.append(word)
    return tuple(swapped)


HELPER_WORDS = {
    "twist", "roll", "helper", "ik", "fk", "pole", "nub", "armor", "end", "site", "footsteps", "volume", "prop",
    "tweak", "mch", "ctrl", "control", "target", "leaf", "sec", "adj", "parent", "dummy", "jiggle",
}  # fmt: skip
"""Words in the names of joints that are not bones of the body."""

END_WORDS = {"end", "site", "nub", "leaf"}
"""Words in the names of joints at the far ends of bones."""

MIN_BONE_SIZES = 1e-3
"""Length of a bone, in sizes of the body, from which it can be seen."""

MOTOR_WORDS = {"roll", "twist"}
"""Words for helper bones that in robots name a motor."""


def is_helper(name: str) -> bool:
    """Whether a name is not that of a bone: a twist helper, a control, the end of another bone."""
    return name.startswith("__") or bool(set(words(name)) & HELPER_WORDS - ({"roll"} if is_motor(name) else set()))


def is_helper_bone(skeleton: Skeleton, joint: int) -> bool:
    """Whether a joint is not a bone of the body, by its name; a motor that rolls or twists a limb is one."""
    name = skeleton.names[joint]
    if skeleton.kinds[joint] in (JointKind.HINGE, JointKind.UNIVERSAL):
        return name.startswith("__") or bool(set(words(name)) & HELPER_WORDS - MOTOR_WORDS)
    return is_helper(name)


def is_end_bone(skeleton: Skeleton, joint: int) -> bool:
    """Whether a joint is the far end of a bone, by its name."""
    return bool(END_WORDS & set(words(skeleton.names[joint])))


@lru_cache(maxsize=64)
def leaf_helpers(skeleton: Skeleton) -> frozenset[int]:
    """Helper bones that carry nothing but helper bones, and idle motors. An end with a length of its own is a bone.

    Names tell them; where no name says anything, their places do.
    """
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    long = {end.joint for end in skeleton.ends if np.linalg.norm(end.offset) > MIN_BONE_SIZES * size}
    for joint in range(1, skeleton.num_joints):
        if is_end_bone(skeleton, joint) and skeleton.lengths[joint] > MIN_BONE_SIZES * size:
            long.add(skeleton.names[skeleton.parents[joint]])
    helpers: set[int] = set()
    for joint in range(skeleton.num_joints - 1, 0, -1):
        is_bone = is_end_bone(skeleton, joint) and skeleton.names[joint] in long
        carries = any(child not in helpers for child in skeleton.children[joint])
        if is_helper_bone(skeleton, joint) and not is_bone and not carries:
            helpers.add(joint)
    return frozenset(helpers | _idle_motors(skeleton) | _unnamed_helpers(skeleton))


MAX_HELPER_SIZES = 0.08
"""Length of a helper bone without a name as a share of the size of the body."""

MAX_OFF_BONE_SHARE = 0.02
"""Distance of a twist bone from the bone that it twists, in lengths of that bone."""


def _unnamed_helpers(skeleton: Skeleton) -> set[int]:
    """Helper bones of a body whose names say nothing: small branches without an end, beside one that carries more."""
    if any(label(name) or side(name) for name in skeleton.names):
        return set()
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    # Metres from each joint to its own farthest end; to the farthest end or joint below it; whether an end is below it.
    own = np.zeros(skeleton.num_joints)
    for end in skeleton.ends:
        joint = skeleton.index[end.joint]
        own[joint] = max(own[joint], float(np.linalg.norm(end.offset)))
    reach, ended = own.copy(), own > 0.0
    given, helpers = set(skeleton.role_joints.values()), set[int]()
    for joint in range(skeleton.num_joints - 1, -1, -1):
        bones = list(skeleton.children[joint])
        for child in skeleton.children[joint]:
            if ended[child] or skeleton.names[child] in given:
                continue
            others = [other for other in bones if other != child]
            carrying = [other for other in others if reach[other] > 0.0]
            length = float(skeleton.lengths[child] + reach[child])
            if any(_is_on_bone(skeleton, child, other) for other in carrying):
                length, is_helper = float(reach[child]), True
            else:
                # What has no end, beside what has one, shows no bone of its own.
                has_end = own[joint] > 0.0 or bool(ended[others].any())
                is_leaf = reach[child] == 0.0 and bool(carrying)
                is_helper = has_end or (is_leaf and not any(_is_like(skeleton, child, other) for other in others))
            if is_helper and length < MAX_HELPER_SIZES * size:
                helpers.update(np.flatnonzero(skeleton.below(child)).tolist())
                bones.remove(child)
        reach[joint] = max([own[joint], *(skeleton.lengths[bones] + reach[bones])])
        ended[joint] = own[joint] > 0.0 or bool(ended[bones].any())
    return helpers


def _is_like(skeleton: Skeleton, joint: int, other: int) -> bool:
    """Whether a bone is nearly as long as one beside it and leads the same way, as toes and fingers do."""
    offset, length = skeleton.offsets[other], float(skeleton.lengths[other])
    return 0.5 * length < skeleton.lengths[joint] < 2.0 * length and float(skeleton.offsets[joint] @ offset) > 0.0


def _is_on_bone(skeleton: Skeleton, joint: int, other: int) -> bool:
    """Whether a joint lies on the straight line from its parent to another child of it, or at its end."""
    bone, offset = skeleton.offsets[other], skeleton.offsets[joint]
    length = max(float(np.linalg.norm(bone)), 1e-12)
    along, limit = float(offset @ bone) / length**2, MAX_OFF_BONE_SHARE
    return 0.0 < along < 1.0 + limit and float(np.linalg.norm(offset - along * bone)) < limit * length


def _idle_motors(skeleton: Skeleton) -> set[int]:
    """Motors in a limb that carry nothing: gears, springs and rods beside the joint that carries the rest of the limb.

    Whatever they are called, they have neither children nor an end point, and exactly one sibling has either.
    """
    with_ends = {end.joint for end in skeleton.ends}
    idle = set()
    for joint in range(1, skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        if skeleton.children[joint] or skeleton.names[joint] in with_ends:
            continue
        siblings = skeleton.children[parent]
        carrying = sum(bool(skeleton.children[j]) or skeleton.names[j] in with_ends for j in siblings)
        if skeleton.kinds[joint] in _MOTORS and skeleton.kinds[parent] in _MOTORS and carrying == 1:
            idle.add(joint)
    return idle


_UPPER = {"up", "upper", "u", "upr"}

_LOWER = {"low", "lower", "lo", "fore", "lwr"}

_NOT_A_BONE = {
    "twist", "roll", "helper", "ik", "fk", "pole", "nub", "armor", "end", "site", "footsteps", "volume", "prop",
    "tweak", "mch", "ctrl", "control", "target", "leaf", "tip", "sec", "adj", "metatarsal", "metatarsals", "parent",
}  # fmt: skip

_NOT_A_LIMB = {
    "tail", "finger", "fingers", "thumb", "index", "mid", "middle", "ring", "pinky", "little", "metacarpal", "carpal",
    "eye", "jaw", "ear",
}  # fmt: skip

_GIRDLE = {"pelvis", "shoulder", "scapula", "clavicle", "anchor", "anchors", "coxa"}
"""Words for the bone that a leg hangs from, as in `Back_Leg_Pelvis`."""

_TABLE: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(keys.split()), label)
    for keys, label in (
        ("upleg upperleg thigh femur", "upper_leg"),
        ("knee calf shin shank lowleg lowerleg loleg tibia", "lower_leg"),
        ("foot ankle ank feet", "foot"),
        ("toe toes toebase ball", "toe"),
        ("leg", "leg"),
        ("collar clavicle clav scapula", "shoulder"),
        ("upperarm uparm uarm humerus", "upper_arm"),
        ("forearm lowerarm lowarm loarm farm larm elbow el radius ulna", "lower_arm"),
        ("arm", "arm"),
        ("shoulder shldr sho", "collar_or_arm"),
        ("hand wrist", "hand"),
        ("hips pelvis", "hips"),
        ("hip", "hip"),
        ("neck upperneck lowerneck", "neck"),
        ("head", "head"),
        ("palm", "palm"),
        ("nose", "nose"),
        ("spine chest abdomen torso thorax lowerback upperback back waist vertebra", "spine"),
    )
)
"""The part that a word names; the first match counts. Other words or the tree settle ambiguous parts."""


@lru_cache(maxsize=64)
def roles(skeleton: Skeleton) -> dict[str, int]:
    """The joint of each body part that can be recognised; other parts are absent.

    Parts are hips, spine, chest, neck and head; and after `left_` or `right_` upper_leg, lower_leg, foot, toe,
    shoulder, upper_arm, lower_arm and hand.

    Names give candidates and the tree resolves ambiguities: `LeftShoulder` is the collar bone if a `LeftArm` hangs from
    it and the upper arm if a `LeftElbow` does; the hips are where both legs meet. For a part of several bones in a row,
    such as `upperarm01` and `upperarm02`, it is the first. The roles that a skeleton gives itself come before names.
    """
    if skeleton.role_joints:
        return {role: skeleton.index[name] for role, name in skeleton.role_joints.items()}
    joint_of: dict[str, int] = {}
    labels = _labels(skeleton)
    for which in ("left", "right"):
        sided = [j for j in range(skeleton.num_joints) if side(skeleton.names[j]) == which]
        by_depth = sorted(sided, key=lambda j: (int(skeleton.depths[j]), j))
        _find_leg(skeleton, by_depth, labels, which, joint_of)
        _find_arm(skeleton, by_depth, labels, which, joint_of)
        _regroup_motors(skeleton, which, ("upper_leg", "lower_leg", "foot", "toe"), joint_of)
        _regroup_motors(skeleton, which, ("upper_arm", "lower_arm", "hand"), joint_of)
    _find_middle(skeleton, labels, joint_of)
    return joint_of


def _labels(skeleton: Skeleton) -> list[str]:
    """The part that each joint's name suggests."""
    deforming = any(words(name)[:1] == ("def",) for name in skeleton.names)
    labels = []
    for name in skeleton.names:
        # Rigify adds a copy (`ORG`) of every deforming bone (`DEF`).
        labels.append("" if deforming and words(name)[:1] == ("org",) else label(name))
    return labels


@cache
def label(name: str) -> str:
    """The part that a name suggests; the tree resolves "collar_or_arm", "hips_or_leg" and the like."""
    name_words = {word for word in words(name) if not word.isdigit()}
    helper = name_words & _NOT_A_BONE - ({"roll"} if is_motor(name) else set())
    if name.startswith("__") or helper or name_words & _NOT_A_LIMB:
        return ""
    part = next((part for keys, part in _TABLE if name_words & keys), "")
    if part == "leg":
        if name_words & _GIRDLE:
            return ""
        return "upper_leg" if name_words & _UPPER or "hip" in name_words else "lower_leg"
    if part == "arm":
        # `LFArm` is a forearm, although `LF` otherwise means left front.
        return "lower_arm" if name_words & _LOWER or name_words & {"lf", "rf"} else "upper_arm"
    if part == "hip":
        return "" if "joint" in name_words else "hips_or_leg"
    return part


_VARIANT_WORDS = {"pitch", "yaw", "roll", "twist", "bend", "part", "x", "y", "z", "rx", "ry", "rz"}


def stem(name: str) -> frozenset[str]:
    """The words of a name without numbers and without words that distinguish bones of one part."""
    return frozenset(w for w in words(name) if not w.isdigit()) - _VARIANT_WORDS


def _first(joints: Iterable[int], labels: list[str], *wanted: str) -> int | None:
    return next((j for j in joints if labels[j] in wanted), None)


def _under(skeleton: Skeleton, joints: list[int], above: int) -> list[int]:
    below = skeleton.below(above)
    return [j for j in joints if below[j] and j != above]


def _numbered(skeleton: Skeleton, joints: list[int], labels: list[str], wanted: str) -> list[int]:
    """A limb with numbered bones: the first with the label, and those of the same name further down the chain."""
    top = _first(joints, labels, wanted)
    if top is None:
        return []
    row = [top]
    for j in _under(skeleton, joints, top):
        if stem(skeleton.names[j]) == stem(skeleton.names[top]) and skeleton.below(row[-1])[j]:
            row.append(j)
    return row


def _find_leg(skeleton: Skeleton, joints: list[int], labels: list[str], which: str, joint_of: dict[str, int]) -> None:
    """Find the parts of a leg, which follow each other down one chain."""
    top = _first(joints, labels, "upper_leg", "hips_or_leg")
    if top is None:
        row = _numbered(skeleton, joints, labels, "lower_leg")
        if len(row) < 2:
            return
        joint_of |= {f"{which}_{part}": joint for part, joint in zip(("upper_leg", "lower_leg", "foot", "toe"), row)}
        top, parts = row[min(len(row), 3) - 1], ("foot", "toe")[max(len(row) - 2, 0) :]
    else:
        joint_of[f"{which}_upper_leg"], parts = top, ("lower_leg", "foot", "toe")
    for part in parts:
        under = _under(skeleton, joints, top)
        joint = _first(under, labels, part)
        if part == "toe":
            # If the foot is called `ankle`, then `foot` is the toe, and a `toe` below it is only the toe's end.
            top_stem = stem(skeleton.names[top])
            second = _first([j for j in under if stem(skeleton.names[j]) != top_stem], labels, "foot")
            joint = second if joint is None or _is_toe_end(skeleton, top, second, joint) else joint
        if joint is None and part == "lower_leg":
            return
        if joint is not None:
            joint_of[f"{which}_{part}"] = top = joint


MIN_BALL_SHARE = 0.5
"""Distance of the ball of a foot from the ankle as a share of that of the end of the toe."""


def _is_toe_end(skeleton: Skeleton, ankle: int, ball: int | None, toe: int) -> bool:
    """Whether a toe has no bone: it ends the bone of a joint below the ankle, the ball, and nothing hangs from it."""
    ends = {end.joint for end in skeleton.ends}
    if ball is None or skeleton.children[toe] or skeleton.names[toe] in ends or skeleton.parents[toe] != ball:
        return False
    distances = np.linalg.norm(skeleton.rest_world[0][[ball, toe]] - skeleton.rest_world[0][ankle], axis=-1)
    return bool(distances[0] > MIN_BALL_SHARE * distances[1])


MAX_COLLAR_RATIO = 0.75
"""Length of a collar bone in lengths of the upper arm."""


def _find_arm(skeleton: Skeleton, joints: list[int], labels: list[str], which: str, joint_of: dict[str, int]) -> None:
    lower = _first(joints, labels, "lower_arm")
    if lower is None:
        row = _numbered(skeleton, joints, labels, "upper_arm")
        if len(row) < 2:
            return
        if _begins_with_collar(skeleton, row, _first(_under(skeleton, joints, row[-1]), labels, "hand")):
            joint_of[f"{which}_shoulder"] = row.pop(0)
        joint_of |= {f"{which}_{part}": joint for part, joint in zip(("upper_arm", "lower_arm", "hand"), row)}
        upper, lower = row[:2]
        above = [j for j in reversed(skeleton.chain(upper)) if side(skeleton.names[j]) == which]
    else:
        above = [j for j in reversed(skeleton.chain(lower)[:-1]) if side(skeleton.names[j]) == which]
        first = _first(above, labels, "upper_arm", "collar_or_arm")
        if first is None:
            return
        row = [
            j for j in above if labels[j] == labels[first] and stem(skeleton.names[j]) == stem(skeleton.names[first])
        ]
        upper = min(row)
        joint_of[f"{which}_upper_arm"], joint_of[f"{which}_lower_arm"] = upper, lower
    collar = _first([j for j in above if j < upper], labels, "shoulder", "collar_or_arm")
    if collar is not None:
        joint_of[f"{which}_shoulder"] = collar
    under = _under(skeleton, joints, lower)
    palms = [j for j in under if labels[j] == "palm"]
    hand = _first(under, labels, "hand")
    hand = palms[0] if hand is None and len(palms) == 1 else hand
    if hand is not None and f"{which}_hand" not in joint_of:
        joint_of[f"{which}_hand"] = hand


def _begins_with_collar(skeleton: Skeleton, row: Sequence[int], hand: int | None) -> bool:
    """Whether the first of three numbered bones of an arm, above a hand with a name of its own, is the collar bone."""
    if len(row) != 3 or hand is None:
        return False
    collar, upper, _ = np.linalg.norm(np.diff(skeleton.rest_world[0][[*row, hand]], axis=0), axis=-1)
    return bool(collar < MAX_COLLAR_RATIO * upper)


def _regroup_motors(skeleton: Skeleton, which: str, parts: tuple[str, ...], joint_of: dict[str, int]) -> None:
    """Correct the parts of a robot's limb by the axes of its hinges: one joint of several motors is one part.

    Names of motors mislead: an `elbow_pitch` about the length of the arm twists the upper arm, and the motors of a leg
    may just be numbered.
    """
    joints = [joint_of[f"{which}_{part}"] for part in parts if f"{which}_{part}" in joint_of]
    if len(joints) < 2:
        return
    row = limb_row(skeleton, joints[0], joints[-1])
    if not any(skeleton.kinds[j] in (JointKind.HINGE, JointKind.UNIVERSAL) for j in row):
        return
    compounds = compound_joints(skeleton, row)
    number_of = {joint: number for number, compound in enumerate(compounds) for joint in compound.joints}
    number_of = {joint: number_of.get(joint, len(compounds)) for joint in row}
    last, misnamed = -1, False
    for part in parts:
        joint = joint_of.pop(f"{which}_{part}", None)
        misnamed = misnamed or (joint is not None and number_of[joint] <= last)
        number = last + 1 if joint is None or number_of[joint] <= last else number_of[joint]
        if number < len(compounds) and (joint is not None or (misnamed and part != "toe")):
            joint_of[f"{which}_{part}"], last = compounds[number].joints[0], number
    collar = joint_of.get(f"{which}_shoulder")
    if parts[0] == "upper_arm" and collar is not None and collar >= joint_of[f"{which}_upper_arm"]:
        del joint_of[f"{which}_shoulder"]


def limb_row(skeleton: Skeleton, upper: int, lower: int) -> list[int]:
    """The joints of a limb from its first motor, at or above its upper part, past its lower part to its end."""
    below = [[c for c in children if c not in leaf_helpers(skeleton)] for children in skeleton.children]
    chain = skeleton.chain(lower)
    start = chain.index(upper)
    # Motors above that carry nothing but this limb belong to it.
    while start > 1 and skeleton.kinds[chain[start - 1]] is JointKind.HINGE and len(below[chain[start - 1]]) == 1:
        start -= 1
    row = chain[start:]
    while len(below[row[-1]]) == 1:
        row.append(below[row[-1]][0])
    return row


def meet(skeleton: Skeleton, first: int, second: int) -> int:
    """The lowest joint that both hang from."""
    other = set(skeleton.chain(second))
    return next(j for j in reversed(skeleton.chain(first)) if j in other)


def _find_middle(skeleton: Skeleton, labels: list[str], joint_of: dict[str, int]) -> None:
    middle = [j for j in range(skeleton.num_joints) if not side(skeleton.names[j])]
    by_depth = sorted(middle, key=lambda j: (int(skeleton.depths[j]), j))
    hips = _first(by_depth, labels, "hips", "hips_or_leg")
    if "left_upper_leg" in joint_of and "right_upper_leg" in joint_of:
        meeting = meet(skeleton, joint_of["left_upper_leg"], joint_of["right_upper_leg"])
        # Rigs with the legs under a joint of their own keep `hips` for the joint that carries the spine too.
        hips = meeting if hips is None or not skeleton.below(hips)[meeting] else hips
    if hips is not None:
        joint_of["hips"] = hips
    arms = [joint_of[f"{s}_upper_arm"] for s in ("left", "right") if f"{s}_upper_arm" in joint_of]
    chest = meet(skeleton, arms[0], arms[1]) if len(arms) == 2 else None
    _find_head(skeleton, by_depth, labels, chest, joint_of)
    top = joint_of.get("neck", joint_of.get("head"))
    if chest is None and top is not None:
        chest = int(skeleton.parents[top])
    # Biped rigs hang the collar bones from the neck: the chest is what carries it.
    while chest is not None and chest > 0 and labels[chest] == "neck":
        chest = int(skeleton.parents[chest])
    if hips is None or chest is None or chest < 0 or chest == hips:
        return
    joint_of["chest"] = chest
    path = skeleton.chain(chest)
    spine = path[path.index(hips) + 1] if hips in path else _first(path, labels, "spine")
    if spine is not None:
        joint_of["spine"] = spine


def _find_head(
    skeleton: Skeleton, by_depth: list[int], labels: list[str], chest: int | None, joint_of: dict[str, int]
) -> None:
    for part in ("neck", "head"):
        joint = _first(by_depth, labels, part)
        if joint is not None:
            joint_of[part] = joint
    if "head" in joint_of:
        return
    # In rigs that number the back, the head is its last bone: `spine.006` above a chest `spine.003`.
    row = [] if chest is None else [j for j in _under(skeleton, by_depth, chest) if labels[j] in ("spine", "neck")]
    row = [j for j in row if stem(skeleton.names[j]) == stem(skeleton.names[row[-1]])]
    if row and all(skeleton.below(a)[b] for a, b in pairwise(row)):
        if len(row) > 1:
            joint_of.setdefault("neck", row[0])
        if row[-1] != joint_of.get("neck"):
            joint_of["head"] = row[-1]
            return
    # Only where nothing else is above the neck, as in skeletons of key points, does the nose stand for the head.
    nose = _first(by_depth, labels, "nose")
    if nose is not None and (skeleton.parents[nose] in (chest, joint_of.get("neck"))):
        joint_of["head"] = nose


MIN_TWIST_COSINE = 0.85
"""Cosine between the axis of a hinge and its limb above which the hinge twists the limb and does not bend it."""

MIN_PARALLEL_COSINE = 0.9
"""Cosine above which two axes are parallel."""

MAX_AXES = 3
"""Axes that bend one joint."""

MAX_GAP_REMAINING_SHARE, MAX_GAP_LIMB_SHARE = 0.26, 0.15
"""Gap between hinges of one joint, as a share of the limb beyond them, or of the whole limb."""

MIN_DIRECTION_SHARE = 0.08
"""Share of a limb's length over which its direction at a joint is taken."""

MIN_FIXED_BONE_SHARE = 0.2
"""Share of a limb's length from which a bone without a joint of its own counts as a part."""

MAX_POINT_SIZES = 1e-4
"""Distance, in sizes of the body, within which hinges meet in one point."""

MIN_BALL_VOLUME = 0.5
"""Volume that the unit axes of three hinges span above which they form a ball; 1 if they are at right angles."""

_MOTORS = (JointKind.HINGE, JointKind.UNIVERSAL)


@record(eq=True)
class CompoundJoint:
    """Joints of a skeleton that form one joint of the body."""

    joints: tuple[int, ...]
    """From the body outwards, without joints that cannot move, unless there are no others."""
    centre: int
    """The joint at which the bone below begins: the last one that bends the limb."""


@lru_cache(maxsize=64)
def balls_of_hinges(skeleton: Skeleton) -> tuple[tuple[int, int, int], ...]:
    """Triples of hinges in a row that meet in one point and turn about different axes: balls, however they are written.

    A robot's hinges that meet in a point only by chance of its build belong together just as well.
    """
    axes = rotate(skeleton.rest_world[1], skeleton.axes[:, 0])
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    balls: list[tuple[int, int, int]] = []
    taken: set[int] = set()
    for first in range(1, skeleton.num_joints):
        row = [first]
        while len(row) < MAX_AXES and len(skeleton.children[row[-1]]) == 1:
            row.append(skeleton.children[row[-1]][0])
        if len(row) < MAX_AXES or taken & set(row) or any(skeleton.kinds[j] is not JointKind.HINGE for j in row):
            continue
        volume = abs(float(np.linalg.det(axes[row])))
        if skeleton.lengths[row[1:]].max() <= MAX_POINT_SIZES * size and volume > MIN_BALL_VOLUME:
            balls.append((row[0], row[1], row[2]))
            taken |= set(row)
    return tuple(balls)


def compound_joints(skeleton: Skeleton, row: Sequence[int]) -> list[CompoundJoint]:
    """Divide a chain of joints into compound joints; ball joints stay by themselves.

    Args:
        skeleton: The body.
        row: The joints from the body outwards, each below the one before.
    """
    if not any(skeleton.kinds[joint] in (*_MOTORS, JointKind.FIXED) for joint in row):
        return [CompoundJoint(joints=(joint,), centre=joint) for joint in row]
    chain = _Chain(skeleton, row)
    groups: list[list[int]] = []
    for number in range(len(row)):
        if groups and chain.continues(groups[-1], number):
            groups[-1].append(number)
        else:
            groups.append([number])
    return [
        CompoundJoint(joints=tuple(row[i] for i in chain.moving(group)), centre=row[chain.centre_of(group)])
        for group in groups
    ]


class _Chain:
    """The joints of a limb in the rest pose, with their axes."""

    def __init__(self, skeleton: Skeleton, row: Sequence[int]) -> None:
        positions, rotations = skeleton.rest_world
        bones = [[j for j in skeleton.children[joint] if j not in leaf_helpers(skeleton)] for joint in row]
        tips = [tip for end, tip in zip(skeleton.ends, skeleton.rest_ends) if end.joint == skeleton.names[row[-1]]]
        tips += [positions[child] for child in bones[-1]]
        self.kinds = [skeleton.kinds[joint] for joint in row]
        ball_of = {joint: ball[0] for ball in balls_of_hinges(skeleton) for joint in ball}
        self.balls = [ball_of.get(joint) for joint in row]
        points = positions[list(row)]
        # A last bone without an end is taken to be as long as the one before it.
        tip = np.mean(tips, axis=0) if tips else 2.0 * points[-1] - points[-2 if len(row) > 1 else -1]
        self.points = np.array([*points, tip])
        steps = np.linalg.norm(np.diff(self.points, axis=0), axis=-1)
        self.remaining = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
        self.axes = [
            rotate(rotations[joint], skeleton.axes[joint, : NUM_AXES[kind]]) for joint, kind in zip(row, self.kinds)
        ]
        self.twists = [self._twists(number) for number in range(len(row))]
        self.branches = [len(children) > 1 for children in bones]

    def _twists(self, number: int) -> bool:
        """Whether a hinge turns about the length of its limb."""
        if self.kinds[number] is not JointKind.HINGE:
            return False
        offsets = self.points[number + 1 :] - self.points[number]
        distances = np.linalg.norm(offsets, axis=-1)
        distant = np.flatnonzero(distances > MIN_DIRECTION_SHARE * self.remaining[0])
        far = int(distant[0]) if len(distant) else len(offsets) - 1
        along = abs(float(self.axes[number][0] @ offsets[far]))
        return along > MIN_TWIST_COSINE * float(distances[far]) > 0.0

    def _bending(self, group: list[int]) -> list[int]:
        return [i for i in group if self.kinds[i] is not JointKind.FIXED and not self.twists[i]]

    def moving(self, group: list[int]) -> list[int]:
        """The joints of a group that can move; all of them if none can."""
        return [i for i in group if self.kinds[i] is not JointKind.FIXED] or group

    def centre_of(self, group: list[int]) -> int:
        return (self._bending(group) or group)[-1]

    def continues(self, group: list[int], number: int) -> bool:
        """Whether a joint belongs to the compound joint before it."""
        if self.balls[number] is not None or self.balls[group[-1]] is not None:
            return self.balls[number] == self.balls[group[-1]]
        gap = float(np.linalg.norm(self.points[number] - self.points[group[-1]]))
        if self.kinds[number] is JointKind.FIXED:
            return gap < MIN_FIXED_BONE_SHARE * self.remaining[0]
        # A ball needs no more axes: a hinge after it is a joint of its own, however its bones lie at rest.
        if self.kinds[number] not in _MOTORS or any(self.kinds[i] not in _MOTORS for i in group):
            return False
        bending = self._bending(group)
        if self.twists[number]:
            # What carries several bones is a hand or foot, even if it can only twist.
            return not self.branches[number] and (bool(bending) or self._is_close(group[-1], number))
        if not bending:
            return self._is_close(group[-1], number)
        axes = sum(len(self.axes[i]) for i in bending) + len(self.axes[number])
        crossing = not np.any(np.abs(self.axes[bending[-1]] @ self.axes[number].T) > MIN_PARALLEL_COSINE)
        return axes <= MAX_AXES and crossing and self._is_close(bending[-1], number)

    def _is_close(self, first: int, second: int) -> bool:
        gap = float(np.linalg.norm(self.points[second] - self.points[first]))
        limit = max(MAX_GAP_REMAINING_SHARE * self.remaining[second], MAX_GAP_LIMB_SHARE * self.remaining[0])
        return gap <= limit
