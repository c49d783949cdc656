"""What a robot asks of a motion: no collisions with itself, no joint faster than its motor, a level floor at zero."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, multiply, rotate
from understudy.base.records import record
from understudy.constraints.apart import Apart
from understudy.constraints.base import PointRef
from understudy.correspondence.limits import joint_limits
from understudy.figure.contacts import find_runs
from understudy.figure.kinematics import Pose, fk, joint_angle_curves
from understudy.figure.measures import feet
from understudy.figure.motion import Motion
from understudy.figure.robot import MAX_UNKNOWN_SPEED, CollisionShape, RobotBody, RobotLayout
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.figure.surface import closest_points
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.spacetime import Spacetime

NEAR_METRES = 0.05
"""Two capsules that never come nearer than this before the solve, beyond the margin, get no constraint. Arms that are
pushed away from the legs move by centimetres, towards the trunk."""

MAX_ADJACENT_JOINTS = 2
"""Bodies with at most so many joints between them are adjacent: an ankle has two motors."""

MAX_CLOSE_JOINTS, MAX_CLOSE_METRES = 3, 0.03
"""Bodies with at most so many joints between them that are nearer than this at rest only graze each other: a waist."""

NEAR_SECONDS = 0.4
"""A constraint holds this long before and after its capsules are near each other."""

MAX_REST_OVERLAP_METRES = 0.002
"""Shapes that overlap by more in the rest pose are built into each other: they do not count as a collision."""


@record
class Capsule:
    """A capsule of a robot's body."""

    body: int
    """The index of the body."""
    ends: tuple[Point, Point]
    radius: float
    """Metres."""


def capsules_of(layout: RobotLayout) -> list[Capsule]:
    """The collision shapes of a robot as capsules, fixed to the joints that carry them."""
    capsules: list[Capsule] = []
    for number, body in enumerate(layout.bodies):
        parts = [(shape, *part) for shape in body.shapes for part in _capsules_of_shape(shape)]
        for shape, middle, half, radius in parts:
            ends = []
            for side, sign in (("start", -1.0), ("end", 1.0)):
                place = shape.position + rotate(shape.rotation, middle + sign * half)
                offset = body.position + rotate(body.rotation, place)
                ends.append(Point(name=f"{body.name}_{len(capsules)}_{side}", joint=body.joint, offset=offset))
            capsules.append(Capsule(body=number, ends=(ends[0], ends[1]), radius=radius))
    return capsules


def _capsules_of_shape(shape: CollisionShape) -> Iterator[tuple[Array, Array, float]]:
    """The middle (3,), the half axis (3,) and the radius of each capsule of a shape, in the shape's frame.

    A cylinder is a capsule of the same radius. A box is filled with capsules along its longest side that are as thick
    as its shortest, side by side along the third.
    """
    size, zero = shape.size, np.zeros(3)
    if shape.kind == "sphere":
        yield zero, zero, float(size[0])
    elif shape.kind == "capsule":
        yield zero, np.array([0.0, 0.0, size[1]]), float(size[0])
    elif shape.kind == "cylinder" and size[1] > 0.5 * size[0]:
        # Half way between the capsule inside the cylinder and the one around it.
        yield zero, np.array([0.0, 0.0, size[1] - 0.5 * size[0]]), float(size[0])
    elif shape.kind == "cylinder":
        yield from _capsules_of_box(np.array([size[0], size[0], size[1]]))
    else:
        yield from _capsules_of_box(size)


def _capsules_of_box(size: Array) -> Iterator[tuple[Array, Array, float]]:
    """Capsules inside a box, given its half sizes (3,)."""
    order = np.argsort(size)
    radius, middle, longest = (float(size[axis]) for axis in order)
    along, across = np.eye(3)[order[2]], np.eye(3)[order[1]]
    half = max(longest - radius, 0.0) * along
    count = max(int(np.ceil(middle / max(radius, 1e-6) - 1e-9)), 1) if middle > radius else 1
    for place in np.linspace(-1.0, 1.0, min(count, 4)) if count > 1 else (0.0,):
        yield place * (middle - radius) * across, half, radius


