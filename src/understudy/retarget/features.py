"""On what a body of few freedoms stands: which of the source's contacts its points can keep.

Two points of one rigid part stand together only if the body stands still. While a walker, who has both feet down,
moves on, such a body tips over from one point to the other: at the middle of that time both are down, for an instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from understudy.base.errors import UnknownNameError
from understudy.base.quaternion import Array, unrotate
from understudy.correspondence.pairs import CorrespondenceError, PointPair
from understudy.figure.contacts import Contact, contact_points
from understudy.figure.kinematics import Pose, locate
from understudy.figure.measures import extent, feet, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, side, words
from understudy.figure.skeleton import NUM_AXES, Point, Skeleton

LEFT, RIGHT, BOTTOM, CENTRE, TOP = "left", "right", "bottom", "centre", "top"
"""Parts that a feature can stand for; the foot of a body that has but one is its bottom."""

MIDDLE = {"centre", "center", "middle", "hips", "pelvis", "centroid"}
"""Words that name the middle of a body."""

ASIDE = 0.05
"""Share of a body's size that two points must lie apart for one to be on its left and one on its right."""

LOW = 0.1
"""Share of a body's height above its lowest point up to which it stands on a point."""

FEET = frozenset({"foot", "feet", "heel", "sole", "paw"})
"""Words that make a point a foot, whatever else of a side is as low."""

FLAT = 0.2
"""Height of a body, as a share of how far it spreads over the floor, below which it lies."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Feature:
    """A point of the target, and the points of the source whose middle it follows."""

    source: tuple[Point, ...]
    target: Point
    part: str = ""
    """Which of the parts above it is, if it can be told."""

    @property
    def label(self) -> str:
        return f"{' + '.join(point.name for point in self.source)} -> {self.target.name}"

    def path(self, pose: Pose) -> Array:
        """(F, 3) metres, world: where the middle of its source's points is."""
        return pose.points(self.source).mean(axis=1)


def rest_places(skeleton: Skeleton, points: Sequence[Point]) -> Array:
    """(P, 3) metres, world: points in the rest pose."""
    positions, rotations = skeleton.rest_world
    return Pose(skeleton=skeleton, positions=positions[None], rotations=rotations[None]).points(points)[0]


def given_features(source: Skeleton, target: Skeleton, points: Sequence[PointPair]) -> tuple[Feature, ...]:
    """The features that a user names."""
    if not points:
        raise CorrespondenceError(
            "No points correspond: the list of point pairs is empty",
            hint="give at least one PointPair(source=..., target=...), or none at all to have them chosen",
        )
    taken: dict[str, PointPair] = {}
    found = []
    for pair in points:
        if pair.target in taken:
            raise CorrespondenceError(
                f"`{pair.target}` of the target is to follow both `{taken[pair.target].source}` and `{pair.source}`",
                hint="take it out of one of the pairs",
            )
        taken[pair.target] = pair
        mine = []
        for which, skeleton, name in (("source", source, pair.source), ("target", target, pair.target)):
            try:
                mine.append(skeleton.point(name))
            except UnknownNameError as error:
                raise UnknownNameError(f"Points `{pair.source}` -> `{pair.target}`, {which}: {error.message}") from None
        found.append(Feature(source=(mine[0],), target=mine[1], part=_part(source, mine[0])))
    return tuple(found)


def _part(source: Skeleton, point: Point) -> str:
    """The part that a point of the source is, by the roles of its joints."""
    found, joint = roles(source), source.index[point.joint]
    for which in (LEFT, RIGHT):
        foot = found.get(f"{which}_foot")
        if foot is not None and source.below(foot)[joint]:
            return which
    return CENTRE if joint == found.get("hips") else ""


