"""A swing dance for two: basic steps with joined hands, and a turn of the follower under the raised arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, from_euler, multiply, rotate, slerp
from understudy.base.records import record
from understudy.figure.contacts import Contact
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
    palm_facing,
    through,
)
from understudy.samples.humans import adult
from understudy.samples.limbs import unit
from understudy.samples.scene import MotionSample, Scene

BEAT_SECONDS = 0.44
"""Time from one count to the next."""

LEAD_IN_COUNTS = 0.5
"""Counts from time zero to the first step."""

HALF_WIDTH_LEGS, SIDE_STEP_LEGS, BACK_STEP_LEGS = 0.09, 0.13, 0.2
"""Half the distance between the feet; lengths of the steps to the side and back."""

TURN_COUNTS = ((0.85, 0.0), (1.75, 0.16), (3.85, 0.84), (4.75, 1.0))
"""Pairs of a count and the share of the turn that the follower has done by then."""

TURN_STEPS, TURN_STEP_COUNTS, TURN_STANCE_COUNTS = 6, 0.66, 0.92
"""Number of steps in a turn, counts from one step to the next, and counts of each stance."""


def turns(pattern: int) -> bool:
    """Whether the follower turns under the arm in a pattern."""
    return pattern % 3 == 1


def when(pattern: int, count: float) -> float:
    """Time of a count (from 1) of a pattern (from 0), seconds."""
    return BEAT_SECONDS * (6 * pattern + count - 1.0 + LEAD_IN_COUNTS)


def patterns(seconds: float) -> range:
    """The patterns within a time (seconds), and one more at each end."""
    return range(-1, int(np.ceil(seconds / (6.0 * BEAT_SECONDS))) + 2)


@record
class Dancer:
    """One of the two dancers: body, position in the room, and forward direction."""

    skeleton: Skeleton
    leads: bool
    away: float
    """Distance of the dancer from the middle of the room, metres."""
    closer: float
    """How much nearer to the middle the dancer is in the turn, metres."""

    @property
    def facing(self) -> float:
        """+1 towards +Z, -1 towards -Z."""
        return 1.0 if self.leads else -1.0

    @property
    def feet(self) -> tuple[str, str]:
        """The sides of the foot on the +X side of the room, which steps first, and of the other foot."""
        return ("Left", "Right") if self.leads else ("Right", "Left")

    def spot(self, x: float, forward: float) -> Array:
        """(3,) metres, world: a place on the floor at x, `forward` of where the dancer stands."""
        return np.array([x, 0.0, self.facing * (forward - self.away)])

    def yaw(self, pattern: int) -> float:
        """Heading at the start of a pattern, radians; continuous, so it includes all earlier turns."""
        return 0.0 if self.leads else np.pi - 2.0 * np.pi * ((pattern + 1) // 3)

    def heading(self, times: Array, seconds: float) -> Array:
        """(F,) heading of the hips, radians."""
        knots, values = [], []
        for n in patterns(seconds):
            knots += [when(n, count) for count, _ in TURN_COUNTS]
            values += [self.yaw(n) + share * (self.yaw(n + 1) - self.yaw(n)) for _, share in TURN_COUNTS]
        return through(times, knots, values)


def _plant(dancer: Dancer, place: Array, yaw: float, span: tuple[float, float], **more: float) -> Footfall:
    leg = Measures.of(dancer.skeleton).leg
    touch, leave = span
    options = {"leave_pitch": np.radians(22.0), "rise": 0.045 * leg, **more}
    return Footfall(place=place, yaw=yaw, touch=touch, flat=touch + 0.1, lift=leave - 0.13, leave=leave, **options)


def _pivot(dancer: Dancer, role: int, pattern: int, counts: tuple[float, float]) -> Footfall:
    """A footfall of the turning follower: on the ball of the foot, which turns with the body."""
    leg = Measures.of(dancer.skeleton).leg
    side = dancer.feet[role]
    sign = 1.0 if side == "Left" else -1.0
    span = (when(pattern, counts[0]), when(pattern, counts[1]))
    start, middle, end = dancer.heading(np.array([span[0] + 0.1, np.mean(span), span[1] - 0.05]), span[1])
    ball = dancer.skeleton.offsets[dancer.skeleton.joint(f"{side}ToeBase")] * [1.0, 0.0, 1.0]
    axis = dancer.spot(0.0, dancer.closer)
    rests = axis + rotate(heading(middle), np.array([sign * 0.13 * leg, 0.0, 0.3 * ball[2]]))
    yaw = start + sign * np.radians(6.0)
    return _plant(
        dancer, rests - rotate(heading(yaw), ball), yaw, span, turn=end - start,
        touch_pitch=np.radians(20.0), stand_pitch=np.radians(16.0), leave_pitch=np.radians(28.0),
    )  # fmt: skip


def _pattern(dancer: Dancer, n: int) -> list[tuple[int, Footfall]]:
    """The footfalls of a pattern, each with its role: 0 for the foot that steps first, 1 for the other."""
    leg = Measures.of(dancer.skeleton).leg
    spin, next_spin = turns(n) and not dancer.leads, turns(n + 1) and not dancer.leads
    closer = dancer.closer if turns(n) else 0.0
    out = [np.radians(8.0) * (1.0 if side == "Left" else -1.0) for side in dancer.feet]
    yaw, after = dancer.yaw(n), dancer.yaw(n + 1)
    w, side = HALF_WIDTH_LEGS * leg, SIDE_STEP_LEGS * leg
    if spin:
        plants = [
            (
                k % 2,
                _pivot(dancer, k % 2, n, (1.0 + TURN_STEP_COUNTS * k, 1.0 + TURN_STEP_COUNTS * k + TURN_STANCE_COUNTS)),
            )
            for k in range(TURN_STEPS)
        ]
    else:
        plants = [
            (0, _plant(dancer, dancer.spot(w + side, closer), yaw + out[0], (when(n, 1), when(n, 4.5)))),
            (1, _plant(dancer, dancer.spot(-w - 0.5 * side, closer), yaw + out[1], (when(n, 3), when(n, 5.5)))),
        ]
    back = _plant(
        dancer, dancer.spot(0.5 * w, -BACK_STEP_LEGS * leg), after + out[0], (when(n, 5), when(n, 6.5)),
        touch_pitch=np.radians(30.0), stand_pitch=np.radians(20.0), leave_pitch=np.radians(30.0),
    )  # fmt: skip
    until = when(n + 1, 1.35 if next_spin else 2.5)
    return [*plants, (0, back), (1, _plant(dancer, dancer.spot(-w, 0.0), after + out[1], (when(n, 6), until)))]


def footsteps(dancer: Dancer, seconds: float) -> dict[str, list[Footfall]]:
    """All footfalls of both feet within a time (seconds)."""
    plants: dict[str, list[Footfall]] = {side: [] for side in dancer.feet}
    for n in patterns(seconds):
        for role, plant in _pattern(dancer, n):
            plants[dancer.feet[role]].append(plant)
    return plants


def hips(dancer: Dancer, times: Array, seconds: float) -> Array:
    """(F, 3) the path of the root; its height is only the bounce with the beat."""
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
    pulse = np.cos(2.0 * np.pi * (times / BEAT_SECONDS - LEAD_IN_COUNTS))
    return np.stack([x, -0.012 * leg * pulse, dancer.facing * (ahead - dancer.away)], -1)


ABOUT = "A swing dance for two with joined hands; the follower turns once under the raised arm"

FOLLOWER_SCALE = 0.93
"""Size of the follower relative to the leader."""

RAISE_COUNTS, LOWER_COUNTS = (0.1, 1.35), (4.2, 5.3)
"""First and last count in which the joined hands go up before a turn, and down after it."""

RELEASE_COUNTS, CATCH_COUNTS = (0.6, 1.4), (4.4, 5.3)
"""First and last count in which the other hands let go and fall, and rise and meet again."""


def dance(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """Two human characters dance.

    Args:
        skeleton: The leader; the follower is a smaller copy.
        fps: Frames per second.
        seconds: Length of the motion.
    """
    measures = Measures.of(skeleton)
    room = {"away": 0.74 * measures.arm, "closer": 0.17 * measures.arm}
    lead = Dancer(skeleton=skeleton, leads=True, **room)
    other = Dancer(skeleton=replace(skeleton.scaled(FOLLOWER_SCALE), name="follow"), leads=False, **room)
    times = frame_times(fps, seconds)
    raised, apart = (
        _during(times, seconds, RAISE_COUNTS, LOWER_COUNTS),
        _during(times, seconds, RELEASE_COUNTS, CATCH_COUNTS),
    )
    figures = {"lead": _body(lead, times, seconds, raised), "follow": _body(other, times, seconds, raised)}
    palms = _joined(figures["lead"], figures["follow"], raised)
    for dancer, figure in zip((lead, other), figures.values()):
        yaw = dancer.heading(times, seconds)
        _first_arm(dancer, figure, palms[0], raised, yaw)
        _other_arm(dancer, figure, palms[1], apart, yaw)
    contacts = _holds(lead, other, seconds)
    for name, dancer in (("lead", lead), ("follow", other)):
        for side, plants in footsteps(dancer, seconds).items():
            contacts += foot_contacts(dancer.skeleton, side, plants, seconds, actor=name)
    return Scene(
        name="dance",
        actors={name: figure.motion(fps, name) for name, figure in figures.items()},
        contacts=tuple(sorted(contacts, key=lambda contact: contact.start)),
        about=ABOUT,
        tags=("human", "two actors"),
    )


def _during(times: Array, seconds: float, begin: tuple[float, float], end: tuple[float, float]) -> Array:
    """(F,) 1 in the turns and 0 otherwise, changing over the counts `begin` and `end`."""
    knots, values = [when(-1, 0.0)], [0.0]
    for n in patterns(seconds):
        if turns(n):
            knots += [when(n, count) for count in (*begin, *end)]
            values += [0.0, 1.0, 1.0, 0.0]
    return through(times, [*knots, knots[-1] + 1.0], [*values, 0.0])


def _feet(dancer: Dancer, times: Array, seconds: float) -> dict[str, FootPath]:
    plants = footsteps(dancer, seconds)
    return {side: follow(plants[side], Foot.of(dancer.skeleton, side), times) for side in dancer.feet}


def _way(dancer: Dancer, times: Array, seconds: float) -> tuple[Array, Array]:
    """The path (F, 3) of the root, with only the bounce as its height, and its orientations (F, 4)."""
    path = hips(dancer, times, seconds)
    roll = -0.6 * dancer.facing * path[:, 0]
    angles = np.stack([dancer.heading(times, seconds), np.full(len(times), np.radians(4.0)), roll], -1)
    return path, from_euler(angles, "YXZ")


def _height(dancer: Dancer) -> float:
    """The greatest mean height of the hips at which both legs reach their feet in all patterns."""
    seconds = 18.0 * BEAT_SECONDS
    grid = np.linspace(0.0, seconds, 1081)
    path, orientation = _way(dancer, grid, seconds)
    return float(np.min(highest_hips(dancer.skeleton, path, orientation, _feet(dancer, grid, seconds)) - path[:, 1]))


def _body(dancer: Dancer, times: Array, seconds: float, raised: Array) -> HumanPose:
    """The pose of a dancer except the arms."""
    path, orientation = _way(dancer, times, seconds)
    path[:, 1] += _height(dancer)
    yaw = dancer.heading(times, seconds)
    figure = HumanPose(dancer.skeleton, path, orientation)
    for side, feet in _feet(dancer, times, seconds).items():
        figure.leg(side, feet, np.radians(5.0), yaw)
    sway = dancer.facing * path[:, 0]
    opened = -np.radians(22.0) * raised if dancer.leads else 0.0 * raised
    figure.lean(np.radians(3.0), opened, 0.9 * sway)
    figure.look(multiply(heading(yaw), from_euler(np.stack([0.4 * opened, 0.0 * sway, 0.3 * sway], -1), "YXZ")))
    return figure


def _joined(lead: HumanPose, other: HumanPose, raised: Array) -> tuple[Array, Array]:
    """(F, 3) where the palms meet, for both pairs of hands; the first goes up above the follower's head."""
    measures = Measures.of(lead.skeleton)
    middle = 0.5 * (lead.hips + other.hips)
    low = measures.leg + measures.pelvis + measures.shoulder - 0.745 * measures.arm
    first, second = (
        np.stack([middle[:, 0] + 1.13 * sign * measures.breadth, np.full(len(middle), low), middle[:, 2]], -1)
        for sign in (1.0, -1.0)
    )
    above = other.point("HeadTop") + measures.leg * np.array([0.0, 0.1, -0.07])
    # On its way up the hand swings out past the follower's shoulder and face.
    around = (4.0 * raised * (1.0 - raised))[:, None] * measures.leg * np.array([0.2, 0.0, -0.06])
    return first + raised[:, None] * (above - first) + around, second


