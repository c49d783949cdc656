"""Lowers bodies whose straight legs do not reach what they stand on.

A straight leg cannot become longer, and Gauss-Newton steps do not see how the body would have to sink for it: at first
a bending knee changes nothing. They move the foot below the hip instead, by many times what is missing. So before limbs
are solved, the root sinks by what the legs lack, smoothly and never by less, and the legs bend by as much: their feet
stay where they were. A straight leg that had to find out how to bend would swing or roll its foot to one side instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from understudy.base.quaternion import Array, between, conjugate, cross, from_axis_angle, multiply, rotate, unrotate
from understudy.figure.kinematics import paths_of, pose_of
from understudy.figure.limbs import first_of_limb
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.solve.coordinates import Body
from understudy.solve.problem import Problem
from understudy.solve.solvers.limbs import contact_goals, known
from understudy.solve.steadiness import onset_of, window_sums

SINK_SECONDS = 0.5
"""The time over which the body sinks before a leg is too short, and rises after it."""

FOLD_SECONDS = 0.1
"""The time over which a leg begins to bend as the body sinks, and over which the change of its bend is smooth."""

MAX_BACK_RADIANS = np.radians(3.0)
"""A limb that is bent backwards by more than this stays as it is: it would have to jump to the other side."""

MIN_BEND_SHARE = 3e-4
"""The share of its length by which a leg that stands is at least shorter than it is when straight."""

MAX_SINK_SHARE = 0.06
"""The share of its length by which a limb may be too short: beyond that something else is wrong."""

MIN_UPRIGHT_COSINE = 0.5
"""The least cosine of the angle between a limb and the vertical at which a sinking body helps it."""

MIN_TWO_BONE_SHARE = 0.8
"""The share that two long bones have at least of a limb's length, from its beginning to where they end."""

MIN_BONE_SHARE = 1e-6
"""The share of a limb's length from which on a bone counts as one."""

STRAIGHT_SINE, MIN_AXIS_SINE, MIN_FOOT_SINE = 0.15, 0.01, 0.2
"""Sines of a bend: a leg that is bent by less than the first bends as a knee does; a limb that is never bent by more
than the second is left as it is. And of the least angle between a foot and its leg, at rest, that tells where knees
bend."""


def lowered(
    problem: Problem,
    bodies: tuple[Body, ...],
    constraints: Sequence[int],
    hold: float,
    until: float,
    missed: Collection[int] = (),
) -> tuple[Body, ...]:
    """Bodies that have sunk by what their standing limbs lack, in the frames between two times in seconds.

    A bone from the middle of the hips to the hip points aside, and can make a leg longer by little. It counts as a part
    of the leg, unless its contact is among those that were missed.
    """
    goals, paths = contact_goals(problem, bodies, constraints)
    standing: list[list[tuple[int, list[int]]]] = [[] for _ in bodies]
    for number in goals:
        actor, point = problem.points[int(problem.targets[number].points[0])]
        skeleton = bodies[actor].motion.skeleton
        limb = limb_chain(skeleton, skeleton.index[point.joint])
        if number in missed:
            limb = without_hip_bone(skeleton, limb)
        if not problem.constraints[number].instants and bodies[actor].num_shifts and len(limb) > 2:
            standing[actor].append((number, limb))
    out, onset = list(bodies), onset_of(problem, hold, until)
    for actor, (body, contacts) in enumerate(zip(bodies, standing, strict=True)):
        joints = sorted({joint for _, limb in contacts for joint in limb})
        places = paths_of(body.motion, joints) if joints else np.zeros((len(problem.times), 0, 3))
        need, rises = np.zeros(len(problem.times)), dict[tuple[int, int, int], Array]()
        for number, limb in contacts:
            frames, change = problem.constraint_frames[number], known(goals[number] - paths[number])
            lacking = missing_height(places[np.ix_(frames, np.searchsorted(joints, limb))], change)
            need[frames] = np.maximum(need[frames], lacking)
            bones = two_bones(body.motion.skeleton, limb_chain(body.motion.skeleton, limb[-1]))
            if bones is not None and set(body.joint_of.tolist()).issuperset(bones):
                rise = rises.setdefault(bones, np.full(len(need), np.nan))
                rise[frames] = np.fmin(rise[frames], change[:, 1])
        if need.any():
            sunk = onset * smooth_envelope(need, body.motion.fps, SINK_SECONDS)
            root = body.motion.root.copy()
            root[:, 1] -= sunk
            motion = body.motion.derived(root=root)
            for bones, rise in sorted(rises.items()):
                motion = folded(motion, bones, _filled_rise(sunk, rise))
            out[actor] = body.with_motion(motion)
    return tuple(out)


