"""The whole-motion solver: damped Gauss-Newton steps in the space of the constraints' forces, in two levels.

The first level solves for a band-limited displacement, softly, so that everything that can be met by slow changes is.
The second, with a key at every frame, removes what is left, exactly. A step that does not lower the sum of change and
violation is damped until it does. Where constraints cannot all hold, the fewest give way: the first level is solved
again with the broken ones weighing less, and the second leaves them as they are, so that they never throw the rest of
the motion away.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.splines import Knots, every_frame
from understudy.constraints.base import Relation
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import ProgressCallback, Solution, Solver, make_solution
from understudy.solve.solvers.dual import Curves
from understudy.solve.solvers.newton import (
    AHEAD,
    CLOSE,
    GaussNewton,
    Keys,
    largest_residual,
    sampled_frames,
    worst_violation,
)

COARSE = 1e3
"""Stiffness of the band-limited levels: soft enough that they follow what moves, not the noise on top of it."""

STEPS = 12
"""Steps at most of the band-limited level."""

ROUGHLY = 0.15
"""Gain at which the first level hands over to the next, which finishes what is left."""

FINISH = 1e6
"""Stiffness of the last level, whose keys are the frames themselves: what is left is met to a thousandth."""


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


def levels(spacing: float = 4 / 30, fps: float = 120.0) -> tuple[Level, ...]:
    """A band-limited level at a spacing in seconds, then one with a key at every frame.

    The band-limited level carries the change of the motion: coarser ones before it only make feet swing wider than
    they need to [Gleicher98, fig. 7]. The last level removes what is left: fractions of a millimetre in clean
    motion, and in captured motion the shaking of planted feet.
    """
    return (
        Level(spacing=spacing, rate=min(1.0 / spacing, fps), stiffness=COARSE, steps=STEPS, gain=ROUGHLY),
        Level(spacing=0.0, rate=fps, stiffness=FINISH, steps=4),
    )


def closer(level: Level) -> Level:
    """A level that looks at twice as many frames."""
    return replace(level, rate=2.0 * level.rate, gain=min(level.gain, 0.05))


def stiffened(level: Level) -> tuple[Level, ...]:
    """What follows a band-limited level that leaves too much to do: it looks closer, then is stiffer, then denser."""
    near = closer(level)
    return (
        near,
        replace(near, stiffness=10.0 * level.stiffness),
        replace(near, stiffness=100.0 * level.stiffness, spacing=0.5 * level.spacing),
    )


FREED = 32 * 2**20 - 2**14
"""Bytes: about the largest block that glibc learns from."""


@cache
def keep_freed() -> None:
    """Let the C library keep what is freed, some tens of megabytes at most, instead of giving it back to the system.

    Getting it again, page by page, takes up to a tenth of a solve. glibc keeps twice the largest block that was ever
    freed; one that is never written to takes no memory itself. Other libraries do as they did.
    """
    np.empty(FREED, np.uint8)


CHECKED = 30.0
"""Frames a second at which what a level has reached, and constraints that are not watched, are looked at."""


def near_broken(problem: Problem, bodies: tuple[Body, ...], margin: float) -> tuple[int, ...]:
    """The constraints to watch: all equalities, and of the others those within a margin of being violated.

    Most one-sided constraints (joint limits, the floor under a hand) are never touched: leaving them out until they
    are changes nothing but the cost.
    """
    equal = [constraint.relation is Relation.EQUAL for constraint in problem.constraints]
    others = tuple(i for i, asked in enumerate(equal) if not asked)
    if not others:
        return tuple(range(len(equal)))
    some = ProblemAtFrames(problem=problem, bodies=bodies, frames=sampled_frames(problem, CHECKED, others), only=others)
    near = [rows.values.max(initial=-np.inf) > -margin for rows in some.measure().rows]
    away = {i for i, close in zip(others, near, strict=True) if not close}
    return tuple(i for i in range(len(equal)) if i not in away)


def newly_broken(
    problem: Problem, watched: tuple[int, ...], worst: Sequence[float] | Array, margin: float
) -> tuple[int, ...]:
    """The constraints not watched that are violated, by the worst violation (C,) of every constraint."""
    rest = set(range(len(worst))) - set(watched)
    return tuple(i for i in rest if worst[i] > max(margin, CLOSE * problem.constraints[i].tolerance))


RETRY = 4
"""Steps at most of each further try."""

YIELDS = 6
"""How often the band-limited level may be solved again with broken constraints weighing less."""

BROKEN = (0.035, 0.15)
"""Leg lengths, or radians, off after the band-limited level beyond which a constraint is broken, not unfinished."""

UNFINISHED = (0.015, 0.05)
"""Leg lengths, or radians, off beyond which stiffer band-limited levels go before the last, which is not to shake."""

SLIGHT = 0.005
"""Radians that a joint may be beyond a limit that no band-limited level looked at, for the last to turn it back."""

REACHING = 0.3
"""What a constraint that has just given way still weighs; further off it pulls as hard, not harder."""

REACHED = 0.005
"""Gain at which reaching for them ends: most of what is left of them cannot be gained."""

HOLDING = 0.5
"""Weight above which a constraint has not given way."""

ROUNDS = 4
"""How often one-sided constraints that turn out to be violated may be added."""


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Reached:
    """What a level has made of the motion."""

    bodies: tuple[Body, ...]
    keys: Keys
    seen: Array
    """(C,) the worst violation of each of the problem's constraints at the frames looked at; zero if it was not."""
    worst: Array
    """(C,) its worst violation between them too."""
    largest: Array
    """(C,) its largest residual: below zero, how far a one-sided constraint is from being violated."""
    evaluation: Evaluation | None = None
    """What a level that looks at every frame has measured in the end."""


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
    until: float = np.inf
    """Seconds from which on it stays as it starts; what precedes comes back to it smoothly."""
    iterations: int = 120
    """Steps after which constraints that cannot be met are not tried any further."""
    seconds: float = np.inf
    """Seconds after which they are not tried any further."""

    def move(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int]:
        bodies, steps, _ = self._moved(problem, watch)
        return bodies, steps

    def solve(self, problem: Problem, watch: ProgressCallback | None = None) -> Solution:
        began = time.perf_counter()
        bodies, steps, seen = self._moved(problem, watch or (lambda _text, _share: None))
        taken = time.perf_counter() - began
        return make_solution(problem, bodies, solver=self.name, steps=steps, seconds=taken, evaluation=seen)

    def _moved(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int, Evaluation | None]:
        """The bodies moved, the steps taken, and everything measured at every frame."""
        keep_freed()
        bodies, budget = problem.bodies, Budget(iterations=self.iterations, seconds=self.seconds)
        if not problem.constraints or len(problem.metric) == 0:
            return bodies, 0, None
        passes = self.levels or levels(self.spacing, problem.actors[0].motion.fps)
        watched = near_broken(problem, bodies, AHEAD * self.margin)
        for _ in range(ROUNDS):
            bodies, watched, last = self._solve(problem, bodies, watched, passes, watch, budget)
            if last is None:
                last = ProblemAtFrames(
                    problem=problem, bodies=bodies, frames=np.arange(len(problem.times)), only=()
                ).measure()
            seen = last.completed()
            broken = newly_broken(problem, watched, [off.max(initial=0.0) for off in seen.violation], self.margin)
            if not broken or budget.spent:
                break
            watched = tuple(sorted({*watched, *broken}))
        return bodies, budget.steps, seen

    def _solve(
        self,
        problem: Problem,
        bodies: tuple[Body, ...],
        watched: tuple[int, ...],
        passes: tuple[Level, ...],
        watch: ProgressCallback,
        budget: Budget,
    ) -> tuple[tuple[Body, ...], tuple[int, ...], Evaluation | None]:
        """All levels, with some of the constraints looked at: the bodies moved, what was looked at in the end, and what
        a level that looked at every frame has measured of it."""
        ease, last = np.ones(len(problem.constraints)), None
        for number, level in enumerate(passes):
            keys_are = f"every {1000 * level.spacing:.0f} ms" if level.spacing else "at every frame"
            watch(f"keys {keys_are}", number / len(passes))
            if level.spacing:
                bodies, watched, ease = self._band_limited(problem, bodies, watched, level, budget)
                last = None
            else:
                # What has to give way is not chased from frame to frame: it stays as the band-limited level left it.
                holding = tuple(i for i in watched if ease[i] > HOLDING)
                found = self._level(problem, bodies, holding, level, np.ones(len(ease)), budget)
                bodies, last = found.bodies, found.evaluation
        return bodies, watched, last

    def _band_limited(
        self, problem: Problem, start: tuple[Body, ...], watched: tuple[int, ...], level: Level, budget: Budget
    ) -> tuple[tuple[Body, ...], tuple[int, ...], Array]:
        """A band-limited level, solved as often as it takes: the bodies moved, the constraints looked at in the end,
        and which of all (C,) hold."""
        ease = np.ones(len(problem.constraints))
        broken, unfinished = (allowed(problem, most) for most in (BROKEN, UNFINISHED))
        begun: Reached | None = None
        for _ in range(YIELDS):
            found = self._level(problem, start, watched, level, ease, budget, begun)
            fresh = newly_broken(problem, watched, found.worst, self.margin)
            unseen = level.rate < CHECKED and np.any((found.worst > broken) & (found.seen <= broken))
            watched = tuple(sorted({*watched, *fresh}))
            pressing = [i for i in fresh if not problem.constraints[i].angular or found.worst[i] > SLIGHT]
            if (pressing or unseen) and not budget.spent:
                # What breaks only where the level did not look is looked at before anything gives way.
                begun, level = found, closer(level) if unseen else level
                continue
            eased = ease.copy()
            eased[list(watched)] = yielding((found.worst / broken)[list(watched)])
            if np.all(np.abs(eased - ease) <= 1e-8 + 0.1 * ease) or budget.spent:
                break
            ease, level, begun = eased, replace(level, steps=min(level.steps, RETRY)), None
        if np.any(ease < HOLDING):
            # Now that it is known what gives way, all of that is reached for alike, however far off it is.
            ease = np.where(ease < HOLDING, REACHING * broken / np.maximum(found.worst, broken), 1.0)
            reaching = replace(level, steps=STEPS, gain=REACHED)
            found = self._level(problem, start, watched, reaching, ease, budget, found)
        for more, stiffer in enumerate(stiffened(level)):
            left = (found.worst > unfinished) & (ease > HOLDING)
            if not left[list(watched)].any() or budget.spent:
                break
            # Looking closer begins anew: what was made of too few frames is no start.
            found = self._level(problem, found.bodies if more else start, watched, stiffer, ease, budget)
        # What is far from being violated need not be looked at in every frame.
        away = found.largest < -AHEAD * self.margin
        watched = tuple(i for i in watched if not (away[i] and problem.constraints[i].relation is Relation.AT_MOST))
        return found.bodies, watched, np.where(found.worst > broken, 0.0, 1.0)

    def _level(
        self,
        problem: Problem,
        bodies: tuple[Body, ...],
        watched: tuple[int, ...],
        level: Level,
        ease: Array,
        budget: Budget,
        begun: Reached | None = None,
    ) -> Reached:
        """One level, with constraints weighing less than usual (C,); `begun`: what the same level reached before."""
        frames = self._frames(problem, level, level.rate, watched)
        sample = ProblemAtFrames(problem=problem, bodies=bodies, frames=frames, only=watched)
        curves, whole = self._curves(problem, sample, level)
        descent = GaussNewton(
            sample=sample,
            curves=curves,
            stiffness=level.stiffness,
            weights=ease[list(watched)],
            margin=self.margin,
            gain=level.gain,
            exact=not level.spacing,
        )
        keys, now, taken = descent.run(level.steps, begun.keys if begun else None)
        budget.steps += taken
        seen = np.zeros(len(ease))
        seen[list(watched)] = worst_violation(now)
        if not level.spacing:
            return Reached(bodies=now.bodies(), keys=keys, seen=seen, worst=seen, largest=seen, evaluation=now)
        moved = displace_bodies(bodies, sample, whole.values(keys))
        # Between the frames that a level looks at there may be more to do than at them.
        frames = self._frames(problem, level, CHECKED, watched)
        check = ProblemAtFrames(problem=problem, bodies=moved, frames=frames).measure()
        worst, largest = worst_violation(check), largest_residual(check)
        return Reached(bodies=moved, keys=keys, seen=seen, worst=worst, largest=largest)

    def _frames(self, problem: Problem, level: Level, rate: float, watched: tuple[int, ...]) -> np.ndarray:
        """The frames that a level looks at, or is looked at by."""
        frames = sampled_frames(problem, rate, watched)
        if not level.spacing:
            return frames
        # Right behind what is held the curves can hardly move yet: asking for much there would shake them.
        return frames[(problem.times[frames] > self.hold + level.spacing) | (frames == frames[-1])]

    def _check_slower(self, problem: Problem) -> None:
        known = ["root", *(name for actor in problem.actors for name in actor.motion.skeleton.names)]
        for name, factor in (self.slower or {}).items():
            if name not in known:
                raise UnknownNameError(
                    f"`slower` names joint `{name}`, which no actor has; {nearest_names(name, known)}"
                )
            if not factor > 0.0:
                raise OptionError(f"`slower` takes factors above zero; got {factor} for `{name}`")

    def _curves(self, problem: Problem, sample: ProblemAtFrames, level: Level) -> tuple[Curves, Curves]:
        """The unknown curves at the frames looked at, and at all frames."""
        factors: Array = np.ones(1)
        groups: tuple[np.ndarray, ...] = (np.arange(len(problem.metric)),)
        if self.slower:
            self._check_slower(problem)
            times = np.concatenate([_factors(body, self.slower) for body in problem.bodies])
            factors, group_of = np.unique(times, return_inverse=True)
            groups = tuple(np.flatnonzero(group_of == i) for i in range(len(factors)))
        if self.knots and level.spacing:
            knots = [Knots(times=np.array(self.knots))] * len(factors)
        else:
            spacings = [level.spacing * factor for factor in factors if level.spacing]
            knots = [Knots.uniform(problem.times[-1], spacing) for spacing in spacings]
        bases = tuple(k.basis(problem.times, self.hold, self.until) for k in knots)
        whole = Curves(
            bases=bases or (every_frame(problem.times, self.hold, self.until),),
            groups=groups if knots else (np.arange(len(problem.metric)),),
            cost=problem.metric,
        )
        return whole.at(sample.frames), whole


def _factors(body: Body, slower: dict[str, float]) -> Array:
    """(d,) how many times further apart the keys of each of a body's coordinates are."""
    return np.array([slower.get(name.rpartition(".")[0], 1.0) for name in body.names])


def allowed(problem: Problem, most: tuple[float, float]) -> Array:
    """(C,) metres or radians, from leg lengths and radians, for each constraint."""
    kinds = [constraint.angular for constraint in problem.constraints]
    return np.where(kinds, most[1], most[0] * problem.leg)


def yielding(off: Array) -> Array:
    """(C,) how much each constraint weighs in the next try, from how far off (C,) it was in the last, 1 being broken.

    Weights that fall steeply with the violation make a few constraints give way and the rest hold; the least broken
    weighs most, and one that comes to hold gets its weight back.
    """
    eased = 1.0 / np.maximum(off, 1.0) ** 2
    return eased / eased.max(initial=1e-12)


SOLVER = Spacetime
