"""Features: points of a target that follow points of a source, and the contacts that the target's points keep.

Two points of one rigid body are planted together only while the body stands still. A walker travels during double
support. A rigid body then tips from one point to the other, and both are down only for the frame in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from understudy.base.errors import UnknownNameError
from understudy.base.quaternion import Array, unrotate
from understudy.base.records import record
from understudy.correspondence.pairs import CorrespondenceError, PointPair
from understudy.figure.contacts import Contact, contact_points, find_runs
from understudy.figure.kinematics import Pose, locate
from understudy.figure.measures import crown_point, extent, feet, hip_centre, leg_length, rest_positions
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, side, words
from understudy.figure.skeleton import NUM_AXES, Point, Skeleton

LEFT, RIGHT, BOTTOM, CENTRE, TOP = "left", "right", "bottom", "centre", "top"
"""Parts of a body that a feature can represent; a body without sides stands on its bottom."""

CENTRE_WORDS = {"centre", "center", "middle", "hips", "pelvis", "centroid"}
"""Words in a point's name that make it the centre of a body."""

SIDE_TOLERANCE = 0.05
"""Share of a body's largest extent within which a point counts as its leftmost or rightmost."""

MAX_STANDING_HEIGHT = 0.1
"""Share of a body's height above its lowest point up to which it stands on a point."""

FOOT_WORDS = frozenset({"foot", "feet", "heel", "sole", "paw"})
"""Words in a point's name that make it a foot, even if other points of its side are as low."""

MAX_LYING_HEIGHT = 0.2
"""A body lies flat if its height is below this share of its horizontal extent."""


@record
class Feature:
    """A point of the target, and the points of the source whose mean position it follows."""

    source: tuple[Point, ...]
    target: Point
    part: str = ""
    """LEFT, RIGHT, BOTTOM, CENTRE or TOP; empty if unknown."""

    @property
    def label(self) -> str:
        return f"{' + '.join(point.name for point in self.source)} -> {self.target.name}"

    def path(self, pose: Pose) -> Array:
        """(F, 3) metres, world: mean position of the source's points."""
        return pose.points(self.source).mean(axis=1)


def named_features(source: Skeleton, target: Skeleton, points: Sequence[PointPair]) -> tuple[Feature, ...]:
    """Make features from the pairs of points that a user gives."""
    if not points:
        raise CorrespondenceError(
            "No points correspond: the list of point pairs is empty",
            hint="give at least one PointPair(source=..., target=...), or none at all to have them chosen",
        )
    pairs: dict[str, PointPair] = {}
    features = []
    for pair in points:
        if pair.target in pairs:
            raise CorrespondenceError(
                f"`{pair.target}` of the target is to follow both `{pairs[pair.target].source}` and `{pair.source}`",
                hint="take it out of one of the pairs",
            )
        pairs[pair.target] = pair
        pair_points = []
        for which, skeleton, name in (("source", source, pair.source), ("target", target, pair.target)):
            try:
                pair_points.append(skeleton.point(name))
            except UnknownNameError as error:
                raise UnknownNameError(f"Points `{pair.source}` -> `{pair.target}`, {which}: {error.message}") from None
        source_point, target_point = pair_points
        features.append(Feature(source=(source_point,), target=target_point, part=_part(source, source_point)))
    return tuple(features)


def _part(source: Skeleton, point: Point) -> str:
    """The part of the body that a point of the source belongs to, by the roles of the joints."""
    joint_roles, joint = roles(source), source.index[point.joint]
    for which in (LEFT, RIGHT):
        foot = joint_roles.get(f"{which}_foot")
        if foot is not None and source.below(foot)[joint]:
            return which
    return CENTRE if joint == joint_roles.get("hips") else ""


