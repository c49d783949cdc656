"""Steps of an analogy: B's feet stand when the matching feet of A stand, and its path is scaled to its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.contacts import Contact, held_frames, leg_ratio
from understudy.figure.kinematics import fk
from understudy.figure.measures import is_humanoid, leg_length, partners
from understudy.figure.motion import Motion
from understudy.figure.roles import meet
from understudy.figure.skeleton import Point, Skeleton


@record(eq=True)
class Tempo:
    """A time warp from the source to the result."""

    source: tuple[float, ...]
    """Seconds of A's new motion, rising."""
    result: tuple[float, ...]
    """The corresponding seconds of the result, rising."""

    def __post_init__(self) -> None:
        pairs = len(self.source) == len(self.result) >= 2
        if not pairs or not all(np.all(np.diff(side) > 0.0) for side in (self.source, self.result)):
            raise OptionError(
                "A tempo needs two times or more, rising in both motions; "
                f"got {list(self.source)} s of the source and {list(self.result)} s of the result"
            )

    @staticmethod
    def factor(speed: float, duration: float) -> Tempo:
        """Speed up the whole motion (above 1) or slow it down."""
        if not (np.isfinite(speed) and speed > 0.0):
            raise OptionError(f"Expected a speed above zero, got {speed}")
        return Tempo(source=(0.0, duration), result=(0.0, duration / speed))

    def sources(self, times: Array) -> Array:
        """(N,) seconds of the source at seconds (N,) of the result, by a smooth curve."""
        return _curve(np.array(self.result), np.array(self.source), times)

    def times(self, fps: float) -> Array:
        """(F,) seconds of the frames of the result, from its first time to its last."""
        first, last = self.result[0], self.result[-1]
        return first + np.arange(int(np.floor((last - first) * fps + 1e-6)) + 1) / fps

    def contacts(self, contacts: Sequence[Contact]) -> tuple[Contact, ...]:
        """Contacts of the source at their times in the result, counted from its first time."""
        source, result = np.array(self.source), np.array(self.result)
        moved = []
        for contact in contacts:
            start, end = np.clip([contact.start, contact.end], source[0], source[-1])
            if start < end:
                times = _inverse(source, result, np.array([start, end])) - result[0]
                moved.append(replace(contact, start=float(times[0]), end=float(times[1])))
        return tuple(moved)


def _curve(knots: Array, values: Array, times: Array) -> Array:
    """A smooth monotone curve through values; a straight line through two."""
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(knots, values)(np.clip(times, knots[0], knots[-1]))


def _inverse(source: Array, result: Array, times: Array) -> Array:
    """Seconds of the result at which seconds of the source occur."""
    samples = np.linspace(result[0], result[-1], 4001)
    return np.interp(times, _curve(result, source, samples), samples)


def read_course(course: Array, fps: float, times: Array) -> Array:
    """(N, ...) an eigenmotion, path or heading (F, ...) interpolated at times (N,), seconds."""
    from scipy.interpolate import CubicSpline

    frames = np.clip(times * fps, 0.0, len(course) - 1.0)
    if len(course) < 2:
        return np.repeat(course, len(times), 0)
    return CubicSpline(np.arange(len(course)), course, axis=0)(frames)


MAX_FOOT_LEGS = 0.45
"""Longest chain of bones from a point of a foot to where it meets another point of that foot."""

MIN_FOOT_CORRELATION = 0.3
"""A foot of B whose movement correlates less with all of A's feet has no partner."""

MAX_STANDING_HEIGHT_LEGS = 0.3
"""A foot that is typically higher above the lowest foot does not stand."""

MAX_STANCE_HEIGHT_LEGS = 0.15
"""A stance in which the foot stays higher above the floor is not planted."""

MIN_ROOM = 0.1
"""Least share of the source's rise and fall that a body makes, however low it hangs."""

MAX_GAP_SECONDS = 0.05
"""Two stances of a foot with a shorter gap are merged."""


@record
class FootPair:
    """A foot of B and the foot of A that it steps with; points from heel to toe."""

    foot: tuple[Point, ...]
    source: tuple[Point, ...]

    @property
    def name(self) -> str:
        """The name of B's foot: that of its first point."""
        return self.foot[0].name


