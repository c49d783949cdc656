"""Footwork: where and when feet are planted, how they roll over heel and ball, and how they swing in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from understudy.contacts import Contact
from understudy.geometry.quaternion import Array, from_axis_angle, multiply, rotate
from understudy.samples.human_curves import between, hump, through
from understudy.skeleton import Skeleton

UP = np.array([0.0, 1.0, 0.0])
ACROSS = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Plant:
    """One foot on the ground, from touch to leave: heel first, then flat, then the ball alone.

    Pitch is positive with the heel up. While the foot stands on its heel the heel stays where it is; from
    `flat` on the ball and the toes do.
    """

    place: Array
    """(3,) metres, world: what lies below the ankle when the foot is flat."""
    touch: float
    """Seconds."""
    flat: float
    """When the sole is down."""
    lift: float
    """When the heel comes up."""
    leave: float
    yaw: float = 0.0
    """Heading, radians, 0 towards +Z, positive towards +X."""
    turn: float = 0.0
    """How far the foot turns about its ball while it stands; it then stands on the ball alone."""
    touch_pitch: float = 0.0
    stand_pitch: float = 0.0
    """Pitch while it stands; above zero it stands on the ball alone."""
    leave_pitch: float = 0.0
    push: float = 1.35
    """How much faster the heel comes up as the foot leaves than on average; more makes it come up late."""
    rise: float = 0.0
    """How much the ankle is lifted above its way through the air before this plant, metres."""
    advance: float = 0.0
    """How much it is moved forward of that way, metres."""
    aside: float = 0.0
    """How much it is moved towards +X of that way, metres."""
    peak: float = 0.5
    """When in that swing the most of it comes."""
    brake: float = 0.0
    """How hard the foot is slowed down as it touches, m/s2: a foot in flight keeps up with the hips for longer."""
    on: str = "floor"

    @property
    def ball_only(self) -> bool:
        return self.stand_pitch > 0.0 or self.turn != 0.0 or self.on != "floor"

    def touch_rate(self) -> float:
        """Speed of pitching at touch."""
        return 0.6 * (self.stand_pitch - self.touch_pitch) / max(self.flat - self.touch, 1e-6)

    def leave_rate(self) -> float:
        """Speed of pitching as it leaves."""
        return self.push * (self.leave_pitch - self.stand_pitch) / max(self.leave - self.lift, 1e-6)


@dataclass(frozen=True, eq=False, kw_only=True)
class Foot:
    """The measures of a foot, in its own frame from the ankle, metres."""

    heel: Array
    ball: Array

    @classmethod
    def of(cls, skeleton: Skeleton, side: str) -> Foot:
        """The foot of a side of a skeleton."""
        return cls(heel=skeleton.point(f"{side}Heel").offset, ball=skeleton.offsets[skeleton.joint(f"{side}ToeBase")])


@dataclass(frozen=True, eq=False, kw_only=True)
class FootPath:
    """A foot over time."""

    ankle: Array
    """(F, 3) metres, world."""
    orientation: Array
    """(F, 4)."""
    yaw: Array
    """(F,) heading, radians."""
    toes: Array
    """(F,) angle of the toes' hinge."""


def heading(yaw: float | Array) -> Array:
    """Orientations that face a heading."""
    return from_axis_angle(UP, yaw)


def unit_heading(yaw: float | Array) -> Array:
    """Directions (..., 3) on the floor of a heading."""
    yaw = np.asarray(yaw, float)
    return np.stack([np.sin(yaw), np.zeros_like(yaw), np.cos(yaw)], -1)


def pivot(plant: Plant, local: Array) -> Array:
    """Where a point (3,) of the flat foot's frame is, in the world."""
    return plant.place + rotate(heading(plant.yaw), local - local[1] * UP)


def follow(plants: Sequence[Plant], foot: Foot, times: Array) -> FootPath:
    """The path of a foot through its plants; before the first and after the last it stands."""
    pitch, toes = _pitch(plants, times), _toes(plants, times)
    yaw = through(
        times,
        [t for p in plants for t in (p.touch, p.leave)],
        [a for p in plants for a in (p.yaw, p.yaw + p.turn)],
    )
    orientation = multiply(heading(yaw), from_axis_angle(ACROSS, pitch))
    ankle = np.empty((len(times), 3))
    for k, plant in enumerate(plants):
        on_heel = (times < plant.flat) & (not plant.ball_only)
        for stands, local in ((on_heel, foot.heel), (~on_heel, foot.ball)):
            now = stands & ((times >= plant.touch) | (k == 0)) & ((times <= plant.leave) | (k == len(plants) - 1))
            ankle[now] = pivot(plant, local) - rotate(orientation[now], local)
    for before, after in pairwise(plants):
        now = (times > before.leave) & (times < after.touch)
        ankle[now] = _swing(before, after, foot, times[now])
    return FootPath(ankle=ankle, orientation=orientation, yaw=yaw, toes=toes)


