"""A humanoid as in game engines: other names, an A-pose, frames along the bones, more spine joints, twist bones."""

from __future__ import annotations

from functools import cache

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, from_matrix, multiply, rotate
from understudy.base.records import record
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.samples.humans import FLEXION_FIRST, LIMB_LIMITS, SWING_FIRST, TRUNK_LIMITS
from understudy.samples.limbs import frame
from understudy.samples.scene import CharacterSample

ARM_DROP_DEGREES = 45.0
"""Angle of the arms in the A-pose below those of a T-pose."""

ELBOW_BEND_DEGREES = 10.0
"""Angle of the elbows in the A-pose."""

X, Y, Z = np.eye(3)


@record
class RigBone:
    """A joint in the rest pose, in world coordinates."""

    name: str
    parent: str
    place: Array
    """(3,) metres."""
    along: Array
    """(3,) direction of its bone."""
    flexion: Array
    """(3,) flexion axis."""
    kind: JointKind = JointKind.BALL
    axes: Array
    """(A, 3) axes of its angles, in order."""
    limits: Array
    """(A, 2) degrees."""
    backwards: bool = False
    """Whether its frame points against the bone, as on the mirrored side of a game rig."""

    @property
    def frame(self) -> Array:
        """(3, 3) its frame in columns: along the bone, across it, and the flexion axis."""
        first, third, _ = frame(-self.along if self.backwards else self.along, self.flexion).T
        return np.stack([first, np.cross(third, first), third], -1)


def _trunk() -> list[RigBone]:
    none = np.full((3, 2), np.nan)
    bones = [
        RigBone(name="root", parent="", place=np.zeros(3), along=X, flexion=Z, kind=JointKind.FREE,
             axes=np.eye(3), limits=none),
        RigBone(name="pelvis", parent="root", place=np.array([0.0, 1.02, 0.0]), along=Y, flexion=X,
             axes=np.eye(3), limits=none),
    ]  # fmt: skip
    heights = (1.06, 1.14, 1.23, 1.32, 1.41)
    names = [f"spine_0{k}" for k in range(1, 6)] + ["neck_01", "head"]
    places = [np.array([0.0, height, 0.0]) for height in heights]
    places += [np.array([0.0, 1.54, -0.01]), np.array([0.0, 1.63, 0.01])]
    for k, name in enumerate(names):
        after = places[k + 1] if k + 1 < len(places) else places[k] + Y
        limits = np.array(TRUNK_LIMITS["Neck" if k > 4 else "Spine"], float) * (1.0 if k > 4 else 0.6)
        bones.append(
            RigBone(name=name, parent=bones[-1].name, place=places[k], along=after - places[k], flexion=X,
                 axes=np.array(SWING_FIRST, float), limits=limits)
        )  # fmt: skip
    return bones


def _leg(side: str, sign: float) -> list[RigBone]:
    places = np.array([[0.095, 0.97, 0.0], [0.095, 0.52, 0.0], [0.095, 0.085, 0.0], [0.095, 0.0, 0.14]])
    places[:, 0] *= sign
    chain = (
        ("thigh", "pelvis", "UpLeg"),
        ("calf", "thigh", "Leg"),
        ("foot", "calf", "Foot"),
        ("ball", "foot", "ToeBase"),
    )
    bones = []
    for k, (name, parent, part) in enumerate(chain):
        hinge = part in ("Leg", "ToeBase")
        bones.append(
            RigBone(
                name=f"{name}_{side}", parent=parent if k == 0 else f"{parent}_{side}", place=places[k],
                along=places[k + 1] - places[k] if k < 3 else Z, flexion=X,
                kind=JointKind.HINGE if hinge else JointKind.BALL,
                axes=X[None] if hinge else np.array(FLEXION_FIRST, float),
                limits=_sided(LIMB_LIMITS[part], sign), backwards=sign < 0.0,
            )
        )  # fmt: skip
    return bones


