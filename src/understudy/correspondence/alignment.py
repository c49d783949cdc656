"""Alignment: two characters brought into one reference pose, bone by bone from the root outwards [Hsieh05, sec. 3.2].

Bodies that stand alike are aligned by direction: each bone of the target points where its partner points, with the
least twist, so that from then on the world orientations of the two move alike. Bodies that stand differently (a human
and a dog) keep each its own stance: what a limb does is counted from how it hangs by itself, and carried over through
the directions of the two limbs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import (
    Array,
    between,
    conjugate,
    from_axis_angle,
    from_matrix,
    identity,
    multiply,
    rotate,
    unrotate,
)
from understudy.base.records import cached
from understudy.correspondence.pairs import ALIGNMENTS, Correspondence, Pair, is_chain
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import is_humanoid, leg_length, rest_pose_kind
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.naming import words
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.figure.symmetry import partners

SETTLING = 0.2
"""Seconds that a moving foot is taken to need to come to rest."""

DOWN = np.array([0.0, -1.0, 0.0])

LEVEL = np.array([1.0, 0.0, 1.0])


def posed(skeleton: Skeleton, local: Array) -> Pose:
    """A body in one pose (J, 4) of local rotations, as a pose of one frame."""
    return fk(replace(rest_motion(skeleton), rotations=local[None]))


def stands_at_rest(skeleton: Skeleton) -> bool:
    """Whether the rest pose is one that the body can stand in; where nobody can tell it is taken for one."""
    return rest_pose_kind(skeleton) != "no pose"


def reference_pose(skeleton: Skeleton, motion: Motion | None = None) -> Array:
    """(J, 4) local rotations of the pose that a body's movement is counted from.

    The rest pose where the body stands in it; else, where zero rotations are no pose (bones laid out in a row), the
    frame of its motion, if there is one, in which it stands most.
    """
    if motion is None or stands_at_rest(skeleton):
        return skeleton.rest
    return motion.rotations[_standing(motion) if motion.num_frames > 1 else 0]


def _standing(motion: Motion) -> int:
    """The frame in which a body stands most: its feet down and still, its trunk as it mostly is, legs under it."""
    found, pose = roles(motion.skeleton), fk(motion)
    human, leg = is_humanoid(motion.skeleton), leg_length(motion.skeleton)
    limbs = [("upper_leg", "foot")] if human else [("upper_leg", "foot"), ("upper_arm", "hand")]
    cost = np.zeros(motion.num_frames)
    for upper, lower in limbs:
        for side in ("left", "right"):
            top, tip = found.get(f"{side}_{upper}"), found.get(f"{side}_{lower}")
            if top is None or tip is None:
                continue
            place = pose.positions[:, tip]
            speed = np.linalg.norm(np.gradient(place, 1.0 / motion.fps, axis=0), axis=-1)
            cost += (place[:, 1] - np.percentile(place[:, 1], 5)) / leg + SETTLING * speed / leg
            cost += 0.5 * _tilt(pose.positions[:, top] - place)
    top = found.get("neck", found.get("head"))
    if top is not None and "hips" in found:
        tilt = _tilt(pose.positions[:, top] - pose.positions[:, found["hips"]])
        cost += tilt if human else np.abs(tilt - np.median(tilt))
    return int(np.argmin(cost))


def _tilt(v: Array) -> Array:
    """(F,) radians between vectors (F, 3) and up."""
    return np.arccos(np.clip(_unit_reference(v)[:, 1], -1.0, 1.0))


def with_limbs_hanging(skeleton: Skeleton, local: Array) -> Array:
    """(J, 4) a human's pose with the arms let down and the legs brought under the hips, as it stands when it does
    nothing; other bodies' as it is."""
    if not is_humanoid(skeleton):
        return local
    found, pose = roles(skeleton), posed(skeleton, local)
    across = _unit_reference(
        (pose.positions[0, found["left_upper_leg"]] - pose.positions[0, found["right_upper_leg"]]) * LEVEL
    )
    out = local.copy()
    for side in ("left", "right"):
        upper, hand = found[f"{side}_upper_arm"], found.get(f"{side}_hand", found[f"{side}_lower_arm"])
        thigh, foot = found[f"{side}_upper_leg"], found[f"{side}_foot"]
        leg = pose.positions[0, foot] - pose.positions[0, thigh]
        arm = pose.positions[0, hand] - pose.positions[0, upper]
        for joint, chord, wanted in ((upper, arm, DOWN), (thigh, leg, leg - (leg @ across) * across)):
            above = multiply(pose.rotations[0, joint], conjugate(local[joint]))
            turned = multiply(between(_unit_reference(chord), _unit_reference(wanted)), pose.rotations[0, joint])
            out[joint] = multiply(conjugate(above), turned)
    return out


