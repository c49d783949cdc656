"""Which bones of one character play which bones of another, suggested from names, tree and proportions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from understudy.correspondence.by_name import UNKNOWN, by_names, convention
from understudy.correspondence.by_shape import by_place
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, hanging, is_chain
from understudy.correspondence.parts import PARTS, BodyPlan, Limb, in_step
from understudy.correspondence.sides import stance
from understudy.figure.motion import Motion
from understudy.figure.naming import SIDES, words
from understudy.figure.skeleton import Skeleton

BY_NAME, BY_BOTH, BY_PLACE = 0.95, 0.8, 0.7
"""How sure a pair is whose bones are both told by name, one by name and one by place, both by place."""

SAME_NAME = 0.9
"""How sure a pair is whose bones only have the same name and hang from bones that correspond."""

UNEQUAL = 0.9
"""What is left of it where chains of different lengths share out the movement."""

GUESSED_SIDES = 0.65
"""What is left of it where nothing tells left from right."""

UNLIKE = {
    frozenset(("arm", "leg")): 0.75, frozenset(("arm", "wing")): 0.75, frozenset(("leg", "wing")): 0.7,
    frozenset(("arm", "fin")): 0.65, frozenset(("leg", "fin")): 0.6, frozenset(("wing", "fin")): 0.65,
}  # fmt: skip
"""What is left of it between limbs of different kinds."""

OTHER_BODY = 0.85
"""What is left of it between the trunks of bodies of different kinds."""

TAIL_FIN = 0.4
"""How sure it is that two legs move as a tail fin [Hsieh05, sec. 3.1]."""

WORDS = {
    "arm": ("collar bone", "upper arm", "forearm", "hand", "fingers"),
    "leg": ("hip joint", "thigh", "shin", "foot", "toes"),
    "foreleg": ("shoulder blade", "upper foreleg", "lower foreleg", "fore paw", "toes of the fore paw"),
    "hind leg": ("hip joint", "upper hind leg", "lower hind leg", "hind paw", "toes of the hind paw"),
    "wing": ("shoulder", "inner wing", "middle wing", "outer wing", "wing tip"),
    "fin": ("base of the fin", "fin", "fin", "fin", "tip of the fin"),
}
"""What the PARTS of a limb are called."""

RANKS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


class Matching:
    """Pairs found so far between two bodies; no bone is taken twice."""

    def __init__(self, source: BodyPlan, target: BodyPlan) -> None:
        self.source, self.target = source, target
        self.pairs: list[Pair] = []
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()
        """Joints of the target in pairs; those of the source are the keys of `partner`."""
        self.joints: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        """The joints of both sides in pairs, each with the number of its pair."""

    def add(self, one: Sequence[int], other: Sequence[int], confidence: float, reason: str) -> None:
        """Pair bones of both sides, unless one of them is in a pair already or they would turn the tree over."""
        if not (one and other) or any(j in self.partner for j in one) or any(j in self.taken for j in other):
            return
        if self._turns_over(one, other):
            return
        for joints, row in zip(self.joints, (one, other)):
            joints += [(joint, len(self.pairs)) for joint in row]
        a, b = self.source.skeleton.names, self.target.skeleton.names
        same = tuple(a[j] for j in one), tuple(b[j] for j in other)
        self.pairs.append(Pair(source=same[0], target=same[1], confidence=round(confidence, 2), reason=reason))
        self.partner |= dict(zip_longest(one, other[: len(one)], fillvalue=other[-1]))
        self.taken |= set(other)

    def _turns_over(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether a pair would hang from another on one body and carry it on the other body."""
        if not self.pairs:
            return False
        carried, carrying = [], []
        for plan, joints, row in zip((self.source, self.target), self.joints, (one, other)):
            known, numbers = np.array(joints, dtype=np.intp).T
            below, found = hanging(plan.skeleton), np.zeros((2, len(self.pairs)), bool)
            found[0, numbers[below[np.ix_(row, known)].any(axis=0)]] = True
            found[1, numbers[below[np.ix_(known, row)].any(axis=1)]] = True
            carried.append(found[0])
            carrying.append(found[1])
        return bool(np.any((carried[0] & carrying[1]) | (carrying[0] & carried[1])))

    def rows(self, one: Sequence[int], other: Sequence[int], confidence: float, what: str, how: str) -> None:
        """Pair two rows of bones: one to one if they are as many, else as two chains."""
        if len(one) == len(other):
            for number, (j, k) in enumerate(zip(one, other), start=1):
                which = f"bone {number} of the {what}" if len(one) > 1 else f"the {what}"
                self.add((j,), (k,), confidence, f"both are {which} {how}{self._called(j, k, how)}")
        elif one and other:
            counts = f"{len(one)} {'bone' if len(one) == 1 else 'bones'} against {len(other)}"
            self.add(one, other, confidence * UNEQUAL, f"both are the {what} {how}, {counts}")

    def _called(self, j: int, k: int, how: str) -> str:
        sides = ((self.source.skeleton, j), (self.target.skeleton, k))
        known = [convention(skeleton) for skeleton, _ in sides]
        if "name" not in how or set(known) == {UNKNOWN}:
            return ""
        said = [s.names[i] if c == UNKNOWN else f"{c}: {s.names[i]}" for c, (s, i) in zip(known, sides)]
        return f" ({'; '.join(said)})"


