"""Feet that a rig keeps apart from the leg for inverse kinematics: hung on the leg to be moved, and put back after.

Such a rig holds foot and leg together by constraints that its file does not bring along. The foot hangs from the
ground, the shin ends where the foot begins, and no rotation of the leg moves the foot. Hung on the shin it is a foot
as any other; put back, its place is written frame by frame, as the rig's own clips do it.
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
from understudy.figure.naming import side
from understudy.figure.skeleton import Skeleton

TOGETHER = 0.01
"""Share of a body's size within which the end of a leg and the beginning of a foot are one place."""


@lru_cache(maxsize=64)
def detached(skeleton: Skeleton) -> dict[str, str]:
    """The joints that lie where a bone ends and do not hang from it, each with that bone; mostly there are none."""
    places, ends = skeleton.rest_world[0], skeleton.rest_ends
    near = TOGETHER * max(float(np.ptp(places, axis=0).max()), 1e-9)
    found: dict[str, str] = {}
    for end, at in zip(skeleton.ends, ends, strict=True):
        bone = skeleton.index[end.joint]
        if skeleton.children[bone] or not side(end.joint):
            continue
        for joint in np.flatnonzero(np.linalg.norm(places - at, axis=-1) < near).tolist():
            apart = joint not in skeleton.chain(bone) and skeleton.parents[joint] in skeleton.chain(bone)[:-1]
            alike = side(skeleton.names[joint]) == side(end.joint)
            # A joint that carries nothing marks a place for others: a handle, no foot.
            carries = bool(skeleton.children[joint]) or any(e.joint == skeleton.names[joint] for e in skeleton.ends)
            if apart and alike and carries and np.linalg.norm(places[bone] - at) > near:
                found[skeleton.names[joint]] = end.joint
    return found


@lru_cache(maxsize=64)
def attach(skeleton: Skeleton) -> Skeleton:
    """The skeleton with every detached foot hung from the bone that ends there; itself where none is.

    The rest pose is the same. Joints may stand in another order, since parents come before children.
    """
    moved = detached(skeleton)
    if not moved:
        return skeleton
    above = {name: int(skeleton.parents[j]) for j, name in enumerate(skeleton.names)}
    above |= {foot: skeleton.index[bone] for foot, bone in moved.items()}
    order = _order([above[name] for name in skeleton.names])
    place = {old: new for new, old in enumerate(order)}
    names = [skeleton.names[j] for j in order]
    parents = np.array([place.get(above[name], -1) for name in names])
    positions, rotations = (values[order] for values in skeleton.rest_world)
    offsets, rest = positions.copy(), rotations.copy()
    offsets[1:] = unrotate(rotations[parents[1:]], positions[1:] - positions[parents[1:]])
    rest[1:] = multiply(conjugate(rotations[parents[1:]]), rotations[1:])
    same = np.array([name not in moved for name in names])
    kept = np.array(order)
    offsets[same], rest[same] = skeleton.offsets[kept[same]], skeleton.rest[kept[same]]
    return replace(
        skeleton, names=tuple(names), parents=parents, offsets=offsets, rest=rest,
        kinds=tuple(skeleton.kinds[j] for j in order), axes=skeleton.axes[kept], limits=skeleton.limits[kept],
        # Where a foot begins now the bone has no end of its own.
        ends=tuple(end for end in skeleton.ends if end.joint not in moved.values()),
    )  # fmt: skip


def remark(skeleton: Skeleton) -> str:
    """What to tell of a skeleton's detached feet, in a sentence; empty where it has none."""
    feet = detached(skeleton)
    if not feet:
        return ""
    listed = ", ".join(f"`{foot}`" for foot in sorted(feet))
    return (
        f"{listed} hang apart from the legs, for inverse kinematics: they are moved with them, and their places are "
        "written frame by frame, which rotations alone cannot."
    )


def _order(parents: Sequence[int]) -> list[int]:
    """Joints in an order in which parents come first, otherwise as they were."""
    out: list[int] = []
    waiting = list(range(len(parents)))
    while waiting:
        ready = next(j for j in waiting if parents[j] < 0 or parents[j] in out)
        out.append(ready)
        waiting.remove(ready)
    return out


def rehung(motion: Motion, skeleton: Skeleton) -> Motion:
    """The same movement on a skeleton of the same joints that hang otherwise.

    Every joint is where it was and turned as it was; places that the other tree's rotations do not give are written
    as offsets, frame by frame.

    Args:
        motion: What a body does.
        skeleton: The same joints, such as `attach` makes of the motion's own skeleton, or what it was made of.
    """
    if motion.skeleton is skeleton:
        return motion
    if set(motion.skeleton.names) != set(skeleton.names):
        raise SkeletonError(
            f"Expected the joints of `{motion.skeleton.name}`, only hung otherwise; "
            f"these differ: {', '.join(sorted(set(motion.skeleton.names) ^ set(skeleton.names))[:4])}"
        )
    order = [motion.skeleton.index[name] for name in skeleton.names]
    pose = fk(motion)
    places, turns = pose.positions[:, order], pose.rotations[:, order]
    parents = skeleton.parents[1:]
    local, offsets = turns.copy(), places.copy()
    local[:, 1:] = multiply(conjugate(turns[:, parents]), turns[:, 1:])
    offsets[:, 1:] = unrotate(turns[:, parents], places[:, 1:] - places[:, parents])
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    moving = np.abs(offsets - skeleton.offsets).max(axis=(0, 2)) > 1e-7 * size
    moving[0] = False
    offsets[:, ~moving] = skeleton.offsets[~moving]
    return replace(
        motion, skeleton=skeleton, root=places[:, 0], rotations=continuous(local),
        offsets=offsets if moving.any() else None,
    )  # fmt: skip
