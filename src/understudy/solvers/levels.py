"""The passes of the whole-motion solver over a motion, and what follows one that leaves too much to do."""

from __future__ import annotations

from dataclasses import dataclass, replace

COARSE = 1e3
"""Stiffness of the band-limited levels: soft enough that they follow what moves, not the noise on top of it."""
STEPS = 12
"""Steps at most of the band-limited level."""
ROUGHLY = 0.15
"""Gain at which the first level hands over to the next, which finishes what is left."""
FINISH = 1e6
"""Stiffness of the last level, whose keys are the frames themselves: what is left is met to a thousandth."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """One pass over the motion."""

    spacing: float
    """Seconds between keys; 0 for a key of its own at each frame."""
    rate: float
    """Frames a second at which constraints are looked at, besides the ends of their intervals."""
    stiffness: float
    """How heavily a squared metre of violation counts against change."""
    steps: int
    """Steps at most."""
    gain: float = 0.02
    """Share of what is left below which a step is the last."""


def levels(spacing: float = 4 / 30, fps: float = 120.0) -> tuple[Level, ...]:
    """A band-limited level at a spacing in seconds, then one with a key at every frame.

    The band-limited level carries the change of the motion: coarser ones before it only make feet swing wider than
    they need to [Gleicher98, fig. 7]. The last level removes what is left: fractions of a millimetre in clean
    motion, and in captured motion the shaking of planted feet.
    """
    return (
        Level(spacing=spacing, rate=min(1.0 / spacing, fps), stiffness=COARSE, steps=STEPS, gain=ROUGHLY),
        Level(spacing=0.0, rate=fps, stiffness=FINISH, steps=4),
    )


def closer(level: Level) -> Level:
    """A level that looks at twice as many frames."""
    return replace(level, rate=2.0 * level.rate, gain=min(level.gain, 0.05))


def stiffened(level: Level) -> tuple[Level, ...]:
    """What follows a band-limited level that leaves too much to do: it looks closer, then is stiffer, then denser."""
    near = closer(level)
    return (
        near,
        replace(near, stiffness=10.0 * level.stiffness),
        replace(near, stiffness=100.0 * level.stiffness, spacing=0.5 * level.spacing),
    )
