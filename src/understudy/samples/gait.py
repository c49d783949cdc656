"""Gaits: walking, running, marching and sneaking; all footfalls are exactly known."""

from __future__ import annotations

import numpy as np

from understudy.base.quaternion import Array, from_euler
from understudy.base.records import record
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


@record(eq=True)
class Gait:
    """The parameters of a gait. Lengths are in leg lengths, times in shares of a stride (two steps), angles in degrees.

    A stride begins as the left foot touches the floor.
    """

    name: str
    about: str
    step: float
    cadence: float
    """Steps per second of an adult."""
    stance: float
    """Duration of stance."""
    flat: float
    """When the sole is down."""
    lift: float
    """When the heel comes up."""
    under: float
    """When the hips pass over the ankle."""
    touch_pitch: float
    """Heel up is positive."""
    stand_pitch: float = 0.0
    """Above zero: the foot stands on its toes."""
    leave_pitch: float
    push: float = 1.35
    """Speed of the rising heel as the foot leaves, relative to its mean speed."""
    rise: float
    """Lift of the ankle in swing; `advance` is its extra movement forward."""
    advance: float = 0.0
    peak: float = 0.45
    brake: float = 0.0
    """Deceleration of a foot as it touches, m/s2."""
    width: float = 0.055
    """Half the distance between the feet."""
    toe_out: float = 6.0
    crouch: float = 0.0
    bob: float = 0.02
    """Amplitude of the hips up and down; below zero they are low in mid-stance."""
    sway: float = 0.022
    pelvis_turn: float = 5.0
    pelvis_drop: float = 3.5
    pelvis_tilt: float = 3.0
    """Forward lean of the pelvis; `lean` is that of the trunk on it, `chest_turn` its yaw against the pelvis."""
    lean: float = 3.0
    chest_turn: float = 4.5
    arm: float = 0.0
    """Mean forward angle of the upper arms; `arm_swing` is its amplitude, `arm_out` their spread to the side."""
    arm_swing: float = 22.0
    arm_out: float = 8.0
    arm_in: float = 0.0
    elbow: float = 22.0
    elbow_swing: float = 10.0
    knees_out: float = 3.0
    hand_curl: float = 8.0


WALK = Gait(
    name="walk", about="An easy walk", step=0.75, cadence=1.8, stance=0.6, flat=0.1, lift=0.37, under=0.24,
    touch_pitch=-20.0, leave_pitch=48.0, push=1.6, rise=0.085, peak=0.36, brake=18.0, bob=0.018, arm=-5.0, elbow=18.0,
)  # fmt: skip

RUN = Gait(
    name="run", about="A run with both feet off the floor between steps", step=1.2, cadence=2.8, stance=0.34,
    flat=0.06, lift=0.16, under=0.125, touch_pitch=-10.0, leave_pitch=52.0, rise=0.33, advance=0.12, peak=0.48,
    brake=100.0, width=0.035, toe_out=4.0, bob=-0.032, sway=0.01, pelvis_turn=8.0, pelvis_drop=3.0, pelvis_tilt=7.0,
    lean=5.0, chest_turn=9.0, arm=4.0, arm_swing=38.0, arm_out=12.0, arm_in=14.0, elbow=95.0, elbow_swing=12.0,
    hand_curl=25.0,
)  # fmt: skip

MARCH = Gait(
    name="march", about="A parade march: high knees, arms swung straight", step=0.58, cadence=1.9, stance=0.56,
    flat=0.03, lift=0.38, under=0.25, touch_pitch=-3.0, leave_pitch=38.0, rise=0.36, advance=0.26, peak=0.5,
    bob=0.012, sway=0.02, pelvis_turn=3.0, pelvis_drop=2.0, pelvis_tilt=-1.0, lean=-3.0, chest_turn=5.0,
    toe_out=3.0, arm=8.0, arm_swing=48.0, arm_out=5.0, elbow=7.0, elbow_swing=3.0, knees_out=1.0, hand_curl=20.0,
)  # fmt: skip

SNEAK = Gait(
    name="sneak", about="Long slow stealthy steps on the toes, crouched, hands held up", step=0.72, cadence=0.85,
    stance=0.62, flat=0.1, lift=0.46, under=0.29, touch_pitch=32.0, stand_pitch=20.0, leave_pitch=42.0, rise=0.17,
    advance=0.03, peak=0.5, width=0.05, toe_out=8.0, crouch=0.085, bob=0.022, sway=0.04, pelvis_turn=7.0,
    pelvis_drop=2.0, pelvis_tilt=14.0, lean=24.0, chest_turn=8.0, arm=38.0, arm_swing=16.0, arm_out=14.0, arm_in=8.0,
    elbow=112.0, elbow_swing=14.0, knees_out=8.0, hand_curl=48.0,
)  # fmt: skip


def footsteps(skeleton: Skeleton, gait: Gait, seconds: float) -> dict[str, list[Footfall]]:
    """All footfalls of both feet within a time (seconds), and some more at each end."""
    measures = Measures.of(skeleton)
    leg, stride = measures.leg, 2.0 * measures.pace / gait.cadence
    plants: dict[str, list[Footfall]] = {side: [] for side in SIDES}
    for side, sign, late in (("Left", 1.0, 0.0), ("Right", -1.0, 0.5)):
        for k in range(-2, int(np.ceil(seconds / stride)) + 3):
            start = (k + late) * stride - _offset(gait, stride)
            place = np.array([sign * gait.width * leg, 0.0, 2.0 * gait.step * leg * (k + late)])
            plants[side].append(
                Footfall(
                    place=place,
                    yaw=sign * np.radians(gait.toe_out),
                    touch=start,
                    flat=start + gait.flat * stride,
                    lift=start + gait.lift * stride,
                    leave=start + gait.stance * stride,
                    touch_pitch=np.radians(gait.touch_pitch),
                    stand_pitch=np.radians(gait.stand_pitch),
                    leave_pitch=np.radians(gait.leave_pitch),
                    push=gait.push,
                    rise=gait.rise * leg + measures.clearance,
                    advance=gait.advance * leg,
                    peak=gait.peak,
                    brake=gait.brake,
                )
            )
    return plants


