"""Helper bones: joints that are no bones of the body, by their names."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from understudy.figure.roles import is_motor, words
from understudy.figure.skeleton import JointKind, Skeleton

HELPER_WORDS = {
    "twist", "roll", "helper", "ik", "fk", "pole", "nub", "armor", "end", "site", "footsteps", "volume", "prop",
    "tweak", "mch", "ctrl", "control", "target", "leaf", "sec", "adj", "parent", "dummy", "jiggle",
}  # fmt: skip
"""Words in the names of joints that are not bones of the body."""

END_WORDS = {"end", "site", "nub", "leaf"}
"""Words in the names of joints at the far ends of bones."""

MIN_BONE_SIZES = 1e-3
"""Length of a bone, in sizes of the body, from which it can be seen."""

MOTOR_WORDS = {"roll", "twist"}
"""Words for helper bones that in robots name a motor."""


def is_helper(name: str) -> bool:
    """Whether a name is not that of a bone: a twist helper, a control, the end of another bone."""
    return name.startswith("__") or bool(set(words(name)) & HELPER_WORDS - ({"roll"} if is_motor(name) else set()))


def is_helper_bone(skeleton: Skeleton, joint: int) -> bool:
    """Whether a joint is not a bone of the body, by its name; a motor that rolls or twists a limb is one."""
    name = skeleton.names[joint]
    if skeleton.kinds[joint] in (JointKind.HINGE, JointKind.UNIVERSAL):
        return name.startswith("__") or bool(set(words(name)) & HELPER_WORDS - MOTOR_WORDS)
    return is_helper(name)


def is_end_bone(skeleton: Skeleton, joint: int) -> bool:
    """Whether a joint is the far end of a bone, by its name."""
    return bool(END_WORDS & set(words(skeleton.names[joint])))


@lru_cache(maxsize=64)
def leaf_helpers(skeleton: Skeleton) -> frozenset[int]:
    """Helper bones that carry nothing but helper bones. An end that has a length of its own is a bone."""
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    long = {end.joint for end in skeleton.ends if np.linalg.norm(end.offset) > MIN_BONE_SIZES * size}
    for joint in range(1, skeleton.num_joints):
        if is_end_bone(skeleton, joint) and skeleton.lengths[joint] > MIN_BONE_SIZES * size:
            long.add(skeleton.names[skeleton.parents[joint]])
    helpers: set[int] = set()
    for joint in range(skeleton.num_joints - 1, 0, -1):
        is_bone = is_end_bone(skeleton, joint) and skeleton.names[joint] in long
        carries = any(child not in helpers for child in skeleton.children[joint])
        if is_helper_bone(skeleton, joint) and not is_bone and not carries:
            helpers.add(joint)
    return frozenset(helpers)
