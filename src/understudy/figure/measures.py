"""Measures of a body: leg length, height, facing direction, kind of rest pose, and its left-right symmetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array, conjugate, cross, from_matrix, multiply, rotate, to_matrix, unrotate
from understudy.base.records import record
from understudy.figure.kinematics import Pose, fk, locate, paths_of
from understudy.figure.motion import Motion
from understudy.figure.roles import is_end_bone, leaf_helpers, mirrored, roles, side, words
from understudy.figure.skeleton import JointKind, Point, Skeleton

UP = np.array([0.0, 1.0, 0.0])

HUMAN_ROLES = (
    "hips",
    *(f"{s}_{p}" for s in ("left", "right") for p in ("upper_leg", "lower_leg", "foot", "upper_arm", "lower_arm")),
)
"""The roles that a humanoid body must have."""


@lru_cache(maxsize=64)
def is_humanoid(skeleton: Skeleton) -> bool:
    """Whether a body has the parts of a human, and neither a tail nor a horizontal trunk."""
    joint_of = roles(skeleton)
    if any(part not in joint_of for part in HUMAN_ROLES):
        return False
    # Robots often have no movable head; then the rest pose must stand upright, or the arms be no fore legs.
    if not ({"neck", "head"} & set(joint_of)) and rest_pose_kind(skeleton) == "no pose":
        return _arms_unlike_legs(skeleton, joint_of)
    if "tail" in joint_of or any("tail" in name.lower() for name in skeleton.names):
        return False
    return not _stands_on_all_fours(skeleton, joint_of)


MAX_ARM_RATIO = 0.85
"""Length of the upper arm of a robot in lengths of its thigh; fore and hind legs are equal."""


def _arms_unlike_legs(skeleton: Skeleton, joint_of: dict[str, int]) -> bool:
    """Whether arms are shorter than legs, from their first joint to elbow and knee."""
    arm, leg = (
        chain_length(skeleton, joint_of[f"left_upper_{limb}"], joint_of[f"left_lower_{limb}"])
        for limb in ("arm", "leg")
    )
    return arm < MAX_ARM_RATIO * leg


def _stands_on_all_fours(skeleton: Skeleton, joint_of: dict[str, int]) -> bool:
    """Whether the rest pose is that of a quadruped: it stands on its legs, and its trunk is level or across them."""
    trunk, legs = _rest_trunk(skeleton, joint_of), _rest_legs(skeleton, joint_of)
    leg = legs.sum(axis=0)
    # The upper part of a hind leg may slant, from the hip back to the hock.
    across = abs(float(trunk @ leg)) < 0.5 * np.linalg.norm(trunk) * np.linalg.norm(leg)
    level = across or abs(float(trunk[1])) < 0.5 * np.linalg.norm(trunk)
    stands = bool(np.all(legs[:, 1] < -0.8 * np.linalg.norm(legs, axis=1)))
    hips, shoulders = _rest_sides(skeleton, joint_of)
    straight = float(hips @ shoulders) >= 0.5 * np.linalg.norm(hips) * np.linalg.norm(shoulders)
    return bool(level and stands and straight)


def chain_length(skeleton: Skeleton, top: int, bottom: int) -> float:
    """Metres along the bones from one joint down to another; by way of the joint above both if it hangs elsewhere."""
    path = skeleton.chain(bottom)
    if top not in path:
        above = set(path)
        meeting = next(joint for joint in reversed(skeleton.chain(top)) if joint in above)
        return chain_length(skeleton, meeting, top) + chain_length(skeleton, meeting, bottom)
    return float(sum(skeleton.lengths[j] for j in path[path.index(top) + 1 :]))


MIN_TWIST_COSINE = 0.9
"""Cosine between the axis of a hinge and its bone above which the hinge only twists the bone."""


def bone_start(skeleton: Skeleton, upper: int, lower: int) -> int:
    """The joint at which the bone from one joint to another below it begins.

    Robots set the hinges of a hip or shoulder apart. The bone begins at the last of them that does not only twist it.
    """
    row = skeleton.chain(lower)[:-1]
    row = row[row.index(upper) :] if upper in row else [upper]
    if any(skeleton.kinds[joint] is not JointKind.HINGE for joint in row):
        return upper
    places, rotations = skeleton.rest_world
    for joint in reversed(row):
        bone = places[lower] - places[joint]
        axis = rotate(rotations[joint], skeleton.axes[joint, 0])
        if abs(float(axis @ bone)) < MIN_TWIST_COSINE * float(np.linalg.norm(bone)):
            return joint
    return upper


@lru_cache(maxsize=64)
def leg_length(skeleton: Skeleton) -> float:
    """Metres from hip to ankle along the bones, the mean of the legs; thresholds are in units of this length.

    If names do not identify legs, it is the mean length of the limbs that end lowest in the rest pose; for a body
    without limbs it is half its largest extent.
    """
    joint_of = roles(skeleton)
    pairs = [(joint_of.get(f"{s}_upper_leg"), joint_of.get(f"{s}_foot")) for s in ("left", "right")]
    legs = [chain_length(skeleton, a, b) for a, b in pairs if a is not None and b is not None]
    if not legs:
        legs = [_limb_length(skeleton, point) for point in feet(skeleton)]
    length = float(np.mean(legs)) if legs else 0.0
    return length if length > 1e-9 else max(0.5 * float(np.max(extent(skeleton))), 1e-3)


def height(skeleton: Skeleton) -> float:
    """Metres from sole to crown, measured in the rest pose if the body stands in it, else along the bones.

    A body that is not humanoid is at least as high as its legs are long.
    """
    joint_of = roles(skeleton)
    if not is_humanoid(skeleton):
        return max(float(extent(skeleton)[1]), leg_length(skeleton) if feet(skeleton) else 0.0)
    if rest_pose_kind(skeleton) != "no pose":
        return float(extent(skeleton)[1])
    crown = joint_of.get("head", joint_of.get("neck", 0))
    tips = [np.linalg.norm(end.offset) for end in skeleton.ends if skeleton.index[end.joint] == crown]
    return leg_length(skeleton) + chain_length(skeleton, joint_of["hips"], crown) + float(max(tips, default=0.0))


def reach(skeleton: Skeleton) -> float:
    """Metres from shoulder to hand along the bones, the mean of the arms; 0 for a body without arms."""
    joint_of = roles(skeleton)
    pairs = [
        (joint_of.get(f"{s}_upper_arm"), joint_of.get(f"{s}_hand", joint_of.get(f"{s}_lower_arm")))
        for s in ("left", "right")
    ]
    arms = [chain_length(skeleton, a, b) for a, b in pairs if a is not None and b is not None]
    return float(np.mean(arms)) if arms else 0.0


def extent(skeleton: Skeleton) -> Array:
    """(3,) metres: size of the rest pose along each axis, ends included."""
    points = np.concatenate([skeleton.rest_world[0], skeleton.rest_ends])
    return np.ptp(points, axis=0)


def feet(skeleton: Skeleton) -> tuple[Point, ...]:
    """The points a body stands on: ankles, toes and the ends below them, else the lowest ends of the rest pose.

    A body that is not humanoid may stand on more than its hind legs: on its lowest ends if its rest pose stands, else
    on its fore legs too.
    """
    joint_of = roles(skeleton)
    limbs = [joint_of[f"{which}_foot"] for which in ("left", "right") if f"{which}_foot" in joint_of]
    if not is_humanoid(skeleton):
        if rest_pose_kind(skeleton) == "no pose":
            limbs += [joint_of[f"{which}_hand"] for which in ("left", "right") if f"{which}_hand" in joint_of]
        else:
            lowest = _lowest_tips(skeleton)
            covered = (
                np.any([skeleton.below(j) for j in limbs], axis=0) if limbs else np.zeros(skeleton.num_joints, bool)
            )
            if any(not covered[skeleton.index[tip.joint]] for tip in lowest):
                return lowest
    points: list[Point] = []
    helpers = _plain_helpers(skeleton)
    for limb in limbs:
        below = skeleton.below(limb)
        points += [skeleton.point(skeleton.names[j]) for j in np.flatnonzero(below) if j not in helpers]
        points += [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
    return tuple(points) if points else _lowest_tips(skeleton)


MIN_SOLE_POINTS = 2
"""Points of a foot, before and behind its ankle, that show its sole."""

MAX_SOLE_SLOPE = 0.1
"""Height of a flat sole in lengths of it, and the width of points that lie in a row."""

MAX_SOLE_WIDTH = 0.9
"""Width of a sole in lengths of it up to which its longer side shows where it leads."""


@record
class Sole:
    """The flat sole of a foot without toes, as the points of the foot alone show it: in any pose."""

    joint: int
    """The joint that carries it."""
    points: tuple[Point, ...]
    up: Array
    """(3,) unit normal, towards the ankle, in the frame of the joint."""
    along: Array | None
    """(3,) unit direction of its longer side, forwards or backwards, in that frame; None for a square."""
    heights: dict[str, float]
    """By the names of the points: metres above the lowest of them while the sole is level."""


@lru_cache(maxsize=128)
def find_sole(skeleton: Skeleton, ankle: int) -> Sole | None:
    """The flat sole of a foot: the ends of a foot without toes, if they lie below, before and behind its ankle.

    A rest pose that stands must stand on it.
    """
    while len(skeleton.children[ankle]) == 1 and skeleton.kinds[skeleton.children[ankle][0]] is JointKind.HINGE:
        ankle = skeleton.children[ankle][0]
    below, toes = skeleton.children[ankle], {roles(skeleton).get(f"{which}_toe") for which in ("left", "right")}
    if any(skeleton.children[j] or j in toes for j in below):
        return None
    points = [end for end in skeleton.ends if end.joint == skeleton.names[ankle]]
    points += [skeleton.point(skeleton.names[j]) for j in below]
    if len(points) < MIN_SOLE_POINTS:
        return None
    places = np.array([*(end.offset for end in points[: len(points) - len(below)]), *skeleton.offsets[list(below)]])
    middle = places.mean(axis=0)
    _, sizes, axes = np.linalg.svd(places - middle)
    lengths = np.ptp((places - middle) @ axes.T, axis=0)
    if sizes[0] < 1e-9:
        return None
    in_row = lengths[1] < MAX_SOLE_SLOPE * lengths[0]
    normal = middle - (middle @ axes[0]) * axes[0] if in_row else axes[2]
    if np.linalg.norm(normal) < 1e-9 or (not in_row and lengths[2] >= MAX_SOLE_SLOPE * lengths[0]):
        return None
    up = -normal / np.linalg.norm(normal) * np.sign(normal @ middle)
    along = places @ axes[0]
    if (places @ up).max() >= 0.0 or not along.min() < 0.0 < along.max():
        return None
    heights = rotate(skeleton.rest_world[1][ankle], places)[:, 1]
    if rest_pose_kind(skeleton) != "no pose" and not (
        float(np.ptp(heights)) < MAX_SOLE_SLOPE * lengths[0] and heights.max() < 0.0
    ):
        return None
    is_long = in_row or lengths[1] < MAX_SOLE_WIDTH * lengths[0]
    levels = places @ up - (places @ up).min()
    return Sole(
        joint=ankle,
        points=tuple(points),
        up=up,
        along=axes[0] if is_long else None,
        heights={point.name: float(level) for point, level in zip(points, levels, strict=True)},
    )


def sole_points(skeleton: Skeleton, ankle: int) -> list[Point]:
    """The points of the flat sole of a foot; none if it has no such sole."""
    sole = find_sole(skeleton, ankle)
    return [] if sole is None else list(sole.points)


def hands(skeleton: Skeleton) -> tuple[Point, ...]:
    """The hands: one point for each side, the joint of the hand or the far end of the forearm."""
    joint_of = roles(skeleton)
    points: list[Point] = []
    for which in ("left", "right"):
        hand, forearm = joint_of.get(f"{which}_hand"), joint_of.get(f"{which}_lower_arm")
        if hand is not None:
            points.append(skeleton.point(skeleton.names[hand]))
        elif forearm is not None:
            points += [end for end in skeleton.ends if skeleton.index[end.joint] == forearm][:1]
    return tuple(points)


def hip_centre(skeleton: Skeleton) -> Point:
    """The mean of the hip joints, fixed to the hips; the root if the roles are unknown."""
    joint_roles = roles(skeleton)
    hips = joint_roles.get("hips", 0)
    name = skeleton.names[hips]
    uppers = [joint_roles[key] for key in ("left_upper_leg", "right_upper_leg") if key in joint_roles]
    if len(uppers) < 2 or not all(skeleton.below(hips)[upper] for upper in uppers):
        return skeleton.point(name)
    positions, rotations = skeleton.rest_world
    offset = unrotate(rotations[hips], positions[uppers].mean(axis=0) - positions[hips])
    return Point(name=f"{name}_centre", joint=name, offset=offset)


def crown_point(skeleton: Skeleton) -> Point | None:
    """The top of the head, or of the neck if no joint is the head; None without either."""
    joint_roles = roles(skeleton)
    head = joint_roles.get("head", joint_roles.get("neck"))
    if head is None:
        return None
    ends = [end for end in skeleton.ends if skeleton.index[end.joint] == head]
    return max(ends, key=lambda end: float(np.linalg.norm(end.offset)), default=skeleton.point(skeleton.names[head]))


def rest_positions(skeleton: Skeleton, points: Sequence[Point]) -> Array:
    """(P, 3) metres, world: positions of points in the rest pose."""
    positions, rotations = skeleton.rest_world
    return Pose(skeleton=skeleton, positions=positions[None], rotations=rotations[None]).points(points)[0]


@lru_cache(maxsize=64)
def rest_pose_kind(skeleton: Skeleton) -> str:
    """The kind of a human's rest pose: "T-pose", "A-pose", "arms down", "other pose" or "no pose".

    "No pose" means that the rest pose does not stand. Bodies that are not human are "not humanoid".
    """
    joint_of = roles(skeleton)
    if any(part not in joint_of for part in HUMAN_ROLES) or _stands_on_all_fours(skeleton, joint_of):
        return "not humanoid"
    trunk, legs = _rest_trunk(skeleton, joint_of), _rest_legs(skeleton, joint_of)
    leg = legs.sum(axis=0)
    if trunk[1] < 0.8 * np.linalg.norm(trunk) or leg[1] > -0.7 * np.linalg.norm(leg):
        return "no pose"
    positions = skeleton.rest_world[0]
    hips, shoulders = _rest_sides(skeleton, joint_of)
    # Zero rotations of arbitrary joint frames may look upright by chance, but not with both legs and all sides right.
    if np.any(legs[:, 1] > -0.5 * np.linalg.norm(legs, axis=1)) or float(hips @ shoulders) < 0.0:
        return "no pose"
    drops = []
    for which in ("left", "right"):
        far = joint_of.get(f"{which}_hand", joint_of[f"{which}_lower_arm"])
        arm = positions[far] - positions[joint_of[f"{which}_upper_arm"]]
        drops.append(np.degrees(np.arcsin(np.clip(-arm[1] / max(float(np.linalg.norm(arm)), 1e-9), -1.0, 1.0))))
    if max(drops) - min(drops) > 20.0:
        return "other pose"
    drop = float(np.mean(drops))
    return (
        "T-pose" if abs(drop) < 20.0 else "A-pose" if 20.0 <= drop < 65.0 else "arms down" if drop > 0 else "other pose"
    )


MAX_COMPARED_FRAMES = 24
"""Frames of a motion, evenly spread, with which a rest pose is compared."""

MAX_REST_POSE_ERROR = 0.3
"""Median distance of the joints of a rest pose from those of the nearest frame of a motion, in radii of the body, above
which it is no pose of this body. Bind poses of public animals have up to 0.15, arbitrary rotations 0.38 and more."""


MIN_STRETCH_SIZES = 0.01
"""Change of a bone's length, in sizes of the body, that is more than a rounding of its file."""


