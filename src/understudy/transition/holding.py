"""Plants held over a blend: where the second motion goes so that they move least, and what keeps them in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.constraints.base import Constraint, Rows, Spot, View
from understudy.constraints.follow import Follow
from understudy.constraints.region import Region
from understudy.geometry.quaternion import Array
from understudy.ground import SUNK
from understudy.kinematics import fk
from understudy.skeleton import Point
from understudy.transition.blending import Blend
from understudy.transition.planting import Plant, heights_of

SLIDES = 2e-3
"""Metres that a foot may be moved while it stands without being mentioned."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Still(Constraint):
    """A point stays over one place of the floor, not said which, however high it is."""

    kind: ClassVar[str] = "still"

    spot: Spot

    def spots(self) -> tuple[Spot, ...]:
        return (self.spot,)

    def rows(self, view: View) -> Rows:
        level = np.array([0, 2])
        by_points = np.broadcast_to(np.eye(3)[level][:, None], (len(view.times), 2, 1, 3))
        return Rows(values=view.points[:, 0, level], by_points=by_points, linked=np.ones(2, bool))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Still:
        return cls(spot=Spot(point=str(rng.choice(["lower", "tip"]))))


def settled(blended: Blend, standing: Sequence[Plant]) -> tuple[Blend, tuple[str, ...]]:
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


def _slides(blended: Blend, standing: Sequence[Plant]) -> list[str]:
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


def _spanning(blended: Blend, standing: Sequence[Plant]) -> list[tuple[str, Point]]:
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


def constraints(blended: Blend, standing: Sequence[Plant], begin: int) -> tuple[Constraint, ...]:
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


def _planted(blended: Blend, plant: Plant, begin: int) -> list[Constraint]:
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
    still = Still(spot=Spot(point=plant.point), start=float(times[0]), end=float(times[-1]), name=plant.name)
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
    spot, start, end = Spot(point=point), float(times[0]), float(times[-1])
    return [Follow(spot=spot, path=path, times=times, axes=axes, start=start, end=end, name=name)]


def _above(blended: Blend, standing: Sequence[Plant], begin: int) -> list[Constraint]:
    """Points that stand at some time are never lower than in either motion."""
    made: list[Constraint] = []
    fps = blended.motion.fps
    seen: dict[tuple[str, bytes], list[Plant]] = {}
    for plant in standing:
        seen.setdefault((plant.point.joint, plant.point.offset.tobytes()), []).append(plant)
    for mine in seen.values():
        lowest = float(heights_of(blended, mine[0].point).min()) - SUNK
        region = Region(
            spot=Spot(point=mine[0].point),
            centre=np.array([0.0, lowest, 0.0]),
            start=(blended.start + 1 - begin) / fps,
            end=(blended.end - 1 - begin) / fps,
            pauses=tuple(((p.first - begin) / fps, (p.last - begin) / fps) for p in mine),
            name=f"{mine[0].point.name} above the floor",
        )
        if len(region.frames((np.arange(blended.end + 1) - begin) / fps)):
            made.append(region)
    return made
