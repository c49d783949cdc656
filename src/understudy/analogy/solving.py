"""Solve for coordinations: basis vectors and mean pose of B under orthonormality and conditions [Analogies, sec. 5].

Damped Gauss-Newton steps on an augmented Lagrangian. A frame's coordinates are linear in the unknown table, so the
normal matrix is a sum over frames of Kronecker products `(z z') x (J' J)` of the known eigenmotion, z, and the frame's
own normal matrix. No Jacobian of the whole motion is ever formed. Centring the residuals about the mean of the markers
subtracts one product of rank 3 P. Conditions that contradict each other are met as nearly as possible.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from understudy.analogy.conditions import LIMIT_SLACK_RADIANS, ConditionResiduals, Conditions
from understudy.analogy.matching import MarkerMatch
from understudy.analogy.study import JointChart
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.kinematics import locate
from understudy.figure.skeleton import Point
from understudy.solve.coordinates import Posture


def orthonormalise(table: Array, free: np.ndarray) -> Array:
    """A table with its basis vectors made orthonormal by changing their free coordinates (N,) only.

    With the other coordinates, G, fixed, the free part F must satisfy `F F' = I - G G'`. With R the square root of the
    right side, it becomes R times the orthonormal vectors nearest to `R^-1 F`.
    """
    result = table.copy()
    fixed = np.delete(table[1:], free, axis=1)
    eigenvalues, eigenvectors = np.linalg.eigh(np.eye(len(table) - 1) - fixed @ fixed.T)
    root = np.sqrt(np.maximum(eigenvalues, 1e-6))
    whitened = (eigenvectors / root) @ eigenvectors.T @ table[1:, free]
    left, _, right = np.linalg.svd(whitened, full_matrices=False)
    result[1:, free] = (eigenvectors * root) @ eigenvectors.T @ left @ right
    return result


def orthonormality_hessian(basis: Array, slope: Array, stiffness: float) -> Array:
    """(K D, K D) the term that orthonormality [eq. 6] adds to the Hessian by basis vectors (K, D).

    Steps are taken along the manifold `F F' = I` and projected back onto it by `orthonormalise`. A stiff penalty on
    `dF F' + F dF'` keeps steps tangential. The curvature of the manifold adds `-sym(slope F')` per squared step; its
    absolute value is taken, so that a saddle is left as fast as a minimum is reached.
    """
    count, size = basis.shape
    d_products = np.zeros((count, count, count, size))
    for i in range(count):
        d_products[i, :, i] += basis
        d_products[:, i, i] += basis
    jacobian = d_products.reshape(count * count, count * size)
    curvatures, axes = np.linalg.eigh(0.5 * (slope @ basis.T + basis @ slope.T))
    return 1e2 * stiffness * jacobian.T @ jacobian + np.kron((axes * np.abs(curvatures)) @ axes.T, np.eye(size))


NUM_SAMPLE_FRAMES = 72
"""Frames that represent the motion: more than the 66 first and second moments of five and five components."""


@record
class MarkerObjective:
    """The wanted movement of B's matched markers, metres about their means."""

    joints: np.ndarray
    """(P,) the joint that each matched marker of B is on."""
    offsets: Array
    """(P, 3) metres, in that joint's frame."""
    weights: Array
    """(P,) weight of each marker; their sum is 1."""
    movement: Array
    """(P, 3, K) wanted movement in metres per unit of each component of A's new motion in marker space."""
    markers: np.ndarray
    """(P,) their indices among B's markers."""
    means: Array | None = None
    """(P, 3) wanted mean position in metres from the root; None if it does not matter, as in the paper."""
    mean_weights: Array = field(default_factory=lambda: np.zeros(0))
    """(P,) weight of each marker's mean relative to its movement; empty without means."""

    def wanted(self, course: Array) -> Array:
        """(F, P, 3) metres: wanted offset of each marker from its mean at points (F, K) of the eigenmotion."""
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
    """Make the objective from matches [eq. 5].

    Args:
        markers: B's markers.
        chart: B's coordinates.
        matches: Which of them go with which of A's; one marker may be matched by several eigenvectors.
        vectors: (3 J, K) eigenvectors of A's new motion in marker space.
        means: Mean positions (3 I,) of B's markers in its example, and the shift (3 J,) of the mean positions of A's
            markers from its example to its new motion. B's means are shifted by it, scaled.
        mean_weight: Weight of the means; markers that move little get less.

    The objectives of several eigenvectors want different movements of one marker. The sum of their squares equals, up
    to a constant, one objective with their weighted mean.
    """
    marker_vectors = vectors.reshape(-1, 3, vectors.shape[1])
    chosen = sorted({match.marker for match in matches})
    movement = np.zeros((len(chosen), 3, vectors.shape[1]))
    weights, shifts = np.zeros(len(chosen)), np.zeros((len(chosen), 3))
    for match in matches:
        row = chosen.index(match.marker)
        share = match.weight * match.scales * match.shares
        movement[row] += np.einsum("j,jck->ck", share, marker_vectors[match.partners])
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
        # The movement of a marker that hardly moves is noise, and so is the scale of its mean.
        mean_weights=mean_weight * np.minimum(energy / max(float(np.mean(energy)), 1e-12), 1.0),
    )


