"""Hinges of a target: the angles that turn a chain of them as a bone turns, and the plane in which a limb bends.

Hinges in a row that belong to one joint of the body are solved together.

An elbow that is a hinge bends in a plane that the upper arm carries. The source's forearm leaves that plane if its
elbow is a ball, or if the two upper arms are twisted differently. A shoulder that turns freely brings the plane to the
forearm: a twist of the upper arm moves neither elbow nor hand, and with it both bones point exactly as the source's.
The plane of a straight arm is undefined. There the twist is taken from the frames around.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from understudy.base.quaternion import (
    Array,
    angle_between,
    conjugate,
    cross,
    from_axis_angle,
    identity,
    multiply,
    rotate,
    swing_angle,
    unrotate,
)
from understudy.base.records import gaussian_smoothed, record
from understudy.correspondence.alignment import Alignment, PairTree
from understudy.correspondence.pairs import Correspondence, Pair, is_chain
from understudy.figure.kinematics import MAX_SQUARE_COSINE, joint_angle_curves, pointing_angles
from understudy.figure.roles import balls_of_hinges, compound_joints, label, roles, stem
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
        is_one_pair = bool(group) and all(chains[joint] == chains[j] for j in group)
        related = is_one_pair or (
            bool(group)
            and ((is_named and all(part == stem(target.names[j]) for j in group)) or (joint, group[-1]) in compounds)
        )
        # In one pair only axes next to each other must differ, which they do in every pose: in many shoulders the first
        # and the third are parallel at zero angles, and the one between takes them apart.
        crossing = not any(
            abs(float(a @ b)) > MIN_PARALLEL_COSINE
            for j in (group[-1:] if is_one_pair else group)
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
    angles = remove_full_turns(angles, limits)
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


def remove_full_turns(angles: Array, limits: Array) -> Array:
    """Angles (F, N) without full turns, so that their medians lie nearest to the centres of the limits.

    All frames lose the same turns, so that the curves stay continuous.
    """
    bounded = np.all(np.isfinite(limits), axis=1)
    middle = np.where(bounded[:, None], limits, 0.0).mean(axis=1)
    turns = np.round((np.median(angles, axis=0) - middle) / (2.0 * np.pi))
    return angles - np.where(bounded, 2.0 * np.pi * turns, 0.0)


MAX_TWIST_AXIS_COSINE = 0.7
"""Cosine between a hinge's axis and the bone above it, above which the hinge does not bend the limb."""

CLEAR_BEND_SINE = np.sin(np.radians(12.0))
"""Sine of the bend from which its plane is certain."""

MAX_FOLLOWED_RADIANS = np.radians(150.0)
"""Angle between a plane and that of the frames around from which the joint is bent backwards, not the limb twisted."""

PLANE_SECONDS = 0.3
"""Standard deviation of the Gaussian low-pass filter that gives the plane of a straight limb from frames around it."""

USUAL_PLANE_WEIGHT = 0.05
"""Weight of the mean plane of the whole motion beside that of the frames around."""


REFERENCE_PLANE_SINE = np.sin(np.radians(0.3))
"""Sine of a bend whose plane counts as much as that of the reference pose in a limb that is straight throughout."""


@record
class Bend:
    """A hinge of the target and the bone above it that turns the hinge's plane if it is free to."""

    upper: Pair
    """The pair of the bone above the hinge."""
    above: int
    """The last joint that turns the bone above the hinge."""
    free: bool
    """Whether that bone turns about three axes."""
    hinge: int
    """The hinge."""
    along: Array
    """(3,) direction of the upper bone in the frame of the joint `above`."""
    axis: Array
    """(3,) axis of the hinge in that frame."""
    bone: Array
    """(3,) direction of the lower bone in that frame at angle zero."""
    tip: Array
    """(3,) direction of the lower bone in the frame of the hinge."""


def find_bends(alignment: Alignment, tree: PairTree, groups: dict[int, tuple[int, ...]]) -> list[Bend]:
    """The hinges in the middle of limbs.

    Args:
        alignment: How two bodies correspond.
        tree: The pairs of its correspondence.
        groups: Groups of target joints that are solved together.
    """
    target = alignment.correspondence.target
    free = {group[-1] for group in groups.values() if _count_axes(target, group) == 3}
    bends = []
    for upper, pair in _limb_pairs(alignment, tree):
        joints = [target.index[bone] for bone in pair.target]
        # Hinges of the lower pair that only twist the bone above it are in the group of that bone.
        hinge = next((joint for joint in joints if joint in groups), None)
        if hinge is None or groups[hinge] != (hinge,) or target.kinds[hinge] is not JointKind.HINGE:
            continue
        above = joints[joints.index(hinge) - 1] if hinge != joints[0] else _last_above(target, upper, hinge)
        along, tip = tree.direction(upper, "target"), tree.direction(pair, "target")
        if along is None or tip is None:
            continue
        base = target.rest[hinge]
        for joint in reversed(target.chain(hinge)[target.chain(hinge).index(above) + 1 : -1]):
            base = multiply(alignment.target[joint], base)
        bend = Bend(
            upper=upper,
            above=above,
            free=above in free or target.kinds[above] is JointKind.BALL,
            hinge=hinge,
            along=unrotate(_frame_above(alignment, upper, above), along),
            axis=rotate(base, target.axes[hinge, 0]),
            tip=unrotate(alignment.target_world[hinge], tip),
            bone=rotate(base, unrotate(alignment.target_world[hinge], tip)),
        )
        if abs(float(bend.along @ bend.axis)) < MAX_TWIST_AXIS_COSINE:
            bends.append(bend)
    return bends


