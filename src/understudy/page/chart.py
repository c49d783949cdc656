"""Charts as SVG text: curves over time or frequency with bands behind them, and paths seen from above."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from understudy.geometry.quaternion import Array

LEFT, RIGHT, TOP, BOTTOM = 52.0, 10.0, 10.0, 34.0
"""Dots around the part of a chart in which curves are drawn."""
LEAST_DECADES = 1.0
"""Powers of ten that a logarithmic axis shows at least."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """A line of a chart; it is broken where a number is not finite."""

    label: str
    x: Array
    """(N,) rising, except for paths."""
    y: Array
    """(N,)"""
    colour: str
    wide: bool = False
    """Whether it is drawn wide, so that a curve over it hides it nowhere."""


@dataclass(frozen=True, kw_only=True)
class Band:
    """A stretch of time shaded behind the curves: over the whole height, or as a strip at the foot of the chart."""

    start: float
    end: float
    colour: str
    strip: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Chart:
    """What one chart shows."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    bands: Sequence[Band] = ()
    spots: Sequence[tuple[float, float, str]] = ()
    """Marked places: right, up, colour."""
    least: float = 0.0
    """What the axis upwards spans at least."""
    logarithmic: bool = False
    """Whether upwards counts in powers of ten."""
    equal: bool = False
    """Whether both axes are to one scale, as on a map."""
    cursor: bool = False
    """Whether right is time, so that the player's moment is shown on it."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Where numbers go on a chart."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float

    def across(self, value: Array | float) -> Array:
        share = (np.asarray(value, float) - self.x[0]) / (self.x[1] - self.x[0])
        return LEFT + share * (self.width - LEFT - RIGHT)

    def down(self, value: Array | float) -> Array:
        share = (np.asarray(value, float) - self.y[0]) / (self.y[1] - self.y[0])
        return self.height - BOTTOM - share * (self.height - TOP - BOTTOM)


def to_svg(chart: Chart, *, width: float = 560.0, height: float = 190.0) -> str:
    """A chart as an SVG element, to be put into a page."""
    frame = _frame(chart, width, height)
    parts = [_open(chart, frame), *_bands(chart, frame), *_axes(chart, frame)]
    parts += [_line(curve, chart, frame) for curve in chart.curves]
    for right, up, colour in chart.spots:
        parts.append(f'<circle cx="{frame.across(right):.1f}" cy="{frame.down(up):.1f}" r="3" fill="{colour}"/>')
    if chart.cursor:
        parts.append(f'<line class="cursor" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{height - BOTTOM}"/>')
    return "".join([*parts, "</svg>"])


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from one bound to the other, at most so many."""
    raw = (high - low) / max(most - 1, 1)
    if not raw > 0.0:
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * k for k in (1.0, 2.0, 5.0, 10.0) if power * k >= raw * (1.0 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _frame(chart: Chart, width: float, height: float) -> Frame:
    x = _range([curve.x for curve in chart.curves] + [np.array([s[0] for s in chart.spots])], pad=0.0)
    heights = [curve.y for curve in chart.curves] + [np.array([s[1] for s in chart.spots])]
    if chart.logarithmic:
        low, high = _range([np.log10(y[y > 0.0]) for y in heights], pad=0.03)
        return Frame(x=x, y=(min(low, high - LEAST_DECADES), high), width=width, height=height)
    y = _range(heights, pad=0.06)
    y = (y[0], max(y[1], y[0] + chart.least))
    if chart.equal:
        x = _range([np.array(x)], pad=0.04)
        # The axis with room to spare shows more, so that a metre is a metre both ways.
        per_x, per_y = (x[1] - x[0]) / (width - LEFT - RIGHT), (y[1] - y[0]) / (height - TOP - BOTTOM)
        x, y = _widened(x, max(per_y / per_x, 1.0)), _widened(y, max(per_x / per_y, 1.0))
    return Frame(x=x, y=y, width=width, height=height)


def _range(values: Sequence[Array], pad: float) -> tuple[float, float]:
    """Least and greatest of all finite numbers, with a share of their distance on both sides."""
    joined = np.concatenate([np.ravel(np.asarray(v, float)) for v in values])
    joined = joined[np.isfinite(joined)]
    if len(joined) == 0:
        return (0.0, 1.0)
    low, high = float(joined.min()), float(joined.max())
    apart = high - low
    if apart < 1e-9 * max(abs(low), abs(high), 1e-3):
        apart = max(abs(low) * 0.1, 1e-3)
        return (low - apart, high + apart)
    return (low - pad * apart, high + pad * apart)


def _widened(bounds: tuple[float, float], factor: float) -> tuple[float, float]:
    middle, half = 0.5 * (bounds[0] + bounds[1]), 0.5 * (bounds[1] - bounds[0]) * factor
    return (middle - half, middle + half)


def _open(chart: Chart, frame: Frame) -> str:
    time = ""
    if chart.cursor:
        sides = (LEFT, frame.width - RIGHT, *frame.x)
        time = ' class="timed" data-time="' + " ".join(f"{value:.6g}" for value in sides) + '"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img" '
        f'aria-label="{escape(chart.title)}"{time}>'
    )


