"""Start motions: the source's motion on the target's body, close to the solution.

Joint angles are copied. The root's path is scaled by the ratio of the leg lengths about the floor, per frame for a body
that changes size. It is then shifted to where constraints fix the body in the world [Gleicher98, sec. 3.8 and 5].
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

MAX_SHIFT_SPEED_LEGS_PER_S = 1.0
"""Leg lengths a second: a larger shift is spread over more time."""


def start_motion(motion: Motion, target: Skeleton, floor: Floor) -> Motion:
    """The source's motion on a target of the same structure. Its path is scaled by the ratio of the leg lengths."""
    check_structure(motion.skeleton, target)
    ratio = leg_ratio(motion.skeleton, target)
    offsets = None
    if motion.offsets is not None:
        lengths = motion.skeleton.lengths
        ratios = target.lengths / np.maximum(lengths, 1e-12)
        offsets = np.where(lengths[:, None] > 1e-9, motion.offsets * ratios[:, None], target.offsets)
    return motion.derived(
        skeleton=target, root=scaled_places(motion.root, ratio, floor), offsets=offsets, name=target.name
    )


def morph_motion(motion: Motion, target: Skeleton, share: Array, floor: Floor) -> Motion:
    """The source's motion on a body that changes from the source into the target.

    Args:
        motion: The source's motion.
        target: A character of the same structure.
        share: (F,) blend from source (0) to target (1) body at each frame.
        floor: The ground.

    Returns:
        A motion on the target's skeleton with offsets per frame. Each step of the path is scaled by the leg length at
        its frames, and the steps are summed [Gleicher98, sec. 5].
    """
    check_structure(motion.skeleton, target)
    weights = share[:, None, None]
    offsets = (1.0 - weights) * motion.skeleton.offsets + weights * target.offsets
    ratio = 1.0 + share * (leg_ratio(motion.skeleton, target) - 1.0)
    steps = np.diff(motion.root, axis=0) * (0.5 * (ratio[1:] + ratio[:-1]))[:, None]
    root = motion.root[0] * [ratio[0], 1.0, ratio[0]] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    root[:, 1] = floor.height + ratio * (motion.root[:, 1] - floor.height)
    return replace(motion, skeleton=target, root=root, offsets=offsets, name=target.name)


def check_structure(source: Skeleton, target: Skeleton) -> None:
    """Refuse a target whose joints or hierarchy differ from the source's."""
    if source.names != target.names or not np.array_equal(source.parents, target.parents):
        missing = [name for name in source.names if name not in target.index]
        extra = [name for name in target.names if name not in source.index]
        raise SkeletonError(
            f"The target is built differently: it lacks {missing[:4] or 'nothing'}, has {extra[:4] or 'nothing'} "
            "besides, or its joints hang together in another way"
        )


def translation_signal(
    shifts: Array, fps: float, smoothing_seconds: float = 0.25, fade_seconds: float = np.inf
) -> Array:
    """(F, 3) metres by which to shift a body at each frame, interpolated from the shifts that constraints request.

    Args:
        shifts: (F, 3) metres; nan where no constraint requests a shift along an axis.
        fps: Frames a second.
        smoothing_seconds: Standard deviation of the Gaussian low-pass filter.
        fade_seconds: The shift is zero at frames that are further than this from every request.
    """
    frames = np.arange(len(shifts))
    signal = np.zeros_like(shifts)
    for axis in range(3):
        known = np.isfinite(shifts[:, axis])
        if known.any():
            values = np.where(known, shifts[:, axis], 0.0)
            if np.isfinite(fade_seconds):
                # A fade longer than the motion is cut to its length.
                known |= ~widened(known, max(round(min(fade_seconds * fps, len(shifts))), 1))
            interpolated = np.interp(frames, frames[known], values[known])
            signal[:, axis] = gaussian_smoothed(interpolated, smoothing_seconds * fps)
    return signal


def shift_starts(problem: Problem, indices: tuple[int, ...], fade_seconds: float = np.inf) -> Problem:
    """The problem with its start motions shifted towards what some of its constraints request [Gleicher98, sec. 3.8].

    Args:
        problem: The problem.
        indices: The indices of these constraints.
        fade_seconds: The shift fades to zero over this time before and after the constraints; over more if it is large.
    """
    if not indices:
        return problem
    signals: list[Array | None] = []
    for actor, shifts in zip(problem.actors, requested_shifts(problem, indices), strict=True):
        signals.append(None)
        if actor.moves and actor.root_moves:
            largest = float(np.nanmax(np.abs(shifts), initial=0.0))
            fade = max(fade_seconds, largest / (MAX_SHIFT_SPEED_LEGS_PER_S * leg_length(actor.motion.skeleton)))
            signals[-1] = translation_signal(shifts, actor.motion.fps, fade_seconds=fade)
    return problem.shifted(signals)


def requested_shifts(problem: Problem, only: tuple[int, ...] | None = None) -> tuple[Array, ...]:
    """For each actor (F, 3) metres: the mean shift that satisfies the constraints that fix it in the world, all or
    `only` those of some indices; nan where there is none."""
    frames = np.arange(len(problem.times))
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames, constraint_indices=only)
    inputs = sample.inputs(tuple(body.posture for body in problem.bodies))
    total = np.zeros((len(problem.actors), len(problem.times), 3))
    count = np.zeros(total.shape, dtype=int)
    for (target, held, _, _), constraint_input in zip(sample.windows, inputs, strict=True):
        constraint = target.constraint
        shifts = constraint.pull(constraint_input)
        if shifts is not None:
            actor = problem.resolve(constraint, (*constraint.point_refs(), *constraint.joints())[0])[0]
            known = np.isfinite(shifts)
            total[actor, held] += np.where(known, shifts, 0.0)
            count[actor, held] += known
    return tuple(np.where(count > 0, total / np.maximum(count, 1), np.nan))
