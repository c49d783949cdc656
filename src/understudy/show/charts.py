"""The chart sections of a report page: each has a heading, a key and charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from understudy.base.quaternion import Array, angle_between
from understudy.base.records import record
from understudy.figure.bands import rotation_curves
from understudy.figure.contacts import Contact, contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh
from understudy.figure.stick import PALETTES, Palette, Stick, Viewpoint, joint_sides, stick, view_of
from understudy.samples import skin
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.solvers.base import Solution

LEFT, RIGHT, TOP, BOTTOM = 52.0, 10.0, 10.0, 34.0
"""Margins around the plot area of a chart, pixels."""

MIN_DECADES = 1.0
"""Shortest range of a logarithmic axis, powers of ten."""


@record
class ChartCurve:
    """A curve of a chart; values that are not finite leave a gap."""

    label: str
    x: Array
    """(N,) rising, except for paths."""
    y: Array
    """(N,)"""
    colour: str
    wide: bool = False
    """Whether it is drawn wide, so that it stays visible under another curve."""


@record(eq=True)
class Band:
    """A shaded time interval behind the curves, over the full height or as a strip at the bottom of the chart."""

    start: float
    end: float
    colour: str
    strip: bool = False


@record
class Chart:
    """The contents of one chart."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[ChartCurve]
    bands: Sequence[Band] = ()
    spots: Sequence[tuple[float, float, str]] = ()
    """Marked points: x, y, colour."""
    least: float = 0.0
    """Shortest range of the y axis."""
    logarithmic: bool = False
    """Whether the y axis is logarithmic."""
    equal: bool = False
    """Whether both axes have the same scale, as on a map."""
    cursor: bool = False
    """Whether the x axis is time, so that the player's current time is shown on it."""


@record(eq=True)
class Frame:
    """The axis ranges of a chart and its size in pixels."""

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
    """A chart as an SVG element."""
    frame = _frame(chart, width, height)
    parts = [_open(chart, frame), *_bands(chart, frame), *_axes(chart, frame)]
    parts += [_line(curve, chart, frame) for curve in chart.curves]
    for right, up, colour in chart.spots:
        parts.append(f'<circle cx="{frame.across(right):.1f}" cy="{frame.down(up):.1f}" r="3" fill="{colour}"/>')
    if chart.cursor:
        parts.append(f'<line class="cursor" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{height - BOTTOM}"/>')
    return "".join([*parts, "</svg>"])


def ticks(low: float, high: float, max_count: int = 6) -> list[float]:
    """Round numbers between two bounds, at most `max_count` of them."""
    raw = (high - low) / max(max_count - 1, 1)
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
        return Frame(x=x, y=(min(low, high - MIN_DECADES), high), width=width, height=height)
    y = _range(heights, pad=0.06)
    y = (y[0], max(y[1], y[0] + chart.least))
    if chart.equal:
        x = _range([np.array(x)], pad=0.04)
        # The axis with room to spare gets a longer range, so that a metre has the same length on both.
        per_x, per_y = (x[1] - x[0]) / (width - LEFT - RIGHT), (y[1] - y[0]) / (height - TOP - BOTTOM)
        x, y = _widened(x, max(per_y / per_x, 1.0)), _widened(y, max(per_x / per_y, 1.0))
    return Frame(x=x, y=y, width=width, height=height)


def _range(values: Sequence[Array], pad: float) -> tuple[float, float]:
    """Least and greatest finite number, padded on both sides by a share of their distance."""
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
    parts = []
    foot = frame.height - BOTTOM
    for band in chart.bands:
        left, right = (float(v) for v in frame.across(np.clip([band.start, band.end], *frame.x)))
        top = foot - 5.0 if band.strip else TOP
        opacity = 0.55 if band.strip else 0.18
        parts.append(
            f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.8):.1f}" '
            f'height="{foot - top:.1f}" fill="{band.colour}" fill-opacity="{opacity}"/>'
        )
    return parts


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
        places = thin_curve(places, int(frame.width))
    shape = ' class="wide"' if curve.wide else ""
    title = f"<title>{escape(curve.label)}</title>"
    return f'<path{shape} d="{_path(places)}" stroke="{curve.colour}" fill="none">{title}</path>'


