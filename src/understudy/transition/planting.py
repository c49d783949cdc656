"""Feet that stay planted while one body turns into another: which points stand over a blend, and when.

The first motion's contacts count while a frame is more of it, the second's from there on. What stands when the blend
begins stays where it stands; what stands when it ends is already there; what stands only in between stays where it
lands. A foot whose bones change length is held by one of its points at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.contacts import Contact
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.skeleton import Point
from understudy.transition.blending import Blend, Passage

SHORTEST = 0.06
"""Seconds that a point stands at least to be planted."""
NEAR = (0.01, 0.04)
"""Leg lengths by which a point may be off the height at which it stands and still be planted: on a body that stays the
same, whose feet are held by several points at once, and on one that changes, where a hand that is to become a paw is
not planted before it has come down."""
FAR = 0.2
"""Leg lengths from where it will stand within which a point that stands in the end is planted: before, it is on its
way there."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Plant:
    """A point of the blended body that stands still over some frames of the blend."""

    limb: str
    point: Point
    first: int
    """Frame of the whole motion."""
    last: int
    stood: bool
    """Whether it stands already when the blend begins."""
    stays: bool
    """Whether it still stands when the blend ends."""

    @property
    def name(self) -> str:
        return f"{self.point.name} at frames {self.first}-{self.last}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Footing:
    """A contact of one of the motions, on the skeleton of both."""

    limb: str
    point: Point
    contact: Contact


def plants(
    blended: Blend, way: Passage, footings: tuple[Sequence[Footing], Sequence[Footing]], leg: float
) -> tuple[Plant, ...]:
    """What stands over the frames of a blend.

    Args:
        blended: The joined motion.
        way: The clocks of the blend.
        footings: The contacts of the first and of the second motion.
        leg: Metres: the bodies' leg length.
    """
    middle = int(np.argmax(blended.share >= 0.5))
    near = NEAR[blended.motion.offsets is not None] * leg
    found: list[Plant] = []
    for which, mine in enumerate(footings):
        for footing in mine:
            first, last = _mapped(blended, way, which, footing.contact)
            stood, stays = which == 0 and first <= blended.start, which == 1 and last >= blended.end
            low, high = _lowered(blended, footing.point, which, middle, near)
            first, last = max(first, low), min(last, high)
            if stays:
                first = max(first, _arrived(blended, footing.point, FAR * leg))
            if first <= last:
                plant = Plant(limb=footing.limb, point=footing.point, first=first, last=last, stood=stood, stays=stays)
                found.append(plant)
    found = _continued(found, middle)
    if blended.motion.offsets is not None:
        found = _one_at_a_time(found)
    shortest = max(round(SHORTEST * way.fps), 2)
    return tuple(plant for plant in found if plant.last - plant.first + 1 >= shortest)


def _lowered(blended: Blend, point: Point, which: int, middle: int, near: float) -> tuple[int, int]:
    """First and last frame at which a point of one motion's contacts can stand: while a frame is more of that motion,
    and the point not far from as high as it has it."""
    heights = heights_of(blended, point)
    share = blended.share[blended.start : blended.end + 1]
    off = np.abs(heights[1] - heights[0]) * (share if which == 0 else 1.0 - share) > near
    if which == 0:
        return blended.start, min(middle - 1, blended.start + int(np.argmax(off)) - 1 if off.any() else blended.end)
    return max(middle, blended.end - int(np.argmax(off[::-1])) + 1 if off.any() else blended.start), blended.end


def _arrived(blended: Blend, point: Point, far: float) -> int:
    """The first frame from which on a point is not far from where it is when the blend ends."""
    path = fk(blended.motion[blended.start : blended.end + 1]).points([point])[:, 0]
    away = np.linalg.norm((path - path[-1])[:, [0, 2]], axis=-1) > far
    return blended.end - int(np.argmax(away[::-1])) + 1 if away.any() else blended.start


def _mapped(blended: Blend, way: Passage, which: int, contact: Contact) -> tuple[int, int]:
    """The frames of the whole motion over which a contact of one of the motions would hold."""
    clock = (way.first, way.second)[which]
    inside = np.arange(blended.start, blended.end + 1, dtype=float)
    out = []
    for time in (contact.start, contact.end):
        frame = float(np.interp(time, clock, inside))
        frame += min(time - clock[0], 0.0) * way.fps + max(time - clock[-1], 0.0) * way.fps
        out.append(frame)
    return int(np.ceil(out[0] - 1e-6)), int(np.floor(out[1] + 1e-6))


def _continued(found: list[Plant], middle: int) -> list[Plant]:
    """Plants with those of one point that meet in the middle of the blend made one."""
    out: list[Plant] = []
    for plant in found:
        before = [p for p in out if _same(p.point, plant.point) and p.last == middle - 1 and plant.first == middle]
        if before:
            out.remove(before[0])
            plant = replace(plant, first=before[0].first, stood=before[0].stood)
        out.append(plant)
    return out


def _same(a: Point, b: Point) -> bool:
    return a.joint == b.joint and bool(np.allclose(a.offset, b.offset, atol=1e-6))


def _one_at_a_time(found: list[Plant]) -> list[Plant]:
    """Plants of which each limb has one at a time: the earlier until it leaves the floor, then the next."""
    out: list[Plant] = []
    for limb in dict.fromkeys(plant.limb for plant in found):
        free = -1
        for plant in sorted((p for p in found if p.limb == limb), key=lambda p: (p.first, -p.last)):
            if plant.last >= free:
                late = plant.first < free
                first = max(plant.first, free)
                out.append(replace(plant, first=first, stood=plant.stood and not late))
                free = plant.last + 1
    return out


def heights_of(blended: Blend, point: Point) -> Array:
    """(2, N + 1) metres: how high a point is in the first and in the second motion over the frames of the blend."""
    return np.stack([fk(motion).points([point])[:, 0, 1] for motion in blended.sources])
