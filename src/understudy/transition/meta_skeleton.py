"""One skeleton for two motions: the body itself if both are of one body, else a meta-skeleton of both bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, conjugate, identity, multiply, rotate, unrotate
from understudy.base.records import cached, record
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, is_chain
from understudy.figure.kinematics import fk
from understudy.figure.measures import partners
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point, Skeleton

Node = tuple[int, int]
"""The source joint and the target joint that a joint of the union represents; -1 for none."""


@record(eq=True)
class Union:
    """The joints of both bodies as one tree."""

    nodes: tuple[Node, ...]
    """Parents before children."""
    parents: tuple[int, ...]
    loose: tuple[int, ...]
    """Merged joints whose parents differ in the two bodies: they hang from the lowest ancestor that both share."""


def unite(whole: Correspondence) -> Union:
    """Merge the joint trees of two bodies along their correspondence."""
    merged = sorted(
        (whole.source.index[a], whole.target.index[b]) for pair in whole.pairs for a, b in matched(whole, pair)
    )
    shared_parent = {node: _shared_parent(whole, merged, node) for node in merged}
    leads_to = _leads_to(whole, merged, shared_parent)
    parent: dict[Node, Node | None] = {}
    for node in merged:
        upper_node = shared_parent[node]
        chain = [*([] if upper_node is None else [upper_node]), *_unmerged_above(whole, node, leads_to), node]
        parent.setdefault(chain[0], None)
        parent.update(dict(zip(chain[1:], chain[:-1], strict=True)))
    for side, skeleton in enumerate((whole.source, whole.target)):
        node_of = {node[side]: node for node in merged}
        for joint in range(skeleton.num_joints):
            node = node_of.setdefault(joint, _unmerged_node(side, joint))
            if node not in parent:
                parent[node] = node_of[int(skeleton.parents[joint])]
    nodes = _depth_first(parent)
    number = {node: i for i, node in enumerate(nodes)}
    node_parents = [parent[node] for node in nodes]
    return Union(
        nodes=tuple(nodes),
        parents=tuple(-1 if node_parent is None else number[node_parent] for node_parent in node_parents),
        loose=tuple(number[node] for node in merged if _is_loose(whole, merged, shared_parent, node)),
    )


def matched(whole: Correspondence, pair: Pair) -> list[tuple[str, str]]:
    """The bones of a pair that are merged, as (source, target)."""
    for side in ("source", "target"):
        bones = getattr(pair, side)
        if not is_chain(getattr(whole, side), bones):
            names = ", ".join(f"`{bone}`" for bone in bones)
            raise CorrespondenceError(
                f"{pair} is ambiguous for a skeleton of both bodies: {names} of the {side} do not form a chain, so "
                "none of them can be merged with the other body's bone",
                hint="pair one of them and leave the others without a partner, or list a chain from the body outwards",
            )
    long, short = max(len(pair.source), len(pair.target)), min(len(pair.source), len(pair.target))
    spaced = [(2 * i * (long - 1) + short - 1) // (2 * (short - 1)) if short > 1 else 0 for i in range(short)]
    consecutive = list(range(short))
    source_bones, target_bones = (consecutive, spaced) if len(pair.source) == short else (spaced, consecutive)
    return [(pair.source[i], pair.target[j]) for i, j in zip(source_bones, target_bones, strict=True)]


def _unmerged_node(side: int, joint: int) -> Node:
    return (joint, -1) if side == 0 else (-1, joint)


def _chains(whole: Correspondence, node: Node) -> tuple[list[int], list[int]]:
    """The ancestors of a merged joint on each body, from the root down."""
    return whole.source.chain(node[0])[:-1], whole.target.chain(node[1])[:-1]


def _shared_parent(whole: Correspondence, merged: list[Node], node: Node) -> Node | None:
    """The lowest merged joint that is an ancestor of a merged joint on both bodies."""
    source_above, target_above = (set(chain) for chain in _chains(whole, node))
    shared = [other for other in merged if other[0] in source_above and other[1] in target_above]
    return max(shared, key=lambda other: int(whole.source.depths[other[0]]), default=None)


def _is_loose(whole: Correspondence, merged: list[Node], shared_parent: dict[Node, Node | None], node: Node) -> bool:
    """Whether either body has a merged joint between this one and its lowest shared ancestor."""
    for side, chain in enumerate(_chains(whole, node)):
        lowest = next((other for joint in reversed(chain) for other in merged if other[side] == joint), None)
        if lowest != shared_parent[node]:
            return True
    return False


def _leads_to(whole: Correspondence, merged: list[Node], tops: dict[Node, Node | None]) -> dict[Node, frozenset[Node]]:
    """For each unmerged joint between merged ones: the merged joints that it leads to."""
    leads_to: dict[Node, set[Node]] = {}
    for node in merged:
        for side, chain in enumerate(_chains(whole, node)):
            upper = tops[node]
            between = chain[chain.index(upper[side]) + 1 :] if upper is not None else chain
            # Joints above a merged joint that only this body has in between belong to that joint, not to this one.
            stops = [i for i, joint in enumerate(between) if any(joint == other[side] for other in merged)]
            for joint in between[: stops[0]] if stops else between:
                leads_to.setdefault(_unmerged_node(side, joint), set()).add(node)
    return {node: frozenset(leads) for node, leads in leads_to.items()}


def _unmerged_above(whole: Correspondence, node: Node, leads_to: dict[Node, frozenset[Node]]) -> list[Node]:
    """The unmerged joints that lead to a merged joint, highest first."""
    chain = [single for single, leads in leads_to.items() if node in leads]
    chain.sort(key=lambda single: (-len(leads_to[single]), single[0] < 0, single))
    for upper, lower in pairwise(chain):
        if not leads_to[upper] >= leads_to[lower]:
            a, b = (_node_name(whole, single) for single in (upper, lower))
            raise CorrespondenceError(
                f"The map is ambiguous: {a} and {b} both lead to `{whole.source.names[node[0]]}`, but each also leads "
                "to bones that the other does not lead to, so that neither can hang from the other",
                hint="pair these two, or leave some of the bones that hang from them without a partner",
            )
    return chain


def _node_name(whole: Correspondence, node: Node) -> str:
    side = "source" if node[0] >= 0 else "target"
    skeleton: Skeleton = getattr(whole, side)
    return f"`{skeleton.names[max(node)]}` of the {side}"


def _depth_first(parent: dict[Node, Node | None]) -> list[Node]:
    """The joints with parents before children; those of the source come first, in the source's order."""
    children: dict[Node | None, list[Node]] = {}
    for node, upper in parent.items():
        children.setdefault(upper, []).append(node)
    order, pending = [], sorted(children[None], reverse=True)
    while pending:
        order.append(pending.pop())
        lower = children.get(order[-1], [])
        pending += sorted(lower, key=lambda node: (node[0] < 0, node), reverse=True)
    return order


