"""World matrices of joints, as other libraries give them, converted to a skeleton and a motion.

A joint's matrix may contain scale, shear or mirroring. What remains after the rotation is removed is its `stretch`:
world_from_joint = (position, rotation) * stretch. The stretch is assumed to be the same in all frames.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import Array, conjugate, continuous, from_matrix, multiply, to_matrix, unrotate
from understudy.base.records import record
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton

MIN_DETERMINANT = 1e-30
"""A matrix with a smaller determinant counts as singular."""

MAX_SCALE_DIFFERENCE = 1e-3
"""Relative difference of the scales along a joint's axes above which its orientation is only approximate."""

MAX_ROUNDING_PER_BODY_SIZE = 5e-6
"""An animated joint that differs less than this from its bind position, in body sizes, is taken to be there."""

MIN_SCALE_CHANGE = 1e-2
"""Relative change of a joint's scale above which a note reports it."""

MAX_BIND_SIZE_RATIO = 1.5
"""How many times longer or shorter a bind pose may be than the pose in the file."""


@record
class Rig:
    """The joints of a file in their bind pose, in metres with Y up."""

    names: tuple[str, ...]
    parents: np.ndarray
    """(J,) parents before children."""
    bound: Array
    """(J, 4, 4) world from joint in the bind pose."""
    stretches: Array
    """(J, 3, 3) the rest of each joint's matrix without its rotation."""
    notes: tuple[str, ...] = ()

    def skeleton(self, name: str, ends: Sequence[Point] = ()) -> Skeleton:
        """The skeleton whose rest pose is the bind pose."""
        rotations, positions = _rotations(self.bound, self.stretches), self.bound[:, :3, 3]
        offsets, rest = positions.copy(), rotations.copy()
        parents = self.parents[1:]
        offsets[1:] = unrotate(rotations[parents], positions[1:] - positions[parents])
        rest[1:] = multiply(conjugate(rotations[parents]), rotations[1:])
        return Skeleton(names=self.names, parents=self.parents, offsets=offsets, rest=rest, ends=tuple(ends), name=name)

    def motion(self, skeleton: Skeleton, worlds: Array, fps: float, name: str) -> tuple[Motion, list[str]]:
        """The motion of world matrices (F, J, 4, 4), and notes on what a motion cannot hold."""
        world_rotations, positions = _rotations(worlds, self.stretches), worlds[..., :3, 3]
        rotations, offsets = local_from_world(skeleton, positions, world_rotations)
        motion = Motion(
            skeleton=skeleton, fps=fps, root=positions[:, 0], rotations=continuous(rotations), offsets=offsets,
            name=name,
        )  # fmt: skip
        return motion, self._scale_notes(worlds)

    def _scale_notes(self, worlds: Array) -> list[str]:
        linear = worlds[..., :3, :3] @ np.linalg.inv(self.stretches)
        sizes = np.cbrt(np.abs(np.linalg.det(linear)))
        scaled = np.flatnonzero(np.abs(sizes - 1.0).max(axis=0) > MIN_SCALE_CHANGE)
        if not len(scaled):
            return []
        return [f"{len(scaled)} joints grow or shrink, from `{self.names[scaled[0]]}`, which a motion cannot hold"]

    def joint_from_local(self) -> Array:
        """(J, 4, 4) matrices from the file's coordinates of each joint to our joint frame in metres."""
        return make_affine(self.stretches, np.zeros(3))


def local_from_world(skeleton: Skeleton, positions: Array, world_rotations: Array) -> tuple[Array, Array | None]:
    """(F, J, 4) local rotations and (F, J, 3) offsets of joints from their world positions and rotations.

    The offsets are None if no joint moves away from its place on the parent.
    """
    parents = skeleton.parents[1:]
    rotations, offsets = world_rotations.copy(), positions.copy()
    rotations[:, 1:] = multiply(conjugate(world_rotations[:, parents]), world_rotations[:, 1:])
    offsets[:, 1:] = unrotate(world_rotations[:, parents], positions[:, 1:] - positions[:, parents])
    size = float(np.ptp(skeleton.rest_world[0], axis=0).max())
    moving = np.abs(offsets - skeleton.offsets).max(axis=(0, 2)) > MAX_ROUNDING_PER_BODY_SIZE * size
    moving[0] = False
    offsets[:, ~moving] = skeleton.offsets[~moving]
    return rotations, offsets if moving.any() else None


