"""Touch: hands that are near the body or each other keep their distances on a body of another shape.

A hand keeps its distance to the surfaces of the parts that it touches, and to the joints that its fingers reach. The
arms of the start motion are turned before the solve, by as little as these distances ask for. The solver stays near the
start, so the relation holds, and no other part of the body moves for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.correspondence.pairs import Correspondence
from understudy.figure.kinematics import Pose, fk, pose_of
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import crown_point, is_humanoid, leg_length, reach
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.surface import RADIUS_SHARES
from understudy.retarget.limb_turns import (
    Limb,
    Residuals,
    TurnedLimb,
    has_free_limbs,
    key_frames,
    key_rate,
    least_turns,
    turned_between,
)

NEAR_ARMS, FAR_ARMS = 0.04, 0.1
"""Arm lengths between a wrist and a surface: nearer than the first the relation is kept in full, beyond the second not
at all, and smoothly less in between."""

CLEAR_GAP_ARMS = 0.1
"""Arm lengths between a wrist and a surface that the hand does not touch."""

WRIST_GAP_ARMS = 0.06
"""Arm lengths between a wrist and a surface on which the palm lies."""

LEG_SHARE = 0.48
"""Length of a leg as a share of a human's height, which many rigs measure to the neck only."""

TOUCH_TOLERANCE_ARMS, TOLERANCE_PER_GAP = 0.03, 1.0
"""Arm lengths by which a hand that touches may be nearer or farther, and by how much more for each arm length from the
surface: a hand that only hangs beside the thigh may be some centimetres off."""

NEAR_HANDS_ARMS, FAR_HANDS_ARMS = 0.3, 0.6
"""The same for the distance of the two wrists."""

HANDS_GAP_ARMS, HANDS_TOLERANCE_PER_GAP = 0.15, 0.5
"""Arm lengths between the wrists of hands that touch, and the tolerance for each arm length more: hands that are only
near each other need not be moved for shoulders of another width."""

LANDMARKS = ("head", "hips", "left_upper_leg", "right_upper_leg", "left_lower_leg", "right_lower_leg")
"""The roles of joints to which a hand keeps its distance. Several of them say where along a part the hand is."""

NEAR_LANDMARK_ARMS, FAR_LANDMARK_ARMS = 0.3, 0.4
"""The same for the distance of a wrist to a landmark: nearer than the first, the fingers reach it."""

SLOW_ARMS_PER_S, FAST_ARMS_PER_S = 1.0, 2.5
"""Speed of a wrist against a part or a landmark: up to the first, the hand rests there; from the second on, it only
passes, as arms that swing past the hips, and touches no surface."""

LANDMARK_TOLERANCE_ARMS, PASSING_TOLERANCE_ARMS = 0.1, 0.15
"""Arm lengths by which the distance to a landmark may differ, of a hand that rests and of one that passes."""

MAX_OUT_OF_REACH_ARMS = 0.1
"""Arm lengths by which a landmark may be out of a straight arm's reach: it counts the less the farther it is, since an
arm that cannot come near it would only stretch towards it in vain."""

STIFFNESS, SURFACE_STIFFNESS, PASSING_STIFFNESS = 100.0, 30.0, 30.0
"""Cost of an arm length, squared, by which a hand is off what it is near beyond its tolerance, against that of a radian
of turn, squared: of a landmark and the other hand; of a surface, whose place is guessed; of a landmark that it only
passes."""

NUM_ROUNDS = 2
"""How often the two arms take turns: each makes up for half of what is wrong between the hands at first."""

SEGMENTS = {
    "trunk": ("hips", "neck"), "head": ("head", "crown"),
    "upper_leg": ("upper_leg", "lower_leg"), "lower_leg": ("lower_leg", "foot"),
    "upper_arm": ("upper_arm", "lower_arm"), "lower_arm": ("lower_arm", "hand"),
}  # fmt: skip
"""The parts of a body that a hand may be near, and the two roles between which each lies."""


