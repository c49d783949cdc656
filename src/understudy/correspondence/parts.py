"""The parts of a body: a trunk with neck, head and tail, and limbs with their parts in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import combinations

import numpy as np

from understudy.base.quaternion import Array, between, conjugate, multiply, rotate, twist_angle, unrotate
from understudy.base.records import record
from understudy.figure.kinematics import fk
from understudy.figure.measures import UP, partners, rest_pose_fits, rest_pose_kind
from understudy.figure.motion import Motion
from understudy.figure.roles import CompoundJoint, compound_joints, is_helper_bone, side
from understudy.figure.skeleton import JointKind, Skeleton

PARTS = ("girdle", "upper", "lower", "end", "tip")
"""Parts of a limb, outwards: collar bone, upper arm, forearm, hand, fingers; hip, thigh, shin, foot, toes."""

MAX_FOOT_HEIGHT_SHARE = 0.22
"""Height of a foot joint, as a share of the height of the limb's upper joint."""

MAX_BEND_SHIFT_SHARE = 0.18
"""Share of a limb's length by which corresponding joints of two bodies may be shifted."""

NEARLY_LONGEST_SHARE = 0.93
"""Share of the greatest length from which a length counts as equally long."""


@record
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


@record
class BodyPlan:
    """A body split into its parts."""

    skeleton: Skeleton
    pose: StandingPose
    """The body standing, as its parts were found."""
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


PART_WORDS = {
    "arm": ("collar bone", "upper arm", "forearm", "hand", "fingers"),
    "leg": ("hip joint", "thigh", "shin", "foot", "toes"),
    "foreleg": ("shoulder blade", "upper foreleg", "lower foreleg", "fore paw", "toes of the fore paw"),
    "hind leg": ("hip joint", "upper hind leg", "lower hind leg", "hind paw", "toes of the hind paw"),
    "wing": ("shoulder", "inner wing", "middle wing", "outer wing", "wing tip"),
    "fin": ("base of the fin", "fin", "fin", "fin", "tip of the fin"),
}
"""Names of the PARTS of a limb, by the kind of limb."""


def limb_name(plan: BodyPlan, limb: Limb) -> str:
    """Name a limb: left arm, left hind leg, left leg 2 (counted from the front)."""
    number = next((i for i, pair in enumerate(reversed(plan.limbs)) if limb in pair), 0)
    if limb.kind == "leg" and sum(pair[0].stands for pair in plan.limbs) > 2:
        return f"{limb.side} leg {number + 1}"
    if limb.kind == "leg" and plan.kind == "quadruped":
        return f"{limb.side} {'foreleg' if number == 0 else 'hind leg'}"
    return f"{limb.side} {limb.kind}"


def part_name(plan: BodyPlan, limb: Limb, part: str) -> str:
    """Name a part of a limb: left upper arm, thigh of left leg 2."""
    whole = limb_name(plan, limb)
    kind = whole.removeprefix(f"{limb.side} ")
    word = PART_WORDS.get(kind, PART_WORDS[limb.kind])[PARTS.index(part)]
    return f"{limb.side} {word}" if kind in PART_WORDS else f"{word} of {whole}"


def describe(plan: BodyPlan) -> str:
    """Describe a body in a few words: its kind and its parts."""
    kinds: dict[str, int] = {}
    for pair in plan.limbs:
        kinds[pair[0].kind] = kinds.get(pair[0].kind, 0) + 1
    present = [f"{count} {'pair' if count == 1 else 'pairs'} of {kind}s" for kind, count in kinds.items()]
    present += [part for part in ("spine", "neck", "head", "tail") if part in plan.trunk]
    missing = [part for part in ("spine", "head") if part not in plan.trunk]
    missing += [] if plan.limbs else ["limbs in pairs"]
    name = f" `{plan.skeleton.name}`" if plan.skeleton.name else ""
    parts = ", ".join(present) or "no part that can be identified"
    text = f"{plan.kind}{name} of {plan.skeleton.num_joints} bones with {parts}"
    return text + (f", without {', '.join(missing)}" if missing else "")


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


MAX_TWIN_DIFFERENCE = 0.2
"""Share by which the lengths of two limbs may differ of which one is taken for a part of the trunk."""