def rest_pose_fits(motion: Motion) -> bool:
    """Whether the rest pose of a body that is no human is like some pose of its motion; True if bones change length.

    The offset of one joint, the hips on a root, may change: it is where the body is.
    """
    if motion.offsets is not None:
        changes = np.linalg.norm(motion.offsets[:, 1:] - motion.skeleton.offsets[1:], axis=-1).max(axis=0)
        if np.sum(changes > MIN_STRETCH_SIZES * float(np.max(extent(motion.skeleton)))) > 1:
            return True
    frames = np.unique(np.linspace(0, motion.num_frames - 1, MAX_COMPARED_FRAMES).astype(int))
    rest = motion.skeleton.rest_world[0]
    rest = rest - rest.mean(axis=0)
    errors = []
    for positions in fk(motion[frames]).positions:
        pose = positions - positions.mean(axis=0)
        left, _, right = np.linalg.svd(rest.T @ pose)
        turn = left @ np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))]) @ right
        radius = max(float(np.sqrt(np.mean(np.sum(pose**2, axis=1)))), 1e-9)
        errors.append(float(np.median(np.linalg.norm(rest @ turn - pose, axis=1))) / radius)
    return min(errors) < MAX_REST_POSE_ERROR


def facing(motion: Motion) -> Array:
    """(F, 3) the horizontal direction a body faces at each frame: at right angles to the line between its sides.

    A body without sides faces its direction of travel, or +Z if it does not travel.
    """
    skeleton = motion.skeleton
    pairs = _side_pairs(skeleton)
    across = np.zeros((motion.num_frames, 3))
    if pairs:
        # Only the joints that show it are computed, and those above them.
        paths = paths_of(motion, [joint for pair in pairs for joint in pair])
        for number in range(len(pairs)):
            across += paths[:, 2 * number] - paths[:, 2 * number + 1]
    forward = cross(across, UP)
    size = np.linalg.norm(forward, axis=-1, keepdims=True)
    travel = (motion.root[-1] - motion.root[0]) * [1.0, 0.0, 1.0]
    spare = travel / np.linalg.norm(travel) if np.linalg.norm(travel) > 1e-6 else np.array([0.0, 0.0, 1.0])
    return np.where(size > 1e-6, forward / np.maximum(size, 1e-12), spare)


