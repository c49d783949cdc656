"""Which constraints a solve has to look at: most one-sided ones are never touched, and cost nothing if left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.constraints.base import Relation
from understudy.coordinates import Body
from understudy.evaluation import Sample
from understudy.geometry.quaternion import Array
from understudy.problem import Problem
from understudy.solvers.newton import CLOSE
from understudy.solvers.rows import sampled_frames

CHECKED = 30.0
"""Frames a second at which what a level has reached, and constraints that are not watched, are looked at."""


def near_broken(problem: Problem, bodies: tuple[Body, ...], margin: float) -> tuple[int, ...]:
    """The constraints to watch: all equalities, and of the others those within a margin of being violated.

    Most one-sided constraints (joint limits, the floor under a hand) are never touched: leaving them out until they
    are changes nothing but the cost.
    """
    equal = [constraint.relation is Relation.EQUAL for constraint in problem.constraints]
    others = tuple(i for i, asked in enumerate(equal) if not asked)
    if not others:
        return tuple(range(len(equal)))
    some = Sample(problem=problem, bodies=bodies, frames=sampled_frames(problem, CHECKED, others), only=others)
    near = [rows.values.max(initial=-np.inf) > -margin for rows in some.measure().rows]
    away = {i for i, close in zip(others, near, strict=True) if not close}
    return tuple(i for i in range(len(equal)) if i not in away)


def newly_broken(
    problem: Problem, watched: tuple[int, ...], worst: Sequence[float] | Array, margin: float
) -> tuple[int, ...]:
    """The constraints not watched that are violated, by the worst violation (C,) of every constraint."""
    rest = set(range(len(worst))) - set(watched)
    return tuple(i for i in rest if worst[i] > max(margin, CLOSE * problem.constraints[i].tolerance))