def _arm(side: str, sign: float) -> list[RigBone]:
    drop = from_axis_angle(Z, -sign * np.radians(ARM_DROP_DEGREES))
    bend = multiply(drop, from_axis_angle(-sign * Y, np.radians(ELBOW_BEND_DEGREES)))
    upper, fore = rotate(drop, sign * X), rotate(bend, sign * X)
    hinge = rotate(drop, -sign * Y)
    inner, shoulder = np.array([0.03 * sign, 1.49, 0.01]), np.array([0.19 * sign, 1.48, -0.01])
    elbow = shoulder + 0.30 * upper
    wrist = elbow + 0.27 * fore
    arm_limits = _sided(LIMB_LIMITS["Arm"], sign)
    arm_limits[2] += sign * ARM_DROP_DEGREES
    turned = rotate(bend, np.eye(3))
    back = sign < 0.0
    twist = np.array([[-110.0, 110.0]])
    return [
        RigBone(name=f"clavicle_{side}", parent="spine_05", place=inner, along=shoulder - inner, flexion=-sign * Y,
             axes=np.eye(3), limits=_sided(LIMB_LIMITS["Shoulder"], sign), backwards=back),
        RigBone(name=f"upperarm_{side}", parent=f"clavicle_{side}", place=shoulder, along=upper, flexion=hinge,
             axes=np.eye(3), limits=arm_limits, backwards=back),
        RigBone(name=f"lowerarm_{side}", parent=f"upperarm_{side}", place=elbow, along=fore, flexion=hinge,
             kind=JointKind.HINGE, axes=hinge[None], limits=np.array(LIMB_LIMITS["ForeArm"]) - ELBOW_BEND_DEGREES,
             backwards=back),
        RigBone(name=f"lowerarm_twist_01_{side}", parent=f"lowerarm_{side}", place=elbow + 0.16 * fore, along=fore,
             flexion=hinge, kind=JointKind.HINGE, axes=fore[None], limits=twist, backwards=back),
        RigBone(name=f"hand_{side}", parent=f"lowerarm_{side}", place=wrist, along=fore, flexion=hinge,
             axes=turned, limits=_sided(LIMB_LIMITS["Hand"], sign), backwards=back),
    ]  # fmt: skip


def _sided(limits: tuple[tuple[float, float], ...], sign: float) -> Array:
    """Limits of the left side (sign 1), or mirrored (sign -1): rotation about X is the same on both sides."""
    ranges = np.array(limits, float)
    if sign < 0.0 and len(ranges) == 3:
        ranges[1:] = -ranges[1:, ::-1]
    return ranges


def _ends(bones: dict[str, RigBone]) -> tuple[Point, ...]:
    places = {"head_top": ("head", np.array([0.0, 1.82, 0.01]))}
    for side in ("l", "r"):
        foot, ball, hand = (bones[f"{name}_{side}"] for name in ("foot", "ball", "hand"))
        places[f"heel_{side}"] = (foot.name, foot.place * [1.0, 0.0, 1.0] - 0.062 * Z)
        places[f"toe_tip_{side}"] = (ball.name, ball.place + 0.075 * Z)
        places[f"palm_{side}"] = (hand.name, hand.place + 0.088 * hand.along)
        places[f"fingertips_{side}"] = (hand.name, hand.place + 0.19 * hand.along)
    return tuple(
        Point(name=name, joint=joint, offset=(place - bones[joint].place) @ bones[joint].frame)
        for name, (joint, place) in places.items()
    )


@cache
def other() -> Skeleton:
    """A game character of 1.82 m with other names, rest pose and joint frames."""
    bones = _trunk()
    for side, sign in (("l", 1.0), ("r", -1.0)):
        bones += _leg(side, sign) + _arm(side, sign)
    named = {bone.name: bone for bone in bones}
    index = {bone.name: k for k, bone in enumerate(bones)}
    axes, limits = np.zeros((len(bones), 3, 3)), np.tile([-np.inf, np.inf], (len(bones), 3, 1))
    offsets, rest = np.zeros((len(bones), 3)), np.zeros((len(bones), 4))
    for k, bone in enumerate(bones):
        parent = named[bone.parent].frame if bone.parent else np.eye(3)
        start = named[bone.parent].place if bone.parent else np.zeros(3)
        offsets[k] = (bone.place - start) @ parent
        rest[k] = from_matrix(parent.T @ bone.frame)
        axes[k, : len(bone.axes)] = bone.axes @ bone.frame
        if not np.isnan(bone.limits).any():
            limits[k, : len(bone.limits)] = np.radians(bone.limits)
    return Skeleton(
        name="other", names=tuple(named), offsets=offsets, rest=rest, axes=axes, limits=limits,
        parents=np.array([index[bone.parent] if bone.parent else -1 for bone in bones]),
        kinds=tuple(bone.kind for bone in bones), ends=_ends(named),
    )  # fmt: skip


CHARACTERS = (
    CharacterSample(
        name="other", about="A game rig of 1.82 m: other names, an A-pose, frames along the bones", make=other
    ),
)
