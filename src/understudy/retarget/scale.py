"""Scales: the sizes of a character and of the parts of its body."""

from __future__ import annotations

import re

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton

Scale = float | dict[str, float]
"""Length factor of all bones, or factors by names of body parts and joints."""

PARTS = ("legs", "arms", "trunk", "head", "feet", "hands")
"""Parts of the body that can be scaled by name. Legs include feet and arms include hands, unless those are given."""


def parse_scale(text: str) -> Scale:
    """A scale from its form on the command line: `0.6`, `legs=1.3`, `arms=0.8,legs=1.2,Head=1.1`, `0.8,legs=1`."""
    factors: dict[str, float] = {}
    for part in re.split(r"\s*,\s*", text.strip()):
        name, _, number = part.rpartition("=")
        name = name.strip() or ("" if "=" in part else "all")
        try:
            if not name or name in factors:
                raise ValueError
            factors[name] = float(number)
        except ValueError:
            raise OptionError(
                f"Expected a scale such as 0.6, legs=1.3 or arms=0.8,legs=1.2; got `{text}`",
                hint=f"parts are {', '.join(PARTS)}, or any joint by name",
            ) from None
    return factors["all"] if list(factors) == ["all"] else factors


def scale_skeleton(skeleton: Skeleton, scale: Scale | str) -> Skeleton:
    """The character with its bones scaled, also by a text as on the command line.

    A joint's factor overrides its part's, and a part's overrides `all`.
    """
    scale = parse_scale(scale) if isinstance(scale, str) else scale
    factors = {"all": scale} if isinstance(scale, int | float) else dict(scale)
    for name, factor in factors.items():
        if not (np.isfinite(factor) and factor > 0.0):
            raise OptionError(f"Expected a scale above zero, got {name} = {factor:g}")
        if name != "all" and name not in PARTS and name not in skeleton.index:
            known = [*PARTS, *skeleton.names]
            raise UnknownNameError(
                f"Scale `{name}` names neither a part of the body nor a joint; {nearest_names(name, known)}",
                hint=f"parts are {', '.join(PARTS)}",
            )
    ratios = np.full(skeleton.num_joints, float(factors.get("all", 1.0)))
    for part in PARTS:
        if part in factors and part not in skeleton.index:
            ratios[part_bones(skeleton, part)] = factors[part]
    for name, factor in factors.items():
        if name in skeleton.index:
            ratios[skeleton.index[name]] = factor
    return skeleton.scaled(ratios)


def part_bones(skeleton: Skeleton, part: str) -> np.ndarray:
    """(N,) the joints at which the bones of a part of the body end."""
    joints = roles(skeleton)
    if part in ("head", "trunk"):
        mask = _head_mask(skeleton, joints) if part == "head" else _trunk_mask(skeleton, joints)
    else:
        role = {"legs": "upper_leg", "arms": "upper_arm", "feet": "foot", "hands": "hand"}[part]
        mask = np.zeros(skeleton.num_joints, bool)
        for joint in [joints[f"{side}_{role}"] for side in ("left", "right") if f"{side}_{role}" in joints]:
            mask |= skeleton.below(joint)
            # The bone to a hip or shoulder belongs to the trunk, and the bone to an ankle or wrist to the limb.
            mask[joint] = False
    if not mask.any():
        raise UnknownNameError(
            f"The body has no {part} that can be told by the names of its joints",
            hint="name joints instead: --scale JOINT=FACTOR; `understudy info` lists them",
        )
    return np.flatnonzero(mask)


def _head_mask(skeleton: Skeleton, joints: dict[str, int]) -> np.ndarray:
    mask = np.zeros(skeleton.num_joints, bool)
    base = joints.get("neck", joints.get("head"))
    if base is not None:
        mask |= skeleton.below(base)
        # The bone to the neck belongs to the trunk; without a neck, the bone to the head belongs to the head.
        mask[base] = "neck" not in joints
    return mask


def _trunk_mask(skeleton: Skeleton, joints: dict[str, int]) -> np.ndarray:
    """From the hips up to the neck, and out to the hip joints and the shoulders."""
    mask = np.zeros(skeleton.num_joints, bool)
    limbs = [f"{side}_{role}" for side in ("left", "right") for role in ("upper_leg", "upper_arm")]
    ends = [joints[role] for role in ("neck", "head", "chest") if role in joints][:1]
    hips = joints.get("hips")
    for joint in ends + [joints[role] for role in limbs if role in joints]:
        chain = skeleton.chain(joint)
        mask[chain[chain.index(hips) + 1 :] if hips in chain else chain[1:]] = True
    return mask
