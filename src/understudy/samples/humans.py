"""Human characters of one structure and several builds: adult, child, giant, and a long body with short limbs."""

from __future__ import annotations

from functools import cache

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.samples.scene import CharacterSample

SIDES = ("Left", "Right")

FLEXION_FIRST = ((1, 0, 0), (0, 0, 1), (0, 1, 0))
"""Axes of the ball joints of a leg: forwards and back, sideways, and the twist about the bone last."""

SWING_FIRST = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
"""Axes of trunk and arms; a hanging arm is rotated by -90 degrees about the last, far from gimbal lock."""


@record(eq=True)
class Build:
    """The measures of a human body, metres."""

    thigh: float
    shin: float
    ankle: float
    """Height of the ankle above the sole."""
    heel: float
    """From below the ankle back to the heel."""
    ball: float
    """From below the ankle forward to the ball of the foot."""
    toes: float
    hip: float
    """Half the distance between the hip joints."""
    pelvis: float
    """Height of the root above the hip joints."""
    back: tuple[float, float, float]
    """Root to lower back, to spine, to chest."""
    shoulder: float
    """Height of the shoulders above the chest joint."""
    collar: float
    """From the middle to the inner end of the collarbone."""
    clavicle: float
    upper_arm: float
    forearm: float
    palm: float
    """From the wrist to the middle of the palm."""
    hand: float
    """From the wrist to the fingertips."""
    neck: float
    """From the chest joint to the neck joint."""
    nape: float
    """From the neck joint to the head joint."""
    head: float


ADULT = Build(
    thigh=0.431, shin=0.419, ankle=0.08, heel=0.06, ball=0.135, toes=0.07, hip=0.09, pelvis=0.05,
    back=(0.07, 0.12, 0.13), shoulder=0.125, collar=0.03, clavicle=0.15, upper_arm=0.30, forearm=0.26,
    palm=0.085, hand=0.18, neck=0.17, nape=0.09, head=0.19,
)  # fmt: skip

CHILD = Build(
    thigh=0.225, shin=0.215, ankle=0.055, heel=0.042, ball=0.085, toes=0.045, hip=0.06, pelvis=0.035,
    back=(0.045, 0.075, 0.08), shoulder=0.075, collar=0.02, clavicle=0.09, upper_arm=0.175, forearm=0.155,
    palm=0.055, hand=0.115, neck=0.095, nape=0.06, head=0.175,
)  # fmt: skip

GIANT = Build(
    thigh=0.86, shin=0.84, ankle=0.11, heel=0.08, ball=0.18, toes=0.095, hip=0.13, pelvis=0.07,
    back=(0.09, 0.15, 0.16), shoulder=0.16, collar=0.04, clavicle=0.20, upper_arm=0.46, forearm=0.42,
    palm=0.12, hand=0.25, neck=0.21, nape=0.11, head=0.23,
)  # fmt: skip

STRETCHED = Build(
    thigh=0.20, shin=0.195, ankle=0.06, heel=0.045, ball=0.10, toes=0.055, hip=0.10, pelvis=0.06,
    back=(0.22, 0.36, 0.36), shoulder=0.20, collar=0.03, clavicle=0.15, upper_arm=0.155, forearm=0.14,
    palm=0.07, hand=0.14, neck=0.25, nape=0.10, head=0.20,
)  # fmt: skip

TRUNK_LIMITS = {
    "LowerBack": ((-30, 45), (-30, 30), (-30, 30)),
    "Spine": ((-30, 45), (-30, 30), (-30, 30)),
    "Spine1": ((-30, 45), (-30, 30), (-30, 30)),
    "Neck": ((-50, 50), (-60, 60), (-40, 40)),
    "Head": ((-50, 50), (-60, 60), (-40, 40)),
}

LIMB_LIMITS = {
    "UpLeg": ((-135, 50), (-35, 60), (-60, 60)),
    "Leg": ((0, 155),),
    "Foot": ((-45, 65), (-40, 40), (-45, 45)),
    "ToeBase": ((-75, 45),),
    "Shoulder": ((-30, 30), (-40, 40), (-20, 45)),
    "Arm": ((-179, 80), (-89, 89), (-120, 100)),
    "ForeArm": ((0, 155),),
    "Hand": ((-110, 110), (-60, 60), (-85, 85)),
}
"""Degrees, for the left side; the right side's are mirrored."""


