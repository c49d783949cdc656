"""Skeletons and the named points on them: constant parallel arrays, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import SkeletonError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array, identity, multiply, rotate
from understudy.base.records import cached, evenly, read_only, record, set_fields


class JointKind(StrEnum):
    """How a joint moves relative to its parent."""

    FREE = "free"
    """Six degrees of freedom; only the root."""
    BALL = "ball"
    """Rotates freely; its axes define the angles of its limits and of files."""
    UNIVERSAL = "universal"
    """Rotates about its first axis, then about its second."""
    HINGE = "hinge"
    """Rotates about one axis."""
    FIXED = "fixed"
    """Does not move."""


NUM_AXES = {
    JointKind.FREE: 3,
    JointKind.BALL: 3,
    JointKind.UNIVERSAL: 2,
    JointKind.HINGE: 1,
    JointKind.FIXED: 0,
}
"""Number of rotation axes of each kind of joint."""


@record
class Point:
    """A named place on the body: a toe tip, a heel, a palm, a grip, a marker."""

    name: str
    joint: str
    """The joint it moves with."""
    offset: Array = field(default_factory=lambda: np.zeros(3))
    """(3,) metres, in the joint's own frame."""

    def __repr__(self) -> str:
        return f"<Point {self.name} on {self.joint}>"

    def __post_init__(self) -> None:
        offset = read_only(self.offset, (3,), f"Point `{self.name}`: offset")
        object.__setattr__(self, "offset", offset)

    def as_table(self) -> dict[str, object]:
        """The point as a table for files."""
        return {"name": self.name, "joint": self.joint, "offset": self.offset}


