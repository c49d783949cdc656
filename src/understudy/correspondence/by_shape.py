"""Splits a body into parts by its shape: tree, symmetry, proportions and directions of bones; and the roles in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field, replace
from functools import lru_cache, reduce
from itertools import pairwise

import numpy as np

from understudy.base.quaternion import Array, cross
from understudy.base.records import record
from understudy.correspondence.by_name import named_row, names_tell_parts, split_neck, trunk_by_names
from understudy.correspondence.pairs import descendants
from understudy.correspondence.parts import (
    MAX_FOOT_HEIGHT_SHARE,
    BodyPlan,
    Limb,
    Sides,
    StandingPose,
    find_sides,
    left_out,
    main_path,
    mean_pose,
    measure_reach,
    path,
    pose_at_rest,
    split_limb,
    standing_pose,
)
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import UP, rest_pose_kind
from understudy.figure.motion import Motion
from understudy.figure.roles import compound_joints, is_helper_bone, label, meet, roles, side, words
from understudy.figure.skeleton import JointKind, Skeleton

MIN_LIMB_SHARE = 0.3
"""Share of the longest limb's reach that makes a pair of branches a limb; shorter are ears, eyes, palps."""

MAX_FOOT_GAP_SHARE = 0.15
"""Share of its top's height within which a limb must come to the ground for the body to stand on it."""

LIMB_WORDS = {"leg", "arm", "wing", "fin", "flipper"}
"""Words that make a branch a limb, however short."""

MAX_STEM_SHARE = 0.25
"""Share of its reach within which a branch that splits is several limbs with one root, not a hand."""

MIN_KNEE_BIAS_RADIANS = np.radians(20.0)
"""Distance of the middle of a knee's range from its rest angle from which the range shows which way the knee bends."""

MAX_LEG_GAP_SHARE = 0.4
"""The same for a limb that is called a leg."""

FIN_WORDS = {"fin", "flipper"}
"""Words for the limbs of a body that swims."""

FORWARD_WORDS = (("head", 1.0), ("tail", -1.0), ("abdomen", -1.0), ("jaw", 1.0), ("nose", 1.0), ("beak", 1.0))
"""Words for parts at the front (1) or back (-1) of a body."""


@record
class Branch:
    """A left-right pair of branches that may be limbs."""

    tops: tuple[int, int]
    parent: int
    """The joint of the trunk that they hang from."""
    reach: float
    """Metres from the top along the bones to the end."""


@record
class BodyShape:
    """The branches of a body and the direction that it faces."""

    skeleton: Skeleton
    pose: StandingPose
    sides: Sides
    reach: Array
    """(J,) metres from each joint along the bones to the farthest end below it."""
    branches: tuple[Branch, ...]
    root: int
    """The joint that all branches hang from."""
    forward: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """(3,) the level direction that the body faces."""
    sure: bool = False
    """Whether that direction, and so left and right, is certain."""
    standing_tops: frozenset[int] = frozenset()
    """First joints of the limbs that the body stands on."""

    @property
    def standing(self) -> list[Branch]:
        """The pairs of branches that the body stands on."""
        return [branch for branch in self.branches if branch.tops[0] in self.standing_tops]

    @property
    def size(self) -> float:
        """Metres, the largest extent of the body: upwards, across or along, whichever way it is turned."""
        across = self.sides.across / max(float(np.linalg.norm(self.sides.across)), 1e-9)
        axes = np.array([UP, across, cross(across, UP)])
        return max(float(np.ptp(self.pose.positions @ axes.T, axis=0).max()), 1e-9)


def find_shape(skeleton: Skeleton, pose: StandingPose) -> BodyShape:
    """Find the limb pairs of a body, its root, and the direction that it faces."""
    reach, sides = measure_reach(skeleton), find_sides(skeleton, pose)
    branches = _find_branches(skeleton, sides, reach)
    root = _find_root(skeleton, sides, branches, reach)
    kept = tuple(branch for branch in branches if descendants(skeleton)[root, branch.parent])
    standing = find_standing_limbs(skeleton, pose, kept)
    shape = BodyShape(
        skeleton=skeleton, pose=pose, sides=sides, reach=reach, branches=kept, root=root, standing_tops=standing
    )
    forward, sure = _find_forward(shape)
    return replace(shape, forward=forward, sure=sure)


def _find_branches(skeleton: Skeleton, sides: Sides, reach: Array) -> list[Branch]:
    """Find the pairs of branches of the trunk that are long enough to be limbs."""
    partner = {j: k for pair in sides.pairs for j, k in (pair, pair[::-1])}
    branches: list[Branch] = []
    stack = [0]
    while stack:
        joint = stack.pop()
        for child in skeleton.children[joint]:
            if is_helper_bone(skeleton, child):
                continue
            if child not in partner:
                stack.append(child)
            elif child < partner[child]:
                branches += _split_branch(skeleton, (child, partner[child]), joint, reach)
    if not branches:
        return []
    longest = max(branch.reach for branch in branches)
    return [b for b in branches if b.reach >= MIN_LIMB_SHARE * longest or limb_words(skeleton, b.tops[0]) & LIMB_WORDS]


def limb_words(skeleton: Skeleton, top: int) -> set[str]:
    """All words in the names of a branch, in the singular."""
    below = np.flatnonzero(descendants(skeleton)[top]).tolist()
    return {word.removesuffix("s") for joint in below for word in words(skeleton.names[joint])}