SIDES = ("source", "target")


@record
class MetaSkeleton:
    """The meta-skeleton of two bodies, with conversions of motions to it and back."""

    correspondence: Correspondence
    skeleton: Skeleton
    """The joints and end points of both bodies, all as joints; shared bones have the source's length."""
    joints: np.ndarray
    """(M, 2) the source joint and the target joint that each joint represents; -1 for none."""
    ends: np.ndarray
    """(M, 2) the end points that each joint represents; -1 for none."""
    turns: tuple[Array, Array]
    """(J, 4) for each joint of the source, and of the target: rotation from its frame to the meta-skeleton's frame."""
    loose: tuple[str, ...] = ()
    """Joints whose parents differ in the two bodies: their bones change length as the body moves."""

    @property
    def num_shared(self) -> int:
        """How many joints both bodies have, not counting end points."""
        return int((self.joints >= 0).all(axis=1).sum())

    def from_source(self, motion: Motion) -> Motion:
        """A motion of the source on this skeleton: every joint and end point exactly where it was."""
        return self._convert_from(0, motion)

    def from_target(self, motion: Motion) -> Motion:
        """A motion of the target on this skeleton: every joint and end point exactly where it was."""
        return self._convert_from(1, motion)

    def to_source(self, motion: Motion) -> Motion:
        """The source's part of a motion of this skeleton, with the source's bone lengths."""
        return self._convert_to(0, motion)

    def to_target(self, motion: Motion) -> Motion:
        """The target's part of a motion of this skeleton, with the target's bone lengths."""
        return self._convert_to(1, motion)

    def point(self, side: str, point: Point) -> Point:
        """A point of the source or target on this skeleton, where an end point is a joint."""
        which = SIDES.index(side)
        body = self._bodies[which]
        for number, end in enumerate(body.ends):
            if end.name == point.name and end.joint == point.joint and np.allclose(end.offset, point.offset):
                name = self.skeleton.names[int(np.flatnonzero(self.ends[:, which] == number)[0])]
                return Point(name=point.name, joint=name)
        joint = body.joint(point.joint)
        name = self.skeleton.names[self.number(side, joint)]
        return Point(name=point.name, joint=name, offset=rotate(self.turns[which][joint], point.offset))

    def number(self, side: str, joint: int) -> int:
        """The joint of this skeleton that represents a joint of the source or target."""
        return int(np.flatnonzero(self.joints[:, SIDES.index(side)] == joint)[0])

    @property
    def _bodies(self) -> tuple[Skeleton, Skeleton]:
        return self.correspondence.source, self.correspondence.target

    @cached
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """For each side (M,) the joint that gives position and frame: the joint itself if the body has it, else the
        nearest ancestor that it has.

        A joint above all joints of the body takes the first one that the body has.
        """
        orders = []
        for which in (0, 1):
            has = (self.joints[:, which] >= 0) | (self.ends[:, which] >= 0)
            donors = np.arange(len(has))
            for joint, parent in enumerate(self.skeleton.parents):
                if not has[joint]:
                    donors[joint] = donors[parent] if parent >= 0 else int(np.argmax(has))
            orders.append(donors)
        return orders[0], orders[1]

    def _convert_from(self, which: int, motion: Motion) -> Motion:
        body = self._bodies[which]
        _check(motion, body, SIDES[which])
        pose = fk(motion)
        shape = (motion.num_frames, self.skeleton.num_joints)
        positions, rotations = np.empty((*shape, 3)), np.empty((*shape, 4))
        for columns, is_end in ((self.joints[:, which], False), (self.ends[:, which], True)):
            present = np.flatnonzero(columns >= 0)
            numbers = columns[present]
            bones = np.array([body.index[body.ends[n].joint] for n in numbers], np.intp) if is_end else numbers
            positions[:, present] = pose.ends()[:, numbers] if is_end else pose.positions[:, numbers]
            rotations[:, present] = multiply(pose.rotations[:, bones], conjugate(self.turns[which][bones]))
        donors = self._order[which]
        rest = self.skeleton.rest_world[1]
        missing = np.flatnonzero(donors != np.arange(len(donors)))
        positions[:, missing] = positions[:, donors[missing]]
        rest_turns = multiply(conjugate(rest[donors[missing]]), rest[missing])
        rotations[:, missing] = multiply(rotations[:, donors[missing]], rest_turns)
        parents = self.skeleton.parents[1:]
        offsets = np.zeros_like(positions)
        offsets[:, 0] = self.skeleton.offsets[0]
        offsets[:, 1:] = unrotate(rotations[:, parents], positions[:, 1:] - positions[:, parents])
        local = rotations.copy()
        local[:, 1:] = multiply(conjugate(rotations[:, parents]), rotations[:, 1:])
        return replace(motion, skeleton=self.skeleton, root=positions[:, 0], rotations=local, offsets=offsets)

    def _convert_to(self, which: int, motion: Motion) -> Motion:
        body = self._bodies[which]
        _check(motion, self.skeleton, "meta-skeleton")
        pose = fk(motion)
        numbers = np.array([self.number(SIDES[which], joint) for joint in range(body.num_joints)])
        rotations = multiply(pose.rotations[:, numbers], self.turns[which])
        local = rotations.copy()
        local[:, 1:] = multiply(conjugate(rotations[:, body.parents[1:]]), rotations[:, 1:])
        return replace(motion, skeleton=body, root=pose.positions[:, numbers[0]], rotations=local, offsets=None)


