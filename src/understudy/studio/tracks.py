"""Tracks of the timeline: each contact and constraint, its violation over time, and its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.constraints.base import Constraint
from understudy.figure.contacts import Contact
from understudy.figure.skeleton import Point
from understudy.retarget.driver import Problem
from understudy.retarget.ground import contact_name
from understudy.retarget.quality import MAX_QUICK_FPS, Violation

MAX_ERROR_BINS = 120
"""Most bins of a track's error strip."""

TIME_SUFFIX = re.compile(r" -?\d+\.\d\d--?\d+\.\d\d s$")
"""The time at the end of the name of a contact's constraint."""

NAME_JOINERS = (">", " picks up ", " and ")
"""Texts that follow the point's name in names of constraints derived from a contact."""


def make_tracks(
    violations: Sequence[Violation],
    contacts: Sequence[Contact],
    constraints: Sequence[Constraint],
    duration: float,
    *,
    listed: bool = True,
    first: str = "",
) -> list[dict[str, Any]]:
    """The tracks in document order: contacts, constraints, then floor and limits.

    Args:
        violations: Of all constraints of the problem.
        contacts: Those of the document, or those detected if it lists none.
        constraints: Those of the document.
        duration: Seconds.
        listed: Whether the contacts are the document's own.
        first: Name of the first actor, which constraints without an actor belong to.
    """
    index_of = {id(constraint): index for index, constraint in enumerate(constraints)}
    by_constraint: dict[int, Violation] = {
        index_of[id(v.constraint)]: v for v in violations if id(v.constraint) in index_of
    }
    derived = [v for v in violations if id(v.constraint) not in index_of]
    floor, limits, others = _split_by_kind(derived)
    by_contact = _by_contact(others, contacts)
    tracks = []
    for index, contact in enumerate(contacts):
        path: list[str | int] | None = ["recipe", "contact", index] if listed else None
        tracks.append(_contact_track(contact, by_contact.get(index, []), duration, path, first))
    for index, constraint in enumerate(constraints):
        track = _track(constraint, [by_constraint[index]] if index in by_constraint else [], duration, first)
        tracks.append(track | {"path": ["recipe", "constraint", index]})
    for kind, label, group in (("floor", "above the floor", floor), ("limits", "joint limits", limits)):
        if group:
            tracks.append(_group_track(kind, label, group, duration))
    return tracks


def standing_points(problem: Problem, contacts: Sequence[Contact], actors: set[str]) -> list[tuple[Point, np.ndarray]]:
    """The points of some actors that contacts keep on the floor, with the frames (n,) in which they do."""
    floor = {contact_name(contact) for contact in contacts if contact.on == "floor"}
    points = []
    for constraint, frames in zip(problem.constraints, problem.constraint_frames, strict=True):
        name = constraint.name.partition(">")[0] + (TIME_SUFFIX.findall(constraint.name) or [""])[0]
        if (constraint.name in floor or name in floor) and constraint.point_refs()[0].actor in actors:
            point_ref = constraint.point_refs()[0]
            points.append((problem.resolve(constraint, point_ref)[1], frames))
    return points


def _split_by_kind(violations: Sequence[Violation]) -> tuple[list[Violation], list[Violation], list[Violation]]:
    """Violations of floor constraints, of joint limits, and all others."""
    floor = [v for v in violations if v.constraint.kind == "region"]
    limits = [v for v in violations if v.constraint.kind == "joint_range"]
    return floor, limits, [v for v in violations if v.constraint.kind not in ("region", "joint_range")]


def _by_contact(violations: Sequence[Violation], contacts: Sequence[Contact]) -> dict[int, list[Violation]]:
    """Violations of the constraints derived from each contact, by contact index."""
    by_name: dict[str, int] = {}
    by_point: dict[str, list[int]] = {}
    for index, contact in enumerate(contacts):
        by_name.setdefault(contact_name(contact), index)
        for name in {contact.point.name, f"{contact.actor} {contact.point.name}".strip()}:
            by_point.setdefault(name, []).append(index)
    grouped: dict[int, list[Violation]] = {}
    for violation in violations:
        name = violation.constraint.name
        if name in by_name:
            grouped.setdefault(by_name[name], []).append(violation)
            continue
        label = TIME_SUFFIX.sub("", name)
        for joiner in NAME_JOINERS:
            label = label.partition(joiner)[0]
        for index in by_point.get(label, []):
            if len(violation.times) and _overlaps_in_time(contacts[index], violation):
                grouped.setdefault(index, []).append(violation)
    return grouped


def _overlaps_in_time(contact: Contact, violation: Violation) -> bool:
    return bool(contact.start <= violation.times[-1] + 1e-6 and contact.end >= violation.times[0] - 1e-6)