def _side_pairs(skeleton: Skeleton) -> list[tuple[int, int]]:
    """Pairs of joints (left, right) that define the direction across: hips and shoulders, else all pairs."""
    joint_of = roles(skeleton)
    parts = [p for p in ("upper_leg", "upper_arm") if f"left_{p}" in joint_of and f"right_{p}" in joint_of]
    if parts:
        return [(joint_of[f"left_{p}"], joint_of[f"right_{p}"]) for p in parts]
    pair = partners(skeleton)
    x = skeleton.rest_world[0][:, 0]
    return [(j, int(k)) for j, k in enumerate(pair) if k != j and x[j] > x[k]]


def _rest_trunk(skeleton: Skeleton, joint_of: dict[str, int]) -> Array:
    positions = skeleton.rest_world[0]
    top = joint_of.get("neck", joint_of.get("head", joint_of["left_upper_arm"]))
    return positions[top] - positions[joint_of["hips"]]


def _rest_legs(skeleton: Skeleton, joint_of: dict[str, int]) -> Array:
    """(2, 3) from the hip joint to the ankle of the left and right leg."""
    positions = skeleton.rest_world[0]
    return np.array(
        [positions[joint_of[f"{s}_foot"]] - positions[joint_of[f"{s}_upper_leg"]] for s in ("left", "right")]
    )