def separate_arms(motion: Motion, layout: RobotLayout, *, margin: float, spacing: float) -> Motion:
    """A robot's motion with its arms moved out of its body, by the collision shapes of its file.

    Only arms and heads move, so that feet and balance stay as they are. In one solve of the whole body it was the hips
    that gave way to a hand beside them, by a tenth of a leg.

    Args:
        motion: A finished motion of the robot.
        layout: The robot.
        margin: Metres that shapes keep between them.
        spacing: Seconds between the keys of the change.
    """
    names = free_joints(motion.skeleton)
    apart = collision_constraints(motion, layout, margin=margin, joints=names)
    if not any(_is_violated(constraint, motion) for constraint in apart):
        return motion
    ranges, _ = joint_limits(motion, only=set(names), widen=False)
    arms = Actor(motion=motion, joints=names, root_moves=False)
    return Spacetime(spacing=spacing).solve(Problem(actors=(arms,), constraints=(*apart, *ranges))).motions[0]


def free_joints(skeleton: Skeleton) -> tuple[str, ...]:
    """The joints that carry neither feet nor both arms: those of arms and head."""
    joint_of = roles(skeleton)
    arms = [joint_of[f"{side}_upper_arm"] for side in ("left", "right") if f"{side}_upper_arm" in joint_of]
    soles = [skeleton.index[point.joint] for point in feet(skeleton)]
    names = []
    for joint in range(1, skeleton.num_joints):
        below = skeleton.below(joint)
        stands = bool(below[soles].any()) or any(joint in skeleton.chain(sole) for sole in soles)
        if not stands and below[arms].sum() < 2 and skeleton.kinds[joint] is JointKind.HINGE:
            names.append(skeleton.names[joint])
    return tuple(names)


def _is_violated(constraint: Apart, motion: Motion) -> bool:
    ends = fk(motion).points([ref.point for ref in constraint.point_refs()])[constraint.frames(motion.times)]
    return bool((_gaps(ends[:, :2], ends[:, 2:]) < constraint.radius + constraint.other_radius).any())


def collision_constraints(
    start: Motion, layout: RobotLayout, *, margin: float, joints: Collection[str] | None = None
) -> list[Apart]:
    """Constraints that keep the parts of a robot apart, where they come near each other before the solve.

    Args:
        start: The motion before the solve, on the robot's skeleton.
        layout: The robot.
        margin: Metres that shapes keep between them.
        joints: One of two parts must move with one of these joints; all parts count if not given.
    """
    capsules = capsules_of(layout)
    constraints: list[Apart] = []
    ends = _ends(fk(start), capsules)
    for i, j in colliding_pairs(layout, start.skeleton, capsules):
        if joints is not None and not {capsules[k].ends[0].joint for k in (i, j)} & set(joints):
            continue
        gap = _gaps(ends[i], ends[j]) - capsules[i].radius - capsules[j].radius
        near = gap < margin + NEAR_METRES
        if not near.any():
            continue
        names = " and ".join(layout.bodies[capsules[k].body].name for k in (i, j))
        reach = round(NEAR_SECONDS * start.fps)
        widened = np.convolve(near, np.ones(2 * reach + 1), "same") > 0.5
        for first, last in find_runs(widened):
            constraints.append(
                Apart(
                    part=_refs(capsules[i]),
                    radius=capsules[i].radius + margin,
                    other=_refs(capsules[j]),
                    other_radius=capsules[j].radius,
                    start=first / start.fps,
                    end=last / start.fps,
                    name=f"{names} apart",
                )
            )
    return constraints


def _refs(capsule: Capsule) -> tuple[PointRef, PointRef]:
    first, second = capsule.ends
    return PointRef(point=first), PointRef(point=second)


def _ends(pose: Pose, capsules: Sequence[Capsule]) -> Array:
    """(C, F, 2, 3) the ends of capsules, world."""
    points = pose.points([end for capsule in capsules for end in capsule.ends])
    return np.moveaxis(points.reshape(len(points), len(capsules), 2, 3), 1, 0)


def _gaps(first: Array, second: Array) -> Array:
    """(F,) metres between the segments of two capsules, whose ends are (F, 2, 3) each."""
    share, other = closest_points(first[:, 0], first[:, 1], second[:, 0], second[:, 1])
    one = first[:, 0] + share[:, None] * (first[:, 1] - first[:, 0])
    two = second[:, 0] + other[:, None] * (second[:, 1] - second[:, 0])
    return np.linalg.norm(one - two, axis=-1)


