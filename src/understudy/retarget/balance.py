"""Balance of legged robots: the body shifts so that the floor can push it as its motion takes.

A capture on another body has the same times and other lengths, so that its zero moment point leaves the feet although
the human's does not: a body of 0.75 times the size needs other accelerations. The shift d of the body that moves the
zero moment point by e follows from the pendulum, d - (h / g) d'' = e, with the height h of the centre of mass. It is
solved over the whole motion at once, as the dynamics filters of walking robots do it; legs then turn so that feet stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import solveh_banded
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from understudy.base.quaternion import Array, between, conjugate, from_axis_angle, log, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.figure.contacts import Contact, Floor, held_frames, on_level_floor
from understudy.figure.kinematics import Pose, fk, joint_angle_curves
from understudy.figure.mass import masses
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.robot import RobotLayout
from understudy.figure.skeleton import JointKind, Point, Skeleton

GRAVITY = 9.81

SMOOTHING_SECONDS = 0.04
"""Velocities of masses are low-pass filtered by a Gaussian of this width before they become accelerations."""

MAX_TOUCH_METRES = 0.012
"""A point of a sole up to this height above the floor bears weight."""

SUPPORT_SHARE = 0.8
"""Share of the support, about its middle, that the zero moment point is asked to stay in."""

MAX_SHIFT_LEGS = 0.1
"""Greatest distance by which the zero moment point is moved, in leg lengths."""

MAX_TOTAL_LEGS = 0.12
"""Greatest shift of the body, in leg lengths."""

OTHER_SUPPORT_LEGS = 0.12
"""A joint that carries no foot and is nearer to the floor than this may bear weight, in leg lengths."""

REST_WEIGHT = 0.1
"""Weight of a shift of nothing beside the balance of a supported frame."""

HELD_WEIGHT = 10.0
"""The same where something besides the floor holds the body."""

ROUNDS = 12
"""The zero moment point is computed again after each shift, with the legs as they are then."""

HELD_SECONDS = 0.15
"""Before and after a frame in which a shift would move a foot, the body is not shifted."""

IK_STEPS, DAMPING, METRES_PER_RADIAN = 12, 1e-4, 0.1
"""Steps of the inverse kinematics of a leg, their first damping, and the weight of a rotation beside a place."""

MAX_LOWERING_LEGS, LOWERING_SECONDS, LOWERING_ROUNDS = 0.1, 0.2, 6
"""How far the hips may sink where a leg is too short, in leg lengths, over which time, and in how many rounds."""

MAX_FOOT_ERROR_METRES, MAX_SWING_ERROR_METRES = 0.001, 0.03
"""A shift that moves a standing foot by more is too large; so far may a swinging foot be off its path."""

MAX_ADDED_SPEED, MAX_ADDED_ACCELERATION = 0.5, 10.0
"""Radians a second and per second squared that a shift may add to the greatest ones of a leg's hinge."""

LEAP_LOWERING_METRES = 0.008
"""How far the hips sink at a time where a straight knee would leap."""

SOLE = "sole"
"""Part of the names of the points of a robot's feet."""


@record
class Leg:
    """The hinges that move one foot and nothing else that stands."""

    chain: tuple[int, ...]
    """Joints from the root's child to the one that carries the sole."""
    hinges: tuple[int, ...]
    """Those of them that may turn."""
    soles: tuple[Point, ...]
    """Points of its foot."""


def legs_of(skeleton: Skeleton) -> list[Leg]:
    """The legs of a robot, from the points of its soles."""
    soles = sorted({skeleton.index[end.joint] for end in skeleton.ends if SOLE in end.name})
    chains = {sole: [j for j in skeleton.chain(sole) if j > 0] for sole in soles}
    legs = []
    for sole, chain in chains.items():
        others = {j for other, joints in chains.items() if other != sole for j in joints}
        hinges = [j for j in chain if skeleton.kinds[j] is JointKind.HINGE and j not in others]
        if hinges:
            points = tuple(end for end in skeleton.ends if SOLE in end.name and end.joint == skeleton.names[sole])
            legs.append(Leg(chain=tuple(chain), hinges=tuple(hinges), soles=points))
    return legs


