"""Damped Gauss-Newton steps at one level of the spacetime solver, with the constraints' forces as unknowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.constraints.base import Relation, Residuals, relative_weights
from understudy.solve.evaluation import Evaluation, ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.residuals import Term
from understudy.solve.solvers.dual import (
    BLOCK_FLOATS,
    Curves,
    FactoredKeys,
    FactoredMatrix,
    Pattern,
    band_product,
    keys_of_forces,
)

REFERENCE_NUM_ROWS = 3.0
"""The number of residual rows at which a constraint's weight is not scaled: that of a constraint on a position."""


def constraint_weights(sample: ProblemAtFrames, rows: Sequence[Residuals] = ()) -> Array:
    """(C,) the weight of each constraint's squared residuals [Lommers13, sec. 4.2].

    It combines the user's weight and priority. Radians are multiplied by the leg length, so that they weigh as much as
    the metres that they move a foot. A division by the number of rows makes the weight independent of that number.
    """
    weights, relative = [], relative_weights([target.constraint for target in sample.targets])
    for number, target in enumerate(sample.targets):
        constraint = target.constraint
        unit = sample.problem.leg if constraint.angular else 1.0
        count = rows[number].values.shape[1] if len(rows) else REFERENCE_NUM_ROWS
        weights.append(relative[number] * unit**2 * REFERENCE_NUM_ROWS / max(count, 1))
    return np.array(weights)


def active_rows(evaluation: Evaluation, margin: float, always: np.ndarray | None = None) -> np.ndarray:
    """(T,) the active residuals: all equalities, the one-sided residuals above -margin, and those of `always` (T,)."""
    active = ~evaluation.residual_index.one_sided | (evaluation.values > -margin)
    return active if always is None else active | always


def worst_violation(evaluation: Evaluation) -> Array:
    """(C,) the worst violation of each constraint."""
    return _max_by_constraint(evaluation, evaluation.flat_violation, 0.0)


def largest_residual(evaluation: Evaluation) -> Array:
    """(C,) the largest residual of each constraint; minus infinity for one that holds at none of the frames."""
    return _max_by_constraint(evaluation, evaluation.values, -np.inf)


def _max_by_constraint(evaluation: Evaluation, values: Array, initial: float) -> Array:
    """(C,) the largest of the values (T,) of each constraint, at least `initial`."""
    out, index = np.full(len(evaluation.sample.targets), initial), evaluation.residual_index
    if len(index.starts):
        np.maximum.at(out, index.constraint[index.starts], np.maximum.reduceat(values, index.starts))
    return out


def within_tolerance(evaluation: Evaluation, equal: float, at_most: float) -> bool:
    """Whether every constraint is met within a share of its tolerance: `equal` for equalities, else `at_most`."""
    shares = {Relation.EQUAL: equal, Relation.AT_MOST: at_most}
    constraints = [target.constraint for target in evaluation.sample.targets]
    limits = np.array([shares[constraint.relation] * constraint.tolerance for constraint in constraints])
    return bool(np.all(worst_violation(evaluation) <= limits))


def penalty(evaluation: Evaluation, weights: Array | None = None) -> float:
    """Half the sum of all squared violations, weighted by constraint (C,) and by frame; by `constraint_weights` if no
    weights are given."""
    weights = constraint_weights(evaluation.sample, evaluation.rows) if weights is None else weights
    index, violation, by_frame = evaluation.residual_index, evaluation.flat_violation, evaluation.weights
    if not len(violation):
        return 0.0
    if index.same_as_previous.any() and evaluation.sample.frame_weights is not None:
        # The place of a linked row that costs least is the weighted mean.
        sums = (np.add.reduceat(part, index.starts) for part in (by_frame * evaluation.values, by_frame))
        means = np.repeat(np.divide(*sums), index.sizes)
        is_linked = np.repeat(index.same_as_previous, index.sizes)
        violation = np.where(is_linked, evaluation.values - means, violation)
    squares = np.add.reduceat(by_frame * violation**2, index.starts)
    return 0.5 * float(weights[index.constraint[index.starts]] @ squares)


