"""The columns of [Lommers13, table 7.2], measured where the thesis judged by eye, each with its word.

Figures and thresholds are those of `understudy.metrics` wherever it has them: what is `noticeable` there is named here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.body import leg_length
from understudy.constraints.base import Constraint
from understudy.kinematics import fk
from understudy.metrics import Grade, Measurement, Report, Verdict, evaluate, metrics
from understudy.metrics.balance import TIERS, WORDS
from understudy.motion import Motion
from understudy.papers.lommers13_body import added_depths, of_arms, residuals
from understudy.papers.lommers13_cases import INTERVAL, TOLERANCE, Case
from understudy.papers.lommers13_material import ANKLES, WRISTS, parts_below
from understudy.solvers.base import Solution

PARTS = {
    "hips": ("Hips",),
    "head": ("Head",),
    "elbow": ("LeftForeArm", "RightForeArm"),
    "hand": ("LeftHand", "RightHand"),
}
"""What the thesis says has a strange path, or strange speed."""
MEASURED = ("balance", "floor", "foot_skate", "self_penetration", "smoothness")


def grade(metric: str, figure: str) -> Grade:
    """From where on a figure of a metric is noticeable and bad."""
    return next(each for each in metrics()[metric].grades if each.figure == figure)


STRANGE = grade("smoothness", "jerk_rms_ratio")
"""Ratios to the original from which on a path is a detour and an acceleration unnatural: those for jerk."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What is measured of one result."""

    difference: float
    """Metres: the thesis's own figure, the sum over the instants it looks at of what is beyond its tolerance."""
    worst: float
    """Metres: the largest distance of a constrained point from its place, at any frame."""
    size: float
    """How many times an adult's the legs are, with which thresholds in metres grow."""
    outside: float
    """Share of the frames that are out of balance, beyond the original's."""
    flight: float
    """Metres that the lowest point of the feet is above the floor, beyond the original."""
    sunk: float
    """Metres that any part is below the floor, beyond the original."""
    inside: float
    """Metres that an arm or hand is inside another part, beyond the original."""
    legs: float
    """Metres that other parts are inside each other, beyond the original; the thesis has no word for it."""
    longer: dict[str, float]
    """By part, how many times as long as the original's, or as that of an original of its size, its path is."""
    faster: dict[str, float]
    """By part, its peak acceleration as a ratio to the original's, or that of an original of its size."""
    missed: float
    """Metres that the hands are from their goal; of a walk, the feet from their steps."""
    skate: float
    """Metres a second: the fastest that a planted point slides."""
    jerk: float
    """RMS jerk of the joints, in leg lengths, as a ratio to the original's."""
    breach: float
    """Radians outside the joints' limits."""
    seconds: float

    @property
    def solved(self) -> bool:
        return self.difference == 0.0

    @property
    def balance(self) -> str:
        return WORDS[sum(self.outside > most for most in TIERS["added_share"])]

    @property
    def penetration(self) -> str:
        """What is noticeably inside what."""
        named = (
            ("hand", self.inside, grade("self_penetration", "added_depth")),
            ("ground", self.sunk, grade("floor", "added_depth")),
        )
        return ", ".join(word for word, deep, by in named if by.verdict(deep, self.size) != Verdict.GOOD)

    @property
    def flies(self) -> bool:
        return grade("floor", "mean_float").verdict(self.flight, self.size) != Verdict.GOOD

    @property
    def path(self) -> str:
        """The parts with a detour, or nothing."""
        return ", ".join(part for part, ratio in self.longer.items() if STRANGE.verdict(ratio) != Verdict.GOOD)

    @property
    def acceleration(self) -> str:
        """The parts with an unnatural acceleration, or nothing."""
        return ", ".join(part for part, ratio in self.faster.items() if STRANGE.verdict(ratio) != Verdict.GOOD)

    @property
    def smoothness(self) -> Verdict:
        return STRANGE.verdict(self.jerk)

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
    report = evaluate(motion, source, contacts=case.contacts(), only=MEASURED)
    depths = added_depths(motion, source)
    soles = [fk(each).points(parts_below(each.skeleton, ANKLES))[..., 1].min(axis=1) for each in (motion, source)]
    limits = [o.worst for o in solution.outcomes if o.constraint.kind == "joint_range"]
    return Columns(
        difference=sum(_left(motion, constraint) for constraint in wanted),
        worst=max((float(np.linalg.norm(off, axis=-1).max()) for off in offs if off.size), default=0.0),
        size=report["floor"].size,
        outside=_outside(case, report),
        flight=float(soles[0].max() - soles[1].max()),
        sunk=_figure(report["floor"], "added_depth"),
        inside=max((deep for parts, deep in depths.items() if of_arms(parts)), default=0.0),
        legs=max((deep for parts, deep in depths.items() if not of_arms(parts)), default=0.0),
        longer=_ratios(case, source, motion, order=1),
        faster=_ratios(case, source, motion, order=2),
        missed=_missed(case, solution),
        skate=_figure(report["foot_skate"], "worst_speed"),
        jerk=_figure(report["smoothness"], "jerk_rms_ratio"),
        breach=max(limits, default=0.0),
        seconds=solution.seconds,
    )


