"""Transfers movement from one body to another of different structure [Hsieh05, sec. 3.3].

The rotation of every bone away from the reference pose is taken in the world, so that joint frames do not matter, and
given to the partner: bone by bone, distributed along chains of different length, or as the mean of several bones.

**Chords** keep the paths of head and shoulders as smooth as the source's. The rotations of a captured trunk jitter from
bone to bone, and compensate: the neck moves smoothly although the bones below it do not. On a body whose bones have
other proportions they no longer compensate, and its head and hands shake. A chord leads from one end of a run of bones
to the other. Each run of the target is rotated as a whole so that its chord makes the fast movements of the source's
chord. The slow ones, the posture, stay those of the bones.

**Roots on the floor**: rigs of games carry the pelvis by a joint between the feet. Such a joint is no part of the body.
If it took part in the solve, it would swing the pelvis on a lever as long as the legs. So it only shifts with the body
during the solve. Afterwards it is put back on the floor: below the body with the body's heading, or where it is at
rest. The pelvis gets its own position, frame by frame, so that nothing else changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import (
    Array,
    between,
    conjugate,
    continuous,
    cross,
    from_axis_angle,
    identity,
    mean,
    multiply,
    normalize,
    rotate,
    slerp,
    split,
    twist_angle,
    unrotate,
)
from understudy.base.records import gaussian_smoothed, record
from understudy.correspondence.alignment import MIN_BONE_METRES, Alignment, PairTree, pose_skeleton
from understudy.correspondence.hinge import (
    bend_angles,
    find_bends,
    goal_direction,
    hinge_groups,
    limb_bones,
    remove_full_turns,
    smooth_step,
    split_bends,
    turn_hinges,
    turn_planes,
)
from understudy.correspondence.pairs import Correspondence, Pair, is_chain
from understudy.correspondence.step_width import (
    Legs,
    has_human_legs,
    human_legs,
    leg_ends,
    leg_joints,
    leg_swings,
    mean_leg_length,
)
from understudy.figure.contacts import Floor, scaled_places
from understudy.figure.kinematics import Pose, fk, paths_of, pose_of
from understudy.figure.main_bones import main_bones, main_rows
from understudy.figure.measures import UP, bone_start, chain_length
from understudy.figure.motion import Motion
from understudy.figure.roles import balls_of_hinges, roles
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

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
        rotations = fit_hip_line(rotations, pose, alignment, (from_bones, to_bones), motion.fps, ratio)
        rotations = put_feet_below_hips(rotations, pose, alignment, (from_bones, to_bones))
        rotations = fit_step_width(rotations, motion, alignment, (from_bones, to_bones))
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
            turns = remove_full_turns(angles[:, None], target.limits[joint, :1])[:, 0]
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
                # A length that differs from one by rounding would double its error at every joint of a long chain.
                local[:, joint] = normalize(wanted)
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
    return replace(result, root=wanted - paths_of(result, to_bones).mean(1))


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
                own = None if axis is None else _axis_of_parts(alignment, tree, row, axis)
                rotations += [rotation] * len(row) if own is None else _distribute(start, [rotation], len(row), own)
                start = rotation
        else:
            rotations = [steps[-1]] * len(joints)
        for joint, rotation in zip(joints, rotations, strict=True):
            frame = alignment.frames[joint]
            relative = multiply(conjugate(root), rotation)
            result[joint] = multiply(root, multiply(frame, multiply(relative, conjugate(frame))))
    return result


def _axis_of_parts(alignment: Alignment, tree: PairTree, row: Sequence[int], axis: Array) -> Array:
    """(3,) the direction of the target's bone that some joints are parts of, seen from its partner's limb.

    Args:
        alignment: How the two bodies correspond.
        tree: Its pairs.
        row: The joints.
        axis: (3,) the direction of the partner, for joints at one place.
    """
    first, last = tree.poses["target"].positions[0, [row[0], row[-1]]]
    length = float(np.linalg.norm(last - first))
    return axis if length < MIN_BONE_METRES else unrotate(alignment.frames[row[0]], (last - first) / length)


def _distribute(start: Array, steps: list[Array], count: int, axis: Array | None) -> list[Array]:
    """Distribute the rotations (F, 4) of one chain over a chain of `count` bones, outermost last.

    Middle bones bend together, so the whole rotation from the start to the first bone is distributed. A limb bends at
    its joint, so only its twist about the axis (3,) of the reference pose is distributed.
    """
    if len(steps) == count:
        return steps
    twist: Array | None = None
    if axis is not None:
        relative = multiply(conjugate(start), steps[0])
        start, twist = multiply(start, split(relative, axis)[0]), np.unwrap(twist_angle(relative, axis))
        twist = twist - 2.0 * np.pi * np.round(np.median(twist) / (2.0 * np.pi))
    knots = [start, *steps]
    rotations = []
    for position in np.arange(1, count + 1) * len(steps) / count:
        before = min(int(np.ceil(position - 1e-9)) - 1, len(steps) - 1)
        if before == 0 and axis is not None and twist is not None:
            # A part of a twist near half a turn must not change sides with it.
            rotations.append(multiply(start, from_axis_angle(axis, position * twist)))
        else:
            rotations.append(slerp(knots[before], knots[before + 1], position - before))
    return rotations


POSTURE_SECONDS = 0.06
"""Standard deviation of the Gaussian low-pass filter that separates posture from fast movement."""


@record
class Chord:
    """A line from one place of the body to another, on source and target, and the pairs that turn it."""

    pairs: tuple[Pair, ...]
    """The pairs that are rotated, from the body outwards."""
    start: tuple[Sequence[int], Sequence[int]]
    """Joints of the source and of the target whose centre is the start."""
    end: tuple[Sequence[int], Sequence[int]]
    """Joints of the source and of the target whose centre is the end."""


def find_chords(tree: PairTree, anchors: tuple[Sequence[int], Sequence[int]]) -> list[Chord]:
    """The chords of the trunk, the neck and the collars, from the body outwards.

    Args:
        tree: The pairs of two bodies.
        anchors: Joints of source and target whose centres follow the same path.
    """
    correspondence = tree.correspondence
    trunk = tree.trunk
    if not trunk:
        return []
    top = _starts(tree, tree.children[trunk[-1]])
    chords = [Chord(pairs=tuple(trunk), start=anchors, end=top)]
    upper_arms = {roles(correspondence.target).get(f"{side}_upper_arm") for side in ("left", "right")}
    for run in tree.limbs[1:]:
        if tree.parents[run[0]] is not trunk[-1]:
            continue
        arm = next((n for n, p in enumerate(run) if correspondence.target.index[p.target[0]] in upper_arms), None)
        # A neck ends at the head, a collar at the upper arm. What follows is a limb, whose bones point as the source's.
        count = arm if tree.is_sided(run[0]) else len(run) - 1
        if count:
            chords.append(Chord(pairs=tuple(run[:count]), start=top, end=_starts(tree, [run[count]])))
    return chords


def _starts(tree: PairTree, pairs: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """Joints of the source and of the target with which pairs begin."""
    source, target = tree.correspondence.source.index, tree.correspondence.target.index
    return [source[p.source[0]] for p in pairs], [target[p.target[0]] for p in pairs]


def follow_chords(
    rotations: dict[int, Array],
    pose: Pose,
    alignment: Alignment,
    tree: PairTree,
    anchors: tuple[Sequence[int], Sequence[int]],
    fps: float,
    ratio: float,
) -> dict[int, Array]:
    """World rotations away from the reference pose with which the chords of the target move as the source's do.

    Args:
        rotations: (F, 4) for each paired joint of the target.
        pose: The source's motion.
        alignment: How the two bodies correspond.
        tree: Its pairs.
        anchors: Joints of source and target whose centres follow the same path.
        fps: Frames a second.
        ratio: How much larger the target's steps are.
    """
    correspondence = alignment.correspondence
    source, target = correspondence.source, correspondence.target
    movement = multiply(pose.rotations, conjugate(alignment.source_world))
    references = [pose_skeleton(source, alignment.source).positions, pose_skeleton(target, alignment.target).positions]
    result = dict(rotations)
    for chord in find_chords(tree, anchors):
        before = tree.parents[chord.pairs[0]]
        assert before is not None
        turning = [source.index[bone] for pair in (before, *chord.pairs) for bone in pair.source[-1:]]
        usual = mean(movement[:, turning].transpose(1, 0, 2))
        at_rest = [
            places[0, list(end)].mean(0) - places[0, list(start)].mean(0)
            for places, start, end in zip(references, chord.start, chord.end, strict=True)
        ]
        line = pose.positions[:, list(chord.end[0])].mean(1) - pose.positions[:, list(chord.start[0])].mean(1)
        if min(*(np.linalg.norm(v) for v in at_rest), np.linalg.norm(line, axis=1).min()) < MIN_BONE_METRES:
            continue
        goal = rotate(multiply(between(rotate(usual, at_rest[0]), line), usual), at_rest[1])
        joints = [target.index[bone] for pair in chord.pairs for bone in pair.target]
        places = _places(target, alignment, result, [*chord.start[1], *chord.end[1], joints[0]])
        start = np.mean([places[j] for j in chord.start[1]], axis=0)
        end = np.mean([places[j] for j in chord.end[1]], axis=0)
        size = np.linalg.norm(end - start, axis=-1, keepdims=True) / np.linalg.norm(goal, axis=-1, keepdims=True)
        pivot = places[joints[0]]
        wanted = size * goal
        # The same displacement as the source's, and not the same turn: chords may point another way.
        scale = min(ratio, float(np.linalg.norm(at_rest[1]) / np.linalg.norm(at_rest[0])))
        carried = end - start
        # A neck of more or fewer bones than the source's shares the bend out, and the head would lean less or more.
        posture = carried if tree.is_sided(chord.pairs[0]) or before is tree.root else wanted
        wanted = _slow(posture, fps) + scale * (line - _slow(line, fps))
        turn = between(end - pivot, start + wanted - pivot)
        for joint in joints:
            result[joint] = multiply(turn, result[joint])
    return result


def _slow(curve: Array, fps: float) -> Array:
    """A curve (F, C) without its fast movements."""
    return np.stack([gaussian_smoothed(column, POSTURE_SECONDS * fps) for column in curve.T], -1)


def _places(
    skeleton: Skeleton, alignment: Alignment, rotations: dict[int, Array], joints: Sequence[int]
) -> dict[int, Array]:
    """(F, 3) metres from the root: places of joints whose ancestors have world rotations away from the reference."""
    frames = len(next(iter(rotations.values())))
    world: dict[int, Array] = {}
    places: dict[int, Array] = {}
    for joint in sorted({j for last in joints for j in skeleton.chain(last)}):
        parent = int(skeleton.parents[joint])
        if joint in rotations:
            world[joint] = multiply(rotations[joint], alignment.target_world[joint])
        elif parent < 0:
            world[joint] = np.broadcast_to(alignment.target[joint], (frames, 4))
        else:
            world[joint] = multiply(world[parent], alignment.target[joint])
        offset = np.zeros((frames, 3)) if parent < 0 else rotate(world[parent], skeleton.offsets[joint])
        places[joint] = offset if parent < 0 else places[parent] + offset
    return places


MAX_HIP_TURN_RADIANS = np.radians(12.0)
"""Largest turn of the pelvis for hips of another width or legs of another difference."""

MAX_LEVEL_SINE, MIN_STEEP_SINE = np.sin(np.radians(20.0)), np.sin(np.radians(45.0))
"""Sine of the slope of the source's hip line up to which the pelvis is turned in full, and from which not at all."""