def _rest_sides(skeleton: Skeleton, joint_of: dict[str, int]) -> tuple[Array, Array]:
    """(3,) from right to left across the hips and across the shoulders."""
    positions = skeleton.rest_world[0]
    hips, shoulders = (
        positions[joint_of[f"left_{part}"]] - positions[joint_of[f"right_{part}"]]
        for part in ("upper_leg", "upper_arm")
    )
    return hips, shoulders


def _limb_length(skeleton: Skeleton, tip: Point) -> float:
    """Metres from a tip up to the joint where its limb branches off."""
    joint = skeleton.index[tip.joint]
    length = float(np.linalg.norm(tip.offset))
    if joint in leaf_helpers(skeleton):
        length, joint = length + float(skeleton.lengths[joint]), int(skeleton.parents[joint])
    while skeleton.parents[joint] >= 0 and _carries_one(skeleton, int(skeleton.parents[joint])):
        length += float(skeleton.lengths[joint])
        joint = int(skeleton.parents[joint])
    return length


def _plain_helpers(skeleton: Skeleton) -> set[int]:
    """Helper bones at the ends of the tree that are not the far end of a bone either."""
    return {joint for joint in leaf_helpers(skeleton) if not is_end_bone(skeleton, joint)}


def _carries_one(skeleton: Skeleton, joint: int) -> bool:
    """Whether exactly one bone hangs from a joint, beside helper bones."""
    return sum(child not in leaf_helpers(skeleton) for child in skeleton.children[joint]) == 1


