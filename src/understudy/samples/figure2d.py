"""The plane figure of Gleicher's first example, and its walk seen from the side [Gleicher98, fig. 2 and sec. 7.1].

It has 14 degrees of freedom: 2 for position and 12 angles, which are those of trunk, head, shoulders, elbows, hips,
knees and ankles. All rotations are about X and all joints lie in the plane x = 0. The root is a free joint, as in all
samples; a motion of the figure uses three of its six degrees of freedom (y, z and the rotation about X).
"""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, rotate
from understudy.figure.skeleton import Skeleton
from understudy.samples.animals import (
    AnimalFoot,
    BodySegment,
    FootfallPattern,
    Leg,
    Puppet,
    X,
    arch,
    assemble,
    both_ends,
    both_sides,
    cycle_curve,
    frame_times,
    hinge,
    ramps,
    smooth,
)
from understudy.samples.scene import CharacterSample, MotionSample, Scene

GAIT = FootfallPattern(cycle=1.1, stride=1.34, duty=0.61)
"""A brisk walk: 1.22 m/s, 109 steps a minute."""

FLAT, HEEL_OFF = 0.11, 0.265
"""Shares of the cycle at which the toe comes down and the heel leaves; the toe leaves at the gait's duty."""

LEGS = {
    side: Leg(upper=f"{side}Thigh", lower=f"{side}Shin", distal=(f"{side}Foot",), tip=f"{side}Heel", bend_to=1.0)
    for side in ("Left", "Right")
}


def make_figure2d() -> Skeleton:
    """The figure, 1.76 m tall, standing in the plane x = 0."""
    root = BodySegment(name="Hips", parent="", place=(0.0, 0.93, 0.0))
    head = [hinge("Head", "Hips", (0.0, 1.48, 0.0), -50.0, 50.0)]
    sides = [
        hinge("LeftArm", "Hips", (0.0, 1.42, 0.0), -180.0, 70.0),
        hinge("LeftForearm", "LeftArm", (0.0, 1.13, 0.0), -145.0, 0.0),
        hinge("LeftThigh", "Hips", (0.0, 0.93, 0.0), -120.0, 45.0),
        hinge("LeftShin", "LeftThigh", (0.0, 0.50, 0.0), 0.0, 150.0),
        hinge("LeftFoot", "LeftShin", (0.0, 0.08, 0.0), -35.0, 50.0),
    ]
    ends = {
        "LeftHand": ("LeftForearm", (0.0, 0.82, 0.0)),
        "LeftHeel": ("LeftFoot", (0.0, 0.0, -0.05)),
        "LeftToe": ("LeftFoot", (0.0, 0.0, 0.20)),
    }
    ends = {"HeadTop": ("Head", (0.0, 1.76, 0.0)), **both_ends(ends)}
    return assemble("figure2d", root, [*head, *both_sides(sides)], ends)


def make_walk2d(fps: float, seconds: float) -> Scene:
    """A walk with heel strike, roll, heel off and toe off, seen from the side."""
    skeleton, times = make_figure2d(), frame_times(fps, seconds)
    feet = {
        side: AnimalFoot(gait=GAIT, offset=offset, x=0.0, z=-0.185, lift=0.07)
        for side, offset in (("Left", 0.0), ("Right", 0.5))
    }
    puppet = Puppet(skeleton, _hips(times))
    cycle = times / GAIT.cycle
    trunk = 0.045 + 0.012 * np.cos(4.0 * np.pi * (cycle - 0.05))
    puppet.turn("Hips", from_axis_angle(X, trunk))
    puppet.turn("Head", from_axis_angle(X, 0.03 - 0.6 * (trunk - 0.045)))
    contacts = []
    for side, foot in feet.items():
        _swing_arm(puppet, side, foot.count(times)[1])
        heel, turn = _roll(skeleton, side, foot, times)
        puppet.step(LEGS[side], heel, [turn])
        ahead = skeleton.point(f"{side}Toe").offset - skeleton.point(f"{side}Heel").offset
        contacts += foot.contacts(skeleton.point(f"{side}Heel"), np.zeros(3), times, 0.0, HEEL_OFF)
        contacts += foot.contacts(skeleton.point(f"{side}Toe"), ahead, times, FLAT, GAIT.duty)
    return Scene(
        name="walk2d",
        actors={"figure2d": puppet.motion(fps, "walk2d")},
        contacts=tuple(contacts),
        about="A plane figure walks: heel strike, roll over the foot, toe off",
        tags=("walk", "plane"),
    )


def _hips(times: Array) -> Array:
    """(F, 3) path of the hips: highest over the standing leg, a little faster after it."""
    cycle = times / GAIT.cycle
    out = np.zeros((len(times), 3))
    out[:, 1] = 0.904 + 0.013 * np.cos(4.0 * np.pi * (cycle - 0.235))
    out[:, 2] = GAIT.speed * times + 0.02 * np.sin(4.0 * np.pi * (cycle - 0.31))
    return out


def _roll(skeleton: Skeleton, side: str, foot: AnimalFoot, times: Array) -> tuple[Array, Array]:
    """The heel's path (F, 3) and the foot's angle (F,): it rotates about the heel, is flat, then rotates about the toe.

    While the foot rotates about its toe, the heel moves on a circle about the toe. In swing it leaves that circle
    smoothly for the next heel strike, so that heel and toe stand exactly and all speeds are continuous.
    """
    step, phase = foot.count(times)
    turn = ramps(phase, (HEEL_OFF, 0.74, 1.15), (0.64, 0.93, -1.45), (0.93, 1.0 + FLAT, 0.30))
    heel_to_toe = skeleton.point(f"{side}Toe").offset - skeleton.point(f"{side}Heel").offset
    stand = foot.place(step)
    about_toe = stand + heel_to_toe - rotate(from_axis_angle(X, turn), heel_to_toe)
    swing = foot.swing(phase)
    before_toe = (phase < HEEL_OFF)[:, None]
    heel = np.where(before_toe, stand, about_toe)
    heel = heel + (foot.place(step + 1.0) - heel) * smooth(swing)[:, None]
    heel[:, 1] += foot.lift * arch(swing)
    return heel, turn


def _swing_arm(puppet: Puppet, side: str, phase: Array) -> None:
    """Swing an arm against the leg of its side: back at that foot's strike, with the elbow bent more in front."""
    arm = cycle_curve({0.0: 0.42, 0.25: 0.10, 0.5: -0.38, 0.75: -0.02}, phase)
    elbow = cycle_curve({0.05: -0.22, 0.30: -0.34, 0.55: -0.62, 0.80: -0.40}, phase)
    puppet.turn(f"{side}Arm", from_axis_angle(X, arm))
    puppet.turn(f"{side}Forearm", from_axis_angle(X, elbow))


CHARACTERS = (
    CharacterSample(name="figure2d", about="A plane figure of 14 freedoms, seen from the side", make=make_figure2d),
)

MOTIONS = (
    MotionSample(
        name="walk2d",
        about="A plane figure walks: heel strike, roll over the foot, toe off",
        seconds=5.4,
        make=make_walk2d,
    ),
)
