"""The starting point of a retarget: the source's motion put on the target so that little is left to solve.

Angles carry over as they are; the root's path is scaled by the legs about the floor, frame by frame for a body that
changes size, and shifted to where constraints fix the body in the world [Gleicher98, sec. 3.8 and 5].
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array
from understudy.base.records import gaussian_smoothed, widened
from understudy.figure.contacts import Floor, leg_ratio, scaled_places
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem

PACE = 1.0
"""Leg lengths a second at which a body is shifted at most: what is far away is gone to in more time."""


def start_motion(motion: Motion, target: Skeleton, floor: Floor) -> Motion:
    """The source's motion on a target of the same structure, its path scaled by the legs."""
    check_structure(motion.skeleton, target)
    ratio = leg_ratio(motion.skeleton, target)
    offsets = None
    if motion.offsets is not None:
        bones = target.lengths / np.maximum(motion.skeleton.lengths, 1e-12)
        offsets = np.where(motion.skeleton.lengths[:, None] > 1e-9, motion.offsets * bones[:, None], target.offsets)
    return motion.derived(
        skeleton=target, root=scaled_places(motion.root, ratio, floor), offsets=offsets, name=target.name
    )


def morph_motion(motion: Motion, target: Skeleton, share: Array, floor: Floor) -> Motion:
    """The source's motion on a body that turns from the source into the target.

    Args:
        motion: The source's motion.
        target: A character of the same structure.
        share: (F,) how much of the target the body is at each frame: 0 the source, 1 the target.
        floor: The ground.

    Returns:
        A motion on the target's skeleton with offsets per frame. Steps of the path are scaled by the size the legs
        have at each frame and added up [Gleicher98, sec. 5].
    """
    check_structure(motion.skeleton, target)
    mix = share[:, None, None]
    offsets = (1.0 - mix) * motion.skeleton.offsets + mix * target.offsets
    ratio = 1.0 + share * (leg_ratio(motion.skeleton, target) - 1.0)
    steps = np.diff(motion.root, axis=0) * (0.5 * (ratio[1:] + ratio[:-1]))[:, None]
    root = motion.root[0] * [ratio[0], 1.0, ratio[0]] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    root[:, 1] = floor.height + ratio * (motion.root[:, 1] - floor.height)
    return replace(motion, skeleton=target, root=root, offsets=offsets, name=target.name)


def check_structure(source: Skeleton, target: Skeleton) -> None:
    """Refuse a target whose joints are not the source's."""
    if source.names != target.names or not np.array_equal(source.parents, target.parents):
        missing = [name for name in source.names if name not in target.index]
        extra = [name for name in target.names if name not in source.index]
        raise SkeletonError(
            f"The target is built differently: it lacks {missing[:4] or 'nothing'}, has {extra[:4] or 'nothing'} "
            "besides, or its joints hang together in another way"
        )


def translation_signal(wanted: Array, fps: float, smooth: float = 0.25, away: float = np.inf) -> Array:
    """(F, 3) how far to shift a body at each frame, from what fixed constraints ask for at some.

    Args:
        wanted: (F, 3) metres; nan where nothing is asked of an axis.
        fps: Frames a second.
        smooth: Seconds of the low-pass filter.
        away: Seconds from all that is asked at which nothing is shifted any more.
    """
    frames = np.arange(len(wanted))
    out = np.zeros_like(wanted)
    for axis in range(3):
        known = np.isfinite(wanted[:, axis])
        if known.any():
            asked = np.where(known, wanted[:, axis], 0.0)
            if np.isfinite(away):
                # Beyond the whole motion there is nothing to go away from, however far off what is asked is.
                known |= ~widened(known, max(round(min(away * fps, len(wanted))), 1))
            whole = np.interp(frames, frames[known], asked[known])
            out[:, axis] = gaussian_smoothed(whole, smooth * fps)
    return out


def pulled(problem: Problem, fixing: tuple[int, ...], away: float = np.inf) -> Problem:
    """A problem with its starts shifted by what some of its constraints ask for [Gleicher98, sec. 3.8].

    Args:
        problem: What is to be solved.
        fixing: The constraints.
        away: Seconds from when they hold at which nothing is shifted any more; more where they ask for much.
    """
    if not fixing:
        return problem
    shifts: list[Array | None] = []
    for actor, pull in zip(problem.actors, pulls(problem, fixing), strict=True):
        shifts.append(None)
        if actor.moves and actor.root_moves:
            far = float(np.nanmax(np.abs(pull), initial=0.0))
            time = max(away, far / (PACE * leg_length(actor.motion.skeleton)))
            shifts[-1] = translation_signal(pull, actor.motion.fps, away=time)
    return problem.shifted(shifts)


def pulls(problem: Problem, only: tuple[int, ...] | None = None) -> tuple[Array, ...]:
    """For each actor (F, 3): how far constraints that fix it in the world, or some of them, would shift it, on average;
    nan where none does."""
    frames = np.arange(len(problem.times))
    whole = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames, constraint_indices=only)
    inputs = whole.inputs(tuple(body.posture for body in problem.bodies))
    total = np.zeros((len(problem.actors), len(problem.times), 3))
    count = np.zeros(total.shape, dtype=int)
    for (target, held, _, _), constraint_input in zip(whole.windows, inputs, strict=True):
        asked = target.constraint.pull(constraint_input)
        if asked is not None:
            which = problem.resolve(
                target.constraint, (*target.constraint.point_refs(), *target.constraint.joints())[0]
            )[0]
            known = np.isfinite(asked)
            total[which, held] += np.where(known, asked, 0.0)
            count[which, held] += known
    return tuple(np.where(count > 0, total / np.maximum(count, 1), np.nan))
