"""What an analogy may choose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.eigenmotion.matching import LIKE_SIZE, SIMILAR
from understudy.eigenmotion.solving import PULL
from understudy.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How an analogy is made; what is None is chosen by itself."""

    components: int | None = None
    """How many components of each motion are used; the paper's 5 if neither this nor energy is given."""
    energy: float | None = None
    """In place of a number: the share of A's new motion that its components hold."""
    eigenvectors: int = 1
    """By how many eigenvectors markers are matched; every further one adds an objective of its own."""
    together: bool = False
    """Match by several eigenvectors as one direction of movement, instead of by each with an objective of its own."""
    threshold: float | None = None
    """Match score from which on markers match; None: 0.9 to 0.8, by how much is matched."""
    similar: float = SIMILAR
    """Similarity from which on A's markers stay matched to one of B's when A's new motion is looked at."""
    like_size: float | None = LIKE_SIZE
    """How much partners that move as far as a marker itself count more in their mean (the width of the preference, in
    logarithms of scale); None: all alike, as in the paper."""
    refine: bool = True
    """Look at A's new motion to select among the markers matched."""
    unit_scales: bool = False
    """Take scales from eigenvectors of unit length, to the letter of equation 2, not from how far markers move."""
    orthonormal: bool | None = None
    """Whether B's basis vectors must be orthonormal; None: where B has an example and at most one pose is asked for."""
    aligned: bool = True
    """Turn B's own basis vectors among themselves to where they serve best, before starting from them."""
    pull: float = PULL
    """How heavily it counts that B keeps its own coordinations and mean pose where markers ask for nothing else."""
    mean_weight: float = 0.3
    """How heavily B's mean pose follows the change of A's from example to new motion; 0: not, as in the paper."""
    count: int | None = None
    """How many markers are spread over each body."""
    density: float | None = None
    """Or how many on a leg's length of bone."""
    without: tuple[str, ...] = ()
    """Joints of either body that, with all below them, carry no markers and, on A, drive nothing: a wagging tail is no
    part of a walk, and an ankle that flips in a capture none of a march."""
    limits: bool = True
    """Keep joints inside their limits."""
    retries: bool = True
    """Try other thresholds and numbers of components where the score is low."""
    travel: str | float = "feet"
    """How far B goes: "feet", as far as its feet push; "legs", by leg length; or metres for each metre of A."""
    clean: bool = True
    """Plant the feet by the spacetime solve."""
    any_length: bool = False
    """Accept examples of different length."""

    def __post_init__(self) -> None:
        if not 0.0 < self.similar <= 1.0:
            raise OptionError(f"Expected a similarity above 0 and up to 1, got {self.similar}")
        if self.threshold is not None and not 0.0 < self.threshold <= 1.0:
            raise OptionError(f"Expected a match threshold above 0 and up to 1, got {self.threshold}")
        if self.eigenvectors < 1:
            raise OptionError(f"Expected at least one eigenvector, got {self.eigenvectors}")
        for name in ("pull", "mean_weight"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise OptionError(f"Expected a {name} of zero or more, got {getattr(self, name)}")
        travel = self.travel
        if travel not in ("feet", "legs") and (isinstance(travel, str) or not (np.isfinite(travel) and travel >= 0.0)):
            raise OptionError(f'Expected travel "feet", "legs" or a number of zero or more, got {travel!r}')