def choose_features(motion: Motion, target: Skeleton) -> tuple[Feature, ...]:
    """Choose features: the lowest point of each side follows a foot, the centre follows the hips [Gleicher98, fig. 11].

    A target without sides stands on one point. That point follows the mean of both feet, and the top follows the head.
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
    if size[1] < MAX_LYING_HEIGHT * max(size[0], size[2]):
        raise CorrespondenceError(
            f"Nothing on the target{_called(target)} can be told to stand for feet or hips: it lies flat, and no "
            f"point of it is on a left or right; it has {_listed(target)}",
            hint="give the points that correspond: points=[PointPair(source='Hips', target='...'), ...]",
        )
    bottom = _mean_point(target, ground_points(target), BOTTOM)
    features = [Feature(source=left + right, target=bottom, part=BOTTOM), centre]
    crown = crown_point(source)
    if crown is not None:
        features.append(Feature(source=(crown,), target=top_point(target), part=TOP))
    return tuple(features)


def _called(skeleton: Skeleton) -> str:
    return f" `{skeleton.name}`" if skeleton.name else ""


def _listed(skeleton: Skeleton) -> str:
    names = [f"`{point.name}`" for point in tips(skeleton)]
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def tips(skeleton: Skeleton) -> tuple[Point, ...]:
    """The end points of a body, its leaf joints without end points, and its root."""
    joints_with_ends = {end.joint for end in skeleton.ends}
    leaves = [
        skeleton.point(name)
        for joint, (name, children) in enumerate(zip(skeleton.names, skeleton.children, strict=True))
        if (not children or joint == 0) and name not in joints_with_ends
    ]
    return (*skeleton.ends, *leaves)


def ground_points(skeleton: Skeleton) -> tuple[Point, ...]:
    """The points a body stands on: its feet, or its lowest tips in the rest pose if it has no feet."""
    if any(f"{which}_foot" in roles(skeleton) for which in (LEFT, RIGHT)):
        return feet(skeleton)
    return tuple(_lowest(skeleton, tips(skeleton), MAX_STANDING_HEIGHT))


def _sole(motion: Motion, which: str) -> tuple[Point, ...]:
    """The heel and ball of a foot: their mean stays below the ankle, and rises as the foot rolls off."""
    skeleton = motion.skeleton
    foot = roles(skeleton).get(f"{which}_foot")
    if foot is None:
        return _sole_by_position(skeleton, which)
    below = skeleton.below(foot)
    return tuple(point for point in contact_points(motion) if below[skeleton.index[point.joint]])


def _sole_by_position(skeleton: Skeleton, which: str) -> tuple[Point, ...]:
    """The sole of a body whose feet have no known names: the ground point of that side nearest to the hips."""
    low = _by_side(skeleton)
    if low is None:
        return ()
    points = low[0 if which == LEFT else 1]
    away = rest_positions(skeleton, points) - rest_positions(skeleton, [hip_centre(skeleton)])
    return (points[int(np.argmin(np.linalg.norm(away[:, [0, 2]], axis=-1)))],)


def top_point(skeleton: Skeleton) -> Point:
    """The highest tip in the rest pose, or the mean of several equally high tips of one joint."""
    candidates = tips(skeleton)
    heights = rest_positions(skeleton, candidates)[:, 1]
    min_height = heights.max() - 1e-3 * max(float(extent(skeleton)[1]), 1e-9)
    top = [tip for tip, height in zip(candidates, heights, strict=True) if height >= min_height]
    return _mean_point(skeleton, top, TOP)


def middle_point(skeleton: Skeleton) -> Point:
    """The end point named as the centre, the hip centre, or the centre of the rest pose fixed to its nearest joint."""
    named = [end for end in skeleton.ends if CENTRE_WORDS & set(words(end.name))]
    if named:
        return named[0]
    if "hips" in roles(skeleton):
        return hip_centre(skeleton)
    positions, rotations = skeleton.rest_world
    corners = np.concatenate([positions, skeleton.rest_ends])
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    joint = int(np.argmin(np.linalg.norm(positions - centre, axis=-1)))
    return Point(name=CENTRE, joint=skeleton.names[joint], offset=unrotate(rotations[joint], centre - positions[joint]))


def _sides(skeleton: Skeleton) -> tuple[Point, Point] | None:
    """The lowest point of the left side, and of the right side."""
    low = _by_side(skeleton)
    if low is None:
        return None
    left, right = (_mean_point(skeleton, _lowest(skeleton, points), name) for points, name in zip(low, (LEFT, RIGHT)))
    return left, right


def _by_side(skeleton: Skeleton) -> tuple[list[Point], list[Point]] | None:
    """The ground points of the left and of the right side: by names, or by position in the rest pose."""
    low = ground_points(skeleton)
    if len(low) < 2:
        return None
    named = [[p for p in low if which in (side(p.name), side(p.joint))] for which in (LEFT, RIGHT)]
    feet_by_side = [[p for p in points if FOOT_WORDS & set(words(p.name))] for points in named]
    for points in (feet_by_side, named):
        if points[0] and points[1]:
            return points[0], points[1]
    across = rest_positions(skeleton, low)[:, 0]
    tolerance = SIDE_TOLERANCE * max(float(extent(skeleton).max()), 1e-9)
    if np.ptp(across) < 2.0 * tolerance:
        return None
    lefts = [point for point, x in zip(low, across, strict=True) if x > across.max() - tolerance]
    rights = [point for point, x in zip(low, across, strict=True) if x < across.min() + tolerance]
    return lefts, rights


def _lowest(skeleton: Skeleton, points: Sequence[Point], share: float = 1e-3) -> list[Point]:
    """The points that are at most a share of the body's height above the lowest of them in the rest pose."""
    heights = rest_positions(skeleton, points)[:, 1]
    limit = heights.min() + share * max(float(extent(skeleton)[1]), 1e-9)
    return [point for point, height in zip(points, heights, strict=True) if height <= limit]


