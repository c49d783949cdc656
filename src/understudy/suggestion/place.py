"""A body taken apart by its shape: tree, symmetry, proportions and where its bones point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.body import UP
from understudy.geometry.quaternion import cross
from understudy.naming import side, words
from understudy.roles import label, roles
from understudy.skeleton import Skeleton
from understudy.suggestion.branches import Branch, Shape, find_shape, limb_words, middle_rows, stands_on
from understudy.suggestion.names import named_row, trunk_by_names
from understudy.suggestion.pairs import Stance
from understudy.suggestion.parts import Limb, Plan, grouped, main_path, path
from understudy.transfer.correspondence import hanging

FIN = 0.4
"""Share of a body's length below which a limb of one or two bones is a fin."""
LEVEL = 0.4
"""Share of its length that a body without legs is high at most to lie level, as a fish does."""
HIP, COLLAR = 0.02, 0.085
"""Shares of a limb's reach from the middle of the body within which it does not begin: legs, and all others."""
SPOKEN = {
    "hips_or_leg": "upper", "upper_leg": "upper", "upper_arm": "upper", "lower_leg": "lower", "lower_arm": "lower",
    "foot": "end", "hand": "end",
}  # fmt: skip
"""What names make of the joints of any limb."""


def by_place(skeleton: Skeleton, how: Stance) -> Plan:
    """The body's parts where names do not tell its arms and legs."""
    shape = find_shape(skeleton, how)
    branches = sorted(shape.branches, key=lambda branch: _station(shape, branch))
    several = sum(stands_on(skeleton, how, branch.tops[0]) for branch in branches) > 1
    # Birds walk on their toes as dogs do: what is called an ankle is off the ground.
    several = several or any("wing" in limb_words(skeleton, branch.tops[0]) for branch in branches)
    pairs = [_limbs(shape, branch, several) for branch in branches]
    trunk = _trunk(shape)
    kind = _kind(shape, pairs, "tail" in trunk)
    heads = {part: joint for part, joint in roles(skeleton).items() if part in ("neck", "head")}
    told = trunk_by_names(skeleton, shape.root, heads)
    named = {part: row for part, row in told.items() if part in ("neck", "head", "jaw", "tail")}
    if kind == "spider or insect":
        named |= {"abdomen": row} if (row := named_row(skeleton, shape.root, {"abdomen"})) else {}
    whole = _for_kind(skeleton, _merged(skeleton, _for_kind(skeleton, trunk, kind), named), kind)
    return Plan(
        skeleton=skeleton, kind=kind, root=shape.root, trunk=whole, named=False,
        limbs=tuple(_of_kind(skeleton, pair, kind) for pair in pairs),
        named_trunk=frozenset(named), sure_sides=shape.sure or not pairs,
    )  # fmt: skip


