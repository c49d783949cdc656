"""A source, the target that plays it, and how sizes and points of the one become those of the other."""

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
    """A source, the target that plays it, and the ground they stand on."""

    source: Motion
    target: Skeleton
    floor: Floor
    actor: str = ""
    share: Array | None = None
    """(F,) how much of the target the body is at each frame; None for all of it, always."""
    landing: Landing | None = None
    """Where the contacts go on a target of another structure; None for one of the same."""
    start: Motion | None = None
    """The source's motion on the target's body, before anything is solved, if that is known."""
    feet: Pose | None = None
    """Where the joints of the source's feet are, if that is known."""

    @cached
    def ratio(self) -> float:
        """How much larger the target's steps are."""
        return leg_ratio(self.source.skeleton, self.target) if self.landing is None else self.landing.ratio

    def size(self, ratio: float, time: float) -> float:
        """A ratio of target to source as it is at a time, for a body that changes."""
        if self.share is None:
            return ratio
        return float(np.interp(time, self.source.times, self.sizes(ratio)))

    def sizes(self, ratio: float) -> Array:
        """A ratio of target to source as it is at every frame (F,), or () where it does not change."""
        return np.array(ratio) if self.share is None else 1.0 + self.share * (ratio - 1.0)

    def point(self, point: Point) -> Point:
        """The same place on the target's body: an end of its own of that name, else grown as its bones are."""
        if self.landing is not None:
            return self.landing.points[point.name]
        key = point.name, point.joint, point.offset.tobytes()
        if key not in self._points:
            own = next((e for e in self.target.ends if e.name == point.name and e.joint == point.joint), None)
            self._points[key] = own or replace(point, offset=point.offset * self.bone_ratio(point))
        return self._points[key]

    @cached
    def _points(self) -> dict[tuple[str, str, bytes], Point]:
        """What is known already."""
        return {}

    def bone_ratio(self, point: Point) -> float:
        """How much longer the target's bones at a point's joint are: those that leave it, else the one above."""
        if self.landing is not None:
            return self.landing.ratio
        if point.joint not in self._ratios:
            source = self.source.skeleton
            joint = source.joint(point.joint)
            ways = [list(source.children[joint]), [joint]]
            bones = next((way for way in ways if source.lengths[way].sum() > 1e-9), None)
            ratio = self.ratio if bones is None else self.target.lengths[bones].sum() / source.lengths[bones].sum()
            self._ratios[point.joint] = float(ratio)
        return self._ratios[point.joint]

    @cached
    def _ratios(self) -> dict[str, float]:
        """By joint, what is known already."""
        return {}

    def rise(self, contact: Contact) -> float:
        """Metres above the floor at which a contact's point is on the target."""
        assert contact.place is not None
        above = float(contact.place[1] - self.floor.heights(contact.place))
        if self.landing is not None and contact.point.name in self.landing.rises:
            usual, own = self.landing.rises[contact.point.name]
            return own if np.isnan(usual) else own + self.ratio * (above - usual)
        return above * self.size(self.bone_ratio(contact.point), 0.5 * (contact.start + contact.end))
