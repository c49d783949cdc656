"""Alignment: brings two characters into one reference pose, from the root outwards [Hsieh05, sec. 3.2].

Bodies that stand alike are aligned by direction: each bone of the target points as its partner does, with the least
twist. From then on the world rotations of the two change alike. Bodies that stand differently (a human and a dog) keep
their own stance: the movement of a limb is relative to its own reference pose, and is transferred through the
directions of the two limbs.
"""

from __future__ import annotations

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import (
    Array,
    between,
    conjugate,
    exp,
    from_axis_angle,
    from_matrix,
    identity,
    multiply,
    rotate,
)
from understudy.base.records import cached, record
from understudy.correspondence.neutral_pose import DOWN, HORIZONTAL, NeutralPose, find_neutral_pose, pose_skeleton, unit
from understudy.correspondence.pairs import ALIGNMENTS, Correspondence, Pair, is_chain
from understudy.figure.kinematics import Pose
from understudy.figure.main_bones import main_bones, main_partners, main_rows
from understudy.figure.measures import MIN_TWIST_COSINE, UP, is_humanoid
from understudy.figure.motion import Motion
from understudy.figure.roles import is_end_bone, leaf_helpers, roles
from understudy.figure.skeleton import JointKind, Skeleton


def with_limbs_hanging(skeleton: Skeleton, local: Array) -> Array:
    """(J, 4) a human's pose with arms hanging down and legs under the hips; the poses of other bodies unchanged."""
    if not is_humanoid(skeleton):
        return local
    joints, pose = roles(skeleton), pose_skeleton(skeleton, local)
    across = unit(
        (pose.positions[0, joints["left_upper_leg"]] - pose.positions[0, joints["right_upper_leg"]]) * HORIZONTAL
    )
    result = local.copy()
    for side in ("left", "right"):
        upper, hand = joints[f"{side}_upper_arm"], joints.get(f"{side}_hand", joints[f"{side}_lower_arm"])
        thigh, foot = joints[f"{side}_upper_leg"], joints[f"{side}_foot"]
        leg = pose.positions[0, foot] - pose.positions[0, thigh]
        arm = pose.positions[0, hand] - pose.positions[0, upper]
        for joint, chord, goal in ((upper, arm, DOWN), (thigh, leg, leg - (leg @ across) * across)):
            parent_rotation = multiply(pose.rotations[0, joint], conjugate(local[joint]))
            rotation = multiply(between(unit(chord), unit(goal)), pose.rotations[0, joint])
            result[joint] = multiply(conjugate(parent_rotation), rotation)
    return result


MAX_ALIKE_RADIANS = np.radians(45.0)
"""Angle between corresponding trunks or limbs up to which two bodies stand alike."""

MIN_BONE_METRES = 1e-6
"""Length below which a bone has no direction."""


