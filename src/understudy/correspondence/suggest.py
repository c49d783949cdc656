"""Suggests which bones of two characters correspond, from their names, trees and proportions.

A map is tried before it is believed. The source is put into its neutral pose, its limbs are bent one by one, and
everything is carried over to the target. A map of two bodies that stand alike must keep the feet lowest and the head on
top, bend knees and elbows the way the source's bend, and leave nothing unmoved. Of other bodies only the last is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, from_axis_angle, identity, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.by_name import UNKNOWN, convention, plan_by_names
from understudy.correspondence.by_shape import feet_point_back, find_plan, is_understood
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.detached import find_pieces
from understudy.correspondence.neutral_pose import stands_at_rest
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, descendants, is_chain
from understudy.correspondence.parts import (
    PARTS,
    BodyPlan,
    Limb,
    bends_alike,
    describe,
    left_out,
    limb_name,
    measure_reach,
    part_name,
    standing_pose,
)
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import Pose, fk
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import UP, chain_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import SIDES, label, leaf_helpers, words
from understudy.figure.skeleton import JointKind, Skeleton

NAME_CONFIDENCE, MIXED_CONFIDENCE, PLACE_CONFIDENCE = 0.95, 0.8, 0.7
"""Confidence of a pair whose bones are identified by name on both bodies, on one of them, or on neither."""

SAME_NAME_CONFIDENCE = 0.9
"""Confidence of a pair whose bones only share a name and hang from corresponding bones."""

UNEQUAL_FACTOR = 0.9
"""Factor on the confidence of a pair of chains with different numbers of bones."""

GUESSED_SIDES_FACTOR = 0.65
"""Factor on the confidence where left and right are guessed."""

UNLIKE_LIMBS_FACTOR = {
    frozenset(("arm", "leg")): 0.75, frozenset(("arm", "wing")): 0.75, frozenset(("leg", "wing")): 0.7,
    frozenset(("arm", "fin")): 0.65, frozenset(("leg", "fin")): 0.6, frozenset(("wing", "fin")): 0.65,
}  # fmt: skip
"""Factors on the confidence of a pair of limbs of different kinds."""

UNLIKE_BODIES_FACTOR = 0.85
"""Factor on the confidence of a pair of bones in bodies of different kinds."""

FISH_SPINE_FACTOR = 0.65
"""Factor on the confidence of a pair of spines where only one body is a fish."""

TAIL_FIN_CONFIDENCE = 0.4
"""Confidence that two legs correspond to a tail fin [Hsieh05, sec. 3.1]."""

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


class Matching:
    """Pairs found so far between two bodies; a bone is in one pair at most."""

    def __init__(self, source: BodyPlan, target: BodyPlan) -> None:
        self.source, self.target = source, target
        self.pairs: list[Pair] = []
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()
        """Joints of the target that are in pairs; those of the source are the keys of `partner`."""
        self.joints: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        """Paired joints of the source and of the target, each with the index of its pair."""

    def add(self, sources: Sequence[int], targets: Sequence[int], confidence: float, reason: str) -> None:
        """Pair bones, unless one is already in a pair or the pair would reverse the order of the trees."""
        if (
            not (sources and targets)
            or any(j in self.partner for j in sources)
            or any(j in self.taken for j in targets)
        ):
            return
        if self._reverses_tree(sources, targets):
            return
        for joints, row in zip(self.joints, (sources, targets)):
            joints += [(joint, len(self.pairs)) for joint in row]
        source_names, target_names = self.source.skeleton.names, self.target.skeleton.names
        names = tuple(source_names[j] for j in sources), tuple(target_names[j] for j in targets)
        self.pairs.append(Pair(source=names[0], target=names[1], confidence=round(confidence, 2), reason=reason))
        self.partner |= dict(zip_longest(sources, targets[: len(sources)], fillvalue=targets[-1]))
        self.taken |= set(targets)

    def _reverses_tree(self, sources: Sequence[int], targets: Sequence[int]) -> bool:
        """Whether a pair would be below another pair on one body and above it on the other."""
        if not self.pairs:
            return False
        below_pairs, above_pairs = [], []
        for plan, joints, row in zip((self.source, self.target), self.joints, (sources, targets)):
            paired, numbers = np.array(joints, dtype=np.intp).T
            descends, related = descendants(plan.skeleton), np.zeros((2, len(self.pairs)), bool)
            related[0, numbers[descends[np.ix_(row, paired)].any(axis=0)]] = True
            related[1, numbers[descends[np.ix_(paired, row)].any(axis=1)]] = True
            below_pairs.append(related[0])
            above_pairs.append(related[1])
        return bool(np.any((below_pairs[0] & above_pairs[1]) | (above_pairs[0] & below_pairs[1])))

    def add_rows(
        self, sources: Sequence[int], targets: Sequence[int], confidence: float, part: str, evidence: str
    ) -> None:
        """Pair two rows of bones: one to one if their numbers are equal, else as two chains."""
        if len(sources) == len(targets):
            for number, (j, k) in enumerate(zip(sources, targets), start=1):
                label = f"bone {number} of the {part}" if len(sources) > 1 else f"the {part}"
                self.add((j,), (k,), confidence, f"both are {label} {evidence}{self._names_in_words(j, k, evidence)}")
        elif sources and targets:
            counts = f"{len(sources)} {'bone' if len(sources) == 1 else 'bones'} against {len(targets)}"
            reason = f"both are the {part} {evidence}, {counts}"
            self.add(sources, targets, confidence * UNEQUAL_FACTOR, reason)

    def _names_in_words(self, j: int, k: int, evidence: str) -> str:
        bones = ((self.source.skeleton, j), (self.target.skeleton, k))
        conventions = [convention(skeleton) for skeleton, _ in bones]
        if "name" not in evidence or set(conventions) == {UNKNOWN}:
            return ""
        names = [s.names[i] if c == UNKNOWN else f"{c}: {s.names[i]}" for c, (s, i) in zip(conventions, bones)]
        return f" ({'; '.join(names)})"


def match(source: BodyPlan, target: BodyPlan) -> list[Pair]:
    """Find the pairs of two bodies, the root first."""
    matching = Matching(source, target)
    confidence, evidence = _confidence(source.named, target.named)
    factor = 1.0 if source.kind == target.kind else UNLIKE_BODIES_FACTOR
    matching.add_rows((source.root,), (target.root,), confidence * factor, "bone that carries the whole body", evidence)
    _match_trunk(matching, factor)
    for source_pair, target_pair in _pair_limbs(source, target):
        for limb, other in zip(source_pair, target_pair):
            _match_limb(matching, limb, other)
    _match_tail_fin(matching)
    _match_same_names(matching)
    return [_as_given(pair, source.skeleton, target.skeleton) for pair in matching.pairs]


def _as_given(pair: Pair, source: Skeleton, target: Skeleton) -> Pair:
    """A pair that is certain if both files say which parts of a human its bones are."""
    for skeleton, names in ((source, pair.source), (target, pair.target)):
        if not skeleton.roles_given or not set(names) <= set(skeleton.role_joints.values()):
            return pair
    return replace(pair, confidence=1.0, reason=f"{pair.reason}; both files say so")


def _confidence(named: bool, other: bool) -> tuple[float, str]:
    if named and other:
        return NAME_CONFIDENCE, "by name"
    return (MIXED_CONFIDENCE, "by name and place") if named or other else (PLACE_CONFIDENCE, "by place in the body")


def _match_trunk(matching: Matching, factor: float) -> None:
    source, target = matching.source, matching.target
    source_parts, target_parts = dict(source.trunk), dict(target.trunk)
    for parts, other_parts in ((source_parts, target_parts), (target_parts, source_parts)):
        # Against a body without a tail, the whole back of a fish except its fin counts as the spine.
        if "tail" in parts and "tail" not in other_parts and _is_fish(source if parts is source_parts else target):
            parts["spine"], parts["tail"] = parts.get("spine", ()) + parts["tail"][:-1], parts["tail"][-1:]
    for part in ("spine", "neck", "head", "jaw", "tail", "abdomen"):
        confidence, evidence = _confidence(part in source.named_trunk, part in target.named_trunk)
        scale = factor if part != "spine" or _is_fish(source) == _is_fish(target) else FISH_SPINE_FACTOR
        matching.add_rows(source_parts.get(part, ()), target_parts.get(part, ()), confidence * scale, part, evidence)


def _is_fish(plan: BodyPlan) -> bool:
    return plan.kind == "fish"


LimbPair = tuple[Limb, Limb]


def _pair_limbs(source: BodyPlan, target: BodyPlan) -> list[tuple[LimbPair, LimbPair]]:
    """Pair the left-right limb pairs of two bodies."""
    result: list[tuple[LimbPair, LimbPair]] = []
    source_limbs, target_limbs = list(source.limbs), list(target.limbs)
    # On a body with two or more pairs of legs, wings match only wings.
    for limbs, other_limbs in ((source_limbs, target_limbs), (target_limbs, source_limbs)):
        extra = [p for p in limbs if p[0].kind == "wing"] if sum(p[0].stands for p in limbs) > 1 else []
        wings = [p for p in other_limbs if p[0].kind == "wing"]
        for pair in extra:
            limbs.remove(pair)
            if wings:
                other_limbs.remove(wings[0])
                result.append((pair, wings.pop(0)) if limbs is source_limbs else (wings.pop(0), pair))
    few, many = (source_limbs, target_limbs) if len(source_limbs) <= len(target_limbs) else (target_limbs, source_limbs)
    if not few:
        return result
    if len(few) == 1 and len(many) > 1:
        # A single pair matches the hindmost limbs if the body stands on it, else the foremost.
        chosen = [many[0] if few[0][0].stands else many[-1]]
    else:
        chosen = [many[i] for i in np.rint(np.linspace(0, len(many) - 1, len(few))).astype(int)]
    if len(few) == 1 and len(many) == 1 and few[0][0].kind != many[0][0].kind and few[0][0].stands != many[0][0].stands:
        return result
    return result + (
        [(a, b) for a, b in zip(few, chosen)] if few is source_limbs else [(b, a) for a, b in zip(few, chosen)]
    )


def _match_limb(matching: Matching, limb: Limb, other: Limb) -> None:
    source, target = matching.source, matching.target
    confidence, evidence = _confidence(limb.named, other.named)
    confidence *= UNLIKE_LIMBS_FACTOR.get(frozenset((limb.kind, other.kind)), 1.0)
    if limb.kind == other.kind and source.kind != target.kind:
        confidence *= UNLIKE_BODIES_FACTOR
    if not (source.sure_sides and target.sure_sides):
        confidence *= GUESSED_SIDES_FACTOR
        evidence += "; which side is left is a guess"
    names = [part_name(source, limb, part) for part in PARTS], [part_name(target, other, part) for part in PARTS]
    if limb.kind != "leg" or other.kind != "leg" or "biped" not in (source.kind, target.kind):
        _match_part(matching, limb, other, "girdle", names, confidence, evidence)
    # Between different kinds of bodies, the parts on the ground correspond, whatever lies above them.
    chains = _is_chain(source, limb.bones) and _is_chain(target, other.bones)
    alike = chains and bends_alike(source.skeleton, limb.bones, target.skeleton, other.bones)
    # A human's limbs have an upper and a lower bone and an end: a toe moves no ankle of a robot.
    if not (limb.named and other.named) and source.kind == target.kind != "biped" and alike:
        _match_in_order(matching, limb, other, confidence, evidence)
        return
    for part in ("upper", "lower", "end"):
        _match_part(matching, limb, other, part, names, confidence, evidence)
    _match_toes(matching, limb, other, names, confidence, evidence)
    for finger in limb.digits:
        if finger in other.digits:
            label = f"{limb.side} {'fingers' if finger == 'mitten' else finger}"
            matching.add_rows(limb.digits[finger], other.digits[finger], NAME_CONFIDENCE, label, "by name")


PartNames = tuple[list[str], list[str]]


def _match_part(
    matching: Matching, limb: Limb, other: Limb, part: str, names: PartNames, confidence: float, evidence: str
) -> None:
    name, other_name = (row[PARTS.index(part)] for row in names)
    joints, others = limb.parts.get(part, ()), other.parts.get(part, ())
    if name == other_name:
        matching.add_rows(joints, others, confidence, name, evidence)
    elif joints and others:
        bone_pairs = list(zip(joints, others)) if len(joints) == len(others) else []
        for j, k in bone_pairs:
            matching.add((j,), (k,), confidence, f"{name} and {other_name} correspond {evidence}")
        if not bone_pairs:
            counts = f"{len(joints)} against {len(others)} bones"
            reason = f"{name} and {other_name} correspond {evidence}, {counts}"
            matching.add(joints, others, confidence * UNEQUAL_FACTOR, reason)


def _match_in_order(matching: Matching, limb: Limb, other: Limb, confidence: float, evidence: str) -> None:
    """Pair the bones of two limbs with equal numbers of bones, one by one."""
    name, other_name = limb_name(matching.source, limb), limb_name(matching.target, other)
    label = f"the {name}" if name == other_name else f"the {name} and of the {other_name}"
    for number, (j, k) in enumerate(zip(limb.bones, other.bones)):
        rank = ORDINALS[number] if number < len(ORDINALS) else f"{number + 1}th"
        matching.add((j,), (k,), confidence, f"{rank} bone of {label} {evidence}")


def _match_toes(
    matching: Matching, limb: Limb, other: Limb, names: PartNames, confidence: float, evidence: str
) -> None:
    """Pair toes: one joint for all of them, or several side by side that move as one."""
    name, other_name = (row[-1] for row in names)
    toes = _sort_toes(matching.source, limb.parts.get("tip", ()))
    others = _sort_toes(matching.target, other.parts.get("tip", ()))
    reason = (
        f"both are the {name} {evidence}" if name == other_name else f"{name} and {other_name} correspond {evidence}"
    )
    if len(toes) == len(others) > 1 and _is_chain(matching.source, toes) == _is_chain(matching.target, others):
        for j, k in zip(toes, others):
            matching.add((j,), (k,), confidence, reason)
    else:
        confidence = confidence if len(toes) == len(others) else confidence * UNEQUAL_FACTOR
        matching.add(toes, others, confidence, reason)


def _is_chain(plan: BodyPlan, joints: Sequence[int]) -> bool:
    return is_chain(plan.skeleton, [plan.skeleton.names[j] for j in joints])


def _sort_toes(plan: BodyPlan, joints: Sequence[int]) -> list[int]:
    """Toes in a row from the foot outwards; toes side by side by their names, if those are names of toes."""
    if _is_chain(plan, sorted(joints)) or not all(label(plan.skeleton.names[j]) == "toe" for j in joints):
        return sorted(joints)
    return sorted(joints, key=lambda j: words(plan.skeleton.names[j]))


def _match_tail_fin(matching: Matching) -> None:
    """Pair both legs of one body with the tail fin of the other [Hsieh05, sec. 3.1]."""
    for plan, other, swapped in ((matching.source, matching.target, False), (matching.target, matching.source, True)):
        fin = other.trunk.get("tail", ())[-1:] if _is_fish(other) else ()
        legs = [pair for pair in plan.limbs if pair[0].stands and "upper" in pair[0].parts]
        if not (fin and legs) or _is_fish(plan):
            continue
        tops = tuple(limb.parts["upper"][0] for limb in legs[0])
        bones = (tops, fin) if not swapped else (fin, tops)
        matching.add(*bones, TAIL_FIN_CONFIDENCE, "both legs together move as the tail fin")


def _match_same_names(matching: Matching) -> None:
    """Pair remaining bones that have the same name and hang from corresponding bones."""
    source, target = matching.source.skeleton, matching.target.skeleton
    others: dict[tuple[str, str], int] = {}
    for k in range(matching.target.root + 1, target.num_joints):
        others.setdefault(_name_key(target.names[k]), k)
    for j in range(matching.source.root + 1, source.num_joints):
        k = others.get(_name_key(source.names[j]), -1)
        if j in matching.partner or k < 0 or k in matching.taken or not any(c.isalpha() for c in source.names[j]):
            continue
        above = next((i for i in reversed(source.chain(j)[:-1]) if i in matching.partner), None)
        other_above = next((i for i in reversed(target.chain(k)[:-1]) if i in matching.taken), None)
        if above is not None and matching.partner[above] == other_above:
            reason = f"both are called {source.names[j]} and hang from bones that correspond"
            matching.add((j,), (k,), SAME_NAME_CONFIDENCE, reason)


def _name_key(name: str) -> tuple[str, str]:
    """Reduce a name to its side and its other words joined, independent of spelling."""
    name_words = words(name)
    side = next((SIDES[word] for word in name_words if word in SIDES), "")
    return side, "".join(word for word in name_words if word not in SIDES)


MAX_TRIAL_FRAMES = 48
"""Frames of a long motion that are looked at for the neutral pose."""

BENDS_DEGREES = {"upper": 30.0, "lower": 45.0}
"""Turns of the parts of a limb: all swing to the front, but shins to the back."""

WIGGLE_DEGREES = 8.0
"""Turn of every bone against its parent about each axis of the world, to see what moves."""

TURN_DEGREES = 25.0
"""Turn of the head, and of the back, about a slanted axis, so that any hinge can follow in part."""

MIN_LONG_BONE_SHARE = 0.2
"""Length of a bone, as a share of its whole limb, from which a viewer misses its movement. Collar bones of a
body that is played by one without them need not move."""

MAX_HEAD_PULL_SHARE = 0.02
"""Movement of the arms while the head turns, in lengths of an arm."""

MIN_BACK_SHARE = 0.1
"""Movement of the arms while the back bends, as a share of that of the source's; collars begin near the middle."""

