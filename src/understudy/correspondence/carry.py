"""Movement carried from one body to another of different structure [Hsieh05, sec. 3.3].

Every bone's turn away from the reference pose is taken in the world, so that joint frames do not matter, and given to
the partner: bone by bone, shared out along chains of different length, or as the mean of several bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import (
    Array,
    angle_between,
    conjugate,
    continuous,
    from_axis_angle,
    identity,
    mean,
    multiply,
    rotate,
    slerp,
    split,
    unrotate,
)
from understudy.correspondence.alignment import Alignment, PairTree
from understudy.correspondence.pairs import Correspondence, Pair, is_chain
from understudy.figure.angles import SQUARE, joint_angle_curves
from understudy.figure.floor import Floor, scaled_places
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, stem
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

PARALLEL = 0.9
"""Cosine from which on two axes count as one line."""

MOST = 3
"""Axes that one rotation can be shared out over."""

SWEEPS = 200

SETTLED = 1e-7
"""Radians of change in a sweep below which angles are found."""

FLIPPED = np.radians(110.0)
"""How far from what is wanted the nearest that several hinges can do may be before the wish itself is doubted."""

BESIDE = 2
"""Frames on either side of a flip that are doubted with it."""

_KINDS = {1: JointKind.HINGE, 2: JointKind.UNIVERSAL, 3: JointKind.BALL}


def hinge_groups(correspondence: Correspondence) -> dict[int, tuple[int, ...]]:
    """The target's joints that turn together, by the first of each group, from the body outwards.

    Hinges that follow each other and are one pair's, or one part's by their names (`waist_yaw`, `waist_roll`), make a
    group, of three axes at most; any other is a group by itself, and so is one that turns about the same line as
    another: a leg of several knees bends at each. Joints that turn any way are in none.
    """
    target = correspondence.target
    chains = {
        target.index[bone]: pair if is_chain(target, pair.target) else bone
        for pair in correspondence.pairs
        for bone in pair.target
    }
    first: dict[int, int] = {}
    found: dict[int, tuple[int, ...]] = {}
    for joint in sorted(chains):
        axes, parent = NUM_AXES[target.kinds[joint]], int(target.parents[joint])
        if axes in (0, MOST):
            continue
        group = found.get(first.get(parent, -1), ())
        part = stem(target.names[joint])
        same = bool(group) and (
            all(chains[joint] == chains[j] for j in group) or all(part == stem(target.names[j]) for j in group)
        )
        crossing = not any(
            abs(float(a @ b)) > PARALLEL for j in group for a in _axes(target, j) for b in _axes(target, joint)
        )
        if not (same and crossing) or sum(NUM_AXES[target.kinds[j]] for j in group) + axes > MOST:
            group = ()
        first[joint] = group[0] if group else joint
        found[first[joint]] = (*group, joint)
    return found


def _axes(skeleton: Skeleton, joint: int) -> Array:
    """(A, 3) the axes of a joint in the world, in the rest pose."""
    return rotate(skeleton.rest_world[1][joint], skeleton.axes[joint, : NUM_AXES[skeleton.kinds[joint]]])


def turn_hinges(
    skeleton: Skeleton, joints: Sequence[int], wanted: Array, *, inside: float = 0.0, limited: bool = True
) -> Array:
    """Local rotations (F, N, 4) of joints in a row that together come nearest to rotations (F, 4), inside their limits.

    Args:
        skeleton: The body.
        joints: Hinges and universals, each hanging from the one before, with three axes at most in all.
        wanted: (F, 4) from the last one's frame to that which the first hangs from, continuous in time.
        inside: Radians by which to stay clear of the limits, so that there is room to either side; a tenth of a
            range at most.
        limited: Whether limits are kept.
    """
    base, axes, limits = _merged(skeleton, joints)
    if not limited:
        limits = np.tile([-np.inf, np.inf], (len(axes), 1))
    room = np.minimum(inside, 0.1 * (limits[:, 1] - limits[:, 0]))
    limits = limits + room[:, None] * np.array([1.0, -1.0])
    angles = _unlimited(base, axes, limits, wanted)
    if angles is None:
        angles = np.tile(np.clip(0.0, *limits.T), (len(wanted), 1))
        _improve(angles, base, axes, limits, wanted)
    angles = _turned_back(angles, limits)
    outside = np.any((angles < limits[:, 0]) | (angles > limits[:, 1]), axis=1)
    if outside.any():
        part = np.clip(angles[outside], *limits.T)
        _improve(part, base, axes, limits, wanted[outside])
        angles[outside] = part
    if len(axes) > 1:
        _bridge(angles, base, axes, wanted)
    out = np.empty((len(wanted), len(joints), 4))
    column = 0
    for place, joint in enumerate(joints):
        turned = np.broadcast_to(skeleton.rest[joint], (len(wanted), 4))
        for axis in range(NUM_AXES[skeleton.kinds[joint]]):
            turned = multiply(turned, from_axis_angle(skeleton.axes[joint, axis], angles[:, column]))
            column += 1
        out[:, place] = turned
    return out


def _merged(skeleton: Skeleton, joints: Sequence[int]) -> tuple[Array, Array, Array]:
    """The rest rotation (4,) of a chain, and its axes (N, 3), all in the last frame, and limits (N, 2)."""
    base = identity()
    axes: list[Array] = []
    limits: list[Array] = []
    for joint in reversed(joints):
        count = NUM_AXES[skeleton.kinds[joint]]
        axes = [unrotate(base, skeleton.axes[joint, k]) for k in range(count)] + axes
        limits = [skeleton.limits[joint, k] for k in range(count)] + limits
        base = multiply(skeleton.rest[joint], base)
    return base, np.array(axes), np.array(limits)


def _unlimited(base: Array, axes: Array, limits: Array, wanted: Array) -> Array | None:
    """Angles (F, N) without limits, continuous in time and begun near zero; None where axes are not square."""
    count = len(axes)
    if count == MOST and max(abs(float(axes[1] @ axes[0])), abs(float(axes[1] @ axes[2]))) > SQUARE:
        return None
    rows = np.zeros((1, MOST, 3))
    rows[0, :count] = axes
    chain = Skeleton(
        names=("chain",), parents=np.array([-1]), offsets=np.zeros((1, 3)), rest=base[None], axes=rows,
        kinds=(_KINDS[count],),
    )  # fmt: skip
    near = np.zeros((1, MOST))
    near[0, :count] = np.clip(0.0, *limits.T)
    return joint_angle_curves(chain, wanted[:, None], near)[:, 0, :count]


def _improve(angles: Array, base: Array, axes: Array, limits: Array, wanted: Array) -> None:
    """Bring angles (F, N), in place, to where they come nearest to rotations inside their limits.

    One axis after another is turned to its best angle, which is known exactly with the others held.
    """
    for _ in range(SWEEPS):
        before = angles.copy()
        for axis in range(len(axes)):
            inner, outer = np.broadcast_to(base, wanted.shape), identity(len(wanted))
            for k in range(axis):
                inner = multiply(inner, from_axis_angle(axes[k], angles[:, k]))
            for k in range(axis + 1, len(axes)):
                outer = multiply(outer, from_axis_angle(axes[k], angles[:, k]))
            left = multiply(conjugate(inner), multiply(wanted, conjugate(outer)))
            best = 2.0 * np.arctan2(left[:, 1:] @ axes[axis], left[:, 0])
            now = angles[:, axis]
            angles[:, axis] = np.clip(now + np.remainder(best - now + np.pi, 2.0 * np.pi) - np.pi, *limits[axis])
        if np.abs(angles - before).max() < SETTLED:
            return


def _bridge(angles: Array, base: Array, axes: Array, wanted: Array) -> None:
    """Replace, in place, angles (F, N) that come nowhere near what is wanted by what leads from before to after.

    No limb is turned half round against the next: where a capture says so, it is the capture that flips.
    """
    found = np.broadcast_to(base, wanted.shape)
    for axis, angle in zip(axes, angles.T, strict=True):
        found = multiply(found, from_axis_angle(axis, angle))
    far = angle_between(found, wanted) > FLIPPED
    # What is next to a flip was often read off between its two sides.
    far = np.convolve(far, np.ones(2 * BESIDE + 1), "same") > 0.0 if len(far) > 2 * BESIDE else far
    near = np.flatnonzero(~far)
    if 0 < len(near) < len(wanted):
        frames = np.arange(len(wanted))
        for column in angles.T:
            column[:] = np.interp(frames, near, column[near])


def _turned_back(angles: Array, limits: Array) -> Array:
    """Angles (F, N) less full turns, the same for all frames, so that they mostly lie nearest to their limits' middles.

    Frame by frame would tear curves apart that leave a wide range on one side.
    """
    bounded = np.all(np.isfinite(limits), axis=1)
    middle = np.where(bounded[:, None], limits, 0.0).mean(axis=1)
    turns = np.round((np.median(angles, axis=0) - middle) / (2.0 * np.pi))
    return angles - np.where(bounded, 2.0 * np.pi * turns, 0.0)


ROOM = np.radians(2.0)
"""How far inside their limits hinges start, so that the solver can turn them to either side."""


def carry(motion: Motion, alignment: Alignment, *, floor: Floor, ratio: float) -> Motion:
    """A motion on the target of an alignment: its pose from the source's, its path scaled about the floor.

    Args:
        motion: What the source does.
        alignment: How the two bodies correspond.
        floor: The ground.
        ratio: How much larger the target's steps are.

    Bones of the target without a partner stay as they are in its reference pose.
    """
    source, target = alignment.correspondence.source, alignment.correspondence.target
    if motion.skeleton.names != source.names:
        raise SkeletonError("The motion is not of the character that the map was made for")
    pose = fk(motion)
    turns = _turns(pose.rotations, alignment)
    local = np.broadcast_to(alignment.target, (motion.num_frames, target.num_joints, 4)).copy()
    world = local.copy()
    groups = hinge_groups(alignment.correspondence)
    grouped = {joint for group in groups.values() for joint in group}
    for joint in range(target.num_joints):
        parent = int(target.parents[joint])
        above = identity(1) if parent < 0 else world[:, parent]
        group = groups.get(joint, (joint,))
        if NUM_AXES[target.kinds[joint]] == 0:
            local[:, joint] = target.rest[joint]
        elif group[-1] in turns and (joint in groups or joint not in grouped):
            wanted = multiply(conjugate(above), multiply(turns[group[-1]], alignment.target_world[group[-1]]))
            if joint in groups:
                # What a joint by itself lacks no other makes up for: bringing it inside its limits is the solver's.
                limited = len(group) > 1
                local[:, list(group)] = turn_hinges(target, group, wanted, inside=ROOM, limited=limited)
            else:
                local[:, joint] = wanted
        elif joint not in grouped and NUM_AXES[target.kinds[joint]] < 3:
            local[:, joint] = turn_hinges(target, (joint,), alignment.target[None, joint])[0]
        world[:, joint] = multiply(above, local[:, joint])
    made = Motion(
        skeleton=target,
        fps=motion.fps,
        root=np.zeros((motion.num_frames, 3)),
        rotations=continuous(local),
        name=target.name,
    )
    from_bones, to_bones = anchors(alignment.correspondence)
    wanted = scaled_places(pose.positions[:, from_bones].mean(1), ratio, floor)
    return replace(made, root=wanted - fk(made).positions[:, to_bones].mean(1))


def anchors(correspondence: Correspondence) -> tuple[list[int], list[int]]:
    """Joints of the source and of the target whose middles go the same way: the hip joints, else the roots."""
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


def _turns(world: Array, alignment: Alignment) -> dict[int, Array]:
    """For each bone of the target that has a partner, how it is turned (F, 4) in the world from its reference."""
    whole = alignment.correspondence
    layout = PairTree(correspondence=whole, source=alignment.source, target=alignment.target, upright=True)
    moved = multiply(world, conjugate(alignment.source_world))
    root = moved[:, whole.source.index[layout.root.source[-1]]]
    last: dict[Pair, Array] = {}
    found: dict[int, Array] = {}
    for pair in whole.ordered:
        above = layout.parents[pair]
        start = last[above] if above is not None else root
        steps = [moved[:, whole.source.index[bone]] for bone in pair.source]
        if not is_chain(whole.source, pair.source):
            steps = [mean(np.stack(steps))]
        last[pair] = steps[-1]
        joints = [whole.target.index[bone] for bone in pair.target]
        if is_chain(whole.target, pair.target):
            axis = layout.chord(pair, "source")
            turned = _shared(start, steps, len(joints), axis if layout.sided(pair) else None)
        else:
            turned = [steps[-1]] * len(joints)
        for joint, turn in zip(joints, turned, strict=True):
            frame = alignment.frames[joint]
            relative = multiply(conjugate(root), turn)
            found[joint] = multiply(root, multiply(frame, multiply(relative, conjugate(frame))))
    return found


def _shared(start: Array, steps: list[Array], count: int, axis: Array | None) -> list[Array]:
    """Turns (F, 4) of a chain of some bones, given what they hang from and those of another chain, outermost last.

    Bones of the middle bend together, so the way from the start to the first is shared out; a limb bends at its joint
    and only twists along its length, about an axis (3,) of the reference pose, so there only the twist is.
    """
    if len(steps) == count:
        return steps
    if axis is not None:
        relative = multiply(conjugate(start), steps[0])
        start = multiply(start, split(relative, axis)[0])
    knots = [start, *steps]
    turned = []
    for at in np.arange(1, count + 1) * len(steps) / count:
        before = min(int(np.ceil(at - 1e-9)) - 1, len(steps) - 1)
        turned.append(slerp(knots[before], knots[before + 1], at - before))
    return turned