def balance(motion: Motion, layout: RobotLayout, floor: Floor, contacts: Sequence[Contact]) -> Motion:
    """A robot's motion with its zero moment point over its feet, as far as small shifts of its body bring it there.

    Args:
        motion: A finished motion of the robot. Its feet stay where they are.
        layout: The robot, whose masses count.
        floor: What it stands on.
        contacts: Where something besides the floor holds the body, it is not shifted.
    """
    skeleton = motion.skeleton
    legs, soles = legs_of(skeleton), [end for end in skeleton.ends if SOLE in end.name]
    if len(legs) < 2 or motion.num_frames < 5 or JointKind.BALL in skeleton.kinds:
        return motion
    level = on_level_floor(motion, floor)
    held = np.asarray(held_frames(motion, [c for c in contacts if c.on != "floor"]))
    result, leg = level, leg_length(skeleton)
    pace = Pace.of(level, legs)
    # A foot that is out of reach before may stay so.
    allowed = MAX_FOOT_ERROR_METRES + solve_legs(level, level, legs)[1]
    for _ in range(ROUNDS):
        pose = fk(result)
        wanted, supported, height = _wanted_shifts(pose, layout, soles, legs, motion.fps, leg)
        if not supported.any() or not np.abs(wanted).max() > 1e-4:
            break
        shift = _shift(wanted, supported, held, height, motion.fps)
        total = _saturate((result.root - level.root) * [1.0, 0.0, 1.0] + shift[:, [0, 2, 1]], MAX_TOTAL_LEGS * leg)
        moved, missing = _with_feet_kept(replace(result, root=level.root + total), level, legs, allowed, pace)
        lost = (missing > allowed) | pace.leaps(moved)
        if lost.any():
            # Where a foot would leave its place or a leg would leap, the body stays.
            held = held | np.asarray(maximum_filter1d(lost, 2 * round(HELD_SECONDS * motion.fps) + 1))
        else:
            result = moved
    turn = between(floor.normal, np.array([0.0, 1.0, 0.0]))
    return replace(
        result, root=motion.root + unrotate(turn, result.root - level.root), rotations=_local(result, motion)
    )


def _steps(motion: Motion, hinges: Sequence[int], order: int) -> Array:
    """(F - order, H) radians: differences of some order of hinges from frame to frame."""
    return np.abs(np.diff(joint_angle_curves(motion.skeleton, motion.rotations)[:, list(hinges), 0], order, axis=0))


@record
class Pace:
    """How fast the legs of a motion turn."""

    hinges: tuple[int, ...]
    speed: Array
    """(H,) radians a frame: the greatest of each hinge."""
    change: Array
    """(H,) radians a frame, in each frame: the greatest change of its speed."""

    @staticmethod
    def of(motion: Motion, legs: Sequence[Leg]) -> Pace:
        hinges = tuple(joint for leg in legs for joint in leg.hinges)
        most = [_steps(motion, hinges, order).max(axis=0, initial=0.0) for order in (1, 2)]
        return Pace(hinges=hinges, speed=most[0], change=most[1])

    def leaps(self, motion: Motion) -> np.ndarray:
        """(F,) whether a hinge of a leg is faster there, or changes its speed more, than any time before."""
        leaps = np.zeros(motion.num_frames, bool)
        fast = _steps(motion, self.hinges, 1) > self.speed + MAX_ADDED_SPEED / motion.fps
        leaps[1:] |= fast.any(axis=1)
        leaps[:-1] |= fast.any(axis=1)
        sharp = _steps(motion, self.hinges, 2) > self.change + MAX_ADDED_ACCELERATION / motion.fps**2
        leaps[1:-1] |= sharp.any(axis=1)
        return leaps


