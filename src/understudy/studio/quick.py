"""The whole-motion solver in a hurry: a few steps from where the last update of a drag ended.

What is minimised is the same as in a finished solve, the change from a start that does not know of earlier updates.
Only the steps begin at the keys that were found before, so the way by which something was dragged is soon forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.coordinates import Body
from understudy.evaluation import Sample, merged
from understudy.problem import Problem
from understudy.solvers.base import Watch
from understudy.solvers.dual import Curves
from understudy.solvers.levels import levels
from understudy.solvers.newton import AHEAD, Descent, Keys
from understudy.solvers.rows import sampled_frames, worst_violation
from understudy.solvers.spacetime import BROKEN, allowed
from understudy.solvers.watching import CHECKED, near_broken, newly_broken
from understudy.splines import Basis, Knots, every_frame

MARGIN = 1e-4
"""Metres or radians below zero from which on one-sided residuals take part."""
FAR = 3.0
"""Times what was left before at which known keys may be no good any more."""
SETTLED = 0.005
"""Gain below which a step from known keys is the last: they are nearly right, and are to be quite so."""
COLD, WARM, LAST = 8, 3, 2
"""Steps at most of the band-limited level, from nothing and from known keys, and of the last level."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """What one update tells the next."""

    keys: Keys
    merit: float
    """Change and violation that were left with them."""
    watched: tuple[int, ...]
    """The constraints that had to be looked at."""
    size: tuple[int, ...]
    """How many constraints, coordinates and keys there were: of another problem nothing is known."""


def hurry(
    problem: Problem, spacing: float, watch: Watch, *, hold: float, until: float, known: Known | None = None
) -> tuple[tuple[Body, ...], Known | None]:
    """The bodies of a problem moved nearly as well as a finished solve would, and what the next update may start from.

    Args:
        problem: What is asked for.
        spacing: Seconds between the keys of the band-limited level.
        watch: Told how far it is, and may stop it.
        hold: Seconds up to which the motion stays as it is.
        until: Seconds from which on it does.
        known: What the update before found.
    """
    if not problem.constraints or len(problem.metric) == 0:
        return problem.bodies, None
    moved, found = _band_limited(problem, spacing, (hold, until), known)
    watch("solving", 0.5)
    seen = Sample(problem=problem, bodies=moved, frames=sampled_frames(problem, CHECKED)).measure()
    worst = worst_violation(seen)
    watched = tuple(sorted({*found.watched, *newly_broken(problem, found.watched, worst, MARGIN)}))
    # What cannot be reached yet is not chased from frame to frame.
    most = allowed(problem, BROKEN)
    bodies = _finished(problem, moved, tuple(i for i in watched if worst[i] <= most[i]), (hold, until))
    return bodies, replace(found, watched=watched)


def _band_limited(
    problem: Problem, spacing: float, ends: tuple[float, float], known: Known | None
) -> tuple[tuple[Body, ...], Known]:
    """The bodies after the band-limited level, and what was found on the way."""
    level = levels(spacing, problem.actors[0].motion.fps)[0]
    knots = Knots.uniform(problem.times[-1], spacing)
    everywhere = _curves(problem, knots.basis(problem.times, *ends))
    size = len(problem.constraints), len(problem.metric), everywhere.bases[0].num_keys
    if known is not None and known.size != size:
        known = None
    watched = near_broken(problem, problem.bodies, AHEAD * MARGIN) if known is None else known.watched
    frames = sampled_frames(problem, level.rate, watched)
    frames = frames[(problem.times[frames] > ends[0] + spacing) | (frames == frames[-1])]
    sample = Sample(problem=problem, bodies=problem.bodies, frames=frames, only=watched)
    descent = Descent(
        sample=sample,
        curves=_curves(problem, knots.basis(sample.times, *ends)),
        stiffness=level.stiffness,
        weights=np.ones(len(watched)),
        margin=MARGIN,
        gain=level.gain if known is None else SETTLED,
    )
    begin = None if known is None else _better(descent, known)
    keys, reached, _ = descent.run(COLD if begin is None else WARM, begin)
    found = Known(keys=keys, merit=descent.merit(reached, keys), watched=watched, size=size)
    return merged(problem.bodies, sample, everywhere.values(keys)), found


def _finished(
    problem: Problem, bodies: tuple[Body, ...], holding: tuple[int, ...], ends: tuple[float, float]
) -> tuple[Body, ...]:
    """The bodies after the last level, whose keys are the frames, with the constraints that can be met."""
    level = levels(1.0, problem.actors[0].motion.fps)[1]
    every = Sample(problem=problem, bodies=bodies, frames=np.arange(len(problem.times)), only=holding)
    descent = Descent(
        sample=every,
        curves=_curves(problem, every_frame(problem.times, *ends)),
        stiffness=level.stiffness,
        weights=np.ones(len(holding)),
        margin=MARGIN,
        gain=level.gain,
        exact=True,
    )
    return descent.run(LAST)[1].bodies()


def _better(descent: Descent, known: Known) -> Keys | None:
    """Keys that were found before, unless something was moved so far away that none are a better beginning."""
    merit = descent.merit(descent.sample.measure(descent.curves.values(known.keys)), known.keys)
    if merit < FAR * known.merit:
        return known.keys
    none = tuple(np.zeros_like(group) for group in known.keys)
    return known.keys if merit < descent.merit(descent.sample.measure(descent.curves.values(none)), none) else None


def _curves(problem: Problem, basis: Basis) -> Curves:
    return Curves(bases=(basis,), groups=(np.arange(len(problem.metric)),), cost=problem.metric)
