"""Curves in which a result can be compared with its source: bends of the limbs, turns of joints, spectra."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.bands import rotation_curves
from understudy.geometry.quaternion import Array, angle_between
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.roles import roles
from understudy.skeleton import Skeleton

TRUNK = ("hips", ("neck", "head", "chest"))
BENDS = {
    "hip": ("upper_leg", "lower_leg", None),
    "knee": ("upper_leg", "lower_leg", "foot"),
    "shoulder": ("upper_arm", "lower_arm", None),
    "elbow": ("upper_arm", "lower_arm", "hand"),
}
"""The bends of a limb: the joints between which the angle of two bones is taken, or of one bone and the trunk."""
MOST_JOINTS = 8
LEAST_BENDS = 4
"""Bends that both bodies must have for them to be compared by bends."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Angle:
    """An angle of a character over time."""

    name: str
    degrees: Array
    """(F,)"""


def compared_angles(result: Motion, source: Motion | None) -> list[tuple[Angle, Angle | None]]:
    """Angles of the result beside those of the source; empty where the two bodies have no joint in common.

    Limbs that have names are compared by how far they are bent, which does not depend on how a skeleton counts its
    rotations; other bodies by how far each joint of one name has turned from its rest pose, those first that turn most.
    """
    mine, other = bends(result), {} if source is None else bends(source)
    common = [name for name in mine if source is None or name in other]
    if len(common) >= LEAST_BENDS:
        return [
            (Angle(name=name, degrees=mine[name]), Angle(name=name, degrees=other[name]) if source else None)
            for name in common
        ]
    mine, other = turns(result), {} if source is None else turns(source)
    common = [name for name in mine if source is None or name in other]
    common.sort(key=lambda name: -float(np.ptp(mine[name])) - float(np.ptp(other.get(name, np.zeros(1)))))
    return [
        (Angle(name=name, degrees=mine[name]), Angle(name=name, degrees=other[name]) if source else None)
        for name in common[:MOST_JOINTS]
    ]


def bends(motion: Motion) -> dict[str, Array]:
    """(F,) degrees by name, such as `left knee`: 0 for a straight limb, and for one that hangs along the trunk."""
    found, places = roles(motion.skeleton), fk(motion).positions
    trunk = _trunk(found, places)
    out = {}
    for name, (upper, middle, lower) in BENDS.items():
        for side in ("left", "right"):
            joints = [found.get(f"{side}_{part}") for part in (upper, middle, lower) if part]
            if None in joints or (lower is None and trunk is None):
                continue
            numbers = [joint for joint in joints if joint is not None]
            bone = places[:, numbers[1]] - places[:, numbers[0]]
            before = -trunk if lower is None and trunk is not None else bone
            after = bone if lower is None else places[:, numbers[2]] - places[:, numbers[1]]
            out[f"{side} {name}"] = _degrees(before, after)
    return out


def _trunk(found: dict[str, int], places: Array) -> Array | None:
    """(F, 3) from the hips up the trunk."""
    top = next((found[part] for part in TRUNK[1] if part in found), None)
    return None if top is None or TRUNK[0] not in found else places[:, top] - places[:, found[TRUNK[0]]]


def _degrees(a: Array, b: Array) -> Array:
    """(F,) the angle between vectors (F, 3), exact for small ones too."""
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.degrees(np.arctan2(across, np.einsum("fi,fi->f", a, b)))


def turns(motion: Motion) -> dict[str, Array]:
    """(F,) degrees by joint: how far it is turned from its rest pose."""
    skeleton: Skeleton = motion.skeleton
    angles = np.degrees(angle_between(skeleton.rest, motion.rotations))
    return {name: angles[:, joint] for joint, name in enumerate(skeleton.names)}


def spectrum(motion: Motion, bins: int = 160) -> tuple[Array, Array]:
    """The power of a motion's joint rotations by frequency.

    Returns:
        (N,) hertz, and (N,) rad^2 / Hz, summed over the joints; both empty for a motion of under 8 frames.
    """
    curves = rotation_curves(motion)
    if len(curves) < 8:
        return np.empty(0), np.empty(0)
    # The ends are made to meet and faded, or the step between them would fill every frequency.
    share = np.linspace(0.0, 1.0, len(curves))[:, None]
    level = curves - (1.0 - share) * curves[:1] - share * curves[-1:]
    window = np.hanning(len(level) + 2)[1:-1, None]
    power = (np.abs(np.fft.rfft(level * window, axis=0)) ** 2).sum(axis=1)
    power *= 2.0 / (motion.fps * float((window**2).sum()))
    hertz = np.fft.rfftfreq(len(level), 1.0 / motion.fps)
    groups = np.array_split(np.arange(1, len(hertz)), min(bins, len(hertz) - 1))
    return np.array([hertz[g].mean() for g in groups]), np.array([power[g].mean() for g in groups])
