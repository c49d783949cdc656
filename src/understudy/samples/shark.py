"""A shark swims: a wave runs down its body, larger towards the tail."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, from_euler, multiply
from understudy.figure.skeleton import Skeleton
from understudy.samples.animals import (
    BodySegment,
    Puppet,
    Vector,
    X,
    Y,
    Z,
    assemble,
    both_ends,
    both_sides,
    frame_times,
    hinge,
    universal,
)
from understudy.samples.scene import CharacterSample, MotionSample, Scene

HEIGHT_METRES = 1.20
"""Height above the floor in the rest pose."""

CHAIN = ("Spine1", "Spine2", "Spine3", "Spine4", "Tail", "TailFin")
"""The joints from the root back to the tail fin."""


def make_shark() -> Skeleton:
    """The shark, 2.4 m long, swimming level; the root is behind its gills.

    For a person's motion [Hsieh05, fig. 8] the chain corresponds to the back, the two lobes of the tail fin to both
    legs, and the pectoral fins to the arms.
    """
    root = BodySegment(name="Body", parent="", place=(0.0, HEIGHT_METRES, 0.30))
    front = [
        universal("Head", "Body", (0.0, HEIGHT_METRES, 0.55), 20.0, 15.0, (Y, X)),
        hinge("Jaw", "Head", (0.0, HEIGHT_METRES - 0.08, 0.70), 0.0, 40.0),
    ]
    places = (0.05, -0.22, -0.48, -0.73, -0.96, -1.15)
    parents = ("Body", *CHAIN[:-1])
    chain = [
        universal(name, above, (0.0, HEIGHT_METRES, z), 35.0, 15.0, (Y, X))
        for name, above, z in zip(CHAIN, parents, places, strict=True)
    ]
    fins = [hinge("DorsalFin", "Spine1", (0.0, HEIGHT_METRES + 0.16, 0.05), -15.0, 15.0, Z)]
    pectoral = universal("LeftPectoralFin", "Body", (0.15, HEIGHT_METRES - 0.09, 0.42), 35.0, 30.0, (Z, X))
    ends: dict[str, tuple[str, Vector]] = {
        "Snout": ("Head", (0.0, HEIGHT_METRES + 0.01, 0.95)),
        "Chin": ("Jaw", (0.0, HEIGHT_METRES - 0.09, 0.84)),
        "DorsalTip": ("DorsalFin", (0.0, HEIGHT_METRES + 0.42, -0.12)),
        "UpperLobe": ("TailFin", (0.0, HEIGHT_METRES + 0.38, -1.45)),
        "LowerLobe": ("TailFin", (0.0, HEIGHT_METRES - 0.20, -1.28)),
    }
    ends |= both_ends({"LeftPectoralTip": ("LeftPectoralFin", (0.50, HEIGHT_METRES - 0.22, 0.14))})
    return assemble("shark", root, [*front, *chain, *fins, *both_sides([pectoral])], ends)


CHARACTERS = (CharacterSample(name="shark", about="A shark: a bending chain with fins and no legs", make=make_shark),)

BEAT_SECONDS = 0.95
"""Period of the tail beat."""

SPEED_METRES_PER_S = 1.35
"""Swimming speed."""

LENGTH_METRES = 2.40
"""Length from snout to tail."""

ENDS = ("Snout", "UpperLobe")
"""The ends between which the body is measured."""

WAVE_METRES = 0.95 * LENGTH_METRES
"""Wavelength along the body."""


def make_swim(fps: float, seconds: float) -> Scene:
    """A shark swimming along +Z, rising and sinking and weaving slowly."""
    skeleton, times = make_shark(), frame_times(fps, seconds)
    course = _course(times)
    stations = _stations(skeleton)
    heading = {name: _bend(*station, times) for name, station in stations.items()}
    root = course["place"]
    root[:, 0] += _wave(stations["Body"][0], times)
    puppet = Puppet(skeleton, root)
    yaw = course["yaw"] + heading["Body"]
    puppet.turn("Body", from_euler(np.stack([yaw, course["pitch"], course["roll"]], -1), "YXZ"))
    puppet.turn("Head", _yaw_pitch(heading["Head"] - heading["Body"], 0.15 * course["pitch"]))
    above = "Body"
    for name in CHAIN:
        puppet.turn(name, _yaw_pitch(heading[name] - heading[above], -0.12 * course["pitch"]))
        above = name
    slow = 2.0 * np.pi * times / (3.0 * BEAT_SECONDS)
    puppet.turn("Jaw", from_axis_angle(X, 0.10 + 0.05 * np.sin(slow)))
    puppet.turn("DorsalFin", from_axis_angle(Z, 0.08 * np.sin(2.0 * np.pi * times / BEAT_SECONDS - 1.5)))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        flap = 0.10 * np.sin(slow) + sign * 0.6 * course["roll"]
        tilt = -0.5 * course["pitch"] + 0.05 * np.cos(slow)
        axes = skeleton.axes[skeleton.joint(f"{side}PectoralFin")]
        fin = multiply(from_axis_angle(axes[0], flap), from_axis_angle(axes[1], tilt))
        puppet.turn(f"{side}PectoralFin", fin)
    return Scene(
        name="swim",
        actors={"shark": puppet.motion(fps, "swim")},
        contacts=(),
        about=MOTIONS[0].about,
        tags=("swim", "shark"),
    )


def _course(times: Array) -> dict[str, Array]:
    """The slow course of the body: position, yaw, pitch, and roll into its turns."""
    weave, climb = 2.0 * np.pi / 7.6, 2.0 * np.pi / 9.5
    sideways, upward = 0.22 * np.sin(weave * times), 0.18 * np.sin(climb * times)
    place = np.stack([sideways, 1.20 + upward, 0.30 + SPEED_METRES_PER_S * times], -1)
    yaw = np.arctan2(0.22 * weave * np.cos(weave * times), SPEED_METRES_PER_S)
    pitch = -np.arctan2(0.18 * climb * np.cos(climb * times), SPEED_METRES_PER_S)
    roll = 0.12 * np.sin(weave * times)
    return {"place": place, "yaw": yaw, "pitch": pitch, "roll": roll}


def _stations(skeleton: Skeleton) -> dict[str, tuple[float, float]]:
    """For each joint of the body, the start and end of its segment behind the snout, metres."""
    snout, tip = (skeleton.rest_ends[[end.name for end in skeleton.ends].index(name), 2] for name in ENDS)
    behind = {name: float(snout - skeleton.rest_world[0][skeleton.joint(name), 2]) for name in ("Head", "Body", *CHAIN)}
    behind["Tip"] = float(snout - tip)
    stations = {a: (behind[a], behind[b]) for a, b in pairwise(("Body", *CHAIN, "Tip"))}
    stations["Head"] = (0.0, behind["Head"])
    return stations


def _wave(behind: float, times: Array) -> Array:
    """(F,) sideways displacement, metres, at a distance behind the snout.

    The amplitude is least just behind the head and grows to a tenth of the length at the tail, as measured on fish
    that swim with the rear of the body.
    """
    share = behind / LENGTH_METRES
    size = LENGTH_METRES * (0.025 - 0.085 * share + 0.160 * share**2)
    return size * np.sin(2.0 * np.pi * (times / BEAT_SECONDS - behind / WAVE_METRES))


def _bend(front: float, back: float, times: Array) -> Array:
    """(F,) radians, yaw of the body segment between two distances behind the snout."""
    return np.arctan2(_wave(front, times) - _wave(back, times), back - front)


def _yaw_pitch(yaw: Array, pitch: Array) -> Array:
    return multiply(from_axis_angle(Y, yaw), from_axis_angle(X, pitch))


MOTIONS = (
    MotionSample(
        name="swim",
        about="A shark swims: a wave runs down its body, larger towards the tail",
        seconds=6.0,
        make=make_swim,
    ),
)
