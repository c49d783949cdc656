"""Bodies with another tree than a body has: given an ordinary tree for the solve, and their own again after it.

**Detached feet.** A rig for inverse kinematics holds foot and leg together by constraints that are not in its file.
The foot is a child of the ground, the shin ends where the foot begins, and no rotation of the leg moves the foot.
Attached to the shin it is an ordinary foot. After detaching, its position is written frame by frame, as in the rig's
own clips.

**Chests that carry the hips.** The root of many robots is the chest, and the legs hang from it by the joints of the
waist. The tree is turned round, so that the pelvis carries the chest by the same joints: it plays the hips, and the
waist bends as a spine does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import conjugate, continuous, multiply, rotate, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import label, roles, side
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

MAX_GAP_SHARE = 0.01
"""Largest gap between the end of a leg and the start of its foot, as a share of the body's size."""


@lru_cache(maxsize=64)
def find_detached_feet(skeleton: Skeleton) -> dict[str, str]:
    """The joints that lie at the end of a bone but do not hang from it, each with that bone; usually none."""
    positions, ends = skeleton.rest_world[0], skeleton.rest_ends
    gap = MAX_GAP_SHARE * max(float(np.ptp(positions, axis=0).max()), 1e-9)
    feet: dict[str, str] = {}
    for end, tip in zip(skeleton.ends, ends, strict=True):
        bone = skeleton.index[end.joint]
        if skeleton.children[bone] or not side(end.joint):
            continue
        for joint in np.flatnonzero(np.linalg.norm(positions - tip, axis=-1) < gap).tolist():
            apart = joint not in skeleton.chain(bone) and skeleton.parents[joint] in skeleton.chain(bone)[:-1]
            same_side = side(skeleton.names[joint]) == side(end.joint)
            # A joint without children and ends is a handle, not a foot.
            has_bone = bool(skeleton.children[joint]) or any(e.joint == skeleton.names[joint] for e in skeleton.ends)
            if apart and same_side and has_bone and np.linalg.norm(positions[bone] - tip) > gap:
                feet[skeleton.names[joint]] = end.joint
    return feet


MIN_RAISED_SHARE = 0.25
"""Height of the top of a detached limb above the root, as a share of the body's size."""

MAX_SIBLING_GAP_SHARE = 0.05
"""How much farther a piece may be from a bone than from another piece that hangs from that bone, in the body's size."""

MIN_CHEST_SHARE = 0.15
"""Height of the origin of a chest above the hip joints, as a share of the height of the shoulders above them."""

MAX_LIMB_GAP_SHARE = 0.12
"""Largest gap between a detached limb and the bone that it belongs to, as a share of the body's size."""


COLLAR_LABELS = ("shoulder", "collar_or_arm")
"""What the name of a collar bone suggests."""


@lru_cache(maxsize=64)
def find_detached_limbs(skeleton: Skeleton) -> dict[str, str]:
    """The first joints of limbs that hang from a root on the floor, each with the bone of the body that it belongs to.

    Exporters that leave out control bones cut a rig into pieces: spine, legs, arms, fingers and face all hang from the
    armature. Each piece belongs to the nearest bone of the piece next to it, beginning with the spine.
    """
    legs = [roles(skeleton).get(f"{which}_upper_leg") for which in ("left", "right")]
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    tops = find_pieces(skeleton)
    # Roles that were found by the shape of the body are no help where the body has none.
    if any(leg not in tops for leg in legs) or (skeleton.role_joints and not skeleton.roles_given):
        return {}
    middle = [j for j in tops if not side(skeleton.names[j])]
    spine = max(middle, key=lambda j: int(skeleton.below(j).sum()), default=None)
    if spine is None or spine in legs:
        return {}
    piece_of = np.where(skeleton.below(spine), spine, -1)
    arm_of = _arms_on_collars(skeleton, tops)
    waiting = [j for j in tops if j != spine and j not in arm_of.values()]
    limbs: dict[int, int] = {}
    while waiting:
        gap, top, bone = min(_nearest_bone(skeleton, top, piece_of) for top in waiting)
        if gap > MAX_LIMB_GAP_SHARE * size:
            break
        # Pieces that lie side by side, as fingers and the bones of a face do, hang from one bone.
        while piece_of[bone] != spine:
            above = limbs[int(piece_of[bone])]
            near = np.where(piece_of == piece_of[above], piece_of, -1)
            if _nearest_bone(skeleton, top, near)[0] > gap + MAX_SIBLING_GAP_SHARE * size:
                break
            bone = above
        waiting.remove(top)
        for piece, carrier in ((top, bone), (arm_of.get(top), top)):
            if piece is not None:
                limbs[piece] = carrier
                piece_of[skeleton.below(piece)] = piece
    return {skeleton.names[top]: skeleton.names[bone] for top, bone in limbs.items()}


