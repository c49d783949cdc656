"""Posture: how a human holds trunk, head and arms, which hardly move in a walk and so match nothing.

A man who stoops, or who stretches out his arms, does so in his mean pose. What changes from A's example to A's new
motion is carried over to B part by part, if both are human.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, between, conjugate, mean, multiply, rotate
from understudy.figure.kinematics import fk
from understudy.figure.measures import is_humanoid
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton

TRUNK = ("spine", "chest", "neck", "head")

ARMS = tuple(f"{side}_{part}" for side in ("left", "right") for part in ("upper_arm", "lower_arm", "hand"))

PARTS = (*TRUNK, *ARMS)
"""The parts whose posture is carried over; legs follow the partner's steps, and collar bones the chest."""

BONES = (
    ("hips", "neck"),
    *((f"{side}_upper_arm", f"{side}_lower_arm") for side in ("left", "right")),
    *((f"{side}_lower_arm", f"{side}_hand") for side in ("left", "right")),
)
"""The parts between which posture is measured, trunk first."""


def posture_changes(example: Motion, new: Motion) -> dict[str, Array]:
    """The rotation of each part, about axes of the world, from its mean in an example to its mean in a new motion.

    Args:
        example: A motion with heading +Z.
        new: Another motion of the same joints, with heading +Z.
    """
    before, after = (_attitudes(motion) for motion in (example, new))
    return {part: multiply(after[part], conjugate(before[part])) for part in before if part in after}


def with_posture(level: Motion, example: Motion, changes: dict[str, Array]) -> Motion:
    """A motion whose parts are held, on average, as in an example of the same body, changed by rotations.

    Args:
        level: The motion, with heading +Z.
        example: The example, with heading +Z.
        changes: Rotations by part, as from `posture_changes`.
    """
    skeleton, made, before = level.skeleton, _attitudes(level), _attitudes(example)
    joint_of = roles(skeleton)
    turns = {
        joint_of[part]: multiply(multiply(change, before[part]), conjugate(made[part]))
        for part, change in changes.items()
        if part in before
    }
    world = fk(level).rotations.copy()
    rotations = level.rotations.copy()
    for joint, parent in enumerate(skeleton.parents):
        if parent < 0:
            continue
        if joint in turns:
            world[:, joint] = multiply(turns[joint], world[:, joint])
            rotations[:, joint] = multiply(conjugate(world[:, parent]), world[:, joint])
        else:
            world[:, joint] = multiply(world[:, parent], rotations[:, joint])
    return replace(level, rotations=rotations)


def posture_deviations(example: tuple[Motion, Motion], new: tuple[Motion, Motion]) -> list[float]:
    """Angles, radians, by which B's trunk, upper arms and forearms changed their direction otherwise than A's.

    Args:
        example: Examples of A and B, with heading +Z.
        new: New motions of A and B, with heading +Z.
    """
    (a, b), (a_new, b_new) = (tuple(_directions(motion) for motion in pair) for pair in (example, new))
    bones = [bone for bone in BONES if all(bone in each for each in (a, b, a_new, b_new))]
    wanted = [rotate(between(a[bone], a_new[bone]), b[bone]) for bone in bones]
    return [float(np.arccos(np.clip(b_new[bone] @ each, -1.0, 1.0))) for bone, each in zip(bones, wanted, strict=True)]


def have_posture(*skeletons: Skeleton) -> bool:
    """Whether the posture of one body can be carried over to another: all are human."""
    return all(is_humanoid(skeleton) for skeleton in skeletons)


def _attitudes(level: Motion) -> dict[str, Array]:
    """(4,) by part: the mean of its world rotations."""
    world = fk(level).rotations
    joint_of = roles(level.skeleton)
    return {part: mean(world[:, joint_of[part]]) for part in PARTS if part in joint_of}


def _directions(level: Motion) -> dict[tuple[str, str], Array]:
    """(3,) by bone: its mean direction."""
    positions, joint_of = fk(level).positions, roles(level.skeleton)
    directions = {}
    for top, end in BONES:
        if top in joint_of and end in joint_of:
            path = positions[:, joint_of[end]] - positions[:, joint_of[top]]
            path = (path / np.maximum(np.linalg.norm(path, axis=-1, keepdims=True), 1e-9)).mean(axis=0)
            directions[top, end] = path / max(float(np.linalg.norm(path)), 1e-9)
    return directions