def _facing(side: str, fingers: tuple[float, float, float], palm: tuple[float, float, float]) -> Array:
    """Orientation of a hand relative to the body's heading; x points inwards."""
    inward = -1.0 if side == "Left" else 1.0
    mirror = np.array([inward, 1.0, 1.0])
    return palm_facing(side, unit(mirror * fingers), mirror * palm)


def _first_arm(dancer: Dancer, figure: HumanPose, palm: Array, raised: Array, yaw: Array) -> None:
    """Pose the arm that leads the turn, or is led."""
    side = dancer.feet[0]
    sign = 1.0 if side == "Left" else -1.0
    if dancer.leads:
        low, high = _facing(side, (0, 0.1, 1), (0.5, 0.87, 0)), _facing(side, (0, 0.7, 0.7), (0.8, -0.4, 0.4))
        poles = np.array([[0.45 * sign, -0.9, -0.25], [0.8 * sign, -0.6, -0.1]])
    else:
        low, high = _facing(side, (0, 0.1, 1), (0.5, -0.87, 0)), _facing(side, (0.6, 0.8, 0.1), (0.3, -0.2, 0.9))
        poles = np.array([[0.45 * sign, -0.9, -0.25], [0.9 * sign, -0.15, 0.35]])
    figure.turn(f"{side}Shoulder", 0.0, -sign * (0.08 + 0.2 * raised * dancer.leads), sign * 0.28 * raised)
    pole = poles[0] + raised[:, None] * (poles[1] - poles[0])
    turn = heading(yaw)
    figure.reach(side, palm, multiply(turn, slerp(np.tile(low, (len(yaw), 1)), high, raised)), rotate(turn, pole))