MIN_STANDING_SHARE, MIN_RAISED_SHARE = 0.6, 0.3
"""Height of a hip above its ankle, as a share of the leg, down to which the pelvis is turned in full, and at which it
is not turned: a leg that is raised does not stand."""

HIP_TURN_SECONDS = 0.25
"""Standard deviation of the Gaussian low-pass filter of how far the pelvis is turned."""


def fit_hip_line(
    rotations: dict[int, Array],
    pose: Pose,
    alignment: Alignment,
    anchors: tuple[Sequence[int], Sequence[int]],
    fps: float,
    ratio: float,
) -> dict[int, Array]:
    """World rotations away from the reference pose with a pelvis that puts both feet where their legs reach.

    Legs that point as the source's end at the source's heights only if the hip joints differ in height as much as the
    source's, in lengths of legs. On wider hips, or if one leg of the source is longer than the other, the carried
    slope of the hip line does not give that, and one foot hovers while the other sinks. The pelvis turns in the plane
    of the hip line and the vertical, and nothing else turns with it.

    Args:
        rotations: (F, 4) for each paired joint of the target.
        pose: The source's motion.
        alignment: How the two bodies correspond.
        anchors: Joints of source and target whose centres follow the same path; the hip joints, left and right.
        fps: Frames a second.
        ratio: How much larger the target's steps are.
    """
    source, target = alignment.correspondence.source, alignment.correspondence.target
    sides = ("left_foot", "right_foot")
    feet = [[roles(skeleton)[side] for side in sides if side in roles(skeleton)] for skeleton in (source, target)]
    if any(len(joints) != 2 for joints in (*anchors, *feet)):
        return rotations
    motors = [joint for hip in anchors[1] for joint in main_bones(target).members_of(hip)]
    if any(_is_motor(target, joint) for joint in motors):
        # The motors of a robot have little room for another tilt.
        return rotations
    hips = pose.positions[:, list(anchors[0])]
    rises = hips[:, :, 1] - pose.positions[:, feet[0], 1]
    legs = [
        [chain_length(skeleton, hip, foot) for hip, foot in zip(row, ends, strict=True)]
        for skeleton, row, ends in zip((source, target), anchors, feet, strict=True)
    ]
    scales = np.array(legs[1]) / np.maximum(legs[0], MIN_BONE_METRES)
    line = hips[:, 0] - hips[:, 1]
    goal = ratio * line[:, 1] + (scales[0] - ratio) * rises[:, 0] - (scales[1] - ratio) * rises[:, 1]
    places = _places(target, alignment, rotations, anchors[1])
    across = places[anchors[1][0]] - places[anchors[1][1]]
    width, wide = np.linalg.norm(across, axis=1), np.linalg.norm(line, axis=1)
    if min(width.min(), wide.min()) < MIN_BONE_METRES:
        return rotations
    wanted = np.arcsin(np.clip(goal / width, -1.0, 1.0)) - np.arcsin(np.clip(across[:, 1] / width, -1.0, 1.0))
    share = smooth_step((MIN_STEEP_SINE - np.abs(line[:, 1]) / wide) / (MIN_STEEP_SINE - MAX_LEVEL_SINE))
    standing = ((rises / legs[0]).min(axis=1) - MIN_RAISED_SHARE) / (MIN_STANDING_SHARE - MIN_RAISED_SHARE)
    share = gaussian_smoothed(share * smooth_step(standing), HIP_TURN_SECONDS * fps)
    angle = share * MAX_HIP_TURN_RADIANS * np.tanh(wanted / MAX_HIP_TURN_RADIANS)
    axis = cross(across, np.broadcast_to(UP, across.shape))
    turn = from_axis_angle(axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), MIN_BONE_METRES), angle)
    carried = {joint for hip in anchors[1] for joint in target.chain(hip)[:-1]}
    return {joint: multiply(turn, away) if joint in carried else away for joint, away in rotations.items()}


