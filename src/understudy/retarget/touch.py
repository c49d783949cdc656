"""Touch: hands that are near the body or each other keep their distances on a body of another shape.

A hand keeps its distance to the surfaces of the parts that it touches, and to the joints that its fingers reach. The
arms of the start motion are moved before the solve, by as little as these distances ask for. The solver stays near the
start, so the relation holds, and no other part of the body moves for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from understudy.base.quaternion import Array, between, conjugate, cross, from_axis_angle, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.correspondence.alignment import MIN_BONE_METRES
from understudy.correspondence.hinge import turn_hinges
from understudy.correspondence.pairs import Correspondence
from understudy.figure.kinematics import Pose, pose_of
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import crown_point, is_humanoid, leg_length, reach
from understudy.figure.motion import Motion
from understudy.figure.roles import balls_of_hinges, roles
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.figure.surface import RADIUS_SHARES

NEAR_ARMS, FAR_ARMS = 0.06, 0.16
"""Arm lengths between a wrist and a surface: nearer than the first the relation is kept in full, beyond the second not
at all, and smoothly less in between."""

CLEAR_GAP_ARMS = 0.1
"""Arm lengths between a wrist and a surface that the hand does not touch."""

WRIST_GAP_ARMS = 0.06
"""Arm lengths between a wrist and a surface on which the palm lies."""

LEG_SHARE = 0.48
"""Length of a leg as a share of a human's height, which many rigs measure to the neck only."""

TOUCH_TOLERANCE_ARMS, TOLERANCE_PER_GAP = 0.04, 1.0
"""Arm lengths by which a hand that touches may be nearer or farther, and by how much more for each arm length from the
surface: a hand that only hangs beside the thigh may be some centimetres off."""

NEAR_HANDS_ARMS, FAR_HANDS_ARMS = 0.3, 0.6
"""The same for the distance of the two wrists."""

LANDMARKS = ("head", "hips", "left_upper_leg", "right_upper_leg", "left_lower_leg", "right_lower_leg")
"""The roles of joints to which a hand keeps its distance. Several of them say where along a part the hand is."""

NEAR_LANDMARK_ARMS, FAR_LANDMARK_ARMS = 0.3, 0.45
"""The same for the distance of a wrist to a landmark: nearer than the first, the fingers reach it."""

LANDMARK_TOLERANCE_ARMS = 0.15
"""Arm lengths by which the distance to a landmark may differ; at most half of it remains."""

SURFACE_WEIGHT, STAY_WEIGHT = 0.3, 0.1
"""Weights of a surface and of leaving the hand where it is, against that of a landmark."""

NUM_MOVE_STEPS = 2
"""Gauss-Newton steps for the move of a hand; distances to landmarks are nearly linear in it."""

SMOOTHING_SECONDS = 0.12
"""Standard deviation of the Gaussian window that smooths how the hands are moved."""

MIN_MOVE_LEGS = 1e-3
"""Leg lengths below which the movement of a hand is left out."""

MAX_REACH_SHARE = 0.995
"""Share of an arm's length to which it may be stretched."""

SMALL_STRETCH_SHARE = 0.03
"""Share of an arm's length below which a change of the distance from shoulder to wrist counts less than in full."""

STRAIGHT_SINE = 0.1
"""Sine of the bend of an elbow below which the usual axis of the elbow counts more than that of the frame."""

ARM = ("upper_arm", "lower_arm", "hand")

SEGMENTS = {
    "trunk": ("hips", "neck"), "head": ("head", "crown"),
    "upper_leg": ("upper_leg", "lower_leg"), "lower_leg": ("lower_leg", "foot"),
    "upper_arm": ("upper_arm", "lower_arm"), "lower_arm": ("lower_arm", "hand"),
}  # fmt: skip
"""The parts of a body that a hand may be near, and the two roles between which each lies."""


