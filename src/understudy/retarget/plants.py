"""Constraints from contacts: they keep the source's footplants and holds on a target of another size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np

from understudy.constraints.attach import Attach
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.pairs import ContactContext
from understudy.figure.contacts import Contact, Creep, Detection, find_creeps, scaled_places
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import rest_motion
from understudy.figure.roles import side
from understudy.figure.skeleton import Point, Skeleton

PLANTS = ("free", "fixed", "none")
"""Footplants stay where the solver places them, stay at the source's places, or make no constraints."""


def contact_constraints(
    context: ContactContext, contacts: Sequence[Contact], contexts: Sequence[ContactContext], *, fixed: bool
) -> list[Constraint]:
    """The constraints that keep a source's contacts on the target, named after point and time.

    A point on the floor stays where it lands. A point on a prop that stands still is at the source's place. Points on a
    prop that moves keep their distance and are at the prop when it is picked up. A point on another actor stays with
    the point that it touches. `contexts` are those of all actors; `fixed` pins footplants at the source's places.
    """
    anchors = _anchors(contacts) if fixed or context.share is not None else set()
    rises = _footplant_rises(context, contacts)
    constraints: list[Constraint] = []
    carrying: list[Contact] = []
    for index, contact in enumerate(contacts):
        if contact.other is not None:
            constraints.append(_attach(context, contact, contexts))
        elif contact.place is None:
            carrying.append(contact)
        elif contact.on == "floor":
            constraints.append(_footplant(context, contact, rises[index], anchor=index in anchors, fixed=fixed))
        elif contact.on == "hold":
            constraints.append(SamePlace(point=_point_ref(context, contact), **_span(contact)))
        else:
            constraints.append(Place(point=_point_ref(context, contact), target=contact.place, **_span(contact)))
    return constraints + _carry(context, carrying)


CREEP_WEIGHT = 0.3
"""Weight of the constraint that a foot creeps as the source's foot does."""


