"""The surface of orthonormal basis vectors: how to come back to it, and how it bends [Analogies, eq. 6]."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array


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
