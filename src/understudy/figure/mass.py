"""Segment masses and the centre of mass.

The masses and centres of human segments are from the anthropometric table of Winter (Biomechanics and Motor Control of
Human Movement, table 4.1, after Dempster 1955). For other bodies the mass follows the volume of the bones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.kinematics import Pose, locate
from understudy.figure.measures import is_humanoid
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton

LIMB_SHARES = {
    "upper_leg": (0.100, 0.433), "lower_leg": (0.0465, 0.433), "foot": (0.0145, 0.5),
    "upper_arm": (0.028, 0.436), "lower_arm": (0.016, 0.430), "hand": (0.006, 0.506),
}  # fmt: skip
"""Limb segments: share of the body's mass, and position of the centre along the bone, from 0 to 1."""

TRUNK_SHARE, HEAD_SHARE = 0.497, 0.081
"""Shares of the body's mass."""

SLENDERNESS = 0.15
"""Radius of a bone at the end of a limb, as a share of its length, for masses by volume."""


@record
class Masses:
    """The body as mass points, whose shares sum to one."""

    points: tuple[Point, ...]
    shares: Array
    """(S,) share of the body's mass at each point."""

    def centre(self, pose: Pose) -> Array:
        """(F, 3) metres, world: the centre of mass at each frame."""
        return np.einsum("s,fsi->fi", self.shares, pose.points(self.points))


@lru_cache(maxsize=64)
def masses(skeleton: Skeleton) -> Masses:
    """The mass distribution of a body."""
    bones = _bones(skeleton)
    weights = _human_weights(skeleton, bones) if is_humanoid(skeleton) else _volumes(skeleton, bones)
    if weights.sum() <= 0.0:
        root = skeleton.names[0]
        return Masses(points=(Point(name=root, joint=root),), shares=np.ones(1))
    shares = weights / weights.sum()
    joint_of = roles(skeleton) if is_humanoid(skeleton) else {}
    centres = {
        joint_of[f"{s}_{p}"]: LIMB_SHARES[p][1]
        for s in ("left", "right")
        for p in LIMB_SHARES
        if f"{s}_{p}" in joint_of
    }
    points = tuple(
        Point(name=f"{skeleton.names[j]}_mass{i}", joint=skeleton.names[j], offset=centres.get(j, 0.5) * far)
        for i, (j, far, _) in enumerate(bones)
    )
    kept = np.flatnonzero(shares > 0.0)
    return Masses(points=tuple(points[i] for i in kept), shares=shares[kept])


def centre_of_mass(pose: Pose) -> Array:
    """(F, 3) metres, world."""
    return masses(pose.skeleton).centre(pose)


def _bones(skeleton: Skeleton) -> list[tuple[int, Array, int]]:
    """Every bone: the joint it moves with, its far end in that joint's frame, and the joint there (-1 for an end)."""
    bones = [(int(p), skeleton.offsets[j], j) for j, p in enumerate(skeleton.parents) if p >= 0]
    joints, offsets = locate(skeleton, skeleton.ends)
    return bones + [(int(j), offset, -1) for j, offset in zip(joints, offsets)]


def _human_weights(skeleton: Skeleton, bones: list[tuple[int, Array, int]]) -> Array:
    """Each bone's share of its segment's mass, by length; a bone belongs to the nearest segment above it."""
    joint_of = roles(skeleton)
    segment = np.zeros(skeleton.num_joints, dtype=int)
    keys = ["trunk", "head"] + [f"{s}_{p}" for s in ("left", "right") for p in LIMB_SHARES]
    share = {"trunk": TRUNK_SHARE, "head": HEAD_SHARE} | {
        key: LIMB_SHARES[key.partition("_")[2]][0] for key in keys[2:]
    }
    starts = {joint_of[key]: keys.index(key) for key in keys[2:] if key in joint_of}
    starts[joint_of.get("neck", joint_of.get("head", -1))] = 1
    for joint, parent in enumerate(skeleton.parents):
        segment[joint] = starts.get(joint, segment[parent] if parent >= 0 else 0)
    of = np.array([segment[joint] for joint, _, _ in bones])
    lengths = np.array([np.linalg.norm(far) for _, far, _ in bones])
    weights = np.zeros(len(bones))
    for number, key in enumerate(keys):
        inside = of == number
        total = lengths[inside].sum()
        if total > 0.0:
            weights[inside] = share[key] * lengths[inside] / total
    return weights


def _volumes(skeleton: Skeleton, bones: list[tuple[int, Array, int]]) -> Array:
    """Volumes of the bones as cylinders whose cross sections add up towards the root."""
    lengths = np.array([np.linalg.norm(far) for _, far, _ in bones])
    end_areas = (SLENDERNESS * lengths) ** 2
    carried = np.zeros(skeleton.num_joints)
    areas = np.zeros(len(bones))
    # Bones to joints are in the order of the joints, so the reverse order visits every child before its parent.
    for i in [*range(skeleton.num_joints - 1, len(bones)), *range(skeleton.num_joints - 2, -1, -1)]:
        joint, _, far = bones[i]
        areas[i] = max(end_areas[i], carried[far]) if far >= 0 else end_areas[i]
        carried[joint] += areas[i]
    return areas * lengths
