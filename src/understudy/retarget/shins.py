"""Shins that a solve has brought into each other are kept apart.

Where a footplant is, is left to the solver, and it costs little to set down both feet nearer to each other. On a body
with thick legs or narrow hips the shins then go into each other, where those of the start pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from understudy.base.quaternion import Array
from understudy.constraints.apart import Apart
from understudy.constraints.base import PointRef
from understudy.correspondence.step_width import has_human_legs
from understudy.figure.contacts import find_runs
from understudy.figure.kinematics import paths_of
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.surface import capsules, closest_points

if TYPE_CHECKING:
    from understudy.retarget.plan import Plan

MAX_DEPTH_LEGS = 0.012
"""How much deeper than in the start shins may be in each other: a centimetre on an adult."""

AROUND_SECONDS = 0.4
"""Time before and after shins are in each other in which they are kept apart too, so that they are not elsewhere."""

SHIN_ENDS = ("left_lower_leg", "left_foot", "right_lower_leg", "right_foot")


def shin_constraints(plan: Plan, motions: Sequence[Motion]) -> list[Apart]:
    """Constraints that keep shins as far apart as in a plan's starts, around the times at which those of a result of it
    are in each other; none if they are not.

    Args:
        plan: The plan.
        motions: The result of each actor.
    """
    constraints = []
    for assignment, start, motion in zip(plan.assignments, plan.starts, motions, strict=True):
        skeleton = start.skeleton
        if not assignment.moves or not has_human_legs(skeleton):
            continue
        thickness = _thickness_of_shins(motion)
        if thickness is None:
            continue
        # Feet land a little earlier or later than in the start, so that shins pass each other then, too.
        reach = round(0.5 * AROUND_SECONDS * start.fps)
        allowed = np.minimum(_least_around(shin_distances(start), reach), thickness)
        missing = allowed - shin_distances(motion)
        limit = MAX_DEPTH_LEGS * leg_length(skeleton)
        refs = [PointRef(point=skeleton.names[joint], actor=assignment.name) for joint in _shin_ends(start)]
        for first, last, radius in _spans(allowed, missing > limit, missing, round(AROUND_SECONDS * start.fps)):
            constraints.append(
                Apart(
                    part=(refs[0], refs[1]),
                    other=(refs[2], refs[3]),
                    radius=radius,
                    start=first / start.fps,
                    end=last / start.fps,
                    name=f"{assignment.name} shins apart {first / start.fps:.2f}-{last / start.fps:.2f} s".strip(),
                )
            )
    return constraints


def _spans(allowed: Array, deep: np.ndarray, missing: Array, reach: int) -> list[tuple[int, int, float]]:
    """First and last frame of the times in which shins are to be kept apart, and the distance in metres.

    Args:
        allowed: (F,) metres: the distance that shins may have.
        deep: (F,) whether they are nearer than that, by too much.
        missing: (F,) metres: by how much.
        reach: Frames before and after in which they are kept apart too.
    """
    spans: list[tuple[int, int, float]] = []
    for begin, end in find_runs(deep):
        deepest = begin + int(np.argmax(missing[begin : end + 1]))
        # Where the shins of the start are nearer to each other, they may be.
        runs = find_runs(allowed >= allowed[deepest])
        first, last = next(run for run in runs if run[0] <= deepest <= run[1])
        first, last, radius = max(first, begin - reach), min(last, end + reach), float(allowed[deepest])
        if spans and spans[-1][1] >= first and spans[-1][2] == radius:
            first = spans.pop()[0]
        spans.append((first, last, radius))
    return spans


def _least_around(values: Array, reach: int) -> Array:
    """(F,) the least of values (F,) up to so many frames before and after each."""
    padded = np.pad(values, reach, mode="edge")
    least: Array = sliding_window_view(padded, 2 * reach + 1).min(axis=-1)
    return least


def shin_distances(motion: Motion) -> Array:
    """(F,) metres between the lines from knee to ankle of the two legs of a human."""
    knee, ankle, other_knee, other_ankle = paths_of(motion, _shin_ends(motion)).transpose(1, 0, 2)
    share, other_share = closest_points(knee, ankle, other_knee, other_ankle)
    place = knee + share[:, None] * (ankle - knee)
    distance: Array = np.linalg.norm(place - other_knee - other_share[:, None] * (other_ankle - other_knee), axis=-1)
    return distance


def _shin_ends(motion: Motion) -> list[int]:
    joint_of = roles(motion.skeleton)
    return [joint_of[role] for role in SHIN_ENDS]


def _thickness_of_shins(motion: Motion) -> float | None:
    """Metres: the sum of the radii of a human's shins; None if they have none."""
    shapes = capsules(motion.skeleton)
    radii = dict(zip(shapes.parts, shapes.radii.tolist(), strict=True))
    sides = [radii.get(f"{side} lower_leg") for side in ("left", "right")]
    return None if None in sides else float(sum(radius for radius in sides if radius is not None))
