"""Damped least squares on all constraints at one key spacing, by conjugate gradients [Gleicher98, sec. 6, eq. 4-5]."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import KEY_SPACING_SECONDS
from understudy.solve.solvers.descent import Descent, DescentStep, KeyCurve, SplineCurve, conjugate_gradients


@record(eq=True)
class LeastSquares(Descent):
    """Minimises the sum of squared residuals, plus `softness` times the squared change, which makes it unique."""

    name: ClassVar[str] = "least_squares"

    spacing: float = KEY_SPACING_SECONDS
    """Seconds between keys."""
    accuracy: float = 1e-6
    """The residual at which conjugate gradients stop, as a share of the right-hand side."""
    rounds: int = 1000
    """The largest number of conjugate gradient iterations in a step."""

    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        return SplineCurve.of(problem, sample.times, self.spacing)

    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        """`(J' J + softness M) z = -J' residual`, preconditioned by the diagonal blocks, one per key."""
        linear = step.linear
        weights = np.where(step.active, 1.0 / step.compliance, 0.0)
        blocks = linear.blocks(weights)
        size = blocks.shape[1]
        blocks[:, np.arange(size), np.arange(size)] += step.cost.reshape(-1, size)
        inverse = np.linalg.inv(blocks)
        keys = conjugate_gradients(
            lambda z: step.cost * z + linear.transpose_product(weights * linear.jacobian_product(z)),
            -linear.transpose_product(weights * step.residual),
            lambda z: (inverse @ z.reshape(-1, size, 1)).ravel(),
            start=step.warm_start,
            accuracy=self.accuracy,
            rounds=self.rounds,
        )
        return keys, step.forces(keys)


SOLVER = LeastSquares
