"""Contacts kept: whether the result touches down and lifts off when its source does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.skeleton import Point
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, percent
from understudy.metrics.comparison import SLIDING, Comparison, PlantedPoint, tracks

NEAR = (0.02, 0.05)
"""Metres on an adult body within which a point is still in contact."""

TOLERANCE = 0.05
"""Seconds by which a contact may be early or late, as is usual where the beginnings of notes are compared."""


@dataclass(frozen=True, kw_only=True)
class ContactTiming(Metric):
    """Precision and recall of contact frames, and how early or late contacts begin and end."""

    name: ClassVar[str] = "contact_timing"
    title: ClassVar[str] = "contacts kept"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="recall", noticeable=0.9, bad=0.6),
        Grade(figure="precision", noticeable=0.9, bad=0.6),
        Grade(figure="kept_2cm", noticeable=0.95, bad=0.7),
    )

    def measure(self, take: Comparison) -> Measurement:
        if take.source is None:
            return self.absent("there is no source to compare with")
        if not take.plants:
            return self.absent("the source has no contacts that the result could keep")
        points = list({plant.point.name: plant.point for plant in take.plants}.values())
        found = detect_contacts(take.result, points)
        wanted = _mask(take, points, [(p.point.name, p.frames) for p in take.plants])
        fps, count = take.result.fps, take.result.num_frames
        there = _mask(take, points, [(c.point.name, c.frames(fps, count)) for c in found])
        recall = float(np.sum(wanted & _widened(there, fps))) / wanted.sum()
        allowed = _widened(wanted | self._slow(take, points), fps)
        precision = float(np.sum(there & allowed)) / there.sum() if there.any() else 0.0
        late = _timing(take.plants, found)
        kept = [_kept(take, limit * take.size) for limit in NEAR]
        figures = [
            Figure(name="recall", value=recall, unit="share", about="of the source's contact frames, those kept"),
            Figure(name="precision", value=precision, unit="share",
                   about="of the result's contact frames, those the source has"),
            Figure(name="timing", value=float(np.median(np.abs(late))) if len(late) else None, unit="s",
                   about="median error of beginnings and ends"),
            Figure(name="shift", value=float(np.median(late)) if len(late) else None, unit="s",
                   about="median lateness"),
            Figure(name="kept_2cm", value=kept[0], unit="share", about="planted frames within 2 cm of their place"),
            Figure(name="kept_5cm", value=kept[1], unit="share", about="planted frames within 5 cm of their place"),
            Figure(name="lost", value=float(_lost(take.plants, found)), unit="count",
                   about=f"contacts of the source that the result has not, of {len(take.plants)}"),
        ]  # fmt: skip
        words = (
            f"{percent(recall)} of the source's contact frames are kept, {percent(precision)} of the result's are the "
            f"source's; {percent(kept[0])} of the planted frames stay within 2 cm"
        )
        if len(late):
            words += f"; contacts begin and end {1000 * np.median(np.abs(late)):.0f} ms off, half of them less"
        curves = [
            Curve(name="source_contacts", values=wanted.sum(axis=1).astype(float), unit="points"),
            Curve(name="contacts", values=there.sum(axis=1).astype(float), unit="points"),
        ]
        return self.made(take, words, figures, curves)

    @staticmethod
    def _slow(take: Comparison, points: Sequence[Point]) -> np.ndarray:
        """(F, P) where the source's points are all but still, though no contact says so."""
        assert take.source is not None
        theirs = {plant.point.name: plant.contact.point for plant in take.plants}
        names = {theirs[point.name].name: point.name for point in points}
        loose = detect_contacts(take.source, [theirs[point.name] for point in points], SLIDING)
        fps, count = take.result.fps, take.result.num_frames
        return _mask(take, points, [(names[c.point.name], c.frames(fps, count)) for c in loose])


def _mask(take: Comparison, points: Sequence[Point], spans: Sequence[tuple[str, np.ndarray]]) -> np.ndarray:
    """(F, P) whether points are in contact."""
    column = {point.name: i for i, point in enumerate(points)}
    held = np.zeros((take.result.num_frames, len(points)), bool)
    for name, frames in spans:
        held[frames, column[name]] = True
    return held


def _widened(held: np.ndarray, fps: float) -> np.ndarray:
    """(F, P) contacts that begin earlier and end later by the tolerance of their timing."""
    reach = round(TOLERANCE * fps)
    padded = np.pad(held, ((reach, reach), (0, 0)))
    return np.any([padded[i : i + len(held)] for i in range(2 * reach + 1)], axis=0)


def _partner(plant: PlantedPoint, found: Sequence[Contact]) -> Contact | None:
    """The contact of the result that shares most time with a plant of the same point; None where none does."""
    mine = [c for c in found if c.point.name == plant.point.name]
    shared = [min(c.end, plant.contact.end) - max(c.start, plant.contact.start) for c in mine]
    return mine[int(np.argmax(shared))] if shared and max(shared) >= 0.0 else None


def _timing(plants: Sequence[PlantedPoint], found: Sequence[Contact]) -> Array:
    """(2 N,) seconds that beginnings and ends are late, for contacts that the result has."""
    late = []
    for plant in plants:
        other = _partner(plant, found)
        if other is not None:
            late += [other.start - plant.contact.start, other.end - plant.contact.end]
    return np.array(late)


def _lost(plants: Sequence[PlantedPoint], found: Sequence[Contact]) -> int:
    return sum(_partner(plant, found) is None for plant in plants)


def _kept(take: Comparison, limit: float) -> float:
    """Share of planted frames whose point is near its place, over the floor and above or below it."""
    near, total = 0, 0
    paths = tracks(take.pose, (plant.point for plant in take.plants))
    for plant in take.plants:
        path = paths[plant.point.name][plant.frames]
        off = np.linalg.norm((path - np.median(path, axis=0))[:, [0, 2]], axis=-1)
        above = np.zeros(len(path))
        if plant.level is not None:
            above = np.abs(path[:, 1] - take.floor.heights(path) - plant.level)
        near += int(np.sum((off <= limit) & (above <= limit)))
        total += len(path)
    return near / total


METRIC = ContactTiming()
