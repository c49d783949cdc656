"""Contacts kept: whether the result touches down and lifts off when its source does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.skeleton import Point
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, percent
from understudy.metrics.comparison import HORIZONTAL_AXES, LOOSE_DETECTION, Comparison, PlantedPoint, tracks

MAX_KEPT_METRES = (0.02, 0.05)
"""Metres on an adult body within which a point is in contact."""

MAX_TIMING_ERROR_SECONDS = 0.05
"""Error of beginnings and ends that is allowed, as is usual for note onsets in music."""


@record(eq=True)
class ContactTiming(Metric):
    """Precision and recall of contact frames, and how early or late contacts begin and end."""

    name: ClassVar[str] = "contact_timing"
    title: ClassVar[str] = "contacts kept"
    remedy: ClassVar[str] = (
        "the result steps where or when the source does not: --plants fixed keeps the source's places, --plants "
        "free lets a body of another size step where it can"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="recall", noticeable=0.9, bad=0.6),
        Grade(figure="precision", noticeable=0.9, bad=0.6),
        Grade(figure="kept_2cm", noticeable=0.95, bad=0.7),
    )

    def measure(self, case: Comparison) -> Measurement:
        if case.source is None:
            return self.not_measured("there is no source to compare with")
        if not case.plants:
            return self.not_measured("the source has no contacts that the result could keep")
        points = list({plant.point.name: plant.point for plant in case.plants}.values())
        detected = detect_contacts(case.result, points, pose=case.pose)
        expected = _contact_mask(case, points, [(p.point.name, p.frames) for p in case.plants])
        fps, count = case.result.fps, case.result.num_frames
        actual = _contact_mask(case, points, [(c.point.name, c.frames(fps, count)) for c in detected])
        recall = float(np.sum(expected & _widen(actual, fps))) / expected.sum()
        allowed = _widen(expected | self._slow(case, points), fps)
        precision = float(np.sum(actual & allowed)) / actual.sum() if actual.any() else 0.0
        errors = _timing_errors(case.plants, detected)
        kept = _kept_shares(case, [limit * case.size for limit in MAX_KEPT_METRES])
        figures = [
            Figure(name="recall", value=recall, unit="share", about="of the source's contact frames, those kept"),
            Figure(name="precision", value=precision, unit="share",
                   about="of the result's contact frames, those the source has"),
            Figure(name="timing", value=float(np.median(np.abs(errors))) if len(errors) else None, unit="s",
                   about="median error of beginnings and ends"),
            Figure(name="shift", value=float(np.median(errors)) if len(errors) else None, unit="s",
                   about="median lateness"),
            Figure(name="kept_2cm", value=kept[0], unit="share", about="planted frames within 2 cm of their place"),
            Figure(name="kept_5cm", value=kept[1], unit="share", about="planted frames within 5 cm of their place"),
            Figure(name="lost", value=float(_count_lost(case.plants, detected)), unit="count",
                   about=f"contacts of the source that the result has not, of {len(case.plants)}"),
        ]  # fmt: skip
        words = (
            f"{percent(recall)} of the source's contact frames are kept, {percent(precision)} of the result's are the "
            f"source's; {percent(kept[0])} of the planted frames stay within 2 cm"
        )
        if len(errors):
            words += f"; contacts begin and end {1000 * np.median(np.abs(errors)):.0f} ms off, half of them less"
        curves = [
            Curve(name="source_contacts", values=expected.sum(axis=1).astype(float), unit="points"),
            Curve(name="contacts", values=actual.sum(axis=1).astype(float), unit="points"),
        ]
        return self.measurement(case, words, figures, curves)

    @staticmethod
    def _slow(case: Comparison, points: Sequence[Point]) -> np.ndarray:
        """(F, P) where the source's points are almost still, with or without a contact."""
        assert case.source is not None
        source_points = {plant.point.name: plant.contact.point for plant in case.plants}
        names = {source_points[point.name].name: point.name for point in points}
        watched = [source_points[point.name] for point in points]
        pose = case.source_pose if case.resampled is case.source else None
        loose = detect_contacts(case.source, watched, LOOSE_DETECTION, pose=pose)
        fps, count = case.result.fps, case.result.num_frames
        return _contact_mask(case, points, [(names[c.point.name], c.frames(fps, count)) for c in loose])


def _contact_mask(case: Comparison, points: Sequence[Point], spans: Sequence[tuple[str, np.ndarray]]) -> np.ndarray:
    """(F, P) whether points are in contact."""
    column = {point.name: i for i, point in enumerate(points)}
    mask = np.zeros((case.result.num_frames, len(points)), bool)
    for name, frames in spans:
        mask[frames, column[name]] = True
    return mask


def _widen(mask: np.ndarray, fps: float) -> np.ndarray:
    """(F, P) contacts that begin earlier and end later by MAX_TIMING_ERROR_SECONDS."""
    reach = round(MAX_TIMING_ERROR_SECONDS * fps)
    padded = np.pad(mask, ((reach, reach), (0, 0)))
    return np.any([padded[i : i + len(mask)] for i in range(2 * reach + 1)], axis=0)


def _find_partner(plant: PlantedPoint, detected: Sequence[Contact]) -> Contact | None:
    """The contact of the result that overlaps most with a plant of the same point; None if none does."""
    contacts = [c for c in detected if c.point.name == plant.point.name]
    overlaps = [min(c.end, plant.contact.end) - max(c.start, plant.contact.start) for c in contacts]
    return contacts[int(np.argmax(overlaps))] if overlaps and max(overlaps) >= 0.0 else None


def _timing_errors(plants: Sequence[PlantedPoint], detected: Sequence[Contact]) -> Array:
    """(2 N,) seconds by which beginnings and ends of the result's contacts are late."""
    errors = []
    for plant in plants:
        partner = _find_partner(plant, detected)
        if partner is not None:
            errors += [partner.start - plant.contact.start, partner.end - plant.contact.end]
    return np.array(errors)


def _count_lost(plants: Sequence[PlantedPoint], detected: Sequence[Contact]) -> int:
    return sum(_find_partner(plant, detected) is None for plant in plants)


def _kept_shares(case: Comparison, limits: Sequence[float]) -> list[float]:
    """Shares of planted frames whose point is within some distances, in metres, of its place and its height."""
    off = []
    paths = tracks(case.pose, (plant.point for plant in case.plants))
    for plant in case.plants:
        path = paths[plant.point.name][plant.frames]
        drift = np.linalg.norm((path - np.median(path, axis=0))[:, HORIZONTAL_AXES], axis=-1)
        lift = np.zeros(len(path))
        if plant.level is not None:
            lift = np.abs(path[:, 1] - case.floor.heights(path) - plant.level)
        off.append(np.maximum(drift, lift))
    distances = np.concatenate(off)
    return [float(np.mean(distances <= limit)) for limit in limits]


METRIC = ContactTiming()