@record
class Skeleton:
    """A character's joints: names, tree, rest pose, degrees of freedom and limits. Parents come before children.

    A joint's local rotation takes its frame to its parent's frame. In the rest pose it is `rest`; for a joint with axes
    a, b, c it is `rest * turn(a) * turn(b) * turn(c)`, where each turn is by the joint's angle about that axis.
    """

    names: tuple[str, ...]
    parents: np.ndarray
    """(J,) index of each joint's parent; -1 for the root, which is joint 0."""
    offsets: Array
    """(J, 3) metres, from the parent's origin in the parent's frame; the root's is its position in the rest pose."""
    rest: Array = field(default_factory=lambda: np.empty((0, 4)))
    """(J, 4) local rotations of the rest pose; identity if not given."""
    kinds: tuple[JointKind, ...] = ()
    """(J,) kind of each joint; a free root and balls if not given."""
    axes: Array = field(default_factory=lambda: np.empty((0, 3, 3)))
    """(J, 3, 3) unit axes in rows, in order of rotation, in the joint's rest frame; unused rows are zero."""
    limits: Array = field(default_factory=lambda: np.empty((0, 3, 2)))
    """(J, 3, 2) least and greatest angle about each axis, radians; infinite where there is no limit."""
    ends: tuple[Point, ...] = ()
    """The far ends of bones without a joint there: fingertips, toes, the top of the head."""
    name: str = ""
    role_joints: Mapping[str, str] = field(default_factory=dict)
    """The joint of each role, for a body whose names do not identify its parts; empty where names do."""
    roles_given: bool = False
    """Whether the body's file itself gives the roles, so that they are certain."""

    def __repr__(self) -> str:
        return f"<Skeleton {self.name or 'unnamed'}: {self.num_joints} joints, {len(self.ends)} ends>"

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        count = len(names)
        if count == 0:
            raise SkeletonError("A skeleton needs at least one joint; got none")
        if len(set(names)) < count:
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise SkeletonError(f"Joint names must differ; `{twice}` is used more than once")
        kinds = tuple(JointKind(kind) for kind in self.kinds)
        kinds = kinds or (JointKind.FREE,) + (JointKind.BALL,) * (count - 1)
        if len(kinds) != count:
            raise SkeletonError(f"Expected {count} joint kinds, one for each joint; got {len(kinds)}")
        parents = _checked_parents(self.parents, names)
        offsets = read_only(self.offsets, (count, 3), "Skeleton offsets")
        rest = read_only(self.rest if len(self.rest) else identity(count), (count, 4), "Skeleton rest rotations")
        if np.any(np.abs(np.linalg.norm(rest, axis=-1) - 1.0) > 1e-6):
            raise SkeletonError("Rest rotations must be unit quaternions")
        axes = read_only(self.axes if len(self.axes) else _default_axes(kinds), (count, 3, 3), "Skeleton axes")
        _check_axes(axes, kinds, names)
        unlimited = np.tile([-np.inf, np.inf], (count, 3, 1))
        limits = read_only(self.limits if len(self.limits) else unlimited, (count, 3, 2), "Joint limits", finite=False)
        _check_limits(limits, names)
        ends = tuple(self.ends)
        joint_names = set(names)
        for end in ends:
            if end.joint not in joint_names:
                raise SkeletonError(f"End point `{end.name}` is on joint `{end.joint}`, which does not exist")
        set_fields(
            self, names=names, kinds=kinds, parents=parents, offsets=offsets, rest=rest, axes=axes, limits=limits,
            ends=ends,
        )  # fmt: skip

    @property
    def num_joints(self) -> int:
        return len(self.names)

    @cached
    def index(self) -> dict[str, int]:
        """Joint numbers by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each joint."""
        children: list[list[int]] = [[] for _ in self.names]
        for joint, parent in enumerate(self.parents[1:], start=1):
            children[parent].append(joint)
        return tuple(tuple(joints) for joints in children)

    @cached
    def depths(self) -> np.ndarray:
        """(J,) number of ancestors of each joint; 0 for the root."""
        depths = np.zeros(self.num_joints, dtype=np.intp)
        for joint, parent in enumerate(self._parent_list[1:], start=1):
            depths[joint] = depths[parent] + 1
        return depths

    @cached
    def levels(self) -> tuple[np.ndarray, ...]:
        """Joint numbers of each depth, from the root's children down."""
        order = np.argsort(self.depths, kind="stable")
        splits = np.flatnonzero(np.diff(self.depths[order])) + 1
        return tuple(np.split(order, splits)[1:])

    @cached
    def generations(self) -> tuple[tuple[slice | np.ndarray, slice | np.ndarray], ...]:
        """The joints of each depth and their parents as indices: slices where the indices are evenly spaced, as for two
        limbs, because slices need no copy."""
        return tuple((evenly(level), evenly(self.parents[level])) for level in self.levels)

    @cached
    def above(self) -> np.ndarray:
        """(J, J) whether the second joint is the first or one of its ancestors."""
        above = np.eye(self.num_joints, dtype=bool)
        for joint, parent in enumerate(self.parents[1:].tolist(), start=1):
            above[joint] |= above[parent]
        return above

    @cached
    def lengths(self) -> Array:
        """(J,) distance from each joint's parent to it, metres; 0 for the root."""
        lengths = np.linalg.norm(self.offsets, axis=-1)
        lengths[0] = 0.0
        return lengths

    def joint(self, name: str) -> int:
        """The number of a joint, or an error that names the nearest ones."""
        try:
            return self.index[name]
        except KeyError:
            where = f"skeleton `{self.name}`" if self.name else "this skeleton"
            raise UnknownNameError(f"Joint `{name}` is not in {where}; {nearest_names(name, self.names)}") from None

    def point(self, name: str) -> Point:
        """The end point or joint of that name, as a point."""
        for end in self.ends:
            if end.name == name:
                return end
        if name in self.index:
            return Point(name=name, joint=name)
        choices = [*self.names, *(end.name for end in self.ends)]
        raise UnknownNameError(f"Point `{name}` is neither a joint nor an end; {nearest_names(name, choices)}")

    def chain(self, joint: int) -> list[int]:
        """The joints from the root down to a joint, both included."""
        path, parents = [], self._parent_list
        joint = int(joint)
        while joint >= 0:
            path.append(joint)
            joint = parents[joint]
        return path[::-1]

    @cached
    def _parent_list(self) -> list[int]:
        """The parents as plain numbers, which are faster to read one by one."""
        parents: list[int] = self.parents.tolist()
        return parents

    def below(self, joint: int) -> np.ndarray:
        """(J,) True for a joint and its descendants."""
        below = np.zeros(self.num_joints, bool)
        below[joint] = True
        inside = {int(joint)}
        for child in range(joint + 1, self.num_joints):
            if self._parent_list[child] in inside:
                inside.add(child)
        below[list(inside)] = True
        return below

    @cached
    def rest_world(self) -> tuple[Array, Array]:
        """World positions (J, 3) and orientations (J, 4) of the joints in the rest pose."""
        positions, rotations = self.offsets.copy(), self.rest.copy()
        for level in self.levels:
            parents = self.parents[level]
            positions[level] = positions[parents] + rotate(rotations[parents], self.offsets[level])
            rotations[level] = multiply(rotations[parents], self.rest[level])
        return positions, rotations

    @cached
    def rest_ends(self) -> Array:
        """(E, 3) world positions of the end points in the rest pose."""
        positions, rotations = self.rest_world
        joints = [self.index[end.joint] for end in self.ends]
        return positions[joints] + rotate(rotations[joints], np.array([end.offset for end in self.ends]).reshape(-1, 3))

    def pruned(self, joints: Iterable[int]) -> tuple[Skeleton, np.ndarray]:
        """The skeleton of some joints and their ancestors, and the numbers (N,) of its joints in this one."""
        kept = np.array(sorted({0, *(above for joint in joints for above in self.chain(joint))}), dtype=np.intp)
        place = {int(joint): i for i, joint in enumerate(kept)}
        names = tuple(self.names[j] for j in kept)
        pruned = replace(
            self,
            names=names,
            parents=np.array([place.get(int(self.parents[j]), -1) for j in kept]),
            offsets=self.offsets[kept],
            rest=self.rest[kept],
            kinds=tuple(self.kinds[j] for j in kept),
            axes=self.axes[kept],
            limits=self.limits[kept],
            ends=tuple(end for end in self.ends if end.joint in names),
            role_joints={role: name for role, name in self.role_joints.items() if name in names},
        )
        return pruned, kept

    def scaled(self, factor: float | ArrayLike) -> Skeleton:
        """The same character with bones of other lengths.

        Args:
            factor: One number, or (J,) numbers that scale the bone from each joint's parent to it. An end point is
                scaled like the bone that leads to its joint.
        """
        factors = np.broadcast_to(np.asarray(factor, float), (self.num_joints,))
        if not (np.all(np.isfinite(factors)) and np.all(factors > 0.0)):
            raise SkeletonError("Expected scale factors above zero")
        ends = tuple(replace(end, offset=end.offset * factors[self.index[end.joint]]) for end in self.ends)
        return replace(self, offsets=self.offsets * factors[:, None], ends=ends)


