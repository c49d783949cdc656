"""What two motions of unlike bodies have in common, frame by frame.

Postures of a human and a dog cannot be compared [Hsieh05, sec. 4.2]. What can: which of the limbs that correspond stand
on the floor, where in a stride the body is, how low it crouches, how fast it goes and how fast it turns, in its own leg
lengths. Of one body the postures can be compared too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.body import facing, leg_length
from understudy.contacts import Contact, detect_contacts
from understudy.geometry.quaternion import Array, from_axis_angle, rotate
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.transfer.correspondence import Correspondence, Pair
from understudy.transition.limbs import limb_of, standing_points

SOFT = 0.04
"""Seconds over which a limb that lands or leaves counts as on its way."""
STEADY = 0.25
"""Seconds over which speed and turning are smoothed: the body's course, not its sway."""
WEIGHTS = {"stance": 1.0, "phase": 0.7, "speed": 1.0, "turning": 0.5, "height": 2.0, "posture": 4.0}
"""How much a limb that stands against one that does not, a sixth of a stride, a leg length a second, a radian a second,
hips at the floor against hips at their highest, and joints a leg length apart count."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Features:
    """What can be compared about two motions, frame by frame and weighted."""

    values: tuple[Array, Array]
    """(F, C) for each motion at its own frames."""
    names: tuple[str, ...]
    fps: tuple[float, float]
    strides: tuple[float, float]
    """Seconds of a stride of each; nan where none is seen."""

    def at(self, which: int, times: Array) -> Array:
        """(N, C) of one motion at times (N,), seconds."""
        values = self.values[which]
        frames = np.arange(len(values)) / self.fps[which]
        return np.stack([np.interp(times, frames, column) for column in values.T], -1)


def compare(
    whole: Correspondence,
    motions: tuple[Motion, Motion],
    contacts: tuple[Sequence[Contact] | None, Sequence[Contact] | None] = (None, None),
    *,
    one_body: bool = False,
) -> Features:
    """What two motions have in common to be compared by.

    Args:
        whole: Which bones of the first (source) and second (target) body correspond.
        motions: Both.
        contacts: Theirs, where they are known; found otherwise.
        one_body: Whether both are of one body, whose postures can be compared too.

    Limbs count if both bodies stand on them at some time; without any, course and turning alone tell.
    """
    stands = tuple(
        _stances(whole, side, motion, detect_contacts(motion, standing_points(motion)) if known is None else known)
        for side, motion, known in zip(("source", "target"), motions, contacts, strict=True)
    )
    shared = [limb for limb in whole.pairs if limb in stands[0] and limb in stands[1]]
    phases = _phases(shared, stands, motions)
    names = [f"stance of {limb.source[0]}" for limb in shared]
    names += ["phase", "phase"] if phases is not None else []
    values = []
    for which, motion in enumerate(motions):
        columns = [WEIGHTS["stance"] * _soft(stands[which][limb], SOFT * motion.fps) for limb in shared]
        if phases is not None:
            turn = 2.0 * np.pi * phases[which][0]
            columns += [WEIGHTS["phase"] * np.cos(turn), WEIGHTS["phase"] * np.sin(turn)]
        values.append(np.stack([*columns, *_course(motion), *(_posture(motion) if one_body else ())], -1))
    strides = (np.nan, np.nan) if phases is None else (phases[0][1], phases[1][1])
    return Features(
        values=(values[0], values[1]),
        names=(*names, "speed", "turning", "height", *(["posture"] * (len(values[0].T) - len(names) - 3))),
        fps=(motions[0].fps, motions[1].fps),
        strides=strides,
    )


def _stances(whole: Correspondence, side: str, motion: Motion, contacts: Sequence[Contact]) -> dict[Pair, np.ndarray]:
    """By limb (F,) whether the body stands on it."""
    out: dict[Pair, np.ndarray] = {}
    for contact in contacts:
        limb = limb_of(whole, side, contact.point.joint) if contact.on == "floor" else None
        if limb is not None:
            held = out.setdefault(limb, np.zeros(motion.num_frames, bool))
            held[contact.frames(motion.fps, motion.num_frames)] = True
    return {limb: held for limb, held in out.items() if held.any()}


def _soft(values: np.ndarray, width: float) -> Array:
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(np.asarray(values, float), max(width, 1e-3), mode="nearest")


def _phases(
    shared: list[Pair], stands: tuple[dict[Pair, np.ndarray], ...], motions: tuple[Motion, Motion]
) -> list[tuple[Array, float]] | None:
    """For each motion its phase (F,), in strides from a landing of one limb, and the seconds of a stride."""
    for limb in shared:
        out = []
        for held, motion in zip((each[limb] for each in stands), motions, strict=True):
            landings = np.flatnonzero(held[1:] & ~held[:-1]) + 1.0
            if len(landings) < 2:
                break
            stride = float(np.median(np.diff(landings)))
            frames = np.arange(motion.num_frames, dtype=float)
            inside = np.interp(frames, landings, np.arange(len(landings)))
            inside += np.minimum(frames - landings[0], 0.0) / stride + np.maximum(frames - landings[-1], 0.0) / stride
            out.append((inside, stride / motion.fps))
        if len(out) == 2:
            return out
    return None


def _posture(motion: Motion) -> Array:
    """(3 J, F) where the joints are, seen from the root and the way the body faces, weighted, in leg lengths."""
    forward = facing(motion)
    yaw = from_axis_angle(np.array([0.0, 1.0, 0.0]), -np.arctan2(forward[:, 0], forward[:, 2]))
    seen = rotate(yaw[:, None], fk(motion).positions - motion.root[:, None])
    size = leg_length(motion.skeleton) * np.sqrt(motion.skeleton.num_joints)
    return WEIGHTS["posture"] * seen.reshape(motion.num_frames, -1).T / size


def _course(motion: Motion) -> tuple[Array, Array, Array]:
    """Speed over the ground, turning rate and height (F,), weighted: in leg lengths, radians, and its own greatest."""
    if motion.num_frames < 2:
        return np.zeros(1), np.zeros(1), np.ones(1)
    width = STEADY * motion.fps
    smooth = np.stack([_soft(motion.root[:, axis], width) for axis in (0, 2)], -1)
    speed = np.linalg.norm(np.gradient(smooth, axis=0), axis=-1) * motion.fps / leg_length(motion.skeleton)
    forward = facing(motion)
    yaw = np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))
    turning = np.gradient(_soft(yaw, width)) * motion.fps
    positions = fk(motion).positions
    above = motion.root[:, 1] - np.percentile(positions[..., 1].min(axis=1), 5)
    height = above / max(float(np.percentile(above, 95)), 0.1 * leg_length(motion.skeleton))
    return WEIGHTS["speed"] * speed, WEIGHTS["turning"] * turning, WEIGHTS["height"] * height
