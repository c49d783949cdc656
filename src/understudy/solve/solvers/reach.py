"""Lowers bodies whose straight legs do not reach what they stand on.

A straight leg cannot become longer, and Gauss-Newton steps do not see how the body would have to sink for it: at first
a bending knee changes nothing. They move the foot below the hip instead, by many times what is missing. So before limbs
are solved, the root sinks by what the legs lack, smoothly and never by less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.kinematics import paths_of
from understudy.figure.limbs import first_of_limb
from understudy.figure.skeleton import Skeleton
from understudy.solve.coordinates import Body
from understudy.solve.problem import Problem
from understudy.solve.solvers.limbs import contact_goals, known
from understudy.solve.steadiness import onset_of, window_sums

SINK_SECONDS = 0.5
"""The time over which the body sinks before a leg is too short, and rises after it."""

MIN_BEND_SHARE = 3e-4
"""The share of its length by which a leg that stands is at least shorter than it is when straight."""

MAX_SINK_SHARE = 0.06
"""The share of its length by which a limb may be too short: beyond that something else is wrong."""

MIN_UPRIGHT_COSINE = 0.5
"""The least cosine of the angle between a limb and the vertical at which a sinking body helps it."""


def lowered(
    problem: Problem, bodies: tuple[Body, ...], constraints: Sequence[int], hold: float, until: float
) -> tuple[Body, ...]:
    """Bodies that have sunk by what their standing limbs lack, in the frames between two times in seconds."""
    goals, paths = contact_goals(problem, bodies, constraints)
    standing: list[list[tuple[int, list[int]]]] = [[] for _ in bodies]
    for number in goals:
        actor, point = problem.points[int(problem.targets[number].points[0])]
        skeleton = bodies[actor].motion.skeleton
        limb = limb_chain(skeleton, skeleton.index[point.joint])
        if not problem.constraints[number].instants and bodies[actor].num_shifts and len(limb) > 2:
            standing[actor].append((number, limb))
    out, onset = list(bodies), onset_of(problem, hold, until)
    for actor, (body, contacts) in enumerate(zip(bodies, standing, strict=True)):
        joints = sorted({joint for _, limb in contacts for joint in limb})
        places = paths_of(body.motion, joints) if joints else np.zeros((len(problem.times), 0, 3))
        need = np.zeros(len(problem.times))
        for number, limb in contacts:
            frames, change = problem.constraint_frames[number], known(goals[number] - paths[number])
            lacking = missing_height(places[np.ix_(frames, np.searchsorted(joints, limb))], change)
            need[frames] = np.maximum(need[frames], lacking)
        if need.any():
            root = body.motion.root.copy()
            root[:, 1] -= onset * smooth_envelope(need, body.motion.fps, SINK_SECONDS)
            out[actor] = body.with_motion(body.motion.derived(root=root))
    return tuple(out)


def limb_chain(skeleton: Skeleton, joint: int) -> list[int]:
    """The joints from the first of a joint's limb to the joint itself."""
    chain = skeleton.chain(joint)
    return chain[chain.index(first_of_limb(skeleton, joint)) :]


def missing_height(places: Array, change: Array) -> Array:
    """(n,) metres by which a body would have to sink so that a limb reaches where its end should be.

    Args:
        places: (n, m, 3) metres, world: the joints of the limb.
        change: (n, 3) metres: where the last of them should be, from where it is.
    """
    longest = np.linalg.norm(np.diff(places, axis=1), axis=-1).sum(axis=1)
    reach, line = (1.0 - MIN_BEND_SHARE) * longest, places[:, 0] - places[:, -1] - change
    flat = np.linalg.norm(line[:, [0, 2]], axis=-1)
    missing = line[:, 1] - np.sqrt(np.maximum(reach**2 - flat**2, 0.0))
    is_helped = (line[:, 1] > MIN_UPRIGHT_COSINE * reach) & (missing < MAX_SINK_SHARE * longest)
    return np.where(is_helped, np.maximum(missing, 0.0), 0.0)


def smooth_envelope(values: Array, fps: float, seconds: float) -> Array:
    """(n,) a smooth curve that is nowhere below values (n,), over a time before and after each."""
    half = max(round(0.5 * seconds * fps), 1)
    padded = np.pad(values, 2 * half, mode="edge")
    highest = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).max(axis=1)
    smooth = window_sums(highest, fps, seconds) / window_sums(np.ones(len(highest)), fps, seconds)
    envelope: Array = np.maximum(smooth[half : half + len(values)], 0.0)
    return envelope
