"""A body taken apart by its shape: tree, symmetry, proportions and where its bones point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from understudy.base.quaternion import Array, cross
from understudy.correspondence.by_name import named_row, trunk_by_names
from understudy.correspondence.pairs import hanging
from understudy.correspondence.parts import BodyPlan, Limb, grouped, is_helper, main_path, path, reaches
from understudy.correspondence.sides import MirrorPose, Sides, find_sides
from understudy.figure.measures import UP
from understudy.figure.naming import side, words
from understudy.figure.roles import label, meet, roles
from understudy.figure.skeleton import Skeleton

SHORT = 0.3
"""Share of the longest limb's reach below which a pair of branches is no limb: ears, eyes, palps."""

STANDS = 0.15
"""Share of its height within which a limb comes to the ground that the body stands on."""

LIMBS = {"leg", "arm", "wing", "fin"}
"""Words that make a branch a limb, however short."""

NEAR_TRUNK = 0.25
"""Share of its reach within which a branch that divides is several limbs with one root, not a hand with fingers."""

NAMED = (("head", 1.0), ("tail", -1.0), ("abdomen", -1.0), ("jaw", 1.0), ("nose", 1.0), ("beak", 1.0))
"""Words for what is ahead (1) or behind (-1) on a body."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Branch:
    """A limb before it is known what it is."""

    tops: tuple[int, int]
    parent: int
    """The joint of the trunk that it hangs from."""
    reach: float
    """Metres from its top along the bones to its end."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyShape:
    """A body's branches, and which way it faces."""

    skeleton: Skeleton
    how: MirrorPose
    sides: Sides
    reach: Array
    """(J,) metres from each joint along the bones to the farthest end below it."""
    branches: tuple[Branch, ...]
    root: int
    """The joint that carries all of them."""
    ahead: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """(3,) the level direction that the body faces."""
    sure: bool = False
    """Whether anything tells that direction, and so the left from the right."""

    @property
    def size(self) -> float:
        """Metres, the largest extent of the body."""
        return max(float(np.ptp(self.how.places, axis=0).max()), 1e-9)


def find_shape(skeleton: Skeleton, how: MirrorPose) -> BodyShape:
    """A body's limbs in pairs, the joint that carries everything, and the way it faces."""
    reach, sides = reaches(skeleton), find_sides(skeleton, how)
    branches = _branches(skeleton, sides, reach)
    root = _root(skeleton, sides, branches, reach)
    kept = tuple(branch for branch in branches if hanging(skeleton)[root, branch.parent])
    shape = BodyShape(skeleton=skeleton, how=how, sides=sides, reach=reach, branches=kept, root=root)
    ahead, sure = _ahead(shape)
    return replace(shape, ahead=ahead, sure=sure)


def _branches(skeleton: Skeleton, sides: Sides, reach: Array) -> list[Branch]:
    """The pairs of branches of the trunk that are long enough for limbs."""
    other = {j: k for pair in sides.pairs for j, k in (pair, pair[::-1])}
    found: list[Branch] = []
    stack = [0]
    while stack:
        joint = stack.pop()
        for child in skeleton.children[joint]:
            if is_helper(skeleton.names[child]):
                continue
            if child not in other:
                stack.append(child)
            elif child < other[child]:
                found += _split(skeleton, (child, other[child]), joint, reach)
    if not found:
        return []
    longest = max(branch.reach for branch in found)
    return [b for b in found if b.reach >= SHORT * longest or limb_words(skeleton, b.tops[0]) & LIMBS]


def limb_words(skeleton: Skeleton, top: int) -> set[str]:
    """All words that the names of a branch are made of, one of several in the singular."""
    below = np.flatnonzero(hanging(skeleton)[top]).tolist()
    return {word.removesuffix("s") for joint in below for word in words(skeleton.names[joint])}


def _split(skeleton: Skeleton, tops: tuple[int, int], parent: int, reach: Array) -> list[Branch]:
    """One limb, or the several that hang from one bone close to the trunk."""
    full = float(reach[tops[0]] + skeleton.lengths[tops[0]])
    long = [[c for c in skeleton.children[top] if reach[c] + skeleton.lengths[c] > 0.5 * reach[top]] for top in tops]
    divides = len(long[0]) > 1 and len(long[0]) == len(long[1]) and skeleton.lengths[tops[0]] < NEAR_TRUNK * full
    if not divides or _is_digit_root(skeleton, tops[0]):
        return [Branch(tops=tops, parent=parent, reach=float(reach[tops[0]]) or full)]
    found = []
    for pair in zip(*long):
        found += _split(skeleton, (pair[0], pair[1]), parent, reach)
    return found


