"""Descent on all keys of the motion at once: linearise, solve, line search, until nothing improves.

The solvers of [Gleicher98, sec. 6] share this loop. They differ in how they solve the linear problem of a step.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.base.splines import Basis, Knots
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import ACTIVE_MARGIN, MAX_STEP, ProgressCallback, Solver
from understudy.solve.solvers.newton import ResidualLayout, active_rows, penalty, sampled_frames

Product = Callable[[Array], Array]
"""A matrix, as the function that multiplies it by a vector."""


class KeyCurve(ABC):
    """A displacement over time, defined by keys (K, D)."""

    @property
    @abstractmethod
    def num_keys(self) -> int: ...

    @abstractmethod
    def values(self, keys: Array) -> Array:
        """(N, D) coordinates at the evaluated frames."""

    @abstractmethod
    def everywhere(self, keys: Array) -> Array:
        """(F, D) coordinates at every frame."""

    @abstractmethod
    def chain(self, keys: Array, times: np.ndarray, jacobian: Array) -> tuple[np.ndarray, Array]:
        """Convert derivatives by coordinates (A, D), at indices (A,) of evaluated frames, to derivatives by keys.

        Returns:
            The keys (A, n) that affect each row, and the derivatives (A, n, D) by them.
        """


@record
class SplineCurve(KeyCurve):
    """Cubic B-splines with one key spacing for all coordinates [Gleicher98, sec. 3.7]."""

    basis: Basis
    """At the evaluated frames."""
    whole: Basis
    """At every frame."""

    @staticmethod
    def of(problem: Problem, times: Array, spacing: float) -> SplineCurve:
        """Keys `spacing` seconds apart over the problem's frames, evaluated at times (N,)."""
        knots = Knots.uniform(float(problem.times[-1]), spacing)
        return SplineCurve(basis=knots.basis(times), whole=knots.basis(problem.times))

    @property
    def num_keys(self) -> int:
        return self.basis.num_keys

    def values(self, keys: Array) -> Array:
        return self.basis.values(keys)

    def everywhere(self, keys: Array) -> Array:
        return self.whole.values(keys)

    def chain(self, keys: Array, times: np.ndarray, jacobian: Array) -> tuple[np.ndarray, Array]:
        return self.basis.keys[times], self.basis.weights[times][:, :, None] * jacobian[:, None]


