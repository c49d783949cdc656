"""Contacts painted by hand: the points to paint on, and what the page leaves open: what is touched, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from understudy.base.errors import UnderstudyError
from understudy.base.quaternion import Array
from understudy.figure.contacts import Contact, Floor, contact_points, find_floor
from understudy.figure.kinematics import pose_of
from understudy.figure.measures import hands, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.studio.document import Document

Table = dict[str, Any]

MAX_FLOOR_HEIGHT_LEGS = 0.12
"""Leg lengths above the floor up to which a point that is no foot touches the floor, and a foot is put onto it."""

COMPLETED_ON = ("", "floor", "hold")
"""What a contact may touch for its place to be completed; a prop or actor that moves has no place."""


def touch_tables(motion: Motion) -> list[Table]:
    """The points with which a body usually touches things: what it stands on, and its hands."""
    points = (*contact_points(motion), *hands(motion.skeleton))
    return [
        {"point": point.name, "joint": point.joint, "offset": [float(x) for x in point.offset]}
        for point in {point.name: point for point in points}.values()
    ]


def lacks_place(contact: Table) -> bool:
    """Whether the server has to say where a contact is."""
    return not contact.get("place") and not contact.get("other") and contact.get("on", "") in COMPLETED_ON


def lacks_places(document: Document) -> bool:
    """Whether any contact of a document lacks its place."""
    return document["mode"] == "retarget" and any(lacks_place(contact) for contact in document["recipe"]["contact"])


def with_places(document: Document, motions: Mapping[str, Motion]) -> Document:
    """The document with the places of its contacts completed; those that cannot be completed stay as they are.

    Args:
        document: The document.
        motions: The source motions by actor; an unnamed contact belongs to the first.
    """
    recipe = document["recipe"]
    first = next(iter(motions))
    completed = []
    for contact in recipe["contact"]:
        actor = contact.get("actor") or first
        if lacks_place(contact) and isinstance(actor, str) and actor in motions:
            siblings = [other for other in recipe["contact"] if (other.get("actor") or first) == actor]
            contact = _completed(contact, motions[actor], siblings)
        completed.append(contact)
    return {**document, "recipe": {**recipe, "contact": completed}}


def _completed(contact: Table, motion: Motion, siblings: Sequence[Table]) -> Table:
    """A contact with its place, and what it touches: a foot the floor, another point the floor if it is near."""
    try:
        name, offset = str(contact["point"]), contact.get("offset", (0.0, 0.0, 0.0))
        point = Point(name=name, joint=str(contact.get("joint", name)), offset=offset)
        span = Contact(point=point, start=contact["start"], end=contact["end"])
        joint = motion.skeleton.joint(point.joint)
    except (UnderstudyError, KeyError, TypeError, ValueError):
        # Reading the recipe reports what is wrong with it.
        return contact
    frames = span.frames(motion.fps, motion.num_frames)
    if len(frames) == 0:
        return contact
    path = pose_of(motion[frames], [joint]).points([point])[:, 0]
    plants = [other for other in siblings if other.get("on") == "floor" and _vector(other.get("place")) is not None]
    places = [np.asarray(plant["place"], float) for plant in plants]
    velocity = next((v for plant in plants if (v := _vector(plant.get("velocity"))) is not None), None)
    if velocity is not None:
        path = path - (frames / motion.fps - span.start)[:, None] * velocity
    place, leg = np.median(path, axis=0), leg_length(motion.skeleton)
    floor = find_floor([Contact(point=point, start=0.0, end=0.0, place=other) for other in places], leg)
    is_foot = point.name in {foot.name for foot in contact_points(motion)}
    on = contact.get("on") or ("floor" if is_foot or _is_low(place, floor, leg) else "hold")
    if on == "floor":
        same = [other[1] for plant, other in zip(plants, places, strict=True) if plant.get("point") == point.name]
        place[1] = _height(place, same, leg)
    table = {**contact, "on": on, "place": [round(float(x), 6) for x in place]}
    return table | ({"velocity": velocity.tolist()} if velocity is not None and on == "floor" else {})


def _vector(value: Any) -> Array | None:
    """Three numbers as an array; None if they are none."""
    fits = isinstance(value, list) and len(value) == 3 and all(isinstance(x, int | float) for x in value)
    return np.asarray(value, float) if fits else None


def _is_low(place: Array, floor: Floor, leg: float) -> bool:
    return float(place[1] - floor.heights(place)) < MAX_FLOOR_HEIGHT_LEGS * leg


def _height(place: Array, others: Sequence[float], leg: float) -> float:
    """The height of a painted footplant: that of the point's other plants where these are near."""
    near = [height for height in others if abs(height - place[1]) < MAX_FLOOR_HEIGHT_LEGS * leg]
    return float(np.median(near)) if near else float(place[1])
