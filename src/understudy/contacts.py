"""Contacts: what touches what, when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.skeleton import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact:
    """A point of a body touching something from one time to another, both included."""

    point: Point
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    place: Array | None = None
    """(3,) metres, world, where the point stays; None where what it touches moves."""
    actor: str = ""
    """Whose point it is, where there are several characters."""
    on: str = "floor"
    """What is touched: "floor", a prop's name or another actor's name."""
    other: Point | None = None
    """The point touched on the other actor."""

    def __post_init__(self) -> None:
        if not (np.isfinite([self.start, self.end]).all() and self.start <= self.end):
            raise OptionError(f"A contact must end after it starts; got {self.start} to {self.end} s")

    def frames(self, fps: float, num_frames: int) -> np.ndarray:
        """The frames of a motion during which it holds."""
        first = max(int(np.ceil(self.start * fps - 1e-6)), 0)
        last = min(int(np.floor(self.end * fps + 1e-6)), num_frames - 1)
        return np.arange(first, last + 1)
