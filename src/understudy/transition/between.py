"""The spacetime solve of a stretch of a motion that joins two which stay as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.evaluation import Sample
from understudy.problem import Problem
from understudy.solvers.dual import Curves
from understudy.solvers.spacetime import Level, Spacetime, levels
from understudy.splines import Basis

STIFF = 1e4
"""Stiffness of a second band-limited level."""


def passes(spacing: float, fps: float) -> tuple[tuple[tuple[Level, ...], ...], ...]:
    """Two ways to solve, each of one or more solves after each other, with their levels.

    The usual one; and one with a stiffer band-limited level before the last. Where plants begin and end the last
    level, whose keys are the frames, changes suddenly: the less is left to it, the better.
    """
    soft, last = levels(spacing, fps)
    stiff = replace(soft, stiffness=STIFF, rate=min(4.0 / spacing, fps), gain=0.02)
    return ((soft, last),), ((soft,), (stiff, last))


@dataclass(frozen=True, kw_only=True)
class Between(Spacetime):
    """The spacetime solver where what follows a time stays as it starts, as well as what precedes one (`hold`).

    Keys that are felt on either side are zero, so that the change leaves and comes back smoothly.
    """

    name: ClassVar[str] = "spacetime"

    until: float = np.inf
    """Seconds from which on the motion stays as it starts."""

    def _curves(self, problem: Problem, sample: Sample, level: Level) -> tuple[Curves, Curves]:
        at, everywhere = super()._curves(problem, sample, level)
        late = problem.times > self.until - 1e-9
        some: list[Basis] = []
        every: list[Basis] = []
        for here, whole in zip(at.bases, everywhere.bases, strict=True):
            felt = np.zeros(whole.num_keys, bool)
            felt[whole.keys[late][whole.weights[late] > 0.0]] = True
            if level.spacing:
                masks = ~felt[here.keys], ~felt[whole.keys]
            else:
                masks = ~late[sample.frames][:, None], ~late[:, None]
            some.append(replace(here, weights=here.weights * masks[0]))
            every.append(replace(whole, weights=whole.weights * masks[1]))
        return replace(at, bases=tuple(some)), replace(everywhere, bases=tuple(every))
