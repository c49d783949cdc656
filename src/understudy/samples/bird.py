"""A bird walks: its toes are planted exactly, its head nods, and its wings are folded."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, from_euler
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
    assemble,
    ball,
    both_ends,
    both_sides,
    cycle_curve,
    frame_times,
    hinge,
    ramps,
)
from understudy.samples.scene import CharacterSample, MotionSample, Scene


def make_bird() -> Skeleton:
    """The bird, standing: thighs under its feathers, knees that point forward and ankles that point back."""
    root = BodySegment(name="Body", parent="", place=(0.0, 0.37, 0.0))
    middle = [
        ball("Neck", "Body", (0.0, 0.44, 0.12), 60.0, 40.0, 30.0),
        ball("UpperNeck", "Neck", (0.0, 0.53, 0.16), 60.0, 60.0, 40.0),
        ball("Head", "UpperNeck", (0.0, 0.61, 0.165), 60.0, 70.0, 40.0),
        ball("Tail", "Body", (0.0, 0.36, -0.19), 40.0, 30.0, 30.0),
    ]
    ends: dict[str, tuple[str, Vector]] = {
        "Crown": ("Head", (0.0, 0.675, 0.17)),
        "Beak": ("Head", (0.0, 0.605, 0.315)),
        "TailTip": ("Tail", (0.0, 0.33, -0.40)),
    }
    left = [
        ball("LeftWing", "Body", (0.105, 0.43, 0.06), 80.0, 80.0, 80.0),
        ball("LeftForewing", "LeftWing", (0.135, 0.38, -0.05), 80.0, 60.0, 60.0),
        ball("LeftHandwing", "LeftForewing", (0.125, 0.40, -0.16), 60.0, 80.0, 60.0),
        ball("LeftThigh", "Body", (0.07, 0.34, -0.02), 90.0, 25.0, 25.0),
        hinge("LeftShank", "LeftThigh", (0.07, 0.255, 0.05), -80.0, 70.0),
        hinge("LeftTarsus", "LeftShank", (0.07, 0.15, -0.05), -90.0, 90.0),
        hinge("LeftToes", "LeftTarsus", (0.07, 0.025, 0.02), -90.0, 80.0),
    ]
    left_ends: dict[str, tuple[str, Vector]] = {
        "LeftWingTip": ("LeftHandwing", (0.07, 0.36, -0.33)),
        "LeftToe": ("LeftToes", (0.07, 0.0, 0.11)),
        "LeftHindToe": ("LeftToes", (0.07, 0.0, -0.03)),
    }
    return assemble("bird", root, [*middle, *both_sides(left)], ends | both_ends(left_ends))


CHARACTERS = (CharacterSample(name="bird", about="A bird the size of a goose, with folded wings", make=make_bird),)

GAIT = FootfallPattern(cycle=0.62, stride=0.34, duty=0.6)

LEGS = {
    side: Leg(
        upper=f"{side}Thigh",
        lower=f"{side}Shank",
        distal=(f"{side}Tarsus", f"{side}Toes"),
        tip=f"{side}Toe",
        bend_to=1.0,
    )
    for side in ("Left", "Right")
}

TARSUS_RADIANS = GAIT.keys({0.0: -0.3, 0.35: -0.12, 0.75: 0.25, 1.0: 0.5, 1.3: 0.55, 1.65: 0.15, 1.88: -0.25})
"""Turn of the tarsus from its rest pose: it leans on over the foot that stands, and reaches forward in the swing."""

CURL_RADIANS = 0.5
"""How far the toes hang down while the foot swings."""


def make_bird_walk(fps: float, seconds: float) -> Scene:
    """A bird walking steadily along +Z."""
    skeleton, times = make_bird(), frame_times(fps, seconds)
    cycle = 2.0 * np.pi * times / GAIT.cycle
    puppet = Puppet(skeleton, _body(times))
    sway = np.stack([0.05 + 0.02 * np.cos(2.0 * cycle), 0.05 * np.sin(cycle), 0.05 * np.cos(cycle - 0.6)], -1)
    puppet.turn("Body", from_euler(sway, "XYZ"))
    _nod(puppet, times, sway)
    puppet.turn(
        "Tail", from_euler(np.stack([0.06 * np.cos(2.0 * cycle - 0.8), -0.6 * sway[:, 1], 0.0 * cycle], -1), "XYZ")
    )
    contacts: list[Contact] = []
    for late, (side, leg) in enumerate(LEGS.items()):
        foot = AnimalFoot(gait=GAIT, offset=0.5 * late, x=0.035 - 0.07 * late, z=0.09, lift=0.045)
        _, phase = foot.count(times)
        tarsus = cycle_curve(TARSUS_RADIANS, phase)
        # The toes are flat from touchdown to lift-off: they curl and open again within the swing.
        lift, half, land = GAIT.duty, GAIT.phase(1.5), 1.0
        toes = ramps(phase, (lift, half, CURL_RADIANS), (half, land, -CURL_RADIANS))
        puppet.step(leg, foot.path(times), (tarsus, toes))
        behind = skeleton.point(f"{side}HindToe").offset - skeleton.point(f"{side}Toe").offset
        contacts += foot.contacts(skeleton.point(f"{side}Toe"), np.zeros(3), times, 0.0, GAIT.duty)
        contacts += foot.contacts(skeleton.point(f"{side}HindToe"), behind, times, 0.0, GAIT.duty)
        sign = 1.0 - 2.0 * late
        puppet.turn(f"{side}Wing", from_euler(np.stack([0.0 * cycle, 0.0 * cycle, sign * _ruffle(cycle)], -1), "XYZ"))
    return Scene(
        name="bird_walk",
        actors={"bird": puppet.motion(fps, "bird_walk")},
        contacts=tuple(contacts),
        about=MOTIONS[0].about,
        tags=("walk", "bird"),
    )


def _body(times: Array) -> Array:
    """(F, 3) path of the body: lowest while both feet stand, and a little over the foot that does."""
    share = 2.0 * np.pi * times / GAIT.cycle
    out = np.zeros((len(times), 3))
    out[:, 0] = 0.012 * np.sin(share - 0.3)
    out[:, 1] = 0.372 - 0.006 * np.cos(2.0 * share - 0.4)
    out[:, 2] = GAIT.speed * times
    return out


def _nod(puppet: Puppet, times: Array, sway: Array) -> None:
    """The head stays where it is while the body moves on, and goes ahead quickly, once a step; it stays level."""
    step = 2.0 * times / GAIT.cycle
    forward = cycle_curve({0.0: 0.26, 0.25: 0.12, 0.5: -0.06, 0.7: -0.16, 0.85: 0.08}, step % 1.0)
    still = np.zeros(len(times))
    puppet.turn("Neck", from_axis_angle(X, 0.9 * forward))
    puppet.turn("UpperNeck", from_axis_angle(X, 0.4 * forward))
    level = np.stack([-1.3 * forward - sway[:, 0], -sway[:, 1], still], -1)
    puppet.turn("Head", from_euler(level, "XYZ"))


def _ruffle(cycle: Array) -> Array:
    """(F,) radians by which folded wings lift a little."""
    return 0.03 + 0.02 * np.cos(2.0 * cycle - 1.0)


MOTIONS = (
    MotionSample(
        name="bird_walk",
        about="A bird walks: toes that stand and curl, a head that nods",
        seconds=4.0,
        make=make_bird_walk,
    ),
)
