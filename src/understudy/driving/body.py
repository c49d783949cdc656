"""The intermediate body of feature driving: a source with the target's proportions [Gleicher98, sec. 8]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.body import UP, extent, facing, leg_length
from understudy.contacts import Contact
from understudy.driving.points import (
    BOTTOM,
    CENTRE,
    LEFT,
    RIGHT,
    Feature,
    crown_point,
    hip_centre,
    middle_point,
    rest_places,
    stands_on,
    tips,
)
from understudy.geometry.quaternion import cross, unrotate
from understudy.kinematics import Pose, fk
from understudy.motion import Motion
from understudy.plants import Stage
from understudy.roles import roles
from understudy.skeleton import Point, Skeleton
from understudy.start import Floor

SAME = 1e-3
"""Share by which measures may differ for the source to have the target's proportions already."""
LEGS = ("left_upper_leg", "right_upper_leg", "left_foot", "right_foot", "hips")
"""Roles without which a source is only made larger or smaller as a whole."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Proportions:
    """How the source's skeleton is changed so that its features lie about where the target's do.

    `leg`: the target's centre above its foot points, over the source's hip centre above its soles along the bones;
    it scales legs, feet and pelvis.
    `trunk`: the target's top above its centre, over the source's crown above its hip centre along the bones; it scales
    all above the hips, and is `leg` where no head is known or the target ends at its centre.
    `widening`: the target's foot points apart, less the source's soles apart to the side, in the median over the
    motion and scaled by `leg`; half of it is added to each hip joint's place, across. At most the legs meet.
    Points of the target that are in no pair are those it stands on and its middle. A source without legs that can be
    told, or pairs of which none is a foot, scale it as a whole: by how far the target's points spread, over the
    source's.
    """

    leg: float
    trunk: float
    widening: float = 0.0
    """Metres."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to change."""
        return max(abs(self.leg - 1.0), abs(self.trunk - 1.0), abs(self.widening)) > SAME

    def __str__(self) -> str:
        widened = f", hips {1e3 * self.widening:+.0f} mm wide" if self.widening else ""
        return f"legs x {self.leg:.3g}, trunk x {self.trunk:.3g}{widened}"


def proportions(
    motion: Motion, features: Sequence[Feature], contacts: Sequence[Contact], target: Skeleton
) -> Proportions:
    """What makes the source's body one of the target's proportions."""
    source, by_part = motion.skeleton, {feature.part: feature for feature in features if feature.part}
    grounds = [by_part[part] for part in (LEFT, RIGHT, BOTTOM) if part in by_part]
    # A single pair says nothing of sizes: there, too, the whole body does.
    legged = all(role in roles(source) for role in LEGS) and (bool(grounds) or len(features) == 1)
    centre = by_part[CENTRE].target if CENTRE in by_part else middle_point(target)
    middle = rest_places(target, [centre])[0]
    stands = rest_places(target, [feature.target for feature in grounds] or stands_on(target))
    height = float(middle[1] - stands[:, 1].mean())
    if not legged or height <= 1e-3 * float(extent(target).max()):
        return _evenly(source, features, target)
    pose = fk(motion)
    leg = height / (leg_length(source) + _ankle_height(pose, motion, grounds, contacts))
    widening = 0.0
    if LEFT in by_part and RIGHT in by_part:
        left, right = by_part[LEFT], by_part[RIGHT]
        places = rest_places(target, [left.target, right.target])
        apart = float(np.linalg.norm((places[0] - places[1])[[0, 2]]))
        aside = np.einsum("fi,fi->f", left.path(pose) - right.path(pose), cross(UP, facing(motion)))
        widening = apart - leg * float(np.median(aside))
    top = float(rest_places(target, tips(target))[:, 1].max() - middle[1])
    crown = _crown_height(source)
    trunk = top / crown if min(top, crown) > 1e-3 * height else leg
    return Proportions(leg=leg, trunk=trunk, widening=widening)


def _evenly(source: Skeleton, features: Sequence[Feature], target: Skeleton) -> Proportions:
    places = np.stack([rest_places(source, feature.source).mean(axis=0) for feature in features])
    goals = rest_places(target, [feature.target for feature in features])
    spread, wanted = (float(np.linalg.norm(each - each.mean(axis=0))) for each in (places, goals))
    ratio = wanted / spread if min(spread, wanted) > 1e-6 else 1.0
    return Proportions(leg=ratio, trunk=ratio)


def _ankle_height(pose: Pose, motion: Motion, grounds: Sequence[Feature], contacts: Sequence[Contact]) -> float:
    """Metres from the ankles down to the soles' points, as the feet stand flattest."""
    skeleton, found = pose.skeleton, roles(pose.skeleton)
    drops = []
    for which in (LEFT, RIGHT):
        foot = found[f"{which}_foot"]
        below = skeleton.below(foot)
        soles = [p for f in grounds for p in f.source if below[skeleton.index[p.joint]]]
        if not soles:
            continue
        held = [c.frames(motion.fps, motion.num_frames) for c in contacts if below[skeleton.index[c.point.joint]]]
        frames = np.unique(np.concatenate(held)) if held else np.arange(motion.num_frames)
        above = pose.positions[:, foot, 1] - pose.points(soles)[..., 1].min(axis=1)
        drops.append(max(float(np.percentile(above[frames], 10.0)), 0.0) if len(frames) else 0.0)
    return float(np.mean(drops)) if drops else 0.0


def _crown_height(source: Skeleton) -> float:
    """Metres along the bones from the hips to the top of the head; 0 where there is none."""
    crown = crown_point(source)
    if crown is None:
        return 0.0
    path = source.chain(source.index[crown.joint])
    hips = roles(source)["hips"]
    bones = path[path.index(hips) + 1 :] if hips in path else path[1:]
    return float(source.lengths[bones].sum() + np.linalg.norm(crown.offset))


def intermediate(source: Skeleton, how: Proportions) -> Skeleton:
    """The source's skeleton with other proportions."""
    if not how.changes:
        return source
    found = roles(source)
    factors = np.full(source.num_joints, how.trunk)
    factors[0] = how.leg
    for role in (f"{which}_upper_leg" for which in (LEFT, RIGHT)):
        if role in found:
            factors[source.below(found[role])] = how.leg
            factors[source.chain(found[role])] = how.leg
    body = replace(source.scaled(factors), name=f"{source.name} of other proportions".strip())
    if how.widening == 0.0 or any(role not in found for role in LEGS):
        return body
    positions, rotations = body.rest_world
    uppers = [found["left_upper_leg"], found["right_upper_leg"]]
    across = positions[uppers[0]] - positions[uppers[1]]
    width = float(np.linalg.norm(across))
    across = across / width if width > 1e-9 else np.array([1.0, 0.0, 0.0])
    offsets = body.offsets.copy()
    for upper, sign in zip(uppers, (1.0, -1.0), strict=True):
        moved = 0.5 * sign * max(how.widening, -width) * across
        offsets[upper] += unrotate(rotations[source.parents[upper]], moved)
    return replace(body, offsets=offsets)


def moved_features(features: Sequence[Feature], motion: Motion, body: Skeleton) -> tuple[Feature, ...]:
    """The features with their source's points on the intermediate body instead."""
    stage = Stage(source=motion, target=body, floor=Floor(slope=np.zeros(2)))
    centre = hip_centre(motion.skeleton)

    def moved(point: Point) -> Point:
        if point.name == centre.name and point.joint == centre.joint:
            return hip_centre(body)
        return stage.point(point)

    return tuple(replace(f, source=tuple(moved(point) for point in f.source)) for f in features)
