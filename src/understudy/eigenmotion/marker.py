"""Markers: points spread over a body, by whose movement two bodies of any build are compared [Analogies, sec. 4]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.body import leg_length
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array, rotate, unrotate
from understudy.kinematics import forward, locate
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton

DENSITY = 7.0
"""Markers on a leg's length of bone, if nobody says."""
GIRTH = 0.12
"""How far beside its bone a marker lies, as a share of the bone: as on the skin, so that it feels the bone's twist."""
MOST = 2000
"""Markers that a body carries at most: every one is compared with every one of the other body."""
SHORT = 0.02
"""Leg lengths below which a bone is too short to carry a marker of its own."""


def spread_markers(skeleton: Skeleton, *, count: int | None = None, density: float | None = None) -> tuple[Point, ...]:
    """Markers all over a body, evenly along its bones, at least one on each.

    Args:
        skeleton: The body.
        count: About how many in all; bones too many for it still get one each.
        density: How many on a leg's length of bone, in place of a count.

    The last marker of a bone that ends in a tip (a toe, a nose) is that tip; the others lie a little beside the bone,
    in turn before it, outside, behind and inside, mirrored on the two sides of the body.
    """
    if count is not None and (density is not None or count < 1):
        raise OptionError(f"Expected a count of markers above zero or a density, not both; got {count} and {density}")
    if density is not None and not (np.isfinite(density) and density > 0.0):
        raise OptionError(f"Expected a density of markers above zero, got {density}")
    leg = leg_length(skeleton)
    bones = _bones(skeleton, SHORT * leg)
    if not bones:
        raise OptionError(
            f"Skeleton `{skeleton.name}` has no bone longer than {SHORT * leg:.2g} m to put a marker on",
            hint="give the markers yourself",
        )
    lengths = [float(np.linalg.norm(bone)) for _, bone, _ in bones]
    spacing = leg / (density or DENSITY) if count is None else sum(lengths) / count
    if not sum(lengths) / spacing <= MOST:
        raise OptionError(
            f"Expected at most {MOST} markers on a body; a {'count' if count else 'density'} of "
            f"{count or density or DENSITY:g} makes {sum(lengths) / spacing:.3g} on skeleton `{skeleton.name}`"
        )
    made: list[Point] = []
    for (joint, bone, tip), length in zip(bones, lengths, strict=True):
        number = max(round(length / spacing), 1)
        around = _around(skeleton, joint, bone)
        for i in range(number):
            along = bone * (i + 1) / number
            if tip and i == number - 1:
                made.append(Point(name=tip, joint=skeleton.names[joint], offset=along))
                continue
            beside = GIRTH * length * around[i % 4]
            made.append(
                Point(name=f"{skeleton.names[joint]}~{len(made)}", joint=skeleton.names[joint], offset=along + beside)
            )
    return tuple(made)


def _bones(skeleton: Skeleton, short: float) -> list[tuple[int, Array, str]]:
    """The joint each bone turns with, the bone (3,) in its frame, and the name of the tip it ends in, if it does."""
    found = []
    for joint, children in enumerate(skeleton.children):
        found += [(joint, skeleton.offsets[child], "") for child in children]
        found += [(joint, end.offset, end.name) for end in skeleton.ends if end.joint == skeleton.names[joint]]
    return [bone for bone in found if np.linalg.norm(bone[1]) > short]


def _around(skeleton: Skeleton, joint: int, bone: Array) -> Array:
    """(4, 3) directions across a bone, in its joint's frame: before, outside, behind, inside."""
    positions, rotations = skeleton.rest_world
    world = rotate(rotations[joint], bone)
    along = world / np.linalg.norm(world)
    middle = positions[joint] + 0.5 * world - positions[0]
    side = 1.0 if middle[0] >= -1e-6 else -1.0
    before = np.array([0.0, 0.0, 1.0]) if abs(along[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    before = before - (before @ along) * along
    before /= np.linalg.norm(before)
    outside = side * np.cross(before, along)
    return np.array([unrotate(rotations[joint], v) for v in (before, outside, -before, -outside)])


def marker_paths(motion: Motion, markers: Sequence[Point]) -> Array:
    """(F, P, 3) metres, world: where markers are in a motion."""
    joints, offsets = locate(motion.skeleton, markers)
    positions, rotations = forward(motion.skeleton, motion.root, motion.rotations, motion.offsets)
    return positions[:, joints] + rotate(rotations[:, joints], offsets)
