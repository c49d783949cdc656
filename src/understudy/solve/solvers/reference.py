"""A general solver for comparison: NLopt's augmented Lagrangian on the same keys [Lommers13, sec. 7.2].

It does not exploit the structure of the problem and is slow. It is meant for tests and benchmarks.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from understudy.base.errors import MissingPackageError, OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import KEY_SPACING_SECONDS, ProgressCallback, Solver
from understudy.solve.solvers.descent import KeyCurve, LinearizedProblem, SplineCurve
from understudy.solve.solvers.newton import penalty, sampled_frames

MAX_KEY = 2.0 * np.pi
"""Metres or radians: the bound on every key, a full turn [Lommers13, sec. 7.2]."""


@record(eq=True)
class Reference(Solver):
    """Augmented Lagrangian with a general minimiser inside; returns the best keys that it evaluates."""

    name: ClassVar[str] = "reference"

    inner: str = "lbfgs"
    """The minimiser inside: `lbfgs` or `slsqp`."""
    spacing: float = KEY_SPACING_SECONDS
    """Seconds between keys."""
    rate: float = 30.0
    """Frames per second at which constraints are evaluated, besides the ends of their intervals."""
    error: float = 1e-4
    """Metres or radians: the largest violation that counts as met."""
    settled: float = 1e-6
    """The relative change of keys and objective at which the search ends."""
    iterations: int = 3000
    """The largest number of evaluations."""
    seconds: float = 60.0
    """Wall time limit."""
    softness: float = 1e-5
    """The weight of change against squared error when two sets of keys are compared."""

    def __post_init__(self) -> None:
        if self.inner not in ("lbfgs", "slsqp"):
            raise OptionError(f"Solver `reference`: expected inner `lbfgs` or `slsqp`, got `{self.inner}`")
        for name in ("spacing", "rate", "error", "settled", "iterations", "seconds", "softness"):
            if not getattr(self, name) > 0:
                raise OptionError(f"Solver `reference`: expected {name} above zero, got {getattr(self, name)}")

    def move(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int]:
        nlopt = load_nlopt()
        bodies = problem.bodies
        if not problem.constraints or len(problem.metric) == 0:
            return bodies, 0
        sample = ProblemAtFrames(problem=problem, bodies=bodies, frames=sampled_frames(problem, self.rate))
        curve = SplineCurve.of(problem, sample.times, self.spacing)
        search = _NloptProblem(sample=sample, curve=curve, softness=self.softness, watch=watch, limit=self.iterations)
        if search.evaluate_keys(np.zeros(search.size)).evaluation.largest_violation <= self.error:
            return bodies, 0
        optimiser = self._make_optimiser(nlopt, search)
        # NLopt raises these when rounding stops it, often at or near the optimum. The best keys are kept.
        with suppress(nlopt.RoundoffLimited, nlopt.runtime_error, RuntimeError):
            optimiser.optimize(np.zeros(search.size))
        best = search.best.reshape(curve.num_keys, -1)
        return displace_bodies(bodies, sample, curve.everywhere(best)), search.evaluations

    def _make_optimiser(self, nlopt: Any, search: _NloptProblem) -> Any:
        inner = nlopt.opt({"lbfgs": nlopt.LD_LBFGS, "slsqp": nlopt.LD_SLSQP}[self.inner], search.size)
        optimiser = nlopt.opt(nlopt.LD_AUGLAG, search.size)
        for stage in (inner, optimiser):
            stage.set_xtol_rel(self.settled)
            stage.set_ftol_rel(self.settled)
        optimiser.set_local_optimizer(inner)
        optimiser.set_maxtime(self.seconds)
        optimiser.set_maxeval(self.iterations)
        optimiser.set_lower_bounds(-MAX_KEY)
        optimiser.set_upper_bounds(MAX_KEY)
        optimiser.set_min_objective(search.objective)
        equal, at_most = search.counts
        if equal:
            optimiser.add_equality_mconstraint(search.equal, np.full(equal, self.error))
        if at_most:
            optimiser.add_inequality_mconstraint(search.at_most, np.full(at_most, self.error))
        return optimiser


@record
class _KeyEvaluation:
    """The evaluation at some keys."""

    evaluation: Evaluation
    linear: LinearizedProblem
    merit: float


@dataclass(eq=False, kw_only=True)
class _NloptProblem:
    """The callbacks of NLopt. The last evaluation is cached, as NLopt calls objective and constraints in turn."""

    sample: ProblemAtFrames
    curve: KeyCurve
    softness: float
    watch: ProgressCallback
    limit: int
    evaluations: int = 0
    best: Array = field(default_factory=lambda: np.zeros(0))
    _best_merit: float = np.inf
    _last_keys: Array | None = None
    _last: _KeyEvaluation | None = None

    @property
    def size(self) -> int:
        return self.curve.num_keys * len(self.sample.problem.metric)

    @property
    def _cost(self) -> Array:
        return np.tile(self.sample.problem.metric, self.curve.num_keys)

    def evaluate_keys(self, x: Array) -> _KeyEvaluation:
        """The evaluation at keys x (K D,)."""
        if self._last_keys is not None and self._last is not None and np.array_equal(x, self._last_keys):
            return self._last
        keys = x.reshape(self.curve.num_keys, -1).copy()
        evaluation = self.sample.evaluate(self.curve.values(keys))
        merit = 0.5 * float(self._cost @ x**2) + penalty(evaluation) / self.softness
        current = _KeyEvaluation(
            evaluation=evaluation, linear=LinearizedProblem.of(evaluation, self.curve, keys, margin=np.inf), merit=merit
        )
        self.evaluations += 1
        if merit < self._best_merit:
            self._best_merit, self.best = merit, x.copy()
        if self.evaluations % 20 == 0:
            self.watch(
                f"reference: off by {current.evaluation.largest_violation:.2g}", min(self.evaluations / self.limit, 1.0)
            )
        self._last_keys, self._last = x.copy(), current
        return current

    @property
    def counts(self) -> tuple[int, int]:
        """The number of equalities and of one-sided residuals."""
        current = self.evaluate_keys(np.zeros(self.size))
        return tuple(self._weigh_rows(current.linear, one_sided).shape[0] for one_sided in (False, True))  # type: ignore[return-value]

    def _weigh_rows(self, linear: LinearizedProblem, one_sided: bool) -> csr_array:
        weights = diags_array(np.sqrt(linear.weights))
        return csr_array(linear.differences(linear.layout.one_sided == one_sided) @ weights)

    def objective(self, x: Array, gradient: Array) -> float:
        """The objective: the change, half of x M x [Gleicher98, eq. 3]."""
        self.evaluate_keys(x)
        if gradient.size:
            gradient[:] = self._cost * x
        return 0.5 * float(self._cost @ x**2)

    def equal(self, result: Array, x: Array, gradient: Array) -> None:
        self._fill(result, x, gradient, one_sided=False)

    def at_most(self, result: Array, x: Array, gradient: Array) -> None:
        self._fill(result, x, gradient, one_sided=True)

    def _fill(self, result: Array, x: Array, gradient: Array, *, one_sided: bool) -> None:
        linear = self.evaluate_keys(x).linear
        rows = self._weigh_rows(linear, one_sided)
        result[:] = rows @ linear.values
        if gradient.size:
            gradient[:] = (rows @ linear.matrix).toarray()


def load_nlopt() -> Any:
    """Import the package `nlopt`, or raise an error with the install command."""
    try:
        return importlib.import_module("nlopt")
    except ImportError:
        raise MissingPackageError("nlopt", "reference", "The `reference` solver") from None


SOLVER = Reference
