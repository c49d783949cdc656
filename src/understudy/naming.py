"""What joint names say: their words, and the side they are on."""

from __future__ import annotations

import re
from functools import cache

SIDES = {
    "left": "left", "right": "right", "l": "left", "r": "right", "lft": "left", "rgt": "right", "rt": "right",
    "lf": "left", "rf": "right", "lb": "left", "rb": "right", "lm": "left", "rm": "right",
    "lmf": "left", "rmf": "right", "lmb": "left", "rmb": "right", "lh": "left", "rh": "right",
}  # fmt: skip
"""Words that name a side; two letters and more also name front, middle, back or hind."""

MIRRORED = {
    "left": "right", "l": "r", "lft": "rgt", "lf": "rf", "lb": "rb", "lm": "rm", "lmf": "rmf", "lmb": "rmb", "lh": "rh",
}  # fmt: skip
MIRRORED |= {right: left for left, right in MIRRORED.items()}

GLUED = (
    "hipjoint|femur|tibia|foot|toes?|toebase|clavicle|humerus|radius|ulna|wrist|hand|fingers?|thumb|collar|shoulder|shldr"
    "|elbow|forearm|upperarm|lowerarm|arm|thigh|shin|calf|knee|ankle|leg|hip|buttock|eye|wing|index|mid|middle|ring|pinky"
)
"""Words that follow a side's letter without a break, as in `lfemur`."""

_GLUED = re.compile(rf"^([lr])((?:{GLUED})[0-9]*)$")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")


@cache
def words(name: str) -> tuple[str, ...]:
    """The words of a joint name in lower case: `mixamorig:LeftUpLeg` -> left, up, leg."""
    bare = name.rpartition(":")[2].rpartition("|")[2]
    found: list[str] = []
    for word in _WORD.findall(bare):
        # A side's capital before a capitalised word reads as one word only in names such as `LThumb`.
        if len(word) > 1 and word[0] in "LR" and word.isupper() and word.lower() not in SIDES:
            found.extend([word[0].lower(), word[1:].lower()])
            continue
        lower = word.lower()
        glued = _GLUED.match(lower) if not found else None
        found.extend(glued.groups() if glued else [lower])
    return tuple(found)


def side(name: str) -> str:
    """ "left", "right" or "" for a joint on neither."""
    for word in words(name):
        if word in SIDES:
            return SIDES[word]
    return ""


def mirrored(name: str) -> tuple[str, ...]:
    """The words of the name that the joint on the other side should have."""
    swapped, done = [], False
    for word in words(name):
        if not done and word in MIRRORED:
            swapped.append(MIRRORED[word])
            done = True
        else:
            swapped.append(word)
    return tuple(swapped)
