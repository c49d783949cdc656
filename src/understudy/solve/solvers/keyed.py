"""A few keys at given times, with quaternions interpolated between them [Vanderhyde03].

The displacement at a key is a rotation for each ball joint and an angle for each hinge. Between two keys a ball joint
rotates at constant speed along the shortest way. Joint limits are constraints of the problem.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import (
    Array,
    conjugate,
    exp,
    log,
    multiply,
    right_jacobian,
    right_jacobian_inverse,
    to_matrix,
)
from understudy.base.records import cached, record
from understudy.figure.skeleton import NUM_AXES
from understudy.solve.coordinates import Bodies
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers.descent import Descent, DescentStep, KeyCurve


@record(eq=True)
class Keyed(Descent):
    """Takes damped Gauss-Newton steps on keys that the user has placed."""

    name: ClassVar[str] = "keyed"

    keys: tuple[float, ...] = ()
    """Seconds, rising: the times of the keys; the displacement is constant before the first and after the last."""
    count: int = 5
    """The number of keys, evenly spaced from the first frame to the last, if no times are given."""
    interpolation: str = "slerp"
    """Between keys: `slerp`, or `cubic` (a natural cubic spline of rotation vectors)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interpolation not in ("slerp", "cubic"):
            raise OptionError(f"Solver `keyed`: expected interpolation `slerp` or `cubic`, got `{self.interpolation}`")
        if self.count < 1:
            raise OptionError(f"Solver `keyed`: expected at least one key, got {self.count}")
        if not np.all(np.isfinite(self.keys)) or np.any(np.diff(self.keys) <= 0.0):
            raise OptionError(f"Solver `keyed`: expected key times that rise, got {list(self.keys)}")

    def curve(self, problem: Problem, sample: ProblemAtFrames) -> KeyCurve:
        last = float(problem.times[-1])
        count = self.count if last > 0.0 else 1
        keys = np.array(self.keys or np.linspace(0.0, last, count), float)
        if self.interpolation == "cubic":
            return CubicCurve(weights=_cubic_weights(keys, sample.times), whole=_cubic_weights(keys, problem.times))
        balls = ball_columns(sample.bodies_at_frames)
        return SlerpCurve(part=_Intervals.of(keys, sample.times), whole=_Intervals.of(keys, problem.times), balls=balls)

    def linear_step(self, step: DescentStep) -> tuple[Array, Array]:
        linear, weights = step.linear, np.where(step.active, 1.0 / step.compliance, 0.0)
        rows = linear.matrix.toarray()
        if np.any(linear.chains >= 0):
            rows = np.stack([linear.centre(column) for column in rows.T], axis=1)
        system = rows.T @ (weights[:, None] * rows)
        system[np.arange(len(system)), np.arange(len(system))] += step.cost
        keys = np.linalg.solve(system, -rows.T @ (weights * step.residual))
        return keys, step.forces(keys)


@record
class _Intervals:
    """The two keys around each time."""

    first: np.ndarray
    """(N,) the key before each time; the next key follows it, if there is one."""
    share: Array
    """(N,) the share of the way to the next key."""
    num_keys: int

    @staticmethod
    def of(keys: Array, times: Array) -> _Intervals:
        if len(keys) == 1:
            return _Intervals(first=np.zeros(len(times), dtype=np.intp), share=np.zeros(len(times)), num_keys=1)
        at = np.clip(times, keys[0], keys[-1])
        first = np.clip(np.searchsorted(keys, at, side="right") - 1, 0, len(keys) - 2)
        return _Intervals(first=first, share=(at - keys[first]) / np.diff(keys)[first], num_keys=len(keys))

    @cached
    def second(self) -> np.ndarray:
        return np.minimum(self.first + 1, self.num_keys - 1)