MIN_MOVED_DEGREES = 1.0
"""Turn of a bone against its parent below which it is unmoved."""

MIN_BEND_SHARE = {"leg": 0.2, "arm": -0.1}
"""Share of the source's movement, in limb lengths, that the end of a limb must make the same way; an arm of few motors
has to take other ways."""

MIN_VISIBLE_BEND = 0.15
"""Movement of the end of the source's limb, in limb lengths, that can be asked of the target."""

MAX_FOOT_RISE_SHARE = 0.12
"""Height of the feet above the lowest point, as a share of the body's height."""

MIN_FOOT_SHARE = 0.05
"""Length that a foot reaches ahead of its ankle, in lengths of the leg."""

MIN_HEAD_SHARE = 0.6
"""Height of the head as a share of the body's height."""


@record(eq=True)
class Failure:
    """What a viewer would find wrong about a map."""

    sentence: str
    bones: frozenset[str] = frozenset()
    """The target's bones that show it; empty if it concerns the whole body."""
    stops: bool = False
    """Whether no motion can be made with such a map."""
    exchanged: bool = False
    """Whether left and right seem to be exchanged."""


def try_map(
    correspondence: Correspondence,
    source: BodyPlan,
    target: BodyPlan,
    *,
    source_motion: Motion | None = None,
    target_motion: Motion | None = None,
) -> tuple[Failure, ...]:
    """Find what a viewer would find wrong about a map; nothing if it passes.

    Args:
        correspondence: The map.
        source: The parts of the source.
        target: The parts of the target.
        source_motion: A motion of the source, for its neutral pose.
        target_motion: A motion of the target.
    """
    alignment = align(correspondence, source_motion=_thinned(source_motion), target_motion=_thinned(target_motion))
    trial = _Trial(alignment, source, target)
    failures = trial.check()
    if source.kind == target.kind == "biped":
        failures += [*_unlike_proportions(source, "source"), *_unlike_proportions(target, "target")]
        failures += _exchanged_sides(source, target)
    return tuple(failures)