def sampled_frames(problem: Problem, rate: float, constraints: Iterable[int] | None = None) -> np.ndarray:
    """The frames at which to evaluate: `rate` a second, and the first and last frame of constraints (all if None)."""
    sampled = np.zeros(len(problem.times), bool)
    sampled[regular_frames(problem, rate)] = True
    for number in range(len(problem.constraints)) if constraints is None else constraints:
        sampled[problem.constraints[number].ends(problem.constraint_frames[number])] = True
    return np.flatnonzero(sampled)


def regular_frames(problem: Problem, rate: float) -> np.ndarray:
    """The first and last frame, and `rate` frames a second between them."""
    step, last = max(round(problem.actors[0].motion.fps / rate), 1), len(problem.times) - 1
    return np.append(np.arange(0, last, step), last)


@record
class ResidualLayout:
    """The active residuals as rows, sorted by time."""

    sample: ProblemAtFrames
    evaluation: Evaluation
    """The evaluation whose residuals are laid out."""
    active: np.ndarray
    """(T,) True for the residuals that are rows."""
    entries: np.ndarray
    """(A,) the index of each row among all residuals."""
    times: np.ndarray
    """(A,) the index of the frame of each row among the sample's frames, rising."""
    previous: np.ndarray
    """(A,) the row of a linked residual at the previous frame of its constraint; -1 for others."""
    is_residual: np.ndarray
    """(A,) False for the first row of a chain of linked residuals, which only serves as the previous row."""

    @staticmethod
    def from_evaluation(evaluation: Evaluation, active: np.ndarray) -> ResidualLayout:
        """Lay out the active residuals (T,)."""
        index = evaluation.residual_index
        selected = np.flatnonzero(active)
        entries = selected[np.argsort(index.time[selected], kind="stable")]
        row_of_entry = np.full(len(active) + 2, -1)
        row_of_entry[entries] = np.arange(len(entries))
        previous = index.previous[entries]
        return ResidualLayout(
            sample=evaluation.sample, evaluation=evaluation, active=active, entries=entries, times=index.time[entries],
            previous=row_of_entry[previous], is_residual=previous != -2,
        )  # fmt: skip

    @cached
    def constraint(self) -> np.ndarray:
        """(A,) the constraint of each row."""
        return self.evaluation.residual_index.constraint[self.entries]

    @cached
    def at(self) -> np.ndarray:
        """(A,) the index of each row's frame among the frames of its constraint."""
        return self.evaluation.residual_index.at[self.entries]

    @cached
    def row(self) -> np.ndarray:
        """(A,) the residual row of its constraint."""
        return self.evaluation.residual_index.row[self.entries]

    @cached
    def constraints(self) -> list[int]:
        """The constraints that have rows."""
        return np.flatnonzero(np.bincount(self.constraint)).tolist()

    def values(self, evaluation: Evaluation) -> Array:
        """(A,) the values of the rows."""
        return evaluation.values[self.entries]

    def jacobian(self, evaluation: Evaluation, out: Array | None = None) -> Array:
        """(A, D) derivatives of the rows by the coordinates at their frame, written into `out` if it is given."""
        if out is None:
            out = np.empty((len(self.times), evaluation.sample.bodies_at_frames.num_coordinates))
        out[:] = 0.0
        constant = self._constant
        if constant.terms:
            for block, derivatives in evaluation.point_jacobian_blocks(constant.points):
                first, last = np.searchsorted(self.times, [block.start, block.stop])
                times = self.times[first:last] - block.start
                constant.add(out[first:last], derivatives.reshape(-1, out.shape[1]), times, first)
        for number in self.constraints:
            if number in self.sample.point_sums.others:
                rows = np.flatnonzero(self.constraint == number)
                out[rows] = evaluation.jacobian(number, (self.at[rows], self.row[rows]))
        return out

    @cached
    def _constant(self) -> ConstantRows:
        return ConstantRows.of(self)

    @cached
    def compliance(self) -> Array:
        """(A,) the compliance of each row: the inverse of its constraint's weight."""
        return 1.0 / constraint_weights(self.sample, self.evaluation.rows)[self.constraint]

    @cached
    def one_sided(self) -> np.ndarray:
        """(A,) True for rows that must be at most zero."""
        return self.evaluation.residual_index.one_sided[self.entries]

    def inactive(self, active: np.ndarray) -> np.ndarray:
        """(A,) the one-sided rows that are not among the active residuals (T,)."""
        return self.one_sided & ~active[self.entries]

    def residual_mask(self, rows: np.ndarray) -> np.ndarray:
        """(T,) True for the residuals of some rows (A,)."""
        out = np.zeros(len(self.active), bool)
        out[self.entries[rows]] = True
        return out


