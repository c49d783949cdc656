"""Damped Gauss-Newton steps at one level of the spacetime solver, in the space of the constraints' forces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.constraints.base import Relation, Residuals
from understudy.solve.evaluation import Evaluation, ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.dual import BLOCK, Curves, Factored, Pattern, keys_of_forces, product

ROWS = 3.0
"""Residuals of a constraint on a point's place, against which others are counted."""


def stiffness(sample: ProblemAtFrames, rows: Sequence[Residuals] = ()) -> Array:
    """(C,) how heavily each constraint's squared residuals count [Lommers13, sec. 4.2].

    The artist's weight and priority; radians by the length of a leg, so that they weigh as the metres they move a
    foot; and the number of residuals, so that asking in more numbers is not asking for more. What a joint's turning
    matters is part of the problem's metric.
    """
    found = []
    for number, target in enumerate(sample.targets):
        constraint = target.constraint
        unit = sample.problem.leg if constraint.angular else 1.0
        count = rows[number].values.shape[1] if len(rows) else ROWS
        found.append(constraint.weight * 10.0**constraint.priority * unit**2 * ROWS / max(count, 1))
    return np.array(found)


def active_rows(evaluation: Evaluation, margin: float, held: np.ndarray | None = None) -> np.ndarray:
    """(T,) which residuals take part: all that must be zero; of the others those above -margin or held (T,) before."""
    near = ~evaluation.register.one_sided | (evaluation.values > -margin)
    return near if held is None else near | held


def worst_violation(evaluation: Evaluation) -> Array:
    """(C,) the worst violation of each constraint."""
    out, starts = np.zeros(len(evaluation.rows)), evaluation.register.starts
    if len(starts):
        np.maximum.at(out, evaluation.register.constraint[starts], np.maximum.reduceat(evaluation.off, starts))
    return out


def largest_residual(evaluation: Evaluation) -> Array:
    """(C,) the largest residual of each constraint; minus infinity for one that holds at none of the frames."""
    out, starts = np.full(len(evaluation.rows), -np.inf), evaluation.register.starts
    if len(starts):
        np.maximum.at(out, evaluation.register.constraint[starts], np.maximum.reduceat(evaluation.values, starts))
    return out


def within_tolerance(evaluation: Evaluation, equal: float, at_most: float) -> bool:
    """Whether every constraint is met within a share of its tolerance: one for equalities, and one for the others."""
    shares = {Relation.EQUAL: equal, Relation.AT_MOST: at_most}
    asked = [target.constraint for target in evaluation.sample.targets]
    most = np.array([shares[each.relation] * each.tolerance for each in asked])
    return bool(np.all(worst_violation(evaluation) <= most))


def penalty(evaluation: Evaluation, heavy: Array | None = None) -> float:
    """Half the sum of all squared violations, each as heavy (C,) as its constraint, by its own weight if not given."""
    heavy = stiffness(evaluation.sample, evaluation.rows) if heavy is None else heavy
    starts, off = evaluation.register.starts, evaluation.off
    which = evaluation.register.constraint[starts]
    return 0.5 * float(heavy[which] @ np.add.reduceat(off**2, starts)) if len(off) else 0.0


def sampled_frames(problem: Problem, rate: float, watched: Iterable[int] | None = None) -> np.ndarray:
    """The frames to look at: at that rate, and the first and last of every constraint watched (all if not given)."""
    wanted = np.zeros(len(problem.times), bool)
    wanted[:: max(round(problem.actors[0].motion.fps / rate), 1)] = True
    wanted[-1] = True
    for number in range(len(problem.constraints)) if watched is None else watched:
        held = problem.held[number]
        if problem.constraints[number].instants:
            wanted[held] = True
        else:
            wanted[held[0]] = wanted[held[-1]] = True
    return np.flatnonzero(wanted)


