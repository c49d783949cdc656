"""The whole-motion solver: damped Gauss-Newton steps with the constraints' forces as unknowns, in three levels.

The first level solves for a band-limited displacement of the whole body with a low stiffness. It meets all that slow
changes can meet. The other two levels move limbs only, the first by dense keys and the second with a key at every
frame. They remove the remaining violation, and never move root or trunk, so that hips and head do not jump where a
contact begins or ends. A step that does not reduce the sum of change and violation is damped until it does. If not all
constraints can hold, as few as possible are broken: the first level is solved again with less weight on the broken
ones, and the other levels leave these out, so that they do not spoil the rest of the motion.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.base.splines import Basis, Knots, every_frame
from understudy.constraints.base import Relation
from understudy.figure.kinematics import fk
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import CHECK_RATE_HZ, ProgressCallback, Solution, Solver, make_solution
from understudy.solve.solvers.dual import Curves
from understudy.solve.solvers.limbs import LimbProblem, limb_coordinates, split_by_part
from understudy.solve.solvers.newton import (
    EQUALITY_SHARE,
    LAYOUT_MARGINS,
    GaussNewton,
    Keys,
    largest_residual,
    regular_frames,
    sampled_frames,
    worst_violation,
)
from understudy.solve.solvers.reach import lowered
from understudy.solve.steadiness import count_root_jumps, steadied, with_steady_heads

BAND_STIFFNESS, LIMB_STIFFNESS, FINAL_STIFFNESS = 1e3, 2e3, 1e6
"""The stiffness of the band-limited level, too low to follow the noise of the motion, that of the level that moves
limbs by dense keys, too low to swing a free foot wide of its way, and that of the last level. A planted foot then keeps
tenths of a millimetre of its shaking, which a straight leg would pass on to the knee, many times as large. What
tolerances do not allow is solved stiffer."""

LIMB_SMOOTHING_SECONDS, SMOOTHING_SECONDS = 0.1, 0.06
"""The time over which the level that moves limbs by dense keys spreads a change, and that of the last level: at changes
over this time, second differences cost as much as the keys themselves. Without the first, a limb swings wide of its way
beside a contact. With half of the second, knees have spikes where contacts begin; with 0.1 s, feet move too early."""

LIMBLESS_STIFFNESS = 5e6
"""The stiffness of the last level of a body without limbs, which moves as a whole at every frame."""

LIMB_SPACING, LIMB_RATE_HZ = 2 / 30, 60.0
"""Seconds between the keys of the level that moves limbs, and frames per second at which it evaluates constraints."""

MIN_DENSER_SPACING = 4 / 30
"""Seconds between keys of the whole body down to which constraints that limbs cannot reach make them denser."""

DENSE_REACH_KEYS = 2.0
"""Keys are denser from so many key spacings before an unmet constraint to so many after it: as far as a key acts."""

MAX_BAND_STEPS, MIN_BAND_GAIN = 12, 0.15
"""The largest number of steps of the band-limited level, and the relative gain below which a step is its last."""

WorkingSet = tuple[int, ...]
"""The indices of the constraints that are evaluated."""


@record(eq=True)
class Level:
    """One pass over the motion."""

    spacing: float
    """Seconds between keys; 0 for a key at every frame."""
    rate: float
    """Frames per second at which constraints are evaluated, besides the ends of their intervals."""
    stiffness: float
    """The weight of squared violation against the cost of the change."""
    steps: int
    """The largest number of steps."""
    gain: float = 0.02
    """The relative gain below which a step is the last."""
    limbs: bool = False
    """Whether only limbs move."""
    smoothing: float = 0.0
    """Seconds over which a change spreads to its neighbours: second differences of keys cost as much as the keys."""
    dense_spacing: float = 0.0
    """Seconds between keys within `dense_spans`, smaller than elsewhere."""
    dense_spans: tuple[tuple[float, float], ...] = ()
    """First and last seconds of the spans with denser keys."""

    @property
    def keys(self) -> str:
        """Where its keys are, in words."""
        words = f"every {1000 * self.spacing:.0f} ms" if self.spacing else "at every frame"
        if not self.dense_spans:
            return words
        spans = [f"{max(first, 0.0):.2f} to {last:.2f} s" for first, last in self.dense_spans]
        return f"{words}, and every {1000 * self.dense_spacing:.0f} ms from {_listed(spans)}"


def _listed(words: Sequence[str]) -> str:
    """Words as a list, the last after `and`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def levels(spacing: float = 4 / 30, fps: float = 120.0) -> tuple[Level, ...]:
    """A band-limited level at a spacing in seconds, one that moves limbs with denser keys, and one that moves limbs
    with a key at every frame.

    The first level makes nearly all of the change. Coarser levels before it would only make feet swing wider than they
    need to [Gleicher98, fig. 7]. The others remove the remaining violation: fractions of a millimetre in clean motion,
    the shaking of planted feet in captured motion.
    """
    rate, limb_rate = min(1.0 / spacing, fps), min(LIMB_RATE_HZ, fps)
    return (
        Level(spacing=spacing, rate=rate, stiffness=BAND_STIFFNESS, steps=MAX_BAND_STEPS, gain=MIN_BAND_GAIN),
        Level(
            spacing=min(spacing, LIMB_SPACING),
            rate=limb_rate,
            # Fewer frames weigh more each, so that the rate of the motion does not matter.
            stiffness=LIMB_STIFFNESS * LIMB_RATE_HZ / limb_rate,
            steps=2,
            gain=0.15,
            limbs=True,
            smoothing=LIMB_SMOOTHING_SECONDS,
        ),
        Level(spacing=0.0, rate=fps, stiffness=FINAL_STIFFNESS, steps=4, limbs=True, smoothing=SMOOTHING_SECONDS),
    )


