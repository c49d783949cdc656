"""The plots of a page: each a heading, a key and some charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from understudy.contacts import Contact
from understudy.geometry.quaternion import Array
from understudy.page.chart import Band, Chart, Curve, to_svg
from understudy.page.curves import compared_angles, spectrum
from understudy.page.errors import ErrorCurve
from understudy.page.showing import Foot, Shown, feet_of
from understudy.page.summary import measured
from understudy.picture.view import View, view_of

SOURCE, RESULT, STANCE = "#a9b5c0", "#c2410c", "#2b7bba"
"""Colours of the source's curves, the result's, and the source's contacts."""
NOTHING = 1e-12
"""What counts as zero."""
LEAST = {"mm": 1.0, "m": 0.1, "degrees": 0.1, "m/s": 0.01}
"""What an axis spans at least, by unit, so that rounding does not look like an error."""


def section(
    heading: str,
    charts: Sequence[Chart],
    *,
    about: str = "",
    key: str = "",
    width: float = 560.0,
    height: float = 190.0,
) -> str:
    """A part of the page with its charts, two in a row if there is room; empty where there are none."""
    if not charts:
        return ""
    drawn = "".join(
        f"<figure><figcaption>{escape(chart.title)}</figcaption>{to_svg(chart, width=width, height=height)}</figure>"
        for chart in charts
    )
    text = f'<p class="about">{escape(about)}</p>' if about else ""
    shape = "charts" if width <= 560.0 else "charts wide"
    return f'<section><h2>{escape(heading)}</h2>{text}{key}<div class="{shape}">{drawn}</div></section>'


def key_to(*entries: tuple[str, str, str]) -> str:
    """A key: the kind of each mark (`line`, `wide` or `block`), its colour and its meaning."""
    parts = []
    for kind, colour, word in entries:
        style = f"background:{colour}" if kind == "block" else f"border-color:{colour}"
        shape = "" if kind == "block" else "line wide" if kind == "wide" else "line"
        parts.append(f'<span><i class="{shape}" style="{style}"></i>{escape(word)}</span>')
    return f'<div class="key">{"".join(parts)}</div>'


def pair_key(result: Shown, source: Shown | None, *more: tuple[str, str, str]) -> str:
    """The key to curves of source and result."""
    first = () if source is None else (("wide", SOURCE, source.label),)
    return key_to(*first, ("line", RESULT, result.label), *more)


def time_section(errors: Sequence[ErrorCurve], report: Mapping[str, Any], fps: float) -> str:
    """How far constraints are from being met over time, and every curve that the evaluation brought."""
    given = [(f"constraint error: {each.name}", each.name, each.unit, each.values) for each in errors]
    for _, entry in measured(report):
        for name, curve in (entry.get("curves") or {}).items():
            word = str(name).replace("_", " ")
            values = np.array([np.nan if v is None else v for v in curve.get("values", ())], float)
            given.append((f"{entry.get('title', '')}: {word}", word, str(curve.get("unit", "")), values))
    charts, zero = [], []
    for title, word, unit, values in given:
        if not np.isfinite(values).any():
            continue
        if not np.nanmax(np.abs(values)) > NOTHING:
            zero.append(title)
            continue
        charts.append(_measured_chart(title, word, unit, values, fps))
    about = "Gaps are frames at which there is nothing to measure."
    if zero:
        about += f" Zero at all frames: {', '.join(zero)}."
    return section("Over time", charts, about=about)


def _measured_chart(title: str, word: str, unit: str, values: Array, fps: float) -> Chart:
    """A curve with its unit; short lengths in millimetres."""
    if unit == "m" and np.nanmax(np.abs(values)) < 0.1:
        unit, values = "mm", 1000.0 * values
    curve = _in_time(word, values, fps, RESULT)
    return replace(_timed(title, f"{word} [{unit}]", [curve]), least=LEAST.get(unit, 0.0))


def foot_section(result: Shown, source: Shown | None) -> str:
    """Height and speed of every foot, with the times at which it is planted."""
    mine, other = feet_of(result), () if source is None else feet_of(source)
    paired = _paired(mine, other)
    charts = []
    for foot, partner in paired:
        bands = [_band(c, RESULT, strip=True) for c in foot.contacts]
        bands = [_band(c, STANCE) for c in (partner.contacts if partner else ())] + bands
        for word, label, factor in (("height", "height [cm]", 100.0), ("speed", "speed [m/s]", 1.0)):
            curves = [_in_time(result.label, factor * getattr(foot, word), result.motion.fps, RESULT)]
            if partner is not None and source is not None:
                values = factor * getattr(partner, word)
                curves.insert(0, _in_time(source.label, values, source.motion.fps, SOURCE, wide=True))
            charts.append(_timed(f"{foot.name}: {word}", label, curves, bands))
    stance: tuple[tuple[str, str, str], ...] = ()
    if source is not None and any(partner for _, partner in paired):
        stance = (("block", f"{STANCE}2e", f"{source.label} stands"),)
    key = pair_key(result, source, *stance, ("block", f"{RESULT}8c", f"{result.label} stands (strip below)"))
    about = "Of the lowest contact point of each foot. A speed above zero inside a band is a foot that skates."
    return section("Feet: height and speed", charts, about=about, key=key)


