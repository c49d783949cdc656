"""Coordinates of bodies: displacements of a motion by root shifts and joint rotations, their cost and derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
from understudy.base.records import cached, record, unchecked
from understudy.figure.kinematics import BLOCK_FRAMES, forward, joint_angles, locate
from understudy.figure.mass import masses
from understudy.figure.measures import leg_length
from understudy.figure.motion import MAX_SAMPLED_FRAMES, Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton


@record
class Body:
    """A motion to change, and the joints that may change."""

    motion: Motion
    joints: tuple[int, ...] | None = None
    """The joints that may rotate; None for all movable joints."""
    root_moves: bool = True
    """Whether the root may move."""
    frame_turns: Array | None = None
    """(F, J, 4) the frames in which rotations of each joint are counted, in the joint's own frame; None if all are
    counted in the joints' own frames. They differ where the frame of a joint jumps (`steady_frames`)."""

    def __repr__(self) -> str:
        return f"<Body with {self.num_coordinates} coordinates>"

    def __post_init__(self) -> None:
        skeleton = self.motion.skeleton
        indices = range(skeleton.num_joints)
        joints = indices if self.joints is None else sorted(set(self.joints))
        if any(j not in indices for j in joints):
            raise OptionError(f"Expected joint numbers from 0 to {skeleton.num_joints - 1}, got {list(joints)}")
        movable = tuple(int(j) for j in joints if NUM_AXES[skeleton.kinds[j]] > 0)
        object.__setattr__(self, "joints", movable)

    @property
    def skeleton(self) -> Skeleton:
        return self.motion.skeleton

    @cached
    def joint_of(self) -> np.ndarray:
        """(R,) the joint of each rotation coordinate, in order."""
        assert self.joints is not None
        return np.array([j for j in self.joints for _ in range(NUM_AXES[self.skeleton.kinds[j]])], dtype=np.intp)

    @property
    def num_shifts(self) -> int:
        """The number of coordinates that shift the root: 3 or 0."""
        return 3 if self.root_moves else 0

    @property
    def num_coordinates(self) -> int:
        return self.num_shifts + len(self.joint_of)

    @cached
    def names(self) -> tuple[str, ...]:
        """The name of each coordinate: `root.x`, `LeftArm.0`."""
        shifts = [f"root.{axis}" for axis in "xyz"] if self.root_moves else []
        counts = np.zeros(self.skeleton.num_joints, dtype=int)
        rotations = []
        for joint in self.joint_of:
            rotations.append(f"{self.skeleton.names[joint]}.{counts[joint]}")
            counts[joint] += 1
        return (*shifts, *rotations)

    @cached
    def _groups(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """(number of axes, joints, first rotation coordinate of each joint), for each number of axes that occurs."""
        first = {int(j): i for i, j in reversed(list(enumerate(self.joint_of)))}
        groups = []
        for count in (1, 2, 3):
            joints = [j for j in first if NUM_AXES[self.skeleton.kinds[j]] == count]
            if joints:
                groups.append((count, np.array(sorted(joints)), np.array([first[j] for j in sorted(joints)])))
        return groups

    @cached
    def _second_angles(self) -> Array:
        """(F, J) radians: angles of the base motion about the second axis of each joint."""
        return joint_angles(self.skeleton, self.motion.rotations)[..., 1]

    def moved(self, displacement: Array) -> tuple[Array, Array]:
        """The root path (F, 3) and local rotations (F, J, 4), displaced by coordinates (F, D)."""
        base, skeleton = self.motion, self.skeleton
        shape = base.num_frames, self.num_coordinates
        if displacement.shape != shape:
            raise OptionError(f"Expected coordinates of shape {shape}, got {displacement.shape}")
        if not displacement.any():
            return base.root, base.rotations
        root = base.root + displacement[:, :3] if self.root_moves else base.root
        rotations = base.rotations.copy()
        for start in range(0, len(displacement), BLOCK_FRAMES):
            part = slice(start, start + BLOCK_FRAMES)
            coordinates = displacement[part, self.num_shifts :]
            for count, joints, first in self._groups:
                angles = coordinates[:, first[:, None] + np.arange(count)]
                if self.frame_turns is not None and count != 2:
                    angles = self._in_joint_frames(angles, joints, self.frame_turns[part, joints])
                if count == 3:
                    rotation = exp(angles)
                elif count == 1:
                    rotation = from_axis_angle(skeleton.axes[joints, 0], angles[..., 0])
                else:
                    rotation = self._rotate_universal(joints, angles, part)
                rotations[part, joints] = multiply(base.rotations[part, joints], rotation)
        return root, rotations

    def displaced(self, displacement: Array) -> Posture:
        """The body displaced by coordinates (F, D)."""
        root, rotations = self.moved(displacement)
        return Posture(body=self, displacement=displacement, root=root, local=rotations)

    def _in_joint_frames(self, angles: Array, joints: np.ndarray, turns: Array) -> Array:
        """Rotation vectors (n, j, 3) or angles (n, j, 1) of joints (j,), given in frames turned by (n, j, 4), in the
        joints' own frames. A hinge has one axis, and only the sign of its angle can change."""
        if angles.shape[-1] == 3:
            return rotate(turns, angles)
        axes = self.skeleton.axes[joints, 0]
        return angles * np.where(np.einsum("nji,ji->nj", rotate(turns, axes), axes) < 0.0, -1.0, 1.0)[..., None]

    def with_motion(self, motion: Motion) -> Body:
        """The same body with another motion of its skeleton, frame by frame near to its own; cached properties of the
        skeleton are kept."""
        return unchecked(self, MOTION_INDEPENDENT, motion=motion)

    def with_steady_frames(self) -> Body:
        """The body with rotations counted in frames that do not jump."""
        return unchecked(self, MOTION_INDEPENDENT, motion=self.motion, frame_turns=steady_frames(self.motion))

    @property
    def posture(self) -> Posture:
        """The body with zero displacement."""
        # Not cached: a reference cycle of body and posture would delay freeing the memory of both.
        zero = np.broadcast_to(0.0, (self.motion.num_frames, self.num_coordinates))
        return Posture(body=self, displacement=zero, root=self.motion.root, local=self.motion.rotations)

    @cached
    def world(self) -> tuple[Array, Array]:
        """World positions (F, J, 3) and rotations (F, J, 4) of the joints at zero displacement."""
        return forward(self.skeleton, self.motion.root, self.motion.rotations, self.motion.offsets)

    def at(self, frames: np.ndarray) -> Body:
        """The body at some frames (N,); cached world positions are reused."""
        body = self.with_motion(self.motion[frames])
        if self.frame_turns is not None:
            body.__dict__["frame_turns"] = self.frame_turns[frames]
        if "world" in self.__dict__:
            body.__dict__["world"] = tuple(array[frames] for array in self.world)
        return body

    def shifted(self, shift: Array) -> Body:
        """The body shifted by (F, 3) metres; cached world positions are reused."""
        body = self.with_motion(self.motion.derived(root=self.motion.root + shift))
        if "world" in self.__dict__:
            positions, rotations = self.world
            body.__dict__["world"] = positions + shift[:, None], rotations
        return body

    @cached
    def base_axes(self) -> Array:
        """(R, 3) the axes of the rotation coordinates at zero displacement, in the frames of their joints. Invalid for
        universal joints, whose first axis moves."""
        out = np.empty((len(self.joint_of), 3))
        for count, joints, first in self._groups:
            out[first[:, None] + np.arange(count)] = np.eye(3) if count == 3 else self.skeleton.axes[joints, :count]
        return out

    def local_axes(self, displacement: Array) -> Array:
        """(F, R, 3) the axes of the rotation coordinates at a displacement (F, D), in the frames of their joints."""
        out = np.empty((len(displacement), len(self.joint_of), 3))
        coordinates = displacement[:, self.num_shifts :]
        for count, joints, first in self._groups:
            columns = first[:, None] + np.arange(count)
            if count == 3:
                out[:, columns] = np.swapaxes(right_jacobian(coordinates[:, columns]), -1, -2)
                if self.frame_turns is not None:
                    out[:, columns] = rotate(self.frame_turns[:, joints, None], out[:, columns])
            elif count == 1:
                out[:, columns] = self.skeleton.axes[joints, :1]
                if self.frame_turns is not None:
                    ones = np.ones((len(out), len(joints), 1))
                    out[:, columns] *= self._in_joint_frames(ones, joints, self.frame_turns[:, joints])[..., None]
            else:
                # The first axis is rotated back by the angle about the second.
                first_axis, second_axis = self.skeleton.axes[joints, 0], self.skeleton.axes[joints, 1]
                second_angle = self._second_angles[:, joints] + coordinates[:, columns[:, 1]]
                out[:, columns[:, 0]] = rotate(from_axis_angle(second_axis, -second_angle), first_axis)
                out[:, columns[:, 1]] = second_axis
        return out

    def _rotate_universal(self, joints: np.ndarray, angles: Array, part: slice) -> Array:
        """The local rotations that turn universal joints further about both axes.

        Rotations by s about axis a and by t about axis b become rotations by s + d and t + e. In the joint's frame this
        is a rotation by -t about b, by d about a, then by t + e about b.
        """
        second = self._second_angles[part, joints]
        a, b = self.skeleton.axes[joints, 0], self.skeleton.axes[joints, 1]
        undo = from_axis_angle(b, -second)
        redo = from_axis_angle(b, second + angles[..., 1])
        return multiply(multiply(undo, from_axis_angle(a, angles[..., 0])), redo)


@lru_cache(maxsize=64)
def make_rest_body(skeleton: Skeleton, joints: tuple[int, ...] | None = None, root_moves: bool = True) -> Body:
    """A body in its rest pose. Bodies made from it with `with_motion` share its cached properties."""
    body = Body(motion=rest_motion(skeleton), joints=joints, root_moves=root_moves)
    _ = body.base_axes
    return body


MOTION_INDEPENDENT = ("joints", "root_moves", "frame_turns", "joint_of", "names", "_groups", "base_axes")
"""The attributes of a body that do not depend on its motion, or that a small change of it leaves as they are."""

MIN_JUMP_RADIANS, MIN_JUMP_RATIO, JUMP_WINDOW_FRAMES = np.radians(20.0), 4.0, 4
"""The frame of a joint jumps where it turns by more than this from one frame to the next, and by more than this many
times as much as it usually does within the window before and after."""


def steady_frames(motion: Motion) -> Array | None:
    """(F, J, 4) the frames in which rotations of joints are counted, in the joints' own frames; None if none jumps.

    Captured thighs turn half around themselves from one frame to the next where the leg is straight: nobody sees it. A
    smooth displacement that is counted in the frame of such a joint would jump in the world. So the frames in which it
    is counted turn back by every jump.
    """
    cosines = np.abs(np.einsum("fji,fji->fj", motion.rotations[1:], motion.rotations[:-1]))
    if cosines.size == 0 or cosines.min() > np.cos(0.5 * MIN_JUMP_RADIANS):
        return None
    _, rotations = forward(motion.skeleton, motion.root, motion.rotations, motion.offsets)
    steps = multiply(conjugate(rotations[:-1]), rotations[1:])
    angles = 2.0 * np.arccos(np.minimum(np.abs(steps[..., 0]), 1.0))
    around = [shifted(angles, k) for k in range(-JUMP_WINDOW_FRAMES, JUMP_WINDOW_FRAMES + 1)]
    jumps = (angles > MIN_JUMP_RADIANS) & (angles > MIN_JUMP_RATIO * np.median(around, axis=0))
    if not jumps.any():
        return None
    turns = np.zeros(rotations.shape)
    turns[..., 0] = 1.0
    for frame, joint in np.argwhere(jumps):
        turns[frame + 1 :, joint] = multiply(conjugate(steps[frame, joint]), turns[frame, joint])
    return turns


def shifted(values: Array, count: int) -> Array:
    """Values (n, ...) of `count` places later, the last or first ones repeated."""
    return values[np.clip(np.arange(len(values)) + count, 0, len(values) - 1)]


@record
class Posture:
    """A displaced body: world positions and rotations, and their derivatives by the coordinates."""

    body: Body
    displacement: Array
    """(F, D) the coordinates."""
    root: Array
    """(F, 3) metres: the root path."""
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
        """(F, R, 3) the axis of each rotation coordinate, in the frame of its joint."""
        constant = JointKind.UNIVERSAL not in self.body.skeleton.kinds and self.body.frame_turns is None
        if constant and not self.displacement.any():
            return np.broadcast_to(self.body.base_axes, (len(self.displacement), len(self.body.joint_of), 3))
        return self.body.local_axes(self.displacement)

    @cached
    def axes(self) -> Array:
        """(F, R, 3) the axis of each rotation coordinate, in the world."""
        return rotate(self.rotations[:, self.body.joint_of], self.local_axes)

    def points(self, joints: np.ndarray, offsets: Array) -> Array:
        """(F, P, 3) world positions of points, given by joint (P,) and local offset (P, 3) or (F, P, 3)."""
        out = np.empty((len(self.root), len(joints), 3))
        for start in range(0, len(out), BLOCK_FRAMES):
            part = slice(start, start + BLOCK_FRAMES)
            block_offsets = offsets if offsets.ndim == 2 else offsets[part]
            np.add(self.positions[part, joints], rotate(self.rotations[part, joints], block_offsets), out=out[part])
        return out

    def point_jacobian(self, joints: np.ndarray, positions: Array) -> Array:
        """(F, P, 3, D) derivatives by the coordinates of points at world positions (F, P, 3), fixed to joints (P,)."""
        point, rotation = np.nonzero(self.carries(joints))
        arms = positions[:, point] - self.positions[:, self.body.joint_of[rotation]]
        out = self._rotation_jacobian(joints, point, rotation, arms)
        if self.body.root_moves:
            out[..., :3] = np.eye(3)
        return out

    def mean_square_derivatives(self, joints: np.ndarray, offsets: Array) -> Array:
        """(D,) mean squared derivatives of points, given by joint (P,) and local offset (P, 3), by each coordinate."""
        point, rotation = np.nonzero(self.carries(joints))
        arms = self.points(joints, offsets)[:, point] - self.positions[:, self.body.joint_of[rotation]]
        derivatives = cross(self.axes[:, rotation], arms)
        squares = np.einsum("fni,fni->n", derivatives, derivatives)
        sums = np.bincount(rotation, squares, minlength=len(self.body.joint_of))
        return np.concatenate([np.ones(self.body.num_shifts), sums / (len(self.root) * len(joints))])

    def motion(self) -> Motion:
        """The displaced motion."""
        return self.body.motion.derived(root=self.root, rotations=self.local)

    def as_body(self) -> Body:
        """A body whose motion is the displaced one, at zero displacement; cached world positions are reused."""
        body = self.body.with_motion(self.motion())
        body.__dict__["world"] = self._world
        return body

    def carries(self, joints: np.ndarray) -> np.ndarray:
        """(P, R) whether each rotation coordinate moves each joint, being at the joint or above it."""
        return self.body.skeleton.above[joints][:, self.body.joint_of]

    def _rotation_jacobian(self, joints: np.ndarray, point: np.ndarray, rotation: np.ndarray, arms: Array) -> Array:
        """(F, P, 3, D) derivatives for pairs (N,) of a point and a rotation coordinate, with arms (F, N, 3)."""
        out = np.zeros((len(arms), len(joints), 3, self.body.num_coordinates))
        derivatives = cross(self.axes[:, rotation], arms)
        out[:, point, :, self.body.num_shifts + rotation] = np.swapaxes(derivatives, 0, 1)
        return out


@record
class Bodies:
    """Several bodies as one; their coordinates are concatenated."""

    bodies: tuple[Body, ...]

    def __post_init__(self) -> None:
        if len({body.motion.num_frames for body in self.bodies}) > 1 or len({b.motion.fps for b in self.bodies}) > 1:
            raise OptionError("Bodies that move together must have the same number of frames and the same rate")

    @property
    def num_coordinates(self) -> int:
        return sum(body.num_coordinates for body in self.bodies)

    def columns(self, number: int) -> slice:
        """The range of a body's coordinates."""
        start = sum(body.num_coordinates for body in self.bodies[:number])
        return slice(start, start + self.bodies[number].num_coordinates)

    def displaced(self, displacement: Array) -> tuple[Posture, ...]:
        """All bodies displaced by coordinates (F, D)."""
        return tuple(body.displaced(displacement[:, self.columns(i)]) for i, body in enumerate(self.bodies))

    def points(self, postures: Sequence[Posture], body_points: BodyPoints) -> Array:
        """(F, P, 3) world positions of points of any of the bodies."""
        if len(postures) == 1:
            return postures[0].points(body_points.joints, body_points.offsets)
        out = np.empty((len(postures[0].root), len(body_points.bodies), 3))
        for number, posture in enumerate(postures):
            mask = body_points.bodies == number
            out[:, mask] = posture.points(body_points.joints[mask], body_points.offsets[mask])
        return out


@record
class BodyPoints:
    """Points of several bodies as arrays."""

    bodies: np.ndarray
    """(P,) the body of each point."""
    joints: np.ndarray
    """(P,) the joint to which it is fixed."""
    offsets: Array
    """(P, 3) metres, in that joint's frame."""

    @staticmethod
    def of(bodies: Sequence[Body], points: Iterable[tuple[int, Point | str]]) -> BodyPoints:
        """Points given as (body, point or name)."""
        pairs = list(points)
        located = [locate(bodies[body].skeleton, [point]) for body, point in pairs]
        return BodyPoints(
            bodies=np.array([body for body, _ in pairs], dtype=np.intp),
            joints=np.array([joints[0] for joints, _ in located], dtype=np.intp),
            offsets=np.array([offsets[0] for _, offsets in located]).reshape(-1, 3),
        )


MIN_COST_LEGS_SQUARED = 0.2
"""Added to the cost of rotating any joint by a radian, in squared leg lengths."""

UNUSED_JOINT_FACTOR = 100.0
"""The factor on the cost of rotating a joint that the motion never rotates."""

COST_FRAMES = 4
"""The number of frames over which the cost of each coordinate is averaged."""


def find_costs(motion: Motion, body: Body, stiffness: Mapping[str, float]) -> Array:
    """(D,) the cost of each coordinate: the mean squared movement of the whole body per unit of the coordinate.

    Args:
        motion: The motion of the whole body.
        body: The part of the body that may move.
        stiffness: Factors on the cost of rotating joints, by joint name; `root` for its shifts.
    """
    skeleton = motion.skeleton
    frames = np.linspace(0, motion.num_frames - 1, min(COST_FRAMES, motion.num_frames)).astype(int)
    whole, joints, offsets = _mass_points(skeleton)
    costs = whole.with_motion(motion[frames]).posture.mean_square_derivatives(joints, offsets)
    costs[3:] += MIN_COST_LEGS_SQUARED * leg_length(skeleton) ** 2
    factors = {skeleton.names[j]: UNUSED_JOINT_FACTOR for j in motion.still_joints} | dict(stiffness)
    shifts = costs[:3] * factors.get("root", 1.0)
    rotations = _select_costs(body, whole, costs[3:])
    if factors:
        rotations = rotations * np.array([factors.get(name, 1.0) for name in body.skeleton.names])[body.joint_of]
    return np.concatenate([shifts[: body.num_shifts], rotations])


@lru_cache(maxsize=64)
def _mass_points(skeleton: Skeleton) -> tuple[Body, np.ndarray, Array]:
    """A whole body in its rest pose, and the points that carry its mass: joints (P,) and offsets (P, 3)."""
    return make_rest_body(skeleton), *locate(skeleton, masses(skeleton).points)


def _select_costs(body: Body, whole: Body, costs: Array) -> Array:
    """(R,) the costs of the rotation coordinates of part of a body, from those of the whole body. A ball joint used as
    a hinge takes the cost of its most expensive axis."""
    joint, index, single = _match(body.skeleton, body.joints, whole)
    if not single.any():
        return costs[index]
    highest = np.zeros(whole.skeleton.num_joints)
    np.maximum.at(highest, whole.joint_of, costs)
    return np.where(single, highest[joint], costs[index])


@lru_cache(maxsize=64)
def _match(part: Skeleton, joints: tuple[int, ...] | None, whole: Body) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each rotation coordinate (R,) of some joints of part of a body: its joint in the whole body, its index among
    the whole body's rotation coordinates, and whether it is the only one of its joint."""
    joint_of = make_rest_body(part, joints).joint_of
    joint = np.array([whole.skeleton.index[name] for name in part.names], dtype=np.intp)[joint_of]
    axis = np.arange(len(joint)) - np.searchsorted(joint_of, joint_of)
    single = np.bincount(joint_of, minlength=1)[joint_of] == 1
    return joint, np.searchsorted(whole.joint_of, joint) + axis, single


ONE_AXIS_PARTS = ("lower_leg", "lower_arm")
"""The body parts whose joints anatomically bend about one axis."""

MAX_OFF_AXIS_RATIO, MIN_HINGE_RANGE_RADIANS = 0.02, 0.1
"""A hinge rotates about other axes by less than this share of its main rotation, whose range is more than this."""


def prune_as_used(motion: Motion, joints: set[int]) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and their ancestors, without limits, and their indices (N,) in the whole skeleton.

    Knees and elbows that the motion rotates about one axis only become hinges. Files without joint kinds (BVH) store
    them as ball joints.
    """
    whole = motion.skeleton
    by_role = roles(whole)
    names = [f"{side}_{part}" for side in ("left", "right") for part in ONE_AXIS_PARTS]
    bending = {by_role[name] for name in names if name in by_role}
    needed = {ancestor for joint in joints for ancestor in whole.chain(joint)}
    balls = [j for j in sorted(bending & needed) if whole.kinds[j] is JointKind.BALL]
    hinges = tuple((j, *axis.tolist()) for j, axis in zip(balls, _find_axes(motion, balls)) if axis is not None)
    return _with_hinges(whole, frozenset(joints), hinges)


@lru_cache(maxsize=64)
def _with_hinges(
    whole: Skeleton, joints: frozenset[int], hinges: tuple[tuple[int, float, float, float], ...]
) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and their ancestors, without limits, with hinges (joint, axis); and the joints'
    indices (N,) in the whole skeleton."""
    pruned, indices = whole.pruned(joints)
    kinds, axes = list(pruned.kinds), pruned.axes.copy()
    for joint, *axis in hinges:
        index = int(np.searchsorted(indices, joint))
        kinds[index] = JointKind.HINGE
        axes[index] = 0.0
        axes[index, 0] = axis
    return replace(pruned, kinds=tuple(kinds), axes=axes, limits=np.empty((0, 3, 2))), indices


def _find_axes(motion: Motion, joints: list[int]) -> list[Array | None]:
    """For each joint, the axis (3,) if the motion rotates it about one axis only, else None."""
    rotations = motion.rotations[:: max(motion.num_frames // MAX_SAMPLED_FRAMES, 1), joints].swapaxes(0, 1)
    vectors = log(multiply(conjugate(rotations[:, :1]), rotations))
    # The eigenvalues are the squared singular values of the rotation vectors, and cheaper.
    squares, directions = np.linalg.eigh(vectors.swapaxes(1, 2) @ vectors)
    first = directions[:, :, 2]
    angles = np.einsum("jfi,ji->jf", vectors, first)
    single = squares[:, 1] < MAX_OFF_AXIS_RATIO**2 * squares[:, 2]
    single &= angles.max(axis=1) - angles.min(axis=1) > MIN_HINGE_RANGE_RADIANS
    return [axis if is_single else None for axis, is_single in zip(first, single, strict=True)]
