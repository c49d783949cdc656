"""Inverse kinematics frame by frame: the baseline that knows nothing of time [Gleicher98, sec. 3.1, figure 3].

Every frame is brought to its own constraints alone, from the starting motion. It meets them, and pays with snaps where
a constraint begins or ends and with changes that differ from frame to frame.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.constraints.base import Relation
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, merged
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import Solver, Watch
from understudy.solve.solvers.newton import ResidualLayout, active_rows, stiffness

LARGEST = 0.7
"""Metres or radians that a step changes a coordinate by at most."""

GIVE_UP = 1e8
"""Damping beyond which a frame has no better place near by."""

ROUNDS = 4
"""Exchanges of one-sided residuals in a step at most."""


@dataclass(frozen=True, kw_only=True)
class FrameByFrame(Solver):
    """A solver that takes each frame by itself, by damped least squares.

    A plant anywhere is held where its first frame put it: frames are taken in an order that has that frame first,
    as many at once as do not wait for one another.
    """

    softness: float = 1e-5
    """What a unit of change may cost in squared error."""
    error: float = 1e-5
    """Metres or radians: a frame with its constraints met this closely is done when a step gains little."""
    iterations: int = 40
    """Steps on a frame at most."""
    seconds: float = np.inf
    """Wall time after which frames not yet reached keep their start."""

    def __post_init__(self) -> None:
        for name in ("softness", "error", "seconds"):
            if not getattr(self, name) > 0.0:
                raise OptionError(f"Solver `{self.name}`: expected {name} above zero, got {getattr(self, name)}")
        if self.iterations < 1:
            raise OptionError(f"Solver `{self.name}`: expected at least one iteration, got {self.iterations}")

    def move(self, problem: Problem, watch: Watch) -> tuple[tuple[Body, ...], int]:
        change, steps = frame_by_frame(problem, self, watch)
        if steps == 0:
            return problem.bodies, 0
        whole = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
        return merged(problem.bodies, whole, self.finished(change, problem.actors[0].motion.fps)), steps

    @abstractmethod
    def finished(self, change: Array, fps: float) -> Array:
        """What is made of the coordinates (F, D) that the frames were moved by."""


@dataclass(frozen=True, kw_only=True)
class Ik(FrameByFrame):
    """Each frame by itself, and left as it is."""

    name: ClassVar[str] = "ik"

    def finished(self, change: Array, fps: float) -> Array:
        return change


def frame_by_frame(problem: Problem, solver: FrameByFrame, watch: Watch) -> tuple[Array, int]:
    """The coordinates (F, D) that each frame alone is moved by, and the steps it took."""
    count = len(problem.times)
    change, steps = np.zeros((count, len(problem.metric))), 0
    if not problem.constraints or len(problem.metric) == 0:
        return change, 0
    began, plants = time.perf_counter(), _Plants.of(problem)
    pending = np.ones(count, bool)
    while pending.any() and time.perf_counter() - began < solver.seconds:
        watch(f"{solver.name}: {int(pending.sum())} frames to go", 1.0 - pending.sum() / count)
        frames = np.flatnonzero(pending & ~plants.waiting())
        sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames)
        wave = _Wave(sample=sample, plants=plants, solver=solver)
        change[frames], evaluation, taken = wave.solve()
        plants.learn(frames, evaluation)
        pending[frames] = False
        steps += taken
    return change, steps


@dataclass(frozen=True, eq=False, kw_only=True)
class _Plants:
    """Where the points of free plants were at their first frame, as it becomes known."""

    heads: dict[int, int]
    """By constraint with linked residuals: its first frame."""
    later: dict[int, np.ndarray]
    """By constraint: (F,) True at its frames after the first."""
    values: dict[int, Array] = field(default_factory=dict)
    """By constraint: (R,) its residuals at the first frame."""

    @staticmethod
    def of(problem: Problem) -> _Plants:
        start = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
        rows = start.evaluate(np.zeros((len(problem.times), len(problem.metric)))).rows
        heads, later = {}, {}
        for which, (found, held) in enumerate(zip(rows, start.holds, strict=True)):
            if found.same_as_previous is not None and found.same_as_previous.any():
                heads[which] = int(held[0])
                later[which] = np.isin(np.arange(len(problem.times)), held[1:])
        return _Plants(heads=heads, later=later)

    def waiting(self) -> np.ndarray | bool:
        """(F,) the frames that must wait for a first frame."""
        unknown = [self.later[which] for which in self.heads if which not in self.values]
        return np.any(unknown, axis=0) if unknown else False

    def learn(self, frames: np.ndarray, evaluation: Evaluation) -> None:
        """Note the first frames among those just moved."""
        for which, head in self.heads.items():
            if which not in self.values and head in frames:
                self.values[which] = evaluation.rows[which].values[0]

    def residuals(self, evaluation: Evaluation) -> tuple[Array, ...]:
        """For each constraint (n, R): residuals with linked ones measured from the first frame; zero there."""
        out = []
        for which, rows in enumerate(evaluation.rows):
            values = rows.values
            if which in self.heads and rows.same_as_previous is not None:
                known = self.values.get(which)
                values = values.copy()
                values[:, rows.same_as_previous] = (
                    0.0 if known is None else values[:, rows.same_as_previous] - known[rows.same_as_previous]
                )
            out.append(values)
        return tuple(out)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Rows:
    """Residuals of each frame side by side, padded with rows that ask for nothing."""

    values: Array
    """(n, R)."""
    jacobian: Array
    """(n, R, D)."""
    soft: Array
    """(n, R) how soft each is."""
    one_sided: np.ndarray
    """(n, R)."""
    real: np.ndarray
    """(n, R) False for padding."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Wave:
    """Frames that are solved side by side."""

    sample: ProblemAtFrames
    plants: _Plants
    solver: FrameByFrame

    def solve(self) -> tuple[Array, Evaluation, int]:
        """The coordinates (n, D) of the frames, everything evaluated there, and the steps taken."""
        metric = self.sample.problem.metric
        at = np.zeros((len(self.sample.frames), len(metric)))
        now = self.sample.evaluate(at)
        merit, worst = self._merit(now, at)
        damping, steps = np.zeros(len(at)), 0
        busy = worst > self.solver.error
        while busy.any() and steps < self.solver.iterations:
            step = self._step(now, at, damping)
            trial = np.where(busy[:, None], at + step, at)
            then = self.sample.evaluate(trial)
            reached, worst_then = self._merit(then, trial)
            better = busy & (reached < merit)
            little = better & (merit - reached < np.where(worst_then <= self.solver.error, 1e-2, 1e-6) * merit)
            at, now = self._take(better, trial, at, then)
            merit = np.where(better, reached, merit)
            damping = np.where(better, np.where(damping > 10.0, 0.1 * damping, 0.0), np.maximum(10.0 * damping, 10.0))
            busy &= ~little & (damping < GIVE_UP)
            steps += 1
        return at, now, steps

    def _take(self, better: np.ndarray, trial: Array, at: Array, then: Evaluation) -> tuple[Array, Evaluation]:
        """The trial where it is better, and everything evaluated there."""
        taken = np.where(better[:, None], trial, at)
        return taken, then if np.array_equal(taken, trial) else self.sample.evaluate(taken)

    def _merit(self, evaluation: Evaluation, at: Array) -> tuple[Array, Array]:
        """(n,) change and violation of each frame, and (n,) its worst violation."""
        sample = self.sample
        size, worst = 0.5 * (at**2 @ sample.problem.metric), np.zeros(len(at))
        heavy = stiffness(sample, evaluation.rows) / self.solver.softness
        residuals = self.plants.residuals(evaluation)
        for target, held, values, weight in zip(sample.problem.targets, sample.holds, residuals, heavy, strict=True):
            off = np.maximum(values, 0.0) if target.constraint.relation is Relation.AT_MOST else np.abs(values)
            size[held] += 0.5 * weight * (off**2).sum(axis=1)
            worst[held] = np.maximum(worst[held], off.max(axis=1, initial=0.0))
        return size, worst

    def _rows(self, evaluation: Evaluation) -> _Rows:
        layout = ResidualLayout.from_evaluation(evaluation, active_rows(evaluation, 0.1))
        residuals, count = self.plants.residuals(evaluation), len(self.sample.frames)
        per_frame = np.bincount(layout.times, minlength=count)
        slot = np.arange(len(layout.times)) - (np.cumsum(per_frame) - per_frame)[layout.times]
        place, shape = (layout.times, slot), (count, int(per_frame.max(initial=0)))
        # The first frame of a plant anywhere, and frames before its place is known, ask for nothing of it.
        linked = np.zeros(len(layout.times), bool)
        for which in self.plants.heads:
            mask = evaluation.rows[which].same_as_previous
            if which not in self.plants.values and mask is not None:
                linked |= (layout.constraint == which) & mask[layout.row]
        out = _Rows(
            values=np.zeros(shape),
            jacobian=np.zeros((*shape, len(self.sample.problem.metric))),
            soft=np.ones(shape),
            one_sided=np.zeros(shape, bool),
            real=np.zeros(shape, bool),
        )
        for which, values in enumerate(residuals):
            mine = layout.constraint == which
            out.values[layout.times[mine], slot[mine]] = values[layout.at[mine], layout.row[mine]]
        out.jacobian[place] = layout.jacobian(evaluation)
        out.soft[place] = layout.compliance * self.solver.softness
        out.one_sided[place] = layout.one_sided
        out.real[place] = ~linked
        return out

    def _step(self, evaluation: Evaluation, at: Array, damping: Array) -> Array:
        """(n, D) the damped least-squares step of each frame, through its multipliers."""
        rows = self._rows(evaluation)
        free = 1.0 / (1.0 + damping[:, None])
        moved = np.einsum("nrd,nd->nr", rows.jacobian, at)
        residual = rows.values - free * moved
        on = rows.real & (~rows.one_sided | (rows.values > -1e-6))
        scaled = rows.jacobian * (free[:, None] / self.sample.problem.metric)
        product = scaled @ np.swapaxes(rows.jacobian, 1, 2)
        turned = np.zeros_like(at)
        for _ in range(ROUNDS):
            system = product * (on[:, :, None] & on[:, None, :])
            system[:, np.arange(on.shape[1]), np.arange(on.shape[1])] += np.where(on, rows.soft, 1.0)
            forces = np.linalg.solve(system, np.where(on, residual, 0.0)[..., None])[..., 0]
            turned = -np.einsum("nr,nrd->nd", forces, scaled)
            reached = residual + np.einsum("nrd,nd->nr", rows.jacobian, turned)
            pulling = on & rows.one_sided & (forces < 0.0)
            broken = rows.real & ~on & rows.one_sided & (reached > 1e-6)
            if not (pulling.any() or broken.any()):
                break
            on = (on & ~pulling) | broken
        change = turned - free * at
        return change * np.minimum(1.0, LARGEST / np.maximum(np.abs(change).max(axis=1, keepdims=True), 1e-12))


SOLVER = Ik