def colliding_pairs(layout: RobotLayout, skeleton: Skeleton, capsules: Sequence[Capsule]) -> list[tuple[int, int]]:
    """The pairs of capsules that may not collide.

    Adjacent bodies are left out, and bodies that overlap in the rest pose or are close neighbours.
    """
    if not capsules:
        return []
    owners = [_moving_body(layout.bodies, capsule.body) for capsule in capsules]
    chains = {owner: _moving_chain(layout.bodies, owner) for owner in set(owners)}
    carriers = [_moving_body(layout.bodies, body.parent) for body in layout.bodies if body.moves and body.parent >= 0]
    # The bodies of a trunk are joined by its waist, which bends by less than they are apart.
    trunk = {body for body in set(carriers) if carriers.count(body) > 1}
    positions, rotations = skeleton.rest_world
    ends = _ends(Pose(skeleton=skeleton, positions=positions[None], rotations=rotations[None]), capsules)
    built_together: set[frozenset[int]] = set()
    pairs: list[tuple[int, int]] = []
    for i in range(len(capsules)):
        for j in range(i + 1, len(capsules)):
            bodies = frozenset((owners[i], owners[j]))
            joints = len(set(chains[owners[i]]) ^ set(chains[owners[j]]))
            if joints <= MAX_ADJACENT_JOINTS or bodies <= trunk:
                continue
            pairs.append((i, j))
            gap = float(_gaps(ends[i], ends[j])[0]) - capsules[i].radius - capsules[j].radius
            if gap < -MAX_REST_OVERLAP_METRES or (joints <= MAX_CLOSE_JOINTS and gap < MAX_CLOSE_METRES):
                built_together.add(bodies)
    return [(i, j) for i, j in pairs if frozenset((owners[i], owners[j])) not in built_together]


def _moving_chain(bodies: Sequence[RobotBody], number: int) -> list[int]:
    """The indices of a body that moves and of the moving bodies that carry it."""
    chain = []
    while number >= 0:
        chain.append(number)
        parent = bodies[number].parent
        number = -1 if parent < 0 else _moving_body(bodies, parent)
    return chain


def _moving_body(bodies: Sequence[RobotBody], number: int) -> int:
    """The index of the body that a body is fixed to, through other fixed ones; its own if it moves."""
    while number > 0 and not bodies[number].moves:
        number = bodies[number].parent
    return number


def within_limits(motion: Motion, layout: RobotLayout) -> Motion:
    """A robot's motion in which every hinge is within its range and no faster than its motor.

    The solver meets ranges nearly, and knows no speeds. Where the values of a joint change too fast, they begin to
    change earlier and end later: the largest change of any value is the least possible, and values far from there stay.
    """
    skeleton = motion.skeleton
    joints = [j for j in range(1, skeleton.num_joints) if skeleton.kinds[j] is JointKind.HINGE]
    if not joints:
        return motion
    angles = joint_angle_curves(skeleton, motion.rotations)[:, joints, 0]
    speeds = [layout.max_velocities.get(skeleton.names[j], MAX_UNKNOWN_SPEED) for j in joints]
    steps = np.array(speeds) / motion.fps
    allowed = np.clip(_nearest_turns(angles, skeleton.limits[joints, 0]), *skeleton.limits[joints, 0].T)
    fast = np.flatnonzero((np.abs(np.diff(allowed, axis=0)) > steps * (1.0 + 1e-9)).any(axis=0))
    for column in fast:
        allowed[:, column] = limit_steps(allowed[:, column], float(steps[column]))
    changed = np.flatnonzero((np.abs(allowed - angles) > 1e-9).any(axis=0))
    if len(changed) == 0:
        return motion
    rotations = motion.rotations.copy()
    for column in changed:
        joint = joints[column]
        turns = from_axis_angle(skeleton.axes[joint, 0], allowed[:, column])
        rotations[:, joint] = multiply(skeleton.rest[joint], turns)
    return replace(motion, rotations=rotations)


def _nearest_turns(angles: Array, limits: Array) -> Array:
    """Angles (F, J) shifted by whole turns, each curve as one, so that they lie nearest to their limits (J, 2)."""
    usual = np.median(angles, axis=0)
    known = np.asarray(np.isfinite(limits).all(axis=-1))
    middles = np.where(known, np.where(known[:, None], limits, 0.0).mean(axis=-1), usual)
    return angles - 2.0 * np.pi * np.rint((usual - middles) / (2.0 * np.pi))


def limit_steps(values: Array, largest: float) -> Array:
    """(F,) the curve nearest to values (F,), by its largest distance from them, whose steps are at most `largest`."""
    low, high = values.copy(), values.copy()
    for order in (range(1, len(values)), range(len(values) - 2, -1, -1)):
        for frame in order:
            before = frame - 1 if order.step > 0 else frame + 1
            low[frame] = max(low[frame], low[before] - largest)
            high[frame] = min(high[frame], high[before] + largest)
    return 0.5 * (low + high)
