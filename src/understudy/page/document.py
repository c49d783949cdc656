"""The page itself: all its parts put into one HTML text that asks for nothing from outside."""

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
from typing import Any

from understudy.errors import MissingPackageError
from understudy.page.errors import ErrorCurve
from understudy.page.player import player_data
from understudy.page.plots import angle_section, foot_section, spectrum_section, time_section, trace_section
from understudy.page.showing import Shown
from understudy.page.summary import problems, verdict_table
from understudy.picture import draw

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
    return resources.files("understudy.page").joinpath(name).read_text(encoding="utf-8")