def _split_branch(skeleton: Skeleton, tops: tuple[int, int], parent: int, reach: Array) -> list[Branch]:
    """One limb, or the several limbs that hang from one bone close to the trunk."""
    length = float(reach[tops[0]] + skeleton.lengths[tops[0]])
    rows = [[c for c in skeleton.children[top] if reach[c] + skeleton.lengths[c] > 0.5 * reach[top]] for top in tops]
    divides = len(rows[0]) > 1 and len(rows[0]) == len(rows[1]) and skeleton.lengths[tops[0]] < MAX_STEM_SHARE * length
    if not divides or _is_digit_root(skeleton, tops[0]):
        return [Branch(tops=tops, parent=parent, reach=float(reach[tops[0]]) or length)]
    branches = []
    for pair in zip(*rows):
        branches += _split_branch(skeleton, (pair[0], pair[1]), parent, reach)
    return branches


def _is_digit_root(skeleton: Skeleton, joint: int) -> bool:
    """Whether all children of a joint are leaves: a fin with rays, a paddle with fingers."""
    return all(not skeleton.children[c] for c in skeleton.children[joint])


def _find_root(skeleton: Skeleton, sides: Sides, branches: list[Branch], reach: Array) -> int:
    """Find the lowest joint that carries all limbs and all long middle branches."""
    sided = {joint for pair in sides.pairs for joint in pair}
    ends: list[int] = [branch.parent for branch in branches]
    total = float(reach[0])
    parents: list[int] = skeleton.parents.tolist()
    in_middle, tops = [0 not in sided], [-1]
    for joint, parent in enumerate(parents[1:], start=1):
        in_middle.append(in_middle[parent] and joint not in sided and not is_helper_bone(skeleton, joint))
        # The top of the last branch on the way to a joint.
        tops.append(joint if len(skeleton.children[parent]) > 1 else tops[parent])
        top = tops[joint]
        long = top not in (-1, joint) and reach[top] + skeleton.lengths[top] > 0.15 * total
        if in_middle[joint] and not skeleton.children[joint] and long:
            ends.append(parents[top])
    # A head by name belongs to the body wherever it hangs.
    heads = [j for j, name in enumerate(skeleton.names) if j > 0 and label(name) == "head" and not side(name)][:1]
    ends += [int(skeleton.parents[j]) for j in heads if ends]
    return reduce(lambda a, b: meet(skeleton, a, b), ends) if ends else 0


def find_standing_limbs(skeleton: Skeleton, pose: StandingPose, branches: Sequence[Branch]) -> frozenset[int]:
    """Tops of the limbs that a body stands on: those that reach the ground, and legs by name that nearly do.

    Where no limb reaches the ground, as on an insect in flight, all that are called legs count.
    """
    gaps = {
        top: float(pose.lowest[descendants(skeleton)[top]].min()) / max(float(pose.heights[top]), 1e-9)
        for branch in branches
        for top in branch.tops
    }
    down = {top for top, gap in gaps.items() if gap < MAX_FOOT_GAP_SHARE}
    limit = MAX_LEG_GAP_SHARE if down else np.inf
    legs = {top for top, gap in gaps.items() if gap < limit and "leg" in limb_words(skeleton, top)}
    fins = {top for top in down if FIN_WORDS & limb_words(skeleton, top)}
    return frozenset((down | legs) - fins)


def find_middle_rows(skeleton: Skeleton, joint: int, excluded: set[int], reach: Array) -> list[list[int]]:
    """Find the longest row of bones down each middle branch of a joint."""
    tops = [c for c in skeleton.children[joint] if c not in excluded and not is_helper_bone(skeleton, c)]
    rows = []
    for top in tops:
        row = [top]
        while True:
            below = [c for c in skeleton.children[row[-1]] if c not in excluded and not is_helper_bone(skeleton, c)]
            if not below:
                break
            row.append(max(below, key=lambda c: reach[c] + skeleton.lengths[c]))
        rows.append(row)
    # Covers, cameras and sensors of robots are fixed to the body and are no part of it.
    return [row for row in rows if not all(skeleton.kinds[j] is JointKind.FIXED for j in row)]


def _find_forward(shape: BodyShape) -> tuple[Array, bool]:
    """(3,) the level direction that a body faces, and whether it is certain."""
    across = cross(shape.sides.across, UP)
    forward = across / max(float(np.linalg.norm(across)), 1e-9)
    votes = _sides_vote(shape, forward) + _trunk_vote(shape, forward)
    votes = votes + _names_vote(shape, forward) + _feet_vote(shape, forward) + _knees_vote(shape, forward)
    if shape.pose.heading is not None:
        votes += 1.5 * float(np.sign(shape.pose.heading @ forward))
    votes = votes or _middle_vote(shape, forward)
    if votes == 0.0:
        return forward * (1.0 if forward[2] + 1e-3 * forward[0] >= 0.0 else -1.0), False
    return forward * np.sign(votes), True


def feet_point_back(skeleton: Skeleton, pose: StandingPose, forward: Array) -> bool:
    """Whether feet and knees say that a body faces away from a level direction (3,)."""
    shape = find_shape(skeleton, pose)
    return _feet_vote(shape, forward) + _knees_vote(shape, forward) < 0.0