def chosen_features(motion: Motion, target: Skeleton) -> tuple[Feature, ...]:
    """Features by themselves: feet to the lowest points of the sides, hips to the middle [Gleicher98, fig. 11].

    A target without sides stands on one point, which follows the middle between the feet, and its top follows the
    head.
    """
    source = motion.skeleton
    left, right = _sole(motion, LEFT), _sole(motion, RIGHT)
    if not (left and right):
        raise CorrespondenceError(
            f"Neither names nor the rest pose tell a left and a right foot of the source{_called(source)}",
            hint="give the points that correspond: points=[PointPair(source=..., target=...), ...]",
        )
    centre = Feature(source=(hip_centre(source),), target=middle_point(target), part=CENTRE)
    sides = _sides(target)
    if sides is not None:
        return (
            Feature(source=left, target=sides[0], part=LEFT),
            Feature(source=right, target=sides[1], part=RIGHT),
            centre,
        )
    size = extent(target)
    if size[1] < FLAT * max(size[0], size[2]):
        raise CorrespondenceError(
            f"Nothing on the target{_called(target)} can be told to stand for feet or hips: it lies flat, and no "
            f"point of it is on a left or right; it has {_listed(target)}",
            hint="give the points that correspond: points=[PointPair(source='Hips', target='...'), ...]",
        )
    found = [Feature(source=left + right, target=_joined(target, stands_on(target), BOTTOM), part=BOTTOM), centre]
    crown = crown_point(source)
    if crown is not None:
        found.append(Feature(source=(crown,), target=top_point(target), part=TOP))
    return tuple(found)


def _called(skeleton: Skeleton) -> str:
    return f" `{skeleton.name}`" if skeleton.name else ""


def _listed(skeleton: Skeleton) -> str:
    names = [f"`{point.name}`" for point in tips(skeleton)]
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def tips(skeleton: Skeleton) -> tuple[Point, ...]:
    """The ends of a body, its leaf joints that carry none, and its root."""
    ended = {end.joint for end in skeleton.ends}
    leaves = [
        skeleton.point(name)
        for joint, (name, children) in enumerate(zip(skeleton.names, skeleton.children, strict=True))
        if (not children or joint == 0) and name not in ended
    ]
    return (*skeleton.ends, *leaves)


def stands_on(skeleton: Skeleton) -> tuple[Point, ...]:
    """The points a body stands on: its feet, else what of its tips lies lowest in the rest pose."""
    if any(f"{which}_foot" in roles(skeleton) for which in (LEFT, RIGHT)):
        return feet(skeleton)
    return tuple(_lowest(skeleton, tips(skeleton), LOW))


def _sole(motion: Motion, which: str) -> tuple[Point, ...]:
    """The heel and ball of a foot: its middle stays below the ankle, and is lifted as the foot rolls off."""
    skeleton = motion.skeleton
    foot = roles(skeleton).get(f"{which}_foot")
    if foot is None:
        return _sole_by_place(skeleton, which)
    below = skeleton.below(foot)
    return tuple(point for point in contact_points(motion) if below[skeleton.index[point.joint]])


def _sole_by_place(skeleton: Skeleton, which: str) -> tuple[Point, ...]:
    """Of the points that a body without feet by name stands on, the one of a side that is nearest to the hips."""
    low = _by_side(skeleton)
    if low is None:
        return ()
    points = low[0 if which == LEFT else 1]
    away = rest_places(skeleton, points) - rest_places(skeleton, [hip_centre(skeleton)])
    return (points[int(np.argmin(np.linalg.norm(away[:, [0, 2]], axis=-1)))],)


def hip_centre(skeleton: Skeleton) -> Point:
    """The middle between the hip joints, moving with the hips; the root where names tell none."""
    found = roles(skeleton)
    hips = found.get("hips", 0)
    name = skeleton.names[hips]
    uppers = [found[key] for key in ("left_upper_leg", "right_upper_leg") if key in found]
    if len(uppers) < 2 or not all(skeleton.below(hips)[upper] for upper in uppers):
        return skeleton.point(name)
    positions, rotations = skeleton.rest_world
    offset = unrotate(rotations[hips], positions[uppers].mean(axis=0) - positions[hips])
    return Point(name=f"{name}_centre", joint=name, offset=offset)