def make_rig(names: Sequence[str], parents: np.ndarray, current: Array, bound: Array) -> Rig:
    """Make a rig of joints.

    Args:
        names: All different.
        parents: (J,) parents before children.
        current: (J, 4, 4) world from joint in the pose of the file, metres, Y up.
        bound: (J, 4, 4) world from joint in the bind pose. Joints without one have entries that are not finite; they
            keep their transform relative to the parent.
    """
    linear = current[:, :3, :3]
    singular = np.abs(np.linalg.det(linear)) < MIN_DETERMINANT
    stretches = polar_decompose(np.where(singular[:, None, None], np.eye(3), linear))[1]
    notes = scale_problems(names, singular, stretches)
    has_bind = np.all(np.isfinite(bound), axis=(1, 2))
    has_bind &= np.abs(np.linalg.det(np.where(has_bind[:, None, None], bound, 0.0)[:, :3, :3])) >= MIN_DETERMINANT
    if np.any(has_bind) and not _similar_size(bound, current, parents, has_bind):
        notes.append("the bind pose is of another size than the joints: the file's own pose is the rest pose")
        has_bind[:] = False
    out = np.where(has_bind[:, None, None], bound, current)
    for joint, parent in enumerate(parents.tolist()):
        if has_bind.any() and not has_bind[joint] and parent >= 0 and not singular[parent]:
            out[joint] = out[parent] @ np.linalg.inv(current[parent]) @ current[joint]
    return Rig(names=tuple(names), parents=parents, bound=out, stretches=stretches, notes=tuple(notes))


def scale_problems(names: Sequence[str], singular: np.ndarray, stretches: Array) -> list[str]:
    """Notes on joints whose scale is zero (J,) or whose stretches (J, 3, 3) differ between their axes."""
    notes = []
    # A mirrored joint has the same singular values as one that is not mirrored.
    sizes = np.linalg.svd(stretches, compute_uv=False)
    scale = np.cbrt(sizes.prod(axis=1, keepdims=True))
    uneven = np.abs(sizes / scale - 1.0).max(axis=1) > MAX_SCALE_DIFFERENCE
    for which, what in ((singular, "have no size: their scale is 0"), (uneven & ~singular, "are scaled unevenly")):
        if np.any(which):
            first = names[int(np.argmax(which))]
            notes.append(f"{int(which.sum())} joints {what}, from `{first}`; their orientations are approximate")
    return notes


def _rotations(worlds: Array, stretches: Array) -> Array:
    """(..., J, 4) the rotations of world matrices with known stretches."""
    return extract_rotations(worlds[..., :3, :3] @ np.linalg.inv(stretches))


def _similar_size(bound: Array, current: Array, parents: np.ndarray, has_bind: np.ndarray) -> bool:
    """Whether bones between joints with a bind pose are about as long in it as in the pose of the file."""
    joints = np.flatnonzero(has_bind & (parents >= 0) & has_bind[parents])
    lengths = [
        float(np.linalg.norm(pose[joints, :3, 3] - pose[parents[joints], :3, 3], axis=1).sum())
        for pose in (bound, current)
    ]
    tiny = 1e-9 * (1.0 + float(np.abs(current[:, :3, 3]).max()))
    return max(lengths) <= MAX_BIND_SIZE_RATIO * min(lengths) + tiny


