"""On what a body of few freedoms stands: which of the source's contacts its points can keep.

Two points of one rigid part stand together only if the body stands still. While a walker, who has both feet down,
moves on, such a body tips over from one point to the other: at the middle of that time both are down, for an instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from understudy.body import leg_length
from understudy.contacts import Contact
from understudy.driving.points import BOTTOM, Feature
from understudy.geometry.quaternion import Array
from understudy.motion import Motion
from understudy.skeleton import NUM_AXES, Point, Skeleton

NEAR = 0.5
"""Leg lengths along the bones within which a contact belongs to a feature."""
STILL = 0.25
"""Leg lengths a second, over the floor, below which a body that has both feet down stands."""
GAP = 0.06
"""Seconds that a foot may seem to be off the floor between two contacts of one stance: from heel to ball."""


def supports(
    features: Sequence[Feature],
    motion: Motion,
    contacts: Sequence[Contact],
    target: Skeleton,
    centre: Array,
) -> tuple[tuple[Contact, ...], tuple[str, ...]]:
    """The contacts that the target's points keep, and what is to be said about the others.

    Args:
        features: Which points follow what.
        motion: The source's.
        contacts: Its contacts.
        target: The body that is driven.
        centre: (F, 3) metres, world: the way of the source's middle.
    """
    standing = tuple(feature for feature in features if feature.part != BOTTOM)
    down, notes = _down(standing, motion, contacts)
    speed = np.linalg.norm(np.gradient(centre[:, [0, 2]], axis=0), axis=-1) if len(centre) > 1 else np.zeros(1)
    still = speed * motion.fps < STILL * leg_length(motion.skeleton)
    tipped = 0
    for group in _rigid_groups(target, standing):
        down[:, group], changed = tipping(down[:, group], still)
        tipped += changed
    if tipped:
        notes.append(
            f"{tipped} times both feet are down while the body moves on: a rigid body tips over from one point to "
            "the other in the middle of that time"
        )
    kept = [
        Contact(point=feature.target, start=first / motion.fps, end=last / motion.fps)
        for column, feature in zip(down.T, standing, strict=True)
        for first, last in _runs(column)
    ]
    return tuple(sorted(kept, key=lambda contact: contact.start)), tuple(notes)


def _down(features: Sequence[Feature], motion: Motion, contacts: Sequence[Contact]) -> tuple[np.ndarray, list[str]]:
    """When (F, P) the source stands on each feature, and which contacts belong to none."""
    down = np.zeros((motion.num_frames, len(features)), bool)
    lost: list[str] = []
    for contact in contacts:
        which = _feature_of(contact, features, motion.skeleton)
        if which is None:
            lost.append(contact.point.name)
        else:
            down[contact.frames(motion.fps, motion.num_frames), which] = True
    for column in down.T:
        _close(column, round(GAP * motion.fps))
    if not lost:
        return down, []
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(lost))
    return down, [f"{len(lost)} contacts of {names} are not kept: no point of the target stands there for them"]


def _feature_of(contact: Contact, features: Sequence[Feature], skeleton: Skeleton) -> int | None:
    """The feature that a contact with the floor belongs to: the nearest along the bones."""
    if contact.on != "floor" or contact.place is None:
        return None
    away = [
        min((_way(skeleton, contact.point, point) for point in feature.source), default=np.inf) for feature in features
    ]
    if not away or min(away) > NEAR * leg_length(skeleton):
        return None
    return int(np.argmin(away))


def _way(skeleton: Skeleton, first: Point, second: Point) -> float:
    """Metres along the bones from one point to another."""
    if first.joint == second.joint:
        return float(np.linalg.norm(first.offset - second.offset))
    a, b = (skeleton.chain(skeleton.index[point.joint]) for point in (first, second))
    apart = set(a) ^ set(b)
    return float(sum(skeleton.lengths[j] for j in apart) + sum(np.linalg.norm(p.offset) for p in (first, second)))


def _rigid_groups(target: Skeleton, features: Sequence[Feature]) -> list[list[int]]:
    """Features whose target points cannot move against each other, together."""
    groups: dict[int, list[int]] = {}
    for number, feature in enumerate(features):
        joint = target.index[feature.target.joint]
        while joint > 0 and NUM_AXES[target.kinds[joint]] == 0:
            joint = int(target.parents[joint])
        groups.setdefault(joint, []).append(number)
    return list(groups.values())


def tipping(down: np.ndarray, still: np.ndarray) -> tuple[np.ndarray, int]:
    """Which points (F, P) of a rigid body stay down, of those that would be, and how often one tips to another.

    Args:
        down: (F, P) the points that are down.
        still: (F,) whether the body stands still: then all that are down stay so.
    """
    kept, tipped = down.copy(), 0
    for first, last, together in _together(down):
        before = together & down[first - 1] if first > 0 else np.zeros_like(together)
        after = together & down[last + 1] if last + 1 < len(down) else np.zeros_like(together)
        if not before.any() and not after.any():
            continue
        # Where a motion begins or ends with both feet down, it is the other foot that the weight comes from or goes to.
        before = before if before.any() else together & ~after
        after = after if after.any() else together & ~before
        runs = [(first + a, first + b) for a, b in _runs(still[first : last + 1])]
        rest = max(runs, key=lambda run: run[1] - run[0], default=None)
        begin, end = rest or ((first + last) // 2,) * 2
        kept[first : last + 1] = False
        if np.array_equal(before, after):
            kept[first : last + 1] |= before
            if rest is not None:
                kept[begin : end + 1] |= together
        else:
            kept[first : end + 1] |= before
            kept[begin : last + 1] |= after
        tipped += rest is None
    return kept, tipped


def _together(down: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """First and last frames of the spans with several points down, the same ones throughout, and which."""
    changes = np.flatnonzero(np.any(down[1:] != down[:-1], axis=1)) + 1
    edges = [0, *changes.tolist(), len(down)]
    for first, after in pairwise(edges):
        if down[first].sum() > 1:
            yield first, after - 1, down[first]


def _close(down: np.ndarray, gap: int) -> None:
    """Fill gaps of so many frames at most between frames that are down, in place."""
    runs = _runs(down)
    for (_, before), (after, _) in pairwise(runs):
        if after - before - 1 <= gap:
            down[before:after] = True


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last frames of the spans in which a mask (F,) is True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