Term = tuple[np.ndarray, np.ndarray, Array]
"""Rows (B,), which (B,) of the coordinates of some points each takes, and what (B,) it is multiplied by."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualLayout:
    """Which residuals take part, in order of time."""

    sample: ProblemAtFrames
    laid: Evaluation
    """What was laid out."""
    active: np.ndarray
    """(T,) which of all residuals take part."""
    entries: np.ndarray
    """(A,) the place of each row among all residuals."""
    times: np.ndarray
    """(A,) position among the sample's frames, rising."""
    before: np.ndarray
    """(A,) the row one of its frames earlier, for linked residuals; -1 for others."""
    counts: np.ndarray
    """(A,) False for the first of a chain of linked residuals, which is only compared with."""

    @staticmethod
    def from_evaluation(evaluation: Evaluation, active: np.ndarray) -> ResidualLayout:
        """Lay out the residuals (T,) that take part."""
        register = evaluation.register
        chosen = np.flatnonzero(active)
        entries = chosen[np.argsort(register.time[chosen], kind="stable")]
        place = np.full(len(active) + 2, -1)
        place[entries] = np.arange(len(entries))
        before = register.before[entries]
        return ResidualLayout(
            sample=evaluation.sample, laid=evaluation, active=active, entries=entries, times=register.time[entries],
            before=place[before], counts=before != -2,
        )  # fmt: skip

    @cached
    def constraint(self) -> np.ndarray:
        """(A,) which constraint each row is of."""
        return self.laid.register.constraint[self.entries]

    @cached
    def at(self) -> np.ndarray:
        """(A,) at which of the constraint's own frames."""
        return self.laid.register.at[self.entries]

    @cached
    def row(self) -> np.ndarray:
        """(A,) which of its residuals there."""
        return self.laid.register.row[self.entries]

    @cached
    def taking_part(self) -> list[int]:
        """The constraints that take part."""
        return np.flatnonzero(np.bincount(self.constraint)).tolist()

    def values(self, evaluation: Evaluation) -> Array:
        """(A,) the rows' values."""
        return evaluation.values[self.entries]

    def jacobian(self, evaluation: Evaluation, out: Array | None = None) -> Array:
        """(A, D) derivatives of the rows by the coordinates at their own frame, put into `out` if that is given."""
        out = np.empty((len(self.times), evaluation.sample.ensemble.num_coordinates)) if out is None else out
        out[:] = 0.0
        constant = self._constant
        if constant.terms:
            for part, moves in evaluation.point_moves(constant.points):
                first, last = np.searchsorted(self.times, [part.start, part.stop])
                times = self.times[first:last] - part.start
                constant.add(out[first:last], moves.reshape(-1, out.shape[1]), times, first)
        for which in self.taking_part:
            if which not in constant.constraints:
                mine = np.flatnonzero(self.constraint == which)
                out[mine] = evaluation.jacobian(which, (self.at[mine], self.row[mine]))
        return out

    @cached
    def _constant(self) -> Constant:
        return Constant.of(self)

    @cached
    def compliance(self) -> Array:
        """(A,) how soft each row is against one of weight one."""
        return 1.0 / stiffness(self.sample, self.laid.rows)[self.constraint]

    @cached
    def one_sided(self) -> np.ndarray:
        """(A,) True for rows that only must not be above zero."""
        return self.laid.register.one_sided[self.entries]

    def idle(self, active: np.ndarray) -> np.ndarray:
        """(A,) the one-sided rows that are not among the residuals (T,) chosen."""
        return self.one_sided & ~active[self.entries]

    def listed(self, rows: np.ndarray) -> np.ndarray:
        """(T,) some of the rows (A,), among all residuals."""
        out = np.zeros(len(self.active), bool)
        out[self.entries[rows]] = True
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Constant:
    """The rows of constraints whose derivatives by points never change: sums of points' coordinates times numbers.

    They are put together for all such constraints at once, which most are.
    """

    constraints: frozenset[int]
    points: np.ndarray
    """(P,) the points that take part."""
    terms: tuple[Term, ...]
    """The first term of the rows' sums, the second and so on: the rows (B,) that have one, in order, which (B,) of the
    three coordinates of all points it is, and its factor (B,)."""

    @staticmethod
    def of(layout: ResidualLayout) -> Constant:
        """Those among the rows of a layout."""
        register, sample = layout.laid.register, layout.sample
        found = {which: sample.targets[which].constraint.constant() for which in layout.taking_part}
        known = {which: by for which, by in found.items() if by is not None}
        used = [sample.targets[which].points for which in known]
        points = np.unique(np.concatenate(used)) if used else np.zeros(0, dtype=np.intp)
        points = points[np.argsort(sample.places.bodies[points], kind="stable")]
        place = np.zeros(len(sample.places.bodies), dtype=np.intp)
        place[points] = np.arange(len(points))
        # First for each residual that there is, then for all its rows at once.
        flat = [by.reshape(len(by), -1) for by in known.values()]
        widths = np.array([by.shape[1] for by in flat], dtype=np.intp)
        factors = np.zeros((len(register.starts), widths.max(initial=0)))
        coordinates = np.full(factors.shape, -1)
        firsts = np.searchsorted(register.constraint[register.starts], list(known))
        for width in sorted(set(widths.tolist())):
            alike = np.flatnonzero(widths == width).tolist()
            counts = [len(flat[number]) for number in alike]
            mine = np.repeat(firsts[alike] - np.cumsum(counts) + counts, counts) + np.arange(sum(counts))
            own = 3 * place[np.array([used[number] for number in alike])][:, :, None] + np.arange(3)
            factors[mine, :width] = np.concatenate([flat[number] for number in alike])
            coordinates[mine, :width] = np.repeat(own.reshape(-1, width), counts, axis=0)
        own, column = np.nonzero(factors)
        coordinates, factors = coordinates[own, column], factors[own, column]
        number = np.arange(len(own)) - np.searchsorted(own, own)
        residual = np.repeat(np.arange(len(register.sizes)), register.sizes)[layout.entries]
        terms = []
        for which in range(int(number.max(initial=-1)) + 1):
            place = np.full(len(register.sizes), -1)
            place[own[number == which]] = np.flatnonzero(number == which)
            term = place[residual]
            rows = np.flatnonzero(term >= 0)
            terms.append((rows, coordinates[term[rows]], factors[term[rows]]))
        return Constant(constraints=frozenset(known), points=points, terms=tuple(terms))

    def add(self, out: Array, moves: Array, times: np.ndarray, first: int) -> None:
        """Add to derivatives (n, D) of some rows, from the first on, at times (n,): `moves` (N P 3, D) is how the
        points move at all times."""
        for rows, coordinate, factor in self.terms:
            start, stop = np.searchsorted(rows, [first, first + len(out)])
            mine = rows[start:stop] - first
            found = np.take(moves, times[mine] * (3 * len(self.points)) + coordinate[start:stop], axis=0)
            out[mine] += found * factor[start:stop, None]


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
class GaussNewton:
    """Damped steps at one level."""

    sample: ProblemAtFrames
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
                plan = StepPattern.of(now, active_rows(now, ahead, held), self.curves, self.heavy(now))
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

    @cached
    def _heavy(self) -> list[Array]:
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class StepPattern:
    """What stays from step to step while the same residuals take part."""

    layout: ResidualLayout
    pattern: Pattern
    compliance: Array
    """(A,) of each row."""

    @staticmethod
    def of(evaluation: Evaluation, active: np.ndarray, curves: Curves, heavy: Array) -> StepPattern:
        layout = ResidualLayout.from_evaluation(evaluation, active)
        pattern = Pattern(times=layout.times, before=layout.before, counts=layout.counts, curves=curves)
        return StepPattern(layout=layout, pattern=pattern, compliance=1.0 / heavy[layout.constraint])

    def covers(self, active: np.ndarray) -> bool:
        """Whether all these residuals take part; some more do no harm, they are left out of each step as needed."""
        return bool(np.all(self.layout.active | ~active))

    def linearize(self, evaluation: Evaluation, d: Array, active: np.ndarray) -> LinearizedStep:
        """The linear problem around an evaluation at coordinates d (N, D), with the residuals that take part now.

        One at a time: the next takes the place of the one before.
        """
        jacobian = self.layout.jacobian(
            evaluation, self.pattern.space.array("derivatives", len(self.layout.times), d.shape[1])
        )
        return LinearizedStep(
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
class LinearizedStep:
    """Residuals linearised around the current keys."""

    plan: StepPattern
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

    def around(self, evaluation: Evaluation, d: Array, active: np.ndarray) -> LinearizedStep:
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
