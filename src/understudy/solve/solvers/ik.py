"""Inverse kinematics frame by frame: the baseline that ignores time [Gleicher98, sec. 3.1, figure 3].

Every frame is solved alone, from the starting motion. The result meets the constraints, but snaps where a constraint
starts or ends, and its changes differ from frame to frame.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import field
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import Relation
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import ACTIVE_MARGIN, MAX_STEP, ProgressCallback, Solver
from understudy.solve.solvers.newton import ResidualLayout, active_rows, constraint_weights

MAX_DAMPING, MAX_ACTIVE_SET_CHANGES = 1e8, 4
"""The damping beyond which the solve of a frame ends, and the largest number of changes of the active set in a step."""


@record(eq=True)
class FrameByFrame(Solver):
    """A solver that solves each frame independently, by damped least squares.

    A plant without a given position stays where its first frame puts it. Frames that depend on such a first frame are
    solved after it; all independent frames are solved at once.
    """

    softness: float = 1e-5
    """The weight of change against squared error."""
    error: float = 1e-5
    """Metres or radians: a frame with smaller violations is done when a step gains less than 1 percent."""
    iterations: int = 40
    """The largest number of steps per frame."""
    seconds: float = np.inf
    """Wall time after which frames not yet solved keep their starting pose."""

    def __post_init__(self) -> None:
        for name in ("softness", "error", "seconds"):
            if not getattr(self, name) > 0.0:
                raise OptionError(f"Solver `{self.name}`: expected {name} above zero, got {getattr(self, name)}")
        if self.iterations < 1:
            raise OptionError(f"Solver `{self.name}`: expected at least one iteration, got {self.iterations}")

    def move(self, problem: Problem, watch: ProgressCallback) -> tuple[tuple[Body, ...], int]:
        change, steps = solve_frames(problem, self, watch)
        if steps == 0:
            return problem.bodies, 0
        whole = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
        return displace_bodies(problem.bodies, whole, self.finished(change, problem.actors[0].motion.fps)), steps

    @abstractmethod
    def finished(self, change: Array, fps: float) -> Array:
        """The final coordinates (F, D), from those solved frame by frame."""


@record(eq=True)
class Ik(FrameByFrame):
    """Solves each frame by itself, without smoothing."""

    name: ClassVar[str] = "ik"

    def finished(self, change: Array, fps: float) -> Array:
        return change


def solve_frames(problem: Problem, solver: FrameByFrame, watch: ProgressCallback) -> tuple[Array, int]:
    """The coordinates (F, D) of all frames, solved frame by frame, and the number of steps."""
    count = len(problem.times)
    change, steps = np.zeros((count, len(problem.metric))), 0
    if not problem.constraints or len(problem.metric) == 0:
        return change, 0
    start, plants = time.perf_counter(), _Plants.of(problem)
    pending = np.ones(count, bool)
    while pending.any() and time.perf_counter() - start < solver.seconds:
        watch(f"{solver.name}: {int(pending.sum())} frames to go", 1.0 - pending.sum() / count)
        frames = np.flatnonzero(pending & ~plants.waiting())
        sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames)
        batch = _FrameBatch(sample=sample, plants=plants, solver=solver)
        change[frames], evaluation, batch_steps = batch.solve()
        plants.record(frames, evaluation)
        pending[frames] = False
        steps += batch_steps
    return change, steps


@record
class _Plants:
    """The positions of free plants at their first frames, filled in as these frames are solved."""

    first_frames: dict[int, int]
    """The first frame of each constraint with linked residuals."""
    later: dict[int, np.ndarray]
    """For each such constraint: (F,) True at its frames after the first."""
    values: dict[int, Array] = field(default_factory=dict)
    """For each such constraint: (R,) its residuals at the first frame, once solved."""

    @staticmethod
    def of(problem: Problem) -> _Plants:
        start = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
        rows = start.evaluate(np.zeros((len(problem.times), len(problem.metric)))).rows
        first_frames, later = {}, {}
        for number, (residuals, frames) in enumerate(zip(rows, start.frame_indices, strict=True)):
            if residuals.same_as_previous is not None and residuals.same_as_previous.any():
                first_frames[number] = int(frames[0])
                later[number] = np.isin(np.arange(len(problem.times)), frames[1:])
        return _Plants(first_frames=first_frames, later=later)

    def waiting(self) -> np.ndarray | bool:
        """(F,) True at the frames that depend on a first frame that is not solved yet."""
        unsolved = [self.later[number] for number in self.first_frames if number not in self.values]
        return np.any(unsolved, axis=0) if unsolved else False

    def record(self, frames: np.ndarray, evaluation: Evaluation) -> None:
        """Record the residuals of the first frames among the frames just solved."""
        for number, first in self.first_frames.items():
            if number not in self.values and first in frames:
                self.values[number] = evaluation.rows[number].values[0]

    def residuals(self, evaluation: Evaluation) -> tuple[Array, ...]:
        """For each constraint (n, R): residuals; linked ones relative to the first frame, zero until it is solved."""
        out = []
        for number, rows in enumerate(evaluation.rows):
            values = rows.values
            if number in self.first_frames and rows.same_as_previous is not None:
                first = self.values.get(number)
                values = values.copy()
                values[:, rows.same_as_previous] = (
                    0.0 if first is None else values[:, rows.same_as_previous] - first[rows.same_as_previous]
                )
            out.append(values)
        return tuple(out)


@record
class _PaddedRows:
    """The residuals of several frames as dense arrays, padded with unused rows."""

    values: Array
    """(n, R)."""
    jacobian: Array
    """(n, R, D)."""
    compliance: Array
    """(n, R) the compliance of each row."""
    one_sided: np.ndarray
    """(n, R)."""
    used: np.ndarray
    """(n, R) False for padding and for rows without a target yet."""


@record
class _FrameBatch:
    """Frames that are solved in parallel."""

    sample: ProblemAtFrames
    plants: _Plants
    solver: FrameByFrame

    def solve(self) -> tuple[Array, Evaluation, int]:
        """The coordinates (n, D) of the frames, the evaluation there, and the number of steps."""
        metric = self.sample.problem.metric
        displacement = np.zeros((len(self.sample.frames), len(metric)))
        evaluation = self.sample.evaluate(displacement)
        merit, worst = self._merit(evaluation, displacement)
        damping, steps = np.zeros(len(displacement)), 0
        busy = worst > self.solver.error
        while busy.any() and steps < self.solver.iterations:
            step = self._step(evaluation, displacement, damping)
            trial = np.where(busy[:, None], displacement + step, displacement)
            trial_evaluation = self.sample.evaluate(trial)
            trial_merit, trial_worst = self._merit(trial_evaluation, trial)
            better = busy & (trial_merit < merit)
            converged = better & (merit - trial_merit < np.where(trial_worst <= self.solver.error, 1e-2, 1e-6) * merit)
            displacement = np.where(better[:, None], trial, displacement)
            is_trial = np.array_equal(displacement, trial)
            evaluation = trial_evaluation if is_trial else self.sample.evaluate(displacement)
            merit = np.where(better, trial_merit, merit)
            damping = np.where(better, np.where(damping > 10.0, 0.1 * damping, 0.0), np.maximum(10.0 * damping, 10.0))
            busy &= ~converged & (damping < MAX_DAMPING)
            steps += 1
        return displacement, evaluation, steps

    def _merit(self, evaluation: Evaluation, displacement: Array) -> tuple[Array, Array]:
        """(n,) the merit of each frame, its change and violation, and (n,) its worst violation."""
        sample = self.sample
        merit, worst = 0.5 * (displacement**2 @ sample.problem.metric), np.zeros(len(displacement))
        weights = constraint_weights(sample, evaluation.rows) / self.solver.softness
        residuals = self.plants.residuals(evaluation)
        constraints = zip(sample.targets, sample.frame_indices, residuals, weights, strict=True)
        for target, frames, values, weight in constraints:
            violation = np.maximum(values, 0.0) if target.constraint.relation is Relation.AT_MOST else np.abs(values)
            merit[frames] += 0.5 * weight * (violation**2).sum(axis=1)
            worst[frames] = np.maximum(worst[frames], violation.max(axis=1, initial=0.0))
        return merit, worst

    def _pad_rows(self, evaluation: Evaluation) -> _PaddedRows:
        layout = ResidualLayout.from_evaluation(evaluation, active_rows(evaluation, ACTIVE_MARGIN))
        residuals, count = self.plants.residuals(evaluation), len(self.sample.frames)
        per_frame = np.bincount(layout.times, minlength=count)
        slot = np.arange(len(layout.times)) - (np.cumsum(per_frame) - per_frame)[layout.times]
        index, shape = (layout.times, slot), (count, int(per_frame.max(initial=0)))
        # The linked rows of a plant take no part until its first frame is solved.
        unused = np.zeros(len(layout.times), bool)
        for number in self.plants.first_frames:
            mask = evaluation.rows[number].same_as_previous
            if number not in self.plants.values and mask is not None:
                entries = layout.constraint == number
                unused[entries] = mask[layout.row[entries]]
        out = _PaddedRows(
            values=np.zeros(shape),
            jacobian=np.zeros((*shape, len(self.sample.problem.metric))),
            compliance=np.ones(shape),
            one_sided=np.zeros(shape, bool),
            used=np.zeros(shape, bool),
        )
        for number, values in enumerate(residuals):
            entries = layout.constraint == number
            out.values[layout.times[entries], slot[entries]] = values[layout.at[entries], layout.row[entries]]
        out.jacobian[index] = layout.jacobian(evaluation)
        out.compliance[index] = layout.compliance * self.solver.softness
        out.one_sided[index] = layout.one_sided
        out.used[index] = ~unused
        return out

    def _step(self, evaluation: Evaluation, displacement: Array, damping: Array) -> Array:
        """(n, D) the damped least-squares step of each frame, solved by its multipliers."""
        rows = self._pad_rows(evaluation)
        scale = 1.0 / (1.0 + damping[:, None])
        linear_part = np.einsum("nrd,nd->nr", rows.jacobian, displacement)
        residual = rows.values - scale * linear_part
        active = rows.used & (~rows.one_sided | (rows.values > -1e-6))
        scaled = rows.jacobian * (scale[:, None] / self.sample.problem.metric)
        product = scaled @ np.swapaxes(rows.jacobian, 1, 2)
        coordinates = np.zeros_like(displacement)
        for _ in range(MAX_ACTIVE_SET_CHANGES):
            system = product * (active[:, :, None] & active[:, None, :])
            system[:, np.arange(active.shape[1]), np.arange(active.shape[1])] += np.where(active, rows.compliance, 1.0)
            forces = np.linalg.solve(system, np.where(active, residual, 0.0)[..., None])[..., 0]
            coordinates = -np.einsum("nr,nrd->nd", forces, scaled)
            reached = residual + np.einsum("nrd,nd->nr", rows.jacobian, coordinates)
            dropped = active & rows.one_sided & (forces < 0.0)
            added = rows.used & ~active & rows.one_sided & (reached > 1e-6)
            if not (dropped.any() or added.any()):
                break
            active = (active & ~dropped) | added
        change = coordinates - scale * displacement
        return change * np.minimum(1.0, MAX_STEP / np.maximum(np.abs(change).max(axis=1, keepdims=True), 1e-12))


SOLVER = Ik