def _arms_on_collars(skeleton: Skeleton, tops: Sequence[int]) -> dict[int, int]:
    """The arm that belongs to each collar bone, for pieces that are collar bones by name: they have no bone but it."""
    arms = {which: roles(skeleton).get(f"{which}_upper_arm") for which in ("left", "right")}
    result: dict[int, int] = {}
    for top in tops:
        arm = arms.get(side(skeleton.names[top]))
        if (
            arm is not None
            and arm in tops
            and arm != top
            and label(skeleton.names[top]) in COLLAR_LABELS
            and not skeleton.children[top]
        ):
            result[top] = arm
    return result


def find_pieces(skeleton: Skeleton) -> list[int]:
    """The joints that hang from a root far below them: the hips alone, unless the body is cut into pieces."""
    heights = skeleton.rest_world[0][:, 1] - skeleton.rest_world[0][0, 1]
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    return [joint for joint in skeleton.children[0] if heights[joint] > MIN_RAISED_SHARE * size]


def _nearest_bone(skeleton: Skeleton, top: int, piece_of: np.ndarray) -> tuple[float, int, int]:
    """The gap between a joint and the nearest bone of some pieces, the joint, and the joint of that bone.

    A bone of the other side is not considered.
    """
    starts, ends, owners = _segments(skeleton, piece_of >= 0)
    point, which = skeleton.rest_world[0][top], side(skeleton.names[top])
    along = ends - starts
    shares = np.einsum("ni,ni->n", point - starts, along) / np.maximum(np.einsum("ni,ni->n", along, along), 1e-12)
    gaps = np.linalg.norm(point - starts - np.clip(shares, 0.0, 1.0)[:, None] * along, axis=-1)
    gaps[[side(skeleton.names[joint]) not in ("", which) for joint in owners]] = np.inf
    nearest = int(np.argmin(gaps)) if len(gaps) else -1
    return (float(gaps[nearest]), top, owners[nearest]) if nearest >= 0 else (np.inf, top, -1)


