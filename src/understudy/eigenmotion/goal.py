"""The correspondence objective: B's markers move as their partners of A do, scaled [Analogies, sec. 5.1].

The unknown is a table (1 + K, D): the mean pose in its first row, a basis vector in each of the others; a frame's
coordinates are `(1, course) @ table` [eq. 4]. The objective is a sum over frames of a function of the frame's place in
eigenspace. It is taken over at most `FRAMES` of them, weighted so that weights, means and all second moments of the
eigenmotion are those of the whole motion: to second order the sum over any number of frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.coordinates import Posture
from understudy.eigenmotion.chart import Chart
from understudy.eigenmotion.matching import Match
from understudy.geometry.quaternion import Array
from understudy.kinematics import locate
from understudy.skeleton import Point

FRAMES = 72
"""Frames that stand for all: more than the 66 moments of five and five components up to the second."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
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
    chart: Chart,
    matches: Sequence[Match],
    vectors: Array,
    *,
    means: tuple[Array, Array] | None = None,
    mean_weight: float = 0.0,
) -> Goal:
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
    return Goal(
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


def misfit(goal: Goal, posture: Posture, course: Array, share: Array, unit: float, *, slopes: bool = True) -> Misfit:
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
