"""Damped least squares on all constraints at one key spacing, by conjugate gradients [Gleicher98, sec. 6, eq. 4-5]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.descent import Descent, DescentStep, KeyCurve, SplineCurve, conjugate_gradients


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

    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        return SplineCurve.of(problem, sample.times, self.spacing)

    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        """`(J' J + softness M) z = -J' residual`, scaled by the blocks on the diagonal: each key against itself."""
        linear = step.linear
        heavy = np.where(step.on, 1.0 / step.soft, 0.0)
        blocks = linear.blocks(heavy)
        size = blocks.shape[1]
        blocks[:, np.arange(size), np.arange(size)] += step.cost.reshape(-1, size)
        inverse = np.linalg.inv(blocks)
        keys = conjugate_gradients(
            lambda z: step.cost * z + linear.pull(heavy * linear.push(z)),
            -linear.pull(heavy * step.residual),
            lambda z: (inverse @ z.reshape(-1, size, 1)).ravel(),
            start=step.near,
            accuracy=self.accuracy,
            rounds=self.rounds,
        )
        return keys, step.forces(keys)


SOLVER = LeastSquares
