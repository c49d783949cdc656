"""World paths: how much more the main joints jerk, pop and drift than the source's, whatever the contacts say.

Three metrics compare the paths of hips, head, hands, knees and feet in leg lengths of each body: the jerk of whole
paths, frames in which a joint leaves its path at once, and feet that move while the source's stand.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres
from understudy.metrics.comparison import MAIN_PARTS, Comparison, MainPaths

MAX_OWN_SHARE = 1.25
"""Movement, times the source's own at that time, up to which a joint moves as the source's does."""

MIN_FRAMES = 5
"""Fewest frames whose differences are compared."""


@record(eq=True)
class PathMetric(Metric):
    """A metric of the differences of world paths from frame to frame, in leg lengths, beside the source's."""

    order: ClassVar[int]
    """Order of the differences."""
    parts: ClassVar[tuple[str, ...]]
    """Parts of which the bodies must share one."""
    parts_in_words: ClassVar[str]

    def measure(self, case: Comparison) -> Measurement:
        if case.result.num_frames < MIN_FRAMES:
            return self.not_measured("fewer than five frames")
        paths = case.main_paths
        if not paths.has_source:
            return self.not_measured("there is no source to compare with")
        if not paths.joints.columns(*self.parts):
            return self.not_measured(f"the bodies share no {self.parts_in_words} that names tell")
        result, source, carried = (paths.differences(which, self.order) for which in ("result", "source", "carried"))
        assert result is not None
        assert source is not None
        return self.compare(case, paths, result, source, carried)

    @abstractmethod
    def compare(
        self, case: Comparison, paths: MainPaths, result: Array, source: Array, carried: Array | None
    ) -> Measurement:
        """Compare differences (F - order, K) of the result with the source's and with those before the solve."""


GRADED_PARTS = ("hips", "head", "hand", "knee", "foot")
"""The parts that are graded, the carrier of all others first."""

MIN_JERK_LEGS_PER_S3 = 2.0
"""Root mean square jerk of a source below which it counts as this much: less is invisible."""

CARRIER_SOURCE = "house rule: the hips carry all else, and their path is the source's but for its size"

LIMB_SOURCE = "house rule: a quarter more than the source's is what other proportions add"


@record(eq=True)
class PathJerk(PathMetric):
    """Root mean square third difference of world paths in leg lengths, as ratios to the source's."""

    name: ClassVar[str] = "path_jerk"
    title: ClassVar[str] = "path jerk"
    quick: ClassVar[bool] = True
    order: ClassVar[int] = 3
    parts: ClassVar[tuple[str, ...]] = tuple(MAIN_PARTS)
    parts_in_words: ClassVar[str] = "hips, head, hands, knees or feet"
    remedy: ClassVar[str] = (
        "wider keys smooth a jerk that is everywhere (--spacing 8f); one that comes with every step comes from "
        "contacts: shorten or remove wrong ones in a recipe (`understudy recipe` lists them)"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="hips", noticeable=1.1, bad=1.5, source=CARRIER_SOURCE),
        *(Grade(figure=part, noticeable=1.25, bad=2.0, source=LIMB_SOURCE) for part in GRADED_PARTS[1:]),
    )

    def compare(
        self, case: Comparison, paths: MainPaths, result: Array, source: Array, carried: Array | None
    ) -> Measurement:
        scale = paths.fps**3
        floor = MIN_JERK_LEGS_PER_S3 / scale
        source_jerk = np.maximum(_rms(source), floor)
        ratios = _rms(result) / source_jerk
        carried_ratios = None if carried is None else _rms(carried) / source_jerk
        figures, told, told_carried = [], [], []
        for part in GRADED_PARTS:
            columns = paths.joints.columns(part)
            if not columns:
                continue
            worst = columns[int(np.argmax(ratios[columns]))]
            about = f"root mean square jerk of the path of {_the(part)} in leg lengths, times the source's"
            figures.append(Figure(name=part, value=ratios[worst], unit="ratio", about=about))
            told.append(f"{part} {ratios[worst]:.2f}")
            if carried_ratios is not None:
                value = carried_ratios[columns].max()
                about = f"the same of {_the(part)} before anything was solved"
                figures.append(Figure(name=f"carried_{part}", value=value, unit="ratio", about=about))
                told_carried.append(f"{value:.2f}")
        excess = (result - source).max(axis=1)
        frame = int(np.argmax(excess)) + 2
        joint = paths.joints.labels[int(np.argmax(ratios))]
        before = f" (before the solve {', '.join(told_carried)})" if told_carried else ""
        words = (
            f"jerk of the paths in the world, times the source's: {', '.join(told)}{before}; most beyond the source's "
            f"at {frame / paths.fps:.2f} s"
        )
        values = np.pad(scale * case.leg * excess, (1, 2), "edge")
        curve = Curve(name="added_jerk", values=values, unit="m/s^3")
        return self.measurement(
            case,
            words,
            figures,
            [curve],
            judged=None if case.comparable_paths else (),
            joint=joint,
            time=frame / paths.fps,
        )


