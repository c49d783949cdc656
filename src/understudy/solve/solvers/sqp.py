"""Sequential quadratic programming at one key spacing: change and multipliers solved for together.

Each step solves the whole system of the conditions of an optimum, `[M J'; J -softness] (z, f) = (0, -residual)`, the
way that [Gleicher98, sec. 6] calls SQP after earlier spacetime work. One-sided constraints are an active set: those
that would pull are dropped, those that would be broken are added. A step that curvature spoils is bent back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from understudy.base.quaternion import Array
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.descent import Descent, DescentStep, KeyCurve, SplineCurve


@dataclass(frozen=True, kw_only=True)
class Sqp(Descent):
    """The general method: no use is made of the objective's being diagonal."""

    name: ClassVar[str] = "sqp"

    softness: float = 1e-5
    spacing: float = 4.0 / 30.0
    """Seconds between keys."""

    corrects: ClassVar[bool] = True

    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        return SplineCurve.of(problem, sample.times, self.spacing)

    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        compare = step.linear.differences(step.on)
        count = len(step.cost)
        if compare.shape[0] == 0:
            return np.zeros(count), np.zeros(len(step.on))
        rows = compare @ step.linear.matrix
        soft = compare @ diags_array(step.soft) @ compare.T
        system = block_array([[diags_array(step.cost), rows.T], [rows, -soft]])
        right = np.concatenate([np.zeros(count), -(compare @ step.residual)])
        found = splu(csc_array(system)).solve(right)
        return found[:count], compare.T @ found[count:]


SOLVER = Sqp