def _filled_rise(sunk: Array, change: Array) -> Array:
    """(F,) metres by which the end of a limb rises in a body that has sunk by (F,) metres: not at all where the limb is
    too short. It is to rise by a change (F,) where it stands, nan where it does not."""
    frames, stands = np.arange(len(change)), np.isfinite(change)
    return np.clip(sunk + np.interp(frames, frames[stands], change[stands]), 0.0, sunk)


def window_means(values: Array, fps: float, seconds: float) -> Array:
    """(n,) the means of values (n,) over a smooth window of some seconds around each."""
    means: Array = window_sums(values, fps, seconds) / window_sums(np.ones(len(values)), fps, seconds)
    return means


def limb_chain(skeleton: Skeleton, joint: int) -> list[int]:
    """The joints from the first of a joint's limb to the joint itself."""
    chain = skeleton.chain(joint)
    return chain[chain.index(first_of_limb(skeleton, joint)) :]


def without_hip_bone(skeleton: Skeleton, chain: list[int]) -> list[int]:
    """The joints of a limb from the first of its two long bones on, if it has such."""
    bones = two_bones(skeleton, chain) if len(chain) > 2 else None
    return chain if bones is None else chain[chain.index(bones[0]) :]


def two_bones(skeleton: Skeleton, chain: Sequence[int]) -> tuple[int, int, int] | None:
    """The joints of the two long bones of a limb that bends in one place, such as hip, knee and ankle; None for others.

    The joints must be free to turn: a ball, a ball or hinge, and a ball.
    """
    lengths = skeleton.lengths[list(chain)]
    pairs = np.minimum(lengths[1:-1], lengths[2:])
    if pairs.max(initial=0.0) <= MIN_BONE_SHARE * lengths.sum():
        return None
    middle = 1 + int(np.argmax(pairs))
    first, bending, last = chain[middle - 1], chain[middle], chain[middle + 1]
    long_enough = lengths[middle] + lengths[middle + 1] > MIN_TWO_BONE_SHARE * lengths[1 : middle + 2].sum()
    kinds = [skeleton.kinds[joint] for joint in (first, bending, last)]
    is_free = kinds[0] is kinds[2] is JointKind.BALL and kinds[1] in (JointKind.BALL, JointKind.HINGE)
    return (first, bending, last) if long_enough and is_free else None


def folded(motion: Motion, joints: tuple[int, int, int], rise: Array) -> Motion:
    """A motion whose limb bends so that its end rises by (F,) metres and keeps its rotation.

    Args:
        motion: The motion.
        joints: The joints of the limb's two bones: where it begins, bends and ends.
        rise: (F,) metres.
    """
    skeleton = motion.skeleton
    pose = pose_of(motion, joints)
    places = [pose.skeleton.index[skeleton.names[joint]] for joint in (int(skeleton.parents[joints[0]]), *joints)]
    above, upper_turn, lower_turn, end_turn = (pose.rotations[:, place] for place in places)
    first, middle, last = (pose.positions[:, place] for place in places[1:])
    upper, lower = middle - first, last - middle
    axis = bending_axis(skeleton, joints, upper_turn, upper, lower)
    if axis is None:
        return motion
    bend = bend_about(axis, upper, lower)
    rise = window_means(rise * np.clip(1.0 + bend / MAX_BACK_RADIANS, 0.0, 1.0), motion.fps, FOLD_SECONDS)
    goal = last - first + rise[:, None] * np.array([0.0, 1.0, 0.0])
    # Near a straight leg a tenth of a millimetre bends the knee by two degrees: what is smooth is the bend.
    more = window_means(bend_to_reach(axis, upper, lower, np.sum(goal**2, axis=-1)) - bend, motion.fps, FOLD_SECONDS)
    knee = from_axis_angle(axis, more)
    swing = between(unit(upper + rotate(knee, lower)), unit(goal))
    new_upper = multiply(swing, upper_turn)
    new_lower = multiply(multiply(swing, knee), lower_turn)
    rotations = motion.rotations.copy()
    for joint, turn, parent in zip(
        joints, (new_upper, new_lower, end_turn), (above, new_upper, new_lower), strict=True
    ):
        rotations[:, joint] = multiply(conjugate(parent), turn)
    return motion.derived(rotations=rotations)