def with_doubled_rate(level: Level) -> Level:
    """A level that evaluates constraints at twice as many frames."""
    return replace(level, rate=2.0 * level.rate, gain=min(level.gain, 0.05))


def stiffened(level: Level) -> tuple[Level, ...]:
    """The levels that follow a band-limited level with too large violations: more frames, then stiffer, then denser."""
    more_frames = with_doubled_rate(level)
    return (
        more_frames,
        replace(more_frames, stiffness=10.0 * level.stiffness),
        replace(more_frames, stiffness=100.0 * level.stiffness, spacing=0.5 * level.spacing),
    )


def remedies_of(passes: tuple[Level, ...]) -> list[tuple[Level, ...]]:
    """The levels to solve next, one tuple after the other, while limbs cannot meet a constraint.

    First the last level alone is stiffer. Then the body sinks where legs that miss their contacts are too short, and
    limbs are solved again. Then the whole body is solved again with more weight on what is unmet, first with wider
    keys, and each time the last level is stiffer afterwards. Root and trunk never get a key at every frame: what limbs
    cannot meet then is reported.
    """
    limbs = tuple(level for level in passes if level.limbs)
    if not limbs or passes[0].limbs:
        return []
    last = replace(limbs[-1], stiffness=STIFFER_FACTOR * limbs[-1].stiffness, steps=MAX_REMEDY_STEPS)
    longer = tuple(replace(level, steps=MAX_REMEDY_STEPS) for level in limbs)
    whole = with_doubled_rate(passes[0])
    # Wider keys let hips that a straight leg holds up sink as a whole, instead of following every frame.
    wide = replace(whole, spacing=2.0 * whole.spacing)
    return [(last,), longer, (wide, *longer), (last,), (whole, *longer), (last,)]


NUM_LIMB_REMEDIES = 2
"""The number of remedies, the first ones, that solve limbs alone."""


STIFFER_FACTOR, MAX_REMEDY_STEPS = 50.0, 3
"""Where the last level leaves a constraint unmet: the factor on its stiffness, and the largest number of its steps."""

URGENT_FACTOR = 10.0
"""The factor on the weight of a constraint that is still unmet, in the next stiffer level of the whole body."""

MAX_THRESHOLD_BYTES = 32 * 2**20 - 2**14
"""About the largest freed block from which glibc raises the threshold at which it returns memory to the system."""


@cache
def retain_freed_memory() -> None:
    """Let the C library retain some tens of megabytes of freed memory instead of returning it to the system.

    Mapping it again takes up to a tenth of a solve. glibc retains twice the size of the largest block that was ever
    freed. This block is never written to, so that it takes no memory. Other C libraries ignore it.
    """
    np.empty(MAX_THRESHOLD_BYTES, np.uint8)


def select_working_set(problem: Problem, bodies: tuple[Body, ...], margin: float) -> WorkingSet:
    """The constraints to evaluate: all equalities, and the one-sided constraints within a margin of a violation.

    Most one-sided constraints (joint limits, the floor under a hand) are never violated. Leaving them out until they
    are violated saves time and does not change the result.
    """
    is_equality = [constraint.relation is Relation.EQUAL for constraint in problem.constraints]
    one_sided = tuple(i for i, equal in enumerate(is_equality) if not equal)
    if not one_sided:
        return tuple(range(len(is_equality)))
    frames = sampled_frames(problem, CHECK_RATE_HZ, one_sided)
    sample = ProblemAtFrames(problem=problem, bodies=bodies, frames=frames, constraint_indices=one_sided)
    is_near = largest_residual(sample.measure()) > -margin
    distant = {i for i, near in zip(one_sided, is_near.tolist(), strict=True) if not near}
    return tuple(i for i in range(len(is_equality)) if i not in distant)


def newly_violated(
    problem: Problem, working_set: WorkingSet, worst: Sequence[float] | Array, margin: float
) -> WorkingSet:
    """The violated constraints outside the working set, from the worst violation (C,) of every constraint."""
    hard = {i for i, constraint in enumerate(problem.constraints) if not constraint.soft}
    others = hard - set(working_set)
    return tuple(i for i in others if worst[i] > max(margin, EQUALITY_SHARE * problem.constraints[i].tolerance))


MAX_RETRIES, MAX_RETRY_STEPS = 6, 4
"""The largest number of solves of the band-limited level with new weights, and of steps in each."""

BROKEN_LEGS, BROKEN_RADIANS = 0.035, 0.15
"""A constraint with a larger violation after the band-limited level is broken."""

UNFINISHED_LEGS, UNFINISHED_RADIANS = 0.015, 0.05
"""Stiffer band-limited levels follow a larger violation, so that the last level does not shake."""

