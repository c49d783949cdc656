"""Steps of an analogy: B's feet are down when the feet of A that they move with are, and its way is scaled to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.figure.contacts import Contact
from understudy.figure.floor import leg_ratio
from understudy.figure.kinematics import fk
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import meet
from understudy.figure.skeleton import Point, Skeleton


@dataclass(frozen=True, kw_only=True)
class Tempo:
    """When things that happen at some seconds of the source happen in the result."""

    source: tuple[float, ...]
    """Seconds of A's new motion, rising."""
    result: tuple[float, ...]
    """Seconds of the result, rising, as many."""

    def __post_init__(self) -> None:
        pairs = len(self.source) == len(self.result) >= 2
        if not pairs or not all(np.all(np.diff(side) > 0.0) for side in (self.source, self.result)):
            raise OptionError(
                "A tempo needs two moments or more, rising in both motions; "
                f"got {list(self.source)} s to be at {list(self.result)} s"
            )

    @staticmethod
    def factor(speed: float, duration: float) -> Tempo:
        """The whole motion faster (above 1) or slower."""
        if not (np.isfinite(speed) and speed > 0.0):
            raise OptionError(f"Expected a speed above zero, got {speed}")
        return Tempo(source=(0.0, duration), result=(0.0, duration / speed))

    def sources(self, times: Array) -> Array:
        """(N,) seconds of the source shown at seconds of the result; smooth, and at one speed beyond the moments."""
        return _curve(np.array(self.result), np.array(self.source), times)

    def times(self, fps: float) -> Array:
        """(F,) seconds of the frames of the result, from its first moment to its last."""
        first, last = self.result[0], self.result[-1]
        return first + np.arange(int(np.floor((last - first) * fps + 1e-6)) + 1) / fps

    def contacts(self, contacts: Sequence[Contact]) -> tuple[Contact, ...]:
        """Contacts of the source at the times they have in the result, counted from its first moment."""
        source, result = np.array(self.source), np.array(self.result)
        moved = []
        for contact in contacts:
            start, end = np.clip([contact.start, contact.end], source[0], source[-1])
            if start < end:
                at = _inverse(source, result, np.array([start, end])) - result[0]
                moved.append(replace(contact, start=float(at[0]), end=float(at[1])))
        return tuple(moved)


def _curve(at: Array, values: Array, times: Array) -> Array:
    """A monotone smooth curve through values, straight between two only."""
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(at, values)(np.clip(times, at[0], at[-1]))


def _inverse(source: Array, result: Array, wanted: Array) -> Array:
    """When in the result seconds of the source are shown."""
    fine = np.linspace(result[0], result[-1], 4001)
    return np.interp(wanted, _curve(result, source, fine), fine)


def read_course(course: Array, fps: float, times: Array) -> Array:
    """(N, ...) an eigenmotion, path or heading (F, ...) between its frames, at given seconds."""
    from scipy.interpolate import CubicSpline

    frames = np.clip(times * fps, 0.0, len(course) - 1.0)
    return (
        CubicSpline(np.arange(len(course)), course, axis=0)(frames)
        if len(course) > 1
        else np.repeat(course, len(times), 0)
    )


ONE_FOOT = 0.45
"""Leg lengths of bone up to where two points of one foot may meet."""

TOGETHER = 0.3
"""Correlation of their movement below which a foot of B goes with none of A's."""

HIGH = 0.3
"""Leg lengths above the lowest feet from which on a foot does not stand."""

HANGING = 0.15
"""Leg lengths above the floor from which on a foot does not come down for a single stand."""

GAP = 0.05
"""Seconds between two stands of a foot that are one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Stepping:
    """When and where B's feet stand, and how it goes."""

    motion: Motion
    """B's motion on its way, feet about on the floor."""
    contacts: tuple[Contact, ...]
    """B's, timed by A's."""
    ratio: float
    """Metres that B goes for each metre of A."""
    partners: dict[str, str]
    """Which foot of A each foot of B goes with, by the first point of each."""
    notes: tuple[str, ...] = ()


def feet_of(skeleton: Skeleton, points: Sequence[Point]) -> list[list[Point]]:
    """Points that stand, foot by foot: those of a foot meet close to both."""
    leg = leg_length(skeleton)
    found: list[list[Point]] = []
    for point in points:
        joint = skeleton.joint(point.joint)
        for foot in found:
            other = skeleton.joint(foot[0].joint)
            top = meet(skeleton, joint, other)
            ways = [skeleton.lengths[skeleton.chain(j)[len(skeleton.chain(top)) :]].sum() for j in (joint, other)]
            if max(ways) <= ONE_FOOT * leg:
                foot.append(point)
                break
        else:
            found.append([point])
    return found