def left_out(plan: BodyPlan) -> tuple[int, float]:
    """The joint that begins the longest branch of a body that is in no part of it, and its length in longest limbs.

    A body of a known kind may carry any other branches, but not the twin of one that is taken for spine, head or tail.
    """
    skeleton, reach = plan.skeleton, measure_reach(plan.skeleton)
    limbs = [limb for pair in plan.limbs for limb in pair if limb.bones]
    rows = [*plan.trunk.values(), *(row for limb in limbs for row in (*limb.parts.values(), *limb.digits.values()))]
    inside = np.zeros(skeleton.num_joints, bool)
    inside[plan.root] = True
    for row in rows:
        inside[[joint for last in row for joint in skeleton.chain(last)]] = True
    longest = max((float(reach[limb.bones[0]]) for limb in limbs), default=float(reach[plan.root]))
    branches = np.flatnonzero(~inside & skeleton.below(plan.root) & inside[skeleton.parents])
    lengths = reach + skeleton.lengths
    if plan.kind != "other" and plan.limbs:
        guessed = [row for part, row in plan.trunk.items() if part not in plan.named_trunk]
        trunk = np.array([joint for row in guessed for joint in row], dtype=np.intp)
        beside = skeleton.parents[branches][:, None] == skeleton.parents[trunk]
        alike = np.abs(lengths[branches][:, None] - lengths[trunk]) <= MAX_TWIN_DIFFERENCE * lengths[trunk]
        branches = branches[np.any(beside & alike, axis=1)]
    if not len(branches):
        return plan.root, 0.0
    first = int(branches[np.argmax(lengths[branches])])
    return first, float(lengths[first]) / max(longest, 1e-9)


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
        children = [c for c in skeleton.children[joints[-1]] if not is_helper_bone(skeleton, c)]
        # A joint that carries a bone is a bone, whatever its name: some rigs call the foot a handle.
        children = children or [c for c in skeleton.children[joints[-1]] if _carries_bones(skeleton, c)]
        if not children:
            return joints
        children = [c for c in children if not _is_copy(skeleton, c, children, reach)]
        lengths = sorted(((reach[c] + skeleton.lengths[c], c) for c in children), reverse=True)
        if len(lengths) > 2 and lengths[1][0] > 0.5 * lengths[0][0] and len(joints) >= least:
            return joints
        joints.append(lengths[0][1])


MAX_COPY_SHARE = 0.01
"""Distance between a joint and its copy, in lengths of the bone that leads to them."""


def _is_copy(skeleton: Skeleton, joint: int, siblings: Sequence[int], reach: Array) -> bool:
    """Whether a joint without a bone lies where a sibling with one begins: a helper for the skin around a joint."""
    gap = MAX_COPY_SHARE * skeleton.lengths[joint]
    return not reach[joint] and any(
        reach[c] > 0.0 and np.linalg.norm(skeleton.offsets[c] - skeleton.offsets[joint]) <= gap for c in siblings
    )


def bends_alike(skeleton: Skeleton, bones: Sequence[int], other: Skeleton, other_bones: Sequence[int]) -> bool:
    """Whether two rows have equally many bones and bend at similar shares of their lengths."""
    if len(bones) != len(other_bones):
        return False
    distances = [np.cumsum(s.lengths[list(joints[1:])]) for s, joints in ((skeleton, bones), (other, other_bones))]
    shares = [along / max(float(along[-1]), 1e-9) for along in distances if len(along)]
    return not shares or bool(np.abs(shares[0] - shares[1]).max() < MAX_BEND_SHIFT_SHARE)


def _carries_bones(skeleton: Skeleton, joint: int) -> bool:
    return any(not is_helper_bone(skeleton, c) for c in skeleton.children[joint])