VISIBLE_LEGS, VISIBLE_RADIANS = 0.01, 0.05
"""A viewer overlooks a smaller miss of a constraint sooner than a jump of the hips."""

MAX_CHANGE_PER_MISS, MIN_CHANGE_LEGS = 10.0, 0.02
"""A result that meets more is worth taking only if no joint is farther from where it was than so many times what was
missed, or than so many legs: a heel that was missed by 4 mm was once met by a foot that stood 15 cm away."""

SLIGHT_TOLERANCES = 1.5
"""A constraint that is missed by less than so many times its tolerance is slightly missed."""

MAX_LATE_LIMIT_RADIANS = 0.005
"""The largest violation of a joint limit outside the working set that is left to the last level."""

NO_LIMIT = 1e6
"""Metres or radians: the limit of a constraint that nothing breaks."""

MIN_HOLDING_WEIGHT, BROKEN_WEIGHT, MIN_BROKEN_GAIN = 0.5, 0.3, 0.005
"""A constraint with a smaller weight than the first is broken. One that is just broken gets the second weight; a larger
violation lowers it, so that the force stays the same. The third is the relative gain at which that solve ends."""

MAX_PULLED_FACTOR = 2.0
"""A constraint of full weight is broken only if its violation is more than so many times that of a broken one."""

MAX_ATTEMPTS = 8
"""The largest number of solves, each with the constraints added that the one before violates."""


@dataclass(kw_only=True)
class Budget:
    """The limits on steps and time, and the steps taken."""

    iterations: int
    seconds: float
    steps: int = 0
    start: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> bool:
        return self.steps >= self.iterations or time.perf_counter() - self.start >= self.seconds


@dataclass(eq=False)
class State:
    """Where a solve stands."""

    problem: Problem
    working_set: WorkingSet
    bodies: tuple[Body, ...] = ()
    whole_bodies: tuple[Body, ...] = ()
    """The bodies before the levels that move limbs only."""
    weights: Array | None = None
    """(C,) zero for broken constraints, one for others; None before the band-limited level."""
    soft: WorkingSet = ()
    """The soft constraints. Those of a priority below zero shape only the levels that move limbs."""
    urgency: Array = field(default_factory=lambda: np.ones(0))
    """(C,) the factor on the weight of each constraint in stiffer levels of the whole body: limbs cannot meet some."""
    evaluation: Evaluation | None = None
    """The evaluation of the last level if it had a key at every frame."""

    def __post_init__(self) -> None:
        self.urgency = np.ones(len(self.problem.constraints))
        self.bodies = self.whole_bodies = self.problem.bodies
        constraints = self.problem.constraints
        self.soft = tuple(i for i in self.working_set if constraints[i].soft)
        self.working_set = tuple(i for i in self.working_set if not constraints[i].soft or constraints[i].priority >= 0)

    @property
    def holding(self) -> WorkingSet:
        """The constraints of the working set that are not broken."""
        if self.weights is None:
            return tuple(i for i in self.working_set if i not in set(self.soft))
        return tuple(i for i in self.working_set if i not in set(self.soft) and self.weights[i] > MIN_HOLDING_WEIGHT)

    @property
    def unbroken(self) -> WorkingSet:
        """The constraints of the working set that are not broken, and those that are soft."""
        broken = set(self.broken)
        return tuple(i for i in self.working_set if i not in broken)

    @property
    def broken(self) -> WorkingSet:
        """The hard constraints of the working set that are broken."""
        holding = {*self.holding, *self.soft}
        return tuple(i for i in self.working_set if i not in holding)

    def with_all_weights(self) -> State:
        """The state after the levels of the whole body, with no constraint broken."""
        state = State(self.problem, tuple(sorted({*self.working_set, *self.soft})))
        state.bodies = state.whole_bodies = self.whole_bodies
        state.weights = np.ones(len(self.problem.constraints))
        return state

    def evaluated(self) -> Evaluation:
        """The evaluation of all constraints at every frame."""
        if self.evaluation is None:
            frames = np.arange(len(self.problem.times))
            sample = ProblemAtFrames(problem=self.problem, bodies=self.bodies, frames=frames, constraint_indices=())
            self.evaluation = sample.measure()
        return self.evaluation.completed()


@record
class Attempt:
    """A solved motion and the hard constraints that it does not meet."""

    bodies: tuple[Body, ...]
    evaluation: Evaluation | None = None
    """The evaluation of all constraints at every frame."""
    worst: Array = field(default_factory=lambda: np.zeros(0))
    """(C,) the worst violation of each constraint."""
    unmet: frozenset[int] = frozenset()
    excess: float = np.inf
    """The sum of all violations beyond their tolerances, in tolerances."""


@record
class Trial:
    """Levels to solve, and remedies for what limbs then cannot meet."""

    solver: Spacetime
    state: State
    passes: tuple[Level, ...]
    remedies: tuple[tuple[Level, ...], ...] = ()
    goes_on: bool = False
    """Whether it goes on from the best result so far; else it starts anew and must be worth its result."""
    keeps_met: bool = False
    """Whether its result is taken only if it meets all that the best result so far meets."""

    @property
    def denser(self) -> str:
        """In words, the keys of the whole body that are denser around unmet constraints; empty if none are."""
        return self.passes[0].keys if self.passes[0].dense_spans else ""