@record
class Stepping:
    """When and where B's feet stand, and how far B travels."""

    motion: Motion
    """B's motion on its path, feet roughly on the floor."""
    contacts: tuple[Contact, ...]
    """B's contacts, timed by A's."""
    ratio: float
    """Metres that B travels per metre of A."""
    pairs: tuple[FootPair, ...]
    """Each foot of B that steps, with the foot of A that it steps with."""
    num_feet: int = 0
    """The number of B's feet, with those that step with no foot of A."""
    notes: tuple[str, ...] = ()

    @property
    def partners(self) -> dict[str, str]:
        """The foot of A for each foot of B, by the names of their first points."""
        return {pair.foot[0].name: pair.source[0].name for pair in self.pairs}


def feet_of(skeleton: Skeleton, points: Sequence[Point]) -> list[list[Point]]:
    """Contact points grouped by foot: the points of a foot are joined by short chains."""
    leg = leg_length(skeleton)
    feet: list[list[Point]] = []
    for point in points:
        joint = skeleton.joint(point.joint)
        for foot in feet:
            other = skeleton.joint(foot[0].joint)
            top = meet(skeleton, joint, other)
            lengths = [skeleton.lengths[skeleton.chain(j)[len(skeleton.chain(top)) :]].sum() for j in (joint, other)]
            if max(lengths) <= MAX_FOOT_LEGS * leg or limb_top(skeleton, point) == limb_top(skeleton, foot[0]):
                foot.append(point)
                break
        else:
            feet.append([point])
    return feet


MIN_LIMB_SHARE = 0.5
"""A limb that is shorter than this share of the longest limb is no leg."""

MAX_TIP_HEIGHT_LEGS = 0.1
"""A tip that comes no nearer to the height of the lowest points does not stand."""


def standing_points(motion: Motion, points: Sequence[Point]) -> tuple[Point, ...]:
    """Points on which a body that is not human stands, on all its legs.

    Names may tell of hind legs only: tips of other limbs that come as low are added. Points that hang on the root by a
    short bone are targets of a rig's inverse kinematics, and no feet.
    """
    skeleton = motion.skeleton
    tips = [*skeleton.ends, *(skeleton.point(n) for j, n in enumerate(skeleton.names) if not skeleton.children[j])]
    tips = [tip for tip in tips if tip.offset.any() or not any(end.joint == tip.joint for end in skeleton.ends)]
    lengths = {limb_top(skeleton, p): limb_length(skeleton, p) for p in [*points, *tips]}
    longest = max((lengths[limb_top(skeleton, p)] for p in points), default=0.0)
    legs = [p for p in points if limb_length(skeleton, p) >= MIN_LIMB_SHARE * longest]
    if not legs:
        return tuple(points)
    low = {p.name: float(np.percentile(h, 5)) for p, h in zip(legs, fk(motion).points(legs)[..., 1].T, strict=True)}
    highest = max(low.values()) + MAX_TIP_HEIGHT_LEGS * leg_length(skeleton)
    covered = {limb_top(skeleton, p) for p in legs}
    for tip in tips:
        top = limb_top(skeleton, tip)
        if top in covered or limb_length(skeleton, tip) < MIN_LIMB_SHARE * longest or top == 0:
            continue
        heights = fk(motion).points([tip])[:, 0, 1]
        if float(np.percentile(heights, 5)) <= highest and np.ptp(heights) > 1e-3 * leg_length(skeleton):
            legs.append(tip)
            covered.add(top)
    return tuple(legs)


def limb_length(skeleton: Skeleton, point: Point) -> float:
    """Metres along the bones from the top of a limb to a point on it."""
    top = limb_top(skeleton, point)
    chain = [j for j in skeleton.chain(skeleton.joint(point.joint)) if skeleton.below(top)[j]][1:]
    return float(skeleton.lengths[chain].sum() + np.linalg.norm(point.offset))


def foot_heights(motion: Motion, foot: Sequence[Point]) -> Array:
    """(F,) metres: the mean height of the points of a foot."""
    return fk(motion).points(foot)[..., 1].mean(axis=1)


