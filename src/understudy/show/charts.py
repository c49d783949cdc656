"""The plots of a page: each a heading, a key and some charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from understudy.base.quaternion import Array, angle_between
from understudy.figure.bands import rotation_curves
from understudy.figure.contacts import Contact, contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.stick import PALETTES, Palette, Stick, Viewpoint, joint_sides, stick, view_of
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.solvers.base import Solution

LEFT, RIGHT, TOP, BOTTOM = 52.0, 10.0, 10.0, 34.0
"""Dots around the part of a chart in which curves are drawn."""

LEAST_DECADES = 1.0
"""Powers of ten that a logarithmic axis shows at least."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChartCurve:
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
    curves: Sequence[ChartCurve]
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


def _line(curve: ChartCurve, chart: Chart, frame: Frame) -> str:
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


TRUNK = ("hips", ("neck", "head", "chest"))

BENDS = {
    "hip": ("upper_leg", "lower_leg", None),
    "knee": ("upper_leg", "lower_leg", "foot"),
    "shoulder": ("upper_arm", "lower_arm", None),
    "elbow": ("upper_arm", "lower_arm", "hand"),
}
"""The bends of a limb: the joints between which the angle of two bones is taken, or of one bone and the trunk."""

MOST_JOINTS = 8

LEAST_BENDS = 4
"""Bends that both bodies must have for them to be compared by bends."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Angle:
    """An angle of a character over time."""

    name: str
    degrees: Array
    """(F,)"""


def compared_angles(result: Motion, source: Motion | None) -> list[tuple[Angle, Angle | None]]:
    """Angles of the result beside those of the source; empty where the two bodies have no joint in common.

    Limbs that have names are compared by how far they are bent, which does not depend on how a skeleton counts its
    rotations; other bodies by how far each joint of one name has turned from its rest pose, those first that turn most.
    """
    mine, other = bends(result), {} if source is None else bends(source)
    common = [name for name in mine if source is None or name in other]
    if len(common) >= LEAST_BENDS:
        return [
            (Angle(name=name, degrees=mine[name]), Angle(name=name, degrees=other[name]) if source else None)
            for name in common
        ]
    mine, other = turns(result), {} if source is None else turns(source)
    common = [name for name in mine if source is None or name in other]
    common.sort(key=lambda name: -float(np.ptp(mine[name])) - float(np.ptp(other.get(name, np.zeros(1)))))
    return [
        (Angle(name=name, degrees=mine[name]), Angle(name=name, degrees=other[name]) if source else None)
        for name in common[:MOST_JOINTS]
    ]


def bends(motion: Motion) -> dict[str, Array]:
    """(F,) degrees by name, such as `left knee`: 0 for a straight limb, and for one that hangs along the trunk."""
    found, places = roles(motion.skeleton), fk(motion).positions
    trunk = _trunk(found, places)
    out = {}
    for name, (upper, middle, lower) in BENDS.items():
        for side in ("left", "right"):
            joints = [found.get(f"{side}_{part}") for part in (upper, middle, lower) if part]
            if None in joints or (lower is None and trunk is None):
                continue
            numbers = [joint for joint in joints if joint is not None]
            bone = places[:, numbers[1]] - places[:, numbers[0]]
            before = -trunk if lower is None and trunk is not None else bone
            after = bone if lower is None else places[:, numbers[2]] - places[:, numbers[1]]
            out[f"{side} {name}"] = _degrees(before, after)
    return out


def _trunk(found: dict[str, int], places: Array) -> Array | None:
    """(F, 3) from the hips up the trunk."""
    top = next((found[part] for part in TRUNK[1] if part in found), None)
    return None if top is None or TRUNK[0] not in found else places[:, top] - places[:, found[TRUNK[0]]]


def _degrees(a: Array, b: Array) -> Array:
    """(F,) the angle between vectors (F, 3), exact for small ones too."""
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.degrees(np.arctan2(across, np.einsum("fi,fi->f", a, b)))


def turns(motion: Motion) -> dict[str, Array]:
    """(F,) degrees by joint: how far it is turned from its rest pose."""
    skeleton: Skeleton = motion.skeleton
    angles = np.degrees(angle_between(skeleton.rest, motion.rotations))
    return {name: angles[:, joint] for joint, name in enumerate(skeleton.names)}


def spectrum(motion: Motion, bins: int = 160) -> tuple[Array, Array]:
    """The power of a motion's joint rotations by frequency.

    Returns:
        (N,) hertz, and (N,) rad^2 / Hz, summed over the joints; both empty for a motion of under 8 frames.
    """
    curves = rotation_curves(motion)
    if len(curves) < 8:
        return np.empty(0), np.empty(0)
    # The ends are made to meet and faded, or the step between them would fill every frequency.
    share = np.linspace(0.0, 1.0, len(curves))[:, None]
    level = curves - (1.0 - share) * curves[:1] - share * curves[-1:]
    window = np.hanning(len(level) + 2)[1:-1, None]
    power = (np.abs(np.fft.rfft(level * window, axis=0)) ** 2).sum(axis=1)
    power *= 2.0 / (motion.fps * float((window**2).sum()))
    hertz = np.fft.rfftfreq(len(level), 1.0 / motion.fps)
    groups = np.array_split(np.arange(1, len(hertz)), min(bins, len(hertz) - 1))
    return np.array([hertz[g].mean() for g in groups]), np.array([power[g].mean() for g in groups])


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorCurve:
    """The error of a constraint, or of all of one kind, at every frame of the result."""

    name: str
    values: Array
    """(F,) not a number where nothing holds."""
    unit: str = "m"


def constraint_errors(solution: Solution) -> tuple[ErrorCurve, ...]:
    """The largest violation at each frame among the constraints of each kind: metres, or degrees for angles."""
    given = solution.problem
    actors = tuple(replace(actor, motion=motion) for actor, motion in zip(given.actors, solution.motions, strict=True))
    problem = replace(given, actors=actors)
    whole = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
    found: dict[str, Array] = {}
    angular: set[str] = set()
    for target, held, off in zip(problem.targets, whole.holds, whole.measure().violation, strict=True):
        if not off.shape[1]:
            continue
        kind = target.constraint.kind.replace("_", " ")
        curve = found.setdefault(kind, np.full(len(problem.times), np.nan))
        curve[held] = np.fmax(curve[held], off.max(axis=1))
        angular |= {kind} if target.constraint.angular else set()
    return tuple(
        ErrorCurve(name=kind, values=np.degrees(values), unit="degrees")
        if kind in angular
        else ErrorCurve(name=kind, values=values)
        for kind, values in found.items()
    )


GRADES = ("good", "noticeable", "bad")


def measured(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and plain data of the measurements of a report."""
    for name, entry in report.get("metrics", {}).items():
        yield str(name), entry