@dataclass(eq=False, kw_only=True)
class Search:
    """What was tried to meet the constraints, and the best result."""

    best: Attempt
    budget: Budget
    taken: Trial | None = None
    """The trial of the best result."""
    tried: list[Trial] = field(default_factory=list)

    def remark(self) -> str:
        """A sentence on denser keys around constraints that even keys leave unmet; empty if none were needed."""
        if self.taken is not None and self.taken.denser:
            meet = (
                "and some constraints are still unmet" if self.best.unmet else "where even keys leave constraints unmet"
            )
            return f"Keys of the whole body are {self.taken.denser}, {meet}."
        denser = [trial.denser for trial in self.tried if trial.denser]
        return f"Denser keys of the whole body were tried and meet no more: {'; '.join(denser)}." if denser else ""


@record
class LevelResult:
    """The result of a level."""

    bodies: tuple[Body, ...]
    keys: Keys
    sampled_worst: Array
    """(C,) the worst violation of each constraint at the frames of the level; zero outside the working set."""
    worst: Array
    """(C,) the worst violation of each constraint between these frames too."""
    largest: Array
    """(C,) the largest residual of each constraint; negative if a one-sided constraint is not violated."""
    evaluation: Evaluation | None = None
    """The final evaluation of a level with a key at every frame."""