def match(source: BodyPlan, target: BodyPlan) -> list[Pair]:
    """The pairs of two bodies, the root first."""
    found = Matching(source, target)
    sure, how = _surety(source.named, target.named)
    alike = 1.0 if source.kind == target.kind else OTHER_BODY
    found.rows((source.root,), (target.root,), sure * alike, "bone that carries the whole body", how)
    _match_trunk(found, alike)
    for mine, its in _matched_limbs(source, target):
        for limb, other in zip(mine, its):
            _match_limb(found, limb, other)
    _match_tail_fin(found)
    _match_same_names(found)
    return found.pairs


def _surety(named: bool, other: bool) -> tuple[float, str]:
    if named and other:
        return BY_NAME, "by name"
    return (BY_PLACE, "by place in the body") if not (named or other) else (BY_BOTH, "by name and place")


def _match_trunk(found: Matching, alike: float) -> None:
    source, target = found.source, found.target
    mine, its = dict(source.trunk), dict(target.trunk)
    for one, other in ((mine, its), (its, mine)):
        # A fish against a body without a tail: all of its back but the fin is a spine.
        if "tail" in one and "tail" not in other and _is_fish(source if one is mine else target):
            one["spine"], one["tail"] = one.get("spine", ()) + one["tail"][:-1], one["tail"][-1:]
    for part in ("spine", "neck", "head", "jaw", "tail", "abdomen"):
        sure, how = _surety(part in source.named_trunk, part in target.named_trunk)
        scale = alike if part != "spine" or _is_fish(source) == _is_fish(target) else 0.65
        found.rows(mine.get(part, ()), its.get(part, ()), sure * scale, part, how)


def _is_fish(plan: BodyPlan) -> bool:
    return plan.kind == "fish"


Sides = tuple[Limb, Limb]


def _matched_limbs(source: BodyPlan, target: BodyPlan) -> list[tuple[Sides, Sides]]:
    """Which limbs of one body are which of the other's."""
    out: list[tuple[Sides, Sides]] = []
    mine, its = list(source.limbs), list(target.limbs)
    # Wings beside at least two pairs of legs are no limbs to walk on: they only match wings.
    for one, other in ((mine, its), (its, mine)):
        extra = [p for p in one if p[0].kind == "wing"] if sum(p[0].stands for p in one) > 1 else []
        wings = [p for p in other if p[0].kind == "wing"]
        for pair in extra:
            one.remove(pair)
            if wings:
                other.remove(wings[0])
                out.append((pair, wings.pop(0)) if one is mine else (wings.pop(0), pair))
    few, many = (mine, its) if len(mine) <= len(its) else (its, mine)
    if not few:
        return out
    if len(few) == 1 and len(many) > 1:
        # A lone pair is the legs if it stands, else the arms, wings or fins in front.
        chosen = [many[0] if few[0][0].stands else many[-1]]
    else:
        chosen = [many[i] for i in np.rint(np.linspace(0, len(many) - 1, len(few))).astype(int)]
    if len(few) == 1 and len(many) == 1 and few[0][0].kind != many[0][0].kind and few[0][0].stands != many[0][0].stands:
        return out
    return out + ([(a, b) for a, b in zip(few, chosen)] if few is mine else [(b, a) for a, b in zip(few, chosen)])


def limb_name(plan: BodyPlan, limb: Limb) -> str:
    """What a limb is called: left arm, left hind leg, left leg 2 (counted from the front)."""
    number = next((i for i, pair in enumerate(reversed(plan.limbs)) if limb in pair), 0)
    if limb.kind == "leg" and sum(pair[0].stands for pair in plan.limbs) > 2:
        return f"{limb.side} leg {number + 1}"
    if limb.kind == "leg" and plan.kind == "quadruped":
        return f"{limb.side} {'foreleg' if number == 0 else 'hind leg'}"
    return f"{limb.side} {limb.kind}"


