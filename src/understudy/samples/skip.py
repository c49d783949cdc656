"""Skipping by formula: a step, then a hop on the same foot, left and right in turn, every footfall exactly known."""

from __future__ import annotations

import numpy as np

from understudy.base.euler import from_euler
from understudy.base.quaternion import Array
from understudy.figure.skeleton import Skeleton
from understudy.samples.human_body import (
    Foot,
    Footfall,
    FootPath,
    HumanPose,
    Measures,
    follow,
    foot_contacts,
    frame_times,
    heading,
    highest_hips,
)
from understudy.samples.humans import SIDES, adult
from understudy.samples.scene import MotionSample, Scene

ABOUT = "Skips along: a step and a hop on the left, a step and a hop on the right"

PERIOD = 0.7
"""Seconds from the left foot's step to the right's, for an adult: a step and a hop."""

TRAVEL = 1.05
"""Leg lengths gone in that time."""

STEP = (0.0, 0.06, 0.14, 0.3)
"""When a step's foot touches, is flat, lifts its heel and leaves, in shares of the period; then it is in the air."""

HOP = (0.58, 0.64, 0.82, 1.06)
"""The same for the landing of the hop; the other foot has stepped a moment before it leaves."""

FLIGHT = 0.5 * (STEP[3] + HOP[0])
"""The middle of the flight, when the body is highest."""

WIDTH, BOB, SWAY = 0.05, 0.055, 0.014
"""Half the distance between the feet, the hips' rise and fall, and their sway to the side, each way, leg lengths."""

BENT = 0.02
"""Leg lengths by which the hips stay below where a leg would be straight."""

LEAN, PELVIS_TURN, PELVIS_DROP, CHEST_TURN, ARM_SWING, ELBOW = 4.0, 6.0, 3.0, 8.0, 42.0, 55.0
"""Degrees."""


def footfalls(skeleton: Skeleton, seconds: float) -> dict[str, list[Footfall]]:
    """Every plant of both feet that so many seconds can meet, and some more on either side."""
    measures = Measures.of(skeleton)
    leg, period = measures.leg, PERIOD * measures.pace
    found: dict[str, list[Footfall]] = {side: [] for side in SIDES}
    for k in range(-3, int(np.ceil(seconds / period)) + 4):
        side, sign = ("Left", 1.0) if k % 2 == 0 else ("Right", -1.0)
        for shares, pitches, rise, peak in ((STEP, (-6.0, 26.0), 0.22, 0.5), (HOP, (-3.0, 40.0), 0.12, 0.45)):
            touch, flat, lift, leave = ((k + share) * period for share in shares)
            # The hips pass over a foot a little before the middle of its stance, so that no leg has to reach far ahead.
            along = TRAVEL * leg * (k + 0.5 * (shares[0] + shares[3]) - 0.05)
            found[side].append(
                Footfall(
                    place=np.array([sign * WIDTH * leg, 0.0, along]),
                    yaw=sign * np.radians(5.0),
                    touch=touch,
                    flat=flat,
                    lift=lift,
                    leave=leave,
                    touch_pitch=np.radians(pitches[0]),
                    leave_pitch=np.radians(pitches[1]),
                    rise=rise * leg + measures.clearance,
                    advance=0.1 * leg if shares is STEP else 0.0,
                    peak=peak,
                    brake=30.0,
                )
            )
    return found


def _hips(skeleton: Skeleton, times: Array) -> tuple[Array, Array, Array]:
    """Path (F, 3) of the root with its height's swing only, its orientations, and the angle (F,) of the cycle."""
    measures = Measures.of(skeleton)
    passed = times / (PERIOD * measures.pace)
    turn = np.pi * passed
    over = turn - np.pi * FLIGHT
    bob = BOB * np.cos(2.0 * over)
    hips = measures.leg * np.stack([SWAY * np.cos(over), bob, TRAVEL * passed], -1)
    angles = np.stack(
        [-PELVIS_TURN * np.cos(turn), np.full(len(times), LEAN), PELVIS_DROP * np.cos(over)],
        -1,
    )
    return hips, from_euler(np.radians(angles), "YXZ"), turn


def _feet(skeleton: Skeleton, plants: dict[str, list[Footfall]], times: Array) -> dict[str, FootPath]:
    return {side: follow(plants[side], Foot.of(skeleton, side), times) for side in SIDES}


def _height(skeleton: Skeleton) -> float:
    """The mean height of the hips: both legs reach their feet all through a cycle, and land with their knees bent."""
    cycle = 2.0 * PERIOD * Measures.of(skeleton).pace
    times = np.linspace(0.0, cycle, 481)
    hips, orientation, _ = _hips(skeleton, times)
    room = highest_hips(skeleton, hips, orientation, _feet(skeleton, footfalls(skeleton, cycle), times))
    return float(np.min(room - hips[:, 1])) - BENT * Measures.of(skeleton).leg


def skip(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character skips, at a rate (frames per second), for so many seconds."""
    times = frame_times(fps, seconds)
    plants = footfalls(skeleton, seconds)
    hips, orientation, turn = _hips(skeleton, times)
    hips[:, 1] += _height(skeleton)
    figure = HumanPose(skeleton, hips, orientation)
    for side, path in _feet(skeleton, plants, times).items():
        figure.leg(side, path, np.radians(3.0), -np.radians(PELVIS_TURN) * np.cos(turn))
    _upper_body(figure, turn)
    contacts = [c for side in SIDES for c in foot_contacts(skeleton, side, plants[side], seconds)]
    return Scene(
        name="skip",
        actors={skeleton.name: figure.motion(fps, "skip")},
        contacts=tuple(sorted(contacts, key=lambda contact: contact.start)),
        about=ABOUT,
        tags=("human", "gait"),
    )


def _upper_body(figure: HumanPose, turn: Array) -> None:
    """The trunk turns against the pelvis, the arms swing high against the legs, the head stays steady."""
    over = turn - np.pi * FLIGHT
    figure.lean(
        np.radians(0.5 * LEAN),
        np.radians(CHEST_TURN + PELVIS_TURN) * np.cos(turn),
        -np.radians(0.8 * PELVIS_DROP) * np.cos(over),
    )
    figure.look(heading(np.radians(0.15 * CHEST_TURN) * np.cos(turn)))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        swing, late = -sign * np.cos(turn - 0.3), -sign * np.cos(turn - 0.7)
        figure.turn(f"{side}Shoulder", 0.0, -sign * np.radians(0.12 * ARM_SWING) * swing, 0.0)
        figure.arm(
            side,
            np.radians(10.0 + ARM_SWING * swing),
            np.radians(14.0),
            np.radians(ELBOW + 0.35 * ELBOW * late),
            np.radians(6.0),
        )
        figure.hand(side, np.radians(18.0))


MOTIONS = (MotionSample(name="skip", about=ABOUT, seconds=5.0, make=lambda fps, seconds: skip(adult(), fps, seconds)),)