def _rms(differences: Array) -> Array:
    """(K,) root mean square over the frames of (F, K)."""
    return np.asarray(np.sqrt(np.mean(np.square(differences), axis=0)))


def _the(part: str) -> str:
    return f"the {part}" if part in ("hips", "head") else f"the worse {part}"


CARRIERS = ("hips", "head")
"""Parts whose pops count: nothing touches them, so a step of their path comes from the solve."""

MIN_POP_LEGS = 0.0015
"""Second difference in leg lengths beyond that from which it is a pop: 1.3 mm on an adult body."""

NEIGHBOURHOOD_SECONDS = 0.025
"""Time before and after a frame in which the source may do the same."""

SPAN_SECONDS = 10.0
"""Pops are counted for each such time; a shorter motion counts as one."""

POP_SOURCE = "house rule: a path that leaves its way for one frame is seen from a few millimetres on"


@record(eq=True)
class Pop(PathMetric):
    """Second differences of world paths in leg lengths, beyond the source's largest within 0.025 s."""

    name: ClassVar[str] = "pop"
    title: ClassVar[str] = "pops"
    quick: ClassVar[bool] = True
    order: ClassVar[int] = 2
    parts: ClassVar[tuple[str, ...]] = CARRIERS
    parts_in_words: ClassVar[str] = "hips or head"
    remedy: ClassVar[str] = (
        "look at the contacts that begin or end at that time (`understudy recipe` lists them): a wrong or too early "
        "one tears the body to its place; --plants none tells whether contacts cause it"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="rate", noticeable=0.0, bad=3.0, source=POP_SOURCE),
        Grade(figure="worst", noticeable=0.85 * MIN_POP_LEGS, bad=0.005, source=POP_SOURCE, metres=True),
        Grade(figure="limb_worst", noticeable=0.01, bad=0.03, source=POP_SOURCE, metres=True),
    )

    def compare(
        self, case: Comparison, paths: MainPaths, result: Array, source: Array, carried: Array | None
    ) -> Measurement:
        reach = max(round(NEIGHBOURHOOD_SECONDS * paths.fps), 1)
        allowed = MAX_OWN_SHARE * largest_nearby(source, reach)
        excess = result - allowed
        trunk = excess[:, paths.joints.columns(*CARRIERS)]
        limbs = excess[:, paths.joints.columns("hand", "knee", "foot")]
        popped = trunk.max(axis=1) > MIN_POP_LEGS
        count = count_events(popped, reach)
        rate = count / max(case.result.duration / SPAN_SECONDS, 1.0)
        worst = max(float(trunk.max()), 0.0)
        figures = [
            Figure(name="rate", value=rate, unit="in 10 s", about="pops of hips or head for each ten seconds"),
            Figure(name="frames", value=float(np.count_nonzero(popped)), unit="count", about="frames of these pops"),
            Figure(name="worst", value=case.leg * worst, unit="m",
                   about="largest change of the step of hips or head, beyond the source's own around then"),
            Figure(name="limb_worst", value=case.leg * max(float(limbs.max(initial=0.0)), 0.0), unit="m",
                   about="the same of hands, knees and feet"),
        ]  # fmt: skip
        frame, column = np.unravel_index(int(np.argmax(trunk)), trunk.shape)
        which = paths.joints.columns(*CARRIERS)[int(column)]
        time = (int(frame) + 1) / paths.fps
        words = "neither hips nor head jump off their path"
        if count:
            times = "once" if count == 1 else f"{count} times"
            words = (
                f"hips or head jump off their path {times} ({rate:.3g} in 10 s), the {paths.joints.names[which]} most: "
                f"{millimetres(case.leg * worst)} at {time:.2f} s"
            )
        if carried is not None:
            carried_excess = (carried - allowed)[:, paths.joints.columns(*CARRIERS)].max(axis=1)
            before = count_events(carried_excess > MIN_POP_LEGS, reach)
            figures.append(
                Figure(name="carried", value=float(before), unit="count", about="pops before anything was solved")
            )
            words += f" (before the solve {before or 'never'}{' times' if before > 1 else ''})" if count else ""
        values = np.pad(case.leg * np.maximum(trunk.max(axis=1), 0.0), 1)
        curve = Curve(name="pop", values=values, unit="m")
        judged = None if case.comparable_paths else ()
        return self.measurement(
            case, words, figures, [curve], judged=judged, joint=paths.joints.labels[which], time=time
        )