def keep_touches(
    source: Motion, start: Motion, correspondence: Correspondence | None = None, held: Sequence[Point] = ()
) -> Motion:
    """The start motion with its arms moved so that the hands are as near to the body as the source's.

    Args:
        source: The source's motion.
        start: The same motion on the target's body, before the solve.
        correspondence: Which bones correspond, on a target of another structure. Arms that follow others are left out.
        held: Points of the source with contacts, which say where the hands are. Their arms are left out.
    """
    if not (is_humanoid(source.skeleton) and is_humanoid(start.skeleton)):
        return start
    if not (has_free_arms(start.skeleton) and reach(source.skeleton) > 0.0):
        return start
    bodies = _Body.of(source), _Body.of(start)
    moves = _hand_moves(*bodies, source.fps)
    needed = {
        side: move
        for side, move in moves.items()
        if (correspondence is None or _arms_correspond(correspondence, side))
        and not _is_held(source.skeleton, side, held)
        and np.abs(move).max() > MIN_MOVE_LEGS * leg_length(start.skeleton)
    }  # fmt: skip
    return _move_hands(start, bodies[1].pose, needed) if needed else start


@record
class _Body:
    """Where the hands and the parts of a body are."""

    skeleton: Skeleton
    pose: Pose
    hands: dict[str, Array]
    """(F, 3) metres, world: the wrists by side."""
    lines: dict[str, tuple[Array, Array]]
    """(F, 3) metres, world: the two ends of the middle line of each part."""
    radii: dict[str, float]
    """Metres."""
    landmarks: dict[str, Array]
    """(F, 3) metres, world, by role."""

    @staticmethod
    def of(motion: Motion) -> _Body:
        skeleton = motion.skeleton
        points = _landmarks(skeleton)
        pose = pose_of(motion, [skeleton.index[point.joint] for point in points.values()])
        paths = dict(zip(points, np.moveaxis(pose.points(list(points.values())), 1, 0), strict=True))
        if "left_upper_leg" in paths and "right_upper_leg" in paths:
            # Rigs put the joint of the hips anywhere in the pelvis.
            paths["hips"] = 0.5 * (paths["left_upper_leg"] + paths["right_upper_leg"])
        size = leg_length(skeleton) / LEG_SHARE
        lines, radii = {}, {}
        for part, (first, last) in SEGMENTS.items():
            for prefix in ("",) if part in ("trunk", "head") else ("left_", "right_"):
                if prefix + first in paths and prefix + last in paths:
                    lines[prefix + part] = paths[prefix + first], paths[prefix + last]
                    radii[prefix + part] = RADIUS_SHARES[part] * size
        hands = {side: paths[f"{side}_hand"] for side in ("left", "right") if f"{side}_hand" in paths}
        landmarks = {role: paths[role] for role in LANDMARKS if role in paths}
        return _Body(skeleton=skeleton, pose=pose, hands=hands, lines=lines, radii=radii, landmarks=landmarks)


def _is_held(skeleton: Skeleton, side: str, points: Sequence[Point]) -> bool:
    """Whether one of some points is on the arm of a side."""
    arm = skeleton.below(roles(skeleton)[f"{side}_upper_arm"])
    return any(arm[skeleton.index[point.joint]] for point in points)


def _arms_correspond(correspondence: Correspondence, side: str) -> bool:
    """Whether the arm of a side follows the same arm of the source."""
    source, target = correspondence.source, correspondence.target
    for part in ("upper_arm", "lower_arm"):
        pair = correspondence.pair_of("target", target.names[roles(target)[f"{side}_{part}"]])
        if pair is None or source.names[roles(source)[f"{side}_{part}"]] not in pair.source:
            return False
    return True


def _landmarks(skeleton: Skeleton) -> dict[str, Point]:
    """The points between which the parts of a body lie, by role."""
    first_of = main_bones(skeleton).first_of
    points = {role: skeleton.point(skeleton.names[first_of(joint)]) for role, joint in roles(skeleton).items()}
    crown = crown_point(skeleton)
    points |= {} if crown is None else {"crown": crown}
    points.setdefault("neck", points.get("head", points["hips"]))
    return points


def has_free_arms(skeleton: Skeleton) -> bool:
    """Whether shoulders and hands can turn any way, as those of characters do and those of robots do not, and the bones
    of the arms have a length."""
    joint_of, main = roles(skeleton), main_bones(skeleton)
    for side in ("left", "right"):
        if any(f"{side}_{part}" not in joint_of for part in ARM):
            return False
        bones = [main.members_of(joint_of[f"{side}_{part}"]) for part in ARM]
        if not all(_is_ball(skeleton, bone) for bone in (bones[0], bones[2])):
            return False
        if not (_is_ball(skeleton, bones[1]) or _is_hinge(skeleton, bones[1])):
            return False
        if any(skeleton.lengths[bone[0]] < MIN_BONE_METRES for bone in bones[1:]):
            return False
    return True


