"""A human body in a neutral pose, and the normal ranges of its joints, counted from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from understudy.anatomy import BALLS, NECK, SPINE, Normal
from understudy.body import feet, leg_length, rest_pose_kind
from understudy.constraints.base import Spot
from understudy.constraints.joint_range import JointRange
from understudy.constraints.turning import twist_angles
from understudy.geometry import quaternion
from understudy.geometry.order import median
from understudy.geometry.quaternion import Array, between, conjugate, cross, from_axis_angle, multiply, rotate, unrotate
from understudy.kinematics import Pose, fk
from understudy.motion import Motion, rest_motion
from understudy.roles import roles
from understudy.skeleton import JointKind, Skeleton

SHARED = 1.5
"""How much more than its even share of the whole's range one of several parts of a spine or neck may take."""
STRAY = np.radians(15.0)
"""How far the axis of a knee or elbow may lean in a rig that lets it."""


def stance(motion: Motion, actor: str) -> Stance | None:
    """The body in its rest pose if it stands in it, else in the middle of its motion."""
    if rest_pose_kind(motion.skeleton) != "no pose":
        return _standing(motion.skeleton, actor)
    return Stance.of(motion.skeleton, quaternion.mean(motion.rotations), actor)


def _balls(skeleton: Skeleton) -> list[tuple[int, int | None, Normal, str]]:
    """Joints that turn any way: the joint, the one its bone leads to (-1: its tips), its range, its side."""
    found = roles(skeleton)
    out: list[tuple[int, int | None, Normal, str]] = []
    nexts = {"upper_leg": "lower_leg", "upper_arm": "lower_arm", "shoulder": "upper_arm", "foot": "toe", "hand": ""}
    for part, normal in BALLS.items():
        for side in ("left", "right"):
            joint = found.get(f"{side}_{part}")
            if joint is not None:
                out.append((joint, found.get(f"{side}_{nexts[part]}", _tips(skeleton, joint)), normal, side))
    top = found.get("neck", found.get("head"))
    if "spine" in found and "chest" in found:
        path = skeleton.chain(found["chest"])
        parts = path[path.index(found["spine"]) :] if found["spine"] in path else [found["chest"]]
        last = top if top is not None else _tips(skeleton, parts[-1])
        out += [(j, far, _share(SPINE, len(parts)), "") for j, far in zip(parts, [*parts[1:], last], strict=True)]
    if top is not None:
        path = skeleton.chain(found.get("head", top))
        parts = path[path.index(top) :] if top in path else [top]
        tips = _tips(skeleton, parts[-1])
        out += [(j, far, _share(NECK, len(parts)), "") for j, far in zip(parts, [*parts[1:], tips], strict=True)]
    return out


def _share(whole: Normal, parts: int) -> Normal:
    share = min(1.0, SHARED / parts)
    kept = {key: share * getattr(whole, key) for key in ("ahead", "back", "out", "inward", "twist")}
    return replace(whole, **kept)