def make_unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names without duplicates and empty names: a repeated name gets a number appended."""
    names = [name.strip() or f"joint{i}" for i, name in enumerate(names)]
    wanted, taken = set(names), set[str]()
    numbers: dict[str, int] = {}
    out = []
    for name in names:
        unique = name
        while unique in taken or (unique != name and unique in wanted):
            numbers[name] = numbers.get(name, 1) + 1
            unique = f"{name}_{numbers[name]}"
        taken.add(unique)
        out.append(unique)
    return tuple(out)


MAX_SKEW = 1e-3
"""Largest deviation from right angles for which the columns of a matrix are used directly as a rotation."""


def compose(translations: Array, rotations: Array, scales: Array) -> Array:
    """(..., 4, 4) matrices that scale, then rotate, then translate."""
    return make_affine(to_matrix(rotations) * scales[..., None, :], translations)


def make_affine(linear: Array, translations: Array) -> Array:
    """(..., 4, 4) matrices from a linear part (..., 3, 3) and a translation (..., 3)."""
    out = np.zeros((*np.broadcast_shapes(linear.shape[:-2], translations.shape[:-1]), 4, 4))
    out[..., :3, :3] = linear
    out[..., :3, 3] = translations
    out[..., 3, 3] = 1.0
    return out


def decompose(matrix: Array) -> tuple[Array, Array, Array]:
    """Translation (3,), rotation (4,) and scale (3,) that best approximate a matrix (4, 4)."""
    rotation = polar_decompose(matrix[:3, :3])[0]
    scale = np.einsum("ij,ij->j", to_matrix(rotation), matrix[:3, :3])
    return matrix[:3, 3].copy(), rotation, scale


def polar_decompose(linear: Array) -> tuple[Array, Array]:
    """Polar decomposition of (..., 3, 3): a rotation (..., 4) times a stretch (..., 3, 3), which may mirror."""
    u, _, vt = np.linalg.svd(linear)
    sign = np.where(np.linalg.det(u @ vt) < 0.0, -1.0, 1.0)
    u = u.copy()
    u[..., :, 2] *= sign[..., None]
    rotation = u @ vt
    return from_matrix(rotation), np.swapaxes(rotation, -1, -2) @ linear


def extract_rotations(linear: Array) -> Array:
    """(..., 4) rotations of linear parts (..., 3, 3): exact if they only rotate and scale, else the nearest."""
    size = np.sqrt(np.einsum("...ij,...ij->...j", linear, linear))
    columns = linear / np.where(size > 0.0, size, 1.0)[..., None, :]
    products = np.einsum("...ki,...kj->...ij", columns, columns) - np.eye(3)
    skewed = np.max(np.abs(products), axis=(-2, -1)) > MAX_SKEW
    skewed |= np.linalg.det(columns) < 0.0
    out = from_matrix(columns)
    if np.any(skewed):
        out[skewed] = polar_decompose(linear[skewed])[0]
    return out


# Components first: matrices are (3, 3, ...) or (3, 4, ...), vectors (3, ...). The loops of numpy over matrices of nine
# numbers cost many times the arithmetic; over all frames of one component they cost nothing.


def multiply_components(a: Array, b: Array) -> Array:
    """(3, 3, ...) products of matrices (3, 3, ...)."""
    out = a[:, 0, None] * b[None, 0]
    out += a[:, 1, None] * b[None, 1]
    out += a[:, 2, None] * b[None, 2]
    return np.asarray(out)


def apply_affine(matrices: Array, places: Array) -> Array:
    """(3, ...) places (3, ...) moved by matrices (3, 4, ...)."""
    out = matrices[:, 0] * places[0]
    out += matrices[:, 1] * places[1]
    out += matrices[:, 2] * places[2]
    out += matrices[:, 3]
    return np.asarray(out)


def find_cofactors(linear: Array) -> tuple[Array, Array]:
    """The inverses of matrices (3, 3, ...) times their determinants, and (...) the determinants."""
    first, second, third = linear[:, 0], linear[:, 1], linear[:, 2]
    cofactors = np.stack([_cross(second, third), _cross(third, first), _cross(first, second)])
    return cofactors, _dot(first, cofactors[0])


def _cross(a: Array, b: Array) -> Array:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def extract_rotations_of_components(linear: Array) -> Array:
    """(..., 4) what `extract_rotations` gives, for linear parts (3, 3, ...)."""
    size = np.sqrt(np.square(linear).sum(axis=0))
    columns = linear / np.where(size > 0.0, size, 1.0)
    first, second, third = columns[:, 0], columns[:, 1], columns[:, 2]
    pairs = np.array([_dot(first, second), _dot(second, third), _dot(third, first)])
    odd = np.abs(pairs).max(axis=0) > MAX_SKEW
    odd |= (size == 0.0).any(axis=0)
    odd |= _dot(first, _cross(second, third)) < 0.0
    diagonal = columns[0, 0], columns[1, 1], columns[2, 2]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    sizes = np.stack([1.0 + trace, *(1.0 + 2.0 * part - trace for part in diagonal)])
    largest = sizes.argmax(axis=0)
    out = np.empty((*trace.shape, 4))
    for number, rows in enumerate(_quaternion_rows(columns)):
        chosen = largest == number
        if chosen.any():
            for component, row in enumerate(rows):
                values = sizes[number] if row is None else row
                out[..., component][chosen] = values[chosen]
    out /= np.sqrt(np.einsum("...i,...i->...", out, out))[..., None]
    if odd.any():
        out[odd] = extract_rotations(np.moveaxis(linear, (0, 1), (-2, -1))[odd])
    return out


def _quaternion_rows(m: Array) -> tuple[tuple[Array | None, ...], ...]:
    """Four multiples of the quaternions of rotations (3, 3, ...), each from one component, which is None."""
    a, b, c = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    d, e, f = m[1, 0] + m[0, 1], m[2, 0] + m[0, 2], m[2, 1] + m[1, 2]
    return (None, a, b, c), (a, None, d, e), (b, d, None, f), (c, e, f, None)
