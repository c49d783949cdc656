"""How a motion uses the joints of its body: which it only ever bends about one axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import (
    Array,
    conjugate,
    cross,
    exp,
    from_axis_angle,
    log,
    multiply,
    right_jacobian,
    rotate,
)
from understudy.base.records import cached, unchecked
from understudy.figure.angles import joint_angles
from understudy.figure.kinematics import BLOCK, forward, locate
from understudy.figure.mass import masses
from understudy.figure.measures import leg_length
from understudy.figure.motion import SEEN, Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """A motion to be changed, and what of it may change."""

    motion: Motion
    joints: tuple[int, ...] | None = None
    """The joints that may turn; None for all that can."""
    root_moves: bool = True
    """Whether the root may be shifted."""

    def __repr__(self) -> str:
        return f"<Body with {self.num_coordinates} coordinates>"

    def __post_init__(self) -> None:
        skeleton = self.motion.skeleton
        every = range(skeleton.num_joints)
        wanted = every if self.joints is None else sorted(set(self.joints))
        if any(j not in every for j in wanted):
            raise OptionError(f"Expected joint numbers from 0 to {skeleton.num_joints - 1}, got {list(wanted)}")
        movable = tuple(int(j) for j in wanted if NUM_AXES[skeleton.kinds[j]] > 0)
        object.__setattr__(self, "joints", movable)

    @property
    def skeleton(self) -> Skeleton:
        return self.motion.skeleton

    @cached
    def joint_of(self) -> np.ndarray:
        """(R,) the joint of each turning coordinate, in order."""
        assert self.joints is not None
        return np.array([j for j in self.joints for _ in range(NUM_AXES[self.skeleton.kinds[j]])], dtype=np.intp)

    @property
    def num_shifts(self) -> int:
        """How many coordinates shift the root: 3 or none."""
        return 3 if self.root_moves else 0

    @property
    def num_coordinates(self) -> int:
        return self.num_shifts + len(self.joint_of)

    @cached
    def names(self) -> tuple[str, ...]:
        """What each coordinate is called: `root.x`, `LeftArm.0`."""
        shifts = [f"root.{axis}" for axis in "xyz"] if self.root_moves else []
        counts = np.zeros(self.skeleton.num_joints, dtype=int)
        turns = []
        for joint in self.joint_of:
            turns.append(f"{self.skeleton.names[joint]}.{counts[joint]}")
            counts[joint] += 1
        return (*shifts, *turns)

    @cached
    def _groups(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """(number of axes, joints, first turning coordinate of each), for each number of axes that occurs."""
        first = {int(j): i for i, j in reversed(list(enumerate(self.joint_of)))}
        groups = []
        for count in (1, 2, 3):
            joints = [j for j in first if NUM_AXES[self.skeleton.kinds[j]] == count]
            if joints:
                groups.append((count, np.array(sorted(joints)), np.array([first[j] for j in sorted(joints)])))
        return groups

    @cached
    def _second_angles(self) -> Array:
        """(F, J) angles about the second axis of the joints in the base motion."""
        return joint_angles(self.skeleton, self.motion.rotations)[..., 1]

    def moved(self, d: Array) -> tuple[Array, Array]:
        """The root's path (F, 3) and local rotations (F, J, 4) displaced by coordinates d (F, D)."""
        base, skeleton = self.motion, self.skeleton
        if d.shape != (base.num_frames, self.num_coordinates):
            raise OptionError(f"Expected coordinates of shape {(base.num_frames, self.num_coordinates)}, got {d.shape}")
        if not d.any():
            return base.root, base.rotations
        root = base.root + d[:, :3] if self.root_moves else base.root
        rotations = base.rotations.copy()
        for start in range(0, len(d), BLOCK):
            part = slice(start, start + BLOCK)
            turns = d[part, self.num_shifts :]
            for count, joints, first in self._groups:
                angles = turns[:, first[:, None] + np.arange(count)]
                if count == 3:
                    turn = exp(angles)
                elif count == 1:
                    turn = from_axis_angle(skeleton.axes[joints, 0], angles[..., 0])
                else:
                    turn = self._turn_universal(joints, angles, part)
                rotations[part, joints] = multiply(base.rotations[part, joints], turn)
        return root, rotations

    def displaced(self, d: Array) -> Posture:
        """The body displaced by coordinates d (F, D)."""
        root, rotations = self.moved(d)
        return Posture(body=self, d=d, root=root, local=rotations)

    def doing(self, motion: Motion) -> Body:
        """The same with another motion of its skeleton; what is known of its build is kept."""
        return unchecked(self, BUILD, motion=motion)

    @property
    def posture(self) -> Posture:
        """The body as it is, displaced by nothing."""
        # Not kept: a body and a posture that hold each other would only be freed, with all they know, once in a while.
        d = np.broadcast_to(0.0, (self.motion.num_frames, self.num_coordinates))
        return Posture(body=self, d=d, root=self.motion.root, local=self.motion.rotations)

    @cached
    def world(self) -> tuple[Array, Array]:
        """Where joints are (F, J, 3) and how they are turned (F, J, 4) in the world, displaced by nothing."""
        return forward(self.skeleton, self.motion.root, self.motion.rotations, self.motion.offsets)

    def at(self, frames: np.ndarray) -> Body:
        """The body at some frames (N,); where it is there is not computed again if it is known."""
        found = self.doing(self.motion[frames])
        if "world" in self.__dict__:
            found.__dict__["world"] = tuple(each[frames] for each in self.world)
        return found

    def shifted(self, shift: Array) -> Body:
        """The body shifted by (F, 3); where it is is not computed again if it was known."""
        found = self.doing(self.motion.derived(root=self.motion.root + shift))
        if "world" in self.__dict__:
            positions, rotations = self.world
            found.__dict__["world"] = positions + shift[:, None], rotations
        return found

    @cached
    def base_axes(self) -> Array:
        """(R, 3) the axes about which turning coordinates turn while nothing is displaced, in their joints' own frames;
        not those of universal joints, whose first axis moves."""
        out = np.empty((len(self.joint_of), 3))
        for count, joints, first in self._groups:
            out[first[:, None] + np.arange(count)] = np.eye(3) if count == 3 else self.skeleton.axes[joints, :count]
        return out

    def local_axes(self, d: Array) -> Array:
        """(F, R, 3) the axes about which turning coordinates turn at d (F, D), in their joints' own frames."""
        out = np.empty((len(d), len(self.joint_of), 3))
        turns = d[:, self.num_shifts :]
        for count, joints, first in self._groups:
            columns = first[:, None] + np.arange(count)
            if count == 3:
                out[:, columns] = np.swapaxes(right_jacobian(turns[:, columns]), -1, -2)
            elif count == 1:
                out[:, columns] = self.skeleton.axes[joints, :1]
            else:
                # The first axis is seen from behind the second's turn.
                a, b = self.skeleton.axes[joints, 0], self.skeleton.axes[joints, 1]
                back = from_axis_angle(b, -(self._second_angles[:, joints] + turns[:, columns[:, 1]]))
                out[:, columns[:, 0]] = rotate(back, a)
                out[:, columns[:, 1]] = b
        return out

    def _turn_universal(self, joints: np.ndarray, angles: Array, part: slice) -> Array:
        """A universal joint turned further about both its axes, seen from its own frame.

        `turn(a, s) turn(b, t)` becomes `turn(a, s + d) turn(b, t + e)`: from the joint's own frame that is
        undoing t, turning by d about a, and turning by t + e about b.
        """
        second = self._second_angles[part, joints]
        a, b = self.skeleton.axes[joints, 0], self.skeleton.axes[joints, 1]
        undo = from_axis_angle(b, -second)
        redo = from_axis_angle(b, second + angles[..., 1])
        return multiply(multiply(undo, from_axis_angle(a, angles[..., 0])), redo)


