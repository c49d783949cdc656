"""A report as a single self-contained HTML file: verdicts, charts, a filmstrip and a player."""

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
from understudy.figure.kinematics import fk
from understudy.figure.skin import strongest_joints
from understudy.show.charts import (
    ErrorCurve,
    PageCharacter,
    angle_section,
    foot_section,
    problems,
    spectrum_section,
    time_section,
    trace_section,
    verdict_table,
)
from understudy.show.picture import draw
from understudy.show.raster import triangle_colours

if TYPE_CHECKING:
    from understudy.figure.contacts import Contact
    from understudy.figure.motion import Motion
    from understudy.figure.skin import Mesh


MAX_FPS = 60.0
"""Highest frame rate of the player's data."""

MAX_BYTES = 900_000
"""Most bytes of all figures together, before text encoding; longer clips keep fewer frames."""

MAX_UINT16 = 65535

MAX_SKIN_VERTICES, MAX_SKIN_JOINTS = 30_000, 256
"""A skin with more is not shown: it would make the page slow and large. Sticks are drawn instead."""


def player_data(characters: Sequence[PageCharacter]) -> dict[str, Any]:
    """The data of the player, for JSON.

    Positions are 16-bit numbers relative to the root, within the bounding box of the body's movement. The root's path
    has single precision. So a body of 2 m is accurate to 0.02 mm however far it travels.
    """
    sizes = [shown.motion.num_frames * _bytes_per_frame(shown) for shown in characters]
    thin = max(1.0, sum(sizes) / MAX_BYTES)
    meshes = list(dict.fromkeys(shown.meshes for shown in characters if has_skin(shown)))
    return {
        "figures": [
            _figure(shown, thin)
            | ({"skin": meshes.index(shown.meshes)} | _turns(shown, thin) if has_skin(shown) else {})
            for shown in characters
        ],
        "duration": max(shown.motion.duration for shown in characters),
        "skins": [_skin(group) for group in meshes],
    }


def _bytes_per_frame(shown: PageCharacter) -> int:
    turns = 8 * shown.motion.skeleton.num_joints if has_skin(shown) else 0
    return int(shown.figure.nodes.shape[1] * 6 + 12 + turns)


def has_skin(shown: PageCharacter) -> bool:
    """Whether the player draws a character with its skin: bones keep their lengths, and the skin is not too large."""
    motion = shown.motion
    fits = all(mesh.num_joints == motion.skeleton.num_joints for mesh in shown.meshes)
    vertices = sum(mesh.num_vertices for mesh in shown.meshes)
    triangles = sum(len(mesh.triangles) for mesh in shown.meshes)
    small = vertices <= MAX_SKIN_VERTICES and motion.skeleton.num_joints <= MAX_SKIN_JOINTS
    return bool(shown.meshes) and fits and small and triangles > 0 and motion.offsets is None


def _skin(meshes: Sequence[Mesh]) -> dict[str, Any]:
    """The meshes of a character as one: places of 16 bits, four joints and weights of 8 bits, a colour by number."""
    starts = np.cumsum([0, *(mesh.num_vertices for mesh in meshes)])
    vertices = np.concatenate([mesh.rebound(meshes[0]) for mesh in meshes])
    low, scale, places = pack(vertices)
    triangles = np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts[:-1], strict=True)])
    colours = np.concatenate([triangle_colours(mesh) for mesh in meshes])
    table, number = np.unique(colours.round(3), axis=0, return_inverse=True)
    material = np.zeros(len(vertices), np.uint8)
    material[triangles] = np.minimum(number.reshape(-1), 255).astype(np.uint8)[:, None]
    joints, weights = (
        np.concatenate(part) for part in zip(*(strongest_joints(mesh, 4) for mesh in meshes), strict=True)
    )
    return {
        "vertices": len(vertices),
        "low": low.tolist(),
        "scale": scale.tolist(),
        "places": places,
        "corners": _text(triangles.astype("<u2")),
        "joints": _text(joints.astype(np.uint8)),
        "weights": _text(np.rint(255.0 * weights).astype(np.uint8)),
        "materials": _text(material),
        "colours": table[:256].tolist(),
        "binds": np.round(meshes[0].joint_from_mesh[:, :3].reshape(-1, 12), 6).tolist(),
    }


