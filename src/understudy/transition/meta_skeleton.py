"""One skeleton for two motions: the body itself where both are of one, else the meta-skeleton of their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, conjugate, identity, multiply, rotate, unrotate
from understudy.base.records import cached
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, is_chain
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.figure.symmetry import partners

Node = tuple[int, int]
"""The joint of the source and the joint of the target that a joint of the union stands for; -1 for none."""


@dataclass(frozen=True, kw_only=True)
class Union:
    """The joints of both bodies as one tree."""

    nodes: tuple[Node, ...]
    """Parents before children."""
    parents: tuple[int, ...]
    loose: tuple[int, ...]
    """The merged joints that the two bodies hang from different merged ones: here they hang from what both agree on."""


def unite(whole: Correspondence) -> Union:
    """Put two bodies together by their map."""
    merged = sorted(
        (whole.source.index[a], whole.target.index[b]) for pair in whole.pairs for a, b in matched(whole, pair)
    )
    above = {node: _shared_above(whole, merged, node) for node in merged}
    carried = _carried(whole, merged, above)
    parent: dict[Node, Node | None] = {}
    for node in merged:
        top = above[node]
        line = [*([] if top is None else [top]), *_in_series(whole, node, carried), node]
        parent.setdefault(line[0], None)
        parent.update(dict(zip(line[1:], line[:-1], strict=True)))
    for side, skeleton in enumerate((whole.source, whole.target)):
        image = {node[side]: node for node in merged}
        for joint in range(skeleton.num_joints):
            own = image.setdefault(joint, _single(side, joint))
            if own not in parent:
                parent[own] = image[int(skeleton.parents[joint])]
    nodes = _in_order(parent)
    number = {node: i for i, node in enumerate(nodes)}
    up = [parent[node] for node in nodes]
    return Union(
        nodes=tuple(nodes),
        parents=tuple(-1 if each is None else number[each] for each in up),
        loose=tuple(number[node] for node in merged if _is_loose(whole, merged, above, node)),
    )


def matched(whole: Correspondence, pair: Pair) -> list[tuple[str, str]]:
    """The bones of a pair that become one, (source, target) each."""
    for side in ("source", "target"):
        bones = getattr(pair, side)
        if not is_chain(getattr(whole, side), bones):
            said = ", ".join(f"`{bone}`" for bone in bones)
            raise CorrespondenceError(
                f"{pair} is ambiguous for a skeleton that is both bodies: {said} of the {side} do not follow each "
                "other, so that no one of them is the bone they correspond to",
                hint="pair one of them and leave the others without a partner, or list a chain from the body outwards",
            )
    long, short = max(len(pair.source), len(pair.target)), min(len(pair.source), len(pair.target))
    spread = [(2 * i * (long - 1) + short - 1) // (2 * (short - 1)) if short > 1 else 0 for i in range(short)]
    even = list(range(short))
    a, b = (even, spread) if len(pair.source) == short else (spread, even)
    return [(pair.source[i], pair.target[j]) for i, j in zip(a, b, strict=True)]


def _single(side: int, joint: int) -> Node:
    return (joint, -1) if side == 0 else (-1, joint)


def _chains(whole: Correspondence, node: Node) -> tuple[list[int], list[int]]:
    """The joints above a merged one on each body, from the root."""
    return whole.source.chain(node[0])[:-1], whole.target.chain(node[1])[:-1]


def _shared_above(whole: Correspondence, merged: list[Node], node: Node) -> Node | None:
    """The lowest merged joint that carries a merged joint on both bodies."""
    a, b = (set(chain) for chain in _chains(whole, node))
    found = [other for other in merged if other[0] in a and other[1] in b]
    return max(found, key=lambda other: int(whole.source.depths[other[0]]), default=None)


def _is_loose(whole: Correspondence, merged: list[Node], above: dict[Node, Node | None], node: Node) -> bool:
    """Whether either body has a merged joint between this one and what both hang it from."""
    for side, chain in enumerate(_chains(whole, node)):
        lowest = next((other for joint in reversed(chain) for other in merged if other[side] == joint), None)
        if lowest != above[node]:
            return True
    return False


def _carried(whole: Correspondence, merged: list[Node], above: dict[Node, Node | None]) -> dict[Node, frozenset[Node]]:
    """For each joint of one body only that leads from a merged joint to others: those others."""
    found: dict[Node, set[Node]] = {}
    for node in merged:
        for side, chain in enumerate(_chains(whole, node)):
            top = above[node]
            between = chain[chain.index(top[side]) + 1 :] if top is not None else chain
            # Behind a merged joint that only this body has here, what follows leads to that one and not to this.
            stops = [i for i, joint in enumerate(between) if any(joint == other[side] for other in merged)]
            for joint in between[: stops[0]] if stops else between:
                found.setdefault(_single(side, joint), set()).add(node)
    return {node: frozenset(leads) for node, leads in found.items()}


def _in_series(whole: Correspondence, node: Node, carried: dict[Node, frozenset[Node]]) -> list[Node]:
    """The joints of one body only that lead to a merged joint, highest first."""
    mine = [each for each, leads in carried.items() if node in leads]
    mine.sort(key=lambda each: (-len(carried[each]), each[0] < 0, each))
    for upper, lower in pairwise(mine):
        if not carried[upper] >= carried[lower]:
            a, b = (_named(whole, each) for each in (upper, lower))
            raise CorrespondenceError(
                f"The map is ambiguous: {a} and {b} both lead to `{whole.source.names[node[0]]}`, and each to bones "
                "that the other does not lead to, so that neither can hang from the other",
                hint="pair these two, or leave some of the bones that hang from them without a partner",
            )
    return mine


def _named(whole: Correspondence, node: Node) -> str:
    side = "source" if node[0] >= 0 else "target"
    skeleton: Skeleton = getattr(whole, side)
    return f"`{skeleton.names[max(node)]}` of the {side}"


def _in_order(parent: dict[Node, Node | None]) -> list[Node]:
    """The joints with parents before children, those of the source in its own order first."""
    children: dict[Node | None, list[Node]] = {}
    for node, above in parent.items():
        children.setdefault(above, []).append(node)
    out, pending = [], sorted(children[None], reverse=True)
    while pending:
        out.append(pending.pop())
        below = children.get(out[-1], [])
        pending += sorted(below, key=lambda node: (node[0] < 0, node), reverse=True)
    return out


SIDES = ("source", "target")


@dataclass(frozen=True, eq=False, kw_only=True)
class Meta:
    """Two bodies as one, and the way there and back."""

    correspondence: Correspondence
    skeleton: Skeleton
    """Both bodies' joints and, as joints too, their end points; bones that both have are as long as the source's."""
    joints: np.ndarray
    """(M, 2) the joint of the source and of the target that each joint stands for; -1 for none."""
    ends: np.ndarray
    """(M, 2) likewise the end points."""
    turns: tuple[Array, Array]
    """(J, 4) for each joint of the source, and of the target, from its own frame to the frame that it has here."""
    loose: tuple[str, ...] = ()
    """Joints that the bodies hang from different ones: their bones change length as the body moves."""

    @property
    def num_shared(self) -> int:
        """How many joints, end points not counted, both bodies have."""
        return int((self.joints >= 0).all(axis=1).sum())

    def from_source(self, motion: Motion) -> Motion:
        """A motion of the source on this skeleton: every joint and end point exactly where it was."""
        return self._from(0, motion)

    def from_target(self, motion: Motion) -> Motion:
        """A motion of the target on this skeleton: every joint and end point exactly where it was."""
        return self._from(1, motion)

    def to_source(self, motion: Motion) -> Motion:
        """What the source's bones do in a motion of this skeleton, by the source with its own bone lengths."""
        return self._to(0, motion)

    def to_target(self, motion: Motion) -> Motion:
        """What the target's bones do in a motion of this skeleton, by the target with its own bone lengths."""
        return self._to(1, motion)

    def point(self, side: str, point: Point) -> Point:
        """A point of the source's or target's body on this skeleton; one of its end points is a joint of its own."""
        which = SIDES.index(side)
        own = self._bodies[which]
        for number, end in enumerate(own.ends):
            if end.name == point.name and end.joint == point.joint and np.allclose(end.offset, point.offset):
                name = self.skeleton.names[int(np.flatnonzero(self.ends[:, which] == number)[0])]
                return Point(name=point.name, joint=name)
        joint = own.joint(point.joint)
        name = self.skeleton.names[self.number(side, joint)]
        return Point(name=point.name, joint=name, offset=rotate(self.turns[which][joint], point.offset))

    def number(self, side: str, joint: int) -> int:
        """The joint of this skeleton that stands for a joint of the source or target."""
        return int(np.flatnonzero(self.joints[:, SIDES.index(side)] == joint)[0])

    @property
    def _bodies(self) -> tuple[Skeleton, Skeleton]:
        return self.correspondence.source, self.correspondence.target

    @cached
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """For each side (M,) the joint to take place and frame from: itself where the body has it, else the one above.

        What stands above all that a body has is taken from the first that it has.
        """
        out = []
        for which in (0, 1):
            has = (self.joints[:, which] >= 0) | (self.ends[:, which] >= 0)
            found = np.arange(len(has))
            for joint, parent in enumerate(self.skeleton.parents):
                if not has[joint]:
                    found[joint] = found[parent] if parent >= 0 else int(np.argmax(has))
            out.append(found)
        return out[0], out[1]

    def _from(self, which: int, motion: Motion) -> Motion:
        own = self._bodies[which]
        _check(motion, own, SIDES[which])
        pose = fk(motion)
        shape = (motion.num_frames, self.skeleton.num_joints)
        place, world = np.empty((*shape, 3)), np.empty((*shape, 4))
        for columns, is_end in ((self.joints[:, which], False), (self.ends[:, which], True)):
            mine = np.flatnonzero(columns >= 0)
            numbers = columns[mine]
            bone = np.array([own.index[own.ends[n].joint] for n in numbers], np.intp) if is_end else numbers
            place[:, mine] = pose.ends()[:, numbers] if is_end else pose.positions[:, numbers]
            world[:, mine] = multiply(pose.rotations[:, bone], conjugate(self.turns[which][bone]))
        taken = self._order[which]
        rest = self.skeleton.rest_world[1]
        lacking = np.flatnonzero(taken != np.arange(len(taken)))
        place[:, lacking] = place[:, taken[lacking]]
        bent = multiply(conjugate(rest[taken[lacking]]), rest[lacking])
        world[:, lacking] = multiply(world[:, taken[lacking]], bent)
        up = self.skeleton.parents[1:]
        offsets = np.zeros_like(place)
        offsets[:, 0] = self.skeleton.offsets[0]
        offsets[:, 1:] = unrotate(world[:, up], place[:, 1:] - place[:, up])
        local = world.copy()
        local[:, 1:] = multiply(conjugate(world[:, up]), world[:, 1:])
        return replace(motion, skeleton=self.skeleton, root=place[:, 0], rotations=local, offsets=offsets)

    def _to(self, which: int, motion: Motion) -> Motion:
        own = self._bodies[which]
        _check(motion, self.skeleton, "meta-skeleton")
        pose = fk(motion)
        numbers = np.array([self.number(SIDES[which], joint) for joint in range(own.num_joints)])
        world = multiply(pose.rotations[:, numbers], self.turns[which])
        local = world.copy()
        local[:, 1:] = multiply(conjugate(world[:, own.parents[1:]]), world[:, 1:])
        return replace(motion, skeleton=own, root=pose.positions[:, numbers[0]], rotations=local, offsets=None)


