"""A spider walks: four legs stand while the other four swing; tips are planted exactly."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, from_euler, rotate, unrotate
from understudy.figure.contacts import Contact
from understudy.figure.skeleton import Skeleton
from understudy.samples.animals import (
    AnimalFoot,
    BodySegment,
    FootfallPattern,
    Puppet,
    Vector,
    X,
    Y,
    arch,
    assemble,
    ball,
    bend_inside,
    both_ends,
    both_sides,
    frame_times,
    hinge,
)
from understudy.samples.limbs import bend
from understudy.samples.scene import CharacterSample, MotionSample, Scene

HEADING_DEGREES = (32.0, 68.0, 110.0, 150.0)
"""Directions of legs 1 to 4 from straight ahead."""

LEG_SIZES = (1.10, 0.97, 0.90, 1.15)
"""Relative lengths of legs 1 to 4."""

COXA, FEMUR, TIBIA, TARSUS = 0.05, 0.25, 0.24, 0.20
"""Metres, lengths of the segments of a leg of size 1."""

HEIGHT_METRES = 0.20
"""Height of the body in the rest pose."""

REACH_METRES = 0.42
"""Distance along the floor from the end of the coxa to the tip, for a leg of size 1."""

TARSUS_RADIANS = np.radians(72.0)
"""Angle of the tarsus to the floor in the rest pose."""


def make_spider() -> Skeleton:
    """The spider, standing: a coxa turns its leg forward and back, the other joints lift and stretch it."""
    root = BodySegment(name="Cephalothorax", parent="", place=(0.0, HEIGHT_METRES, 0.0))
    parts = [ball("Abdomen", "Cephalothorax", (0.0, HEIGHT_METRES + 0.02, -0.12), 30.0, 20.0, 10.0)]
    ends: dict[str, tuple[str, Vector]] = {
        "Eyes": ("Cephalothorax", (0.0, HEIGHT_METRES + 0.03, 0.15)),
        "Spinneret": ("Abdomen", (0.0, HEIGHT_METRES + 0.03, -0.43)),
    }
    left: list[BodySegment] = [
        hinge("LeftPalp", "Cephalothorax", (0.03, HEIGHT_METRES, 0.13), -30.0, 30.0),
        hinge("LeftPalpTip", "LeftPalp", (0.045, HEIGHT_METRES + 0.045, 0.205), -40.0, 40.0),
    ]
    left_ends: dict[str, tuple[str, Vector]] = {"LeftPalpEnd": ("LeftPalpTip", (0.035, HEIGHT_METRES - 0.08, 0.255))}
    for number in range(1, 5):
        joints, tip = _leg(number)
        left += joints
        left_ends[f"LeftLeg{number}Tip"] = (joints[-1].name, tip)
    return assemble("spider", root, [*parts, *both_sides(left)], ends | both_ends(left_ends))


def _leg(number: int) -> tuple[list[BodySegment], Vector]:
    """A left leg's joints and the position of its tip; all joints but the coxa lower the leg at positive angles."""
    heading, size = np.radians(HEADING_DEGREES[number - 1]), LEG_SIZES[number - 1]
    out = np.array([np.sin(heading), 0.0, np.cos(heading)])
    up = np.array(Y)
    coxa = np.array([0.085 * np.sin(heading), HEIGHT_METRES, 0.115 * np.cos(heading)])
    femur = coxa + COXA * size * out
    tip = femur + REACH_METRES * size * out - HEIGHT_METRES * up
    tarsus = tip + TARSUS * size * (np.sin(TARSUS_RADIANS) * up - np.cos(TARSUS_RADIANS) * out)
    tibia, _ = bend(femur, tarsus, FEMUR * size, TIBIA * size, up)
    across = _vector(np.cross(up, out))
    name = f"LeftLeg{number}"
    joints = [
        hinge(f"{name}Coxa", "Cephalothorax", _vector(coxa), -40.0, 40.0, Y),
        hinge(f"{name}Femur", f"{name}Coxa", _vector(femur), -45.0, 60.0, across),
        hinge(f"{name}Tibia", f"{name}Femur", _vector(tibia), -75.0, 50.0, across),
        hinge(f"{name}Tarsus", f"{name}Tibia", _vector(tarsus), -45.0, 45.0, across),
    ]
    return joints, _vector(tip)


def _vector(v: np.ndarray) -> Vector:
    return float(v[0]), float(v[1]), float(v[2])


CHARACTERS = (CharacterSample(name="spider", about="A spider the size of a dog, with eight legs", make=make_spider),)

GAIT = FootfallPattern(cycle=0.64, stride=0.30, duty=0.58)

SETS = (
    ("LeftLeg1", "RightLeg2", "LeftLeg3", "RightLeg4"),
    ("RightLeg1", "LeftLeg2", "RightLeg3", "LeftLeg4"),
)
"""The two sets of four legs that swing in turn."""

STAGGER_SHARE = 0.02
"""Delay of a leg after the one behind it within its set, as a share of the cycle."""


