"""The columns of [Lommers13, table 7.2], measured where the thesis judged by eye, each with its word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.bands import rms_jerk
from understudy.body import leg_length
from understudy.constraints.balance import Balance
from understudy.constraints.base import Constraint, View
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.papers.lommers13_body import deepest
from understudy.papers.lommers13_cases import INTERVAL, TOLERANCE, WRISTS, Case, grip_time
from understudy.solvers.base import Solution

SOLES = tuple(f"{side}{part}" for side in ("Left", "Right") for part in ("Heel", "ToeBase", "ToeTip"))
PARTS = {
    "hips": ("Hips",),
    "head": ("Head",),
    "elbow": ("LeftForeArm", "RightForeArm"),
    "hand": ("LeftHand", "RightHand"),
}
"""What the thesis says has a strange path, or strange speed."""
GRADES = (("yes", 0.02), ("plausible", 0.05), ("unlikely", 0.1))
"""Words for balance, and leg lengths that the centre of mass may be outside the feet for each; beyond, `no`."""
LONGER, FASTER = 1.5, 2.0
"""Ratios to the original above which a path is a detour and an acceleration unnatural."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What is measured of one result."""

    difference: float
    """Metres: the thesis's own figure, the sum over the instants it looks at of what is beyond its tolerance."""
    worst: float
    """Metres: the largest distance of a constrained point from its place, at any frame."""
    outside: float
    """Leg lengths that the centre of mass is outside the feet, beyond what it is in the original."""
    flight: float
    """Metres that the lowest point of the feet is above the floor, beyond the original."""
    sunk: float
    """Metres that any part is below the floor, beyond the original."""
    inside: float
    """Metres that a hand or forearm is inside trunk or legs, beyond the original."""
    longer: float
    """How many times as long as the original's, or as that of an original of its size, the worst part's path is."""
    path: str
    """The part with a detour, or nothing."""
    faster: float
    """The worst part's peak acceleration as a ratio to the original's, or that of an original of its size."""
    acceleration: str
    """The part with an unnatural acceleration, or nothing."""
    missed: float
    """Metres that the hands are from their goal; of a walk, the feet from their steps."""
    skate: float
    """Metres a second: the fastest an ankle that ought to stand slides."""
    jerk: float
    """RMS jerk as a ratio to the original's."""
    breach: float
    """Radians outside the joints' limits."""
    seconds: float

    @property
    def solved(self) -> bool:
        return self.difference == 0.0

    @property
    def balance(self) -> str:
        return next((word for word, most in GRADES if self.outside <= most), "no")

    @property
    def penetration(self) -> str:
        """What is inside what by more than the thesis's tolerance."""
        named = (("hand", self.inside), ("ground", self.sunk))
        return ", ".join(word for word, deep in named if deep > TOLERANCE)

    @property
    def flies(self) -> bool:
        return self.flight > TOLERANCE

    @property
    def reached(self) -> bool:
        return self.missed <= TOLERANCE * np.sqrt(3.0)


def measure(case: Case, solution: Solution, wanted: list[Constraint]) -> Columns:
    """All columns of a result.

    Args:
        case: The configuration.
        solution: What came of it.
        wanted: The position constraints of the configuration that the result is held to.
    """
    source, motion = case.source(), solution.motion
    offs = [residuals(motion, constraint) for constraint in wanted]
    path, longer = _stranger(case, source, motion, order=1, limit=LONGER)
    acceleration, faster = _stranger(case, source, motion, order=2, limit=FASTER)
    heights, before = (fk(each).points(SOLES)[..., 1] for each in (motion, source))
    limits = [o.worst for o in solution.outcomes if o.constraint.kind == "joint_range"]
    return Columns(
        difference=sum(_left(motion, constraint) for constraint in wanted),
        worst=max((float(np.linalg.norm(off, axis=-1).max()) for off in offs if off.size), default=0.0),
        outside=_outside(motion) - max(_outside(source), 0.0),
        flight=float(heights.min(axis=1).max() - before.min(axis=1).max()),
        sunk=_lowest(source) - _lowest(motion),
        inside=deepest(motion)[0] - max(deepest(source)[0], 0.0),
        longer=longer, path=path, faster=faster, acceleration=acceleration,
        missed=_missed(case, solution),
        skate=_skate(case, motion),
        jerk=rms_jerk(motion) / rms_jerk(source),
        breach=max(limits, default=0.0),
        seconds=solution.seconds,
    )  # fmt: skip