def _checked_parents(value: ArrayLike, names: tuple[str, ...]) -> np.ndarray:
    parents = np.array(value, dtype=np.intp)
    if parents.shape != (len(names),):
        raise SkeletonError(f"Expected {len(names)} parents, one for each joint; got shape {parents.shape}")
    if parents[0] != -1:
        raise SkeletonError(f"The first joint must be the root, with parent -1; `{names[0]}` has {parents[0]}")
    wrong = np.flatnonzero((parents[1:] < 0) | (parents[1:] >= np.arange(1, len(names)))) + 1
    if len(wrong):
        joint = int(wrong[0])
        problem = "is a second root" if parents[joint] < 0 else f"has parent {parents[joint]}, not before it"
        raise SkeletonError(f"Joint {joint} `{names[joint]}` {problem}; parents must stand before children")
    parents.setflags(write=False)
    return parents


def _default_axes(kinds: tuple[JointKind, ...]) -> Array:
    axes = np.zeros((len(kinds), 3, 3))
    for joint, kind in enumerate(kinds):
        if kind in (JointKind.HINGE, JointKind.UNIVERSAL):
            raise SkeletonError(f"Joint {joint} is a {kind}: its axes must be given")
        axes[joint, : NUM_AXES[kind]] = np.eye(3)[: NUM_AXES[kind]]
    return axes


def _check_axes(axes: Array, kinds: tuple[JointKind, ...], names: tuple[str, ...]) -> None:
    sizes = np.linalg.norm(axes, axis=-1)
    for joint, kind in enumerate(kinds):
        if (kind is JointKind.FREE) != (joint == 0) and kind is JointKind.FREE:
            raise SkeletonError(f"Joint `{names[joint]}` is free, but only the root can be")
        used = NUM_AXES[kind]
        if np.any(np.abs(sizes[joint, :used] - 1.0) > 1e-6) or np.any(sizes[joint, used:] != 0.0):
            raise SkeletonError(
                f"Joint `{names[joint]}` is a {kind}: expected {used} unit axes, got lengths {sizes[joint].tolist()}"
            )


def _check_limits(limits: Array, names: tuple[str, ...]) -> None:
    if np.any(np.isnan(limits)):
        joint = int(np.argwhere(np.isnan(limits))[0][0])
        raise SkeletonError(f"Joint `{names[joint]}` has a limit that is not a number")
    crossed = np.argwhere(limits[..., 0] > limits[..., 1])
    if len(crossed):
        joint, axis = crossed[0]
        low, high = limits[joint, axis]
        raise SkeletonError(f"Joint `{names[joint]}`: limits of axis {axis} run from {low:g} down to {high:g}")
