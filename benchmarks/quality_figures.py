"""Path figures of a retarget by the package's own kinematics: jerk of the hips, pops, drift of resting feet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.retarget.driver import Retargeted

MAX_HIPS_JERK_RATIO = 1.10
"""RMS jerk of the hips' path, times the source's."""

MAX_POPS_PER_10_S = 0.0
"""Frames for each 10 s in which the hips or the head jump."""

MAX_DRIFT_SHARE = 0.02
"""Share of the rests of the source's feet in which the result's foot drifts."""

MAX_PLANT_ERROR_METRES = 1e-3
"""Distance of a planted point from where it is to be: the tolerance of the constraints."""

OWN_BOUNDS = {
    "hips_jerk": MAX_HIPS_JERK_RATIO,
    "pops": MAX_POPS_PER_10_S,
    "drift_share": MAX_DRIFT_SHARE,
    "plant_error_mm": 1000.0 * MAX_PLANT_ERROR_METRES,
}
"""The bound of each own figure."""

POP_RATIO, MIN_POP_LEGS = 1.25, 0.0015
"""A frame is a pop if it is farther off the line of its neighbours than this ratio of the source's plus this length."""

POP_REACH_SECONDS = 0.025
"""The source's jumps within this time around a frame count for it."""

REST_RADIUS_LEGS, MIN_REST_SECONDS = 0.01, 0.1
"""A foot rests while it stays within this distance of one place for at least this time."""

MAX_REST_SPEED_LEGS_PER_S = 0.12
"""Mean speed around a frame above which a foot does not rest: a slow step is not a row of rests."""

MAX_REST_HEIGHT_LEGS = 0.12
"""Height above its lowest places within which a foot may rest."""

DRIFT_RATIO, MIN_DRIFT_LEGS = 1.2, 0.003
"""A resting foot drifts if it moves more than this ratio of the source's own movement and more than this length."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyPaths:
    """The paths of the main joints of a body, in leg lengths."""

    hips: Array
    """(F, 3): the middle of the upper legs' joints; rigs put the hips' joint anywhere in the pelvis."""
    head: Array | None
    """(F, 3)"""
    feet: dict[str, Array]
    """(F, 3) by role: ankles and toes."""
    fps: float

    @staticmethod
    def of(motion: Motion) -> BodyPaths:
        joint_of, positions = roles(motion.skeleton), fk(motion).positions / leg_length(motion.skeleton)
        legs = [joint_of[key] for key in ("left_upper_leg", "right_upper_leg") if key in joint_of]
        head = joint_of.get("head", joint_of.get("neck"))
        feet = [f"{side}_{part}" for side in ("left", "right") for part in ("foot", "toe")]
        return BodyPaths(
            hips=positions[:, legs or [0]].mean(axis=1),
            head=None if head is None else positions[:, head],
            feet={role: positions[:, joint_of[role]] for role in feet if role in joint_of},
            fps=motion.fps,
        )


def own_figures(retargeted: Retargeted) -> dict[str, float]:
    """The own figures of a result, by the names of `OWN_BOUNDS`."""
    source = BodyPaths.of(retargeted.prepared.actors[0].motion)
    result = BodyPaths.of(retargeted.solution.motion)
    return {**compare_paths(source, result), "plant_error_mm": 1000.0 * retargeted.quality["contacts"]["worst"]}


def compare_paths(source: BodyPaths, result: BodyPaths) -> dict[str, float]:
    """Jerk of the hips, pops and drift of a result whose frames are those of its source."""
    return {
        "hips_jerk": rms_jerk(result.hips, result.fps) / max(rms_jerk(source.hips, source.fps), 1e-3),
        "pops": count_pops(source, result),
        "drift_share": drift_share(source, result),
    }


def rms_jerk(path: Array, fps: float) -> float:
    """Root mean square jerk of a path (F, 3), in its unit / s^3."""
    third = np.diff(path, n=3, axis=0)
    return float(np.sqrt(np.mean(np.sum(third**2, axis=-1)))) * fps**3 if len(third) else 0.0


def jumps(path: Array) -> Array:
    """(F - 2,) second differences of a path: a step of one frame's length counts as its length."""
    return np.linalg.norm(np.diff(path, n=2, axis=0), axis=-1)


def count_pops(source: BodyPaths, result: BodyPaths) -> float:
    """Frames for each 10 s in which the hips or the head jump and the source's do not."""
    from scipy.ndimage import maximum_filter1d

    reach = max(round(POP_REACH_SECONDS * source.fps), 1)
    popped = np.zeros(max(len(source.hips) - 2, 0), bool)
    for before, after in ((source.hips, result.hips), (source.head, result.head)):
        if before is not None and after is not None and popped.size:
            around = maximum_filter1d(jumps(before), 2 * reach + 1, mode="nearest")
            popped |= jumps(after) > POP_RATIO * around + MIN_POP_LEGS
    return float(10.0 * popped.sum() * source.fps / max(len(source.hips), 1))


def drift_share(source: BodyPaths, result: BodyPaths) -> float:
    """Share of the rests of the source's ankles and toes in which the result's drift."""
    drifted = []
    for role in source.feet.keys() & result.feet.keys():
        before, after = source.feet[role], result.feet[role]
        for first, last in rests(before, source.fps):
            allowed = max(DRIFT_RATIO * spread(before[first:last]), MIN_DRIFT_LEGS)
            drifted.append(spread(after[first:last]) > allowed)
    return float(np.mean(drifted)) if drifted else 0.0


def spread(path: Array) -> float:
    """Greatest distance of a path (n, 3) from its mean place."""
    return float(np.linalg.norm(path - path.mean(axis=0), axis=-1).max())


def rests(path: Array, fps: float) -> list[tuple[int, int]]:
    """The frames [first, last) in which a foot rests: in each stretch of slow frames, the longest within the radius."""
    from scipy.ndimage import uniform_filter1d

    shortest = max(round(MIN_REST_SECONDS * fps), 3)
    if len(path) <= shortest:
        return []
    speeds = np.linalg.norm(np.gradient(path, axis=0), axis=-1) * fps
    slow = uniform_filter1d(speeds, shortest, mode="nearest") < MAX_REST_SPEED_LEGS_PER_S
    slow &= path[:, 1] < np.percentile(path[:, 1], 2) + MAX_REST_HEIGHT_LEGS
    edges = np.flatnonzero(np.diff(np.r_[False, slow, False]))
    found = []
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        first, last = longest_within(path[begin:end], REST_RADIUS_LEGS)
        if last - first >= shortest:
            found.append((int(begin) + first, int(begin) + last))
    return found


def longest_within(path: Array, radius: float) -> tuple[int, int]:
    """The longest [first, last) of a path (n, 3) whose bounding box has half a diagonal of at most a radius."""
    best, first = (0, 0), 0
    low = high = path[0]
    for last in range(1, len(path) + 1):
        low, high = np.minimum(low, path[last - 1]), np.maximum(high, path[last - 1])
        while float(np.sum((high - low) ** 2)) > 4.0 * radius**2:
            first += 1
            low, high = path[first:last].min(axis=0), path[first:last].max(axis=0)
        if last - first > best[1] - best[0]:
            best = (first, last)
    return best
