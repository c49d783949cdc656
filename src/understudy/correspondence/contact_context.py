"""Converts sizes and points of a source to those of its target."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.correspondence.landing import Landing
from understudy.figure.contacts import Contact
from understudy.figure.floor import Floor, leg_ratio
from understudy.figure.kinematics import Pose
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactContext:
    """A source, its target, and the floor that they stand on."""

    source: Motion
    target: Skeleton
    floor: Floor
    actor: str = ""
    share: Array | None = None
    """(F,) blend from source (0) to target (1) body at each frame; None for the target body throughout."""
    landing: Landing | None = None
    """Landing points on a target of different structure; None for the same structure."""
    start: Motion | None = None
    """The source's motion on the target's body before the solve, if available."""
    feet: Pose | None = None
    """Positions of the joints of the source's feet, if available."""

    @cached
    def ratio(self) -> float:
        """Ratio of the target's steps to the source's."""
        return leg_ratio(self.source.skeleton, self.target) if self.landing is None else self.landing.ratio

    def size(self, ratio: float, time: float) -> float:
        """A ratio of target to source at a time, for a body that changes."""
        if self.share is None:
            return ratio
        return float(np.interp(time, self.source.times, self.sizes(ratio)))

    def sizes(self, ratio: float) -> Array:
        """A ratio of target to source at every frame (F,), or () if it does not change."""
        return np.array(ratio) if self.share is None else 1.0 + self.share * (ratio - 1.0)

    def point(self, point: Point) -> Point:
        """The corresponding point of the target: its end of that name, else the point scaled with its bones."""
        if self.landing is not None:
            return self.landing.points[point.name]
        key = point.name, point.joint, point.offset.tobytes()
        if key not in self._points:
            own_end = next((e for e in self.target.ends if e.name == point.name and e.joint == point.joint), None)
            self._points[key] = own_end or replace(point, offset=point.offset * self.bone_ratio(point))
        return self._points[key]

    @cached
    def _points(self) -> dict[tuple[str, str, bytes], Point]:
        """Cache of `point`."""
        return {}

    def bone_ratio(self, point: Point) -> float:
        """Length ratio of the target's bones at a point's joint: the bones below it, else the bone above."""
        if self.landing is not None:
            return self.landing.ratio
        if point.joint not in self._ratios:
            source = self.source.skeleton
            joint = source.joint(point.joint)
            candidates = [list(source.children[joint]), [joint]]
            bones = next((joints for joints in candidates if source.lengths[joints].sum() > 1e-9), None)
            ratio = self.ratio if bones is None else self.target.lengths[bones].sum() / source.lengths[bones].sum()
            self._ratios[point.joint] = float(ratio)
        return self._ratios[point.joint]

    @cached
    def _ratios(self) -> dict[str, float]:
        """Cache of `bone_ratio` by joint."""
        return {}

    def rise(self, contact: Contact) -> float:
        """Metres above the floor of a contact's point on the target."""
        assert contact.place is not None
        height = float(contact.place[1] - self.floor.heights(contact.place))
        if self.landing is not None and contact.point.name in self.landing.rises:
            source_rise, target_rise = self.landing.rises[contact.point.name]
            return target_rise if np.isnan(source_rise) else target_rise + self.ratio * (height - source_rise)
        return height * self.size(self.bone_ratio(contact.point), 0.5 * (contact.start + contact.end))
