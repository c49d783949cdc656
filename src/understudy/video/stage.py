"""What a video shows at each of its frames: panels with a floor, a camera that goes along, and stick figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.contacts import Contact, detect_contacts
from understudy.geometry.quaternion import Array
from understudy.motion import Motion
from understudy.picture.pen import PALETTES, Palette
from understudy.picture.stick import Stick, stick
from understudy.picture.view import view_of
from understudy.records import remembered

if TYPE_CHECKING:
    from PIL.Image import Image

PITCH = np.radians(12.0)
"""How far the camera looks down, so that the floor is seen."""
FOLLOW = 1.0
"""Seconds over which the camera's path is averaged, so that it does not sway with every step."""
CLIMB = 0.6
"""Body sizes that a root must rise or sink for the camera to go up and down with it."""
ONE_SCALE = 3.0
"""Times that the sizes of figures may differ and still be drawn to one scale."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel:
    """A character in its part of the picture, with everything already seen by the camera."""

    label: str
    figure: Stick
    contacts: tuple[Contact, ...]
    palette: Palette
    eye: Array
    """(3, 3) rows: right, up and towards the reader, of the camera."""
    middle: Array
    """(F, 3) metres, world: what the camera looks at."""

    @property
    def climbs(self) -> bool:
        """Whether the camera goes up and down with the figure."""
        return bool(np.any(self.middle[:, 1]))

    @remembered
    def seen(self) -> Array:
        """(F, N, 3) metres: the nodes, then the head's centre if there is one, as the camera sees them."""
        places = self.figure.nodes
        if self.figure.head is not None:
            places = np.concatenate([places, self.figure.head[:, None]], axis=1)
        return (places - self.middle[:, None]) @ self.eye.T

    @remembered
    def box(self) -> tuple[Array, Array]:
        """(2,) and (2,) metres: lowest left and highest right that is ever drawn of the figure."""
        drawn = self.figure.drawn
        if self.figure.head is not None:
            drawn = np.append(drawn, self.seen.shape[1] - 1)
        flat = self.seen[:, drawn, :2].reshape(-1, 2)
        edge = max(self.figure.head_radius, 0.03 * self.figure.size)
        return flat.min(axis=0) - edge, flat.max(axis=0) + edge


@dataclass(frozen=True, eq=False, kw_only=True)
class Film:
    """A video that can be drawn frame by frame."""

    panels: tuple[Panel, ...]
    scales: tuple[float, ...]
    """Dots in a metre, by panel."""
    levels: tuple[float, ...]
    """Dots from the top at which what the camera looks at is, by panel."""
    steps: tuple[float, ...]
    """Metres between the lines of the floor, by panel."""
    fps: float
    size: tuple[int, int]
    speed: float
    num_frames: int

    @property
    def times(self) -> Array:
        """(N,) seconds of the motion that each frame of the video shows."""
        return np.arange(self.num_frames, dtype=float) * (self.speed / self.fps)

    def frames(self) -> Iterator[Image]:
        """The pictures, one after another."""
        from understudy.video.brush import Brush

        brush = Brush(self)
        for time in self.times:
            yield brush.draw(float(time))


def film(
    motions: Sequence[Motion],
    *,
    labels: Sequence[str] = (),
    contacts: Sequence[Sequence[Contact] | None] = (),
    fps: float,
    size: tuple[int, int],
    view: str = "side",
    speed: float = 1.0,
) -> Film:
    """Motions made ready to be filmed; the longest tells the length, the others wait in their last pose."""
    given = list(contacts) or [None] * len(motions)
    panels = tuple(_panel(motion, labels[i] if labels else "", i, given[i], view) for i, motion in enumerate(motions))
    duration = max(motion.duration for motion in motions)
    scales, levels, steps = _framed(panels, size)
    return Film(
        panels=panels,
        scales=scales,
        levels=levels,
        steps=steps,
        fps=fps,
        size=size,
        speed=speed,
        num_frames=int(np.floor(duration / speed * fps * (1.0 + 1e-9) + 1e-6)) + 1,
    )


def _panel(motion: Motion, label: str, number: int, contacts: Sequence[Contact] | None, view: str) -> Panel:
    figure = stick(motion, label)
    mean = figure.facing.mean(axis=0)
    # A body that spins faces no way on average; then the middle frame says.
    facing = mean if np.linalg.norm(mean) > 0.3 else figure.facing[len(figure.facing) // 2]
    right, up, out = view_of(view, facing).page_from_world
    tilted = np.stack([right, np.cos(PITCH) * up - np.sin(PITCH) * out, np.cos(PITCH) * out + np.sin(PITCH) * up])
    middle = _averaged(motion.root, FOLLOW * motion.fps)
    if np.ptp(middle[:, 1]) < CLIMB * figure.size:
        middle = middle * [1.0, 0.0, 1.0]
    found = detect_contacts(motion) if contacts is None else tuple(contacts)
    return Panel(
        label=figure.name or "motion",
        figure=figure,
        contacts=found,
        palette=PALETTES[number % len(PALETTES)],
        eye=tilted,
        middle=middle,
    )


def _averaged(path: Array, frames: float) -> Array:
    """A path (F, 3) averaged over some frames around each, fewer at the ends so that it stays even there."""
    half = np.minimum(np.arange(len(path)), np.arange(len(path))[::-1])
    half = np.minimum(half, round(0.5 * frames))
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(path, axis=0)])
    at = np.arange(len(path))
    return (sums[at + half + 1] - sums[at - half]) / (2 * half + 1)[:, None]


def _framed(panels: Sequence[Panel], size: tuple[int, int]) -> tuple[tuple[float, ...], ...]:
    """Scales, levels and floor steps: one for all, unless a small figure would be lost beside a large one."""
    wide, tall = 0.9 * size[0] / len(panels), 0.78 * size[1]
    if max(p.figure.size for p in panels) > ONE_SCALE * min(p.figure.size for p in panels):
        groups = [[panel] for panel in panels]
    else:
        groups = [list(panels)]
    found = []
    for group in groups:
        boxes = [_shared_box([other for other in group if other.climbs == panel.climbs]) for panel in group]
        # The camera keeps to the root, so what sticks out farthest on either side tells the width.
        half = max(float(np.abs([low[0], high[0]]).max()) for low, high in boxes)
        scale = min(wide / (2.0 * half), tall / max(float(high[1] - low[1]) for low, high in boxes))
        step = grid_step(max(panel.figure.size for panel in group))
        found += [(scale, 0.52 * size[1] + 0.5 * scale * float(low[1] + high[1]), step) for low, high in boxes]
    return tuple(zip(*found, strict=True))


def _shared_box(panels: Sequence[Panel]) -> tuple[Array, Array]:
    """What is ever drawn of several figures, so that they stand on one level."""
    return np.min([panel.box[0] for panel in panels], axis=0), np.max([panel.box[1] for panel in panels], axis=0)


def grid_step(size: float) -> float:
    """Metres: the largest round number up to a third of a body's size."""
    power = 10.0 ** math.floor(math.log10(size / 3.0))
    return next(power * k for k in (5.0, 2.0, 1.0) if power * k <= size / 3.0 * (1.0 + 1e-9))
