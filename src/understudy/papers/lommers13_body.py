"""Arms that stay out of the body, for what [Lommers13] saw on its mesh: hands inside the trunk or the legs.

Thickness is that of `understudy.metrics.capsules`, by which every result is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from understudy.body import leg_length
from understudy.constraints.apart import Apart
from understudy.constraints.base import Constraint, Spot, View
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.metrics.capsules import capsules, resting_depths
from understudy.motion import Motion
from understudy.skeleton import Skeleton

ARMS = ("upper_arm", "lower_arm", "hand")
ALMOST = 0.9
"""Share of two parts' radii together that they are deep in each other from which on their lines as good as cross."""


def of_arms(parts: tuple[str, str]) -> bool:
    """Whether one of two parts belongs to an arm."""
    return any(part.endswith(ARMS) for part in parts)


def added_depths(motion: Motion, source: Motion) -> dict[tuple[str, str], float]:
    """Metres that each two parts are in each other at worst, beyond their rest pose and, frame by frame, the source."""
    depths = []
    for each in (motion, source):
        resting = resting_depths(each.skeleton)
        found = capsules(each.skeleton).depths(fk(each))
        depths.append({parts: np.maximum(deep - resting.get(parts, 0.0), 0.0) for parts, deep in found.items()})
    size = leg_length(motion.skeleton) / leg_length(source.skeleton)
    zero = np.zeros(source.num_frames)
    return {parts: float((deep - size * depths[1].get(parts, zero)).max()) for parts, deep in depths[0].items()}


def clear_of_each_other(target: Skeleton) -> list[Constraint]:
    """Keeps the arms of a body out of each other, its trunk, head and legs, but for what its rest pose has."""
    found, resting = capsules(target), resting_depths(target)
    made: list[Constraint] = []
    for one, other in combinations(range(len(found.ends)), 2):
        parts = found.parts[one], found.parts[other]
        key = (min(parts), max(parts))
        if parts[0] == parts[1] or key in found.joined or not of_arms(key):
            continue
        first, second = (tuple(Spot(point=end) for end in found.ends[i]) for i in (one, other))
        apart = max(float(found.radii[one] + found.radii[other]) - resting.get(key, 0.0), 0.0)
        name = f"{parts[0]} clear of {parts[1]} ({found.ends[one][1].name}, {found.ends[other][1].name})"
        made.append(Apart(part=first, other=second, radius=apart, name=name))  # type: ignore[arg-type]
    return made


def pass_through(motion: Motion, clear: Sequence[Constraint]) -> bool:
    """Whether lines of parts that are to keep clear as good as cross: the way out is then not the nearest."""
    return any(
        isinstance(each, Apart) and float(residuals(motion, each).max()) > ALMOST * each.radius > 0.0 for each in clear
    )


def residuals(motion: Motion, constraint: Constraint) -> Array:
    """(n, R) what is left of a constraint of places at its frames: zero where an inequality holds."""
    frames = constraint.frames(motion.times)
    points = fk(motion[frames]).points([spot.point for spot in constraint.spots()])
    turns = np.empty((len(frames), 0, 4))
    values = constraint.rows(View(times=motion.times[frames], points=points, turns=turns)).values
    return np.asarray(values if constraint.relation == "equal" else np.maximum(values, 0.0))
