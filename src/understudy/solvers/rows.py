"""Residuals of all constraints at some frames: which take part, how heavily they count, how far off they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from understudy.constraints.base import Relation, Rows
from understudy.evaluation import Evaluation, Sample
from understudy.geometry.quaternion import Array
from understudy.problem import Problem

Active = tuple[np.ndarray, ...]
"""For each constraint (n, R): which of its residuals take part."""

ALWAYS, NEVER = np.array(True), np.array(False)
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


def active_rows(evaluation: Evaluation, margin: float, previous: Active | None = None) -> Active:
    """Which residuals take part: all that must be zero; of the others those above -margin or held before."""
    found = []
    for which, (target, rows) in enumerate(zip(evaluation.sample.targets, evaluation.rows, strict=True)):
        if target.constraint.relation is Relation.EQUAL:
            found.append(np.broadcast_to(ALWAYS, rows.values.shape))
        else:
            near = rows.values > -margin
            found.append(near if previous is None else near | previous[which])
    return tuple(found)


def violation(evaluation: Evaluation) -> tuple[Array, ...]:
    """For each constraint (n, R): how far each residual is from being satisfied, never negative.

    Linked residuals are measured from their own mean: the value that the solver leaves open.
    """
    found = []
    for target, rows in zip(evaluation.sample.targets, evaluation.rows, strict=True):
        values = rows.values
        if rows.linked is not None and rows.linked.any():
            values = values.copy()
            values[:, rows.linked] -= values[:, rows.linked].mean(axis=0)
        found.append(np.maximum(values, 0.0) if target.constraint.relation is Relation.AT_MOST else np.abs(values))
    return tuple(found)


def worst_violation(evaluation: Evaluation) -> Array:
    """(C,) the worst violation of each constraint."""
    off, starts, which = _side_by_side(evaluation)
    out = np.zeros(len(evaluation.rows))
    if len(off):
        np.maximum.at(out, which, np.maximum.reduceat(off, starts))
    return out


def within_tolerance(evaluation: Evaluation, share: float) -> bool:
    """Whether every constraint is met within a share of its tolerance."""
    most = share * np.array([target.constraint.tolerance for target in evaluation.sample.targets])
    return bool(np.all(worst_violation(evaluation) <= most))


def penalty(evaluation: Evaluation, heavy: Array | None = None) -> float:
    """Half the sum of all squared violations, each as heavy (C,) as its constraint, by its own weight if not given."""
    heavy = stiffness(evaluation.sample, evaluation.rows) if heavy is None else heavy
    off, starts, which = _side_by_side(evaluation)
    return 0.5 * float(heavy[which] @ np.add.reduceat(off**2, starts)) if len(off) else 0.0


def _side_by_side(evaluation: Evaluation) -> tuple[Array, np.ndarray, np.ndarray]:
    """What `violation` gives, as one array (T,): residual after residual, each with all its frames; where each residual
    starts (S,), and of which constraint it is (S,). Many constraints are looked at as quickly as one."""
    values, lengths, which = [np.zeros(0)], [], []
    linked: list[bool] = []
    one_sided: list[bool] = []
    for number, (target, rows) in enumerate(zip(evaluation.sample.targets, evaluation.rows, strict=True)):
        frames, count = rows.values.shape
        if frames:
            values.append(rows.values.T.ravel())
            lengths += [frames] * count
            which += [number] * count
            linked += [False] * count if rows.linked is None else rows.linked.tolist()
            one_sided += [target.constraint.relation is Relation.AT_MOST] * count
    off, sizes = np.concatenate(values), np.array(lengths, dtype=np.intp)
    starts = np.cumsum(sizes) - sizes
    if any(linked):
        means = np.add.reduceat(off, starts) / sizes
        off -= np.repeat(np.where(linked, means, 0.0), sizes)
    off = np.where(np.repeat(np.array(one_sided, bool), sizes), np.maximum(off, 0.0), np.abs(off))
    return off, starts, np.array(which, dtype=np.intp)


def sampled_frames(problem: Problem, rate: float, watched: Iterable[int] | None = None) -> np.ndarray:
    """The frames to look at: at that rate, and the first and last of every constraint watched (all if not given)."""
    times = problem.times
    step = max(round(problem.actors[0].motion.fps / rate), 1)
    wanted = [np.arange(0, len(times), step), np.array([len(times) - 1])]
    for number in range(len(problem.constraints)) if watched is None else watched:
        held = problem.held[number]
        wanted.append(held if problem.constraints[number].instants else held[[0, -1]])
    return np.unique(np.concatenate(wanted)).astype(np.intp)
