"""The page: filmstrips and overlays put together, with headings, floor, scale bars and a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from understudy.picture import pen
from understudy.picture.act import Act, frame_at, moves
from understudy.picture.key import draw_key, key_of
from understudy.picture.layout import (
    INNER_WIDTH,
    MARGIN,
    PAGE_WIDTH,
    Field,
    Strip,
    arrange,
    distinct_poses,
    field_of,
    overlay_scale,
    poses_in_line,
    strip_of,
    strip_scale,
)
from understudy.picture.pen import GREY, INK, PALETTES, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLE, _HEADING, _CAPTION, _FOOT = 0.45, 0.32, 0.36, 0.32


def compose(acts: Sequence[Act], *, views: Sequence[str], style: str, title: str) -> Figure:
    """Draw acts one below the other, all filmstrips at one scale and all overlays at one scale."""
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
    height = sum(heights) + (_TITLE if title else 0.0) + key.height + 2 * MARGIN
    figure = Figure(figsize=(PAGE_WIDTH, height), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0.0, PAGE_WIDTH)
    axes.set_ylim(0.0, height)
    axes.axis("off")
    top = height - MARGIN
    if title:
        axes.text(MARGIN, top, title, va="top", fontsize=15, fontweight="bold", color=INK)
        top -= _TITLE
    for act, act_strips, act_fields in zip(acts, strips, fields):
        top = _draw_heading(axes, act, top)
        for strip in act_strips:
            top = _draw_strip(axes, act, strip, small, top)
        if act_fields:
            top = _draw_overlay(axes, act, act_fields, large, in_row, top)
    draw_key(axes, key)
    return figure


def _lines(act: Act) -> int:
    return -(-len(act.times) // poses_in_line(len(act.times)))


def _strip_height(act: Act, strip: Strip, scale: float) -> float:
    return _lines(act) * ((strip.high - strip.low) * scale + _CAPTION + _FOOT)


def _act_height(
    act: Act, strips: Sequence[Strip], fields: Sequence[Field], small: float, large: float, in_row: bool
) -> float:
    height = _HEADING + sum(_strip_height(act, strip, small) for strip in strips)
    if fields:
        height += arrange(fields, large, in_row).height + _CAPTION + _FOOT
    return height


def _draw_heading(axes: Axes, act: Act, top: float) -> float:
    text = axes.text(MARGIN, top, act.title, va="top", fontsize=11, fontweight="bold", color=INK)
    axes.annotate(
        f"   {act.about}", xy=(1.0, 0.0), xycoords=text, va="bottom", fontsize=8.5, color=GREY, annotation_clip=False
    )
    return top - _HEADING


def _draw_strip(axes: Axes, act: Act, strip: Strip, scale: float, top: float) -> float:
    """Poses in order, evenly apart, each over its time; returns where the next thing starts."""
    from matplotlib.patches import Rectangle

    tall = (strip.high - strip.low) * scale
    line = poses_in_line(len(act.times))
    slot = INNER_WIDTH / line
    for first in range(0, len(act.times), line):
        axes.text(MARGIN, top, f"{strip.view.name} view", va="top", fontsize=7.5, color=GREY, style="italic")
        bottom = top - _CAPTION - tall + 0.12
        for place, i in enumerate(range(first, min(first + line, len(act.times)))):
            time, middle = float(act.times[i]), MARGIN + (place + 0.5) * slot
            corner = np.array([strip.middles[i], strip.low])
            if not strip.view.upright:
                corner[1] += _height_of_middle(act, strip, time)
            panel = Panel(view=strip.view, origin=np.array([middle, bottom]), corner=corner, scale=scale)
            window = Rectangle((middle - 0.5 * slot, bottom - 0.1), slot, tall + 0.2, transform=axes.transData)
            for prop in act.props:
                pen.draw_boxes(axes, panel, act.boxes(prop, time), 1.0, 3.0, clip=window)
            for number, figure in enumerate(act.sticks):
                palette = PALETTES[number % len(PALETTES)]
                pen.draw_pose(axes, panel, figure, frame_at(figure, time), palette, 1.0, 10.0 + number)
            pen.draw_spots(axes, panel, act.spots((time, time)))
            axes.text(middle, bottom - 0.13, f"{time:.2f} s", ha="center", va="top", fontsize=8, color=INK)
        if act.floor is not None and strip.view.upright:
            level = bottom + (act.floor - strip.low) * scale
            pen.draw_floor(axes, MARGIN, MARGIN + INNER_WIDTH, level)
        pen.draw_scale_bar(axes, MARGIN + INNER_WIDTH, top - 0.06, scale)
        top -= tall + _CAPTION + _FOOT
    return top


def _height_of_middle(act: Act, strip: Strip, time: float) -> float:
    """Metres: how far the middle of a pose, seen from above, is from the page's own axis."""
    places = [strip.view.project(figure.nodes[frame_at(figure, time)][figure.drawn])[:, 1] for figure in act.sticks]
    joined = np.concatenate(places)
    return 0.5 * float(joined.min() + joined.max())


