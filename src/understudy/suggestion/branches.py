"""The branches of a body by its shape: limbs in pairs, the joint that carries all, which way it faces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from understudy.body import UP
from understudy.geometry.quaternion import Array, cross
from understudy.naming import side, words
from understudy.roles import meet
from understudy.skeleton import Skeleton
from understudy.suggestion.pairs import Sides, Stance, find_sides
from understudy.suggestion.parts import is_helper, main_path, reaches
from understudy.transfer.correspondence import hanging

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
class Shape:
    """A body's branches, and which way it faces."""

    skeleton: Skeleton
    how: Stance
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


def find_shape(skeleton: Skeleton, how: Stance) -> Shape:
    """A body's limbs in pairs, the joint that carries everything, and the way it faces."""
    reach, sides = reaches(skeleton), find_sides(skeleton, how)
    branches = _branches(skeleton, sides, reach)
    root = _root(skeleton, sides, branches, reach)
    kept = tuple(branch for branch in branches if hanging(skeleton)[root, branch.parent])
    shape = Shape(skeleton=skeleton, how=how, sides=sides, reach=reach, branches=kept, root=root)
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


def stands_on(skeleton: Skeleton, how: Stance, top: int) -> bool:
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


def _ahead(shape: Shape) -> tuple[Array, bool]:
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


def _sides_vote(shape: Shape, ahead: Array) -> float:
    """Names that tell left from right tell ahead too."""
    if not shape.sides.named:
        return 0.0
    names, how = shape.skeleton.names, shape.how
    across = np.zeros(3)
    for j, k in shape.sides.pairs:
        way = 1.0 if side(names[j]) == "left" else -1.0
        across += way * (how.tips[j] - how.tips[k] + how.places[j] - how.places[k])
    return 10.0 * float(np.sign(cross(across, UP) @ ahead))


def _trunk_vote(shape: Shape, ahead: Array) -> float:
    """The trunk of a level body runs from the joint that carries it, at the hind legs, to the limbs ahead."""
    start = shape.how.places[shape.root]
    ends = [shape.how.places[branch.parent] - start for branch in shape.branches]
    along = float(max(ends, key=lambda off: float(np.linalg.norm(off)), default=np.zeros(3)) @ ahead)
    return 3.0 * float(np.sign(along)) if abs(along) > 0.15 * shape.size else 0.0


def _names_vote(shape: Shape, ahead: Array) -> float:
    """A head is ahead, a tail behind."""
    votes = 0.0
    for part, way in NAMED:
        named = [j for j, name in enumerate(shape.skeleton.names) if part in words(name) and not side(name)]
        off = float((shape.how.places[named].mean(axis=0) - shape.how.places[shape.root]) @ ahead) if named else 0.0
        votes += 2.0 * way * float(np.sign(off)) if abs(off) > 0.05 * shape.size else 0.0
    return votes


def _feet_vote(shape: Shape, ahead: Array) -> float:
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


def _middle_vote(shape: Shape, ahead: Array) -> float:
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
