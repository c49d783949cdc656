"""A report as one page that needs nothing else: verdicts, plots, a filmstrip and a player, in a single HTML file."""

from __future__ import annotations

import base64
import json
import math
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.base.errors import MissingPackageError
from understudy.base.quaternion import Array
from understudy.show.charts import (
    ErrorCurve,
    Shown,
    angle_section,
    foot_section,
    problems,
    spectrum_section,
    time_section,
    trace_section,
    verdict_table,
)
from understudy.show.picture import draw

if TYPE_CHECKING:
    from understudy.figure.contacts import Contact
    from understudy.figure.motion import Motion


RATE = 60.0
"""Frames a second that are kept at most."""

BUDGET = 900_000
"""Bytes that all figures together may take before they are written as text; longer clips keep fewer frames."""

STEPS = 65535
"""The greatest number of 16 bits."""


def player_data(characters: Sequence[Shown]) -> dict[str, Any]:
    """Everything that the player needs, as plain data.

    Places are kept as 16-bit numbers within the box in which the body moves about its root, whose own path is kept in
    full: a body of 2 m is exact to 0.02 mm however far it goes.
    """
    sizes = [shown.motion.num_frames * (shown.figure.nodes.shape[1] * 6 + 12) for shown in characters]
    thin = max(1.0, sum(sizes) / BUDGET)
    return {
        "figures": [_figure(shown, thin) for shown in characters],
        "duration": max(shown.motion.duration for shown in characters),
    }


