"""Solving for coordinations: basis vectors and mean pose of B under orthonormality and conditions [Analogies, sec. 5].

Damped Gauss-Newton steps on an augmented Lagrangian. A frame's coordinates are linear in the unknown table, so the
normal matrix is a sum over frames of `(z z') x (J' J)`: a small product of what is known of the eigenmotion, z, with a
frame's own normal matrix, and no Jacobian of the whole motion is ever made. What is centred about the mean of the
markers takes away one product of rank 3 P. Conditions that contradict each other are met as nearly as possible.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from understudy.coordinates import Posture
from understudy.eigenmotion.chart import Chart
from understudy.eigenmotion.conditions import LOOSE, Conditions, Rows
from understudy.eigenmotion.goal import Goal, Misfit, misfit
from understudy.eigenmotion.orthonormal import bent, squared
from understudy.geometry.quaternion import Array

ROUNDS = 10
"""Updates of the multipliers at most."""
STEPS = 12
"""Gauss-Newton steps at most between two updates."""
TIGHT = 1e-5
"""Radians or unit lengths of violation at which constraints are met."""
SOFT, STIFF = 0.01, 100.0
"""Penalty of violated conditions at first and at most."""
FIRM = 100.0
"""How much stiffer poses and places are held than limits, which are many."""
DAMPING = 1e-3
"""Damping of the first step, in shares of the matrix's own diagonal."""
PULL = 0.01
"""How heavily staying near the start counts against the objective."""
GAIN = 1e-3
"""Share of the merit that a step has to gain for another to be taken."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What is to be solved: a goal and conditions over weighted frames, and what to stay near to."""

    chart: Chart
    goal: Goal
    conditions: Conditions
    course: Array
    """(S, K) A's new eigenmotion in joint space at the frames in view."""
    marker_course: Array
    """(S, L) the same in marker space."""
    share: Array
    """(S,) weights of the frames in the objective; zero for frames that only conditions look at."""
    start: Array
    """(1 + K, D) mean pose and basis vectors to start from."""
    near: Array | None = None
    """(1 + K, D) those to stay near, weakly; the start if not given."""
    free: np.ndarray
    """(N,) the coordinates that the goal or a condition can feel; the others stay as they are at the start."""
    orthonormal: bool = True
    """Whether the basis vectors must be orthonormal [eq. 6]."""
    unit: float = 1.0
    """Metres that count as one in the objective."""
    pull: float = PULL
    """Weight of staying near: of the mean square of the change in joint coordinates over the motion; twice as much for
    the mean pose, of which the objective knows little."""
    metric: Array | None = None
    """(D, D) what a change of coordinates counts as in both pulls; each by itself if not given."""

    @property
    def places(self) -> Array:
        """(S, 1 + K) what the table is multiplied by at each frame."""
        return np.concatenate([np.ones((len(self.course), 1)), self.course], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """The table that was found."""

    table: Array
    """(1 + K, D) mean pose and basis vectors."""
    begun: Array
    """(1 + K, D) where the search began: the start, made to meet the poses."""
    misfit: float
    """Half the mean square of what is left of the objective, unit lengths squared."""
    violation: float
    """The largest violation of a condition: radians or unit lengths."""
    skew: float
    """The largest deviation of the basis vectors' products from those of orthonormal ones."""
    steps: int
    seconds: float


def solve(task: Task) -> Outcome:
    """Find the basis vectors and mean pose that do best."""
    began = time.perf_counter()
    search = _Search(task)
    begun = search.table
    steps = search.run()
    state = search.at(search.table, slopes=False)
    return Outcome(
        table=search.table,
        begun=begun,
        misfit=state.fit.value,
        violation=_worst(state.rows),
        skew=float(np.abs(search.table[1:] @ search.table[1:].T - np.eye(len(search.table) - 1)).max()),
        steps=steps,
        seconds=time.perf_counter() - began,
    )


def _worst(rows: Rows) -> float:
    """The largest violation; of limits what is beyond the slack they are allowed."""
    off = np.where(rows.one_sided, rows.values - LOOSE, np.abs(rows.values))
    return max(float(off.max(initial=0.0)), 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class _State:
    """Everything at one table."""

    fit: Misfit
    rows: Rows
    merit: float


class _Search:
    """The search as it goes: the table, the multipliers of the conditions and their penalty."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.places = task.places
        self.posed = _grouped(task)
        self.table = self._settled(task.start)
        self.home = self.table if task.near is None else task.near
        self.penalty = SOFT
        self.damping = DAMPING
        self.pull = task.pull * np.einsum("s,sa,sb->ab", task.share, self.places, self.places)
        self.pull[0, 0] += 2.0 * task.pull
        self.metric = np.eye(self.table.shape[1]) if task.metric is None else task.metric
        self.watched: list[int] = []
        """Limits that were broken at some time."""
        self.forces = np.zeros(len(task.conditions.rows(self._posture(self.table), watched=()).values))
        """(R,) multipliers of the conditions' rows."""

    def run(self) -> int:
        """Solve; returns the steps taken.

        Limits are looked at between rounds; only those that are broken take part from then on.
        """
        steps, worst = 0, np.inf
        for _ in range(ROUNDS):
            steps += self._descend()
            posture, conditions = self._posture(self.table), self.task.conditions
            new = [number for number in conditions.broken(posture) if number not in self.watched]
            rows = conditions.rows(posture, slopes=False, watched=self.watched)
            off = _worst(rows)
            if off < TIGHT and not new:
                break
            self.forces = self._forces(rows)
            self.watched += new
            whole = conditions.rows(posture, slopes=False, watched=self.watched)
            self.forces = np.pad(self.forces, (0, len(whole.values) - len(self.forces)))
            if off > 0.25 * worst:
                self.penalty = min(10.0 * self.penalty, STIFF)
            worst = off if off >= TIGHT else np.inf
            self.damping = min(self.damping, DAMPING)
        return steps

    def _settled(self, table: Array) -> Array:
        """A table put back on what can be met exactly: orthonormality, and poses, which are linear in the table.

        With orthonormal vectors only the mean pose is free to move, which meets one pose; of several it meets the mean.
        """
        out = squared(table, self.task.free) if self.task.orthonormal else table.copy()
        for columns, at, goals in self.posed:
            off = goals - at @ out[:, columns]
            if self.task.orthonormal:
                out[0, columns] += off.mean(axis=0)
            else:
                out[:, columns] += np.linalg.pinv(at) @ off
        return out

    def _posture(self, table: Array) -> Posture:
        return self.task.chart.posture(self.places @ table)

    def at(self, table: Array, *, slopes: bool) -> _State:
        """Objective, conditions and merit at a table."""
        task = self.task
        posture = self._posture(table)
        fit = misfit(task.goal, posture, task.marker_course, task.share, task.unit, slopes=slopes)
        rows = task.conditions.rows(posture, slopes=slopes, watched=self.watched)
        away = table - self.home
        merit = fit.value + 0.5 * float(np.einsum("ab,ad,bd->", self.pull, away, away @ self.metric))
        forces = self._forces(rows)
        merit += 0.5 * float((forces**2 - self.forces**2) @ (1.0 / _firmness(rows))) / self.penalty
        return _State(fit=fit, rows=rows, merit=merit)

    def _forces(self, rows: Rows) -> Array:
        """(R,) how hard each row pushes: its multiplier as it would become."""
        forces = self.penalty * _firmness(rows) * rows.values + self.forces
        return np.where(rows.one_sided, np.maximum(forces, 0.0), forces)

    def _descend(self) -> int:
        """Gauss-Newton steps, damped as it needs, until they gain nothing."""
        from scipy.linalg import cho_factor, cho_solve

        state = self.at(self.table, slopes=True)
        for step in range(1, STEPS + 1):
            matrix, slope, scale = self._normal(state)
            for _ in range(12):
                try:
                    factor = cho_factor(matrix + np.diag(self.damping * scale), check_finite=False)
                except np.linalg.LinAlgError:
                    self.damping = max(10.0 * self.damping, 1e-6)
                    continue
                trial = self.table.copy()
                trial[:, self.task.free] -= cho_solve(factor, slope.ravel(), check_finite=False).reshape(slope.shape)
                trial = self._settled(trial)
                tried = self.at(trial, slopes=False)
                if tried.merit < state.merit:
                    break
                self.damping = max(10.0 * self.damping, 1e-6)
            else:
                return step
            gained = state.merit - tried.merit
            self.table = trial
            self.damping = max(0.2 * self.damping, 1e-9)
            if gained < GAIN * max(abs(tried.merit), 1e-6):
                return step
            state = self.at(trial, slopes=True)
        return STEPS

    def _normal(self, state: _State) -> tuple[Array, Array, Array]:
        """The normal matrix and slope (1 + K, N) of the merit by free coordinates, and what damping is counted in."""
        task, z, free = self.task, self.places, self.task.free
        assert state.fit.slopes is not None
        by, share = state.fit.slopes[..., free], task.share
        count, size = len(self.table), len(free)
        frames = np.flatnonzero(share > 0.0)
        square = np.zeros((len(z), size, size))
        square[frames] = share[frames, None, None] * (np.swapaxes(by[frames], 1, 2) @ by[frames])
        slope = np.einsum("s,srd,sr->sd", share, by, state.fit.residuals, optimize=True)
        forces, firm = self._forces(state.rows), _firmness(state.rows)
        for frame, whole_lever, mine in state.rows.pushing(forces):
            lever = whole_lever[:, free]
            square[frame] += self.penalty * (lever.T * firm[mine]) @ lever
            slope[frame] += lever.T @ forces[mine]
        pairs = np.einsum("sa,sb->sab", z, z).reshape(len(z), -1)
        whole = (pairs.T @ square.reshape(len(z), -1)).reshape(count, count, size, size).transpose(0, 2, 1, 3)
        mean = np.einsum("s,sa,srd->rad", share, z, by, optimize=True).reshape(by.shape[1], -1)
        loose = np.ones(by.shape[1]) if task.goal.means is None else 1.0 - np.repeat(task.goal.mean_weights, 3)
        matrix = whole.reshape(count * size, -1) - mean.T @ (loose[:, None] * mean)
        metric = self.metric[np.ix_(free, free)]
        matrix += np.kron(self.pull, metric)
        total = z.T @ slope + self.pull @ (self.table - self.home)[:, free] @ metric
        scale = np.maximum(np.diag(matrix), 1e-4 * np.diag(matrix).max())
        if task.orthonormal:
            matrix[size:, size:] += bent(self.table[1:, free], total[1:], float(scale.max()))
        return matrix, total, scale


def _grouped(task: Task) -> list[tuple[np.ndarray, Array, Array]]:
    """Poses by the coordinates that they share: those (N,), frames' places (R, 1 + K) and goals (R, N)."""
    rows: dict[int, list[tuple[int, float]]] = {}
    for row, columns, goal in task.conditions.poses:
        for column, value in zip(columns.tolist(), goal.tolist(), strict=True):
            rows.setdefault(column, []).append((row, value))
    groups: dict[tuple[int, ...], list[int]] = {}
    for column, asked in rows.items():
        groups.setdefault(tuple(row for row, _ in asked), []).append(column)
    return [
        (np.array(columns), task.places[list(at)], np.array([[v for _, v in rows[c]] for c in columns]).T)
        for at, columns in groups.items()
    ]


def _firmness(rows: Rows) -> Array:
    """(R,) how much stiffer poses and places are held than limits."""
    return np.where(rows.one_sided, 1.0, FIRM)
