"""Solving for coordinations: basis vectors and mean pose of B under orthonormality and conditions [Analogies, sec. 5].

Damped Gauss-Newton steps on an augmented Lagrangian. A frame's coordinates are linear in the unknown table, so the
normal matrix is a sum over frames of `(z z') x (J' J)`: a small product of what is known of the eigenmotion, z, with a
frame's own normal matrix, and no Jacobian of the whole motion is ever made. What is centred about the mean of the
markers takes away one product of rank 3 P. Conditions that contradict each other are met as nearly as possible.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.analogy.conditions import LOOSE, ConditionResiduals, Conditions
from understudy.analogy.matching import MarkerMatch
from understudy.analogy.study import JointChart
from understudy.base.quaternion import Array
from understudy.figure.kinematics import locate
from understudy.figure.skeleton import Point
from understudy.solve.coordinates import Posture


def squared(table: Array, free: np.ndarray) -> Array:
    """A table with its basis vectors made orthonormal by moving their free coordinates (N,) alone.

    With the rest, G, held, the free part F must have `F F' = I - G G'`: the square root of that times the nearest
    orthonormal vectors to F seen through its inverse.
    """
    out = table.copy()
    held = np.delete(table[1:], free, axis=1)
    sizes, turns = np.linalg.eigh(np.eye(len(table) - 1) - held @ held.T)
    root = np.sqrt(np.maximum(sizes, 1e-6))
    seen = (turns / root) @ turns.T @ table[1:, free]
    left, _, right = np.linalg.svd(seen, full_matrices=False)
    out[1:, free] = (turns * root) @ turns.T @ left @ right
    return out


def bent(basis: Array, slope: Array, stiff: float) -> Array:
    """(K D, K D) what orthonormality [eq. 6] adds to the second derivatives by basis vectors (K, D).

    Steps are taken along the surface `F F' = I` and put back on it by `squared`. Leaving it is made dear:
    `dF F' + F dF'` must vanish. Along it the surface bends, which gains or costs `-sym(slope F')` per squared step; its
    absolute value is taken, so that a saddle is left as fast as a valley is reached.
    """
    count, size = basis.shape
    by = np.zeros((count, count, count, size))
    for i in range(count):
        by[i, :, i] += basis
        by[:, i, i] += basis
    flat = by.reshape(count * count, count * size)
    sizes, turns = np.linalg.eigh(0.5 * (slope @ basis.T + basis @ slope.T))
    return 1e2 * stiff * flat.T @ flat + np.kron((turns * np.abs(sizes)) @ turns.T, np.eye(size))


FRAMES = 72
"""Frames that stand for all: more than the 66 moments of five and five components up to the second."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MarkerObjective:
    """How B's matched markers are to move, metres about their means."""

    joints: np.ndarray
    """(P,) the joint that each matched marker of B is on."""
    offsets: Array
    """(P, 3) metres, in that joint's frame."""
    weights: Array
    """(P,) how heavily each counts; their sum is 1."""
    movement: Array
    """(P, 3, K) metres that each is to move for a unit of each component of A's new motion in marker space."""
    markers: np.ndarray
    """(P,) their numbers among B's markers."""
    means: Array | None = None
    """(P, 3) metres from the root: where each is to be on average; None where that does not matter, as in the paper."""
    mean_weights: Array = field(default_factory=lambda: np.zeros(0))
    """(P,) how heavily the mean of each counts against its movement; empty where it does not."""

    def wanted(self, course: Array) -> Array:
        """(F, P, 3) metres: how far each marker is to be from its mean at points (F, K) of the eigenmotion."""
        return np.einsum("pck,fk->fpc", self.movement, course)


