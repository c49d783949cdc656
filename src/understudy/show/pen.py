"""Draw a page with matplotlib: filmstrips and overlays, with headings, floor, scale bars and a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.stick import LEFT, MIDDLE, PALETTES, RIGHT, Palette, Stick, Trace, Viewpoint, hull
from understudy.show.filmstrip import (
    INNER_WIDTH,
    MARGIN,
    PAGE_WIDTH,
    PictureRow,
    Strip,
    ViewBounds,
    arrange,
    distinct_poses,
    field_of,
    frame_at,
    moves,
    overlay_scale,
    poses_in_line,
    strip_of,
    strip_scale,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle


POINTS_PER_INCH = 72.0
"""Line widths are in points."""

INK, GREY, FLOOR, PROP = "#222222", "#6f6f6f", "#8a7a66", "#d8c3a5"

DOTTED = (0, (1.0, 1.6))
"""Dots and gaps, in line widths."""


@record
class PicturePanel:
    """The mapping from a part of the world to the page."""

    view: Viewpoint
    origin: Array
    """(2,) inches: the position on the page of the point whose projection is `corner`."""
    corner: Array
    """(2,) metres, projected."""
    scale: float
    """Inches per metre."""

    def at(self, places: ArrayLike) -> Array:
        """World positions (..., 3) on the page (..., 2), inches."""
        return self.on_page(self.view.project(places)[..., :2])

    def on_page(self, projected: ArrayLike) -> Array:
        """Projected positions (..., 2), metres, on the page, inches."""
        return self.origin + (np.asarray(projected, float) - self.corner) * self.scale

    def points(self, metres: float) -> float:
        """A length in points, for line widths."""
        return metres * self.scale * POINTS_PER_INCH


def mix_with_white(colour: str, strength: float) -> tuple[float, float, float]:
    """A colour mixed with white; strength 1 is the colour itself."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return (1 - (1 - red) * strength, 1 - (1 - green) * strength, 1 - (1 - blue) * strength)


def draw_pose(
    axes: Axes, panel: PicturePanel, figure: Stick, frame: int, palette: Palette, strength: float, order: float
) -> None:
    """Draw one pose, the far side first, each side with a white rim that separates crossing limbs."""
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
        # The head's disc always covers the neck that ends in it.
        trunk = [nearness + 1e-9 for nearness, side, _ in groups if side == MIDDLE]
        groups.append((max([float(panel.view.project(figure.head[frame])[2]), *trunk]), MIDDLE, None))
    for layer, (_, side, chosen) in enumerate(sorted(groups, key=lambda group: group[0])):
        z = order + 0.1 * layer
        if chosen is None:
            _draw_head(axes, panel, figure, frame, mix_with_white(palette.middle, strength), z)
        else:
            _draw_limbs(axes, panel, figure, page, chosen, mix_with_white(palette.of(side), strength), side == LEFT, z)


def _draw_limbs(
    axes: Axes,
    panel: PicturePanel,
    figure: Stick,
    page: Array,
    chosen: np.ndarray,
    colour: tuple[float, float, float],
    hollow: bool,
    order: float,
) -> None:
    """Draw bones as round-ended bars, the left ones hollow, with small dots at the joints."""
    from matplotlib.collections import LineCollection

    bars = page[figure.bones[chosen]]
    widths = figure.widths[chosen] * panel.points(1.0)
    # Hollow bars must be wide enough for a visible core, or only colour would distinguish left and right.
    widths = np.maximum(widths, 2.0 if hollow else 0.9)
    coats = [("white", widths + 1.4), (colour, widths), *([("white", widths * 0.45)] if hollow else [])]
    for coat, (shade, wide) in enumerate(coats):
        layer = order + 0.01 * coat
        axes.add_collection(LineCollection(bars, colors=[shade], linewidths=wide, capstyle="round", zorder=layer))
    # A joint's dot is never wider than the thinnest bone at the joint.
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
    axes: Axes, panel: PicturePanel, figure: Stick, frame: int, colour: tuple[float, float, float], order: float
) -> None:
    from matplotlib.patches import Circle

    assert figure.head is not None
    centre, radius = panel.at(figure.head[frame]), figure.head_radius * panel.scale
    edge = max(panel.points(0.012 * figure.size), 0.8)
    for width, shade in ((edge + 1.4, "white"), (edge, colour)):
        ball = Circle(tuple(centre), radius, facecolor="white", edgecolor=shade, linewidth=width, zorder=order)
        axes.add_patch(ball)


