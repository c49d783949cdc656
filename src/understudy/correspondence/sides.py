"""The two sides of a body by its shape: which branches are mirror images, and where the mirror stands."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from understudy.base.quaternion import Array, between, rotate, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.naming import side
from understudy.figure.skeleton import Skeleton
from understudy.figure.symmetry import partners

LAID_OUT = 0.7
"""Share of all bone length that points one way in a rest pose that shows bones, not how a body stands."""

FRAMES = 24
"""Frames of a motion that are looked at."""

ALIKE = 0.08
"""How much the lengths of two branches may differ, as a share, that are mirror images."""

MIRRORS, TRIED = 40, 400
"""Pairs of branches, the longest first, whose directions are tried for a mirror, and that are tried as its images."""

ASTRAY = 0.35
"""How far, in its own reach, a branch may lie from its partner's mirror image."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MirrorPose:
    """How a body stands."""

    places: Array
    """(J, 3) metres, where its joints are, Y up."""
    tips: Array
    """(J, 3) metres, the end of each joint's own bone: of its end points the farthest, else the joint itself."""
    ahead: Array | None = None
    """(3,) which way it goes, level; None where no motion tells."""

    @property
    def lows(self) -> Array:
        """(J,) metres above the ground, of the lower end of each joint's own bone."""
        low = np.minimum(self.places[:, 1], self.tips[:, 1])
        return low - low.min()

    @property
    def heights(self) -> Array:
        """(J,) metres above the ground, of each joint."""
        return self.places[:, 1] - min(float(self.places[:, 1].min()), float(self.tips[:, 1].min()))


def stance(skeleton: Skeleton, motion: Motion | None = None) -> MirrorPose:
    """The rest pose; or where its bones are laid out in a row, the mean pose of the motion, as the root sees it."""
    if motion is None or not _laid_out(skeleton):
        positions, rotations = skeleton.rest_world
        return MirrorPose(places=positions, tips=_tips(skeleton, positions, rotations))
    some = np.unique(np.linspace(0, motion.num_frames - 1, FRAMES).astype(int))
    pose = fk(motion[some])
    ends = np.stack([_tips(skeleton, p, r) for p, r in zip(pose.positions, pose.rotations)])
    turned, place = pose.rotations[:, :1], pose.positions[:, :1]
    up = unrotate(turned[:, 0], np.array([0.0, 1.0, 0.0])).mean(axis=0)
    upright = between(up / max(float(np.linalg.norm(up)), 1e-9), np.array([0.0, 1.0, 0.0]))
    places = rotate(upright, unrotate(turned, pose.positions - place).mean(axis=0))
    steps = unrotate(turned[:-1, 0], np.diff(pose.positions[:, 0], axis=0)).sum(axis=0)
    going = rotate(upright, steps) * [1.0, 0.0, 1.0]
    size = float(np.linalg.norm(going))
    return MirrorPose(
        places=places,
        tips=rotate(upright, unrotate(turned, ends - place).mean(axis=0)),
        ahead=going / size if size > 0.2 * float(np.ptp(places, axis=0).max()) else None,
    )


def _laid_out(skeleton: Skeleton) -> bool:
    """Whether most bones point one way, which no body's do."""
    positions = skeleton.rest_world[0]
    bones = positions[1:] - positions[skeleton.parents[1:]]
    lengths = np.linalg.norm(bones, axis=-1)
    used = lengths > 1e-9
    if not np.any(used):
        return False
    directions = bones[used] / lengths[used, None]
    one_way = (directions @ directions.T > 0.9) @ lengths[used]
    return bool(one_way.max() > LAID_OUT * lengths.sum())


def _tips(skeleton: Skeleton, positions: Array, rotations: Array) -> Array:
    tips, far = positions.copy(), np.zeros(skeleton.num_joints)
    for end in skeleton.ends:
        joint, length = skeleton.index[end.joint], float(np.linalg.norm(end.offset))
        if length > far[joint]:
            far[joint] = length
            tips[joint] = positions[joint] + rotate(rotations[joint], end.offset)
    return tips


@dataclass(frozen=True, eq=False, kw_only=True)
class Sides:
    """Which branches of a body are each other's mirror image."""

    across: Array
    """(3,) the mirror's normal, level; which of the two ways is left it does not say."""
    pairs: tuple[tuple[int, int], ...]
    """The tops of branches that hang from one joint and mirror each other, inside other such branches too."""
    named: bool
    """Whether names tell the sides."""


def find_sides(skeleton: Skeleton, how: MirrorPose) -> Sides:
    """The mirror images of a body: by the names of its sides if they tell, else by shape and place."""
    told = partners(skeleton) if _sides_named(skeleton) else np.arange(skeleton.num_joints)
    named = [(int(j), int(k)) for j, k in enumerate(told) if j < k and skeleton.parents[j] == skeleton.parents[k]]
    middle, size = _branches(skeleton, how)
    if named:
        across = sum((middle[j] - middle[k] for j, k in named), np.zeros(3)) * [1.0, 0.0, 1.0]
        length = float(np.linalg.norm(across))
        normal = across / length if length > 1e-9 else np.array([1.0, 0.0, 0.0])
        return Sides(across=normal, pairs=tuple(named), named=True)
    mirror = _Mirror(skeleton, how, middle, size)
    best = max(mirror.normals(), key=mirror.worth)
    return Sides(across=best, pairs=tuple(sorted(mirror.pairs(best))), named=False)


