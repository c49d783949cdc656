"""Squats: feet planted, arms brought forward, down and up again."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_euler
from understudy.figure.skeleton import Skeleton
from understudy.samples.human_body import (
    Foot,
    HumanPose,
    Measures,
    follow,
    foot_contacts,
    frame_times,
    standing,
    through,
)
from understudy.samples.humans import SIDES, adult
from understudy.samples.scene import MotionSample, Scene

PERIOD_SECONDS = 2.6
"""Time from one squat of an adult to the next."""

ABOUT = "Squats with the feet planted and the arms brought forward"


def squat(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character squats; a rate in frames per second and a length in seconds."""
    measures = Measures.of(skeleton)
    leg, period = measures.leg, PERIOD_SECONDS * measures.pace
    times = frame_times(fps, seconds)
    plants = standing(0.15 * leg, np.radians(14.0))
    feet = {side: follow(plants[side], Foot.of(skeleton, side), times) for side in SIDES}
    depth = _depth(times, period)
    late = _depth(times - 0.04 * period, period)
    orientation = from_euler(np.stack([0 * depth, np.radians(2.0 + 30.0 * depth), 0 * depth], -1), "YXZ")
    hips = np.zeros((len(times), 3))
    hips[:, 2] = leg * (0.012 - 0.235 * depth)
    hips[:, 1] = measures.upright(0.15 * leg) - leg * (0.012 + 0.475 * depth)
    figure = HumanPose(skeleton, hips, orientation)
    for side in SIDES:
        figure.leg(side, feet[side], outward=np.radians(12.0))
    figure.lean(np.radians(2.0 + 14.0 * late))
    figure.look(from_euler(np.stack([0 * depth, np.radians(2.0 + 8.0 * depth), 0 * depth], -1), "YXZ"))
    for side in SIDES:
        figure.turn(f"{side}Shoulder", 0.0, 0.0, 0.0)
        figure.arm(side, np.radians(6.0 + 118.0 * late), np.radians(8.0 - 4.0 * late), np.radians(14.0 - 6.0 * late))
        figure.hand(side)
    return Scene(
        name="squat",
        actors={skeleton.name: figure.motion(fps, "squat")},
        contacts=tuple(c for side in SIDES for c in foot_contacts(skeleton, side, plants[side], seconds)),
        about=ABOUT,
        tags=("human", "planted"),
    )


def _depth(times: Array, period: float) -> Array:
    """(F,) 0 standing, 1 at the bottom."""
    return through(np.mod(times, period), period * np.array([0.0, 0.12, 0.48, 0.56, 0.9, 1.0]), [0.0, 0, 1, 1, 0, 0])


MOTIONS = (
    MotionSample(name="squat", about=ABOUT, seconds=5.2, make=lambda fps, seconds: squat(adult(), fps, seconds)),
)
