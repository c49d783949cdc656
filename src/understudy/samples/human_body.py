"""A human's pose, built from the hips outwards for all times at once; limbs are placed by what they must reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from understudy.geometry.quaternion import (
    Array,
    continuous,
    exp,
    from_axis_angle,
    identity,
    log,
    multiply,
    rotate,
)
from understudy.motion import Motion
from understudy.samples.human_footwork import FootPath, Plant, heading
from understudy.samples.limbs import folded, local, turned
from understudy.skeleton import Skeleton

REACH = 0.995
"""How much of a leg's full length is used at most, so that the knee never snaps straight."""


@dataclass(frozen=True, kw_only=True)
class Measures:
    """The sizes that movements are scaled by, metres."""

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
        """Height of the root of a body that stands on straight legs with its ankles twice a width apart."""
        length = REACH * (self.thigh + self.shin)
        return float(self.pelvis + self.ankle + np.sqrt(length**2 - (width - self.hip) ** 2))

    @property
    def clearance(self) -> float:
        """How much higher feet are lifted that are longer for their legs than an adult's: toes must clear the floor."""
        return 0.25 * max(self.foot - 0.22 * self.leg, 0.0)

    @property
    def pace(self) -> float:
        """How much slower a body of this size moves than an adult of 0.93 m legs: as pendulums do."""
        return float(np.sqrt(self.leg / 0.93))


class Figure:
    """A human being posed: joints are turned parents first, and each then has a place and orientation."""

    def __init__(self, skeleton: Skeleton, hips: Array, orientation: Array) -> None:
        self.skeleton = skeleton
        self.rotations = identity(len(hips), skeleton.num_joints)
        self.orientations: dict[str, Array] = {"Hips": orientation}
        self.hips = hips
        self.rotations[:, 0] = orientation

    def place(self, joint: str) -> Array:
        """(F, 3) where a joint is whose parent has been turned."""
        number = self.skeleton.joint(joint)
        if number == 0:
            return self.hips
        parent = self.skeleton.names[self.skeleton.parents[number]]
        return self.place(parent) + rotate(self.orientations[parent], self.skeleton.offsets[number])

    def point(self, name: str) -> Array:
        """(F, 3) where a point is whose joint has been turned."""
        point = self.skeleton.point(name)
        return self.place(point.joint) + rotate(self.orientations[point.joint], point.offset)

    def turn(self, joint: str, *angles: ArrayLike) -> None:
        """Turn a joint by angles (F,), radians, about its own axes in their order."""
        number = self.skeleton.joint(joint)
        rotation = np.tile(self.skeleton.rest[number], (len(self.rotations), 1))
        for axis, angle in zip(self.skeleton.axes[number], angles):
            rotation = multiply(rotation, from_axis_angle(axis, angle))
        self._set(joint, rotation)

    def face(self, joint: str, orientation: Array) -> None:
        """Turn a joint to a world orientation (F, 4)."""
        self._set(joint, local(self._parent(joint), orientation))

    def look(self, orientation: Array) -> None:
        """Turn neck and head, half of the way each, so that the head has a world orientation."""
        half = exp(0.5 * log(local(self._parent("Neck"), orientation)))
        self._set("Neck", half)
        self._set("Head", half)

    def lean(self, pitch: ArrayLike = 0.0, yaw: ArrayLike = 0.0, roll: ArrayLike = 0.0) -> None:
        """Bend the trunk by angles in all, shared by its three joints."""
        for joint, share in (("LowerBack", 0.36), ("Spine", 0.34), ("Spine1", 0.30)):
            self.turn(joint, share * np.asarray(pitch), share * np.asarray(yaw), share * np.asarray(roll))

    def leg(self, side: str, path: FootPath, outward: float = 0.0, knee_yaw: ArrayLike = 0.0) -> None:
        """Place a foot; the knee points between the foot's heading and the pelvis's.

        Args:
            side: "Left" or "Right".
            path: Where the foot goes.
            outward: How far the knee opens to the outside, radians.
            knee_yaw: (F,) heading of the pelvis, radians.
        """
        sign = 1.0 if side == "Left" else -1.0
        yaw = 0.5 * (path.yaw + np.asarray(knee_yaw)) + sign * outward
        pole = rotate(heading(yaw), np.array([0.0, 0.0, 1.0]))
        self._fold(side, ("UpLeg", "Leg", "Foot"), path.ankle, pole)
        self.face(f"{side}Foot", path.orientation)
        self.turn(f"{side}ToeBase", path.toes)

    def arm(self, side: str, forward: ArrayLike, out: ArrayLike, elbow: ArrayLike, inward: ArrayLike = 0.0) -> None:
        """Hang an arm by angles: swung forward, spread outwards, bent, and turned inwards about itself."""
        sign = 1.0 if side == "Left" else -1.0
        forward, inward = np.asarray(forward), np.asarray(inward)
        self.turn(f"{side}Arm", -forward, -sign * inward, sign * (np.asarray(out) - 0.5 * np.pi))
        self.turn(f"{side}ForeArm", elbow)

    def hand(self, side: str, curl: float = 0.12) -> None:
        """Let a hand hang from its forearm, slightly curled."""
        sign = 1.0 if side == "Left" else -1.0
        self.turn(f"{side}Hand", 0.0, 0.0, -sign * curl)

    def reach(self, side: str, palm: Array, orientation: Array, pole: Array) -> None:
        """Bring a palm to a place with the hand in a world orientation, the elbow towards the pole."""
        wrist = palm - rotate(orientation, self.skeleton.point(f"{side}Palm").offset)
        self._fold(side, ("Arm", "ForeArm", "Hand"), wrist, pole)
        self.face(f"{side}Hand", orientation)

    def motion(self, fps: float, name: str) -> Motion:
        """What has been posed, as a motion."""
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
    """World orientations (..., 4) of a hand whose fingers and palm point in given directions."""
    sign = 1.0 if side == "Left" else -1.0
    return turned((sign, 0.0, 0.0), (0.0, -1.0, 0.0), fingers, palm)


def standing(width: float, toe_out: float) -> dict[str, list[Plant]]:
    """Both feet flat on the floor all the time, about the origin.

    Args:
        width: Half the distance between the ankles, metres.
        toe_out: How far the feet turn out, radians.
    """
    return {
        side: [
            Plant(
                place=np.array([sign * width, 0.0, 0.0]), yaw=sign * toe_out,
                touch=-2.0, flat=-1.0, lift=1e6, leave=1e6 + 1.0,
            )
        ]
        for side, sign in (("Left", 1.0), ("Right", -1.0))
    }  # fmt: skip


def highest_hips(skeleton: Skeleton, hips: Array, orientation: Array, feet: dict[str, FootPath]) -> Array:
    """(F,) how high the root can be, given where it is otherwise, for both legs to reach their feet.

    Args:
        skeleton: The character.
        hips: (F, 3) metres; heights are not used.
        orientation: (F, 4) of the hips.
        feet: The path of each side's foot.
    """
    measures = Measures.of(skeleton)
    length = REACH * (measures.thigh + measures.shin)
    found = np.full(len(hips), np.inf)
    for side, path in feet.items():
        joint = rotate(orientation, skeleton.offsets[skeleton.joint(f"{side}UpLeg")])
        flat = (path.ankle - hips - joint)[:, [0, 2]]
        room = np.maximum(length**2 - np.einsum("fi,fi->f", flat, flat), 0.0)
        found = np.minimum(found, path.ankle[:, 1] + np.sqrt(room) - joint[:, 1])
    return found
