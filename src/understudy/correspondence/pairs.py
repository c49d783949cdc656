"""Correspondence: which bones of one character move which bones of another [Hsieh05, sec. 3.1].

A bone is named by the joint that rotates it. Most pairs are one to one. A pair of two chains (three spine bones and
five) distributes the movement along them. A pair of bones that are not a chain (two legs and a tail fin) takes their
mean. Bones in no pair have no correspondence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.errors import SkeletonError, UnderstudyError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.figure.contacts import Contact, Floor, leg_ratio, scaled_places, step_heights
from understudy.figure.kinematics import Pose
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton

if TYPE_CHECKING:
    from understudy.correspondence.alignment import Alignment
    from understudy.correspondence.landing import Landing

ALIGNMENTS = ("direction", "stance")
"""How the bones of a pair are aligned: `direction`: the target's bone points as the source's does; `stance`: each
moves relative to its own reference pose."""


NO_TURN = (0.0, 0.0, 0.0)


class CorrespondenceError(UnderstudyError):
    """A map of bones contradicts itself or the skeletons, or lacks required pairs."""


@record(eq=True)
class Pair:
    """Bones of the source and the bones of the target that they move."""

    source: tuple[str, ...]
    """One bone, a chain of bones from the body outwards, or several bones that are not a chain."""
    target: tuple[str, ...]
    confidence: float = 1.0
    """How certain the pair is, from 0 to 1; 1 for pairs that the user gives."""
    reason: str = "given"
    """Why they are paired, in words."""
    align: str | None = None
    """One of ALIGNMENTS, or None to choose by how the two characters stand."""
    twist: float = 0.0
    """Radians by which the target's bones are rotated about their length, to correct the rest poses."""
    turn: tuple[float, float, float] = NO_TURN
    """Rotation vector (radians, own axes of the first bone) by which the target's bones, with all that hangs from them,
    are turned in the reference pose."""

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            bones = getattr(self, side)
            object.__setattr__(self, side, (bones,) if isinstance(bones, str) else tuple(bones))
        if not (self.source and self.target):
            raise CorrespondenceError(f"A pair needs bones on both sides; got {self.source} and {self.target}")
        if self.align is not None and self.align not in ALIGNMENTS:
            raise CorrespondenceError(f"{self}: expected alignment, one of {', '.join(ALIGNMENTS)}; got `{self.align}`")
        object.__setattr__(self, "turn", tuple(float(angle) for angle in self.turn))
        if len(self.turn) != 3 or not np.isfinite([self.twist, *self.turn]).all():
            raise CorrespondenceError(f"{self}: expected a finite twist and a turn of three finite angles")
        if not 0.0 <= self.confidence <= 1.0:
            raise CorrespondenceError(f"{self}: expected a confidence from 0 to 1")

    def __str__(self) -> str:
        return f"{_bones_text(self.source)} -> {_bones_text(self.target)}"

    @property
    def is_posed(self) -> bool:
        """Whether the user says how the target's bones are turned."""
        return self.twist != 0.0 or any(self.turn)


def _bones_text(bones: Sequence[str]) -> str:
    return f"`{bones[0]}`" if len(bones) == 1 else "[" + ", ".join(f"`{bone}`" for bone in bones) + "]"


@record(eq=True)
class PointPair:
    """A point of the target (an end or joint, by name) and the point of the source that it follows or lands with."""

    source: str
    target: str


