"""A driven body on the ground: standing where it stands, above the floor, and off it while the source is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from understudy.constraints.base import Constraint, Spot
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.contacts import Contact, contact_points
from understudy.driving.points import stands_on, tips
from understudy.geometry.quaternion import Array
from understudy.ground import SUNK
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.plants import contact_name
from understudy.skeleton import Point
from understudy.start import Floor

LOOKS = 3
"""At how many moments of a flight the body is held up at most; between them it follows."""
HIGH = 1e-3
"""Metres below which a flight is no hop."""


def find_flights(contacts: Sequence[Contact], motion: Motion) -> list[tuple[int, int]]:
    """First and last frames of the spans, between two contacts with the floor, in which there is none."""
    down = np.zeros(motion.num_frames, bool)
    for contact in contacts:
        if contact.on == "floor":
            down[contact.frames(motion.fps, motion.num_frames)] = True
    edges = np.flatnonzero(np.diff(down.astype(np.int8)))
    return [(int(a) + 1, int(b)) for a, b in pairwise(edges) if not down[a + 1]]


def clearance(middle: Motion, centre: Array, flights: Sequence[tuple[int, int]], floor: Floor) -> Array:
    """(F,) metres above the floor that the lowest point of a driven body is to be.

    As high as the lowest point of the body that it follows; and, as it has no legs to draw up or stretch out, at least
    as high in each flight as that body's middle rises over a straight line from where it takes off to where it lands.

    Args:
        middle: The motion of the body followed.
        centre: (F, 3) metres, world: the way of that body's middle.
        flights: First and last frames of the source's flights.
        floor: The ground.
    """
    height = np.maximum(lowest(middle, floor), 0.0)
    for first, last in flights:
        frames = np.arange(first - 1, last + 2)
        rise = centre[frames, 1] - np.interp(frames, frames[[0, -1]], centre[frames[[0, -1]], 1])
        height[frames] = np.maximum(height[frames], rise)
    return height


def lowest(motion: Motion, floor: Floor) -> Array:
    """(F,) metres above the floor of the lowest end or point worth watching of a body."""
    places = fk(motion).points((*tips(motion.skeleton), *contact_points(motion)))
    return np.asarray((places[..., 1] - floor.heights(places)).min(axis=1) * floor.normal[1])


def as_high(motion: Motion, height: Array, floor: Floor) -> Motion:
    """A motion raised or lowered at each frame so that its lowest point is at a height (F,) above the floor.

    Points that are followed in the least-squares sense end up between each other: a body that lifts one side pushes
    the other into the floor.
    """
    raised = height - lowest(motion, floor)
    return replace(motion, root=motion.root + raised[:, None] * floor.normal)


def plants(motion: Motion, kept: Sequence[Contact], floor: Floor) -> list[Constraint]:
    """Points stay where they stand, not said where."""
    made: list[Constraint] = []
    for contact in placed(motion, kept):
        assert contact.place is not None
        made.append(
            SamePlace(
                spot=Spot(point=contact.point),
                height=float(floor.heights(contact.place)),
                start=contact.start,
                end=contact.end,
                name=contact_name(contact),
            )
        )
    return made


def placed(motion: Motion, kept: Sequence[Contact]) -> tuple[Contact, ...]:
    """The contacts with the places where their points are in a motion."""
    pose = fk(motion)
    return tuple(
        replace(c, place=pose.points([c.point])[c.frames(motion.fps, motion.num_frames), 0].mean(axis=0)) for c in kept
    )


def above_floor(motion: Motion, kept: Sequence[Contact], floor: Floor) -> list[Constraint]:
    """Every end of the body stays above the floor; while it stands its plant says so already."""
    made: list[Constraint] = []
    for tip in tips(motion.skeleton):
        pauses = tuple((c.start, c.end) for c in kept if c.point.name == tip.name)
        above = replace(_over(tip, floor, -SUNK, f"{tip.name} above the floor"), pauses=pauses)
        if len(above.frames(motion.times)):
            made.append(above)
    return made


def off_floor(motion: Motion, flights: Sequence[tuple[int, int]], height: Array, floor: Floor) -> list[Constraint]:
    """What the body stands on is off the floor while the source is: at moments of each flight, by a height (F,)."""
    made: list[Constraint] = []
    for first, last in flights:
        frames = np.unique(np.linspace(first, last, LOOKS + 2).round().astype(int)[1:-1])
        for frame in frames[height[frames] > HIGH]:
            time = float(motion.times[frame])
            for point in stands_on(motion.skeleton):
                held = _over(point, floor, float(height[frame]), f"{point.name} in the air at {time:.2f} s")
                made.append(replace(held, instants=(time,)))
    return made


def _over(point: Point, floor: Floor, height: float, name: str) -> Region:
    """A point that stays at a height above the floor or higher."""
    return Region(
        spot=Spot(point=point),
        shape="half_space",
        centre=np.array([0.0, floor.height, 0.0]) + height * floor.normal,
        normal=floor.normal,
        name=name,
    )