def _is_digit_root(skeleton: Skeleton, joint: int) -> bool:
    """Whether a branch is one bone with short ones at its end: a fin with rays, a paddle with fingers."""
    return all(not skeleton.children[c] for c in skeleton.children[joint])


def _root(skeleton: Skeleton, sides: Sides, branches: list[Branch], reach: Array) -> int:
    """The joint that carries all limbs and every long branch of the middle, and as little else as can be."""
    sided = {joint for pair in sides.pairs for joint in pair}
    tips: list[int] = [branch.parent for branch in branches]
    most = float(reach[0])
    for joint, children in enumerate(skeleton.children):
        row = skeleton.chain(joint)
        plain = not (set(row) & sided) and not any(is_helper(skeleton.names[j]) for j in row[1:])
        branch = [j for j in row if skeleton.parents[j] >= 0 and len(skeleton.children[skeleton.parents[j]]) > 1]
        long = branch and branch[-1] != joint and reach[branch[-1]] + skeleton.lengths[branch[-1]] > 0.15 * most
        if plain and not children and long:
            tips.append(int(skeleton.parents[branch[-1]]))
    if tips:
        return reduce(lambda a, b: meet(skeleton, a, b), tips)
    return 0


def stands_on(skeleton: Skeleton, how: MirrorPose, top: int) -> bool:
    """Whether a limb comes down to what the body stands on, or is called a leg."""
    if "leg" in limb_words(skeleton, top):
        return True
    return bool(how.lows[hanging(skeleton)[top]].min() < STANDS * max(float(how.heights[top]), 1e-9))


def middle_rows(skeleton: Skeleton, joint: int, leave: set[int], reach: Array) -> list[list[int]]:
    """The longest row of bones down each middle branch of a joint."""
    tops = [c for c in skeleton.children[joint] if c not in leave and not is_helper(skeleton.names[c])]
    rows = []
    for top in tops:
        row = [top]
        while True:
            below = [c for c in skeleton.children[row[-1]] if c not in leave and not is_helper(skeleton.names[c])]
            if not below:
                break
            row.append(max(below, key=lambda c: reach[c] + skeleton.lengths[c]))
        rows.append(row)
    return rows


def _ahead(shape: BodyShape) -> tuple[Array, bool]:
    """(3,) the level direction that a body faces, and whether anything tells it."""
    across = cross(shape.sides.across, UP)
    ahead = across / max(float(np.linalg.norm(across)), 1e-9)
    votes = _sides_vote(shape, ahead) + _trunk_vote(shape, ahead) + _names_vote(shape, ahead) + _feet_vote(shape, ahead)
    if shape.how.ahead is not None:
        votes += 1.5 * float(np.sign(shape.how.ahead @ ahead))
    votes = votes or _middle_vote(shape, ahead)
    if votes == 0.0:
        return ahead * (1.0 if ahead[2] + 1e-3 * ahead[0] >= 0.0 else -1.0), False
    return ahead * np.sign(votes), True


def _sides_vote(shape: BodyShape, ahead: Array) -> float:
    """Names that tell left from right tell ahead too."""
    if not shape.sides.named:
        return 0.0
    names, how = shape.skeleton.names, shape.how
    across = np.zeros(3)
    for j, k in shape.sides.pairs:
        way = 1.0 if side(names[j]) == "left" else -1.0
        across += way * (how.tips[j] - how.tips[k] + how.places[j] - how.places[k])
    return 10.0 * float(np.sign(cross(across, UP) @ ahead))


def _trunk_vote(shape: BodyShape, ahead: Array) -> float:
    """The trunk of a level body runs from the joint that carries it, at the hind legs, to the limbs ahead."""
    start = shape.how.places[shape.root]
    ends = [shape.how.places[branch.parent] - start for branch in shape.branches]
    along = float(max(ends, key=lambda off: float(np.linalg.norm(off)), default=np.zeros(3)) @ ahead)
    return 3.0 * float(np.sign(along)) if abs(along) > 0.15 * shape.size else 0.0


