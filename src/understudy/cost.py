"""What moving a body costs: how much of it each coordinate moves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from understudy.body import leg_length
from understudy.coordinates import Body, built
from understudy.geometry.quaternion import Array
from understudy.kinematics import locate
from understudy.mass import masses
from understudy.motion import Motion
from understudy.skeleton import Skeleton

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
