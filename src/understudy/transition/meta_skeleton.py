"""The meta-skeleton: one body that holds two, on which the motions of both live [Hsieh05, sec. 4.1].

A motion of either body is put on it with offsets for each frame: bones that the body lacks have no length and rest.
The joints' frames are the source's; the target's are turned so that both agree in the aligned reference poses, so
that blending local rotations blends like with like. End points become joints that do not turn: only joints' offsets
can change over time, and a tail's tip has to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.errors import MotionError
from understudy.geometry.quaternion import Array, conjugate, identity, multiply, rotate, unrotate
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.records import remembered
from understudy.skeleton import JointKind, Point, Skeleton
from understudy.transfer.alignment import Alignment
from understudy.transfer.correspondence import Correspondence
from understudy.transition.union import Union, unite

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

    @remembered
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
