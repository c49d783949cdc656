"""A general solver for comparison: NLopt's augmented Lagrangian on the same keys [Lommers13, sec. 7.2].

It knows nothing of bands, diagonals or chains, takes its time, and is for tests and benchmarks.
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
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, merged
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import Solver, Watch
from understudy.solve.solvers.descent import KeyCurve, LinearizedProblem, SplineCurve
from understudy.solve.solvers.newton import penalty, sampled_frames

FARTHEST = 2.0 * np.pi
"""Metres or radians that a key may go, a full turn [Lommers13, sec. 7.2]."""


@dataclass(frozen=True, kw_only=True)
class Reference(Solver):
    """Augmented Lagrangian with a general minimiser inside; gives back the best keys it came across."""

    name: ClassVar[str] = "reference"

    inner: str = "lbfgs"
    """The minimiser inside: `lbfgs` or `slsqp`."""
    spacing: float = 4.0 / 30.0
    """Seconds between keys."""
    rate: float = 30.0
    """Frames a second at which constraints are looked at, besides the ends of their intervals."""
    error: float = 1e-4
    """Metres or radians up to which a residual counts as met."""
    settled: float = 1e-6
    """Relative change of keys and objective at which the search may end."""
    iterations: int = 3000
    """Evaluations at most."""
    seconds: float = 60.0
    """Wall time at most."""
    softness: float = 1e-5
    """How squared error and change are weighed when calling one place better than another."""

    def __post_init__(self) -> None:
        if self.inner not in ("lbfgs", "slsqp"):
            raise OptionError(f"Solver `reference`: expected inner `lbfgs` or `slsqp`, got `{self.inner}`")
        for name in ("spacing", "rate", "error", "settled", "iterations", "seconds", "softness"):
            if not getattr(self, name) > 0:
                raise OptionError(f"Solver `reference`: expected {name} above zero, got {getattr(self, name)}")

    def move(self, problem: Problem, watch: Watch) -> tuple[tuple[Body, ...], int]:
        nlopt = load_nlopt()
        bodies = problem.bodies
        if not problem.constraints or len(problem.metric) == 0:
            return bodies, 0
        sample = ProblemAtFrames(problem=problem, bodies=bodies, frames=sampled_frames(problem, self.rate))
        curve = SplineCurve.of(problem, sample.times, self.spacing)
        search = _NloptProblem(sample=sample, curve=curve, softness=self.softness, watch=watch, limit=self.iterations)
        if search.look(np.zeros(search.size)).error <= self.error:
            return bodies, 0
        optimiser = self._optimiser(nlopt, search)
        # NLopt gives up by these where rounding stops it, often at or near the optimum: the best found counts.
        with suppress(nlopt.RoundoffLimited, nlopt.runtime_error, RuntimeError):
            optimiser.optimize(np.zeros(search.size))
        best = search.best.reshape(curve.num_keys, -1)
        return merged(bodies, sample, curve.everywhere(best)), search.evaluations

    def _optimiser(self, nlopt: Any, search: _NloptProblem) -> Any:
        inside = nlopt.opt({"lbfgs": nlopt.LD_LBFGS, "slsqp": nlopt.LD_SLSQP}[self.inner], search.size)
        optimiser = nlopt.opt(nlopt.LD_AUGLAG, search.size)
        for each in (inside, optimiser):
            each.set_xtol_rel(self.settled)
            each.set_ftol_rel(self.settled)
        optimiser.set_local_optimizer(inside)
        optimiser.set_maxtime(self.seconds)
        optimiser.set_maxeval(self.iterations)
        optimiser.set_lower_bounds(-FARTHEST)
        optimiser.set_upper_bounds(FARTHEST)
        optimiser.set_min_objective(search.objective)
        equal, at_most = search.counts
        if equal:
            optimiser.add_equality_mconstraint(search.equal, np.full(equal, self.error))
        if at_most:
            optimiser.add_inequality_mconstraint(search.at_most, np.full(at_most, self.error))
        return optimiser


@dataclass(frozen=True, eq=False, kw_only=True)
class _Look:
    """Everything at some keys."""

    evaluation: Evaluation
    linear: LinearizedProblem
    merit: float

    @property
    def error(self) -> float:
        return max((float(v.max()) for v in self.evaluation.violation if v.size), default=0.0)


@dataclass(eq=False, kw_only=True)
class _NloptProblem:
    """What NLopt asks for, with the last answer kept: it asks for objective and constraints one after the other."""

    sample: ProblemAtFrames
    curve: KeyCurve
    softness: float
    watch: Watch
    limit: int
    evaluations: int = 0
    best: Array = field(default_factory=lambda: np.zeros(0))
    _least: float = np.inf
    _at: Array | None = None
    _last: _Look | None = None

    @property
    def size(self) -> int:
        return self.curve.num_keys * len(self.sample.problem.metric)

    @property
    def _cost(self) -> Array:
        return np.tile(self.sample.problem.metric, self.curve.num_keys)

    def look(self, x: Array) -> _Look:
        """Everything at keys x (K D,)."""
        if self._at is not None and self._last is not None and np.array_equal(x, self._at):
            return self._last
        keys = x.reshape(self.curve.num_keys, -1).copy()
        evaluation = self.sample.evaluate(self.curve.values(keys))
        merit = 0.5 * float(self._cost @ x**2) + penalty(evaluation) / self.softness
        found = _Look(
            evaluation=evaluation, linear=LinearizedProblem.of(evaluation, self.curve, keys, margin=np.inf), merit=merit
        )
        self.evaluations += 1
        if merit < self._least:
            self._least, self.best = merit, x.copy()
        if self.evaluations % 20 == 0:
            self.watch(f"reference: off by {found.error:.2g}", min(self.evaluations / self.limit, 1.0))
        self._at, self._last = x.copy(), found
        return found

    @property
    def counts(self) -> tuple[int, int]:
        """How many residuals must be zero, and how many at most zero."""
        found = self.look(np.zeros(self.size))
        return tuple(self._rows(found.linear, one_sided).shape[0] for one_sided in (False, True))  # type: ignore[return-value]

    def _rows(self, linear: LinearizedProblem, one_sided: bool) -> csr_array:
        heavy = diags_array(np.sqrt(linear.weights))
        return csr_array(linear.differences(linear.layout.one_sided == one_sided) @ heavy)

    def objective(self, x: Array, gradient: Array) -> float:
        """The change, half of x M x [Gleicher98, eq. 3]."""
        self.look(x)
        if gradient.size:
            gradient[:] = self._cost * x
        return 0.5 * float(self._cost @ x**2)

    def equal(self, result: Array, x: Array, gradient: Array) -> None:
        self._fill(result, x, gradient, one_sided=False)

    def at_most(self, result: Array, x: Array, gradient: Array) -> None:
        self._fill(result, x, gradient, one_sided=True)

    def _fill(self, result: Array, x: Array, gradient: Array, *, one_sided: bool) -> None:
        linear = self.look(x).linear
        rows = self._rows(linear, one_sided)
        result[:] = rows @ linear.values
        if gradient.size:
            gradient[:] = (rows @ linear.matrix).toarray()


def load_nlopt() -> Any:
    """The package, or what to install."""
    try:
        return importlib.import_module("nlopt")
    except ImportError:
        raise MissingPackageError("nlopt", "reference", "The `reference` solver") from None


SOLVER = Reference
