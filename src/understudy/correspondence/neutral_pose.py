"""A human body in a neutral pose, and the normal ranges of its joints, counted from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from understudy.base import quaternion
from understudy.base.arrays import median
from understudy.base.quaternion import Array, between, conjugate, cross, from_axis_angle, multiply, rotate, unrotate
from understudy.base.records import cached
from understudy.constraints.base import PointRef
from understudy.constraints.joint_range import JointRange
from understudy.constraints.tilt import twist_angles
from understudy.figure.anatomy import BALLS, NECK, SPINE, Normal
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import feet, leg_length, rest_pose_kind
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton

SHARED = 1.5
"""How much more than its even share of the whole's range one of several parts of a spine or neck may take."""

STRAY = np.radians(15.0)
"""How far the axis of a knee or elbow may lean in a rig that lets it."""

BENT = np.radians(10.0)
"""How far it bends in a motion at least for that to show its axis,"""

ALONE = 0.95
"""the share of its turning that is about that axis at least,"""

ALIKE = 0.8
"""and how closely turning about it goes with bending, at least."""


class Bending(NamedTuple):
    """A knee or elbow."""

    joint: int
    upper: int
    """The joint at the other end of the bone above it."""
    far: int
    """The one at the end of the bone below, -1 for tips."""
    knee: bool
    over: float
    """Radians it bends the wrong way, at most."""
    bend: float
    """Radians it bends, at most."""
    turn: float
    """Radians it turns about the bone below, at most, to either side."""


def stance(motion: Motion, actor: str) -> NeutralPose | None:
    """The body in its rest pose if it stands in it, else in the middle of its motion."""
    if rest_pose_kind(motion.skeleton) != "no pose":
        return _standing(motion.skeleton, actor)
    return NeutralPose.of(motion.skeleton, quaternion.mean(motion.rotations), actor)


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
class NeutralPose:
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
    def of(skeleton: Skeleton, neutral: Array, actor: str) -> NeutralPose | None:
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
        return NeutralPose(
            skeleton=skeleton, actor=actor, pose=pose, neutral=neutral, left=cross(up, forward), up=up, forward=forward
        )

    @cached
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
            joint=PointRef(point=self.skeleton.names[joint], actor=self.actor),
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

    @cached
    def _known(self) -> dict[tuple[int, int, int], tuple[Array, Array, Array]]:
        return {}

    def hinges(self, wanted: Sequence[Bending], rotations: Array) -> list[JointRange]:
        """The ranges of knees and elbows: about the one axis that local rotations (F, J, 4) of the whole body show each
        to turn about, or in the plane it bends in."""
        joints = [each.joint for each in wanted]
        straight = [self._straight(each.joint, each.upper, each.far) for each in wanted]
        turns = rotations[:, joints].swapaxes(0, 1)
        above = np.array([upper for _, _, upper in straight]).reshape(-1, 1, 3)
        leads = rotate(turns, np.array([own for _, own, _ in straight]).reshape(-1, 1, 3))
        normals = cross(above, leads)
        sines = np.sqrt(np.einsum("jfi,jfi->jf", normals, normals))
        bends = np.arctan2(sines, np.einsum("jfi,jki->jf", leads, above))
        from_neutral = multiply(conjugate(self.neutral[joints])[:, None], turns)
        found = []
        for number, (each, axis) in enumerate(zip(wanted, _single_axes(from_neutral, bends), strict=True)):
            if axis is not None:
                found.append(self._hinge(each, axis, from_neutral[number], bends[number]))
            else:
                bone, _, upper = straight[number]
                found.append(self._plane(each, bone, upper, normals[number].sum(axis=0), sines[number]))
        return found

    def _hinge(self, wanted: Bending, axis: Array, turns: Array, bends: Array) -> JointRange:
        """The range of one that turns (F, 4) about an axis (3,), and bends (F,) with that."""
        joint, rest = wanted.joint, self.neutral[wanted.joint]
        angles = np.unwrap(twist_angles(turns, axis))
        straight = float(median((angles - bends)[bends >= median(bends)]))
        straight -= 2.0 * np.pi * round(straight / (2.0 * np.pi))
        limits = straight + np.array([-wanted.over, wanted.bend])
        spot = PointRef(point=self.skeleton.names[joint], actor=self.actor)
        if self.skeleton.kinds[joint] is JointKind.HINGE:
            return JointRange(joint=spot, rest=rest, axes=axis[None], ranges=limits[None])
        return JointRange(joint=spot, rest=rest, axis=axis, swing=np.array(STRAY), twist=limits)

    def _plane(self, wanted: Bending, bone: Array, above: Array, across: Array, sines: Array) -> JointRange:
        """The range of one that bends in the plane whose normals, each as long as the sine (F,) of its bend, add up to
        some vector (3,), in the frame that its local rotation leads to; straight ahead or back if that says little."""
        frame, sizes = self._above(wanted.joint), sines.sum()
        normal = rotate(frame, across)
        if np.linalg.norm(across) < 0.9 * sizes or sizes < 0.1 * len(sines):
            normal = cross(rotate(frame, above), -self.forward if wanted.knee else self.forward)
        normal = normal / np.linalg.norm(normal)
        middle, half = 0.5 * (wanted.bend - wanted.over), 0.5 * (wanted.bend + wanted.over)
        centre = rotate(from_axis_angle(normal, middle), rotate(frame, above))
        cone = np.array([[-half, half], [-STRAY, STRAY]])
        turn = np.array([-wanted.turn, wanted.turn])
        return self._cone(wanted.joint, bone, centre, (cross(normal, centre), normal), cone, turn)


@lru_cache(maxsize=64)
def _standing(skeleton: Skeleton, actor: str) -> NeutralPose | None:
    return NeutralPose.of(skeleton, skeleton.rest, actor)


def _single_axes(turns: Array, bends: Array) -> list[Array | None]:
    """The axis (3,) that the rotations (J, F, 4) of each of some joints are all about, turning so as to bend (J, F);
    None if there is no such one."""
    vectors = quaternion.log(turns)
    around = vectors - vectors.mean(axis=1, keepdims=True)
    squares, axes = np.linalg.eigh(around.swapaxes(1, 2) @ around)
    axis = axes[:, :, 2]
    turned, bent = np.einsum("jfi,ji->jf", around, axis), bends - bends.mean(axis=1, keepdims=True)
    spread = np.minimum(*(each.max(axis=1) - each.min(axis=1) for each in (turned, bent)))
    single = (spread >= BENT) & (squares[:, 2] >= ALONE * squares.sum(axis=1))
    both, own, other = (np.einsum("jf,jf->j", a, b) for a, b in ((turned, bent), (turned, turned), (bent, bent)))
    single &= np.abs(both) >= ALIKE * np.sqrt(own * other)
    signed = np.copysign(1.0, both)[:, None] * axis
    return [each if alone else None for each, alone in zip(signed, single, strict=True)]