def try_given(alignment: Alignment, source_motion: Motion, target_motion: Motion | None = None) -> tuple[Failure, ...]:
    """Find what a viewer would find wrong about a map that a user has made; nothing if it passes.

    The parts of both bodies are found without the map, so that it does not say by itself what it should move.

    Args:
        alignment: The map with its neutral poses.
        source_motion: A motion of the source, for how it stands.
        target_motion: A motion of the target.
    """
    source, target = alignment.correspondence.source, alignment.correspondence.target
    return tuple(_Trial(alignment, split_body(source, source_motion), split_body(target, target_motion)).check())


MIN_LOWER_SHARE = {"leg": 0.5, "arm": 0.35}
"""Length of the shorter of the two bones of a limb, as a share of the longer one; public rigs have 0.66 and 0.45."""


MAX_LOWER_REACH_SHARE = 0.77
"""Distance along the bones from a knee or elbow to the end of the limb, as a share of that from where the limb begins;
with more, it begins one bone too early, at a collar bone or in the pelvis, if neither is found above it."""


def _unlike_proportions(plan: BodyPlan, who: str) -> list[Failure]:
    """Failures for limbs whose two bones are too unlike in length to be thigh and shin, or upper arm and forearm."""
    failures = []
    reach = measure_reach(plan.skeleton)
    for limb in (limb for pair in plan.limbs for limb in pair):
        joints = [limb.parts[part][0] for part in ("upper", "lower", "end") if limb.parts.get(part)]
        if limb.kind not in MIN_LOWER_SHARE or len(joints) < 3:
            continue
        lengths = sorted(chain_length(plan.skeleton, a, b) for a, b in pairwise(joints))
        whole = reach[joints[1]] + chain_length(plan.skeleton, *joints[:2])
        begins_early = not limb.parts.get("girdle") and reach[joints[1]] > MAX_LOWER_REACH_SHARE * whole
        if lengths[0] < MIN_LOWER_SHARE[limb.kind] * lengths[1] or begins_early:
            names = [plan.skeleton.names[joint] for joint in joints]
            failures.append(
                Failure(
                    sentence=f"the bones of the {who}'s {limb.side} {limb.kind} from `{names[0]}` to `{names[1]}` "
                    f"and on to `{names[2]}` are too unlike in length",
                    bones=frozenset(plan.skeleton.names[j] for j in limb.bones) if who == "target" else frozenset(),
                )
            )
    return failures


