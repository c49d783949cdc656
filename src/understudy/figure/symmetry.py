"""Left-right symmetry: pairs of joints, and the mirror image of a motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array, conjugate, from_matrix, multiply, rotate, to_matrix
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import mirrored, side, words
from understudy.figure.skeleton import Skeleton

HALF_TURN_ABOUT_X = np.array([0.0, 1.0, 0.0, 0.0])
"""The reflection at x = 0 is this half turn about X followed by a point reflection."""

MAX_ASYMMETRY_SIZES = 0.05
"""Greatest distance, in body sizes, of joints from the mirror images of their partners in a symmetric rest pose."""


@dataclass(frozen=True, eq=False, kw_only=True)
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
