"""Plants held over a blend: where the second motion goes so that they move least, and what keeps them in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Residuals, Unit
from understudy.constraints.follow import Follow
from understudy.constraints.region import Region
from understudy.figure.contacts import Contact
from understudy.figure.floor import SUNK
from understudy.figure.kinematics import fk
from understudy.figure.skeleton import Point
from understudy.transition.blending import Blend, BlendedMotion

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
class BlendPlant:
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
    blended: Blend, way: BlendedMotion, footings: tuple[Sequence[Footing], Sequence[Footing]], leg: float
) -> tuple[BlendPlant, ...]:
    """What stands over the frames of a blend.

    Args:
        blended: The joined motion.
        way: The clocks of the blend.
        footings: The contacts of the first and of the second motion.
        leg: Metres: the bodies' leg length.
    """
    middle = int(np.argmax(blended.share >= 0.5))
    near = NEAR[blended.motion.offsets is not None] * leg
    found: list[BlendPlant] = []
    for which, mine in enumerate(footings):
        for footing in mine:
            first, last = _mapped(blended, way, which, footing.contact)
            stood, stays = which == 0 and first <= blended.start, which == 1 and last >= blended.end
            low, high = _lowered(blended, footing.point, which, middle, near)
            first, last = max(first, low), min(last, high)
            if stays:
                first = max(first, _arrived(blended, footing.point, FAR * leg))
            if first <= last:
                plant = BlendPlant(
                    limb=footing.limb, point=footing.point, first=first, last=last, stood=stood, stays=stays
                )
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


def _mapped(blended: Blend, way: BlendedMotion, which: int, contact: Contact) -> tuple[int, int]:
    """The frames of the whole motion over which a contact of one of the motions would hold."""
    clock = (way.first, way.second)[which]
    inside = np.arange(blended.start, blended.end + 1, dtype=float)
    out = []
    for time in (contact.start, contact.end):
        frame = float(np.interp(time, clock, inside))
        frame += min(time - clock[0], 0.0) * way.fps + max(time - clock[-1], 0.0) * way.fps
        out.append(frame)
    return int(np.ceil(out[0] - 1e-6)), int(np.floor(out[1] + 1e-6))


def _continued(found: list[BlendPlant], middle: int) -> list[BlendPlant]:
    """Plants with those of one point that meet in the middle of the blend made one."""
    out: list[BlendPlant] = []
    for plant in found:
        before = [p for p in out if _same(p.point, plant.point) and p.last == middle - 1 and plant.first == middle]
        if before:
            out.remove(before[0])
            plant = replace(plant, first=before[0].first, stood=before[0].stood)
        out.append(plant)
    return out


def _same(a: Point, b: Point) -> bool:
    return a.joint == b.joint and bool(np.allclose(a.offset, b.offset, atol=1e-6))


def _one_at_a_time(found: list[BlendPlant]) -> list[BlendPlant]:
    """Plants of which each limb has one at a time: the earlier until it leaves the floor, then the next."""
    out: list[BlendPlant] = []
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


SLIDES = 2e-3
"""Metres that a foot may be moved while it stands without being mentioned."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Still(Constraint):
    """A point stays over one place of the floor, not said which, however high it is."""

    kind: ClassVar[str] = "still"
    unit: ClassVar[Unit] = Unit.METRE

    spot: PointRef

    def point_refs(self) -> tuple[PointRef, ...]:
        return (self.spot,)

    def rows(self, view: ConstraintInput) -> Residuals:
        level = np.array([0, 2])
        d_points = np.broadcast_to(np.eye(3)[level][:, None], (len(view.times), 2, 1, 3))
        return Residuals(values=view.points[:, 0, level], d_points=d_points, same_as_previous=np.ones(2, bool))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Still:
        return cls(spot=PointRef(point=str(rng.choice(["lower", "tip"]))))


def settled(blended: Blend, standing: Sequence[BlendPlant]) -> tuple[Blend, tuple[str, ...]]:
    """The blend with its second part shifted over the floor to where what stands has to be moved least.

    The path goes over to the shift as it goes over to the second motion. Returns also what still has to slide: limbs
    that stand all through the blend, in places that no one shift makes the same.
    """
    # What is wanted of a shift s, a row a frame: share * s = gap, where the share is what the shift moves the point by.
    moved, gaps = [np.zeros(0)], [np.zeros((0, 3))]
    spanning = _spanning(blended, standing)
    for _, point in spanning:
        begin, end = (fk(blended.motion[k : k + 1]).points([point])[0] for k in (blended.start, blended.end))
        moved.append(np.ones(1))
        gaps.append(begin - end)
    for plant in standing:
        if spanning:
            break
        frames = np.arange(plant.first, plant.last + 1)
        path = fk(blended.motion[plant.first : plant.last + 1]).points([plant.point])[:, 0]
        share, target = blended.share[frames], path.mean(axis=0)
        if plant.stood or plant.stays:
            where = blended.start if plant.stood else blended.end
            target = fk(blended.motion[where : where + 1]).points([plant.point])[0, 0]
            share = share if plant.stood else share - 1.0
        else:
            share = share - share.mean()
        moved.append(share)
        gaps.append(target - path)
    shares, wanted = np.concatenate(moved), np.concatenate(gaps) * [1.0, 0.0, 1.0]
    shift = shares @ wanted / max(float(shares @ shares), 1e-3)
    second = replace(blended.second, root=blended.second.root + shift)
    motion = replace(blended.motion, root=blended.motion.root + blended.share[:, None] * shift)
    out = replace(blended, motion=motion, second=second, shift=blended.shift + shift)
    return out, tuple(_slides(out, standing))


