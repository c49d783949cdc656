"""What a body is made of: a trunk with neck, head and tail, and limbs with their parts in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.naming import is_motor, words
from understudy.figure.skeleton import Skeleton

PARTS = ("girdle", "upper", "lower", "end", "tip")
"""The parts of a limb outwards: collar bone, upper arm, forearm, hand, fingers; hip, thigh, shin, foot, toes."""

HELPERS = {
    "twist", "roll", "helper", "ik", "fk", "pole", "nub", "armor", "end", "site", "footsteps", "volume", "prop",
    "tweak", "mch", "ctrl", "control", "target", "leaf", "sec", "adj", "parent", "dummy", "jiggle",
}  # fmt: skip
"""Words of names that are no bones of a body."""

NEAR_GROUND = 0.22
"""Share of a limb's height below which a joint of it counts as its foot."""

SHIFTED = 0.18
"""Share of a limb's length by which two joints of different bodies are apart that are not the same joint."""

NEARLY = 0.93
"""Share of the longest that counts as long too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Limb:
    """An arm, leg, wing or fin of one side."""

    side: str
    """Left or right."""
    kind: str
    """An arm, leg, wing or fin."""
    parts: Mapping[str, tuple[int, ...]]
    """Joints of each of its PARTS that it has, from the body outwards."""
    digits: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Joints of each finger by its name; a bone in the palm as `index metacarpal`."""
    stands: bool = False
    """Whether the body stands on it."""
    named: bool = True
    """Whether its parts are told by names."""

    @property
    def bones(self) -> tuple[int, ...]:
        """Its joints in a row, without what it hangs from and without fingers."""
        return tuple(joint for part in PARTS[1:] for joint in self.parts.get(part, ()))


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyPlan:
    """A body taken apart."""

    skeleton: Skeleton
    kind: str
    """What it is: biped, quadruped, bird, spider or insect, fish, other."""
    root: int
    """The joint that carries everything: the hips of a human."""
    trunk: Mapping[str, tuple[int, ...]]
    """Joints of the spine, neck, head, jaw and tail, from the root outwards, those there are."""
    limbs: tuple[tuple[Limb, Limb], ...]
    """Left and right limbs, the hindmost (or lowest) pair first."""
    named: bool
    """Whether names tell the parts; else their place in the body does."""
    named_trunk: frozenset[str] = frozenset()
    """The parts of the trunk that names tell."""
    sure_sides: bool = True
    """Whether left and right are known, not guessed."""


def is_helper(name: str) -> bool:
    """Whether a name says that this is no bone of the body: a twist helper, a control, the end of another bone."""
    return name.startswith("__") or bool(set(words(name)) & HELPERS - ({"roll"} if is_motor(name) else set()))


def reaches(skeleton: Skeleton) -> Array:
    """(J,) metres from each joint along the bones to the farthest end below it."""
    out = np.zeros(skeleton.num_joints)
    for end in skeleton.ends:
        joint = skeleton.index[end.joint]
        out[joint] = max(out[joint], float(np.linalg.norm(end.offset)))
    for joint in range(skeleton.num_joints - 1, 0, -1):
        parent = skeleton.parents[joint]
        out[parent] = max(out[parent], out[joint] + skeleton.lengths[joint])
    return out


def path(skeleton: Skeleton, top: int, bottom: int) -> list[int]:
    """The joints from one down to another that hangs from it, both included."""
    chain = skeleton.chain(bottom)
    return chain[chain.index(top) :]


def main_path(skeleton: Skeleton, top: int, reach: Array, *, least: int = 3) -> list[int]:
    """The joints of a limb along its longest branch, to where it branches into fingers or toes or ends.

    Args:
        skeleton: The body.
        top: The first joint.
        reach: (J,) metres from each joint along the bones to the farthest end below it.
        least: How many joints the limb has before it can branch.
    """
    found = [top]
    while True:
        children = [c for c in skeleton.children[found[-1]] if not is_helper(skeleton.names[c])]
        # What carries a bone is one too, whatever it is called: a handle that is the foot itself.
        children = children or [c for c in skeleton.children[found[-1]] if _carries_bones(skeleton, c)]
        if not children:
            return found
        full = sorted(((reach[c] + skeleton.lengths[c], c) for c in children), reverse=True)
        if len(full) > 2 and full[1][0] > 0.5 * full[0][0] and len(found) >= least:
            return found
        found.append(full[0][1])


def in_step(skeleton: Skeleton, row: Sequence[int], other: Skeleton, others: Sequence[int]) -> bool:
    """Whether two rows of bones are as many and bend at much the same shares of their lengths."""
    if len(row) != len(others):
        return False
    along = [np.cumsum(s.lengths[list(joints[1:])]) for s, joints in ((skeleton, row), (other, others))]
    shares = [at / max(float(at[-1]), 1e-9) for at in along if len(at)]
    return not shares or bool(np.abs(shares[0] - shares[1]).max() < SHIFTED)


def _carries_bones(skeleton: Skeleton, joint: int) -> bool:
    return any(not is_helper(skeleton.names[c]) for c in skeleton.children[joint])


def grouped(
    row: Sequence[int], places: Array, heights: Array, known: Mapping[str, int], *, stands: bool, girdle: int = 0
) -> dict[str, tuple[int, ...]]:
    """A limb's joints in a row split into its parts.

    Args:
        row: The joints, from the body outwards.
        places: (J, 3) metres, where the joints are, Y up.
        heights: (J,) metres above the ground.
        known: Joints that names tell: `upper`, `lower`, `end`.
        stands: Whether the body stands on this limb.
        girdle: How many joints of the row are known to belong to what the limb hangs from.
    """
    upper = row.index(known["upper"]) if "upper" in known else girdle + _longest(row[girdle:], places, stands)
    lower = row.index(known["lower"]) if "lower" in known else min(upper + 1, len(row))
    end = row.index(known["end"]) if "end" in known else _end(row, upper, lower, heights, stands)
    parts = {
        "girdle": row[:upper], "upper": row[upper:lower], "lower": row[lower:end],
        "end": row[end : end + 1], "tip": row[end + 1 :],
    }  # fmt: skip
    return {name: tuple(joints) for name, joints in parts.items() if joints}


def _longest(row: Sequence[int], places: Array, stands: bool) -> int:
    """Where the two longest bones that follow each other begin; off the ground, the first that are nearly so."""
    if len(row) < 3:
        return 0
    lengths = np.linalg.norm(np.diff(places[list(row)], axis=0), axis=-1)
    both = lengths[:-1] + lengths[1:]
    return int(np.argmax(both if stands else both >= NEARLY * both.max()))


def _end(row: Sequence[int], upper: int, lower: int, heights: Array, stands: bool) -> int:
    """Where the hand or foot begins: behind the forearm or, on a limb that carries the body, near the ground."""
    if not stands:
        return min(lower + 1, len(row))
    low = [i for i in range(lower + 1, len(row)) if heights[row[i]] <= NEAR_GROUND * heights[row[upper]]]
    return low[0] if low else max(len(row) - 1, min(lower + 1, len(row)))
