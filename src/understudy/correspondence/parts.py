"""The parts of a body: a trunk with neck, head and tail, and limbs with their parts in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.naming import is_motor, words
from understudy.figure.skeleton import Skeleton

PARTS = ("girdle", "upper", "lower", "end", "tip")
"""Parts of a limb, outwards: collar bone, upper arm, forearm, hand, fingers; hip, thigh, shin, foot, toes."""

HELPER_WORDS = {
    "twist", "roll", "helper", "ik", "fk", "pole", "nub", "armor", "end", "site", "footsteps", "volume", "prop",
    "tweak", "mch", "ctrl", "control", "target", "leaf", "sec", "adj", "parent", "dummy", "jiggle",
}  # fmt: skip
"""Words in the names of joints that are not bones of the body."""

MAX_FOOT_HEIGHT_SHARE = 0.22
"""Height of a foot joint, as a share of the height of the limb's upper joint."""

MAX_BEND_SHIFT_SHARE = 0.18
"""Share of a limb's length by which corresponding joints of two bodies may be shifted."""

NEARLY_LONGEST_SHARE = 0.93
"""Share of the greatest length from which a length counts as equally long."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Limb:
    """An arm, leg, wing or fin of one side."""

    side: str
    """`left` or `right`."""
    kind: str
    """`arm`, `leg`, `wing` or `fin`."""
    parts: Mapping[str, tuple[int, ...]]
    """Joints of its PARTS, from the body outwards; missing parts are left out."""
    digits: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Joints of each finger by its name; a bone of the palm is `index metacarpal`."""
    stands: bool = False
    """Whether the body stands on it."""
    named: bool = True
    """Whether names identify its parts."""

    @property
    def bones(self) -> tuple[int, ...]:
        """Its joints outwards, without the girdle and without fingers."""
        return tuple(joint for part in PARTS[1:] for joint in self.parts.get(part, ()))


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyPlan:
    """A body split into its parts."""

    skeleton: Skeleton
    kind: str
    """biped, quadruped, bird, spider or insect, fish, other."""
    root: int
    """The joint that all parts hang from: the hips of a human."""
    trunk: Mapping[str, tuple[int, ...]]
    """Joints of the spine, neck, head, jaw and tail, from the root outwards; missing parts are left out."""
    limbs: tuple[tuple[Limb, Limb], ...]
    """Left and right limbs, the hindmost (or lowest) pair first."""
    named: bool
    """Whether names identify the parts; else the shape does."""
    named_trunk: frozenset[str] = frozenset()
    """The parts of the trunk that names identify."""
    sure_sides: bool = True
    """Whether left and right are certain, not guessed."""


def is_helper(name: str) -> bool:
    """Whether a name is not that of a bone: a twist helper, a control, the end of another bone."""
    return name.startswith("__") or bool(set(words(name)) & HELPER_WORDS - ({"roll"} if is_motor(name) else set()))


def measure_reach(skeleton: Skeleton) -> Array:
    """(J,) metres from each joint along the bones to the farthest end below it."""
    reach = np.zeros(skeleton.num_joints)
    for end in skeleton.ends:
        joint = skeleton.index[end.joint]
        reach[joint] = max(reach[joint], float(np.linalg.norm(end.offset)))
    for joint in range(skeleton.num_joints - 1, 0, -1):
        parent = skeleton.parents[joint]
        reach[parent] = max(reach[parent], reach[joint] + skeleton.lengths[joint])
    return reach


def path(skeleton: Skeleton, top: int, bottom: int) -> list[int]:
    """The joints from one down to its descendant, both included."""
    chain = skeleton.chain(bottom)
    return chain[chain.index(top) :]


def main_path(skeleton: Skeleton, top: int, reach: Array, *, least: int = 3) -> list[int]:
    """The joints of a limb along its longest branch, until it splits into fingers or toes or ends.

    Args:
        skeleton: The body.
        top: The first joint.
        reach: (J,) metres from each joint along the bones to the farthest end below it.
        least: Joints of the limb before it can split.
    """
    joints = [top]
    while True:
        children = [c for c in skeleton.children[joints[-1]] if not is_helper(skeleton.names[c])]
        # A joint that carries a bone is a bone, whatever its name: some rigs call the foot a handle.
        children = children or [c for c in skeleton.children[joints[-1]] if _carries_bones(skeleton, c)]
        if not children:
            return joints
        lengths = sorted(((reach[c] + skeleton.lengths[c], c) for c in children), reverse=True)
        if len(lengths) > 2 and lengths[1][0] > 0.5 * lengths[0][0] and len(joints) >= least:
            return joints
        joints.append(lengths[0][1])


def bends_alike(skeleton: Skeleton, bones: Sequence[int], other: Skeleton, other_bones: Sequence[int]) -> bool:
    """Whether two rows have equally many bones and bend at similar shares of their lengths."""
    if len(bones) != len(other_bones):
        return False
    distances = [np.cumsum(s.lengths[list(joints[1:])]) for s, joints in ((skeleton, bones), (other, other_bones))]
    shares = [along / max(float(along[-1]), 1e-9) for along in distances if len(along)]
    return not shares or bool(np.abs(shares[0] - shares[1]).max() < MAX_BEND_SHIFT_SHARE)


def _carries_bones(skeleton: Skeleton, joint: int) -> bool:
    return any(not is_helper(skeleton.names[c]) for c in skeleton.children[joint])


def split_limb(
    row: Sequence[int], positions: Array, heights: Array, named: Mapping[str, int], *, stands: bool, girdle: int = 0
) -> dict[str, tuple[int, ...]]:
    """Split the joints of a limb into its parts.

    Args:
        row: The joints, from the body outwards.
        positions: (J, 3) metres, Y up.
        heights: (J,) metres above the ground.
        named: Joints identified by name: `upper`, `lower`, `end`.
        stands: Whether the body stands on this limb.
        girdle: How many first joints of the row belong to the girdle.
    """
    upper = row.index(named["upper"]) if "upper" in named else girdle + _find_upper(row[girdle:], positions, stands)
    lower = row.index(named["lower"]) if "lower" in named else min(upper + 1, len(row))
    end = row.index(named["end"]) if "end" in named else _find_end(row, upper, lower, heights, stands)
    parts = {
        "girdle": row[:upper], "upper": row[upper:lower], "lower": row[lower:end],
        "end": row[end : end + 1], "tip": row[end + 1 :],
    }  # fmt: skip
    return {name: tuple(joints) for name, joints in parts.items() if joints}


def _find_upper(row: Sequence[int], positions: Array, stands: bool) -> int:
    """Index of the two longest consecutive bones; for a limb off the ground, of the first nearly longest."""
    if len(row) < 3:
        return 0
    lengths = np.linalg.norm(np.diff(positions[list(row)], axis=0), axis=-1)
    sums = lengths[:-1] + lengths[1:]
    return int(np.argmax(sums if stands else sums >= NEARLY_LONGEST_SHARE * sums.max()))


def _find_end(row: Sequence[int], upper: int, lower: int, heights: Array, stands: bool) -> int:
    """Index of the hand or foot: after the forearm or, on a limb that carries the body, near the ground."""
    if not stands:
        return min(lower + 1, len(row))
    near_ground = [
        i for i in range(lower + 1, len(row)) if heights[row[i]] <= MAX_FOOT_HEIGHT_SHARE * heights[row[upper]]
    ]
    return near_ground[0] if near_ground else max(len(row) - 1, min(lower + 1, len(row)))
