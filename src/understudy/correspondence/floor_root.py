"""Roots on the floor: rigs of games carry the pelvis by a joint between the feet.

Such a joint is no part of the body. If it took part in the solve, it would swing the pelvis on a lever as long as the
legs. So it only shifts with the body during the solve. Afterwards it is put back on the floor: below the body with the
body's heading, or where it is at rest. The pelvis gets its own position, frame by frame, so that nothing else changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, conjugate, continuous, from_axis_angle, multiply, rotate, unrotate
from understudy.correspondence.pairs import Correspondence
from understudy.correspondence.suggest import split_body
from understudy.figure.kinematics import fk
from understudy.figure.measures import UP
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton

MIN_LEVER_SHARE = 0.2
"""Distance between a root on the floor and the body's own root, as a share of the body's size."""

MIN_HEADING_WEIGHT = 0.4
"""Length of the part of a rotation about the vertical below which its heading is unclear, as in a handstand."""

MAX_STILL_TURN = 1e-10
"""One minus the dot product of two rotations of a root that does not turn."""

FLOOR_PERCENTILE = 5.0
"""Percentile of the lowest points of all frames that is the floor."""


def floor_carriers(correspondence: Correspondence) -> tuple[str, ...]:
    """Joints of the target from a root on the floor down to the bone that plays the hips, that one not included.

    Empty if the target's root does not lie far below the hips, or if it plays a bone of the source.
    """
    target, body = correspondence.target, _body_root(correspondence)
    above = target.chain(body)[:-1]
    return tuple(target.names[joint] for joint in above) if above and _has_lever(target, body) else ()


def _body_root(correspondence: Correspondence) -> int:
    assert correspondence.root is not None
    return correspondence.target.index[correspondence.root.target[0]]


def put_on_floor(motion: Motion, how: str) -> Motion:
    """A result with the root of its rig put on the floor; unchanged if the rig has no such root, or if it is driven."""
    skeleton = motion.skeleton
    body = split_body(skeleton).root
    if body == 0 or not _has_lever(skeleton, body) or not _only_shifts(motion):
        return motion
    return settle_floor_root(motion, body, how)


def _has_lever(skeleton: Skeleton, body: int) -> bool:
    positions = skeleton.rest_world[0]
    size = float(np.ptp(positions, axis=0).max())
    lever = float(np.linalg.norm(positions[body] - positions[0]))
    low = positions[0, 1] < positions[body, 1] - 0.5 * lever
    return bool(low and lever > MIN_LEVER_SHARE * size)


def describe_floor_root(correspondence: Correspondence, how: str) -> str:
    """A note on what the target's root on the floor does; empty if it has none."""
    above = floor_carriers(correspondence)
    if not above:
        return ""
    root = above[0]
    hips = correspondence.target.names[_body_root(correspondence)]
    if how == "stay":
        return f"`{root}` lies on the floor and stays there; `{hips}` plays the hips and moves by itself"
    return (
        f"`{root}` lies on the floor: `{hips}` plays the hips, and `{root}` follows below it, by place and heading "
        "(--floor-root stay keeps it where it is)"
    )


def settle_floor_root(motion: Motion, body: int, how: str) -> Motion:
    """The same movement of the body with the root of its rig put on the floor.

    Args:
        motion: A motion whose root only shifts.
        body: The joint that plays the hips, below the root.
        how: `follow` for the body's place and heading, or `stay` for the root's rest pose.
    """
    skeleton, pose = motion.skeleton, fk(motion)
    rest_positions, rest_rotations = skeleton.rest_world
    rotations, root = motion.rotations.copy(), np.empty_like(motion.root)
    if how == "stay":
        rotations[:, 0], root[:] = skeleton.rest[0], skeleton.offsets[0]
    else:
        yaw = _headings(multiply(pose.rotations[:, body], conjugate(rest_rotations[body])))
        rotations[:, 0] = multiply(yaw, skeleton.rest[0])
        root[:] = pose.positions[:, body] - rotate(yaw, rest_positions[body] - rest_positions[0])
        root[:, 1] = _floor_height(motion, body) + rest_positions[0, 1]
    offsets = np.broadcast_to(skeleton.offsets, (motion.num_frames, *skeleton.offsets.shape)).copy()
    if motion.offsets is not None:
        offsets[:] = motion.offsets
    settled = replace(motion, root=root, rotations=rotations, offsets=offsets)
    parent = int(skeleton.parents[body])
    parents = fk(settled)
    offsets[:, body] = unrotate(parents.rotations[:, parent], pose.positions[:, body] - parents.positions[:, parent])
    rotations[:, body] = multiply(conjugate(parents.rotations[:, parent]), pose.rotations[:, body])
    return replace(settled, rotations=continuous(rotations), offsets=offsets)


def _only_shifts(motion: Motion) -> bool:
    """Whether the root of a motion keeps its rotation."""
    dots = np.abs(np.einsum("fi,i->f", motion.rotations[:, 0], motion.rotations[0, 0]))
    return bool(1.0 - dots.min() < MAX_STILL_TURN)


def _headings(turns: Array) -> Array:
    """(F, 4) the parts of rotations (F, 4) about the vertical, continuous; bridged in time where they are unclear."""
    weights = np.hypot(turns[:, 0], turns[:, 2])
    clear = np.flatnonzero(weights > MIN_HEADING_WEIGHT)
    angles = 2.0 * np.arctan2(turns[:, 2], turns[:, 0])
    if len(clear) == 0:
        return from_axis_angle(UP, np.zeros(len(turns)))
    smooth = np.unwrap(angles[clear])
    return from_axis_angle(UP, np.interp(np.arange(len(turns)), clear, smooth))


def _floor_height(motion: Motion, body: int) -> float:
    """Metres by which the floor under a motion is higher than in the rest pose."""
    skeleton = motion.skeleton
    below = skeleton.below(body)
    ends = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
    pose = fk(motion)
    lowest = pose.positions[:, below, 1].min(axis=1)
    rest = float(skeleton.rest_world[0][below, 1].min())
    if ends:
        lowest = np.minimum(lowest, pose.points(ends)[..., 1].min(axis=1))
        rest = min(rest, float(skeleton.rest_ends[[below[skeleton.index[e.joint]] for e in skeleton.ends], 1].min()))
    return float(np.percentile(lowest, FLOOR_PERCENTILE)) - rest
