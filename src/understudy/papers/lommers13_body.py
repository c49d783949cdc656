"""Parts of a body as capsules, for what [Lommers13] saw on its mesh: hands inside the trunk or the legs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from understudy.constraints.apart import Apart, nearest
from understudy.constraints.base import Constraint, Spot
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.skeleton import Skeleton

SIDES = ("Left", "Right")
LEGS = tuple(
    (f"{side}{upper}", f"{side}{lower}") for side in SIDES for upper, lower in (("UpLeg", "Leg"), ("Leg", "Foot"))
)
TRUNK = (("LowerBack", "Spine1"), ("Spine1", "Neck"))
ARMS = tuple((f"{side}ForeArm", f"{side}Hand") for side in SIDES) + tuple(
    (f"{side}Hand", f"{side}Palm") for side in SIDES
)
SLENDER = {"LEGS": 0.14, "ARMS": 0.12}
"""Radius of a limb's part, in shares of its length."""
DEEP = 0.35
"""Radius of the trunk, in shares of the distance between the shoulders."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two parts that are to keep clear of each other."""

    first: tuple[str, str]
    second: tuple[str, str]
    radii: tuple[float, float]
    """Metres."""


def pairs(skeleton: Skeleton) -> Iterator[Pair]:
    """Forearms and hands against trunk and legs."""
    rest = dict(zip(skeleton.names, skeleton.rest_world[1], strict=True))
    wide = DEEP * float(np.linalg.norm(rest["LeftArm"] - rest["RightArm"]))
    for arm in ARMS:
        thin = SLENDER["ARMS"] * _length(skeleton, arm)
        for leg in LEGS:
            yield Pair(first=arm, second=leg, radii=(thin, SLENDER["LEGS"] * _length(skeleton, leg)))
        for trunk in TRUNK:
            yield Pair(first=arm, second=trunk, radii=(thin, wide))


def _length(skeleton: Skeleton, part: tuple[str, str]) -> float:
    return (
        float(np.linalg.norm(skeleton.offsets[skeleton.joint(part[1])]))
        if part[1] in skeleton.index
        else float(np.linalg.norm(skeleton.point(part[1]).offset))
    )


def depths(motion: Motion) -> dict[Pair, Array]:
    """(F,) metres that each pair of parts is inside each other; below zero they are clear."""
    pose = fk(motion)
    out = {}
    for pair in pairs(motion.skeleton):
        a, b, c, d = np.moveaxis(pose.points([*pair.first, *pair.second]), 1, 0)
        along, other = nearest(a, b, c, d)
        gap = a + along[:, None] * (b - a) - c - other[:, None] * (d - c)
        out[pair] = sum(pair.radii) - np.linalg.norm(gap, axis=-1)
    return out


def deepest(motion: Motion) -> tuple[float, str]:
    """Metres of the deepest pair, and its name."""
    found = depths(motion)
    pair = max(found, key=lambda each: float(found[each].max()))
    return float(found[pair].max()), f"{pair.first[0]} in {pair.second[0]}"


def clear_of_each_other(source: Motion, target: Skeleton) -> list[Constraint]:
    """Keeps hands and forearms of a target out of its trunk and legs, as far as the source's own are out of its."""
    made: list[Constraint] = []
    for pair, before in zip(pairs(target), depths(source).values(), strict=True):
        allowed = max(float(before.max()), 0.0)
        first, second = ((Spot(point=a), Spot(point=b)) for a, b in (pair.first, pair.second))
        radius = max(pair.radii[0] - allowed, 1e-3)
        name = f"{pair.first[0]} clear of {pair.second[0]}"
        made.append(Apart(part=first, other=second, radius=radius, other_radius=pair.radii[1], name=name))
    return made
