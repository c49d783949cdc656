"""Which joint is which part of the body, told from names and the tree."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise

from understudy.figure.naming import is_motor, side, words
from understudy.figure.skeleton import Skeleton

SIDED = ("upper_leg", "lower_leg", "foot", "toe", "shoulder", "upper_arm", "lower_arm", "hand")

MIDDLE = ("hips", "spine", "chest", "neck", "head")

ROLES = MIDDLE + tuple(f"{s}_{part}" for s in ("left", "right") for part in SIDED)
"""Every role, the middle of the body first; a sided one reads `left_upper_leg`."""

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
"""Words for what a leg hangs from, as in `Back_Leg_Pelvis`."""

_TABLE: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(keys.split()), label)
    for keys, label in (
        ("upleg upperleg thigh femur", "upper_leg"),
        ("knee calf shin shank lowleg lowerleg loleg tibia", "lower_leg"),
        ("foot ankle feet", "foot"),
        ("toe toes toebase ball", "toe"),
        ("leg", "leg"),
        ("collar clavicle clav scapula", "shoulder"),
        ("upperarm uparm uarm humerus", "upper_arm"),
        ("forearm lowerarm lowarm loarm farm larm elbow radius ulna", "lower_arm"),
        ("arm", "arm"),
        ("shoulder shldr", "collar_or_arm"),
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
"""What a word makes of a bone, the first that fits; some are settled by the words beside it or by the tree."""


@lru_cache(maxsize=64)
def roles(skeleton: Skeleton) -> dict[str, int]:
    """The joint of each body part that can be told; parts that cannot are absent.

    Names give candidates; the tree settles what they leave open: `LeftShoulder` is the collar bone where a
    `LeftArm` hangs from it and the upper arm where a `LeftElbow` does; the hips are where both legs meet.
    A part of several bones in a row, such as `upperarm01` and `upperarm02`, is its first.
    """
    found: dict[str, int] = {}
    labels = _labels(skeleton)
    for which in ("left", "right"):
        sided = [j for j in range(skeleton.num_joints) if side(skeleton.names[j]) == which]
        by_depth = sorted(sided, key=lambda j: (int(skeleton.depths[j]), j))
        _find_leg(skeleton, by_depth, labels, which, found)
        _find_arm(skeleton, by_depth, labels, which, found)
    _find_middle(skeleton, labels, found)
    return found


def _labels(skeleton: Skeleton) -> list[str]:
    """The part that each joint's name alone suggests."""
    deforming = any(words(name)[:1] == ("def",) for name in skeleton.names)
    labels = []
    for name in skeleton.names:
        # Rigify doubles every bone that deforms by one that stands for the original.
        labels.append("" if deforming and words(name)[:1] == ("org",) else label(name))
    return labels


@cache
def label(name: str) -> str:
    """The part a name alone suggests; "collar_or_arm", "hips_or_leg" and the like are settled by the tree."""
    spoken = {word for word in words(name) if not word.isdigit()}
    helper = spoken & _NOT_A_BONE - ({"roll"} if is_motor(name) else set())
    if name.startswith("__") or helper or spoken & _NOT_A_LIMB:
        return ""
    found = next((given for keys, given in _TABLE if spoken & keys), "")
    if found == "leg":
        if spoken & _GIRDLE:
            return ""
        return "upper_leg" if spoken & _UPPER or "hip" in spoken else "lower_leg"
    if found == "arm":
        # `LFArm` is a forearm, although `LF` otherwise means what is in front on the left.
        return "lower_arm" if spoken & _LOWER or spoken & {"lf", "rf"} else "upper_arm"
    if found == "hip":
        return "" if "joint" in spoken else "hips_or_leg"
    return found


_KINDS_OF_ONE = {"pitch", "yaw", "roll", "twist", "bend", "part", "x", "y", "z", "rx", "ry", "rz"}


def stem(name: str) -> frozenset[str]:
    """The words of a name without its numbers and what tells bones of one part apart."""
    return frozenset(w for w in words(name) if not w.isdigit()) - _KINDS_OF_ONE


def _first(joints: Iterable[int], labels: list[str], *wanted: str) -> int | None:
    return next((j for j in joints if labels[j] in wanted), None)


def _under(skeleton: Skeleton, joints: list[int], above: int) -> list[int]:
    below = skeleton.below(above)
    return [j for j in joints if below[j] and j != above]


def _numbered(skeleton: Skeleton, joints: list[int], labels: list[str], wanted: str) -> list[int]:
    """A limb whose bones are only numbered: the first that a label fits and those of its name along one chain."""
    top = _first(joints, labels, wanted)
    if top is None:
        return []
    row = [top]
    for j in _under(skeleton, joints, top):
        if stem(skeleton.names[j]) == stem(skeleton.names[top]) and skeleton.below(row[-1])[j]:
            row.append(j)
    return row