def _unit_reference(v: Array) -> Array:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)


ALIKE = np.radians(45.0)
"""How far apart two bodies' trunks and limbs may point in their reference poses and still stand alike."""

UP = np.array([0.0, 1.0, 0.0])

SWINGS = 0.9
"""Cosine between a hinge's axis and the bone from which on it only turns the bone about its own length."""

SHORT = 1e-6
"""Metres below which a bone has no direction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairTree:
    """A map of bones and a pose of each of its two bodies."""

    correspondence: Correspondence
    source: Array
    """(J, 4) local rotations."""
    target: Array
    """(J, 4) local rotations."""
    upright: bool
    """Whether in both poses up is up."""
    level: bool = False
    """Whether both are rest poses that stand: with feet flat on the floor and the head held straight."""

    def resting(self) -> PairTree:
        """The same bodies as they stand when they do nothing."""
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
        """Both bodies by side, the target turned to face as the source does."""
        source = posed(self.correspondence.source, self.source)
        target = posed(self.correspondence.target, self.target)
        turned = self.target.copy()
        turned[0] = multiply(self._facing(source, target), target.rotations[0, 0])
        return {"source": source, "target": posed(self.correspondence.target, turned)}

    def _facing(self, source: Pose, target: Pose) -> Array:
        """(4,) the turn of the whole target after which its left is the source's left, and up is up."""
        both = (("source", source), ("target", target))
        a, b = (self._across(side, pose) for side, pose in both)
        if not self.upright or min(np.linalg.norm(a[:, [0, 2]]), np.linalg.norm(b[:, [0, 2]])) < SHORT:
            # A flat figure has no sides: how all its bones lie has to do.
            a, b = (self._around(side, pose) for side, pose in both)
        if self.upright:
            # Seen from above: along z + i x a turn to the left counts as positive.
            turn = complex(np.sum((b[:, 2] + 1j * b[:, 0]).conj() * (a[:, 2] + 1j * a[:, 0])))
            return from_axis_angle(UP, float(np.angle(turn)) if abs(turn) > 1e-9 else 0.0)
        left, _, right = np.linalg.svd(a.T @ b)
        keep = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
        return from_matrix(left @ keep @ right)

    def _across(self, side: str, pose: Pose) -> Array:
        """(N, 3) lines from limb to limb of a pair.

        Each by itself: which of two limbs comes first may differ from pair to pair, and a sum would cancel.
        """
        index = pose.skeleton.index
        starts = [[index[getattr(p, side)[0]] for p in run[:2]] for run in self.limbs]
        lines = [
            pose.positions[0, starts[a][k]] - pose.positions[0, starts[b][k]]
            for a, b in self._twins
            for k in range(min(len(starts[a]), len(starts[b])))
        ]
        return np.array(lines).reshape(-1, 3)

    def _around(self, side: str, pose: Pose) -> Array:
        """(N, 3) how all bones lie about their middle, in sizes of the body."""
        bones = [bones[end] for end in (0, -1) for bones in (getattr(p, side) for p in self.correspondence.pairs)]
        place = pose.positions[0, [pose.skeleton.index[bone] for bone in bones]]
        around = place - place.mean(0)
        return around / max(float(np.linalg.norm(around)), 1e-12)

    @cached
    def _twins(self) -> list[tuple[int, int]]:
        """Numbers of limbs that are partners on the target, one of each side; the order is the same for both bodies."""
        other = partners(self.correspondence.target)
        index = self.correspondence.target.index
        tops = {index[run[0].target[0]]: number for number, run in enumerate(self.limbs)}
        return [(n, tops[int(other[j])]) for j, n in tops.items() if int(other[j]) in tops and other[j] > j]

    @cached
    def parents(self) -> dict[Pair, Pair | None]:
        """The pair that each pair hangs from on the target."""
        skeleton = self.correspondence.target
        owner = {skeleton.index[bone]: pair for pair in self.correspondence.pairs for bone in pair.target}
        found: dict[Pair, Pair | None] = {}
        for pair in self.correspondence.pairs:
            above = skeleton.chain(skeleton.index[pair.target[0]])[:-1]
            found[pair] = next((owner[j] for j in reversed(above) if j in owner and owner[j] is not pair), None)
        return found

    @cached
    def children(self) -> dict[Pair, list[Pair]]:
        """The pairs that hang from each pair on the target."""
        found: dict[Pair, list[Pair]] = {pair: [] for pair in self.correspondence.pairs}
        for pair, above in self.parents.items():
            if above is not None:
                found[above].append(pair)
        return found

    @cached
    def limbs(self) -> list[list[Pair]]:
        """Runs of pairs that do not branch: each limb, the trunk, the neck; first the root, alone."""
        runs = [[self.root]]
        for pair in self.correspondence.ordered:
            above = self.parents[pair]
            if above is not None and (above is self.root or len(self.children[above]) > 1):
                run = [pair]
                while len(self.children[run[-1]]) == 1:
                    run.append(self.children[run[-1]][0])
                runs.append(run)
        return runs

    @cached
    def _sided(self) -> np.ndarray:
        pair = partners(self.correspondence.target)
        return pair != np.arange(len(pair))

    def sided(self, pair: Pair) -> bool:
        """Whether a pair belongs to one side of the target's body."""
        return bool(self._sided[self.correspondence.target.index[pair.target[0]]])

    def place(self, side: str, bone: str) -> Array:
        """(3,) where a bone starts."""
        pose = self.poses[side]
        return pose.positions[0, pose.skeleton.index[bone]]

    def _tip(self, side: str, bone: str) -> Array | None:
        """(3,) the middle of what a bone itself carries: the next joints, else its ends."""
        pose = self.poses[side]
        joint = pose.skeleton.index[bone]
        below = [j for j in pose.skeleton.children[joint] if pose.skeleton.lengths[j] > SHORT]
        ends = [end for end in pose.skeleton.ends if end.joint == bone]
        if below:
            return pose.positions[0, below].mean(0)
        return _middle(pose.positions[0, joint], pose.points(ends)[0]) if ends else None

    def far(self, pair: Pair, side: str) -> Array | None:
        """(3,) where the bones of a pair lead: to the pairs that hang from it; at a limb's end to its tip."""
        below = self.children[pair]
        if pair is self.root:
            # The hips lead up the trunk: along the middle, the way that carries most, to where it branches.
            trunk = sorted((p for p in below if not self.sided(p)), key=lambda p: -self._weight(p))[:1]
            run = next((run for run in self.limbs if run[:1] == trunk), [])
            return self.far(run[-1], side) if run else None
        if below:
            return np.mean([self.place(side, getattr(p, side)[0]) for p in below], axis=0)
        if any(self._tip(s, getattr(pair, s)[-1]) is None for s in ("source", "target")):
            return None
        return self._tip(side, getattr(pair, side)[-1])

    def _weight(self, pair: Pair) -> int:
        return 1 + sum(self._weight(below) for below in self.children[pair])

    def chord(self, pair: Pair, side: str, last: Pair | None = None) -> Array | None:
        """(3,) unit direction from a pair's first bone to where it, or a later one of its limb, leads."""
        bones = getattr(pair, side)
        if not is_chain(self.poses[side].skeleton, bones):
            return _unit_layout(sum(d for bone in bones if (d := self.bone(side, bone)) is not None))
        end = self.far(last or pair, side)
        if end is None and last is not None and last is not pair:
            end = self.place(side, getattr(last, side)[-1])
        return None if end is None else _unit_layout(end - self._start(side, bones, end))

    def _start(self, side: str, bones: tuple[str, ...], end: Array) -> Array:
        """(3,) where bones begin that lead to an end: of hinges in a row, the last that swings what follows.

        Robots set the hinges of a hip or shoulder apart; only from the last on, save one that turns the bone about its
        own length, is there a bone that points.
        """
        pose = self.poses[side]
        skeleton = pose.skeleton
        joints = [skeleton.index[bone] for bone in bones]
        if any(skeleton.kinds[joint] is not JointKind.HINGE for joint in joints):
            return self.place(side, bones[0])
        for joint in reversed(joints):
            way = _unit_layout(end - pose.positions[0, joint])
            axis = rotate(pose.rotations[0, joint], skeleton.axes[joint, 0])
            if way is not None and abs(float(axis @ way)) < SWINGS:
                return pose.positions[0, joint]
        return self.place(side, bones[0])

    def bone(self, side: str, bone: str) -> Array | None:
        """(3,) unit direction of one bone by itself."""
        tip = self._tip(side, bone)
        return None if tip is None else _unit_layout(tip - self.place(side, bone))

    @cached
    def alike(self) -> bool:
        """Whether both bodies stand in the same way: humans do, others if their limbs and trunks point alike."""
        if is_humanoid(self.correspondence.source) and is_humanoid(self.correspondence.target):
            return True
        return all(self._apart(run[0], run[-1]) < ALIKE for run in self.limbs[1:])

    @cached
    def trunks_alike(self) -> bool:
        """Whether both trunks rise, or lie, in the same way."""
        return self._apart(self.root, self.root) < ALIKE

    def _apart(self, first: Pair, last: Pair) -> float:
        """Radians between the two sides of a limb; 0 where that cannot be told."""
        a, b = (self.chord(first, side, last) for side in ("source", "target"))
        return 0.0 if a is None or b is None else float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