def _draw_outline(
    axes: Axes, panel: PicturePanel, figure: Stick, page: Array, palette: Palette, strength: float, order: float
) -> None:
    """Draw a rigid body: its outline, and a dot at each end, hollow on the left."""
    from matplotlib.patches import Polygon

    fill, edge = (*mix_with_white(palette.left, 0.25 * strength), 0.8), mix_with_white(palette.middle, strength)
    axes.add_patch(Polygon(hull(page), facecolor=fill, edgecolor=edge, linewidth=1.8, joinstyle="round", zorder=order))
    if len(figure.bones) == 0:
        axes.scatter(page[:, 0], page[:, 1], s=25.0, color=[edge], linewidths=0, zorder=order)
        return
    dots = page[figure.bones[:, 1]]
    size = min(max(panel.points(0.03 * figure.size), 3.0), 7.0)
    colours = [mix_with_white(palette.of(side), strength) for side in figure.sides.tolist()]
    inner = ["white" if side == LEFT else colour for side, colour in zip(figure.sides.tolist(), colours)]
    axes.scatter(
        dots[:, 0], dots[:, 1], s=size**2, facecolors=inner, edgecolors=colours, linewidths=1.2, zorder=order + 0.05
    )


def draw_boxes(
    axes: Axes, panel: PicturePanel, corners: Array, strength: float, order: float, clip: Rectangle | None = None
) -> None:
    """Draw boxes (B, 8, 3), world corners, as their outlines, far ones first, inside a rectangle if one is given."""
    from matplotlib.patches import Polygon

    nearness = panel.view.project(corners)[..., 2].mean(axis=-1)
    for box in corners[np.argsort(nearness)]:
        shape = hull(panel.at(box))
        fill, edge = mix_with_white(PROP, 0.8 * strength), mix_with_white(FLOOR, strength)
        drawn = axes.add_patch(Polygon(shape, facecolor=fill, edgecolor=edge, linewidth=0.8, zorder=order))
        if clip is not None:
            drawn.set_clip_path(clip)


def draw_trace(axes: Axes, panel: PicturePanel, trace: Trace, frames: slice, palette: Palette, size: float) -> None:
    """Draw a path: solid for feet, dotted for hands; it ends in a ring on the left side, in a dot on the right."""
    places = trace.places[frames]
    page = panel.at(places)
    if float(np.ptp(page, axis=0).max()) < 0.04:
        return
    # A path that goes back and forth many times is drawn thinner, or it would hide the body.
    length = float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum())
    weight = float(np.clip(8.0 * size / max(length, 1e-9), 0.5, 1.0))
    colour = mix_with_white(palette.of(trace.side), 0.8 * weight)
    style = "-" if trace.foot else DOTTED
    axes.plot(*page.T, color=colour, linewidth=1.1 * weight, linestyle=style, zorder=100.0, solid_capstyle="round")
    end = mix_with_white(palette.of(trace.side), 0.9)
    fill = "white" if trace.side == LEFT else end
    axes.plot(*page[-1], marker="o", markersize=3.6, color=end, markerfacecolor=fill, zorder=101.0)


def draw_spots(axes: Axes, panel: PicturePanel, places: Array) -> None:
    """Mark contact places (S, 3); in side and front views the tip of the mark touches the place from below."""
    page = panel.at(places)
    mark = "^" if panel.view.upright else "X"
    drop = 0.03 if panel.view.upright else 0.0
    axes.scatter(page[:, 0], page[:, 1] - drop, marker=mark, s=14, color=INK, linewidths=0, zorder=120.0)


def draw_floor(axes: Axes, left: float, right: float, height: float, order: float = 95.0) -> None:
    """Draw the floor line with short strokes below it, inches; over the poses, whose white rims would cut it."""
    axes.plot([left, right], [height, height], color=FLOOR, linewidth=1.1, zorder=order, solid_capstyle="butt")
    marks = np.arange(left + 0.05, right - 0.001, 0.09)
    strokes = np.stack([np.stack([marks, np.full_like(marks, height)], -1),
                        np.stack([marks - 0.045, np.full_like(marks, height - 0.05)], -1)], axis=1)  # fmt: skip
    from matplotlib.collections import LineCollection

    axes.add_collection(
        LineCollection(list(strokes), colors=[mix_with_white(FLOOR, 0.5)], linewidths=0.6, zorder=order)
    )


