"""A factored matrix of the forces, from which residuals can be left out without factoring it again.

What leaving one out changes fades with the distance in time, so that it is found near by, however long the motion.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import dsbmv

from understudy.geometry.quaternion import Array
from understudy.solvers.dual import Pattern, factor, solve_factored

NEAR, WIDER = 512, 2
"""Residuals on either side of one within which it is tried first to find what it brings about, and how many times as
far the next try goes where it does not fade there."""
LAYING, ANSWERING = 100.0, 20.0
"""What it takes to lay out a row of the matrix for factoring, and to answer for one residual at one row: as much as
factoring so many entries of it."""


@dataclass(eq=False, kw_only=True)
class Factored:
    """The matrix of the forces, factored, for some damping and with some residuals left out."""

    damping: float
    out: np.ndarray
    """(A,) all residuals that are left out."""
    matrix: Array
    """(width, A) the factor."""
    faded: float
    """Share of what a residual brings about at its own place, below which it is no longer felt."""
    answers: dict[int, tuple[slice, Array]] = field(default_factory=dict)
    """For each of those left out that the matrix still has, where and how a unit of residual there is felt."""
    met: tuple[Array, Array] | None = None
    """The last residuals (A,), and the forces (A,) that meet them with all that the matrix has."""

    @staticmethod
    def of(pattern: Pattern, band: Array, compliance: Array, damping: float, out: np.ndarray) -> Factored:
        """Factor a band (A, width) with the compliance (A,) of its residuals, some of which are left out.

        One at a time: the next takes the place of the one before.
        """
        space = pattern.space.array("factor", *band.shape)
        matrix = pattern.soften(np.divide(band, 1.0 + damping, out=space), compliance)
        if out.any():
            matrix = pattern.left_out(matrix, out)
            matrix[out, 0] = 1.0
        # The stiffer the residuals are, the farther what is felt of each has to be followed.
        return Factored(damping=damping, out=out, matrix=factor(matrix), faded=float(compliance.min(initial=1.0)))

    def leave_out(self, out: np.ndarray) -> bool:
        """Leave out residuals (A,), if that takes no more time than factoring again."""
        if np.any(self.out & ~out):
            return False
        fresh = np.flatnonzero(out & ~self.out).tolist()
        for number, place in enumerate(fresh):
            near, answer = self._felt(place)
            # The first tells what the others will take.
            if number == 0 and ANSWERING * len(fresh) * len(answer) > (len(self.matrix) + LAYING) * len(out):
                return False
            self.answers[place] = near, answer
        self.out = out
        return True

    def _felt(self, place: int) -> tuple[slice, Array]:
        """Where and how a unit of residual at a place is felt."""
        reach, count = NEAR, self.matrix.shape[1]
        while True:
            near = slice(max(place - reach, 0), min(place + reach + 1, count))
            single = np.zeros(near.stop - near.start)
            single[place - near.start] = 1.0
            found = solve_factored(self.matrix[:, near], single)
            least = self.faded * abs(found[place - near.start])
            edge = len(self.matrix)
            before = near.start > 0 and np.abs(found[:edge]).max() > least
            if not before and not (near.stop < count and np.abs(found[-edge:]).max() > least):
                return near, found
            reach *= WIDER

    def forces(self, residuals: Array) -> Array:
        """Forces (A,) that meet residuals (A,) but for those that are left out."""
        if self.met is None or self.met[0] is not residuals:
            self.met = residuals, solve_factored(self.matrix, np.where(self.out, 0.0, residuals))
        forces = self.met[1].copy()
        for some in self._apart():
            # Such residuals are put where these are left out that nothing is left to be forced there.
            places = np.array(some)
            felt = np.zeros((len(some), len(some)))
            for column, place in enumerate(some):
                near, answer = self.answers[place]
                here = (places >= near.start) & (places < near.stop)
                felt[here, column] = answer[places[here] - near.start]
            for place, put in zip(some, np.linalg.solve(felt, forces[places]).tolist(), strict=True):
                near, answer = self.answers[place]
                forces[near] -= put * answer
            forces[places] = 0.0
        return forces

    def _apart(self) -> list[list[int]]:
        """The residuals left out later in groups that feel nothing of each other."""
        groups: list[list[int]] = []
        end = -1
        for place in sorted(self.answers):
            near = self.answers[place][0]
            if near.start >= end:
                groups.append([])
            groups[-1].append(place)
            end = max(end, near.stop)
        return groups


def product(band: Array, forces: Array) -> Array:
    """(A,) a symmetric matrix, of which the band (A, width) is given, times forces (A,)."""
    return np.asarray(dsbmv(band.shape[1] - 1, 1.0, band.T, forces, lower=1))