def residuals(motion: Motion, constraint: Constraint) -> np.ndarray:
    """(n, R) what is left of a constraint of places at its frames: zero where an inequality holds."""
    frames = constraint.frames(motion.times)
    points = fk(motion).points([spot.point for spot in constraint.spots()])[frames]
    turns = np.empty((len(frames), 0, 4))
    values = constraint.rows(View(times=motion.times[frames], points=points, turns=turns)).values
    return np.asarray(values if constraint.relation == "equal" else np.maximum(values, 0.0))


def _left(motion: Motion, constraint: Constraint) -> float:
    """Metres beyond the tolerance, summed over axes and the instants that the thesis looks at."""
    frames = constraint.frames(motion.times)
    instants = np.arange(0.0, motion.duration + 1e-6, INTERVAL)
    looked_at = np.unique(np.searchsorted(motion.times, instants - 0.5 / motion.fps))
    kept = np.isin(frames, looked_at) if len(frames) > 1 else np.ones(len(frames), bool)
    return float(np.maximum(np.abs(residuals(motion, constraint)[kept]) - TOLERANCE, 0.0).sum())


def _lowest(motion: Motion) -> float:
    """Metres: the height of the lowest joint or end at any frame."""
    pose = fk(motion)
    return float(min(pose.positions[..., 1].min(), pose.points(motion.skeleton.ends)[..., 1].min()))


def _outside(motion: Motion) -> float:
    """Leg lengths that the centre of mass is outside the feet at worst, seen from above."""
    feet = [name for name in SOLES if not name.endswith("Base")]
    balance = Balance.of(motion.skeleton, feet=feet)
    points = fk(motion).points([spot.point for spot in balance.spots()])
    turns = np.empty((motion.num_frames, 0, 4))
    values = balance.rows(View(times=motion.times, points=points, turns=turns)).values
    return float(values.max()) / leg_length(motion.skeleton)


def _stranger(case: Case, source: Motion, motion: Motion, *, order: int, limit: float) -> tuple[str, float]:
    """The part whose path is longest (order 1) or peak acceleration highest (order 2) against the original's.

    A larger body may move as much more as it is larger; a smaller one that reaches for the original's places has to
    move as far as the original. Hands that have to follow the original's path have no say in it.
    """
    size = max(leg_length(motion.skeleton) / leg_length(source.skeleton), 1.0)
    held = case.constraints == "original_position" and case.motion == "reach_low"
    found = {}
    for part, names in PARTS.items():
        if not (held and part == "hand"):
            moved, before = (_travel(each, names, order) for each in (motion, source))
            found[part] = float((moved / before).max() / size)
    worst = max(found, key=lambda part: found[part])
    return (worst if found[worst] > limit else ""), found[worst]


def _travel(motion: Motion, names: tuple[str, ...], order: int) -> np.ndarray:
    """(P,) lengths of paths, metres, or peak accelerations, metres per second squared."""
    steps = np.linalg.norm(np.diff(fk(motion).points(names), n=order, axis=0), axis=-1)
    return np.asarray(steps.sum(axis=0) if order == 1 else steps.max(axis=0) * motion.fps**2)


def _missed(case: Case, solution: Solution) -> float:
    """Metres that the hands are from where they take hold; of a walk, the feet from where they are to be."""
    if case.motion == "walk":
        kinds = ("follow", "place", "same_place")
        return max(o.worst for o in solution.outcomes if o.constraint.kind in kinds)
    motion, source = solution.motion, case.source()
    frame = int(np.argmin(np.abs(motion.times - grip_time())))
    away = (fk(motion).points(WRISTS) - fk(source).points(WRISTS))[frame]
    return float(np.linalg.norm(away, axis=-1).max())


def _skate(case: Case, motion: Motion) -> float:
    """Metres a second that the fastest ball of a planted foot slides along the floor."""
    speeds = []
    for contact in case.contacts():
        if contact.point.name.endswith("ToeBase"):
            frames = contact.frames(motion.fps, motion.num_frames)
            path = fk(motion).points([contact.point.name])[frames, 0][:, [0, 2]]
            speeds += [0.0, *(np.linalg.norm(np.diff(path, axis=0), axis=-1) * motion.fps)]
    return float(max(speeds))