def _lowest_tips(skeleton: Skeleton) -> tuple[Point, ...]:
    """Ends, and leaf joints without one, that lie within a tenth of the body's height of its lowest point."""
    helpers = _plain_helpers(skeleton)
    ended = {end.joint for end in skeleton.ends}
    tips = list(skeleton.ends)
    tips += [
        skeleton.point(name)
        for joint, (name, children) in enumerate(zip(skeleton.names, skeleton.children))
        if joint not in helpers and name not in ended and helpers.issuperset(children)
    ]
    if not tips or len(tips) == 1:
        return tuple(tips)
    joints, offsets = locate(skeleton, tips)
    positions, rotations = skeleton.rest_world
    heights = (positions[joints] + rotate(rotations[joints], offsets))[:, 1]
    limit = heights.min() + 0.1 * max(float(extent(skeleton)[1]), 1e-9)
    return tuple(tip for tip, at in zip(tips, heights) if at <= limit)


HALF_TURN_ABOUT_X = np.array([0.0, 1.0, 0.0, 0.0])
"""The reflection at x = 0 is this half turn about X followed by a point reflection."""

MAX_ASYMMETRY_SIZES = 0.05
"""Greatest distance, in body sizes, of joints from the mirror images of their partners in a symmetric rest pose."""


@record
class Symmetry:
    """The mirror symmetry of a body."""

    partners: np.ndarray
    """(J,) the joint on the other side; a joint in the middle is its own partner."""
    turns: Array
    """(J, 4) rotation from a partner's frame to the mirrored frame, up to a point reflection."""


