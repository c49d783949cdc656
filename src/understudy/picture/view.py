"""Ways of looking at a character: from its side, at its face, from above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array

VIEWS = ("side", "front", "top")
"""Every view: seen from the character's right, so that walking goes from left to right; at its face; from above."""

_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """A drawing plane: what of a world place goes right, up and towards the reader."""

    name: str
    page_from_world: Array
    """(3, 3) rows: right on the page, up on the page, out of the page towards the reader."""

    def project(self, places: ArrayLike) -> Array:
        """World places (..., 3) as page places (..., 3): right, up, nearness; metres."""
        return np.asarray(places, float) @ self.page_from_world.T

    @property
    def upright(self) -> bool:
        """Whether up in the world is up on the page, so that a floor is a line."""
        return self.name != "top"


def view_of(name: str, facing: ArrayLike) -> View:
    """A view of a character that faces a horizontal direction (3,)."""
    if name not in VIEWS:
        raise OptionError(f"Expected views among {', '.join(VIEWS)}; got `{name}`")
    forward = np.asarray(facing, float) * [1.0, 0.0, 1.0]
    length = float(np.linalg.norm(forward))
    forward = forward / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    left = np.cross(_UP, forward)
    rows = {
        "side": [forward, _UP, -left],
        "front": [left, _UP, forward],
        "top": [forward, left, _UP],
    }[name]
    return View(name=name, page_from_world=np.array(rows))


def check_views(views: str | Sequence[str]) -> tuple[str, ...]:
    """Views given as names or as one text with commas, each once, in the order given."""
    names = views.split(",") if isinstance(views, str) else list(views)
    chosen = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not chosen:
        raise OptionError(f"Expected at least one view among {', '.join(VIEWS)}; got none")
    for name in chosen:
        view_of(name, [0.0, 0.0, 1.0])
    return chosen