def _exchanged_sides(*bodies: BodyPlan) -> list[Failure]:
    """A failure if the feet of one of two bodies point backwards, given which sides are called left, or if the left of
    its arms is not the left of its legs."""
    faults = [_fault_of_sides(plan) for plan in bodies]
    if faults[0] == faults[1]:
        return []
    who, fault = ("source", faults[0]) if faults[0] else ("target", faults[1])
    return [Failure(sentence=f"{fault.format(who)}, as if names exchanged left and right", exchanged=True)]


def _fault_of_sides(plan: BodyPlan) -> str:
    """What is wrong about the sides of a body; empty if nothing is."""
    pose = plan.pose
    pairs = [(left.bones[0], right.bones[0]) for left, right in plan.limbs if left.bones and right.bones]
    lines = np.array([pose.positions[left] - pose.positions[right] for left, right in pairs]).reshape(-1, 3)
    lines = lines * [1.0, 0.0, 1.0]
    if len(lines) == 2 and float(lines[0] @ lines[1]) < 0.0:
        return "the legs of the {} are on other sides than its arms"
    across = lines.sum(axis=0)
    length = float(np.linalg.norm(across))
    if length < 1e-9 or not feet_point_back(plan.skeleton, pose, cross(across / length, UP)):
        return ""
    return "the feet of the {} point backwards"


def _thinned(motion: Motion | None) -> Motion | None:
    if motion is None or motion.num_frames <= MAX_TRIAL_FRAMES:
        return motion
    return motion[np.unique(np.linspace(0, motion.num_frames - 1, MAX_TRIAL_FRAMES).astype(int))]


