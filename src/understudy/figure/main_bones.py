"""The main bones of a body: without helper bones, and with one bone for what rigs and robots write as several.

A body may be written in many ways that mean the same. Rigs hang twist bones, helpers and end bones from their bones,
or cut a bone in two so that its halves can twist. Robots write a ball joint as three hinges at one point. Maps and
neutral poses are made for the main bones, so that they do not depend on that, and are then given to all bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from understudy.base.quaternion import Array, conjugate, identity, mean, multiply, normalize, rotate, unrotate
from understudy.base.records import cached, record
from understudy.figure.kinematics import fk
from understudy.figure.measures import partners
from understudy.figure.motion import Motion
from understudy.figure.roles import balls_of_hinges, is_end_bone, is_helper_bone, leaf_helpers, words
from understudy.figure.skeleton import JointKind, Point, Skeleton

HALF_WORDS = {"twist", "roll"}
"""Words in the names of joints that cut a bone in two."""


@record
class MainBones:
    """The main bones of a body as a skeleton of its own, and the joints of the body that each of them stands for."""

    body: Skeleton
    skeleton: Skeleton
    members: tuple[tuple[int, ...], ...]
    """The joints of the body for each main bone, outwards: the bone begins at the first and rotates as the last."""

    def __repr__(self) -> str:
        return f"<MainBones: {self.skeleton.num_joints} of {self.body.num_joints} joints>"

    @property
    def is_whole(self) -> bool:
        """Whether every joint of the body is a main bone."""
        return self.skeleton is self.body

    @cached
    def lasts(self) -> np.ndarray:
        """(N,) the joints of the body that rotate as the main bones."""
        return np.array([joints[-1] for joints in self.members], dtype=np.intp)

    @cached
    def firsts(self) -> np.ndarray:
        """(N,) the joints of the body that the main bones begin at."""
        return np.array([joints[0] for joints in self.members], dtype=np.intp)

    def first_of(self, joint: int) -> int:
        """The first joint of the main bone that a joint of the body belongs to; the joint itself for a helper bone."""
        return self._first_of.get(joint, joint)

    def members_of(self, joint: int) -> tuple[int, ...]:
        """The joints of the main bone that a joint of the body belongs to; the joint itself for a helper bone."""
        return next((group for group in self.members if joint in group), (joint,))

    @cached
    def _first_of(self) -> dict[int, int]:
        return {joint: group[0] for group in self.members for joint in group}

    def expand(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of all joints of the body that some main bones stand for."""
        index = self.skeleton.index
        return tuple(self.body.names[joint] for name in names for joint in self.members[index[name]])

    def point(self, point: Point) -> Point:
        """A point of the main bones on the body: its joint of that name, or a point of the joint that moves it."""
        if self.is_whole:
            return point
        end_names = {end.name for end in self.skeleton.ends}
        if point.name in self.body.index and point.name not in end_names:
            return self.body.point(point.name)
        members = self.members[self.skeleton.index[point.joint]]
        first, last = members[0], members[-1]
        positions, rotations = self.body.rest_world
        offset = point.offset + unrotate(rotations[last], positions[first] - positions[last])
        return replace(point, joint=self.body.names[last], offset=offset)

    def of_motion(self, motion: Motion) -> Motion:
        """A motion of the body as one of its main bones."""
        if self.is_whole:
            return motion
        pose = fk(motion)
        offsets, local = _local(self.skeleton.parents, pose.positions[:, self.firsts], pose.rotations[:, self.lasts])
        stretched = bool(np.abs(offsets[:, 1:] - self.skeleton.offsets[1:]).max(initial=0.0) > 1e-9)
        return replace(
            motion,
            skeleton=self.skeleton,
            root=pose.positions[:, 0],
            rotations=local,
            offsets=offsets if stretched else None,
        )

    def of_pose(self, local: Array) -> Array:
        """(N, 4) local rotations of the main bones for local rotations (J, 4) of the body."""
        if self.is_whole:
            return local
        world = _world(self.body.parents, local)[self.lasts]
        return _local(self.skeleton.parents, np.zeros((len(world), 3)), world)[1]

    def to_pose(self, local: Array, motion: Motion | None = None) -> Array:
        """(J, 4) local rotations of the body for local rotations (N, 4) of its main bones.

        A main bone of several joints is rotated at its first joint, so that it stays straight. All others are as in a
        motion of the body on average, or as in the rest pose without one.
        """
        if self.is_whole:
            return local
        rest = self.body.rest_world[1]
        turns = multiply(conjugate(rest[self.lasts]), rest[self.firsts])
        worlds = multiply(_world(self.skeleton.parents, local), turns)
        goals = dict(zip(self.firsts.tolist(), worlds, strict=True))
        result = self.body.rest.copy()
        helpers = sorted(leaf_helpers(self.body))
        if motion is not None and helpers:
            result[helpers] = mean(motion.rotations[:, helpers])
        world = identity(self.body.num_joints)
        for joint, parent in enumerate(self.body.parents):
            above = world[parent] if parent >= 0 else np.array([1.0, 0.0, 0.0, 0.0])
            if joint in goals:
                result[joint] = normalize(multiply(conjugate(above), goals[joint]))
            world[joint] = multiply(above, result[joint])
        return result


@lru_cache(maxsize=64)
def main_partners(skeleton: Skeleton) -> np.ndarray:
    """(J,) the first joint of the main bone on the other side, or of its own main bone for a joint in the middle."""
    main = main_bones(skeleton)
    partner = partners(main.skeleton)
    result = np.arange(skeleton.num_joints)
    for number, group in enumerate(main.members):
        result[list(group)] = main.firsts[partner[number]]
    return result


