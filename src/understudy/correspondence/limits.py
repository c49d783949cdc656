"""Joint limits: those of the skeleton, or human ranges for human bodies without limits.

Human ranges are relative to standing upright with the arms hanging. They are widened where the motion itself goes
farther, so that no capture is rejected.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from understudy.base import quaternion
from understudy.base.quaternion import Array, between, conjugate, cross, from_axis_angle, multiply, rotate, unrotate
from understudy.base.records import cached, median, record
from understudy.constraints.base import ConstraintInput, PointRef, twist_angles
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.neutral_pose import find_neutral_pose, stands_at_rest
from understudy.figure.anatomy import BALLS, HINGES, NECK, SPINE, Normal
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import chain_length, feet, is_humanoid, leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

WIDENED_MARGIN_RADIANS = np.radians(3.0)
"""Margin of a widened range beyond the motion."""

WIDENED = "the motion itself goes there"
"""Part of the note on every widened range, by which notes on them can be told from others."""


def joint_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """The skeleton's limits, or human ranges for a human body without limits (`human_limits`); and notes about them."""
    ranges = skeleton_limits(motion.skeleton, actor=actor)
    if ranges:
        wanted = [limit for limit in ranges if only is None or limit.joints()[0].point in only]
        return _without_impossible(wanted, motion) if widen else (wanted, [])
    return human_limits(motion, actor=actor, only=only, widen=widen)


MAX_BREACH_RADIANS = np.radians(75.0)
"""How far a motion may leave the range of a ball joint. To bring it back from farther, the whole body would turn."""


def _without_impossible(ranges: Sequence[JointRange], motion: Motion) -> tuple[list[JointRange], list[str]]:
    """The ranges without those of ball joints that a motion leaves by far, and a note for each that is left out."""
    kept: list[JointRange] = []
    notes: list[str] = []
    no_points = np.empty((motion.num_frames, 0, 3))
    for limit in ranges:
        name = str(limit.joints()[0].point)
        joint = motion.skeleton.index[name]
        view = ConstraintInput(times=motion.times, points=no_points, local_rotations=motion.rotations[:, [joint]])
        breach = float(limit.measure(view).values.max(initial=0.0))
        if motion.skeleton.kinds[joint] is JointKind.BALL and breach > MAX_BREACH_RADIANS:
            notes.append(
                f"`{name}`: its range is left open: the motion goes {np.degrees(breach):.0f} degrees beyond it."
            )
        else:
            kept.append(limit)
    return kept, notes


@lru_cache(maxsize=64)
def skeleton_limits(skeleton: Skeleton, *, actor: str = "") -> tuple[JointRange, ...]:
    """The ranges in a skeleton; joints without a finite range are left out."""
    ranges = []
    for name, kind, limits in zip(skeleton.names, skeleton.kinds, skeleton.limits, strict=True):
        if np.any(np.isfinite(limits[: NUM_AXES[kind]])):
            ranges.append(JointRange.of(skeleton, name, actor=actor))
    return tuple(ranges)


