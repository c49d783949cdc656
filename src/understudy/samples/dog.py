"""A dog walks and trots: paws are planted exactly; back, head and tail move with the steps."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, from_euler, multiply
from understudy.base.records import record
from understudy.figure.contacts import Contact
from understudy.figure.skeleton import Skeleton
from understudy.samples.animals import (
    AnimalFoot,
    BodySegment,
    FootfallPattern,
    Leg,
    Puppet,
    Vector,
    X,
    Y,
    assemble,
    ball,
    both_ends,
    both_sides,
    cycle_curve,
    frame_times,
    hinge,
    ramps,
    universal,
)
from understudy.samples.scene import CharacterSample, MotionSample, Scene

SPINE = ("Spine", "Spine1", "Spine2", "Chest")

TAIL = ("Tail", "Tail1", "Tail2", "Tail3", "Tail4")

FORE_X, HIND_X = 0.075, 0.070
"""Metres from the middle to the fore and hind legs; the joints of a leg lie in one upright plane."""


def make_dog() -> Skeleton:
    """The dog, 0.58 m at the withers, standing square, the root at its hips."""
    root = BodySegment(name="Hips", parent="", place=(0.0, 0.535, 0.0))
    ends: dict[str, tuple[str, Vector]] = {
        "Nose": ("Head", (0.0, 0.640, 0.835)),
        "HeadTop": ("Head", (0.0, 0.740, 0.660)),
        "Chin": ("Jaw", (0.0, 0.605, 0.785)),
        "TailTip": ("Tail4", (0.0, 0.425, -0.450)),
    }
    ends |= both_ends(
        {
            "LeftEar": ("Head", (0.065, 0.690, 0.645)),
            "LeftForePad": ("LeftForePaw", (FORE_X, 0.0, 0.475)),
            "LeftForeToe": ("LeftForePaw", (FORE_X, 0.0, 0.535)),
            "LeftHindPad": ("LeftHindPaw", (HIND_X, 0.0, -0.065)),
            "LeftHindToe": ("LeftHindPaw", (HIND_X, 0.0, -0.007)),
        }
    )
    return assemble("dog", root, [*_trunk(), *both_sides([*_fore_leg(), *_hind_leg()])], ends)


def _trunk() -> list[BodySegment]:
    spine = [
        ball("Spine", "Hips", (0.0, 0.545, 0.095), 25.0, 15.0, 10.0),
        ball("Spine1", "Spine", (0.0, 0.547, 0.190), 20.0, 15.0, 10.0),
        ball("Spine2", "Spine1", (0.0, 0.545, 0.290), 15.0, 15.0, 15.0),
        ball("Chest", "Spine2", (0.0, 0.540, 0.385), 15.0, 15.0, 15.0),
        ball("Neck", "Chest", (0.0, 0.550, 0.490), 50.0, 40.0, 25.0),
        ball("Neck1", "Neck", (0.0, 0.615, 0.555), 45.0, 40.0, 25.0),
        ball("Head", "Neck1", (0.0, 0.690, 0.615), 60.0, 45.0, 35.0),
        hinge("Jaw", "Head", (0.0, 0.635, 0.655), 0.0, 45.0),
    ]
    places: list[Vector] = [
        (0.0, 0.525, -0.105), (0.0, 0.508, -0.175), (0.0, 0.484, -0.245), (0.0, 0.460, -0.315), (0.0, 0.440, -0.385),
    ]  # fmt: skip
    parents = ("Hips", *TAIL[:-1])
    tail = [
        universal(name, above, at, 35.0, 40.0, (Y, X)) for name, above, at in zip(TAIL, parents, places, strict=True)
    ]
    return [*spine, *tail]


def _fore_leg() -> list[BodySegment]:
    """Shoulder blade down and forward, elbow behind, knuckles (the joint above the paw) just off the floor."""
    return [
        hinge("LeftScapula", "Chest", (0.050, 0.570, 0.445), -35.0, 35.0),
        ball("LeftUpperArm", "LeftScapula", (FORE_X, 0.425, 0.525), 75.0, 25.0, 30.0),
        hinge("LeftForearm", "LeftUpperArm", (FORE_X, 0.283, 0.410), -100.0, 50.0),
        hinge("LeftMetacarpus", "LeftForearm", (FORE_X, 0.100, 0.455), -45.0, 125.0),
        hinge("LeftForePaw", "LeftMetacarpus", (FORE_X, 0.030, 0.478), -75.0, 60.0),
    ]


def _hind_leg() -> list[BodySegment]:
    """Knee (stifle) in front, hock behind, toes on the floor."""
    return [
        ball("LeftThigh", "Hips", (HIND_X, 0.505, -0.010), 65.0, 25.0, 30.0),
        hinge("LeftShin", "LeftThigh", (HIND_X, 0.330, 0.080), -62.0, 75.0),
        hinge("LeftMetatarsus", "LeftShin", (HIND_X, 0.150, -0.080), -70.0, 48.0),
        hinge("LeftHindPaw", "LeftMetatarsus", (HIND_X, 0.030, -0.062), -75.0, 60.0),
    ]


CHARACTERS = (CharacterSample(name="dog", about="A dog of a Labrador's size, on its toes, with a tail", make=make_dog),)


def _leg(side: str, end: str, upper: str, lower: str, cannon: str, bend_to: float) -> Leg:
    distal = (f"{side}{cannon}", f"{side}{end}Paw")
    return Leg(upper=f"{side}{upper}", lower=f"{side}{lower}", distal=distal, tip=f"{side}{end}Toe", bend_to=bend_to)


LEGS = {
    "LeftHind": _leg("Left", "Hind", "Thigh", "Shin", "Metatarsus", 1.0),
    "LeftFore": _leg("Left", "Fore", "UpperArm", "Forearm", "Metacarpus", -1.0),
    "RightHind": _leg("Right", "Hind", "Thigh", "Shin", "Metatarsus", 1.0),
    "RightFore": _leg("Right", "Fore", "UpperArm", "Forearm", "Metacarpus", -1.0),
}

PAD_OFF_PART = 0.62
"""Part of stance after which the pad rises and the paw rolls over its toes."""

# World angles from the rest pose about the leg's axis, keyed by parts of the step: 0 to 1 is stance, 1 to 2 is swing.
# A positive angle turns a hanging bone backward.
METATARSUS_DEGREES = {0.0: -32.0, 0.3: -20.0, 0.65: 5.0, 1.0: 36.0, 1.25: 40.0, 1.55: 2.0, 1.85: -32.0}

METACARPUS_DEGREES = {0.0: -16.0, 0.3: -6.0, 0.6: 2.0, 1.0: 40.0, 1.25: 78.0, 1.52: 54.0, 1.86: -6.0}

SCAPULA_DEGREES = {0.0: -22.0, 0.5: 2.0, 1.0: 16.0, 1.45: 0.0, 1.85: -19.0}


@record(eq=True)
class Style:
    """The parameters of a dog's gait."""

    name: str
    about: str
    gait: FootfallPattern
    falls: dict[str, float]
    """When each foot touches, as a share of the cycle."""
    height: float
    """Metres, the hips' mean height."""
    bob: float
    """Metres, up and down, twice a cycle."""
    bob_at: float
    """Share of the cycle at which the hips are highest."""
    sway: float
    """Metres, side to side, once a cycle."""
    turn: float
    """Radians, yaw of the hips, once a cycle."""
    nod: float
    """Radians, of the head, twice a cycle."""
    hind_lift: float
    fore_lift: float