def _is_ball(skeleton: Skeleton, bone: Sequence[int]) -> bool:
    return skeleton.kinds[bone[0]] is JointKind.BALL or _is_ball_of_hinges(skeleton, bone)


def _is_hinge(skeleton: Skeleton, bone: Sequence[int]) -> bool:
    return skeleton.kinds[bone[0]] is JointKind.HINGE and not _is_ball_of_hinges(skeleton, bone)


def _is_ball_of_hinges(skeleton: Skeleton, bone: Sequence[int]) -> bool:
    """Whether a main bone begins with three hinges at one point that turn without limits."""
    return tuple(bone[:3]) in balls_of_hinges(skeleton) and not np.isfinite(skeleton.limits[list(bone[:3]), 0]).any()


def _hand_moves(source: _Body, target: _Body, fps: float) -> dict[str, Array]:
    """(F, 3) metres by side: how far each hand of the target has to move, smooth in time."""
    arm, ratio = reach(source.skeleton), reach(target.skeleton) / reach(source.skeleton)
    sides = source.hands.keys() & target.hands.keys()
    moves = {side: _hand_move(source, target, side) for side in sides}
    if len(moves) == 2:
        apart = [body.hands["left"] - body.hands["right"] for body in (source, target)]
        share = _nearness(np.linalg.norm(apart[0], axis=-1) / arm, NEAR_HANDS_ARMS, FAR_HANDS_ARMS)[:, None]
        tolerance = np.full(len(share), TOUCH_TOLERANCE_ARMS * arm * ratio)
        wrong = _beyond(ratio * apart[0] - apart[1] - (moves["left"] - moves["right"]), tolerance)
        moves["left"], moves["right"] = moves["left"] + 0.5 * share * wrong, moves["right"] - 0.5 * share * wrong
    return {side: smoothed(move, SMOOTHING_SECONDS * fps) for side, move in moves.items()}


def _hand_move(source: _Body, target: _Body, side: str) -> Array:
    """(F, 3) metres: the least move of a hand of the target that keeps the distances to what the source's is near."""
    arm, ratio = reach(source.skeleton), reach(target.skeleton) / reach(source.skeleton)
    hand = target.hands[side]
    surfaces = []
    for part in sorted(source.lines.keys() & target.lines.keys() - {f"{side}_upper_arm", f"{side}_lower_arm"}):
        gap, clear, goal, away = _part_goal(source, target, side, part, arm, ratio)
        tolerance = ratio * (
            TOUCH_TOLERANCE_ARMS * arm + TOLERANCE_PER_GAP * np.maximum(gap - WRIST_GAP_ARMS * arm, 0.0)
        )
        wanted = _beyond(np.einsum("fi,fi->f", goal - hand, away)[:, None] * away, tolerance)
        weight = _nearness(gap / arm, NEAR_ARMS, FAR_ARMS) * clear
        surfaces.append((SURFACE_WEIGHT * weight, away, weight[:, None] * wanted))
    move: Array = np.zeros(hand.shape)
    for _ in range(NUM_MOVE_STEPS):
        matrix = np.broadcast_to(STAY_WEIGHT * np.eye(3), (len(hand), 3, 3)).copy()
        vector = np.zeros_like(hand)
        for weight, away, wanted in (*surfaces, *_landmark_goals(source, target, side, move, arm, ratio)):
            matrix += weight[:, None, None] * (away[:, :, None] * away[:, None])
            vector += weight[:, None] * wanted
        move = np.asarray(np.linalg.solve(matrix, vector[..., None])[..., 0], float)
    return move