def human_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """Normal human ranges for the joints of a body, widened to its motion.

    Args:
        motion: A motion of the body.
        actor: The name of the actor.
        only: Names of the wanted joints; all if not given.
        widen: Whether ranges are widened where the motion goes farther.

    Returns:
        The ranges, and a note for each that was widened or is missing.
    """
    if not is_humanoid(motion.skeleton):
        return [], ["The body is not a human one: no joint limits are known for it."]
    normal_ranges = NormalRanges.find(motion, actor)
    if normal_ranges is None:
        return [], ["The facing of the body is unclear: no joint limits are given."]
    ranges: list[JointRange] = []
    notes: list[str] = []
    for name, ball in normal_ranges.ball_ranges.items():
        if only is not None and name not in only:
            continue
        if ball is None:
            notes.append(f"`{name}` has no bone to measure by: its range is left open.")
        else:
            ranges.append(ball)
    joints = roles(motion.skeleton)
    bending: list[BendingJoint] = []
    for upper, lower, end in (("upper_leg", "lower_leg", "foot"), ("upper_arm", "lower_arm", "hand")):
        for side in ("left", "right"):
            joint, far = joints[f"{side}_{lower}"], joints.get(f"{side}_{end}", -1)
            included = only is None or motion.skeleton.names[joint] in only
            has_bone = chain_length(motion.skeleton, joints[f"{side}_{upper}"], joint) > 1e-9
            if included and not has_bone:
                notes.append(f"`{motion.skeleton.names[joint]}` has no bone to measure by: its range is left open.")
            elif included and motion.skeleton.kinds[joint] is not JointKind.FIXED:
                bending.append(
                    BendingJoint(joint, joints[f"{side}_{upper}"], far, end == "foot", *np.radians(HINGES[lower]))
                )
    ranges += normal_ranges.hinge_ranges(bending, motion.rotations) if bending else []
    if not widen:
        return ranges, notes
    rotations = [motion.rotations[:, motion.skeleton.index[str(normal.joints()[0].point)]] for normal in ranges]
    widened = JointRange.widened_all(ranges, rotations, WIDENED_MARGIN_RADIANS)
    for normal, wider in zip(ranges, widened, strict=True):
        notes += _widening_notes(str(normal.joints()[0].point), normal, wider) if wider is not normal else []
    return widened, notes


def _widening_notes(name: str, normal: JointRange, wider: JointRange) -> list[str]:
    """A note for each way in which a range was widened."""
    notes = []
    for what, field in (("bending", "ranges"), ("turning", "twist"), ("leaning", "swing")):
        before, after = getattr(normal, field), getattr(wider, field)
        more = 0.0 if before is None else float(np.degrees(np.abs(after - before).max()))
        if more > 0.0:
            notes.append(f"`{name}`: the normal range of {what} is widened by {more:.0f} degrees: {WIDENED}.")
    return notes


MAX_RANGE_SHARE_FACTOR = 1.5
"""Range of one of several spine or neck joints, in even shares of the whole range."""

MAX_STRAY_RADIANS = np.radians(15.0)
"""Angle by which the axis of a knee or elbow may deviate on a ball joint."""

MIN_BEND_SPREAD_RADIANS = np.radians(10.0)
"""Range of bending in a motion that is needed to measure the axis of a knee or elbow."""

MIN_SINGLE_AXIS_SHARE = 0.95
"""Share of its rotation that must be about that axis."""

MIN_BEND_CORRELATION = 0.8
"""Correlation required between the rotation about that axis and the bending."""


class BendingJoint(NamedTuple):
    """A knee or elbow."""

    joint: int
    upper: int
    """The joint at the start of the bone above."""
    far: int
    """The joint at the end of the bone below, -1 for tips."""
    knee: bool
    over: float
    """Maximum radians of overextension."""
    bend: float
    """Maximum radians of bending."""
    turn: float
    """Maximum radians of twist about the bone below, to either side."""


def _ball_joints(skeleton: Skeleton) -> list[tuple[int, int | None, Normal, str]]:
    """Ball joints: the joint, the joint at the end of its bone (-1: tips, None: no bone), its range, its side."""
    joints = roles(skeleton)
    result: list[tuple[int, int | None, Normal, str]] = []
    ends = {"upper_leg": "lower_leg", "upper_arm": "lower_arm", "shoulder": "upper_arm", "foot": "toe", "hand": ""}
    for part, normal in BALLS.items():
        for side in ("left", "right"):
            joint = joints.get(f"{side}_{part}")
            if joint is not None:
                result.append((joint, joints.get(f"{side}_{ends[part]}", _tips(skeleton, joint)), normal, side))
    neck = joints.get("neck", joints.get("head"))
    if "spine" in joints and "chest" in joints:
        path = skeleton.chain(joints["chest"])
        parts = path[path.index(joints["spine"]) :] if joints["spine"] in path else [joints["chest"]]
        last = neck if neck is not None else _tips(skeleton, parts[-1])
        result += [(j, far, _share(SPINE, len(parts)), "") for j, far in zip(parts, [*parts[1:], last], strict=True)]
    if neck is not None:
        path = skeleton.chain(joints.get("head", neck))
        parts = path[path.index(neck) :] if neck in path else [neck]
        tips = _tips(skeleton, parts[-1])
        result += [(j, far, _share(NECK, len(parts)), "") for j, far in zip(parts, [*parts[1:], tips], strict=True)]
    return result


