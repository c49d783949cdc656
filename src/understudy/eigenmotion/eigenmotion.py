"""Eigenmotion: a motion taken apart into coordinations and their execution over time [Analogies, app. A]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.errors import MotionError, OptionError
from understudy.geometry.quaternion import Array

COMPONENTS = 5
"""How many components are kept, as in the paper."""
STILL = 1e-9
"""Variance, in squared metres or radians, below which nothing moves."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Eigenmotion:
    """A motion as `mean + vectors @ course[frame]`, in order of how much of the movement each part carries."""

    mean: Array
    """(N,) the mean pose."""
    vectors: Array
    """(N, K) coordinations, orthonormal columns."""
    course: Array
    """(F, K) how much of each is done at each frame; mean zero."""
    variances: Array
    """(R,) mean square of every component's course, those left out too, greatest first."""

    @property
    def num_components(self) -> int:
        return self.vectors.shape[1]

    @property
    def kept(self) -> float:
        """The share of the movement that the components hold."""
        return float(self.variances[: self.num_components].sum() / self.variances.sum())

    @property
    def spread(self) -> Array:
        """(K,) root mean square of each component's course."""
        return np.sqrt(self.variances[: self.num_components])

    def rebuilt(self) -> Array:
        """(F, N) the motion that the components give [Analogies, eq. 7]."""
        return self.mean + self.course @ self.vectors.T

    def turned(self, turn: Array) -> Eigenmotion:
        """The same motion told in components mixed by an orthogonal matrix (K, K)."""
        return replace(self, vectors=self.vectors @ turn, course=self.course @ turn)


def decompose(
    data: Array, *, components: int | None = None, energy: float | None = None, what: str = "the motion"
) -> Eigenmotion:
    """Take a motion apart into its principal components.

    Args:
        data: (F, N) a pose in each row, in joint coordinates or marker places.
        components: How many to keep; 5 if neither is given.
        energy: Or the share of the movement to keep, above 0 and up to 1.
        what: Whose movement it is, for error messages.
    """
    frames, size = data.shape
    if components is not None and energy is not None:
        raise OptionError(f"Expected components or energy, not both; got {components} and {energy}")
    if energy is not None and not 0.0 < energy <= 1.0:
        raise OptionError(f"Expected a share of energy above 0 and up to 1, got {energy}")
    wanted = COMPONENTS if components is None else components
    if energy is None and wanted < 1:
        raise OptionError(f"Expected at least one component, got {wanted}")
    mean = data.mean(axis=0)
    moved = data - mean
    if float(np.einsum("fn,fn->", moved, moved)) / frames < STILL:
        raise MotionError(
            f"Nothing moves in {what}: {frames} frames of one pose hold no coordination to learn from",
            hint="choose a stretch of the clip in which the body moves",
        )
    left, sizes, right = np.linalg.svd(moved / np.sqrt(frames), full_matrices=False)
    variances = sizes**2
    if energy is not None:
        wanted = int(np.searchsorted(np.cumsum(variances) / variances.sum(), energy - 1e-12) + 1)
    if wanted > min(frames - 1, size):
        raise MotionError(
            f"{wanted} components cannot be had from {what}: it has {frames} frames of {size} numbers, "
            f"which give at most {max(min(frames - 1, size), 0)}",
            hint="give more frames, or ask for fewer components",
        )
    # The sign of an eigenvector says nothing: the largest number is made positive, so that results repeat.
    vectors = right[:wanted].T
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(wanted)])
    course = np.sqrt(frames) * left[:, :wanted] * sizes[:wanted]
    return Eigenmotion(mean=mean, vectors=vectors * signs, course=course * signs, variances=variances)
