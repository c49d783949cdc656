"""A spider the size of a dog: eight legs of four segments on a body of two parts."""

from __future__ import annotations

import numpy as np

from understudy.samples.animals import Part, Vector, Y, assemble, ball, both_ends, both_sides, hinge
from understudy.samples.limbs import bend
from understudy.samples.scene import CharacterSample
from understudy.skeleton import Skeleton

HEADINGS = (32.0, 68.0, 110.0, 150.0)
"""Degrees from straight ahead that legs 1 to 4 point to."""

SIZES = (1.10, 0.97, 0.90, 1.15)
"""How long legs 1 to 4 are: the first and last are the longest."""

COXA, FEMUR, TIBIA, TARSUS = 0.05, 0.25, 0.24, 0.20
"""Metres, lengths of the segments of a leg of size 1."""

HEIGHT = 0.20
"""Metres, the body's height in the rest pose."""

REACH = 0.42
"""Metres along the floor from the end of the coxa to the tip, for a leg of size 1."""

TARSUS_DOWN = np.radians(72.0)
"""How steeply the tarsus stands in the rest pose."""


def make_spider() -> Skeleton:
    """The spider, standing: a coxa turns its leg forward and back, the other joints lift and stretch it."""
    root = Part(name="Cephalothorax", parent="", place=(0.0, HEIGHT, 0.0))
    parts = [ball("Abdomen", "Cephalothorax", (0.0, HEIGHT + 0.02, -0.12), 30.0, 20.0, 10.0)]
    ends: dict[str, tuple[str, Vector]] = {
        "Eyes": ("Cephalothorax", (0.0, HEIGHT + 0.03, 0.15)),
        "Spinneret": ("Abdomen", (0.0, HEIGHT + 0.03, -0.43)),
    }
    left: list[Part] = [
        hinge("LeftPalp", "Cephalothorax", (0.03, HEIGHT, 0.13), -30.0, 30.0),
        hinge("LeftPalpTip", "LeftPalp", (0.045, HEIGHT + 0.045, 0.205), -40.0, 40.0),
    ]
    left_ends: dict[str, tuple[str, Vector]] = {"LeftPalpEnd": ("LeftPalpTip", (0.035, HEIGHT - 0.08, 0.255))}
    for number in range(1, 5):
        joints, tip = _leg(number)
        left += joints
        left_ends[f"LeftLeg{number}Tip"] = (joints[-1].name, tip)
    return assemble("spider", root, [*parts, *both_sides(left)], ends | both_ends(left_ends))


def _leg(number: int) -> tuple[list[Part], Vector]:
    """A left leg's joints and the place of its tip; all but the coxa lift and lower, positive downward."""
    heading, size = np.radians(HEADINGS[number - 1]), SIZES[number - 1]
    out = np.array([np.sin(heading), 0.0, np.cos(heading)])
    up = np.array(Y)
    coxa = np.array([0.085 * np.sin(heading), HEIGHT, 0.115 * np.cos(heading)])
    femur = coxa + COXA * size * out
    tip = femur + REACH * size * out - HEIGHT * up
    tarsus = tip + TARSUS * size * (np.sin(TARSUS_DOWN) * up - np.cos(TARSUS_DOWN) * out)
    tibia, _ = bend(femur, tarsus, FEMUR * size, TIBIA * size, up)
    across = _vector(np.cross(up, out))
    name = f"LeftLeg{number}"
    joints = [
        hinge(f"{name}Coxa", "Cephalothorax", _vector(coxa), -40.0, 40.0, Y),
        hinge(f"{name}Femur", f"{name}Coxa", _vector(femur), -45.0, 60.0, across),
        hinge(f"{name}Tibia", f"{name}Femur", _vector(tibia), -75.0, 50.0, across),
        hinge(f"{name}Tarsus", f"{name}Tibia", _vector(tarsus), -45.0, 45.0, across),
    ]
    return joints, _vector(tip)


def _vector(v: np.ndarray) -> Vector:
    return float(v[0]), float(v[1]), float(v[2])


CHARACTERS = (CharacterSample(name="spider", about="A spider the size of a dog, with eight legs", make=make_spider),)
