"""How far a human's joints normally go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Normal:
    """The range of a joint that turns any way, degrees."""

    ahead: float
    """How far the bone leans forwards (a foot: upwards)."""
    back: float
    out: float
    """Away from the body's middle; a bone of the middle leans this far to both sides."""
    inward: float
    twist: float
    """To either side."""
    centre: tuple[float, float, float] | None = None
    """Where the bone points when it does not lean: outwards, up, forwards. None: where the neutral pose has it."""


BALLS = {
    "upper_leg": Normal(ahead=120, back=30, out=45, inward=30, twist=45, centre=(0.0, -1.0, 0.0)),
    # Raised, hanging, reached back or across the chest, an arm is within this cone, whose middle is out and forwards.
    "upper_arm": Normal(ahead=115, back=115, out=115, inward=115, twist=90, centre=(0.64, -0.43, 0.64)),
    "shoulder": Normal(ahead=35, back=35, out=35, inward=35, twist=30),
    "foot": Normal(ahead=20, back=50, out=20, inward=20, twist=35),
    # Which way a palm faces is not known, so its range is round; rigs often turn the forearm at the wrist.
    "hand": Normal(ahead=80, back=80, out=80, inward=80, twist=80),
}

SPINE = Normal(ahead=80, back=25, out=35, inward=35, twist=45)
"""The whole of the back from the hips to the chest."""

NECK = Normal(ahead=45, back=45, out=45, inward=45, twist=60)
"""The neck and head together."""

HINGES = {"lower_leg": (10.0, 135.0, 30.0), "lower_arm": (10.0, 150.0, 90.0)}
"""Degrees that a knee or elbow overstretches, bends, and twists to either side."""
