"""Residuals of all constraints at some frames: which take part, how heavily they count, how far off they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from understudy.constraints.base import Relation, Rows
from understudy.evaluation import Evaluation, Sample
from understudy.geometry.quaternion import Array
from understudy.problem import Problem

ROWS = 3.0
"""Residuals of a constraint on a point's place, against which others are counted."""


def stiffness(sample: Sample, rows: Sequence[Rows] = ()) -> Array:
    """(C,) how heavily each constraint's squared residuals count [Lommers13, sec. 4.2].

    The artist's weight and priority; radians by the length of a leg, so that they weigh as the metres they move a
    foot; and the number of residuals, so that asking in more numbers is not asking for more. What a joint's turning
    matters is part of the problem's metric.
    """
    found = []
    for number, target in enumerate(sample.targets):
        constraint = target.constraint
        unit = sample.problem.leg if constraint.angular else 1.0
        count = rows[number].values.shape[1] if len(rows) else ROWS
        found.append(constraint.weight * 10.0**constraint.priority * unit**2 * ROWS / max(count, 1))
    return np.array(found)


def active_rows(evaluation: Evaluation, margin: float, held: np.ndarray | None = None) -> np.ndarray:
    """(T,) which residuals take part: all that must be zero; of the others those above -margin or held (T,) before."""
    near = ~evaluation.register.one_sided | (evaluation.values > -margin)
    return near if held is None else near | held


def worst_violation(evaluation: Evaluation) -> Array:
    """(C,) the worst violation of each constraint."""
    out, starts = np.zeros(len(evaluation.rows)), evaluation.register.starts
    if len(starts):
        np.maximum.at(out, evaluation.register.constraint[starts], np.maximum.reduceat(evaluation.off, starts))
    return out


def largest_residual(evaluation: Evaluation) -> Array:
    """(C,) the largest residual of each constraint; minus infinity for one that holds at none of the frames."""
    out, starts = np.full(len(evaluation.rows), -np.inf), evaluation.register.starts
    if len(starts):
        np.maximum.at(out, evaluation.register.constraint[starts], np.maximum.reduceat(evaluation.values, starts))
    return out


def within_tolerance(evaluation: Evaluation, equal: float, at_most: float) -> bool:
    """Whether every constraint is met within a share of its tolerance: one for equalities, and one for the others."""
    shares = {Relation.EQUAL: equal, Relation.AT_MOST: at_most}
    asked = [target.constraint for target in evaluation.sample.targets]
    most = np.array([shares[each.relation] * each.tolerance for each in asked])
    return bool(np.all(worst_violation(evaluation) <= most))


def penalty(evaluation: Evaluation, heavy: Array | None = None) -> float:
    """Half the sum of all squared violations, each as heavy (C,) as its constraint, by its own weight if not given."""
    heavy = stiffness(evaluation.sample, evaluation.rows) if heavy is None else heavy
    starts, off = evaluation.register.starts, evaluation.off
    which = evaluation.register.constraint[starts]
    return 0.5 * float(heavy[which] @ np.add.reduceat(off**2, starts)) if len(off) else 0.0


def sampled_frames(problem: Problem, rate: float, watched: Iterable[int] | None = None) -> np.ndarray:
    """The frames to look at: at that rate, and the first and last of every constraint watched (all if not given)."""
    wanted = np.zeros(len(problem.times), bool)
    wanted[:: max(round(problem.actors[0].motion.fps / rate), 1)] = True
    wanted[-1] = True
    for number in range(len(problem.constraints)) if watched is None else watched:
        held = problem.held[number]
        if problem.constraints[number].instants:
            wanted[held] = True
        else:
            wanted[held[0]] = wanted[held[-1]] = True
    return np.flatnonzero(wanted)
