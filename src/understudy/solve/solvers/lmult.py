"""Lagrange multipliers on the diagonal objective at one key spacing [Gleicher98, sec. 6 and its reference 6].

With the change x = -M^-1 J' f put in, what is left to find are the multipliers f, the constraints' forces: one for each
residual instead of one for each key, `(J M^-1 J' + softness) f = residual`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.descent import Descent, DescentStep, KeyCurve, SplineCurve, conjugate_gradients


@dataclass(frozen=True, kw_only=True)
class Lmult(Descent):
    """The least change that meets the constraints to first order, step by step, through its multipliers."""

    name: ClassVar[str] = "lmult"

    spacing: float = 4.0 / 30.0
    """Seconds between keys."""
    method: str = "direct"
    """How a step's equations are solved: `direct`, or `gradients` (conjugate gradients) as in the paper."""
    accuracy: float = 1e-4
    """How far conjugate gradients bring the equations of a step, as a share of where they start."""
    rounds: int = 1000
    """Conjugate gradient rounds in a step at most."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in ("direct", "gradients"):
            raise OptionError(f"Solver `lmult`: expected method `direct` or `gradients`, got `{self.method}`")

    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        return SplineCurve.of(problem, sample.times, self.spacing)

    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        forces = self._direct(step) if self.method == "direct" else self._gradients(step)
        return -step.linear.pull(forces) / step.cost, forces

    def _direct(self, step: DescentStep) -> Array:
        compare = step.linear.differences(step.on)
        if compare.shape[0] == 0:
            return np.zeros(len(step.on))
        rows = compare @ step.linear.matrix
        scaled = rows @ diags_array(1.0 / step.cost)
        system = scaled @ rows.T + compare @ diags_array(step.soft) @ compare.T
        multipliers = splu(csc_array(system), options={"SymmetricMode": True}).solve(compare @ step.residual)
        return compare.T @ multipliers

    def _gradients(self, step: DescentStep) -> Array:
        linear, on = step.linear, step.on.astype(float)
        squares = linear.matrix.copy()
        squares.data = squares.data**2
        diagonal = squares @ (1.0 / step.cost) + step.soft
        return conjugate_gradients(
            lambda f: on * linear.push(linear.pull(on * f) / step.cost) + step.soft * f,
            on * step.residual,
            lambda f: f / diagonal,
            accuracy=self.accuracy,
            rounds=self.rounds,
        )


SOLVER = Lmult
