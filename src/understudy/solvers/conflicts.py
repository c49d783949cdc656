"""Which constraints fight each other, where not all can hold."""

from __future__ import annotations

import numpy as np

from understudy.constraints.base import Relation
from understudy.evaluation import Evaluation
from understudy.geometry.quaternion import Array

NAMED = 3
"""How many constraints a sentence names."""
SHARE = 0.2
"""Share of the strongest resistance from which on a constraint is named."""
MOST = 20
"""How many broken constraints are looked into."""


def find_conflicts(evaluation: Evaluation, unmet: list[tuple[int, int]]) -> tuple[str, ...]:
    """A sentence for each broken constraint: what keeps it from holding.

    Around the frame where it is worst, the change that would mend it is split into what the constraints that hold
    there forbid and what is left. Those that forbid most of it are named; where nothing does, the body cannot reach.

    Args:
        evaluation: All constraints at every frame of the motion found.
        unmet: (constraint, position of its worst frame among its own frames) each.
    """
    return tuple(_sentence(evaluation, which, at) for which, at in unmet[:MOST])


def _sentence(evaluation: Evaluation, which: int, at: int) -> str:
    sample = evaluation.sample
    label = sample.targets[which].constraint.label
    frame = int(sample.holds[which][at])
    when = f"at {sample.times[frame]:.2f} s"
    mine, off = _rows(evaluation, which, at)
    if sample.targets[which].constraint.relation is Relation.AT_MOST:
        off = np.maximum(off, 0.0)
    wish = mine.T @ off
    step = np.linalg.lstsq(mine, -off, rcond=1e-6)[0]
    others: list[tuple[int, Array]] = []
    for other in range(len(sample.targets)):
        place = np.flatnonzero(sample.holds[other] == frame)
        if other != which and len(place):
            rows, values = _rows(evaluation, other, int(place[0]))
            holding = sample.targets[other].constraint.relation is Relation.EQUAL
            # What may be below zero is in the way if mending the broken one would bring it above.
            rows = rows if holding else rows[values + rows @ step > 0.0]
            if len(rows):
                others.append((other, rows))
    if not others or np.linalg.norm(wish) < 1e-12:
        return f"`{label}` cannot be reached {when}: nothing is in its way but the body's own size."
    stacked = np.concatenate([rows for _, rows in others])
    resistance = np.abs(np.linalg.lstsq(stacked.T, wish, rcond=1e-6)[0] * np.linalg.norm(stacked, axis=1))
    ends = np.cumsum([len(rows) for _, rows in others])[:-1]
    strength = np.array([part.max() for part in np.split(resistance, ends)])
    order = np.argsort(-strength)[:NAMED]
    named = [sample.targets[others[i][0]].constraint.label for i in order if strength[i] >= SHARE * strength.max()]
    return f"`{label}` cannot hold {when} while {_list(named)} {'does' if len(named) == 1 else 'do'}."


def _rows(evaluation: Evaluation, which: int, at: int) -> tuple[Array, Array]:
    """Derivatives (R, D) of a constraint's residuals at one of its frames, and how far (R,) each is off."""
    rows = evaluation.rows[which]
    count = rows.values.shape[1]
    entries = (np.full(count, at), np.arange(count))
    values = rows.values[at].copy()
    if rows.linked is not None:
        values[rows.linked] -= rows.values[:, rows.linked].mean(axis=0)
    return evaluation.jacobian(which, entries), values


def _list(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