def crown_point(skeleton: Skeleton) -> Point | None:
    """The top of the head, else of the neck; None where names tell neither."""
    found = roles(skeleton)
    head = found.get("head", found.get("neck"))
    if head is None:
        return None
    ends = [end for end in skeleton.ends if skeleton.index[end.joint] == head]
    return max(ends, key=lambda end: float(np.linalg.norm(end.offset)), default=skeleton.point(skeleton.names[head]))


def top_point(skeleton: Skeleton) -> Point:
    """The highest end in the rest pose, or the middle of those that are equally high on one joint."""
    every = tips(skeleton)
    heights = rest_places(skeleton, every)[:, 1]
    high = heights.max() - 1e-3 * max(float(extent(skeleton)[1]), 1e-9)
    return _joined(skeleton, [tip for tip, height in zip(every, heights, strict=True) if height >= high], TOP)


def middle_point(skeleton: Skeleton) -> Point:
    """The point that names say is the middle, else the middle of the rest pose, moving with the joint nearest to it."""
    named = [end for end in skeleton.ends if MIDDLE & set(words(end.name))]
    if named:
        return named[0]
    if "hips" in roles(skeleton):
        return hip_centre(skeleton)
    positions, rotations = skeleton.rest_world
    every = np.concatenate([positions, skeleton.rest_ends])
    middle = 0.5 * (every.min(axis=0) + every.max(axis=0))
    joint = int(np.argmin(np.linalg.norm(positions - middle, axis=-1)))
    return Point(name=CENTRE, joint=skeleton.names[joint], offset=unrotate(rotations[joint], middle - positions[joint]))


def _sides(skeleton: Skeleton) -> tuple[Point, Point] | None:
    """The lowest points of the left and of the right side, one each."""
    low = _by_side(skeleton)
    if low is None:
        return None
    left, right = (_joined(skeleton, _lowest(skeleton, points), name) for points, name in zip(low, (LEFT, RIGHT)))
    return left, right


def _by_side(skeleton: Skeleton) -> tuple[list[Point], list[Point]] | None:
    """What a body stands on at its left and at its right, by names, else by where it lies in the rest pose."""
    low = stands_on(skeleton)
    if len(low) < 2:
        return None
    named = [[p for p in low if which in (side(p.name), side(p.joint))] for which in (LEFT, RIGHT)]
    called = [[p for p in points if FEET & set(words(p.name))] for points in named]
    for points in (called, named):
        if points[0] and points[1]:
            return points[0], points[1]
    across = rest_places(skeleton, low)[:, 0]
    near = ASIDE * max(float(extent(skeleton).max()), 1e-9)
    if np.ptp(across) < 2.0 * near:
        return None
    lefts = [point for point, x in zip(low, across, strict=True) if x > across.max() - near]
    rights = [point for point, x in zip(low, across, strict=True) if x < across.min() + near]
    return lefts, rights


def _lowest(skeleton: Skeleton, points: Sequence[Point], share: float = 1e-3) -> list[Point]:
    """The points that lie, in the rest pose, within a share of the body's height of the lowest of them."""
    heights = rest_places(skeleton, points)[:, 1]
    limit = heights.min() + share * max(float(extent(skeleton)[1]), 1e-9)
    return [point for point, height in zip(points, heights, strict=True) if height <= limit]


def _joined(skeleton: Skeleton, points: Sequence[Point], name: str) -> Point:
    """The middle of points of one joint; the first of them where they move with several."""
    if len(points) == 1 or len({point.joint for point in points}) > 1:
        return points[0]
    _, offsets = locate(skeleton, points)
    return Point(name=name, joint=points[0].joint, offset=offsets.mean(axis=0))


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
