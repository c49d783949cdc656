"""Sequential quadratic programming at one key spacing: change and multipliers are solved together.

Each step solves the full optimality conditions, `[M J'; J -softness] (z, f) = (0, -residual)`, which [Gleicher98,
sec. 6] calls SQP. One-sided constraints form an active set: those with negative forces are dropped, violated ones are
added. A step that fails because of curvature gets a second-order correction.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import KEY_SPACING_SECONDS
from understudy.solve.solvers.descent import Descent, DescentStep, KeyCurve, SplineCurve


@record(eq=True)
class Sqp(Descent):
    """The general method. It does not use that the objective is diagonal."""

    name: ClassVar[str] = "sqp"

    softness: float = 1e-5
    spacing: float = KEY_SPACING_SECONDS
    """Seconds between keys."""

    second_order_correction: ClassVar[bool] = True

    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        return SplineCurve.of(problem, sample.times, self.spacing)

    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        selection = step.linear.differences(step.active)
        count = len(step.cost)
        if selection.shape[0] == 0:
            return np.zeros(count), np.zeros(len(step.active))
        rows = selection @ step.linear.matrix
        compliance = selection @ diags_array(step.compliance) @ selection.T
        system = block_array([[diags_array(step.cost), rows.T], [rows, -compliance]])
        right_side = np.concatenate([np.zeros(count), -(selection @ step.residual)])
        solution = splu(csc_array(system)).solve(right_side)
        return solution[:count], selection.T @ solution[count:]


SOLVER = Sqp