def _sides_vote(shape: BodyShape, forward: Array) -> float:
    """Vote by the names of the sides: left and up give forward."""
    if not shape.sides.named:
        return 0.0
    names, pose = shape.skeleton.names, shape.pose
    across = np.zeros(3)
    for j, k in shape.sides.pairs:
        sign = 1.0 if side(names[j]) == "left" else -1.0
        across += sign * (pose.tips[j] - pose.tips[k] + pose.positions[j] - pose.positions[k])
    return 10.0 * float(np.sign(cross(across, UP) @ forward))


def _trunk_vote(shape: BodyShape, forward: Array) -> float:
    """Vote by the trunk: on a level body it runs from the root, at the hind legs, to the front limbs."""
    start = shape.pose.positions[shape.root]
    ends = [shape.pose.positions[branch.parent] - start for branch in shape.branches]
    along = float(max(ends, key=lambda offset: float(np.linalg.norm(offset)), default=np.zeros(3)) @ forward)
    return 3.0 * float(np.sign(along)) if abs(along) > 0.15 * shape.size else 0.0


def _names_vote(shape: BodyShape, forward: Array) -> float:
    """Vote by names: a head is at the front, a tail at the back."""
    votes = 0.0
    for part, sign in FORWARD_WORDS:
        named = [j for j, name in enumerate(shape.skeleton.names) if part in words(name) and not side(name)]
        centre = shape.pose.positions[named].mean(axis=0) if named else shape.pose.positions[shape.root]
        offset = float((centre - shape.pose.positions[shape.root]) @ forward)
        votes += 2.0 * sign * float(np.sign(offset)) if abs(offset) > 0.05 * shape.size else 0.0
    return votes


def _feet_vote(shape: BodyShape, forward: Array) -> float:
    """Vote by the feet: they point forward from the first joint near the ground of the standing limbs."""
    skeleton, pose = shape.skeleton, shape.pose
    votes = 0.0
    for branch in shape.branches:
        row = main_path(skeleton, branch.tops[0], shape.reach)
        if row[0] not in shape.standing_tops or len(row) < 2:
            continue
        low = [j for j in row[1:] if pose.heights[j] <= MAX_FOOT_HEIGHT_SHARE * pose.heights[row[0]]]
        has_tip = np.linalg.norm(pose.tips[row[-1]] - pose.positions[row[-1]]) > 0.02 * branch.reach
        foot = low[0] if low else row[-1] if has_tip or skeleton.children[row[-1]] else row[-2]
        below = descendants(skeleton)[foot].copy()
        below[foot] = has_tip and foot == row[-1]
        bone = pose.tips[below].mean(axis=0) - pose.positions[foot] if below.any() else np.zeros(3)
        offset = float(bone @ forward)
        # Without a joint near the ground, the last bone of a leg is a foot only if it is level; a robot dog has none.
        is_level = bool(low) or (abs(offset) > abs(float(bone @ UP)) and skeleton.kinds[foot] is JointKind.BALL)
        votes += float(np.sign(offset)) if is_level and abs(offset) > 0.03 * branch.reach else 0.0
    return 2.0 * float(np.sign(votes))


def _knees_vote(shape: BodyShape, forward: Array) -> float:
    """Vote by the ranges of the knees: the knee of a body on two legs bends so that its foot goes back."""
    skeleton, positions = shape.skeleton, shape.pose.positions
    if len(shape.standing) != 1:
        return 0.0
    votes = 0.0
    for top in shape.standing[0].tops:
        compounds = compound_joints(skeleton, main_path(skeleton, top, shape.reach))
        for compound, following in pairwise(compounds[1:]):
            knee, foot = compound.centre, following.centre
            is_limited = bool(np.isfinite(skeleton.limits[knee, 0]).all())
            middle = float(skeleton.limits[knee, 0].mean() - shape.pose.angles[knee]) if is_limited else 0.0
            is_hinge = len(compound.joints) == 1 and skeleton.kinds[knee] is JointKind.HINGE
            if is_hinge and abs(middle) > MIN_KNEE_BIAS_RADIANS:
                step = cross(shape.pose.axes[knee], positions[foot] - positions[knee])
                votes -= float(np.sign(middle * (step @ forward)))
                break
    return 4.0 * float(np.sign(votes))


def _middle_vote(shape: BodyShape, forward: Array) -> float:
    """Vote by the middle: a neck rises at the front; a level body extends farther behind its root."""
    skeleton, positions, reach = shape.skeleton, shape.pose.positions, shape.reach
    rows = find_middle_rows(skeleton, shape.root, {joint for pair in shape.sides.pairs for joint in pair}, reach)
    for row in sorted(rows, key=lambda row: -float(positions[row[-1], 1])):
        offset = positions[row[-1]] - positions[shape.root]
        if offset[1] > 0.1 * shape.size and abs(float(offset @ forward)) > 0.05 * shape.size:
            return float(np.sign(offset @ forward))
    longest = max(rows, key=lambda row: reach[row[0]] + skeleton.lengths[row[0]], default=None)
    if longest is None or reach[longest[0]] + skeleton.lengths[longest[0]] < MIN_MIDDLE_REACH_SHARE * shape.size:
        return 0.0
    return -float(np.sign((positions[longest[-1]] - positions[shape.root]) @ forward))