@record
class Correspondence:
    """A checked map from one character to another: it has a root, no bone is in two pairs, the trees agree."""

    source: Skeleton
    target: Skeleton
    pairs: tuple[Pair, ...]
    points: tuple[PointPair, ...] = ()
    """Points that correspond in addition to the bones: landing points of contacts, points to follow."""

    def __repr__(self) -> str:
        names = f"{self.source.name or 'unnamed'} to {self.target.name or 'unnamed'}"
        return f"<Correspondence {names}: {len(self.pairs)} pairs, {len(self.points)} points>"

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple(self.pairs))
        object.__setattr__(self, "points", tuple(self.points))
        for side, skeleton in (("source", self.source), ("target", self.target)):
            for pair in self.pairs:
                for bone in getattr(pair, side):
                    if bone not in skeleton.index:
                        raise UnknownNameError(
                            f"{pair}: the {side} has no bone `{bone}`; {nearest_names(bone, skeleton.names)}"
                        )
            for points in self.points:
                skeleton.point(getattr(points, side))
            self._check_claims(side)
        self._check_order()
        self._check_root()

    def _check_claims(self, side: str) -> None:
        taken: dict[str, Pair] = {}
        for pair in self.pairs:
            bones = getattr(pair, side)
            if len(set(bones)) < len(bones):
                raise CorrespondenceError(f"{pair}: a bone of the {side} is named twice")
            for bone in bones:
                if bone in taken:
                    raise CorrespondenceError(
                        f"The map is ambiguous: `{bone}` of the {side} is in two pairs, {taken[bone]} and {pair}",
                        hint="take it out of one of them, or join them into one pair that lists all their bones",
                    )
                taken[bone] = pair

    def _check_order(self) -> None:
        """Refuse pairs whose order along the tree differs between source and target."""
        source_above, target_above = (self._ancestor_matrix(side) for side in ("source", "target"))
        for first, second in np.argwhere(source_above & target_above.T):
            pair, other = self.pairs[first], self.pairs[second]
            a, b = next((a, b) for a in pair.source for b in other.source if is_ancestor(self.source, a, b))
            c, d = next((c, d) for c in pair.target for d in other.target if is_ancestor(self.target, d, c))
            raise CorrespondenceError(
                f"The map is cyclic: `{a}` carries `{b}` on the source, but their partners "
                f"`{c}` and `{d}` hang the other way round on the target",
                hint=f"exchange the partners of {pair} and {other}, or take one of them out",
            )

    def _ancestor_matrix(self, side: str) -> np.ndarray:
        """(P, P) whether a bone of the row's pair is an ancestor of one of the column's."""
        skeleton: Skeleton = getattr(self, side)
        members = np.zeros((len(self.pairs), skeleton.num_joints), bool)
        for row, pair in enumerate(self.pairs):
            members[row, [skeleton.index[bone] for bone in getattr(pair, side)]] = True
        result = (members.astype(np.int32) @ descendants(skeleton) @ members.T) > 0
        np.fill_diagonal(result, False)
        return result

    def _check_root(self) -> None:
        if not self.pairs:
            raise CorrespondenceError(
                "The map has no pairs: nothing of the source moves anything of the target",
                hint="give the pairs in a map file; `understudy map SOURCE TARGET -o map.toml` writes one to edit",
            )
        if self.root is None:
            tops = [pair for pair in self.pairs if not any(_is_above(self, other, pair) for other in self.pairs)]
            raise CorrespondenceError(
                "The map has no root: no pair carries all the others on both characters; "
                f"the topmost are {', '.join(str(pair) for pair in tops[:4])}",
                hint="add a pair of the bones that everything hangs from, such as the hips of both",
            )

    @cached
    def root(self) -> Pair | None:
        """The pair whose bones are ancestors of those of every other pair; None if there is none."""
        for pair in self.pairs:
            if all(other is pair or _is_above(self, pair, other) for other in self.pairs):
                return pair
        return None

    @cached
    def ordered(self) -> tuple[Pair, ...]:
        """The pairs in the order of the target's bones, from the root outwards."""
        return tuple(sorted(self.pairs, key=lambda pair: min(self.target.index[bone] for bone in pair.target)))

    def pair_of(self, side: str, bone: str) -> Pair | None:
        """The pair that a bone of one side ("source" or "target") is in."""
        return self._pair_by_bone[side].get(bone)

    @cached
    def _pair_by_bone(self) -> dict[str, dict[str, Pair]]:
        """For each side, the first pair that each bone is in."""
        sides = ("source", "target")
        return {side: {bone: pair for pair in self.pairs[::-1] for bone in getattr(pair, side)} for side in sides}

    def unmatched(self, side: str) -> tuple[str, ...]:
        """The bones of one side ("source" or "target") that are in no pair."""
        taken = {bone for pair in self.pairs for bone in getattr(pair, side)}
        return tuple(bone for bone in getattr(self, side).names if bone not in taken)

    def reversed(self) -> Correspondence:
        """The map from target to source; without `turn`, which is about the axes of the target's bones."""
        pairs = [
            replace(pair, source=pair.target, target=pair.source, twist=-pair.twist, turn=NO_TURN)
            for pair in self.pairs
        ]
        points = [PointPair(source=p.target, target=p.source) for p in self.points]
        return Correspondence(source=self.target, target=self.source, pairs=tuple(pairs), points=tuple(points))


