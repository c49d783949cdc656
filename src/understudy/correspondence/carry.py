"""Transfers movement from one body to another of different structure [Hsieh05, sec. 3.3].

The rotation of every bone away from the reference pose is taken in the world, so that joint frames do not matter, and
given to the partner: bone by bone, distributed along chains of different length, or as the mean of several bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import (
    Array,
    angle_between,
    conjugate,
    continuous,
    cross,
    from_axis_angle,
    identity,
    mean,
    multiply,
    rotate,
    slerp,
    split,
    swing_angle,
    unrotate,
)
from understudy.correspondence.alignment import Alignment, PairTree
from understudy.correspondence.chords import follow_chords
from understudy.correspondence.hinge_plane import (
    bend_angles,
    find_bends,
    goal_direction,
    limb_bones,
    split_bends,
    turn_planes,
)
from understudy.correspondence.pairs import Correspondence, Pair, is_chain
from understudy.figure.angles import MAX_SQUARE_COSINE, joint_angle_curves
from understudy.figure.compound_joints import balls_of_hinges, compound_joints
from understudy.figure.contacts import Floor, scaled_places
from understudy.figure.kinematics import fk
from understudy.figure.main_bones import main_rows
from understudy.figure.motion import Motion
from understudy.figure.roles import label, roles, stem
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

MIN_PARALLEL_COSINE = 0.9
"""Cosine above which two axes are parallel."""

MAX_GROUP_AXES = 3
"""Axes over which one rotation can be distributed."""

TWIST_WEIGHT = 0.3
"""Weight of the twist about a bone against the bone's direction, where joints cannot reach both.