@record(eq=True)
class Spacetime(Solver):
    """The default solver."""

    name: ClassVar[str] = "spacetime"

    spacing: float = 4 / 30
    """Seconds between the keys of the band-limited level: it limits the frequency of the change."""
    levels: tuple[Level, ...] | None = None
    """Levels, coarse to fine, in place of those for the spacing."""
    margin: float = 1e-4
    """Metres or radians: one-sided residuals above minus this margin are active."""
    slower: dict[str, float] | None = None
    """By joint name, a factor on the key spacing of the joint at every level."""
    trunk_spacing: float | None = None
    """Seconds between the keys of root and trunk in the band-limited level; `spacing` if not given."""

    knots: tuple[float, ...] = ()
    """Seconds: the knots of the band-limited curves, in place of even spacing."""
    hold: float = -np.inf
    """Seconds up to which the motion keeps its start; the change sets in smoothly after it."""
    until: float = np.inf
    """Seconds from which on the motion keeps its start; the change fades out smoothly before it."""
    iterations: int = 120
    """Steps after which no further attempt is made to meet constraints."""
    seconds: float = np.inf
    """Seconds after which no further attempt is made to meet constraints."""

    def move(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int]:
        search = self._run(problem, watch)
        return search.best.bodies, search.budget.steps

    def solve(self, problem: Problem, watch: ProgressCallback | None = None) -> Solution:
        start = time.perf_counter()
        search = self._run(problem, watch or (lambda _text, _share: None))
        return make_solution(
            problem,
            search.best.bodies,
            solver=self.name,
            steps=search.budget.steps,
            seconds=time.perf_counter() - start,
            evaluation=search.best.evaluation,
            keys=search.remark(),
        )

    def _run(self, problem: Problem, watch: ProgressCallback) -> Search:
        """The search for the motion that meets most: one trial after the other, until every constraint is met."""
        retain_freed_memory()
        budget = Budget(iterations=self.iterations, seconds=self.seconds)
        search = Search(best=Attempt(bodies=problem.bodies), budget=budget)
        if not problem.constraints or len(problem.metric) == 0:
            return search
        problem = steadied(problem, self.hold, self.until)
        passes = self.levels or levels(self.spacing, problem.actors[0].motion.fps)
        if not limb_coordinates(problem).any() or problem.times[-1] < 2.0 * min(passes[0].spacing, MIN_DENSER_SPACING):
            # A body without limbs, such as a can, is moved as a whole at every frame, and so is any body in a motion of
            # a few frames, which has no frequencies to keep.
            last = replace(passes[-1], stiffness=LIMBLESS_STIFFNESS, limbs=False, smoothing=0.0)
            passes = (*(level for level in passes if not level.limbs), *((last,) if passes[-1].limbs else ()))
        for trial in self._trials(problem, passes, search):
            before = search.best if trial.goes_on else None
            result = trial.solver._solve_levels(trial.state, trial.passes, trial.remedies, budget, watch, before)
            search.tried.append(trial)
            if search.taken is None or trial.goes_on or self._is_taken(problem, trial, result, search.best):
                search.best, search.taken = result, trial
            if not search.best.unmet or budget.spent:
                break
        return search

    def _trials(self, problem: Problem, passes: tuple[Level, ...], search: Search) -> Iterator[Trial]:
        """What to solve, one after the other, while constraints are unmet; a trial may depend on the results before."""
        working_set = select_working_set(problem, problem.bodies, LAYOUT_MARGINS * self.margin)
        remedies = remedies_of(passes)
        of_limbs, of_whole = tuple(remedies[:NUM_LIMB_REMEDIES]), tuple(remedies[NUM_LIMB_REMEDIES:])
        first = Trial(solver=self, state=State(problem, working_set), passes=passes, remedies=of_limbs)
        yield first
        # What is slightly missed is not worth the same effort.
        is_slight = self._is_slight(problem, search.best)
        if not is_slight and of_whole:
            yield replace(first, passes=of_whole[0], remedies=of_whole[1:], goes_on=True)
        if self.trunk_spacing:
            # What a slow trunk cannot meet may hold with a faster one.
            some = of_limbs if is_slight else (*of_limbs, *of_whole)
            faster = replace(self, trunk_spacing=None)
            yield Trial(solver=faster, state=State(problem, working_set), passes=passes, remedies=some)
        if is_slight and of_whole:
            few = [(replace(one, steps=min(one.steps, MAX_RETRY_STEPS)), *limbs) for one, *limbs in of_whole]
            yield replace(search.taken or first, passes=few[0], remedies=tuple(few[1:]), goes_on=True)
        limbs = tuple(level for level in passes if level.limbs)
        if not limbs or passes[0].limbs:
            return
        state = (search.taken or first).state
        if state.broken:
            whole = state.with_all_weights()
            yield Trial(solver=self, state=whole, passes=limbs, remedies=tuple(remedies_of(limbs)), keeps_met=True)
        # What a wide band cannot meet may hold with denser keys around it [Gleicher98, sec. 3.6, step 5].
        spacing, least = 0.5 * passes[0].spacing, LIMB_SPACING if state.broken else MIN_DENSER_SPACING
        while spacing >= least:
            spans = unmet_spans(problem, search.best, DENSE_REACH_KEYS * passes[0].spacing)
            rate = min(1.0 / spacing, problem.actors[0].motion.fps)
            denser = (replace(passes[0], rate=rate, dense_spacing=spacing, dense_spans=spans), *limbs)
            again = State(problem, working_set)
            yield Trial(solver=self, state=again, passes=denser, remedies=tuple(remedies_of(denser)), keeps_met=True)
            spacing *= 0.5

    def _is_taken(self, problem: Problem, trial: Trial, result: Attempt, best: Attempt) -> bool:
        """Whether the result of a trial that starts anew replaces the best one: it meets more, and is worth it."""
        meets_more = result.unmet < best.unmet if trial.keeps_met else len(result.unmet) < len(best.unmet)
        return meets_more and self._is_worth(problem, result, best)

    @staticmethod
    def _is_slight(problem: Problem, attempt: Attempt) -> bool:
        """Whether all that an attempt misses yields and is missed by little."""
        constraints = problem.constraints
        return all(
            constraints[i].yields and attempt.worst[i] <= SLIGHT_TOLERANCES * constraints[i].tolerance
            for i in attempt.unmet
        )

    @staticmethod
    def _is_better(problem: Problem, result: Attempt, best: Attempt) -> bool:
        """Whether a result misses less than another one, and is worth what it moves.

        Where the other one only misses what yields, and the result does not meet everything either, no joint of a body
        with limbs may be far from where it was for a small miss.
        """
        constraints = problem.constraints
        if result.excess >= best.excess:
            return False
        has_limbs = bool(limb_coordinates(problem).any())
        must_move = any(not constraints[i].yields for i in best.unmet)
        if not (best.evaluation and has_limbs and result.unmet) or must_move:
            return True
        metres = [best.worst[i] * (problem.leg if constraints[i].angular else 1.0) for i in best.unmet]
        allowed = max(MAX_CHANGE_PER_MISS * max(metres, default=0.0), MIN_CHANGE_LEGS * problem.leg)
        return bool(largest_distance(result.bodies, best.bodies) <= allowed)

    @classmethod
    def _is_worth(cls, problem: Problem, result: Attempt, best: Attempt) -> bool:
        """Whether a result with denser keys may replace another one, which misses more: its root does not jump more
        often, or the other one misses a constraint that does not yield, or by more than a viewer overlooks."""
        if not cls._is_better(problem, result, best):
            return False
        limits = violation_limits(problem, VISIBLE_LEGS, VISIBLE_RADIANS)
        matters = any(best.worst[i] > limits[i] or not problem.constraints[i].yields for i in best.unmet)
        return matters or count_root_jumps(problem, result.bodies) <= count_root_jumps(problem, best.bodies)

    def _solve_levels(
        self,
        state: State,
        passes: tuple[Level, ...],
        remedies: Sequence[tuple[Level, ...]],
        budget: Budget,
        watch: ProgressCallback,
        best: Attempt | None = None,
    ) -> Attempt:
        """Solve levels, then remedies while limbs cannot meet a constraint: the best of these and of one before."""
        problem, further = state.problem, iter(remedies)
        state.bodies = state.whole_bodies
        limbs = tuple(level for level in passes if level.limbs)
        tolerance = np.array([constraint.tolerance for constraint in problem.constraints])
        is_hard = np.array([not constraint.soft for constraint in problem.constraints])
        best = best or Attempt(bodies=state.bodies)
        for attempt in range(MAX_ATTEMPTS):
            for number, level in enumerate(passes):
                watch(f"keys {level.keys}", number / len(passes) if attempt == 0 else 1.0 - 0.1 / attempt)
                self._solve_one(state, level, budget)
            evaluation = state.evaluated()
            worst = np.array([violation.max(initial=0.0) for violation in evaluation.violation])
            violated = newly_violated(problem, state.working_set, worst, self.margin)
            excess = float(sum(max(worst[i] / tolerance[i] - 1.0, 0.0) for i in {*state.holding, *violated}))
            all_unmet = frozenset(np.flatnonzero(is_hard & (worst > tolerance)).tolist())
            result = Attempt(bodies=state.bodies, evaluation=evaluation, worst=worst, unmet=all_unmet, excess=excess)
            if self._is_better(problem, result, best):
                best = result
            unmet = [i for i in state.holding if worst[i] > tolerance[i]]
            remedy = next(further, None) if unmet else None
            start = state.whole_bodies
            if remedy and remedy[0].limbs and remedy[0].spacing:
                start = lowered(problem, start, state.holding, self.hold, self.until, unmet)
                if all(map(operator.is_, start, state.whole_bodies)):
                    remedy = next(further, None)
            state.urgency[unmet] *= URGENT_FACTOR
            if budget.spent or not (violated or remedy):
                break
            state.working_set = tuple(sorted({*state.working_set, *violated}))
            passes = remedy or limbs or passes
            if not remedy or remedy[0].spacing:
                state.bodies = start
        return best

    def _solve_one(self, state: State, level: Level, budget: Budget) -> None:
        """Solve one level and note its result in the state of the solve."""
        problem = state.problem
        state.evaluation = None
        if level.limbs:
            state.bodies = self.solve_limbs(problem, state.bodies, (*state.holding, *state.soft), level, budget)
            if level.spacing:
                state.working_set = self._extend(problem, state.bodies, state.working_set)
        elif level.spacing and state.weights is None:
            state.bodies, state.working_set, state.weights = self._solve_band_limited(
                problem, state.bodies, state.working_set, level, budget
            )
            state.whole_bodies = state.bodies
        else:
            # Broken constraints are left out: they stay as the band-limited level left them.
            result = self._solve_level(problem, state.bodies, state.unbroken, level, state.urgency, budget)
            state.bodies, state.whole_bodies, state.evaluation = result.bodies, result.bodies, result.evaluation
        if level.spacing and not level.limbs:
            steady = with_steady_heads(problem, state.bodies, self.hold, self.until)
            state.bodies = state.whole_bodies = lowered(problem, steady, state.holding, self.hold, self.until)

    def solve_limbs(
        self,
        problem: Problem,
        bodies: tuple[Body, ...],
        constraints: WorkingSet,
        level: Level,
        budget: Budget | None = None,
    ) -> tuple[Body, ...]:
        """Solve a level that moves limbs only: the solved bodies. Root and trunk move before it, for the constraints
        that no limb can meet."""
        budget = budget or Budget(iterations=self.iterations, seconds=self.seconds)
        for part, indices in enumerate(split_by_part(problem, constraints)):
            if not indices:
                continue
            limb = LimbProblem.of(problem, bodies, indices, final=not level.spacing, trunk=part == 0)
            if not len(limb.problem.metric):
                continue
            everything = tuple(range(len(limb.problem.constraints)))
            result = self._solve_level(
                limb.problem, limb.problem.bodies, everything, level, np.ones(len(everything)), budget, limb.groups
            )
            bodies = limb.whole_bodies(bodies, result.bodies)
        return bodies

    def _extend(self, problem: Problem, bodies: tuple[Body, ...], working_set: WorkingSet) -> WorkingSet:
        """The working set with the one-sided constraints that are violated now."""
        one_sided = [constraint.relation is Relation.AT_MOST for constraint in problem.constraints]
        others = tuple(i for i in range(len(one_sided)) if one_sided[i] and i not in set(working_set))
        if not others:
            return working_set
        frames = sampled_frames(problem, CHECK_RATE_HZ, others)
        sample = ProblemAtFrames(problem=problem, bodies=bodies, frames=frames, constraint_indices=others)
        near = largest_residual(sample.measure()) > -self.margin
        return tuple(sorted({*working_set, *(i for i, is_near in zip(others, near, strict=True) if is_near)}))

    def _solve_band_limited(
        self, problem: Problem, start: tuple[Body, ...], working_set: WorkingSet, level: Level, budget: Budget
    ) -> tuple[tuple[Body, ...], WorkingSet, Array]:
        """Solve a band-limited level as often as needed: the solved bodies, the final working set, and (C,) zero for
        broken constraints, one for others."""
        weights = np.ones(len(problem.constraints))
        broken, unfinished = broken_limits(problem), unfinished_limits(problem)
        late = violation_limits(problem, 0.0, MAX_LATE_LIMIT_RADIANS)
        warm_start: LevelResult | None = None
        known: dict[tuple[Level, WorkingSet, bytes], tuple[LevelResult, int]] = {}
        for _ in range(MAX_RETRIES):
            # Weights that lower a violation often let it come back: the same problem is solved only once.
            key, steps = (level, working_set, weights.tobytes()), budget.steps
            if warm_start is None and key in known:
                result, steps_taken = known[key]
                budget.steps += steps_taken
            else:
                result = self._solve_level(problem, start, working_set, level, weights, budget, warm_start=warm_start)
            if warm_start is None:
                known[key] = result, budget.steps - steps
            violated = newly_violated(problem, working_set, result.worst, self.margin)
            working_set = tuple(sorted({*working_set, *violated}))
            is_coarse = level.rate < CHECK_RATE_HZ and np.any(
                (result.worst > broken) & (result.sampled_worst <= broken)
            )
            is_urgent = any(result.worst[i] > late[i] for i in violated)
            if (is_urgent or is_coarse) and not budget.spent:
                # Constraints that break only between the frames of the level are evaluated before any weight falls.
                warm_start, level = result, with_doubled_rate(level) if is_coarse else level
                continue
            new_weights = weights.copy()
            new_weights[list(working_set)] = reduced_weights((result.worst / broken)[list(working_set)])
            if np.all(np.abs(new_weights - weights) <= 1e-8 + 0.1 * weights) or budget.spent:
                break
            weights, level, warm_start = new_weights, replace(level, steps=min(level.steps, MAX_RETRY_STEPS)), None
        if np.any(weights < MIN_HOLDING_WEIGHT):
            # All broken constraints now pull with the same force, whatever their violation.
            equal_force = BROKEN_WEIGHT * broken / np.maximum(result.worst, broken)
            weights = np.where(weights < MIN_HOLDING_WEIGHT, equal_force, 1.0)
            longer = replace(level, steps=MAX_BAND_STEPS, gain=MIN_BROKEN_GAIN)
            result = self._solve_level(problem, start, working_set, longer, weights, budget, warm_start=result)
        for number, stiffer in enumerate(stiffened(level)):
            # More stiffness or denser keys say nothing of a violation between the frames that a level evaluates, such
            # as a captured toe that twitches beyond its limit: the levels that look at every frame turn it back.
            seen = result.sampled_worst if number else result.worst
            is_unfinished = (seen > unfinished) & (weights > MIN_HOLDING_WEIGHT)
            if not is_unfinished[list(working_set)].any() or budget.spent:
                break
            # The level with more frames starts anew: the result for too few frames is a bad start.
            result = self._solve_level(
                problem, result.bodies if number else start, working_set, stiffer, weights, budget
            )
        # One-sided constraints far from a violation are not evaluated at every frame.
        distant = result.largest < -LAYOUT_MARGINS * self.margin
        distant &= [constraint.relation is Relation.AT_MOST for constraint in problem.constraints]
        working_set = tuple(i for i in working_set if not distant[i])
        # A constraint that was to hold may be off because a broken one pulls: limbs hold it without that one.
        is_broken = result.worst > np.where(weights < MIN_HOLDING_WEIGHT, 1.0, MAX_PULLED_FACTOR) * broken
        return result.bodies, working_set, np.where(is_broken, 0.0, 1.0)

    def _solve_level(
        self,
        problem: Problem,
        bodies: tuple[Body, ...],
        working_set: WorkingSet,
        level: Level,
        weights: Array,
        budget: Budget,
        groups: tuple[np.ndarray, ...] | None = None,
        warm_start: LevelResult | None = None,
    ) -> LevelResult:
        """Solve one level, with factors (C,) on the weights of constraints, from the keys of an earlier result.

        `groups` of coordinates that no constraint couples are solved apart where that is cheaper.
        """
        frames = self._frames(problem, level, level.rate, working_set)
        shared = regular_frames(problem, level.rate) if level.spacing else None
        sample = ProblemAtFrames(
            problem=problem, bodies=bodies, frames=frames, constraint_indices=working_set, shared_frames=shared
        )
        all_curves = self.curves(problem, level, groups)
        curves = all_curves.at(sample.frames)
        descent = GaussNewton(
            sample=sample,
            curves=curves,
            stiffness=level.stiffness,
            weights=weights[list(working_set)],
            margin=self.margin,
            gain=level.gain,
            exact=not level.spacing,
        )
        keys, evaluation, steps = descent.run(level.steps, warm_start.keys if warm_start else None)
        budget.steps += steps
        worst = np.zeros(len(weights))
        worst[list(working_set)] = worst_violation(evaluation)
        if not level.spacing:
            bodies = evaluation.displaced_bodies()
            return LevelResult(
                bodies=bodies, keys=keys, sampled_worst=worst, worst=worst, largest=worst, evaluation=evaluation
            )
        moved = displace_bodies(bodies, sample, all_curves.values(keys))
        if level.limbs:
            return LevelResult(bodies=moved, keys=keys, sampled_worst=worst, worst=worst, largest=worst)
        # Violations between the frames of the level may be larger than at them.
        frames = self._frames(problem, level, CHECK_RATE_HZ, working_set)
        check = ProblemAtFrames(problem=problem, bodies=moved, frames=frames).measure()
        final, largest = worst_violation(check), largest_residual(check)
        return LevelResult(bodies=moved, keys=keys, sampled_worst=worst, worst=final, largest=largest)

    def _frames(self, problem: Problem, level: Level, rate: float, working_set: WorkingSet) -> np.ndarray:
        """The frames at which a level is evaluated, at a rate per second."""
        frames = sampled_frames(problem, rate, working_set)
        if not level.spacing:
            return frames
        # Just after `hold` the curves can hardly move. Constraints on these frames would make the motion shake.
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

    def curves(
        self,
        problem: Problem,
        level: Level,
        groups: tuple[np.ndarray, ...] | None = None,
    ) -> Curves:
        """The unknown curves of a level at all frames of the problem."""
        roughness = (level.smoothing / (level.spacing or 1.0 / problem.actors[0].motion.fps)) ** 4
        groups = groups if groups and (level.spacing or roughness) else (np.arange(len(problem.metric)),)
        factors: Array = np.ones(len(groups))
        if level.spacing and not level.limbs:
            factors, group_of_coordinate = np.unique(self._spacing_factors(problem, level.spacing), return_inverse=True)
            groups = tuple(np.flatnonzero(group_of_coordinate == i) for i in range(len(factors)))
        bases = {factor: self._basis(problem, level, factor) for factor in set(factors.tolist())}
        of_groups = tuple(bases[factor] for factor in factors.tolist())
        return Curves(bases=of_groups, groups=groups, cost=problem.metric, roughness=roughness)

    def _spacing_factors(self, problem: Problem, spacing: float) -> Array:
        """(D,) the factor on the key spacing of each coordinate in a band-limited level with a spacing in seconds."""
        is_limb = limb_coordinates(problem)
        factors = np.ones(len(is_limb))
        if self.trunk_spacing is not None and is_limb.any():
            if not (np.isfinite(self.trunk_spacing) and self.trunk_spacing > 0.0):
                raise OptionError(f"Expected a `trunk_spacing` above zero seconds, got {self.trunk_spacing}")
            # Denser levels have denser keys of the trunk too.
            widest = max(self.trunk_spacing / self.spacing, 1.0)
            factors[~is_limb] = np.clip(self.trunk_spacing / spacing, 1.0, widest)
        if self.slower:
            self._check_slower(problem)
            factors *= np.concatenate([_slower_factors(body, self.slower) for body in problem.bodies])
        return factors

    def _basis(self, problem: Problem, level: Level, factor: float) -> Basis:
        """The basis of the curves of a level at the frames of a problem, with a factor on the spacing of the keys."""
        if not level.spacing:
            return every_frame(problem.times, self.hold, self.until)
        times = problem.key_times
        begin = float(times[problem.first])
        if self.knots and not level.limbs:
            knots = Knots(times=np.array(self.knots))
        else:
            knots = Knots.uniform(float(times[-1]), level.spacing * factor)
        if level.dense_spans:
            spans = tuple((first + begin, last + begin) for first, last in level.dense_spans)
            knots = knots.denser(spans, level.dense_spacing * factor)
        basis = knots.basis(times, self.hold + begin, self.until + begin)
        return basis if problem.whole is None else basis.within(problem.first, len(problem.times))


