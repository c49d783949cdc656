"""Guards against silent failure: what no figure may excuse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.bands import rotation_curves
from understudy.metrics.base import Measurement
from understudy.metrics.take import Take
from understudy.motion import Motion

FROZEN = 1e-3
"""Share of the source's movement below which a result does not move."""
STILL = 1e-6
"""Radians and metres of movement below which there is none."""
TURNED = 90.0
"""Degrees by which a result that faces another way is turned."""
BROKEN = (45.0, 0.5)
"""Degrees beyond a joint's range, and share of the frames with a joint outside, that make a result unusable."""
LOST = 0.1
"""Share of the planted frames within 5 cm of their place below which a result is without its source's contacts."""


def failures(take: Take, measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Why a result must not be called a success, a sentence each."""
    found = {measurement.metric: measurement for measurement in measured}
    said: list[str] = []
    stands = frozen(take.result, take.source)
    if stands:
        said.append(stands)
    likeness = found.get("similarity")
    if likeness is not None and likeness.figures and not stands:
        if likeness.facts.get("mirrored"):
            said.append("mirrored: its left does what the source's right does")
        turned = likeness["heading"]
        if turned is not None and turned > TURNED:
            said.append(f"facing another way: turned by {turned:.0f} degrees against its source")
    limits = found.get("joint_limit")
    if limits is not None and limits.facts.get("sure") and take.source is not None:
        more = limits["added_angle"]
        angle, share = limits["worst_angle"] if more is None else more, limits["outside_share"]
        if (angle or 0.0) > BROKEN[0] and (share or 0.0) > BROKEN[1]:
            said.append(f"off its joint limits: `{limits.facts['joint']}` is {angle:.0f} degrees outside its range")
    contacts = found.get("contact_timing")
    if contacts is not None and contacts.figures and not stands and (contacts["kept_5cm"] or 0.0) < LOST:
        said.append("without its source's contacts: hardly a planted point stays in its place")
    return tuple(said)


def frozen(result: Motion, source: Motion | None) -> str:
    """Why a result counts as frozen; empty where it moves, or where its source does not move either."""
    moves = movement(result)
    if source is not None:
        before = movement(source)
        if before > 1e3 * STILL and moves < FROZEN * before:
            return "frozen: it stands still while its source moves"
        return ""
    if result.num_frames < 2:
        return "frozen: it is a single frame"
    return "frozen: nothing in it moves" if moves < STILL else ""


def movement(motion: Motion) -> float:
    """How much a motion moves: the spread of its joints' turning and of its path, in radians and metres."""
    turning = float(np.std(rotation_curves(motion), axis=0).sum())
    return turning + float(np.std(motion.root, axis=0).sum())