def meta_skeleton(correspondence: Correspondence, alignment: Alignment) -> Meta:
    """Put two bodies together into one that holds both.

    Args:
        correspondence: Which bones belong together; refused where they cannot become one.
        alignment: The reference poses in which the two bodies' frames are made to agree.
    """
    union = unite(correspondence)
    joints = np.array(union.nodes)
    world = _reference(union, alignment)
    ends, homes = _ends(correspondence, joints)
    turns = tuple(
        multiply(conjugate(world[_numbers(joints[:, which])]), reference)
        for which, reference in enumerate((alignment.source_world, alignment.target_world))
    )
    none = np.full((len(homes), 2), -1)
    order, parents = _tree_order([*union.parents, *homes.tolist()])
    world = np.concatenate([world, world[homes]])[order]
    joints = np.concatenate([joints, none])[order]
    ends = np.concatenate([np.full((len(union.nodes), 2), -1), ends])[order]
    names = _names(correspondence, joints, ends)
    rest = world.copy()
    rest[1:] = multiply(conjugate(world[parents[1:]]), world[1:])
    kinds = [JointKind.FIXED if is_end else JointKind.BALL for is_end in (ends >= 0).any(axis=1)]
    skeleton = Skeleton(
        names=names,
        parents=parents,
        offsets=np.zeros((len(names), 3)),
        rest=rest,
        kinds=(JointKind.FREE, *kinds[1:]),
        name=_called(correspondence),
    )
    bare = Meta(
        correspondence=correspondence,
        skeleton=skeleton,
        joints=joints,
        ends=ends,
        turns=(turns[0], turns[1]),
        loose=tuple(names[int(np.flatnonzero(order == i)[0])] for i in union.loose),
    )
    return replace(bare, skeleton=replace(skeleton, offsets=_bones(bare, alignment)))