@lru_cache(maxsize=64)
def partners(skeleton: Skeleton) -> np.ndarray:
    """(J,) each joint's partner on the other side, from names, else from positions in the rest pose."""
    partner = np.arange(skeleton.num_joints)
    by_words: dict[tuple[str, ...], list[int]] = {}
    for joint, name in enumerate(skeleton.names):
        by_words.setdefault(words(name), []).append(joint)
    for joint, name in enumerate(skeleton.names):
        others = by_words.get(mirrored(name), []) if side(name) else []
        # Some rigs have both `__UpLeg_L` and `UpLeg_L`: the number of underscores distinguishes them.
        others = sorted(others, key=lambda j: abs(skeleton.names[j].count("_") - name.count("_")))
        if others:
            partner[joint] = others[0]
    if np.all(partner == np.arange(skeleton.num_joints)):
        partner = _partners_by_place(skeleton)
        for role, name in skeleton.role_joints.items():
            # Collars may begin in the middle of the body, where places do not tell sides.
            other = skeleton.role_joints.get(f"right{role.removeprefix('left')}") if role.startswith("left_") else None
            if other is not None:
                left, right = skeleton.index[name], skeleton.index[other]
                partner[left], partner[right] = right, left
    # The parents of partners must be partners. Parents come first, so one pass is enough.
    for joint, parent in enumerate(skeleton.parents):
        other = partner[joint]
        fits = partner[other] == joint and (parent < 0 or skeleton.parents[other] == partner[parent])
        if not fits:
            partner[joint] = joint
            if partner[other] == joint:
                partner[other] = other
    partner.setflags(write=False)
    return partner


