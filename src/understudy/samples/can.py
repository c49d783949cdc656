"""A soda can: one rigid body, the character with the fewest degrees of freedom that can still walk."""

from __future__ import annotations

from understudy.figure.skeleton import Skeleton
from understudy.samples.animals import BodySegment, assemble
from understudy.samples.scene import CharacterSample

HEIGHT = 0.90
"""Metres. A real can is 0.122 m high; this one is as high as a person's hips, because feature driving needs
characters of about the same size [Gleicher98, sec. 8], and beside a person a real can would be a speck."""

RADIUS = HEIGHT * 0.066 / 0.122 / 2.0
"""Metres: the proportions of a real can."""

SLANT = RADIUS * 0.5**0.5
"""Metres along X and Z to the diagonal points of the rim. They exist because solvers keep only points off the floor."""


def make_can() -> Skeleton:
    """The can, standing on the floor: feet on its bottom rim, hips at its middle [Gleicher98, sec. 8, fig. 11]."""
    root = BodySegment(name="Can", parent="", place=(0.0, 0.5 * HEIGHT, 0.0))
    ends = {
        "Centre": ("Can", (0.0, 0.5 * HEIGHT, 0.0)),
        "Top": ("Can", (0.0, HEIGHT, 0.0)),
        "LeftFoot": ("Can", (RADIUS, 0.0, 0.0)),
        "RightFoot": ("Can", (-RADIUS, 0.0, 0.0)),
        "FrontRim": ("Can", (0.0, 0.0, RADIUS)),
        "BackRim": ("Can", (0.0, 0.0, -RADIUS)),
        "FrontLeftRim": ("Can", (SLANT, 0.0, SLANT)),
        "FrontRightRim": ("Can", (-SLANT, 0.0, SLANT)),
        "BackLeftRim": ("Can", (SLANT, 0.0, -SLANT)),
        "BackRightRim": ("Can", (-SLANT, 0.0, -SLANT)),
        "LeftTop": ("Can", (RADIUS, HEIGHT, 0.0)),
        "RightTop": ("Can", (-RADIUS, HEIGHT, 0.0)),
        "FrontTop": ("Can", (0.0, HEIGHT, RADIUS)),
        "BackTop": ("Can", (0.0, HEIGHT, -RADIUS)),
    }
    return assemble("can", root, [], ends)


CHARACTERS = (CharacterSample(name="can", about="A soda can: one rigid body that can walk", make=make_can),)