def thin_curve(places: Array, columns: int) -> Array:
    """(M, 2) a curve (N, 2) reduced to its lowest and highest point in each column, so that peaks stay."""
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
    """The `d` of an SVG path, to a tenth of a pixel, interrupted at gaps; repeated points are left out."""
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
"""For each bend of a limb three joints that enclose the angle; without the third, the angle of bone and trunk."""

MAX_JOINTS = 8

MIN_SHARED_BENDS = 4
"""Bodies that share fewer bends are compared by joint rotations."""


@record
class Angle:
    """An angle of a character over time."""

    name: str
    degrees: Array
    """(F,)"""


def compared_angles(result: Motion, source: Motion | None) -> list[tuple[Angle, Angle | None]]:
    """Angles of the result with those of the source; empty if the two bodies have no joint in common.

    Bodies with known limbs are compared by bend angles, which do not depend on a skeleton's rest pose. Other bodies are
    compared by the rotation of joints of the same name from the rest pose, those that turn most first.
    """
    angles, source_angles = bends(result), {} if source is None else bends(source)
    shared = [name for name in angles if source is None or name in source_angles]
    if len(shared) >= MIN_SHARED_BENDS:
        return [
            (Angle(name=name, degrees=angles[name]), Angle(name=name, degrees=source_angles[name]) if source else None)
            for name in shared
        ]
    angles, source_angles = turns(result), {} if source is None else turns(source)
    shared = [name for name in angles if source is None or name in source_angles]
    shared.sort(key=lambda name: -float(np.ptp(angles[name])) - float(np.ptp(source_angles.get(name, np.zeros(1)))))
    return [
        (Angle(name=name, degrees=angles[name]), Angle(name=name, degrees=source_angles[name]) if source else None)
        for name in shared[:MAX_JOINTS]
    ]


def bends(motion: Motion) -> dict[str, Array]:
    """(F,) degrees by name, such as `left knee`: 0 for a straight limb, or one parallel to the trunk."""
    joints_by_role, places = roles(motion.skeleton), fk(motion).positions
    trunk = _trunk(joints_by_role, places)
    angles = {}
    for name, (upper, middle, lower) in BENDS.items():
        for side in ("left", "right"):
            joints = [joints_by_role.get(f"{side}_{part}") for part in (upper, middle, lower) if part]
            if None in joints or (lower is None and trunk is None):
                continue
            numbers = [joint for joint in joints if joint is not None]
            bone = places[:, numbers[1]] - places[:, numbers[0]]
            before = -trunk if lower is None and trunk is not None else bone
            after = bone if lower is None else places[:, numbers[2]] - places[:, numbers[1]]
            angles[f"{side} {name}"] = _degrees(before, after)
    return angles


def _trunk(joints: dict[str, int], places: Array) -> Array | None:
    """(F, 3) direction from the hips up the trunk."""
    top = next((joints[part] for part in TRUNK[1] if part in joints), None)
    return None if top is None or TRUNK[0] not in joints else places[:, top] - places[:, joints[TRUNK[0]]]


def _degrees(a: Array, b: Array) -> Array:
    """(F,) the angle between vectors (F, 3), accurate for small angles too."""
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.degrees(np.arctan2(across, np.einsum("fi,fi->f", a, b)))


def turns(motion: Motion) -> dict[str, Array]:
    """(F,) degrees by joint name: rotation from the rest pose."""
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
    # Subtract the line between the ends and apply a window, or the step between them would leak into all frequencies.
    share = np.linspace(0.0, 1.0, len(curves))[:, None]
    level = curves - (1.0 - share) * curves[:1] - share * curves[-1:]
    window = np.hanning(len(level) + 2)[1:-1, None]
    power = (np.abs(np.fft.rfft(level * window, axis=0)) ** 2).sum(axis=1)
    power *= 2.0 / (motion.fps * float((window**2).sum()))
    hertz = np.fft.rfftfreq(len(level), 1.0 / motion.fps)
    groups = np.array_split(np.arange(1, len(hertz)), min(bins, len(hertz) - 1))
    return np.array([hertz[g].mean() for g in groups]), np.array([power[g].mean() for g in groups])


@record
class ErrorCurve:
    """The error of a constraint, or of all of one kind, at every frame of the result."""

    name: str
    values: Array
    """(F,) nan where no constraint holds."""
    unit: str = "m"