def keep_touches(
    source: Motion, start: Motion, correspondence: Correspondence | None = None, held: Sequence[Point] = ()
) -> Motion:
    """The start motion with its arms turned so that the hands are as near to the body as the source's.

    Args:
        source: The source's motion.
        start: The same motion on the target's body, before the solve.
        correspondence: Which bones correspond, on a target of another structure. Arms that follow others are left out.
        held: Points of the source with contacts, which say where the hands are. Their arms are left out.
    """
    touches = find_touches(source, start, correspondence, held)
    if touches is None:
        return start
    frames = key_frames(start)
    pose = fk(start[frames])
    limbs = [Limb.of(start.skeleton, pose, "arm", side, touches.rate) for side in touches.sides]
    turns = [np.zeros((len(frames), 4)) for _ in limbs]
    for share in [0.5] * (NUM_ROUNDS - 1) + [1.0]:
        for index, limb in enumerate(limbs):
            wrists = {other.side: other.turned(turn).end for other, turn in zip(limbs, turns, strict=True)}

            evaluate = partial(touches.residuals, wrists=wrists, share=share)
            turns[index] = least_turns(limb, evaluate, turns[index], touches.rate)
    return turned_between(start, frames, limbs, turns)


def find_touches(
    source: Motion, start: Motion, correspondence: Correspondence | None = None, held: Sequence[Point] = ()
) -> Touches | None:
    """What the hands are near, at the frames at which turns are solved for; the arguments are those of `keep_touches`.

    None if the bodies have no arms that could keep it.
    """
    if not (is_humanoid(source.skeleton) and is_humanoid(start.skeleton)):
        return None
    if not (has_free_limbs(start.skeleton) and reach(source.skeleton) > 0.0):
        return None
    sides = tuple(
        side
        for side in ("left", "right")
        if (correspondence is None or _arms_correspond(correspondence, side))
        and not _is_held(source.skeleton, side, held)
    )
    frames = key_frames(start)
    bodies = _Body.of(source[frames]), _Body.of(start[frames])
    sides = tuple(side for side in sides if all(side in body.hands for body in bodies))
    rate = key_rate(start)
    return Touches(source=bodies[0], target=bodies[1], sides=sides, rate=rate) if sides else None