With less, a bone at its limits jumps between two ways to point.
"""

MAX_SWEEPS = 200
"""Sweeps of the coordinate descent."""

MAX_SETTLED_RADIANS = 1e-7
"""Change in a sweep below which the angles have converged."""

MIN_FLIP_RADIANS = np.radians(110.0)
"""Distance between wanted and reachable rotation above which the source is taken to flip."""

FLIP_MARGIN_FRAMES = 2
"""Frames on either side of a flip that are replaced with it."""

_KINDS = {1: JointKind.HINGE, 2: JointKind.UNIVERSAL, 3: JointKind.BALL}


def _hinges_of_one_joint(skeleton: Skeleton) -> set[tuple[int, int]]:
    """Pairs of a hinge and the hinge above it that form one joint of the body."""
    result: set[tuple[int, int]] = set()
    hinges = [j for j in range(1, skeleton.num_joints) if skeleton.kinds[j] is JointKind.HINGE]
    for joint in hinges:
        if skeleton.parents[joint] in hinges and len(skeleton.children[skeleton.parents[joint]]) == 1:
            continue
        row = [joint]
        while len(skeleton.children[row[-1]]) == 1 and skeleton.children[row[-1]][0] in hinges:
            row.append(skeleton.children[row[-1]][0])
        for compound in compound_joints(skeleton, row):
            result |= {(below, above) for above, below in pairwise(compound.joints)}
    return result


def hinge_groups(correspondence: Correspondence) -> dict[int, tuple[int, ...]]:
    """Groups of target joints that are solved together, by the first joint of each, from the body outwards.

    Consecutive hinges of one pair, of one joint of the body, or of one part by name (`waist_yaw`, `waist_roll`), form a
    group of three axes at most. Hinges with parallel axes are in different groups: a leg with several knees bends at
    each. Any other hinge is a group by itself. Ball joints are in no group.
    """
    target = correspondence.target
    chains = {
        target.index[bone]: pair if is_chain(target, pair.target) else bone
        for pair in correspondence.pairs
        for bone in pair.target
    }
    compounds = _hinges_of_one_joint(target)
    first: dict[int, int] = {}
    groups: dict[int, tuple[int, ...]] = {}
    for joint in sorted(chains):
        axes, parent = NUM_AXES[target.kinds[joint]], int(target.parents[joint])
        if axes in (0, MAX_GROUP_AXES):
            continue
        group = groups.get(first.get(parent, -1), ())
        part = stem(target.names[joint])
        is_named = bool(label(target.names[joint]))
        related = bool(group) and (
            all(chains[joint] == chains[j] for j in group)
            or (is_named and all(part == stem(target.names[j]) for j in group))
            or (joint, group[-1]) in compounds
        )
        crossing = not any(
            abs(float(a @ b)) > MIN_PARALLEL_COSINE
            for j in group
            for a in _world_axes(target, j)
            for b in _world_axes(target, joint)
        )
        if not (related and crossing) or sum(NUM_AXES[target.kinds[j]] for j in group) + axes > MAX_GROUP_AXES:
            group = ()
        first[joint] = group[0] if group else joint
        groups[first[joint]] = (*group, joint)
    return groups


def _world_axes(skeleton: Skeleton, joint: int) -> Array:
    """(A, 3) world axes of a joint in the rest pose."""
    return rotate(skeleton.rest_world[1][joint], skeleton.axes[joint, : NUM_AXES[skeleton.kinds[joint]]])


def turn_hinges(
    skeleton: Skeleton,
    joints: Sequence[int],
    goals: Array,
    *,
    margin: float = 0.0,
    limited: bool = True,
    bone: Array | None = None,
) -> Array:
    """Local rotations (F, N, 4) of a chain of joints that together come nearest to rotations (F, 4), within limits.

    Args:
        skeleton: The body.
        joints: A chain of hinges and universal joints with three axes at most in total.
        goals: (F, 4) from the last joint's frame to the first joint's parent frame, continuous in time.
        margin: Radians to the limits; a tenth of a range at most.
        limited: Whether the limits apply.
        bone: (3,) direction in the last joint's frame. Where the joints cannot reach a rotation, this direction comes
            near its goal first, and the twist about it follows as far as it can.
    """
    base, axes, limits = _merge_chain(skeleton, joints)
    if not limited:
        limits = np.tile([-np.inf, np.inf], (len(axes), 1))
    margins = np.minimum(margin, 0.1 * (limits[:, 1] - limits[:, 0]))
    limits = limits + margins[:, None] * np.array([1.0, -1.0])
    angles = _solve_unlimited(base, axes, limits, goals)
    if angles is None:
        angles = np.tile(np.clip(0.0, *limits.T), (len(goals), 1))
        _descend_axes(angles, base, axes, limits, goals, bone)
    angles = _remove_full_turns(angles, limits)
    outside = np.any((angles < limits[:, 0]) | (angles > limits[:, 1]), axis=1)
    if bone is not None and len(axes) < MAX_GROUP_AXES:
        outside[:] = True
    if outside.any():
        clipped = np.clip(angles[outside], *limits.T)
        _descend_axes(clipped, base, axes, limits, goals[outside], bone)
        angles[outside] = clipped
    if len(axes) > 1:
        _bridge_flips(angles, base, axes, goals, bone)
    result = np.empty((len(goals), len(joints), 4))
    column = 0
    for number, joint in enumerate(joints):
        rotation = np.broadcast_to(skeleton.rest[joint], (len(goals), 4))
        for axis in range(NUM_AXES[skeleton.kinds[joint]]):
            rotation = multiply(rotation, from_axis_angle(skeleton.axes[joint, axis], angles[:, column]))
            column += 1
        result[:, number] = rotation
    return result


def _merge_chain(skeleton: Skeleton, joints: Sequence[int]) -> tuple[Array, Array, Array]:
    """The rest rotation (4,) of a chain, its axes (N, 3) in the last joint's frame, and its limits (N, 2)."""
    base = identity()
    axes: list[Array] = []
    limits: list[Array] = []
    for joint in reversed(joints):
        count = NUM_AXES[skeleton.kinds[joint]]
        axes = [unrotate(base, skeleton.axes[joint, k]) for k in range(count)] + axes
        limits = [skeleton.limits[joint, k] for k in range(count)] + limits
        base = multiply(skeleton.rest[joint], base)
    return base, np.array(axes), np.array(limits)


