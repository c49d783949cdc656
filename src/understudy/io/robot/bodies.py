"""States of a robot's bodies at each frame: where they are, how fast they move, which feet stand; Z up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import Array, conjugate, continuous, cross, log, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.robot import RobotBody
from understudy.io.robot.trajectory import WORLD


@record
class BodyStates:
    """Poses and velocities of B bodies at F frames."""

    positions: Array
    """(F, B, 3) metres: the origins of the bodies' frames."""
    rotations: Array
    """(F, B, 4) w, x, y, z, from the bodies' frames to the world."""
    linear_velocities: Array
    """(F, B, 3) metres a second: of the bodies' centres of mass."""
    angular_velocities: Array
    """(F, B, 3) radians a second, in the world."""


def body_states(motion: Motion, bodies: Sequence[RobotBody]) -> BodyStates:
    """The poses and velocities of bodies. Velocities follow from central differences of the root and of each joint."""
    pose = fk(motion)
    joints = [motion.skeleton.index[body.joint] for body in bodies]
    rotations = multiply(pose.rotations[:, joints], np.stack([body.rotation for body in bodies]))
    origins = pose.positions[:, joints] + rotate(pose.rotations[:, joints], np.stack([b.position for b in bodies]))
    velocities, turns = _joint_velocities(motion, pose.positions, pose.rotations)
    centres = origins + rotate(rotations, np.stack([body.centre for body in bodies]))
    moving = velocities[:, joints] + cross(turns[:, joints], centres - pose.positions[:, joints])
    return BodyStates(
        positions=unrotate(WORLD, origins),
        rotations=continuous(multiply(conjugate(WORLD), rotations)),
        linear_velocities=unrotate(WORLD, moving),
        angular_velocities=unrotate(WORLD, turns[:, joints]),
    )


def _joint_velocities(motion: Motion, positions: Array, rotations: Array) -> tuple[Array, Array]:
    """(F, J, 3) linear and angular velocities of all joints, world, from the speed of each joint in its parent."""
    skeleton, local = motion.skeleton, turning_speeds(motion.rotations, motion.fps)
    turns = np.zeros_like(positions)
    velocities = np.zeros_like(positions)
    turns[:, 0] = local[:, 0]
    if motion.num_frames > 1:
        velocities[:, 0] = np.gradient(motion.root, 1.0 / motion.fps, axis=0)
    for joint in range(1, skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        turns[:, joint] = turns[:, parent] + rotate(rotations[:, parent], local[:, joint])
        arm = positions[:, joint] - positions[:, parent]
        velocities[:, joint] = velocities[:, parent] + cross(turns[:, parent], arm)
    return velocities, turns


def turning_speeds(rotations: Array, fps: float) -> Array:
    """(F, ..., 3) radians a second, in the parent's frame, of rotations (F, ..., 4).

    Differences are central, and one-sided at the ends, as those of `numpy.gradient`.
    """
    speeds = np.zeros((*rotations.shape[:-1], 3))
    if len(rotations) > 1:
        speeds[0], speeds[-1] = (log(multiply(rotations[i + 1], conjugate(rotations[i]))) * fps for i in (0, -2))
        speeds[1:-1] = log(multiply(rotations[2:], conjugate(rotations[:-2]))) * (0.5 * fps)
    return speeds


def standing_feet(motion: Motion, bodies: Sequence[RobotBody]) -> tuple[tuple[str, ...], np.ndarray]:
    """The names of the bodies that can stand on the floor, and (F, C) whether each does at each frame."""
    from understudy.figure.contacts import contact_points, detect_contacts

    points = contact_points(motion)
    carriers = [name for name in motion.skeleton.names if any(point.joint == name for point in points)]
    flags = np.zeros((motion.num_frames, len(carriers)), bool)
    for contact in detect_contacts(motion, points):
        flags[contact.frames(motion.fps, motion.num_frames), carriers.index(contact.point.joint)] = True
    body_of = {body.joint: body.name for body in reversed(bodies)}
    return tuple(body_of.get(name, name) for name in carriers), flags