def _limb_pairs(alignment: Alignment, tree: PairTree) -> list[tuple[Pair, Pair]]:
    """The pairs of upper and lower bones of limbs: arms, legs and their like, but not feet with toes."""
    target = alignment.correspondence.target
    joint_roles = roles(target)
    sides = ("left", "right")
    lower = {joint_roles.get(f"{side}_lower_{limb}") for side in sides for limb in ("arm", "leg")}
    result = []
    for pair in alignment.correspondence.ordered:
        upper = tree.parents[pair]
        if upper is None or upper is tree.root or tree.children[upper] != [pair]:
            continue
        if upper.is_posed or pair.is_posed:
            # The user's map says how the limb is turned.
            continue
        chains = is_chain(target, upper.target) and is_chain(target, pair.target)
        # Feet and hands are not twisted for their toes and fingers: those are bones with none below.
        if chains and (tree.children[pair] or not lower.isdisjoint(target.index[bone] for bone in pair.target)):
            result.append((upper, pair))
    return result


def limb_bones(alignment: Alignment, tree: PairTree) -> dict[int, Array]:
    """(3,) directions of the bones of limbs, in the frames of the joints that turn them."""
    target = alignment.correspondence.target
    result: dict[int, Array] = {}
    for pair in {pair: None for both in _limb_pairs(alignment, tree) for pair in both}:
        direction = tree.direction(pair, "target")
        if direction is not None:
            joint = target.index[pair.target[-1]]
            result[joint] = unrotate(alignment.target_world[joint], direction)
    return result


def split_bends(
    alignment: Alignment, tree: PairTree, groups: dict[int, tuple[int, ...]], rotations: dict[int, Array]
) -> dict[int, tuple[int, ...]]:
    """Groups of hinges, regrouped so that each middle joint of a limb is a single hinge.

    A hinge of the lower bone that twists the upper bone joins the group of the upper bone: the three form one ball. A
    hinge that twists the lower bone turns after the bend and is a group by itself. Joints that change groups get the
    rotation of their new group.

    Args:
        alignment: How two bodies correspond.
        tree: The pairs of its correspondence.
        groups: Groups of target joints that are solved together, by the first joint of each.
        rotations: (F, 4) world rotations of the paired joints; changed in place.
    """
    target = alignment.correspondence.target
    result = dict(groups)
    balls = {joint for ball in balls_of_hinges(target) for joint in ball}
    for upper, pair in _limb_pairs(alignment, tree):
        if target.index[pair.target[0]] in balls:
            # Three hinges at one point turn the bone in any way: no other joint has to help.
            continue
        first, top = target.index[pair.target[0]], _last_above(target, upper, target.index[pair.target[0]])
        along, tip = tree.direction(upper, "target"), tree.direction(pair, "target")
        shared = next((group for group in result.values() if first in group), None)
        if shared is None or along is None or tip is None:
            continue
        before = shared.index(first)
        if before:
            result[shared[0]], result[first] = shared[:before], shared[before:]
        head = next((group for group in result.values() if group[-1] == top), ())
        if len(pair.target) > 1 and _is_twist(alignment, first, along) and 0 < _count_axes(target, head) < 3:
            group = result.pop(first)
            result[head[0]] = (*head, first)
            frame = multiply(_frame_above(alignment, upper, first), conjugate(alignment.target_world[first]))
            rotations[first] = multiply(rotations[top], frame)
            result |= {group[1]: group[1:]} if len(group) > 1 else {}
        bend = next((target.index[bone] for bone in pair.target if target.index[bone] in result), None)
        group = result.get(-1 if bend is None else bend, ())
        if len(group) > 1 and all(_is_twist(alignment, joint, tip) for joint in group[1:]):
            result[group[0]], result[group[1]] = group[:1], group[1:]
    return dict(sorted(result.items()))


def _frame_above(alignment: Alignment, upper: Pair, joint: int) -> Array:
    """(4,) world rotation of a joint that moves with the upper bone, in the reference pose.

    A twist hinge of the lower pair was pointed with the lower bone. Here it is at angle zero below the upper bone.
    """
    target = alignment.correspondence.target
    if target.names[joint] in upper.target:
        return alignment.target_world[joint]
    return multiply(alignment.target_world[target.parents[joint]], target.rest[joint])


def _last_above(target: Skeleton, upper: Pair, joint: int) -> int:
    """The last joint of a pair that a joint hangs from: a twist bone beside the limb is none."""
    chain = target.chain(joint)
    return max(target.index[bone] for bone in upper.target if target.index[bone] in chain)


def _count_axes(target: Skeleton, joints: Sequence[int]) -> int:
    return sum(NUM_AXES[target.kinds[joint]] for joint in joints)