def _middle(start: Array, ends: Array) -> Array:
    """(3,) where a bone from a place leads that has ends (E, 3): their middle, by direction alone where they fan out.

    The lobes of a tail fin are of different length; the fin still points straight back.
    """
    ways = ends - start
    sizes = np.linalg.norm(ways, axis=-1, keepdims=True)
    units = ways / np.maximum(sizes, SHORT)
    if sizes.min() < SHORT or (units @ units.T).min() > 0.0:
        return ends.mean(0)
    return start + sizes.mean() * units.mean(0)


def _unit_layout(v: Array | int) -> Array | None:
    size = float(np.linalg.norm(v))
    return None if size < SHORT else np.asarray(v, float) / size


LEAST_TILT, MOST_TILT = np.radians(8.0), np.radians(60.0)
"""How far feet must lean in a rest pose to be set right, and beyond which they do not stand at all."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Alignment:
    """Two reference poses that mean the same, and how movement is carried from one to the other."""

    correspondence: Correspondence
    source: Array
    """(J, 4) local rotations of the source's reference pose."""
    target: Array
    """(J, 4) local rotations of the target's, turned to face as the source's and posed like it."""
    frames: Array
    """(J, 4) for each bone of the target the turn from its partner's limb to its own, through which movement is seen;
    none where it points as its partner does."""
    stance: bool
    """Whether the two stand in ways of their own."""

    def __repr__(self) -> str:
        return f"<Alignment of {self.correspondence!r}>"

    @cached
    def source_world(self) -> Array:
        """(J, 4) orientations of the source's bones in its reference pose."""
        return posed(self.correspondence.source, self.source).rotations[0]

    @cached
    def target_world(self) -> Array:
        """(J, 4) orientations of the target's bones in its reference pose."""
        return posed(self.correspondence.target, self.target).rotations[0]


