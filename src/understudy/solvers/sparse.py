"""Residuals linearised by the keys of a displacement curve, as sparse matrices.

A row of derivatives belongs to one frame, and a frame feels few keys, so a row has few entries. Rows of a plant
anywhere are measured from their own mean, the place that is left open: subtracting it is a projection, applied
when multiplying and never stored. Where a matrix must be stored the same rows are differences of neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from understudy.evaluation import Evaluation
from understudy.geometry.quaternion import Array
from understudy.problem import Problem
from understudy.records import remembered
from understudy.solvers.layout import Layout
from understudy.solvers.rows import active_rows
from understudy.splines import Basis, Knots

Product = Callable[[Array], Array]
"""A matrix as what it does to a vector."""


class Curve(ABC):
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
class SplineCurve(Curve):
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
class Linear:
    """All residuals that may matter, to first order in the keys."""

    layout: Layout
    matrix: csr_array
    """(A, K D) derivatives of each row by the keys."""
    values: Array
    """(A,) residuals, linked ones from their own mean."""

    @staticmethod
    def of(evaluation: Evaluation, curve: Curve, keys: Array, margin: float) -> Linear:
        """Linearise at keys (K, D), with the one-sided residuals that are above -margin."""
        layout = Layout.of(evaluation, active_rows(evaluation, margin))
        felt, by_keys = curve.chain(keys, layout.times, layout.jacobian(evaluation))
        rows, width, coordinates = by_keys.shape
        columns = felt[:, :, None] * coordinates + np.arange(coordinates)
        starts = np.arange(rows + 1) * (width * coordinates)
        matrix = csr_array((by_keys.ravel(), columns.ravel(), starts), shape=(rows, curve.num_keys * coordinates))
        found = Linear(layout=layout, matrix=matrix, values=np.zeros(rows))
        return Linear(layout=layout, matrix=matrix, values=found.centre(layout.values(evaluation)))

    @remembered
    def chains(self) -> np.ndarray:
        """(A,) the first row of each linked row's chain; -1 for rows on their own."""
        before, rows = self.layout.before, np.arange(len(self.layout.before))
        first = np.where(before >= 0, before, rows)
        while np.any(first[first] != first):
            first = first[first]
        return np.where((before >= 0) | ~self.layout.counts, first, -1)

    @remembered
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

    @remembered
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
