"""A dog of a Labrador's size: a quadruped on its toes, its joints where a dog's are."""

from __future__ import annotations

from understudy.samples.animals import Part, Vector, X, Y, assemble, ball, both_ends, both_sides, hinge, universal
from understudy.samples.scene import CharacterSample
from understudy.skeleton import Skeleton

SPINE = ("Spine", "Spine1", "Spine2", "Chest")
TAIL = ("Tail", "Tail1", "Tail2", "Tail3", "Tail4")

FORE_X, HIND_X = 0.075, 0.070
"""Metres from the middle to where the fore and hind legs stand: each leg's joints lie in one upright plane."""


def make_dog() -> Skeleton:
    """The dog, 0.58 m at the withers, standing square, the root at its hips."""
    root = Part(name="Hips", parent="", place=(0.0, 0.535, 0.0))
    ends: dict[str, tuple[str, Vector]] = {
        "Nose": ("Head", (0.0, 0.640, 0.835)),
        "HeadTop": ("Head", (0.0, 0.740, 0.660)),
        "Chin": ("Jaw", (0.0, 0.605, 0.785)),
        "TailTip": ("Tail4", (0.0, 0.425, -0.450)),
    }
    ends |= both_ends(
        {
            "LeftEar": ("Head", (0.065, 0.690, 0.645)),
            "LeftForePad": ("LeftForePaw", (FORE_X, 0.0, 0.475)),
            "LeftForeToe": ("LeftForePaw", (FORE_X, 0.0, 0.535)),
            "LeftHindPad": ("LeftHindPaw", (HIND_X, 0.0, -0.065)),
            "LeftHindToe": ("LeftHindPaw", (HIND_X, 0.0, -0.007)),
        }
    )
    return assemble("dog", root, [*_trunk(), *both_sides([*_fore_leg(), *_hind_leg()])], ends)


def _trunk() -> list[Part]:
    spine = [
        ball("Spine", "Hips", (0.0, 0.545, 0.095), 25.0, 15.0, 10.0),
        ball("Spine1", "Spine", (0.0, 0.547, 0.190), 20.0, 15.0, 10.0),
        ball("Spine2", "Spine1", (0.0, 0.545, 0.290), 15.0, 15.0, 15.0),
        ball("Chest", "Spine2", (0.0, 0.540, 0.385), 15.0, 15.0, 15.0),
        ball("Neck", "Chest", (0.0, 0.550, 0.490), 50.0, 40.0, 25.0),
        ball("Neck1", "Neck", (0.0, 0.615, 0.555), 45.0, 40.0, 25.0),
        ball("Head", "Neck1", (0.0, 0.690, 0.615), 60.0, 45.0, 35.0),
        hinge("Jaw", "Head", (0.0, 0.635, 0.655), 0.0, 45.0),
    ]
    places: list[Vector] = [
        (0.0, 0.525, -0.105), (0.0, 0.508, -0.175), (0.0, 0.484, -0.245), (0.0, 0.460, -0.315), (0.0, 0.440, -0.385),
    ]  # fmt: skip
    parents = ("Hips", *TAIL[:-1])
    tail = [
        universal(name, above, at, 35.0, 40.0, (Y, X)) for name, above, at in zip(TAIL, parents, places, strict=True)
    ]
    return [*spine, *tail]


def _fore_leg() -> list[Part]:
    """Shoulder blade down and forward, elbow behind, knuckles (the joint above the paw) just off the floor."""
    return [
        hinge("LeftScapula", "Chest", (0.050, 0.570, 0.445), -35.0, 35.0),
        ball("LeftUpperArm", "LeftScapula", (FORE_X, 0.425, 0.525), 75.0, 25.0, 30.0),
        hinge("LeftForearm", "LeftUpperArm", (FORE_X, 0.283, 0.410), -100.0, 50.0),
        hinge("LeftMetacarpus", "LeftForearm", (FORE_X, 0.100, 0.455), -45.0, 125.0),
        hinge("LeftForePaw", "LeftMetacarpus", (FORE_X, 0.030, 0.478), -75.0, 60.0),
    ]


def _hind_leg() -> list[Part]:
    """Knee (stifle) in front, hock behind, toes on the floor."""
    return [
        ball("LeftThigh", "Hips", (HIND_X, 0.505, -0.010), 65.0, 25.0, 30.0),
        hinge("LeftShin", "LeftThigh", (HIND_X, 0.330, 0.080), -62.0, 75.0),
        hinge("LeftMetatarsus", "LeftShin", (HIND_X, 0.150, -0.080), -70.0, 48.0),
        hinge("LeftHindPaw", "LeftMetatarsus", (HIND_X, 0.030, -0.062), -75.0, 60.0),
    ]


CHARACTERS = (CharacterSample(name="dog", about="A dog of a Labrador's size, on its toes, with a tail", make=make_dog),)