def align(
    correspondence: Correspondence,
    *,
    source_motion: Motion | None = None,
    target_motion: Motion | None = None,
    source_pose: Array | None = None,
    target_pose: Array | None = None,
    mode: str | None = None,
) -> Alignment:
    """Bring two characters into one reference pose.

    Args:
        correspondence: Which bones belong together.
        source_motion: What the source does, for a skeleton whose zero rotations are no pose.
        target_motion: Something that the target does, likewise.
        source_pose: (J, 4) local rotations of the source's reference pose: its bind pose, a frame; its rest pose,
            or a frame in which it stands, if not given.
        target_pose: (J, 4) the target's.
        mode: "direction" or "stance" for all pairs that do not say it themselves; None to choose by how they stand.
    """
    if mode is not None and mode not in ALIGNMENTS:
        raise OptionError(f"Expected an alignment, one of {', '.join(ALIGNMENTS)}; got `{mode}`")
    source, target = correspondence.source, correspondence.target
    layout = PairTree(
        correspondence=correspondence,
        source=reference_pose(source, source_motion) if source_pose is None else source_pose,
        target=reference_pose(target, target_motion) if target_pose is None else target_pose,
        upright=(stands_at_rest(source) or source_motion is not None or source_pose is not None)
        and (stands_at_rest(target) or target_motion is not None or target_pose is not None),
        level=stands_at_rest(source) and stands_at_rest(target) and source_pose is None and target_pose is None,
    )
    resting = layout.resting()
    stance = mode == "stance" if mode is not None else not resting.alike
    if stance:
        layout = resting
    ways = {pair: pair.align or ("stance" if stance else "direction") for pair in correspondence.pairs}
    return Alignment(
        correspondence=correspondence,
        source=layout.source,
        target=_pointed_pose(layout, ways, standing_tilts(layout, source_motion)),
        frames=_frames(layout, ways),
        stance=stance,
    )