WALK = Style(
    name="dog_walk",
    about="A dog walks: four beats, each hind foot followed by the fore foot of its side",
    gait=FootfallPattern(cycle=0.88, stride=0.78, duty=0.64),
    falls={"LeftHind": 0.0, "LeftFore": 0.21, "RightHind": 0.5, "RightFore": 0.71},
    height=0.514,
    bob=0.006,
    bob_at=0.05,
    sway=0.012,
    turn=0.075,
    nod=0.045,
    hind_lift=0.04,
    fore_lift=0.055,
)

TROT = Style(
    name="dog_trot",
    about="A dog trots: opposite fore and hind feet together, a short hover between",
    gait=FootfallPattern(cycle=0.50, stride=0.95, duty=0.45),
    falls={"LeftHind": 0.0, "RightFore": 0.0, "RightHind": 0.5, "LeftFore": 0.5},
    height=0.508,
    bob=0.011,
    bob_at=0.47,
    sway=0.005,
    turn=0.04,
    nod=0.02,
    hind_lift=0.055,
    fore_lift=0.06,
)


def make_gait(style: Style, fps: float, seconds: float) -> Scene:
    """A dog going steadily along +Z."""
    skeleton, times = make_dog(), frame_times(fps, seconds)
    cycle = 2.0 * np.pi * times / style.gait.cycle
    puppet = Puppet(skeleton, _hips(style, times))
    _pose_trunk(puppet, style, cycle)
    contacts: list[Contact] = []
    for name, leg in LEGS.items():
        foot = _foot(style, name)
        _step(puppet, leg, name, foot, times)
        toe, pad = skeleton.point(leg.tip), skeleton.point(leg.tip.replace("Toe", "Pad"))
        contacts += foot.contacts(toe, np.zeros(3), times, 0.0, style.gait.duty)
        contacts += foot.contacts(pad, pad.offset - toe.offset, times, 0.0, style.gait.phase(PAD_OFF_PART))
    return Scene(
        name=style.name,
        actors={"dog": puppet.motion(fps, style.name)},
        contacts=tuple(contacts),
        about=style.about,
        tags=("quadruped", style.name.removeprefix("dog_")),
    )


