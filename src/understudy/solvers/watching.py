"""Which constraints a solve has to look at: most one-sided ones are never touched, and cost nothing if left out."""

from __future__ import annotations

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
CLOSE_BY = 0.02
"""Metres or radians below zero from which on a constraint that is not watched is looked at in every frame."""


def near_broken(problem: Problem, bodies: tuple[Body, ...], watched: tuple[int, ...], margin: float) -> tuple[int, ...]:
    """The constraints not yet watched that have to be: all equalities, and of the others those that are violated.

    To begin with, while none is watched, those within the margin of being violated are taken too.

    Most one-sided constraints (joint limits, the floor under a hand) are never touched: leaving them out until they
    are changes nothing but the cost.
    """
    rest = tuple(i for i in range(len(problem.constraints)) if i not in set(watched))
    equal = {i for i in rest if problem.constraints[i].relation is Relation.EQUAL}
    others = tuple(i for i in rest if i not in equal)
    if not others:
        return tuple(sorted(equal))
    room = -margin if not watched else margin
    near = most_violated(problem, bodies, others, sampled_frames(problem, CHECKED, others))
    close = tuple(i for i, worst in zip(others, near, strict=True) if worst > min(room, -CLOSE_BY))
    if watched and close:
        near = most_violated(problem, bodies, close, np.arange(len(problem.times)))
    else:
        near = near[[others.index(i) for i in close]]
    for number, worst in zip(close, near, strict=True):
        if worst > (room if not watched else max(room, CLOSE * problem.constraints[number].tolerance)):
            equal.add(number)
    return tuple(sorted(equal))


def newly_broken(problem: Problem, watched: tuple[int, ...], worst: Array, margin: float) -> tuple[int, ...]:
    """The constraints not watched that are violated, by the worst violation (C,) of every constraint."""
    rest = set(range(len(worst))) - set(watched)
    return tuple(i for i in rest if worst[i] > max(margin, CLOSE * problem.constraints[i].tolerance))


def most_violated(problem: Problem, bodies: tuple[Body, ...], only: tuple[int, ...], frames: np.ndarray) -> Array:
    """(C,) the largest residual of each of some constraints at some frames."""
    some = Sample(problem=problem, bodies=bodies, frames=frames, only=only)
    return np.array([rows.values.max(initial=-np.inf) for rows in some.measure().rows])
