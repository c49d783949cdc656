"""From world matrices of joints, as other libraries give them, to a skeleton and a motion.

A joint's matrix may be scaled, sheared or mirrored against the world. What is left of it when the rotation is taken
out is its `stretch`: world_from_joint = (place, rotation) * stretch. It is taken to hold throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.base.quaternion import (
    Array,
    conjugate,
    continuous,
    from_matrix,
    multiply,
    to_matrix,
    unrotate,
)
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton

FLAT = 1e-30
"""The determinant below which a matrix has no inverse worth the name."""

UNEVEN = 1e-3
"""Relative difference of the scales along a joint's axes from which on its orientation is only nearly kept."""

ROUNDING = 5e-6
"""Share of the body's size by which an animated joint may be off its bind place and still be meant there."""

GROWING = 1e-2
"""Relative change of a joint's scale from which on it is said to grow."""

LIKE_SIZE = 1.5
"""How many times longer or shorter the bones of a bind pose may be than those of the file's own pose."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rig:
    """The joints of a file in metres with Y up, as they are bound."""

    names: tuple[str, ...]
    parents: np.ndarray
    """(J,) parents before children."""
    bound: Array
    """(J, 4, 4) world from joint in the bind pose."""
    stretches: Array
    """(J, 3, 3) what is left of each joint's matrix without its rotation."""
    notes: tuple[str, ...] = ()

    def skeleton(self, name: str, ends: Sequence[Point] = ()) -> Skeleton:
        """The skeleton whose rest pose is the bind pose."""
        rotations, places = _turns(self.bound, self.stretches), self.bound[:, :3, 3]
        offsets, rest = places.copy(), rotations.copy()
        above = self.parents[1:]
        offsets[1:] = unrotate(rotations[above], places[1:] - places[above])
        rest[1:] = multiply(conjugate(rotations[above]), rotations[1:])
        return Skeleton(names=self.names, parents=self.parents, offsets=offsets, rest=rest, ends=tuple(ends), name=name)

    def motion(self, skeleton: Skeleton, worlds: Array, fps: float, name: str) -> tuple[Motion, list[str]]:
        """The motion of world matrices (F, J, 4, 4), and what of them a motion cannot hold."""
        turns, places = _turns(worlds, self.stretches), worlds[..., :3, 3]
        rotations, offsets = turns.copy(), places.copy()
        above = skeleton.parents[1:]
        rotations[:, 1:] = multiply(conjugate(turns[:, above]), turns[:, 1:])
        offsets[:, 1:] = unrotate(turns[:, above], places[:, 1:] - places[:, above])
        size = float(np.ptp(skeleton.rest_world[0], axis=0).max())
        moving = np.abs(offsets - skeleton.offsets).max(axis=(0, 2)) > ROUNDING * size
        moving[0] = False
        offsets[:, ~moving] = skeleton.offsets[~moving]
        motion = Motion(
            skeleton=skeleton, fps=fps, root=places[:, 0], rotations=continuous(rotations),
            offsets=offsets if moving.any() else None, name=name,
        )  # fmt: skip
        return motion, self._growing(worlds)

    def _growing(self, worlds: Array) -> list[str]:
        linear = worlds[..., :3, :3] @ np.linalg.inv(self.stretches)
        sizes = np.cbrt(np.abs(np.linalg.det(linear)))
        grown = np.flatnonzero(np.abs(sizes - 1.0).max(axis=0) > GROWING)
        if not len(grown):
            return []
        return [f"{len(grown)} joints grow or shrink, from `{self.names[grown[0]]}`, which a motion cannot hold"]

    def joint_from_local(self) -> Array:
        """(J, 4, 4) what takes a joint's own coordinates, as the file has them, into our frame of it, in metres."""
        return affine(self.stretches, np.zeros(3))


