"""How far a solve's constraints are from being met, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.evaluation import Sample
from understudy.geometry.quaternion import Array
from understudy.solvers.base import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorCurve:
    """The error of a constraint, or of all of one kind, at every frame of the result."""

    name: str
    values: Array
    """(F,) not a number where nothing holds."""
    unit: str = "m"


def constraint_errors(solution: Solution) -> tuple[ErrorCurve, ...]:
    """The largest violation at each frame among the constraints of each kind: metres, or degrees for angles."""
    given = solution.problem
    actors = tuple(replace(actor, motion=motion) for actor, motion in zip(given.actors, solution.motions, strict=True))
    problem = replace(given, actors=actors)
    whole = Sample(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
    found: dict[str, Array] = {}
    angular: set[str] = set()
    for target, held, off in zip(problem.targets, whole.holds, whole.measure().violation, strict=True):
        if not off.shape[1]:
            continue
        kind = target.constraint.kind.replace("_", " ")
        curve = found.setdefault(kind, np.full(len(problem.times), np.nan))
        curve[held] = np.fmax(curve[held], off.max(axis=1))
        angular |= {kind} if target.constraint.angular else set()
    return tuple(
        ErrorCurve(name=kind, values=np.degrees(values), unit="degrees")
        if kind in angular
        else ErrorCurve(name=kind, values=values)
        for kind, values in found.items()
    )
