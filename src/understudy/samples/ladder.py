"""Climbing a vertical ladder: a hand and the opposite foot at a time; all holds are exact."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_euler, identity
from understudy.figure.contacts import Contact
from understudy.figure.skeleton import Skeleton
from understudy.samples.human_body import (
    Foot,
    Footfall,
    HumanPose,
    Measures,
    ease,
    follow,
    foot_contacts,
    frame_times,
    hump,
    palm_facing,
    through,
)
from understudy.samples.humans import SIDES, adult
from understudy.samples.scene import MotionSample, Prop, Scene

ABOUT = "Climbs a ladder, a hand and the opposite foot at a time"

THICKNESS_LEGS = 0.032
"""Thickness of rungs and rails."""

HAND_SPREAD_BREADTHS = 0.83
"""Distance between the hands, in shoulder breadths."""

BEAT_SECONDS = 0.8
"""Time from one move of an adult to the next."""

START_SECONDS = 0.5
"""Time before the first move."""

FOOT_MOVE_SHARES, HAND_MOVE_SHARES = (0.06, 0.72), (0.12, 0.86)
"""Start and end of the move of a foot and of a hand, in shares of a beat."""

Hold = tuple[float, float, int]
"""Start and end, seconds of an adult, and number of the rung; 0 is the floor."""


def _rung(measures: Measures) -> float:
    """Distance between rungs, metres; each limb must reach two rungs up."""
    return min(0.27 * measures.leg, 0.45 * measures.arm)


def _back(measures: Measures) -> float:
    """Distance of the hips behind the rungs, metres: the trunk leans in, and the arms are half bent."""
    return 0.745 * measures.arm + 0.045 * measures.shoulder


def _standing(skeleton: Skeleton) -> float:
    """Height of the root above a foothold when the leg on it is nearly straight."""
    measures = Measures.of(skeleton)
    ball = skeleton.offsets[skeleton.joint("LeftToeBase")][2]
    straight = np.sqrt((0.97 * (measures.thigh + measures.shin)) ** 2 - (_back(measures) - ball) ** 2)
    return float(measures.pelvis + measures.ankle + straight) - 0.01 * measures.leg


def climb(first: int, rung: int, until: float, move: tuple[float, float], floor_first: bool) -> list[Hold]:
    """The holds of a limb that moves two rungs up in every other beat.

    Args:
        first: The beat of its first move, 0 or 1.
        rung: Its first rung.
        until: Seconds to cover.
        move: Start and end of its move, in shares of a beat.
        floor_first: Whether it starts on the floor, so that its first move is to rung 1 or 2.
    """
    since, holds = -2.0, []
    for beat in range(first, int(np.ceil(max(until - START_SECONDS, 0.0) / BEAT_SECONDS)) + 3, 2):
        holds.append((since, START_SECONDS + BEAT_SECONDS * (beat + move[0]), rung))
        since = START_SECONDS + BEAT_SECONDS * (beat + move[1])
        rung = first + 1 if floor_first and rung == 0 else rung + 2
    return [*holds, (since, since + 10.0, rung)]


def _footholds(skeleton: Skeleton, side: str, until: float) -> list[Footfall]:
    measures = Measures.of(skeleton)
    leg, pace = measures.leg, measures.pace
    sign, first = (1.0, 1) if side == "Left" else (-1.0, 0)
    ball = skeleton.offsets[skeleton.joint(f"{side}ToeBase")][2]
    plants = []
    for since, until_, rung in climb(first, 0, until, FOOT_MOVE_SHARES, floor_first=True):
        stands = rung == 0
        height = 0.0 if stands else _rung(measures) * rung + 0.5 * THICKNESS_LEGS * leg
        # On a rung the ball of the foot rests at z = 0; on the floor the whole foot is in front of the ladder.
        far = -ball * np.cos(np.radians(8.0)) - (0.1 * leg if stands else 0.0)
        plants.append(
            Footfall(
                place=np.array([sign * 0.115 * leg, height, far]),
                yaw=sign * np.radians(8.0),
                touch=pace * since,
                flat=pace * (since + 0.08),
                lift=pace * (until_ - 0.16),
                leave=pace * until_,
                touch_pitch=0.0 if stands else np.radians(8.0),
                leave_pitch=np.radians(24.0),
                rise=0.05 * leg,
                advance=-0.2 * leg,
                on="floor" if stands else "ladder",
            )
        )
    return plants


def _grip(skeleton: Skeleton, side: str, rung: int) -> Array:
    """(3,) where the palm holds a rung."""
    measures = Measures.of(skeleton)
    sign = 1.0 if side == "Left" else -1.0
    return np.array(
        [sign * HAND_SPREAD_BREADTHS * measures.breadth, _rung(measures) * rung, -0.5 * THICKNESS_LEGS * measures.leg]
    )


def _first_rung(skeleton: Skeleton) -> int:
    """The rung a little below the shoulders of a body that stands on the floor."""
    measures = Measures.of(skeleton)
    return int(np.floor((_standing(skeleton) + measures.shoulder) / _rung(measures) - 0.25))


def _handholds(skeleton: Skeleton, side: str, until: float) -> list[Hold]:
    first = 0 if side == "Left" else 1
    return climb(first, _first_rung(skeleton) + first, until, HAND_MOVE_SHARES, floor_first=False)


def _palm(skeleton: Skeleton, side: str, holds: list[Hold], times: Array) -> Array:
    """(F, 3) the path of a palm from hold to hold, out and over the rungs in between."""
    measures = Measures.of(skeleton)
    t = times / measures.pace
    places = np.array([_grip(skeleton, side, rung) for _, _, rung in holds])
    path = np.tile(places[0], (len(times), 1))
    away = measures.leg * np.array([0.0, 0.05, -0.11])
    for k, (_, leaves, _) in enumerate(holds[:-1]):
        share = (t - leaves) / (holds[k + 1][0] - leaves)
        path += ease(share)[:, None] * (places[k + 1] - places[k]) + hump(share)[:, None] * away
    # The sum of steps has rounding errors; during a hold the palm is set exactly on its rung.
    for (since, until, _), place in zip(holds, places):
        path[(t >= since) & (t <= until)] = place
    return path


def _hips(skeleton: Skeleton, times: Array) -> tuple[Array, Array]:
    """The root's path (F, 3), one rung up in every beat but the first, and its side (F,) from -1 to 1."""
    measures = Measures.of(skeleton)
    t, leg = times / measures.pace, measures.leg
    beats = int(np.ceil(max(t[-1] - START_SECONDS, 0.0) / BEAT_SECONDS)) + 3
    knots, heights, shifts, sides = [0.0], [0.0], [0.0, 0.3 * START_SECONDS], [0.0, 0.0]
    for beat in range(beats):
        begin = START_SECONDS + BEAT_SECONDS * beat
        knots += [begin + 0.06 * BEAT_SECONDS, begin + 0.96 * BEAT_SECONDS]
        heights += [float(max(beat - 1, 0)), float(beat)]
        shifts.append(begin + 0.4 * BEAT_SECONDS)
        sides.append(1.0 if beat % 2 == 0 else -1.0)
    side = through(t, shifts, sides)
    hips = np.stack(
        [
            0.035 * leg * side,
            _standing(skeleton) + _rung(measures) * through(t, knots, heights),
            np.full(len(t), -_back(measures)),
        ],
        -1,
    )
    return hips, side


