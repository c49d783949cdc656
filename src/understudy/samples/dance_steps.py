"""The steps of a swing dance for two: where each dancer's feet and hips are, count by count.

A pattern has six counts: side on 1, side on 3, rock back on 5, replace on 6. Both dancers step to the same side of
the room at the same time: the leader begins on the left foot, the follower, who faces the leader, on the right.
Turning, the follower takes six small steps before the rock: in fewer, a foot that stands while the body turns on ends
up across the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array, rotate
from understudy.samples.human_body import Measures
from understudy.samples.human_curves import through
from understudy.samples.human_footwork import Plant, heading
from understudy.skeleton import Skeleton

BEAT = 0.44
"""Seconds from count to count."""
BEFORE = 0.5
"""Counts before the first step at time zero."""
WIDTH, SIDE, ROCK = 0.09, 0.13, 0.2
"""Half the distance between the feet; how far they step to the side and back; in leg lengths."""
TURN = ((0.85, 0.0), (1.75, 0.16), (3.85, 0.84), (4.75, 1.0))
"""At which counts the follower has done how much of the turn."""
STEPS, QUICK, STAND = 6, 0.66, 0.92
"""How many steps a turn takes, counts from one to the next, and counts that each stands."""


def turns(pattern: int) -> bool:
    """Whether the follower turns under the arm in a pattern."""
    return pattern % 3 == 1


def when(pattern: int, count: float) -> float:
    """Seconds at which a count (from 1) of a pattern (from 0) falls."""
    return BEAT * (6 * pattern + count - 1.0 + BEFORE)


def patterns(seconds: float) -> range:
    """The patterns that so many seconds can meet, and one more on either side."""
    return range(-1, int(np.ceil(seconds / (6.0 * BEAT))) + 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Dancer:
    """One of the two: body, place in the room, and which way is forward."""

    skeleton: Skeleton
    leads: bool
    away: float
    """How far from the middle of the room the dancer stands, metres."""
    closer: float
    """How much nearer to it in the turn, metres."""

    @property
    def facing(self) -> float:
        """+1 towards +Z, -1 towards -Z."""
        return 1.0 if self.leads else -1.0

    @property
    def feet(self) -> tuple[str, str]:
        """The foot on the +X side of the room, which begins, and the other one."""
        return ("Left", "Right") if self.leads else ("Right", "Left")

    def spot(self, x: float, forward: float) -> Array:
        """(3,) a place on the floor, x along the room and so far in front of where the dancer stands, metres."""
        return np.array([x, 0.0, self.facing * (forward - self.away)])

    def yaw(self, pattern: int) -> float:
        """Heading at the start of a pattern; it has no jumps, so every turn done before counts."""
        return 0.0 if self.leads else np.pi - 2.0 * np.pi * ((pattern + 1) // 3)

    def heading(self, times: Array, seconds: float) -> Array:
        """(F,) heading of the hips, radians."""
        knots, values = [], []
        for n in patterns(seconds):
            knots += [when(n, count) for count, _ in TURN]
            values += [self.yaw(n) + share * (self.yaw(n + 1) - self.yaw(n)) for _, share in TURN]
        return through(times, knots, values)


def _plant(dancer: Dancer, place: Array, yaw: float, span: tuple[float, float], **more: float) -> Plant:
    leg = Measures.of(dancer.skeleton).leg
    touch, leave = span
    options = {"leave_pitch": np.radians(22.0), "rise": 0.045 * leg, **more}
    return Plant(place=place, yaw=yaw, touch=touch, flat=touch + 0.1, lift=leave - 0.13, leave=leave, **options)


def _pivot(dancer: Dancer, role: int, pattern: int, counts: tuple[float, float]) -> Plant:
    """A foot of the turning follower: set down on the ball, on which it turns with the body."""
    leg = Measures.of(dancer.skeleton).leg
    side = dancer.feet[role]
    own = 1.0 if side == "Left" else -1.0
    span = (when(pattern, counts[0]), when(pattern, counts[1]))
    start, middle, end = dancer.heading(np.array([span[0] + 0.1, np.mean(span), span[1] - 0.05]), span[1])
    ball = dancer.skeleton.offsets[dancer.skeleton.joint(f"{side}ToeBase")] * [1.0, 0.0, 1.0]
    axis = dancer.spot(0.0, dancer.closer)
    rests = axis + rotate(heading(middle), np.array([own * 0.13 * leg, 0.0, 0.3 * ball[2]]))
    yaw = start + own * np.radians(6.0)
    return _plant(
        dancer, rests - rotate(heading(yaw), ball), yaw, span, turn=end - start,
        touch_pitch=np.radians(20.0), stand_pitch=np.radians(16.0), leave_pitch=np.radians(28.0),
    )  # fmt: skip


def _pattern(dancer: Dancer, n: int) -> list[tuple[int, Plant]]:
    """The plants of a pattern, each with its role: 0 for the foot that begins, 1 for the other."""
    leg = Measures.of(dancer.skeleton).leg
    spin, next_spin = turns(n) and not dancer.leads, turns(n + 1) and not dancer.leads
    closer = dancer.closer if turns(n) else 0.0
    out = [np.radians(8.0) * (1.0 if side == "Left" else -1.0) for side in dancer.feet]
    yaw, after = dancer.yaw(n), dancer.yaw(n + 1)
    w, side = WIDTH * leg, SIDE * leg
    if spin:
        found = [(k % 2, _pivot(dancer, k % 2, n, (1.0 + QUICK * k, 1.0 + QUICK * k + STAND))) for k in range(STEPS)]
    else:
        found = [
            (0, _plant(dancer, dancer.spot(w + side, closer), yaw + out[0], (when(n, 1), when(n, 4.5)))),
            (1, _plant(dancer, dancer.spot(-w - 0.5 * side, closer), yaw + out[1], (when(n, 3), when(n, 5.5)))),
        ]
    back = _plant(
        dancer, dancer.spot(0.5 * w, -ROCK * leg), after + out[0], (when(n, 5), when(n, 6.5)),
        touch_pitch=np.radians(30.0), stand_pitch=np.radians(20.0), leave_pitch=np.radians(30.0),
    )  # fmt: skip
    until = when(n + 1, 1.35 if next_spin else 2.5)
    return [*found, (0, back), (1, _plant(dancer, dancer.spot(-w, 0.0), after + out[1], (when(n, 6), until)))]


def footsteps(dancer: Dancer, seconds: float) -> dict[str, list[Plant]]:
    """Every plant of both feet that so many seconds can meet."""
    found: dict[str, list[Plant]] = {side: [] for side in dancer.feet}
    for n in patterns(seconds):
        for role, plant in _pattern(dancer, n):
            found[dancer.feet[role]].append(plant)
    return found


def hips(dancer: Dancer, times: Array, seconds: float) -> Array:
    """(F, 3) the way of the root, its height only as it pulses with the beat."""
    leg = Measures.of(dancer.skeleton).leg
    knots, along, forward = [], [], []
    for n in patterns(seconds):
        closer = dancer.closer / leg if turns(n) else 0.0
        still = turns(n) and not dancer.leads
        knots += [when(n, count) for count in (1.25, 2.0, 3.25, 4.0, 5.1, 6.1)]
        along += [0.0] * 4 if still else [0.085, 0.1, -0.06, -0.075]
        along += [0.0, -0.035]
        forward += [0.9 * closer, closer, closer, 0.9 * closer, -0.07, 0.0]
    x, ahead = leg * through(times, knots, np.array([along, forward]).T).T
    pulse = np.cos(2.0 * np.pi * (times / BEAT - BEFORE))
    return np.stack([x, -0.012 * leg * pulse, dancer.facing * (ahead - dancer.away)], -1)