@record
class LinearizedProblem:
    """The residuals near or in violation, to first order in the keys."""

    layout: ResidualLayout
    matrix: csr_array
    """(A, K D) the Jacobian by the keys."""
    values: Array
    """(A,) residuals; linked ones relative to the mean of their chain."""

    @staticmethod
    def of(evaluation: Evaluation, curve: KeyCurve, keys: Array, margin: float) -> LinearizedProblem:
        """Linearise at keys (K, D), with the equalities and the one-sided residuals above -margin."""
        layout = ResidualLayout.from_evaluation(evaluation, active_rows(evaluation, margin))
        keys_of_rows, by_keys = curve.chain(keys, layout.times, layout.jacobian(evaluation))
        rows, width, coordinates = by_keys.shape
        columns = keys_of_rows[:, :, None] * coordinates + np.arange(coordinates)
        starts = np.arange(rows + 1) * (width * coordinates)
        matrix = csr_array((by_keys.ravel(), columns.ravel(), starts), shape=(rows, curve.num_keys * coordinates))
        uncentred = LinearizedProblem(layout=layout, matrix=matrix, values=np.zeros(rows))
        return LinearizedProblem(layout=layout, matrix=matrix, values=uncentred.centre(layout.values(evaluation)))

    @cached
    def chains(self) -> np.ndarray:
        """(A,) the first row of the chain of each linked row; -1 for rows that are not linked."""
        previous = self.layout.previous
        first = np.where(previous >= 0, previous, np.arange(len(previous)))
        while np.any(first[first] != first):
            first = first[first]
        return np.where((previous >= 0) | ~self.layout.is_residual, first, -1)

    @cached
    def weights(self) -> Array:
        """(A,) the weight of each squared row."""
        return 1.0 / self.layout.compliance

    def centre(self, rows: Array) -> Array:
        """(A,) rows; the mean of its chain is subtracted from each linked row."""
        linked = np.flatnonzero(self.chains >= 0)
        if len(linked) == 0:
            return rows
        chain = self.chains[linked]
        total = np.bincount(chain, rows[linked], minlength=len(rows))
        count = np.maximum(np.bincount(chain, minlength=len(rows)), 1)
        out = rows.copy()
        out[linked] -= (total / count)[chain]
        return out

    def jacobian_product(self, keys: Array) -> Array:
        """(A,) the Jacobian times a change of the keys (K D,)."""
        return self.centre(self.matrix @ keys)

    def transpose_product(self, forces: Array) -> Array:
        """(K D,) the transposed Jacobian times forces (A,) on the residuals."""
        return self._transposed @ self.centre(forces)

    @cached
    def _transposed(self) -> csr_array:
        return csr_array(self.matrix.T)

    def blocks(self, weights: Array) -> Array:
        """(K, D, D) the diagonal blocks of `J' weights J`, one per key, ignoring the means of chains."""
        coordinates = len(self.layout.sample.problem.metric)
        data = self.matrix.data.reshape(len(weights), -1, coordinates)
        keys_of_rows = self.matrix.indices.reshape(data.shape)[:, :, 0] // coordinates
        out = np.zeros((self.matrix.shape[1] // coordinates, coordinates, coordinates))
        for slot in range(data.shape[1]):
            # Rows and their keys are sorted by time, so the rows of one key are consecutive.
            ends = np.searchsorted(keys_of_rows[:, slot], np.arange(len(out) + 1))
            for key in np.unique(keys_of_rows[:, slot]):
                rows = slice(ends[key], ends[key + 1])
                out[key] += data[rows, slot].T @ (weights[rows, None] * data[rows, slot])
        return out

    def differences(self, active: np.ndarray) -> csr_array:
        """(M, A) the matrix that selects the active rows, with the previous row subtracted from linked ones."""
        selected = np.flatnonzero(active & self.layout.is_residual)
        previous = self.layout.previous[selected]
        linked = np.flatnonzero(previous >= 0)
        data = np.concatenate([np.ones(len(selected)), -np.ones(len(linked))])
        row = np.concatenate([np.arange(len(selected)), linked])
        column = np.concatenate([selected, previous[linked]])
        return csr_array((data, (row, column)), shape=(len(selected), len(active)))


def conjugate_gradients(
    multiply: Product, right: Array, scale: Product, *, start: Array | None = None, accuracy: float, rounds: int
) -> Array:
    """The solution of a symmetric positive definite system by preconditioned conjugate gradients.

    Args:
        multiply: The system's matrix times a vector.
        right: The right-hand side.
        scale: The preconditioner: an approximate inverse of the matrix times a vector.
        start: The warm start; zero if not given.
        accuracy: The norm of the residual at which to stop, as a share of that of the right-hand side.
        rounds: The largest number of iterations.
    """
    out = np.zeros_like(right) if start is None else start.copy()
    residual = right.copy() if start is None else right - multiply(out)
    scaled = scale(residual)
    direction, norm_squared = scaled.copy(), float(residual @ scaled)
    target = accuracy**2 * float(right @ scale(right))
    for _ in range(rounds):
        if norm_squared <= target or norm_squared == 0.0:
            break
        product = multiply(direction)
        curvature = float(direction @ product)
        if curvature <= 0.0:
            break
        out += (norm_squared / curvature) * direction
        residual -= (norm_squared / curvature) * product
        scaled = scale(residual)
        norm_squared, previous = float(residual @ scaled), norm_squared
        direction = scaled + (norm_squared / previous) * direction
    return out


INITIAL_DAMPING = 1e-3
"""The first damping after a step that gains less than predicted, times the softness."""

MAX_ACTIVE_SET_CHANGES, MAX_DAMPINGS, MAX_HALVINGS = 6, 7, 5
"""The limits of a step: changes of the active set, increases of the damping, halvings in the line search."""


@record
class DescentStep:
    """The linear problem of a step: minimise `1/2 z cost z + 1/2 |residual + J z|^2 / softness` over keys z."""

    linear: LinearizedProblem
    active: np.ndarray
    """(A,) the active set: the rows that take part."""
    residual: Array
    """(A,) the residuals at z = 0; linked ones relative to their mean."""
    cost: Array
    """(K D,) the cost of the square of each key."""
    softness: float
    warm_start: Array | None = None
    """(K D,) the solution of a similar step, as a warm start for iterative methods."""

    @property
    def compliance(self) -> Array:
        """(A,) the softness divided by the weight of each row."""
        return self.softness / self.linear.weights

    def forces(self, keys: Array) -> Array:
        """(A,) the force of each active row at keys (K D,): its residual divided by its compliance."""
        return np.where(self.active, (self.residual + self.linear.jacobian_product(keys)) / self.compliance, 0.0)


@record
class _Iterate:
    """An iterate of the descent."""

    keys: Array
    """(K, D)."""
    evaluation: Evaluation
    merit: float


@record(eq=True)
class Descent(Solver):
    """A solver that takes damped linear steps on all keys at once."""

    rate: float = 60.0
    """Frames per second at which constraints are evaluated, besides the ends of their intervals."""
    softness: float = 1e-4
    """The weight of change against squared error: smaller meets constraints more closely, larger changes less."""
    error: float = 1e-4
    """Metres or radians: if every violation is smaller, a step that gains less than 1 percent is the last."""
    gain: float = 5e-3
    """The smallest relative gain of a step; two slower steps in a row end the solve."""
    iterations: int = 30
    """The largest number of steps."""
    seconds: float = np.inf
    """Wall time after which no further step starts."""

    second_order_correction: ClassVar[bool] = False
    """Whether a failed step gets a second-order correction before the line search."""

    def __post_init__(self) -> None:
        for name in ("rate", "softness", "error", "gain", "seconds"):
            if not getattr(self, name) > 0.0:
                raise OptionError(f"Solver `{self.name}`: expected {name} above zero, got {getattr(self, name)}")
        if self.iterations < 1:
            raise OptionError(f"Solver `{self.name}`: expected at least one iteration, got {self.iterations}")

    @abstractmethod
    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        """The curve whose keys are the unknowns."""

    @abstractmethod
    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        """The keys z (K D,) that solve a step, and the forces (A,) of its rows."""

    def move(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int]:
        bodies = problem.bodies
        if not problem.constraints or len(problem.metric) == 0:
            return bodies, 0
        start = time.perf_counter()
        sample = ProblemAtFrames(problem=problem, bodies=bodies, frames=sampled_frames(problem, self.rate))
        curve = self.curve(problem, sample)
        current = self._evaluate(sample, curve, np.zeros((curve.num_keys, len(problem.metric))))
        damping, steps, slow = 0.0, 0, 0
        while current.evaluation.largest_violation > self.error or steps > 0:
            if steps >= self.iterations or time.perf_counter() - start > self.seconds:
                break
            watch(
                f"{self.name}: step {steps + 1}, off by {current.evaluation.largest_violation:.2g}",
                steps / self.iterations,
            )
            trial, next_damping = self._step(curve, current, damping)
            if trial is None:
                break
            steps += 1
            gained = 1.0 - trial.merit / current.merit
            # A slow step that raised the damping does not count: the damping is still being adapted.
            slow = 0 if gained >= self.gain else slow + (next_damping <= damping)
            current, damping = trial, next_damping
            if slow == 2 or (current.evaluation.largest_violation <= self.error and gained < 0.01):
                break
        return (displace_bodies(bodies, sample, curve.everywhere(current.keys)), steps) if steps else (bodies, 0)

    def _evaluate(self, sample: ProblemAtFrames, curve: KeyCurve, keys: Array) -> _Iterate:
        evaluation = sample.evaluate(curve.values(keys))
        size = 0.5 * float((keys**2 @ sample.problem.metric).sum())
        return _Iterate(keys=keys, evaluation=evaluation, merit=size + penalty(evaluation) / self.softness)

    def _step(self, curve: KeyCurve, current: _Iterate, damping: float) -> tuple[_Iterate | None, float]:
        """The next iterate, or None if no better one is found, and the next damping."""
        metric = current.evaluation.sample.problem.metric
        linear = LinearizedProblem.of(current.evaluation, curve, current.keys, ACTIVE_MARGIN)
        linear_part = linear.jacobian_product(current.keys.ravel())
        for _ in range(MAX_DAMPINGS):
            # The cost of the keys plus the damping of their change is one cost around a point in between.
            cost = (1.0 + damping) * np.tile(metric, curve.num_keys)
            scale = 1.0 / (1.0 + damping)
            keys = self._solve_active_set(linear, linear.values - scale * linear_part, cost)
            change = keys - scale * current.keys.ravel()
            trial, gain_ratio = self._search_line(curve, current, linear, change, cost)
            if trial is not None:
                return trial, self._update_damping(damping, gain_ratio)
            damping = self._update_damping(damping, 0.0)
        return None, damping

    def _update_damping(self, damping: float, gain_ratio: float) -> float:
        """The next damping, from the ratio of the actual to the predicted gain of a step."""
        initial = INITIAL_DAMPING / self.softness
        if gain_ratio < 0.25:
            return max(10.0 * damping, initial)
        if gain_ratio > 0.75:
            return 0.1 * damping if damping > initial else 0.0
        return damping

    def _solve_active_set(self, linear: LinearizedProblem, residual: Array, cost: Array) -> Array:
        """(K D,) the keys that solve a step, with the active set of one-sided rows found by exchange."""
        active, keys = ~linear.layout.one_sided | (linear.values > -1e-6), None
        for _ in range(MAX_ACTIVE_SET_CHANGES):
            step = DescentStep(
                linear=linear, active=active, residual=residual, cost=cost, softness=self.softness, warm_start=keys
            )
            keys, forces = self.linear_step(step)
            reached = residual + linear.jacobian_product(keys)
            dropped = active & linear.layout.one_sided & (forces < 0.0)
            added = ~active & linear.layout.one_sided & (reached > 1e-6)
            if not (dropped.any() or added.any()):
                break
            active = (active & ~dropped) | added
        assert keys is not None
        return keys

    def _search_line(
        self, curve: KeyCurve, current: _Iterate, linear: LinearizedProblem, change: Array, cost: Array
    ) -> tuple[_Iterate | None, float]:
        """The first better iterate along a change (K D,), and the ratio of its gain to the predicted gain."""
        sample = current.evaluation.sample
        largest = float(np.abs(change).max(initial=0.0))
        share = 1.0 if largest <= MAX_STEP else MAX_STEP / largest
        predicted = current.merit - self._predict_merit(linear, current.keys.ravel() + share * change, share * change)
        for attempt in range(MAX_HALVINGS):
            trial = self._evaluate(sample, curve, current.keys + share * change.reshape(current.keys.shape))
            if self.second_order_correction and attempt == 0 and share == 1.0 and not trial.merit < current.merit:
                trial = self._correct(curve, trial, linear, cost)
            if trial.merit < current.merit:
                return trial, (current.merit - trial.merit) / max(predicted, 1e-300)
            share *= 0.5
        return None, 0.0

    def _predict_merit(self, linear: LinearizedProblem, keys: Array, change: Array) -> float:
        """The merit at keys (K D,), a change away, as predicted by the linearised residuals."""
        reached = linear.values + linear.jacobian_product(change)
        violation = np.where(linear.layout.one_sided, np.maximum(reached, 0.0), reached)
        metric = linear.layout.sample.problem.metric
        size = 0.5 * float((keys.reshape(-1, len(metric)) ** 2 @ metric).sum())
        return size + 0.5 * float(linear.weights @ violation**2) / self.softness

    def _correct(self, curve: KeyCurve, trial: _Iterate, linear: LinearizedProblem, cost: Array) -> _Iterate:
        """The iterate with a second-order correction: a step on its residuals with the previous Jacobian."""
        values = linear.centre(linear.layout.values(trial.evaluation))
        active = ~linear.layout.one_sided | (values > 0.0)
        correction, _ = self.linear_step(
            DescentStep(linear=linear, active=active, residual=values, cost=cost, softness=self.softness)
        )
        return self._evaluate(trial.evaluation.sample, curve, trial.keys + correction.reshape(trial.keys.shape))