def split_limb(
    skeleton: Skeleton,
    row: Sequence[int],
    pose: StandingPose,
    named: Mapping[str, int],
    *,
    stands: bool,
    heights: Array,
    girdle: int = 0,
    compound: bool = True,
) -> dict[str, tuple[int, ...]]:
    """Split the joints of a limb into its parts. Hinges that form one joint of the body are in one part.

    Args:
        skeleton: The body.
        row: The joints, from the body outwards.
        pose: The body standing.
        named: Joints identified by name: `upper`, `lower`, `end`; names that the joints' axes contradict are not used.
        stands: Whether the body stands on this limb.
        heights: (J,) metres above the ground, the joints.
        girdle: How many first joints of the row belong to the girdle.
        compound: Whether hinges may form one joint; the legs of insects have a coxa that is a bone of its own.
    """
    compounds = compound_joints(skeleton, row)
    if not compound:
        compounds = [CompoundJoint(joints=(joint,), centre=joint) for joint in row]
    elif "lower" not in named:
        compounds = _with_halves_joined(skeleton, compounds, pose.positions, row[:girdle])
    number_of = {joint: number for number, member in enumerate(compounds) for joint in member.joints}
    centres = [member.centre for member in compounds]
    known = _agreeing_names({part: number_of[joint] for part, joint in named.items() if joint in number_of})
    first = next((number_of[joint] for joint in row[girdle:] if joint in number_of), len(centres))
    found = _find_motor_ball(skeleton, compounds, first)
    # A joint of several motors is a hip or shoulder; without one, the lengths of the bones show where the limb begins.
    upper = known.get("upper", first + _find_upper(centres[first:], pose.positions, stands) if found is None else found)
    lower = known.get("lower", min(upper + 1, len(centres)))
    end = known.get("end", _find_end(centres, upper, lower, heights, stands))
    slices = {
        "girdle": compounds[:upper], "upper": compounds[upper:lower], "lower": compounds[lower:end],
        "end": compounds[end : end + 1], "tip": compounds[end + 1 :],
    }  # fmt: skip
    parts = {name: tuple(j for member in members for j in member.joints) for name, members in slices.items()}
    return {name: joints for name, joints in parts.items() if joints}


MAX_HALF_SINE = np.sin(np.radians(1.0))
"""Sine of the angle at a joint up to which it cuts a straight bone in two."""

MAX_UPPER_RATIO = 1.8
"""Length of the upper bone of a limb in lengths of its lower bone, or the other way round."""


def _with_halves_joined(
    skeleton: Skeleton, compounds: list[CompoundJoint], positions: Array, girdle: Sequence[int]
) -> list[CompoundJoint]:
    """The joints of a limb, those that cut a straight bone in two joined to the joint that the bone begins at.

    A straight knee looks the same. So bones are joined only if the limb then has an upper and a lower bone of similar
    lengths, and a foot keeps the two joints of its toes.
    """
    start = next((n for n, c in enumerate(compounds) if not set(c.joints) & set(girdle)), len(compounds))
    for last in (len(compounds) - 2, len(compounds) - 1):
        # The last joint is no half, and the joint before it may begin the toes.
        joined = compounds[: start + 1]
        for number, compound in enumerate(compounds[start + 1 :], start=start + 1):
            is_ball = skeleton.kinds[compound.centre] is skeleton.kinds[compounds[number - 1].centre] is JointKind.BALL
            if is_ball and number < last and _is_straight(positions, compounds[number - 1 : number + 2]):
                joints = (*joined[-1].joints, *compound.joints)
                joined[-1] = CompoundJoint(joints=joints, centre=joined[-1].centre)
            else:
                joined.append(compound)
        centres = [compound.centre for compound in joined[start:]]
        if len(joined) < len(compounds) and len(centres) > 2:
            upper = _find_upper(centres, positions, stands=False)
            first, second = np.linalg.norm(np.diff(positions[centres[upper : upper + 3]], axis=0), axis=-1)
            if max(first, second) < MAX_UPPER_RATIO * min(first, second):
                return joined
    return compounds


def _is_straight(positions: Array, compounds: Sequence[CompoundJoint]) -> bool:
    """Whether the second of three joints lies on the line between the others."""
    before, after = np.diff(positions[[compound.centre for compound in compounds]], axis=0)
    lengths = float(np.linalg.norm(before) * np.linalg.norm(after))
    return float(before @ after) > 0.0 and float(np.linalg.norm(np.cross(before, after))) < MAX_HALF_SINE * lengths


def _find_motor_ball(skeleton: Skeleton, compounds: Sequence[CompoundJoint], first: int) -> int | None:
    """Index of the first joint of several motors, if nothing but single motors and fixed joints comes before it."""
    for number in range(first, len(compounds) - 1):
        if skeleton.kinds[compounds[number].centre] is JointKind.BALL:
            return None
        if len(compounds[number].joints) > 1:
            return number
    return None


def _agreeing_names(numbers: dict[str, int]) -> dict[str, int]:
    """The named parts of a limb that are different joints, in order; none if thigh and shin are one joint."""
    if "upper" in numbers and "lower" in numbers and numbers["lower"] <= numbers["upper"]:
        return {}
    last = max((numbers[part] for part in ("upper", "lower") if part in numbers), default=-1)
    return {part: number for part, number in numbers.items() if part != "end" or number > last}


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


