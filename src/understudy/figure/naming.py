"""Joint names: their words, and the side that they name."""

from __future__ import annotations

import re
from functools import cache

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


MOTORS = {"hip", "shoulder", "ankle", "waist", "torso", "neck", "head"}
"""Parts with separate pitch, roll and yaw motors in robots; the wrist is absent, as its roll turns the forearm."""


@cache
def is_motor(name: str) -> bool:
    """Whether a name is that of a robot's motor, as in `left_hip_roll_joint`, not of a rig's roll bone."""
    parts = words(name)
    return len(parts) > 1 and parts[-1] in ("pitch", "roll", "yaw") and parts[-2] in MOTORS


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
