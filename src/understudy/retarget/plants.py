"""Contacts made into constraints: the source's footplants and holds, on a target of other size."""

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
from understudy.correspondence.contact_context import ContactContext
from understudy.figure.contacts import Contact
from understudy.figure.floor import scaled_places
from understudy.figure.kinematics import fk
from understudy.figure.naming import side

PLANTS = ("free", "fixed", "none")
"""How footplants are kept: where the solver likes, where they were, or not."""


def contact_constraints(
    stage: ContactContext, contacts: Sequence[Contact], stages: Sequence[ContactContext], *, fixed: bool
) -> list[Constraint]:
    """What keeps a source's contacts on the target, named after point and time.

    Points on the floor stay where they land; points on things that stand fast are where they were; points on things
    that move keep their distance from each other and are there when the thing is picked up; points on other actors
    stay with the point they touch.
    """
    anchors = _anchors(contacts) if fixed or stage.share is not None else set()
    made: list[Constraint] = []
    carried: list[Contact] = []
    for number, contact in enumerate(contacts):
        if contact.other is not None:
            made.append(_attached(stage, contact, stages))
        elif contact.place is None:
            carried.append(contact)
        elif contact.on == "floor":
            made.append(_planted(stage, contact, anchor=number in anchors, fixed=fixed))
        elif contact.on == "hold":
            made.append(SamePlace(spot=_spot(stage, contact), **_when(contact)))
        else:
            made.append(Place(spot=_spot(stage, contact), target=contact.place, **_when(contact)))
    return made + _carried(stage, carried)


class _When(TypedDict):
    start: float
    end: float
    name: str


def _when(contact: Contact) -> _When:
    return {"start": contact.start, "end": contact.end, "name": contact_name(contact)}


def contact_name(contact: Contact) -> str:
    """What the constraint of a contact is called."""
    name = f"{contact.point.name} {contact.start:.2f}-{contact.end:.2f} s"
    return f"{contact.actor} {name}".strip()


def _spot(stage: ContactContext, contact: Contact) -> PointRef:
    if stage.share is None:
        return PointRef(point=stage.point(contact.point), actor=stage.actor)
    # On a body that changes size the point is where it is in the middle of the contact.
    ratio = stage.size(stage.bone_ratio(contact.point), 0.5 * (contact.start + contact.end))
    return PointRef(point=replace(contact.point, offset=ratio * contact.point.offset), actor=stage.actor)


def _planted(stage: ContactContext, contact: Contact, *, anchor: bool, fixed: bool) -> Constraint:
    """A footplant: pinned where it was, still wherever it lands, or, on a foot that changes size, only on the floor."""
    assert contact.place is not None
    place = contact.place if fixed else scaled_places(contact.place, stage.ratio, stage.floor)
    height = float(stage.floor.heights(place)) + stage.rise(contact)
    if stage.share is not None and not anchor:
        return Place(spot=_spot(stage, contact), target=np.array([0.0, height, 0.0]), axes="y", **_when(contact))
    if anchor and fixed:
        return Place(spot=_spot(stage, contact), target=np.array([place[0], height, place[2]]), **_when(contact))
    return SamePlace(spot=_spot(stage, contact), height=height, **_when(contact))


def _attached(stage: ContactContext, contact: Contact, stages: Sequence[ContactContext]) -> Constraint:
    assert contact.other is not None
    other = next(s for s in stages if s.actor == contact.on)
    touched = PointRef(point=other.point(contact.other), actor=contact.on)
    return Attach(spot=_spot(stage, contact), to=touched, **_when(contact))


def _carried(stage: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """Points that carry a thing: as far apart as it is wide, and at its place when it is picked up."""
    if not contacts:
        return []
    pose = fk(stage.source)
    made: list[Constraint] = []
    for number, contact in enumerate(contacts):
        frames = contact.frames(stage.source.fps, stage.source.num_frames)
        if len(frames) == 0:
            continue
        path = pose.points([contact.point])[:, 0]
        grasp = Place(
            spot=_spot(stage, contact),
            target=path[frames[0]],
            instants=(contact.start,),
            name=f"{contact.point.name} picks up {contact.on} at {contact.start:.2f} s",
        )
        made.append(grasp)
        for other in contacts[number + 1 :]:
            start, end = max(contact.start, other.start), min(contact.end, other.end)
            if other.on != contact.on or end <= start:
                continue
            gap = np.linalg.norm(path - pose.points([other.point])[:, 0], axis=-1)[frames]
            made.append(
                Distance(
                    first=_spot(stage, contact),
                    second=_spot(stage, other),
                    length=float(np.median(gap)),
                    start=start,
                    end=end,
                    name=f"{contact.point.name} and {other.point.name} carry {contact.on}",
                )
            )
    return made


def _anchors(contacts: Sequence[Contact]) -> set[int]:
    """Of contacts of one limb that overlap in time, the first: one point is pinned, the others only keep still.

    Pinning several points of a foot where they were asks the impossible of a foot of another length.
    """
    chosen: set[int] = set()
    for number, contact in sorted(enumerate(contacts), key=lambda item: item[1].start):
        limb = side(contact.point.joint) or contact.point.joint
        clash = any(
            (side(contacts[i].point.joint) or contacts[i].point.joint) == limb
            and contacts[i].start <= contact.end
            and contact.start <= contacts[i].end
            for i in chosen
        )
        if not clash:
            chosen.add(number)
    return chosen