def make_goal(
    markers: Sequence[Point],
    chart: JointChart,
    matches: Sequence[MarkerMatch],
    vectors: Array,
    *,
    means: tuple[Array, Array] | None = None,
    mean_weight: float = 0.0,
) -> MarkerObjective:
    """The goal that matches set [eq. 5].

    Args:
        markers: B's markers.
        chart: B's coordinates.
        matches: Which of them go with which of A's; one marker may be matched by several eigenvectors.
        vectors: (3 J, K) eigenvectors of A's new motion in marker space.
        means: Mean places (3 I,) of B's markers in its example, and how far (3 J,) those of A's markers are shifted
            from its example to its new motion: B's are then shifted likewise, scaled.
        mean_weight: How heavily that counts; for a marker that moves less than others, less.

    The objectives of several eigenvectors ask different movements of one marker; the sum of their squares is least, up
    to a constant, where one objective with their weighted mean is.
    """
    moved = vectors.reshape(-1, 3, vectors.shape[1])
    chosen = sorted({match.marker for match in matches})
    movement = np.zeros((len(chosen), 3, vectors.shape[1]))
    weights, shifts = np.zeros(len(chosen)), np.zeros((len(chosen), 3))
    for match in matches:
        row = chosen.index(match.marker)
        share = match.weight * match.scales * match.shares
        movement[row] += np.einsum("j,jck->ck", share, moved[match.partners])
        if means is not None:
            shifts[row] += share @ means[1].reshape(-1, 3)[match.partners]
        weights[row] += match.weight
    joints, offsets = locate(chart.skeleton, [markers[i] for i in chosen])
    movement /= weights[:, None, None]
    energy = np.einsum("pck,pck->p", movement, movement)
    return MarkerObjective(
        joints=joints,
        offsets=offsets,
        weights=weights / weights.sum(),
        movement=movement,
        markers=np.array(chosen, dtype=np.intp),
        means=None if means is None else means[0].reshape(-1, 3)[chosen] + shifts / weights[:, None],
        # What a marker does that hardly moves is chance, and the scale of its mean with it.
        mean_weights=mean_weight * np.minimum(energy / max(float(np.mean(energy)), 1e-12), 1.0),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Misfit:
    """How far B's markers are from where they should be, at weighted frames, and its derivatives."""

    value: float
    """Half the weighted mean square."""
    residuals: Array
    """(S, 3 P) root-weighted residuals over the unit length, what the means are off by added to each by its weight."""
    slopes: Array | None
    """(S, 3 P, D) their derivatives by the coordinates of the frame, without the mean's."""


def misfit(
    goal: MarkerObjective, posture: Posture, course: Array, share: Array, unit: float, *, slopes: bool = True
) -> Misfit:
    """The objective [eq. 5] at a posture of some frames.

    Args:
        goal: What is wanted.
        posture: B at S frames.
        course: (S, K) the eigenmotion of the new motion in marker space at those frames.
        share: (S,) weights of the frames; their sum is 1.
        unit: Metres that count as one.
        slopes: Whether derivatives are asked for.
    """
    size = np.sqrt(goal.weights) / unit
    places = posture.points(goal.joints, goal.offsets)
    away = (places - goal.wanted(course)) * size[:, None]
    mean = np.einsum("s,spc->pc", share, away)
    away -= mean
    flat = away.reshape(len(away), -1)
    value = 0.5 * float(share @ np.einsum("sr,sr->s", flat, flat))
    if goal.means is not None:
        off = mean - goal.means * size[:, None]
        pulled = goal.mean_weights[:, None] * off
        value += 0.5 * float(np.sum(pulled * off))
        flat = flat + pulled.ravel()
    if not slopes:
        return Misfit(value=value, residuals=flat, slopes=None)
    by = posture.point_jacobian(goal.joints, places) * size[:, None, None]
    return Misfit(value=value, residuals=flat, slopes=by.reshape(*flat.shape, -1))


def reduce_frames(course: Array, count: int = FRAMES) -> tuple[np.ndarray, Array]:
    """Frames that stand for all, and their weights.

    Args:
        course: (F, K) eigenmotion, or several side by side.
        count: How many frames at most.

    Returns:
        Frame numbers (S,) and weights (S,), at least zero, of sum 1, with which the first and second moments are those
        of all frames, exactly where `count` allows it.
    """
    frames = len(course)
    if frames <= count:
        return np.arange(frames), np.full(frames, 1.0 / frames)
    some = np.unique(np.rint(np.linspace(0, frames - 1, count)).astype(np.intp))
    units = course / np.maximum(np.sqrt(np.mean(course**2, axis=0)), 1e-12)
    rows, columns = np.triu_indices(course.shape[1])
    features = np.concatenate([np.ones((frames, 1)), units, units[:, rows] * units[:, columns]], axis=1)
    table, goal = features[some].T, features.mean(axis=0)
    even = np.full(len(some), 1.0 / len(some))
    weights = even + np.linalg.lstsq(table, goal - table @ even, rcond=1e-9)[0]
    if weights.min() < 0.0:
        from scipy.optimize import nnls

        # The least change makes some weight negative: the nearest that does not, with a slight pull to even weights.
        pull = 1e-3 * np.eye(len(some))
        weights = nnls(np.concatenate([table, pull]), np.concatenate([goal, pull @ even]))[0]
    return some, weights / weights.sum()


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

    chart: JointChart
    goal: MarkerObjective
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
class CoordinationResult:
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


def solve(task: Task) -> CoordinationResult:
    """Find the basis vectors and mean pose that do best."""
    began = time.perf_counter()
    search = _TrustRegion(task)
    begun = search.table
    steps = search.run()
    state = search.at(search.table, slopes=False)
    return CoordinationResult(
        table=search.table,
        begun=begun,
        misfit=state.fit.value,
        violation=_worst(state.rows),
        skew=float(np.abs(search.table[1:] @ search.table[1:].T - np.eye(len(search.table) - 1)).max()),
        steps=steps,
        seconds=time.perf_counter() - began,
    )


def _worst(rows: ConditionResiduals) -> float:
    """The largest violation; of limits what is beyond the slack they are allowed."""
    off = np.where(rows.one_sided, rows.values - LOOSE, np.abs(rows.values))
    return max(float(off.max(initial=0.0)), 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class _State:
    """Everything at one table."""

    fit: Misfit
    rows: ConditionResiduals
    merit: float


class _TrustRegion:
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

    def _forces(self, rows: ConditionResiduals) -> Array:
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


def _firmness(rows: ConditionResiduals) -> Array:
    """(R,) how much stiffer poses and places are held than limits."""
    return np.where(rows.one_sided, 1.0, FIRM)