def largest_nearby(values: Array, reach: int) -> Array:
    """(F, K) the largest of values (F, K) within `reach` frames before and after each."""
    span, width = 1, 2 * reach + 1
    largest = np.pad(values, ((reach, reach), (0, 0)), "edge")
    # Windows double until two of them cover the whole.
    while 2 * span <= width:
        largest = np.maximum(largest[:-span], largest[span:])
        span *= 2
    rest = width - span
    return np.asarray(np.maximum(largest[: len(largest) - rest], largest[rest:]) if rest else largest)


def count_events(mask: np.ndarray, reach: int) -> int:
    """The number of times that a mask (F,) is True; times that are less than `reach` frames apart are one."""
    frames = np.flatnonzero(mask)
    return int(len(frames) > 0) + int(np.count_nonzero(np.diff(frames) > reach + 1))


FEET = ("foot", "toe")
"""Parts that stand: ankles and toes."""

MAX_STILL_LEGS = 0.02
"""Leg lengths between the two farthest places of a joint that stands."""

MAX_STILL_LEGS_PER_S = 0.1
"""Speed below which a joint may stand; the mean over the shortest time of a stand."""

MIN_STAND_SECONDS = 0.1
"""Shortest time for which a joint stands."""

MIN_DRIFT_LEGS = 0.01
"""Movement in leg lengths below which no stand drifts: 8.5 mm on an adult body."""

SEARCH_FPS = 30.0
"""Frame rate at which stands are searched, or the nearest above that a whole step gives."""

SEARCHED_FRAMES = 32
"""Frames in which the end of a stand is searched first."""

SEEN = "Prazak, Hoyet and O'Sullivan 2011: sliding below 21 mm is seen in most conditions; half of it is taken as good"


@record(eq=True)
class Standing(Metric):
    """Distance between the farthest places of ankles and toes in times in which the source's stay in one place."""

    name: ClassVar[str] = "standing"
    title: ClassVar[str] = "standing"
    quick: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "no contact holds the foot then: add one in a recipe (`understudy recipe` lists those that were found), or "
        "find looser ones there (detection in a recipe)"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_drift", noticeable=0.0105, bad=0.0185, source=SEEN, metres=True),
        Grade(figure="drifting_share", noticeable=0.02, bad=0.25),
    )

    def measure(self, case: Comparison) -> Measurement:
        paths = case.main_paths
        if paths.source is None:
            return self.not_measured("there is no source to compare with")
        columns = paths.joints.columns(*FEET)
        if not columns:
            return self.not_measured("the bodies share no feet that names tell")
        stands = find_stands(paths.source[:, columns] / paths.source_leg, paths.fps)
        if not stands:
            return self.not_measured("no foot of the source stands still")
        leg = float(np.mean(paths.result_leg))
        stood = StandFrames.of(stands)
        own = stood.extents(paths.source[:, columns]) / paths.source_leg
        moved = stood.extents(paths.result[:, columns]) / leg
        added = moved - own
        drifting = moved > np.maximum(MAX_OWN_SHARE * own, MIN_DRIFT_LEGS)
        worst = int(np.argmax(added))
        k, start, end = stands[worst]
        joint, time = paths.joints.names[columns[k]], start / paths.fps
        figures = [
            Figure(name="worst_drift", value=leg * moved.max(), unit="m", about="farthest that a standing foot moves"),
            Figure(name="added_drift", value=leg * max(float(added.max()), 0.0), unit="m",
                   about="farthest beyond what the source's foot moves then"),
            Figure(name="drifting_share", value=float(np.mean(drifting)), unit="share",
                   about=f"stands that move {millimetres(MIN_DRIFT_LEGS * leg)} or more, and 1.25 times the source's"),
            Figure(name="stands", value=float(len(stands)), unit="count", about="times in which a foot stands"),
        ]  # fmt: skip
        count = int(np.count_nonzero(drifting))
        words = f"feet stay where the source's stand ({len(stands)} times)"
        if count:
            words = (
                f"feet move in {count} of {len(stands)} times in which the source's stand, the {joint} most: "
                f"{millimetres(leg * float(moved[worst]))} from {time:.2f} to {end / paths.fps:.2f} s, the source's "
                f"{millimetres(leg * float(own[worst]))}"
            )
        if paths.carried is not None:
            carried = stood.extents(paths.carried[:, columns]) / leg
            before = float(np.max(carried - own, initial=0.0))
            figures.append(
                Figure(name="carried_drift", value=leg * before, unit="m", about="the same before anything was solved")
            )
        curve = np.full(case.result.num_frames, np.nan)
        np.fmax.at(curve, stood.frames, np.repeat(leg * np.maximum(added, 0.0), stood.counts))
        return self.measurement(
            case, words, figures, [Curve(name="drift", values=curve, unit="m")],
            judged=None if case.comparable_paths else (), joint=paths.joints.labels[columns[k]], time=time,
        )  # fmt: skip