def _landmark_goals(
    source: _Body, target: _Body, side: str, move: Array, arm: float, ratio: float
) -> list[tuple[Array, Array, Array]]:
    """For each landmark the weight (F,) of its distance to the wrist, the direction (F, 3) away from it, and metres
    (F, 3) along that direction by which the wrist should move from where it was before a move (F, 3)."""
    goals = []
    for role in sorted(source.landmarks.keys() & target.landmarks.keys()):
        distance = np.linalg.norm(source.hands[side] - source.landmarks[role], axis=-1)
        offset = target.hands[side] - target.landmarks[role]
        away = offset + move
        away /= np.maximum(np.linalg.norm(away, axis=-1, keepdims=True), 1e-9)
        change = (ratio * distance - np.einsum("fi,fi->f", offset, away))[:, None] * away
        wanted = _beyond(change, np.full(len(change), ratio * LANDMARK_TOLERANCE_ARMS * arm))
        goals.append((_nearness(distance / arm, NEAR_LANDMARK_ARMS, FAR_LANDMARK_ARMS), away, wanted))
    return goals


def _part_goal(source: _Body, target: _Body, side: str, part: str, arm: float, ratio: float) -> tuple[Array, ...]:
    """Where the wrist of the target should be for it to be beside a part as the source's is.

    Returns:
        Metres (F,) from the wrist of the source to the surface of the part; how clear (F,) it is, from 0 to 1, on which
        side of the part it is; the place (F, 3) of the target's wrist; and the direction (F, 3) away from the part.
    """
    first, last = source.lines[part]
    along = last - first
    squared = np.maximum(np.einsum("fi,fi->f", along, along), 1e-12)
    share = np.clip(np.einsum("fi,fi->f", source.hands[side] - first, along) / squared, 0.0, 1.0)[:, None]
    away = source.hands[side] - first - share * along
    distance = np.linalg.norm(away, axis=-1)
    gap = distance - source.radii[part]
    # A hand at the middle line of a part is on neither side of it.
    clear = np.clip(distance / (0.5 * source.radii[part]) - 1.0, 0.0, 1.0)
    first, last = target.lines[part]
    size = target.radii[part] + np.where(gap > 0.0, ratio, target.radii[part] / source.radii[part]) * gap
    away /= np.maximum(distance, 1e-9)[:, None]
    # A hand that is nearer than the source's, but clear of the part, need not move away from it.
    clearance = target.radii[part] + ratio * np.minimum(gap, CLEAR_GAP_ARMS * arm)
    now = np.einsum("fi,fi->f", target.hands[side] - first - share * (last - first), away)
    size = np.minimum(size, np.maximum(now, clearance))
    goal = first + share * (last - first) + size[:, None] * away
    return gap, clear, goal, away


def _beyond(move: Array, tolerance: Array) -> Array:
    """Moves (F, 3) shortened smoothly, so that at most half a tolerance (F,) of each is left undone, and most of those
    that are smaller than it."""
    squared = np.einsum("fi,fi->f", move, move)
    shortened: Array = move * (squared / (squared + tolerance**2))[:, None]
    return shortened


def _nearness(distance: Array, near: float, far: float) -> Array:
    """(F,) 1 below the near distance, 0 beyond the far one, and smooth in between."""
    share = np.clip((far - distance) / (far - near), 0.0, 1.0)
    nearness: Array = share * share * (3.0 - 2.0 * share)
    return nearness


def smoothed(path: Array, width: float) -> Array:
    """A path (F, D) smoothed by a Gaussian window of a standard deviation in frames; its ends are continued as they
    are."""
    half = int(np.ceil(3.0 * width))
    window = np.exp(-0.5 * (np.arange(-half, half + 1) / width) ** 2)
    padded = np.concatenate([np.repeat(path[:1], half, axis=0), path, np.repeat(path[-1:], half, axis=0)])
    return np.stack([np.convolve(axis, window / window.sum(), "valid") for axis in padded.T], -1)