def _slides(blended: Blend, standing: Sequence[BlendPlant]) -> list[str]:
    """What stands all through the blend in two places, a sentence each."""
    begin, end = (fk(blended.motion[k : k + 1]) for k in (blended.start, blended.end))
    found = []
    for _, point in _spanning(blended, standing):
        size = float(np.linalg.norm(((begin.points([point]) - end.points([point]))[0, 0])[[0, 2]]))
        if size > SLIDES:
            found.append(
                f"{point.name} stands all through the blend and is moved by {100 * size:.1f} cm, from where the first "
                "motion has it to where the second has it"
            )
    return found


def _spanning(blended: Blend, standing: Sequence[BlendPlant]) -> list[tuple[str, Point]]:
    """Limbs that stand at every frame of the blend, each with the points that it stands on all the while.

    Where its points take turns, as on a foot that changes, the last of them is taken.
    """
    out: list[tuple[str, Point]] = []
    for limb in dict.fromkeys(plant.limb for plant in standing):
        mine = [plant for plant in standing if plant.limb == limb]
        held = np.zeros(blended.end + 1, bool)
        for plant in mine:
            held[plant.first : plant.last + 1] = True
        if held[blended.start :].all():
            whole = [p for p in mine if p.first <= blended.start and p.last >= blended.end]
            out += [(limb, p.point) for p in whole or [max(mine, key=lambda plant: plant.last)]]
    return out


def constraints(blended: Blend, standing: Sequence[BlendPlant], begin: int) -> tuple[Constraint, ...]:
    """What keeps plants where they are, and every point that stands above the ground, over the blend.

    Args:
        blended: The joined motion.
        standing: What stands over the blend.
        begin: The frame at which the time of the constraints begins.
    """
    spanning = _spanning(blended, standing)
    made: list[Constraint] = []
    for plant in standing:
        if all(plant.limb != limb for limb, _ in spanning):
            made += _planted(blended, plant, begin)
    whole = np.arange(blended.start, blended.end + 1)
    for limb, point in spanning:
        ends = [fk(blended.motion[k : k + 1]).points([point])[0, 0] for k in (blended.start, blended.end)]
        share = blended.share[whole][:, None]
        path = (1.0 - share) * ends[0] + share * ends[1]
        made += _follow(blended, point, path, whole, begin, f"{limb} stands on {point.name}")
    return (*made, *_above(blended, standing, begin))


def _planted(blended: Blend, plant: BlendPlant, begin: int) -> list[Constraint]:
    frames = np.arange(plant.first, plant.last + 1)
    share = blended.share[frames]
    heights = heights_of(blended, plant.point)[:, frames - blended.start]
    path = np.zeros((len(frames), 3))
    if plant.stood or plant.stays:
        where = blended.start if plant.stood else blended.end
        path[:] = fk(blended.motion[where : where + 1]).points([plant.point])[0, 0]
    path[:, 1] = (1.0 - share) * heights[0] + share * heights[1]
    if plant.stood or plant.stays:
        return _follow(blended, plant.point, path, frames, begin, plant.name)
    times = (frames - begin) / blended.motion.fps
    still = Still(spot=PointRef(point=plant.point), start=float(times[0]), end=float(times[-1]), name=plant.name)
    return [still, *_follow(blended, plant.point, path, frames, begin, f"{plant.name} stands", axes="y")]


def _follow(
    blended: Blend, point: Point, path: Array, frames: np.ndarray, begin: int, name: str, axes: str = "xyz"
) -> list[Constraint]:
    """A point on a path (n, 3) at those frames (n,) that may be changed."""
    inside = (frames > blended.start) & (frames < blended.end)
    if not inside.any():
        return []
    times = (frames[inside] - begin) / blended.motion.fps
    path = path[inside]
    if len(times) == 1:
        times, path = np.array([times[0], times[0] + 1e-3]), np.repeat(path, 2, axis=0)
    spot, start, end = PointRef(point=point), float(times[0]), float(times[-1])
    return [Follow(spot=spot, path=path, times=times, axes=axes, start=start, end=end, name=name)]


def _above(blended: Blend, standing: Sequence[BlendPlant], begin: int) -> list[Constraint]:
    """Points that stand at some time are never lower than in either motion."""
    made: list[Constraint] = []
    fps = blended.motion.fps
    seen: dict[tuple[str, bytes], list[BlendPlant]] = {}
    for plant in standing:
        seen.setdefault((plant.point.joint, plant.point.offset.tobytes()), []).append(plant)
    for mine in seen.values():
        lowest = float(heights_of(blended, mine[0].point).min()) - SUNK
        region = Region(
            spot=PointRef(point=mine[0].point),
            centre=np.array([0.0, lowest, 0.0]),
            start=(blended.start + 1 - begin) / fps,
            end=(blended.end - 1 - begin) / fps,
            pauses=tuple(((p.first - begin) / fps, (p.last - begin) / fps) for p in mine),
            name=f"{mine[0].point.name} above the floor",
        )
        if len(region.frames((np.arange(blended.end + 1) - begin) / fps)):
            made.append(region)
    return made