def _names_vote(shape: BodyShape, ahead: Array) -> float:
    """A head is ahead, a tail behind."""
    votes = 0.0
    for part, way in NAMED:
        named = [j for j, name in enumerate(shape.skeleton.names) if part in words(name) and not side(name)]
        off = float((shape.how.places[named].mean(axis=0) - shape.how.places[shape.root]) @ ahead) if named else 0.0
        votes += 2.0 * way * float(np.sign(off)) if abs(off) > 0.05 * shape.size else 0.0
    return votes


def _feet_vote(shape: BodyShape, ahead: Array) -> float:
    """Feet point ahead: from the last joint of the limbs that the body stands on to what lies beyond."""
    skeleton, how = shape.skeleton, shape.how
    found = 0.0
    for branch in shape.branches:
        row = main_path(skeleton, branch.tops[0], shape.reach)
        if not stands_on(skeleton, how, row[0]) or len(row) < 2:
            continue
        long = np.linalg.norm(how.tips[row[-1]] - how.places[row[-1]]) > 0.02 * branch.reach
        foot = row[-1] if long or skeleton.children[row[-1]] else row[-2]
        off = float((how.tips[hanging(skeleton)[foot]].mean(axis=0) - how.places[foot]) @ ahead)
        found += float(np.sign(off)) if abs(off) > 0.03 * branch.reach else 0.0
    return 2.0 * float(np.sign(found))


def _middle_vote(shape: BodyShape, ahead: Array) -> float:
    """A neck rises; and a body that is level has more of itself behind than ahead of the joint that carries it."""
    skeleton, places, reach = shape.skeleton, shape.how.places, shape.reach
    rows = middle_rows(skeleton, shape.root, {joint for pair in shape.sides.pairs for joint in pair}, reach)
    for row in sorted(rows, key=lambda row: -float(places[row[-1], 1])):
        off = places[row[-1]] - places[shape.root]
        if off[1] > 0.1 * shape.size and abs(float(off @ ahead)) > 0.05 * shape.size:
            return float(np.sign(off @ ahead))
    long = max(rows, key=lambda row: reach[row[0]] + skeleton.lengths[row[0]], default=None)
    if long is None or reach[long[0]] + skeleton.lengths[long[0]] < 0.5 * shape.size:
        return 0.0
    return -float(np.sign((places[long[-1]] - places[shape.root]) @ ahead))


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


def by_place(skeleton: Skeleton, how: MirrorPose) -> BodyPlan:
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
    return BodyPlan(
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


def _station(shape: BodyShape, branch: Branch) -> tuple[float, bool, float]:
    """Where a limb is along the body: how far up the trunk it hangs, whether it is off the ground, how far ahead."""
    skeleton, places = shape.skeleton, shape.how.places
    far = float(sum(skeleton.lengths[j] for j in path(skeleton, shape.root, branch.parent)[1:]))
    below = hanging(skeleton)[branch.tops[0]] | hanging(skeleton)[branch.tops[1]]
    ahead = float((places[below].mean(axis=0) - places[shape.root]) @ shape.ahead)
    return round(far / (0.08 * shape.size)), not stands_on(skeleton, shape.how, branch.tops[0]), ahead


def _limbs(shape: BodyShape, branch: Branch, several: bool) -> tuple[Limb, Limb]:
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


def _inside(shape: BodyShape, row: list[int], branch: Branch, stands: bool) -> int:
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


def _kind(shape: BodyShape, pairs: list[tuple[Limb, Limb]], has_tail: bool) -> str:
    """What a body is, by how many limbs it stands on."""
    if _is_fish(shape):
        return "fish"
    legs = sum(left.stands for left, _ in pairs)
    if legs == 1:
        said = {word for left, _ in pairs for j in left.bones for word in words(shape.skeleton.names[j])}
        return "bird" if {"wing", "wings"} & said or (has_tail and len(pairs) > 1) else "biped"
    return "spider or insect" if legs > 2 else "quadruped" if legs == 2 else "other"


def _is_fish(shape: BodyShape) -> bool:
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


def _trunk(shape: BodyShape) -> dict[str, tuple[int, ...]]:
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


def _worth(shape: BodyShape, row: Sequence[int]) -> float:
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
