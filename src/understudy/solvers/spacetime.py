"""The whole-motion solver: damped Gauss-Newton steps in the space of the constraints' forces, in two levels.

The first level solves for a band-limited displacement, softly, so that everything that can be met by slow changes is.
The second, with a key at every frame, removes what is left, exactly. A step that does not lower the sum of change and
violation is damped until it does. Where constraints cannot all hold, the fewest give way: the first level is solved
again with the broken ones weighing less, and the second leaves them as they are, so that they never throw the rest of
the motion away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from understudy.constraints.base import Relation
from understudy.coordinates import Body
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.problem import Evaluation, Problem, Sample, merged
from understudy.solvers.base import Solver, Watch
from understudy.solvers.dual import Curves, Pattern, keys_of_forces, solve_forces
from understudy.solvers.rows import Active, Layout, active_rows, penalty, stiffness, violation, within_tolerance
from understudy.splines import Knots, every_frame

Keys = tuple[Array, ...]
"""The unknowns: for each group of coordinates (K, d) keys."""


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


COARSE = 1e3
"""Stiffness of the band-limited levels: soft enough that they follow what moves, not the noise on top of it."""
RETRY = 4
"""Steps at most of each further try."""
YIELDS = 6
"""How often the band-limited level may be solved again with broken constraints weighing less."""
BROKEN = 0.03
"""Metres or radians off after the band-limited level beyond which a constraint counts as broken, not as unfinished."""
UNFINISHED = 0.008
"""Metres or radians off beyond which stiffer band-limited levels go before the last: it is not to shake the motion."""
HOLDING = 0.5
"""Weight above which a constraint has not given way."""
TOUCH = 0.1
"""Metres or radians that a step of the last level changes a key by at most: it touches up, it does not move."""
LARGEST = 0.7
"""Metres or radians that a step changes a key by at most."""
GAIN = 0.05
"""Share of what is left below which a step is the last of its level."""
CHECKED = 30.0
"""Frames a second at which what a level has reached, and constraints that are not watched, are looked at."""
CLOSE_BY = 0.02
"""Metres or radians below zero from which on a constraint that is not watched is looked at in every frame."""
ROUNDS = 4
"""How often one-sided constraints that turn out to be violated may be added."""
AHEAD = 200.0
"""Residuals are laid out from this many margins below zero, so that few steps need a new layout."""
CLOSE = 0.1
"""Share of each constraint's tolerance within which the last level stops."""
FINISH = 1e6
"""Stiffness of the last level, whose keys are the frames themselves: what is left is met to a thousandth."""


def levels(spacing: float = 4 / 30, fps: float = 120.0) -> tuple[Level, ...]:
    """A band-limited level at a spacing in seconds, then one with a key at every frame.

    The band-limited level carries the change of the motion: coarser ones before it only make feet swing wider than
    they need to [Gleicher98, fig. 7]. The last level removes what is left: fractions of a millimetre in clean
    motion, and in captured motion the shaking of planted feet.
    """
    return (
        Level(spacing=spacing, rate=min(1.0 / spacing, fps), stiffness=COARSE, steps=12),
        Level(spacing=0.0, rate=fps, stiffness=FINISH, steps=4),
    )


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

    hold: float = -np.inf
    """Seconds up to which the motion stays as it starts; what follows leaves it smoothly."""

    def move(self, problem: Problem, watch: Watch) -> tuple[tuple[Body, ...], int]:
        bodies, steps = problem.bodies, 0
        if not problem.constraints or len(problem.metric) == 0:
            return bodies, 0
        passes = self.levels or levels(self.spacing, problem.actors[0].motion.fps)
        watched = near_broken(problem, bodies, (), AHEAD * self.margin)
        for _ in range(ROUNDS):
            bodies, taken = self._solve(problem, bodies, watched, passes, watch)
            steps += taken
            broken = near_broken(problem, bodies, watched, self.margin)
            if not broken:
                break
            watched = tuple(sorted({*watched, *broken}))
        return bodies, steps

    def _solve(
        self,
        problem: Problem,
        bodies: tuple[Body, ...],
        watched: tuple[int, ...],
        passes: tuple[Level, ...],
        watch: Watch,
    ) -> tuple[tuple[Body, ...], int]:
        """All levels, with some of the constraints looked at."""
        steps, ease = 0, np.ones(len(watched))
        for number, level in enumerate(passes):
            keys_are = f"every {1000 * level.spacing:.0f} ms" if level.spacing else "at every frame"
            watch(f"keys {keys_are}", number / len(passes))
            if not level.spacing:
                # What has to give way is not chased from frame to frame: it stays as the band-limited level left it.
                holding = tuple(i for i, weight in zip(watched, ease, strict=True) if weight > HOLDING)
                bodies, taken, _ = self._level(problem, bodies, holding, level, np.ones(len(holding)))
                steps += taken
                continue
            start = bodies
            for _ in range(YIELDS):
                bodies, taken, worst = self._level(problem, start, watched, level, ease)
                steps += taken
                eased = yielding(worst, BROKEN)
                if np.allclose(eased, ease, rtol=0.1):
                    break
                ease, level = eased, replace(level, steps=min(level.steps, RETRY))
            for more, stiffer in enumerate(stiffened(level)):
                if not np.any(worst[ease > HOLDING] > UNFINISHED):
                    break
                # Looking closer begins anew: what was made of too few frames is no start.
                bodies, taken, worst = self._level(problem, bodies if more else start, watched, stiffer, ease)
                steps += taken
            ease = np.where(worst > BROKEN, 0.0, 1.0)
        return bodies, steps

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

    def _curves(self, problem: Problem, sample: Sample, level: Level) -> tuple[Curves, Curves]:
        """The unknown curves at the frames looked at, and at all frames."""
        times = np.concatenate([_factors(body, self.slower or {}) for body in problem.bodies])
        factors, group_of = np.unique(times, return_inverse=True)
        groups = tuple(np.flatnonzero(group_of == i) for i in range(len(factors)))
        knots = [Knots.uniform(problem.times[-1], level.spacing * factor) for factor in factors if level.spacing > 0.0]
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
    unknown = set(slower) - set(body.skeleton.names) - {"root"}
    if unknown or any(not factor > 0.0 for factor in slower.values()):
        raise OptionError(f"`slower` takes joints and factors above zero; got {slower}")
    return np.array([slower.get(name.rpartition(".")[0], 1.0) for name in body.names])