def verdict_table(report: Mapping[str, Any]) -> str:
    """The verdicts as an HTML table; each row opens to its figures."""
    rows = [_row(name, entry) for name, entry in measured(report)]
    if not rows:
        return '<p class="note">Nothing was measured.</p>'
    counts = {grade: sum(str(e["verdict"]) == grade for _, e in measured(report)) for grade in GRADES}
    said = ", ".join(f"{count} {grade}" for grade, count in counts.items() if count)
    head = "<tr><th>Measured</th><th>Verdict</th><th>In words</th></tr>"
    return f'<p class="about">{said or "nothing graded"}</p><table>{head}{"".join(rows)}</table>'


def problems(report: Mapping[str, Any]) -> str:
    """Why a result is not usable, and remarks on how it was measured; empty where there are neither."""
    failures = "".join(f"<li>{escape(str(each))}</li>" for each in report.get("failures") or ())
    notes = "".join(f'<p class="note">{escape(str(each))}</p>' for each in report.get("notes") or ())
    failed = f'<p class="verdict bad">This result is not usable:</p><ul>{failures}</ul>' if failures else ""
    return failed + notes


def _row(name: str, entry: Mapping[str, Any]) -> str:
    verdict = str(entry["verdict"])
    kind = verdict if verdict in GRADES else "none"
    words = escape(str(entry.get("words", "")))
    figures = _figures(entry)
    inner = f"<details><summary>{words}</summary>{figures}</details>" if figures else words
    title = escape(str(entry.get("title") or name))
    return f'<tr><td>{title}</td><td class="verdict {kind}">{escape(verdict)}</td><td>{inner}</td></tr>'


def _figures(entry: Mapping[str, Any]) -> str:
    """The figures of a measurement as a table, with the thresholds of those that are graded."""
    limits = entry.get("thresholds", {})
    rows = []
    for name, figure in entry.get("figures", {}).items():
        value, unit = figure.get("value"), str(figure.get("unit", ""))
        shown = "-" if value is None else f"{value:.4g} {unit}"
        limit = limits.get(name)
        told = ""
        if limit:
            told = f"noticeable from {limit['noticeable']:.3g}, bad from {limit['bad']:.3g} ({limit.get('source', '')})"
        about = escape(str(figure.get("about") or name))
        rows.append(f"<tr><td>{about}</td><td>{escape(shown)}</td><td>{escape(told)}</td></tr>")
    return f"<table>{''.join(rows)}</table>" if rows else ""


MOST_FEET = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """A character that a page shows."""

    label: str
    motion: Motion
    figure: Stick
    contacts: tuple[Contact, ...]
    palette: Palette


@dataclass(frozen=True, eq=False, kw_only=True)
class FootTrack:
    """How a foot goes over the floor, by the lowest of its contact points at each frame."""

    name: str
    side: int
    """LEFT, MIDDLE or RIGHT."""
    height: Array
    """(F,) metres."""
    speed: Array
    """(F,) metres a second, along the floor."""
    path: Array
    """(F, 3) metres, world: the middle of its points."""
    contacts: tuple[Contact, ...]