def _offset(gait: Gait, stride: float) -> float:
    """Seconds from the left foot's touch to time zero, when the hips pass over the left ankle."""
    return gait.under * stride


def _hips(skeleton: Skeleton, gait: Gait, times: Array) -> tuple[Array, Array, Array]:
    """Path (F, 3) of the root, with only the bob as its height, its orientations (F, 4), and the stride angle (F,)."""
    measures = Measures.of(skeleton)
    stride = 2.0 * measures.pace / gait.cadence
    passed = (times + _offset(gait, stride)) / stride
    turn = 2.0 * np.pi * passed
    over = turn - 2.0 * np.pi * gait.under
    hips = measures.leg * np.stack(
        [gait.sway * np.cos(over), gait.bob * np.cos(2.0 * over), 2.0 * gait.step * (passed - gait.under)], -1
    )
    angles = np.stack(
        [
            -gait.pelvis_turn * np.cos(turn),
            np.full(len(times), gait.pelvis_tilt),
            gait.pelvis_drop * np.cos(over + 0.5),
        ],
        -1,
    )
    return hips, from_euler(np.radians(angles), "YXZ"), turn


def _height(skeleton: Skeleton, gait: Gait) -> float:
    """The greatest mean height of the hips at which both legs reach their feet in the whole stride."""
    stride = 2.0 * Measures.of(skeleton).pace / gait.cadence
    times = np.linspace(0.0, stride, 481)
    hips, orientation, _ = _hips(skeleton, gait, times)
    room = highest_hips(skeleton, hips, orientation, _feet(skeleton, footsteps(skeleton, gait, stride), times))
    return float(np.min(room - hips[:, 1])) - gait.crouch * Measures.of(skeleton).leg


def _feet(skeleton: Skeleton, plants: dict[str, list[Footfall]], times: Array) -> dict[str, FootPath]:
    return {side: follow(plants[side], Foot.of(skeleton, side), times) for side in SIDES}


def perform(gait: Gait, skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character performs a gait; a rate in frames per second and a length in seconds."""
    times = frame_times(fps, seconds)
    plants = footsteps(skeleton, gait, seconds)
    feet = _feet(skeleton, plants, times)
    hips, orientation, turn = _hips(skeleton, gait, times)
    hips[:, 1] += _height(skeleton, gait)
    figure = HumanPose(skeleton, hips, orientation)
    pelvis_yaw = -np.radians(gait.pelvis_turn) * np.cos(turn)
    for side in SIDES:
        figure.leg(side, feet[side], np.radians(gait.knees_out), pelvis_yaw)
    _upper_body(figure, gait, turn)
    contacts = [c for side in SIDES for c in foot_contacts(skeleton, side, plants[side], seconds)]
    return Scene(
        name=gait.name,
        actors={skeleton.name: figure.motion(fps, gait.name)},
        contacts=tuple(sorted(contacts, key=lambda contact: contact.start)),
        about=gait.about,
        tags=("human", "gait"),
    )


def _upper_body(figure: HumanPose, gait: Gait, turn: Array) -> None:
    """Pose the upper body: the trunk turns against the pelvis, the arms swing against the legs, the head is steady."""
    radians = np.radians
    figure.lean(
        radians(gait.lean),
        radians(gait.chest_turn + gait.pelvis_turn) * np.cos(turn),
        -radians(0.8 * gait.pelvis_drop) * np.cos(turn - 2.0 * np.pi * gait.under + 0.5),
    )
    figure.look(heading(radians(0.15 * gait.chest_turn) * np.cos(turn)))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        swing = -sign * np.cos(turn - 0.15)
        late = -sign * np.cos(turn - 0.45)
        figure.turn(f"{side}Shoulder", 0.0, -sign * radians(0.12 * gait.arm_swing) * swing, 0.0)
        figure.arm(
            side,
            radians(gait.arm + gait.lean + gait.pelvis_tilt) + radians(gait.arm_swing) * swing,
            radians(gait.arm_out),
            radians(gait.elbow + gait.elbow_swing * late),
            radians(gait.arm_in),
        )
        figure.hand(side, radians(gait.hand_curl))


def walk(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character walks; a rate in frames per second and a length in seconds."""
    return perform(WALK, skeleton, fps, seconds)


def run(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character runs; a rate in frames per second and a length in seconds."""
    return perform(RUN, skeleton, fps, seconds)


def march(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character marches; a rate in frames per second and a length in seconds."""
    return perform(MARCH, skeleton, fps, seconds)


def sneak(skeleton: Skeleton, fps: float, seconds: float) -> Scene:
    """A human character sneaks on tiptoe; a rate in frames per second and a length in seconds."""
    return perform(SNEAK, skeleton, fps, seconds)


def _sample(gait: Gait, seconds: float) -> MotionSample:
    return MotionSample(
        name=gait.name,
        about=gait.about,
        seconds=seconds,
        make=lambda fps, length: perform(gait, adult(), fps, length),
    )


MOTIONS = (_sample(WALK, 5.0), _sample(RUN, 4.0), _sample(MARCH, 5.0), _sample(SNEAK, 7.0))