def creep_constraints(context: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """Soft constraints: where no contact holds a slow foot near the floor, it moves as far as the source's foot does.

    The ankles are included, so that a foot that stands on one point turns about it as the source's foot does.
    """
    if context.share is not None:
        return []
    standing = {contact.point.name: contact.point for contact in contacts if contact.on == "floor"}
    targets = {name: (point, context.point(point)) for name, point in standing.items()}
    for point, target in list(targets.values()):
        if point.offset.any() and target.offset.any():
            ankles = Point(name=point.joint, joint=point.joint), Point(name=target.joint, joint=target.joint)
            targets[point.joint] = ankles
    creeps = find_creeps(context.source, contacts, [point for point, _ in targets.values()], pose=context.feet)
    return [_creep_constraint(context, creep, targets[creep.point.name][1], contacts) for creep in creeps]


def _creep_constraint(context: ContactContext, creep: Creep, target: Point, contacts: Sequence[Contact]) -> Constraint:
    """The constraint that a point of the target creeps as the source's point does.

    A foot that turns about a held point moves by its own size, and is left to the limb. Any other moves by the length
    of the leg.
    """
    skeleton, (start, end) = context.source.skeleton, (float(creep.times[0]), float(creep.times[-1]))
    joint = skeleton.joint(creep.point.joint)
    held = None
    for contact in contacts:
        foot = skeleton.joint(contact.point.joint)
        is_same_foot = foot in skeleton.chain(joint) or joint in skeleton.chain(foot)
        if is_same_foot and contact.start < end and start < contact.end:
            held = contact
    return SamePlace(
        point=PointRef(point=target, actor=context.actor),
        drift=(context.ratio if held is None else context.bone_ratio(held.point)) * creep.path,
        times=creep.times,
        start=start,
        end=end,
        weight=CREEP_WEIGHT if held is None else 10.0 * CREEP_WEIGHT,
        priority=0 if held is None else -1,
        soft=True,
        name=f"{context.actor} {creep.point.name} creeps {start:.2f}-{end:.2f} s".strip(),
    )


class _Span(TypedDict):
    start: float
    end: float
    name: str


def _span(contact: Contact) -> _Span:
    return {"start": contact.start, "end": contact.end, "name": contact_name(contact)}


class _PlantSpan(_Span):
    slack: float


MAX_PLANT_SLACK_LEGS = 2.5e-4
"""Largest distance, in leg lengths of the target, by which a planted point may shake: 0.2 mm for an adult."""


def _plant_span(context: ContactContext, contact: Contact) -> _PlantSpan:
    """The time of a footplant, and the shaking that it leaves in the point: at most the source's own.

    A foot that is held more closely than it was captured passes its shaking on to a straight knee, many times as large.
    """
    strays = 2.0 * (1.0 - contact.confidence) * Detection().radius
    return {**_span(contact), "slack": min(strays, MAX_PLANT_SLACK_LEGS) * leg_length(context.target)}


def contact_name(contact: Contact) -> str:
    """The name of a contact's constraint."""
    name = f"{contact.point.name} {contact.start:.2f}-{contact.end:.2f} s"
    return f"{contact.actor} {name}".strip()


def _point_ref(context: ContactContext, contact: Contact) -> PointRef:
    if context.share is None:
        return PointRef(point=context.point(contact.point), actor=context.actor)
    # A body that changes size has the size of the middle of the contact throughout the contact.
    ratio = context.size(context.bone_ratio(contact.point), 0.5 * (contact.start + contact.end))
    return PointRef(point=replace(contact.point, offset=ratio * contact.point.offset), actor=context.actor)


def _footplant_rises(context: ContactContext, contacts: Sequence[Contact]) -> dict[int, float]:
    """By index, metres above the floor of the target's point of each footplant.

    Two points of one foot that are held at the same time have distances from the floor that the foot can have: a
    tilted foot keeps the source's tilt, whatever its length against the leg's.
    """
    rises = {
        i: context.rise(contact)
        for i, contact in enumerate(contacts)
        if contact.on == "floor" and contact.place is not None and contact.other is None
    }
    if context.landing is None or context.share is not None:
        return rises
    source, target = context.source.skeleton, context.target
    usual = {i: context.landing.rises.get(contacts[i].point.name, (np.nan, np.nan)) for i in rises}
    for i in sorted(rises, key=lambda i: rises[i]):
        contact, (source_rise, target_rise) = contacts[i], usual[i]
        joint = source.joint(contact.point.joint)
        for j in sorted(rises, key=lambda j: rises[j]):
            other = contacts[j]
            foot = source.joint(other.point.joint)
            is_same_foot = foot in source.chain(joint) or joint in source.chain(foot)
            overlaps = contact.start <= other.end and other.start <= contact.end
            if j == i or rises[j] > rises[i] or not (is_same_foot and overlaps) or np.isnan(source_rise + usual[j][0]):
                continue
            assert contact.place is not None
            assert other.place is not None
            length = _rest_distance(source, contact.point, other.point)
            tilt = _angle(contact.place[1] - other.place[1], length) - _angle(source_rise - usual[j][0], length)
            length = _rest_distance(target, context.point(contact.point), context.point(other.point))
            rises[i] = rises[j] + length * float(np.sin(_angle(target_rise - usual[j][1], length) + tilt))
            break
    return rises


def _angle(rise: float, length: float) -> float:
    """Radians above the level of a line that rises by `rise` over its length."""
    return float(np.arcsin(np.clip(rise / max(length, 1e-9), -1.0, 1.0)))


def _rest_distance(skeleton: Skeleton, first: Point, second: Point) -> float:
    """Metres between two points in the rest pose."""
    places = fk(rest_motion(skeleton)).points([first, second])[0]
    return float(np.linalg.norm(places[0] - places[1]))


def _footplant(context: ContactContext, contact: Contact, rise: float, *, anchor: bool, fixed: bool) -> Constraint:
    """A footplant at a rise above the floor, metres: pinned at the source's place, still wherever it lands,
    carried by a floor that moves, or, on a foot that changes size, only at the height of the floor."""
    assert contact.place is not None
    place = contact.place if fixed else scaled_places(contact.place, context.ratio, context.floor)
    height = float(context.floor.heights(place)) + rise
    point_ref, span = _point_ref(context, contact), _plant_span(context, contact)
    if contact.velocity is not None and contact.end > contact.start:
        way = context.size(context.ratio, contact.start) * (contact.end - contact.start) * contact.velocity
        times = np.array([contact.start, contact.end])
        return SamePlace(point=point_ref, height=height, drift=np.stack([0.0 * way, way]), times=times, **span)
    if context.share is not None and not anchor:
        return Place(point=point_ref, target=np.array([0.0, height, 0.0]), axes="y", **span)
    if anchor and fixed:
        return Place(point=point_ref, target=np.array([place[0], height, place[2]]), **span)
    return SamePlace(point=point_ref, height=height, **span)


def _attach(context: ContactContext, contact: Contact, contexts: Sequence[ContactContext]) -> Constraint:
    assert contact.other is not None
    partner = next(other for other in contexts if other.actor == contact.on)
    touched = PointRef(point=partner.point(contact.other), actor=contact.on)
    return Attach(point=_point_ref(context, contact), to=touched, **_span(contact))


def _carry(context: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """Points that carry a prop: each is at the source's place at the pick-up, and their distances stay the same."""
    if not contacts:
        return []
    pose = fk(context.source)
    constraints: list[Constraint] = []
    for index, contact in enumerate(contacts):
        frames = contact.frames(context.source.fps, context.source.num_frames)
        if len(frames) == 0:
            continue
        path = pose.points([contact.point])[:, 0]
        name = f"{contact.point.name} picks up {contact.on} at {contact.start:.2f} s"
        point_ref = _point_ref(context, contact)
        constraints.append(Place(point=point_ref, target=path[frames[0]], instants=(contact.start,), name=name))
        for other in contacts[index + 1 :]:
            start, end = max(contact.start, other.start), min(contact.end, other.end)
            if other.on != contact.on or end <= start:
                continue
            distances = np.linalg.norm(path - pose.points([other.point])[:, 0], axis=-1)[frames]
            length, second = float(np.median(distances)), _point_ref(context, other)
            name = f"{contact.point.name} and {other.point.name} carry {contact.on}"
            constraints.append(Distance(first=point_ref, second=second, length=length, start=start, end=end, name=name))
    return constraints


def _anchors(contacts: Sequence[Contact]) -> set[int]:
    """The indices of the contacts to pin: of those of one limb that overlap in time, the first.

    A foot of another length cannot keep several points at the source's places; the others only keep still.
    """
    anchors: set[int] = set()
    limbs = [side(contact.point.joint) or contact.point.joint for contact in contacts]
    for index, contact in sorted(enumerate(contacts), key=lambda item: item[1].start):
        overlaps = any(
            limbs[i] == limbs[index] and contacts[i].start <= contact.end and contact.start <= contacts[i].end
            for i in anchors
        )
        if not overlaps:
            anchors.add(index)
    return anchors
