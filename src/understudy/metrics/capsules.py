"""A body as capsules: how thick its parts are, which of them may touch, and how deep they are in each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from understudy.body import height, is_humanoid, rest_pose_kind
from understudy.constraints.apart import nearest
from understudy.geometry.quaternion import Array
from understudy.kinematics import Pose, fk
from understudy.motion import rest_motion
from understudy.roles import roles
from understudy.skeleton import Point, Skeleton

RADII = {
    "trunk": 0.065, "head": 0.050, "upper_leg": 0.040, "lower_leg": 0.028, "foot": 0.018,
    "upper_arm": 0.025, "lower_arm": 0.020, "hand": 0.015,
}  # fmt: skip
"""Radii of a human's parts as shares of its height: slim, so that clothes and soft flesh may touch."""
SLENDERNESS = 0.1
"""Radius of a bone of another body as a share of its length."""
SHORTEST = 0.03
"""Body heights below which a bone is no part of its own."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Capsules:
    """The bones of a body with their thickness."""

    ends: tuple[tuple[Point, Point], ...]
    radii: Array
    """(C,) metres."""
    parts: tuple[str, ...]
    """What each belongs to; capsules of one part, and of parts that are joined, are not compared."""
    joined: frozenset[tuple[str, str]]

    def depths(self, pose: Pose) -> dict[tuple[str, str], Array]:
        """(F,) metres for each two parts that ever meet: how deep they are in each other."""
        starts = pose.points([a for a, _ in self.ends])
        stops = pose.points([b for _, b in self.ends])
        centres = 0.5 * (starts + stops)
        reach = 0.5 * np.linalg.norm(stops - starts, axis=-1) + self.radii
        found: dict[tuple[str, str], Array] = {}
        for one in range(len(self.ends)):
            for other in range(one + 1, len(self.ends)):
                key = (min(self.parts[one], self.parts[other]), max(self.parts[one], self.parts[other]))
                if key[0] == key[1] or key in self.joined:
                    continue
                apart = np.linalg.norm(centres[:, one] - centres[:, other], axis=-1)
                close = np.flatnonzero(apart < reach[:, one] + reach[:, other])
                if not len(close):
                    continue
                a, b, c, d = (
                    each[close] for each in (starts[:, one], stops[:, one], starts[:, other], stops[:, other])
                )
                s, t = nearest(a, b, c, d)
                gap = np.linalg.norm(a + s[:, None] * (b - a) - c - t[:, None] * (d - c), axis=-1)
                depth = self.radii[one] + self.radii[other] - gap
                whole = found.setdefault(key, np.zeros(len(apart)))
                whole[close] = np.maximum(whole[close], depth)
        return {key: depth for key, depth in found.items() if depth.max() > 0.0}


@lru_cache(maxsize=64)
def capsules(skeleton: Skeleton) -> Capsules:
    """The capsules of a body: a human's by its parts, any other's by its bones."""
    human, tall = is_humanoid(skeleton), height(skeleton)
    parts = body_parts(skeleton)
    bones = [(int(p), Point(name=skeleton.names[j], joint=skeleton.names[j])) for j, p in enumerate(skeleton.parents)]
    bones = bones[1:] + [(skeleton.index[end.joint], end) for end in skeleton.ends]
    lengths = [*skeleton.lengths[1:], *(np.linalg.norm(end.offset) for end in skeleton.ends)]
    # What leads from a root on the ground to the hips is no part of the body.
    above = set(skeleton.chain(roles(skeleton)["hips"])[:-1]) if human else set()
    ends, radii, names = [], [], []
    for (joint, far), length in zip(bones, lengths, strict=True):
        if length > SHORTEST * tall and joint not in above:
            part = parts[joint].partition(" ")[2] or parts[joint]
            radii.append(RADII[part] * tall if human else SLENDERNESS * float(length))
            # A capsule is round beyond the ends of its line, so where the body ends its line must end before.
            inner = 1.0 - min(radii[-1] / float(length), 0.5)
            far = replace(far, offset=inner * far.offset)
            ends.append((Point(name=skeleton.names[joint], joint=skeleton.names[joint]), far))
            names.append(parts[joint])
    return Capsules(ends=tuple(ends), radii=np.array(radii), parts=tuple(names), joined=joined_parts(skeleton))


@lru_cache(maxsize=64)
def resting_depths(skeleton: Skeleton) -> dict[tuple[str, str], float]:
    """Metres that parts are in each other in a rest pose that stands: thickness that is only guessed too large."""
    if rest_pose_kind(skeleton) == "no pose":
        return {}
    found = capsules(skeleton).depths(fk(rest_motion(skeleton)))
    return {key: float(depth[0]) for key, depth in found.items()}


def body_parts(skeleton: Skeleton) -> tuple[str, ...]:
    """The part of a body that each joint belongs to: of a human's the nearest one above it; else it is one itself."""
    if not is_humanoid(skeleton):
        return skeleton.names
    found = roles(skeleton)
    starts = {
        found[f"{side}_{part}"]: f"{side} {part}"
        for side in ("left", "right")
        for part in RADII
        if f"{side}_{part}" in found
    }
    starts[found.get("neck", found.get("head", -1))] = "head"
    parts: list[str] = []
    for joint, parent in enumerate(skeleton.parents):
        parts.append(starts.get(joint, parts[parent] if parent >= 0 else "trunk"))
    return tuple(parts)


def joined_parts(skeleton: Skeleton) -> frozenset[tuple[str, str]]:
    """Parts that hang from each other, or, for other bodies, whose bones are at most two joints apart."""
    parts, human = body_parts(skeleton), is_humanoid(skeleton)
    found: set[tuple[str, str]] = set()
    for joint, parent in enumerate(skeleton.parents):
        above = [int(parent), *([] if human or parent < 0 else [int(skeleton.parents[parent])])]
        near = [p for p in above if p >= 0]
        siblings = [] if human or parent < 0 else list(skeleton.children[parent])
        found |= {(min(parts[joint], parts[p]), max(parts[joint], parts[p])) for p in (*near, *siblings)}
    return frozenset(found)
