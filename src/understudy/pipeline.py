"""Retargeting: one character performs another's motion, with everything chosen by itself and open to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.casting import cast, is_driven
from understudy.constraints.base import Constraint
from understudy.contacts import Contact
from understudy.driving import drive
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.motion import Motion
from understudy.plan import Options, Part, Plan, plan
from understudy.skeleton import Skeleton
from understudy.solvers.base import Solution, Solver, Watch
from understudy.start import check_structure
from understudy.transfer.correspondence import Correspondence
from understudy.transfer.detached import attach, rehung

__all__ = ["Options", "Part", "Plan", "morph", "naive", "plan", "retarget"]


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
    """Make any character perform a motion; a body without limbs is driven by features (`understudy.driving.drive`).

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
        casting: What else `understudy.casting.cast` takes: how the two are aligned, and reference poses.
    """
    hung = attach(target)
    if hung is not target and correspondence is None and casting.get("target_pose") is None:
        own = casting.pop("target_motion", None)
        found = retarget(
            motion, hung, constraints=constraints, contacts=contacts, options=options, solver=solver, watch=watch,
            target_motion=None if own is None else rehung(own, hung), **casting,
        )  # fmt: skip
        return replace(found, motions=tuple(rehung(each, target) for each in found.motions))
    part = cast(motion, target, correspondence=correspondence, **casting)
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
    part = Part(motion=motion, target=target, share=share)
    return plan([part], constraints=constraints, contacts=contacts, options=options).solve(solver, watch)


def naive(motion: Motion, target: Skeleton) -> Motion:
    """The source's angles and path on the target, with nothing solved: what copying gives."""
    check_structure(motion.skeleton, target)
    return replace(motion, skeleton=target, name=target.name)