@record
class ConstantRows:
    """The rows that are sums of point coordinates: their derivatives are computed for all of them at once."""

    points: np.ndarray
    """(P,) the points that they read, sorted by body."""
    terms: tuple[Term, ...]
    """The first terms of the sums, then the second, and so on, with indices among the 3 P coordinates of the points."""

    @staticmethod
    def of(layout: ResidualLayout) -> ConstantRows:
        """The rows of a layout that are such sums."""
        sample = layout.sample
        terms = sample.point_sums.terms_of(layout.evaluation.residual_index.line[layout.entries])
        bodies, is_used = sample.body_points.bodies, np.zeros(sample.point_sums.num_points, bool)
        for _, coordinate, _ in terms:
            is_used[coordinate // 3] = True
        points = np.flatnonzero(is_used)
        points = points[np.argsort(bodies[points], kind="stable")]
        first = np.zeros(len(is_used), dtype=np.intp)
        first[points] = 3 * np.arange(len(points))
        return ConstantRows(points=points, terms=tuple((rows, first[at // 3] + at % 3, by) for rows, at, by in terms))

    def add(self, out: Array, point_derivatives: Array, times: np.ndarray, first: int) -> None:
        """Add derivatives (n, D) of rows at times (n,), from the row `first` on, to `out`.

        The derivatives of the points at all times are (N P 3, D).
        """
        for term_rows, coordinate, factor in self.terms:
            start, stop = np.searchsorted(term_rows, [first, first + len(out)])
            rows = term_rows[start:stop] - first
            index = times[rows] * (3 * len(self.points)) + coordinate[start:stop]
            out[rows] += np.take(point_derivatives, index, axis=0) * factor[start:stop, None]


Keys = tuple[Array, ...]
"""The unknowns: keys (K, d) for each group of coordinates."""

MAX_STEP_LEGS, MAX_FINAL_STEP_LEGS = 0.7, 0.1
"""Leg lengths or radians: the largest change of a key in a step, and in a step of the last level."""

LAYOUT_MARGINS, FINAL_LAYOUT_MARGINS = 200.0, 50.0
"""One-sided residuals are laid out from this many margins below zero, so that few steps need a new layout. The second
value is for the last level, whose steps are small."""

MIN_REUSE_GAIN = 0.9
"""The relative gain of a step of the last level from which on the next step reuses its derivatives."""

MAX_ACTIVE_SET_CHANGES, MAX_ADDING_CHANGES, MAX_KEY_CHANGES, MAX_LATE_KEY_CHANGES = 8, 3, 6, 4
"""The largest number of changes of the active set in a step, of those that may add residuals, and of those of a step by
the normal equations, in the first step of a level and in later ones. With too few of them a step ends with one-sided
residuals that pull, and a foot in the air is drawn to the floor."""

NEGLIGIBLE_PULL = 0.02
"""The share of the largest force below which one-sided residuals may pull, where a change needs a factorisation."""

EQUALITY_SHARE, ONE_SIDED_SHARE = 0.1, 0.5
"""No level begins, and a level with a key at every frame stops, if the violations of equalities and of one-sided
constraints are within these shares of their tolerances. Equalities would shake with a larger share."""

SMOOTH_EQUALITY_SHARE, SMOOTH_ONE_SIDED_SHARE = 0.4, 0.8
"""The same for the end of a level whose changes are smooth, which does not shake."""


FAR_GAIN = 0.9
"""A step that gained little is not the last while the next is predicted to gain more than this: where a limb has far to
turn, steps are limited at first. A level that ended there left a hand half a metre off, and it was given up."""


@record
class GaussNewton:
    """Damped Gauss-Newton steps at one level."""

    sample: ProblemAtFrames
    curves: Curves
    stiffness: float
    weights: Array
    """(C,) a factor on the weight of each constraint."""
    margin: float
    gain: float
    """The relative gain below which a step is the last."""
    exact: bool = False
    """Whether this is the last level, which stops as soon as every constraint is well within its tolerance."""
    max_dampings: int = 6
    """The largest number of dampings that a step tries."""

    def run(self, steps: int, keys: Keys | None = None) -> tuple[Keys, Evaluation, int]:
        """Take at most `steps` steps from some keys, or from zero: the keys, their evaluation, and the steps taken."""
        if keys is None:
            keys = tuple(np.zeros((b.num_keys, len(g))) for b, g in zip(self.curves.bases, self.curves.groups))
            displacement = np.zeros((len(self.sample.frames), len(self.curves.cost)))
        else:
            displacement = self.curves.values(keys)
        evaluation = self.sample.measure(displacement)
        if self.curves.roughness and evaluation.residual_index.same_as_previous.any():
            # The normal equations of the keys have no unknown places.
            return replace(self, curves=replace(self.curves, roughness=0.0)).run(steps)
        if within_tolerance(evaluation, EQUALITY_SHARE, ONE_SIDED_SHARE):
            return keys, evaluation, 0
        enough = EQUALITY_SHARE, ONE_SIDED_SHARE
        if self.curves.roughness:
            enough = SMOOTH_EQUALITY_SHARE, SMOOTH_ONE_SIDED_SHARE
        merit, damping, pushing, pattern, linear = self.merit(evaluation, keys), 0.0, None, None, None
        for number in range(steps):
            active = active_rows(evaluation, self.margin, pushing)
            if pattern is None or not pattern.covers(active):
                margin = (FINAL_LAYOUT_MARGINS if self.exact else LAYOUT_MARGINS) * self.margin
                candidates = active_rows(evaluation, margin, pushing)
                pattern = StepPattern.of(evaluation, candidates, self.curves, self.total_weights(evaluation))
                linear = None
            if len(pattern.layout.times) == 0:
                return keys, evaluation, number
            reused = linear is not None
            linear = (linear.updated if linear else pattern.linearize)(evaluation, displacement, active)
            for _ in range(1 if reused else self.max_dampings):
                # Only a small step predicts well which residuals it violates.
                forces, trial = linear.step(keys, damping, self.margin if self.exact else np.inf, first=number == 0)
                trial = self._limited(keys, trial)
                trial_displacement = self.curves.values(trial)
                trial_evaluation = self.sample.measure(trial_displacement)
                trial_merit = self.merit(trial_evaluation, trial)
                if trial_merit <= merit:
                    break
                damping = max(10.0 * damping, 10.0)
            else:
                if not reused:
                    return keys, evaluation, number
                damping, linear = 0.0, None
                continue
            gain = (merit - trial_merit) / max(merit, 1e-30)
            # The linear problem predicts an upper limit of the gain of the next step.
            next_gain = np.inf if damping else (trial_merit - linear.merit(forces)) / max(trial_merit, 1e-30)
            keys, displacement, evaluation, merit = trial, trial_displacement, trial_evaluation, trial_merit
            damping = 0.0 if damping <= 10.0 else 0.1 * damping
            pushing = pattern.layout.residual_mask(pattern.layout.one_sided & (forces > 0.0))
            if not (self.exact and gain > MIN_REUSE_GAIN and damping == 0.0):
                linear = None
            # The last level must finish: it ends early only if both the last gain and the predicted gain are small.
            is_far = FAR_GAIN < next_gain < np.inf
            expected = max(gain, next_gain) if self.exact or is_far else min(gain, next_gain)
            if expected < self.gain or (self.exact and within_tolerance(evaluation, *enough)):
                return keys, evaluation, number + 1
        return keys, evaluation, steps

    def _limited(self, old: Keys, new: Keys) -> Keys:
        """New keys whose changes are limited; a linear step is inexact beyond the limit."""
        limit = (MAX_FINAL_STEP_LEGS if self.exact else MAX_STEP_LEGS) * self.sample.problem.units
        groups = zip(old, new, self.curves.groups, strict=True)
        return tuple(a + np.maximum(np.minimum(b - a, limit[group]), -limit[group]) for a, b, group in groups)

    def merit(self, evaluation: Evaluation, keys: Keys) -> float:
        """The merit function, which every step must reduce: the weighted violation plus the cost of the change."""
        return penalty(evaluation, self.total_weights(evaluation)) + 0.5 * self.curves.change_cost(keys)

    def total_weights(self, evaluation: Evaluation) -> Array:
        """(C,) the weight of each constraint's squared residuals; the same for every evaluation of the sample."""
        if not self._weight_cache:
            self._weight_cache.append(self.stiffness * self.weights * constraint_weights(self.sample, evaluation.rows))
        return self._weight_cache[0]

    @cached
    def _weight_cache(self) -> list[Array]:
        return []


@record
class StepPattern:
    """The parts of the linear problem that stay the same from step to step while the rows are the same."""

    layout: ResidualLayout
    pattern: Pattern
    compliance: Array
    """(A,) the compliance of each row."""

    @staticmethod
    def of(evaluation: Evaluation, active: np.ndarray, curves: Curves, weights: Array) -> StepPattern:
        layout = ResidualLayout.from_evaluation(evaluation, active)
        pattern = Pattern(times=layout.times, previous=layout.previous, is_residual=layout.is_residual, curves=curves)
        by_row = weights[layout.constraint] * evaluation.weights[layout.entries]
        return StepPattern(layout=layout, pattern=pattern, compliance=1.0 / by_row)

    def covers(self, active: np.ndarray) -> bool:
        """Whether all active residuals (T,) have rows. Surplus rows are excluded from each step as needed."""
        return bool(np.all(self.layout.active | ~active))

    def linearize(self, evaluation: Evaluation, displacement: Array, active: np.ndarray) -> LinearizedStep:
        """The linear problem at a displacement (N, D), with the active residuals (T,).

        The next call overwrites its arrays.
        """
        shape = len(self.layout.times), displacement.shape[1]
        jacobian = self.layout.jacobian(evaluation, self.pattern.workspace.array("jacobian", *shape))
        return LinearizedStep(
            step_pattern=self,
            jacobian=jacobian,
            band=None if self.pattern.prefers_keys else self.pattern.band(jacobian),
            values=self.pattern.residuals(self.layout.values(evaluation)),
            linear_part=self.linear_part(jacobian, displacement),
            inactive=self.layout.inactive(active),
        )

    def linear_part(self, jacobian: Array, displacement: Array) -> Array:
        """(A,) the Jacobian times a displacement (N, D)."""
        if not displacement.any():
            return np.zeros(len(jacobian))
        out, size = np.empty(len(jacobian)), max(BLOCK_FLOATS // jacobian.shape[1], 1)
        for start in range(0, len(out), size):
            block = slice(start, start + size)
            out[block] = np.einsum("ad,ad->a", jacobian[block], displacement[self.layout.times[block]])
        return self.pattern.residuals(out)


@record
class LinearizedStep:
    """The residuals, linearised at the current keys."""

    step_pattern: StepPattern
    jacobian: Array
    band: Array | None
    """The band of the matrix of the forces; None if the normal equations of the keys are cheaper."""
    values: Array
    """(A,) the residuals at the current keys."""
    linear_part: Array
    """(A,) the Jacobian times the current displacement."""
    inactive: np.ndarray
    """(A,) the rows that are not active now."""
    factored: list[FactoredMatrix | FactoredKeys] = field(default_factory=list)
    """The last factored matrix, if there is one."""

    def updated(self, evaluation: Evaluation, displacement: Array, active: np.ndarray) -> LinearizedStep:
        """The linear problem with the residuals of another evaluation and the same derivatives."""
        pattern, layout = self.step_pattern.pattern, self.step_pattern.layout
        values = pattern.residuals(layout.values(evaluation))
        inactive = layout.inactive(active)
        if self.factored:
            # Excluded residuals that are not violated stay excluded, so that the factor can be reused.
            inactive = inactive | (self.factored[-1].excluded & (values <= 0.0))
        linear_part = self.step_pattern.linear_part(self.jacobian, displacement)
        return replace(self, values=values, linear_part=linear_part, inactive=inactive)

    def merit(self, forces: Array) -> float:
        """The merit after an undamped step with forces (A,), if the residuals were linear."""
        return 0.5 * float(forces @ (self.values - self.linear_part))

    def step(self, keys: Keys, damping: float, margin: float = np.inf, *, first: bool = True) -> tuple[Array, Keys]:
        """Forces (A,) and new keys that minimise violation, change, and damping times the change from the old keys.

        Inactive residuals that the step would violate by more than a margin become active. By the normal equations each
        change needs a factorisation, and the steps after the `first` of a level make fewer.
        """
        one_sided = self.step_pattern.layout.one_sided
        old_share = damping / (1.0 + damping)
        residuals = self.values - (1.0 - old_share) * self.linear_part
        excluded, dropped = self.inactive, np.zeros(len(residuals), bool)
        by_keys = self.band is None
        changes = MAX_ACTIVE_SET_CHANGES if not by_keys else MAX_KEY_CHANGES if first else MAX_LATE_KEY_CHANGES
        for number in range(changes):
            forces, change, residuals_after = self._solve(residuals, damping, excluded)
            # One-sided residuals with negative forces are dropped and the step is solved again. Clipping their forces
            # to zero instead would leave the other forces out of balance.
            negative = one_sided & (forces < 0.0)
            dropped |= negative
            # The last changes only drop residuals, so that the exchange ends.
            can_add = margin < np.inf and number < MAX_ADDING_CHANGES
            added = one_sided & excluded & ~dropped & can_add
            if added.any():
                added &= residuals_after() > margin
            pull = -float(forces[negative].min(initial=0.0))
            if pull <= (NEGLIGIBLE_PULL if by_keys else 0.0) * float(np.abs(forces).max()) and not added.any():
                break
            excluded = (excluded | negative) & ~added
        return forces, tuple(old_share * old + new for old, new in zip(keys, change(), strict=True))

    def _solve(
        self, residuals: Array, damping: float, excluded: np.ndarray
    ) -> tuple[Array, Callable[[], Keys], Callable[[], Array]]:
        """The forces (A,) with some residuals (A,) excluded; and, when they are asked for, the change of the keys that
        they make, and the residuals (A,) after it, if they were linear."""
        matrix = self.factored[-1] if self.factored else None
        pattern, compliance = self.step_pattern.pattern, self.step_pattern.compliance
        if self.band is None:
            previous = matrix if isinstance(matrix, FactoredKeys) else None
            by_keys = FactoredKeys.of(pattern, self.jacobian, compliance, damping, excluded, previous)
            self.factored[:] = [by_keys]
            forces, keys, change = by_keys.solve(residuals)
            return forces, lambda: keys, lambda: residuals + change
        if not isinstance(matrix, FactoredMatrix) or matrix.damping != damping or not matrix.exclude(excluded):
            matrix = FactoredMatrix.of(pattern, self.band, compliance, damping, excluded)
        self.factored[:] = [matrix]
        forces = matrix.forces(residuals)
        damped, band = forces / (1.0 + damping), self.band
        return (
            forces,
            lambda: keys_of_forces(pattern, self.jacobian, damped),
            lambda: residuals - band_product(band, damped),
        )
