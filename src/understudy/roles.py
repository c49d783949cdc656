"""Which joint is which part of the body, told from names and the tree."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from understudy.naming import side, words
from understudy.skeleton import Skeleton

SIDED = ("upper_leg", "lower_leg", "foot", "toe", "shoulder", "upper_arm", "lower_arm", "hand")
MIDDLE = ("hips", "spine", "chest", "neck", "head")
ROLES = MIDDLE + tuple(f"{s}_{part}" for s in ("left", "right") for part in SIDED)
"""Every role, the middle of the body first; a sided one reads `left_upper_leg`."""

_UPPER = {"up", "upper", "u"}
_LOWER = {"low", "lower", "lo", "fore"}
_NOT_A_BONE = {"twist", "roll", "helper", "ik", "pole", "nub", "armor", "end", "site", "footsteps", "volume", "prop"}


@lru_cache(maxsize=64)
def roles(skeleton: Skeleton) -> dict[str, int]:
    """The joint of each body part that can be told; parts that cannot are absent.

    Names give candidates; the tree settles what they leave open: `LeftShoulder` is the collar bone where a
    `LeftArm` hangs from it and the upper arm where a `LeftElbow` does; the hips are where both legs meet.
    """
    found: dict[str, int] = {}
    labels = [_label(skeleton.names[j]) for j in range(skeleton.num_joints)]
    for which in ("left", "right"):
        sided = [j for j in range(skeleton.num_joints) if side(skeleton.names[j]) == which]
        _find_limb(skeleton, sided, labels, ("upper_leg", "lower_leg", "foot", "toe"), which, found)
        _find_arm(skeleton, sided, labels, which, found)
    _find_middle(skeleton, labels, found)
    return found


def _label(name: str) -> str:
    """The part a name alone suggests; "leg", "arm" and "shoulder" are settled by the tree."""
    found = [word for word in words(name) if not word.isdigit()]
    spoken = set(found)
    if name.startswith("__") or spoken & _NOT_A_BONE:
        return ""
    if spoken & {"tail", "finger", "fingers", "thumb", "index", "mid", "middle", "ring", "pinky", "eye", "jaw", "ear"}:
        return ""
    upper, lower = bool(spoken & _UPPER), bool(spoken & _LOWER)
    table: list[tuple[set[str], str]] = [
        ({"upleg", "upperleg", "thigh", "femur"}, "upper_leg"),
        ({"knee", "calf", "shin", "lowleg", "lowerleg", "loleg", "tibia"}, "lower_leg"),
        ({"leg"}, "upper_leg" if upper else "lower_leg"),
        ({"foot", "ankle", "feet"}, "foot"),
        ({"toe", "toes", "toebase", "ball"}, "toe"),
        ({"collar", "clavicle", "clav", "scapula"}, "shoulder"),
        ({"upperarm", "uparm", "humerus"}, "upper_arm"),
        ({"forearm", "lowerarm", "lowarm", "loarm", "elbow", "radius", "ulna"}, "lower_arm"),
        ({"arm"}, "lower_arm" if lower else "upper_arm"),
        ({"shoulder", "shldr"}, "collar_or_arm"),
        ({"hand", "wrist"}, "hand"),
        ({"hips", "pelvis"}, "hips"),
        ({"hip"}, "" if "joint" in spoken else ("hips_or_leg")),
        ({"neck", "upperneck", "lowerneck"}, "neck"),
        ({"head"}, "head"),
        ({"spine", "chest", "abdomen", "torso", "thorax", "lowerback", "upperback", "back", "waist"}, "spine"),
    ]
    for keys, label in table:
        if spoken & keys:
            return label
    return ""


def _first(joints: Iterable[int], labels: list[str], *wanted: str) -> int | None:
    return next((j for j in joints if labels[j] in wanted), None)


def _find_limb(
    skeleton: Skeleton, sided: list[int], labels: list[str], parts: tuple[str, ...], which: str, found: dict[str, int]
) -> None:
    """Parts that follow each other down one chain."""
    by_depth = sorted(sided, key=lambda j: (int(skeleton.depths[j]), j))
    top = _first(by_depth, labels, parts[0], "hips_or_leg")
    if top is None:
        return
    found[f"{which}_{parts[0]}"] = top
    above = top
    for part in parts[1:]:
        below = skeleton.below(above)
        joint = _first([j for j in by_depth if below[j] and j != above], labels, part)
        if joint is None and part == "lower_leg":
            return
        if joint is not None:
            found[f"{which}_{part}"] = above = joint


def _find_arm(skeleton: Skeleton, sided: list[int], labels: list[str], which: str, found: dict[str, int]) -> None:
    by_depth = sorted(sided, key=lambda j: (int(skeleton.depths[j]), j))
    lower = _first(by_depth, labels, "lower_arm")
    if lower is None:
        return
    above = [j for j in reversed(skeleton.chain(lower)[:-1]) if side(skeleton.names[j]) == which]
    upper = _first(above, labels, "upper_arm", "collar_or_arm")
    if upper is None:
        return
    found[f"{which}_upper_arm"], found[f"{which}_lower_arm"] = upper, lower
    collar = _first([j for j in above if j < upper], labels, "shoulder", "collar_or_arm")
    if collar is not None:
        found[f"{which}_shoulder"] = collar
    below = skeleton.below(lower)
    hand = _first([j for j in by_depth if below[j]], labels, "hand")
    if hand is not None:
        found[f"{which}_hand"] = hand


def _meet(skeleton: Skeleton, first: int, second: int) -> int:
    """The lowest joint that both hang from."""
    other = set(skeleton.chain(second))
    return next(j for j in reversed(skeleton.chain(first)) if j in other)


def _find_middle(skeleton: Skeleton, labels: list[str], found: dict[str, int]) -> None:
    middle = [j for j in range(skeleton.num_joints) if not side(skeleton.names[j])]
    by_depth = sorted(middle, key=lambda j: (int(skeleton.depths[j]), j))
    hips = _first(by_depth, labels, "hips", "hips_or_leg")
    if "left_upper_leg" in found and "right_upper_leg" in found:
        meeting = _meet(skeleton, found["left_upper_leg"], found["right_upper_leg"])
        # Rigs with the legs under a joint of their own keep `hips` for the joint that carries the spine too.
        hips = meeting if hips is None or not skeleton.below(hips)[meeting] else hips
    if hips is not None:
        found["hips"] = hips
    for part in ("neck", "head"):
        joint = _first(by_depth, labels, part)
        if joint is not None:
            found[part] = joint
    top = found.get("neck", found.get("head"))
    if "left_upper_arm" in found and "right_upper_arm" in found:
        chest = _meet(skeleton, found["left_upper_arm"], found["right_upper_arm"])
    elif top is not None:
        chest = int(skeleton.parents[top])
    else:
        return
    if hips is None or chest < 0 or chest == hips:
        return
    found["chest"] = chest
    path = skeleton.chain(chest)
    spine = path[path.index(hips) + 1] if hips in path else _first(path, labels, "spine")
    if spine is not None:
        found["spine"] = spine