def _segments(skeleton: Skeleton, body: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """(N, 3) starts and (N, 3) ends of the bones of a body, and the joints that move them."""
    positions = skeleton.rest_world[0]
    joints = [j for j in np.flatnonzero(body).tolist() if j > 0]
    pairs = [(int(skeleton.parents[j]), positions[j]) for j in joints if body[skeleton.parents[j]]]
    pairs += [(skeleton.index[e.joint], tip) for e, tip in zip(skeleton.ends, skeleton.rest_ends)]
    pairs = [(joint, end) for joint, end in pairs if body[joint]]
    # The last joint of a piece comes before the bone that ends there: fingers hang from the hand.
    pairs = [(j, positions[j]) for j in joints if not skeleton.children[j]] + pairs
    owners = [joint for joint, _ in pairs]
    return positions[owners], np.array([end for _, end in pairs]).reshape(-1, 3), owners


@lru_cache(maxsize=64)
def attach(skeleton: Skeleton) -> Skeleton:
    """The skeleton with an ordinary tree: no detached limbs, no chest that carries the hips; the same if it has one.

    The rest pose is the same. The order of joints may change, since parents come before children. Where a joint of the
    trunk carries what carried it before, its origin is the joint between the two.
    """
    return _root_at_hips(_attach_pieces(skeleton))


def _attach_pieces(skeleton: Skeleton) -> Skeleton:
    """The skeleton with detached feet and limbs attached to the bones that they belong to."""
    feet = find_detached_feet(skeleton) | find_detached_limbs(skeleton)
    if not feet:
        return skeleton
    parent = {name: int(skeleton.parents[j]) for j, name in enumerate(skeleton.names)}
    parent |= {foot: skeleton.index[bone] for foot, bone in feet.items()}
    order = _parents_first([parent[name] for name in skeleton.names])
    new_index = {old: new for new, old in enumerate(order)}
    names = [skeleton.names[j] for j in order]
    parents = np.array([new_index.get(parent[name], -1) for name in names])
    positions, rotations = (values[order] for values in skeleton.rest_world)
    offsets, rest = positions.copy(), rotations.copy()
    offsets[1:] = unrotate(rotations[parents[1:]], positions[1:] - positions[parents[1:]])
    rest[1:] = multiply(conjugate(rotations[parents[1:]]), rotations[1:])
    unmoved = np.array([name not in feet for name in names])
    old_index = np.array(order)
    offsets[unmoved], rest[unmoved] = skeleton.offsets[old_index[unmoved]], skeleton.rest[old_index[unmoved]]
    return replace(
        skeleton, names=tuple(names), parents=parents, offsets=offsets, rest=rest,
        kinds=tuple(skeleton.kinds[j] for j in order), axes=skeleton.axes[old_index], limits=skeleton.limits[old_index],
        # The bone now ends at the foot and needs no end point.
        ends=tuple(end for end in skeleton.ends if end.joint not in feet.values()),
    )  # fmt: skip


@lru_cache(maxsize=64)
def find_waist(skeleton: Skeleton) -> tuple[str, ...]:
    """The joints from the chest down to the pelvis of a body whose chest carries its legs; empty for other bodies.

    Arms and legs of such a body meet in the chest. The arms meet nowhere else, the legs in a joint below it.
    """
    joint_of = roles(skeleton)
    parts = [f"{which}_upper_{limb}" for limb in ("arm", "leg") for which in ("left", "right")]
    tops = [joint_of[part] for part in parts if part in joint_of]
    chains = [skeleton.chain(top)[:-1] for top in tops]
    if len(chains) < len(parts) or not all(chains):
        return ()
    arms, legs = ([joint for joint in one if joint in other] for one, other in (chains[:2], chains[2:]))
    chest, waist = arms[-1], legs[legs.index(arms[-1]) :] if arms[-1] in legs else []
    moves = any(NUM_AXES[skeleton.kinds[joint]] for joint in waist[1:])
    # What carries the chest, if anything does, lets it turn freely, as a root on the floor does.
    is_free = skeleton.kinds[chest] in (JointKind.FREE, JointKind.BALL) and np.all(np.isinf(skeleton.limits[chest]))
    if len(waist) < 2 or not (moves and is_free):
        return ()
    positions = skeleton.rest_world[0]
    shoulders, hips = positions[tops[:2]].mean(axis=0), positions[tops[2:]].mean(axis=0)
    # A joint on the floor or in the pelvis is no chest: it carries a spine that has no joints.
    rise = float((positions[chest] - hips) @ (shoulders - hips)) / max(float(np.sum((shoulders - hips) ** 2)), 1e-12)
    return tuple(skeleton.names[joint] for joint in waist) if rise > MIN_CHEST_SHARE else ()


def _root_at_hips(skeleton: Skeleton) -> Skeleton:
    """The skeleton with a pelvis that carries the chest, if its chest carries the pelvis."""
    waist = [skeleton.index[name] for name in find_waist(skeleton)]
    if not waist:
        return skeleton
    chest, pelvis, parents = waist[0], waist[-1], skeleton.parents.tolist()
    offsets, rest, axes, limits = (
        values.copy() for values in (skeleton.offsets, skeleton.rest, skeleton.axes, skeleton.limits)
    )
    kinds, shifts = list(skeleton.kinds), {}
    for upper, lower in pairwise(waist):
        # The joint at which `upper` carries `lower` becomes the joint of `upper`: the inverse of its rotation.
        used = NUM_AXES[skeleton.kinds[lower]]
        parents[upper], kinds[upper] = lower, skeleton.kinds[lower]
        rest[upper] = conjugate(skeleton.rest[lower])
        axes[upper] = 0.0
        axes[upper, :used] = -rotate(skeleton.rest[lower], skeleton.axes[lower, :used])[::-1]
        limits[upper] = [-np.inf, np.inf]
        limits[upper, :used] = skeleton.limits[lower, :used][::-1]
        shifts[upper] = skeleton.offsets[lower]
    for joint in range(skeleton.num_joints):
        parent = parents[joint]
        if joint in shifts:
            offsets[joint] = -shifts.get(parent, np.zeros(3))
        elif parent in shifts:
            offsets[joint] = skeleton.offsets[joint] - shifts[parent]
    above = parents[pelvis] = int(skeleton.parents[chest])
    kinds[pelvis], axes[pelvis], limits[pelvis] = (
        values[chest] for values in (skeleton.kinds, skeleton.axes, skeleton.limits)
    )
    offsets[pelvis], rest[pelvis] = (values[pelvis] for values in skeleton.rest_world)
    if above >= 0:
        place, turn = (values[above] for values in skeleton.rest_world)
        offsets[pelvis], rest[pelvis] = unrotate(turn, offsets[pelvis] - place), multiply(conjugate(turn), rest[pelvis])
    order = _parents_first(parents)
    new_index = {old: new for new, old in enumerate(order)} | {-1: -1}
    ends = tuple(
        replace(end, offset=end.offset - shifts[skeleton.index[end.joint]])
        if skeleton.index[end.joint] in shifts
        else end
        for end in skeleton.ends
    )
    return replace(
        skeleton, names=tuple(skeleton.names[j] for j in order),
        parents=np.array([new_index[parents[j]] for j in order]), offsets=offsets[order],
        rest=rest[order], kinds=tuple(kinds[j] for j in order), axes=axes[order], limits=limits[order], ends=ends,
    )  # fmt: skip


def describe_detached_feet(skeleton: Skeleton) -> str:
    """A note about a skeleton with another tree than a body has; empty if its tree is an ordinary one."""
    waist = find_waist(skeleton)
    if waist:
        return (
            f"its chest `{waist[0]}` carries `{waist[-1]}`, from which the legs hang: `{waist[-1]}` plays the hips, "
            "and the joints between them bend as a spine does."
        )
    limbs = find_detached_limbs(skeleton)
    if limbs:
        pairs = [f"`{limb}` on `{bone}`" for limb, bone in limbs.items()]
        more = f" and {len(pairs) - 4} more" if len(pairs) > 4 else ""
        return (
            f"the body is cut into pieces that all hang from `{skeleton.names[0]}`: they move as one, "
            f"{', '.join(pairs[:4])}{more}, and their positions are written frame by frame."
        )
    feet = find_detached_feet(skeleton)
    if not feet:
        return ""
    names = ", ".join(f"`{foot}`" for foot in sorted(feet))
    return (
        f"{names} hang apart from the legs, for inverse kinematics: they move with the legs, and their positions are "
        "written frame by frame."
    )


def _parents_first(parents: Sequence[int]) -> list[int]:
    """Sort joints so that parents come first, otherwise in their old order."""
    result: list[int] = []
    waiting = list(range(len(parents)))
    while waiting:
        next_joint = next(j for j in waiting if parents[j] < 0 or parents[j] in result)
        result.append(next_joint)
        waiting.remove(next_joint)
    return result


def change_parents(motion: Motion, skeleton: Skeleton) -> Motion:
    """The same movement on a skeleton with the same joints but other parents.

    World positions and rotations stay the same; positions that the rotations do not give are written as offsets, frame
    by frame. Joints of the trunk whose origin is elsewhere in the rest pose of the other skeleton are there in the
    motion, too.

    Args:
        motion: A motion of the body.
        skeleton: The result of `attach` for the motion's skeleton, or the skeleton before `attach`.
    """
    if motion.skeleton is skeleton:
        return motion
    if set(motion.skeleton.names) != set(skeleton.names):
        raise SkeletonError(
            f"Expected the joints of `{motion.skeleton.name}` with other parents; "
            f"these differ: {', '.join(sorted(set(motion.skeleton.names) ^ set(skeleton.names))[:4])}"
        )
    order = [motion.skeleton.index[name] for name in skeleton.names]
    pose = fk(motion)
    positions, rotations = pose.positions[:, order], pose.rotations[:, order]
    waist = find_waist(skeleton) or find_waist(motion.skeleton)
    if find_waist(skeleton) != find_waist(motion.skeleton):
        moved = [skeleton.index[name] for name in waist]
        before, after = motion.skeleton.rest_world[0][order][moved], skeleton.rest_world[0][moved]
        positions[:, moved] += rotate(rotations[:, moved], unrotate(skeleton.rest_world[1][moved], after - before))
    parents = skeleton.parents[1:]
    local, offsets = rotations.copy(), positions.copy()
    local[:, 1:] = multiply(conjugate(rotations[:, parents]), rotations[:, 1:])
    offsets[:, 1:] = unrotate(rotations[:, parents], positions[:, 1:] - positions[:, parents])
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    moving = np.abs(offsets - skeleton.offsets).max(axis=(0, 2)) > 1e-7 * size
    moving[0] = False
    offsets[:, ~moving] = skeleton.offsets[~moving]
    return replace(
        motion, skeleton=skeleton, root=positions[:, 0], rotations=continuous(local),
        offsets=offsets if moving.any() else None,
    )  # fmt: skip