def _is_motor(skeleton: Skeleton, joint: int) -> bool:
    """Whether a joint is a hinge with limits; a ball that is written as hinges has none."""
    return skeleton.kinds[joint] is JointKind.HINGE and bool(np.isfinite(skeleton.limits[joint, 0]).any())


def put_feet_below_hips(
    rotations: dict[int, Array],
    pose: Pose,
    alignment: Alignment,
    anchors: tuple[Sequence[int], Sequence[int]],
) -> dict[int, Array]:
    """World rotations away from the reference pose with which a robot's ankles are below its hips as the source's are.

    Legs whose bones point as the source's end ahead of the source's or behind them if thigh and shin differ in other
    proportions. A robot that walks so leans its feet out from under it. Each of its legs is turned as a whole.

    Args:
        rotations: (F, 4) for each paired joint of the target.
        pose: The source's motion.
        alignment: How the two bodies correspond.
        anchors: Joints of source and target whose centres follow the same path; the hip joints, left and right.
    """
    source, target = alignment.correspondence.source, alignment.correspondence.target
    result = dict(rotations)
    for side, start, top in zip(("left", "right"), *anchors):
        foot = roles(source).get(f"{side}_foot")
        knee, ankle = (roles(target).get(f"{side}_{part}") for part in ("lower_leg", "foot"))
        if foot is None or ankle is None or knee is None:
            return rotations
        leg = target.chain(ankle)[:-1]
        leg = leg[leg.index(top) :] if top in leg else []
        if not leg or not all(_is_motor(target, joint) for joint in leg):
            return rotations
        hip = bone_start(target, top, knee)
        places = _places(target, alignment, rotations, [hip, ankle])
        turn = between(places[ankle] - places[hip], pose.positions[:, foot] - pose.positions[:, start])
        result |= {joint: multiply(turn, rotations[joint]) for joint in leg if joint in rotations}
    return result