@lru_cache(maxsize=64)
def built(skeleton: Skeleton, joints: tuple[int, ...] | None = None, root_moves: bool = True) -> Body:
    """A body in its rest pose: what is known of its build is known of all that it is let do."""
    body = Body(motion=rest_motion(skeleton), joints=joints, root_moves=root_moves)
    _ = body.base_axes
    return body


BUILD = ("joints", "root_moves", "joint_of", "names", "_groups", "base_axes")
"""What of a body is the same whatever it does."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Posture:
    """A displaced body: where everything is, and how it moves with each coordinate."""

    body: Body
    d: Array
    """(F, D) the coordinates."""
    root: Array
    """(F, 3) the root's path."""
    local: Array
    """(F, J, 4) local rotations."""

    @cached
    def _world(self) -> tuple[Array, Array]:
        base = self.body.motion
        if self.root is base.root and self.local is base.rotations:
            return self.body.world
        return forward(self.body.skeleton, self.root, self.local, base.offsets)

    @property
    def positions(self) -> Array:
        """(F, J, 3) joints in the world."""
        return self._world[0]

    @property
    def rotations(self) -> Array:
        """(F, J, 4) joint frames to the world."""
        return self._world[1]

    @cached
    def local_axes(self) -> Array:
        """(F, R, 3) the axis about which each turning coordinate turns its joint, in the joint's own frame."""
        if JointKind.UNIVERSAL not in self.body.skeleton.kinds and not self.d.any():
            return np.broadcast_to(self.body.base_axes, (len(self.d), len(self.body.joint_of), 3))
        return self.body.local_axes(self.d)

    @cached
    def axes(self) -> Array:
        """(F, R, 3) the world axis about which each turning coordinate turns all that hangs from its joint."""
        return rotate(self.rotations[:, self.body.joint_of], self.local_axes)

    def points(self, joints: np.ndarray, offsets: Array) -> Array:
        """(F, P, 3) world positions of points, given by joint (P,) and local offset (P, 3) or (F, P, 3)."""
        out = np.empty((len(self.root), len(joints), 3))
        for start in range(0, len(out), BLOCK):
            part = slice(start, start + BLOCK)
            own = offsets if offsets.ndim == 2 else offsets[part]
            np.add(self.positions[part, joints], rotate(self.rotations[part, joints], own), out=out[part])
        return out

    def point_jacobian(self, joints: np.ndarray, places: Array) -> Array:
        """(F, P, 3, D) how points at world places (F, P, 3), moving with joints (P,), move with the coordinates."""
        point, turn = np.nonzero(self.carries(joints))
        out = self._turning(joints, point, turn, places[:, point] - self.positions[:, self.body.joint_of[turn]])
        if self.body.root_moves:
            out[..., :3] = np.eye(3)
        return out

    def moved_by(self, joints: np.ndarray, offsets: Array) -> Array:
        """(D,) mean square of how points, given by joint (P,) and local offset (P, 3), move with each coordinate."""
        point, turn = np.nonzero(self.carries(joints))
        moved = cross(
            self.axes[:, turn], self.points(joints, offsets)[:, point] - self.positions[:, self.body.joint_of[turn]]
        )
        squares = np.bincount(turn, np.einsum("fni,fni->n", moved, moved), minlength=len(self.body.joint_of))
        return np.concatenate([np.ones(self.body.num_shifts), squares / (len(self.root) * len(joints))])

    def motion(self) -> Motion:
        """The displaced motion."""
        return self.body.motion.derived(root=self.root, rotations=self.local)

    def settled(self) -> Body:
        """The displaced body as one of its own, which nothing displaces; where it is is known."""
        found = self.body.doing(self.motion())
        found.__dict__["world"] = self._world
        return found

    def carries(self, joints: np.ndarray) -> np.ndarray:
        """(P, R) whether a turning coordinate carries each joint: the one walk up the tree."""
        return self.body.skeleton.above[joints][:, self.body.joint_of]

    def _turning(self, joints: np.ndarray, point: np.ndarray, turn: np.ndarray, arms: Array) -> Array:
        """(F, P, 3, D) how the ends of arms (F, N, 3) move, for pairs (N,) of a point and a turn that carries it."""
        out = np.zeros((len(arms), len(joints), 3, self.body.num_coordinates))
        moved = cross(self.axes[:, turn], arms)
        out[:, point, :, self.body.num_shifts + turn] = np.swapaxes(moved, 0, 1)
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Bodies:
    """Several bodies as one: their coordinates stand one body after another."""

    bodies: tuple[Body, ...]

    def __post_init__(self) -> None:
        if len({body.motion.num_frames for body in self.bodies}) > 1 or len({b.motion.fps for b in self.bodies}) > 1:
            raise OptionError("Bodies that are moved together must have the same frames and rate")

    @property
    def num_coordinates(self) -> int:
        return sum(body.num_coordinates for body in self.bodies)

    def columns(self, which: int) -> slice:
        """Where a body's coordinates stand."""
        start = sum(body.num_coordinates for body in self.bodies[:which])
        return slice(start, start + self.bodies[which].num_coordinates)

    def displaced(self, d: Array) -> tuple[Posture, ...]:
        """Every body displaced by its part of coordinates d (F, D)."""
        return tuple(body.displaced(d[:, self.columns(i)]) for i, body in enumerate(self.bodies))

    def points(self, postures: Sequence[Posture], places: Places) -> Array:
        """(F, P, 3) world positions of points of any of the bodies."""
        if len(postures) == 1:
            return postures[0].points(places.joints, places.offsets)
        out = np.empty((len(postures[0].root), len(places.bodies), 3))
        for i, posture in enumerate(postures):
            mine = places.bodies == i
            out[:, mine] = posture.points(places.joints[mine], places.offsets[mine])
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Points of several bodies as arrays, found once and evaluated often."""

    bodies: np.ndarray
    """(P,) which body each point is on."""
    joints: np.ndarray
    """(P,) the joint it moves with."""
    offsets: Array
    """(P, 3) metres, in that joint's frame."""

    @staticmethod
    def of(ensemble: Bodies, points: Iterable[tuple[int, Point | str]]) -> Places:
        """Places of points given as (body, point or name)."""
        pairs = list(points)
        found = [locate(ensemble.bodies[body].skeleton, [point]) for body, point in pairs]
        return Places(
            bodies=np.array([body for body, _ in pairs], dtype=np.intp),
            joints=np.array([joints[0] for joints, _ in found], dtype=np.intp),
            offsets=np.array([offsets[0] for _, offsets in found]).reshape(-1, 3),
        )