class _Trial:
    """A range of motion of the source, carried over to the target."""

    def __init__(self, alignment: Alignment, source: BodyPlan, target: BodyPlan) -> None:
        self.alignment, self.correspondence = alignment, alignment.correspondence
        self.source, self.target = source, target
        skeleton = self.correspondence.source
        still = replace(rest_motion(skeleton), rotations=alignment.source[None])
        self.still = fk(still)
        self.left = _find_left(source, self.still)
        turned: list[tuple[str, dict[int, Array]]] = [("still", {}), *self._turns()]
        self.frames: dict[str, int] = {name: frame for frame, (name, _) in enumerate(turned)}
        motion = Motion(
            skeleton=skeleton,
            fps=1.0,  # Whatever is smoothed in time must not mix one pose with the next.
            root=np.repeat(still.root, len(turned), axis=0),
            rotations=_turn(skeleton, alignment.source, [turns for _, turns in turned]),
        )
        self.source_pose = fk(motion)
        floor = Floor(slope=np.zeros(2))
        self.carried = transfer_motion(motion, alignment, floor=floor, ratio=1.0)
        self.target_pose = fk(self.carried)

    def _turns(self) -> Iterable[tuple[str, dict[int, Array]]]:
        """Names of frames and the world turns (4,) of joints in them."""
        for limb, _ in self._limbs() if self.left is not None else ():
            for part in BENDS_DEGREES:
                if part in limb.parts:
                    yield f"{limb.side} {limb.kind} {part}", {limb.parts[part][0]: self._bend(limb, part)}
        slanted = np.ones(3) / np.sqrt(3.0)
        for part in ("head", "spine"):
            if self.source.trunk.get(part):
                yield part, {self.source.trunk[part][0]: from_axis_angle(slanted, np.radians(TURN_DEGREES))}
        index = self.correspondence.source.index
        paired = [index[bone] for pair in self.correspondence.pairs for bone in pair.source]
        for axis in range(3):
            turn = from_axis_angle(np.eye(3)[axis], np.radians(WIGGLE_DEGREES))
            yield f"wiggle {axis}", dict.fromkeys(paired, turn)

    def _bend(self, limb: Limb, part: str) -> Array:
        """(4,) the turn in the world that swings a part of the source's limb to the front, or a shin to the back."""
        assert self.left is not None
        along = _limb_vector(self.source, limb, part, self.still, 0)
        forward = cross(self.left, UP) * (-1.0 if limb.kind == "leg" and part == "lower" else 1.0)
        axis = cross(along, forward)
        # What already points there is raised.
        axis = axis if np.linalg.norm(axis) > 0.3 * np.linalg.norm(along) else cross(along, UP)
        length = float(np.linalg.norm(axis))
        axis = axis / length if length > 1e-9 else self.left
        return from_axis_angle(axis, np.radians(BENDS_DEGREES[part]))

    def _limbs(self) -> list[tuple[Limb, Limb]]:
        """Limbs of the source, each with the limb of the target that plays it."""
        pairs = []
        for limbs, others in zip(self.source.limbs, self.target.limbs):
            pairs += [(a, b) for a, b in zip(limbs, others) if a.kind == b.kind]
        return pairs

    @property
    def stands(self) -> bool:
        """Whether the source itself stands in its neutral pose, so that the target can be asked to."""
        return self.left is not None and not list(_standing_failures(self.source, self.source_pose))

    def check(self) -> list[Failure]:
        """All that is wrong; of bodies that are not both upright on two legs only what stays unmoved."""
        failures = self.check_moved()
        if self.source.kind == self.target.kind == "biped":
            failures += [*self.check_whole_limbs(), *self.check_trunk()]
            if self.stands:
                failures = [*self.check_standing(), *self.check_limbs(), *failures]
        return failures

    def check_standing(self) -> list[Failure]:
        """Feet lowest, head on top, feet pointing ahead."""
        failures = list(_standing_failures(self.target, self.target_pose))
        root, skeleton = self.target.root, self.target.skeleton
        up = rotate(self.target_pose.rotations[0, root], unrotate(skeleton.rest_world[1][root], UP))
        if stands_at_rest(skeleton) and float(up @ UP) < 0.0:
            failures.append(Failure(sentence="the target stands on its head", stops=True))
        assert self.left is not None
        forward = cross(self.left, UP)
        feet = [
            float(_foot_direction(plan, limb, pose) @ forward)
            for plan, pose, number in ((self.source, self.source_pose, 0), (self.target, self.target_pose, 1))
            for limb in (pair[number] for pair in self._limbs() if pair[0].kind == "leg")
        ]
        ahead, behind = feet[: len(feet) // 2], feet[len(feet) // 2 :]
        if feet and min(ahead) > MIN_FOOT_SHARE and max(behind) < -MIN_FOOT_SHARE:
            sentence = "the feet point backwards, as if left and right were exchanged"
            failures.append(Failure(sentence=sentence, exchanged=True))
        return failures

    def check_limbs(self) -> list[Failure]:
        """Knees and elbows bend the way the source's bend."""
        failures = []
        for limb, other in self._limbs():
            for part in BENDS_DEGREES:
                frame = self.frames.get(f"{limb.side} {limb.kind} {part}")
                if frame is None or part not in other.parts:
                    continue
                goal = _end_movement(self.source, limb, part, self.source_pose, frame)
                moved = _end_movement(self.target, other, part, self.target_pose, frame)
                if np.linalg.norm(goal) < MIN_VISIBLE_BEND or not moved.any():
                    continue
                if float(moved @ goal) > MIN_BEND_SHARE[limb.kind] * float(goal @ goal):
                    continue
                joint = self.target.skeleton.names[other.parts[part][0]]
                what = {"upper": "swings", "lower": "bends"}[part]
                failures.append(
                    Failure(
                        sentence=f"the {limb.side} {limb.kind} {what} at `{joint}` the other way, or not at all",
                        bones=frozenset(self.target.skeleton.names[j] for j in other.bones),
                    )
                )
        return failures

    def check_whole_limbs(self) -> list[Failure]:
        """Every limb of the target has the source's parts, and each of its long bones moves."""
        skeleton, failures = self.target.skeleton, []
        reach = measure_reach(skeleton)
        for limb, other in self._limbs():
            missing = [part for part in ("upper", "lower") if part in limb.parts and part not in other.parts]
            failures += [
                Failure(
                    sentence=f"the target's {limb.side} {limb.kind} has no {part_name(self.target, other, part)}",
                    bones=frozenset(skeleton.names[j] for j in other.bones),
                )
                for part in missing
            ]
            row = _whole_limb(self.target, other)
            for joint, below in pairwise(row):
                if joint in other.parts.get("girdle", ()):
                    continue
                is_long = skeleton.lengths[below] > MIN_LONG_BONE_SHARE * reach[row[0]]
                if is_long and not any(self._moves(j) for j in _turning_with(skeleton, row, joint)):
                    name = skeleton.names[joint]
                    failures.append(Failure(sentence=f"`{name}` stays unmoved", bones=frozenset((name,))))
            failures += self._stiff_ends(limb, other)
        return failures

    def _stiff_ends(self, limb: Limb, other: Limb) -> list[Failure]:
        """Failures for wrists and ankles that stay unmoved above the finger or toe that plays the hand or foot."""
        skeleton, hand = self.target.skeleton, limb.parts.get("end", ())
        pair = self.correspondence.pair_of("source", self.source.skeleton.names[hand[0]]) if hand else None
        if pair is None or "lower" not in other.parts:
            return []
        row, lower = skeleton.chain(skeleton.index[pair.target[0]]), other.parts["lower"][-1]
        start = row.index(lower) + 1 if lower in row else len(row)
        end = "hand" if limb.kind == "arm" else "foot"
        stiff = [j for j in row[start:-1] if not any(self._moves(i) for i in _turning_with(skeleton, row, j))]
        return [
            Failure(
                sentence=f"`{skeleton.names[joint]}` stays unmoved: `{pair.target[0]}` plays the {limb.side} {end}",
                bones=frozenset((skeleton.names[joint], *pair.target)),
            )
            for joint in stiff[:1]
        ]

    def _moves(self, joint: int) -> bool:
        """Whether a joint of the target ever turns against its parent; a fixed one need not."""
        if self.target.skeleton.kinds[joint] is JointKind.FIXED:
            return True
        local = self.carried.rotations[:, joint]
        dots = np.abs(local @ local[0])
        return 2.0 * float(np.degrees(np.arccos(np.clip(dots.min(), 0.0, 1.0)))) >= MIN_MOVED_DEGREES

    def check_trunk(self) -> list[Failure]:
        """The arms stay where they are while the head turns, and move with a back that bends."""
        arms = [pair for pair in self._limbs() if pair[0].kind == "arm" and pair[1].bones]
        if not arms:
            return []
        failures = []
        if "head" in self.frames and self._arm_movement("head", arms, 1) > MAX_HEAD_PULL_SHARE:
            bones = self.correspondence.pair_of("source", self.source.skeleton.names[self.source.trunk["head"][0]])
            names = () if bones is None else bones.target
            sentence = f"{', '.join(f'`{name}`' for name in names) or 'the head'} turns the arms with the head"
            failures.append(Failure(sentence=sentence, bones=frozenset(names)))
        if "spine" in self.frames and self._has_back(arms[0][1]):
            wanted, found = (self._arm_movement("spine", arms, body) for body in (0, 1))
            if wanted > MAX_HEAD_PULL_SHARE and found < MIN_BACK_SHARE * wanted:
                failures.append(Failure(sentence="the back does not bend"))
        return failures

    def _arm_movement(self, frame: str, arms: Sequence[tuple[Limb, Limb]], body: int) -> float:
        """Movement of an arm's first joint in a frame, in lengths of the arm; of body 0, the source, or 1."""
        plan, pose = ((self.source, self.source_pose), (self.target, self.target_pose))[body]
        result = 0.0
        for pair in arms:
            row = _whole_limb(plan, pair[body])
            places = pose.positions[[0, self.frames[frame]]][:, row[0]]
            length = max(float(measure_reach(plan.skeleton)[row[0]]), 1e-9)
            result = max(result, float(np.linalg.norm(places[1] - places[0])) / length)
        return result

    def _has_back(self, arm: Limb) -> bool:
        """Whether the target has a joint that turns between the bone that carries its legs and its arms."""
        skeleton = self.target.skeleton
        legs = [limb for _, limb in self._limbs() if limb.kind == "leg" and limb.bones]
        chains = [set(skeleton.chain(limb.bones[-1])) for limb in legs]
        back = [j for j in skeleton.chain(_whole_limb(self.target, arm)[0])[:-1] if not any(j in c for c in chains)]
        return bool(legs) and any(skeleton.kinds[j] is not JointKind.FIXED for j in back)

    def check_moved(self) -> list[Failure]:
        """Every bone in a pair moves."""
        skeleton, failures = self.correspondence.target, []
        wiggles = [frame for name, frame in self.frames.items() if name.startswith("wiggle")]
        for pair in self.correspondence.pairs:
            joints = [skeleton.index[bone] for bone in pair.target]
            if pair is self.correspondence.root or all(skeleton.kinds[j] is JointKind.FIXED for j in joints):
                continue
            local = self.carried.rotations[:, joints]
            dots = np.abs(np.einsum("fji,ji->fj", local[wiggles], local[0]))
            if 2.0 * np.degrees(np.arccos(np.clip(dots.min(), 0.0, 1.0))) < MIN_MOVED_DEGREES:
                names = ", ".join(f"`{bone}`" for bone in pair.target)
                failures.append(Failure(sentence=f"{names} stays unmoved", bones=frozenset(pair.target)))
        return failures


def _find_left(plan: BodyPlan, pose: Pose) -> Array | None:
    """(3,) the level direction to the left of a body in the first frame; None if it has no limbs apart."""
    lines = [
        pose.positions[0, left.bones[0]] - pose.positions[0, right.bones[0]]
        for left, right in plan.limbs
        if left.bones and right.bones
    ]
    across = np.sum(lines, axis=0) * [1.0, 0.0, 1.0] if lines else np.zeros(3)
    length = float(np.linalg.norm(across))
    return across / length if length > 1e-9 else None


def _turn(skeleton: Skeleton, local: Array, turns: Sequence[dict[int, Array]]) -> Array:
    """(F, J, 4) local rotations (J, 4), with some joints turned in the world at each of F frames."""
    count = len(turns)
    world, result = np.empty((skeleton.num_joints, count, 4)), np.empty((skeleton.num_joints, count, 4))
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = identity(count) if parent < 0 else world[parent]
        world[joint] = multiply(above, local[joint])
        for frame, turned in enumerate(turns):
            if joint in turned:
                world[joint, frame] = multiply(turned[joint], world[joint, frame])
        result[joint] = multiply(conjugate(above), world[joint])
    result[:, 0] = local
    return result.transpose(1, 0, 2)


def _standing_failures(plan: BodyPlan, pose: Pose) -> Iterable[Failure]:
    skeleton = plan.skeleton
    heights = pose.positions[0, :, 1]
    body = skeleton.below(plan.root)
    tips = pose.points(skeleton.ends)[0][:, 1] if skeleton.ends else np.empty(0)
    lowest = min(float(heights[body].min()), float(tips.min(initial=np.inf)))
    height = max(float(heights[body].max()), float(tips.max(initial=-np.inf))) - lowest
    legs = [limb for pair in plan.limbs for limb in pair if limb.kind == "leg" and limb.bones]
    for limb in legs:
        below = skeleton.below(limb.bones[-1])
        ends = [float(tips[i]) for i, end in enumerate(skeleton.ends) if below[skeleton.index[end.joint]]]
        foot = min([float(heights[below].min()), *ends])
        if foot - lowest > MAX_FOOT_RISE_SHARE * height:
            name = skeleton.names[limb.bones[-1]]
            yield Failure(sentence=f"the {limb.side} foot, `{name}`, is not on the ground", stops=True)
    arms = [limb for pair in plan.limbs for limb in pair if limb.kind == "arm" and limb.bones]
    if legs and arms:
        hips, shoulders = (np.mean([heights[limb.bones[0]] for limb in limbs]) for limbs in (legs, arms))
        if hips >= shoulders:
            yield Failure(sentence="the legs begin above the arms", stops=True)
    for joint in plan.trunk.get("head", ())[:1]:
        if heights[joint] - lowest < MIN_HEAD_SHARE * height:
            yield Failure(sentence=f"the head, `{skeleton.names[joint]}`, is not on top", stops=True)


def _foot_direction(plan: BodyPlan, limb: Limb, pose: Pose) -> Array:
    """(3,) level vector from the ankle to the ends of the foot in the first frame, in leg lengths; 0 without a foot."""
    if "end" not in limb.parts:
        return np.zeros(3)
    skeleton, foot = plan.skeleton, limb.parts["end"][0]
    below = skeleton.below(foot)
    points = [*pose.points([end for end in skeleton.ends if below[skeleton.index[end.joint]]])[0]]
    # The motors of an ankle may be anywhere: they show a foot's direction only if it has no ends.
    points = points or [*pose.positions[0, below & (np.arange(skeleton.num_joints) != foot)]]
    leg = np.linalg.norm(pose.positions[0, limb.bones[0]] - pose.positions[0, foot])
    if not points or leg < 1e-9:
        return np.zeros(3)
    return (np.mean(points, axis=0) - pose.positions[0, foot]) * [1.0, 0.0, 1.0] / leg


def _turning_with(skeleton: Skeleton, row: Sequence[int], joint: int) -> list[int]:
    """The joints of a row that are at one place with a joint, as the motors of a shoulder are, and turn its bone."""
    place = skeleton.rest_world[0]
    near = 0.1 * float(skeleton.lengths[row[row.index(joint) + 1]])
    return [j for j in row[: row.index(joint) + 1] if np.linalg.norm(place[j] - place[joint]) <= near]


def _whole_limb(plan: BodyPlan, limb: Limb) -> list[int]:
    """The joints of a limb from where it leaves the body to its farthest end, whatever parts it was split into."""
    skeleton, reach = plan.skeleton, measure_reach(plan.skeleton)
    joint = next((limb.parts[part][0] for part in PARTS if limb.parts.get(part)), limb.bones[0])
    others = [other.bones[-1] for pair in plan.limbs for other in pair if other.bones and other.side != limb.side]
    others += [joints[-1] for part, joints in plan.trunk.items() if joints and part != "tail"]
    body = {above for other in others for above in skeleton.chain(other)}
    row = [j for j in skeleton.chain(joint) if j not in body or j == joint]
    while skeleton.children[row[-1]]:
        row.append(max(skeleton.children[row[-1]], key=lambda j: float(reach[j] + skeleton.lengths[j])))
    return row


def _limb_vector(plan: BodyPlan, limb: Limb, part: str, pose: Pose, frame: int) -> Array:
    """(3,) metres from a part of a limb to the end of the limb."""
    skeleton, top = plan.skeleton, limb.parts[part][0]
    last = limb.bones[-1]
    tips = [end for end in skeleton.ends if skeleton.index[end.joint] == last]
    end = pose.points(tips)[frame].mean(axis=0) if tips else pose.positions[frame, last]
    return end - pose.positions[frame, top]


def _end_movement(plan: BodyPlan, limb: Limb, part: str, pose: Pose, frame: int) -> Array:
    """(3,) movement of a limb's end against a part of the limb, in lengths of the limb below it; 0 if it ends there."""
    still, moved = (_limb_vector(plan, limb, part, pose, number) for number in (0, frame))
    length = float(np.linalg.norm(still))
    return (moved - still) / length if length > 1e-6 else np.zeros(3)


HINT = (
    "write a map to start from with `understudy map SOURCE TARGET -o map.toml`, add the pairs in an editor, and give "
    "it with `--map map.toml`"
)


def suggest(
    source: Skeleton, target: Skeleton, *, source_motion: Motion | None = None, target_motion: Motion | None = None
) -> Correspondence:
    """Suggest the correspondence of two characters: pairs of bones, each with a confidence and a reason.

    Names are used first. Where they say nothing, the tree, its symmetry, its proportions and the directions of its
    bones identify trunk, limbs and sides. The map is tried on both bodies before it is believed.

    Args:
        source: The character that moves.
        target: The character that is to move.
        source_motion: A motion of the source; it shows how the source stands if its rest pose does not.
        target_motion: The same of the target.
    """
    return suggest_and_try(source, target, source_motion=source_motion, target_motion=target_motion)[0]


FAILED_FACTOR = 0.6
"""Factor on the confidence of pairs that do not pass the trial."""

MAX_UNTRIED_CONFIDENCE = 0.9
"""Confidence of pairs in a map that does not pass the trial as a whole."""

MIN_ALTERNATIVE_SHARE = 0.8
"""Share of the bones paired by the first map that another map must pair to take its place."""


def suggest_and_try(
    source: Skeleton, target: Skeleton, *, source_motion: Motion | None = None, target_motion: Motion | None = None
) -> tuple[Correspondence, tuple[Failure, ...]]:
    """Suggest the correspondence of two characters as `suggest` does, with what a viewer would find wrong about it.

    Maps are tried in order: by names, by shape of one body or of both, with the target's sides exchanged. The first
    that passes is taken, else the one with least wrong, and its confidence is lowered. The map is made for the main
    bones of both bodies.
    """
    if source.names == target.names and np.array_equal(source.parents, target.parents):
        pairs = [Pair(source=(n,), target=(n,), reason="the same bone of the same skeleton") for n in source.names]
        return Correspondence(source=source, target=target, pairs=tuple(pairs)), ()
    main_source, main_target = main_bones(source), main_bones(target)
    found, failures = _suggest_and_try(
        main_source.skeleton,
        main_target.skeleton,
        source_motion=None if source_motion is None else main_source.of_motion(source_motion),
        target_motion=None if target_motion is None else main_target.of_motion(target_motion),
        is_point=min(source.num_joints, target.num_joints) == 1,
    )
    failures = tuple(replace(f, bones=frozenset(main_target.expand(sorted(f.bones)))) for f in failures)
    pairs = [
        replace(pair, source=main_source.expand(pair.source), target=main_target.expand(pair.target))
        for pair in found.pairs
    ]
    pairs += _pair_helpers(source, target, pairs)
    return Correspondence(source=source, target=target, pairs=tuple(pairs)), failures


def _pair_helpers(source: Skeleton, target: Skeleton, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of helper bones with the same name that hang from bones that correspond."""
    partner = {bone: set(pair.target) for pair in pairs for bone in pair.source}
    result = []
    for joint in sorted(leaf_helpers(source)):
        name, above = source.names[joint], source.names[source.parents[joint]]
        other = target.index.get(name, -1)
        if other in leaf_helpers(target) and target.names[target.parents[other]] in partner.get(above, ()):
            reason = f"both are called {name} and hang from bones that correspond"
            result.append(Pair(source=(name,), target=(name,), confidence=SAME_NAME_CONFIDENCE, reason=reason))
    return result


def _suggest_and_try(
    source: Skeleton, target: Skeleton, *, source_motion: Motion | None, target_motion: Motion | None, is_point: bool
) -> tuple[Correspondence, tuple[Failure, ...]]:
    """`suggest_and_try` for bodies of main bones; with `is_point`, one body has a single joint."""
    best: tuple[Correspondence, tuple[Failure, ...]] | None = None
    unclear: tuple[Failure, ...] = ()
    for source_plan, target_plan, exchanged in _plans_to_try(source, target, source_motion, target_motion):
        if exchanged and not (best is not None and any(failure.exchanged for failure in best[1])):
            continue
        pairs = match(source_plan, target_plan)
        if len(pairs) == 1 and not is_point:
            if best is None:
                raise _no_match_error(source_plan, target_plan)
            continue
        correspondence = Correspondence(source=source, target=target, pairs=tuple(pairs))
        failures = try_map(
            correspondence, source_plan, target_plan, source_motion=source_motion, target_motion=target_motion
        )
        if best is None or _is_better(correspondence, failures, *best):
            best = correspondence, failures
            unclear = () if exchanged else _unclear_sides(source_plan, target_plan)
            unclear += (*_unclear_arms(source_plan, target_plan), *_unclear_pieces(source_plan, target_plan))
            unclear += _unclear_parts(source_plan, target_plan)
        if not failures:
            break
    assert best is not None
    lowered = tuple(_lowered(pair, best[1]) for pair in best[0].pairs)
    return replace(best[0], pairs=lowered), (*best[1], *unclear)


def _unclear_sides(source: BodyPlan, target: BodyPlan) -> tuple[Failure, ...]:
    """A failure for each body on two legs whose left and right nothing tells apart."""
    return tuple(
        Failure(
            sentence=f"left and right of the {who} are the same to the eye: no name says which is which, and neither "
            "feet nor knees nor a motion show where it faces",
            stops=True,
        )
        for who, plan in (("source", source), ("target", target))
        if plan.kind == "biped" and plan.limbs and not plan.sure_sides
    )


def _unclear_arms(source: BodyPlan, target: BodyPlan) -> tuple[Failure, ...]:
    """A failure for a body without names that has several pairs of arms, against a body on two legs."""
    failures = []
    for who, plan, other in (("source", source, target), ("target", target, source)):
        tops = [pair[0].bones[0] for pair in plan.limbs if pair[0].kind == "arm" and not plan.named and pair[0].bones]
        if other.kind == "biped" and plan.kind in ("biped", "quadruped") and len(tops) > 1:
            bones = " and ".join(f"`{plan.skeleton.names[joint]}`" for joint in tops)
            sentence = f"the {who} has {len(tops)} pairs of limbs that can be its arms, from {bones}, and no name says"
            failures.append(Failure(sentence=f"{sentence} which", stops=True))
    return tuple(failures)


def _unclear_parts(source: BodyPlan, target: BodyPlan) -> tuple[Failure, ...]:
    """A failure for each body without names of which a long branch is no part that can be identified."""
    return tuple(
        Failure(
            sentence=f"a branch of the {who} that may be a limb, from `{plan.skeleton.names[left_out(plan)[0]]}`, is "
            "no part that can be identified",
            stops=True,
        )
        for who, plan in (("source", source), ("target", target))
        if not is_understood(plan)
    )


MIN_PIECES = 3
"""Pieces of a body that hang from a root on the floor from which the body is cut into pieces."""


def _unclear_pieces(source: BodyPlan, target: BodyPlan) -> tuple[Failure, ...]:
    """A failure for a body without names that is cut into pieces."""
    return tuple(
        Failure(
            sentence=f"{len(find_pieces(plan.skeleton))} pieces of the {who} hang from "
            f"`{plan.skeleton.names[0]}` on the floor, and no name says which of them belong together",
            stops=True,
        )
        for who, plan in (("source", source), ("target", target))
        if not plan.named and len(find_pieces(plan.skeleton)) >= MIN_PIECES
    )


def _is_better(
    correspondence: Correspondence, failures: Sequence[Failure], first: Correspondence, found: Sequence[Failure]
) -> bool:
    """Whether a map has less wrong than the best one before it, without leaving out what that one pairs."""
    count, count_first = (sum(len(pair.target) for pair in c.pairs) for c in (correspondence, first))
    if count < MIN_ALTERNATIVE_SHARE * count_first:
        return False
    return (sum(f.stops for f in failures), len(failures)) < (sum(f.stops for f in found), len(found))


def _lowered(pair: Pair, failures: Sequence[Failure]) -> Pair:
    """A pair with the confidence that the trial of its map leaves it."""
    if not failures:
        return pair
    own = [f.sentence for f in failures if not f.bones or f.bones & set(pair.target)]
    if not own:
        return replace(pair, confidence=min(pair.confidence, MAX_UNTRIED_CONFIDENCE))
    confidence = round(min(pair.confidence, MAX_UNTRIED_CONFIDENCE) * FAILED_FACTOR, 2)
    return replace(pair, confidence=confidence, reason=f"{pair.reason}; in the trial, {own[0]}")


def _plans_to_try(
    source: Skeleton, target: Skeleton, source_motion: Motion | None, target_motion: Motion | None
) -> Iterator[tuple[BodyPlan, BodyPlan, bool]]:
    """Ways to split two bodies into parts, the most trusted first, and whether the target's sides are exchanged."""
    first, second = split_body(source, source_motion), split_body(target, target_motion)
    yield first, second, False
    by_shape = find_plan(target, target_motion) if second.named else None
    if by_shape is not None:
        yield first, by_shape, False
    if first.named:
        source_by_shape = find_plan(source, source_motion)
        yield source_by_shape, second, False
        if by_shape is not None:
            yield source_by_shape, by_shape, False
    yield first, _with_sides_exchanged(second), True


def _with_sides_exchanged(plan: BodyPlan) -> BodyPlan:
    limbs = tuple((replace(right, side="left"), replace(left, side="right")) for left, right in plan.limbs)
    return replace(plan, limbs=limbs, sure_sides=False)


def check_trial(correspondence: Correspondence, failures: Sequence[Failure]) -> None:
    """Refuse a suggested map with which the target cannot stand, or whose sides are a guess."""
    stops = [failure.sentence for failure in failures if failure.stops]
    if stops:
        target = describe(split_body(correspondence.target))
        raise CorrespondenceError(
            f"No map can be believed: {'; '.join(stops[:3])}. The target is understood as {target}",
            hint=HINT,
        )


def split_body(skeleton: Skeleton, motion: Motion | None = None) -> BodyPlan:
    """Find the parts of a body: by name if names identify arms and legs, else by shape."""
    return plan_by_names(skeleton, standing_pose(skeleton, motion)) or find_plan(skeleton, motion)


def _no_match_error(source: BodyPlan, target: BodyPlan) -> CorrespondenceError:
    return CorrespondenceError(
        f"Nothing but the root corresponds: the source is {describe(source)}; the target is {describe(target)}",
        hint=HINT,
    )