def _find_leg(skeleton: Skeleton, joints: list[int], labels: list[str], which: str, found: dict[str, int]) -> None:
    """The parts of a leg, which follow each other down one chain."""
    top = _first(joints, labels, "upper_leg", "hips_or_leg")
    if top is None:
        row = _numbered(skeleton, joints, labels, "lower_leg")
        if len(row) < 2:
            return
        found |= {f"{which}_{part}": joint for part, joint in zip(("upper_leg", "lower_leg", "foot", "toe"), row)}
        top, parts = row[min(len(row), 3) - 1], ("foot", "toe")[max(len(row) - 2, 0) :]
    else:
        found[f"{which}_upper_leg"], parts = top, ("lower_leg", "foot", "toe")
    for part in parts:
        under = _under(skeleton, joints, top)
        joint = _first(under, labels, part)
        if joint is None and part == "toe":
            # Where `ankle` is the foot, `foot` is its front.
            mine = stem(skeleton.names[top])
            joint = _first([j for j in under if stem(skeleton.names[j]) != mine], labels, "foot")
        if joint is None and part == "lower_leg":
            return
        if joint is not None:
            found[f"{which}_{part}"] = top = joint


def _find_arm(skeleton: Skeleton, joints: list[int], labels: list[str], which: str, found: dict[str, int]) -> None:
    lower = _first(joints, labels, "lower_arm")
    if lower is None:
        row = _numbered(skeleton, joints, labels, "upper_arm")
        if len(row) < 2:
            return
        found |= {f"{which}_{part}": joint for part, joint in zip(("upper_arm", "lower_arm", "hand"), row)}
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
        found[f"{which}_upper_arm"], found[f"{which}_lower_arm"] = upper, lower
    collar = _first([j for j in above if j < upper], labels, "shoulder", "collar_or_arm")
    if collar is not None:
        found[f"{which}_shoulder"] = collar
    under = _under(skeleton, joints, lower)
    palms = [j for j in under if labels[j] == "palm"]
    hand = _first(under, labels, "hand")
    hand = palms[0] if hand is None and len(palms) == 1 else hand
    if hand is not None and f"{which}_hand" not in found:
        found[f"{which}_hand"] = hand


def meet(skeleton: Skeleton, first: int, second: int) -> int:
    """The lowest joint that both hang from."""
    other = set(skeleton.chain(second))
    return next(j for j in reversed(skeleton.chain(first)) if j in other)


def _find_middle(skeleton: Skeleton, labels: list[str], found: dict[str, int]) -> None:
    middle = [j for j in range(skeleton.num_joints) if not side(skeleton.names[j])]
    by_depth = sorted(middle, key=lambda j: (int(skeleton.depths[j]), j))
    hips = _first(by_depth, labels, "hips", "hips_or_leg")
    if "left_upper_leg" in found and "right_upper_leg" in found:
        meeting = meet(skeleton, found["left_upper_leg"], found["right_upper_leg"])
        # Rigs with the legs under a joint of their own keep `hips` for the joint that carries the spine too.
        hips = meeting if hips is None or not skeleton.below(hips)[meeting] else hips
    if hips is not None:
        found["hips"] = hips
    arms = [found[f"{s}_upper_arm"] for s in ("left", "right") if f"{s}_upper_arm" in found]
    chest = meet(skeleton, arms[0], arms[1]) if len(arms) == 2 else None
    _find_head(skeleton, by_depth, labels, chest, found)
    top = found.get("neck", found.get("head"))
    if chest is None and top is not None:
        chest = int(skeleton.parents[top])
    # Biped rigs hang the collar bones from the neck: the chest is what carries it.
    while chest is not None and chest > 0 and labels[chest] == "neck":
        chest = int(skeleton.parents[chest])
    if hips is None or chest is None or chest < 0 or chest == hips:
        return
    found["chest"] = chest
    path = skeleton.chain(chest)
    spine = path[path.index(hips) + 1] if hips in path else _first(path, labels, "spine")
    if spine is not None:
        found["spine"] = spine


def _find_head(
    skeleton: Skeleton, by_depth: list[int], labels: list[str], chest: int | None, found: dict[str, int]
) -> None:
    for part in ("neck", "head"):
        joint = _first(by_depth, labels, part)
        if joint is not None:
            found[part] = joint
    if "head" in found:
        return
    nose = _first(by_depth, labels, "nose")
    if nose is not None:
        found["head"] = nose
        return
    # Rigs that only number the back call the head its last: `spine.006` above a chest `spine.003`.
    row = [] if chest is None else [j for j in _under(skeleton, by_depth, chest) if labels[j] in ("spine", "neck")]
    row = [j for j in row if stem(skeleton.names[j]) == stem(skeleton.names[row[-1]])]
    if row and all(skeleton.below(a)[b] for a, b in pairwise(row)):
        if len(row) > 1:
            found.setdefault("neck", row[0])
        if row[-1] != found.get("neck"):
            found["head"] = row[-1]