def _bands(chart: Chart, frame: Frame) -> list[str]:
    found = []
    foot = frame.height - BOTTOM
    for band in chart.bands:
        left, right = (float(v) for v in frame.across(np.clip([band.start, band.end], *frame.x)))
        top = foot - 5.0 if band.strip else TOP
        opacity = 0.55 if band.strip else 0.18
        found.append(
            f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.8):.1f}" '
            f'height="{foot - top:.1f}" fill="{band.colour}" fill-opacity="{opacity}"/>'
        )
    return found


def _axes(chart: Chart, frame: Frame) -> list[str]:
    left, right, foot = LEFT, frame.width - RIGHT, frame.height - BOTTOM
    parts = []
    for value in ticks(*frame.x, 11):
        x = float(frame.across(value))
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{foot}"/>')
        parts.append(f'<text x="{x:.1f}" y="{foot + 13:.1f}" text-anchor="middle">{value:g}</text>')
    for value, word in _y_ticks(chart, frame):
        y = float(frame.down(value))
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 5}" y="{y + 3.5:.1f}" text-anchor="end">{word}</text>')
    middle = 0.5 * (TOP + foot)
    x_word, y_word = escape(chart.x_label), escape(chart.y_label)
    parts.append(f'<rect class="box" x="{left}" y="{TOP}" width="{right - left}" height="{foot - TOP}"/>')
    parts.append(f'<text x="{0.5 * (left + right)}" y="{frame.height - 5}" text-anchor="middle">{x_word}</text>')
    parts.append(f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">{y_word}</text>')
    return parts


def _y_ticks(chart: Chart, frame: Frame) -> list[tuple[float, str]]:
    if not chart.logarithmic:
        return [(value, f"{value:g}") for value in ticks(*frame.y, 6)]
    whole = range(math.ceil(frame.y[0]), math.floor(frame.y[1]) + 1)
    step = max(1, -(-len(whole) // 5))
    return [(float(power), f"1e{power}") for power in whole if power % step == 0]


def _line(curve: Curve, chart: Chart, frame: Frame) -> str:
    y = np.asarray(curve.y, float)
    if chart.logarithmic:
        y = np.log10(np.where(y > 0.0, y, np.nan))
        y = np.maximum(y, frame.y[0])
    places = np.stack([frame.across(curve.x), frame.down(y)], axis=-1)
    if not chart.equal:
        places = thinned(places, int(frame.width))
    shape = ' class="wide"' if curve.wide else ""
    title = f"<title>{escape(curve.label)}</title>"
    return f'<path{shape} d="{_path(places)}" stroke="{curve.colour}" fill="none">{title}</path>'


def thinned(places: Array, columns: int) -> Array:
    """(M, 2) a curve (N, 2) with no more than its lowest and highest place in each of so many columns: peaks stay."""
    count = len(places)
    if count <= 2 * columns:
        return places
    kept: list[int] = []
    for part in np.array_split(np.arange(count), columns):
        heights = places[part, 1]
        if not np.all(np.isfinite(heights)):
            # A gap must stay a gap.
            kept += [int(i) for i in part]
            continue
        kept += sorted({int(part[np.argmin(heights)]), int(part[np.argmax(heights)])})
    return places[kept]


def _path(places: Array) -> str:
    """The `d` of an SVG path, to a tenth of a dot, lifted over gaps; places that fall on the last one are left out."""
    words: list[str] = []
    pen, last = "M", ""
    for x, y in places:
        if not (math.isfinite(x) and math.isfinite(y)):
            pen, last = "M", ""
            continue
        word = f"{x:.1f} {y:.1f}"
        if word != last:
            words.append(pen + word)
            pen, last = "L", word
    return "".join(words)