def human(name: str, build: Build) -> Skeleton:
    """A human of a build: in a T-pose on the floor, facing +Z, with joint frames aligned with the world."""
    names, parents, offsets = ["Hips"], [-1], [(0.0, build.ankle + build.shin + build.thigh + build.pelvis, 0.0)]

    def add(joint: str, parent: str, x: float, y: float, z: float) -> None:
        names.append(joint)
        parents.append(names.index(parent))
        offsets.append((x, y, z))

    for side, sign in zip(SIDES, (1.0, -1.0)):
        add(f"{side}UpLeg", "Hips", sign * build.hip, -build.pelvis, 0.0)
        add(f"{side}Leg", f"{side}UpLeg", 0.0, -build.thigh, 0.0)
        add(f"{side}Foot", f"{side}Leg", 0.0, -build.shin, 0.0)
        add(f"{side}ToeBase", f"{side}Foot", 0.0, -build.ankle, build.ball)
    for joint, parent, length in zip(("LowerBack", "Spine", "Spine1"), ("Hips", "LowerBack", "Spine"), build.back):
        add(joint, parent, 0.0, length, 0.0)
    add("Neck", "Spine1", 0.0, build.neck, 0.0)
    add("Head", "Neck", 0.0, build.nape, 0.15 * build.nape)
    for side, sign in zip(SIDES, (1.0, -1.0)):
        add(f"{side}Shoulder", "Spine1", sign * build.collar, build.shoulder, 0.0)
        add(f"{side}Arm", f"{side}Shoulder", sign * build.clavicle, 0.0, 0.0)
        add(f"{side}ForeArm", f"{side}Arm", sign * build.upper_arm, 0.0, 0.0)
        add(f"{side}Hand", f"{side}ForeArm", sign * build.forearm, 0.0, 0.0)
    kinds, axes, limits = _freedoms(names)
    return Skeleton(
        name=name, names=tuple(names), parents=np.array(parents), offsets=np.array(offsets),
        kinds=kinds, axes=axes, limits=limits, ends=_ends(build),
    )  # fmt: skip


def _ends(build: Build) -> tuple[Point, ...]:
    ends = [Point(name="HeadTop", joint="Head", offset=np.array([0.0, build.head, 0.0]))]
    for side, sign in zip(SIDES, (1.0, -1.0)):
        places = {
            "Heel": ("Foot", (0.0, -build.ankle, -build.heel)),
            "ToeTip": ("ToeBase", (0.0, 0.0, build.toes)),
            "Palm": ("Hand", (sign * build.palm, -0.2 * build.palm, 0.0)),
            "Fingertips": ("Hand", (sign * build.hand, 0.0, 0.0)),
        }
        ends += [
            Point(name=side + end, joint=side + joint, offset=np.array(offset))
            for end, (joint, offset) in places.items()
        ]
    return tuple(ends)


def _freedoms(names: list[str]) -> tuple[tuple[JointKind, ...], Array, Array]:
    """The kind, axes and limits of each joint by its name."""
    kinds, axes = [], np.zeros((len(names), 3, 3))
    limits = np.tile([-np.inf, np.inf], (len(names), 3, 1))
    for i, name in enumerate(names):
        side = next((side for side in SIDES if name.startswith(side)), "")
        part = name.removeprefix(side)
        if part in ("Leg", "ToeBase", "ForeArm"):
            kinds.append(JointKind.HINGE)
            axes[i, 0] = (0, {"Left": -1, "Right": 1}[side], 0) if part == "ForeArm" else (1, 0, 0)
        else:
            kinds.append(JointKind.BALL if i else JointKind.FREE)
            axes[i] = FLEXION_FIRST if part in ("UpLeg", "Foot") else SWING_FIRST
        ranges = np.radians(LIMB_LIMITS[part] if side else TRUNK_LIMITS.get(name, np.full((3, 2), np.nan)))
        if np.isnan(ranges).any():
            continue
        limits[i, : len(ranges)] = ranges
        if side == "Right" and kinds[-1] is JointKind.BALL:
            mirrored = axes[i, :, 0] == 0.0
            limits[i, mirrored] = -limits[i, mirrored][:, ::-1]
    return tuple(kinds), axes, limits


@cache
def adult() -> Skeleton:
    """An adult, 1.75 m tall."""
    return human("adult", ADULT)


@cache
def child() -> Skeleton:
    """A child, 1.06 m tall, with a child's large head and short legs."""
    return human("child", CHILD)


@cache
def giant() -> Skeleton:
    """A long-legged giant, 2.8 m tall."""
    return human("giant", GIANT)


@cache
def stretched() -> Skeleton:
    """Extremely short arms and legs on an extremely long body [Gleicher98, fig. 1 right]."""
    return human("stretched", STRETCHED)


CHARACTERS = (
    CharacterSample(name="adult", about="An adult of 1.75 m in a T-pose", make=adult),
    CharacterSample(name="child", about="A child of 1.06 m: large head, short legs", make=child),
    CharacterSample(name="giant", about="A long-legged giant of 2.8 m", make=giant),
    CharacterSample(name="stretched", about="Extremely short arms and legs, an extremely long body", make=stretched),
)