def _solve_unlimited(base: Array, axes: Array, limits: Array, goals: Array) -> Array | None:
    """Angles (F, N) without limits, continuous in time, starting near zero; None if the axes are not orthogonal."""
    count = len(axes)
    if (
        count == MAX_GROUP_AXES
        and max(abs(float(axes[1] @ axes[0])), abs(float(axes[1] @ axes[2]))) > MAX_SQUARE_COSINE
    ):
        return None
    rows = np.zeros((1, MAX_GROUP_AXES, 3))
    rows[0, :count] = axes
    chain = Skeleton(
        names=("chain",), parents=np.array([-1]), offsets=np.zeros((1, 3)), rest=base[None], axes=rows,
        kinds=(_KINDS[count],),
    )  # fmt: skip
    start = np.zeros((1, MAX_GROUP_AXES))
    start[0, :count] = np.clip(0.0, *limits.T)
    return joint_angle_curves(chain, goals[:, None], start)[:, 0, :count]


def _descend_axes(
    angles: Array, base: Array, axes: Array, limits: Array, goals: Array, bone: Array | None = None
) -> None:
    """Improve angles (F, N), in place, by coordinate descent towards the goals (F, 4) within the limits.

    The best angle about one axis with the others fixed has a closed form: it maximises the weighted sum of the cosines
    between three directions at right angles and their goals. The three have the same weight, or a bone (3,) has the
    most.
    """
    sides, weights = np.eye(3), np.ones(3)
    if bone is not None:
        sides, weights = np.linalg.svd(bone[None])[2], np.array([1.0, TWIST_WEIGHT, TWIST_WEIGHT])
    wanted = rotate(goals[:, None], sides)
    for _ in range(MAX_SWEEPS):
        before = angles.copy()
        for axis in range(len(axes)):
            inner, outer = np.broadcast_to(base, goals.shape), identity(len(goals))
            for k in range(axis):
                inner = multiply(inner, from_axis_angle(axes[k], angles[:, k]))
            for k in range(axis + 1, len(axes)):
                outer = multiply(outer, from_axis_angle(axes[k], angles[:, k]))
            here, goal = rotate(outer[:, None], sides), unrotate(inner[:, None], wanted)
            level = (here @ axes[axis]) * (goal @ axes[axis])
            sine = np.einsum("fki,fki,k->f", cross(axes[axis], here), goal, weights)
            cosine = (np.einsum("fki,fki->fk", here, goal) - level) @ weights
            best = np.arctan2(sine, cosine)
            now = angles[:, axis]
            angles[:, axis] = np.clip(now + np.remainder(best - now + np.pi, 2.0 * np.pi) - np.pi, *limits[axis])
        if np.abs(angles - before).max() < MAX_SETTLED_RADIANS:
            return


def _bridge_flips(angles: Array, base: Array, axes: Array, goals: Array, bone: Array | None = None) -> None:
    """Replace, in place, angles (F, N) far from the goals (F, 4) by interpolation over time.

    No limb turns half round against the next: where a capture does, the capture flips.
    """
    reached = np.broadcast_to(base, goals.shape)
    for axis, angle in zip(axes, angles.T, strict=True):
        reached = multiply(reached, from_axis_angle(axis, angle))
    if bone is None:
        flipped = angle_between(reached, goals) > MIN_FLIP_RADIANS
    else:
        flipped = swing_angle(multiply(conjugate(reached), goals), bone) > MIN_FLIP_RADIANS
    # Frames next to a flip are often interpolated between its two sides.
    if len(flipped) > 2 * FLIP_MARGIN_FRAMES:
        flipped = np.convolve(flipped, np.ones(2 * FLIP_MARGIN_FRAMES + 1), "same") > 0.0
    trusted = np.flatnonzero(~flipped)
    if 0 < len(trusted) < len(goals):
        frames = np.arange(len(goals))
        for column in angles.T:
            column[:] = np.interp(frames, trusted, column[trusted])