@lru_cache(maxsize=16)
def descendants(skeleton: Skeleton) -> np.ndarray:
    """(J, J) True where the joint of the column is, or descends from, the joint of the row."""
    result = np.eye(skeleton.num_joints, dtype=bool)
    for joint in range(1, skeleton.num_joints):
        result[:, joint] |= result[:, skeleton.parents[joint]]
    result.setflags(write=False)
    return result


def is_ancestor(skeleton: Skeleton, upper: str, lower: str) -> bool:
    """Whether the lower bone descends from the upper one."""
    return upper != lower and bool(descendants(skeleton)[skeleton.index[upper], skeleton.index[lower]])


def is_chain(skeleton: Skeleton, bones: Iterable[str]) -> bool:
    """Whether each bone descends from the one before."""
    names = list(bones)
    return all(is_ancestor(skeleton, a, b) for a, b in pairwise(names))


def _is_above(correspondence: Correspondence, pair: Pair, other: Pair) -> bool:
    """Whether a pair's first bones are ancestors of all bones of another pair, on both sides."""
    return all(is_ancestor(correspondence.source, pair.source[0], b) for b in other.source) and all(
        is_ancestor(correspondence.target, pair.target[0], b) for b in other.target
    )


def same_structure(source: Skeleton, target: Skeleton) -> bool:
    """Whether two skeletons have the same joints with the same parents."""
    return source.names == target.names and np.array_equal(source.parents, target.parents)


def start_motion(motion: Motion, target: Skeleton, floor: Floor) -> Motion:
    """The source's motion on a target of the same structure. Its path is scaled by the ratio of the leg lengths."""
    check_structure(motion.skeleton, target)
    ratio = leg_ratio(motion.skeleton, target)
    offsets = None
    if motion.offsets is not None:
        lengths = motion.skeleton.lengths
        ratios = target.lengths / np.maximum(lengths, 1e-12)
        offsets = np.where(lengths[:, None] > 1e-9, motion.offsets * ratios[:, None], target.offsets)
    return motion.derived(
        skeleton=target, root=scaled_places(motion.root, ratio, floor), offsets=offsets, name=target.name
    )


def morph_motion(motion: Motion, target: Skeleton, share: Array, floor: Floor) -> Motion:
    """The source's motion on a body that changes from the source into the target.

    Args:
        motion: The source's motion.
        target: A character of the same structure.
        share: (F,) blend from source (0) to target (1) body at each frame.
        floor: The ground.

    Returns:
        A motion on the target's skeleton with offsets per frame. Each step of the path is scaled by the leg length at
        its frames, and the steps are summed [Gleicher98, sec. 5].
    """
    check_structure(motion.skeleton, target)
    weights = share[:, None, None]
    offsets = (1.0 - weights) * motion.skeleton.offsets + weights * target.offsets
    ratio = 1.0 + share * (leg_ratio(motion.skeleton, target) - 1.0)
    steps = np.diff(motion.root, axis=0) * (0.5 * (ratio[1:] + ratio[:-1]))[:, None]
    root = motion.root[0] * [ratio[0], 1.0, ratio[0]] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    root[:, 1] = floor.height + ratio * (motion.root[:, 1] - floor.height)
    return replace(motion, skeleton=target, root=root, offsets=offsets, name=target.name)


def check_structure(source: Skeleton, target: Skeleton) -> None:
    """Refuse a target whose joints or hierarchy differ from the source's."""
    if not same_structure(source, target):
        missing = [name for name in source.names if name not in target.index]
        extra = [name for name in target.names if name not in source.index]
        raise SkeletonError(
            f"The target is built differently: it lacks {missing[:4] or 'nothing'}, has {extra[:4] or 'nothing'} "
            "besides, or its joints hang together in another way"
        )


def pair_same_names(source: Skeleton, target: Skeleton) -> Correspondence:
    """The map that pairs each joint with the joint of the same name."""
    pairs = [Pair(source=(name,), target=(name,), reason="the same joint") for name in source.names]
    return Correspondence(source=source, target=target, pairs=tuple(pairs))


def from_names(source: Skeleton, target: Skeleton, names: Mapping[str, str | Sequence[str]]) -> Correspondence:
    """The map that pairs each named bone of the source with a bone, or a chain of bones, of the target."""
    pairs = [Pair(source=(bone,), target=(to,) if isinstance(to, str) else tuple(to)) for bone, to in names.items()]
    return Correspondence(source=source, target=target, pairs=tuple(pairs))