def fit_step_width(
    rotations: dict[int, Array], motion: Motion, alignment: Alignment, anchors: tuple[Sequence[int], Sequence[int]]
) -> dict[int, Array]:
    """World rotations (F, 4) with legs that step as wide as the target's hips ask for, of one human played by another.

    The feet keep their rotations.

    Args:
        rotations: (F, 4) away from the reference pose, for each paired joint of the target.
        motion: The source's motion.
        alignment: How the two bodies correspond.
        anchors: Joints of source and target whose centres follow the same path; the hip joints, left and right.
    """
    target, hips = alignment.correspondence.target, list(anchors[1])
    source_legs, feet = human_legs(motion), leg_ends(target, 1)
    if source_legs is None or len(hips) != 2 or not has_human_legs(target):
        return rotations
    places = _places(target, alignment, rotations, [*hips, *feet])
    paths = np.stack([places[joint] for joint in (*hips, *feet)], axis=1)
    length = max(mean_leg_length(target, hips, feet), MIN_BONE_METRES)
    swings = leg_swings(source_legs, Legs(hips=paths[:, :2], feet=paths[:, 2:], length=length))
    out = dict(rotations)
    for foot, other, swing in zip(feet, feet[::-1], swings or (), strict=False):
        out |= {joint: multiply(swing, out[joint]) for joint in leg_joints(target, foot, other) if joint in out}
    return out


