"""The lines of the timeline: each contact and constraint, how well it is met over time, and where its point is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.retarget.plants import contact_name
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import Outcome

BINS = 120
"""Pieces that the motion's time is cut into for the strips of errors."""

RATE = 30.0
"""Frames a second that are looked at while something is dragged."""

TIMED = re.compile(r" -?\d+\.\d\d--?\d+\.\d\d s$")
"""What stands at the end of the name of a contact's constraint."""

JOINERS = (">", " picks up ", " and ")
"""What stands behind the point's name in names of constraints that a contact gives rise to."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Held:
    """How far a constraint is off at each frame at which it holds."""

    constraint: Constraint
    times: Array
    """(n,) seconds."""
    off: Array
    """(n,) metres or radians."""
    place: Array | None
    """(3,) metres, world: where its first point is meanwhile."""

    @property
    def outcome(self) -> Outcome:
        """How well it is met, as solvers tell it."""
        if len(self.off) == 0:
            return Outcome(constraint=self.constraint, worst=0.0, time=0.0, mean=0.0)
        worst = int(np.argmax(self.off))
        return Outcome(
            constraint=self.constraint,
            worst=float(self.off[worst]),
            time=float(self.times[worst]),
            mean=float(self.off.mean()),
        )


def moved_bodies(problem: Problem, motions: Sequence[Motion]) -> tuple[Body, ...]:
    """The bodies of a problem as they are in motions of its actors."""
    bodies = []
    for body, motion in zip(problem.bodies, motions, strict=True):
        kept = [motion.skeleton.index[name] for name in body.skeleton.names]
        moved = replace(body.motion, root=motion.root, rotations=motion.rotations[:, kept])
        bodies.append(replace(body, motion=moved))
    return tuple(bodies)


def look(problem: Problem, motions: Sequence[Motion], *, quickly: bool = False) -> tuple[Held, ...]:
    """How well motions of a problem's actors meet each of its constraints.

    Args:
        problem: What is asked.
        motions: What the actors do.
        quickly: Whether to look at no more than 30 frames a second, and where constraints begin and end.
    """
    frames = np.arange(len(problem.times))
    step = int(motions[0].fps // RATE)
    if quickly and step > 1:
        ends = [held[[0, -1]] if len(held) else held for held in problem.held]
        frames = np.unique(np.concatenate([frames[::step], *ends]))
    sample = ProblemAtFrames(problem=problem, bodies=moved_bodies(problem, motions), frames=frames)
    evaluation = sample.measure()
    found = []
    for target, held, view, off in zip(
        sample.targets, sample.holds, evaluation.views, evaluation.violation, strict=True
    ):
        found.append(
            Held(
                constraint=target.constraint,
                times=sample.times[held],
                off=off.max(axis=1) if off.shape[1] else np.zeros(len(held)),
                place=view.points[:, 0].mean(axis=0) if view.points.shape[1] and len(held) else None,
            )
        )
    return tuple(found)


def make_tracks(
    held: Sequence[Held],
    contacts: Sequence[Contact],
    constraints: Sequence[Constraint],
    duration: float,
    *,
    listed: bool = True,
    first: str = "",
) -> list[dict[str, Any]]:
    """The timeline's lines, in the order of the document: contacts, constraints, then floor and limits.

    Args:
        held: How well everything is met.
        contacts: Those of the document, or those found where it lists none.
        constraints: Those of the document.
        duration: Seconds.
        listed: Whether the contacts are the document's own.
        first: The name of the first actor, whose constraints need not say so.
    """
    own = {id(constraint): number for number, constraint in enumerate(constraints)}
    asked: dict[int, Held] = {own[id(h.constraint)]: h for h in held if id(h.constraint) in own}
    rest = [h for h in held if id(h.constraint) not in own]
    floor, limits, others = _sorted(rest)
    kept = _by_contact(others, contacts)
    found = []
    for number, contact in enumerate(contacts):
        path: list[str | int] | None = ["recipe", "contact", number] if listed else None
        found.append(_contact_track(contact, kept.get(number, []), duration, path, first))
    for number, constraint in enumerate(constraints):
        found.append(_track(constraint, [asked[number]] if number in asked else [], duration, first)
                     | {"path": ["recipe", "constraint", number]})  # fmt: skip
    for kind, label, group in (("floor", "above the floor", floor), ("limits", "joint limits", limits)):
        if group:
            found.append(_group_track(kind, label, group, duration))
    return found


def standing_points(problem: Problem, contacts: Sequence[Contact], actors: set[str]) -> list[tuple[Point, np.ndarray]]:
    """The points of some actors that contacts keep on the floor, and the frames in which they do."""
    floor = {contact_name(contact) for contact in contacts if contact.on == "floor"}
    found = []
    for constraint, frames in zip(problem.constraints, problem.held, strict=True):
        name = constraint.name.partition(">")[0] + (TIMED.findall(constraint.name) or [""])[0]
        if (constraint.name in floor or name in floor) and constraint.point_refs()[0].actor in actors:
            spot = constraint.point_refs()[0]
            found.append((problem.resolve(constraint, spot)[1], frames))
    return found


def _sorted(held: Sequence[Held]) -> tuple[list[Held], list[Held], list[Held]]:
    """What keeps points above the floor, joints in their limits, and everything else."""
    floor = [h for h in held if h.constraint.kind == "region"]
    limits = [h for h in held if h.constraint.kind == "joint_range"]
    return floor, limits, [h for h in held if h.constraint.kind not in ("region", "joint_range")]


def _by_contact(held: Sequence[Held], contacts: Sequence[Contact]) -> dict[int, list[Held]]:
    """What came of each contact, by its number."""
    exact: dict[str, int] = {}
    named: dict[str, list[int]] = {}
    for number, contact in enumerate(contacts):
        exact.setdefault(contact_name(contact), number)
        for name in {contact.point.name, f"{contact.actor} {contact.point.name}".strip()}:
            named.setdefault(name, []).append(number)
    found: dict[int, list[Held]] = {}
    for each in held:
        name = each.constraint.name
        if name in exact:
            found.setdefault(exact[name], []).append(each)
            continue
        label = TIMED.sub("", name)
        for joiner in JOINERS:
            label = label.partition(joiner)[0]
        for number in named.get(label, []):
            if len(each.times) and _overlap(contacts[number], each):
                found.setdefault(number, []).append(each)
    return found


def _overlap(contact: Contact, held: Held) -> bool:
    return bool(contact.start <= held.times[-1] + 1e-6 and contact.end >= held.times[0] - 1e-6)


def _contact_track(
    contact: Contact, held: list[Held], duration: float, path: list[str | int] | None, first: str
) -> dict[str, Any]:
    track = _group_track("contact", f"{contact.point.name} on {contact.on}", held, duration)
    spot = held[0].constraint.point_refs()[0] if held and held[0].constraint.point_refs() else None
    place = held[0].place if held else contact.place
    return track | {
        "path": path,
        "actor": contact.actor or first,
        "start": max(contact.start, 0.0),
        "end": min(contact.end, duration),
        "confidence": float(contact.confidence),
        "spot": None if spot is None else _name(spot.point),
        "place": None if place is None else [float(x) for x in place],
    }


def _track(constraint: Constraint, held: list[Held], duration: float, first: str) -> dict[str, Any]:
    """The line of a constraint of the document."""
    named = (*constraint.point_refs(), *constraint.joints())
    spot = constraint.point_refs()[0] if constraint.point_refs() else None
    wanted = getattr(constraint, "target", None)
    if not isinstance(wanted, np.ndarray):
        wanted = held[0].place if held else None
    track = _group_track(constraint.kind, constraint.label, held, duration)
    return track | {
        "actor": (named[0].actor if named else "") or first,
        "start": float(np.clip(constraint.start, 0.0, duration)),
        "end": float(np.clip(constraint.end, 0.0, duration)),
        "instants": [float(t) for t in constraint.instants],
        "tolerance": float(constraint.tolerance),
        "unit": "rad" if constraint.angular else "m",
        "spot": None if spot is None else _name(spot.point),
        "place": None if wanted is None else [float(x) for x in wanted],
    }


def _name(point: Any) -> str:
    return point if isinstance(point, str) else str(point.name)


def _group_track(kind: str, label: str, held: Sequence[Held], duration: float) -> dict[str, Any]:
    """A line for several constraints that are looked at as one."""
    outcomes = [each.outcome for each in held]
    worst = max(outcomes, key=lambda each: each.worst / each.constraint.tolerance, default=None)
    return {
        "path": None,
        "kind": kind,
        "label": label,
        "actor": "",
        "start": 0.0,
        "end": float(duration),
        "instants": [],
        "confidence": None,
        "spot": None,
        "place": None,
        "met": all(each.met for each in outcomes),
        "worst": 0.0 if worst is None else worst.worst,
        "worst_time": 0.0 if worst is None else worst.time,
        "tolerance": 1e-3 if worst is None else float(worst.constraint.tolerance),
        "unit": "rad" if worst is not None and worst.constraint.angular else "m",
        "errors": error_bins(held, duration),
    }


def error_bins(held: Sequence[Held], duration: float) -> list[float | None]:
    """The largest violation in each of even pieces of the time, in tolerances; None where nothing holds."""
    bins = max(min(BINS, int(np.ceil(duration * RATE))), 1)
    out = np.full(bins, -1.0)
    for each in held:
        if len(each.times):
            at = np.minimum((each.times / max(duration, 1e-9) * bins).astype(int), bins - 1)
            np.maximum.at(out, at, each.off / each.constraint.tolerance)
    return [None if value < 0.0 else round(value, 3) for value in out.tolist()]


def plain_tracks(held: Sequence[Held], duration: float, *, shift: float = 0.0) -> list[dict[str, Any]]:
    """Lines for constraints that no document lists: one each, floor and limits together; `shift` seconds later."""
    moved = [replace(each, times=each.times + shift) for each in held]
    floor, limits, others = _sorted(moved)
    found = []
    for each in others:
        first, last = (float(each.times[0]), float(each.times[-1])) if len(each.times) else (0.0, 0.0)
        track = _track(each.constraint, [each], duration, "")
        found.append(track | {"kind": "contact", "start": max(first, 0.0), "end": min(last, duration), "instants": []})
    for kind, label, group in (("floor", "above the floor", floor), ("limits", "joint limits", limits)):
        if group:
            found.append(_group_track(kind, label, group, duration))
    return found


def instant_track(kind: str, label: str, time: float, off: float, tolerance: float, duration: float) -> dict[str, Any]:
    """A line for something at one moment, metres off."""
    errors = error_bins((), duration)
    errors[min(int(time / max(duration, 1e-9) * len(errors)), len(errors) - 1)] = round(off / tolerance, 3)
    return _group_track(kind, label, (), duration) | {
        "start": time, "end": time, "instants": [time], "met": off <= tolerance, "worst": off, "worst_time": time,
        "tolerance": tolerance, "errors": errors,
    }  # fmt: skip