def draw_scale_bar(axes: Axes, right: float, bottom: float, scale: float) -> None:
    """Draw a scale bar of a round number of metres whose right end is at a position, inches."""
    lengths = [metres for base in (0.01, 0.1, 1.0, 10.0, 100.0) for metres in (base, 2 * base, 5 * base)]
    metres = min(lengths, key=lambda length: abs(np.log(length * scale / 0.8)))
    left = right - metres * scale
    axes.plot([left, left, right, right], [bottom + 0.04, bottom, bottom, bottom + 0.04], color=INK, linewidth=1.0)
    text = f"{metres:g} m" if metres >= 0.1 else f"{100 * metres:g} cm"
    axes.text(left - 0.05, bottom, text, ha="right", va="center", fontsize=7.5, color=INK)


_LINE_INCHES, _LETTER_INCHES, _SAMPLE_INCHES, _SPACE_INCHES = 0.24, 0.061, 0.42, 0.3
"""Sizes in inches: line height, letter width, width of a sample stroke, space after an entry."""


@dataclass(frozen=True)
class Entry:
    """An entry of the key: a mark and its meaning."""

    mark: str
    """"left", "right", "foot", "hand", "spot", or "" for text alone."""
    word: str
    colour: str = GREY

    @property
    def width(self) -> float:
        return (_SAMPLE_INCHES if self.mark else 0.0) + _LETTER_INCHES * len(self.word) + _SPACE_INCHES


@dataclass(frozen=True)
class Key:
    """The key: entries broken into lines that fit the page."""

    lines: tuple[tuple[Entry, ...], ...]

    @property
    def height(self) -> float:
        return _LINE_INCHES * len(self.lines) + 0.06


def key_of(acts: Sequence[PictureRow], *, overlay: bool) -> Key:
    """Make the key for acts."""
    lines: list[list[Entry]] = [[]]
    used = 0.0
    for entry in [*_side_entries(acts), *_mark_entries(acts, overlay)]:
        if lines[-1] and used + entry.width - _SPACE_INCHES > PAGE_WIDTH - 2 * MARGIN:
            lines.append([])
            used = 0.0
        lines[-1].append(entry)
        used += entry.width
    return Key(tuple(tuple(line) for line in lines if line))


def _side_entries(acts: Sequence[PictureRow]) -> list[Entry]:
    """Entries for left and right: for each character of the fullest row."""
    fullest = max(acts, key=lambda act: len(act.sticks))
    sides = {int(side) for act in acts for figure in act.sticks for side in figure.sides}
    entries = []
    for number, figure in enumerate(fullest.sticks):
        palette = PALETTES[number % len(PALETTES)]
        owner = f"{figure.name}: " if len(fullest.sticks) > 1 else ""
        if LEFT in sides:
            entries.append(Entry("left", f"{owner}left (hollow)", palette.left))
        if RIGHT in sides:
            entries.append(Entry("right", f"{owner}right (solid)", palette.right))
    return entries


def _mark_entries(acts: Sequence[PictureRow], overlay: bool) -> list[Entry]:
    entries = []
    if any(len(act.spots()) for act in acts):
        entries.append(Entry("spot", "planted here"))
    if overlay and max(len(act.times) for act in acts) > 1:
        feet = {trace.foot for act in acts for figure in act.sticks for trace in figure.traces}
        if True in feet:
            entries.append(Entry("foot", "path of a foot"))
        if False in feet:
            entries.append(Entry("hand", "path of a hand or other end"))
        entries.append(Entry("", "lighter is earlier"))
    return entries


def draw_key(axes: Axes, key: Key) -> None:
    """Draw the key with its last line at the lower margin."""
    for row, line in enumerate(reversed(key.lines)):
        x, y = MARGIN, MARGIN - 0.1 + row * _LINE_INCHES
        for entry in line:
            _draw_mark(axes, entry, x, y)
            start = x + (_SAMPLE_INCHES if entry.mark else 0.0)
            axes.text(start, y, entry.word, ha="left", va="center", fontsize=8, color=INK)
            x += entry.width


def _draw_mark(axes: Axes, entry: Entry, x: float, y: float) -> None:
    across, level = [x + 0.03, x + 0.3], [y, y]
    if entry.mark in ("left", "right"):
        axes.plot(across, level, color=entry.colour, linewidth=5, solid_capstyle="round")
        if entry.mark == "left":
            axes.plot(across, level, color="white", linewidth=2.4, solid_capstyle="round")
    elif entry.mark == "spot":
        axes.plot([x + 0.2], [y], marker="^", markersize=4, color=INK, linestyle="none")
    elif entry.mark:
        axes.plot(across, level, color=entry.colour, linewidth=1.2, linestyle="-" if entry.mark == "foot" else DOTTED)


