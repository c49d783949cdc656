"""Retargeting: one character performs another's motion, with everything chosen by itself and open to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, rotate
from understudy.constraints.base import Constraint
from understudy.correspondence.alignment import align
from understudy.correspondence.detached import attach, rehung
from understudy.correspondence.pairs import Correspondence, same_names, same_structure
from understudy.correspondence.suggest import suggest
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.retarget.feature_driving import drive
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.retarget.start import check_structure
from understudy.solve.solvers.base import Solution, Solver, Watch

SKEWED = 10.0
"""Degrees between the bones of two rest poses from which on the same angles mean another pose."""


def match_actor(
    motion: Motion,
    target: Skeleton,
    *,
    correspondence: Correspondence | None = None,
    target_motion: Motion | None = None,
    alignment: str | None = None,
    source_pose: Array | None = None,
    target_pose: Array | None = None,
    **rest: Any,
) -> Assignment:
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
            return Assignment(motion=motion, target=target, **rest)
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
    return Assignment(motion=motion, target=target, alignment=aligned, **rest)


def is_driven(part: Assignment) -> bool:
    """Whether nothing of a target corresponds but the body as a whole, so that features have to drive it."""
    return part.alignment is not None and len(part.alignment.correspondence.pairs) == 1


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


__all__ = ["Assignment", "Options", "Plan", "morph", "naive", "plan", "retarget"]


def retarget(
    motion: Motion,
    target: Skeleton,
    *,
    correspondence: Correspondence | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    solver: Solver | None = None,
    watch: Watch | None = None,
    **casting: Any,
) -> Solution:
    """Make any character perform a motion; a body without limbs is driven by features.

    Args:
        motion: What the source does.
        target: The character that is to do it: one of the same joints and other lengths, or any other.
        correspondence: Which bones of the two belong together, where they are of different structure; found by
            itself if not given.
        constraints: What must hold besides the contacts.
        contacts: The source's contacts; found by themselves if not given.
        options: What to choose otherwise than by itself.
        solver: How to solve; the spacetime solver if not given.
        watch: Told how far the solver is.
        casting: What else `understudy.retarget.driver.cast` takes: how the two are aligned, and reference poses.
    """
    hung = attach(target)
    if hung is not target and correspondence is None and casting.get("target_pose") is None:
        own = casting.pop("target_motion", None)
        found = retarget(
            motion, hung, constraints=constraints, contacts=contacts, options=options, solver=solver, watch=watch,
            target_motion=None if own is None else rehung(own, hung), **casting,
        )  # fmt: skip
        return replace(found, motions=tuple(rehung(each, target) for each in found.motions))
    part = match_actor(motion, target, correspondence=correspondence, **casting)
    if is_driven(part) and not constraints and solver is None:
        assert part.alignment is not None
        points = part.alignment.correspondence.points or None
        return drive(motion, target, points, contacts=contacts, options=options, watch=watch).solution
    return plan([part], constraints=constraints, contacts=contacts, options=options).solve(solver, watch)


def morph(
    motion: Motion,
    target: Skeleton,
    *,
    share: Array | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    solver: Solver | None = None,
    watch: Watch | None = None,
) -> Solution:
    """A motion by a body that turns from the source into the target while it moves [Gleicher98, sec. 5].

    Args:
        motion: What the source does.
        target: What the body becomes: the same joints, other lengths.
        share: (F,) how much of the target it is at each frame; an even rise from 0 to 1 if not given.
        constraints: What must hold besides the contacts.
        contacts: The source's contacts; found by themselves if not given.
        options: What to choose otherwise than by itself.
        solver: How to solve; the spacetime solver if not given.
        watch: Told how far the solver is.
    """
    share = np.linspace(0.0, 1.0, motion.num_frames) if share is None else np.asarray(share, float)
    if share.shape != (motion.num_frames,) or not np.all(np.isfinite(share)):
        raise OptionError(f"Expected {motion.num_frames} finite shares, one for each frame; got shape {share.shape}")
    part = Assignment(motion=motion, target=target, share=share)
    return plan([part], constraints=constraints, contacts=contacts, options=options).solve(solver, watch)


def naive(motion: Motion, target: Skeleton) -> Motion:
    """The source's angles and path on the target, with nothing solved: what copying gives."""
    check_structure(motion.skeleton, target)
    return replace(motion, skeleton=target, name=target.name)