@record
class Touches:
    """The hands of a source and what they are near, to be kept on a target."""

    source: _Body
    target: _Body
    sides: tuple[str, ...]
    """The sides of the arms that may turn."""
    rate: float
    """Frames a second."""

    def residuals(self, arm: TurnedLimb, *, wrists: dict[str, Array], share: float) -> Residuals:
        """What the touches ask of an arm, in arm lengths.

        Args:
            arm: The arm.
            wrists: (F, 3) metres, world, by side: where the hands were before this arm began to turn.
            share: The part of what is wrong between the hands that this arm makes up for.
        """
        side, wrist, length = arm.limb.side, arm.end, reach(self.target.skeleton)
        parts = [self._row(arm, *goal) for goal in self._goals(side, wrist)]
        if len(self.source.hands) == 2:
            other = "right" if side == "left" else "left"
            apart = self.ratio * (self.source.hands[side] - self.source.hands[other])
            distance = np.linalg.norm(apart, axis=-1) / length
            near = _nearness(distance, NEAR_HANDS_ARMS, FAR_HANDS_ARMS)
            tolerance = TOUCH_TOLERANCE_ARMS + HANDS_TOLERANCE_PER_GAP * np.maximum(distance - HANDS_GAP_ARMS, 0.0)
            goal = wrists.get(other, self.target.hands[other]) + apart
            before = wrists.get(side, self.target.hands[side])
            wrong = (goal + (1.0 - share) * (before - goal) - wrist) / length
            size = np.linalg.norm(wrong, axis=-1)
            wrong *= (_beyond(size, tolerance) / np.maximum(size, 1e-9))[:, None]
            for axis, value in zip(np.eye(3), wrong.T, strict=True):
                away = np.broadcast_to(axis, wrist.shape)
                parts.append(self._row(arm, STIFFNESS * near, away, value))
        return Residuals.joined(parts)

    def _slowness(self, side: str, path: Array) -> Array:
        """(F,) 1 where the source's hand is slow against a path (F, 3), 0 where it is fast."""
        if len(path) < 2:
            return np.ones(len(path))
        velocity = np.gradient(self.source.hands[side] - path, 1.0 / self.rate, axis=0)
        speed = np.linalg.norm(velocity, axis=-1) / reach(self.source.skeleton)
        return _nearness(speed, SLOW_ARMS_PER_S, FAST_ARMS_PER_S)

    @property
    def ratio(self) -> float:
        """The length of the target's arm against the source's."""
        return reach(self.target.skeleton) / reach(self.source.skeleton)

    def _row(self, arm: TurnedLimb, weight: Array, away: Array, value: Array) -> Residuals:
        """The residual at each frame that asks a wrist to move along a direction (F, 3) by (F,) arm lengths."""
        length, asked = reach(self.target.skeleton), np.flatnonzero((weight > 0.0) & (value != 0.0))
        if not len(asked):
            return Residuals.none()
        return arm.residuals(
            asked, away[asked], arm.end[asked], bends=np.ones(len(asked), bool), values=length * value[asked],
            weights=weight[asked] / length**2, at_most=False,
        )  # fmt: skip

    def _goals(self, side: str, wrist: Array) -> list[tuple[Array, Array, Array]]:
        """For each surface and each landmark its weight (F,), the direction (F, 3) away from it, and how far (F,), in
        arm lengths, the wrist at a place (F, 3) should move along it."""
        target, length, goals = self.target, reach(self.target.skeleton), []
        for part, place in self._places[side].items():
            first, last = target.lines[part]
            middle = first + place.share[:, None] * (last - first)
            now = np.einsum("fi,fi->f", wrist - middle, place.away)
            # A hand that is nearer than the source's, but clear of the part, need not move away from it.
            wanted = np.minimum(place.distance, np.maximum(now, place.clear_distance))
            goals.append((place.weight, place.away, _beyond((wanted - now) / length, place.tolerance)))
        for role, (weight, distance, tolerance) in self._distances[side].items():
            away = wrist - target.landmarks[role]
            now = np.linalg.norm(away, axis=-1)
            goals.append((weight, away / np.maximum(now, 1e-9)[:, None], _beyond(distance - now / length, tolerance)))
        return goals

    @cached
    def _places(self) -> dict[str, dict[str, _Place]]:
        """By side and part, where the wrist of the target should be beside the parts that the source's is near."""
        parts = sorted(self.source.lines.keys() & self.target.lines.keys())
        own = {side: (f"{side}_upper_arm", f"{side}_lower_arm") for side in self.sides}
        places = {side: {part: self._place(side, part) for part in parts if part not in own[side]} for side in own}
        return {side: {part: p for part, p in each.items() if p.weight.any()} for side, each in places.items()}

    def _place(self, side: str, part: str) -> _Place:
        source, hand, length = self.source, self.source.hands[side], reach(self.source.skeleton)
        first, last = source.lines[part]
        along = last - first
        squared = np.maximum(np.einsum("fi,fi->f", along, along), 1e-12)
        share = np.clip(np.einsum("fi,fi->f", hand - first, along) / squared, 0.0, 1.0)
        away = hand - first - share[:, None] * along
        distance = np.linalg.norm(away, axis=-1)
        gap = distance - source.radii[part]
        # A hand at the middle line of a part is on neither side of it.
        clear = np.clip(distance / (0.5 * source.radii[part]) - 1.0, 0.0, 1.0)
        radius = self.target.radii[part]
        return _Place(
            share=share,
            away=away / np.maximum(distance, 1e-9)[:, None],
            distance=radius + np.where(gap > 0.0, self.ratio, radius / source.radii[part]) * gap,
            clear_distance=radius + self.ratio * np.minimum(gap, CLEAR_GAP_ARMS * length),
            weight=SURFACE_STIFFNESS * clear * self._slowness(side, 0.5 * (first + last))
            * _nearness(gap / length, NEAR_ARMS, FAR_ARMS),
            tolerance=TOUCH_TOLERANCE_ARMS + TOLERANCE_PER_GAP * np.maximum(gap / length - WRIST_GAP_ARMS, 0.0),
        )  # fmt: skip

    @cached
    def _distances(self) -> dict[str, dict[str, tuple[Array, Array, Array]]]:
        """By side and landmark, the weight (F,), and in arm lengths the distance (F,) of the source's wrist and its
        tolerance (F,), of the landmarks that it is near."""
        source, length = self.source, reach(self.source.skeleton)
        distances: dict[str, dict[str, tuple[Array, Array, Array]]] = {side: {} for side in self.sides}
        for side in self.sides:
            for role in sorted(source.landmarks.keys() & self.target.landmarks.keys()):
                distance = np.linalg.norm(source.hands[side] - source.landmarks[role], axis=-1) / length
                passes = 1.0 - self._slowness(side, source.landmarks[role])
                tolerance = LANDMARK_TOLERANCE_ARMS + passes * (PASSING_TOLERANCE_ARMS - LANDMARK_TOLERANCE_ARMS)
                weight = STIFFNESS + passes * (PASSING_STIFFNESS - STIFFNESS)
                weight *= _nearness(distance, NEAR_LANDMARK_ARMS, FAR_LANDMARK_ARMS)
                weight *= _nearness(self._nearest(side, role) - distance - tolerance, 0.0, MAX_OUT_OF_REACH_ARMS)
                if weight.any():
                    distances[side][role] = weight, distance, tolerance
        return distances

    def _nearest(self, side: str, role: str) -> Array:
        """(F,) arm lengths from a landmark of the target to the nearest place that its wrist can reach."""
        shoulder = self.target.lines[f"{side}_upper_arm"][0]
        distance = np.linalg.norm(shoulder - self.target.landmarks[role], axis=-1) / reach(self.target.skeleton)
        return np.maximum(distance - 1.0, 0.0)