def _remove_full_turns(angles: Array, limits: Array) -> Array:
    """Angles (F, N) without full turns, so that their medians lie nearest to the centres of the limits.

    All frames lose the same turns, so that the curves stay continuous.
    """
    bounded = np.all(np.isfinite(limits), axis=1)
    middle = np.where(bounded[:, None], limits, 0.0).mean(axis=1)
    turns = np.round((np.median(angles, axis=0) - middle) / (2.0 * np.pi))
    return angles - np.where(bounded, 2.0 * np.pi * turns, 0.0)


LIMIT_MARGIN_RADIANS = np.radians(2.0)
"""Margin to the limits at the start, so that the solver can move hinges both ways."""


def transfer_motion(motion: Motion, alignment: Alignment, *, floor: Floor, ratio: float) -> Motion:
    """Transfer a motion to the target of an alignment: the pose by pairs, the path scaled about the floor.

    Args:
        motion: The motion of the source.
        alignment: How the two bodies correspond.
        floor: The ground.
        ratio: How much larger the target's steps are.

    Bones of the target without a partner keep their reference pose.
    """
    source, target = alignment.correspondence.source, alignment.correspondence.target
    if motion.skeleton.names != source.names:
        raise SkeletonError("The motion is not of the character that the map was made for")
    pose = fk(motion)
    tree = PairTree(
        correspondence=alignment.correspondence, source=alignment.source, target=alignment.target, upright=True
    )
    from_bones, to_bones = anchors(alignment.correspondence)
    rotations = _target_rotations(pose.rotations, alignment, tree)
    if not alignment.stance:
        rotations = follow_chords(rotations, pose, alignment, tree, (from_bones, to_bones), motion.fps, ratio)
    groups = split_bends(alignment, tree, hinge_groups(alignment.correspondence), rotations)
    bends = {bend.hinge: bend for bend in find_bends(alignment, tree, groups)}
    rotations = turn_planes(rotations, alignment, list(bends.values()), motion.fps)
    bones = limb_bones(alignment, tree) | {bend.above: bend.along for bend in bends.values()}
    local = np.broadcast_to(alignment.target, (motion.num_frames, target.num_joints, 4)).copy()
    world = local.copy()
    grouped = {joint for group in groups.values() for joint in group}
    balls = {ball[0]: ball for ball in balls_of_hinges(target) if not grouped & set(ball)}
    grouped |= {joint for ball in balls.values() for joint in ball}
    for joint in range(target.num_joints):
        parent = int(target.parents[joint])
        above = identity(1) if parent < 0 else world[:, parent]
        group = groups.get(joint, (joint,))
        if NUM_AXES[target.kinds[joint]] == 0:
            local[:, joint] = target.rest[joint]
        elif joint in bends:
            goal = goal_direction(rotations, alignment, bends[joint])
            angles = bend_angles(bends[joint], target.axes[joint, 0], target.rest[joint], above, goal)
            turns = _remove_full_turns(angles[:, None], target.limits[joint, :1])[:, 0]
            local[:, joint] = multiply(target.rest[joint], from_axis_angle(target.axes[joint, 0], turns))
        elif group[-1] in rotations and (joint in groups or joint not in grouped):
            wanted = multiply(conjugate(above), multiply(rotations[group[-1]], alignment.target_world[group[-1]]))
            if joint in groups:
                # No other joint compensates for a single one; the solver brings it within its limits.
                limited = len(group) > 1
                local[:, list(group)] = turn_hinges(
                    target, group, wanted, margin=LIMIT_MARGIN_RADIANS, limited=limited, bone=bones.get(group[-1])
                )
            else:
                local[:, joint] = wanted
        elif joint in balls:
            kept = reduce(multiply, alignment.target[list(balls[joint])])
            local[:, list(balls[joint])] = turn_hinges(target, balls[joint], kept[None])[0]
        elif joint not in grouped and NUM_AXES[target.kinds[joint]] < 3:
            local[:, joint] = turn_hinges(target, (joint,), alignment.target[None, joint])[0]
        world[:, joint] = multiply(above, local[:, joint])
    result = Motion(
        skeleton=target,
        fps=motion.fps,
        root=np.zeros((motion.num_frames, 3)),
        rotations=continuous(local),
        name=target.name,
    )
    wanted = scaled_places(pose.positions[:, from_bones].mean(1), ratio, floor)
    return replace(result, root=wanted - fk(result).positions[:, to_bones].mean(1))