@record
class PairTree:
    """The tree of the pairs of a correspondence, with a pose of both bodies."""

    correspondence: Correspondence
    source: Array
    """(J, 4) local rotations."""
    target: Array
    """(J, 4) local rotations."""
    upright: bool
    """Whether both poses are upright."""
    level: bool = False
    """Whether both poses have their feet flat on the floor and their heads straight."""

    def resting(self) -> PairTree:
        """The same bodies with hanging limbs."""
        return PairTree(
            correspondence=self.correspondence,
            source=with_limbs_hanging(self.correspondence.source, self.source),
            target=with_limbs_hanging(self.correspondence.target, self.target),
            upright=self.upright,
            level=self.level,
        )

    @property
    def root(self) -> Pair:
        assert self.correspondence.root is not None
        return self.correspondence.root

    @cached
    def poses(self) -> dict[str, Pose]:
        """Poses of the source and of the target, the target rotated to face as the source does."""
        source = pose_skeleton(self.correspondence.source, self.source)
        target = pose_skeleton(self.correspondence.target, self.target)
        rotations = self.target.copy()
        rotations[0] = multiply(self._facing_turn(source, target), target.rotations[0, 0])
        return {"source": source, "target": pose_skeleton(self.correspondence.target, rotations)}

    def _facing_turn(self, source: Pose, target: Pose) -> Array:
        """(4,) rotation of the whole target that makes it face as the source does."""
        bodies = (("source", source), ("target", target))
        a, b = (self._lines_across(side, pose) for side, pose in bodies)
        if not self.upright or min(np.linalg.norm(a[:, [0, 2]]), np.linalg.norm(b[:, [0, 2]])) < MIN_BONE_METRES:
            # A flat figure has no width: use the positions of all bones.
            a, b = (self._centred_bones(side, pose) for side, pose in bodies)
        if self.upright:
            # As complex numbers z + i x, seen from above, rotations to the left are positive.
            turn = complex(np.sum((b[:, 2] + 1j * b[:, 0]).conj() * (a[:, 2] + 1j * a[:, 0])))
            return from_axis_angle(UP, float(np.angle(turn)) if abs(turn) > 1e-9 else 0.0)
        left, _, right = np.linalg.svd(a.T @ b)
        sign_fix = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
        return from_matrix(left @ sign_fix @ right)

    def _lines_across(self, side: str, pose: Pose) -> Array:
        """(N, 3) vectors between the starts of partner limbs.

        They are not summed: the order of the two limbs may differ from pair to pair, and a sum would cancel.
        """
        index = pose.skeleton.index
        starts = [[index[getattr(p, side)[0]] for p in run[:2]] for run in self.limbs]
        lines = [
            pose.positions[0, starts[a][k]] - pose.positions[0, starts[b][k]]
            for a, b in self._partner_limbs
            for k in range(min(len(starts[a]), len(starts[b])))
        ]
        return np.array(lines).reshape(-1, 3)

    def _centred_bones(self, side: str, pose: Pose) -> Array:
        """(N, 3) positions of all bones about their centre, scaled to unit norm."""
        bones = [bones[end] for end in (0, -1) for bones in (getattr(p, side) for p in self.correspondence.pairs)]
        positions = pose.positions[0, [pose.skeleton.index[bone] for bone in bones]]
        centred = positions - positions.mean(0)
        return centred / max(float(np.linalg.norm(centred)), 1e-12)

    @cached
    def _partner_limbs(self) -> list[tuple[int, int]]:
        """Indices of limbs that are left-right partners on the target.

        Fingers and toes, which hang from limbs, are left out: how a hand is turned does not show where a body faces.
        """
        partner = main_partners(self.correspondence.target)
        index = self.correspondence.target.index
        on_trunk = [
            number
            for number, run in enumerate(self.limbs)
            if (parent := self.parents[run[0]]) is None or not self.is_sided(parent)
        ]
        tops = {index[self.limbs[number][0].target[0]]: number for number in on_trunk}
        return [(n, tops[int(partner[j])]) for j, n in tops.items() if int(partner[j]) in tops and partner[j] > j]

    @cached
    def parents(self) -> dict[Pair, Pair | None]:
        """The parent of each pair on the target."""
        skeleton = self.correspondence.target
        owner = {skeleton.index[bone]: pair for pair in self.correspondence.pairs for bone in pair.target}
        result: dict[Pair, Pair | None] = {}
        for pair in self.correspondence.pairs:
            chain = skeleton.chain(skeleton.index[pair.target[0]])[:-1]
            result[pair] = next((owner[j] for j in reversed(chain) if j in owner and owner[j] is not pair), None)
        return result

    @cached
    def children(self) -> dict[Pair, list[Pair]]:
        """The children of each pair on the target."""
        result: dict[Pair, list[Pair]] = {pair: [] for pair in self.correspondence.pairs}
        for pair, parent in self.parents.items():
            if parent is not None:
                result[parent].append(pair)
        return result

    @cached
    def limbs(self) -> list[list[Pair]]:
        """Runs of pairs that do not branch: limbs, trunk, neck. The first run is the root alone."""
        runs = [[self.root]]
        for pair in self.correspondence.ordered:
            parent = self.parents[pair]
            if parent is not None and (parent is self.root or len(self.children[parent]) > 1):
                run = [pair]
                while len(self.children[run[-1]]) == 1:
                    run.append(self.children[run[-1]][0])
                runs.append(run)
        return runs

    @cached
    def trunk(self) -> list[Pair]:
        """The pairs from the hips, those not included, to the chest, from which neck and arms branch off."""
        return next((run for run in self.limbs[1:] if self._is_trunk(run)), [])

    def _is_trunk(self, run: list[Pair]) -> bool:
        return (
            self.parents[run[0]] is self.root
            and not self.is_sided(run[0])
            and len(self.children[run[-1]]) > 1
            and all(is_chain(self.correspondence.target, pair.target) for pair in run)
        )

    @cached
    def are_human(self) -> bool:
        return is_humanoid(self.correspondence.source) and is_humanoid(self.correspondence.target)

    @cached
    def limb_of(self) -> dict[Pair, int]:
        """The index of the limb of each pair."""
        return {pair: number for number, run in reversed(list(enumerate(self.limbs))) for pair in run}

    @cached
    def _sided_joints(self) -> np.ndarray:
        target = self.correspondence.target
        firsts = [main_bones(target).first_of(joint) for joint in range(target.num_joints)]
        return main_partners(target) != np.array(firsts)

    def is_sided(self, pair: Pair) -> bool:
        """Whether a pair belongs to one side of the target's body."""
        return bool(self._sided_joints[self.correspondence.target.index[pair.target[0]]])

    def start_position(self, side: str, bone: str) -> Array:
        """(3,) the start of a bone."""
        pose = self.poses[side]
        return pose.positions[0, pose.skeleton.index[bone]]

    @cached
    def _bone_tips(self) -> dict[tuple[str, str], Array | None]:
        """Cache of `_bone_tip`."""
        return {}

    def _bone_tip(self, side: str, bone: str) -> Array | None:
        """(3,) the centre of the child joints of a bone, else of its ends."""
        if (side, bone) not in self._bone_tips:
            self._bone_tips[side, bone] = self._find_bone_tip(side, bone)
        return self._bone_tips[side, bone]

    def _find_bone_tip(self, side: str, bone: str) -> Array | None:
        pose = self.poses[side]
        skeleton, start = pose.skeleton, self.start_position(side, bone)
        joint = skeleton.index[bone]
        below, lengths = skeleton.children[joint], skeleton.lengths
        long = [j for j in below if lengths[j] > MIN_BONE_METRES and j not in leaf_helpers(skeleton)]
        bones = pose.positions[0, long]
        ends = pose.points([end for end in skeleton.ends if end.joint == bone])[0]
        end_bones = pose.positions[0, [j for j in below if is_end_bone(skeleton, j)]]
        ends = end_bones if len(end_bones) else ends
        # A jaw near the start of a head does not show where the head leads.
        if len(ends) and not (len(bones) and MIN_TIP_SHARE * _farthest(start, ends) < _farthest(start, bones)):
            return _fan_centre(start, ends)
        distances = np.linalg.norm(bones - start, axis=-1)
        return bones[distances > MIN_TIP_SHARE * distances.max()].mean(0) if len(bones) else None

    def end_position(self, pair: Pair, side: str) -> Array | None:
        """(3,) the end of the bones of a pair: the start of its child pairs; at the end of a limb, its tip."""
        below = self.children[pair]
        if pair is self.root:
            # The hips lead up the trunk: along the middle child with most pairs, to its next branching.
            trunk = sorted((p for p in below if not self.is_sided(p)), key=lambda p: -self._count_pairs(p))[:1]
            run = next((run for run in self.limbs if run[:1] == trunk), [])
            return self.end_position(run[-1], side) if run else None
        if below:
            return np.mean([self.start_position(side, getattr(p, side)[0]) for p in below], axis=0)
        if any(self._bone_tip(s, getattr(pair, s)[-1]) is None for s in ("source", "target")):
            return None
        return self._bone_tip(side, getattr(pair, side)[-1])

    def _count_pairs(self, pair: Pair) -> int:
        return 1 + sum(self._count_pairs(below) for below in self.children[pair])

    def direction(self, pair: Pair, side: str, last: Pair | None = None) -> Array | None:
        """(3,) unit direction from the start of a pair to its end, or to the end of a later pair of its limb."""
        bones = getattr(pair, side)
        if not is_chain(self.poses[side].skeleton, bones):
            return _unit_or_none(sum(d for bone in bones if (d := self.bone_direction(side, bone)) is not None))
        end = self.end_position(last or pair, side)
        if end is None and last is not None and last is not pair:
            end = self.start_position(side, getattr(last, side)[-1])
        return None if end is None else _unit_or_none(end - self._chain_start(side, bones, end))

    def _chain_start(self, side: str, bones: tuple[str, ...], end: Array) -> Array:
        """(3,) the start of a chain of bones; for a chain of hinges, the last hinge that swings the bone.

        Robots set the hinges of a hip or shoulder apart. The bone begins at the last of them that does not only twist
        it.
        """
        pose = self.poses[side]
        skeleton = pose.skeleton
        joints = [skeleton.index[bone] for bone in bones]
        begins_with_ball = len(main_rows(skeleton, bones)[0]) > 1
        if begins_with_ball or any(skeleton.kinds[joint] is not JointKind.HINGE for joint in joints):
            return self.start_position(side, bones[0])
        for joint in reversed(joints):
            direction = _unit_or_none(end - pose.positions[0, joint])
            axis = rotate(pose.rotations[0, joint], skeleton.axes[joint, 0])
            if direction is not None and abs(float(axis @ direction)) < MIN_TWIST_COSINE:
                return pose.positions[0, joint]
        return self.start_position(side, bones[0])

    def bone_direction(self, side: str, bone: str) -> Array | None:
        """(3,) unit direction of one bone."""
        tip = self._bone_tip(side, bone)
        return None if tip is None else _unit_or_none(tip - self.start_position(side, bone))

    @cached
    def stand_alike(self) -> bool:
        """Whether both bodies stand alike: both are human, or their limbs and trunks point alike."""
        if self.are_human:
            return True
        return all(self._angle(run[0], run[-1]) < MAX_ALIKE_RADIANS for run in self.limbs[1:])

    @cached
    def trunks_alike(self) -> bool:
        """Whether both trunks point alike: upright or level."""
        return self._angle(self.root, self.root) < MAX_ALIKE_RADIANS

    def _angle(self, first: Pair, last: Pair) -> float:
        """Radians between a limb of the source and of the target; 0 if one has no direction."""
        a, b = (self.direction(first, side, last) for side in ("source", "target"))
        return 0.0 if a is None or b is None else float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