def symmetry(motion: Motion) -> Symmetry:
    """The mirror symmetry of the body of a motion.

    A symmetric rest pose defines it. Otherwise each axis of a joint's frame is tried as the mirror normal, and the one
    is kept under which the left side moves most like the mirrored right side over the clip.
    """
    skeleton = motion.skeleton
    pair = partners(skeleton)
    if np.all(pair == np.arange(skeleton.num_joints)) and skeleton.num_joints > 1:
        raise SkeletonError(
            "No joint has a partner on the other side: names do not tell left from right and the rest pose is "
            "not symmetric about x = 0",
        )
    normal = _rest_normal(skeleton, pair)
    if normal is not None:
        plane = _half_turn(normal)
        world = skeleton.rest_world[1]
        turns = multiply(multiply(conjugate(world[pair]), plane), world)
    else:
        turns = _turns_by_movement(motion, pair)
    return Symmetry(partners=pair, turns=turns)


def mirror(motion: Motion, how: Symmetry | None = None) -> Motion:
    """The mirror image of a motion at the plane x = 0, on the same body: left and right sides are exchanged.

    Args:
        motion: Any motion of a body with two sides.
        how: The body's symmetry; computed from the motion if not given.
    """
    how = how or symmetry(motion)
    pair, turns = how.partners, how.turns
    parents = motion.skeleton.parents
    rotations = multiply(motion.rotations[:, pair], turns)
    rotations[:, 1:] = multiply(conjugate(turns[parents[1:]]), rotations[:, 1:])
    rotations[:, 0] = multiply(HALF_TURN_ABOUT_X, rotations[:, 0])
    offsets = None
    if motion.offsets is not None:
        offsets = motion.offsets[:, pair].copy()
        offsets[:, 1:] = -rotate(conjugate(turns[parents[1:]]), offsets[:, 1:])
    return replace(motion, root=motion.root * [-1.0, 1.0, 1.0], rotations=rotations, offsets=offsets)


def _half_turn(normal: Array) -> Array:
    return np.concatenate([[0.0], normal])


def _partners_by_place(skeleton: Skeleton) -> np.ndarray:
    """Partners by position: joints of the same depth that are nearest to each other's mirror image at the root."""
    joints = np.arange(skeleton.num_joints)
    if skeleton.num_joints > 2000:
        return joints
    places = skeleton.rest_world[0] - skeleton.rest_world[0][0]
    size = max(float(np.ptp(places, axis=0).max()), 1e-9)
    normal = _normal_of_roles(skeleton)
    images = places - 2.0 * (places @ normal)[:, None] * normal
    apart = np.linalg.norm(images[:, None] - places[None], axis=-1)
    apart[skeleton.depths[:, None] != skeleton.depths[None]] = np.inf
    middle = np.abs(places @ normal) < 0.01 * size
    apart[middle] = np.inf
    apart[:, middle] = np.inf
    nearest = np.argmin(apart, axis=1)
    mutual = (nearest[nearest] == joints) & (apart[joints, nearest] < MAX_ASYMMETRY_SIZES * size)
    return np.where(mutual, nearest, joints)


