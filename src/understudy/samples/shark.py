"""A shark: a body that is one bending chain, a tail fin of two lobes, and no legs at all."""

from __future__ import annotations

from understudy.samples.animals import Part, Vector, X, Y, Z, assemble, both_ends, both_sides, hinge, universal
from understudy.samples.scene import CharacterSample
from understudy.skeleton import Skeleton

DEPTH = 1.20
"""Metres above the floor at which it floats in the rest pose."""

CHAIN = ("Spine1", "Spine2", "Spine3", "Spine4", "Tail", "TailFin")
"""The joints from the root back to the tail fin."""


def make_shark() -> Skeleton:
    """The shark, 2.4 m long, swimming level; the root is behind its gills.

    For a person's motion [Hsieh05, fig. 8] the chain is the back, the two lobes of the tail fin are the legs'
    one counterpart, and the pectoral fins are the arms'.
    """
    root = Part(name="Body", parent="", place=(0.0, DEPTH, 0.30))
    front = [
        universal("Head", "Body", (0.0, DEPTH, 0.55), 20.0, 15.0, (Y, X)),
        hinge("Jaw", "Head", (0.0, DEPTH - 0.08, 0.70), 0.0, 40.0),
    ]
    places = (0.05, -0.22, -0.48, -0.73, -0.96, -1.15)
    parents = ("Body", *CHAIN[:-1])
    chain = [
        universal(name, above, (0.0, DEPTH, z), 35.0, 15.0, (Y, X))
        for name, above, z in zip(CHAIN, parents, places, strict=True)
    ]
    fins = [hinge("DorsalFin", "Spine1", (0.0, DEPTH + 0.16, 0.05), -15.0, 15.0, Z)]
    pectoral = universal("LeftPectoralFin", "Body", (0.15, DEPTH - 0.09, 0.42), 35.0, 30.0, (Z, X))
    ends: dict[str, tuple[str, Vector]] = {
        "Snout": ("Head", (0.0, DEPTH + 0.01, 0.95)),
        "Chin": ("Jaw", (0.0, DEPTH - 0.09, 0.84)),
        "DorsalTip": ("DorsalFin", (0.0, DEPTH + 0.42, -0.12)),
        "UpperLobe": ("TailFin", (0.0, DEPTH + 0.38, -1.45)),
        "LowerLobe": ("TailFin", (0.0, DEPTH - 0.20, -1.28)),
    }
    ends |= both_ends({"LeftPectoralTip": ("LeftPectoralFin", (0.50, DEPTH - 0.22, 0.14))})
    return assemble("shark", root, [*front, *chain, *fins, *both_sides([pectoral])], ends)


CHARACTERS = (CharacterSample(name="shark", about="A shark: a bending chain with fins and no legs", make=make_shark),)