def ladder(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character climbs a ladder; a rate in frames per second and a length in seconds."""
    measures = Measures.of(skeleton)
    times, until = frame_times(fps, seconds), seconds / measures.pace
    hips, side_on = _hips(skeleton, times)
    zero = np.zeros(len(times))
    angles = np.stack([np.radians(4.0) * side_on, zero + np.radians(3.0), np.radians(-3.0) * side_on], -1)
    figure = HumanPose(skeleton, hips, from_euler(angles, "YXZ"))
    contacts, plants = [], {side: _footholds(skeleton, side, until) for side in SIDES}
    for side in SIDES:
        figure.leg(side, follow(plants[side], Foot.of(skeleton, side), times), np.radians(24.0))
        contacts += foot_contacts(skeleton, side, plants[side], seconds)
    figure.lean(np.radians(-2.0), np.radians(-9.0) * side_on, np.radians(5.0) * side_on)
    figure.look(from_euler(np.stack([np.radians(5.0) * side_on, zero - np.radians(16.0), zero], -1), "YXZ"))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        holds = _handholds(skeleton, side, until)
        figure.turn(f"{side}Shoulder", 0.0, -sign * 0.12, sign * 0.16)
        facing = palm_facing(side, np.array([0.0, 0.866, 0.5]), np.array([0.0, -0.5, 0.866]))
        pole = np.array([sign * 0.5, -0.85, -0.2])
        figure.reach(side, _palm(skeleton, side, holds, times), np.tile(facing, (len(times), 1)), pole)
        contacts += [
            Contact(
                point=skeleton.point(f"{side}Palm"), start=max(since * measures.pace, 0.0),
                end=min(leaves * measures.pace, seconds), place=_grip(skeleton, side, rung), on="ladder",
            )
            for since, leaves, rung in holds
            if since < until
        ]  # fmt: skip
    return Scene(
        name="ladder", actors={skeleton.name: figure.motion(fps, "ladder")}, props=(_prop(skeleton, until),),
        contacts=tuple(sorted(contacts, key=lambda contact: contact.start)), about=ABOUT, tags=("human", "prop"),
    )  # fmt: skip


def _prop(skeleton: Skeleton, until: float) -> Prop:
    """The ladder: its rungs, then its two rails."""
    measures = Measures.of(skeleton)
    leg, rung = measures.leg, _rung(measures)
    half = HAND_SPREAD_BREADTHS * measures.breadth + 0.07 * leg
    count = max(hold[2] for side in SIDES for hold in _handholds(skeleton, side, until)) + 2
    tall = rung * (count + 0.5)
    sizes = [[2.0 * half, THICKNESS_LEGS * leg, THICKNESS_LEGS * leg]] * count + [
        [THICKNESS_LEGS * leg, tall, THICKNESS_LEGS * leg]
    ] * 2
    places = [[0.0, rung * (k + 1), 0.0] for k in range(count)]
    places += [[sign * half, 0.5 * tall, 0.0] for sign in (1.0, -1.0)]
    return Prop(name="ladder", sizes=np.array(sizes), positions=np.array(places), rotations=identity(count + 2))


MOTIONS = (
    MotionSample(name="ladder", about=ABOUT, seconds=6.0, make=lambda fps, seconds: ladder(adult(), fps, seconds)),
)
