"""Poses of the sample humans, from the hips outwards for all frames; limbs reach for targets by inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, continuous, exp, from_axis_angle, identity, log, multiply, rotate
from understudy.base.records import record
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.samples.limbs import folded, turned
from understudy.samples.limbs import local as local_from_parent


def frame_times(fps: float, seconds: float) -> Array:
    """(F,) times of the frames of a motion, seconds, both ends included."""
    if not (np.isfinite(fps) and fps > 0.0 and np.isfinite(seconds) and seconds >= 0.0):
        raise OptionError(
            f"Expected frames per second above zero and seconds of at least zero; got {fps} frames per second "
            f"and {seconds} s"
        )
    return np.arange(int(np.floor(seconds * fps + 1e-6)) + 1) / fps


def ease(share: ArrayLike) -> Array:
    """A step from 0 to 1 for shares from 0 to 1, with zero speed and acceleration at both ends; constant outside."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    return s**3 * (10.0 + s * (-15.0 + 6.0 * s))


def share_of(times: Array, start: float, end: float) -> Array:
    """A smooth step from 0 before the start to 1 after the end."""
    return ease((times - start) / (end - start))


def hump(share: ArrayLike, peak: float = 0.5) -> Array:
    """From 0 up to 1 at a peak and back to 0, with zero speed and acceleration at both ends."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    rise, fall = (3.0, 3.0 * (1.0 - peak) / peak) if peak <= 0.5 else (3.0 * peak / (1.0 - peak), 3.0)
    top = peak**rise * (1.0 - peak) ** fall
    return s**rise * (1.0 - s) ** fall / top


def between(share: ArrayLike, span: float, start: tuple[ArrayLike, ...], end: tuple[ArrayLike, ...]) -> Array:
    """A fifth-degree path (N, ...) between two states, each (value, speed, acceleration).

    Args:
        share: (N,) share of the time that has passed, 0 to 1.
        span: Duration, seconds.
        start: State at share 0, values of any one shape.
        end: State at share 1.
    """
    s = np.asarray(share, float)
    (p, v, a), (q, w, b) = ([np.asarray(part, float) for part in state] for state in (start, end))
    s = s.reshape(s.shape + (1,) * p.ndim)
    v, a, w, b = v * span, a * span**2, w * span, b * span**2
    gap, gap_v, gap_a = q - p - v - 0.5 * a, w - v - a, b - a
    third = 10.0 * gap - 4.0 * gap_v + 0.5 * gap_a
    fourth = -15.0 * gap + 7.0 * gap_v - gap_a
    fifth = 6.0 * gap - 3.0 * gap_v + 0.5 * gap_a
    return p + s * (v + s * (0.5 * a + s * (third + s * (fourth + s * fifth))))


def through(times: ArrayLike, knots: ArrayLike, values: ArrayLike, rates: ArrayLike | None = None) -> Array:
    """A curve (N, ...) through values at knots, twice continuously differentiable, constant before and after.

    Args:
        times: (N,) seconds.
        knots: (K,) seconds, rising.
        values: (K, ...) values at the knots.
        rates: (K, ...) speeds at the knots; if not given, chosen without overshoot: zero at extremes and holds.
    """
    t, knots, values = np.asarray(times, float), np.asarray(knots, float), np.asarray(values, float)
    rates = _calm_rates(knots, values) if rates is None else np.asarray(rates, float)
    t = np.clip(t, knots[0], knots[-1])
    k = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 2)
    span = knots[k + 1] - knots[k]
    s = ((t - knots[k]) / span).reshape((-1,) + (1,) * (values.ndim - 1))
    span = span.reshape(s.shape)
    v, w = rates[k] * span, rates[k + 1] * span
    gap, gap_v = values[k + 1] - values[k] - v, w - v
    return values[k] + s * (
        v + s * s * ((10.0 * gap - 4.0 * gap_v) + s * ((-15.0 * gap + 7.0 * gap_v) + s * (6.0 * gap - 3.0 * gap_v)))
    )


def _calm_rates(knots: Array, values: Array) -> Array:
    """Speeds at the knots: the harmonic mean of the slopes on both sides, zero where their signs differ."""
    step = np.diff(knots).reshape((-1,) + (1,) * (values.ndim - 1))
    slopes = np.diff(values, axis=0) / step
    rates = np.zeros_like(values)
    before, after = slopes[:-1], slopes[1:]
    w1, w2 = 2.0 * step[1:] + step[:-1], step[1:] + 2.0 * step[:-1]
    same = before * after > 0.0
    safe_before, safe_after = np.where(same, before, 1.0), np.where(same, after, 1.0)
    rates[1:-1] = np.where(same, (w1 + w2) / (w1 / safe_before + w2 / safe_after), 0.0)
    return rates


UP = np.array([0.0, 1.0, 0.0])

ACROSS = np.array([1.0, 0.0, 0.0])


@record
class Footfall:
    """The stance of one foot, from touch to leave: heel first, then flat, then the ball alone.

    Pitch is positive with the heel up. The heel is fixed until `flat`, the ball and the toes from then on.
    """

    place: Array
    """(3,) metres, world: the point below the ankle when the foot is flat."""
    touch: float
    """Seconds."""
    flat: float
    """When the sole is down."""
    lift: float
    """When the heel comes up."""
    leave: float
    yaw: float = 0.0
    """Heading, radians, 0 towards +Z, positive towards +X."""
    turn: float = 0.0
    """Yaw of the foot about its ball during stance, radians; if not zero, it stands on the ball alone."""
    touch_pitch: float = 0.0
    stand_pitch: float = 0.0
    """Pitch in mid-stance; above zero the foot stands on the ball alone."""
    leave_pitch: float = 0.0
    push: float = 1.35
    """Speed of the rising heel as the foot leaves, relative to its mean speed; larger values lift the heel later."""
    rise: float = 0.0
    """Lift of the ankle above its path in the swing before this stance, metres."""
    advance: float = 0.0
    """Displacement forward from that path, metres."""
    aside: float = 0.0
    """Displacement towards +X from that path, metres."""
    peak: float = 0.5
    """Share of the swing at which these displacements are greatest."""
    brake: float = 0.0
    """Deceleration of the foot as it touches, m/s2: it then keeps up with the hips for longer."""
    on: str = "floor"

    @property
    def ball_only(self) -> bool:
        return self.stand_pitch > 0.0 or self.turn != 0.0 or self.on != "floor"

    def touch_rate(self) -> float:
        """Pitch rate at touch."""
        return 0.6 * (self.stand_pitch - self.touch_pitch) / max(self.flat - self.touch, 1e-6)

    def leave_rate(self) -> float:
        """Pitch rate as the foot leaves."""
        return self.push * (self.leave_pitch - self.stand_pitch) / max(self.leave - self.lift, 1e-6)


@record
class Foot:
    """Heel and ball of a foot, in its frame from the ankle, metres."""

    heel: Array
    ball: Array

    @classmethod
    def of(cls, skeleton: Skeleton, side: str) -> Foot:
        """The foot of a side of a skeleton."""
        return cls(heel=skeleton.point(f"{side}Heel").offset, ball=skeleton.offsets[skeleton.joint(f"{side}ToeBase")])


@record
class FootPath:
    """The path of a foot."""

    ankle: Array
    """(F, 3) metres, world."""
    orientation: Array
    """(F, 4)."""
    yaw: Array
    """(F,) heading, radians."""
    toes: Array
    """(F,) angle of the toes' hinge."""