def show(motion: Motion, label: str, number: int, contacts: Sequence[Contact] | None = None) -> Shown:
    """A motion made ready for a page; its contacts are found where they are not given."""
    found = detect_contacts(motion) if contacts is None else tuple(contacts)
    # File names may hold line breaks and bytes that are no letters.
    label = " ".join(label.encode("utf-8", "replace").decode("utf-8").split())
    return Shown(
        label=label,
        motion=motion,
        figure=stick(motion, label),
        contacts=found,
        palette=PALETTES[number % len(PALETTES)],
    )


def feet_of(shown: Shown) -> tuple[FootTrack, ...]:
    """The feet of a character, in the order of its skeleton."""
    motion, skeleton = shown.motion, shown.motion.skeleton
    # Known contacts may be on other points than those watched by default; both tell where a foot is.
    points = {point.name: point for point in contact_points(motion)}
    standing = {c.point.name: c.point for c in shown.contacts if c.on == "floor" and c.point.joint in skeleton.index}
    groups = limbs_of(skeleton, list((standing or points).values()))[:MOST_FEET]
    pose, found = fk(motion), []
    sides = joint_sides(skeleton, roles(skeleton))
    for name, group in groups:
        places = pose.points(group)
        lowest = np.argmin(places[..., 1], axis=1)
        names = {point.name for point in group}
        found.append(
            FootTrack(
                name=name,
                side=int(sides[skeleton.index[group[0].joint]]),
                height=places[..., 1].min(axis=1),
                speed=np.take_along_axis(_speeds(places, motion.fps), lowest[:, None], axis=1)[:, 0],
                path=places.mean(axis=1),
                contacts=tuple(c for c in shown.contacts if c.point.name in names),
            )
        )
    return tuple(found)


def limbs_of(skeleton: Skeleton, points: Sequence[Point]) -> list[tuple[str, list[Point]]]:
    """Points put together by limb, each limb under the name of its highest joint: those on or below one another."""
    tops: list[int] = []
    for joint in sorted({skeleton.index[point.joint] for point in points}):
        # Points on the joint that carries whole limbs are limbs of their own.
        if not any(top in skeleton.chain(joint) for top in tops if top > 0):
            tops.append(joint)
    found: list[tuple[str, list[Point]]] = []
    for top in tops:
        below = skeleton.below(top)
        mine = [p for p in points if (skeleton.index[p.joint] == top if top == 0 else below[skeleton.index[p.joint]])]
        if top == 0:
            found += [(point.name, [point]) for point in mine]
        else:
            found.append((skeleton.names[top], mine))
    return found


def _speeds(places: Array, fps: float) -> Array:
    """(F, P) horizontal speeds of places (F, P, 3), from one frame before to one after."""
    if len(places) < 2:
        return np.zeros(places.shape[:2])
    steps = np.gradient(places[..., [0, 2]], 1.0 / fps, axis=0)
    return np.linalg.norm(steps, axis=-1)


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
                curves.append(ChartCurve(label=shown.label, x=hertz, y=power, colour=colour, wide=wide))
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
            curves.append(ChartCurve(label=foot.name, x=path[:, 0], y=path[:, 1], colour=colour))
            places = [view.project(c.place) for c in foot.contacts if c.place is not None]
            spots += [(float(place[0]), float(place[1]), colour) for place in places]
        if curves:
            title = f"{shown.label}: {', '.join(curve.label for curve in curves)}"
            charts.append(
                Chart(title=title, x_label="along [m]", y_label="left [m]", curves=curves, spots=spots, equal=True)
            )
    about = "Lines are the middles of the feet, dots the places where their points are planted."
    return section("Feet from above", charts, about=about, width=1100.0, height=260.0)


def _map_of(shown: Shown) -> Viewpoint:
    """A look from above with the way that the character goes, or faces if it stays, from left to right."""
    way = shown.motion.root[-1] - shown.motion.root[0]
    stays = float(np.hypot(way[0], way[2])) < 0.5 * shown.figure.size
    return view_of("top", shown.figure.facing.mean(axis=0) if stays else way)


def _paired(mine: Sequence[FootTrack], other: Sequence[FootTrack]) -> list[tuple[FootTrack, FootTrack | None]]:
    """Each foot with the source's of the same name, else of the same place in the order if they are equally many."""
    names = {foot.name: foot for foot in other}
    if all(foot.name in names for foot in mine):
        return [(foot, names[foot.name]) for foot in mine]
    if len(mine) == len(other):
        return list(zip(mine, other, strict=True))
    return [(foot, names.get(foot.name)) for foot in mine]


def _in_time(label: str, values: Array, fps: float, colour: str, *, wide: bool = False) -> ChartCurve:
    return ChartCurve(label=label, x=np.arange(len(values)) / fps, y=values, colour=colour, wide=wide)


def _timed(title: str, y_label: str, curves: Sequence[ChartCurve], bands: Sequence[Band] = ()) -> Chart:
    return Chart(title=title, x_label="time [s]", y_label=y_label, curves=curves, bands=bands, cursor=True)


def _band(contact: Contact, colour: str, *, strip: bool = False) -> Band:
    return Band(start=contact.start, end=contact.end, colour=colour, strip=strip)