def make_rig(names: Sequence[str], parents: np.ndarray, here: Array, bound: Array) -> Rig:
    """A rig of joints.

    Args:
        names: All different.
        parents: (J,) parents before children.
        here: (J, 4, 4) world from joint as the file stands, metres, Y up.
        bound: (J, 4, 4) the same in the bind pose, not finite where there is none; such joints hang from the
            others as they do in the file.
    """
    notes: list[str] = []
    linear = here[:, :3, :3]
    flat = np.abs(np.linalg.det(linear)) < FLAT
    stretches = polar(np.where(flat[:, None, None], np.eye(3), linear))[1]
    scale = np.cbrt(np.abs(np.linalg.det(stretches)))[:, None, None]
    uneven = np.max(np.abs(stretches / scale - np.sign(stretches[:, :1, :1]) * np.eye(3)), axis=(1, 2)) > UNEVEN
    for which, what in ((flat, "have no size: their scale is 0"), (uneven & ~flat, "are scaled unevenly")):
        if np.any(which):
            first = names[int(np.argmax(which))]
            notes.append(f"{int(which.sum())} joints {what}, from `{first}`; how they are turned is kept nearly")
    given = np.all(np.isfinite(bound), axis=(1, 2))
    given &= np.abs(np.linalg.det(np.where(given[:, None, None], bound, 0.0)[:, :3, :3])) >= FLAT
    if np.any(given) and not _alike(bound, here, parents, given):
        notes.append("the bind pose is of another size than the joints: the file's own pose is the rest pose")
        given[:] = False
    out = np.where(given[:, None, None], bound, here)
    for joint, parent in enumerate(parents.tolist()):
        if given.any() and not given[joint] and parent >= 0 and not flat[parent]:
            out[joint] = out[parent] @ np.linalg.inv(here[parent]) @ here[joint]
    return Rig(names=tuple(names), parents=parents, bound=out, stretches=stretches, notes=tuple(notes))


def _turns(worlds: Array, stretches: Array) -> Array:
    """(..., J, 4) the rotations in world matrices, given what else is in them."""
    return turned(worlds[..., :3, :3] @ np.linalg.inv(stretches))


def _alike(bound: Array, here: Array, parents: np.ndarray, given: np.ndarray) -> bool:
    """Whether the bones between joints that have a bind pose are about as long in it as in the file's own pose."""
    joints = np.flatnonzero(given & (parents >= 0) & given[parents])
    lengths = [
        float(np.linalg.norm(each[joints, :3, 3] - each[parents[joints], :3, 3], axis=1).sum())
        for each in (bound, here)
    ]
    tiny = 1e-9 * (1.0 + float(np.abs(here[:, :3, 3]).max()))
    return max(lengths) <= LIKE_SIZE * min(lengths) + tiny


def differing(names: Sequence[str]) -> tuple[str, ...]:
    """Names made different and none empty: the second of a name gets a number behind it."""
    wanted = [name.strip() or f"joint{i}" for i, name in enumerate(names)]
    known, taken = set(wanted), set[str]()
    for i, name in enumerate(wanted):
        fresh, number = name, 2
        while fresh in taken or (fresh != name and fresh in known):
            fresh, number = f"{name}_{number}", number + 1
        taken.add(fresh)
        wanted[i] = fresh
    return tuple(wanted)


SKEW = 1e-3
"""How far from right angles the axes of a matrix may be before the nearest rotation is searched."""


def composed(translations: Array, rotations: Array, scales: Array) -> Array:
    """(..., 4, 4) matrices that scale, then turn, then move."""
    return affine(to_matrix(rotations) * scales[..., None, :], translations)


def affine(linear: Array, places: Array) -> Array:
    """(..., 4, 4) matrices of a linear part (..., 3, 3) and a place (..., 3)."""
    out = np.zeros((*np.broadcast_shapes(linear.shape[:-2], places.shape[:-1]), 4, 4))
    out[..., :3, :3] = linear
    out[..., :3, 3] = places
    out[..., 3, 3] = 1.0
    return out


def taken_apart(matrix: Array) -> tuple[Array, Array, Array]:
    """Translation (3,), rotation (4,) and scale (3,) of a matrix, as nearly as they can make it."""
    turn = polar(matrix[:3, :3])[0]
    scale = np.einsum("ij,ij->j", to_matrix(turn), matrix[:3, :3])
    return matrix[:3, 3].copy(), turn, scale


def polar(linear: Array) -> tuple[Array, Array]:
    """A linear part (..., 3, 3) as a rotation (..., 4) after what is left (..., 3, 3): scale, shear, mirroring."""
    u, _, vt = np.linalg.svd(linear)
    sign = np.where(np.linalg.det(u @ vt) < 0.0, -1.0, 1.0)
    u = u.copy()
    u[..., :, 2] *= sign[..., None]
    turn = u @ vt
    return from_matrix(turn), np.swapaxes(turn, -1, -2) @ linear


def turned(linear: Array) -> Array:
    """(..., 4) the rotations in linear parts (..., 3, 3) that are rotations but for a scale, and nearly so others."""
    size = np.sqrt(np.einsum("...ij,...ij->...j", linear, linear))
    straight = linear / np.where(size > 0.0, size, 1.0)[..., None, :]
    square = np.einsum("...ki,...kj->...ij", straight, straight) - np.eye(3)
    skewed = np.max(np.abs(square), axis=(-2, -1)) > SKEW
    skewed |= np.linalg.det(straight) < 0.0
    out = from_matrix(straight)
    if np.any(skewed):
        out[skewed] = polar(linear[skewed])[0]
    return out