def _sides_named(skeleton: Skeleton) -> bool:
    told = {side(name) for name in skeleton.names}
    return {"left", "right"} <= told


def _branches(skeleton: Skeleton, how: MirrorPose) -> tuple[Array, Array]:
    """(J, 3) the middle of what hangs from each joint, itself included, and (J,) the length of its bones."""
    total, weight = np.zeros((skeleton.num_joints, 3)), np.zeros(skeleton.num_joints)
    own = np.linalg.norm(how.tips - how.places, axis=-1)
    for joint in range(skeleton.num_joints - 1, -1, -1):
        total[joint] += how.places[joint] + how.tips[joint]
        weight[joint] += 2.0
        parent = skeleton.parents[joint]
        if parent >= 0:
            total[parent] += total[joint]
            weight[parent] += weight[joint]
    length = own + skeleton.lengths
    for joint in range(skeleton.num_joints - 1, 0, -1):
        length[skeleton.parents[joint]] += length[joint]
    return total / weight[:, None], length


def _alike(skeleton: Skeleton, size: Array) -> list[tuple[int, int]]:
    """Branches of one joint that have the same tree and much the same lengths."""
    shape: list[tuple[object, ...]] = [()] * skeleton.num_joints
    for joint in range(skeleton.num_joints - 1, -1, -1):
        shape[joint] = tuple(sorted((shape[c] for c in skeleton.children[joint]), key=repr))
    found = []
    for children in skeleton.children:
        for j, k in combinations(children, 2):
            close = abs(size[j] - size[k]) <= ALIKE * max(size[j], size[k])
            if shape[j] == shape[k] and close and size[j] > 1e-9:
                found.append((j, k))
    return found


class _Mirror:
    """Tries mirrors on a body whose names do not tell its sides."""

    def __init__(self, skeleton: Skeleton, how: MirrorPose, middle: Array, size: Array) -> None:
        self.skeleton, self.size = skeleton, size
        alike = sorted(_alike(skeleton, size), key=lambda pair: (-size[pair[0]], pair))[:TRIED]
        self.one, self.other = np.array(alike, dtype=np.intp).reshape(-1, 2).T
        origin = how.places[skeleton.parents[self.one]]
        self.from_one, self.from_other = middle[self.one] - origin, middle[self.other] - origin
        self.off = middle - how.places[0]

    def normals(self) -> list[Array]:
        """Level directions that a mirror could face: across x, across z, or from a branch to one like it."""
        found = [np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])]
        for across in (self.from_one - self.from_other)[:MIRRORS] * [1.0, 0.0, 1.0]:
            length = float(np.linalg.norm(across))
            if length > 1e-9 and all(abs(float(across @ other)) < 0.9999 * length for other in found):
                found.append(across / length)
        return found

    def astray(self, normal: Array) -> Array:
        """(P,) metres between each branch's mirror image and the one like it."""
        image = self.from_one - 2.0 * (self.from_one @ normal)[:, None] * normal
        return np.linalg.norm(image - self.from_other, axis=-1)

    def fitting(self, normal: Array) -> list[int]:
        """Which of the pairs alike are mirror images, each branch with the one that fits it best."""
        off, size = self.astray(normal), np.maximum(self.size[self.one], self.size[self.other])
        apart = np.abs((self.from_one - self.from_other) @ normal)
        fits = np.flatnonzero((off < ASTRAY * size) & (apart > 0.02 * size))
        taken: set[int] = set()
        found = []
        for i in fits[np.argsort(off[fits] / size[fits], kind="stable")].tolist():
            pair = {int(self.one[i]), int(self.other[i])}
            if not pair & taken:
                taken |= pair
                found.append(i)
        return found

    def pairs(self, normal: Array) -> list[tuple[int, int]]:
        """The tops of the branches that are mirror images."""
        return [(int(self.one[i]), int(self.other[i])) for i in self.fitting(normal)]

    def worth(self, normal: Array) -> float:
        """How well a mirror explains a body: the length of what it mirrors, less what is off it and off its plane."""
        chosen = self.fitting(normal)
        sided = np.zeros(self.skeleton.num_joints, bool)
        sided[self.one[chosen]] = sided[self.other[chosen]] = True
        for level in self.skeleton.levels:
            sided[level] |= sided[self.skeleton.parents[level]]
        mirrored = self.size[self.one[chosen]] + self.size[self.other[chosen]] - 2.0 * self.astray(normal)[chosen]
        return float(mirrored.sum() - np.abs(self.off[~sided] @ normal).sum())
