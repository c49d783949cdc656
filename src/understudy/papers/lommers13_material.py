"""What the configurations of [Lommers13] are run on: a low reach without travel, and a walk; samples or captures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from understudy import samples
from understudy.contacts import Contact, detect_contacts
from understudy.motion import Motion
from understudy.papers.captured import capture
from understudy.skeleton import Skeleton

ANKLES, WRISTS = ("LeftFoot", "RightFoot"), ("LeftHand", "RightHand")
STANDS, GRIPS = 76, 106
"""Frames of the sample `pick_up`, at 30 a second: both feet stand; both hands are on the box."""
LIFTED, LOWEST = 1.25, 0.82
"""Seconds of the capture 115_06: the box is at the hips again; both hands are on it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """A reach and a walk, with their contacts."""

    reach: Motion
    reach_contacts: tuple[Contact, ...]
    grip: float
    """Seconds into the reach at which the hands are at their goal."""
    walk: Motion
    walk_contacts: tuple[Contact, ...]


@cache
def sampled() -> Material:
    """From standing down to the box on the floor and the same way back, cut out of the sample `pick_up`; and `walk`.

    The sample's hands rest while they take the box, so that the way back joins smoothly.
    """
    whole, walk = samples.motion("pick_up"), samples.motion("walk")
    frames = np.concatenate([np.arange(STANDS, GRIPS + 1), np.arange(GRIPS - 1, STANDS - 1, -1)])
    motion = replace(whole.motion[frames], name="reach_low")
    first, last = STANDS / motion.fps, GRIPS / motion.fps
    stands = [c for c in whole.contacts if c.on == "floor" and c.start <= first + 0.05 and c.end >= last]
    return Material(
        reach=motion,
        reach_contacts=tuple(replace(c, start=0.0, end=motion.duration) for c in stands),
        grip=(GRIPS - STANDS) / motion.fps,
        walk=walk.motion,
        walk_contacts=walk.contacts,
    )


@cache
def captured(data: Path) -> Material:
    """A box picked up in front of the feet, CMU 115_06 until it is at the hips, and the walk 02_01; 30 frames a second.

    On the toes, as the actor is while he crouches, contacts are those of the balls of the feet that are found there.
    """
    reach = replace(capture(data, "115_06", rate=30.0)[: round(LIFTED * 30.0)], name="115_06")
    walk = replace(capture(data, "02_01", rate=30.0), name="02_01")
    floor = [tuple(c for c in detect_contacts(motion) if c.on == "floor") for motion in (reach, walk)]
    return Material(reach=reach, reach_contacts=floor[0], grip=LOWEST, walk=walk, walk_contacts=floor[1])


def parts_below(skeleton: Skeleton, joints: Sequence[str]) -> tuple[str, ...]:
    """Joints and ends that move with some joints, those themselves with them."""
    moved = np.any([skeleton.below(skeleton.joint(name)) for name in joints], axis=0)
    below = [name for name, moves in zip(skeleton.names, moved, strict=True) if moves]
    return (*below, *(end.name for end in skeleton.ends if end.joint in below))