@record
class SlerpCurve(KeyCurve):
    """Slerp of ball joints between keys, linear interpolation of all other coordinates."""

    part: _Intervals
    """The evaluated frames."""
    whole: _Intervals
    """Every frame."""
    balls: np.ndarray
    """(B, 3) the coordinates of each ball joint."""

    @property
    def num_keys(self) -> int:
        return self.part.num_keys

    def values(self, keys: Array) -> Array:
        return self._interpolate(self.part, keys)

    def everywhere(self, keys: Array) -> Array:
        return self._interpolate(self.whole, keys)

    def _interpolate(self, part: _Intervals, keys: Array) -> Array:
        before, after, share = keys[part.first], keys[part.second], part.share[:, None]
        out = (1.0 - share) * before + share * after
        a, b = before[:, self.balls], after[:, self.balls]
        out[:, self.balls] = slerp_vectors(a, b, share)[0]
        return out

    def chain(self, keys: Array, times: np.ndarray, jacobian: Array) -> tuple[np.ndarray, Array]:
        first, second, share = self.part.first[times], self.part.second[times], self.part.share[times]
        out = np.stack([(1.0 - share)[:, None] * jacobian, share[:, None] * jacobian], axis=1)
        a, b = keys[self.part.first][:, self.balls], keys[self.part.second][:, self.balls]
        _, by_a, by_b = slerp_vectors(a, b, self.part.share[:, None])
        d_balls = jacobian[:, self.balls]
        out[:, 0][:, self.balls] = np.einsum("abi,abij->abj", d_balls, by_a[times])
        out[:, 1][:, self.balls] = np.einsum("abi,abij->abj", d_balls, by_b[times])
        return np.stack([first, second], axis=1), out


@record
class CubicCurve(KeyCurve):
    """A natural cubic spline through the keys."""

    weights: Array
    """(N, K) the weight of each key at each evaluated frame."""
    whole: Array
    """(F, K) the weight of each key at every frame."""

    @property
    def num_keys(self) -> int:
        return self.weights.shape[1]

    def values(self, keys: Array) -> Array:
        return self.weights @ keys

    def everywhere(self, keys: Array) -> Array:
        return self.whole @ keys

    def chain(self, keys: Array, times: np.ndarray, jacobian: Array) -> tuple[np.ndarray, Array]:
        every_key = np.broadcast_to(np.arange(self.num_keys), (len(times), self.num_keys))
        return every_key, self.weights[times][:, :, None] * jacobian[:, None]


def slerp_vectors(a: Array, b: Array, share: Array) -> tuple[Array, Array, Array]:
    """Slerp of rotation vectors along the shortest way, and its derivatives.

    Args:
        a: (..., 3) the first vector.
        b: (..., 3) the second vector.
        share: (...) the share of the way from a to b.

    Returns:
        The vector (..., 3) and its derivatives (..., 3, 3) by a and by b.
    """
    fraction = np.broadcast_to(share, a.shape[:-1])[..., None]
    rotation = log(multiply(conjugate(exp(a)), exp(b)))
    vector = log(multiply(exp(a), exp(fraction * rotation)))
    # A small rotation of a acts in the frame before the partial rotation. It also changes the rotation from a to b.
    inverse, d_partial = to_matrix(exp(-fraction * rotation)), fraction[..., None] * right_jacobian(fraction * rotation)
    d_vector = right_jacobian_inverse(vector)
    by_a = d_vector @ (inverse - d_partial @ right_jacobian_inverse(-rotation)) @ right_jacobian(a)
    by_b = d_vector @ d_partial @ right_jacobian_inverse(rotation) @ right_jacobian(b)
    return vector, by_a, by_b


def ball_columns(bodies: Bodies) -> np.ndarray:
    """(B, 3) the coordinates of the ball joints of all bodies."""
    columns = []
    for number, body in enumerate(bodies.bodies):
        start = bodies.columns(number).start + body.num_shifts
        first = np.flatnonzero(np.r_[True, np.diff(body.joint_of) > 0]) if len(body.joint_of) else np.zeros(0, int)
        columns += [start + c + np.arange(3) for c in first if NUM_AXES[body.skeleton.kinds[body.joint_of[c]]] == 3]
    return np.array(columns, dtype=np.intp).reshape(-1, 3)


def _cubic_weights(keys: Array, times: Array) -> Array:
    """(N, K) the weights of the keys of a natural cubic spline at times, constant beyond the ends."""
    if len(keys) == 1:
        return np.ones((len(times), 1))
    from scipy.interpolate import CubicSpline

    return CubicSpline(keys, np.eye(len(keys)), bc_type="natural")(np.clip(times, keys[0], keys[-1]))


SOLVER = Keyed