def constraint_errors(solution: Solution) -> tuple[ErrorCurve, ...]:
    """The largest violation at each frame among the constraints of each kind: metres, or degrees for angles."""
    original = solution.problem.without_soft()
    actors = tuple(
        replace(actor, motion=motion) for actor, motion in zip(original.actors, solution.motions, strict=True)
    )
    problem = replace(original, actors=actors)
    whole = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
    curves: dict[str, Array] = {}
    angular: set[str] = set()
    for target, held, off in zip(problem.targets, whole.frame_indices, whole.measure().violation, strict=True):
        if not off.shape[1]:
            continue
        kind = target.constraint.kind.replace("_", " ")
        curve = curves.setdefault(kind, np.full(len(problem.times), np.nan))
        curve[held] = np.fmax(curve[held], off.max(axis=1))
        angular |= {kind} if target.constraint.angular else set()
    return tuple(
        ErrorCurve(name=kind, values=np.degrees(values), unit="degrees")
        if kind in angular
        else ErrorCurve(name=kind, values=values)
        for kind, values in curves.items()
    )


GRADES = ("good", "noticeable", "bad")


def measurements(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and plain data of the measurements of a report."""
    for name, entry in report.get("metrics", {}).items():
        yield str(name), entry


def verdict_table(report: Mapping[str, Any]) -> str:
    """The verdicts as an HTML table; each row expands to its figures."""
    rows = [_row(name, entry) for name, entry in measurements(report)]
    if not rows:
        return '<p class="note">Nothing was measured.</p>'
    counts = {grade: sum(str(e["verdict"]) == grade for _, e in measurements(report)) for grade in GRADES}
    summary = ", ".join(f"{count} {grade}" for grade, count in counts.items() if count)
    head = "<tr><th>Measured</th><th>Verdict</th><th>In words</th></tr>"
    return f'<p class="about">{summary or "nothing graded"}</p><table>{head}{"".join(rows)}</table>'


def problems(report: Mapping[str, Any]) -> str:
    """Why a result is not usable, and notes on the measurement; empty if there are neither."""
    failures = "".join(f"<li>{escape(str(failure))}</li>" for failure in report.get("failures") or ())
    notes = "".join(f'<p class="note">{escape(str(note))}</p>' for note in report.get("notes") or ())
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
        grading = ""
        if limit:
            grading = (
                f"noticeable from {limit['noticeable']:.3g}, bad from {limit['bad']:.3g} ({limit.get('source', '')})"
            )
        about = escape(str(figure.get("about") or name))
        rows.append(f"<tr><td>{about}</td><td>{escape(shown)}</td><td>{escape(grading)}</td></tr>")
    return f"<table>{''.join(rows)}</table>" if rows else ""


MAX_FEET = 8


@record
class PageCharacter:
    """A character that a page shows."""

    label: str
    motion: Motion
    figure: Stick
    contacts: tuple[Contact, ...]
    palette: Palette
    meshes: tuple[Mesh, ...] = ()
    """Its skin; drawn as sticks without one."""


@record
class FootTrack:
    """The movement of a foot over the floor, by the lowest of its contact points at each frame."""

    name: str
    side: int
    """LEFT, MIDDLE or RIGHT."""
    height: Array
    """(F,) metres."""
    speed: Array
    """(F,) metres a second, along the floor."""
    path: Array
    """(F, 3) metres, world: the mean of its points."""
    contacts: tuple[Contact, ...]


def show(
    motion: Motion,
    label: str,
    number: int,
    contacts: Sequence[Contact] | None = None,
    meshes: Sequence[Mesh] | None = None,
) -> PageCharacter:
    """Prepare a motion for a page; contacts are detected, and the skin is that of a sample, if not given."""
    all_contacts = detect_contacts(motion) if contacts is None else tuple(contacts)
    # File names may contain line breaks and undecodable bytes.
    label = " ".join(label.encode("utf-8", "replace").decode("utf-8").split())
    return PageCharacter(
        label=label,
        motion=motion,
        figure=stick(motion, label),
        contacts=all_contacts,
        palette=PALETTES[number % len(PALETTES)],
        meshes=skin(motion.skeleton) if meshes is None else tuple(meshes),
    )


def feet_of(shown: PageCharacter) -> tuple[FootTrack, ...]:
    """The feet of a character, in the order of its skeleton."""
    motion, skeleton = shown.motion, shown.motion.skeleton
    # Given contacts may be on other points than the default ones.
    points = {point.name: point for point in contact_points(motion)}
    standing = {c.point.name: c.point for c in shown.contacts if c.on == "floor" and c.point.joint in skeleton.index}
    groups = limbs_of(skeleton, list((standing or points).values()))[:MAX_FEET]
    pose, feet = fk(motion), []
    sides = joint_sides(skeleton, roles(skeleton))
    for name, group in groups:
        places = pose.points(group)
        lowest = np.argmin(places[..., 1], axis=1)
        names = {point.name for point in group}
        feet.append(
            FootTrack(
                name=name,
                side=int(sides[skeleton.index[group[0].joint]]),
                height=places[..., 1].min(axis=1),
                speed=np.take_along_axis(_speeds(places, motion.fps), lowest[:, None], axis=1)[:, 0],
                path=places.mean(axis=1),
                contacts=tuple(c for c in shown.contacts if c.point.name in names),
            )
        )
    return tuple(feet)


def limbs_of(skeleton: Skeleton, points: Sequence[Point]) -> list[tuple[str, list[Point]]]:
    """Points grouped by limb, each limb named after its highest joint."""
    tops: list[int] = []
    for joint in sorted({skeleton.index[point.joint] for point in points}):
        # The root carries all limbs, so each point on it is a limb of its own.
        if not any(top in skeleton.chain(joint) for top in tops if top > 0):
            tops.append(joint)
    limbs: list[tuple[str, list[Point]]] = []
    for top in tops:
        below = skeleton.below(top)
        group = [p for p in points if (skeleton.index[p.joint] == top if top == 0 else below[skeleton.index[p.joint]])]
        if top == 0:
            limbs += [(point.name, [point]) for point in group]
        else:
            limbs.append((skeleton.names[top], group))
    return limbs


def _speeds(places: Array, fps: float) -> Array:
    """(F, P) horizontal speeds of points (F, P, 3), by central differences."""
    if len(places) < 2:
        return np.zeros(places.shape[:2])
    steps = np.gradient(places[..., [0, 2]], 1.0 / fps, axis=0)
    return np.linalg.norm(steps, axis=-1)


SOURCE, RESULT, STANCE = "#a9b5c0", "#c2410c", "#2b7bba"
"""Colours of the source's curves, the result's curves, and the source's contacts."""

ZERO_TOLERANCE = 1e-12

MIN_AXIS_RANGES = {"mm": 1.0, "m": 0.1, "degrees": 0.1, "m/s": 0.01}
"""Shortest axis range by unit, so that rounding does not look like an error."""


def section(
    heading: str,
    charts: Sequence[Chart],
    *,
    about: str = "",
    key: str = "",
    width: float = 560.0,
    height: float = 190.0,
) -> str:
    """A section of the page with its charts, two in a row if there is room; empty without charts."""
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


def pair_key(result: PageCharacter, source: PageCharacter | None, *more: tuple[str, str, str]) -> str:
    """The key for curves of source and result."""
    first = () if source is None else (("wide", SOURCE, source.label),)
    return key_to(*first, ("line", RESULT, result.label), *more)


def time_section(errors: Sequence[ErrorCurve], report: Mapping[str, Any], fps: float) -> str:
    """Constraint errors over time, and all curves of the evaluation."""
    series = [(f"constraint error: {error.name}", error.name, error.unit, error.values) for error in errors]
    for _, entry in measurements(report):
        for name, curve in (entry.get("curves") or {}).items():
            word = str(name).replace("_", " ")
            values = np.array([np.nan if v is None else v for v in curve.get("values", ())], float)
            series.append((f"{entry.get('title', '')}: {word}", word, str(curve.get("unit", "")), values))
    charts, zero = [], []
    for title, word, unit, values in series:
        if not np.isfinite(values).any():
            continue
        if not np.nanmax(np.abs(values)) > ZERO_TOLERANCE:
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
    curve = _time_curve(word, values, fps, RESULT)
    return replace(_time_chart(title, f"{word} [{unit}]", [curve]), least=MIN_AXIS_RANGES.get(unit, 0.0))


def foot_section(result: PageCharacter, source: PageCharacter | None) -> str:
    """Height and speed of every foot, with its stances."""
    feet, source_feet = feet_of(result), () if source is None else feet_of(source)
    paired = _pair_feet(feet, source_feet)
    charts = []
    for foot, partner in paired:
        bands = [_band(c, RESULT, strip=True) for c in foot.contacts]
        bands = [_band(c, STANCE) for c in (partner.contacts if partner else ())] + bands
        for word, label, factor in (("height", "height [cm]", 100.0), ("speed", "speed [m/s]", 1.0)):
            curves = [_time_curve(result.label, factor * getattr(foot, word), result.motion.fps, RESULT)]
            if partner is not None and source is not None:
                values = factor * getattr(partner, word)
                curves.insert(0, _time_curve(source.label, values, source.motion.fps, SOURCE, wide=True))
            charts.append(_time_chart(f"{foot.name}: {word}", label, curves, bands))
    stance: tuple[tuple[str, str, str], ...] = ()
    if source is not None and any(partner for _, partner in paired):
        stance = (("block", f"{STANCE}2e", f"{source.label} stands"),)
    key = pair_key(result, source, *stance, ("block", f"{RESULT}8c", f"{result.label} stands (strip below)"))
    about = "Of the lowest contact point of each foot. A speed above zero inside a band is a foot that skates."
    return section("Feet: height and speed", charts, about=about, key=key)


def angle_section(result: PageCharacter, source: PageCharacter | None) -> str:
    """Joint angles, the result's drawn over the source's."""
    pairs = compared_angles(result.motion, None if source is None else source.motion)
    if not pairs:
        text = "The two bodies share neither limbs nor joint names, so that no angle means the same in both."
        return f'<section><h2>Joint angles</h2><p class="note">{text}</p></section>'
    charts = []
    for angle, source_angle in pairs:
        curves = [_time_curve(result.label, angle.degrees, result.motion.fps, RESULT)]
        if source_angle is not None and source is not None:
            curves.insert(0, _time_curve(source.label, source_angle.degrees, source.motion.fps, SOURCE, wide=True))
        charts.append(_time_chart(angle.name, "angle [degrees]", curves))
    return section("Joint angles", charts, key=pair_key(result, source), height=150.0)


def spectrum_section(result: PageCharacter, source: PageCharacter | None) -> str:
    """The power spectrum of the joint rotations: power that a solve adds at high frequencies is visible jitter."""
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
    about = "A result that lies above its source at high frequencies has jitter."
    return section("Spectrum", [chart], about=about, key=pair_key(result, source), width=1100.0, height=240.0)


def trace_section(result: PageCharacter, source: PageCharacter | None) -> str:
    """The paths of the feet from above [Gleicher98, fig. 7], one chart per character, in the same orientation."""
    view = _top_view(source or result)
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


def _top_view(shown: PageCharacter) -> Viewpoint:
    """A top view in which the direction of travel, or the facing direction without travel, is from left to right."""
    way = shown.motion.root[-1] - shown.motion.root[0]
    stays = float(np.hypot(way[0], way[2])) < 0.5 * shown.figure.size
    return view_of("top", shown.figure.facing.mean(axis=0) if stays else way)


def _pair_feet(feet: Sequence[FootTrack], source_feet: Sequence[FootTrack]) -> list[tuple[FootTrack, FootTrack | None]]:
    """Each foot with the source's foot of the same name, else of the same index if both have as many feet."""
    names = {foot.name: foot for foot in source_feet}
    if all(foot.name in names for foot in feet):
        return [(foot, names[foot.name]) for foot in feet]
    if len(feet) == len(source_feet):
        return list(zip(feet, source_feet, strict=True))
    return [(foot, names.get(foot.name)) for foot in feet]


def _time_curve(label: str, values: Array, fps: float, colour: str, *, wide: bool = False) -> ChartCurve:
    return ChartCurve(label=label, x=np.arange(len(values)) / fps, y=values, colour=colour, wide=wide)


def _time_chart(title: str, y_label: str, curves: Sequence[ChartCurve], bands: Sequence[Band] = ()) -> Chart:
    return Chart(title=title, x_label="time [s]", y_label=y_label, curves=curves, bands=bands, cursor=True)


def _band(contact: Contact, colour: str, *, strip: bool = False) -> Band:
    return Band(start=contact.start, end=contact.end, colour=colour, strip=strip)