def _merged(
    skeleton: Skeleton, trunk: dict[str, tuple[int, ...]], named: dict[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """The parts that names tell, and of the others what comes before them."""
    out = dict(named)
    if "neck" in named and named["neck"][0] in trunk.get("neck", ()):
        # Bones of the chest above the limbs that hang from it.
        more = trunk["neck"][: trunk["neck"].index(named["neck"][0])]
        trunk = trunk | {
            "spine": trunk.get("spine", ()) + tuple(j for j in more if label(skeleton.names[j]) == "spine")
        }
    for part, row in trunk.items():
        others = {joint for name, joints in named.items() if name != part for joint in joints}
        cut = next((i for i, joint in enumerate(row) if joint in others), len(row))
        if part not in named and row[:cut]:
            out[part] = row[:cut]
    return out


def _station(shape: Shape, branch: Branch) -> tuple[float, bool, float]:
    """Where a limb is along the body: how far up the trunk it hangs, whether it is off the ground, how far ahead."""
    skeleton, places = shape.skeleton, shape.how.places
    far = float(sum(skeleton.lengths[j] for j in path(skeleton, shape.root, branch.parent)[1:]))
    below = hanging(skeleton)[branch.tops[0]] | hanging(skeleton)[branch.tops[1]]
    ahead = float((places[below].mean(axis=0) - places[shape.root]) @ shape.ahead)
    return round(far / (0.08 * shape.size)), not stands_on(skeleton, shape.how, branch.tops[0]), ahead


def _limbs(shape: Shape, branch: Branch, several: bool) -> tuple[Limb, Limb]:
    """The left and right limb of a pair; who stands on several pairs, or has wings, has its feet at the ground."""
    skeleton, how = shape.skeleton, shape.how
    left = cross(UP, shape.ahead)
    order = [0, 1]
    if side(skeleton.names[branch.tops[0]]):
        order.sort(key=lambda i: side(skeleton.names[branch.tops[i]]))
    else:
        order.sort(key=lambda i: -float(how.places[hanging(skeleton)[branch.tops[i]]].mean(axis=0) @ left))
    out = []
    for which, i in zip(("left", "right"), order):
        row = main_path(skeleton, branch.tops[i], shape.reach)
        stands = stands_on(skeleton, how, row[0])
        known, inside = _known(skeleton, row), _inside(shape, row, branch, stands)
        parts = grouped(row, how.places, how.heights, known, stands=stands and several, girdle=inside)
        out.append(Limb(side=which, kind="leg" if stands else "arm", parts=parts, stands=stands, named=False))
    return out[0], out[1]


def _inside(shape: Shape, row: list[int], branch: Branch, stands: bool) -> int:
    """How many of a limb's first joints lie so near the middle of the body that no limb can begin there."""
    places = shape.how.places
    off = np.abs((places[row] - places[branch.parent]) @ shape.sides.across)
    near = off < (HIP if stands else COLLAR) * shape.reach[row[0]]
    return min(int(np.argmin(near)) if not near.all() else 0, max(len(row) - 2, 0))


def _known(skeleton: Skeleton, row: list[int]) -> dict[str, int]:
    """What names tell of the joints of a limb, where it is enough to go by."""
    found: dict[str, list[int]] = {}
    for i, joint in enumerate(row):
        part = SPOKEN.get(label(skeleton.names[joint]), "")
        if label(skeleton.names[joint]) == "upper_leg" and any(
            label(skeleton.names[j]) == "upper_arm" for j in row[:i]
        ):
            # Below a humerus, what is called the upper leg of a horse is its forearm.
            part = "lower"
        found.setdefault(part, []).append(i)
    # An ankle and a foot: which of them stands on the ground is seen, not told.
    parts = ("upper", "lower", "end") if len(found.get("end", ())) == 1 else ("upper", "lower")
    places = [found[part][0] for part in parts if part in found]
    if len(places) < len(parts) or places != sorted(set(places)):
        return {}
    return {part: row[place] for part, place in zip(parts, places)}


def _kind(shape: Shape, pairs: list[tuple[Limb, Limb]], has_tail: bool) -> str:
    """What a body is, by how many limbs it stands on."""
    if _is_fish(shape):
        return "fish"
    legs = sum(left.stands for left, _ in pairs)
    if legs == 1:
        said = {word for left, _ in pairs for j in left.bones for word in words(shape.skeleton.names[j])}
        return "bird" if {"wing", "wings"} & said or (has_tail and len(pairs) > 1) else "biped"
    return "spider or insect" if legs > 2 else "quadruped" if legs == 2 else "other"


def _is_fish(shape: Shape) -> bool:
    """Whether a body lies level and has nothing but fins."""
    rows = [main_path(shape.skeleton, branch.tops[0], shape.reach) for branch in shape.branches]
    fins = all(len(row) <= 2 and shape.reach[row[0]] < FIN * shape.size for row in rows)
    level = float(np.ptp(shape.how.places[:, 1])) < LEVEL * shape.size
    return fins and level and shape.skeleton.num_joints > 2


def _of_kind(skeleton: Skeleton, pair: tuple[Limb, Limb], kind: str) -> tuple[Limb, Limb]:
    """Limbs called by what they are: a bird's arms are wings, a fish's fins."""
    spoken = {word for joint in pair[0].bones for word in words(skeleton.names[joint])}
    said = next((name for name in ("wing", "fin") if {name, f"{name}s"} & spoken), None)
    if said is None:
        said = "fin" if kind == "fish" else "wing" if kind == "bird" and not pair[0].stands else pair[0].kind
    left, right = (replace(limb, kind=said, stands=limb.stands and said == "leg") for limb in pair)
    return left, right


def _trunk(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Spine, neck, head and tail: the middle branches ahead of the limbs and behind them."""
    skeleton, how, root, reach = shape.skeleton, shape.how, shape.root, shape.reach
    sided = {joint for pair in shape.sides.pairs for joint in pair}
    # Fins do not tell where a spine ends: a fish bends behind them.
    ends = [] if _is_fish(shape) else [branch.parent for branch in shape.branches]
    front = max(ends, key=lambda j: len(path(skeleton, root, j)), default=root)
    trunk: dict[str, tuple[int, ...]] = {}
    spine = path(skeleton, root, front)[1:]
    carrying = {joint for end in ends for joint in path(skeleton, root, end)}
    heads = middle_rows(skeleton, front, sided | carrying, reach)
    tails = middle_rows(skeleton, root, sided | carrying, reach) if front != root else []
    if len(heads) == 1 and not shape.branches:
        return {"spine": tuple(heads[0])}
    if front == root:
        # All hangs from one joint: what lies ahead is the head, what lies behind the tail.
        way = np.asarray(shape.ahead) + 0.5 * UP
        score = [float((how.tips[row[-1]] - how.places[root]) @ way) for row in heads]
        tails = [row for row, s in zip(heads, score) if s < 0.0]
        heads = [row for row, s in zip(heads, score) if s >= 0.0]
    if spine:
        trunk["spine"] = tuple(spine)
    if heads:
        row = max(heads, key=lambda row: _worth(shape, row))
        cut = _head(skeleton, row)
        trunk |= ({"neck": tuple(row[:cut])} if row[:cut] else {}) | {"head": (row[cut],)}
    if tails:
        longest: list[int] = max(tails, key=lambda tail: _worth(shape, tail))
        trunk["tail"] = tuple(longest)
    return trunk


def _worth(shape: Shape, row: Sequence[int]) -> float:
    """How much a row of bones counts as a part of the middle: its length, less how far to one side it begins."""
    off = float((shape.how.places[row[0]] - shape.how.places[shape.root]) @ shape.sides.across)
    return float(shape.reach[row[0]] + shape.skeleton.lengths[row[0]]) - 10.0 * abs(off)


def _for_kind(skeleton: Skeleton, trunk: dict[str, tuple[int, ...]], kind: str) -> dict[str, tuple[int, ...]]:
    """The trunk as bodies of a kind have it: a spider's tail is its abdomen, a fish swims with its spine."""
    out = dict(trunk)
    if kind == "spider or insect" and "tail" in out:
        out["abdomen"] = out.pop("tail")
    if kind == "fish":
        if "neck" in out:
            out["head"] = out.pop("neck")[:1]
        if "tail" in out and "spine" not in out:
            row = out.pop("tail")
            cut = next((i for i, j in enumerate(row) if "tail" in words(skeleton.names[j])), len(row) - 1)
            out |= {"spine": row[:cut]} if cut else {}
            out["tail"] = row[cut:]
    return out


def _head(skeleton: Skeleton, row: list[int]) -> int:
    """Which bone of the row above the chest is the head: the first that carries several (jaw, ears), else the last."""
    ended = [end.joint for end in skeleton.ends]
    for i, joint in enumerate(row[:-1]):
        if i > 0 and len(skeleton.children[joint]) + ended.count(skeleton.names[joint]) > 1:
            return i
    return len(row) - 1