def _is_twist(alignment: Alignment, joint: int, along: Array) -> bool:
    """Whether a hinge turns about a direction (3,) of the reference pose."""
    target = alignment.correspondence.target
    axis = rotate(alignment.target_world[joint], target.axes[joint, 0])
    return NUM_AXES[target.kinds[joint]] == 1 and abs(float(axis @ along)) > MAX_TWIST_AXIS_COSINE


def turn_planes(rotations: dict[int, Array], alignment: Alignment, bends: list[Bend], fps: float) -> dict[int, Array]:
    """World rotations away from the reference pose with which hinges bend in the planes of their goals.

    Args:
        rotations: (F, 4) for each paired joint of the target.
        alignment: How two bodies correspond.
        bends: The hinges of the target.
        fps: Frames a second.
    """
    target = alignment.correspondence.target
    result = dict(rotations)
    for bend in bends:
        if not bend.free:
            continue
        world = multiply(result[bend.above], alignment.target_world[bend.above])
        goal = unrotate(world, goal_direction(result, alignment, bend))
        twist = _plane_twist(bend, goal, target.limits[bend.hinge, 0], fps)
        turned = multiply(world, from_axis_angle(bend.along, twist))
        turn = multiply(turned, conjugate(world))
        for joint in {*(target.index[bone] for bone in bend.upper.target), bend.above}:
            result[joint] = multiply(turn, result[joint])
    return result


def goal_direction(rotations: dict[int, Array], alignment: Alignment, bend: Bend) -> Array:
    """(F, 3) the direction that the bone below a hinge should have, in the world."""
    return rotate(multiply(rotations[bend.hinge], alignment.target_world[bend.hinge]), bend.tip)


def bend_angles(bend: Bend, axis: Array, rest: Array, above: Array, goal: Array) -> Array:
    """(F,) radians by which a hinge brings the bone below it nearest to a direction, continuous in time.

    Args:
        bend: The hinge.
        axis: (3,) its axis.
        rest: (4,) its rest rotation.
        above: (F, 4) rotations of its parent in the world.
        goal: (F, 3) directions in the world.
    """
    wanted = unrotate(multiply(above, rest), goal)
    across = cross(axis, bend.tip)
    angles = np.arctan2(wanted @ across, wanted @ bend.tip - (bend.tip @ axis) * (wanted @ axis))
    result: Array = np.unwrap(angles)
    return result


def _plane_twist(bend: Bend, goal: Array, limits: Array, fps: float) -> Array:
    """(F,) radians by which to twist the upper bone, for goals (F, 3) of the lower bone in the upper bone's frame."""
    both = pointing_angles(bend.along, bend.axis, bend.bone, goal)
    straight = float(np.arctan2(*_swing(bend)[::-1]))
    across = np.linalg.norm(goal - (goal @ bend.along)[:, None] * bend.along, axis=1)
    planes = across[:, None] * np.exp(1j * both[..., 0])
    middle = float(limits.mean()) if np.isfinite(limits).all() else straight
    off_straight = np.remainder(middle - straight + np.pi, 2.0 * np.pi) - np.pi
    if abs(off_straight) < np.radians(5.0):
        branch = int(np.argmax(planes.mean(0).real))
    else:
        branch = 0 if off_straight > 0.0 else 1
    plane = planes[:, branch]
    # A joint bent backwards is in the same plane: doubled angles do not tell the two apart.
    doubled = plane**2 / np.maximum(across, 1e-12)
    unclear = 1.0 - float(smooth_step(across.mean() / CLEAR_BEND_SINE))
    around = USUAL_PLANE_WEIGHT * doubled.mean() + unclear * REFERENCE_PLANE_SINE + 1e-9
    around = around + gaussian_smoothed(doubled.real, PLANE_SECONDS * fps)
    around = around + 1j * gaussian_smoothed(doubled.imag, PLANE_SECONDS * fps)
    usual = 0.5 * np.unwrap(np.angle(around))
    if np.mean(plane * np.exp(-1j * usual)).real < -CLEAR_BEND_SINE:
        usual += np.pi
    usual -= 2.0 * np.pi * np.round(usual.mean() / (2.0 * np.pi))
    off = np.angle(plane * np.exp(-1j * usual))
    follows = (MAX_FOLLOWED_RADIANS - np.abs(off)) / (MAX_FOLLOWED_RADIANS - 0.5 * np.pi)
    twist: Array = usual + smooth_step(across / CLEAR_BEND_SINE) * smooth_step(follows) * off
    return twist


def smooth_step(value: Array) -> Array:
    """0 for values up to 0, 1 for values from 1 on, without a kink between."""
    share = np.clip(value, 0.0, 1.0)
    return share**2 * (3.0 - 2.0 * share)


def _swing(bend: Bend) -> tuple[float, float]:
    """The cosine and sine parts of the lower bone's share along the upper bone, as the hinge turns."""
    flat = bend.bone - (bend.bone @ bend.axis) * bend.axis
    return float(bend.along @ flat), float(bend.along @ np.cross(bend.axis, bend.bone))