def _slower_factors(body: Body, slower: dict[str, float]) -> Array:
    """(d,) the factor on the key spacing of each coordinate of a body, by the names of its joints."""
    return np.array([slower.get(name.rpartition(".")[0], 1.0) for name in body.names])


def broken_limits(problem: Problem) -> Array:
    """(C,) metres or radians: the violation beyond which each constraint is broken."""
    return band_limits(problem, BROKEN_LEGS, BROKEN_RADIANS)


def unfinished_limits(problem: Problem) -> Array:
    """(C,) metres or radians: the violation beyond which stiffer band-limited levels follow."""
    return band_limits(problem, UNFINISHED_LEGS, UNFINISHED_RADIANS)


def violation_limits(problem: Problem, legs: float, radians: float) -> Array:
    """(C,) metres or radians: the limit of each constraint, from a limit in leg lengths and one in radians."""
    limits = np.where([constraint.angular for constraint in problem.constraints], radians, legs * problem.leg)
    return np.where([constraint.soft for constraint in problem.constraints], NO_LIMIT, limits)


def band_limits(problem: Problem, legs: float, radians: float) -> Array:
    """(C,) the same for the band-limited level, which no joint limit breaks: a joint that passes its limit for some
    frames is turned back by the levels that look at every frame."""
    return violation_limits(problem, legs, radians)