def part_name(plan: BodyPlan, limb: Limb, part: str) -> str:
    """What a part of a limb is called: left upper arm, thigh of left leg 2."""
    whole = limb_name(plan, limb)
    kind = whole.removeprefix(f"{limb.side} ")
    word = WORDS.get(kind, WORDS[limb.kind])[PARTS.index(part)]
    return f"{limb.side} {word}" if kind in WORDS else f"{word} of {whole}"


def _match_limb(found: Matching, limb: Limb, other: Limb) -> None:
    source, target = found.source, found.target
    sure, how = _surety(limb.named, other.named)
    sure *= UNLIKE.get(frozenset((limb.kind, other.kind)), 1.0)
    if limb.kind == other.kind and source.kind != target.kind:
        sure *= OTHER_BODY
    if not (source.sure_sides and target.sure_sides):
        sure *= GUESSED_SIDES
        how += "; which side is left is a guess"
    both = [part_name(source, limb, part) for part in PARTS], [part_name(target, other, part) for part in PARTS]
    if limb.kind != "leg" or other.kind != "leg" or "biped" not in (source.kind, target.kind):
        _match_part(found, limb, other, "girdle", both, sure, how)
    # Between unlike bodies what stands on the ground corresponds, whatever lies above it.
    rows = _in_a_row(source, limb.bones) and _in_a_row(target, other.bones)
    step = rows and in_step(source.skeleton, limb.bones, target.skeleton, other.bones)
    if not (limb.named and other.named) and source.kind == target.kind and step:
        _match_in_order(found, limb, other, sure, how)
        return
    for part in ("upper", "lower", "end"):
        _match_part(found, limb, other, part, both, sure, how)
    _match_toes(found, limb, other, both, sure, how)
    for finger in limb.digits:
        if finger in other.digits:
            what = f"{limb.side} {'fingers' if finger == 'mitten' else finger}"
            found.rows(limb.digits[finger], other.digits[finger], BY_NAME, what, "by name")


Called = tuple[list[str], list[str]]


def _match_part(found: Matching, limb: Limb, other: Limb, part: str, both: Called, sure: float, how: str) -> None:
    one, two = (names[PARTS.index(part)] for names in both)
    joints, others = limb.parts.get(part, ()), other.parts.get(part, ())
    if one == two:
        found.rows(joints, others, sure, one, how)
    elif joints and others:
        row = list(zip(joints, others)) if len(joints) == len(others) else []
        for j, k in row:
            found.add((j,), (k,), sure, f"{one} and {two} correspond {how}")
        if not row:
            counts = f"{len(joints)} against {len(others)} bones"
            found.add(joints, others, sure * UNEQUAL, f"{one} and {two} correspond {how}, {counts}")


def _match_in_order(found: Matching, limb: Limb, other: Limb, sure: float, how: str) -> None:
    """Limbs of as many bones, one by one."""
    one, two = limb_name(found.source, limb), limb_name(found.target, other)
    what = f"the {one}" if one == two else f"the {one} and of the {two}"
    for number, (j, k) in enumerate(zip(limb.bones, other.bones)):
        rank = RANKS[number] if number < len(RANKS) else f"{number + 1}th"
        found.add((j,), (k,), sure, f"{rank} bone of {what} {how}")


def _match_toes(found: Matching, limb: Limb, other: Limb, both: Called, sure: float, how: str) -> None:
    """Toes: one joint for all of them, or several side by side, which move as one."""
    one, two = (names[-1] for names in both)
    toes = _in_order(found.source.skeleton, limb.parts.get("tip", ()))
    others = _in_order(found.target.skeleton, other.parts.get("tip", ()))
    what = f"both are the {one} {how}" if one == two else f"{one} and {two} correspond {how}"
    if len(toes) == len(others) > 1 and _in_a_row(found.source, toes) == _in_a_row(found.target, others):
        for j, k in zip(toes, others):
            found.add((j,), (k,), sure, what)
    else:
        found.add(toes, others, sure if len(toes) == len(others) else sure * UNEQUAL, what)


def _in_a_row(plan: BodyPlan, joints: Sequence[int]) -> bool:
    return is_chain(plan.skeleton, [plan.skeleton.names[j] for j in joints])


def _in_order(skeleton: Skeleton, joints: Sequence[int]) -> list[int]:
    return sorted(joints, key=lambda j: words(skeleton.names[j]))


