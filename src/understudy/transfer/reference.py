"""Reference poses: how a body stands when it does nothing, from which its movement is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.body import is_humanoid, leg_length, rest_pose_kind
from understudy.geometry.quaternion import Array, between, conjugate, multiply
from understudy.kinematics import Pose, fk
from understudy.motion import Motion, rest_motion
from understudy.roles import roles
from understudy.skeleton import Skeleton

SETTLING = 0.2
"""Seconds that a moving foot is taken to need to come to rest."""
DOWN = np.array([0.0, -1.0, 0.0])
LEVEL = np.array([1.0, 0.0, 1.0])


def posed(skeleton: Skeleton, local: Array) -> Pose:
    """A body in one pose (J, 4) of local rotations, as a pose of one frame."""
    return fk(replace(rest_motion(skeleton), rotations=local[None]))


def stands_at_rest(skeleton: Skeleton) -> bool:
    """Whether the rest pose is one that the body can stand in; where nobody can tell it is taken for one."""
    return rest_pose_kind(skeleton) != "no pose"


def reference_pose(skeleton: Skeleton, motion: Motion | None = None) -> Array:
    """(J, 4) local rotations of the pose that a body's movement is counted from.

    The rest pose where the body stands in it; else, where zero rotations are no pose (bones laid out in a row), the
    frame of its motion, if there is one, in which it stands most.
    """
    if motion is None or stands_at_rest(skeleton):
        return skeleton.rest
    return motion.rotations[_standing(motion) if motion.num_frames > 1 else 0]


def _standing(motion: Motion) -> int:
    """The frame in which a body stands most: its feet down and still, its trunk as it mostly is, legs under it."""
    found, pose = roles(motion.skeleton), fk(motion)
    human, leg = is_humanoid(motion.skeleton), leg_length(motion.skeleton)
    limbs = [("upper_leg", "foot")] if human else [("upper_leg", "foot"), ("upper_arm", "hand")]
    cost = np.zeros(motion.num_frames)
    for upper, lower in limbs:
        for side in ("left", "right"):
            top, tip = found.get(f"{side}_{upper}"), found.get(f"{side}_{lower}")
            if top is None or tip is None:
                continue
            place = pose.positions[:, tip]
            speed = np.linalg.norm(np.gradient(place, 1.0 / motion.fps, axis=0), axis=-1)
            cost += (place[:, 1] - np.percentile(place[:, 1], 5)) / leg + SETTLING * speed / leg
            cost += 0.5 * _tilt(pose.positions[:, top] - place)
    top = found.get("neck", found.get("head"))
    if top is not None and "hips" in found:
        tilt = _tilt(pose.positions[:, top] - pose.positions[:, found["hips"]])
        cost += tilt if human else np.abs(tilt - np.median(tilt))
    return int(np.argmin(cost))


def _tilt(v: Array) -> Array:
    """(F,) radians between vectors (F, 3) and up."""
    return np.arccos(np.clip(_unit(v)[:, 1], -1.0, 1.0))


def with_limbs_hanging(skeleton: Skeleton, local: Array) -> Array:
    """(J, 4) a human's pose with the arms let down and the legs brought under the hips, as it stands when it does
    nothing; other bodies' as it is."""
    if not is_humanoid(skeleton):
        return local
    found, pose = roles(skeleton), posed(skeleton, local)
    across = _unit((pose.positions[0, found["left_upper_leg"]] - pose.positions[0, found["right_upper_leg"]]) * LEVEL)
    out = local.copy()
    for side in ("left", "right"):
        upper, hand = found[f"{side}_upper_arm"], found.get(f"{side}_hand", found[f"{side}_lower_arm"])
        thigh, foot = found[f"{side}_upper_leg"], found[f"{side}_foot"]
        leg = pose.positions[0, foot] - pose.positions[0, thigh]
        arm = pose.positions[0, hand] - pose.positions[0, upper]
        for joint, chord, wanted in ((upper, arm, DOWN), (thigh, leg, leg - (leg @ across) * across)):
            above = multiply(pose.rotations[0, joint], conjugate(local[joint]))
            turned = multiply(between(_unit(chord), _unit(wanted)), pose.rotations[0, joint])
            out[joint] = multiply(conjugate(above), turned)
    return out


def _unit(v: Array) -> Array:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