def _mean_point(skeleton: Skeleton, points: Sequence[Point], name: str) -> Point:
    """The mean of points of one joint; the first point if they are on several joints."""
    if len(points) == 1 or len({point.joint for point in points}) > 1:
        return points[0]
    _, offsets = locate(skeleton, points)
    return Point(name=name, joint=points[0].joint, offset=offsets.mean(axis=0))


MAX_CONTACT_DISTANCE_LEGS = 0.5
"""A contact farther than this from a feature's points, along the bones, does not belong to the feature."""

MAX_STILL_SPEED_LEGS_PER_S = 0.25
"""A body with a lower horizontal speed stands still."""

MAX_STANCE_GAP_SECONDS = 0.06
"""Two contacts of a foot with a shorter gap are one stance, which rolls from heel to ball."""


def find_supports(
    features: Sequence[Feature], motion: Motion, contacts: Sequence[Contact], target: Skeleton, centre: Array
) -> tuple[tuple[Contact, ...], tuple[str, ...]]:
    """Find the contacts that the target's points keep, and notes on the others.

    Args:
        features: Which points follow which.
        motion: The source's motion.
        contacts: The source's contacts.
        target: The body that is driven.
        centre: (F, 3) metres, world: path of the source's centre.
    """
    supporting = tuple(feature for feature in features if feature.part != BOTTOM)
    down, notes = _stances(supporting, motion, contacts)
    speed = np.linalg.norm(np.gradient(centre[:, [0, 2]], axis=0), axis=-1) if len(centre) > 1 else np.zeros(1)
    still = speed * motion.fps < MAX_STILL_SPEED_LEGS_PER_S * leg_length(motion.skeleton)
    num_tips = 0
    for group in _rigid_groups(target, supporting):
        down[:, group], group_tips = tip_rigid_body(down[:, group], still)
        num_tips += group_tips
    if num_tips:
        notes.append(
            f"{num_tips} times both feet are down while the body moves on: a rigid body tips over from one point to "
            "the other in the middle of that time"
        )
    supports = [
        Contact(point=feature.target, start=first / motion.fps, end=last / motion.fps)
        for column, feature in zip(down.T, supporting, strict=True)
        for first, last in find_runs(column)
    ]
    return tuple(sorted(supports, key=lambda contact: contact.start)), tuple(notes)


