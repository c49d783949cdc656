"""Coordinates of motion: small turns and shifts of a body, and how everything on it moves with them.

A body's coordinates at a frame are a displacement of its base motion: the root's shift in metres (3), then for each
joint that may move its turns in radians: three for a ball (a rotation vector in the joint's own frame, so
there is no gimbal), two for a universal joint, one for a hinge [Gleicher98, sec. 3; Vanderhyde03]. Zero is the base.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from understudy.angles import joint_angles
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array, cross, exp, from_axis_angle, multiply, right_jacobian, rotate
from understudy.kinematics import BLOCK, forward
from understudy.motion import Motion, rest_motion
from understudy.records import remembered, unchecked
from understudy.skeleton import NUM_AXES, JointKind, Skeleton


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """A motion to be changed, and what of it may change."""

    motion: Motion
    joints: tuple[int, ...] | None = None
    """The joints that may turn; None for all that can."""
    root_moves: bool = True
    """Whether the root may be shifted."""

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

    @remembered
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

    @remembered
    def names(self) -> tuple[str, ...]:
        """What each coordinate is called: `root.x`, `LeftArm.0`."""
        shifts = [f"root.{axis}" for axis in "xyz"] if self.root_moves else []
        counts = np.zeros(self.skeleton.num_joints, dtype=int)
        turns = []
        for joint in self.joint_of:
            turns.append(f"{self.skeleton.names[joint]}.{counts[joint]}")
            counts[joint] += 1
        return (*shifts, *turns)

    @remembered
    def _groups(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """(number of axes, joints, first turning coordinate of each), for each number of axes that occurs."""
        first = {int(j): i for i, j in reversed(list(enumerate(self.joint_of)))}
        groups = []
        for count in (1, 2, 3):
            joints = [j for j in first if NUM_AXES[self.skeleton.kinds[j]] == count]
            if joints:
                groups.append((count, np.array(sorted(joints)), np.array([first[j] for j in sorted(joints)])))
        return groups

    @remembered
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

    @remembered
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

    @remembered
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

    @remembered
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

    @remembered
    def local_axes(self) -> Array:
        """(F, R, 3) the axis about which each turning coordinate turns its joint, in the joint's own frame."""
        if JointKind.UNIVERSAL not in self.body.skeleton.kinds and not self.d.any():
            return np.broadcast_to(self.body.base_axes, (len(self.d), len(self.body.joint_of), 3))
        return self.body.local_axes(self.d)

    @remembered
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