MIN_TIP_SHARE = 0.5
"""Distance of a child from the start of a bone, as a share of that of the farthest, from which it shows the bone's
direction."""


def _farthest(start: Array, points: Array) -> float:
    """Metres from a start (3,) to the farthest of some points (N, 3)."""
    return float(np.linalg.norm(points - start, axis=-1).max())


def _fan_centre(start: Array, ends: Array) -> Array:
    """(3,) the centre of the ends (E, 3) of a bone; if they fan out, the centre of their directions.

    The lobes of a tail fin have different lengths, but the fin points straight back.
    """
    vectors = ends - start
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    directions = vectors / np.maximum(lengths, MIN_BONE_METRES)
    if lengths.min() < MIN_BONE_METRES or (directions @ directions.T).min() > 0.0:
        return ends.mean(0)
    return start + lengths.mean() * directions.mean(0)


def _unit_or_none(vector: Array | int) -> Array | None:
    size = float(np.linalg.norm(vector))
    return None if size < MIN_BONE_METRES else np.asarray(vector, float) / size


@record
class Alignment:
    """Two equivalent reference poses and the frames through which movement is transferred."""

    correspondence: Correspondence
    source: Array
    """(J, 4) local rotations of the source's reference pose."""
    target: Array
    """(J, 4) local rotations of the target's reference pose, facing and posed like the source's."""
    frames: Array
    """(J, 4) for each bone of the target the rotation from its partner's limb to its own limb; the identity where both
    point alike."""
    stance: bool
    """Whether the two keep their own stances."""
    neutral: tuple[NeutralPose, NeutralPose]
    """The neutral poses of source and target from which the reference poses were made."""

    def __repr__(self) -> str:
        return f"<Alignment of {self.correspondence!r}>"

    @cached
    def tree(self) -> PairTree:
        """The pairs with both bodies in the reference pose."""
        return PairTree(correspondence=self.correspondence, source=self.source, target=self.target, upright=True)

    @cached
    def source_world(self) -> Array:
        """(J, 4) orientations of the source's bones in its reference pose."""
        return pose_skeleton(self.correspondence.source, self.source).rotations[0]

    @cached
    def target_world(self) -> Array:
        """(J, 4) orientations of the target's bones in its reference pose."""
        return pose_skeleton(self.correspondence.target, self.target).rotations[0]


