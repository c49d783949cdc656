"""Limbs and trunk: which joints carry several limbs, and which belong to one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from understudy.figure.skeleton import Skeleton

MIN_LIMB_LENGTH_SHARE = 0.35
"""Length of a branch, as a share of the longest branch of the body, from which on it is a limb of its own."""

MIN_TWO_LONGEST_SHARE = 0.6
"""The share of a limb's length that its two longest bones in a row have at least if only they count for its reach."""


@lru_cache(maxsize=64)
def limb_joints(skeleton: Skeleton) -> np.ndarray:
    """(J,) True for joints that belong to a single limb, False for the trunk.

    The trunk is the root, every joint from which two or more limbs branch off, and all joints above those. Fingers and
    toes are too short to be limbs.
    """
    count, parents = skeleton.num_joints, skeleton.parents
    reach = np.zeros(count)
    for end in skeleton.ends:
        joint = skeleton.joint(end.joint)
        reach[joint] = max(reach[joint], float(np.linalg.norm(end.offset)))
    for joint in range(count - 1, 0, -1):
        parent = parents[joint]
        reach[parent] = max(reach[parent], reach[joint] + float(skeleton.lengths[joint]))
    branch = reach + skeleton.lengths
    shortest_limb = MIN_LIMB_LENGTH_SHARE * float(branch[1:].max(initial=0.0))
    trunk = np.zeros(count, bool)
    trunk[0] = True
    limbs_below = np.zeros(count, dtype=int)
    for joint in range(count - 1, 0, -1):
        limbs_below[parents[joint]] += branch[joint] >= shortest_limb
        trunk[joint] |= limbs_below[joint] > 1
        if trunk[joint]:
            trunk[parents[joint]] = True
    return ~trunk


def first_of_limb(skeleton: Skeleton, joint: int) -> int:
    """The first joint of the limb of a joint; of the trunk, the joint itself."""
    is_limb = limb_joints(skeleton)
    while is_limb[joint] and is_limb[skeleton.parents[joint]]:
        joint = int(skeleton.parents[joint])
    return joint


def reaching_chain(skeleton: Skeleton, joint: int) -> list[int]:
    """The joints between which the bones are that bring a joint of a limb to a place, and the joint itself.

    They begin where the limb begins. Of one that is mostly two bones in a row, such as an arm or a leg, they begin
    where these do: a collar bone, and the bone from the middle of the hips to a hip, reach nowhere.
    """
    chain = skeleton.chain(joint)
    chain = chain[chain.index(first_of_limb(skeleton, joint)) :]
    lengths = skeleton.lengths[chain[1:]]
    pairs = lengths[:-1] + lengths[1:]
    return chain[int(np.argmax(pairs)) :] if pairs.max(initial=0.0) > MIN_TWO_LONGEST_SHARE * lengths.sum() else chain