def _move_hands(motion: Motion, pose: Pose, moves: dict[str, Array]) -> Motion:
    """A motion with its wrists moved by shoulders and elbows; the hands keep their rotations in the world."""
    rotations, skeleton = motion.rotations.copy(), motion.skeleton
    for side, move in moves.items():
        bones = [main_bones(skeleton).members_of(roles(skeleton)[f"{side}_{part}"]) for part in ARM]
        firsts = [pose.skeleton.index[skeleton.names[bone[0]]] for bone in bones]
        upper_arm = pose.skeleton.index[skeleton.names[bones[0][-1]]]
        shoulder, elbow, wrist = (pose.positions[:, first] for first in firsts)
        axis = elbow_axes(elbow - shoulder, wrist - elbow, pose.rotations[:, upper_arm])
        if _is_hinge(skeleton, bones[1]):
            hinge = rotate(pose.rotations[:, firsts[1]], skeleton.axes[bones[1][0]][0])
            axis = hinge * np.sign(np.einsum("fi,fi->", hinge, axis))
        bend, swing = _arm_rotations(shoulder, elbow, wrist, wrist + move, axis)
        still = np.broadcast_to([1.0, 0.0, 0.0, 0.0], swing.shape)
        turn_above = still
        for bone, first, turn in zip(bones, firsts, (swing, multiply(swing, bend), still), strict=True):
            joints = list(bone[:3] if _is_ball_of_hinges(skeleton, bone) else bone[:1])
            parent = pose.rotations[:, pose.skeleton.parents[first]]
            # Other bones between the bone above and this one go with the bone above.
            change = multiply(conjugate(multiply(turn_above, parent)), multiply(turn, parent))
            wanted = multiply(change, reduce(multiply, rotations[:, joints].swapaxes(0, 1)))
            is_one = len(joints) == 1
            rotations[:, joints] = wanted[:, None] if is_one else turn_hinges(skeleton, joints, wanted)
            turn_above = turn
    return motion.derived(rotations=rotations)


def _arm_rotations(
    shoulder: Array, elbow: Array, wrist: Array, goal: Array, axis: Array
) -> tuple[Array, Array]:  # fmt: skip
    """(F, 4) world rotations of the lower arm at the elbow and then of the whole arm at the shoulder, which take the
    wrist to a goal, or as near as the arm reaches."""
    upper, lower = elbow - shoulder, wrist - elbow
    lengths = np.linalg.norm(upper, axis=-1), np.linalg.norm(lower, axis=-1)
    stretch = np.linalg.norm(wrist - shoulder, axis=-1)
    longest = MAX_REACH_SHARE * (lengths[0] + lengths[1])
    shortest = 1.1 * np.abs(lengths[0] - lengths[1]) + 0.1 * lengths[0]
    change = np.linalg.norm(goal - shoulder, axis=-1) - stretch
    # The bend of a straight arm grows as the root of a change of its stretch: small changes count less.
    change *= np.abs(change) / (np.abs(change) + SMALL_STRETCH_SHARE * (lengths[0] + lengths[1]))
    room = np.maximum(np.where(change > 0.0, longest - stretch, stretch - shortest), 1e-6)
    wanted = stretch + np.sign(change) * room * (1.0 - np.exp(-np.abs(change) / room))
    before, after = (_bend_angle(*lengths, distance) for distance in (stretch, wanted))
    bend = from_axis_angle(axis, after - before)
    bent = upper + rotate(bend, lower)
    return bend, between(bent, goal - shoulder)


def _bend_angle(upper: Array, lower: Array, distance: Array) -> Array:
    """(F,) radians by which an elbow bends, 0 for a straight arm, if the wrist is this far from the shoulder."""
    cosine = (distance**2 - upper**2 - lower**2) / np.maximum(2.0 * upper * lower, 1e-12)
    angle: Array = np.arccos(np.clip(cosine, -1.0, 1.0))
    return angle


def elbow_axes(upper: Array, lower: Array, upper_arm: Array, *, steady: bool = False) -> Array:
    """(F, 3) unit axes about which the elbow bends: those of the frames, or the usual one where the arm is straight.

    The axes of the frames turn around where an elbow bends the other way. `steady` ones are the usual one throughout.
    """
    normal = cross(upper, lower)
    sizes = np.linalg.norm(upper, axis=-1) * np.linalg.norm(lower, axis=-1)
    normal /= np.maximum(sizes, 1e-12)[:, None]
    usual = unrotate(upper_arm, normal).sum(axis=0)
    usual = rotate(upper_arm, usual / max(float(np.linalg.norm(usual)), 1e-12))
    axis = usual if steady else normal + STRAIGHT_SINE * usual
    # The axis stays at right angles to the upper arm, so that turning about it only bends the elbow.
    axis -= (
        np.einsum("fi,fi->f", axis, upper)[:, None]
        * upper
        / np.maximum(np.einsum("fi,fi->f", upper, upper), 1e-12)[:, None]
    )
    return axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-12)