def rises(motion: Motion, points: Sequence[Point]) -> dict[str, float]:
    """Metres above the ground at which points stand, by name: the lowest of a foot, its tips included, is on it.

    A joint of the toes stands as high as the sole is thick. Below an animal's paws rigs hang joints of all sorts, which
    are no part of the body.
    """
    skeleton = motion.skeleton
    tips: list[Point] = []
    if points and is_humanoid(skeleton):
        below = np.any([skeleton.below(skeleton.joint(point.joint)) for point in points], axis=0)
        tips = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
    heights = np.percentile(fk(motion).points([*points, *tips])[..., 1], 5, axis=0)
    return {point.name: float(h - heights.min()) for point, h in zip(points, heights, strict=False)}


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
) -> Stepping:
    """Time B's contacts by A's, put B on the floor, and scale its way.

    Args:
        motion: B's motion on A's way, unscaled.
        source: A's motion.
        contacts: A's contacts.
        points: What B may stand on.
        level: B's and A's motions without their courses.
        wanted: (F, 3) movement that the matched markers ask of B's joints, by joint name; the movement made where none.
        floor: Height of the floor, metres.
        rises: How high above the floor B's points stand, metres, by name; 0 where not known.
        travel: "feet": as far as the feet push; "legs": by leg length; or metres for each metre of A.
    """
    pairs, notes = _paired(points, source.skeleton, contacts, level, wanted)
    legs = leg_ratio(source.skeleton, motion.skeleton)
    local = fk(replace(motion, root=np.zeros_like(motion.root))).points(points)
    down = _timed(pairs, contacts)
    standing = _standing(points, down, local, rises, motion, source, legs)
    high = [point.name for point in points if down.get(point.name) and point.name not in standing]
    if high:
        notes.append(f"{', '.join(f'`{name}`' for name in high)}: too high to stand; not planted.")
    down = {name: spans for name, spans in down.items() if name in standing}
    ratio = (
        _ratio(points, down, local, source, legs) if travel == "feet" else legs if travel == "legs" else float(travel)
    )
    placed = _placed(motion, source, points, down, local, rises, ratio, legs, floor)
    planted, hanging = _planted(placed, points, down, rises, floor)
    if hanging:
        notes.append(f"{hanging} of {hanging + len(planted)} stands are too high to come down: not planted.")
    return Stepping(
        motion=placed,
        contacts=tuple(sorted(planted, key=lambda contact: contact.start)),
        ratio=ratio,
        partners={foot[0].name: theirs[0].name for foot, theirs in pairs},
        notes=tuple(notes),
    )


def _planted(
    motion: Motion, points: Sequence[Point], down: dict[str, list[Contact]], rises: dict[str, float], floor: float
) -> tuple[list[Contact], int]:
    """B's contacts where its feet are while they should be down, and how many are too high up for that."""
    made = fk(motion).points(points)
    planted: list[Contact] = []
    hanging = 0
    for column, point in enumerate(points):
        ground = floor + rises.get(point.name, 0.0)
        for span in down.get(point.name, ()):
            path = made[span.frames(motion.fps, motion.num_frames), column]
            if len(path) and path[:, 1].min() - ground > HANGING * leg_length(motion.skeleton):
                hanging += 1
            elif len(path):
                place = np.median(path, axis=0)
                place[1] = ground
                planted.append(replace(span, point=point, place=place))
    return planted, hanging


def _paired(
    points: Sequence[Point],
    skeleton: Skeleton,
    contacts: Sequence[Contact],
    level: tuple[Motion, Motion],
    wanted: dict[str, Array],
) -> tuple[list[tuple[list[Point], list[Point]]], list[str]]:
    """Each foot of B with the foot of A whose movement its matched markers follow most."""
    theirs = feet_of(skeleton, list({c.point.name: c.point for c in contacts if c.on == "floor"}.values()))
    pairs, alone = [], []
    mine, other = fk(level[0]), fk(level[1])
    paths = [_about_mean(other.points(foot).mean(axis=1)) for foot in theirs]
    for foot in feet_of(level[0].skeleton, points):
        path = _wanted(foot, level[0].skeleton, wanted)
        path = _about_mean(mine.points(foot).mean(axis=1)) if path is None else _about_mean(path)
        likeness = [_together(path, each) for each in paths]
        if likeness and max(likeness) >= TOGETHER:
            pairs.append((_sorted(foot, level[0]), _sorted(theirs[int(np.argmax(likeness))], level[1])))
        else:
            alone.append(foot[0].name)
    said = (
        [f"{', '.join(f'`{name}`' for name in alone)}: moves with no foot of the source; not planted."] if alone else []
    )
    return pairs, said


