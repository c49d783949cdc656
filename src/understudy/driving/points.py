"""Features: which points of a body follow what of another, where bones correspond to nothing [Gleicher98, sec. 8]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.body import extent, feet
from understudy.contacts import contact_points
from understudy.errors import UnknownNameError
from understudy.geometry.quaternion import Array, unrotate
from understudy.kinematics import Pose, locate
from understudy.motion import Motion
from understudy.naming import side, words
from understudy.roles import roles
from understudy.skeleton import Point, Skeleton
from understudy.transfer.correspondence import CorrespondenceError, PointPair

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