def _other_arm(dancer: Dancer, figure: HumanPose, palm: Array, apart: Array, yaw: Array) -> None:
    """Pose the arm that lets go in the turn and is then held before the waist."""
    side = dancer.feet[1]
    sign = 1.0 if side == "Left" else -1.0
    measures = Measures.of(dancer.skeleton)
    turn = heading(yaw)
    way = [1.45 * sign * measures.breadth, measures.shoulder - 0.6 * measures.arm, 0.37 * measures.arm]
    rests = figure.hips + rotate(turn, np.array(way))
    up = 0.87 if dancer.leads else -0.87
    held, free = _facing(side, (0, 0.1, 1), (0.5, up, 0)), _facing(side, (0.3, -0.1, 1), (1, 0, 0.3))
    figure.turn(f"{side}Shoulder", 0.0, -sign * 0.08, 0.0)
    facing = multiply(turn, slerp(np.tile(held, (len(yaw), 1)), free, apart))
    pole = rotate(turn, np.array([0.5 * sign, -0.85, -0.3]))
    figure.reach(side, palm + apart[:, None] * (rests - palm), facing, pole)


def _holds(lead: Dancer, other: Dancer, seconds: float) -> list[Contact]:
    """The contacts of the hands that hold each other."""
    spans = [(0, 0.0, seconds)]
    since = 0.0
    for n in patterns(seconds):
        if turns(n) and when(n, CATCH_COUNTS[1]) > 0.0:
            spans.append((1, since, min(when(n, RELEASE_COUNTS[0]), seconds)))
            since = when(n, CATCH_COUNTS[1])
    spans.append((1, since, seconds))
    return [
        Contact(
            point=lead.skeleton.point(f"{lead.feet[role]}Palm"), other=other.skeleton.point(f"{other.feet[role]}Palm"),
            start=start, end=end, actor="lead", on="follow",
        )
        for role, start, end in spans
        if start < end
    ]  # fmt: skip


MOTIONS = (
    MotionSample(name="dance", about=ABOUT, seconds=8.0, make=lambda fps, seconds: dance(adult(), fps, seconds)),
)
