"""Thumbnails of motions: a few poses side by side as SVG, one or two kilobytes each."""

from __future__ import annotations

from html import escape

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.motion import Motion
from understudy.figure.stick import MIDDLE, PALETTES, Stick, hull, stick, view_of

NUM_POSES = 5
"""Poses in a thumbnail, evenly spaced over the motion."""

SIZE = (200, 64)
"""Units across and down."""

MARGIN_UNITS = 3.0

MIN_WIDTH_UNITS, MAX_WIDTH_UNITS = 1.0, 4.0
"""Range of the drawn width of bones."""

POSE_GAP_SIZES = (0.55, 0.9)
"""Range of the gap of neighbouring poses: close ones would overlap, distant ones would be small."""


def thumbnail(motion: Motion) -> str:
    """A thumbnail of a motion as SVG: poses from beginning to end, seen from the side."""
    frames = np.unique(np.linspace(0, motion.num_frames - 1, NUM_POSES).round().astype(int))
    figure = stick(motion[frames])
    places, nearness = _laid_out(figure)
    edge = max(figure.head_radius, 0.02 * figure.size)
    low, high = places.min(axis=(0, 1)) - edge, places.max(axis=(0, 1)) + edge
    scale = min((n - 2.0 * MARGIN_UNITS) / max(float(s), 1e-9) for n, s in zip(SIZE, high - low))
    middle = 0.5 * (low + high)
    dots = (places - middle) * [scale, -scale] + 0.5 * np.array(SIZE)
    floor = float((0.0 - middle[1]) * -scale + 0.5 * SIZE[1])
    parts = [f'<path d="M0 {floor:.0f}H{SIZE[0]}" stroke="#c4ccd4"/>'] if 0.0 <= floor <= SIZE[1] else []
    for number, (pose, near) in enumerate(zip(dots, nearness)):
        faint = f' opacity="{0.35 + 0.65 * (number + 1) / len(dots):.2f}"'
        parts.append(f"<g{faint}>{''.join(_pose(figure, pose, near, scale))}</g>")
    return (
        f'<svg viewBox="0 0 {SIZE[0]} {SIZE[1]}" fill="none" stroke-linecap="round" '
        f'stroke-linejoin="round">{"".join(parts)}</svg>'
    )


def _laid_out(figure: Stick) -> tuple[Array, Array]:
    """(P, N, 2) metres: the nodes of each pose on the page, then the head's centre, with gaps between poses limited;
    and (P, N) metres: how far each is towards the reader."""
    nodes = figure.points
    travelled = nodes[-1].mean(axis=0) - nodes[0].mean(axis=0)
    mean = figure.facing.mean(axis=0)
    along = travelled if np.hypot(*travelled[[0, 2]]) > figure.size else mean
    projected = view_of("side", along).project(nodes)
    flat = projected[..., :2]
    middles = flat[..., 0].mean(axis=1)
    steps = np.clip(
        np.diff(middles, prepend=middles[0]), POSE_GAP_SIZES[0] * figure.size, POSE_GAP_SIZES[1] * figure.size
    )
    flat = flat + (np.cumsum(steps) - middles)[:, None, None] * [1.0, 0.0]
    drawn = figure.drawn_points
    hidden = np.setdiff1d(np.arange(flat.shape[1]), drawn)
    # Hidden nodes must not enlarge the picture.
    flat[:, hidden] = flat[:, drawn[:1]]
    return flat, projected[..., 2]


def _pose(figure: Stick, dots: Array, nearness: Array, scale: float) -> list[str]:
    """The SVG strokes of one pose, grouped by side and width, the far side first."""
    if figure.rigid:
        edge = " ".join(f"{x:.1f} {y:.1f}" for x, y in hull(dots[figure.drawn]).tolist())
        return [f'<path d="M{edge}Z" stroke="{PALETTES[0].of(MIDDLE)}"/>']
    strokes: dict[tuple[int, float], list[str]] = {}
    for (a, b), side, width in zip(figure.bones, figure.sides, figure.widths):
        wide = float(np.clip(round(width * scale), MIN_WIDTH_UNITS, MAX_WIDTH_UNITS))
        line = f"M{dots[a, 0]:.1f} {dots[a, 1]:.1f}L{dots[b, 0]:.1f} {dots[b, 1]:.1f}"
        strokes.setdefault((int(side), wide), []).append(line)
    near = {side: float(nearness[figure.bones[figure.sides == side]].mean()) for side, _ in strokes}
    drawn = [
        f'<path d="{"".join(lines)}" stroke="{PALETTES[0].of(side)}" stroke-width="{wide:g}"/>'
        for (side, wide), lines in sorted(strokes.items(), key=lambda item: near[item[0][0]])
    ]
    if figure.head is not None:
        radius = max(figure.head_radius * scale, 1.0)
        x, y = dots[-1]
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{PALETTES[0].of(MIDDLE)}"/>')
    return drawn


def captioned(motion: Motion, caption: str) -> str:
    """A thumbnail of a motion with a caption, as HTML for notebooks."""
    return (
        f'<figure style="width:{3 * SIZE[0]}px">{thumbnail(motion)}<figcaption>{escape(caption)}</figcaption></figure>'
    )
