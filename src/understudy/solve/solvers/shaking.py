"""The fast shaking of planted points, and the part of it that the whole body shares.

A captured foot shakes by fractions of a millimetre while it stands. Where the leg is straight, the hips shake with it.
A foot that is then held exactly passes the shaking of the hips on to the knee, many times as large. So the root loses
the shaking that it shares with standing feet before anything is solved: hips and head become smoother, and knees stay
as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.kinematics import pose_of
from understudy.figure.motion import Motion
from understudy.solve.problem import Problem
from understudy.solve.solvers.dual import fast_part
from understudy.solve.solvers.limbs import limb_of

SHARED_SECONDS = 0.08
"""The root may share changes of a planted point over a shorter time than this."""

ONSET_SECONDS, WINDOW_SECONDS = 0.05, 0.3
"""The shared shaking sets in over the first time where a point lands, and fades as long before it lifts. The shares are
those of a window of the second length, so that a glitch of one foot does not become one of the root."""

MIN_FRAMES, RIDGE = 6, 0.05
"""The fewest frames of a contact whose shaking the root loses, and the relative weight that keeps shares small where
feet shake alike."""


def steadied(problem: Problem, hold: float = -np.inf, until: float = np.inf) -> Problem:
    """The problem whose roots have lost the vertical shaking that they share with standing feet, in the frames between
    two times in seconds."""
    onset = np.minimum(problem.times - hold, until - problem.times) / ONSET_SECONDS
    onset = np.clip(np.nan_to_num(onset, posinf=1.0, neginf=0.0), 0.0, 1.0)
    actors = []
    for number, actor in enumerate(problem.actors):
        feet = _foot_shaking(problem, number)
        if len(feet):
            root = actor.motion.root.copy()
            root[:, 1] -= onset * shared_shaking(root[:, 1], feet, actor.motion.fps)
            actor = replace(actor, motion=replace(actor.motion, root=root))
        actors.append(actor)
    same = all(new is old for new, old in zip(actors, problem.actors, strict=True))
    return problem if same else replace(problem, actors=tuple(actors))


def shared_shaking(height: Array, feet: Array, fps: float) -> Array:
    """(F,) the part of the shaking (n, F) of feet that a height (F,) shares: its second differences follow theirs."""
    bent, follows = np.zeros(feet.shape), np.zeros(len(height))
    bent[:, 1:-1], follows[1:-1] = np.diff(feet, 2, axis=1), np.diff(height, 2)
    kernel = np.hanning(2 * max(round(0.5 * WINDOW_SECONDS * fps), 2) + 3)[1:-1]

    def around(values: Array) -> Array:
        return np.convolve(values, kernel, "full")[len(kernel) // 2 :][: len(values)]

    matrix = np.array([[around(one * other) for other in bent] for one in bent]).transpose(2, 0, 1)
    wanted = np.array([around(one * follows) for one in bent]).T
    ridge = RIDGE * np.trace(matrix, axis1=1, axis2=2) + 1e-16
    shares = np.linalg.solve(matrix + ridge[:, None, None] * np.eye(len(feet)), wanted[..., None])[..., 0]
    return np.einsum("fn,nf->f", np.clip(shares, 0.0, 1.0), feet)


def _foot_shaking(problem: Problem, number: int) -> Array:
    """(n, F) metres: the vertical shaking of each limb of an actor that stands, zero where it does not."""
    motion, points = problem.actors[number].motion, dict[int, list[int]]()
    for index, constraint in enumerate(problem.constraints):
        held = problem.targets[index].points
        if constraint.slack > 0.0 and len(held) == 1 and len(problem.constraint_frames[index]) >= MIN_FRAMES:
            point = int(held[0])
            if problem.points[point][0] == number:
                points.setdefault(point, []).append(index)
    heights = _heights(problem, motion, list(points))
    shaking, weight = dict[int, Array](), dict[int, Array]()
    for point, indices in points.items():
        for index in indices:
            frames, limb = problem.constraint_frames[index], limb_of(problem, index)[1]
            fast = fast_part(heights[point][frames], motion.fps, SHARED_SECONDS)
            inside = np.arange(1, len(frames) + 1)
            share = np.minimum(np.minimum(inside, inside[::-1]) / (ONSET_SECONDS * motion.fps), 1.0)
            for table, values in ((shaking, share * fast), (weight, share)):
                table.setdefault(limb, np.zeros(len(problem.times)))[frames] += values
    return np.array([shaking[limb] / np.maximum(weight[limb], 1.0) for limb in shaking])


def _heights(problem: Problem, motion: Motion, points: list[int]) -> dict[int, Array]:
    """By point of a problem (F,) metres: its height."""
    refs = [problem.points[point][1] for point in points]
    if not refs:
        return {}
    pose = pose_of(motion, [motion.skeleton.index[ref.joint] for ref in refs])
    return dict(zip(points, pose.points(refs)[:, :, 1].T, strict=True))