def standing_tilts(layout: PairTree, motion: Motion | None) -> dict[Pair, Array]:
    """(4,) for each pair of feet how a level foot of the target leans in the source's reference pose.

    Rest poses with spread legs often tilt the feet with them, which no bone shows; how the source stands while its
    feet are still and low does. A foot that is level then is to be level on the target too, where that has a sole that
    tells what level is: a robot's.
    """
    found: dict[Pair, Array] = {}
    if motion is None or not any("sole" in words(end.name) for end in layout.correspondence.target.ends):
        return found
    pose = fk(motion)
    for pair in layout.correspondence.pairs:
        if _level(layout, pair) != "heading":
            continue
        joint = motion.skeleton.index[pair.source[0]]
        below = motion.skeleton.children[joint]
        place = pose.positions[:, below[0] if below else joint]
        step = np.linalg.norm(np.gradient(place, axis=0), axis=-1) if len(place) > 1 else np.zeros(1)
        still = np.argsort(step + np.abs(place[:, 1] - np.percentile(place[:, 1], 5)))[: max(len(place) // 10, 1)]
        moved = multiply(pose.rotations[still, joint], conjugate(layout.poses["source"].rotations[0, joint]))
        up = unrotate(moved, UP).mean(0)
        lean = float(np.arccos(np.clip(up[1] / np.linalg.norm(up), -1.0, 1.0)))
        if LEAST_TILT < lean < MOST_TILT:
            found[pair] = between(UP, up)
    return found


def _pointed_pose(layout: PairTree, ways: dict[Pair, str], tilts: dict[Pair, Array]) -> Array:
    """(J, 4) the target's local rotations when its bones point as they are to, feet leaning as given."""
    skeleton = layout.correspondence.target
    tops = {}
    for pair in layout.correspondence.pairs:
        # The first bone of a chain points all of it; bones side by side point each for itself.
        for bone in pair.target[:1] if is_chain(skeleton, pair.target) else pair.target:
            tops[skeleton.index[bone]] = pair
    held = {skeleton.index[bone] for pair, way in ways.items() if way == "stance" for bone in pair.target}
    reference = layout.poses["target"].rotations[0]
    world = reference.copy()
    for joint in range(skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        if parent >= 0 and joint not in held:
            world[joint] = multiply(multiply(world[parent], conjugate(reference[parent])), reference[joint])
        if joint in tops and joint not in held:
            world[joint] = _pointed(layout, tops[joint], joint, world[joint])
            if tops[joint] in tilts:
                world[joint] = multiply(tilts[tops[joint]], world[joint])
        if joint in tops and tops[joint].twist:
            own = layout.bone("target", skeleton.names[joint])
            if own is not None:
                axis = rotate(multiply(world[joint], conjugate(reference[joint])), own)
                world[joint] = multiply(from_axis_angle(axis, tops[joint].twist), world[joint])
    above = np.concatenate([identity(1), world])[skeleton.parents + 1]
    return multiply(conjugate(above), world)


def _pointed(layout: PairTree, pair: Pair, joint: int, world: Array) -> Array:
    """(4,) the orientation in which a bone of the target, now turned like that, points as its partner does."""
    skeleton, pose = layout.correspondence.target, layout.poses["target"]
    reference = pose.rotations[0, joint]
    level = _level(layout, pair)
    if level:
        world = reference
    wanted = layout.chord(pair, "source")
    chain = is_chain(skeleton, pair.target)
    own = layout.chord(pair, "target") if chain else layout.bone("target", skeleton.names[joint])
    if wanted is None or own is None or level == "all":
        return world
    now = rotate(multiply(world, conjugate(reference)), own)
    if level == "heading":
        now, wanted = now * LEVEL, wanted * LEVEL
        if min(np.linalg.norm(now), np.linalg.norm(wanted)) < 0.3:
            return world
    return multiply(between(now, wanted), world)


def _level(layout: PairTree, pair: Pair) -> str:
    """What of a bone stays as it stands instead of being pointed: "all", all but the "heading", or nothing.

    Upright bodies stand level on their feet, carry their heads level, and have hips and chests whose several bones
    say nothing of how they are turned.
    """
    if not (layout.upright and layout.trunks_alike):
        return ""
    if pair is layout.root or (len(layout.children[pair]) > 1 and not layout.sided(pair)):
        return "all"
    whole = layout.correspondence
    part = _part(whole.source, pair.source[0])
    if not layout.level or part != _part(whole.target, pair.target[0]):
        return ""
    return {"head": "all", "foot": "heading", "toe": "heading"}.get(part, "")


def _part(skeleton: Skeleton, bone: str) -> str:
    joint = skeleton.index[bone]
    name = next((role for role, j in roles(skeleton).items() if j == joint), "")
    return name.removeprefix("left_").removeprefix("right_")


def _frames(layout: PairTree, ways: dict[Pair, str]) -> Array:
    """(J, 4) the turns from the source's limbs to the target's, for those that keep their own stance."""
    skeleton = layout.correspondence.target
    out = identity(skeleton.num_joints)
    for run in layout.limbs[1:]:
        a, b = (layout.chord(run[0], side, run[-1]) for side in ("source", "target"))
        if a is None or b is None:
            continue
        for pair in run:
            if ways[pair] == "stance":
                out[[skeleton.index[bone] for bone in pair.target]] = between(a, b)
    return out
