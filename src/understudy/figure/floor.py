"""The floor: the plane that contacts stand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.base.arrays import median, percentile
from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.figure.contacts import Contact
from understudy.figure.measures import leg_length
from understudy.figure.skeleton import Skeleton

MIN_DEPTH_LEGS = 0.06
"""Leg lengths below a floor at which a contact disproves that floor."""

MIN_SPREAD_RATIO = 0.2
"""Least ratio of the spreads of contacts along two directions at which the narrower one determines a tilt."""

LOWEST_PERCENTILE = 10.0
"""Percentile of the contact heights taken as the floor; contacts below it count as capture errors."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Floor:
    """The ground: a plane, level or nearly level (captured floors are often tilted by a degree)."""

    height: float = 0.0
    """Metres at x = z = 0."""
    slope: Array
    """(2,) rise per metre along x and z."""

    def heights(self, places: Array) -> Array:
        """(...,) metres: height of the floor at places (..., 3)."""
        return self.height + places[..., ::2] @ self.slope

    @cached
    def normal(self) -> Array:
        """(3,) unit normal, upwards."""
        up = np.array([-self.slope[0], 1.0, -self.slope[1]])
        return up / np.linalg.norm(up)


def find_floor(contacts: Sequence[Contact], leg: float) -> Floor:
    """Fit the floor to contacts: a plane through the lower half of their places.

    A tilt is accepted only if the contacts spread over more than a leg length and fit one plane well. If some contacts
    are far below the median, the others are on steps or rungs or are wrong in the capture; then the lowest contacts
    define the floor.
    """
    places = np.array([c.place for c in contacts if c.place is not None and c.on == "floor"]).reshape(-1, 3)
    flat = np.zeros(2)
    if len(places) == 0:
        return Floor(slope=flat)
    low = places[places[:, 1] <= median(places[:, 1]) + 0.1 * leg]
    level = float(median(low[:, 1]))
    if len(low) >= 4 and (low.max(axis=0) - low.min(axis=0))[[0, 2]].max() > leg:
        centre = low.sum(axis=0) / len(low)
        flat_around, rise = (low - centre)[:, [0, 2]], low[:, 1] - centre[1]
        # A straight path does not determine the tilt across it: directions of small spread stay level.
        squares, ways = np.linalg.eigh(flat_around.T @ flat_around)
        steep = np.where(squares > MIN_SPREAD_RATIO**2 * squares[1], 1.0 / np.maximum(squares, 1e-12), 0.0)
        tilt = (ways * steep) @ (ways.T @ (flat_around.T @ rise))
        left = rise - flat_around @ tilt
        if left @ left < 0.25 * (rise @ rise) and np.hypot(*tilt) < 0.1:
            return Floor(height=float(centre[1] - centre[[0, 2]] @ tilt), slope=tilt)
    lowest = float(percentile(low[:, 1], LOWEST_PERCENTILE))
    return Floor(height=lowest if level - lowest > MIN_DEPTH_LEGS * leg else level, slope=flat)


def leg_ratio(source: Skeleton, target: Skeleton) -> float:
    """Ratio of the leg lengths, target to source."""
    return leg_length(target) / leg_length(source)


def scaled_places(places: Array, ratio: float, floor: Floor) -> Array:
    """Places (..., 3) scaled about the point of the floor below the world's origin."""
    centre = np.array([0.0, floor.height, 0.0])
    return centre + ratio * (places - centre)


FLOOR_DEPTH_METRES = 1e-3
"""Metres that the floor constraint lies below a contact, so that it does not duplicate the contact constraint."""
