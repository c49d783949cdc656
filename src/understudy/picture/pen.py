"""Drawing on a page measured in inches: stick figures, props, paths, floors, scale bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from understudy.geometry.quaternion import Array
from understudy.picture.stick import LEFT, MIDDLE, RIGHT, Stick, Trace
from understudy.picture.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

POINTS = 72.0
"""Points in an inch, the unit of line widths."""
INK, GREY, PALE, FLOOR, PROP = "#222222", "#6f6f6f", "#c9c9c9", "#8a7a66", "#d8c3a5"

DOTTED = (0, (1.0, 1.6))
"""Dots and gaps, in line widths."""


@dataclass(frozen=True)
class Palette:
    """The colours of one character."""

    left: str
    middle: str
    right: str

    def of(self, side: int) -> str:
        return {LEFT: self.left, MIDDLE: self.middle, RIGHT: self.right}[side]


PALETTES = (
    Palette("#0072b2", "#3a3a3a", "#d55e00"),
    Palette("#00916a", "#5a5046", "#aa3377"),
    Palette("#3f8fb5", "#4d4d4d", "#997700"),
)
"""Blue and vermilion, green and purple, sky and ochre: told apart by colour-blind eyes too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel:
    """Where a part of the world goes on the page."""

    view: View
    origin: Array
    """(2,) inches: the page place of the world place whose projection is `corner`."""
    corner: Array
    """(2,) metres, projected."""
    scale: float
    """Inches in a metre."""

    def at(self, places: ArrayLike) -> Array:
        """World places (..., 3) on the page (..., 2), inches."""
        return self.on_page(self.view.project(places)[..., :2])

    def on_page(self, projected: ArrayLike) -> Array:
        """Projected places (..., 2), metres, on the page, inches."""
        return self.origin + (np.asarray(projected, float) - self.corner) * self.scale

    def points(self, metres: float) -> float:
        """A length in points, for line widths."""
        return metres * self.scale * POINTS