def _normal_of_roles(skeleton: Skeleton) -> Array:
    """(3,) the level direction from right to left of the roles that a skeleton gives itself; along X without them."""
    across = np.zeros(3)
    places, named = skeleton.rest_world[0], skeleton.role_joints
    for role, name in named.items():
        other = named.get(f"right{role.removeprefix('left')}") if role.startswith("left_") else None
        if other is not None:
            across += places[skeleton.index[name]] - places[skeleton.index[other]]
    across[1] = 0.0
    length = float(np.linalg.norm(across))
    return across / length if length > 1e-9 else np.array([1.0, 0.0, 0.0])


def _rest_normal(skeleton: Skeleton, pair: np.ndarray) -> Array | None:
    """(3,) the normal of the plane about which the rest pose is symmetric, or None if it is not symmetric.

    The pose must also be upright and not flat: a skeleton whose bones all point one way is symmetric by position only.
    """
    places = skeleton.rest_world[0] - skeleton.rest_world[0][0]
    sided = np.flatnonzero(pair != np.arange(len(pair)))
    across = places[sided] - places[pair[sided]]
    size = max(float(np.ptp(places, axis=0).max()), 1e-9)
    spread = np.linalg.svd(across, full_matrices=False)
    if len(sided) == 0 or spread[1][0] < 1e-6 * size:
        return np.array([1.0, 0.0, 0.0]) if len(pair) == 1 else None
    normal = spread[2][0]
    normal = np.eye(3)[np.argmax(np.abs(normal))] if np.max(np.abs(normal)) > 0.999 else normal
    image = places[pair] - 2.0 * np.outer(places[pair] @ normal, normal)
    off = np.linalg.norm(image - places, axis=-1)
    upright = abs(normal[1]) < 0.3 and float(np.ptp(places[:, 1])) > 0.25 * size
    return normal if np.median(off) < MAX_ASYMMETRY_SIZES * size and upright else None


def _turns_by_movement(motion: Motion, pair: np.ndarray) -> Array:
    """(J, 4) for each joint the mirror of its axes under which partners move most alike over the clip."""
    skeleton = motion.skeleton
    step = max(motion.num_frames // 200, 1)
    pose = fk(motion[::step])
    sided = np.flatnonzero((pair != np.arange(len(pair))) & (np.arange(len(pair)) < pair))
    across = (pose.positions[:, sided] - pose.positions[:, pair[sided]]).sum(1)
    across[:, 1] = 0.0
    across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
    planes = np.eye(3) - 2.0 * np.einsum("fi,fj->fij", across, across)
    world = to_matrix(pose.rotations)
    mirrors = [np.diag(np.where(np.arange(3) == axis, -1.0, 1.0)) for axis in range(3)] + [-np.eye(3)]
    image = np.einsum("fij,fkjl->fkil", planes, world[:, pair])
    scores = np.stack([np.einsum("fkij,fkij->k", image @ m, world) for m in mirrors], -1)
    scores += scores[pair]
    scores -= 2.0 * len(world) * _bone_mismatch(skeleton, pair, mirrors)
    best = np.array(mirrors)[np.argmax(scores, axis=-1)]
    return from_matrix(-best)


def _bone_mismatch(skeleton: Skeleton, pair: np.ndarray, mirrors: list[Array]) -> Array:
    """(J, C) error of each candidate mirror in taking a joint's bones to its partner's, in bone lengths."""
    out = np.zeros((skeleton.num_joints, len(mirrors)))
    for joint, children in enumerate(skeleton.children):
        for child in children:
            length = max(float(skeleton.lengths[child]), 1e-9)
            for i, m in enumerate(mirrors):
                off = np.linalg.norm(m @ skeleton.offsets[child] - skeleton.offsets[pair[child]])
                out[joint, i] += min(off / length, 1.0) if length > 1e-8 else 0.0
    return out + out[pair]