def _saturate(shift: Array, most: float) -> Array:
    """Shifts (F, 3) of which none is longer than `most`; short ones stay nearly as they are."""
    size = np.linalg.norm(shift, axis=-1, keepdims=True) / most
    return np.asarray(shift * np.where(size > 1e-6, np.tanh(size) / np.maximum(size, 1e-6), 1.0))


def _local(result: Motion, motion: Motion) -> Array:
    rotations = result.rotations.copy()
    rotations[:, 0] = motion.rotations[:, 0]
    return rotations


def _mass_points(skeleton: Skeleton, layout: RobotLayout) -> tuple[list[Point], Array]:
    """The centres of mass of a robot's bodies, and their masses (M,).

    A file without masses is taken as a body of the usual proportions, with a mass of one.
    """
    bodies = [body for body in layout.bodies if body.mass]
    if not bodies:
        usual = masses(skeleton)
        return list(usual.points), usual.shares
    points = [
        Point(name=f"{b.name}_mass", joint=b.joint, offset=b.position + rotate(b.rotation, b.centre)) for b in bodies
    ]
    return points, np.array([body.mass for body in bodies], float)


def zero_moment_points(pose: Pose, layout: RobotLayout, fps: float) -> tuple[Array, Array, Array]:
    """(F, 2) metres, along x and z: where the floor at height zero must push for the bodies to move as they do.

    Each body is a mass at its centre.

    Returns:
        The points; the height of the centre of mass, (F,) metres; and its weight by that in rest, (F,).
    """
    points, weights = _mass_points(pose.skeleton, layout)
    paths = pose.points(points)
    speeds = np.gradient(paths, 1.0 / fps, axis=0)
    speeds = gaussian_filter1d(speeds, SMOOTHING_SECONDS * fps, axis=0, mode="nearest")
    forces = np.gradient(speeds, 1.0 / fps, axis=0)
    forces[..., 1] += GRAVITY
    forces *= weights[:, None]
    total = forces.sum(axis=1)
    lift = np.maximum(total[:, 1], 0.1 * GRAVITY * weights.sum())
    moments = paths[..., [0, 2]] * forces[..., 1:2] - forces[..., [0, 2]] * paths[..., 1:2]
    height = (paths[..., 1] * weights).sum(axis=1) / weights.sum()
    return moments.sum(axis=1) / lift[:, None], height, total[:, 1] / (GRAVITY * weights.sum())


def _wanted_shifts(
    pose: Pose, layout: RobotLayout, soles: Sequence[Point], legs: Sequence[Leg], fps: float, leg: float
) -> tuple[Array, np.ndarray, Array]:
    """By how much the zero moment point (F, 2) should move, which frames (F,) count, and the pendulum's h / g (F,)."""
    moments, height, load = zero_moment_points(pose, layout, fps)
    places = pose.points(soles)
    touches = np.asarray(places[..., 1] < MAX_TOUCH_METRES)
    standing = {joint for one in legs for joint in one.chain}
    others = [j for j in range(pose.skeleton.num_joints) if j not in standing]
    free = np.asarray((pose.positions[:, others, 1] > OTHER_SUPPORT_LEGS * leg).all(axis=1))
    supported = np.asarray(touches.any(axis=1)) & free & (load > 0.3)
    inner = _nearest_supported(moments, places[..., [0, 2]], touches)
    wanted = np.where(supported[:, None], inner - moments, 0.0)
    size = np.linalg.norm(wanted, axis=-1, keepdims=True)
    wanted = wanted * np.minimum(1.0, MAX_SHIFT_LEGS * leg / np.maximum(size, 1e-9))
    return wanted, supported, height / (GRAVITY * np.maximum(load, 0.3))


