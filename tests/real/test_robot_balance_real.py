"""Robots that walk as a human does have their feet under them: the middle of the ankles, seen from the hips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy.base.quaternion import Array
from understudy.figure.kinematics import fk
from understudy.figure.measures import UP, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import compound_joints, limb_row, roles
from understudy.figure.skeleton import Skeleton

MAX_OFFSET_LEGS = 0.05
"""Distance, in leg lengths, of the ankles' middle from where the source has it, over a walk."""

ROBOTS = ("unitree_g1.xml", "unitree_h1.xml", "booster_t1.xml", "robotis_op3.xml")


def hip(skeleton: Skeleton, side: str) -> int:
    """The joint at which a thigh begins: of several motors the last that bends the leg."""
    joints = roles(skeleton)
    upper = joints[f"{side}_upper_leg"]
    row = limb_row(skeleton, upper, joints[f"{side}_lower_leg"])
    return next(compound.centre for compound in compound_joints(skeleton, row) if upper in compound.joints)


def feet_from_hips(motion: Motion) -> Array:
    """(F, 2) leg lengths, forwards and to the left: the middle of the ankles from the middle of the hips."""
    positions, skeleton = fk(motion).positions, motion.skeleton
    left, right = (positions[:, hip(skeleton, side)] for side in ("left", "right"))
    ankles = [positions[:, roles(skeleton)[f"{side}_foot"]] for side in ("left", "right")]
    offset = 0.5 * (ankles[0] + ankles[1]) - 0.5 * (left + right)
    forward = np.cross(left - right, UP)
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    across = np.cross(UP, forward)
    return np.stack([np.sum(offset * forward, axis=1), np.sum(offset * across, axis=1)], axis=1) / leg_length(skeleton)


@pytest.mark.parametrize("robot", ROBOTS)
def test_feet_are_under_the_hips_where_the_source_has_them(data: Path, robot: str) -> None:
    result = understudy.retarget(data / "cmu_bvh/02_01.bvh", data / "robots" / robot)
    offsets = feet_from_hips(result.motion) - feet_from_hips(result.prepared.actors[0].motion)
    assert float(np.linalg.norm(offsets.mean(axis=0))) < MAX_OFFSET_LEGS
    heads = {part: joint for part, joint in roles(result.motion.skeleton).items() if part in ("head", "chest")}
    heights = fk(result.motion).positions[..., 1]
    for joint in heads.values():
        assert np.all(heights[:, joint] >= heights[:, roles(result.motion.skeleton)["hips"]])
