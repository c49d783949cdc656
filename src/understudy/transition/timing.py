"""Corresponding frames: where to leave one motion, where to enter another, and which frames coincide between.

Dynamic time warping over what the two have in common finds them: no posture needs to be like another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.transition.features import Features
from understudy.transition.warping import warp

RATE = 30.0
"""Frames a second at which motions are compared."""
SEARCH = 15.0
"""Frames a second at which all places to leave and enter are tried."""
BLOCK = 32
"""Rows of differences worked out together."""
CANDIDATES = 16
"""How many of the best places are warped before one is taken."""
KEEP = 1.0
"""What leaving all of one motion out costs, beside the mean difference of frames, so that much of both is kept."""
SECONDS = (0.5, 2.0)
"""Least and most seconds of a blend whose length is chosen here."""
USUAL = 1.0
"""Seconds of a blend between motions without strides."""
LONGER = 1.3
"""How much further than at the pace of their strides frames that coincide may lead in the second motion."""
STRAY = 0.5
"""What it costs beside the differences of frames to be a whole blend ahead of that pace; it grows with the square."""
PACES = (0.4, 2.5)
"""Least and greatest pace of the second motion's strides against the first's that are taken as they are."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Match:
    """Where to go from one motion into another, and which moments coincide on the way."""

    first: Array
    """(N,) seconds of the first motion, rising: the blend begins at the first of them and ends at the last."""
    second: Array
    """(N,) seconds of the second motion that they correspond to."""
    cost: float
    """Mean squared difference of the frames that coincide; 0 for alike."""
    names: tuple[str, ...]
    """What was compared."""

    @property
    def leave(self) -> float:
        """Seconds of the first motion at which the blend begins."""
        return float(self.first[0])

    @property
    def enter(self) -> float:
        """Seconds of the second motion at which the blend begins."""
        return float(self.second[0])


def find_match(
    features: Features,
    *,
    seconds: float | None = None,
    leave: float | None = None,
    enter: float | None = None,
    least: float = SECONDS[0],
) -> Match:
    """The best place to leave the first motion and enter the second, and what coincides over the blend between.

    Args:
        features: What is compared.
        seconds: How long the blend lasts; the mean stride if not given.
        leave: Seconds of the first motion at which it begins; the best place if not given.
        enter: Seconds of the second motion, likewise.
        least: Seconds of a blend at least, where its length is not given and there is room.
    """
    ends = [(len(values) - 1) / fps for values, fps in zip(features.values, features.fps, strict=True)]
    strides = np.array(features.strides)
    pace = float(np.clip(strides[1] / strides[0], *PACES)) if np.all(np.isfinite(strides)) else 1.0
    spans = _spans(features, seconds, least, pace, (ends[0] - (leave or 0.0), ends[1] - (enter or 0.0)))
    for name, given, end, span in (("leave", leave, ends[0], spans[0]), ("enter", enter, ends[1], spans[1])):
        if given is not None and not 0.0 <= given <= end - span + 1e-9:
            raise OptionError(
                f"Expected `{name}` from 0 to {max(end - span, 0.0):.2f} s, so that a blend of {span:.2f} s fits "
                f"before the motion's end at {end:.2f} s; got {given:g} s"
            )
    best: Match | None = None
    chosen = np.inf
    for a, b in _candidates(features, ends, spans, pace, leave, enter):
        match = _warped(features, (a, b), spans, ends[1])
        cost = match.cost + KEEP * ((ends[0] - spans[0] - a) / ends[0] + b / ends[1])
        if cost < chosen:
            best, chosen = match, cost
    assert best is not None
    return best


def _spans(
    features: Features, seconds: float | None, least: float, pace: float, room: tuple[float, float]
) -> tuple[float, float]:
    """Seconds of each motion that a blend takes, in the pace of the second's strides to the first's."""
    most = min(room[0] * 0.5 * (1.0 + pace), room[1] * 0.5 * (1.0 + 1.0 / pace))
    if seconds is None:
        usual = float(np.mean(features.strides)) if np.isfinite(features.strides[0]) else USUAL
        seconds = min(max(min(usual, SECONDS[1]), least), 0.8 * most)
    if not (np.isfinite(seconds) and 0.0 < seconds <= most + 1e-9):
        raise OptionError(
            f"Expected a blend of more than zero and at most {most:.2f} s, which is what both motions have room for; "
            f"got {seconds:g} s"
        )
    first = 2.0 * seconds / (1.0 + pace)
    return first, pace * first


def _candidates(
    features: Features,
    ends: Sequence[float],
    spans: tuple[float, float],
    pace: float,
    leave: float | None,
    enter: float | None,
) -> list[tuple[float, float]]:
    """Places (seconds of the first, of the second) from which both at an even pace differ least, best first.

    Sums along the diagonals of the differences are carried from row to row, so that memory is one window of rows.
    """
    rows = 0.0 if leave is None else leave
    columns = 0.0 if enter is None else enter
    window = round(spans[0] * SEARCH) + 1
    tops = np.arange(1 if leave is not None else int((ends[0] - spans[0]) * SEARCH + 1e-6) + 1)
    lefts = np.arange(1 if enter is not None else int((ends[1] - spans[1]) * SEARCH / pace + 1e-6) + 1)
    clock = np.arange(max(len(tops), len(lefts)) + window - 1, dtype=float) / SEARCH
    a = features.at(0, rows + clock[: len(tops) + window - 1])
    b = features.at(1, columns + pace * clock[: len(lefts) + window - 1])
    found: list[tuple[float, int, int]] = []
    kept = np.zeros((window, len(b)))
    running = np.zeros(len(b))
    lost = KEEP * pace * lefts / (SEARCH * ends[1])
    for i in range(len(a)):
        if i % BLOCK == 0:
            block = _differences(a[i : i + BLOCK], b)
        cost = block[i % BLOCK]
        running = np.concatenate([[0.0], running[:-1]]) + cost
        if i >= window:
            running[window:] -= kept[i % window][: len(b) - window]
        kept[i % window] = cost
        if i >= window - 1:
            top = i - window + 1
            means = running[window - 1 :] / window + lost + KEEP * (ends[0] - spans[0] - rows - top / SEARCH) / ends[0]
            left = int(np.argmin(means))
            found.append((float(means[left]), top, left))
    found.sort()
    return [(rows + top / SEARCH, columns + left * pace / SEARCH) for _, top, left in found[:CANDIDATES]]


def _differences(a: Array, b: Array) -> Array:
    """(N, M) squared differences of rows a (N, C) and b (M, C)."""
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T)
    return np.maximum(squares, 0.0)


def _warped(features: Features, begin: tuple[float, float], spans: tuple[float, float], last: float) -> Match:
    """The frames that coincide from a place on: for so long in the first, in the second up to a time at most."""
    # As many rows of both, so that how far the path may stray is counted from the pace of their strides.
    count = max(round(0.5 * sum(spans) * RATE), 2) + 1
    clock = np.arange(round(LONGER * count), dtype=float) / (count - 1)
    second = begin[1] + spans[1] * clock
    second = second[second <= max(last, begin[1] + spans[1]) + 1e-9]
    first = begin[0] + spans[0] * clock[:count]
    path, cost = warp(features.at(0, first), features.at(1, second), free_end=True, stray=STRAY)
    return Match(first=first[path[:, 0]], second=second[path[:, 1]], cost=cost, names=features.names)
