"""Steps on the whole motion at one set of keys: linearise, solve, search along the line, until nothing improves.

What the solvers of [Gleicher98, sec. 6] share. They differ in how they solve the linear problem of a step.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.base.splines import Basis, Knots
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, merged
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import Solver, Watch
from understudy.solve.solvers.newton import ResidualLayout, active_rows, penalty, sampled_frames

Product = Callable[[Array], Array]
"""A matrix as what it does to a vector."""


class KeyCurve(ABC):
    """A displacement over time made of keys (K, D)."""

    @property
    @abstractmethod
    def num_keys(self) -> int: ...

    @abstractmethod
    def values(self, keys: Array) -> Array:
        """(N, D) coordinates at the frames looked at."""

    @abstractmethod
    def everywhere(self, keys: Array) -> Array:
        """(F, D) coordinates at every frame."""

    @abstractmethod
    def chain(self, keys: Array, times: np.ndarray, jacobian: Array) -> tuple[np.ndarray, Array]:
        """Rows by coordinates (A, D), at positions (A,) among the frames looked at, as rows by keys.

        Returns:
            The keys (A, n) that each row feels and its derivatives (A, n, D) by them.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class SplineCurve(KeyCurve):
    """Cubic B-splines with one key spacing for all coordinates [Gleicher98, sec. 3.7]."""

    basis: Basis
    """At the frames looked at."""
    whole: Basis
    """At every frame."""

    @staticmethod
    def of(problem: Problem, times: Array, spacing: float) -> SplineCurve:
        """Keys that many seconds apart over the problem's frames, looked at at times (N,)."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearizedProblem:
    """All residuals that may matter, to first order in the keys."""

    layout: ResidualLayout
    matrix: csr_array
    """(A, K D) derivatives of each row by the keys."""
    values: Array
    """(A,) residuals, linked ones from their own mean."""

    @staticmethod
    def of(evaluation: Evaluation, curve: KeyCurve, keys: Array, margin: float) -> LinearizedProblem:
        """Linearise at keys (K, D), with the one-sided residuals that are above -margin."""
        layout = ResidualLayout.from_evaluation(evaluation, active_rows(evaluation, margin))
        felt, by_keys = curve.chain(keys, layout.times, layout.jacobian(evaluation))
        rows, width, coordinates = by_keys.shape
        columns = felt[:, :, None] * coordinates + np.arange(coordinates)
        starts = np.arange(rows + 1) * (width * coordinates)
        matrix = csr_array((by_keys.ravel(), columns.ravel(), starts), shape=(rows, curve.num_keys * coordinates))
        found = LinearizedProblem(layout=layout, matrix=matrix, values=np.zeros(rows))
        return LinearizedProblem(layout=layout, matrix=matrix, values=found.centre(layout.values(evaluation)))

    @cached
    def chains(self) -> np.ndarray:
        """(A,) the first row of each linked row's chain; -1 for rows on their own."""
        before, rows = self.layout.before, np.arange(len(self.layout.before))
        first = np.where(before >= 0, before, rows)
        while np.any(first[first] != first):
            first = first[first]
        return np.where((before >= 0) | ~self.layout.counts, first, -1)

    @cached
    def weights(self) -> Array:
        """(A,) how heavily each row's square counts."""
        return 1.0 / self.layout.compliance

    def centre(self, rows: Array) -> Array:
        """(A,) rows with the mean of their chain taken from the linked ones."""
        linked = np.flatnonzero(self.chains >= 0)
        if len(linked) == 0:
            return rows
        chain = self.chains[linked]
        total = np.bincount(chain, rows[linked], minlength=len(rows))
        count = np.maximum(np.bincount(chain, minlength=len(rows)), 1)
        out = rows.copy()
        out[linked] -= (total / count)[chain]
        return out

    def push(self, keys: Array) -> Array:
        """(A,) how the residuals change with a change of the keys (K D,)."""
        return self.centre(self.matrix @ keys)

    def pull(self, forces: Array) -> Array:
        """(K D,) what forces (A,) on the residuals do to the keys: the transpose of `push`."""
        return self._transposed @ self.centre(forces)

    @cached
    def _transposed(self) -> csr_array:
        return csr_array(self.matrix.T)

    def blocks(self, heavy: Array) -> Array:
        """(K, D, D) of `J' heavy J` what lies between the coordinates of one and the same key, means not taken."""
        coordinates = len(self.layout.sample.problem.metric)
        data = self.matrix.data.reshape(len(heavy), -1, coordinates)
        felt = self.matrix.indices.reshape(data.shape)[:, :, 0] // coordinates
        out = np.zeros((self.matrix.shape[1] // coordinates, coordinates, coordinates))
        for slot in range(data.shape[1]):
            # Rows are in order of time and so are their keys: those of one key stand together.
            ends = np.searchsorted(felt[:, slot], np.arange(len(out) + 1))
            for key in np.unique(felt[:, slot]):
                mine = slice(ends[key], ends[key + 1])
                out[key] += data[mine, slot].T @ (heavy[mine, None] * data[mine, slot])
        return out

    def differences(self, on: np.ndarray) -> csr_array:
        """(M, A) the rows that are on as residuals of their own: linked ones less the one before."""
        own = np.flatnonzero(on & self.layout.counts)
        before = self.layout.before[own]
        linked = np.flatnonzero(before >= 0)
        data = np.concatenate([np.ones(len(own)), -np.ones(len(linked))])
        row = np.concatenate([np.arange(len(own)), linked])
        column = np.concatenate([own, before[linked]])
        return csr_array((data, (row, column)), shape=(len(own), len(on)))


def conjugate_gradients(
    multiply: Product, right: Array, scale: Product, *, start: Array | None = None, accuracy: float, rounds: int
) -> Array:
    """The solution of a symmetric positive system.

    Args:
        multiply: The system's matrix times a vector.
        right: The right-hand side.
        scale: About the matrix's inverse times a vector, such as by its diagonal or blocks of it.
        start: Where to start; zero if not given.
        accuracy: The size of what is left, as a share of the right-hand side, at which to stop.
        rounds: How many products at most.
    """
    out = np.zeros_like(right) if start is None else start.copy()
    left = right.copy() if start is None else right - multiply(out)
    scaled = scale(left)
    way, size = scaled.copy(), float(left @ scaled)
    enough = accuracy**2 * float(right @ scale(right))
    for _ in range(rounds):
        if size <= enough or size == 0.0:
            break
        product = multiply(way)
        bend = float(way @ product)
        if bend <= 0.0:
            break
        out += (size / bend) * way
        left -= (size / bend) * product
        scaled = scale(left)
        size, old = float(left @ scaled), size
        way = scaled + (size / old) * way
    return out


MARGIN = 0.1
"""Metres or radians: one-sided residuals nearer to zero than this are looked at in a step."""

LARGEST = 0.7
"""Metres or radians that a step changes a coordinate by at most, about where a linear step of a turn means little."""

FIRST = 1e-3
"""The damping that a step which does not keep its promise is followed by, against what a residual weighs."""

ROUNDS, ATTEMPTS, HALVINGS = 6, 7, 5
"""At most: exchanges of one-sided residuals in a step, dampings of a step, halvings along its line."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DescentStep:
    """The linear problem of a step: the least `1/2 z cost z + 1/2 |residual + J z|^2 / softness`, for keys z."""

    linear: LinearizedProblem
    on: np.ndarray
    """(A,) the rows that take part."""
    residual: Array
    """(A,) where the rows are at z = 0, linked ones from their mean."""
    cost: Array
    """(K D,) of each key's square."""
    softness: float
    near: Array | None = None
    """(K D,) the solution of a step like it, for methods that can start from one."""

    @property
    def soft(self) -> Array:
        """(A,) the softness of each row by its own weight."""
        return self.softness / self.linear.weights

    def forces(self, keys: Array) -> Array:
        """(A,) the force with which each row that is on pulls at keys (K D,): how far off it is, over its softness."""
        return np.where(self.on, (self.residual + self.linear.push(keys)) / self.soft, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Place:
    """Where the search is."""

    keys: Array
    """(K, D)."""
    evaluation: Evaluation
    merit: float

    @property
    def error(self) -> float:
        return max((float(v.max()) for v in self.evaluation.violation if v.size), default=0.0)


@dataclass(frozen=True, kw_only=True)
class Descent(Solver):
    """A solver that takes linear steps on all keys at once."""

    rate: float = 60.0
    """Frames a second at which constraints are looked at, besides the ends of their intervals."""
    softness: float = 1e-4
    """What a unit of change may cost in squared error: smaller meets constraints more closely, larger bends less."""
    error: float = 1e-4
    """Metres or radians: with every constraint met this closely, a step that gains under a hundredth is the last."""
    gain: float = 5e-3
    """The share of change and violation together that one of two steps must take off for another to follow."""
    iterations: int = 30
    """Steps at most."""
    seconds: float = np.inf
    """Wall time after which no further step is begun."""

    corrects: ClassVar[bool] = False
    """Whether a step that fails is first bent back towards the constraints."""

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
        """The keys z (K D,) that solve a step, and the forces (A,) on its rows."""

    def move(self, problem: Problem, watch: Watch) -> tuple[tuple[Body, ...], int]:
        bodies = problem.bodies
        if not problem.constraints or len(problem.metric) == 0:
            return bodies, 0
        began = time.perf_counter()
        sample = ProblemAtFrames(problem=problem, bodies=bodies, frames=sampled_frames(problem, self.rate))
        curve = self.curve(problem, sample)
        now = self._place(sample, curve, np.zeros((curve.num_keys, len(problem.metric))))
        damping, steps, slow = 0.0, 0, 0
        while now.error > self.error or steps > 0:
            if steps >= self.iterations or time.perf_counter() - began > self.seconds:
                break
            watch(f"{self.name}: step {steps + 1}, off by {now.error:.2g}", steps / self.iterations)
            then, after = self._step(curve, now, damping)
            if then is None:
                break
            steps += 1
            gained = 1.0 - then.merit / now.merit
            # A slow step that broke its promise only means that the damping has yet to be found.
            slow = 0 if gained >= self.gain else slow + (after <= damping)
            now, damping = then, after
            if slow == 2 or (now.error <= self.error and gained < 0.01):
                break
        return (merged(bodies, sample, curve.everywhere(now.keys)), steps) if steps else (bodies, 0)

    def _place(self, sample: ProblemAtFrames, curve: KeyCurve, keys: Array) -> _Place:
        evaluation = sample.evaluate(curve.values(keys))
        size = 0.5 * float((keys**2 @ sample.problem.metric).sum())
        return _Place(keys=keys, evaluation=evaluation, merit=size + penalty(evaluation) / self.softness)

    def _step(self, curve: KeyCurve, now: _Place, damping: float) -> tuple[_Place | None, float]:
        """The next place, or None when nothing nearer is found, and the damping to go on with."""
        metric = now.evaluation.sample.problem.metric
        linear = LinearizedProblem.of(now.evaluation, curve, now.keys, MARGIN)
        moved = linear.push(now.keys.ravel())
        for _ in range(ATTEMPTS):
            # The step keeps near the last keys as it keeps near zero: both are one cost around a point between them.
            cost = (1.0 + damping) * np.tile(metric, curve.num_keys)
            free = 1.0 / (1.0 + damping)
            change = self._settled(linear, linear.values - free * moved, cost) - free * now.keys.ravel()
            then, kept = self._along(curve, now, linear, change, cost)
            if then is not None:
                return then, self._damped(damping, kept)
            damping = self._damped(damping, 0.0)
        return None, damping

    def _damped(self, damping: float, kept: float) -> float:
        """The damping to go on with after a step that kept a share of the gain it promised."""
        first = FIRST / self.softness
        if kept < 0.25:
            return max(10.0 * damping, first)
        if kept > 0.75:
            return 0.1 * damping if damping > first else 0.0
        return damping

    def _settled(self, linear: LinearizedProblem, residual: Array, cost: Array) -> Array:
        """(K D,) the keys of a step with the one-sided rows that push, and no others, taking part."""
        on, keys = ~linear.layout.one_sided | (linear.values > -1e-6), None
        for _ in range(ROUNDS):
            step = DescentStep(linear=linear, on=on, residual=residual, cost=cost, softness=self.softness, near=keys)
            keys, forces = self.linear_step(step)
            reached = residual + linear.push(keys)
            pulling = on & linear.layout.one_sided & (forces < 0.0)
            broken = ~on & linear.layout.one_sided & (reached > 1e-6)
            if not (pulling.any() or broken.any()):
                break
            on = (on & ~pulling) | broken
        assert keys is not None
        return keys

    def _along(
        self, curve: KeyCurve, now: _Place, linear: LinearizedProblem, change: Array, cost: Array
    ) -> tuple[_Place | None, float]:
        """The first better place on the line of a change (K D,), and what share of the promised gain it keeps."""
        sample = now.evaluation.sample
        largest = float(np.abs(change).max(initial=0.0))
        share = 1.0 if largest <= LARGEST else LARGEST / largest
        promised = now.merit - self._promise(linear, now.keys.ravel() + share * change, share * change)
        for attempt in range(HALVINGS):
            then = self._place(sample, curve, now.keys + share * change.reshape(now.keys.shape))
            if self.corrects and attempt == 0 and share == 1.0 and not then.merit < now.merit:
                then = self._corrected(curve, then, linear, cost)
            if then.merit < now.merit:
                return then, (now.merit - then.merit) / max(promised, 1e-300)
            share *= 0.5
        return None, 0.0

    def _promise(self, linear: LinearizedProblem, keys: Array, change: Array) -> float:
        """What the merit would be at keys (K D,), a change away, were the residuals linear."""
        reached = linear.values + linear.push(change)
        off = np.where(linear.layout.one_sided, np.maximum(reached, 0.0), reached)
        metric = linear.layout.sample.problem.metric
        size = 0.5 * float((keys.reshape(-1, len(metric)) ** 2 @ metric).sum())
        return size + 0.5 * float(linear.weights @ off**2) / self.softness

    def _corrected(self, curve: KeyCurve, then: _Place, linear: LinearizedProblem, cost: Array) -> _Place:
        """Back towards the constraints by the derivatives that led away: a second-order correction."""
        values = linear.centre(linear.layout.values(then.evaluation))
        on = ~linear.layout.one_sided | (values > 0.0)
        back, _ = self.linear_step(
            DescentStep(linear=linear, on=on, residual=values, cost=cost, softness=self.softness)
        )
        return self._place(then.evaluation.sample, curve, then.keys + back.reshape(then.keys.shape))