def _turns(shown: PageCharacter, thin: float) -> dict[str, Any]:
    """The rotations in the world of a character's joints at the player's frames, and how they hang together."""
    motion, skeleton = shown.motion, shown.motion.skeleton
    rotations = fk(motion).rotations[_kept_frames(motion, thin)[0]]
    return {
        "turns": _text(np.rint(32767.0 * rotations).astype("<i2")),
        "parents": skeleton.parents.tolist(),
        "offsets": np.round(skeleton.offsets, 6).tolist(),
    }


def _text(numbers: np.ndarray) -> str:
    return base64.b64encode(numbers.tobytes()).decode("ascii")


def _kept_frames(motion: Motion, thin: float) -> tuple[np.ndarray, int]:
    """The frames of a motion that the player gets, and how many frames they are apart."""
    step = max(1, int(np.ceil(motion.fps / MAX_FPS * (1.0 - 1e-6))), int(np.ceil(thin)))
    return np.unique([*range(0, motion.num_frames, step), motion.num_frames - 1]), step


def _figure(shown: PageCharacter, thin: float) -> dict[str, Any]:
    figure, motion = shown.figure, shown.motion
    kept, step = _kept_frames(motion, thin)
    places = figure.points[kept][:, figure.drawn_points]
    root = motion.root[kept]
    low, scale, packed = pack(places - root[:, None])
    number = {int(point): i for i, point in enumerate(figure.drawn_points)}
    return {
        "label": shown.label,
        "times": [round(float(t), 5) for t in kept / motion.fps] if not _is_even(kept) else None,
        "step": step / motion.fps,
        "frames": len(kept),
        "nodes": places.shape[1],
        "low": low.tolist(),
        "scale": scale.tolist(),
        "places": packed,
        # The camera looks at the middle of the body: the root of some rigs lies on the floor.
        "rise": float(np.mean(0.5 * (places[..., 1].min(axis=1) + places[..., 1].max(axis=1)) - root[:, 1])),
        "root": base64.b64encode(root.astype("<f4").tobytes()).decode("ascii"),
        "strokes": [[number[a], number[b], round(width, 5), side] for a, b, width, side in figure.strokes],
        "size": float(figure.size),
        "facing": [round(float(v), 4) for v in figure.facing[len(figure.facing) // 2]],
        "colours": [shown.palette.left, shown.palette.middle, shown.palette.right],
        "contacts": _contacts(shown),
    }


def _is_even(kept: np.ndarray) -> bool:
    return len(kept) < 3 or bool(np.all(np.diff(kept) == kept[1] - kept[0]))


def _contacts(shown: PageCharacter) -> list[list[float]]:
    """Start, end and position of each contact that has a position."""
    return [
        [round(float(value), 4) for value in (contact.start, contact.end, *contact.place)]
        for contact in shown.contacts
        if contact.place is not None
    ]


def pack(places: Array) -> tuple[Array, Array, str]:
    """Quantise positions (..., 3) to 16 bits: the minimum (3,), metres per step (3,), and base64 text."""
    low = places.reshape(-1, 3).min(axis=0)
    scale = np.maximum(places.reshape(-1, 3).max(axis=0) - low, 1e-9) / MAX_UINT16
    numbers = np.rint((places - low) / scale).astype("<u2")
    return low, scale, base64.b64encode(numbers.tobytes()).decode("ascii")


POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""Content security policy: the page loads nothing from elsewhere."""

CONTROLS = """<div class="controls"><button id="player-play" type="button">Play</button>
<input id="player-time" type="range" min="0" max="1" step="any" value="0" aria-label="time">
<output id="player-clock"></output>
<label>speed <select id="player-speed"><option value="0.1">0.1</option><option value="0.25">0.25</option>
<option value="0.5">0.5</option><option value="1" selected>1</option><option value="2">2</option></select></label>
<label><input id="player-apart" type="checkbox"> side by side</label>
<label><input id="player-follow" type="checkbox"> follow</label>
<label><input id="player-contacts" type="checkbox"> contacts</label>
<label><input id="player-skins" type="checkbox"> skins</label></div>
<p class="note">Drag to orbit; drag with shift or the right button to pan; use the wheel to zoom. Space plays, arrow
keys step. A click on a chart over time goes to that time. Yellow marks are contacts that hold.</p>"""


def compose(
    result: PageCharacter,
    source: PageCharacter | None,
    report: Mapping[str, Any],
    errors: Sequence[ErrorCurve],
    *,
    title: str = "",
    picture: bool = True,
) -> tuple[str, tuple[str, ...]]:
    """The whole page, and a note for each part left out."""
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
        data_element("player-data", player_data(shown)),
        data_element("report-data", _plain(report)),
        player_script(),
    ]
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)}</title><style>{asset('page.css')}</style>"
    )
    inner = "\n".join(part for part in body if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{inner}\n</body></html>\n', missing


def player_script() -> str:
    """The code of the player, which reads the element `player-data`."""
    code = "\n".join(asset(name) for name in ("figures.js", "bodies.js", "player.js"))
    return f'<script>(function () {{\n"use strict";\n{code}}})();</script>'


def _about(shown: list[PageCharacter]) -> str:
    lines = []
    for character in shown:
        motion = character.motion
        lines.append(
            f"{escape(character.label)}: {_count(motion.num_frames, 'frame')} at {motion.fps:.4g} fps, "
            f"{motion.duration:.2f} s, {_count(motion.skeleton.num_joints, 'joint')}, "
            f"{_count(len(character.contacts), 'contact')}"
        )
    return f'<p class="about">{"<br>".join(lines)}</p>'


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _filmstrip(shown: list[PageCharacter]) -> tuple[str, tuple[str, ...]]:
    """The filmstrip as an embedded picture, or a note on the missing package."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "strip.png"
        try:
            # matplotlib reads text between two dollar signs as a formula.
            labels = [character.label.replace("$", r"\$") for character in shown]
            with warnings.catch_warnings():
                # A letter that the font lacks is a box in the picture; the label on the page is still correct.
                warnings.filterwarnings("ignore", message=".*Glyph")
                draw(
                    [character.motion for character in shown], path, labels=labels, views=("side",), dots_per_inch=100.0
                )
        except MissingPackageError as error:
            note = f"the filmstrip is left out: {error.message} ({error.hint})"
            return f'<section><h2>Filmstrip</h2><p class="note">{escape(note)}</p></section>', (note,)
        text = base64.b64encode(path.read_bytes()).decode("ascii")
    names = escape(", ".join(character.label for character in shown))
    picture = f'<img alt="poses of {names}" src="data:image/png;base64,{text}">'
    return f"<section><h2>Filmstrip</h2>{picture}</section>", ()


def data_element(name: str, data: Any) -> str:
    """Data embedded in the page as JSON, escaped so that no text can end the element or start a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _plain(value: Any) -> Any:
    """Data for JSON: numbers that are not finite become null; curves are left out, since the charts show them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if key != "curves"}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def asset(name: str) -> str:
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
    meshes: Sequence[Mesh] | None = None,
    source_meshes: Sequence[Mesh] | None = None,
) -> tuple[str, ...]:
    """Write a report on a motion. An existing file is replaced only when the new one is complete.

    Args:
        path: The file, `.html` or `.htm`.
        result: The motion to report on.
        source: The motion that it was made from, shown beside it.
        report_data: The measurements, as from `evaluate(...).data()`. Curves in it are plotted.
        title: The heading; made from the labels if not given.
        labels: Names of source and result.
        contacts: The result's contacts; detected if not given.
        source_contacts: The source's contacts; detected if not given.
        errors: Constraint errors over time, as from `understudy.show.charts.constraint_errors(solution)`.
        picture: Whether to draw a filmstrip, which needs matplotlib; without that package the page has a note instead.
        meshes: The result's skin (`Clip.meshes`), for the player; that of a sample if not given.
        source_meshes: The source's skin.

    Returns:
        A note for each part left out.
    """
    from understudy.base.errors import OptionError
    from understudy.base.files import open_to_write
    from understudy.show.charts import show

    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"A report is written as .html; got `{path}`")
    if len(labels) != 2:
        raise OptionError(f"Expected two labels, of source and result; got {len(labels)}")
    shown = show(result, labels[1], 1 if source is not None else 0, contacts, meshes)
    other = None if source is None else show(source, labels[0], 0, source_contacts, source_meshes)
    text, missing = compose(shown, other, report_data or {}, errors, title=title, picture=picture)
    with open_to_write(path) as stream:
        stream.write(text.encode("utf-8", "replace"))
    return missing