def _figure(shown: Shown, thin: float) -> dict[str, Any]:
    figure, motion = shown.figure, shown.motion
    step = max(1, int(np.ceil(motion.fps / RATE * (1.0 - 1e-6))), int(np.ceil(thin)))
    kept = np.unique([*range(0, motion.num_frames, step), motion.num_frames - 1])
    places = figure.points[kept][:, figure.drawn_points]
    root = motion.root[kept]
    low, scale, packed = pack(places - root[:, None])
    number = {int(point): i for i, point in enumerate(figure.drawn_points)}
    return {
        "label": shown.label,
        "times": [round(float(t), 5) for t in kept / motion.fps] if not _even(kept) else None,
        "step": step / motion.fps,
        "frames": len(kept),
        "nodes": places.shape[1],
        "low": low.tolist(),
        "scale": scale.tolist(),
        "places": packed,
        "root": base64.b64encode(root.astype("<f4").tobytes()).decode("ascii"),
        "strokes": [[number[a], number[b], round(width, 5), side] for a, b, width, side in figure.strokes],
        "size": float(figure.size),
        "facing": [round(float(v), 4) for v in figure.facing[len(figure.facing) // 2]],
        "colours": [shown.palette.left, shown.palette.middle, shown.palette.right],
        "contacts": _contacts(shown),
    }


def _even(kept: np.ndarray) -> bool:
    return len(kept) < 3 or bool(np.all(np.diff(kept) == kept[1] - kept[0]))


def _contacts(shown: Shown) -> list[list[float]]:
    """Start, end and place of each contact that has a place."""
    return [
        [round(float(value), 4) for value in (contact.start, contact.end, *contact.place)]
        for contact in shown.contacts
        if contact.place is not None
    ]


def pack(places: Array) -> tuple[Array, Array, str]:
    """Places (..., 3) as 16-bit numbers in text: the least (3,), metres for each step (3,), and the text."""
    low = places.reshape(-1, 3).min(axis=0)
    scale = np.maximum(places.reshape(-1, 3).max(axis=0) - low, 1e-9) / STEPS
    numbers = np.rint((places - low) / scale).astype("<u2")
    return low, scale, base64.b64encode(numbers.tobytes()).decode("ascii")


def unpack(low: Array, scale: Array, text: str, shape: tuple[int, ...]) -> Array:
    """Places as they were packed, to half a step."""
    numbers = np.frombuffer(base64.b64decode(text), "<u2").reshape(shape)
    return np.asarray(low) + numbers * np.asarray(scale)


POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What the page may load: nothing but itself."""

CONTROLS = """<div class="controls"><button id="player-play" type="button">Play</button>
<input id="player-time" type="range" min="0" max="1" step="any" value="0" aria-label="time">
<output id="player-clock"></output>
<label>speed <select id="player-speed"><option value="0.1">0.1</option><option value="0.25">0.25</option>
<option value="0.5">0.5</option><option value="1" selected>1</option><option value="2">2</option></select></label>
<label><input id="player-apart" type="checkbox"> side by side</label>
<label><input id="player-follow" type="checkbox"> follow</label>
<label><input id="player-contacts" type="checkbox"> contacts</label></div>
<p class="note">Drag to orbit, with shift or the right button to shift, wheel to come nearer. Space plays, arrow keys
step. A click on a plot over time goes to that time. Yellow marks are contacts that hold.</p>"""


def compose(
    result: Shown,
    source: Shown | None,
    report: Mapping[str, Any],
    errors: Sequence[ErrorCurve],
    *,
    title: str = "",
    picture: bool = True,
) -> tuple[str, tuple[str, ...]]:
    """The whole page, and what it leaves out, a sentence each."""
    heading = title or (result.label if source is None else f"{result.label}, made from {source.label}")
    shown = [result] if source is None else [source, result]
    strip, missing = _filmstrip(shown) if picture else ("", ())
    body = [
        f"<h1>{escape(heading)}</h1>{_about(shown)}",
        f"<section><h2>Verdicts</h2>{problems(report)}{verdict_table(report)}</section>" if report else "",
        f'<section id="player"><h2>Player</h2><canvas id="stage" tabindex="0"></canvas>{CONTROLS}</section>',
        strip,
        time_section(errors, report, result.motion.fps),
        foot_section(result, source),
        trace_section(result, source),
        angle_section(result, source),
        spectrum_section(result, source),
        _data("player-data", player_data(shown)),
        _data("report-data", _plain(report)),
        f'<script>(function () {{\n"use strict";\n{_asset("figures.js")}\n{_asset("player.js")}}})();</script>',
    ]
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)}</title><style>{_asset('page.css')}</style>"
    )
    inner = "\n".join(part for part in body if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{inner}\n</body></html>\n', missing


def _about(shown: list[Shown]) -> str:
    lines = []
    for each in shown:
        motion = each.motion
        lines.append(
            f"{escape(each.label)}: {_count(motion.num_frames, 'frame')} at {motion.fps:.4g} fps, "
            f"{motion.duration:.2f} s, {_count(motion.skeleton.num_joints, 'joint')}, "
            f"{_count(len(each.contacts), 'contact')}"
        )
    return f'<p class="about">{"<br>".join(lines)}</p>'


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _filmstrip(shown: list[Shown]) -> tuple[str, tuple[str, ...]]:
    """The filmstrip as a picture inside the page, or a note that says what it needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "strip.png"
        try:
            # matplotlib takes what stands between two dollar signs for a formula.
            labels = [each.label.replace("$", r"\$") for each in shown]
            with warnings.catch_warnings():
                # A letter that the picture's font lacks is a box in the picture, and right in the page around it.
                warnings.filterwarnings("ignore", message=".*Glyph")
                draw([each.motion for each in shown], path, labels=labels, views=("side",), dots_per_inch=100.0)
        except MissingPackageError as error:
            note = f"the filmstrip is left out: {error.message} ({error.hint})"
            return f'<section><h2>Filmstrip</h2><p class="note">{escape(note)}</p></section>', (note,)
        text = base64.b64encode(path.read_bytes()).decode("ascii")
    picture = (
        f'<img alt="poses of {escape(", ".join(each.label for each in shown))}" src="data:image/png;base64,{text}">'
    )
    return f"<section><h2>Filmstrip</h2>{picture}</section>", ()


def _data(name: str, data: Any) -> str:
    """Plain data inside the page, in which no text can end the element or start a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _plain(value: Any) -> Any:
    """Data of which JSON holds everything: numbers that are none become null, long curves are left to the plots."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items() if key != "curves"}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _asset(name: str) -> str:
    return resources.files("understudy.show").joinpath(name).read_text(encoding="utf-8")


def write_page(
    path: str | Path,
    result: Motion,
    source: Motion | None = None,
    report_data: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    labels: Sequence[str] = ("source", "result"),
    contacts: Sequence[Contact] | None = None,
    source_contacts: Sequence[Contact] | None = None,
    errors: Sequence[ErrorCurve] = (),
    picture: bool = True,
) -> tuple[str, ...]:
    """Write the report on a motion; the old file stays until the new one is whole.

    Args:
        path: Where to: `.html` or `.htm`.
        result: The motion that the report is on.
        source: The motion that it was made from, to be shown beside it.
        report_data: What was measured, as `evaluate(...).data()` gives it. With `curves` in it, they are plotted.
        title: The heading; made from the labels if not given.
        labels: What source and result are called.
        contacts: The result's contacts; found if not given.
        source_contacts: The source's contacts; found if not given.
        errors: How far constraints are from being met, as `page.errors.constraint_errors(solution)` gives it.
        picture: Whether to draw a filmstrip, which needs matplotlib; without that package the page says so instead.

    Returns:
        What the page leaves out, a sentence each.
    """
    from understudy.base.errors import OptionError
    from understudy.base.files import open_to_write
    from understudy.show.charts import show

    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"A report is written as .html; got `{path}`")
    if len(labels) != 2:
        raise OptionError(f"Expected two labels, of source and result; got {len(labels)}")
    shown = show(result, labels[1], 1 if source is not None else 0, contacts)
    other = None if source is None else show(source, labels[0], 0, source_contacts)
    text, missing = compose(shown, other, report_data or {}, errors, title=title, picture=picture)
    with open_to_write(path) as stream:
        stream.write(text.encode("utf-8", "replace"))
    return missing