def limb_top(skeleton: Skeleton, point: Point) -> int:
    """The joint at the top of the limb that a point is on: the last one below a joint that several limbs leave."""
    long = 0.5 * leg_length(skeleton)
    joint = skeleton.joint(point.joint)
    while (parent := int(skeleton.parents[joint])) >= 0:
        siblings = [child for child in skeleton.children[parent] if child != joint]
        if any(_reach(skeleton, child) > long for child in siblings):
            return joint
        joint = parent
    return joint


def hip_height(motion: Motion, foot: Sequence[Point]) -> float:
    """Mean height of the top of a limb above the lowest heights of its foot, metres."""
    top = fk(motion).positions[:, limb_top(motion.skeleton, foot[0]), 1]
    return float(np.mean(top) - np.percentile(foot_heights(motion, foot), 5))


def _reach(skeleton: Skeleton, joint: int) -> float:
    """Length of the longest chain of bones from a joint's parent down to a leaf, metres."""
    below = [_reach(skeleton, child) for child in skeleton.children[joint]]
    return float(skeleton.lengths[joint]) + max(below, default=0.0)


def standing_heights(motion: Motion, points: Sequence[Point]) -> dict[str, float]:
    """Standing height of points in metres, by name: the lowest point, tips included, is on the ground.

    A toe joint stands as high as the sole is thick. Tips are used on humanoids only: animal rigs have helper joints
    below the paws.
    """
    skeleton = motion.skeleton
    tips: list[Point] = []
    if points and is_humanoid(skeleton):
        below = np.any([skeleton.below(skeleton.joint(point.joint)) for point in points], axis=0)
        tips = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
    heights = np.percentile(fk(motion).points([*points, *tips])[..., 1], 5, axis=0)
    return {point.name: float(height - heights.min()) for point, height in zip(points, heights, strict=False)}


def same_on_both_sides(skeleton: Skeleton, points: Sequence[Point], heights: dict[str, float]) -> dict[str, float]:
    """Heights by name of points; of a point and its partner on the other side both have the lower one."""
    partner = partners(skeleton)
    others: dict[int, list[Point]] = {}
    for point in points:
        others.setdefault(int(partner[skeleton.joint(point.joint)]), []).append(point)
    same = dict(heights)
    for point in points:
        across = others.get(skeleton.joint(point.joint), [])
        size = float(np.linalg.norm(point.offset))
        nearest = min(across, key=lambda other: abs(float(np.linalg.norm(other.offset)) - size), default=point)
        same[point.name] = min(heights[point.name], heights[nearest.name])
    return same


def step(
    motion: Motion,
    source: Motion,
    contacts: Sequence[Contact],
    *,
    points: Sequence[Point],
    level: tuple[Motion, Motion],
    wanted: dict[str, Array],
    floor: float,
    rises: dict[str, float],
    travel: str | float = "feet",
    feet: Sequence[FootPair] = (),
) -> Stepping:
    """Time B's contacts by A's, put B on the floor, and scale its path.

    Args:
        motion: B's motion on A's path, unscaled.
        source: A's motion.
        contacts: A's contacts.
        points: Points on which B may stand.
        level: B's and A's motions without their courses.
        wanted: (F, 3) movement that the matched markers want of B's joints, by joint name. For other joints the actual
            movement is used.
        floor: Height of the floor, metres.
        rises: Standing height of B's points above the floor, metres, by name; 0 if missing.
        travel: "feet": as far as the feet push; "legs": by leg length; or metres per metre of A.
        feet: Which feet step together; found by their movement if not given.
    """
    pairs, notes = (list(feet), []) if feet else _pair_feet(points, source.skeleton, contacts, level, wanted)
    legs = leg_ratio(source.skeleton, motion.skeleton)
    local = fk(replace(motion, root=np.zeros_like(motion.root))).points(points)
    stances = _stances(pairs, contacts)
    vertical = legs * _room(pairs, motion, source, legs)
    standing = _find_standing(points, stances, local, rises, motion, source, vertical)
    too_high = [point.name for point in points if stances.get(point.name) and point.name not in standing]
    if too_high:
        notes.append(f"{', '.join(f'`{name}`' for name in too_high)}: too high to stand; not planted.")
    stances = {name: spans for name, spans in stances.items() if name in standing}
    if travel == "feet":
        ratio = _travel_ratio(points, stances, local, source, legs)
    else:
        ratio = legs if travel == "legs" else float(travel)
    placed = _place_motion(motion, source, points, stances, local, rises, ratio, vertical, floor)
    plants, floating = _plant_feet(placed, points, stances, rises, floor)
    if floating:
        notes.append(f"{floating} of {floating + len(plants)} stances are too high above the floor: not planted.")
    return Stepping(
        motion=placed,
        contacts=tuple(sorted(plants, key=lambda contact: contact.start)),
        ratio=ratio,
        pairs=tuple(pairs),
        num_feet=len(feet_of(motion.skeleton, points)),
        notes=tuple(notes),
    )


