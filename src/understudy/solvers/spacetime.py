"""The whole-motion solver: coarse to fine, damped Gauss-Newton steps in the space of the constraints' forces.

Each level solves for a displacement with keys twice as dense as the level before, starting from the motion that level
reached, so that everything that can be met by slow changes is, and only the rest is added at higher frequencies.
A step that does not lower the sum of change and violation is damped until it does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array
from understudy.problem import Evaluation, Problem, Sample, merged
from understudy.solvers.dual import Curves, Pattern, keys_of_forces, solve_forces
from understudy.solvers.rows import Active, Layout, active_rows, penalty
from understudy.splines import Knots


@dataclass(frozen=True, kw_only=True)
class Level:
    """One pass over the motion."""

    spacing: float
    """Seconds between keys."""
    rate: float
    """Frames a second at which constraints are looked at, besides the ends of their intervals."""
    stiffness: float
    """How heavily a squared metre of violation counts against change."""
    steps: int
    """Steps at most."""


@dataclass(frozen=True, kw_only=True)
class Spacetime:
    """The default solver."""

    levels: tuple[Level, ...] = (
        Level(spacing=8 / 30, rate=7.5, stiffness=1e4, steps=2),
        Level(spacing=4 / 30, rate=15.0, stiffness=1e4, steps=2),
        Level(spacing=2 / 30, rate=30.0, stiffness=3e4, steps=3),
        Level(spacing=1 / 30, rate=60.0, stiffness=1e5, steps=4),
    )
    verbose: bool = False

    def solve(self, problem: Problem):
        bodies = problem.bodies
        for level in self.levels:
            bodies = self._level(problem, bodies, level)
        return bodies

    def _level(self, problem: Problem, bodies, level: Level):
        frames = sampled_frames(problem, level.rate)
        sample = Sample(problem=problem, bodies=bodies, frames=frames)
        knots = Knots.uniform(problem.times[-1], level.spacing)
        curves = Curves(
            bases=(knots.basis(sample.times),),
            groups=(np.arange(len(problem.metric)),),
            cost=problem.metric,
        )
        keys, reached = descend(sample, curves, level.stiffness, level.steps, self.verbose)
        whole = knots.basis(problem.times)
        return merged(bodies, sample, whole.values(keys[0]))


def sampled_frames(problem: Problem, rate: float) -> np.ndarray:
    """The frames to look at: at that rate, and the first and last of every constraint."""
    times = problem.times
    fps = problem.actors[0].motion.fps
    step = max(round(fps / rate), 1)
    wanted = [np.arange(0, len(times), step), [len(times) - 1]]
    for constraint in problem.constraints:
        held = constraint.frames(times)
        wanted.append(held if constraint.instants else held[[0, -1]])
    return np.unique(np.concatenate(wanted)).astype(np.intp)


def descend(sample: Sample, curves: Curves, stiffness: float, steps: int, verbose=False):
    """Lower change and violation by damped steps."""
    keys = tuple(np.zeros((b.num_keys, len(g))) for b, g in zip(curves.bases, curves.groups, strict=True))
    now = sample.evaluate(curves.values(keys))
    merit = stiffness * penalty(now)
    damping, held, pattern, layout = 0.0, None, None, None
    for step in range(steps):
        active = active_rows(now, 1e-4, held)
        if layout is None or any(not np.array_equal(a, b) for a, b in zip(active, layout.active)):
            layout = Layout.of(now, active)
            pattern = Pattern(times=layout.times, before=layout.before, counts=layout.counts, curves=curves)
        if len(layout.rows) == 0:
            break
        jacobian = layout.jacobian(now)
        values = pattern.compare(layout.values(now))
        moved = pattern.compare(np.einsum("ad,ad->a", jacobian, curves.values(keys)[layout.times]))
        band = pattern.band(jacobian)
        soft = pattern.compliance_band(layout.compliance / stiffness)
        accepted = False
        for attempt in range(6):
            keep = damping / (1.0 + damping)
            residuals = values - (1.0 - keep) * moved
            matrix = band / (1 + damping) + soft
            forces = solve_forces(matrix.copy(), residuals)
            wrong = layout.one_sided & (forces < 0)
            if wrong.any():
                keep_rows = np.flatnonzero(~wrong)
                forces = solve_active(matrix, residuals, ~wrong)
            change = keys_of_forces(pattern, jacobian, forces / (1.0 + damping))
            trial = tuple(keep * k + c for k, c in zip(keys, change, strict=True))
            then = sample.evaluate(curves.values(trial))
            reached = stiffness * penalty(then) + 0.5 * curves.size(trial)
            if reached <= merit or merit == 0:
                accepted = True
                break
            damping = max(10.0 * damping, 10.0)
        if verbose:
            print(f"  step {step} attempts {attempt} rows {len(layout.rows)} hw {pattern.half_width} merit {merit:.4g}->{reached:.4g} damping {damping:.2g} |d| {max(np.abs(t).max() for t in trial):.3f}")
        if not accepted:
            break
        gain = (merit - reached) / max(merit, 1e-30)
        keys, now, merit = trial, then, reached
        damping *= 0.1
        if damping < 1: damping = 0.0
        held = tuple(np.zeros(a.shape,bool) for a in active)
        on = layout.one_sided & (forces > 0)
        for c in np.unique(layout.constraint[layout.rows[on]]):
            mine = layout.rows[on][layout.constraint[layout.rows[on]] == c]
            held[c][layout.at[mine], layout.row[mine]] = True
        if gain < 1e-3:
            break
    return keys, now


def solve_active(band, residuals, keep):
    """Same system with some residuals left out: their rows are made trivial."""
    k = keep.astype(float)
    for o in range(len(band)):
        band[o, : len(k) - o] *= k[: len(k) - o] * k[o:]
    band[0] += 1 - k
    return solve_forces(band, residuals * k)
