"""Hips and head that stay as steady as they were: the fast part of paths, and what takes it back.

A captured pelvis often shakes while the spine makes up for it, so that the head keeps still. On a body of other
proportions, or after a change of its posture, the two no longer cancel, and the head jumps. Spine and neck are then
turned by the little that keeps it still.

A captured foot shakes by fractions of a millimetre while it stands. Where the leg is straight, the hips shake with it.
A foot that is then held exactly passes the shaking of the hips on to the knee, many times as large. So the root loses
the shaking that it shares with standing feet before anything is solved: hips and head become smoother, and knees stay
as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, exp, multiply
from understudy.base.records import gaussian_smoothed
from understudy.constraints.base import Relation
from understudy.figure.kinematics import Pose, paths_of, pose_of
from understudy.figure.limbs import first_of_limb
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.solve.coordinates import Body, shifted
from understudy.solve.lapack import dpbtrf, dpbtrs
from understudy.solve.problem import Problem

FAST_SECONDS = 0.04
"""Changes of the head's path over a shorter time than this are fast."""

WINDOW_SECONDS, FULL_EXCESS = 0.1, 0.1
"""The window in which the accelerations of two heads are compared, and the relative excess from which on the fast part
of one is replaced in full by that of the other."""

SHARE_SMOOTHING_SECONDS = 0.05
"""Standard deviation of the low-pass filter of the share that is replaced. Without it, a head jumped where the share
fell within a few frames."""

MIN_EXCESS_LEGS = 1e-5
"""Leg lengths: a smaller difference of the fast parts is left as it is."""

STIFFNESS_ALONG_SPINE = 0.003
"""The relative cost that keeps the spine from turning far for a difference along itself. With 0.1, the head of one
who jumps kept nearly all of such a difference, and popped by up to 7 mm in one frame."""

POSED_SECONDS = 0.2
"""The time from a given pose of the spine over which steadying the head sets in."""

SHARED_SECONDS = 0.03
"""The root may share changes of a planted point over a shorter time than this."""

ONSET_SECONDS, SHARE_SECONDS = 0.05, 0.3
"""The shared shaking sets in over the first time where a point lands, and fades as long before it lifts. The shares are
those of a window of the second length, so that a glitch of one foot does not become one of the root."""

MIN_FRAMES, RIDGE = 6, 0.05
"""The fewest frames of a contact whose shaking the root loses, and the relative weight that keeps shares small where
feet shake alike."""


MAX_JUMP_RATIO, MIN_JUMP_LEGS, JUMP_REACH_FRAMES = 1.25, 0.0015, 3
"""A root jumps at a frame where it is farther from the line between its neighbours, twice, than this many times what
the start has within the reach, plus the leg lengths: that is what a viewer sees as a pop."""


def roughness_costs(costs: Array, roughness: float) -> Array:
    """(n, 3) the band of the matrix of the costs (n,) of values, and of a cost of their second differences."""
    band = np.zeros((len(costs), 3))
    band[:, 0] = costs
    for a, b, factor in ((0, 0, 1.0), (1, 1, 4.0), (2, 2, 1.0), (0, 1, -2.0), (1, 2, -2.0), (0, 2, 1.0)):
        band[a : max(len(costs) - 2 + a, 0), b - a] += roughness * factor
    return band


def fast_part(values: Array, fps: float, seconds: float) -> Array:
    """(n, ...) what values (n, ...) have besides their smooth part: the changes over less than some seconds."""
    factor, _ = dpbtrf(roughness_costs(np.ones(len(values)), (seconds * fps) ** 4).T, lower=True)
    return values - np.asarray(dpbtrs(factor, values, lower=True)[0])