def _nearest_supported(places: Array, points: Array, touches: np.ndarray) -> Array:
    """(F, 2) the places nearest to others (F, 2) in the middle part of the hull of the points (F, P, 2) that touch."""
    first = np.argmax(touches, axis=1)
    points = np.where(touches[..., None], points, points[np.arange(len(points)), first][:, None])
    middle = points.mean(axis=1, keepdims=True)
    points = middle + SUPPORT_SHARE * (points - middle)
    edges = points[:, None] - points[:, :, None]
    arms = (places[:, None] - points)[:, :, None]
    sides = edges[..., None, 0] * (points[:, None, None] - points[:, :, None, None])[..., 1]
    sides = sides - edges[..., None, 1] * (points[:, None, None] - points[:, :, None, None])[..., 0]
    long = np.linalg.norm(edges, axis=-1) > 1e-9
    outer = (sides >= -1e-12).all(axis=-1) & long
    beyond = edges[..., 0] * arms[..., 1] - edges[..., 1] * arms[..., 0]
    is_inside = np.where(outer, beyond >= 0.0, True).all(axis=(1, 2)) & outer.any(axis=(1, 2))
    share = np.clip((edges * arms).sum(-1) / np.maximum((edges**2).sum(-1), 1e-18), 0.0, 1.0)
    candidates = (points[:, :, None] + share[..., None] * edges).reshape(len(places), -1, 2)
    nearest = np.argmin(np.linalg.norm(candidates - places[:, None], axis=-1), axis=1)
    return np.where(is_inside[:, None], places, candidates[np.arange(len(places)), nearest])


def _shift(wanted: Array, supported: np.ndarray, held: np.ndarray, height: Array, fps: float) -> Array:
    """(F, 3) metres along x, z and up: the smooth shift of the body that moves its zero moment point as wanted (F, 2).

    Without support nothing can push the body, and its shift goes on evenly.
    """
    count = len(wanted)
    second = np.zeros((count, 3))
    second[1:-1] = np.array([1.0, -2.0, 1.0]) * fps**2
    own = np.zeros((count, 3))
    own[:, 1] = 1.0
    pendulum = height[:, None] * second
    rows = [
        (np.where(supported[:, None], own - pendulum, -pendulum), np.where(supported[:, None], wanted, 0.0)),
        (np.where(held, HELD_WEIGHT, REST_WEIGHT)[:, None] * own, np.zeros_like(wanted)),
    ]
    bands, right = np.zeros((3, count)), np.zeros((count, 2))
    for coefficients, values in rows:
        for i in range(3):
            frames = np.clip(np.arange(count) + i - 1, 0, count - 1)
            np.add.at(right, frames, coefficients[:, i, None] * values)
            for j in range(i, 3):
                np.add.at(
                    bands[2 - (j - i)], np.clip(frames + j - i, 0, count - 1), coefficients[:, i] * coefficients[:, j]
                )
    shift = solveh_banded(bands, right)
    return np.concatenate([shift, np.zeros((count, 1))], axis=1)


def _with_feet_kept(
    moved: Motion, kept: Motion, legs: Sequence[Leg], allowed: Array, pace: Pace
) -> tuple[Motion, Array]:
    """A motion whose feet are where those of another are, with hips that sink where legs are too short.

    Args:
        moved: The motion.
        kept: The other.
        legs: Those of both.
        allowed: (F,) metres that a foot may miss its place by.
        pace: How fast legs may turn: a straight knee leaps unless the hips sink.

    Returns:
        The motion, and by how much a foot misses its place, (F,) metres.
    """
    width = max(round(LOWERING_SECONDS * moved.fps), 1)
    most = MAX_LOWERING_LEGS * leg_length(moved.skeleton)
    lower = np.zeros(moved.num_frames)
    for _ in range(LOWERING_ROUNDS):
        lowered = replace(moved, root=moved.root - np.minimum(lower, most)[:, None] * np.array([0.0, 1.0, 0.0]))
        solved, missing = solve_legs(lowered, kept, legs)
        short = np.where(missing > allowed, missing, 0.0) + np.where(pace.leaps(solved), LEAP_LOWERING_METRES, 0.0)
        if not short.any():
            break
        lower += gaussian_filter1d(maximum_filter1d(short, 2 * width + 1), 0.5 * width, mode="nearest")
    return solved, missing