def find_stands(paths: Array, fps: float) -> list[tuple[int, int, int]]:
    """Find the times in which points (F, K, 3), in leg lengths, stay in one place: point, first frame, end frame.

    They are searched at 30 frames a second, so that the noise of a fast capture does not look like movement.

    A point that is slow for long is followed from its first frame for as long as it stays within MAX_STILL_LEGS, then
    anew: a creeping foot gives several stands.
    """
    step = max(int(fps / SEARCH_FPS), 1)
    paths, fps, num_frames = paths[::step], fps / step, len(paths)
    shortest = max(round(MIN_STAND_SECONDS * fps), 2)
    if len(paths) <= shortest:
        return []
    ways = np.linalg.norm(np.diff(paths, axis=0), axis=-1)
    total = np.concatenate([np.zeros((1, ways.shape[1])), np.cumsum(ways, axis=0)])
    slow = (total[shortest:] - total[:-shortest]) * fps / shortest < MAX_STILL_LEGS_PER_S
    # Highest and lowest places are both highest ones: those of the path and of its negative.
    both = np.concatenate([paths, -paths], axis=-1).transpose(1, 0, 2).copy()
    stands = []
    for k in range(paths.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], slow[:, k], [False]]).astype(np.int8)))
        for first, last in zip(edges[::2].tolist(), (edges[1::2] + shortest).tolist(), strict=True):
            start = first
            while last - start > shortest:
                count = count_still(both[k, start:last])
                if count > shortest:
                    end = (start + count - 1) * step + 1 if start + count < len(paths) else num_frames
                    stands.append((k, start * step, end))
                start += max(count, 1)
    return stands


def count_still(both: Array) -> int:
    """The number of first places whose bounding box is at most MAX_STILL_LEGS across.

    Args:
        both: (n, 6) places in leg lengths, and their negatives.
    """
    checked = SEARCHED_FRAMES
    while True:
        highest = np.maximum.accumulate(both[:checked], axis=0)
        size = highest[:, :3] + highest[:, 3:]
        count = int(np.searchsorted(np.einsum("fc,fc->f", size, size), MAX_STILL_LEGS**2, side="right"))
        if count < checked or checked >= len(both):
            return count
        checked *= 4


@record
class StandFrames:
    """The frames of all stands, one stand after the other."""

    frames: np.ndarray
    """(N,)"""
    points: np.ndarray
    """(N,) the point that stands at each of them."""
    starts: np.ndarray
    """(S,) where each stand begins among them."""
    counts: np.ndarray
    """(S,) the number of frames of each stand."""

    @staticmethod
    def of(stands: list[tuple[int, int, int]]) -> StandFrames:
        """The frames of stands, given as point, first frame and end frame."""
        points, first, end = np.array(stands).T
        counts = end - first
        starts = np.cumsum(counts) - counts
        frames = np.arange(counts.sum()) + np.repeat(first - starts, counts)
        return StandFrames(frames=frames, points=np.repeat(points, counts), starts=starts, counts=counts)

    def extents(self, paths: Array) -> Array:
        """(S,) twice the farthest distance of points (F, K, 3) from the middle of their bounding box over each stand.

        It is the length of a straight way, in whatever time it is gone.
        """
        places = paths[self.frames, self.points]
        middle = 0.5 * (np.maximum.reduceat(places, self.starts) + np.minimum.reduceat(places, self.starts))
        distances = np.square(places - np.repeat(middle, self.counts, axis=0)).sum(axis=1)
        return np.asarray(2.0 * np.sqrt(np.maximum.reduceat(distances, self.starts)))


METRICS = (PathJerk(), Pop(), Standing())