@record
class _Place:
    """Where a wrist should be beside a part, at each frame."""

    share: Array
    """(F,) where along the part the wrist is, from 0 to 1."""
    away: Array
    """(F, 3) the direction away from the part."""
    distance: Array
    """(F,) metres from the middle line of the part at which the target's wrist should be."""
    clear_distance: Array
    """(F,) metres from that line from which on a wrist that is nearer need not move away."""
    weight: Array
    """(F,)"""
    tolerance: Array
    """(F,) arm lengths."""


@record
class _Body:
    """Where the hands and the parts of a body are."""

    skeleton: Skeleton
    pose: Pose
    hands: dict[str, Array]
    """(F, 3) metres, world: the wrists by side."""
    lines: dict[str, tuple[Array, Array]]
    """(F, 3) metres, world: the two ends of the middle line of each part."""
    radii: dict[str, float]
    """Metres."""
    landmarks: dict[str, Array]
    """(F, 3) metres, world, by role."""

    @staticmethod
    def of(motion: Motion) -> _Body:
        skeleton = motion.skeleton
        points = _landmarks(skeleton)
        pose = pose_of(motion, [skeleton.index[point.joint] for point in points.values()])
        paths = dict(zip(points, np.moveaxis(pose.points(list(points.values())), 1, 0), strict=True))
        if "left_upper_leg" in paths and "right_upper_leg" in paths:
            # Rigs put the joint of the hips anywhere in the pelvis.
            paths["hips"] = 0.5 * (paths["left_upper_leg"] + paths["right_upper_leg"])
        size = leg_length(skeleton) / LEG_SHARE
        lines, radii = {}, {}
        for part, (first, last) in SEGMENTS.items():
            for prefix in ("",) if part in ("trunk", "head") else ("left_", "right_"):
                if prefix + first in paths and prefix + last in paths:
                    lines[prefix + part] = paths[prefix + first], paths[prefix + last]
                    radii[prefix + part] = RADIUS_SHARES[part] * size
        hands = {side: paths[f"{side}_hand"] for side in ("left", "right") if f"{side}_hand" in paths}
        landmarks = {role: paths[role] for role in LANDMARKS if role in paths}
        return _Body(skeleton=skeleton, pose=pose, hands=hands, lines=lines, radii=radii, landmarks=landmarks)


def _is_held(skeleton: Skeleton, side: str, points: Sequence[Point]) -> bool:
    """Whether one of some points is on the arm of a side."""
    arm = skeleton.below(roles(skeleton)[f"{side}_upper_arm"])
    return any(arm[skeleton.index[point.joint]] for point in points)


def _arms_correspond(correspondence: Correspondence, side: str) -> bool:
    """Whether the arm of a side follows the same arm of the source."""
    source, target = correspondence.source, correspondence.target
    for part in ("upper_arm", "lower_arm"):
        pair = correspondence.pair_of("target", target.names[roles(target)[f"{side}_{part}"]])
        if pair is None or source.names[roles(source)[f"{side}_{part}"]] not in pair.source:
            return False
    return True


def _landmarks(skeleton: Skeleton) -> dict[str, Point]:
    """The points between which the parts of a body lie, by role."""
    first_of = main_bones(skeleton).first_of
    points = {role: skeleton.point(skeleton.names[first_of(joint)]) for role, joint in roles(skeleton).items()}
    crown = crown_point(skeleton)
    points |= {} if crown is None else {"crown": crown}
    points.setdefault("neck", points.get("head", points["hips"]))
    return points


def _beyond(value: Array, tolerance: Array | float) -> Array:
    """Values beyond a tolerance, by how much they are beyond it; zero for the others."""
    beyond: Array = np.sign(value) * np.maximum(np.abs(value) - tolerance, 0.0)
    return beyond


def _nearness(distance: Array, near: float, far: float) -> Array:
    """(F,) 1 below the near distance, 0 beyond the far one, and smooth in between."""
    share = np.clip((far - distance) / (far - near), 0.0, 1.0)
    nearness: Array = share * share * (3.0 - 2.0 * share)
    return nearness