MIN_LAID_OUT_SHARE = 0.7
"""Share of all bone length that points one way in a rest pose that no body can stand in."""

MAX_SAMPLED_FRAMES = 24
"""Frames of a motion over which the mean pose is taken."""

MAX_LENGTH_DIFFERENCE = 0.08
"""Share by which the lengths of two mirrored branches may differ."""

MAX_MIRROR_DIRECTIONS, MAX_BRANCH_PAIRS = 40, 400
"""Pairs of branches, the longest first, that give mirror directions to try, and that are compared under each."""

MAX_ERROR_LENGTHS = 0.35
"""Distance, in lengths of the branch, that a branch may lie from the mirror image of its partner."""


@record
class StandingPose:
    """Joint positions of a standing body."""

    positions: Array
    """(J, 3) metres, the joints, Y up."""
    tips: Array
    """(J, 3) metres, the end of each joint's bone: its farthest end point, else the joint itself."""
    heading: Array | None = None
    """(3,) the level direction of travel; None if no motion shows it."""
    axes: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """(J, 3) the first axes of the joints; () if only places are known."""
    angles: Array = field(default_factory=lambda: np.zeros(0))
    """(J,) radians about these axes from the rest pose."""

    @property
    def lowest(self) -> Array:
        """(J,) metres above the ground, of the lower end of each joint's bone."""
        low = np.minimum(self.positions[:, 1], self.tips[:, 1])
        return low - low.min()

    @property
    def heights(self) -> Array:
        """(J,) metres above the ground, the joints."""
        return self.positions[:, 1] - min(float(self.positions[:, 1].min()), float(self.tips[:, 1].min()))


def standing_pose(skeleton: Skeleton, motion: Motion | None = None) -> StandingPose:
    """The rest pose; if it is no pose of the body, the mean pose of the motion."""
    human = rest_pose_kind(skeleton) not in ("no pose", "not humanoid")
    if motion is None or not (_is_laid_out(skeleton) or (not human and not rest_pose_fits(motion))):
        return pose_at_rest(skeleton)
    return mean_pose(motion)


def pose_at_rest(skeleton: Skeleton) -> StandingPose:
    """The rest pose as a body standing."""
    positions, rotations = skeleton.rest_world
    return StandingPose(
        positions=positions,
        tips=_bone_tips(skeleton, positions, rotations),
        axes=rotate(rotations, skeleton.axes[:, 0]),
        angles=np.zeros(skeleton.num_joints),
    )


def mean_pose(motion: Motion) -> StandingPose:
    """The mean pose of a motion in the frame of the hips.

    The hips are the first joint that branches: a root on the floor need not turn with the body.
    """
    skeleton = motion.skeleton
    frames = np.unique(np.linspace(0, motion.num_frames - 1, MAX_SAMPLED_FRAMES).astype(int))
    pose = fk(motion[frames])
    ends = np.stack([_bone_tips(skeleton, p, r) for p, r in zip(pose.positions, pose.rotations)])
    hips = 0
    while len(skeleton.children[hips]) == 1:
        hips = skeleton.children[hips][0]
    rotation, origin = pose.rotations[:, [hips]], pose.positions[:, [hips]]
    up = unrotate(rotation[:, 0], UP).mean(axis=0)
    upright = between(up / max(float(np.linalg.norm(up)), 1e-9), UP)
    positions = rotate(upright, unrotate(rotation, pose.positions - origin).mean(axis=0))
    tips = rotate(upright, unrotate(rotation, ends - origin).mean(axis=0))
    # What carries the body is no part of it, wherever it lies on average.
    positions[:hips] = tips[:hips] = 0.0
    axes = rotate(upright, unrotate(rotation, rotate(pose.rotations, skeleton.axes[:, 0])).mean(axis=0))
    turns = multiply(conjugate(skeleton.rest), motion.rotations[frames])
    path = unrotate(rotation[:-1, 0], np.diff(origin[:, 0], axis=0)).sum(axis=0)
    travel = rotate(upright, path) * [1.0, 0.0, 1.0]
    distance = float(np.linalg.norm(travel))
    return StandingPose(
        positions=positions,
        tips=tips,
        axes=axes,
        angles=twist_angle(turns, skeleton.axes[:, 0]).mean(axis=0),
        heading=travel / distance if distance > 0.2 * float(np.ptp(positions, axis=0).max()) else None,
    )