MIN_LEVER_SHARE = 0.2
"""Distance between a root on the floor and the body's own root, as a share of the body's size."""

MIN_HEADING_WEIGHT = 0.4
"""Length of the part of a rotation about the vertical below which its heading is unclear, as in a handstand."""

MAX_STILL_TURN = 1e-10
"""One minus the dot product of two rotations of a root that does not turn."""

FLOOR_PERCENTILE = 5.0
"""Percentile of the lowest points of all frames that is the floor."""


def floor_carriers(correspondence: Correspondence) -> tuple[str, ...]:
    """Joints of the target from a root on the floor down to the bone that plays the hips, that one not included.

    Empty if the target's root does not lie far below the hips, or if it plays a bone of the source.
    """
    target, body = correspondence.target, _body_root(correspondence)
    above = target.chain(body)[:-1]
    return tuple(target.names[joint] for joint in above) if above and _has_lever(target, body) else ()


def _body_root(correspondence: Correspondence) -> int:
    assert correspondence.root is not None
    return correspondence.target.index[correspondence.root.target[0]]


def put_on_floor(motion: Motion, how: str) -> Motion:
    """A result with the root of its rig put on the floor; unchanged if the rig has no such root, or if it is driven."""
    # The division of bodies imports this module, to try out what it finds.
    from understudy.correspondence.suggest import split_body

    skeleton = motion.skeleton
    body = split_body(skeleton).root
    if body == 0 or not _has_lever(skeleton, body) or not _only_shifts(motion):
        return motion
    return settle_floor_root(motion, body, how)