def _stances(features: Sequence[Feature], motion: Motion, contacts: Sequence[Contact]) -> tuple[np.ndarray, list[str]]:
    """(F, P) True while the source stands on a feature's points, and a note on contacts that belong to no feature."""
    down = np.zeros((motion.num_frames, len(features)), bool)
    unmatched: list[str] = []
    for contact in contacts:
        feature = _feature_of(contact, features, motion.skeleton)
        if feature is None:
            unmatched.append(contact.point.name)
        else:
            down[contact.frames(motion.fps, motion.num_frames), feature] = True
    for column in down.T:
        _fill_gaps(column, round(MAX_STANCE_GAP_SECONDS * motion.fps))
    if not unmatched:
        return down, []
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(unmatched))
    return down, [f"{len(unmatched)} contacts of {names} are not kept: no point of the target stands there for them"]


def _feature_of(contact: Contact, features: Sequence[Feature], skeleton: Skeleton) -> int | None:
    """Index of the feature that a contact with the floor belongs to: the nearest one along the bones."""
    if contact.on != "floor" or contact.place is None:
        return None
    distances = [
        min((_distance_along_bones(skeleton, contact.point, point) for point in feature.source), default=np.inf)
        for feature in features
    ]
    if not distances or min(distances) > MAX_CONTACT_DISTANCE_LEGS * leg_length(skeleton):
        return None
    return int(np.argmin(distances))


def _distance_along_bones(skeleton: Skeleton, first: Point, second: Point) -> float:
    """Metres along the bones from one point to another."""
    if first.joint == second.joint:
        return float(np.linalg.norm(first.offset - second.offset))
    chains = [set(skeleton.chain(skeleton.index[point.joint])) for point in (first, second)]
    bones = sum(skeleton.lengths[joint] for joint in chains[0] ^ chains[1])
    return float(bones + sum(np.linalg.norm(point.offset) for point in (first, second)))


def _rigid_groups(target: Skeleton, features: Sequence[Feature]) -> list[list[int]]:
    """Indices of features, grouped so that the target points of a group cannot move relative to each other."""
    groups: dict[int, list[int]] = {}
    for number, feature in enumerate(features):
        joint = target.index[feature.target.joint]
        while joint > 0 and NUM_AXES[target.kinds[joint]] == 0:
            joint = int(target.parents[joint])
        groups.setdefault(joint, []).append(number)
    return list(groups.values())


def tip_rigid_body(down: np.ndarray, still: np.ndarray) -> tuple[np.ndarray, int]:
    """Choose which points of a rigid body stand, where the source stands on several at once.

    Args:
        down: (F, P) True where the source stands on a point.
        still: (F,) True where the body stands still, so that all points that are down stand.

    Returns:
        (F, P) True where a point of the rigid body stands, and how often it tips from one point to another.
    """
    standing, num_tips = down.copy(), 0
    for first, last, together in _multiple_support(down):
        before = together & down[first - 1] if first > 0 else np.zeros_like(together)
        after = together & down[last + 1] if last + 1 < len(down) else np.zeros_like(together)
        if not before.any() and not after.any():
            continue
        # A motion that begins or ends with both feet down shifts its weight from or to the other foot.
        before = before if before.any() else together & ~after
        after = after if after.any() else together & ~before
        runs = [(first + a, first + b) for a, b in find_runs(still[first : last + 1])]
        longest = max(runs, key=lambda run: run[1] - run[0], default=None)
        begin, end = longest or ((first + last) // 2,) * 2
        standing[first : last + 1] = False
        if np.array_equal(before, after):
            standing[first : last + 1] |= before
            if longest is not None:
                standing[begin : end + 1] |= together
        else:
            standing[first : end + 1] |= before
            standing[begin : last + 1] |= after
        num_tips += longest is None
    return standing, num_tips


def _multiple_support(down: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Spans over which the same two or more points are down: first frame, last frame, and the points (P,) as a mask."""
    changes = np.flatnonzero(np.any(down[1:] != down[:-1], axis=1)) + 1
    edges = [0, *changes.tolist(), len(down)]
    for first, after in pairwise(edges):
        if down[first].sum() > 1:
            yield first, after - 1, down[first]


def _fill_gaps(down: np.ndarray, gap: int) -> None:
    """Set a mask (F,) to True, in place, over gaps of at most `gap` frames."""
    for (_, before), (after, _) in pairwise(find_runs(down)):
        if after - before - 1 <= gap:
            down[before:after] = True