def _wanted(foot: Sequence[Point], skeleton: Skeleton, wanted: dict[str, Array]) -> Array | None:
    """(F, 3) the movement asked of a foot's joint, or of the one above it, if there is a matched marker."""
    chain = [skeleton.names[j] for j in reversed(skeleton.chain(skeleton.joint(foot[0].joint)))]
    return next((wanted[name] for name in chain[:2] if name in wanted), None)


def _about_mean(path: Array) -> Array:
    return path - path.mean(axis=0)


def _together(a: Array, b: Array) -> float:
    """The correlation of two movements (F, 3), all axes together."""
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / size if size > 1e-12 else 0.0


def _timed(pairs: list[tuple[list[Point], list[Point]]], contacts: Sequence[Contact]) -> dict[str, list[Contact]]:
    """When each point of B is down: heel with heel and toe with toe, or with either for a foot of one point."""
    down: dict[str, list[Contact]] = {}
    for foot, theirs in pairs:
        for rank, point in enumerate(foot):
            chosen = {p.name for p in theirs}
            if len(foot) > 1 and len(theirs) > 1:
                chosen = {theirs[round(rank * (len(theirs) - 1) / (len(foot) - 1))].name}
            down[point.name] = _joined([c for c in contacts if c.point.name in chosen and c.on == "floor"])
    return down


def _sorted(foot: Sequence[Point], level: Motion) -> list[Point]:
    """The points of a foot from heel to toe, in a motion that goes along +Z."""
    ahead = fk(level).points(foot)[..., 2].mean(axis=0)
    return [foot[i] for i in np.argsort(ahead)]


def _joined(contacts: Sequence[Contact]) -> list[Contact]:
    """Contacts in order, those that touch or overlap in time made one."""
    out: list[Contact] = []
    for contact in sorted(contacts, key=lambda c: c.start):
        if out and contact.start <= out[-1].end + GAP:
            out[-1] = replace(out[-1], end=max(out[-1].end, contact.end))
        else:
            out.append(contact)
    return out


def _during(spans: Sequence[Contact], motion: Motion) -> np.ndarray:
    """(F,) True while any of the contacts holds."""
    held = np.zeros(motion.num_frames, bool)
    for span in spans:
        held[span.frames(motion.fps, motion.num_frames)] = True
    return held


def _standing(
    points: Sequence[Point],
    down: dict[str, list[Contact]],
    local: Array,
    rises: dict[str, float],
    motion: Motion,
    source: Motion,
    ratio: float,
) -> set[str]:
    """The points that are low enough while they should stand."""
    heights = local[..., 1] + ratio * (source.root[:, 1] - source.root[:, 1].mean())[:, None]
    typical = {
        point.name: float(np.median(heights[held, i])) - rises.get(point.name, 0.0)
        for i, point in enumerate(points)
        if (held := _during(down.get(point.name, ()), motion)).any()
    }
    lowest = min(typical.values(), default=0.0)
    return {name for name, at in typical.items() if at - lowest <= HIGH * leg_length(motion.skeleton)}


def _ratio(points: Sequence[Point], down: dict[str, list[Contact]], local: Array, source: Motion, legs: float) -> float:
    """How far B goes for each metre of A so that feet on the floor push back as little as possible."""
    if source.num_frames < 2:
        return legs
    going = np.gradient(source.root, axis=0)[:, [0, 2]]
    pushed, gone = 0.0, 0.0
    for i, point in enumerate(points):
        held = _during(down.get(point.name, ()), source)
        back = np.gradient(local[:, i], axis=0)[:, [0, 2]]
        pushed -= float(np.sum(going[held] * back[held]))
        gone += float(np.sum(going[held] ** 2))
    return float(np.clip(pushed / gone, 0.2 * legs, 5.0 * legs)) if gone > 1e-9 else legs


def _placed(
    motion: Motion,
    source: Motion,
    points: Sequence[Point],
    down: dict[str, list[Contact]],
    local: Array,
    rises: dict[str, float],
    ratio: float,
    legs: float,
    floor: float,
) -> Motion:
    """B's motion with its way scaled about the start and its feet on the floor."""
    root = source.root[:1] + ratio * (source.root - source.root[:1])
    bob = legs * (source.root[:, 1] - source.root[:, 1].mean())
    wanted, lowest = [], local[..., 1].min() if len(points) else 0.0
    for i, point in enumerate(points):
        held = _during(down.get(point.name, ()), motion)
        wanted += list(floor + rises.get(point.name, 0.0) - local[held, i, 1] - bob[held])
    root[:, 1] = bob + (float(np.median(wanted)) if wanted else floor - float(lowest))
    return replace(motion, root=root)
