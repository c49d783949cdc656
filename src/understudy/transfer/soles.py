"""Soles: what two aligned bodies stand on, limb by limb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.body import facing, feet, is_humanoid, leg_length
from understudy.contacts import contact_points
from understudy.geometry.quaternion import Array
from understudy.kinematics import Pose
from understudy.motion import Motion, rest_motion
from understudy.naming import words
from understudy.skeleton import Point, Skeleton
from understudy.symmetry import partners
from understudy.transfer.alignment import Alignment
from understudy.transfer.carry import anchors
from understudy.transfer.layout import Layout
from understudy.transfer.reference import posed, stands_at_rest

BESIDE = 0.1
"""Share of a sole's length along which points lie beside each other."""
OFF_GROUND = 0.05
"""Share of a leg's length above what its limb ends in from which on a point does not stand on the ground."""
LOW = 0.3
"""Share of the hips' height below which a limb may stand on the floor too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Soles:
    """What one of two aligned bodies stands on, limb by limb of the map."""

    pose: Pose
    forward: Array
    limbs: dict[int, list[Point]]
    """Points by the number of their limb; -1 for limbs without a partner."""
    layout: Layout
    alignment: Alignment
    which: str
    stood: list[Point]
    """What of them the reference pose stands on."""

    @staticmethod
    def of(alignment: Alignment, which: str, motion: Motion | None = None) -> Soles:
        skeleton: Skeleton = getattr(alignment.correspondence, which)
        local: Array = getattr(alignment, which)
        layout = Layout(
            correspondence=alignment.correspondence, source=alignment.source, target=alignment.target, upright=True
        )
        still = replace(rest_motion(skeleton), rotations=local[None])
        soles = Soles(
            pose=posed(skeleton, local),
            forward=facing(still)[0],
            limbs={},
            layout=layout,
            alignment=alignment,
            which=which,
            stood=[],
        )
        # A body that keeps its own stance shows there what it stands on; what is carried to it may wave a paw for good.
        shown = still if motion is None or (alignment.stance and which == "target") else motion
        animal = which == "target" and not is_humanoid(skeleton)
        found = contact_points(shown)
        for point in soles.alike(found) if animal else found:
            row = soles.limbs.setdefault(soles.limb_of(point), [])
            if point.name not in {other.name for other in row}:
                row.append(point)
        soles.stood.extend(soles.lowest([p for p in contact_points(still) if soles.limb_of(p) >= 0]))
        return soles

    def lowest(self, points: list[Point]) -> list[Point]:
        """Those of some points that are down where the body stands: what hangs high in the pose is not stood on."""
        if not points:
            return []
        heights = self.pose.points(points)[0, :, 1]
        hips = anchors(self.layout.correspondence)[0 if self.which == "source" else 1]
        above = max(float(self.pose.positions[0, hips, 1].mean() - heights.min()), 0.0)
        return [point for point, at in zip(points, heights, strict=True) if at <= heights.min() + LOW * above]

    def foremost(self, point: Point) -> Point:
        """What hangs lowest in the reference pose of a point and all that is beyond it on its limb."""
        skeleton = self.pose.skeleton
        below = skeleton.below(skeleton.index[point.joint])
        beyond = [skeleton.point(skeleton.names[j]) for j in np.flatnonzero(below)]
        beyond += [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
        return min([point, *beyond], key=lambda p: float(self.pose.points([p])[0, 0, 1]))

    def grounded(self, point: Point) -> Point:
        """A point, or where it is off the ground, as what is called an animal's foot may be, what it stands on."""
        lower = self.foremost(point)
        heights = self.pose.points([point, lower])[0, :, 1]
        return lower if heights[0] - heights[1] > OFF_GROUND * leg_length(self.pose.skeleton) else point

    def alike(self, points: Sequence[Point]) -> list[Point]:
        """Points grounded where those of the other side are too: a paw that hangs lower by itself is a lifted one."""
        lower = [self.grounded(point) for point in points]
        skeleton = self.pose.skeleton
        twins = {name: skeleton.names[j] for name, j in zip(skeleton.names, partners(skeleton), strict=True)}
        standing = {twins[point.joint] for point, low in zip(points, lower, strict=True) if low is point}
        paired = {name for name, twin in twins.items() if name != twin}
        return [point if point.joint in standing & paired else low for point, low in zip(points, lower, strict=True)]

    def limb_of(self, point: Point) -> int:
        """The number of the limb that a point is on; -1 for one without a partner."""
        skeleton = self.pose.skeleton
        for joint in reversed(skeleton.chain(skeleton.index[point.joint])):
            pair = self.layout.correspondence.pair_of(self.which, skeleton.names[joint])
            if pair is not None:
                return next((i for i, run in enumerate(self.layout.limbs) if pair in run), -1)
        return -1

    def along(self, point: Point) -> float:
        """Where a point is on its sole: 0 at its back, 1 at its front."""
        places = self.pose.points([*self.limbs.get(self.limb_of(point), ()), point])[0] @ self.forward
        spread = float(np.ptp(places))
        return 0.5 if spread < 1e-6 else float((places[-1] - places.min()) / spread)

    def like(self, limb: int, along: float) -> list[Point]:
        """The point of a limb that lies as far along its sole, or those that do, side by side."""
        points = self.limbs.get(limb, []) if limb >= 0 else []
        if not points:
            return []
        nearest = self.along(min(points, key=lambda point: abs(self.along(point) - along)))
        return [point for point in points if abs(self.along(point) - nearest) < BESIDE]

    def flat(self, points: list[Point]) -> Array | None:
        """(P,) how high above the floor points of one limb are where the body stands on all of them in its rest pose.

        None unless they are ends named as parts of a sole, as a robot's are, and lie level there.
        """
        skeleton = self.pose.skeleton
        spots = posed(skeleton, skeleton.rest).points(points)[0]
        named = all("sole" in words(point.name) and point in skeleton.ends for point in points)
        level = float(np.ptp(spots[:, 1])) < 0.1 * leg_length(skeleton)
        return spots[:, 1] - spots[:, 1].min() if named and level and stands_at_rest(skeleton) else None

    def others(self, known: set[str]) -> tuple[tuple[Point, float], ...]:
        """The tips of a human's feet if they are not known, and how far below the soles they are in the reference pose.

        Below an animal's paws rigs hang joints of all sorts, which are no part of the body.
        """
        if not self.stood or not known or not is_humanoid(self.pose.skeleton):
            return ()
        floor = float(self.pose.points(self.stood)[0, :, 1].mean())
        tips: dict[int, Point] = {}
        for point in sorted(feet(self.pose.skeleton), key=lambda p: float(self.pose.points([p])[0, 0] @ self.forward)):
            tips[self.limb_of(point)] = point
        more = [point for limb, point in tips.items() if limb >= 0 and point.name not in known]
        heights = self.pose.points(more)[0, :, 1] - floor
        return tuple((point, min(float(height), 0.0)) for point, height in zip(more, heights, strict=True))

    def near_floor(self, point: Point) -> bool:
        """Whether a point hangs so low in the reference pose that it may stand on the floor."""
        if not self.stood:
            return True
        floor = float(self.pose.points(self.stood)[0, :, 1].mean())
        return bool(self.pose.points([point])[0, 0, 1] - floor < LOW * self.height())

    def height(self) -> float:
        """Metres from what the body stands on up to its hip joints."""
        hips = anchors(self.layout.correspondence)[0 if self.which == "source" else 1]
        if not self.stood:
            return 0.0
        return float(self.pose.positions[0, hips, 1].mean() - self.pose.points(self.stood)[0, :, 1].mean())
