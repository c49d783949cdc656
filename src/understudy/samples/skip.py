"""Skipping: a step, then a hop on the same foot, left and right in turn; all footfalls are exactly known."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_euler
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

PERIOD_SECONDS = 0.7
"""Time of a step and a hop of an adult: from the step of one foot to the step of the other."""

TRAVEL_LEGS = 1.05
"""Distance travelled in that time."""

STEP_SHARES = (0.0, 0.06, 0.14, 0.3)
"""When the foot of a step touches, is flat, lifts its heel and leaves, in shares of the period."""

HOP_SHARES = (0.58, 0.64, 0.82, 1.06)
"""The same for the landing of the hop; the other foot touches shortly before this one leaves."""

FLIGHT_SHARE = 0.5 * (STEP_SHARES[3] + HOP_SHARES[0])
"""Middle of the flight, when the body is highest, in shares of the period."""

HALF_WIDTH_LEGS, BOB_LEGS, SWAY_LEGS = 0.05, 0.055, 0.014
"""Half the distance between the feet; amplitudes of the hips up and down, and to the sides."""

KNEE_MARGIN_LEGS = 0.02
"""Distance of the hips below the height at which a leg would be straight."""

LEAN_DEGREES, PELVIS_TURN_DEGREES, PELVIS_DROP_DEGREES, CHEST_TURN_DEGREES = 4.0, 6.0, 3.0, 8.0
"""Angles of the trunk."""

ARM_SWING_DEGREES, ELBOW_DEGREES = 42.0, 55.0
"""Amplitude of the arms, and mean angle of the elbows."""


def footfalls(skeleton: Skeleton, seconds: float) -> dict[str, list[Footfall]]:
    """All footfalls of both feet within a time (seconds), and some more at each end."""
    measures = Measures.of(skeleton)
    leg, period = measures.leg, PERIOD_SECONDS * measures.pace
    plants: dict[str, list[Footfall]] = {side: [] for side in SIDES}
    for k in range(-3, int(np.ceil(seconds / period)) + 4):
        side, sign = ("Left", 1.0) if k % 2 == 0 else ("Right", -1.0)
        for shares, pitches, rise, peak in (
            (STEP_SHARES, (-6.0, 26.0), 0.22, 0.5),
            (HOP_SHARES, (-3.0, 40.0), 0.12, 0.45),
        ):
            touch, flat, lift, leave = ((k + share) * period for share in shares)
            # The hips pass over a foot a little before the middle of its stance, so that no leg has to reach far ahead.
            along = TRAVEL_LEGS * leg * (k + 0.5 * (shares[0] + shares[3]) - 0.05)
            plants[side].append(
                Footfall(
                    place=np.array([sign * HALF_WIDTH_LEGS * leg, 0.0, along]),
                    yaw=sign * np.radians(5.0),
                    touch=touch,
                    flat=flat,
                    lift=lift,
                    leave=leave,
                    touch_pitch=np.radians(pitches[0]),
                    leave_pitch=np.radians(pitches[1]),
                    rise=rise * leg + measures.clearance,
                    advance=0.1 * leg if shares is STEP_SHARES else 0.0,
                    peak=peak,
                    brake=30.0,
                )
            )
    return plants


def _hips(skeleton: Skeleton, times: Array) -> tuple[Array, Array, Array]:
    """Path (F, 3) of the root, with only the bob as its height, its orientations (F, 4), and the cycle angle (F,)."""
    measures = Measures.of(skeleton)
    passed = times / (PERIOD_SECONDS * measures.pace)
    turn = np.pi * passed
    over = turn - np.pi * FLIGHT_SHARE
    bob = BOB_LEGS * np.cos(2.0 * over)
    hips = measures.leg * np.stack([SWAY_LEGS * np.cos(over), bob, TRAVEL_LEGS * passed], -1)
    angles = np.stack(
        [-PELVIS_TURN_DEGREES * np.cos(turn), np.full(len(times), LEAN_DEGREES), PELVIS_DROP_DEGREES * np.cos(over)],
        -1,
    )
    return hips, from_euler(np.radians(angles), "YXZ"), turn


def _feet(skeleton: Skeleton, plants: dict[str, list[Footfall]], times: Array) -> dict[str, FootPath]:
    return {side: follow(plants[side], Foot.of(skeleton, side), times) for side in SIDES}


def _height(skeleton: Skeleton) -> float:
    """Mean height of the hips at which both legs reach their feet in the whole cycle, with bent knees."""
    cycle = 2.0 * PERIOD_SECONDS * Measures.of(skeleton).pace
    times = np.linspace(0.0, cycle, 481)
    hips, orientation, _ = _hips(skeleton, times)
    room = highest_hips(skeleton, hips, orientation, _feet(skeleton, footfalls(skeleton, cycle), times))
    return float(np.min(room - hips[:, 1])) - KNEE_MARGIN_LEGS * Measures.of(skeleton).leg


def skip(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character skips; a rate in frames per second and a length in seconds."""
    times = frame_times(fps, seconds)
    plants = footfalls(skeleton, seconds)
    hips, orientation, turn = _hips(skeleton, times)
    hips[:, 1] += _height(skeleton)
    figure = HumanPose(skeleton, hips, orientation)
    for side, path in _feet(skeleton, plants, times).items():
        figure.leg(side, path, np.radians(3.0), -np.radians(PELVIS_TURN_DEGREES) * np.cos(turn))
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
    """Pose the upper body: the trunk turns against the pelvis, the arms swing against the legs, the head is steady."""
    over = turn - np.pi * FLIGHT_SHARE
    figure.lean(
        np.radians(0.5 * LEAN_DEGREES),
        np.radians(CHEST_TURN_DEGREES + PELVIS_TURN_DEGREES) * np.cos(turn),
        -np.radians(0.8 * PELVIS_DROP_DEGREES) * np.cos(over),
    )
    figure.look(heading(np.radians(0.15 * CHEST_TURN_DEGREES) * np.cos(turn)))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        swing, late = -sign * np.cos(turn - 0.3), -sign * np.cos(turn - 0.7)
        figure.turn(f"{side}Shoulder", 0.0, -sign * np.radians(0.12 * ARM_SWING_DEGREES) * swing, 0.0)
        figure.arm(
            side,
            np.radians(10.0 + ARM_SWING_DEGREES * swing),
            np.radians(14.0),
            np.radians(ELBOW_DEGREES + 0.35 * ELBOW_DEGREES * late),
            np.radians(6.0),
        )
        figure.hand(side, np.radians(18.0))


MOTIONS = (MotionSample(name="skip", about=ABOUT, seconds=5.0, make=lambda fps, seconds: skip(adult(), fps, seconds)),)
