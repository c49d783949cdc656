"""One skeleton for two motions: the body itself where both are of one, else the meta-skeleton of their bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.errors import OptionError
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton
from understudy.symmetry import partners
from understudy.transfer.alignment import Alignment, align
from understudy.transfer.correspondence import Correspondence, Pair, is_chain
from understudy.transition.meta_skeleton import SIDES, Meta, meta_skeleton

SAME = 1e-6
"""Metres, or parts of a unit quaternion, below which two bodies are the same."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shared:
    """How the motions of two bodies come to be on one skeleton."""

    correspondence: Correspondence
    meta: Meta | None
    """None where both are of one body, on which they are already."""
    notes: tuple[str, ...] = ()

    def home(self, which: int, motion: Motion) -> Motion:
        """A motion of the first (0) or second (1) body on the skeleton of both."""
        if self.meta is None:
            return motion
        return (self.meta.from_source, self.meta.from_target)[which](motion)

    def point(self, which: int, point: Point) -> Point:
        """A point of the first or second body on the skeleton of both."""
        return point if self.meta is None else self.meta.point(SIDES[which], point)


def share(first: Motion, second: Motion, given: Correspondence | None, alignment: Alignment | None) -> Shared:
    """Find the skeleton for two motions.

    Args:
        first: The one.
        second: The other.
        given: Which bones correspond; by name where all joints are the same, else suggested if not given.
        alignment: The reference poses in which joint frames agree; found if not given.
    """
    a, b = first.skeleton, second.skeleton
    notes: tuple[str, ...] = ()
    if given is not None and (given.source.names != a.names or given.target.names != b.names):
        raise OptionError(
            f"The map is from `{given.source.name}`, {given.source.num_joints} joints, to `{given.target.name}`, "
            f"{given.target.num_joints}; the transition goes from `{a.name}`, {a.num_joints}, to `{b.name}`, "
            f"{b.num_joints}, and their joints differ",
            hint="a map made for the other direction is turned round by `correspondence.reversed()`",
        )
    if given is None and a.names == b.names and np.array_equal(a.parents, b.parents):
        pairs = tuple(Pair(source=(name,), target=(name,)) for name in a.names)
        given = Correspondence(source=a, target=b, pairs=pairs)
        if one_body(a, b):
            return Shared(correspondence=given, meta=None)
    if given is None:
        from understudy.transfer.suggest import suggest

        given, notes = mergeable(suggest(a, b, source_motion=first, target_motion=second))
    alignment = alignment or standing_alignment(given, first, second)
    return Shared(correspondence=given, meta=meta_skeleton(given, alignment), notes=notes)


def one_body(a: Skeleton, b: Skeleton) -> bool:
    """Whether two skeletons are of one body: the same joints, resting alike, bones and end points alike."""
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and np.allclose(a.rest, b.rest, atol=SAME)
        and np.allclose(a.offsets[1:], b.offsets[1:], atol=SAME)
        and [(end.name, end.joint) for end in a.ends] == [(end.name, end.joint) for end in b.ends]
        and all(np.allclose(x.offset, y.offset, atol=SAME) for x, y in zip(a.ends, b.ends, strict=True))
    )


def mergeable(whole: Correspondence) -> tuple[Correspondence, tuple[str, ...]]:
    """A map without what cannot become one bone, and what was left out, a sentence each.

    Of bones side by side (two toes against one) the first is kept; a pair of the body's two sides (two legs against a
    tail fin) goes, since neither side is more that one than the other.
    """
    kept: list[Pair] = []
    notes = []
    for pair in whole.pairs:
        if all(is_chain(getattr(whole, side), getattr(pair, side)) for side in SIDES):
            kept.append(pair)
            continue
        first = {side: getattr(pair, side) for side in SIDES}
        mirrored = False
        for side in SIDES:
            body: Skeleton = getattr(whole, side)
            if not is_chain(body, first[side]):
                other = partners(body)
                numbers = {body.index[bone] for bone in first[side]}
                mirrored |= any(int(other[j]) != j and int(other[j]) in numbers for j in numbers)
                first[side] = first[side][:1]
        if mirrored and pair is not whole.root:
            notes.append(f"{pair}: bones of two sides cannot become one and are kept apart")
            continue
        kept.append(replace(pair, **first))
        notes.append(f"{pair}: bones side by side cannot become one; only the first is shared")
    return replace(whole, pairs=tuple(kept)), tuple(notes)


def standing_alignment(whole: Correspondence, first: Motion, second: Motion) -> Alignment:
    """Reference poses for a blend: those of `align`; of bodies that stand differently, limbs stand and trunks align.

    A trunk that is turned down by its joints stays straight, and limbs that hang stay hanging.
    """
    found = align(whole, source_motion=first, target_motion=second)
    if not found.stance:
        return found
    other = partners(whole.target)
    middle = {name for joint, name in enumerate(whole.target.names) if other[joint] == joint}
    pairs = [
        replace(pair, align="direction") if pair.align is None and middle.issuperset(pair.target) else pair
        for pair in whole.pairs
    ]
    mixed = replace(whole, pairs=tuple(pairs))
    return replace(align(mixed, source_motion=first, target_motion=second, mode="stance"), correspondence=whole)
