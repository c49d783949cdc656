"""Simple shapes that robot files give their links, and the places on them that touch things."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array, rotate, unrotate

SMALLEST = 0.004
"""Metres below which a shape only marks a place."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """A simple form; or a mesh, whose form is not known; or a mark, which has none."""

    kind: str
    """ "sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh" or "mark"."""
    place: Array
    """(3,) metres, in its link's frame."""
    turn: Array
    """(4,) its orientation in its link's frame; a capsule's and cylinder's length is along its z axis."""
    size: Array
    """(3,) metres: the radius, or radius and half length, or half sizes."""

    @property
    def is_real(self) -> bool:
        """Whether its form is known and large enough to be one."""
        return self.kind not in ("mesh", "mark") and float(self.size.max()) >= SMALLEST

    @property
    def has_form(self) -> bool:
        """Whether it is more than a mark."""
        return self.kind == "mesh" or self.is_real

    def touching(self, direction: Array) -> Array:
        """(N, 3) places of the surface that lie farthest in a direction (3,): the corners of what it can stand on."""
        towards = unrotate(self.turn, direction / np.linalg.norm(direction))
        return self.place + rotate(self.turn, self._touching(towards))

    def _touching(self, towards: Array) -> Array:
        radius, half = float(self.size[0]), float(self.size[1])
        if self.kind == "sphere":
            return radius * towards[None]
        if self.kind == "ellipsoid":
            stretched = self.size * towards
            return (self.size * stretched / max(float(np.linalg.norm(stretched)), 1e-12))[None]
        if self.kind == "capsule":
            return radius * towards + half * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
        if self.kind == "cylinder":
            return _cylinder(radius, half, towards)
        if self.kind == "box":
            corners = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]), -1).reshape(-1, 3) * self.size
            far = corners @ towards
            return corners[far > far.max() - 0.1 * float(self.size.max())]
        return np.zeros((1, 3))


def _cylinder(radius: float, half: float, towards: Array) -> Array:
    """Lying on its side, the ends of the line it touches along; else four places of the rim."""
    across = towards * [1.0, 1.0, 0.0]
    size = float(np.linalg.norm(across))
    if size > 0.7:
        return radius * across / size + half * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    rim = radius * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    return rim + np.array([0.0, 0.0, np.copysign(half, towards[2])])
