"""Normal ranges of motion of human joints."""

from __future__ import annotations

from understudy.base.records import record


@record(eq=True)
class Normal:
    """The range of a ball joint, degrees."""

    ahead: float
    """Greatest lean of the bone forwards (of a foot: upwards)."""
    back: float
    out: float
    """Away from the body's middle; for a bone in the middle: to both sides."""
    inward: float
    twist: float
    """To both sides."""
    centre: tuple[float, float, float] | None = None
    """Direction of the bone without lean: outwards, up, forwards. None: its direction in the neutral pose."""


BALLS = {
    "upper_leg": Normal(ahead=120, back=30, out=45, inward=30, twist=45, centre=(0.0, -1.0, 0.0)),
    # Raised, hanging, reaching back or across the chest, an arm is within this cone, centred out and forwards.
    "upper_arm": Normal(ahead=115, back=115, out=115, inward=115, twist=90, centre=(0.64, -0.43, 0.64)),
    "shoulder": Normal(ahead=35, back=35, out=35, inward=35, twist=30),
    "foot": Normal(ahead=20, back=50, out=20, inward=20, twist=35),
    # The direction of the palm is unknown, so the range is round; rigs often put the forearm's twist at the wrist.
    "hand": Normal(ahead=80, back=80, out=80, inward=80, twist=80),
}

SPINE = Normal(ahead=80, back=25, out=35, inward=35, twist=45)
"""The whole back, from the hips to the chest."""

NECK = Normal(ahead=45, back=45, out=45, inward=45, twist=60)
"""The neck and head together."""

HINGES = {"lower_leg": (10.0, 135.0, 30.0), "lower_arm": (10.0, 150.0, 90.0)}
"""Degrees of hyperextension, flexion, and twist to each side, of a knee or elbow."""