def _plant_feet(
    motion: Motion, points: Sequence[Point], stances: dict[str, list[Contact]], rises: dict[str, float], floor: float
) -> tuple[list[Contact], int]:
    """B's contacts at the positions of its feet during their stances, and the number of stances that are too high."""
    positions = fk(motion).points(points)
    plants: list[Contact] = []
    floating = 0
    for column, point in enumerate(points):
        ground = floor + rises.get(point.name, 0.0)
        for span in stances.get(point.name, ()):
            path = positions[span.frames(motion.fps, motion.num_frames), column]
            if len(path) and path[:, 1].min() - ground > MAX_STANCE_HEIGHT_LEGS * leg_length(motion.skeleton):
                floating += 1
            elif len(path):
                place = np.median(path, axis=0)
                place[1] = ground
                plants.append(replace(span, point=point, place=place))
    return plants, floating


def _pair_feet(
    points: Sequence[Point],
    skeleton: Skeleton,
    contacts: Sequence[Contact],
    level: tuple[Motion, Motion],
    wanted: dict[str, Array],
) -> tuple[list[FootPair], list[str]]:
    """Pair each foot of B with the foot of A whose movement its matched markers follow best; notes on the others."""
    source_feet = feet_of(skeleton, list({c.point.name: c.point for c in contacts if c.on == "floor"}.values()))
    pairs, unpaired = [], []
    pose, source_pose = fk(level[0]), fk(level[1])
    paths = [_centred(source_pose.points(foot).mean(axis=1)) for foot in source_feet]
    for foot in feet_of(level[0].skeleton, points):
        path = _wanted_path(foot, level[0].skeleton, wanted)
        path = _centred(pose.points(foot).mean(axis=1)) if path is None else _centred(path)
        scores = [_correlation(path, source_path) for source_path in paths]
        if scores and max(scores) >= MIN_FOOT_CORRELATION:
            source_foot = source_feet[int(np.argmax(scores))]
            pairs.append(FootPair(foot=_sort_points(foot, level[0]), source=_sort_points(source_foot, level[1])))
        else:
            unpaired.append(foot[0].name)
    names = ", ".join(f"`{name}`" for name in unpaired)
    return pairs, [f"{names}: moves with no foot of the source; not planted."] if unpaired else []


def _wanted_path(foot: Sequence[Point], skeleton: Skeleton, wanted: dict[str, Array]) -> Array | None:
    """(F, 3) the wanted movement of a foot's joint or its parent; None if neither has a matched marker."""
    chain = [skeleton.names[j] for j in reversed(skeleton.chain(skeleton.joint(foot[0].joint)))]
    return next((wanted[name] for name in chain[:2] if name in wanted), None)


def _centred(path: Array) -> Array:
    return path - path.mean(axis=0)


def _correlation(a: Array, b: Array) -> float:
    """The correlation of two movements (F, 3), all axes together."""
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / size if size > 1e-12 else 0.0


def _stances(pairs: Sequence[FootPair], contacts: Sequence[Contact]) -> dict[str, list[Contact]]:
    """The stances of each point of B: heel as heel and toe as toe, or as either if a foot has one point."""
    stances: dict[str, list[Contact]] = {}
    for pair in pairs:
        foot, source_foot = pair.foot, pair.source
        for rank, point in enumerate(foot):
            names = {p.name for p in source_foot}
            if len(foot) > 1 and len(source_foot) > 1:
                names = {source_foot[round(rank * (len(source_foot) - 1) / (len(foot) - 1))].name}
            stances[point.name] = _merge_contacts([c for c in contacts if c.point.name in names and c.on == "floor"])
    return stances


