"""Standing: how far ankles and toes move while the source's stand, whatever the contacts say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres
from understudy.metrics.comparison import Comparison

FEET = ("foot", "toe")
"""Parts that stand: ankles and toes."""

MAX_STILL_LEGS = 0.02
"""Leg lengths between the two farthest places of a joint that stands."""

MAX_STILL_LEGS_PER_S = 0.1
"""Speed below which a joint may stand; the mean over the shortest time of a stand."""

MIN_STAND_SECONDS = 0.1
"""Shortest time for which a joint stands."""

MAX_OWN_SHARE = 1.25
"""Movement, times the source's own in the same stand, up to which a joint stands as the source's does."""

MIN_DRIFT_LEGS = 0.01
"""Movement in leg lengths below which no stand drifts: 8.5 mm on an adult body."""

SEARCH_FPS = 30.0
"""Frame rate at which stands are searched, or the nearest above that a whole step gives."""

SEARCHED_FRAMES = 32
"""Frames in which the end of a stand is searched first."""

SEEN = "Prazak, Hoyet and O'Sullivan 2011: sliding below 21 mm is seen in most conditions; half of it is taken as good"


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, eq=False, kw_only=True)
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


METRIC = Standing()