def _swing(before: Plant, after: Plant, foot: Foot, times: Array) -> Array:
    span = after.touch - before.leave
    share = (times - before.leave) / span
    start = _state(before, foot.ball, before.yaw + before.turn, before.leave_pitch, before.leave_rate())
    local = foot.ball if after.ball_only else foot.heel
    place, speed, pull = _state(after, local, after.yaw, after.touch_pitch, after.touch_rate())
    end = (place, speed, pull - after.brake * unit_heading(after.yaw))
    way = after.advance * unit_heading(0.5 * (before.yaw + before.turn + after.yaw))
    way = way + np.array([after.aside, after.rise, 0.0])
    return between(share, span, start, end) + hump(share, after.peak)[:, None] * way


def _state(plant: Plant, local: Array, yaw: float, pitch: float, rate: float) -> tuple[Array, Array, Array]:
    """Place, speed and acceleration of the ankle of a foot that pitches about a point."""
    c, s = np.cos(pitch), np.sin(pitch)
    arm = np.array([local[0], local[1] * c - local[2] * s, local[1] * s + local[2] * c])
    speed = rate * np.array([0.0, -arm[2], arm[1]])
    pull = -(rate**2) * np.array([0.0, arm[1], arm[2]])
    turn = heading(yaw)
    return pivot(plant, local) - rotate(turn, arm), -rotate(turn, speed), -rotate(turn, pull)


def _pitch(plants: Sequence[Plant], times: Array) -> Array:
    knots, values, rates = [], [], []
    for p in plants:
        knots += [p.touch, p.flat, p.lift, p.leave]
        values += [p.touch_pitch, p.stand_pitch, p.stand_pitch, p.leave_pitch]
        rates += [p.touch_rate(), 0.0, 0.0, p.leave_rate()]
    return through(times, knots, values, rates)


def _toes(plants: Sequence[Plant], times: Array) -> Array:
    """The toes lie flat while the ball stands, follow the foot on its heel, and straighten in the swing."""
    knots, values, rates = [], [], []
    for k, p in enumerate(plants):
        flat = -1.0 if p.ball_only else 0.0
        knots += [p.touch, p.flat, p.lift, p.leave]
        values += [flat * p.touch_pitch, flat * p.stand_pitch, -p.stand_pitch, -p.leave_pitch]
        rates += [flat * p.touch_rate(), 0.0, 0.0, -p.leave_rate()]
        if k + 1 < len(plants):
            after = plants[k + 1]
            knots.append(p.leave + min(0.6 * (after.touch - p.leave), 2.0 * (p.leave - p.lift)))
            values.append(-after.touch_pitch - 0.12 if after.ball_only else 0.0)
            rates.append(0.0)
    return through(times, knots, values, rates)


def foot_contacts(
    skeleton: Skeleton, side: str, plants: Iterable[Plant], seconds: float, actor: str = ""
) -> list[Contact]:
    """What a foot touches within so many seconds, exactly as `follow` places it."""
    foot = Foot.of(skeleton, side)
    found = []
    for p in plants:
        spans = {"ToeBase": (p.touch if p.ball_only else p.flat, p.leave, foot.ball)}
        if not p.ball_only:
            spans["Heel"] = (p.touch, p.lift, foot.heel)
        if p.on == "floor" and p.turn == 0.0:
            tip = foot.ball + skeleton.point(f"{side}ToeTip").offset
            spans["ToeTip"] = (*spans["ToeBase"][:2], tip)
        for name, (start, end, local) in spans.items():
            if end > 0.0 and start < seconds:
                found.append(
                    Contact(
                        point=skeleton.point(side + name),
                        start=max(start, 0.0),
                        end=min(end, seconds),
                        place=pivot(p, local),
                        actor=actor,
                        on=p.on,
                    )
                )
    return found