def largest_distance(bodies: Sequence[Body], others: Sequence[Body]) -> float:
    """Metres: the largest distance of a joint from where it is in other motions of the same bodies."""
    pairs = zip(bodies, others, strict=True)
    return max(float(np.linalg.norm(fk(a.motion).positions - fk(b.motion).positions, axis=-1).max()) for a, b in pairs)


def unmet_spans(problem: Problem, attempt: Attempt, reach: float) -> tuple[tuple[float, float], ...]:
    """First and last seconds of the times at which an attempt does not meet a constraint, and so many seconds before
    and after; joined where they overlap."""
    assert attempt.evaluation is not None
    missed = np.zeros(len(problem.times), bool)
    for i in attempt.unmet:
        over = attempt.evaluation.violation[i].max(axis=1, initial=0.0) > problem.constraints[i].tolerance
        missed[problem.constraint_frames[i][over]] = True
    spans: list[tuple[float, float]] = []
    for time_missed in problem.times[missed].tolist():
        first, last = time_missed - reach, time_missed + reach
        if spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
    return tuple(spans)


def reduced_weights(violation: Array) -> Array:
    """(C,) the weight of each constraint in the next solve, from its violation (C,) divided by that of a broken one.

    The weight falls steeply with the violation, so that few constraints are broken and the others hold. The least
    violated constraint has the largest weight. A constraint that holds again gets its full weight back.
    """
    weights = 1.0 / np.maximum(violation, 1.0) ** 2
    return weights / weights.max(initial=1e-12)


SOLVER = Spacetime