MIN_MIDDLE_REACH_SHARE = 0.3
"""Share of a body's size from which its longest middle part, a tail or an abdomen, shows where its back is."""

MAX_FIN_REACH_SHARE = 0.4
"""Share of a body's length below which a limb of one or two bones is a fin."""

MAX_LEVEL_HEIGHT_SHARE = 0.45
"""Height of a level body without legs, a fish, as a share of its length."""

ARM_WORDS = {"arm", "leg", "hand", "shoulder"}
"""Words for limbs that are no wings."""

FOOT_WORDS = {"foot", "feet", "toe", "paw", "hoof", "hand", "knee", "ankle"}
"""Words for parts of limbs that are no fins."""

MAX_HIP_OFFSET_SHARE, MAX_COLLAR_OFFSET_SHARE = 0.02, 0.085
"""Distances from the middle, in reaches of the limb, within which joints belong to the girdle: legs, other limbs."""

MAX_GIRDLE_SHARE, MAX_GIRDLE_BONE_SHARE = 0.38, 0.26
"""Lengths, in reaches of the leg, of all bones between the middle of the body and the hip, and of one of them."""

MIN_THIGH_RATIO = 0.35
"""Length of a thigh in lengths of the next bone; shorter bones come before the hip."""

MAX_SPREAD_SHARE = 0.24
"""Share by which the distance of a leg's joints from the middle may change below the hip."""

MAX_GIRDLE_OFFSET_RATIO = 0.6
"""Distance from the middle of a joint before the hip, in distances of the next joint."""

PART_BY_LABEL = {
    "hips_or_leg": "upper", "upper_leg": "upper", "upper_arm": "upper", "lower_leg": "lower", "lower_arm": "lower",
    "foot": "end", "hand": "end",
}  # fmt: skip
"""Part of a limb by the label of a joint's name."""


MAX_LEFT_OUT_SHARE = 0.4
"""Length of a branch that is no part of a body, in lengths of its longest limb, from which a limb was missed."""

STANDING_KINDS = ("T-pose", "A-pose", "arms down")
"""Kinds of rest poses in which a human stands."""


def is_understood(plan: BodyPlan) -> bool:
    """Whether no limb of a body without names was missed."""
    return plan.named or left_out(plan)[1] <= MAX_LEFT_OUT_SHARE


def find_plan(skeleton: Skeleton, motion: Motion | None = None) -> BodyPlan:
    """Find the parts of a body whose names do not identify them, as it stands at rest or on average in a motion.

    Where the pose that is more likely to stand shows no body, the other one may. A human who stands at rest shows its
    parts best, and can be told from arbitrary rotations once they are found.
    """
    at_rest = plan_by_shape(skeleton, pose_at_rest(skeleton))
    if motion is None or (is_understood(at_rest) and _stands(at_rest)):
        return at_rest
    likely = plan_by_shape(skeleton, standing_pose(skeleton, motion))
    plans = (likely, plan_by_shape(skeleton, mean_pose(motion)), at_rest)
    return next((plan for plan in plans if plan.kind != "other" and is_understood(plan)), likely)


def _stands(plan: BodyPlan) -> bool:
    """Whether a body stands as a human in its rest pose, given its parts."""
    names = plan.skeleton.names
    known = replace(plan.skeleton, role_joints={role: names[joint] for role, joint in roles_of_plan(plan).items()})
    return rest_pose_kind(known) in STANDING_KINDS


def plan_by_shape(skeleton: Skeleton, pose: StandingPose) -> BodyPlan:
    """Find the parts of a body whose names do not identify its arms and legs."""
    shape = find_shape(skeleton, pose)
    branches = sorted(shape.branches, key=lambda branch: _position_along_body(shape, branch))
    trunk = _find_trunk(shape)
    many_legs = len(shape.standing) > 1
    if not many_legs:
        # A robot may hang its legs from its chest: they are the lowest all the same.
        branches.sort(key=lambda branch: branch not in shape.standing)
    # Birds and tailed bodies on two legs walk on their toes as dogs do: the joint called ankle is off the ground.
    many_legs = many_legs or any("wing" in limb_words(skeleton, branch.tops[0]) for branch in branches)
    many_legs = many_legs or (len(shape.standing) == 1 < len(branches) and "tail" in trunk)
    pairs = [_make_limbs(shape, branch, many_legs) for branch in branches]
    kind = _body_kind(shape, pairs, "tail" in trunk)
    heads = {part: joint for part, joint in roles(skeleton).items() if part in ("neck", "head")}
    trunk_parts = trunk_by_names(skeleton, shape.root, heads)
    named_parts = {part: row for part, row in trunk_parts.items() if part in ("neck", "head", "jaw", "tail")}
    if kind == "spider or insect":
        named_parts |= {"abdomen": row} if (row := named_row(skeleton, shape.root, {"abdomen"})) else {}
    adapted = _adapt_trunk(skeleton, trunk, kind, named_parts)
    merged = _adapt_trunk(skeleton, _merge_trunk(skeleton, adapted, named_parts), kind, named_parts)
    return BodyPlan(
        skeleton=skeleton, pose=pose, kind=kind, root=shape.root, trunk=merged, named=False,
        limbs=tuple(_rename_limbs(skeleton, pair, kind) for pair in pairs),
        named_trunk=frozenset(named_parts), sure_sides=shape.sure or not pairs,
    )  # fmt: skip


