"""Damped Gauss-Newton steps at one level of the spacetime solver, in the space of the constraints' forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.evaluation import Evaluation, Sample
from understudy.geometry.quaternion import Array
from understudy.solvers.dual import Curves, Pattern, keys_of_forces, solve_forces
from understudy.solvers.rows import Active, Layout, active_rows, penalty, stiffness, within_tolerance

Keys = tuple[Array, ...]
"""The unknowns: for each group of coordinates (K, d) keys."""

TOUCH = 0.1
"""Leg lengths or radians that a step of the last level changes a key by at most: it touches up, it does not move."""
LARGEST = 0.7
"""Leg lengths or radians that a step changes a key by at most."""
AHEAD = 200.0
"""Residuals are laid out from this many margins below zero, so that few steps need a new layout."""
CLOSE = 0.1
"""Share of each constraint's tolerance within which the last level stops."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Descent:
    """Damped steps at one level."""

    sample: Sample
    curves: Curves
    stiffness: float
    weights: Array
    """(C,) what is left of each constraint's own weight."""
    margin: float
    gain: float
    """Share of what is left below which a step is the last."""
    exact: bool = False
    """Whether to stop as soon as every constraint is met with room to spare."""
    tries: int = 6
    """How often a step is damped further before it is given up."""

    def run(self, steps: int) -> tuple[Keys, int]:
        """The keys reached from zero in so many steps at most, and the steps taken."""
        keys: Keys = tuple(np.zeros((b.num_keys, len(g))) for b, g in zip(self.curves.bases, self.curves.groups))
        now = self.sample.evaluate(self.curves.values(keys))
        merit, damping, held, plan = self.merit(now, keys), 0.0, None, None
        for number in range(steps):
            active = active_rows(now, self.margin, held)
            if plan is None or not plan.covers(active):
                plan = Plan.of(now, active_rows(now, AHEAD * self.margin, held), self.curves, self.heavy(now))
            if len(plan.layout.times) == 0:
                return keys, number
            linear = plan.linearize(now, self.curves.values(keys), active)
            for _ in range(self.tries):
                forces, trial = linear.step(keys, damping)
                trial = self._shortened(keys, trial)
                then = self.sample.evaluate(self.curves.values(trial))
                reached = self.merit(then, trial)
                if reached <= merit:
                    break
                damping = max(10.0 * damping, 10.0)
            else:
                return keys, number
            gain = (merit - reached) / max(merit, 1e-30)
            keys, now, merit = trial, then, reached
            damping = 0.0 if damping <= 10.0 else 0.1 * damping
            held = plan.layout.masks(plan.layout.one_sided & (forces > 0.0))
            if gain < self.gain or (self.exact and within_tolerance(now, CLOSE)):
                return keys, number + 1
        return keys, steps

    def _shortened(self, old: Keys, new: Keys) -> Keys:
        """New keys, each changed by so much at most: a linear step of a larger size would mean little."""
        most = (TOUCH if self.exact else LARGEST) * self.sample.problem.units
        parts = zip(old, new, self.curves.groups, strict=True)
        return tuple(a + np.clip(b - a, -most[group], most[group]) for a, b, group in parts)

    def merit(self, evaluation: Evaluation, keys: Keys) -> float:
        """What a step must lower: violation and change."""
        return penalty(evaluation, self.heavy(evaluation)) + 0.5 * self.curves.size(keys)

    def heavy(self, evaluation: Evaluation) -> Array:
        """(C,) how heavily each constraint's squared residuals count."""
        return self.stiffness * self.weights * stiffness(self.sample, evaluation.rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """What stays from step to step while the same residuals take part."""

    layout: Layout
    pattern: Pattern
    soft: Array
    """(A, width) the compliance of the residuals, as a band."""

    @staticmethod
    def of(evaluation: Evaluation, active: Active, curves: Curves, heavy: Array) -> Plan:
        layout = Layout.of(evaluation, active)
        pattern = Pattern(times=layout.times, before=layout.before, counts=layout.counts, curves=curves)
        soft = pattern.compliance_band(1.0 / heavy[layout.constraint]) if len(layout.times) else np.zeros((0, 0))
        return Plan(layout=layout, pattern=pattern, soft=soft)

    def covers(self, active: Active) -> bool:
        """Whether all these residuals take part; some more do no harm, they are left out of each step as needed."""
        return all(np.all(mine | ~asked) for asked, mine in zip(active, self.layout.active, strict=True))

    def linearize(self, evaluation: Evaluation, d: Array, active: Active) -> Linear:
        """The linear problem around an evaluation at coordinates d (N, D), with the residuals that take part now."""
        jacobian = self.layout.jacobian(evaluation)
        return Linear(
            plan=self,
            jacobian=jacobian,
            band=self.pattern.band(jacobian),
            values=self.pattern.compare(self.layout.values(evaluation)),
            moved=self.pattern.compare(np.einsum("ad,ad->a", jacobian, d[self.layout.times])),
            idle=self.layout.one_sided & ~self.layout.chosen(active),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear:
    """Residuals linearised around the current keys."""

    plan: Plan
    jacobian: Array
    band: Array
    values: Array
    """(A,) residuals now."""
    moved: Array
    """(A,) how much of them the current keys account for, to first order."""
    idle: np.ndarray
    """(A,) residuals that are laid out in case they are needed, and are not now."""

    def step(self, keys: Keys, damping: float) -> tuple[Array, Keys]:
        """Forces (A,) and new keys that minimise violation, change, and damping times the change from the old keys."""
        pattern = self.plan.pattern
        kept = damping / (1.0 + damping)
        residuals = self.values - (1.0 - kept) * self.moved
        matrix = self.band / (1.0 + damping) + self.plan.soft
        out = self.idle
        for _ in range(2):
            forces = self._forces(matrix, residuals, out)
            # A residual that may be below zero is never pulled up: solve again without those that would be.
            pulling = self.plan.layout.one_sided & (forces < 0.0)
            if not pulling.any():
                break
            out = out | pulling
            forces = np.where(pulling, 0.0, forces)
        change = keys_of_forces(pattern, self.jacobian, forces / (1.0 + damping))
        return forces, tuple(kept * old + new for old, new in zip(keys, change, strict=True))

    def _forces(self, matrix: Array, residuals: Array, out: np.ndarray) -> Array:
        """Forces (A,) with some residuals left out."""
        if not out.any():
            return solve_forces(matrix.copy(), residuals)
        rest = self.plan.pattern.left_out(matrix.copy(), out)
        rest[out, 0] = 1.0
        return solve_forces(rest, np.where(out, 0.0, residuals))