def _figure(measurement: Measurement, name: str) -> float:
    value = measurement[name]
    assert value is not None, f"{measurement.metric}: {measurement.words}"
    return value


def _outside(case: Case, report: Report) -> float:
    """Share of the frames out of balance beyond the original's: of those that stand; where none does, of all."""
    found = report["balance"]
    if found["added_share"] is not None:
        return _figure(found, "added_share")
    own = evaluate(case.source(), contacts=case.contacts(), only=("balance",))["balance"]
    return max(_figure(found, "outside_share") - _figure(own, "outside_share"), 0.0)


def _left(motion: Motion, constraint: Constraint) -> float:
    """Metres beyond the tolerance, summed over axes and the instants that the thesis looks at."""
    frames = constraint.frames(motion.times)
    instants = np.arange(0.0, motion.duration + 1e-6, INTERVAL)
    looked_at = np.unique(np.searchsorted(motion.times, instants - 0.5 / motion.fps))
    kept = np.isin(frames, looked_at) if len(frames) > 1 else np.ones(len(frames), bool)
    return float(np.maximum(np.abs(residuals(motion, constraint)[kept]) - TOLERANCE, 0.0).sum())


def _ratios(case: Case, source: Motion, motion: Motion, *, order: int) -> dict[str, float]:
    """By part, the length of its path (order 1) or its peak acceleration (order 2) against the original's.

    The thesis calls natural what a larger body does at its own size in the original's time (its rows 10 and 12), and
    what a smaller one does in the original's places (its rows 02, 06 and 07): either may move as much as that. Hands
    that have to follow the original's path have no say in it.
    """
    size = max(leg_length(motion.skeleton) / leg_length(source.skeleton), 1.0)
    held = case.constraints == "original_position" and case.reaches
    found = {}
    for part, names in PARTS.items():
        if not (held and part == "hand"):
            moved, before = (_travel(each, names, order) for each in (motion, source))
            found[part] = float((moved / before).max() / size)
    return found


def _travel(motion: Motion, names: tuple[str, ...], order: int) -> np.ndarray:
    """(P,) lengths of paths, metres, or peak accelerations, metres per second squared."""
    steps = np.linalg.norm(np.diff(fk(motion).points(names), n=order, axis=0), axis=-1)
    return np.asarray(steps.sum(axis=0) if order == 1 else steps.max(axis=0) * motion.fps**2)


def _missed(case: Case, solution: Solution) -> float:
    """Metres that the hands are from where they take hold; of a walk, the feet from where they are to be."""
    if not case.reaches:
        kinds = ("follow", "place", "same_place")
        return max(o.worst for o in solution.outcomes if o.constraint.kind in kinds)
    motion, source = solution.motion, case.source()
    frame = int(np.argmin(np.abs(motion.times - case.material().grip)))
    away = (fk(motion).points(WRISTS) - fk(source).points(WRISTS))[frame]
    return float(np.linalg.norm(away, axis=-1).max())