_TITLE_INCHES, _HEADING_INCHES, _CAPTION_INCHES, _FOOT_INCHES = 0.45, 0.32, 0.36, 0.32


def compose(acts: Sequence[PictureRow], *, views: Sequence[str], style: str, title: str) -> Figure:
    """Draw acts one below the other. All filmstrips share one scale, and all overlays share one."""
    from matplotlib.figure import Figure

    count = max(len(act.times) for act in acts)
    # A filmstrip of one pose would only repeat the overlay.
    style = "overlay" if style == "both" and count == 1 else style
    strip_views = {"filmstrip": views, "both": views[:1], "overlay": ()}[style]
    strips = [[strip_of(act, view) for view in strip_views] for act in acts]
    fields = [[field_of(act, view) for view in views] if style != "filmstrip" else [] for act in acts]
    small = strip_scale([strip for group in strips for strip in group], count) if strip_views else 0.0
    large, in_row = overlay_scale(fields, acts) if style != "filmstrip" else (0.0, False)
    heights = [_act_height(act, strips[i], fields[i], small, large, in_row) for i, act in enumerate(acts)]
    key = key_of(acts, overlay=style != "filmstrip")
    height = sum(heights) + (_TITLE_INCHES if title else 0.0) + key.height + 2 * MARGIN
    figure = Figure(figsize=(PAGE_WIDTH, height), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0.0, PAGE_WIDTH)
    axes.set_ylim(0.0, height)
    axes.axis("off")
    top = height - MARGIN
    if title:
        axes.text(MARGIN, top, title, va="top", fontsize=15, fontweight="bold", color=INK)
        top -= _TITLE_INCHES
    for act, act_strips, act_fields in zip(acts, strips, fields):
        top = _draw_heading(axes, act, top)
        for strip in act_strips:
            top = _draw_strip(axes, act, strip, small, top)
        if act_fields:
            top = _draw_overlay(axes, act, act_fields, large, in_row, top)
    draw_key(axes, key)
    return figure