def align(
    correspondence: Correspondence,
    *,
    source_motion: Motion | None = None,
    target_motion: Motion | None = None,
    source_pose: Array | None = None,
    target_pose: Array | None = None,
    mode: str | None = None,
) -> Alignment:
    """Align two characters in one reference pose.

    Args:
        correspondence: Which bones belong together.
        source_motion: A motion of the source, which shows its neutral pose.
        target_motion: A motion of the target, used likewise.
        source_pose: (J, 4) local rotations of the source's reference pose; its neutral pose if not given.
        target_pose: (J, 4) the target's.
        mode: "direction" or "stance" for all pairs without an alignment; None to choose by how the bodies stand.
    """
    if mode is not None and mode not in ALIGNMENTS:
        raise OptionError(f"Expected an alignment, one of {', '.join(ALIGNMENTS)}; got `{mode}`")
    poses = (
        find_neutral_pose(correspondence.source, source_motion, given=source_pose),
        find_neutral_pose(correspondence.target, target_motion, given=target_pose),
    )
    tree = PairTree(
        correspondence=correspondence,
        source=poses[0].local,
        target=poses[1].local,
        upright=all(pose.upright for pose in poses),
        level=all(pose.level for pose in poses),
    )
    resting = tree.resting()
    stance = mode == "stance" if mode is not None else not resting.stand_alike
    if stance:
        tree = resting
    modes = {pair: pair.align or ("stance" if stance else "direction") for pair in correspondence.pairs}
    return Alignment(
        correspondence=correspondence,
        source=tree.source,
        target=_point_bones(tree, modes),
        frames=_limb_frames(tree, modes),
        stance=stance,
        neutral=poses,
    )


