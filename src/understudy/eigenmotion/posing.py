"""Poses made by inverse kinematics: a body takes hold of places with its points [Analogies, sec. 5.4]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from understudy.constraints.base import Spot
from understudy.constraints.place import Place
from understudy.geometry.quaternion import Array
from understudy.limits import joint_limits
from understudy.motion import Motion
from understudy.problem import Actor, Problem
from understudy.skeleton import Skeleton
from understudy.solvers.base import Solution
from understudy.solvers.spacetime import Spacetime


def reach(
    skeleton: Skeleton,
    goals: Mapping[str, Array],
    *,
    start: Array | None = None,
    root: Array | None = None,
    keep: tuple[str, ...] = (),
    limits: bool = True,
) -> Solution:
    """A pose in which points of a body are at given places, as near as can be to another pose.

    Args:
        skeleton: The body.
        goals: (3,) metres, world, by the names of joints or ends.
        start: (J, 4) local rotations of the pose to stay near; the rest pose if not given.
        root: (3,) metres, where the root is; as in the rest pose if not given. It does not move.
        keep: Joints that stay as they are, by name.
        limits: Keep joints inside their limits.

    Returns:
        A solution whose motion holds the pose in its only frame; it says which places were not reached.
    """
    motion = Motion(
        skeleton=skeleton,
        fps=30.0,
        root=np.array([skeleton.offsets[0] if root is None else root], float),
        rotations=np.array([skeleton.rest if start is None else start], float),
    )
    kept = {skeleton.names[skeleton.joint(name)] for name in keep}
    moving = tuple(name for name in skeleton.names if name not in kept)
    places = [Place(spot=Spot(point=name), target=np.asarray(at, float), name=name) for name, at in goals.items()]
    felt = {above for place in places for above in _above(skeleton, str(place.spot.point))}
    ranges = joint_limits(motion, only=felt & set(moving))[0] if limits else []
    actor = Actor(motion=motion, joints=moving, root_moves=False)
    return Spacetime().solve(Problem(actors=(actor,), constraints=(*places, *ranges)))


def _above(skeleton: Skeleton, name: str) -> set[str]:
    return {skeleton.names[j] for j in skeleton.chain(skeleton.joint(skeleton.point(name).joint))}
