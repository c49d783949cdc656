"""The three sets of constraints that [Lommers13, sec. 7.1.2] compares, for points of a motion.

All keep points at their positions in the original motion: at all times, at key moments (a footstep, a grasp), or at key
moments that are approached gradually.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from understudy.base.errors import OptionError
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.follow import Follow
from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.metrics.comparison import has_point


def original_position(motion: Motion, points: Sequence[Point | str], *, actor: str = "") -> list[Constraint]:
    """Points stay where they are in the original motion, at every time.

    Args:
        motion: The original.
        points: Points of the original. The constrained character must have them too.
        actor: The actor whose points are constrained; the first if empty.
    """
    places = fk(motion).points(points)
    return [
        Follow(point=PointRef(point=_prefer_name(motion, point), actor=actor), path=places[:, i], **_times(motion))
        for i, point in enumerate(points)
    ]


def key_moment(
    motion: Motion, points: Sequence[Point | str], times: Sequence[float], *, actor: str = ""
) -> list[Constraint]:
    """Points are where they are in the original motion at key moments, seconds, and free in between."""
    places = fk(motion).points(points)
    return [
        Place(
            point=PointRef(point=_prefer_name(motion, point), actor=actor),
            target=places[_nearest_frame(motion, t), i],
            instants=(float(t),),
        )
        for i, point in enumerate(points)
        for t in times
    ]


def key_moment_interpolated(
    motion: Motion,
    points: Sequence[Point | str],
    times: Sequence[float],
    *,
    approach: float = 2.0,
    distance: float = 0.5,
    actor: str = "",
) -> list[Constraint]:
    """As `key_moment`; in addition, the points approach their original path before each key moment.

    Args:
        motion: The original.
        points: Its points.
        times: Key moments, seconds.
        approach: Seconds before a key moment at which the bound on the distance starts.
        distance: Metres allowed from the original path at that start; the bound falls linearly to zero.
        actor: The actor whose points are constrained; the first if empty.
    """
    if not (np.isfinite(approach) and approach > 0.0 and np.isfinite(distance) and distance > 0.0):
        raise OptionError(f"Expected an approach and a distance above zero, got {approach} s and {distance} m")
    places = fk(motion).points(points)
    out = key_moment(motion, points, times, actor=actor)
    for (i, point), t in product(enumerate(points), times):
        start = max(t - approach, 0.0)
        # The key moment itself is an equality, so the bound ends one frame before it.
        end = t - 1.0 / motion.fps
        if end >= start:
            ref = PointRef(point=_prefer_name(motion, point), actor=actor)
            within = distance * np.clip((t - motion.times) / approach, 0.0, None)
            out.append(Follow(point=ref, path=places[:, i], within=within, start=start, end=end, **_times(motion)))
    return out


def _times(motion: Motion) -> dict[str, Any]:
    return {"times": motion.times} if motion.num_frames > 1 else {}


def _prefer_name(motion: Motion, point: Point | str) -> Point | str:
    """The name of a point if the skeleton has it, so that the constrained body uses its own point of that name."""
    return point if isinstance(point, str) else point.name if has_point(motion.skeleton, point) else point


def _nearest_frame(motion: Motion, time: float) -> int:
    if not -1e-6 <= time <= motion.duration + 1e-6:
        raise OptionError(f"Key moment {time:g} s is outside the motion, 0 to {motion.duration:g} s")
    return int(np.argmin(np.abs(motion.times - time)))