@record
class Misfit:
    """Residuals of B's markers at weighted frames, and their derivatives."""

    value: float
    """Half the weighted mean square."""
    residuals: Array
    """(S, 3 P) residuals in unit lengths, times root weights, plus the weighted residuals of the means."""
    slopes: Array | None
    """(S, 3 P, D) their derivatives by the coordinates of the frame, without the derivative of the mean."""


def misfit(
    goal: MarkerObjective, posture: Posture, course: Array, share: Array, unit: float, *, slopes: bool = True
) -> Misfit:
    """The objective [eq. 5] at a posture of some frames.

    Args:
        goal: The wanted movement.
        posture: B at S frames.
        course: (S, K) the eigenmotion of the new motion in marker space at those frames.
        share: (S,) weights of the frames; their sum is 1.
        unit: Unit length, metres.
        slopes: Whether to compute derivatives.
    """
    scale = np.sqrt(goal.weights) / unit
    positions = posture.points(goal.joints, goal.offsets)
    residuals = (positions - goal.wanted(course)) * scale[:, None]
    mean = np.einsum("s,spc->pc", share, residuals)
    residuals -= mean
    flat = residuals.reshape(len(residuals), -1)
    value = 0.5 * float(share @ np.einsum("sr,sr->s", flat, flat))
    if goal.means is not None:
        mean_error = mean - goal.means * scale[:, None]
        weighted_error = goal.mean_weights[:, None] * mean_error
        value += 0.5 * float(np.sum(weighted_error * mean_error))
        flat = flat + weighted_error.ravel()
    if not slopes:
        return Misfit(value=value, residuals=flat, slopes=None)
    jacobian = posture.point_jacobian(goal.joints, positions) * scale[:, None, None]
    return Misfit(value=value, residuals=flat, slopes=jacobian.reshape(*flat.shape, -1))


def reduce_frames(course: Array, count: int = NUM_SAMPLE_FRAMES) -> tuple[np.ndarray, Array]:
    """Choose frames that represent the whole motion, and their weights.

    Args:
        course: (F, K) eigenmotion, or several side by side.
        count: Most frames.

    Returns:
        Frame numbers (S,) and non-negative weights (S,) of sum 1. The weighted first and second moments are those of
        all frames, exactly if `count` allows it.
    """
    frames = len(course)
    if frames <= count:
        return np.arange(frames), np.full(frames, 1.0 / frames)
    chosen = np.unique(np.rint(np.linspace(0, frames - 1, count)).astype(np.intp))
    normalised = course / np.maximum(np.sqrt(np.mean(course**2, axis=0)), 1e-12)
    rows, columns = np.triu_indices(course.shape[1])
    features = np.concatenate([np.ones((frames, 1)), normalised, normalised[:, rows] * normalised[:, columns]], axis=1)
    table, goal = features[chosen].T, features.mean(axis=0)
    uniform = np.full(len(chosen), 1.0 / len(chosen))
    weights = uniform + np.linalg.lstsq(table, goal - table @ uniform, rcond=1e-9)[0]
    if weights.min() < 0.0:
        from scipy.optimize import nnls

        # The least-norm change makes some weights negative: solve with weights >= 0 and a slight pull to even weights.
        pull = 1e-3 * np.eye(len(chosen))
        weights = nnls(np.concatenate([table, pull]), np.concatenate([goal, pull @ uniform]))[0]
    return chosen, weights / weights.sum()