@record
class ContactContext:
    """A source, its target, and the floor that they stand on."""

    source: Motion
    target: Skeleton
    floor: Floor
    actor: str = ""
    share: Array | None = None
    """(F,) blend from source (0) to target (1) body at each frame; None for the target body throughout."""
    landing: Landing | None = None
    """Landing points on a target of different structure; None for the same structure."""
    alignment: Alignment | None = None
    """The alignment with a target of different structure; None for the same structure."""
    start: Motion | None = None
    """The source's motion on the target's body before the solve, if available."""
    transferred: Motion | None = None
    """The source's motion on a target of different structure by the alignment alone, if available."""
    feet: Pose | None = None
    """Positions of the joints of the source's feet, if available."""
    contacts: tuple[Contact, ...] = ()
    """The source's contacts, or the landing's, which show the steps that the body stands on."""

    @cached
    def ratio(self) -> float:
        """Ratio of the target's steps to the source's."""
        return leg_ratio(self.source.skeleton, self.target) if self.landing is None else self.landing.ratio

    def size(self, ratio: float, time: float) -> float:
        """A ratio of target to source at a time, for a body that changes."""
        if self.share is None:
            return ratio
        return float(np.interp(time, self.source.times, self.sizes(ratio)))

    def sizes(self, ratio: float) -> Array:
        """A ratio of target to source at every frame (F,), or () if it does not change."""
        return np.array(ratio) if self.share is None else 1.0 + self.share * (ratio - 1.0)

    def point(self, point: Point) -> Point:
        """The corresponding point of the target: its end of that name, else the point scaled with its bones."""
        if self.landing is not None and point.name in self.landing.points:
            return self.landing.points[point.name]
        if self.landing is not None and self.alignment is not None:
            from understudy.correspondence.landing import partner_points

            # A point that another actor touches, or the root if no bone corresponds to the one it is on.
            return [*partner_points(point, self.alignment), self.target.point(self.target.names[0])][0]
        key = point.name, point.joint, point.offset.tobytes()
        if key not in self._points:
            own_end = next((e for e in self.target.ends if e.name == point.name and e.joint == point.joint), None)
            self._points[key] = own_end or replace(point, offset=point.offset * self.bone_ratio(point))
        return self._points[key]

    @cached
    def _points(self) -> dict[tuple[str, str, bytes], Point]:
        """Cache of `point`."""
        return {}

    def bone_ratio(self, point: Point) -> float:
        """Length ratio of the target's bones at a point's joint: the bones below it, else the bone above."""
        if self.landing is not None:
            return self.landing.ratio
        if point.joint not in self._ratios:
            source = self.source.skeleton
            joint = source.joint(point.joint)
            candidates = [list(source.children[joint]), [joint]]
            bones = next((joints for joints in candidates if source.lengths[joints].sum() > 1e-9), None)
            ratio = self.ratio if bones is None else self.target.lengths[bones].sum() / source.lengths[bones].sum()
            self._ratios[point.joint] = float(ratio)
        return self._ratios[point.joint]

    @cached
    def _ratios(self) -> dict[str, float]:
        """Cache of `bone_ratio` by joint."""
        return {}

    @cached
    def _steps(self) -> dict[tuple[str, float], float]:
        """Metres above the floor of what each contact of the source stands on, by the contact's point and start."""
        heights = step_heights(self.source.skeleton, self.contacts, self.floor)
        return {(c.point.name, c.start): height for c, height in zip(self.contacts, heights, strict=True)}

    def step(self, contact: Contact) -> float:
        """Metres above the floor of what a contact of the source stands on: 0 for the floor."""
        return self._steps.get((contact.point.name, contact.start), 0.0)

    def rise(self, contact: Contact) -> float:
        """Metres above the floor of a contact's point on the target. Steps scale with the legs, feet with the feet."""
        assert contact.place is not None
        height = float(contact.place[1] - self.floor.heights(contact.place))
        step = self.step(contact)
        if self.landing is not None and contact.point.name in self.landing.rises:
            source_rise, target_rise = self.landing.rises[contact.point.name]
            above = step if np.isnan(source_rise) else height - source_rise
            return target_rise + self.ratio * above
        time = 0.5 * (contact.start + contact.end)
        return step * self.size(self.ratio, time) + (height - step) * self.size(self.bone_ratio(contact.point), time)
