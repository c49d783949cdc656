"""Fingers told by their names: which finger, which of its joints."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from understudy.naming import words
from understudy.skeleton import Skeleton
from understudy.suggestion.parts import is_helper
from understudy.transfer.correspondence import hanging

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