def _foot(style: Style, name: str) -> AnimalFoot:
    """The track of a foot: the toe stands below the start of the leg, a little inside of the shoulders."""
    fore = name.endswith("Fore")
    side = 1.0 if name.startswith("Left") else -1.0
    return AnimalFoot(
        gait=style.gait,
        offset=style.falls[name],
        x=side * (0.85 * FORE_X if fore else 0.9 * HIND_X),
        z=0.485 if fore else -0.005,
        lift=style.fore_lift if fore else style.hind_lift,
    )


def _step(puppet: Puppet, leg: Leg, name: str, foot: AnimalFoot, times: Array) -> None:
    """Pose one leg on its track, with its lower bones rotated by the phase of the step."""
    gait, phase = foot.gait, foot.count(times)[1]
    flip = np.radians(90.0 if name.endswith("Fore") else 70.0)
    roll = ramps(
        phase,
        (gait.phase(PAD_OFF_PART), gait.phase(1.35), flip),
        (gait.phase(1.1), gait.phase(1.97), -flip),
    )
    if name.endswith("Fore"):
        scapula = np.radians(cycle_curve(gait.keys(SCAPULA_DEGREES), phase))
        puppet.turn(name.replace("Fore", "Scapula"), from_axis_angle(X, scapula))
    cannon = np.radians(
        cycle_curve(gait.keys(METACARPUS_DEGREES if name.endswith("Fore") else METATARSUS_DEGREES), phase)
    )
    puppet.step(leg, foot.path(times), [cannon, roll])


def _hips(style: Style, times: Array) -> Array:
    """(F, 3) path of the hips: forward, up and down twice a cycle, towards the standing hind foot once a cycle."""
    share = times / style.gait.cycle
    standing = style.falls["LeftHind"] + 0.5 * style.gait.duty
    out = np.zeros((len(times), 3))
    out[:, 0] = style.sway * np.cos(2.0 * np.pi * (share - standing))
    out[:, 1] = style.height + style.bob * np.cos(4.0 * np.pi * (share - style.bob_at))
    out[:, 2] = style.gait.speed * times
    return out


def _pose_trunk(puppet: Puppet, style: Style, cycle: Array) -> None:
    """Pose the trunk: hips and chest turn against each other, the head looks ahead and nods, the tail follows."""
    lead = 2.0 * np.pi * style.falls["LeftFore"]
    turn, after = style.turn, cycle - lead
    hips = np.stack([0.02 * np.cos(2.0 * cycle - 0.6), -turn * np.cos(cycle), -0.5 * turn * np.sin(cycle)], -1)
    chest = np.stack([0.015 * np.cos(2.0 * after), -0.7 * turn * np.cos(after), 0.3 * turn * np.sin(after)], -1)
    puppet.turn("Hips", from_euler(hips, "XYZ"))
    for joint in SPINE:
        puppet.turn(joint, from_euler((chest - hips) / len(SPINE), "XYZ"))
    nod = style.nod * np.cos(2.0 * after - 0.5)
    for joint, share in (("Neck", 0.35), ("Neck1", 0.65)):
        neck = np.stack([0.10 + share * nod, -0.4 * chest[:, 1], -0.4 * chest[:, 2]], -1)
        puppet.turn(joint, from_euler(neck, "XYZ"))
    puppet.aim("Head", from_euler(np.stack([0.10 + 0.35 * nod, 0.25 * chest[:, 1], 0.0 * nod], -1), "XYZ"))
    puppet.turn("Jaw", from_axis_angle(X, 0.12 + 0.03 * np.cos(2.0 * cycle)))
    for i, joint in enumerate(TAIL):
        yaw = (0.10 + 0.03 * i) * np.sin(cycle - 0.55 * i)
        pitch = 0.05 * np.cos(2.0 * cycle - 0.5 * i) + (0.10 if i < 2 else -0.03)
        puppet.turn(joint, multiply(from_axis_angle(Y, yaw), from_axis_angle(X, pitch)))


def make_dog_walk(fps: float, seconds: float) -> Scene:
    """A dog walking."""
    return make_gait(WALK, fps, seconds)


def make_dog_trot(fps: float, seconds: float) -> Scene:
    """A dog trotting."""
    return make_gait(TROT, fps, seconds)


MOTIONS = (
    MotionSample(name=WALK.name, about=WALK.about, seconds=5.0, make=make_dog_walk),
    MotionSample(name=TROT.name, about=TROT.about, seconds=4.0, make=make_dog_trot),
)
