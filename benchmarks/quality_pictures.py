"""Pictures of a pair: filmstrips of source, carried motion and result, and the acceleration of their hips."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import numpy as np
from quality_figures import BodyPaths
from quality_pairs import Pair, prepare_pair, source_file

from understudy.base.errors import MissingPackageError
from understudy.base.quaternion import Array
from understudy.figure.motion import Motion
from understudy.show.charts import Chart, ChartCurve, to_svg
from understudy.show.picture import draw

COLOURS = {"source": "#888888", "carried": "#2a7fbf", "result": "#c8371f"}

WIDTH, HEIGHT = 1200.0, 320.0

STYLE = "text{font:12px sans-serif;fill:#333} line{stroke:#ddd} .box{fill:none;stroke:#999} .wide{stroke-width:3}"


def hips_acceleration(motion: Motion) -> tuple[Array, Array]:
    """(F - 2,) seconds and legs / s^2: the acceleration of the middle of the upper legs' joints."""
    paths = BodyPaths.of(motion)
    acceleration = np.linalg.norm(np.diff(paths.hips, n=2, axis=0), axis=-1) * motion.fps**2
    return motion.times[1:-1], acceleration


def acceleration_svg(motions: dict[str, Motion], title: str) -> str:
    """The curves of the hips' acceleration as an SVG file."""
    curves = []
    for label, motion in motions.items():
        times, values = hips_acceleration(motion)
        curves.append(ChartCurve(label=label, x=times, y=values, colour=COLOURS[label], wide=label == "source"))
    chart = Chart(title=title, x_label="s", y_label="hips, legs / s^2", curves=curves)
    body = to_svg(chart, width=WIDTH, height=HEIGHT).replace("<svg", f'<svg width="{WIDTH}" height="{HEIGHT}"', 1)
    keys = "".join(
        f'<text x="{60 + 90 * i}" y="{HEIGHT + 20}" style="fill:{COLOURS[label]}">{label}</text>'
        for i, label in enumerate(motions)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:.0f}" height="{HEIGHT + 60:.0f}" '
        f'viewBox="0 0 {WIDTH:.0f} {HEIGHT + 60:.0f}"><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" fill="white"/>{body}{keys}'
        f'<text x="60" y="{HEIGHT + 44}">{escape(title)}</text></svg>\n'
    )


def draw_pair(pair: Pair, folder: Path, number: int) -> list[Path]:
    """Draw a pair into a folder; returns the files. Without matplotlib there is no filmstrip."""
    with source_file(pair) as source:
        prepared = prepare_pair(pair, source)
        result = prepared.solve().solution.motion
    motions = {"source": prepared.actors[0].motion, "carried": prepared.start(0), "result": result}
    stem = f"{number:02d}_{re.sub(r'[^0-9A-Za-z_.=-]+', '_', pair.name)}"
    curves = folder / f"{stem}_hips.svg"
    curves.write_text(acceleration_svg(motions, pair.name), encoding="utf-8")
    strip = folder / f"{stem}.png"
    try:
        draw(
            list(motions.values()),
            strip,
            labels=list(motions),
            title=pair.name,
            count=10,
            views="side,front",
            style="filmstrip",
        )
    except MissingPackageError:
        return [curves]
    return [curves, strip]