MAX_TRIED_DIRECTIONS = 500
"""Bones whose direction may be that of most others."""


def _is_laid_out(skeleton: Skeleton) -> bool:
    """Whether most bones point one way, as in no standing body."""
    positions = skeleton.rest_world[0]
    bones = positions[1:] - positions[skeleton.parents[1:]]
    lengths = np.linalg.norm(bones, axis=-1)
    nonzero = lengths > 1e-9
    if not np.any(nonzero):
        return False
    directions = bones[nonzero] / lengths[nonzero, None]
    # Of very many bones some are enough to try: each is compared with all.
    tried = directions[:: -(-len(directions) // MAX_TRIED_DIRECTIONS)]
    same_way = (tried @ directions.T > 0.9) @ lengths[nonzero]
    return bool(same_way.max() > MIN_LAID_OUT_SHARE * lengths.sum())


def _bone_tips(skeleton: Skeleton, positions: Array, rotations: Array) -> Array:
    tips, reach = positions.copy(), np.zeros(skeleton.num_joints)
    for end in skeleton.ends:
        joint, length = skeleton.index[end.joint], float(np.linalg.norm(end.offset))
        if length > reach[joint]:
            reach[joint] = length
            tips[joint] = positions[joint] + rotate(rotations[joint], end.offset)
    return tips


@record
class Sides:
    """The branches of a body that mirror each other."""

    across: Array
    """(3,) the level normal of the mirror; it may point left or right."""
    pairs: tuple[tuple[int, int], ...]
    """Top joints of branches of one joint that mirror each other, including branches inside such branches."""
    named: bool
    """Whether names identify the sides."""


def find_sides(skeleton: Skeleton, pose: StandingPose) -> Sides:
    """Find the mirrored branches of a body: by the names of its sides, else by shape and position."""
    partner = partners(skeleton) if _names_tell_sides(skeleton) else np.arange(skeleton.num_joints)
    named_pairs = [
        (int(j), int(k)) for j, k in enumerate(partner) if j < k and skeleton.parents[j] == skeleton.parents[k]
    ]
    centres, lengths = _measure_branches(skeleton, pose)
    if named_pairs:
        across = sum((centres[j] - centres[k] for j, k in named_pairs), np.zeros(3)) * [1.0, 0.0, 1.0]
        length = float(np.linalg.norm(across))
        normal = across / length if length > 1e-9 else np.array([1.0, 0.0, 0.0])
        return Sides(across=normal, pairs=tuple(named_pairs), named=True)
    mirror = _Mirror(skeleton, pose, centres, lengths)
    best = max(mirror.normals(), key=mirror.score)
    return Sides(across=best, pairs=tuple(sorted(mirror.pairs(best))), named=False)


def _names_tell_sides(skeleton: Skeleton) -> bool:
    sides = {side(name) for name in skeleton.names}
    return {"left", "right"} <= sides


def _measure_branches(skeleton: Skeleton, pose: StandingPose) -> tuple[Array, Array]:
    """(J, 3) the centre of each joint and its descendants, and (J,) the total length of their bones."""
    total, weight = np.zeros((skeleton.num_joints, 3)), np.zeros(skeleton.num_joints)
    bone_lengths = np.linalg.norm(pose.tips - pose.positions, axis=-1)
    for joint in range(skeleton.num_joints - 1, -1, -1):
        total[joint] += pose.positions[joint] + pose.tips[joint]
        weight[joint] += 2.0
        parent = skeleton.parents[joint]
        if parent >= 0:
            total[parent] += total[joint]
            weight[parent] += weight[joint]
    length = bone_lengths + skeleton.lengths
    for joint in range(skeleton.num_joints - 1, 0, -1):
        length[skeleton.parents[joint]] += length[joint]
    return total / weight[:, None], length


def _similar_branches(skeleton: Skeleton, lengths: Array) -> list[tuple[int, int]]:
    """Find pairs of branches of one joint that have the same tree and similar lengths."""
    # Every tree gets a number, by the numbers of its branches: equal trees have equal numbers, however deep they are.
    shape, numbers = [0] * skeleton.num_joints, dict[tuple[int, ...], int]()
    for joint in range(skeleton.num_joints - 1, -1, -1):
        branches = tuple(sorted(shape[child] for child in skeleton.children[joint]))
        shape[joint] = numbers.setdefault(branches, len(numbers))
    pairs = []
    for children in skeleton.children:
        for j, k in combinations(children, 2):
            close = abs(lengths[j] - lengths[k]) <= MAX_LENGTH_DIFFERENCE * max(lengths[j], lengths[k])
            if shape[j] == shape[k] and close and lengths[j] > 1e-9:
                pairs.append((j, k))
    return pairs


MIN_LIMB_PAIR_SHARE = 0.3
"""Length of a pair of branches, as a share of the longest pair's, from which they are limbs and not fingers."""


def hanging_direction(skeleton: Skeleton, pose: StandingPose) -> Array:
    """(3,) where limbs in pairs lead on average, from the joints that carry them, in lengths of limbs.

    That is down if the body stands: what points to the sides cancels in a pair.
    """
    centres, lengths = _measure_branches(skeleton, pose)
    pairs = _similar_branches(skeleton, lengths)
    longest = max((lengths[j] for j, _ in pairs), default=0.0)
    limbs = [(j, k) for j, k in pairs if lengths[j] > MIN_LIMB_PAIR_SHARE * longest]
    hanging = np.zeros(3)
    for j, k in limbs:
        hanging += 0.5 * (centres[j] + centres[k]) - pose.positions[skeleton.parents[j]]
    return hanging / max(sum(float(lengths[j]) for j, _ in limbs), 1e-300)


class _Mirror:
    """Tries mirror planes on a body whose names do not identify its sides."""

    def __init__(self, skeleton: Skeleton, pose: StandingPose, centres: Array, lengths: Array) -> None:
        self.skeleton, self.length = skeleton, lengths
        pairs = sorted(_similar_branches(skeleton, lengths), key=lambda pair: (-lengths[pair[0]], pair))
        self.first, self.second = np.array(pairs[:MAX_BRANCH_PAIRS], dtype=np.intp).reshape(-1, 2).T
        origin = pose.positions[skeleton.parents[self.first]]
        self.from_first, self.from_second = centres[self.first] - origin, centres[self.second] - origin
        self.offsets = centres - pose.positions[0]

    def normals(self) -> list[Array]:
        """Level normals to try: along x, along z, or from one branch to a similar one."""
        directions = [np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])]
        for across in (self.from_first - self.from_second)[:MAX_MIRROR_DIRECTIONS] * [1.0, 0.0, 1.0]:
            length = float(np.linalg.norm(across))
            if length > 1e-9 and all(abs(float(across @ direction)) < 0.9999 * length for direction in directions):
                directions.append(across / length)
        return directions

    def errors(self, normal: Array) -> Array:
        """(P,) metres between the mirror image of each first branch and its second branch."""
        image = self.from_first - 2.0 * (self.from_first @ normal)[:, None] * normal
        return np.linalg.norm(image - self.from_second, axis=-1)

    def choose(self, normal: Array) -> list[int]:
        """Indices of the pairs that are mirror images; each branch gets its best partner."""
        distances, lengths = (self.errors(normal), np.maximum(self.length[self.first], self.length[self.second]))
        widths = np.abs((self.from_first - self.from_second) @ normal)
        candidates = np.flatnonzero((distances < MAX_ERROR_LENGTHS * lengths) & (widths > 0.02 * lengths))
        taken: set[int] = set()
        chosen = []
        for i in candidates[np.argsort(distances[candidates] / lengths[candidates], kind="stable")].tolist():
            pair = {int(self.first[i]), int(self.second[i])}
            if not pair & taken:
                taken |= pair
                chosen.append(i)
        return chosen

    def pairs(self, normal: Array) -> list[tuple[int, int]]:
        """Top joints of the branches that are mirror images."""
        return [(int(self.first[i]), int(self.second[i])) for i in self.choose(normal)]

    def score(self, normal: Array) -> float:
        """How well a mirror explains a body: the length it mirrors, less distances from images and from its plane."""
        chosen = self.choose(normal)
        sided = np.zeros(self.skeleton.num_joints, bool)
        sided[self.first[chosen]] = sided[self.second[chosen]] = True
        for level in self.skeleton.levels:
            sided[level] |= sided[self.skeleton.parents[level]]
        lengths = self.length[self.first[chosen]] + self.length[self.second[chosen]] - 2.0 * self.errors(normal)[chosen]
        return float(lengths.sum() - np.abs(self.offsets[~sided] @ normal).sum())