def anchors(correspondence: Correspondence) -> tuple[list[int], list[int]]:
    """Joints of source and target whose centres follow the same path: the hip joints, else the roots."""
    sides: dict[str, list[int]] = {"source": [], "target": []}
    for side in ("left", "right"):
        joint = roles(correspondence.source).get(f"{side}_upper_leg")
        pair = None if joint is None else correspondence.pair_of("source", correspondence.source.names[joint])
        if pair is not None and roles(correspondence.target).get(f"{side}_upper_leg") == _joint(correspondence, pair):
            sides["source"].append(int(joint or 0))
            sides["target"].append(_joint(correspondence, pair))
    if len(sides["source"]) == 2:
        return sides["source"], sides["target"]
    root = correspondence.root
    assert root is not None
    return [correspondence.source.index[root.source[0]]], [_joint(correspondence, root)]


def _joint(correspondence: Correspondence, pair: Pair) -> int:
    return correspondence.target.index[pair.target[0]]


def _target_rotations(world: Array, alignment: Alignment, tree: PairTree) -> dict[int, Array]:
    """World rotation (F, 4) away from the reference pose for each paired bone of the target."""
    correspondence = alignment.correspondence
    movement = multiply(world, conjugate(alignment.source_world))
    root = movement[:, correspondence.source.index[tree.root.source[-1]]]
    last_rotation: dict[Pair, Array] = {}
    result: dict[int, Array] = {}
    for pair in correspondence.ordered:
        parent = tree.parents[pair]
        start = last_rotation[parent] if parent is not None else root
        steps = [movement[:, row[-1]] for row in main_rows(correspondence.source, pair.source)]
        if not is_chain(correspondence.source, pair.source):
            steps = [mean(np.stack(steps))]
        last_rotation[pair] = steps[-1]
        joints = [correspondence.target.index[bone] for bone in pair.target]
        if is_chain(correspondence.target, pair.target):
            axis = tree.direction(pair, "source") if tree.is_sided(pair) else None
            rows = main_rows(correspondence.target, pair.target)
            rotations = []
            for row, rotation in zip(rows, _distribute(start, steps, len(rows), axis), strict=True):
                # The parts of one bone bend together: only its twist can be distributed among them.
                rotations += [rotation] * len(row) if axis is None else _distribute(start, [rotation], len(row), axis)
                start = rotation
        else:
            rotations = [steps[-1]] * len(joints)
        for joint, rotation in zip(joints, rotations, strict=True):
            frame = alignment.frames[joint]
            relative = multiply(conjugate(root), rotation)
            result[joint] = multiply(root, multiply(frame, multiply(relative, conjugate(frame))))
    return result


def _distribute(start: Array, steps: list[Array], count: int, axis: Array | None) -> list[Array]:
    """Distribute the rotations (F, 4) of one chain over a chain of `count` bones, outermost last.

    Middle bones bend together, so the whole rotation from the start to the first bone is distributed. A limb bends at
    its joint, so only its twist about the axis (3,) of the reference pose is distributed.
    """
    if len(steps) == count:
        return steps
    if axis is not None:
        relative = multiply(conjugate(start), steps[0])
        start = multiply(start, split(relative, axis)[0])
    knots = [start, *steps]
    rotations = []
    for position in np.arange(1, count + 1) * len(steps) / count:
        before = min(int(np.ceil(position - 1e-9)) - 1, len(steps) - 1)
        rotations.append(slerp(knots[before], knots[before + 1], position - before))
    return rotations