def bending_axis(
    skeleton: Skeleton, joints: tuple[int, int, int], turns: Array, upper: Array, lower: Array
) -> Array | None:
    """(F, 3) unit axis, world, about which a limb of two bones bends: fixed to the upper bone; None if unclear.

    It is what the motion shows where the limb is bent far. A leg that is hardly ever bent, or captured as bent
    backwards by some degrees, bends as a knee does: towards where the foot points in the rest pose.

    Args:
        skeleton: The skeleton.
        joints: The joints of the limb's two bones: where it begins, bends and ends.
        turns: (F, 4) the rotations, world, of the first of them.
        upper: (F, 3) metres: the first bone.
        lower: (F, 3) metres: the second.
    """
    bends = unrotate(turns, cross(unit(upper), unit(lower)))
    total = np.mean(np.linalg.norm(bends, axis=-1, keepdims=True) * bends, axis=0)
    if joints[2] in (roles(skeleton).get("left_foot"), roles(skeleton).get("right_foot")):
        total = total + STRAIGHT_SINE**2 * knee_at_rest(skeleton, joints)
    size = float(np.linalg.norm(total))
    return rotate(turns, total / size) if size > MIN_AXIS_SINE**2 else None


def knee_at_rest(skeleton: Skeleton, joints: tuple[int, int, int]) -> Array:
    """(3,) unit axis, in the frame of a leg's first joint, about which its knee bends in the rest pose.

    Zero if the foot points along the leg.
    """
    _, middle, last = joints
    to_last = multiply(skeleton.rest[middle], skeleton.rest[last])
    foot = rotate(to_last, foot_direction(skeleton, last))
    axis = cross(
        foot, unit(unit(skeleton.offsets[middle]) + unit(rotate(skeleton.rest[middle], skeleton.offsets[last])))
    )
    return unit(axis) if np.linalg.norm(axis) > MIN_FOOT_SINE else np.zeros(3)


def foot_direction(skeleton: Skeleton, joint: int) -> Array:
    """(3,) unit direction, in the frame of a joint, of the longest bone that hangs from it; zero if there is none."""
    bones = [skeleton.offsets[child] for child in np.flatnonzero(skeleton.parents == joint)]
    bones += [end.offset for end in skeleton.ends if end.joint == skeleton.names[joint]]
    longest: Array = max(bones, key=lambda bone: float(np.linalg.norm(bone)), default=np.zeros(3))
    return unit(longest)


def unit(vectors: Array) -> Array:
    """Vectors (..., 3) of length one; zero stays zero."""
    scaled: Array = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return scaled


def bend_about(axis: Array, upper: Array, lower: Array) -> Array:
    """(F,) radians: the angle about an axis (F, 3) from one bone (F, 3) to the next."""
    across = [bone - np.sum(bone * axis, axis=-1, keepdims=True) * axis for bone in (upper, lower)]
    bend: Array = np.arctan2(np.sum(cross(*across) * axis, axis=-1), np.sum(across[0] * across[1], axis=-1))
    return bend


def bend_to_reach(axis: Array, upper: Array, lower: Array, squared: Array) -> Array:
    """(F,) radians: the angle about an axis (F, 3) from one bone (F, 3) to the next at which both together have the
    squared length (F,).

    A limb that is bent backwards gets straight before it bends forwards: it does not jump from one side to the other.
    """
    along = [np.sum(bone * axis, axis=-1) for bone in (upper, lower)]
    across = [np.sum(bone**2, axis=-1) - part**2 for bone, part in zip((upper, lower), along, strict=True)]
    cosine = 0.5 * (squared - (along[0] + along[1]) ** 2 - across[0] - across[1]) / np.sqrt(across[0] * across[1])
    wanted = np.arccos(np.clip(cosine, -1.0, 1.0))
    back = np.maximum(-bend_about(axis, upper, lower), 0.0)
    reached: Array = wanted - 2.0 * np.clip(2.0 * back - wanted, 0.0, back)
    return reached


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
    envelope: Array = np.maximum(window_means(highest, fps, seconds)[half : half + len(values)], 0.0)
    return envelope