def _match_tail_fin(found: Matching) -> None:
    """Both legs of one body for the tail fin of the other [Hsieh05, sec. 3.1]."""
    for plan, other, turned in ((found.source, found.target, False), (found.target, found.source, True)):
        fin = other.trunk.get("tail", ())[-1:] if _is_fish(other) else ()
        legs = [pair for pair in plan.limbs if pair[0].stands and "upper" in pair[0].parts]
        if not (fin and legs) or _is_fish(plan):
            continue
        tops = tuple(limb.parts["upper"][0] for limb in legs[0])
        row = (tops, fin) if not turned else (fin, tops)
        found.add(*row, TAIL_FIN, "both legs together move as the tail fin")


def _match_same_names(found: Matching) -> None:
    """Bones left over that have the same name and hang from bones that correspond."""
    a, b = found.source.skeleton, found.target.skeleton
    its: dict[tuple[str, str], int] = {}
    for k in range(found.target.root + 1, b.num_joints):
        its.setdefault(_key(b.names[k]), k)
    for j in range(found.source.root + 1, a.num_joints):
        k = its.get(_key(a.names[j]), -1)
        if j in found.partner or k < 0 or k in found.taken or not any(c.isalpha() for c in a.names[j]):
            continue
        above = next((i for i in reversed(a.chain(j)[:-1]) if i in found.partner), None)
        over = next((i for i in reversed(b.chain(k)[:-1]) if i in found.taken), None)
        if above is not None and found.partner[above] == over:
            found.add((j,), (k,), SAME_NAME, f"both are called {a.names[j]} and hang from bones that correspond")


def _key(name: str) -> tuple[str, str]:
    """A name without its spelling: the side, and the other words run together."""
    said = words(name)
    side = next((SIDES[word] for word in said if word in SIDES), "")
    return side, "".join(word for word in said if word not in SIDES)


HINT = (
    "write a map to start from with `understudy map SOURCE TARGET -o map.toml`, add the pairs in an editor, and give "
    "it with `--map map.toml`"
)


def suggest(
    source: Skeleton, target: Skeleton, *, source_motion: Motion | None = None, target_motion: Motion | None = None
) -> Correspondence:
    """The correspondence of two characters: pairs of bones, each with a confidence and a reason.

    Names are believed first; where they say nothing, the tree, its symmetry, its proportions and the directions of
    its bones tell trunk, limbs and sides.

    Args:
        source: The character that moves.
        target: The character that is to move.
        source_motion: A motion of the source, to see how it stands where its rest pose is no pose.
        target_motion: The same of the target.
    """
    if source.names == target.names and np.array_equal(source.parents, target.parents):
        pairs = [Pair(source=(n,), target=(n,), reason="the same bone of the same skeleton") for n in source.names]
    else:
        one, other = take_apart(source, source_motion), take_apart(target, target_motion)
        pairs = match(one, other)
        if len(pairs) == 1 and min(source.num_joints, target.num_joints) > 1:
            raise _nothing(one, other)
    return Correspondence(source=source, target=target, pairs=tuple(pairs))


def take_apart(skeleton: Skeleton, motion: Motion | None = None) -> BodyPlan:
    """The parts of a body, by names if they tell arms and legs, else by their place in the body."""
    how = stance(skeleton, motion)
    return by_names(skeleton, how) or by_place(skeleton, how)


def _nothing(one: BodyPlan, other: BodyPlan) -> CorrespondenceError:
    return CorrespondenceError(
        f"Nothing but the root corresponds: the source is {described(one)}; the target is {described(other)}", hint=HINT
    )


def described(plan: BodyPlan) -> str:
    """A body in a few words: what kind it is and what it has."""
    kinds: dict[str, int] = {}
    for pair in plan.limbs:
        kinds[pair[0].kind] = kinds.get(pair[0].kind, 0) + 1
    has = [f"{count} {'pair' if count == 1 else 'pairs'} of {kind}s" for kind, count in kinds.items()]
    has += [part for part in ("spine", "neck", "head", "tail") if part in plan.trunk]
    lacks = [part for part in ("spine", "head") if part not in plan.trunk] + ([] if plan.limbs else ["limbs in pairs"])
    name = f" `{plan.skeleton.name}`" if plan.skeleton.name else ""
    said = f"{plan.kind}{name} of {plan.skeleton.num_joints} bones with {', '.join(has) or 'no part that can be told'}"
    return said + (f", without {', '.join(lacks)}" if lacks else "")