def meta_skeleton(correspondence: Correspondence, alignment: Alignment) -> MetaSkeleton:
    """Build the meta-skeleton of two bodies.

    Args:
        correspondence: Which bones correspond; refused if they cannot be merged.
        alignment: The reference poses in which the joint frames of both bodies agree.
    """
    union = unite(correspondence)
    joints = np.array(union.nodes)
    rotations = _reference(union, alignment)
    ends, end_joints = _ends(correspondence, joints)
    turns = tuple(
        multiply(conjugate(rotations[_numbers(joints[:, which])]), reference)
        for which, reference in enumerate((alignment.source_world, alignment.target_world))
    )
    no_joint = np.full((len(end_joints), 2), -1)
    order, parents = _tree_order([*union.parents, *end_joints.tolist()])
    rotations = np.concatenate([rotations, rotations[end_joints]])[order]
    joints = np.concatenate([joints, no_joint])[order]
    ends = np.concatenate([np.full((len(union.nodes), 2), -1), ends])[order]
    names = _names(correspondence, joints, ends)
    rest = rotations.copy()
    rest[1:] = multiply(conjugate(rotations[parents[1:]]), rotations[1:])
    kinds = [JointKind.FIXED if is_end else JointKind.BALL for is_end in (ends >= 0).any(axis=1)]
    skeleton = Skeleton(
        names=names,
        parents=parents,
        offsets=np.zeros((len(names), 3)),
        rest=rest,
        kinds=(JointKind.FREE, *kinds[1:]),
        name=_combined_name(correspondence),
    )
    meta = MetaSkeleton(
        correspondence=correspondence,
        skeleton=skeleton,
        joints=joints,
        ends=ends,
        turns=(turns[0], turns[1]),
        loose=tuple(names[int(np.flatnonzero(order == i)[0])] for i in union.loose),
    )
    return replace(meta, skeleton=replace(skeleton, offsets=_bones(meta, alignment)))


