"""Climbing a vertical ladder: a hand and the opposite foot at a time, each hold exact."""

from __future__ import annotations

import numpy as np

from understudy.base.euler import from_euler
from understudy.base.quaternion import Array, identity
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

THICK = 0.032
"""Of rungs and rails, in leg lengths."""

HANDS = 0.83
"""How far apart the hands hold, in breadths of the shoulders."""

BEAT = 0.8
"""Seconds from one move to the next, for an adult."""

START = 0.5
"""Seconds before the first move."""

FOOT_MOVE, HAND_MOVE = (0.06, 0.72), (0.12, 0.86)
"""From which to which share of a beat a foot and a hand move."""

Hold = tuple[float, float, int]
"""From when until when, seconds of an adult, and on which rung; 0 is the floor."""


def _rung(measures: Measures) -> float:
    """Distance between rungs, metres, within reach of legs and arms: each climbs two at a time."""
    return min(0.27 * measures.leg, 0.45 * measures.arm)


def _back(measures: Measures) -> float:
    """How far the hips stay behind the rungs, metres: the trunk leans in, and the arms are half bent."""
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
        rung: Where it is at first.
        until: Seconds that must be covered.
        move: From which to which share of a beat it moves.
        floor_first: It stands on the floor at first, so that its first move is to rung 1 or 2.
    """
    since, holds = -2.0, []
    for beat in range(first, int(np.ceil(max(until - START, 0.0) / BEAT)) + 3, 2):
        holds.append((since, START + BEAT * (beat + move[0]), rung))
        since = START + BEAT * (beat + move[1])
        rung = first + 1 if floor_first and rung == 0 else rung + 2
    return [*holds, (since, since + 10.0, rung)]


def _footholds(skeleton: Skeleton, side: str, until: float) -> list[Footfall]:
    measures = Measures.of(skeleton)
    leg, pace = measures.leg, measures.pace
    sign, first = (1.0, 1) if side == "Left" else (-1.0, 0)
    ball = skeleton.offsets[skeleton.joint(f"{side}ToeBase")][2]
    plants = []
    for since, until_, rung in climb(first, 0, until, FOOT_MOVE, floor_first=True):
        stands = rung == 0
        height = 0.0 if stands else _rung(measures) * rung + 0.5 * THICK * leg
        # On a rung it is the ball that rests at z = 0; on the floor the whole foot stays in front of the ladder.
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
    return np.array([sign * HANDS * measures.breadth, _rung(measures) * rung, -0.5 * THICK * measures.leg])


def _first_rung(skeleton: Skeleton) -> int:
    """The rung that is a little below the shoulders of someone who stands on the floor."""
    measures = Measures.of(skeleton)
    return int(np.floor((_standing(skeleton) + measures.shoulder) / _rung(measures) - 0.25))


def _handholds(skeleton: Skeleton, side: str, until: float) -> list[Hold]:
    first = 0 if side == "Left" else 1
    return climb(first, _first_rung(skeleton) + first, until, HAND_MOVE, floor_first=False)


def _palm(skeleton: Skeleton, side: str, holds: list[Hold], times: Array) -> Array:
    """(F, 3) the way of a palm from hold to hold, out and over the rungs in between."""
    measures = Measures.of(skeleton)
    t = times / measures.pace
    places = np.array([_grip(skeleton, side, rung) for _, _, rung in holds])
    found = np.tile(places[0], (len(times), 1))
    away = measures.leg * np.array([0.0, 0.05, -0.11])
    for k, (_, leaves, _) in enumerate(holds[:-1]):
        share = (t - leaves) / (holds[k + 1][0] - leaves)
        found += ease(share)[:, None] * (places[k + 1] - places[k]) + hump(share)[:, None] * away
    # Sums of steps round; while it holds on, the palm is exactly on its rung.
    for (since, until, _), place in zip(holds, places):
        found[(t >= since) & (t <= until)] = place
    return found


def _hips(skeleton: Skeleton, times: Array) -> tuple[Array, Array]:
    """(F, 3) the root's path: it rises by a rung in every beat but the first; and (F,) -1 to 1, the side it is on."""
    measures = Measures.of(skeleton)
    t, leg = times / measures.pace, measures.leg
    beats = int(np.ceil(max(t[-1] - START, 0.0) / BEAT)) + 3
    knots, heights, shifts, sides = [0.0], [0.0], [0.0, 0.3 * START], [0.0, 0.0]
    for beat in range(beats):
        begin = START + BEAT * beat
        knots += [begin + 0.06 * BEAT, begin + 0.96 * BEAT]
        heights += [float(max(beat - 1, 0)), float(beat)]
        shifts.append(begin + 0.4 * BEAT)
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
    """A human character climbs a ladder, at a rate (frames per second), for so many seconds."""
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
    half = HANDS * measures.breadth + 0.07 * leg
    count = max(hold[2] for side in SIDES for hold in _handholds(skeleton, side, until)) + 2
    tall = rung * (count + 0.5)
    sizes = [[2.0 * half, THICK * leg, THICK * leg]] * count + [[THICK * leg, tall, THICK * leg]] * 2
    places = [[0.0, rung * (k + 1), 0.0] for k in range(count)]
    places += [[sign * half, 0.5 * tall, 0.0] for sign in (1.0, -1.0)]
    return Prop(name="ladder", sizes=np.array(sizes), positions=np.array(places), rotations=identity(count + 2))


MOTIONS = (
    MotionSample(name="ladder", about=ABOUT, seconds=6.0, make=lambda fps, seconds: ladder(adult(), fps, seconds)),
)
