"""World paths of the main joints, of a result, its source and the carried motion, in leg lengths of each body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from understudy.base.quaternion import Array
from understudy.correspondence.pairs import Correspondence
from understudy.figure.kinematics import paths_of
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, side
from understudy.figure.skeleton import Skeleton

MAIN_PARTS = {
    "hips": ("hips",),
    "head": ("head",),
    "hand": ("left_hand", "right_hand"),
    "knee": ("left_lower_leg", "right_lower_leg"),
    "foot": ("left_foot", "right_foot"),
    "toe": ("left_toe", "right_toe"),
}
"""The roles of each main part of a body."""

OTHER_SIDE = {"left": "right", "right": "left"}

MAX_UNEVEN_SCALE = 0.02
"""Difference of the scales of two bones, as a share, above which two bodies have other proportions."""


@dataclass(frozen=True, kw_only=True)
class MainJoints:
    """The main joints that two bodies share, in the same order."""

    names: tuple[str, ...]
    """(K,) names for a reader, such as `left hand`."""
    parts: tuple[str, ...]
    """(K,) keys of `MAIN_PARTS`."""
    result: tuple[tuple[int, ...], ...]
    """(K,) joints of the result, whose mean is the main joint."""
    source: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    """(K,) names of joints of the result."""
    roles: tuple[str, ...]
    """(K,) their roles in the result."""

    def taken(self, columns: Sequence[int]) -> MainJoints:
        """Some of the main joints."""
        return MainJoints(
            **{field.name: tuple(getattr(self, field.name)[column] for column in columns) for field in fields(self)}
        )

    def columns(self, *parts: str) -> list[int]:
        """The places of some parts among the main joints."""
        return [column for column, part in enumerate(self.parts) if part in parts]


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference:
    """A motion to compare some frames of a result with."""

    path: Array
    """(G, K, 3) metres, world: its main joints at its own frames."""
    leg: float
    """Metres."""
    frames: np.ndarray
    """(F,) its frame for each frame of the result; -1 for none."""

    def differences(self, order: int) -> Array:
        """(F - order, K) leg lengths: size of its differences at the frames of the result; 0 where there is none."""
        sizes, half = difference_sizes(self.path, self.leg, order), order // 2
        frames = self.frames[half : half + len(self.frames) - order]
        nearest = np.clip(frames - half, 0, len(sizes) - 1)
        return np.where(frames[:, None] >= 0, sizes[nearest], 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class MainPaths:
    """The paths of main joints over all frames."""

    joints: MainJoints
    result: Array
    """(F, K, 3) metres, world."""
    source: Array | None
    """(F, K, 3) metres, world, at the frames of the result."""
    carried: Array | None
    """(F, K, 3) metres, world: the source's motion on the result's body before anything was solved."""
    result_leg: Array | float
    """Metres: leg length of the result, or (F,) that of each frame."""
    source_leg: float
    fps: float
    references: tuple[Reference, ...] = ()
    """In place of one source: motions of which the roughest is compared with at each frame."""

    @property
    def has_source(self) -> bool:
        """Whether there is something to compare with."""
        return self.source is not None or bool(self.references)

    def differences(self, which: str, order: int) -> Array | None:
        """(F - order, K) leg lengths: size of the differences of some order from frame to frame; None if not known."""
        if which == "source" and self.references:
            return np.asarray(np.max([reference.differences(order) for reference in self.references], axis=0))
        path: Array | None = getattr(self, which)
        if path is None:
            return None
        return difference_sizes(path, self.source_leg if which == "source" else self.result_leg, order)


def difference_sizes(path: Array, leg: Array | float, order: int) -> Array:
    """(F - order, K) leg lengths: size of the differences of some order of a path (F, K, 3).

    Args:
        path: Metres, world.
        leg: Metres: the leg length, or (F,) that of each frame.
        order: 1 for steps, 2 for their changes, 3 for the changes of these.
    """
    change = np.diff(path.reshape(len(path), -1), n=order, axis=0).reshape(len(path) - order, -1, 3)
    size = np.sqrt(np.einsum("fkc,fkc->fk", change, change))
    if isinstance(leg, np.ndarray):
        half = order // 2
        return np.asarray(size / leg[half : half + len(size), None])
    return np.asarray(size / leg)


@lru_cache(maxsize=64)
def main_joints(skeleton: Skeleton) -> dict[str, tuple[int, ...]]:
    """The joints of each main role that a body has. The hips are the middle of both thighs, if it has two.

    Rigs put the joint of the hips anywhere in the pelvis, and the thighs where a human's are.
    """
    joint_of = roles(skeleton)
    found: dict[str, tuple[int, ...]] = {
        role: (joint_of[role],) for part_roles in MAIN_PARTS.values() for role in part_roles if role in joint_of
    }
    thighs = [joint_of[role] for role in ("left_upper_leg", "right_upper_leg") if role in joint_of]
    if len(thighs) == 2:
        found["hips"] = tuple(thighs)
    if "head" not in found and "neck" in joint_of:
        found["head"] = (joint_of["neck"],)
    return found


def match_main_joints(result: Skeleton, source: Skeleton | None, *, crossed: bool = False) -> MainJoints:
    """The main joints that a result and its source share.

    Args:
        result: The body of the result.
        source: The body of the source; None for none.
        crossed: Whether the left of the source plays the right of the result.
    """
    result_joints = main_joints(result)
    source_joints = result_joints if source is None else main_joints(source)
    rows = []
    for part, part_roles in MAIN_PARTS.items():
        for role in part_roles:
            which, _, rest = role.partition("_")
            partner = f"{OTHER_SIDE[which]}_{rest}" if crossed and which in OTHER_SIDE else role
            if role in result_joints and partner in source_joints:
                name = f"{which} {part}" if which in OTHER_SIDE else part
                label = result.names[roles(result).get(role, result_joints[role][0])]
                rows.append((name, part, result_joints[role], source_joints[partner], label, role))
    columns = zip(*rows, strict=True) if rows else ((),) * 6
    names, parts, of_result, of_source, labels, role_names = columns
    return MainJoints(names=names, parts=parts, result=of_result, source=of_source, labels=labels, roles=role_names)


def crosses_sides(correspondence: Correspondence | None) -> bool:
    """Whether a correspondence pairs more bones with the other side than with their own."""
    balance = 0
    for pair in correspondence.pairs if correspondence is not None else ():
        sides = side(pair.source[0]), side(pair.target[0])
        if all(sides):
            balance += 1 if sides[0] == sides[1] else -1
    return balance < 0


def main_path(motion: Motion, joints: Sequence[tuple[int, ...]]) -> Array:
    """(F, K, 3) metres, world: the mean of each group of joints. Only these and their ancestors are computed."""
    flat = [joint for group in joints for joint in group]
    if not flat:
        return np.empty((motion.num_frames, 0, 3))
    places = paths_of(motion, flat)
    sizes = [len(group) for group in joints]
    if max(sizes) == 1:
        return places
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    return np.asarray(np.add.reduceat(places, starts, axis=1) / np.array(sizes)[:, None])


def leg_lengths(motion: Motion) -> Array | float:
    """Metres: the leg length of a body, or (F,) that of each frame if its bones change."""
    length = leg_length(motion.skeleton)
    if motion.offsets is None:
        return length
    # Bones of a body that changes grow together: the legs change as the whole of all bones does.
    sizes = np.linalg.norm(motion.offsets[:, 1:], axis=-1).sum(axis=1)
    whole = float(motion.skeleton.lengths[1:].sum())
    return np.asarray(length * sizes / whole) if whole > 0.0 else length


def same_proportions(source: Skeleton, target: Skeleton) -> bool:
    """Whether a body is another with all bones longer or shorter by one factor."""
    if source.names != target.names:
        return False
    long = source.lengths > 1e-2 * source.lengths.max(initial=0.0)
    scales = target.lengths[long] / source.lengths[long]
    return bool(scales.size == 0 or scales.max() - scales.min() <= MAX_UNEVEN_SCALE * scales.max())
