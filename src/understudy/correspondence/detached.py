"""Feet that a rig detaches from the leg for inverse kinematics: attached for the solve, and detached again after.

Such a rig holds foot and leg together by constraints that are not in its file. The foot is a child of the ground, the
shin ends where the foot begins, and no rotation of the leg moves the foot. Attached to the shin it is an ordinary
foot. After detaching, its position is written frame by frame, as in the rig's own clips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import conjugate, continuous, multiply, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import side
from understudy.figure.skeleton import Skeleton

MAX_GAP_SHARE = 0.01
"""Largest gap between the end of a leg and the start of its foot, as a share of the body's size."""


@lru_cache(maxsize=64)
def find_detached_feet(skeleton: Skeleton) -> dict[str, str]:
    """The joints that lie at the end of a bone but do not hang from it, each with that bone; usually none."""
    positions, ends = skeleton.rest_world[0], skeleton.rest_ends
    gap = MAX_GAP_SHARE * max(float(np.ptp(positions, axis=0).max()), 1e-9)
    feet: dict[str, str] = {}
    for end, tip in zip(skeleton.ends, ends, strict=True):
        bone = skeleton.index[end.joint]
        if skeleton.children[bone] or not side(end.joint):
            continue
        for joint in np.flatnonzero(np.linalg.norm(positions - tip, axis=-1) < gap).tolist():
            apart = joint not in skeleton.chain(bone) and skeleton.parents[joint] in skeleton.chain(bone)[:-1]
            same_side = side(skeleton.names[joint]) == side(end.joint)
            # A joint without children and ends is a handle, not a foot.
            has_bone = bool(skeleton.children[joint]) or any(e.joint == skeleton.names[joint] for e in skeleton.ends)
            if apart and same_side and has_bone and np.linalg.norm(positions[bone] - tip) > gap:
                feet[skeleton.names[joint]] = end.joint
    return feet


@lru_cache(maxsize=64)
def attach(skeleton: Skeleton) -> Skeleton:
    """The skeleton with every detached foot attached to the bone that ends there; unchanged if there is none.

    The rest pose is the same. The order of joints may change, since parents come before children.
    """
    feet = find_detached_feet(skeleton)
    if not feet:
        return skeleton
    parent = {name: int(skeleton.parents[j]) for j, name in enumerate(skeleton.names)}
    parent |= {foot: skeleton.index[bone] for foot, bone in feet.items()}
    order = _parents_first([parent[name] for name in skeleton.names])
    new_index = {old: new for new, old in enumerate(order)}
    names = [skeleton.names[j] for j in order]
    parents = np.array([new_index.get(parent[name], -1) for name in names])
    positions, rotations = (values[order] for values in skeleton.rest_world)
    offsets, rest = positions.copy(), rotations.copy()
    offsets[1:] = unrotate(rotations[parents[1:]], positions[1:] - positions[parents[1:]])
    rest[1:] = multiply(conjugate(rotations[parents[1:]]), rotations[1:])
    unmoved = np.array([name not in feet for name in names])
    old_index = np.array(order)
    offsets[unmoved], rest[unmoved] = skeleton.offsets[old_index[unmoved]], skeleton.rest[old_index[unmoved]]
    return replace(
        skeleton, names=tuple(names), parents=parents, offsets=offsets, rest=rest,
        kinds=tuple(skeleton.kinds[j] for j in order), axes=skeleton.axes[old_index], limits=skeleton.limits[old_index],
        # The bone now ends at the foot and needs no end point.
        ends=tuple(end for end in skeleton.ends if end.joint not in feet.values()),
    )  # fmt: skip


def describe_detached_feet(skeleton: Skeleton) -> str:
    """A note about a skeleton's detached feet; empty if it has none."""
    feet = find_detached_feet(skeleton)
    if not feet:
        return ""
    names = ", ".join(f"`{foot}`" for foot in sorted(feet))
    return (
        f"{names} hang apart from the legs, for inverse kinematics: they move with the legs, and their positions are "
        "written frame by frame."
    )


def _parents_first(parents: Sequence[int]) -> list[int]:
    """Sort joints so that parents come first, otherwise in their old order."""
    result: list[int] = []
    waiting = list(range(len(parents)))
    while waiting:
        next_joint = next(j for j in waiting if parents[j] < 0 or parents[j] in result)
        result.append(next_joint)
        waiting.remove(next_joint)
    return result


def change_parents(motion: Motion, skeleton: Skeleton) -> Motion:
    """The same movement on a skeleton with the same joints but other parents.

    World positions and rotations stay the same; positions that the rotations do not give are written as offsets, frame
    by frame.

    Args:
        motion: A motion of the body.
        skeleton: The result of `attach` for the motion's skeleton, or the skeleton before `attach`.
    """
    if motion.skeleton is skeleton:
        return motion
    if set(motion.skeleton.names) != set(skeleton.names):
        raise SkeletonError(
            f"Expected the joints of `{motion.skeleton.name}` with other parents; "
            f"these differ: {', '.join(sorted(set(motion.skeleton.names) ^ set(skeleton.names))[:4])}"
        )
    order = [motion.skeleton.index[name] for name in skeleton.names]
    pose = fk(motion)
    positions, rotations = pose.positions[:, order], pose.rotations[:, order]
    parents = skeleton.parents[1:]
    local, offsets = rotations.copy(), positions.copy()
    local[:, 1:] = multiply(conjugate(rotations[:, parents]), rotations[:, 1:])
    offsets[:, 1:] = unrotate(rotations[:, parents], positions[:, 1:] - positions[:, parents])
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    moving = np.abs(offsets - skeleton.offsets).max(axis=(0, 2)) > 1e-7 * size
    moving[0] = False
    offsets[:, ~moving] = skeleton.offsets[~moving]
    return replace(
        motion, skeleton=skeleton, root=positions[:, 0], rotations=continuous(local),
        offsets=offsets if moving.any() else None,
    )  # fmt: skip