LEAST = 0.2
"""What turning a joint by a radian costs at least, as moving the body by this share of a leg squared would."""

UNUSED = 100.0
"""How much dearer it is to turn a joint that the motion never turns."""

FEW = 4
"""Frames of a motion that tell, on average, how far each joint moves the body."""


def cost_of_moving(motion: Motion, body: Body, stiffness: Mapping[str, float]) -> Array:
    """(D,) mean squared movement of the whole body in a motion per unit of each coordinate of a part of it.

    Args:
        motion: What the whole body does.
        body: The part of it that may be moved.
        stiffness: How much dearer than usual it is to turn a joint, by name.
    """
    skeleton = motion.skeleton
    some = np.linspace(0, motion.num_frames - 1, min(FEW, motion.num_frames)).astype(int)
    whole, joints, offsets = _weighed(skeleton)
    costs = whole.doing(motion[some]).posture.moved_by(joints, offsets)
    costs[3:] += LEAST * leg_length(skeleton) ** 2
    dearer = {skeleton.names[j]: UNUSED for j in motion.still_joints} | dict(stiffness)
    shifts = costs[:3] * dearer.get("root", 1.0)
    turns = _costs_of(body, whole, costs[3:])
    if dearer:
        turns = turns * np.array([dearer.get(name, 1.0) for name in body.skeleton.names])[body.joint_of]
    return np.concatenate([shifts[: body.num_shifts], turns])