def stiffened(level: Level) -> tuple[Level, ...]:
    """What follows a band-limited level that leaves too much to do: it looks closer, then is stiffer, then denser."""
    closer = replace(level, rate=max(4.0 * level.rate, CHECKED))
    return (
        closer,
        replace(closer, stiffness=10.0 * level.stiffness),
        replace(closer, stiffness=100.0 * level.stiffness, spacing=0.5 * level.spacing),
    )


def yielding(worst: Array, broken: float) -> Array:
    """(C,) how much each constraint weighs in the next try, from how far (C,) each was off in the last.

    Weights that fall steeply with the violation make a few constraints give way and the rest hold; the least broken
    weighs most, and one that comes to hold gets its weight back.

    Args:
        worst: (C,) metres or radians.
        broken: Metres or radians off beyond which a constraint counts as broken.
    """
    eased = (broken / np.maximum(worst, broken)) ** 2
    return eased / eased.max(initial=1e-12)


def sampled_frames(problem: Problem, rate: float, watched: Iterable[int] | None = None) -> np.ndarray:
    """The frames to look at: at that rate, and the first and last of every constraint watched (all if not given)."""
    times = problem.times
    step = max(round(problem.actors[0].motion.fps / rate), 1)
    wanted = [np.arange(0, len(times), step), np.array([len(times) - 1])]
    for number in range(len(problem.constraints)) if watched is None else watched:
        constraint = problem.constraints[number]
        held = constraint.frames(times)
        wanted.append(held if constraint.instants else held[[0, -1]])
    return np.unique(np.concatenate(wanted)).astype(np.intp)


def near_broken(problem: Problem, bodies: tuple[Body, ...], watched: tuple[int, ...], margin: float) -> tuple[int, ...]:
    """The constraints not yet watched that have to be: all equalities, and of the others those that are violated.

    To begin with, while none is watched, those within the margin of being violated are taken too.

    Most one-sided constraints (joint limits, the floor under a hand) are never touched: leaving them out until they
    are changes nothing but the cost.
    """
    rest = tuple(i for i in range(len(problem.constraints)) if i not in set(watched))
    equal = {i for i in rest if problem.constraints[i].relation is Relation.EQUAL}
    others = tuple(i for i in rest if i not in equal)
    if not others:
        return tuple(sorted(equal))
    room = -margin if not watched else margin
    near = most_violated(problem, bodies, others, sampled_frames(problem, CHECKED, others))
    close = tuple(i for i, worst in zip(others, near, strict=True) if worst > min(room, -CLOSE_BY))
    if watched and close:
        near = most_violated(problem, bodies, close, np.arange(len(problem.times)))
    else:
        near = near[[others.index(i) for i in close]]
    for number, worst in zip(close, near, strict=True):
        if worst > (room if not watched else max(room, CLOSE * problem.constraints[number].tolerance)):
            equal.add(number)
    return tuple(sorted(equal))


def most_violated(problem: Problem, bodies: tuple[Body, ...], only: tuple[int, ...], frames: np.ndarray) -> Array:
    """(C,) the largest residual of each of some constraints at some frames."""
    some = Sample(problem=problem, bodies=bodies, frames=frames, only=only)
    evaluation = some.evaluate(np.zeros((len(frames), some.ensemble.num_coordinates)))
    return np.array([rows.values.max(initial=-np.inf) for rows in evaluation.rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class Descent:
    """Damped steps at one level."""

    sample: Sample
    curves: Curves
    stiffness: float
    weights: Array
    """(C,) what is left of each constraint's own weight."""
    margin: float
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
                plan = Plan.of(now, active_rows(now, AHEAD * self.margin, held), self.curves, self.heavy)
            if len(plan.layout.times) == 0:
                return keys, number
            linear = plan.linearize(now, self.curves.values(keys), active)
            for _ in range(self.tries):
                forces, trial = linear.step(keys, damping)
                trial = shortened(keys, trial, TOUCH if self.exact else LARGEST)
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
            if gain < GAIN or (self.exact and within_tolerance(now, CLOSE)):
                return keys, number + 1
        return keys, steps

    def merit(self, evaluation: Evaluation, keys: Keys) -> float:
        """What a step must lower: violation and change."""
        return penalty(evaluation, self.heavy) + 0.5 * self.curves.size(keys)

    @cached_property
    def heavy(self) -> Array:
        """(C,) how heavily each constraint's squared residuals count."""
        return self.stiffness * self.weights * stiffness(self.sample)


def shortened(old: Keys, new: Keys, most: float) -> Keys:
    """New keys, each changed by so much at most: a linear step of a larger size would mean little."""
    return tuple(a + np.clip(b - a, -most, most) for a, b in zip(old, new, strict=True))


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


SOLVER = Spacetime
