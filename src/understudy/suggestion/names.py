"""A body taken apart by the names of its bones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import numpy as np

from understudy.body import UP, is_humanoid
from understudy.geometry.quaternion import Array
from understudy.naming import side, words
from understudy.roles import label, meet, roles
from understudy.skeleton import JointKind, Skeleton
from understudy.suggestion.digits import digits
from understudy.suggestion.pairs import Stance
from understudy.suggestion.parts import Limb, Plan, grouped, is_helper, main_path, path, reaches
from understudy.transfer.correspondence import hanging

NEEDED = tuple(f"{s}_{p}" for s in ("left", "right") for p in ("upper_leg", "lower_leg", "upper_arm", "lower_arm"))
"""The parts that names must tell for a body to be taken apart by them alone."""
JAWS = {"jaw", "chin", "mandible"}


def by_names(skeleton: Skeleton, how: Stance) -> Plan | None:
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
    return Plan(
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


def _limb(skeleton: Skeleton, found: dict[str, int], which: str, kind: str, how: Stance, four: bool) -> Limb:
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