@lru_cache(maxsize=64)
def _weighed(skeleton: Skeleton) -> tuple[Body, np.ndarray, Array]:
    """A whole body, in its rest pose, and the points that stand for it: joints (P,) and offsets (P, 3)."""
    return built(skeleton), *locate(skeleton, masses(skeleton).points)


def _costs_of(body: Body, whole: Body, costs: Array) -> Array:
    """(R,) what the turns of part of a body cost, by the costs of the whole's; a ball used as a hinge costs what its
    dearest axis would."""
    joint, place, alone = _among(body.skeleton, body.joints, whole)
    if not alone.any():
        return costs[place]
    dearest = np.zeros(whole.skeleton.num_joints)
    np.maximum.at(dearest, whole.joint_of, costs)
    return np.where(alone, dearest[joint], costs[place])


@lru_cache(maxsize=64)
def _among(part: Skeleton, joints: tuple[int, ...] | None, whole: Body) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each turn (R,) of some joints of part of a body: its joint in the whole, its place among the turns of the
    whole, and whether it is the only one of its joint."""
    joint_of = built(part, joints).joint_of
    joint = np.array([whole.skeleton.index[name] for name in part.names], dtype=np.intp)[joint_of]
    axis = np.arange(len(joint)) - np.searchsorted(joint_of, joint_of)
    alone = np.bincount(joint_of, minlength=1)[joint_of] == 1
    return joint, np.searchsorted(whole.joint_of, joint) + axis, alone


BENDING = ("lower_leg", "lower_arm")
"""The parts whose joints bend about one axis by nature."""

ONE_AXIS = 0.02
"""A joint whose turning about other axes stays below this share of its main one is used as a hinge."""

BENT = 0.1
"""Radians that such a joint turns by at least."""


def as_used(motion: Motion, joints: set[int]) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and all above them, without limits, and which joints (N,) of the whole they are.

    Knees and elbows that the motion only ever turns about one axis are taken as hinges: files without joint kinds (BVH)
    hold them as balls; the motion itself tells that they are not.
    """
    whole = motion.skeleton
    found = roles(whole)
    bending = {found[f"{s}_{part}"] for s in ("left", "right") for part in BENDING if f"{s}_{part}" in found}
    needed = {above for joint in joints for above in whole.chain(joint)}
    balls = [j for j in sorted(bending & needed) if whole.kinds[j] is JointKind.BALL]
    named = tuple((j, *axis.tolist()) for j, axis in zip(balls, _only_axes(motion, balls)) if axis is not None)
    return _with_hinges(whole, frozenset(joints), named)