def window_sums(values: Array, fps: float, seconds: float) -> Array:
    """(n,) the sums of values (n,) over a smooth window of some seconds around each."""
    kernel = np.hanning(2 * max(round(0.5 * seconds * fps), 2) + 3)[1:-1]
    return np.convolve(values, kernel, "full")[len(kernel) // 2 :][: len(values)]


def head_path(motion: Motion) -> Array | None:
    """(F, 3) metres, world: the path of the head; None for a body without a known head."""
    head = roles(motion.skeleton).get("head")
    return None if head is None else paths_of(motion, [head])[:, 0]


def steady_head(motion: Motion, path: Array, leg: float, onset: Array | None = None) -> Motion:
    """A motion whose head is no faster than on a path: its spine and neck make up for the difference.

    A body that changes its size stays as it is.

    Args:
        motion: The motion.
        path: (F, 3) metres: how the head should move. Only its fast part counts, wherever it is.
        leg: Metres: the leg length of the body.
        onset: (F,) how much of the change is made at each frame; all of it if not given.
    """
    head, joints = roles(motion.skeleton).get("head"), free_spine(motion.skeleton)
    if head is None or not joints or motion.num_frames < 4 or motion.offsets is not None:
        return motion
    pose = pose_of(motion, [head])
    own = pose.positions[:, pose.skeleton.index[motion.skeleton.names[head]]]
    excess = _shares_of_excess(own, path, motion.fps) * (1.0 if onset is None else onset)
    change = -excess[:, None] * fast_part(own - path, motion.fps, FAST_SECONDS)
    if np.abs(change).max() < MIN_EXCESS_LEGS * leg:
        return motion
    return _moved_head(motion, pose, joints, own, change)


def _shares_of_excess(own: Array, path: Array, fps: float) -> Array:
    """(F,) from 0, where one path (F, 3) accelerates no more than another (F, 3), to 1, where it does by far."""
    rms = []
    for positions in (own, path):
        squares = np.zeros(len(positions))
        squares[1:-1] = np.sum(np.diff(positions, 2, axis=0) ** 2, axis=-1)
        rms.append(np.sqrt(np.maximum(window_sums(squares, fps, WINDOW_SECONDS), 0.0)))
    shares: Array = np.clip((rms[0] / np.maximum(rms[1], 1e-9) - 1.0) / FULL_EXCESS, 0.0, 1.0)
    return gaussian_smoothed(shares, SHARE_SMOOTHING_SECONDS * fps)


def free_spine(skeleton: Skeleton) -> list[int]:
    """The joints between hips and head, if all of them turn freely."""
    joint_of = roles(skeleton)
    chain = skeleton.chain(joint_of["head"])[:-1] if "head" in joint_of else []
    if joint_of.get("hips") not in chain:
        return []
    joints = chain[chain.index(joint_of["hips"]) + 1 :]
    return joints if all(skeleton.kinds[joint] is JointKind.BALL for joint in joints) else []


def _moved_head(motion: Motion, pose: Pose, joints: list[int], head: Array, change: Array) -> Motion:
    """A motion whose spine joints turn as little as they can to move the head (F, 3) by a small change (F, 3)."""
    skeleton, parents = motion.skeleton, motion.skeleton.parents
    place = {joint: pose.skeleton.index[skeleton.names[joint]] for joint in (int(parents[joints[0]]), *joints)}
    levers = head[:, None] - pose.positions[:, [place[joint] for joint in joints]]
    squares = np.einsum("fki,fki->f", levers, levers)[:, None, None] * np.eye(3)
    matrix = (1.0 + STIFFNESS_ALONG_SPINE) * squares - np.einsum("fki,fkj->fij", levers, levers) + 1e-9 * np.eye(3)
    turns = cross(levers, np.linalg.solve(matrix, change[..., None])[:, None, :, 0])
    old = {joint: pose.rotations[:, place[joint]] for joint in place}
    new = dict(old)
    for number, joint in enumerate(joints):
        new[joint] = multiply(exp(turns[:, : number + 1].sum(axis=1)), old[joint])
    rotations = motion.rotations.copy()
    for joint in np.flatnonzero(np.isin(parents, list(place))).tolist():
        parent = int(parents[joint])
        if joint in joints:
            rotations[:, joint] = multiply(conjugate(new[parent]), new[joint])
        elif parent in joints and skeleton.kinds[joint] is JointKind.BALL:
            # Arms and head keep their world rotation: an arm that turned with the spine would shake its hand.
            rotations[:, joint] = multiply(multiply(conjugate(new[parent]), old[parent]), rotations[:, joint])
    return replace(motion, rotations=rotations)


def steadied(problem: Problem, hold: float = -np.inf, until: float = np.inf) -> Problem:
    """The problem whose roots have lost the vertical shaking that they share with standing feet, in the frames between
    two times in seconds."""
    onset, shifts = onset_of(problem, hold, until), list[Array | None]()
    for number, actor in enumerate(problem.actors):
        feet, shift = _foot_shaking(problem, number), None
        if len(feet) and problem.bodies[number].num_shifts:
            shift = np.zeros((len(onset), 3))
            shift[:, 1] = -onset * shared_shaking(actor.motion.root[:, 1], feet, actor.motion.fps)
        shifts.append(shift)
    return problem if all(shift is None for shift in shifts) else problem.shifted(shifts)


def with_steady_heads(problem: Problem, bodies: tuple[Body, ...], hold: float, until: float) -> tuple[Body, ...]:
    """Bodies whose heads are no faster than in the start of the problem, in the frames between two times in seconds.

    A spine whose pose is given at some frames stays as it is around these.
    """
    out, onset = [], onset_of(problem, hold, until)
    for number, (actor, body) in enumerate(zip(problem.actors, bodies, strict=True)):
        path, turning = head_path(actor.motion), set(body.joint_of.tolist())
        spine = free_spine(body.motion.skeleton)
        if path is not None and turning.issuperset(spine):
            names = {body.motion.skeleton.names[joint] for joint in spine}
            steady = steady_head(body.motion, path, problem.leg, onset * _shares_apart(problem, number, names))
            body = body if steady is body.motion else body.with_motion(steady)
        out.append(body)
    return tuple(out)


def _shares_apart(problem: Problem, number: int, names: set[str]) -> Array:
    """(F,) 0 at the frames at which poses of some joints of an actor are given, 1 from some frames beside them on."""
    posed = np.zeros(len(problem.times), bool)
    for target, frames in zip(problem.targets, problem.constraint_frames, strict=True):
        if target.constraint.relation is Relation.EQUAL and any(
            actor == number and name in names for actor, name in target.joints
        ):
            posed[frames] = True
    if not posed.any():
        return np.ones(len(posed))
    away = frames_from(np.flatnonzero(posed), len(posed))
    return np.clip(away / (POSED_SECONDS * problem.actors[number].motion.fps), 0.0, 1.0)


def frames_from(frames: np.ndarray, count: int) -> np.ndarray:
    """(count,) how many frames each frame of a motion is from the nearest of some frames (n,), rising, at least one."""
    every = np.arange(count)
    later = np.searchsorted(frames, every)
    sides = [np.abs(every - frames[np.clip(later - back, 0, len(frames) - 1)]) for back in (0, 1)]
    nearest: np.ndarray = np.minimum(*sides)
    return nearest


def count_root_jumps(problem: Problem, bodies: tuple[Body, ...]) -> int:
    """The frames at which the root of a body jumps and that of its start motion does not, around that time."""
    count = 0
    for actor, body in zip(problem.actors, bodies, strict=True):
        jumps, allowed = (
            np.linalg.norm(np.diff(motion.root, 2, axis=0), axis=-1) for motion in (body.motion, actor.motion)
        )
        reach = min(JUMP_REACH_FRAMES, len(allowed) // 2)
        if len(allowed):
            around = np.max([shifted(allowed, k) for k in range(-reach, reach + 1)], axis=0)
            count += int(np.count_nonzero(jumps > MAX_JUMP_RATIO * around + MIN_JUMP_LEGS * problem.leg))
    return count


def onset_of(problem: Problem, hold: float, until: float) -> Array:
    """(F,) 0 up to one time in seconds and from another on, 1 between them, with short ramps."""
    onset = np.minimum(problem.times - hold, until - problem.times) / ONSET_SECONDS
    return np.clip(onset, 0.0, 1.0)


def shared_shaking(height: Array, feet: Array, fps: float) -> Array:
    """(F,) the part of the shaking (n, F) of feet that a height (F,) shares: its second differences follow theirs."""
    bent, follows = np.zeros(feet.shape), np.zeros(len(height))
    bent[:, 1:-1], follows[1:-1] = np.diff(feet, 2, axis=1), np.diff(height, 2)

    def around(values: Array) -> Array:
        return window_sums(values, fps, SHARE_SECONDS)

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
            frames = problem.constraint_frames[index]
            limb = first_of_limb(motion.skeleton, motion.skeleton.index[problem.points[point][1].joint])
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