def _draw_overlay(axes: Axes, act: Act, fields: Sequence[Field], scale: float, in_row: bool, top: float) -> float:
    """Poses at their true places in each view; returns where the next thing starts."""
    block = arrange(fields, scale, in_row)
    bottom = top - _CAPTION - block.height
    for field, corner in zip(fields, block.corners):
        panel = Panel(view=field.view, origin=np.array([MARGIN, bottom]) + corner, corner=field.low, scale=scale)
        _draw_field(axes, act, field, panel)
    right = MARGIN + min(max(block.width, 3.5), INNER_WIDTH)
    pen.draw_scale_bar(axes, right, top - 0.04, scale)
    return top - block.height - _CAPTION - _FOOT


def _draw_field(axes: Axes, act: Act, field: Field, panel: Panel) -> None:
    from matplotlib.patches import Rectangle

    x, y = panel.origin
    width, height = field.extent * panel.scale
    axes.text(x, y + height + 0.04, f"{field.view.name} view", va="bottom", fontsize=7.5, color=GREY, style="italic")
    window = Rectangle((x, y), width, height, transform=axes.transData)
    for prop in act.props:
        shown = [act.times[i] for i in distinct_poses(act, field.view)] if moves(prop) else [act.times[-1]]
        for i, time in enumerate(shown):
            pen.draw_boxes(axes, panel, act.boxes(prop, float(time)), _strength(i, len(shown)), 2 + 0.01 * i, window)
    if field.view.upright and act.floor is not None:
        level = y + (act.floor - field.low[1]) * panel.scale
        pen.draw_floor(axes, x, x + width, level)
        if field.view.name == "side" and len(act.times) > 1:
            _draw_times(axes, act, panel, level)
    for number, figure in enumerate(act.sticks):
        palette = PALETTES[number % len(PALETTES)]
        for i in distinct_poses(act, field.view):
            frame, strength = frame_at(figure, float(act.times[i])), _strength(i, len(act.times))
            pen.draw_pose(axes, panel, figure, frame, palette, strength, 10.0 + i + 0.5 * number)
        span = slice(frame_at(figure, act.span[0]), frame_at(figure, act.span[1]) + 1)
        for trace in figure.traces:
            pen.draw_trace(axes, panel, trace, span, palette, figure.size)
    pen.draw_spots(axes, panel, act.spots())


def _strength(i: int, count: int) -> float:
    """How strongly the i-th of some poses is drawn: the last in full, earlier ones ever lighter."""
    return 1.0 if count == 1 else 0.22 + 0.78 * (i / (count - 1)) ** 1.3


def _draw_times(axes: Axes, act: Act, panel: Panel, level: float) -> None:
    """Write times under the poses, those that find room; the last always does."""
    figure = act.sticks[0]
    taken: list[float] = []
    for i in reversed(distinct_poses(act, panel.view)):
        time = float(act.times[i])
        nodes = figure.nodes[frame_at(figure, time)][figure.drawn]
        across = float(panel.at(nodes)[:, 0].mean())
        if all(abs(across - other) > 0.5 for other in taken):
            taken.append(across)
            axes.text(across, level - 0.1, f"{time:.2f} s", ha="center", va="top", fontsize=7, color=GREY)