def heading(yaw: float | Array) -> Array:
    """Orientations (..., 4) with a heading."""
    return from_axis_angle(UP, yaw)


def unit_heading(yaw: float | Array) -> Array:
    """Horizontal unit vectors (..., 3) of a heading."""
    yaw = np.asarray(yaw, float)
    return np.stack([np.sin(yaw), np.zeros_like(yaw), np.cos(yaw)], -1)


def pivot(plant: Footfall, local: Array) -> Array:
    """World position of a point (3,) in the frame of the flat foot."""
    return plant.place + rotate(heading(plant.yaw), local - local[1] * UP)


def follow(plants: Sequence[Footfall], foot: Foot, times: Array) -> FootPath:
    """The path of a foot through its footfalls; before the first and after the last it stands."""
    pitch, toes = _pitch(plants, times), _toes(plants, times)
    yaw = through(
        times,
        [t for p in plants for t in (p.touch, p.leave)],
        [a for p in plants for a in (p.yaw, p.yaw + p.turn)],
    )
    orientation = multiply(heading(yaw), from_axis_angle(ACROSS, pitch))
    ankle = np.empty((len(times), 3))
    for k, plant in enumerate(plants):
        on_heel = (times < plant.flat) & (not plant.ball_only)
        for stands, local in ((on_heel, foot.heel), (~on_heel, foot.ball)):
            now = stands & ((times >= plant.touch) | (k == 0)) & ((times <= plant.leave) | (k == len(plants) - 1))
            ankle[now] = pivot(plant, local) - rotate(orientation[now], local)
    for before, after in pairwise(plants):
        now = (times > before.leave) & (times < after.touch)
        ankle[now] = _swing(before, after, foot, times[now])
    return FootPath(ankle=ankle, orientation=orientation, yaw=yaw, toes=toes)


