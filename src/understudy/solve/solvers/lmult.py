"""Lagrange multipliers on the diagonal objective at one key spacing [Gleicher98, sec. 6 and its reference 6].

Substituting the change x = -M^-1 J' f leaves the multipliers f, the forces of the constraints, as unknowns: one per
residual instead of one per key. They solve `(J M^-1 J' + softness) f = residual`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import KEY_SPACING_SECONDS
from understudy.solve.solvers.descent import Descent, DescentStep, KeyCurve, SplineCurve, conjugate_gradients


@record(eq=True)
class Lmult(Descent):
    """Finds the smallest change that meets the linearised constraints, through its multipliers, in every step."""

    name: ClassVar[str] = "lmult"

    spacing: float = KEY_SPACING_SECONDS
    """Seconds between keys."""
    method: str = "direct"
    """The method for the equations of a step: `direct`, or `gradients` (conjugate gradients) as in the paper."""
    accuracy: float = 1e-4
    """The residual at which conjugate gradients stop, as a share of the right-hand side."""
    rounds: int = 1000
    """The largest number of conjugate gradient iterations in a step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in ("direct", "gradients"):
            raise OptionError(f"Solver `lmult`: expected method `direct` or `gradients`, got `{self.method}`")

    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        return SplineCurve.of(problem, sample.times, self.spacing)

    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        forces = self._solve_direct(step) if self.method == "direct" else self._solve_gradients(step)
        return -step.linear.transpose_product(forces) / step.cost, forces

    def _solve_direct(self, step: DescentStep) -> Array:
        selection = step.linear.differences(step.active)
        if selection.shape[0] == 0:
            return np.zeros(len(step.active))
        rows = selection @ step.linear.matrix
        scaled = rows @ diags_array(1.0 / step.cost)
        system = scaled @ rows.T + selection @ diags_array(step.compliance) @ selection.T
        multipliers = splu(csc_array(system), options={"SymmetricMode": True}).solve(selection @ step.residual)
        return selection.T @ multipliers

    def _solve_gradients(self, step: DescentStep) -> Array:
        linear, active = step.linear, step.active.astype(float)
        squares = linear.matrix.copy()
        squares.data = squares.data**2
        compliance = step.compliance
        diagonal = squares @ (1.0 / step.cost) + compliance

        def multiply(f: Array) -> Array:
            return active * linear.jacobian_product(linear.transpose_product(active * f) / step.cost) + compliance * f

        return conjugate_gradients(
            multiply,
            active * step.residual,
            lambda f: f / diagonal,
            accuracy=self.accuracy,
            rounds=self.rounds,
        )


SOLVER = Lmult
