"""A character of other proportions: whole, by parts of the body, or bone by bone."""

from __future__ import annotations

import re

import numpy as np

from understudy.errors import OptionError, UnknownNameError, nearest_names
from understudy.recipe.model import Scale
from understudy.roles import roles
from understudy.skeleton import Skeleton

PARTS = ("legs", "arms", "trunk", "head", "feet", "hands")
"""Parts of the body that can be scaled by name. Legs have their feet with them, arms their hands, unless given."""


def parse_scale(text: str) -> Scale:
    """A scale as the command line has it: `0.6`, `legs=1.3`, `arms=0.8,legs=1.2,Head=1.1`, `0.8,legs=1`."""
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


def scaled(skeleton: Skeleton, scale: Scale) -> Skeleton:
    """The character with its bones scaled; what is named more closely counts: joints before parts before `all`."""
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
    sizes = np.full(skeleton.num_joints, float(factors.get("all", 1.0)))
    for part in PARTS:
        if part in factors and part not in skeleton.index:
            sizes[part_bones(skeleton, part)] = factors[part]
    for name, factor in factors.items():
        if name in skeleton.index:
            sizes[skeleton.index[name]] = factor
    return skeleton.scaled(sizes)


def part_bones(skeleton: Skeleton, part: str) -> np.ndarray:
    """(N,) the joints that the bones of a part of the body lead to."""
    found = roles(skeleton)
    if part in ("head", "trunk"):
        chosen = _head(skeleton, found) if part == "head" else _trunk(skeleton, found)
    else:
        top = {"legs": "upper_leg", "arms": "upper_arm", "feet": "foot", "hands": "hand"}[part]
        tops = [found[f"{side}_{top}"] for side in ("left", "right") if f"{side}_{top}" in found]
        chosen = np.zeros(skeleton.num_joints, bool)
        for joint in tops:
            chosen |= skeleton.below(joint)
            # The bone that leads to a hip or shoulder is the trunk's, the one to an ankle or wrist the limb's.
            chosen[joint] = False
    if not chosen.any():
        raise UnknownNameError(
            f"The body has no {part} that can be told by the names of its joints",
            hint="name joints instead: --scale JOINT=FACTOR; `understudy info` lists them",
        )
    return np.flatnonzero(chosen)


def _head(skeleton: Skeleton, found: dict[str, int]) -> np.ndarray:
    chosen = np.zeros(skeleton.num_joints, bool)
    top = found.get("neck", found.get("head"))
    if top is not None:
        chosen |= skeleton.below(top)
        # A neck's own bone belongs to the trunk; a head without a neck is scaled with its bone.
        chosen[top] = "neck" not in found
    return chosen


def _trunk(skeleton: Skeleton, found: dict[str, int]) -> np.ndarray:
    """From the hips up to the neck, out to the hip joints and the shoulders."""
    chosen = np.zeros(skeleton.num_joints, bool)
    ends = [found[name] for name in ("neck", "head", "chest") if name in found][:1]
    ends += [found[f"{s}_{p}"] for s in ("left", "right") for p in ("upper_leg", "upper_arm") if f"{s}_{p}" in found]
    hips = found.get("hips")
    for joint in ends:
        path = skeleton.chain(joint)
        chosen[path[path.index(hips) + 1 :] if hips in path else path[1:]] = True
    return chosen