def _share(whole: Normal, parts: int) -> Normal:
    share = min(1.0, MAX_RANGE_SHARE_FACTOR / parts)
    shares = {key: share * getattr(whole, key) for key in ("ahead", "back", "out", "inward", "twist")}
    return replace(whole, **shares)


def _tips(skeleton: Skeleton, joint: int) -> int | None:
    """-1 if bones or ends with a length hang from a joint, None if not."""
    below = skeleton.below(joint)
    lengths = [skeleton.lengths[j] for j in np.flatnonzero(below) if j != joint]
    lengths += [float(np.linalg.norm(end.offset)) for end in skeleton.ends if below[skeleton.index[end.joint]]]
    return -1 if max(lengths, default=0.0) > 1e-6 else None


@record
class NormalRanges:
    """A human body in a neutral pose, with its unit directions (3,), world, and the ranges of its joints."""

    skeleton: Skeleton
    actor: str
    pose: Pose
    neutral: Array
    """(J, 4) local rotations."""
    left: Array
    up: Array
    forward: Array

    @staticmethod
    def find(motion: Motion, actor: str) -> NormalRanges | None:
        """The ranges of a body relative to its rest pose if it stands, else to the neutral pose that its motion shows.

        None if its facing is unclear.
        """
        if stands_at_rest(motion.skeleton):
            return _ranges_at_rest(motion.skeleton, actor)
        return NormalRanges.of(motion.skeleton, find_neutral_pose(motion.skeleton, motion).local, actor)

    @staticmethod
    def of(skeleton: Skeleton, neutral: Array, actor: str) -> NormalRanges | None:
        joints = roles(skeleton)
        pose = fk(replace(rest_motion(skeleton), rotations=neutral[None]))
        positions = pose.positions[0]
        across = sum(
            positions[joints[f"left_{p}"]] - positions[joints[f"right_{p}"]] for p in ("upper_leg", "upper_arm")
        )
        up = positions[joints.get("neck", joints.get("head", 0))] - positions[joints["hips"]]
        if np.linalg.norm(up) < 1e-9:
            return None
        up = up / np.linalg.norm(up)
        forward = cross(across, up)
        if np.linalg.norm(forward) < 1e-3 * leg_length(skeleton):
            # A flat figure has no width; its feet still point forwards.
            tips = pose.points(feet(skeleton))[0]
            ankles = 0.5 * (positions[joints["left_foot"]] + positions[joints["right_foot"]])
            forward = tips.mean(0) - ankles
            forward = forward - (forward @ up) * up
        if np.linalg.norm(forward) < 1e-9:
            return None
        forward = forward / np.linalg.norm(forward)
        return NormalRanges(
            skeleton=skeleton, actor=actor, pose=pose, neutral=neutral, left=cross(up, forward), up=up, forward=forward
        )

    @cached
    def ball_ranges(self) -> dict[str, JointRange | None]:
        """The ranges of the ball joints by name; None for a joint without a bone to measure by."""
        ranges: dict[str, JointRange | None] = {}
        for joint, far, normal, side in _ball_joints(self.skeleton):
            if self.skeleton.kinds[joint] is not JointKind.FIXED:
                bone = None if far is None else self.bone_direction(joint, far)
                limits = None if bone is None else self.ball_range(joint, bone, normal, side)
                ranges[self.skeleton.names[joint]] = limits
        return ranges

    def bone_direction(self, joint: int, far: int) -> Array:
        """(3,) unit direction, world, of a joint's bone, towards another joint or its tips."""
        skeleton, positions = self.skeleton, self.pose.positions[0]
        if far >= 0:
            end = positions[far]
        else:
            below = skeleton.below(joint)
            ends = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
            end = np.concatenate([positions[below], self.pose.points(ends)[0]]).mean(0)
        vector = end - positions[joint]
        length = float(np.linalg.norm(vector))
        return vector / length if length > 1e-6 else self.up

    def ball_range(self, joint: int, bone: Array, normal: Normal, side: str) -> JointRange:
        """The range of a ball joint whose bone has direction (3,), world, in the neutral pose."""
        outward = -self.left if side == "right" else self.left
        centre = bone
        if normal.centre is not None:
            centre = np.array(normal.centre) @ np.stack([outward, self.up, self.forward])
            centre = centre / np.linalg.norm(centre)
        # A bone that already points forwards, as a foot does, swings up and down.
        ahead = self.up if abs(float(centre @ self.forward)) > 0.8 else self.forward
        cone = np.radians([[-normal.back, normal.ahead], [-normal.inward, normal.out]])
        return self._cone_range(joint, bone, centre, (ahead, outward), cone, np.radians([-normal.twist, normal.twist]))

    def _cone_range(
        self, joint: int, bone: Array, centre: Array, directions: tuple[Array, Array], cone: Array, twist: Array
    ) -> JointRange:
        """Swing and twist limits about a centre (3,), world: ranges towards two directions and away from them."""
        parent = self._parent_rotation(joint)
        frame = self.pose.rotations[0, joint]
        rest = multiply(between(bone, centre), frame)
        first = cross(centre, directions[0])
        first = first / np.linalg.norm(first)
        sides = cone[1] if first @ directions[1] > 0.0 else -cone[1, ::-1]
        return JointRange(
            joint=PointRef(point=self.skeleton.names[joint], actor=self.actor),
            rest=multiply(conjugate(parent), rest), axis=unrotate(frame, bone), reference=unrotate(rest, first),
            swing=np.stack([cone[0], sides]), twist=twist,
        )  # fmt: skip

    def _parent_rotation(self, joint: int) -> Array:
        """(4,) the world rotation of a joint's parent frame."""
        return multiply(self.pose.rotations[0, joint], conjugate(self.neutral[joint]))

    def _bone_directions(self, joint: int, upper: int, far: int) -> tuple[Array, Array, Array]:
        """Unit direction of the bone below a joint, in the world and in the joint's frame, and of the bone above in the
        parent frame."""
        key = joint, upper, far
        if key not in self._bone_cache:
            bone, positions = self.bone_direction(joint, far), self.pose.positions[0]
            above = positions[joint] - positions[upper]
            above = unrotate(self._parent_rotation(joint), above / np.linalg.norm(above))
            self._bone_cache[key] = bone, unrotate(self.pose.rotations[0, joint], bone), above
        return self._bone_cache[key]

    @cached
    def _bone_cache(self) -> dict[tuple[int, int, int], tuple[Array, Array, Array]]:
        return {}

    def hinge_ranges(self, bending: Sequence[BendingJoint], rotations: Array) -> list[JointRange]:
        """Ranges of knees and elbows: about the single axis that the body's local rotations (F, J, 4) show, else in the
        plane of bending."""
        joints = [hinge.joint for hinge in bending]
        bones = [self._bone_directions(hinge.joint, hinge.upper, hinge.far) for hinge in bending]
        turns = rotations[:, joints].swapaxes(0, 1)
        above = np.array([upper for _, _, upper in bones]).reshape(-1, 1, 3)
        directions = rotate(turns, np.array([lower for _, lower, _ in bones]).reshape(-1, 1, 3))
        normals = cross(above, directions)
        sines = np.sqrt(np.einsum("jfi,jfi->jf", normals, normals))
        bends = np.arctan2(sines, np.einsum("jfi,jki->jf", directions, above))
        from_neutral = multiply(conjugate(self.neutral[joints])[:, None], turns)
        ranges = []
        for number, (hinge, axis) in enumerate(zip(bending, _single_axes(from_neutral, bends), strict=True)):
            if axis is not None:
                ranges.append(self._hinge_range(hinge, axis, from_neutral[number], bends[number]))
            else:
                bone, _, upper = bones[number]
                ranges.append(self._plane_range(hinge, bone, upper, normals[number].sum(axis=0), sines[number]))
        return ranges

    def _hinge_range(self, bending: BendingJoint, axis: Array, turns: Array, bends: Array) -> JointRange:
        """The range of a joint with rotations (F, 4) about an axis (3,) and bends (F,)."""
        joint, rest = bending.joint, self.neutral[bending.joint]
        angles = np.unwrap(twist_angles(turns, axis))
        straight = float(median((angles - bends)[bends >= median(bends)]))
        straight -= 2.0 * np.pi * round(straight / (2.0 * np.pi))
        limits = straight + np.array([-bending.over, bending.bend])
        ref = PointRef(point=self.skeleton.names[joint], actor=self.actor)
        if self.skeleton.kinds[joint] is JointKind.HINGE:
            return JointRange(joint=ref, rest=rest, axes=axis[None], ranges=limits[None])
        return JointRange(joint=ref, rest=rest, axis=axis, swing=np.array(MAX_STRAY_RADIANS), twist=limits)

    def _plane_range(
        self, bending: BendingJoint, bone: Array, above: Array, normal_sum: Array, sines: Array
    ) -> JointRange:
        """The range of a joint that bends in a plane: its normals, each as long as the sine (F,) of the bend, add up to
        `normal_sum` (3,), parent frame. If that is unclear, the joint bends straight forwards or backwards."""
        frame, total = self._parent_rotation(bending.joint), sines.sum()
        normal = rotate(frame, normal_sum)
        if np.linalg.norm(normal_sum) < 0.9 * total or total < 0.1 * len(sines):
            normal = cross(rotate(frame, above), -self.forward if bending.knee else self.forward)
        normal = normal / np.linalg.norm(normal)
        middle, half = 0.5 * (bending.bend - bending.over), 0.5 * (bending.bend + bending.over)
        centre = rotate(from_axis_angle(normal, middle), rotate(frame, above))
        cone = np.array([[-half, half], [-MAX_STRAY_RADIANS, MAX_STRAY_RADIANS]])
        twist = np.array([-bending.turn, bending.turn])
        return self._cone_range(bending.joint, bone, centre, (cross(normal, centre), normal), cone, twist)


