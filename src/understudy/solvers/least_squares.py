"""Damped least squares on all constraints at one key spacing, by conjugate gradients [Gleicher98, sec. 6, eq. 4-5]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.geometry.quaternion import Array
from understudy.problem import Problem, Sample
from understudy.solvers.descent import Descent, Step
from understudy.solvers.sparse import Curve, SplineCurve, conjugate_gradients


@dataclass(frozen=True, kw_only=True)
class LeastSquares(Descent):
    """The least sum of squared residuals, plus `softness` times the squared change that makes it unique."""

    name: ClassVar[str] = "least_squares"

    spacing: float = 4.0 / 30.0
    """Seconds between keys."""
    accuracy: float = 1e-6
    """How far conjugate gradients bring the equations of a step, as a share of where they start."""
    rounds: int = 1000
    """Conjugate gradient rounds in a step at most."""

    def curve(self, problem: Problem, sample: Sample) -> Curve:
        return SplineCurve.of(problem, sample.times, self.spacing)

    def linear_step(self, step: Step) -> tuple[Array, Array]:
        """`(J' J + softness M) z = -J' residual`, with each unknown scaled by its own diagonal entry."""
        linear = step.linear
        heavy = np.where(step.on, 1.0 / step.soft, 0.0)
        squares = linear.matrix.copy()
        squares.data = squares.data**2
        diagonal = step.cost + squares.T @ heavy
        keys = conjugate_gradients(
            lambda z: step.cost * z + linear.pull(heavy * linear.push(z)),
            -linear.pull(heavy * step.residual),
            diagonal,
            accuracy=self.accuracy,
            rounds=self.rounds,
        )
        return keys, step.forces(keys)


SOLVER = LeastSquares