MAX_ROUNDS = 10
"""Most updates of the multipliers."""

MAX_STEPS = 12
"""Most Gauss-Newton steps between two updates."""

MAX_VIOLATION = 1e-5
"""Radians or unit lengths: a condition with a smaller violation is met."""

FIRST_PENALTY, MAX_PENALTY = 0.01, 100.0
"""Penalty of violated conditions at first, and its maximum."""

CONDITION_STIFFNESS = 100.0
"""Penalty of poses and places relative to that of limits, which are many."""

FIRST_DAMPING = 1e-3
"""Damping of the first step, relative to the diagonal of the normal matrix."""

PULL = 0.01
"""Weight of staying near the start, relative to the objective."""

MIN_GAIN = 1e-3
"""Steps stop when one reduces the merit by less than this share."""


@record
class Task:
    """The problem: an objective and conditions over weighted frames, and a table to stay near."""

    chart: JointChart
    goal: MarkerObjective
    conditions: Conditions
    course: Array
    """(S, K) A's new eigenmotion in joint space at the frames in view."""
    marker_course: Array
    """(S, L) the same in marker space."""
    share: Array
    """(S,) weights of the frames in the objective; zero for frames that only have conditions."""
    start: Array
    """(1 + K, D) mean pose and basis vectors to start from."""
    near: Array | None = None
    """(1 + K, D) mean pose and basis vectors to stay near; the start if not given."""
    free: np.ndarray
    """(N,) the coordinates that affect the objective or a condition; the others keep their values at the start."""
    orthonormal: bool = True
    """Whether the basis vectors must be orthonormal [eq. 6]."""
    unit: float = 1.0
    """Unit length of the objective, metres."""
    pull: float = PULL
    """Weight of staying near: of the mean square change of joint coordinates over the motion; the mean pose, which the
    objective determines less well, has twice that weight in addition."""
    metric: Array | None = None
    """(D, D) metric of a change of coordinates in both terms; the identity if not given."""

    @property
    def places(self) -> Array:
        """(S, 1 + K) the factors of the table at each frame."""
        return np.concatenate([np.ones((len(self.course), 1)), self.course], axis=1)


@record
class CoordinationResult:
    """The solved table, and how well it meets objective and conditions."""

    table: Array
    """(1 + K, D) mean pose and basis vectors."""
    initial: Array
    """(1 + K, D) the initial table: the start, adjusted to the poses."""
    misfit: float
    """Half the mean square residual of the objective, unit lengths squared."""
    violation: float
    """The largest violation of a condition: radians or unit lengths."""
    skew: float
    """The largest deviation of the basis vectors' products from those of orthonormal ones."""
    steps: int
    seconds: float


def solve(task: Task) -> CoordinationResult:
    """Find the best basis vectors and mean pose."""
    start_time = time.perf_counter()
    search = _TrustRegion(task)
    initial = search.table
    steps = search.run()
    state = search.at(search.table, slopes=False)
    return CoordinationResult(
        table=search.table,
        initial=initial,
        misfit=state.fit.value,
        violation=_worst(state.rows),
        skew=float(np.abs(search.table[1:] @ search.table[1:].T - np.eye(len(search.table) - 1)).max()),
        steps=steps,
        seconds=time.perf_counter() - start_time,
    )


def _worst(rows: ConditionResiduals) -> float:
    """The largest violation; for limits, in excess of their slack."""
    violations = np.where(rows.one_sided, rows.values - LIMIT_SLACK_RADIANS, np.abs(rows.values))
    return max(float(violations.max(initial=0.0)), 0.0)