def _tips(skeleton: Skeleton, joint: int) -> int | None:
    """-1 where bones or ends of some length hang from a joint, None where none do."""
    below = skeleton.below(joint)
    lengths = [skeleton.lengths[j] for j in np.flatnonzero(below) if j != joint]
    lengths += [float(np.linalg.norm(end.offset)) for end in skeleton.ends if below[skeleton.index[end.joint]]]
    return -1 if max(lengths, default=0.0) > 1e-6 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Stance:
    """A body in a neutral pose."""

    skeleton: Skeleton
    actor: str
    pose: Pose
    neutral: Array
    """(J, 4) local rotations."""
    left: Array
    up: Array
    forward: Array

    @staticmethod
    def of(skeleton: Skeleton, neutral: Array, actor: str) -> Stance | None:
        found = roles(skeleton)
        pose = fk(replace(rest_motion(skeleton), rotations=neutral[None]))
        place = pose.positions[0]
        across = sum(place[found[f"left_{p}"]] - place[found[f"right_{p}"]] for p in ("upper_leg", "upper_arm"))
        up = place[found.get("neck", found.get("head", 0))] - place[found["hips"]]
        up = up / np.linalg.norm(up)
        forward = cross(across, up)
        if np.linalg.norm(forward) < 1e-3 * leg_length(skeleton):
            # A flat figure has no width; its feet still point forwards.
            tips = pose.points(feet(skeleton))[0]
            ankles = 0.5 * (place[found["left_foot"]] + place[found["right_foot"]])
            forward = tips.mean(0) - ankles
            forward = forward - (forward @ up) * up
        if np.linalg.norm(forward) < 1e-9:
            return None
        forward = forward / np.linalg.norm(forward)
        return Stance(
            skeleton=skeleton, actor=actor, pose=pose, neutral=neutral, left=cross(up, forward), up=up, forward=forward
        )

    @cached_property
    def balls(self) -> dict[str, JointRange | None]:
        """The ranges of the joints that turn any way, by name; None for one that has no bone to measure by."""
        found: dict[str, JointRange | None] = {}
        for joint, far, normal, side in _balls(self.skeleton):
            if self.skeleton.kinds[joint] is not JointKind.FIXED:
                own = None if far is None else self.ball(joint, self.bone(joint, far), normal, side)
                found[self.skeleton.names[joint]] = own
        return found

    def bone(self, joint: int, far: int) -> Array:
        """(3,) the unit direction, world, of a joint's bone, towards another joint or its tips."""
        skeleton, place = self.skeleton, self.pose.positions[0]
        if far >= 0:
            end = place[far]
        else:
            below = skeleton.below(joint)
            ends = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
            end = np.concatenate([place[below], self.pose.points(ends)[0]]).mean(0)
        vector = end - place[joint]
        size = float(np.linalg.norm(vector))
        return vector / size if size > 1e-6 else self.up

    def ball(self, joint: int, bone: Array, normal: Normal, side: str) -> JointRange:
        """The range of a joint that turns any way, its bone pointing somewhere (3,), world, in the neutral pose."""
        outward = -self.left if side == "right" else self.left
        centre = bone
        if normal.centre is not None:
            centre = np.array(normal.centre) @ np.stack([outward, self.up, self.forward])
            centre = centre / np.linalg.norm(centre)
        # A bone that points forwards already, a foot's, leans up and down instead.
        ahead = self.up if abs(float(centre @ self.forward)) > 0.8 else self.forward
        cone = np.radians([[-normal.back, normal.ahead], [-normal.inward, normal.out]])
        return self._cone(joint, bone, centre, (ahead, outward), cone, np.radians([-normal.twist, normal.twist]))

    def _cone(
        self, joint: int, bone: Array, centre: Array, ways: tuple[Array, Array], cone: Array, turn: Array
    ) -> JointRange:
        """Swing and twist limits about a centre (3,), world: how far towards each of two ways, and away from them."""
        world = self._above(joint)
        frame = self.pose.rotations[0, joint]
        rest = multiply(between(bone, centre), frame)
        first = cross(centre, ways[0])
        first = first / np.linalg.norm(first)
        sides = cone[1] if first @ ways[1] > 0.0 else -cone[1, ::-1]
        return JointRange(
            joint=Spot(point=self.skeleton.names[joint], actor=self.actor),
            rest=multiply(conjugate(world), rest), axis=unrotate(frame, bone), reference=unrotate(rest, first),
            swing=np.stack([cone[0], sides]), twist=turn,
        )  # fmt: skip

    def _above(self, joint: int) -> Array:
        """(4,) the world rotation of the frame that a joint's local rotation leads to."""
        return multiply(self.pose.rotations[0, joint], conjugate(self.neutral[joint]))

    def _straight(self, joint: int, upper: int, far: int) -> tuple[Array, Array, Array]:
        """The unit direction of the bone below a joint, in the world and in the joint's own frame, and that of the bone
        above it in the frame that its local rotation leads to."""
        key = joint, upper, far
        if key not in self._known:
            bone, place = self.bone(joint, far), self.pose.positions[0]
            above = place[joint] - place[upper]
            above = unrotate(self._above(joint), above / np.linalg.norm(above))
            self._known[key] = bone, unrotate(self.pose.rotations[0, joint], bone), above
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[int, int, int], tuple[Array, Array, Array]]:
        return {}

    def hinge(self, joint: int, upper: int, far: int, turns: Array, knee: bool, normal_range: Array) -> JointRange:
        """The range of a knee or elbow: about the one axis that its turns (F, 4) show, or in the plane it bends in."""
        skeleton = self.skeleton
        over, bend, turn = normal_range
        bone, own, above = self._straight(joint, upper, far)
        leads = rotate(turns, own)
        bends = np.arctan2(np.linalg.norm(cross(above, leads), axis=-1), leads @ above)
        from_neutral = multiply(conjugate(self.neutral[joint]), turns)
        axis = _single_axis(from_neutral, bends)
        spot = Spot(point=skeleton.names[joint], actor=self.actor)
        if axis is not None:
            angles = np.unwrap(twist_angles(from_neutral, axis))
            straight = float(median((angles - bends)[bends >= median(bends)]))
            straight -= 2.0 * np.pi * round(straight / (2.0 * np.pi))
            limits = straight + np.array([-over, bend])
            if skeleton.kinds[joint] is JointKind.HINGE:
                return JointRange(joint=spot, rest=self.neutral[joint], axes=axis[None], ranges=limits[None])
            return JointRange(joint=spot, rest=self.neutral[joint], axis=axis, swing=np.array(STRAY), twist=limits)
        normals = cross(above, leads)
        total, sizes = normals.sum(0), np.linalg.norm(normals, axis=-1).sum()
        normal = rotate(self._above(joint), total)
        if np.linalg.norm(total) < 0.9 * sizes or sizes < 0.1 * len(normals):
            normal = cross(rotate(self._above(joint), above), -self.forward if knee else self.forward)
        normal = normal / np.linalg.norm(normal)
        middle, half = 0.5 * (bend - over), 0.5 * (bend + over)
        centre = rotate(from_axis_angle(normal, middle), rotate(self._above(joint), above))
        cone = np.array([[-half, half], [-STRAY, STRAY]])
        return self._cone(joint, bone, centre, (cross(normal, centre), normal), cone, np.array([-turn, turn]))


@lru_cache(maxsize=64)
def _standing(skeleton: Skeleton, actor: str) -> Stance | None:
    return Stance.of(skeleton, skeleton.rest, actor)


def _single_axis(turns: Array, bends: Array) -> Array | None:
    """The axis (3,) that rotations (F, 4) are all about, turning so as to bend; None if there is no such one."""
    vectors = quaternion.log(turns)
    around = vectors - vectors.mean(0)
    squares, axes = np.linalg.eigh(around.T @ around)
    axis = axes[:, 2]
    spread = np.ptp(vectors @ axis)
    if spread < np.radians(10.0) or squares[2] < 0.95 * squares.sum() or np.ptp(bends) < np.radians(10.0):
        return None
    turned, bent = around @ axis, bends - bends.mean()
    fit = float(turned @ bent) / float(np.sqrt((turned @ turned) * (bent @ bent)))
    return None if abs(fit) < 0.8 else axis if fit > 0.0 else -axis
