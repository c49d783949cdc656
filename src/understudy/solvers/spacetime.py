"""The whole-motion solver: damped Gauss-Newton steps in the space of the constraints' forces, in two levels.

The first level solves for a band-limited displacement, softly, so that everything that can be met by slow changes is.
The second, with a key at every frame, removes what is left, exactly. A step that does not lower the sum of change and
violation is damped until it does. Where constraints cannot all hold, the fewest give way: the first level is solved
again with the broken ones weighing less, and the second leaves them as they are, so that they never throw the rest of
the motion away.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from understudy.coordinates import Body
from understudy.errors import OptionError, UnknownNameError, nearest_names
from understudy.evaluation import Sample, merged
from understudy.geometry.quaternion import Array
from understudy.problem import Problem
from understudy.solvers.base import Solver, Watch
from understudy.solvers.dual import Curves
from understudy.solvers.newton import AHEAD, Descent
from understudy.solvers.rows import sampled_frames, violation
from understudy.solvers.watching import CHECKED, near_broken
from understudy.splines import Knots, every_frame


@dataclass(frozen=True, kw_only=True)
class Level:
    """One pass over the motion."""

    spacing: float
    """Seconds between keys; 0 for a key of its own at each frame."""
    rate: float
    """Frames a second at which constraints are looked at, besides the ends of their intervals."""
    stiffness: float
    """How heavily a squared metre of violation counts against change."""
    steps: int
    """Steps at most."""
    gain: float = 0.02
    """Share of what is left below which a step is the last."""


COARSE = 1e3
"""Stiffness of the band-limited levels: soft enough that they follow what moves, not the noise on top of it."""
RETRY = 4
"""Steps at most of each further try."""
YIELDS = 6
"""How often the band-limited level may be solved again with broken constraints weighing less."""
BROKEN = (0.035, 0.15)
"""Leg lengths, or radians, off after the band-limited level beyond which a constraint is broken, not unfinished."""
UNFINISHED = (0.015, 0.05)
"""Leg lengths, or radians, off beyond which stiffer band-limited levels go before the last, which is not to shake."""
ROUGHLY = 0.15
"""Gain at which the first level hands over to the next, which finishes what is left."""
REACHING = 0.3
"""What a constraint that has just given way still weighs; further off it pulls as hard, not harder."""
HOLDING = 0.5
"""Weight above which a constraint has not given way."""
ROUNDS = 4
"""How often one-sided constraints that turn out to be violated may be added."""
FINISH = 1e6
"""Stiffness of the last level, whose keys are the frames themselves: what is left is met to a thousandth."""


def levels(spacing: float = 4 / 30, fps: float = 120.0) -> tuple[Level, ...]:
    """A band-limited level at a spacing in seconds, then one with a key at every frame.

    The band-limited level carries the change of the motion: coarser ones before it only make feet swing wider than
    they need to [Gleicher98, fig. 7]. The last level removes what is left: fractions of a millimetre in clean
    motion, and in captured motion the shaking of planted feet.
    """
    return (
        Level(spacing=spacing, rate=min(1.0 / spacing, fps), stiffness=COARSE, steps=12, gain=ROUGHLY),
        Level(spacing=0.0, rate=fps, stiffness=FINISH, steps=4),
    )


@dataclass(kw_only=True)
class Budget:
    """What may be spent on a problem, and what has been."""

    iterations: int
    seconds: float
    steps: int = 0
    began: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> bool:
        return self.steps >= self.iterations or time.perf_counter() - self.began >= self.seconds


@dataclass(frozen=True, kw_only=True)
class Spacetime(Solver):
    """The default solver."""

    name: ClassVar[str] = "spacetime"

    spacing: float = 4 / 30
    """Seconds between the keys of the finest band-limited level: the frequency limit of what is changed."""
    levels: tuple[Level, ...] | None = None
    """Coarse to fine, in place of those that the spacing gives."""
    margin: float = 1e-4
    """Metres or radians: residuals that must stay below zero take part from this far below."""
    slower: dict[str, float] | None = None
    """By joint, how many times further apart than the others its keys are at every level."""

    knots: tuple[float, ...] = ()
    """Seconds: where the pieces of the band-limited curves join, in place of even spacing."""
    hold: float = -np.inf
    """Seconds up to which the motion stays as it starts; what follows leaves it smoothly."""
    iterations: int = 120
    """Steps after which constraints that cannot be met are not tried any further."""
    seconds: float = np.inf
    """Seconds after which they are not tried any further."""

    def move(self, problem: Problem, watch: Watch) -> tuple[tuple[Body, ...], int]:
        bodies, budget = problem.bodies, Budget(iterations=self.iterations, seconds=self.seconds)
        if not problem.constraints or len(problem.metric) == 0:
            return bodies, 0
        passes = self.levels or levels(self.spacing, problem.actors[0].motion.fps)
        watched = near_broken(problem, bodies, (), AHEAD * self.margin)
        for _ in range(ROUNDS):
            bodies = self._solve(problem, bodies, watched, passes, watch, budget)
            broken = near_broken(problem, bodies, watched, self.margin)
            if not broken or budget.spent:
                break
            watched = tuple(sorted({*watched, *broken}))
        return bodies, budget.steps

    def _solve(
        self,
        problem: Problem,
        bodies: tuple[Body, ...],
        watched: tuple[int, ...],
        passes: tuple[Level, ...],
        watch: Watch,
        budget: Budget,
    ) -> tuple[Body, ...]:
        """All levels, with some of the constraints looked at."""
        ease = np.ones(len(watched))
        broken, unfinished = (allowed(problem, watched, most) for most in (BROKEN, UNFINISHED))
        for number, level in enumerate(passes):
            keys_are = f"every {1000 * level.spacing:.0f} ms" if level.spacing else "at every frame"
            watch(f"keys {keys_are}", number / len(passes))
            if not level.spacing:
                # What has to give way is not chased from frame to frame: it stays as the band-limited level left it.
                holding = tuple(i for i, weight in zip(watched, ease, strict=True) if weight > HOLDING)
                bodies, taken, _ = self._level(problem, bodies, holding, level, np.ones(len(holding)))
                budget.steps += taken
                continue
            start = bodies
            for _ in range(YIELDS):
                bodies, taken, worst = self._level(problem, start, watched, level, ease)
                budget.steps += taken
                eased = yielding(worst / broken)
                if np.allclose(eased, ease, rtol=0.1) or budget.spent:
                    break
                ease, level = eased, replace(level, steps=min(level.steps, RETRY))
            if np.any(ease < HOLDING):
                # Now that it is known what gives way, all of that is reached for alike, however far off it is.
                ease = np.where(ease < HOLDING, REACHING * broken / np.maximum(worst, broken), 1.0)
                bodies, taken, worst = self._level(problem, start, watched, level, ease)
                budget.steps += taken
            for more, stiffer in enumerate(stiffened(level)):
                if not np.any((worst > unfinished)[ease > HOLDING]) or budget.spent:
                    break
                # Looking closer begins anew: what was made of too few frames is no start.
                bodies, taken, worst = self._level(problem, bodies if more else start, watched, stiffer, ease)
                budget.steps += taken
            ease = np.where(worst > broken, 0.0, 1.0)
        return bodies

    def _level(
        self, problem: Problem, bodies: tuple[Body, ...], watched: tuple[int, ...], level: Level, ease: Array
    ) -> tuple[tuple[Body, ...], int, Array]:
        """One level: the bodies moved, the steps taken, and the worst violation (C,) of each constraint watched."""
        frames = sampled_frames(problem, level.rate, watched)
        # Right behind what is held the curves can hardly move yet: asking for much there would shake them.
        if level.spacing:
            frames = frames[(problem.times[frames] > self.hold + level.spacing) | (frames == frames[-1])]
        sample = Sample(problem=problem, bodies=bodies, frames=frames, only=watched)
        curves, whole = self._curves(problem, sample, level)
        descent = Descent(
            sample=sample,
            curves=curves,
            stiffness=level.stiffness,
            weights=ease,
            margin=self.margin,
            gain=level.gain,
            exact=not level.spacing,
        )
        keys, taken = descent.run(level.steps)
        moved = merged(bodies, sample, whole.values(keys))
        if not level.spacing:
            return moved, taken, np.zeros(len(watched))
        # Between the frames that a level looks at there may be more to do than at them.
        frames = sampled_frames(problem, CHECKED, watched)
        frames = frames[(problem.times[frames] > self.hold + level.spacing) | (frames == frames[-1])]
        check = Sample(problem=problem, bodies=moved, frames=frames, only=watched)
        off = violation(check.evaluate(np.zeros((len(frames), check.ensemble.num_coordinates))))
        return moved, taken, np.array([each.max(initial=0.0) for each in off])

    def _check_slower(self, problem: Problem) -> None:
        known = ["root", *(name for actor in problem.actors for name in actor.motion.skeleton.names)]
        for name, factor in (self.slower or {}).items():
            if name not in known:
                raise UnknownNameError(
                    f"`slower` names joint `{name}`, which no actor has; {nearest_names(name, known)}"
                )
            if not factor > 0.0:
                raise OptionError(f"`slower` takes factors above zero; got {factor} for `{name}`")

    def _curves(self, problem: Problem, sample: Sample, level: Level) -> tuple[Curves, Curves]:
        """The unknown curves at the frames looked at, and at all frames."""
        self._check_slower(problem)
        times = np.concatenate([_factors(body, self.slower or {}) for body in problem.bodies])
        factors, group_of = np.unique(times, return_inverse=True)
        groups = tuple(np.flatnonzero(group_of == i) for i in range(len(factors)))
        if self.knots and level.spacing:
            knots = [Knots(times=np.array(self.knots))] * len(factors)
        else:
            spacings = [level.spacing * factor for factor in factors if level.spacing]
            knots = [Knots.uniform(problem.times[-1], spacing) for spacing in spacings]
        at, everywhere = (
            Curves(
                bases=tuple(k.basis(t, self.hold) for k in knots) or (every_frame(t, self.hold),),
                groups=groups if knots else (np.arange(len(times)),),
                cost=problem.metric,
            )
            for t in (sample.times, problem.times)
        )
        return at, everywhere


def _factors(body: Body, slower: dict[str, float]) -> Array:
    """(d,) how many times further apart the keys of each of a body's coordinates are."""
    return np.array([slower.get(name.rpartition(".")[0], 1.0) for name in body.names])


def stiffened(level: Level) -> tuple[Level, ...]:
    """What follows a band-limited level that leaves too much to do: it looks closer, then is stiffer, then denser."""
    closer = replace(level, rate=2.0 * level.rate, gain=min(level.gain, 0.05))
    return (
        closer,
        replace(closer, stiffness=10.0 * level.stiffness),
        replace(closer, stiffness=100.0 * level.stiffness, spacing=0.5 * level.spacing),
    )


def allowed(problem: Problem, watched: tuple[int, ...], most: tuple[float, float]) -> Array:
    """(C,) metres or radians, from leg lengths and radians, for each constraint watched."""
    kinds = [problem.constraints[i].angular for i in watched]
    return np.where(kinds, most[1], most[0] * problem.leg)


def yielding(off: Array) -> Array:
    """(C,) how much each constraint weighs in the next try, from how far off (C,) it was in the last, 1 being broken.

    Weights that fall steeply with the violation make a few constraints give way and the rest hold; the least broken
    weighs most, and one that comes to hold gets its weight back.
    """
    eased = 1.0 / np.maximum(off, 1.0) ** 2
    return eased / eased.max(initial=1e-12)


SOLVER = Spacetime
