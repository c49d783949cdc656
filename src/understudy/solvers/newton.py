"""Damped Gauss-Newton steps at one level of the spacetime solver, in the space of the constraints' forces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from understudy.evaluation import Evaluation, Sample
from understudy.geometry.quaternion import Array
from understudy.records import remembered
from understudy.solvers.dual import BLOCK, Curves, Pattern, keys_of_forces
from understudy.solvers.factored import Factored, product
from understudy.solvers.layout import Layout
from understudy.solvers.rows import active_rows, penalty, stiffness, within_tolerance

Keys = tuple[Array, ...]
"""The unknowns: for each group of coordinates (K, d) keys."""

TOUCH = 0.1
"""Leg lengths or radians that a step of the last level changes a key by at most: it touches up, it does not move."""
LARGEST = 0.7
"""Leg lengths or radians that a step changes a key by at most."""
AHEAD = 200.0
"""Residuals are laid out from this many margins below zero, so that few steps need a new layout."""
CLOSE_AHEAD = 50.0
"""The same for the last level, whose steps are small."""
KEPT = 0.9
"""Gain of a step of the last level from which on the next one takes the same derivatives."""
EXCHANGES, ENTRIES = 8, 3
"""How often at most a step is solved again without the residuals that would be pulled, and how often with those that it
would come to violate."""
CLOSE, SHORT_OF = 0.1, 0.5
"""Share of each constraint's tolerance within which no level begins, and the last one stops: of what is to be equal,
which would shake by more, and of what is only to be at most so much."""


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

    def run(self, steps: int, keys: Keys | None = None) -> tuple[Keys, Evaluation, int]:
        """The keys reached from some, or zero, in so many steps at most, what they make of it, and the steps taken."""
        if keys is None:
            keys = tuple(np.zeros((b.num_keys, len(g))) for b, g in zip(self.curves.bases, self.curves.groups))
            d = np.zeros((len(self.sample.frames), len(self.curves.cost)))
        else:
            d = self.curves.values(keys)
        now = self.sample.measure(d)
        if within_tolerance(now, CLOSE, SHORT_OF):
            return keys, now, 0
        merit, damping, held, plan, linear = self.merit(now, keys), 0.0, None, None, None
        for number in range(steps):
            active = active_rows(now, self.margin, held)
            if plan is None or not plan.covers(active):
                ahead = (CLOSE_AHEAD if self.exact else AHEAD) * self.margin
                plan = Plan.of(now, active_rows(now, ahead, held), self.curves, self.heavy(now))
                linear = None
            if len(plan.layout.times) == 0:
                return keys, now, number
            kept = linear is not None
            linear = linear.around(now, d, active) if linear else plan.linearize(now, d, active)
            for _ in range(1 if kept else self.tries):
                # Only a small step tells what it will violate.
                forces, trial = linear.step(keys, damping, self.margin if self.exact else np.inf)
                trial = self._shortened(keys, trial)
                there = self.curves.values(trial)
                then = self.sample.measure(there)
                reached = self.merit(then, trial)
                if reached <= merit:
                    break
                damping = max(10.0 * damping, 10.0)
            else:
                if not kept:
                    return keys, now, number
                damping, linear = 0.0, None
                continue
            gain = (merit - reached) / max(merit, 1e-30)
            # What the linear problem says could be had and is not yet, the next step may bring; more it hardly can.
            coming = np.inf if damping else (reached - linear.merit(forces)) / max(reached, 1e-30)
            keys, d, now, merit = trial, there, then, reached
            damping = 0.0 if damping <= 10.0 else 0.1 * damping
            held = plan.layout.listed(plan.layout.one_sided & (forces > 0.0))
            if not (self.exact and gain > KEPT and damping == 0.0):
                linear = None
            # The last level has to finish: it only ends short of that where nothing came of a step and nothing will.
            left = max(gain, coming) if self.exact else min(gain, coming)
            if left < self.gain or (self.exact and within_tolerance(now, CLOSE, SHORT_OF)):
                return keys, now, number + 1
        return keys, now, steps

    def _shortened(self, old: Keys, new: Keys) -> Keys:
        """New keys, each changed by so much at most: a linear step of a larger size would mean little."""
        most = (TOUCH if self.exact else LARGEST) * self.sample.problem.units
        parts = zip(old, new, self.curves.groups, strict=True)
        return tuple(a + np.maximum(np.minimum(b - a, most[group]), -most[group]) for a, b, group in parts)

    def merit(self, evaluation: Evaluation, keys: Keys) -> float:
        """What a step must lower: violation and change."""
        return penalty(evaluation, self.heavy(evaluation)) + 0.5 * self.curves.size(keys)

    def heavy(self, evaluation: Evaluation) -> Array:
        """(C,) how heavily each constraint's squared residuals count: alike at every evaluation of the sample."""
        if not self._heavy:
            self._heavy.append(self.stiffness * self.weights * stiffness(self.sample, evaluation.rows))
        return self._heavy[0]

    @remembered
    def _heavy(self) -> list[Array]:
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """What stays from step to step while the same residuals take part."""

    layout: Layout
    pattern: Pattern
    compliance: Array
    """(A,) of each row."""

    @staticmethod
    def of(evaluation: Evaluation, active: np.ndarray, curves: Curves, heavy: Array) -> Plan:
        layout = Layout.of(evaluation, active)
        pattern = Pattern(times=layout.times, before=layout.before, counts=layout.counts, curves=curves)
        return Plan(layout=layout, pattern=pattern, compliance=1.0 / heavy[layout.constraint])

    def covers(self, active: np.ndarray) -> bool:
        """Whether all these residuals take part; some more do no harm, they are left out of each step as needed."""
        return bool(np.all(self.layout.active | ~active))

    def linearize(self, evaluation: Evaluation, d: Array, active: np.ndarray) -> Linear:
        """The linear problem around an evaluation at coordinates d (N, D), with the residuals that take part now.

        One at a time: the next takes the place of the one before.
        """
        jacobian = self.layout.jacobian(
            evaluation, self.pattern.space.array("derivatives", len(self.layout.times), d.shape[1])
        )
        return Linear(
            plan=self,
            jacobian=jacobian,
            band=self.pattern.band(jacobian),
            values=self.pattern.compare(self.layout.values(evaluation)),
            moved=self.moved(jacobian, d),
            idle=self.layout.idle(active),
        )

    def moved(self, jacobian: Array, d: Array) -> Array:
        """(A,) how much of the residuals coordinates d (N, D) account for, to first order."""
        if not d.any():
            return np.zeros(len(jacobian))
        out, size = np.empty(len(jacobian)), max(BLOCK // jacobian.shape[1], 1)
        for start in range(0, len(out), size):
            part = slice(start, start + size)
            out[part] = np.einsum("ad,ad->a", jacobian[part], d[self.layout.times[part]])
        return self.pattern.compare(out)


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
    solved: list[Factored] = field(default_factory=list)
    """The last matrix factored."""

    def around(self, evaluation: Evaluation, d: Array, active: np.ndarray) -> Linear:
        """The same derivatives with the residuals of another evaluation: near by they hardly change."""
        pattern, layout = self.plan.pattern, self.plan.layout
        values = pattern.compare(layout.values(evaluation))
        idle = layout.idle(active)
        if self.solved:
            # What was left out, and has not come to be violated for it, can stay out without factoring again.
            idle = idle | (self.solved[-1].out & (values <= 0.0))
        return replace(self, values=values, moved=self.plan.moved(self.jacobian, d), idle=idle)

    def merit(self, forces: Array) -> float:
        """The violation and change that an undamped step with forces (A,) would lead to, were residuals linear."""
        return 0.5 * float(forces @ (self.values - self.moved))

    def step(self, keys: Keys, damping: float, margin: float = np.inf) -> tuple[Array, Keys]:
        """Forces (A,) and new keys that minimise violation, change, and damping times the change from the old keys.

        Residuals that are left out, and that the step would violate by more than a margin, take part after all.
        """
        pattern, one_sided = self.plan.pattern, self.plan.layout.one_sided
        kept = damping / (1.0 + damping)
        residuals = self.values - (1.0 - kept) * self.moved
        out, pulled = self.idle, np.zeros(len(residuals), bool)
        for number in range(EXCHANGES):
            forces = self._forces(residuals, damping, out)
            # A residual that may be below zero is never pulled up: solve again without those that would be. Taking
            # their forces away without solving again would leave all that they hold on to without balance.
            pulling = one_sided & (forces < 0.0)
            pulled |= pulling
            # The last rounds only take out, so that they come to an end.
            pressed = one_sided & out & ~pulled & (margin < np.inf and number < ENTRIES)
            if pressed.any():
                pressed &= residuals - product(self.band, forces) / (1.0 + damping) > margin
            if not pulling.any() and not pressed.any():
                break
            out = (out | pulling) & ~pressed
        change = keys_of_forces(pattern, self.jacobian, forces / (1.0 + damping))
        return forces, tuple(kept * old + new for old, new in zip(keys, change, strict=True))

    def _forces(self, residuals: Array, damping: float, out: np.ndarray) -> Array:
        """Forces (A,) with some residuals left out."""
        known = self.solved[-1] if self.solved else None
        if known is None or known.damping != damping or not known.leave_out(out):
            known = Factored.of(self.plan.pattern, self.band, self.plan.compliance, damping, out)
        self.solved[:] = [known]
        return known.forces(residuals)
