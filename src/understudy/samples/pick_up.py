"""Picking up a box: walk up to it, crouch, take it by its sides, rise, and carry it away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, from_euler, identity, slerp
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
    highest_hips,
    palm_facing,
    share_of,
    through,
)
from understudy.samples.humans import SIDES, adult
from understudy.samples.limbs import unit
from understudy.samples.scene import MotionSample, Prop, Scene

ABOUT = "Walks up to a box, crouches, takes it by its sides and carries it away"

HALF_WIDTH_LEGS = 0.085
"""Half the distance between the ankles."""

STOP, GRIP, LIFT, RISEN, GO = 2.45, 3.5, 3.6, 4.7, 4.85
"""Times of an adult, seconds: feet together; hands on the box; box off the floor; upright; first step away."""


@record(eq=True)
class WalkStep:
    """A step: when the foot leaves and touches, seconds, and how far ahead it then is, leg lengths."""

    side: str
    leave: float
    touch: float
    far: float


def steps(until: float) -> list[WalkStep]:
    """The steps of an adult in order, up to a time (seconds) and a few more."""
    plan = [
        WalkStep(side="Left", leave=0.35, touch=0.78, far=0.55),
        WalkStep(side="Right", leave=0.9, touch=1.33, far=1.2),
        WalkStep(side="Left", leave=1.45, touch=1.88, far=1.62),
        WalkStep(side="Right", leave=2.02, touch=STOP, far=1.62),
    ]
    far, leave, side = 2.05, GO, "Left"
    while leave < until + 2.0:
        plan.append(WalkStep(side=side, leave=leave, touch=leave + 0.43, far=far))
        far, leave, side = far + 0.62, leave + 0.58, "Right" if side == "Left" else "Left"
    return plan


def footsteps(skeleton: Skeleton, plan: list[WalkStep]) -> dict[str, list[Footfall]]:
    """The footfalls of both feet for a plan of steps."""
    measures = Measures.of(skeleton)
    leg, pace = measures.leg, measures.pace
    plants: dict[str, list[Footfall]] = {}
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        side_steps = [step for step in plan if step.side == side]
        touches = [-2.0] + [step.touch for step in side_steps]
        leaves = [step.leave for step in side_steps] + [side_steps[-1].touch + 10.0]
        fars = [0.0] + [step.far for step in side_steps]
        plants[side] = []
        for k, (touch, leave, far) in enumerate(zip(touches, leaves, fars)):
            stride = far - fars[k - 1] if k else 0.0
            follows = fars[k + 1] - far if k + 1 < len(fars) else 0.0
            plants[side].append(
                Footfall(
                    place=leg * np.array([sign * HALF_WIDTH_LEGS, 0.0, far]),
                    yaw=sign * np.radians(7.0),
                    touch=pace * touch,
                    flat=pace * (touch + 0.11),
                    lift=pace * (leave - (0.26 if follows > 0.6 else 0.16)),
                    leave=pace * leave,
                    touch_pitch=-np.radians(15.0 * min(stride, 1.2)),
                    leave_pitch=np.radians(20.0 + 20.0 * min(follows, 1.2)),
                    rise=0.06 * leg + measures.clearance,
                    peak=0.38,
                    brake=8.0 if stride > 1.0 else 0.0,
                )
            )
    return plants


def _walked(skeleton: Skeleton, plan: list[WalkStep], times: Array) -> Array:
    """(F, 3) the root's path with zero height: between the feet, shifted over the standing foot."""
    measures = Measures.of(skeleton)
    far = dict.fromkeys(SIDES, 0.0)
    knots, ahead, middles, sides = [-1.0], [0.0], [-1.0, plan[0].leave - 0.3], [0.0, 0.0]
    for step in plan:
        other = "Right" if step.side == "Left" else "Left"
        far[step.side] = step.far
        knots.append(step.touch + 0.03)
        ahead.append(0.5 * (far[step.side] + far[other]))
        middles.append(0.5 * (step.leave + step.touch))
        sides.append(0.5 * HALF_WIDTH_LEGS * (1.0 if other == "Left" else -1.0))
        if step.touch == STOP:
            knots += [STOP + 0.25, GO - 0.15]
            ahead += [far["Left"] + 0.015] * 2
            middles += [STOP + 0.35, GO - 0.25]
            sides += [0.0, 0.0]
    t = times / measures.pace
    hips = np.zeros((len(times), 3))
    hips[:, 0] = measures.leg * through(t, middles, sides)
    hips[:, 2] = measures.leg * through(t, knots, ahead)
    return hips


def _bob(plan: list[WalkStep], times: Array) -> Array:
    """(F,) drop of the hips below standing, leg lengths; greatest as a foot touches."""
    knots, values = [plan[0].leave - 0.3], [0.0]
    for step in plan:
        knots += [0.5 * (step.leave + step.touch) - 0.02, step.touch + 0.05]
        values += [0.008, 0.035 if step.touch != STOP else 0.008]
    return through(times, knots, values)