def _contact_track(
    contact: Contact, violations: list[Violation], duration: float, path: list[str | int] | None, first: str
) -> dict[str, Any]:
    track = _group_track("contact", f"{contact.point.name} on {contact.on}", violations, duration)
    point_refs = violations[0].constraint.point_refs() if violations else ()
    point_ref = point_refs[0] if point_refs else None
    place = violations[0].place if violations else contact.place
    return track | {
        "path": path,
        "actor": contact.actor or first,
        "start": max(contact.start, 0.0),
        "end": min(contact.end, duration),
        "confidence": float(contact.confidence),
        "point": None if point_ref is None else _name(point_ref.point),
        "place": None if place is None else [float(x) for x in place],
    }


def _track(constraint: Constraint, violations: list[Violation], duration: float, first: str) -> dict[str, Any]:
    """The track of a constraint of the document."""
    references = (*constraint.point_refs(), *constraint.joints())
    point_ref = constraint.point_refs()[0] if constraint.point_refs() else None
    place = getattr(constraint, "target", None)
    if not isinstance(place, np.ndarray):
        place = violations[0].place if violations else None
    track = _group_track(constraint.kind, constraint.label, violations, duration)
    return track | {
        "actor": (references[0].actor if references else "") or first,
        "start": float(np.clip(constraint.start, 0.0, duration)),
        "end": float(np.clip(constraint.end, 0.0, duration)),
        "instants": [float(t) for t in constraint.instants],
        "tolerance": float(constraint.tolerance),
        "unit": str(constraint.unit),
        "point": None if point_ref is None else _name(point_ref.point),
        "place": None if place is None else [float(x) for x in place],
    }


def _name(point: Any) -> str:
    return point if isinstance(point, str) else str(point.name)


def _group_track(kind: str, label: str, violations: Sequence[Violation], duration: float) -> dict[str, Any]:
    """One track for several constraints."""
    outcomes = [violation.outcome for violation in violations]
    worst = max(outcomes, key=lambda outcome: outcome.worst / outcome.constraint.tolerance, default=None)
    return {
        "path": None,
        "kind": kind,
        "label": label,
        "actor": "",
        "start": 0.0,
        "end": float(duration),
        "instants": [],
        "confidence": None,
        "point": None,
        "place": None,
        "met": all(outcome.met for outcome in outcomes),
        "worst": 0.0 if worst is None else worst.worst,
        "worst_time": 0.0 if worst is None else worst.time,
        "tolerance": 1e-3 if worst is None else float(worst.constraint.tolerance),
        "unit": "rad" if worst is not None and worst.constraint.angular else "m",
        "errors": error_bins(violations, duration),
    }


def error_bins(violations: Sequence[Violation], duration: float) -> list[float | None]:
    """The largest violation in each of even time bins, in tolerances; None where no constraint holds."""
    num_bins = max(min(MAX_ERROR_BINS, int(np.ceil(duration * MAX_QUICK_FPS))), 1)
    bins_max = np.full(num_bins, -1.0)
    if violations:
        times = np.concatenate([violation.times for violation in violations])
        bin_of_frame = np.minimum((times / max(duration, 1e-9) * num_bins).astype(int), num_bins - 1)
        off = np.concatenate([violation.off / violation.constraint.tolerance for violation in violations])
        np.maximum.at(bins_max, bin_of_frame, off)
    return [None if value < 0.0 else value for value in np.round(bins_max, 3).tolist()]


def plain_tracks(violations: Sequence[Violation], duration: float, *, shift: float = 0.0) -> list[dict[str, Any]]:
    """Tracks of constraints that no document lists, `shift` seconds later; floor and limits have one track each."""
    shifted = [replace(violation, times=violation.times + shift) for violation in violations]
    floor, limits, others = _split_by_kind(shifted)
    tracks = []
    for violation in others:
        first, last = (float(violation.times[0]), float(violation.times[-1])) if len(violation.times) else (0.0, 0.0)
        track = _track(violation.constraint, [violation], duration, "")
        tracks.append(track | {"kind": "contact", "start": max(first, 0.0), "end": min(last, duration), "instants": []})
    for kind, label, group in (("floor", "above the floor", floor), ("limits", "joint limits", limits)):
        if group:
            tracks.append(_group_track(kind, label, group, duration))
    return tracks


def instant_track(
    kind: str, label: str, time: float, distance: float, tolerance: float, duration: float
) -> dict[str, Any]:
    """A track for one moment, with a distance in metres."""
    errors = error_bins((), duration)
    errors[min(int(time / max(duration, 1e-9) * len(errors)), len(errors) - 1)] = round(distance / tolerance, 3)
    return _group_track(kind, label, (), duration) | {
        "start": time, "end": time, "instants": [time], "met": distance <= tolerance, "worst": distance,
        "worst_time": time, "tolerance": tolerance, "errors": errors,
    }  # fmt: skip