def make_spider_walk(fps: float, seconds: float) -> Scene:
    """A spider walking steadily along +Z."""
    skeleton, times = make_spider(), frame_times(fps, seconds)
    cycle = 2.0 * np.pi * times / GAIT.cycle
    puppet = Puppet(skeleton, _body(times))
    turn = np.stack([0.02 * np.cos(2.0 * cycle - 0.4), 0.035 * np.sin(cycle), 0.02 * np.cos(cycle)], -1)
    puppet.turn("Cephalothorax", from_euler(turn, "XYZ"))
    lag = np.stack([-0.08 + 0.03 * np.cos(2.0 * cycle - 1.6), -0.06 * np.sin(cycle - 0.7), -0.4 * turn[:, 2]], -1)
    puppet.turn("Abdomen", from_euler(lag, "XYZ"))
    contacts: list[Contact] = []
    for late, names in enumerate(SETS):
        for name in names:
            foot = _foot(skeleton, name, 0.5 * late)
            _place_leg(puppet, name, foot, times)
            contacts += foot.contacts(skeleton.point(f"{name}Tip"), np.zeros(3), times, 0.0, GAIT.duty)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        puppet.turn(f"{side}Palp", from_axis_angle(X, 0.12 * np.sin(1.5 * cycle + sign)))
        puppet.turn(f"{side}PalpTip", from_axis_angle(X, 0.15 * np.sin(1.5 * cycle + sign - 0.8)))
    return Scene(
        name="spider_walk",
        actors={"spider": puppet.motion(fps, "spider_walk")},
        contacts=tuple(contacts),
        about=MOTIONS[0].about,
        tags=("walk", "spider"),
    )


def _body(times: Array) -> Array:
    """(F, 3) path of the body: a little up and down twice a cycle, a little to the sides once."""
    share = 2.0 * np.pi * times / GAIT.cycle
    out = np.zeros((len(times), 3))
    out[:, 0] = 0.006 * np.sin(share - 0.8)
    out[:, 1] = 0.195 + 0.005 * np.cos(2.0 * share)
    out[:, 2] = GAIT.speed * times
    return out


def _foot(skeleton: Skeleton, name: str, offset: float) -> AnimalFoot:
    """The track of a tip: it stands about where it does in the rest pose."""
    end = next(i for i, end in enumerate(skeleton.ends) if end.name == f"{name}Tip")
    x, _, z = skeleton.rest_ends[end]
    number = int(name[-1])
    return AnimalFoot(gait=GAIT, offset=offset + STAGGER_SHARE * (4 - number), x=float(x), z=float(z), lift=0.075)


def _place_leg(puppet: Puppet, name: str, foot: AnimalFoot, times: Array) -> None:
    """Pose a leg so that its tip is on its track: the coxa points to it, the rest moves in the coxa's upright plane.

    The computation is in the body's frame, where each joint of the leg rotates by a single angle.
    """
    skeleton = puppet.skeleton
    joints = [skeleton.joint(f"{name}{part}") for part in ("Coxa", "Femur", "Tibia", "Tarsus")]
    bones = [*skeleton.offsets[joints], skeleton.point(f"{name}Tip").offset]
    body, turned = puppet.world("Cephalothorax")
    tip = unrotate(turned, foot.path(times) - body) - bones[0]
    coxa = skeleton.axes[joints[0], 0]
    heading = np.arctan2(tip[:, 0], tip[:, 2]) - np.arctan2(bones[1][0], bones[1][2])
    heading = (heading + np.pi) % (2.0 * np.pi) - np.pi
    puppet.turn(f"{name}Coxa", from_axis_angle(coxa, coxa[1] * heading))
    # The tip with the rotation of the coxa undone: in the upright plane of the rest pose.
    seen = rotate(from_axis_angle(np.array(Y), -heading), tip)
    out = bones[1] / np.linalg.norm(bones[1])
    rest = [_elevation(bone, out) for bone in bones[2:]]
    rest_tarsus = bones[4] / np.linalg.norm(bones[4])
    tuck = 0.10 * arch(foot.swing(foot.count(times)[1]))
    across = skeleton.axes[joints[1], 0]
    tarsus_bone = rotate(from_axis_angle(across, tuck), rest_tarsus * np.linalg.norm(bones[4]))
    goal, start = seen - tarsus_bone, np.broadcast_to(bones[1], seen.shape)
    femur, tibia = (float(np.linalg.norm(bone)) for bone in bones[2:4])
    middle = bend_inside(start, goal, femur, tibia, np.broadcast_to(np.array(Y), seen.shape), f"{name}Femur")
    above: Array = np.zeros(len(times))
    pieces = (middle - start, goal - middle, tarsus_bone)
    for part, bone, at_rest in zip(("Femur", "Tibia", "Tarsus"), pieces, rest, strict=True):
        down = at_rest - _elevation(bone, out)
        puppet.turn(f"{name}{part}", from_axis_angle(across, down - above))
        above = down


def _elevation(bone: Array, out: Array) -> Array:
    """The angle (...,) of a bone above the horizontal, in the upright plane through `out`."""
    return np.arctan2(bone[..., 1], bone @ out)


MOTIONS = (
    MotionSample(
        name="spider_walk",
        about="A spider walks: four legs stand while the other four swing",
        seconds=4.0,
        make=make_spider_walk,
    ),
)