def _tree_order(parents: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """A depth-first order of the joints, and the parents in that order."""
    children: dict[int, list[int]] = {}
    for joint, parent in enumerate(parents):
        children.setdefault(parent, []).append(joint)
    order, pending = [], children[-1][::-1]
    while pending:
        order.append(pending.pop())
        pending += children.get(order[-1], [])[::-1]
    number_of = {joint: number for number, joint in enumerate(order)} | {-1: -1}
    return np.array(order), np.array([number_of[parents[joint]] for joint in order], np.intp)


def _check(motion: Motion, skeleton: Skeleton, owner: str) -> None:
    if motion.skeleton.names != skeleton.names or not np.array_equal(motion.skeleton.parents, skeleton.parents):
        raise MotionError(
            f"Expected a motion of the {owner}, `{skeleton.name}` with {skeleton.num_joints} joints from "
            f"`{skeleton.names[0]}`; got one of `{motion.skeleton.name}` with {motion.skeleton.num_joints} from "
            f"`{motion.skeleton.names[0]}`"
        )


def _reference(union: Union, alignment: Alignment) -> Array:
    """(N, 4) joint orientations in the reference pose: those of the source. Joints of the target alone take their
    parent's; without a parent they take that of the first source joint."""
    first = next(node[0] for node in union.nodes if node[0] >= 0)
    rotations = identity(len(union.nodes))
    for number, (node, parent) in enumerate(zip(union.nodes, union.parents, strict=True)):
        parent_rotation = alignment.source_world[first] if parent < 0 else rotations[parent]
        rotations[number] = alignment.source_world[node[0]] if node[0] >= 0 else parent_rotation
    return rotations


def _numbers(column: np.ndarray) -> np.ndarray:
    """(J,) the union's joint for each joint of a body, from (N,) the body's joint for each of the union's."""
    numbers = np.empty(int(column.max()) + 1, np.intp)
    joints = np.flatnonzero(column >= 0)
    numbers[column[joints]] = joints
    return numbers


def _ends(whole: Correspondence, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The end points of both bodies (E, 2), -1 for none, and the joints (E,) that they are on.

    Two end points on a merged bone are merged if the map pairs them, if they have the same name, or if each is the only
    one of its bone.
    """
    sides = (whole.source, whole.target)
    joint_of = [
        [int(np.flatnonzero(joints[:, which] == body.index[end.joint])[0]) for end in body.ends]
        for which, body in enumerate(sides)
    ]
    mapped = {(pair.source, pair.target) for pair in whole.points}
    merged: dict[int, int] = {}
    for a, end in enumerate(whole.source.ends):
        unmerged = [b for b in range(len(whole.target.ends)) if b not in merged.values()]
        others = [b for b in unmerged if joint_of[1][b] == joint_of[0][a]]
        by_map = [b for b in others if (end.name, whole.target.ends[b].name) in mapped]
        by_name = [b for b in others if whole.target.ends[b].name == end.name]
        by_bone = others if len(others) == 1 and joint_of[0].count(joint_of[0][a]) == 1 else []
        for b in (by_map or by_name or by_bone)[:1]:
            merged[a] = b
    pairs = [(a, merged.get(a, -1)) for a in range(len(joint_of[0]))]
    pairs += [(-1, b) for b in range(len(joint_of[1])) if b not in merged.values()]
    end_joints = [joint_of[0][a] if a >= 0 else joint_of[1][b] for a, b in pairs]
    return np.array(pairs, np.intp).reshape(-1, 2), np.array(end_joints, np.intp)


def _names(whole: Correspondence, joints: np.ndarray, ends: np.ndarray) -> tuple[str, ...]:
    """The source's names, else the target's; a target name that the source uses gets the target's name as prefix."""
    names: list[str] = []
    prefix = whole.target.name or "target"
    source_names = {*whole.source.names, *(end.name for end in whole.source.ends)}
    for (a, b), (end_a, end_b) in zip(joints.tolist(), ends.tolist(), strict=True):
        if a >= 0 or end_a >= 0:
            name = whole.source.names[a] if a >= 0 else whole.source.ends[end_a].name
        else:
            name = whole.target.names[b] if b >= 0 else whole.target.ends[end_b].name
            name = f"{prefix}_{name}" if name in source_names else name
        names.append(_unique_name(name, names))
    return tuple(names)


def _unique_name(base: str, taken: Sequence[str]) -> str:
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def _combined_name(whole: Correspondence) -> str:
    return "_".join(name for name in (whole.source.name, whole.target.name) if name)


def _bones(meta: MetaSkeleton, alignment: Alignment) -> Array:
    """(M, 3) offsets of the source in its reference pose, and of the target for joints that the source lacks."""
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


SAME_BODY_TOLERANCE = 1e-6
"""Largest difference of offsets (metres) and of quaternion components within one body."""


@record
class SharedSkeleton:
    """The shared skeleton of two motions."""

    correspondence: Correspondence
    meta: MetaSkeleton | None
    """None if both motions are of one body, whose skeleton is then shared."""
    notes: tuple[str, ...] = ()

    def convert(self, which: int, motion: Motion) -> Motion:
        """A motion of the first (0) or second (1) body, on the shared skeleton."""
        if self.meta is None:
            return motion
        return (self.meta.from_source, self.meta.from_target)[which](motion)

    def point(self, which: int, point: Point) -> Point:
        """A point of the first or second body, on the shared skeleton."""
        return point if self.meta is None else self.meta.point(SIDES[which], point)


def find_shared_skeleton(
    first: Motion, second: Motion, pairing: Correspondence | None, alignment: Alignment | None
) -> SharedSkeleton:
    """Find the shared skeleton of two motions.

    Args:
        first: Motion of the source.
        second: Motion of the target.
        pairing: Which bones correspond. If None, joints are paired by name if all names agree, else suggested.
        alignment: The reference poses in which joint frames agree; computed if not given.
    """
    a, b = first.skeleton, second.skeleton
    notes: tuple[str, ...] = ()
    if pairing is not None and (pairing.source.names != a.names or pairing.target.names != b.names):
        raise OptionError(
            f"The map is from `{pairing.source.name}`, {pairing.source.num_joints} joints, to `{pairing.target.name}`, "
            f"{pairing.target.num_joints}; the transition goes from `{a.name}`, {a.num_joints}, to `{b.name}`, "
            f"{b.num_joints}, and their joints differ",
            hint="`correspondence.reversed()` turns round a map made for the other direction",
        )
    if pairing is None and a.names == b.names and np.array_equal(a.parents, b.parents):
        pairs = tuple(Pair(source=(name,), target=(name,)) for name in a.names)
        pairing = Correspondence(source=a, target=b, pairs=pairs)
        if one_body(a, b):
            return SharedSkeleton(correspondence=pairing, meta=None)
    if pairing is None:
        from understudy.correspondence.suggest import suggest

        pairing, notes = mergeable(suggest(a, b, source_motion=first, target_motion=second))
    alignment = alignment or standing_alignment(pairing, first, second)
    return SharedSkeleton(correspondence=pairing, meta=meta_skeleton(pairing, alignment), notes=notes)


def one_body(a: Skeleton, b: Skeleton) -> bool:
    """Whether two skeletons are of one body: same joints, rest pose, bones and end points."""
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and np.allclose(a.rest, b.rest, atol=SAME_BODY_TOLERANCE)
        and np.allclose(a.offsets[1:], b.offsets[1:], atol=SAME_BODY_TOLERANCE)
        and [(end.name, end.joint) for end in a.ends] == [(end.name, end.joint) for end in b.ends]
        and all(np.allclose(x.offset, y.offset, atol=SAME_BODY_TOLERANCE) for x, y in zip(a.ends, b.ends, strict=True))
    )


def mergeable(whole: Correspondence) -> tuple[Correspondence, tuple[str, ...]]:
    """A map without bones that cannot be merged, and a note for each change.

    Of bones side by side (two toes against one) the first is kept. A pair that joins left and right (two legs against a
    tail fin) is dropped, since neither side corresponds better.
    """
    pairs: list[Pair] = []
    notes = []
    for pair in whole.pairs:
        if all(is_chain(getattr(whole, side), getattr(pair, side)) for side in SIDES):
            pairs.append(pair)
            continue
        bones = {side: getattr(pair, side) for side in SIDES}
        mirrored = False
        for side in SIDES:
            body: Skeleton = getattr(whole, side)
            if not is_chain(body, bones[side]):
                other = partners(body)
                numbers = {body.index[bone] for bone in bones[side]}
                mirrored |= any(int(other[j]) != j and int(other[j]) in numbers for j in numbers)
                bones[side] = bones[side][:1]
        if mirrored and pair is not whole.root:
            notes.append(f"{pair}: left and right bones cannot be merged and are kept apart")
            continue
        pairs.append(replace(pair, **bones))
        notes.append(f"{pair}: bones side by side cannot be merged; only the first is shared")
    return replace(whole, pairs=tuple(pairs)), tuple(notes)


def standing_alignment(whole: Correspondence, first: Motion, second: Motion) -> Alignment:
    """Reference poses for a blend: those of `align`; if the bodies stand differently, limbs keep their neutral pose and
    trunks are aligned by direction.

    So a trunk stays straight, and limbs that hang stay hanging.
    """
    alignment = align(whole, source_motion=first, target_motion=second)
    if not alignment.stance:
        return alignment
    other = partners(whole.target)
    middle = {name for joint, name in enumerate(whole.target.names) if other[joint] == joint}
    pairs = [
        replace(pair, align="direction") if pair.align is None and middle.issuperset(pair.target) else pair
        for pair in whole.pairs
    ]
    mixed = replace(whole, pairs=tuple(pairs))
    return replace(align(mixed, source_motion=first, target_motion=second, mode="stance"), correspondence=whole)