def _merge_trunk(
    skeleton: Skeleton, trunk: dict[str, tuple[int, ...]], named_parts: dict[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Parts identified by name, and of the other parts the bones that come before them."""
    result = dict(named_parts)
    if "neck" in named_parts and named_parts["neck"][0] in trunk.get("neck", ()):
        # Bones of the chest above the limbs belong to the spine.
        chest_bones = trunk["neck"][: trunk["neck"].index(named_parts["neck"][0])]
        trunk = trunk | {
            "spine": trunk.get("spine", ()) + tuple(j for j in chest_bones if label(skeleton.names[j]) == "spine")
        }
    for part, row in trunk.items():
        others = {joint for name, joints in named_parts.items() if name != part for joint in joints}
        cut = next((i for i, joint in enumerate(row) if joint in others), len(row))
        if part not in named_parts and row[:cut]:
            result[part] = row[:cut]
    return result


def _position_along_body(shape: BodyShape, branch: Branch) -> tuple[float, bool, float]:
    """Position of a limb along the body: how far up the trunk, whether it is off the ground, how far forward."""
    skeleton, positions = shape.skeleton, shape.pose.positions
    distance = float(sum(skeleton.lengths[j] for j in path(skeleton, shape.root, branch.parent)[1:]))
    below = descendants(skeleton)[branch.tops[0]] | descendants(skeleton)[branch.tops[1]]
    forward = float((positions[below].mean(axis=0) - positions[shape.root]) @ shape.forward)
    return round(distance / (0.08 * shape.size)), branch.tops[0] not in shape.standing_tops, forward


def _make_limbs(shape: BodyShape, branch: Branch, many_legs: bool) -> tuple[Limb, Limb]:
    """Make the left and right limb of a pair; with many legs or wings, the feet are at the ground."""
    skeleton, pose = shape.skeleton, shape.pose
    left = cross(UP, shape.forward)
    order = [0, 1]
    if side(skeleton.names[branch.tops[0]]):
        order.sort(key=lambda i: side(skeleton.names[branch.tops[i]]))
    else:
        order.sort(key=lambda i: -float(pose.positions[descendants(skeleton)[branch.tops[i]]].mean(axis=0) @ left))
    limbs = []
    rows = [main_path(skeleton, top, shape.reach) for top in branch.tops]
    girdles = [_count_girdle_joints(shape, row, branch, row[0] in shape.standing_tops) for row in rows]
    heights = pose.heights.copy()
    if len(rows[0]) == len(rows[1]):
        heights[rows[0]] = heights[rows[1]] = heights[rows].mean(axis=0)
    for which, i in zip(("left", "right"), order):
        row, stands = rows[i], rows[i][0] in shape.standing_tops
        # Both sides are split alike, also where a pose is not quite symmetric.
        named, girdle = _joints_by_name(skeleton, row), min(girdles) if len(rows[0]) == len(rows[1]) else girdles[i]
        if "upper" in named and row.index(named["upper"]) < girdle and "hip" in words(skeleton.names[named["upper"]]):
            # Some rigs call the bone that leads out to the hip by that name.
            named = {}
        if stands and len(shape.standing) <= 2 and not named:
            named = {"upper": row[girdle]}
        parts = split_limb(
            skeleton, row, pose, named, stands=stands and many_legs, heights=heights, girdle=girdle,
            compound=len(shape.standing) <= 2,
        )  # fmt: skip
        if stands and parts.get("tip"):
            parts["tip"] = _find_toes(shape, parts["tip"])
        limbs.append(Limb(side=which, kind="leg" if stands else "arm", parts=parts, stands=stands, named=False))
    return limbs[0], limbs[1]


MIN_TOE_RATIO = 0.5
"""Distance of a toe from the foot's joint, in distances of the longest toe."""


def _find_toes(shape: BodyShape, tip: tuple[int, ...]) -> tuple[int, ...]:
    """The toes of a foot, given the joints of the longest one.

    Toes side by side hang from one bone and lead the same way. The last joint of a single toe is its end if the file
    says that it has no length.
    """
    skeleton, longest = shape.skeleton, shape.skeleton.offsets[tip[0]]
    length = float(np.linalg.norm(longest))
    toes = [
        joint
        for joint in skeleton.children[skeleton.parents[tip[0]]]
        if not is_helper_bone(skeleton, joint)
        and skeleton.lengths[joint] > MIN_TOE_RATIO * length
        and float(skeleton.offsets[joint] @ longest) > 0.0
    ]
    if len(toes) > 1:
        return tuple(toes)
    has_end = any(end.joint == skeleton.names[tip[-1]] for end in skeleton.ends)
    return tip[:-1] if len(tip) > 1 and has_end and not shape.reach[tip[-1]] else tip


def _count_girdle_joints(shape: BodyShape, row: list[int], branch: Branch, stands: bool) -> int:
    """Count the first joints of a limb that lie too near the middle of the body to be part of the limb."""
    positions = shape.pose.positions
    offsets = np.abs((positions[row] - positions[branch.parent]) @ shape.sides.across)
    if stands and len(shape.standing) <= 2:
        return _count_hip_joints(shape, row, offsets)
    near = offsets < (MAX_HIP_OFFSET_SHARE if stands else MAX_COLLAR_OFFSET_SHARE) * shape.reach[row[0]]
    return min(int(np.argmin(near)) if not near.all() else 0, max(len(row) - 2, 0))


def _count_hip_joints(shape: BodyShape, row: list[int], offsets: Array) -> int:
    """Count the first joints of a leg that lead from the middle of the body out to the hip.

    From the hip on, a leg stays at one distance (row's `offsets`) from the middle. Where it spreads, only short bones
    that go outwards, or are too short for a thigh, come before the hip.
    """
    lengths = np.linalg.norm(np.diff(shape.pose.positions[row], axis=0), axis=-1)
    most = MAX_GIRDLE_SHARE * shape.reach[row[0]]
    for count in range(len(row) - 2):
        stays = np.all(np.abs(offsets[count:] - offsets[count]) < MAX_SPREAD_SHARE * offsets[count])
        if stays and lengths[:count].sum() < most and lengths[count] >= MIN_THIGH_RATIO * lengths[count + 1]:
            return count
    count = 0
    while count < len(row) - 3 and lengths[count] <= MAX_GIRDLE_BONE_SHARE * shape.reach[row[0]]:
        goes_out = offsets[count] < MAX_GIRDLE_OFFSET_RATIO * offsets[count + 1]
        if not goes_out and lengths[count] >= MIN_THIGH_RATIO * lengths[count + 1]:
            break
        count += 1
    return count


def _joints_by_name(skeleton: Skeleton, row: list[int]) -> dict[str, int]:
    """Joints of a limb identified by name; empty unless names identify enough of them."""
    indices_by_part: dict[str, list[int]] = {}
    for i, joint in enumerate(row):
        part = PART_BY_LABEL.get(label(skeleton.names[joint]), "")
        if label(skeleton.names[joint]) == "upper_leg" and any(
            label(skeleton.names[j]) == "upper_arm" for j in row[:i]
        ):
            # Below a humerus, the upper leg of a horse is its forearm.
            part = "lower"
        indices_by_part.setdefault(part, []).append(i)
    # With an ankle and a foot, the shape shows which of them is on the ground.
    parts = ("upper", "lower", "end") if len(indices_by_part.get("end", ())) == 1 else ("upper", "lower")
    indices = [indices_by_part[part][0] for part in parts if part in indices_by_part]
    if len(indices) < len(parts) or indices != sorted(set(indices)):
        return {}
    return {part: row[index] for part, index in zip(parts, indices)}


def _body_kind(shape: BodyShape, pairs: list[tuple[Limb, Limb]], has_tail: bool) -> str:
    """The kind of a body, by the number of limbs that it stands on."""
    if _is_fish(shape):
        return "fish"
    legs = sum(left.stands for left, _ in pairs)
    if legs == 1:
        name_words = {word for left, _ in pairs for j in left.bones for word in words(shape.skeleton.names[j])}
        return "bird" if {"wing", "wings"} & name_words or (has_tail and len(pairs) > 1) else "biped"
    return "spider or insect" if legs > 2 else "quadruped" if legs == 2 else "other"


def _is_fish(shape: BodyShape) -> bool:
    """Whether a body is level and long, and all its limbs are fins: by name, or short and not to stand on."""
    skeleton, positions = shape.skeleton, shape.pose.positions
    length = max(float(np.ptp(positions @ shape.forward)), 1e-9)
    level = float(np.ptp(positions[:, 1])) < MAX_LEVEL_HEIGHT_SHARE * length
    if skeleton.num_joints <= 2 or not level:
        return False
    for branch in shape.branches:
        name_words = limb_words(skeleton, branch.tops[0])
        if name_words & FIN_WORDS:
            continue
        row = main_path(skeleton, branch.tops[0], shape.reach)
        short = len(row) <= 2 and shape.reach[row[0]] < MAX_FIN_REACH_SHARE * length
        if not short or name_words & (LIMB_WORDS | FOOT_WORDS):
            return False
    return True


def _rename_limbs(skeleton: Skeleton, pair: tuple[Limb, Limb], kind: str) -> tuple[Limb, Limb]:
    """Give limbs the kind that fits the body: a bird's arms are wings, a fish's are fins."""
    name_words = {word for joint in pair[0].bones for word in words(skeleton.names[joint])}
    new_kind = "wing" if {"wing", "wings"} & name_words else None
    new_kind = "fin" if FIN_WORDS & {word.removesuffix("s") for word in name_words} else new_kind
    if new_kind is None:
        is_wing = kind == "bird" and not pair[0].stands and not ARM_WORDS & name_words
        new_kind = "fin" if kind == "fish" else "wing" if is_wing else pair[0].kind
    left, right = (replace(limb, kind=new_kind, stands=limb.stands and new_kind == "leg") for limb in pair)
    return left, right


def _find_trunk(shape: BodyShape) -> dict[str, tuple[int, ...]]:
    """Find spine, neck, head and tail: the middle branches in front of and behind the limbs."""
    skeleton, pose, root, reach = shape.skeleton, shape.pose, shape.root, shape.reach
    sided = {joint for pair in shape.sides.pairs for joint in pair}
    # Fins do not mark the end of a spine: a fish bends behind them.
    ends = [] if _is_fish(shape) else [branch.parent for branch in shape.branches]
    if len(shape.standing) == 1 < len(ends):
        # The spine leads up to the arms, also where the legs hang from a waist below the root.
        ends = [branch.parent for branch in shape.branches if branch not in shape.standing]
    top = max(ends, key=lambda j: len(path(skeleton, root, j)), default=root)
    front = _below_collars(shape, top)
    trunk: dict[str, tuple[int, ...]] = {}
    spine = path(skeleton, root, front)[1:]
    carrying = {joint for branch in shape.branches for joint in path(skeleton, root, branch.parent)}
    carrying = carrying - ({top} - {front}) if ends else set()
    heads = find_middle_rows(skeleton, front, sided | carrying, reach)
    tails = find_middle_rows(skeleton, root, sided | carrying, reach) if front != root else []
    if len(heads) == 1 and not shape.branches:
        return {"spine": tuple(heads[0])}
    if front == root:
        # Everything hangs from one joint: the front branch is the head, the back branch the tail.
        direction = np.asarray(shape.forward) + 0.5 * UP
        score = [float((pose.tips[row[-1]] - pose.positions[root]) @ direction) for row in heads]
        tails = [row for row, s in zip(heads, score) if s < 0.0]
        heads = [row for row, s in zip(heads, score) if s >= 0.0]
    if spine:
        trunk["spine"] = tuple(spine)
    if heads:
        row = max(heads, key=lambda row: _score_row(shape, row))
        cut = _find_head(skeleton, row)
        trunk |= split_neck(skeleton, row[: cut + 1], row[cut])
    if tails:
        longest: list[int] = max(tails, key=lambda tail: _score_row(shape, tail))
        trunk["tail"] = tuple(longest)
    return trunk


def _below_collars(shape: BodyShape, front: int) -> int:
    """The chest of a body on two legs, given the joint that its arms hang from.

    Collar bones begin above the joint of the chest. Some rigs hang them from the neck: the chest is what carries it.
    """
    skeleton, heights = shape.skeleton, shape.pose.heights
    arms = [branch for branch in shape.branches if branch.parent == front and branch not in shape.standing]
    tops = [top for branch in arms for top in branch.tops]
    parent = int(skeleton.parents[front])
    sided = {joint for pair in shape.sides.pairs for joint in pair}
    carries_head = sum(bool(shape.reach[c]) or c not in sided for c in skeleton.children[front] if c not in tops) == 1
    low = bool(tops) and float(heights[tops].max()) < float(heights[front]) - MIN_COLLAR_DROP_SIZES * shape.size
    inside = front != shape.root and parent != shape.root and skeleton.kinds[front] is JointKind.BALL
    return parent if len(shape.standing) == 1 and carries_head and low and inside else front


MIN_COLLAR_DROP_SIZES = 0.01
"""Distance of the collar bones below the joint that carries them, as a share of the body's size, from which that joint
is a neck."""


def _score_row(shape: BodyShape, row: Sequence[int]) -> float:
    """Score a row of bones as part of the middle: its length, less how far to one side it begins."""
    offset = float((shape.pose.positions[row[0]] - shape.pose.positions[shape.root]) @ shape.sides.across)
    return float(shape.reach[row[0]] + shape.skeleton.lengths[row[0]]) - 10.0 * abs(offset)


def _adapt_trunk(
    skeleton: Skeleton, trunk: dict[str, tuple[int, ...]], kind: str, named: Collection[str] = ()
) -> dict[str, tuple[int, ...]]:
    """Adapt the trunk to the kind of body: a spider's tail is its abdomen, a fish's tail mostly its spine."""
    result = dict(trunk)
    if kind == "spider or insect" and "tail" in result:
        result["abdomen"] = result.pop("tail")
    if kind == "fish":
        if "neck" in result and "head" not in named:
            result["head"] = result.pop("neck")[:1]
        if "tail" in result and "spine" not in result:
            row = result.pop("tail")
            cut = next((i for i, j in enumerate(row) if "tail" in words(skeleton.names[j])), len(row) - 1)
            result |= {"spine": row[:cut]} if cut else {}
            result["tail"] = row[cut:]
    return result


def _find_head(skeleton: Skeleton, row: list[int]) -> int:
    """Index of the head in the row above the chest: the first bone with several children (jaw, ears), else the last."""
    end_joints = [end.joint for end in skeleton.ends]
    size = float(np.ptp(skeleton.rest_world[0], axis=0).max())
    counts = [len(skeleton.children[joint]) + end_joints.count(skeleton.names[joint]) for joint in row]
    # A neck may carry a bone of its own: the head carries more.
    most = max(counts[1:-1], default=0)
    for i in range(1, len(row) - 1):
        if counts[i] > 1 and counts[i] >= MIN_FACE_SHARE * most:
            # A bone that begins where the one before it does, or in front of its ears, carries a face: that one is the
            # head.
            is_face = skeleton.lengths[row[i]] < MIN_BONE_SIZES * size or _is_before_ears(skeleton, row[i], row[i + 1])
            return i - 1 if i > 1 and is_face else i
    if len(row) < 3 or skeleton.children[row[-1]] or skeleton.names[row[-1]] in end_joints:
        return len(row) - 1
    # Bones of a face lead off to the side of the neck.
    steps = np.diff(skeleton.rest_world[0][row], axis=0)
    lengths = np.maximum(np.linalg.norm(steps, axis=1), 1e-12)
    cosines = np.einsum("ni,ni->n", steps[:-1], steps[1:]) / (lengths[:-1] * lengths[1:])
    turning = np.flatnonzero(cosines < MIN_NECK_COSINE)
    if len(turning) and lengths[turning[0] + 1 :].sum() < MAX_FACE_SIZES * size:
        return int(turning[0]) + 1
    # A leaf without an end carries no bone: it is the end of the bone before it, unless that is a part of a neck.
    is_neck = MIN_NECK_RATIO * lengths[-2] < lengths[-1] < MIN_HEAD_SIZES * size and cosines[-1] > MIN_NECK_COSINE
    return len(row) - (1 if is_neck else 2)


def _is_before_ears(skeleton: Skeleton, joint: int, following: int) -> bool:
    """Whether what hangs from a joint, beside the bone that follows, begins along the bone that leads to the joint."""
    positions = skeleton.rest_world[0]
    bone = positions[joint] - positions[skeleton.parents[joint]]
    others = [c for c in skeleton.children[joint] if c != following and not is_helper_bone(skeleton, c)]
    shares = (positions[others] - positions[joint]) @ bone / max(float(bone @ bone), 1e-12)
    return len(others) > 1 and float(shares.mean()) < -MIN_EAR_SHARE


MIN_EAR_SHARE = 0.25
"""How far ears begin before the joint that carries them, on average, in lengths of the bone that leads there."""

MIN_FACE_SHARE = 0.5
"""Share of the children of the bone with most of them above which a bone of the row above the chest is a head."""

MAX_FACE_SIZES = 0.2
"""Length of the bones of a face, or of the hair, as a share of the size of the body."""

MIN_BONE_SIZES = 0.005
"""Length of a bone as a share of the size of the body; a shorter one begins where the one before it does."""

MIN_NECK_RATIO, MIN_NECK_COSINE = 0.7, 0.9
"""Length of the second of two bones of a neck in lengths of the first, and the cosine of the angle between them: a jaw
is shorter and leads off to the front."""

MIN_HEAD_SIZES = 0.065
"""Length of a head from its joint to its top as a share of the size of the body; bones of a neck are shorter."""

ROLE_KINDS = ("biped", "quadruped")
"""Kinds of bodies that have the roles of a human: two pairs of limbs, and a trunk between them."""

LIMB_ROLES = {
    "leg": {"upper": "upper_leg", "lower": "lower_leg", "end": "foot", "tip": "toe"},
    "arm": {"upper": "upper_arm", "lower": "lower_arm", "end": "hand"},
}
"""Roles of the first joint of each part of a limb; the forelegs of an animal have the roles of arms."""


def with_roles(skeleton: Skeleton, motion: Motion | None = None) -> Skeleton:
    """The skeleton, with the roles of its joints if its names do not give them and its shape does.

    Args:
        skeleton: The body.
        motion: A motion of the body, which shows how it stands if its rest pose does not.
    """
    if skeleton.role_joints or names_tell_parts(skeleton, motion):
        return skeleton
    return _with_roles(skeleton, motion)


@lru_cache(maxsize=32)
def _with_roles(skeleton: Skeleton, motion: Motion | None) -> Skeleton:
    main, named = main_bones(skeleton), roles(skeleton)
    plan = find_plan(main.skeleton, None if motion is None else main.of_motion(motion))
    found = {role: main.members[joint][0] for role, joint in roles_of_plan(plan).items()}
    # The names of an animal's parts mean other joints than a human's.
    found = found | named if found and plan.kind != "quadruped" else found
    return replace(skeleton, role_joints={role: skeleton.names[joint] for role, joint in found.items()})


def roles_of_plan(plan: BodyPlan) -> dict[str, int]:
    """The joint of each role in a body plan; empty for a body that is no human and no animal on four legs."""
    if plan.kind not in ROLE_KINDS or len(plan.limbs) < 2 or not plan.sure_sides:
        return {}
    joints: dict[str, int] = {}
    for kind, pair in (("leg", plan.limbs[0]), ("arm", plan.limbs[-1])):
        for limb in pair:
            joints |= {f"{limb.side}_{role}": joint for role, joint in _limb_roles(limb, kind).items()}
    return joints | _trunk_roles(plan, joints)


def _limb_roles(limb: Limb, kind: str) -> dict[str, int]:
    joints = {role: limb.parts[part][0] for part, role in LIMB_ROLES[kind].items() if limb.parts.get(part)}
    if kind == "arm" and limb.parts.get("girdle"):
        joints["shoulder"] = limb.parts["girdle"][-1]
    return joints


def _trunk_roles(plan: BodyPlan, limbs: dict[str, int]) -> dict[str, int]:
    hips, chest = (
        meet(plan.skeleton, limbs.get(f"left_{part}", plan.root), limbs.get(f"right_{part}", plan.root))
        for part in ("upper_leg", "upper_arm")
    )
    # Hips that carry legs alone are no hips, unless the arms hang from the root: that is a chest with a waist below.
    joints = {"hips": hips if chest == plan.root else plan.root}
    joints |= {"chest": chest} if chest != joints["hips"] else {}
    if plan.trunk.get("spine"):
        joints["spine"] = plan.trunk["spine"][0]
    if plan.trunk.get("neck"):
        joints["neck"] = plan.trunk["neck"][0]
    if plan.trunk.get("head"):
        joints["head"] = plan.trunk["head"][0]
    if plan.trunk.get("tail"):
        joints["tail"] = plan.trunk["tail"][0]
    return joints