def _point_bones(tree: PairTree, modes: dict[Pair, str]) -> Array:
    """(J, 4) the target's local rotations with its bones pointed."""
    skeleton = tree.correspondence.target
    tops = {}
    for pair in tree.correspondence.pairs:
        # The first bone points a whole chain; bones side by side are pointed one by one.
        for bone in pair.target[:1] if is_chain(skeleton, pair.target) else pair.target:
            tops[skeleton.index[bone]] = pair
    fixed = {skeleton.index[bone] for pair, way in modes.items() if way == "stance" for bone in pair.target}
    reference = tree.poses["target"].rotations[0]
    world = reference.copy()
    for joint in range(skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        if parent >= 0 and joint not in fixed:
            world[joint] = multiply(multiply(world[parent], conjugate(reference[parent])), reference[joint])
        if joint in tops and joint not in fixed:
            world[joint] = _point_bone(tree, tops[joint], joint, world[joint])
        if joint in tops and tops[joint].twist:
            along = tree.bone_direction("target", skeleton.names[joint])
            if along is not None:
                axis = rotate(multiply(world[joint], conjugate(reference[joint])), along)
                world[joint] = multiply(from_axis_angle(axis, tops[joint].twist), world[joint])
    world = _posed(skeleton, world, {joint: pair.turn for joint, pair in tops.items() if any(pair.turn)})
    parents = np.concatenate([identity(1), world])[skeleton.parents + 1]
    return multiply(conjugate(parents), world)


def _posed(skeleton: Skeleton, world: Array, turns: dict[int, tuple[float, float, float]]) -> Array:
    """(J, 4) world rotations with joints turned by rotation vectors about their own axes; their children follow."""
    if not turns:
        return world
    result = world.copy()
    for joint in range(skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        if parent >= 0:
            result[joint] = multiply(multiply(result[parent], conjugate(world[parent])), world[joint])
        if joint in turns:
            result[joint] = multiply(result[joint], exp(np.array(turns[joint])))
    return result


def _point_bone(tree: PairTree, pair: Pair, joint: int, world: Array) -> Array:
    """(4,) the world rotation (now `world`) with which a bone of the target points as its partner does."""
    skeleton, pose = tree.correspondence.target, tree.poses["target"]
    reference = pose.rotations[0, joint]
    fixed = _fixed_part(tree, pair)
    if fixed:
        world = reference
    goal = tree.direction(pair, "source")
    chain = is_chain(skeleton, pair.target)
    bone = tree.direction(pair, "target") if chain else tree.bone_direction("target", skeleton.names[joint])
    if goal is None or bone is None or fixed == "all":
        return world
    current = rotate(multiply(world, conjugate(reference)), bone)
    if fixed == "heading":
        current, goal = current * HORIZONTAL, goal * HORIZONTAL
        if min(np.linalg.norm(current), np.linalg.norm(goal)) < 0.3:
            return world
    return multiply(between(current, goal), world)


def _fixed_part(tree: PairTree, pair: Pair) -> str:
    """What of a bone is not pointed: "all", all but the "heading", or "" for nothing.

    Upright bodies have level feet and heads. The directions of hips and chest do not show how they are rotated. The
    trunks of two humans are upright as a whole in their neutral poses, however their spines are curved.
    """
    if not (tree.upright and tree.trunks_alike):
        return ""
    if pair is tree.root or (len(tree.children[pair]) > 1 and not tree.is_sided(pair)):
        return "all"
    if tree.level and tree.are_human and pair in tree.trunk:
        return "all"
    if _is_girdle(tree, pair):
        return "all"
    correspondence = tree.correspondence
    role = _role(correspondence.source, pair.source[0])
    if role != _role(correspondence.target, pair.target[0]):
        return ""
    if role == "shoulder":
        # Where a collar bone or shoulder blade begins differs from rig to rig: each body keeps its own shoulders.
        return "all"
    return {"head": "all", "foot": "heading", "toe": "heading"}.get(role, "") if tree.level else ""


def _is_girdle(tree: PairTree, pair: Pair) -> bool:
    """Whether a pair leads from the trunk to the first bones of two limbs, as collar bones and halves of a pelvis do.

    Where such a bone begins differs from rig to rig, and so does where it points: it shows no pose.
    """
    below = tree.children[pair]
    if not tree.is_sided(pair) or len(below) != 1 or tree.limbs[tree.limb_of[pair]][0] is not pair:
        return False
    bodies = ((tree.correspondence.source, below[0].source[0]), (tree.correspondence.target, below[0].target[0]))
    return all(_role(skeleton, bone) in ("upper_leg", "upper_arm") for skeleton, bone in bodies)


def _role(skeleton: Skeleton, bone: str) -> str:
    first_of = main_bones(skeleton).first_of
    joint = first_of(skeleton.index[bone])
    name = next((role for role, j in roles(skeleton).items() if first_of(j) == joint), "")
    return name.removeprefix("left_").removeprefix("right_")


def _limb_frames(tree: PairTree, modes: dict[Pair, str]) -> Array:
    """(J, 4) rotations from the source's limbs to the target's, for pairs that keep their own stance."""
    skeleton = tree.correspondence.target
    frames = identity(skeleton.num_joints)
    for run in tree.limbs[1:]:
        a, b = (tree.direction(run[0], side, run[-1]) for side in ("source", "target"))
        if a is None or b is None:
            continue
        for pair in run:
            if modes[pair] == "stance":
                frames[[skeleton.index[bone] for bone in pair.target]] = between(a, b)
    return frames
