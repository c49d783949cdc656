"""Casting: who plays whom. A target of the same structure takes over the angles; any other is mapped and aligned."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.geometry.quaternion import Array, rotate
from understudy.motion import Motion
from understudy.plan import Part
from understudy.skeleton import Skeleton
from understudy.transfer.alignment import align
from understudy.transfer.correspondence import Correspondence, Pair
from understudy.transfer.suggest import suggest

SKEWED = 10.0
"""Degrees between the bones of two rest poses from which on the same angles mean another pose."""


def cast(
    motion: Motion,
    target: Skeleton,
    *,
    correspondence: Correspondence | None = None,
    target_motion: Motion | None = None,
    alignment: str | None = None,
    source_pose: Array | None = None,
    target_pose: Array | None = None,
    **rest: Any,
) -> Part:
    """The part of a target in somebody else's motion.

    Args:
        motion: What the source does.
        target: The character that is to do it.
        correspondence: Which bones belong together; found by itself if not given.
        target_motion: Something that the target does, where its skeleton alone does not show how it stands.
        alignment: "direction" or "stance"; chosen by how the two stand if not given.
        source_pose: (J, 4) local rotations of the source's reference pose; chosen by itself if not given.
        target_pose: (J, 4) the target's.
        rest: Further fields of the part.
    """
    asked = alignment is not None or source_pose is not None or target_pose is not None
    if correspondence is None and same_structure(motion.skeleton, target):
        if not asked and rest_poses_apart(motion.skeleton, target)[0] <= SKEWED:
            return Part(motion=motion, target=target, **rest)
        correspondence = same_names(motion.skeleton, target)
    if correspondence is None:
        correspondence = suggest(motion.skeleton, target, source_motion=motion, target_motion=target_motion)
    aligned = align(
        correspondence,
        source_motion=motion,
        target_motion=target_motion,
        source_pose=source_pose,
        target_pose=target_pose,
        mode=alignment,
    )
    return Part(motion=motion, target=target, alignment=aligned, **rest)


def is_driven(part: Part) -> bool:
    """Whether nothing of a target corresponds but the body as a whole, so that features have to drive it."""
    return part.alignment is not None and len(part.alignment.correspondence.pairs) == 1


def same_structure(source: Skeleton, target: Skeleton) -> bool:
    """Whether two skeletons have the same joints, hung together in the same way."""
    return source.names == target.names and np.array_equal(source.parents, target.parents)


def same_names(source: Skeleton, target: Skeleton) -> Correspondence:
    """The map of two skeletons of the same joints: each to its namesake."""
    pairs = [Pair(source=(name,), target=(name,), reason="the same joint") for name in source.names]
    return Correspondence(source=source, target=target, pairs=tuple(pairs))


def rest_poses_apart(source: Skeleton, target: Skeleton) -> tuple[float, str]:
    """Degrees between the bones of two rest poses of the same joints where they differ most, and to which joint.

    Seen from the joint that each hangs from, as the same angles turn them.
    """
    inner, outer = (rotate(s.rest[s.parents[1:]], s.offsets[1:]) for s in (source, target))
    sizes = np.linalg.norm(inner, axis=-1) * np.linalg.norm(outer, axis=-1)
    long = sizes > 1e-2 * sizes.max(initial=0.0)
    if not long.any():
        return 0.0, ""
    cosines = np.einsum("ji,ji->j", inner, outer) / np.where(long, sizes, 1.0)
    angles = np.where(long, np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))), 0.0)
    worst = int(np.argmax(angles))
    return float(angles[worst]), target.names[worst + 1]
