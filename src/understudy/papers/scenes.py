"""What the papers' figures share: sample scenes, the measures of their captions, and drawing where it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy import samples
from understudy.bands import energy_above
from understudy.errors import MissingPackageError
from understudy.geometry.quaternion import angle_between
from understudy.io.files import open_to_write
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.picture import draw
from understudy.samples import Prop, Scene
from understudy.solvers.base import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 84.0
"""Dots an inch of the pictures."""
SMALL = 0.6
"""The size of the smaller figures of [Gleicher98], as a share of the original's."""


@cache
def scene(name: str) -> Scene:
    """A sample scene."""
    return samples.motion(name)


def spectrum(motion: Motion, source: Motion) -> str:
    """Energy of the rotations above 4, 8 and 12 Hz, as ratios to the source's, in words."""
    bands = (4.0, 8.0, 12.0)
    return " / ".join(f"{x:.2f}" for x in energy_above(motion, bands) / energy_above(source, bands))


def worst(found: Solution, *kinds: str) -> float:
    """Millimetres."""
    return 1e3 * max(o.worst for o in found.outcomes if o.constraint.kind in kinds)


def changed(motion: Motion, source: Motion) -> float:
    """Degrees, root mean square over all joints and frames."""
    return float(np.degrees(np.sqrt((angle_between(motion.rotations, source.rotations) ** 2).mean())))


def in_scene(given: Scene, motion: Motion, name: str, *, marks: bool = True) -> Scene:
    """Another motion among the same things, with the planted places marked if they are the same ones."""
    return replace(given, name=name, actors={name: motion}, contacts=given.contacts if marks else ())


def carried(motion: Motion) -> tuple[Prop, ...]:
    """The box where it stood until it is picked up, then between the hands that carry it."""
    given = scene("pick_up")
    grip = next(c for c in given.contacts if c.on == "box").frames(motion.fps, motion.num_frames)
    box, middle = given.props[0], fk(motion).points(["LeftPalm", "RightPalm"]).mean(axis=1)
    positions = box.positions.copy()
    positions[grip] = (middle - middle[grip[0]])[grip, None] + box.positions[grip[0]]
    return (replace(box, positions=positions),)


def drawn(things: Motion | Scene | Sequence[Motion | Scene], path: Path | None, **options: Any) -> None:
    """Draw motions or scenes as `understudy.picture.draw` does; nothing where there is no path."""
    if path is not None:
        draw(things, path, **options)


def plot(height: float) -> Figure:
    """An empty figure for curves, of a height in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError("matplotlib", "picture", "Drawing pictures") from None
    return Figure(figsize=(12.0, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG; the old file stays until the new one is whole."""
    with open_to_write(path) as stream:
        figure.savefig(stream, format="png", dpi=DOTS, metadata={"Software": None})
