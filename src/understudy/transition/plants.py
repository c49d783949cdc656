"""Plants over a blend: the shift of the second motion that moves them least, and constraints that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Residuals, Unit
from understudy.constraints.follow import Follow
from understudy.constraints.region import Region
from understudy.figure.contacts import FLOOR_DEPTH_METRES, Contact
from understudy.figure.kinematics import fk
from understudy.figure.skeleton import Point
from understudy.transition.blending import Blend, BlendClocks

MIN_PLANT_SECONDS = 0.06
"""A shorter stance is not planted."""

MAX_HEIGHT_ERRORS_LEGS = (0.01, 0.04)
"""How far a point may be off its standing height and still be planted: on a body that stays the same, whose feet are
held by several points at once, and on one that changes, where a hand that becomes a paw first has to come down."""

MAX_DISTANCE_LEGS = 0.2
"""A point that stands when the blend ends is planted from the frame where it is this near to its final place."""


@record
class BlendPlant:
    """A point of the blended body that stands still over some frames of the blend."""

    limb: str
    point: Point
    first: int
    """Frame of the whole motion."""
    last: int
    at_start: bool
    """Whether it stands when the blend begins."""
    at_end: bool
    """Whether it stands when the blend ends."""

    @property
    def name(self) -> str:
        return f"{self.point.name} at frames {self.first}-{self.last}"


@record
class LimbContact:
    """A contact of one of the motions, on the shared skeleton."""

    limb: str
    point: Point
    contact: Contact


def plants(
    blended: Blend,
    clocks: BlendClocks,
    limb_contacts: tuple[Sequence[LimbContact], Sequence[LimbContact]],
    leg: float,
    max_distance: float = MAX_DISTANCE_LEGS,
) -> tuple[BlendPlant, ...]:
    """Find the points that stand during a blend.

    Args:
        blended: The joined motion.
        clocks: The clocks of the blend.
        limb_contacts: The contacts of the first and of the second motion.
        leg: Leg length of the smaller body, metres.
        max_distance: Leg lengths from its final place at which a point that stands when the blend ends is planted.
    """
    middle = int(np.argmax(blended.share >= 0.5))
    max_error = MAX_HEIGHT_ERRORS_LEGS[blended.motion.offsets is not None] * leg
    candidates: list[BlendPlant] = []
    for which, motion_contacts in enumerate(limb_contacts):
        for source in motion_contacts:
            first, last = _contact_frames(blended, clocks, which, source.contact)
            at_start, at_end = which == 0 and first <= blended.start, which == 1 and last >= blended.end
            earliest, latest = _planting_range(blended, source.point, which, middle, max_error)
            first, last = max(first, earliest), min(last, latest)
            if at_end:
                first = max(first, _arrival_frame(blended, source.point, max_distance * leg))
            if first <= last:
                plant = BlendPlant(
                    limb=source.limb, point=source.point, first=first, last=last, at_start=at_start, at_end=at_end
                )
                candidates.append(plant)
    candidates = _merge_meeting(candidates, middle)
    if blended.motion.offsets is not None:
        candidates = _separate_by_limb(candidates)
    min_frames = max(round(MIN_PLANT_SECONDS * clocks.fps), 2)
    return tuple(plant for plant in candidates if plant.last - plant.first + 1 >= min_frames)


def _planting_range(blended: Blend, point: Point, which: int, middle: int, max_error: float) -> tuple[int, int]:
    """First and last frame at which a contact point of one motion can stand: that motion has the larger weight, and the
    point is within `max_error` metres of its height in that motion."""
    heights = heights_of(blended, point)
    share = blended.share[blended.start : blended.end + 1]
    too_high = np.abs(heights[1] - heights[0]) * (share if which == 0 else 1.0 - share) > max_error
    if which == 0:
        last = blended.start + int(np.argmax(too_high)) - 1 if too_high.any() else blended.end
        return blended.start, min(middle - 1, last)
    first = blended.end - int(np.argmax(too_high[::-1])) + 1 if too_high.any() else blended.start
    return max(middle, first), blended.end


def _arrival_frame(blended: Blend, point: Point, max_distance: float) -> int:
    """The first frame from which on a point stays within `max_distance` metres of its place at the end of the blend."""
    path = fk(blended.motion[blended.start : blended.end + 1]).points([point])[:, 0]
    too_far = np.linalg.norm((path - path[-1])[:, [0, 2]], axis=-1) > max_distance
    return blended.end - int(np.argmax(too_far[::-1])) + 1 if too_far.any() else blended.start


def _contact_frames(blended: Blend, clocks: BlendClocks, which: int, contact: Contact) -> tuple[int, int]:
    """The frames of the joined motion over which a contact of one of the motions would hold."""
    clock = (clocks.first, clocks.second)[which]
    blend_frames = np.arange(blended.start, blended.end + 1, dtype=float)
    frames = []
    for time in (contact.start, contact.end):
        frame = float(np.interp(time, clock, blend_frames))
        frame += min(time - clock[0], 0.0) * clocks.fps + max(time - clock[-1], 0.0) * clocks.fps
        frames.append(frame)
    return int(np.ceil(frames[0] - 1e-6)), int(np.floor(frames[1] + 1e-6))


def _merge_meeting(plants: list[BlendPlant], middle: int) -> list[BlendPlant]:
    """Merge plants of the same point that meet in the middle of the blend."""
    merged: list[BlendPlant] = []
    for plant in plants:
        before = [
            p for p in merged if _is_same_point(p.point, plant.point) and p.last == middle - 1 and plant.first == middle
        ]
        if before:
            merged.remove(before[0])
            plant = replace(plant, first=before[0].first, at_start=before[0].at_start)
        merged.append(plant)
    return merged


def _is_same_point(a: Point, b: Point) -> bool:
    return a.joint == b.joint and bool(np.allclose(a.offset, b.offset, atol=1e-6))


def _separate_by_limb(plants: list[BlendPlant]) -> list[BlendPlant]:
    """Trim plants so that each limb has one at a time: the next begins where the earlier ends."""
    separated: list[BlendPlant] = []
    for limb in dict.fromkeys(plant.limb for plant in plants):
        next_free = -1
        for plant in sorted((p for p in plants if p.limb == limb), key=lambda p: (p.first, -p.last)):
            if plant.last >= next_free:
                overlaps = plant.first < next_free
                first = max(plant.first, next_free)
                separated.append(replace(plant, first=first, at_start=plant.at_start and not overlaps))
                next_free = plant.last + 1
    return separated


def heights_of(blended: Blend, point: Point) -> Array:
    """(2, N + 1) metres: height of a point in the first and in the second motion over the blend."""
    return np.stack([fk(motion).points([point])[:, 0, 1] for motion in blended.sources])


MAX_SLIDE_METRES = 2e-3
"""A foot that slides farther while it stands is reported."""


@record
class Still(Constraint):
    """A point keeps its horizontal place, wherever that is; its height is free."""

    kind: ClassVar[str] = "still"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointRef

    def point_refs(self) -> tuple[PointRef, ...]:
        return (self.point,)

    def rows(self, view: ConstraintInput) -> Residuals:
        horizontal = np.array([0, 2])
        d_points = np.broadcast_to(np.eye(3)[horizontal][:, None], (len(view.times), 2, 1, 3))
        return Residuals(values=view.points[:, 0, horizontal], d_points=d_points, same_as_previous=np.ones(2, bool))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Still:
        return cls(point=PointRef(point=str(rng.choice(["lower", "tip"]))))


def shift_to_plants(blended: Blend, standing: Sequence[BlendPlant]) -> tuple[Blend, tuple[str, ...]]:
    """Shift the second part of a blend over the floor so that plants move least.

    The shift has the weight of the second motion at each frame. Returns the blend and notes on what still slides: limbs
    that stand all through the blend, in places that no single shift brings together.
    """
    # Least squares for the shift, one row per frame: weight * shift = gap. The weight is how much moves the point.
    weight_rows, gaps = [np.zeros(0)], [np.zeros((0, 3))]
    spanning = _find_spanning(blended, standing)
    for _, point in spanning:
        positions = [fk(blended.motion[k : k + 1]).points([point])[0] for k in (blended.start, blended.end)]
        weight_rows.append(np.ones(1))
        gaps.append(positions[0] - positions[1])
    for plant in standing:
        if spanning:
            break
        frames = np.arange(plant.first, plant.last + 1)
        path = fk(blended.motion[plant.first : plant.last + 1]).points([plant.point])[:, 0]
        share, target = blended.share[frames], path.mean(axis=0)
        if plant.at_start or plant.at_end:
            frame = blended.start if plant.at_start else blended.end
            target = fk(blended.motion[frame : frame + 1]).points([plant.point])[0, 0]
            share = share if plant.at_start else share - 1.0
        else:
            share = share - share.mean()
        weight_rows.append(share)
        gaps.append(target - path)
    weights, gap_rows = np.concatenate(weight_rows), np.concatenate(gaps) * [1.0, 0.0, 1.0]
    shift = weights @ gap_rows / max(float(weights @ weights), 1e-3)
    second = replace(blended.second, root=blended.second.root + shift)
    motion = replace(blended.motion, root=blended.motion.root + blended.share[:, None] * shift)
    result = replace(blended, motion=motion, second=second, shift=blended.shift + shift)
    return result, tuple(_slide_notes(result, standing))


def _slide_notes(blended: Blend, standing: Sequence[BlendPlant]) -> list[str]:
    """A note for each point that stands all through the blend but has to slide."""
    begin, end = (fk(blended.motion[frame : frame + 1]) for frame in (blended.start, blended.end))
    notes = []
    for _, point in _find_spanning(blended, standing):
        slide = float(np.linalg.norm(((begin.points([point]) - end.points([point]))[0, 0])[[0, 2]]))
        if slide > MAX_SLIDE_METRES:
            notes.append(
                f"{point.name} stands all through the blend but slides by {100 * slide:.1f} cm, from its place in the "
                "first motion to its place in the second"
            )
    return notes


def _find_spanning(blended: Blend, standing: Sequence[BlendPlant]) -> list[tuple[str, Point]]:
    """Limbs that stand at every frame of the blend, each with the points that stand throughout.

    If its points take turns, as on a foot that changes, the last of them is taken.
    """
    spanning: list[tuple[str, Point]] = []
    for limb in dict.fromkeys(plant.limb for plant in standing):
        limb_plants = [plant for plant in standing if plant.limb == limb]
        stands = np.zeros(blended.end + 1, bool)
        for plant in limb_plants:
            stands[plant.first : plant.last + 1] = True
        if stands[blended.start :].all():
            throughout = [p for p in limb_plants if p.first <= blended.start and p.last >= blended.end]
            spanning += [(limb, p.point) for p in throughout or [max(limb_plants, key=lambda plant: plant.last)]]
    return spanning


def constraints(blended: Blend, standing: Sequence[BlendPlant], begin: int) -> tuple[Constraint, ...]:
    """Constraints that hold plants in place, and keep planted points and all tips above the floor, over the blend.

    Args:
        blended: The joined motion.
        standing: The plants.
        begin: The frame that is time zero of the constraints.
    """
    spanning = _find_spanning(blended, standing)
    result: list[Constraint] = []
    for plant in standing:
        if all(plant.limb != limb for limb, _ in spanning):
            result += _hold_plant(blended, plant, begin)
    frames = np.arange(blended.start, blended.end + 1)
    for limb, point in spanning:
        ends = [fk(blended.motion[frame : frame + 1]).points([point])[0, 0] for frame in (blended.start, blended.end)]
        share = blended.share[frames][:, None]
        path = (1.0 - share) * ends[0] + share * ends[1]
        result += _follow(blended, point, path, frames, begin, f"{limb} stands on {point.name}")
    return (*result, *_keep_above_floor(blended, standing, begin), *_keep_tips_above_floor(blended, standing, begin))


def _hold_plant(blended: Blend, plant: BlendPlant, begin: int) -> list[Constraint]:
    frames = np.arange(plant.first, plant.last + 1)
    share = blended.share[frames]
    heights = heights_of(blended, plant.point)[:, frames - blended.start]
    path = np.zeros((len(frames), 3))
    if plant.at_start or plant.at_end:
        frame = blended.start if plant.at_start else blended.end
        path[:] = fk(blended.motion[frame : frame + 1]).points([plant.point])[0, 0]
    path[:, 1] = (1.0 - share) * heights[0] + share * heights[1]
    if plant.at_start or plant.at_end:
        return _follow(blended, plant.point, path, frames, begin, plant.name)
    times = (frames - begin) / blended.motion.fps
    still = Still(point=PointRef(point=plant.point), start=float(times[0]), end=float(times[-1]), name=plant.name)
    return [still, *_follow(blended, plant.point, path, frames, begin, f"{plant.name} stands", axes="y")]


def _follow(
    blended: Blend, point: Point, path: Array, frames: np.ndarray, begin: int, name: str, axes: str = "xyz"
) -> list[Constraint]:
    """A point follows a path (n, 3) at those of the frames (n,) that may change: inside the blend."""
    inside = (frames > blended.start) & (frames < blended.end)
    if not inside.any():
        return []
    times = (frames[inside] - begin) / blended.motion.fps
    path = path[inside]
    if len(times) == 1:
        times, path = np.array([times[0], times[0] + 1e-3]), np.repeat(path, 2, axis=0)
    ref, start, end = PointRef(point=point), float(times[0]), float(times[-1])
    return [Follow(point=ref, path=path, times=times, axes=axes, start=start, end=end, name=name)]


def floor_height(blended: Blend) -> float:
    """The lowest height of any joint or end before the blend and in the second motion, metres.

    Only frames of the two motions count: between two frames in which a toe flips, it may be far below both.
    """
    lowest = []
    for motion in (blended.motion[: blended.start + 1], blended.second):
        points = fk(motion).points([*motion.skeleton.names, *motion.skeleton.ends])
        lowest.append(float(points[..., 1].min()))
    return min(lowest)


def _keep_tips_above_floor(blended: Blend, standing: Sequence[BlendPlant], begin: int) -> list[Constraint]:
    """No tip, and no joint that the blend alone would sink, goes below the lowest point of both motions."""
    skeleton, fps = blended.motion.skeleton, blended.motion.fps
    planted = {plant.point.joint for plant in standing}
    tips = [
        *skeleton.ends,
        *(skeleton.point(name) for joint, name in enumerate(skeleton.names) if not skeleton.children[joint]),
    ]
    start, end = (blended.start + 1 - begin) / fps, (blended.end - 1 - begin) / fps
    if not start < end or (not standing and blended.motion.offsets is None):
        return []
    lowest = floor_height(blended) - FLOOR_DEPTH_METRES
    points = [skeleton.point(name) for name in skeleton.names]
    heights = fk(blended.motion[blended.start : blended.end + 1]).points([*tips, *points])[..., 1].min(axis=0)
    sunk = [point for point, height in zip([*tips, *points], heights, strict=True) if height < lowest]
    # If nothing stands, nothing else is solved: only points that do sink are a reason to.
    kept = [tip for tip in tips if standing and tip.joint not in planted]
    kept += [point for point in sunk if not any(_is_same_point(point, other) for other in kept)]
    return [
        Region(
            point=PointRef(point=tip),
            centre=np.array([0.0, lowest, 0.0]),
            start=start,
            end=end,
            name=f"{tip.name} not below the floor",
        )
        for tip in kept
    ]


def _keep_above_floor(blended: Blend, standing: Sequence[BlendPlant], begin: int) -> list[Constraint]:
    """A point that stands at some time never sinks below its lowest height in both motions."""
    regions: list[Constraint] = []
    fps = blended.motion.fps
    by_point: dict[tuple[str, bytes], list[BlendPlant]] = {}
    for plant in standing:
        by_point.setdefault((plant.point.joint, plant.point.offset.tobytes()), []).append(plant)
    for point_plants in by_point.values():
        lowest = float(heights_of(blended, point_plants[0].point).min()) - FLOOR_DEPTH_METRES
        region = Region(
            point=PointRef(point=point_plants[0].point),
            centre=np.array([0.0, lowest, 0.0]),
            start=(blended.start + 1 - begin) / fps,
            end=(blended.end - 1 - begin) / fps,
            pauses=tuple(((p.first - begin) / fps, (p.last - begin) / fps) for p in point_plants),
            name=f"{point_plants[0].point.name} above the floor",
        )
        if len(region.frames((np.arange(blended.end + 1) - begin) / fps)):
            regions.append(region)
    return regions