def _swing(before: Footfall, after: Footfall, foot: Foot, times: Array) -> Array:
    span = after.touch - before.leave
    share = (times - before.leave) / span
    start = _state(before, foot.ball, before.yaw + before.turn, before.leave_pitch, before.leave_rate())
    local = foot.ball if after.ball_only else foot.heel
    place, speed, pull = _state(after, local, after.yaw, after.touch_pitch, after.touch_rate())
    end = (place, speed, pull - after.brake * unit_heading(after.yaw))
    way = after.advance * unit_heading(0.5 * (before.yaw + before.turn + after.yaw))
    way = way + np.array([after.aside, after.rise, 0.0])
    return between(share, span, start, end) + hump(share, after.peak)[:, None] * way


def _state(plant: Footfall, local: Array, yaw: float, pitch: float, rate: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of the ankle of a foot that pitches about a point."""
    c, s = np.cos(pitch), np.sin(pitch)
    arm = np.array([local[0], local[1] * c - local[2] * s, local[1] * s + local[2] * c])
    speed = rate * np.array([0.0, -arm[2], arm[1]])
    pull = -(rate**2) * np.array([0.0, arm[1], arm[2]])
    turn = heading(yaw)
    return pivot(plant, local) - rotate(turn, arm), -rotate(turn, speed), -rotate(turn, pull)


def _pitch(plants: Sequence[Footfall], times: Array) -> Array:
    knots, values, rates = [], [], []
    for p in plants:
        knots += [p.touch, p.flat, p.lift, p.leave]
        values += [p.touch_pitch, p.stand_pitch, p.stand_pitch, p.leave_pitch]
        rates += [p.touch_rate(), 0.0, 0.0, p.leave_rate()]
    return through(times, knots, values, rates)


def _toes(plants: Sequence[Footfall], times: Array) -> Array:
    """(F,) angles of the toes: flat while the ball stands, in line with a foot on its heel, straight in swing."""
    knots, values, rates = [], [], []
    for k, p in enumerate(plants):
        flat = -1.0 if p.ball_only else 0.0
        knots += [p.touch, p.flat, p.lift, p.leave]
        values += [flat * p.touch_pitch, flat * p.stand_pitch, -p.stand_pitch, -p.leave_pitch]
        rates += [flat * p.touch_rate(), 0.0, 0.0, -p.leave_rate()]
        if k + 1 < len(plants):
            after = plants[k + 1]
            knots.append(p.leave + min(0.6 * (after.touch - p.leave), 2.0 * (p.leave - p.lift)))
            values.append(-after.touch_pitch - 0.12 if after.ball_only else 0.0)
            rates.append(0.0)
    return through(times, knots, values, rates)


def foot_contacts(
    skeleton: Skeleton, side: str, plants: Iterable[Footfall], seconds: float, actor: str = ""
) -> list[Contact]:
    """The contacts of a foot within a time (seconds), exactly as `follow` places it."""
    foot = Foot.of(skeleton, side)
    contacts = []
    for p in plants:
        spans = {"ToeBase": (p.touch if p.ball_only else p.flat, p.leave, foot.ball)}
        if not p.ball_only:
            spans["Heel"] = (p.touch, p.lift, foot.heel)
        if p.on == "floor" and p.turn == 0.0:
            tip = foot.ball + skeleton.point(f"{side}ToeTip").offset
            spans["ToeTip"] = (*spans["ToeBase"][:2], tip)
        for name, (start, end, local) in spans.items():
            if end > 0.0 and start < seconds:
                contacts.append(
                    Contact(
                        point=skeleton.point(side + name),
                        start=max(start, 0.0),
                        end=min(end, seconds),
                        place=pivot(p, local),
                        actor=actor,
                        on=p.on,
                    )
                )
    return contacts


MAX_LEG_SHARE = 0.995
"""Greatest share of a leg's length that is used, so that the knee never snaps straight."""


@record(eq=True)
class Measures:
    """The measures of a body by which movements are scaled, metres."""

    leg: float
    """Height of the hip joints above the floor when standing."""
    thigh: float
    shin: float
    ankle: float
    foot: float
    """From the ankle forward to the toe tips."""
    hip: float
    """Half the distance between the hip joints."""
    pelvis: float
    """Height of the root above the hip joints."""
    arm: float
    """From the shoulder to the wrist."""
    shoulder: float
    """Height of the shoulders above the root."""
    breadth: float
    """Half the distance between the shoulders."""

    @classmethod
    def of(cls, skeleton: Skeleton) -> Measures:
        """The measures of a skeleton with the sample humans' structure."""
        places = dict(zip(skeleton.names, skeleton.rest_world[0]))
        lengths = dict(zip(skeleton.names, skeleton.lengths))
        return cls(
            leg=float(places["LeftUpLeg"][1]),
            thigh=float(lengths["LeftLeg"]),
            shin=float(lengths["LeftFoot"]),
            ankle=float(places["LeftFoot"][1]),
            foot=float(skeleton.offsets[skeleton.joint("LeftToeBase"), 2] + skeleton.point("LeftToeTip").offset[2]),
            hip=float(places["LeftUpLeg"][0]),
            pelvis=float(places["Hips"][1] - places["LeftUpLeg"][1]),
            arm=float(lengths["LeftForeArm"] + lengths["LeftHand"]),
            shoulder=float(places["LeftArm"][1] - places["Hips"][1]),
            breadth=float(places["LeftArm"][0]),
        )

    def upright(self, width: float) -> float:
        """Height of the root of a body on straight legs whose ankles are twice a width apart, metres."""
        length = MAX_LEG_SHARE * (self.thigh + self.shin)
        return float(self.pelvis + self.ankle + np.sqrt(length**2 - (width - self.hip) ** 2))

    @property
    def clearance(self) -> float:
        """Extra lift of feet that are long for their legs, metres, so that the toes clear the floor."""
        return 0.25 * max(self.foot - 0.22 * self.leg, 0.0)

    @property
    def pace(self) -> float:
        """Time scale relative to an adult with legs of 0.93 m; it grows with size as for a pendulum."""
        return float(np.sqrt(self.leg / 0.93))


class HumanPose:
    """A human while it is posed: joints are rotated parents first, and then have a position and orientation."""

    def __init__(self, skeleton: Skeleton, hips: Array, orientation: Array) -> None:
        self.skeleton = skeleton
        self.rotations = identity(len(hips), skeleton.num_joints)
        self.orientations: dict[str, Array] = {"Hips": orientation}
        self.hips = hips
        self.rotations[:, 0] = orientation

    def place(self, joint: str) -> Array:
        """(F, 3) world position of a joint whose parent is posed."""
        number = self.skeleton.joint(joint)
        if number == 0:
            return self.hips
        parent = self.skeleton.names[self.skeleton.parents[number]]
        return self.place(parent) + rotate(self.orientations[parent], self.skeleton.offsets[number])

    def point(self, name: str) -> Array:
        """(F, 3) world position of a point whose joint is posed."""
        point = self.skeleton.point(name)
        return self.place(point.joint) + rotate(self.orientations[point.joint], point.offset)

    def turn(self, joint: str, *angles: ArrayLike) -> None:
        """Rotate a joint by angles (F,), radians, about its axes in their order."""
        number = self.skeleton.joint(joint)
        rotation = np.tile(self.skeleton.rest[number], (len(self.rotations), 1))
        for axis, angle in zip(self.skeleton.axes[number], angles):
            rotation = multiply(rotation, from_axis_angle(axis, angle))
        self._set(joint, rotation)

    def face(self, joint: str, orientation: Array) -> None:
        """Rotate a joint to a world orientation (F, 4)."""
        self._set(joint, local_from_parent(self._parent(joint), orientation))

    def look(self, orientation: Array) -> None:
        """Rotate neck and head by equal shares, so that the head has a world orientation."""
        half = exp(0.5 * log(local_from_parent(self._parent("Neck"), orientation)))
        self._set("Neck", half)
        self._set("Head", half)

    def lean(self, pitch: ArrayLike = 0.0, yaw: ArrayLike = 0.0, roll: ArrayLike = 0.0) -> None:
        """Bend the trunk by total angles, shared by its three joints."""
        for joint, share in (("LowerBack", 0.36), ("Spine", 0.34), ("Spine1", 0.30)):
            self.turn(joint, share * np.asarray(pitch), share * np.asarray(yaw), share * np.asarray(roll))

    def leg(self, side: str, path: FootPath, outward: float = 0.0, knee_yaw: ArrayLike = 0.0) -> None:
        """Place a foot; the knee points between the foot's heading and the pelvis's.

        Args:
            side: "Left" or "Right".
            path: The path of the foot.
            outward: Outward angle of the knee, radians.
            knee_yaw: (F,) heading of the pelvis, radians.
        """
        sign = 1.0 if side == "Left" else -1.0
        yaw = 0.5 * (path.yaw + np.asarray(knee_yaw)) + sign * outward
        pole = rotate(heading(yaw), np.array([0.0, 0.0, 1.0]))
        self._fold(side, ("UpLeg", "Leg", "Foot"), path.ankle, pole)
        self.face(f"{side}Foot", path.orientation)
        self.turn(f"{side}ToeBase", path.toes)

    def arm(self, side: str, forward: ArrayLike, out: ArrayLike, elbow: ArrayLike, inward: ArrayLike = 0.0) -> None:
        """Pose an arm by angles: forward swing, outward spread, elbow, and inward twist; radians."""
        sign = 1.0 if side == "Left" else -1.0
        forward, inward = np.asarray(forward), np.asarray(inward)
        self.turn(f"{side}Arm", -forward, -sign * inward, sign * (np.asarray(out) - 0.5 * np.pi))
        self.turn(f"{side}ForeArm", elbow)

    def hand(self, side: str, curl: float = 0.12) -> None:
        """Pose a hand in line with its forearm, slightly curled."""
        sign = 1.0 if side == "Left" else -1.0
        self.turn(f"{side}Hand", 0.0, 0.0, -sign * curl)

    def reach(self, side: str, palm: Array, orientation: Array, pole: Array) -> None:
        """Bring a palm to a position, with a world orientation of the hand and the elbow towards the pole."""
        wrist = palm - rotate(orientation, self.skeleton.point(f"{side}Palm").offset)
        self._fold(side, ("Arm", "ForeArm", "Hand"), wrist, pole)
        self.face(f"{side}Hand", orientation)

    def motion(self, fps: float, name: str) -> Motion:
        """The motion as posed."""
        rotations = continuous(self.rotations)
        return Motion(skeleton=self.skeleton, fps=fps, root=self.hips, rotations=rotations, name=name)

    def _fold(self, side: str, joints: tuple[str, str, str], goal: Array, pole: Array) -> None:
        middle, end = (self.skeleton.joint(side + joint) for joint in joints[1:])
        bone, axis = self.skeleton.offsets[middle], self.skeleton.axes[middle, 0]
        lower = float(self.skeleton.lengths[end])
        what = f"{self.skeleton.name}'s {side.lower()} {'leg' if joints[0] == 'UpLeg' else 'arm'}"
        orientation, angle = folded(self.place(side + joints[0]), goal, (bone, axis), lower, pole, what)
        self.face(side + joints[0], orientation)
        self.turn(side + joints[1], angle)

    def _parent(self, joint: str) -> Array:
        return self.orientations[self.skeleton.names[self.skeleton.parents[self.skeleton.joint(joint)]]]

    def _set(self, joint: str, rotation: Array) -> None:
        number = self.skeleton.joint(joint)
        self.rotations[:, number] = rotation
        self.orientations[joint] = multiply(self._parent(joint), rotation)


def palm_facing(side: str, fingers: ArrayLike, palm: ArrayLike) -> Array:
    """World orientations (..., 4) of a hand from the directions of its fingers and palm."""
    sign = 1.0 if side == "Left" else -1.0
    return turned((sign, 0.0, 0.0), (0.0, -1.0, 0.0), fingers, palm)


def standing(width: float, toe_out: float) -> dict[str, list[Footfall]]:
    """Both feet flat on the floor all the time, about the origin.

    Args:
        width: Half the distance between the ankles, metres.
        toe_out: Outward angle of the feet, radians.
    """
    return {
        side: [
            Footfall(
                place=np.array([sign * width, 0.0, 0.0]), yaw=sign * toe_out,
                touch=-2.0, flat=-1.0, lift=1e6, leave=1e6 + 1.0,
            )
        ]
        for side, sign in (("Left", 1.0), ("Right", -1.0))
    }  # fmt: skip


def highest_hips(skeleton: Skeleton, hips: Array, orientation: Array, feet: dict[str, FootPath]) -> Array:
    """(F,) greatest height of the root at which both legs reach their feet.

    Args:
        skeleton: The character.
        hips: (F, 3) metres, world; the height is ignored.
        orientation: (F, 4) of the hips.
        feet: The path of each side's foot.
    """
    measures = Measures.of(skeleton)
    length = MAX_LEG_SHARE * (measures.thigh + measures.shin)
    heights = np.full(len(hips), np.inf)
    for side, path in feet.items():
        joint = rotate(orientation, skeleton.offsets[skeleton.joint(f"{side}UpLeg")])
        flat = (path.ankle - hips - joint)[:, [0, 2]]
        room = np.maximum(length**2 - np.einsum("fi,fi->f", flat, flat), 0.0)
        heights = np.minimum(heights, path.ankle[:, 1] + np.sqrt(room) - joint[:, 1])
    return heights
