"""What came of a batch, in short: how many, which failed and why, and the worst clips by every metric."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from understudy.batches.model import DONE, FAILED, Row
from understudy.metrics import Verdict, metrics
from understudy.metrics.base import ORDER

WORST = 10
"""Clips that are named for each metric."""
SEEN = (Verdict.NOTICEABLE, Verdict.BAD)
"""Verdicts of clips that are among the worst; a good one is not, though there be none worse."""
LISTED = 1000
"""Failed clips that are named."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The metric's figure by which clips are ranked."""

    metric: str
    title: str
    figure: str
    sign: float
    """1 where a large figure is bad, -1 where a small one is."""

    @property
    def column(self) -> str:
        return f"{self.metric}.{self.figure}"


def rankings() -> list[Ranking]:
    """One for each metric that is graded: by its first figure with a threshold."""
    found = []
    for name, metric in metrics().items():
        for grade in metric.grades[:1]:
            sign = 1.0 if grade.bad >= grade.noticeable else -1.0
            found.append(Ranking(metric=name, title=metric.title, figure=grade.figure, sign=sign))
    return found


@dataclass(eq=False, kw_only=True)
class Summary:
    """Gathered row by row, in little memory."""

    counts: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    duration: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Clips and reasons, the first thousand."""
    _worst: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _rankings: list[Ranking] = field(default_factory=rankings)

    def add(self, row: Row) -> None:
        """Take a row into account."""
        self.counts[row["status"]] += 1
        if row["status"] == FAILED:
            if len(self.failures) < LISTED:
                self.failures.append((row["clip"], row["reason"]))
            return
        self.verdicts[row["verdict"]] += 1
        self.frames += row["frames"]
        self.duration += row["duration"]
        for each in self._rankings:
            value = row.get(each.column)
            if value is not None and row[f"{each.metric}.verdict"] in SEEN:
                # Of equal ones the first by name is named, in whatever order they come.
                entry = (each.sign * value, _Backwards(row["clip"]))
                heap: list[Any] = self._worst.setdefault(each.column, [])
                (heapq.heappush if len(heap) < WORST else heapq.heappushpop)(heap, entry)

    def worst(self) -> Iterator[tuple[Ranking, list[tuple[str, float]]]]:
        """For each metric the clips with the worst figures, worst first."""
        for each in self._rankings:
            entries = sorted(self._worst.get(each.column, []), reverse=True)
            if entries:
                yield each, [(str(clip), each.sign * value) for value, clip in entries]

    def verdict_counts(self) -> list[tuple[str, int]]:
        """How many clips got each verdict, the most alarming first."""
        return [(str(verdict), self.verdicts[verdict]) for verdict in reversed(ORDER) if self.verdicts[verdict]]

    def data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "clips": sum(self.counts.values()),
            DONE: self.counts[DONE],
            FAILED: self.counts[FAILED],
            "frames": self.frames,
            "duration": self.duration,
            "verdicts": dict(self.verdict_counts()),
            "failures": [{"clip": clip, "reason": reason} for clip, reason in self.failures],
            "worst": {
                each.column: [{"clip": clip, "value": value} for clip, value in clips] for each, clips in self.worst()
            },
        }


class _Backwards(str):
    """A text that sorts the other way round."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)