@lru_cache(maxsize=64)
def _with_hinges(
    whole: Skeleton, joints: frozenset[int], hinges: tuple[tuple[int, float, float, float], ...]
) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and all above them, without limits, some of them hinges (joint, axis); and which
    joints (N,) of the whole they are."""
    small, kept = whole.pruned(joints)
    kinds, axes = list(small.kinds), small.axes.copy()
    for joint, *axis in hinges:
        number = int(np.searchsorted(kept, joint))
        kinds[number] = JointKind.HINGE
        axes[number] = 0.0
        axes[number, 0] = axis
    return replace(small, kinds=tuple(kinds), axes=axes, limits=np.empty((0, 3, 2))), kept


def _only_axes(motion: Motion, joints: list[int]) -> list[Array | None]:
    """(3,) the axis that each of some joints only ever turns about; None if there is no such one."""
    some = motion.rotations[:: max(motion.num_frames // SEEN, 1), joints].swapaxes(0, 1)
    turns = log(multiply(conjugate(some[:, :1]), some))
    # What the turns' singular values would say, of a matrix of three rows.
    squares, directions = np.linalg.eigh(turns.swapaxes(1, 2) @ turns)
    first = directions[:, :, 2]
    about = np.einsum("jfi,ji->jf", turns, first)
    single = squares[:, 1] < ONE_AXIS**2 * squares[:, 2]
    single &= about.max(axis=1) - about.min(axis=1) > BENT
    return [axis if alone else None for axis, alone in zip(first, single, strict=True)]
