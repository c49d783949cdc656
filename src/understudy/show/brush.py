"""Draw the frames of a video with Pillow, at twice the size, then halved for smooth lines."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from understudy.base.quaternion import Array
from understudy.figure.skin import skinned, smooth_normals
from understudy.figure.stick import LEFT, MIDDLE, RIGHT, hull
from understudy.show.raster import Surface, draw_body, draw_shadow
from understudy.show.video import Film, FilmPanel

OVERSAMPLE = 2
"""Factor by which frames are drawn larger."""

PAPER, GRID, AXIS, RIM = (247, 249, 251), (218, 224, 230), (170, 180, 191), (255, 255, 255)

INK, GREY = (34, 34, 34), (110, 118, 126)

HOLDS = (240, 180, 0)
"""The colour of contacts that hold."""

MARGIN_SECONDS = 1.5
"""How long before and after a contact its place is shown."""

FLOOR_BEHIND, FLOOR_IN_FRONT = 0.75, 0.4
"""Extent of the floor behind the figure and in front of it, in body sizes."""


class Brush:
    """Draws the frames of a film."""

    def __init__(self, film: Film) -> None:
        self.film = film
        self.width = film.size[0] * OVERSAMPLE // len(film.panels)
        self.letter = max(round(film.size[1] / 30), 10)
        self.font = ImageFont.load_default(self.letter)
        self.small = ImageFont.load_default(max(round(0.75 * self.letter), 8))
        self.surfaces = [Surface.of(panel.meshes) if panel.meshes else None for panel in film.panels]
        room = film.size[0] / len(film.panels) - self.letter
        self.labels = [shorten(panel.label, self.font, room) for panel in film.panels]

    def draw(self, time: float) -> Image.Image:
        """Draw the picture at a time of the motion, seconds."""
        film = self.film
        large = Image.new("RGB", (film.size[0] * OVERSAMPLE, film.size[1] * OVERSAMPLE), PAPER)
        for number in range(len(film.panels)):
            part = Image.new("RGB", (self.width, film.size[1] * OVERSAMPLE), PAPER)
            self._draw_panel(ImageDraw.Draw(part), number, time)
            if film.panels[number].meshes:
                part = self._with_body(part, number, time)
            large.paste(part, (number * self.width, 0))
        small = large.reduce(OVERSAMPLE)
        self._draw_labels(ImageDraw.Draw(small), time)
        return small

    def _draw_labels(self, pen: ImageDraw.ImageDraw, time: float) -> None:
        film, wide = self.film, self.film.size[0] / len(self.film.panels)
        edge = 0.5 * self.letter
        for number, label in enumerate(self.labels):
            if number:
                pen.line([(number * wide, 0), (number * wide, film.size[1])], fill=AXIS)
            pen.text((number * wide + edge, edge), label, fill=INK, font=self.font)
            square = f"squares of {film.steps[number]:g} m"
            pen.text((number * wide + edge, film.size[1] - 2.2 * edge), square, fill=GREY, font=self.small)
        clock = f"{time:.2f} s"
        pen.text((film.size[0] - edge, film.size[1] - 2.2 * edge), clock, fill=INK, font=self.small, anchor="ra")

    def _draw_panel(self, pen: ImageDraw.ImageDraw, number: int, time: float) -> None:
        panel, scale = self.film.panels[number], self.film.scales[number] * OVERSAMPLE
        frame, share = place_in_time(panel, time)
        middle = _interpolate(panel.middle, frame, share)
        origin = np.array([0.5 * self.width, self.film.levels[number] * OVERSAMPLE])
        flip = np.array([scale, -scale])

        def seen(places: Array) -> Array:
            return origin + ((places - middle) @ panel.eye.T)[..., :2] * flip

        lines = floor_lines(panel, middle, self.width / scale, self.film.steps[number])
        for start, end in seen(lines).tolist():
            pen.line([tuple(start), tuple(end)], fill=GRID, width=OVERSAMPLE)
        _draw_contacts(pen, panel, seen, scale, time)
        if panel.meshes:
            return
        nodes = _interpolate(panel.seen, frame, share)
        _draw_figure(pen, panel, origin + nodes[:, :2] * flip, nodes[:, 2], scale)

    def _with_body(self, part: Image.Image, number: int, time: float) -> Image.Image:
        """A panel with the skinned body and its shadow, at the nearest frame of its motion."""
        panel, scale = self.film.panels[number], self.film.scales[number] * OVERSAMPLE
        assert panel.motion is not None
        frame, share = place_in_time(panel, time)
        frame = min(frame + round(share), panel.motion.num_frames - 1)
        surface, still = self.surfaces[number], np.array([frame])
        assert surface is not None
        vertices = np.concatenate([skinned(mesh, panel.motion, still)[0] for mesh in panel.meshes])
        origin = np.array([0.5 * self.width, self.film.levels[number] * OVERSAMPLE, 0.0])

        def seen(places: Array) -> Array:
            return origin + (places - panel.middle[frame]) @ panel.eye.T * [scale, -scale, 1.0]

        image = np.array(part)
        draw_shadow(image, surface, seen(vertices * [1.0, 0.0, 1.0]))
        normals = smooth_normals(vertices, surface.triangles) @ panel.eye.T
        draw_body(image, surface, seen(vertices), normals, colours=_red_where_sliding(panel, surface, frame))
        return Image.fromarray(image)


SLIDE_RED = np.array([0.85, 0.02, 0.03])

MIN_SLIDE_SIZES_PER_S = 0.004
"""Speed of a foot, in body sizes a second, from which on it is painted red."""


def _red_where_sliding(panel: FilmPanel, surface: Surface, frame: int) -> Array:
    """(T, 3) the colours of a skin whose sliding feet are red."""
    colours = surface.colours.copy()
    for foot in panel.feet:
        step = float(foot.slid[min(frame + 1, len(foot.slid) - 1)] - foot.slid[frame])
        if step * panel.figure.fps > MIN_SLIDE_SIZES_PER_S * panel.figure.size:
            colours[np.isin(surface.joints, foot.joints)] = SLIDE_RED
    return colours


def place_in_time(panel: FilmPanel, time: float) -> tuple[int, float]:
    """The frame of a figure before a time, and the fraction of the way to the next frame."""
    last = len(panel.figure.nodes) - 1
    at = min(max(time * panel.figure.fps, 0.0), float(last))
    frame = min(int(at + 1e-9), max(last - 1, 0))
    return frame, max(at - frame, 0.0)


def _interpolate(values: Array, frame: int, share: float) -> Array:
    after = min(frame + 1, len(values) - 1)
    return (1.0 - share) * values[frame] + share * values[after]


def floor_lines(panel: FilmPanel, middle: Array, width: float, step: float) -> Array:
    """(L, 2, 3) grid lines of the floor around the middle, fixed in the world, so that they pass as the body walks."""
    size = panel.figure.size
    # The grid is aligned with the camera's right axis and passes through the world's origin.
    across, nearer = panel.eye[0], np.cross(panel.eye[0], [0.0, 1.0, 0.0])
    right, depth = float(middle @ across), float(middle @ nearer)
    left, right = right - 0.5 * width, right + 0.5 * width
    columns = np.arange(math.ceil(left / step), math.floor(right / step) + 1) * step
    far, near = depth - FLOOR_BEHIND * size, depth + FLOOR_IN_FRONT * size
    rows = np.arange(math.ceil(far / step), math.floor(near / step) + 1) * step
    if not len(columns) or not len(rows):
        return np.empty((0, 2, 3))
    upright = columns[:, None, None] * across + rows[[0, -1]][None, :, None] * nearer
    level = np.array([left, right])[None, :, None] * across + rows[:, None, None] * nearer
    return np.concatenate([upright, level])


def _draw_contacts(
    pen: ImageDraw.ImageDraw, panel: FilmPanel, seen: Callable[[Array], Array], scale: float, time: float
) -> None:
    """Draw a ring for each contact near this time, filled while it holds."""
    wide = max(0.045 * panel.figure.size * scale, 5.0 * OVERSAMPLE)
    for contact in panel.contacts:
        if contact.place is None or not contact.start - MARGIN_SECONDS <= time <= contact.end + MARGIN_SECONDS:
            continue
        x, y = seen(np.asarray(contact.place, float))
        holds = contact.start - 1e-6 <= time <= contact.end + 1e-6
        box = [x - wide, y - 0.4 * wide, x + wide, y + 0.4 * wide]
        pen.ellipse(box, fill=HOLDS if holds else None, outline=AXIS, width=OVERSAMPLE)


def _draw_figure(pen: ImageDraw.ImageDraw, panel: FilmPanel, dots: Array, near: Array, scale: float) -> None:
    """Draw a pose from back to front, each bone with a pale rim that separates crossing limbs."""
    figure = panel.figure
    colours = {side: rgb(panel.palette.of(side)) for side in (LEFT, MIDDLE, RIGHT)}
    if figure.rigid:
        edge = [tuple(place) for place in hull(dots[figure.drawn]).tolist()]
        pen.polygon(edge, fill=GRID, outline=colours[MIDDLE], width=2 * OVERSAMPLE)
        return
    for start, end, width, side in sorted(figure.strokes, key=lambda stroke: near[stroke[0]] + near[stroke[1]]):
        half = max(0.5 * width * scale, 1.5 * OVERSAMPLE)
        _draw_rod(pen, dots[start].tolist(), dots[end].tolist(), half, colours[side])


def _draw_rod(
    pen: ImageDraw.ImageDraw, start: list[float], end: list[float], half: float, colour: tuple[int, int, int]
) -> None:
    """Draw a line with round ends and a rim at its sides; a disc if both ends are the same point."""
    if start != end:
        ends = [tuple(start), tuple(end)]
        # The rim has no round ends, or it would cut limbs apart at their joints.
        pen.line(ends, fill=RIM, width=max(round(2.0 * (half + OVERSAMPLE)), 1))
        pen.line(ends, fill=colour, width=max(round(2.0 * half), 1))
    for right, down in (start, end):
        pen.ellipse([right - half, down - half, right + half, down + half], fill=colour)


def colours_of(film: Film) -> list[tuple[int, int, int]]:
    """Every colour of a film, and its mixtures with the background, which smooth edges have."""
    pure = [GRID, AXIS, RIM, INK, GREY, HOLDS]
    for palette in dict.fromkeys(panel.palette for panel in film.panels):
        pure += [rgb(palette.of(side)) for side in (LEFT, MIDDLE, RIGHT)]
    shares = np.array([1.0, 0.8, 0.6, 0.4, 0.2])[:, None]
    mixed = [np.rint(shares * colour + (1.0 - shares) * np.array(PAPER)).astype(int) for colour in pure]
    return [PAPER, *((int(r), int(g), int(b)) for r, g, b in np.concatenate(mixed))]


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour #rrggbb as numbers from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def shorten(words: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: float) -> str:
    """Text on one line, cut to a width in pixels."""
    line = " ".join(words.split())
    if font.getlength(line) <= width:
        return line
    fits = bisect.bisect_right(range(len(line)), width, key=lambda count: font.getlength(line[:count] + "..."))
    return line[: max(fits - 1, 0)] + "..."