def _sort_points(foot: Sequence[Point], level: Motion) -> tuple[Point, ...]:
    """The points of a foot from heel to toe, in a motion with heading +Z."""
    forward = fk(level).points(foot)[..., 2].mean(axis=0)
    return tuple(foot[i] for i in np.argsort(forward))


def _merge_contacts(contacts: Sequence[Contact]) -> list[Contact]:
    """Contacts in order of time, merged if they touch or overlap."""
    merged: list[Contact] = []
    for contact in sorted(contacts, key=lambda c: c.start):
        if merged and contact.start <= merged[-1].end + MAX_GAP_SECONDS:
            merged[-1] = replace(merged[-1], end=max(merged[-1].end, contact.end))
        else:
            merged.append(contact)
    return merged


def _room(pairs: Sequence[FootPair], motion: Motion, source: Motion, legs: float) -> float:
    """Share of the source's rise and fall, in legs, for which a body has room: less than 1 where it hangs low between
    long legs, as a spider does."""
    if not pairs:
        return 1.0
    own = float(np.mean([hip_height(motion, pair.foot) for pair in pairs]))
    source_height = float(np.mean([hip_height(source, pair.source) for pair in pairs]))
    return float(np.clip(own / max(legs * source_height, 1e-6), MIN_ROOM, 1.0))


def _find_standing(
    points: Sequence[Point],
    stances: dict[str, list[Contact]],
    local: Array,
    rises: dict[str, float],
    motion: Motion,
    source: Motion,
    ratio: float,
) -> set[str]:
    """Names of the points that are low enough during their stances."""
    heights = local[..., 1] + ratio * (source.root[:, 1] - source.root[:, 1].mean())[:, None]
    typical = {
        point.name: float(np.median(heights[standing, i])) - rises.get(point.name, 0.0)
        for i, point in enumerate(points)
        if (standing := held_frames(motion, stances.get(point.name, ()))).any()
    }
    lowest = min(typical.values(), default=0.0)
    highest = MAX_STANDING_HEIGHT_LEGS * leg_length(motion.skeleton)
    return {name for name, height in typical.items() if height - lowest <= highest}


def _travel_ratio(
    points: Sequence[Point], stances: dict[str, list[Contact]], local: Array, source: Motion, legs: float
) -> float:
    """Metres that B travels per metre of A so that standing feet slide least."""
    if source.num_frames < 2:
        return legs
    velocity = np.gradient(source.root, axis=0)[:, [0, 2]]
    product, square = 0.0, 0.0
    for i, point in enumerate(points):
        standing = held_frames(source, stances.get(point.name, ()))
        foot_velocity = np.gradient(local[:, i], axis=0)[:, [0, 2]]
        product -= float(np.sum(velocity[standing] * foot_velocity[standing]))
        square += float(np.sum(velocity[standing] ** 2))
    return float(np.clip(product / square, 0.2 * legs, 5.0 * legs)) if square > 1e-9 else legs


def _place_motion(
    motion: Motion,
    source: Motion,
    points: Sequence[Point],
    stances: dict[str, list[Contact]],
    local: Array,
    rises: dict[str, float],
    ratio: float,
    vertical_ratio: float,
    floor: float,
) -> Motion:
    """B's motion with its path scaled about the start and its feet on the floor."""
    root = source.root[:1] + ratio * (source.root - source.root[:1])
    vertical = vertical_ratio * (source.root[:, 1] - source.root[:, 1].mean())
    heights, lowest = [], local[..., 1].min() if len(points) else 0.0
    for i, point in enumerate(points):
        standing = held_frames(motion, stances.get(point.name, ()))
        heights += list(floor + rises.get(point.name, 0.0) - local[standing, i, 1] - vertical[standing])
    root[:, 1] = vertical + (float(np.median(heights)) if heights else floor - float(lowest))
    return replace(motion, root=root)