def _crouch(times: Array) -> Array:
    """(F,) 0 upright, 1 down at the box."""
    return through(times, [STOP - 0.1, GRIP - 0.2, LIFT + 0.1, RISEN + 0.05], [0.0, 1.0, 1.0, 0.0])


def _swing(plan: list[WalkStep], times: Array) -> Array:
    """(F,) from -1 (left foot forward) to 1, still between the two walks."""
    knots, values = [plan[0].leave - 0.2], [0.0]
    for step in plan:
        knots.append(step.touch)
        values.append((-1.0 if step.side == "Left" else 1.0) * (step.touch != STOP))
        if step.touch == STOP:
            knots.append(GO - 0.05)
            values.append(0.0)
    return through(times, knots, values)


def _hips(skeleton: Skeleton, plan: list[WalkStep], times: Array, stoop: float) -> tuple[Array, Array]:
    """The root's path (F, 3) and orientations (F, 4)."""
    measures = Measures.of(skeleton)
    t, leg = times / measures.pace, measures.leg
    crouch = _crouch(t)
    hips = _walked(skeleton, plan, times)
    hips[:, 1] = measures.upright(HALF_WIDTH_LEGS * leg) - leg * (
        0.012 + _bob(plan, t) + (0.46 + 0.06 * stoop) * crouch
    )
    hips[:, 2] -= 0.2 * leg * crouch
    angles = [np.radians(4.0) * _swing(plan, t), np.radians(3.0 + (28.0 + 20.0 * stoop) * crouch), 0.0 * t]
    return hips, from_euler(np.stack(angles, -1), "YXZ")


@record
class Bow:
    """How a body bends down to the box."""

    stoop: float
    """How much deeper than an adult it bends, 0 to 1."""
    shoulders: float
    """Forward position of the shoulders when bent, metres."""
    neck: Array
    """(3,) position of the neck when bent, metres."""


def _bow(skeleton: Skeleton, plan: list[WalkStep]) -> Bow:
    """The shallowest bow in which the hands reach the box."""
    measures = Measures.of(skeleton)
    wrist = 0.56 * _size(measures)[1] + 0.86 * skeleton.point("LeftPalm").offset[0]
    stoop = 0.0
    while True:
        figure = HumanPose(skeleton, *_hips(skeleton, plan, np.array([GRIP * measures.pace]), stoop))
        figure.lean(np.radians(43.0 + 30.0 * stoop))
        figure.turn("LeftShoulder", 0.0, -0.25, 0.0)
        shoulder = figure.place("LeftArm")[0]
        if stoop == 1.0 or shoulder[1] - wrist <= 0.88 * measures.arm:
            return Bow(stoop=stoop, shoulders=float(shoulder[2]), neck=figure.place("Neck")[0])
        stoop = min(stoop + 0.02, 1.0)


def _size(measures: Measures) -> Array:
    """(3,) edge lengths of a box that suits the arms, metres."""
    return np.array([0.36, 0.30, 0.28]) * measures.arm / 0.56


def _lowered(skeleton: Skeleton, plan: list[WalkStep], plants: dict[str, list[Footfall]], stoop: float) -> float:
    """How much lower the hips must go for both legs to reach their feet at all times of a plan."""
    grid = np.linspace(0.0, plan[8].leave * Measures.of(skeleton).pace, 1601)
    hips, orientation = _hips(skeleton, plan, grid, stoop)
    room = highest_hips(skeleton, hips, orientation, _feet(skeleton, plants, grid))
    return max(float(np.max(hips[:, 1] - room)), 0.0)


def _feet(skeleton: Skeleton, plants: dict[str, list[Footfall]], times: Array) -> dict[str, FootPath]:
    return {side: follow(plants[side], Foot.of(skeleton, side), times) for side in SIDES}