def _has_lever(skeleton: Skeleton, body: int) -> bool:
    positions = skeleton.rest_world[0]
    size = float(np.ptp(positions, axis=0).max())
    lever = float(np.linalg.norm(positions[body] - positions[0]))
    low = positions[0, 1] < positions[body, 1] - 0.5 * lever
    return bool(low and lever > MIN_LEVER_SHARE * size)


def describe_floor_root(correspondence: Correspondence, how: str) -> str:
    """A note on what the target's root on the floor does; empty if it has none."""
    above = floor_carriers(correspondence)
    if not above:
        return ""
    root = above[0]
    hips = correspondence.target.names[_body_root(correspondence)]
    if how == "stay":
        return f"`{root}` lies on the floor and stays there; `{hips}` plays the hips and moves by itself"
    return (
        f"`{root}` lies on the floor: `{hips}` plays the hips, and `{root}` follows below it, by place and heading "
        "(--floor-root stay keeps it where it is)"
    )


def settle_floor_root(motion: Motion, body: int, how: str) -> Motion:
    """The same movement of the body with the root of its rig put on the floor.

    Args:
        motion: A motion whose root only shifts.
        body: The joint that plays the hips, below the root.
        how: `follow` for the body's place and heading, or `stay` for the root's rest pose.
    """
    skeleton, pose = motion.skeleton, fk(motion)
    rest_positions, rest_rotations = skeleton.rest_world
    rotations, root = motion.rotations.copy(), np.empty_like(motion.root)
    if how == "stay":
        rotations[:, 0], root[:] = skeleton.rest[0], skeleton.offsets[0]
    else:
        yaw = _headings(multiply(pose.rotations[:, body], conjugate(rest_rotations[body])))
        rotations[:, 0] = multiply(yaw, skeleton.rest[0])
        root[:] = pose.positions[:, body] - rotate(yaw, rest_positions[body] - rest_positions[0])
        root[:, 1] = _floor_height(pose, body) + rest_positions[0, 1]
    offsets = np.broadcast_to(skeleton.offsets, (motion.num_frames, *skeleton.offsets.shape)).copy()
    if motion.offsets is not None:
        offsets[:] = motion.offsets
    settled = replace(motion, root=root, rotations=rotations, offsets=offsets)
    parent = int(skeleton.parents[body])
    above = pose_of(settled, [parent])
    number = above.skeleton.index[skeleton.names[parent]]
    offsets[:, body] = unrotate(above.rotations[:, number], pose.positions[:, body] - above.positions[:, number])
    rotations[:, body] = multiply(conjugate(above.rotations[:, number]), pose.rotations[:, body])
    return replace(settled, rotations=continuous(rotations), offsets=offsets)


def _only_shifts(motion: Motion) -> bool:
    """Whether the root of a motion keeps its rotation."""
    dots = np.abs(np.einsum("fi,i->f", motion.rotations[:, 0], motion.rotations[0, 0]))
    return bool(1.0 - dots.min() < MAX_STILL_TURN)


def _headings(turns: Array) -> Array:
    """(F, 4) the parts of rotations (F, 4) about the vertical, continuous; bridged in time where they are unclear."""
    weights = np.hypot(turns[:, 0], turns[:, 2])
    clear = np.flatnonzero(weights > MIN_HEADING_WEIGHT)
    angles = 2.0 * np.arctan2(turns[:, 2], turns[:, 0])
    if len(clear) == 0:
        return from_axis_angle(UP, np.zeros(len(turns)))
    smooth = np.unwrap(angles[clear])
    return from_axis_angle(UP, np.interp(np.arange(len(turns)), clear, smooth))


def _floor_height(pose: Pose, body: int) -> float:
    """Metres by which the floor under a motion with a pose is higher than in the rest pose."""
    skeleton = pose.skeleton
    below = skeleton.below(body)
    ends = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
    lowest = pose.positions[:, below, 1].min(axis=1)
    rest = float(skeleton.rest_world[0][below, 1].min())
    if ends:
        lowest = np.minimum(lowest, pose.points(ends)[..., 1].min(axis=1))
        rest = min(rest, float(skeleton.rest_ends[[below[skeleton.index[e.joint]] for e in skeleton.ends], 1].min()))
    return float(np.percentile(lowest, FLOOR_PERCENTILE)) - rest