def _tree_order(parents: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """An order in which each joint is followed by all that hangs from it, and the parents in that order."""
    children: dict[int, list[int]] = {}
    for joint, parent in enumerate(parents):
        children.setdefault(parent, []).append(joint)
    order, pending = [], children[-1][::-1]
    while pending:
        order.append(pending.pop())
        pending += children.get(order[-1], [])[::-1]
    place = {joint: number for number, joint in enumerate(order)} | {-1: -1}
    return np.array(order), np.array([place[parents[joint]] for joint in order], np.intp)


def _check(motion: Motion, skeleton: Skeleton, who: str) -> None:
    if motion.skeleton.names != skeleton.names or not np.array_equal(motion.skeleton.parents, skeleton.parents):
        raise MotionError(
            f"Expected a motion of the {who}, `{skeleton.name}` with {skeleton.num_joints} joints from "
            f"`{skeleton.names[0]}`; got one of `{motion.skeleton.name}` with {motion.skeleton.num_joints} from "
            f"`{motion.skeleton.names[0]}`"
        )


def _reference(union: Union, alignment: Alignment) -> Array:
    """(N, 4) the joints' orientations in the reference pose: the source's; the target's own joints rest as the one
    above them does, those above everything as the first joint that the source has."""
    first = next(node[0] for node in union.nodes if node[0] >= 0)
    world = identity(len(union.nodes))
    for number, (node, parent) in enumerate(zip(union.nodes, union.parents, strict=True)):
        above = alignment.source_world[first] if parent < 0 else world[parent]
        world[number] = alignment.source_world[node[0]] if node[0] >= 0 else above
    return world


def _numbers(column: np.ndarray) -> np.ndarray:
    """(J,) where each joint of a body stands, from the joints (N,) that stand for one."""
    out = np.empty(int(column.max()) + 1, np.intp)
    mine = np.flatnonzero(column >= 0)
    out[column[mine]] = mine
    return out


def _ends(whole: Correspondence, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The end points of both bodies (E, 2), -1 for none, and the joints (E,) that they are on.

    Two become one if the map says so, if they have one name, or if each is the only one of its bone; always on bones
    that are one themselves.
    """
    sides = (whole.source, whole.target)
    home = [
        [int(np.flatnonzero(joints[:, which] == body.index[end.joint])[0]) for end in body.ends]
        for which, body in enumerate(sides)
    ]
    said = {(pair.source, pair.target) for pair in whole.points}
    found: dict[int, int] = {}
    for a, first in enumerate(whole.source.ends):
        others = [b for b in range(len(whole.target.ends)) if home[1][b] == home[0][a] and b not in found.values()]
        given = [b for b in others if (first.name, whole.target.ends[b].name) in said]
        same = [b for b in others if whole.target.ends[b].name == first.name]
        alone = others if len(others) == 1 and home[0].count(home[0][a]) == 1 else []
        for b in (given or same or alone)[:1]:
            found[a] = b
    pairs = [(a, found.get(a, -1)) for a in range(len(home[0]))]
    pairs += [(-1, b) for b in range(len(home[1])) if b not in found.values()]
    homes = [home[0][a] if a >= 0 else home[1][b] for a, b in pairs]
    return np.array(pairs, np.intp).reshape(-1, 2), np.array(homes, np.intp)


def _names(whole: Correspondence, joints: np.ndarray, ends: np.ndarray) -> tuple[str, ...]:
    """The source's names, then the target's; one that is taken already gets the target's own before it."""
    out: list[str] = []
    prefix = whole.target.name or "target"
    own = {*whole.source.names, *(end.name for end in whole.source.ends)}
    for (a, b), (end_a, end_b) in zip(joints.tolist(), ends.tolist(), strict=True):
        if a >= 0 or end_a >= 0:
            wanted = whole.source.names[a] if a >= 0 else whole.source.ends[end_a].name
        else:
            wanted = whole.target.names[b] if b >= 0 else whole.target.ends[end_b].name
            wanted = f"{prefix}_{wanted}" if wanted in own else wanted
        out.append(_free(wanted, out))
    return tuple(out)


def _free(wanted: str, taken: Sequence[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _called(whole: Correspondence) -> str:
    return "_".join(name for name in (whole.source.name, whole.target.name) if name)


def _bones(meta: Meta, alignment: Alignment) -> Array:
    """(M, 3) bones as long as the source's in its reference pose, and those that it lacks as the target's."""
    whole = meta.correspondence
    poses = [
        Motion(skeleton=body, fps=30.0, root=body.offsets[:1], rotations=local[None])
        for body, local in ((whole.source, alignment.source), (whole.target, alignment.target))
    ]
    first, second = (motion.offsets for motion in (meta.from_source(poses[0]), meta.from_target(poses[1])))
    assert first is not None
    assert second is not None
    lacks = (meta.joints[:, 0] < 0) & (meta.ends[:, 0] < 0)
    offsets = np.where(lacks[:, None], second[0], first[0])
    offsets[0] = whole.source.offsets[0]
    return offsets


SAME = 1e-6
"""Metres, or parts of a unit quaternion, below which two bodies are the same."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shared:
    """How the motions of two bodies come to be on one skeleton."""

    correspondence: Correspondence
    meta: Meta | None
    """None where both are of one body, on which they are already."""
    notes: tuple[str, ...] = ()

    def home(self, which: int, motion: Motion) -> Motion:
        """A motion of the first (0) or second (1) body on the skeleton of both."""
        if self.meta is None:
            return motion
        return (self.meta.from_source, self.meta.from_target)[which](motion)

    def point(self, which: int, point: Point) -> Point:
        """A point of the first or second body on the skeleton of both."""
        return point if self.meta is None else self.meta.point(SIDES[which], point)


def share(first: Motion, second: Motion, given: Correspondence | None, alignment: Alignment | None) -> Shared:
    """Find the skeleton for two motions.

    Args:
        first: The one.
        second: The other.
        given: Which bones correspond; by name where all joints are the same, else suggested if not given.
        alignment: The reference poses in which joint frames agree; found if not given.
    """
    a, b = first.skeleton, second.skeleton
    notes: tuple[str, ...] = ()
    if given is not None and (given.source.names != a.names or given.target.names != b.names):
        raise OptionError(
            f"The map is from `{given.source.name}`, {given.source.num_joints} joints, to `{given.target.name}`, "
            f"{given.target.num_joints}; the transition goes from `{a.name}`, {a.num_joints}, to `{b.name}`, "
            f"{b.num_joints}, and their joints differ",
            hint="a map made for the other direction is turned round by `correspondence.reversed()`",
        )
    if given is None and a.names == b.names and np.array_equal(a.parents, b.parents):
        pairs = tuple(Pair(source=(name,), target=(name,)) for name in a.names)
        given = Correspondence(source=a, target=b, pairs=pairs)
        if one_body(a, b):
            return Shared(correspondence=given, meta=None)
    if given is None:
        from understudy.correspondence.suggest import suggest

        given, notes = mergeable(suggest(a, b, source_motion=first, target_motion=second))
    alignment = alignment or standing_alignment(given, first, second)
    return Shared(correspondence=given, meta=meta_skeleton(given, alignment), notes=notes)


def one_body(a: Skeleton, b: Skeleton) -> bool:
    """Whether two skeletons are of one body: the same joints, resting alike, bones and end points alike."""
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and np.allclose(a.rest, b.rest, atol=SAME)
        and np.allclose(a.offsets[1:], b.offsets[1:], atol=SAME)
        and [(end.name, end.joint) for end in a.ends] == [(end.name, end.joint) for end in b.ends]
        and all(np.allclose(x.offset, y.offset, atol=SAME) for x, y in zip(a.ends, b.ends, strict=True))
    )


def mergeable(whole: Correspondence) -> tuple[Correspondence, tuple[str, ...]]:
    """A map without what cannot become one bone, and what was left out, a sentence each.

    Of bones side by side (two toes against one) the first is kept; a pair of the body's two sides (two legs against a
    tail fin) goes, since neither side is more that one than the other.
    """
    kept: list[Pair] = []
    notes = []
    for pair in whole.pairs:
        if all(is_chain(getattr(whole, side), getattr(pair, side)) for side in SIDES):
            kept.append(pair)
            continue
        first = {side: getattr(pair, side) for side in SIDES}
        mirrored = False
        for side in SIDES:
            body: Skeleton = getattr(whole, side)
            if not is_chain(body, first[side]):
                other = partners(body)
                numbers = {body.index[bone] for bone in first[side]}
                mirrored |= any(int(other[j]) != j and int(other[j]) in numbers for j in numbers)
                first[side] = first[side][:1]
        if mirrored and pair is not whole.root:
            notes.append(f"{pair}: bones of two sides cannot become one and are kept apart")
            continue
        kept.append(replace(pair, **first))
        notes.append(f"{pair}: bones side by side cannot become one; only the first is shared")
    return replace(whole, pairs=tuple(kept)), tuple(notes)


def standing_alignment(whole: Correspondence, first: Motion, second: Motion) -> Alignment:
    """Reference poses for a blend: those of `align`; of bodies that stand differently, limbs stand and trunks align.

    A trunk that is turned down by its joints stays straight, and limbs that hang stay hanging.
    """
    found = align(whole, source_motion=first, target_motion=second)
    if not found.stance:
        return found
    other = partners(whole.target)
    middle = {name for joint, name in enumerate(whole.target.names) if other[joint] == joint}
    pairs = [
        replace(pair, align="direction") if pair.align is None and middle.issuperset(pair.target) else pair
        for pair in whole.pairs
    ]
    mixed = replace(whole, pairs=tuple(pairs))
    return replace(align(mixed, source_motion=first, target_motion=second, mode="stance"), correspondence=whole)