def mixed(colour: str, strength: float) -> tuple[float, float, float]:
    """A colour thinned with white; strength 1 is the colour itself."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return (1 - (1 - red) * strength, 1 - (1 - green) * strength, 1 - (1 - blue) * strength)


def draw_pose(
    axes: Axes, panel: Panel, figure: Stick, frame: int, palette: Palette, strength: float, order: float
) -> None:
    """Draw one pose: the far side first, each side with a white rim so that crossing limbs can be told apart."""
    nodes = figure.nodes[frame]
    page, near = panel.at(nodes), panel.view.project(nodes)[:, 2]
    if figure.rigid:
        _draw_outline(axes, panel, figure, page, palette, strength, order)
        return
    groups: list[tuple[float, int, np.ndarray | None]] = []
    for side in (LEFT, MIDDLE, RIGHT):
        bones = np.flatnonzero(figure.sides == side)
        if len(bones):
            groups.append((float(near[figure.bones[bones]].mean()), side, bones))
    if figure.head is not None:
        # The head's ball hides the neck that ends in it, whichever is nearer.
        trunk = [nearness + 1e-9 for nearness, side, _ in groups if side == MIDDLE]
        groups.append((max([float(panel.view.project(figure.head[frame])[2]), *trunk]), MIDDLE, None))
    for layer, (_, side, chosen) in enumerate(sorted(groups, key=lambda group: group[0])):
        z = order + 0.1 * layer
        if chosen is None:
            _draw_head(axes, panel, figure, frame, mixed(palette.middle, strength), z)
        else:
            _draw_limbs(axes, panel, figure, page, chosen, mixed(palette.of(side), strength), side == LEFT, z)


def _draw_limbs(
    axes: Axes,
    panel: Panel,
    figure: Stick,
    page: Array,
    chosen: np.ndarray,
    colour: tuple[float, float, float],
    hollow: bool,
    order: float,
) -> None:
    """Bones as round-ended bars, the left ones hollow, with small dots at the joints."""
    from matplotlib.collections import LineCollection

    bars = page[figure.bones[chosen]]
    widths = figure.widths[chosen] * panel.points(1.0)
    # Hollow bars are wide enough for their core to be seen, or only colour would tell left from right.
    widths = np.maximum(widths, 2.0 if hollow else 0.9)
    coats = [("white", widths + 1.4), (colour, widths), *([("white", widths * 0.45)] if hollow else [])]
    for coat, (shade, wide) in enumerate(coats):
        layer = order + 0.01 * coat
        axes.add_collection(LineCollection(bars, colors=[shade], linewidths=wide, capstyle="round", zorder=layer))
    # A joint's dot may not be wider than the thinnest bone that meets there.
    thinnest: dict[int, float] = {}
    for bone, width in zip(figure.bones[chosen], widths):
        for node in bone:
            thinnest[int(node)] = min(width, thinnest.get(int(node), width))
    dots = [node for node in thinnest if thinnest[node] > 2.2]
    if dots:
        sizes = [(0.55 * thinnest[node]) ** 2 for node in dots]
        fill = colour if hollow else "white"
        axes.scatter(page[dots, 0], page[dots, 1], s=sizes, color=[fill], linewidths=0, zorder=order + 0.05)


def _draw_head(
    axes: Axes, panel: Panel, figure: Stick, frame: int, colour: tuple[float, float, float], order: float
) -> None:
    from matplotlib.patches import Circle

    assert figure.head is not None
    centre, radius = panel.at(figure.head[frame]), figure.head_radius * panel.scale
    edge = max(panel.points(0.012 * figure.size), 0.8)
    for width, shade in ((edge + 1.4, "white"), (edge, colour)):
        ball = Circle(tuple(centre), radius, facecolor="white", edgecolor=shade, linewidth=width, zorder=order)
        axes.add_patch(ball)


def _draw_outline(
    axes: Axes, panel: Panel, figure: Stick, page: Array, palette: Palette, strength: float, order: float
) -> None:
    """A rigid body: its outline, and a dot at each end, hollow on the left."""
    from matplotlib.patches import Polygon

    fill, edge = (*mixed(palette.left, 0.25 * strength), 0.8), mixed(palette.middle, strength)
    axes.add_patch(Polygon(hull(page), facecolor=fill, edgecolor=edge, linewidth=1.8, joinstyle="round", zorder=order))
    if len(figure.bones) == 0:
        axes.scatter(page[:, 0], page[:, 1], s=25.0, color=[edge], linewidths=0, zorder=order)
        return
    dots = page[figure.bones[:, 1]]
    size = min(max(panel.points(0.03 * figure.size), 3.0), 7.0)
    colours = [mixed(palette.of(side), strength) for side in figure.sides.tolist()]
    inner = ["white" if side == LEFT else colour for side, colour in zip(figure.sides.tolist(), colours)]
    axes.scatter(
        dots[:, 0], dots[:, 1], s=size**2, facecolors=inner, edgecolors=colours, linewidths=1.2, zorder=order + 0.05
    )


def draw_boxes(
    axes: Axes, panel: Panel, corners: Array, strength: float, order: float, clip: Rectangle | None = None
) -> None:
    """Draw boxes (B, 8, 3), world corners, as their outlines, far ones first, inside a rectangle if one is given."""
    from matplotlib.patches import Polygon

    nearness = panel.view.project(corners)[..., 2].mean(axis=-1)
    for box in corners[np.argsort(nearness)]:
        shape = hull(panel.at(box))
        fill, edge = mixed(PROP, 0.8 * strength), mixed(FLOOR, strength)
        drawn = axes.add_patch(Polygon(shape, facecolor=fill, edgecolor=edge, linewidth=0.8, zorder=order))
        if clip is not None:
            drawn.set_clip_path(clip)


def draw_trace(axes: Axes, panel: Panel, trace: Trace, frames: slice, palette: Palette, size: float) -> None:
    """Draw a path: whole for feet, dotted for hands; it ends in a ring on the left side, in a dot on the right."""
    places = trace.places[frames]
    page = panel.at(places)
    if float(np.ptp(page, axis=0).max()) < 0.04:
        return
    # A path that goes to and fro many times is drawn thinner, or it would hide the body.
    length = float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum())
    weight = float(np.clip(8.0 * size / max(length, 1e-9), 0.5, 1.0))
    colour = mixed(palette.of(trace.side), 0.8 * weight)
    style = "-" if trace.foot else DOTTED
    axes.plot(*page.T, color=colour, linewidth=1.1 * weight, linestyle=style, zorder=100.0, solid_capstyle="round")
    end = mixed(palette.of(trace.side), 0.9)
    fill = "white" if trace.side == LEFT else end
    axes.plot(*page[-1], marker="o", markersize=3.6, color=end, markerfacecolor=fill, zorder=101.0)


def draw_spots(axes: Axes, panel: Panel, places: Array) -> None:
    """Mark places (S, 3) where something is planted: seen from the side its point touches the place from below."""
    page = panel.at(places)
    mark = "^" if panel.view.upright else "X"
    drop = 0.03 if panel.view.upright else 0.0
    axes.scatter(page[:, 0], page[:, 1] - drop, marker=mark, s=14, color=INK, linewidths=0, zorder=120.0)


def draw_floor(axes: Axes, left: float, right: float, height: float, order: float = 95.0) -> None:
    """Draw the floor's line with short strokes under it, in inches; over the poses, whose white rims would cut it."""
    axes.plot([left, right], [height, height], color=FLOOR, linewidth=1.1, zorder=order, solid_capstyle="butt")
    marks = np.arange(left + 0.05, right - 0.001, 0.09)
    strokes = np.stack([np.stack([marks, np.full_like(marks, height)], -1),
                        np.stack([marks - 0.045, np.full_like(marks, height - 0.05)], -1)], axis=1)  # fmt: skip
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(strokes), colors=[mixed(FLOOR, 0.5)], linewidths=0.6, zorder=order))


def draw_scale_bar(axes: Axes, right: float, bottom: float, scale: float) -> None:
    """Draw a bar of a round number of metres that ends at a page place, inches."""
    lengths = [metres for base in (0.01, 0.1, 1.0, 10.0, 100.0) for metres in (base, 2 * base, 5 * base)]
    metres = min(lengths, key=lambda length: abs(np.log(length * scale / 0.8)))
    left = right - metres * scale
    axes.plot([left, left, right, right], [bottom + 0.04, bottom, bottom, bottom + 0.04], color=INK, linewidth=1.0)
    text = f"{metres:g} m" if metres >= 0.1 else f"{100 * metres:g} cm"
    axes.text(left - 0.05, bottom, text, ha="right", va="center", fontsize=7.5, color=INK)


def hull(points: ArrayLike) -> Array:
    """The corners (H, 2) of the smallest convex shape around points (N, 2), in order."""
    ordered = np.unique(np.asarray(points, float), axis=0)
    if len(ordered) < 3:
        return ordered

    def half(sequence: Sequence[Array]) -> list[Array]:
        chain: list[Array] = []
        for point in sequence:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0.0:
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return np.array(half(list(ordered)) + half(list(ordered[::-1])))


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