@lru_cache(maxsize=64)
def main_bones(skeleton: Skeleton) -> MainBones:
    """Find the main bones of a body."""
    helpers = leaf_helpers(skeleton)
    groups = _groups(skeleton, helpers)
    if len(groups) == skeleton.num_joints:
        return MainBones(body=skeleton, skeleton=skeleton, members=tuple((j,) for j in range(skeleton.num_joints)))
    owner = {joint: number for number, group in enumerate(groups) for joint in group}
    positions, rotations = skeleton.rest_world
    parents = np.array([-1, *(owner[int(skeleton.parents[group[0]])] for group in groups[1:])])
    names = tuple(_name(skeleton, group) for group in groups)
    offsets, rest = _local(
        parents, positions[[group[0] for group in groups]], rotations[[group[-1] for group in groups]]
    )
    balls = {ball[0] for ball in balls_of_hinges(skeleton)}
    firsts, lasts = ([group[end] for group in groups] for end in (0, -1))
    free = [first in balls for first in firsts]
    axes = unrotate(rotations[lasts][:, None], rotate(rotations[firsts][:, None], skeleton.axes[firsts]))
    axes[free], limits = np.eye(3), skeleton.limits[firsts]
    limits[free] = [-np.inf, np.inf]
    main = Skeleton(
        names=names,
        parents=parents,
        offsets=offsets,
        rest=rest,
        kinds=tuple(JointKind.BALL if is_ball else skeleton.kinds[first] for first, is_ball in zip(firsts, free)),
        axes=axes,
        limits=limits,
        ends=_ends(skeleton, owner, names, groups),
        name=skeleton.name,
        role_joints={
            role: names[owner[skeleton.index[name]]]
            for role, name in skeleton.role_joints.items()
            if skeleton.index[name] in owner
        },
    )
    return MainBones(body=skeleton, skeleton=main, members=tuple(groups))


def main_rows(skeleton: Skeleton, names: Sequence[str]) -> list[list[int]]:
    """The joints of some bones of a body, in rows that are main bones."""
    owner = {joint: number for number, group in enumerate(main_bones(skeleton).members) for joint in group}
    rows: dict[int, list[int]] = {}
    for name in names:
        joint = skeleton.index[name]
        rows.setdefault(owner.get(joint, -1 - joint), []).append(joint)
    return list(rows.values())


def _groups(skeleton: Skeleton, helpers: frozenset[int]) -> list[tuple[int, ...]]:
    """The joints of each main bone."""
    halves = _second_halves(skeleton, helpers)
    balls = {ball[0]: ball for ball in balls_of_hinges(skeleton)}
    later = {joint for ball in balls.values() for joint in ball[1:]} | set(halves.values())
    groups: list[tuple[int, ...]] = []
    for joint in range(skeleton.num_joints):
        if joint in helpers or joint in later:
            continue
        group: tuple[int, ...] = balls.get(joint, (joint,))
        while (half := halves.get(group[-1])) is not None:
            group = (*group, half)
        groups.append(group)
    return groups


def _second_halves(skeleton: Skeleton, helpers: frozenset[int]) -> dict[int, int]:
    """The joint that cuts a bone in two, by the joint that the bone begins at."""
    halves: dict[int, int] = {}
    for joint in range(1, skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        siblings = [child for child in skeleton.children[parent] if child not in helpers]
        is_half = bool(HALF_WORDS & set(words(skeleton.names[joint]))) and is_helper_bone(skeleton, joint)
        if joint not in helpers and is_half and siblings == [joint]:
            halves[parent] = joint
    return halves


def _name(skeleton: Skeleton, group: tuple[int, ...]) -> str:
    """The name of a main bone: that of its last joint which is no helper."""
    return skeleton.names[next((j for j in reversed(group) if not is_helper_bone(skeleton, j)), group[-1])]


def _ends(
    skeleton: Skeleton, owner: dict[int, int], names: tuple[str, ...], groups: list[tuple[int, ...]]
) -> tuple[Point, ...]:
    """The ends of the main bones: those of the body, and its end bones."""
    positions, rotations = skeleton.rest_world
    ends = []
    for end, place in zip(skeleton.ends, skeleton.rest_ends, strict=True):
        number = owner.get(skeleton.index[end.joint])
        if number is not None:
            last = groups[number][-1]
            offset = unrotate(rotations[last], place - positions[groups[number][0]])
            ends.append(replace(end, joint=names[number], offset=offset))
    taken = {*names, *(end.name for end in ends)}
    for joint in sorted(leaf_helpers(skeleton)):
        number = owner.get(int(skeleton.parents[joint]))
        if number is None or not is_end_bone(skeleton, joint) or skeleton.names[joint] in taken:
            continue
        offset = unrotate(rotations[groups[number][-1]], positions[joint] - positions[groups[number][0]])
        if np.linalg.norm(offset) > 0.0:
            ends.append(Point(name=skeleton.names[joint], joint=names[number], offset=offset))
    return tuple(ends)


def _world(parents: np.ndarray, local: Array) -> Array:
    world = local.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            world[joint] = multiply(world[parent], local[joint])
    return world


def _local(parents: np.ndarray, positions: Array, rotations: Array) -> tuple[Array, Array]:
    """Offsets and local rotations from world positions (..., N, 3) and orientations (..., N, 4)."""
    above = parents[1:]
    offsets, local = positions.copy(), rotations.copy()
    offsets[..., 1:, :] = unrotate(rotations[..., above, :], positions[..., 1:, :] - positions[..., above, :])
    local[..., 1:, :] = multiply(conjugate(rotations[..., above, :]), rotations[..., 1:, :])
    return offsets, normalize(local)