def _num_lines(act: PictureRow) -> int:
    return -(-len(act.times) // poses_in_line(len(act.times)))


def _strip_height(act: PictureRow, strip: Strip, scale: float) -> float:
    return _num_lines(act) * ((strip.high - strip.low) * scale + _CAPTION_INCHES + _FOOT_INCHES)


def _act_height(
    act: PictureRow, strips: Sequence[Strip], fields: Sequence[ViewBounds], small: float, large: float, in_row: bool
) -> float:
    height = _HEADING_INCHES + sum(_strip_height(act, strip, small) for strip in strips)
    if fields:
        height += arrange(fields, large, in_row).height + _CAPTION_INCHES + _FOOT_INCHES
    return height


def _draw_heading(axes: Axes, act: PictureRow, top: float) -> float:
    text = axes.text(MARGIN, top, act.title, va="top", fontsize=11, fontweight="bold", color=INK)
    axes.annotate(
        f"   {act.about}", xy=(1.0, 0.0), xycoords=text, va="bottom", fontsize=8.5, color=GREY, annotation_clip=False
    )
    return top - _HEADING_INCHES


def _draw_strip(axes: Axes, act: PictureRow, strip: Strip, scale: float, top: float) -> float:
    """Draw poses in order, evenly spaced, each above its time; return the top of the next part, inches."""
    from matplotlib.patches import Rectangle

    tall = (strip.high - strip.low) * scale
    line = poses_in_line(len(act.times))
    slot = INNER_WIDTH / line
    for first in range(0, len(act.times), line):
        axes.text(MARGIN, top, f"{strip.view.name} view", va="top", fontsize=7.5, color=GREY, style="italic")
        bottom = top - _CAPTION_INCHES - tall + 0.12
        for place, i in enumerate(range(first, min(first + line, len(act.times)))):
            time, middle = float(act.times[i]), MARGIN + (place + 0.5) * slot
            corner = np.array([strip.middles[i], strip.low])
            if not strip.view.upright:
                corner[1] += _middle_height(act, strip, time)
            panel = PicturePanel(view=strip.view, origin=np.array([middle, bottom]), corner=corner, scale=scale)
            window = Rectangle((middle - 0.5 * slot, bottom - 0.1), slot, tall + 0.2, transform=axes.transData)
            for prop in act.props:
                draw_boxes(axes, panel, act.boxes(prop, time), 1.0, 3.0, clip=window)
            for number, figure in enumerate(act.sticks):
                palette = PALETTES[number % len(PALETTES)]
                draw_pose(axes, panel, figure, frame_at(figure, time), palette, 1.0, 10.0 + number)
            draw_spots(axes, panel, act.spots((time, time)))
            axes.text(middle, bottom - 0.13, f"{time:.2f} s", ha="center", va="top", fontsize=8, color=INK)
        if act.floor is not None and strip.view.upright:
            level = bottom + (act.floor - strip.low) * scale
            draw_floor(axes, MARGIN, MARGIN + INNER_WIDTH, level)
        draw_scale_bar(axes, MARGIN + INNER_WIDTH, top - 0.06, scale)
        top -= tall + _CAPTION_INCHES + _FOOT_INCHES
    return top


def _middle_height(act: PictureRow, strip: Strip, time: float) -> float:
    """Vertical position of the middle of a pose in a top view, metres, projected."""
    places = [strip.view.project(figure.nodes[frame_at(figure, time)][figure.drawn])[:, 1] for figure in act.sticks]
    joined = np.concatenate(places)
    return 0.5 * float(joined.min() + joined.max())


def _draw_overlay(
    axes: Axes, act: PictureRow, fields: Sequence[ViewBounds], scale: float, in_row: bool, top: float
) -> float:
    """Draw poses at their true positions in each view; return the top of the next part, inches."""
    block = arrange(fields, scale, in_row)
    bottom = top - _CAPTION_INCHES - block.height
    for field, corner in zip(fields, block.corners):
        panel = PicturePanel(view=field.view, origin=np.array([MARGIN, bottom]) + corner, corner=field.low, scale=scale)
        _draw_field(axes, act, field, panel)
    right = MARGIN + min(max(block.width, 3.5), INNER_WIDTH)
    draw_scale_bar(axes, right, top - 0.04, scale)
    return top - block.height - _CAPTION_INCHES - _FOOT_INCHES


def _draw_field(axes: Axes, act: PictureRow, field: ViewBounds, panel: PicturePanel) -> None:
    from matplotlib.patches import Rectangle

    x, y = panel.origin
    width, height = field.extent * panel.scale
    axes.text(x, y + height + 0.04, f"{field.view.name} view", va="bottom", fontsize=7.5, color=GREY, style="italic")
    window = Rectangle((x, y), width, height, transform=axes.transData)
    for prop in act.props:
        times = [act.times[i] for i in distinct_poses(act, field.view)] if moves(prop) else [act.times[-1]]
        for i, time in enumerate(times):
            draw_boxes(axes, panel, act.boxes(prop, float(time)), _strength(i, len(times)), 2 + 0.01 * i, window)
    if field.view.upright and act.floor is not None:
        level = y + (act.floor - field.low[1]) * panel.scale
        draw_floor(axes, x, x + width, level)
        if field.view.name == "side" and len(act.times) > 1:
            _draw_times(axes, act, panel, level)
    for number, figure in enumerate(act.sticks):
        palette = PALETTES[number % len(PALETTES)]
        for i in distinct_poses(act, field.view):
            frame, strength = frame_at(figure, float(act.times[i])), _strength(i, len(act.times))
            draw_pose(axes, panel, figure, frame, palette, strength, 10.0 + i + 0.5 * number)
        span = slice(frame_at(figure, act.span[0]), frame_at(figure, act.span[1]) + 1)
        for trace in figure.traces:
            draw_trace(axes, panel, trace, span, palette, figure.size)
    draw_spots(axes, panel, act.spots())


def _strength(i: int, count: int) -> float:
    """Colour strength of the i-th pose: 1 for the last, less for earlier ones."""
    return 1.0 if count == 1 else 0.22 + 0.78 * (i / (count - 1)) ** 1.3


def _draw_times(axes: Axes, act: PictureRow, panel: PicturePanel, level: float) -> None:
    """Write times below poses from the last to the first, where there is room."""
    figure = act.sticks[0]
    taken: list[float] = []
    for i in reversed(distinct_poses(act, panel.view)):
        time = float(act.times[i])
        nodes = figure.nodes[frame_at(figure, time)][figure.drawn]
        across = float(panel.at(nodes)[:, 0].mean())
        if all(abs(across - other) > 0.5 for other in taken):
            taken.append(across)
            axes.text(across, level - 0.1, f"{time:.2f} s", ha="center", va="top", fontsize=7, color=GREY)
