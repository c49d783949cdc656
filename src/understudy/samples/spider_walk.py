"""A spider walks: four legs stand while the other four swing, tips planted exactly."""

from __future__ import annotations

import numpy as np

from understudy.contacts import Contact
from understudy.geometry.euler import from_euler
from understudy.geometry.quaternion import Array, from_axis_angle, rotate, unrotate
from understudy.samples.animal_gait import Foot, Gait, arch, frame_times
from understudy.samples.animal_limb import Puppet, bend_inside
from understudy.samples.animals import X, Y
from understudy.samples.scene import MotionSample, Scene
from understudy.samples.spider import make_spider
from understudy.skeleton import Skeleton

GAIT = Gait(cycle=0.64, stride=0.30, duty=0.58)

SETS = (
    ("LeftLeg1", "RightLeg2", "LeftLeg3", "RightLeg4"),
    ("RightLeg1", "LeftLeg2", "RightLeg3", "LeftLeg4"),
)
"""The two tetrapods that take turns."""

STAGGER = 0.02
"""Share of the cycle by which a leg follows the one behind it within its set."""


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
    """(F, 3) the body's way: a little up and down twice a cycle, a little to the sides once."""
    share = 2.0 * np.pi * times / GAIT.cycle
    out = np.zeros((len(times), 3))
    out[:, 0] = 0.006 * np.sin(share - 0.8)
    out[:, 1] = 0.195 + 0.005 * np.cos(2.0 * share)
    out[:, 2] = GAIT.speed * times
    return out


def _foot(skeleton: Skeleton, name: str, offset: float) -> Foot:
    """The track of a tip: it stands about where it does in the rest pose."""
    end = next(i for i, end in enumerate(skeleton.ends) if end.name == f"{name}Tip")
    x, _, z = skeleton.rest_ends[end]
    number = int(name[-1])
    return Foot(gait=GAIT, offset=offset + STAGGER * (4 - number), x=float(x), z=float(z), lift=0.075)


def _place_leg(puppet: Puppet, name: str, foot: Foot, times: Array) -> None:
    """Turn a leg so that its tip is on its track: the coxa towards it, the rest in the coxa's upright plane.

    All is worked out in the body's frame, where every joint of the leg is a turn by a plain angle.
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
    # The tip as it would be seen with the coxa unturned: in the upright plane of the rest pose.
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
    """The angle (...,) of a bone above the level, in the upright plane through `out`."""
    return np.arctan2(bone[..., 1], bone @ out)


MOTIONS = (
    MotionSample(
        name="spider_walk",
        about="A spider walks: four legs stand while the other four swing",
        seconds=4.0,
        make=make_spider_walk,
    ),
)