def solve_legs(moved: Motion, kept: Motion, legs: Sequence[Leg]) -> tuple[Motion, Array]:
    """The motion with its feet at those of another, and by how much a foot misses its place, (F,) metres.

    Damped Gauss-Newton steps, each frame with its own damping: a step that does not help is taken back.
    """
    skeleton, rotations = moved.skeleton, moved.rotations.copy()
    angles = joint_angle_curves(skeleton, moved.rotations)[..., 0]
    goal = fk(kept)
    missing = np.zeros(moved.num_frames)
    for leg in legs:
        place, turn = goal.positions[:, leg.chain[-1]], goal.rotations[:, leg.chain[-1]]
        values, low, high = angles[:, list(leg.hinges)], *skeleton.limits[list(leg.hinges), 0].T
        values = np.clip(values, low, high)
        damping = np.full(len(values), DAMPING)
        error, jacobian = _foot_error(moved, rotations, leg, values, place, turn)
        for _ in range(IK_STEPS):
            normal = np.einsum("fki,fkj->fij", jacobian, jacobian)
            normal += damping[:, None, None] * np.eye(len(leg.hinges))
            step = np.linalg.solve(normal, np.einsum("fki,fk->fi", jacobian, error)[..., None])[..., 0]
            tried = np.clip(values + step, low, high)
            new_error, new_jacobian = _foot_error(moved, rotations, leg, tried, place, turn)
            better = np.asarray((new_error**2).sum(-1) < (error**2).sum(-1))
            damping = np.where(better, 0.3 * damping, 10.0 * damping).clip(1e-8, 1.0)
            values = np.where(better[:, None], tried, values)
            error = np.where(better[:, None], new_error, error)
            jacobian = np.where(better[:, None, None], new_jacobian, jacobian)
        _turn_hinges(skeleton, rotations, leg, values)
        stands = np.asarray((goal.points(leg.soles)[..., 1] < 2.0 * MAX_TOUCH_METRES).any(axis=1))
        missed = np.linalg.norm(error[:, :3], axis=-1)
        missing = np.maximum(missing, np.where(stands, missed, np.maximum(missed - MAX_SWING_ERROR_METRES, 0.0)))
    return replace(moved, rotations=rotations), missing


def _turn_hinges(skeleton: Skeleton, rotations: Array, leg: Leg, values: Array) -> None:
    """Set the rotations of a leg to the values (F, H) of its hinges."""
    for column, joint in enumerate(leg.hinges):
        turns = from_axis_angle(skeleton.axes[joint, 0], values[:, column])
        rotations[:, joint] = multiply(skeleton.rest[joint], turns)


def _foot_error(
    motion: Motion, rotations: Array, leg: Leg, values: Array, place: Array, turn: Array
) -> tuple[Array, Array]:
    """How far a foot is from a place (F, 3) and rotation (F, 4), (F, 6), and its derivative by the hinges (F, 6, H)."""
    skeleton, by_turn = motion.skeleton, METRES_PER_RADIAN if len(leg.hinges) >= 5 else 0.0
    _turn_hinges(skeleton, rotations, leg, values)
    positions, world = _chain_pose(motion, rotations, leg.chain)
    turned = multiply(turn, conjugate(world[-1]))
    twist = by_turn * log(np.where(turned[:, :1] < 0.0, -turned, turned))
    columns = []
    for joint in leg.hinges:
        number = leg.chain.index(joint)
        axis = rotate(world[number], skeleton.axes[joint, 0])
        columns.append(np.concatenate([np.cross(axis, positions[-1] - positions[number]), by_turn * axis], -1))
    return np.concatenate([place - positions[-1], twist], axis=-1), np.stack(columns, axis=-1)


def _chain_pose(motion: Motion, rotations: Array, chain: Sequence[int]) -> tuple[list[Array], list[Array]]:
    """The positions (F, 3) and rotations (F, 4) of the joints of a chain that begins below the root, world."""
    positions, world = [motion.root], [rotations[:, 0]]
    for joint in chain:
        positions.append(positions[-1] + rotate(world[-1], motion.skeleton.offsets[joint]))
        world.append(multiply(world[-1], rotations[:, joint]))
    return positions[1:], world[1:]