def angle_section(result: Shown, source: Shown | None) -> str:
    """Angles of the joints, the result's over the source's."""
    pairs = compared_angles(result.motion, None if source is None else source.motion)
    if not pairs:
        text = "The two bodies have neither limbs nor joints of one name, so that no angle means the same in both."
        return f'<section><h2>Joint angles</h2><p class="note">{text}</p></section>'
    charts = []
    for mine, other in pairs:
        curves = [_in_time(result.label, mine.degrees, result.motion.fps, RESULT)]
        if other is not None and source is not None:
            curves.insert(0, _in_time(source.label, other.degrees, source.motion.fps, SOURCE, wide=True))
        charts.append(_timed(mine.name, "angle [degrees]", curves))
    return section("Joint angles", charts, key=pair_key(result, source), height=150.0)


def spectrum_section(result: Shown, source: Shown | None) -> str:
    """The power of the joint rotations by frequency: what a solve adds at high frequencies is seen as jitter."""
    curves = []
    for shown, colour, wide in ((source, SOURCE, True), (result, RESULT, False)):
        if shown is not None:
            hertz, power = spectrum(shown.motion)
            if len(hertz):
                curves.append(Curve(label=shown.label, x=hertz, y=power, colour=colour, wide=wide))
    if not curves:
        return ""
    chart = Chart(
        title="power of all joint rotations",
        x_label="frequency [Hz]",
        y_label="rad²/Hz",
        curves=curves,
        logarithmic=True,
    )
    about = "A result that lies above its source at the right has movement that was not there: jitter."
    return section("Spectrum", [chart], about=about, key=pair_key(result, source), width=1100.0, height=240.0)


def trace_section(result: Shown, source: Shown | None) -> str:
    """The paths of the feet seen from above [Gleicher98, fig. 7], a chart for each character, all turned one way."""
    view = _map_of(source or result)
    charts = []
    for shown in (source, result):
        if shown is None:
            continue
        curves, spots = [], []
        for foot in feet_of(shown):
            colour = shown.palette.of(foot.side)
            path = view.project(foot.path)
            curves.append(Curve(label=foot.name, x=path[:, 0], y=path[:, 1], colour=colour))
            places = [view.project(c.place) for c in foot.contacts if c.place is not None]
            spots += [(float(place[0]), float(place[1]), colour) for place in places]
        if curves:
            title = f"{shown.label}: {', '.join(curve.label for curve in curves)}"
            charts.append(
                Chart(title=title, x_label="along [m]", y_label="left [m]", curves=curves, spots=spots, equal=True)
            )
    about = "Lines are the middles of the feet, dots the places where their points are planted."
    return section("Feet from above", charts, about=about, width=1100.0, height=260.0)


def _map_of(shown: Shown) -> View:
    """A look from above with the way that the character goes, or faces if it stays, from left to right."""
    way = shown.motion.root[-1] - shown.motion.root[0]
    stays = float(np.hypot(way[0], way[2])) < 0.5 * shown.figure.size
    return view_of("top", shown.figure.facing.mean(axis=0) if stays else way)


def _paired(mine: Sequence[Foot], other: Sequence[Foot]) -> list[tuple[Foot, Foot | None]]:
    """Each foot with the source's of the same name, else of the same place in the order if they are equally many."""
    names = {foot.name: foot for foot in other}
    if all(foot.name in names for foot in mine):
        return [(foot, names[foot.name]) for foot in mine]
    if len(mine) == len(other):
        return list(zip(mine, other, strict=True))
    return [(foot, names.get(foot.name)) for foot in mine]


def _in_time(label: str, values: Array, fps: float, colour: str, *, wide: bool = False) -> Curve:
    return Curve(label=label, x=np.arange(len(values)) / fps, y=values, colour=colour, wide=wide)


def _timed(title: str, y_label: str, curves: Sequence[Curve], bands: Sequence[Band] = ()) -> Chart:
    return Chart(title=title, x_label="time [s]", y_label=y_label, curves=curves, bands=bands, cursor=True)


def _band(contact: Contact, colour: str, *, strip: bool = False) -> Band:
    return Band(start=contact.start, end=contact.end, colour=colour, strip=strip)