def pick_up(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character picks up a box; a rate in frames per second and a length in seconds."""
    measures = Measures.of(skeleton)
    times = frame_times(fps, seconds)
    plan = steps(max(seconds / measures.pace, 8.0))
    plants = footsteps(skeleton, plan)
    bow = _bow(skeleton, plan)
    hips, orientation = _hips(skeleton, plan, times, bow.stoop)
    lowered = _lowered(skeleton, plan, plants, bow.stoop)
    hips[:, 1] -= lowered
    figure = HumanPose(skeleton, hips, orientation)
    feet = _feet(skeleton, plants, times)
    for side in SIDES:
        figure.leg(side, feet[side], np.radians(6.0))
    t = times / measures.pace
    crouch, carried, swing = _crouch(t), share_of(t, LIFT, RISEN), _swing(plan, t)
    figure.lean(
        np.radians(3.0 + (40.0 + 30.0 * bow.stoop) * crouch - 6.0 * carried), -np.radians(6.0) * swing * (1.0 - carried)
    )
    figure.look(from_euler(np.stack([0.0 * t, np.radians(18.0 * _gaze(t) + 14.0 * crouch), 0.0 * t], -1), "YXZ"))
    size = _size(measures)
    box = _box(figure, plan, replace(bow, neck=bow.neck - [0.0, lowered, 0.0]), t)
    _arms(figure, size, box, t, swing, carried)
    contacts = [c for side in SIDES for c in foot_contacts(skeleton, side, plants[side], seconds)]
    if seconds > GRIP * measures.pace:
        contacts += [
            Contact(point=skeleton.point(f"{side}Palm"), start=GRIP * measures.pace, end=seconds, on="box")
            for side in SIDES
        ]
    prop = Prop(name="box", sizes=size[None], positions=box[:, None], rotations=identity(len(times), 1))
    return Scene(
        name="pick_up", actors={skeleton.name: figure.motion(fps, "pick_up")}, props=(prop,),
        contacts=tuple(sorted(contacts, key=lambda contact: contact.start)), about=ABOUT, tags=("human", "prop"),
    )  # fmt: skip


def _gaze(times: Array) -> Array:
    """(F,) how much the eyes look at the box, 0 to 1."""
    return through(times, [0.3, 1.8, LIFT, GO], [0.3, 1.0, 1.0, 0.2])


def _box(figure: HumanPose, plan: list[WalkStep], bow: Bow, times: Array) -> Array:
    """(F, 3) centre of the box: on the floor, then lifted, then carried before the body.

    It is lifted straight up, unless the body must bow so deep that the box has to move with the shoulders to stay in
    reach.
    """
    measures = Measures.of(figure.skeleton)
    stop = next(step.far for step in plan if step.touch == STOP) * measures.leg
    size = _size(measures)
    ahead = max(stop + measures.foot + 0.03 * measures.leg + 0.5 * size[2], bow.shoulders + 0.2 * measures.arm)
    floor = np.array([0.0, 0.5 * size[1], ahead])
    held = figure.hips + np.array([0.0, measures.shoulder - 0.6 * measures.arm, 0.64 * measures.arm])
    held[:, 0] *= 0.5
    up, near = share_of(times, LIFT, RISEN), share_of(times, LIFT + 0.3, RISEN + 0.2)
    lifted = floor + np.stack([near, up, near], -1) * (held - floor)
    places = figure.skeleton.rest_world[0]
    tall = places[figure.skeleton.joint("Neck"), 1] - places[0, 1]
    carry = np.array([0.0, measures.shoulder - 0.6 * measures.arm - tall, 0.64 * measures.arm])
    below = figure.place("Neck") + (floor - bow.neck) + up[:, None] * (carry - floor + bow.neck)
    return lifted + min(4.0 * bow.stoop, 1.0) * np.where((times > LIFT)[:, None], below - lifted, 0.0)


def _arms(figure: HumanPose, size: Array, box: Array, times: Array, swing: Array, carried: Array) -> None:
    """Pose the arms: they swing, reach for the sides of the box, and hold it."""
    held = share_of(times, STOP + 0.4, GRIP)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        figure.turn(f"{side}Shoulder", 0.0, -sign * 0.25 * held * (1.0 - 0.6 * carried), 0.0)
        forward = 3.0 + sign * 18.0 * swing * (1.0 - held) + 55.0 * _crouch(times)
        elbow_angle = 18.0 + 5.0 * sign * swing * (1.0 - held) + 45.0 * _crouch(times)
        figure.arm(side, np.radians(forward), np.radians(8.0), np.radians(elbow_angle))
        figure.hand(side)
        wrist, shoulder = figure.place(f"{side}Hand"), figure.place(f"{side}Arm")
        elbow = figure.place(f"{side}ForeArm") - 0.5 * (wrist + shoulder)
        outward = np.array([sign * 0.7, -0.3, -0.6]) + carried[:, None] * np.array([-sign * 0.35, -0.5, 0.1])
        pole = unit(elbow) * (1.0 - held)[:, None] + outward * held[:, None]
        grip = box + np.array([sign * 0.5 * size[0], 0.06 * size[1], 0.0])
        palm = figure.point(f"{side}Palm")
        fingers = np.array([0.0, -0.85, 0.5]) + carried[:, None] * np.array([0.0, 0.75, 0.45])
        facing = palm_facing(side, unit(fingers), np.array([-sign, 0.0, 0.0]))
        orientation = slerp(figure.orientations[f"{side}Hand"], facing, held)
        figure.reach(side, palm + held[:, None] * (grip - palm), orientation, pole)


MOTIONS = (
    MotionSample(name="pick_up", about=ABOUT, seconds=8.0, make=lambda fps, seconds: pick_up(adult(), fps, seconds)),
)