@record
class _State:
    """Objective, conditions and merit at one table."""

    fit: Misfit
    rows: ConditionResiduals
    merit: float


class _TrustRegion:
    """The state of the solver: the table, the multipliers of the conditions and their penalty."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.places = task.places
        self.posed = _group_poses(task)
        self.table = self._project(task.start)
        self.near = self.table if task.near is None else task.near
        self.penalty = FIRST_PENALTY
        self.damping = FIRST_DAMPING
        self.pull = task.pull * np.einsum("s,sa,sb->ab", task.share, self.places, self.places)
        self.pull[0, 0] += 2.0 * task.pull
        self.metric = np.eye(self.table.shape[1]) if task.metric is None else task.metric
        self.watched: list[int] = []
        """Limits that were violated in some round."""
        self.multipliers = np.zeros(len(task.conditions.rows(self._posture(self.table), watched=()).values))
        """(R,) multipliers of the conditions' rows."""

    def run(self) -> int:
        """Solve, and return the number of steps.

        Limits are checked between rounds. A limit takes part from the round after its first violation.
        """
        steps, worst = 0, np.inf
        for _ in range(MAX_ROUNDS):
            steps += self._descend()
            posture, conditions = self._posture(self.table), self.task.conditions
            new_limits = [number for number in conditions.violated_limits(posture) if number not in self.watched]
            rows = conditions.rows(posture, slopes=False, watched=self.watched)
            violation = _worst(rows)
            if violation < MAX_VIOLATION and not new_limits:
                break
            self.multipliers = self._multipliers(rows)
            self.watched += new_limits
            all_rows = conditions.rows(posture, slopes=False, watched=self.watched)
            self.multipliers = np.pad(self.multipliers, (0, len(all_rows.values) - len(self.multipliers)))
            if violation > 0.25 * worst:
                self.penalty = min(10.0 * self.penalty, MAX_PENALTY)
            worst = violation if violation >= MAX_VIOLATION else np.inf
            self.damping = min(self.damping, FIRST_DAMPING)
        return steps

    def _project(self, table: Array) -> Array:
        """Project a table onto what can be met exactly: orthonormality, and poses, which are linear in the table.

        With orthonormal vectors only the mean pose is free. It meets a single pose, and the mean of several.
        """
        result = orthonormalise(table, self.task.free) if self.task.orthonormal else table.copy()
        for columns, factors, goals in self.posed:
            error = goals - factors @ result[:, columns]
            if self.task.orthonormal:
                result[0, columns] += error.mean(axis=0)
            else:
                result[:, columns] += np.linalg.pinv(factors) @ error
        return result

    def _posture(self, table: Array) -> Posture:
        return self.task.chart.posture(self.places @ table)

    def at(self, table: Array, *, slopes: bool) -> _State:
        """Objective, conditions and merit at a table."""
        task = self.task
        posture = self._posture(table)
        fit = misfit(task.goal, posture, task.marker_course, task.share, task.unit, slopes=slopes)
        rows = task.conditions.rows(posture, slopes=slopes, watched=self.watched)
        deviation = table - self.near
        merit = fit.value + 0.5 * float(np.einsum("ab,ad,bd->", self.pull, deviation, deviation @ self.metric))
        multipliers = self._multipliers(rows)
        merit += 0.5 * float((multipliers**2 - self.multipliers**2) @ (1.0 / _row_stiffness(rows))) / self.penalty
        return _State(fit=fit, rows=rows, merit=merit)

    def _multipliers(self, rows: ConditionResiduals) -> Array:
        """(R,) the updated multiplier of each row."""
        multipliers = self.penalty * _row_stiffness(rows) * rows.values + self.multipliers
        return np.where(rows.one_sided, np.maximum(multipliers, 0.0), multipliers)

    def _descend(self) -> int:
        """Take damped Gauss-Newton steps until the merit stops falling; return their number."""
        from scipy.linalg import cho_factor, cho_solve

        state = self.at(self.table, slopes=True)
        for step in range(1, MAX_STEPS + 1):
            matrix, slope, scale = self._normal(state)
            for _ in range(12):
                try:
                    factor = cho_factor(matrix + np.diag(self.damping * scale), check_finite=False)
                except np.linalg.LinAlgError:
                    self.damping = max(10.0 * self.damping, 1e-6)
                    continue
                trial = self.table.copy()
                trial[:, self.task.free] -= cho_solve(factor, slope.ravel(), check_finite=False).reshape(slope.shape)
                trial = self._project(trial)
                trial_state = self.at(trial, slopes=False)
                if trial_state.merit < state.merit:
                    break
                self.damping = max(10.0 * self.damping, 1e-6)
            else:
                return step
            reduction = state.merit - trial_state.merit
            self.table = trial
            self.damping = max(0.2 * self.damping, 1e-9)
            if reduction < MIN_GAIN * max(abs(trial_state.merit), 1e-6):
                return step
            state = self.at(trial, slopes=True)
        return MAX_STEPS

    def _normal(self, state: _State) -> tuple[Array, Array, Array]:
        """The normal matrix and gradient (1 + K, N) of the merit by free coordinates, and the diagonal for damping."""
        task, z, free = self.task, self.places, self.task.free
        assert state.fit.slopes is not None
        slopes, share = state.fit.slopes[..., free], task.share
        count, size = len(self.table), len(free)
        frames = np.flatnonzero(share > 0.0)
        square = np.zeros((len(z), size, size))
        square[frames] = share[frames, None, None] * (np.swapaxes(slopes[frames], 1, 2) @ slopes[frames])
        slope = np.einsum("s,srd,sr->sd", share, slopes, state.fit.residuals, optimize=True)
        multipliers, stiffness = self._multipliers(state.rows), _row_stiffness(state.rows)
        for frame, jacobian, numbers in state.rows.active_jacobians(multipliers):
            free_jacobian = jacobian[:, free]
            square[frame] += self.penalty * (free_jacobian.T * stiffness[numbers]) @ free_jacobian
            slope[frame] += free_jacobian.T @ multipliers[numbers]
        pairs = np.einsum("sa,sb->sab", z, z).reshape(len(z), -1)
        whole = (pairs.T @ square.reshape(len(z), -1)).reshape(count, count, size, size).transpose(0, 2, 1, 3)
        mean = np.einsum("s,sa,srd->rad", share, z, slopes, optimize=True).reshape(slopes.shape[1], -1)
        factors = np.ones(slopes.shape[1]) if task.goal.means is None else 1.0 - np.repeat(task.goal.mean_weights, 3)
        matrix = whole.reshape(count * size, -1) - mean.T @ (factors[:, None] * mean)
        metric = self.metric[np.ix_(free, free)]
        matrix += np.kron(self.pull, metric)
        total = z.T @ slope + self.pull @ (self.table - self.near)[:, free] @ metric
        scale = np.maximum(np.diag(matrix), 1e-4 * np.diag(matrix).max())
        if task.orthonormal:
            matrix[size:, size:] += orthonormality_hessian(self.table[1:, free], total[1:], float(scale.max()))
        return matrix, total, scale


def _group_poses(task: Task) -> list[tuple[np.ndarray, Array, Array]]:
    """Poses grouped by frames: coordinates (N,), table factors of the frames (R, 1 + K) and goals (R, N)."""
    rows: dict[int, list[tuple[int, float]]] = {}
    for row, columns, goal in task.conditions.poses:
        for column, value in zip(columns.tolist(), goal.tolist(), strict=True):
            rows.setdefault(column, []).append((row, value))
    groups: dict[tuple[int, ...], list[int]] = {}
    for column, goals in rows.items():
        groups.setdefault(tuple(row for row, _ in goals), []).append(column)
    return [
        (np.array(columns), task.places[list(frames)], np.array([[v for _, v in rows[c]] for c in columns]).T)
        for frames, columns in groups.items()
    ]


def _row_stiffness(rows: ConditionResiduals) -> Array:
    """(R,) relative penalty of each row."""
    return np.where(rows.one_sided, 1.0, CONDITION_STIFFNESS)