@lru_cache(maxsize=64)
def _ranges_at_rest(skeleton: Skeleton, actor: str) -> NormalRanges | None:
    return NormalRanges.of(skeleton, skeleton.rest, actor)


def _single_axes(turns: Array, bends: Array) -> list[Array | None]:
    """The single axis (3,) of each joint's rotations (J, F, 4), signed to increase its bend (J, F), or None."""
    vectors = quaternion.log(turns)
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    squares, axes = np.linalg.eigh(centred.swapaxes(1, 2) @ centred)
    axis = axes[:, :, 2]
    turned, bent = np.einsum("jfi,ji->jf", centred, axis), bends - bends.mean(axis=1, keepdims=True)
    spread = np.minimum(*(values.max(axis=1) - values.min(axis=1) for values in (turned, bent)))
    single = (spread >= MIN_BEND_SPREAD_RADIANS) & (squares[:, 2] >= MIN_SINGLE_AXIS_SHARE * squares.sum(axis=1))
    products, turn_norm, bend_norm = (
        np.einsum("jf,jf->j", a, b) for a, b in ((turned, bent), (turned, turned), (bent, bent))
    )
    single &= np.abs(products) >= MIN_BEND_CORRELATION * np.sqrt(turn_norm * bend_norm)
    signed = np.copysign(1.0, products)[:, None] * axis
    return [axis if alone else None for axis, alone in zip(signed, single, strict=True)]
